// SPDX-License-Identifier: Apache-2.0
/// Takahashi's recursion on factors that are made here, by dense elimination: every kind, matched and scaled, whatever
/// pivots were chosen inside supernodes.

#include <math.h>
#include <string.h>

#include "solvers/direct/fronts/selected.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};

// A factor in the making: S is what is left of the matrix, by steps, dense.
typedef struct maker {
  lac_fronts f;
  lac_structure *structure;
  int64_t n;
  number *a;  // [row step * n + column step]
  number *d_below;
  random_state random;
} maker;

static void store(lac_dtype dtype, void *to, int64_t at, number x) {
  if (dtype == LAC_F32) ((float *)to)[at] = (float)creal(x);
  if (dtype == LAC_F64) ((double *)to)[at] = creal(x);
  if (dtype == LAC_C64) ((float complex *)to)[at] = (float complex)x;
  if (dtype == LAC_C128) ((number *)to)[at] = x;
}

static double scale_at(lac_dtype dtype, const void *scale, int64_t at) {
  if (!scale) return 1;
  return direct_rounding(dtype) > 1e-10 ? (double)((const float *)scale)[at] : ((const double *)scale)[at];
}

static void *random_scale(maker *m, lac_dtype dtype) {
  void *scale = scratch((size_t)m->n * sizeof(double));
  for (int64_t i = 0; i < m->n; i++) {
    double power = ldexp(1, (int)random_below(&m->random, 9) - 4);
    store(direct_rounding(dtype) > 1e-10 ? LAC_F32 : LAC_F64, scale, i, power);
  }
  return scale;
}

// -- elimination -----------------------------------------------------------------------------------------------------

static number *at(const maker *m, int64_t i, int64_t j) { return &m->a[i * m->n + j]; }

static void swap_rows(maker *m, int64_t i, int64_t j) {
  for (int64_t k = 0; i != j && k < m->n; k++) {
    number other = *at(m, i, k);
    *at(m, i, k) = *at(m, j, k), *at(m, j, k) = other;
  }
}

static void swap_cols(maker *m, int64_t i, int64_t j) {
  for (int64_t k = 0; i != j && k < m->n; k++) {
    number other = *at(m, k, i);
    *at(m, k, i) = *at(m, k, j), *at(m, k, j) = other;
  }
}

// Step k of LU or Cholesky (as L D L^H, whose roots are taken at the end): L stays below the pivot.
static void eliminate_one(maker *m, int64_t k) {
  number pivot = *at(m, k, k);
  for (int64_t i = k + 1; i < m->n; i++) {
    number ratio = *at(m, i, k) / pivot;
    for (int64_t j = k + 1; ratio != 0 && j < m->n; j++) *at(m, i, j) -= ratio * *at(m, k, j);
    *at(m, i, k) = ratio;
  }
}

static void eliminate_two(maker *m, int64_t k) {
  number one = *at(m, k, k), two = *at(m, k + 1, k + 1), e = *at(m, k + 1, k), up = *at(m, k, k + 1);
  number det = one * two - e * up;
  for (int64_t i = k + 2; i < m->n; i++) {
    number x = *at(m, i, k), y = *at(m, i, k + 1);
    number left = (x * two - y * e) / det, right = (y * one - x * up) / det;
    for (int64_t j = k + 2; j < m->n; j++) *at(m, i, j) -= left * *at(m, k, j) + right * *at(m, k + 1, j);
    *at(m, i, k) = left, *at(m, i, k + 1) = right;
  }
  m->d_below[k] = e;
  *at(m, k + 1, k) = 0;
}

// The pivot of step k among steps k .. end - 1: for LU the largest, for L D L^H any, alone or with the next.
static int64_t choose(maker *m, int64_t k, int64_t end) {
  int64_t best = k;
  if (m->f.kind == LAC_FRONT_CHOLESKY) return k;
  if (m->f.kind == LAC_FRONT_LDLT) return k + random_below(&m->random, end - k);
  for (int64_t i = k; i < end; i++) {
    if (cabs(*at(m, i, k)) > cabs(*at(m, best, k))) best = i;
  }
  return best;
}

// Pi is applied to what is not yet eliminated, and to L inside the supernode alone: earlier panels keep their rows.
static void exchange(maker *m, int64_t k, int64_t row) {
  const lac_supernodes *s = m->f.s;
  int32_t step = m->f.pivots[k];
  int64_t first = s->first[s->owner[k]];
  number *kept = scratch((size_t)(2 * m->n) * sizeof *kept);
  if (k == row) return;
  m->f.pivots[k] = m->f.pivots[row], m->f.pivots[row] = step;
  for (int64_t j = 0; j < first; j++) kept[j] = *at(m, k, j), kept[m->n + j] = *at(m, row, j);
  swap_rows(m, k, row);
  for (int64_t j = 0; j < first; j++) *at(m, k, j) = kept[j], *at(m, row, j) = kept[m->n + j];
  if (m->f.kind != LAC_FRONT_LDLT) return;
  for (int64_t i = 0; i < first; i++) kept[i] = *at(m, i, k), kept[m->n + i] = *at(m, i, row);
  swap_cols(m, k, row);
  for (int64_t i = 0; i < first; i++) *at(m, i, k) = kept[i], *at(m, i, row) = kept[m->n + i];
}

static void eliminate_supernode(maker *m, int32_t s) {
  int64_t end = m->f.s->first[s + 1];
  for (int64_t k = m->f.s->first[s]; k < end; k++) {
    size_t mark = scratch_mark();
    if (m->f.pivots) exchange(m, k, choose(m, k, end));
    scratch_release(mark);
    bool pairs = m->f.kind == LAC_FRONT_LDLT && k + 1 < end && cabs(*at(m, k + 1, k)) > 0.01;
    if (pairs && random_below(&m->random, 2)) {
      eliminate_two(m, k++);
    } else {
      eliminate_one(m, k);
    }
  }
}

// -- panels ----------------------------------------------------------------------------------------------------------

static int64_t step_of(const lac_supernodes *s, int32_t front, int64_t local) {
  int64_t p = lac_front_cols(s, front);
  return local < p ? s->first[front] + local : s->rows[s->row_offsets[front] + local - p];
}

static void fill_panel(maker *m, int32_t front) {
  const lac_supernodes *s = m->f.s;
  int64_t p = lac_front_cols(s, front), r = lac_front_rows(s, front);
  for (int64_t j = 0; j < p; j++) {
    int64_t k = step_of(s, front, j);
    double root = m->f.kind == LAC_FRONT_CHOLESKY ? sqrt(creal(*at(m, k, k))) : 1;
    for (int64_t i = 0; i < p + r; i++) {
      number x = *at(m, step_of(s, front, i), k) * (i == j ? 1 / root : root);
      if (i < j && m->f.kind != LAC_FRONT_LU) x = 77;  // nobody may read it
      store(m->f.dtype, m->f.l, s->panels[front] + j * (p + r) + i, x);
    }
    for (int64_t i = 0; m->f.u && i < r; i++) {
      store(m->f.dtype, m->f.u, m->f.u_panels[front] + j * r + i, *at(m, k, step_of(s, front, p + i)));
    }
  }
}

static void fill_matrix(maker *m, const direct_case *c) {
  const lac_supernodes *s = m->f.s;
  for (int64_t z = 0; z < c->s->nnz; z++) {
    int64_t i = c->s->row[z], j = c->s->col[z];
    *at(m, s->row_step[i], s->col_step[j]) =
        c->a.x[z] * scale_at(m->f.dtype, m->f.row_scale, i) * scale_at(m->f.dtype, m->f.col_scale, j);
  }
}

static void allocate(maker *m) {
  const lac_supernodes *s = m->f.s;
  size_t n = (size_t)m->n, number_size = sizeof(number);
  m->f.l = scratch((size_t)s->panels[s->count] * number_size);
  m->d_below = scratch(n * number_size);
  m->a = scratch(n * n * number_size);
  if (m->f.kind != LAC_FRONT_CHOLESKY) {
    m->f.pivots = scratch(n * sizeof *m->f.pivots);
    for (int64_t k = 0; k < m->n; k++) m->f.pivots[k] = (int32_t)k;
  }
  if (m->f.kind != LAC_FRONT_LU) return;
  m->f.u_panels = scratch((size_t)(s->count + 1) * sizeof *m->f.u_panels);
  for (int32_t i = 0; i < s->count; i++) {
    m->f.u_panels[i + 1] = m->f.u_panels[i] + (int64_t)lac_front_cols(s, i) * lac_front_rows(s, i);
  }
  m->f.u = scratch((size_t)m->f.u_panels[s->count] * number_size);
}

// `next`: row i is matched with column i + 1.
static maker make(lac_context *ctx, const lac_pattern *pattern, const direct_case *c, lac_front_kind kind, int next,
                  uint64_t seed) {
  maker m = {.n = c->s->rows, .random = random_start(seed)};
  int32_t *match = scratch((size_t)m.n * sizeof *match);
  for (int64_t i = 0; i < m.n; i++) match[i] = (int32_t)((i + 1) % m.n);
  m.f.kind = kind;
  m.f.dtype = c->a.meta.dtype;
  CHECK_OK(lac_structure_get(ctx, pattern, &m.structure));
  CHECK_OK(lac_supernodes_create(ctx, m.structure, next ? match : NULL, LAC_ORDER_AMD, &m.f.s));
  allocate(&m);
  if (kind == LAC_FRONT_LU && seed % 2) m.f.row_scale = random_scale(&m, m.f.dtype);
  if (kind == LAC_FRONT_LU && seed % 2) m.f.col_scale = random_scale(&m, m.f.dtype);
  fill_matrix(&m, c);
  for (int32_t s = 0; s < m.f.s->count; s++) eliminate_supernode(&m, s);
  for (int32_t s = 0; s < m.f.s->count; s++) fill_panel(&m, s);
  if (kind == LAC_FRONT_LDLT) {
    m.f.d_below = scratch((size_t)m.n * sizeof(number));
    for (int64_t k = 0; k < m.n; k++) store(m.f.dtype, m.f.d_below, k, m.d_below[k]);
  }
  return m;
}

// -- checks ----------------------------------------------------------------------------------------------------------

static void check_inverse(lac_context *ctx, const direct_case *c, const maker *m, int threads) {
  int64_t n = m->n;
  dense unit = dense_new(n, n);
  lac_array *out = NULL;
  lac_fault fault = {.text = ""};
  ref z;
  for (int64_t i = 0; i < n; i++) unit.x[i * n + i] = 1;
  dense inverse = dense_solve(dense_matrix(c->s, c->a.x), unit);
  CHECK_OK(lac_array_create(ctx, m->f.dtype, 1, (int64_t[]){c->s->nnz}, &out));
  CHECK_EQ(lac_fronts_selected_inverse(m->structure, NULL, &m->f, threads, NULL, lac_array_edit(out), &fault), LAC_OK);
  CHECK_OK(ref_download(ctx, out, &z));
  lac_array_destroy(&out);
  for (int64_t p = 0; p < c->s->nnz; p++) {
    number wanted = inverse.x[c->s->col[p] * n + c->s->row[p]];
    double error = cabs(z.x[p] - wanted) / (cabs(wanted) + 0.01);
    if (error <= 1e4 * direct_rounding(m->f.dtype)) continue;
    check_fail(__FILE__, __LINE__, "entry (%d, %d): %g%+gi against %g%+gi", (int)c->s->row[p], (int)c->s->col[p],
               creal(z.x[p]), cimag(z.x[p]), creal(wanted), cimag(wanted));
  }
}

// Elimination with the rows as they come, and all exchanges counted.
static number dense_det(dense a, double *logabs) {
  number phase = 1;
  *logabs = 0;
  for (int64_t k = 0; k < a.rows; k++) {
    int64_t best = k;
    for (int64_t i = k; i < a.rows; i++) {
      if (cabs(a.x[i * a.cols + k]) > cabs(a.x[best * a.cols + k])) best = i;
    }
    for (int64_t j = 0; best != k && j < a.cols; j++) {
      number other = a.x[k * a.cols + j];
      a.x[k * a.cols + j] = a.x[best * a.cols + j], a.x[best * a.cols + j] = -other;
    }
    number pivot = a.x[k * a.cols + k];
    phase *= pivot / cabs(pivot);
    *logabs += log(cabs(pivot));
    for (int64_t i = k + 1; i < a.rows; i++) {
      number ratio = a.x[i * a.cols + k] / pivot;
      for (int64_t j = k; j < a.cols; j++) a.x[i * a.cols + j] -= ratio * a.x[k * a.cols + j];
    }
  }
  return phase;
}

static void check_determinant(const direct_case *c, const maker *m) {
  double wanted, rounding = direct_rounding(m->f.dtype);
  number phase = dense_det(dense_matrix(c->s, c->a.x), &wanted);
  lac_polar got;
  CHECK_EQ(lac_fronts_logdet(NULL, &m->f, &got), LAC_OK);
  CHECK(fabs(got.logabs - wanted) <= 1e3 * rounding * (1 + fabs(wanted)));
  CHECK(cabs(got.sign_re + got.sign_im * I - phase) <= 1e3 * rounding);
}

static void check_factor(lac_context *ctx, const direct_case *c, lac_front_kind kind, int next, uint64_t seed) {
  lac_pattern *pattern = NULL;
  CHECK_OK(sketch_pattern(ctx, c->s, LAC_WIDTH_AUTO, &pattern));
  maker m = make(ctx, pattern, c, kind, next, seed);
  check_inverse(ctx, c, &m, 1);
  check_inverse(ctx, c, &m, 2);
  check_determinant(c, &m);
  lac_object_release(m.f.s);
  lac_object_release(m.structure);
  lac_pattern_destroy(&pattern);
}

static void check_case(lac_context *ctx, direct_kind sort, lac_front_kind kind, uint64_t seed) {
  size_t mark = scratch_mark();
  direct_case c = direct_make(sort, 1 + (int64_t)(seed * 7 % 90), DTYPES[seed % 4], seed);
  int next = sort == DIRECT_ZERO_DIAGONAL;
  for (int64_t z = 0; next && z < c.s->nnz; z++) {  // what is matched is large
    if (c.s->col[z] == (c.s->row[z] + 1) % c.s->rows) c.a.x[z] *= 64;
  }
  check_factor(ctx, &c, kind, next, seed);
  scratch_release(mark);
}

static void the_inverse_and_the_determinant_of_cholesky_are_right(lac_context *ctx) {
  static const direct_kind SORTS[] = {DIRECT_POISSON, DIRECT_POSITIVE, DIRECT_ARROW};
  for (uint64_t seed = 1; seed <= 40; seed++) check_case(ctx, SORTS[seed % 3], LAC_FRONT_CHOLESKY, seed);
}

static void the_inverse_and_the_determinant_of_ldlt_are_right(lac_context *ctx) {
  for (uint64_t seed = 1; seed <= 60; seed++) check_case(ctx, DIRECT_INDEFINITE, LAC_FRONT_LDLT, seed);
}

static void the_inverse_and_the_determinant_of_lu_are_right(lac_context *ctx) {
  static const direct_kind SORTS[] = {DIRECT_POISSON, DIRECT_INDEFINITE, DIRECT_ZERO_DIAGONAL};
  for (uint64_t seed = 1; seed <= 90; seed++) check_case(ctx, SORTS[seed % 3], LAC_FRONT_LU, seed);
}

// One supernode of three blocks of columns and more.
static void a_supernode_of_many_columns_is_inverted_block_by_block(lac_context *ctx) {
  for (uint64_t seed = 1; seed <= 6; seed++) {
    size_t mark = scratch_mark();
    int64_t n = 140 + (int64_t)seed;
    lac_dtype dtype = DTYPES[seed % 4];
    sketch s = {n, n, n * n, scratch((size_t)(n * n) * sizeof *s.row), scratch((size_t)(n * n) * sizeof *s.col)};
    direct_case c = {.s = &s, .a = ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {n * n}})};
    ref_random(&c.a, seed, dtype >= LAC_C64);
    for (int64_t z = 0; z < n * n; z++) {
      int64_t i = s.row[z] = z / n, j = s.col[z] = z % n;
      if (i > j) c.a.x[z] = conj(c.a.x[j * n + i]);
      if (i == j) c.a.x[z] = (seed % 3 == 1 && i % 2 ? -1 : 1) * 256;
    }
    check_factor(ctx, &c, (lac_front_kind)(seed % 3), 0, seed);
    scratch_release(mark);
  }
}

CHECK_MAIN(the_inverse_and_the_determinant_of_cholesky_are_right, the_inverse_and_the_determinant_of_ldlt_are_right,
           the_inverse_and_the_determinant_of_lu_are_right, a_supernode_of_many_columns_is_inverted_block_by_block)
