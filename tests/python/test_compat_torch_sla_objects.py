# SPDX-License-Identifier: Apache-2.0
"""lacuna.compat.torch_sla: its objects: determinants, reductions, predicates, scopes of options, lists, problems."""

import copy
import io
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg  # noqa: F401
import torch
from reference import same
from sparse_cases import check, check2, entries, given, grid, random

import lacuna
import lacuna.compat.torch_sla as sla
from lacuna.compat.torch_sla import DetConfig, PreconditionerConfig, SolverConfig, SparseTensor, SparseTensorList

D = torch.float64

# -- determinants, reductions, predicates -----------------------------------------------------------------------------


def test_signs_and_sizes_of_determinants():
    """The peer's sign ignores the order of columns; its logdet overflows, and has no gradient."""
    for m in (3, 5, 20):
        assert SparseTensor.from_scipy(grid(m, 0.3)).det() > 0
    for seed in range(20):
        dense = random(8, 8, like=torch.zeros(1, dtype=D), seed=seed)
        same(SparseTensor.from_dense(dense).det(), torch.linalg.det(dense), 1e-9)
    A = SparseTensor.tridiagonal(2000, 4.0, -1.0)
    want = torch.tensor(np.linalg.slogdet(A.to_dense().numpy())[1])
    for words in ({}, {"method": "lu"}, {"method": "cholesky"}):
        same(A.logdet(**words), want, 1e-10)
    with DetConfig(method="hutchinson", num_probes=50):
        assert abs(A.logdet() - want) < 0.02 * want
        assert abs(A.logdet(distribution="gaussian", num_probes=200) - want) < 0.05 * want
    small = SparseTensor.diag(torch.full((4,), 1e-4, dtype=D, requires_grad=True))
    (gradient,) = torch.autograd.grad(small.det(), small.values)
    same(gradient / 1e-12, torch.ones(4, dtype=D))


def test_logdet_differentiates_twice():
    _, (val, row, col, shape) = given()
    function = lambda v: SparseTensor(v, row, col, shape).logdet()  # noqa: E731
    assert check(function, val.clone().requires_grad_()) and check2(function, val.clone().requires_grad_())


def test_reductions_are_of_stored_values():
    case, parts = given("batched")
    A = SparseTensor(*parts).coalesce()
    dense = case.dense()
    stored = torch.zeros(5, 5, dtype=torch.bool)
    stored[case.rows, case.columns] = True
    same(A.sum(axis=-1), dense.sum(-1)), same(A.sum(axis=1, keepdim=True), dense.sum(1, keepdim=True))
    same(A.mean(axis=-1), dense.sum(-1) / stored.sum(-1))  # the peer divides by the count of all
    same(A.mean(axis=(1, 2)), dense.sum((1, 2)) / stored.sum())
    same(A.max(axis=-1), dense.masked_fill(~stored, -torch.inf).amax(-1))  # the peer counts zeros here
    same(A.min(axis=1), dense.masked_fill(~stored, torch.inf).amin(1))
    same(A.prod(axis=-1), dense.masked_fill(~stored, 1).prod(-1))


def test_norms_have_gradients_and_see_duplicates():
    case, parts = given()
    for ord in ("fro", 1, 2):
        val = parts[0].clone().requires_grad_()
        A = SparseTensor(val, *parts[1:])
        same(A.norm(ord), torch.linalg.matrix_norm(case.dense(), ord), 1e-8)
        twin = parts[0].clone().requires_grad_()
        (want,) = torch.autograd.grad(torch.linalg.matrix_norm(case.dense(twin), ord), twin)
        same(torch.autograd.grad(A.norm(ord), val)[0], want, 1e-6)


def test_predicates_tell_the_truth():
    """The peer calls Poisson's matrix indefinite, and an asymmetry of 1e-7 symmetric; it remembers what was before."""
    A = SparseTensor.from_scipy(grid(10))
    assert A.is_positive_definite() and A.is_positive_definite("gershgorin") and A.detect_matrix_type() == "spd"
    skew = SparseTensor.from_dense(torch.tensor([[2.0, 1], [1 + 1e-7, 2]], dtype=D))
    assert not skew.is_symmetric() and skew.is_symmetric(atol=1e-6) and skew.detect_matrix_type() == "general"
    assert not SparseTensor.from_dense(torch.diag(torch.tensor([1.0, -1]))).is_positive_definite()
    B = SparseTensor(torch.ones(1), torch.tensor([0]), torch.tensor([0]), (1, 1))
    assert B.is_positive_definite()
    B.values.neg_()
    assert not B.is_positive_definite()
    same(SparseTensor.eye(3).condition_number(ord=1), torch.tensor(1.0, dtype=D))
    skewed = torch.tensor([[2.0, 5], [0, 1]], dtype=D)
    for ord in (1, float("inf")):  # of two rows the estimate is exact
        same(SparseTensor.from_dense(skewed).condition_number(ord), torch.linalg.cond(skewed, ord))


def test_indices_are_checked_and_batches_take_all_patterns():
    with pytest.raises(lacuna.LacunaError):
        SparseTensor(torch.ones(1), torch.tensor([5]), torch.tensor([0]), (2, 2))
    dense = torch.stack([torch.diag(torch.ones(3)), torch.ones(3, 3)])  # the peer takes the places of item 0
    same(SparseTensor.from_dense(dense).to_dense(), dense)
    A, B = SparseTensor.eye(3), SparseTensor.diag(torch.ones(2, dtype=D), offset=1)
    same((A + B).to_dense(), A.to_dense() + B.to_dense())  # the peer refuses other patterns
    assert ((A == A).values).all() and (A + 1).values.eq(2).all()


def test_conversions():
    case, parts = given("batched")
    A = SparseTensor(*parts)
    same(A.to_dense(batch_idx=(1,)), case.dense()[1]), same(A.to_csr((2,)).to_dense(), case.dense()[2])
    same(A.to_torch_sparse((0,)).to_dense(), case.dense()[0])
    two = SparseTensor.from_dense(torch.block_diag(torch.ones(2, 2), torch.ones(3, 3)).double())
    labels, count = two.connected_components()
    assert count == 2 and labels.tolist() == [0, 0, 1, 1, 1]
    assert isinstance(two.to_connected_components(), SparseTensorList)


# -- scopes -----------------------------------------------------------------------------------------------------------


def test_scopes_of_options():
    A, b = SparseTensor.from_scipy(grid(8)), torch.ones(64, dtype=D)
    with SolverConfig(method="cg", rtol=1e-3, return_info=True, preconditioner="none"):
        _, outer = A.solve(b)
        with SolverConfig(rtol=1e-9):
            _, inner = sla.solve(A, b)
            _, call = sla.solve(A, b, rtol=1e-2)
        _, after = A.solve(b)
    assert outer.method == inner.method == "cg" and isinstance(A.solve(b), torch.Tensor)
    assert call.iter_count < outer.iter_count == after.iter_count < inner.iter_count

    @SolverConfig(return_info=True, method="gmres")
    def inside():
        return A.solve(b)[1]

    assert inside().method.endswith("gmres") and inside.__name__ == "inside"
    with pytest.raises(RuntimeError), SolverConfig(method="no"):
        raise RuntimeError
    same(A @ A.solve(b), b)


def test_presets():
    A, b = SparseTensor.from_scipy(grid(8)), torch.ones(64, dtype=D)
    assert (
        SolverConfig.spd().cpu().direct().method == "cholesky" and SolverConfig.general().gpu().direct().method == "lu"
    )
    assert SolverConfig.spd().iterative().method == "cg" and SolverConfig.indefinite().iterative().method == "minres"
    assert SolverConfig.convection_diffusion().iterative().method == "gmres"
    assert SolverConfig.auto(A).matrix_type == "spd" and SolverConfig.spd().replace(atol=1.0).atol == 1.0
    for preset in (SolverConfig.spd(), SolverConfig.spd().direct(), SolverConfig.spd().iterative().high_accuracy(),
                   SolverConfig.auto(A).iterative(), SolverConfig.convection_diffusion()):  # fmt: skip
        with preset:
            same(A @ sla.solve(A, b), b, 1e-8)
    for config in (PreconditionerConfig("ssor", omega=1.2), PreconditionerConfig("block_jacobi", block_size=4),
                   PreconditionerConfig("amg", amg_strength=0.1, amg_coarsening="smoothed_aggregation"),
                   PreconditionerConfig.from_string("none")):  # fmt: skip
        same(A @ sla.solve(A, b, method="cg", preconditioner=config), b, 1e-8)


def test_the_cache_never_answers_for_another_matrix():
    """Values that are permuted or change sign collide in the peer's."""
    matrix = grid(5)
    val, row, col, shape = entries(matrix)
    b = torch.ones(25, dtype=D)
    for values in (val, val.flip(0), -val, val[torch.randperm(len(val), generator=torch.Generator().manual_seed(0))]):
        dense = torch.zeros(shape, dtype=D).index_put((row, col), values, accumulate=True)
        if torch.linalg.cond(dense) < 1e8:
            same(sla.spsolve(values, row, col, shape, b), torch.linalg.solve(dense, b), 1e-6)
    assert sla.SOLVER_CACHE.stats()["size"] >= 1
    sla.SOLVER_CACHE.clear()
    assert sla.SOLVER_CACHE.stats()["size"] == 0


# -- lists, copies, problems ------------------------------------------------------------------------------------------


def test_lists():
    parts = [entries(grid(2)), entries(grid(3))]
    tensors = SparseTensorList.from_coo_list(parts)
    bs = [torch.ones(4, dtype=D), torch.ones(9, dtype=D)]
    xs = tensors.solve(bs, method="cg")
    whole = tensors.to_block_diagonal()
    assert type(whole) is SparseTensor and tensors.block_sizes == [(4, 4), (9, 9)] and tensors.total_shape == (13, 13)
    same(whole.solve(torch.cat(bs)), torch.cat(xs), 1e-8)
    back = SparseTensorList.from_block_diagonal(whole, tensors.block_sizes)
    same(back[1].to_dense(), torch.tensor(grid(3).toarray()))
    assert len(tensors) == 2 and all(tensors.is_symmetric()) and (tensors * 2)[0].to_dense()[0, 0] == 8
    assert [tuple(y.shape) for y in tensors @ bs] == [(4,), (9,)]


def test_lists_and_matrices_go_with_those_of_lacuna(tmp_path):
    base = lacuna.torch.SparseTensor.tridiagonal(3)
    A = sla.SparseTensor.of(base)
    for made in (A @ base, A + base, A * base, A / base, A == base):
        assert type(made) is sla.SparseTensor
    same((A @ base).to_dense(), base.to_dense() @ base.to_dense())
    listed = sla.SparseTensorList([base])
    assert type(listed * 2) is type(listed.exp()) is sla.SparseTensorList
    assert [type(leaf) for leaf in torch.utils._pytree.tree_leaves(listed)] == [torch.Tensor]
    torch.save(listed, tmp_path / "list.pt")
    assert type(torch.load(tmp_path / "list.pt", weights_only=True)) is sla.SparseTensorList


def test_copies_pickles_and_trees():
    _, parts = given()
    A = SparseTensor(*parts)
    for back in (copy.deepcopy(A), pickle.loads(pickle.dumps(A)), torch.utils._pytree.tree_map(lambda t: t, A)):
        assert type(back) is SparseTensor
        same(back.to_dense(), A.to_dense())
    file = io.BytesIO()
    torch.save(A, file)
    file.seek(0)
    assert type(torch.load(file)) is SparseTensor


def test_problems():
    from lacuna.compat.torch_sla import datasets

    line, plane = datasets.laplacian_1d(6), datasets.laplacian_2d(4)
    same(torch.linalg.eigvalsh(line.to_dense()), datasets.laplacian_1d_eigenvalues(6), 1e-12)
    same(torch.linalg.eigvalsh(plane.to_dense()), datasets.laplacian_2d_eigenvalues(4), 1e-12)
    same(plane.to_dense(), torch.tensor(grid(4).toarray()))
    for name, sizes in (("poisson_2d", (8, 16)), ("poisson_3d", (5, 10))):
        errors = []
        for m in sizes:
            problem = datasets.get(name, m=m)
            x = sla.spsolve(*problem.coo(), problem.rhs)
            errors.append((x - problem.exact).abs().max())
        assert errors[1] < 0.4 * errors[0]  # second order
    assert datasets.helmholtz_1d(20).tensor().is_symmetric() and not datasets.helmholtz_1d(20).tensor().is_hermitian()
    wind = datasets.advection_diffusion_2d(5, peclet=2.0)
    assert not wind.tensor().is_symmetric() and wind.nnz() == len(wind.val)
    same(wind.matvec(torch.ones(25, dtype=D)), wind.to_dense().sum(1))
    assert datasets.anisotropic_diffusion_2d(4).tensor().is_positive_definite()
    assert {len(datasets.default_sizes(name)) > 0 for name in datasets.list_problems()} == {True}
    errors = []
    for n in (20, 40):
        problem = datasets.bratu_1d(n, lam=1.5)
        errors.append((problem.matvec(problem.exact) - 1.5 * problem.exact.exp()).abs().max())
    assert errors[1] < 0.3 * errors[0] < 0.1  # second order
    with pytest.raises(ValueError, match="lam"):
        datasets.bratu_1d(lam=4.0)


def test_benchmarks_have_solutions_that_are_known():
    from lacuna.compat.torch_sla import datasets

    assert [(name, len(found)) for name, found in datasets.Benchmarks.items()] == [
        ("suitesparse", 5), ("dimacs10", 4), ("synthetic", 6)]  # fmt: skip
    for key, bench in datasets.Synthetic.items():
        assert len(bench) == 3 and max(bench.evaluate(sla.spsolve)) < 1e-9 and bench is datasets.Synthetic[key]
        assert bench.val.dtype == datasets.Synthetic.dtype_for(key) and datasets.Synthetic.notes(key)
    kinds = {key: bench.detected_kind for key, bench in datasets.Synthetic.items()}
    assert kinds["poisson_2d_64"] == "spd" and kinds["convdiff_2d_64_peclet_10"] == "general"
    small = datasets.Synthetic["poisson_2d_16"]
    same(SparseTensor(small.val, small.row, small.col, small.shape).to_dense(), torch.tensor(grid(16).toarray()))
    assert "n=256" in repr(small) and "nope" not in datasets.Synthetic
    with pytest.raises(KeyError):
        datasets.Synthetic["nope"]


def test_a_benchmark_measures_solvers():
    from lacuna.compat.torch_sla.benchmark import Benchmark, plot_errors

    parts = torch.tensor([2.0, 4.0], dtype=D), torch.tensor([0, 1]), torch.tensor([0, 1]), (2, 2)
    bench = Benchmark("two", *parts, cases=[{"x": torch.ones(2, dtype=D), "b": parts[0]}])
    halved = lambda val, row, col, shape, b: b / 2  # noqa: E731
    same(torch.tensor(bench.evaluate(halved, 0)), torch.tensor(0.5**0.5))
    assert bench.evaluate(halved, [0, 0], metric="max_abs") == [1.0, 1.0]
    assert bench.evaluate(halved, 0, metric=lambda x, exact: float(x[1] - exact[1])) == 1.0
    drawn = Benchmark("drawn", *parts, n_cases=2, seed=5)
    same(drawn[1]["b"], parts[0] * drawn[1]["x"])
    assert [case["seed"] for case in drawn] == [5, 6] and not torch.equal(drawn[0]["x"], drawn[1]["x"])
    with pytest.raises(lacuna.ArgumentError, match="metric"):
        bench.evaluate(halved, metric="l1")
    with pytest.raises(lacuna.ShapeError, match="square"):
        Benchmark("tall", *parts[:3], (3, 2))
    try:
        import matplotlib

        matplotlib.use("Agg")
    except ImportError:
        return
    assert plot_errors({"two": [0.5, 1.0], "drawn": [1e-9]}).get_yscale() == "log"


def test_matrices_of_collections_are_read_from_files(tmp_path, monkeypatch):
    from lacuna.compat.torch_sla import datasets

    monkeypatch.setenv("TORCH_SLA_DATASET", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for collection in (datasets.SuiteSparse, datasets.DIMACS10):
        monkeypatch.setattr(collection, "_made", {})
    assert not datasets.is_suitesparse_available() and not datasets.is_suitesparse_available("nos3")
    with pytest.raises(datasets.DatasetUnavailable, match=r"no nos3.mtx in .*sparse.tamu.edu/MM/HB/nos3.tar.gz"):
        datasets.load_suitesparse("nos3")
    sla.save_mtx(SparseTensor.from_scipy(grid(5)), tmp_path / "nos3.mtx", symmetry="symmetric")
    problem = datasets.load_suitesparse("nos3")
    same(problem.to_dense(), torch.tensor(grid(5).toarray()))
    assert problem.properties == {
        "complex": False, "symmetric": True, "spd": True, "mm_symmetry": "symmetric", "mm_field": "real"}  # fmt: skip
    assert problem.meta["group"] == "HB" and datasets.is_suitesparse_available("nos3")
    sla.save_mtx(SparseTensor.from_scipy(grid(4)), tmp_path / "bcsstk16.mtx")
    with pytest.warns(UserWarning, match="is left out"):
        found = list(datasets.iter_benchmarks(sources=["suitesparse"]))
    assert [(source, key, bench.shape) for source, key, bench in found] == [("suitesparse", "real_spd", (16, 16))]
    with pytest.raises(datasets.DatasetUnavailable):
        list(datasets.iter_benchmarks(sources=["dimacs10"], skip_unavailable=False))
    edges = SparseTensor(torch.tensor([3.0, 1, 2], dtype=D), [0, 1, 2], [0, 0, 1], (3, 3))  # a loop, and a path
    sla.save_mtx(edges, tmp_path / "delaunay_n10.mtx")
    graph = datasets.DIMACS10["delaunay_small"]
    want = torch.tensor([[1.5, -0.5, 0], [-0.5, 2.5, -1], [0, -1, 2]], dtype=D)
    same(SparseTensor(graph.val, graph.row, graph.col, graph.shape).to_dense(), want)
    assert graph.detected_kind == "spd" and max(graph.evaluate(sla.spsolve)) < 1e-12


@pytest.mark.parametrize("side", [30, 100])
@pytest.mark.parametrize("dtype, size", [(torch.float32, 4), (torch.float64, 8), (torch.complex128, 16)])
def test_memory_is_foreseen_as_scipys_factor_needs_it(side, dtype, size):
    """About: within a factor of four of the numbers that SuperLU holds of a plane Laplacian."""
    line = sp.diags_array([-1.0, 2, -1], offsets=[-1, 0, 1], shape=(side, side))
    plane = sp.csc_array(sp.kron(line, sp.eye_array(side)) + sp.kron(sp.eye_array(side), line))
    held = sp.linalg.splu(plane, "MMD_AT_PLUS_A", options={"SymmetricMode": True}).L.nnz * size
    got = sla.estimate_direct_solver_memory(plane.nnz, side * side, dtype)
    assert held / 4 < got < 4 * held and isinstance(got, int)
