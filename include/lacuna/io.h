// SPDX-License-Identifier: Apache-2.0
/// @file io.h
/// Matrices and arrays in files: Matrix Market (text, also gzipped) and safetensors (binary, mapped).
///
/// Derivatives: no derivative passes through a file.
/// Errors, of every function here: LAC_ERR_FILE is the system's refusal, LAC_ERR_FORMAT that of the contents. Files are
/// not trusted: whatever they hold, the result is what they say, or an error that names the file and the line or the
/// name.
/// Writing: a file is written under a name of its own in the target's folder and renamed when it is whole, so that a
/// failed write leaves the old file alone and a reader never sees half of the new one.

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

/// Report of the head of a file. `size`: see "Options and reports" in lacuna.h.
typedef struct lac_mm_info {
  size_t size;  ///< set by the caller: sizeof(lac_mm_info), or 0
  lac_mm_format format;
  lac_mm_field field;
  lac_mm_symmetry symmetry;
  int64_t rows, cols;
  int64_t entries;  ///< entries as stored: before a triangle is expanded, with duplicates
  int64_t bytes;    ///< bytes of text, unpacked
} lac_mm_info;

/// How a file is read. Zero in a field is its default. `size`: see "Options and reports" in lacuna.h.
typedef struct lac_mm_read_options {
  size_t size;  ///< sizeof(lac_mm_read_options), or 0
  lac_mm_storage storage;
  const char *dtype;   ///< "f32", "f64", "c64" or "c128"; NULL: f64, and c128 for a complex file
  lac_width width;     ///< of the pattern
  int64_t most_bytes;  ///< memory that few bytes may announce (empty rows, gzip); 0: 1 GiB + 64 times the file
} lac_mm_read_options;

/// The default options, with `size` as this library has it.
LAC_API lac_mm_read_options lac_mm_read_options_defaults(void);

/// Read a Matrix Market file, also a gzipped one, which is recognised by its first bytes. A coordinate file gives a
/// pattern and values [nnz]: duplicates sum, and entries of a file of field `pattern` count as ones. An array file
/// gives NULL for the pattern and values [rows, cols]. Numbers are rounded to the nearest f64 (and from there to f32),
/// whatever the locale.
/// Options: NULL stands for the defaults. `values` and `info` may be NULL, and `pattern` too for array files.
/// Ownership: the caller destroys the pattern and the values.
/// Cost: one parallel pass over the text, then lac_pattern_from_coo.
/// Errors: LAC_ERR_FORMAT with the line; LAC_ERR_DTYPE for complex numbers where a real dtype is asked for.
LAC_API lac_status lac_read_matrix_market(lac_context *ctx, const char *path, const lac_mm_read_options *options,
                                          lac_pattern **pattern, lac_array **values, lac_mm_info *info);

/// How a file is written. Zero in a field is its default. `size`: see "Options and reports" in lacuna.h.
typedef struct lac_mm_write_options {
  size_t size;               ///< sizeof(lac_mm_write_options), or 0
  lac_mm_symmetry symmetry;  ///< not LAC_MM_GENERAL: it is checked (LAC_ERR_SYMMETRY), and one triangle is written
  const char *comment;       ///< lines of text for the head of the file; NULL: no comment
} lac_mm_write_options;

/// The default options, with `size` as this library has it.
LAC_API lac_mm_write_options lac_mm_write_options_defaults(void);

/// Write a Matrix Market file, gzipped when the path ends in ".gz". Values NULL: a file of field `pattern`. Pattern
/// NULL: an array file of values [rows, cols]. Numbers are written so that reading them gives the same bits, mostly
/// with as few digits as that takes. The diagonal of a skew-symmetric matrix is not written, whether its zeros are
/// stored or not.
/// Options: NULL stands for the defaults.
/// Errors: LAC_ERR_SYMMETRY with the entry; LAC_ERR_SHAPE for values that do not fit.
LAC_API lac_status lac_write_matrix_market(lac_context *ctx, const char *path, const lac_pattern *pattern,
                                           const lac_array *values, const lac_mm_write_options *options);

// -- safetensors -----------------------------------------------------------------------------------------------------

/// A named block of numbers in host memory, row-major. A dtype is a word of the format: "F32", "F64", "C64", "I32",
/// "I64". This struct is neither options nor report: it will not grow.
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
/// Ownership: the caller closes *out.
/// Errors: LAC_ERR_FORMAT with the name that is wrong.
LAC_API lac_status lac_tensors_open(lac_context *ctx, const char *path, lac_tensors **out);

/// Unmap a file; accepts NULL and leaves NULL. The texts and data that lac_tensors_get returned end with it.
LAC_API void lac_tensors_close(lac_tensors **tensors);

/// The number of tensors; the i-th, in the order of the data; the place of a name, or -1. Dtypes that Lacuna does not
/// compute with are listed like any other. Of NULL, and outside the list: 0, an empty tensor, -1.
/// Ownership: texts and data of a tensor are borrowed from the file.
LAC_API int64_t lac_tensors_count(const lac_tensors *tensors);
LAC_API lac_tensor lac_tensors_get(const lac_tensors *tensors, int64_t i);
LAC_API int64_t lac_tensors_find(const lac_tensors *tensors, const char *name);

/// The text under a key of the file's metadata, borrowed; NULL where there is none.
LAC_API const char *lac_tensors_metadata(const lac_tensors *tensors, const char *key);

/// Copy a tensor into an array on the context's device. F32, F64 and C64 are taken as they are, and F64 [..., 2] that
/// lac_save_arrays wrote for c128 becomes c128.
/// Ownership: the caller destroys *out.
/// Errors: LAC_ERR_ARG for a name that the file has not; LAC_ERR_DTYPE for other dtypes.
LAC_API lac_status lac_tensors_array(lac_context *ctx, const lac_tensors *tensors, const char *name, lac_array **out);

/// Make a matrix that lac_save_matrix wrote under a name: its pattern and its values (`values` may be NULL).
/// Ownership: the caller destroys both.
/// Errors: LAC_ERR_FORMAT where the tensors are not a matrix.
LAC_API lac_status lac_tensors_matrix(lac_context *ctx, const lac_tensors *tensors, const char *name,
                                      lac_pattern **pattern, lac_array **values);

/// Write tensors as one file, with `pairs` keys and texts of metadata (key, text, key, text, ...).
/// Errors: LAC_ERR_ARG for a name that comes twice and for a tensor whose bytes do not fit its shape.
LAC_API lac_status lac_tensors_save(lac_context *ctx, const char *path, int64_t count, const lac_tensor *tensors,
                                    int64_t pairs, const char *const *metadata);

/// Write arrays under names. The format has no c128: such an array becomes F64 with a last axis of 2, and the metadata
/// has "lacuna.dtype.NAME": "c128".
LAC_API lac_status lac_save_arrays(lac_context *ctx, const char *path, int64_t count, const char *const *names,
                                   const lac_array *const *arrays);

/// Write one matrix under a name, and read it: NAME.shape (I64 [2]), NAME.offsets and NAME.columns (I32 or I64), and
/// NAME.values ([*batch, nnz]), which is left out where `values` is NULL.
/// Ownership: the caller destroys the pattern and the values that were read.
LAC_API lac_status lac_save_matrix(lac_context *ctx, const char *path, const char *name, const lac_pattern *pattern,
                                   const lac_array *values);
LAC_API lac_status lac_load_matrix(lac_context *ctx, const char *path, const char *name, lac_pattern **pattern,
                                   lac_array **values);

#ifdef __cplusplus
}
#endif
#endif
