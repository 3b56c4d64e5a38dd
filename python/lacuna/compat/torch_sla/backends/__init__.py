# SPDX-License-Identifier: Apache-2.0
"""torch_sla.backends: the peer's backends as words. All of them are served by Lacuna's own solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from lacuna import show_backends  # noqa: F401

from ..._words import word

if TYPE_CHECKING:
    from collections.abc import Callable

BackendType = MethodType = str
BACKEND_METHODS = {
    "scipy": ["lu", "umfpack", "cg", "bicgstab", "gmres", "lgmres", "minres", "qmr"],
    "pytorch": ["cg", "bicgstab", "gmres", "minres", "lsqr", "lsmr"],
    "cudss": ["lu", "cholesky", "ldlt"],
    "pyamg": ["amg", "ruge_stuben", "smoothed_aggregation", "sa"],
    "amgx": ["amg", "cg", "pcg", "bicgstab", "pbicgstab", "gmres", "fgmres"],
    "strumpack": ["lu"],
}
DEFAULT_METHODS = {
    "scipy": "lu", "pytorch": "cg", "cudss": "cholesky", "pyamg": "ruge_stuben", "amgx": "pbicgstab", "strumpack": "lu",
}  # fmt: skip
_ON_CUDA = ("cudss", "amgx")


def _is_here(name):
    return name in BACKEND_METHODS and (name not in _ON_CUDA or torch.cuda.is_available())


def get_available_backends() -> list[str]:
    """The words that can be used here: all, but for those of CUDA where there is no device."""
    return [name for name in BACKEND_METHODS if _is_here(name)]


def get_backend_methods(backend: str) -> list[str]:
    """The methods that a backend has."""
    return list(word("get_backend_methods: backend", backend, BACKEND_METHODS))


def get_default_method(backend: str) -> str:
    """The method that a backend stands for."""
    return word("get_default_method: backend", backend, DEFAULT_METHODS)


def select_backend(
    device: torch.device | str, n: int | None = None, dtype: torch.dtype | None = None, prefer_direct: bool = True,
) -> str:  # fmt: skip
    """The backend that fits a device, in the peer's words."""
    if not prefer_direct:
        return "pytorch"
    return "cudss" if torch.device(device).type == "cuda" else "scipy"


def select_method(backend: str, is_symmetric: bool = False, is_spd: bool = False, prefer_direct: bool = True) -> str:
    """The method that fits what is known of a matrix, among those of a backend."""
    methods = get_backend_methods(backend)
    direct = ["cholesky"] * is_spd + ["ldlt"] * is_symmetric + ["lu"]
    iterative = ["cg"] * is_spd + ["minres"] * is_symmetric + ["bicgstab", "amg"]
    wanted = direct + iterative if prefer_direct else iterative + direct
    return next(method for method in wanted if method in methods)


def _available(name: str) -> Callable[[], bool]:
    def is_available() -> bool:
        return _is_here(name)

    is_available.__name__, is_available.__doc__ = f"is_{name}_available", f"Whether the word {name!r} is served here."
    return is_available


is_scipy_available, is_pytorch_available, is_cudss_available = map(_available, ("scipy", "pytorch", "cudss"))
is_pyamg_available, is_amgx_available, is_strumpack_available = map(_available, ("pyamg", "amgx", "strumpack"))
is_torch_spsolve_available = _available("torch_spsolve")
