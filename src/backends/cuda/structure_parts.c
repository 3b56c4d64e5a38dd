// SPDX-License-Identifier: Apache-2.0
/// @file structure_parts.c
/// Parts, products, pairs and stacks of patterns on the device (core/pattern/structure.h).
///
///     select    each entry says whether it stays; a sum over these tells its slot
///     products  a sum over the entries of A says where the products of each begin; each product finds its entry by
///               bisection
///     kron      slots are known in closed form
///     stack     a sum over the lengths of rows says where each row begins; the blocks go there one after the other

#include "backends/cuda/structure.h"
#include "backends/cuda/structure_make.h"
#include "backends/cuda/structure_parts.h"

static size_t rounded(size_t bytes) { return (bytes + 255) / 256 * 256; }

/// A pattern where kernels reach it.
static lac_status entries_of(lac_context *ctx, const lac_pattern *p, cuda_entries *out) {
  lac_status status = LAC_OK;
  const lac_buffer *rows_of = NULL;

  *out = (cuda_entries){.rows = p->rows, .cols = p->cols, .count = p->nnz};
  LAC_TRY(lac_pattern_rows_of(ctx, p, &rows_of));
  LAC_TRY(cuda_index_of(ctx, rows_of, &out->rows_of));
  LAC_TRY(cuda_index_of(ctx, p->offsets, &out->offsets));
  LAC_TRY(cuda_index_of(ctx, p->columns, &out->columns));
done:
  return status;
}

// -- selecting -------------------------------------------------------------------------------------------------------

/// A selection under way. The counts and what adds them up lie in one block of memory.
typedef struct selecting {
  cuda_entries a;
  cuda_window w;
  cuda_scratch memory, rows;
  cuda_integers kept;
  lac_buffer *offsets, *columns, *target;
} selecting;

static void selecting_close(lac_context *ctx, selecting *s) {
  cuda_scratch_release(ctx, &s->memory);
  cuda_scratch_release(ctx, &s->rows);
  lac_object_release(s->offsets);
  lac_object_release(s->columns);
  lac_object_release(s->target);
}

static lac_status selecting_open(lac_context *ctx, const lac_pattern *a, const lac_window *w, selecting *s) {
  lac_status status = LAC_OK;

  LAC_TRY(entries_of(ctx, a, &s->a));
  s->w = (cuda_window){.row0 = w->row0,
                       .row1 = w->row1,
                       .col0 = w->col0,
                       .col1 = w->col1,
                       .k = w->k,
                       .cuts_above = w->cuts_above,
                       .cuts_below = w->cuts_below};
  if (w->other) {
    LAC_TRY(cuda_index_of(ctx, w->other->offsets, &s->w.other_offsets));
    LAC_TRY(cuda_index_of(ctx, w->other->columns, &s->w.other_columns));
  }
done:
  return status;
}

/// How many entries stay, and the counts that say which.
static lac_status selecting_count(lac_context *ctx, lac_index_type type, selecting *s, int64_t *nnz) {
  lac_status status = LAC_OK;
  size_t size = lac_index_size(type), counts = rounded((size_t)s->a.count * size), sums;
  cuda_scope scope = cuda_begin(ctx);

  *nnz = 0;  // of which 4 bytes may be read
  sums = cuda_slots_scratch(s->a.count, type);
  cuda_leave(scope);
  if (s->a.count == 0) goto done;
  LAC_TRY(cuda_scratch_take(ctx, "pattern", counts + sums, &s->memory));
  s->kept = (cuda_integers){s->memory.data, type};
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_read(
      ctx, scope, cuda_launch_keep(ctx->stream, &s->a, &s->w, s->kept, (char *)s->memory.data + counts, sums),
      "pattern", nnz, (const char *)s->memory.data + (size_t)(s->a.count - 1) * size, size));
done:
  return status;
}

/// Offsets and columns of `nnz` slots, and the slot of each entry, where they are asked for.
static lac_status selecting_settle(lac_context *ctx, lac_width width, int64_t nnz, bool with_pattern, selecting *s) {
  lac_status status = LAC_OK;
  int64_t rows = s->w.row1 - s->w.row0;
  cuda_integers offsets = {NULL, LAC_I32}, columns = {NULL, LAC_I32}, rows_of = {NULL, LAC_I32}, target;
  cudaError_t error;
  cuda_scope scope;

  LAC_TRY(cuda_structure_create(ctx, lac_width_offsets(width), s->a.count, &s->target, &target));
  if (with_pattern) {
    rows_of.type = lac_width_columns(width);
    LAC_TRY(cuda_structure_create(ctx, lac_width_offsets(width), rows + 1, &s->offsets, &offsets));
    LAC_TRY(cuda_structure_create(ctx, lac_width_columns(width), nnz, &s->columns, &columns));
    LAC_TRY(cuda_scratch_take(ctx, "pattern", (size_t)nnz * lac_index_size(rows_of.type), &s->rows));
    rows_of.data = s->rows.data;
  }
  scope = cuda_begin(ctx);
  error =
      cuda_launch_settle(ctx->stream, &s->a, &s->w, (cuda_index){s->kept.data, s->kept.type}, target, rows_of, columns);
  if (error == cudaSuccess && with_pattern) {
    error = cuda_launch_offsets_of(ctx->stream, nnz, rows, (cuda_index){rows_of.data, rows_of.type}, offsets);
  }
  LAC_TRY(cuda_end(ctx, scope, error, "pattern"));
  LAC_TRY(ctx->backend->synchronize(ctx));
done:
  return status;
}

lac_status cuda_structure_select(lac_context *ctx, const lac_pattern *a, const lac_window *w, lac_width width,
                                 lac_buffer **offsets, lac_buffer **columns, lac_buffer **target) {
  lac_status status = LAC_OK;
  selecting s = {.memory = {NULL, 0}};
  int64_t nnz = 0;

  LAC_TRY(selecting_open(ctx, a, w, &s));
  LAC_TRY(selecting_count(ctx, lac_width_offsets(width), &s, &nnz));
  LAC_TRY(selecting_settle(ctx, width, nnz, offsets != NULL, &s));
  if (offsets) {
    *offsets = s.offsets, s.offsets = NULL;
    *columns = s.columns, s.columns = NULL;
  }
  *target = s.target, s.target = NULL;
done:
  selecting_close(ctx, &s);
  return status;
}

// -- products --------------------------------------------------------------------------------------------------------

/// A and B where kernels reach them, and where the products of each entry of A begin.
typedef struct multiplying {
  cuda_rows a, b;
  cuda_index rows_of;
  cuda_scratch memory;
  cuda_integers starts;  // one more than A has entries: the last is the number of products
} multiplying;

static lac_status multiplying_open(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, multiplying *m) {
  lac_status status = LAC_OK;
  const lac_buffer *rows_of = NULL;
  size_t starts = rounded((size_t)(a->nnz + 1) * sizeof(int64_t)), sums;
  cuda_scope scope;

  LAC_TRY(cuda_rows_of(ctx, a, false, &m->a));
  LAC_TRY(cuda_rows_of(ctx, b, false, &m->b));
  LAC_TRY(lac_pattern_rows_of(ctx, a, &rows_of));
  LAC_TRY(cuda_index_of(ctx, rows_of, &m->rows_of));
  scope = cuda_begin(ctx);
  sums = cuda_slots_scratch(a->nnz + 1, LAC_I64);
  cuda_leave(scope);
  LAC_TRY(cuda_scratch_take(ctx, "pattern", starts + sums, &m->memory));
  m->starts = (cuda_integers){m->memory.data, LAC_I64};
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope,
                   cuda_launch_starts(ctx->stream, a->nnz, m->a.columns, m->b.offsets, m->memory.data,
                                      (char *)m->memory.data + starts, sums),
                   "pattern"));
done:
  return status;
}

lac_status cuda_structure_products(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_buffer **row,
                                   lac_buffer **col) {
  lac_status status = LAC_OK;
  multiplying m = {.memory = {NULL, 0}};
  lac_buffer *made_row = NULL, *made_col = NULL;
  cuda_integers to_row, to_col;
  cudaError_t error;
  cuda_scope scope;
  int64_t count = 0;

  LAC_TRY(multiplying_open(ctx, a, b, &m));
  LAC_TRY(ctx->backend->download(ctx, &count, (const int64_t *)m.starts.data + a->nnz, sizeof count));
  LAC_TRY(cuda_structure_create(ctx, a->columns->type, count, &made_row, &to_row));
  LAC_TRY(cuda_structure_create(ctx, b->columns->type, count, &made_col, &to_col));
  scope = cuda_begin(ctx);
  error = cuda_launch_products(ctx->stream, count, a->nnz, (cuda_index){m.starts.data, m.starts.type}, m.rows_of,
                               m.a.columns, m.b.offsets, m.b.columns, to_row, to_col);
  LAC_TRY(cuda_structure_finish(ctx, scope, error, "pattern", &made_row, row));
  *col = made_col, made_col = NULL;
done:
  cuda_scratch_release(ctx, &m.memory);
  lac_object_release(made_row);
  lac_object_release(made_col);
  return status;
}

// -- Kronecker products ----------------------------------------------------------------------------------------------

lac_status cuda_structure_kron(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_width width,
                               lac_buffer **offsets, lac_buffer **columns, lac_buffer **target) {
  lac_status status = LAC_OK;
  lac_buffer *made[3] = {NULL, NULL, NULL};
  cuda_integers to[3];
  cuda_entries on_a, on_b;
  cuda_scope scope;

  LAC_TRY(entries_of(ctx, a, &on_a));
  LAC_TRY(entries_of(ctx, b, &on_b));
  LAC_TRY(cuda_structure_create(ctx, lac_width_offsets(width), a->rows * b->rows + 1, &made[0], &to[0]));
  LAC_TRY(cuda_structure_create(ctx, lac_width_columns(width), a->nnz * b->nnz, &made[1], &to[1]));
  LAC_TRY(cuda_structure_create(ctx, lac_width_offsets(width), a->nnz * b->nnz, &made[2], &to[2]));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_finish(ctx, scope, cuda_launch_kron(ctx->stream, &on_a, &on_b, to[0], to[1], to[2]), "pattern",
                                &made[0], offsets));
  *columns = made[1], made[1] = NULL;
  *target = made[2], made[2] = NULL;
done:
  for (int i = 0; i < 3; i++) lac_object_release(made[i]);
  return status;
}

// -- stacks ----------------------------------------------------------------------------------------------------------

/// Where the rows of a stack begin, rows + 1 numbers at the beginning of `memory`, which the caller lets go.
static lac_status stack_begin(lac_context *ctx, const lac_stacking *s, cuda_integers offsets, cuda_scratch *memory) {
  lac_status status = LAC_OK;
  size_t bytes = rounded((size_t)(s->rows + 1) * sizeof(int64_t)), sums;
  int64_t row0 = 0, *begin;
  cudaError_t error;
  cuda_scope scope = cuda_begin(ctx);

  sums = cuda_slots_scratch(s->rows + 1, LAC_I64);
  cuda_leave(scope);
  LAC_TRY(cuda_scratch_take(ctx, "pattern", bytes + sums, memory));
  begin = memory->data;
  scope = cuda_begin(ctx);
  error = cudaMemsetAsync(begin, 0, bytes, ctx->stream);
  LAC_TRY(cuda_end(ctx, scope, error, "pattern"));
  for (int64_t b = 0; b < s->count; b++) {
    cuda_index block;
    LAC_TRY(cuda_index_of(ctx, s->blocks[b]->offsets, &block));
    scope = cuda_begin(ctx);
    error = cuda_launch_lengths(ctx->stream, s->blocks[b]->rows, block, begin + row0 + 1);
    LAC_TRY(cuda_end(ctx, scope, error, "pattern"));
    if (s->down) row0 += s->blocks[b]->rows;
  }
  scope = cuda_begin(ctx);
  error =
      cuda_launch_add_up(ctx->stream, s->rows + 1, (cuda_integers){begin, LAC_I64}, (char *)memory->data + bytes, sums);
  if (error == cudaSuccess) {
    error =
        cuda_launch_take(ctx->stream, s->rows + 1, (cuda_index){begin, LAC_I64}, (cuda_index){NULL, LAC_I32}, offsets);
  }
  LAC_TRY(cuda_end(ctx, scope, error, "pattern"));
done:
  return status;
}

/// One block to the next places of its rows, which move on.
static lac_status stack_block(lac_context *ctx, const lac_pattern *p, int64_t col0, int64_t *next,
                              cuda_integers columns, lac_index_type type, lac_buffer **target) {
  lac_status status = LAC_OK;
  cuda_integers to = {NULL, type};
  cuda_entries a;
  cudaError_t error;
  cuda_scope scope;

  LAC_TRY(entries_of(ctx, p, &a));
  if (target) LAC_TRY(cuda_structure_create(ctx, type, p->nnz, target, &to));
  scope = cuda_begin(ctx);
  error = cuda_launch_stack(ctx->stream, &a, col0, next, columns, to);
  if (error == cudaSuccess) error = cuda_launch_lengths(ctx->stream, p->rows, a.offsets, next);
  LAC_TRY(cuda_end(ctx, scope, error, "pattern"));
done:
  return status;
}

lac_status cuda_structure_stack(lac_context *ctx, const lac_stacking *s, lac_buffer **offsets, lac_buffer **columns,
                                lac_buffer **targets) {
  lac_status status = LAC_OK;
  lac_buffer *made[2] = {NULL, NULL};
  cuda_integers to[2];
  cuda_scratch memory = {NULL, 0};
  int64_t row0 = 0, col0 = 0;

  LAC_TRY(cuda_structure_create(ctx, lac_width_offsets(s->width), s->rows + 1, &made[0], &to[0]));
  LAC_TRY(cuda_structure_create(ctx, lac_width_columns(s->width), s->nnz, &made[1], &to[1]));
  LAC_TRY(stack_begin(ctx, s, to[0], &memory));
  for (int64_t b = 0; b < s->count; b++) {
    LAC_TRY(stack_block(ctx, s->blocks[b], col0, (int64_t *)memory.data + row0, to[1], lac_width_offsets(s->width),
                        targets ? &targets[b] : NULL));
    if (s->down) row0 += s->blocks[b]->rows;
    if (s->right) col0 += s->blocks[b]->cols;
  }
  LAC_TRY(ctx->backend->synchronize(ctx));
  *offsets = made[0], made[0] = NULL;
  *columns = made[1], made[1] = NULL;
done:
  cuda_scratch_release(ctx, &memory);
  lac_object_release(made[0]);
  lac_object_release(made[1]);
  return status;
}

// -- places ----------------------------------------------------------------------------------------------------------

lac_status cuda_structure_places(lac_context *ctx, const lac_pattern *a, int64_t stride, lac_index_type type,
                                 lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_buffer *made = NULL;
  cuda_integers to;
  cuda_entries on_a;
  cuda_scope scope;

  LAC_TRY(entries_of(ctx, a, &on_a));
  LAC_TRY(cuda_structure_create(ctx, type, a->nnz, &made, &to));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_finish(ctx, scope, cuda_launch_places(ctx->stream, &on_a, stride, to), "map", &made, out));
done:
  lac_object_release(made);
  return status;
}
