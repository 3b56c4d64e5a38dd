# SPDX-License-Identifier: Apache-2.0
"""Shuffled coordinates into a pattern and its entry map, beside SciPy's coo.tocsr (+ sum_duplicates, which sorts) in
the same run.

Ten entries a row in random columns, in random order, handed in as 32-bit rows and columns: 8 bytes an entry, which is
the input that the peak is measured by. The peak is the most that Lacuna's allocator had live during the call, results
included. SciPy carries values of 8 bytes along and makes no entry map.

LACUNA_BENCH_ENTRIES (default 100000000) is the size of the large row; SciPy stands beside up to 20000000 entries.
"""

import gc
import os
import time

import numpy as np
import scipy.sparse as sp
from support import Table

import lacuna
from lacuna._core import context, lib

PER_ROW, BESIDE, CHUNK = 10, 20_000_000, 1 << 24
BAR_RATE, BAR_PEAK = 15e6, 3.0


def shuffled(count):
    """(rows, row, col): every row has ten entries, columns are random, the order is."""
    rng = np.random.default_rng(0)
    row = np.arange(count, dtype=np.int32)
    rng.shuffle(row)
    row //= PER_ROW
    return count // PER_ROW, row, rng.integers(0, count // PER_ROW, count, dtype=np.int32)


def peak_of(function):
    """(the most bytes live during the call beyond those before it, seconds)."""
    before = lacuna.memory_stats("cpu")["live_bytes"]
    lib.lac_memory_reset_peak(b"cpu")
    begin = time.perf_counter()
    function()
    seconds = time.perf_counter() - begin
    return lacuna.memory_stats("cpu")["peak_bytes"] - before, seconds


def wrong(pattern, row, col):
    """How many entries or slots are not as they must be; 0 proves the pattern and its map.

    Slots ascend strictly by (row, column), every entry goes to the slot of its row and column, every slot has an entry.
    """
    offsets, columns, rows = pattern.structure()
    hit = np.zeros(pattern.nnz, bool)
    target = pattern.entries.target
    faults = int(offsets[0] != 0) + int(offsets[-1] != pattern.nnz)
    for begin in range(0, row.size, CHUNK):
        part = slice(begin, begin + CHUNK)
        slots = target[part]
        faults += int((columns[slots] != col[part]).sum() + (rows[slots] != row[part]).sum())
        hit[slots] = True
    for begin in range(0, pattern.nnz - 1, CHUNK):
        above, below = slice(begin, min(begin + CHUNK, pattern.nnz - 1)), slice(begin + 1, begin + CHUNK + 1)
        ascends = (rows[above] < rows[below]) | ((rows[above] == rows[below]) & (columns[above] < columns[below]))
        faults += int((~ascends).sum())
    return faults + int((~hit).sum())


def scipy_seconds(shape, row, col):
    begin = time.perf_counter()
    a = sp.coo_array((np.ones(row.size), (row, col)), shape).tocsr()
    a.sum_duplicates()
    return time.perf_counter() - begin, a


def measure(table, count, threads, rounds):
    rows, row, col = shuffled(count)
    context().set_threads(threads)
    best, peer, bytes_, pattern, a = float("inf"), float("inf"), 0, None, None
    for _ in range(rounds):
        made = []
        del pattern
        bytes_, seconds = peak_of(lambda: made.append(lacuna.Pattern.from_coo(row, col, (rows, rows))))
        pattern, best = made[0], min(best, seconds)
        if count <= BESIDE:
            del a
            seconds, a = scipy_seconds((rows, rows), row, col)
            peer = min(peer, seconds)
    faults = wrong(pattern, row, col)
    if a is not None:
        faults += int((a.indices != pattern.structure()[1]).sum() + (a.indptr != pattern.structure()[0]).sum())
    rate, share = count / best, bytes_ / (row.nbytes + col.nbytes)
    asked = threads == 2 and count > BESIDE
    ok = share <= BAR_PEAK and (rate >= BAR_RATE or not asked)
    table.row(f"{count / 1e6:g}M, {rate / 1e6:.1f}M/s, peak {share:.2f}x", n=rows, threads=threads, ours=best,
              dtype="-", peer="SciPy" if a is not None else None, peer_s=peer if a is not None else None,
              residual=float(faults), bytes_per_unknown=bytes_ / rows, ok=ok,
              bar=f"{'15M/s, ' if asked else ''}peak <= 3x")  # fmt: skip


def main():
    table = Table("build")
    large = int(os.environ.get("LACUNA_BENCH_ENTRIES", 100_000_000))
    for count, threads, rounds in ((BESIDE, 1, 3), (BESIDE, 2, 3), (large, 2, 3)):
        if count <= large:
            measure(table, count, threads, rounds)
        gc.collect()
        lib.lac_memory_trim()
    table.finish()


if __name__ == "__main__":
    main()
