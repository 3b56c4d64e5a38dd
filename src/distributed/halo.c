// SPDX-License-Identifier: Apache-2.0
/// @file halo.c
/// Distributed patterns: which rows of x a rank needs from others, and which of its own others need.

#include "core/numbers/search.h"
#include "distributed/distributed_impl.h"

#include <stdlib.h>

static void halo_destroy(lac_object *object) {
  lac_halo *halo = (lac_halo *)object;

  lac_pattern_destroy(&halo->local);
  lac_free(halo->ghosts);
  lac_free(halo->sent);
  lac_free(halo->rows_sent);
  lac_free(halo);
}

static const lac_kind halo_kind = {"halo", halo_destroy};

static lac_status halo_create(lac_context *ctx, const lac_partition *cols, lac_halo **out) {
  lac_status status = LAC_OK;
  lac_halo *halo = NULL;

  LAC_ALLOC(halo, 1);
  lac_object_init(&halo->object, &halo_kind);
  halo->ranks = cols->ranks;
  halo->owned = lac_partition_rows(cols);
  LAC_ALLOC(halo->ghosts, halo->ranks + 1);
  LAC_ALLOC(halo->sent, halo->ranks + 1);
  *out = halo, halo = NULL;
done:
  lac_object_release(halo);
  return status;
}

// -- ghosts ----------------------------------------------------------------------------------------------------------

static int halo_compare(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

  return (x > y) - (x < y);
}

/// The columns of `global` that other ranks own, ascending, each once.
static lac_status halo_find_ghosts(lac_context *ctx, const lac_pattern *global, const lac_partition *cols,
                                   int64_t **out, int64_t *count) {
  const int64_t begin = lac_partition_begin(cols), end = begin + lac_partition_rows(cols);
  lac_status status = LAC_OK;
  int64_t *list = NULL, found = 0, kept = 0;

  LAC_TRY(lac_pattern_host(ctx, global));
  LAC_ALLOC(list, global->nnz);
  for (int64_t z = 0; z < global->nnz; ++z) {
    const int64_t column = lac_buffer_get(global->columns, z);

    if (column < begin || column >= end) list[found++] = column;
  }
  qsort(list, (size_t)found, sizeof *list, halo_compare);
  for (int64_t i = 0; i < found; ++i) {
    if (kept == 0 || list[kept - 1] != list[i]) list[kept++] = list[i];
  }
  *out = list, list = NULL;
  *count = kept;
done:
  lac_free(list);
  return status;
}

/// Group the ghosts by owner and count those on either side of what this rank owns.
static void halo_group(lac_halo *halo, const lac_partition *cols, const int64_t *ghosts, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const int owner = lac_partition_owner(cols, ghosts[i]);

    ++halo->ghosts[owner + 1];
    halo->below += owner < cols->rank;
  }
  halo->above = count - halo->below;
  for (int r = 0; r < halo->ranks; ++r) halo->ghosts[r + 1] += halo->ghosts[r];
}

/// The local column of a global one: [ghosts below | owned | ghosts above].
static int64_t halo_local_column(const lac_halo *halo, const lac_partition *cols, const int64_t *ghosts,
                                 int64_t column) {
  const int64_t mine = column - lac_partition_begin(cols);

  if (mine >= 0 && mine < halo->owned) return halo->below + mine;
  const int64_t ghost = lac_search_i64(ghosts, 0, halo->below + halo->above, column);
  return ghost < halo->below ? ghost : ghost + halo->owned;
}

/// The pattern that kernels walk: the same offsets, local columns.
static lac_status halo_make_local(lac_context *ctx, lac_halo *halo, const lac_pattern *global,
                                  const lac_partition *cols, const int64_t *ghosts) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = NULL, *columns = NULL;

  LAC_TRY(lac_buffer_create(ctx, global->columns->type, global->nnz, &columns));
  for (int64_t z = 0; z < global->nnz; ++z) {
    lac_buffer_set(columns, z, halo_local_column(halo, cols, ghosts, lac_buffer_get(global->columns, z)));
  }
  offsets = lac_object_retain(global->offsets);
  LAC_TRY(lac_pattern_adopt(ctx, global->rows, halo->below + halo->owned + halo->above, global->width, &offsets,
                            &columns, &halo->local));
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

/// What the user holds: the same offsets, global columns, the sizes that this rank owns.
static lac_status halo_make_outer(lac_context *ctx, lac_halo **halo, const lac_pattern *global,
                                  const lac_partition *rows, const lac_partition *cols, const lac_partition *slots,
                                  lac_pattern **out) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = lac_object_retain(global->offsets), *columns = lac_object_retain(global->columns);
  lac_pattern *outer = NULL;

  LAC_TRY(lac_pattern_adopt(ctx, global->rows, (*halo)->owned, global->width, &offsets, &columns, &outer));
  outer->row_partition = lac_partition_retain(rows);
  outer->col_partition = lac_partition_retain(cols);
  outer->entry_partition = lac_partition_retain(slots);
  outer->halo = &(*halo)->object, *halo = NULL;
  *out = outer;
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

// -- what others need ------------------------------------------------------------------------------------------------

/// Tell each owner how many of its rows are ghosts here, and learn the same from others: counts at sent[1...].
static lac_status halo_swap_counts(lac_context *ctx, lac_halo *halo, int64_t *counts, int64_t *offsets) {
  lac_status status = LAC_OK;

  for (int r = 0; r < halo->ranks; ++r) counts[r] = halo->ghosts[r + 1] - halo->ghosts[r];
  for (int r = 0; r <= halo->ranks; ++r) offsets[r] = r * (int64_t)sizeof *counts;
  LAC_TRY(lac_comm_check(ctx, ctx->comm->exchange(ctx->comm->self, counts, offsets, halo->sent + 1, offsets)));
  for (int r = 0; r < halo->ranks; ++r) halo->sent[r + 1] += halo->sent[r];
done:
  return status;
}

/// Tell each owner which of its rows are ghosts here. `offsets` has room for two lists of ranks + 1.
static lac_status halo_swap_rows(lac_context *ctx, lac_halo *halo, const lac_partition *cols, const int64_t *ghosts,
                                 int64_t *offsets) {
  lac_status status = LAC_OK;
  int64_t *receive = offsets + halo->ranks + 1;

  for (int r = 0; r <= halo->ranks; ++r) {
    offsets[r] = halo->ghosts[r] * (int64_t)sizeof *ghosts;
    receive[r] = halo->sent[r] * (int64_t)sizeof *halo->rows_sent;
  }
  LAC_TRY(lac_comm_check(ctx, ctx->comm->exchange(ctx->comm->self, ghosts, offsets, halo->rows_sent, receive)));
  for (int64_t i = 0; i < halo->sent[halo->ranks]; ++i) halo->rows_sent[i] -= lac_partition_begin(cols);
done:
  return status;
}

static lac_status halo_make_room(lac_context *ctx, lac_halo *halo) {
  lac_status status = LAC_OK;

  LAC_ALLOC(halo->rows_sent, halo->sent[halo->ranks]);
done:
  return status;
}

static lac_status halo_connect(lac_context *ctx, lac_halo *halo, const lac_partition *cols, const int64_t *ghosts,
                               int64_t *scratch) {
  lac_status status = LAC_OK;

  LAC_TRY(halo_swap_counts(ctx, halo, scratch, scratch + halo->ranks + 1));
  LAC_TRY(lac_agree(ctx, halo_make_room(ctx, halo)));
  LAC_TRY(halo_swap_rows(ctx, halo, cols, ghosts, scratch));
done:
  return status;
}

// -- the pattern -----------------------------------------------------------------------------------------------------

/// What a rank makes before it talks to others.
typedef struct halo_parts {
  lac_pattern *global, *outer;  // this rank's rows x all columns; what is handed out
  lac_map *entries;
  lac_halo *halo;        // owned here until `outer` has it
  lac_partition *slots;  // of all ranks
  int64_t *ghosts, *scratch;
} halo_parts;

static void halo_parts_free(halo_parts *parts) {
  lac_pattern_destroy(&parts->global);
  lac_pattern_destroy(&parts->outer);
  lac_map_destroy(&parts->entries);
  lac_object_release(parts->halo);
  lac_partition_destroy(&parts->slots);
  lac_free(parts->ghosts);
  lac_free(parts->scratch);
}

static lac_status halo_check(lac_context *ctx, const lac_partition *rows, const lac_partition *cols) {
  lac_status status = LAC_OK;

  LAC_CHECK(rows && cols, LAC_ERR_ARG, "lac_pattern_distributed: the partition of %s is NULL",
            rows ? "columns" : "rows");
  LAC_CHECK(rows->ranks == ctx->comm->size && cols->ranks == ctx->comm->size, LAC_ERR_ARG,
            "lac_pattern_distributed: partitions over %d and %d ranks do not fit a communicator of %d", rows->ranks,
            cols->ranks, ctx->comm->size);
done:
  return status;
}

/// Everything that needs no other rank.
static lac_status halo_prepare(lac_context *ctx, const lac_partition *rows, const lac_partition *cols,
                               lac_index_type type, const void *offsets, const void *columns, lac_width width,
                               lac_pattern **out, halo_parts *parts) {
  lac_status status = LAC_OK;
  int64_t count = 0;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_distributed: out is NULL");
  LAC_TRY(halo_check(ctx, rows, cols));
  LAC_TRY(lac_pattern_from_csr(ctx, lac_partition_rows(rows), lac_partition_total(cols), type, offsets, columns, width,
                               &parts->global, &parts->entries));
  LAC_TRY(halo_create(ctx, cols, &parts->halo));
  LAC_TRY(halo_find_ghosts(ctx, parts->global, cols, &parts->ghosts, &count));
  halo_group(parts->halo, cols, parts->ghosts, count);
  LAC_TRY(halo_make_local(ctx, parts->halo, parts->global, cols, parts->ghosts));
  LAC_ALLOC(parts->scratch, 2 * (parts->halo->ranks + 1));
done:
  return status;
}

/// Say how the entry map's inputs and outputs are spread. Input entries that are slots everywhere share the slots'
/// partition.
static lac_status halo_spread_map(lac_context *ctx, lac_map *map, const lac_partition *entries) {
  lac_status status = LAC_OK;
  lac_partition *inputs = NULL;
  int64_t moved = !map->is_identity;

  LAC_TRY(lac_comm_check(ctx, ctx->comm->max(ctx->comm->self, &moved, 1)));
  if (moved) {
    LAC_TRY(lac_partition_create(ctx, map->inputs, &inputs));
  } else {
    inputs = lac_partition_retain(entries);
  }
  map->input_partition = inputs;
  map->output_partition = lac_partition_retain(entries);
done:
  return status;
}

lac_status lac_pattern_distributed(lac_context *ctx, const lac_partition *rows, const lac_partition *cols,
                                   lac_index_type type, const void *offsets, const void *columns, lac_width width,
                                   lac_pattern **out, lac_map **entries) {
  lac_status status = LAC_OK;
  halo_parts parts = {0};

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_comm_required(ctx, "lac_pattern_distributed"));
  LAC_TRY(lac_agree(ctx, halo_prepare(ctx, rows, cols, type, offsets, columns, width, out, &parts)));
  LAC_TRY(halo_connect(ctx, parts.halo, cols, parts.ghosts, parts.scratch));
  LAC_TRY(lac_partition_create(ctx, parts.global->nnz, &parts.slots));
  LAC_TRY(halo_spread_map(ctx, parts.entries, parts.slots));
  LAC_TRY(lac_agree(ctx, halo_make_outer(ctx, &parts.halo, parts.global, rows, cols, parts.slots, &parts.outer)));
  *out = parts.outer, parts.outer = NULL;
  if (entries) *entries = parts.entries, parts.entries = NULL;
done:
  halo_parts_free(&parts);
  return status;
}

const lac_partition *lac_pattern_entries(const lac_pattern *pattern) { return pattern->entry_partition; }

const lac_partition *lac_map_entries(const lac_map *map) { return map->input_partition; }
