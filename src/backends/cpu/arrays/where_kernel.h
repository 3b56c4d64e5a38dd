// SPDX-License-Identifier: Apache-2.0
// z = x where c is not zero, else y, with strides of 0 or 1 along the innermost dimension.

static void FN(where_part)(const void *opaque, int64_t begin, int64_t end) {
  const where_job *job = opaque;
  const lac_loop *loop = &job->loop;
  int64_t inner = lac_loop_inner(loop), start = begin % inner;
  int64_t sc = loop->stride[0][loop->ndim - 1], sx = loop->stride[1][loop->ndim - 1],
          sy = loop->stride[2][loop->ndim - 1];
  lac_cursor at = lac_cursor_at(loop, begin / inner);

  for (int64_t n; begin < end; begin += n, start = 0, lac_cursor_next(loop, &at)) {
    n = end - begin < inner - start ? end - begin : inner - start;
    const T *c = (const T *)job->c + at.offset[0] + start * sc, *x = (const T *)job->x + at.offset[1] + start * sx,
            *y = (const T *)job->y + at.offset[2] + start * sy;
    T *z = (T *)job->z + begin;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) z[i] = FN(is_zero)(c[i * sc]) ? y[i * sy] : x[i * sx];
  }
}
