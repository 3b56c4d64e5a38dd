# SPDX-License-Identifier: Apache-2.0
"""Where the C library, its headers, a BLAS and a cuDSS for it are, and the library opened: `ffi` and `lib`."""

import importlib.util
import os
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_TREE = _HERE.parent.parent
_BUILDS = [_TREE / "build" / preset / "lib" for preset in ("release", "dev")]
_LEVEL = "x86-64-v3"  # of the second library of a wheel
_FLAGS = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}  # what Linux says of such a CPU


def _folders(name):
    """The folders of this name in the package, of which an editable install has one in the tree and one beside it."""
    package = sys.modules[__package__]
    return [folder / name for folder in dict.fromkeys([_HERE, *map(Path, package.__path__)])]


def _named():
    """The library that LACUNA_LIBRARY names, if it does."""
    named = os.environ.get("LACUNA_LIBRARY")
    return Path(named) if named else None


def include():
    """Of the headers: in the package when installed, beside the library that LACUNA_LIBRARY names, else in the tree."""
    named = _named()
    places = [*_folders("include"), *([named.resolve().parent.parent / "include"] if named else []), _TREE / "include"]
    for place in places:
        if (place / "lacuna" / "lacuna.h").exists():
            return place
    raise ImportError(
        f"lacuna: the headers (lacuna/lacuna.h) are in none of {', '.join(map(str, places))}; install the package "
        "again (pip install --force-reinstall lacuna)"
    )


def _declared():
    """A cffi.FFI of the headers: as the wheel brings it, else read."""
    try:
        from ._declared import ffi
    except ImportError:
        from ._declarations import read

        return read(include())
    return ffi


def _is_modern():
    """Whether this CPU has what the second library of a wheel is compiled for."""
    try:
        with open("/proc/cpuinfo") as lines:
            flags = next((line for line in lines if line.startswith("flags")), "")
    except OSError:
        return False
    return _FLAGS <= set(flags.split())


def _places():
    """Where the library may be, the best first."""
    named = _named()
    if named:
        return [named]
    names = [f"liblacuna-{_LEVEL}.so"] * _is_modern() + ["liblacuna.so"]
    return [folder / name for folder in _folders("lib") for name in names] + [b / "liblacuna.so" for b in _BUILDS]


def _open(ffi):
    """(the library, its path)."""
    named, places = _named(), _places()
    for place in places:
        if named or place.exists():
            try:
                return ffi.dlopen(str(place)), place
            except OSError as error:
                whence = "LACUNA_LIBRARY names it; unset it to have the package's own" if named else "reinstall lacuna"
                raise ImportError(f"lacuna: cannot load {place}: {error} ({whence})") from None
    raise ImportError(
        f"lacuna: liblacuna.so is in none of {', '.join(str(place.parent) for place in places)}; install the package "
        "(pip install .), build the library (make), or set LACUNA_LIBRARY to its path"
    )


def packaged_blas():
    """The OpenBLAS of the package scipy-openblas32, if that is installed."""
    found = importlib.util.find_spec("scipy_openblas32")
    path = Path(found.origin).parent / "lib" / "libscipy_openblas.so" if found and found.origin else None
    return path if path and path.exists() else None


def _suggest_blas():
    """It is loaded when the first dense product wants one, and goes before those of the system."""
    path = packaged_blas()
    if path:
        lib.lac_blas_suggest(os.fsencode(path))


def packaged_cudss():
    """The cuDSS of a package nvidia-cudss-cu13 or -cu12, if one is installed."""
    found = importlib.util.find_spec("nvidia")
    bases = found.submodule_search_locations if found else None
    folders = [Path(base) / folder / "lib" for base in bases or () for folder in ("cu13", "cu12", "cudss")]
    places = (folder / name for folder in folders for name in ("libcudss.so.1", "libcudss.so.0"))
    return next((place for place in places if place.exists()), None)


def _suggest_cudss():
    """It is loaded when a solver on CUDA asks for it."""
    path = packaged_cudss()
    if path:
        lib.lac_engine_suggest(b"cudss", os.fsencode(path))


ffi = _declared()
lib, path = _open(ffi)
_suggest_blas()
_suggest_cudss()
