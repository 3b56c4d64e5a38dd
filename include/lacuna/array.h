// SPDX-License-Identifier: Apache-2.0
/// @file array.h
/// An array is a contiguous row-major block of numbers: dtype, shape, memory space, version. Arrays carry derivatives.
///
/// Arrays are reference counted: lac_array_retain adds a holder, lac_array_destroy removes one. Several arrays may share
/// one block of memory (lac_array_reshape); they share its version too.
///
/// A NULL array is refused with LAC_ERR_ARG by what returns a status; what asks an array says NULL or 0 of it.

#ifndef LACUNA_ARRAY_H
#define LACUNA_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "lacuna/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LAC_MAX_DIMS = 8 };

typedef enum lac_dtype { LAC_F32, LAC_F64, LAC_C64, LAC_C128 } lac_dtype;

/// What happens to memory that is handed in, if the function succeeds. One that fails has freed nothing and taken over
/// nothing: the memory is still the caller's. Borrowed and adopted memory must be aligned to the size of its numbers.
typedef enum lac_ownership {
  LAC_OWNERSHIP_COPY,    ///< the data, which lies in host memory, is copied to the context's device
  LAC_OWNERSHIP_BORROW,  ///< the data lies on the context's device, is used as it is and must outlive the array
  LAC_OWNERSHIP_ADOPT  ///< like LAC_OWNERSHIP_BORROW, and released by free() (host) or cudaFree (CUDA) with the last holder
} lac_ownership;

typedef struct lac_array lac_array;
typedef struct lac_partition lac_partition;  // distributed.h

/// All that is known of an array without its data. `partition` is NULL for a replicated array; otherwise the axis
/// `partition_axis` is spread over ranks and shape[partition_axis] counts the rows of this rank (distributed.h).
typedef struct lac_meta {
  lac_dtype dtype;
  int ndim;
  int64_t shape[LAC_MAX_DIMS];
  const lac_partition *partition;
  int partition_axis;
} lac_meta;

/// Size of one number in bytes: 4, 8, 8, 16. Name: "f32", "f64", "c64", "c128". Others: 0 and "unknown dtype".
LAC_API size_t lac_dtype_size(lac_dtype dtype);
LAC_API const char *lac_dtype_name(lac_dtype dtype);

/// An array on the context's device with undefined contents. Zero-sized dimensions are allowed; ndim = 0 holds one number.
LAC_API lac_status lac_array_create(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape, lac_array **out);

/// An array over or from `data`, row-major and contiguous. Errors: LAC_ERR_ARG for unaligned data, unless it is copied.
LAC_API lac_status lac_array_from(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape, void *data,
                                  lac_ownership ownership, lac_array **out);

/// One more holder of the same array; returns its argument. Accepts NULL.
LAC_API lac_array *lac_array_retain(const lac_array *array);

/// Remove a holder and set the pointer to NULL; the last one frees. Accepts NULL.
LAC_API void lac_array_destroy(lac_array **array);

/// A copy with memory of its own.
LAC_API lac_status lac_array_clone(lac_context *ctx, const lac_array *array, lac_array **out);

/// The same memory under another shape with as many numbers. -1 stands for the size of an axis that is spread
/// over ranks, as in lac_reshape.
LAC_API lac_status lac_array_reshape(lac_context *ctx, lac_array *array, int ndim, const int64_t *shape,
                                     lac_array **out);

LAC_API const lac_meta *lac_array_meta(const lac_array *array);
LAC_API int64_t lac_array_count(const lac_array *array);  ///< how many numbers it holds (on this rank)

/// The data, for reading. On the CPU backend this is host memory; on CUDA it is device memory.
LAC_API const void *lac_array_data(const lac_array *array);

/// The data, for writing. Raises the version: whatever was made of the old values is stale from here on. Call it before
/// each round of writes: what is written later through a pointer that was kept goes unseen, and an earlier factor is
/// taken for these values.
LAC_API void *lac_array_edit(lac_array *array);

/// How often the memory behind this array was opened for writing.
LAC_API int64_t lac_array_version(const lac_array *array);

/// Copy all numbers to host memory and wait; copy from host memory (raises the version); set all numbers.
LAC_API lac_status lac_array_read(lac_context *ctx, const lac_array *array, void *host);
LAC_API lac_status lac_array_write(lac_context *ctx, lac_array *array, const void *host);
LAC_API lac_status lac_array_fill(lac_context *ctx, lac_array *array, double real, double imag);

#ifdef __cplusplus
}
#endif
#endif
