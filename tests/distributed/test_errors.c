// SPDX-License-Identifier: Apache-2.0
/// One rank's error is everyone's, with its sentence; nobody hangs; what comes after works.

#include "autodiff/tape_impl.h"
#include "kernels/kernels.h"
#include "distributed/spread.h"

enum { WIDTH = 2 };

/// The last rank is the one that fails.
static int is_culprit(void) { return world.rank == world.size - 1; }

static lac_status expected(lac_status culprits) { return is_culprit() ? culprits : LAC_ERR_REMOTE; }

/// What the others are told names the culprit.
static void names_the_culprit(const lac_context *ctx) {
  char words[32];

  if (is_culprit()) return;
  snprintf(words, sizeof words, "rank %d failed in", world.size - 1);
  CHECK(strstr(lac_context_error(ctx), words));
}

/// Operands of a product, whole and in parts.
typedef struct operands {
  spread s;
  twin a, x;
} operands;

static operands operands_create(lac_context *ctx) {
  operands o = {.s = spread_create(ctx, 12, 10, 0.4, DEAL_EVEN, DEAL_EVEN, LAC_WIDTH_AUTO)};
  const int64_t nnz = lac_pattern_nnz(o.s.whole), shape[] = {10, WIDTH};

  o.a = twin_random(&o.s, LAC_F64, 1, &nnz, lac_pattern_entries(o.s.pattern), 0, 1);
  o.x = twin_random(&o.s, LAC_F64, 2, shape, o.s.cols, 0, 2);
  return o;
}

static void operands_destroy(operands *o) {
  twin_destroy(&o->a);
  twin_destroy(&o->x);
  spread_destroy(&o->s);
}

/// After clearing, the tape computes A x as one process does.
static void works_again(lac_context *ctx, lac_tape *tape, const operands *o) {
  lac_context *serial = o->s.serial;
  const int64_t shape[] = {12, WIDTH};
  lac_array *y = NULL;
  lac_var result;

  lac_tape_clear(tape);
  lac_context_clear_error(ctx);
  result = lac_spmm(tape, o->s.pattern, lac_tape_leaf(tape, o->a.part), lac_tape_leaf(tape, o->x.part), LAC_PLAIN);
  CHECK_OK(lac_tape_status(tape));
  CHECK(lac_array_create(serial, LAC_F64, 2, shape, &y) == LAC_OK);
  CHECK(serial->kernels->spmm(serial, o->s.whole, LAC_PLAIN, o->a.whole, o->x.whole, y) == LAC_OK);
  CHECK_SAME(lac_tape_value(tape, result), y);
  lac_array_destroy(&y);
}

static void status_is_agreed_on(lac_context *ctx) {
  const lac_status mine =
      is_culprit() ? lac_context_fail(ctx, LAC_ERR_NONFINITE, "far_away", "a number is not one") : LAC_OK;

  CHECK_OK(lac_context_agree(ctx, LAC_OK));
  CHECK_FAILS(lac_context_agree(ctx, mine), expected(LAC_ERR_NONFINITE), "a number is not one");
  names_the_culprit(ctx);
  CHECK(is_culprit() || strstr(lac_context_error(ctx), "far_away with LAC_ERR_NONFINITE"));
  CHECK_OK(lac_context_agree(ctx, LAC_OK));
}

static void first_of_several_culprits_is_named(lac_context *ctx) {
  const lac_status mine =
      world.rank > 0 ? lac_context_fail(ctx, LAC_ERR_ARG, "here", "rank %d errs", world.rank) : LAC_OK;
  const lac_status status = lac_context_agree(ctx, mine);

  if (world.size == 1) return;
  CHECK_FAILS(status, world.rank > 0 ? LAC_ERR_ARG : LAC_ERR_REMOTE, world.rank > 1 ? "errs" : "rank 1 errs");
}

static void wrong_shape_on_one_rank_fails_the_product_on_all(lac_context *ctx) {
  operands o = operands_create(ctx);
  lac_tape *tape = NULL;
  lac_var a, x, y;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  a = lac_tape_leaf(tape, o.a.part), x = lac_tape_leaf(tape, o.x.part);
  y = lac_spmm(tape, o.s.pattern, is_culprit() ? x : a, x, LAC_PLAIN);
  CHECK(y.id == 0);
  CHECK_FAILS(lac_tape_status(tape), expected(LAC_ERR_SHAPE), "spmm");
  names_the_culprit(ctx);
  works_again(ctx, tape, &o);
  lac_tape_destroy(&tape);
  operands_destroy(&o);
}

/// A local error is silent until the ranks next talk.
static void local_error_on_one_rank_fails_the_next_product_on_all(lac_context *ctx) {
  operands o = operands_create(ctx);
  lac_tape *tape = NULL;
  lac_var a, x, sum;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  a = lac_tape_leaf(tape, o.a.part), x = lac_tape_leaf(tape, o.x.part);
  sum = is_culprit() ? lac_reshape(tape, x, 1, &(int64_t){-1}) : lac_add(tape, x, x);
  CHECK(lac_tape_status(tape) == LAC_OK || is_culprit());
  CHECK(lac_spmm(tape, o.s.pattern, a, sum, LAC_PLAIN).id == 0);
  CHECK_FAILS(lac_tape_status(tape), expected(LAC_ERR_SHAPE), "reshape");
  names_the_culprit(ctx);
  CHECK(lac_dot(tape, x, x).id == 0);  // on a failing tape ranks stay in step
  works_again(ctx, tape, &o);
  lac_tape_destroy(&tape);
  operands_destroy(&o);
}

static void stale_values_on_one_rank_fail_the_gradient_on_all(lac_context *ctx) {
  operands o = operands_create(ctx);
  lac_tape *tape = NULL;
  lac_var a, x, y, loss, bar;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  a = lac_tape_leaf(tape, o.a.part), x = lac_tape_leaf(tape, o.x.part);
  y = lac_spmm(tape, o.s.pattern, a, x, LAC_PLAIN), loss = lac_dot(tape, y, y);
  if (is_culprit()) (void)lac_array_edit(o.x.part);
  CHECK_FAILS(lac_tape_vjp(tape, 1, &loss, NULL, 1, &a, &bar, LAC_GRAPH_NONE), expected(LAC_ERR_STALE), "written to");
  names_the_culprit(ctx);
  works_again(ctx, tape, &o);
  lac_tape_destroy(&tape);
  operands_destroy(&o);
}

static lac_status failing_spmm(lac_context *ctx, const lac_pattern *p, lac_form form, const lac_array *a,
                               const lac_array *x, lac_array *y) {
  (void)p, (void)form, (void)a, (void)x, (void)y;
  return lac_context_fail(ctx, LAC_ERR_MEMORY, __func__, "the local product failed");
}

/// Also after rows were exchanged, and before they return.
static void failing_kernel_on_one_rank_fails_on_all(lac_context *ctx) {
  operands o = operands_create(ctx);
  const lac_backend *sound = ctx->backend;
  lac_kernels kernels = *sound->kernels;
  lac_backend failing = *sound;
  lac_tape *tape = NULL;
  lac_var a, x, y;

  kernels.spmm = failing_spmm, failing.kernels = &kernels;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  a = lac_tape_leaf(tape, o.a.part), x = lac_tape_leaf(tape, o.x.part);
  if (is_culprit()) ctx->backend = &failing;
  (void)lac_spmm(tape, o.s.pattern, a, x, LAC_CONJUGATED);
  CHECK_FAILS(lac_tape_status(tape), expected(LAC_ERR_MEMORY), "the local product failed");
  ctx->backend = sound;
  works_again(ctx, tape, &o);
  lac_tape_clear(tape);
  a = lac_tape_leaf(tape, o.a.part), x = lac_tape_leaf(tape, o.x.part),
  y = lac_spmm(tape, o.s.pattern, a, x, LAC_PLAIN);
  if (is_culprit()) ctx->backend = &failing;
  (void)lac_spmm(tape, o.s.pattern, a, y, LAC_TRANSPOSED);
  CHECK_FAILS(lac_tape_status(tape), expected(LAC_ERR_MEMORY), "the local product failed");
  ctx->backend = sound;
  works_again(ctx, tape, &o);
  lac_tape_destroy(&tape);
  operands_destroy(&o);
}

static void unsupported_operators_say_so(lac_context *ctx) {
  operands o = operands_create(ctx);
  lac_tape *tape = NULL;
  lac_var a;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  a = lac_tape_leaf(tape, o.a.part);
  (void)lac_spgemm(tape, o.s.pattern, a, o.s.pattern, a, NULL);
  CHECK_FAILS(lac_context_agree(ctx, lac_tape_status(tape)), LAC_ERR_UNSUPPORTED, "distributed");
  works_again(ctx, tape, &o);
  lac_tape_destroy(&tape);
  operands_destroy(&o);
}

/// A distributed pattern must not be read as if its global columns were this rank's.
static void plain_context_refuses_a_distributed_pattern(lac_context *ctx) {
  operands o = operands_create(ctx);
  lac_tape *tape = NULL;
  lac_var y;

  CHECK_OK(lac_tape_create(o.s.serial, LAC_TAPE_RUN, &tape));
  y = lac_spmm(tape, o.s.pattern, lac_tape_leaf(tape, o.a.part), lac_tape_leaf(tape, o.x.part), LAC_PLAIN);
  CHECK(y.id == 0 && lac_tape_status(tape) == LAC_ERR_UNSUPPORTED);
  lac_tape_destroy(&tape);
  operands_destroy(&o);
}

// -- failing allocations ---------------------------------------------------------------------------------------------

/// Everything from partitions to a gradient; returns what all ranks agree on.
static lac_status whole_life(lac_context *ctx) {
  const int64_t offsets[] = {0, 2, 3}, columns[] = {world.size, 0, world.rank}, field[] = {2, WIDTH};
  lac_status status = LAC_OK;
  lac_partition *rows = NULL;
  lac_pattern *pattern = NULL;
  lac_map *entries = NULL;
  lac_array *a = NULL, *x = NULL;
  lac_tape *tape = NULL;
  lac_var in[2], bar[2], y, loss;

  LAC_TRY(lac_partition_create(ctx, 2, &rows));
  LAC_TRY(lac_pattern_distributed(ctx, rows, rows, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &pattern, &entries));
  LAC_TRY(lac_array_partitioned(ctx, LAC_F32, 1, &(int64_t){3}, lac_pattern_entries(pattern), 0, (float[]){1, 2, 3},
                                LAC_OWNERSHIP_COPY, &a));
  LAC_TRY(lac_array_partitioned(ctx, LAC_F32, 2, field, rows, 0, (float[]){1, 2, 3, 4}, LAC_OWNERSHIP_COPY, &x));
  LAC_TRY(lac_context_agree(ctx, lac_tape_create(ctx, LAC_TAPE_RECORD, &tape)));
  in[0] = lac_tape_leaf(tape, a), in[1] = lac_tape_leaf(tape, x);
  y = lac_spmm(tape, pattern, in[0], in[1], LAC_PLAIN);
  y = lac_add(tape, y, lac_spmm(tape, pattern, in[0], y, LAC_TRANSPOSED));
  loss = lac_add(tape, lac_dot(tape, y, y), lac_sum(tape, lac_sddmm(tape, pattern, y, in[1])));
  LAC_TRY(lac_tape_vjp(tape, 1, &loss, NULL, 2, in, bar, LAC_GRAPH_NONE));
done:
  lac_tape_destroy(&tape);
  lac_array_destroy(&a);
  lac_array_destroy(&x);
  lac_map_destroy(&entries);
  lac_pattern_destroy(&pattern);
  lac_partition_destroy(&rows);
  return status;
}

static void every_failing_allocation_of_one_rank_fails_all_and_leaks_nothing(lac_context *ctx) {
  int failures = 0;

  lac_program_forget(ctx, NULL);
  const int64_t live = mpi_live_blocks();

  for (int64_t n = 1;; ++n) {
    lac_status status;

    if (is_culprit()) (void)lac_memory_fail_at(n);
    status = whole_life(ctx);
    if (is_culprit()) (void)lac_memory_fail_at(0);
    lac_program_forget(ctx, NULL);  // a cache, not a leak; and the next time writes its programs anew
    CHECK(mpi_live_blocks() == live);
    if (status == LAC_OK) break;
    CHECK(status == expected(LAC_ERR_MEMORY));
    names_the_culprit(ctx);
    lac_context_clear_error(ctx);
    ++failures;
  }
  CHECK(failures > 20);
  CHECK_OK(whole_life(ctx));
}

// -- attaching -------------------------------------------------------------------------------------------------------

static int broken_exchange(void *self, const void *send, const int64_t *send_offsets, void *receive,
                           const int64_t *receive_offsets) {
  (void)self, (void)send, (void)send_offsets, (void)receive, (void)receive_offsets;
  return 5;
}

static void broken_communicator_is_an_error_with_its_code(lac_context *ctx) {
  const int64_t offsets[] = {0, 1}, column = 0;
  lac_comm broken = lac_comm_self();
  lac_partition *rows = NULL;
  lac_pattern *pattern = NULL;

  broken.exchange = broken_exchange;
  CHECK_OK(lac_context_attach(ctx, &broken));
  CHECK_OK(lac_partition_create(ctx, 1, &rows));
  CHECK_FAILS(lac_pattern_distributed(ctx, rows, rows, LAC_I64, offsets, &column, LAC_WIDTH_AUTO, &pattern, NULL),
              LAC_ERR_BACKEND, "the library returned code 5");
  lac_partition_destroy(&rows);
}

static void attaching_refuses_an_incomplete_communicator(lac_context *ctx) {
  lac_comm comm = lac_comm_self();

  comm.sum = NULL;
  CHECK_FAILS(lac_context_attach(ctx, &comm), LAC_ERR_ARG, "lacks a function");
  comm = lac_comm_self();
  comm.rank = 3;
  CHECK_FAILS(lac_context_attach(ctx, &comm), LAC_ERR_ARG, "rank 3 of 1");
  CHECK(lac_comm_mpi(NULL, &comm) == LAC_ERR_ARG);
}

MPI_CHECK_MAIN(status_is_agreed_on, first_of_several_culprits_is_named,
               wrong_shape_on_one_rank_fails_the_product_on_all, local_error_on_one_rank_fails_the_next_product_on_all,
               stale_values_on_one_rank_fail_the_gradient_on_all, failing_kernel_on_one_rank_fails_on_all,
               unsupported_operators_say_so, plain_context_refuses_a_distributed_pattern,
               every_failing_allocation_of_one_rank_fails_all_and_leaks_nothing,
               broken_communicator_is_an_error_with_its_code, attaching_refuses_an_incomplete_communicator)
