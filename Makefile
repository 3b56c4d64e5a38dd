# SPDX-License-Identifier: Apache-2.0
# Thin: every target is a script, and the scripts are the documentation of what they run.
PRESET ?= dev
BENCH ?=

# The sanitizer builds have no Python tests.
PYTHON_FLAG = $(if $(filter asan tsan,$(PRESET)),,--python)

.PHONY: demo test test-long bench check format clean

demo:
	@scripts/bootstrap
	@scripts/build release lacuna example.demo
	@build/release/examples/demo

test:
	@scripts/bootstrap $(PYTHON_FLAG)
	@scripts/build $(PRESET)
	@scripts/test $(PRESET)

test-long:
	@scripts/bootstrap --long
	@scripts/build dev
	@scripts/test-long

bench:
	@scripts/bootstrap --bench
	@scripts/build release
	@scripts/bench $(BENCH)

check:
	@scripts/bootstrap
	@scripts/build dev
	@scripts/check

format:
	@scripts/format

clean:
	rm -rf build
