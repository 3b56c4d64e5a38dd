# SPDX-License-Identifier: Apache-2.0
"""SparseTensor on a CUDA device: indices that are born there, products, solves, moves."""

import pytest
import torch
from reference import same
from sparse_cases import GIVEN, random

from lacuna.torch import SparseTensor

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.mark.parametrize("name", ["square", "int32", "batched", "complex", "wide"])
def test_products_on_cuda_equal_the_dense_twin(name):
    given = GIVEN[name]
    values = given.values.cuda().requires_grad_()
    a = SparseTensor(values, given.rows.cuda(), given.columns.cuda(), given.shape)
    x = random(*given.batch, given.shape[-1], 2, like=given.values)
    assert a.is_cuda and a.row_indices.is_cuda
    y = a @ x.cuda()
    same(y.cpu(), given.dense() @ x)
    (grad,) = torch.autograd.grad(y.abs().pow(2).sum(), values)
    twin = given.values.clone().requires_grad_()
    same(grad.cpu(), torch.autograd.grad((given.dense(twin) @ x).abs().pow(2).sum(), twin)[0])


@pytest.mark.parametrize("method", ["auto", "lu", "bicgstab"])
def test_solves_on_cuda_equal_the_dense_twin(method):
    given = GIVEN["square"]
    values, b = given.values.cuda().requires_grad_(), random(5, like=given.values)
    a = SparseTensor(values, given.rows.cuda(), given.columns.cuda(), given.shape)
    x, info = a.solve(b.cuda(), method=method, return_info=True)
    same(x.cpu(), torch.linalg.solve(given.dense(), b), 1e-7)
    assert info.converged
    (grad,) = torch.autograd.grad(a.solve(b.cuda(), method=method).pow(3).sum(), values)
    twin = given.values.clone().requires_grad_()
    expected = torch.autograd.grad(torch.linalg.solve(given.dense(twin), b).pow(3).sum(), twin)[0]
    same(grad.cpu(), expected, 1e-6)


def test_moves_to_cuda_and_back_keep_the_structure():
    a = GIVEN["square"].tensor()
    there = a.cuda()
    assert there.structure is a.structure and there.row_indices.is_cuda
    same(there.cpu().to_dense(), a.to_dense())
    same((there + there.T).to_dense().cpu(), (a + a.T).to_dense())
