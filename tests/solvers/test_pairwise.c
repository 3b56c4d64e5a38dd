// SPDX-License-Identifier: Apache-2.0
/// Multigrid by pairwise aggregation: a linear cycle is Hermitian, its transpose its adjoint; few iterations whatever
/// the size; and everything that a matrix may be.

#include <stdlib.h>

#include "core/memory_impl.h"
#include "solvers/precondition/multigrid/pairwise/hierarchy.h"
#include "support/multigrid_case.h"

extern const lac_preconditioner_table lac_preconditioner_pairwise;
static const lac_preconditioner_table *const TABLE = &lac_preconditioner_pairwise;

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

static bool all_finite(lac_context *ctx, const lac_array *x) {
  ref r;
  CHECK_OK(ref_download(ctx, x, &r));
  for (int64_t i = 0; i < r.count; ++i) {
    if (!isfinite(creal(r.x[i])) || !isfinite(cimag(r.x[i]))) return false;
  }
  return true;
}

// -- the cycle as a matrix -------------------------------------------------------------------------------------------

static void a_cycle_of_a_hermitian_matrix_is_hermitian(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_make(DIRECT_POISSON, 30 * 30, DTYPES[d], 1);
    case_check_adjoint(ctx, TABLE, &c, true, 0, 100, LAC_PLAIN, LAC_PLAIN, true);
    case_check_adjoint(ctx, TABLE, &c, true, 0, 100, LAC_ADJOINT, LAC_PLAIN, true);
    case_check_adjoint(ctx, TABLE, &c, true, 0, 100, LAC_TRANSPOSED, LAC_PLAIN, false);
  }
}

static void the_transposed_cycle_is_the_adjoint(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_convection(24, 0.7, DTYPES[d]);
    if (lac_dtype_is_complex(DTYPES[d])) {
      for (int64_t z = 0; z < c.s->nnz; ++z)
        c.a.x[z] *= c.s->row[z] == c.s->col[z] ? 1 + 0.5 * _Complex_I : 1 - 0.25 * _Complex_I;
    }
    case_check_adjoint(ctx, TABLE, &c, false, 0, 100, LAC_TRANSPOSED, LAC_PLAIN, false);
    case_check_adjoint(ctx, TABLE, &c, false, 0, 100, LAC_ADJOINT, LAC_PLAIN, true);
    case_check_adjoint(ctx, TABLE, &c, false, 0, 100, LAC_CONJUGATED, LAC_ADJOINT, false);
  }
}

static void scales_of_matrix_and_right_hand_side_come_out_exactly(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_make(DIRECT_POISSON, 40 * 40, DTYPES[d], 1), scaled = c;
    const bool is_single = DTYPES[d] == LAC_F32 || DTYPES[d] == LAC_C64;
    const int a_exponent = is_single ? 30 : 500, b_exponent = is_single ? -40 : -400;
    multigrid_case s, t;
    ref b, x, y;
    scaled.a = ref_copy(&c.a);
    for (int64_t z = 0; z < c.s->nnz; ++z) scaled.a.x[z] *= ldexp(1, a_exponent);
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
    case_open(ctx, &t, TABLE, &scaled, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &t);
    lac_array *bs = case_random(ctx, &s, 2, 5), *bt = NULL;
    CHECK_OK(ref_download(ctx, bs, &b));
    for (int64_t i = 0; i < b.count; ++i) b.x[i] *= ldexp(1, b_exponent);
    CHECK_OK(ref_upload(ctx, &b, &bt));
    lac_array *xs = case_apply(ctx, &s, LAC_PLAIN, bs), *xt = case_apply(ctx, &t, LAC_PLAIN, bt);
    CHECK_OK(ref_download(ctx, xs, &x));
    CHECK_OK(ref_download(ctx, xt, &y));
    for (int64_t i = 0; i < x.count; ++i) CHECK(x.x[i] * ldexp(1, b_exponent - a_exponent) == y.x[i]);
    lac_array_destroy(&bs), lac_array_destroy(&bt), lac_array_destroy(&xs), lac_array_destroy(&xt);
    case_close(&s), case_close(&t);
  }
}

// -- as a preconditioner ---------------------------------------------------------------------------------------------

static void iterations_do_not_grow_with_the_grid(lac_context *ctx) {
  int64_t counts[2];
  for (int i = 0; i < 2; ++i) {
    const int64_t side = i ? 200 : 50;  // the larger one takes two steps on its second level
    direct_case c = direct_make(DIRECT_POISSON, side * side, LAC_F64, 1);
    multigrid_case s;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
    counts[i] = case_iterations(ctx, &s, LAC_PLAIN, 1, NULL);
    case_close(&s);
  }
  CHECK(counts[0] <= 18);
  CHECK(counts[1] <= 18);
}

/// With enough rows for a device to restrict in one pass, real numbers and complex ones, several columns.
static void a_large_matrix_needs_few_iterations(lac_context *ctx) {
  enum { SIDE = 760 };
  static const lac_dtype LARGE[] = {LAC_F64, LAC_C64};
  for (int d = 0; d < 2; ++d) {
    direct_case c = direct_make(DIRECT_POISSON, SIDE * SIDE, LARGE[d], 1);
    multigrid_case s;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
    CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1 + d, NULL) <= 20);
    case_close(&s);
  }
}

static void all_dtypes_widths_and_precisions_need_few_iterations(lac_context *ctx) {
  static const lac_width WIDTHS[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_make(DIRECT_POISSON, 40 * 40, DTYPES[d], 1);
    for (int w = 0; w < 3; ++w) {
      for (int full = 0; full < 2; ++full) {
        multigrid_case s;
        case_open(ctx, &s, TABLE, &c, WIDTHS[w], 1, true);
        s.options.preconditioner.full_precision = full;
        case_set_up(ctx, &s);
        CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, NULL) <= 18);
        case_close(&s);
      }
    }
  }
}

static void nonsymmetric_matrices_need_few_iterations_on_every_side(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_convection(110, 0.5, DTYPES[d]);  // two steps of residuals on the second level
    multigrid_case s;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, false), case_set_up(ctx, &s);
    for (int form = 0; form < 4; ++form) CHECK(case_iterations(ctx, &s, FORMS[form], 1, NULL) <= 30);
    case_close(&s);
  }
}

static void columns_and_matrices_are_those_one_by_one(lac_context *ctx) {
  enum { ITEMS = 2, K = 9 };
  direct_case c = direct_make(DIRECT_POISSON, 110 * 110, LAC_F64, 1);
  const int64_t n = c.s->rows;
  multigrid_case many, one;
  ref b, x, y;
  case_open(ctx, &many, TABLE, &c, LAC_WIDTH_AUTO, ITEMS, true), case_set_up(ctx, &many);
  case_open(ctx, &one, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &one);
  lac_array *bs = case_random(ctx, &many, K, 5), *xs = case_apply(ctx, &many, LAC_PLAIN, bs);
  CHECK_OK(ref_download(ctx, bs, &b));
  CHECK_OK(ref_download(ctx, xs, &x));
  for (int64_t item = 0; item < ITEMS; ++item) {
    for (int64_t j = 0; j < K; j += 4) {
      lac_meta meta = {.dtype = LAC_F64, .ndim = 3, .shape = {1, n, 1}};
      ref column = ref_new(&meta);
      lac_array *bc = NULL;
      double worst = 0, most = 0;
      for (int64_t i = 0; i < n; ++i) column.x[i] = b.x[(item * n + i) * K + j];
      CHECK_OK(ref_upload(ctx, &column, &bc));
      lac_array *xc = case_apply(ctx, &one, LAC_PLAIN, bc);
      CHECK_OK(ref_download(ctx, xc, &y));
      for (int64_t i = 0; i < n; ++i) {
        worst = fmax(worst, cabs(y.x[i] * ldexp(1, -(int)item) - x.x[(item * n + i) * K + j]));
        most = fmax(most, cabs(y.x[i] * ldexp(1, -(int)item)));
      }
      CHECK(worst <= 1e-5 * most);
      lac_array_destroy(&bc), lac_array_destroy(&xc);
    }
  }
  CHECK(case_iterations(ctx, &many, LAC_PLAIN, 3, NULL) <= 18);
  lac_array_destroy(&bs), lac_array_destroy(&xs);
  case_close(&many), case_close(&one);
}

// -- matrices of all kinds -------------------------------------------------------------------------------------------

static void a_singular_matrix_of_neumann_is_solved(lac_context *ctx) {
  CHECK(multigrid_neumann_iterations(ctx, TABLE, 40) <= 20);
}

static void a_small_matrix_is_inverted(lac_context *ctx) {
  for (int d = 1; d < 4; d += 2) {
    direct_case c = direct_make(DIRECT_NONSYMMETRIC, 60, DTYPES[d], 4);
    multigrid_case s;
    lac_setup_figures finding;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, false);
    s.options.preconditioner.full_precision = 1;
    case_set_up(ctx, &s);
    for (int form = 0; form < 4; ++form) CHECK(case_iterations(ctx, &s, FORMS[form], 2, NULL) <= 3);
    TABLE->report(s.part, &finding);
    CHECK_EQ(finding.levels, 1);
    case_close(&s);
  }
}

static void nothing_and_a_single_number_are_matrices_too(lac_context *ctx) {
  for (int64_t n = 0; n <= 2; ++n) {
    for (int has_entries = 0; has_entries < 2; ++has_entries) {
      const double full[] = {2, n == 2, 1, 3};
      direct_case c = direct_small(n, full, LAC_F64);
      multigrid_case s;
      if (!has_entries) c.s = sketch_empty(n, n);
      case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, false), case_set_up(ctx, &s);
      lac_array *b = case_random(ctx, &s, 2, 5), *x = case_apply(ctx, &s, LAC_PLAIN, b),
                *y = case_apply(ctx, &s, LAC_ADJOINT, b);
      CHECK(all_finite(ctx, x));
      CHECK(all_finite(ctx, y));
      lac_array_destroy(&b), lac_array_destroy(&x), lac_array_destroy(&y);
      case_close(&s);
    }
  }
}

static void an_empty_batch_and_no_columns_are_nothing_to_do(lac_context *ctx) { case_check_nothing(ctx, TABLE); }

/// The Poisson matrix after `change` has seen each of its entries: 0 is an entry that is stored and zero.
static void check_finite(lac_context *ctx, double (*change)(int64_t row, int64_t col, double a)) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
  multigrid_case s;
  for (int64_t z = 0; z < c.s->nnz; ++z) c.a.x[z] = change(c.s->row[z], c.s->col[z], creal(c.a.x[z]));
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  lac_array *b = case_random(ctx, &s, 1, 5), *x = case_apply(ctx, &s, LAC_PLAIN, b);
  CHECK(all_finite(ctx, x));
  lac_array_destroy(&b), lac_array_destroy(&x);
  case_close(&s);
}

static double without_diagonal(int64_t row, int64_t col, double a) { return row == col ? 0 : a; }
static double all_positive(int64_t row, int64_t col, double a) { return (void)row, (void)col, fabs(a); }
static double all_zero(int64_t row, int64_t col, double a) { return (void)row, (void)col, 0 * a; }
static double with_dead_rows(int64_t row, int64_t col, double a) { return row % 3 == 0 || col % 3 == 0 ? 0 : a; }
static double negative(int64_t row, int64_t col, double a) { return (void)row, (void)col, -a; }

static void odd_diagonals_and_signs_give_finite_numbers(lac_context *ctx) {
  check_finite(ctx, without_diagonal);
  check_finite(ctx, all_positive);
  check_finite(ctx, all_zero);
  check_finite(ctx, with_dead_rows);
  check_finite(ctx, negative);
}

static void disconnected_parts_are_solved_each(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
  multigrid_case s;
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    if (c.s->row[z] / 400 != c.s->col[z] / 400) c.a.x[z] = 0;
  }
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, NULL) <= 18);
  case_close(&s);
}

static void dominant_diagonals_need_no_second_level(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
  multigrid_case s;
  lac_setup_figures finding;
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    if (c.s->row[z] == c.s->col[z]) c.a.x[z] *= 5;
  }
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  TABLE->report(s.part, &finding);
  CHECK_EQ(finding.levels, 1);
  CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, NULL) <= 18);
  case_close(&s);
}

static void a_shuffled_grid_needs_few_iterations(lac_context *ctx) {
  enum { FORM = 60, N = FORM * FORM };
  direct_case c = direct_make(DIRECT_POISSON, N, LAC_F64, 1), shuffled = c;
  random_state random = random_start(8);
  int64_t place[N];
  lac_pattern *pattern = NULL;
  lac_map *entries = NULL;
  lac_array *natural = NULL;
  multigrid_case s = {.table = TABLE, .options = lac_solver_options_defaults()};
  for (int64_t i = 0; i < N; ++i) place[i] = i;
  for (int64_t i = N - 1; i > 0; --i) {
    int64_t j = random_below(&random, i + 1), held = place[i];
    place[i] = place[j], place[j] = held;
  }
  int64_t *row = scratch((size_t)c.s->nnz * sizeof *row), *col = scratch((size_t)c.s->nnz * sizeof *col);
  for (int64_t z = 0; z < c.s->nnz; ++z) row[z] = place[c.s->row[z]], col[z] = place[c.s->col[z]];
  CHECK_OK(lac_pattern_from_coo(ctx, N, N, c.s->nnz, LAC_I64, row, col, LAC_WIDTH_AUTO, &pattern, &entries));
  shuffled.a.meta = (lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {1, c.s->nnz}};
  CHECK_OK(ref_upload(ctx, &shuffled.a, &natural));
  s.pattern = pattern;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, natural->meta.shape, &s.values));
  CHECK_OK(ctx->kernels->remap(ctx, entries, LAC_PLAIN, 0, natural, s.values));
  s.setup = (lac_setup){.pattern = s.pattern, .values = s.values, .options = &s.options, .is_hermitian = true};
  case_set_up(ctx, &s);
  // Visited breadth first, pairs stand in line; where all rows choose at once they lie in any direction.
  CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, NULL) <= (lac_context_is_host(ctx) ? 20 : 28));
  lac_array_destroy(&natural);
  lac_map_destroy(&entries);
  case_close(&s);
}

// -- new values, threads, memory -------------------------------------------------------------------------------------

static void a_refresh_is_a_set_up_to_the_bit(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 110 * 110, LAC_F64, 1);
  multigrid_case s;
  void *again = NULL;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  CHECK_OK(TABLE->refresh(ctx, &s.setup, s.part, &again));
  lac_array *b = case_random(ctx, &s, 1, 5), *x = case_apply(ctx, &s, LAC_PLAIN, b),
            *y = case_apply(ctx, &s, LAC_PLAIN, b);
  CHECK_OK(TABLE->apply(ctx, again, LAC_PLAIN, b, y));
  CHECK(case_same_bits(ctx, x, y));
  TABLE->destroy(s.part);  // the structure is held by both
  CHECK_OK(TABLE->apply(ctx, again, LAC_PLAIN, b, y));
  CHECK(case_same_bits(ctx, x, y));
  s.part = again;
  lac_array_destroy(&b), lac_array_destroy(&x), lac_array_destroy(&y);
  case_close(&s);
}

static void new_values_on_old_aggregates_precondition(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1), other = c;
  multigrid_case s, t;
  other.a = ref_copy(&c.a);
  for (int64_t z = 0; z < c.s->nnz; ++z) other.a.x[z] *= c.s->row[z] == c.s->col[z] ? 7.25 : 7;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  case_open(ctx, &t, TABLE, &other, LAC_WIDTH_AUTO, 1, true);
  t.setup.options = &t.options;
  t.setup.pattern = s.pattern;
  CHECK_OK(TABLE->refresh(ctx, &t.setup, s.part, &t.part));
  CHECK(case_iterations(ctx, &t, LAC_PLAIN, 1, NULL) <= 18);
  case_close(&s), case_close(&t);
}

static void check_threads(lac_context *ctx, const direct_case *c, bool is_hermitian, int64_t items, int64_t k) {
  lac_array *x[2] = {NULL};
  for (int t = 0; t < 2; ++t) {
    multigrid_case s;
    CHECK_OK(lac_context_set_threads(ctx, 1 + 2 * t));
    case_open(ctx, &s, TABLE, c, LAC_WIDTH_AUTO, items, is_hermitian), case_set_up(ctx, &s);
    lac_array *b = case_random(ctx, &s, k, 5);
    x[t] = case_apply(ctx, &s, LAC_TRANSPOSED, b);
    lac_array_destroy(&b);
    case_close(&s);
  }
  CHECK(case_same_bits(ctx, x[0], x[1]));
  lac_array_destroy(&x[0]), lac_array_destroy(&x[1]);
}

static void the_bits_do_not_depend_on_the_number_of_threads(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 220 * 220, LAC_F64, 1), small = direct_convection(70, 0.5, LAC_C64);
  check_threads(ctx, &c, true, 1, 1);
  check_threads(ctx, &c, true, 1, 9);
  check_threads(ctx, &c, false, 1, 1);
  check_threads(ctx, &small, false, 3, 3);
}

static void check_allocations(lac_context *ctx, const direct_case *c, bool is_hermitian) {
  bool is_reached = true;
  for (int64_t n = 1; is_reached; n = check_next_failure(ctx, n)) {
    multigrid_case s;
    lac_array *x = NULL;
    case_open(ctx, &s, TABLE, c, LAC_WIDTH_AUTO, 1, is_hermitian);
    s.setup.options = &s.options;
    lac_array *b = case_random(ctx, &s, 1, 5);
    CHECK_OK(lac_array_create(ctx, LAC_F64, 3, b->meta.shape, &x));
    lac_memory_fail_at(n);
    lac_status status = TABLE->create(ctx, &s.setup, &s.part);
    if (status == LAC_OK)
      CHECK_EQ(((lac_hierarchy *)s.part)->is_sliced[1], is_hermitian && ctx->kernels->pairwise->slices);
    if (status == LAC_OK) status = TABLE->apply(ctx, s.part, LAC_TRANSPOSED, b, x);
    is_reached = lac_memory_fail_at(0) >= n;
    CHECK_EQ(status, is_reached ? LAC_ERR_MEMORY : LAC_OK);
    lac_array_destroy(&b), lac_array_destroy(&x);
    case_close(&s);
  }
}

static void no_failing_allocation_does_harm(lac_context *ctx) {
  direct_case plain = direct_convection(30, 0.5, LAC_F64), sliced = direct_make(DIRECT_POISSON, 32 * 32, LAC_F64, 1);
  check_allocations(ctx, &plain, false);
  check_allocations(ctx, &sliced, true);
}

static void a_hierarchy_tells_of_its_levels(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
  multigrid_case s;
  lac_setup_figures finding;
  char *text = NULL;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  TABLE->report(s.part, &finding);
  CHECK_EQ(finding.levels, 3);
  CHECK(finding.complexity > 1.2 && finding.complexity < 1.5);
  CHECK(finding.bytes > 0);
  CHECK_OK(TABLE->describe(ctx, s.part, &text));
  CHECK(strstr(text, "1600") && strstr(text, "400") && strstr(text, "dense inverse"));
  lac_free(text);
  case_close(&s);
}

CHECK_MAIN_OF("pairwise", a_cycle_of_a_hermitian_matrix_is_hermitian, the_transposed_cycle_is_the_adjoint,
              scales_of_matrix_and_right_hand_side_come_out_exactly, iterations_do_not_grow_with_the_grid,
              a_large_matrix_needs_few_iterations, all_dtypes_widths_and_precisions_need_few_iterations,
              nonsymmetric_matrices_need_few_iterations_on_every_side, columns_and_matrices_are_those_one_by_one,
              a_singular_matrix_of_neumann_is_solved, a_small_matrix_is_inverted,
              nothing_and_a_single_number_are_matrices_too, an_empty_batch_and_no_columns_are_nothing_to_do,
              odd_diagonals_and_signs_give_finite_numbers, disconnected_parts_are_solved_each,
              dominant_diagonals_need_no_second_level, a_shuffled_grid_needs_few_iterations,
              a_refresh_is_a_set_up_to_the_bit, new_values_on_old_aggregates_precondition,
              the_bits_do_not_depend_on_the_number_of_threads, no_failing_allocation_does_harm,
              a_hierarchy_tells_of_its_levels)
