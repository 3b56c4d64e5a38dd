// SPDX-License-Identifier: Apache-2.0
/// @file relax_case.c
/// The battery of preconditioners.

#include "support/relax_case.h"

#include <math.h>
#include <string.h>

#include "core/memory_impl.h"
#include "support/direct_case.h"
#include "support/scratch.h"

// -- set-ups ---------------------------------------------------------------------------------------------------------

static int is_complex(lac_dtype dtype) { return dtype == LAC_C64 || dtype == LAC_C128; }

static void item_values(const sketch *s, int is_hermitian, number *a) {
  double *sum = scratch((size_t)s->rows * sizeof *sum + 1);
  for (int64_t z = 0; is_hermitian && z < s->nnz; z++) {
    if (s->row[z] < s->col[z]) a[sketch_find(s, s->col[z], s->row[z])] = conj(a[z]);
  }
  for (int64_t z = 0; z < s->nnz; z++) sum[s->row[z]] += s->row[z] != s->col[z] ? ceil(cabs(a[z])) : 0;
  for (int64_t z = 0; z < s->nnz; z++) {
    if (s->row[z] != s->col[z]) continue;
    a[z] = is_hermitian ? 1 + sum[s->row[z]] : a[z] + (1 + sum[s->row[z]]) * (cimag(a[z]) != 0 ? 1 + 0.5 * I : 1);
  }
}

ref relax_values(const sketch *s, lac_dtype dtype, int64_t items, int is_hermitian, uint64_t seed) {
  ref values = ref_new(&(lac_meta){.dtype = dtype, .ndim = 2, .shape = {items, s->nnz}});
  ref_random(&values, seed, is_complex(dtype));
  for (int64_t i = 0; i < items; i++) item_values(s, is_hermitian, values.x + i * s->nnz);
  return values;
}

void relax_open(lac_context *ctx, const relax_case *c, const sketch *s, const ref *values, int is_hermitian,
                relax_setup *out) {
  *out = (relax_setup){.options = lac_solver_options_defaults()};
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &out->pattern));
  CHECK_OK(ref_upload(ctx, values, &out->values));
  out->options.preconditioner = c->options;
  out->setup = (lac_setup){
      .pattern = out->pattern, .values = out->values, .options = &out->options, .is_hermitian = is_hermitian};
}

void relax_close(relax_setup *out) {
  lac_pattern_destroy(&out->pattern);
  lac_array_destroy(&out->values);
}

// -- application -----------------------------------------------------------------------------------------------------

static ref applied(lac_context *ctx, const relax_case *c, const void *part, lac_form form, const ref *b) {
  lac_array *from = NULL, *to = NULL;
  ref x = ref_new(&b->meta);
  CHECK_OK(ref_upload(ctx, b, &from));
  CHECK_OK(lac_array_create(ctx, b->meta.dtype, 3, b->meta.shape, &to));
  CHECK_OK(lac_array_fill(ctx, to, NAN, NAN));
  CHECK_OK(c->table->apply(ctx, part, form, from, to));
  CHECK_OK(ref_download(ctx, to, &x));
  lac_array_destroy(&from);
  lac_array_destroy(&to);
  return x;
}

static ref columns(lac_dtype dtype, int64_t items, int64_t n, int64_t k, uint64_t seed) {
  ref b = ref_new(&(lac_meta){.dtype = dtype, .ndim = 3, .shape = {items, n, k}});
  ref_random(&b, seed, is_complex(dtype));
  return b;
}

static void check_item(const relax_case *c, const dense *m, lac_form form, int64_t k, const number *b, const number *x,
                       double rounding) {
  dense expected = dense_mul(dense_side(*m, form), dense_over(m->rows, k, (number *)b));
  double most = 0, error = 0;
  for (int64_t i = 0; i < m->rows * k; i++) {
    most = fmax(most, cabs(expected.x[i]));
    error = fmax(error, cabs(expected.x[i] - x[i]));
    CHECK(isfinite(cabs(x[i])));
  }
  if (error > (c->roundings > 0 ? c->roundings : 200) * rounding * most) {
    check_fail(__FILE__, __LINE__, "%s: form %d, n %lld, k %lld: error %.3g beside %.3g", c->table->name, (int)form,
               (long long)m->rows, (long long)k, error, most);
  }
}

/// <y, M^-1 b> = <M^-H y, b>, by the preconditioner alone.
static void check_adjoint(lac_context *ctx, const relax_case *c, const void *part, const ref *b, double rounding) {
  ref y = columns(b->meta.dtype, b->meta.shape[0], b->meta.shape[1], b->meta.shape[2], 99);
  double size = 0;
  for (lac_form form = LAC_PLAIN; form <= LAC_ADJOINT; form++) {
    ref x = applied(ctx, c, part, form, b), z = applied(ctx, c, part, (lac_form)(form ^ LAC_ADJOINT), &y);
    double one = ref_inner(&y, &x, &size), two = ref_inner(&z, b, &size);
    CHECK(fabs(one - two) <= 1000 * rounding * size);
  }
}

static int same_bits(const ref *x, const ref *y) { return memcmp(x->x, y->x, (size_t)x->count * sizeof *x->x) == 0; }

/// Refreshed from other values it is what it would be if made anew.
static void check_refresh(lac_context *ctx, const relax_case *c, const sketch *s, const relax_setup *now,
                          const void *part, const ref *b) {
  relax_setup old;
  void *like = NULL, *made = NULL;
  ref values = relax_values(s, b->meta.dtype, b->meta.shape[0], now->setup.is_hermitian, 1234);
  if (!c->table->refresh) return;
  relax_open(ctx, c, s, &values, now->setup.is_hermitian, &old);
  CHECK_OK(c->table->create(ctx, &old.setup, &like));
  old.setup.values = now->values;
  CHECK_OK(c->table->refresh(ctx, &old.setup, like, &made));
  c->table->destroy(like);
  for (lac_form form = LAC_PLAIN; form <= LAC_ADJOINT; form++) {
    ref x = applied(ctx, c, part, form, b), y = applied(ctx, c, made, form, b);
    CHECK(same_bits(&x, &y));
  }
  c->table->destroy(made);
  relax_close(&old);
}

static void check_shape(lac_context *ctx, const relax_case *c, const sketch *s, lac_dtype dtype, int is_hermitian,
                        int64_t items, int64_t k) {
  size_t mark = scratch_mark();
  ref values = relax_values(s, dtype, items, is_hermitian, 7), b = columns(dtype, items, s->rows, k, 8);
  double rounding = direct_rounding(dtype);
  lac_setup_figures finding = {.bytes = -1};
  relax_setup r;
  void *part = NULL;

  relax_open(ctx, c, s, &values, is_hermitian, &r);
  CHECK_OK(c->table->create(ctx, &r.setup, &part));
  c->table->report(part, &finding);
  CHECK(finding.bytes >= 0);
  for (lac_form form = LAC_PLAIN; form <= LAC_ADJOINT; form++) {
    ref x = applied(ctx, c, part, form, &b);
    for (int64_t i = 0; i < items; i++) {
      dense m = c->inverse(dense_matrix(s, values.x + i * s->nnz), &r.options.preconditioner);
      check_item(c, &m, form, k, b.x + i * s->rows * k, x.x + i * s->rows * k, rounding);
    }
  }
  check_adjoint(ctx, c, part, &b, rounding);
  check_refresh(ctx, c, s, &r, part, &b);
  c->table->destroy(part);
  relax_close(&r);
  scratch_release(mark);
}

// -- the rest of the battery -----------------------------------------------------------------------------------------

/// Values times a power of two near 1e150 and 1e-150 (single: 1e18).
static void check_scale(lac_context *ctx, const relax_case *c, lac_dtype dtype, int power) {
  const sketch *s = sketch_symmetric(11, 0.3, 5);
  ref values = relax_values(s, dtype, 1, c->hermitian_only, 7), large = ref_copy(&values),
      b = columns(dtype, 1, 11, 2, 8);
  relax_setup one, two;
  void *first = NULL, *second = NULL;

  for (int64_t z = 0; z < large.count; z++) large.x[z] *= ldexp(1, power);
  relax_open(ctx, c, s, &values, c->hermitian_only, &one);
  relax_open(ctx, c, s, &large, c->hermitian_only, &two);
  CHECK_OK(c->table->create(ctx, &one.setup, &first));
  CHECK_OK(c->table->create(ctx, &two.setup, &second));
  for (lac_form form = LAC_PLAIN; form <= LAC_ADJOINT; form++) {
    ref x = applied(ctx, c, first, form, &b), y = applied(ctx, c, second, form, &b);
    for (int64_t i = 0; i < y.count; i++) y.x[i] *= ldexp(1, -c->scale_power * power);
    ref_axpy(-1, &x, &y);
    CHECK(ref_max(&y) <= 100 * direct_rounding(dtype) * ref_max(&x));
  }
  c->table->destroy(first);
  c->table->destroy(second);
  relax_close(&one);
  relax_close(&two);
}

static ref applied_on(const relax_case *c, const ref *values, const sketch *s, const ref *b, int threads,
                      lac_form form) {
  lac_context *ctx = NULL;
  relax_setup r;
  void *part = NULL;
  CHECK(lac_context_create("cpu", 0, &ctx) == LAC_OK);
  CHECK_OK(lac_context_set_threads(ctx, threads));
  relax_open(ctx, c, s, values, c->hermitian_only, &r);
  CHECK_OK(c->table->create(ctx, &r.setup, &part));
  ref x = applied(ctx, c, part, form, b);
  c->table->destroy(part);
  relax_close(&r);
  lac_context_destroy(&ctx);
  return x;
}

static void check_threads(const relax_case *c) {
  direct_case grid = direct_make(DIRECT_POISSON, 60 * 60, LAC_C128, 1);
  ref values = ref_new(&(lac_meta){.dtype = LAC_C128, .ndim = 2, .shape = {1, grid.s->nnz}});
  ref b = columns(LAC_C128, 1, grid.s->rows, 3, 8);
  memcpy(values.x, grid.a.x, (size_t)values.count * sizeof *values.x);
  for (int form = 0; form < 2; form++) {
    ref x = applied_on(c, &values, grid.s, &b, 1, form ? LAC_ADJOINT : LAC_PLAIN);
    ref y = applied_on(c, &values, grid.s, &b, 2, form ? LAC_ADJOINT : LAC_PLAIN);
    CHECK(same_bits(&x, &y));
  }
}

/// Create, refresh and apply with the n-th allocation failing, until none fails.
static lac_status whole_run(lac_context *ctx, const relax_case *c, const lac_setup *setup, const lac_array *b,
                            lac_array *x) {
  lac_status status = LAC_OK;
  void *part = NULL, *again = NULL;
  LAC_TRY(c->table->create(ctx, setup, &part));
  if (c->table->refresh) LAC_TRY(c->table->refresh(ctx, setup, part, &again));
  LAC_TRY(c->table->apply(ctx, part, LAC_ADJOINT, b, x));
done:
  c->table->destroy(part);
  c->table->destroy(again);
  return status;
}

static void check_memory(lac_context *ctx, const relax_case *c) {
  const sketch *s = sketch_symmetric(9, 0.3, 5);
  ref values = relax_values(s, LAC_C128, 2, c->hermitian_only, 7), b = columns(LAC_C128, 2, 9, 3, 8);
  lac_array *from = NULL, *to = NULL;
  lac_status status = LAC_ERR_MEMORY;

  CHECK_OK(ref_upload(ctx, &b, &from));
  CHECK_OK(lac_array_create(ctx, LAC_C128, 3, b.meta.shape, &to));
  for (int64_t n = 1; status != LAC_OK; n = check_next_failure(ctx, n)) {
    relax_setup r;  // fresh, so that nothing is kept with the pattern
    relax_open(ctx, c, s, &values, c->hermitian_only, &r);
    lac_memory_fail_at(n);
    status = whole_run(ctx, c, &r.setup, from, to);
    lac_memory_fail_at(0);
    CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
    CHECK(n < 1000);
    relax_close(&r);
  }
  lac_array_destroy(&from);
  lac_array_destroy(&to);
}

void relax_check(lac_context *ctx, const relax_case *c) {
  static const int64_t shapes[][3] = {{0, 1, 2}, {1, 1, 1}, {1, 2, 5}, {7, 1, 0}, {9, 2, 1}, {19, 3, 5}, {6, 0, 2}};
  for (lac_dtype dtype = LAC_F32; dtype <= LAC_C128; dtype++) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
      const sketch *s = sketch_symmetric(shapes[i][0], 0.25, 3 + i), *t = sketch_square(shapes[i][0], 0.3, 4 + i);
      check_shape(ctx, c, s, dtype, 1, shapes[i][1], shapes[i][2]);
      if (!c->hermitian_only) check_shape(ctx, c, t, dtype, 0, shapes[i][1], shapes[i][2]);
    }
    int power = dtype == LAC_F32 || dtype == LAC_C64 ? 60 : 498;
    check_scale(ctx, c, dtype, power);
    check_scale(ctx, c, dtype, -power);
  }
  check_threads(c);
  check_memory(ctx, c);
}

void relax_refuses(lac_context *ctx, const relax_case *c, int64_t n, const double *full, lac_status expected,
                   const char *words) {
  direct_case small = direct_small(n, full, LAC_F64);
  ref values = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {1, small.s->nnz}});
  relax_setup r;
  void *part = NULL;
  memcpy(values.x, small.a.x, (size_t)values.count * sizeof *values.x);
  relax_open(ctx, c, small.s, &values, c->is_hermitian, &r);
  CHECK_FAILS(c->table->create(ctx, &r.setup, &part), expected, words);
  CHECK(!part);
  relax_close(&r);
}

lac_setup_figures relax_takes(lac_context *ctx, const relax_case *c, int64_t n, const double *full, int is_hermitian) {
  direct_case small = direct_small(n, full, LAC_F64);
  ref values = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {1, small.s->nnz}});
  ref b = columns(LAC_F64, 1, n, 3, 8);
  dense m = c->inverse(dense_matrix(small.s, small.a.x), &c->options);
  lac_setup_figures finding = {0};
  relax_setup r;
  void *part = NULL;
  memcpy(values.x, small.a.x, (size_t)values.count * sizeof *values.x);
  relax_open(ctx, c, small.s, &values, is_hermitian, &r);
  CHECK_OK(c->table->create(ctx, &r.setup, &part));
  c->table->report(part, &finding);
  for (lac_form form = LAC_PLAIN; form <= LAC_ADJOINT; form++) {
    ref x = applied(ctx, c, part, form, &b);
    check_item(c, &m, form, 3, b.x, x.x, direct_rounding(LAC_F64));
  }
  c->table->destroy(part);
  relax_close(&r);
  return finding;
}
