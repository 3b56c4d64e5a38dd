// SPDX-License-Identifier: Apache-2.0
/// @file pivoting_lu.h
/// What the parts of LU share: analysis, factors, workspace.

#ifndef LACUNA_SOLVERS_DIRECT_PIVOTING_PIVOTING_LU_H
#define LACUNA_SOLVERS_DIRECT_PIVOTING_PIVOTING_LU_H

#include <float.h>
#include <math.h>
#include <pthread.h>

#include "solvers/direct/method/method.h"

struct pivoting_shape;

typedef struct pivoting_analysis {
  int32_t n;
  int32_t *order;        // the column of A that is eliminated k-th
  int32_t *row_of;       // the row that shall be the pivot of a column where it can; NULL: that of its number
  int32_t blocks;        // on the diagonal that are eliminated each by itself; what stands below them stays as it is
  int32_t *first;        // blocks + 1: the step at which each begins
  int32_t *row_block;    // n: which one a row of A is in; NULL: there is one
  int32_t *col_block;    // n: and a column
  int64_t below;         // entries below the blocks
  const char *ordering;  // that was taken; NULL: the one that was asked for
  int64_t nnz;           // of both triangles, and multiply-adds, where pivots stay on the diagonal; 0: not known
  double flops;
  _Atomic bool is_weak;          // pivots that were taken from the diagonal too readily let numbers grow
  pthread_mutex_t lock;          // of the next one
  struct pivoting_shape *shape;  // of earlier values (column_lu.c); NULL until there are some
} pivoting_analysis;

/// Places of numbers by columns, that grow at their end.
typedef struct pivoting_index {
  int64_t *offsets;
  int32_t *rows;
  int64_t count, capacity;
} pivoting_index;

/// Where the numbers of a factor stand. Factors with the same pivots hold it together.
typedef struct pivoting_shape {
  lac_object object;
  int32_t n;
  pivoting_index l;      // strictly lower, unit diagonal
  pivoting_index u;      // strictly upper
  pivoting_index below;  // the blocks: numbers of the matrix
  int32_t *pivots;       // the row of A that is eliminated k-th
  int32_t *place;        // the step of each row; -1: not yet
  double flops;          // multiply-adds
  _Atomic double depth;  // those that are one after the other, however many threads there are; 0: not known
  double tolerance;      // by which they were chosen, and which row would have been taken at each step where it could:
  int32_t *wanted;
  _Atomic int32_t uses;                      // how often values were factored in it anew
  _Atomic bool is_usual;                     // the last search found its pivots once more, and values since chose them
  _Atomic(struct pivoting_replay *) replay;  // NULL until it pays (pivoting_lu_replay.h)
} pivoting_shape;

typedef struct pivoting_numeric {
  lac_dtype dtype;
  int32_t n;
  pivoting_shape *shape;                 // held
  bool is_like;                          // another one made the shape, and counts it
  const struct pivoting_replay *replay;  // that made it, kept by the shape: then the numbers are one block from l on
  bool counts_replay;                    // as the first one that it made
  void *l, *u, *below;                   // numbers
  void *diagonal;                        // of U
  void *inverse;                         // one over it
  void *row_scale;  // real powers of two that bring the largest number of every row and column of a block near 1:
  void *col_scale;  // what is factored is R A C
  double apart;     // as of lac_finding
  double smallest;  // pivot, of a column whose largest number is near 1
  int64_t where;    // its column, but its step until pivoting_name; -1: none is smaller than 1
  double growth;    // the largest number that was met below the diagonal; those of R A C are near 1
  double weakest;   // the smallest pivot relative to the largest number that its column came to
  bool is_rough;    // as of lac_finding
} pivoting_numeric;

typedef struct pivoting_work {
  void *x;          // the column in hand, by rows of A
  int32_t *mark;    // == k: the row is in the column's structure
  int32_t *path;    // steps that update the column, in order, at its end
  int32_t *stack;   // of the search
  int64_t *resume;  // where the search goes on in each column of the stack
  int32_t *rest;    // rows of the column that are not pivots yet
  int64_t *pruned;  // where the search may stop in each column of L
  int32_t
      *row_of;  // the row that shall be the pivot of a column where it can: its own, or one that another column left
  int32_t *col_of;  // and the column of each row
  int32_t rest_count;
  const int32_t *row_block;  // as of the analysis
  int32_t block;             // that is eliminated
  bool is_single;            // and has one row
} pivoting_work;

/// A factor with room for so many entries of L and U, or in a shape that another one made; NULL: there is no memory.
/// And its end, which accepts NULL. See pivoting_lu_memory.c.
pivoting_numeric *pivoting_create(const pivoting_analysis *analysis, lac_dtype dtype, int64_t l_count, int64_t u_count);
pivoting_numeric *pivoting_create_like(pivoting_shape *shape, lac_dtype dtype);
void pivoting_destroy(void *numeric);

/// Multipliers up to one over the first are taken where pivots are foreseen; numbers that grow cost digits: from the
/// second on of what is not refined, from the third on too many.
static const double PIVOTING_READY = 1e-3, PIVOTING_ROUGH = 32, PIVOTING_GROWTH = 1e6;

/// So many times larger a row must be that was not foreseen for its column.
static const double PIVOTING_LEFT = 10;

/// How large a pivot on the diagonal must be relative to the largest candidate. More than that by default costs fill
/// and gains little, because growing numbers are noticed; options may ask for stricter pivots.
static inline double pivoting_readiness(const lac_solver_options *options) {
  double asked = options->pivot_tolerance;
  bool is_strict = asked > lac_solver_options_defaults().pivot_tolerance;
  return is_strict || asked < PIVOTING_READY ? asked : PIVOTING_READY;
}

/// Smaller numbers are divided by, and no others: one over them may overflow.
static const double tiny_f32 = FLT_MIN, tiny_f64 = DBL_MIN, tiny_c64 = FLT_MIN, tiny_c128 = DBL_MIN;

/// What the pivot of a step shows: `most` is the largest number that it was chosen from, `above` that of U's column.
/// Minima and maxima of what is rounded once, so that the order of steps does not matter.
static inline void pivoting_note(pivoting_numeric *f, int32_t step, double size, double most, double above) {
  double around = most > above ? most : above;
  double share = around > 1 ? size / around : size;
  if (size < f->smallest) f->smallest = size, f->where = step;
  if (most > f->growth) f->growth = most;
  if (share < f->weakest) f->weakest = share;
}

/// After the last step: the smallest pivot is that of a column.
static inline void pivoting_name(const pivoting_analysis *a, pivoting_numeric *f) {
  if (f->where >= 0) f->where = a->order[f->where];
}

/// The row that is foreseen for a column, and how large a row must be that it wants: one that was left by another
/// column fills in less than any, but more than the one that was foreseen, and numbers grow where both are taken as
/// readily.
static inline int32_t pivoting_foreseen(const pivoting_analysis *a, int32_t column) {
  return a->row_of ? a->row_of[column] : column;
}
static inline double pivoting_tolerance(const pivoting_analysis *a, int32_t column, int32_t wanted, double tolerance) {
  return wanted == pivoting_foreseen(a, column) ? tolerance : fmin(1, PIVOTING_LEFT * tolerance);
}

/// R and C, of each block by itself. Returns a row that has only zeros there, or -1.
int32_t pivoting_scale(const lac_direct_job *job, pivoting_numeric *f);

/// With pivots that are at least `tolerance` of the largest candidate where they are on the diagonal.
lac_status pivoting_factor_by(const lac_direct_job *job, double tolerance, void **numeric, lac_fault *fault);

/// The multiply-adds that are worth a thread of those that eliminate with old pivots together. Tests take fewer.
extern double pivoting_team_share;

/// With the pivots of job->like: pivoting_lu_again.c.
lac_status pivoting_factor_again(const lac_direct_job *job, void **numeric, lac_fault *fault);

/// With those of a shape, where pivoting_factor_by would find them too: without a search. LAC_ERR_CONVERGENCE: it would
/// not, or the last search did not.
lac_status pivoting_factor_chosen(const lac_direct_job *job, pivoting_shape *shape, void **numeric, lac_fault *fault);

/// Room for `count` more entries and their numbers, where there is not enough; and wherever there may be.
bool pivoting_grow(pivoting_index *index, void **values, int64_t count, size_t number_size);
static inline bool pivoting_reserve(pivoting_index *index, void **values, int64_t count, size_t number_size) {
  return count <= index->capacity - index->count || pivoting_grow(index, values, count, number_size);
}

/// What step j adds to the structure of column k: path[return value .. n - 1] are the steps that update it, `top` what
/// this was before, rest the rows below. See pivoting_lu_reach.c.
int32_t pivoting_search(int32_t j, int32_t k, const pivoting_shape *shape, pivoting_work *w, int32_t top);

/// The room of an elimination, zero before; false: there is no memory. And its end.
bool pivoting_work_init(pivoting_work *w, size_t n, lac_dtype dtype);
void pivoting_work_clear(pivoting_work *w);

/// Of a factor with so many entries, those below the blocks too; and of its shape alone.
int64_t pivoting_shape_bytes(int32_t n, int64_t entries);
int64_t pivoting_bytes(lac_dtype dtype, int32_t n, int64_t entries);

/// What a factor holds, and of what it shares with others if it is the one that counts it.
int64_t pivoting_bytes_of(const pivoting_numeric *f);

/// Slots of the table, which LU of short columns shares (column_lu.c); the last two: pivoting_lu_inverse.c.
void pivoting_forget(void *analysis);
bool pivoting_is_stable(const lac_solver_options *options);
lac_status pivoting_solve(const void *analysis, const void *numeric, lac_form form, int width, int threads,
                          const void *b, void *x, void *work, lac_fault *fault);
void pivoting_report(const void *analysis, const void *numeric, lac_finding *finding);
lac_status pivoting_logdet(const void *analysis, const void *numeric, lac_polar *out);
lac_status pivoting_selected_inverse(const lac_structure *structure, const void *analysis, const void *numeric,
                                     int threads, lac_stop *stop, void *values, lac_fault *fault);

#endif
