// SPDX-License-Identifier: Apache-2.0
// The text of smoothed_block_numbers.c, for one dtype T and integers O, C (instantiate_indexed.h).

#define W FN(acc)
#define NODES_OF_RUN(n, nodes, from, to)  \
  const int64_t from = (n)*NUMBERS_BLOCK; \
  const int64_t to = from + NUMBERS_BLOCK < (nodes) ? from + NUMBERS_BLOCK : (nodes)

/// The diagonal block of node i.
static void XN(block_take_own)(const block_diagonals_job *j, int64_t i, W *own) {
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  int area = j->size * j->size;
  for (int n = 0; n < area; ++n) own[n] = 0;
  for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
    for (int n = 0; n < area && columns[p] == i; ++n) own[n] = ((const T *)j->values)[p * area + n];
  }
}

/// A scale in which squares of the numbers of row i are numbers.
static double XN(block_scale)(const block_diagonals_job *j, int64_t i) {
  const O *offsets = j->a->offsets;
  const T *values = j->values;
  int64_t area = (int64_t)j->size * j->size;
  double most = 0;
  for (int64_t n = offsets[i] * area; n < offsets[i + 1] * area; ++n) most = fmax(most, FN(modulus)(values[n]));
  return lac_smoothed_factor(most);
}

/// S of least |I - S A|_F: own^H (sum A A^H)^-1.
static void XN(block_spai)(const block_diagonals_job *j, int64_t i, const W *own, W *s) {
  const O *offsets = j->a->offsets;
  const T *values = j->values;
  int size = j->size;
  W sum[LAC_BLOCK_MOST * LAC_BLOCK_MOST], inverse[LAC_BLOCK_MOST * LAC_BLOCK_MOST];
  double scale = XN(block_scale)(j, i);
  for (int n = 0; n < size * size; ++n) sum[n] = s[n] = 0;
  for (int64_t q = offsets[i] * size; q < (int64_t)offsets[i + 1] * size; ++q) {  // rows of blocks: [size]
    const T *block = values + q / size * size * size;
    int c = (int)(q % size);
    for (int n = 0; n < size * size; ++n)
      sum[n] += scale * (W)block[n / size * size + c] * (scale * (W)FN(conj)(block[n % size * size + c]));
  }
  FN(block_inverse)(size, sum, NUMBERS_ZERO * DBL_EPSILON, inverse);
  for (int n = 0; n < size * size * size; ++n) {
    int r = n / (size * size), c = n / size % size, q = n % size;
    s[r * size + c] += scale * (W)conj((c128)own[q * size + r]) * inverse[q * size + c] * scale;
  }
}

/// The largest sum of |S A| in a row of node i.
static double XN(block_bound)(const block_diagonals_job *j, int64_t i, const W *s) {
  const O *offsets = j->a->offsets;
  const T *values = j->values;
  int size = j->size;
  double most = 0;
  for (int r = 0; r < size; ++r) {
    double sum = 0;
    for (int64_t n = offsets[i] * size; n < (int64_t)offsets[i + 1] * size; ++n) {
      const T *column = values + n / size * size * size + n % size;
      W product = 0;
      for (int q = 0; q < size; ++q) product += s[r * size + q] * (W)column[q * size];
      sum += cabs((c128)product);
    }
    most = fmax(most, sum);
  }
  return most;
}

static void XN(block_diagonals_nodes)(const void *job, int64_t begin, int64_t end) {
  const block_diagonals_job *j = job;
  int area = j->size * j->size;
  double rounding = NUMBERS_ZERO * (sizeof(FN(real)) == 4 ? FLT_EPSILON : DBL_EPSILON);
  W own[LAC_BLOCK_MOST * LAC_BLOCK_MOST], f[LAC_BLOCK_MOST * LAC_BLOCK_MOST], s[LAC_BLOCK_MOST * LAC_BLOCK_MOST];
  for (int64_t run = begin; run < end; ++run) {
    NODES_OF_RUN(run, j->a->rows, from, to);
    double bounds[2] = {0, 0};
    for (int64_t i = from; i < to; ++i) {
      XN(block_take_own)(j, i, own);
      FN(block_inverse)(j->size, own, rounding, f);
      if (j->smoother == LAC_SMOOTHER_SPAI) XN(block_spai)(j, i, own, s);
      for (int n = 0; n < area; ++n) {
        if (j->smoother == LAC_SMOOTHER_JACOBI) s[n] = f[n];
        ((T *)j->f)[i * area + n] = (T)f[n], ((T *)j->s)[i * area + n] = (T)s[n];
      }
      bounds[0] = fmax(bounds[0], XN(block_bound)(j, i, s));
      if (j->smoother != LAC_SMOOTHER_JACOBI) bounds[1] = fmax(bounds[1], XN(block_bound)(j, i, f));
    }
    j->bounds[run][0] = bounds[0];
    j->bounds[run][1] = j->smoother == LAC_SMOOTHER_JACOBI ? bounds[0] : bounds[1];
  }
}

/// y = scale S A x on one node; returns |y|^2.
INLINE double XN(block_power)(const block_power_job *j, int64_t i, int size) {
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  const T *values = j->values, *x = j->x, *s = (const T *)j->s + i * size * size;
  T sum[LAC_BLOCK_MOST], *y = (T *)j->y + i * size;
  double squares = 0;
  for (int r = 0; r < size; ++r) sum[r] = 0;
  for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
    const T *block = values + p * size * size, *from = x + (int64_t)columns[p] * size;
    UNROLL(8) for (int r = 0; r < size; ++r) {
      UNROLL(8) for (int q = 0; q < size; ++q) sum[r] = FN(mac)(sum[r], block[r * size + q], from[q]);
    }
  }
  for (int r = 0; r < size; ++r) {
    T product = 0;
    for (int q = 0; q < size; ++q) product = FN(mac)(product, s[r * size + q], sum[q]);
    y[r] = (FN(real))j->scale * product;
    squares += FN(modulus)(y[r]) * FN(modulus)(y[r]);
  }
  return squares;
}

static void XN(block_power_nodes)(const void *job, int64_t begin, int64_t end) {
  const block_power_job *j = job;
  for (int64_t run = begin; run < end; ++run) {
    NODES_OF_RUN(run, j->a->rows, from, to);
    j->squares[run] = 0;
    for (int64_t i = from; i < to; ++i) {
      j->squares[run] += j->size == 3   ? XN(block_power)(j, i, 3)
                         : j->size == 6 ? XN(block_power)(j, i, 6)
                                        : XN(block_power)(j, i, j->size);
    }
  }
}

/// to += a T_n: [size, size] times the node's part of the basis, [size, m].
INLINE void XN(block_add_basis)(const block_interpolate_job *j, const T *a, int64_t node, T *to) {
  int size = j->size, m = j->m;
  const T *basis = (const T *)j->basis + node * size * m;
  for (int r = 0; r < size; ++r) {
    for (int q = 0; q < size; ++q) {
      for (int c = 0; c < m; ++c) to[r * m + c] = FN(mac)(to[r * m + c], a[r * size + q], basis[q * m + c]);
    }
  }
}

/// P = T - omega F (sum A T) in one row of P, from the sums: a column of the block at a time.
INLINE void XN(block_smooth)(const block_interpolate_job *j, int64_t i, double omega, bool is_own, T *to) {
  int size = j->size, m = j->m;
  const T *f = (const T *)j->f + i * size * size, *basis = (const T *)j->basis + i * size * m;
  T sum[LAC_BLOCK_MOST];
  for (int c = 0; c < m; ++c) {
    for (int r = 0; r < size; ++r) sum[r] = to[r * m + c];
    for (int r = 0; r < size; ++r) {
      T product = 0;
      for (int q = 0; q < size; ++q) product = FN(mac)(product, f[r * size + q], sum[q]);
      to[r * m + c] = (is_own ? basis[r * m + c] : 0) - (FN(real))omega * product;
    }
  }
}

static void XN(block_interpolate_nodes)(const void *job, int64_t begin, int64_t end) {
  const block_interpolate_job *j = job;
  const O *offsets = j->a->offsets, *p_offsets = j->p->offsets;
  const C *columns = j->a->columns, *p_columns = j->p->columns, *member = j->member;
  const T *values = j->values;
  int64_t area = (int64_t)j->size * j->m;
  T *numbers = j->numbers;
  for (int64_t i = begin; i < end; ++i) {
    double omega = member[i] < 0 ? 1 : j->omega;  // what has no aggregate has all from its neighbours
    for (int64_t n = p_offsets[i] * area; n < p_offsets[i + 1] * area; ++n) numbers[n] = 0;
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
      int64_t a = j->kinds[p] == LAC_ENTRY_WEAK ? -1 : (int64_t)member[columns[p]], s = p_offsets[i];
      if (a < 0) continue;
      while (p_columns[s] != a) ++s;
      XN(block_add_basis)(j, values + p * j->size * j->size, columns[p], numbers + s * area);
    }
    for (int64_t s = p_offsets[i]; s < p_offsets[i + 1]; ++s)
      XN(block_smooth)(j, i, omega, p_columns[s] == member[i], numbers + s * area);
  }
}

#undef NODES_OF_RUN
#undef W
