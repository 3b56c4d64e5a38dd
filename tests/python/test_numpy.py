# SPDX-License-Identifier: Apache-2.0
"""The NumPy front end beside SciPy."""

import threading
import time

import numpy as np
import pytest

import lacuna

sp = pytest.importorskip("scipy.sparse")
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
FORMS = {"N": lambda m: m, "T": lambda m: m.T, "conjugated": lambda m: m.conj(), "H": lambda m: m.conj().T}
rng = np.random.default_rng(0)


def numbers(shape, dtype):
    x = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def matrix(rows, cols, dtype=np.float64, density=0.4, form="csr"):
    m = sp.random_array((rows, cols), density=density, rng=rng, format="csr").astype(dtype)
    m.data = numbers(m.nnz, dtype)
    m = m.tolil()
    m[rows // 2] = 0  # an empty row
    return m.asformat(form)


def system(n, dtype=np.float64):
    return (matrix(n, n, dtype) * 0.3 + 3 * sp.eye_array(n)).tocsr().astype(dtype)


def close(got, expected):
    eps = np.finfo(got.dtype).eps
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=200 * eps, atol=200 * eps * max(1, np.abs(expected).max(initial=0)))


@pytest.mark.parametrize("width", ["auto", "32/32", "64/32", "64/64"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_patterns_come_from_scipy_and_go_back(form, width):
    m = matrix(7, 5, form=form)
    pattern, a = lacuna.from_scipy(m, width)
    assert pattern.shape == (7, 5) and pattern.nnz == m.nnz
    assert width in ("auto", pattern.width)
    back = pattern.to_scipy(a)
    assert np.shares_memory(back.data, a)
    np.testing.assert_array_equal(back.toarray(), m.toarray())
    np.testing.assert_array_equal(lacuna.to_dense(pattern, a), m.toarray())


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_duplicates_share_a_slot_and_sum(index):
    row, col = np.array([2, 0, 2, 0, 1], index), np.array([1, 3, 1, 0, 2], index)
    pattern = lacuna.Pattern.from_coo(row, col, (3, 4))
    assert pattern.nnz == 4
    v = numbers(5, np.float64)
    expected = np.zeros((3, 4))
    np.add.at(expected, (row, col), v)
    close(lacuna.to_dense(pattern, lacuna.remap(pattern.entries, v)), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_spmm(dtype, form):
    m = matrix(9, 6, dtype)
    pattern, a = lacuna.from_scipy(m)
    op = FORMS[form](m.toarray())
    x = numbers((op.shape[1], 3), dtype)
    close(lacuna.spmm(pattern, a, x, op=form), op @ x)
    close(lacuna.spmm(pattern, a, x[:, 0], op=form), op @ x[:, 0])
    big_a, big_x = numbers((4, 1, m.nnz), dtype), numbers((2, op.shape[1], 3), dtype)
    expected = FORMS[form](lacuna.to_dense(pattern, big_a)) if form in ("N", "conjugated") else None
    if expected is not None:
        close(lacuna.spmm(pattern, big_a, big_x, op=form), expected @ big_x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sampled_products(dtype):
    ma, mb = matrix(7, 5, dtype), matrix(5, 6, dtype)
    (pa, a), (pb, b) = lacuna.from_scipy(ma), lacuna.from_scipy(mb)
    u, v = numbers((7, 3), dtype), numbers((5, 3), dtype)
    _, columns, rows = pa.structure()
    close(lacuna.sddmm(pa, u, v), (u @ v.conj().T)[rows, columns])
    close(lacuna.to_dense(pa.product(pb), lacuna.spgemm(pa, a, pb, b)), ma.toarray() @ mb.toarray())
    target, _ = lacuna.from_scipy(matrix(6, 7))
    _, columns, rows = target.structure()
    product = mb.toarray().T @ ma.toarray().conj().T
    close(lacuna.sampled_spgemm(target, pb, b, pa, a, op_x="T", op_y="H"), product[rows, columns])


@pytest.mark.parametrize("dtype", DTYPES)
def test_structure_operators(dtype):
    ma, mb = matrix(7, 5, dtype), matrix(7, 5, dtype)
    (pa, a), (pb, b) = lacuna.from_scipy(ma), lacuna.from_scipy(mb)
    d = ma.toarray()
    close(lacuna.to_dense(pa.union(pb)[0], lacuna.spadd(pa, a, pb, b)), d + mb.toarray())
    close(lacuna.spadd(pa, a, pa, a), 2 * a)
    for (pattern, map_), expected in [
        (pa.transpose(), d.T), (pa.tril(-1), np.tril(d, -1)), (pa.triu(1), np.triu(d, 1)),
        (pa.submatrix((1, 6), (2, 4)), d[1:6, 2:4]),
    ]:  # fmt: skip
        close(lacuna.to_dense(pattern, lacuna.remap(map_, a)), expected)
    close(lacuna.remap(pa.diagonal(), a), np.diag(d))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_solves(dtype, form):
    m = system(8, dtype)
    pattern, a = lacuna.from_scipy(m)
    b = numbers((8, 2), dtype)
    op = FORMS[form](m.toarray())
    close(lacuna.solve(pattern, a, b, op=form), np.linalg.solve(op, b))
    close(
        lacuna.solve(lacuna.Solver(pattern, method="lu", ordering="natural"), a, b[:, 0], op=form),
        np.linalg.solve(op, b[:, 0]),
    )
    factor = pattern.solver().factor(a)
    close(lacuna.solve(factor, a, b, op=form), np.linalg.solve(op, b))
    assert factor.report["method"] == "lu" and factor.report["factorisations"] == 1
    lower = FORMS[form](np.tril(m.toarray()))
    close(lacuna.trisolve(pattern, a, b, op=form), np.linalg.solve(lower, b))
    unit = FORMS[form](np.triu(m.toarray(), 1) + np.eye(8, dtype=dtype))
    close(lacuna.trisolve(pattern, a, b, triangle="upper", diagonal="unit", op=form), np.linalg.solve(unit, b))


def test_batched_solves():
    m = system(6)
    pattern, a = lacuna.from_scipy(m)
    big = a * (1 + 0.1 * rng.random((3, 1)))
    b = numbers((3, 6, 2), np.float64)
    close(lacuna.solve(pattern, big, b), np.linalg.solve(lacuna.to_dense(pattern, big), b))


def test_array_operators():
    x, y = numbers((4, 3, 2), np.complex128), numbers((3, 2), np.complex128)
    close(lacuna.add(x, y), x + y)
    close(lacuna.sub(x, y), x - y)
    close(lacuna.mul(x, y), x * y)
    close(lacuna.conj(x), x.conj())
    close(lacuna.scale(2 - 1j, x), (2 - 1j) * x)
    close(lacuna.dot(x, y), (x.conj() * y).sum((-1, -2)))
    close(lacuna.sum(x), x.sum())
    close(lacuna.sum(x, axis=(0, -1)), x.sum((0, -1)))
    close(lacuna.sum(x, axis=1, keepdims=True), x.sum(1, keepdims=True))
    close(lacuna.reshape(x, (8, 3)), x.reshape(8, 3))


def test_any_operator_by_name():
    m = matrix(7, 5)
    pattern, a = lacuna.from_scipy(m)
    x = numbers((7, 2), np.float64)
    close(lacuna.apply("spmm", pattern, a, x, ints=(1,)), m.T @ x)
    close(lacuna.apply("scale", x, floats=(2.0, 0.0)), 2 * x)
    close(lacuna.apply("broadcast", x[:, 0], shape=(7, 3), ints=(1, 0)), np.repeat(x[:, :1], 3, 1))
    with pytest.raises(lacuna.ArgumentError, match="no operator 'nought'; there are add"):
        lacuna.apply("nought", x)


def test_empty_sizes_work():
    empty = lacuna.Pattern.from_coo([], [], (0, 4))
    close(lacuna.spmm(empty, np.zeros(0), np.ones((4, 2))), np.zeros((0, 2)))
    none = lacuna.Pattern.from_coo([], [], (3, 4))
    close(lacuna.spmm(none, np.zeros(0), np.ones((4, 2))), np.zeros((3, 2)))
    close(lacuna.spmm(none, np.zeros(0), np.ones((4, 0))), np.zeros((3, 0)))
    close(lacuna.spmm(none, np.zeros((0, 0)), np.ones((4, 2))), np.zeros((0, 3, 2)))
    one = lacuna.Pattern.from_coo([0], [0], (1, 1))
    close(lacuna.solve(one, np.array([4.0]), np.array([2.0])), np.array([0.5]))


def test_inputs_of_any_layout_are_read_and_never_written():
    m = matrix(6, 6)
    pattern, a = lacuna.from_scipy(m)
    x = np.asfortranarray(numbers((6, 4), np.float64))[:, ::2]
    a.flags.writeable = False
    before = x.copy()
    close(lacuna.spmm(pattern, a, x), m @ x)
    close(lacuna.spmm(pattern, list(a), before.tolist()), m @ x)
    np.testing.assert_array_equal(x, before)


def unaligned(array):
    """The same numbers one byte off."""
    memory = np.empty(array.nbytes + 1, np.uint8)[1:]
    off = np.frombuffer(memory, array.dtype).reshape(array.shape)
    off[...] = array
    assert off.flags.c_contiguous and not off.flags.aligned
    return off


@pytest.mark.parametrize("dtype", DTYPES)
def test_unaligned_arrays_are_copied_before_c_sees_them(dtype, monkeypatch):
    m = system(6, dtype)
    pattern, a = lacuna.from_scipy(m)
    x = numbers((6, 3), dtype)
    crossed, buffer = [], lacuna._numpy._buffer
    monkeypatch.setattr(lacuna._numpy, "_buffer", lambda array: crossed.append(array) or buffer(array))
    close(lacuna.spmm(pattern, unaligned(a), unaligned(x)), m @ x)
    assert len(crossed) == 3 and all(array.flags.aligned for array in crossed)
    close(lacuna.solve(pattern.solver().factor(unaligned(a)), a, x), np.linalg.solve(m.toarray(), x))


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_unaligned_indices_are_copied_before_c_sees_them(index, monkeypatch):
    crossed, data = [], lacuna.pattern._data
    for module in (lacuna.pattern, lacuna.map):
        monkeypatch.setattr(module, "_data", lambda array: crossed.append(array) or data(array))
    row, col = np.array([2, 0, 1], index), np.array([1, 3, 2], index)
    pattern = lacuna.Pattern.from_coo(unaligned(row), unaligned(col), (3, 4))
    assert pattern.same(lacuna.Pattern.from_coo(row, col, (3, 4)))
    target = unaligned(np.array([1, 0, -1]))
    close(lacuna.remap(lacuna.Map(target, 2), np.array([1.0, 2.0, 4.0])), np.array([2.0, 1.0]))
    assert len(crossed) >= 5 and all(array.flags.aligned for array in crossed)


def test_the_lock_is_released_while_c_computes():
    n = 200_000
    pattern, a = lacuna.from_scipy(sp.diags_array([np.ones(n)] * 5, offsets=[-2, -1, 0, 1, 2], shape=(n, n)).tocsr())
    x = np.ones((n, 64))
    lacuna.set_threads(1)
    lacuna.spmm(pattern, a, x)  # programs and pages are there
    stamps, stop = [], threading.Event()

    def watch():
        while not stop.is_set():
            stamps.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=watch)
    thread.start()
    spans = []
    for _ in range(5):
        begin = time.perf_counter()
        lacuna.spmm(pattern, a, x)
        spans.append((begin, time.perf_counter()))
    stop.set()
    thread.join()
    inside = [sum(b + 0.25 * (e - b) < s < e - 0.25 * (e - b) for s in stamps) for b, e in spans]
    assert max(inside) > 0, "no other thread ran in the middle of any call"


def test_threads_share_patterns_and_have_contexts_of_their_own():
    m = system(30)
    pattern, a = lacuna.from_scipy(m)
    b = numbers((30, 2), np.float64)
    expected = lacuna.solve(pattern, a, b)
    failures = []

    def work(i):
        for _ in range(20):
            if not np.array_equal(lacuna.solve(pattern, a, b), expected):
                failures.append(i)
            try:
                lacuna.spmm(pattern, a, np.ones((7 + i, 1)))
            except lacuna.ShapeError as error:
                if f"({7 + i}, 1)" not in str(error):
                    failures.append(str(error))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
