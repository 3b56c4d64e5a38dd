// SPDX-License-Identifier: Apache-2.0
/// @file pattern_block.c
/// Patterns of blocks, and the ways between blocks and single entries.
///
///     number (z, r, c) of a block pattern   flattened: (z br + r) bc + c
///     the same as a single entry            row br row(z) + r, column bc col(z) + c
///
/// Maps are on the flattened numbers, so that `reshape` and `remap` move values and their gradients.

#include <inttypes.h>

#include "core/pattern/index_set.h"

/// Sizes that are positive, divide the shape, and leave counts that can be addressed.
static lac_status block_check(lac_context *ctx, const char *function, int64_t rows, int64_t cols, int64_t br,
                              int64_t bc) {
  lac_status status = LAC_OK;
  int64_t numbers = 0;

  LAC_CHECK(br > 0 && bc > 0, LAC_ERR_ARG, "%s: blocks of %" PRId64 " x %" PRId64 "; give 1 or more of each", function,
            br, bc);
  LAC_CHECK(!__builtin_mul_overflow(br, bc, &numbers) && numbers <= LAC_MAX_COUNT, LAC_ERR_OVERFLOW,
            "%s: blocks of %" PRId64 " x %" PRId64 " are beyond what can be addressed", function, br, bc);
  LAC_CHECK(rows >= 0 && cols >= 0, LAC_ERR_ARG, "%s: a shape of %" PRId64 " x %" PRId64 " is negative", function, rows,
            cols);
  LAC_CHECK(rows <= LAC_MAX_COUNT && cols <= LAC_MAX_COUNT, LAC_ERR_OVERFLOW,
            "%s: %" PRId64 " x %" PRId64 " is beyond what can be addressed", function, rows, cols);
  LAC_CHECK(rows % br == 0 && cols % bc == 0, LAC_ERR_SHAPE,
            "%s: blocks of %" PRId64 " x %" PRId64 " do not divide %" PRId64 " x %" PRId64
            "; choose a size that divides both, or pad the matrix with empty rows and columns",
            function, br, bc, rows, cols);
done:
  return status;
}

/// How many numbers so many blocks hold.
static lac_status block_numbers(lac_context *ctx, const char *function, int64_t blocks, int64_t size, int64_t *out) {
  lac_status status = LAC_OK;
  LAC_CHECK(!__builtin_mul_overflow(blocks, size, out) && *out <= LAC_MAX_COUNT, LAC_ERR_OVERFLOW,
            "%s: %" PRId64 " blocks of %" PRId64 " numbers are beyond what can be addressed", function, blocks, size);
done:
  return status;
}

// -- from what users have --------------------------------------------------------------------------------------------

/// A map between blocks as a map between their numbers.
static lac_status block_spread_map(lac_context *ctx, const lac_map *blocks, int64_t size, lac_map **out) {
  lac_status status = LAC_OK;
  lac_buffer *target = NULL;
  int64_t inputs = 0, outputs = 0;

  LAC_TRY(block_numbers(ctx, "lac_pattern_from_bsr", blocks->inputs, size, &inputs));
  outputs = blocks->outputs * size;
  LAC_TRY(lac_map_host(ctx, blocks));
  LAC_TRY(lac_buffer_create(ctx, lac_map_type(inputs, outputs), inputs, &target));
  for (int64_t i = 0; i < inputs; ++i) {
    lac_buffer_set(target, i, lac_buffer_get(blocks->target, i / size) * size + i % size);
  }
  LAC_TRY((blocks->is_injective ? lac_map_adopt_injective : lac_map_adopt_shared)(ctx, outputs, &target, out));
done:
  lac_object_release(target);
  return status;
}

/// The pattern with the same structure, whose slots are blocks.
static lac_status block_adopt(lac_context *ctx, const lac_pattern *p, int64_t br, int64_t bc, lac_pattern **out) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = lac_object_retain(p->offsets), *columns = lac_object_retain(p->columns);

  LAC_TRY(lac_pattern_adopt_blocks(ctx, p->rows, p->cols, br, bc, p->width, &offsets, &columns, out));
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

lac_status lac_pattern_from_bsr(lac_context *ctx, int64_t rows, int64_t cols, int64_t br, int64_t bc,
                                lac_index_type type, const void *offsets, const void *columns, lac_width width,
                                lac_pattern **out, lac_map **entries) {
  lac_status status = LAC_OK;
  const char *function = "lac_pattern_from_bsr";
  lac_pattern *structure = NULL, *made = NULL;
  lac_map *blocks = NULL, *map = NULL;
  int64_t numbers = 0;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_from_bsr: out is NULL");
  LAC_TRY(block_check(ctx, function, rows, cols, br, bc));
  LAC_TRY(lac_pattern_compress(ctx, function, rows / br, cols / bc, type, offsets, columns, width, &structure,
                               entries ? &blocks : NULL));
  LAC_TRY(block_numbers(ctx, function, structure->nnz, br * bc, &numbers));
  LAC_TRY(block_adopt(ctx, structure, br, bc, &made));
  if (entries) LAC_TRY(block_spread_map(ctx, blocks, br * bc, &map));
  *out = made, made = NULL;
  if (entries) *entries = map, map = NULL;
done:
  lac_pattern_destroy(&structure);
  lac_pattern_destroy(&made);
  lac_map_destroy(&blocks);
  lac_map_destroy(&map);
  return status;
}

// -- blocks to single entries ----------------------------------------------------------------------------------------

/// Offsets of the rows: all rows of a block row are equally long.
static void scalar_offsets(const lac_pattern *a, lac_buffer *offsets) {
  for (int64_t i = 0, at = 0; i < a->rows; ++i) {
    int64_t length = (lac_buffer_get(a->offsets, i + 1) - lac_buffer_get(a->offsets, i)) * a->bc;
    for (int64_t r = 0; r < a->br; ++r, at += length) lac_buffer_set(offsets, i * a->br + r, at);
  }
  lac_buffer_set(offsets, a->rows * a->br, a->nnz * a->br * a->bc);
}

/// Columns of the slots, and the slot of each number.
static void scalar_fill(const lac_pattern *a, const lac_buffer *offsets, lac_buffer *columns, lac_buffer *target,
                        int threads) {
#pragma omp parallel for num_threads(threads) schedule(static) if (columns->count > 1 << 16)
  for (int64_t i = 0; i < a->rows; ++i) {
    int64_t begin = lac_buffer_get(a->offsets, i), end = lac_buffer_get(a->offsets, i + 1);
    for (int64_t z = begin; z < end; ++z) {
      int64_t col = lac_buffer_get(a->columns, z) * a->bc;
      for (int64_t e = 0; e < a->br * a->bc; ++e) {
        int64_t slot = lac_buffer_get(offsets, i * a->br + e / a->bc) + (z - begin) * a->bc + e % a->bc;
        lac_buffer_set(columns, slot, col + e % a->bc);
        lac_buffer_set(target, z * a->br * a->bc + e, slot);
      }
    }
  }
}

static lac_status scalar_part(lac_context *ctx, const lac_pattern *a, lac_part *part) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = NULL, *columns = NULL, *target = NULL;
  int64_t rows = a->rows * a->br, cols = a->cols * a->bc, nnz = a->nnz * a->br * a->bc;
  lac_width width = LAC_WIDTH_AUTO;

  LAC_TRY(lac_pattern_host(ctx, a));
  LAC_TRY(lac_width_choose(ctx, "lac_pattern_scalar", LAC_WIDTH_AUTO, rows, cols, nnz, &width));
  if (a->width > width) width = a->width;
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), rows + 1, &offsets));
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(width), nnz, &columns));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), nnz, &target));
  scalar_offsets(a, offsets);
  scalar_fill(a, offsets, columns, target, lac_structure_threads(ctx));
  LAC_TRY(lac_pattern_adopt(ctx, rows, cols, width, &offsets, &columns, &part->pattern));
  LAC_TRY(lac_map_adopt_injective(ctx, nnz, &target, &part->map));
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  lac_object_release(target);
  return status;
}

/// A pattern without blocks is what it is asked to be.
static lac_status block_itself(lac_context *ctx, const lac_pattern *pattern, lac_pattern **out, lac_map **map) {
  lac_status status = LAC_OK;
  if (map) LAC_TRY(lac_pattern_identity(ctx, pattern, map));
  *out = lac_pattern_retain(pattern);
done:
  return status;
}

lac_status lac_pattern_scalar(lac_context *ctx, const lac_pattern *pattern, lac_pattern **out, lac_map **map) {
  lac_status status = LAC_OK;
  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_scalar: out is NULL");
  LAC_TRY(lac_pattern_require_here(ctx, pattern, "lac_pattern_scalar"));
  if (lac_pattern_has_blocks(pattern)) {
    LAC_TRY(lac_pattern_part(ctx, pattern, LAC_PART_SCALAR, 0, scalar_part, out, map));
  } else {
    LAC_TRY(block_itself(ctx, pattern, out, map));
  }
done:
  return status;
}

// -- single entries to blocks ----------------------------------------------------------------------------------------

/// The structure of the blocks, while it is made.
typedef struct blocked_work {
  const lac_pattern *a;
  int64_t rows, cols, br, bc;
  lac_index_set set;
  lac_buffer *offsets, *columns, *target;
} blocked_work;

static void blocked_collect(blocked_work *w, int64_t row) {
  int64_t end = lac_buffer_get(w->a->offsets, (row + 1) * w->br);
  for (int64_t p = lac_buffer_get(w->a->offsets, row * w->br); p < end; ++p) {
    lac_index_set_add(&w->set, lac_buffer_get(w->a->columns, p) / w->bc);
  }
}

static void blocked_count(blocked_work *w) {
  int64_t sum = 0;
  for (int64_t i = 0; i < w->rows; ++i) {
    lac_buffer_set(w->offsets, i, sum);
    blocked_collect(w, i);
    sum += w->set.count;
    lac_index_set_sort(&w->set);
    lac_index_set_clear(&w->set);
  }
  lac_buffer_set(w->offsets, w->rows, sum);
}

/// Columns of the blocks of one block row, and where the numbers of its entries go.
static void blocked_fill_row(blocked_work *w, int64_t row) {
  int64_t begin = lac_buffer_get(w->offsets, row);
  blocked_collect(w, row);
  lac_index_set_sort(&w->set);
  for (int64_t r = 0; r < w->br; ++r) {
    int64_t i = row * w->br + r, stop = lac_buffer_get(w->a->offsets, i + 1);
    for (int64_t p = lac_buffer_get(w->a->offsets, i); p < stop; ++p) {
      int64_t col = lac_buffer_get(w->a->columns, p), slot = begin + lac_index_set_rank(&w->set, col / w->bc);
      lac_buffer_set(w->columns, slot, col / w->bc);
      lac_buffer_set(w->target, p, (slot * w->br + r) * w->bc + col % w->bc);
    }
  }
  lac_index_set_clear(&w->set);
}

static lac_status blocked_make(lac_context *ctx, blocked_work *w, lac_pattern **out, lac_map **map) {
  lac_status status = LAC_OK;
  const lac_pattern *a = w->a;
  lac_pattern *made = NULL;
  int64_t blocks = 0, numbers = 0;

  LAC_TRY(lac_index_set_open(ctx, &w->set, w->cols));
  LAC_TRY(lac_buffer_create(ctx, a->offsets->type, w->rows + 1, &w->offsets));
  blocked_count(w);
  blocks = lac_buffer_get(w->offsets, w->rows);
  LAC_TRY(block_numbers(ctx, "lac_pattern_blocked", blocks, w->br * w->bc, &numbers));
  LAC_TRY(lac_buffer_create(ctx, a->columns->type, blocks, &w->columns));
  LAC_TRY(lac_buffer_create(ctx, lac_map_type(a->nnz, numbers), a->nnz, &w->target));
  for (int64_t i = 0; i < w->rows; ++i) blocked_fill_row(w, i);
  LAC_TRY(lac_pattern_adopt_blocks(ctx, w->rows, w->cols, w->br, w->bc, a->width, &w->offsets, &w->columns, &made));
  if (map) LAC_TRY(lac_map_adopt_injective(ctx, numbers, &w->target, map));
  *out = made, made = NULL;
done:
  lac_pattern_destroy(&made);
  return status;
}

lac_status lac_pattern_blocked(lac_context *ctx, const lac_pattern *pattern, int64_t br, int64_t bc, lac_pattern **out,
                               lac_map **map) {
  lac_status status = LAC_OK;
  blocked_work w = {.a = pattern, .br = br, .bc = bc};

  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_blocked: out is NULL");
  LAC_TRY(lac_pattern_require_host(ctx, pattern, "lac_pattern_blocked"));
  LAC_TRY(block_check(ctx, "lac_pattern_blocked", pattern->rows, pattern->cols, br, bc));
  if (br == 1 && bc == 1) {
    LAC_TRY(block_itself(ctx, pattern, out, map));
    goto done;
  }
  w.rows = pattern->rows / br;
  w.cols = pattern->cols / bc;
  LAC_TRY(blocked_make(ctx, &w, out, map));
done:
  lac_index_set_close(&w.set);
  lac_object_release(w.offsets);
  lac_object_release(w.columns);
  lac_object_release(w.target);
  return status;
}
