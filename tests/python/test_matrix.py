# SPDX-License-Identifier: Apache-2.0
"""lacuna.Matrix: a pattern and values in the caller's order, against SciPy and central differences."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import lacuna
from lacuna import Matrix

rng = np.random.default_rng(5)
N, M, COUNT = 7, 5, 24
ROW, COL = rng.integers(0, N, COUNT), rng.integers(0, M, COUNT)  # unsorted, with entries of one place
COL[:3], ROW[:3] = COL[5:8], ROW[5:8]


@pytest.fixture(autouse=True)
def forget():
    """Patterns that are remembered would be found by other tests that make the same entries."""
    yield
    lacuna.forget_patterns()


def numbers(*shape, dtype=float):
    made = rng.standard_normal(shape)
    return (made + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else made).astype(dtype)


def dense_of(values, row=ROW, col=COL, shape=(N, M)):
    """What stands for it: numbers added one by one."""
    made = np.zeros(shape, np.result_type(values))
    np.add.at(made, (row, col), values)
    return made


def square(n=6, count=30, dtype=float):
    """A nonsymmetric matrix of unsorted and repeated entries that is safe to solve with, and its dense form."""
    row = np.concatenate([np.arange(n), rng.integers(0, n, count)])[::-1]
    col = np.concatenate([np.arange(n), rng.integers(0, n, count)])[::-1]
    values = np.concatenate([np.full(n, 3.0 * n), np.zeros(count)])[::-1] + numbers(n + count, dtype=dtype)
    return Matrix.from_coo(values, row, col, (n, n)), dense_of(values, row, col, (n, n)), row, col


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_products_are_those_of_the_callers_entries(dtype):
    values, x, y = numbers(COUNT, dtype=dtype), numbers(M, 3, dtype=dtype), numbers(N, dtype=dtype)
    A, dense = Matrix.from_coo(values, ROW, COL, (N, M)), dense_of(values)
    close = {"rtol": 1e-5, "atol": 1e-5} if dtype in ("f4", "c8") else {"rtol": 1e-13, "atol": 1e-13}
    assert A.values is values and A.shape == (N, M) and A.ndim == 2 and A.dtype == dtype
    np.testing.assert_allclose(A @ x, dense @ x, **close)
    np.testing.assert_allclose(A @ x[:, 0], dense @ x[:, 0], **close)
    np.testing.assert_allclose(y @ A, y @ dense, **close)
    np.testing.assert_allclose(np.stack([y, 2 * y]) @ A, np.stack([y, 2 * y]) @ dense, **close)
    np.testing.assert_allclose(A.T @ y, dense.T @ y, **close)
    np.testing.assert_allclose(A.to_dense(), dense, **close)
    np.testing.assert_allclose(A.T.to_dense(), dense.T, **close)
    np.testing.assert_allclose((A @ A.T).to_dense(), dense @ dense.T, **close)
    assert A.T.values is values and A.T.T.pattern is A.pattern


def test_every_format_keeps_its_order():
    values = numbers(COUNT)
    coo = sp.coo_array((values, (ROW, COL)), shape=(N, M))
    dense = coo.toarray()
    x = numbers(M)
    csr = coo.tocsr()
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(csr.indptr, csr.indptr[1:])])  # columns unsorted
    unsorted = sp.csr_array((csr.data[order], csr.indices[order], csr.indptr), shape=(N, M))
    csc, dia = coo.tocsc(), sp.dia_array(dense)
    made = [
        Matrix.from_csr(unsorted.data, unsorted.indptr, unsorted.indices, (N, M)),
        Matrix.from_csc(csc.data, csc.indptr, csc.indices, (N, M)),
        Matrix.from_dense(dense), Matrix.from_scipy(coo), Matrix.from_scipy(unsorted), Matrix.from_scipy(csc),
        Matrix.from_scipy(dia), Matrix.from_scipy(csr.tolil()), Matrix.from_scipy(sp.csr_matrix(csr)),
    ]  # fmt: skip
    for A in made:
        np.testing.assert_allclose(A.to_dense(), dense, rtol=1e-14)
        np.testing.assert_allclose(A @ x, dense @ x, rtol=1e-12)
        np.testing.assert_allclose(A.to_scipy().toarray(), dense, rtol=1e-14)
        assert A.with_values(2 * A.values).to_scipy(like=csc).format == "csc"
    assert np.shares_memory(made[4].values, unsorted.data)
    np.testing.assert_array_equal(made[4].values, unsorted.data)


def test_blocks():
    blocks, offsets, columns = numbers(5, 2, 3), [0, 2, 2, 5], [1, 0, 2, 1, 1]  # unsorted, one repeated
    A = Matrix.from_bsr(blocks, offsets, columns, (6, 9))
    dense = sp.bsr_array((blocks, columns, offsets), shape=(6, 9)).toarray()
    x, y = numbers(9, 2), numbers(6)
    np.testing.assert_allclose(A @ x, dense @ x, rtol=1e-12)
    np.testing.assert_allclose(y @ A, y @ dense, rtol=1e-12)
    np.testing.assert_allclose(A.T @ y, dense.T @ y, rtol=1e-12)
    np.testing.assert_allclose(A.T.to_dense(), dense.T)
    np.testing.assert_allclose((A.T @ A).to_dense(), dense.T @ dense, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(Matrix.from_scipy(A.to_scipy()).to_dense(), dense)
    assert A.nnz == 24 and A.T.with_values(2 * blocks).T.values.shape == (5, 2, 3)
    with pytest.raises(lacuna.ShapeError, match=r"must end with \(5, 2, 3\)"):
        A.with_values(blocks.reshape(5, 3, 2))
    bar = numbers(6, 2)
    gradient = lacuna.grad(lambda a: lacuna.sum((A.with_values(a) @ x) * bar))(blocks)
    full = bar @ x.T
    row = [0, 0, 2, 2, 2]
    np.testing.assert_allclose(gradient, [full[2 * r : 2 * r + 2, 3 * c : 3 * c + 3] for r, c in zip(row, columns)])


def test_dropped_entries_and_empty_matrices():
    values = numbers(4)
    A = Matrix.from_coo(values, [0, -1, 1, 1], [1, 0, -1, 0], (2, 2))
    np.testing.assert_array_equal(A.to_dense(), [[0, values[0]], [values[3], 0]])
    gradient = lacuna.grad(lambda a: lacuna.sum(A.with_values(a) @ np.array([1.0, 2.0])))(values)
    np.testing.assert_array_equal(gradient, [2, 0, 0, 1])
    for shape in ((3, 2), (0, 4), (4, 0), (0, 0)):
        empty = Matrix.from_coo([], [], [], shape)
        assert empty.nnz == 0 and empty.T.shape == shape[::-1]
        np.testing.assert_array_equal(empty @ np.ones(shape[1]), np.zeros(shape[0]))
        np.testing.assert_array_equal(np.ones(shape[0]) @ empty, np.zeros(shape[1]))
        np.testing.assert_array_equal(empty.to_dense(), np.zeros(shape))
    gradient = lacuna.grad(lambda a: lacuna.sum(Matrix.from_coo(a, [], [], (3, 2)) @ np.ones(2)))(np.zeros(0))
    assert gradient.shape == (0,)


def central(f, values, step=1e-6):
    made = np.empty(values.shape)
    for at in np.ndindex(values.shape):
        shift = np.zeros(values.shape)
        shift[at] = step
        made[at] = (f(values + shift) - f(values - shift)) / (2 * step)
    return made


def test_gradients_come_back_in_the_callers_order():
    A, dense, row, col = square()
    b, n = numbers(6, 2), 6

    def loss(values):
        B = A.with_values(values)
        u = B.solve(b)
        return lacuna.sum(u * u) + lacuna.logdet(B) + lacuna.sum(B.T.solve(b[:, 0]) * (b[:, 1] @ B))

    def plain(values):
        full = dense_of(values, row, col, (n, n))
        u = np.linalg.solve(full, b)
        return (u * u).sum() + np.linalg.slogdet(full)[1] + np.linalg.solve(full.T, b[:, 0]) @ (b[:, 1] @ full)

    value, gradient = lacuna.value_and_grad(loss)(A.values)
    np.testing.assert_allclose(value, plain(A.values), rtol=1e-12)
    np.testing.assert_allclose(gradient, central(plain, A.values), rtol=1e-6, atol=1e-7)
    made = lacuna.grad(lambda a: lacuna.sum(Matrix.from_coo(a, row, col, (n, n)).solve(b) ** 2))(A.values)
    again = central(lambda a: (np.linalg.solve(dense_of(a, row, col, (n, n)), b) ** 2).sum(), A.values)
    np.testing.assert_allclose(made, again, rtol=1e-6, atol=1e-7)
    direction = numbers(len(row))
    _, (product,) = lacuna.hvp(loss, (A.values,), (direction,))
    up, down = (lacuna.grad(loss)(A.values + s * 1e-5 * direction) for s in (1, -1))
    np.testing.assert_allclose(product, (up - down) / 2e-5, rtol=1e-5, atol=1e-7)
    lacuna.gradcheck(loss, A.values)


def test_gradients_of_dense_numbers_and_of_vectors():
    dense, x = numbers(4, 3) * (rng.random((4, 3)) < 0.6), numbers(3)
    gradient = lacuna.grad(lambda d: lacuna.sum((Matrix.from_dense(d) @ x) ** 2))(dense)
    np.testing.assert_allclose(gradient, 2 * np.outer(dense @ x, x) * (dense != 0), rtol=1e-12)
    A = Matrix.from_coo(numbers(COUNT), ROW, COL, (N, M))
    full, y, x = A.to_dense(), numbers(N), numbers(M)
    np.testing.assert_allclose(lacuna.grad(lambda x: lacuna.sum((A @ x) ** 2))(x), 2 * full.T @ full @ x)
    np.testing.assert_allclose(lacuna.grad(lambda y: lacuna.sum((y @ A) ** 2))(y), 2 * full @ full.T @ y)
    rows = numbers(2, N)
    np.testing.assert_allclose(lacuna.grad(lambda y: lacuna.sum((y @ A) ** 2))(rows), 2 * rows @ full @ full.T)


def test_functions_take_it_where_they_take_pattern_and_values():
    A, dense, _, _ = square()
    pattern, slots, x = A.pattern, A.slots(), numbers(6, 2)
    one = lacuna.Matrix.from_coo(numbers(COUNT), ROW, COL, (N, M))
    for name, more in (("spmm", (x,)), ("solve", (x,)), ("logdet", ()), ("slogdet", ()), ("selected_inverse", ()),
                       ("lstsq", (x,)), ("lu", ()), ("scale_rows", (x[:, 0],)), ("matrix_norm", (1,))):  # fmt: skip
        got, want = (getattr(lacuna, name)(*given, *more) for given in ((A,), (pattern, slots)))
        for a, b in zip(got, want) if isinstance(want, tuple) else ((got, want),):
            np.testing.assert_array_equal(a, b, err_msg=name)
    np.testing.assert_array_equal(lacuna.spgemm(one, one.T), lacuna.spgemm(
        one.pattern, one.slots(), one.T.pattern, one.T.slots()))  # fmt: skip
    np.testing.assert_allclose(lacuna.logdet(A), np.linalg.slogdet(dense)[1])
    np.testing.assert_allclose(A.factor().solve(x), np.linalg.solve(dense, x))
    np.testing.assert_allclose(lacuna.solve(lacuna.Solver(A, "lu"), slots, x), np.linalg.solve(dense, x))
    np.testing.assert_allclose(A.solve(x, "T"), np.linalg.solve(dense.T, x))
    np.testing.assert_allclose(A.solve(x, method="gmres", rtol=1e-12), np.linalg.solve(dense, x), rtol=1e-9)
    with pytest.raises(lacuna.ArgumentError, match="too many arguments"):
        lacuna.spmm(A, A.values, x)


def test_beside_matrices_of_scipy():
    values = numbers(COUNT)
    A, dense = Matrix.from_coo(values, ROW, COL, (N, M)), dense_of(values)
    other = sp.random_array((M, 4), density=0.5, rng=rng, format="csc")
    left = sp.random_array((4, N), density=0.5, rng=rng, format="csr")
    np.testing.assert_allclose((A @ other).to_dense(), dense @ other.toarray(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose((left @ A).to_dense(), left.toarray() @ dense, rtol=1e-12, atol=1e-14)
    with pytest.raises(lacuna.ShapeError, match="as many columns as the second rows"):
        A @ A


def test_batches():
    A, _, row, col = square()
    values = np.stack([A.values, 2 * A.values, A.values[::-1] + 40 * (row == col)])
    batch, b = A.with_values(values), numbers(3, 6)
    dense = np.stack([dense_of(v, row, col, (6, 6)) for v in values])
    assert batch.shape == (3, 6, 6) and "batch of (3,)" in repr(batch)
    np.testing.assert_allclose(batch.to_dense(), dense)
    np.testing.assert_allclose(batch @ b, np.einsum("bij,bj->bi", dense, b), rtol=1e-12)
    np.testing.assert_allclose(batch.solve(b), np.linalg.solve(dense, b[..., None])[..., 0], rtol=1e-10)
    np.testing.assert_allclose(batch.solve(b, method="lu"), batch.solve(b), rtol=1e-10)
    columns = numbers(3, 6, 2)
    np.testing.assert_allclose(batch.solve(columns), np.linalg.solve(dense, columns), rtol=1e-10)
    for refused in (lambda: b @ batch, batch.to_scipy):
        with pytest.raises(lacuna.ShapeError, match="batch"):
            refused()


def test_the_same_indices_share_a_pattern_and_their_analyses():
    first = Matrix.from_coo(numbers(COUNT), ROW, COL, (N, M))
    second = Matrix.from_coo(numbers(COUNT), ROW.copy(), list(COL), (N, M))
    assert first.pattern is second.pattern
    other = ROW.copy()
    other[0] = (other[0] + 1) % N
    assert Matrix.from_coo(numbers(COUNT), other, COL, (N, M)).pattern is not first.pattern
    given, col = ROW.copy(), COL.copy()
    kept = Matrix.from_coo(first.values, given, col, (N, M))
    given[:] = 0  # the caller's own again
    np.testing.assert_array_equal(kept.to_dense(), first.to_dense())


def test_values_are_the_callers_and_may_change():
    values = numbers(COUNT)
    A = Matrix.from_coo(values, ROW, COL, (N, M))
    before = A.to_dense()
    values *= 2
    np.testing.assert_allclose(A.to_dense(), 2 * before)
    for other in (pickle.loads(pickle.dumps(A)), copy.copy(A), copy.deepcopy(A)):
        np.testing.assert_array_equal(other.to_dense(), A.to_dense())


@pytest.mark.parametrize("dtype", ["i4", "?", "f2"])
def test_other_numbers_are_promoted_as_in_functions(dtype):
    values = np.arange(COUNT).astype(dtype)
    A = Matrix.from_coo(values, ROW, COL, (N, M))
    want = dense_of(values.astype(float)) @ np.ones(M)
    np.testing.assert_allclose(A @ np.ones(M), want)


def test_a_pattern_whose_order_is_not_said():
    unsorted = lacuna.Pattern.from_coo([1, 0, 0], [0, 1, 0], (2, 2))
    with pytest.raises(lacuna.ArgumentError, match='order="entries", that of the indices, or order="slots"'):
        Matrix(unsorted, np.ones(3))
    np.testing.assert_array_equal(Matrix(unsorted, np.array([1.0, 2, 3]), "entries").to_dense(), [[3, 2], [1, 0]])
    np.testing.assert_array_equal(Matrix(unsorted, np.array([1.0, 2, 3]), "slots").to_dense(), [[1, 2], [3, 0]])
    ordered = lacuna.Pattern.from_coo([0, 1], [0, 0], (2, 2))
    np.testing.assert_array_equal(Matrix(ordered, np.array([1.0, 2])).to_dense(), [[1, 0], [2, 0]])
    derived = ordered.transpose()[0]
    np.testing.assert_array_equal(Matrix(derived, np.array([1.0, 2])).to_dense(), [[1, 2], [0, 0]])
    with pytest.raises(lacuna.ArgumentError, match="derived from another"):
        Matrix(derived, np.ones(2), "entries")


REFUSED = {
    "values have shape (3,); those of a 7 x 5 matrix of 24 entries must end with (24,)": lambda A: A.with_values(
        np.ones(3)),
    "row must be integers": lambda A: Matrix.from_coo(A.values, numbers(COUNT), COL, (N, M)),
    "row is a masked array": lambda A: Matrix.from_coo(A.values, np.ma.masked_equal(ROW, 0), COL, (N, M)),
    "row has 23 entries and col 24": lambda A: Matrix.from_coo(A.values, ROW[1:], COL, (N, M)),
    "a shape of (7, 5) needs 8 offsets": lambda A: Matrix.from_csr(A.values, [0, 24], COL, (N, M)),
    "they must be (blocks, br, bc)": lambda A: Matrix.from_bsr(A.values, [0, 24], COL, (N, M)),
    "a matrix has two dimensions": lambda A: Matrix.from_dense(np.ones(3)),
    "expected a SciPy sparse matrix": lambda A: Matrix.from_scipy(np.ones((2, 2))),
    "expected a lacuna.Pattern, got ndarray": lambda A: Matrix(np.ones((2, 2)), A.values),
    "order is 'rows'": lambda A: Matrix(A.pattern, A.values, "rows"),
    "A.with_values(values) is the matrix of others": lambda A: lacuna.grad(lambda B: B)(A),
    "values are <U1": lambda A: A.with_values(np.array(["a"] * COUNT)),
    "got Matrix; its .pattern is one": lambda A: A.pattern.union(A),
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_errors_name_the_way_out(words):
    import re

    A = Matrix.from_coo(numbers(COUNT), ROW, COL, (N, M))
    with pytest.raises(lacuna.LacunaError, match=re.escape(words)):
        REFUSED[words](A)


def test_in_torch():
    torch = pytest.importorskip("torch")
    import lacuna.torch as lt

    A, dense, _, _ = square()
    tensor, b = lt.SparseTensor.of(A), torch.tensor(numbers(6))
    assert torch.equal(tensor.values, torch.tensor(A.values))
    np.testing.assert_allclose(tensor.solve(b), np.linalg.solve(dense, b), rtol=1e-10)
    np.testing.assert_allclose(lt.spmm(A, b), dense @ b.numpy(), rtol=1e-12)
    blocks = Matrix.from_bsr(numbers(3, 2, 2), [0, 2, 3], [1, 0, 1], (4, 4))
    np.testing.assert_allclose(lt.SparseTensor.of(blocks) @ b[:4], blocks @ b[:4].numpy(), rtol=1e-12)
