// SPDX-License-Identifier: Apache-2.0
// One step of Adam, real number by real number; the parts of complex numbers are numbers of their own.

static void FN(adam)(const void *job, int64_t begin, int64_t end) {
  const adam_job *j = job;
  const FN(real) *g = j->g, zero = 0;
  FN(real) *m = j->m, *v = j->v, *x = j->x;
  const FN(real) beta1 = (FN(real))j->a.beta1, rest1 = (FN(real))(1 - j->a.beta1);
  const FN(real) beta2 = (FN(real))j->a.beta2, rest2 = (FN(real))(1 - j->a.beta2);
  const FN(real) step = (FN(real))j->a.step, root = (FN(real))j->a.root, epsilon = (FN(real))j->a.epsilon;
  const FN(real) decay = (FN(real))j->a.decay, shrink = (FN(real))j->a.shrink;
  const int stride = g ? 1 : 0;

  if (!g) g = &zero;
  for (int64_t i = begin; i < end; ++i) {
    FN(real) gradient = FN(fused)(decay, x[i], g[i * stride]);
    m[i] = FN(fused)(beta1, m[i], rest1 * gradient);
    v[i] = FN(fused)(beta2, v[i], rest2 * gradient * gradient);
    x[i] = FN(fused)(shrink, x[i], -(step * m[i] / FN(fused)(FN(root)(v[i]), root, epsilon)));
  }
}
