// SPDX-License-Identifier: Apache-2.0
/// @file assembling.c
/// A finite-element matrix as a function of the material, and the gradient of a compliance with respect to it.
///
///     K(e) u = f,   K(e) = sum over elements k of  e_k  P_k^T K_unit P_k          e_k: Young's modulus of element k
///     c = f^T u,    dc / de_k = -u_k^T K_unit u_k
///
/// A cantilever of bilinear squares in plane stress, clamped at its left edge and pulled down at its right. Known: the
/// gradient in closed form, from u alone; and sum e_k dc / de_k = -c, since c is homogeneous of degree -1.

#include <lacuna/lacuna.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NX = 24, NY = 8, ELEMENTS = NX * NY, CORNERS = 4, DOFS = 2 * CORNERS, ENTRIES = ELEMENTS * DOFS * DOFS };
enum { FREE = 2 * NX * (NY + 1) };  // the nodes of the left edge are fixed

static const double POISSON = 0.3;

typedef struct model {
  lac_context *ctx;
  lac_tape *tape;
  lac_pattern *pattern;
  lac_map *slots;       // from entries of all elements to slots of K; -1: of a fixed degree of freedom
  lac_map *element_of;  // from entries to the element that each is of
  lac_solver *solver;
  lac_array *unit;  // K_unit, once for each element
  lac_array *load, *moduli;
} model;

// -- one element -----------------------------------------------------------------------------------------------------

/// K_unit of a square of form 1: the integral of B^T D B by 2 x 2 Gauss points. Corners run counter-clockwise.
static void element_matrix(double k[DOFS][DOFS]) {
  const double at = 1 / sqrt(3), d[3][3] = {{1, POISSON, 0}, {POISSON, 1, 0}, {0, 0, (1 - POISSON) / 2}};
  const double x_of[CORNERS] = {-1, 1, 1, -1}, y_of[CORNERS] = {-1, -1, 1, 1};

  for (int point = 0; point < 4; point++) {
    double x = point % 2 ? at : -at, y = point / 2 ? at : -at, b[3][DOFS] = {{0}};
    for (int c = 0; c < CORNERS; c++) {
      double dx = x_of[c] * (1 + y_of[c] * y) / 2, dy = y_of[c] * (1 + x_of[c] * x) / 2;
      b[0][2 * c] = b[2][2 * c + 1] = dx, b[1][2 * c + 1] = b[2][2 * c] = dy;
    }
    for (int ij = 0; ij < DOFS * DOFS; ij++) {
      for (int pq = 0; pq < 9; pq++) {
        double term = b[pq / 3][ij / DOFS] * d[pq / 3][pq % 3] * b[pq % 3][ij % DOFS];
        k[ij / DOFS][ij % DOFS] += term / (4 * (1 - POISSON * POISSON));
      }
    }
  }
}

// [dofs]
/// The number of a degree of freedom of a corner among those that are free; -1: it is fixed.
static int32_t number_of(int element, int dof) {
  int corner = dof / 2, x = element / NY + (corner == 1 || corner == 2), y = element % NY + (corner >= 2);
  return x == 0 ? -1 : 2 * ((x - 1) * (NY + 1) + y) + dof % 2;
}
// [end]

// -- all of them, once -----------------------------------------------------------------------------------------------

// [structure]
/// Entry (i, j) of element k stands at k * 64 + 8 i + j in all lists. Nothing is filtered: what is fixed has -1.
static lac_status assemble_structure(model *m) {
  int32_t *row = malloc(ENTRIES * sizeof *row), *col = malloc(ENTRIES * sizeof *col);
  int64_t *element = malloc(ENTRIES * sizeof *element);
  lac_status status = row && col && element ? LAC_OK : LAC_ERR_MEMORY;

  for (int n = 0; n < ENTRIES && status == LAC_OK; n++) {
    element[n] = n / (DOFS * DOFS);
    row[n] = number_of((int)element[n], n / DOFS % DOFS);
    col[n] = number_of((int)element[n], n % DOFS);
  }
  if (status == LAC_OK)
    status =
        lac_pattern_from_coo(m->ctx, FREE, FREE, ENTRIES, LAC_I32, row, col, LAC_WIDTH_AUTO, &m->pattern, &m->slots);
  if (status == LAC_OK) status = lac_map_create(m->ctx, ENTRIES, ELEMENTS, element, &m->element_of);
  if (status == LAC_OK) status = lac_solver_create(m->ctx, m->pattern, NULL, &m->solver);
  free(row), free(col), free(element);
  return status;
}
// [end]

static lac_status make_arrays(model *m) {
  double k[DOFS][DOFS] = {{0}}, *numbers = calloc(ENTRIES, sizeof *numbers);
  lac_status status = numbers ? LAC_OK : LAC_ERR_MEMORY;
  const int64_t entries = ENTRIES, elements = ELEMENTS, free_dofs[] = {FREE, 1};

  element_matrix(k);
  for (int n = 0; n < ENTRIES && numbers; n++) numbers[n] = k[n / DOFS % DOFS][n % DOFS];
  if (status == LAC_OK) status = lac_array_from(m->ctx, LAC_F64, 1, &entries, numbers, LAC_OWNERSHIP_COPY, &m->unit);
  for (int e = 0; e < ELEMENTS && numbers; e++) numbers[e] = 1 + 0.5 * sin(0.7 * e);
  if (status == LAC_OK) status = lac_array_from(m->ctx, LAC_F64, 1, &elements, numbers, LAC_OWNERSHIP_COPY, &m->moduli);
  for (int i = 0; i < FREE && numbers; i++) numbers[i] = 0;
  if (numbers) numbers[2 * ((NX - 1) * (NY + 1) + NY / 2) + 1] = -1;
  if (status == LAC_OK) status = lac_array_from(m->ctx, LAC_F64, 2, free_dofs, numbers, LAC_OWNERSHIP_COPY, &m->load);
  free(numbers);
  return status;
}

// -- as often as the material changes --------------------------------------------------------------------------------

// [compliance]
/// c(e): every entry times the modulus of its element, summed into the slots of K; a solve; a product.
static lac_var compliance(lac_tape *tape, const model *m, lac_var moduli, lac_var *u) {
  lac_var unit = lac_tape_constant(tape, m->unit), load = lac_tape_constant(tape, m->load);
  lac_var entries = lac_segment_scale(tape, m->element_of, moduli, unit);
  lac_var k = lac_remap(tape, m->slots, entries, LAC_PLAIN);
  *u = lac_solve(tape, m->solver, k, load, LAC_PLAIN);
  return lac_dot(tape, load, *u);
}

/// c, its gradient by the tape, and the displacements; how K was factored is reported too.
static lac_status differentiate(const model *m, double *c, double gradient[ELEMENTS], double displacement[FREE]) {
  lac_var moduli = lac_tape_leaf(m->tape, m->moduli), moduli_bar, u, value = compliance(m->tape, m, moduli, &u);
  lac_report report = {0};
  lac_status status = lac_tape_vjp(m->tape, 1, &value, NULL, 1, &moduli, &moduli_bar, LAC_GRAPH_NONE);

  if (status == LAC_OK) status = lac_array_read(m->ctx, lac_tape_value(m->tape, value), c);
  if (status == LAC_OK) status = lac_array_read(m->ctx, lac_tape_value(m->tape, u), displacement);
  if (status == LAC_OK) status = lac_array_read(m->ctx, lac_tape_value(m->tape, moduli_bar), gradient);
  if (status == LAC_OK) status = lac_tape_solve_report(m->tape, u, &report, NULL);
  if (status == LAC_OK) printf("K, %d free degrees of freedom: %s, %s\n", FREE, report.method, report.reason);
  return status;
}
// [end]

// -- what is known ---------------------------------------------------------------------------------------------------

/// -u_k^T K_unit u_k
static double known_derivative(int element, const double *u) {
  double k[DOFS][DOFS] = {{0}}, sum = 0;

  element_matrix(k);
  for (int ij = 0; ij < DOFS * DOFS; ij++) {
    int32_t i = number_of(element, ij / DOFS), j = number_of(element, ij % DOFS);
    if (i >= 0 && j >= 0) sum -= u[i] * k[ij / DOFS][ij % DOFS] * u[j];
  }
  return sum;
}

static int compare(double c, const double *gradient, const double *u) {
  double worst = 0, sum = 0;

  for (int e = 0; e < ELEMENTS; e++) {
    double error = fabs(gradient[e] - known_derivative(e, u)) / c;
    if (!(error <= worst)) worst = error;
    sum += (1 + 0.5 * sin(0.7 * e)) * gradient[e];
  }
  printf("compliance %.9f, sum of e dc/de %.9f; gradient beside the closed form: %.1e of it\n", c, sum, worst);
  return worst < 1e-11 && fabs(sum + c) < 1e-9 * c;
}

int main(void) {
  model m = {.ctx = NULL};
  double c = 0, gradient[ELEMENTS], displacement[FREE];
  int is_right = 0;
  lac_status status = lac_context_create("cpu", 0, &m.ctx);

  if (status == LAC_OK) status = lac_tape_create(m.ctx, LAC_TAPE_RECORD, &m.tape);
  if (status == LAC_OK) status = assemble_structure(&m);
  if (status == LAC_OK) status = make_arrays(&m);
  if (status == LAC_OK) status = differentiate(&m, &c, gradient, displacement);
  if (status == LAC_OK) is_right = compare(c, gradient, displacement);
  if (status != LAC_OK) fprintf(stderr, "%s\n", lac_context_error(m.ctx));

  lac_tape_destroy(&m.tape);
  lac_array_destroy(&m.unit), lac_array_destroy(&m.load), lac_array_destroy(&m.moduli);
  lac_map_destroy(&m.slots), lac_map_destroy(&m.element_of);
  lac_solver_destroy(&m.solver);
  lac_pattern_destroy(&m.pattern);
  lac_context_destroy(&m.ctx);
  return !is_right;
}
