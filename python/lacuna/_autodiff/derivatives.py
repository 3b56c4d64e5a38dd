# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions of NumPy arrays that are written with Lacuna's functions, to any order.

    y, pull = vjp(f, x)        x_bar = J^H y_bar        gradients of complex arrays: x - rate * gradient descends
    y, y_dot = jvp(f, (x,), (x_dot,))                   y_dot = J x_dot

f gets recorded arrays (Array) and returns one, or a tuple of them. All numbers are computed in C.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import lib
from .._numpy import asarray, promoted
from ..errors import ArgumentError, ShapeError
from .recorded import ACTIVE, Array, Tape, expect_one_real, ids

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class _Level:
    """A function at arrays: the tape that it runs on, its leaves and its outputs."""

    def __init__(self, who, function, arrays):
        self.who, given = who, [a for a in arrays if isinstance(a, Array)]
        outer = given[0].tape if given else ACTIVE.tape
        self.is_nested, self.tape = outer is not None, outer or Tape()
        with self.tape:
            self.leaves = [self._leaf(a) for a in arrays]
            outputs = function(*self.leaves)
            self.is_one = not isinstance(outputs, (tuple, list))
            self.outputs = [self._output(y) for y in ((outputs,) if self.is_one else outputs)]

    def _leaf(self, array):
        """A var of this level's own: what a function knows of an outer level by another way is another var."""
        import lacuna

        if isinstance(array, Array):
            return lacuna.reshape(array, array.shape) if array.is_tracked else self.tape.put(array.value, True)
        return self.tape.put(promoted(self.who, "x", array), True)

    def _output(self, y):
        if isinstance(y, Array) and y.tape is self.tape:
            return y
        if isinstance(y, Array):
            raise ArgumentError(f"{self.who}: the function returned a recorded array of another computation")
        return self.tape.put(promoted(self.who, "a result of the function", y), False)

    def given(self, arrays, like, what):
        """Seeds or tangents on the tape, each like its array; None is absent."""
        if len(arrays) != len(like):
            raise ArgumentError(f"{self.who}: {len(arrays)} {what} came for {len(like)} arrays")
        return [None if a is None else self._beside(a, x, what) for a, x in zip(arrays, like)]

    def _beside(self, array, x, what):
        array = asarray(array)
        if tuple(array.shape) != x.shape:
            raise ShapeError(f"{self.who}: one of the {what} has shape {tuple(array.shape)}; it must be {x.shape}")
        if not isinstance(array, Array):
            return self.tape.put(array.astype(x.dtype), False)
        import lacuna

        return lacuna.cast(array, x.dtype)

    def results(self, numbers, like):
        """Vars as what the caller gets: recorded where an outer level watches, else arrays; zeros where absent."""
        made = []
        for number, x in zip(numbers, like):
            if not number:
                zeros = np.zeros(x.shape, x.dtype)
                made.append(self.tape.put(zeros, False) if self.is_nested else zeros)
            else:
                made.append(self.tape.array(number, True) if self.is_nested else self.tape.take(number))
        return made

    def values(self):
        given = self.outputs if self.is_nested else [y.value for y in self.outputs]
        return given[0] if self.is_one else tuple(given)

    @property
    def mode(self):
        return lib.LAC_GRAPH_CREATE if self.is_nested else lib.LAC_GRAPH_NONE

    def pull(self, seeds):
        """J^H seeds, one array for each leaf."""
        self.tape.own()
        pairs = [(y, seed) for y, seed in zip(self.outputs, seeds) if seed is not None and y.is_tracked]
        outs, ins = [y.number for y, _ in pairs], [x.number for x in self.leaves]
        bars = ids([0] * len(ins))
        if pairs:
            c_outs, c_seeds = ids(outs), ids([seed.number for _, seed in pairs])
            status = lib.lac_tape_vjp(self.tape.c, len(outs), c_outs, c_seeds, len(ins), ids(ins), bars, self.mode)
            self.tape.ctx.check(status)
        return self.results([bar.id for bar in bars], self.leaves)

    def push(self, tangents):
        """J tangents, one array for each output."""
        self.tape.own()
        dots, found = [0 if t is None else t.number for t in tangents], {}
        tracked = [y.number for y in self.outputs if y.is_tracked]
        if tracked and any(dots):
            outs, ins = ids([0] * len(tracked)), ids([x.number for x in self.leaves])
            status = lib.lac_tape_jvp(
                self.tape.c, len(dots), ins, ids(dots), len(tracked), ids(tracked), outs, self.mode
            )
            self.tape.ctx.check(status)
            found = dict(zip(tracked, [out.id for out in outs]))
        return self.results([found.get(y.number, 0) for y in self.outputs], self.outputs)


def vjp(function: Callable[..., Any], *arrays: Any) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """(y, pull): y = function(*arrays), and pull(*y_bar) gives a tuple of J^H y_bar, one for each array.

    The function returns one array or a tuple of them; pull may be called any number of times.

    >>> y, pull = lacuna.vjp(lambda x: x**2, np.array([1.0, 2.0]))
    >>> y, pull(np.array([1.0, 10.0]))
    (array([1., 4.]), (array([ 2., 40.]),))
    """
    level = _Level("vjp", function, arrays)

    def pull(*seeds):
        return tuple(level.pull(level.given(seeds, level.outputs, "cotangents")))

    return level.values(), pull


def jvp(function: Callable[..., Any], arrays: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """(y, y_dot): y = function(*arrays), and J tangents; a tangent of None is zero.

    >>> lacuna.jvp(lambda x: x**2, [np.array([1.0, 2.0])], [np.array([1.0, 0.5])])
    (array([1., 4.]), array([2., 2.]))
    """
    level = _Level("jvp", function, arrays)
    made = level.push(level.given(tangents, level.leaves, "tangents"))
    return level.values(), made[0] if level.is_one else tuple(made)


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> Callable[..., tuple[Any, Any]]:
    """A function that gives (value, gradient) of a function that returns one real number, by its argument `argnums`, or
    by several of them as a tuple. Other arguments are passed on as they are.

    >>> lacuna.value_and_grad(lambda x, y: lacuna.dot(x, y), argnums=(0, 1))(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    (array(11.), (array([3., 4.]), array([1., 2.])))
    """
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @functools.wraps(function)
    def both(*given, **named):
        def of_leaves(*leaves):
            arguments = list(given)
            for place, leaf in zip(places, leaves):
                arguments[place] = leaf
            return function(*arguments, **named)

        level = _Level("grad", of_leaves, [given[place] for place in places])
        y = level.outputs[0]
        if not level.is_one:
            raise ShapeError(
                f"grad: the function returned {len(level.outputs)} arrays; it must be one number: vjp takes any"
            )
        expect_one_real("grad", y, ": vjp takes any")
        made = level.pull([level.tape.put(np.ones(y.shape, y.dtype), False)])
        return level.values(), made[0] if isinstance(argnums, int) else tuple(made)

    return both


def grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that gives the gradient of a function of one number; see value_and_grad. grad(grad(f)) is the second
    derivative where f takes and gives one number.

    >>> pattern = lacuna.Pattern.from_coo([0, 1, 1], [0, 0, 1], (2, 2))
    >>> b = np.array([2.0, 3.0])
    >>> lacuna.grad(lambda a: lacuna.sum(lacuna.solve(pattern, a, b) ** 2))(np.array([2.0, 1.0, 1.0]))
    array([ 1., -4., -8.])
    """
    both = value_and_grad(function, argnums)

    @functools.wraps(function)
    def gradient(*given, **named):
        return both(*given, **named)[1]

    return gradient


def hvp(
    function: Callable[..., Any], arrays: Sequence[Any], vectors: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """(gradients, H vectors) of a function of one number at arrays, as tuples, forward over reverse: the Hessian is
    never formed.

    >>> lacuna.hvp(lambda x: lacuna.sum(x**3), [np.array([1.0, 2.0])], [np.array([1.0, 1.0])])
    ((array([ 3., 12.]),), (array([ 6., 12.]),))
    """
    return jvp(grad(function, tuple(range(len(arrays)))), arrays, vectors)
