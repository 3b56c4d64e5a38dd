// SPDX-License-Identifier: Apache-2.0
/// @file array_impl.h
/// The inside of an array: a meta over a counted block.

#ifndef LACUNA_CORE_ARRAY_IMPL_H
#define LACUNA_CORE_ARRAY_IMPL_H

#include <float.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/context_impl.h"
#include "lacuna/array.h"

/// A block of memory that arrays share.
typedef struct lac_storage {
  _Atomic int64_t holders;
  _Atomic int64_t version;
  int64_t id;  // of memory that the library owns: never used again in this process; 0: memory of others
  lac_space *space;
  void *data;
  size_t bytes;
  void *stream;  // the stream on which it was allocated
  enum { STORAGE_OWNED, STORAGE_BORROWED, STORAGE_ADOPTED } origin;
} lac_storage;

struct lac_array {
  _Atomic int64_t holders;
  lac_meta meta;
  int64_t count;
  lac_storage *storage;
};

/// An array of a given meta on the context's device, undefined contents.
lac_status lac_array_make(lac_context *ctx, const lac_meta *meta, lac_array **out);

/// An array of a given meta over memory that lies on the context's device.
lac_status lac_array_wrap(lac_context *ctx, const lac_meta *meta, void *data, lac_array **out);

/// lac_array_read for the library's own decisions: an error of values that an earlier call left is not raised here,
/// where it would be taken for one of what goes on.
lac_status lac_array_fetch(lac_context *ctx, const lac_array *array, void *host);

/// True when the caller is the only holder of the array and its memory: it may be written in place.
bool lac_array_is_sole(const lac_array *array);

/// Refuse a meta that no array can have: an unknown dtype, too many or negative dimensions, more bytes than there are
/// addresses. Where one dimension is 0 the others must still fit, so that products over some of them never overflow.
/// `who` begins the sentence.
lac_status lac_meta_check(lac_context *ctx, const char *who, const lac_meta *meta);

int64_t lac_meta_count(const lac_meta *meta);
bool lac_meta_same(const lac_meta *a, const lac_meta *b);

/// The meta of `old` under another shape, for `function`. A spread axis stays so: all ranks find the same one, or all
/// refuse (reshape.c).
lac_status lac_meta_reshape(lac_context *ctx, const char *function, const lac_meta *old, int ndim, const int64_t *shape,
                            lac_meta *out);

static inline bool lac_dtype_is_complex(lac_dtype dtype) { return dtype >= LAC_C64; }

/// The reals inside a dtype: f32 for c64.
static inline lac_dtype lac_dtype_real(lac_dtype dtype) {
  return dtype == LAC_C64 ? LAC_F32 : dtype == LAC_C128 ? LAC_F64 : dtype;
}

/// Whether these reals are floats; the distance from 1 to the next of them; how many of them a number has.
static inline bool lac_dtype_is_single(lac_dtype dtype) { return lac_dtype_real(dtype) == LAC_F32; }
static inline double lac_dtype_epsilon(lac_dtype dtype) {
  return lac_dtype_is_single(dtype) ? (double)FLT_EPSILON : DBL_EPSILON;
}
static inline int lac_dtype_parts(lac_dtype dtype) { return lac_dtype_is_complex(dtype) ? 2 : 1; }

/// Of its numbers, whatever lies behind them.
static inline size_t lac_array_bytes(const lac_array *array) {
  return (size_t)array->count * lac_dtype_size(array->meta.dtype);
}

/// Whether two arrays have memory in common.
static inline bool lac_array_overlaps(const lac_array *x, const lac_array *y) {
  const char *from = x->storage->data, *to = y->storage->data;
  return from < to + lac_array_bytes(y) && to < from + lac_array_bytes(x);
}

/// "(3, 4)" into `text`, for sentences; returns `text`.
enum { LAC_SHAPE_TEXT = 160 };
const char *lac_shape_text(int ndim, const int64_t *shape, char text[LAC_SHAPE_TEXT]);

// Batches. Leading dimensions are batch: aligned at the right, equal or 1. A kernel loops over the joint batch of all
// its operands; an output that has 1 where an input has more sums over it.

enum { LAC_MAX_OPERANDS = 6 };

typedef struct lac_batch {
  int64_t count;  // of the joint batch
  int ndim;
  int64_t shape[LAC_MAX_DIMS];
  int64_t stride[LAC_MAX_OPERANDS][LAC_MAX_DIMS];  // in items of the operand's core; 0 where it is broadcast
} lac_batch;

/// The joint batch of operands with `core[i]` trailing core dimensions each. The metas are known to fit.
void lac_batch_init(lac_batch *batch, int operands, const lac_meta *const *metas, const int *core);

/// The item of an operand that belongs to the i-th of the joint batch.
int64_t lac_batch_item(const lac_batch *batch, int operand, int64_t i);

#endif
