# SPDX-License-Identifier: Apache-2.0
"""What the Python benchmarks share: matrices, timing side by side, rows on the screen and in build/bench.jsonl."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
KEYS = (
    "bench row pass n dtype threads device ours_s peer peer_s ratio residual gbps bandwidth_share bytes_per_unknown"
).split()
MAX_RESIDUAL = 1e-13


def poisson2d(n):
    """The five-point matrix of an n x n grid, as SciPy CSR with sorted 32-bit indices."""
    line = sp.diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1])
    a = (sp.kron(line, sp.eye(n)) + sp.kron(sp.eye(n), line)).tocsr()
    a.sort_indices()
    return sp.csr_matrix((a.data, a.indices.astype(np.int32), a.indptr.astype(np.int32)), shape=a.shape)


def triad():
    """{threads: GB/s} of this machine, measured now by the compiled triad with plain stores; the streamed one is printed too."""
    program = os.path.join(os.path.dirname(os.environ["LACUNA_LIBRARY"]), "..", "bench", "bench_triad")
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split("\n")
    rows = [line.split() for line in lines if line]
    print("triad, GB/s:", ", ".join(f"{threads} threads {plain} (streamed {streamed})" for threads, plain, streamed in rows))
    return {int(threads): float(plain) for threads, plain, _ in rows}


def side_by_side(*functions, seconds=2.0):
    """The best time of each function, run in turns so that all meet the same neighbours."""
    best = [float("inf")] * len(functions)
    for f in functions:
        f()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, f in enumerate(functions):
            begin = time.perf_counter()
            f()
            best[i] = min(best[i], time.perf_counter() - begin)
    return best


def _show(x, form):
    return "-" if x is None else format(x, form)


def _time(seconds):
    return "-" if seconds is None else f"{seconds * 1e3:.3f} ms" if seconds > 1e-4 else f"{seconds * 1e6:.2f} us"


class Table:
    """Rows as they come: printed, appended to build/bench.jsonl, and remembered for the exit code.

    A row passes when its bar holds (`ok`) and its answer is right: a residual above 1e-13, or none, fails every row.
    """

    def __init__(self, bench):
        self.bench, self.failed = bench, 0
        print(f"{'row':34} {'thr':>3} {'ours':>10} {'peer':>10} {'ratio':>6} {'GB/s':>6} {'share':>6} {'error':>8}  "
              "bar")  # fmt: skip

    def row(self, name, *, n, ours, residual, peer=None, peer_s=None, threads=1, dtype="f64", device="cpu", gbps=None,
            share=None, bytes_per_unknown=None, ok=True, bar=""):  # fmt: skip
        right = residual <= MAX_RESIDUAL  # NaN is not
        ratio = peer_s / ours if peer_s else None
        ok = bool(ok and right)
        self.failed += not ok
        values = [self.bench, name, ok, n, dtype, threads, device, ours, peer, peer_s, ratio, residual, gbps, share,
                  bytes_per_unknown]  # fmt: skip
        verdict = "" if ok else "  MISSED" if right else "  WRONG"
        print(f"{name:34} {threads:3} {_time(ours):>10} {_time(peer_s):>10} {_show(ratio, '.2f'):>6} "
              f"{_show(gbps, '.1f'):>6} {_show(share, '.0%'):>6} {residual:8.1e}  {bar}{verdict}")  # fmt: skip
        os.makedirs(os.path.join(ROOT, "build"), exist_ok=True)
        with open(os.path.join(ROOT, "build", "bench.jsonl"), "a") as file:
            file.write(json.dumps(dict(zip(KEYS, values, strict=True))) + "\n")

    def finish(self):
        print(f"{self.bench}: {'every bar holds' if not self.failed else f'{self.failed} bars missed'}")
        sys.exit(self.failed != 0)
