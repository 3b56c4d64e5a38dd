# SPDX-License-Identifier: Apache-2.0
"""Arithmetic: number by number on stored entries, and of two matrices on the union or intersection of their places.

A function that is not linear acts on each stored place once: where several entries share a place, exp(A) is exp of
their sum, and the result has the values by slots. What is not stored stays so: A + 1 adds 1 to stored entries, and
exp(A) has no ones elsewhere. `A + D` of a dense D is dense; `A * D` is sparse.
"""

import functools
import operator
from numbers import Number

import torch

from ...errors import ArgumentError, ShapeError
from .. import sparse_softmax
from .._levels import layout_of
from .structure import Structure, made_of, moved

UNARY = (  # torch's functions of one tensor that are methods, here, of lists and as torch's functions
    "abs sqrt square exp expm1 log log1p log2 log10 sin cos tan sinh cosh tanh asin acos atan sigmoid relu sign floor "
    "ceil round trunc reciprocal rsqrt erf isnan isinf isfinite logical_not real imag angle"
).split()
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def is_number(given):
    """Whether it is one number for all entries: Python's, or a tensor without dimensions."""
    return isinstance(given, Number) or (isinstance(given, torch.Tensor) and given.ndim == 0)


class Arithmetic:
    """Operators and functions of entries."""

    __hash__ = object.__hash__

    def __bool__(self):
        raise ArgumentError("SparseTensor: a matrix is neither true nor false; compare with A.equal(B), or ask for "
                            ".values.any()")  # fmt: skip

    # -- one tensor -----------------------------------------------------------------------------------------------

    def map(self, function):
        """The function of torch tensors on the numbers of stored places, each place once."""
        merged = self.merged()
        return merged._with(function(merged.values))

    def __neg__(self):
        return self._with(-self.values)

    def __pos__(self):
        return self

    __abs__ = lambda self: self.abs()  # noqa: E731

    def clamp(self, min=None, max=None):
        """Stored numbers moved into [min, max]."""
        return self.map(lambda values: values.clamp(min, max))

    def pow(self, exponent):
        """Stored numbers to a power, a number or a tensor without dimensions."""
        return self.map(lambda values: values**exponent)

    __pow__ = pow

    def softmax(self, dim=-1):
        """exp(A) / sum of the stored numbers of each row (dim=-1) or column (dim=-2)."""
        pattern, slots = self._single()
        return self._by_slots(pattern, sparse_softmax(pattern, slots, self._side("softmax", dim)))

    # -- two ------------------------------------------------------------------------------------------------------

    def _both(self, other, who):
        if self.sparse_shape != other.sparse_shape or self.block_shape != other.block_shape:
            raise ShapeError(f"{who}: shapes {tuple(self.shape)} and {tuple(other.shape)}; those of the matrices must "
                             "agree")  # fmt: skip
        return self.structure, other.structure

    def _joined(self, other, join, function, is_linear=False):
        """The function of two values on what a method of patterns joins, "union" or "intersection". One that is linear
        is a function of entries, also of those that share a place."""
        ours, theirs = self._both(other, join)
        if ours.is_same(theirs) and (ours.is_merged or is_linear):
            return self._with(function(self.values, other.values))
        a, b = self.slots(), other.slots()
        if ours.pattern is theirs.pattern:
            return self._on(ours.by_slots(), function(a, b), self.trailing)
        pattern, from_a, from_b = made_of(join, ours.pattern, theirs.pattern)
        made = function(moved(from_a, a, self.trailing), moved(from_b, b, self.trailing))
        return self._on(Structure(pattern), made, self.trailing)

    def _plus(self, other, function):
        if is_number(other):
            return self.map(lambda values: function(values, other))
        if isinstance(other, Arithmetic):
            return self._joined(other, "union", function, is_linear=True)
        if isinstance(other, torch.Tensor):
            if layout_of(other) is torch.strided:
                return function(self.to_dense(), other)
            return self._joined(self.of(other), "union", function, is_linear=True)
        return NotImplemented

    def __add__(self, other):
        return self._plus(other, torch.add)

    def __radd__(self, other):
        return self._plus(other, lambda a, b: b + a)

    def __sub__(self, other):
        return self._plus(other, torch.sub)

    def __rsub__(self, other):
        return self._plus(other, lambda a, b: b - a)

    def __mul__(self, other):
        if is_number(other):
            return self._with(self.values * other)
        if isinstance(other, Arithmetic):
            return self._joined(other, "intersection", torch.mul)
        if isinstance(other, torch.Tensor):
            if layout_of(other) is torch.strided:
                return self._times_dense(other, torch.mul)
            return self._joined(self.of(other), "intersection", torch.mul)
        return NotImplemented

    __rmul__ = __mul__

    def _times_dense(self, other, function):
        """The function of entries and the numbers of a dense tensor at their places, which broadcasts to the shape."""
        return self.coalesce()._with(function(self.slots(), self._sampled(other)))

    def _sampled(self, dense):
        """The numbers of a dense tensor where entries are stored, [..., nnz, *block]; it broadcasts to shape, and its
        gradient is not larger than itself."""
        core = (*self.sparse_shape, *self.block_shape)
        given = dense[(None,) * (len(core) - dense.ndim)] if dense.ndim < len(core) else dense
        at = given.ndim - len(core)
        if any([size not in (1, own) for size, own in zip(given.shape[at:], core)]):
            raise ShapeError(f"SparseTensor: a dense tensor of shape {tuple(dense.shape)} does not broadcast to "
                             f"{tuple(self.shape)}")  # fmt: skip
        numbers, whole = given.flatten(at, at + 1), [size == own for size, own in zip(given.shape[at:], core)]
        if not any(whole[:2]):
            return numbers  # one for all entries
        places = "dense" if all(whole[:2]) else "row_map" if whole[0] else "col_map"
        return moved(made_of(places, self.structure.pattern)[0], numbers, self.trailing, "T")

    def __truediv__(self, other):
        if is_number(other):
            return self._with(self.values / other)
        return self._over(other, torch.true_divide)

    def __floordiv__(self, other):
        return self._over(other, torch.floor_divide)

    def __mod__(self, other):
        return self._over(other, torch.remainder)

    def __rtruediv__(self, other):
        return self.map(lambda values: other / values) if is_number(other) else NotImplemented

    def _over(self, other, function):
        """The function of stored numbers and another's at their places, all of which the other must store."""
        if is_number(other):
            return self.map(lambda values: function(values, other))
        if isinstance(other, torch.Tensor) and layout_of(other) is torch.strided:
            return self._times_dense(other, function)
        if not isinstance(other, (Arithmetic, torch.Tensor)):
            return NotImplemented
        made = self._joined(self.of(other), "intersection", function)
        if made.nnz != self.nnz:
            missing = self.nnz - made.nnz
            raise ArgumentError(f"SparseTensor: division by {missing} entries that are not stored, which are 0")
        return made

    # -- comparisons ----------------------------------------------------------------------------------------------

    def _compared(self, other, function):
        """The function of stored numbers and a number, a dense tensor's at their places, or another matrix's on the
        places that either stores."""
        if is_number(other):
            return self.map(lambda values: function(values, other))
        if isinstance(other, torch.Tensor) and layout_of(other) is torch.strided:
            return self._times_dense(other, function)
        if isinstance(other, (Arithmetic, torch.Tensor)):
            return self._joined(self.of(other), "union", function)
        return NotImplemented

    def equal(self, other):
        """Whether both have the same shape and the same number at every stored place: one bool."""
        return (
            self.shape == other.shape
            and self.structure.pattern.same(other.structure.pattern)
            and torch.equal(self.slots(), other.slots())
        )

    def allclose(self, other, rtol=1e-5, atol=1e-8, equal_nan=False):
        """Whether |a_ij - b_ij| <= atol + rtol |b_ij| everywhere, whatever is stored: one bool."""
        are_near = functools.partial(torch.isclose, rtol=rtol, atol=atol, equal_nan=equal_nan)
        return bool(self._joined(self.of(other), "union", are_near).values.all())


def _unary(name):
    def function(self):
        return self.map(getattr(torch, name))

    function.__name__, function.__qualname__ = name, f"SparseTensor.{name}"
    function.__doc__ = f"torch.{name} of stored numbers, each place once."
    return function


def _comparison(name):
    of_values = getattr(operator, name)

    def function(self, other):
        return self._compared(other, of_values)

    function.__name__ = name
    function.__doc__ = ("Compare stored numbers with a number, with a dense tensor's at their places, or with another "
                        "matrix's, on the places that either stores.")  # fmt: skip
    return function


def _logical(name):
    def function(self, other):
        return self._compared(other, getattr(torch, name))

    function.__name__ = name
    function.__doc__ = f"torch.{name} of stored numbers and another's, on the places that either stores."
    return function


for _name in UNARY:
    setattr(Arithmetic, _name, _unary(_name))
for _name in _COMPARISONS:
    setattr(Arithmetic, _name, _comparison(_name))
    setattr(Arithmetic, f"__{_name}__", _comparison(_name))
for _name in ("logical_and", "logical_or", "logical_xor"):
    setattr(Arithmetic, _name, _logical(_name))
