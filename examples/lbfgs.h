// SPDX-License-Identifier: Apache-2.0
/// @file lbfgs.h
/// A small L-BFGS with backtracking, for the examples: minimises a function of n doubles given value and gradient.

#ifndef LACUNA_EXAMPLES_LBFGS_H
#define LACUNA_EXAMPLES_LBFGS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LBFGS_MEMORY = 20 };

/// Fills *value and g at x; returns 0, or anything else to stop.
typedef int (*lbfgs_function)(void *user, int n, const double *x, double *value, double *g);

/// Called after each step; return nonzero to stop.
typedef int (*lbfgs_progress)(void *user, int iteration, double value, double slope);

typedef struct lbfgs {
  int n, pairs, next;
  double *s[LBFGS_MEMORY], *y[LBFGS_MEMORY], rho[LBFGS_MEMORY];
  double *g, *d, *trial, *trial_g, *block;
} lbfgs;

static double lbfgs_dot(int n, const double *a, const double *b) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static int lbfgs_open(lbfgs *o, int n) {
  *o = (lbfgs){.n = n};
  o->block = calloc((size_t)n * (2 * LBFGS_MEMORY + 4), sizeof *o->block);
  if (!o->block) return 1;
  for (int k = 0; k < LBFGS_MEMORY; k++) o->s[k] = o->block + (size_t)n * 2 * k, o->y[k] = o->s[k] + n;
  o->g = o->block + (size_t)n * 2 * LBFGS_MEMORY;
  o->d = o->g + n, o->trial = o->d + n, o->trial_g = o->trial + n;
  return 0;
}

/// d = -H g by the two-loop recursion.
static void lbfgs_direction(lbfgs *o) {
  double alpha[LBFGS_MEMORY];
  int newest = (o->next + LBFGS_MEMORY - 1) % LBFGS_MEMORY;

  for (int i = 0; i < o->n; i++) o->d[i] = -o->g[i];
  for (int j = 0, k = newest; j < o->pairs; j++, k = (k + LBFGS_MEMORY - 1) % LBFGS_MEMORY) {
    alpha[k] = o->rho[k] * lbfgs_dot(o->n, o->s[k], o->d);
    for (int i = 0; i < o->n; i++) o->d[i] -= alpha[k] * o->y[k][i];
  }
  if (o->pairs) {
    double scale = 1 / (o->rho[newest] * lbfgs_dot(o->n, o->y[newest], o->y[newest]));
    for (int i = 0; i < o->n; i++) o->d[i] *= scale;
  }
  for (int j = o->pairs - 1; j >= 0; j--) {
    int k = (newest + LBFGS_MEMORY - j) % LBFGS_MEMORY;
    double beta = o->rho[k] * lbfgs_dot(o->n, o->y[k], o->d);
    for (int i = 0; i < o->n; i++) o->d[i] += (alpha[k] - beta) * o->s[k][i];
  }
}

/// Keep the pair of the last step when it has positive curvature.
static void lbfgs_remember(lbfgs *o, const double *x) {
  double *s = o->s[o->next], *y = o->y[o->next], curvature;

  for (int i = 0; i < o->n; i++) s[i] = o->trial[i] - x[i], y[i] = o->trial_g[i] - o->g[i];
  curvature = lbfgs_dot(o->n, s, y);
  if (curvature <= 1e-14 * lbfgs_dot(o->n, y, y)) return;
  o->rho[o->next] = 1 / curvature;
  o->next = (o->next + 1) % LBFGS_MEMORY;
  if (o->pairs < LBFGS_MEMORY) o->pairs++;
}

/// Minimise from x in place; returns 0 when it ended by itself or by `progress`, nonzero when the function failed.
static int lbfgs_minimise(int n, double *x, int iterations, lbfgs_function function, lbfgs_progress progress,
                          void *user) {
  lbfgs o;
  double value, trial_value;
  int failed = lbfgs_open(&o, n);

  if (!failed) failed = function(user, n, x, &value, o.g);
  for (int iteration = 1; !failed && iteration <= iterations; iteration++) {
    lbfgs_direction(&o);
    double slope = lbfgs_dot(n, o.g, o.d), step = o.pairs ? 1 : fmin(1, 1 / sqrt(lbfgs_dot(n, o.g, o.g)));
    int tries = 0;
    for (;; step /= 2, tries++) {  // until the value falls by its fair share
      for (int i = 0; i < n; i++) o.trial[i] = x[i] + step * o.d[i];
      failed = function(user, n, o.trial, &trial_value, o.trial_g);
      if (failed || trial_value <= value + 1e-4 * step * slope || tries == 30) break;
    }
    if (failed || tries == 30) break;
    lbfgs_remember(&o, x);
    memcpy(x, o.trial, (size_t)n * sizeof *x);
    memcpy(o.g, o.trial_g, (size_t)n * sizeof *x);
    value = trial_value;
    if (progress(user, iteration, value, slope)) break;
  }
  free(o.block);
  return failed;
}

#endif
