# SPDX-License-Identifier: Apache-2.0
"""Words of other packages in Lacuna's words: tables, and how they are read."""

from ..errors import ArgumentError

# method of torch-sla, SciPy, AmgX or PyAMG -> options of Lacuna's solver
METHODS = {
    "auto": {}, "direct": {"method": "direct"}, "lu": {"method": "lu"}, "superlu": {"method": "lu"},
    "umfpack": {"method": "lu"}, "qr": {"method": "lu"}, "strumpack": {"method": "lu"}, "cudss": {"method": "direct"},
    "cudss_lu": {"method": "lu"}, "cholesky": {"method": "cholesky"}, "cudss_cholesky": {"method": "cholesky"},
    "ldlt": {"method": "ldlt"}, "cudss_ldlt": {"method": "ldlt"}, "cg": {"method": "cg"}, "pcg": {"method": "cg"},
    "minres": {"method": "minres"}, "bicgstab": {"method": "bicgstab"}, "pbicgstab": {"method": "bicgstab"},
    "cgs": {"method": "bicgstab"}, "qmr": {"method": "gmres"}, "gmres": {"method": "gmres"},
    "lgmres": {"method": "gmres"}, "fgmres": {"method": "flexible_gmres"}, "lsqr": {"method": "lsqr"},
    "lsmr": {"method": "lsmr"}, "amg": {"method": "gmres", "preconditioner": "multigrid"},
    "ruge_stuben": {"method": "gmres", "preconditioner": "multigrid"},
    "smoothed_aggregation": {"method": "gmres", "preconditioner": "multigrid", "multigrid": "smoothed"},
    "sa": {"method": "gmres", "preconditioner": "multigrid", "multigrid": "smoothed"},
}  # fmt: skip
# backend -> the method that it stands for where none is named; where tensors lie is theirs to say
BACKENDS = {
    "auto": "auto", "scipy": "direct", "umfpack": "direct", "eigen": "iterative", "cupy": "direct",
    "cusolver": "direct", "cudss": "direct", "strumpack": "lu", "pytorch": "iterative", "pyamg": "amg", "amgx": "amg",
}  # fmt: skip
PRECONDITIONERS = {
    "auto": "auto", "none": "identity", "identity": "identity", "jacobi": "jacobi", "jacobi_l1": "jacobi",
    "block_jacobi": "block_jacobi", "asm": "block_jacobi", "ssor": "ssor", "polynomial": "chebyshev",
    "chebyshev": "chebyshev", "ic0": "ic0", "ilu": "ilu0", "ilu0": "ilu0", "amg": "multigrid", "pyamg": "multigrid",
    "amgx": "multigrid", "multigrid": "multigrid",
}  # fmt: skip
DIRECT = ("direct", "lu", "cholesky", "ldlt")
ITERATIVE = ("cg", "minres", "bicgstab", "gmres", "flexible_gmres")
# what a preconditioner is where the method needs a Hermitian one: the same factors, of one triangle
HERMITIAN = {"ilu0": "ic0"}
LEAST_SQUARES = ("lsqr", "lsmr")
# option -> option of an iteration
NAMES = {"maxiter": "max_iterations", "tol": "rtol", "rtol": "rtol", "atol": "atol", "restart": "restart"}
_BOUNDS = ("max_iterations", "rtol", "atol")


def word(what, given, table):
    """What a table has for a word; one that it does not have is an error with all that it has."""
    if not isinstance(given, str) or given not in table:
        raise ArgumentError(f"{what} is {given!r}; it must be one of {', '.join(map(repr, table))}")
    return table[given]


def iteration(who, method=None, **given):
    """Options of an iteration in Lacuna's words, without those that are None. A direct method keeps every bound on
    residuals and iterations without being told."""
    words = {word(f"{who}: an option", name, NAMES): value for name, value in given.items() if value is not None}
    return {name: value for name, value in words.items() if method not in DIRECT or name not in _BOUNDS}
