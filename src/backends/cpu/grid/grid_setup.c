// SPDX-License-Identifier: Apache-2.0
/// @file grid_setup.c
/// From the matrix of a grid to that of the next one, by interpolation that follows the entries (Dendy 1982).
///
///     between two points of the next grid   p_w = -(a_w + a_nw + a_sw) / (a + a_n + a_s), e and columns alike
///     in the middle of four                 p_sw = -(a_sw + a_s p_w(s) + a_w p_s(w)) / a, and so for the others
///     next matrix                           P^T A P: nine-point, whatever A is
///
/// Along a jump of the coefficient, interpolation follows the stiffer side. A diagonal smaller than half of its row is
/// taken for that half. Interpolation is real, by the real parts of entries over the diagonal, so that the cycle of
/// op(A) is op of the cycle.

#include <stdatomic.h>

#include "backends/cpu/grid/grid.h"

/// A row of cells is worked on in strips, which stay in the nearest cache from stage to stage. A line has the numbers
/// of a strip, and one more at both ends that stages need of the neighbours and that other strips know better; two
/// besides make its length one that vectors have. Zeros lie before the first line and behind each.
enum {
  SETUP_STRIP = 64,
  SETUP_WIDE = SETUP_STRIP + 4,
  SETUP_END = 4,
  SETUP_PITCH = SETUP_WIDE + SETUP_END,
  SETUP_LEAD = 8  // lines begin where cache lines do
};

enum { SETUP_LISTED = 1 << 14 };  // points of a grid whose matrix may get a dense inverse, and more

/// Lines of a row of cells: entries, by direction and colour; A P of three colours; weights.
enum { SETUP_MATRIX = 9 * 4, SETUP_PRODUCT = 9 * 3 };
enum { SETUP_WEST, SETUP_EAST, SETUP_BEFORE, SETUP_BEHIND, SETUP_CORNER, SETUP_WEIGHTS = SETUP_CORNER + 4 };

/// Lines that a part has of numbers, the next matrix's nine among them, and of reals: weights of three rows of cells,
/// and the largest of one over the diagonal.
enum { SETUP_NUMBERS = 2 * (SETUP_MATRIX + LAC_GRID_COLOURS + SETUP_PRODUCT) + 9, SETUP_REALS = 3 * SETUP_WEIGHTS + 1 };

static inline int64_t setup_line(int which) { return (int64_t)which * SETUP_PITCH; }

/// The weights of a colour for the point of the next grid that lies (y, x) cells away.
static inline int setup_weight(int colour, int y, int x) {
  return colour == 1 ? SETUP_WEST + x : colour == 2 ? SETUP_BEFORE + y : SETUP_CORNER + 2 * y + x;
}

static inline int setup_product(int colour, int direction) { return 9 * (colour - 1) + direction; }

/// Whether points of a colour have to do with the point of the next grid in a direction from the first of their cell:
/// those in odd rows not with those before it.
static inline bool setup_reaches(int colour, int direction) {
  return (colour / 2 == 0 || direction / 3 > 0) && (colour % 2 == 0 || direction % 3 > 0);
}

typedef struct setup_job setup_job;

/// A strip of a row of cells: places [first, first + n) of its lines of numbers; n is a multiple of 16, as `first` is.
typedef struct setup_strip {
  int64_t item, cell, first, n;
} setup_strip;

/// Entries of the finest level from compressed rows, into lines.
typedef void (*setup_read)(const setup_job *job, const setup_strip *strip, void *lines);
/// Numbers of a strip as those of the hierarchy, or as its reals.
typedef void (*setup_keep)(int64_t n, const void *from, void *to);

struct setup_job {
  lac_grid grid, next;
  bool is_half;                    // what is kept
  bool is_given_half, gives_half;  // this matrix, and the next
  bool is_wide_offset, is_wide_column;
  const void *offsets, *columns;
  int64_t nnz;
  const void *values;
  const double *unit;
  void *planes, *weights, *out;
  size_t number, narrow, real;  // bytes of a number: while computing, in the hierarchy, and of its reals
  setup_read read;              // NULL: the matrix was made by the level before
  setup_keep keep, keep_real;
  double least;             // size of a diagonal entry whose reciprocal the hierarchy holds
  _Atomic double *largest;  // of one over the diagonal
};

/// Whether a matrix that one level makes and the next one reads lacks the directions that are found at the neighbour.
/// One that may be inverted is small, and lacks nothing.
static bool setup_is_half(const lac_grid_level *level, const lac_grid *grid) {
  return level->is_half && grid->width * grid->height > SETUP_LISTED;
}

static inline int64_t setup_offset(const setup_job *j, int64_t i) {
  return j->is_wide_offset ? ((const int64_t *)j->offsets)[i] : ((const int32_t *)j->offsets)[i];
}

static inline int64_t setup_column(const setup_job *j, int64_t q) {
  return j->is_wide_column ? ((const int64_t *)j->columns)[q] : ((const int32_t *)j->columns)[q];
}

/// What a point takes from two neighbours, p and q, is multiplied by this: by one over what it does not give away along
/// the middle, but by no more than makes their sum 2.
static inline double setup_share(double p, double q, double middle) {
  const double half = (fabs(p) + fabs(q)) / 2, by = 1 / (half > 0 ? middle >= half ? middle : half : 1);
  return half > 0 ? by : 0;
}

/// One over a diagonal entry as cycles take it: no smaller than half of its row, or relaxing would let errors grow, and
/// no smaller than `least`. Zero where there is no point.
INLINE f64 setup_inverse_f64(f64 own, f64 half, f64 least) {
  const f64 size = fabs(own), most = size >= half ? size : half, by = 1 / (most > least ? most : least);
  return most > 0 ? own < 0 ? -by : by : 0;
}
INLINE c128 setup_inverse_c128(c128 own, f64 half, f64 least) {
  const f64 size = size_c128(own), by = setup_inverse_f64(size, half, least);
  const f64 re = size > 0 ? creal(own) / size : 1, im = size > 0 ? cimag(own) / size : 0, square = re * re + im * im;
  return make_c128(re * by / square, -im * by / square);
}

/// The largest of what all parts note.
static inline void setup_note(_Atomic double *most, double value) {
  double before = atomic_load(most);
  while (value > before && !atomic_compare_exchange_weak(most, &before, value)) continue;
}

// -- what is kept ----------------------------------------------------------------------------------------------------

/// What the cycle reads of the matrix.
static void setup_keep_matrix(const setup_job *j, const setup_strip *s, const void *a, const void *inverse) {
  const lac_grid *g = &j->grid;
  const int64_t planes = s->item * lac_grid_planes(g->has_corners, j->is_half);
  for (int d = j->is_half ? LAC_GRID_HERE : 0; d < LAC_GRID_DIRECTIONS; ++d) {
    if (!g->has_corners && grid_is_corner(d)) continue;
    const int64_t plane = (planes + lac_grid_plane(g->has_corners, d)) * lac_grid_room(g);
    for (int c = 0; c < LAC_GRID_COLOURS; ++c) {
      const int64_t at = plane + ((s->cell + 1) * LAC_GRID_COLOURS + c) * g->stride + s->first;
      const int64_t from = 1 + setup_line(d == LAC_GRID_HERE ? c : 4 * d + c);
      const char *lines = d == LAC_GRID_HERE ? inverse : a;
      j->keep(s->n, lines + (size_t)from * j->number, (char *)j->planes + (size_t)at * j->narrow);
    }
  }
}

static void setup_keep_weights(const setup_job *j, const setup_strip *s, const double *weights) {
  static const int lines[LAC_GRID_WEIGHTS] = {SETUP_WEST,       SETUP_EAST,       SETUP_CORNER,
                                              SETUP_CORNER + 1, SETUP_CORNER + 2, SETUP_CORNER + 3};
  const lac_grid *g = &j->grid;
  for (int q = 0; q < LAC_GRID_WEIGHTS; ++q) {
    const int64_t plane = (s->item * LAC_GRID_WEIGHTS + q) * lac_grid_cells(g);
    const int64_t at = plane + (s->cell + 1) * g->stride + s->first;
    j->keep_real(s->n, weights + 1 + setup_line(lines[q]), (char *)j->weights + (size_t)at * j->real);
  }
}

/// The place of a row of the next grid in the plane of a direction; row -2 is where the plane begins.
static inline int64_t setup_next_at(const setup_job *j, int64_t item, int direction, int64_t y) {
  const lac_grid *next = &j->next;
  return (item * LAC_GRID_DIRECTIONS + direction) * lac_grid_room(next) +
         ((y / 2 + 1) * LAC_GRID_COLOURS + y % 2 * 2) * next->stride;
}

// -- zeros around ----------------------------------------------------------------------------------------------------

/// Before the first row of cells and behind the last, of `planes` with so many bytes in a row.
static void setup_clear_rows(const lac_grid *g, const grid_range *range, int64_t planes, size_t row, void *data) {
  for (int64_t plane = range->item * planes; plane < (range->item + 1) * planes; ++plane) {
    char *from = (char *)data + (size_t)(plane * (g->down + 2)) * row;
    if (range->begin == 0) memset(from, 0, row);
    if (range->end == g->down) memset(from + (size_t)(g->down + 1) * row, 0, row);
  }
}

/// The same of the next matrix: all lines before the first and behind the last row of points.
static void setup_clear_next(const setup_job *j, const grid_range *range) {
  const lac_grid *next = &j->next;
  for (int d = j->gives_half ? LAC_GRID_HERE : 0; d < LAC_GRID_DIRECTIONS; ++d) {
    const int64_t begin = setup_next_at(j, range->item, d, -2), first = setup_next_at(j, range->item, d, 0);
    const int64_t last = setup_next_at(j, range->item, d, next->height), end = begin + lac_grid_room(next);
    char *out = j->out;
    if (range->begin == 0) memset(out + (size_t)begin * j->number, 0, (size_t)(first - begin) * j->number);
    if (range->end == next->height) memset(out + (size_t)last * j->number, 0, (size_t)(end - last) * j->number);
  }
}

static void setup_clear(const setup_job *j, const grid_range *range) {
  const lac_grid *g = &j->grid;
  const size_t row = (size_t)g->stride * j->narrow * LAC_GRID_COLOURS;
  setup_clear_rows(g, range, lac_grid_planes(g->has_corners, j->is_half), row, j->planes);
  setup_clear_rows(g, range, LAC_GRID_WEIGHTS, (size_t)g->stride * j->real, j->weights);
  setup_clear_next(j, range);
}

#define KERNEL_FILE "backends/cpu/grid/grid_setup_read_kernel.h"
#include "backends/cpu/base/instantiate.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/grid/grid_setup_keep_kernel.h"
#include "backends/cpu/pairwise/pairwise_pairs.h"
#define T f64
#include "backends/cpu/grid/grid_setup_kernel.h"
#undef T
#define T c128
#include "backends/cpu/grid/grid_setup_kernel.h"
#undef T

static const setup_read reads[4] = TABLE(read_rows);
static const setup_keep keeps[4][2] = TABLE_PAIRS(keep);

lac_status cpu_grid_coarsened(lac_context *ctx, const lac_pattern *pattern, const lac_array *values,
                              const lac_array *unit, const lac_grid_level *level, const lac_grid *next, lac_array *out,
                              lac_array *largest, int which) {
  lac_status status = LAC_OK;
  _Atomic double most = 0;
  lac_dtype full = out->meta.dtype, narrow = level->planes->meta.dtype, real = level->weights->meta.dtype;
  setup_job job = {.grid = level->grid,
                   .next = *next,
                   .is_half = level->is_half,
                   .is_given_half = !pattern && setup_is_half(level, &level->grid),
                   .gives_half = setup_is_half(level, next),
                   .largest = &most};

  if (pattern) {
    LAC_TRY(lac_buffer_on(ctx, pattern->offsets, &job.offsets));
    LAC_TRY(lac_buffer_on(ctx, pattern->columns, &job.columns));
    job.is_wide_offset = pattern->offsets->type == LAC_I64;
    job.is_wide_column = pattern->columns->type == LAC_I64;
    job.nnz = pattern->nnz;
    job.read = reads[values->meta.dtype];
  }
  job.values = cpu_data(values);
  job.unit = unit ? cpu_data(unit) : NULL;
  job.planes = cpu_edit(level->planes);
  job.weights = cpu_edit(level->weights);
  job.out = cpu_edit(out);
  job.number = lac_dtype_size(full), job.narrow = lac_dtype_size(narrow), job.real = lac_dtype_size(real);
  job.least = real == LAC_F32 ? 1e-30 : 1e-300;
  job.keep = keeps[full][full != narrow];
  job.keep_real = keeps[LAC_F64][real != LAC_F64];
  LAC_TRY(grid_run(ctx, level->planes->meta.shape[0], 1, &level->grid,
                   (size_t)(SETUP_LEAD + SETUP_NUMBERS * SETUP_PITCH) * job.number +
                       (size_t)(SETUP_LEAD + SETUP_REALS * SETUP_PITCH) * sizeof(double),
                   lac_dtype_is_complex(full) ? set_up_c128 : set_up_f64, &job));
  ((double *)cpu_edit(largest))[which] = most;
done:
  return status;
}

/// A walk over planes is what the CPU's sweeps are made for: it keeps them.
lac_status cpu_grid_reads_values(lac_context *ctx, const lac_pattern *pattern, const lac_grid_level *level, bool *out) {
  (void)ctx, (void)pattern, (void)level;
  *out = false;
  return LAC_OK;
}
