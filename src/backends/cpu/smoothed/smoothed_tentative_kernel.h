// SPDX-License-Identifier: Apache-2.0
// The text of smoothed_tentative.c, for one dtype T (instantiate.h). W: the accumulators, in which all is done.

#define W FN(acc)

/// <column r of the basis, column c of b> on the rows of an aggregate.
static W FN(tentative_dot)(int m, const int64_t *rows, int64_t count, const T *basis, int r, const W *column) {
  W sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += (W)FN(conj)(basis[rows[i] * m + r]) * column[i];
  return sum;
}

static double FN(tentative_norm)(int64_t count, const W *column) {
  double largest = 0, sum = 0;
  for (int64_t i = 0; i < count; ++i) largest = fmax(largest, cabs((c128)column[i]));
  if (largest == 0) return 0;
  for (int64_t i = 0; i < count; ++i) {
    double size = cabs((c128)column[i]) / largest;
    sum += size * size;
  }
  return largest * sqrt(sum);
}

/// Column c freed of those before it: one more column of Q, and its part of R into the rows of `next`, which are zero;
/// or none, where it depends on them. Returns how many columns Q has by then.
static int64_t FN(tentative_column)(int m, const tentative_groups *groups, int64_t a, int c, int64_t rank, W *column,
                                    T *basis, W *next) {
  const int64_t *rows = groups->row + groups->start[a];
  int64_t count = groups->start[a + 1] - groups->start[a];
  double before = FN(tentative_norm)(count, column), left;
  for (int pass = 0; pass < TENTATIVE_PASSES; ++pass) {
    for (int r = 0; r < rank; ++r) {
      W part = FN(tentative_dot)(m, rows, count, basis, r, column);
      next[r * m + c] += part;
      for (int64_t i = 0; i < count; ++i) column[i] -= (W)basis[rows[i] * m + r] * part;
    }
  }
  left = FN(tentative_norm)(count, column);
  if (rank == count || !(left > TENTATIVE_DEPENDS * before)) return rank;
  for (int64_t i = 0; i < count; ++i) basis[rows[i] * m + rank] = (T)(column[i] / left);
  next[rank * m + c] = left;
  return rank + 1;
}

static void FN(tentative_part)(const void *job, int64_t begin, int64_t end) {
  const tentative_job *j = job;
  const W *vectors = j->b;
  for (int64_t a = begin; a < end; ++a) {
    const int64_t *rows = j->groups->row + j->groups->start[a];
    int64_t count = j->groups->start[a + 1] - j->groups->start[a], rank = 0;
    W *column = (W *)j->work + j->groups->start[a], *next = (W *)j->next + a * j->m * j->m;
    for (int c = 0; c < j->m; ++c) {
      for (int64_t i = 0; i < count; ++i) column[i] = vectors[rows[i] * j->m + c];
      rank = FN(tentative_column)(j->m, j->groups, a, c, rank, column, j->basis, next);
    }
  }
}

#undef W
