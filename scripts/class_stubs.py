# SPDX-License-Identifier: Apache-2.0
"""The stub of the classes of lacuna.torch.sparse, many of whose methods are made in loops (scripts/check-stubs).

A parameter has the type of its name, a method the result that is listed for its name: one concept, one name. A name
that is not listed is a fault.
"""
import inspect

OTHERS = "SparseTensorList | Sequence[Any] | Tensor | _Number"  # one for each matrix of a list, or for all
PARAMETERS = {
    "Tensor": "b dense exponent right u v values x",
    "_Indices": "index row_indices col_indices crow_indices ccol_indices",
    OTHERS: "others", "SparseTensor | Tensor | None": "gradient",
    "Tensor | None": "x0 y",
    "_Matrix": "tensor given matrix target",
    "SparseTensor | Tensor | _Number": "other",
    "Sequence[int]": "shape block_shape sparse_dim", "Sequence[int] | None": "blocksize",
    "int": "dim0 dim1 n k offset probes steps seed dpi order", "int | None": "m max_iterations batch_index top_k",
    "int | Sequence[int] | None": "dim",
    "_Real": "threshold residual", "_Real | None": "rtol atol min max",
    "_Real | Tensor": "diag off_diag", "_Real | Tensor | None": "damp",
    "_Real | str": "ord",
    "bool": "keepdim include_zeros requires_grad return_info upper unitriangular show_colorbar trainable equal_nan",
    "str": "method cmap", "str | None": "title name save_path", "str | PathLike[str]": "path",
    "torch.dtype": "dtype", "torch.device | str | None": "device", "dict[str, str] | None": "metadata",
    "_Form": "op", "Pattern": "pattern", "Callable[[Tensor], Tensor]": "function",
    "Iterable[_Matrix]": "tensors", "Iterable[tuple[Any, ...]]": "matrices", "Sequence[Sequence[int]]": "sizes",
    "Solver | Pattern": "by", "str | Factor | Callable[..., Any] | None": "preconditioner",
    "Any": "args kwargs options ax batch_shape who told report", "Factor": "factor",
}  # fmt: skip
# Where a name means something else in one method.
OF_METHOD = {
    ("__getitem__", "index"): "Any", ("select_matrix", "index"): "int", ("index_select", "dim"): "int",
    ("softmax", "dim"): "int", ("logsumexp", "dim"): "int", ("squeeze", "dim"): "int", ("unsqueeze", "dim"): "int",
    ("size", "dim"): "int | None", ("solve", "right"): "Sequence[Tensor]",
    ("lstsq", "method"): 'Literal["lsmr", "lsqr"] | None', ("lstsq", "residual"): "bool",
    ("from_scipy", "dtype"): "torch.dtype | None", ("load", "dtype"): "torch.dtype | None",
    ("from_scipy", "matrix"): "Any", ("from_torch", "tensor"): "Tensor", ("from_torch_sparse", "tensor"): "Tensor",
    ("from_pattern", "order"): 'Literal["slots", "entries"]', ("pow", "exponent"): "_Real | Tensor",
    ("__pow__", "exponent"): "_Real | Tensor", ("kron", "other"): "_Matrix",
    ("from_block_diagonal", "tensor"): "SparseTensor", ("from_torch_sparse_list", "tensors"): "Iterable[Tensor]",
}  # fmt: skip
RESULTS = {
    "SparseTensor": """__abs__ __add__ __eq__ __floordiv__ __ge__ __gt__ __le__ __lt__ __mod__ __mul__ __ne__ __neg__
        __pos__ __pow__ __radd__ __rmul__ __rsub__ __rtruediv__ __sub__ __truediv__ H T mH mT abs
        acos angle asin atan bfloat16 ceil clamp clone coalesce conj contiguous cos cosh cpu cuda
        detach diag double eq erf exp expand expm1 eye flatten_blocks float floor from_dense
        from_pattern from_scipy from_torch from_torch_sparse ge gt half imag index_select
        inverse_on isfinite isinf isnan kron le load log log10 log1p log2 logical_and logical_not
        logical_or logical_xor lt map merged ne neg of pin_memory pow real reciprocal relu
        requires_grad_ retain_grad round rsqrt sddmm select_matrix share_memory_ sigmoid sign sin
        sinh softmax sqrt square squeeze t tan tanh to transpose tridiagonal tril triu trunc
        unflatten_blocks unsqueeze with_values to_block_diagonal from_csr from_csc transposed""",
    "Tensor": """__rmatmul__ amax amin bmm col_indices count_nonzero det diag_part diagonal inverse_diagonal logdet
        logsumexp matmul max mean min mm mv norm prod quadratic_form row_indices slots solve_batch sum
        to_dense to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr to_torch_sparse trace
        triangular_solve solve __call__ rcond""",
    "tuple[Tensor, Tensor]": "slogdet logdet_estimate", "tuple[Tensor, int]": "connected_components",
    "SparseTensor | None": "grad", "SparseTensorList": "from_block_diagonal from_coo_list from_torch_sparse_list",
    "Factorization": "lu cholesky factor refactor",
    "list[SparseTensor]": "to_connected_components to_list", "Solver": "solver", "Pattern": "pattern",
    "torch.Size": "batch_shape block_shape shape sparse_shape", "tuple[int, int]": "sparse_dim total_shape",
    "list[torch.Size]": "shapes block_sizes",
    "torch.dtype": "dtype", "torch.device": "device", "dict[str, Any]": "nature report",
    "int": "__len__ __hash__ batch_size dim ndim nnz numel total_nnz iter_count",
    "bool": """__bool__ allclose equal has_isolated_components is_batched is_block is_coalesced is_complex is_cuda
        is_floating_point is_leaf is_sparse is_square requires_grad""",
    "bool | Tensor": "is_hermitian is_positive_definite is_symmetric", "str": "__repr__ detect_matrix_type",
    "None": "__init__ backward save fill",
    "Iterator[SparseTensor]": "__iter__",
    "Any": "__getitem__ __matmul__ numpy spy to_scipy lstsq",
}  # fmt: skip
# Where one name has two results: of a factor of values, and of what has factored them.
RESULT_IN = {("Factorization", "factor"): "Factor"}
# Where the result depends on an argument: {names: (parameter, {its type: the result})}. Sums over the batch alone are
# sparse, and so are those of a matrix and a tensor that is sparse or a number: Any.
DEPENDS = {
    "__add__ __radd__ __sub__ __rsub__": ("other", {"SparseTensor | _Number": "Self", "Tensor": "Any"}),
    "__matmul__": ("other", {"SparseTensor": "Self", "Tensor": "Any"}),
    "amax amin max mean min prod sum": ("dim", {"None": "Tensor", "int | Sequence[int] | None": "Any"}),
    "size": ("dim", {"None": "torch.Size", "int": "int"}),
    "solve": ("return_info", {"Literal[False]": "Tensor", "Literal[True]": "tuple[Tensor, SolveInfo]", "bool": "Any"}),
    "lstsq": ("residual", {"Literal[False]": "Tensor", "Literal[True]": "tuple[Tensor, Tensor]", "bool": "Any"}),
}
DEPENDS_OF = {name: how for names, how in DEPENDS.items() for name in names.split()}
RESULT_OF = {name: result for result, names in RESULTS.items() for name in names.split()}
TYPE_OF = {name: kind for kind, names in PARAMETERS.items() for name in names.split()}
HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""Made by scripts/check-stubs --write from the classes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, Literal, overload

import torch
from numpy.typing import NDArray
from torch import Tensor
from typing_extensions import Self

from ...pattern import Pattern
from ...solver import Factor, Solver

_Real = float  # which is a method below
_Number = complex
_Indices = Tensor | NDArray[Any] | Sequence[int]
_Form = Literal["N", "T", "H", "plain", "transposed", "conjugated", "adjoint"]
_Matrix = SparseTensor | Tensor | Any

def stack(tensors: Iterable[SparseTensor], dim: int = 0) -> SparseTensor: ...
'''
SPECIAL = {name for name in RESULT_OF if name.startswith("__")} - {"__repr__", "__hash__"}


class Unknown(Exception):
    """A name that is not listed."""


def listed(table, where, name):
    if name not in table:
        raise Unknown(f"scripts/class_stubs.py: no type is listed for {where}")
    return table[name]


def parameter(method, p, kind=None, is_needed=False):
    """A parameter as it stands in a stub, of the type that is listed for it."""
    star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    if p.name in ("self", "cls"):
        return p.name
    kind = kind or OF_METHOD.get((method, p.name)) or listed(TYPE_OF, f"the parameter {p.name} of {method}", p.name)
    kind = "object" if method in ("__eq__", "__ne__") else kind
    if p.default is p.empty or is_needed:
        return f"{star}{p.name}: {kind}"
    return f"{p.name}: {kind} = {repr(p.default) if type(p.default) in (int, str, bool, type(None)) else '...'}"


def of_list(name, result, is_of_each):
    """The result of a method of SparseTensorList: of each matrix, or of all."""
    if result == "SparseTensor" and name != "to_block_diagonal":
        return "SparseTensorList"
    return f"list[{result}]" if is_of_each else result


def written(name, given, result):
    """The line of a method, or several."""
    wrong = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    line = f"    def {name}({', '.join(given)}) -> {result}: ...{wrong}\n"
    if len(line) > 120:
        line = f"    def {name}(\n        " + ",\n        ".join(given) + f",\n    ) -> {result}: ...\n"
    return line


def overloads(name, parameters):
    """A method whose result depends on an argument, which only the first overload may leave out."""
    chosen, kinds = DEPENDS_OF[name]
    at, text = [p.name for p in parameters].index(chosen), ""
    for kind, result in kinds.items():
        given = [parameter(name, p, kind if p.name == chosen else None, p.name == chosen and bool(text))
                 for p in parameters]  # fmt: skip
        if text and at > 1 and parameters[at - 1].default is not inspect.Parameter.empty:
            given.insert(at, "*")
        text += "    @overload\n" + written(name, given, result)
    return text


def method_stub(cls, name, static):
    is_class = isinstance(static, (classmethod, staticmethod))
    function = static.fget if isinstance(static, property) else static.__func__ if is_class else static
    parameters = list(inspect.signature(function).parameters.values())
    names = [p.name for p in parameters]
    if cls.__name__ == "SparseTensor" and name in DEPENDS_OF:
        return overloads(name, parameters)
    result = RESULT_IN.get((cls.__name__, name)) or listed(RESULT_OF, f"the result of {cls.__name__}.{name}", name)
    if cls.__name__ == "SparseTensorList":
        result = of_list(name, result, names[1:] in (["args", "kwargs"], ["others", "options"]))
    elif cls.__name__ == "SparseTensor":
        result = result.replace("SparseTensor", "Self")  # of a subclass, that
    mark = "    @property\n" if isinstance(static, property) else "    @classmethod\n" if is_class else ""
    kind = OTHERS if cls.__name__ == "SparseTensorList" and names == ["self", "other"] else None
    return mark + written(name, [parameter(name, p, kind if p.name == "other" else None) for p in parameters], result)


def own(cls):
    """{name: attribute} of a class and its bases in this package, without what is private or made by dataclass."""
    found = {}
    for base in reversed([c for c in cls.__mro__ if c.__module__.startswith("lacuna.")]):
        found |= {name: one for name, one in vars(base).items() if not name.startswith("_") or name in SPECIAL}
    kinds = (property, classmethod, staticmethod)
    is_data = hasattr(cls, "__dataclass_fields__")
    return {
        name: one for name, one in sorted(found.items())
        if (callable(one) or isinstance(one, kinds)) and not (is_data and name.startswith("__"))
    }  # fmt: skip


def class_stub(cls, fields):
    lines = [f"    {name}: {kind}\n" for name, kind in fields.items()]
    twice = fields.keys() & own(cls)
    if twice:
        raise Unknown(f"scripts/class_stubs.py: {cls.__name__} has {', '.join(twice)} as fields and as attributes")
    lines += [method_stub(cls, name, static) for name, static in own(cls).items()]
    return f"class {cls.__name__}:\n" + "".join(lines)


def stub():
    """The text of python/lacuna/torch/sparse/__init__.pyi."""
    from lacuna.torch import sparse

    told = {name: field.type if isinstance(field.type, str) else field.type.__name__
            for name, field in sparse.SolveInfo.__dataclass_fields__.items()}  # fmt: skip
    fields = {
        sparse.SolveInfo: told, sparse.SparseTensor: {"values": "Tensor"},
        sparse.SparseTensorList: {"tensors": "list[SparseTensor]"},
        sparse.Factorization: {"tensor": "SparseTensor", "solver": "Solver", "dtype": "torch.dtype"},
    }  # fmt: skip
    return HEAD + "".join("\n" + class_stub(cls, attributes) for cls, attributes in fields.items())
