// SPDX-License-Identifier: Apache-2.0
/// @file foresee.c
/// What a factorisation will take, before it begins: a refusal where that is more than there is, and a warning where
/// the pattern fills in.

#include <stdio.h>
#include <string.h>

#include "core/memory_impl.h"
#include "solvers/direct/method/method.h"

// -- sentences -------------------------------------------------------------------------------------------------------

enum { FORESEE_TEXT = 32, FORESEE_WAYS = 160 };

static const char *foresee_bytes(double bytes, char text[FORESEE_TEXT]) {
  static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  int unit = 0;
  while (bytes >= 999.5 && unit < 6) bytes /= 1000, unit++;
  snprintf(text, FORESEE_TEXT, "%.*f %s",
           bytes < 9.995 && unit > 0   ? 2
           : bytes < 99.95 && unit > 0 ? 1
                                       : 0,
           bytes, units[unit]);
  return text;
}

// What is left to try.
static void foresee_ways(const char *ordering, lac_dtype dtype, char text[FORESEE_WAYS]) {
  bool is_metis = ordering && strcmp(ordering, "metis") == 0, is_wide = dtype == LAC_F64 || dtype == LAC_C128;
  snprintf(text, FORESEE_WAYS, "%s%suse an iterative method",
           is_metis ? "" : "order by nested dissection (LAC_ORDER_METIS), ",
           is_wide ? dtype == LAC_F64 ? "factor in f32, " : "factor in c64, " : "");
}

// -- memory ----------------------------------------------------------------------------------------------------------

// Asking the system takes longer than factoring what is small.
static const int64_t foresee_small = INT64_C(64) << 20;

lac_status lac_foresee_check(const lac_direct_table *table, const lac_solver_options *options, lac_dtype dtype,
                             int64_t items, int64_t at_once, const lac_finding *one, lac_fault *fault) {
  double factors = (double)items * (double)one->bytes, work = (double)at_once * (double)one->work_bytes, there;
  char total[FORESEE_TEXT], aside[FORESEE_TEXT], have[FORESEE_TEXT], ways[FORESEE_WAYS];
  bool is_limited = options->max_bytes > 0;

  if (items == 0 || one->nnz < 0 || one->is_guess || (!is_limited && factors + work <= (double)foresee_small))
    return LAC_OK;
  there = (double)(is_limited ? options->max_bytes : lac_memory_available());
  if (factors + work <= there) return LAC_OK;
  foresee_ways(one->ordering, dtype, ways);
  fault->lacks_room = true;
  snprintf(fault->text, sizeof fault->text,
           "%s needs %s for %lld entries%s and %s besides while it works, but %s %s; %s%s", table->name,
           foresee_bytes(factors, total), (long long)one->nnz, items > 1 ? " of each matrix" : "",
           foresee_bytes(work, aside), is_limited ? "max_bytes is" : "there are", foresee_bytes(there, have),
           is_limited ? "raise it, " : "", ways);
  return LAC_ERR_MEMORY;
}

// -- fill ------------------------------------------------------------------------------------------------------------

// A factor is large where it has a hundred entries for one of the matrix; or where most of it is full, though the
// matrix is sparse.
enum { FORESEE_MANY = 100, FORESEE_ROWS = 10000, FORESEE_FULL_ROWS = 1000, FORESEE_SPARSE = 20 };

void lac_foresee_warn(const lac_structure *s, const lac_direct_table *table, lac_dtype dtype,
                      const lac_finding *finding, char *warning, size_t size) {
  double n = s->n, entries = (double)finding->nnz, full = table->needs_hermitian ? n * (n + 1) / 2 : n * n;
  bool is_many = s->n > FORESEE_ROWS && entries > FORESEE_MANY * (double)s->nnz;
  bool is_full = s->n > FORESEE_FULL_ROWS && entries > full / 2 && FORESEE_SPARSE * (double)s->nnz < n * n;
  size_t length = strlen(warning);
  char bytes[FORESEE_TEXT], ways[FORESEE_WAYS];

  if (!is_many && !is_full) return;
  foresee_ways(finding->ordering, dtype, ways);
  snprintf(
      warning + length, size - length,
      "%sthe factor has %.3g entries, %.0f for each of the matrix and %.2g %% of a full one (%s)%s; to do with less, "
      "%s",
      length ? "; " : "", entries, entries / (double)(s->nnz > 0 ? s->nnz : 1), 100 * entries / full,
      foresee_bytes((double)finding->bytes, bytes), is_full ? ": the pattern fills in as a random one does" : "", ways);
}
