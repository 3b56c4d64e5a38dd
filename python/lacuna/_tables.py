# SPDX-License-Identifier: Apache-2.0
"""The tables of C: operators, and functions that are composed of them, each row read once."""

from ._core import ffi, lib, text
from ._parameters import ARRAYS, read
from ._words import INPUTS


class _Row:
    """A row of a table of C, read once."""

    def __init__(self, c):
        self.c = c
        self.name, self.parameters, self.about = text(c.name), text(c.parameters), text(c.about)
        self.is_doubtful = ": solver" in self.parameters or ": factor" in self.parameters  # it may warn


class Operator(_Row):
    """One of the operator table."""

    def __init__(self, c):
        super().__init__(c)
        self.signature = text(c.signature)
        ins, outs = self.signature.split("->")
        self.ins, self.outs = ins.count("("), outs.count("(")
        self.is_flat = c.vjp == ffi.addressof(lib, "lac_rule_nothing")  # its derivative is zero


class Function(_Row):
    """One of the table of functions that are composed of operators."""


def address(pointer):
    return int(ffi.cast("uintptr_t", pointer))


OPERATORS = {op.name: op for op in (Operator(lib.lac_op_at(i)) for i in range(lib.lac_op_count()))}
# as they are asked for: an operator may have the same name
FUNCTIONS = {
    "functions." + f.name: f for f in (Function(lib.lac_function_at(i)) for i in range(lib.lac_function_count()))
}
INPUTS.update((op.name, [p.name for p in read(op.parameters) if p.kind in ARRAYS]) for op in OPERATORS.values())
BY_ADDRESS = {address(op.c): op for op in OPERATORS.values()}
