# SPDX-License-Identifier: Apache-2.0
"""What type checkers make of both front ends (scripts/check-stubs): each line that is ignored is a mistake, and an
ignored line without one is a mistake too."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import lacuna
import lacuna.compat
import lacuna.compat.numml.sparse as numml
import lacuna.compat.torch_sla as sla
import lacuna.compat.torch_sla.datasets.problems as problems
import lacuna.compat.torchsparsegradutils as tsgu
import lacuna.scipy as ls
import lacuna.torch as lt

pattern = lacuna.Pattern.from_coo([0, 1], [0, 1], (2, 2))
values, b = np.ones(2), np.ones(2)
product: NDArray[Any] = lacuna.spmm(pattern, values, b)
product = lacuna.spmm(pattern, values, b, op="H")
product = lacuna.solve(pattern, values, [1.0, 2.0])
sign, logarithm = lacuna.slogdet(pattern, values)
total: NDArray[Any] = lacuna.sum(b, axis=(0,))
lacuna.slice(b, 0, None, 1)
lacuna.show_backends()

lacuna.spmm(values, pattern, b)  # type: ignore[call-overload]
lacuna.spmm(pattern, values)  # type: ignore[call-overload]
lacuna.spmm(pattern, values, b, op="C")  # type: ignore[call-overload]
lacuna.solve(pattern, values, b, tolerance=1e-9)  # type: ignore[call-overload]
number: float = lacuna.spmm(pattern, values, b)  # type: ignore[assignment]

tensor = torch.ones(2)
lt.spmm(pattern, tensor, tensor, op="T")
lt.spmm(pattern, tensor, tensor, op="C")  # type: ignore[call-overload]
tensor = lt.sum(tensor, dim=0, keepdim=True)
tensor = lt.slice(lt.norm(tensor, dim=0, ord=1), dim=0, begin=1)
lt.sum(tensor, axis=0)  # type: ignore[call-arg]
lacuna.sum(b, dim=0)  # type: ignore[call-arg]
lt.no_such_function(tensor)  # type: ignore[attr-defined]

triple: tuple[lacuna.Pattern, lacuna.Map] = pattern.transpose()
shape: tuple[int, int] = pattern.shape
factor: lacuna.Factor = lacuna.Solver(pattern, method="lu", pivot_tolerance=0.1).factor(values)
solved: NDArray[Any] = factor.solve(b, op="H")
report: dict[str, Any] = factor.report
target: NDArray[np.int64] = lacuna.Map([0, -1], 1).followed_by(lacuna.Map([0], 1)).target
lacuna.Pattern.from_coo([0], [0], (1, 1), width="32")  # type: ignore[arg-type]
pattern.union(values)  # type: ignore[arg-type]
pattern.no_such_method()  # type: ignore[attr-defined]
factor.solve(b, op="C")  # type: ignore[arg-type]
read, numbers = lacuna.from_scipy(object())
column: lacuna.Map = read.col_map()
lacuna.save_safetensors(7, {"a": numbers})  # type: ignore[arg-type]
one: lacuna.Pattern = pattern.transpose()  # type: ignore[assignment]

A = lt.SparseTensor(tensor, [0, 1], np.array([1, 0]), (2, 2))
B: lt.SparseTensor = (A + A.T) * 2.0
x: torch.Tensor = A.solve(tensor, method="cg", rtol=1e-9)
y, info = A.solve(tensor, return_info=True)
converged: bool = info.converged
x = lt.solve(A, tensor, op="T")
x = lt.spgemm(A, pattern, tensor)
factors: lt.Factorization = A.lu()
factor = factors.factor
B.backward(A.with_values(tensor))
x = A.sum()
C: lt.SparseTensor = A.sum(dim=0)  # of a batch
x = A + torch.ones(2, 2)
C = 1j * A + A @ A
x, residual = A.lstsq(tensor, residual=True)
x = A.solve(tensor, return_info=converged)
x = A.max(dim=None if converged else 0)
sizes: list[bool] = lt.SparseTensorList([A]).equal([B])
dets: list[torch.Tensor] = lt.SparseTensorList([A, B]).det()
lt.nn.SparseLinear(A, bias=False)
A.backward("ones")  # type: ignore[arg-type]
A.no_such_method()  # type: ignore[attr-defined]
A.solve(tensor, rtol="small")  # type: ignore[call-overload]
A.sum(dim="rows")  # type: ignore[arg-type]
C = A.lu()  # type: ignore[assignment]

found, ended = ls.cg(object(), b, rtol=1e-9)
code: int = ended
lu: ls.LU = ls.splu(object())
solved = lu.solve(b, trans="T")
ls.cg(object(), b, tol=1e-9)  # type: ignore[call-arg]
ls.splu(object()).no_such_method()  # type: ignore[attr-defined]

z: torch.Tensor = sla.spsolve(tensor, tensor, tensor, (2, 2), tensor, atol=1e-9)
names: list[str] = sla.get_available_backends()
problem: problems.SparseProblem = problems.poisson_2d(m=7)
z = tsgu.sparse_generic_solve(tensor, tensor, solve=None)
low, high = tsgu.utils.random_sparse.make_spd_sparse(3, torch.sparse_coo, torch.float64, torch.int64, "cpu")
N: numml.SparseCSRTensor = numml.eye(3, k=1)
batch: torch.Tensor = sla.ParallelBatchSolver(tensor, tensor, (2, 2)).solve(tensor, tensor, maxiter=9)
config: sla.SolverConfig = sla.SolverConfig.spd().direct().replace(atol=1e-9)
z = N.row_sum() + problem.matvec(tensor)
config.high_accuracy(steps=9)  # type: ignore[call-arg]
sla.ParallelBatchSolver(tensor, tensor, 2)  # type: ignore[arg-type]
sla.spsolve(tensor, tensor, tensor, (2, 2), tensor, atol="small")  # type: ignore[arg-type]
problems.poisson_2d(size=7)  # type: ignore[call-arg]
tsgu.sparse_logsumexp(tensor, dim="rows")  # type: ignore[arg-type]
numml.eye("three")  # type: ignore[arg-type]
lacuna.compat.install(7)  # type: ignore[arg-type]
