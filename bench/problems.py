# SPDX-License-Identifier: Apache-2.0
"""Systems that are hard for iterative solvers: jumps of coefficients, thin plates, elasticity, convection, Helmholtz,
graphs.

Each is a Problem, whose matrix comes from a generator of its own, the same each time. Coefficients live in cells; faces
have harmonic means; u = 0 around, half a cell outside.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from support import poisson3d, sorted_csr


@dataclass
class Problem:
    """A matrix and what is known about it; near_null (n, m) spans what a multigrid's coarse levels must hold."""

    name: str
    A: sp.csr_matrix
    near_null: np.ndarray | None = None
    block: int = 1  # unknowns of a node, side by side
    symmetric: bool = True
    definite: bool = True
    dimensions: int = 3

    @property
    def b(self):
        return np.random.default_rng(0).standard_normal((self.A.shape[0], 1))


# -- diffusion -------------------------------------------------------------------------------------------------------


def diffusion(k, wind=None, stretch=None):
    """-div(k grad u) + wind . grad u for coefficients k of the cells of a grid of any dimension, upwinded.

    wind: (dimensions, *k.shape), a component for each axis, times the cell's size. stretch: what faces across each axis
    count, for cells that are not cubes.
    """
    cell, rows, cols, values = np.arange(k.size).reshape(k.shape), [], [], []
    diagonal = np.zeros(k.shape)
    for axis in range(k.ndim):
        weight = 1.0 if stretch is None else stretch[axis]
        low, high = (
            tuple(slice(*cut) if d == axis else slice(None) for d in range(k.ndim)) for cut in ((0, -1), (1, None))
        )
        face = weight * 2 / (1 / k[low] + 1 / k[high])
        from_low, from_high = (np.zeros(k.shape), np.zeros(k.shape)) if wind is None else _inflow(wind[axis])
        rows += [cell[high].ravel(), cell[low].ravel()]
        cols += [cell[low].ravel(), cell[high].ravel()]
        values += [-(face + from_low[high]).ravel(), -(face + from_high[low]).ravel()]
        diagonal[low] += face
        diagonal[high] += face
        for edge in (0, -1):
            np.moveaxis(diagonal, axis, 0)[edge] += 2 * weight * np.moveaxis(k, axis, 0)[edge]
        diagonal += from_low + from_high
    parts = [np.concatenate(part) for part in (values, rows, cols)]
    return sorted_csr(sp.coo_matrix((parts[0], (parts[1], parts[2])), (k.size, k.size)) + sp.diags(diagonal.ravel()))


def _inflow(wind):
    """What comes in from the lower and from the upper neighbour."""
    return np.maximum(wind, 0), np.maximum(-wind, 0)


def balls(n, stiffnesses, count=60):
    """The coefficients of n^3 cells: 1, and in balls of 4 to 12 % of the side one of `stiffnesses`, in turn."""
    rng, k = np.random.default_rng(11), np.ones((n, n, n))
    x, y, z = np.ogrid[:n, :n, :n]
    for i in range(count):
        radius, centre = (0.04 + 0.08 * rng.random()) * n, n * rng.random(3)
        inside = (x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2 < radius**2
        k[inside] = stiffnesses[i % len(stiffnesses)]
    return k


def cells(n, stiffness, share=0.2):
    """The coefficients of n^3 cells: 1, and `stiffness` in a share of them, at random."""
    return np.where(np.random.default_rng(11).random((n, n, n)) < share, stiffness, 1.0)


def checkerboard(n, stiffness, fields=16):
    """The coefficients of n x n cells: 1 on the white fields of a board of `fields` a side and `stiffness` on the
    black."""
    field = np.arange(n) * fields // n
    return np.where((field[:, None] + field[None, :]) % 2 == 1, stiffness, 1.0)


def layers(n, thickness, ratio):
    """n x n x `thickness` cells that are `ratio` times as wide as high, in layers of stiffness 1 and 100."""
    k = np.broadcast_to(np.where(np.arange(thickness) // 2 % 2 == 1, 100.0, 1.0), (n, n, thickness)).copy()
    return diffusion(k, stretch=(1.0, 1.0, float(ratio) ** 2))


def rotating_wind(n, speed):
    """A wind that turns about the middle of a cube and drifts along it, for diffusion()."""
    c = np.arange(n) / n - 0.5
    x, y, _ = np.meshgrid(c, c, c, indexing="ij")
    return speed * np.stack([y, -x, np.full_like(x, 0.3)])


def helmholtz(n, share):
    """The seven-point matrix of n^3 points less a multiple of the identity: `share` of its least eigenvalue."""
    least = 3 * (2 - 2 * np.cos(np.pi / (n + 1)))
    return sorted_csr(poisson3d(n) - share * least * sp.eye(n**3))


# -- elasticity ------------------------------------------------------------------------------------------------------


def hexahedron(sides, nu):
    """The stiffness (24, 24) of a box of eight nodes for a modulus of 1, by two Gauss points along each axis."""
    signs = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    lame, shear = nu / ((1 + nu) * (1 - 2 * nu)), 0.5 / (1 + nu)
    law = np.diag([2 * shear] * 3 + [shear] * 3)
    law[:3, :3] += lame
    whole = np.zeros((24, 24))
    for point in signs / np.sqrt(3):
        terms = 1 + signs * point
        slopes = np.stack(
            [signs[:, d] * terms[:, (d + 1) % 3] * terms[:, (d + 2) % 3] / 4 / sides[d] for d in range(3)]
        )
        strain = np.zeros((6, 8, 3))
        for d in range(3):
            strain[d, :, d] = slopes[d]
        for row, (p, q) in enumerate(((1, 2), (0, 2), (0, 1)), 3):
            strain[row, :, p], strain[row, :, q] = slopes[q], slopes[p]
        strain = strain.reshape(6, 24)
        whole += strain.T @ law @ strain * np.prod(sides) / 8
    return (whole + whole.T) / 2


def elasticity(shape, sides, moduli, nu, rollers=False):
    """(A, rigid motions): a box of `shape` hexahedra, each of given sides and modulus, clamped where the first axis
    begins; or on rollers where each axis begins, as an eighth of a symmetric body: its nodes there do not move along
    that axis."""
    nodes = np.arange(np.prod(np.add(shape, 1))).reshape(np.add(shape, 1))
    corners = [nodes[i : i + shape[0], j : j + shape[1], k : k + shape[2]].ravel()
               for i in (0, 1) for j in (0, 1) for k in (0, 1)]  # fmt: skip
    dofs = (3 * np.stack(corners, 1)[:, :, None] + np.arange(3)).reshape(-1, 24)
    values = moduli.ravel()[:, None, None] * hexahedron(sides, nu)
    rows, cols = np.broadcast_to(dofs[:, :, None], values.shape), np.broadcast_to(dofs[:, None, :], values.shape)
    whole = sp.coo_matrix((values.ravel(), (rows.ravel(), cols.ravel())), (3 * nodes.size,) * 2).tocsr()
    at = np.stack(np.meshgrid(*(np.arange(m + 1) * h for m, h in zip(shape, sides, strict=True)), indexing="ij"), -1)
    at, free = at.reshape(-1, 3), np.ones((nodes.size, 3), bool)
    free[at == 0 if rollers else at[:, 0] == 0] = False
    free = free.ravel()
    return sorted_csr(whole[free][:, free]), rigid_motions(at)[free]


def rigid_motions(at):
    """(3 n, 6): the translations and rotations of n points, about their middle."""
    x, y, z = (at - at.mean(0)).T
    motions = np.zeros((len(at), 3, 6))
    motions[:, [0, 1, 2], [0, 1, 2]] = 1
    motions[:, 0, 3], motions[:, 1, 3] = -y, x
    motions[:, 1, 4], motions[:, 2, 4] = -z, y
    motions[:, 0, 5], motions[:, 2, 5] = z, -x
    return motions.reshape(-1, 6)


def voids(n, least=1e-9):
    """The moduli of n^3 elements of a design half way: solid bars and `least` in the holes between them, softer at the
    rims."""
    c = np.arange(n) / n
    x, y, z = np.meshgrid(c, c, c, indexing="ij")
    wave = sum(np.cos(2 * np.pi * (3 * p + 0.25 * q)) for p, q in ((x, y), (y, z), (z, x)))
    return least + (1 - least) * np.clip(0.5 + 1.5 * (wave + 0.8), 0, 1) ** 3


# -- graphs ----------------------------------------------------------------------------------------------------------


def power_law(n, degree=4):
    """The Laplacian of a graph that grows by preferential attachment (Barabasi and Albert), its first node taken
    out."""
    rng, width = np.random.default_rng(7), 2 * degree
    ends = np.zeros(width * n, np.int64)  # of all edges: an end drawn from it is a node in proportion to its degree
    for node in range(1, n):
        at = width * (node - 1)
        ends[at : at + degree] = ends[rng.integers(0, max(at, 1), degree)]
        ends[at + degree : at + width] = node
    old, new = ends[: width * (n - 1)].reshape(-1, 2, degree).transpose(1, 0, 2).reshape(2, -1)
    half = sp.coo_matrix((np.ones(old.size), (old, new)), (n, n))
    graph = (half + half.T).tocsr()
    return sorted_csr((sp.diags(np.asarray(graph.sum(1)).ravel()) - graph).tocsr()[1:, 1:])


# -- all of them -----------------------------------------------------------------------------------------------------


def _elastic(name, n, moduli, nu, height=1.0, rollers=False):
    A, motions = elasticity((n, n, n), (1 / n, 1 / n, height / n), moduli, nu, rollers)
    yield Problem(f"{name}, rigid motions", A, near_null=motions, block=1 if rollers else 3)
    yield Problem(name, A)


def hard(quick=False):
    """Makers of the problems of the benchmark, by name: {name: () -> Problems}; a name has one problem or two."""
    n, side = (24, 200) if quick else (60, 1000)
    least = 12 if quick else 33
    most = 16 if quick else 47
    plate = (24, 24, 2) if quick else (96, 96, 2)

    def one(name, make, **more):
        return {name: lambda: iter([Problem(name, make(), **more)])}

    def elastic(name, m, moduli, nu, **more):
        return {name: lambda: _elastic(name, m, moduli(m), nu, **more)}

    def solid(m):
        return np.ones((m, m, m))

    def thin():
        A, motions = elasticity(plate, (1 / plate[0], 1 / plate[0], 0.005), np.ones(plate), 0.3)
        yield Problem("thin plate", A, near_null=motions, block=3)

    makers = {}
    makers |= one(f"balls 1e6, {n}^3", lambda: diffusion(balls(n, [1e6])))
    makers |= one(f"balls 1e-6, {n}^3", lambda: diffusion(balls(n, [1e-6])))
    makers |= one(f"balls mixed, {n}^3", lambda: diffusion(balls(n, [1e-3, 1e6])))
    makers |= one("cells 1e6, 24^3", lambda: diffusion(cells(24, 1e6)))
    makers |= one(f"checkerboard 1e4, {side}^2", lambda: diffusion(checkerboard(side, 1e4)), dimensions=2)
    makers |= one("thin layers", lambda: layers(side // 5, 20, 30))
    makers |= {"thin plate": thin}
    for m in (least, most):
        size = f"{round(3 * m * (m + 1) ** 2 / 1000)}K"
        makers |= elastic(f"elasticity {size} voids 1e-9", m, voids, 0.3)
        makers |= elastic(f"elasticity {size} nu 0.49", m, solid, 0.49)
    size = f"{round(3 * least * (least + 1) ** 2 / 1000)}K"
    makers |= elastic(f"elasticity {size} rollers", least, solid, 0.3, rollers=True)
    makers |= elastic(f"elasticity {size} flat", least, solid, 0.3, height=0.1)
    makers |= one(f"convection, balls 1e6, {n}^3", lambda: diffusion(balls(n, [1e6]), rotating_wind(n, 1000.0)),
                  symmetric=False)  # fmt: skip
    makers |= one(f"helmholtz below, {n}^3", lambda: helmholtz(n, 0.9))
    makers |= one(f"helmholtz above, {n}^3", lambda: helmholtz(n, 10.0), definite=False)
    makers |= one("power-law graph", lambda: power_law(20000 if quick else 200000))
    return makers
