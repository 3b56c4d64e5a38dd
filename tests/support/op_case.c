// SPDX-License-Identifier: Apache-2.0
/// @file op_case.c
/// The battery: every dtype, every width, every subset of inputs, section by section.

#include "support/op_case.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/object.h"
#include "kernels/kernels.h"
#include "support/op_case_impl.h"
#include "support/scratch.h"

static const char *width_name(lac_width width) {
  static const char *const names[] = {"32/32", "32/32", "64/32", "64/64"};
  return names[width];
}

const char *op_text(const char *format, ...) {
  enum { LONGEST = 80 };
  char *text = scratch(LONGEST);
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, LONGEST, format, arguments);
  va_end(arguments);
  return text;
}

lac_meta op_shape(const op_case *c, lac_dtype dtype, const char *text) {
  lac_meta meta = {.dtype = dtype};
  while (*text) {
    int64_t size = 0;
    if (strncmp(text, "nnz", 3) == 0) {
      text += 3;
      size = c->patterns[*text >= '1' && *text <= '2' ? *text++ - '0' : 0]->nnz;
    } else {
      char *end = NULL;
      size = strtoll(text, &end, 10);
      text = end;
    }
    meta.shape[meta.ndim++] = size;
    if (*text == ',') ++text;
  }
  return meta;
}

lac_dtype op_real_dtype(const op_case *c, int output, lac_dtype dtype) {
  (void)c, (void)output;
  return dtype == LAC_C64 ? LAC_F32 : dtype == LAC_C128 ? LAC_F64 : dtype;
}

lac_meta op_result(const op_case *c, int output, lac_dtype dtype) {
  return op_shape(c, c->result_dtype ? c->result_dtype(c, output, dtype) : dtype, c->result[output]);
}

// -- what holds ------------------------------------------------------------------------------------------------------

static void op_say(const op_run *r, const char *format, va_list arguments) {
  (void)fprintf(r->out, "  %s (%s, %s): ", r->c->op, lac_dtype_name(r->setup.dtype), width_name(r->setup.width));
  (void)vfprintf(r->out, format, arguments);
  (void)fprintf(r->out, "\n");
}

void op_expect(op_run *r, op_section section, bool holds, const char *format, ...) {
  ++r->checks;
  if (holds) return;
  r->failed |= section;
  if (!r->out) return;
  va_list arguments;
  va_start(arguments, format);
  op_say(r, format, arguments);
  va_end(arguments);
}

bool op_succeeded(op_run *r, op_section section, lac_status status, const char *what) {
  op_expect(r, section, status == LAC_OK, "%s: %s: %s [%s]", what, lac_status_name(status), lac_context_error(r->ctx),
            lac_context_trace(r->ctx));
  r->is_stopped |= status != LAC_OK;
  return status == LAC_OK;
}

void op_expect_close(op_run *r, op_section section, const ref *got, const ref *want, double tolerance,
                     const char *format, ...) {
  // Differences leave rounding errors of the size of the inputs, which is 1, where the derivative is zero.
  double floor = section & (OP_TANGENT | OP_GRADIENT | OP_SECOND) ? 0x1p-4 : 0;
  double most = fmax(ref_max(want), floor), worst = 0;
  bool same_shape = got->meta.ndim == want->meta.ndim && got->count == want->count;
  for (int d = 0; same_shape && d < got->meta.ndim; ++d) same_shape = got->meta.shape[d] == want->meta.shape[d];
  for (int64_t i = 0; same_shape && i < got->count; ++i) {
    double apart = cabs(got->x[i] - want->x[i]);
    if (!(apart <= worst)) worst = apart;  // NaN is the worst
  }
  ++r->checks;
  if (same_shape && worst <= tolerance * (most > 0 ? most : 1)) return;
  r->failed |= section;
  if (!r->out) return;
  va_list arguments;
  va_start(arguments, format);
  op_say(r, format, arguments);
  va_end(arguments);
  (void)fprintf(r->out, "    %s: %.3g apart, the largest number is %.3g, the tolerance %.3g\n",
                same_shape ? "numbers differ" : "shapes differ", worst, most, tolerance);
}

void op_expect_bits(op_run *r, op_section section, const ref *got, const ref *want, const char *what, int i) {
  bool same = got->count == want->count && memcmp(got->x, want->x, (size_t)got->count * sizeof *got->x) == 0;
  op_expect(r, section, same, "%s %d differs in its bits", what, i);
}

double op_tolerance(const op_run *r, double factor) {
  bool is_single = r->setup.dtype == LAC_F32 || r->setup.dtype == LAC_C64;
  return factor * (is_single ? 0x1p-23 : 0x1p-52) * (r->c->slack > 0 ? r->c->slack : 1);
}

double op_step(const op_run *r) { return r->setup.dtype == LAC_F32 || r->setup.dtype == LAC_C64 ? 0x1p-5 : 0x1p-10; }
double op_step_tolerance(const op_run *r) {
  double h = op_step(r), slack = r->c->slack > 0 ? r->c->slack : 1;
  return op_tolerance(r, 64) / h + h * h * h * h * slack;  // rounding, and what the four points leave
}

// -- setting up ------------------------------------------------------------------------------------------------------

lac_status op_setup_open(op_run *r, op_setup *setup) {
  *setup = r->setup;
  memset(setup->patterns, 0, sizeof setup->patterns);
  lac_status status = LAC_OK;
  for (int p = 0; p < LAC_MAX_PATTERNS && status == LAC_OK; ++p) {
    const sketch *s = r->c->patterns[p];
    const int64_t *block = r->c->blocks[p];
    if (s && !block[0]) status = sketch_pattern(r->ctx, s, setup->width, &setup->patterns[p]);
    if (s && block[0]) status = sketch_block_pattern(r->ctx, s, block[0], block[1], setup->width, &setup->patterns[p]);
  }
  return status;
}

void op_setup_close(op_setup *setup) {
  for (int p = 0; p < LAC_MAX_PATTERNS; ++p) lac_pattern_destroy(&setup->patterns[p]);
}

void op_point_draw(op_run *r, op_point *p) {
  lac_dtype dtype = r->setup.dtype;
  for (int i = 0; i < r->ins; ++i) {
    lac_meta meta = op_shape(r->c, dtype, r->c->shapes[i]);
    ref *all[] = {&p->in[i], &p->x_dot[i], &p->z_bar[i]};
    for (int j = 0; j < 3; ++j) {
      *all[j] = ref_new(&meta);
      ref_random(all[j], (uint64_t)(100 * i + j + 1), r->is_complex);
    }
    if (r->c->fill) r->c->fill(r->c, i, &p->in[i]);
  }
  for (int o = 0; o < r->outs; ++o) {
    lac_meta meta = op_result(r->c, o, dtype);
    p->y_bar[o] = ref_new(&meta), p->y_bar_dot[o] = ref_new(&meta);
    ref_random(&p->y_bar[o], (uint64_t)(1000 + o), meta.dtype >= LAC_C64);
    ref_random(&p->y_bar_dot[o], (uint64_t)(2000 + o), meta.dtype >= LAC_C64);
  }
}

static void point_set_dtype(op_run *r, lac_dtype dtype) {
  op_point *p = &r->point;
  for (int i = 0; i < r->ins; ++i) p->in[i].meta.dtype = p->x_dot[i].meta.dtype = p->z_bar[i].meta.dtype = dtype;
  for (int o = 0; o < r->outs; ++o) {
    p->y_bar[o].meta.dtype = p->y_bar_dot[o].meta.dtype = op_result(r->c, o, dtype).dtype;
  }
}

// -- the battery -----------------------------------------------------------------------------------------------------

static bool goes_on(const op_run *r, uint32_t sections) { return r->sections & sections && !r->is_stopped; }

bool op_is_on_device(const op_run *r) { return r->ctx->kernels->claims; }

/// For sections that do not depend on numbers and indices, such as what follows a failing allocation. The CPU goes
/// through them at every dtype and width; a device, where every look at a number waits, at one.
static bool goes_on_once(const op_run *r, uint32_t section) {
  bool is_first = r->setup.width == LAC_WIDTH_32_32 && r->setup.dtype == LAC_F64;
  return goes_on(r, section) && (is_first || !op_is_on_device(r));
}

static void run_sections(op_run *r) {
  size_t mark = scratch_mark();
  uint32_t all = op_all_inputs(r), first = all && op_is_on_device(r) ? all : 1;  // subsets are the rules' affair

  if (goes_on(r, OP_VALUES)) op_check_values(r);
  if (goes_on(r, OP_OPERATOR)) op_check_operator(r);
  for (uint32_t wants = first; wants <= all; ++wants) {
    if (goes_on(r, OP_ADJOINT | OP_TANGENT | OP_GRADIENT)) op_check_first(r, wants);
    if (goes_on(r, OP_SECOND)) op_check_second(r, wants);
    scratch_release(mark);
  }
  if (goes_on_once(r, OP_MEMORY)) op_check_memory(r);
  if (goes_on(r, OP_SCALE)) op_check_scale(r);
  if (goes_on_once(r, OP_INPUT)) op_check_input(r);
  if (goes_on(r, OP_THREADS)) op_check_threads(r);
  if (goes_on(r, OP_THREADS) && op_is_on_device(r)) op_check_other_backend(r);
  scratch_release(mark);
}

/// The highest order of derivatives that the battery compares.
static int order_of(const op_run *r) {
  return r->sections & OP_SECOND ? 2 : r->sections & (OP_ADJOINT | OP_TANGENT | OP_GRADIENT) ? 1 : 0;
}

static bool has_blocks(const op_case *c) {
  for (int p = 0; p < LAC_MAX_PATTERNS; ++p) {
    if (c->blocks[p][0] > 0) return true;
  }
  return false;
}

/// What was checked, for scripts/test and scripts/check-support.
static void print_count(const op_run *r) {
  (void)fprintf(r->out, "count: operator=%s cases=%d dtype=%s width=%s backend=%s order=%d batch=%d blocks=%d\n",
                r->c->op, r->checks, lac_dtype_name(r->setup.dtype), width_name(r->setup.width),
                check_is_shadow() ? "shadow" : lac_context_backend(r->ctx), order_of(r), r->is_batched,
                has_blocks(r->c));
}

/// All widths of one dtype. A case without patterns has one, and so has a shadow.
static void run_dtype(op_run *r, lac_dtype dtype) {
  bool is_short = !r->c->patterns[0] || check_is_shadow() || check_is_quick();
  lac_width last = is_short ? LAC_WIDTH_32_32 : LAC_WIDTH_64_64;
  point_set_dtype(r, dtype);
  r->is_stopped = false;
  for (int width = LAC_WIDTH_32_32; width <= (int)last && !r->is_stopped; ++width) {
    r->setup = (op_setup){.c = r->c, .ctx = r->ctx, .dtype = dtype, .width = (lac_width)width};
    r->checks = 0, r->is_batched = false;
    lac_status status = op_setup_open(r, &r->setup);
    if (status == LAC_OK) run_sections(r);
    if (status != LAC_OK) op_expect(r, OP_VALUES, false, "patterns: %s", lac_context_error(r->ctx));
    if (r->out && !r->is_stopped) {
      check_battery(1);
      print_count(r);
    }
    op_setup_close(&r->setup);
  }
}

/// Whether the backend claims the operator for a dtype and these patterns.
static bool has_operator(const op_run *r, lac_dtype dtype) {
  return lac_claims_have(r->ctx->kernels->claims, LAC_CLAIM_OPERATOR, r->c->op, dtype, has_blocks(r->c));
}

/// What a backend does not claim is left out, and must say itself that it is not there: a list of claims is neither too
/// long nor too short. A function may do without its operator, as conj does on reals; and what needs a solver may work
/// by one on the host, to which arrays travel.
static void leave_out(op_run *r, lac_dtype dtype) {
  lac_status status;
  bool is_called = false, may_work = r->c->needs != NULL;
  point_set_dtype(r, dtype);
  r->setup = (op_setup){.c = r->c, .ctx = r->ctx, .dtype = dtype, .width = LAC_WIDTH_32_32};
  status = op_setup_open(r, &r->setup);
  if (status == LAC_OK) is_called = op_is_called(r, &status);
  op_setup_close(&r->setup);
  op_expect(r, OP_CLAIMS, status == LAC_ERR_UNSUPPORTED || (status == LAC_OK && (may_work || !is_called)),
            "not claimed, and gives %s: a backend says in its claims.def what it has", lac_status_name(status));
  if (!r->out) return;
  check_battery(0);
  (void)fprintf(r->out, "skip: not claimed (%s): %s\n", lac_dtype_name(dtype), lac_context_error(r->ctx));
}

/// A dtype that the operator does not take is refused by it.
static void refuse_dtype(op_run *r, lac_dtype dtype) {
  op_first got;
  point_set_dtype(r, dtype);
  r->setup = (op_setup){.c = r->c, .ctx = r->ctx, .dtype = dtype, .width = LAC_WIDTH_32_32};
  got.status = op_setup_open(r, &r->setup);
  if (got.status == LAC_OK) got = op_differentiate(r, &r->setup, &r->point, 0, ASK_Y);
  op_expect(r, OP_INPUT, got.status == LAC_ERR_DTYPE, "should be refused with LAC_ERR_DTYPE, and gives %s",
            lac_status_name(got.status));
  op_setup_close(&r->setup);
}

static bool takes(const op_run *r, lac_dtype dtype) { return !r->c->dtypes || r->c->dtypes >> dtype & 1; }

/// Where a part is enough, one real and one complex dtype are.
static bool is_passed_over(lac_dtype dtype) { return check_is_quick() && dtype != LAC_F64 && dtype != LAC_C64; }

/// Single and double; the dense formula is for what runs. Returns whether all that the operator takes did.
static bool run_dtypes_of(op_run *r, const lac_dtype dtypes[2]) {
  bool runs[2], all = true;
  for (int i = 0; i < 2; ++i) runs[i] = takes(r, dtypes[i]) && has_operator(r, dtypes[i]);
  if (runs[0] || runs[1]) op_oracle_ask(r);
  for (int i = 0; i < 2; ++i) {
    if (is_passed_over(dtypes[i])) {
      all &= runs[i] || !takes(r, dtypes[i]);
    } else if (runs[i]) {
      run_dtype(r, dtypes[i]);
    } else if (takes(r, dtypes[i])) {
      leave_out(r, dtypes[i]);
      all = false;
    } else if (r->sections & OP_INPUT && has_operator(r, dtypes[i])) {
      refuse_dtype(r, dtypes[i]);
    }
  }
  return all;
}

/// Real and complex. Returns whether all that the operator takes ran.
static bool run_dtypes(op_run *r) {
  size_t mark = scratch_mark();
  bool all = true;
  for (int is_complex = 0; is_complex <= 1; ++is_complex) {
    r->is_complex = is_complex;
    r->setup = (op_setup){.c = r->c, .ctx = r->ctx, .dtype = is_complex ? LAC_C128 : LAC_F64, .width = LAC_WIDTH_32_32};
    op_point_draw(r, &r->point);
    all &= run_dtypes_of(r, is_complex ? (lac_dtype[]){LAC_C64, LAC_C128} : (lac_dtype[]){LAC_F32, LAC_F64});
    scratch_release(mark);
  }
  return all;
}

static uint32_t wrong_operator(const op_run *r, const char *sentence) {
  if (r->out) (void)fprintf(r->out, "  %s: %s\n", r->c->op, sentence);
  return OP_OPERATOR;
}

static uint32_t run_battery(lac_context *ctx, const op_case *c, uint32_t sections, FILE *out) {
  size_t mark = scratch_mark();
  op_run r = {.c = c, .ctx = ctx, .out = out, .sections = sections & ~c->skip};
  if (check_is_shadow()) r.sections &= OP_VALUES | OP_OPERATOR | OP_ADJOINT | OP_TANGENT | OP_GRADIENT | OP_SECOND;
  r.op = c->user_op ? c->user_op : lac_op_find(c->op);
  if (!r.op) return wrong_operator(&r, "ops.def has no operator of this name");
  if (strcmp(r.op->name, c->op) != 0) return wrong_operator(&r, "the user's operator has another name");
  while (r.ins < OP_MAX_IN && c->shapes[r.ins]) ++r.ins;
  while (r.outs < OP_MAX_OUT && c->result[r.outs]) ++r.outs;
  bool is_judged = run_dtypes(&r) && goes_on(&r, OP_OPERATOR);
  if (is_judged && !r.is_called) r.failed |= wrong_operator(&r, "`apply` did not call the operator in any dtype");
  scratch_release(mark);
  lac_context_clear_error(ctx);
  return r.failed;
}

void check_op(lac_context *ctx, const op_case *c) {
  if (run_battery(ctx, c, ~0u, stdout)) check_fail(__FILE__, __LINE__, "the operator %s does not pass", c->op);
}

void check_op_large(lac_context *ctx, const op_case *c) {
  if (run_battery(ctx, c, OP_THREADS | OP_OPERATOR, stdout)) {
    check_fail(__FILE__, __LINE__, "the operator %s does not pass at size", c->op);
  }
}

uint32_t check_op_sections(lac_context *ctx, const op_case *c, FILE *out) { return run_battery(ctx, c, ~0u, out); }
