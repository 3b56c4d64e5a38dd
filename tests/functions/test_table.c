// SPDX-License-Identifier: Apache-2.0
/// The table of functions, and their programs: the bits of the typed functions, written once, and nothing held too
/// long.

#include <string.h>

#include "autodiff/tape_impl.h"
#include "lacuna/extend.h"
#include "lacuna/program.h"
#include "support/check.h"

enum { N = 4, MOST = 160 };

static const char *const lines[] = {
#define LAC_FUNCTION(name) #name,
#include "functions/functions.def"
#undef LAC_FUNCTION
};

static void every_line_is_found_under_its_name_and_says_what_it_takes(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(lac_function_count(), sizeof lines / sizeof *lines);
  CHECK(!lac_function_find("no such function") && !lac_function_find(NULL) && !lac_function_at(-1));
  for (int i = 0; i < lac_function_count(); ++i) {
    const lac_function *f = lac_function_at(i);
    CHECK_TEXT(f->name, lines[i]);
    CHECK(lac_function_find(lines[i]) == f && f->parameters && f->about && f->write);
    CHECK(strchr(f->parameters, ':') != NULL);
  }
}

/// Objects of a tridiagonal matrix of N rows, and numbers.
typedef struct world {
  lac_pattern *pattern;
  lac_solver *solver;
  double numbers[MOST];
} world;

static world world_open(lac_context *ctx) {
  int64_t row[3 * N - 2], col[3 * N - 2], count = 0;
  world w = {.pattern = NULL};
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; ++j) row[count] = i, col[count++] = j;
  }
  CHECK_OK(lac_pattern_from_coo(ctx, N, N, count, LAC_I64, row, col, LAC_WIDTH_AUTO, &w.pattern, NULL));
  CHECK_OK(lac_solver_create(ctx, w.pattern, NULL, &w.solver));
  for (int64_t i = 0; i < MOST; ++i) w.numbers[i] = 0.125 + 0.01 * (double)(i * i % 37);
  for (int64_t z = 0; z < count; ++z) w.numbers[z] += row[z] == col[z] ? 3 : 0;
  return w;
}

static void world_close(world *w) {
  lac_solver_destroy(&w->solver);
  lac_pattern_destroy(&w->pattern);
}

/// A call of a function: which inputs, by their shapes, all read from the same numbers.
typedef struct call {
  const char *name;
  int objects, ints, ins;
  const void *object[2];
  int64_t i[4];
  lac_meta in[3];
} call;

static lac_function_spec spec_of(const call *c) {
  return (lac_function_spec){
      .function = lac_function_find(c->name), .objects = c->objects, .object = c->object, .ints = c->ints, .i = c->i};
}

static int64_t count_of(const lac_meta *meta) {
  int64_t count = 1;
  for (int d = 0; d < meta->ndim; ++d) count *= meta->shape[d];
  return count;
}

/// The results on a tape that runs, one behind the other; how many numbers there are.
static int64_t on_a_tape(lac_context *ctx, const world *w, const call *c, double *out) {
  lac_tape *tape = NULL;
  lac_var in[3] = {{0}}, results[LAC_FUNCTION_OUTS] = {{0}};
  lac_array *arrays[3] = {NULL};
  int64_t made = 0;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  for (int i = 0; i < c->ins; ++i) {
    CHECK_OK(lac_array_from(ctx, LAC_F64, c->in[i].ndim, c->in[i].shape, (void *)w->numbers, LAC_OWNERSHIP_COPY,
                            &arrays[i]));
    in[i] = lac_tape_constant(tape, arrays[i]);
  }
  lac_function_call f = {tape, c->objects, c->ints, 0, c->ins, 1, c->object, c->i, NULL, in, results};
  lac_function_find(c->name)->write(&f);
  CHECK_OK(lac_tape_status(tape));
  for (int i = 0; i < f.outs; ++i) {
    CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, results[i]), out + made));
    made += count_of(lac_tape_meta(tape, results[i]));
  }
  for (int i = 0; i < c->ins; ++i) lac_array_destroy(&arrays[i]);
  lac_tape_destroy(&tape);
  return made;
}

/// The same by a program, on the context's memory.
static int64_t by_program(lac_context *ctx, const world *w, const call *c, double *out) {
  lac_function_spec spec = spec_of(c);
  lac_program *program = NULL;
  lac_array *arrays[3] = {NULL}, *made[LAC_FUNCTION_OUTS] = {NULL};
  const void *in[3];
  void *results[LAC_FUNCTION_OUTS];
  int64_t count = 0;

  CHECK_OK(lac_program_function(ctx, &spec, c->ins, c->in, &program));
  for (int i = 0; i < lac_program_inputs(program); ++i) {
    const lac_meta *meta = &c->in[lac_program_input(program, i)->index];
    CHECK_OK(lac_array_from(ctx, LAC_F64, meta->ndim, meta->shape, (void *)w->numbers, LAC_OWNERSHIP_COPY, &arrays[i]));
    in[i] = lac_array_data(arrays[i]);
  }
  for (int i = 0; i < lac_program_results(program); ++i) {
    const lac_meta *meta = &lac_program_result(program, i)->meta;
    CHECK_OK(lac_array_create(ctx, meta->dtype, meta->ndim, meta->shape, &made[i]));
    results[i] = lac_array_edit(made[i]);
  }
  CHECK_OK(lac_program_run(ctx, program, in, results));
  for (int i = 0; i < lac_program_results(program); ++i) {
    CHECK_OK(lac_array_read(ctx, made[i], out + count));
    count += count_of(&lac_program_result(program, i)->meta);
    lac_array_destroy(&made[i]);
  }
  for (int i = 0; i < 3; ++i) lac_array_destroy(&arrays[i]);
  lac_program_destroy(&program);
  return count;
}

#define SHAPE1(n)                               \
  {                                             \
    .dtype = LAC_F64, .ndim = 1, .shape = { n } \
  }
#define SHAPE2(n, k)                               \
  {                                                \
    .dtype = LAC_F64, .ndim = 2, .shape = { n, k } \
  }
enum { NNZ = 3 * N - 2 };

/// One call of each kind: objects, lists, integers, results that are several, inputs that may be missing.
static int calls_of(const world *w, call *calls) {
  const void *p = w->pattern, *s = w->solver;
  const call all[] = {
      {"kron_mm", 2, 1, 3, {p, p}, {LAC_TRANSPOSED}, {SHAPE1(NNZ), SHAPE1(NNZ), SHAPE2(N * N, 2)}},
      {"kron_solve", 2, 1, 3, {s, s}, {LAC_PLAIN}, {SHAPE1(NNZ), SHAPE2(2, NNZ), SHAPE2(N * N, 2)}},
      {"mean", 0, 2, 1, {NULL}, {1, 0}, {SHAPE2(3, 5)}},
      {"concat", 0, 1, 3, {NULL}, {0}, {SHAPE1(3), SHAPE1(5), SHAPE1(1)}},
      {"cholesky", 1, 1, 1, {p}, {LAC_ORDER_AMD}, {SHAPE1(NNZ)}},
      {"lu", 1, 1, 1, {p}, {LAC_ORDER_NATURAL}, {SHAPE1(NNZ)}},
      {"slogdet", 1, 0, 1, {s}, {0}, {SHAPE1(NNZ)}},
      {"inverse_diagonal", 1, 0, 1, {s}, {0}, {SHAPE1(NNZ)}},
      {"inverse_on", 2, 0, 1, {s, p}, {0}, {SHAPE1(NNZ)}},
      {"trace_solve_estimate", 2, 2, 2, {s, p}, {5, 1}, {SHAPE1(NNZ), SHAPE1(NNZ)}},
      {"trace_solve_estimate", 2, 2, 3, {s, p}, {0, 0}, {SHAPE1(NNZ), SHAPE1(NNZ), SHAPE2(N, 3)}},
      {"toeplitz_mm", 0, 1, 3, {NULL}, {LAC_ADJOINT}, {SHAPE1(3), SHAPE1(4), SHAPE2(3, 2)}},
      {"to_dense", 1, 0, 1, {p}, {0}, {SHAPE1(NNZ)}},
      {"sparse_bidir_logsumexp", 1, 3, 1, {p}, {1, 1, 0}, {SHAPE1(NNZ)}},
      {"quadratic_form", 1, 0, 3, {p}, {0}, {SHAPE1(NNZ), SHAPE2(N, 2), SHAPE2(N, 2)}},
  };
  memcpy(calls, all, sizeof all);
  return (int)(sizeof all / sizeof *all);
}

static void programs_give_the_bits_of_the_tape(lac_context *ctx) {
  world w = world_open(ctx);
  call calls[20];
  for (int n = calls_of(&w, calls) - 1; n >= 0; --n) {
    double mine[MOST], theirs[MOST];
    int64_t count = by_program(ctx, &w, &calls[n], mine);
    CHECK_EQ(count, on_a_tape(ctx, &w, &calls[n], theirs));
    if (memcmp(mine, theirs, (size_t)count * sizeof *mine) != 0) {
      check_fail(__FILE__, __LINE__, "%s: the program's numbers are not those of the tape", calls[n].name);
    }
  }
  world_close(&w);
}

static void a_program_is_written_once_for_its_objects_numbers_and_shapes(lac_context *ctx) {
  world w = world_open(ctx);
  call calls[20];
  double numbers[MOST];
  calls_of(&w, calls);
  (void)by_program(ctx, &w, &calls[0], numbers);
  int64_t written = lac_program_count_written();
  (void)by_program(ctx, &w, &calls[0], numbers);
  CHECK_EQ(lac_program_count_written(), written);
  calls[0].i[0] = LAC_PLAIN;
  (void)by_program(ctx, &w, &calls[0], numbers);
  CHECK_EQ(lac_program_count_written(), written + 1);
  calls[0].in[2].shape[1] = 3;
  (void)by_program(ctx, &w, &calls[0], numbers);
  CHECK_EQ(lac_program_count_written(), written + 2);
  world_close(&w);
}

/// Kept programs let go of what they were written for: all blocks are gone when the objects are.
static void kept_programs_keep_nothing_alive(lac_context *ctx) {
  call calls[20];
  double numbers[MOST];
  long long before = check_live_blocks();
  world w = world_open(ctx);
  for (int n = calls_of(&w, calls) - 1; n >= 0; --n) {
    if (calls[n].objects) (void)by_program(ctx, &w, &calls[n], numbers);
  }
  world_close(&w);
  CHECK_EQ(check_live_blocks(), before);
}

static void every_failing_allocation_is_told(lac_context *ctx) {
  world w = world_open(ctx);
  call calls[20];
  for (int n = calls_of(&w, calls) - 1; n >= 0; --n) {
    lac_function_spec spec = spec_of(&calls[n]);
    lac_status status = LAC_ERR_MEMORY;
    for (int64_t at = 1; status == LAC_ERR_MEMORY && at < 5000; ++at) {
      lac_program *program = NULL;
      lac_program_forget(ctx, w.pattern), lac_program_forget(ctx, w.solver), lac_program_forget(ctx, NULL);
      lac_memory_fail_at(at);
      status = lac_program_function(ctx, &spec, calls[n].ins, calls[n].in, &program);
      lac_memory_fail_at(0);
      CHECK((status == LAC_OK) == (program != NULL));
      lac_program_destroy(&program);
    }
    CHECK_OK(status);
  }
  world_close(&w);
}

/// Without objects, numbers and inputs, and with objects of other kinds: a sentence each time.
static void what_is_missing_or_of_another_kind_is_refused(lac_context *ctx) {
  world w = world_open(ctx);
  lac_map *map = NULL;
  CHECK_OK(lac_pattern_row_map(ctx, w.pattern, &map));
  lac_meta in[3] = {SHAPE1(NNZ), SHAPE1(NNZ), SHAPE2(N, 2)};
  for (int i = 0; i < lac_function_count(); ++i) {
    const void *others[] = {map, map};
    lac_function_spec spec = {.function = lac_function_at(i)};
    bool takes_objects = strstr(spec.function->parameters, "pattern") || strstr(spec.function->parameters, "solver") ||
                         strstr(spec.function->parameters, "factor");
    lac_program *program = NULL;
    if (lac_program_function(ctx, &spec, 0, NULL, &program) == LAC_OK) {
      check_fail(__FILE__, __LINE__, "%s: wrote a program of nothing", spec.function->name);
    }
    spec.objects = 2, spec.object = others;
    if (takes_objects && lac_program_function(ctx, &spec, 3, in, &program) == LAC_OK) {
      check_fail(__FILE__, __LINE__, "%s: took maps for other objects", spec.function->name);
    }
    lac_program_destroy(&program);
  }
  lac_map_destroy(&map);
  world_close(&w);
}

/// Numbers that no front end of the library hands over, and an object of another kind in a list.
static void numbers_and_lists_that_cannot_be_are_refused(lac_context *ctx) {
  world w = world_open(ctx);
  const void *object[] = {w.solver};
  lac_meta in[2] = {SHAPE1(NNZ), SHAPE1(NNZ)};
  lac_program *program = NULL;
  lac_function_spec spec = {.function = lac_function_find("block_diag"), .objects = 1, .object = object};
  CHECK_FAILS(lac_program_function(ctx, &spec, 1, in, &program), LAC_ERR_ARG, "block_diag: object 0 is no pattern");
  spec = (lac_function_spec){.function = lac_function_find("norm"), .ints = 3, .i = (int64_t[]){1, 0, 9}};
  CHECK_FAILS(lac_program_function(ctx, &spec, 1, in, &program), LAC_ERR_ARG, "norm: ord 9");
  spec.i = (int64_t[]){INT64_C(1) << 31, 0, 0};
  CHECK_FAILS(lac_program_function(ctx, &spec, 1, in, &program), LAC_ERR_SHAPE, "no axis -32");
  spec.ints = -3;
  CHECK_FAILS(lac_program_function(ctx, &spec, 1, in, &program), LAC_ERR_ARG, "-3 integers");
  in[0] = in[1] = (lac_meta)SHAPE2(1, NNZ);
  spec = (lac_function_spec){.function = lac_function_find("banded_gemm"), .ints = 8};
  spec.i = (int64_t[]){INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, -1, -1, 0, 0};
  CHECK_FAILS(lac_program_function(ctx, &spec, 2, in, &program), LAC_ERR_ARG, "banded_gemm: lower");
  world_close(&w);
}

static void constant_write(lac_function_call *c) {
  c->out[0] = lac_add(c->tape, c->in[0], lac_tape_scalar(c->tape, LAC_F64, 1, 0));
}

static void four_write(lac_function_call *c) { c->outs = LAC_FUNCTION_OUTS + 1; }

static void functions_that_break_the_contract_are_refused(lac_context *ctx) {
  static const lac_function constant = {"constant", "x: array", "x + 1.", constant_write};
  static const lac_function many = {"many", "x: array", "Too many results.", four_write};
  lac_function_spec spec = {.function = &constant};
  lac_meta in = SHAPE1(3);
  lac_program *program = NULL;
  CHECK_FAILS(lac_program_function(ctx, &spec, 1, &in, &program), LAC_ERR_ARG, "put an array on its tape");
  spec.function = &many;
  CHECK_FAILS(lac_program_function(ctx, &spec, 1, &in, &program), LAC_ERR_ARG, "5 results");
  CHECK_FAILS(lac_program_function(ctx, NULL, 1, &in, &program), LAC_ERR_ARG, "NULL");
  spec.objects = 1;
  CHECK_FAILS(lac_program_function(ctx, &spec, 1, &in, &program), LAC_ERR_ARG, "objects");
}

CHECK_MAIN(every_line_is_found_under_its_name_and_says_what_it_takes, programs_give_the_bits_of_the_tape,
           a_program_is_written_once_for_its_objects_numbers_and_shapes, kept_programs_keep_nothing_alive,
           every_failing_allocation_is_told, what_is_missing_or_of_another_kind_is_refused,
           numbers_and_lists_that_cannot_be_are_refused, functions_that_break_the_contract_are_refused)
