# SPDX-License-Identifier: Apache-2.0
"""The nature of patterns beside SciPy, and the methods chosen by it."""

import lacuna
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph


def of(matrix):
    return lacuna.Pattern.from_scipy(sp.csr_array(matrix))


@pytest.mark.parametrize("seed", range(5))
def test_rank_blocks_and_components_are_those_of_scipy(seed):
    matrix = sp.random(60, 60, density=0.04, format="csr", random_state=seed) + sp.eye(60, format="csr")[
        np.random.default_rng(seed).permutation(60)
    ]
    matrix = sp.csr_array(matrix)
    matched = csgraph.maximum_bipartite_matching(matrix, perm_type="column")
    on_diagonal = sp.csr_array(matrix[:, matched])
    nature = of(matrix).nature
    assert nature["structural_rank"] == csgraph.structural_rank(matrix) == 60
    assert nature["blocks"] == csgraph.connected_components(on_diagonal, connection="strong")[0]
    assert nature["components"] == csgraph.connected_components(on_diagonal, connection="weak")[0]


@pytest.mark.parametrize(
    "matrix, method, reason",
    [
        (sp.diags([3.0, -1.0, 2.0, 5.0, 7.0]), "diagonal", "diagonal"),
        (sp.csr_array(np.tril(np.full((6, 6), 2.0))), "triangular", "triangular"),
        (sp.csr_array(np.tril(np.full((6, 6), 2.0))[[3, 1, 0, 5, 4, 2]]), "triangular", "permutations"),
        (sp.diags([np.full(7, -1.0), np.full(8, 2.5), np.full(7, 1.0)], [-1, 0, 1]), "banded", "tridiagonal"),
        (sp.csr_array(np.eye(5) * 6 + 1), "cholesky", "Hermitian"),
        (sp.csr_array(np.eye(5) * 6 - 8), "ldlt", "not positive"),
        (sp.csr_array(np.eye(5) * 6 + np.arange(25.0).reshape(5, 5) / 10 + 1), "lu", "not Hermitian: entry (0, 1)"),
    ],
)
def test_the_method_fits_the_matrix(matrix, method, reason):
    matrix = sp.csr_array(matrix)
    pattern, b = of(matrix), np.arange(1.0, matrix.shape[0] + 1)[:, None]
    factor = lacuna.Solver(pattern).factor(matrix.data)
    assert factor.report["method"] == method and reason in factor.report["reason"]
    assert np.allclose(matrix @ lacuna.solve(factor, matrix.data, b), b)


def test_a_nature_that_is_not_there_is_refused():
    with pytest.raises(lacuna.ArgumentError, match=r"entry \(0, 1\)"):
        lacuna.Solver(of(np.ones((3, 3))), method="diagonal")
    with pytest.raises(lacuna.ArgumentError, match="1 blocks in 3 rows"):
        lacuna.Solver(of(np.ones((3, 3))), method="triangular")
