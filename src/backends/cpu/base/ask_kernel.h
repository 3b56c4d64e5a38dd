// SPDX-License-Identifier: Apache-2.0
// Asking for rows of a dense operand before they are needed, where hardware cannot foresee them.

/// Ask for what the entries pass->ahead behind [p, end) read: a row of x, whose beginning is enough, and a value in
/// slot order.
INLINE void XN(ask_rows)(const cpu_pass *pass, const T *x, const int64_t k, int64_t p, int64_t end) {
  const C *columns = pass->columns;
  const O *slots = pass->slots;
  int64_t nnz = ((const O *)pass->offsets)[pass->rows];
  if (!pass->ahead) return;
  end = end + pass->ahead < nnz ? end + pass->ahead : nnz;
  for (p += pass->ahead; p < end; ++p) {
    const char *line = (const char *)(x + columns[p] * k);
    for (size_t b = 0; b < (size_t)k * sizeof(T) && b < CPU_BYTES_AHEAD; b += 64) __builtin_prefetch(line + b, 0, 3);
    if (slots) __builtin_prefetch((const T *)pass->in[0] + slots[p], 0, 3);
  }
}
