# SPDX-License-Identifier: Apache-2.0
"""python -m lacuna: what computes here. python -m lacuna --prefix: where headers, CMake and pkg-config files are."""

import sys

from . import _library, show_backends

if sys.argv[1:] == ["--prefix"]:
    print(_library.include().parent)
else:
    show_backends()
