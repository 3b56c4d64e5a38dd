# SPDX-License-Identifier: Apache-2.0
"""What users hand over by mistake: refused with a sentence, never rounded, flattened, dropped or guessed."""

import gc
import io
import pickle
import threading
import weakref

import numpy as np
import pytest
import torch
from one_graph import holds_floats_open
from torch._dynamo.testing import CompileCounterWithBackend

import lacuna
import lacuna.torch as lt
from lacuna._core import lib
from lacuna._handle import form
from lacuna._operators import ARRAYS, resolve
from lacuna._program import VJP, find

sp = pytest.importorskip("scipy.sparse")
pattern = lacuna.Pattern.from_coo([2, 0, 0, 1, 1, 2, 0], [2, 0, 1, 1, 2, 0, 0], (3, 3))  # unsorted, (0, 0) comes twice
a, x = np.arange(1.0, 7.0), np.ones((3, 2))


def refuses(error, match, function, *arguments, **keywords):
    with pytest.raises(error, match=match) as caught:
        function(*arguments, **keywords)
    assert isinstance(caught.value, lacuna.LacunaError)


def test_a_pickle_keeps_the_map_of_entries():
    again = pickle.loads(pickle.dumps(pattern))
    np.testing.assert_array_equal(again.entries.target, pattern.entries.target)
    given = np.arange(7.0)
    np.testing.assert_array_equal(lacuna.remap(again.entries, given), lacuna.remap(pattern.entries, given))
    derived = pattern.transpose()[0]
    assert derived.entries is None and pickle.loads(pickle.dumps(derived)).entries is None


def test_torch_loads_patterns_and_maps_as_weights():
    blocks = lacuna.Pattern.from_bsr([0, 1, 2], [0, 1], (4, 4), (2, 2))
    stream, derived = io.BytesIO(), pattern.transpose()[0]
    torch.save({"pattern": pattern, "derived": derived, "blocks": blocks, "map": pattern.entries}, stream)
    stream.seek(0)
    again = torch.load(stream, weights_only=True)
    assert again["pattern"].same(pattern) and again["derived"].same(derived)
    assert again["blocks"].same(blocks) and again["blocks"].blocks == (2, 2) and again["derived"].entries is None
    for made in (again["map"], again["pattern"].entries):
        np.testing.assert_array_equal(made.target, pattern.entries.target)
        assert made.outputs == pattern.entries.outputs


def test_patterns_are_frozen_and_not_made_by_calling_the_class():
    for name in ("nnz", "shape", "entries", "other"):
        with pytest.raises(AttributeError, match=f"frozen: {name} cannot be set"):
            setattr(pattern, name, 9)
    assert pattern.nnz == 6
    refuses(lacuna.ArgumentError, "from_coo", lacuna.Pattern)
    refuses(lacuna.ArgumentError, "Solver.factor", lacuna.Factor)


def test_factors_of_scale_keep_their_imaginary_part_and_have_no_derivative():
    z, t = np.ones(2, np.complex128), torch.ones(2, dtype=torch.complex128)
    for factor in (1 + 2j, np.complex64(1 + 2j), np.complex128(1 + 2j)):
        np.testing.assert_array_equal(lacuna.scale(factor, z), (1 + 2j) * z)
        assert torch.equal(lt.scale(factor, t), (1 + 2j) * t)
    for factor in (2, np.float32(2), np.int64(2), 2 + 0j, np.complex64(2)):
        np.testing.assert_array_equal(lacuna.scale(factor, z.real), 2 * z.real)
        assert torch.equal(lt.scale(factor, t.real), 2 * t.real)
    refuses(lacuna.DtypeError, "complex", lacuna.scale, 1j, z.real)
    refuses(lacuna.DtypeError, "complex", lt.scale, 1j, t.real)
    refuses(lacuna.DtypeError, "scale: x has dtype datetime64", lacuna.scale, 2.0, np.ones(2, "M8[s]"))
    refuses(lacuna.ArgumentError, "mul", lacuna.scale, np.ones(2), z)
    refuses(lacuna.ArgumentError, "frozen number, not a Tensor.*mul", lt.scale, torch.ones((), requires_grad=True), t)


@holds_floats_open
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_scale_takes_any_factor_without_being_compiled_anew(backend):
    torch._dynamo.reset()
    counter = CompileCounterWithBackend(backend)
    f = torch.compile(lambda s, x: lt.scale(s, x), fullgraph=True, backend=counter)
    t = torch.arange(3.0, dtype=torch.float64, requires_grad=True)
    for factor in (1.5, 2.5, -0.25, 1e-300, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5):
        y = f(factor, t)
        assert torch.equal(y, factor * t)
        assert torch.equal(torch.autograd.grad(y.sum(), t)[0], torch.full_like(t, factor))
    assert counter.frame_count <= 2  # the second has the factor as a variable


def test_many_factors_leave_nothing_behind():
    lacuna.scale(0.5, a), lt.scale(0.5, torch.tensor(a))
    before = len(ARRAYS.family.specs), len(ARRAYS.family.asked), len(ARRAYS.family.programs)
    for factor in np.linspace(1, 2, 50):
        lacuna.scale(factor, a), lt.scale(factor, torch.tensor(a))
    assert (len(ARRAYS.family.specs), len(ARRAYS.family.asked), len(ARRAYS.family.programs)) == before


def test_c_keeps_programs_and_python_asks_it_for_them():
    n, code = 20_000, lib.LAC_F64
    gc.collect()
    before = lacuna.memory_stats("cpu")["live_bytes"]
    own = lacuna.Pattern.from_coo(np.arange(n), np.arange(n), (n, n))
    spec = find(resolve("spmm", (own.key,), (form("N"),)))
    arguments = VJP, (), ((code, (n,)), (code, (n, 1))), 3, 1
    first, held = spec.program(*arguments), spec.program(*arguments)
    assert held is first and len(first.steps) == 2
    own.family.programs.clear()
    found = []
    thread = threading.Thread(target=lambda: found.append(spec.program(*arguments)))
    thread.start(), thread.join()
    assert found[0] is not first and found[0].c == first.c
    assert spec.program(*arguments[:3], 1, 1).c != first.c

    own_again, family = weakref.ref(own), weakref.ref(own.family)
    del own, spec, first, held, found
    gc.collect()
    assert own_again() is None and family() is None
    assert lacuna.memory_stats("cpu")["live_bytes"] - before < n  # the pattern, whatever was written for it, is gone


def test_indices_are_integers_in_one_dimension():
    refuses(lacuna.ArgumentError, "target must be integers, got float64", lacuna.Map, [0.7, 1.9], 2)
    refuses(lacuna.ArgumentError, r"one-dimensional, got shape \(2, 2\)", lacuna.Map, [[0, 1], [1, 0]], 2)
    assert lacuna.Map([], 2).inputs == 0 and lacuna.Map(np.array([1, -1], np.int32), 2).target.tolist() == [1, -1]
    large = np.array([0, 2**63], np.uint64)
    refuses(lacuna.IndexOverflowError, r"target\[1\] = 9223372036854775808", lacuna.Map, large, 2)
    refuses(lacuna.IndexOverflowError, r"row\[1\] = 922337203", lacuna.Pattern.from_coo, large, [0, 0], (3, 3))
    for shape in ((3,), (3, 3, 3), (1.0, 2), "ab", 4):
        refuses(lacuna.ArgumentError, "two integers", lacuna.Pattern.from_csr, [0, 1], [0], shape)
    refuses(lacuna.ArgumentError, r"0 or more; got \(-1, 2\)", lacuna.Pattern.from_coo, [], [], (-1, 2))
    refuses(lacuna.IndexOverflowError, "not within", lacuna.Pattern.from_coo, [], [], (1, 2**64))


def test_tensors_without_numbers_are_refused():
    from torch._subclasses.fake_tensor import FakeTensorMode

    ones = torch.ones(6, dtype=torch.float64, requires_grad=True)
    refuses(lacuna.ArgumentError, r"spmm: a is a Tensor that requires grad.*detach", lacuna.spmm, pattern, ones, x)
    made = torch.func.vmap(lambda rows: lacuna.Pattern.from_coo(rows, torch.tensor([0]), (3, 3)).nnz)
    refuses(lacuna.ArgumentError, "row is a Tensor whose numbers cannot be read", made, torch.tensor([[0], [1]]))
    with FakeTensorMode():
        zero = torch.tensor([0])
        refuses(lacuna.ArgumentError, "row is a FakeTensor", lacuna.Pattern.from_coo, zero, zero, (3, 3))


def test_masked_arrays_are_refused():
    masked = np.ma.masked_array(a, [1, 0, 0, 0, 0, 0])
    refuses(lacuna.ArgumentError, "spmm: a is a masked array", lacuna.spmm, pattern, masked, x)
    refuses(lacuna.ArgumentError, "masked", pattern.solver().factor, masked)
    indices = np.ma.masked_array([0, 1], [1, 0])
    refuses(lacuna.ArgumentError, "row is a masked array", lacuna.Pattern.from_coo, indices, [0, 1], (2, 2))
    refuses(lacuna.ArgumentError, "target is a masked array", lacuna.Map, indices, 2)


def test_wrong_objects_are_named():
    for function, who in ((lacuna.Solver, "Solver"), (pattern.product, "product"), (pattern.union, "union")):
        refuses(lacuna.ArgumentError, f"{who}: expected a lacuna.Pattern, got str", function, "x")
    refuses(lacuna.ArgumentError, "same: expected a lacuna.Pattern, got NoneType", pattern.same, None)
    for function in (lacuna.from_scipy, lacuna.Pattern.from_scipy):
        refuses(lacuna.ArgumentError, "expected a SciPy sparse matrix or array, got ndarray", function, np.eye(3))


def test_operators_by_name_take_what_c_takes():
    lower, map_ = pattern.tril()
    b = np.ones((3, 1))
    got = lacuna.apply("trisolve", lower, lacuna.remap(map_, a), b, ints=(form("T"),))
    np.testing.assert_array_equal(got, lacuna.trisolve(pattern, a, b, op="T"))
    got = lacuna.apply("spgemm", pattern, pattern, pattern.product(pattern), a, a)
    np.testing.assert_array_equal(got, lacuna.spgemm(pattern, a, pattern, a))
    refuses(lacuna.PatternError, "outside the lower triangle", lacuna.apply, "trisolve", pattern, a, b)
    refuses(lacuna.ArgumentError, "spgemm: pattern 2 is missing", lacuna.apply, "spgemm", pattern, pattern, a, a)
    refuses(lacuna.ArgumentError, "a solver or a factor", lacuna.apply, "solve_with", pattern.entries, a, b)
    refuses(lacuna.ArgumentError, "must be a map", lacuna.apply, "remap", pattern.solver(), a)
    refuses(lacuna.ArgumentError, "4 patterns came; 3", lacuna.apply, "sampled_spgemm", *[pattern] * 4, a, a)
    refuses(lacuna.ArgumentError, "2 maps, solvers or factors came; 1", lacuna.apply, "remap", map_, map_, a)
    refuses(lacuna.ArgumentError, "9 ints came; 8", lacuna.apply, "sum", a, ints=tuple(range(9)))


def test_axes_of_sum():
    np.testing.assert_array_equal(lacuna.sum(x, axis=[0]), x.sum(0))
    np.testing.assert_array_equal(lt.sum(torch.tensor(x), dim=[0, 1]), x.sum())
    for axes in ((0, 0), (0, -2), [1, 1]):
        refuses(lacuna.ShapeError, "comes twice", lacuna.sum, x, axis=axes)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array])
def test_scipy_matrices_with_slack_and_with_integers(make):
    m = make(np.array([[0.0, 2.0], [3.0, 0.0]]))
    m.data, m.indices = np.append(m.data, 99.0), np.append(m.indices, 0)  # room that no entry uses
    p, values = lacuna.from_scipy(m)
    np.testing.assert_array_equal(lacuna.to_dense(p, values), [[0, 2], [3, 0]])
    refuses(lacuna.DtypeError, r"\.astype\(float\)", lacuna.from_scipy, make(np.eye(3, dtype=np.longdouble)))
    assert lacuna.Pattern.from_scipy(make(np.eye(3, dtype=np.int64))).nnz == 3
    with pytest.raises(lacuna.ArgumentError, match="two integers"):
        lacuna.from_scipy(sp.coo_array(np.ones(3)))


def test_mixed_devices_are_refused_when_only_shapes_are_computed():
    t, u = torch.tensor(a), torch.tensor(x)
    said = "x lies on cpu and a on meta"
    refuses(lacuna.DeviceError, said, lt.spmm, pattern, t.to("meta"), u)
    refuses(lacuna.DeviceError, "mul: y lies on meta and x on cpu", lt.mul, t, t.to("meta"))
