// SPDX-License-Identifier: Apache-2.0
/// @file pattern_nature.c
/// What can be read off a pattern.

#include "core/sized.h"
#include "solvers/direct/order/block_form.h"
#include "solvers/solver_impl.h"

lac_status lac_pattern_nature(lac_context *ctx, const lac_pattern *pattern, lac_nature *out) {
  lac_status status = LAC_OK;
  lac_structure *s = NULL;
  const lac_block_form *form = NULL;
  int32_t components = 0;
  const lac_sized type = LAC_SIZED(lac_nature, components);
  lac_nature nature;

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_sized_check(ctx, "lac_pattern_nature", type, out));
  LAC_TRY(lac_pattern_require_host(ctx, pattern, "lac_pattern_nature"));
  LAC_CHECK(pattern->rows == pattern->cols, LAC_ERR_SHAPE,
            "lac_pattern_nature: only square matrices have a nature that solvers ask for, the pattern is %lld x %lld",
            (long long)pattern->rows, (long long)pattern->cols);
  LAC_TRY(lac_structure_get(ctx, pattern, &s));
  LAC_TRY(lac_block_form_get(ctx, s, &form));
  LAC_TRY(lac_block_form_components(ctx, s, form, &components));
  nature = (lac_nature){.is_diagonal = s->lower == 0 && s->upper == 0,
                        .is_triangular = s->lower == 0 || s->upper == 0 || (form->rank == s->n && form->blocks == s->n),
                        .is_symmetric = s->is_symmetric,
                        .lower = s->lower,
                        .upper = s->upper,
                        .diagonals = s->diagonals,
                        .structural_rank = form->rank,
                        .blocks = form->blocks,
                        .components = components};
  lac_sized_give(type, &nature, out);
done:
  lac_object_release(s);
  return status;
}
