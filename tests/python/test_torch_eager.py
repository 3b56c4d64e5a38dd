# SPDX-License-Identifier: Apache-2.0
"""Calls that go straight to C: the same operator called again and again, in ways that C reads and in others."""

import pytest
import torch
from reference import dense, rectangular, same, square, values

import lacuna
import lacuna.torch as lt

P, S = rectangular(), square()


def leaves(dtype=torch.float64):
    a = values(P, dtype).requires_grad_()
    return a, torch.randn(P.shape[1], 2, dtype=dtype, requires_grad=True)


def gradients(y, inputs, bar, **more):
    return torch.autograd.grad(y, inputs, bar, retain_graph=True, **more)


def unaligned(t):
    """The same numbers, one number off."""
    return torch.cat([t.new_zeros(1), t.reshape(-1)])[1:].reshape(t.shape)


BARS = {
    "as they are": lambda bar: bar,
    "transposed": lambda bar: bar.T.contiguous().T,
    "expanded": lambda bar: bar[:, :1].expand(-1, 2),
    "unaligned": unaligned,
    "conjugated": torch.conj,
    "negated": lambda bar: bar if bar.is_complex() else torch.complex(bar, -bar).conj().imag,
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["f64", "c128"])
@pytest.mark.parametrize("kind", BARS)
def test_adjoints_of_every_kind_give_the_same(kind, dtype):
    """Twice each, for the first one makes what the second one finds; those that C reads as they are come between."""
    (a, x), plain = leaves(dtype), torch.randn(P.shape[0], 2, dtype=dtype)
    bar = BARS[kind](plain).to(dtype)
    y, twin = lt.spmm(P, a, x), dense(P, a) @ x
    for each in (bar, plain, bar):
        same(gradients(y, (a, x), each), gradients(twin, (a, x), each.resolve_conj().resolve_neg()))


@pytest.mark.parametrize("kind", ["as they are", "transposed"])
def test_what_backward_reads_is_unpacked_once(kind):
    """Hooks may copy from elsewhere, and those of a checkpoint compute anew."""
    (a, x), unpacked = leaves(), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: unpacked.append(t) or t):
        y = lt.spmm(P, a, x)
    for count in (2, 4):
        gradients(y, (a, x), BARS[kind](torch.ones_like(y)))
        assert len(unpacked) == count


def test_backward_follows_who_wants_and_what_was_used():
    """One operator with two results, whose derivatives differ by who asks."""
    dtype = torch.complex128
    a = values(S, dtype).requires_grad_()
    sign, logabs = lt.slogdet(S, a)
    twin = torch.linalg.slogdet(dense(S, a))
    for _ in range(2):
        same(gradients(logabs, a, None), gradients(twin.logabsdet, a, None))
        same(gradients(sign.real, a, None), gradients(twin.sign.real, a, None))
        same(gradients(logabs + sign.imag, a, None), gradients(twin.logabsdet + twin.sign.imag, a, None))
    a, x = leaves()
    for wanted in ((a,), (x,), (a, x), (a,)):
        parts = [t if any(t is w for w in wanted) else t.detach() for t in (a, x)]
        y, twin = lt.spmm(P, *parts), dense(P, parts[0]) @ parts[1]
        same(gradients(y.sum(), wanted, None), gradients(twin.sum(), wanted, None))


def test_a_graph_of_derivatives_goes_step_by_step_and_plain_ones_do_not():
    a, x = leaves()
    y, bar = lt.spmm(P, a, x), torch.ones(P.shape[0], 2, dtype=a.dtype)
    plain = gradients(y, (a, x), bar)
    recorded = gradients(y, (a, x), bar, create_graph=True)
    assert [g.requires_grad for g in (*plain, *recorded)] == [False, False, True, True]
    same(plain, recorded)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(bar, bar)
        tangents = [torch.autograd.forward_ad.unpack_dual(g).tangent for g in gradients(y, (a, x), dual)]
    same(tangents, plain)


@pytest.mark.parametrize("k", [2, 0])
def test_tensors_without_numbers_have_results_without_numbers(k):
    a, x = (t.detach().to("meta") for t in leaves())
    y = lt.spmm(P, a, x[:, :k])
    assert y.is_meta and y.shape == (P.shape[0], k)


def test_the_pattern_may_go_before_backward():
    pattern = lacuna.Pattern.from_coo([0, 1], [1, 0], (2, 2))
    a, x = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2,), (2, 1)))
    y = lt.spmm(pattern, a, x)
    del pattern
    for _ in range(2):
        same(gradients(y.sum(), (a, x), None), (x.detach().flip(0)[:, 0], a.detach().flip(0)[:, None]))
