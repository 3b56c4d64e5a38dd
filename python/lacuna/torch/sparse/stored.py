# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors that leave: files, pickles, copies, trees of tensors."""

import copy
import os

import numpy as np
import torch
from torch.utils import _pytree as pytree

from ..._io import BFLOAT16, read_matrix_market, read_safetensors, save_safetensors, write_matrix_market
from ...errors import ArgumentError
from .._tensors import as_numpy

_HALVES = (torch.float16, torch.bfloat16)  # a text has them as float32
_NAMES = ("values", "row_indices", "col_indices", "shape")


def _is_matrix_market(path):
    return os.fspath(path).endswith((".mtx", ".mtx.gz"))


class Stored:
    """Files and copies of SparseTensor. A subclass is known to trees of tensors, and to torch.load, by its name."""

    def __init_subclass__(cls, public_name=None, **options):
        super().__init_subclass__(**options)
        _register(cls, public_name or f"{cls.__module__}.{cls.__qualname__}")

    def save(self, path, metadata=None):
        """Write a safetensors file with values, row_indices, col_indices, shape and sparse_dim, in the caller's order;
        or, where the path ends with .mtx or .mtx.gz, a Matrix Market file of one matrix."""
        if _is_matrix_market(path):
            pattern, slots = self._single()
            write_matrix_market(path, pattern, as_numpy(slots.float() if slots.dtype in _HALVES else slots))
            return
        numbers = [as_numpy(t) for t in (self.values, self.row_indices, self.col_indices)]
        sizes = torch.tensor(self.shape).numpy(), torch.tensor(self.sparse_dim).numpy()
        save_safetensors(path, dict(zip((*_NAMES, "sparse_dim"), (*numbers, *sizes))), metadata)

    @classmethod
    def load(cls, path, device=None, dtype=None, name=None):
        """Read what save wrote, a Matrix Market file, or a matrix that lacuna.save_safetensors wrote; `name` chooses
        among several."""
        if _is_matrix_market(path):
            pattern, values = read_matrix_market(path)
            return cls.from_pattern(pattern, _placed(values, device, dtype))
        found = read_safetensors(path)
        if all(part in found for part in _NAMES):
            values, rows, columns = (_placed(found[part], device, None) for part in _NAMES[:3])
            shape, dims = found["shape"].tolist(), found.get("sparse_dim")
            return cls(values.to(dtype=dtype), rows, columns, shape, (-2, -1) if dims is None else dims.tolist())
        matrices = {key: pair for key, pair in found.items() if isinstance(pair, tuple)}
        if name is None and len(matrices) != 1 or name is not None and name not in matrices:
            raise ArgumentError(f"load: {os.fspath(path)!r} holds the matrices {sorted(matrices)}; name one of them")
        pattern, values = matrices[name] if name is not None else next(iter(matrices.values()))
        return cls.from_pattern(pattern, _placed(values, device, dtype))

    def __reduce__(self):
        given = self.values, self.row_indices, self.col_indices, tuple(self.shape), self.sparse_dim
        return type(self), given

    def __copy__(self):
        return self._with(self.values)

    def __deepcopy__(self, memo):
        return self._with(copy.deepcopy(self.values, memo))


def _placed(values, device, dtype):
    bits = values.dtype == BFLOAT16
    tensor = torch.from_numpy(values.view(np.int16)).view(torch.bfloat16) if bits else torch.from_numpy(values)
    return tensor.to(device=device, dtype=dtype)


def _register(kind, name):
    """Let trees of tensors, and torch.load, know the class by its public name: its child is the tensor of values."""

    def rebuilt(children, context):
        (values,) = children
        return kind._on(context[0], values, context[1])

    pytree.register_pytree_node(
        kind, lambda tensor: ([tensor.values], (tensor.structure, tensor.trailing)), rebuilt,
        serialized_type_name=name,
    )  # fmt: skip
    torch.serialization.add_safe_globals([kind])


class StoredList:
    """The same for lists: their children are the sparse tensors."""

    def __init_subclass__(cls, public_name=None, **options):
        super().__init_subclass__(**options)
        pytree.register_pytree_node(
            cls, lambda listed: (listed.tensors, None), lambda children, _: cls._of_parts(list(children)),
            serialized_type_name=public_name or f"{cls.__module__}.{cls.__qualname__}",
        )  # fmt: skip
        torch.serialization.add_safe_globals([cls])
