// SPDX-License-Identifier: Apache-2.0
/// @file cudss_stand_in.c
/// A library with the functions of cuDSS that Lacuna calls, for tests without a device: dense elimination in host
/// memory, strict about what cuDSS is strict about.
///
/// STAND_IN_MAJOR 1 has the signatures and numbers of version 1.0, and 0 those of 0.7, which solves no transposed
/// systems. Neither repeats the bits of batches, nor scales pivots where rows are matched; both ask for 0 bytes too.
/// Written after the headers of both.
///
///     stand_in_analyses, stand_in_factors   how many were made
///     stand_in_own                          how often memory was taken that was not lent
///     stand_in_analysis                     not 0: the code with which analyses fail
///     stand_in_lent                         not 0: that with which they fail in memory that is lent
///     stand_in_solve                        not 0: factors are empty, and solves fail with this code

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
typedef double complex number;

enum { OK, ALLOC_FAILED = 2, INVALID = 3, NOT_SUPPORTED = 4 };
enum { GENERAL, SYMMETRIC, HERMITIAN, SPD, HPD };
#if STAND_IN_MAJOR == 1
enum { MATCHING = 3, SOLVE_MODE = 4, EPSILON_ALG = 16, UBATCH_SIZE = 18, DETERMINISTIC = 24, ESTIMATES = 13 };
enum { USE_MATCHING = -1 };
#else
enum { USE_MATCHING = 3, MATCHING = 4, EPSILON_ALG = 17, UBATCH_SIZE = 19, DETERMINISTIC = 25, ESTIMATES = 12 };
enum { SOLVE_MODE = 5 };
#endif

typedef struct memory {
  void *self;
  int (*allocate)(void *self, void **data, size_t bytes, void *stream);
  int (*release)(void *self, void *data, size_t bytes, void *stream);
  char name[64];
} memory;

typedef struct handle {
  memory memory;
} handle;

typedef struct config {
  int matches, scales, mode, batch, repeats;
} config;

typedef struct matrix {
  bool is_dense;
  int64_t rows, cols, nnz, ld;
  const void *offsets, *columns;
  void *values;
  int offset_type, column_type, type, nature, view;
} matrix;

typedef struct data {
  bool is_analysed, is_factored, has_matched, is_empty;
  int64_t n, items, block;  // block: bytes that were taken for the factor
  number *lu;               // of each item, by rows
  int64_t *order;           // rows in the order of pivots
  int info, pivots, column_type, type, nature;
} data;

API int stand_in_analyses;
API int stand_in_factors;
API int stand_in_own;
API int stand_in_analysis, stand_in_lent, stand_in_solve;

// -- numbers of any type ---------------------------------------------------------------------------------------------

static number get(int type, const void *x, int64_t i) {
  if (type == 0) return ((const float *)x)[i];
  if (type == 1) return ((const double *)x)[i];
  return type == 4 ? (number)((const float complex *)x)[i] : ((const number *)x)[i];
}

static void put(int type, void *x, int64_t i, number value) {
  if (type == 0) ((float *)x)[i] = (float)creal(value);
  if (type == 1) ((double *)x)[i] = creal(value);
  if (type == 4) ((float complex *)x)[i] = (float complex)value;
  if (type == 5) ((number *)x)[i] = value;
}

static int64_t index_of(int type, const void *x, int64_t i) {
  return type == 10 ? ((const int32_t *)x)[i] : ((const int64_t *)x)[i];
}

// -- objects ---------------------------------------------------------------------------------------------------------

API int cudssGetProperty(int what, int *value) {
  static const int version[] = {STAND_IN_MAJOR, STAND_IN_MAJOR == 1 ? 0 : 7, 1};
  *value = version[what];
  return OK;
}

API int cudssCreate(handle **out) { return (*out = calloc(1, sizeof **out)) ? OK : ALLOC_FAILED; }
API int cudssDestroy(handle *h) {
  free(h);
  return OK;
}
API int cudssSetStream(handle *h, void *stream) {
  (void)stream;
  return h ? OK : INVALID;
}
API int cudssSetDeviceMemHandler(handle *h, const memory *m) {
  h->memory = *m;
  return OK;
}
API int cudssConfigCreate(config **out) {
  if (!(*out = calloc(1, sizeof **out))) return ALLOC_FAILED;
  (*out)->batch = 1;
  return OK;
}
API int cudssConfigDestroy(config *c) {
  free(c);
  return OK;
}
API int cudssConfigSet(config *c, int what, const void *value, size_t bytes) {
  int given;
  if (bytes != sizeof given) return INVALID;
  memcpy(&given, value, sizeof given);
  if (what == USE_MATCHING || (what == MATCHING && STAND_IN_MAJOR == 1)) {
    c->matches = given != 0;
  } else if (what == SOLVE_MODE) {
    if (STAND_IN_MAJOR == 0 && given != 0) return NOT_SUPPORTED;
    c->mode = given;
  } else if (what == UBATCH_SIZE) {
    c->batch = given;
  } else if (what == DETERMINISTIC) {
    c->repeats = given;
  } else if (what == EPSILON_ALG) {
    c->scales = given;
  } else if (what != MATCHING) {
    return INVALID;
  }
  return OK;
}
API int cudssDataCreate(handle *h, data **out) { return h && (*out = calloc(1, sizeof **out)) ? OK : ALLOC_FAILED; }
/// Memory of the handler, or its own.
static int take(handle *h, void **block, size_t bytes) {
  *block = NULL;
  if (h->memory.allocate) return h->memory.allocate(h->memory.self, block, bytes, NULL);
  stand_in_own++;
  return bytes == 0 || (*block = malloc(bytes)) ? 0 : 1;
}
static void give(handle *h, void *block, size_t bytes) {
  if (h->memory.release) {
    h->memory.release(h->memory.self, block, bytes, NULL);
  } else {
    free(block);
  }
}
API int cudssDataDestroy(handle *h, data *d) {
  if (d->lu) give(h, d->lu, (size_t)d->block);
  free(d->order);
  free(d);
  return OK;
}
API int cudssMatrixCreateDn(matrix **out, int64_t rows, int64_t cols, int64_t ld, void *values, int type, int layout) {
  if (layout != 0) return NOT_SUPPORTED;
  if (!(*out = calloc(1, sizeof **out))) return ALLOC_FAILED;
  **out = (matrix){.is_dense = true, .rows = rows, .cols = cols, .ld = ld, .values = values, .type = type};
  return OK;
}
static int create_csr(matrix **out, matrix m) {
  if (!(*out = malloc(sizeof **out))) return ALLOC_FAILED;
  **out = m;
  return OK;
}
#if STAND_IN_MAJOR == 1
API int cudssMatrixCreateCsr(matrix **out, int64_t rows, int64_t cols, int64_t nnz, const void *begins,
                             const void *ends, const void *columns, void *values, int offset_type, int column_type,
                             int type, int nature, int view, int base) {
  if (ends || base || rows != cols) return INVALID;
  return create_csr(
      out, (matrix){false, rows, cols, nnz, 0, begins, columns, values, offset_type, column_type, type, nature, view});
}
#else
API int cudssMatrixCreateCsr(matrix **out, int64_t rows, int64_t cols, int64_t nnz, const void *begins,
                             const void *ends, const void *columns, void *values, int column_type, int type, int nature,
                             int view, int base) {
  if (ends || base || rows != cols) return INVALID;
  return create_csr(
      out, (matrix){false, rows, cols, nnz, 0, begins, columns, values, column_type, column_type, type, nature, view});
}
#endif
API int cudssMatrixSetValues(matrix *m, void *values) {
  m->values = values;
  return OK;
}
API int cudssMatrixDestroy(matrix *m) {
  free(m);
  return OK;
}

// -- elimination -----------------------------------------------------------------------------------------------------

static int analyse(handle *h, const config *c, data *d, const matrix *a) {
  void *room = NULL;
  if (stand_in_analysis) return stand_in_analysis;
  if (stand_in_lent && h->memory.allocate) return stand_in_lent;
  if (c->matches && (c->batch > 1 || c->scales)) return NOT_SUPPORTED;
  if (c->repeats && c->batch > 1) return NOT_SUPPORTED;
  if (take(h, &room, 0)) return ALLOC_FAILED;
  give(h, room, 0);
  if (d->lu) give(h, d->lu, (size_t)d->block);
  d->lu = NULL;
  free(d->order);
  d->n = a->rows, d->items = c->batch, d->type = a->type, d->column_type = a->column_type, d->nature = a->nature;
  d->is_empty = stand_in_solve != 0;
  d->block = (d->is_empty ? 1 : d->items * d->n * d->n) * (int64_t)sizeof(number);
  d->order = calloc((size_t)(d->items * d->n), sizeof *d->order);
  if (!d->order || take(h, &room, (size_t)d->block)) return ALLOC_FAILED;
  d->lu = room;
  d->is_analysed = true, d->is_factored = false, d->has_matched = c->matches;
  stand_in_analyses++;
  return OK;
}

static void fill(const matrix *a, int64_t item, number *lu) {
  int64_t n = a->rows;
  memset(lu, 0, (size_t)(n * n) * sizeof *lu);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t p = index_of(a->offset_type, a->offsets, i); p < index_of(a->offset_type, a->offsets, i + 1); p++) {
      int64_t j = index_of(a->column_type, a->columns, p);
      number value = get(a->type, a->values, item * a->nnz + p);
      if (a->view == 1 && j > i) continue;
      lu[i * n + j] = value;
      if (a->view == 1) lu[j * n + i] = a->nature == HERMITIAN || a->nature == HPD ? conj(value) : value;
    }
  }
}

/// Rows change places only where they were matched; small pivots are enlarged and counted.
static void eliminate(data *d, const matrix *a, number *lu, int64_t *order) {
  int64_t n = d->n;
  double single = a->type == 0 || a->type == 4 ? 1e-5 : 1e-13, largest = 0;
  for (int64_t i = 0; i < n * n; i++) largest = fmax(largest, cabs(lu[i]));
  for (int64_t i = 0; i < n; i++) order[i] = i;
  for (int64_t k = 0; k < n; k++) {
    int64_t best = k;
    for (int64_t i = k + 1; d->has_matched && i < n; i++) {
      if (cabs(lu[i * n + k]) > cabs(lu[best * n + k])) best = i;
    }
    for (int64_t j = 0; best != k && j < n; j++) {
      number kept = lu[k * n + j];
      lu[k * n + j] = lu[best * n + j], lu[best * n + j] = kept;
    }
    int64_t row = order[k];
    order[k] = order[best], order[best] = row;
    number pivot = lu[k * n + k];
    if (a->nature >= SPD && !(creal(pivot) > single * largest) && d->info == 0) d->info = (int)(k + 1);
    if (!(cabs(pivot) > single * largest)) pivot = creal(pivot) < 0 ? -single * largest : single * largest, d->pivots++;
    lu[k * n + k] = pivot;
    for (int64_t i = k + 1; i < n; i++) {
      number l = lu[i * n + k] /= pivot;
      for (int64_t j = k + 1; l != 0 && j < n; j++) lu[i * n + j] -= l * lu[k * n + j];
    }
  }
}

static int factor(data *d, const matrix *a) {
  if (!d->is_analysed || a->rows != d->n || a->type != d->type) return INVALID;
  d->info = d->pivots = 0;
  for (int64_t item = 0; item < d->items && !d->is_empty; item++) {
    fill(a, item, d->lu + item * d->n * d->n);
    eliminate(d, a, d->lu + item * d->n * d->n, d->order + item * d->n);
  }
  d->is_factored = true;
  stand_in_factors++;
  return OK;
}

static void solve_plain(int64_t n, const number *lu, const int64_t *order, const number *b, number *x) {
  for (int64_t i = 0; i < n; i++) {
    x[i] = b[order[i]];
    for (int64_t j = 0; j < i; j++) x[i] -= lu[i * n + j] * x[j];
  }
  for (int64_t i = n - 1; i >= 0; i--) {
    for (int64_t j = i + 1; j < n; j++) x[i] -= lu[i * n + j] * x[j];
    x[i] /= lu[i * n + i];
  }
}

/// P A = L U, so that A^T y = U^T L^T P y.
static void solve_transposed(int64_t n, const number *lu, const int64_t *order, number *b, number *x) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < i; j++) b[i] -= lu[j * n + i] * b[j];
    b[i] /= lu[i * n + i];
  }
  for (int64_t i = n - 1; i >= 0; i--) {
    for (int64_t j = i + 1; j < n; j++) b[i] -= lu[j * n + i] * b[j];
  }
  for (int64_t i = 0; i < n; i++) x[order[i]] = b[i];
}

static int solve(const config *c, const data *d, const matrix *x, const matrix *b) {
  int64_t n = d->n;
  if (d->is_empty) return stand_in_solve;
  if (!d->is_factored || b->cols != x->cols) return INVALID;
  if (c->repeats && b->cols != 1) return NOT_SUPPORTED;
  number *right = malloc((size_t)n * sizeof *right), *left = malloc((size_t)n * sizeof *left);
  for (int64_t at = 0; at < d->items * b->cols; at++) {
    const number *lu = d->lu + at / b->cols * n * n;
    const int64_t *order = d->order + at / b->cols * n;
    for (int64_t i = 0; i < n; i++) right[i] = get(d->type, b->values, at * n + i);
    if (c->mode == 1) {
      solve_transposed(n, lu, order, right, left);
    } else {
      solve_plain(n, lu, order, right, left);
    }
    for (int64_t i = 0; i < n; i++) put(d->type, x->values, at * n + i, left[i]);
  }
  free(right);
  free(left);
  return OK;
}

API int cudssExecute(handle *h, int phase, const config *c, data *d, const matrix *a, matrix *x, matrix *b) {
  if (!h || !c || !d || !a || !x || !b || !x->is_dense || !b->is_dense || a->is_dense) return INVALID;
  if (phase == (1 | 2)) return analyse(h, c, d, a);
  if (phase == 4 || phase == 8) return factor(d, a);
  return phase == 1008 ? solve(c, d, x, b) : INVALID;
}

API int cudssDataGet(handle *h, data *d, int what, void *value, size_t bytes, size_t *written) {
  int64_t wide = 0;
  if (!h || !d->is_analysed) return INVALID;
  *written = bytes;
  memset(value, 0, bytes);
  if (what == 0) memcpy(value, &d->info, sizeof d->info);
  if (what == 1) wide = d->n * d->n, memcpy(value, &wide, sizeof wide);
  if (what == 2 && bytes != (d->column_type == 10 ? 4u : 8u)) return INVALID;
  if (what == 2) memcpy(value, &d->pivots, sizeof d->pivots);
  if (what == ESTIMATES) ((int64_t *)value)[0] = ((int64_t *)value)[1] = d->block;
  for (int64_t i = 0; what == 8 && i < d->n; i++) {
    number pivot = d->is_empty ? 1 : d->lu[i * d->n + i];
    put(d->type, value, i, d->nature >= SPD ? csqrt(pivot) : pivot);
  }
  return OK;
}
