// SPDX-License-Identifier: Apache-2.0
/// Solves and structured matrices of the CUDA backend at the shapes where its kernels change their ways, beside the
/// CPU's.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/scratch.h"
#include "support/twin.h"

typedef double _Complex number;

// -- triangular solves -----------------------------------------------------------------------------------------------

typedef struct tri_call {
  const lac_pattern *p;
  lac_triangle triangle;
  lac_diagonal diagonal;
  lac_form form;
  twin *a, *b, *x;
} tri_call;

static lac_status run_trisolve(lac_context *ctx, const void *opaque, int side) {
  const tri_call *c = opaque;
  return ctx->kernels->trisolve(ctx, c->p, c->triangle, c->diagonal, c->form, c->a->on[side], c->b->on[side],
                                c->x->on[side]);
}

static lac_pattern *pattern_of(const sketch *s, lac_width width) {
  lac_pattern *p = NULL;
  twin_must(TWIN_CPU, sketch_pattern(twin_context(TWIN_CPU), s, width, &p));
  return p;
}

/// A number with a phase of its own.
static number turned(random_state *r, double size) {
  double angle = 3.0 * random_unit(r);
  return size * (cos(angle) + sin(angle) * _Complex_I);
}

/// Values for `items` triangles: a diagonal about 2, and rows that sum up to less.
static number *tame_values(const sketch *s, int64_t items, uint64_t seed) {
  random_state r = random_start(seed);
  number *values = scratch((size_t)(items * s->nnz + 1) * sizeof *values);
  int64_t *length = scratch((size_t)(s->rows + 1) * sizeof *length);
  for (int64_t i = 0; i < s->rows; ++i) length[i] = 0;
  for (int64_t z = 0; z < s->nnz; ++z) ++length[s->row[z]];
  for (int64_t z = 0; z < items * s->nnz; ++z) {
    int64_t row = s->row[z % s->nnz], col = s->col[z % s->nnz];
    double share = 1 / (double)length[row];
    values[z] = row == col ? 2 + turned(&r, 0.5) : turned(&r, 0.8 * share);
    if (row != col && creal(values[z]) == 0) values[z] = share;
  }
  return values;
}

typedef struct tri_case {
  lac_diagonal diagonal;
  int64_t k, items_a, items_b;
  lac_width width;
} tri_case;

/// All dtypes and forms of one triangle.
static void compare_one(const sketch *s, lac_triangle triangle, const tri_case *c, const char *what) {
  size_t mark = scratch_mark();
  int64_t items = c->items_a > c->items_b ? c->items_a : c->items_b, n = s->rows;
  lac_pattern *p = pattern_of(s, c->width);
  number *values = tame_values(s, c->items_a, 7);
  for (int d = 0; d < 4; ++d) {
    twin a = twin_of(twin_dtypes[d], 2, (int64_t[]){c->items_a, s->nnz}, values);
    twin b = twin_random(twin_dtypes[d], 3, (int64_t[]){c->items_b, n, c->k}, 2);
    twin x = twin_new(twin_dtypes[d], 3, (int64_t[]){items, n, c->k});
    for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) {
      tri_call call = {p, triangle, c->diagonal, (lac_form)form, &a, &b, &x};
      twin_compare(run_trisolve, &call, &x, 200, what);
    }
    twin_destroy(&a), twin_destroy(&b), twin_destroy(&x);
  }
  lac_pattern_destroy(&p);
  scratch_release(mark);
}

/// A lower triangle and its mirror image.
static void compare_triangle(const sketch *s, const tri_case *c, const char *what) {
  size_t mark = scratch_mark();
  compare_one(s, LAC_TRIANGLE_LOWER, c, what);
  compare_one(sketch_transpose(s), LAC_TRIANGLE_UPPER, c, what);
  scratch_release(mark);
}

/// Rows that need those up to `reach` before them, with gaps.
static sketch band_sketch(int64_t n, int64_t reach, bool has_diagonal, bool has_gaps) {
  size_t room = (size_t)(n * (reach + 1) + 1) * sizeof(int64_t);
  sketch s = {n, n, 0, scratch(room), scratch(room)};
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i < reach ? 0 : i - reach; j <= i; ++j) {
      if (j == i ? !has_diagonal : has_gaps && (i * 7 + j) % 5 == 0) continue;
      s.row[s.nnz] = i, s.col[s.nnz++] = j;
    }
  }
  return s;
}

static void chains_and_bands_agree(lac_context *ctx) {
  static const int64_t sizes[] = {64, 65, 2048, 2049, 5000, 100000};
  twin_open(ctx);
  for (size_t n = 0; n < sizeof sizes / sizeof *sizes; ++n) {
    for (int64_t reach = 1; reach <= 5; ++reach) {
      if (reach == 3 || (sizes[n] > 5000 && reach > 1)) continue;
      size_t mark = scratch_mark();
      sketch s = band_sketch(sizes[n], reach, true, false);
      compare_triangle(&s, &(tri_case){LAC_DIAGONAL_STORED, 1, 1, 1, LAC_WIDTH_32_32}, "a band");
      s = band_sketch(sizes[n], reach, false, reach > 1);
      compare_triangle(&s, &(tri_case){LAC_DIAGONAL_UNIT, n == 2 ? 3 : 1, 1, n == 3 ? 2 : 1, LAC_WIDTH_64_64},
                       "a band of ones");
      scratch_release(mark);
    }
  }
  twin_close();
}

/// A chain with these couplings and right-hand sides, over a diagonal of ones: x in double precision.
static double *solve_chain(lac_dtype dtype, int64_t n, const number *coupling, const number *b, twin *x) {
  sketch s = band_sketch(n, 1, false, false);
  lac_pattern *p = pattern_of(&s, LAC_WIDTH_AUTO);
  twin a = twin_of(dtype, 1, &s.nnz, coupling), right = twin_of(dtype, 2, (int64_t[]){n, 1}, b);
  double *got = scratch((size_t)n * sizeof *got);
  *x = twin_new(dtype, 2, (int64_t[]){n, 1});
  tri_call call = {p, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_UNIT, LAC_PLAIN, &a, &right, x};
  twin_compare(run_trisolve, &call, x, 500, "a chain");
  for (int64_t i = 0; i < n; i += 97) got[i] = creal(twin_get(x, TWIN_OTHER, i));
  twin_destroy(&a), twin_destroy(&right);
  lac_pattern_destroy(&p);
  return got;
}

/// Products of couplings leave the range, and what they multiply is zero; sums of them cancel. The solution is exact.
static void chains_that_grow_are_solved_row_by_row(lac_context *ctx) {
  enum { N = 6000 };
  twin_open(ctx);
  for (int d = 0; d < 4; ++d) {
    size_t mark = scratch_mark();
    number *coupling = scratch(N * sizeof *coupling), *b = scratch(N * sizeof *b);
    twin x;
    for (int i = 0; i < N; ++i) coupling[i] = -2, b[i] = i ? -1 : 1;  // x_i = 2 x_i-1 - 1 = 1
    double *got = solve_chain(twin_dtypes[d], N, coupling, b, &x);
    for (int i = 0; i < N; i += 97) CHECK(got[i] == 1);
    twin_destroy(&x);
    for (int i = 0; i < N; ++i) coupling[i] = i < N / 2 ? -4 : -0.5, b[i] = i <= N / 2 ? 0 : 1;
    got = solve_chain(twin_dtypes[d], N, coupling, b, &x);
    for (int i = 0; i < N / 2; i += 97) CHECK(got[i] == 0);
    twin_destroy(&x);
    for (int i = 0; i < N; ++i) coupling[i] = i / 80 % 2 ? 0.5 : 2, b[i] = i % 3;  // up and down again
    solve_chain(twin_dtypes[d], N, coupling, b, &x);
    twin_destroy(&x);
    scratch_release(mark);
  }
  twin_close();
}

static const sketch *two_levels(int64_t n) {
  sketch *s = scratch(sizeof *s);
  *s = (sketch){n, n, 0, scratch((size_t)(2 * n) * sizeof(int64_t)), scratch((size_t)(2 * n) * sizeof(int64_t))};
  for (int64_t i = 0; i < n; ++i) {
    if (i >= n / 2 && i % 3) s->row[s->nnz] = i, s->col[s->nnz++] = i - n / 2;
    s->row[s->nnz] = i, s->col[s->nnz++] = i;
  }
  return s;
}

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/// A lower triangle with about `mean` entries in a row besides the diagonal.
static const sketch *random_triangle(int64_t n, int64_t mean, bool has_diagonal, uint64_t seed) {
  random_state r = random_start(seed);
  size_t room = (size_t)(n * (2 * mean + 1) + 1) * sizeof(int64_t);
  sketch *s = scratch(sizeof *s);
  *s = (sketch){n, n, 0, scratch(room), scratch(room)};
  for (int64_t i = 0; i < n; ++i) {
    int64_t first = s->nnz, wanted = random_below(&r, 2 * mean + 1);
    for (int64_t e = 0; e < wanted && i > 0; ++e) s->col[first + e] = random_below(&r, i);
    if (i > 0) qsort(s->col + first, (size_t)wanted, sizeof *s->col, by_size);
    for (int64_t e = 0; e < wanted && i > 0; ++e) {
      int64_t column = s->col[first + e];
      if (s->nnz > first && s->col[s->nnz - 1] == column) continue;
      s->row[s->nnz] = i, s->col[s->nnz++] = column;
    }
    if (has_diagonal) s->row[s->nnz] = i, s->col[s->nnz++] = i;
  }
  return s;
}

static void wide_and_random_triangles_agree(lac_context *ctx) {
  static const int64_t means[] = {3, 15, 120};
  twin_open(ctx);
  size_t mark = scratch_mark();
  sketch diagonal = band_sketch(20000, 0, true, false);
  tri_case c = {LAC_DIAGONAL_STORED, 1, 1, 1, LAC_WIDTH_AUTO};
  compare_triangle(&diagonal, &c, "a diagonal");
  compare_triangle(two_levels(20000), &c, "two levels");
  for (int m = 0; m < 3; ++m) {
    const int64_t n = m == 2 ? 1000 : 4000;
    const sketch *s = random_triangle(n, means[m], true, 11);
    compare_triangle(s, &c, "a random triangle");
    compare_triangle(s, &(tri_case){LAC_DIAGONAL_STORED, 5, 1, 1, LAC_WIDTH_64_64}, "five columns");
  }
  const sketch *s = random_triangle(700, 7, false, 12);
  compare_triangle(s, &(tri_case){LAC_DIAGONAL_UNIT, 40, 3, 1, LAC_WIDTH_64_32}, "many columns");
  compare_triangle(s, &(tri_case){LAC_DIAGONAL_UNIT, 1, 1, 70, LAC_WIDTH_32_32}, "many items");
  compare_triangle(s, &(tri_case){LAC_DIAGONAL_UNIT, 2, 9, 9, LAC_WIDTH_32_32}, "items of both");
  scratch_release(mark);
  twin_close();
}

// -- elimination -----------------------------------------------------------------------------------------------------

typedef struct lu_call {
  const lac_pattern *p;
  twin *in, *bar, *out;
} lu_call;

static lac_status run_lu(lac_context *ctx, const void *opaque, int side) {
  const lu_call *c = opaque;
  lac_pivot_fault fault;
  lac_status status = ctx->kernels->lu_values(ctx, c->p, true, c->in->on[side], c->out->on[side], NULL, &fault);
  if (status == LAC_OK) CHECK(fault.row < 0);
  return status;
}

static lac_status run_lu_adjoint(lac_context *ctx, const void *opaque, int side) {
  const lu_call *c = opaque;
  return ctx->kernels->lu_values_adjoint(ctx, c->p, c->in->on[side], c->bar->on[side], c->out->on[side]);
}

/// The seven-point matrix of a cube.
static const sketch *cube(int64_t side) {
  const int64_t n = side * side * side, steps[] = {-side * side, -side, -1, 0, 1, side, side * side};
  sketch *s = scratch(sizeof *s);
  *s = (sketch){n, n, 0, scratch((size_t)(7 * n) * sizeof(int64_t)), scratch((size_t)(7 * n) * sizeof(int64_t))};
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at[] = {i / (side * side), i / side % side, i % side};
    for (int t = 0; t < 7; ++t) {
      int axis = t < 3 ? t : 6 - t;
      if (t < 3 && at[axis] == 0) continue;
      if (t > 3 && at[axis] == side - 1) continue;
      s->row[s->nnz] = i, s->col[s->nnz++] = i + steps[t];
    }
  }
  return s;
}

static void compare_elimination(const sketch *s, int64_t items, const char *what) {
  size_t mark = scratch_mark();
  lac_pattern *p = pattern_of(s, LAC_WIDTH_AUTO);
  number *values = tame_values(s, items, 3);
  for (int d = 0; d < 4; ++d) {
    twin c = twin_of(twin_dtypes[d], 2, (int64_t[]){items, s->nnz}, values);
    twin lu = twin_new(twin_dtypes[d], 2, (int64_t[]){items, s->nnz});
    twin_compare(run_lu, &(lu_call){.p = p, .in = &c, .out = &lu}, &lu, 200, what);
    twin_must(TWIN_OTHER, run_lu(twin_context(TWIN_OTHER), &(lu_call){.p = p, .in = &c, .out = &lu}, TWIN_OTHER));
    twin bar = twin_random(twin_dtypes[d], 2, (int64_t[]){1, s->nnz}, 5);
    twin c_bar = twin_new(twin_dtypes[d], 2, (int64_t[]){items, s->nnz});
    twin_compare(run_lu_adjoint, &(lu_call){.p = p, .in = &lu, .bar = &bar, .out = &c_bar}, &c_bar, 400, what);
    twin_destroy(&c), twin_destroy(&lu), twin_destroy(&bar), twin_destroy(&c_bar);
  }
  lac_pattern_destroy(&p);
  scratch_release(mark);
}

static void elimination_agrees(lac_context *ctx) {
  twin_open(ctx);
  size_t mark = scratch_mark();
  compare_elimination(cube(30), 1, "a cube");
  compare_elimination(cube(5), 7, "seven small cubes");
  compare_elimination(sketch_square(3000, 0.003, 4), 1, "random");
  compare_elimination(sketch_square(150, 0.6, 5), 2, "nearly full");
  scratch_release(mark);
  twin_close();
}

/// The triangles of incomplete factors of a cube.
static void factors_of_a_cube_are_solved_with(lac_context *ctx) {
  twin_open(ctx);
  size_t mark = scratch_mark();
  const sketch *whole = cube(30);
  sketch part = {whole->rows, whole->cols, 0, scratch((size_t)whole->nnz * sizeof(int64_t)),
                 scratch((size_t)whole->nnz * sizeof(int64_t))};
  for (int64_t z = 0; z < whole->nnz; ++z) {
    if (whole->col[z] > whole->row[z]) continue;
    part.row[part.nnz] = whole->row[z], part.col[part.nnz++] = whole->col[z];
  }
  compare_triangle(&part, &(tri_case){LAC_DIAGONAL_STORED, 1, 1, 1, LAC_WIDTH_AUTO}, "a factor of a cube");
  scratch_release(mark);
  twin_close();
}

// -- bands -----------------------------------------------------------------------------------------------------------

typedef struct band_call {
  lac_banded band;
  lac_form form;
  twin *ab, *b, *x;
} band_call;

static lac_status run_banded_solve(lac_context *ctx, const void *opaque, int side) {
  const band_call *c = opaque;
  return ctx->kernels->banded_solve(ctx, &c->band, c->form, c->ab->on[side], c->b->on[side], c->x->on[side]);
}

static lac_status run_banded_mm(lac_context *ctx, const void *opaque, int side) {
  const band_call *c = opaque;
  return ctx->kernels->banded_mm(ctx, &c->band, c->form, c->ab->on[side], c->b->on[side], c->x->on[side]);
}

/// Bands that are far from singular; with `exchanges` their large numbers stand one place below the diagonal, and at
/// the end of the first row where the band reaches it.
static number *band_values(lac_banded band, int64_t items, bool exchanges) {
  random_state r = random_start(9);
  int64_t width = band.lower + band.upper + 1, n = band.cols;
  number *ab = scratch((size_t)(items * width * n + 1) * sizeof *ab);
  for (int64_t e = 0; e < items * width * n; ++e) {
    int64_t row = e / n % width, j = e % n, i = j + row - band.upper;
    bool is_large = exchanges ? i == (j / 2 * 2 == j ? j + 1 : j - 1) || (i == j && j == n - 1) : i == j;
    ab[e] = is_large ? 3 + turned(&r, 0.5) : turned(&r, 1.5 / (double)width);
  }
  return ab;
}

static void compare_bands(int64_t n, int64_t lower, int64_t upper, int64_t items, int64_t k, bool exchanges) {
  size_t mark = scratch_mark();
  band_call c = {.band = {lower, upper, n, n}};
  number *values = band_values(c.band, items, exchanges);
  char what[120];
  (void)snprintf(what, sizeof what, "n %lld, bands %lld and %lld, items %lld, k %lld", (long long)n, (long long)lower,
                 (long long)upper, (long long)items, (long long)k);
  for (int d = 0; d < 4; ++d) {
    twin ab = twin_of(twin_dtypes[d], 3, (int64_t[]){items, lower + upper + 1, n}, values);
    twin b = twin_random(twin_dtypes[d], 3, (int64_t[]){1, n, k}, 6),
         x = twin_new(twin_dtypes[d], 3, (int64_t[]){items, n, k});
    c.ab = &ab, c.b = &b, c.x = &x;
    for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) {
      c.form = (lac_form)form;
      twin_compare(run_banded_mm, &c, &x, 50, what);
      twin_compare(run_banded_solve, &c, &x, 2000, what);
    }
    twin_destroy(&ab), twin_destroy(&b), twin_destroy(&x);
  }
  scratch_release(mark);
}

static void banded_systems_agree(lac_context *ctx) {
  twin_open(ctx);
  compare_bands(1000, 1, 1, 1, 1, false);
  compare_bands(1001, 1, 1, 3, 2, true);
  compare_bands(37, 1, 1, 300, 1, true);
  compare_bands(2, 1, 1, 5, 3, false);
  compare_bands(500, 0, 0, 2, 3, false);
  compare_bands(300, 2, 1, 40, 1, true);
  compare_bands(300, 0, 3, 2, 1, false);
  compare_bands(300, 3, 0, 2, 17, false);
  compare_bands(400, 10, 7, 2, 20, true);
  compare_bands(200, 70, 60, 2, 3, true);  // a window in device memory
  compare_bands(90, 89, 89, 1, 1, false);
  twin_close();
}

// -- circulants ------------------------------------------------------------------------------------------------------

static lac_status run_circulant_mm(lac_context *ctx, const void *opaque, int side) {
  const band_call *c = opaque;
  return ctx->kernels->circulant_mm(ctx, c->form, c->ab->on[side], c->b->on[side], c->x->on[side]);
}

static lac_status run_circulant_solve(lac_context *ctx, const void *opaque, int side) {
  const band_call *c = opaque;
  return ctx->kernels->circulant_solve(ctx, c->form, c->ab->on[side], c->b->on[side], c->x->on[side]);
}

static lac_status run_circulant_outer(lac_context *ctx, const void *opaque, int side) {
  const band_call *c = opaque;
  return ctx->kernels->circulant_outer(ctx, c->b->on[side], c->x->on[side], c->ab->on[side]);
}

static void compare_circulants(int64_t n, int64_t items, int64_t k) {
  size_t mark = scratch_mark();
  random_state r = random_start(4);
  number *first = scratch((size_t)(items * n) * sizeof *first);
  char what[120];
  (void)snprintf(what, sizeof what, "circulant, n %lld, items %lld, k %lld", (long long)n, (long long)items,
                 (long long)k);
  for (int64_t e = 0; e < items * n; ++e) first[e] = e % n ? turned(&r, 1.0 / (double)n) : 3;
  for (int d = 0; d < 4; ++d) {
    twin c = twin_of(twin_dtypes[d], 2, (int64_t[]){items, n}, first),
         s = twin_new(twin_dtypes[d], 2, (int64_t[]){items, n});
    twin b = twin_random(twin_dtypes[d], 3, (int64_t[]){1, n, k}, 6),
         x = twin_new(twin_dtypes[d], 3, (int64_t[]){items, n, k});
    twin u = twin_random(twin_dtypes[d], 3, (int64_t[]){items, n, k}, 8);
    band_call call = {.ab = &c, .b = &b, .x = &x};
    for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) {
      call.form = (lac_form)form;
      twin_compare(run_circulant_mm, &call, &x, 50, what);
      twin_compare(run_circulant_solve, &call, &x, 50, what);
    }
    twin_compare(run_circulant_outer, &(band_call){.ab = &s, .b = &u, .x = &b}, &s, 100, what);
    twin_destroy(&c), twin_destroy(&s), twin_destroy(&b), twin_destroy(&x), twin_destroy(&u);
  }
  scratch_release(mark);
}

static void circulants_agree_at_every_kind_of_length(lac_context *ctx) {
  static const int64_t lengths[] = {1, 2, 3, 4, 5, 7, 11, 13, 17, 30, 32, 33, 64, 97, 169, 360, 1001, 1009, 4096};
  twin_open(ctx);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    compare_circulants(lengths[i], 1, 1);
    compare_circulants(lengths[i], 3, 5);
  }
  compare_circulants(16384, 1, 1);
  twin_close();
}

#define TESTS                                                                                                          \
  chains_and_bands_agree, chains_that_grow_are_solved_row_by_row, wide_and_random_triangles_agree, elimination_agrees, \
      factors_of_a_cube_are_solved_with, banded_systems_agree, circulants_agree_at_every_kind_of_length
TWIN_MAIN(TESTS)
