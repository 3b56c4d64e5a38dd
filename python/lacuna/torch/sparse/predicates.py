# SPDX-License-Identifier: Apache-2.0
"""What can be said of each matrix of a batch: symmetric, Hermitian, positive definite; and of their graph."""

import torch

from ...errors import DefiniteError, NonfiniteError, SingularError, SymmetryError
from .._dtypes import computed
from .iterated import factored
from .solves import solver_of

_ROUNDINGS = 8  # by which two entries that count as the same may differ, as in C


class Predicates:
    """Predicates of SparseTensor: bool tensors of the shape of the batch, without derivatives."""

    @torch.no_grad()
    def is_symmetric(self, rtol=None, atol=0.0):
        """Whether |a_ij - a_ji| <= atol + rtol max(|a_ij|, |a_ji|). Without rtol, as lacuna.Solver judges: by 8
        roundings of the larger of these and of the root of |a_ii a_jj|; integers must be the same."""
        return self._is_like(self.T, rtol, atol)

    @torch.no_grad()
    def is_hermitian(self, rtol=None, atol=0.0):
        """Whether |a_ij - conj(a_ji)| <= atol + rtol max(|a_ij|, |a_ji|), as is_symmetric."""
        return self._is_like(self.H, rtol, atol)

    def _is_like(self, other, rtol, atol):
        if not self.is_square:
            return torch.zeros(self.batch_shape, dtype=torch.bool, device=self.device)
        ours, theirs = (t.flatten_blocks() if _has_roundings(self.dtype) else t.flatten_blocks().to(torch.int64)
                        for t in (self, other))  # fmt: skip
        apart = ours._joined(theirs, "union", torch.sub).map(torch.abs)
        sizes = ours._joined(theirs, "union", lambda a, b: torch.maximum(a.abs(), b.abs())).values
        if rtol is None and _has_roundings(self.dtype):
            rtol = _ROUNDINGS * torch.finfo(computed(self.dtype)).eps
            roots = ours.diagonal().abs().sqrt()
            sizes = torch.maximum(sizes, apart.sddmm(roots, roots).values)
        return (apart.values <= atol + (rtol or 0) * sizes).all(-1)

    @torch.no_grad()
    def is_positive_definite(self):
        """Whether each matrix is Hermitian positive definite, by a trial Cholesky factorisation.

        >>> A = lacuna.torch.SparseTensor.tridiagonal(3)
        >>> A.is_symmetric(), A.is_positive_definite(), (-A).is_positive_definite()
        (tensor(True), tensor(True), tensor(False))
        """
        if not self.is_square:
            return torch.zeros(self.batch_shape, dtype=torch.bool, device=self.device)
        pattern, slots = self._single()
        solver = solver_of(pattern, {"method": "cholesky", "keep_bytes": -1})
        items = slots.to(computed(slots.dtype)).reshape(self.batch_size, pattern.nnz)
        found = [_succeeds(solver, one) for one in items] if not _succeeds(solver, items) else [True] * len(items)
        return torch.tensor(found, dtype=torch.bool, device=self.device).reshape(self.batch_shape)

    def detect_matrix_type(self):
        """"spd", "hermitian", "symmetric" or "general": the most that is true of every matrix of the batch."""
        kinds = ("spd", self.is_positive_definite), ("hermitian", self.is_hermitian), ("symmetric", self.is_symmetric)
        return next((name for name, holds in kinds if bool(holds().all())), "general")

    def connected_components(self):
        """(label of each row, how many components): rows are the nodes of a graph, or rows of blocks, and an entry
        joins its row and its column. Labels are numbered by their first rows.

        >>> lacuna.torch.SparseTensor.from_dense(torch.tensor([[2.0, 0.0], [0.0, 4.0]])).connected_components()
        (tensor([0, 1]), 2)
        """
        map_ = self.structure.pattern.components()
        return torch.from_numpy(map_.target).to(self.device), map_.outputs

    def has_isolated_components(self):
        """Whether there is more than one."""
        return self.connected_components()[1] > 1

    def to_connected_components(self):
        """The matrices of the components, as a list of SparseTensors in the order of their labels."""
        labels, count = self.connected_components()
        order, sizes = labels.argsort(stable=True), labels.bincount(minlength=count)
        return [self[(..., rows, rows)] for rows in order.cpu().split(sizes.tolist())]

    @property
    def nature(self):
        """What can be read off the pattern of a square matrix, as a dict: bandwidths, structural rank, components."""
        return self._single()[0].nature


def _has_roundings(dtype):
    return dtype.is_floating_point or dtype.is_complex


def _succeeds(solver, slots):
    try:
        factored(solver, slots)
    except (DefiniteError, SymmetryError, SingularError, NonfiniteError):
        return False
    return True
