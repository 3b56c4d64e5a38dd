// SPDX-License-Identifier: Apache-2.0
/// Factors as arrays, made of lu_values: lu, ldlt, cholesky, ilu0, ic0, and the structure they are on.

#include <math.h>
#include <stdbool.h>

#include "support/elimination.h"

typedef enum factoring { LU, LDLT, CHOLESKY, ILU0, IC0 } factoring;

#define KIND(c) ((factoring)(c)->i[0])

static bool is_incomplete(factoring kind) { return kind == ILU0 || kind == IC0; }
static bool is_hermitian(factoring kind) { return kind != LU && kind != ILU0; }
static int outputs(factoring kind) { return kind == CHOLESKY || kind == IC0 ? 1 : 2; }

/// The factors of one kind, in the natural order unless i[1] says otherwise. Patterns may be NULL.
static void factor(lac_tape *tape, const op_case *c, const lac_pattern *p, lac_var a, lac_pattern **patterns,
                   lac_var *out) {
  lac_ordering order = c->i[1] ? (lac_ordering)c->i[1] : LAC_ORDER_NATURAL;
  if (KIND(c) == LU) lac_lu(tape, p, a, order, patterns, out);
  if (KIND(c) == LDLT) lac_ldlt(tape, p, a, order, patterns, out);
  if (KIND(c) == CHOLESKY) out[0] = lac_cholesky(tape, p, a, order, patterns);
  if (KIND(c) == ILU0) lac_ilu0(tape, p, a, patterns, out);
  if (KIND(c) == IC0) out[0] = lac_ic0(tape, p, a, patterns);
}

static void factors_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  factor(tape, setup->c, setup->patterns[0], in[0], NULL, out);
}

// -- the textbook ----------------------------------------------------------------------------------------------------

/// A sketch with its transpose.
static const sketch *sketch_both(const sketch *s) {
  sketch *out = scratch(sizeof *out);
  int64_t n = s->rows;
  *out = (sketch){n, n, 0, scratch((size_t)(n * n) * 8 + 1), scratch((size_t)(n * n) * 8 + 1)};
  for (int64_t z = 0; z < n * n; ++z) {
    if (sketch_find(s, z / n, z % n) < 0 && sketch_find(s, z % n, z / n) < 0) continue;
    out->row[out->nnz] = z / n, out->col[out->nnz++] = z % n;
  }
  return out;
}

/// Where elimination takes place.
static const sketch *place_of(const op_case *c) {
  const sketch *s = c->patterns[0];
  if (!is_incomplete(KIND(c))) return sketch_closed(sketch_both(s));
  return is_hermitian(KIND(c)) ? sketch_both(s) : s;
}

static int64_t count_triangle(const sketch *s, bool lower) {
  int64_t count = 0;
  for (int64_t z = 0; z < s->nnz; ++z) count += lower ? s->row[z] >= s->col[z] : s->row[z] <= s->col[z];
  return count;
}

/// The values of A, or of its Hermitian part, on a sketch that has them.
static void values_on(const op_case *c, const sketch *s, const number *a, number *out) {
  const sketch *from = c->patterns[0];
  for (int64_t z = 0; z < s->nnz; ++z) {
    int64_t p = sketch_find(from, s->row[z], s->col[z]), q = sketch_find(from, s->col[z], s->row[z]);
    number x = p < 0 ? 0 : a[p], y = q < 0 ? 0 : conj(a[q]);
    out[z] = is_hermitian(KIND(c)) ? (x + y) / 2 : x;
  }
}

static void factors_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *s = place_of(c);
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    number *h = scratch((size_t)(s->nnz + 1) * sizeof *h), *lu = scratch((size_t)(s->nnz + 1) * sizeof *lu);
    number *first = walk_item(&w, &out[0], 1), *second = outputs(KIND(c)) > 1 ? walk_item(&w, &out[1], 1) : NULL;
    values_on(c, s, walk_item(&w, &in[0], 1), h);
    eliminate_values(s, h, lu);
    for (int64_t z = 0; z < s->nnz; ++z) {
      number d = creal(lu[sketch_find(s, s->col[z], s->col[z])]);
      if (s->row[z] >= s->col[z]) *first++ = (s->row[z] == s->col[z] ? 1 : lu[z]) * (second ? 1 : csqrt(d));
      if (KIND(c) == LDLT && s->row[z] == s->col[z]) *second++ = d;
      if (!is_hermitian(KIND(c)) && s->row[z] <= s->col[z]) *second++ = lu[z];
    }
  }
}

static lac_dtype factors_dtype(const op_case *c, int output, lac_dtype dtype) {
  return KIND(c) == LDLT && output == 1 ? op_real_dtype(c, output, dtype) : dtype;
}

static op_case factors_case(factoring kind, const sketch *s, const char *batch) {
  op_case c = {.op = "lu_values", .patterns = {s}, .apply = factors_apply, .dense = factors_dense, .slack = 16};
  c.i[0] = kind, c.fill = eliminate_fill, c.result_dtype = factors_dtype, c.fixed[0] = 1;
  const sketch *place = place_of(&c);
  c.shapes[0] = op_text("%snnz", batch), c.result[0] = op_text("%s%lld", batch, (long long)count_triangle(place, true));
  if (kind == LDLT) c.result[1] = op_text("%s%lld", batch, (long long)s->rows);
  if (kind == LU || kind == ILU0) {
    c.result[1] = op_text("%s%lld", batch, (long long)count_triangle(place, false));
  }
  return c;
}

/// All but the failing allocations, of which an analysis has hundreds.
static void check_factors(lac_context *ctx, factoring kind, const sketch *s, const char *batch) {
  op_case c = factors_case(kind, s, batch);
  c.skip = OP_MEMORY;
  check_op(ctx, &c);
}

static void factors_differentiate(lac_context *ctx) {
  for (int kind = LU; kind <= IC0; ++kind) check_factors(ctx, (factoring)kind, sketch_square(4, 0.4, 1), "");
}

static void factors_take_batches_and_symmetric_patterns(lac_context *ctx) {
  for (int kind = LU; kind <= IC0; ++kind) check_factors(ctx, (factoring)kind, sketch_symmetric(4, 0.4, 2), "2,");
}

static void factors_of_small_and_empty_matrices(lac_context *ctx) {
  for (int kind = LU; kind <= IC0; ++kind) {
    check_factors(ctx, (factoring)kind, sketch_square(1, 1, 1), "");
    check_factors(ctx, (factoring)kind, sketch_empty(0, 0), "");
    check_factors(ctx, (factoring)kind, sketch_square(3, 0.5, 1), "0,");
  }
}

static void factors_leak_nothing_where_an_allocation_fails(lac_context *ctx) {
  for (int kind = CHOLESKY; kind <= IC0; ++kind) {
    op_case c = factors_case((factoring)kind, sketch_square(2, 0.5, 1), "");
    c.skip = ~(uint32_t)OP_MEMORY, c.dtypes = 1u << LAC_C128;
    check_op(ctx, &c);
  }
}

// -- in an order -----------------------------------------------------------------------------------------------------

/// A five-point grid of n x n.
static const sketch *sketch_grid(int64_t n) {
  sketch *s = scratch(sizeof *s);
  *s = (sketch){n * n, n * n, 0, scratch((size_t)(n * n) * 40), scratch((size_t)(n * n) * 40)};
  for (int64_t i = 0; i < n * n; ++i) {
    const int64_t to[] = {i >= n ? i - n : -1, i % n ? i - 1 : -1, i, i % n < n - 1 ? i + 1 : -1,
                          i + n < n * n ? i + n : -1};
    for (int k = 0; k < 5; ++k) {
      if (to[k] >= 0) s->row[s->nnz] = i, s->col[s->nnz++] = to[k];
    }
  }
  return s;
}

/// The largest difference between A[order, order] and what the factors multiply to, on the whole square.
static double product_error(lac_context *ctx, const op_case *c) {
  const sketch *s = c->patterns[0];
  int64_t n = s->rows;
  lac_meta meta = op_shape(c, LAC_C128, "nnz");
  ref a = ref_new(&meta), l = {0}, u = {0};
  lac_pattern *p = NULL, *filled = NULL, *patterns[2] = {NULL, NULL};
  lac_map *steps = NULL;
  lac_array *values = NULL;
  lac_tape *tape = NULL;
  lac_var out[2] = {{0}};
  ref_random(&a, 3, 1);
  eliminate_fill(c, 0, &a);
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_pattern_fill(ctx, p, (lac_ordering)c->i[1], &filled, NULL, &steps));
  CHECK_OK(ref_upload(ctx, &a, &values));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  factor(tape, c, p, lac_tape_constant(tape, values), patterns, out);
  CHECK_OK(lac_tape_status(tape));
  CHECK_OK(ref_download(ctx, lac_tape_value(tape, out[0]), &l));
  if (KIND(c) == LU) CHECK_OK(ref_download(ctx, lac_tape_value(tape, out[1]), &u));
  dense lower = dense_new(n, n), upper = dense_new(n, n), whole = dense_matrix(s, a.x);
  int64_t *row = scratch(8 * (size_t)l.count), *col = scratch(8 * (size_t)l.count), *order = scratch(8 * (size_t)n);
  lac_pattern_read(patterns[0], NULL, col, row);
  for (int64_t z = 0; z < l.count; ++z) lower.x[row[z] * n + col[z]] = l.x[z];
  if (KIND(c) == LU) {
    lac_pattern_read(patterns[1], NULL, col, row);
    for (int64_t z = 0; z < u.count; ++z) upper.x[row[z] * n + col[z]] = u.x[z];
  }
  dense product = dense_mul(lower, KIND(c) == LU ? upper : dense_side(lower, LAC_ADJOINT));
  double worst = 0;
  lac_map_read(steps, order);
  for (int64_t z = 0; z < n * n; ++z) {
    int64_t i = order[z / n], j = order[z % n];
    number want = whole.x[i * n + j];
    if (KIND(c) != LU) want = (want + conj(whole.x[j * n + i])) / 2;
    worst = fmax(worst, cabs(product.x[z] - want));
  }
  CHECK(lac_pattern_nnz(patterns[0]) * 2 - n == lac_pattern_nnz(filled));
  lac_tape_destroy(&tape);
  lac_array_destroy(&values);
  lac_map_destroy(&steps);
  for (int i = 0; i < 2; ++i) lac_pattern_destroy(&patterns[i]);
  lac_pattern_destroy(&filled);
  lac_pattern_destroy(&p);
  return worst;
}

static void factors_multiply_to_the_matrix_in_its_order(lac_context *ctx) {
  if (!check_claimed("lu_values")) return;
  for (int order = LAC_ORDER_AMD; order <= LAC_ORDER_NATURAL; order += LAC_ORDER_NATURAL - LAC_ORDER_AMD) {
    op_case lu = {.op = "lu_values", .patterns = {sketch_square(24, 0.06, 4)}, .i = {LU, order}};
    op_case cholesky = {.op = "lu_values", .patterns = {sketch_grid(6)}, .i = {CHOLESKY, order}};
    CHECK(product_error(ctx, &lu) < 1e-14);
    CHECK(product_error(ctx, &cholesky) < 1e-14);
  }
}

static int64_t fill_of(lac_context *ctx, const lac_pattern *p, lac_ordering ordering) {
  lac_pattern *filled = NULL;
  CHECK_OK(lac_pattern_fill(ctx, p, ordering, &filled, NULL, NULL));
  int64_t nnz = lac_pattern_nnz(filled);
  lac_pattern_destroy(&filled);
  return nnz;
}

static void the_fill_is_that_of_the_textbook_and_an_order_makes_it_less(lac_context *ctx) {
  const sketch *s = sketch_grid(12);
  lac_pattern *p = NULL, *filled = NULL, *again = NULL;
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  CHECK_EQ(fill_of(ctx, p, LAC_ORDER_NATURAL), sketch_closed(s)->nnz);
  CHECK(fill_of(ctx, p, LAC_ORDER_AMD) < fill_of(ctx, p, LAC_ORDER_NATURAL) * 3 / 4);
  CHECK_OK(lac_pattern_fill(ctx, p, LAC_ORDER_NATURAL, &filled, NULL, NULL));
  CHECK_OK(lac_pattern_fill(ctx, filled, LAC_ORDER_NATURAL, &again, NULL, NULL));
  CHECK(again == filled);  // closed, it is its own
  lac_pattern_destroy(&again);
  CHECK_FAILS(lac_pattern_fill(ctx, p, (lac_ordering)9, &again, NULL, NULL), LAC_ERR_ARG, "unknown ordering 9");
  lac_pattern_destroy(&filled);
  lac_pattern_destroy(&p);
  CHECK_OK(sketch_pattern(ctx, sketch_random(3, 4, 0.5, 1), LAC_WIDTH_AUTO, &p));
  CHECK_FAILS(lac_pattern_fill(ctx, p, LAC_ORDER_AMD, &again, NULL, NULL), LAC_ERR_SHAPE, "must be square");
  lac_pattern_destroy(&p);
}

// -- what is refused -------------------------------------------------------------------------------------------------

/// Factor [[1, 2], [2, d]] behind a row of its own, in the order that AMD gives.
static lac_status factor_small(lac_context *ctx, factoring kind, double d) {
  static int64_t row[] = {0, 1, 1, 2, 2}, col[] = {0, 1, 2, 1, 2};
  static const sketch s = {.rows = 3, .cols = 3, .nnz = 5, .row = row, .col = col};
  double values[] = {5, 1, 2, 2, d};
  lac_pattern *p = NULL;
  lac_array *a = NULL;
  lac_tape *tape = NULL;
  lac_var out[2];
  CHECK_OK(sketch_pattern(ctx, &s, LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &s.nnz, values, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  factor(tape, &(op_case){.i = {kind, LAC_ORDER_AMD}}, p, lac_tape_leaf(tape, a), NULL, out);
  lac_status status = check_late(ctx, lac_tape_status(tape));
  lac_tape_destroy(&tape);
  lac_array_destroy(&a);
  lac_pattern_destroy(&p);
  return status;
}

static void cholesky_names_the_row_that_is_not_positive_definite(lac_context *ctx) {
  if (!check_claimed("lu_values")) return;
  CHECK_OK(factor_small(ctx, CHOLESKY, 4.5));
  CHECK_OK(factor_small(ctx, LDLT, 3));
  CHECK_FAILS(factor_small(ctx, CHOLESKY, -3), LAC_ERR_DEFINITE, "in row");
  CHECK_FAILS(factor_small(ctx, IC0, 3), LAC_ERR_DEFINITE, "pivot -1 in row 2");
}

static void factors_refuse_what_is_not_square(lac_context *ctx) {
  if (!check_claimed("lu_values")) return;
  for (int kind = LU; kind <= IC0; ++kind) {
    lac_pattern *p = NULL;
    lac_tape *tape = NULL;
    lac_var out[2];
    CHECK_OK(sketch_pattern(ctx, sketch_random(3, 4, 0.5, 1), LAC_WIDTH_AUTO, &p));
    CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
    factor(tape, &(op_case){.i = {kind}}, p, lac_tape_scalar(tape, LAC_F64, 1, 0), NULL, out);
    CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "must be square");
    lac_tape_destroy(&tape);
    lac_pattern_destroy(&p);
  }
}

CHECK_MAIN(factors_differentiate, factors_take_batches_and_symmetric_patterns, factors_of_small_and_empty_matrices,
           factors_leak_nothing_where_an_allocation_fails, factors_multiply_to_the_matrix_in_its_order,
           the_fill_is_that_of_the_textbook_and_an_order_makes_it_less,
           cholesky_names_the_row_that_is_not_positive_definite, factors_refuse_what_is_not_square)
