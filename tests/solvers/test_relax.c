// SPDX-License-Identifier: Apache-2.0
/// The simple preconditioners, beside dense formulas: every form, dtype, batch and width.

#include <math.h>
#include <string.h>

#include "solvers/eigen/tridiagonal.h"
#include "solvers/precondition/relax.h"
#include "support/iterative_case.h"
#include "support/direct_case.h"
#include "support/relax_case.h"
#include "support/scratch.h"

static dense identity_inverse(dense a, const lac_precondition *p) {
  dense m = dense_new(a.rows, a.rows);
  (void)p;
  for (int64_t i = 0; i < a.rows; i++) m.x[i * a.rows + i] = 1;
  return m;
}

static const relax_case identity = {
    .table = &lac_preconditioner_identity, .inverse = identity_inverse, .scale_power = 0};

static dense jacobi_inverse(dense a, const lac_precondition *p) {
  dense m = dense_new(a.rows, a.rows);
  (void)p;
  for (int64_t i = 0; i < a.rows; i++) m.x[i * a.rows + i] = 1 / a.x[i * a.rows + i];
  return m;
}

// (1 + w L D^-1)^-1 and so on, as they stand in the textbook: M = (D/w + L) (w/(2-w) D^-1) (D/w + U).
static dense ssor_inverse(dense a, const lac_precondition *p) {
  int64_t n = a.rows;
  double w = p->omega > 0 ? p->omega : 1;
  dense lower = dense_new(n, n), upper = dense_new(n, n), middle = dense_new(n, n);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) (j < i ? lower : upper).x[i * n + j] = i == j ? a.x[i * n + j] / w : a.x[i * n + j];
    lower.x[i * n + i] = a.x[i * n + i] / w;
    middle.x[i * n + i] = w / (2 - w) / a.x[i * n + i];
  }
  return dense_inverse(dense_mul(lower, dense_mul(middle, upper)));
}

// Elimination, which leaves places of zeros alone; the tests' matrices store no zeros.
static dense incomplete(dense a, dense *upper) {
  int64_t n = a.rows;
  dense lu = dense_new(n, n), lower = dense_new(n, n);
  dense_copy_to(a, lu.x);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < i; k++) {
      if (a.x[i * n + k] == 0) continue;
      lu.x[i * n + k] /= lu.x[k * n + k];
      for (int64_t j = k + 1; j < n; j++) {
        if (a.x[i * n + j] != 0) lu.x[i * n + j] -= lu.x[i * n + k] * lu.x[k * n + j];
      }
    }
  }
  *upper = dense_new(n, n);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) (j < i ? lower : *upper).x[i * n + j] = lu.x[i * n + j];
    lower.x[i * n + i] = 1;
  }
  return lower;
}

static dense incomplete_inverse(dense a, const lac_precondition *p) {
  dense upper, lower = incomplete(a, &upper);
  (void)p;
  return dense_inverse(dense_mul(lower, upper));
}

// The shift that Kershaw's matrix needs: 1e-3 4^t, the first with positive pivots.
static dense shifted_inverse(dense a, const lac_precondition *p) {
  int64_t n = a.rows;
  for (double shift = 1e-3; shift < 100; shift *= 4) {
    dense more = dense_new(n, n), upper;
    int is_positive = 1;
    dense_copy_to(a, more.x);
    for (int64_t i = 0; i < n; i++) more.x[i * n + i] *= 1 + shift;
    (void)incomplete(more, &upper);
    for (int64_t i = 0; i < n; i++) is_positive = is_positive && creal(upper.x[i * n + i]) > 0;
    if (is_positive) return incomplete_inverse(more, p);
  }
  return a;
}

static dense block_inverse(dense a, const lac_precondition *p) {
  int64_t n = a.rows, size = p->block > 0 ? p->block : 8;
  dense blocks = dense_new(n, n);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      if (i / size == j / size) blocks.x[i * n + j] = a.x[i * n + j];
    }
  }
  return dense_inverse(blocks);
}

// The estimate is the library's own, looked at by a test of its own below.
static double largest_of(lac_context *ctx, dense a) {
  int64_t n = a.rows, *row = scratch((size_t)(n * n) * sizeof *row + 1),
          *col = scratch((size_t)(n * n) * sizeof *col + 1);
  sketch s = {n, n, 0, row, col};
  int is_hermitian = 1;
  ref values = ref_new(&(lac_meta){.dtype = LAC_C128, .ndim = 2, .shape = {1, n * n}});
  double largest = 0;
  relax_setup r;
  for (int64_t p = 0; p < n * n; p++) {
    is_hermitian = is_hermitian && a.x[p] == conj(a.x[p % n * n + p / n]);
    if (a.x[p] == 0) continue;
    row[s.nnz] = p / n, col[s.nnz] = p % n;
    values.x[s.nnz++] = a.x[p];
  }
  values.meta.shape[1] = values.count = s.nnz;
  relax_open(ctx, &identity, &s, &values, is_hermitian, &r);
  CHECK_OK(lac_relax_largest(ctx, &r.setup, &largest));
  relax_close(&r);
  return largest;
}

static lac_context *inside;

// T_d((1 - 2 (z - a) / (b - a))) / T_d(sigma), as a recurrence of matrices: M^-1 = (1 - that) A^-1.
static dense chebyshev_inverse(dense a, const lac_precondition *p) {
  int64_t n = a.rows, degree = p->degree > 0 ? p->degree : 2;
  dense z = dense_mul(jacobi_inverse(a, p), a), now = dense_new(n, n), old = dense_new(n, n), left = dense_new(n, n);
  double most = n > 0 ? largest_of(inside, a) : 1, high = 1.1 * most, low = most / 30,
         sigma = (high + low) / (high - low);
  double t_now = sigma, t_old = 1;
  for (int64_t i = 0; i < n * n; i++) {
    double one = i / n == i % n;
    z.x[i] = ((high + low) * one - 2 * z.x[i]) / (high - low);
    now.x[i] = z.x[i];
    old.x[i] = one;
  }
  for (int64_t k = 1; k < degree; k++) {
    dense next = dense_mul(z, now);
    for (int64_t i = 0; i < n * n; i++) next.x[i] = 2 * next.x[i] - old.x[i];
    old = now, now = next;
    double t = 2 * sigma * t_now - t_old;
    t_old = t_now, t_now = t;
  }
  for (int64_t i = 0; i < n * n; i++) left.x[i] = (i / n == i % n) - now.x[i] / t_now;
  return dense_mul(left, dense_inverse(a));
}

static const relax_case jacobi = {.table = &lac_preconditioner_jacobi, .inverse = jacobi_inverse, .scale_power = -1};

static const relax_case ssor = {.table = &lac_preconditioner_ssor, .inverse = ssor_inverse, .scale_power = -1};
static const relax_case over = {
    .table = &lac_preconditioner_ssor, .options = {.omega = 1.4}, .inverse = ssor_inverse, .scale_power = -1};
static const relax_case ilu0 = {.table = &lac_preconditioner_ilu0, .inverse = incomplete_inverse, .scale_power = -1};
static const relax_case ic0 = {
    .table = &lac_preconditioner_ic0, .inverse = incomplete_inverse, .hermitian_only = 1, .scale_power = -1};
static const relax_case shifted = {.table = &lac_preconditioner_ic0, .inverse = shifted_inverse};
static const relax_case blocks = {
    .table = &lac_preconditioner_block_jacobi, .inverse = block_inverse, .scale_power = -1};
static const relax_case threes = {
    .table = &lac_preconditioner_block_jacobi, .options = {.block = 3}, .inverse = block_inverse, .scale_power = -1};

static void identity_is_nothing(lac_context *ctx) { relax_check(ctx, &identity); }

static void jacobi_divides_by_the_diagonal(lac_context *ctx) { relax_check(ctx, &jacobi); }

static void jacobi_names_a_row_without_a_diagonal(lac_context *ctx) {
  relax_refuses(ctx, &jacobi, 3, (const double[]){2, 1, 0, 1, 2, 1, 0, 1, 0}, LAC_ERR_SINGULAR, "row 2 in matrix 0");
}

static void ssor_sweeps_down_and_up(lac_context *ctx) {
  if (!check_claimed("ssor")) return;
  relax_check(ctx, &ssor);
  relax_check(ctx, &over);
}

static void ssor_refuses_other_factors_and_zeros(lac_context *ctx) {
  if (!check_claimed("ssor")) return;
  relax_case wrong = ssor;
  static const double full[] = {2, 1, 1, 2}, zero[] = {2, 1, 1, 0};
  for (int i = 0; i < 3; i++) {
    wrong.options.omega = (const double[]){-1, 2, NAN}[i];
    relax_refuses(ctx, &wrong, 2, full, LAC_ERR_ARG, "between 0 and 2");
  }
  relax_refuses(ctx, &ssor, 2, zero, LAC_ERR_SINGULAR, "row 1 in matrix 0");
}

static void ilu0_is_elimination_on_the_pattern(lac_context *ctx) {
  if (!check_claimed("ilu0")) return;
  relax_check(ctx, &ilu0);
}

static void ilu0_names_its_pivots(lac_context *ctx) {
  if (!check_claimed("ilu0")) return;
  relax_refuses(ctx, &ilu0, 3, (const double[]){1, 1, 0, 1, 1, 1, 0, 1, 1}, LAC_ERR_SINGULAR, "row 1 in matrix 0");
  relax_refuses(ctx, &ilu0, 2, (const double[]){1, 1, 1, 1}, LAC_ERR_SINGULAR, "row 1 in matrix 0");
  relax_refuses(ctx, &ilu0, 2, (const double[]){1, 1, 1, 0}, LAC_ERR_SINGULAR, "row 1 has no entry on the diagonal");
}

static void ic0_is_its_hermitian_form(lac_context *ctx) {
  if (!check_claimed("ic0")) return;
  relax_check(ctx, &ic0);
}

static void ic0_shifts_where_a_pivot_is_not_positive(lac_context *ctx) {
  if (!check_claimed("ic0")) return;
  // Kershaw's matrix: positive definite, its incomplete factor is not.
  static const double kershaw[] = {3, -2, 0, 2, -2, 3, -2, 0, 0, -2, 3, -2, 2, 0, -2, 3};
  static const double indefinite[] = {1, 2, 2, -1};
  lac_setup_figures finding = relax_takes(ctx, &shifted, 4, kershaw, 1);
  CHECK(strstr(finding.warning, "the diagonal was enlarged"));
  relax_case nonsymmetric = ic0;
  relax_refuses(ctx, &nonsymmetric, 2, (const double[]){2, 1, 1, 2}, LAC_ERR_SYMMETRY, "use ilu0");
  nonsymmetric.is_hermitian = 1;
  relax_refuses(ctx, &nonsymmetric, 2, indefinite, LAC_ERR_DEFINITE, "row 1 in matrix 0");
}

static void block_jacobi_inverts_blocks(lac_context *ctx) {
  relax_check(ctx, &blocks);
  relax_check(ctx, &threes);
}

static void block_jacobi_pivots_and_names_singular_blocks(lac_context *ctx) {
  static const double turned[] = {0, 2, 0, 0, 4, 0, 0, 0, 0, 0, 3, 1, 0, 0, 3, 1};
  static const double turned_well[] = {1e-30, 2e-30, 4e30, 5e-30};
  relax_case pairs = threes;
  pairs.options.block = 2;
  relax_refuses(ctx, &pairs, 4, turned, LAC_ERR_SINGULAR, "rows 2 to 3 in matrix 0");
  relax_takes(ctx, &pairs, 2, turned_well, 0);
  pairs.options.block = -1;
  relax_refuses(ctx, &pairs, 4, turned, LAC_ERR_ARG, "block = -1");
}

/// Four full blocks of 3 x 3 along the diagonal: blocks of 3 rows are all of the matrix, blocks of 8 cut one in two.
static void block_jacobi_takes_the_blocks_of_the_structure(lac_context *ctx) {
  double full[144] = {0};
  for (int i = 0; i < 12; i++) {
    for (int j = i / 3 * 3; j < i / 3 * 3 + 3; j++) full[12 * i + j] = i == j ? 4 : 1 + 0.1 * i;
  }
  direct_case c = direct_small(12, full, LAC_F64);
  lac_solver_options options = iterative_options("block_jacobi", "auto");
  iterative_system s = iterative_open(ctx, &c, &options);
  CHECK(iterative_residual(ctx, &c, s.factor, LAC_PLAIN, 2) <= 1e-14);
  iterative_close(&s);
}

static void chebyshev_is_its_polynomial(lac_context *ctx) {
  if (!check_claimed("chebyshev")) return;
  inside = ctx;
  for (int degree = 0; degree < 5; degree++) {
    relax_case c = {.table = &lac_preconditioner_chebyshev, .inverse = chebyshev_inverse, .scale_power = -1};
    c.options.degree = degree;
    c.roundings = 2000;
    relax_check(ctx, &c);
  }
}

static void chebyshev_refuses_zeros_on_the_diagonal(lac_context *ctx) {
  relax_case c = {.table = &lac_preconditioner_chebyshev};
  relax_refuses(ctx, &c, 2, (const double[]){0, 1, 1, 2}, LAC_ERR_SINGULAR, "row 0 in matrix 0");
  c.options.degree = -1;
  relax_refuses(ctx, &c, 2, (const double[]){2, 1, 1, 2}, LAC_ERR_ARG, "degree = -1");
}

static void the_largest_eigenvalue_is_found_nearly(lac_context *ctx) {
  if (!check_claimed("chebyshev")) return;
  for (int64_t side = 3; side < 70; side *= 2) {  // the grid's is 1 + cos(pi / (side + 1))
    direct_case c = direct_make(DIRECT_POISSON, side * side, LAC_F64, 1);
    ref values = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {1, c.s->nnz}});
    double largest = 0, exact = 1 + cos(3.14159265358979323846 / (double)(side + 1));
    relax_setup r;
    memcpy(values.x, c.a.x, (size_t)values.count * sizeof *values.x);
    for (int is_hermitian = 0; is_hermitian < 2; is_hermitian++) {
      relax_open(ctx, &identity, c.s, &values, is_hermitian, &r);
      CHECK_OK(lac_relax_largest(ctx, &r.setup, &largest));
      CHECK(largest <= 2.0000001);
      CHECK(largest >= (is_hermitian ? 0.98 : 1) * exact);
      relax_close(&r);
    }
  }
}

static void tridiagonal_matrices_have_their_eigenvalues(lac_context *ctx) {
  (void)ctx;
  for (int64_t n = 1; n <= 40; n++) {  // 2 -1: 2 - 2 cos(k pi / (n + 1)), weights 2 / (n + 1) sin^2
    double d[40], e[40], first[40], angle = 3.14159265358979323846 / (double)(n + 1);
    for (int64_t i = 0; i < n; i++) d[i] = 2, e[i] = -1;
    CHECK(lac_tridiagonal_eigen(n, d, e, first));
    for (int64_t k = 1; k <= n; k++) {
      double exact = 2 - 2 * cos((double)k * angle), best = INFINITY, weight = 0;
      for (int64_t i = 0; i < n; i++) {
        if (fabs(d[i] - exact) < best) best = fabs(d[i] - exact), weight = first[i] * first[i];
      }
      CHECK(best < 1e-13);
      CHECK(fabs(weight - 2 / (double)(n + 1) * pow(sin((double)k * angle), 2)) < 1e-13);
    }
  }
  double d[] = {1, NAN}, e[] = {1, 0};
  CHECK(!lac_tridiagonal_eigen(2, d, e, NULL));
}

CHECK_MAIN(identity_is_nothing, jacobi_divides_by_the_diagonal, jacobi_names_a_row_without_a_diagonal,
           ssor_sweeps_down_and_up, ssor_refuses_other_factors_and_zeros, ilu0_is_elimination_on_the_pattern,
           ilu0_names_its_pivots, ic0_is_its_hermitian_form, ic0_shifts_where_a_pivot_is_not_positive,
           block_jacobi_inverts_blocks, block_jacobi_pivots_and_names_singular_blocks,
           block_jacobi_takes_the_blocks_of_the_structure, chebyshev_is_its_polynomial,
           chebyshev_refuses_zeros_on_the_diagonal, the_largest_eigenvalue_is_found_nearly,
           tridiagonal_matrices_have_their_eigenvalues)
