# SPDX-License-Identifier: Apache-2.0
"""torch_sla.partition: names of what is to come."""

from .distributed import Partition, partition_coordinates, partition_graph_metis, partition_simple  # noqa: F401
