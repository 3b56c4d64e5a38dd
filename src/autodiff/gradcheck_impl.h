// SPDX-License-Identifier: Apache-2.0
/// @file gradcheck_impl.h
/// The inside of the gradient check: readings of a function at points (gradcheck_read.c), how far they can be trusted
/// (gradcheck_noise.c), and the judgement (gradcheck.c).

#ifndef LACUNA_AUTODIFF_GRADCHECK_IMPL_H
#define LACUNA_AUTODIFF_GRADCHECK_IMPL_H

#include <complex.h>
#include <math.h>
#include <stdbool.h>

#include "core/context_impl.h"
#include "lacuna/gradcheck.h"

enum { CHECK_MAX_LEAVES = 16 };

/// One check at one level for one subset of the leaves.
typedef struct check {
  lac_context *ctx;
  lac_gradcheck_function function;
  void *user;
  int count;
  const lac_array *const *leaves;
  uint32_t subset;   // which leaves are differentiated
  int level;         // 1: the function, 2: its gradient
  lac_array *y_bar;  // the frozen seed of the gradient; held
  lac_gradcheck_options options;
  uint64_t drawn;  // how many random numbers

  // The directions: tangents of the leaves, which are as large as these, and seeds of the outputs.
  lac_array *x_dot[CHECK_MAX_LEAVES], *seed[CHECK_MAX_LEAVES];
  double size[CHECK_MAX_LEAVES];  // of the leaves
} check;

/// Where a function is read: x + step x_dot. In a stirred reading, a rounding from that, as are the directions of its
/// derivatives, and with iterative solves that show what their tolerance leaves open.
typedef struct check_point {
  double step;
  bool is_stirred, has_derivatives;
} check_point;

/// What was computed at one point: the outputs of a level, their tangents and both sides of the adjoint identity.
typedef struct reading {
  int outs;
  int64_t count[CHECK_MAX_LEAVES];
  double complex *value[CHECK_MAX_LEAVES], *tangent[CHECK_MAX_LEAVES];
  double forward, reverse, terms;  // Re <seed, J x_dot>, Re <J^H seed, x_dot>, the sum of |terms| of both
} reading;

/// How far numbers scatter that would be equal in exact arithmetic, or as good as equal.
typedef struct check_noise {
  bool is_known;
  double value[CHECK_MAX_LEAVES], tangent[CHECK_MAX_LEAVES];  // of the largest number of each output
  double adjoint;                                             // of the deviation from the adjoint identity
} check_noise;

// Steps are those of the options times powers of 2.
enum { CHECK_RUNGS_DOWN = 40, CHECK_RUNGS_UP = 18, CHECK_RUNGS = CHECK_RUNGS_DOWN + CHECK_RUNGS_UP + 1 };

/// The function on both sides of x, one step away.
typedef struct rung {
  bool is_tried, is_there;  // not there: it has no value so far away
  reading plus, minus;
} rung;

/// Why a function has no value near x: the first failure among the rungs.
typedef struct failure {
  lac_status status;  // LAC_OK: there was none
  double step;
  char sentence[LAC_SENTENCE_SIZE / 2];
} failure;

/// All that is known of a level: the reading at x itself, the noise and the differences, as far as they were asked for.
typedef struct evidence {
  reading base;
  check_noise noise;
  rung rungs[CHECK_RUNGS];
  failure outside;
} evidence;

/// The best central difference of an output, and what it is good for.
typedef struct difference {
  double complex *quotient;  // NULL: not wanted; the caller's
  double step;
  double truncation, noise;  // what the step and the scatter of values leave uncertain of the largest number
  double tangent;            // and the scatter of J x_dot
  double rival;              // a longer step whose difference contradicts it with the same certainty; 0: no such step
} difference;

/// Whether `a` is worse than the worst so far. NaN is worse than any number, and stays the worst.
static inline bool check_worse(double a, double worst) { return !isnan(worst) && !(a <= worst); }
static inline double check_max(double a, double b) { return check_worse(b, a) ? b : a; }

/// Draw tangents for the leaves of the subset; seeds are drawn with the first reading that has derivatives.
lac_status lac_check_draw(check *c);
void lac_check_forget(check *c);

lac_status lac_check_read(check *c, check_point at, reading *out);
void lac_check_free(reading *r);

/// (forward - reverse) / terms; 0 where there are none.
double lac_check_adjoint(const reading *r);

/// Measure the noise of a level, once.
lac_status lac_check_measure(check *c, evidence *e);

/// The difference with the step of the options, for output i.
lac_status lac_check_first(check *c, evidence *e, int i, difference *out);

/// The one with the step that leaves least uncertain. Measures the noise. Without a quotient where no step serves.
lac_status lac_check_best(check *c, evidence *e, int i, difference *out);

/// The shortest step that is tried.
double lac_check_shortest(const check *c);

void lac_check_drop(evidence *e);

#endif
