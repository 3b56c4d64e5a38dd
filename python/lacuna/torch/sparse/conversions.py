# SPDX-License-Identifier: Apache-2.0
"""Dense tensors, SciPy and NumPy, and a picture."""

import torch

from ...errors import ArgumentError, ShapeError
from ...pattern import Pattern
from .._levels import innermost, outside
from .shapes import first_sparse
from .sides import require_tensor
from .structure import Structure, made_of, moved


class Conversions:
    """From and to what is not sparse, or not torch."""

    def to_dense(self, batch_index=None):
        """The dense tensor of the same shape; batch_index: one matrix of the batch."""
        slots = self.slots() if batch_index is None else self.slots()[batch_index]
        dim = slots.ndim - 1 - self.trailing
        (places,) = made_of("dense", self.structure.pattern)
        return moved(places, slots, self.trailing).unflatten(dim, tuple(self.sparse_shape))

    @classmethod
    def from_dense(cls, dense, sparse_dim=(-2, -1), threshold=0.0, top_k=None):
        """Of a dense tensor: the entries whose size is above `threshold`, NaN too, or the top_k largest of each matrix.

        Which entries are stored is decided outside of the graph, for all matrices of a batch together: what one of them
        needs is stored for all. The values are differentiable in the dense tensor.

        >>> A = lacuna.torch.SparseTensor.from_dense(torch.tensor([[2.0, 0.0], [1.0, 4.0]]))
        >>> A.values, A.row_indices, A.col_indices
        (tensor([2., 1., 4.]), tensor([0, 1, 1]), tensor([0, 0, 1]))
        """
        at = first_sparse(require_tensor("from_dense", "it", dense).shape, sparse_dim)
        rows, columns, pattern = _chosen_by_numbers(dense, at, threshold, top_k)
        values = dense[(slice(None),) * at + (rows, columns)]
        return cls._on(Structure(pattern), values, dense.ndim - at - 2)

    @classmethod
    def from_scipy(cls, matrix, dtype=None, device=None):
        """Of a SciPy matrix or array; values are by slots, BSR keeps its blocks.

        >>> A = lacuna.torch.SparseTensor.from_scipy(scipy.sparse.csc_array([[2.0, 0.0], [1.0, 4.0]]))
        >>> A.shape, A.dtype
        (torch.Size([2, 2]), torch.float64)
        """
        import lacuna

        pattern, values = lacuna.from_scipy(matrix)
        return cls.from_pattern(pattern, torch.as_tensor(values).to(device=device, dtype=dtype))

    def to_scipy(self, batch_index=None):
        """A SciPy CSR array, BSR of blocks; of a batch, one matrix by its index."""
        pattern, slots = self._matrix()
        slots = slots if batch_index is None else slots[batch_index]
        if slots.ndim != (1 if pattern.blocks == (1, 1) else 3):
            raise ArgumentError(f"to_scipy: a batch of {tuple(self.batch_shape)}; choose one with batch_index")
        return pattern.to_scipy(slots.detach().cpu().numpy())

    def numpy(self):
        """The dense matrix as a NumPy array, for looking at small ones."""
        return self.to_dense().detach().cpu().numpy()

    def spy(self, batch_index=None, ax=None, title=None, cmap="viridis", show_colorbar=True, save_path=None, dpi=150):
        """Draw where entries are, by the size of their numbers, with matplotlib; returns the axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("spy: matplotlib draws it, and is not installed: pip install matplotlib") from None
        pattern, slots = self._single()
        slots = slots.reshape(-1, pattern.nnz)[0 if batch_index is None else batch_index]
        _, columns, rows = pattern.structure()
        ax = ax or plt.subplots()[1]
        points = ax.scatter(columns, rows, c=slots.detach().abs().cpu().numpy(), s=_dot(pattern), marker="s", cmap=cmap)
        ax.set(xlim=(-0.5, pattern.shape[1] - 0.5), ylim=(pattern.shape[0] - 0.5, -0.5), aspect="equal")
        ax.set_title(title or f"{pattern.shape[0]} x {pattern.shape[1]}, nnz={pattern.nnz}")
        if show_colorbar:
            ax.figure.colorbar(points, ax=ax)
        if save_path is not None:
            ax.figure.savefig(save_path, dpi=dpi)
        return ax


@torch.compiler.disable  # which has shapes and no numbers: the graph ends here, and begins again behind it
def _chosen_by_numbers(*given):
    return outside(_chosen, *given)


def _chosen(dense, at, threshold, top_k):
    """(rows, columns, pattern) of what is stored of a dense tensor, which transforms of torch.func may have wrapped."""
    inside, mapped = innermost(dense)
    sizes, at = inside.detach().abs(), at + mapped
    shape = sizes.shape[at : at + 2]
    if sizes.ndim > at + 2:
        sizes = sizes.flatten(at + 2).amax(-1)
    kept = ~(sizes <= threshold) if top_k is None else _largest(sizes, top_k)
    kept = kept.flatten(0, at - 1).any(0) if at else kept
    rows, columns = kept.nonzero(as_tuple=True)
    return rows, columns, Pattern.from_coo(rows.cpu().numpy(), columns.cpu().numpy(), shape)


def _dot(pattern):
    """The area of a mark, in points, in a figure of the usual size."""
    return max(0.5, (250 / max(*pattern.shape, 1)) ** 2)


def _largest(sizes, count):
    """Where the `count` largest numbers of each matrix are."""
    flat = sizes.flatten(-2)
    if not 0 <= count <= flat.shape[-1]:
        raise ShapeError(f"from_dense: top_k is {count}; a matrix has {flat.shape[-1]} numbers")
    return torch.zeros_like(flat, dtype=torch.bool).scatter(-1, flat.topk(count).indices, True).reshape(sizes.shape)
