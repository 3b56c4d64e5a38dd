# SPDX-License-Identifier: Apache-2.0
"""What is asked of every public function of sparse tensors: first and second derivatives against differences, forward
mode, vmap, and one compiled graph. A table has a line for each function."""

import torch
from one_graph import ONE_GRAPH
from reference import same
from sparse_cases import GIVEN, check, check2, random

from lacuna.torch import SparseTensor

KINDS = ("square", "int32", "batched")  # none is symmetric, all are unsorted and have duplicates


class Line:
    """A function of (a sparse tensor, a vector for each matrix), and what it is excused from, with a reason each:
    "second", "forward", "vmap", "compile", or one of the kinds."""

    def __init__(self, function, **excused):
        self.function, self.excused = function, excused

    def is_asked(self, what, kind):
        return what not in self.excused and kind not in self.excused


def dense(made):
    """Results as a tuple of dense tensors."""
    if isinstance(made, SparseTensor):
        return (made.to_dense(),)
    if isinstance(made, torch.Tensor):
        return (made if made.layout is torch.strided else made.to_dense(),)
    return tuple([part for one in made for part in dense(one)])


def inputs(kind):
    given = GIVEN[kind]
    return given, given.values.clone(), random(*given.batch, 5, like=given.values)


def of_tensors(line, given):
    """The function of (values, x), with a tuple of dense tensors."""
    return lambda values, x: dense(line.function(given.tensor(values), x))


def differentiates(line, kind):
    """Backward and forward mode against differences, and the gradient's own."""
    given, values, x = inputs(kind)
    function, leaves = of_tensors(line, given), (values.requires_grad_(), x.requires_grad_())
    assert check(function, leaves, check_forward_ad=line.is_asked("forward", kind))
    if line.is_asked("second", kind):
        assert check2(function, leaves, fast_mode=True)


def maps(line, kind):
    """vmap over values, over x, and over both, against a loop."""
    given, values, x = inputs(kind)
    function = of_tensors(line, given)
    many, xs = torch.stack([values, 1.1 * values, 0.9 * values]), torch.stack([x, 2 * x, -x])
    for dims in ((0, 0), (0, None), (None, 0)):
        got = torch.func.vmap(function, dims)(many if dims[0] == 0 else values, xs if dims[1] == 0 else x)
        each = [function(many[i if dims[0] == 0 else 0], xs[i if dims[1] == 0 else 0]) for i in range(3)]
        for one, expected in zip(got, zip(*each)):
            same(one, torch.stack(expected))


def compiles(lines, kind):
    """All lines as one graph (ONE_GRAPH), with gradients, against the same without a compiler."""
    given, values, x = inputs(kind)
    functions = [of_tensors(line, given) for line in lines]

    def together(values, x):
        return [part for function in functions for part in function(values, x)]

    results = []
    for function in (together, torch.compile(together, fullgraph=ONE_GRAPH, backend="aot_eager")):
        leaves = values.clone().requires_grad_(), x.clone().requires_grad_()
        made = function(*leaves)
        smooth = [part for part in made if part.requires_grad]
        loss = sum([part.real.sin().sum() for part in smooth])
        bars = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True) if smooth else ()
        results.append((made, bars))
    same(*results)
