# SPDX-License-Identifier: Apache-2.0
"""What the compiler of the oldest torch does not do, by name: the tests that ask for it say so, and why."""

import pytest
import torch

version = tuple(int(part) for part in torch.__version__.split(".")[:2])
IS_OLDEST = version < (2, 5)

# torch.compile(fullgraph=ONE_GRAPH): there, compiled code ends a graph at each call of a SparseTensor
ONE_GRAPH = not IS_OLDEST
counts_graphs = pytest.mark.skipif(IS_OLDEST, reason="torch 2.4 does not compile what a SparseTensor does as one graph")
exports = pytest.mark.skipif(IS_OLDEST, reason="torch 2.4 does not export what a SparseTensor does")
holds_floats_open = pytest.mark.skipif(IS_OLDEST, reason="torch 2.4 compiles anew for each float")
compiles_hessians = pytest.mark.skipif(IS_OLDEST, reason="torch 2.4 cannot compile a hessian")
