// SPDX-License-Identifier: Apache-2.0
// Substitution through the blocks for one dtype; block_lu.c has the equation. Included once for each.

static void FN(block_gather)(int64_t count, const int64_t *slots, const void *from, void *to) {
  for (int64_t p = 0; p < count; p++) ((T *)to)[p] = ((const T *)from)[slots[p]];
}

static void FN(block_scatter)(int64_t count, const int64_t *slots, const void *from, void *to) {
  for (int64_t p = 0; p < count; p++) ((T *)to)[slots[p]] = ((const T *)from)[p];
}

// The first block of one row whose number is zero, or -1.
static int32_t FN(block_zero)(const block_part *part, const void *values) {
  const T *a = values;
  for (int32_t b = 0; b < part->form->blocks; b++) {
    if (part->single[b] >= 0 && a[part->single[b]] == 0) return b;
  }
  return -1;
}

static void FN(block_singles)(const block_part *part, const void *values, lac_determinant *d) {
  const T *a = values;
  for (int32_t b = 0; b < part->form->blocks; b++) {
    if (part->single[b] < 0) continue;
    T pivot = a[part->single[b]];
    lac_determinant_times(d, FN(re)(pivot), FN(im)(pivot));
  }
}

static void FN(block_invert)(const block_part *part, const void *values, void *inverse) {
  const T *a = values;
  T *z = inverse;
  for (int64_t p = 0; p < part->s->nnz; p++) z[p] = 0;
  for (int32_t b = 0; b < part->form->blocks; b++) {
    if (part->single[b] >= 0) z[part->single[b]] = FN(div)(1, a[part->single[b]]);
  }
}

// b minus what blocks that are done contribute to line `line` of A, or of A^T.
static void FN(block_rest)(const block_part *part, const T *a, bool transposed, int32_t line, int32_t begin,
                           int32_t end, int width, const T *b, const T *x, T *out) {
  const lac_structure *s = part->s;
  const int64_t *offsets = transposed ? s->t_offsets : s->offsets;
  const int32_t *others = transposed ? s->t_rows : s->columns, *place = transposed ? part->row_place : part->col_place;
  WIDE sum[LAC_BLOCK_WIDTH];
  for (int c = 0; c < width; c++) sum[c] = b[(int64_t)line * width + c];
  for (int64_t p = offsets[line]; p < offsets[line + 1]; p++) {
    int32_t at = place[others[p]];
    if (at >= begin && at < end) continue;
    const T value = a[transposed ? s->t_slots[p] : p], *from = x + (int64_t)others[p] * width;
    for (int c = 0; c < width; c++) sum[c] -= (WIDE)value * from[c];
  }
  for (int c = 0; c < width; c++) out[c] = (T)sum[c];
}

// One block of A, or of A^T: `room` has three blocks of numbers for the largest one.
static lac_status FN(block_one)(const block_part *part, const block_numeric *f, int32_t block, bool transposed,
                                int width, int threads, const T *b, T *x, T *room, lac_fault *fault) {
  const lac_block_form *form = part->form;
  const int32_t *from = transposed ? form->cols : form->rows, *to = transposed ? form->rows : form->cols;
  int32_t begin = form->first[block], end = form->first[block + 1], piece = part->piece_of[block];
  int64_t size = (int64_t)(end - begin) * width;
  const T *a = f->values;
  T *solution = piece < 0 ? room : room + size;

  for (int32_t k = begin; k < end; k++) {
    FN(block_rest)(part, a, transposed, from[k], begin, end, width, b, x, room + (int64_t)(k - begin) * width);
  }
  if (piece < 0) {
    for (int c = 0; c < width; c++) room[c] = FN(div)(room[c], a[part->single[block]]);
  } else {
    const block_piece *own = &part->pieces[piece];
    lac_status status = own->table->solve(own->part, f->numerics[piece], transposed ? LAC_TRANSPOSED : LAC_PLAIN, width,
                                          threads, room, solution, room + 2 * size, fault);
    if (status != LAC_OK) return status;
  }
  for (int32_t k = begin; k < end; k++) {
    memcpy(x + (int64_t)to[k] * width, solution + (int64_t)(k - begin) * width, (size_t)width * sizeof *x);
  }
  return LAC_OK;
}

static lac_status FN(block_solve)(const block_part *part, const block_numeric *f, lac_form form, int width, int threads,
                                  const void *b, void *x, void *room, lac_fault *fault) {
  int32_t blocks = part->form->blocks;
  lac_status status = LAC_OK;
  for (int32_t t = 0; t < blocks && status == LAC_OK; t++) {
    status = FN(block_one)(part, f, form == LAC_TRANSPOSED ? blocks - 1 - t : t, form == LAC_TRANSPOSED, width, threads,
                           b, x, room, fault);
  }
  return status;
}
