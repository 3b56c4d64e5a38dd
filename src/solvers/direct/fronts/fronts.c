// SPDX-License-Identifier: Apache-2.0
/// @file fronts.c
/// Multifrontal factorisation (Duff and Reid 1983): along the tree of supernodes, children first,
///
///     front = entries of A  +  sum over children of their updates, where `relative` says
///     [ A_PP A_PR ]            P is eliminated: a panel of L (and of U), which is at its final place from the start
///     [ A_RP A_RR ]            what is left on R, A_RR - L_RP U_PR, is the update for the parent
///
/// A_RR is what children bring alone, for entries of A belong to an earlier column. So it is added when the product is
/// there, which saves clearing and reading it once. Updates lie in the memory of the thread that does a subtree
/// (tree.c); above the subtrees they are blocks, given back as soon as the parent has taken them.

#include "solvers/direct/fronts/fronts.h"

#include "core/memory_impl.h"
#include "solvers/direct/dense/dense.h"
#include "solvers/direct/symbolic/tree.h"

enum { FRONTS_SHARED = 1 << 16 };  // numbers from which threads share the assembly

#define FRONTS_SHARES(front, cols, rows) ((front)->threads > 1 && (int64_t)(cols) * (rows) >= FRONTS_SHARED)

#define KERNEL_FILE "solvers/direct/fronts/fronts_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef void fronts_place_kernel(const lac_supernodes *, int32_t, bool, const void *, lac_front *);
typedef void fronts_extend_kernel(const lac_front *, bool, int, int, const int32_t *, const void *);
static fronts_place_kernel *const fronts_place[] = TABLE(front_place);
static fronts_extend_kernel *const fronts_extend_panel[] = TABLE(front_extend_panel);
static fronts_extend_kernel *const fronts_extend_update[] = TABLE(front_extend_update);

// -- the factor ------------------------------------------------------------------------------------------------------

void lac_fronts_destroy(void *fronts) {
  lac_fronts *f = fronts;
  if (!f) return;
  void *blocks[] = {f->l, f->u, f->u_panels, f->pivots, f->d_below, f->row_scale, f->col_scale};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lac_free(blocks[i]);
  lac_object_release(f->s);
  lac_free(f);
}

static bool fronts_allocate_lu(lac_fronts *f) {
  const lac_supernodes *s = f->s;
  f->u_panels = lac_alloc((size_t)(s->count + 1) * sizeof *f->u_panels);
  if (!f->u_panels) return false;
  f->u_panels[0] = 0;
  for (int32_t i = 0; i < s->count; i++) {
    f->u_panels[i + 1] = f->u_panels[i] + (int64_t)lac_front_cols(s, i) * lac_front_rows(s, i);
  }
  f->u = lac_alloc((size_t)f->u_panels[s->count] * lac_dtype_size(f->dtype));
  return f->u;
}

lac_fronts *lac_fronts_create(lac_supernodes *s, lac_front_kind kind, lac_dtype dtype) {
  size_t n = (size_t)s->n, size = lac_dtype_size(dtype);
  lac_fronts *f = lac_calloc(1, sizeof *f);
  if (!f) return NULL;
  f->kind = kind;
  f->dtype = dtype;
  f->s = lac_object_retain(s);
  f->l = lac_alloc((size_t)s->panels[s->count] * size);
  bool fits = f->l;
  if (kind != LAC_FRONT_CHOLESKY) fits = fits && (f->pivots = lac_alloc(n * sizeof *f->pivots));
  if (kind == LAC_FRONT_LDLT) fits = fits && (f->d_below = lac_alloc(n * size));
  if (kind == LAC_FRONT_LU) fits = fits && fronts_allocate_lu(f);
  if (fits) return f;
  lac_fronts_destroy(f);
  return NULL;
}

// -- one front -------------------------------------------------------------------------------------------------------

// What a thread has to itself.
typedef struct fronts_worker {
  _Alignas(64) char *updates;  // a line of its own
  void *work;
  size_t work_bytes;
  double smallest, largest;
  int32_t where;
  int64_t perturbed, zeros;
  double since;  // operations since it looked whether the walk shall end
} fronts_worker;

typedef struct fronts_walk {
  lac_fronts *f;
  const lac_fronts_job *job;
  size_t size;
  fronts_worker *workers;
  char **blocks;              // count: updates that are blocks of their own; NULL before and after
  _Atomic lac_status ending;  // why the walk has stopped: LAC_ERR_MEMORY, LAC_ERR_INTERRUPTED
  int32_t refused;            // the first step that was, or n
  double pivot;
} fronts_walk;

static const void *fronts_update_of(const fronts_walk *w, const fronts_worker *worker, int32_t i) {
  int64_t at = w->f->s->update_at[i];
  return at < 0 ? w->blocks[i] : worker->updates + (size_t)at * w->size;
}

// Memory for the update and for the elimination of a front.
static bool fronts_prepare(fronts_walk *w, fronts_worker *worker, int32_t i, lac_front *front) {
  const lac_supernodes *s = w->f->s;
  size_t r = (size_t)front->r, p = (size_t)front->p, bytes = 0;
  if (r > 0 && s->update_at[i] < 0 && !(w->blocks[i] = lac_alloc(r * r * w->size))) return false;
  if (r > 0 && s->update_at[i] >= 0 && !worker->updates) {
    worker->updates = lac_alloc((size_t)s->update_work * w->size);
    if (!worker->updates) return false;
  }
  if (w->f->kind == LAC_FRONT_LDLT) bytes = (p + r) * p * w->size;
  if (w->f->kind == LAC_FRONT_LU) bytes = p * sizeof(int32_t);
  if (bytes > worker->work_bytes) {
    lac_free(worker->work);
    worker->work = lac_alloc(bytes);
    worker->work_bytes = worker->work ? bytes : 0;
    if (!worker->work) return false;
  }
  front->update = r > 0 ? (void *)fronts_update_of(w, worker, i) : NULL;
  front->work = worker->work;
  return true;
}

static void fronts_extend(fronts_walk *w, const fronts_worker *worker, int32_t i, const lac_front *front,
                          fronts_extend_kernel *kernel) {
  const lac_supernodes *s = w->f->s;
  bool symmetric = w->f->kind != LAC_FRONT_LU;
  for (int32_t c = i - 1; c >= s->leftmost[i]; c = s->leftmost[c] - 1) {
    const int32_t *relative = s->relative + s->row_offsets[c];
    int rows = lac_front_rows(s, c), inner = 0;
    while (inner < rows && relative[inner] < front->p) inner++;
    kernel(front, symmetric, rows, inner, relative, fronts_update_of(w, worker, c));
  }
}

static void fronts_drop_children(fronts_walk *w, int32_t i) {
  const lac_supernodes *s = w->f->s;
  for (int32_t c = i - 1; c >= s->leftmost[i]; c = s->leftmost[c] - 1) {
    if (s->update_at[c] >= 0) continue;
    lac_free(w->blocks[c]);
    w->blocks[c] = NULL;
  }
}

static lac_front fronts_front(const fronts_walk *w, int32_t i, int threads) {
  const lac_supernodes *s = w->f->s;
  lac_fronts *f = w->f;
  const lac_fronts *like = w->job->like;
  size_t first = (size_t)s->first[i], size = w->size;
  lac_front front = {.p = lac_front_cols(s, i), .r = lac_front_rows(s, i), .threads = threads, .first = s->first[i]};
  front.small = w->job->small;
  front.l = (char *)f->l + (size_t)s->panels[i] * size;
  if (f->u) front.u = (char *)f->u + (size_t)f->u_panels[i] * size;
  if (f->pivots) front.pivots = f->pivots + first;
  if (f->d_below) front.d_below = (char *)f->d_below + first * size;
  if (like && like->pivots) front.like_pivots = like->pivots + first;
  if (like && like->d_below) front.like_d_below = (char *)like->d_below + first * size;
  if (w->job->norms) front.norms = w->job->norms + first;
  return front;
}

static void fronts_count(fronts_worker *worker, const lac_front *front) {
  if (front->largest > worker->largest) worker->largest = front->largest;
  worker->perturbed += front->perturbed;
  worker->zeros += front->zeros;
  if (front->smallest > worker->smallest) return;
  if (front->smallest == worker->smallest && front->where > worker->where) return;
  worker->smallest = front->smallest;
  worker->where = front->where;
}

static bool fronts_end(fronts_walk *w, lac_status ending) {
  atomic_store(&w->ending, ending);
  return false;
}

// Whether the walk shall end before front i, which takes about p (p + r)^2 operations.
static bool fronts_is_over(const fronts_walk *w, fronts_worker *worker, int32_t i) {
  double p = lac_front_cols(w->f->s, i), m = p + lac_front_rows(w->f->s, i);
  return lac_stop_is_due(w->job->stop, p * m * m, &worker->since);
}

// False when there is no memory, or the front is refused.
static bool fronts_do(fronts_walk *w, fronts_worker *worker, int32_t i, int threads) {
  lac_dtype dtype = w->f->dtype;
  lac_front front = fronts_front(w, i, threads);

  if (!fronts_prepare(w, worker, i, &front)) return fronts_end(w, LAC_ERR_MEMORY);
  fronts_place[dtype](w->f->s, i, w->f->kind != LAC_FRONT_LU, w->job->values, &front);
  fronts_extend(w, worker, i, &front, fronts_extend_panel[dtype]);
  if (!w->job->eliminate[dtype](&front)) {
#pragma omp critical(lac_fronts_refused)
    if (front.where < w->refused) {
#pragma omp atomic write
      w->refused = front.where;
      w->pivot = front.smallest;
    }
    return false;
  }
  if (front.r > 0) fronts_extend(w, worker, i, &front, fronts_extend_update[dtype]);
  fronts_drop_children(w, i);
  fronts_count(worker, &front);
  return true;
}

// -- all fronts ------------------------------------------------------------------------------------------------------

// A refusal ends its range, and those that come after it in the order of elimination: the first step that is refused
// does not depend on the number of threads.
static bool fronts_range(void *opaque, int32_t range, int worker, int threads) {
  fronts_walk *w = opaque;
  const lac_supernodes *s = w->f->s;
  for (int32_t i = s->ranges[range].begin; i < s->ranges[range].end; i++) {
    int32_t refused;
#pragma omp atomic read
    refused = w->refused;
    if (s->first[i] > refused) return true;
    if (fronts_is_over(w, &w->workers[worker], i)) return fronts_end(w, LAC_ERR_INTERRUPTED);
    if (fronts_do(w, &w->workers[worker], i, threads)) continue;
    return atomic_load(&w->ending) == LAC_OK;
  }
  return true;
}

static void fronts_sum_up(fronts_walk *w, int threads) {
  lac_fronts *f = w->f;
  fronts_worker all = w->workers[0];
  for (int t = 1; t < threads; t++) {
    const fronts_worker *one = &w->workers[t];
    fronts_count(&all, &(lac_front){.smallest = one->smallest, .where = one->where, .largest = one->largest});
    all.perturbed += one->perturbed;
    all.zeros += one->zeros;
  }
  f->smallest = all.smallest;
  f->where = all.where < 0 ? -1 : f->s->col_at[all.where];
  f->growth = all.largest;
  f->perturbed = all.perturbed;
  f->zeros = all.zeros;
}

static void fronts_clear(fronts_walk *w, int threads) {
  for (int t = 0; w->workers && t < threads; t++) {
    lac_free(w->workers[t].updates);
    lac_free(w->workers[t].work);
  }
  for (int32_t i = 0; w->blocks && i < w->f->s->count; i++) lac_free(w->blocks[i]);
  lac_free(w->workers);
  lac_free(w->blocks);
}

lac_status lac_fronts_factor(lac_fronts *f, const lac_fronts_job *job) {
  fronts_walk w = {.f = f, .job = job, .size = lac_dtype_size(f->dtype), .refused = f->s->n};
  lac_status status = LAC_OK;

  w.workers = lac_calloc((size_t)job->threads, sizeof *w.workers);
  w.blocks = lac_calloc((size_t)f->s->count, sizeof *w.blocks);
  if (!w.workers || !w.blocks) {
    status = LAC_ERR_MEMORY;
    goto done;
  }
  for (int t = 0; t < job->threads; t++) w.workers[t].smallest = 1, w.workers[t].where = -1;
  f->lacks_blas = !lac_blas_enter(job->threads);
  if (f->lacks_blas) {
    status = LAC_ERR_MEMORY;
    goto done;
  }
  lac_tree_up_ranges(f->s, job->threads, fronts_range, &w);
  lac_blas_leave(job->threads);
  if (w.refused < f->s->n && w.ending != LAC_ERR_INTERRUPTED) {
    status = f->kind == LAC_FRONT_CHOLESKY ? LAC_ERR_DEFINITE : LAC_ERR_NONFINITE;
    f->where = w.refused, f->smallest = w.pivot;
  } else if (w.ending != LAC_OK) {
    status = w.ending;
  } else {
    fronts_sum_up(&w, job->threads);
  }
done:
  fronts_clear(&w, job->threads);
  return status;
}

// -- what is said of it ----------------------------------------------------------------------------------------------

static double fronts_flops(const lac_supernodes *s) {
  double sum = 0;
  for (int32_t k = s->count - 1; k >= 0; k = s->leftmost[k] - 1) sum += s->flops[k];
  return sum;
}

// The numbers of L are s->nnz, of which n stand on the diagonal; 2 nnz - n - panels is what stands below the panels'
// squares, and therefore in U_PR.
void lac_fronts_foresee(const lac_supernodes *s, lac_front_kind kind, lac_dtype dtype, lac_finding *finding) {
  int64_t size = (int64_t)lac_dtype_size(dtype), n = s->n, panels = s->panels[s->count], widest = 0;
  bool unsymmetric = kind == LAC_FRONT_LU;
  for (int32_t i = 0; kind == LAC_FRONT_LDLT && i < s->count; i++) {
    if (s->panels[i + 1] - s->panels[i] > widest) widest = s->panels[i + 1] - s->panels[i];
  }
  finding->ordering = s->ordering;
  finding->nnz = unsymmetric ? 2 * s->nnz - n : s->nnz;
  finding->bytes = (int64_t)sizeof(lac_fronts) + panels * size;
  if (kind != LAC_FRONT_CHOLESKY) finding->bytes += n * (2 * size + (int64_t)sizeof(int32_t));  // scales and pivots
  if (kind == LAC_FRONT_LDLT) finding->bytes += n * size;
  if (unsymmetric) finding->bytes += (2 * s->nnz - n - panels) * size + (s->count + 1) * (int64_t)sizeof(int64_t);
  finding->work_bytes = (s->update_work + s->update_blocks + widest) * size + s->count * (int64_t)sizeof(char *);
  finding->flops = fronts_flops(s) * (lac_dtype_is_complex(dtype) ? 4 : 1) * (unsymmetric ? 2 : 1);
}

void lac_fronts_report(const lac_fronts *f, lac_finding *finding) {
  lac_fronts_foresee(f->s, f->kind, f->dtype, finding);
  finding->smallest = f->smallest;
  finding->where = f->where;
  finding->perturbed = f->perturbed;
  finding->growth = f->growth;
}
