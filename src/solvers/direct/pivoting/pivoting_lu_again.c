// SPDX-License-Identifier: Apache-2.0
/// @file pivoting_lu_again.c
/// LU with the pivots and therefore the shape of an earlier factor: no search, and nothing grows but the numbers.
///
///     column k   x = (R A C)(:, order(k)), rows by their steps;   u_jk = x_j, x -= l_j u_jk for its steps j in order
///                d_k = x_k;   l_ik = x_i / d_k
///
/// A pivot suits where it would be taken on the diagonal, however readily, and numbers do not grow much more than they
/// did; or, where pivots are those that a search would find (`chosen`), where it is the one that the rule of
/// pivoting_lu_kernel.h takes: the factor is then that of the search, to the last bit for real numbers.
///
/// Threads take pieces of the columns, in their order, and a column waits for those that it reads: they are done, or in
/// the hands of threads that wait for earlier ones alone. Each column is computed by one thread in one order, by one
/// text, so that bits do not depend on how many threads there are.

#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>

#include "solvers/direct/pivoting/pivoting_lu_replay.h"

// When a pivot is taken: where it is `tolerance` of the largest number of its column; or, where another row was wanted
// for it, the `rival`, where that one is too small and no other one as large.
typedef struct again_rule {
  double tolerance;
  int32_t rival;  // a step; -1: the pivot is the row that was wanted
} again_rule;

static inline again_rule again_rule_of(const pivoting_analysis *a, const pivoting_shape *shape, int32_t k) {
  int32_t wanted = shape->wanted[k];
  return (again_rule){pivoting_tolerance(a, a->order[k], wanted, shape->tolerance),
                      wanted == shape->pivots[k] ? -1 : shape->place[wanted]};
}

static inline bool again_takes(again_rule rule, double size, double others, double rival) {
  if (rule.rival >= 0) return size > others && !(rival > 0 && rival >= rule.tolerance * size);
  return size > 0 && size >= rule.tolerance * (size > others ? size : others);
}

enum {
  AGAIN_LOOK = 64,      // columns after which a thread without a team looks whether it shall end
  AGAIN_PIECE = 16,     // columns that a thread of a team takes at a time
  AGAIN_MANY = 32,      // entries of a column of U: it reads its neighbours
  AGAIN_PATIENCE = 64,  // looks after which a thread that waits lets others have its core
  AGAIN_ZERO = 4        // multiply-adds that are worth zeroing a number of the column in which a thread works
};

// Below this, two threads may take twice as long as one where their cores are far apart: columns that are handed over
// are short, and so are the times between them.
double pivoting_team_share = 1 << 23;

/// One elimination: what its threads share, and how far they are.
typedef struct again_team {
  const lac_direct_job *job;
  const pivoting_shape *shape;
  bool chosen;
  double tolerance;
  int threads;             // asked for; 1: a thread without a team, which needs nothing of what follows
  _Atomic bool *is_done;   // of each column
  _Atomic int32_t next;    // the first column that no thread has taken
  _Atomic int32_t failed;  // the first column that failed; n: none did; -1: it shall end
} again_team;

/// What shares the core with a thread that waits may use it meanwhile.
static inline void again_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Until column j is done; false: it will not be, for it failed or one before it.
static bool again_await(const again_team *team, int32_t j) {
  for (unsigned looks = 1; !atomic_load_explicit(&team->is_done[j], memory_order_acquire); looks++) {
    if (atomic_load_explicit(&team->failed, memory_order_relaxed) <= j) return false;
    again_pause();
    if (looks % AGAIN_PATIENCE == 0) (void)sched_yield();
  }
  return true;
}

static inline void again_hand_over(again_team *team, int32_t k) {
  atomic_store_explicit(&team->is_done[k], true, memory_order_release);
}

static void again_give_up(again_team *team, int32_t k) {
  int32_t failed = atomic_load(&team->failed);
  while (k < failed && !atomic_compare_exchange_weak(&team->failed, &failed, k)) continue;
}

#define KERNEL_FILE "solvers/direct/pivoting/pivoting_lu_again_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef int32_t again_columns_kernel(again_team *, int32_t, int32_t, void *, pivoting_numeric *);
static again_columns_kernel *const again_columns_kernels[] = TABLE(again_columns);

/// All columns by one thread. Returns the one that failed, as `failed` of a team.
static int32_t again_alone(again_team *team, void *x, pivoting_numeric *f) {
  double since = 0, work = AGAIN_LOOK * f->shape->flops / f->n;  // on the average
  for (int32_t k = 0, last; k < f->n; k = last) {
    last = f->n - k > AGAIN_LOOK ? k + AGAIN_LOOK : f->n;
    if (lac_stop_is_due(team->job->stop, work, &since)) return -1;
    int32_t end = again_columns_kernels[f->dtype](team, k, last, x, f);
    if (end < last) return end;
  }
  return f->n;
}

// -- several threads -------------------------------------------------------------------------------------------------

/// Multiply-adds one after the other up to the last column, by as many threads as it takes: a column takes its steps in
/// their order, each of them when it is done. `done` has room for each column.
static double again_longest(const pivoting_shape *shape, double *done) {
  const pivoting_index *l = &shape->l, *u = &shape->u;
  double longest = 0;
  for (int32_t k = 0; k < shape->n; k++) {
    done[k] = 0;
    for (int64_t p = u->offsets[k]; p < u->offsets[k + 1]; p++) {
      int32_t j = u->rows[p];
      done[k] = (done[j] > done[k] ? done[j] : done[k]) + (double)(l->offsets[j + 1] - l->offsets[j]);
    }
    if (done[k] > longest) longest = done[k];
  }
  return longest;
}

/// The same, kept by the shape. All multiply-adds of the shape where there is no memory to tell.
static double again_depth(pivoting_shape *shape) {
  double depth = atomic_load(&shape->depth);
  if (depth > 0) return depth;
  double *done = lac_alloc((size_t)shape->n * sizeof *done);
  if (!done) return shape->flops;
  depth = again_longest(shape, done);
  atomic_store(&shape->depth, depth);
  lac_free(done);
  return depth;
}

/// How many threads: the share of each takes longer than beginning it, and than the columns that wait for each other.
static int again_threads(const lac_direct_job *job, pivoting_shape *shape) {
  if (job->threads <= 1 || shape->flops < 2 * pivoting_team_share) return 1;
  if (omp_get_active_level() >= omp_get_max_active_levels()) return 1;  // matrices of a batch have all threads
  double share = fmax(fmax(pivoting_team_share, AGAIN_ZERO * (double)shape->n), again_depth(shape));
  return lac_threads_worth(job->threads, (int64_t)(shape->flops / share), shape->flops);
}

static bool again_reads_many(const pivoting_shape *shape, int32_t k) {
  return shape->u.offsets[k + 1] - shape->u.offsets[k] >= AGAIN_MANY;
}

/// Where a piece ends that begins with column k. Columns that read many others read the ones before them, and are taken
/// one by one.
static int32_t again_end(const pivoting_shape *shape, int32_t k) {
  int32_t n = shape->n, end = k < n ? k + 1 : n, most = n - k > AGAIN_PIECE ? k + AGAIN_PIECE : n;
  while (end < most && !again_reads_many(shape, k) && !again_reads_many(shape, end)) end++;
  return end;
}

/// The next columns: k .. *last - 1; n: there are no more.
static int32_t again_take(again_team *team, int32_t *last) {
  int32_t k = atomic_load(&team->next);
  do {
    *last = again_end(team->shape, k);
  } while (k < *last && !atomic_compare_exchange_weak(&team->next, &k, *last));
  return k;
}

/// The pieces that one thread of a team gets.
static void again_work(again_team *team, void *x, pivoting_numeric *f) {
  double since = 0, work = AGAIN_PIECE * f->shape->flops / f->n;
  for (;;) {
    int32_t last, k = again_take(team, &last);
    if (k >= atomic_load(&team->failed)) return;
    if (lac_stop_is_due(team->job->stop, work, &since)) {
      again_give_up(team, -1);
      return;
    }
    int32_t end = again_columns_kernels[f->dtype](team, k, last, x, f);
    if (end < last) again_give_up(team, end);
  }
}

/// What the columns of one thread showed. Of pivots that are alike a single thread notes the first.
static void again_sum_up(const pivoting_numeric *own, pivoting_numeric *all) {
  bool is_before = own->smallest == all->smallest && own->where < all->where;
  if (own->smallest < all->smallest || is_before) all->smallest = own->smallest, all->where = own->where;
  all->growth = fmax(all->growth, own->growth);
  all->weakest = fmin(all->weakest, own->weakest);
}

/// What a thread of a team does, with notes of its own: the first one has room beforehand, and does everything where
/// others have none.
static void again_join(again_team *team, void *x, pivoting_numeric *own, pivoting_numeric *all) {
  bool is_first = omp_get_thread_num() == 0;
  void *column = is_first ? x : lac_calloc((size_t)own->n, lac_dtype_size(own->dtype));
  if (column) again_work(team, column, own);
#pragma omp critical(again_notes)
  again_sum_up(own, all);
  if (!is_first) lac_free(column);
}

static int32_t again_together(again_team *team, void *x, pivoting_numeric *f) {
  pivoting_numeric own = *f;
#pragma omp parallel num_threads(team->threads) firstprivate(own)
  again_join(team, x, &own, f);
  return atomic_load(&team->failed);
}

// -- factors ---------------------------------------------------------------------------------------------------------

static void again_begin(again_team *team, const lac_direct_job *job, pivoting_shape *shape, bool chosen) {
  *team = (again_team){.job = job, .shape = shape, .chosen = chosen, .failed = shape->n};
  team->tolerance = pivoting_readiness(job->options);
  team->threads = again_threads(job, shape);
  if (team->threads > 1) team->is_done = lac_calloc((size_t)shape->n, sizeof *team->is_done);
  if (!team->is_done) team->threads = 1;
}

static lac_status again_columns(again_team *team, void *x, pivoting_numeric *f, lac_fault *fault) {
  const pivoting_analysis *a = team->job->part;
  int32_t failed = team->threads > 1 ? again_together(team, x, f) : again_alone(team, x, f);
  pivoting_name(a, f);
  if (failed == f->n) return LAC_OK;
  if (failed < 0) return lac_fault_interrupted(fault);
  snprintf(fault->text, sizeof fault->text, "the old pivot of column %d is 0, too small, or overflows",
           a->order[failed]);
  return LAC_ERR_CONVERGENCE;
}

/// The growth that old pivots may cause: it must leave digits of the dtype.
static double again_growth(lac_dtype dtype) { return fmin(PIVOTING_GROWTH, 1e-3 / lac_dtype_epsilon(dtype)); }

static bool again_suits(const pivoting_numeric *like, pivoting_numeric *f) {
  f->is_rough = like->is_rough || f->growth > fmax(PIVOTING_ROUGH, 2 * like->growth);
  return f->growth <= fmax(again_growth(f->dtype), like->growth);
}

static lac_status again_eliminate(again_team *team, void *x, pivoting_numeric *f, lac_fault *fault) {
  int32_t zero_row = pivoting_scale(team->job, f);
  if (zero_row < 0) return again_columns(team, x, f, fault);
  snprintf(fault->text, sizeof fault->text, "row %d has only zeros", zero_row);
  return LAC_ERR_CONVERGENCE;
}

static lac_status again_by_columns(const lac_direct_job *job, pivoting_shape *shape, bool chosen,
                                   pivoting_numeric **numeric, lac_fault *fault) {
  again_team team;
  pivoting_numeric *f = pivoting_create_like(shape, job->dtype);
  void *x = lac_calloc((size_t)shape->n, lac_dtype_size(job->dtype));
  lac_status status = LAC_ERR_MEMORY;

  again_begin(&team, job, shape, chosen);
  if (f && x) {
    status = again_eliminate(&team, x, f, fault);
  } else {
    snprintf(fault->text, sizeof fault->text, "out of memory: LU of %d rows", job->structure->n);
  }
  if (status == LAC_OK) *numeric = f, f = NULL;
  pivoting_destroy(f);
  lac_free(x);
  lac_free((void *)team.is_done);
  return status;
}

lac_status pivoting_factor_again(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  const pivoting_numeric *like = job->like;
  pivoting_numeric *f = pivoting_replay_factor(job, like->shape, false);
  if (f && again_suits(like, f)) {
    pivoting_replay_count(f);
    *numeric = f;
    return LAC_OK;
  }
  pivoting_destroy(f);
  lac_status status = again_by_columns(job, like->shape, false, &f, fault);
  if (status != LAC_OK) return status;
  if (!again_suits(like, f)) {
    snprintf(fault->text, sizeof fault->text, "numbers grow to %.1e with the old pivots", f->growth);
    pivoting_destroy(f);
    return LAC_ERR_CONVERGENCE;
  }
  pivoting_replay_learn(job, f, like->shape);
  *numeric = f;
  return LAC_OK;
}

lac_status pivoting_factor_chosen(const lac_direct_job *job, pivoting_shape *shape, void **numeric, lac_fault *fault) {
  bool is_usual = atomic_load(&shape->is_usual) && !job->near && pivoting_readiness(job->options) == shape->tolerance;
  pivoting_numeric *f = pivoting_replay_factor(job, shape, true);
  lac_status status = f ? LAC_OK : LAC_ERR_CONVERGENCE;

  if (f) {
    pivoting_replay_count(f);
  } else if (is_usual) {
    status = again_by_columns(job, shape, true, &f, fault);
    if (status == LAC_OK) pivoting_replay_learn(job, f, shape);
    if (status == LAC_ERR_CONVERGENCE) atomic_store(&shape->is_usual, false);
  }
  *numeric = f;
  return status;
}
