# SPDX-License-Identifier: Apache-2.0
"""Each function of C's table through all fronts, a C tape, NumPy, torch at once and step by step: the bits agree."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from reference import same
from torch._dynamo.testing import CompileCounterWithBackend

import lacuna
import lacuna.torch as lt
from lacuna import _numpy, _operators, _parameters
from lacuna._core import context, ffi, lib, release
from lacuna._program import find
from lacuna._tables import FUNCTIONS, OPERATORS

N = 6


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


ALL, LOW, HIGH = np.arange(N), np.arange(N - 1), np.arange(1, N)
P = lacuna.Pattern.from_coo(np.r_[ALL, LOW, HIGH, 0], np.r_[ALL, HIGH, LOW, 4], (N, N))
SYMMETRIC = lacuna.Pattern.from_coo(np.r_[ALL, LOW, HIGH], np.r_[ALL, HIGH, LOW], (N, N))
TALL = lacuna.Pattern.from_coo([0, 1, 2, 3, 4, 4], [0, 1, 2, 0, 1, 2], (5, 3))
MAP = lacuna.Map([0, 2, 2, 0, 3, -1], 4)


def numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def matrix(pattern, *batch):
    """Values with a diagonal that outweighs the rest."""
    _, columns, rows = pattern.structure()
    return numbers(*batch, pattern.nnz) + 9 * (rows == columns)


A, S, T = matrix(P), matrix(SYMMETRIC), numbers(TALL.nnz)
X, B = numbers(N, 3), numbers(N * N, 2)
OF_LINES = lambda f: f(P, A, 0, True, False)  # noqa: E731
CASES = {
    "neg": lambda f: f(X), "square": lambda f: f(X), "reciprocal": lambda f: f(X),
    "mean": lambda f: f(X, 0, True), "prod": lambda f: f(X), "norm": lambda f: f(X, -1, ord=1),
    "log_softmax": lambda f: f(100 * X), "concat": lambda f: f([X, X[:2], X[:1]], 0),
    "to_dense": lambda f: f(TALL, numbers(2, TALL.nnz)), "spadd": lambda f: f(P, A, SYMMETRIC, S),
    "mirror": lambda f: f(P, A, "upper", "T"), "hadamard": lambda f: f(P, A, SYMMETRIC, S),
    "kron": lambda f: f(P, A, TALL, T),
    "block_diag": lambda f: f([P, TALL, P], [A, T, A]), "spgemm": lambda f: f(P, A, SYMMETRIC, S),
    "row_sum": lambda f: f(P, A), "col_sum": lambda f: f(TALL, T), "diagonal": lambda f: f(P, matrix(P, 2)),
    "trace": lambda f: f(P, A), "scale_rows": lambda f: f(P, A, X[:, 0]), "scale_cols": lambda f: f(P, A, X[:, 0]),
    "matrix_norm": lambda f: f(P, A, 2), "segment_mean": lambda f: f(MAP, X[:, 0]), "sparse_logsumexp": OF_LINES,
    "sparse_bidir_logsumexp": lambda f: f(TALL, T, output_layout="padded"), "sparse_softmax": lambda f: f(P, A, 1),
    "sparse_max": OF_LINES, "trisolve": lambda f: f(P, A, X, "upper", "unit", "H"),
    "solve_from": lambda f: f(P, A, X, X, "H"), "lstsq": lambda f: f(TALL, T, numbers(5), 0.5, residual=True),
    "lu": lambda f: f(P, A), "ldlt": lambda f: f(SYMMETRIC, S, "natural"), "cholesky": lambda f: f(SYMMETRIC, S),
    "ilu0": lambda f: f(P, A), "ic0": lambda f: f(P, A), "logdet": lambda f: f(P, A), "slogdet": lambda f: f(P, A),
    "det": lambda f: f(P, matrix(P, 2)), "inverse_on": lambda f: f(P, A, SYMMETRIC),
    "inverse_diagonal": lambda f: f(P, A),
    "trace_solve": lambda f: f(P, A, SYMMETRIC, S), "quadratic_form": lambda f: f(P, A, X[:, 0], X[:, 1]),
    "inverse_quadratic_form": lambda f: f(P, A, X), "logdet_estimate": lambda f: f(SYMMETRIC, S, 4, seed=3),
    "trace_solve_estimate": lambda f: f(P, A, SYMMETRIC, S, probes=X),
    "banded_mm": lambda f: f((1, 1), numbers(3, N), X, op="T"),
    "banded_gemm": lambda f: f((1, 0), numbers(2, N), (0, 1), numbers(2, N), op_x="N", op_y="T"),
    "tridiagonal_solve": lambda f: f(X[1:, 0], X[:, 1] + 9, X[1:, 2], X), "diag_mm": lambda f: f(X[:, 0], X),
    "diag_solve": lambda f: f(X[:, 0], X), "toeplitz_mm": lambda f: f(X[:, 0], X[:4, 1], X[:4]),
    "toeplitz": lambda f: f(TALL, X[:5, 0], X[:3, 1]),
    "kron_mm": lambda f: f(P, A, SYMMETRIC, matrix(SYMMETRIC, 2), B), "kronsum_mm": lambda f: f(P, A, P, A, B[:, 0]),
    "kron_solve": lambda f: f(P, A, SYMMETRIC, matrix(SYMMETRIC, 2), B, "T"),
}  # fmt: skip
EACH = pytest.mark.parametrize("name", CASES)


def parts(result):
    return [np.asarray(part.detach() if isinstance(part, torch.Tensor) else part)
            for part in (result if isinstance(result, tuple) else (result,))]  # fmt: skip


def in_torch(function, tracked):
    """The function of lacuna.torch on the arrays that it is given as NumPy's."""
    made = lambda x: torch.tensor(x, requires_grad=tracked) if isinstance(x, np.ndarray) else x  # noqa: E731
    each = lambda x: [made(y) for y in x] if isinstance(x, list) else made(x)  # noqa: E731
    called = lambda *given, **named: function(*map(each, given), **{k: each(v) for k, v in named.items()})  # noqa: E731
    called.__name__ = function.__name__
    return called


def on_a_tape(name, arrays):
    """What the table's `write` makes of a spec on a C tape that runs, as C users do with the typed function."""
    ctx, out, spec = context(), ffi.new("lac_tape **"), find(name)
    ctx.check(lib.lac_tape_create(ctx.c, lib.LAC_TAPE_RUN, out))
    tape = ffi.gc(out[0], release(lib.lac_tape_destroy, "lac_tape"))
    ins, outs, held = ffi.new("lac_var[]", max(len(arrays), 1)), ffi.new("lac_var[4]"), []
    for i, array in enumerate(arrays):
        c, array = ffi.new("lac_array **"), np.array(array, order="C")
        data, shape = ffi.cast("void *", array.ctypes.data), ffi.new("int64_t[]", array.shape)
        described = _numpy.DTYPES[array.dtype], array.ndim, shape
        ctx.check(lib.lac_array_from(ctx.c, *described, data, lib.LAC_OWNERSHIP_COPY, c))
        held.append(ffi.gc(c[0], release(lib.lac_array_destroy, "lac_array")))
        ins[i] = lib.lac_tape_constant(tape, held[-1])
    call = ffi.new("lac_function_call *", {"tape": tape, "ins": len(arrays), "outs": 1, "in": ins, "out": outs})
    for field in ("objects", "object", "ints", "i", "reals", "f"):
        setattr(call, field, getattr(spec._c, field))
    spec.op.c.write(call)
    ctx.check(lib.lac_tape_status(tape))
    results = []
    for i in range(call.outs):
        value = lib.lac_tape_value(tape, outs[i])
        meta = lib.lac_array_meta(value)
        results.append(np.empty(tuple(meta.shape[0 : meta.ndim]), _numpy.BY_CODE[meta.dtype]))
        ctx.check(lib.lac_array_read(ctx.c, value, ffi.from_buffer(results[-1])))
    return results


def spied():
    """NumPy's functions, and a list of what they ask of C."""
    asked = []

    def apply(name, like, *arrays):
        asked.append((name, arrays))
        return _numpy.apply(name, like, *arrays)

    module = SimpleNamespace(**{**vars(_numpy), "apply": apply})
    return _operators.of(module, "spied"), asked


def test_every_function_has_a_case():
    assert set(CASES) == {row.name for row in FUNCTIONS.values()}


@EACH
def test_all_fronts_give_the_same_bits(name):
    expected = parts(CASES[name](getattr(lacuna, name)))
    functions, asked = spied()
    CASES[name](functions[name])
    is_vector = name in ("lstsq", "quadratic_form", "kronsum_mm")  # whose columns the front takes away
    for tracked in (False, True):
        found = parts(CASES[name](in_torch(getattr(lt, name), tracked)))
        assert len(found) == len(expected)
        for mine, theirs in zip(found, expected):
            np.testing.assert_array_equal(mine, theirs, strict=True)
    for mine, theirs in zip(on_a_tape(*asked[-1]), expected):
        np.testing.assert_array_equal(mine[..., 0] if is_vector else mine, theirs)


@pytest.mark.parametrize("row", [*OPERATORS.values(), *FUNCTIONS.values()], ids=lambda row: row.name)
def test_parameters_are_read(row):
    """Texts name as many arrays as the signature does, nothing after what may be missing, and have a sentence."""
    found = _parameters.read(row.parameters)
    kinds = [p.kind for p in found if p.kind in _parameters.ARRAYS]
    assert found and row.about.endswith(".") and len({p.name for p in found}) == len(found)
    assert row.name not in OPERATORS or FUNCTIONS.get("functions." + row.name) is row or len(kinds) == row.ins
    defaults = [p.default is not None for p in found]
    assert defaults == sorted(defaults)
    known = {"form", "bands", "integer", "real", "flag", "axis", "axes", "dtype", "shape", "size"}
    for p in found:
        assert p.kind in known | _parameters.ARRAYS | set(_parameters.OBJECTS) or "|" in p.kind, p


def test_what_stays_in_python_says_why():
    assert all(name in dir(lacuna) and reason for name, reason in _operators.names.STAYS.items())


def test_a_function_is_one_call_where_nobody_watches(monkeypatch):
    """Torch without gradients runs the program; with gradients its steps."""
    from lacuna.torch import _apply

    calls, run = [], _apply.run
    monkeypatch.setattr(_apply, "run", lambda who, *rest: calls.append(who) or run(who, *rest))
    a, x = torch.tensor(A), torch.tensor(X)
    lt.quadratic_form(P, a, x)
    assert calls == ["quadratic_form"]
    calls.clear()
    lt.quadratic_form(P, a.requires_grad_(), x)
    assert calls == ["spmm", "mul", "sum"]




@pytest.mark.parametrize("dynamic", [None, True], ids=["automatic", "dynamic"])
def test_sizes_that_functions_compute_stay_open(dynamic):
    """n k in the reshapes of kron_mm, the number of numbers in mean: one graph for all."""
    a, b = torch.tensor(T), torch.tensor(A)
    counter = CompileCounterWithBackend("aot_eager")
    function = lambda x: (lt.kron_mm(TALL, a, P, b, x), lt.mean(x, dim=-1), lt.log_softmax(x, 0))  # noqa: E731
    compiled = torch.compile(function, fullgraph=True, backend=counter, dynamic=dynamic)
    dense = torch.kron(lt.to_dense(TALL, a), lt.to_dense(P, b))
    for k in (2, 5, 7, 3):
        x = torch.randn(3 * N, k, dtype=torch.float64, requires_grad=True)
        expected = dense @ x, x.mean(-1), x.log_softmax(0)
        found = compiled(x)
        same(found, expected)
        bars = [torch.randn_like(part) for part in expected]
        same(*[torch.autograd.grad(parts, x, bars) for parts in (found, expected)])
    assert counter.frame_count <= (1 if dynamic else 2)


def square(n):
    rng = np.random.default_rng(n)
    row, col = (np.r_[np.arange(n), rng.integers(0, n, 2 * n)] for _ in range(2))
    return lacuna.Pattern.from_coo(row, col, (n, n))


@pytest.mark.parametrize("name", ["kron_mm", "kronsum_mm", "kron_solve", "quadratic_form", "inverse_quadratic_form"])
@pytest.mark.parametrize("dynamic", [None, True], ids=["automatic", "dynamic"])
def test_functions_take_new_patterns_in_the_same_graph(name, dynamic):
    counter = CompileCounterWithBackend("aot_eager")
    function = getattr(lt, name)
    compiled = torch.compile(lambda *given: function(*given), fullgraph=True, backend=counter, dynamic=dynamic)
    for n in (5, 8, 9, 12):
        p, q = square(n), square(n - 2)
        a, b = (torch.tensor(matrix(pattern)).requires_grad_() for pattern in (p, q))
        rows = n * (n - 2) if name.startswith("kron") else n
        x = torch.randn(rows, 3, dtype=torch.float64, requires_grad=True)
        given = (p, a, q, b, x) if name.startswith("kron") else (p, a, x)
        found, expected = compiled(*given), function(*given)
        same(found, expected)
        bar = torch.randn_like(expected)
        same(*[torch.autograd.grad(y, (a, x), bar) for y in (found, expected)])
    assert counter.frame_count <= (1 if dynamic else 2)


PAIRS = {
    "spadd": lambda f, p, a, q, b: f(p, a, q, b), "hadamard": lambda f, p, a, q, b: f(p, a, q, b),
    "spgemm": lambda f, p, a, q, b: f(p, a, q, b), "kron": lambda f, p, a, q, b: f(p, a, q, b),
    "trace_solve": lambda f, p, a, q, b: f(p, a, q, b), "inverse_on": lambda f, p, a, q, b: f(p, a, q) * b,
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("dynamic", [None, True], ids=["automatic", "dynamic"])
def test_what_a_function_makes_of_two_patterns_of_the_same_sizes(name, dynamic):
    """Where they are, and not how large, says what their union or product is: a graph that was made of one pair is not
    taken for another."""
    function = getattr(lt, name)
    compiled = torch.compile(lambda *given: PAIRS[name](function, *given), fullgraph=True, backend="aot_eager",
                             dynamic=dynamic)  # fmt: skip
    for n, step in ((6, 2), (8, 3), (8, 5), (9, 4)):
        at = np.arange(n)
        p, q = (lacuna.Pattern.from_coo(np.r_[at, at], np.r_[at, (at + s) % n], (n, n)) for s in (1, step))
        a, b = (torch.tensor(matrix(pattern), requires_grad=True) for pattern in (p, q))
        found, expected = compiled(p, a, q, b), PAIRS[name](function, p, a, q, b)
        same(found, expected)
        bar = torch.randn_like(expected)
        same(*[torch.autograd.grad(y, (a, b), bar, allow_unused=True) for y in (found, expected)])
