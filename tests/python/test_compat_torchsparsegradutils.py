# SPDX-License-Identifier: Apache-2.0
"""lacuna.compat.torchsparsegradutils: the peer's calls over Lacuna, and what it gets wrong, right."""

import pytest
import torch
from one_graph import ONE_GRAPH
from reference import same
from sparse_cases import check, check2, differentiates, random

import lacuna
import lacuna.compat.torchsparsegradutils as tsgu
from lacuna.compat.torchsparsegradutils import cupy, distributions, encoders, jax, utils
from lacuna.compat.torchsparsegradutils.utils import random_sparse
from lacuna.torch import SparseTensor

D, C = torch.float64, torch.complex128
LAYOUTS = [torch.sparse_coo, torch.sparse_csr]
layouts = pytest.mark.parametrize("layout", LAYOUTS, ids=["coo", "csr"])


def dense_matrix(n=6, m=6, dtype=D, seed=0, shift=0.0):
    """About half of its entries are zero."""
    whole = random(n, m, like=torch.zeros(1, dtype=dtype), seed=seed)
    kept = random(n, m, like=torch.zeros(1, dtype=D), seed=seed + 50) > 0
    made = torch.where(kept, whole, torch.zeros((), dtype=dtype))
    return made + shift * torch.eye(n, m, dtype=dtype)


def sparse(dense, layout):
    return dense.to_sparse_coo().coalesce() if layout is torch.sparse_coo else dense.to_sparse_csr()


def positive(n=6, dtype=D):
    a = dense_matrix(n, n, dtype)
    return a @ a.mH + n * torch.eye(n, dtype=dtype)


def compare(function, twin, A, *others):
    """Values and gradients, of A on its places and in its layout, against a dense twin."""
    A, dense = A.detach().requires_grad_(), A.detach().to_dense().requires_grad_()
    ours, theirs = ([t.detach().clone().requires_grad_() for t in others] for _ in range(2))
    got, want = function(A, *ours), twin(dense, *theirs)
    same(got, want, 1e-8)
    weights = random(*got.shape, like=got)
    (got * weights).sum().abs().backward()
    (want * weights).sum().abs().backward()
    assert A.grad.layout == A.layout
    same(A.grad.to_dense(), torch.where(dense.detach() != 0, dense.grad, torch.zeros_like(dense)), 1e-7)
    for a, b in zip(ours, theirs):
        same(a.grad, b.grad, 1e-7)


@layouts
@pytest.mark.parametrize("dtype", [torch.float32, D, C], ids=str)
def test_sparse_mm(layout, dtype):
    """The peer's complex gradients lack conjugates."""
    A, B = sparse(dense_matrix(5, 4, dtype), layout), random(4, 3, like=torch.zeros(1, dtype=dtype))
    tolerance = 1e-5 if dtype == torch.float32 else 1e-10
    same(tsgu.sparse_mm(A, B), A.to_dense() @ B, tolerance)
    if dtype != torch.float32:
        compare(tsgu.sparse_mm, torch.matmul, A, B)
    same(tsgu.sparse_mm(A, B[:, 0]), A.to_dense() @ B[:, 0], tolerance)  # the peer takes no vectors


def test_sparse_mm_of_batches_with_places_of_their_own():
    dense = torch.stack([dense_matrix(5, 4, seed=s) for s in range(3)])
    B = random(3, 4, 2, like=dense)
    compare(tsgu.sparse_mm, torch.bmm, dense.to_sparse_coo().coalesce(), B)


def test_sparse_mm_of_entries_that_come_twice():
    """The peer multiplies their gradients by their number."""
    values = torch.tensor([1.0, 2, 3], dtype=D, requires_grad=True)
    A = torch.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], values, (2, 2))
    tsgu.sparse_mm(A, torch.full((2, 2), 1.0, dtype=D)).sum().backward()
    same(values.grad, torch.full((3,), 2.0, dtype=D))


@layouts
def test_sparse_mm_differentiates_twice(layout):
    """The peer's mixed second derivative is wrong without a word."""
    dense, B = dense_matrix(5, 4), random(4, 3, like=torch.zeros(1, dtype=D))
    where = dense.nonzero(as_tuple=True)

    def function(values, B):
        whole = torch.zeros_like(dense).index_put(where, values)
        return tsgu.sparse_mm(_assembled(whole, layout, dense), B).pow(2)

    inputs = dense[where].clone().requires_grad_(), B.requires_grad_()
    assert check(function, inputs) and check2(function, inputs)


def _assembled(whole, layout, dense):
    """A torch sparse tensor of a dense one on fixed places, differentiable to every order."""
    rows, columns = dense.nonzero(as_tuple=True)
    tensor = SparseTensor(whole[rows, columns], rows, columns, dense.shape)
    return tensor.to_sparse_coo() if layout is torch.sparse_coo else tensor.to_sparse_csr()


@layouts
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_solves(layout, upper, transpose, unit):
    dense = dense_matrix(shift=4.0)
    dense = dense.triu() if upper else dense.tril()
    B = random(6, 2, like=dense)

    def twin(A, B):
        A = A - torch.diag(A.diagonal()) + torch.eye(6, dtype=D) if unit else A
        return torch.linalg.solve(A.T if transpose else A, B)

    function = lambda A, B: tsgu.sparse_triangular_solve(A, B, upper, unit, transpose)  # noqa: E731
    compare(function, twin, sparse(dense, layout), B)  # a stored diagonal with unit is refused there, in backward
    same(function(sparse(dense, layout), B[:, 0]), twin(dense, B)[:, 0])


def test_triangular_solves_of_batches():
    dense = torch.stack([dense_matrix(seed=s, shift=4.0).tril() for s in range(2)])
    compare(lambda A, B: tsgu.sparse_triangular_solve(A, B, upper=False), torch.linalg.solve,
            dense.to_sparse_coo().coalesce(), random(2, 6, 3, like=dense))  # fmt: skip


@layouts
@pytest.mark.parametrize("how", ["own", "bicgstab", "exact", "transposing", "tol"])
def test_generic_solves_of_matrices_that_are_not_symmetric(layout, how):
    """The peer hands A, not its transpose, to the solver of the derivative."""
    exact = lambda A, B: torch.linalg.solve(A.to_dense(), B)  # noqa: E731
    settings = utils.BICGSTABSettings(reltol=1e-12)
    options = {
        "own": {}, "tol": {"tol": 1e-12}, "exact": {"solve": exact},
        "bicgstab": {"solve": lambda A, B: utils.bicgstab(A, B, settings=settings)},
        "transposing": {"solve": exact, "transpose_solve": lambda A, B: torch.linalg.solve(A.to_dense().mH, B)},
    }[how]  # fmt: skip
    dense = dense_matrix(shift=4.0)
    function = lambda A, B: tsgu.sparse_generic_solve(A, B, **options)  # noqa: E731
    compare(function, torch.linalg.solve, sparse(dense, layout), random(6, like=dense))
    compare(function, torch.linalg.solve, sparse(dense, layout), random(6, 2, like=dense))


def test_generic_solves_differentiate_twice_and_forward():
    """The peer books second derivatives in A at (i, j) for (j, i)."""
    dense = dense_matrix(shift=4.0)
    where, b = dense.nonzero(as_tuple=True), random(6, like=dense)
    exact = lambda A, B: torch.linalg.solve(A.to_dense(), B)  # noqa: E731
    for options in ({}, {"solve": exact}):

        def function(values, b, options=options):
            whole = torch.zeros_like(dense).index_put(where, values)
            return tsgu.sparse_generic_solve(_assembled(whole, torch.sparse_csr, dense), b, **options)

        inputs = dense[where].clone().requires_grad_(), b.clone().requires_grad_()
        assert check(function, inputs) and check2(function, inputs)
    A = SparseTensor.from_torch(sparse(dense, torch.sparse_csr))
    same(torch.func.jacfwd(lambda b: tsgu.sparse_generic_solve(A, b, solve=exact))(b), torch.linalg.inv(dense))


def test_generic_solves_of_small_right_hand_sides_and_cotangents():
    dense = dense_matrix(shift=4.0)
    A, b = sparse(dense, torch.sparse_csr).requires_grad_(), random(6, like=dense)
    for solver in (utils.bicgstab, utils.minres):
        matrix, M = (dense, A) if solver is utils.bicgstab else (positive(), sparse(positive(), torch.sparse_csr))
        same(solver(M, b * 1e-200) / 1e-200, torch.linalg.solve(matrix, b), 1e-3)
    solve = lambda A, B: utils.bicgstab(A, B, settings=utils.BICGSTABSettings(reltol=1e-11))  # noqa: E731
    (tsgu.sparse_generic_solve(A, b, solve=solve).sum() * 1e-12).backward()
    twin = dense.clone().requires_grad_()
    torch.linalg.solve(twin, b).sum().backward()
    same(A.grad.to_dense() / 1e-12, torch.where(dense != 0, twin.grad, torch.zeros_like(dense)), 1e-8)


def test_the_quick_start_of_solves():
    dense = positive()
    A, b = sparse(dense, torch.sparse_csr), random(6, like=dense).requires_grad_()
    x = tsgu.sparse_generic_solve(A, b, solve=utils.linear_cg, tol=1e-10)
    same(x, torch.linalg.solve(dense, b.detach()), 1e-8)
    same(cupy.sparse_solve_c4t(A, b, solve="cg", tol=1e-10), x, 1e-8)
    same(jax.sparse_solve_j4t(A, b), x, 1e-8)


def test_matrices_of_scipy_and_back():
    dense = dense_matrix(4, 5)
    rows, coo = cupy.t2c_csr(dense.to_sparse_csr()), cupy.t2c_coo(dense.to_sparse_coo())
    assert rows.format == "csr" and coo.format == "coo"
    for made in (rows, coo):
        same(torch.tensor(made.toarray()), dense)
    same(cupy.c2t_csr(rows).to_dense(), dense), same(cupy.c2t_coo(coo).to_dense(), dense)


@pytest.mark.parametrize("solve", [None, "gmres", "spsolve", "cgs"])
def test_solves_of_the_cupy_module_need_no_transposing(solve):
    dense = dense_matrix(shift=4.0)
    options = {} if solve in (None, "spsolve") else {"tol": 1e-12}
    function = lambda A, B: cupy.sparse_solve_c4t(A, B, solve, solve, **options)  # noqa: E731
    compare(function, torch.linalg.solve, sparse(dense, torch.sparse_coo), random(6, 2, like=dense))


def test_matrices_and_solvers_of_jax():
    """The default derivative there solves with A where A^T is meant, and turns on 64 bits for the whole program."""
    of_jax = pytest.importorskip("jax")
    linalg = pytest.importorskip("jax.scipy.sparse.linalg")
    dense = dense_matrix(shift=4.0)
    single = dense.float()
    same(jax.j2t_coo(jax.t2j_coo(single.to_sparse_coo())).to_dense(), single)
    same(jax.j2t_csr(jax.t2j_csr(single.to_sparse_csr())).to_dense(), single)
    same(jax.j2t(jax.spmm_t4j(single.to_sparse_csr())(jax.t2j(single))), single @ single, 1e-5)
    if not of_jax.config.jax_enable_x64:
        with pytest.raises(lacuna.DtypeError, match="jax_enable_x64"):
            jax.t2j(dense)
    A, b = single.to_sparse_csr().requires_grad_(), random(6, like=single).requires_grad_()
    twin, twin_b = single.clone().requires_grad_(), b.detach().clone().requires_grad_()
    torch.linalg.solve(twin, twin_b).sum().backward()
    for back in (None, linalg.bicgstab):
        A.grad = b.grad = None
        jax.sparse_solve_j4t(A, b, linalg.bicgstab, back, tol=1e-6).sum().backward()
        same(b.grad, twin_b.grad, 1e-3)
        same(A.grad.to_dense(), torch.where(single != 0, twin.grad, torch.zeros_like(single)), 1e-3)


def test_solves_of_the_cupy_module_use_their_options():
    dense, seen = positive(), {}
    A, b = sparse(dense, torch.sparse_csr), random(6, like=dense)

    def mine(A, B, **options):
        seen.update(options)
        return torch.linalg.solve(A.to_dense(), B)

    cupy.sparse_solve_c4t(A, b, solve=mine, tol=1e-3, maxiter=7, more=1)
    assert seen == {"tol": 1e-3, "maxiter": 7, "more": 1}
    with pytest.raises(lacuna.ConvergenceError):
        cupy.sparse_solve_c4t(A, b, solve="gmres", restart=1, maxiter=1, tol=1e-12)
    with pytest.raises(ValueError, match="must be one of"):
        cupy.sparse_solve_c4t(A, b, solve="cg", tolerance=1)
    same(cupy.sparse_solve_c4t(A, b, solve="lu", tol=1e-3), torch.linalg.solve(dense, b))


@layouts
@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (5, 5)])
def test_least_squares(layout, shape):
    dense = random(*shape, like=torch.zeros(1, dtype=D))
    B = random(shape[0], 2, like=dense)
    compare(tsgu.sparse_generic_lstsq, lambda A, B: torch.linalg.pinv(A) @ B, sparse(dense, layout), B)


@layouts
def test_least_squares_by_functions_of_the_caller(layout):
    dense = dense_matrix(7, 4, shift=2.0)
    own = lambda A, B: torch.linalg.pinv(A.to_dense()) @ B  # noqa: E731
    turning = lambda A, B: torch.linalg.pinv(A.to_dense()).mH @ B  # noqa: E731
    where = dense.nonzero(as_tuple=True)
    for given in ({"lstsq": own}, {"lstsq": own, "transpose_lstsq": turning}):
        function = lambda A, B, given=given: tsgu.sparse_generic_lstsq(A, B, **given)  # noqa: E731
        for B in (random(7, like=dense), random(7, 2, like=dense)):
            compare(function, lambda A, B: torch.linalg.pinv(A) @ B, sparse(dense, layout), B)

        def of_values(values, b, function=function):
            return function(_assembled(torch.zeros_like(dense).index_put(where, values), layout, dense), b)

        inputs = dense[where].clone().requires_grad_(), random(7, like=dense).requires_grad_()
        assert check(of_values, inputs) and check2(of_values, inputs)
    with pytest.raises(lacuna.ShapeError, match="as many rows"):
        tsgu.sparse_generic_lstsq(sparse(dense.T, layout), random(4, like=dense), lstsq=own)


def test_products_by_segments_and_by_index():
    a, b = random(9, 4, like=torch.zeros(1, dtype=D)), random(3, 4, 2, like=torch.zeros(1, dtype=D))
    lengths, index = torch.tensor([4, 0, 5]), torch.tensor([2, 0, 1, 1, 0, 2, 2, 0, 1], dtype=torch.int32)
    want = torch.cat([part @ matrix for part, matrix in zip(a.split([4, 0, 5]), b)])
    same(tsgu.segment_mm(a, b, lengths), want), same(tsgu.gather_mm(a, b, index), (a[:, None] @ b[index.long()])[:, 0])
    with pytest.raises(lacuna.ShapeError, match="add up"):
        tsgu.segment_mm(a, b, torch.tensor([4, 0, 4]))
    inputs = a.requires_grad_(), b.requires_grad_()
    assert check(lambda a, b: tsgu.gather_mm(a, b, index), inputs) and check(
        lambda a, b: tsgu.segment_mm(a, b, lengths), inputs
    )


@pytest.mark.parametrize("layout", [*LAYOUTS, torch.sparse_csc], ids=["coo", "csr", "csc"])
@pytest.mark.parametrize("zeros", [True, False])
def test_logsumexp(layout, zeros):
    dense = dense_matrix(5, 4)
    dense[2] = 0  # an empty row
    A = dense.to_sparse_csc() if layout is torch.sparse_csc else sparse(dense, layout)
    filled = dense if zeros else dense.masked_fill(dense == 0, -torch.inf)
    for dim in (0, 1, -1, [0, 1]):
        for keepdim in (False, True):
            same(tsgu.sparse_logsumexp(A, dim, keepdim, zeros), filled.logsumexp(dim, keepdim))
    columns, rows = tsgu.sparse_bidir_logsumexp(A, include_zeros=zeros)
    same(columns, filled.logsumexp(0)), same(rows, filled.logsumexp(1))
    padded = tsgu.sparse_bidir_logsumexp(A, include_zeros=zeros, output_layout="padded")
    assert padded.shape == (2, 5) and padded[0, 4] == -torch.inf
    same(padded[0, :4], columns), same(padded[1], rows)
    nested = tsgu.sparse_bidir_logsumexp(A, include_zeros=zeros, output_layout="nested").unbind()
    same(nested[0], columns), same(nested[1], rows)


def test_logsumexp_has_gradients_and_batches():
    dense = torch.stack([dense_matrix(5, 4, seed=s) for s in range(2)])
    same(tsgu.sparse_logsumexp(dense.to_sparse_coo(), 2), dense.logsumexp(2))
    compare(lambda A: tsgu.sparse_logsumexp(A, 0), lambda A: A.logsumexp(0), sparse(dense[0], torch.sparse_csr))
    with pytest.raises(lacuna.ArgumentError):
        tsgu.sparse_logsumexp(dense.to_sparse_coo(), 0)


# -- iterations -------------------------------------------------------------------------------------------------------


def test_conjugate_gradients_with_functions_and_matrices():
    dense, b = positive(), random(6, 2, like=torch.zeros(1, dtype=D))
    want = torch.linalg.solve(dense, b)
    for A in (dense, sparse(dense, torch.sparse_csr), lambda x: dense @ x):
        same(utils.linear_cg(A, b, tolerance=1e-11), want, 1e-8)
        same(utils.linear_cg(A, b[:, 0], tolerance=1e-11, initial_guess=want[:, 0] + 0.1), want[:, 0], 1e-8)
    small = utils.linear_cg(dense * 1e-200, b * 1e-200, tolerance=1e-11)
    same(small, want, 1e-8)
    x, info = utils.linear_cg(dense, b, tolerance=1e-10, return_info=True)
    assert info.converged.all() and info.reason == "converged" and info.true_relative_residual.shape == (2,)
    assert 0 < info.iterations <= 7 <= info.matvecs  # a matrix of six rows
    preconditioned = utils.linear_cg(dense, b, tolerance=1e-11, preconditioner=lambda r: r / dense.diagonal()[:, None])
    same(preconditioned, want, 1e-8)
    with pytest.warns(UserWarning, match="linear_cg"):
        assert not utils.linear_cg(dense, b, tolerance=1e-14, max_iter=1, return_info=True)[1].converged.all()
    with pytest.raises(lacuna.ConvergenceError):
        utils.linear_cg(dense, b, tolerance=1e-14, max_iter=1)


def test_conjugate_gradients_with_tridiagonal_matrices():
    """T of all steps has the eigenvalues of the matrix, and its first moment is that of the column."""
    dense, b = positive(), random(6, 3, like=torch.zeros(1, dtype=D))
    for A in (dense, sparse(dense, torch.sparse_csr), lambda x: dense @ x):
        x, T = utils.linear_cg(A, b, n_tridiag=2, tolerance=1e-11)
        same(x, torch.linalg.solve(dense, b), 1e-8)
        assert T.shape == (2, 6, 6)
        for one, column in zip(T, b.T):
            same(torch.linalg.eigvalsh(one), torch.linalg.eigvalsh(dense), 1e-9)
            same(one[0, 0], column @ dense @ column / column.dot(column), 1e-12)
    scale = dense.diagonal().rsqrt()
    scaled = scale[:, None] * dense * scale
    for preconditioner in (lambda r: r / dense.diagonal()[:, None], torch.diag(1 / dense.diagonal())):
        _, T = utils.linear_cg(dense, b, n_tridiag=3, preconditioner=preconditioner)
        same(torch.linalg.eigvalsh(T), torch.linalg.eigvalsh(scaled).expand(3, 6), 1e-9)
    options = {"n_tridiag": 1, "max_tridiag_iter": 3, "initial_guess": b[:, 1], "return_info": True}
    _, T, info = utils.linear_cg(dense, b[:, 0], **options)
    left = b[:, 0] - dense @ b[:, 1]
    same(T[0, 0, 0], left @ dense @ left / left.dot(left), 1e-12)
    assert T.shape == (1, 3, 3) and info.converged.all()
    batch = torch.stack([dense, 2 * dense])
    _, T = utils.linear_cg(batch, b.expand(2, 6, 3), n_tridiag=1)
    same(torch.linalg.eigvalsh(T[0, 1]), 2 * torch.linalg.eigvalsh(dense), 1e-9)
    same(utils.linear_cg(torch.eye(4, dtype=D), b[:4], n_tridiag=3)[1], torch.ones(3, 1, 1, dtype=D))
    with pytest.raises(lacuna.ShapeError, match="n_tridiag is 4; rhs has 3 columns"):
        utils.linear_cg(dense, b, n_tridiag=4)


def test_iterations_have_gradients_in_matrix_and_right_hand_side():
    dense, b = positive(), random(6, like=torch.zeros(1, dtype=D))
    for solve in (lambda A, b: utils.linear_cg(A, b, tolerance=1e-12),
                  lambda A, b: utils.bicgstab(A, b, settings=utils.BICGSTABSettings(reltol=1e-12)),
                  lambda A, b: utils.minres(A, b, settings=utils.MINRESSettings(minres_tolerance=1e-12))):  # fmt: skip
        compare(solve, torch.linalg.solve, sparse(dense, torch.sparse_csr), b)


def test_minimal_residuals_with_shifts():
    """The peer stops by the size of updates: 4e-5 of Poisson's residual, without a word."""
    dense, b = positive() - 9 * torch.eye(6, dtype=D), random(6, like=torch.zeros(1, dtype=D))
    tight = utils.MINRESSettings(minres_tolerance=1e-11)
    x = utils.minres(dense, b, settings=tight)
    same(x, torch.linalg.solve(dense, b), 1e-7)
    shifts = torch.tensor([0.0, 1.5, 20.0], dtype=D)
    want = torch.stack([torch.linalg.solve(2 * dense + s * torch.eye(6, dtype=D), b) for s in shifts])
    same(utils.minres(dense, b, shifts=shifts, value=2.0, settings=tight), want, 1e-7)


def test_bicgstab_says_when_it_fails(caplog):
    """NaN there, and silence at the cap."""
    turn = torch.tensor([[0.0, 1], [-1, 0]], dtype=D)
    with pytest.raises(lacuna.LacunaError):
        utils.bicgstab(turn, torch.tensor([1.0, 0], dtype=D), settings=utils.BICGSTABSettings(matvec_max=2))
    dense = dense_matrix(shift=4.0)
    b = random(6, like=dense)
    for precon in (torch.diag(1 / dense.diagonal()), lambda r: r / dense.diagonal()[:, None]):
        same(utils.bicgstab(dense, b, settings=utils.BICGSTABSettings(reltol=1e-11, precon=precon)),
             torch.linalg.solve(dense, b), 1e-8)  # fmt: skip
    with caplog.at_level("INFO", "bicgstab"):
        utils.bicgstab(dense, b)
    assert "residual" in caplog.text


def test_lsmr():
    dense, b = random(8, 4, like=torch.zeros(1, dtype=D)), random(8, like=torch.zeros(1, dtype=D))
    x, _ = utils.lsmr(sparse(dense, torch.sparse_csr), b)
    same(x, torch.linalg.lstsq(dense, b[:, None]).solution[:, 0], 1e-8)
    x, _ = utils.lsmr(dense, b, damp=0.5)
    same(x, torch.linalg.solve(dense.T @ dense + 0.25 * torch.eye(4, dtype=D), dense.T @ b), 1e-8)


@pytest.mark.parametrize("shape", [(8, 4), (4, 8)])
@pytest.mark.parametrize("dtype", [D, C])
def test_lsmr_of_functions(shape, dtype):
    like, tight = torch.zeros(1, dtype=dtype), {"atol": 1e-13, "btol": 1e-13}
    for scale in (1.0, 1e-9):  # tolerances are relative
        dense, b = scale * random(*shape, like=like), random(shape[0], like=like, seed=1)
        want = torch.linalg.lstsq(dense, b[:, None], driver="gelsd").solution[:, 0] * scale
        for adjoint in ({"Armat": lambda y: dense.mH @ y}, {"Armat": dense.mH.contiguous()}, {"n": shape[1]}):
            x, iterations = utils.lsmr(lambda x: dense @ x, b, **adjoint, **tight)
            same(x * scale, want, 1e-9)
            assert 0 < iterations <= 12
    dense, start = random(*shape, like=like), random(shape[1], like=like, seed=2)
    differentiates(lambda b: utils.lsmr(lambda x: dense @ x, b, n=shape[1], damp=0.5, x0=start, **tight)[0], b)
    differentiates(lambda b: utils.lsmr(lambda x: dense @ x, b, lambda y: dense.mH @ y, damp=0.5, **tight)[0], b)
    if shape[0] < shape[1]:
        near = lambda b: utils.lsmr(lambda x: dense @ x, b, n=shape[1], x0=start, **tight)[0]  # noqa: E731
        same(near(b), start + torch.linalg.pinv(dense) @ (b - dense @ start), 1e-9)
        differentiates(near, b)


def test_lsmr_of_an_ill_conditioned_function():
    like = torch.zeros(1, dtype=D)
    u, v = (torch.linalg.qr(random(n, 50, like=like, seed=n)).Q for n in (200, 50))
    sizes = torch.logspace(0, -6, 50, dtype=D)
    dense, b = u * sizes @ v.T, u.sum(1) + 1e-3 * random(200, like=like)
    want = v @ (u.T @ b / sizes)
    x, _ = utils.lsmr(lambda x: dense @ x, b, n=50, atol=1e-14, btol=1e-14, maxiter=20000)
    assert torch.linalg.norm(x - want) <= 1e-7 * torch.linalg.norm(want)


def test_lsmr_refuses():
    dense, b = random(8, 4, like=torch.zeros(1, dtype=D)), random(8, like=torch.zeros(1, dtype=D))
    with pytest.raises(lacuna.errors.ArgumentError, match="give Armat, .* or n"):
        utils.lsmr(lambda x: dense @ x, b)
    with pytest.raises(lacuna.errors.ArgumentError, match="not linear"):
        utils.lsmr(lambda x: (dense @ x) ** 2, b, n=4)
    with pytest.raises(lacuna.errors.ConvergenceError):
        utils.lsmr(lambda x: dense @ x, b, n=4, atol=1e-13, maxiter=1)


# -- matrices ---------------------------------------------------------------------------------------------------------


@layouts
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_random_matrices(layout, index):
    made = utils.rand_sparse((5, 7), 12, layout, indices_dtype=index, values_dtype=D)
    assert made._nnz() == 12 and made.shape == (5, 7) and made.dtype == D and made.layout == layout
    assert utils.rand_sparse((5, 7), 0, layout)._nnz() == 0  # the peer loops for ever
    assert utils.rand_sparse((2, 5, 5), 6, layout).shape == (2, 5, 5)
    if layout is torch.sparse_csr:
        assert made.crow_indices().dtype == index
    for upper in (True, False):
        for strict in (True, False):
            tri = utils.rand_sparse_tri((6, 6), 9, layout, upper=upper, strict=strict, value_range=(2, 3)).to_dense()
            k = (1 if strict else 0) * (1 if upper else -1)
            assert torch.equal(tri, tri.triu(k) if upper else tri.tril(k)) and (tri != 0).sum() == 9
            assert tri[tri != 0].min() >= 2 and tri.max() <= 3
    well = utils.rand_sparse((9, 9), 20, layout, values_dtype=D, well_conditioned=True).to_dense()
    assert torch.linalg.cond(well) < 1e4 and well.diagonal().min() >= 1
    spd, dense = random_sparse.make_spd_sparse(8, layout, D, index, torch.device("cpu"))
    same(spd.to_dense(), dense)
    assert torch.linalg.eigvalsh(dense).min() > 0
    with pytest.raises(lacuna.ShapeError):
        utils.rand_sparse((2, 2), 5)
    name = "generate_random_sparse_strictly_triangular_csr_matrix"
    assert getattr(random_sparse, name)((4, 4), 3, upper=False)._nnz() == 3


@layouts
def test_block_diagonals_and_back(layout):
    parts = [sparse(dense_matrix(3, 2), layout), sparse(dense_matrix(2, 4, seed=5), layout)]
    whole = utils.sparse_block_diag(*parts)
    assert whole.layout == layout
    same(whole.to_dense(), torch.block_diag(*[part.to_dense() for part in parts]))
    back = utils.sparse_block_diag_split(whole, (3, 2), (2, 4))
    for one, other in zip(back, parts):
        same(one.to_dense(), other.to_dense())


def test_identities_stacks_and_conversions():
    same(utils.sparse_eye((3, 3)).to_dense(), torch.eye(3, dtype=D))
    batch = utils.sparse_eye((2, 3, 3), layout=torch.sparse_csr, values_dtype=torch.float32)
    same(batch.to_dense(), torch.eye(3).expand(2, 3, 3))
    A = dense_matrix(5, 4)
    same(utils.convert_coo_to_csr(A.to_sparse_coo()).to_dense(), A)
    coo = A.to_sparse_coo().coalesce()
    turned = torch.randperm(coo._nnz(), generator=torch.Generator().manual_seed(0))
    parts = utils.convert_coo_to_csr_indices_values(coo.indices()[:, turned], 5, coo.values()[turned])
    same(torch.sparse_csr_tensor(*parts, (5, 4)).to_dense(), A)
    order = utils.convert_coo_to_csr_indices_values(coo.indices()[:, turned], 5)[2]
    same(coo.values()[turned][order], parts[2])
    stacked = utils.stack_csr([A.to_sparse_csr(), 2 * A.to_sparse_csr()])
    same(stacked.to_dense(), torch.stack([A, 2 * A]))
    with pytest.raises(lacuna.ArgumentError):
        utils.stack_csr([A])


def test_names_to_come_are_there():
    for call in (distributions.SparseMultivariateNormal, encoders.PairwiseEncoder, utils.cov_nagao_test,
                 distributions.SparseMultivariateNormalNative, utils.mean_hotelling_t2_test):  # fmt: skip
        with pytest.raises(NotImplementedError):
            call()


def test_compiled_as_one_graph_and_vmapped():
    """Torch's transforms and compiler take no sparse tensors of torch; they take ours."""
    dense = dense_matrix(shift=4.0)
    A, b, bs = SparseTensor.from_dense(dense), random(6, 2, like=dense), random(3, 6, 2, like=dense)
    lower, exact = A.tril(), lambda A, B: torch.linalg.solve(A.to_dense(), B)
    pairs = (
        (lambda b: tsgu.sparse_mm(A, b), lambda b: dense @ b),
        (lambda b: tsgu.sparse_generic_solve(A, b), lambda b: torch.linalg.solve(dense, b)),
        (lambda b: tsgu.sparse_triangular_solve(lower, b, upper=False), lambda b: torch.linalg.solve(dense.tril(), b)),
        (lambda b: tsgu.sparse_generic_lstsq(A, b), lambda b: torch.linalg.solve(dense, b)),
    )
    for function, twin in pairs:
        same(torch.func.vmap(function)(bs), twin(bs))
        same(torch.compile(function, fullgraph=ONE_GRAPH, backend="aot_eager")(b), twin(b))
        same(torch.func.jacfwd(function)(b), torch.func.jacfwd(twin)(b))
    same(torch.func.vmap(lambda b: tsgu.sparse_generic_solve(A, b, solve=exact))(bs), torch.linalg.solve(dense, bs))
    function = lambda v: tsgu.sparse_logsumexp(A.with_values(v), 1)  # noqa: E731
    compiled = torch.compile(function, fullgraph=ONE_GRAPH, backend="aot_eager")
    same(compiled(A.values), dense.logsumexp(1))
