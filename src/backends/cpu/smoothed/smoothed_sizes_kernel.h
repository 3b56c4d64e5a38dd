// SPDX-License-Identifier: Apache-2.0
// The sizes of blocks in all matrices together (smoothed_blocks.c), for one dtype T (instantiate.h).

static void FN(sizes_part)(const void *job, int64_t begin, int64_t end) {
  const sizes_job *j = job;
  const T *values = j->values;
  for (int64_t p = begin; p < end; ++p) {
    double most = 0, sum = 0;
    for (int64_t n = 0; n < j->items * j->area; ++n)
      most = fmax(most, FN(modulus)(values[(n / j->area * j->blocks + p) * j->area + n % j->area]));
    for (int64_t n = 0; most > 0 && n < j->items * j->area; ++n) {
      double size = FN(modulus)(values[(n / j->area * j->blocks + p) * j->area + n % j->area]) / most;
      sum += size * size;
    }
    j->out[p] = most * sqrt(sum);
  }
}
