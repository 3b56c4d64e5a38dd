// SPDX-License-Identifier: Apache-2.0
/// Kernels on arrays, each beside loops that say what it means: fill, binary, scale, axpy, conj, sum, broadcast, dot,
/// copy, remap.

#include "backends/kernel_check.h"

// -- number by number ------------------------------------------------------------------------------------------------

static void fill_sets_every_number(lac_context *ctx) {
  static const char *const shapes[] = {"", "0", "1", "17", "3,5", "2,0,4"};
  FOR_DTYPES(dtype) {
    for (size_t c = 0; c < COUNT_OF(shapes); ++c) {
      subject x = subject_out(ctx, meta_of(dtype, shapes[c], 0, 0, 0));
      CHECK_OK(ctx->backend->fill(ctx, x.array, 0.5, -2));
      for (int64_t i = 0; i < x.value.count; ++i) x.value.x[i] = dtype >= LAC_C64 ? 0.5 - 2 * I : 0.5;
      subject_check(ctx, &x, "fill");
      lac_array_destroy(&x.array);
    }
  }
}

static number apply_binary(lac_binary op, number x, number y) {
  return op == LAC_ADD ? x + y : op == LAC_SUB ? x - y : x * y;
}

static void check_binary(lac_context *ctx, lac_dtype dtype, const char *x_shape, const char *y_shape,
                         const char *z_shape) {
  for (lac_binary op = LAC_ADD; op <= LAC_MUL; ++op) {
    subject x = subject_in(ctx, meta_of(dtype, x_shape, 0, 0, 0), 1),
            y = subject_in(ctx, meta_of(dtype, y_shape, 0, 0, 0), 2);
    subject z = subject_out(ctx, meta_of(dtype, z_shape, 0, 0, 0));
    CHECK_OK(ctx->kernels->binary(ctx, op, x.array, y.array, z.array));
    const lac_meta *metas[] = {&x.value.meta, &y.value.meta, &z.value.meta};
    for (joint j = joint_of(metas, (int[]){0, 0, 0}); joint_next(&j);) {
      number a = x.value.x[item_at(metas[0], 0, j.ndim, j.at)], b = y.value.x[item_at(metas[1], 0, j.ndim, j.at)];
      int64_t i = item_at(metas[2], 0, j.ndim, j.at);
      z.value.x[i] = apply_binary(op, a, b);
      z.size[i] = cabs(a) + cabs(b);
    }
    subject_check(ctx, &z, "binary");
    lac_array_destroy(&x.array), lac_array_destroy(&y.array), lac_array_destroy(&z.array);
  }
}

static void binary_broadcasts_all_dimensions(lac_context *ctx) {
  static const char *const shapes[][3] = {
      {"7", "7", "7"},
      {"", "", ""},
      {"", "5", "5"},
      {"5", "", "5"},
      {"3,4", "4", "3,4"},
      {"3,1", "3,4", "3,4"},
      {"3,1", "1,4", "3,4"},
      {"2,3,4", "3,1", "2,3,4"},
      {"2,1,4", "3,1", "2,3,4"},
      {"1", "2,3", "2,3"},
      {"2,3,1,5", "3,4,1", "2,3,4,5"},
      {"0", "0", "0"},
      {"3,0", "1", "3,0"},
      {"3,1", "1,0", "3,0"},
      {"1,1,1", "1", "1,1,1"},
      {"2,1,2,1,2,1,2,1", "1,3,1,3,1,3,1,3", "2,3,2,3,2,3,2,3"},
  };
  FOR_DTYPES(dtype) {
    for (size_t c = 0; c < COUNT_OF(shapes); ++c) check_binary(ctx, dtype, shapes[c][0], shapes[c][1], shapes[c][2]);
  }
}

static void binary_writes_over_an_operand(lac_context *ctx) {
  FOR_DTYPES(dtype) {
    subject x = subject_in(ctx, meta_of(dtype, "301", 0, 0, 0), 1),
            y = subject_in(ctx, meta_of(dtype, "301", 0, 0, 0), 2);
    x.size = scratch((size_t)x.value.count * sizeof(double));
    CHECK_OK(ctx->kernels->binary(ctx, LAC_SUB, y.array, x.array, x.array));
    for (int64_t i = 0; i < x.value.count; ++i) {
      x.value.x[i] = y.value.x[i] - x.value.x[i];
      x.size[i] = 2;
    }
    subject_check(ctx, &x, "binary in place");
    lac_array_destroy(&x.array), lac_array_destroy(&y.array);
  }
}

static void scale_axpy_and_conj_follow_their_equations(lac_context *ctx) {
  static const char *const shapes[] = {"", "0", "1", "37", "3,5,7"};
  FOR_DTYPES(dtype) {
    number alpha = dtype >= LAC_C64 ? 0.75 - 1.5 * I : 0.75;
    for (size_t c = 0; c < COUNT_OF(shapes); ++c) {
      lac_meta meta = meta_of(dtype, shapes[c], 0, 0, 0);
      subject x = subject_in(ctx, meta, 3), y = subject_in(ctx, meta, 4), s = subject_out(ctx, meta),
              q = subject_out(ctx, meta);
      y.size = scratch((size_t)y.value.count * sizeof(double));
      CHECK_OK(ctx->kernels->scale(ctx, 0.75, -1.5, x.array, s.array));
      CHECK_OK(ctx->kernels->conj(ctx, x.array, q.array));
      CHECK_OK(ctx->kernels->axpy(ctx, 0.75, -1.5, x.array, y.array));
      for (int64_t i = 0; i < x.value.count; ++i) {
        subject_add(&s, i, alpha, x.value.x[i]);
        subject_add(&q, i, 1, conj(x.value.x[i]));
        y.size[i] = 2;
        subject_add(&y, i, alpha, x.value.x[i]);
      }
      subject_check(ctx, &s, "scale"), subject_check(ctx, &q, "conj"), subject_check(ctx, &y, "axpy");
      CHECK_OK(ctx->backend->copy(ctx, x.array, q.array));
      CHECK(bits_are(ctx, q.array, bits_of(ctx, x.array)));
      lac_array_destroy(&x.array), lac_array_destroy(&y.array), lac_array_destroy(&s.array),
          lac_array_destroy(&q.array);
    }
  }
}

// -- sums ------------------------------------------------------------------------------------------------------------

/// Sums over the axes of a mask, and the broadcast that is its adjoint.
static void check_sum(lac_context *ctx, lac_dtype dtype, const char *shape, uint32_t mask) {
  lac_meta meta = meta_of(dtype, shape, 0, 0, 0), kept = {.dtype = dtype};
  for (int d = 0; d < meta.ndim; ++d) {
    if (!(mask >> (meta.ndim - 1 - d) & 1)) kept.shape[kept.ndim++] = meta.shape[d];
  }
  subject x = subject_in(ctx, meta, 6), y = subject_out(ctx, kept), b = subject_out(ctx, meta),
          source = subject_in(ctx, kept, 7);
  CHECK_OK(ctx->kernels->sum(ctx, x.array, mask, y.array));
  CHECK_OK(ctx->kernels->broadcast(ctx, source.array, mask, b.array));
  const lac_meta *metas[] = {&meta, &meta, &meta};
  for (joint j = joint_of(metas, (int[]){0, 0, 0}); joint_next(&j);) {
    int64_t from = item_at(&meta, 0, j.ndim, j.at), to = 0;
    for (int d = 0; d < meta.ndim; ++d) {
      if (!(mask >> (meta.ndim - 1 - d) & 1)) to = to * meta.shape[d] + j.at[d];
    }
    subject_add(&y, to, 1, x.value.x[from]);
    subject_add(&b, from, 1, source.value.x[to]);
  }
  subject_check(ctx, &y, "sum"), subject_check(ctx, &b, "broadcast");
  lac_array_destroy(&x.array), lac_array_destroy(&y.array), lac_array_destroy(&b.array),
      lac_array_destroy(&source.array);
}

static void sum_and_broadcast_take_any_axes(lac_context *ctx) {
  static const char *const shapes[] = {"",      "1",        "5",      "3,4",    "2,3,4",     "2,1,3,1,2", "0",
                                       "3,0,2", "2,9000,3", "5000,7", "3,5000", "2,300,2,9", "1,6,1,300"};
  FOR_DTYPES(dtype) {
    for (size_t c = 0; c < COUNT_OF(shapes); ++c) {
      int ndim = meta_of(dtype, shapes[c], 0, 0, 0).ndim;
      for (uint32_t mask = 0; mask < 1u << ndim; ++mask) {
        size_t mark = scratch_mark();
        check_sum(ctx, dtype, shapes[c], mask);
        scratch_release(mark);
      }
    }
  }
}

/// Large numbers and many small ones, in turn in every lane: f32 would lose the small ones, an f64 accumulator does
/// not. The dot product with powers of two has the same terms, exactly.
static void sums_and_dots_of_floats_are_taken_in_doubles(lac_context *ctx) {
  lac_meta meta = meta_of(LAC_F32, "2", 2, 40000, 1), one = meta_of(LAC_F32, "2", 0, 0, 0);
  ref x = ref_new(&meta), left = ref_new(&meta), right = ref_new(&meta);
  subject y = subject_out(ctx, one), s = subject_out(ctx, one);
  lac_array *in[3] = {0};
  for (int64_t i = 0; i < x.count; ++i) {
    x.x[i] = i % 17 ? 0x1p-13 : 4096;
    left.x[i] = i % 3 ? 2 : 0.25;
    right.x[i] = x.x[i] / left.x[i];
    y.value.x[i / 40000] += x.x[i];
    y.size[i / 40000] = cabs(y.value.x[i / 40000]) / 16;
  }
  for (int i = 0; i < 2; ++i) s.value.x[i] = y.value.x[i], s.size[i] = y.size[i];
  CHECK_OK(ref_upload(ctx, &x, &in[0]));
  CHECK_OK(ref_upload(ctx, &left, &in[1]));
  CHECK_OK(ref_upload(ctx, &right, &in[2]));
  CHECK_OK(ctx->kernels->sum(ctx, in[0], 3, y.array));
  CHECK_OK(ctx->kernels->dot(ctx, in[1], in[2], s.array));
  subject_check(ctx, &y, "sum of floats"), subject_check(ctx, &s, "dot of floats");
  for (int i = 0; i < 3; ++i) lac_array_destroy(&in[i]);
  lac_array_destroy(&y.array), lac_array_destroy(&s.array);
}

static void check_dot(lac_context *ctx, lac_dtype dtype, const char *bx, const char *by, const char *bs, int64_t n,
                      int64_t k) {
  subject x = subject_in(ctx, meta_of(dtype, bx, 2, n, k), 8), y = subject_in(ctx, meta_of(dtype, by, 2, n, k), 9);
  subject s = subject_out(ctx, meta_of(dtype, bs, 0, 0, 0));
  const lac_meta *metas[] = {&x.value.meta, &y.value.meta, &s.value.meta};
  CHECK_OK(ctx->kernels->dot(ctx, x.array, y.array, s.array));
  for (joint j = joint_of(metas, (int[]){2, 2, 0}); joint_next(&j);) {
    const number *u = x.value.x + item_at(metas[0], 2, j.ndim, j.at) * n * k;
    const number *v = y.value.x + item_at(metas[1], 2, j.ndim, j.at) * n * k;
    for (int64_t i = 0; i < n * k; ++i) subject_add(&s, item_at(metas[2], 0, j.ndim, j.at), conj(u[i]), v[i]);
  }
  subject_check(ctx, &s, "dot");
  lac_array_destroy(&x.array), lac_array_destroy(&y.array), lac_array_destroy(&s.array);
}

static void dot_takes_each_item_of_a_batch(lac_context *ctx) {
  FOR_DTYPES(dtype) {
    for (int64_t n = 0; n < 40; n += 7) check_dot(ctx, dtype, "", "", "", n, 3);
    check_dot(ctx, dtype, "", "", "", 3, 0);
    check_dot(ctx, dtype, "", "", "", 4097, 3);
    check_dot(ctx, dtype, "3", "3", "3", 50, 2);
    check_dot(ctx, dtype, "2,1", "3", "2,3", 50, 2);
    check_dot(ctx, dtype, "0", "1", "0", 5, 2);
    check_dot(ctx, dtype, "2,3", "3", "3", 50, 2);
    check_dot(ctx, dtype, "70", "70", "70", 2, 2);
  }
}

// -- maps ------------------------------------------------------------------------------------------------------------

static void check_remap(lac_context *ctx, lac_dtype dtype, const char *batch, int64_t inputs, int64_t outputs,
                        const int64_t *target) {
  lac_map *map = NULL;
  CHECK_OK(lac_map_create(ctx, inputs, outputs, target, &map));
  subject x = subject_in(ctx, meta_of(dtype, batch, 1, inputs, 0), 10),
          u = subject_in(ctx, meta_of(dtype, batch, 1, outputs, 0), 11);
  subject y = subject_out(ctx, u.value.meta), v = subject_out(ctx, x.value.meta);
  CHECK_OK(ctx->kernels->remap(ctx, map, LAC_PLAIN, 0, x.array, y.array));
  CHECK_OK(ctx->kernels->remap(ctx, map, LAC_TRANSPOSED, 0, u.array, v.array));
  int64_t items = 1;
  for (int d = 0; d + 1 < x.value.meta.ndim; ++d) items *= x.value.meta.shape[d];
  for (int64_t b = 0; b < items; ++b) {
    for (int64_t i = 0; i < inputs; ++i) {
      if (target[i] < 0) continue;
      subject_add(&y, b * outputs + target[i], 1, x.value.x[b * inputs + i]);
      subject_add(&v, b * inputs + i, 1, u.value.x[b * outputs + target[i]]);
    }
  }
  subject_check(ctx, &y, "remap N"), subject_check(ctx, &v, "remap T");
  lac_array_destroy(&x.array), lac_array_destroy(&y.array), lac_array_destroy(&u.array), lac_array_destroy(&v.array);
  lac_map_destroy(&map);
}

static void remap_moves_drops_and_sums(lac_context *ctx) {
  static const char *const batches[] = {"", "3", "2,2", "0"};
  int64_t many[500];
  random_state r = random_start(12);
  for (int i = 0; i < 500; ++i) many[i] = random_below(&r, 61) - 1;
  FOR_DTYPES(dtype) {
    for (size_t c = 0; c < COUNT_OF(batches); ++c) {
      check_remap(ctx, dtype, batches[c], 4, 4, (int64_t[]){0, 1, 2, 3});
      check_remap(ctx, dtype, batches[c], 4, 4, (int64_t[]){2, 0, 3, 1});
      check_remap(ctx, dtype, batches[c], 4, 6, (int64_t[]){5, -1, 0, 2});
      check_remap(ctx, dtype, batches[c], 5, 3, (int64_t[]){2, -1, 2, 0, 2});
      check_remap(ctx, dtype, batches[c], 500, 60, many);
      check_remap(ctx, dtype, batches[c], 0, 3, many);
      check_remap(ctx, dtype, batches[c], 3, 0, (int64_t[]){-1, -1, -1});
      check_remap(ctx, dtype, batches[c], 0, 0, many);
    }
  }
}

static void remap_takes_wide_maps(lac_context *ctx) {
  lac_buffer *target = NULL;
  lac_map *map = NULL;
  static const int64_t to[] = {3, 0, -1, 3, 1};
  CHECK_OK(lac_buffer_create(ctx, LAC_I64, 5, &target));
  for (int i = 0; i < 5; ++i) lac_buffer_set(target, i, to[i]);
  CHECK_OK(lac_map_adopt(ctx, 4, &target, &map));
  subject x = subject_in(ctx, meta_of(LAC_C64, "", 1, 5, 0), 13), y = subject_out(ctx, meta_of(LAC_C64, "", 1, 4, 0));
  CHECK_OK(ctx->kernels->remap(ctx, map, LAC_PLAIN, 0, x.array, y.array));
  for (int i = 0; i < 5; ++i) {
    if (to[i] >= 0) subject_add(&y, to[i], 1, x.value.x[i]);
  }
  subject_check(ctx, &y, "remap, wide");
  lac_array_destroy(&x.array), lac_array_destroy(&y.array);
  lac_object_release(target);
  lac_map_destroy(&map);
}

// -- threads and memory ----------------------------------------------------------------------------------------------

/// Run all kernels of this file on arrays that are large enough for threads; the bits are those of one thread.
static void check_threads(lac_context *ctx, lac_dtype dtype) {
  lac_meta meta = meta_of(dtype, "2", 2, 33333, 3), row = meta_of(dtype, "", 1, 3, 0),
           one = meta_of(dtype, "2", 0, 0, 0);
  subject x = subject_in(ctx, meta, 14), y = subject_in(ctx, meta, 15), r = subject_in(ctx, row, 16);
  int64_t *target = scratch(99999 * sizeof *target);
  random_state random = random_start(17);
  lac_map *map = NULL;
  char *bits[8] = {NULL};
  for (int i = 0; i < 99999; ++i) target[i] = random_below(&random, 5000);
  CHECK_OK(lac_map_create(ctx, 99999, 5000, target, &map));
  lac_array *flat = NULL;
  CHECK_OK(lac_array_reshape(ctx, x.array, 2, (int64_t[]){2, 99999}, &flat));
  for (int threads = 1; threads <= 3; ++threads) {
    subject out[] = {subject_out(ctx, meta),
                     subject_out(ctx, one),
                     subject_out(ctx, row),
                     subject_out(ctx, one),
                     subject_out(ctx, meta_of(dtype, "2", 1, 5000, 0)),
                     subject_out(ctx, meta_of(dtype, "2", 1, 33333, 0))};
    CHECK_OK(lac_context_set_threads(ctx, threads));
    CHECK_OK(ctx->kernels->binary(ctx, LAC_MUL, x.array, r.array, out[0].array));
    CHECK_OK(ctx->kernels->axpy(ctx, 0.3, 0.7, y.array, out[0].array));
    CHECK_OK(ctx->kernels->sum(ctx, x.array, 3, out[1].array));
    CHECK_OK(ctx->kernels->sum(ctx, x.array, 6, out[2].array));
    CHECK_OK(ctx->kernels->dot(ctx, x.array, y.array, out[3].array));
    CHECK_OK(ctx->kernels->remap(ctx, map, LAC_PLAIN, 0, flat, out[4].array));
    CHECK_OK(ctx->kernels->sum(ctx, x.array, 1, out[5].array));
    for (size_t o = 0; o < COUNT_OF(out); ++o) {
      if (!bits[o]) bits[o] = bits_of(ctx, out[o].array);
      CHECK(bits_are(ctx, out[o].array, bits[o]));
      lac_array_destroy(&out[o].array);
    }
  }
  lac_map_destroy(&map);
  lac_array_destroy(&flat), lac_array_destroy(&x.array), lac_array_destroy(&y.array), lac_array_destroy(&r.array);
}

static void the_number_of_threads_changes_no_bit(lac_context *ctx) {
  FOR_DTYPES(dtype) {
    size_t mark = scratch_mark();
    check_threads(ctx, dtype);
    scratch_release(mark);
  }
}

/// Outputs of many megabytes are stored in another way.
static void large_outputs_hold_the_same_numbers(lac_context *ctx) {
  enum { N = 2500001 };
  lac_meta meta = meta_of(LAC_F64, "", 1, N, 0);
  lac_array *x = NULL, *y = NULL, *z = NULL;
  double *host = scratch(N * sizeof *host), *read = scratch(N * sizeof *read);
  for (int64_t i = 0; i < N; ++i) host[i] = (double)(i % 1000);
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, meta.shape, host, LAC_OWNERSHIP_COPY, &x));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 0, NULL, &(double){3}, LAC_OWNERSHIP_COPY, &y));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, meta.shape, &z));
  for (int c = 0; c < 5; ++c) {
    double factor = (double[]){2, 4, 3, 1, 7}[c];
    CHECK_OK(c == 0   ? ctx->kernels->binary(ctx, LAC_ADD, x, x, z)
             : c == 1 ? ctx->kernels->scale(ctx, 4, 0, x, z)
             : c == 2 ? ctx->kernels->binary(ctx, LAC_MUL, y, x, z)
             : c == 3 ? ctx->backend->copy(ctx, x, z)
                      : ctx->backend->fill(ctx, z, 7, 0));
    CHECK_OK(lac_array_read(ctx, z, read));
    for (int64_t i = 0; i < N; ++i) {
      if (read[i] != factor * (c == 4 ? 1 : host[i])) CHECK_EQ(i, -1);
    }
  }
  lac_array_destroy(&x), lac_array_destroy(&y), lac_array_destroy(&z);
}

static void reductions_survive_every_failing_allocation(lac_context *ctx) {
  subject x = subject_in(ctx, meta_of(LAC_F64, "300", 2, 20, 3), 18),
          y = subject_out(ctx, meta_of(LAC_F64, "300", 0, 0, 0));
  for (int kernel = 0; kernel < 2; ++kernel) {
    lac_status status = LAC_ERR_MEMORY;
    for (int n = 1; status != LAC_OK; ++n) {
      (void)lac_memory_fail_at(n);
      status = kernel ? ctx->kernels->dot(ctx, x.array, x.array, y.array) : ctx->kernels->sum(ctx, x.array, 3, y.array);
      (void)lac_memory_fail_at(0);
      CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
      CHECK(n < 100);
    }
  }
  lac_array_destroy(&x.array), lac_array_destroy(&y.array);
}

CHECK_MAIN(fill_sets_every_number, binary_broadcasts_all_dimensions, binary_writes_over_an_operand,
           scale_axpy_and_conj_follow_their_equations, sum_and_broadcast_take_any_axes,
           sums_and_dots_of_floats_are_taken_in_doubles, dot_takes_each_item_of_a_batch, remap_moves_drops_and_sums,
           remap_takes_wide_maps, the_number_of_threads_changes_no_bit, large_outputs_hold_the_same_numbers,
           reductions_survive_every_failing_allocation)
