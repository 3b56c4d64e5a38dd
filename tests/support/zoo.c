// SPDX-License-Identifier: Apache-2.0
/// @file zoo.c
/// Families of matrices, and elimination in quadruple precision.

#include "support/zoo.h"

#include <math.h>
#include <string.h>

static double *at(zoo_matrix *a, int64_t i, int64_t j) { return &a->full[i * a->n + j]; }

static double zoo_unit(random_state *r) { return (double)(random_bits(r) >> 11) * 0x1p-53; }
static int64_t zoo_between(random_state *r, int64_t low, int64_t high) { return low + random_below(r, high - low + 1); }

static void zoo_begin(zoo_matrix *a, int64_t n) {
  a->n = n;
  memset(a->full, 0, sizeof a->full);
  for (int j = 0; j < ZOO_MOST; j++) a->unit[j] = 1;
}

// -- graphs ----------------------------------------------------------------------------------------------------------

static void zoo_spring(zoo_matrix *a, int64_t i, int64_t j, double weight) {
  *at(a, i, j) -= weight, *at(a, j, i) -= weight;
  *at(a, i, i) += weight, *at(a, j, j) += weight;
}

/// A grid whose springs are 2^-spread to 2^spread strong; `decades` of contrast in blocks instead.
static void zoo_grid(random_state *r, zoo_matrix *a, double spread) {
  int64_t rows = zoo_between(r, 2, 6), cols = zoo_between(r, 2, 7);
  zoo_begin(a, rows * cols);
  for (int64_t i = 0; i < rows * cols; i++) {
    double first = exp2(spread * (2 * zoo_unit(r) - 1)), second = exp2(spread * (2 * zoo_unit(r) - 1));
    if (i % cols + 1 < cols) zoo_spring(a, i, i + 1, spread > 0 ? first : 1);
    if (i / cols + 1 < rows) zoo_spring(a, i, i + cols, spread > 0 ? second : 1);
  }
}

static void zoo_laplacian(random_state *r, zoo_matrix *a) { zoo_grid(r, a, 0); }
static void zoo_weighted(random_state *r, zoo_matrix *a) { zoo_grid(r, a, 1 + 12 * zoo_unit(r)); }

static void zoo_circulant(random_state *r, zoo_matrix *a) {
  zoo_begin(a, zoo_between(r, 4, ZOO_MOST));
  for (int64_t i = 0; i < a->n; i++) zoo_spring(a, i, (i + 1) % a->n, 1);
}

static void zoo_scale(random_state *r, zoo_matrix *a, double decades, bool is_symmetric) {
  double left[ZOO_MOST], right[ZOO_MOST];
  for (int64_t i = 0; i < a->n; i++) {
    left[i] = pow(10, decades * (2 * zoo_unit(r) - 1));
    right[i] = is_symmetric ? left[i] : pow(10, decades * (2 * zoo_unit(r) - 1));
    a->unit[i] = right[i];
  }
  for (int64_t i = 0; i < a->n; i++) {
    for (int64_t j = 0; j < a->n; j++) *at(a, i, j) *= left[i] * right[j];
  }
}

static void zoo_scaled_laplacian(random_state *r, zoo_matrix *a) {
  zoo_grid(r, a, 1);
  zoo_scale(r, a, 6 * zoo_unit(r), false);
}

/// Springs between points of the plane, and no support: three motions cost nothing.
static void zoo_body(random_state *r, zoo_matrix *a) {
  int64_t points = zoo_between(r, 4, ZOO_MOST / 2);
  double x[ZOO_MOST], y[ZOO_MOST];
  zoo_begin(a, 2 * points);
  for (int64_t i = 0; i < points; i++) x[i] = zoo_unit(r), y[i] = zoo_unit(r);
  for (int64_t i = 0; i < points; i++) {
    for (int64_t step = 1; step <= 3; step++) {
      int64_t j = (i + step) % points;
      double t[2] = {x[j] - x[i], y[j] - y[i]}, length = hypot(t[0], t[1]);
      for (int p = 0; p < 4; p++) {
        double k = t[p / 2] / length * (t[p % 2] / length);
        *at(a, 2 * i + p / 2, 2 * i + p % 2) += k, *at(a, 2 * j + p / 2, 2 * j + p % 2) += k;
        *at(a, 2 * i + p / 2, 2 * j + p % 2) -= k, *at(a, 2 * j + p / 2, 2 * i + p % 2) -= k;
      }
    }
  }
  for (int64_t i = 0; i < a->n; i++) {
    for (int64_t j = 0; j < i; j++) *at(a, i, j) = *at(a, j, i);
  }
}

/// [L G; G^T 0] whose pressures are known up to a constant.
static void zoo_stokes(random_state *r, zoo_matrix *a) {
  int64_t n = zoo_between(r, 8, 30), m = n / 2;
  zoo_begin(a, n + m);
  for (int64_t i = 0; i < n; i++) {
    *at(a, i, i) += 1;
    if (i + 1 < n) zoo_spring(a, i, i + 1, 1);
    int64_t p = random_below(r, m), q = (p + 1 + random_below(r, m - 1)) % m;
    double g = (double)zoo_between(r, 1, 5);
    *at(a, i, n + p) = *at(a, n + p, i) = g, *at(a, i, n + q) = *at(a, n + q, i) = -g;
  }
}

// -- rank ------------------------------------------------------------------------------------------------------------

/// A product of integer matrices n x (n - 1) and (n - 1) x n: singular to the last bit.
static void zoo_low_rank(random_state *r, zoo_matrix *a) {
  zoo_begin(a, zoo_between(r, 3, 30));
  for (int64_t k = 0; k + 1 < a->n; k++) {
    double u[ZOO_MOST] = {0}, v[ZOO_MOST] = {0};
    for (int64_t i = 0; i < a->n; i++) {
      u[i] = i == k ? 2 : random_below(r, 5) ? 0 : (double)zoo_between(r, -3, 3);
      v[i] = i == k + 1 ? 3 : random_below(r, 5) ? 0 : (double)zoo_between(r, -3, 3);
    }
    for (int64_t i = 0; i < a->n; i++) {
      for (int64_t j = 0; j < a->n; j++) *at(a, i, j) += u[i] * v[j];
    }
  }
}

static void zoo_sparse(random_state *r, zoo_matrix *a) {
  zoo_begin(a, zoo_between(r, 5, ZOO_MOST));
  for (int64_t i = 0; i < a->n; i++) {
    *at(a, i, i) = random_unit(r);
    for (int k = 0; k < 3; k++) *at(a, i, random_below(r, a->n)) = random_unit(r);
  }
}

/// A column that is made of two others, up to rounding.
static void zoo_dependent(random_state *r, zoo_matrix *a) {
  zoo_sparse(r, a);
  for (int64_t i = 0; i < a->n; i++) *at(a, i, a->n - 1) = 3 * *at(a, i, 0) - 0.7 * *at(a, i, 1);
}

/// An arrow whose head is what elimination takes from it: powers of two, so that nothing is rounded.
static void zoo_blunt_arrow(random_state *r, zoo_matrix *a) {
  zoo_begin(a, zoo_between(r, 3, ZOO_MOST));
  for (int64_t i = 1; i < a->n; i++) {
    double d = exp2((double)zoo_between(r, 0, 3)), b = exp2((double)zoo_between(r, -2, 2));
    *at(a, i, i) = d, *at(a, 0, i) = *at(a, i, 0) = b;
    *at(a, 0, 0) += b * b / d;
  }
}

// -- nearly singular, and solvable -----------------------------------------------------------------------------------

/// Kahan's triangle: no pivot is small, and the condition grows like 2^n.
static void zoo_kahan(random_state *r, zoo_matrix *a) {
  double angle = 0.6 + 0.6 * zoo_unit(r), power = 1;
  zoo_begin(a, zoo_between(r, 5, ZOO_MOST));
  for (int64_t i = 0; i < a->n; i++, power *= sin(angle)) {
    *at(a, i, i) = power;
    for (int64_t j = i + 1; j < a->n; j++) *at(a, i, j) = -power * cos(angle);
  }
}

/// Wilkinson's matrix, of which partial pivoting makes numbers of 2^n.
static void zoo_wilkinson(random_state *r, zoo_matrix *a) {
  zoo_begin(a, zoo_between(r, 5, ZOO_MOST));
  for (int64_t i = 0; i < a->n; i++) {
    *at(a, i, i) = *at(a, i, a->n - 1) = 1;
    for (int64_t j = 0; j < i; j++) *at(a, i, j) = -1;
  }
}

static void zoo_hessenberg(random_state *r, zoo_matrix *a) {
  zoo_begin(a, zoo_between(r, 5, ZOO_MOST));
  for (int64_t i = 0; i < a->n; i++) {
    for (int64_t j = i > 0 ? i - 1 : 0; j < a->n; j++) *at(a, i, j) = random_unit(r);
  }
}

/// A spring to the ground that is weaker and weaker.
static void zoo_grounded(random_state *r, zoo_matrix *a) {
  zoo_grid(r, a, 0);
  *at(a, 0, 0) += pow(10, -18 * zoo_unit(r));
}

static void zoo_penalty(random_state *r, zoo_matrix *a) {
  zoo_grid(r, a, 1);
  for (int k = 0; k < 2; k++) {
    int64_t i = random_below(r, a->n);
    *at(a, i, i) += pow(10, 4 + 16 * zoo_unit(r));
  }
}

static void zoo_graded(random_state *r, zoo_matrix *a) {
  zoo_grid(r, a, 1);
  for (int64_t i = 0; i < a->n; i++) *at(a, i, i) += 0.1;
  zoo_scale(r, a, 10 * zoo_unit(r), true);
}

static void zoo_graded_rows(random_state *r, zoo_matrix *a) {
  zoo_grid(r, a, 1);
  for (int64_t i = 0; i < a->n; i++) *at(a, i, i) += 0.1;
  for (int64_t i = 0; i + 1 < a->n; i++) *at(a, i, i + 1) += 0.5 * zoo_unit(r);
  zoo_scale(r, a, 8 * zoo_unit(r), false);
}

/// Stiff and soft blocks, held at one side.
static void zoo_inclusions(random_state *r, zoo_matrix *a) {
  int64_t rows = zoo_between(r, 3, 6), cols = zoo_between(r, 3, 7);
  double contrast = pow(10, 16 * zoo_unit(r) - 8), k[ZOO_MOST];
  zoo_begin(a, rows * cols);
  for (int64_t i = 0; i < a->n; i++) k[i] = random_below(r, 3) ? 1 : contrast;
  for (int64_t i = 0; i < a->n; i++) {
    if (i % cols + 1 < cols) zoo_spring(a, i, i + 1, 2 / (1 / k[i] + 1 / k[i + 1]));
    if (i / cols + 1 < rows) zoo_spring(a, i, i + cols, 2 / (1 / k[i] + 1 / k[i + cols]));
    if (i < cols) *at(a, i, i) += 2 * k[i];
  }
}

static void zoo_arrow(random_state *r, zoo_matrix *a) {
  zoo_begin(a, zoo_between(r, 3, ZOO_MOST));
  *at(a, 0, 0) = (double)a->n;
  for (int64_t i = 1; i < a->n; i++) *at(a, i, i) = 4, *at(a, 0, i) = *at(a, i, 0) = random_unit(r);
}

static void zoo_saddle(random_state *r, zoo_matrix *a) {
  int64_t n = zoo_between(r, 6, 30), m = n / 3;
  zoo_begin(a, n + m);
  for (int64_t i = 0; i < n; i++) {
    *at(a, i, i) += 1;
    if (i + 1 < n) zoo_spring(a, i, i + 1, 1);
  }
  for (int64_t p = 0; p < m; p++) *at(a, 3 * p, n + p) = *at(a, n + p, 3 * p) = 1;
}

/// A grounded network beside a floating one of other units, or one that hangs by a thread.
static void zoo_islands(random_state *r, zoo_matrix *a) {
  int64_t n = zoo_between(r, 8, 40), held = n / 2;
  double scale = pow(10, 24 * zoo_unit(r) - 12);
  zoo_begin(a, n);
  for (int64_t i = 0; i + 1 < n; i++) {
    double unit = i < held ? 1 : scale;
    if (i + 1 == held) continue;
    zoo_spring(a, i, i + 1, unit * (1 + zoo_unit(r)));
    if (i + 3 < n && (i + 3 < held || i >= held)) zoo_spring(a, i, i + 3, unit * zoo_unit(r));
  }
  *at(a, 0, 0) += 1;
  if (random_below(r, 2)) *at(a, held, held) += scale * pow(10, -2 - 14 * zoo_unit(r));
}

/// A regular block beside one whose last row is that of another, of any size.
static void zoo_small_block(random_state *r, zoo_matrix *a) {
  int64_t n = zoo_between(r, 6, 30), first = n / 2;
  double scale = pow(10, 160 * zoo_unit(r) - 80);
  zoo_begin(a, n);
  for (int64_t p = 0; p < n * n; p++) {
    if ((p / n < first) == (p % n < first)) a->full[p] = random_unit(r) * (p / n < first ? 1 : scale);
  }
  for (int64_t j = first; j < n; j++) *at(a, n - 1, j) = 3 * *at(a, first, j);
}

/// Nearly dependent rows, and columns of other units: what is small in those of the matrix is large as it stands.
static void zoo_units_apart(random_state *r, zoo_matrix *a) {
  zoo_begin(a, zoo_between(r, 3, 20));
  for (int64_t p = 0; p < a->n * a->n; p++) a->full[p] = random_unit(r);
  for (int64_t j = 0; j < a->n; j++) *at(a, 0, j) = *at(a, 1, j) + *at(a, 2, j);
  *at(a, 0, 0) += pow(10, -4 - 12 * zoo_unit(r));
  for (int64_t p = 0; p < a->n * a->n; p++) a->full[p] *= p % a->n % 2 ? 1e8 : 1;
  for (int64_t j = 0; j < a->n; j++) a->unit[j] = j % 2 ? 1e8 : 1;
}

const zoo_family ZOO[] = {
    {"laplacian", true, false, zoo_laplacian},
    {"weighted laplacian", true, false, zoo_weighted},
    {"circulant", true, false, zoo_circulant},
    {"scaled laplacian", false, false, zoo_scaled_laplacian},
    {"free body", true, false, zoo_body},
    {"stokes", true, false, zoo_stokes},
    {"low rank", false, false, zoo_low_rank},
    {"dependent columns", false, false, zoo_dependent},
    {"blunt arrow", true, false, zoo_blunt_arrow},
    {"kahan", false, false, zoo_kahan},
    {"wilkinson", false, false, zoo_wilkinson},
    {"hessenberg", false, false, zoo_hessenberg},
    {"grounded", true, false, zoo_grounded},
    {"sparse", false, false, zoo_sparse},
    {"islands", true, false, zoo_islands},
    {"small block", false, false, zoo_small_block},
    {"units apart", false, false, zoo_units_apart},
    {"penalty", true, true, zoo_penalty},
    {"graded", true, true, zoo_graded},
    {"graded rows", false, true, zoo_graded_rows},
    {"inclusions", true, true, zoo_inclusions},
    {"arrow", true, true, zoo_arrow},
    {"saddle", true, true, zoo_saddle},
};
const int ZOO_FAMILIES = sizeof ZOO / sizeof *ZOO;

// -- what is true ----------------------------------------------------------------------------------------------------

__extension__ typedef __float128 quad;

static quad quad_size(quad x) { return x < 0 ? -x : x; }

/// Gauss-Jordan with partial pivoting on [A | I]; false where a column has no pivot.
static bool quad_invert(int64_t n, quad *a, quad *inverse, double *logabs, double *sign) {
  *logabs = 0, *sign = 1;
  for (int64_t p = 0; p < n * n; p++) inverse[p] = p % (n + 1) == 0;
  for (int64_t k = 0; k < n; k++) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; i++) {
      if (quad_size(a[i * n + k]) > quad_size(a[pivot * n + k])) pivot = i;
    }
    quad head = a[pivot * n + k];
    if (head == 0) return false;
    *logabs += log((double)quad_size(head)), *sign *= (head < 0 ? -1 : 1) * (pivot == k ? 1 : -1);
    for (int64_t j = 0; j < n; j++) {
      quad x = a[pivot * n + j], y = inverse[pivot * n + j];
      a[pivot * n + j] = a[k * n + j], inverse[pivot * n + j] = inverse[k * n + j];
      a[k * n + j] = x / head, inverse[k * n + j] = y / head;
    }
    for (int64_t i = 0; i < n; i++) {
      quad factor = a[i * n + k];
      for (int64_t j = 0; i != k && factor != 0 && j < n; j++) {
        a[i * n + j] -= factor * a[k * n + j], inverse[i * n + j] -= factor * inverse[k * n + j];
      }
    }
  }
  return true;
}

/// The units of the unknowns of op(A): those of columns, or what makes rows even once columns are.
static void zoo_units(const zoo_matrix *a, bool transposed, double *unit) {
  for (int64_t i = 0; i < a->n; i++) {
    double largest = 0;
    for (int64_t j = 0; j < a->n; j++) largest = fmax(largest, fabs(a->full[i * a->n + j]) / a->unit[j]);
    unit[i] = transposed ? largest : a->unit[i];
  }
}

static double zoo_plain(const zoo_matrix *a, bool transposed, const double *b, const double *x, const quad *inverse) {
  int64_t n = a->n;
  double terms[ZOO_MOST], worst = 0, size = 0;
  for (int64_t k = 0; k < n; k++) {
    terms[k] = fabs(b[k]);
    for (int64_t j = 0; j < n; j++) terms[k] += fabs(a->full[transposed ? j * n + k : k * n + j] * x[j]);
    size = fmax(size, fabs(x[k]));
  }
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += (double)quad_size(inverse[i * n + k]) * terms[k];
    worst = fmax(worst, sum);
  }
  return size > 0 ? worst / size : 0;
}

zoo_truth zoo_solve(const zoo_matrix *a, bool transposed, const double *b) {
  static _Thread_local quad work[ZOO_MOST * ZOO_MOST], inverse[ZOO_MOST * ZOO_MOST];
  zoo_truth t = {.condition = 0};
  int64_t n = a->n;
  double unit[ZOO_MOST];

  zoo_units(a, transposed, unit);
  for (int64_t p = 0; p < n * n; p++) work[p] = a->full[transposed ? p % n * n + p / n : p];
  if (!quad_invert(n, work, inverse, &t.logabs, &t.sign)) {
    t.condition = t.plain = (double)INFINITY;
    return t;
  }
  for (int64_t i = 0; i < n; i++) {
    quad x = 0;
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
      double row = 0;
      for (int64_t j = 0; j < n; j++) row += fabs(a->full[transposed ? j * n + k : k * n + j]) / unit[j];
      sum += (double)quad_size(inverse[i * n + k]) * row;
      x += inverse[i * n + k] * b[k];
    }
    t.condition = fmax(t.condition, unit[i] * sum);
    t.x[i] = (double)x;
  }
  t.plain = zoo_plain(a, transposed, b, t.x, inverse);
  return t;
}

double zoo_error(const zoo_matrix *a, bool transposed, const double *x, const double *y) {
  double unit[ZOO_MOST], error = 0, size = 0;
  zoo_units(a, transposed, unit);
  for (int64_t j = 0; j < a->n; j++) {
    error = fmax(error, unit[j] * fabs(x[j] - y[j]));
    size = fmax(size, unit[j] * fabs(y[j]));
  }
  return size > 0 ? error / size : error;
}

// -- least squares ---------------------------------------------------------------------------------------------------

zoo_rectangle zoo_cut(const zoo_matrix *a, int64_t rows, int64_t cols) {
  zoo_rectangle out = {a->n - rows, a->n - cols, {0}};
  for (int64_t p = 0; p < out.rows * out.cols; p++) out.full[p] = a->full[p / out.cols * a->n + p % out.cols];
  return out;
}

/// A <- (I - 2 v v^T) A, or A (I - 2 v v^T), for a v without order.
static void zoo_reflect(random_state *r, zoo_rectangle *a, bool by_rows) {
  int64_t n = by_rows ? a->rows : a->cols, others = by_rows ? a->cols : a->rows;
  double v[ZOO_MOST], square = 0;
  for (int64_t i = 0; i < n; i++) v[i] = random_unit(r), square += v[i] * v[i];
  for (int64_t k = 0; k < others; k++) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i] * a->full[by_rows ? i * a->cols + k : k * a->cols + i];
    for (int64_t i = 0; i < n; i++) a->full[by_rows ? i * a->cols + k : k * a->cols + i] -= 2 * v[i] * sum / square;
  }
}

zoo_rectangle zoo_spread(random_state *r, int64_t rows, int64_t cols, double decades, bool is_even) {
  zoo_rectangle a = {rows, cols, {0}};
  int64_t rank = rows < cols ? rows : cols;
  for (int64_t i = 0; i < rank; i++) {
    double share = rank > 1 ? (double)i / (double)(rank - 1) : 0;
    a.full[i * cols + i] = pow(10, -decades * (is_even || i == rank - 1 ? share : 0));
  }
  for (int k = 0; k < 6; k++) zoo_reflect(r, &a, k % 2);
  return a;
}

/// 1 / the largest number of each line of the shorter side.
static void fit_units(const zoo_rectangle *a, double *d) {
  bool is_tall = a->rows >= a->cols;
  for (int64_t k = 0; k < (is_tall ? a->cols : a->rows); k++) {
    double largest = 0;
    for (int64_t i = 0; i < (is_tall ? a->rows : a->cols); i++) {
      largest = fmax(largest, fabs(a->full[is_tall ? i * a->cols + k : k * a->cols + i]));
    }
    d[k] = largest > 0 ? 1 / largest : 1;
  }
}

/// K = [I, A d; d A^T, 0], or [0, d A; A^T d, I] where A is wide.
static void fit_system(const zoo_rectangle *a, const double *d, quad *k) {
  int64_t m = a->rows, n = a->cols, size = m + n;
  bool is_tall = m >= n;
  for (int64_t p = 0; p < size * size; p++) k[p] = p % (size + 1) == 0 && (p / size < m) == is_tall;
  for (int64_t p = 0; p < m * n; p++) {
    quad value = (quad)a->full[p] * d[is_tall ? p % n : p / n];
    k[p / n * size + m + p % n] = k[(m + p % n) * size + p / n] = value;
  }
}

static double fit_sum(int64_t size, const quad *k, int64_t row, int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t j = begin; j < end; j++) sum += (double)quad_size(k[row * size + j]);
  return sum;
}

/// |A| |A^+| from the parts of K and K^-1: A, A^+, and (A^T A)^-1 or (A A^T)^-1, which alone is sure to show a null
/// space.
static double fit_spread(int64_t m, int64_t size, const quad *k, const quad *inverse) {
  bool is_tall = 2 * m >= size;
  double most = 0, least = 0;
  for (int64_t i = 0; i < m; i++) most = fmax(most, fit_sum(size, k, i, m, size));
  for (int64_t j = m; j < size; j++) least = fmax(least, fit_sum(size, inverse, j, 0, m));
  for (int64_t j = is_tall ? m : 0; j < (is_tall ? size : m); j++) {
    least = fmax(least, sqrt(fit_sum(size, inverse, j, is_tall ? m : 0, is_tall ? size : m)));
  }
  return most * least;
}

zoo_fit zoo_lstsq(const zoo_rectangle *a, const double *b) {
  static _Thread_local quad work[ZOO_MOST * ZOO_MOST], system[ZOO_MOST * ZOO_MOST], inverse[ZOO_MOST * ZOO_MOST];
  int64_t m = a->rows, size = m + a->cols;
  bool is_tall = m >= a->cols;
  zoo_fit t = {.spread = (double)INFINITY, .condition = (double)INFINITY};
  double d[ZOO_MOST], ignored[2], given[ZOO_MOST] = {0}, terms[ZOO_MOST] = {0}, worst = 0;
  quad z[ZOO_MOST] = {0};

  fit_units(a, d);
  fit_system(a, d, work);
  fit_system(a, d, system);
  if (!quad_invert(size, work, inverse, &ignored[0], &ignored[1])) return t;
  for (int64_t i = 0; i < m; i++) given[i] = is_tall ? b[i] : d[i] * b[i];
  for (int64_t p = 0; p < size * size; p++) z[p / size] += inverse[p] * given[p % size];
  for (int64_t i = 0; i < size; i++) {
    terms[i] = fabs(given[i]);
    for (int64_t j = 0; j < size; j++) terms[i] += (double)(quad_size(system[i * size + j]) * quad_size(z[j]));
    t.size = fmax(t.size, fmax(fabs(given[i]), i < m ? 0 : (double)quad_size(z[i])));
  }
  for (int64_t j = m; j < size; j++) {
    double sum = 0;
    for (int64_t i = 0; i < size; i++) sum += (double)quad_size(inverse[j * size + i]) * terms[i];
    worst = fmax(worst, sum);
    t.x[j - m] = (double)z[j] * (is_tall ? d[j - m] : 1);
  }
  t.condition = worst / t.size;
  t.spread = fit_spread(m, size, system, inverse);
  return t;
}

double zoo_fit_error(const zoo_rectangle *a, const zoo_fit *truth, const double *x) {
  double d[ZOO_MOST], error = 0;
  fit_units(a, d);
  for (int64_t j = 0; j < a->cols; j++) {
    error = fmax(error, fabs(x[j] - truth->x[j]) / (a->rows >= a->cols ? d[j] : 1));
  }
  return error / truth->size;
}
