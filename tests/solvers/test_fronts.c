// SPDX-License-Identifier: Apache-2.0
/// Fronts: walks over the tree, factors that multiply to the matrix, substitution in all directions, the same bits on
/// any number of threads.

#include <math.h>
#include <string.h>

#include "core/memory_impl.h"
#include "core/number_at.h"
#include "solvers/direct/fronts/fronts.h"
#include "solvers/direct/symbolic/tree.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};

// An analysis of a case and its values as the dtype has them.
typedef struct front_case {
  direct_case c;
  lac_array *values;
  lac_structure *structure;
  lac_supernodes *s;
} front_case;

// The tree cut as if all its work were `factor` times as much: small trees then have subtrees too.
static void cut_again(lac_supernodes *s, double factor) {
  for (int32_t i = 0; i < s->count; i++) s->flops[i] *= factor;
  lac_free(s->ranges);
  lac_free(s->update_at);
  s->ranges = NULL, s->update_at = NULL;
  CHECK(lac_tree_cut(s));
}

static front_case front_open(lac_context *ctx, direct_case c, double factor) {
  front_case f = {.c = c};
  lac_pattern *pattern = NULL;
  CHECK_OK(sketch_pattern(ctx, c.s, LAC_WIDTH_AUTO, &pattern));
  CHECK_OK(ref_upload(ctx, &c.a, &f.values));
  CHECK_OK(lac_structure_get(ctx, pattern, &f.structure));
  CHECK_OK(lac_supernodes_create(ctx, f.structure, NULL, LAC_ORDER_AMD, &f.s));
  cut_again(f.s, factor);
  lac_pattern_destroy(&pattern);
  return f;
}

static void front_close(front_case *f) {
  lac_object_release(f->s);
  lac_object_release(f->structure);
  lac_array_destroy(&f->values);
}

static lac_fronts *front_factor(const front_case *f, lac_front_kind kind, int threads, lac_status *status) {
  static lac_eliminate *const *const ELIMINATE[] = {lac_eliminate_cholesky, lac_eliminate_ldlt, lac_eliminate_lu};
  lac_fronts_job job = {.eliminate = ELIMINATE[kind], .values = lac_array_data(f->values), .threads = threads};
  lac_fronts *fronts = lac_fronts_create(f->s, kind, f->c.a.meta.dtype);
  job.small = 1e-12;
  *status = fronts ? lac_fronts_factor(fronts, &job) : LAC_ERR_MEMORY;
  return fronts;
}

// -- the tree --------------------------------------------------------------------------------------------------------

typedef struct tree_log {
  int32_t *when;  // 0: not yet
  int32_t clock, stop_at;
  int most;
} tree_log;

static bool tree_note(void *job, int32_t i, int worker, int threads) {
  tree_log *log = job;
  int32_t now;
#pragma omp atomic capture
  now = ++log->clock;
  log->when[i] += now;
#pragma omp critical
  if (worker + threads > log->most) log->most = worker + threads;
  return now != log->stop_at;
}

static void check_walk(const lac_supernodes *s, int threads, bool up) {
  tree_log log = {.when = scratch((size_t)s->count * sizeof *log.when + 1)};
  CHECK(up ? lac_tree_up(s, threads, tree_note, &log) : lac_tree_down(s, threads, tree_note, &log));
  CHECK_EQ(log.clock, s->count);
  CHECK(log.most <= 2 * threads);
  for (int32_t i = 0; i < s->count; i++) {
    CHECK(log.when[i] > 0);
    if (s->parent[i] >= 0) CHECK(up == (log.when[i] < log.when[s->parent[i]]));
  }
}

static void walks_visit_every_supernode_in_order(lac_context *ctx) {
  for (int power = 0; power < 12; power += 2) {
    front_case f =
        front_open(ctx, direct_make(power % 4 ? DIRECT_POISSON : DIRECT_POSITIVE, 400, LAC_F64, 3), pow(10, power));
    for (int threads = 1; threads <= 3; threads++) check_walk(f.s, threads, true), check_walk(f.s, threads, false);
    front_close(&f);
  }
}

static void a_walk_stops_when_a_visit_says_so(lac_context *ctx) {
  front_case f = front_open(ctx, direct_make(DIRECT_POISSON, 400, LAC_F64, 3), 1e8);
  for (int threads = 1; threads <= 2; threads++) {
    tree_log log = {.when = scratch((size_t)f.s->count * sizeof *log.when), .stop_at = 5};
    CHECK(!lac_tree_up(f.s, threads, tree_note, &log));
    CHECK(log.clock < f.s->count);
  }
  front_close(&f);
}

// Each range holds whole subtrees; those above come one by one, ascending.
static void ranges_are_whole_subtrees(lac_context *ctx) {
  front_case f = front_open(ctx, direct_make(DIRECT_POISSON, 900, LAC_F64, 3), 1e8);
  const lac_supernodes *s = f.s;
  int32_t covered = 0;
  CHECK(s->subtree_count > 2 && s->range_count > s->subtree_count);
  for (int32_t r = 0; r < s->range_count; r++) {
    covered += s->ranges[r].end - s->ranges[r].begin;
    if (r >= s->subtree_count) CHECK_EQ(s->ranges[r].end, s->ranges[r].begin + 1);
    if (r > s->subtree_count) CHECK(s->ranges[r].begin > s->ranges[r - 1].begin);
    for (int32_t i = s->ranges[r].begin; r < s->subtree_count && i < s->ranges[r].end; i++) {
      CHECK(s->leftmost[i] >= s->ranges[r].begin);
    }
  }
  CHECK_EQ(covered, s->count);
  front_close(&f);
}

static int64_t update_size(const lac_supernodes *s, int32_t i) {
  return (int64_t)lac_front_rows(s, i) * lac_front_rows(s, i);
}

// Updates of a range that wait for their parents do not overlap, nor does that which is being made.
static void updates_have_places_of_their_own(lac_context *ctx) {
  front_case f = front_open(ctx, direct_make(DIRECT_POISSON, 900, LAC_F64, 3), 1e6);
  const lac_supernodes *s = f.s;
  for (int32_t r = 0; r < s->subtree_count; r++) {
    for (int32_t i = s->ranges[r].begin; i < s->ranges[r].end; i++) {
      bool inside = s->parent[i] >= 0 && s->parent[i] < s->ranges[r].end;
      CHECK_EQ(s->update_at[i] >= 0, inside);
      if (inside) CHECK(s->update_at[i] + update_size(s, i) <= s->update_work);
      for (int32_t c = s->ranges[r].begin; inside && c < i; c++) {
        if (s->update_at[c] < 0 || s->parent[c] < i || update_size(s, c) == 0 || update_size(s, i) == 0) continue;
        CHECK(s->update_at[c] + update_size(s, c) <= s->update_at[i] ||
              s->update_at[i] + update_size(s, i) <= s->update_at[c]);
      }
    }
  }
  front_close(&f);
}

// -- factors ---------------------------------------------------------------------------------------------------------

// L as a dense matrix, by steps.
static dense front_lower(const lac_fronts *f) {
  const lac_supernodes *s = f->s;
  dense l = dense_new(s->n, s->n);
  for (int32_t i = 0; i < s->count; i++) {
    int64_t p = lac_front_cols(s, i), m = p + lac_front_rows(s, i);
    for (int64_t j = 0; j < p; j++) {
      for (int64_t k = j; k < m; k++) {
        int64_t row = k < p ? s->first[i] + k : s->rows[s->row_offsets[i] + k - p];
        l.x[row * s->n + s->first[i] + j] = lac_number_get(f->dtype, f->l, s->panels[i] + j * m + k);
      }
    }
  }
  return l;
}

static void check_cholesky(lac_context *ctx, direct_case c, double factor) {
  front_case f = front_open(ctx, c, factor);
  int64_t n = f.s->n;
  lac_status status;
  lac_fronts *fronts = front_factor(&f, LAC_FRONT_CHOLESKY, 2, &status);
  CHECK_EQ(status, LAC_OK);
  dense l = front_lower(fronts), product = dense_mul(l, dense_side(l, LAC_ADJOINT)), a = dense_matrix(c.s, c.a.x);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      number is = product.x[f.s->row_step[i] * n + f.s->col_step[j]];
      double scale = sqrt(cabs(a.x[i * n + i]) * cabs(a.x[j * n + j]));
      CHECK(cabs(is - a.x[i * n + j]) <= 100 * direct_rounding(c.a.meta.dtype) * scale);
    }
  }
  lac_fronts_destroy(fronts);
  front_close(&f);
}

static void cholesky_factors_multiply_to_the_matrix(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    for (int64_t n = 1; n <= 130; n = 2 * n + 1) {
      size_t mark = scratch_mark();
      check_cholesky(ctx, direct_make(DIRECT_POSITIVE, n, DTYPES[d], (uint64_t)n), n % 2 ? 1 : 1e7);
      check_cholesky(ctx, direct_make(DIRECT_POISSON, n, DTYPES[d], (uint64_t)n), 1e7);
      scratch_release(mark);
    }
    check_cholesky(ctx, direct_make(DIRECT_ARROW, 40, DTYPES[d], 2), 1);
  }
}

// The first step whose pivot fails is named, whichever thread meets another one earlier.
static void the_first_refused_step_is_named(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 900, LAC_F64, 3);
  front_case f = front_open(ctx, c, 1e8);
  double *values = lac_array_edit(f.values);
  int32_t bad[] = {f.s->first[f.s->ranges[0].begin], f.s->first[f.s->ranges[1].begin], f.s->n - 1};
  int32_t first = bad[0] < bad[1] ? bad[0] : bad[1];
  for (int b = 0; b < 3; b++) {
    int64_t row = f.s->row_at[bad[b]];
    values[sketch_find(c.s, row, row)] = -1 - b;
  }
  for (int threads = 1; threads <= 3; threads++) {
    lac_status status;
    lac_fronts *fronts = front_factor(&f, LAC_FRONT_CHOLESKY, threads, &status);
    CHECK_EQ(status, LAC_ERR_DEFINITE);
    CHECK_EQ(fronts->where, first);
    CHECK(fronts->smallest < 0);
    lac_fronts_destroy(fronts);
  }
  front_close(&f);
}

// -- substitution ----------------------------------------------------------------------------------------------------

static void check_solves(lac_context *ctx, direct_case c, lac_front_kind kind, double factor) {
  front_case f = front_open(ctx, c, factor);
  lac_dtype dtype = c.a.meta.dtype;
  lac_status status;
  lac_fronts *fronts = front_factor(&f, kind, 2, &status);
  CHECK_EQ(status, LAC_OK);
  if (kind == LAC_FRONT_LDLT && c.a.x[0] == 0) CHECK(lac_number_get(dtype, fronts->d_below, 0) != 0);
  for (int width = 1; width <= LAC_BLOCK_WIDTH; width++) {
    int64_t shape[] = {f.s->n, width};
    lac_array *b = direct_random(ctx, dtype, 2, shape, 5), *x = direct_random(ctx, dtype, 2, shape, 6);
    lac_array *work = direct_random(ctx, dtype, 2, shape, 7);
    for (int form = LAC_PLAIN; form <= LAC_TRANSPOSED; form++) {
      ref rb, rx;
      CHECK_EQ(lac_fronts_solve(fronts, (lac_form)form, width, 2, lac_array_data(b), lac_array_edit(x),
                                lac_array_edit(work), NULL),
               LAC_OK);
      CHECK_OK(ref_download(ctx, b, &rb));
      CHECK_OK(ref_download(ctx, x, &rx));
      CHECK(direct_error(c.s, c.a.x, (lac_form)form, width, rb.x, rx.x) <= 1e4 * direct_rounding(dtype));
    }
    lac_array_destroy(&b);
    lac_array_destroy(&x);
    lac_array_destroy(&work);
  }
  lac_fronts_destroy(fronts);
  front_close(&f);
}

// Not Hermitian any more: what stands above the diagonal is changed.
static direct_case skewed(direct_case c) {
  for (int64_t z = 0; z < c.s->nnz; z++) {
    if (c.s->row[z] < c.s->col[z]) c.a.x[z] *= 0.5;
  }
  return c;
}

// A full Hermitian matrix with zeros on its diagonal: pivots are blocks of two.
static direct_case hollow(int64_t n, lac_dtype dtype) {
  direct_case c = {.s = sketch_symmetric(n, 1, 4)};
  c.a = ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {c.s->nnz}});
  ref_random(&c.a, 9, dtype >= LAC_C64);
  for (int64_t z = 0; z < c.s->nnz; z++) {
    if (c.s->row[z] < c.s->col[z]) c.a.x[sketch_find(c.s, c.s->col[z], c.s->row[z])] = conj(c.a.x[z]);
    if (c.s->row[z] == c.s->col[z]) c.a.x[z] = 0;
  }
  return c;
}

static void factors_of_every_kind_solve_in_both_directions(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    size_t mark = scratch_mark();
    for (int power = 0; power <= 8; power += 4) {
      direct_case c = direct_make(DIRECT_POISSON, 200, DTYPES[d], 3),
                  p = direct_make(DIRECT_POSITIVE, 90, DTYPES[d], 4);
      check_solves(ctx, c, LAC_FRONT_CHOLESKY, pow(10, power));
      check_solves(ctx, p, LAC_FRONT_CHOLESKY, pow(10, power));
      check_solves(ctx, direct_make(DIRECT_INDEFINITE, 90, DTYPES[d], 5), LAC_FRONT_LDLT, pow(10, power));
      check_solves(ctx, skewed(p), LAC_FRONT_LU, pow(10, power));
      check_solves(ctx, skewed(c), LAC_FRONT_LU, pow(10, power));
    }
    check_solves(ctx, hollow(30, DTYPES[d]), LAC_FRONT_LDLT, 1);
    check_solves(ctx, hollow(150, DTYPES[d]), LAC_FRONT_LDLT, 1);
    check_solves(ctx, skewed(hollow(150, DTYPES[d])), LAC_FRONT_LU, 1);
    scratch_release(mark);
  }
}

// -- threads and memory ----------------------------------------------------------------------------------------------

// A factor and a solution by so many threads, for comparison bit by bit.
typedef struct front_bits {
  void *l, *x;
  size_t factor_bytes, solution_bytes;
} front_bits;

static front_bits bits_on(lac_context *ctx, const front_case *f, lac_front_kind kind, lac_form form, int width,
                          int threads) {
  int64_t shape[] = {f->s->n, width};
  lac_dtype dtype = f->c.a.meta.dtype;
  lac_status status;
  lac_fronts *fronts = front_factor(f, kind, threads, &status);
  lac_array *b = direct_random(ctx, dtype, 2, shape, 5), *work = direct_random(ctx, dtype, 2, shape, 7);
  front_bits bits = {.factor_bytes = (size_t)f->s->panels[f->s->count] * lac_dtype_size(dtype)};
  CHECK_EQ(status, LAC_OK);
  bits.solution_bytes = (size_t)(f->s->n * width) * lac_dtype_size(dtype);
  bits.x = scratch(bits.solution_bytes), bits.l = scratch(bits.factor_bytes);
  CHECK_EQ(lac_fronts_solve(fronts, form, width, threads, lac_array_data(b), bits.x, lac_array_edit(work), NULL),
           LAC_OK);
  memcpy(bits.l, fronts->l, bits.factor_bytes);
  lac_array_destroy(&b);
  lac_array_destroy(&work);
  lac_fronts_destroy(fronts);
  return bits;
}

static void check_bits(lac_context *ctx, const front_case *f, lac_front_kind kind, lac_form form, int width) {
  static const int THREADS[] = {2, 3, 5, 16};
  size_t mark = scratch_mark();
  front_bits one = bits_on(ctx, f, kind, form, width, 1);
  for (size_t t = 0; t < sizeof THREADS / sizeof *THREADS; t++) {
    front_bits many = bits_on(ctx, f, kind, form, width, THREADS[t]);
    CHECK(memcmp(one.l, many.l, one.factor_bytes) == 0);
    CHECK(memcmp(one.x, many.x, one.solution_bytes) == 0);
  }
  scratch_release(mark);
}

static void the_bits_do_not_depend_on_the_number_of_threads(lac_context *ctx) {
  for (int d = 0; d < 4; d++) {
    size_t mark = scratch_mark();
    front_case f = front_open(ctx, direct_make(DIRECT_POISSON, 1600, DTYPES[d], 3), 1e7);
    front_case g = front_open(ctx, skewed(direct_make(DIRECT_POISSON, 1600, DTYPES[d], 3)), 1e7);
    front_case h = front_open(ctx, direct_make(DIRECT_POISSON, 4900, DTYPES[d], 3), 1e7);  // one column is shared too
    check_bits(ctx, &f, LAC_FRONT_CHOLESKY, LAC_PLAIN, 1);
    check_bits(ctx, &f, LAC_FRONT_CHOLESKY, LAC_TRANSPOSED, 3);
    check_bits(ctx, &f, LAC_FRONT_CHOLESKY, LAC_PLAIN, 5);
    check_bits(ctx, &f, LAC_FRONT_LDLT, LAC_PLAIN, 1);
    check_bits(ctx, &g, LAC_FRONT_LU, LAC_TRANSPOSED, 1);
    check_bits(ctx, &g, LAC_FRONT_LU, LAC_TRANSPOSED, 7);
    check_bits(ctx, &g, LAC_FRONT_LU, LAC_PLAIN, LAC_BLOCK_WIDTH);
    check_bits(ctx, &h, LAC_FRONT_CHOLESKY, LAC_PLAIN, 1);
    front_close(&f);
    front_close(&g);
    front_close(&h);
    scratch_release(mark);
  }
}

static void every_allocation_may_fail(lac_context *ctx) {
  front_case f = front_open(ctx, direct_make(DIRECT_POISSON, 400, LAC_F64, 3), 1e8);
  for (int kind = LAC_FRONT_CHOLESKY; kind <= LAC_FRONT_LU; kind++) {
    long long before = check_live_blocks();
    for (int64_t n = 1;; n++) {
      lac_status status;
      lac_memory_fail_at(n);
      lac_fronts *fronts = front_factor(&f, (lac_front_kind)kind, 1 + (int)(n % 2), &status);
      lac_memory_fail_at(0);
      lac_fronts_destroy(fronts);
      CHECK_EQ(check_live_blocks(), before);
      if (status == LAC_OK) break;
      CHECK_EQ(status, LAC_ERR_MEMORY);
    }
  }
  front_close(&f);
}

static void nothing_is_factored_and_solved(lac_context *ctx) {
  direct_case c = {.s = sketch_empty(0, 0), .a = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {0}})};
  front_case f = front_open(ctx, c, 1);
  lac_status status;
  lac_fronts *fronts = front_factor(&f, LAC_FRONT_CHOLESKY, 2, &status);
  double none[1];
  CHECK_EQ(status, LAC_OK);
  CHECK_EQ(lac_fronts_solve(fronts, LAC_PLAIN, 1, 2, none, none, none, NULL), LAC_OK);
  lac_fronts_destroy(fronts);
  front_close(&f);
}

CHECK_MAIN(walks_visit_every_supernode_in_order, a_walk_stops_when_a_visit_says_so, ranges_are_whole_subtrees,
           updates_have_places_of_their_own, cholesky_factors_multiply_to_the_matrix, the_first_refused_step_is_named,
           factors_of_every_kind_solve_in_both_directions, the_bits_do_not_depend_on_the_number_of_threads,
           every_allocation_may_fail, nothing_is_factored_and_solved)
