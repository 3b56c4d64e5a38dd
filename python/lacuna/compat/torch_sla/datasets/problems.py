# SPDX-License-Identifier: Apache-2.0
"""torch_sla.datasets.problems: model problems on grids of the unit interval, square and cube, with zero boundaries.

laplacian   K = tridiag(-1, 2, -1), and its Kronecker sums
poisson     K / h^2 with h = 1 / (m + 1), and u = prod sin(pi x) with its right-hand side
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import torch

from lacuna.errors import ArgumentError

from ..._words import word
from ..sparse_tensor import SparseTensor
from ._grids import kronecker_sum, shifted, stiffness, upwind

if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor

_SPD = {"spd": True, "symmetric": True, "complex": False}


@dataclasses.dataclass
class SparseProblem:
    """A matrix by its entries, with a right-hand side and its exact solution where they are known."""

    name: str
    val: torch.Tensor
    row: torch.Tensor
    col: torch.Tensor
    shape: tuple
    rhs: torch.Tensor | None = None
    exact: torch.Tensor | None = None
    properties: dict = dataclasses.field(default_factory=dict)
    meta: dict = dataclasses.field(default_factory=dict)

    def tensor(self) -> SparseTensor:
        """The matrix as a SparseTensor."""
        return SparseTensor(self.val, self.row, self.col, self.shape)

    def coo(self) -> tuple[Tensor, Tensor, Tensor, tuple]:
        """(val, row, col, shape)."""
        return self.val, self.row, self.col, self.shape

    def nnz(self) -> int:
        return self.val.numel()

    def matvec(self, x: Tensor) -> Tensor:
        return self.tensor() @ x

    def to_dense(self) -> Tensor:
        return self.tensor().to_dense()


def _problem(name, A, properties, rhs=None, exact=None, **meta):
    A = A.coalesce()
    given = A.values, A.row_indices, A.col_indices, tuple(A.shape)
    return SparseProblem(name, *given, rhs, exact, dict(properties), {"dof": A.shape[0], "source": "pde", **meta})


def _sines(m, dims):
    """prod sin(pi x) at the points of a grid."""
    line = torch.sin(math.pi * torch.arange(1, m + 1, dtype=torch.float64) / (m + 1))
    total = line
    for _ in range(dims - 1):
        total = torch.outer(total, line).flatten()
    return total


def laplacian_1d(n: int = 200) -> SparseProblem:
    """tridiag(-1, 2, -1)."""
    return _problem("laplacian_1d", stiffness(n), _SPD, pde="laplacian1d", n=n)


def laplacian_2d(m: int = 30) -> SparseProblem:
    """Five points, 4 and -1, on m x m."""
    return _problem("laplacian_2d", kronecker_sum([stiffness(m)] * 2), _SPD, pde="laplacian2d", m=m)


def laplacian_3d(m: int = 10) -> SparseProblem:
    """Seven points, 6 and -1, on m x m x m."""
    return _problem("laplacian_3d", kronecker_sum([stiffness(m)] * 3), _SPD, pde="laplacian3d", m=m)


def _poisson(name, m, dims):
    h, exact = 1 / (m + 1), _sines(m, dims)
    A = kronecker_sum([stiffness(m, 1 / h**2)] * dims)
    about = f"sin(pi x) over {dims} coordinates, multiplied"
    return _problem(name, A, _SPD, dims * math.pi**2 * exact, exact, pde=name, m=m, h=h, manufactured=about)


def poisson_2d(m: int = 31) -> SparseProblem:
    """-u_xx - u_yy = f, u = sin(pi x) sin(pi y)."""
    return _poisson("poisson_2d", m, 2)


def poisson_3d(m: int = 10) -> SparseProblem:
    """-u_xx - u_yy - u_zz = f, u = sin(pi x) sin(pi y) sin(pi z)."""
    return _poisson("poisson_3d", m, 3)


def helmholtz_1d(n: int = 300, k: float = 8.0, alpha: float = 2.0) -> SparseProblem:
    """-u'' - k^2 u - i alpha u: complex symmetric, indefinite."""
    h, shift = 1 / (n + 1), complex(-(k**2), -alpha)
    A = shifted(stiffness(n, 1 / h**2), shift)
    kind = {"complex": True, "symmetric": True, "spd": False}
    return _problem("helmholtz_1d", A, kind, pde="helmholtz1d", n=n, h=h, k=k, alpha=alpha)


def anisotropic_diffusion_2d(m: int = 30, eps: float = 0.01) -> SparseProblem:
    """-u_xx - eps u_yy."""
    h = 1 / (m + 1)
    A = kronecker_sum([stiffness(m, eps / h**2), stiffness(m, 1 / h**2)])
    return _problem("anisotropic_diffusion_2d", A, _SPD, pde="anisotropic2d", m=m, h=h, eps=eps)


def advection_diffusion_2d(m: int = 30, peclet: float = 20.0) -> SparseProblem:
    """-u_xx - u_yy + peclet (u_x + u_y), upwind: not symmetric."""
    h = 1 / (m + 1)
    line = stiffness(m, 1 / h**2) + upwind(m, peclet / h)
    kind = {"spd": False, "symmetric": False, "complex": False}
    return _problem(
        "advection_diffusion_2d", kronecker_sum([line] * 2), kind, pde="advdiff2d", m=m, h=h, peclet=peclet
    )


def bratu_1d(n: int = 100, lam: float = 1.0) -> SparseProblem:
    """-u'' = lam exp(u): the matrix of -u'', and the lower of its solutions, for lam below 3.51.

    u = -2 log(cosh((x - 1/2) theta / 2) / cosh(theta / 4)), theta = sqrt(2 lam) cosh(theta / 4)
    """
    h, theta = 1 / (n + 1), 0.0
    x = torch.arange(1, n + 1, dtype=torch.float64) * h
    for _ in range(1000):  # the map contracts up to the lower solution
        theta = math.sqrt(2 * lam) * math.cosh(min(theta, 40.0) / 4)
    if theta >= 40:
        raise ArgumentError(f"bratu_1d: lam is {lam}; there are solutions up to 3.5138")
    exact = -2 * torch.log(torch.cosh((x - 0.5) * theta / 2) / math.cosh(theta / 4))
    about = {"nonlinear": True, "residual": "A@u - lam*exp(u)", "x": x}
    return _problem("bratu_1d", stiffness(n, 1 / h**2), _SPD, None, exact, pde="bratu1d", n=n, h=h, lam=lam, **about)


def laplacian_1d_eigenvalues(n: int) -> Tensor:
    """2 - 2 cos(k pi / (n + 1)), k = 1..n, in ascending order."""
    return 2 - 2 * torch.cos(math.pi * torch.arange(1, n + 1, dtype=torch.float64) / (n + 1))


def laplacian_2d_eigenvalues(m: int) -> Tensor:
    """The sums of two of those of a line, in ascending order."""
    line = laplacian_1d_eigenvalues(m)
    return (line[:, None] + line).flatten().sort().values


PROBLEMS = {
    f.__name__: f
    for f in (bratu_1d, laplacian_1d, laplacian_2d, laplacian_3d, poisson_2d, poisson_3d, helmholtz_1d,
              anisotropic_diffusion_2d, advection_diffusion_2d)
}  # fmt: skip
_SIZES = {1: [{"n": n} for n in (100, 500, 2000)], 2: [{"m": m} for m in (16, 32, 64)], 3: [{"m": m} for m in (8, 16)]}


def list_problems() -> list[str]:
    """The names of all problems."""
    return list(PROBLEMS)


def get(name: str, **kwargs: Any) -> SparseProblem:
    """A problem by its name."""
    return word("datasets.get: name", name, PROBLEMS)(**kwargs)


def default_sizes(name: str) -> Any:
    """Sizes to try a problem with, as arguments."""
    word("default_sizes: name", name, PROBLEMS)
    return _SIZES[int(name[-2])]
