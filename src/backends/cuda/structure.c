// SPDX-License-Identifier: Apache-2.0
/// @file structure.c
/// Structure on the device (core/pattern/structure.h): the memory of a sort, the buffers that come out, and the few
/// words that steer.
///
///     build     look at the entries; set aside what is dropped; sort their numbers by (row, column), stably; number
///               those that differ; emit
///     group     sort 0, 1, ... by key, stably; offsets by bisection
///
/// Every buffer is complete when it is handed over: all streams may read it.

#include "core/pattern/structure.h"

#include "backends/cuda/backend.h"
#include "backends/cuda/structure.h"
#include "backends/cuda/structure_make.h"

lac_status cuda_structure_read(lac_context *ctx, cuda_scope scope, cudaError_t error, const char *call, void *to,
                               const void *from, size_t bytes) {
  lac_status status = LAC_OK;
  LAC_TRY(cuda_end(ctx, scope, error, call));
  LAC_TRY(ctx->backend->download(ctx, to, from, bytes));
done:
  return status;
}

lac_status cuda_structure_create(lac_context *ctx, lac_index_type type, int64_t count, lac_buffer **out,
                                 cuda_integers *to) {
  to->type = type;
  return lac_buffer_create_on(ctx, type, count, out, &to->data);
}

static cuda_index index_of(lac_indices indices) { return (cuda_index){indices.data, indices.type}; }
static cuda_index index_over(cuda_integers integers) { return (cuda_index){integers.data, integers.type}; }

static const cuda_index nothing = {NULL, LAC_I32};

// -- looking ---------------------------------------------------------------------------------------------------------

static lac_status structure_look_at_entries(lac_context *ctx, const lac_entries *e, lac_entries_look *out) {
  lac_status status = LAC_OK;
  cuda_scratch memory = {NULL, 0};
  cuda_entries_look look = {-1, -1, 0, 0};
  cuda_scope scope;

  LAC_TRY(cuda_scratch_take(ctx, "pattern", sizeof look, &memory));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_read(ctx, scope,
                              cuda_launch_look_at_entries(ctx->stream, e->rows, e->cols, e->count, e->may_drop ? -1 : 0,
                                                          index_of(e->row), index_of(e->col), memory.data),
                              "pattern", &look, memory.data, sizeof look));
  *out = (lac_entries_look){look.row < 0 ? e->count : look.row, look.col < 0 ? e->count : look.col, look.dropped,
                            !look.is_unordered};
done:
  cuda_scratch_release(ctx, &memory);
  return status;
}

static lac_status structure_look_at_offsets(lac_context *ctx, lac_indices offsets, int64_t lines,
                                            lac_offsets_look *out) {
  lac_status status = LAC_OK;
  cuda_scratch memory = {NULL, 0};
  cuda_offsets_look look = {-1, 0, 0};
  cuda_scope scope;

  LAC_TRY(cuda_scratch_take(ctx, "pattern", sizeof look, &memory));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_read(ctx, scope,
                              cuda_launch_look_at_offsets(ctx->stream, lines, index_of(offsets), memory.data),
                              "pattern", &look, memory.data, sizeof look));
  *out = (lac_offsets_look){look.first, look.last, look.descent < 0 ? lines + 1 : look.descent};
done:
  cuda_scratch_release(ctx, &memory);
  return status;
}

static lac_status structure_look_at_rows(lac_context *ctx, const lac_entries *e, lac_entries_look *out) {
  lac_status status = LAC_OK;
  cuda_scratch memory = {NULL, 0};
  cuda_entries_look look = {-1, -1, 0, 0};
  cuda_scope scope;

  LAC_TRY(cuda_scratch_take(ctx, "pattern", sizeof look, &memory));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_read(
      ctx, scope,
      cuda_launch_look_at_rows(ctx->stream, e->rows, e->cols, index_of(e->offsets), index_of(e->col), memory.data),
      "pattern", &look, memory.data, sizeof look));
  *out = (lac_entries_look){e->count, look.col < 0 ? e->count : look.col, 0, !look.is_unordered};
done:
  cuda_scratch_release(ctx, &memory);
  return status;
}

static lac_status structure_ascends(lac_context *ctx, const lac_buffer *buffer, bool *is_identity, bool *is_sorted) {
  lac_status status = LAC_OK;
  cuda_scratch memory = {NULL, 0};
  cuda_index integers;
  int flags[2] = {0, 0};
  cuda_scope scope;

  LAC_TRY(cuda_index_of(ctx, buffer, &integers));
  LAC_TRY(cuda_scratch_take(ctx, "map", sizeof flags, &memory));
  LAC_TRY(ctx->backend->upload(ctx, memory.data, flags, sizeof flags));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_read(ctx, scope, cuda_launch_ascends(ctx->stream, buffer->count, integers, memory.data), "map",
                              flags, memory.data, sizeof flags));
  *is_identity = !flags[0], *is_sorted = !flags[1];
done:
  cuda_scratch_release(ctx, &memory);
  return status;
}

static lac_status structure_same(lac_context *ctx, const lac_buffer *a, const lac_buffer *b, bool *out) {
  lac_status status = LAC_OK;
  cuda_scratch memory = {NULL, 0};
  cuda_index on_a, on_b;
  int differ = 0;
  cuda_scope scope;

  *out = a->count == b->count;
  if (!*out) goto done;
  LAC_TRY(cuda_index_of(ctx, a, &on_a));
  LAC_TRY(cuda_index_of(ctx, b, &on_b));
  LAC_TRY(cuda_scratch_take(ctx, "pattern", sizeof differ, &memory));
  LAC_TRY(ctx->backend->upload(ctx, memory.data, &differ, sizeof differ));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_read(ctx, scope, cuda_launch_differ(ctx->stream, a->count, on_a, on_b, memory.data), "pattern",
                              &differ, memory.data, sizeof differ));
  *out = !differ;
done:
  cuda_scratch_release(ctx, &memory);
  return status;
}

static lac_status structure_print(lac_context *ctx, const lac_buffer *buffer, uint64_t seed, uint64_t *sum) {
  lac_status status = LAC_OK;
  cuda_scratch memory = {NULL, 0};
  cuda_index integers;
  cuda_scope scope;

  *sum = 0;
  LAC_TRY(cuda_index_of(ctx, buffer, &integers));
  LAC_TRY(cuda_scratch_take(ctx, "pattern", sizeof *sum, &memory));
  LAC_TRY(ctx->backend->upload(ctx, memory.data, sum, sizeof *sum));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_read(ctx, scope, cuda_launch_print(ctx->stream, buffer->count, integers, seed, memory.data),
                              "pattern", sum, memory.data, sizeof *sum));
done:
  cuda_scratch_release(ctx, &memory);
  return status;
}

static lac_status structure_band(lac_context *ctx, const lac_pattern *pattern, lac_band *out) {
  lac_status status = LAC_OK;
  cuda_scratch memory = {NULL, 0};
  cuda_band band = {INT64_MAX, INT64_MIN, -1, -1};
  cuda_index offsets, columns;
  cuda_scope scope;

  LAC_TRY(cuda_index_of(ctx, pattern->offsets, &offsets));
  LAC_TRY(cuda_index_of(ctx, pattern->columns, &columns));
  LAC_TRY(cuda_scratch_take(ctx, "pattern", sizeof band, &memory));
  LAC_TRY(ctx->backend->upload(ctx, memory.data, &band, sizeof band));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_read(ctx, scope, cuda_launch_band(ctx->stream, pattern->rows, offsets, columns, memory.data),
                              "pattern", &band, memory.data, sizeof band));
  *out = (lac_band){band.low, band.high, band.first_without, band.last_without};
done:
  cuda_scratch_release(ctx, &memory);
  return status;
}

// -- moving ----------------------------------------------------------------------------------------------------------

lac_status cuda_structure_finish(lac_context *ctx, cuda_scope scope, cudaError_t error, const char *call,
                                 lac_buffer **made, lac_buffer **out) {
  lac_status status = LAC_OK;
  LAC_TRY(cuda_end(ctx, scope, error, call));
  LAC_TRY(ctx->backend->synchronize(ctx));
  *out = *made, *made = NULL;
done:
  return status;
}

static lac_status structure_lines_of(lac_context *ctx, lac_indices offsets, int64_t lines, int64_t count,
                                     lac_index_type type, lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_buffer *made = NULL;
  cuda_integers to;
  cuda_scope scope;

  LAC_TRY(cuda_structure_create(ctx, type, count, &made, &to));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_finish(ctx, scope, cuda_launch_lines_of(ctx->stream, count, lines, index_of(offsets), to),
                                "pattern", &made, out));
done:
  lac_object_release(made);
  return status;
}

static lac_status structure_copy(lac_context *ctx, lac_indices from, int64_t count, lac_index_type type,
                                 lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_buffer *made = NULL;
  cuda_integers to;
  cuda_scope scope;

  LAC_TRY(cuda_structure_create(ctx, type, count, &made, &to));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_finish(ctx, scope, cuda_launch_take(ctx->stream, count, index_of(from), nothing, to),
                                "pattern", &made, out));
done:
  lac_object_release(made);
  return status;
}

/// A list from its place `begin` on.
static cuda_index index_from(cuda_index list, int64_t begin) {
  return (cuda_index){(const char *)list.data + (size_t)begin * lac_index_size(list.type), list.type};
}

static lac_status structure_part(lac_context *ctx, const lac_buffer *from, int64_t begin, int64_t count,
                                 lac_index_type type, lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_buffer *made = NULL;
  cuda_index on_from;
  cuda_integers to;
  cuda_scope scope;

  LAC_TRY(cuda_index_of(ctx, from, &on_from));
  LAC_TRY(cuda_structure_create(ctx, type, count, &made, &to));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_finish(
      ctx, scope, cuda_launch_take(ctx->stream, count, index_from(on_from, begin), nothing, to), "map", &made, out));
done:
  lac_object_release(made);
  return status;
}

static lac_status structure_join(lac_context *ctx, const lac_buffer *a, const lac_buffer *b, lac_index_type type,
                                 lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_buffer *made = NULL;
  cuda_index on_a, on_b;
  cuda_integers to, behind;
  cudaError_t error;
  cuda_scope scope;

  LAC_TRY(cuda_index_of(ctx, a, &on_a));
  LAC_TRY(cuda_index_of(ctx, b, &on_b));
  LAC_TRY(cuda_structure_create(ctx, type, a->count + b->count, &made, &to));
  behind = (cuda_integers){(char *)to.data + (size_t)a->count * lac_index_size(type), type};
  scope = cuda_begin(ctx);
  error = cuda_launch_take(ctx->stream, a->count, on_a, nothing, to);
  if (error == cudaSuccess) error = cuda_launch_take(ctx->stream, b->count, on_b, nothing, behind);
  LAC_TRY(cuda_structure_finish(ctx, scope, error, "pattern", &made, out));
done:
  lac_object_release(made);
  return status;
}

static lac_status structure_gather(lac_context *ctx, const lac_buffer *from, const lac_buffer *at, lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_buffer *made = NULL;
  cuda_index on_from, on_at;
  cuda_integers to;
  cuda_scope scope;

  LAC_TRY(cuda_index_of(ctx, from, &on_from));
  LAC_TRY(cuda_index_of(ctx, at, &on_at));
  LAC_TRY(cuda_structure_create(ctx, from->type, at->count, &made, &to));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_structure_finish(ctx, scope, cuda_launch_take(ctx->stream, at->count, on_from, on_at, to), "pattern",
                                &made, out));
done:
  lac_object_release(made);
  return status;
}

static lac_status structure_invert(lac_context *ctx, const lac_buffer *at, int64_t outputs, lac_index_type type,
                                   lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_buffer *made = NULL;
  cudaError_t error = cudaSuccess;
  cuda_index on_at;
  cuda_integers to;
  cuda_scope scope;

  LAC_TRY(cuda_index_of(ctx, at, &on_at));
  LAC_TRY(cuda_structure_create(ctx, type, outputs, &made, &to));
  scope = cuda_begin(ctx);
  if (outputs) error = cudaMemsetAsync(to.data, 0xff, (size_t)outputs * lac_index_size(type), ctx->stream);  // all -1
  if (error == cudaSuccess) error = cuda_launch_invert(ctx->stream, at->count, on_at, to);
  LAC_TRY(cuda_structure_finish(ctx, scope, error, "pattern", &made, out));
done:
  lac_object_release(made);
  return status;
}

// -- sorting ---------------------------------------------------------------------------------------------------------

/// Bits that hold 0 .. most.
static int bits_of(int64_t most) {
  int bits = 0;
  while (bits < 63 && most >> bits) bits++;
  return bits;
}

/// Numbers 0 .. count - 1 with their keys, each in two places, and what the sort needs besides.
typedef struct sorting {
  int64_t count;
  cuda_scratch memory;
  uint64_t *keys[2];
  cuda_integers order[2];
  void *rest;
  size_t rest_bytes;
  int now;    // the place of the keys and of the order
  int shift;  // of the row in a key; below 0: keys do not hold entries
} sorting;

static size_t rounded(size_t bytes) { return (bytes + 255) / 256 * 256; }

static lac_status sorting_open(lac_context *ctx, int64_t count, lac_index_type type, sorting *s) {
  lac_status status = LAC_OK;
  size_t keys = rounded((size_t)count * sizeof *s->keys[0]), order = rounded((size_t)count * lac_index_size(type));
  size_t slots;
  cuda_scope scope = cuda_begin(ctx);
  char *at;

  slots = cuda_slots_scratch(count, type);
  *s = (sorting){.count = count, .shift = -1, .rest_bytes = cuda_sort_scratch(count, 64, type)};
  if (slots > s->rest_bytes) s->rest_bytes = slots;
  cuda_leave(scope);
  LAC_TRY(cuda_scratch_take(ctx, "pattern", 2 * keys + 2 * order + s->rest_bytes, &s->memory));
  at = s->memory.data;
  for (int i = 0; i < 2; i++) {
    s->keys[i] = (uint64_t *)(void *)(at + (size_t)i * keys);
    s->order[i] = (cuda_integers){at + 2 * keys + (size_t)i * order, type};
  }
  s->rest = at + 2 * keys + 2 * order;
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope, cuda_launch_count_up(ctx->stream, count, s->order[0]), "pattern"));
done:
  return status;
}

static void sorting_close(lac_context *ctx, sorting *s) { cuda_scratch_release(ctx, &s->memory); }

/// By high << shift | low, of so many bits in all; a negative integer counts as `none`.
static lac_status sorting_run(lac_context *ctx, sorting *s, cuda_index high, int shift, cuda_index low, int bits,
                              int64_t none) {
  lac_status status = LAC_OK;
  uint64_t *const keys[2] = {s->keys[s->now], s->keys[1 - s->now]};
  const cuda_integers order[2] = {s->order[s->now], s->order[1 - s->now]};
  cudaError_t error;
  cuda_scope scope;
  int which = 0;

  if (s->count == 0) goto done;
  scope = cuda_begin(ctx);
  error = cuda_launch_keys(ctx->stream, s->count, index_over(order[0]), high, shift, low, none, keys[0]);
  if (error == cudaSuccess && bits > 0) {
    error = cuda_launch_sort(ctx->stream, s->count, bits, keys, order, s->rest, s->rest_bytes, &which);
  }
  LAC_TRY(cuda_end(ctx, scope, error, "pattern"));
  if (which) s->now = 1 - s->now;
done:
  return status;
}

/// By row and column: at once where both fit a key, else one after the other.
static lac_status sorting_run_entries(lac_context *ctx, sorting *s, const lac_entries *e) {
  lac_status status = LAC_OK;
  int row = bits_of(e->rows - 1), col = bits_of(e->cols - 1);

  if (row + col <= 64) {
    LAC_TRY(sorting_run(ctx, s, index_of(e->row), col, index_of(e->col), row + col, 0));
    s->shift = col;
  } else {
    LAC_TRY(sorting_run(ctx, s, nothing, 0, index_of(e->col), col, 0));
    LAC_TRY(sorting_run(ctx, s, nothing, 0, index_of(e->row), row, 0));
  }
done:
  return status;
}

static lac_status structure_group(lac_context *ctx, const lac_buffer *keys, int64_t outputs, lac_index_type type,
                                  lac_buffer **offsets, lac_buffer **order) {
  lac_status status = LAC_OK;
  sorting s = {0};
  lac_buffer *made_offsets = NULL, *made_order = NULL;
  cuda_integers to_offsets, to_order;
  cuda_index on_keys;
  cudaError_t error;
  cuda_scope scope;
  int64_t kept = 0;

  LAC_TRY(cuda_index_of(ctx, keys, &on_keys));
  LAC_TRY(sorting_open(ctx, keys->count, type, &s));
  LAC_TRY(sorting_run(ctx, &s, nothing, 0, on_keys, bits_of(outputs), outputs));
  LAC_TRY(cuda_structure_create(ctx, type, outputs + 1, &made_offsets, &to_offsets));
  scope = cuda_begin(ctx);
  error = cuda_launch_offsets_of(ctx->stream, keys->count, outputs, (cuda_index){s.keys[s.now], LAC_I64}, to_offsets);
  LAC_TRY(cuda_structure_read(ctx, scope, error, "pattern", &kept,
                              (const char *)to_offsets.data + (size_t)outputs * lac_index_size(type),
                              lac_index_size(type)));
  LAC_TRY(cuda_structure_create(ctx, type, kept, &made_order, &to_order));
  scope = cuda_begin(ctx);
  error = cuda_launch_take(ctx->stream, kept, index_over(s.order[s.now]), nothing, to_order);
  LAC_TRY(cuda_structure_finish(ctx, scope, error, "pattern", &made_order, order));
  *offsets = made_offsets, made_offsets = NULL;
done:
  sorting_close(ctx, &s);
  lac_object_release(made_offsets);
  lac_object_release(made_order);
  return status;
}

// -- building --------------------------------------------------------------------------------------------------------

/// What is made, and where it is on the device.
typedef struct building {
  lac_buffer *offsets, *columns, *target;
  cuda_integers to_offsets, to_columns, to_target, to_rows_of;
  cuda_scratch rows_of;
} building;

static void building_close(lac_context *ctx, building *b) {
  cuda_scratch_release(ctx, &b->rows_of);
  lac_object_release(b->offsets);
  lac_object_release(b->columns);
  lac_object_release(b->target);
}

static lac_status building_open(lac_context *ctx, const char *function, const lac_entries *e, int64_t nnz,
                                bool with_map, lac_width *width, building *b) {
  lac_status status = LAC_OK;
  lac_index_type type;

  LAC_TRY(lac_width_choose(ctx, function, *width, e->rows, e->cols, nnz, width));
  LAC_TRY(cuda_structure_create(ctx, lac_width_offsets(*width), e->rows + 1, &b->offsets, &b->to_offsets));
  LAC_TRY(cuda_structure_create(ctx, lac_width_columns(*width), nnz, &b->columns, &b->to_columns));
  LAC_TRY(cuda_scratch_take(ctx, function, (size_t)nnz * lac_index_size(b->to_columns.type), &b->rows_of));
  b->to_rows_of = (cuda_integers){b->rows_of.data, b->to_columns.type};
  type = lac_map_type(e->count, nnz) == LAC_I64 ? LAC_I64 : lac_width_offsets(*width);
  if (with_map) LAC_TRY(cuda_structure_create(ctx, type, e->count, &b->target, &b->to_target));
done:
  return status;
}

/// Entries with those that are dropped in one place behind all rows, so that sorting and numbering need not know of
/// them: that place becomes the last slot, which is not emitted.
static lac_status building_set_aside(lac_context *ctx, const lac_entries *e, lac_buffer **row, lac_buffer **col,
                                     lac_entries *out) {
  lac_status status = LAC_OK;
  cuda_integers to_row, to_col;
  cuda_scope scope;

  *out = *e;
  if (!e->dropped) goto done;
  LAC_TRY(cuda_structure_create(ctx, e->rows <= INT32_MAX ? LAC_I32 : LAC_I64, e->count, row, &to_row));
  LAC_TRY(cuda_structure_create(ctx, e->cols <= INT32_MAX ? LAC_I32 : LAC_I64, e->count, col, &to_col));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(
      ctx, scope,
      cuda_launch_set_aside(ctx->stream, e->rows, e->count, index_of(e->row), index_of(e->col), to_row, to_col),
      "pattern"));
  out->rows = e->rows + 1;
  out->row = (lac_indices){to_row.data, to_row.type};
  out->col = (lac_indices){to_col.data, to_col.type};
done:
  return status;
}

/// The number of slots, of which the last entry has the last.
static lac_status building_count(lac_context *ctx, const sorting *s, cuda_integers slots, int64_t *nnz) {
  lac_status status = LAC_OK;
  size_t size = lac_index_size(slots.type);

  *nnz = 0;  // of which 4 bytes may be read
  if (s->count == 0) goto done;
  LAC_TRY(ctx->backend->download(ctx, nnz, (const char *)slots.data + (size_t)(s->count - 1) * size, size));
done:
  return status;
}

/// Sorted entries as launchers take them.
static cuda_sorted sorting_result(const sorting *s) {
  return (cuda_sorted){index_over(s->order[s->now]), s->shift < 0 ? NULL : s->keys[s->now], s->shift};
}

/// Entries in canonical order are numbered as they come; the others are sorted. The other place of keys is free then.
static lac_status building_number(lac_context *ctx, const lac_entries *e, sorting *s, cuda_integers *slots) {
  lac_status status = LAC_OK;
  cudaError_t error;
  cuda_scope scope;

  if (!e->canonical) LAC_TRY(sorting_run_entries(ctx, s, e));
  *slots = (cuda_integers){s->keys[1 - s->now], s->order[0].type};
  scope = cuda_begin(ctx);
  error = e->count == 0 ? cudaSuccess
                        : cuda_launch_slots(ctx->stream, e->count, sorting_result(s), index_of(e->row),
                                            index_of(e->col), *slots, s->rest, s->rest_bytes);
  LAC_TRY(cuda_end(ctx, scope, error, "pattern"));
done:
  return status;
}

static lac_status building_emit(lac_context *ctx, const lac_entries *e, const sorting *s, cuda_integers slots,
                                const building *b) {
  lac_status status = LAC_OK;
  cudaError_t error;
  cuda_scope scope = cuda_begin(ctx);

  error = cuda_launch_emit(ctx->stream, e->count, b->columns->count, sorting_result(s), index_of(e->row),
                           index_of(e->col), index_over(slots), b->to_rows_of, b->to_columns, b->to_target);
  if (error == cudaSuccess) {
    error = cuda_launch_offsets_of(ctx->stream, b->columns->count, b->offsets->count - 1, index_over(b->to_rows_of),
                                   b->to_offsets);
  }
  LAC_TRY(cuda_end(ctx, scope, error, "pattern"));
  LAC_TRY(ctx->backend->synchronize(ctx));
done:
  return status;
}

static lac_status structure_build(lac_context *ctx, const char *function, const lac_entries *e, lac_width *width,
                                  lac_buffer **offsets, lac_buffer **columns, lac_buffer **target) {
  lac_status status = LAC_OK;
  sorting s = {0};
  building b = {0};
  lac_entries kept;
  lac_buffer *row = NULL, *col = NULL;
  cuda_integers slots;
  int64_t nnz = 0;

  LAC_TRY(building_set_aside(ctx, e, &row, &col, &kept));
  LAC_TRY(sorting_open(ctx, e->count, e->count <= INT32_MAX ? LAC_I32 : LAC_I64, &s));
  LAC_TRY(building_number(ctx, &kept, &s, &slots));
  LAC_TRY(building_count(ctx, &s, slots, &nnz));
  LAC_TRY(building_open(ctx, function, e, e->dropped ? nnz - 1 : nnz, target != NULL, width, &b));
  LAC_TRY(building_emit(ctx, &kept, &s, slots, &b));
  *offsets = b.offsets, b.offsets = NULL;
  *columns = b.columns, b.columns = NULL;
  if (target) *target = b.target, b.target = NULL;
done:
  sorting_close(ctx, &s);
  building_close(ctx, &b);
  lac_object_release(row);
  lac_object_release(col);
  return status;
}

const lac_structure_kernels cuda_structure_kernels = {
    .look_at_entries = structure_look_at_entries,
    .look_at_offsets = structure_look_at_offsets,
    .look_at_rows = structure_look_at_rows,
    .copy = structure_copy,
    .lines_of = structure_lines_of,
    .build = structure_build,
    .group = structure_group,
    .products = cuda_structure_products,
    .part = structure_part,
    .join = structure_join,
    .select = cuda_structure_select,
    .kron = cuda_structure_kron,
    .stack = cuda_structure_stack,
    .places = cuda_structure_places,
    .gather = structure_gather,
    .invert = structure_invert,
    .ascends = structure_ascends,
    .same = structure_same,
    .longest = cuda_longest,
    .band = structure_band,
    .print = structure_print,
};
