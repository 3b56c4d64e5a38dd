// SPDX-License-Identifier: Apache-2.0
/// @file rounding.c
/// Residuals that rounding of A x does not let fall any further.
///
///     |r| <= 4 eps (|A| |x| + |b|)     as small as that of a direct solution, where eps |A| |x| is a small part of |b|
///
/// |A| is the size of its largest number, so that the bound may be far above what can be reached: a residual below it
/// is one of rounding where it does not fall any more, which columns are told to find out. Of least squares without a
/// preconditioner |A| is the norm that the bidiagonalisation has seen.

#include "solvers/krylov/frame.h"
#include "solvers/vectors.h"

// A residual of so many roundings of |A| |x| + |b| is as small as it gets; and |A| |x|, so rounded, is at most this
// share of |b|.
enum { ATTAINED_ROUNDINGS = 4 };
static const double ATTAINED_SHARE = 0.05;

/// Whether a residual is as small as rounding of A x lets it be, where that is a small part of b.
static bool krylov_is_rounding(const krylov *k, double residual, double terms, double b) {
  double epsilon = k->numbers.epsilon;
  return residual <= ATTAINED_ROUNDINGS * epsilon * (terms + b) && epsilon * terms <= ATTAINED_SHARE * b;
}

/// |A| |x| of each column.
static lac_status krylov_terms(krylov *k, double *terms) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  const lac_krylov_job *job = k->job;

  LAC_TRY(lac_column_norms(ctx, job->x, job->items, k->x_rows, job->width, terms));
  for (int64_t c = 0; c < k->columns; ++c) terms[c] *= k->size;
done:
  return status;
}

lac_status krylov_warn(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  double *terms = NULL;

  if (!k->running || k->is_stopped || k->numbers.is_rectangular || !(k->size > 0)) goto done;
  LAC_ALLOC(terms, k->columns);
  LAC_TRY(krylov_terms(k, terms));
  for (int64_t c = 0; c < k->columns; ++c) {
    double r = k->seen[LAC_SLOT_RESIDUAL * k->columns + c].re, b = k->seen[LAC_SLOT_B * k->columns + c].re;
    k->near[c] = lac_pair_of(krylov_is_rounding(k, r, terms[c], b), fmin(k->near[c].im, r));
  }
  LAC_TRY(ctx->backend->upload(ctx, (lac_pair *)k->state->storage->data + LAC_SLOT_NEAR * k->columns, k->near,
                               (size_t)k->columns * sizeof *k->near));
done:
  lac_free(terms);
  return status;
}

void krylov_forget(krylov *k) {
  for (int64_t c = 0; c < k->columns; ++c) k->near[c] = lac_pair_of(0, INFINITY);
}

static bool krylov_has_stagnated(const krylov *k) {
  for (int64_t c = 0; c < k->columns; ++c) {
    if (k->seen[c].re == LAC_COLUMN_STAGNATED) return true;
  }
  return false;
}

/// What the residual is measured by where it does not fall any more: r itself, and of least squares, where r is what b
/// leaves over, A^H r relative to |A|.
static lac_status krylov_rest(krylov *k, double *rest) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  const lac_krylov_job *job = k->job;

  if (k->numbers.is_rectangular) {
    LAC_TRY(krylov_adjoint(k, k->r[0], k->v[0]));
    LAC_TRY(lac_column_norms(ctx, k->v[0], job->items, k->x_rows, job->width, rest));
  }
  for (int64_t c = 0; c < k->columns; ++c) {
    rest[c] = k->numbers.is_rectangular ? rest[c] / k->size : k->seen[LAC_SLOT_RESIDUAL * k->columns + c].re;
  }
done:
  return status;
}

lac_status krylov_attain(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  double *terms = NULL, *rest = NULL;
  lac_column_fault fault = k->numbers.is_rectangular ? LAC_FAULT_NORMAL : LAC_FAULT_ROUNDING;

  if (!krylov_has_stagnated(k) || !(k->size > 0)) goto done;
  LAC_ALLOC(terms, k->columns);
  LAC_ALLOC(rest, k->columns);
  LAC_TRY(krylov_terms(k, terms));
  LAC_TRY(krylov_rest(k, rest));
  for (int64_t c = 0; c < k->columns; ++c) {
    double r = k->seen[LAC_SLOT_RESIDUAL * k->columns + c].re, b = k->seen[LAC_SLOT_B * k->columns + c].re;
    if (k->seen[c].re != LAC_COLUMN_STAGNATED || !krylov_is_rounding(k, rest[c], terms[c], b)) continue;
    k->seen[c] = lac_pair_of(LAC_COLUMN_CONVERGED, fault);
    k->seen[LAC_SLOT_DETAIL * k->columns + c] = lac_pair_of(rest[c] / (k->numbers.is_rectangular ? r : terms[c]), 0);
    if (b > 0) k->lost = fmax(k->lost, k->numbers.epsilon * terms[c] / b);
  }
done:
  lac_free(terms);
  lac_free(rest);
  return status;
}
