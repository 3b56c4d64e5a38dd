// SPDX-License-Identifier: Apache-2.0
/// @file matmul.c
/// Z = op(X) op(Y), dense, tile by tile.
///
/// Z is cut into tiles of 64 x 64 and the sum of each into steps of 64, both longer where Z has few columns or rows;
/// threads share the tiles. Neither depends on how many threads there are, and each tile is summed by one thread in one
/// order: the same bits on any number of them. The steps go to BLAS. A product of 64 x 64 x 64 is the largest that
/// OpenBLAS computes in the thread that calls it, whatever number of threads it was told to use; so neither its global
/// setting, which is the user's, nor its pool of threads is touched. Other libraries are sequential when called by many
/// threads at once.
///
/// Products with few columns or few rows, which take as long as reading the other operand, tiny ones, for which a call
/// of BLAS takes longer than the work, and matrices whose rows are beyond its integers are loops of our own; without a
/// BLAS all are. Which of them a product is, its shape says: BLAS is not even looked for where it does not serve.

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"
#include "core/blas.h"

enum {
  MATMUL_TILE = 64,
  MATMUL_TINY = 6 * 6 * 6,
  MATMUL_FEW = 4,      // columns or rows of Z are few; then
  MATMUL_TALL = 256,   // of the other kind are in a tile at most,
  MATMUL_DEEP = 1024,  // and so many numbers in a step
};

/// How products are computed: by columns of which there are few, by rows of which there are few, by BLAS, by loops.
typedef enum matmul_way { MATMUL_THIN, MATMUL_FLAT, MATMUL_BLAS, MATMUL_LOOPS } matmul_way;

typedef struct matmul_job {
  matmul_way way;
  const void *x, *y;
  void *z;
  lac_form form_x, form_y;
  int64_t m, l, n;
  int64_t x_cols, y_cols;              // of X and Y as they are stored
  int64_t tile_rows, tile_cols, deep;  // of a tile, and numbers in a step of its sum
  int64_t tiles;                       // in a row of tiles of Z
  int64_t all_tiles;                   // of one Z
  lac_batch batch;                     // of x, y, z
  bool is_apart;                       // each item of the batch has a Z of its own: they are shared among threads too
} matmul_job;

/// A step of a tile: z += op(x) op(y), or = at the first.
typedef struct matmul_step {
  matmul_way way;
  int64_t m, l, n;
  int64_t x_cols, y_cols, z_cols;
  lac_form form_x, form_y;
  bool adds;
} matmul_step;

#define BLAS_GEMM(T, name, ALPHA)                                                                                    \
  static void blas_##T(const matmul_step *s, const T *x, const T *y, T *z) {                                         \
    const T one = 1, beta = s->adds ? 1 : 0;                                                                         \
    lac_blas_found->name(LAC_BLAS_BY_ROWS, lac_blas_form(s->form_x), lac_blas_form(s->form_y), (int)s->m, (int)s->n, \
                         (int)s->l, ALPHA one, x, (int)s->x_cols, y, (int)s->y_cols, ALPHA beta, z, (int)s->z_cols); \
  }
BLAS_GEMM(f32, sgemm, )
BLAS_GEMM(f64, dgemm, )
BLAS_GEMM(c64, cgemm, &)
BLAS_GEMM(c128, zgemm, &)

#define KERNEL_FILE "backends/cpu/base/dot_kernel.h"
#include "backends/cpu/base/instantiate.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/arrays/matmul_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part matmul_tiles[] = TABLE(matmul_tiles);

/// Rows of the operand that is read once lie along the sums, or, of one that is transposed, along Z: long runs, either
/// way, as memory likes them.
static void matmul_cut(matmul_job *job) {
  bool is_thin = job->way == MATMUL_THIN, is_flat = job->way == MATMUL_FLAT;
  job->tile_rows = is_thin && lac_form_transposes(job->form_x) ? MATMUL_TALL : MATMUL_TILE;
  job->tile_cols = is_flat && !lac_form_transposes(job->form_y) ? MATMUL_TALL : MATMUL_TILE;
  job->deep = is_thin || is_flat ? MATMUL_DEEP : MATMUL_TILE;
  job->tiles = (job->n + job->tile_cols - 1) / job->tile_cols;
  job->all_tiles = job->tiles * ((job->m + job->tile_rows - 1) / job->tile_rows);
}

/// Without a BLAS the loops take its part, so that it is asked for where the shape is for it.
static matmul_way matmul_way_of(const matmul_job *job) {
  bool fits = job->x_cols <= INT32_MAX && job->y_cols <= INT32_MAX && job->n <= INT32_MAX;
  if (job->m * job->n * job->l <= MATMUL_TINY) return MATMUL_LOOPS;
  if (job->n <= MATMUL_FEW) return MATMUL_THIN;
  if (job->m <= MATMUL_FEW) return MATMUL_FLAT;
  return fits ? MATMUL_BLAS : MATMUL_LOOPS;
}

static lac_status matmul_by_blas(lac_context *ctx, matmul_job *job, int threads, int64_t units, cpu_part tiles) {
  if (!lac_blas_hold(threads)) return lac_context_fail(ctx, LAC_ERR_MEMORY, "cpu_matmul", "matmul: " LAC_BLAS_LACKS);
  if (!lac_blas_found) job->way = MATMUL_LOOPS;
  cpu_split(threads, units, 1, tiles, job);
  lac_blas_drop(threads);
  return LAC_OK;
}

lac_status cpu_matmul(lac_context *ctx, lac_form form_x, const lac_array *x, lac_form form_y, const lac_array *y,
                      lac_array *z) {
  const lac_meta *metas[] = {&x->meta, &y->meta, &z->meta};
  const int64_t *shape_x = x->meta.shape + x->meta.ndim - 2, *shape_z = z->meta.shape + z->meta.ndim - 2;
  matmul_job job = {.x = cpu_data(x), .y = cpu_data(y), .z = cpu_edit(z), .form_x = form_x, .form_y = form_y};

  if (!lac_dtype_is_complex(x->meta.dtype)) job.form_x &= LAC_TRANSPOSED, job.form_y &= LAC_TRANSPOSED;
  job.m = shape_z[0], job.n = shape_z[1];
  job.l = shape_x[lac_form_transposes(form_x) ? 0 : 1];
  job.x_cols = shape_x[1], job.y_cols = y->meta.shape[y->meta.ndim - 1];
  if (z->count == 0) return LAC_OK;
  lac_batch_init(&job.batch, 3, metas, (const int[]){2, 2, 2});
  if (job.l == 0 || job.batch.count == 0) return cpu_fill(ctx, z, 0, 0);
  job.is_apart = cpu_batch_is_apart(&job.batch);
  job.way = matmul_way_of(&job);
  matmul_cut(&job);
  int64_t units = job.all_tiles * (job.is_apart ? job.batch.count : 1);
  int threads = cpu_threads(ctx, job.m * job.n * job.l * job.batch.count);
  if (job.way == MATMUL_BLAS) return matmul_by_blas(ctx, &job, threads, units, matmul_tiles[z->meta.dtype]);
  cpu_split(threads, units, 1, matmul_tiles[z->meta.dtype], &job);
  return LAC_OK;
}
