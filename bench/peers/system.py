# SPDX-License-Identifier: Apache-2.0
"""Reading the systems that write_system of the peers writes, for peers that are Python programs."""

import numpy as np
import scipy.sparse as sp


def read_system(path):
    """(A, b, near-null vectors or None, unknowns of a node)."""
    with open(path, "rb") as file:
        n, nnz = np.fromfile(file, np.int64, 2)
        offsets, columns = np.fromfile(file, np.int32, n + 1), np.fromfile(file, np.int32, nnz)
        values, b = np.fromfile(file, float, nnz), np.fromfile(file, float, n)
        near = np.fromfile(file, np.int64, 2)
        vectors = np.fromfile(file, float, n * near[0]).reshape(n, near[0]) if near.size else None
    return sp.csr_matrix((values, columns, offsets), shape=(n, n)), b, vectors, near[1] if near.size else 1
