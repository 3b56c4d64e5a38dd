# SPDX-License-Identifier: Apache-2.0
"""NumPy's operators, universal functions and a few others on recorded arrays, as the functions of the package."""

import builtins
import operator
from math import prod

import numpy as np

import lacuna

from .._scipy import is_matrix
from ..matrix import Matrix
from .recorded import Array

# NumPy's function: the function of the package
_UFUNCS = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "div", np.power: "pow", np.negative: "neg",
    np.absolute: "abs", np.conjugate: "conj", np.sqrt: "sqrt", np.square: "square", np.exp: "exp", np.expm1: "expm1",
    np.log: "log", np.log1p: "log1p", np.sin: "sin", np.cos: "cos", np.tanh: "tanh", np.sign: "sign",
    np.reciprocal: "reciprocal",
}  # fmt: skip
_COMPARED = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
_REDUCED = {np.sum: "sum", np.mean: "mean", np.prod: "prod", np.max: "max", np.min: "min"}
_PLAIN = {np.real: "real", np.imag: "imag"}


def _numbers(x):
    return x.value if isinstance(x, Array) else x


def _beside(x, other):
    """What stands beside a recorded array, as an array: a Python number in its dtype."""
    if isinstance(x, (bool, int, float, complex)):
        is_wider = isinstance(x, complex) and other.dtype.kind != "c"
        return np.asarray(x, np.result_type(other.dtype, np.complex64) if is_wider else other.dtype)
    return x


def binary(name, x, y):
    """A function of two arrays, one of which is recorded."""
    if name == "pow" and isinstance(y, (int, float)):
        return lacuna.pow(x, y)
    x, y = _beside(x, y), _beside(y, x)
    return getattr(lacuna, name)(x, y)


def matmul(x, y):
    """x @ y as NumPy has it: one dimension is a row on the left, a column on the right. y may be a SciPy matrix; one on
    the left asks NumPy for an array itself, and Array.__array__ says what to take."""
    if isinstance(y, Matrix):
        return y.__rmatmul__(x)
    if is_matrix(y):
        return lacuna.spmm(y, x.T, "T").T
    if not x.ndim or not y.ndim:
        raise ValueError("matmul: an array without dimensions; take * for a factor")
    row, column = x.ndim == 1, y.ndim == 1
    z = lacuna.matmul(x[None, :] if row else x, y[:, None] if column else y)
    z = z[..., 0] if column else z
    return z[..., 0, :] if row and not column else z[..., 0] if row else z


def _one(x, axis, index):
    """(x with one index applied to an axis, whether the axis is left)."""
    if isinstance(index, builtins.slice):
        begin, end, step = index.indices(x.shape[axis])
        if step < 1:
            raise IndexError("a recorded array is sliced with positive steps")
        is_whole = (begin, end, step) == (0, x.shape[axis], 1)
        return x if is_whole else lacuna.slice(x, axis, begin, max(begin, end), step), True
    at = operator.index(index)
    if not -x.shape[axis] <= at < x.shape[axis]:
        raise IndexError(f"index {at} is out of bounds for axis {axis} with size {x.shape[axis]}")
    at %= x.shape[axis]
    return lacuna.slice(x, axis, at, at + 1), False


def _places(x, index):
    """The numbers of an index array as counted from 0; a mask has the places where it is true."""
    if index.dtype.kind == "b":
        if index.shape != x.shape[: index.ndim]:
            raise IndexError(f"a mask of shape {index.shape} for an array of shape {x.shape}: the sizes must be equal")
        return np.flatnonzero(index)
    outside = index[(index < -x.shape[0]) | (index >= x.shape[0])]
    if outside.size:
        raise IndexError(f"index {outside[0]} is out of bounds for axis 0 with size {x.shape[0]}")
    return np.where(index < 0, index + x.shape[0], index)


def _taken(x, index):
    """x[index] for an array of integers of any shape, of the first axis, or a mask of the first axes."""
    is_mask = index.dtype.kind == "b"
    places, rest = _places(x, index), x.shape[index.ndim if is_mask else 1 :]
    rows = reshape(x, (x.size // max(prod(rest), 1), *([prod(rest)] if rest else [])))
    return reshape(lacuna.gather(places.reshape(-1), rows), (*places.shape, *rest))


def _is_basic(part):
    return part is None or part is Ellipsis or isinstance(part, (builtins.slice, int, np.integer))


def getitem(x, index):
    """x[index] for integers, slices, ... and None; for an array of integers of the first axis; for a mask."""
    if isinstance(index, (list, np.ndarray)) and x.ndim and np.ndim(index) and np.asarray(index).dtype.kind in "biu":
        return _taken(x, np.asarray(index))
    parts = list(index) if isinstance(index, tuple) else [index]
    if not all(map(_is_basic, parts)):
        raise IndexError("a recorded array takes integers, slices, ..., None, or one array of integers or mask")
    used = sum([p is not None and p is not Ellipsis for p in parts])
    if used > x.ndim:
        raise IndexError(f"too many indices: array is {x.ndim}-dimensional, but {used} were indexed")
    if Ellipsis not in [p for p in parts if p is Ellipsis]:
        parts.append(Ellipsis)
    at = next(i for i, p in enumerate(parts) if p is Ellipsis)
    parts[at : at + 1] = [builtins.slice(None)] * (x.ndim - used)
    return _indexed(x, parts)


def _indexed(x, parts):
    axis, shape = 0, []
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        x, is_left = _one(x, axis, part)
        shape += [x.shape[axis]] * is_left
        axis += 1
    return x if tuple(shape) == x.shape else lacuna.reshape(x, tuple(shape))


def array_ufunc(self, ufunc, method, *given, **named):
    """NumPy's universal functions, those that Lacuna has."""
    if method == "__call__" and not named:
        if ufunc is np.matmul:
            return matmul(*given)
        if ufunc in _COMPARED:
            return ufunc(*map(_numbers, given))
        if ufunc in _UFUNCS:
            function = _UFUNCS[ufunc]
            return binary(function, *given) if len(given) == 2 else getattr(lacuna, function)(*given)
    how = f" with {', '.join(named)}" if named else ""
    raise TypeError(
        f"np.{ufunc.__name__} of a recorded array{how} has no derivative here; "
        "take one of Lacuna's functions, or its numbers, x.value, through which no derivative passes"
    )


def ravel(self):
    """All numbers in one dimension."""
    return reshape(self, -1)


def reshape(self, *shape):
    """The same numbers in another shape, one of whose sizes may be -1."""
    shape = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if -1 in shape:
        rest = -prod(shape)
        shape = tuple([self.size // rest if n == -1 else n for n in shape])
    return lacuna.reshape(self, shape)


def _dot(x, y):
    if max(np.ndim(x), np.ndim(y)) > 2:
        raise TypeError("np.dot of a recorded array in more than two dimensions; x @ y multiplies stacks of matrices")
    return matmul(x, y) if np.ndim(x) and np.ndim(y) else x * y


def _stack(arrays, axis=0):
    """Arrays of one shape behind each other along a new axis."""
    at = range(arrays[0].ndim + 1)[axis]
    return lacuna.concat([reshape(x, (*x.shape[:at], 1, *x.shape[at:])) for x in arrays], at)


def _norm(x, ord=None, axis=None, keepdims=False):
    """The norm of all numbers, or of vectors along an axis."""
    if ord is not None and (isinstance(axis, tuple) or axis is None and x.ndim != 1):
        raise TypeError("np.linalg.norm of a recorded array has no ord of matrices; lacuna.matrix_norm has those")
    return lacuna.norm(x, axis, keepdims, 2 if ord is None else ord)


_ARRANGED = {np.reshape: reshape, np.ravel: ravel, np.dot: _dot, np.stack: _stack, np.linalg.norm: _norm}


def array_function(self, function, _types, given, named):
    """Other functions of NumPy: sums and the like, norms, what arranges numbers."""
    if function in _REDUCED and set(named) <= {"axis", "keepdims"}:
        return getattr(lacuna, _REDUCED[function])(given[0], *given[1:], **named)
    if function in _PLAIN:
        return getattr(lacuna, _PLAIN[function])(*given)
    if function in _ARRANGED:
        return _ARRANGED[function](*given, **named)
    if function is np.concatenate:
        return lacuna.concat(list(given[0]), *given[1:], **named)
    if function is np.where and len(given) == 3:
        return lacuna.where(*given)
    if function in (np.shape, np.ndim, np.size):
        return getattr(given[0], function.__name__)
    raise TypeError(
        f"np.{function.__name__} of a recorded array has no derivative here; take one of Lacuna's functions, or its "
        "numbers, x.value, through which no derivative passes"
    )


def _transposed(self):
    """The transpose of a matrix; a vector as it is."""
    if self.ndim > 2:
        raise ValueError(".T of a recorded array with more than two dimensions")
    if self.ndim < 2:
        return self
    rows, cols = self.shape
    places = np.arange(rows * cols).reshape(rows, cols).T.reshape(-1)
    return lacuna.gather(places, self.reshape(-1)).reshape(cols, rows)


def _reduction(name):
    def reduced(self, axis=None, keepdims=False):
        return getattr(lacuna, name)(self, axis, keepdims)

    reduced.__name__, reduced.__doc__ = name, f"lacuna.{name} over axes, all by default."
    return reduced


def install():
    """Give Array its operators."""
    for name, function in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("pow", "pow")):
        setattr(Array, f"__{name}__", lambda x, y, f=function: binary(f, x, y))
        setattr(Array, f"__r{name}__", lambda x, y, f=function: binary(f, y, x))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Array, f"__{name}__", lambda x, y, f=getattr(operator, name): f(x.value, _numbers(y)))
    for name in ("sum", "mean", "prod", "max", "min"):
        setattr(Array, name, _reduction(name))
    Array.__matmul__, Array.__rmatmul__ = matmul, lambda x, y: matmul(y, x)
    Array.__neg__, Array.__pos__, Array.__abs__ = lacuna.neg, lambda x: x, lacuna.abs
    Array.__getitem__, Array.reshape, Array.ravel, Array.T = getitem, reshape, ravel, property(_transposed)
    Array.real, Array.imag, Array.conj = property(lacuna.real), property(lacuna.imag), lacuna.conj
    Array.__array_ufunc__, Array.__array_function__ = array_ufunc, array_function
