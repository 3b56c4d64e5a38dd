// SPDX-License-Identifier: Apache-2.0
/// @file session.c
/// The calls of cuDSS, on the stream of a context and with memory of its device.

#include "solvers/engines/cudss/session.h"

#include <stdio.h>
#include <string.h>

#include "core/number_at.h"
#include "kernels/kernels.h"

struct cudss_session {
  const cudss_library *l;
  lac_space *space;
  lac_pattern *pattern;  // held: cuDSS reads its indices
  cudss_nature nature;
  cudss_handle handle;
  cudss_config config;
  cudss_data data;
  cudss_matrix a;
  cudss_memory memory;
  void *stream;     // of the last call
  int64_t bytes;    // of device memory
  size_t asked;     // bytes of the last request for memory; 0: there was none
  bool is_refused;  // a request of the last call
};

// -- the device and its memory ---------------------------------------------------------------------------------------

/// cuDSS works on the device that is current.
static int session_enter(cudss_session *s) { return s->space->enter ? s->space->enter(s->space) : 0; }
static void session_leave(cudss_session *s, int before) {
  if (s->space->leave) s->space->leave(s->space, before);
}

/// A request for nothing is met by nothing, as by cudaMalloc: cuDSS would take a failure for a lack of memory.
static int session_allocate(void *self, void **data, size_t bytes, void *stream) {
  cudss_session *s = self;
  (void)stream;
  *data = NULL;
  if (bytes == 0) return 0;
  s->asked = bytes;
  *data = s->space->allocate(s->space, bytes, s->stream);
  if (*data) {
    s->bytes += (int64_t)bytes;
  } else {
    s->is_refused = true;
  }
  return *data ? 0 : 1;
}

/// What cuDSS gives back is complete, since whoever calls it waits for it: the stream for which it was taken may be
/// another one than that of the last call.
static int session_release(void *self, void *data, size_t bytes, void *stream) {
  cudss_session *s = self;
  (void)stream;
  if (!data) return 0;
  s->space->release(s->space, data, bytes, s->stream);
  s->bytes -= (int64_t)bytes;
  return 0;
}

/// What a call had of memory, for the sentence of its failure.
static const char *session_memory(const cudss_session *s, char text[64]) {
  const char *met = s->is_refused ? "refused" : "met";
  if (!s->nature.lends) return "memory is its own";
  if (s->asked == 0) return "it had asked for no memory";
  snprintf(text, 64, "its last request, of %zu bytes, was %s", s->asked, met);
  return text;
}

/// A lack of memory where all that was asked for was given is a failure of another kind.
static lac_status session_end(lac_context *ctx, cudss_session *s, int before, int outcome, const char *call) {
  static const lac_status statuses[] = {
      [CUDSS_OK] = LAC_OK, [CUDSS_LACKS_MEMORY] = LAC_ERR_MEMORY, [CUDSS_UNSUPPORTED] = LAC_ERR_UNSUPPORTED};
  static const char *const reasons[] = {"success",          "not initialised",  "out of device memory",
                                        "an invalid value", "not supported",    "execution failed",
                                        "internal error",   "refinement failed"};
  bool is_known = outcome >= 0 && outcome < (int)(sizeof reasons / sizeof *reasons);
  lac_status status = outcome <= CUDSS_UNSUPPORTED && outcome >= 0 ? statuses[outcome] : LAC_ERR_BACKEND;
  char memory[64];

  session_leave(s, before);
  if (outcome == CUDSS_OK) return LAC_OK;
  if (status == LAC_OK || (status == LAC_ERR_MEMORY && s->nature.lends && !s->is_refused)) status = LAC_ERR_BACKEND;
  return lac_context_fail(ctx, status, call, "cudss: %s of cuDSS %s fails with code %d: %s; %s", call, s->l->version,
                          outcome, is_known ? reasons[outcome] : "a code of its own", session_memory(s, memory));
}

// -- making one ------------------------------------------------------------------------------------------------------

static int session_type(lac_dtype dtype) {
  static const int types[] = {[LAC_F32] = 0, [LAC_F64] = 1, [LAC_C64] = 4, [LAC_C128] = 5};  // as cudaDataType
  return types[dtype];
}
static int session_index_type(lac_index_type type) { return type == LAC_I32 ? 10 : 24; }

static int session_set(cudss_session *s, int what, int value) {
  return what < 0 ? CUDSS_OK : s->l->config_set(s->config, what, &value, sizeof value);
}

/// Pivots are small relative to their rows and columns, whatever the units of these are. Where rows are matched they
/// are scaled too, and cuDSS refuses to have both.
static int session_configure(cudss_session *s) {
  const cudss_names *names = &s->l->names;
  int outcome = s->l->config_create(&s->config);

  if (outcome == CUDSS_OK) outcome = session_set(s, names->repeats, s->nature.repeats);
  if (outcome == CUDSS_OK && !s->nature.matches) outcome = session_set(s, names->pivot_scaling, CUDSS_SCALED);
  if (outcome == CUDSS_OK) outcome = session_set(s, names->use_matching, s->nature.matches);
  if (outcome == CUDSS_OK && (s->nature.matches || names->use_matching < 0))
    outcome = session_set(s, names->matching, s->nature.matches ? CUDSS_MATCHES : CUDSS_MATCHES_NOT);
  if (outcome == CUDSS_OK && s->nature.items > 1) outcome = session_set(s, names->batch, (int)s->nature.items);
  return outcome;
}

/// *call is the one that failed.
static int session_open(cudss_session *s, const char **call) {
  int outcome = s->l->create(&s->handle);

  *call = "cudssCreate";
  if (outcome == CUDSS_OK) *call = "cudssSetStream", outcome = s->l->set_stream(s->handle, s->stream);
  if (outcome == CUDSS_OK && s->nature.lends)
    *call = "cudssSetDeviceMemHandler", outcome = s->l->set_memory(s->handle, &s->memory);
  if (outcome == CUDSS_OK) *call = "cudssConfigSet", outcome = session_configure(s);
  if (outcome == CUDSS_OK) *call = "cudssDataCreate", outcome = s->l->data_create(s->handle, &s->data);
  return outcome;
}

/// The pattern where cuDSS reads it.
static lac_status session_describe(lac_context *ctx, cudss_session *s, const lac_array *values) {
  lac_status status = LAC_OK;
  const lac_pattern *p = s->pattern;
  const void *offsets = NULL, *columns = NULL;
  const int types[] = {session_index_type(p->offsets->type), session_index_type(p->columns->type),
                       session_type(s->nature.dtype)};
  int view = s->nature.of == CUDSS_GENERAL ? CUDSS_WHOLE : CUDSS_LOWER, before;

  LAC_CHECK(s->l->has_offset_type || types[0] == types[1], LAC_ERR_UNSUPPORTED,
            "lac_solver_factor: cuDSS %s takes offsets and columns of one width alone, those of the pattern have two; "
            "make it with 64-bit indices, or install cuDSS 0.8 or later",
            s->l->version);
  LAC_TRY(lac_buffer_on(ctx, p->offsets, &offsets));
  LAC_TRY(lac_buffer_on(ctx, p->columns, &columns));
  before = session_enter(s);
  LAC_TRY(session_end(ctx, s, before,
                      lac_cudss_create_csr(s->l, p->rows, p->nnz, offsets, columns, values->storage->data, types,
                                           s->nature.of, view, &s->a),
                      "cudssMatrixCreateCsr"));
done:
  return status;
}

static lac_status session_execute(lac_context *ctx, cudss_session *s, int phase, const void *b, void *x,
                                  const char *call) {
  lac_status status = LAC_OK;
  int64_t n = s->pattern->rows;
  int type = session_type(s->nature.dtype), before = session_enter(s), outcome;
  cudss_matrix right = NULL, left = NULL;

  s->is_refused = false;
  outcome = s->l->create_dense(&right, n, 1, n, b, type, CUDSS_BY_COLUMNS);
  if (outcome == CUDSS_OK) outcome = s->l->create_dense(&left, n, 1, n, x, type, CUDSS_BY_COLUMNS);
  s->stream = ctx->stream;
  if (outcome == CUDSS_OK) outcome = s->l->set_stream(s->handle, s->stream);
  if (outcome == CUDSS_OK) outcome = s->l->execute(s->handle, phase, s->config, s->data, s->a, left, right);
  if (right) (void)s->l->matrix_destroy(right);
  if (left) (void)s->l->matrix_destroy(left);
  LAC_TRY(session_end(ctx, s, before, outcome, call));
done:
  return status;
}

/// Steps that read no right-hand side: cuDSS wants one nevertheless, and the memory of the values stands in for it.
static lac_status session_prepare(lac_context *ctx, cudss_session *s, int phase, const lac_array *values,
                                  const char *call) {
  return session_execute(ctx, s, phase, values->storage->data, values->storage->data, call);
}

/// What cuDSS foresees in bytes of the device: of its estimates, the first is what stays, the second the peak of
/// factoring and solving; -1: not known.
static int64_t session_foresee(cudss_session *s, int which) {
  int64_t estimates[16] = {0};
  size_t written = 0;
  int before = session_enter(s);
  int outcome = s->l->data_get(s->handle, s->data, s->l->names.estimates, estimates, sizeof estimates, &written);
  session_leave(s, before);
  return outcome == CUDSS_OK ? estimates[which] : -1;
}

lac_status lac_cudss_session_create(lac_context *ctx, const cudss_library *l, const lac_pattern *pattern,
                                    const cudss_nature *nature, const lac_array *values, cudss_session **out) {
  lac_status status = LAC_OK;
  cudss_session *s = NULL;
  const char *call = NULL;
  int before, outcome;

  LAC_ALLOC(s, 1);
  s->l = l;
  s->space = ctx->space;
  s->pattern = lac_pattern_retain(pattern);
  s->nature = *nature;
  s->stream = ctx->stream;
  s->memory = (cudss_memory){s, session_allocate, session_release, "lacuna"};
  before = session_enter(s);
  outcome = session_open(s, &call);
  LAC_TRY(session_end(ctx, s, before, outcome, call));
  LAC_TRY(session_describe(ctx, s, values));
  LAC_TRY(session_prepare(ctx, s, CUDSS_ANALYSE, values, "the analysis"));
  if (!s->nature.lends && session_foresee(s, 0) > 0) s->bytes = session_foresee(s, 0);
  *out = s, s = NULL;
done:
  lac_cudss_session_destroy(s);
  return status;
}

lac_status lac_cudss_session_fits(lac_context *ctx, cudss_session *s, int64_t most) {
  lac_status status = LAC_OK;
  int64_t peak = session_foresee(s, 1);

  LAC_CHECK(most <= 0 || peak <= most, LAC_ERR_MEMORY,
            "lac_solver_factor: cuDSS foresees %lld bytes of device memory, and max_bytes is %lld; raise it, or "
            "iterate (method = \"cg\" or \"gmres\")",
            (long long)peak, (long long)most);
done:
  return status;
}

void lac_cudss_session_destroy(cudss_session *s) {
  if (!s) return;
  int before = session_enter(s);
  if (s->a) (void)s->l->matrix_destroy(s->a);
  if (s->handle) (void)s->l->set_stream(s->handle, NULL);  // that of the last call may be gone
  if (s->data) (void)s->l->data_destroy(s->handle, s->data);
  if (s->config) (void)s->l->config_destroy(s->config);
  if (s->handle) (void)s->l->destroy(s->handle);
  session_leave(s, before);
  lac_pattern_destroy(&s->pattern);
  lac_free(s);
}

const cudss_nature *lac_cudss_session_nature(const cudss_session *s) { return &s->nature; }
int64_t lac_cudss_session_bytes(const cudss_session *s) { return s->bytes; }

// -- numbers ---------------------------------------------------------------------------------------------------------

/// An integer that cuDSS has in the width of columns, 0 where it does not give it.
static int64_t session_count(cudss_session *s, int what) {
  int64_t wide = 0;
  int32_t narrow = 0;
  size_t written = 0;
  bool is_narrow = s->pattern->columns->type == LAC_I32;
  int outcome = s->l->data_get(s->handle, s->data, what, is_narrow ? (void *)&narrow : &wide,
                               is_narrow ? sizeof narrow : sizeof wide, &written);
  if (outcome != CUDSS_OK) return 0;
  return is_narrow ? narrow : wide;
}

static lac_status session_look(lac_context *ctx, cudss_session *s, cudss_finding *out) {
  lac_status status = LAC_OK;
  size_t written = 0;
  int before = session_enter(s), outcome;

  *out = (cudss_finding){.flops = -1};
  lac_memory_count_wait(s->space);
  outcome = s->l->data_get(s->handle, s->data, CUDSS_INFO, &out->info, sizeof out->info, &written);
  if (outcome == CUDSS_OK) (void)s->l->data_get(s->handle, s->data, CUDSS_NNZ, &out->nnz, sizeof out->nnz, &written);
  if (outcome == CUDSS_OK && s->l->names.flops >= 0)
    (void)s->l->data_get(s->handle, s->data, s->l->names.flops, &out->flops, sizeof out->flops, &written);
  if (outcome == CUDSS_OK) out->perturbed = session_count(s, CUDSS_PIVOTS);
  LAC_TRY(session_end(ctx, s, before, outcome, "cudssDataGet"));
done:
  return status;
}

lac_status lac_cudss_session_factor(lac_context *ctx, cudss_session *s, const lac_array *values, cudss_finding *out) {
  lac_status status = LAC_OK;
  int before = session_enter(s);

  LAC_TRY(session_end(ctx, s, before, s->l->set_values(s->a, values->storage->data), "cudssMatrixSetValues"));
  LAC_TRY(session_prepare(ctx, s, CUDSS_FACTOR, values, "the factorisation"));
  LAC_TRY(session_look(ctx, s, out));
done:
  return status;
}

lac_status lac_cudss_session_solve(lac_context *ctx, cudss_session *s, bool is_transposed, const lac_array *b,
                                   lac_array *x, bool *is_able) {
  lac_status status = LAC_OK, solved;
  int mode = s->l->names.solve_mode;

  *is_able = !is_transposed || mode >= 0;
  if (!*is_able) goto done;
  (void)session_set(s, mode, is_transposed ? CUDSS_TRANSPOSED : CUDSS_PLAIN);
  solved = session_execute(ctx, s, CUDSS_SOLVE, b->storage->data, lac_array_edit(x), "the solve");
  *is_able = !is_transposed || solved != LAC_ERR_UNSUPPORTED;
  if (*is_able) {
    LAC_TRY(solved);
  } else {
    lac_context_clear_error(ctx);
  }
done:
  return status;
}

/// The sizes of pivots, which lie on the device, as two numbers.
static lac_status session_extremes(lac_context *ctx, const lac_array *pivots, double *smallest, double *largest) {
  lac_status status = LAC_OK;
  lac_dtype real = lac_dtype_real(pivots->meta.dtype);
  lac_array *sizes = NULL, *one = NULL;
  c128 room = 0;

  LAC_TRY(lac_array_create(ctx, real, 1, pivots->meta.shape, &sizes));
  LAC_TRY(lac_array_create(ctx, real, 0, NULL, &one));
  LAC_TRY(ctx->kernels->unary(ctx, LAC_ABS, pivots, sizes));
  LAC_TRY(ctx->kernels->reduce(ctx, LAC_REDUCE_MIN, sizes, 1, one));
  LAC_TRY(lac_array_fetch(ctx, one, &room));
  *smallest = creal(lac_number_get(real, &room, 0));
  LAC_TRY(ctx->kernels->reduce(ctx, LAC_REDUCE_MAX, sizes, 1, one));
  LAC_TRY(lac_array_fetch(ctx, one, &room));
  *largest = creal(lac_number_get(real, &room, 0));
done:
  lac_array_destroy(&sizes);
  lac_array_destroy(&one);
  return status;
}

lac_status lac_cudss_session_pivots(lac_context *ctx, cudss_session *s, double *smallest, double *largest) {
  lac_status status = LAC_OK;
  lac_array *pivots = NULL;
  size_t written = 0, bytes;
  int before, outcome;

  *smallest = *largest = -1;
  if (s->nature.items > 1) goto done;  // of a batch cuDSS gives those of one matrix
  LAC_TRY(lac_array_create(ctx, s->nature.dtype, 1, &s->pattern->rows, &pivots));
  bytes = lac_array_bytes(pivots);
  before = session_enter(s);
  outcome = s->l->data_get(s->handle, s->data, CUDSS_DIAGONAL, pivots->storage->data, bytes, &written);
  session_leave(s, before);
  if (outcome == CUDSS_OK && written == bytes) LAC_TRY(session_extremes(ctx, pivots, smallest, largest));
  if (*largest > 0 && (s->nature.of == CUDSS_SPD || s->nature.of == CUDSS_HPD)) {  // of those it gives the roots
    *smallest *= *smallest;
    *largest *= *largest;
  }
done:
  lac_array_destroy(&pivots);
  return status;
}
