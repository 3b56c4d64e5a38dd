# SPDX-License-Identifier: Apache-2.0
"""spmm and solve under every transform of torch, beside their dense twins; compiled in test_torch_compile.py."""

import pytest
import torch
from reference import CASES, TRANSFORMS, data, same, smooth

DTYPES = [torch.float64, torch.complex128]
each = pytest.mark.parametrize("name", CASES)
both = pytest.mark.parametrize("dtype", DTYPES, ids=["f64", "c128"])


def leaves(case, dtype, **shapes):
    return tuple(t.requires_grad_() for t in case.inputs(dtype, **shapes))


@each
@both
@pytest.mark.parametrize(
    "shapes", [{}, {"batch_a": (2,)}, {"batch_x": (2,), "k": 1}, {"batch_a": (2, 1), "batch_x": (3,), "k": 1}]
)
def test_gradcheck_in_both_modes(name, dtype, shapes):
    case = CASES[name]
    a, x = leaves(case, dtype, **shapes)
    same(case.function(a, x), case.twin(a, x))
    assert torch.autograd.gradcheck(case.function, (a, x), check_forward_ad=True, check_batched_grad=True)


@each
@both
def test_gradgradcheck_in_both_modes(name, dtype):
    case = CASES[name]
    a, x = leaves(case, dtype, k=2)
    assert torch.autograd.gradgradcheck(case.function, (a, x), check_fwd_over_rev=True, check_rev_over_rev=True)


@each
def test_gradgradcheck_of_a_shared_matrix(name):
    case = CASES[name]
    assert torch.autograd.gradgradcheck(
        case.function, leaves(case, torch.float64, batch_x=(2,), k=1), check_fwd_over_rev=True
    )


@each
@both
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_equal_the_dense_twin(name, dtype, transform):
    case = CASES[name]
    inputs = data(case, dtype)
    same(TRANSFORMS[transform](case.function, inputs), TRANSFORMS[transform](case.twin, inputs))


@each
def test_third_order(name):
    case = CASES[name]
    a, x = case.inputs(k=1)
    third = lambda f: torch.func.jacfwd(torch.func.hessian(smooth(lambda a: f(a, x))))(a)  # noqa: E731
    same(third(case.function), third(case.twin), rtol=1e-8)


@each
@pytest.mark.parametrize("order", [1, 2])
def test_autograd_within_one_level_of_grad(name, order):
    """Derivatives of the rule itself, at the level of torch.func.grad that it ran on; x depends on a there."""
    case = CASES[name]

    def inner(f):
        def loss(a, x):
            x = x * a.sum().sin()
            y = smooth(f)(a, x)
            for _ in range(order):
                ga, gx = torch.autograd.grad(y, (a, x), create_graph=True)
                y = (ga * ga).sum() + (gx * gx.cos()).sum()
            return y

        return torch.func.grad(loss, (0, 1))(*inputs)

    inputs = case.inputs(k=2)
    same(inner(case.function), inner(case.twin))


@each
def test_one_level_of_grad_over_what_autograd_records(name):
    """A tensor that autograd tracks, inside torch.func.grad: both have their derivatives."""
    case = CASES[name]

    def outer(f):
        a, x = (t.detach().requires_grad_() for t in inputs)
        ga = torch.func.grad(lambda a: smooth(f)(a, x))(a)
        return torch.autograd.grad((ga * ga).sum(), (a, x))

    inputs = case.inputs(k=2)
    same(outer(case.function), outer(case.twin))


@each
def test_mixed_second_derivatives(name):
    """d2/dX dA: where a detached operand in backward would show."""
    case = CASES[name]

    def mixed(f):
        a, x = (t.detach().requires_grad_() for t in inputs)
        (gx,) = torch.autograd.grad(smooth(f)(a, x), x, create_graph=True)
        (ga,) = torch.autograd.grad((gx * gx.detach().cos()).sum(), a)
        return ga

    inputs = case.inputs()
    same(mixed(case.function), mixed(case.twin))


@each
def test_tiny_and_huge_cotangents_keep_their_digits(name):
    case = CASES[name]
    a, x = leaves(case, torch.float64)
    y = case.function(a, x)
    bar = torch.randn_like(y)
    plain = torch.autograd.grad(y, (a, x), bar, retain_graph=True)
    for scale in (2.0**-500, 2.0**500):
        scaled = torch.autograd.grad(y, (a, x), bar * scale, retain_graph=True)
        same([g / scale for g in scaled], plain, rtol=1e-14)


@each
def test_only_what_is_asked_for_is_computed_and_kept(name):
    case = CASES[name]
    a, x = case.inputs()
    y = case.function(a, x.requires_grad_())
    assert [g is None for g in y.grad_fn.apply(torch.ones_like(y))] == [True, True, True, False]
    kept = y.grad_fn.saved_tensors
    assert all(t.shape == a.shape for t in kept) and len(kept) == 1  # the gradient in x reads the values alone
    assert case.function(a, x.detach()).grad_fn is None


@each
def test_lazy_and_strided_inputs_are_resolved(name):
    case = CASES[name]
    a, x = case.inputs(torch.complex128)
    lazy = x.conj().mT.contiguous().mT
    assert lazy.is_conj() or not lazy.is_contiguous()
    same(case.function(a.conj(), x.conj()), case.twin(a.conj(), x.conj()))
    same(case.function(a.conj(), lazy), case.twin(a.conj(), lazy))
    pending = x.conj().imag  # its sign is not yet applied
    assert pending.is_neg()
    same(case.function(a.real, pending), case.twin(a.real, -x.imag))
    y = case.function(a.requires_grad_(), x)
    (ga,) = torch.autograd.grad(y, a, torch.ones(1, 1, dtype=y.dtype).expand_as(y))  # a cotangent without strides
    (ge,) = torch.autograd.grad(case.twin(a, x), a, torch.ones_like(y))
    same(ga, ge)


@each
def test_grads_batched(name):
    """torch.autograd.grad(is_grads_batched=True) and jacobian(vectorize=True) use batched tensors of their own."""
    case = CASES[name]
    inputs = case.inputs()
    for of in (torch.autograd.functional.jacobian,):
        same(of(case.function, inputs, vectorize=True), of(case.twin, inputs))
    hessian = torch.autograd.functional.hessian
    same(hessian(smooth(case.function), inputs, vectorize=True), hessian(smooth(case.twin), inputs))


@each
def test_checkpoint(name):
    case = CASES[name]
    a, x = leaves(case, torch.float64)
    expected = torch.autograd.grad(smooth(case.twin)(a, x.sin()), (a, x))
    for reentrant in (False, True):
        a.grad = x.grad = None
        torch.utils.checkpoint.checkpoint(
            lambda a, x: smooth(case.function)(a, x.sin()), a, x, use_reentrant=reentrant
        ).backward()
        same((a.grad, x.grad), expected)


@each
def test_backward_on_another_thread(name):
    import threading

    case = CASES[name]
    a, x = leaves(case, torch.float64)
    loss = smooth(case.function)(a, x)
    expected = torch.autograd.grad(smooth(case.twin)(a, x), (a, x))
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()
    same((a.grad, x.grad), expected)
