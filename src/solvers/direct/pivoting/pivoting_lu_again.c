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
/// the hands of threads that wait for earlier ones alone. Each column is computed by one thread in one order, so that
/// bits do not depend on how many there are.

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
  AGAIN_PIECE = 16,           // columns that a thread takes at a time
  AGAIN_MANY = 32,            // entries of a column of U: it reads its neighbours
  AGAIN_PATIENCE = 1 << 10,   // looks after which a thread that waits lets others have its core
  AGAIN_LEAST_WORK = 1 << 20  // multiply-adds that are worth a second thread
};

/// The threads of one elimination, and how far they are.
typedef struct again_team {
  const lac_direct_job *job;
  const pivoting_shape *shape;
  bool chosen;
  int threads;
  size_t column;            // bytes of the column that each thread works in
  char *columns;            // of all threads
  pivoting_numeric *notes;  // of each thread: the factor, with what the columns of this thread showed
  _Atomic bool *is_done;    // of each column
  _Atomic int32_t next;     // the first column that no thread has taken
  _Atomic int32_t failed;   // the first column that failed; n: none did; -1: it shall end
} again_team;

/// Until column j is done; false: it will not be, for it failed or one before it.
static bool again_await(const again_team *team, int32_t j) {
  for (int looks = 1; !atomic_load_explicit(&team->is_done[j], memory_order_acquire); looks++) {
    if (atomic_load_explicit(&team->failed, memory_order_relaxed) <= j) return false;
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

typedef int32_t again_columns_kernel(const lac_direct_job *, int32_t, int32_t, double, bool, again_team *, void *,
                                     pivoting_numeric *);
static again_columns_kernel *const again_columns_kernels[] = TABLE(again_columns);

static bool again_reads_many(const pivoting_shape *shape, int32_t k) {
  return shape->u.offsets[k + 1] - shape->u.offsets[k] >= AGAIN_MANY;
}

/// The next columns: k .. *last - 1. Those that read many others read the ones before them, and are taken one by one.
static int32_t again_take(again_team *team, int32_t *last) {
  const pivoting_shape *shape = team->shape;
  int32_t k = atomic_load(&team->next);
  do {
    int32_t end = k + 1, most = k + AGAIN_PIECE < shape->n ? k + AGAIN_PIECE : shape->n;
    while (end < most && !again_reads_many(shape, k) && !again_reads_many(shape, end)) end++;
    *last = end;
  } while (k < shape->n && !atomic_compare_exchange_weak(&team->next, &k, *last));
  return k;
}

/// The pieces that one thread gets.
static void again_work(again_team *team, int thread) {
  const lac_direct_job *job = team->job;
  pivoting_numeric *f = &team->notes[thread];
  double tolerance = pivoting_readiness(job->options);
  double since = 0, work = AGAIN_PIECE * f->shape->flops / f->n;  // on the average
  for (;;) {
    int32_t last, k = again_take(team, &last);
    if (k >= atomic_load(&team->failed)) return;
    if (lac_stop_is_due(job->stop, work, &since)) again_give_up(team, -1);
    k = again_columns_kernels[f->dtype](job, k, last, tolerance, team->chosen, team->threads > 1 ? team : NULL,
                                        team->columns + (size_t)thread * team->column, f);
    if (k < last) again_give_up(team, k);
  }
}

static int32_t again_step(const pivoting_analysis *a, int64_t column) {
  int32_t k = 0;
  while (k < a->n && a->order[k] != column) k++;
  return k;
}

/// What the columns of all threads showed. Of pivots that are alike a single thread notes the first.
static void again_sum_up(const again_team *team, pivoting_numeric *f) {
  const pivoting_analysis *a = team->job->part;
  for (int t = 0; t < team->threads; t++) {
    const pivoting_numeric *own = &team->notes[t];
    bool is_alike = own->smallest == f->smallest && own->where != f->where;
    if (own->smallest < f->smallest || (is_alike && again_step(a, own->where) < again_step(a, f->where))) {
      f->smallest = own->smallest, f->where = own->where;
    }
    f->growth = fmax(f->growth, own->growth);
    f->weakest = fmin(f->weakest, own->weakest);
  }
}

static lac_status again_columns(again_team *team, pivoting_numeric *f, lac_fault *fault) {
  const pivoting_analysis *a = team->job->part;
  for (int t = 0; t < team->threads; t++) team->notes[t] = *f;
  if (team->threads == 1) {
    again_work(team, 0);
  } else {
#pragma omp parallel num_threads(team->threads)
    again_work(team, omp_get_thread_num());
  }
  again_sum_up(team, f);
  int32_t failed = atomic_load(&team->failed);
  if (failed == f->n) return LAC_OK;
  if (failed < 0) return lac_fault_interrupted(fault);
  snprintf(fault->text, sizeof fault->text, "the old pivot of column %d is 0, too small, or overflows",
           a->order[failed]);
  return LAC_ERR_CONVERGENCE;
}

/// With room for so many threads as are worth it; false: there is no memory.
static bool again_team_init(again_team *team, const lac_direct_job *job, const pivoting_shape *shape, bool chosen) {
  int threads = shape->flops < AGAIN_LEAST_WORK ? 1 : lac_threads_worth(job->threads, shape->n, shape->flops);
  *team = (again_team){.job = job, .shape = shape, .chosen = chosen, .threads = threads, .failed = shape->n};
  team->column = (size_t)shape->n * lac_dtype_size(job->dtype);
  team->columns = lac_calloc((size_t)threads, team->column);
  team->notes = lac_alloc((size_t)threads * sizeof *team->notes);
  team->is_done = lac_calloc((size_t)shape->n, sizeof *team->is_done);
  return team->columns && team->notes && team->is_done;
}

static void again_team_clear(again_team *team) {
  lac_free(team->columns);
  lac_free(team->notes);
  lac_free((void *)team->is_done);
}

/// The growth that old pivots may cause: it must leave digits of the dtype.
static double again_growth(lac_dtype dtype) { return fmin(PIVOTING_GROWTH, 1e-3 / lac_dtype_epsilon(dtype)); }

static bool again_suits(const pivoting_numeric *like, pivoting_numeric *f) {
  f->is_rough = like->is_rough || f->growth > fmax(PIVOTING_ROUGH, 2 * like->growth);
  return f->growth <= fmax(again_growth(f->dtype), like->growth);
}

static lac_status again_eliminate(again_team *team, pivoting_numeric *f, lac_fault *fault) {
  int32_t zero_row = pivoting_scale(team->job, f);
  if (zero_row < 0) return again_columns(team, f, fault);
  snprintf(fault->text, sizeof fault->text, "row %d has only zeros", zero_row);
  return LAC_ERR_CONVERGENCE;
}

static lac_status again_by_columns(const lac_direct_job *job, pivoting_shape *shape, bool chosen,
                                   pivoting_numeric **numeric, lac_fault *fault) {
  again_team team;
  pivoting_numeric *f = pivoting_create_like(shape, job->dtype);
  lac_status status = LAC_ERR_MEMORY;

  if (again_team_init(&team, job, shape, chosen) && f) {
    status = again_eliminate(&team, f, fault);
  } else {
    snprintf(fault->text, sizeof fault->text, "out of memory: LU of %d rows", job->structure->n);
  }
  if (status == LAC_OK) *numeric = f, f = NULL;
  pivoting_destroy(f);
  again_team_clear(&team);
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
