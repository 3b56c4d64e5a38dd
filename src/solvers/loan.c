// SPDX-License-Identifier: Apache-2.0
/// @file loan.c
/// Factors that do without a copy of their values: whoever asks for a solve brings the values along.
///
/// An operator has the values among its inputs in every call, in the backward too. A factor that it asks for by them
/// works with memory that is lent for the time of the call, and known again by its hash; between calls the factor has
/// no values. Whoever wants the factor itself gets one that keeps a copy, made then. Threads that lend different memory
/// to one factor take turns, and a thread may lend anew inside its own loan.

#include "solvers/solver_impl.h"

struct lac_loan {
  pthread_mutex_t lock;  // of what follows
  pthread_cond_t ended;
  pthread_t borrower;
  int64_t depth;  // loans of the borrower, one inside the other; 0: none
  bool is_over;   // the factor has a copy
};

bool lac_loan_suits(const lac_context *ctx, const lac_array *values) {
  return !lac_context_is_host(ctx) && values->storage->origin == STORAGE_BORROWED;
}

bool lac_factor_is_lent(const lac_factor *f) {
  if (!f->loan) return f->values && f->values->storage->origin == STORAGE_LENT;
  pthread_mutex_lock(&f->loan->lock);  // another thread may be settling it
  bool is_lent = !f->loan->is_over;
  pthread_mutex_unlock(&f->loan->lock);
  return is_lent;
}

int64_t lac_factor_lent_bytes(const lac_factor *f) {
  return lac_factor_is_lent(f) ? (int64_t)lac_array_bytes(f->values) : 0;
}

lac_status lac_loan_open(lac_context *ctx, lac_factor *f) {
  lac_status status = LAC_OK;

  if (!lac_factor_is_lent(f)) goto done;
  LAC_ALLOC(f->loan, 1);
  pthread_mutex_init(&f->loan->lock, NULL);
  pthread_cond_init(&f->loan->ended, NULL);
  lac_array_lend_again(f->values, NULL);
done:
  return status;
}

void lac_loan_close(lac_factor *f) {
  if (!f->loan) return;
  pthread_cond_destroy(&f->loan->ended);
  pthread_mutex_destroy(&f->loan->lock);
  lac_free(f->loan);
}

/// The lock is held from here on.
static void loan_await(lac_loan *loan) {
  pthread_mutex_lock(&loan->lock);
  while (loan->depth > 0 && !loan->is_over && !pthread_equal(loan->borrower, pthread_self())) {
    pthread_cond_wait(&loan->ended, &loan->lock);
  }
}

void lac_loan_begin(lac_factor *f, const lac_array *values) {
  lac_loan *loan = f->loan;
  if (!loan) return;
  loan_await(loan);
  if (!loan->is_over && loan->depth++ == 0) {
    loan->borrower = pthread_self();
    lac_array_lend_again(f->values, values);
  }
  pthread_mutex_unlock(&loan->lock);
}

void lac_loan_end(lac_factor *f) {
  lac_loan *loan = f ? f->loan : NULL;
  if (!loan) return;
  pthread_mutex_lock(&loan->lock);
  if (!loan->is_over && --loan->depth == 0) {
    lac_array_lend_again(f->values, NULL);
    pthread_cond_signal(&loan->ended);
  }
  pthread_mutex_unlock(&loan->lock);
}

lac_status lac_loan_settle(lac_context *ctx, lac_factor *f, const lac_array *values) {
  lac_status status = LAC_OK;
  lac_loan *loan = f->loan;

  if (!loan) goto done;
  loan_await(loan);
  if (!loan->is_over) status = lac_array_keep(ctx, f->values, values);
  if (status == LAC_OK) loan->is_over = true;
  pthread_cond_broadcast(&loan->ended);
  pthread_mutex_unlock(&loan->lock);
  LAC_TRY(status);
done:
  return status;
}
