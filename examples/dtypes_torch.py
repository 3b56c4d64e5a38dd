# SPDX-License-Identifier: Apache-2.0
"""Which dtypes are computed and returned: the code of docs/dtypes.md."""

import numpy as np
import torch

import lacuna
import lacuna.torch as lt

pattern = lacuna.Pattern.from_coo(np.array([0, 0, 1]), np.array([0, 1, 1]), (2, 2))

# [rule]
a, x = np.array([2, 1, 4]), np.array([1.0, 2.0], np.float32)
assert lacuna.spmm(pattern, a, x).dtype == np.float64  # int64 beside float32, as NumPy promotes
assert lacuna.spmm(pattern, a, a[:2]).dtype == np.float64  # integers alone

a, x = torch.tensor([2, 1, 4]), torch.tensor([1.0, 2.0])
assert lt.spmm(pattern, a, x).dtype == torch.float32  # int64 beside float32, as torch promotes
assert lt.solve(pattern, a.bfloat16(), x.bfloat16()).dtype == torch.bfloat16  # computed in float32
assert lt.solve(pattern, a.double(), x).dtype == torch.float64
# [end]

# [autocast]
weight = torch.eye(2)
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = weight @ torch.ones(2, 1)  # bfloat16, by torch
    y = lt.solve(pattern, a.float(), h)
assert h.dtype == torch.bfloat16 and y.dtype == torch.float32
# [end]
