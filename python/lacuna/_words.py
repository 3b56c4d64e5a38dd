# SPDX-License-Identifier: Apache-2.0
"""Sentences in the words of Python: C names its own functions, options and operators, which users do not meet here.

    lac_solver_factor, lac_lstsq       Solver.factor, lstsq
    method = "lu", LAC_ORDER_AMD       method="lu", ordering="amd"
    solve_with: a has shape ...        solve: a has shape ...
    iteration.null_space               null_space=
    f64                                float64
    lac_factor_solve: ... in solve     solve: ...
"""

import re

INPUTS = {}  # operator -> names of its inputs, of those in the table of C
# operators and functions that users call by another name
_SAID = {
    "solve_with": "solve", "solve_from": "solve", "lstsq_with": "lstsq", "lac_solve_products": "solve_operator",
    "lac_lanczos_products": "lanczos", "lac_context_set_threads": "set_threads",
}  # fmt: skip
_DTYPES = {"f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128"}
_FIELDS = {"preconditioner.factor": "preconditioner=factor", "preconditioner.apply": "preconditioner=function"}


def said(who):
    """An operator as users call it."""
    return _SAID.get(who, who)


def input_of(who, index):
    """An input of an operator by its name, or by its number where it has none; a name, as it is."""
    if isinstance(index, str):
        return index
    return next(iter(INPUTS.get(who, ())[index : index + 1]), f"input {index}")


def place(who, index):
    """How a sentence about an input begins."""
    return f"{said(who)}: {input_of(who, index)}"


def _method(match):
    kind, name = match.groups()
    return kind.capitalize() if name == "create" else f"{kind.capitalize()}.{name}"


def spoken(sentence, trace=""):
    """A sentence of C as Python says it. What a solver or factor says within an operator, by the chain of functions of
    the error, the operator says."""
    operator = re.search(r"\b(\w+)_forward < lac_call_run", trace)
    if operator:
        sentence = re.sub(r"^lac_(?:solver|factor)_\w+(?=: )", operator[1], sentence)
    *whos, rest = sentence.split(": ", 2)  # a function, and what it works with
    sentence = ": ".join([*map(said, whos), rest])
    sentence = sentence.replace(", of 1, at the end", ", of 1, at the end: b[..., None]")
    sentence = re.sub(r"\blac_solver_options\.(\w+)", r"\1=", sentence)
    sentence = re.sub(r"\blac_(solver|factor|pattern|map|format)_(\w+)", _method, sentence)
    sentence = re.sub(r"\b(?:(preconditioner)\.)?method = ", lambda m: f"{m[1] or 'method'}=", sentence)
    sentence = re.sub(r"\bpreconditioner\.(?:factor|apply)\b", lambda m: _FIELDS[m[0]], sentence)
    sentence = re.sub(r"\biteration\.(\w+)", r"\1=", sentence)
    sentence = sentence.replace("preconditioner = ", "preconditioner=")
    sentence = re.sub(r"\bLAC_ORDER_(\w+)", lambda m: f'ordering="{m[1].lower()}"', sentence)
    sentence = re.sub(r"\bLAC_DIAGONAL_(\w+)", lambda m: f'diagonal="{m[1].lower()}"', sentence)
    sentence = re.sub(r"\bLAC_WIDTH_(\w+)", lambda m: f'width="{m[1].lower().replace("_", "/")}"', sentence)
    sentence = re.sub(r"\bLAC_RELATION_(EQ|NE)\b", lambda m: {"EQ": "equal", "NE": "not_equal"}[m[1]], sentence)
    sentence = re.sub(r"\bLAC_(PLAIN|TRANSPOSED|CONJUGATED|ADJOINT)\b", lambda m: f'"{m[1].lower()}"', sentence)
    sentence = re.sub(r"\b(f32|f64|c64|c128)\b", lambda m: _DTYPES[m[0]], sentence)
    return re.sub(r"\blac_(\w+)", r"\1", sentence)
