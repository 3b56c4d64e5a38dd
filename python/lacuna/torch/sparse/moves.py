# SPDX-License-Identifier: Apache-2.0
"""Devices, dtypes and gradients: those of the values."""

import torch

from ...errors import ArgumentError


class Moves:
    """What a SparseTensor does as its values do. The structure stays; indices follow when they are asked for."""

    @property
    def dtype(self):
        """The dtype of the values."""
        return self.values.dtype

    @property
    def device(self):
        """The device of the values."""
        return self.values.device

    @property
    def is_cuda(self):
        """Whether values lie on a CUDA device."""
        return self.values.is_cuda

    def is_complex(self):
        """Whether values are complex."""
        return self.values.is_complex()

    def is_floating_point(self):
        """Whether values are real floating-point numbers."""
        return self.values.is_floating_point()

    def to(self, *args, **kwargs):
        """On another device or in another dtype, as torch.Tensor.to; itself where nothing changes."""
        values = self.values.to(*args, **kwargs)
        return self if values is self.values else self._with(values)

    def cuda(self, device=None):
        """The same on a CUDA device, by default the current one."""
        return self.to(torch.device("cuda") if device is None else torch.device(device))

    def cpu(self):
        """The same on the CPU."""
        return self.to("cpu")

    def float(self):
        """The same with values in float32."""
        return self.to(torch.float32)

    def double(self):
        """The same with values in float64."""
        return self.to(torch.float64)

    def half(self):
        """Values in float16, which are kept so; products and solves compute in float32."""
        return self.to(torch.float16)

    def bfloat16(self):
        """Values in bfloat16, which are kept so; products and solves compute in float32."""
        return self.to(torch.bfloat16)

    @property
    def requires_grad(self):
        """Whether the values ask for a gradient."""
        return self.values.requires_grad

    def requires_grad_(self, requires_grad=True):
        """Ask for the gradient in the values: it comes in values.grad, and in grad as a SparseTensor."""
        self.values.requires_grad_(requires_grad)
        return self

    @property
    def is_leaf(self):
        """Whether the values are a leaf of the graph."""
        return self.values.is_leaf

    @property
    def grad(self):
        """The gradient in the values as a SparseTensor; None where there is none yet."""
        return None if self.values.grad is None else self._with(self.values.grad)

    def backward(self, gradient=None, **options):
        """Backward from the values, for a gradient that is a SparseTensor with these entries or a tensor of values."""
        self.values.backward(gradient.values if self._has_entries_of("backward", gradient) else gradient, **options)

    def _has_entries_of(self, who, other):
        """Whether another is a sparse tensor, which must then have the same entries in the same order."""
        if not isinstance(other, Moves):
            return False
        if not self.structure.is_alike(other.structure):
            raise ArgumentError(f"{who}: the gradient has other entries, or the same in another order; make it with "
                                "A.with_values(values)")  # fmt: skip
        return True

    def retain_grad(self):
        """Keep the gradient of values that are not a leaf."""
        self.values.retain_grad()
        return self

    def clone(self):
        """The same with copied values, differentiable."""
        return self._with(self.values.clone())

    def detach(self):
        """The same with values that are cut off from the graph; they share memory."""
        return self._with(self.values.detach())

    def contiguous(self):
        """The same with contiguous values."""
        values = self.values.contiguous()
        return self if values is self.values else self._with(values)

    def share_memory_(self):
        """Move the values into memory that processes share."""
        self.values.share_memory_()
        return self

    def pin_memory(self):
        """The same with values in pinned memory."""
        return self._with(self.values.pin_memory())
