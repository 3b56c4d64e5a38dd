# SPDX-License-Identifier: Apache-2.0
"""Products of SparseTensor against dense twins: vectors, columns, both sides, sparse ones; their derivatives."""

import pytest
import torch
from reference import same
from sparse_cases import GIVEN, differentiates, random

import lacuna
from lacuna.torch import SparseTensor

every = pytest.mark.parametrize("name", GIVEN)


def sides(given):
    """Vectors and columns for each matrix, from the right and from the left."""
    m, n = given.matrix().shape[-2:]
    right = [random(*given.batch, n, like=given.values), random(*given.batch, n, 2, like=given.values)]
    left = [random(*given.batch, m, like=given.values), random(*given.batch, 2, m, like=given.values)]
    return right, left


@every
def test_products_on_either_side(name):
    given = GIVEN[name]
    a, dense = given.tensor(), given.matrix()
    (v, x), (u, y) = sides(given)
    same(a @ v, (dense @ v[..., None])[..., 0])
    same(a @ x, dense @ x)
    same(u @ a, (u[..., None, :] @ dense)[..., 0, :])
    same(y @ a, y @ dense)
    same(a.matmul(y.mT, op="H"), dense.mH @ y.mT)
    same(a.mv(v), a @ v)


@every
def test_products_differentiate(name):
    given = GIVEN[name]
    (v, x), (u, _) = sides(given)
    differentiates(lambda values, x: given.tensor(values) @ x, given.values, x)
    differentiates(lambda values, v: given.tensor(values) @ v, given.values, v, second=False)
    differentiates(lambda values, u: u @ given.tensor(values), given.values, u, second=False)


def test_the_rank_decides_what_a_right_hand_side_is():
    given = GIVEN["square"]
    values = torch.stack([given.values * (i + 1) for i in range(5)])  # as many matrices as rows
    a = given.tensor().with_values(values)
    assert a.shape == (5, 5, 5)
    b = random(5, 5, like=values)
    dense = a.to_dense()
    same(a @ b, torch.einsum("bij,bj->bi", dense, b))  # a vector for each matrix
    same(a @ b[:, :, None], dense @ b[:, :, None])
    same(a @ b[0], dense @ b[0])  # one vector for all of them
    same(given.tensor() @ b, given.dense() @ b)  # no batch: columns
    same(given.tensor() @ b[None].expand(3, 5, 5), given.dense() @ b.expand(3, 5, 5))
    with pytest.raises(lacuna.ShapeError, match="a vector for each matrix, or"):
        GIVEN["batches"].tensor() @ b
    with pytest.raises(lacuna.ShapeError, match="it must be"):
        a @ b[:, :4]
    with pytest.raises(lacuna.ArgumentError, match="dense torch.Tensor"):
        a.matmul([1.0] * 5)


@pytest.mark.parametrize("left, right", [("wide", "square"), ("square", "batched"), ("batched", "complex"),
                                         ("blocks", "blocks"), ("batched_wide", "square")])  # fmt: skip
def test_sparse_products(left, right):
    p, q = GIVEN[left], GIVEN[right]
    product = p.tensor() @ q.tensor()
    promote = torch.promote_types(p.values.dtype, q.values.dtype)
    same(product.to_dense(), p.matrix().to(promote) @ q.matrix().to(promote))
    if p.values.dtype == q.values.dtype:
        function = lambda a, b: (p.tensor(a) @ q.tensor(b)).values  # noqa: E731
        differentiates(function, p.values, q.values, second=not p.block)


def test_products_with_torchs_sparse_tensors():
    p, q = GIVEN["wide"], GIVEN["square"]
    for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        other = q.dense().to_sparse(layout=layout)
        same((p.tensor() @ other).to_dense(), p.dense() @ q.dense())
        same((p.dense().to_sparse(layout=layout) @ q.tensor()).to_dense(), p.dense() @ q.dense())


def test_shapes_that_do_not_fit_are_said():
    with pytest.raises(lacuna.ShapeError, match="columns of the first"):
        GIVEN["wide"].tensor() @ GIVEN["wide"].tensor()
    with pytest.raises(TypeError):
        GIVEN["wide"].tensor() @ 3
    trailing = SparseTensor(torch.ones(1, 4), [0], [0], (2, 2, 4), (0, 1))
    with pytest.raises(lacuna.UnsupportedError, match="dense dimensions"):
        trailing @ torch.ones(2)


@every
def test_sddmm_is_the_gradient_of_a_product(name):
    given = GIVEN[name]
    a = given.tensor()
    m, n = given.matrix().shape[-2:]
    u, v = random(*given.batch, m, 2, like=given.values), random(*given.batch, n, 2, like=given.values)
    got = a.sddmm(u, v)
    mask = given.dense(torch.ones_like(given.values)).real != 0
    whole = u @ v.mH
    if given.block:
        (br, bc), at = given.block, len(given.batch)
        whole = whole.unflatten(at + 1, (-1, bc)).unflatten(at, (-1, br)).transpose(at + 1, at + 2)
    same(got.to_dense(), whole * mask)


def test_quadratic_forms_and_kronecker_products():
    given = GIVEN["complex"]
    x, y = random(5, 3, like=given.values), random(5, 3, like=given.values, seed=2)
    same(given.tensor().quadratic_form(x, y), torch.einsum("ik,ij,jk->k", x.conj(), given.dense(), y))
    same(given.tensor().quadratic_form(x[:, 0]), x[:, 0].conj() @ given.dense() @ x[:, 0])
    wide = GIVEN["wide"]
    same(wide.tensor().kron(GIVEN["square"].tensor()).to_dense(), torch.kron(wide.dense(), GIVEN["square"].dense()))
