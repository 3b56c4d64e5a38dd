# SPDX-License-Identifier: Apache-2.0
"""Every public method of SparseTensor: derivatives of both orders and modes, vmap, one compiled graph. A method that is
neither in the table nor among those without derivatives fails the last test."""

import inspect

import pytest
import torch
from derivative_table import KINDS, Line, compiles, differentiates, maps
from sparse_cases import GIVEN

import lacuna.torch as lt
from lacuna.torch import SparseTensor

_NO_MAP = "a line of a batch alone"
_SMOOTH = (
    "sqrt square exp expm1 log log1p log2 log10 sin cos tan sinh cosh tanh asin acos atan sigmoid reciprocal rsqrt erf"
)
_KINKED = "abs relu sign floor ceil round trunc"


def small(a):
    """Stored numbers within (0, 1)."""
    return (0.3 * a).sigmoid()


def complexes(a):
    return a.to(torch.complex128) * (0.6 + 0.8j)


def wide(a):
    return a[..., :3, :]


def definite(a):
    return a.T @ a + SparseTensor.eye(5)


_OFFSETS, _INNER, _ = (torch.tensor(side) for side in GIVEN["square"].tensor().pattern.structure())

_OF_BATCH = dict.fromkeys(("square", "int32"), _NO_MAP)
_LATER = "torch wraps no such tensor; test_sparse_tensor_layouts.py has what can be"
TABLE = {
    # operators
    "__neg__": Line(lambda a, x: -a),
    "__pos__": Line(lambda a, x: +a),
    "__abs__": Line(lambda a, x: abs(a)),
    "__pow__": Line(lambda a, x: small(a) ** 2.5),
    "__add__": Line(lambda a, x: (a + a.T, a + 2.0, a + a, a + x[..., None])),
    "__radd__": Line(lambda a, x: (2.0 + a, x[..., None] + a)),
    "__sub__": Line(lambda a, x: (a - a.T, a - 2.0, a - x[..., None])),
    "__rsub__": Line(lambda a, x: (2.0 - a, x[..., None] - a)),
    "__mul__": Line(lambda a, x: (a * a.T, a * a, a * 3.0, a * x[..., None])),
    "__rmul__": Line(lambda a, x: (3.0 * a, x[..., None] * a)),
    "__truediv__": Line(lambda a, x: (a / 3.0, a / small(a), a / (2 + x[..., None] ** 2))),
    "__rtruediv__": Line(lambda a, x: 2.0 / small(a)),
    "__mod__": Line(lambda a, x: a % 50.0),
    "__matmul__": Line(lambda a, x: (a @ x, a @ x[..., None], a @ a.T)),
    "__rmatmul__": Line(lambda a, x: (x @ a, x[..., None, :] @ a)),
    "__getitem__": Line(lambda a, x: (a[..., 1:4, :2], a[..., 2, :], a[..., [4, 0, 0], :], a[..., 0, 3])),
    "__iter__": Line(lambda a, x: [one * 2.0 for one in a]),
    # number by number
    **{name: Line(lambda a, x, name=name: getattr(small(a), name)()) for name in _SMOOTH.split()},
    **{name: Line(lambda a, x, name=name: getattr(a, name)()) for name in _KINKED.split()},
    "neg": Line(lambda a, x: a.neg()),
    "map": Line(lambda a, x: a.map(lambda values: values.sin() * values)),
    "clamp": Line(lambda a, x: a.clamp(-0.4, 0.4)),
    "pow": Line(lambda a, x: small(a).pow(3)),
    "softmax": Line(lambda a, x: (a.softmax(-1), a.softmax(-2))),
    "real": Line(lambda a, x: complexes(a).real()),
    "imag": Line(lambda a, x: complexes(a).imag()),
    "angle": Line(lambda a, x: (complexes(a) + 2.0).angle()),
    # products
    "matmul": Line(lambda a, x: (a.matmul(x), a.matmul(x, "T"), wide(a).matmul(x[..., None]))),
    "mv": Line(lambda a, x: a.mv(x)),
    "mm": Line(lambda a, x: a.mm(x[..., None])),
    "bmm": Line(lambda a, x: a.bmm(x[..., None])),
    "sddmm": Line(lambda a, x: (a.sddmm(x, 2 * x), a.sddmm(a @ x, x))),
    "quadratic_form": Line(lambda a, x: (a.quadratic_form(x), a.quadratic_form(x, a @ x))),
    "kron": Line(lambda a, x: a.kron(a.T)),
    # shapes and parts
    **{name: Line(lambda a, x, name=name: getattr(a, name)) for name in ("T", "mT")},
    **{name: Line(lambda a, x, name=name: getattr(complexes(a), name)) for name in ("H", "mH")},
    "t": Line(lambda a, x: a.t()),
    "transposed": Line(lambda a, x: a.transposed()),
    "transpose": Line(lambda a, x: a.transpose()),
    "conj": Line(lambda a, x: complexes(a).conj()),
    "coalesce": Line(lambda a, x: a.coalesce()),
    "merged": Line(lambda a, x: a.merged()),
    "tril": Line(lambda a, x: (a.tril(), a.tril(-1))),
    "triu": Line(lambda a, x: (a.triu(), a.triu(1))),
    "diagonal": Line(lambda a, x: (a.diagonal(), wide(a).diagonal())),
    "diag_part": Line(lambda a, x: a.diag_part()),
    "flatten_blocks": Line(lambda a, x: a[..., :4, :4].unflatten_blocks((2, 2)).flatten_blocks()),
    "unflatten_blocks": Line(lambda a, x: a[..., :4, :4].unflatten_blocks((2, 2))),
    "expand": Line(lambda a, x: a.expand(2, *a.batch_shape)),
    "unsqueeze": Line(lambda a, x: a.unsqueeze()),
    "squeeze": Line(lambda a, x: a.unsqueeze().squeeze()),
    "index_select": Line(lambda a, x: a.index_select(-1, [3, 1])),
    "select_matrix": Line(lambda a, x: a.select_matrix(1), **_OF_BATCH),
    "slots": Line(lambda a, x: a.slots()),
    "values": Line(lambda a, x: 2 * a.values),
    "with_values": Line(lambda a, x: a.with_values(a.values**2)),
    "to_dense": Line(lambda a, x: a.to_dense()),
    # reductions
    "sum": Line(lambda a, x: (a.sum(), a.sum(-1), a.sum(-2, keepdim=True))),
    "mean": Line(lambda a, x: (a.mean(), a.mean(-1), a.mean(-2, include_zeros=False))),
    "max": Line(lambda a, x: (a.max(), a.max(-1), a.max(-2, include_zeros=False))),
    "min": Line(lambda a, x: (a.min(), a.min(-1), a.min(-2, include_zeros=False))),
    "amax": Line(lambda a, x: a.amax(-1)),
    "amin": Line(lambda a, x: a.amin(-1)),
    "prod": Line(lambda a, x: (small(a).prod(-1), small(a).prod(-1, include_zeros=False))),
    "logsumexp": Line(lambda a, x: (a.logsumexp(-1), a.logsumexp(-2, include_zeros=False))),
    "norm": Line(lambda a, x: (a.norm(), a.norm(1), a.norm(float("inf")))),
    "trace": Line(lambda a, x: a.trace()),
    # solves
    "solve": Line(lambda a, x: (a.solve(x), a.solve(x[..., None], method="lu", op="H"))),
    "solve_batch": Line(lambda a, x: a.solve_batch(a.values, x)),
    "factor": Line(lambda a, x: a.factor().solve(x), vmap="factors of numbers", compile="factors of numbers"),
    "lu": Line(lambda a, x: a.lu().solve(x), vmap="factors of numbers", compile="factors of numbers"),
    "cholesky": Line(lambda a, x: definite(a).cholesky().solve(x), vmap="factors of numbers",
                     compile="factors of numbers"),
    "triangular_solve": Line(lambda a, x: (a.triangular_solve(x), a.triangular_solve(x, upper=True, op="T"))),
    "lstsq": Line(lambda a, x: (a[..., :3].lstsq(x), a.lstsq(x, damp=0.5), a[..., :3].lstsq(x, residual=True))),
    "det": Line(lambda a, x: a.det()),
    "logdet": Line(lambda a, x: a.logdet()),
    "slogdet": Line(lambda a, x: a.slogdet()[1]),
    "inverse_diagonal": Line(lambda a, x: a.inverse_diagonal()),
    "inverse_on": Line(lambda a, x: (a.inverse_on(), a.inverse_on(SparseTensor.eye(5)))),
    # constructors, copies
    "of": Line(lambda a, x: SparseTensor.of(a)),
    "diag": Line(lambda a, x: SparseTensor.diag(x, 1)),
    "tridiagonal": Line(lambda a, x: SparseTensor.tridiagonal(5, x, x[..., :4])),
    "from_pattern": Line(lambda a, x: SparseTensor.from_pattern(a.pattern, a.slots())),
    "from_csr": Line(lambda a, x: SparseTensor.from_csr(a.slots(), _OFFSETS, _INNER, (5, 5))),
    "from_csc": Line(lambda a, x: SparseTensor.from_csc(a.slots(), _OFFSETS, _INNER, (5, 5))),
    "from_dense": Line(lambda a, x: SparseTensor.from_dense(a.to_dense(), threshold=1e-6), compile="reads numbers"),
    "to": Line(lambda a, x: a.to(torch.complex128)),
    "double": Line(lambda a, x: a.double() * 2.0),
    "clone": Line(lambda a, x: a.clone()),
    "contiguous": Line(lambda a, x: a.contiguous()),
    "to_connected_components": Line(lambda a, x: list(a.to_connected_components()), compile="a search"),
    **{name: Line(lambda a, x, name=name: SparseTensor.of(getattr(a, name)()), forward=_LATER, vmap=_LATER,
                  compile=_LATER)
       for name in ("to_sparse_coo", "to_torch_sparse", "to_sparse_csr", "to_sparse_csc")},
    **{name: Line(lambda a, x, name=name: SparseTensor.of(getattr(a[..., :4, :4], name)((2, 2))), forward=_LATER,
                  vmap=_LATER, compile=_LATER) for name in ("to_sparse_bsr", "to_sparse_bsc")},
    **{name: Line(lambda a, x, name=name: getattr(SparseTensor, name)(a.to_sparse_csr()), forward=_LATER, vmap=_LATER,
                  compile=_LATER) for name in ("from_torch", "from_torch_sparse")},
}  # fmt: skip
_UNTRACKED = (
    # what it is
    "sparse_shape batch_shape block_shape shape size ndim dim sparse_dim nnz row_indices col_indices pattern "
    "numel is_sparse batch_size is_batched is_block is_square is_coalesced dtype device is_cuda "
    "is_complex is_floating_point requires_grad "
    "is_leaf structure trailing __len__ "
    # predicates, comparisons
    "equal allclose isnan isinf isfinite logical_not eq ne lt le gt ge logical_and logical_or logical_xor is_symmetric "
    "is_hermitian is_positive_definite detect_matrix_type connected_components has_isolated_components nature "
    "count_nonzero __bool__ __floordiv__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ "
    # autograd's own, devices and other dtypes, whose derivatives are torch's
    "requires_grad_ grad backward retain_grad detach share_memory_ pin_memory cuda cpu float half bfloat16 "
    # what leaves the graph, or has nothing to differentiate
    "eye from_scipy to_scipy numpy spy save load solver __array_ufunc__ __torch_function__ __copy__ __deepcopy__ "
    # an estimate of random vectors, whose derivative is an estimate too: test_estimates.py
    "logdet_estimate"
).split()
EVERY = [pytest.param(name, kind, id=f"{name}-{kind}") for kind in KINDS for name in TABLE]


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name, kind", EVERY)
def test_derivatives_are_those_of_differences(name, kind):
    if not TABLE[name].is_asked("first", kind):
        return
    differentiates(TABLE[name], kind)


@pytest.mark.parametrize("name, kind", [one for one in EVERY if "int32" not in one.id])
def test_vmap_is_a_loop(name, kind):
    if TABLE[name].is_asked("vmap", kind):
        maps(TABLE[name], kind)


_ALL = list(TABLE)


@pytest.mark.parametrize("kind", ["square", "batched"])
@pytest.mark.parametrize("part", range(8))
def test_compiled_as_one_graph(part, kind):
    torch._dynamo.reset()
    compiles([TABLE[name] for name in _ALL[part::8] if TABLE[name].is_asked("compile", kind)], kind)


def test_the_largest_singular_value_differentiates_once():
    given = GIVEN["square"]
    values = given.values.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda v: given.tensor(v).norm(2), values, atol=1e-4)


def _public_names(kind):
    inherited = set(dir(object))
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")} | {
        name for base in kind.__mro__ if base is not object for name in vars(base)
        if name.startswith("__") and callable(vars(base)[name]) and name not in inherited
    }  # fmt: skip


def test_every_public_method_is_in_the_table():
    names = _public_names(SparseTensor) | {"values", "structure", "trailing"}
    assert names - set(TABLE) - set(_UNTRACKED) == set()
    assert set(TABLE) - names == set() and not set(TABLE) & set(_UNTRACKED)
    assert lt.SparseTensor is SparseTensor
