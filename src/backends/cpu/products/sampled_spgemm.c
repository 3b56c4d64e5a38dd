// SPDX-License-Identifier: Apache-2.0
/// @file sampled_spgemm.c
/// t = op(X) op(Y) where the target has entries
///
///     expand    t_i  += x_ik y_k          for each entry of row i of op(X): the product itself
///     dot       t_ij  = <x_i, y_:j>       for each entry of the target, column j of op(Y) being a row of its
///                                         transpose: X = C_bar, Y = B^H
///     scatter   t_k  += x_ik y_i          for each entry of row i of op(X)^T, at the entries of row k of the target: X
///                                         = A^H, Y = C_bar
///
/// The patterns' sizes tell which needs the fewest products. For a product and both its adjoints no transpose is
/// walked. Each thread owns rows of the target, and each number of t is summed in one fixed order.

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"

enum { SPGEMM_AHEAD = 8, SPGEMM_FAR_AHEAD = 24 };  // entries of A before a row of B is needed, and its offset

typedef enum { EXPAND, DOT, SCATTER, WAYS } spgemm_way;

/// The rows of a sparse operand as they are walked, and its values.
typedef struct spgemm_walk {
  lac_rows rows;
  int64_t nnz;
  double sign;  // -1 conjugates the values
  const void *data;
} spgemm_walk;

typedef struct spgemm_job {
  spgemm_way way;
  spgemm_walk target, x, y;
  int64_t marks;       // columns of the rows that are marked
  lac_places *places;  // of a product and its factors; NULL: marks are used
  void *t;
  lac_batch batch;  // of x, y, t
  _Atomic int *failed;
} spgemm_job;

// A loop with a constant length where it is short: `run` is a macro.
#define BY_LENGTH(length, run) \
  switch (length) {            \
    case 1:                    \
      run(1);                  \
      break;                   \
    case 2:                    \
      run(2);                  \
      break;                   \
    case 3:                    \
      run(3);                  \
      break;                   \
    case 4:                    \
      run(4);                  \
      break;                   \
    case 5:                    \
      run(5);                  \
      break;                   \
    case 7:                    \
      run(7);                  \
      break;                   \
    case 8:                    \
      run(8);                  \
      break;                   \
    default:                   \
      run(length);             \
  }

#define KERNEL_FILE "backends/cpu/products/sampled_spgemm_kernel.h"
#define INDEX(type) const type *
#define OPEN(type, buffer) (const type *)(buffer)->host
#define AT(array, i) ((int64_t)(array)[i])
#define ASK(array, i) __builtin_prefetch(&(array)[i])
#include "backends/cpu/base/instantiate_indexed.h"
#undef INDEX
#undef OPEN
#undef AT
#undef ASK

// Patterns of different widths.
typedef int64_t any;
#define INDEX(type) const lac_buffer *
#define OPEN(type, buffer) (buffer)
#define AT(array, i) lac_buffer_get(array, i)
#define ASK(array, i) ((void)0)
#define O any
#define C any
#include "backends/cpu/base/instantiate.h"
#undef O
#undef C

static const cpu_part spgemm_rows[4][4] = TABLE_INDEXED(spgemm_rows);
static const cpu_part spgemm_rows_mixed[4] = {spgemm_rows_f32_any_any, spgemm_rows_f64_any_any, spgemm_rows_c64_any_any,
                                              spgemm_rows_c128_any_any};

/// The products that each way needs, were all rows of a pattern as long, and the entries it marks.
static double way_cost(spgemm_way way, const lac_pattern *target, const lac_pattern *px, const lac_pattern *py,
                       lac_form sy) {
  int64_t y_rows = lac_form_transposes(sy) ? py->cols : py->rows;
  double x = (double)px->nnz, y = (double)py->nnz, t = (double)target->nnz;
  switch (way) {
    case EXPAND:
      return x * y / (double)y_rows + t;
    case DOT:
      return t * y / (double)target->cols + x;
    default:
      return x * t / (double)target->rows + y;
  }
}

static lac_status walk_init(lac_context *ctx, const lac_pattern *p, bool transposed, lac_form form, const void *data,
                            spgemm_walk *walk) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_pattern_walk(ctx, p, transposed, &walk->rows));
  walk->nnz = p->nnz;
  walk->sign = lac_form_conjugates(form) ? -1 : 1;
  walk->data = data;
done:
  return status;
}

/// The places of A B = C where the target, X and Y are those three in the roles of a product or one of its adjoints, or
/// NULL.
static lac_places *find_places(spgemm_way way, const lac_pattern *target, const lac_pattern *px, lac_form sx,
                               const lac_pattern *py, lac_form sy) {
  if (lac_form_transposes(sx) != (way == SCATTER) || lac_form_transposes(sy) != (way == DOT)) return NULL;
  if (way == EXPAND) return lac_pattern_places(px, py, target);
  return way == DOT ? lac_pattern_places(target, py, px) : lac_pattern_places(px, target, py);
}

lac_status cpu_sampled_spgemm(lac_context *ctx, const lac_pattern *target, const lac_pattern *px, lac_form sx,
                              const lac_pattern *py, lac_form sy, const lac_array *x, const lac_array *y,
                              lac_array *t) {
  lac_status status = LAC_OK;
  spgemm_job job = {.way = EXPAND, .t = cpu_edit(t)};
  _Atomic int failed = 0;
  const lac_meta *metas[] = {&x->meta, &y->meta, &t->meta};
  bool is_mixed = px->width != target->width || py->width != target->width;
  double cost = 0;

  if (t->count == 0) return LAC_OK;
  if (x->count == 0 || y->count == 0) return cpu_fill(ctx, t, 0, 0);
  for (spgemm_way way = DOT; way < WAYS; ++way) {
    if (way_cost(way, target, px, py, sy) < way_cost(job.way, target, px, py, sy)) job.way = way;
  }
  LAC_TRY(walk_init(ctx, target, false, LAC_PLAIN, NULL, &job.target));
  LAC_TRY(walk_init(ctx, px, lac_form_transposes(sx) != (job.way == SCATTER), sx, cpu_data(x), &job.x));
  LAC_TRY(walk_init(ctx, py, lac_form_transposes(sy) != (job.way == DOT), sy, cpu_data(y), &job.y));
  job.places = find_places(job.way, target, px, sx, py, sy);
  job.marks = job.way == EXPAND ? target->cols : job.way == DOT ? job.x.rows.cols : job.y.rows.cols;
  lac_batch_init(&job.batch, 3, metas, (const int[]){1, 1, 1});
  job.failed = &failed;
  cost = way_cost(job.way, target, px, py, sy) * (double)job.batch.count;
  cpu_split_rows(cpu_threads(ctx, (int64_t)cost), target->offsets, target->rows,
                 is_mixed ? spgemm_rows_mixed[t->meta.dtype] : spgemm_rows[t->meta.dtype][target->width], &job);
  LAC_CHECK(!failed, LAC_ERR_MEMORY, "sampled_spgemm: out of memory for %lld marks a thread", (long long)job.marks);
done:
  lac_object_release(job.places);
  return status;
}
