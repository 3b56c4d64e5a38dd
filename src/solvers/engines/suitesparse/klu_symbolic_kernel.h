// SPDX-License-Identifier: Apache-2.0
// KLU's analysis with one kind of index, INT. Included once for each, and without a guard.

#include "solvers/engines/suitesparse/indices_kernel.h"

static void FN(klu_forget)(SYMBOLIC **symbolic) {
  COMMON common;
  CALL(defaults)(&common);
  CALL(free_symbolic)(symbolic, &common);
}

static lac_status FN(klu_analyse)(const lac_structure *s, const int32_t *order, SYMBOLIC **out, lac_fault *fault) {
  FN(indices) indices;
  COMMON common;
  INT *given = order ? lac_alloc((size_t)s->n * sizeof *given) : NULL;

  CALL(defaults)(&common);
  common.status = KLU_OUT_OF_MEMORY;
  if (FN(indices_open)(s->n, s->nnz, s->t_offsets, s->t_rows, &indices) && (given || !order)) {
    for (int32_t i = 0; order && i < s->n; i++) given[i] = (INT)order[i];
    common.btf = !order;
    *out = order ? CALL(analyze_given)(s->n, indices.offsets, indices.others, given, given, &common)
                 : CALL(analyze)(s->n, indices.offsets, indices.others, &common);
  }
  FN(indices_close)(&indices);
  lac_free(given);
  return *out ? LAC_OK : klu_problem(common.status, common.singular_col, fault);
}

#undef INT
#undef SYMBOLIC
#undef COMMON
#undef CALL
#undef FN
