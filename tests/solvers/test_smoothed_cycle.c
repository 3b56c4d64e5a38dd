// SPDX-License-Identifier: Apache-2.0
/// The cycle of smoothed aggregation: as a matrix, as a preconditioner, and with everything that a matrix may be.

#include <stdlib.h>

#include "core/memory_impl.h"
#include "support/multigrid_case.h"
#include "support/scratch.h"

#define TABLE (&lac_preconditioner_smoothed)
static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};
static const lac_width WIDTHS[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};

// -- the cycle as a matrix -------------------------------------------------------------------------------------------

static void a_cycle_of_a_hermitian_matrix_is_hermitian(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_make(DIRECT_POISSON, 25 * 25, DTYPES[d], 1);
    for (int degree = 1; degree <= 2; ++degree) {
      case_check_adjoint(ctx, TABLE, &c, true, degree, 200, LAC_PLAIN, LAC_PLAIN, true);
      case_check_adjoint(ctx, TABLE, &c, true, degree, 200, LAC_ADJOINT, LAC_PLAIN, true);
      case_check_adjoint(ctx, TABLE, &c, true, degree, 200, LAC_TRANSPOSED, LAC_PLAIN, false);
    }
  }
}

static void the_transposed_cycle_is_the_adjoint(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_convection(25, 0.7, DTYPES[d]);
    for (int64_t z = 0; lac_dtype_is_complex(DTYPES[d]) && z < c.s->nnz; ++z) {
      c.a.x[z] *= c.s->row[z] == c.s->col[z] ? 1 + 0.5 * _Complex_I : 1 - 0.25 * _Complex_I;
    }
    case_check_adjoint(ctx, TABLE, &c, false, 0, 200, LAC_TRANSPOSED, LAC_PLAIN, false);
    case_check_adjoint(ctx, TABLE, &c, false, 0, 200, LAC_ADJOINT, LAC_PLAIN, true);
    case_check_adjoint(ctx, TABLE, &c, false, 0, 200, LAC_CONJUGATED, LAC_ADJOINT, false);
  }
}

static void the_cycle_is_positive(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 14 * 14, LAC_F64, 1);
  multigrid_case s;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.coarse_rows = 10;
  case_set_up(ctx, &s);
  for (uint64_t seed = 1; seed < 20; ++seed) {
    double size = 0;
    lac_array *u = case_random(ctx, &s, 1, seed), *mu = case_apply(ctx, &s, LAC_PLAIN, u);
    CHECK(creal(case_inner(ctx, u, mu, true, &size)) > 0);
    lac_array_destroy(&u), lac_array_destroy(&mu);
  }
  case_close(&s);
}

static void scales_come_out_exactly(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_make(DIRECT_POISSON, 25 * 25, DTYPES[d], 1), scaled = c;
    bool is_single = lac_dtype_real(DTYPES[d]) == LAC_F32;
    int a_exponent = is_single ? 60 : 500, b_exponent = is_single ? -30 : -400;
    multigrid_case s, t;
    ref b, x, y;
    lac_array *bt = NULL;
    scaled.a = ref_copy(&c.a);
    for (int64_t z = 0; z < c.s->nnz; ++z) scaled.a.x[z] *= ldexp(1, a_exponent);
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
    case_open(ctx, &t, TABLE, &scaled, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &t);
    lac_array *bs = case_random(ctx, &s, 2, 5);
    CHECK_OK(ref_download(ctx, bs, &b));
    for (int64_t i = 0; i < b.count; ++i) b.x[i] *= ldexp(1, b_exponent);
    CHECK_OK(ref_upload(ctx, &b, &bt));
    lac_array *xs = case_apply(ctx, &s, LAC_PLAIN, bs), *xt = case_apply(ctx, &t, LAC_PLAIN, bt);
    CHECK_OK(ref_download(ctx, xs, &x));
    CHECK_OK(ref_download(ctx, xt, &y));
    for (int64_t i = 0; i < x.count; ++i) {
      CHECK(x.x[i] * ldexp(1, b_exponent - a_exponent) == y.x[i]);
    }
    lac_array_destroy(&bs), lac_array_destroy(&bt), lac_array_destroy(&xs), lac_array_destroy(&xt);
    case_close(&s), case_close(&t);
  }
}

// -- as a preconditioner ---------------------------------------------------------------------------------------------

static void iterations_do_not_grow_with_the_grid(lac_context *ctx) {
  for (int i = 0; i < 2; ++i) {
    for (int degree = 1; degree <= 2; ++degree) {
      int64_t side = i ? 120 : 40;
      direct_case c = direct_make(DIRECT_POISSON, side * side, LAC_F64, 1);
      multigrid_case s;
      case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
      s.options.preconditioner.degree = degree;
      case_set_up(ctx, &s);
      CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, NULL) <= (degree > 1 ? 16 : 20));
      case_close(&s);
    }
  }
}

static void strong_directions_are_followed(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 60 * 60, LAC_F64, 1);
  multigrid_case s;
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    int64_t apart = c.s->row[z] - c.s->col[z];
    if (apart == 1 || apart == -1) c.a.x[z] *= 0.01;
    if (apart == 0) c.a.x[z] = 2.02;
  }
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, NULL) <= 25);
  case_close(&s);
}

static void all_dtypes_widths_and_precisions_need_few_iterations(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_make(DIRECT_POISSON, 30 * 30, DTYPES[d], 1);
    for (int w = 0; w < 3; ++w) {
      for (int full = 0; full < 2; ++full) {
        multigrid_case s;
        case_open(ctx, &s, TABLE, &c, WIDTHS[w], 2, true);
        s.options.preconditioner.full_precision = full;
        case_set_up(ctx, &s);
        CHECK(case_iterations(ctx, &s, LAC_PLAIN, 3, NULL) <= 20);
        case_close(&s);
      }
    }
  }
}

static void nonsymmetric_matrices_need_few_iterations_on_every_side(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_convection(40, 0.5, DTYPES[d]);
    multigrid_case s;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, false), case_set_up(ctx, &s);
    for (int form = 0; form < 4; ++form) CHECK(case_iterations(ctx, &s, FORMS[form], 1, NULL) <= 30);
    case_close(&s);
  }
}

static void columns_and_matrices_are_those_one_by_one(lac_context *ctx) {
  enum { ITEMS = 2, K = 9 };
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
  int64_t n = c.s->rows;
  multigrid_case many, one;
  ref b, x, y;
  case_open(ctx, &many, TABLE, &c, LAC_WIDTH_AUTO, ITEMS, true), case_set_up(ctx, &many);
  case_open(ctx, &one, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &one);
  lac_array *bs = case_random(ctx, &many, K, 5), *xs = case_apply(ctx, &many, LAC_PLAIN, bs);
  CHECK_OK(ref_download(ctx, bs, &b));
  CHECK_OK(ref_download(ctx, xs, &x));
  for (int64_t at = 0; at < ITEMS * K; at += 4) {
    int64_t item = at / K, j = at % K;
    ref column = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 3, .shape = {1, n, 1}});
    lac_array *bc = NULL;
    double worst = 0, most = 0;
    for (int64_t i = 0; i < n; ++i) column.x[i] = b.x[(item * n + i) * K + j];
    CHECK_OK(ref_upload(ctx, &column, &bc));
    lac_array *xc = case_apply(ctx, &one, LAC_PLAIN, bc);
    CHECK_OK(ref_download(ctx, xc, &y));
    for (int64_t i = 0; i < n; ++i) {
      number expected = y.x[i] * ldexp(1, -(int)item);
      worst = fmax(worst, cabs(expected - x.x[(item * n + i) * K + j])), most = fmax(most, cabs(expected));
    }
    CHECK(worst <= 1e-5 * most);
    lac_array_destroy(&bc), lac_array_destroy(&xc);
  }
  lac_array_destroy(&bs), lac_array_destroy(&xs);
  case_close(&many), case_close(&one);
}

// -- values again, threads, memory -----------------------------------------------------------------------------------

static void refreshed_values_give_what_a_new_set_up_gives(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    direct_case c = direct_convection(30, 0.5, DTYPES[d]);
    multigrid_case s;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 2, false);
    s.options.preconditioner.coarse_rows = 30;
    case_set_up(ctx, &s);
    case_check_refreshed(ctx, &s, LAC_PLAIN);
    case_close(&s);
  }
}

static void new_values_on_old_aggregates_are_solved_for(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1), other = {c.s, ref_copy(&c.a)};
  multigrid_case s, t;
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    if (c.s->row[z] == c.s->col[z]) other.a.x[z] += 0.01;
  }
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  case_open(ctx, &t, TABLE, &other, LAC_WIDTH_AUTO, 1, true);
  t.setup.options = &t.options;
  t.setup.pattern = s.pattern;
  CHECK_OK(TABLE->refresh(ctx, &t.setup, s.part, &t.part));
  CHECK(case_iterations(ctx, &t, LAC_PLAIN, 1, NULL) <= 18);
  case_close(&s), case_close(&t);
}

static void bits_do_not_depend_on_threads(lac_context *ctx) {
  static const direct_kind KINDS[] = {DIRECT_POISSON};
  for (int kind = 0; kind < 2; ++kind) {
    direct_case c = kind ? direct_convection(130, 0.5, LAC_F64) : direct_make(KINDS[0], 130 * 130, LAC_F64, 1);
    lac_array *x[3] = {NULL, NULL, NULL}, *y[3] = {NULL, NULL, NULL}, *b = NULL;
    int before = ctx->threads;
    for (int threads = 1; threads <= 3; ++threads) {
      multigrid_case s;
      ctx->threads = threads;
      case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, kind == 0), case_set_up(ctx, &s);
      if (!b) b = case_random(ctx, &s, 1, 3);
      x[threads - 1] = case_apply(ctx, &s, LAC_PLAIN, b);
      y[threads - 1] = case_apply(ctx, &s, LAC_ADJOINT, b);
      case_close(&s);
    }
    ctx->threads = before;
    for (int t = 1; t < 3; ++t) CHECK(case_same_bits(ctx, x[0], x[t]) && case_same_bits(ctx, y[0], y[t]));
    for (int t = 0; t < 3; ++t) lac_array_destroy(&x[t]), lac_array_destroy(&y[t]);
    lac_array_destroy(&b);
  }
}

static void every_allocation_may_fail(lac_context *ctx) {
  ref motions;
  direct_case c = multigrid_springs(5, &motions);
  multigrid_case s;
  lac_array *near_null = NULL;
  lac_status status = LAC_ERR_MEMORY;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 2, true);
  CHECK_OK(ref_upload(ctx, &motions, &near_null));
  s.options.preconditioner.near_null = near_null;
  s.options.preconditioner.coarse_rows = 6;
  s.setup.options = &s.options;
  lac_array *b = case_random(ctx, &s, 2, 3), *x = case_random(ctx, &s, 2, 4);
  for (int64_t n = 1; status != LAC_OK && n < 4000; n = check_next_failure(ctx, n)) {
    void *part = NULL, *again = NULL;
    lac_memory_fail_at(n);
    status = TABLE->create(ctx, &s.setup, &part);
    if (status == LAC_OK) status = TABLE->refresh(ctx, &s.setup, part, &again);
    if (status == LAC_OK) status = TABLE->apply(ctx, again, LAC_ADJOINT, b, x);
    lac_memory_fail_at(0);
    CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
    TABLE->destroy(part), TABLE->destroy(again);
  }
  CHECK_EQ(status, LAC_OK);
  lac_array_destroy(&b), lac_array_destroy(&x), lac_array_destroy(&near_null);
  case_close(&s);
}

// -- matrices of all kinds -------------------------------------------------------------------------------------------

static void a_singular_matrix_of_neumann_is_solved(lac_context *ctx) {
  for (int coarse = 0; coarse < 2; ++coarse) {
    direct_case c = multigrid_neumann(40, LAC_F64);
    multigrid_case s;
    ref b;
    number mean = 0;
    lac_array *bs = NULL;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
    s.options.preconditioner.coarse_rows = coarse ? 8 : 0;
    case_set_up(ctx, &s);
    lac_array *random = case_random(ctx, &s, 1, 5);
    CHECK_OK(ref_download(ctx, random, &b));
    for (int64_t i = 0; i < b.count; ++i) mean += b.x[i] / (double)b.count;
    for (int64_t i = 0; i < b.count; ++i) b.x[i] -= mean;
    CHECK_OK(ref_upload(ctx, &b, &bs));
    CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, bs) <= 22);
    lac_array_destroy(&bs), lac_array_destroy(&random);
    case_close(&s);
  }
}

/// One level of 1600 rows.
static void the_last_level_is_solved_directly_up_to_coarse_rows(lac_context *ctx) {
  for (int is_direct = 0; is_direct < 2; ++is_direct) {
    direct_case c = multigrid_neumann(40, LAC_F64);
    multigrid_case s;
    char *text = NULL;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
    s.options.preconditioner.max_levels = 1;
    s.options.preconditioner.coarse_rows = is_direct ? 1600 : 1599;
    case_set_up(ctx, &s);
    CHECK_OK(TABLE->describe(ctx, s.part, &text));
    CHECK(!strstr(text, "solved directly") == !is_direct);
    lac_free(text);
    case_close(&s);
  }
}

static void small_matrices_are_inverted(lac_context *ctx) {
  static const direct_kind KINDS[] = {DIRECT_NONSYMMETRIC, DIRECT_POSITIVE, DIRECT_INDEFINITE, DIRECT_ZERO_DIAGONAL};
  for (int d = 0; d < 4; ++d) {
    for (int kind = 0; kind < 4; ++kind) {
      direct_case c = direct_make(KINDS[kind], 40, DTYPES[d], 4);
      multigrid_case s;
      lac_setup_figures finding = {0};
      case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, kind == 1 || kind == 2);
      s.options.preconditioner.full_precision = 1;
      case_set_up(ctx, &s);
      s.setup.is_hermitian = kind == 1;  // for the choice of the method
      for (int form = 0; form < 4; ++form) CHECK(case_iterations(ctx, &s, FORMS[form], 2, NULL) <= 4);
      TABLE->report(s.part, &finding);
      CHECK_EQ(finding.levels, 1);
      case_close(&s);
    }
  }
}

static void nothing_and_a_single_number_are_matrices_too(lac_context *ctx) {
  for (int64_t n = 0; n <= 3; ++n) {
    for (int has_entries = 0; has_entries < 2; ++has_entries) {
      const double full[] = {2, 0, 0, 0, 3, 0, 0, 0, 4}, none[9] = {0};
      direct_case c = direct_small(n, has_entries ? full : none, LAC_F64);
      multigrid_case s;
      case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
      case_set_up(ctx, &s);
      for (int64_t k = 0; k < 3; ++k) {
        lac_array *b = case_random(ctx, &s, k, 3), *x = case_apply(ctx, &s, LAC_TRANSPOSED, b);
        lac_array_destroy(&b), lac_array_destroy(&x);
      }
      case_close(&s);
    }
  }
}

/// Rows without neighbours, without entries, and parts that do not touch.
static void rows_alone_and_parts_apart_are_solved(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 30 * 30, LAC_F64, 1);
  multigrid_case s;
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    int64_t i = c.s->row[z], j = c.s->col[z];
    if (i != j && (i % 50 == 7 || j % 50 == 7)) c.a.x[z] = 0;
    if ((i < 450) != (j < 450)) c.a.x[z] = 0;
  }
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.coarse_rows = 30;
  case_set_up(ctx, &s);
  CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, NULL) <= 20);
  case_close(&s);
}

static void a_diagonal_matrix_has_no_coarse_level(lac_context *ctx) {
  int64_t n = 800;
  double *full = scratch((size_t)(n * n) * sizeof *full);
  lac_setup_figures finding = {0};
  multigrid_case s;
  for (int64_t i = 0; i < n; ++i) full[i * (n + 1)] = i == 5 ? 0 : (double)(1 + i);
  direct_case c = direct_small(n, full, LAC_F64);
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.degree = 1;
  case_set_up(ctx, &s);
  TABLE->report(s.part, &finding);
  CHECK_EQ(finding.levels, 1);
  lac_array *b = case_random(ctx, &s, 1, 3), *x = case_apply(ctx, &s, LAC_PLAIN, b);
  ref from, to;
  CHECK_OK(ref_download(ctx, b, &from));
  CHECK_OK(ref_download(ctx, x, &to));
  for (int64_t i = 0; i < n; ++i) {
    number expected = i == 5 ? 0 : from.x[i] / (double)(1 + i);
    CHECK(cabs(to.x[i] - expected) <= 1e-5 * cabs(from.x[i]));
  }
  lac_array_destroy(&b), lac_array_destroy(&x);
  case_close(&s);
}

static void it_says_what_it_is(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
  multigrid_case s;
  char *text = NULL;
  lac_setup_figures finding = {0};
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  CHECK_OK(TABLE->describe(ctx, s.part, &text));
  CHECK(strstr(text, "1600 rows") && strstr(text, "solved directly"));
  TABLE->report(s.part, &finding);
  CHECK(finding.levels >= 2 && finding.complexity > 1 && finding.complexity < 2 && finding.bytes > 0);
  lac_free(text);
  case_close(&s);
}

static void wrong_near_null_vectors_are_refused(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 30 * 30, LAC_F64, 1);
  multigrid_case s;
  lac_array *wrong = direct_random(ctx, LAC_F64, 2, (int64_t[]){7, 2}, 1);
  lac_solver *none = NULL;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
  for (int i = 0; i < 2; ++i) {  // as a solver and as a preconditioner
    lac_solver_options options = lac_solver_options_defaults();
    options.method = i ? "cg" : "multigrid";
    options.preconditioner.near_null = wrong;
    CHECK_FAILS(lac_solver_create(ctx, s.setup.pattern, &options, &none), LAC_ERR_SHAPE,
                "near_null must have shape (900, m)");
    CHECK(!none);
  }
  lac_array_destroy(&wrong);
  case_close(&s);
}

CHECK_MAIN_OF("smoothed", a_cycle_of_a_hermitian_matrix_is_hermitian, the_transposed_cycle_is_the_adjoint,
              the_cycle_is_positive, scales_come_out_exactly, iterations_do_not_grow_with_the_grid,
              strong_directions_are_followed, all_dtypes_widths_and_precisions_need_few_iterations,
              nonsymmetric_matrices_need_few_iterations_on_every_side, columns_and_matrices_are_those_one_by_one,
              refreshed_values_give_what_a_new_set_up_gives, new_values_on_old_aggregates_are_solved_for,
              bits_do_not_depend_on_threads, every_allocation_may_fail, a_singular_matrix_of_neumann_is_solved,
              the_last_level_is_solved_directly_up_to_coarse_rows, small_matrices_are_inverted,
              nothing_and_a_single_number_are_matrices_too, rows_alone_and_parts_apart_are_solved,
              a_diagonal_matrix_has_no_coarse_level, it_says_what_it_is, wrong_near_null_vectors_are_refused)
