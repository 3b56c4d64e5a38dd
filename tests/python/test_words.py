# SPDX-License-Identifier: Apache-2.0
"""What Python users are told, in their own words, and what is taken because nothing is lost by it."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
import torch

import lacuna
import lacuna.torch as lt
from lacuna._words import spoken

N = 6
matrix = sp.csr_array(sp.diags_array([-np.ones(N - 1), 4 * np.ones(N), -2 * np.ones(N - 1)], offsets=[-1, 0, 1]))
pattern, a = lacuna.from_scipy(matrix)
wide = lacuna.Pattern.from_coo([0, 1], [0, 1], (2, 3))
b = np.arange(1.0, N + 1)


def told(function, *arguments, **keywords):
    with pytest.raises(Exception) as caught:
        function(*arguments, **keywords)
    return str(caught.value)


@pytest.mark.parametrize("sentence, said", [
    ("solve_with: a has shape (2)", "solve: a has shape (2)"),
    ("mine: input 1 is f32 and input 0 is c128", "mine: input 1 is float32 and input 0 is complex128"),
    ('lac_solver_create: use method = "lu" or LAC_ORDER_AMD', 'Solver: use method="lu" or ordering="amd"'),
    ("lac_solver_factor: x; lac_pattern_scalar gives it", "Solver.factor: x; Pattern.scalar gives it"),
    ("lac_solve_products: give preconditioner.factor, or preconditioner.apply",
     "solve_operator: give preconditioner=factor, or preconditioner=function"),
    ("lac_solver_factor: give its null space (iteration.null_space)",
     "Solver.factor: give its null space (null_space=)"),
    ("trisolve: solve with LAC_DIAGONAL_UNIT for ones", 'trisolve: solve with diagonal="unit" for ones'),
    ("a level: give the pattern LAC_WIDTH_64_32", 'a level: give the pattern width="64/32"'),
    ("a sentence: of other words", "a sentence: of other words"),
    ("none", "none"),
])  # fmt: skip
def test_sentences_of_c_are_said_in_python(sentence, said):
    assert spoken(sentence) == said


def test_an_operator_says_what_fails_within_it():
    singular = lacuna.Matrix.from_coo([1.0, 1, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1], (2, 2))
    assert told(lacuna.solve, singular, [1.0, 2]).startswith("solve: the matrix is singular")
    assert told(singular.solve, [1.0, 2]).startswith("solve: the matrix is singular")
    assert told(lacuna.logdet, singular).startswith("logdet: the matrix is singular")
    assert told(singular.factor).startswith("Solver.factor: the matrix is singular")
    start = torch.full((N,), torch.nan, dtype=torch.float64)
    A = lt.SparseTensor.from_pattern(pattern, torch.tensor(a))
    assert told(A.solve, torch.tensor(b), method="gmres", x0=start).startswith("solve: did not reach the tolerance")


def test_errors_have_no_words_of_c():
    sentences = [
        told(lacuna.solve, lacuna.Solver(pattern, method="cholesky"), a, b),
        told(lacuna.solve, lacuna.Solver(wide, method="lsmr"), np.ones(2), np.ones(2)),
        told(lacuna.solve, lacuna.Solver(pattern).factor(a), 2 * a, b),
        told(lacuna.Solver, pattern, method="diagonal"),
        told(lt.solve, pattern, torch.tensor(a[1:]), torch.tensor(b)),
        told(lacuna.solve, pattern, a.astype(np.longdouble), b),
        told(lacuna.Solver(pattern).factor, a.astype(np.longdouble)),
        told(lacuna.trisolve, pattern.tril(-1)[0], a[:5], b),
        told(lacuna.less, a.astype(complex), a.astype(complex)),
    ]
    for sentence in sentences:
        assert not re.search(r"lac_|LAC_|solve_with|input \d", sentence), sentence


def test_a_batch_of_vectors_is_told_its_way_out():
    for front, make in ((lacuna, np.asarray), (lt, torch.tensor)):
        sentence = told(front.solve, pattern, make(np.stack([a, 2 * a])), make(np.stack([b, b])))
        assert "b has shape (2, 6)" in sentence and "b[..., None]" in sentence
    x = lacuna.solve(pattern, np.stack([a, 2 * a]), np.stack([b, b])[..., None])
    expected = np.linalg.solve(matrix.toarray(), b)
    np.testing.assert_allclose(x[..., 0], [expected, expected / 2])
    assert "b[..., None]" not in told(lacuna.solve, pattern, a, b[:-1])
    factor = lacuna.Solver(pattern).factor(a)
    assert "b[..., None]" in told(factor.solve, np.stack([b, b])) and "None" not in told(factor.solve, b[:-1])


@pytest.mark.parametrize("call, said", [
    (lambda: lt.spmm(pattern, torch.tensor(a), b), "spmm: x is a ndarray; it must be a torch.Tensor"),
    (lambda: lt.lstsq(pattern, torch.tensor(a), None), "lstsq: b is a NoneType; it must be a torch.Tensor"),
    (lambda: lacuna.sum(np.ma.masked_array([1.0], [True])), "sum: x is a masked array"),
    (lambda: lacuna.sparse_max(pattern, 1j * a, 0), "sparse_max: segment_max: takes real arrays, and x is complex128"),
    (lambda: lacuna.sparse_softmax(pattern, a, 7), "axis is 7; it must be one of 0, 1, -2, -1"),
    (lambda: lacuna.Solver(pattern, ordering="x"), "it must be one of 'auto', 'amd', 'metis', 'natural'"),
    (lambda: lacuna.Solver(pattern).factor(a).solve(1j * b), "the factor is float64, b is complex128"),
    (lambda: lacuna.set_threads(0), "set_threads: "),
])  # fmt: skip
def test_arguments_are_called_by_their_names(call, said):
    assert said in told(call)


def test_options_that_are_not_there_are_answered_with_those_that_are():
    sentence = told(lacuna.Solver, pattern, tol=1e-8)
    assert "'tol'" in sentence and "rtol" in sentence and "max_iterations" in sentence
    names = sentence.split("there are ")[1].split(", ")
    for name in names:  # all of them are known
        assert "unexpected" not in str(told(lacuna.Solver, pattern, **{name: "nonsense"}) if name != "method" else "")


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, bool])
def test_a_factor_takes_what_loses_nothing(dtype):
    right = np.array([1, 0, 1, 1, 0, 1]).astype(dtype)
    factor = lacuna.Solver(pattern).factor(a)
    x = factor.solve(right)
    assert x.dtype == np.float64
    np.testing.assert_allclose(x, np.linalg.solve(matrix.toarray(), right.astype(float)))
    x, _ = lacuna.Solver(pattern, method="gmres").factor(a).iterate(right, x0=np.zeros(N, dtype))
    np.testing.assert_allclose(x, np.linalg.solve(matrix.toarray(), right.astype(float)), rtol=1e-8)


def test_a_factor_refuses_what_would_lose_something():
    narrow, real = (lacuna.Solver(pattern).factor(values) for values in (a.astype(np.float32), a))
    for factor, right in ((narrow, b), (narrow, b.astype(np.int64)), (real, b + 1j)):
        with pytest.raises(lacuna.DtypeError):
            factor.solve(right)
    turned = lacuna.Solver(pattern).factor(a * 1j).solve(b)
    np.testing.assert_allclose(turned, np.linalg.solve(1j * matrix.toarray(), b))


def test_a_factor_is_a_linear_operator_without_a_dtype():
    inverse = sla.LinearOperator(pattern.shape, matvec=lacuna.Solver(pattern).factor(a).solve)
    assert inverse.dtype == np.float64
    np.testing.assert_allclose(inverse @ b, np.linalg.solve(matrix.toarray(), b))


@pytest.mark.parametrize("front, make", [(lacuna, np.asarray), (lt, torch.tensor)], ids=["numpy", "torch"])
def test_what_is_no_axis_or_number_is_named(front, make):
    x = make(np.ones((3, 2)))
    for axis in ("all", 1.5):
        assert f"sum: the axis is {axis!r}" in told(front.sum, x, axis)
        assert f"sum: the axis is {axis!r}" in told(front.sum, x, (0, axis))
    assert told(front.lstsq, pattern, make(a), make(b), "a") == "lstsq: 'a' is not a number; give a number"
    assert told(front.mul, x, "a").startswith("mul: ") and "complex" in told(front.mul, x, 2j)
    assert "the number" in told(front.add, 1j, x)


def test_stacks_say_what_they_are_given():
    for name in ("hstack", "vstack", "block_diag"):
        stack = getattr(lacuna.Pattern, name)
        assert told(stack, pattern) == f"Pattern.{name}: got a Pattern; give a list of patterns"
        assert told(stack, 3) == f"Pattern.{name}: got a int; give a list of patterns"
        assert told(stack, []) == f"Pattern.{name}: the list is empty; give at least one pattern"
        assert told(stack, [pattern, a]).startswith(f"Pattern.{name}: expected a lacuna.Pattern, got ndarray")
    assert told(lacuna.Pattern.vstack, [pattern, wide]).startswith("Pattern.vstack: pattern 1 has 3 columns")


def test_inputs_are_named_as_they_are_given():
    assert told(lacuna.spmm, pattern, a[1:], b).startswith("spmm: a has shape (15)")
    assert told(lacuna.spmm, pattern, a, b[1:]).startswith("spmm: x has shape (5, 1)")
    assert told(lacuna.add, b, b[1:]).startswith("add: y has shape (5)")
    assert told(lt.solve, pattern, torch.tensor(a), torch.tensor(b[1:])).startswith("solve: b has shape (5, 1)")


def test_torch_has_the_names_of_torch_and_numpy_those_of_numpy():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(lacuna.sum(x, axis=(0, 1), keepdims=True), x.sum((0, 1), keepdims=True))
    np.testing.assert_array_equal(lt.sum(torch.tensor(x), dim=(0, 1), keepdim=True), x.sum((0, 1), keepdims=True))
    np.testing.assert_array_equal(lt.concat([torch.tensor(x)] * 2, dim=1), np.concatenate([x, x], axis=1))
    np.testing.assert_allclose(
        lt.sparse_logsumexp(pattern, torch.tensor(a), dim=1, keepdim=True),
        lacuna.sparse_logsumexp(pattern, a, axis=1, keepdims=True),
    )
