# SPDX-License-Identifier: Apache-2.0
"""A peer: torch-sla's spsolve with the gradients of its values and right-hand side, on a symmetric system in a file.

    python torch_sla_solve.py FILE RTOL SECONDS BACKEND METHOD PRECONDITIONER

Prints a line for each repetition: forward seconds, backward seconds, 0 for the iterations, which it does not tell, and
the larger of |b - A x| / |b| and the same of the adjoint system.
"""

import os
import sys
import time
import warnings

import numpy as np
import torch
from system import read_system
from torch_sla import spsolve


def residual(A, x, b):
    return float(np.linalg.norm(b - A @ x.numpy(force=True)) / np.linalg.norm(b))


def main():
    (A, b, _, _), rtol, left = read_system(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    backend, method, preconditioner = sys.argv[4:7]
    coo, bar = A.tocoo(), np.random.default_rng(1).standard_normal(b.size)
    rows, columns = (torch.from_numpy(side.astype(np.int64)) for side in (coo.row, coo.col))
    values, right = (torch.from_numpy(array).requires_grad_() for array in (coo.data, b))
    given, x_bar = (values, rows, columns, A.shape, right), torch.from_numpy(bar)
    options = {"backend": backend, "method": method, "preconditioner": preconditioner, "is_symmetric": True,
               "is_spd": True, "atol": rtol, "tol": rtol}  # fmt: skip
    first = True
    while first or left > 0:
        begin = time.perf_counter()
        x = spsolve(*given, **options)
        solved = time.perf_counter()
        b_bar = torch.autograd.grad(x, (values, right), x_bar)[1]
        end = time.perf_counter()
        worst = max(residual(A, x, b), residual(A, b_bar, bar))  # A is its own transpose
        print(f"{solved - begin:.6f} {end - solved:.6f} 0 {worst:.3e}", flush=True)
        first, left = False, left - (end - begin)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    main()
