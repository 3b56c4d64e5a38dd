# SPDX-License-Identifier: Apache-2.0
"""Direct solves of CUDA tensors by cuDSS through Lacuna, and by the same library called directly.

A row is the factorisation of new values with the analysis of earlier ones, and a solve with it; analyses are printed
besides. Lacuna looks at the values, copies them, and measures each solution; its bar is 3 % over the direct calls with
the same settings. What cuDSS takes without the promise of the same bits, and for 16 right-hand sides at once, is
printed too.

Then batches: 10 000 systems of 256 unknowns, each with its own matrix of one pattern, by what Lacuna chooses, by a loop
of CuPy's spsolve (over a few of them, which stand for all), and by cuDSS's batch where there is cuDSS. The bars are 20
times the loop, and no slower than cuDSS.

    python bench/bench_cuda_direct.py [systems] [batches]
"""

import ctypes
import json
import os
import sys
import time

import torch

import lacuna
import lacuna.torch as lt
from lacuna import _library
from support import ROWS, sized

BAR = 1.03
ANALYSE, FACTOR, SOLVE = 3, 4, 1008
GENERAL, SPD = 0, 3
TYPES = {torch.float32: 0, torch.float64: 1, torch.int32: 10, torch.int64: 24}


def find_cudss():
    """The library that Lacuna finds, with its version."""
    path = os.environ.get("LACUNA_CUDSS") or _library.packaged_cudss() or "libcudss.so.1"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        print(f"skip: no cuDSS: {error}")
        return None
    version = [ctypes.c_int() for _ in range(3)]
    for i in range(3):
        library.cudssGetProperty(i, ctypes.byref(version[i]))
    library.version = tuple(v.value for v in version)
    return library


class Cudss:
    """One matrix by direct calls of cuDSS: CSR tensors on the device."""

    def __init__(self, library, offsets, columns, values, nature, columns_of_b=1, repeats=True, items=1):
        self.library, self.kept = library, (offsets, columns, values)
        self.new, n = library.version >= (0, 8), len(offsets) - 1
        self.handle, self.config, self.data, self.a = (ctypes.c_void_p() for _ in range(4))
        self.call("cudssCreate", ctypes.byref(self.handle))
        self.call("cudssSetStream", self.handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        self.call("cudssConfigCreate", ctypes.byref(self.config))
        self.call("cudssDataCreate", self.handle, ctypes.byref(self.data))
        self.set(24 if self.new else 25, int(repeats))
        self.set(16 if self.new else 17, 1)  # pivots are small in their row and column
        self.set(3, 0)  # no matching
        if items > 1:
            self.set(18 if self.new else 19, items)
        kinds = [TYPES[offsets.dtype]] * self.new + [TYPES[columns.dtype], TYPES[values.dtype]]
        view = 0 if nature == GENERAL else 1
        self.call("cudssMatrixCreateCsr", ctypes.byref(self.a), *map(ctypes.c_int64, (n, n, len(columns))),
                  self.at(offsets), None, self.at(columns), self.at(values), *kinds, nature, view, 0)  # fmt: skip
        shape = (items, n) if items > 1 else (columns_of_b, n)
        self.b, self.x = (torch.zeros(shape, dtype=values.dtype, device="cuda") for _ in range(2))
        self.right, self.left = self.dense(self.b, items), self.dense(self.x, items)

    @staticmethod
    def at(tensor):
        return ctypes.c_void_p(tensor.data_ptr())

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: status {status}")

    def set(self, what, value):
        self.call("cudssConfigSet", self.config, what, ctypes.byref(ctypes.c_int(value)), ctypes.c_size_t(4))

    def dense(self, tensor, items):
        out, (k, n) = ctypes.c_void_p(), tensor.shape
        sizes = map(ctypes.c_int64, (n, k // items, n))
        self.call("cudssMatrixCreateDn", ctypes.byref(out), *sizes, self.at(tensor), TYPES[tensor.dtype], 0)
        return out

    def run(self, phase):
        self.call("cudssExecute", self.handle, phase, self.config, self.data, self.a, self.left, self.right)

    def get(self, what, out):
        """A number of the factor, or why there is none."""
        written = ctypes.c_size_t()
        status = self.library.cudssDataGet(
            self.handle, self.data, what, ctypes.byref(out), ctypes.c_size_t(ctypes.sizeof(out)), ctypes.byref(written)
        )
        return out.value if status == 0 else f"status {status}"

    def diagonal(self):
        """The pivots, as cuDSS gives them, or the status with which it refuses."""
        out, written = torch.zeros_like(self.b[0]), ctypes.c_size_t()
        status = self.library.cudssDataGet(
            self.handle, self.data, 8, self.at(out), ctypes.c_size_t(8 * len(out)), ctypes.byref(written)
        )
        return out.cpu().tolist() if status == 0 else f"status {status}"

    def close(self):
        for matrix in (self.a, self.right, self.left):
            self.call("cudssMatrixDestroy", matrix)
        self.call("cudssDataDestroy", self.handle, self.data)
        self.call("cudssConfigDestroy", self.config)
        self.call("cudssDestroy", self.handle)


def grid(shape, wind=0.0):
    """The matrix of neighbours on a grid, with a wind along its last axis: CSR tensors on the device."""
    places = torch.arange(torch.tensor(shape).prod().item(), device="cuda").reshape(shape)
    n = places.numel()
    rows, cols, values = [places.flatten()], [places.flatten()], [torch.full((n,), 2.0 * len(shape) + 0.1 * wind)]
    for axis, size in enumerate(shape):
        here = places.narrow(axis, 0, size - 1).flatten()
        there = places.narrow(axis, 1, size - 1).flatten()
        blow = wind if axis == len(shape) - 1 else 0.0
        rows += [here, there]
        cols += [there, here]
        values += [torch.full((len(here),), -1.0 + 0.5 * blow), torch.full((len(here),), -1.0 - 0.5 * blow)]
    rows, cols, values = torch.cat(rows), torch.cat(cols), torch.cat([v.double().cuda() for v in values])
    order = torch.argsort(rows * n + cols)
    offsets = torch.zeros(n + 1, dtype=torch.int64, device="cuda")
    offsets[1:] = torch.bincount(rows, minlength=n).cumsum(0)
    return offsets.int(), cols[order].int(), values[order].contiguous()


def best(f, times):
    """The least seconds of a call, the device waited for."""
    least = float("inf")
    for _ in range(times):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        f()
        torch.cuda.synchronize()
        least = min(least, time.perf_counter() - begin)
    return least


def directly(library, matrix, nature, times, columns_of_b=1, repeats=True):
    """Seconds of analysis, factorisation and solve by direct calls."""
    peer = Cudss(library, *matrix, nature, columns_of_b, repeats)
    peer.b.normal_(generator=torch.Generator("cuda").manual_seed(1))
    seconds = [best(lambda: peer.run(ANALYSE), 1)]
    peer.run(FACTOR)
    peer.run(SOLVE)
    seconds += [best(lambda: peer.run(FACTOR), times), best(lambda: peer.run(SOLVE), times)]
    first = peer.x.clone()
    peer.run(FACTOR)
    peer.run(SOLVE)
    same = torch.equal(first, peer.x)
    peer.close()
    return seconds, same


def ours(matrix, times):
    """Seconds of the first solve, of one with new values, of one with values that are known; the residual; the bytes of
    values that went to the host."""
    offsets, columns, values = matrix
    n = len(offsets) - 1
    solver = lacuna.Solver(lacuna.Pattern.from_csr(offsets, columns, (n, n)), method="cudss")
    b = torch.randn(n, 1, dtype=values.dtype, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
    before = lacuna.memory_stats("cuda")["values_to_host_bytes"]
    first = best(lambda: lt.solve(solver, values, b), 1)
    new = [values * (1 + 1e-3 * (i + 1)) for i in range(times)]
    fresh = min(best(lambda a=a: lt.solve(solver, a, b), 1) for a in new)
    again = best(lambda: lt.solve(solver, new[-1], b), times)
    moved = lacuna.memory_stats("cuda")["values_to_host_bytes"] - before
    residual = ((lt.spmm(solver.pattern, new[-1], lt.solve(solver, new[-1], b)) - b).norm() / b.norm()).item()
    return first, fresh, again, residual, moved


def attempt(f):
    """What a call gives, or the sentence with which it fails."""
    try:
        return f()
    except RuntimeError as error:
        return str(error)


def probe_one(library, full, nature):
    """What cuDSS says of a matrix of three rows, and of its transpose."""
    offsets = torch.arange(0, 10, 3, dtype=torch.int32, device="cuda")
    columns = torch.arange(3, dtype=torch.int32, device="cuda").repeat(3)
    peer = Cudss(library, offsets, columns, full.flatten().cuda(), nature)
    peer.b.fill_(1)
    outcomes = [attempt(lambda phase=phase: peer.run(phase)) for phase in (ANALYSE, FACTOR, SOLVE)]
    said = f"{outcomes}, info {peer.get(0, ctypes.c_int())}, pivots {peer.get(2, ctypes.c_int32())}, diagonal "
    said += f"{peer.diagonal()}, x {peer.x[0].tolist()}"
    if nature == GENERAL and library.version >= (1, 0):
        outcomes = [attempt(lambda: peer.set(4, 1)), attempt(lambda: peer.run(SOLVE))]
        said += f"; transposed {outcomes}, x {peer.x[0].tolist()}"
    peer.close()
    return said


def probe(library):
    """What this cuDSS says of small matrices, on which the engine's policies rest."""
    print(f"cuDSS {'.'.join(map(str, library.version))}")
    dense = torch.tensor([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]], dtype=torch.float64)
    cases = {
        "definite (pivots 4, 2.75, 1.636)": (dense, SPD), "not definite, as SPD": (dense - 3 * torch.eye(3), SPD),
        "general (x 0.333 -0.167 0.583; transposed 0.25 0 0.5)": (dense + torch.triu(dense, 1), GENERAL),
        "singular": (torch.ones(3, 3).double(), GENERAL),
    }  # fmt: skip
    for name, (full, nature) in cases.items():
        print(f"  {name}: {attempt(lambda full=full, nature=nature: probe_one(library, full.double(), nature))}")


# -- batches ---------------------------------------------------------------------------------------------------------


def lattice(kind, n):
    """The rows and columns of a small matrix."""
    i = torch.arange(n, device="cuda")
    if kind == "grid":
        offsets, columns, _ = grid((round(n**0.5),) * 2)
        return torch.repeat_interleave(i, offsets.diff().long()), columns.long()
    if kind == "random":
        torch.manual_seed(5)
        row, col = i.repeat_interleave(4), torch.randint(n, (4 * n,), device="cuda")
    else:
        reach = {"tridiagonal": 1, "band": 4}[kind]
        row, col = i.repeat_interleave(2 * reach + 1), (i[:, None] + torch.arange(-reach, reach + 1, device="cuda"))
        col = col.flatten()
    keep = (col >= 0) & (col < n)
    keys = torch.unique(torch.cat([row[keep] * n + col[keep], i * n + i]))
    return keys // n, keys % n


def batch(kind, n, items):
    """Matrices of one pattern with numbers of their own, dominated by their diagonals: CSR, values [items, nnz]."""
    row, col = lattice(kind, n)
    values = -torch.rand(items, len(row), dtype=torch.float64, device="cuda")
    values[:, row == col] = 0
    sums = torch.zeros(items, n, dtype=torch.float64, device="cuda").index_add_(1, row, values.abs())
    values[:, row == col] = sums + 0.1
    offsets = torch.zeros(n + 1, dtype=torch.int32, device="cuda")
    offsets[1:] = torch.bincount(row, minlength=n).cumsum(0)
    return offsets, col.int(), values


def batched_ours(matrix, b, times):
    """Seconds of the first solve, of new values and a solve, of a solve with what is known, of a backward; residual,
    whether the bits repeat."""
    offsets, columns, values = matrix
    n = len(offsets) - 1
    solver = lacuna.Solver(lacuna.Pattern.from_csr(offsets, columns, (n, n)))
    first = best(lambda: lt.solve(solver, values, b), 1)
    new = [values * (1 + 1e-3 * (i + 1)) for i in range(times)]
    fresh = min(best(lambda a=a: lt.solve(solver, a, b), 1) for a in new)
    again = best(lambda: lt.solve(solver, new[-1], b), times)
    x = lt.solve(solver, new[-1], b)
    same = torch.equal(x, lt.solve(lacuna.Solver(solver.pattern), new[-1], b))
    residual = (lt.spmm(solver.pattern, new[-1], x) - b).norm(dim=1) / b.norm(dim=1)
    for scale in (1.5, 2.5):  # the first makes what derivatives of this pattern keep
        loss = lt.solve(solver, (values * scale).requires_grad_(), b).sum()
        backward = best(loss.backward, 1)
    return first, fresh, again, backward, residual.max().item(), same


def batched_cupy(matrix, b, count):
    """Seconds a system, of a loop of CuPy's spsolve over some of them."""
    import cupy
    import cupyx.scipy.sparse as cs
    import cupyx.scipy.sparse.linalg as cl

    offsets, columns, values = (cupy.from_dlpack(t.detach()) for t in matrix)
    n = len(offsets) - 1
    right = cupy.from_dlpack(b)

    def loop():
        for i in range(count):
            cl.spsolve(cs.csr_matrix((values[i], columns, offsets), shape=(n, n)), right[i, :, 0])

    loop()
    return best(loop, 2) / count


def batched_cudss(library, matrix, b, times):
    """Seconds of factorisation and solve by cuDSS's batch, and its residual."""
    items = len(b)
    peer = Cudss(library, *matrix, GENERAL, 1, False, items)
    peer.b.copy_(b[:, :, 0])
    peer.run(ANALYSE)
    peer.run(FACTOR)
    peer.run(SOLVE)
    seconds = best(lambda: (peer.run(FACTOR), peer.run(SOLVE)), times)
    pattern = lacuna.Pattern.from_csr(matrix[0], matrix[1], (len(matrix[0]) - 1,) * 2)
    residual = (lt.spmm(pattern, matrix[2], peer.x[:, :, None]) - b).norm() / b.norm()
    peer.close()
    return seconds, residual.item()


def batches(library, times):
    """Whether every bar holds."""
    n, items, all_pass = 256, sized(10000, 200), True
    for kind in ("grid", "tridiagonal", "band", "random"):
        matrix = batch(kind, n, items)
        generator = torch.Generator("cuda").manual_seed(1)
        b = torch.randn(items, n, 1, dtype=torch.float64, device="cuda", generator=generator)
        first, fresh, again, backward, residual, same = batched_ours(matrix, b, times)
        loop = attempt(lambda: batched_cupy(matrix, b, sized(20, 5)) * items)
        direct = attempt(lambda: batched_cudss(library, matrix, b, times)) if library else "no cuDSS"
        passed = residual <= 1e-10 and same
        passed = passed and (isinstance(loop, str) or loop >= 20 * fresh)
        passed = passed and (isinstance(direct, str) or direct[0] >= fresh)
        all_pass = all_pass and passed
        said = direct if isinstance(direct, str) else f"{1e3 * direct[0]:.2f} ms, residual {direct[1]:.1e}"
        looped = loop if isinstance(loop, str) else f"{loop:.2f} s, {loop / fresh:.0f} times"
        print(f"{items} of {n}, {kind}: new values {1e3 * fresh:.2f} ms, first {1e3 * first:.0f} ms, known "
              f"{1e3 * again:.2f} ms, backward {1e3 * backward:.2f} ms, residual {residual:.1e}, same bits: {same}; "
              f"a loop of spsolve {looped}; cuDSS's batch {said}", flush=True)  # fmt: skip
        row = {"bench": "cuda_direct", "row": f"batch-{kind}", "pass": passed, "n": n * items, "dtype": "f64",
               "device": "cuda", "ours_s": fresh, "peer": "cupy", "peer_s": None if isinstance(loop, str) else loop,
               "ratio": None if isinstance(loop, str) else loop / fresh, "residual": residual}  # fmt: skip
        with open(ROWS, "a") as file:
            file.write(json.dumps(row) + "\n")
    return all_pass


# -- one system ------------------------------------------------------------------------------------------------------


def systems(library, times):
    """Whether every bar holds."""
    all_pass = True
    side, edge = sized(1000, 200), sized(64, 24)
    problems = {
        f"2d-{side * side}": (grid((side, side)), SPD), f"3d-{edge}^3": (grid((edge,) * 3), SPD),
        f"2d-wind-{side * side}": (grid((side, side), 0.5), GENERAL),
    }  # fmt: skip
    for name, (matrix, nature) in problems.items():
        (analysed, factored, solved), same = directly(library, matrix, nature, times)
        first, fresh, again, residual, moved = ours(matrix, times)
        ratio = fresh / (factored + solved)
        passed = ratio <= BAR and residual <= 1e-10 and moved < 10000
        all_pass = all_pass and passed
        print(f"{name}: new values {1e3 * fresh:.2f} ms, first {1e3 * first:.0f} ms, known {1e3 * again:.2f} ms; "
              f"directly {1e3 * factored:.2f} + {1e3 * solved:.2f} ms, analysis {1e3 * analysed:.0f} ms, same bits: "
              f"{same}; ratio {ratio:.3f}, residual {residual:.1e}, values to the host {moved} bytes")  # fmt: skip
        for columns_of_b, repeats in ((1, False), (16, False), (16, True)):
            try:
                (_, f, s), same = directly(library, matrix, nature, 3, columns_of_b, repeats)
                outcome = f"{1e3 * f:.2f} + {1e3 * s:.2f} ms, same bits: {same}"
            except RuntimeError as error:
                outcome = str(error)
            print(f"  directly, {columns_of_b} columns, repeating {repeats}: {outcome}")
        row = {"bench": "cuda_direct", "row": name, "pass": passed, "n": len(matrix[0]) - 1, "dtype": "f64",
               "device": "cuda", "ours_s": fresh, "peer": "cudss", "peer_s": factored + solved,
               "ratio": ratio, "residual": residual}  # fmt: skip
        with open(ROWS, "a") as file:
            file.write(json.dumps(row) + "\n")
    return all_pass


def main():
    if not torch.cuda.is_available():
        sys.exit("skip: no CUDA device")
    library, times, wanted = find_cudss(), sized(10, 3), sys.argv[1:] or ["systems", "batches"]
    all_pass = True
    if library and "systems" in wanted:
        probe(library)
        all_pass = systems(library, times)
    if "batches" in wanted:
        all_pass = batches(library, times) and all_pass
    print("every bar holds" if all_pass else "a bar is missed")
    sys.exit(not all_pass)


if __name__ == "__main__":
    main()
