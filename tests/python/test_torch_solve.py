# SPDX-License-Identifier: Apache-2.0
"""Solves on torch tensors: every form, factors that are used again, symmetric and triangular systems."""

import pytest
import torch
from reference import FORMS, dense, same, smooth, square, values

import lacuna
import lacuna.torch as lt

check = torch.autograd.gradcheck
check2 = torch.autograd.gradgradcheck
both = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["f64", "c128"])
pattern = square()


def inputs(dtype=torch.float64, k=2):
    return values(pattern, dtype).requires_grad_(), torch.randn(6, k, dtype=dtype, requires_grad=True)


@both
@pytest.mark.parametrize("form", FORMS)
def test_solve_in_every_form(dtype, form):
    a, b = inputs(dtype)
    f = lambda a, b: lt.solve(pattern, a, b, op=form)  # noqa: E731
    same(f(a, b), torch.linalg.solve(FORMS[form](dense(pattern, a)), b))
    same(f(a, b[:, 0]), torch.linalg.solve(FORMS[form](dense(pattern, a)), b[:, 0]))
    assert check(f, (a, b), check_forward_ad=True) and check2(f, (a, b), check_fwd_over_rev=True)


def blocks(dtype=torch.float64):
    """A pattern of 3 x 3 blocks in no order of its own, values that dominate the diagonal, and the matrix of both."""
    rows, cols = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3]), torch.tensor([0, 2, 1, 3, 0, 2, 2, 3])
    p = lacuna.Pattern.from_coo(rows.repeat_interleave(9) * 3 + torch.arange(9).repeat(8) // 3,
                                cols.repeat_interleave(9) * 3 + torch.arange(9).repeat(8) % 3, (12, 12))  # fmt: skip
    p = p.blocked((3, 3))[0]
    a = torch.randn(p.nnz, 3, 3, dtype=dtype)
    _, columns, own = p.structure()
    a[torch.tensor(columns == own)] += 8 * torch.eye(3, dtype=dtype)
    whole = lambda a: sum(  # noqa: E731
        torch.kron(torch.nn.functional.one_hot(torch.tensor(4 * i + j), 16).reshape(4, 4).to(dtype), a[z])
        for z, (i, j) in enumerate(zip(own, columns))
    )
    return p, a.requires_grad_(), whole


@both
@pytest.mark.parametrize("form", FORMS)
def test_solve_with_blocks_in_every_form(dtype, form):
    p, a, whole = blocks(dtype)
    b = torch.randn(12, 2, dtype=dtype, requires_grad=True)
    f = lambda a, b: lt.solve(p, a, b, op=form)  # noqa: E731
    same(f(a, b), torch.linalg.solve(FORMS[form](whole(a)), b))
    assert check(f, (a, b), check_forward_ad=True) and check2(f, (a, b), check_fwd_over_rev=True)


@pytest.mark.parametrize("method", ["auto", "lu", "pivoting_lu", "gmres", "bicgstab"])
def test_every_method_takes_blocks(method):
    p, a, whole = blocks()
    b = torch.randn(2, 12, 1, dtype=torch.float64)
    options = {"rtol": 1e-13} if method in ("gmres", "bicgstab") else {}
    solver = lacuna.Solver(p, method, **options)
    assert solver.pattern.same(p)
    values = torch.stack([a.detach(), 2 * a.detach()])
    factor = solver.factor(values.numpy())
    right = torch.stack([torch.linalg.solve(k * whole(a.detach()), b[i]) for i, k in enumerate((1, 2))])
    torch.testing.assert_close(torch.tensor(factor.solve(b.numpy())), right, rtol=1e-10, atol=1e-11)
    torch.testing.assert_close(lt.solve(factor, values, b), right, rtol=1e-10, atol=1e-11)
    assert solver.factor(values.numpy()).report["reuses"] >= 1
    again = factor.refactor(3 * values.numpy()).solve(b.numpy())
    torch.testing.assert_close(3 * torch.tensor(again), right, rtol=1e-10, atol=1e-11)
    with pytest.raises(lacuna.StaleError):
        lt.solve(factor, 2 * values, b)
    with pytest.raises(lacuna.ShapeError, match=r"\(\*batch, 8, 3, 3\), a block for each slot"):
        solver.factor(values.reshape(2, -1).numpy())
    with pytest.raises(lacuna.UnsupportedError, match="the solver's pattern has blocks"):
        lt.logdet(solver, a)


def test_no_derivative_factors_again():
    a, b = inputs()
    solver = lacuna.Solver(pattern)
    grads = torch.autograd.grad(smooth(lambda a, b: lt.solve(solver, a, b))(a, b), (a, b), create_graph=True)
    torch.autograd.grad(sum(g.pow(2).sum() for g in grads), (a, b))
    torch.func.jvp(lambda a: lt.solve(solver, a, b.detach()), (a.detach(),), (a.detach(),))
    report = solver.factor(a.detach().numpy()).report
    assert report["factorisations"] == 1 and report["reuses"] >= 6


def test_a_factor_serves_its_own_values_only():
    a, b = inputs()
    factor = pattern.solver().factor(a.detach().numpy())
    x = lt.solve(factor, a, b)
    same(
        torch.autograd.grad(x.pow(3).sum(), (a, b)),
        torch.autograd.grad(torch.linalg.solve(dense(pattern, a), b).pow(3).sum(), (a, b)),
    )
    with pytest.raises(lacuna.StaleError, match="factor was made of other values"):
        lt.solve(factor, a + 1, b)


def test_values_changed_in_place_are_not_used_in_backward():
    a, b = inputs()
    values_ = a.detach().clone().requires_grad_()
    x = lt.solve(pattern, values_ * 1.0, b)
    x.sum().backward()
    held = values_ * 1.0
    x = lt.solve(pattern, held, b)
    held.data.mul_(2)  # behind autograd's back: the solver sees other numbers and factors those
    expected = torch.linalg.solve(dense(pattern, held).mT, torch.ones_like(b))
    (got,) = torch.autograd.grad(x.sum(), b)
    same(got, expected.detach())
    held = values_ * 1.0
    x = lt.solve(pattern, held, b)
    with torch.no_grad():
        held.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        x.sum().backward()


@both
@pytest.mark.parametrize("method", ["auto", "cholesky", "ldlt", "lu"])
def test_hermitian_systems(dtype, method):
    """Both halves are stored, and each is a parameter of its own: gradients are taken through a symmetric chart."""
    lower, _ = pattern.tril()
    full, from_lower, from_upper = lower.union(lower.transpose()[0])
    transpose = lower.transpose()[1]
    solver = lacuna.Solver(full, method=method)
    diagonal = lower.diagonal()
    v = (values(pattern, dtype)[: lower.nnz] * 0.2).requires_grad_()
    b = torch.randn(6, 2, dtype=dtype, requires_grad=True)

    def hermitian(v):
        upper = lt.conj(lt.remap(transpose, v))
        both_halves = lt.add(lt.remap(from_lower, v), lt.remap(from_upper, upper))
        shift = torch.full((6,), 4.0, dtype=dtype)
        return lt.add(both_halves, lt.remap(from_lower, lt.remap(diagonal, shift, op="T")))

    f = lambda v, b: lt.solve(solver, hermitian(v), b)  # noqa: E731
    same(f(v, b), torch.linalg.solve(dense(full, hermitian(v)), b))
    assert check(f, (v, b), check_forward_ad=True)
    expected = {"auto": "cholesky"}.get(method, method)
    assert solver.factor(hermitian(v).detach().numpy()).report["method"] == expected


@both
@pytest.mark.parametrize("triangle", ["lower", "upper"])
@pytest.mark.parametrize("diagonal", ["stored", "unit"])
def test_triangular_systems(dtype, triangle, diagonal):
    a, b = inputs(dtype)
    part = torch.tril if triangle == "lower" else torch.triu
    k = {"stored": 0, ("unit", "lower"): -1, ("unit", "upper"): 1}.get(diagonal, {"lower": -1, "upper": 1}[triangle])

    def twin(a, b):
        m = part(dense(pattern, a), k)
        return torch.linalg.solve(m + torch.eye(6, dtype=dtype) if diagonal == "unit" else m, b)

    f = lambda a, b: lt.trisolve(pattern, a, b, triangle, diagonal)  # noqa: E731
    same(f(a, b), twin(a, b))
    grads = torch.autograd.grad(f(a, b).abs().pow(3).sum(), (a, b))
    same(grads, torch.autograd.grad(twin(a, b).abs().pow(3).sum(), (a, b)))
    _, columns, rows = (torch.tensor(s.copy()) for s in pattern.structure())
    read = (columns - rows <= k) if triangle == "lower" else (columns - rows >= k)
    assert (grads[0][~read] == 0).all()
    assert check2(f, (a, b), check_fwd_over_rev=True)
