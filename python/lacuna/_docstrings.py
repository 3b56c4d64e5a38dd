# SPDX-License-Identifier: Apache-2.0
"""The docstrings of functions that are made from C's tables: their sentence, shapes, derivatives, and examples of those
that are used most."""

import inspect
import re
import textwrap

from ._parameters import ARRAYS, read

_TWO = "lacuna.Pattern.from_coo([0, 0, 1], [0, 1, 1], (2, 2))  # [[2, 1], [0, 4]]"
EXAMPLES = {
    "solve": f"""
    >>> pattern = {_TWO}
    >>> a, b = np.array([2.0, 1.0, 4.0]), np.array([4.0, 4.0])
    >>> lacuna.solve(pattern, a, b)
    array([1.5, 1. ])
    >>> lacuna.grad(lambda a: lacuna.sum(lacuna.solve(pattern, a, b)))(a)
    array([-0.75 , -0.5  , -0.125])
    """,
    "spmm": f"""
    >>> pattern = {_TWO}
    >>> lacuna.spmm(pattern, np.array([2.0, 1.0, 4.0]), np.array([1.0, 10.0]))
    array([12., 40.])
    >>> lacuna.spmm(pattern, np.array([2.0, 1.0, 4.0]), np.array([1.0, 10.0]), op="T")
    array([ 2., 41.])
    """,
    "sddmm": f"""
    >>> pattern = {_TWO}
    >>> lacuna.sddmm(pattern, np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]))
    array([3., 4., 8.])
    """,
    "remap": """
    >>> lacuna.remap(lacuna.Map([1, 0, 1], 2), np.array([1.0, 2.0, 4.0]))
    array([2., 5.])
    """,
    "logdet": f"""
    >>> pattern = {_TWO}
    >>> a = np.array([2.0, 1.0, 4.0])
    >>> lacuna.logdet(pattern, a).round(6), lacuna.grad(lambda a: lacuna.logdet(pattern, a))(a)
    (2.079442, array([0.5 , 0.  , 0.25]))
    """,
    "spgemm": f"""
    >>> pattern = {_TWO}
    >>> a = np.array([2.0, 1.0, 4.0])
    >>> lacuna.spgemm(pattern, a, pattern, a)  # values on pattern.product(pattern)
    array([ 4.,  6., 16.])
    """,
    "lstsq": """
    >>> line = lacuna.Pattern.from_coo([0, 1, 2], [0, 0, 0], (3, 1))
    >>> lacuna.lstsq(line, np.ones(3), np.array([1.0, 2.0, 6.0]))
    array([3.])
    """,
    "gather": """
    >>> lacuna.gather([2, 0, -1], np.array([5.0, 6.0, 7.0]))
    array([7., 5., 0.])
    """,
}

_WRAPPED = textwrap.TextWrapper(116, break_on_hyphens=False, break_long_words=False)


def _shapes(row, free):
    """The core shapes of an operator, where it has any."""
    signature = getattr(row, "signature", "")
    ins, _, outs = signature.partition("->")
    if not re.search("[a-z]", signature):
        return ""
    names = [p.name for p in free if p.kind in ARRAYS]
    shapes = [f"{name} {shape}" for name, shape in zip(names, re.findall(r"\([^)]*\)", ins))]
    line = f"Shapes: {', '.join(shapes)} -> {outs}; dimensions before them are a batch, and broadcast."
    return re.sub(r"\bz\b", "nnz", line)


def _derivatives(row, free):
    names = [p.name for p in free if p.kind in ARRAYS and p.kind != "condition" and not p.is_counted]
    if getattr(row, "is_flat", False) or not names:
        return "" if "derivative is zero" in row.about else "Its derivative is zero."
    return f"Differentiable in {' and '.join([', '.join(names[:-1]), names[-1]] if names[1:] else names)}."


def written(row, fixed, about):
    """Sentence, shapes and derivatives of a row of C's tables, under a name that fixes some of its parameters."""
    free = [p for p in read(row.parameters) if p.name not in fixed]
    said = "\n".join(filter(None, [_shapes(row, free), _derivatives(row, free)]))
    return f"{_WRAPPED.fill(about)}\n\n{said}".rstrip()


def with_examples(functions):
    """The functions of the NumPy front end, with their examples."""
    for name, example in EXAMPLES.items():
        function = functions[name]
        function.__doc__ = f"{inspect.cleandoc(function.__doc__)}\n{textwrap.dedent(example)}"
    return functions
