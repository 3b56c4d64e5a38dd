# SPDX-License-Identifier: Apache-2.0
"""Solves of CUDA tensors through torch: set-ups, bytes of values that travel, gradients, seconds.

CG with Jacobi sets up once for forward, backward and double backward, and no value comes to the host. The automatic
choice solves what it is given, on the device or by a method of the host. Gradients are compared with differences of the
loss.
"""

import json
import sys
import time

import torch

import lacuna
import lacuna.torch as lt
from support import ROWS


def poisson(n):
    """The five-point matrix of an n x n grid: pattern and values."""
    i = torch.arange(n * n)
    right, down = i[i % n < n - 1], i[i < n * n - n]
    rows, cols = torch.cat([i, right, right + 1, down, down + n]), torch.cat([i, right + 1, right, down + n, down])
    return matrix(n * n, rows, cols, torch.where(rows == cols, 4.0, -1.0).double())


def matrix(n, rows, cols, a):
    p = lacuna.Pattern.from_coo(rows.numpy(), cols.numpy(), (n, n))
    return p, lt.remap(p.entries, a)


def indefinite(n):
    """Neither symmetric nor definite, and no diagonal dominates."""
    torch.manual_seed(5)
    i = torch.arange(n)
    rows, cols = i.repeat(5), torch.cat([i, (i + 1) % n, (i + 7) % n, (i + 31) % n, (i + 101) % n])
    return matrix(n, rows, cols, torch.randn(rows.numel(), dtype=torch.float64))


class Rows:
    """Rows on their way to build/bench.jsonl, and whether all pass."""

    def __init__(self):
        self.all_pass = True

    def row(self, name, passed, n, ours_s):
        self.all_pass = self.all_pass and passed
        row = {"bench": "cuda_solve", "row": name, "pass": passed, "n": n, "dtype": "f64", "device": "cuda",
               "ours_s": ours_s}  # fmt: skip
        with open(ROWS, "a") as file:
            file.write(json.dumps(row) + "\n")


def timed(f):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    result = f()
    torch.cuda.synchronize()
    return result, time.perf_counter() - begin


def gradient_error(solver, a, b):
    """The gradient of |x|^2 in a direction of values and right-hand side, and a central difference of it."""
    torch.manual_seed(3)
    da, db = torch.randn_like(a) * a, torch.randn_like(b)
    loss = lambda a, b: lt.solve(solver, a, b).square().sum()  # noqa: E731
    la, lb = a.clone().requires_grad_(), b.clone().requires_grad_()
    ga, gb = torch.autograd.grad(loss(la, lb), (la, lb))
    slope = ((ga * da).sum() + (gb * db).sum()).item()
    h = 1e-6
    difference = (loss(a + h * da, b + h * db) - loss(a - h * da, b - h * db)).item() / (2 * h)
    return abs(slope - difference) / max(abs(slope), abs(difference))


def jacobi(bench):
    p, a = poisson(1000)
    solver = lacuna.Solver(p, "cg", preconditioner="jacobi", rtol=1e-8)
    a, b = a.cuda().requires_grad_(), torch.randn(p.shape[0], 1, dtype=torch.float64, device="cuda").requires_grad_()
    before = lacuna.memory_stats("cuda")["values_to_host_bytes"]
    x, forward = timed(lambda: lt.solve(solver, a, b))
    (ga, gb), backward = timed(lambda: torch.autograd.grad(x.square().sum(), (a, b), create_graph=True))
    _, double = timed(lambda: torch.autograd.grad((ga * ga).sum() + (gb * gb).sum(), (a, b)))
    moved = lacuna.memory_stats("cuda")["values_to_host_bytes"] - before
    setups = solver.report["setups"]
    print(f"cg+jacobi 1M: forward {forward:.3f} s, backward {backward:.3f} s, double backward {double:.3f} s; "
          f"set-ups {setups}, values to the host {moved} bytes")
    bench.row("cg+jacobi-1M", passed=setups == 1 and moved == 0, n=p.shape[0], ours_s=forward + backward + double)


def automatic(bench, name, p, a, bound):
    solver = lacuna.Solver(p)
    a, b = a.cuda(), torch.randn(p.shape[0], 1, dtype=torch.float64, device="cuda")
    x, seconds = timed(lambda: lt.solve(solver, a, b))
    residual = ((lt.spmm(p, a, x) - b).norm() / b.norm()).item()
    error = gradient_error(solver, a, b)
    print(f"auto {name}: {seconds:.3f} s, residual {residual:.1e}, gradient to {error:.1e}")
    bench.row(f"auto-{name}", passed=residual <= 1e-9 and error <= bound, n=p.shape[0], ours_s=seconds)


def main():
    if not torch.cuda.is_available():
        sys.exit("skip: no CUDA device")
    bench = Rows()
    jacobi(bench)
    automatic(bench, "poisson-10K", *poisson(100), 1e-5)
    automatic(bench, "poisson-1M", *poisson(1000), 1e-3)
    automatic(bench, "indefinite-5K", *indefinite(5000), 1e-4)
    print("every bar holds" if bench.all_pass else "a bar is missed")
    sys.exit(not bench.all_pass)


if __name__ == "__main__":
    main()
