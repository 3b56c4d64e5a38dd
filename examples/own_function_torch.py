# SPDX-License-Identifier: Apache-2.0
"""own_operator.c in Python: van Albada's limiter, composed of Lacuna's functions.

    y = a b (a + b) / (a^2 + b^2 + e)

In Python a function of one's own needs no rules: its derivatives are those of its parts, in both front ends, to every
order, compiled or not. (An operator with a kernel of its own is written in C, docs/extending.md.)
"""

import numpy as np
import torch

import lacuna
import lacuna.torch as lt


def limiter(front, a, b, e=1e-2):
    above = front.mul(front.mul(a, b), front.add(a, b))
    return front.div(above, front.add(front.add(front.square(a), front.square(b)), e))


rng = np.random.default_rng(0)
a, b = rng.standard_normal((3, 5)), rng.standard_normal(5)
report = lacuna.gradcheck(lambda a, b: limiter(lacuna, a, b), a, b)  # two orders, against differences
tensors = [torch.tensor(x, requires_grad=True) for x in (a, b)]
assert torch.autograd.gradgradcheck(lambda a, b: limiter(lt, a, b), tensors)
y = torch.compile(lambda a, b: limiter(lt, a, b), fullgraph=True, backend="aot_eager")(*tensors)
np.testing.assert_allclose(y.detach(), a * b * (a + b) / (a**2 + b**2 + 1e-2))
print(f"adjoint {report['adjoint']:.1e}, differences {report['tangent']:.1e}")
