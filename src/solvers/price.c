// SPDX-License-Identifier: Apache-2.0
/// @file price.c
/// Prices, of two cores with 50 Gflop/s in dense products and 30 GB/s.
///
/// Measured on squares, cubes, plates, elasticity, triangulations, graphs and convection from 10^4 to 10^6 rows: all
/// within 2 of what it took there, most within 1.3. Without a BLAS factors take five times as long. Another
/// machine is faster or slower, at both ways as a rule.

#include "solvers/price.h"

#include <math.h>
#include <string.h>

enum { PRICE_SAMPLES = 512 };  // pairs of rows that are looked at

// The cost of an entry in products, relative to an entry of a grid with rows line by line: those of blocks are read
// without their columns, those that lie anywhere wait for memory.
static const double price_block = 0.45, price_scattered = 2.2;

// Seconds an entry and a row, of an iteration with a point-wise preconditioner, with two triangles, with a multigrid of
// complexity 1, with that of a grid; what GMRES has more to do; and an entry of a set-up.
static const double point_entry = 0.7e-9, point_row = 2e-9;
static const double triangles_entry = 1.5e-9, triangles_row = 4e-9, triangles_setup = 21e-9;
static const double multigrid_entry = 3.1e-9, multigrid_row = 3e-9, multigrid_setup = 25e-9;
static const double grid_entry = 1.4e-9, grid_row = 4.5e-9, grid_setup = 17e-9;
static const double gmres_row = 14e-9, gmres_multigrid = 2.3;

/// Whether two neighbouring rows have as many entries, over as many columns, and by how much these are shifted.
static bool price_are_alike(const lac_pattern *p, int64_t row, int64_t *shift) {
  int64_t begin = lac_buffer_get(p->offsets, row), end = lac_buffer_get(p->offsets, row + 1),
          last = lac_buffer_get(p->offsets, row + 2);

  if (end - begin != last - end || begin == end) return false;
  *shift = lac_buffer_get(p->columns, end) - lac_buffer_get(p->columns, begin);
  return lac_buffer_get(p->columns, last - 1) - lac_buffer_get(p->columns, end - 1) == *shift;
}

/// The cost of an entry of this pattern relative to that of a grid.
static double price_weight(const lac_pattern *p) {
  int64_t step = p->rows / PRICE_SAMPLES + 1, looked = 0, alike = 0, twins = 0, shift = 0;

  if (!lac_buffer_is_host(p->offsets) || !lac_buffer_is_host(p->columns)) return 1;  // on a device: a grid (cost.c)
  for (int64_t i = 0; i + 1 < p->rows; i += step, looked++) {
    if (!price_are_alike(p, i, &shift)) continue;
    alike++;
    twins += shift == 0;
  }
  if (3 * twins > looked) return price_block;
  return 2 * alike >= looked ? 1 : price_scattered;
}

// -- direct ----------------------------------------------------------------------------------------------------------

// AMD, and METIS where AMD promises a costly factor (order/ordering.c); rows with equal entries are ordered as one.
double lac_price_analysis(const lac_pattern *pattern, double width, double flops) {
  double n = (double)pattern->rows, nnz = (double)pattern->nnz;
  double metis = flops > 10000 * nnz ? fmin(1e-6 * nnz, 6e-6 * n) : 0;
  return 0.08e-6 * n * log2(width + 2) + metis;
}

double lac_price_factor(const lac_pattern *pattern, double flops, double nnz) {
  return flops / 5e10 + 3e-9 * nnz + 0.2e-6 * (double)pattern->rows;
}

double lac_price_solve(const lac_pattern *pattern, double nnz) { return 1.3e-9 * nnz + 6e-8 * (double)pattern->rows; }

// -- iterating -------------------------------------------------------------------------------------------------------

static bool price_has_triangles(const lac_price_of *of) {
  const char *name = of->preconditioner;
  return strcmp(name, "ic0") == 0 || strcmp(name, "ilu0") == 0 || strcmp(name, "ssor") == 0;
}

double lac_price_setup(const lac_pattern *pattern, const lac_price_of *of) {
  double entries = fmax(price_weight(pattern), 1) * (double)pattern->nnz;
  if (of->is_grid) return grid_setup * (double)pattern->nnz;
  if (of->complexity > 0) return multigrid_setup * of->complexity * entries;
  return (price_has_triangles(of) ? triangles_setup : point_entry) * entries;
}

double lac_price_iteration(const lac_pattern *pattern, const lac_price_of *of) {
  double rows = (double)pattern->rows, entries = price_weight(pattern) * (double)pattern->nnz;
  double more = of->is_hermitian ? 0 : gmres_row * rows;

  if (of->is_grid) return grid_entry * entries + grid_row * rows + more;
  if (of->complexity > 0) {
    double by = (of->is_hermitian ? 1 : gmres_multigrid) * of->complexity;
    return multigrid_entry * by * entries + multigrid_row * rows + more;
  }
  if (price_has_triangles(of)) return triangles_entry * entries + triangles_row * rows + more;
  return point_entry * entries + point_row * rows + more;
}
