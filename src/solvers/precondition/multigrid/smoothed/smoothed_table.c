// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_table.c
/// Smoothed aggregation as a preconditioner: its table, what it says of itself.

#include <stdio.h>
#include <string.h>

#include "solvers/precondition/multigrid/smoothed/smoothed.h"

static void smoothed_report(const void *self, lac_setup_figures *finding) {
  const smoothed_part *part = self;
  const smoothed_shape *shape = part->shape;
  double entries = 0, first = (double)smoothed_entries(&shape->level[0]);

  for (int l = 0; l < shape->levels; ++l) entries += (double)smoothed_entries(&shape->level[l]);
  finding->bytes = part->bytes + shape->bytes;
  finding->levels = shape->levels;
  finding->complexity = first > 0 ? entries / first : 1;
  memcpy(finding->warning, shape->warning, sizeof finding->warning);
}

/// A line for each level, within `room`.
static lac_status smoothed_describe(lac_context *ctx, const void *self, char **text) {
  lac_status status = LAC_OK;
  const smoothed_part *part = self;
  size_t room = (size_t)(part->shape->levels + 2) * 160, at = 0;
  char *line = NULL;

  LAC_ALLOC(line, room);
  at += (size_t)snprintf(line, room, "smoothed aggregation, %s, %s%s smoother\n", lac_dtype_name(part->dtype),
                         part->shape->level[0].size > 1 ? "block " : "", part->degree > 1 ? "Chebyshev" : "diagonal");
  for (int l = 0; l < part->shape->levels; ++l) {
    const smoothed_structure *level = &part->shape->level[l];
    bool is_direct = l + 1 == part->shape->levels && part->coarse;
    at += (size_t)snprintf(line + at, room - at, "level %d: %lld rows", l, (long long)smoothed_rows(level));
    if (level->size > 1) at += (size_t)snprintf(line + at, room - at, " in nodes of %lld", (long long)level->size);
    at += (size_t)snprintf(line + at, room - at, ", %lld entries%s\n", (long long)smoothed_entries(level),
                           is_direct ? ", solved directly" : "");
  }
  *text = line;
done:
  return status;
}

const lac_preconditioner_table lac_preconditioner_smoothed = {
    .name = "smoothed",
    .create = smoothed_create,
    .refresh = smoothed_refresh,
    .apply = smoothed_apply,
    .report = smoothed_report,
    .describe = smoothed_describe,
    .destroy = smoothed_destroy,
};
