// SPDX-License-Identifier: Apache-2.0
/// @file dense.h
/// References: arrays and matrices in complex double, and the textbook's way with them. Nothing here uses the library's
/// kernels.

#ifndef LACUNA_TESTS_DENSE_H
#define LACUNA_TESTS_DENSE_H

#include <complex.h>

#include "support/random.h"

typedef double complex number;

/// An array, whatever its dtype, in complex double. Kept in scratch memory.
typedef struct ref {
  lac_meta meta;
  int64_t count;
  number *x;
} ref;

ref ref_new(const lac_meta *meta);
ref ref_copy(const ref *from);
void ref_random(ref *x, uint64_t seed, int is_complex);
double ref_max(const ref *x);
/// y += alpha x
void ref_axpy(number alpha, const ref *x, ref *y);
/// Re sum conj(x) y, and the sum of its terms' sizes into *size.
double ref_inner(const ref *x, const ref *y, double *size);

/// To an array of the ref's dtype on the context's device, and back.
lac_status ref_upload(lac_context *ctx, const ref *x, lac_array **out);
lac_status ref_download(lac_context *ctx, const lac_array *array, ref *out);

/// A walk over the batch of a result: for each of it, the item of every operand with broadcasting.
typedef struct walk {
  int ndim;
  int64_t shape[LAC_MAX_DIMS], at[LAC_MAX_DIMS];
  int64_t left;
} walk;

walk walk_batch(const ref *result, int core);
int walk_next(walk *w);
number *walk_item(const walk *w, const ref *operand, int core);

typedef struct dense {
  int64_t rows, cols;
  number *x;  // row-major
} dense;

dense dense_new(int64_t rows, int64_t cols);
dense dense_over(int64_t rows, int64_t cols, number *x);
dense dense_matrix(const sketch *s, const number *values);
/// With blocks of br x bc where the sketch has entries.
dense dense_block_matrix(const sketch *s, int64_t br, int64_t bc, const number *values);
dense dense_side(dense a, lac_form form);
dense dense_mul(dense a, dense b);
/// A^-1 B by elimination with partial pivoting.
dense dense_solve(dense a, dense b);
/// The determinant, by elimination with partial pivoting.
number dense_determinant(dense a);
/// A^-1.
dense dense_inverse(dense a);
void dense_copy_to(dense a, number *x);

#endif
