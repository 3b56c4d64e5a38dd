# SPDX-License-Identifier: Apache-2.0
"""Products and array operators on torch tensors."""

import pytest
import torch
from reference import FORMS, dense, rectangular, same, square, values

import lacuna
import lacuna.torch as lt
from lacuna.torch._tensors import ready

check = torch.autograd.gradcheck
check2 = torch.autograd.gradgradcheck
both = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["f64", "c128"])
pattern = rectangular()


def leaf(*shape, dtype):
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


@both
@pytest.mark.parametrize("form", FORMS)
def test_spmm_in_every_form(dtype, form):
    a = values(pattern, dtype).requires_grad_()
    op = FORMS[form](dense(pattern, a))
    x = leaf(op.shape[1], 2, dtype=dtype)
    same(lt.spmm(pattern, a, x, op=form), op @ x)
    same(lt.spmm(pattern, a, x[:, 0], op=form), op @ x[:, 0])
    assert check(lambda a, x: lt.spmm(pattern, a, x, form), (a, x), check_forward_ad=True)
    assert check2(lambda a, x: lt.spmm(pattern, a, x, form), (a, x))


@both
def test_sddmm(dtype):
    u, v = leaf(7, 2, dtype=dtype), leaf(5, 2, dtype=dtype)
    _, columns, rows = pattern.structure()
    same(lt.sddmm(pattern, u, v), (u @ v.mH)[rows.tolist(), columns.tolist()])
    f = lambda u, v: lt.sddmm(pattern, u, v)  # noqa: E731
    assert check(f, (u, v), check_forward_ad=True) and check2(f, (u, v), check_fwd_over_rev=True)


@both
def test_spgemm_and_spadd(dtype):
    pb = square(5)
    a, b = leaf(pattern.nnz, dtype=dtype), leaf(pb.nnz, dtype=dtype)
    product = lambda a, b: lt.spgemm(pattern, a, pb, b)  # noqa: E731
    same(lt.to_dense(pattern.product(pb), product(a, b)), dense(pattern, a) @ dense(pb, b))
    assert check(product, (a, b), check_forward_ad=True) and check2(product, (a, b), check_fwd_over_rev=True)
    other = lacuna.Pattern.from_coo([0, 6, 2, 2], [4, 0, 1, 3], (7, 5))
    c = leaf(other.nnz, dtype=dtype)
    total = lambda a, c: lt.spadd(pattern, a, other, c)  # noqa: E731
    same(lt.to_dense(pattern.union(other)[0], total(a, c)), dense(pattern, a) + dense(other, c))
    assert check(total, (a, c), check_forward_ad=True) and check2(total, (a, c))
    sampled = lambda a, b: lt.sampled_spgemm(other, pattern, a, pb, b, op_x="N", op_y="H")  # noqa: E731
    assert check(sampled, (a, b), check_forward_ad=True) and check2(sampled, (a, b), check_fwd_over_rev=True)


@both
def test_array_operators(dtype):
    x, y = leaf(4, 3, 2, dtype=dtype), leaf(3, 1, dtype=dtype)
    for function, twin in [
        (lt.add, torch.add), (lt.sub, torch.sub), (lt.mul, torch.mul),
        (lambda x, y: lt.conj(x) + y, lambda x, y: x.conj() + y),
        (lambda x, y: lt.scale(-2.5, x) + y, lambda x, y: -2.5 * x + y),
        (lambda x, y: lt.sum(x, (0, 2)) + y, lambda x, y: x.sum((0, 2)) + y),
        (lambda x, y: lt.sum(x) + y, lambda x, y: x.sum() + y),
        (lambda x, y: lt.reshape(x, (6, 4)).sum(1)[:3, None] * y, lambda x, y: x.reshape(6, 4).sum(1)[:3, None] * y),
        (lambda x, y: lt.dot(x, x * y), lambda x, y: (x.conj() * x * y).sum((-1, -2))),
    ]:  # fmt: skip
        same(function(x, y), twin(x, y))
        assert check(function, (x, y), check_forward_ad=True) and check2(function, (x, y))
        batch = torch.stack([x, x.sin()], 1)
        same(torch.func.vmap(function, (1, None))(batch, y), torch.func.vmap(twin, (1, None))(batch, y))


def test_duplicates_get_the_full_cotangent():
    entries = lacuna.Pattern.from_coo([1, 0, 1], [2, 0, 2], (2, 3))
    v = torch.randn(3, dtype=torch.float64, requires_grad=True)
    lt.spmm(entries, lt.remap(entries.entries, v), torch.ones(3, 1, dtype=torch.float64)).sum().backward()
    same(v.grad, torch.ones(3, dtype=torch.float64))


def test_float32_and_complex64():
    for dtype in (torch.float32, torch.complex64):
        a, x = leaf(pattern.nnz, dtype=dtype), leaf(5, 3, dtype=dtype)
        same(lt.spmm(pattern, a, x), dense(pattern, a) @ x, rtol=1e-5)
        same(torch.autograd.grad(lt.spmm(pattern, a, x).abs().sum(), (a, x)),
             torch.autograd.grad((dense(pattern, a) @ x).abs().sum(), (a, x)), rtol=1e-5)  # fmt: skip


def test_empty_sizes():
    none = lacuna.Pattern.from_coo([], [], (3, 4))
    a, x = leaf(0, dtype=torch.float64), leaf(4, 2, dtype=torch.float64)
    y = lt.spmm(none, a, x)
    y.sum().backward()
    same((y, a.grad, x.grad), (torch.zeros(3, 2).double(), torch.zeros(0).double(), torch.zeros(4, 2).double()))
    same(
        lt.spmm(pattern, leaf(0, pattern.nnz, dtype=torch.float64), leaf(5, 2, dtype=torch.float64)),
        torch.zeros(0, 7, 2).double(),
    )


def test_unaligned_tensors_are_copied_before_c_sees_them():
    a, x = values(pattern), torch.randn(5, 2, dtype=torch.float64)
    memory = bytearray(b"\0" + a.numpy().tobytes())
    off = torch.frombuffer(memory, dtype=torch.float64, offset=1)
    assert off.data_ptr() % 8
    same(lt.spmm(pattern, off, x), dense(pattern, a) @ x)
    assert all(t.data_ptr() % 8 == 0 for t in ready("spmm", [off, x])[1])


def test_optimisers_step_on_values():
    torch.manual_seed(1)
    target = torch.randn(7, 3, dtype=torch.float64)
    x = torch.randn(5, 3, dtype=torch.float64)
    a = torch.nn.Parameter(values(pattern))
    optimiser = torch.optim.Adam([a], lr=0.05)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        loss = (lt.spmm(pattern, a, x) - target).pow(2).sum()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
