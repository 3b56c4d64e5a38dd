# SPDX-License-Identifier: Apache-2.0
"""A pattern is an input of a compiled graph: new ones of the same kind run in the graph that is there."""

import gc

import numpy as np
import pytest
import torch
from reference import dense, same
from torch._dynamo.testing import CompileCounterWithBackend

import lacuna
import lacuna.torch as lt
from lacuna import _program
from lacuna.torch._symbolic import plan

MANY = 12


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)


def pattern_of(rows, cols, seed=0):
    """A full diagonal and about two entries more a row."""
    rng, shorter = np.random.default_rng(rows + seed), min(rows, cols)
    row, col = (np.r_[np.arange(shorter), rng.integers(0, n, 2 * rows)] for n in (rows, cols))
    return lacuna.Pattern.from_coo(row, col, (rows, cols))


def places(pattern):
    _, columns, rows = (torch.tensor(s.copy()) for s in pattern.structure())
    return rows, columns


def softmax_twin(pattern, a):
    rows, columns = places(pattern)
    full = torch.full(pattern.shape, -torch.inf, dtype=a.dtype).index_put((rows, columns), a)
    return full.softmax(1)[rows, columns]


def turned(pattern, a, x):
    transposed, there = pattern.transpose()
    return lt.spmm(transposed, lt.remap(there, a), lt.spmm(pattern, a, x))


def sampled(pattern, u, v):
    rows, columns = places(pattern)
    return (u @ v.mT)[rows, columns]


def attention(pattern, a, x):
    scores = lt.sddmm(pattern, lt.spmm(pattern, a, x), x).tanh()  # small, or the softmax is flat
    weights = lt.segment_softmax(pattern.row_map(), scores)
    return lt.spmm(pattern, weights, x)


def attention_twin(pattern, a, x):
    scores = sampled(pattern, dense(pattern, a) @ x, x).tanh()
    return dense(pattern, softmax_twin(pattern, scores)) @ x


# name: (function, dense twin, how many columns more than rows)
KINDS = {
    "spmm": (lambda p, a, x: lt.spmm(p, a, x), lambda p, a, x: dense(p, a) @ x, 3),
    "spmm of a vector": (lambda p, a, x: lt.spmm(p, a, x[:, 0]), lambda p, a, x: dense(p, a) @ x[:, 0], 3),
    "both sides": (
        lambda p, a, x: lt.spmm(p, a, lt.spmm(p, a, x).sin(), op="T"),
        lambda p, a, x: dense(p, a).mT @ (dense(p, a) @ x).sin(),
        3,
    ),
    "sddmm": (lambda p, a, x: lt.sddmm(p, lt.spmm(p, a, x), x), lambda p, a, x: sampled(p, dense(p, a) @ x, x), 3),
    "solve": (lambda p, a, x: lt.solve(p, a, x), lambda p, a, x: torch.linalg.solve(dense(p, a), x), 0),
    "solve with a solver": (
        lambda s, a, x: lt.solve(s, a, x),
        lambda s, a, x: torch.linalg.solve(dense(s.pattern, a), x),
        0,
    ),
    "sums of rows": (
        lambda p, a, x: lt.segment_sum(p.row_map(), a) + lt.segment_sum(p.col_map(), a),
        lambda p, a, x: dense(p, a).sum(1) + dense(p, a).sum(0),
        0,
    ),
    "rows along a map": (
        lambda p, a, x: lt.gather(p.col_map(), x) * a[:, None],
        lambda p, a, x: x[places(p)[1]] * a[:, None],
        3,
    ),
    "transpose": (turned, lambda p, a, x: dense(p, a).mT @ (dense(p, a) @ x), 3),
    "attention": (attention, attention_twin, 0),
}


def inputs_of(pattern, k=4):
    rows, columns = places(pattern)
    a = torch.randn(pattern.nnz, dtype=torch.float64) + 10 * (rows == columns)
    return a.requires_grad_(), torch.randn(pattern.shape[1], k, dtype=torch.float64, requires_grad=True)


def check(function, twin, pattern, a, x, given=None):
    got, expected = function(given or pattern, a, x), twin(given or pattern, a, x)
    same(got, expected)
    bar = torch.randn_like(expected)
    gradients = [torch.autograd.grad((y * bar).sum(), (a, x), allow_unused=True) for y in (got, expected)]
    for mine, theirs in zip(*gradients):
        same(torch.zeros(()) if mine is None else mine, torch.zeros(()) if theirs is None else theirs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dynamic", [None, True], ids=["automatic", "dynamic"])
def test_new_patterns_run_in_the_same_graph(kind, dynamic):
    function, twin, wider = KINDS[kind]
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(function, fullgraph=True, backend=counter, dynamic=dynamic)
    for rows in range(5, 5 + 3 * MANY, 3):
        pattern = pattern_of(rows, rows + wider)
        given = lacuna.Solver(pattern) if kind == "solve with a solver" else pattern
        check(compiled, twin, pattern, *inputs_of(pattern), given)
    assert counter.frame_count <= (1 if dynamic else 2)


@pytest.mark.parametrize("kind", ["spmm", "solve", "attention"])
def test_inductor_takes_new_patterns(kind):
    function, twin, wider = KINDS[kind]
    counter = CompileCounterWithBackend("inductor")
    compiled = torch.compile(function, fullgraph=True, backend=counter)
    for rows in range(5, 5 + 3 * MANY, 3):
        pattern = pattern_of(rows, rows + wider)
        check(compiled, twin, pattern, *inputs_of(pattern))
    assert counter.frame_count <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_that_are_the_same_by_chance_are_not_taken_for_one(kind):
    """While graphs are made, columns of x, rows, columns and entries are the same number; afterwards they are not."""
    function, twin, wider = KINDS[kind]
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    diagonals = [lacuna.Pattern.from_coo(np.arange(n), np.arange(n), (n, n)) for n in (4, 6)]
    others = [pattern_of(n, n + wider) for n in (7, 6, 11)]
    for pattern, k in zip(diagonals + others + diagonals, (4, 6, 6, 5, 2, 3, 4)):
        given = lacuna.Solver(pattern) if kind == "solve with a solver" else pattern
        check(compiled, twin, pattern, *inputs_of(pattern, k), given)


def test_what_cannot_be_left_open_is_a_graph_of_its_own():
    """The product's entries do not follow from sizes: the numbers are right all the same."""
    compiled = torch.compile(lambda p, a, x: lt.spgemm(p, a, p, a), fullgraph=True, backend="aot_eager")
    for rows in (5, 8, 11):
        pattern = pattern_of(rows, rows)
        at = places(pattern.product(pattern))
        check(compiled, lambda p, a, x, at=at: (dense(p, a) @ dense(p, a))[at], pattern, *inputs_of(pattern))


def test_a_size_that_the_signature_does_not_name_is_found_out():
    """The columns of gather_mm's result are those of b. While the graph is made they are as many as the map has
    groups."""

    def scaled(map_, a, b):
        y = lt.gather_mm(a, b, map_)
        return y * y.shape[-1]

    compiled = torch.compile(scaled, fullgraph=True, backend="aot_eager")
    for groups in (3, 4, 6, 5):
        target = np.arange(2 * groups) % groups
        a, b = (torch.randn(s, dtype=torch.float64) for s in ((2 * groups, 3), (groups, 3, 4)))
        same(compiled(lacuna.Map(target, groups), a, b), 4 * torch.einsum("nd,nde->ne", a, b[torch.tensor(target)]))


def test_derivatives_of_derivatives_with_new_patterns():
    grad = torch.func.grad(lambda a, p, x: (lt.solve(p, a, x) ** 3).sum())
    second = torch.func.grad(lambda a, p, x: (grad(a, p, x) ** 2).sum())
    compiled = torch.compile(second, fullgraph=True, backend="aot_eager")
    first = torch.func.grad(lambda a, p, x: (torch.linalg.solve(dense(p, a), x) ** 3).sum())
    twin = torch.func.grad(lambda a, p, x: (first(a, p, x) ** 2).sum())
    for rows in (5, 8, 11):
        pattern = pattern_of(rows, rows)
        a, x = (t.detach() for t in inputs_of(pattern))
        same(compiled(a, pattern, x), twin(a, pattern, x))


def test_maps_and_patterns_that_leave_compiled_code_are_whole():
    def parts(p, a):
        turned, there = p.transpose()
        return lt.segment_sum(p.row_map(), a), p.row_map(), turned, there

    compiled = torch.compile(parts, fullgraph=True, backend="aot_eager")
    for rows in (5, 8, 11):
        pattern = pattern_of(rows, rows + 3)
        a, _ = inputs_of(pattern)
        _, row_map, turned, there = compiled(pattern, a.detach())
        matrix = pattern.to_scipy(a.detach().numpy())
        np.testing.assert_array_equal(row_map.target, matrix.tocoo().row)
        assert turned.shape == matrix.T.shape and turned.same(lacuna.Pattern.from_scipy(matrix.T))
        values = lacuna.remap(there, a.detach().numpy())
        np.testing.assert_array_equal(turned.to_scipy(values).toarray(), matrix.T.toarray())
        del pattern  # what was asked for something lives on its own
        gc.collect()
        assert "Map" in repr(row_map) and turned.row_map().outputs == rows + 3


def test_programs_of_a_compiled_backward_do_not_fill_the_memory(monkeypatch):
    """Whatever shapes come, a family keeps so many programs and no more."""
    monkeypatch.setattr(_program, "_MAX_PROGRAMS", 8)
    pattern = pattern_of(5, 8)
    compiled = torch.compile(lambda p, a, x: lt.spmm(p, a, x), fullgraph=True, backend="aot_eager", dynamic=True)
    for k in range(2, 22):
        a, x = inputs_of(pattern, k)
        y = compiled(pattern, a, x)
        same(torch.autograd.grad(y.sum(), a)[0], sampled(pattern, torch.ones_like(y), x.detach()))
        assert len(pattern.family.programs) <= 8


def test_an_error_while_a_program_is_made_is_not_taken_for_a_symbol():
    class Broken:
        keys = ()

        def program(self, *_):
            raise TypeError("of its own")

    with pytest.raises(TypeError, match="of its own"):
        plan(Broken(), 0, (), ((1, (2, 3)),))


def test_plain_tensors_do_not_enter_the_dispatcher_and_recorded_ones_do():
    """Both ways are the same operator: the numbers agree, and the derivative is there where it is recorded."""
    pattern = pattern_of(5, 8)
    a, x = inputs_of(pattern)
    name = lacuna._operators.resolve("spmm", (pattern.key,), (0,))
    plain, recorded = (torch.ops.lacuna.apply.default(name, [], [], [t, x.detach()])[0] for t in (a.detach(), a))
    assert plain.grad_fn is None
    same(plain, dense(pattern, a.detach()) @ x.detach())
    same(torch.autograd.grad(recorded.sum(), a)[0], sampled(pattern, torch.ones_like(recorded), x.detach()))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(a.detach(), a.detach())
        (out,) = torch.ops.lacuna.apply.default(name, [], [], [dual, x.detach()])
        same(torch.autograd.forward_ad.unpack_dual(out).tangent, plain)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4, dtype=torch.float64)

    def forward(self, pattern, a, x):
        return lt.spmm(pattern, a, self.linear(x)).relu()


def test_a_module_takes_new_patterns():
    layer, counter = Layer(), CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(layer, fullgraph=True, backend=counter)
    for rows in range(5, 5 + 3 * MANY, 3):
        pattern = pattern_of(rows, rows + 3)
        check(compiled, lambda p, a, x: (dense(p, a) @ layer.linear(x)).relu(), pattern, *inputs_of(pattern))
    assert counter.frame_count <= 2


def test_vmap_with_new_patterns():
    """Values, one set for each of a batch, beside one x."""
    counter = CompileCounterWithBackend("aot_eager")
    many = lambda p, a, x: torch.func.vmap(lambda v: lt.spmm(p, v, x))(a)  # noqa: E731
    compiled = torch.compile(many, fullgraph=True, backend=counter)
    for rows in (5, 8, 11, 14):
        pattern = pattern_of(rows, rows + 3)
        a, x = (t.detach() for t in inputs_of(pattern))
        a = torch.stack([a, 2 * a, a.sin()])
        same(compiled(pattern, a, x), torch.stack([dense(pattern, v) @ x for v in a]))
    assert counter.frame_count <= 2


def test_a_pattern_that_is_gone_before_the_backward_is_named():
    compiled = torch.compile(lambda p, a, x: lt.spmm(p, a, x), fullgraph=True, backend="aot_eager")
    for rows in (5, 8, 11):  # the last is one that no graph was made with
        pattern = pattern_of(rows, rows)
        a, x = inputs_of(pattern)
        y = compiled(pattern, a, x)
    del pattern
    gc.collect()
    with pytest.raises(lacuna.StaleError, match="keep a pattern"):
        y.sum().backward()
