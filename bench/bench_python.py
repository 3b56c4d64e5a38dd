# SPDX-License-Identifier: Apache-2.0
"""SparseTensor: what its methods cost beside the functions that they call, a loop that makes it anew in each turn
beside a solver that is kept, products with their gradients beside torch's own CSR tensors, SciPy and
torchsparsegradutils, and what memory they take, and a solve with its gradients beside the best way of torch-sla.

Every row is checked first, then timed, in turn with its peer; torch-sla's ways, each of which takes seconds, run one
after the other in processes of their own.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import peers
import scipy.sparse as sp
import torch
from bench_overhead import error, in_turns, torch_csr
from support import PEERS, QUICK, Table, peer_call, poisson2d, side_by_side, sized

import lacuna
import lacuna.torch as lt
from lacuna.torch import SparseTensor

try:
    import torchsparsegradutils as gradutils
except ImportError:
    gradutils = None

SMALL, MOST_US, MOST_LOOP = 100, 15, 1.1
MOST_MEMORY = 1.1  # of inputs, outputs and gradients
RTOL, ENOUGH, LIMIT_S = 1e-10, 1e-8, 60  # asked of solves, what counts as a peer's answer, and how long one may take


def shuffled(matrix):
    """The entries of a SciPy matrix in no order, as tensors: values, rows, columns."""
    coo = matrix.tocoo()
    order = np.random.default_rng(0).permutation(coo.nnz)
    rows, columns = (torch.from_numpy(side[order].astype(np.int64)) for side in (coo.row, coo.col))
    return torch.from_numpy(coo.data[order]), rows, columns


def methods(table):
    """Microseconds over the functions, on values by slots and in the caller's order."""
    matrix = poisson2d(int(SMALL**0.5))
    values, rows, columns = shuffled(matrix)
    ours, b = SparseTensor(values, rows, columns, matrix.shape), torch.ones(matrix.shape[0], dtype=torch.float64)
    pattern, entries = ours.structure.pattern, ours.structure.entries
    slots = ours.slots()
    by_slots = SparseTensor.from_pattern(pattern, slots)
    pairs = {
        "A @ x": (lambda: by_slots @ b, lambda: lt.spmm(pattern, slots, b)),
        "A @ x, caller's order": (lambda: ours @ b, lambda: lt.spmm(pattern, lt.remap(entries, values), b)),
        "A.solve(b)": (lambda: by_slots.solve(b), lambda: lt.solve(pattern, slots, b)),
        "A.sum(0)": (lambda: by_slots.sum(0), lambda: lt.col_sum(pattern, slots)),
        "A + A": (lambda: (by_slots + by_slots).values, lambda: slots + slots),
    }
    for name, (method, function) in pairs.items():
        residual = error(method(), function())
        ours_s, peer_s = in_turns(method, function, 100)
        over = 1e6 * (ours_s - (peer_s or 0))
        table.row(name, n=SMALL, ours=ours_s, peer="the function", peer_s=peer_s, residual=residual,
                  ok=over < MOST_US, bar=f"under {MOST_US} us over the function: {over:.1f}")  # fmt: skip


def loops(table):
    """x of new values in each turn, by a tensor that is made of its indices, and by what was kept."""
    matrix = poisson2d(sized(200, 60))
    values, rows, columns = shuffled(matrix)
    n, b = matrix.shape[0], torch.ones(matrix.shape[0], dtype=torch.float64)
    kept = SparseTensor(values, rows, columns, matrix.shape).structure
    turn = [0]

    def new_values():
        turn[0] += 1
        return values * (1 + 1e-9 * turn[0])

    def anew():
        return SparseTensor(new_values(), rows, columns, matrix.shape).solve(b)

    def by_kept():
        return lt.solve(kept.pattern, lt.remap(kept.entries, new_values()), b)

    x = anew()
    residual = float((torch.from_numpy(matrix @ x.numpy()) * (1 + 1e-9) - b).norm() / b.norm())
    ours_s, peer_s = side_by_side(anew, peer_call(by_kept), seconds=10)
    table.row("solve, made of indices each time", n=n, ours=ours_s, peer="kept", peer_s=peer_s, residual=residual,
              ok=peer_s is None or ours_s <= MOST_LOOP * peer_s, bar=f"at most {MOST_LOOP:g} x kept",
              limit=1e-9)  # fmt: skip  # it iterates


# -- products --------------------------------------------------------------------------------------------------------


def products(table):
    """A @ X forward and backward, in values and X, beside torch's CSR: of the same tensor, and of shuffled entries."""
    grid, size, entries = sized(1000, 100), sized(120_000, 5000), sized(3_000_000, 50_000)
    at = np.random.default_rng(1).integers(0, size, (2, entries))
    random = sp.coo_matrix((np.random.default_rng(2).random(entries), at), (size, size)).tocsr()
    for name, matrix, k in (("2-D, 16 columns", poisson2d(grid), 16), ("random, 128 columns", random, 128)):
        x = np.random.default_rng(3).random((matrix.shape[1], k))
        product(table, name, matrix, x)
        memory(table, name, matrix, x)
    product_of_shuffled(table, "2-D, 16 columns, shuffled", poisson2d(grid), 16)


def product(table, name, matrix, x):
    """A @ X of a CSR tensor beside all that have it: torch, torchsparsegradutils, and SciPy, whose three products are
    those that a gradient takes."""
    csr = torch_csr(matrix, torch.from_numpy(matrix.data)).requires_grad_()
    x, bar = torch.from_numpy(x).requires_grad_(), torch.ones(matrix.shape[0], x.shape[1], dtype=torch.float64)

    def both(multiply):
        return lambda: torch.autograd.grad(multiply(csr, x), (csr, x), bar)

    ours = both(lambda csr, x: SparseTensor.from_torch(csr) @ x)
    calls = {
        "torch CSR": (1.5, both(torch.sparse.mm)),  # torch's `@` makes a dense gradient
        "torchsparsegradutils": (1.5, both(gradutils.sparse_mm) if has_gradutils(matrix.nnz * x.shape[1]) else None),
        "SciPy": (0, by_scipy(matrix, x.numpy(force=True), bar.numpy())),
    }
    expected = calls["SciPy"][1]()
    csr_bar, x_bar = ours()
    residual = error((csr_bar.values(), x_bar), expected)
    found = side_by_side(ours, *(call and peer_call(call) for _, call in calls.values()), seconds=8)
    for (peer, (factor, call)), peer_s in zip(calls.items(), found[1:], strict=True):
        if call and (peer_s or peer == "torch CSR"):
            table.at_least(factor, f"A @ X, {name}", n=matrix.shape[0], ours=found[0], peer=peer, peer_s=peer_s,
                           residual=residual, threads=2, bar=f"beside {peer}")  # fmt: skip


def by_scipy(matrix, x, bar):
    """The gradients by SciPy and NumPy; those of values row by row of entries, in pieces that fit a cache."""
    rows, piece = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), 1 << 12

    def call():
        matrix @ x
        pieces = [slice(p, p + piece) for p in range(0, matrix.nnz, piece)]
        values_bar = [np.einsum("pk,pk->p", bar[rows[at]], x[matrix.indices[at]]) for at in pieces]
        return np.concatenate(values_bar), matrix.T @ bar

    return call


def has_gradutils(numbers):
    """Whether torchsparsegradutils is here, and memory for what its backward makes of so many entries times columns."""
    if gradutils is None:
        return False
    with open("/proc/meminfo") as file:
        free = 1024 * int(next(line for line in file if line.startswith("MemAvailable")).split()[1])
    if free < 4 * 8 * numbers:
        print(f"torchsparsegradutils is left out: its backward takes {3 * 8 * numbers / 1e9:.0f} GB")
    return free >= 4 * 8 * numbers


def product_of_shuffled(table, name, matrix, k):
    """The same of entries in the caller's order, with one peer: torch's CSR tensor, which has them in order."""
    values, rows, columns = shuffled(matrix)
    values.requires_grad_()
    x = torch.from_numpy(np.random.default_rng(3).random((matrix.shape[1], k))).requires_grad_()
    csr, bar = torch_csr(matrix, torch.from_numpy(matrix.data)).requires_grad_(), torch.ones_like(x)

    def ours():
        return torch.autograd.grad(SparseTensor(values, rows, columns, matrix.shape) @ x, (values, x), bar)

    residual = error(ours()[1], matrix.T @ np.ones((matrix.shape[0], k)))
    theirs = peer_call(lambda: torch.autograd.grad(torch.sparse.mm(csr, x), (csr, x), bar))
    ours_s, peer_s = side_by_side(ours, theirs, seconds=6)
    table.at_least(1.5, f"A @ X, {name}", n=matrix.shape[0], ours=ours_s, peer="torch CSR", peer_s=peer_s,
                   residual=residual, threads=2)  # fmt: skip


def memory(table, name, matrix, x):
    """How far a process grows, which does nothing but the product; its seconds are those of a first call with all that
    a program loads."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "product_memory.py")
    with tempfile.TemporaryDirectory() as folder:
        for part, array in {"offsets": matrix.indptr, "columns": matrix.indices, "values": matrix.data, "x": x}.items():
            np.save(os.path.join(folder, f"{part}.npy"), array)
        begin = time.perf_counter()
        out = subprocess.run([sys.executable, program, folder], stdout=subprocess.PIPE, text=True, check=True).stdout
    grew, inputs, made = map(int, out.split())
    ratio = (inputs + grew) / (inputs + made)
    table.row(f"A @ X, {name}: memory", n=matrix.shape[0], ours=time.perf_counter() - begin, residual=0.0, threads=2,
              bytes_per_unknown=(inputs + grew) / matrix.shape[0], ok=QUICK or ratio <= MOST_MEMORY,
              bar=f"at most {MOST_MEMORY:g} x inputs + outputs + gradients: {ratio:.2f}")  # fmt: skip


# -- solves ----------------------------------------------------------------------------------------------------------


def solves(table):
    """x of A x = b forward and backward, in values and b, of new values in each turn, beside torch-sla's best."""
    matrix = poisson2d(sized(1000, 100))
    values, rows, columns = shuffled(matrix)
    b, bar = torch.from_numpy(np.random.default_rng(0).standard_normal((2, matrix.shape[0])))
    turn = [0]

    def ours():
        turn[0] += 1
        leaves = (values * (1 + 1e-9 * turn[0])).requires_grad_(), b.clone().requires_grad_()
        x = SparseTensor(leaves[0], rows, columns, matrix.shape).solve(leaves[1], rtol=RTOL)
        return x.detach(), torch.autograd.grad(x, leaves, bar)[1]

    begin = time.perf_counter()
    x, b_bar = ours()
    first = time.perf_counter() - begin
    scaled = matrix * (1 + 1e-9)
    residual = max(float(np.linalg.norm(right - scaled @ left.numpy()) / np.linalg.norm(right))
                   for left, right in ((x, b.numpy()), (b_bar, bar.numpy())))  # fmt: skip
    (ours_s,) = side_by_side(ours, seconds=8)
    best = best_of_torch_sla(matrix, b.numpy()) if PEERS else None
    peer, peer_s = best if best else (None, None)
    table.at_least(8, "solve", n=matrix.shape[0], ours=ours_s, peer=peer, peer_s=peer_s, residual=residual, threads=2,
                   limit=1.01 * RTOL)  # fmt: skip
    print(f"the first solve, which analyses: {first:.3f} s")


def best_of_torch_sla(matrix, b):
    """(name, seconds) of its fastest way among those that reach ENOUGH; None where there is none."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "system")
        peers.write_system(path, matrix, b)
        for peer in peers.torch_sla():
            try:
                ran = peer.run(path, RTOL, sized(10, 1), limit=LIMIT_S)
            except subprocess.SubprocessError as failed:
                late = isinstance(failed, subprocess.TimeoutExpired)
                why = f"not within {LIMIT_S} s" if late else (failed.stderr or str(failed)).strip().splitlines()[-1]
                print(f"{peer.name}: {why}")
                continue
            print(f"{peer.name}: {ran.setup:.2f} + {ran.solve:.2f} s, residual {ran.residual:.0e}")
            found += [(ran.seconds, peer.name)] if ran.residual <= ENOUGH else []
    return min(found)[::-1] if found else None


def main():
    if PEERS and gradutils is None:
        print("torchsparsegradutils cannot be had here and is left out: pip install torchsparsegradutils")
    table = Table("python")
    torch.set_num_threads(2)
    lacuna.set_threads(2)
    products(table)
    solves(table)
    torch.set_num_threads(1)
    lacuna.set_threads(1)
    loops(table)
    methods(table)
    table.finish()


if __name__ == "__main__":
    main()
