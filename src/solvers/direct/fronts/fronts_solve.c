// SPDX-License-Identifier: Apache-2.0
/// @file fronts_solve.c
/// Substitution with a factor over supernodes, for blocks of right-hand sides.
///
///                 up, children first                          down, parents first
///     Cholesky    L_PP y_P = y_P,        y_R -= L_RP y_P      y_P -= L_RP^H y_R,  L_PP^H y_P = y_P
///     L D L^H     y_P = Pi y_P, the same                      D y_P = y_P, the same,  y_P = Pi^T y_P
///     LU          y_P = Pi y_P, the same                      y_P -= U_PR y_R,    U_PP y_P = y_P
///     LU^T        U_PP^T y_P = y_P,      y_R -= U_PR^T y_P    y_P -= L_RP^T y_R,  L_PP^T y_P = y_P,  y_P = Pi^T y_P
///
/// A^T = conj(A) for Hermitian matrices: their transposed solve is the plain one between two conjugations.
///
/// Threads take subtrees. On the way down they only read what is above them. On the way up, what subtrees take off rows
/// above them is left until all are done; then each thread takes some shares of those rows through all subtrees, so
/// that every number is summed in one order by one thread, without memory. Shares are cut by the tree alone.

#include <omp.h>
#include <stdio.h>

#include "core/context_impl.h"
#include "core/numbers/search.h"
#include "solvers/direct/dense/dense.h"
#include "solvers/direct/dense/dense_vector.h"
#include "solvers/direct/fronts/fronts.h"
#include "solvers/direct/symbolic/tree.h"

enum {
  SOLVE_ROWS = 256,        // of a piece of the block below a triangle
  SOLVE_COLS = 64,         // of a small triangle
  SOLVE_SHARED = 1 << 15,  // multiplications from which threads share them
  SOLVE_SHARES = 64,       // of the rows above subtrees, at most,
  SOLVE_SHARE = 256        // and so many rows at least to each
};

#if defined(__clang__)
#define SOLVE_UNROLL _Pragma("unroll")
#else
#define SOLVE_UNROLL _Pragma("GCC unroll 4")
#endif

/// One way through the tree.
typedef struct fronts_pass {
  lac_form form;
  bool is_lower, is_unit;  // the triangle of the panel of L
  bool is_of_u;            // the off-diagonal block is that of U
  bool is_conjugated;      // on the way down, M^H rather than M^T
  bool permutes;
} fronts_pass;

typedef struct fronts_solve {
  const lac_fronts *f;
  fronts_pass up, down;
  bool conjugates;
  int width;
  void *y, *x;
} fronts_solve;

#define KERNEL_FILE "solvers/direct/fronts/fronts_solve_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef void solve_up_kernel(const fronts_solve *, int32_t, int, int);
typedef void solve_tail_kernel(const fronts_solve *, int32_t, int, int, int);
typedef void solve_down_kernel(const fronts_solve *, int32_t, int);
typedef void solve_move_kernel(const fronts_solve *, bool, const int32_t *, const void *, int, const void *, void *);
static solve_up_kernel *const solve_up[] = TABLE(solve_up);
static solve_tail_kernel *const solve_tail[] = TABLE(solve_tail);
static solve_down_kernel *const solve_down[] = TABLE(solve_down);
static solve_move_kernel *const solve_move[] = TABLE(solve_move);

static void solve_plan(fronts_solve *w, lac_form form) {
  lac_front_kind kind = w->f->kind;
  bool unit = kind != LAC_FRONT_CHOLESKY, permutes = kind != LAC_FRONT_CHOLESKY;
  if (kind == LAC_FRONT_LU && form == LAC_TRANSPOSED) {
    w->up = (fronts_pass){.form = LAC_TRANSPOSED, .is_of_u = true};
    w->down = (fronts_pass){.form = LAC_TRANSPOSED, .is_lower = true, .is_unit = true, .permutes = true};
    return;
  }
  w->up = (fronts_pass){.form = LAC_PLAIN, .is_lower = true, .is_unit = unit, .permutes = permutes};
  if (kind == LAC_FRONT_LU) {
    w->down = (fronts_pass){.form = LAC_PLAIN, .is_of_u = true};
    return;
  }
  w->down = (fronts_pass){.form = LAC_ADJOINT, .is_lower = true, .is_unit = unit, .permutes = permutes};
  w->down.is_conjugated = true;
  w->conjugates = form == LAC_TRANSPOSED && lac_dtype_is_complex(w->f->dtype);
}

// How many of the rows of supernode i come before a step.
static int solve_rows_before(const lac_supernodes *s, int32_t i, int32_t step) {
  const int32_t *rows = s->rows + s->row_offsets[i];
  int count = lac_front_rows(s, i);
  return count == 0 || rows[count - 1] < step ? count : (int)lac_search_i32(rows, 0, count, step);
}

static bool solve_range_up(void *opaque, int32_t range, int worker, int threads) {
  const fronts_solve *w = opaque;
  const lac_supernodes *s = w->f->s;
  int32_t end = s->ranges[range].end;
  (void)worker;
  for (int32_t i = s->ranges[range].begin; i < end; i++) {
    solve_up[w->f->dtype](w, i, solve_rows_before(s, i, s->first[end]), threads);
  }
  return true;
}

static bool solve_range_down(void *opaque, int32_t range, int worker, int threads) {
  const fronts_solve *w = opaque;
  const lac_supernodes *s = w->f->s;
  (void)worker;
  for (int32_t i = s->ranges[range].end - 1; i >= s->ranges[range].begin; i--) solve_down[w->f->dtype](w, i, threads);
  return true;
}

// -- what subtrees take off rows above them --------------------------------------------------------------------------

/// The steps above subtrees, cut into shares: of the tree alone, whatever the number of threads.
typedef struct solve_shares {
  int count;
  int32_t begin[SOLVE_SHARES + 1];  // share k is the steps begin[k] .. begin[k + 1] - 1
} solve_shares;

static solve_shares solve_share_out(const lac_supernodes *s) {
  solve_shares shares = {.count = 0};
  int64_t all = 0, size, left = 0;
  for (int32_t i = s->subtree_count; i < s->range_count; i++) all += lac_front_cols(s, s->ranges[i].begin);
  size = (all + SOLVE_SHARES - 1) / SOLVE_SHARES;
  if (size < SOLVE_SHARE) size = SOLVE_SHARE;
  for (int32_t i = s->subtree_count; i < s->range_count; i++) {
    int32_t top = s->ranges[i].begin, cols = lac_front_cols(s, top);
    for (; left < cols; left += size) shares.begin[shares.count++] = s->first[top] + (int32_t)left;
    left -= cols;
  }
  shares.begin[shares.count] = s->n;
  return shares;
}

// What supernode i of a subtree that ends before step `above` takes off the rows of shares `share` .. `end` - 1.
static void solve_tail_of(const fronts_solve *w, const solve_shares *shares, int32_t i, int32_t above, int share,
                          int end) {
  const lac_supernodes *s = w->f->s;
  const int32_t *rows = s->rows + s->row_offsets[i];
  int count = lac_front_rows(s, i), from = shares->begin[share] > above ? shares->begin[share] : above;
  if (count == 0 || rows[count - 1] < from) return;
  for (int at = solve_rows_before(s, i, from); at < count; share++) {
    while (share < end && shares->begin[share + 1] <= rows[at]) share++;
    if (share == end) return;
    int next = solve_rows_before(s, i, shares->begin[share + 1]);
    solve_tail[w->f->dtype](w, i, at, next, 1);
    at = next;
  }
}

static void solve_tails(const fronts_solve *w, const solve_shares *shares, int begin, int end) {
  const lac_supernodes *s = w->f->s;
  for (int32_t range = 0; range < s->subtree_count && begin < end; range++) {
    int32_t stop = s->ranges[range].end;
    for (int32_t i = s->ranges[range].begin; i < stop; i++) solve_tail_of(w, shares, i, s->first[stop], begin, end);
  }
}

static void solve_all_tails(const fronts_solve *w, int threads) {
  solve_shares shares = solve_share_out(w->f->s);
  threads = lac_threads_worth(threads, shares.count, (double)w->f->s->nnz * w->width);
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    int me = omp_get_thread_num(), all = omp_get_num_threads();
    solve_tails(w, &shares, shares.count * me / all, shares.count * (me + 1) / all);
  }
}

static void solve_through(fronts_solve *w, int threads) {
  const lac_supernodes *s = w->f->s;
  lac_tree_subtrees(s, threads, solve_range_up, w);
  if (s->subtree_count < s->range_count) solve_all_tails(w, threads);
  for (int32_t i = s->subtree_count; i < s->range_count; i++) {
    int32_t top = s->ranges[i].begin;
    solve_up[w->f->dtype](w, top, lac_front_rows(s, top), threads);
  }
  lac_tree_down_ranges(s, threads, solve_range_down, w);
}

lac_status lac_fronts_solve(const lac_fronts *f, lac_form form, int width, int threads, const void *b, void *x,
                            void *work, lac_fault *fault) {
  fronts_solve w = {.f = f, .width = width, .y = work, .x = x};
  const lac_supernodes *s = f->s;
  bool turned = form == LAC_TRANSPOSED;

  if (!lac_blas_enter(threads)) return lac_fault_blas(fault);
  solve_plan(&w, form);
  solve_move[f->dtype](&w, false, turned ? s->col_at : s->row_at, turned ? f->col_scale : f->row_scale, threads, b,
                       work);
  solve_through(&w, threads);
  solve_move[f->dtype](&w, true, turned ? s->row_at : s->col_at, turned ? f->row_scale : f->col_scale, threads, work,
                       x);
  lac_blas_leave(threads);
  return LAC_OK;
}
