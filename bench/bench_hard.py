# SPDX-License-Identifier: Apache-2.0
"""Hard systems (problems.py), two threads, f64, random right-hand sides, to a true residual of 1e-8: the automatic
choice beside our own direct solver, hypre BoomerAMG and PETSc GAMG on two ranks, AMGCL on two threads and pyamg.

All in one run. Each begins with a pattern that nobody has seen; what counts is set-up and solve together. Where
near-null vectors are given they are given to all: rigid motions to GAMG, AMGCL and pyamg, to hypre the unknowns of a
node. What does not reach the tolerance, or not within LIMIT seconds, is printed as such. The bar stands in the last row
of a problem: the automatic choice within 1.3 times the best of all, 1.5 times where it began iterating and went over to
a direct factor.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # idle threads of one library must not sit on the cores of another

import signal
import subprocess
import tempfile
import time
import warnings

import numpy as np
import peers
import problems
from support import ONLY, PEERS, QUICK, Table, new_pattern, sized

import lacuna
from lacuna._core import context, lib
from lacuna.errors import AccuracyWarning, LacunaError

THREADS = 2
RTOL = 1e-8
REACHED = 1.1 * RTOL  # peers stop by a recurrence, which drifts
LIMIT = sized(60, 20)  # seconds of each
TURNS, LONG = 4, 10  # runs of each of ours, and the seconds from which one will do: the first touches memory anew
WITHIN, WITHIN_SWITCHED = 1.3, 1.5
OURS = {"ours, auto": {}, "ours, direct": {"method": "direct"}, "ours, multigrid": {"preconditioner": "multigrid"}}


class Overtime(Exception):
    pass


def _overtime(_signal, _frame):
    raise Overtime


def ours_once(problem, options):
    """(Ran, factor's report); Overtime after LIMIT."""
    iterating = {} if options.get("method") == "direct" else {"rtol": RTOL}  # what a direct method cannot follow
    if iterating and problem.near_null is not None:
        iterating["near_null"] = problem.near_null
    if "preconditioner" in options:
        options = {**options, "method": "flexible_cg" if problem.symmetric and problem.definite else "gmres"}
    pattern, b = new_pattern(problem.A), problem.b
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        begin = time.perf_counter()
        factor = lacuna.Solver(pattern, keep_bytes=-1, **iterating, **options).factor(problem.A.data)
        ready = time.perf_counter()
        x = factor.solve(b)
        end = time.perf_counter()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    residual = float(np.linalg.norm(b - problem.A @ x) / np.linalg.norm(b))
    report = factor.report
    return peers.Ran(ready - begin, end - ready, report["iterations"], residual), report


def ours(problem, options, best, told):
    """(the better of `best` and one more run, or None; what there is to say about it)."""
    try:
        ran, report = ours_once(problem, options)
    except Overtime:
        return best, f"not within {LIMIT} s"
    except LacunaError as error:
        return best, str(error).split("\n")[0]
    finally:
        lib.lac_memory_trim()
    if best and best.seconds <= ran.seconds:
        return best, told
    return ran, f"{report['method']} {report['preconditioner']}: {report['reason']}"


def all_ours(problem):
    """{name: (Ran or None, what there is to say)}, in turns, so that none is always the first. What took long runs
    once."""
    out = {name: (None, "") for name in OURS if PEERS or name == "ours, auto"}
    for turn in range(TURNS):
        for name, (best, told) in out.items():
            if turn == 0 or (best and best.seconds < LONG):
                out[name] = ours(problem, OURS[name], best, told)
    return out


def theirs(problem):
    """{peer's name: (Ran or None, what there is to say)}."""
    krylov, out = "cg" if problem.symmetric and problem.definite else "gmres", {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "system")
        peers.write_system(path, problem.A, problem.b, problem.near_null, problem.block)
        for peer in peers.find(problem.dimensions, krylov, with_pyamg=True):
            if peer.threads == 1 or ("Ruge" in peer.name and problem.name.startswith(("elasticity", "thin plate"))):
                continue
            try:
                ran = peer.run(path, RTOL, 1.0, limit=LIMIT)
                failed = None, f"{ran.residual:.0e} after {ran.iterations}"
                out[peer.name] = (ran, "") if ran.residual <= REACHED else failed
            except subprocess.TimeoutExpired:
                out[peer.name] = None, f"not within {LIMIT} s"
            except subprocess.CalledProcessError as error:
                out[peer.name] = None, f"failed: {(error.stderr or '').strip()[-80:]}"
    return out


def shown(ran):
    return f"{ran.setup:.3f} + {ran.solve:.3f} s, {ran.iterations} iterations"


def row(table, problem, name, ran, told):
    """A contender's row: its time, or why it has none."""
    if ran:
        table.row(f"{problem.name}: {name}", n=problem.A.shape[0], ours=ran.seconds, threads=THREADS,
                  residual=ran.residual, limit=REACHED, bar=f"{shown(ran)}; {told}")  # fmt: skip
    else:
        print(f"{problem.name}: {name}: no solution: {told}", flush=True)


def judge(table, problem, contenders):
    """The bar: the automatic choice beside the best."""
    auto, told = contenders["ours, auto"]
    reached = {name: ran for name, (ran, _) in contenders.items() if ran and ran.residual <= REACHED}
    if not auto:
        table.row(f"{problem.name}: best", n=problem.A.shape[0], ours=float("inf"), residual=float("nan"), bar=told)
        return
    name = min(reached, key=lambda name: reached[name].seconds)
    best, within = reached[name].seconds, WITHIN_SWITCHED if "; iterating" in told else WITHIN
    table.row(f"{problem.name}: best", n=problem.A.shape[0], ours=auto.seconds, peer=name, peer_s=best, threads=THREADS,
              residual=auto.residual, limit=REACHED, ok=auto.seconds <= within * best,
              bar=f"{name}: {shown(reached[name])}; auto within {within}: {auto.seconds / best:.2f}")  # fmt: skip


def beside(table, problem):
    contenders = all_ours(problem)
    if PEERS:
        contenders |= theirs(problem)
    for name, (ran, told) in contenders.items():
        row(table, problem, name, ran, told)
    judge(table, problem, contenders)


def main():
    context().set_threads(THREADS)
    signal.signal(signal.SIGALRM, _overtime)
    warnings.simplefilter("ignore", AccuracyWarning)
    table = Table("hard")
    for name, make in problems.hard(QUICK).items():
        if ONLY in name:
            for problem in make():
                beside(table, problem)
    table.finish()


if __name__ == "__main__":
    main()
