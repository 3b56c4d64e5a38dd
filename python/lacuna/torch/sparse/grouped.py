# SPDX-License-Identifier: Apache-2.0
"""Products of the stored numbers of lines, pair by pair: exact with zeros, differentiable to every order, on memory in
proportion to the entries.
"""

import torch

from .. import remap
from .._dtypes import in_one_dtype
from .structure import made_of


def _ones(like, count, trailing):
    return torch.ones(count, *[1] * trailing, dtype=like.dtype, device=like.device)


def product(tensor, rows, columns, include_zeros):
    """The products over rows, columns or both of a SparseTensor, those dimensions kept with the size 1."""
    return in_one_dtype("prod", lambda x: _product(tensor, x, rows, columns, include_zeros), tensor.slots())


def _product(tensor, x, rows, columns, include_zeros):
    """The same of values x by slots."""
    (m, n), trailing = tensor.sparse_shape, tensor.trailing
    if rows and columns:
        made = x.prod(x.ndim - 1 - trailing, keepdim=True)
        is_full = torch.tensor(tensor.nnz == m * n, device=x.device)
    else:
        groups = tensor._groups(rows)
        made = _of_groups(groups, x, trailing)
        counts = remap(groups, _ones(x.real, groups.inputs, trailing), axes=trailing)
        is_full = counts == (m if rows else n)
    made = torch.where(is_full, made, torch.zeros_like(made)) if include_zeros else made
    return tensor._lined(made, rows)


def _of_groups(groups, x, trailing):
    """The product of each group of a map; 1 of an empty one."""
    *levels, last = made_of("pairs", groups)
    for first, second in zip(levels[::2], levels[1::2]):
        x = remap(first, x, axes=trailing) * _or_one(second, x, trailing)
    return _or_one(last, x, trailing)


def _or_one(map_, x, trailing):
    """What a map takes there, 1 where nothing comes."""
    taken = remap(map_, _ones(x, map_.inputs, trailing), axes=trailing)
    return remap(map_, x, axes=trailing) + (1 - taken)
