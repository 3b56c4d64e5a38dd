# SPDX-License-Identifier: Apache-2.0
"""Derivatives for NumPy users beside torch's, beside closed forms and beside finite differences."""

import gc
import threading

import numpy as np
import pytest
import torch

import lacuna
import lacuna.torch as lt

sp = pytest.importorskip("scipy.sparse")
rng = np.random.default_rng(11)
A = (sp.random_array((6, 6), density=0.4, rng=rng, format="csr") + 4 * sp.eye_array(6)).tocsr()
pattern, values = lacuna.from_scipy(A)
b = rng.standard_normal(6)


def loss(front, a, b):
    x = front.solve(pattern, a, b)
    return front.sum(front.mul(front.spmm(pattern, a, front.exp(x)), x)) + front.logdet(pattern, a)


def of_torch(function, *arrays):
    """Value and gradients by torch."""
    leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    value = function(*leaves)
    return value.detach().numpy(), [g.numpy() for g in torch.autograd.grad(value, leaves)]


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gradients_are_torchs(dtype):
    a, x = values.astype(dtype), b.astype(dtype)
    if dtype is np.complex128:
        a, x = a + 0.1j * rng.standard_normal(a.shape), x + 1j * rng.standard_normal(6)

    def size(front, a, x):
        y = front.solve(pattern, a, x)
        return front.sum(front.square(front.abs(y)))

    value, gradients = lacuna.value_and_grad(lambda a, x: size(lacuna, a, x), (0, 1))(a, x)
    expected, theirs = of_torch(lambda a, x: size(lt, a, x), a, x)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for got, right in zip(gradients, theirs):
        assert isinstance(got, np.ndarray) and got.dtype == dtype
        np.testing.assert_allclose(got, right, rtol=1e-10, atol=1e-12)


def test_gradients_against_differences_and_second_order():
    f = lambda a, b: loss(lacuna, a, b)  # noqa: E731
    gradient, h = lacuna.grad(f, 0)(values, b), 1e-6
    direction = rng.standard_normal(values.shape)
    slope = (f(values + h * direction, b) - f(values - h * direction, b)) / (2 * h)
    np.testing.assert_allclose(gradient @ direction, slope, rtol=1e-7)
    (g, _), (hv, _) = lacuna.hvp(f, (values, b), (direction, None))
    np.testing.assert_allclose(g, gradient, rtol=1e-12)
    g1, g0 = (lacuna.grad(f)(values + s * h * direction, b) for s in (1, -1))
    np.testing.assert_allclose(hv, (g1 - g0) / (2 * h), rtol=1e-5, atol=1e-7)


def test_any_order_of_one_number():
    f = lambda x: np.sin(x) * np.exp(2 * x)  # noqa: E731
    derivatives = [f]
    for _ in range(4):
        derivatives.append(lacuna.grad(derivatives[-1]))
    for n, derivative in enumerate(derivatives):  # the n-th derivative is Im((2 + i)^n exp((2 + i) x))
        np.testing.assert_allclose(derivative(0.3), ((2 + 1j) ** n * np.exp((2 + 1j) * 0.3)).imag, rtol=1e-12)


def test_levels_are_not_confused():
    assert lacuna.grad(lambda x: x * lacuna.grad(lambda y: x * y)(x))(3.0) == 6  # d(x x)/dx, y apart from x
    assert lacuna.grad(lambda x: x * lacuna.grad(lambda y: x + y)(1.0))(1.0) == 1
    assert lacuna.grad(lambda x: lacuna.jvp(lambda y: x * y * y, (x,), (1.0,))[1])(3.0) == 12  # 2 x x
    assert lacuna.jvp(lambda x: lacuna.grad(lambda y: y**3)(x), (2.0,), (1.0,))[1] == 12
    assert lacuna.grad(lambda x: lacuna.grad(lambda y: y * y)(np.float64(5.0)) * x)(1.0) == 10


def test_vjp_and_jvp_of_several_arrays():
    x, (u, v) = rng.standard_normal(6), rng.standard_normal((2, 6))
    (y, z), pull = lacuna.vjp(lambda x: (lacuna.spmm(A, x), x * x), x)
    np.testing.assert_allclose(y, A @ x)
    np.testing.assert_allclose(z, x * x)
    np.testing.assert_allclose(pull(u, v)[0], A.T @ u + 2 * x * v)
    np.testing.assert_allclose(pull(None, v)[0], 2 * x * v)
    assert not pull(None, None)[0].any()
    (y, z), (dy, dz) = lacuna.jvp(lambda x: (lacuna.spmm(A, x), np.ones(2)), (x,), (u,))
    np.testing.assert_allclose(dy, A @ u)
    assert not dz.any() and z.tolist() == [1, 1]
    for wrong in (lambda: pull(u), lambda: pull(u[:3], v), lambda: lacuna.grad(lambda x: x)(x)):
        with pytest.raises(lacuna.LacunaError, match="vjp|grad"):
            wrong()


M = rng.standard_normal((3, 4))
OPERATORS = {
    "2 + x": lambda x: 2 + x, "x - M": lambda x: x - M, "M - x": lambda x: M - x, "3 * x": lambda x: 3 * x,
    "x / 2": lambda x: x / 2, "1 / x": lambda x: 1 / (x + 9), "x ** 3": lambda x: x**3, "-x": lambda x: -x,
    "x @ M.T": lambda x: x @ M.T, "M.T @ x": lambda x: M.T @ x, "x @ v": lambda x: x @ M[0],
    "v @ x": lambda x: M[:, 0] @ x, "v @ v": lambda x: x[0] @ x[1], "x[1]": lambda x: x[1],
    "x[-1, 1:]": lambda x: x[-1, 1:], "x[:, ::2]": lambda x: x[:, ::2],
    "x[..., None, 0]": lambda x: x[..., None, 0], "x[[2, 0, 0]]": lambda x: x[[2, 0, 0]], "x[1, 2]": lambda x: x[1, 2],
    "exp": np.exp, "sin": np.sin, "abs": abs, "sum(0)": lambda x: x.sum(0),
    "np.sum": lambda x: np.sum(x, axis=1, keepdims=True),
    "mean": lambda x: x.mean(), "reshape": lambda x: x.reshape(2, -1), "T": lambda x: x.T,
    "max": lambda x: x.max(axis=1),
    "concatenate": lambda x: np.concatenate([x, M, x]), "where": lambda x: np.where(M > 0, x, 2 * x),
    "multiply": lambda x: np.multiply(M, x), "rows": lambda x: sum(row * i for i, row in enumerate(x)),
    "x[mask]": lambda x: x[M > 0], "x[rows]": lambda x: x[[True, False, True]],
    "x[2-D]": lambda x: x[np.array([[2, 0], [-1, -3]])], "v[2-D]": lambda x: x[0][np.array([[3, 0], [-1, -4]])],
    "ravel": lambda x: x.ravel(), "np.ravel": lambda x: np.ravel(x), "np.dot": lambda x: np.dot(x, M[1]),
    "stack": lambda x: np.stack([x, M, x], axis=-1), "norm": lambda x: np.linalg.norm(x),
    "norms": lambda x: np.linalg.norm(x, 1, axis=1), "x @ A": lambda x: x @ A[:4],
    "if": lambda x: x * 2 if (x > -100).all() else x,
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_numpy_operators(name):
    function, x = OPERATORS[name], rng.standard_normal((3, 4))
    y, pull = lacuna.vjp(function, x)
    expected = function(x)
    np.testing.assert_allclose(y, expected, rtol=1e-12)
    seed, direction, h = rng.standard_normal(expected.shape), rng.standard_normal(x.shape), 1e-6
    slope = np.sum(seed * (function(x + h * direction) - function(x - h * direction))) / (2 * h)
    np.testing.assert_allclose(np.sum(pull(seed)[0] * direction), slope, rtol=1e-6, atol=1e-8)


def test_every_dtype_goes_in():
    for dtype, out in ((np.float32, np.float32), (np.int64, np.float64), (np.float16, np.float32)):
        assert lacuna.grad(lambda x: (x * x).sum())(np.arange(3).astype(dtype)).dtype == out
    mixed = lacuna.grad(lambda x: (x * np.ones(3)).sum())(np.ones(3, np.float32))
    assert mixed.dtype == np.float32 and mixed.tolist() == [1, 1, 1]
    assert lacuna.grad(lambda x: (lacuna.spmm(A, x) ** 2).sum())(np.arange(6)).dtype == np.float64


def test_what_cannot_be_differentiated_says_so():
    for function, sentence in (
        (lambda x: np.arctan(x).sum(), "np.arctan"), (lambda x: np.tile(x, 2), "np.tile"),
        (lambda x: float(x[0]), "x.value"), (lambda x: (A @ x).sum(), r"lacuna.spmm\(A, x\)"),
        (lambda x: np.add(x, 1, out=np.ones(6)).sum(), "with out"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=sentence):
            lacuna.grad(function)(b)
    for index, sentence in (([-7], "-7 is out of bounds"), ([True], "mask of shape"), ([0.5], "integers, slices")):
        with pytest.raises(IndexError, match=sentence):
            lacuna.grad(lambda x: x[np.array(index)].sum())(b)
    with pytest.raises(IndexError, match="positive steps"):
        lacuna.grad(lambda x: x[::-1].sum())(b)
    with pytest.raises(ZeroDivisionError):
        lacuna.grad(lambda x: 1 / 0)(b)
    kept = []
    lacuna.grad(lambda x: kept.append(x) or x.sum())(b)
    with pytest.raises(lacuna.ArgumentError, match="another computation"):
        lacuna.grad(lambda x: (x * kept[0]).sum())(b)


def test_gradients_are_of_real_numbers():
    z = np.array([1 + 2j, 3.0])
    squared = lambda z: lacuna.sum(z * z)  # noqa: E731
    for derivative in (lacuna.grad, lacuna.value_and_grad):
        with pytest.raises(lacuna.DtypeError, match="complex.*lacuna.real.*vjp"):
            derivative(squared)(z)
    with pytest.raises(lacuna.DtypeError):
        lacuna.minimise(squared, z)
    real = lacuna.grad(lambda z: lacuna.real(squared(z)))(z)  # Re z^2 = x^2 - y^2: its gradient is 2 x - 2 i y
    np.testing.assert_allclose(real, 2 * z.conj(), rtol=1e-14)
    np.testing.assert_allclose(lacuna.grad(lambda z: lacuna.sum(lacuna.square(lacuna.abs(z))))(z), 2 * z, rtol=1e-14)
    np.testing.assert_allclose(lacuna.vjp(squared, z)[1](np.array(1j))[0], 2 * z.conj() * 1j, rtol=1e-14)


def test_values_are_constants_and_inputs_are_copied():
    x = b.copy()

    def changed(leaf):
        y = leaf * x  # x is written to before the derivative is taken
        x[:] = 0
        return y.sum() + leaf.value.sum()

    np.testing.assert_array_equal(lacuna.grad(changed)(b), b)


def test_gradcheck_finds_what_is_wrong():
    report = lacuna.gradcheck(lambda a, b: loss(lacuna, a, b), values, b)
    assert 0 < report["adjoint"] < 1e-10 and 0 < report["second_tangent"] < 1e-5
    with pytest.raises(lacuna.ConvergenceError, match="central difference|tangent"):
        lacuna.gradcheck(lambda x: x * x.value, b)  # half of the derivative of x^2
    with pytest.raises(ZeroDivisionError):
        lacuna.gradcheck(lambda x: 1 / 0, b)
    with pytest.raises(lacuna.ArgumentError, match="one recorded array"):
        lacuna.gradcheck(lambda x: (x, x), b)


@pytest.mark.parametrize("method, options", [("lbfgs", {}), ("adam", {"rate": 0.05, "max_iterations": 3000}),
                                             ("gradient_descent", {"rate": 0.01, "max_iterations": 3000})])  # fmt: skip
def test_minimise(method, options):
    start, seen = np.zeros(6), []
    options.update(method=method, progress=lambda report: seen.append(report["value"]))
    (x,), report = lacuna.minimise(lambda x: ((lacuna.spmm(A, x) - b) ** 2).sum(), start, **options)
    np.testing.assert_allclose(x, np.linalg.solve(A.toarray(), b), atol=1e-5)
    assert report["outcome"] == "small_gradient" and seen[-1] < 1e-3 * seen[0] and not start.any()
    with pytest.raises(TypeError, match="unexpected option 'tol'"):
        lacuna.minimise(lambda x: x.sum(), b, tol=1)
    with pytest.raises(ZeroDivisionError):
        lacuna.minimise(lambda x: 1 / 0, b)
    with pytest.raises(lacuna.ShapeError, match="one number"):
        lacuna.minimise(lambda x: x, b)


def test_checkpoints_change_nothing_but_memory():
    def step(a, x):
        return lacuna.spmm(pattern, a, np.tanh(x)) * 0.1 + x

    def run(a, x, part):
        for _ in range(5):
            x = part(a, x)
        return (x * x).sum()

    checked = lambda a, x: lacuna.checkpoint(step, a, x)  # noqa: E731
    plain = lacuna.grad(lambda a: run(a, b, step))(values)
    np.testing.assert_allclose(lacuna.grad(lambda a: run(a, b, checked))(values), plain, rtol=1e-12)
    np.testing.assert_array_equal(run(values, b, checked), run(values, b, step))
    v = rng.standard_normal(values.shape)
    second = [lacuna.hvp(lambda a: run(a, b, part), (values,), (v,))[1][0] for part in (step, checked)]
    np.testing.assert_allclose(second[0], second[1], rtol=1e-12)
    with pytest.raises(lacuna.ArgumentError, match="outputs=2"):
        lacuna.grad(lambda a: lacuna.checkpoint(lambda a: (a, a), a).sum())(values)
    with pytest.raises(lacuna.ArgumentError, match="lacuna.where"):
        lacuna.grad(lambda a: lacuna.checkpoint(lambda a: a if (a > 0).all() else -a, a).sum())(values)


def test_nothing_is_left_behind():
    def live():
        gc.collect()
        return lacuna.memory_stats("cpu")["live_bytes"]

    f = lacuna.grad(lambda a: loss(lacuna, a, b))
    f(values)
    before = live()
    for _ in range(20):
        f(values)
        with pytest.raises(ZeroDivisionError):
            lacuna.grad(lambda a: loss(lacuna, a, b) / 0 if 1 / 0 else 0)(values)
    assert live() <= before + 10_000


def test_threads_have_tapes_of_their_own():
    made, expected = [], lacuna.grad(lambda a: loss(lacuna, a, b))(values)
    gradient = lacuna.grad(lambda a: loss(lacuna, a, b))
    work = lambda: made.extend(gradient(values) for _ in range(10))  # noqa: E731
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 40
    for gradient in made:
        np.testing.assert_array_equal(gradient, expected)


def elsewhere(work):
    """What comes of work in another thread, or what it raises."""
    made = []

    def run():
        try:
            made.append(work())
        except Exception as error:  # noqa: BLE001
            made.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return made[0]


def test_recorded_arrays_stay_in_their_thread(monkeypatch):
    released = []

    class Spy:
        def __getattr__(self, name):
            if name == "lac_tape_release":
                released.append(threading.get_ident())
            return getattr(lacuna._core.lib, name)

    monkeypatch.setattr(lacuna._autodiff.recorded, "lib", Spy())

    def function(x):
        for use in (lambda: lacuna.sum(x * x), lambda: x + 1, lambda: x.value, lambda: lacuna.grad(lacuna.sum)(x)):
            refused = elsewhere(use)
            assert isinstance(refused, lacuna.ArgumentError) and "thread" in str(refused)
        passing = [x * 2]
        elsewhere(passing.clear)  # the last holder of that array ends there
        return lacuna.sum(x * x)

    np.testing.assert_array_equal(lacuna.grad(function)(b), 2 * b)
    assert released and set(released) == {threading.get_ident()}
    _, pull = lacuna.vjp(lambda x: x * x, b)
    assert isinstance(elsewhere(lambda: pull(b)), lacuna.ArgumentError)
    np.testing.assert_array_equal(pull(b)[0], 2 * b * b)


def test_tapes_within_tapes_come_back():
    """A search inside a derivative, with derivatives of its own: the outer tape is there again afterwards."""

    def outer(x):
        lacuna.minimise(lambda y: (y * y).sum() + lacuna.grad(lambda z: (z * z).sum())(np.ones(2)).sum(), np.ones(2))
        return lacuna.grad(lambda z: (z * x * x).sum())(np.ones(2)).sum()

    np.testing.assert_allclose(lacuna.grad(outer)(np.array([3.0, 4])), [6, 8])
    report = lacuna.gradcheck(lambda x: lacuna.grad(lambda z: (z * z * z).sum())(x) * x, np.array([1.0, 2]))
    assert report["adjoint"] < 1e-10


class Exchanged:
    """An array of another library: it has the protocol, and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnDevice(Exchanged):
    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **how):
        raise BufferError("lies on a CUDA device")


def test_arrays_of_other_libraries():
    for make in (Exchanged, torch.tensor):
        np.testing.assert_allclose(lacuna.spmm(pattern, make(values), make(b)), A @ b)
        np.testing.assert_allclose(lacuna.grad(lambda x: (x * x).sum())(make(b)), 2 * b)
    assert torch.from_dlpack(lacuna.spmm(pattern, values, b)).shape == (6,)
    with pytest.raises(lacuna.ArgumentError, match="OnDevice that NumPy cannot read.*host"):
        lacuna.spmm(pattern, values, OnDevice(b))
