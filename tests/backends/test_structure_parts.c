// SPDX-License-Identifier: Apache-2.0
/// What is made of patterns where a backend has their indices, beside what the host makes: parts, lists, Kronecker
/// products, stacks, intersections, and the levels of triangles. The host never gets the indices.

#include "structure_check.h"

// -- parts, lists, Kronecker products, stacks ------------------------------------------------------------------------

/// What is made of one pattern or of two, by a number.
enum { REPEATING = 11, HSTACK = 16, VSTACK, PARTS = 20 };

static lac_status make_part(lac_context *ctx, lac_pattern *const p[2], int part, built *out) {
  int64_t rows = p[0]->rows, cols = p[0]->cols, row[200], col[200];
  bool repeats = part == REPEATING;

  for (int64_t i = 0; i < 200; ++i) {  // backwards, some left out, or each twice
    row[i] = rows ? repeats ? i / 2 % rows : rows - 1 - i : 0;
    col[i] = cols ? repeats ? (i + 1) / 2 % cols : (7 * i + 3) % cols : 0;
  }
  switch (part) {
    case 0:
    case 1:
    case 2:
    case 3:
      return lac_pattern_triangle(ctx, p[0], part % 2 ? LAC_TRIANGLE_LOWER : LAC_TRIANGLE_UPPER,
                                  part < 2 ? 0 : 2 * part - 5, &out->pattern, &out->map);
    case 4:
      return lac_pattern_triangle(ctx, p[0], LAC_TRIANGLE_LOWER, cols + 9, &out->pattern, &out->map);
    case 5:
      return lac_pattern_submatrix(ctx, p[0], rows / 3, rows - rows / 4, cols / 4, cols - cols / 3, &out->pattern,
                                   &out->map);
    case 6:
      return lac_pattern_submatrix(ctx, p[0], 0, rows, 0, cols / 2, &out->pattern, &out->map);
    case 7:
      return lac_pattern_submatrix(ctx, p[0], rows / 2, rows / 2, 0, cols, &out->pattern, &out->map);
    case 8:
      return lac_pattern_diagonal(ctx, p[0], &out->map);
    case 9:
      return lac_pattern_dense(ctx, p[0], &out->map);
    case 10:
    case 11:
      return lac_pattern_select(ctx, p[0], rows < 100 ? (rows + 1) / 2 : 100, row,
                                cols % 7 && cols < 100 ? cols : cols / 3 % 20, cols % 7 || repeats ? col : NULL,
                                &out->pattern, &out->map);
    case 12:
      return lac_pattern_select(ctx, p[0], 0, NULL, rows < 90 ? 1 : 0, col, &out->pattern, &out->map);
    case 13:
      return lac_pattern_permute(ctx, p[0], rows < 200 ? row : NULL, cols % 7 && cols < 200 ? col : NULL, &out->pattern,
                                 &out->map);
    case 14:
      return lac_pattern_permute(ctx, p[0], NULL, NULL, &out->pattern, &out->map);
    case 15:
      return lac_pattern_kron(ctx, p[0], p[1], &out->pattern, &out->map);
    case 18:
      return lac_pattern_block_diag(ctx, 2, (const lac_pattern *const *)p, &out->pattern, NULL);
    default:
      return lac_pattern_intersection(ctx, p[0], p[1], &out->pattern, &out->map, NULL);
  }
}

/// One part of the same patterns, made here and there; the host never has the indices of the latter.
static void check_part(lac_context *ctx, lac_context *cpu, lac_pattern *const there[2], lac_pattern *const here[2],
                       int part) {
  built made[4] = {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}, {NULL, NULL}};
  lac_map *maps[4] = {NULL, NULL, NULL, NULL};
  bool is_stack = part == HSTACK || part == VSTACK;
  if (is_stack) {  // maps of all blocks
    lac_status (*stack)(lac_context *, int64_t, const lac_pattern *const *, lac_pattern **, lac_map **) =
        part == HSTACK ? lac_pattern_hstack : lac_pattern_vstack;
    CHECK_OK(stack(ctx, 2, (const lac_pattern *const *)there, &made[0].pattern, &maps[0]));
    CHECK_OK(stack(cpu, 2, (const lac_pattern *const *)here, &made[1].pattern, &maps[2]));
    check_maps(ctx, cpu, maps[0], maps[2]);
    check_maps(ctx, cpu, maps[1], maps[3]);
  } else {
    CHECK_OK(make_part(ctx, there, part, &made[0]));
    CHECK_OK(make_part(cpu, here, part, &made[1]));
  }
  if (lac_structure_of(ctx) && there[0]->nnz && there[1]->nnz && part != REPEATING) {
    CHECK(!there[0]->columns->host && !there[1]->columns->host);
    if (made[0].pattern) CHECK(!made[0].pattern->columns->host);
    if (made[0].map) CHECK(!made[0].map->target->host);
  }
  if (made[0].map) check_maps(ctx, cpu, made[0].map, made[1].map);
  CHECK_EQ(made[0].pattern == there[0], made[1].pattern == here[0]);
  if (made[0].pattern && made[0].pattern != there[0]) check_made(ctx, cpu, made[0].pattern, made[1].pattern);
  for (int i = 0; i < 2; ++i) built_free(&made[i]);
  for (int i = 0; i < 4; ++i) lac_map_destroy(&maps[i]);
}

static void parts_and_stacks_are_as_on_the_host(lac_context *ctx) {
  static const int64_t sizes[][2] = {{1, 1}, {6, 5}, {5, 41}, {41, 5}, {90, 90}, {150, 120}};
  static const int64_t counts[][2] = {{0, 0}, {0, 9}, {20, 30}, {700, 500}};
  lac_context *cpu = NULL;
  CHECK_OK(lac_context_create("cpu", 0, &cpu));
  for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
    for (size_t c = 0; c < COUNT_OF(counts); ++c) {
      for (int part = 0; part < PARTS; ++part) {
        lac_pattern *there[2], *here[2];
        for (int i = 0; i < 2; ++i) {
          lac_width width = all_widths[(s + c + (size_t)i) % 3];
          there[i] = pattern_in(ctx, sizes[s][0], sizes[s][1], counts[c][i], 3 * s + c, width);
          here[i] = pattern_in(cpu, sizes[s][0], sizes[s][1], counts[c][i], 3 * s + c, width);
        }
        check_part(ctx, cpu, there, here, part);
        for (int i = 0; i < 2; ++i) lac_pattern_destroy(&there[i]), lac_pattern_destroy(&here[i]);
      }
    }
  }
  lac_context_destroy(&cpu);
}

/// What is refused is so in the host's words, and nothing is made.
static void parts_that_do_not_fit_are_refused(lac_context *ctx) {
  lac_pattern *p = pattern_in(ctx, 9, 7, 30, 1, LAC_WIDTH_AUTO), *q = pattern_in(ctx, 8, 7, 30, 1, LAC_WIDTH_AUTO);
  lac_pattern *none = NULL;
  const lac_pattern *both[] = {p, q};
  CHECK_FAILS(lac_pattern_hstack(ctx, 2, both, &none, NULL), LAC_ERR_SHAPE, "pattern 1 has 8 rows");
  CHECK_FAILS(lac_pattern_intersection(ctx, p, q, &none, NULL, NULL), LAC_ERR_SHAPE, "9 x 7 and b is 8 x 7");
  CHECK_FAILS(lac_pattern_submatrix(ctx, p, 3, 2, 0, 7, &none, NULL), LAC_ERR_ARG, "rows [3, 2)");
  CHECK_FAILS(lac_pattern_select(ctx, p, 1, (int64_t[]){9}, 0, NULL, &none, NULL), LAC_ERR_ARG, "row[0] = 9");
  CHECK_FAILS(lac_pattern_permute(ctx, p, NULL, (int64_t[]){0, 1, 2, 3, 4, 5, 1}, &none, NULL), LAC_ERR_ARG,
              "col[6] = 1 came before");
  CHECK(!none);
  lac_pattern_destroy(&p);
  lac_pattern_destroy(&q);
}

/// Solves with the triangles of a square pattern, whose levels are found where it lies; beside the host's.
static void check_triangle(lac_context *ctx, lac_context *cpu, lac_pattern *const pattern[2], lac_triangle triangle) {
  lac_context *const contexts[2] = {ctx, cpu};
  int64_t rows = pattern[0]->rows;
  lac_pattern *part[2] = {NULL, NULL};
  double *x[2];
  for (int side = 0; side < 2; ++side) {
    CHECK_OK(lac_pattern_triangle(contexts[side], pattern[side], triangle, triangle == LAC_TRIANGLE_LOWER ? -1 : 1,
                                  &part[side], NULL));
  }
  FOR_SIDES(form) {
    for (int side = 0; side < 2; ++side) {
      size_t count = (size_t)part[side]->nnz;
      lac_array *a = NULL, *b = NULL, *out = NULL;
      double *values = scratch((count + 1) * sizeof *values), *right = scratch((size_t)rows * sizeof *right);
      random_state r = random_start(9);
      for (size_t i = 0; i < count; ++i) values[i] = (random_unit(&r) - 0.5) / 8;
      for (int64_t i = 0; i < rows; ++i) right[i] = random_unit(&r);
      lac_context *here = contexts[side];
      x[side] = scratch((size_t)rows * sizeof **x);
      CHECK_OK(lac_array_from(here, LAC_F64, 1, &part[side]->nnz, values, LAC_OWNERSHIP_COPY, &a));
      CHECK_OK(lac_array_from(here, LAC_F64, 2, (int64_t[]){rows, 1}, right, LAC_OWNERSHIP_COPY, &b));
      CHECK_OK(lac_run_trisolve(here, part[side], a, b, triangle, LAC_DIAGONAL_UNIT, form, &out));
      CHECK_OK(lac_array_read(here, out, x[side]));
      lac_array_destroy(&a), lac_array_destroy(&b), lac_array_destroy(&out);
    }
    for (int64_t i = 0; i < rows; ++i) CHECK_NEAR(x[0][i], x[1][i], 1e-10);
  }
  if (lac_structure_of(ctx)) CHECK(!part[0]->columns->host && !pattern[0]->columns->host);
  lac_pattern_destroy(&part[0]);
  lac_pattern_destroy(&part[1]);
}

static void triangles_born_elsewhere_are_solved_there(lac_context *ctx) {
  static const int64_t sizes[][2] = {{40, 200}, {300, 3000}, {5000, 30000}, {70000, 300000}};
  lac_context *cpu = NULL;
  CHECK_OK(lac_context_create("cpu", 0, &cpu));
  for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
    for (int w = 0; w < 3; ++w) {
      size_t mark = scratch_mark();
      lac_pattern *both[2] = {pattern_in(ctx, sizes[s][0], sizes[s][0], sizes[s][1], s, all_widths[w]),
                              pattern_in(cpu, sizes[s][0], sizes[s][0], sizes[s][1], s, all_widths[w])};
      check_triangle(ctx, cpu, both, LAC_TRIANGLE_LOWER);
      check_triangle(ctx, cpu, both, LAC_TRIANGLE_UPPER);
      lac_pattern_destroy(&both[0]);
      lac_pattern_destroy(&both[1]);
      scratch_release(mark);
    }
  }
  lac_context_destroy(&cpu);
}

static void memory_that_runs_out_is_said(lac_context *ctx) {
  lac_pattern *both[] = {pattern_in(ctx, 20, 20, 90, 1, LAC_WIDTH_AUTO),
                         pattern_in(ctx, 20, 20, 60, 2, LAC_WIDTH_AUTO)};
  for (int part = 0; part < PARTS; ++part) {
    lac_status status = LAC_ERR_MEMORY;
    for (int64_t fail = 1; status != LAC_OK; ++fail) {
      built made = {NULL, NULL};
      CHECK(fail < 100);
      if (part == HSTACK || part == VSTACK) break;  // whose maps are two
      lac_memory_fail_at(fail);
      status = make_part(ctx, both, part, &made);
      lac_memory_fail_at(0);
      CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
      built_free(&made);
    }
  }
  lac_context_clear_error(ctx);
  lac_pattern_destroy(&both[0]);
  lac_pattern_destroy(&both[1]);
}

CHECK_MAIN(parts_and_stacks_are_as_on_the_host, parts_that_do_not_fit_are_refused,
           triangles_born_elsewhere_are_solved_there, memory_that_runs_out_is_said)
