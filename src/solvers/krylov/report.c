// SPDX-License-Identifier: Apache-2.0
/// @file report.c
/// How a Krylov method ended, as numbers and as a sentence.

#include <stdio.h>

#include "core/finite.h"
#include "solvers/krylov/frame.h"

static lac_pair seen(const krylov *k, int slot, int64_t column) { return k->seen[slot * k->columns + column]; }

static double relative(double norm, double b) { return b == 0 ? 0 : norm / b; }

static int64_t count_of(const krylov *k, int64_t column) {
  return k->job->spent + (int64_t)seen(k, LAC_SLOT_COUNT, column).re;
}

static lac_ending ending_of(const krylov *k, int64_t column) {
  switch ((lac_column_status)seen(k, LAC_SLOT_STATUS, column).re) {
    case LAC_COLUMN_CONVERGED:
      return LAC_ENDING_CONVERGED;
    case LAC_COLUMN_STAGNATED:
      return LAC_ENDING_STAGNATED;
    case LAC_COLUMN_BROKE_DOWN:
      return LAC_ENDING_BROKE_DOWN;
    case LAC_COLUMN_DIVERGED:
      return LAC_ENDING_DIVERGED;
    default:
      return k->is_stopped ? LAC_ENDING_INTERRUPTED : LAC_ENDING_LIMIT;
  }
}

/// The sentence of a fault, with %g for the quantity.
static const char *fault_text(lac_column_fault fault) {
  switch (fault) {
    case LAC_FAULT_CURVATURE:
      return "(p, A p) = %g is not positive: the matrix is not Hermitian positive definite";
    case LAC_FAULT_PRECONDITIONER:
      return "(r, M^-1 r) = %g is not positive: the preconditioner is not definite";
    case LAC_FAULT_SINGULAR:
      return "the matrix (norm about %g) is singular on the Krylov space";
    case LAC_FAULT_SHADOW:
      return "(r0, r) = %g is zero relative to the norms of both";
    case LAC_FAULT_STABILISER:
      return "(A s, s) = %g is zero relative to the norms of both";
    case LAC_FAULT_NORMAL:
      return "A^H r is %g of |A| |r|: this is the least-squares solution, and b is not in the range";
    case LAC_FAULT_ROUNDING:
      return "attained: the residual is rounding, %g of |A| |x|, and no solution in this precision has a smaller one";
    case LAC_FAULT_CLAIMS:
      return "the true residual stopped falling while the recurrence went on, for %g iterations";
    default:
      return "it has not fallen by a hundredth for %g iterations";
  }
}

static void fault_tell(const krylov *k, int64_t column, char *text, size_t size) {
  const char *format = fault_text((lac_column_fault)seen(k, LAC_SLOT_STATUS, column).im);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  (void)snprintf(text, size, format, seen(k, LAC_SLOT_DETAIL, column).re);
#pragma GCC diagnostic pop
}

/// The first row of a column of vectors [items, rows, width] that is not finite, or -1; also where no memory is left to
/// look.
static int64_t nonfinite_row(const krylov *k, const lac_array *vectors, int64_t column) {
  int64_t rows = vectors->meta.shape[1], width = k->job->width, row = -1, item;
  size_t size = lac_dtype_size(vectors->meta.dtype);
  char *host = lac_alloc((size_t)vectors->count * size);

  if (host && lac_array_fetch(k->ctx, vectors, host) == LAC_OK) {
    const char *at = host + (size_t)(column / width * rows * width + column % width) * size;
    for (int64_t i = 0; i < rows && row < 0; ++i, at += (size_t)width * size)
      if (lac_nonfinite_first(k->ctx, vectors->meta.dtype, at, 1, 1, &item) == 0) row = i;
  }
  lac_free(host);
  return row;
}

/// Which number was not finite.
static void nonfinite_tell(const krylov *k, int64_t column, char *text, size_t size) {
  int64_t of_b = nonfinite_row(k, k->job->b, column), of_start = k->start ? nonfinite_row(k, k->start, column) : -1;

  if (of_b >= 0 || of_start >= 0) {
    (void)snprintf(text, size, "NaN or infinity in row %lld of %s", (long long)(of_b >= 0 ? of_b : of_start),
                   of_b >= 0 ? "b" : "the start");
  } else {
    (void)snprintf(text, size, "NaN or infinity came up in the matrix or M; take another preconditioner or method");
  }
}

/// Why a column ended as it did.
static void why(const krylov *k, int64_t column, char *text, size_t size) {
  switch (ending_of(k, column)) {
    case LAC_ENDING_STAGNATED:
    case LAC_ENDING_BROKE_DOWN:
      fault_tell(k, column, text, size);
      break;
    case LAC_ENDING_CONVERGED:
      (void)snprintf(text, size, "converged");
      if (seen(k, LAC_SLOT_STATUS, column).im != LAC_FAULT_NONE) fault_tell(k, column, text, size);
      break;
    case LAC_ENDING_DIVERGED:
      if (seen(k, LAC_SLOT_STATUS, column).im == LAC_FAULT_RANGE) {
        (void)snprintf(text, size, "x has numbers that are too large for its dtype; scale b or the matrix");
      } else {
        nonfinite_tell(k, column, text, size);
      }
      break;
    case LAC_ENDING_INTERRUPTED:
      (void)snprintf(
          text, size, "%s",
          k->is_left ? "left, since another way is foreseen to be cheaper" : "the progress callback ended it");
      break;
    case LAC_ENDING_LIMIT:
      (void)snprintf(text, size, "the limit of iterations is reached");
      break;
  }
}

/// The name of a column, where there are several.
static const char *place(const krylov *k, int64_t column, char *text, size_t size) {
  int64_t width = k->job->width;
  text[0] = '\0';
  if (k->job->items > 1) {
    (void)snprintf(text, size, "matrix %lld, column %lld: ", (long long)(column / width), (long long)(column % width));
  } else if (width > 1) {
    (void)snprintf(text, size, "column %lld: ", (long long)column);
  }
  return text;
}

/// Of endings, the worse is the greater; an interruption is the greatest.
static int severity(lac_ending ending) { return (int)ending; }

// A rounding to this power of b is more than what ill-conditioned matrices of practice lose.
static const double LOST_POWER = 0.45;

void krylov_tell(const krylov *k, lac_solve_report *report) {
  int64_t worst = 0, largest = 0;
  double of_worst = -1;
  char cause[160], at[64];

  *report = (lac_solve_report){.ending = LAC_ENDING_CONVERGED};
  for (int64_t c = 0; c < k->columns; ++c) {
    double b = seen(k, LAC_SLOT_B, c).re, residual = relative(seen(k, LAC_SLOT_RESIDUAL, c).re, b);
    double first = relative(seen(k, LAC_SLOT_B, c).im, b);
    int64_t count = count_of(k, c);
    int more = severity(ending_of(k, c)) - severity(report->ending);
    if (krylov_is_worse(residual, report->residual)) report->residual = residual, largest = c;
    if (krylov_is_worse(first, report->first_residual)) report->first_residual = first;
    if (count > report->iterations) report->iterations = count;
    if (more > 0 || (more == 0 && krylov_is_worse(residual, of_worst)))
      report->ending = ending_of(k, c), worst = c, of_worst = residual;
  }
  if (report->ending != LAC_ENDING_CONVERGED && k->is_stopped) report->ending = LAC_ENDING_INTERRUPTED;
  if (k->lost > pow(k->numbers.epsilon, LOST_POWER)) {
    (void)snprintf(
        report->warning, sizeof report->warning,
        "the residual, %.1e of b, is rounding of A x: x is so large that few of its digits may be certain, as "
        "along a null space of A (iteration.null_space)",
        report->residual);
  }
  report->item = largest / k->job->width;
  report->column = largest % k->job->width;
  why(k, worst, cause, sizeof cause);
  double b = seen(k, LAC_SLOT_B, worst).re, residual = relative(seen(k, LAC_SLOT_RESIDUAL, worst).re, b);
  int length = snprintf(report->reason, sizeof report->reason, "%s%s", place(k, worst, at, sizeof at), cause);
  if (length > 0 && isfinite(residual)) {
    (void)snprintf(report->reason + length, sizeof report->reason - (size_t)length,
                   "; relative residual %.3g (asked: %.3g) after %lld iterations", residual,
                   relative(seen(k, LAC_SLOT_RESIDUAL, worst).im, b), (long long)count_of(k, worst));
  }
}
