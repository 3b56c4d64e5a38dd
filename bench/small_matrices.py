# SPDX-License-Identifier: Apache-2.0
"""Small and special matrices: bands, arrows, circuits, chemical plants, power networks, elements, graphs, blocks.

All of them are the same each time. CIRCUITS are those that KLU was made for.
"""

import os

import numpy as np
import scipy.io
import scipy.sparse as sp
from bench_direct import MATRICES, convection2d
from support import poisson2d, sorted_csr

CIRCUITS = "circuit"


def _random(seed):
    return np.random.default_rng(seed)


def _stamped(n, stamps):
    """A matrix from lists of (rows, columns, values)."""
    rows, cols, values = (np.concatenate([np.ravel(s[part]) for s in stamps]) for part in range(3))
    return sorted_csr(sp.coo_matrix((values, (rows, cols)), shape=(n, n)))


def _between(a, b, g):
    """Conductances g between nodes a and b."""
    return np.concatenate([a, b, a, b]), np.concatenate([a, b, b, a]), np.concatenate([g, g, -g, -g])


# -- bands and arrows ------------------------------------------------------------------------------------------------


def band(n, lower, upper, seed=0, symmetric=False):
    """Full diagonals from -lower to upper; a diagonal that is as large as its row."""
    rng, offsets = _random(seed), range(-lower, upper + 1)
    a = sp.diags([rng.uniform(-1, 1, n - abs(k)) for k in offsets], offsets, format="csr")
    a = a + a.T if symmetric else a
    return sorted_csr(a + sp.diags(np.ravel(np.abs(a).sum(1))))


def weak_band(n, lower, upper, seed=1):
    """The same without a strong diagonal: rows change places."""
    rng, offsets = _random(seed), range(-lower, upper + 1)
    return sorted_csr(sp.diags([rng.uniform(-1, 1, n - abs(k)) for k in offsets], offsets))


def arrow(n, forwards=True, symmetric=True):
    """A diagonal with a full last row and column, or the first ones."""
    rng, tip = _random(2), n - 1 if forwards else 0
    rest = np.delete(np.arange(n), tip)
    row, column = rng.uniform(0.1, 1, (2, n - 1))
    there = np.full(n - 1, tip)
    return _stamped(n, [(np.arange(n), np.arange(n), np.where(np.arange(n) == tip, float(n), 2.0)),
                        (there, rest, row), (rest, there, row if symmetric else column)])  # fmt: skip


# -- circuits --------------------------------------------------------------------------------------------------------


def mesh_circuit(side, step=1e-10):
    """Modified nodal analysis of a step in time: resistors one way and inductors the other, capacitors to ground, a few
    controlled sources, and an ideal source, which has no diagonal."""
    rng, nodes = _random(3), side * side
    at = np.arange(nodes).reshape(side, side)
    a, b = at[:, :-1].ravel(), at[:, 1:].ravel()
    up, down = at[:-1].ravel(), at[1:].ravel()
    branch, source = nodes + np.arange(up.size), nodes + up.size
    sizes = (0.2, a.size), (1e-13, nodes), (1e-9, up.size)
    g, c, inductance = (scale * rng.uniform(0.5, 1.5, size) for scale, size in sizes)
    out, control = rng.integers(0, nodes, (2, 60))
    one = np.ones(up.size)
    return _stamped(source + 1, [
        _between(a, b, g), (at.ravel(), at.ravel(), c / step), (branch, branch, -inductance / step),
        (up, branch, one), (down, branch, -one), (branch, up, one), (branch, down, -one),
        (out, control, np.full(60, 1e-3)),
        ([nodes - 1, 0, source], [nodes - 1, source, 0], [0.02, 1.0, 1.0])])  # fmt: skip


def transistor_circuit(n, seed=4):
    """Three-terminal devices between near nodes, two supply rails that a tenth of the nodes hang on, sources."""
    rng, sources = _random(seed), n // 100
    nodes = n - sources
    base = rng.integers(2, nodes, 2 * nodes // 3)
    near = [np.clip(base + rng.integers(-20, 21, base.size), 2, nodes - 1) for _ in range(2)]
    gm = 10 ** rng.uniform(-4, -1, base.size)
    rail, load = rng.integers(0, 2, nodes // 10), rng.choice(np.arange(2, nodes), nodes // 10, replace=False)
    chain = np.arange(2, nodes - 1)
    wires = rng.integers(2, nodes, (2, nodes // 4))
    driven, branch = rng.choice(np.arange(2, nodes), sources, replace=False), nodes + np.arange(sources)
    driven[:2] = 0, 1
    one, leak = np.ones(sources), np.arange(nodes)
    return _stamped(n, [
        (near[0], base, gm), (near[1], base, -gm), (near[0], near[1], -gm), (near[1], near[1], gm),
        _between(base, near[1], 0.01 * gm), _between(rail, load, 10 ** rng.uniform(-5, -2, load.size)),
        _between(chain, chain + 1, 10 ** rng.uniform(-6, -3, chain.size)),
        _between(wires[0], wires[1] * 0 + np.clip(wires[0] + rng.integers(1, 200, wires[0].size), 2, nodes - 1),
                 np.full(wires[0].size, 1e-3)),
        (leak, leak, np.full(nodes, 1e-9)), (driven, branch, one), (branch, driven, one)])  # fmt: skip


def amplifier_circuit(stages):
    """A chain of stages with ideal amplifiers: each has an unknown current and the condition that two nodes agree."""
    rng = _random(5)
    first = 4 * np.arange(stages)
    plus, minus, out, current = first, first + 1, first + 2, first + 3
    g = rng.uniform(1e-4, 1e-2, (4, stages))
    one = np.ones(stages)
    ground = np.arange(4 * stages).reshape(stages, 4)[:, :3].ravel()
    feed = np.roll(out, 7)[1:]
    return _stamped(4 * stages, [
        _between(out[:-1], plus[1:], g[0][1:]), _between(minus, out, g[1]), _between(feed, minus[1:], 0.1 * g[2][1:]),
        (ground, ground, np.repeat(g[3], 3)), (out, current, one), (current, plus, one),
        (current, minus, -one)])  # fmt: skip


# -- plants and networks ---------------------------------------------------------------------------------------------


def plant(columns, stages, parts):
    """Distillation columns: balances, equilibria and an energy balance on each stage, streams that come back."""
    rng, size = _random(6), 2 * parts + 2
    n = columns * stages * size
    first = size * np.arange(columns * stages)
    stage = np.arange(columns * stages) % stages
    heat, stamps = 2 * parts + 1, []

    def add(eq, of, var, where, low, high, sign=1.0):
        stamps.append((first[where] + eq, first[of] + var, sign * rng.uniform(low, high, where.size)))

    every = np.arange(columns * stages)
    above, below = every[stage > 0], every[stage < stages - 1]
    for i in range(parts):
        liquid, vapour = i, parts + i
        add(i, every, liquid, every, 1, 2), add(i, every, vapour, every, 1, 2)
        add(i, above - 1, liquid, above, 0.5, 1, -1.0), add(i, below + 1, vapour, below, 0.5, 1, -1.0)
        add(parts + i, every, vapour, every, 1, 2), add(parts + i, every, liquid, every, 0.1, 5, -1.0)
        add(parts + i, every, 2 * parts, every, 1e-3, 1e-1)
        add(2 * parts, every, vapour, every, 0.5, 1), add(heat, every, liquid, every, 1, 10)
    add(heat, every, heat, every, 10, 100), add(heat, above - 1, heat, above, 1, 10, -1.0)
    add(heat, every, 2 * parts, every, 1, 10)
    back = rng.integers(0, columns * stages, (2, 2 * columns))
    for i in range(parts):
        add(i, back[0], i, back[1], 0.01, 0.1, -1.0)
    order = rng.permutation(n)
    return sorted_csr(_stamped(n, stamps)[order])


def power_flow(buses):
    """The Jacobian of power flow: angles and voltages of buses that are joined by a tree and a few loops."""
    rng = _random(7)
    child = np.arange(1, buses)
    parent = np.maximum(0, child - 1 - rng.geometric(0.1, buses - 1))
    more = rng.integers(0, buses - 60, buses // 3)
    a, b = np.concatenate([child, more]), np.concatenate([parent, more + rng.integers(1, 60, more.size)])
    stamps = []
    for row, col, low, high in ((0, 0, 5, 50), (0, 1, 0.1, 5), (1, 0, -5, -0.1), (1, 1, 5, 50)):
        r, c, v = _between(2 * a, 2 * b, rng.uniform(low, high, a.size))
        stamps.append((r + row, c + col, v * rng.uniform(0.95, 1.05, v.size)))
    every = np.arange(2 * buses)
    return _stamped(2 * buses, [*stamps, (every, every, np.full(2 * buses, 0.5))])


# -- elements, blocks, graphs ----------------------------------------------------------------------------------------


def elasticity(side):
    """Plane stress on squares, one edge held: two unknowns a node."""
    nu, h = 0.3, np.array([1 / 2 - 0.3 / 6, 1 / 8 + 0.3 / 8, -1 / 4 - 0.3 / 12, -1 / 8 + 0.9 / 8,
                           -1 / 4 + 0.3 / 12, -1 / 8 - 0.3 / 8, 0.3 / 6, 1 / 8 - 0.9 / 8])  # fmt: skip
    at = [[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 7, 6, 5, 4, 3, 2], [2, 7, 0, 5, 6, 3, 4, 1], [3, 6, 5, 0, 7, 2, 1, 4],
          [4, 5, 6, 7, 0, 1, 2, 3], [5, 4, 3, 2, 1, 0, 7, 6], [6, 3, 4, 1, 2, 7, 0, 5],
          [7, 2, 1, 4, 3, 6, 5, 0]]  # fmt: skip
    element = h[np.array(at)] / (1 - nu**2)
    node = np.arange((side + 1) * side).reshape(side + 1, side).T  # columns of nodes; the first one is held below
    corner = np.stack([node[1:, :-1], node[1:, 1:], node[:-1, 1:], node[:-1, :-1]], -1).reshape(-1, 4)
    dof = np.stack([2 * corner, 2 * corner + 1], -1).reshape(-1, 8)
    k = _random(8).uniform(0.5, 2, (dof.shape[0], 1, 1)) * element
    n = 2 * node.size
    a = _stamped(n, [(np.repeat(dof, 8, 1), np.tile(dof, (1, 8)), k)])
    return sorted_csr(a[2 * side :, 2 * side :])


def random_sparse(n, each):
    rng = _random(9)
    every = np.arange(n)
    return _stamped(n, [(np.repeat(every, each), rng.integers(0, n, n * each), rng.standard_normal(n * each)),
                        (every, rng.permutation(n), 2 * rng.standard_normal(n))])  # fmt: skip


def blocks(n):
    """Blocks of up to 40 rows, a triangle of entries between them, rows and columns in any order."""
    rng, stamps, at = _random(10), [], 0
    while at < n:
        size = min(int(rng.integers(1, 41)), n - at)
        inside = rng.integers(0, size, (2, 3 * size))
        every = np.arange(size)
        stamps.append((at + inside[0], at + inside[1], rng.standard_normal(3 * size)))
        stamps.append((at + every, at + np.roll(every, 1), rng.uniform(1, 3, size)))
        if at > 0:
            stamps.append((at + rng.integers(0, size, size), rng.integers(0, at, size), rng.standard_normal(size)))
        at += size
    return sorted_csr(_stamped(n, stamps)[rng.permutation(n)][:, rng.permutation(n)])


def power_law(n, each, directed=False):
    """A graph that grows where it is large already: a Laplacian with a bit on its diagonal, or ranks of pages."""
    rng, ends = _random(11), [0, 1]
    a, b = [], []
    for node in range(2, n):
        for _ in range(each):
            other = ends[int(rng.integers(len(ends)))]
            a.append(node), b.append(other)
            ends += [node, other]
    a, b = np.array(a), np.array(b)
    if not directed:
        return sorted_csr(_stamped(n, [_between(a, b, np.ones(a.size))]) + 0.01 * sp.eye(n))
    links = sorted_csr(sp.coo_matrix((np.ones(a.size), (b, a)), shape=(n, n)) > 0)
    return sorted_csr(sp.eye(n) - 0.85 * links @ sp.diags(1 / np.maximum(1, np.ravel(links.sum(0)))))


# -- real ones -------------------------------------------------------------------------------------------------------


def real(name):
    """A matrix of the collection; a pattern alone gets numbers with a strong diagonal."""
    path = os.path.join(MATRICES, name + ".mtx")
    a = sp.csr_matrix(scipy.io.mmread(path))
    if scipy.io.mminfo(path)[4] == "pattern":
        a = sp.csr_matrix((_random(12).uniform(-1, 1, a.nnz), a.indices, a.indptr), shape=a.shape)
        a = a + sp.diags(1 + np.ravel(np.abs(a).sum(1)))
    return sorted_csr(a)


def all_of_them():
    """(name, kind, matrix), one after another."""
    yield "tridiagonal 1e5", "", band(100000, 1, 1)
    yield "band 5000, 4 | 4, SPD", "", band(5000, 4, 4, symmetric=True)
    yield "band 5000, 20 | 20, SPD", "", band(5000, 20, 20, symmetric=True)
    yield "band 5000, 60 | 60, SPD", "", band(5000, 60, 60, symmetric=True)
    yield "band 5000, 10 | 20", "", band(5000, 10, 20)
    yield "band 5000, 50 | 50", "", band(5000, 50, 50)
    yield "band 5000, 20 | 20, weak", "", weak_band(5000, 20, 20)
    yield "arrow 1e5, SPD", "", arrow(100000)
    yield "arrow 1e5, backwards", "", arrow(100000, forwards=False)
    yield "arrow 1e5, not symmetric", "", arrow(100000, symmetric=False)
    yield "circuit, mesh 4951", CIRCUITS, mesh_circuit(50)
    yield "circuit, mesh 9731", CIRCUITS, mesh_circuit(70)
    yield "circuit, transistors 1e4", CIRCUITS, transistor_circuit(10000)
    yield "circuit, amplifiers 1e4", CIRCUITS, amplifier_circuit(2500)
    yield "plant 1e4", "", plant(12, 70, 5)
    yield "power flow 1e4", "", power_flow(5000)
    yield "elasticity 2-D 5000", "", elasticity(50)
    yield "convection 2-D 1e4", "", convection2d(100)
    yield "Poisson 2-D 1e4", "", poisson2d(100)
    yield "random 2000", "", random_sparse(2000, 4)
    yield "blocks 3000", "", blocks(3000)
    yield "power law 2000", "", power_law(2000, 2)
    yield "pages 5000", "", power_law(5000, 3, directed=True)
    for name in ("1138_bus", "bcsstk16", "west0479", "watt_2", "cryg2500", "hangGlider_2"):
        yield name, "", real(name)
    yield "rajat01", CIRCUITS, real("rajat01")
