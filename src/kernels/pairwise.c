// SPDX-License-Identifier: Apache-2.0
/// @file pairwise.c
/// What aggregates and slices own.

#include "kernels/pairwise.h"

void lac_aggregation_clear(lac_aggregation *aggregation) {
  lac_object_release(aggregation->aggregates);
  lac_object_release(aggregation->starts);
  lac_object_release(aggregation->members);
  lac_object_release(aggregation->firsts);
  lac_object_release(aggregation->shapes);
  *aggregation = (lac_aggregation){0};
}

void lac_slices_destroy(lac_slices *slices) {
  if (!slices) return;
  lac_object_release(slices->firsts);
  lac_object_release(slices->starts);
  lac_object_release(slices->lists);
  lac_free(slices);
}
