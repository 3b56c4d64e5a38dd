# SPDX-License-Identifier: Apache-2.0
"""What users do that their authors did not think of."""

import gc
import pickle

import numpy as np
import pytest
import torch
from one_graph import IS_OLDEST

import lacuna
import lacuna.torch as lt
from lacuna._operators import ARRAYS

pattern = lacuna.Pattern.from_coo([0, 0, 1, 2, 2], [0, 3, 1, 0, 2], (3, 4))
groups = lacuna.Map([0, 2, 2, -1, 4, 0], 5)
chosen = lacuna.Map([2, 0, 0, 1, 2], 3)


def numbers(*shape):
    return torch.rand(*shape, dtype=torch.float64, generator=torch.manual_seed(sum(shape)))


COMPILED = {
    "segment_mean": (lambda x: lt.segment_mean(groups, x), (6,)),
    "gather_mm of a Map": (lambda a, b: lt.gather_mm(a, b, chosen), (5, 3), (3, 3, 2)),
    "gather_mm of a list": (lambda a, b: lt.gather_mm(a, b, [2, 0, 0, 1, 2]), (5, 3), (3, 3, 2)),
    "segment_mm": (lambda a, b: lt.segment_mm(a, b, [2, 0, 3]), (5, 3), (3, 3, 2)),
    "gather of a list": (lambda x: lt.gather([0, -1, 2], x), (4, 3)),
    "scatter_add of a list": (lambda x: lt.scatter_add([0, 1, 1], x, 4), (3, 3)),
    "tridiagonal_solve": (lambda d, u, b: lt.tridiagonal_solve(u, d + 6, u, b), (5,), (4,), (5,)),
    "toeplitz_mm": (lambda c, r, x: lt.toeplitz_mm(c, r, x, "H"), (5,), (4,), (5,)),
    "banded_outer": (lambda u, v: lt.banded_outer((1, 2), u, v), (5,), (6,)),
    "banded_mm": (lambda a, x: lt.banded_mm((1, 0), a, x), (2, 6), (6, 2)),
    "prod": (lambda x: lt.prod(x, 0), (3, 4)),
    "softmax": (lt.softmax, (3, 4)),
    "matrix_norm": (lambda a: lt.matrix_norm(pattern, a, 2), (5,)),
}


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_functions_are_one_graph(name, dynamic):
    if IS_OLDEST and dynamic and name == "softmax":
        pytest.skip("torch 2.4 holds the number of an axis open, and does not shift by it")
    torch._dynamo.reset()
    function, *shapes = COMPILED[name]
    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    inputs = [numbers(*shape).requires_grad_() for shape in shapes]
    got, want = compiled(*inputs), function(*inputs)
    torch.testing.assert_close(got, want)
    for g, w in zip(*(torch.autograd.grad(y.square().sum(), inputs) for y in (got, want))):
        torch.testing.assert_close(g, w)


@pytest.mark.parametrize("frozen", ["ints", "floats"])
def test_frozen_arguments_of_a_compiled_function_may_change(frozen):
    torch._dynamo.reset()
    function = (lambda x, n: lt.slice(x, 0, n)) if frozen == "ints" else (lambda x, p: lt.pow(x, p))
    compiled, x = torch.compile(function, fullgraph=True, dynamic=True, backend="aot_eager"), numbers(6)
    for value in (2, 3, 4) if frozen == "ints" else (1.5, 2.5, 3.5):
        torch.testing.assert_close(compiled(x, value), function(x, value))


def test_a_compiled_function_keeps_the_maps_that_it_made():
    torch._dynamo.reset()
    compiled = torch.compile(lambda c, x: lt.toeplitz_mm(c, c, x), fullgraph=True, backend="aot_eager")
    want = compiled(numbers(5), numbers(5))
    for n in range(2, 80):  # more than are kept beside it
        lt.toeplitz_mm(numbers(n), numbers(n), numbers(n))
    gc.collect()
    torch.testing.assert_close(compiled(numbers(5), numbers(5)), want)


def test_a_frozen_list_is_no_excuse_for_other_types():
    x = np.arange(4.0)
    assert lacuna.gather([1, 0], x).tolist() == [1, 0]
    for index in ([1.0, 0.0], [True, False], np.ma.array([1, 0], mask=[0, 1]), [[1, 0]]):
        with pytest.raises(lacuna.ArgumentError):
            lacuna.gather(index, x)
        with pytest.raises(lacuna.ArgumentError):
            lacuna.gather_mm(x[:2, None], np.ones((2, 1, 1)), index)


def square(n, seed=3):
    """A pattern with a heavy diagonal, and two matrices on it."""
    rng = np.random.default_rng(seed)
    made = lacuna.Pattern.from_coo(*np.nonzero(np.eye(n) + (rng.random((n, n)) < 0.4)), (n, n))
    _, columns, rows = made.structure()
    return made, rng.random((2, made.nnz)) + 6 * (rows == columns)


@pytest.mark.parametrize("kind", ["pattern", "solver", "factor"])
def test_kron_solve_takes_batches_of_either_matrix_and_each_kind_of_solver(kind):
    (pa, a), (pb, b) = square(4), square(3, 4)
    y = np.random.default_rng(5).random((2, 12, 2))
    makers = {"pattern": lambda p, v: p, "solver": lambda p, v: p.solver(), "factor": lambda p, v: p.solver().factor(v)}
    make = makers[kind]
    for u, v in ((a, b), (a, b[0]), (a[0], b)):
        both = zip(np.broadcast_to(u, a.shape), np.broadcast_to(v, b.shape))
        dense = np.stack([np.kron(pa.to_scipy(i).toarray(), pb.to_scipy(j).toarray()) for i, j in both])
        got = lacuna.kron_solve(make(pa, u), u, make(pb, v), v, y)
        np.testing.assert_allclose(got, np.linalg.solve(dense, y), rtol=1e-12)


@pytest.mark.parametrize("function", [lacuna.kron_mm, lacuna.kronsum_mm, lacuna.kron_solve])
def test_kronecker_functions_name_what_does_not_fit(function):
    p, (a, _) = square(3)
    with pytest.raises(lacuna.ShapeError, match=f"{function.__name__}: .* 9 rows"):
        function(p, a, p, a, np.ones(8))
    with pytest.raises(lacuna.ArgumentError, match=f"{function.__name__}: expected a lacuna.Pattern"):
        function(a, p, p, a, np.ones(9))


def test_functions_that_want_single_entries_do_not_take_blocks_for_batches():
    blocks = lacuna.Pattern.from_bsr([0, 1, 2], [0, 1], (4, 4), (2, 2))
    a = np.ones((2, 2, 2))  # might be 4 matrices of 2 entries
    for function in (
        lambda: lacuna.matrix_norm(blocks, a), lambda: lacuna.block_diag([blocks], [a]),
        lambda: lacuna.hadamard(blocks, a, blocks, a), lambda: lacuna.kron(blocks, a, blocks, a),
        lambda: lacuna.save_safetensors("never", {"a": (blocks, a)}),
        lambda: lacuna.save_safetensors("never", {"a": blocks}),
    ):  # fmt: skip
        with pytest.raises(lacuna.UnsupportedError, match="scalar"):
            function()


@pytest.mark.parametrize(
    "function", [lambda x: lacuna.pow(x, 1), lambda x: lacuna.concat([x]), lambda x: lacuna.block_diag([pattern], [x])]
)
def test_results_are_new_arrays(function):
    x = np.ones(pattern.nnz)
    got = function(x)
    got += 1
    assert (x == 1).all() and (got == 2).all()


def test_masks_are_not_lost():
    masked = np.ma.array([1.0, 2.0], mask=[True, False])
    functions = lacuna.sum, lacuna.exp, lacuna.mean, lambda x: lacuna.cast(x, "float32"), lambda x: lacuna.scale(2, x)
    for function in functions:
        with pytest.raises(lacuna.ArgumentError, match="filled"):
            function(masked)


@pytest.mark.parametrize("name", ["sum", "softmax", "prod", "exp", "cumsum", "mean"])
def test_torch_functions_say_that_they_take_tensors(name):
    for x in ([1.0, 2.0], np.ones(2), 1.0, None):
        with pytest.raises(lacuna.ArgumentError, match="must be a torch.Tensor"):
            getattr(lt, name)(x)


def test_a_condition_may_be_a_number():
    x, y = numbers(3), numbers(3) + 1
    for c in (True, 0, 2.0):
        torch.testing.assert_close(lt.where(c, x, y), x if c else y)
        np.testing.assert_array_equal(lacuna.where(c, x.numpy(), y.numpy()), (x if c else y).numpy())


@pytest.mark.parametrize("name", ["spmm", "sum", "exp", "apply", "kron_mm", "segment_mm", "cast"])
@pytest.mark.parametrize("package", [lacuna, lt], ids=["numpy", "torch"])
def test_functions_are_at_home_in_their_package(package, name):
    function = getattr(package, name)
    assert pickle.loads(pickle.dumps(function)) is function
    assert f"{function.__module__}.{function.__qualname__}" == f"{package.__name__}.{name}"


@pytest.mark.parametrize("function", [lt.sign, lt.heaviside, lambda x: lt.pow(x, 0)])
def test_flat_functions_have_a_gradient_of_zero(function):
    x = numbers(3).requires_grad_()
    (g,) = torch.autograd.grad(function(x).sum(), x)
    assert (g == 0).all()


def test_ever_new_frozen_numbers_do_not_fill_the_memory_nor_break_what_was_made_before(monkeypatch):
    monkeypatch.setattr(lacuna._program, "_MAX_SPECS", 50)
    torch._dynamo.reset()
    x = numbers(4).requires_grad_()
    compiled = torch.compile(lambda x: lt.pow(x, 2.25).sum(), fullgraph=True, backend="aot_eager")
    traced = torch.fx.experimental.proxy_tensor.make_fx(lambda x: lt.pow(x, 2.5))(x.detach())
    compiled(x).backward()
    loss = lt.pow(x, 3.25).sum()
    for i in range(300):
        lt.pow(x, 4 + i / 1000).sum().backward()
    assert len(ARRAYS.family.specs) <= 50 and len(ARRAYS.family.asked) <= 50
    gc.collect()
    torch.testing.assert_close(torch.autograd.grad(loss, x)[0], 3.25 * x**2.25)
    torch.testing.assert_close(torch.autograd.grad(compiled(x), x)[0], 2.25 * x**1.25)
    torch.testing.assert_close(traced(x.detach()), x.detach() ** 2.5)


def test_files_are_those_that_were_named_and_can_be_read_back(tmp_path):
    ones = np.ones(pattern.nnz)
    for use in (
        lambda: lacuna.write_matrix_market(f"{tmp_path}/a\0b", pattern, ones),
        lambda: lacuna.save_safetensors(f"{tmp_path}/a\0b", {"a": ones}),
        lambda: lacuna.save_safetensors(tmp_path / "a", {"a": (pattern, ones.astype(int))}),
        lambda: lacuna.save_safetensors(tmp_path / "a", {"a": np.ma.array(ones, mask=ones)}),
    ):
        with pytest.raises(lacuna.LacunaError):
            use()
    assert not list(tmp_path.iterdir())


# -- sparse tensors ---------------------------------------------------------------------------------------------------

MATRIX = lt.SparseTensor(torch.tensor([2.0, 1, 4], dtype=torch.float64), [0, 0, 1], [0, 1, 1], (2, 2))
EMPTY = lt.SparseTensor(torch.zeros(0), [], [], (3, 3))
BATCHES = MATRIX.with_values(torch.arange(18.0).reshape(2, 3, 3))
REFUSED = {
    "a mask of the matrix": (lambda: MATRIX[torch.ones(2, 2, dtype=torch.bool)], "one dimension of integers or bools"),
    "rows in two dimensions": (lambda: MATRIX[torch.tensor([[0, 1]])], "one dimension of integers or bools"),
    "rows that are no integers": (lambda: MATRIX[[0.5]], "one dimension of integers or bools"),
    "a mask that is too short": (lambda: MATRIX[:, torch.tensor([True])], "a mask of 1 in an index"),
    "a mask of the batch": (lambda: BATCHES[torch.ones(2, 3, dtype=torch.bool), 0], "a mask of its own"),
    "a mask of NumPy": (lambda: BATCHES[np.ones((2, 3), bool)], "a mask of its own"),
    "a dimension twice": (lambda: MATRIX.sum((0, -2)), "a dimension twice"),
    "a dimension by name": (lambda: MATRIX.sum("rows"), "must be an integer"),
    "no shape": (lambda: lt.SparseTensor(MATRIX.values, [0, 0, 1], [0, 1, 1], None), "shape is None"),
    "another number of features": (lambda: lt.nn.SparseLinear(MATRIX)(torch.ones(5, 3)), "it must end with 2"),
    "no patterns": (lambda: lt.block_diag([], []), "block_diag: there is no pattern"),
    "too few values": (lambda: pattern.to_scipy(np.ones(2)), "the pattern has 5 slots"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_misread_is_refused(name):
    use, words = REFUSED[name]
    with pytest.raises((lacuna.LacunaError, IndexError), match=words):
        use()


def test_masks_integers_of_numpy_and_empty_matrices():
    assert MATRIX[np.array([False, True])].to_dense().tolist() == [[0, 4]]
    assert MATRIX[[True, False], -1:].to_dense().tolist() == [[1]]
    assert MATRIX.sum(np.int64(1)).tolist() == [3, 4]
    assert not EMPTY.is_positive_definite() and EMPTY[:0, :0].is_positive_definite()


def test_factors_under_vmap():
    b = torch.ones(2, dtype=torch.float64)
    many = torch.stack([MATRIX.values, 3 * MATRIX.values])
    for method in ("lu", "direct"):
        solved = torch.func.vmap(lambda v: MATRIX.with_values(v).factor(method).solve(b))(many)
        torch.testing.assert_close(solved, MATRIX.with_values(many).solve(b))
    logs = torch.func.vmap(lambda v: MATRIX.with_values(v).lu().logdet())(many)
    torch.testing.assert_close(logs, MATRIX.with_values(many).logdet())
    with pytest.raises(lacuna.UnsupportedError, match="vmap"):
        torch.func.vmap(lambda v: MATRIX.with_values(v).lu().rcond())(many)


@pytest.mark.parametrize("op", ["N", "T"])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_gradients_of_many_directions_of_a_solve_with_a_report(batch, op):
    """torch.autograd.grad(is_grads_batched=True), which jacobian(vectorize=True) calls."""
    values = MATRIX.values.expand(*batch, 3).clone().requires_grad_()
    b = torch.rand(4, *batch, 2, 1, dtype=torch.float64, requires_grad=True)

    def solve(values, b):
        return MATRIX.with_values(values).solve(b, method="gmres", rtol=1e-13, op=op, return_info=True)[0]

    assert torch.autograd.gradcheck(solve, (values, b), check_batched_grad=True)
    rows = torch.autograd.functional.jacobian(solve, (values, b), vectorize=True)
    torch.testing.assert_close(rows, torch.autograd.functional.jacobian(solve, (values, b)))


def test_what_vmap_maps_over_can_be_printed_and_is_not_factored():
    many, said = torch.stack([MATRIX.values, 3 * MATRIX.values]), []
    torch.func.vmap(lambda v: said.append(repr(MATRIX.with_values(v))) or v)(many)
    assert "(2, 2)" in said[0] and "(0, 0): 2" in said[0]
    with pytest.raises(lacuna.UnsupportedError, match="vmap maps over the values"):
        torch.func.vmap(lambda v: MATRIX.with_values(v).is_positive_definite())(many)


TRACED = {
    "product": lambda v, b: MATRIX.with_values(v) @ b,
    "solve": lambda v, b: MATRIX.with_values(v).solve(b),
    "determinant": lambda v, b: MATRIX.with_values(v).det(),
    "function": lambda v, b: lt.segment_softmax(MATRIX.pattern.row_map(), v),
}


@pytest.mark.filterwarnings("ignore")  # torch.jit is deprecated
@pytest.mark.parametrize("name", TRACED)
def test_a_trace_of_torch_jit_computes_anew(name):
    given = MATRIX.values.clone(), torch.ones(2, dtype=torch.float64)
    traced, others = torch.jit.trace(TRACED[name], given), [(2 * x + 1).requires_grad_() for x in given]
    torch.testing.assert_close(traced(*others), TRACED[name](*others))
    grads = [torch.autograd.grad(f(*others).sum(), others[0])[0] for f in (traced, TRACED[name])]
    torch.testing.assert_close(*grads)
