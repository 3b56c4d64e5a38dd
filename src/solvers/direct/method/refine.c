// SPDX-License-Identifier: Apache-2.0
/// @file refine.c
/// Iterative refinement: solve, measure, correct.
///
///     r = b - A x,   x += A^-1 r
///     backward error = max_i |r_i| / (|A| |x| + |b|)_i        the denominator never below what underflow takes
///
/// A solution whose backward error is a few roundings is the exact solution of a system that differs from the given one
/// by as much, entry by entry, whatever the scale of rows and columns. This distinguishes a good factor from a useless
/// one: a threshold on pivots, or no pivoting at all, is safe because of it. Corrections go on while this error falls.
///
/// Where the factor is known to be stable the verdict is milder, after Arioli, Demmel and Duff (1989): a row whose
/// denominator is small relative to
///
///     s_i = ||A_i D^-1||_1 ||D x||_oo,   D_j = max_i |a_ij| / ||A_i||_oo
///
/// cannot do better than rounding of s_i where the matrix is nearly singular, since corrections of the large components
/// of x bring that much to all. So a row is also good whose residual is a few roundings of s_i, and where the
/// denominator is noise relative to s_i, as many as of the denominator elsewhere. Of a matrix that is singular to
/// working precision anything is a solution in this sense, so there the first does not hold. D makes s_i, like the
/// first measure, independent of the units of rows and columns. Residuals of single precision are summed in double.

#include "solvers/direct/method/refine.h"

#include <float.h>
#include <stdio.h>

#include "core/numbers/random.h"

// In roundings of the dtype: what a probe must come to, what is too bad to hand out, and which denominators are noise.
enum { REFINE_PROBED = 64, REFINE_BAD = 1000, REFINE_NOISE = 100, REFINE_STEPS = 10 };
enum { REFINE_SEED = 1 };  // of the numbers of a probe

// What a measurement gathers for each column.
typedef struct refine_gauge {
  double noise;                     // a denominator below this share of s_i is noise
  double few;                       // so many times fewer roundings of s_i are allowed where it is not
  double tiny;                      // the smallest normal number
  double norm;                      // of the matrix: the largest sum of a row
  double largest[LAC_BLOCK_WIDTH];  // of x; infinite where that is not finite
  double error[LAC_BLOCK_WIDTH];    // the backward error
  double mild[LAC_BLOCK_WIDTH];     // the milder one, no more than this: measured where that is bad and it counts
} refine_gauge;

static double refine_max(double a, double b) { return b <= a ? a : b; }  // NaN wins

static const double tiny_f32 = FLT_MIN, tiny_f64 = DBL_MIN, tiny_c64 = FLT_MIN, tiny_c128 = DBL_MIN;

#define KERNEL_FILE "solvers/direct/method/refine_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef void refine_measure_kernel(const lac_structure *, const void *, bool, int, const void *, const void *, void *,
                                   refine_gauge *);
typedef void refine_soften_kernel(const lac_structure *, const void *, bool, int, const void *, const void *,
                                  const void *, void *, refine_gauge *);
typedef void refine_largest_kernel(int64_t, int, const void *, double *);
typedef void refine_add_kernel(int64_t, const void *, void *);
typedef void refine_take_kernel(int32_t, int, int, const void *, void *);
typedef bool refine_finite_kernel(int32_t, int, int, const void *);
typedef void refine_sample_kernel(int32_t, const void *, void *);
static refine_measure_kernel *const refine_measure_kernels[] = TABLE(refine_measure);
static refine_soften_kernel *const refine_soften_kernels[] = TABLE(refine_soften);
static refine_largest_kernel *const refine_largest_kernels[] = TABLE(refine_largest);
static refine_add_kernel *const refine_add_kernels[] = TABLE(refine_add);
static refine_take_kernel *const refine_take_kernels[] = TABLE(refine_take);
static refine_finite_kernel *const refine_finite_kernels[] = TABLE(refine_is_finite);
static refine_sample_kernel *const refine_sample_kernels[] = TABLE(refine_sample);

static void refine_measure(const lac_system *a, lac_form form, int width, void **blocks, int x, refine_gauge *gauge) {
  refine_measure_kernels[a->dtype](a->structure, a->values, form == LAC_TRANSPOSED, width, blocks[REFINE_B], blocks[x],
                                   blocks[REFINE_R], gauge);
  for (int c = 0; c < width; c++) gauge->mild[c] = gauge->error[c];
}

static bool refine_is_bad(const lac_system *a, const refine_gauge *gauge, int c) {
  return gauge->error[c] > REFINE_BAD * lac_dtype_epsilon(a->dtype);
}

// The same with the milder errors of columns that are bad. The block to work in, which solves need no longer, has room
// for D.
static void refine_measure_mildly(const lac_system *a, lac_form form, int width, void **blocks, int x,
                                  refine_gauge *gauge) {
  bool is_bad = false;
  refine_measure(a, form, width, blocks, x, gauge);
  for (int c = 0; c < width; c++) is_bad = is_bad || refine_is_bad(a, gauge, c);
  if (!is_bad || !a->is_stable) return;
  gauge->few = a->is_regular ? (double)REFINE_BAD / REFINE_GOOD : (double)INFINITY;
  refine_soften_kernels[a->dtype](a->structure, a->values, form == LAC_TRANSPOSED, width, blocks[REFINE_B], blocks[x],
                                  blocks[REFINE_R], blocks[REFINE_WORK], gauge);
}

static lac_status refine_apply(const lac_system *a, lac_form form, int width, void **blocks, int b, int x,
                               lac_fault *fault) {
  return a->table->solve(a->analysis, a->numeric, form, width, a->threads, blocks[b], blocks[x], blocks[REFINE_WORK],
                         fault);
}

// What is judged in the end: the milder measure where the factor is stable.
static double refine_verdict(const lac_system *a, const refine_gauge *gauge, int c) {
  return a->is_stable ? gauge->mild[c] : gauge->error[c];
}

// Whether bad columns are so much better that the milder errors need not be asked.
static bool refine_is_plain(const lac_system *a, int width, const refine_gauge *gauge, const refine_gauge *after) {
  for (int c = 0; c < width; c++) {
    if (refine_is_bad(a, gauge, c) && !(after->error[c] < gauge->error[c] / 2)) return false;
  }
  return true;
}

// One correction. Columns that it betters take it; says whether it is worth another one.
static lac_status refine_step(const lac_system *a, lac_form form, int width, void **blocks, refine_gauge *gauge,
                              bool *is_worth, lac_fault *fault) {
  int32_t n = a->structure->n;
  refine_gauge after;
  lac_status status = refine_apply(a, form, width, blocks, REFINE_R, REFINE_Y, fault);

  *is_worth = false;
  if (status != LAC_OK) return status;
  refine_add_kernels[a->dtype]((int64_t)n * width, blocks[REFINE_X], blocks[REFINE_Y]);
  refine_measure(a, form, width, blocks, REFINE_Y, &after);
  if (!refine_is_plain(a, width, gauge, &after)) {
    refine_measure_mildly(a, form, width, blocks, REFINE_X, gauge);
    refine_measure_mildly(a, form, width, blocks, REFINE_Y, &after);
  }
  for (int c = 0; c < width; c++) {
    double before = refine_verdict(a, gauge, c);
    // Rows that are all noise keep the error where it is, while those that count are still mended.
    bool is_mended = before > REFINE_GOOD * lac_dtype_epsilon(a->dtype) && refine_verdict(a, &after, c) < before / 2;
    if (!(after.error[c] < gauge->error[c] || is_mended)) continue;
    *is_worth |= after.error[c] < gauge->error[c] / 2 || is_mended;
    gauge->error[c] = after.error[c];
    gauge->mild[c] = after.mild[c];
    gauge->largest[c] = after.largest[c];
    refine_take_kernels[a->dtype](n, width, c, blocks[REFINE_Y], blocks[REFINE_X]);
  }
  return LAC_OK;
}

static bool refine_is_good(const lac_system *a, int width, const refine_gauge *gauge) {
  for (int c = 0; c < width; c++) {
    if (gauge->error[c] > REFINE_GOOD * lac_dtype_epsilon(a->dtype)) return false;  // NaN is beyond mending
  }
  return true;
}

static lac_status refine_judge(const lac_system *a, int width, void **blocks, const refine_gauge *gauge,
                               lac_fault *fault) {
  int32_t n = a->structure->n;
  double bad = REFINE_BAD * lac_dtype_epsilon(a->dtype);
  for (int c = 0; c < width; c++) {
    double error = refine_verdict(a, gauge, c);
    bool is_finite = isfinite(gauge->largest[c]) || refine_finite_kernels[a->dtype](n, width, c, blocks[REFINE_X]);
    if (is_finite && error <= bad) continue;
    if (is_finite) {
      snprintf(fault->text, sizeof fault->text, "the backward error stays at %.2e (at most %.2e is accepted in %s)",
               error, bad, lac_dtype_name(a->dtype));
      return LAC_ERR_CONVERGENCE;
    }
    if (!refine_finite_kernels[a->dtype](n, width, c, blocks[REFINE_B])) continue;
    snprintf(fault->text, sizeof fault->text, "the solution overflows %s", lac_dtype_name(a->dtype));
    return LAC_ERR_NONFINITE;
  }
  return LAC_OK;
}

static lac_status refine_run(const lac_system *a, lac_form form, int width, void *blocks[REFINE_BLOCKS],
                             refine_gauge *gauge, lac_fault *fault) {
  bool is_worth = true, is_bad = false;
  lac_status status = refine_apply(a, form, width, blocks, REFINE_B, REFINE_X, fault);

  if (status != LAC_OK) return status;
  refine_measure(a, form, width, blocks, REFINE_X, gauge);
  for (int step = 0; is_worth && step < REFINE_STEPS && !refine_is_good(a, width, gauge); step++) {
    if (lac_stop_is_set(a->stop)) return lac_fault_interrupted(fault);
    status = refine_step(a, form, width, blocks, gauge, &is_worth, fault);
    if (status != LAC_OK) return status;
  }
  for (int c = 0; c < width; c++) is_bad = is_bad || refine_is_bad(a, gauge, c);
  if (is_bad) refine_measure_mildly(a, form, width, blocks, REFINE_X, gauge);
  return LAC_OK;
}

lac_status lac_refine_solve(const lac_system *a, lac_form form, int width, void *blocks[REFINE_BLOCKS],
                            lac_refined *out, lac_fault *fault) {
  refine_gauge gauge;
  double given[LAC_BLOCK_WIDTH] = {0};
  lac_status status = refine_run(a, form, width, blocks, &gauge, fault);
  if (out && status == LAC_OK) refine_largest_kernels[a->dtype](a->structure->n, width, blocks[REFINE_B], given);
  for (int c = 0; out && status == LAC_OK && c < width; c++) {
    bool has_size = gauge.largest[c] > 0 && isfinite(gauge.largest[c]);
    out->growth[c] = has_size ? gauge.norm * gauge.largest[c] / given[c] : 0;
    out->error[c] = refine_verdict(a, &gauge, c);
  }
  return status == LAC_OK ? refine_judge(a, width, blocks, &gauge, fault) : status;
}

// -- probe -----------------------------------------------------------------------------------------------------------

lac_status lac_refine_probe(const lac_system *a, bool both, const void *row_scale, const void *col_scale, double *error,
                            lac_fault *fault) {
  lac_status status = LAC_OK;
  size_t block = (size_t)a->structure->n * lac_dtype_size(a->dtype);
  char *memory = lac_alloc(REFINE_BLOCKS * block);
  void *blocks[REFINE_BLOCKS];

  *error = 0;
  if (!memory) {
    snprintf(fault->text, sizeof fault->text, "out of memory: %zu bytes to probe a factor", REFINE_BLOCKS * block);
    return LAC_ERR_MEMORY;
  }
  for (int i = 0; i < REFINE_BLOCKS; i++) blocks[i] = memory + (size_t)i * block;
  for (int form = LAC_PLAIN; form <= (both ? LAC_TRANSPOSED : LAC_PLAIN) && status == LAC_OK; form++) {
    refine_gauge gauge = {0};
    refine_sample_kernels[a->dtype](a->structure->n, form == LAC_PLAIN ? row_scale : col_scale, blocks[REFINE_B]);
    status = refine_run(a, (lac_form)form, 1, blocks, &gauge, fault);
    *error = refine_max(*error, gauge.error[0]);
  }
  if (status == LAC_OK && !(*error <= REFINE_PROBED * lac_dtype_epsilon(a->dtype))) {
    snprintf(fault->text, sizeof fault->text, "the backward error of a probe stays at %.1e", *error);
    status = LAC_ERR_CONVERGENCE;
  }
  lac_free(memory);
  return status;
}
