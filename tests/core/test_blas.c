// SPDX-License-Identifier: Apache-2.0
/// Which BLAS is found, by name, by path, or none; and that products are the same with it and without. Each trial is a
/// process of its own, since a BLAS is found once.

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/blas.h"
#include "lacuna/lacuna.h"
#include "support/check.h"

enum { SIDE = 96 };  // of matrices: large enough for BLAS

/// The exit code of a trial with LACUNA_BLAS set so; NULL: not set.
static int trial(const char *blas, int (*run)(void)) {
  int status = 0;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (blas) setenv("LACUNA_BLAS", blas, 1);
    if (!blas) unsetenv("LACUNA_BLAS");
    _exit(run());
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static int is_found(void) { return *lac_blas_name() != '\0'; }

/// 0: X Y by lac_matmul is what the sums of products say.
static int product_is_wrong(void) {
  const int64_t shape[] = {SIDE, SIDE};
  static double x[SIDE * SIDE], y[SIDE * SIDE];
  lac_context *ctx = NULL;
  lac_tape *tape = NULL;
  lac_array *arrays[2] = {NULL, NULL};
  double worst = 0;

  for (int i = 0; i < SIDE * SIDE; i++) x[i] = sin(i), y[i] = cos(3 * i);
  if (lac_context_create("cpu", 0, &ctx) != LAC_OK || lac_context_set_threads(ctx, 1) != LAC_OK) return 1;
  if (lac_array_from(ctx, LAC_F64, 2, shape, x, LAC_COPY, &arrays[0]) != LAC_OK) return 2;
  if (lac_array_from(ctx, LAC_F64, 2, shape, y, LAC_COPY, &arrays[1]) != LAC_OK) return 2;
  if (lac_tape_create(ctx, LAC_RUN, &tape) != LAC_OK) return 3;
  lac_var z = lac_matmul(tape, LAC_N, lac_tape_constant(tape, arrays[0]), LAC_T, lac_tape_constant(tape, arrays[1]));
  if (lac_tape_status(tape) != LAC_OK) return 4;
  const double *out = lac_array_data(lac_tape_value(tape, z));
  for (int i = 0; i < SIDE * SIDE; i++) {
    double sum = 0;
    for (int k = 0; k < SIDE; k++) sum += x[i / SIDE * SIDE + k] * y[i % SIDE * SIDE + k];
    worst = fmax(worst, fabs(out[i] - sum));
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&arrays[0]), lac_array_destroy(&arrays[1]);
  lac_context_destroy(&ctx);
  return worst < 1e-11 ? 0 : 5;
}

static void none_is_none(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(trial("none", is_found), 0);
  CHECK_EQ(trial("libthereisnosuchblas.so", is_found), 0);
  CHECK_EQ(trial("libm.so.6", is_found), 0);  // there, and no BLAS
}

/// A name that is asked for is found again by itself, where there is one.
static void a_name_is_found(lac_context *ctx) {
  (void)ctx;
  if (!trial(NULL, is_found)) {
    check_skip("no fast BLAS on this machine");
    return;
  }
  CHECK(access("/usr/lib/x86_64-linux-gnu/libopenblas.so.0", R_OK) ||
        trial("/usr/lib/x86_64-linux-gnu/libopenblas.so.0", is_found));
}

static void the_reference_is_left_alone(lac_context *ctx) {
  const char *path = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3";
  (void)ctx;
  if (access(path, R_OK)) {
    check_skip("no reference BLAS on this machine");
    return;
  }
  CHECK_EQ(trial(path, is_found), 0);
}

static void products_are_right_with_and_without(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(trial(NULL, product_is_wrong), 0);
  CHECK_EQ(trial("none", product_is_wrong), 0);
}

CHECK_MAIN(none_is_none, a_name_is_found, the_reference_is_left_alone, products_are_right_with_and_without)
