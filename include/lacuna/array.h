// SPDX-License-Identifier: Apache-2.0
/// @file array.h
/// An array is a contiguous row-major block of numbers: dtype, shape, memory space, version. Arrays carry derivatives.
///
/// Arrays are reference counted: lac_array_retain adds a holder, lac_array_destroy removes one. Several arrays may
/// share one block of memory (lac_array_reshape), and then share its version.
///
/// NULL: functions that return a status refuse a NULL array with LAC_ERR_ARG; getters return NULL or 0 for it.
/// Errors: LAC_ERR_DEVICE for an array in another memory space than the context's; LAC_ERR_MEMORY.

#ifndef LACUNA_ARRAY_H
#define LACUNA_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "lacuna/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LAC_MAX_DIMS = 8 };  ///< the most axes that an array may have

/// The type of a number: real or complex, in single or double precision.
typedef enum lac_dtype { LAC_F32, LAC_F64, LAC_C64, LAC_C128 } lac_dtype;

/// What a successful call does with memory that is handed in. A call that fails has neither freed nor kept the memory,
/// which is still the caller's. Borrowed and adopted memory must be aligned to the size of its numbers.
///
/// Borrowed memory changes only through lac_array_edit, or after all uses of its old numbers have ended. A solver
/// compares the numbers themselves and sees a change by other means; a tape does not: it holds the array, and the
/// derivatives of calls that it recorded would be computed from the new numbers. After lac_array_edit they are
/// LAC_ERR_STALE. Adopted memory changes only through lac_array_edit.
typedef enum lac_ownership {
  LAC_OWNERSHIP_COPY,    ///< the data, in host memory, is copied to the context's device
  LAC_OWNERSHIP_BORROW,  ///< the data, on the context's device, is used in place and must outlive the array
  LAC_OWNERSHIP_ADOPT    ///< as borrowed, and freed with the last holder: by free() on the host, by cudaFree on CUDA
} lac_ownership;

typedef struct lac_array lac_array;
typedef struct lac_partition lac_partition;  // distributed.h

/// The description of an array: all that is known of it without its data. `partition` is NULL for a replicated array;
/// otherwise the axis `partition_axis` is spread over ranks, and shape[partition_axis] counts the rows of this rank
/// (distributed.h).
typedef struct lac_meta {
  lac_dtype dtype;
  int ndim;
  int64_t shape[LAC_MAX_DIMS];
  const lac_partition *partition;
  int partition_axis;
} lac_meta;

/// The size of one number in bytes: 4, 8, 8, 16; and the name of a dtype: "f32", "f64", "c64", "c128". Of an unknown
/// dtype: 0 and "unknown dtype".
LAC_API size_t lac_dtype_size(lac_dtype dtype);
LAC_API const char *lac_dtype_name(lac_dtype dtype);

// -- making arrays ---------------------------------------------------------------------------------------------------

/// Make an array on the context's device; its numbers are undefined. Sizes may be 0; ndim = 0 is a single number, and
/// `shape` may be NULL then.
/// Ownership: the caller destroys *out.
/// Errors: LAC_ERR_SHAPE for a negative size and for more than LAC_MAX_DIMS axes; LAC_ERR_DTYPE for an unknown dtype;
/// LAC_ERR_OVERFLOW where its bytes cannot be counted.
LAC_API lac_status lac_array_create(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape, lac_array **out);

/// Make an array of `data`, which is row-major and contiguous.
/// Ownership: the caller destroys *out; `ownership` says whether the data is copied, borrowed or adopted. `data` may be
/// NULL where the array has no numbers.
/// Errors: those of lac_array_create; LAC_ERR_ARG for unaligned data that is not copied.
LAC_API lac_status lac_array_from(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape, void *data,
                                  lac_ownership ownership, lac_array **out);

/// Copy an array into memory of its own.
/// Ownership: the caller destroys *out.
LAC_API lac_status lac_array_clone(lac_context *ctx, const lac_array *array, lac_array **out);

/// Give the same memory another shape with as many numbers. -1 is the size of an axis that is spread over ranks, as in
/// lac_reshape.
/// Ownership: the caller destroys *out, which shares memory and version with `array`.
/// Errors: LAC_ERR_SHAPE where the count of numbers differs.
LAC_API lac_status lac_array_reshape(lac_context *ctx, lac_array *array, int ndim, const int64_t *shape,
                                     lac_array **out);

/// Add a holder, and remove one; both accept NULL. The last one that goes frees the array; *array is NULL afterwards.
/// Retaining returns its argument without `const`, here and for every counted object: the new holder must be able to
/// destroy its handle. A holder of a handle that came as `const` only reads through it.
/// Threads: any.
LAC_API lac_array *lac_array_retain(const lac_array *array);
LAC_API void lac_array_destroy(lac_array **array);

// -- reading and writing ---------------------------------------------------------------------------------------------

/// The description of an array, borrowed; and the count of its numbers, on this rank.
LAC_API const lac_meta *lac_array_meta(const lac_array *array);
LAC_API int64_t lac_array_count(const lac_array *array);

/// The data, for reading: host memory on the CPU backend, device memory on CUDA. Borrowed.
LAC_API const void *lac_array_data(const lac_array *array);

/// The data, for writing. The call raises the version: objects made of the old values are stale from then on. Call it
/// before each round of writes. Writes through a pointer that was kept from an earlier call are not noticed, and an
/// earlier factor is then mistaken for a factor of the new values.
LAC_API void *lac_array_edit(lac_array *array);

/// The version: the count of times that the memory behind this array was opened for writing.
LAC_API int64_t lac_array_version(const lac_array *array);

/// Copy all numbers to host memory, and wait for the copy.
LAC_API lac_status lac_array_read(lac_context *ctx, const lac_array *array, void *host);

/// Copy all numbers from host memory, and set every number to real + i imag (of a real dtype: to real). Both raise the
/// version.
LAC_API lac_status lac_array_write(lac_context *ctx, lac_array *array, const void *host);
LAC_API lac_status lac_array_fill(lac_context *ctx, lac_array *array, double real, double imag);

#ifdef __cplusplus
}
#endif
#endif
