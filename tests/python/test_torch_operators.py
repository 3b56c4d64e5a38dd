# SPDX-License-Identifier: Apache-2.0
"""Every operator on torch tensors, beside its dense twin: both orders, both modes, torch.func, compile."""

import pytest
import torch
from reference import dense, real_chart, same, smooth

import lacuna
import lacuna.torch as lt

P = lacuna.Pattern.from_coo([3, 0, 0, 1, 3, 3], [1, 2, 0, 1, 0, 1], (4, 3))  # row 2 is empty, (3, 1) comes twice
O = lacuna.Pattern.from_coo([0, 1, 2, 3], [2, 0, 1, 0], (4, 3))  # noqa: E741
Q = lacuna.Pattern.from_coo([0, 1, 2, 0, 2], [0, 1, 2, 2, 1], (3, 3))  # nonsymmetric, with a full diagonal
p, o, q, x, u = (P.nnz,), (O.nnz,), (Q.nnz,), (3, 2), (4, 2)


def at(pattern, matrix):
    _, columns, rows = (torch.tensor(s.copy()) for s in pattern.structure())
    return matrix[..., rows, columns]


def inverse(matrix, b):
    return torch.linalg.inv(matrix) @ b


# name -> (operator, dense twin, shapes of the inputs)
CASES = {
    "add": (lt.add, torch.add, ((2, 3, 1), (3, 2))),
    "sub": (lt.sub, torch.sub, ((3, 2), (2, 1, 2))),
    "mul": (lt.mul, torch.mul, ((2, 3, 1), (3, 2))),
    "scale": (lambda v: lt.scale(-2.5, v), lambda v: -2.5 * v, (x,)),
    "conj": (lt.conj, lambda v: v.conj().resolve_conj(), (x,)),
    "sum": (lambda v: lt.sum(v, (0, 2)), lambda v: v.sum((0, 2)), ((2, 3, 2),)),
    "broadcast": (
        lambda v: lt.apply("broadcast", v, shape=(3, 2), ints=(1, 0)),
        lambda v: v[:, None].expand(3, 2),
        ((3,),),
    ),
    "dot": (lt.dot, lambda v, w: (v.conj() * w).sum((-1, -2)), (x, x)),
    "reshape": (lambda v: lt.reshape(v, (2, 3)), lambda v: v.reshape(2, 3), (x,)),
    "remap": (
        lambda v: lt.to_dense(P, lt.remap(P.entries, v)),
        lambda v: dense(P, v.new_zeros(5).index_add(0, torch.tensor(P.entries.target), v)),
        ((6,),),
    ),
    "spmm": (lambda a, v: lt.spmm(P, a, v, "H"), lambda a, v: dense(P, a).mH @ v, (p, u)),
    "sddmm": (lambda v, w: lt.sddmm(P, v, w), lambda v, w: at(P, v @ w.mH), (u, x)),
    "spgemm": (lambda a, b: lt.spgemm(P, a, Q, b), lambda a, b: at(P.product(Q), dense(P, a) @ dense(Q, b)), (p, q)),
    "sampled_spgemm": (
        lambda a, b: lt.sampled_spgemm(O, P, a, Q, b, op_x="conjugated", op_y="T"),
        lambda a, b: at(O, dense(P, a).conj() @ dense(Q, b).mT),
        (p, q),
    ),
    "trisolve": (
        lambda a, b: lt.trisolve(Q, a, b, "upper", op="T"),
        lambda a, b: inverse(dense(Q, a).triu().mT, b),
        (q, x),
    ),
    "solve": (lambda a, b: lt.solve(Q, a, b), lambda a, b: inverse(dense(Q, a), b), (q, x)),
    "spadd": (lambda a, b: lt.spadd(P, a, O, b), lambda a, b: at(P.union(O)[0], dense(P, a) + dense(O, b)), (p, o)),
    "to_dense": (lambda a: lt.to_dense(P, a), lambda a: dense(P, a), (p,)),
}
each = pytest.mark.parametrize("name", CASES)
both = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["f64", "c128"])


def inputs(shapes, dtype=torch.float64):
    """Random numbers; values of the square matrix are kept well away from singular ones."""
    made = []
    for shape in shapes:
        t = torch.randn(*shape, dtype=dtype)
        if shape == q:
            t = 0.4 * t + 2 * at(Q, torch.eye(3))
        made.append(t.requires_grad_())
    return tuple(made)


@each
@both
def test_derivatives_of_every_operator(name, dtype):
    function, twin, shapes = CASES[name]
    point = inputs(shapes, dtype)
    same(function(*point), twin(*point))
    assert torch.autograd.gradcheck(function, point, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, point, check_fwd_over_rev=True)


@each
@both
def test_torch_func_of_every_operator(name, dtype):
    function, twin, shapes = CASES[name]
    point = tuple(t.detach() for t in inputs(shapes, dtype))
    for of in (torch.func.grad, torch.func.hessian):
        got, expected = (real_chart(smooth(f), *point) for f in (function, twin))
        same(of(got[0])(got[1]), of(expected[0])(expected[1]))
    batch = tuple(torch.stack([t, t * 1.25, t * 1.5], -1) for t in point)
    mapped = torch.func.vmap(function, -1)(*batch)
    same(mapped, torch.stack([twin(*[t[..., i] for t in batch]) for i in range(3)]))


@each
def test_every_operator_compiles_with_its_gradient(name):
    torch._dynamo.reset()
    function, twin, shapes = CASES[name]
    point = inputs(shapes)
    y, expected = torch.compile(function, fullgraph=True, backend="aot_eager")(*point), twin(*point)
    same(y, expected)
    bar = torch.randn_like(expected)
    same(torch.autograd.grad(y, point, bar), torch.autograd.grad(expected, point, bar))
