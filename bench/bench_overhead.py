# SPDX-License-Identifier: Apache-2.0
"""What a call costs, from NumPy and torch, beside SciPy's, torch's own sparse and torch's dense: products with a
tridiagonal matrix of 100 rows, solves with one of 12, under autograd, torch.func and torch.compile.

Every row is checked first, then timed: the best mean of many short rounds, in turn with the peer's, for overhead is
what is left when nothing else runs. A compiled call is timed beside the same call uncompiled, beside torch's dense
solve, compiled, and beside the compiled sum of the values times b, which is one loop in each direction: what
torch.compile itself asks of a call. Patterns that are new in each call must find their graph made. Models are a layer
of a network, a product, a solve and a loss with the gradients of all that is learnt, and for comparison the same
without a matrix. For the backward of relu torch's compiled code stores where it is zero, one condition on a double at
a time, which takes longer than all of torch's other loops: the same model with operators that copy what they are given
in place of the matrix, which is torch alone, shows what of a row that is.
"""

import time
import warnings

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
import torch
from support import PEERS, Table, sized
from torch._dynamo.testing import CompileCounterWithBackend

import lacuna
import lacuna.torch as lt

N, SMALL = 100, 12


def seconds(function, calls, rounds):
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, (time.perf_counter() - begin) / calls)
    return best


def in_turns(ours, peer, calls, turns=10, rounds=10):
    """The best mean of each, None for no peer."""
    best = [float("inf"), float("inf") if peer and PEERS else None]
    for _ in range(sized(turns, 3)):
        best[0] = min(best[0], seconds(ours, calls, rounds))
        if best[1] is not None:
            best[1] = min(best[1], seconds(peer, calls, rounds))
    return best


def torch_csr(matrix, values):
    with warnings.catch_warnings():  # torch says once that its CSR support is in beta
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(torch.tensor(matrix.indptr), torch.tensor(matrix.indices), values, matrix.shape)


def error(got, expected):
    """The largest difference of arrays or tensors, one or several, relative to the largest number."""
    pairs = zip(got, expected) if isinstance(got, tuple) else [(got, expected)]
    pairs = [[np.asarray(t.detach() if isinstance(t, torch.Tensor) else t) for t in pair] for pair in pairs]
    return max(float(np.abs(g - e).max() / np.abs(e).max()) for g, e in pairs)


def tridiagonal(n):
    """A SciPy matrix, its pattern and values, a right-hand side, a cotangent, and where its entries are."""
    matrix = sp.diags_array([-np.ones(n - 1), 4 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1], format="csr")
    pattern, a = lacuna.from_scipy(matrix)
    x, bar = np.random.default_rng(0).random((2, n, 1))
    _, columns, rows = pattern.structure()
    return matrix, pattern, a, x, bar, rows, columns


class Rows:
    """Rows with a bar in microseconds, or at most so many times the peer's time."""

    def __init__(self):
        self.table = Table("overhead")

    def add(self, name, n, ours, expected, microseconds=None, peer=None, call=None, most=None, calls=100, also=None):
        """`also` is (one more bar in words, whether it is reached)."""
        residual = error(ours(), expected)
        ours_s, peer_s = in_turns(ours, call, calls)
        ok = microseconds is None or ours_s < 1e-6 * microseconds
        ok = ok and (most is None or peer_s is None or ours_s <= most * peer_s)
        bars = [f"under {microseconds} us"] if microseconds else []
        bars += [f"at most {most:g} x {peer}"] if most else []
        if also:
            bars, ok = [*bars, also[0]], ok and also[1]
        self.table.row(name, n=n, ours=ours_s, peer=peer, peer_s=peer_s, residual=residual, ok=ok, bar=", ".join(bars))


def products(rows):
    matrix, pattern, a, x, y_bar, at, to = tridiagonal(N)
    y, a_bar, x_bar = matrix @ x, y_bar[at, 0] * x[to, 0], matrix.T @ y_bar
    ta, tx, bar = torch.tensor(a), torch.tensor(x), torch.tensor(y_bar)
    la, lx = ta.clone().requires_grad_(), tx.clone().requires_grad_()
    csr, full = torch_csr(matrix, ta), torch.tensor(matrix.toarray())
    lf = full.clone().requires_grad_()
    grad = torch.func.grad(lambda a, x: (lt.spmm(pattern, a, x) * bar).sum(), (0, 1))
    dense = torch.func.grad(lambda a, x: ((a @ x) * bar).sum(), (0, 1))
    product, bars = lambda: lt.spmm(pattern, la, lx), (a_bar, x_bar)
    rows.add("spmm, NumPy", N, lambda: lacuna.spmm(pattern, a, x), y, 15, "SciPy", lambda: matrix @ x)
    rows.add("spmm, torch, no gradient", N, lambda: lt.spmm(pattern, ta, tx), y, 12, "torch CSR", lambda: csr @ tx)
    rows.add("spmm, torch, backward recorded", N, product, y, 60, "torch CSR", lambda: csr @ tx)
    rows.add("spmm, torch, forward + backward", N, lambda: torch.autograd.grad(product(), (la, lx), bar), bars,
             peer="torch dense", call=lambda: torch.autograd.grad(lf @ lx, (lf, lx), bar))  # fmt: skip
    squares = torch.func.grad(lambda a: lt.spmm(pattern, a, tx).square().sum())
    dense_squares = torch.func.grad(lambda a: (a @ tx).square().sum())
    rows.add("spmm, torch.func.grad of squares", N, lambda: squares(ta), 2 * y[at, 0] * x[to, 0], 300, "torch dense",
             lambda: dense_squares(full), calls=20)  # fmt: skip
    rows.add("spmm, torch.func.grad, both", N, lambda: grad(ta, tx), bars, 300, "torch dense", lambda: dense(full, tx),
             calls=20)  # fmt: skip
    softmax = np.exp(a) / np.bincount(at, np.exp(a))[at]
    kept = pattern.row_map()
    rows.add("segment_softmax, map made in call", N, lambda: lt.segment_softmax(pattern.row_map(), ta), softmax, None,
             "map kept", lambda: lt.segment_softmax(kept, ta), most=1.2)  # fmt: skip


def solves(rows):
    matrix, pattern, a, b, x_bar, at, to = tridiagonal(SMALL)
    full = matrix.toarray()
    x, b_bar = np.linalg.solve(full, b), np.linalg.solve(full.T, x_bar)
    ta, tb, bar, full = torch.tensor(a), torch.tensor(b), torch.tensor(x_bar), torch.tensor(full)
    la, lb, lf = (t.clone().requires_grad_() for t in (ta, tb, full))
    bars, dense = (-b_bar[at, 0] * x[to, 0], b_bar), torch.linalg.solve
    ours = lambda a, b: lt.solve(pattern, a, b)  # noqa: E731
    compiled, dense_compiled = (torch.compile(f, fullgraph=True) for f in (ours, dense))
    grad, dense_grad = (torch.func.grad(lambda a, b, f=f: (f(a, b) * bar).sum(), (0, 1)) for f in (ours, dense))
    compiled_grad = torch.compile(grad, fullgraph=True)

    def both(f, a, b):
        return lambda: torch.autograd.grad(f(a, b), (a, b), bar)

    rows.add("solve, forward", SMALL, lambda: ours(ta, tb), x, None, "torch dense", lambda: dense(full, tb))
    rows.add("solve, forward + backward", SMALL, both(ours, la, lb), bars, None, "torch dense", both(dense, lf, lb))
    rows.add("solve, torch.func.grad", SMALL, lambda: grad(ta, tb), bars, 500, "torch dense",
             lambda: dense_grad(full, tb), calls=20)  # fmt: skip
    rows.add("solve, torch.func.grad, compiled", SMALL, lambda: compiled_grad(ta, tb), bars, None, "uncompiled",
             lambda: grad(ta, tb), most=1, calls=20)  # fmt: skip
    rows.add("solve, compiled, forward + backward", SMALL, both(compiled, la, lb), bars, None, "uncompiled",
             both(ours, la, lb), most=1)  # fmt: skip
    for peer, call in (
        ("torch dense compiled", both(dense_compiled, lf, lb)),
        ("a sum times b, compiled", both(torch.compile(lambda a, b: a.sum() * b, fullgraph=True), la, lb)),
    ):
        rows.add("solve, compiled, forward + backward", SMALL, both(compiled, la, lb), bars, None, peer, call)


def new_patterns(rows):
    """Twelve patterns of twelve sizes, one after the other, through one function."""
    problems = [tridiagonal(n) for n in range(N, N + 12)]
    inputs = [(pattern, *[torch.tensor(t).requires_grad_() for t in (a, x)]) for _, pattern, a, x, *_ in problems]
    bars = [torch.tensor(bar) for *_, bar, _, _ in problems]
    expected = tuple(part for _, _, _, x, bar, at, to in problems for part in [bar[at, 0] * x[to, 0]])
    counter = CompileCounterWithBackend("inductor")
    compiled = torch.compile(lt.spmm, fullgraph=True, backend=counter)

    def each(f):
        return lambda: tuple(torch.autograd.grad(f(p, a, x), (a, x), bar)[0] for (p, a, x), bar in zip(inputs, bars))

    each(compiled)()
    rows.add("spmm, compiled, 12 new patterns", N, each(compiled), expected, None, "uncompiled", each(lt.spmm),
             calls=10, also=("2 graphs", counter.frame_count <= 2))  # fmt: skip


copies = torch.library.Library("copies", "DEF")
copies.define("copy(Tensor x) -> Tensor")
copies.impl("copy", torch.clone, "CompositeExplicitAutograd")
torch.library.register_fake("copies::copy", torch.empty_like, lib=copies)
torch.library.register_autograd("copies::copy", lambda ctx, bar: torch.ops.copies.copy(bar), lib=copies)


class Model(torch.nn.Module):
    """|z - target|^2 / size with A z = f(A h) + h, h = tanh(W x + c); learnt are A, W and c. Or with the identity or
    copies in place of A, which is torch alone."""

    def __init__(self, n, f, width=8):
        super().__init__()
        self.matrix, self.pattern, a, *_ = tridiagonal(n)
        self.f, self.a = f, torch.nn.Parameter(torch.tensor(a))
        self.layer = torch.nn.Linear(width, width, dtype=torch.float64)
        self.x, self.target = torch.tensor(np.random.default_rng(1).standard_normal((2, n, width)))

    def forward(self, kind):
        h = torch.tanh(self.layer(self.x))
        if kind == "matrix":
            z = lt.solve(self.pattern, self.a, self.f(lt.spmm(self.pattern, self.a, h)) + h)
        else:
            instead = torch.ops.copies.copy if kind == "copies" else lambda x: x
            z = instead(self.f(instead(h)) + h)
        return (z - self.target).square().mean()

    def gradients(self, loss, kind):
        learnt = [*self.layer.parameters(), *([self.a] if kind == "matrix" else [])]
        return lambda: torch.autograd.grad(loss(kind), learnt)

    def expected(self):
        """The gradients in W, c and A, by hand but for f."""
        weight, bias, x, target = (t.detach().numpy() for t in (*self.layer.parameters(), self.x, self.target))
        _, to, at = self.pattern.structure()
        factor = sla.splu(self.matrix.tocsc())
        h = np.tanh(x @ weight.T + bias)
        y = torch.tensor(self.matrix @ h, requires_grad=True)
        f = self.f(y)
        z = factor.solve(f.detach().numpy() + h)
        r_bar = factor.solve(2 * (z - target) / z.size, trans="T")
        y_bar = torch.autograd.grad(f, y, torch.tensor(r_bar))[0].numpy()
        a_bar = (y_bar[at] * h[to]).sum(1) - (r_bar[at] * z[to]).sum(1)
        s_bar = (self.matrix.T @ y_bar + r_bar) * (1 - h**2)
        return s_bar.T @ x, s_bar.sum(0), a_bar


def models(rows):
    kinds = ("model", torch.relu, "copies"), ("sigmoid model", torch.sigmoid, "identity")
    for n in (1000, 5000):
        for name, f, alone in kinds:
            model = Model(n, f)
            compiled = torch.compile(model, fullgraph=True)
            ours, torchs = ([model.gradients(m, kind) for m in (compiled, model)] for kind in ("matrix", alone))
            rows.add(f"{name}, compiled", n, ours[0], model.expected(), None, "uncompiled", ours[1], 1, calls=5)
            rows.add(f"{name} of {alone}, compiled", n, torchs[0], torchs[1](), None, "uncompiled", torchs[1], calls=5)


def main():
    torch.set_num_threads(1)
    lacuna.set_threads(1)
    rows = Rows()
    products(rows)
    solves(rows)
    new_patterns(rows)
    models(rows)
    rows.table.finish()


if __name__ == "__main__":
    main()
