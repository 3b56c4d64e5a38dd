# SPDX-License-Identifier: Apache-2.0
"""A peer: pyamg's hierarchy inside SciPy's CG or pyamg's flexible GMRES, on a system in a file.

    python pyamg_solve.py FILE RTOL SECONDS smoothed|classical cg|gmres

Prints a line for each repetition: set-up seconds, solve seconds, iterations, |b - A x| / |b|.
"""

import sys
import time

import numpy as np
import pyamg
import scipy.sparse.linalg as spla
from system import read_system


def set_up(A, near_null, block, kind, krylov):
    if kind == "classical":
        return pyamg.ruge_stuben_solver(A, strength=("classical", {"theta": 0.5}))
    if block > 1:
        A = A.tobsr((int(block), int(block)))
    symmetry = "symmetric" if krylov == "cg" else "nonsymmetric"
    return pyamg.smoothed_aggregation_solver(A, B=near_null, symmetry=symmetry, strength=("symmetric", {"theta": 0.02}))


def solve(A, b, hierarchy, krylov, rtol):
    count, M = [], hierarchy.aspreconditioner()
    if krylov == "cg":
        x, _ = spla.cg(A, b, rtol=rtol, maxiter=1000, M=M, callback=count.append)
    else:
        x, _ = pyamg.krylov.fgmres(A, b, tol=rtol, restart=60, maxiter=1000 // 60, M=M, residuals=count)
    return x, len(count)


def main():
    (A, b, near_null, block), rtol, left = read_system(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    first = True
    while first or left > 0:
        begin = time.perf_counter()
        hierarchy = set_up(A, near_null, block, *sys.argv[4:6])
        ready = time.perf_counter()
        x, iterations = solve(A, b, hierarchy, sys.argv[5], rtol)
        end = time.perf_counter()
        error = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
        print(f"{ready - begin:.6f} {end - ready:.6f} {iterations} {error:.3e}", flush=True)
        first, left = False, left - (end - begin)


if __name__ == "__main__":
    main()
