# SPDX-License-Identifier: Apache-2.0
"""The tape of NumPy arrays, and what is differentiated with it."""
