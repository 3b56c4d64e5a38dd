# SPDX-License-Identifier: Apache-2.0
"""What C does with a whole function of recorded arrays: checks its derivatives, minimises it, runs it in segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._callbacks import Callback, known
from .._core import context, ffi, fields, lib, raise_later, raised, sized, text
from .._handle import word
from .._numpy import promoted
from .._options import Borrowed, words
from ..errors import ArgumentError
from .recorded import ACTIVE, Array, Tape, expect_one_real, ids, var

if TYPE_CHECKING:
    from collections.abc import Callable

_METHODS = words("lac_optimise_method", "LAC_OPTIMISE_")
_DECAYS = words("lac_decay", "LAC_DECAY_")
_OUTCOMES = {code: name for name, code in words("lac_outcome", "LAC_OUTCOME_").items()}


def _one(who, y):
    """The number of the var that a function returned."""
    if not isinstance(y, Array):
        raise ArgumentError(f"{who}: the function returned a {type(y).__name__}; it must be one recorded array")
    return y.number


def _leaves(tape, numbers):
    return [tape.array(number, True) for number in numbers]


@ffi.callback("lac_gradcheck_function", onerror=raise_later)
def _CHECKED(c_tape, leaves, data):
    function, count = known(data).function
    if raised():
        return var(0)
    with Tape(c_tape) as tape:
        return var(_one("gradcheck", function(*_leaves(tape, [leaves[i].id for i in range(count)]))))


def gradcheck(
    function: Callable[..., Any], *arrays: Any, order: int = 2, step: float = 0.0, tolerance: float = 0.0,
    fd_tolerance: float = 0.0, seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Check the derivatives of a function of 1 to 16 arrays that gives one array: backward against forward mode, and
    forward mode against central differences, in random directions; order 2 checks those of the gradient too.

    The result is a report of the worst deviations, a dict. A derivative that is wrong is a ConvergenceError that names
    the check and both numbers. Zero is the default of every number.

    >>> report = lacuna.gradcheck(lambda x: lacuna.sum(lacuna.exp(x)), np.array([0.5, -1.0]))
    >>> report["adjoint"] < 1e-12
    True
    """
    arrays = [promoted("gradcheck", i, array) for i, array in enumerate(arrays)]
    ctx, options, report = context(), sized("lac_gradcheck_options"), sized("lac_gradcheck_report")
    options.order, options.step, options.tolerance = order, step, tolerance
    options.fd_tolerance, options.seed = fd_tolerance, seed
    held = Callback((function, len(arrays)), "gradcheck: the function")
    with Borrowed(ctx, *arrays) as given:
        leaves = ffi.new("const lac_array *[]", given)
        ctx.check(lib.lac_gradcheck(ctx.c, _CHECKED, held.data, len(arrays), leaves, options, report))
    return {name: getattr(report, name) for name in fields(report)}


@ffi.callback("lac_objective", error=lib.LAC_ERR_ARG, onerror=raise_later)
def _OBJECTIVE(_ctx, data, count, x, value, gradient):
    if raised():
        return lib.LAC_ERR_ARG
    with Tape() as tape:
        numbers = [lib.lac_tape_leaf(tape.c, x[i]).id for i in range(count)]
        leaves = _leaves(tape, numbers)
        loss = known(data).function(*leaves)
        number = _one("minimise", loss)
        expect_one_real("minimise", loss)
        return lib.lac_tape_gradient(tape.c, var(number), count, ids(numbers), value, gradient)


def _report(c):
    told = {name: getattr(c, name) for name in fields(c)}
    return told | {"outcome": _OUTCOMES[c.outcome], "reason": text(c.reason)}


@ffi.callback("lac_optimise_progress", error=1, onerror=raise_later)
def _PROGRESS(data, report):
    return 1 if raised() or known(data).function(_report(report)) else 0


def minimise(
    function: Callable[..., Any], *arrays: Any, method: str = "lbfgs", decay_kind: str = "coupled",
    progress: Callable[[dict[str, Any]], Any] | None = None, **options: Any,
) -> tuple[tuple[Any, ...], dict[str, Any]]:  # fmt: skip
    """(arrays, report): the arrays where a function of them that gives one number is smallest, from these on.

    method: "lbfgs", "gradient_descent" or "adam". Other options are those of optimise.h by name: rate, momentum, beta1,
    beta2, epsilon, decay, memory, max_iterations, max_evaluations, gradient_tolerance, gradient_absolute,
    value_tolerance, ... The report is a dict: its outcome is "small_gradient" or "small_decrease" where the search
    converged. progress is a function of the report so far, which ends the search where its result is true.

    >>> (x,), report = lacuna.minimise(lambda x: lacuna.sum((x - 3.0) ** 2), np.zeros(2))
    >>> x.round(4), report["outcome"]
    (array([3., 3.]), 'small_gradient')
    """
    x = [promoted("minimise", i, array).copy() for i, array in enumerate(arrays)]
    ctx, report, c = context(), sized("lac_optimise_report"), sized("lac_optimise_options")
    c.method, c.decay_kind = word("method", method, _METHODS), word("decay_kind", decay_kind, _DECAYS)
    for name, value in options.items():
        if name not in fields(c) or name.startswith("progress"):
            raise TypeError(f"minimise: unexpected option {name!r}; there are {', '.join(fields(c)[:-2])}, progress")
        setattr(c, name, value)
    held = Callback(function, "minimise: the function"), Callback(progress, "minimise: progress")
    if progress is not None:
        c.progress, c.progress_data = _PROGRESS, held[1].data
    with Borrowed(ctx, *x) as given:
        c_x = ffi.new("lac_array *[]", given)
        ctx.check(lib.lac_minimise(ctx.c, c, len(x), c_x, _OBJECTIVE, held[0].data, report))
    return tuple(x), _report(report)


@ffi.callback("lac_tape_function", error=lib.LAC_ERR_ARG, onerror=raise_later)
def _SEGMENT(c_tape, data, _step, given, out):
    function, ins, outs = known(data).function
    if raised():
        return lib.LAC_ERR_ARG
    with Tape(c_tape) as tape:
        made = function(*_leaves(tape, [given[i].id for i in range(ins)]))
        made = made if isinstance(made, (tuple, list)) else (made,)
        if len(made) != outs:
            raise ArgumentError(f"checkpoint: the function returned {len(made)} arrays; say outputs={len(made)}")
        for i, y in enumerate(made):
            out[i].id = _one("checkpoint", y)
    return lib.LAC_OK


def checkpoint(function: Callable[..., Any], *arrays: Any, outputs: int = 1) -> Any:
    """function(*arrays), of which a derivative keeps inputs and outputs alone, and computes again what is in between.

    `outputs` is how many arrays the function returns. It is called once, before any number is computed: it branches on
    shapes, not on values, and reads no recorded array but its arguments. Without a derivative around it, it just runs.
    """
    tape = next((a.tape for a in arrays if isinstance(a, Array)), ACTIVE.tape)
    if tape is None:
        return function(*arrays)
    given = [a if isinstance(a, Array) else tape.put(promoted("checkpoint", i, a), False) for i, a in enumerate(arrays)]
    tape.own()
    held, out = Callback((function, len(given), outputs), "checkpoint: the function"), ids([0] * outputs)
    ins = ids([a.number for a in given])
    tape.check(lib.lac_tape_checkpoint(tape.c, _SEGMENT, held.data, len(given), ins, outputs, out))
    made = [tape.array(y.id, any([a.is_tracked for a in given])) for y in out]
    return made[0] if outputs == 1 else tuple(made)
