// SPDX-License-Identifier: Apache-2.0
/// Thousands of small random inputs, most of them spoilt in some way: each gives the pattern that brute force gives, or
/// the error that brute force finds first. Never anything else, and nothing is lost.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/pattern/pattern_impl.h"
#include "support/check.h"
#include "support/mask.h"
#include "support/random.h"
#include "support/scratch.h"

enum { COO, CSR, CSC, MOST_LINES = 7, MOST_ENTRIES = 24 };

/// An input as it is handed in. `lines` are what the offsets compress: rows of CSR, columns of CSC.
typedef struct input {
  int form;
  lac_index_type type;
  lac_width width;
  int64_t rows, cols, count;
  int64_t offsets[MOST_LINES + 1], row[MOST_ENTRIES], col[MOST_ENTRIES];
} input;

static int64_t lines_of(const input *x) { return x->form == CSR ? x->rows : x->cols; }

/// A valid input.
static input input_draw(random_state *r) {
  input x = {.form = (int)random_below(r, 3),
             .type = (lac_index_type)random_below(r, 2),
             .width = (lac_width)random_below(r, 4)};
  x.rows = random_below(r, MOST_LINES), x.cols = random_below(r, MOST_LINES);
  x.count = x.rows && x.cols ? random_below(r, MOST_ENTRIES) : 0;
  for (int64_t i = 0; i < x.count; ++i) x.row[i] = random_below(r, x.rows), x.col[i] = random_below(r, x.cols);
  if (x.form == COO) return x;
  int64_t *line = x.form == CSR ? x.row : x.col;
  for (int64_t i = 0; i < x.count; ++i) ++x.offsets[line[i] + 1];
  for (int64_t i = 0; i < lines_of(&x); ++i) {
    x.offsets[i + 1] += x.offsets[i];
    for (int64_t p = x.offsets[i]; p < x.offsets[i + 1]; ++p) line[p] = i;
  }
  return x;
}

/// Spoil an index, an offset, a size, or nothing.
static void input_spoil(random_state *r, input *x) {
  static const int64_t odd[] = {-1, -7, 7, 8, 1000000, INT32_MAX, INT32_MIN};
  int64_t value = odd[random_below(r, 7)], what = random_below(r, 6);
  if (what == 0 && x->count) x->row[random_below(r, x->count)] = value;
  if (what == 1 && x->count) x->col[random_below(r, x->count)] = value;
  if (what == 2 && x->form != COO && lines_of(x)) {
    x->offsets[random_below(r, lines_of(x))] = value;  // not the last, which says how much there is to read
  }
  if (what == 3) *(random_below(r, 2) ? &x->rows : &x->cols) = -1 - random_below(r, 5);
}

/// What the sentence must contain, or "" for a valid input. The order of checks is: sizes, offsets, indices.
static const char *input_fault(const input *x, char text[64]) {
  int64_t lowest = x->form == COO ? -1 : 0;  // of indices: -1 drops an entry of coordinates
  if (x->rows < 0 || x->cols < 0) {
    (void)snprintf(text, 64, "%s = %" PRId64 " is negative", x->rows < 0 ? "rows" : "cols",
                   x->rows < 0 ? x->rows : x->cols);
    return text;
  }
  for (int64_t i = 0; x->form != COO && i <= lines_of(x); ++i) {
    if (i ? x->offsets[i] >= x->offsets[i - 1] : x->offsets[i] == 0) continue;
    (void)snprintf(text, 64, "offsets[%" PRId64 "] = %" PRId64, i, x->offsets[i]);
    return text;
  }
  for (int64_t i = 0; i < x->count; ++i) {
    if (x->form != CSR && (x->row[i] < lowest || x->row[i] >= x->rows)) {
      (void)snprintf(text, 64, "%s[%" PRId64 "] = %" PRId64, x->form == CSC ? "rows_of" : "row", i, x->row[i]);
      return text;
    }
    if (x->form != CSC && (x->col[i] < lowest || x->col[i] >= x->cols)) {
      (void)snprintf(text, 64, "%s[%" PRId64 "] = %" PRId64, x->form == CSR ? "columns" : "col", i, x->col[i]);
      return text;
    }
  }
  return "";
}

static const void *as_type(lac_index_type type, int64_t count, const int64_t *x) {
  if (type == LAC_I64) return x;
  int32_t *narrow = scratch((size_t)count * sizeof *narrow);
  for (int64_t i = 0; i < count; ++i) narrow[i] = (int32_t)x[i];
  return narrow;
}

static lac_status input_build(lac_context *ctx, const input *x, lac_pattern **p, lac_map **map) {
  const void *row = as_type(x->type, MOST_ENTRIES, x->row), *col = as_type(x->type, MOST_ENTRIES, x->col);
  const void *offsets = as_type(x->type, MOST_LINES + 1, x->offsets);
  switch (x->form) {
    case COO:
      return lac_pattern_from_coo(ctx, x->rows, x->cols, x->count, x->type, row, col, x->width, p, map);
    case CSR:
      return lac_pattern_from_csr(ctx, x->rows, x->cols, x->type, offsets, col, x->width, p, map);
    default:
      return lac_pattern_from_csc(ctx, x->rows, x->cols, x->type, offsets, row, x->width, p, map);
  }
}

/// Spoilt offsets may still be valid ones: then they say where the entries are.
static void input_settle(input *x) {
  if (x->form == COO) return;
  int64_t *line = x->form == CSR ? x->row : x->col;
  x->count = x->offsets[lines_of(x)];
  for (int64_t i = 0; i < lines_of(x); ++i) {
    for (int64_t p = x->offsets[i]; p < x->offsets[i + 1]; ++p) line[p] = i;
  }
}

static void input_check(lac_context *ctx, input *x) {
  lac_pattern *p = NULL;
  lac_map *map = NULL;
  char text[64] = "";
  const char *fault = input_fault(x, text);
  lac_status status = input_build(ctx, x, &p, &map);
  if (*fault) {
    CHECK(status == LAC_ERR_PATTERN || status == LAC_ERR_ARG);
    CHECK_FAILS(status, status, fault);
    CHECK(!p && !map);
    return;
  }
  CHECK_OK(status);
  input_settle(x);
  mask m = mask_of(x->rows, x->cols, x->count, x->row, x->col);
  int64_t *target = scratch(MOST_ENTRIES * sizeof *target);
  mask_check(&m, p);
  CHECK_EQ(lac_map_inputs(map), x->count);
  lac_map_read(map, target);
  for (int64_t i = 0; i < x->count; ++i) {
    CHECK_EQ(target[i], x->row[i] < 0 || x->col[i] < 0 ? -1 : *mask_at(&m, x->row[i], x->col[i]));
  }
  lac_pattern_destroy(&p);
  lac_map_destroy(&map);
}

static void spoilt_inputs_give_errors_and_others_patterns(lac_context *ctx) {
  random_state r = random_start(61);
  for (int trial = 0; trial < check_sweep(20000); ++trial) {
    size_t mark = scratch_mark();
    input x = input_draw(&r);
    input_spoil(&r, &x);
    CHECK_OK(lac_context_set_threads(ctx, 1 + trial % 2));
    input_check(ctx, &x);
    scratch_release(mark);
  }
}

CHECK_MAIN(spoilt_inputs_give_errors_and_others_patterns)
