// SPDX-License-Identifier: Apache-2.0
/// The kernels of the CUDA backend at the sizes where they change their ways, beside the CPU's.
///
/// Every kernel has a few forms, chosen by row length, columns, alignment, batch and count. Each case runs on both
/// backends with the same random numbers; outputs are filled with NaN before. Two runs must give the same bits.

#include <math.h>
#include <stdio.h>

#include "support/random.h"
#include "support/scratch.h"
#include "support/twin.h"

/// One kernel as a case runs it on a backend.
typedef struct call {
  const lac_pattern *p, *q, *r;
  const lac_map *map;
  const lac_format *format;
  lac_form form, other;
  lac_segment what;
  int64_t full;
  uint32_t mask;
  lac_binary op;
  twin *in[2], *out;
} call;

typedef lac_status kernel(const lac_kernels *k, lac_context *ctx, const call *c, int b);

typedef struct task {
  kernel *run;
  const call *c;
} task;

static lac_status task_run(lac_context *ctx, const void *opaque, int b) {
  const task *t = opaque;
  return t->run(ctx->kernels, ctx, t->c, b);
}

static void compare(kernel *run, const call *c, const char *what) {
  twin_compare(task_run, &(task){run, c}, c->out, 200, what);
}

static lac_pattern *pattern_random(int64_t rows, int64_t cols, double mean, lac_width width, uint64_t seed) {
  lac_pattern *p = NULL;
  size_t mark = scratch_mark();
  const sketch *s = mean > 0 ? sketch_random(rows, cols, mean / (double)cols, seed) : sketch_empty(rows, cols);
  twin_must(TWIN_CPU, sketch_pattern(twin_context(TWIN_CPU), s, width, &p));
  scratch_release(mark);
  return p;
}

// -- products --------------------------------------------------------------------------------------------------------

static lac_status run_spmm(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->spmm(ctx, c->p, c->form, c->in[0]->on[b], c->in[1]->on[b], c->out->on[b]);
}

static lac_status run_sddmm(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->sddmm(ctx, c->p, c->in[0]->on[b], c->in[1]->on[b], c->out->on[b]);
}

static lac_status run_sampled(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->sampled_spgemm(ctx, c->p, c->q, c->form, c->r, c->other, c->in[0]->on[b], c->in[1]->on[b], c->out->on[b]);
}

/// The batches of two inputs and an output: none, shared, each of its own, summed, crossed and summed.
static const struct {
  int ndim;
  int64_t x[2], y[2], out[2];
} batches[] = {{0, {1}, {1}, {1}},          {1, {1}, {5}, {5}},          {1, {3}, {3}, {3}},
               {1, {4}, {4}, {1}},          {2, {2, 1}, {1, 3}, {2, 3}}, {2, {2, 1}, {2, 3}, {1, 3}},
               {2, {2, 3}, {1, 3}, {1, 1}}, {1, {0}, {0}, {1}},          {1, {1}, {0}, {0}}};
enum { BATCHES = sizeof batches / sizeof *batches };

/// batch (leading) and core dimensions, one after the other.
static int shape_of(int64_t shape[4], int leading, const int64_t *batch, int core, const int64_t *sizes) {
  for (int d = 0; d < leading; ++d) shape[d] = batch[d];
  for (int d = 0; d < core; ++d) shape[leading + d] = sizes[d];
  return leading + core;
}

static void compare_products(lac_dtype dtype, const lac_pattern *p, lac_form form, int64_t k, int batch) {
  int64_t rows = form & LAC_TRANSPOSED ? p->cols : p->rows, cols = form & LAC_TRANSPOSED ? p->rows : p->cols, shape[4];
  int n = batches[batch].ndim, ndim;
  char what[120];

  ndim = shape_of(shape, n, batches[batch].x, 1, &p->nnz);
  twin a = twin_random(dtype, ndim, shape, 1);
  ndim = shape_of(shape, n, batches[batch].y, 2, (int64_t[]){cols, k});
  twin x = twin_random(dtype, ndim, shape, 2);
  ndim = shape_of(shape, n, batches[batch].out, 2, (int64_t[]){rows, k});
  twin y = twin_new(dtype, ndim, shape);
  (void)snprintf(what, sizeof what, "spmm nnz %lld form %d k %lld batch %d", (long long)p->nnz, (int)form, (long long)k,
                 batch);
  compare(run_spmm, &(call){.p = p, .form = form, .in = {&a, &x}, .out = &y}, what);
  twin_destroy(&a), twin_destroy(&x), twin_destroy(&y);

  if (form != LAC_PLAIN) return;
  ndim = shape_of(shape, n, batches[batch].x, 2, (int64_t[]){p->rows, k});
  twin u = twin_random(dtype, ndim, shape, 3);
  ndim = shape_of(shape, n, batches[batch].y, 2, (int64_t[]){p->cols, k});
  twin v = twin_random(dtype, ndim, shape, 4);
  ndim = shape_of(shape, n, batches[batch].out, 1, &p->nnz);
  twin s = twin_new(dtype, ndim, shape);
  what[0] = 's', what[1] = 'd', what[2] = 'd';
  compare(run_sddmm, &(call){.p = p, .in = {&u, &v}, .out = &s}, what);
  twin_destroy(&u), twin_destroy(&v), twin_destroy(&s);
}

static void products_agree_at_every_row_length(lac_context *ctx) {
  static const double means[] = {0, 3, 12, 40, 90};
  static const int64_t widths[] = {1, 2, 3, 4, 8, 31, 32, 33, 70, 130, 0};
  twin_open(ctx);
  for (size_t m = 0; m < sizeof means / sizeof *means; ++m) {
    lac_pattern *p = pattern_random(310, 270, means[m], LAC_WIDTH_AUTO, 7 + m);
    for (int d = 0; d < 4; ++d) {
      for (size_t k = 0; k < sizeof widths / sizeof *widths; ++k)
        compare_products(twin_dtypes[d], p, LAC_PLAIN, widths[k], 0);
      for (int form = LAC_TRANSPOSED; form <= LAC_ADJOINT; ++form)
        compare_products(twin_dtypes[d], p, (lac_form)form, 1 + 3 * (form % 2), 0);
    }
    lac_pattern_destroy(&p);
  }
  twin_close();
}

static void products_agree_for_every_batch_and_width(lac_context *ctx) {
  static const lac_width widths[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
  twin_open(ctx);
  for (int w = 0; w < 3; ++w) {
    for (int mean = 4; mean <= 40; mean += 36) {
      lac_pattern *p = pattern_random(40, 50, mean, widths[w], 3);
      for (int d = 0; d < 4; ++d) {
        for (int batch = 0; batch < BATCHES; ++batch) {
          compare_products(twin_dtypes[d], p, LAC_PLAIN, 1, batch);
          compare_products(twin_dtypes[d], p, LAC_ADJOINT, 6, batch);
          compare_products(twin_dtypes[d], p, LAC_PLAIN, 40, batch);
        }
      }
      lac_pattern_destroy(&p);
    }
  }
  twin_close();
}

/// A pattern whose rows have the lengths 0, 1, 7, 33 and, some of them, `longest`.
static lac_pattern *pattern_uneven(int64_t rows, int64_t longest, lac_width width) {
  static const int64_t lengths[] = {0, 1, 7, 0, 33, 1, 0, 2};
  lac_pattern *p = NULL;
  size_t mark = scratch_mark();
  int64_t count = 0, room = 6 * rows + 3 * longest + 64, *row = scratch((size_t)room * sizeof *row),
          *col = scratch((size_t)room * sizeof *col);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t length = i == 1 || i == rows / 2 || i == rows - 1 ? longest - i % 3 : lengths[i % 8];
    for (int64_t e = 0; e < length; ++e) row[count] = i, col[count++] = (i * 7 + e) % longest;
  }
  twin_must(TWIN_CPU,
            lac_pattern_from_coo(twin_context(TWIN_CPU), rows, longest, count, LAC_I64, row, col, width, &p, NULL));
  scratch_release(mark);
  return p;
}

static void long_and_short_rows_agree(lac_context *ctx) {
  static const int64_t columns[] = {1, 3, 4, 32, 33, 128, 129};
  static const lac_width widths[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
  twin_open(ctx);
  for (int w = 0; w < 3; ++w) {
    lac_pattern *p = pattern_uneven(w ? 900 : 20000, 5000, widths[w]);
    for (int d = 0; d < 4; ++d) {
      size_t mark = scratch_mark();
      for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) {
        compare_products(twin_dtypes[d], p, (lac_form)form, 1, 0);
        compare_products(twin_dtypes[d], p, (lac_form)form, 5, 0);
      }
      for (size_t k = 0; w && k < sizeof columns / sizeof *columns; ++k)
        compare_products(twin_dtypes[d], p, LAC_PLAIN, columns[k], 0);
      for (int batch = 1; w == 1 && batch < BATCHES; ++batch) {
        compare_products(twin_dtypes[d], p, LAC_ADJOINT, 1, batch);
        compare_products(twin_dtypes[d], p, LAC_PLAIN, 6, batch);
      }
      scratch_release(mark);
    }
    lac_pattern_destroy(&p);
  }
  twin_close();
}

/// One row of all entries, and few rows of many.
static void few_rows_agree(lac_context *ctx) {
  twin_open(ctx);
  for (int64_t rows = 1; rows <= 40; rows += 39) {
    lac_pattern *p = pattern_random(rows, 9000, rows == 1 ? 9000 : 700, LAC_WIDTH_AUTO, 5);
    for (int d = 0; d < 4; ++d) {
      compare_products(twin_dtypes[d], p, LAC_PLAIN, 1, 0);
      compare_products(twin_dtypes[d], p, LAC_PLAIN, 1, 2);
      compare_products(twin_dtypes[d], p, LAC_PLAIN, 34, 0);
      compare_products(twin_dtypes[d], p, LAC_TRANSPOSED, 3, 0);
    }
    lac_pattern_destroy(&p);
  }
  twin_close();
}

/// A grid large enough to be taken up in tiles, whose sides no tile divides: five points, without some rows, and with
/// some entries across.
static lac_pattern *pattern_grid(int64_t width, int64_t height, lac_width type) {
  lac_pattern *p = NULL;
  size_t mark = scratch_mark();
  const int64_t step[] = {-width, -1, 0, 1, width}, n = width * height;
  int64_t count = 0, *row = scratch((size_t)(6 * n) * sizeof *row), *col = scratch((size_t)(6 * n) * sizeof *col);
  for (int64_t i = 0; i < n; ++i) {
    for (int s = 0; s < 5 && i % 89 != 3; ++s) {
      int64_t j = i + step[s];
      if (j >= 0 && j < n) row[count] = i, col[count++] = j;
    }
    if (i % 101 == 0) row[count] = i, col[count++] = n - 1 - i;
  }
  twin_must(TWIN_CPU, lac_pattern_from_coo(twin_context(TWIN_CPU), n, n, count, LAC_I64, row, col, type, &p, NULL));
  scratch_release(mark);
  return p;
}

static void products_on_a_grid_agree(lac_context *ctx) {
  static const int64_t columns[] = {1, 3, 8, 16, 34, 132};
  static const lac_width widths[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
  twin_open(ctx);
  for (int d = 0; d < 4; ++d) {
    lac_pattern *p = pattern_grid(251, 263, widths[d % 3]);
    for (size_t k = 0; k < sizeof columns / sizeof *columns; ++k) {
      size_t mark = scratch_mark();
      compare_products(twin_dtypes[d], p, LAC_PLAIN, columns[k], 0);
      compare_products(twin_dtypes[d], p, LAC_ADJOINT, columns[k], k % 2 ? 0 : 2);
      scratch_release(mark);
    }
    lac_pattern_destroy(&p);
  }
  twin_close();
}

/// The same numbers from one place further on.
static twin twin_behind(const twin *x, lac_dtype dtype, int64_t rows, int64_t k) {
  lac_meta meta = {.dtype = dtype, .ndim = 2, .shape = {rows, k}};
  twin y;
  for (int b = 0; b < 2; ++b)
    twin_must(
        b, lac_array_wrap(twin_context(b), &meta, (char *)x->on[b]->storage->data + lac_dtype_size(dtype), &y.on[b]));
  return y;
}

static void products_of_unaligned_columns_agree(lac_context *ctx) {
  static const int64_t columns[] = {1, 2, 4, 32, 128};
  twin_open(ctx);
  lac_pattern *p = pattern_random(310, 270, 5, LAC_WIDTH_AUTO, 3);
  for (int d = 0; d < 4; ++d) {
    for (size_t i = 0; i < sizeof columns / sizeof *columns; ++i) {
      int64_t k = columns[i];
      twin a = twin_random(twin_dtypes[d], 1, &p->nnz, 1), s = twin_new(twin_dtypes[d], 1, &p->nnz);
      twin from = twin_random(twin_dtypes[d], 1, (int64_t[]){p->cols * k + 1}, 2);
      twin to = twin_random(twin_dtypes[d], 1, (int64_t[]){p->rows * k + 1}, 3);
      twin x = twin_behind(&from, twin_dtypes[d], p->cols, k), y = twin_behind(&to, twin_dtypes[d], p->rows, k);
      compare(run_sddmm, &(call){.p = p, .in = {&y, &x}, .out = &s}, "unaligned sddmm");
      compare(run_spmm, &(call){.p = p, .in = {&a, &x}, .out = &y}, "unaligned spmm");
      twin_destroy(&x), twin_destroy(&y), twin_destroy(&from), twin_destroy(&to), twin_destroy(&a), twin_destroy(&s);
    }
  }
  lac_pattern_destroy(&p);
  twin_close();
}

// -- blocks and sliced ELL -------------------------------------------------------------------------------------------

static lac_status run_sell(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->sell_mm(ctx, c->format, c->in[0]->on[b], c->in[1]->on[b], c->out->on[b]);
}

static void compare_blocks(lac_dtype dtype, const lac_pattern *p, lac_form form, int64_t k, int batch) {
  bool turned = form & LAC_TRANSPOSED;
  int64_t rows = p->rows * p->br, cols = p->cols * p->bc, shape[5];
  int n = batches[batch].ndim, ndim;

  ndim = shape_of(shape, n, batches[batch].x, 3, (int64_t[]){p->nnz, p->br, p->bc});
  twin a = twin_random(dtype, ndim, shape, 1);
  ndim = shape_of(shape, n, batches[batch].y, 2, (int64_t[]){turned ? rows : cols, k});
  twin x = twin_random(dtype, ndim, shape, 2);
  ndim = shape_of(shape, n, batches[batch].out, 2, (int64_t[]){turned ? cols : rows, k});
  twin y = twin_new(dtype, ndim, shape);
  compare(run_spmm, &(call){.p = p, .form = form, .in = {&a, &x}, .out = &y}, "spmm with blocks");
  twin_destroy(&a), twin_destroy(&x), twin_destroy(&y);

  ndim = shape_of(shape, n, batches[batch].x, 2, (int64_t[]){rows, k});
  twin u = twin_random(dtype, ndim, shape, 3);
  ndim = shape_of(shape, n, batches[batch].y, 2, (int64_t[]){cols, k});
  twin v = twin_random(dtype, ndim, shape, 4);
  ndim = shape_of(shape, n, batches[batch].out, 3, (int64_t[]){p->nnz, p->br, p->bc});
  twin s = twin_new(dtype, ndim, shape);
  compare(run_sddmm, &(call){.p = p, .in = {&u, &v}, .out = &s}, "sddmm with blocks");
  twin_destroy(&u), twin_destroy(&v), twin_destroy(&s);
}

static void products_with_blocks_agree(lac_context *ctx) {
  static const int64_t sizes[][2] = {{1, 3}, {2, 2}, {3, 3}, {5, 4}, {12, 7}}, columns[] = {1, 3, 4, 33, 64};
  twin_open(ctx);
  for (int i = 0; i < 5; ++i) {
    size_t mark = scratch_mark();
    lac_pattern *p = NULL;
    const sketch *s = sketch_random(60, 50, i == 4 ? 0.6 : 0.08, 3);
    twin_must(TWIN_CPU,
              sketch_block_pattern(twin_context(TWIN_CPU), s, sizes[i][0], sizes[i][1], (lac_width)(1 + i % 3), &p));
    for (int d = 0; d < 4; ++d) {
      for (int k = 0; k < 5; ++k) compare_blocks(twin_dtypes[d], p, (lac_form)(k % 4), columns[k], 0);
      for (int batch = 1; batch < BATCHES; ++batch)
        compare_blocks(twin_dtypes[d], p, (lac_form)(batch % 4), 1 + 3 * (batch % 2), batch);
    }
    lac_pattern_destroy(&p);
    scratch_release(mark);
  }
  twin_close();
}

static void sliced_rows_agree(lac_context *ctx) {
  static const int64_t slices[] = {1, 5, 8, 32, 64}, columns[] = {1, 3, 4, 33, 64};
  twin_open(ctx);
  for (int i = 0; i < 10; ++i) {
    size_t mark = scratch_mark();
    lac_pattern *p =
        i < 5 ? pattern_random(301, 270, 6, (lac_width)(1 + i % 3), 3) : pattern_uneven(301, 300, LAC_WIDTH_AUTO);
    lac_format *f = NULL;
    twin_must(TWIN_CPU, lac_format_sell(twin_context(TWIN_CPU), p, slices[i % 5], i % 2 ? 1 : 128, &f));
    for (int d = 0; d < 4; ++d) {
      for (int k = 0; k < 5; ++k) {
        twin a = twin_random(twin_dtypes[d], 1, &f->size, 1);
        twin x = twin_random(twin_dtypes[d], 3, (int64_t[]){2, p->cols, columns[k]}, 2);
        twin y = twin_new(twin_dtypes[d], 3, (int64_t[]){2, p->rows, columns[k]});
        compare(run_sell, &(call){.format = f, .in = {&a, &x}, .out = &y}, "sell_mm");
        twin_destroy(&a), twin_destroy(&x), twin_destroy(&y);
      }
    }
    lac_format_destroy(&f);
    lac_pattern_destroy(&p);
    scratch_release(mark);
  }
  twin_close();
}

// -- groups of a map -------------------------------------------------------------------------------------------------

static lac_status run_segment(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->segment(ctx, c->what, c->map, c->full, c->in[0]->on[b], c->out->on[b]);
}

static lac_status run_segment_scale(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->segment_scale(ctx, c->map, c->in[0]->on[b], c->in[1]->on[b], c->out->on[b]);
}

static lac_status run_segment_dot(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->segment_dot(ctx, c->map, c->in[0]->on[b], c->in[1]->on[b], c->out->on[b]);
}

static lac_status run_gather_mm(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->gather_mm(ctx, c->map, c->form, c->in[0]->on[b], c->in[1]->on[b], c->out->on[b]);
}

static lac_status run_gather_outer(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->gather_outer(ctx, c->map, c->in[0]->on[b], c->in[1]->on[b], c->out->on[b]);
}

/// Groups by their lengths: short ones, ones of a part of a warp, of a warp, of a block, uneven ones, a few of very
/// many, nothing at all, ones of up to 8, and short ones among which are some of 40, once 32 in a row. Inputs come in
/// runs, or mixed and with every seventh dropped.
enum { GROUPINGS = 9, CROWDED = 8 };
static lac_map *map_grouped(int kind, bool is_mixed) {
  static const int64_t lengths[] = {4, 20, 70, 600, 0, 6000, 0, 7, 0};
  static const int64_t counts[] = {700, 130, 40, 9, 800, 2, 3, 700, 700};
  static const int64_t uneven[] = {0, 1, 7, 0, 33, 1, 0, 2};
  int64_t outputs = counts[kind], inputs = 0, *target = scratch(15000 * sizeof *target);
  lac_map *map = NULL;
  size_t mark = scratch_mark();
  for (int64_t j = 0; j < outputs; ++j) {
    int64_t length =
        kind == 4 ? (j == 3 || j == outputs - 1 ? 5000 : uneven[j % 8]) : lengths[kind] + j % 2 * (kind != 6);
    if (kind == CROWDED) length = j / 32 == 2 || j % 90 == 7 ? 40 : j % 4;
    for (int64_t e = 0; e < length; ++e) target[inputs++] = j;
  }
  for (int64_t i = 0; is_mixed && i < inputs; ++i) {
    int64_t other = i * 7919 % inputs, keep = target[i];
    target[i] = target[other], target[other] = i % 7 ? keep : -1;
  }
  twin_must(TWIN_CPU, lac_map_create(twin_context(TWIN_CPU), inputs, outputs, target, &map));
  scratch_release(mark);
  return map;
}

static void compare_segments(lac_dtype dtype, const lac_map *map, int64_t full, int batch) {
  bool is_of_groups[] = {[LAC_SEGMENT_LOGSUMEXP] = true,
                         [LAC_SEGMENT_MAX] = true,
                         [LAC_SEGMENT_MIN] = true,
                         [LAC_SEGMENT_MIN_TIES] = false};
  twin x = twin_random(dtype, 2, (int64_t[]){batch, map->inputs}, 1);
  for (int what = LAC_SEGMENT_LOGSUMEXP; what <= LAC_SEGMENT_MIN_TIES; ++what) {
    twin y = twin_new(dtype, 2, (int64_t[]){batch, is_of_groups[what] ? map->outputs : map->inputs});
    compare(run_segment, &(call){.what = (lac_segment)what, .map = map, .full = full, .in = {&x}, .out = &y},
            "segment");
    twin_destroy(&y);
  }
  twin_destroy(&x);
}

static void reductions_of_groups_agree(lac_context *ctx) {
  twin_open(ctx);
  for (int kind = 0; kind < 2 * GROUPINGS; ++kind) {
    size_t mark = scratch_mark();
    lac_map *map = map_grouped(kind / 2, kind % 2);
    for (int d = 0; d < 2; ++d) {
      for (int full = 0; full < 2; ++full) {
        compare_segments(twin_dtypes[d], map, full * 7000, 1);
        compare_segments(twin_dtypes[d], map, full * 7000, 3);
      }
    }
    lac_map_destroy(&map);
    scratch_release(mark);
  }
  twin_close();
}

/// Infinities, NaN and what exponentials of others are nothing to, wherever a group is worked on.
static void edges_of_groups_agree(lac_context *ctx) {
  static const double edges[] = {INFINITY, -INFINITY, NAN, 720};
  twin_open(ctx);
  for (int kind = 0; kind < 2 * GROUPINGS; ++kind) {
    for (int edge = 0; edge < 4; ++edge) {
      size_t mark = scratch_mark();
      lac_map *map = map_grouped(kind / 2, kind % 2);
      random_state r = random_start(1);
      double *host = scratch((size_t)map->inputs * sizeof *host), *got[2];
      for (int64_t i = 0; i < map->inputs; ++i) {
        double usual = random_unit(&r);
        host[i] = (edge == 1 ? i % 5 < 4 : i % 53 == 7) ? edges[edge] : usual;
      }
      for (int what = LAC_SEGMENT_LOGSUMEXP; what <= LAC_SEGMENT_MIN_TIES; ++what) {
        bool is_each = what == LAC_SEGMENT_SOFTMAX || what >= LAC_SEGMENT_MAX_TIES;
        int64_t count = is_each ? map->inputs : map->outputs;
        twin x, y = twin_new(LAC_F64, 1, &count);
        for (int b = 0; b < 2; ++b) {
          twin_must(b, lac_array_from(twin_context(b), LAC_F64, 1, &map->inputs, host, LAC_OWNERSHIP_COPY, &x.on[b]));
          twin_must(b, twin_context(b)->kernels->segment(twin_context(b), (lac_segment)what, map, 0, x.on[b], y.on[b]));
          got[b] = scratch((size_t)count * sizeof *got[b]);
          twin_must(b, lac_array_read(twin_context(b), y.on[b], got[b]));
        }
        for (int64_t i = 0; i < count; ++i) {
          double w = got[TWIN_CPU][i], g = got[TWIN_OTHER][i];
          CHECK(isnan(w) ? isnan(g) : isinf(w) ? g == w : fabs(g - w) <= 1e-12 * fmax(1, fabs(w)));
        }
        twin_destroy(&x), twin_destroy(&y);
      }
      lac_map_destroy(&map);
      scratch_release(mark);
    }
  }
  twin_close();
}

static void compare_scaled(lac_dtype dtype, const lac_map *map, int batch) {
  int n = batches[batch].ndim, ndim;
  int64_t shape[4];

  ndim = shape_of(shape, n, batches[batch].x, 1, &map->outputs);
  twin d = twin_random(dtype, ndim, shape, 1);
  ndim = shape_of(shape, n, batches[batch].y, 1, &map->inputs);
  twin a = twin_random(dtype, ndim, shape, 2);
  ndim = shape_of(shape, n, batches[batch].out, 1, &map->inputs);
  twin y = twin_new(dtype, ndim, shape);
  compare(run_segment_scale, &(call){.map = map, .in = {&d, &a}, .out = &y}, "segment_scale");
  ndim = shape_of(shape, n, batches[batch].x, 1, &map->inputs);
  twin u = twin_random(dtype, ndim, shape, 3);
  ndim = shape_of(shape, n, batches[batch].out, 1, &map->outputs);
  twin s = twin_new(dtype, ndim, shape);
  compare(run_segment_dot, &(call){.map = map, .in = {&u, &a}, .out = &s}, "segment_dot");
  twin_destroy(&d), twin_destroy(&a), twin_destroy(&y), twin_destroy(&u), twin_destroy(&s);
}

static void products_of_groups_agree(lac_context *ctx) {
  twin_open(ctx);
  for (int kind = 0; kind < 2 * GROUPINGS; ++kind) {
    lac_map *map = map_grouped(kind / 2, kind % 2);
    for (int d = 0; d < 4; ++d) {
      size_t mark = scratch_mark();
      for (int batch = 0; batch < BATCHES; ++batch) compare_scaled(twin_dtypes[d], map, batch);
      scratch_release(mark);
    }
    lac_map_destroy(&map);
  }
  twin_close();
}

static void compare_gathers(lac_dtype dtype, const lac_map *map, lac_form form, const int64_t size[2], int batch) {
  bool turned = form & LAC_TRANSPOSED;
  int64_t d = size[0], e = size[1], shape[5];
  int n = batches[batch].ndim, ndim;

  ndim = shape_of(shape, n, batches[batch].x, 2, (int64_t[]){map->inputs, turned ? e : d});
  twin a = twin_random(dtype, ndim, shape, 1);
  ndim = shape_of(shape, n, batches[batch].y, 3, (int64_t[]){map->outputs, d, e});
  twin b = twin_random(dtype, ndim, shape, 2);
  ndim = shape_of(shape, n, batches[batch].out, 2, (int64_t[]){map->inputs, turned ? d : e});
  twin y = twin_new(dtype, ndim, shape);
  compare(run_gather_mm, &(call){.map = map, .form = form, .in = {&a, &b}, .out = &y}, "gather_mm");
  twin_destroy(&a), twin_destroy(&b), twin_destroy(&y);

  ndim = shape_of(shape, n, batches[batch].x, 2, (int64_t[]){map->inputs, d});
  twin u = twin_random(dtype, ndim, shape, 3);
  ndim = shape_of(shape, n, batches[batch].y, 2, (int64_t[]){map->inputs, e});
  twin v = twin_random(dtype, ndim, shape, 4);
  ndim = shape_of(shape, n, batches[batch].out, 3, (int64_t[]){map->outputs, d, e});
  twin w = twin_new(dtype, ndim, shape);
  compare(run_gather_outer, &(call){.map = map, .in = {&u, &v}, .out = &w}, "gather_outer");
  twin_destroy(&u), twin_destroy(&v), twin_destroy(&w);
}

static void matrices_of_groups_agree(lac_context *ctx) {
  static const int64_t sizes[][2] = {{1, 1}, {3, 5}, {17, 64}, {33, 70}};
  twin_open(ctx);
  for (int kind = 0; kind < 2 * GROUPINGS; ++kind) {
    lac_map *map = map_grouped(kind / 2, kind % 2);
    for (int d = 0; d < 4; ++d) {
      size_t mark = scratch_mark();
      for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form)
        compare_gathers(twin_dtypes[d], map, (lac_form)form, sizes[(form + kind) % (kind == 0 ? 2 : 4)], 0);
      for (int batch = 1; batch < BATCHES; ++batch)
        compare_gathers(twin_dtypes[d], map, (lac_form)(batch % 4), sizes[1], batch);
      scratch_release(mark);
    }
    lac_map_destroy(&map);
  }
  twin_close();
}

static void compare_sampled(lac_dtype dtype, const lac_pattern *t, const lac_pattern *x, lac_form sx,
                            const lac_pattern *y, lac_form sy, int batch) {
  int n = batches[batch].ndim;
  int64_t shape[4];
  int ndim = shape_of(shape, n, batches[batch].x, 1, &x->nnz);
  twin a = twin_random(dtype, ndim, shape, 1);
  ndim = shape_of(shape, n, batches[batch].y, 1, &y->nnz);
  twin b = twin_random(dtype, ndim, shape, 2);
  ndim = shape_of(shape, n, batches[batch].out, 1, &t->nnz);
  twin c = twin_new(dtype, ndim, shape);
  compare(run_sampled, &(call){.p = t, .q = x, .r = y, .form = sx, .other = sy, .in = {&a, &b}, .out = &c},
          "sampled_spgemm");
  twin_destroy(&a), twin_destroy(&b), twin_destroy(&c);
}

static void sampled_products_agree(lac_context *ctx) {
  static const double means[] = {3, 20, 60};
  twin_open(ctx);
  for (size_t m = 0; m < 3; ++m) {
    for (int forms = 0; forms < 16; forms += m ? 5 : 1) {
      lac_form sx = (lac_form)(forms / 4), sy = (lac_form)(forms % 4);
      bool wide = forms / 4 == 1 || m == 2;
      lac_pattern *x =
          pattern_random(sx & LAC_TRANSPOSED ? 80 : 70, sx & LAC_TRANSPOSED ? 70 : 80, means[m], LAC_WIDTH_32_32, 11);
      lac_pattern *y = pattern_random(sy & LAC_TRANSPOSED ? 90 : 80, sy & LAC_TRANSPOSED ? 80 : 90, means[m],
                                      wide ? LAC_WIDTH_64_32 : LAC_WIDTH_32_32, 12);
      lac_pattern *t = pattern_random(70, 90, 9, wide ? LAC_WIDTH_64_64 : LAC_WIDTH_32_32, 13);
      for (int d = 0; d < 4; ++d) {
        for (int batch = 0; batch < BATCHES; batch += m ? 3 : 1)
          compare_sampled(twin_dtypes[d], t, x, sx, y, sy, batch);
      }
      lac_pattern_destroy(&x), lac_pattern_destroy(&y), lac_pattern_destroy(&t);
    }
  }
  twin_close();
}

/// Rows of a target that are short, but for some that follow each other and have more slots than a block keeps at hand.
static void sampled_products_of_crowded_rows_agree(lac_context *ctx) {
  enum { ROWS = 700, COLS = 250, CROWD = 20 };
  static const lac_width widths[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_64};
  twin_open(ctx);
  for (int w = 0; w < 2; ++w) {
    size_t mark = scratch_mark();
    int64_t count = 0, *row = scratch(ROWS * COLS * sizeof *row), *col = scratch(ROWS * COLS * sizeof *col);
    lac_pattern *t = NULL, *x = pattern_random(ROWS, 90, 4, widths[w], 14),
                *y = pattern_random(90, COLS, 4, widths[w], 15);
    for (int64_t i = 0; i < ROWS; ++i) {
      int64_t step = i >= 300 && i < 300 + CROWD ? 1 : 50 + i % 50;
      for (int64_t j = i % 3; j < COLS; j += step) row[count] = i, col[count++] = j;
    }
    twin_must(TWIN_CPU,
              lac_pattern_from_coo(twin_context(TWIN_CPU), ROWS, COLS, count, LAC_I64, row, col, widths[w], &t, NULL));
    for (int d = 0; d < 4; ++d) {
      compare_sampled(twin_dtypes[d], t, x, LAC_PLAIN, y, LAC_PLAIN, 0);
      compare_sampled(twin_dtypes[d], t, x, LAC_CONJUGATED, y, LAC_CONJUGATED, 2);
    }
    lac_pattern_destroy(&x), lac_pattern_destroy(&y), lac_pattern_destroy(&t);
    scratch_release(mark);
  }
  twin_close();
}

// -- arrays ----------------------------------------------------------------------------------------------------------

static lac_status run_sum(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->sum(ctx, c->in[0]->on[b], c->mask, c->out->on[b]);
}

static lac_status run_broadcast(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->broadcast(ctx, c->in[0]->on[b], c->mask, c->out->on[b]);
}

static lac_status run_dot(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->dot(ctx, c->in[0]->on[b], c->in[1]->on[b], c->out->on[b]);
}

static lac_status run_binary(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->binary(ctx, c->op, c->in[0]->on[b], c->in[1]->on[b], c->out->on[b]);
}

static lac_status run_remap(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  return k->remap(ctx, c->map, c->form, 0, c->in[0]->on[b], c->out->on[b]);
}

/// y = 2 i conj(x) + (1 - i) x in steps: scale, conj and axpy.
static lac_status run_steps(const lac_kernels *k, lac_context *ctx, const call *c, int b) {
  lac_array *twice = NULL;
  lac_status status = lac_array_clone(ctx, c->in[0]->on[b], &twice);
  if (status == LAC_OK) status = k->scale(ctx, 0.5, 2, c->in[0]->on[b], twice);
  if (status == LAC_OK) status = k->conj(ctx, twice, c->out->on[b]);
  if (status == LAC_OK) status = k->axpy(ctx, 1, -1, c->in[0]->on[b], c->out->on[b]);
  lac_array_destroy(&twice);
  return status;
}

static const struct {
  int ndim;
  int64_t shape[5];
} shapes[] = {{0, {1}},           {1, {1}},
              {1, {0}},           {1, {4}},
              {1, {1000}},        {1, {300001}},
              {2, {70000, 3}},    {2, {3, 70000}},
              {2, {5000, 40}},    {3, {7, 900, 5}},
              {3, {3, 0, 2}},     {3, {4, 1, 2000}},
              {3, {2000, 1, 33}}, {5, {5, 2, 3, 4, 6}}};

/// Sums over every set of axes, and back.
static void sums_and_broadcasts_agree(lac_context *ctx) {
  twin_open(ctx);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    int ndim = shapes[i].ndim;
    for (int d = 0; d < 4; ++d) {
      twin x = twin_random(twin_dtypes[d], ndim, shapes[i].shape, i + 1),
           wide = twin_new(twin_dtypes[d], ndim, shapes[i].shape);
      for (uint32_t mask = 0; mask < 1u << ndim; ++mask) {
        int64_t kept[5];
        int left = 0;
        for (int a = 0; a < ndim; ++a) {
          if (!(mask >> (ndim - 1 - a) & 1)) kept[left++] = shapes[i].shape[a];
        }
        twin y = twin_new(twin_dtypes[d], left, kept);
        compare(run_sum, &(call){.mask = mask, .in = {&x}, .out = &y}, "sum");
        twin narrow = twin_random(twin_dtypes[d], left, kept, mask + 5);
        compare(run_broadcast, &(call){.mask = mask, .in = {&narrow}, .out = &wide}, "broadcast");
        twin_destroy(&y), twin_destroy(&narrow);
      }
      compare(run_steps, &(call){.in = {&x}, .out = &wide}, "scale, conj, axpy");
      twin_destroy(&x), twin_destroy(&wide);
    }
  }
  twin_close();
}

static void inner_products_agree(lac_context *ctx) {
  static const int64_t cores[][2] = {{1, 1}, {3, 0}, {50, 2}, {1000, 3}, {90001, 1}};
  twin_open(ctx);
  for (size_t i = 0; i < 5; ++i) {
    for (int d = 0; d < 4; ++d) {
      for (int batch = 0; batch < BATCHES; ++batch) {
        int64_t shape[4];
        int ndim = shape_of(shape, batches[batch].ndim, batches[batch].x, 2, cores[i]);
        twin x = twin_random(twin_dtypes[d], ndim, shape, 1);
        ndim = shape_of(shape, batches[batch].ndim, batches[batch].y, 2, cores[i]);
        twin y = twin_random(twin_dtypes[d], ndim, shape, 2);
        ndim = shape_of(shape, batches[batch].ndim, batches[batch].out, 0, NULL);
        twin s = twin_new(twin_dtypes[d], ndim, shape);
        compare(run_dot, &(call){.in = {&x, &y}, .out = &s}, "dot");
        twin_destroy(&x), twin_destroy(&y), twin_destroy(&s);
      }
    }
  }
  twin_close();
}

static void broadcast_arithmetic_agrees(lac_context *ctx) {
  static const struct {
    int x_ndim, y_ndim, ndim;
    int64_t x[3], y[3], z[3];
  } cases[] = {{1, 1, 1, {1001}, {1001}, {1001}},
               {1, 1, 1, {1}, {1001}, {1001}},
               {1, 0, 1, {1001}, {1}, {1001}},
               {0, 0, 0, {1}, {1}, {1}},
               {2, 2, 2, {200, 1}, {1, 300}, {200, 300}},
               {3, 1, 3, {3, 40, 50}, {50}, {3, 40, 50}},
               {3, 3, 3, {3, 1, 50}, {1, 40, 1}, {3, 40, 50}},
               {2, 3, 3, {40, 50}, {3, 1, 1}, {3, 40, 50}},
               {2, 2, 2, {0, 4}, {1, 4}, {0, 4}}};
  twin_open(ctx);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    for (int d = 0; d < 4; ++d) {
      twin x = twin_random(twin_dtypes[d], cases[i].x_ndim, cases[i].x, 1),
           y = twin_random(twin_dtypes[d], cases[i].y_ndim, cases[i].y, 2);
      twin z = twin_new(twin_dtypes[d], cases[i].ndim, cases[i].z);
      for (int op = LAC_ADD; op <= LAC_MUL; ++op) {
        compare(run_binary, &(call){.op = (lac_binary)op, .in = {&x, &y}, .out = &z}, "binary");
      }
      twin_destroy(&x), twin_destroy(&y), twin_destroy(&z);
    }
  }
  twin_close();
}

/// A map by formula: identity, a permutation with gaps, groups of three, everything onto two, nothing.
static lac_map *map_make(int kind, int64_t inputs, int64_t *outputs) {
  int64_t *target = scratch((size_t)(inputs + 1) * sizeof *target);
  lac_map *map = NULL;
  *outputs = kind == 0 ? inputs : kind == 1 ? 2 * inputs : kind == 2 ? inputs / 3 + 1 : 2;
  for (int64_t i = 0; i < inputs; ++i) {
    target[i] = kind == 0   ? i
                : kind == 1 ? (i % 5 ? 2 * (inputs - 1 - i) : -1)
                : kind == 2 ? i * 7 % *outputs
                : kind == 3 ? i % 7 % 2
                            : -1;
  }
  twin_must(TWIN_CPU, lac_map_create(twin_context(TWIN_CPU), inputs, *outputs, target, &map));
  return map;
}

static void maps_agree(lac_context *ctx) {
  twin_open(ctx);
  for (int kind = 0; kind < 5; ++kind) {
    for (int64_t inputs = 0; inputs < 2000; inputs += 999) {
      int64_t outputs = 0;
      lac_map *map = map_make(kind, inputs, &outputs);
      for (int d = 0; d < 4; ++d) {
        for (int form = LAC_PLAIN; form <= LAC_TRANSPOSED; ++form) {
          twin x = twin_random(twin_dtypes[d], 2, (int64_t[]){3, form ? outputs : inputs}, 1);
          twin y = twin_new(twin_dtypes[d], 2, (int64_t[]){3, form ? inputs : outputs});
          compare(run_remap, &(call){.map = map, .form = (lac_form)form, .in = {&x}, .out = &y}, "remap");
          twin_destroy(&x), twin_destroy(&y);
        }
      }
      lac_map_destroy(&map);
    }
  }
  twin_close();
}

/// Arrays that begin in the middle of 16 bytes.
static void unaligned_arrays_agree(lac_context *ctx) {
  enum { COUNT = 1003 };
  twin_open(ctx);
  for (int d = 0; d < 4; ++d) {
    twin x = twin_random(twin_dtypes[d], 1, (int64_t[]){COUNT + 1}, 1),
         y = twin_new(twin_dtypes[d], 1, (int64_t[]){COUNT + 1});
    lac_meta meta = {.dtype = twin_dtypes[d], .ndim = 1, .shape = {COUNT}};
    twin x1, y1;
    for (int b = 0; b < 2; ++b) {
      size_t size = lac_dtype_size(twin_dtypes[d]);
      twin_must(b, lac_array_wrap(twin_context(b), &meta, (char *)x.on[b]->storage->data + size, &x1.on[b]));
      twin_must(b, lac_array_wrap(twin_context(b), &meta, (char *)y.on[b]->storage->data + size, &y1.on[b]));
    }
    compare(run_steps, &(call){.in = {&x1}, .out = &y1}, "unaligned");
    compare(run_binary, &(call){.op = LAC_MUL, .in = {&x1, &x1}, .out = &y1}, "unaligned");
    twin_destroy(&x1), twin_destroy(&y1), twin_destroy(&x), twin_destroy(&y);
  }
  twin_close();
}

#define TESTS                                                                                                    \
  products_agree_at_every_row_length, products_agree_for_every_batch_and_width, long_and_short_rows_agree,       \
      few_rows_agree, products_on_a_grid_agree, products_of_unaligned_columns_agree, products_with_blocks_agree, \
      sliced_rows_agree, reductions_of_groups_agree, edges_of_groups_agree, products_of_groups_agree,            \
      matrices_of_groups_agree, sampled_products_agree, sampled_products_of_crowded_rows_agree,                  \
      sums_and_broadcasts_agree, inner_products_agree, broadcast_arithmetic_agrees, maps_agree, unaligned_arrays_agree
TWIN_MAIN(TESTS)
