# SPDX-License-Identifier: Apache-2.0
"""No function of the C headers crashes on NULL: each is called, in a process of its own, with NULL and zeros alone, and
with a context or a tape where it takes one. A function of a tape that misses something lets the tape fail."""

import os
import subprocess
import sys

from lacuna import _core

# Prints how many functions there are, and the name of each that ends by a signal.
SCRIPT = """
import os
from lacuna import _declarations, _library

ffi = _declarations.read(_library.include(), left_out=())
lib = ffi.dlopen(str(_library.path))
holder, tapes = ffi.new("lac_context **"), ffi.new("lac_tape **")
assert lib.lac_context_create(b"cpu", 0, holder) == 0
assert lib.lac_tape_create(holder[0], lib.LAC_TAPE_RECORD, tapes) == 0
given = {"lac_context *": holder[0], "lac_tape *": tapes[0]}

def zero(kind, context):
    if kind.cname in given and context:
        return given[kind.cname]
    if kind.kind in ("struct", "union"):
        return ffi.new(kind.cname + " *")[0]
    if kind.cname == "char":
        return b"\\0"
    return 0 if kind.kind in ("primitive", "enum") else ffi.NULL

def ends(name, context):
    function = getattr(lib, name)
    arguments = [zero(kind, context) for kind in ffi.typeof(function).args]
    child = os.fork()
    if child == 0:
        function(*arguments)
        os._exit(context and gives_results(function) and lib.lac_tape_status(tapes[0]) == 0)
    return os.waitpid(child, 0)[1]

def gives_results(function):   # a void function of a tape, which sets the vars that it is given
    kind = ffi.typeof(function)
    return kind.result.kind == "void" and any(argument.cname == "lac_var *" for argument in kind.args)

names = [name for name in dir(lib) if name.startswith("lac_") and ffi.typeof(getattr(lib, name)).kind == "function"]
print(len(names))
for name in sorted(names):
    for context in (False, True):
        if ends(name, context):
            print(name, "with a context" if context else "without one")
"""


def test_no_function_crashes_on_null():
    path = os.pathsep.join([os.path.dirname(os.path.dirname(_core.__file__)), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run([sys.executable, "-c", SCRIPT], env={**os.environ, "PYTHONPATH": path}, capture_output=True,
                         text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    count, *crashes = ran.stdout.splitlines()
    assert int(count) > 450 and not crashes, crashes  # plain calls are among them
