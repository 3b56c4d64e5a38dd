# SPDX-License-Identifier: Apache-2.0
"""What tests say that they have shown, record_property("count", "function=spmm dtype=f64"), is printed as the battery
of C prints it, for scripts/check-support."""


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed"):
        for name, text in report.user_properties:
            if name == "count":
                terminalreporter.write_line(f"count: {text}")
