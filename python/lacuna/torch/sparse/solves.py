# SPDX-License-Identifier: Apache-2.0
"""Linear systems, least squares, determinants, inverses: the solvers and factors of a sparse tensor's pattern."""

import torch

from ..._options import ITERATES
from ...errors import ArgumentError, ShapeError
from ...pattern import solver_of as kept_solver
from ...solver import Solver
from .. import det, inverse_diagonal, inverse_on, logdet, logdet_estimate, lstsq, slogdet, solve, trisolve
from .factors import Factorization
from .iterated import SolveInfo, iterate
from .sides import columns, without_columns


def solver_of(pattern, options):
    """The solver of a pattern with options, as Pattern.solver. Without options it is the pattern, whose own is
    meant."""
    given = {name: value for name, value in options.items() if value is not None}
    if not given or given == {"method": "auto"}:
        return pattern
    return kept_solver(pattern, {name: _on_host(value) for name, value in given.items()})


def _on_host(value):
    if isinstance(value, Factorization):
        return value.factor
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value


class Solves:
    """What needs a factor of the matrix or iterates with it."""

    def solver(self, **options):
        """The lacuna.Solver of the pattern with these options, which are those of lacuna.Solver; analysed once."""
        found = solver_of(_square("solver", self._matrix_pattern()), options)
        return found if isinstance(found, Solver) else found.solver()

    def solve(self, b, method="auto", preconditioner=None, x0=None, rtol=None, atol=None, max_iterations=None, op="N",
              return_info=False, **options):  # fmt: skip
        """x with op(A) x = b: b and x are a vector for each matrix, [*batch, n], or columns, [*batch, n, k].

        Differentiable in values and b, to every order, and factored once for all of it. method, preconditioner and
        further options are those of lacuna.Solver; the analysis is kept with the structure. x0 is where an iteration
        starts, and has no derivative. return_info: (x, SolveInfo), whose `adjoint` is filled by backward; not to
        converge is then no error but said there. op is "N", "T" or "H".

        >>> A = lacuna.torch.SparseTensor.tridiagonal(3).requires_grad_()
        >>> b = torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64)
        >>> x, info = A.solve(b, method="cg", rtol=1e-12, return_info=True)
        >>> x.detach().round(decimals=6), info.converged
        (tensor([1., 1., 1.], dtype=torch.float64), True)
        >>> A.solve(b).sum().backward()
        >>> A.grad.shape
        torch.Size([3, 3])
        """
        if x0 is not None and method not in ITERATES:
            raise ArgumentError(f"solve: x0 is where an iteration starts, and {method!r} has none; leave it out")
        pattern, slots = self._matrix()
        b, is_vector = columns("solve", "b", b, self.batch_shape, _square("solve", pattern).shape[0])
        named = {"method": method, "preconditioner": preconditioner, "rtol": rtol, "atol": atol}
        by = solver_of(pattern, {**named, "max_iterations": max_iterations, **options})
        if x0 is None and not return_info:
            return without_columns(solve(by, slots, b, op), is_vector)
        x0 = None if x0 is None else columns("solve", "x0", x0, self.batch_shape, b.shape[-2])[0].detach()
        info = SolveInfo() if return_info else None
        x = without_columns(iterate(by, slots, b, x0, info, op), is_vector)
        return (x, info) if return_info else x

    def solve_batch(self, values, b, **options):
        """x of many matrices with these entries: values [*batch, entries] and b [*batch, n] or [*batch, n, k]. One
        analysis serves all; options are those of solve."""
        return self.with_values(values).solve(b, **options)

    def factor(self, method="direct", **options):
        """A Factorization by a direct method of lacuna.Solver, by default the one that fits the values."""
        pattern = _square("factor", self._matrix_pattern())
        return Factorization(self, solver_of(pattern, {"method": method, **options}))

    def lu(self, **options):
        """A Factorization by pivoting LU, whose solve is differentiable in b and in these values.

        >>> factor = lacuna.torch.SparseTensor.diag(torch.tensor([2.0, 4.0])).lu()
        >>> factor.solve(torch.tensor([2.0, 2.0]))
        tensor([1.0000, 0.5000])
        """
        return self.factor("lu", **options)

    def cholesky(self, **options):
        """A Factorization by Cholesky; a matrix that is not Hermitian positive definite is an error."""
        return self.factor("cholesky", **options)

    def triangular_solve(self, b, upper=False, unitriangular=False, op="N"):
        """x with op(T) x = b, T the lower or upper triangle of A; unitriangular: its diagonal is ones, and is not
        read.

        >>> A = lacuna.torch.SparseTensor.from_dense(torch.tensor([[2.0, 0.0], [1.0, 4.0]]))
        >>> A.triangular_solve(torch.tensor([2.0, 5.0]), upper=False)
        tensor([1., 1.])
        """
        pattern, slots = self._single()
        b, is_vector = columns("triangular_solve", "b", b, self.batch_shape, pattern.shape[0])
        x = trisolve(pattern, slots, b, "upper" if upper else "lower", "unit" if unitriangular else "stored", op)
        return without_columns(x, is_vector)

    def lstsq(self, b, damp=None, method=None, residual=False):
        """x that minimises |A x - b|^2 + |damp x|^2, the shortest where there are many. method: None, a direct one;
        "lsmr" or "lsqr". residual: (x, b - A x).

        >>> A = lacuna.torch.SparseTensor.from_dense(torch.tensor([[1.0], [1.0]]))
        >>> A.lstsq(torch.tensor([1.0, 3.0]))
        tensor([2.])
        """
        pattern, slots = self._single()
        b, is_vector = columns("lstsq", "b", b, self.batch_shape, pattern.shape[0])
        made = lstsq(pattern, slots, b, damp, method, residual)
        if residual:
            return tuple([without_columns(part, is_vector) for part in made])
        return without_columns(made, is_vector)

    def _determined(self, who, function, options):
        pattern, slots = self._single()
        return function(solver_of(_square(who, pattern), options), slots)

    def det(self, **options):
        """det A of each matrix; 0 and infinity come where the number is beyond the dtype, which slogdet avoids.

        >>> A = lacuna.torch.SparseTensor.tridiagonal(3)
        >>> A.det().round(decimals=6)
        tensor(4., dtype=torch.float64)
        """
        return self._determined("det", det, options)

    def logdet(self, **options):
        """log|det A| of each matrix; of complex ones log|det A| + i arg(det A).

        >>> lacuna.torch.SparseTensor.tridiagonal(3).logdet()
        tensor(1.3863, dtype=torch.float64)
        """
        return self._determined("logdet", logdet, options)

    def slogdet(self, **options):
        """(sign, log|det A|) of each matrix.

        >>> lacuna.torch.SparseTensor.tridiagonal(3).slogdet()
        (tensor(1., dtype=torch.float64), tensor(1.3863, dtype=torch.float64))
        """
        return self._determined("slogdet", slogdet, options)

    def logdet_estimate(self, probes=20, steps=0, seed=0):
        """(estimate, standard error) of log det of a Hermitian positive definite A, by Lanczos quadrature."""
        pattern, slots = self._single()
        return logdet_estimate(_square("logdet_estimate", pattern), slots, probes, steps, seed)

    def inverse_diagonal(self, **options):
        """The diagonal of the inverse, without the inverse.

        >>> lacuna.torch.SparseTensor.tridiagonal(3).inverse_diagonal()
        tensor([0.7500, 1.0000, 0.7500], dtype=torch.float64)
        """
        return self._determined("inverse_diagonal", inverse_diagonal, options)

    def inverse_on(self, target=None, **options):
        """The inverse where `target`, a SparseTensor (default: A itself), has entries, as a SparseTensor."""
        wanted = (self if target is None else target)._single()[0]
        made = self._determined("inverse_on", lambda by, slots: inverse_on(by, slots, wanted), options)
        return self._by_slots(wanted, made)


def _square(who, pattern):
    """The pattern, if the matrix is square."""
    rows, cols = pattern.shape
    if rows != cols:
        raise ShapeError(f"{who}: the matrix is {rows} x {cols}; it must be square, and lstsq takes any")
    return pattern
