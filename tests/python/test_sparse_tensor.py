# SPDX-License-Identifier: Apache-2.0
"""lacuna.torch.SparseTensor: making it, what it says of itself, whose values it has, and structures that are shared."""

import gc
import threading

import numpy as np
import pytest
import scipy.sparse
import torch
from reference import same
from sparse_cases import GIVEN, Given

import lacuna
import lacuna.torch as lt
from lacuna._interned import TABLE, _sample
from lacuna.torch import SparseTensor

every = pytest.mark.parametrize("name", GIVEN)


@every
def test_shapes_and_numbers_are_those_of_the_entries(name):
    given = GIVEN[name]
    a = given.tensor()
    assert a.shape == torch.Size(given.shape) and a.ndim == a.dim() == len(given.shape)
    assert a.batch_shape == torch.Size(given.batch) and a.block_shape == torch.Size(given.block)
    assert a.sparse_shape == torch.Size(given.shape[len(given.batch) :][:2])
    assert a.is_batched == bool(given.batch) and a.is_block == bool(given.block)
    assert a.batch_size == int(np.prod(given.batch)) and a.size(0) == given.shape[0]
    assert a.nnz == len({*zip(given.rows.tolist(), given.columns.tolist())}) < len(given.rows)
    assert a.is_square == (given.matrix().shape[-1] == given.matrix().shape[-2])
    same(a.to_dense(), given.dense())
    same(a.row_indices, given.rows)
    same(a.col_indices, given.columns)
    assert a.values is given.values


def test_values_are_the_callers_own_and_gradients_come_in_their_order():
    given = Given([2, 0, 0, 1, 1, 2, 0], [2, 0, 1, 1, 2, 0, 0], (3, 3))
    values = given.values.clone()
    a = given.tensor(values)
    values.requires_grad_()  # after A was made
    b = torch.ones(3, dtype=torch.float64)
    (a.solve(b) ** 3).sum().backward()
    twin = given.values.clone().requires_grad_()
    (torch.linalg.solve(given.dense(twin), b) ** 3).sum().backward()
    same(values.grad, twin.grad)
    same(a.grad.values, twin.grad)
    assert a.requires_grad and a.grad.structure is a.structure


def test_values_that_are_changed_in_place_are_the_matrix():
    given = GIVEN["square"]
    values = given.values.clone()
    a, b = given.tensor(values), torch.ones(5, dtype=torch.float64)
    a.solve(b)
    with torch.no_grad():
        values.mul_(2)
    same(a.solve(b), torch.linalg.solve(2 * given.dense(), b))


def test_entries_of_minus_one_are_dropped():
    values = torch.tensor([1.0, 2, 3], requires_grad=True)
    a = SparseTensor(values, torch.tensor([0, -1, 1]), torch.tensor([0, 0, -1]), (2, 2))
    same(a.to_dense(), torch.tensor([[1.0, 0], [0, 0]]))
    a.to_dense().sum().backward()
    same(values.grad, torch.tensor([1.0, 0, 0]))
    same(a.exp().to_dense(), torch.tensor([[1.0, 0], [0, 0]]).exp() * torch.tensor([[1.0, 0], [0, 0]]))


def test_other_values_must_fit():
    a = GIVEN["blocks"].tensor()
    assert a.with_values(torch.ones(7, 11, 2, 2)).shape == (7, 5, 5, 2, 2)
    for wrong in (torch.ones(11), torch.ones(10, 2, 2), torch.ones(11, 2, 3)):
        with pytest.raises(lacuna.ShapeError, match=r"end with \(11, 2, 2\)"):
            a.with_values(wrong)
    with pytest.raises(lacuna.ShapeError, match="from_pattern"):
        SparseTensor.from_pattern(a.structure.pattern, torch.ones(3))


@pytest.mark.parametrize(
    "arguments, error, said",
    [
        ((torch.ones(1), [5], [0], (2, 2)), lacuna.PatternError, "row"),
        ((torch.ones(2), [0], [0], (2, 2)), lacuna.ShapeError, r"need \(1,\)"),
        ((torch.ones(3, 1), [0], [0], (2, 2, 2)), lacuna.ShapeError, r"need \(2, 1\)"),
        ((torch.ones(1, 2, 2), [0], [0], (2, 2, 2, 2)), lacuna.ShapeError, "sparse_dim"),
        ((torch.ones(1), [0.5], [0], (2, 2)), lacuna.ArgumentError, "row_indices must be integers"),
        ((torch.ones(1), [[0]], [0], (2, 2)), lacuna.ShapeError, "one-dimensional"),
        (([1.0], [0], [0], (2, 2)), lacuna.ArgumentError, "torch.Tensor"),
        ((torch.ones(1), [0], [0], (2,)), lacuna.ShapeError, "two dimensions"),
        ((torch.ones(1), [0], [0], (2, 2), (1, 0)), lacuna.ShapeError, "follow each other"),
        ((torch.ones(2), [0, 1], [0], (2, 2)), lacuna.ArgumentError, "entries"),
    ],
)
def test_what_is_wrong_is_said(arguments, error, said):
    with pytest.raises(error, match=said):
        SparseTensor(*arguments)


def test_eye_diag_and_tridiagonal():
    same(SparseTensor.eye(3).to_dense(), torch.eye(3, dtype=torch.float64))
    v = torch.randn(2, 3, dtype=torch.float64)
    same(SparseTensor.diag(v).to_dense(), torch.diag_embed(v))
    same(SparseTensor.diag(v, offset=-1).to_dense(), torch.diag_embed(v, offset=-1))
    main, off = torch.randn(4, dtype=torch.float64).requires_grad_(), torch.randn(2, 3, dtype=torch.float64)
    twin = torch.diag_embed(main) + torch.diag_embed(off, 1) + torch.diag_embed(off, -1)
    made = SparseTensor.tridiagonal(4, main, off)
    same(made.to_dense(), twin)
    same(torch.autograd.grad(made.to_dense().pow(3).sum(), main), torch.autograd.grad(twin.pow(3).sum(), main))
    plain = torch.diag(torch.full((3,), 2.0)) - torch.diag(torch.ones(2), 1) - torch.diag(torch.ones(2), -1)
    same(SparseTensor.tridiagonal(3).to_dense(), plain.double())


def test_of_takes_whatever_holds_a_matrix():
    given = GIVEN["square"]
    dense = given.dense()
    parts = given.values, given.rows, given.columns, given.shape
    for whole in (given.tensor(), parts, dense, dense.to_sparse(), dense.to_sparse_csr(),
                  scipy.sparse.csr_array(dense.numpy()), scipy.sparse.dia_array(dense.numpy())):  # fmt: skip
        same(SparseTensor.of(whole).to_dense(), dense)
    with pytest.raises(lacuna.ArgumentError, match="no matrix"):
        SparseTensor.of("matrix")


def test_of_patterns_by_slots_and_by_entries():
    given = GIVEN["square"]
    pattern = lacuna.Pattern.from_coo(given.rows, given.columns, (5, 5))
    same(SparseTensor.from_pattern(pattern, given.values, "entries").to_dense(), given.dense())
    slots = lt.remap(pattern.entries, given.values)
    same(SparseTensor.from_pattern(pattern, slots).to_dense(), given.dense())
    blocked, order = pattern.blocked((5, 5))
    whole = SparseTensor.from_pattern(blocked, lt.remap(order, slots).reshape(-1, 5, 5))
    assert whole.shape == (1, 1, 5, 5)
    same(whole.flatten_blocks().to_dense(), given.dense())
    csr = given.dense().to_sparse_csr()
    derived = SparseTensor.from_torch(csr).structure.pattern  # whose entries are the slots
    same(SparseTensor.from_pattern(derived, csr.values(), "entries").to_dense(), given.dense())


def test_a_derived_pattern_has_no_order_of_entries():
    pattern = SparseTensor.tridiagonal(5).pattern.transpose()[0].tril()[0]
    with pytest.raises(lacuna.ArgumentError, match="derived from another"):
        SparseTensor.from_pattern(pattern, torch.ones(pattern.nnz), order="entries")


def test_dtypes_devices_and_gradients_are_those_of_values():
    a = GIVEN["square"].tensor()
    assert a.float().dtype == torch.float32 and a.float().double().dtype == torch.float64
    assert a.to("cpu") is a and a.double() is a and a.cpu() is a and not a.is_cuda
    assert a.to(torch.complex64).is_complex() and a.is_floating_point()
    assert a.half().dtype == torch.float16 and a.bfloat16().dtype == torch.bfloat16
    assert a.clone().values is not a.values and a.clone().structure is a.structure
    b = a.clone().requires_grad_()
    assert b.is_leaf and b.grad is None and not b.detach().requires_grad
    (b * 2).backward(b.detach())
    same(b.grad.values, 2 * a.values)


def test_halves_and_integers_are_computed_in_wider_dtypes():
    given = GIVEN["square"]
    x = torch.ones(5)
    half = given.tensor(given.values.half())
    assert (half @ x.half()).dtype == torch.float16 and (half @ x).dtype == torch.float32
    same((half @ x.half()).float(), (given.dense(given.values.half().float()) @ x).half().float(), 1e-3)
    whole = given.tensor(torch.arange(11))
    same(whole @ torch.ones(5, dtype=torch.float64), given.dense(torch.arange(11.0, dtype=torch.float64)).sum(1))
    assert (given.tensor() @ torch.ones(5, dtype=torch.complex64)).dtype == torch.complex128
    same(whole.to_dense(), given.dense(torch.arange(11)))


HALVES = {
    "product": lambda a, x: a @ x, "columns": lambda a, x: a @ x[:, None], "sparse": lambda a, x: (a @ a).values,
    "solve": lambda a, x: a.solve(x), "start": lambda a, x: a.solve(x, method="cg", x0=x), "det": lambda a, x: a.det(),
    "factor": lambda a, x: a.lu().solve(x), "logdet": lambda a, x: a.lu().logdet(), "lstsq": lambda a, x: a.lstsq(x),
    "triangle": lambda a, x: a.triangular_solve(x), "norm": lambda a, x: a.norm(), "trace": lambda a, x: a.trace(),
    "prod": lambda a, x: a.prod(0, include_zeros=False), "form": lambda a, x: a.quadratic_form(x),
    "kron": lambda a, x: a.kron(a).values, "sddmm": lambda a, x: a.sddmm(x, x).values,
}  # fmt: skip


@pytest.mark.parametrize("name", HALVES)
def test_halves_have_one_rule(name):
    a, x = SparseTensor.tridiagonal(6, 4.0), torch.linspace(1, 2, 6, dtype=torch.float64)
    twin = HALVES[name](a, x)
    for dtype in (torch.bfloat16, torch.float16):
        got = HALVES[name](a.to(dtype), x.to(dtype))
        assert got.dtype == dtype
        torch.testing.assert_close(got.double(), twin, rtol=0.02, atol=0.02)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = HALVES[name](a.bfloat16(), x.bfloat16())
    assert got.dtype == torch.float32
    torch.testing.assert_close(got.double(), twin, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool, torch.complex32, torch.float16])
def test_numbers_of_every_dtype_are_kept(dtype):
    given = Given([2, 0, 1, 0, 2], [1, 0, 1, 0, 1], (3, 2))
    numbers = {
        torch.int64: [2**53 + 1, -(2**62), 2**62 + 3, 2**61 - 1, -3], torch.int32: [2**31 - 1, -7, -(2**31), 3, 0],
        torch.uint8: [200, 3, 4, 5, 7], torch.bool: [True, False, True, True, True],
    }  # fmt: skip
    values = torch.tensor(numbers.get(dtype, [1 + 1j, 2, -3j, 0.5, 4] if dtype.is_complex else [1, 2, -3, 0.5, 4]))
    wide = values.long() if dtype not in (torch.complex32, torch.float16) else values
    a, expected = given.tensor(values.to(dtype)), given.dense(wide)
    expected = (expected != 0).to(wide.dtype) if dtype == torch.bool else expected
    assert a.to_dense().dtype == dtype and torch.equal(a.to_dense().to(wide.dtype), expected)
    assert torch.equal(a.slots().to(wide.dtype), expected[[0, 1, 2], [0, 1, 1]])


def test_repr_shows_shape_dtype_device_and_entries():
    text = repr(GIVEN["batched"].tensor().requires_grad_())
    assert "shape=(3, 5, 5)" in text and "torch.float64" in text and "cpu" in text and "(3, 3): " in text
    assert "requires_grad=True" in text and "..." in text
    GIVEN["batched"].values.requires_grad_(False)
    assert "no entries" in repr(SparseTensor(torch.ones(0), [], [], (2, 2)))
    assert "[[" in repr(GIVEN["blocks"].tensor())


# -- structures -------------------------------------------------------------------------------------------------------


def test_the_same_indices_are_one_structure():
    given = GIVEN["square"]
    a = given.tensor()
    assert given.tensor(given.values * 2).structure is a.structure
    again = SparseTensor(given.values, given.rows.clone(), given.columns.clone(), (5, 5))
    assert again.structure is a.structure
    assert SparseTensor(given.values, given.rows, given.columns, (6, 5)).structure is not a.structure
    assert SparseTensor(given.values, given.columns, given.rows, (5, 5)).structure is not a.structure


def test_indices_that_agree_in_every_sample_are_compared_in_full():
    at = torch.arange(100)
    tensors = []
    for place in range(7):  # more than are remembered for one sample
        rows = at.clone()
        rows[3 + place] = 50
        assert _sample(rows) == _sample(at)
        tensors.append(SparseTensor(torch.ones(100), rows, at, (100, 100)))
        expected = torch.zeros(100, 100).index_put((rows, at), torch.ones(100))
        same(tensors[-1].to_dense(), expected)
    assert len({id(tensor.structure) for tensor in tensors}) == 7


def test_indices_that_numpy_writes_to_are_noticed():
    rows, columns = np.array([0, 1]), np.array([0, 1])
    values = torch.tensor([1.0, 2])
    first = SparseTensor(values, torch.from_numpy(rows), torch.from_numpy(columns), (2, 2))
    columns[:] = columns[::-1].copy()
    second = SparseTensor(values, torch.from_numpy(rows), torch.from_numpy(columns), (2, 2))
    same(first.to_dense(), torch.diag(values))
    same(second.to_dense(), torch.diag(values).flip(1))


def test_indices_that_are_read_may_be_written_to():
    n = 100
    at, values = torch.arange(n), torch.ones(n, dtype=torch.float64)
    a = SparseTensor(values, at, at.clone(), (n, n))
    a.row_indices[1] = a.col_indices[1] = 0
    same(a.to_dense(), torch.eye(n, dtype=torch.float64))
    assert torch.equal(a.row_indices, at) and torch.equal(a.col_indices, at)
    rows = at.clone()
    rows[1] = 0
    other = SparseTensor(values, rows, at.clone(), (n, n))
    expected = torch.eye(n, dtype=torch.float64)
    expected[0, 1], expected[1, 1] = 1, 0
    same(other.to_dense(), expected)


def test_a_loop_of_solves_analyses_once():
    given = GIVEN["square"]
    b = torch.ones(5, dtype=torch.float64)
    lacuna.forget_patterns()
    patterns = set()
    for i in range(4):
        a = SparseTensor(given.values + i * 0.01, given.rows.clone(), given.columns.clone(), (5, 5))
        a.solve(b)
        patterns.add(a.structure.pattern.key)
        del a
        gc.collect()
    assert len(patterns) == 1


def test_what_is_kept_is_bounded_and_can_be_forgotten(monkeypatch):
    for n in range(3, 40):
        SparseTensor.tridiagonal(n)
    assert lacuna.pattern_stats()["kept"] == lacuna.pattern_stats()["limit"]
    lacuna.forget_patterns()
    gc.collect()
    assert lacuna.pattern_stats()["kept"] == 0
    monkeypatch.setattr(TABLE, "max_bytes", 3 * 8 * 1000)
    at = torch.arange(1000)
    for _ in range(3):
        SparseTensor(torch.zeros(1000), at, at, (1000, 1000))
        at = at.clone().roll(1)
    assert lacuna.pattern_stats()["kept"] == 1
    lacuna.forget_patterns()


def test_matrices_of_scipy_and_tensors_are_in_one_table():
    lacuna.forget_patterns()
    matrix = scipy.sparse.eye_array(7, format="csr")
    pattern = lacuna.from_scipy(matrix)[0]
    a = SparseTensor(torch.ones(7), torch.arange(7), torch.arange(7), (7, 7))
    assert lacuna.pattern_stats()["kept"] == 2 and lacuna.from_scipy(matrix)[0] is pattern
    lacuna.forget_patterns()
    assert lacuna.from_scipy(matrix)[0] is not pattern  # the table alone held it
    again = SparseTensor(torch.ones(7), torch.arange(7), torch.arange(7), (7, 7))
    assert again.structure is a.structure  # which a holds


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.jacfwd, torch.func.jacrev])
def test_indices_that_are_first_seen_within_a_transform(transform):
    """What torch makes within torch.func is wrapped; a structure is of what is inside."""
    values, b = 1 + torch.rand(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    flipped = lambda v: SparseTensor(v, torch.arange(4), torch.arange(4).flip(0), (4, 4))  # noqa: E731
    lacuna.forget_patterns()
    same(transform(lambda v: flipped(v).solve(b).sum())(values), -1 / values**2)
    same(torch.func.hessian(lambda v: flipped(v).solve(b).sum())(values), torch.diag(2 / values**3))
    assert flipped(values).row_indices.numpy().tolist() == [0, 1, 2, 3]
    with pytest.raises(lacuna.ArgumentError, match="vmap maps over row_indices"):
        rows = torch.arange(4).expand(3, 4)
        torch.func.vmap(lambda row: SparseTensor(values, row, torch.arange(4), (4, 4)).sum())(rows)


def test_threads_share_structures():
    given, found = GIVEN["square"], []
    lacuna.forget_patterns()
    start = threading.Barrier(8)

    def make():
        start.wait()
        for _ in range(50):
            found.append(SparseTensor(given.values, given.rows.clone(), given.columns.clone(), (5, 5)).structure)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 400 and len({id(s) for s in found}) == 1


def test_indices_on_two_devices_are_refused():
    with pytest.raises(lacuna.ArgumentError, match="lies on"):
        SparseTensor(torch.ones(1), torch.zeros(1, dtype=torch.long, device="meta"), torch.zeros(1).long(), (1, 1))


@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_compressed_lines_in_any_order_with_entries_twice(layout, batch):
    offsets, inner = torch.tensor([0, 3, 3, 5]), torch.tensor([2, 0, 2, 1, 0])
    values = torch.arange(1.0, 6).expand(*batch, 5)
    dense = torch.zeros(*batch, 3, 4)
    for line, at, value in zip([0, 0, 0, 2, 2], inner.tolist(), range(5)):
        dense[..., line, at] += values[..., value]
    shape, whole = ((3, 4), dense) if layout == "csr" else ((4, 3), dense.mT)
    a = getattr(SparseTensor, f"from_{layout}")(values, offsets, inner, shape)
    assert a.values is values
    same(a.to_dense(), whole)
    with pytest.raises(lacuna.ShapeError, match=f"from_{layout}: values have shape"):
        getattr(SparseTensor, f"from_{layout}")(values[..., :4], offsets, inner, shape)


class Named(SparseTensor):
    """A user's own kind."""


def test_subclasses_are_sparse_tensors_in_every_respect():
    given = GIVEN["square"]
    a = Named.of(given.tensor())
    assert type(a) is Named and a.values is given.values and Named.of(a) is a and SparseTensor.of(a) is a
    assert type(a.T) is type(a @ a) is type(a + a) is type(torch.utils._pytree.tree_map(torch.neg, a)) is Named
    assert type(torch.func.grad(lambda a: a.logdet())(a)) is Named
