// SPDX-License-Identifier: Apache-2.0
// Number by number. `op`, `sx` and `sy` are constants to the compiler wherever they are passed on.

INLINE T FN(element)(const int op, T x, T y, T alpha) {
  switch (op) {
    case LAC_ADD:
      return FN(add)(x, y);
    case LAC_SUB:
      return FN(sub)(x, y);
    case LAC_MUL:
      return FN(mul)(x, y);
    case LAC_DIV:
      return FN(div)(x, y);
    case LAC_DIV_OR_ZERO:
      return FN(is_zero)(y) ? 0 : FN(div)(x, y);
    case LAC_POW:
      return FN(pow)(x, y);
    case LAC_COMPARE_EQ:
      return FN(equals)(x, y);
    case LAC_COMPARE_NE:
      return !FN(equals)(x, y);
    case LAC_COMPARE_LT:
      return FN(re)(x) < FN(re)(y);
    case LAC_COMPARE_LE:
      return FN(re)(x) <= FN(re)(y);
    case LAC_COMPARE_GT:
      return FN(re)(x) > FN(re)(y);
    case LAC_COMPARE_GE:
      return FN(re)(x) >= FN(re)(y);
    case ELEMENT_SCALE:
      return FN(mul)(alpha, x);
    case ELEMENT_AXPY:
      return FN(mac)(y, alpha, x);
    case ELEMENT_CONJ:
      return FN(signed)(x, -1);
    default:
      return x;
  }
}

/// Whether the operation is a call or a branch for each number, which no compiler vectorises.
INLINE bool FN(is_call)(const int op) {
  return op == LAC_POW || (FN(has_imag) && (op == LAC_DIV || op == LAC_DIV_OR_ZERO));
}

/// z = op(x, y) on n numbers, where sx and sy are 0 (one number for all) or 1. z may be x or y.
INLINE void FN(span)(const int op, const T *x, const int sx, const T *y, const int sy, T *z, int64_t n, T alpha) {
  if (FN(is_call)(op)) {
    for (int64_t i = 0; i < n; ++i) z[i] = FN(element)(op, x[i * sx], y[i * sy], alpha);
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) z[i] = FN(element)(op, x[i * sx], y[i * sy], alpha);
}

/// The same on n whole lines of 64 bytes, stored past the caches.
INLINE void FN(lines)(const int op, const T *x, const int sx, const T *y, const int sy, T *z, int64_t n, T alpha) {
  enum { LINE = 64 / sizeof(T) };
  for (; n; --n, x += LINE * sx, y += LINE * sy, z += LINE) {
    T line[LINE];
    UNROLL(16) for (int i = 0; i < LINE; ++i) line[i] = FN(element)(op, x[i * sx], y[i * sy], alpha);
    cpu_stream(z, line);
  }
}

INLINE void FN(spans)(const int op, const int sx, const int sy, const element_job *job, int64_t begin, int64_t end) {
  enum { LINE = 64 / sizeof(T) };
  T alpha = FN(make)(job->re, job->im);
  int64_t inner = lac_loop_inner(&job->loop), start = begin % inner;
  lac_cursor cursor = lac_cursor_at(&job->loop, begin / inner);
  for (int64_t n; begin < end; begin += n, start += n) {
    if (start == inner) {
      start = 0;
      lac_cursor_next(&job->loop, &cursor);
    }
    n = end - begin < inner - start ? end - begin : inner - start;
    const T *x = (const T *)job->x + cursor.offset[0] + start * sx,
            *y = (const T *)job->y + cursor.offset[1] + start * sy;
    T *z = (T *)job->z + begin;
    int64_t to_line = (int64_t)(-(uintptr_t)z % 64 / sizeof(T));
    if (job->streams && to_line == 0 && n >= LINE) {
      n -= n % LINE;
      FN(lines)(op, x, sx, y, sy, z, n / LINE, alpha);
    } else {
      if (job->streams && to_line && to_line < n) n = to_line;
      FN(span)(op, x, sx, y, sy, z, n, alpha);
    }
  }
  if (job->streams) cpu_stream_end();
}

/// Two operands, of which one may be the same number along the innermost dimension.
INLINE void FN(binary)(const int op, const element_job *job, int64_t begin, int64_t end) {
  int last = job->loop.ndim - 1;
  if (job->loop.stride[0][last] == 0) {
    FN(spans)(op, 0, 1, job, begin, end);
  } else if (job->loop.stride[1][last] == 0) {
    FN(spans)(op, 1, 0, job, begin, end);
  } else {
    FN(spans)(op, 1, 1, job, begin, end);
  }
}

#define BINARY_CASE(op)              \
  case op:                           \
    FN(binary)(op, job, begin, end); \
    break

static void FN(elements)(const void *opaque, int64_t begin, int64_t end) {
  const element_job *job = opaque;
  switch (job->op) {
    BINARY_CASE(LAC_ADD);
    BINARY_CASE(LAC_SUB);
    BINARY_CASE(LAC_MUL);
    BINARY_CASE(LAC_DIV);
    BINARY_CASE(LAC_DIV_OR_ZERO);
    BINARY_CASE(LAC_POW);
    BINARY_CASE(LAC_COMPARE_EQ);
    BINARY_CASE(LAC_COMPARE_NE);
    BINARY_CASE(LAC_COMPARE_LT);
    BINARY_CASE(LAC_COMPARE_LE);
    BINARY_CASE(LAC_COMPARE_GT);
    BINARY_CASE(LAC_COMPARE_GE);
    case ELEMENT_SCALE:
      FN(spans)(ELEMENT_SCALE, 1, 1, job, begin, end);
      break;
    case ELEMENT_AXPY:
      FN(spans)(ELEMENT_AXPY, 1, 1, job, begin, end);
      break;
    case ELEMENT_CONJ:
      FN(spans)(ELEMENT_CONJ, 1, 1, job, begin, end);
      break;
    default:
      if (job->loop.stride[0][job->loop.ndim - 1] == 0) {
        FN(spans)(ELEMENT_COPY, 0, 0, job, begin, end);
      } else {
        FN(spans)(ELEMENT_COPY, 1, 1, job, begin, end);
      }
  }
}
#undef BINARY_CASE
