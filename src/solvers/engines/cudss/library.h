// SPDX-License-Identifier: Apache-2.0
/// @file library.h
/// cuDSS, NVIDIA's sparse direct solver for GPUs, as it is found at run time: its functions, and the numbers by which
/// its versions call things. Neither its header nor its library is needed to build.

#ifndef LACUNA_SOLVERS_ENGINES_CUDSS_LIBRARY_H
#define LACUNA_SOLVERS_ENGINES_CUDSS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Its objects, as it calls them.
typedef struct cudssContext *cudss_handle;
typedef struct cudssMatrix *cudss_matrix;
typedef struct cudssData *cudss_data;
typedef struct cudssConfig *cudss_config;

/// What its functions return.
enum { CUDSS_OK = 0, CUDSS_LACKS_MEMORY = 2, CUDSS_UNSUPPORTED = 4 };

/// Steps of `execute`.
enum { CUDSS_ANALYSE = 1 | 2, CUDSS_FACTOR = 4, CUDSS_REFACTOR = 8, CUDSS_SOLVE = 1008 };

/// The natures of a matrix, which decide the factorisation: LDU, L D L^T, L D L^H, Cholesky.
enum { CUDSS_GENERAL, CUDSS_SYMMETRIC, CUDSS_HERMITIAN, CUDSS_SPD, CUDSS_HPD };

enum { CUDSS_WHOLE = 0, CUDSS_LOWER = 1 };          // which entries are read
enum { CUDSS_FROM_ZERO = 0 };                       // how indices count
enum { CUDSS_BY_COLUMNS = 0 };                      // how right-hand sides lie: in no other way
enum { CUDSS_MATCHES_NOT = 0, CUDSS_MATCHES = 5 };  // the diagonal's product is made largest; rows, columns are scaled
enum { CUDSS_SCALED = 1 };                          // small pivots are those that are small in their row and column
enum { CUDSS_PLAIN = 0, CUDSS_TRANSPOSED = 1 };     // which system is solved

/// Numbers of a factor that all versions have under the same number.
enum { CUDSS_INFO = 0, CUDSS_NNZ = 1, CUDSS_PIVOTS = 2, CUDSS_DIAGONAL = 8 };

/// A source of device memory.
typedef struct cudss_memory {
  void *self;
  int (*allocate)(void *self, void **data, size_t bytes, void *stream);
  int (*release)(void *self, void *data, size_t bytes, void *stream);
  char name[64];
} cudss_memory;

/// Settings and numbers that versions have under numbers of their own; -1: not there.
typedef struct cudss_names {
  int use_matching, matching, solve_mode, pivot_scaling, batch, repeats;  // of a config
  int estimates, flops;                                                   // of a factor
} cudss_names;

typedef struct cudss_library {
  char version[32];
  cudss_names names;
  bool has_offset_type;  // create_csr takes the type of offsets besides that of columns
  int (*create)(cudss_handle *handle);
  int (*destroy)(cudss_handle handle);
  int (*set_stream)(cudss_handle handle, void *stream);
  int (*set_memory)(cudss_handle handle, const cudss_memory *memory);
  int (*config_create)(cudss_config *config);
  int (*config_destroy)(cudss_config config);
  int (*config_set)(cudss_config config, int what, const void *value, size_t bytes);
  int (*data_create)(cudss_handle handle, cudss_data *data);
  int (*data_destroy)(cudss_handle handle, cudss_data data);
  int (*data_get)(cudss_handle handle, cudss_data data, int what, void *value, size_t bytes, size_t *written);
  int (*create_dense)(cudss_matrix *matrix, int64_t rows, int64_t cols, int64_t ld, const void *values, int type,
                      int layout);
  void *create_csr;  // cudss_create_csr or cudss_create_csr_before: lac_cudss_create_csr
  int (*set_values)(cudss_matrix matrix, const void *values);
  int (*matrix_destroy)(cudss_matrix matrix);
  int (*execute)(cudss_handle handle, int phase, cudss_config config, cudss_data data, cudss_matrix a, cudss_matrix x,
                 cudss_matrix b);
  int (*property)(int what, int *value);
} cudss_library;

/// The library, which is looked for once; NULL: there is none that serves, and `why` (LAC_WHY_SIZE) says why.
const cudss_library *lac_cudss_find(char *why, size_t size);

/// A path that goes before the names by which systems have it, where the environment names none.
void lac_cudss_suggest(const char *path);

/// A square matrix by rows: `types` are those of offsets, columns and values.
int lac_cudss_create_csr(const cudss_library *l, int64_t n, int64_t nnz, const void *offsets, const void *columns,
                         const void *values, const int types[3], int nature, int view, cudss_matrix *out);

#endif
