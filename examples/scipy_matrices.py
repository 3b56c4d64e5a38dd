# SPDX-License-Identifier: Apache-2.0
"""SciPy matrices straight into Lacuna's functions: the code of docs/scipy.md."""

import numpy as np
import scipy.sparse as sp

import lacuna

# [straight]
A = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(5, 5), format="csc")
b = np.arange(5.0)

y = lacuna.spmm(A, b)  # in place of lacuna.spmm(pattern, values, b)
x = lacuna.solve(A, b)  # in place of lacuna.solve(pattern, values, b)
assert np.allclose(A @ x, b) and np.allclose(y, A @ b)
# [end]

# [loop]
for shift in (1.0, 2.0, 3.0):
    shifted = A + shift * sp.eye_array(5, format="csc")  # a new matrix with the same indices: analysed once
    x = lacuna.solve(shifted, b)
    assert np.allclose(shifted @ x, b)
# [end]

# [back]
pattern, values = lacuna.from_scipy(A)
inverse = lacuna.selected_inverse(A)  # what comes back are values by the slots of the pattern, as always
out = pattern.to_scipy(inverse, like=A)  # format, class and index type of A
assert out.format == "csc" and out.indices.dtype == A.indices.dtype
assert np.allclose(out.toarray(), np.linalg.inv(A.toarray()).T * (A.toarray() != 0))
# [end]

# [dropins]
from lacuna.scipy import cg, splu, spsolve  # in place of scipy.sparse.linalg

x = spsolve(A, b)
lu = splu(A)
y, info = cg(A, b, rtol=1e-10, M="multigrid")
assert info == 0 and np.allclose(x, lu.solve(b)) and np.allclose(x, y)
# [end]
