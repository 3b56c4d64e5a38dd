# SPDX-License-Identifier: Apache-2.0
"""Matrices straight into the functions of lacuna.torch: a matrix stands for its pattern and its values."""

import numpy as np
import pytest
import torch
from one_graph import ONE_GRAPH
from sparse_cases import GIVEN, SQUARES, check

import lacuna
import lacuna.torch as lt

sp = pytest.importorskip("scipy.sparse")


def right(given, *columns):
    shape = (*given.batch, given.matrix().shape[-2], *columns)
    return torch.randn(shape, dtype=given.values.dtype, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("name", SQUARES)
def test_a_matrix_stands_for_its_pattern_and_its_values(name, columns):
    given = GIVEN[name]
    A, dense, b = given.tensor(), given.matrix(), right(given, *columns)
    wide = b if columns else b.unsqueeze(-1)
    torch.testing.assert_close(lt.spmm(A, b), (dense @ wide).reshape(b.shape))
    torch.testing.assert_close(lt.solve(A, b), torch.linalg.solve(dense, wide).reshape(b.shape))
    torch.testing.assert_close(lt.solve(A, b, "H"), A.solve(b, op="H"))
    torch.testing.assert_close(lt.solve(solver=A, b=b, op="T"), A.solve(b, op="T"))


def test_as_many_matrices_as_rows_are_no_columns():
    given = GIVEN["square"]
    A = given.tensor().with_values(torch.stack([given.values * k for k in range(1, 6)]))  # 5 matrices of 5 rows
    b = torch.randn(5, 5, dtype=torch.float64)
    torch.testing.assert_close(lt.solve(A, b), A.solve(b))
    torch.testing.assert_close(lt.quadratic_form(A, b, b), A.quadratic_form(b, b))
    x, rest = lt.lstsq(A, b, residual=True)
    torch.testing.assert_close(x, A.solve(b))
    assert rest.shape == b.shape


def test_gradients_are_in_the_order_of_the_entries():
    given = GIVEN["square"]
    b = right(given)
    for function in (lt.solve, lt.spmm, lt.lstsq):
        assert check(lambda v: function(given.tensor(v), b), given.values.clone().requires_grad_())
    for function in (lt.logdet, lt.row_sum, lt.to_dense, lt.selected_inverse):
        assert check(lambda v: function(given.tensor(v)), given.values.clone().requires_grad_())
    assert check(lambda v: lt.spgemm(given.tensor(v), given.tensor(2 * v)), given.values.clone().requires_grad_())


@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr", "to_sparse_csc"])
def test_sparse_tensors_of_torch_and_scipy_are_matrices(layout):
    given = GIVEN["square"]
    A, b = given.tensor(), right(given)
    own = getattr(A, layout)().requires_grad_()
    x = lt.solve(own, b)
    torch.testing.assert_close(x, A.solve(b))
    (bar,) = torch.autograd.grad(x.sum(), own)
    assert bar.layout is own.layout
    torch.testing.assert_close(lt.spmm(sp.csr_array(given.matrix().numpy()), b), A @ b)


def test_patterns_and_matrices_beside_each_other():
    given = GIVEN["square"]
    A, dense = given.tensor(), given.matrix()
    pattern, slots = A.pattern, A.slots()
    for made in (lt.spgemm(A, A), lt.spgemm(pattern, slots, A), lt.spgemm(A, pattern, slots), lt.spgemm(A, pb=A)):
        torch.testing.assert_close(lt.to_dense(pattern.product(pattern), made), dense @ dense)
    u = torch.randn(5, 2, dtype=torch.float64)
    torch.testing.assert_close(lt.sddmm(A, u, u), lt.sddmm(pattern, u, u))
    torch.testing.assert_close(lt.inverse_on(A, A), A.inverse_on().slots())


def test_compiled_by_inductor_and_mapped():
    given = GIVEN["square"]
    A, b = given.tensor(), right(given)
    compiled = torch.compile(lambda A, b: lt.solve(A, b) + lt.spmm(A, b), fullgraph=ONE_GRAPH)
    torch.testing.assert_close(compiled(A, b), A.solve(b) + A @ b)
    many = torch.stack([given.values, 2 * given.values])
    mapped = torch.func.vmap(lambda v: lt.solve(A.with_values(v), b))(many)
    torch.testing.assert_close(mapped, A.with_values(many).solve(b))


def test_what_is_no_matrix_is_refused():
    A, b = GIVEN["square"].tensor(), torch.ones(5, dtype=torch.float64)
    with pytest.raises(lacuna.ArgumentError, match="stands for pattern and values"):
        lt.solve(A, A.slots(), b)
    with pytest.raises(lacuna.ArgumentError, match="solve: expected a lacuna.Pattern, got Tensor; values follow"):
        lt.solve(A.to_dense(), b)
    with pytest.raises(lacuna.ArgumentError, match="got SparseTensor; lacuna.torch has this function for it"):
        lacuna.solve(A, b.numpy())
    with pytest.raises(lacuna.ArgumentError, match="spmm: expected a lacuna.Pattern, got ndarray"):
        lacuna.spmm(np.eye(3), np.ones(3))
