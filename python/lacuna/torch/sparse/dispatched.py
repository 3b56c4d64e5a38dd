# SPDX-License-Identifier: Apache-2.0
"""Torch's functions of sparse tensors: torch.matmul(A, x) is A @ x, and compilers find operators by the same way."""

import operator

import torch

from ...errors import ArgumentError, ShapeError, UnsupportedError
from .._private import compiled_operators
from .._tensors import PLAIN
from .arithmetic import UNARY
from .shapes import cat, stack

_BINARY = {
    "matmul": "matmul", "mm": "matmul", "mv": "matmul", "bmm": "matmul", "_sparse_mm": "matmul", "add": "add",
    "sub": "sub", "subtract": "sub", "mul": "mul", "multiply": "mul", "div": "truediv", "divide": "truediv",
    "true_divide": "truediv", "truediv": "truediv", "floor_divide": "floordiv", "floordiv": "floordiv", "remainder":
    "mod", "mod": "mod", "pow": "pow", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
}  # fmt: skip
_METHODS = frozenset(UNARY) | frozenset(
    "logical_and logical_or logical_xor clamp conj clone detach sum mean prod amax amin trace diagonal tril triu det "
    "logdet slogdet t transpose softmax logsumexp equal allclose kron index_select unsqueeze squeeze neg".split()
)


_LINALG = {"linalg_det": "det", "linalg_slogdet": "slogdet"}
_JOINED = {"stack": stack, "cat": cat, "concat": cat, "concatenate": cat}
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def _teach_dynamo():
    """Dynamo exchanges the sides of an operator whose first one is no tensor, and names the reversed operator; but of
    `A @ x` it names __matmul__ all the same. Returns whether it names __rmatmul__ now."""
    try:
        builtin = compiled_operators()
        builtin.populate_builtin_to_tensor_fn_map()
        builtin.BUILTIN_TO_TENSOR_RFN_MAP.setdefault(operator.matmul, torch.Tensor.__rmatmul__)
    except (ImportError, AttributeError):
        return False
    return True


_is_taught = _teach_dynamo()


_REVERSED = [
    (name, getattr(torch.Tensor, f"__r{name}__"))
    for name in ("matmul", "add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow")
    if hasattr(torch.Tensor, f"__r{name}__")
]


class Dispatched:
    """__torch_function__: what torch's functions do with a SparseTensor."""

    __array_ufunc__ = None  # NumPy's numbers leave operators to us

    def neg(self):
        """The negative of each number."""
        return -self

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        is_reversed = [name for name, one in _REVERSED if one is function]
        name = is_reversed[0] if is_reversed else _operator_name(function.__name__)
        if name in _BINARY and len(args) == 2:
            if kwargs:
                raise ArgumentError(f"SparseTensor: torch's {name} of a sparse tensor has no {', '.join(kwargs)}; "
                                    "write it with operators")  # fmt: skip
            first, second = args[::-1] if is_reversed else args
            return _applied(cls, _BINARY[name], first, second)
        if name == "norm":
            return _norm(*args, **(kwargs or {}))
        if name in _JOINED:
            return _JOINED[name](*args, **(kwargs or {}))
        if name in ("linalg_norm", "linalg_matrix_norm"):
            return _norm_of_matrix(name, *args, **(kwargs or {}))
        if name == "linalg_solve":
            return _solved(*args, **(kwargs or {}))
        if name == "softmax":
            return _softmax(*args, **(kwargs or {}))
        if name == "linear":
            return _linear(*args, **(kwargs or {}))
        name = _LINALG.get(name, name)
        if name in _METHODS and args and isinstance(args[0], cls):
            return getattr(args[0], name)(*args[1:], **(kwargs or {}))
        if all([issubclass(kind, cls) or _leaves_it_to_us(kind) for kind in types]):
            raise TypeError(f"SparseTensor: torch's {name} takes no sparse tensors; A.to_dense() is dense, and "
                            "A.map(function) is a function of the stored numbers")  # fmt: skip
        return NotImplemented


def _leaves_it_to_us(kind):
    """Whether a class of tensors has no __torch_function__ of its own."""
    if not issubclass(kind, torch.Tensor):
        return False
    taken = [getattr(one.__torch_function__, "__func__", one.__torch_function__) for one in (kind, *PLAIN)]
    return taken[0] in taken[1:]


def _operator_name(name):
    """"add" of add and __add__, and of nothing else: add_ changes its argument."""
    return name[2:-2] if name.startswith("__") and name.endswith("__") else name


def _norm(tensor, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """torch.norm, which is of all numbers; norms of each matrix are A.norm(ord)."""
    if p not in ("fro", 2, None) or dim is not None or keepdim or out is not None or dtype is not None:
        raise ArgumentError('SparseTensor: torch.norm of a sparse tensor is that of all its numbers, p="fro"; each '
                            "matrix has others, A.norm(ord)")  # fmt: skip
    return torch.linalg.vector_norm(tensor.slots())


def _norm_of_matrix(name, tensor, ord=None, dim=None, keepdim=False, *, dtype=None, out=None):
    """torch.linalg.norm and matrix_norm, of the dimensions of the matrix. The first one's is that of all numbers where
    neither ord nor dim is given."""
    is_of_all = name == "linalg_norm" and ord is None and dim is None
    is_of_each = _is_of_matrix(tensor, (-2, -1) if dim is None else dim)
    if keepdim or out is not None or dtype is not None or not (is_of_all or is_of_each):
        raise ArgumentError(f"SparseTensor: torch's {name} of a sparse tensor is that of each matrix, without keepdim, "
                            "dtype and out; A.sum(dim) and A.max(dim) are over other dimensions")  # fmt: skip
    if is_of_all:
        return _norm(tensor)
    if name == "linalg_norm" and dim is None and tensor.ndim > 2:
        raise ShapeError(f"SparseTensor: torch's linalg_norm with ord={ord!r} takes a matrix, and this tensor has "
                         f"{tensor.ndim} dimensions; A.norm(ord) is that of each")  # fmt: skip
    return tensor.norm("fro" if ord is None else ord)


def _is_of_matrix(tensor, dim):
    """Whether two dimensions are those of the matrix, its rows first."""
    return isinstance(dim, (tuple, list)) and tuple([d % tensor.ndim for d in dim]) == tuple(tensor.sparse_dim)


def _solved(A, B, *, left=True, out=None):
    """torch.linalg.solve of a sparse matrix; what has a dimension less than the matrix has vectors."""
    if not isinstance(A, Dispatched):
        raise ArgumentError("SparseTensor: torch.linalg.solve takes it as its first argument alone")
    if not left or out is not None:
        raise ArgumentError("SparseTensor: torch.linalg.solve of a sparse matrix has no left=False and no out; "
                            'A.solve(b, op="T") solves with the transpose')  # fmt: skip
    return A.solve(B)


def _softmax(tensor, dim=None, dtype=None, _stacklevel=3):
    """torch.softmax and that of torch.nn.functional, which warns where there is no dim."""
    if dim is None:
        raise ArgumentError("SparseTensor: softmax needs dim, the dimension whose numbers add up to 1")
    return (tensor if dtype is None else tensor.to(dtype)).softmax(dim)


def _linear(x, weight, bias=None):
    """torch.nn.functional.linear with a sparse weight: x A^T + bias."""
    if not isinstance(weight, Dispatched) or isinstance(bias, Dispatched):
        raise ArgumentError("SparseTensor: torch.nn.functional.linear takes it as its weight alone")
    y = x @ weight.T
    return y if bias is None else y + bias


def _applied(cls, name, first, second):
    """An operator of which at least one side is sparse."""
    if isinstance(first, cls):
        return getattr(first, f"__{name}__")(second)
    if name == "matmul" and not _is_taught and torch.compiler.is_dynamo_compiling():
        raise UnsupportedError("SparseTensor: this torch's compiler does not say which side of @ is sparse; write "
                               "A.matmul(x), or A.T.matmul(x) for x @ A")  # fmt: skip
    if name in _MIRRORED:
        return getattr(second, f"__{_MIRRORED[name]}__")(first)
    if not hasattr(second, f"__r{name}__"):
        raise ArgumentError(f"SparseTensor: torch's {name} takes it as its first argument alone")
    return getattr(second, f"__r{name}__")(first)
