# SPDX-License-Identifier: Apache-2.0
"""SparseTensor: what its methods cost beside the functions that they call, a loop that makes it anew in each turn
beside a solver that is kept, and products with their gradients beside torch's own CSR tensors.

Every row is checked first, then timed, in turn with its peer.
"""

import numpy as np
import scipy.sparse as sp
import torch
from bench_overhead import error, in_turns, torch_csr
from support import Table, peer_call, poisson2d, side_by_side, sized

import lacuna
import lacuna.torch as lt
from lacuna.torch import SparseTensor

SMALL, MOST_US, MOST_LOOP = 100, 15, 1.1


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


def products(table):
    """A @ X forward and backward, in values and X, beside torch's CSR: of the same tensor, and of shuffled entries."""
    grid, size, entries = sized(1000, 100), sized(120_000, 5000), sized(3_000_000, 50_000)
    at = np.random.default_rng(1).integers(0, size, (2, entries))
    random = sp.coo_matrix((np.random.default_rng(2).random(entries), at), (size, size)).tocsr()
    for name, matrix, k, is_shuffled in (
        ("2-D, 16 columns", poisson2d(grid), 16, False), ("2-D, 16 columns, shuffled", poisson2d(grid), 16, True),
        ("random, 128 columns", random, 128, False),
    ):  # fmt: skip
        product(table, name, matrix, k, is_shuffled)


def product(table, name, matrix, k, is_shuffled):
    values, rows, columns = shuffled(matrix)
    x = torch.from_numpy(np.random.default_rng(3).random((matrix.shape[1], k))).requires_grad_()
    values.requires_grad_()
    csr = torch_csr(matrix, torch.from_numpy(matrix.data)).requires_grad_()

    bar = torch.ones(matrix.shape[0], k, dtype=torch.float64)

    def ours():
        if not is_shuffled:
            return torch.autograd.grad(SparseTensor.from_torch(csr) @ x, (csr, x), bar)
        return torch.autograd.grad(SparseTensor(values, rows, columns, matrix.shape) @ x, (values, x), bar)

    def theirs():  # torch's `@` makes a dense gradient
        return torch.autograd.grad(torch.sparse.mm(csr, x), (csr, x), bar)

    residual = error(ours()[1], matrix.T @ np.ones((matrix.shape[0], k)))
    ours_s, peer_s = side_by_side(ours, peer_call(theirs), seconds=6)
    table.at_least(1.5, f"A @ X, {name}", n=matrix.shape[0], ours=ours_s, peer="torch CSR", peer_s=peer_s,
                   residual=residual, threads=2)  # fmt: skip


def main():
    table = Table("python")
    torch.set_num_threads(2)
    lacuna.set_threads(2)
    products(table)
    torch.set_num_threads(1)
    lacuna.set_threads(1)
    loops(table)
    methods(table)
    table.finish()


if __name__ == "__main__":
    main()
