# SPDX-License-Identifier: Apache-2.0
"""Errors are exceptions, and their message is the C library's sentence."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import lacuna
import lacuna.torch as lt
from lacuna._core import _STATUS, ffi, lib
from lacuna.errors import BY_STATUS
from lacuna.torch._tensors import ready

pattern = lacuna.Pattern.from_coo([0, 1, 2, 2], [0, 1, 2, 0], (3, 3))
a, b = np.array([2.0, 3.0, 4.0, 1.0]), np.ones((3, 1))


def both(function, *inputs):
    """The same call on both front ends must raise the same error with the same sentence."""
    errors = []
    for front, convert in ((lacuna, np.asarray), (lt, torch.as_tensor)):
        with pytest.raises(lacuna.LacunaError) as caught:
            function(front, *map(convert, inputs))
        errors.append(caught.value)
    assert type(errors[0]) is type(errors[1]) and str(errors[0]) == str(errors[1])
    return errors[0]


def test_every_status_has_an_exception():
    assert set(BY_STATUS) == set(_STATUS.values()) - {"LAC_OK"}


def test_wrong_shapes():
    error = both(lambda front, a, b: front.spmm(pattern, a, b), a, np.ones((4, 1)))
    assert isinstance(error, lacuna.ShapeError) and isinstance(error, ValueError)
    assert str(error).startswith("spmm: x has shape (4, 1)") and "lac_call_infer" in error.trace
    both(lambda front, a, b: front.solve(pattern, a, b), a[:3], b)
    both(lambda front, a, b: front.spmm(pattern, a, b), np.ones((2, 4)), np.ones((3, 3, 1)))
    both(lambda front, a: front.spadd(pattern, a, pattern, a), a[:3])
    both(lambda front, a: front.sum(a, 5), a)
    with pytest.raises(lacuna.ShapeError, match="dimensions"):
        lacuna.add(np.ones((1,) * 9), np.ones(1))


def test_wrong_dtypes():
    error = both(lambda front, a: front.relu(a), a + 1j)
    assert isinstance(error, lacuna.DtypeError) and isinstance(error, TypeError) and "real arrays" in str(error)
    for front, x in ((lacuna, np.ones((3, 1), "M8[s]")), (lt, torch.ones(3, 1).to(torch.float8_e5m2))):
        with pytest.raises(lacuna.DtypeError, match="spmm: x has dtype .*float32, float64, complex64"):
            front.spmm(pattern, a if front is lacuna else torch.tensor(a), x)


def test_wrong_objects():
    with pytest.raises(lacuna.ArgumentError, match="expected a lacuna.Pattern, got ndarray"):
        lacuna.spmm(a, a, b)
    with pytest.raises(lacuna.ArgumentError, match=r"spmm: a is a ndarray"):
        lt.spmm(pattern, a, torch.tensor(b))
    with pytest.raises(lacuna.ArgumentError, match="op is 'X'; it must be one of 'N', 'T', 'H', 'plain'"):
        lacuna.spmm(pattern, a, b, op="X")
    with pytest.raises(lacuna.ArgumentError, match='say "H" \\(A\\^H\\) or "conjugated"'):
        lacuna.spmm(pattern, a, b, op="C")  # A^H to who knows BLAS, conj(A) to others
    with pytest.raises(lacuna.ArgumentError, match="pass the values"):
        lt.add(torch.eye(2).to_sparse(), torch.ones(2, 2))
    with pytest.raises(lacuna.ArgumentError, match='no method "qr"; there are "auto"'):
        lacuna.Solver(pattern, method="qr")
    with pytest.raises(lacuna.ArgumentError, match="takes 2 inputs"):
        lacuna.apply("add", a)


def test_invalid_structures_name_the_position():
    with pytest.raises(lacuna.PatternError, match="3"):
        lacuna.Pattern.from_coo([0, 1, 2, 0], [0, 1, 2, 7], (3, 3))
    with pytest.raises(lacuna.PatternError):
        lacuna.Pattern.from_csr([0, 2, 1, 4], [0, 1, 2, 0], (3, 3))
    with pytest.raises(lacuna.ArgumentError, match="4 offsets, got 3"):
        lacuna.Pattern.from_csr([0, 2, 4], [0, 1, 2, 0], (3, 3))
    with pytest.raises(lacuna.ArgumentError, match="last offset is 9"):
        lacuna.Pattern.from_csr([0, 2, 3, 9], [0, 1, 2, 0], (3, 3))
    with pytest.raises(lacuna.ArgumentError, match="row has 2 entries and col 1"):
        lacuna.Pattern.from_coo([0, 1], [0], (3, 3))
    with pytest.raises(lacuna.ArgumentError, match="integers"):
        lacuna.Pattern.from_coo([0.5], [0], (3, 3))
    with pytest.raises(lacuna.LacunaError):
        lacuna.Solver(lacuna.Pattern.from_coo([0], [0], (2, 3)))


def test_singular_and_nonfinite_systems():
    error = both(lambda front, a, b: front.solve(pattern, a, b), a * np.array([1, 0, 1, 1]), b)
    assert isinstance(error, lacuna.SingularError) and isinstance(error, ArithmeticError)
    error = both(lambda front, a, b: front.solve(pattern, a, b), a * np.nan, b)
    assert isinstance(error, lacuna.NonfiniteError)
    error = both(lambda front, a, b: front.trisolve(pattern, a, b), a * 0, b)
    assert isinstance(error, lacuna.SingularError)
    with pytest.raises(lacuna.SymmetryError):
        lacuna.solve(lacuna.Solver(pattern, method="cholesky"), a, b)


def test_errors_pass_through_autograd_and_compilers():
    leaf = torch.tensor(a, requires_grad=True)
    with pytest.raises(lacuna.ShapeError, match="spmm: x has shape"):
        lt.spmm(pattern, leaf, torch.ones(4, 1).double())
    with pytest.raises(lacuna.SingularError):
        lt.solve(pattern, leaf * 0, torch.tensor(b))
    with pytest.raises(Exception, match="spmm: x has shape"):
        torch.compile(lambda x: lt.spmm(pattern, leaf, x), fullgraph=True, backend="eager")(torch.ones(4, 1).double())
    with pytest.raises(lacuna.ShapeError, match="spmm: x has shape"):
        torch.func.vmap(lambda x: lt.spmm(pattern, leaf, x))(torch.ones(2, 4, 1).double())


def test_other_devices_are_refused():
    with pytest.raises(lacuna.DeviceError, match="spmm: x lies on meta and a on cpu"):
        ready("spmm", [torch.ones(4), torch.ones(3, 1, device="meta")])


def test_meta_tensors_have_shapes_alone():
    y = lt.spmm(pattern, torch.ones(5, 4, device="meta"), torch.ones(3, 2, device="meta"))
    assert y.is_meta and y.shape == (5, 3, 2)


def test_out_of_memory():
    @ffi.callback("void *(void *, size_t)")
    def none(_, __):
        return ffi.NULL

    @ffi.callback("void(void *, void *, size_t)")
    def release(_, __, ___):
        pass

    lib.lac_memory_set_allocator(ffi.new("lac_allocator *", (none, release, ffi.NULL)))
    try:
        with pytest.raises(MemoryError) as caught:
            lacuna.Pattern.from_coo([0, 1], [1, 0], (2, 2))
        assert isinstance(caught.value, lacuna.OutOfMemoryError)
    finally:
        lib.lac_memory_set_allocator(ffi.NULL)
    lacuna.Pattern.from_coo([0, 1], [1, 0], (2, 2))


def test_patterns_and_maps_are_pickled_and_copy_to_themselves():
    again = pickle.loads(pickle.dumps(pattern))
    assert again.same(pattern) and again.shape == pattern.shape and again.width == pattern.width
    map_ = pattern.transpose()[1]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(map_)).target, map_.target)
    assert copy.deepcopy(pattern) is pattern and copy.copy(pattern) is pattern
    with pytest.raises(TypeError, match="lacuna.Factor cannot be pickled"):
        pickle.dumps(pattern.solver().factor(np.ones(pattern.nnz)))


def apply_identity(x, op):
    return x


def test_a_solver_is_pickled_as_its_pattern_and_options():
    matrix = sp.csr_array(np.diag([2.0, 2, 2]) + np.eye(3, k=1) + np.eye(3, k=-1))
    pattern, a = lacuna.from_scipy(matrix)
    hints = np.arange(3.0)[:, None]
    for options in (
        {}, {"method": "lu", "ordering": "natural"}, {"method": "cg", "preconditioner": "jacobi", "rtol": 1e-12},
        {"method": "cg", "preconditioner": "multigrid", "near_null": hints, "coarse_rows": 2},
        {"method": "gmres", "preconditioner": apply_identity, "progress": False},
    ):  # fmt: skip
        solver = pattern.solver(**options)
        again = pickle.loads(pickle.dumps(solver))
        assert again.pattern.same(pattern) and again.report["method"] == solver.report["method"]
        assert again.report["ordering"] == solver.report["ordering"]
        np.testing.assert_array_equal(again.factor(a).solve(np.ones(3)), solver.factor(a).solve(np.ones(3)))
        assert repr(pickle.loads(pickle.dumps(again))) == repr(solver)
    hints[:] = 7  # what was given then is what is pickled
    own, kept = pickle.loads(pickle.dumps((pattern, pattern.solver(method="lu"))))
    assert kept is own.solver(method="lu") and kept.pattern is own  # as patterns keep theirs
    wider = pickle.loads(pickle.dumps(pattern.solver(method="lu").covering(pattern.union(lacuna.Pattern.eye(3))[0])))
    assert wider.report["method"] == "lu"
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(pattern.solver(method="gmres", preconditioner=lambda x, op: x))
    with pytest.raises(TypeError, match="lacuna.Factor cannot be pickled"):
        pickle.dumps(pattern.solver(method="cg", preconditioner=pattern.solver(method="lu").factor(a)))
