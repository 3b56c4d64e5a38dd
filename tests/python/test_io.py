# SPDX-License-Identifier: Apache-2.0
"""Files beside SciPy's Matrix Market reader and the safetensors package."""

import gzip
from pathlib import Path

import numpy as np
import pytest

import lacuna

sp = pytest.importorskip("scipy.sparse")
scipy_io = pytest.importorskip("scipy.io")
ROOT = Path(__file__).resolve().parents[2]
MATRICES = ROOT / "data" / "matrices"
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
rng = np.random.default_rng(0)


def numbers(shape, dtype):
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-12, 12, shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def matrix(rows, cols, dtype):
    m = sp.random_array((rows, cols), density=0.3, rng=rng, format="csr").astype(dtype)
    m.data = numbers(m.nnz, dtype)
    return m


def test_real_matrices_are_read_as_scipy_reads_them():
    files = sorted(MATRICES.glob("*.mtx"))
    assert files
    for file in files:
        expected = scipy_io.mmread(file).tocsr()
        expected.sum_duplicates()
        pattern, values = lacuna.read_matrix_market(file)
        offsets, columns, _ = pattern.structure()
        assert pattern.shape == expected.shape, file
        np.testing.assert_array_equal(offsets, expected.indptr)
        np.testing.assert_array_equal(columns, expected.indices)
        np.testing.assert_array_equal(values, expected.data)


KINDS = [
    (form, field, symmetry)
    for form in ("coo", "array")
    for field in ("real", "integer", "complex", "pattern")
    for symmetry in ("general", "symmetric", "skew-symmetric", "hermitian")
    if (symmetry != "hermitian" or field == "complex")
    and (field != "pattern" or (form == "coo" and symmetry in ("general", "symmetric")))
]


@pytest.mark.parametrize(("form", "field", "symmetry"), KINDS)
def test_what_scipy_writes_is_read(tmp_path, form, field, symmetry):
    a = rng.standard_normal((6, 6)) * (rng.random((6, 6)) < 0.6)
    if field == "complex":
        a = a * (1 + 0.5j)
    if field == "integer":
        a = np.round(10 * a)
    a = {"general": a, "symmetric": a + a.T, "skew-symmetric": a - a.T, "hermitian": a + a.conj().T}[symmetry]
    a = a.astype(int) if field == "integer" else a
    path = tmp_path / "a.mtx"
    if form == "array":
        scipy_io.mmwrite(path, a, field=field, symmetry=symmetry)
        pattern, values = lacuna.read_matrix_market(path)
        assert pattern is None
    else:
        scipy_io.mmwrite(path, sp.coo_array(a), field=field, symmetry=symmetry)
        pattern, values = lacuna.read_matrix_market(path)
        values = pattern.to_scipy(values).toarray()
    expected = scipy_io.mmread(path)
    np.testing.assert_array_equal(values, expected.toarray() if form == "coo" else expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz"])
def test_what_is_written_is_read_by_both(tmp_path, dtype, name):
    path = tmp_path / name
    m = matrix(20, 30, dtype)
    pattern, values = lacuna.from_scipy(m)
    try:
        lacuna.write_matrix_market(path, pattern, values, comment="one\ntwo")
    except lacuna.UnsupportedError:
        pytest.skip("built without zlib")
    back, again = lacuna.read_matrix_market(path, dtype=dtype)
    assert back.same(pattern) and again.dtype == dtype
    np.testing.assert_array_equal(again, values)
    np.testing.assert_array_equal(scipy_io.mmread(path).toarray().astype(dtype), m.toarray())
    dense = numbers((4, 3), dtype)
    lacuna.write_matrix_market(path, values=dense)
    np.testing.assert_array_equal(lacuna.read_matrix_market(path, dtype=dtype)[1], dense)
    np.testing.assert_array_equal(scipy_io.mmread(path).astype(dtype), dense)


def test_errors_name_file_and_line(tmp_path):
    path = tmp_path / "bad.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n")
    with pytest.raises(lacuna.FormatError, match=r"bad.mtx', line 3: row 3 is outside 1..2"):
        lacuna.read_matrix_market(path)
    with pytest.raises(OSError, match="No such file"):
        lacuna.read_matrix_market(tmp_path / "none.mtx")
    with pytest.raises(lacuna.DtypeError, match="float32, float64"):
        lacuna.read_matrix_market(path, dtype=int)
    with pytest.raises(lacuna.ArgumentError, match="symmetry"):
        lacuna.write_matrix_market(path, values=np.ones((2, 2)), symmetry="nearly")
    with gzip.open(tmp_path / "cut.mtx.gz", "wb") as file:
        file.write(b"%%MatrixMarket matrix coordinate real general\n2 2 0\n")
    whole = (tmp_path / "cut.mtx.gz").read_bytes()
    (tmp_path / "cut.mtx.gz").write_bytes(whole[:-3])
    with pytest.raises((lacuna.FormatError, lacuna.UnsupportedError), match="gzipped"):
        lacuna.read_matrix_market(tmp_path / "cut.mtx.gz")


def tensors():
    m = matrix(7, 5, np.complex128)
    pattern, values = lacuna.from_scipy(m)
    arrays = {str(np.dtype(d)): numbers((2, 3), d) for d in DTYPES}
    return pattern, values, {**arrays, "i": np.arange(4), "é\n": np.zeros((0, 2), np.int32), "one": np.float64(3)}


def test_what_is_not_there_is_a_file_not_found(tmp_path):
    away = tmp_path / "away" / "a.mtx"
    for call in (lambda: lacuna.read_matrix_market(away), lambda: lacuna.matrix_market_info(away),
                 lambda: lacuna.load_safetensors(away), lambda: lacuna.save_safetensors(away, {"a": np.ones(2)}),
                 lambda: lacuna.write_matrix_market(away, None, np.ones((2, 2)))):  # fmt: skip
        with pytest.raises(FileNotFoundError, match="away") as caught:
            call()
        assert isinstance(caught.value, lacuna.FileError)
    with pytest.raises(lacuna.FileError) as caught:
        lacuna.read_matrix_market(tmp_path)
    assert not isinstance(caught.value, FileNotFoundError)


def test_safetensors_come_back(tmp_path):
    path = tmp_path / "a.safetensors"
    pattern, values, arrays = tensors()
    lacuna.save_safetensors(path, {**arrays, "A": (pattern, values), "P": pattern}, {"by": "us"})
    back = lacuna.load_safetensors(path)
    assert back["A"][0].same(pattern) and back["P"].same(pattern)
    np.testing.assert_array_equal(back["A"][1], values)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype and back[name].shape == array.shape
        np.testing.assert_array_equal(back[name], array)
    with pytest.raises(lacuna.DtypeError, match="does not have"):
        lacuna.save_safetensors(path, {"a": np.array(["text"])})
    with pytest.raises(lacuna.ArgumentError, match="slots"):
        lacuna.save_safetensors(path, {"A": (pattern, values[1:])})


def test_the_safetensors_package_reads_ours_and_we_read_its(tmp_path):
    package = pytest.importorskip("safetensors.numpy", reason="the safetensors package is not here")
    path = tmp_path / "a.safetensors"
    pattern, values, arrays = tensors()
    lacuna.save_safetensors(path, {**arrays, "A": (pattern, values)}, {"by": "us"})
    theirs = package.load_file(path)
    np.testing.assert_array_equal(theirs["A.columns"], pattern.structure()[1])
    np.testing.assert_array_equal(theirs["A.values"].view(np.complex128)[..., 0], values)
    np.testing.assert_array_equal(theirs["complex64"], arrays["complex64"])
    given = {name: np.asarray(a) for name, a in arrays.items() if name != "complex128"}
    package.save_file({**given, "h": np.ones(3, np.float16)}, path, metadata={"k": "v"})
    ours = lacuna.load_safetensors(path)
    for name, array in given.items():
        np.testing.assert_array_equal(ours[name], array)
        assert ours[name].dtype == array.dtype
    assert ours["h"].dtype == np.float16
