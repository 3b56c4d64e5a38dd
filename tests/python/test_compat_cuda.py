# SPDX-License-Identifier: Apache-2.0
"""lacuna.compat on a CUDA device: the calls of the peers' first pages."""

import pytest
import torch
from reference import same

import lacuna.compat.torchsparsegradutils as tsgu
from lacuna.compat.numml.sparse import SparseCSRTensor, spsolve
from lacuna.compat.torch_sla import SparseTensor

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

DENSE = torch.tensor([[4.0, -1, 0], [-1, 4, -1], [0, -1, 4]], dtype=torch.float64)
B = torch.tensor([1.0, 2, 3], dtype=torch.float64)


@pytest.mark.parametrize(
    "words", [{}, {"backend": "cudss", "method": "cholesky"}, {"backend": "pytorch", "method": "cg"}], ids=str
)
def test_solves_on_cuda_with_words_of_backends(words):
    A = SparseTensor.from_dense(DENSE).cuda()
    x = A.solve(B.cuda(), **words)
    assert x.is_cuda
    same(x.cpu(), torch.linalg.solve(DENSE, B), 1e-8)
    same(A.cpu().det(), torch.linalg.det(DENSE))


def test_sparse_mm_on_cuda():
    A = DENSE.to_sparse_csr().cuda().requires_grad_()
    y = tsgu.sparse_mm(A, B[:, None].cuda())
    y.sum().backward()
    same(y.cpu(), DENSE @ B[:, None])
    assert A.grad.is_cuda and A.grad.layout is torch.sparse_csr


def test_compressed_rows_on_cuda():
    A = SparseCSRTensor(DENSE.cuda())
    assert A.indptr.is_cuda and A.indices.is_cuda
    same(spsolve(A, B.cuda()).cpu(), torch.linalg.solve(DENSE, B))
