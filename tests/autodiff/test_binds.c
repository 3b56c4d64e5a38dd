// SPDX-License-Identifier: Apache-2.0
/// The bindings of operators: what each clause says of patterns, objects and attributes, and what cannot be read.
///
/// A probe has one input without axes, and letters that are bound for the axes of its output: its shape tells them.

#include <stdio.h>

#include "autodiff/rule.h"
#include "support/check.h"

static lac_status probe_forward(lac_call *c) {
  (void)c;
  return LAC_OK;  // nobody reads the numbers
}

/// What the letters of `shown`, "z,m,n", stand for by the text `binds`.
static lac_status probe(lac_context *ctx, const char *shown, const char *binds, lac_spec spec, lac_meta *out) {
  char signature[32];
  lac_op op = {
      .name = "probe", .signature = signature, .binds = binds, .flags = LAC_OP_TAKES_BLOCKS, .forward = probe_forward};
  lac_tape *tape = NULL;
  lac_var y = {0};

  snprintf(signature, sizeof signature, "()->(%s)", shown);
  spec.op = &op;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_status status = lac_tape_call(tape, &spec, (lac_var[]){lac_tape_scalar(tape, LAC_F64, 0, 0)}, &y);
  if (status == LAC_OK) *out = *lac_tape_meta(tape, y);
  lac_tape_destroy(&tape);
  return status;
}

static void expect(lac_context *ctx, const char *shown, const char *binds, lac_spec spec, int count,
                   const int64_t *sizes) {
  lac_meta meta = {.ndim = 0};

  CHECK_OK(probe(ctx, shown, binds, spec, &meta));
  CHECK_EQ(meta.ndim, count);
  for (int i = 0; i < count; i++) CHECK_EQ(meta.shape[i], sizes[i]);
}

static void refuses(lac_context *ctx, const char *binds, lac_spec spec, lac_status status, const char *words) {
  lac_meta meta;
  CHECK_FAILS(probe(ctx, "z", binds, spec, &meta), status, words);
}

/// rows x cols, whose row i has an entry in column 0, and row 0 one more in column 1.
static lac_pattern *make_pattern(lac_context *ctx, int64_t rows, int64_t cols) {
  int64_t row[8] = {0}, col[8] = {0, 1};
  lac_pattern *pattern = NULL;

  for (int64_t i = 1; i < rows; i++) row[i + 1] = i;
  CHECK_OK(lac_pattern_from_coo(ctx, rows, cols, rows + 1, LAC_I64, row, col, LAC_WIDTH_AUTO, &pattern, NULL));
  return pattern;
}

static void patterns_say_slots_rows_and_columns(lac_context *ctx) {
  lac_pattern *p = make_pattern(ctx, 2, 5), *q = make_pattern(ctx, 5, 3);
  lac_spec spec = {.patterns = {p, q}};

  expect(ctx, "z,m,n", "pattern 0: z, (m,n)", spec, 3, (int64_t[]){3, 2, 5});
  expect(ctx, "z", "pattern 1: z", spec, 1, (int64_t[]){6});
  expect(ctx, "y,z,m,l,n", "pattern 0: y, (m,l); pattern 1: z, (l,n)", spec, 5, (int64_t[]){3, 6, 2, 5, 3});
  refuses(ctx, "pattern 0: y, (m,n); pattern 1: z, (m,n)", spec, LAC_ERR_SHAPE, "do not fit together: m is 2 and 5");
  refuses(ctx, "pattern 0: z, (n,n)", spec, LAC_ERR_SHAPE, "the matrix is 2 x 5; it must be square");
  refuses(ctx, "pattern 2: z", spec, LAC_ERR_ARG, "pattern 2 is missing");
  lac_pattern_destroy(&p);
  lac_pattern_destroy(&q);
}

static void forms_turn_rows_and_columns(lac_context *ctx) {
  lac_pattern *p = make_pattern(ctx, 2, 5);

  for (int form = LAC_PLAIN; form <= LAC_ADJOINT; form++) {
    bool turns = form == LAC_TRANSPOSED || form == LAC_ADJOINT;
    const int64_t *sizes = turns ? (int64_t[]){5, 2} : (int64_t[]){2, 5};
    expect(ctx, "m,n", "pattern 0: z, op(m,n)", (lac_spec){.patterns = {p}, .attrs.i = {form}}, 2, sizes);
    expect(ctx, "m,n", "pattern 0: z, op1(m,n)", (lac_spec){.patterns = {p}, .attrs.i = {9, form}}, 2, sizes);
  }
  refuses(ctx, "pattern 0: z, op(m,n)", (lac_spec){.patterns = {p}, .attrs.i = {4}}, LAC_ERR_ARG, "op is 4");
  refuses(ctx, "op; pattern 0: z", (lac_spec){.patterns = {p}, .attrs.i = {INT64_C(1) << 32}}, LAC_ERR_ARG,
          "op is 4294967296");
  refuses(ctx, "op; op1; pattern 0: z", (lac_spec){.patterns = {p}, .attrs.i = {0, -1}}, LAC_ERR_ARG, "op is -1");
  lac_pattern_destroy(&p);
}

static void rows_and_columns_of_blocks_count_numbers(lac_context *ctx) {
  lac_pattern *p = NULL;

  CHECK_OK(
      lac_pattern_from_bsr(ctx, 3, 4, 3, 2, LAC_I64, (int64_t[]){0, 2}, (int64_t[]){0, 1}, LAC_WIDTH_AUTO, &p, NULL));
  expect(ctx, "z,m,n", "pattern 0: z, (m,n)", (lac_spec){.patterns = {p}}, 5, (int64_t[]){2, 3, 2, 3, 4});
  lac_pattern_destroy(&p);
}

static void maps_say_inputs_and_outputs(lac_context *ctx) {
  lac_map *map = NULL;

  CHECK_OK(lac_map_create(ctx, 5, 2, (int64_t[]){0, 1, -1, 0, 1}, &map));
  expect(ctx, "q,p", "map: p -> q", (lac_spec){.object = map}, 2, (int64_t[]){2, 5});
  refuses(ctx, "map: z -> q", (lac_spec){0}, LAC_ERR_ARG, "probe: the object must be a map");
  refuses(ctx, "factor: z", (lac_spec){.object = map}, LAC_ERR_ARG, "the object must be a solver or a factor");
  lac_map_destroy(&map);
}

static void factors_say_the_sizes_of_their_matrix(lac_context *ctx) {
  lac_pattern *p = make_pattern(ctx, 2, 2), *wide = make_pattern(ctx, 2, 5);
  lac_solver *solver = NULL, *least = NULL;
  lac_factor *factor = NULL;
  lac_array *a = NULL;

  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3}, (double[]){1, 2, 3}, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_solver_create(ctx, p, NULL, &solver));
  CHECK_OK(lac_solver_factor(ctx, solver, a, &factor));
  CHECK_OK(lac_solver_create(ctx, wide, &(lac_solver_options){.method = "lsmr"}, &least));
  expect(ctx, "z,n", "factor: z, op(n,n)", (lac_spec){.object = solver}, 2, (int64_t[]){3, 2});
  expect(ctx, "z,n", "factor: z, (n,n)", (lac_spec){.object = factor}, 2, (int64_t[]){3, 2});
  expect(ctx, "m,n", "factor: z, op(m,n)", (lac_spec){.object = least, .attrs.i = {LAC_ADJOINT}}, 2, (int64_t[]){5, 2});
  refuses(ctx, "factor: z, (n,n)", (lac_spec){.object = least}, LAC_ERR_SHAPE, "must be square; lac_lstsq");
  refuses(ctx, "map: z -> q", (lac_spec){.object = factor}, LAC_ERR_ARG, "the object must be a map");
  lac_factor_destroy(&factor);
  lac_solver_destroy(&solver);
  lac_solver_destroy(&least);
  lac_array_destroy(&a);
  lac_pattern_destroy(&p);
  lac_pattern_destroy(&wide);
}

static void formats_say_the_numbers_of_their_storage(lac_context *ctx) {
  lac_pattern *p = make_pattern(ctx, 2, 5);
  lac_format *format = NULL;

  CHECK_OK(lac_format_sell(ctx, p, 2, 1, &format));
  expect(ctx, "s,m,n", "format: s, (m,n)", (lac_spec){.object = format}, 3, (int64_t[]){4, 2, 5});  // a lane is padded
  refuses(ctx, "format: z", (lac_spec){0}, LAC_ERR_ARG, "the object must be a format");
  lac_format_destroy(&format);
  lac_pattern_destroy(&p);
}

static void bands_say_their_diagonals(lac_context *ctx) {
  expect(ctx, "w", "bands 1: w", (lac_spec){.attrs.i = {7, 2, 1}}, 1, (int64_t[]){4});
  expect(ctx, "w", "bands 6: w", (lac_spec){.attrs.i = {[6] = 0, [7] = 0}}, 1, (int64_t[]){1});
  refuses(ctx, "bands 0: z", (lac_spec){.attrs.i = {1, -1}}, LAC_ERR_ARG, "lower = 1, upper = -1");
  refuses(ctx, "bands 0: z", (lac_spec){.attrs.i = {INT64_MAX}}, LAC_ERR_ARG,
          "each must be 0 or more, and a band below");
}

static void letters_that_nothing_binds_are_named(lac_context *ctx) {
  refuses(ctx, "op", (lac_spec){0}, LAC_ERR_ARG, "nothing says what z is in \"()->(z)\"");
  refuses(ctx, NULL, (lac_spec){0}, LAC_ERR_ARG, "nothing says what z is in \"()->(z)\"");
}

static lac_status infer_of_a_digit(lac_call *c) {
  lac_status status = lac_call_bind(c, '1', 3, NULL);
  return status == LAC_OK ? lac_call_match(c) : status;
}

static void symbols_are_letters(lac_context *ctx) {
  lac_op op = {.name = "digit", .signature = "()->()", .infer = infer_of_a_digit, .forward = probe_forward};
  lac_tape *tape = NULL;
  lac_var y = {0};

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var x = lac_tape_scalar(tape, LAC_F64, 0, 0);
  CHECK_FAILS(lac_tape_call(tape, &(lac_spec){.op = &op}, &x, &y), LAC_ERR_ARG, "digit: lac_call_bind: the symbol '1'");
  lac_tape_destroy(&tape);
}

static void what_cannot_be_read_is_refused(lac_context *ctx) {
  static const char *const texts[] = {"",
                                      "pattern",
                                      "pattern 0",
                                      "pattern 3: z",
                                      "pattern z",
                                      "pattern 0: Z",
                                      "pattern 0: z,(m,n)",
                                      "pattern 0: z, (",
                                      "pattern 0: z, (m",
                                      "pattern 0: z, (m,",
                                      "pattern 0: z, (m,n",
                                      "pattern 0: z, (m n)",
                                      "pattern 0: z, up(m,n)",
                                      "pattern 0: z, op9(m,n)",
                                      "pattern 0: z -> ",
                                      "pattern 0: z; ",
                                      "pattern 0: z;op",
                                      "pattern 0: z and more",
                                      "maps: z -> q",
                                      "op8",
                                      "bands 7: z",
                                      "userdata: z"};
  lac_pattern *p = make_pattern(ctx, 2, 5);
  lac_map *map = NULL;

  CHECK_OK(lac_map_create(ctx, 2, 2, (int64_t[]){0, 1}, &map));
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    refuses(ctx, texts[i], (lac_spec){.patterns = {p}, .object = map}, LAC_ERR_ARG, "probe: cannot read the bindings");
  }
  lac_map_destroy(&map);
  lac_pattern_destroy(&p);
}

CHECK_MAIN(patterns_say_slots_rows_and_columns, forms_turn_rows_and_columns, rows_and_columns_of_blocks_count_numbers,
           maps_say_inputs_and_outputs, factors_say_the_sizes_of_their_matrix, formats_say_the_numbers_of_their_storage,
           bands_say_their_diagonals, letters_that_nothing_binds_are_named, symbols_are_letters,
           what_cannot_be_read_is_refused)
