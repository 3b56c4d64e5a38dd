# SPDX-License-Identifier: Apache-2.0
"""torch_sla.distributed: names of what is to come."""

from .._later import later, later_class

_WHAT = "distributed matrices"
DSparseTensor, DSparseTensorList = later_class("DSparseTensor", _WHAT), later_class("DSparseTensorList", _WHAT)
Partition, DSparseSpec = later_class("Partition", _WHAT), later_class("DSparseSpec", _WHAT)
VertexShard, VertexShardReplicated = later_class("VertexShard", _WHAT), later_class("VertexShardReplicated", _WHAT)
BatchShard, Replicated = later_class("BatchShard", _WHAT), later_class("Replicated", _WHAT)
SparseShard = later("SparseShard", _WHAT)
partition_graph_metis = later("partition_graph_metis", _WHAT)
partition_coordinates, partition_simple = later("partition_coordinates", _WHAT), later("partition_simple", _WHAT)
