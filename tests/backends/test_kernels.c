// SPDX-License-Identifier: Apache-2.0
/// Kernels on patterns, each beside loops over entries that say what it means: spmm, sddmm, sampled_spgemm, trisolve.

#include "backends/kernel_check.h"

static number sided(number a, lac_form form) { return form == LAC_CONJUGATED || form == LAC_ADJOINT ? conj(a) : a; }
static bool is_transposed(lac_form form) { return form == LAC_TRANSPOSED || form == LAC_ADJOINT; }

/// Batches of two operands and a result that broadcast in both directions, sum, or are empty.
static const char *const batches[][3] = {
    {"", "", ""},       {"3", "3", "3"}, {"3", "", "3"},      {"", "3", "3"},    {"3", "3", ""},
    {"3", "", ""},      {"", "4", ""},   {"2,1", "3", "2,3"}, {"2,3", "3", "3"}, {"2,3", "2,1", "2,1"},
    {"2,3", "2,3", ""}, {"5", "1", "5"}, {"0", "0", ""},      {"0", "", "0"},    {"9", "9", "9"},
};

static lac_pattern *pattern_of(lac_context *ctx, const sketch *s, lac_width width) {
  lac_pattern *p = NULL;
  CHECK_OK(sketch_pattern(ctx, s, width, &p));
  return p;
}

// -- spmm ------------------------------------------------------------------------------------------------------------

static void check_spmm(lac_context *ctx, const sketch *s, const lac_pattern *p, lac_dtype dtype, lac_form form,
                       int64_t k, const char *const batch[3]) {
  int64_t m = is_transposed(form) ? s->cols : s->rows, n = is_transposed(form) ? s->rows : s->cols;
  subject a = subject_in(ctx, meta_of(dtype, batch[0], 1, s->nnz, 0), 1),
          x = subject_in(ctx, meta_of(dtype, batch[1], 2, n, k), 2);
  subject y = subject_out(ctx, meta_of(dtype, batch[2], 2, m, k));
  const lac_meta *metas[] = {&a.value.meta, &x.value.meta, &y.value.meta};
  CHECK_OK(ctx->kernels->spmm(ctx, p, form, a.array, x.array, y.array));
  for (joint j = joint_of(metas, (int[]){1, 2, 2}); joint_next(&j);) {
    const number *av = a.value.x + item_at(metas[0], 1, j.ndim, j.at) * s->nnz;
    const number *xv = x.value.x + item_at(metas[1], 2, j.ndim, j.at) * n * k;
    int64_t y0 = item_at(metas[2], 2, j.ndim, j.at) * m * k;
    for (int64_t z = 0; z < s->nnz; ++z) {
      int64_t row = is_transposed(form) ? s->col[z] : s->row[z], col = is_transposed(form) ? s->row[z] : s->col[z];
      for (int64_t c = 0; c < k; ++c) subject_add(&y, y0 + row * k + c, sided(av[z], form), xv[col * k + c]);
    }
  }
  subject_check(ctx, &y, "spmm");
  lac_array_destroy(&a.array), lac_array_destroy(&x.array), lac_array_destroy(&y.array);
}

static void spmm_multiplies_by_any_number_of_columns(lac_context *ctx) {
  static const int64_t columns[] = {0, 1, 2, 3, 4, 7, 8, 16, 33, 71};
  const sketch *shapes[] = {sketch_random(13, 9, 0.4, 1), sketch_random(7, 40, 0.6, 2), sketch_empty(3, 4),
                            sketch_empty(0, 3),           sketch_empty(3, 0),           sketch_square(1, 1, 3)};
  for (size_t s = 0; s < COUNT_OF(shapes); ++s) {
    for (size_t w = 0; w < COUNT_OF(all_widths); ++w) {
      lac_pattern *p = pattern_of(ctx, shapes[s], all_widths[w]);
      FOR_DTYPES(dtype) FOR_SIDES(form) {
        for (size_t c = 0; c < COUNT_OF(columns); ++c) {
          size_t mark = scratch_mark();
          check_spmm(ctx, shapes[s], p, dtype, form, columns[c], batches[0]);
          scratch_release(mark);
        }
      }
      lac_pattern_destroy(&p);
    }
  }
}

static void spmm_broadcasts_and_sums_batches(lac_context *ctx) {
  const sketch *s = sketch_random(6, 5, 0.5, 4);
  lac_pattern *p = pattern_of(ctx, s, LAC_WIDTH_AUTO);
  FOR_DTYPES(dtype) FOR_SIDES(form) {
    for (size_t b = 0; b < COUNT_OF(batches); ++b) {
      for (int64_t k = 1; k <= 9; k += 4) check_spmm(ctx, s, p, dtype, form, k, batches[b]);
    }
  }
  lac_pattern_destroy(&p);
}

// -- sddmm -----------------------------------------------------------------------------------------------------------

static void check_sddmm(lac_context *ctx, const sketch *s, const lac_pattern *p, lac_dtype dtype, int64_t k,
                        const char *const batch[3]) {
  subject u = subject_in(ctx, meta_of(dtype, batch[0], 2, s->rows, k), 3),
          v = subject_in(ctx, meta_of(dtype, batch[1], 2, s->cols, k), 4);
  subject t = subject_out(ctx, meta_of(dtype, batch[2], 1, s->nnz, 0));
  const lac_meta *metas[] = {&u.value.meta, &v.value.meta, &t.value.meta};
  CHECK_OK(ctx->kernels->sddmm(ctx, p, u.array, v.array, t.array));
  for (joint j = joint_of(metas, (int[]){2, 2, 1}); joint_next(&j);) {
    const number *uv = u.value.x + item_at(metas[0], 2, j.ndim, j.at) * s->rows * k;
    const number *vv = v.value.x + item_at(metas[1], 2, j.ndim, j.at) * s->cols * k;
    int64_t t0 = item_at(metas[2], 1, j.ndim, j.at) * s->nnz;
    for (int64_t z = 0; z < s->nnz; ++z) {
      for (int64_t c = 0; c < k; ++c) subject_add(&t, t0 + z, uv[s->row[z] * k + c], conj(vv[s->col[z] * k + c]));
    }
  }
  subject_check(ctx, &t, "sddmm");
  lac_array_destroy(&u.array), lac_array_destroy(&v.array), lac_array_destroy(&t.array);
}

static void sddmm_samples_any_number_of_columns(lac_context *ctx) {
  static const int64_t columns[] = {0, 1, 2, 3, 4, 7, 8, 33};
  const sketch *shapes[] = {sketch_random(13, 9, 0.4, 5), sketch_random(5, 30, 0.8, 6), sketch_empty(3, 4),
                            sketch_empty(0, 0)};
  for (size_t s = 0; s < COUNT_OF(shapes); ++s) {
    for (size_t w = 0; w < COUNT_OF(all_widths); ++w) {
      lac_pattern *p = pattern_of(ctx, shapes[s], all_widths[w]);
      FOR_DTYPES(dtype) {
        for (size_t c = 0; c < COUNT_OF(columns); ++c) check_sddmm(ctx, shapes[s], p, dtype, columns[c], batches[0]);
        for (size_t b = 0; b < COUNT_OF(batches); ++b) {
          for (int64_t k = 1; k <= 9; k += 4) check_sddmm(ctx, shapes[s], p, dtype, k, batches[b]);
        }
      }
      lac_pattern_destroy(&p);
    }
  }
}

// -- sampled_spgemm --------------------------------------------------------------------------------------------------

typedef struct product {
  const sketch *target, *x, *y;
  lac_form sx, sy;
} product;

static void check_sampled(lac_context *ctx, const product *c, const lac_width width[3], lac_dtype dtype,
                          const char *const batch[3]) {
  lac_pattern *pt = pattern_of(ctx, c->target, width[0]), *px = pattern_of(ctx, c->x, width[1]),
              *py = pattern_of(ctx, c->y, width[2]);
  subject x = subject_in(ctx, meta_of(dtype, batch[0], 1, c->x->nnz, 0), 5),
          y = subject_in(ctx, meta_of(dtype, batch[1], 1, c->y->nnz, 0), 6);
  subject t = subject_out(ctx, meta_of(dtype, batch[2], 1, c->target->nnz, 0));
  const lac_meta *metas[] = {&x.value.meta, &y.value.meta, &t.value.meta};
  CHECK_OK(ctx->kernels->sampled_spgemm(ctx, pt, px, c->sx, py, c->sy, x.array, y.array, t.array));
  for (joint j = joint_of(metas, (int[]){1, 1, 1}); joint_next(&j);) {
    const number *xv = x.value.x + item_at(metas[0], 1, j.ndim, j.at) * c->x->nnz;
    const number *yv = y.value.x + item_at(metas[1], 1, j.ndim, j.at) * c->y->nnz;
    int64_t t0 = item_at(metas[2], 1, j.ndim, j.at) * c->target->nnz;
    for (int64_t p = 0; p < c->x->nnz; ++p) {
      int64_t i = is_transposed(c->sx) ? c->x->col[p] : c->x->row[p],
              k = is_transposed(c->sx) ? c->x->row[p] : c->x->col[p];
      for (int64_t q = 0; q < c->y->nnz; ++q) {
        if ((is_transposed(c->sy) ? c->y->col[q] : c->y->row[q]) != k) continue;
        int64_t slot = sketch_find(c->target, i, is_transposed(c->sy) ? c->y->row[q] : c->y->col[q]);
        if (slot >= 0) subject_add(&t, t0 + slot, sided(xv[p], c->sx), sided(yv[q], c->sy));
      }
    }
  }
  subject_check(ctx, &t, "sampled_spgemm");
  lac_array_destroy(&x.array), lac_array_destroy(&y.array), lac_array_destroy(&t.array);
  lac_pattern_destroy(&pt), lac_pattern_destroy(&px), lac_pattern_destroy(&py);
}

/// Densities that make each of the three patterns the largest in turn, so that every way of computing is the cheapest
/// once.
static const double densities[][3] = {
    {0.9, 0.2, 0.2}, {0.2, 0.9, 0.3}, {0.2, 0.3, 0.9}, {0.4, 0.4, 0.4}, {0.05, 0.9, 0.9}};

static product product_of(lac_form sx, lac_form sy, const double density[3]) {
  enum { M = 9, K = 7, N = 11 };
  const sketch *x = is_transposed(sx) ? sketch_random(K, M, density[1], 8) : sketch_random(M, K, density[1], 8);
  const sketch *y = is_transposed(sy) ? sketch_random(N, K, density[2], 9) : sketch_random(K, N, density[2], 9);
  return (product){sketch_random(M, N, density[0], 7), x, y, sx, sy};
}

static void sampled_spgemm_multiplies_on_all_sides(lac_context *ctx) {
  NEEDS(sampled_spgemm)
  FOR_SIDES(sx) FOR_SIDES(sy) {
    for (size_t d = 0; d < COUNT_OF(densities); ++d) {
      product c = product_of(sx, sy, densities[d]);
      for (size_t w = 0; w < COUNT_OF(all_widths); ++w) {
        lac_width same[] = {all_widths[w], all_widths[w], all_widths[w]};
        lac_width mixed[] = {all_widths[w], all_widths[(w + 1) % 3], all_widths[(w + d) % 3]};
        FOR_DTYPES(dtype) {
          check_sampled(ctx, &c, same, dtype, batches[0]);
          check_sampled(ctx, &c, mixed, dtype, batches[0]);
        }
      }
    }
  }
}

static void sampled_spgemm_broadcasts_and_sums_batches(lac_context *ctx) {
  NEEDS(sampled_spgemm)
  FOR_SIDES(form) FOR_DTYPES(dtype) {
    for (size_t d = 0; d < COUNT_OF(densities); ++d) {
      product c = product_of(form, LAC_ADJOINT - form, densities[d]);
      for (size_t b = 0; b < COUNT_OF(batches); ++b)
        check_sampled(ctx, &c, (lac_width[3]){LAC_WIDTH_AUTO}, dtype, batches[b]);
    }
  }
}

static void sampled_spgemm_takes_empty_patterns(lac_context *ctx) {
  NEEDS(sampled_spgemm)
  const sketch *full = sketch_random(4, 4, 0.7, 1), *none = sketch_empty(4, 4);
  FOR_DTYPES(dtype) {
    for (int c = 0; c < 8; ++c) {
      product p = {c & 1 ? none : full, c & 2 ? none : full, c & 4 ? none : full, LAC_PLAIN, LAC_TRANSPOSED};
      check_sampled(ctx, &p, (lac_width[3]){LAC_WIDTH_AUTO}, dtype, batches[0]);
    }
    check_sampled(ctx,
                  &(product){sketch_empty(0, 3), sketch_empty(0, 2), sketch_random(2, 3, 1, 1), LAC_PLAIN, LAC_PLAIN},
                  (lac_width[3]){LAC_WIDTH_AUTO}, dtype, batches[0]);
  }
}

/// What is not stored is not multiplied: an infinity elsewhere must not come through.
static void sampled_spgemm_keeps_infinities_where_they_are(lac_context *ctx) {
  NEEDS(sampled_spgemm)
  for (size_t d = 0; d < COUNT_OF(densities); ++d) {
    product c = product_of(LAC_PLAIN, LAC_PLAIN, densities[d]);
    lac_pattern *pt = pattern_of(ctx, c.target, 0), *px = pattern_of(ctx, c.x, 0), *py = pattern_of(ctx, c.y, 0);
    subject x = subject_in(ctx, meta_of(LAC_F64, "", 1, c.x->nnz, 0), 5),
            t = subject_out(ctx, meta_of(LAC_F64, "", 1, c.target->nnz, 0));
    lac_meta meta = meta_of(LAC_F64, "", 1, c.y->nnz, 0);
    ref y = ref_new(&meta), got;
    lac_array *ya = NULL;
    for (int64_t q = 0; q < y.count; ++q) y.x[q] = q == y.count - 1 ? INFINITY : 0;
    CHECK_OK(ref_upload(ctx, &y, &ya));
    CHECK_OK(ctx->kernels->sampled_spgemm(ctx, pt, px, LAC_PLAIN, py, LAC_PLAIN, x.array, ya, t.array));
    CHECK_OK(ref_download(ctx, t.array, &got));
    for (int64_t z = 0; z < got.count; ++z) {
      bool hit =
          c.target->col[z] == c.y->col[y.count - 1] && sketch_find(c.x, c.target->row[z], c.y->row[y.count - 1]) >= 0;
      CHECK_EQ(isinf(creal(got.x[z])) != 0, hit);
      CHECK(!isnan(creal(got.x[z])));
    }
    lac_array_destroy(&x.array), lac_array_destroy(&ya), lac_array_destroy(&t.array);
    lac_pattern_destroy(&pt), lac_pattern_destroy(&px), lac_pattern_destroy(&py);
  }
}

// -- trisolve --------------------------------------------------------------------------------------------------------

/// x solves op(T) x = b: the residual is of the size of its terms' rounding.
static void check_trisolve(lac_context *ctx, const sketch *s, const lac_pattern *p, lac_triangle triangle,
                           lac_diagonal diagonal, lac_form form, lac_dtype dtype, int64_t k,
                           const char *const batch[3]) {
  int64_t n = s->rows;
  subject a = subject_in(ctx, meta_of(dtype, batch[0], 1, s->nnz, 0), 7),
          b = subject_in(ctx, meta_of(dtype, batch[1], 2, n, k), 8);
  subject x = subject_out(ctx, meta_of(dtype, batch[2], 2, n, k)), residual = subject_out(ctx, x.value.meta);
  const lac_meta *metas[] = {&a.value.meta, &b.value.meta, &x.value.meta};
  double epsilon = dtype == LAC_F32 || dtype == LAC_C64 ? 0x1p-23 : 0x1p-52;
  CHECK_OK(ctx->kernels->trisolve(ctx, p, triangle, diagonal, form, a.array, b.array, x.array));
  CHECK_OK(ref_download(ctx, x.array, &x.value));
  for (joint j = joint_of(metas, (int[]){1, 2, 2}); joint_next(&j);) {
    const number *av = a.value.x + item_at(metas[0], 1, j.ndim, j.at) * s->nnz;
    int64_t b0 = item_at(metas[1], 2, j.ndim, j.at) * n * k, x0 = item_at(metas[2], 2, j.ndim, j.at) * n * k;
    for (int64_t i = 0; i < n * k; ++i) {
      subject_add(&residual, x0 + i, -1, b.value.x[b0 + i]);
      if (diagonal == LAC_DIAGONAL_UNIT) subject_add(&residual, x0 + i, 1, x.value.x[x0 + i]);
    }
    for (int64_t z = 0; z < s->nnz; ++z) {
      int64_t row = is_transposed(form) ? s->col[z] : s->row[z], col = is_transposed(form) ? s->row[z] : s->col[z];
      for (int64_t c = 0; c < k; ++c)
        subject_add(&residual, x0 + row * k + c, sided(av[z], form), x.value.x[x0 + col * k + c]);
    }
  }
  for (int64_t i = 0; i < residual.value.count; ++i)
    CHECK(cabs(residual.value.x[i]) <= 32 * epsilon * residual.size[i]);
  lac_array_destroy(&a.array), lac_array_destroy(&b.array), lac_array_destroy(&x.array),
      lac_array_destroy(&residual.array);
}

static void trisolve_solves_every_triangle_on_every_side(lac_context *ctx) {
  NEEDS(trisolve)
  static const int64_t sizes[] = {0, 1, 2, 12}, columns[] = {0, 1, 2, 5, 70};
  static const char *const outer[][3] = {{"", "", ""},   {"3", "3", "3"},     {"3", "", "3"},
                                         {"", "3", "3"}, {"2,1", "3", "2,3"}, {"0", "", "0"}};
  for (int shape = 0; shape < 4; ++shape) {
    lac_triangle triangle = shape & 1 ? LAC_TRIANGLE_UPPER : LAC_TRIANGLE_LOWER;
    lac_diagonal diagonal = shape & 2 ? LAC_DIAGONAL_UNIT : LAC_DIAGONAL_STORED;
    for (size_t n = 0; n < COUNT_OF(sizes); ++n) {
      const sketch *s = sketch_triangle(sizes[n], 0.4, triangle, diagonal, 11);
      for (size_t w = 0; w < COUNT_OF(all_widths); ++w) {
        lac_pattern *p = pattern_of(ctx, s, all_widths[w]);
        FOR_DTYPES(dtype) FOR_SIDES(form) {
          for (size_t c = 0; c < COUNT_OF(columns); ++c)
            check_trisolve(ctx, s, p, triangle, diagonal, form, dtype, columns[c], batches[0]);
          for (size_t b = 0; b < COUNT_OF(outer); ++b)
            check_trisolve(ctx, s, p, triangle, diagonal, form, dtype, 3, outer[b]);
        }
        lac_pattern_destroy(&p);
      }
    }
  }
}

static void trisolve_names_a_missing_or_zero_diagonal(lac_context *ctx) {
  NEEDS(trisolve)
  static const int64_t row[] = {0, 1, 1, 2, 2}, col[] = {0, 0, 1, 0, 2};
  FOR_SIDES(form) {
    for (int missing = 0; missing < 2; ++missing) {
      lac_pattern *p = NULL;
      lac_array *a = NULL, *b = NULL, *x = NULL;
      CHECK_OK(lac_pattern_from_coo(ctx, 3, 3, missing ? 4 : 5, LAC_I64, row, col, LAC_WIDTH_AUTO, &p, NULL));
      CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){missing ? 4 : 5}, (double[]){1, 2, missing ? 3 : 0, 4, 5},
                              LAC_OWNERSHIP_COPY, &a));
      CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){3, 1}, (double[]){1, 2, 3}, LAC_OWNERSHIP_COPY, &b));
      CHECK_OK(lac_array_clone(ctx, b, &x));
      char *before = bits_of(ctx, b);
      lac_status status = ctx->kernels->trisolve(ctx, p, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, form, a, b, x);
      CHECK_FAILS(check_late(ctx, status), LAC_ERR_SINGULAR,
                  missing ? "row 2 has no diagonal" : "diagonal entry of row 1 is zero");
      CHECK(bits_are(ctx, b, before));
      lac_array_destroy(&a), lac_array_destroy(&b), lac_array_destroy(&x);
      lac_pattern_destroy(&p);
    }
  }
}

// -- scales, threads, memory -----------------------------------------------------------------------------------------

/// An array of the numbers of x times 2^power: exact, so that results are scaled to the bit.
static lac_array *scaled(lac_context *ctx, const subject *x, int power) {
  ref r = ref_copy(&x->value);
  lac_array *array = NULL;
  for (int64_t i = 0; i < r.count; ++i) r.x[i] = ldexp(creal(r.x[i]), power) + ldexp(cimag(r.x[i]), power) * I;
  CHECK_OK(ref_upload(ctx, &r, &array));
  return array;
}

static void scaled_operands_give_scaled_results(lac_context *ctx) {
  const sketch *s = sketch_random(20, 20, 0.4, 12),
               *t = sketch_triangle(20, 0.3, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, 13);
  lac_pattern *p = pattern_of(ctx, s, LAC_WIDTH_AUTO), *pt = pattern_of(ctx, t, LAC_WIDTH_AUTO);
  FOR_DTYPES(dtype) {
    int power = dtype == LAC_F32 || dtype == LAC_C64 ? 60 : 500;
    subject a = subject_in(ctx, meta_of(dtype, "", 1, s->nnz, 0), 1),
            x = subject_in(ctx, meta_of(dtype, "", 2, 20, 1), 2);
    subject d = subject_in(ctx, meta_of(dtype, "", 1, t->nnz, 0), 3);
    char *bits[3] = {NULL};
    for (int sign = 0; sign <= 2; ++sign) {
      int up = sign == 0 ? 0 : sign == 1 ? power : -power;
      lac_array *as = scaled(ctx, &a, up), *xs = scaled(ctx, &x, -up), *xu = scaled(ctx, &x, up),
                *ds = scaled(ctx, &d, up);
      subject out[] = {subject_out(ctx, x.value.meta), subject_out(ctx, a.value.meta), subject_out(ctx, x.value.meta)};
      CHECK_OK(ctx->kernels->spmm(ctx, p, LAC_ADJOINT, as, xs, out[0].array));
      CHECK_OK(ctx->kernels->sddmm(ctx, p, xu, xs, out[1].array));
      if (ctx->kernels->trisolve)
        CHECK_OK(
            ctx->kernels->trisolve(ctx, pt, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, LAC_PLAIN, ds, xu, out[2].array));
      for (int o = 0; o < 3; ++o) {
        if (!bits[o]) bits[o] = bits_of(ctx, out[o].array);
        CHECK(bits_are(ctx, out[o].array, bits[o]));
        lac_array_destroy(&out[o].array);
      }
      lac_array_destroy(&as), lac_array_destroy(&xs), lac_array_destroy(&xu), lac_array_destroy(&ds);
    }
    lac_array_destroy(&a.array), lac_array_destroy(&x.array), lac_array_destroy(&d.array);
  }
  lac_pattern_destroy(&p), lac_pattern_destroy(&pt);
}

/// Rows of 0 to 12 entries and one of 3000: large enough for threads, with every kind of row.
static lac_pattern *ragged_pattern(lac_context *ctx, lac_width width) {
  enum { N = 12000, MOST = 13 * N + 3000 };
  int64_t *row = scratch(MOST * sizeof *row), *col = scratch(MOST * sizeof *col), count = 0;
  random_state r = random_start(14);
  lac_pattern *p = NULL;
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t e = i == 77 ? 3000 : i / 100 % 2 ? 5 : random_below(&r, 13); e > 0; --e)
      row[count] = i, col[count++] = random_below(&r, N);
  }
  CHECK_OK(lac_pattern_from_coo(ctx, N, N, count, LAC_I64, row, col, width, &p, NULL));
  return p;
}

static void check_threads(lac_context *ctx, const lac_pattern *p, lac_dtype dtype, int64_t k, const char *batch) {
  int64_t n = lac_pattern_rows(p), nnz = lac_pattern_nnz(p);
  subject a = subject_in(ctx, meta_of(dtype, batch, 1, nnz, 0), 15),
          x = subject_in(ctx, meta_of(dtype, batch, 2, n, k), 16);
  char *bits[10] = {NULL};
  for (int threads = 1; threads <= 3; ++threads) {
    subject out[] = {subject_out(ctx, x.value.meta),
                     subject_out(ctx, x.value.meta),
                     subject_out(ctx, x.value.meta),
                     subject_out(ctx, x.value.meta),
                     subject_out(ctx, a.value.meta),
                     subject_out(ctx, meta_of(dtype, "", 1, nnz, 0)),
                     subject_out(ctx, meta_of(dtype, "", 2, n, k)),
                     subject_out(ctx, a.value.meta),
                     subject_out(ctx, a.value.meta),
                     subject_out(ctx, a.value.meta)};
    int o = 0;
    CHECK_OK(lac_context_set_threads(ctx, threads));
    FOR_SIDES(form) CHECK_OK(ctx->kernels->spmm(ctx, p, form, a.array, x.array, out[o++].array));
    CHECK_OK(ctx->kernels->sddmm(ctx, p, x.array, x.array, out[o++].array));
    CHECK_OK(ctx->kernels->sddmm(ctx, p, x.array, x.array, out[o++].array));
    CHECK_OK(ctx->kernels->spmm(ctx, p, LAC_ADJOINT, a.array, x.array, out[o++].array));
    if (ctx->kernels->sampled_spgemm) {
      CHECK_OK(ctx->kernels->sampled_spgemm(ctx, p, p, LAC_PLAIN, p, LAC_PLAIN, a.array, a.array, out[o++].array));
      CHECK_OK(ctx->kernels->sampled_spgemm(ctx, p, p, LAC_ADJOINT, p, LAC_PLAIN, a.array, a.array, out[o++].array));
      CHECK_OK(ctx->kernels->sampled_spgemm(ctx, p, p, LAC_PLAIN, p, LAC_TRANSPOSED, a.array, a.array, out[o++].array));
    }
    while (o--) {
      if (!bits[o]) bits[o] = bits_of(ctx, out[o].array);
      if (!bits_are(ctx, out[o].array, bits[o])) CHECK_EQ(o, -1);
    }
    for (size_t i = 0; i < COUNT_OF(out); ++i) lac_array_destroy(&out[i].array);
  }
  lac_array_destroy(&a.array), lac_array_destroy(&x.array);
}

/// With as many columns as do not fit a cache: rows are asked for ahead, and one thread scatters what two gather.
static void products_with_entries_anywhere_are_right_and_their_bits_too(lac_context *ctx) {
  enum { N = 3000, K = 64 };
  const sketch *s = sketch_anywhere(N, 5, 30);
  lac_pattern *p = pattern_of(ctx, s, LAC_WIDTH_AUTO);
  FOR_DTYPES(dtype) {
    size_t mark = scratch_mark();
    const void *bits[2] = {NULL};
    subject a = subject_in(ctx, meta_of(dtype, "", 1, s->nnz, 0), 31),
            x = subject_in(ctx, meta_of(dtype, "", 2, N, K), 32);
    for (int threads = 1; threads < 3; ++threads) {
      subject y = subject_out(ctx, x.value.meta), z = subject_out(ctx, a.value.meta);
      CHECK_OK(lac_context_set_threads(ctx, threads));
      check_spmm(ctx, s, p, dtype, LAC_ADJOINT, K, batches[0]);
      CHECK_OK(ctx->kernels->spmm(ctx, p, LAC_TRANSPOSED, a.array, x.array, y.array));
      CHECK_OK(ctx->kernels->sddmm(ctx, p, x.array, x.array, z.array));
      if (threads == 1) bits[0] = bits_of(ctx, y.array), bits[1] = bits_of(ctx, z.array);
      CHECK(bits_are(ctx, y.array, bits[0]) && bits_are(ctx, z.array, bits[1]));
      lac_array_destroy(&y.array), lac_array_destroy(&z.array);
    }
    lac_array_destroy(&a.array), lac_array_destroy(&x.array);
    scratch_release(mark);
  }
  lac_pattern_destroy(&p);
}

static void the_number_of_threads_changes_no_bit(lac_context *ctx) {
  for (size_t w = 0; w < COUNT_OF(all_widths); ++w) {
    lac_pattern *p = ragged_pattern(ctx, all_widths[w]);
    FOR_DTYPES(dtype) {
      size_t mark = scratch_mark();
      check_threads(ctx, p, dtype, 1, "");
      check_threads(ctx, p, dtype, 1, "2");
      check_threads(ctx, p, dtype, 5, "");
      scratch_release(mark);
    }
    lac_pattern_destroy(&p);
  }
}

/// Outputs of many megabytes are stored in another way.
static void large_outputs_hold_the_same_numbers(lac_context *ctx) {
  lac_pattern *p = ragged_pattern(ctx, LAC_WIDTH_AUTO);
  int64_t n = lac_pattern_rows(p), nnz = lac_pattern_nnz(p);
  sketch s = {n, n, nnz, scratch((size_t)nnz * sizeof(int64_t)), scratch((size_t)nnz * sizeof(int64_t))};
  lac_pattern_read(p, NULL, s.col, s.row);
  FOR_DTYPES(dtype) {
    size_t mark = scratch_mark();
    char batch[16];
    int64_t size = (int64_t)lac_dtype_size(dtype);
    (void)snprintf(batch, sizeof batch, "%d", (int)((20 << 20) / (nnz * size)));
    check_sddmm(ctx, &s, p, dtype, 1, (const char *const[]){batch, "", batch});
    scratch_release(mark);
  }
  check_spmm(ctx, &s, p, LAC_F64, LAC_PLAIN, 200, batches[0]);
  check_spmm(ctx, &s, p, LAC_C64, LAC_ADJOINT, 200, batches[0]);
  lac_pattern_destroy(&p);
}

/// Rows whose lengths cannot be foretold, some beyond any block; outputs in a cache and beyond, adding and not.
static void one_column_samples_rows_of_all_lengths(lac_context *ctx) {
  const sketch *rows[] = {sketch_random(300, 40, 0.15, 41), sketch_random(140, 1300, 0.85, 42)};
  for (int which = 0; which < 2; ++which) {
    lac_pattern *p = pattern_of(ctx, rows[which], LAC_WIDTH_AUTO);
    FOR_DTYPES(dtype) {
      size_t mark = scratch_mark();
      int64_t bytes = rows[which]->nnz * (int64_t)lac_dtype_size(dtype);
      char many[16];
      (void)snprintf(many, sizeof many, "%d", (int)((17 << 20) / bytes) + 1);
      check_sddmm(ctx, rows[which], p, dtype, 1, (const char *const[]){"", "", ""});
      check_sddmm(ctx, rows[which], p, dtype, 1, (const char *const[]){"3", "", ""});
      check_sddmm(ctx, rows[which], p, dtype, 1, (const char *const[]){many, "", many});
      scratch_release(mark);
    }
    lac_pattern_destroy(&p);
  }
}

static void products_survive_every_failing_allocation(lac_context *ctx) {
  const sketch *s = sketch_square(30, 0.3, 17),
               *t = sketch_triangle(30, 0.3, LAC_TRIANGLE_UPPER, LAC_DIAGONAL_STORED, 18);
  subject a = subject_in(ctx, meta_of(LAC_F64, "", 1, s->nnz, 0), 19),
          x = subject_in(ctx, meta_of(LAC_F64, "", 2, 30, 2), 20);
  subject d = subject_in(ctx, meta_of(LAC_F64, "", 1, t->nnz, 0), 21), y = subject_out(ctx, x.value.meta),
          z = subject_out(ctx, a.value.meta);
  for (int kernel = 0; kernel < 4; ++kernel) {
    lac_status status = LAC_ERR_MEMORY;
    for (int n = 1; status != LAC_OK; ++n) {
      lac_pattern *p = pattern_of(ctx, s, 0), *pt = pattern_of(ctx, t, 0);
      (void)lac_memory_fail_at(n);
      status =
          kernel == 0   ? ctx->kernels->spmm(ctx, p, LAC_TRANSPOSED, a.array, x.array, y.array)
          : kernel == 1 ? ctx->kernels->sddmm(ctx, p, x.array, x.array, z.array)
          : kernel == 2 && ctx->kernels->sampled_spgemm
              ? ctx->kernels->sampled_spgemm(ctx, p, p, LAC_TRANSPOSED, p, LAC_TRANSPOSED, a.array, a.array, z.array)
          : kernel == 3 && ctx->kernels->trisolve
              ? ctx->kernels->trisolve(ctx, pt, LAC_TRIANGLE_UPPER, LAC_DIAGONAL_STORED, LAC_TRANSPOSED, d.array,
                                       x.array, y.array)
              : LAC_OK;
      (void)lac_memory_fail_at(0);
      CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
      CHECK(n < 100);
      lac_pattern_destroy(&p), lac_pattern_destroy(&pt);
    }
  }
  lac_array_destroy(&a.array), lac_array_destroy(&x.array), lac_array_destroy(&d.array), lac_array_destroy(&y.array),
      lac_array_destroy(&z.array);
}

static void required_kernels_are_there(lac_context *ctx) {
  enum { OPTIONAL, REQUIRED };
#define LAC_KERNEL(slot, need, parameters) CHECK(need == OPTIONAL || ctx->kernels->slot);
#include "kernels/kernels.def"
#undef LAC_KERNEL
}

CHECK_MAIN(required_kernels_are_there, one_column_samples_rows_of_all_lengths, spmm_multiplies_by_any_number_of_columns,
           products_with_entries_anywhere_are_right_and_their_bits_too, spmm_broadcasts_and_sums_batches,
           sddmm_samples_any_number_of_columns, sampled_spgemm_multiplies_on_all_sides,
           sampled_spgemm_broadcasts_and_sums_batches, sampled_spgemm_takes_empty_patterns,
           sampled_spgemm_keeps_infinities_where_they_are, trisolve_solves_every_triangle_on_every_side,
           trisolve_names_a_missing_or_zero_diagonal, scaled_operands_give_scaled_results,
           the_number_of_threads_changes_no_bit, large_outputs_hold_the_same_numbers,
           products_survive_every_failing_allocation)
