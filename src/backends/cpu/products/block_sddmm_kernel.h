// SPDX-License-Identifier: Apache-2.0
// s_z = u[rows z] v[cols z]^H for the blocks of rows. Several columns are summed in accumulators (f64 for f32 and c64);
// what comes from several items of a batch is added in T.

/// One column: the blocks are outer products. The size is a constant to the compiler where it is common.
INLINE void FN(outer_blocks)(const cpu_pass *pass, int64_t begin, int64_t end, const int64_t br, const int64_t bc) {
  for (int64_t i = begin; i < end; ++i) {
    const T *u = (const T *)pass->in[0] + i * br;
    for (int64_t p = cpu_pass_offset(pass, i), stop = cpu_pass_offset(pass, i + 1); p < stop; ++p) {
      const T *v = (const T *)pass->in[1] + cpu_pass_column(pass, p) * bc;
      T *s = (T *)pass->out + p * br * bc;
      UNROLL(8) for (int64_t r = 0; r < br; ++r) {
        UNROLL(8) for (int64_t c = 0; c < bc; ++c, ++s) {
          T w = FN(signed)(v[c], -1);
          *s = pass->adds ? FN(mac)(*s, u[r], w) : FN(mul)(u[r], w);
        }
      }
    }
  }
}

static void FN(block_outer)(const cpu_pass *shared, int64_t begin, int64_t end) {
  const cpu_pass pass = *shared;
  switch (pass.br == pass.bc ? pass.br : 0) {
    case 2:
      FN(outer_blocks)(&pass, begin, end, 2, 2);
      break;
    case 3:
      FN(outer_blocks)(&pass, begin, end, 3, 3);
      break;
    case 4:
      FN(outer_blocks)(&pass, begin, end, 4, 4);
      break;
    case 6:
      FN(outer_blocks)(&pass, begin, end, 6, 6);
      break;
    case 8:
      FN(outer_blocks)(&pass, begin, end, 8, 8);
      break;
    default:
      FN(outer_blocks)(&pass, begin, end, pass.br, pass.bc);
  }
}

/// k columns: a constant to the compiler where they are few.
INLINE void FN(inner_blocks)(const cpu_pass *pass, int64_t begin, int64_t end, const int64_t k) {
  const int64_t br = pass->br, bc = pass->bc;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t p = cpu_pass_offset(pass, i), stop = cpu_pass_offset(pass, i + 1); p < stop; ++p) {
      const T *u = (const T *)pass->in[0] + i * br * k;
      const T *v = (const T *)pass->in[1] + cpu_pass_column(pass, p) * bc * k;
      T *s = (T *)pass->out + p * br * bc;
      for (int64_t e = 0; e < br * bc; ++e) {
        T product = FN(signed)((T)FN(run_dot)(u + e / bc * k, v + e % bc * k, k, 8), -1);
        s[e] = pass->adds ? s[e] + product : product;
      }
    }
  }
}

static void FN(block_inner)(const cpu_pass *shared, int64_t begin, int64_t end) {
  const cpu_pass local = *shared;
  switch (local.k) {
    case 2:
      FN(inner_blocks)(&local, begin, end, 2);
      break;
    case 4:
      FN(inner_blocks)(&local, begin, end, 4);
      break;
    case 8:
      FN(inner_blocks)(&local, begin, end, 8);
      break;
    default:
      FN(inner_blocks)(&local, begin, end, local.k);
  }
}
