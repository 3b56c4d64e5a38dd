// SPDX-License-Identifier: Apache-2.0
// A compressed structure in indices INT. What already has them is used as it is. Included by kernel texts.

typedef struct FN(indices) {
  INT *offsets, *others;
  INT *own_offsets, *own_others;
} FN(indices);

static void FN(indices_close)(FN(indices) * to) {
  lac_free(to->own_offsets);
  lac_free(to->own_others);
}

static bool FN(indices_open)(int32_t n, int64_t nnz, const int64_t *offsets, const int32_t *others, FN(indices) * to) {
  *to = (FN(indices)){0};
  if (sizeof(INT) == sizeof *offsets) {
    to->own_others = lac_alloc((size_t)nnz * sizeof(INT));
    for (int64_t p = 0; to->own_others && p < nnz; p++) to->own_others[p] = (INT)others[p];
    to->offsets = (INT *)(void *)offsets;
    to->others = to->own_others;
  } else {
    to->own_offsets = lac_alloc((size_t)(n + 1) * sizeof(INT));
    for (int32_t i = 0; to->own_offsets && i <= n; i++) to->own_offsets[i] = (INT)offsets[i];
    to->offsets = to->own_offsets;
    to->others = (INT *)(void *)others;
  }
  return to->offsets && to->others;
}
