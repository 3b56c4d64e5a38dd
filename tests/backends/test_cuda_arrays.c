// SPDX-License-Identifier: Apache-2.0
/// The kernels of the CUDA backend on arrays at the sizes where they change their ways, beside the CPU's.

#include <stdio.h>

#include "support/twin.h"

/// Shapes with long rows, many short ones, and axes in the middle.
static const struct {
  int ndim;
  int64_t shape[5];
} shapes[] = {{0, {1}},          {1, {1}},           {1, {5}},           {1, {300001}},   {2, {70000, 3}},
              {2, {3, 70000}},   {2, {5000, 40}},    {2, {900, 64}},     {2, {31, 1024}}, {3, {7, 900, 5}},
              {3, {4, 1, 2000}}, {3, {2000, 1, 33}}, {3, {2, 20000, 3}}, {3, {3, 5, 0}},  {5, {5, 2, 3, 4, 6}}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/// One kernel as a case runs it.
typedef struct call call;
struct call {
  lac_status (*run)(lac_context *ctx, const call *c, int b);
  lac_reduction reduction;
  lac_binary binary;
  lac_unary unary;
  uint32_t mask;
  int axis;
  bool backwards;
  int64_t count;
  lac_along from, to;
  lac_form form_x, form_y;
  double f[2];
  twin *in[3], *out;
};

static lac_status call_run(lac_context *ctx, const void *opaque, int b) {
  const call *c = opaque;
  return c->run(ctx, c, b);
}

static void compare(call c, const char *what) { twin_compare(call_run, &c, c.out, 200, what); }

static lac_dtype real_of(lac_dtype dtype) { return lac_dtype_real(dtype); }

// -- number by number ------------------------------------------------------------------------------------------------

static lac_status run_binary(lac_context *ctx, const call *c, int b) {
  return ctx->kernels->binary(ctx, c->binary, c->in[0]->on[b], c->in[1]->on[b], c->out->on[b]);
}

static lac_status run_where(lac_context *ctx, const call *c, int b) {
  return ctx->kernels->where(ctx, c->in[0]->on[b], c->in[1]->on[b], c->in[2] ? c->in[2]->on[b] : NULL, c->out->on[b]);
}

static lac_status run_unary(lac_context *ctx, const call *c, int b) {
  return ctx->kernels->unary(ctx, c->unary, c->in[0]->on[b], c->out->on[b]);
}

static lac_status run_power(lac_context *ctx, const call *c, int b) {
  return ctx->kernels->power(ctx, c->f[0], c->in[0]->on[b], c->out->on[b]);
}

static lac_status run_clamp(lac_context *ctx, const call *c, int b) {
  return ctx->kernels->clamp(ctx, c->f[0], c->f[1], c->in[0]->on[b], c->out->on[b]);
}

static lac_status run_cast(lac_context *ctx, const call *c, int b) {
  return ctx->kernels->cast(ctx, c->in[0]->on[b], c->out->on[b]);
}

/// |x| + 1: what logarithms and powers of reals take.
static void make_positive(twin *x) {
  for (int b = 0; b < 2; ++b) {
    lac_array *one = NULL, *size = NULL;
    lac_meta meta = x->on[b]->meta;
    meta.dtype = real_of(meta.dtype);
    twin_must(b, lac_array_make(twin_context(b), &meta, &size));
    twin_must(b, twin_context(b)->kernels->unary(twin_context(b), LAC_ABS, x->on[b], size));
    twin_must(b, twin_context(b)->kernels->cast(twin_context(b), size, x->on[b]));
    twin_must(b, lac_array_clone(twin_context(b), x->on[b], &one));
    twin_must(b, lac_array_fill(twin_context(b), one, 1, 0));
    twin_must(b, twin_context(b)->kernels->axpy(twin_context(b), 1, 0, one, x->on[b]));
    lac_array_destroy(&one), lac_array_destroy(&size);
  }
}

static const struct {
  int x_ndim, y_ndim, ndim;
  int64_t x[3], y[3], z[3];
} spreads[] = {{1, 1, 1, {1001}, {1001}, {1001}},
               {1, 1, 1, {1}, {1001}, {1001}},
               {1, 0, 1, {1024}, {1}, {1024}},
               {0, 0, 0, {1}, {1}, {1}},
               {2, 2, 2, {200, 1}, {1, 300}, {200, 300}},
               {3, 1, 3, {3, 40, 50}, {50}, {3, 40, 50}},
               {3, 3, 3, {3, 1, 52}, {1, 40, 1}, {3, 40, 52}},
               {2, 3, 3, {41, 3}, {3, 1, 1}, {3, 41, 3}},
               {2, 2, 2, {0, 4}, {1, 4}, {0, 4}}};

static void arithmetic_agrees(lac_context *ctx) {
  twin_open(ctx);
  for (size_t i = 0; i < sizeof spreads / sizeof *spreads; ++i) {
    for (int d = 0; d < 4; ++d) {
      twin x = twin_random(twin_dtypes[d], spreads[i].x_ndim, spreads[i].x, 1),
           y = twin_random(twin_dtypes[d], spreads[i].y_ndim, spreads[i].y, 2),
           z = twin_new(twin_dtypes[d], spreads[i].ndim, spreads[i].z);
      make_positive(&x);
      make_positive(&y);
      for (int op = LAC_ADD; op <= LAC_COMPARE_GE; ++op) {
        if (lac_dtype_is_complex(twin_dtypes[d]) && op > LAC_COMPARE_NE) continue;
        compare((call){.run = run_binary, .binary = (lac_binary)op, .in = {&x, &y}, .out = &z}, "binary");
      }
      compare((call){.run = run_where, .in = {&y, &x, &x}, .out = &z}, "where");
      compare((call){.run = run_where, .in = {&x, &y}, .out = &z}, "where without y");
      twin_destroy(&x), twin_destroy(&y), twin_destroy(&z);
    }
  }
  twin_close();
}

static void functions_agree(lac_context *ctx) {
  static const int64_t counts[] = {0, 1, 7, 1003, 4096};
  twin_open(ctx);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    for (int d = 0; d < 4; ++d) {
      bool is_complex = lac_dtype_is_complex(twin_dtypes[d]);
      twin x = twin_random(twin_dtypes[d], 1, &counts[i], 3), y = twin_new(twin_dtypes[d], 1, &counts[i]),
           r = twin_new(real_of(twin_dtypes[d]), 1, &counts[i]);
      if (!is_complex) make_positive(&x);
      for (int op = LAC_ABS; op <= (is_complex ? LAC_TANH : LAC_HEAVISIDE); ++op) {
        twin *out = op <= LAC_MAGNITUDE ? &r : &y;
        char what[40];
        (void)snprintf(what, sizeof what, "unary %d of %lld", op, (long long)counts[i]);
        compare((call){.run = run_unary, .unary = (lac_unary)op, .in = {&x}, .out = out}, what);
      }
      for (int p = -3; p <= 5; ++p) {
        compare((call){.run = run_power, .f = {p == 5 ? 0.3 : p}, .in = {&x}, .out = &y}, "power");
      }
      if (!is_complex) compare((call){.run = run_clamp, .f = {1.2, 1.5}, .in = {&x}, .out = &y}, "clamp");
      for (int to = is_complex ? 2 : 0; to < 4; ++to) {
        twin z = twin_new(twin_dtypes[to], 1, &counts[i]);
        compare((call){.run = run_cast, .in = {&x}, .out = &z}, "cast");
        twin_destroy(&z);
      }
      twin_destroy(&x), twin_destroy(&y), twin_destroy(&r);
    }
  }
  twin_close();
}

// -- reductions ------------------------------------------------------------------------------------------------------

static lac_status run_reduce(lac_context *ctx, const call *c, int b) {
  return ctx->kernels->reduce(ctx, c->reduction, c->in[0]->on[b], c->mask, c->out->on[b]);
}

static lac_status run_softmax(lac_context *ctx, const call *c, int b) {
  return ctx->kernels->softmax(ctx, c->in[0]->on[b], c->mask, c->out->on[b]);
}

static lac_status run_cumsum(lac_context *ctx, const call *c, int b) {
  return ctx->kernels->cumsum(ctx, c->axis, c->backwards, c->in[0]->on[b], c->out->on[b]);
}

/// What is left of a shape without the axes of a mask.
static int kept_of(int ndim, const int64_t *shape, uint32_t mask, int64_t *kept) {
  int left = 0;
  for (int a = 0; a < ndim; ++a) {
    if (!(mask >> (ndim - 1 - a) & 1)) kept[left++] = shape[a];
  }
  return left;
}

static void reductions_agree(lac_context *ctx) {
  twin_open(ctx);
  for (int i = 0; i < SHAPES; ++i) {
    int ndim = shapes[i].ndim;
    bool is_empty = false;
    for (int a = 0; a < ndim; ++a) is_empty = is_empty || shapes[i].shape[a] == 0;
    for (int d = 0; d < 4 && !is_empty; ++d) {
      twin x = twin_random(twin_dtypes[d], ndim, shapes[i].shape, (uint64_t)i + 1);
      for (uint32_t mask = 0; mask < 1u << ndim; ++mask) {
        int64_t kept[5];
        int left = kept_of(ndim, shapes[i].shape, mask, kept);
        twin y = twin_new(real_of(twin_dtypes[d]), left, kept);
        for (int op = LAC_REDUCE_MAX; op <= LAC_REDUCE_LOGSUMEXP; ++op) {
          char what[60];
          if (lac_dtype_is_complex(twin_dtypes[d]) && op != LAC_REDUCE_NORM) continue;
          (void)snprintf(what, sizeof what, "reduction %d of shape %d, mask %u", op, i, mask);
          compare((call){.run = run_reduce, .reduction = (lac_reduction)op, .mask = mask, .in = {&x}, .out = &y}, what);
        }
        twin_destroy(&y);
      }
      twin_destroy(&x);
    }
  }
  twin_close();
}

static void compare_softmax(int d, int ndim, const int64_t *shape, uint32_t mask) {
  char what[60];
  twin x = twin_random(twin_dtypes[d], ndim, shape, 4), y = twin_new(twin_dtypes[d], ndim, shape);
  (void)snprintf(what, sizeof what, "softmax of [%lld, ..], mask %u", (long long)(ndim ? shape[0] : 1), mask);
  compare((call){.run = run_softmax, .mask = mask, .in = {&x}, .out = &y}, what);
  twin_destroy(&x), twin_destroy(&y);
}

static void softmax_agrees(lac_context *ctx) {
  static const int64_t lengths[] = {1, 3, 16, 17, 32, 33, 127, 128, 512, 513, 2048, 2049, 4096, 8192, 8193, 100003};
  twin_open(ctx);
  for (int d = 0; d < 2; ++d) {
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
      compare_softmax(d, 2, (int64_t[]){5, lengths[i]}, 1);
      compare_softmax(d, 2, (int64_t[]){lengths[i], 5}, 2);
    }
    for (int i = 0; i < SHAPES; ++i) {
      for (uint32_t mask = 0; mask < 1u << shapes[i].ndim; ++mask) {
        compare_softmax(d, shapes[i].ndim, shapes[i].shape, mask);
      }
    }
  }
  twin_close();
}

static void running_sums_agree(lac_context *ctx) {
  twin_open(ctx);
  for (int i = 0; i < SHAPES; ++i) {
    for (int d = 0; d < 4; ++d) {
      twin x = twin_random(twin_dtypes[d], shapes[i].ndim, shapes[i].shape, (uint64_t)i + 1),
           y = twin_new(twin_dtypes[d], shapes[i].ndim, shapes[i].shape);
      for (int axis = 0; axis < shapes[i].ndim; ++axis) {
        for (int backwards = 0; backwards < 2; ++backwards) {
          char what[60];
          (void)snprintf(what, sizeof what, "cumsum of shape %d, axis %d from the end", i, axis);
          compare((call){.run = run_cumsum, .axis = axis, .backwards = backwards, .in = {&x}, .out = &y}, what);
        }
      }
      twin_destroy(&x), twin_destroy(&y);
    }
  }
  twin_close();
}

// -- movement --------------------------------------------------------------------------------------------------------

/// Zeros, and then places: what is not placed must stay.
static lac_status run_place(lac_context *ctx, const call *c, int b) {
  lac_status status = lac_array_fill(ctx, c->out->on[b], 0, 0);
  if (status != LAC_OK) return status;
  return ctx->kernels->place(ctx, c->axis, c->count, c->in[0]->on[b], c->from, c->out->on[b], c->to);
}

static void places_agree(lac_context *ctx) {
  static const struct {
    int x_ndim, y_ndim, axis;
    int64_t x[3], y[3], count;
    lac_along from, to;
  } cases[] = {{1, 1, 0, {5000}, {4000}, 4000, {100, 1}, {0, 1}},
               {1, 1, 0, {5000}, {1000}, 900, {3, 5}, {7, 1}},
               {2, 2, 1, {900, 64}, {500, 64}, 400, {1, 2}, {10, 1}},
               {2, 2, 0, {900, 64}, {900, 8}, 8, {4, 1}, {0, 1}},
               {2, 3, 0, {7, 33}, {4, 7, 50}, 16, {1, 2}, {0, 3}},
               {3, 3, 1, {1, 6, 5}, {3, 4, 5}, 2, {4, 1}, {0, 3}},
               {2, 2, 0, {6, 5}, {6, 5}, 1, {2, 9}, {4, 9}},
               {2, 2, 0, {6, 0}, {6, 5}, 0, {0, 1}, {0, 1}},
               {2, 2, 1, {70000, 3}, {70000, 3}, 70000, {0, 1}, {0, 1}}};
  twin_open(ctx);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    for (int d = 0; d < 4; ++d) {
      twin x = twin_random(twin_dtypes[d], cases[i].x_ndim, cases[i].x, 5),
           y = twin_new(twin_dtypes[d], cases[i].y_ndim, cases[i].y);
      call c = {.run = run_place, .axis = cases[i].axis, .count = cases[i].count, .in = {&x}, .out = &y};
      c.from = cases[i].from, c.to = cases[i].to;
      compare(c, "place");
      twin_destroy(&x), twin_destroy(&y);
    }
  }
  twin_close();
}

// -- dense products --------------------------------------------------------------------------------------------------

static lac_status run_matmul(lac_context *ctx, const call *c, int b) {
  return ctx->kernels->matmul(ctx, c->form_x, c->in[0]->on[b], c->form_y, c->in[1]->on[b], c->out->on[b]);
}

/// The batches of two inputs and an output: none, shared, each of its own, summed, crossed and summed.
static const struct {
  int ndim;
  int64_t x[2], y[2], out[2];
} batches[] = {{0, {1}, {1}, {1}},          {1, {1}, {5}, {5}},          {1, {3}, {3}, {3}},
               {1, {4}, {4}, {1}},          {2, {2, 1}, {1, 3}, {2, 3}}, {2, {2, 1}, {2, 3}, {1, 3}},
               {2, {2, 3}, {1, 3}, {1, 1}}, {1, {0}, {0}, {1}},          {1, {1}, {0}, {0}},
               {1, {5}, {1}, {5}}};
enum { BATCHES = sizeof batches / sizeof *batches };

static twin matrices(lac_dtype dtype, int ndim, const int64_t *batch, int64_t rows, int64_t cols, uint64_t seed) {
  int64_t shape[4];
  for (int d = 0; d < ndim; ++d) shape[d] = batch[d];
  shape[ndim] = rows, shape[ndim + 1] = cols;
  return seed ? twin_random(dtype, ndim + 2, shape, seed) : twin_new(dtype, ndim + 2, shape);
}

static void compare_matmul(lac_dtype dtype, int64_t m, int64_t l, int64_t n, lac_form fx, lac_form fy, int batch) {
  int ndim = batches[batch].ndim;
  bool tx = fx & LAC_TRANSPOSED, ty = fy & LAC_TRANSPOSED;
  char what[120];
  twin x = matrices(dtype, ndim, batches[batch].x, tx ? l : m, tx ? m : l, 6),
       y = matrices(dtype, ndim, batches[batch].y, ty ? n : l, ty ? l : n, 7),
       z = matrices(dtype, ndim, batches[batch].out, m, n, 0);
  (void)snprintf(what, sizeof what, "matmul %lld x %lld x %lld, forms %d %d, batch %d", (long long)m, (long long)l,
                 (long long)n, (int)fx, (int)fy, batch);
  compare((call){.run = run_matmul, .form_x = fx, .form_y = fy, .in = {&x, &y}, .out = &z}, what);
  twin_destroy(&x), twin_destroy(&y), twin_destroy(&z);
}

/// Tiny ones, tiles with rests, thin and flat ones, long sums, and sizes for cuBLAS.
static void dense_products_agree(lac_context *ctx) {
  static const int64_t sizes[][3] = {{1, 1, 1},      {3, 4, 5},      {17, 33, 15},   {70, 65, 90}, {100, 1, 1},
                                     {1, 500, 1},    {5, 20000, 3},  {40, 3000, 40}, {0, 3, 4},    {3, 0, 4},
                                     {65, 129, 200}, {300, 70, 130}, {2000, 30, 3}};
  twin_open(ctx);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    for (int d = 0; d < 4; ++d) {
      for (int forms = 0; forms < 16; ++forms) {
        compare_matmul(twin_dtypes[d], sizes[i][0], sizes[i][1], sizes[i][2], (lac_form)(forms / 4),
                       (lac_form)(forms % 4), 0);
      }
    }
  }
  twin_close();
}

static void batches_of_dense_products_agree(lac_context *ctx) {
  static const int64_t sizes[][3] = {{3, 4, 5}, {33, 20, 40}, {65, 129, 140}};
  twin_open(ctx);
  for (int i = 0; i < 3; ++i) {
    for (int d = 0; d < 4; ++d) {
      for (int batch = 0; batch < BATCHES; ++batch) {
        for (int forms = 0; forms < 16; forms += 3) {
          compare_matmul(twin_dtypes[d], sizes[i][0], sizes[i][1], sizes[i][2], (lac_form)(forms / 4),
                         (lac_form)(forms % 4), batch);
        }
        compare_matmul(twin_dtypes[d], sizes[i][0], sizes[i][1], sizes[i][2], LAC_ADJOINT, LAC_PLAIN, batch);
      }
    }
  }
  twin_close();
}

/// As many tiny products as have a thread for each number.
static void many_tiny_products_agree(lac_context *ctx) {
  enum { MANY = 3000 };
  twin_open(ctx);
  for (int d = 0; d < 4; ++d) {
    twin x = matrices(twin_dtypes[d], 1, (int64_t[]){MANY}, 3, 4, 6),
         y = matrices(twin_dtypes[d], 1, (int64_t[]){MANY}, 3, 2, 7),
         z = matrices(twin_dtypes[d], 1, (int64_t[]){MANY}, 4, 2, 0);
    compare((call){.run = run_matmul, .form_x = LAC_ADJOINT, .in = {&x, &y}, .out = &z}, "tiny products");
    twin_destroy(&x), twin_destroy(&y), twin_destroy(&z);
  }
  twin_close();
}

// -- optimisers ------------------------------------------------------------------------------------------------------

/// x after a step of Adam that begins where the inputs are: g, m and v, of which v is not negative.
static lac_status run_adam(lac_context *ctx, const call *c, int b) {
  const lac_adam a = {
      .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-6, .step = 0.1, .root = 1.5, .decay = 0.01, .shrink = 0.98};
  lac_array *m = NULL, *v = NULL;
  lac_status status = lac_array_clone(ctx, c->in[1]->on[b], &m);
  if (status == LAC_OK) status = lac_array_clone(ctx, c->in[2]->on[b], &v);
  if (status == LAC_OK) status = lac_array_fill(ctx, c->out->on[b], 0.5, -0.25);
  if (status == LAC_OK) status = ctx->kernels->adam(ctx, &a, c->count ? c->in[0]->on[b] : NULL, m, v, c->out->on[b]);
  lac_array_destroy(&m), lac_array_destroy(&v);
  return status;
}

static void steps_of_adam_agree(lac_context *ctx) {
  twin_open(ctx);
  for (int d = 0; d < 4; ++d) {
    twin g = twin_random(twin_dtypes[d], 1, (int64_t[]){1003}, 1),
         m = twin_random(twin_dtypes[d], 1, (int64_t[]){1003}, 2),
         v = twin_random(twin_dtypes[d], 1, (int64_t[]){1003}, 3), x = twin_new(twin_dtypes[d], 1, (int64_t[]){1003});
    make_positive(&v);
    for (int with_g = 0; with_g < 2; ++with_g) {
      compare((call){.run = run_adam, .count = with_g, .in = {&g, &m, &v}, .out = &x}, "adam");
    }
    twin_destroy(&g), twin_destroy(&m), twin_destroy(&v), twin_destroy(&x);
  }
  twin_close();
}

#define TESTS                                                                                             \
  arithmetic_agrees, functions_agree, reductions_agree, softmax_agrees, running_sums_agree, places_agree, \
      dense_products_agree, batches_of_dense_products_agree, many_tiny_products_agree, steps_of_adam_agree
TWIN_MAIN(TESTS)
