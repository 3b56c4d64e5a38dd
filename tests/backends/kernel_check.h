// SPDX-License-Identifier: Apache-2.0
/// @file kernel_check.h
/// What tests of kernels share: arrays beside their references, and errors measured by the sizes of what was added up.

#ifndef LACUNA_TESTS_KERNEL_CHECK_H
#define LACUNA_TESTS_KERNEL_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "support/check.h"
#include "support/dense.h"
#include "support/scratch.h"

static const lac_width all_widths[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};

#define FOR_DTYPES(dtype) for (lac_dtype dtype = LAC_F32; dtype <= LAC_C128; ++dtype)
#define FOR_SIDES(form) for (lac_form form = LAC_PLAIN; form <= LAC_ADJOINT; ++form)
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/// Leave a test whose kernel this backend does not have.
#define NEEDS(slot)                                                           \
  if (!ctx->kernels->slot) {                                                  \
    (void)printf("  %s: the backend has no %s\n", ctx->backend->name, #slot); \
    return;                                                                   \
  }

/// A meta with leading dimensions as in "2,3" and `core` trailing ones.
static inline lac_meta meta_of(lac_dtype dtype, const char *batch, int core, int64_t size0, int64_t size1) {
  lac_meta meta = {.dtype = dtype};
  for (const char *c = batch; *c; c += strcspn(c, ","), c += *c == ',') meta.shape[meta.ndim++] = strtoll(c, NULL, 10);
  if (core > 0) meta.shape[meta.ndim++] = size0;
  if (core > 1) meta.shape[meta.ndim++] = size1;
  return meta;
}

/// An array, what it should hold, and for each number the size of what was added up in it.
typedef struct subject {
  ref value;
  double *size;
  lac_array *array;
} subject;

/// An operand of random numbers.
static inline subject subject_in(lac_context *ctx, lac_meta meta, uint64_t seed) {
  subject s = {.value = ref_new(&meta)};
  ref_random(&s.value, seed, meta.dtype >= LAC_C64);
  CHECK_OK(ref_upload(ctx, &s.value, &s.array));
  return s;
}

/// A result, full of rubbish to begin with.
static inline subject subject_out(lac_context *ctx, lac_meta meta) {
  subject s = {.value = ref_new(&meta)};
  s.size = scratch((size_t)s.value.count * sizeof *s.size);
  CHECK_OK(lac_array_make(ctx, &meta, &s.array));
  CHECK_OK(lac_array_fill(ctx, s.array, 1e30, 0));
  return s;
}

static inline void subject_add(subject *s, int64_t i, number x, number y) {
  s->value.x[i] += x * y;
  s->size[i] += cabs(x) * cabs(y);
}

/// The array holds what it should, to the rounding of its terms.
static inline void subject_check(lac_context *ctx, const subject *s, const char *what) {
  double epsilon = s->value.meta.dtype == LAC_F32 || s->value.meta.dtype == LAC_C64 ? 0x1p-23 : 0x1p-52;
  ref got;
  CHECK_OK(ref_download(ctx, s->array, &got));
  for (int64_t i = 0; i < got.count; ++i) {
    if (cabs(got.x[i] - s->value.x[i]) <= 16 * epsilon * s->size[i]) continue;
    check_fail(__FILE__, __LINE__, "%s, %s: number %lld is %.9g%+.9gi, should be %.9g%+.9gi", what,
               lac_dtype_name(s->value.meta.dtype), (long long)i, creal(got.x[i]), cimag(got.x[i]),
               creal(s->value.x[i]), cimag(s->value.x[i]));
  }
}

/// A copy of the array's bytes.
static inline char *bits_of(lac_context *ctx, const lac_array *array) {
  char *bits = scratch((size_t)lac_array_count(array) * lac_dtype_size(lac_array_meta(array)->dtype) + 1);
  CHECK_OK(lac_array_read(ctx, array, bits));
  return bits;
}

static inline bool bits_are(lac_context *ctx, const lac_array *array, const char *bits) {
  return memcmp(bits_of(ctx, array), bits,
                (size_t)lac_array_count(array) * lac_dtype_size(lac_array_meta(array)->dtype)) == 0;
}

/// The item of an operand's batch at a place of the joint batch, whose dimensions are aligned at the right.
static inline int64_t item_at(const lac_meta *meta, int core, int ndim, const int64_t *at) {
  int own = meta->ndim - core;
  int64_t item = 0;
  for (int d = 0; d < own; ++d) item = item * meta->shape[d] + (meta->shape[d] == 1 ? 0 : at[ndim - own + d]);
  return item;
}

/// A walk over the joint batch of three operands.
typedef struct joint {
  int ndim;
  int64_t shape[LAC_MAX_DIMS], at[LAC_MAX_DIMS], left;
} joint;

static inline joint joint_of(const lac_meta *const metas[3], const int core[3]) {
  joint j = {.left = 1};
  for (int o = 0; o < 3; ++o) j.ndim = metas[o]->ndim - core[o] > j.ndim ? metas[o]->ndim - core[o] : j.ndim;
  for (int d = 0; d < j.ndim; ++d) {
    j.shape[d] = 1;
    for (int o = 0; o < 3; ++o) {
      int own = d - (j.ndim - (metas[o]->ndim - core[o]));
      if (own >= 0 && metas[o]->shape[own] != 1) j.shape[d] = metas[o]->shape[own];
    }
    j.left *= j.shape[d];
  }
  if (j.ndim) j.at[j.ndim - 1] = -1;
  return j;
}

static inline bool joint_next(joint *j) {
  if (j->left-- <= 0) return false;
  for (int d = j->ndim - 1; d >= 0; --d) {
    if (++j->at[d] < j->shape[d]) break;
    j->at[d] = 0;
  }
  return true;
}

#endif
