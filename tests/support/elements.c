// SPDX-License-Identifier: Apache-2.0
#include "support/elements.h"

#include <math.h>
#include <string.h>

#include "support/random.h"
#include "support/scratch.h"

enum { MOST_STRAINS = 8, MOST_DOFS = 24, MOST_CORNERS = 8 };

static const double YOUNG = 1e3, POISSON = 0.3, THICKNESS = 0.1, DRILLING = 1e-3;
static const double SIZES[3] = {0.7 / 3, 1.3 / 7, 0.9 / 5};  // nothing here is exact in binary

/// Element matrices of a mesh of bricks, and the sum of them.
typedef struct mesh {
  elements_kind kind;
  lac_dtype dtype;
  int axes, cells[3];
  int corners, dofs, strains;  // of an element: corners, degrees of freedom a corner, rows of B
  int64_t rows;
  double *full;    // rows x rows
  char *is_there;  // entries that an element has, whatever their value
} mesh;

static mesh mesh_make(elements_kind kind, lac_dtype dtype) {
  mesh m = {.kind = kind, .dtype = dtype, .axes = 2, .cells = {8, 6, 0}, .corners = 4, .dofs = 2, .strains = 3};
  if (kind == ELEMENTS_SOLID) m = (mesh){kind, dtype, 3, {4, 3, 3}, 8, 3, 6, 0, NULL, NULL};
  if (kind == ELEMENTS_SHELL) m.cells[0] = 6, m.cells[1] = 4, m.dofs = 6, m.strains = 8;
  m.rows = (int64_t)m.dofs * m.cells[0] * (m.cells[1] + 1) * (m.cells[2] + 1);  // the nodes of x = 0 are fixed
  m.full = scratch((size_t)(m.rows * m.rows) * sizeof *m.full);
  m.is_there = scratch((size_t)(m.rows * m.rows));
  return m;
}

/// A number as the dtype has it: every operation below rounds.
static double rounded(const mesh *m, double x) { return m->dtype == LAC_F32 ? (double)(float)x : x; }

/// Corner c lies on the form -1 or +1 of each axis.
static int form_of(int c, int axis) { return c >> axis & 1; }

/// The derivatives of the shape function of corner c by x, y, z, and its value, at a Gauss point.
static void shape_at(const mesh *m, int c, int point, double derivative[3], double *value) {
  double factor[3] = {1, 1, 1};
  *value = 1;
  for (int a = 0; a < m->axes; a++) {
    double at = (form_of(point, a) ? 1 : -1) / sqrt(3);
    factor[a] = rounded(m, (1 + (form_of(c, a) ? at : -at)) / 2);
    *value = rounded(m, *value * factor[a]);
  }
  for (int a = 0; a < m->axes; a++) {
    derivative[a] = rounded(m, (form_of(c, a) ? 1 : -1) / SIZES[a]);
    for (int o = 0; o < m->axes; o++) derivative[a] = rounded(m, derivative[a] * (o == a ? 1 : factor[o]));
  }
}

/// The columns of B that a corner has: strains of displacements along each of its degrees of freedom.
static void strains_of(const mesh *m, const double d[3], double value, double b[MOST_STRAINS][6]) {
  if (m->kind == ELEMENTS_SOLID) {
    for (int a = 0; a < 3; a++) b[a][a] = d[a], b[3 + a][a] = d[(a + 1) % 3], b[3 + a][(a + 1) % 3] = d[a];
    return;
  }
  b[0][0] = b[2][1] = d[0], b[1][1] = b[2][0] = d[1];
  if (m->kind != ELEMENTS_SHELL) return;
  b[3][4] = d[0], b[4][3] = -d[1], b[5][4] = d[1], b[5][3] = -d[0];   // curvatures
  b[6][2] = d[0], b[6][4] = value, b[7][2] = d[1], b[7][3] = -value;  // shear through the thickness
}

static void isotropic(int normals, double d[MOST_STRAINS][MOST_STRAINS], int at, double factor) {
  double lambda = normals == 3 ? POISSON / (1 - 2 * POISSON) : POISSON / (1 - POISSON), shear = 0.5;
  for (int i = 0; i < normals; i++) {
    for (int j = 0; j < normals; j++) d[at + i][at + j] = factor * (lambda + (i == j));
  }
  for (int i = normals; i < (normals == 3 ? 6 : 3); i++) d[at + i][at + i] = factor * shear;
}

/// D less (D n)(D n)^T / (n^T D n + H): what is left of the stiffness along the flow n.
static void yield(const mesh *m, random_state *r, double d[MOST_STRAINS][MOST_STRAINS]) {
  double n[3], dn[3] = {0}, below = YOUNG / 10;
  for (int i = 0; i < 3; i++) n[i] = (double)random_below(r, 1000) / 700 - 0.7;
  for (int ij = 0; ij < 9; ij++) dn[ij / 3] = rounded(m, dn[ij / 3] + d[ij / 3][ij % 3] * n[ij % 3]);
  for (int i = 0; i < 3; i++) below = rounded(m, below + n[i] * dn[i]);
  for (int ij = 0; ij < 9; ij++) {  // a quotient first, as codes do: not the same for (i, j) and (j, i)
    double share = rounded(m, dn[ij / 3] / below);
    d[ij / 3][ij % 3] = rounded(m, d[ij / 3][ij % 3] - share * dn[ij % 3]);
  }
}

static void material_at(const mesh *m, random_state *r, double d[MOST_STRAINS][MOST_STRAINS]) {
  double modulus = YOUNG / (1 + POISSON);
  memset(d, 0, sizeof(double[MOST_STRAINS][MOST_STRAINS]));
  isotropic(m->kind == ELEMENTS_SOLID ? 3 : 2, d, 0, m->kind == ELEMENTS_SHELL ? modulus * THICKNESS : modulus);
  if (m->kind == ELEMENTS_SHELL) isotropic(2, d, 3, modulus * pow(THICKNESS, 3) / 12);
  if (m->kind == ELEMENTS_SHELL) d[6][6] = d[7][7] = 5.0 / 6 * modulus / 2 * THICKNESS;
  for (int ij = 0; ij < MOST_STRAINS * MOST_STRAINS; ij++) d[ij / 8][ij % 8] = rounded(m, d[ij / 8][ij % 8]);
  if (m->kind == ELEMENTS_PLASTIC) yield(m, r, d);
}

/// k += B^T (D B) w, the product in brackets first.
static void add_point(const mesh *m, int point, double d[MOST_STRAINS][MOST_STRAINS], double k[MOST_DOFS][MOST_DOFS]) {
  double b[MOST_STRAINS][MOST_DOFS] = {{0}}, db[MOST_STRAINS][MOST_DOFS] = {{0}}, weight = 1;
  int n = m->corners * m->dofs;
  for (int a = 0; a < m->axes; a++) weight = rounded(m, weight * SIZES[a] / 2);
  for (int c = 0; c < m->corners; c++) {
    double derivative[3] = {0}, value, own[MOST_STRAINS][6] = {{0}};
    shape_at(m, c, point, derivative, &value);
    strains_of(m, derivative, value, own);
    for (int s = 0; s < m->strains; s++) memcpy(&b[s][c * m->dofs], own[s], (size_t)m->dofs * sizeof **b);
  }
  for (int s = 0; s < m->strains; s++) {
    for (int j = 0; j < n; j++) {
      for (int t = 0; t < m->strains; t++) db[s][j] = rounded(m, db[s][j] + d[s][t] * b[t][j]);
    }
  }
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int s = 0; s < m->strains; s++) sum = rounded(m, sum + b[s][i] * db[s][j]);
      k[i][j] = rounded(m, k[i][j] + sum * weight);
    }
  }
}

/// T^T k T with a turn T of three displacements and of three rotations at each corner: the facet lies askew.
static void turn(const mesh *m, double k[MOST_DOFS][MOST_DOFS]) {
  const double u = 0.4, v = 1.1,
               t[3][3] = {{cos(u), -sin(u) * cos(v), sin(u) * sin(v)},
                          {sin(u), cos(u) * cos(v), -cos(u) * sin(v)},
                          {0, sin(v), cos(v)}};
  for (int pass = 0; pass < 2; pass++) {  // rows, then columns
    for (int line = 0; line < MOST_DOFS; line++) {
      for (int three = 0; three < MOST_DOFS; three += 3) {
        double old[3], made[3] = {0};
        for (int i = 0; i < 3; i++) old[i] = pass ? k[line][three + i] : k[three + i][line];
        for (int ij = 0; ij < 9; ij++) made[ij % 3] = rounded(m, made[ij % 3] + t[ij / 3][ij % 3] * old[ij / 3]);
        for (int i = 0; i < 3; i++) *(pass ? &k[line][three + i] : &k[three + i][line]) = made[i];
      }
    }
  }
}

static int64_t number_of(const mesh *m, const int cell[3], int dof) {
  int at[3], c = dof / m->dofs;
  for (int a = 0; a < 3; a++) at[a] = cell[a] + (a < m->axes ? form_of(c, a) : 0);
  if (at[0] == 0) return -1;
  return m->dofs * ((int64_t)(at[0] - 1) * (m->cells[1] + 1) * (m->cells[2] + 1) + at[1] * (m->cells[2] + 1) + at[2]) +
         dof % m->dofs;
}

static void add_element(mesh *m, const int cell[3], random_state *r) {
  double k[MOST_DOFS][MOST_DOFS] = {{0}}, d[MOST_STRAINS][MOST_STRAINS];
  int n = m->corners * m->dofs;
  for (int point = 0; point < 1 << m->axes; point++) {
    material_at(m, r, d);
    add_point(m, point, d, k);
  }
  for (int i = 5; m->kind == ELEMENTS_SHELL && i < n; i += 6) k[i][i] = rounded(m, DRILLING * YOUNG * THICKNESS);
  if (m->kind == ELEMENTS_SHELL) turn(m, k);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      int64_t row = number_of(m, cell, i), col = number_of(m, cell, j), at = row * m->rows + col;
      if (row < 0 || col < 0) continue;
      m->full[at] = rounded(m, m->full[at] + k[i][j]);
      m->is_there[at] = 1;
    }
  }
}

direct_case elements_make(elements_kind kind, lac_dtype dtype) {
  mesh m = mesh_make(kind, dtype);
  random_state r = random_start(17);
  sketch *s = scratch(sizeof *s);
  lac_meta meta = {.dtype = dtype, .ndim = 1};
  for (int cell[3] = {0, 0, 0}; cell[0] < m.cells[0]; cell[0]++) {
    for (cell[1] = 0; cell[1] < m.cells[1]; cell[1]++) {
      for (cell[2] = 0; cell[2] < (m.axes == 3 ? m.cells[2] : 1); cell[2]++) add_element(&m, cell, &r);
    }
  }
  *s = (sketch){m.rows, m.rows, 0, scratch((size_t)(m.rows * m.rows) * 8), scratch((size_t)(m.rows * m.rows) * 8)};
  for (int64_t at = 0; at < m.rows * m.rows; at++) {
    if (m.is_there[at]) s->row[s->nnz] = at / m.rows, s->col[s->nnz++] = at % m.rows;
  }
  meta.shape[0] = s->nnz;
  direct_case c = {s, ref_new(&meta)};
  for (int64_t z = 0; z < s->nnz; z++) c.a.x[z] = m.full[s->row[z] * m.rows + s->col[z]];
  return c;
}
