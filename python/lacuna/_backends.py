# SPDX-License-Identifier: Apache-2.0
"""What computes here, what is missing, and what brings it: devices, the BLAS, engines, orderings, packages."""

from collections import namedtuple

from . import _library
from ._core import context, lib, text
from .errors import LacunaError

Backend = namedtuple("Backend", "kind name is_here about")
Backend.__doc__ = "One line of show_backends: `about` is what it is where it is here, else what brings it."

_ENGINES = ("cholmod", "umfpack", "klu", "mumps", "cudss")
_PACKAGES = {
    "torch": "lacuna.torch", "scipy": "lacuna.from_scipy and Pattern.to_scipy", "tqdm": "the bars of progress=True",
}  # fmt: skip


def _way_out(error):
    """The last clause of a sentence of C, which says what to do."""
    return str(error).rpartition("; ")[2]


def _found(kind, name, find, about):
    """The backend that `find` finds, or raises an error for."""
    try:
        find()
    except LacunaError as error:
        return Backend(kind, name, False, _way_out(error))
    return Backend(kind, name, True, about)


def _threads():
    return f"{lib.lac_context_threads(context().c)} threads, {_library.path}"


def _cuda():
    try:
        context("cuda")
    except LacunaError as error:
        if "cuda" not in text(lib.lac_backends()).split():  # its plug-in is missing
            return Backend("device", "cuda", False, _way_out(error))
        return Backend("device", "cuda", False, f"an NVIDIA GPU with its driver ({str(error).rpartition(': ')[2]})")
    return Backend("device", "cuda", True, "device 0")


def _blas():
    name = text(lib.lac_blas_name())
    if not name or name.startswith("none: "):
        way_out = "pip install scipy-openblas32, or name a BLAS in LACUNA_BLAS"
        return Backend("blas", "BLAS", False, name.partition(": ")[2] or way_out)
    return Backend("blas", name, True, "dense products inside factors")


def _engine(name):
    ctx = context()
    found = _found("engine", name, lambda: ctx.check(lib.lac_engine_find(ctx.c, name.encode())), f'method="{name}"')
    version = text(lib.lac_engine_version(name.encode()))
    return found._replace(about=f"{found.about} on CUDA, version {version}") if version else found


def _metis():
    ctx = context()
    return _found(
        "ordering", "metis", lambda: ctx.check(lib.lac_ordering_find(ctx.c, lib.LAC_ORDER_METIS)), 'ordering="metis"'
    )


def _package(name):
    from importlib import metadata  # takes long to import

    try:
        return Backend("package", name, True, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Backend("package", name, False, f"pip install {name}, for {_PACKAGES[name]}")


def backends():
    """All backends that there can be, here or not, as [(kind, name, is_here, about)].

    Plug-ins are loaded for it, and a CUDA device is opened.
    """
    devices = [Backend("device", "cpu", True, _threads()), _cuda()]
    return [*devices, _blas(), *map(_engine, _ENGINES), _metis(), *map(_package, _PACKAGES)]


def show_backends():
    """Print what computes here, what is missing, and what brings it."""
    found = backends()
    width = max(len(backend.name) for backend in found)
    print(f"lacuna {text(lib.lac_version())}")
    for kind, name, is_here, about in found:
        print(f"  {kind:<8}  {name:<{width}}  {'here   ' if is_here else 'missing'}  {about}")
