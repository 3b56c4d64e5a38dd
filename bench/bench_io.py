# SPDX-License-Identifier: Apache-2.0
"""Matrix Market files, parsed: MB/s a core beside SciPy's reader (fast_matrix_market) in the same run, on 1 and 2
threads.

Ours gives a pattern and values with duplicates summed, and SciPy's is followed by .tocsr(), which does not sort the
columns. Both read a file that the system has in memory. Three files of the same matrix: numbers with 17 digits, with 6,
and none.
"""

import os
import tempfile

import numpy as np
import scipy.io
import scipy.io._fast_matrix_market as fmm
import scipy.sparse as sp
from support import Table, side_by_side

import lacuna
from lacuna._core import context, ffi, lib

ROWS, PER_ROW = 200_000, 8
BAR = 100  # MB/s a core


def write(path, a, digits):
    """A file as others write it."""
    head = f"%%MatrixMarket matrix coordinate {'real' if digits else 'pattern'} general\n"
    head += f"{a.shape[0]} {a.shape[1]} {a.nnz}\n"
    with open(path, "w") as file:
        file.write(head)
        if digits:
            file.writelines(f"{i} {j} {x:.{digits}g}\n" for i, j, x in zip(a.row + 1, a.col + 1, a.data))
        else:
            file.writelines(f"{i} {j}\n" for i, j in zip(a.row + 1, a.col + 1))


def read(path):
    """The C library alone: pattern and values are made and dropped."""
    pattern, values, ctx = ffi.new("lac_pattern **"), ffi.new("lac_array **"), context()
    ctx.check(lib.lac_read_matrix_market(ctx.c, path.encode(), ffi.NULL, pattern, values, ffi.NULL))
    lib.lac_pattern_destroy(pattern)
    lib.lac_array_destroy(values)


def error(path, a):
    pattern, values = lacuna.read_matrix_market(path)
    ours, theirs = pattern.to_scipy(values).tocsr(), scipy.io.mmread(path).tocsr()
    theirs.sum_duplicates()
    same = (ours.indptr == theirs.indptr).all() and (ours.indices == theirs.indices).all()
    return float(np.abs(ours.data - theirs.data).max()) if same and ours.nnz == a.tocsr().nnz else float("nan")


def writing(table, folder, a):
    pattern, values = lacuna.from_scipy(a.tocsr())
    paths = [os.path.join(folder, name) for name in ("ours.mtx", "theirs.mtx")]
    context().set_threads(1)
    fmm.PARALLELISM = 1
    ours, peer = side_by_side(lambda: lacuna.write_matrix_market(paths[0], pattern, values),
                              lambda: scipy.io.mmwrite(paths[1], a), seconds=3)  # fmt: skip
    wrong = float((lacuna.read_matrix_market(paths[0])[1] != values).sum())
    size = os.path.getsize(paths[0])
    table.row(f"write, {size / ours * 1e-6:.0f} MB/s", n=ROWS, ours=ours, peer="SciPy", peer_s=peer, residual=wrong,
              gbps=size / ours * 1e-9)  # fmt: skip


def main():
    table = Table("io")
    rng = np.random.default_rng(0)
    count = ROWS * PER_ROW
    row, col = np.repeat(np.arange(ROWS), PER_ROW), rng.integers(0, ROWS, count)
    a = sp.coo_array((rng.standard_normal(count), (row, col)), (ROWS, ROWS))
    with tempfile.TemporaryDirectory() as folder:
        for digits in (17, 6, 0):
            path = os.path.join(folder, f"{digits}.mtx")
            write(path, a, digits)
            size = os.path.getsize(path)
            for threads in (1, 2):
                context().set_threads(threads)
                fmm.PARALLELISM = threads
                ours, peer = side_by_side(lambda: read(path), lambda: scipy.io.mmread(path).tocsr(), seconds=5)
                a_core = size / ours / threads * 1e-6
                table.row(f"read {digits} digits, {a_core:.0f} MB/s a core", n=ROWS, threads=threads, ours=ours,
                          peer="SciPy", peer_s=peer, residual=error(path, a), gbps=size / ours * 1e-9, ok=a_core >= BAR,
                          bar=f"{BAR} MB/s a core")  # fmt: skip
        writing(table, folder, a)
    table.finish()


if __name__ == "__main__":
    main()
