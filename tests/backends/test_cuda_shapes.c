// SPDX-License-Identifier: Apache-2.0
/// The kernels of the CUDA backend at the sizes where they change their ways, beside the CPU's.
///
/// Every kernel has a few forms, chosen by row length, columns, alignment, batch and count. Each case runs on both
/// backends with the same random numbers; outputs are filled with NaN before. Two runs must give the same bits.

#include <stdio.h>
#include <string.h>

#include "backends/twin.h"

/// One kernel as a case runs it on a backend.
typedef struct call {
  const lac_pattern *p, *q, *r;
  const lac_map *map;
  lac_form form, other;
  uint32_t mask;
  lac_binary op;
  twin *in[2], *out;
} call;

typedef lac_status kernel(const lac_kernels *k, lac_context *ctx, const call *c, int b);

typedef struct task {
  kernel *run;
  const call *c;
} task;

static lac_status task_run(lac_context *ctx, int b, const void *opaque) {
  const task *t = opaque;
  return t->run(ctx->kernels, ctx, t->c, b);
}

static void compare(kernel *run, const call *c, const char *what) {
  twin_compare(task_run, &(task){run, c}, c->out, what);
}

static lac_pattern *pattern_random(int64_t rows, int64_t cols, double mean, lac_width width, uint64_t seed) {
  lac_pattern *p = NULL;
  size_t mark = scratch_mark();
  const sketch *s = mean > 0 ? sketch_random(rows, cols, mean / (double)cols, seed) : sketch_empty(rows, cols);
  must(CPU, sketch_pattern(contexts[CPU], s, width, &p));
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
  open_both(ctx);
  for (size_t m = 0; m < sizeof means / sizeof *means; ++m) {
    lac_pattern *p = pattern_random(310, 270, means[m], LAC_WIDTH_AUTO, 7 + m);
    for (int d = 0; d < 4; ++d) {
      for (size_t k = 0; k < sizeof widths / sizeof *widths; ++k)
        compare_products(dtypes[d], p, LAC_PLAIN, widths[k], 0);
      for (int form = LAC_TRANSPOSED; form <= LAC_ADJOINT; ++form)
        compare_products(dtypes[d], p, (lac_form)form, 1 + 3 * (form % 2), 0);
    }
    lac_pattern_destroy(&p);
  }
  close_both();
}

static void products_agree_for_every_batch_and_width(lac_context *ctx) {
  static const lac_width widths[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
  open_both(ctx);
  for (int w = 0; w < 3; ++w) {
    for (int mean = 4; mean <= 40; mean += 36) {
      lac_pattern *p = pattern_random(40, 50, mean, widths[w], 3);
      for (int d = 0; d < 4; ++d) {
        for (int batch = 0; batch < BATCHES; ++batch) {
          compare_products(dtypes[d], p, LAC_PLAIN, 1, batch);
          compare_products(dtypes[d], p, LAC_ADJOINT, 6, batch);
          compare_products(dtypes[d], p, LAC_PLAIN, 40, batch);
        }
      }
      lac_pattern_destroy(&p);
    }
  }
  close_both();
}

/// More rows than a block of threads has, of very different length.
static void long_and_short_rows_agree(lac_context *ctx) {
  enum { ROWS = 20000, LONG = 5000 };
  lac_pattern *p = NULL;
  int64_t count = 0, *row = NULL, *col = NULL;
  open_both(ctx);
  row = scratch((ROWS + 2 * LONG) * sizeof *row), col = scratch((ROWS + 2 * LONG) * sizeof *col);
  for (int64_t i = 0; i < ROWS; i += 2) row[count] = i, col[count++] = i * 7 % LONG;
  for (int64_t j = 0; j < LONG; ++j) row[count] = 1, col[count++] = j;
  for (int64_t j = 0; j < LONG; j += 3) row[count] = ROWS - 1, col[count++] = j;
  must(CPU, lac_pattern_from_coo(contexts[CPU], ROWS, LONG, count, LAC_I64, row, col, LAC_WIDTH_AUTO, &p, NULL));
  for (int d = 0; d < 4; ++d) {
    for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) {
      compare_products(dtypes[d], p, (lac_form)form, 1, 0);
      compare_products(dtypes[d], p, (lac_form)form, 5, 0);
    }
  }
  lac_pattern_destroy(&p);
  close_both();
}

static void sampled_products_agree(lac_context *ctx) {
  static const double means[] = {3, 20, 60};
  open_both(ctx);
  for (size_t m = 0; m < 3; ++m) {
    for (int forms = 0; forms < 16; forms += m ? 5 : 1) {
      lac_form sx = (lac_form)(forms / 4), sy = (lac_form)(forms % 4);
      lac_pattern *x =
          pattern_random(sx & LAC_TRANSPOSED ? 80 : 70, sx & LAC_TRANSPOSED ? 70 : 80, means[m], LAC_WIDTH_32_32, 11);
      lac_pattern *y =
          pattern_random(sy & LAC_TRANSPOSED ? 90 : 80, sy & LAC_TRANSPOSED ? 80 : 90, means[m], LAC_WIDTH_64_32, 12);
      lac_pattern *t = pattern_random(70, 90, 9, LAC_WIDTH_64_64, 13);
      for (int d = 0; d < 4; ++d) {
        for (int batch = 0; batch < BATCHES; batch += m ? 3 : 1) {
          int n = batches[batch].ndim;
          int64_t shape[4];
          int ndim = shape_of(shape, n, batches[batch].x, 1, &x->nnz);
          twin a = twin_random(dtypes[d], ndim, shape, 1);
          ndim = shape_of(shape, n, batches[batch].y, 1, &y->nnz);
          twin b = twin_random(dtypes[d], ndim, shape, 2);
          ndim = shape_of(shape, n, batches[batch].out, 1, &t->nnz);
          twin c = twin_new(dtypes[d], ndim, shape);
          compare(run_sampled, &(call){.p = t, .q = x, .r = y, .form = sx, .other = sy, .in = {&a, &b}, .out = &c},
                  "sampled_spgemm");
          twin_destroy(&a), twin_destroy(&b), twin_destroy(&c);
        }
      }
      lac_pattern_destroy(&x), lac_pattern_destroy(&y), lac_pattern_destroy(&t);
    }
  }
  close_both();
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
  open_both(ctx);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    int ndim = shapes[i].ndim;
    for (int d = 0; d < 4; ++d) {
      twin x = twin_random(dtypes[d], ndim, shapes[i].shape, i + 1), wide = twin_new(dtypes[d], ndim, shapes[i].shape);
      for (uint32_t mask = 0; mask < 1u << ndim; ++mask) {
        int64_t kept[5];
        int left = 0;
        for (int a = 0; a < ndim; ++a) {
          if (!(mask >> (ndim - 1 - a) & 1)) kept[left++] = shapes[i].shape[a];
        }
        twin y = twin_new(dtypes[d], left, kept);
        compare(run_sum, &(call){.mask = mask, .in = {&x}, .out = &y}, "sum");
        twin narrow = twin_random(dtypes[d], left, kept, mask + 5);
        twin_poison(&wide);
        compare(run_broadcast, &(call){.mask = mask, .in = {&narrow}, .out = &wide}, "broadcast");
        twin_destroy(&y), twin_destroy(&narrow);
      }
      twin_poison(&wide);
      compare(run_steps, &(call){.in = {&x}, .out = &wide}, "scale, conj, axpy");
      twin_destroy(&x), twin_destroy(&wide);
    }
  }
  close_both();
}

static void inner_products_agree(lac_context *ctx) {
  static const int64_t cores[][2] = {{1, 1}, {3, 0}, {50, 2}, {1000, 3}, {90001, 1}};
  open_both(ctx);
  for (size_t i = 0; i < 5; ++i) {
    for (int d = 0; d < 4; ++d) {
      for (int batch = 0; batch < BATCHES; ++batch) {
        int64_t shape[4];
        int ndim = shape_of(shape, batches[batch].ndim, batches[batch].x, 2, cores[i]);
        twin x = twin_random(dtypes[d], ndim, shape, 1);
        ndim = shape_of(shape, batches[batch].ndim, batches[batch].y, 2, cores[i]);
        twin y = twin_random(dtypes[d], ndim, shape, 2);
        ndim = shape_of(shape, batches[batch].ndim, batches[batch].out, 0, NULL);
        twin s = twin_new(dtypes[d], ndim, shape);
        compare(run_dot, &(call){.in = {&x, &y}, .out = &s}, "dot");
        twin_destroy(&x), twin_destroy(&y), twin_destroy(&s);
      }
    }
  }
  close_both();
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
  open_both(ctx);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    for (int d = 0; d < 4; ++d) {
      twin x = twin_random(dtypes[d], cases[i].x_ndim, cases[i].x, 1),
           y = twin_random(dtypes[d], cases[i].y_ndim, cases[i].y, 2);
      twin z = twin_new(dtypes[d], cases[i].ndim, cases[i].z);
      for (int op = LAC_ADD; op <= LAC_MUL; ++op) {
        twin_poison(&z);
        compare(run_binary, &(call){.op = (lac_binary)op, .in = {&x, &y}, .out = &z}, "binary");
      }
      twin_destroy(&x), twin_destroy(&y), twin_destroy(&z);
    }
  }
  close_both();
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
  must(CPU, lac_map_create(contexts[CPU], inputs, *outputs, target, &map));
  return map;
}

static void maps_agree(lac_context *ctx) {
  open_both(ctx);
  for (int kind = 0; kind < 5; ++kind) {
    for (int64_t inputs = 0; inputs < 2000; inputs += 999) {
      int64_t outputs = 0;
      lac_map *map = map_make(kind, inputs, &outputs);
      for (int d = 0; d < 4; ++d) {
        for (int form = LAC_PLAIN; form <= LAC_TRANSPOSED; ++form) {
          twin x = twin_random(dtypes[d], 2, (int64_t[]){3, form ? outputs : inputs}, 1);
          twin y = twin_new(dtypes[d], 2, (int64_t[]){3, form ? inputs : outputs});
          compare(run_remap, &(call){.map = map, .form = (lac_form)form, .in = {&x}, .out = &y}, "remap");
          twin_destroy(&x), twin_destroy(&y);
        }
      }
      lac_map_destroy(&map);
    }
  }
  close_both();
}

/// Arrays that begin in the middle of 16 bytes.
static void unaligned_arrays_agree(lac_context *ctx) {
  enum { COUNT = 1003 };
  open_both(ctx);
  for (int d = 0; d < 4; ++d) {
    twin x = twin_random(dtypes[d], 1, (int64_t[]){COUNT + 1}, 1), y = twin_new(dtypes[d], 1, (int64_t[]){COUNT + 1});
    lac_meta meta = meta_of(dtypes[d], 1, (int64_t[]){COUNT});
    twin x1, y1;
    for (int b = 0; b < 2; ++b) {
      size_t size = lac_dtype_size(dtypes[d]);
      must(b, lac_array_wrap(contexts[b], &meta, (char *)x.on[b]->storage->data + size, &x1.on[b]));
      must(b, lac_array_wrap(contexts[b], &meta, (char *)y.on[b]->storage->data + size, &y1.on[b]));
    }
    compare(run_steps, &(call){.in = {&x1}, .out = &y1}, "unaligned");
    compare(run_binary, &(call){.op = LAC_MUL, .in = {&x1, &x1}, .out = &y1}, "unaligned");
    twin_destroy(&x1), twin_destroy(&y1), twin_destroy(&x), twin_destroy(&y);
  }
  close_both();
}

#define TESTS                                                                                               \
  products_agree_at_every_row_length, products_agree_for_every_batch_and_width, long_and_short_rows_agree,  \
      sampled_products_agree, sums_and_broadcasts_agree, inner_products_agree, broadcast_arithmetic_agrees, \
      maps_agree, unaligned_arrays_agree
TWIN_MAIN(TESTS)
