// SPDX-License-Identifier: Apache-2.0
/// @file analysis.c
/// Analyses are kept with the pattern: the ordering of a pattern is computed once, whoever solves with it.

#include "solvers/direct/direct.h"

static void analysis_destroy(lac_object *object) {
  lac_analysis *a = (lac_analysis *)object;
  a->table->forget(a->part);
  lac_free(a);
}

static const lac_kind analysis_kind = {"analysis", analysis_destroy};

static int analysis_match(const lac_object *object, const void *key) {
  const lac_analysis *kept = (const lac_analysis *)object, *wanted = key;
  return kept->table->analyse == wanted->table->analyse && kept->ordering == wanted->ordering;
}

static lac_status analysis_create(lac_context *ctx, const lac_structure *structure, const lac_direct_table *table,
                                  lac_ordering ordering, int64_t *bytes, lac_analysis **out) {
  lac_status status = LAC_OK;
  double begin = lac_seconds();
  lac_analysis *a = NULL;

  LAC_ALLOC(a, 1);
  lac_object_init(&a->object, &analysis_kind);
  a->table = table;
  a->ordering = ordering;
  LAC_TRY(table->analyse(ctx, structure, ordering, &a->part, bytes));
  a->seconds = lac_seconds() - begin;
  *out = a, a = NULL;
done:
  lac_object_release(a);
  return status;
}

lac_status lac_analysis_get(lac_context *ctx, const lac_pattern *pattern, const lac_structure *structure,
                            const lac_direct_table *table, lac_ordering ordering, lac_analysis **out) {
  lac_status status = LAC_OK;
  lac_analysis key = {.table = table, .ordering = ordering};
  lac_analysis *a = (lac_analysis *)lac_pattern_find_cached(pattern, &analysis_kind, analysis_match, &key);
  int64_t bytes = 0;

  if (!a) {
    LAC_TRY(analysis_create(ctx, structure, table, ordering, &bytes, &a));
    LAC_TRY(lac_pattern_add_cached(ctx, pattern, &a->object, bytes));
  }
  *out = a, a = NULL;
done:
  lac_object_release(a);
  return status;
}

lac_finding lac_foresee(const lac_direct_table *table, const lac_analysis *analysis, lac_dtype dtype) {
  lac_finding finding = {.nnz = -1};
  if (analysis && table->foresee) table->foresee(analysis->part, dtype, &finding);
  if (finding.nnz < 0) finding.bytes = finding.work_bytes = -1, finding.flops = -1;
  return finding;
}
