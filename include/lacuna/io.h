// SPDX-License-Identifier: Apache-2.0
/// @file io.h
/// Matrices and arrays in files: Matrix Market (text, also gzipped) and safetensors (binary, mapped).
///
/// No derivative passes through a file. Files are not trusted: whatever they hold, the answer is what they say or an error
/// whose sentence names the file and the line or the name. LAC_ERR_FILE is the system's refusal, LAC_ERR_FORMAT the
/// contents'. A file is written under a name of its own beside the target and renamed when it is whole, so that a
/// failed write leaves the old one alone and a reader never sees half of the new one.

#ifndef LACUNA_IO_H
#define LACUNA_IO_H

#include <stddef.h>
#include <stdint.h>

#include "lacuna/array.h"
#include "lacuna/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- Matrix Market ---------------------------------------------------------------------------------------------------

typedef enum lac_mm_format { LAC_MM_COORDINATE, LAC_MM_ARRAY } lac_mm_format;
typedef enum lac_mm_field { LAC_MM_REAL, LAC_MM_INTEGER, LAC_MM_COMPLEX, LAC_MM_PATTERN } lac_mm_field;
typedef enum lac_mm_symmetry { LAC_MM_GENERAL, LAC_MM_SYMMETRIC, LAC_MM_SKEW, LAC_MM_HERMITIAN } lac_mm_symmetry;

/// What becomes of a file that holds one triangle: the whole matrix, or the stored entries alone.
typedef enum lac_mm_storage { LAC_MM_EXPANDED, LAC_MM_AS_STORED } lac_mm_storage;

/// What a file says of itself.
typedef struct lac_mm_info {
  lac_mm_format format;
  lac_mm_field field;
  lac_mm_symmetry symmetry;
  int64_t rows, cols;
  int64_t entries;  ///< as stored: before a triangle is expanded, with duplicates
  int64_t bytes;    ///< of text, unpacked
} lac_mm_info;

enum { LAC_MM_DTYPE_OF_FILE = -1 };

typedef struct lac_mm_read_options {
  lac_mm_storage storage;
  int dtype;           ///< a lac_dtype, or LAC_MM_DTYPE_OF_FILE: f64, or c128 for a complex file
  lac_width width;     ///< of the pattern
  int64_t most_bytes;  ///< what few bytes may make the reader take (empty rows, gzip); 0: 1 GiB + 64 x the file
} lac_mm_read_options;

LAC_API lac_mm_read_options lac_mm_read_options_defaults(void);

/// Read a Matrix Market file. A coordinate file gives a pattern and values [nnz]; duplicates sum; entries of a file of field
/// `pattern` count as ones. An array file gives NULL for the pattern and values [rows, cols]. Numbers are rounded to the nearest f64 (and
/// from there to f32), whatever the locale. Options NULL: the defaults. `values` and `info` may be NULL, `pattern` for arrays.
/// Cost: one parallel pass over the text, then lac_pattern_from_coo. Gzip is known by its first bytes.
LAC_API lac_status lac_read_matrix_market(lac_context *ctx, const char *path, const lac_mm_read_options *options,
                                          lac_pattern **pattern, lac_array **values, lac_mm_info *info);

typedef struct lac_mm_write_options {
  lac_mm_symmetry
      symmetry;         ///< other than LAC_MM_GENERAL: it is checked (LAC_ERR_SYMMETRY), and one triangle is written
  const char *comment;  ///< lines of text for the head of the file, or NULL
} lac_mm_write_options;

LAC_API lac_mm_write_options lac_mm_write_options_defaults(void);

/// Write a Matrix Market file, gzipped when the path ends in ".gz". Values NULL: field `pattern`. Pattern NULL: an array file of
/// values [rows, cols]. Numbers are written so that reading gives the same bits, mostly with as few digits as that takes. Of a
/// skew-symmetric matrix the diagonal is not written, whether its zeros are stored or not.
LAC_API lac_status lac_write_matrix_market(lac_context *ctx, const char *path, const lac_pattern *pattern,
                                           const lac_array *values, const lac_mm_write_options *options);

// -- safetensors -----------------------------------------------------------------------------------------------------

/// A named block of numbers in host memory, row-major. A dtype is the word of the format: "F32", "F64", "C64", "I32", "I64".
typedef struct lac_tensor {
  const char *name;
  const char *dtype;
  int ndim;
  int64_t shape[LAC_MAX_DIMS];
  const void *data;  ///< of an open file: inside the mapping, perhaps not aligned
  size_t bytes;
} lac_tensor;

/// An open file of named tensors. Immutable; may be read from several threads.
typedef struct lac_tensors lac_tensors;

/// Map a file and check its whole header: every name once, shapes and bytes in accord, no gap and no overlap.
LAC_API lac_status lac_tensors_open(lac_context *ctx, const char *path, lac_tensors **out);

/// Unmap. Accepts NULL, leaves NULL. What lac_tensors_get gave is gone with it.
LAC_API void lac_tensors_close(lac_tensors **tensors);

/// How many there are; the i-th, in the order of the data; the place of a name, or -1. Dtypes that Lacuna does not compute with
/// are listed like any other.
LAC_API int64_t lac_tensors_count(const lac_tensors *tensors);
LAC_API lac_tensor lac_tensors_get(const lac_tensors *tensors, int64_t i);
LAC_API int64_t lac_tensors_find(const lac_tensors *tensors, const char *name);

/// The text kept under a key of the file's metadata, or NULL.
LAC_API const char *lac_tensors_metadata(const lac_tensors *tensors, const char *key);

/// A tensor as an array on the context's device. F32, F64 and C64 are taken as they are, and F64 [..., 2] that
/// lac_save_arrays wrote for c128 as that; others: LAC_ERR_DTYPE.
LAC_API lac_status lac_tensors_array(lac_context *ctx, const lac_tensors *tensors, const char *name, lac_array **out);

/// A matrix that lac_save_matrix wrote under a name: its pattern and values (`values` may be NULL).
LAC_API lac_status lac_tensors_matrix(lac_context *ctx, const lac_tensors *tensors, const char *name,
                                      lac_pattern **pattern, lac_array **values);

/// Write tensors, and `pairs` keys and texts of metadata (key, text, key, text, ...), as one file.
LAC_API lac_status lac_tensors_save(lac_context *ctx, const char *path, int64_t count, const lac_tensor *tensors,
                                    int64_t pairs, const char *const *metadata);

/// Write arrays under names. The format has no c128: such an array becomes F64 with a last axis of 2, and the metadata says
/// "lacuna.dtype.NAME": "c128".
LAC_API lac_status lac_save_arrays(lac_context *ctx, const char *path, int64_t count, const char *const *names,
                                   const lac_array *const *arrays);

/// Write or read one matrix: NAME.shape (I64 [2]), NAME.offsets and NAME.columns (I32 or I64), NAME.values ([*batch, nnz]; absent
/// for a pattern alone, when `values` is NULL).
LAC_API lac_status lac_save_matrix(lac_context *ctx, const char *path, const char *name, const lac_pattern *pattern,
                                   const lac_array *values);
LAC_API lac_status lac_load_matrix(lac_context *ctx, const char *path, const char *name, lac_pattern **pattern,
                                   lac_array **values);

#ifdef __cplusplus
}
#endif
#endif
