# SPDX-License-Identifier: Apache-2.0
"""SparseTensor in trees, files, pickles, workers, torch.func and torch.compile."""

import copy
import io
import multiprocessing
import pickle

import numpy as np
import pytest
import torch
from one_graph import ONE_GRAPH, counts_graphs, exports
from reference import same
from sparse_cases import GIVEN, random
from torch._dynamo.testing import CompileCounterWithBackend

import lacuna
import lacuna.torch as lt
from lacuna.torch import SparseTensor

F = torch.func


def twin(values, b, given):
    return torch.linalg.inv(given.dense(values)) @ b


# -- trees and torch.func ---------------------------------------------------------------------------------------------


def test_a_tree_has_the_values_as_its_leaf():
    a = GIVEN["square"].tensor()
    leaves, spec = torch.utils._pytree.tree_flatten({"a": a})
    assert leaves == [a.values]
    back = torch.utils._pytree.tree_unflatten(leaves, spec)["a"]
    assert isinstance(back, SparseTensor) and back.structure is a.structure
    doubled = torch.utils._pytree.tree_map(lambda t: 2 * t, a)
    same(doubled.to_dense(), 2 * a.to_dense())
    assert torch.utils._pytree.tree_flatten(a.T)[1] == torch.utils._pytree.tree_flatten(a.T)[1]


def test_gradients_in_a_sparse_tensor_are_sparse_tensors():
    given = GIVEN["square"]
    a, b = given.tensor(), random(5, like=given.values)
    grad = F.grad(lambda a: a.solve(b).pow(3).sum())(a)
    assert isinstance(grad, SparseTensor) and grad.structure is a.structure
    same(grad.values, F.grad(lambda v: twin(v, b, given).pow(3).sum())(given.values))
    tangent = a.with_values(given.values.sin())
    got = F.jvp(lambda a: a @ b, (a,), (tangent,))
    same(got, F.jvp(lambda v: given.dense(v) @ b, (given.values,), (given.values.sin(),)))


@pytest.mark.parametrize("info", [False, True], ids=["plain", "start"])
def test_vmap_over_values_and_right_hand_sides(info):
    given = GIVEN["square"]
    values, b = torch.stack([given.values * (i + 1) for i in range(3)]), random(3, 5, like=given.values)
    more = {"x0": torch.zeros(5, dtype=torch.float64), "method": "gmres", "rtol": 1e-14} if info else {}
    solve = lambda v, b: given.tensor(v).solve(b, **more)  # noqa: E731
    each = lambda v, b: twin(v, b, given)  # noqa: E731
    for dims, arguments in (((0, 0), (values, b)), ((0, None), (values, b[0])), ((None, 0), (values[0], b)),
                            ((1, 1), (values.T, b.T))):  # fmt: skip
        same(F.vmap(solve, dims)(*arguments), F.vmap(each, dims)(*arguments))
    loss = lambda f: lambda v, b: f(v, b).pow(3).sum()  # noqa: E731
    same(F.vmap(F.grad(loss(solve)))(values, b), F.vmap(F.grad(loss(each)))(values, b))
    whole = given.tensor().with_values(values)
    same(F.vmap(lambda a, b: a.solve(b, **more))(whole, b), F.vmap(each)(values, b))


@pytest.mark.parametrize("more", [{}, {"x0": torch.zeros(5, dtype=torch.float64), "method": "gmres", "rtol": 1e-14}],
                         ids=["plain", "start"])  # fmt: skip
def test_products_with_jacobians_outlive_their_transform(more):
    """torch.func.vjp gives a function that runs when what the transform has wrapped is wrapped no more."""
    given = GIVEN["square"]
    b = random(5, like=given.values)
    solve = lambda v, b: given.tensor(2 * v).T.solve(b, **more) ** 3  # noqa: E731
    other = lambda v, b: torch.linalg.solve(given.dense(2 * v).T, b) ** 3  # noqa: E731
    same(*(F.vjp(f, given.values, b)[1](b) for f in (solve, other)))
    same(*(F.vjp(lambda v: f(v, b), given.values)[1](b) for f in (solve, other)))
    same(*(F.vjp(lambda b: f(given.values, b), b)[1](b) for f in (solve, other)))


def test_second_derivatives_under_func():
    given = GIVEN["square"]
    b = random(5, like=given.values)
    loss = lambda v: (given.tensor(v).solve(b) ** 3).sum()  # noqa: E731
    other = lambda v: (twin(v, b, given) ** 3).sum()  # noqa: E731
    same(F.hessian(loss)(given.values), F.hessian(other)(given.values))
    same(F.jacfwd(F.jacfwd(loss))(given.values), F.hessian(other)(given.values))


# -- torch.compile ----------------------------------------------------------------------------------------------------


@pytest.fixture
def compiled():
    torch._dynamo.reset()
    return lambda function: torch.compile(function, fullgraph=ONE_GRAPH, backend="aot_eager")


FUNCTIONS = {
    "product": lambda a, b: a @ b,
    "left": lambda a, b: b @ a,
    "solve": lambda a, b: a.solve(b),
    "options": lambda a, b: a.solve(b, method="lu"),
    "transpose": lambda a, b: a.T @ b,
    "sum": lambda a, b: (a + a.T) @ b,
    "square": lambda a, b: (a @ a) @ b,
    "functions": lambda a, b: (2 * a.exp() - a) @ b,
    "reductions": lambda a, b: a.sum(0) + a.max(1) + b * a.norm("fro") + a.diagonal(),
    "determinant": lambda a, b: b * a.logdet(),
    "dense": lambda a, b: a.to_dense() @ b,
    "part": lambda a, b: a[0:5, 1:4].T @ b,
    "left_part": lambda a, b: b @ a[0:5, 1:4],
    "numbers": lambda a, b: (1 - a / 2 + b[0] * a - a * b[1]) @ b,
    "dense_operands": lambda a, b: (b - a).sum(0) + (a - b).sum(1) + (a * b[:, None]) @ b,
    "start": lambda a, b: a.solve(b, x0=b) + a.solve(b, method="gmres", x0=b, op="H") + a.solve(b, op="T", x0=0 * b),
    "factorization": lambda a, b: a.lu().solve(b) + a.factor().solve(b, op="T") + a.lu().logdet(),
    "mean": lambda a, b: a.mean(0) + a.prod(1, include_zeros=False),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_methods_of_a_tensor_made_outside_and_inside(name, compiled):
    given, function = GIVEN["square"], FUNCTIONS[name]
    b = random(5, like=given.values)
    a = given.tensor(given.values.clone().requires_grad_())
    expected = function(a, b)
    grad = torch.autograd.grad(expected.pow(3).sum(), a.values)
    got = compiled(function)(a, b)
    same(got, expected)
    same(torch.autograd.grad(got.pow(3).sum(), a.values), grad)
    values = given.values.clone().requires_grad_()
    got = compiled(lambda v, b: function(a.with_values(v), b))(values, b)
    same(torch.autograd.grad(got.pow(3).sum(), values), grad)


OPEN = {
    "page": lambda a, b: a.T @ a.solve(b),
    "turns": lambda a, b: a.T.T @ (a.H @ b) + a.T.solve(b),
    "places": lambda a, b: a.diagonal() + a.to_dense() @ b + a.sum(1),
    "options": lambda a, b: a.solve(b, method="gmres", rtol=1e-13, max_iterations=99) + a.lu().solve(b),
}


@counts_graphs
@pytest.mark.parametrize("name", OPEN)
def test_compiled_functions_take_new_patterns(name):
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(OPEN[name], fullgraph=True, backend=counter)
    for n in range(5, 16):
        row, col = torch.cat([torch.arange(n).flip(0), torch.randint(n, (2, 3 * n))[0]]), torch.randint(n, (4 * n,))
        col[:n] = row[:n]
        values = torch.cat([torch.full((n,), 9.0), torch.rand(3 * n)]).double().requires_grad_()
        b = torch.rand(n, dtype=torch.float64)
        got, expected = (f(SparseTensor(values, row, col, (n, n)), b) for f in (compiled, OPEN[name]))
        same(got, expected)
        same(*[torch.autograd.grad(y.pow(3).sum(), values) for y in (got, expected)])
    assert counter.frame_count <= 2


def test_compiled_options_may_be_arguments(compiled):
    given = GIVEN["square"]
    a, b = given.tensor(), random(5, like=given.values)
    solve = compiled(lambda a, b, rtol, most: a.solve(b, method="gmres", rtol=rtol, max_iterations=most))
    for rtol, most in ((1e-12, 50), (1e-13, 60), (1e-11, 60)):
        same(solve(a, b, rtol, most), torch.linalg.solve(given.matrix(), b))


@counts_graphs
@pytest.mark.parametrize("function, said", [
    (lambda a, b: a.solve(b, return_info=True)[0], "return_info"), (lambda a, b: a.lu().rcond(), "make it outside"),
])  # fmt: skip
def test_what_compiled_code_does_not_have_is_said(function, said, compiled):
    given = GIVEN["square"]
    with pytest.raises(Exception, match=said):
        compiled(function)(given.tensor(), random(5, like=given.values))


@pytest.mark.parametrize("name", ["batched", "blocks", "complex"])
def test_compiled_solves_from_a_start(name, compiled):
    given = GIVEN[name]
    b = random(*given.batch, given.matrix().shape[-1], like=given.values)
    a = given.tensor(given.values.clone().requires_grad_())
    matrix = given.matrix(a.values)
    for op, turned in (("N", matrix), ("T", matrix.mT), ("H", matrix.mH)):
        got = compiled(lambda a, b, op=op: a.solve(b, x0=torch.zeros_like(b), op=op))(a, b)
        expected = torch.linalg.solve(turned, b)
        same(got, expected)
        loss, twin_loss = got.abs().pow(3).sum(), expected.abs().pow(3).sum()
        same(torch.autograd.grad(loss, a.values), torch.autograd.grad(twin_loss, a.values, retain_graph=True))


def test_compiled_functions_return_sparse_tensors(compiled):
    given = GIVEN["square"]
    a = given.tensor()
    out = compiled(lambda a: (a * 2 + a.T).exp())(a)
    assert isinstance(out, SparseTensor)
    same(out.to_dense(), (a * 2 + a.T).exp().to_dense())


@counts_graphs
def test_a_tensor_made_of_indices_within_compiled_code_checks_them(compiled):
    given = GIVEN["square"]
    solve = compiled(lambda v, row, col, b: SparseTensor(v, row, col, (5, 5)).solve(b))
    b, rows, columns = random(5, like=given.values), given.rows.clone(), given.columns.clone()
    for scale in (1, 2):
        values = (given.values * scale).requires_grad_()
        got = solve(values, rows, columns, b)
        same(got, twin(values, b, given))
        expected = torch.autograd.grad(twin(values, b, given).pow(3).sum(), values)
        same(torch.autograd.grad(got.pow(3).sum(), values), expected)
    with pytest.raises(lacuna.StaleError, match="compiled for other indices"):
        solve(given.values.clone().requires_grad_(), columns, rows, b)


MADE_WITHIN = {
    "indices": lambda v, row, col: SparseTensor(v, row, col, (v.shape[0],) * 2) @ v,
    "lists": lambda v, row, col: SparseTensor(v[:2], [0, 1], [1, 0], (v.shape[0],) * 2) @ v,
    "rows": lambda v, row, col: SparseTensor.from_csr(v, torch.arange(v.shape[0] + 1), col, (v.shape[0],) * 2) @ v,
    "eye": lambda v, row, col: SparseTensor.eye(v.shape[0]) @ v,
    "diag": lambda v, row, col: SparseTensor.diag(v).solve(v),
    "tridiagonal": lambda v, row, col: SparseTensor.tridiagonal(v.shape[0]).solve(v),
}


@counts_graphs
@pytest.mark.parametrize("name", MADE_WITHIN)
def test_a_tensor_made_within_compiled_code_may_have_other_sizes(name):
    torch._dynamo.reset()
    function, counter = MADE_WITHIN[name], CompileCounterWithBackend("aot_eager")
    run = torch.compile(function, fullgraph=True, backend=counter)
    for n, graphs in ((4, 1), (5, 2), (6, 3), (4, 3), (5, 3)):  # one for each size
        v = torch.arange(1, n + 1, dtype=torch.float64, requires_grad=True)
        given = v, torch.arange(n), torch.arange(n).roll(1)
        got, expected = run(*given), function(*given)
        same(got, expected)
        same(torch.autograd.grad(got.pow(2).sum(), v), torch.autograd.grad(expected.pow(2).sum(), v))
        assert counter.frame_count == graphs


def test_numbers_that_choose_entries_end_a_graph():
    torch._dynamo.reset()
    dense = torch.randn(4, 4, dtype=torch.float64).relu()
    function = lambda d: (2 * SparseTensor.from_dense(d) @ d).exp()  # noqa: E731
    same(torch.compile(function, backend="aot_eager")(dense), function(dense))
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="_chosen_by_numbers" if ONE_GRAPH else "from_dense"):
        torch.compile(function, fullgraph=True, backend="aot_eager")(dense)


INDEXED = {  # functions that do not read the values that the tensor was made of
    "with_values": lambda v, row, col, b: SparseTensor(v, row, col, (3, 3)).with_values(b) @ b,
    "sddmm": lambda v, row, col, b: SparseTensor(v, row, col, (3, 3)).sddmm(b, b).values,
    "gradient": lambda v, row, col, b: F.grad(lambda w: (SparseTensor(w, row, col, (3, 3)) @ b).pow(3).sum())(v),
}


# The backend "eager" runs a transform as calls of torch that begin and end it: an error between them leaves it begun.
@counts_graphs
@pytest.mark.parametrize("name, backend", [
    (name, backend) for name in INDEXED for backend in ("eager", "aot_eager", "inductor")
    if (name, backend) != ("gradient", "eager")
])  # fmt: skip
def test_indices_are_checked_where_values_are_not_read(name, backend):
    torch._dynamo.reset()
    function = torch.compile(INDEXED[name], fullgraph=True, backend=backend)
    at, columns = torch.arange(3), torch.arange(3)
    v, b = torch.tensor([1.0, 2, 3], dtype=torch.float64), torch.tensor([1.0, 10, 100], dtype=torch.float64)
    same(function(v, at, columns, b), {"with_values": b * b, "sddmm": b * b, "gradient": 3 * v**2 * b**3}[name])
    with pytest.raises(lacuna.StaleError, match="compiled for other indices"):
        function(v, at.flip(0), columns, b)


def test_compiled_code_leaves_values_as_they_are(compiled):
    values = torch.tensor([-0.0, 1.0])
    got = compiled(lambda v, at: SparseTensor(v, at, at, (2, 2)).values)(values, torch.arange(2))
    assert torch.equal(got.signbit(), values.signbit())


# -- files, pickles, processes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GIVEN)
def test_pickles_copies_and_safe_loading(name):
    a = GIVEN[name].tensor()
    stream = io.BytesIO()
    torch.save({"a": a}, stream)
    stream.seek(0)
    loaded = torch.load(stream, weights_only=True)["a"]
    for back in (loaded, pickle.loads(pickle.dumps(a)), copy.deepcopy(a), copy.copy(a)):
        assert back.shape == a.shape and back.structure is a.structure
        same(back.values, a.values)
    assert copy.copy(a).values is a.values and copy.deepcopy(a).values is not a.values
    parameter = SparseTensor(torch.nn.Parameter(GIVEN[name].values.clone()), a.row_indices, a.col_indices, a.shape,
                             a.sparse_dim)  # fmt: skip
    assert copy.deepcopy(parameter).requires_grad


@pytest.mark.parametrize("name", GIVEN)
def test_files(name, tmp_path):
    a = GIVEN[name].tensor()
    a.save(tmp_path / "a.safetensors", {"by": "test"})
    back = SparseTensor.load(tmp_path / "a.safetensors")
    assert back.shape == a.shape and back.structure is a.structure
    same(back.values, a.values)
    assert SparseTensor.load(tmp_path / "a.safetensors", dtype=torch.complex64).dtype == torch.complex64
    if not a.is_batched:
        a.save(tmp_path / "a.mtx")
        same(SparseTensor.load(tmp_path / "a.mtx").to_dense(), GIVEN[name].matrix())


def test_files_of_short_numbers(tmp_path):
    a = GIVEN["square"].tensor()
    for dtype in (torch.float16, torch.bfloat16):
        short = a.to(dtype)
        short.save(tmp_path / "a.safetensors")
        back = SparseTensor.load(tmp_path / "a.safetensors")
        assert back.dtype == dtype and torch.equal(back.values, short.values)
        wide = lacuna.load_safetensors(tmp_path / "a.safetensors")["values"]
        assert wide.dtype == (np.float16 if dtype == torch.float16 else np.float32)
        same(torch.from_numpy(wide).double(), short.values.double())
        short.save(tmp_path / "a.mtx")
        assert torch.equal(SparseTensor.load(tmp_path / "a.mtx", dtype=dtype).to_dense(), short.to_dense())


def test_sparse_tensors_by_the_safetensors_package(tmp_path):
    package = pytest.importorskip("safetensors.torch", reason="the safetensors package is not here")
    path, again = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    for dtype in (torch.float64, torch.complex64, torch.float16, torch.bfloat16):
        values = torch.tensor([1.5, -2, 3e-3], dtype=dtype)
        A = SparseTensor(values, [1, 0, 1], [0, 0, 1], (2, 2))
        A.save(path, {"by": "us"})
        parts = package.load_file(path)
        assert parts["values"].dtype == dtype and torch.equal(parts["values"], values)
        assert parts["row_indices"].tolist() == [1, 0, 1] and parts["shape"].tolist() == [2, 2]
        package.save_file(parts, again)
        back = SparseTensor.load(again)
        assert torch.equal(back.values, values) and torch.equal(back.to_dense(), A.to_dense())


def test_bfloat16_is_float32_in_numpy(tmp_path):
    package = pytest.importorskip("safetensors.torch", reason="the safetensors package is not here")
    numbers = torch.tensor([1.5, -2, 3e-3, float("inf"), -0.0, 1e-40, 3e38], dtype=torch.bfloat16)
    package.save_file({"x": numbers, "f8": torch.ones(2).to(torch.float8_e4m3fn)}, tmp_path / "x.safetensors")
    with pytest.raises(lacuna.DtypeError, match="'f8' has the dtype F8_E4M3, which NumPy does not have"):
        lacuna.load_safetensors(tmp_path / "x.safetensors")
    package.save_file({"x": numbers, "one": numbers[1].clone()}, tmp_path / "x.safetensors")
    found = lacuna.load_safetensors(tmp_path / "x.safetensors")
    for name, want in (("x", numbers), ("one", numbers[1])):
        assert isinstance(found[name], np.ndarray) and found[name].dtype == np.float32
        assert torch.equal(torch.from_numpy(found[name]), want.float())


def test_files_of_patterns(tmp_path):
    a = GIVEN["square"].tensor().coalesce()
    pairs = {name: (a.pattern, a.values.numpy()) for name in ("one", "two")}
    lacuna.save_safetensors(tmp_path / "m.safetensors", pairs)
    same(SparseTensor.load(tmp_path / "m.safetensors", name="two").to_dense(), a.to_dense())
    with pytest.raises(lacuna.ArgumentError, match="'one', 'two'"):
        SparseTensor.load(tmp_path / "m.safetensors")


class Systems(torch.utils.data.Dataset):
    """A matrix for each index."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        given = GIVEN["square"]
        a = given.tensor(given.values * (index + 1))
        return a, a.solve(torch.ones(5, dtype=torch.float64))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_data_loader(method):
    context = multiprocessing.get_context(method)
    loader = torch.utils.data.DataLoader(Systems(), None, num_workers=1, multiprocessing_context=context)
    for index, (a, x) in enumerate(loader):
        same(a.to_dense(), GIVEN["square"].dense() * (index + 1))
        same(a @ x, torch.ones(5, dtype=torch.float64))


def test_a_data_loader_stacks_what_has_the_same_entries():
    matrices = [SparseTensor.from_dense(k * torch.eye(3, dtype=torch.float64)) for k in (1.0, 2.0)]
    (batch,) = torch.utils.data.DataLoader(matrices, batch_size=2)
    assert isinstance(batch, SparseTensor)
    same(batch.to_dense(), torch.stack([matrix.to_dense() for matrix in matrices]))


def test_batches_of_a_data_loader():
    for a, x in torch.utils.data.DataLoader(Systems(), 4):
        assert a.shape == (4, 5, 5)
        same(a @ x, torch.ones(4, 5, dtype=torch.float64))
    other = [GIVEN["square"].tensor(), GIVEN["wide"].tensor()]
    assert isinstance(torch.utils.data.default_collate(other), lt.SparseTensorList)


# -- modules ----------------------------------------------------------------------------------------------------------


class Model(torch.nn.Module):
    def __init__(self, given):
        super().__init__()
        self.linear = lt.nn.SparseLinear(given.tensor())
        self.solve = lt.nn.SparseSolve(given.tensor(), method="lu")

    def forward(self, x):
        return self.solve(self.linear(x).mT).mT


def test_modules_train_save_and_load():
    given = GIVEN["square"]
    model, x = Model(given), random(4, 5, like=given.values)
    dense = given.dense()
    same(model(x), torch.linalg.solve(dense, (x @ dense.T).T).T)
    names = {name for name, _ in model.named_parameters()}
    assert names == {"linear.weight.values", "linear.bias", "solve.matrix.values"}
    model(x).pow(2).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    torch.optim.SGD(model.parameters(), 0.01).step()
    stream = io.BytesIO()
    torch.save(model.state_dict(), stream)
    stream.seek(0)
    other = Model(GIVEN["square"])
    other.load_state_dict(torch.load(stream, weights_only=True))
    same(other(x), model(x))
    same(copy.deepcopy(model)(x), model(x))
    same(pickle.loads(pickle.dumps(model))(x), model(x))
    assert model.float()(x.float()).dtype == torch.float32


def test_modules_compile(compiled):
    given = GIVEN["square"]
    model, x = Model(given), random(4, 5, like=given.values)
    for one in (model, copy.deepcopy(model)):
        same(compiled(one)(x), model(x))


@exports
def test_modules_export():
    torch._dynamo.reset()
    given = GIVEN["square"]
    model, x = Model(given), random(4, 5, like=given.values)
    same(torch.export.export(model, (x,), strict=False).module()(x), model(x))
    torch._dynamo.reset()


def test_a_state_may_have_other_entries():
    given, wide = GIVEN["square"], GIVEN["wide"]
    one, two = lt.nn.SparseParameter(given.tensor()), lt.nn.SparseParameter(wide.tensor(), trainable=False)
    assert not list(two.parameters())
    one.load_state_dict(two.state_dict())
    same(one().to_dense(), wide.dense())
    assert "nnz=" in repr(one)
    with pytest.raises(lacuna.ShapeError, match="must be a matrix"):
        lt.nn.SparseLinear(GIVEN["blocks"].tensor())
