# SPDX-License-Identifier: Apache-2.0
"""Peers that are programs: compiled when a benchmark asks for them, into build/peers, and run on systems in files. KLU,
whose solves take less than a program's start, is a library that is loaded.

Nothing of them is part of Lacuna. PETSc (with hypre) comes from the system's packages; AMGCL's headers lie in the
source package of pyamgcl. A peer that cannot be had is said and left out.
"""

import ctypes
import glob
import importlib.util
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, "..", "..", "build", "peers")
AMGCL = "pyamgcl==1.0.0.post4"


@dataclass
class Ran:
    """The best repetition of a peer."""

    setup: float
    solve: float
    iterations: int
    residual: float

    @property
    def seconds(self):
        return self.setup + self.solve


@dataclass
class Peer:
    """A program with its settings."""

    name: str
    command: list
    threads: int  # or ranks
    options: list

    def run(self, system, rtol, seconds, limit=600):
        """The best repetition; a subprocess.TimeoutExpired where none ended within the limit."""
        env = dict(os.environ, OMP_NUM_THREADS=str(1 if "mpirun" in self.command else self.threads),
                   OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")  # fmt: skip
        command = ["timeout", str(limit), *self.command, system, str(rtol), str(seconds), *self.options]
        try:
            out = _run(command, env=env)
        except subprocess.CalledProcessError as error:
            out = error.stdout
            if error.returncode != 124:
                raise
        rows = [line.split() for line in out.splitlines()]
        rows = [row for row in rows if len(row) == 4 and row[2].isdigit()]  # mpirun says more when it is ended
        if not rows:  # the command timeout ends mpirun with all its ranks, which a kill would not
            raise subprocess.TimeoutExpired(command, limit)
        return min((Ran(float(a), float(b), int(c), float(d)) for a, b, c, d in rows), key=lambda ran: ran.seconds)


def write_system(path, a, b, near_null=None, block=1):
    """{n, nnz: int64; offsets, columns: int32; values, b: double}, as the programs read it; and where near-null vectors
    are known {m, block: int64; vectors: double, (n, m) by rows}, block being the unknowns of a node."""
    parts = [np.array([a.shape[0], a.nnz], np.int64), a.indptr, a.indices, a.data, b]
    if near_null is not None:
        parts += [np.array([near_null.shape[1], block], np.int64), np.ascontiguousarray(near_null, float)]
    with open(path, "wb") as file:
        for part in parts:
            part.tofile(file)


def _run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout


def _build(name, source, command):
    """The program `name`, compiled where it is missing or older than its source."""
    program, source = os.path.join(BUILD, name), os.path.join(HERE, source)
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
        os.makedirs(BUILD, exist_ok=True)
        _run([*command, "-o", program])
    return program


def _amgcl_headers():
    """The folder of AMGCL's headers, fetched when it is not there."""
    pattern = os.path.join(BUILD, "pyamgcl-*", "")
    if not glob.glob(pattern):
        os.makedirs(BUILD, exist_ok=True)
        _run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", AMGCL, "-d", BUILD])
        with tarfile.open(glob.glob(os.path.join(BUILD, "pyamgcl-*.tar.gz"))[0]) as archive:
            archive.extractall(BUILD)
    return glob.glob(pattern)[0]


def _amgcl(*flags):
    source = os.path.join(HERE, "amgcl.cpp")
    compiler = ["g++", "-O3", "-march=native", "-fopenmp", *flags, "-I", _amgcl_headers(), source]
    return _build("amgcl" + "".join(flags), "amgcl.cpp", compiler)


def _petsc():
    flags = [_run(["pkg-config", what, "petsc"]).split() for what in ("--cflags", "--libs")]
    return _build("petsc", "petsc.c", ["mpicc", "-O2", *flags[0], os.path.join(HERE, "petsc.c"), *flags[1]])


def _pyamg():
    __import__("pyamg")
    return [sys.executable, os.path.join(HERE, "pyamg_solve.py")]


def find(dimensions=2, krylov="cg", with_pyamg=False):
    """The peers that can be had here, with the settings that were best of those tried; krylov: "cg" or "gmres"."""
    strong = "0.5" if dimensions == 3 else "0.25"
    outer = [] if krylov == "cg" else "-ksp_type gmres -ksp_pc_side right -ksp_gmres_restart 60".split()
    hypre = f"-pc_type hypre -pc_hypre_type boomeramg -pc_hypre_boomeramg_strong_threshold {strong}".split()
    gamg = "-pc_type gamg -pc_gamg_threshold 0.02".split()
    peers = []

    def add(what, make):
        try:
            peers.extend(make())
        except (OSError, subprocess.SubprocessError, IndexError, ImportError) as error:
            print(f"{what} cannot be had here and is left out: {getattr(error, 'stderr', None) or error}".strip())

    def ranked(name, options):
        return [Peer(f"{name}, {n} rank{'s' * (n > 1)}", ["mpirun", "-n", str(n), _petsc()], n, options + outer)
                for n in (2, 1)]  # fmt: skip

    def amgcl(name, *flags):
        return Peer(name, [_amgcl(*flags)], 2, ["0.08", krylov])

    add("PETSc with hypre", lambda: ranked("hypre BoomerAMG", hypre))
    add("PETSc", lambda: ranked("PETSc GAMG", gamg))
    add("AMGCL", lambda: [amgcl("AMGCL f64"), amgcl("AMGCL f32", "-DSINGLE")])
    if with_pyamg:
        kinds = {"smoothed": "pyamg, smoothed aggregation", "classical": "pyamg, Ruge-Stueben"}
        add("pyamg", lambda: [Peer(name, _pyamg(), 2, [kind, krylov]) for kind, name in kinds.items()])
    return peers


def torch_sla():
    """torch-sla's ways to solve a symmetric system on the CPU, by its own names: backend, method, preconditioner. What
    Ran calls setup and solve are a forward and a backward. Ways that it has not here end with no line and an error."""
    ways = ["scipy lu none", "scipy cg none", "scipy minres none", "pytorch cg jacobi", "pytorch cg amg",
            "pyamg smoothed_aggregation none", "pyamg ruge_stuben none"]  # fmt: skip
    if importlib.util.find_spec("torch_sla") is None:
        print("torch-sla cannot be had here and is left out: pip install torch-sla")
        return []
    program = [sys.executable, os.path.join(HERE, "torch_sla_solve.py")]
    return [Peer(f"torch-sla, {way.removesuffix(' none')}", program, 2, way.split()) for way in ways]


class Klu:
    """One matrix and its right-hand side; the last solution is in x."""

    def __init__(self, library, A, b):
        columns = A.tocsc()
        self.library, self.b, self.x = library, b, np.empty_like(b)
        self.parts = columns.indptr, columns.indices, columns.data  # held
        self.given = [ctypes.c_int(A.shape[0]), *(ctypes.c_void_p(part.ctypes.data) for part in self.parts)]
        self.at_x = ctypes.c_void_p(self.x.ctypes.data)
        self.kept = ctypes.c_void_p(library.klu_peer_create(*self.given))
        self.first()

    def first(self):
        self.x[:] = self.b
        self.fill = self.library.klu_peer_all(*self.given, self.at_x)

    def again(self):
        self.x[:] = self.b
        self.library.klu_peer_again(self.kept, *self.given[1:], self.at_x)

    def other(self):
        self.x[:] = self.b
        self.library.klu_peer_other(self.kept, *self.given[1:], self.at_x)

    def __del__(self):
        self.library.klu_peer_destroy(self.kept)


def klu(A, b):
    """KLU for a system; None where it cannot be had, or cannot solve it."""
    try:
        source = os.path.join(HERE, "klu.c")
        flags = ["-O2", "-shared", "-fPIC", "-I/usr/include/suitesparse", source, "-lklu"]
        library = ctypes.CDLL(_build("klu.so", "klu.c", ["cc", *flags]))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"KLU cannot be had here and is left out: {getattr(error, 'stderr', None) or error}".strip())
        return None
    library.klu_peer_create.restype = ctypes.c_void_p
    peer = Klu(library, A, b)
    return peer if peer.fill > 0 and np.isfinite(peer.x).all() else None
