// SPDX-License-Identifier: Apache-2.0
/// @file blas.h
/// A BLAS, which is somebody else's: it is found when it is first wanted (blas_find.c), its memory is had before it is
/// called, and its threads are kept out of ours (blas.c).

#ifndef LACUNA_CORE_BLAS_H
#define LACUNA_CORE_BLAS_H

#include <stdbool.h>

#include "lacuna/pattern.h"

/// What OpenBLAS takes for each thread that is in it, at most: 32 << 22 on x86-64, where it is largest. It keeps such
/// buffers and uses them again. Where there is no memory for one it tries for ever, in the middle of a product.
enum { LAC_BLAS_BUFFER = 32 << 22 };

/// The numbers of cblas.h.
enum { LAC_BLAS_BY_ROWS = 101, LAC_BLAS_BY_COLUMNS = 102, LAC_BLAS_PLAIN = 111 };

/// C = alpha op(A) op(B) + beta C, as cblas.h has it.
#define LAC_BLAS_GEMM(scalar, T)                                                                                   \
  (int order, int form_a, int form_b, int m, int n, int k, scalar alpha, const T *a, int lda, const T *b, int ldb, \
   scalar beta, T *c, int ldc)
typedef void lac_blas_sgemm LAC_BLAS_GEMM(float, float);
typedef void lac_blas_dgemm LAC_BLAS_GEMM(double, double);
typedef void lac_blas_complex_gemm LAC_BLAS_GEMM(const void *, void);  // scalars by their address

/// Functions that read and set the number of a library's own threads, with integers of 32 or 64 bits. All NULL: it has
/// no such threads, or their number cannot be set.
typedef struct lac_blas_team {
  int (*get)(void);
  void (*set)(int threads);
  int64_t (*get_wide)(void);
  void (*set_wide)(int64_t threads);
} lac_blas_team;

/// Settings of OpenBLAS that can be set and read, beyond its products.
typedef struct lac_openblas {
  lac_blas_team team;
  void *(*memory_alloc)(int position);  // NULL: it hides these two
  void (*memory_free)(void *buffer);
} lac_openblas;

/// The functions of a library that was found.
typedef struct lac_blas {
  char name[64];  // "OpenBLAS 0.3.21"
  lac_blas_sgemm *sgemm;
  lac_blas_dgemm *dgemm;
  lac_blas_complex_gemm *cgemm, *zgemm;
  lac_blas_team team;  // of any but OpenBLAS, which may be in the process twice
} lac_blas;

/// The BLAS that serves: between lac_blas_hold and lac_blas_drop; NULL: the library's own loops do.
extern const lac_blas *lac_blas_found;

/// Look for a BLAS, once: then lac_blas_found is set for good. False: there is no room to load one now.
bool lac_blas_find(void);

/// Why the one that LACUNA_BLAS names does not serve, as a sentence; "": it does, or none is named, or nobody has
/// looked yet.
const char *lac_blas_refusal(void);

/// Builds of OpenBLAS that are used in the process: the BLAS that serves, and those that plug-ins were linked with.
enum { LAC_OPENBLAS_MOST = 4 };

/// Those that are known; returns how many. More come, none goes.
int lac_blas_openblas(const lac_openblas **out);

/// A library was loaded that may have brought OpenBLAS.
void lac_blas_look_into(void *library);

/// A form as cblas.h has it. conj(A) is not among its words and must not be asked for.
static inline int lac_blas_form(lac_form form) {
  return LAC_BLAS_PLAIN + (form == LAC_ADJOINT ? 2 : form == LAC_TRANSPOSED);
}

/// `threads` threads will be in BLAS at once, until lac_blas_drop with the same number. False: there is no memory for
/// OpenBLAS's buffers, and it must not be called. Costs a lock where the buffers are there. Other libraries need none;
/// they have one thread for each of ours meanwhile, since theirs would compete with ours, and bits would depend on how
/// many there are.
bool lac_blas_hold(int threads);
void lac_blas_drop(int threads);

/// The same, and OpenBLAS too runs in the thread that calls it until lac_blas_leave: it spreads large products over
/// threads of its own, small ones never. Such settings are of the process: the first of us sets them to one thread, the
/// last sets them back.
bool lac_blas_enter(int threads);
void lac_blas_leave(int threads);

/// The sentence of a failure.
#define LAC_BLAS_LACKS                                                                                                 \
  "out of memory: BLAS needs a buffer of 128 MB of address space for each thread, ours and its own; give it more, or " \
  "fewer threads (OPENBLAS_NUM_THREADS=1), or do without it (LACUNA_BLAS=none)"

#endif
