# SPDX-License-Identifier: Apache-2.0
"""What the public headers declare, as cffi takes it: read when Lacuna is imported from its tree, written as a Python
module once when a wheel is built. Reading takes longer than the rest of an import.

    python _declarations.py INCLUDE OUTPUT      writes the module
"""

import re
import sys
from pathlib import Path

import cffi

_HEADERS = ("lacuna.h", "extend.h", "program.h")


def _text(include, header, seen):
    """The text of a header and of what it includes, each once, without what only a compiler needs."""
    if header in seen:
        return ""
    seen.add(header)
    text = (include / "lacuna" / header).read_text()
    text = re.sub(r"(?ms)^#ifdef __cplusplus.*?^#endif\n", "", text)
    included = re.findall(r'(?m)^#include "lacuna/(\w+\.h)"', text)
    text = re.sub(r"(?m)^#(?:.*\\\n)*.*$", "", text).replace("LAC_API ", "")
    return "".join(_text(include, name, seen) for name in included) + text


def read(include, left_out=("plain.h",)):
    """A cffi.FFI that knows the headers in a folder. Plain calls are for C: Python runs programs."""
    ffi, seen = cffi.FFI(), set(left_out)
    ffi.cdef("".join(_text(include, header, seen) for header in _HEADERS))
    return ffi


def write(include, module):
    """Write the same as a Python module that holds an `ffi`."""
    ffi = read(include)
    ffi.set_source("lacuna._declared", None)
    ffi.emit_python_code(str(module))


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
