// SPDX-License-Identifier: Apache-2.0
/// @file program_function.c
/// Writing programs: a function composed of operators emits on a tape that only writes.

#include <stdio.h>
#include <string.h>

#include "autodiff/rule.h"
#include "autodiff/tape_impl.h"

/// The inputs of a program, which the function reads.
static lac_status function_declare(lac_program *program, const lac_request *q, lac_var *in) {
  lac_context *ctx = program->tape->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < q->ins; i++) {
    LAC_TRY(lac_meta_check(ctx, q->function->function->name, &q->in[i]));
    LAC_TRY(lac_program_declare(program, LAC_ROLE_IN, i, &q->in[i], &in[i]));
  }
done:
  return status;
}

/// What the function gave becomes the results.
static lac_status function_deliver(lac_program *program, const char *name, int outs, const lac_var *out) {
  lac_context *ctx = program->tape->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(outs >= 1 && outs <= LAC_FUNCTION_OUTS, LAC_ERR_ARG, "%s: it gives %d results; 1 to %d are possible", name,
            outs, LAC_FUNCTION_OUTS);
  LAC_TRY(lac_program_deliver(program, outs));
  for (int i = 0; i < outs; i++) {
    int place = lac_tape_place(program->tape, out[i]);
    LAC_CHECK(place, LAC_ERR_ABSENT, "%s: result %d is absent; an input that it needs was not given", name, i);
    program->result[i] =
        (lac_port){.role = LAC_ROLE_OUT, .index = i, .var = place, .meta = program->tape->vars[place].meta};
  }
done:
  return status;
}

/// Let the sentence of an operator, pattern or solver that a function works with begin with the function's name, which
/// alone the caller knows.
static lac_status function_name(lac_context *ctx, const char *name, lac_status status) {
  char sentence[LAC_SENTENCE_SIZE];
  size_t length = strlen(name);

  snprintf(sentence, sizeof sentence, "%s", lac_context_error(ctx));
  if (status == LAC_OK || (strncmp(sentence, name, length) == 0 && sentence[length] == ':')) return status;
  return lac_context_fail(ctx, status, __func__, "%s: %s", name, sentence);
}

lac_status lac_program_write_function(lac_context *ctx, const lac_request *q, lac_program **out) {
  lac_status status = LAC_OK;
  const lac_function_spec *spec = q->function;
  lac_program *program = NULL;
  lac_var *in = NULL, results[LAC_FUNCTION_OUTS] = {{0}};
  lac_function_call call = {.outs = 1, .out = results};

  LAC_ALLOC(in, q->ins);
  LAC_TRY(lac_program_open(ctx, TAPE_FUNCTION, &program));
  LAC_TRY(function_declare(program, q, in));
  call.tape = program->tape, call.in = in, call.ins = q->ins;
  call.objects = spec->objects, call.object = spec->object;
  call.ints = spec->ints, call.i = spec->i, call.reals = spec->reals, call.f = spec->f;
  spec->function->write(&call);
  LAC_TRY(function_name(ctx, spec->function->name, program->tape->status));
  LAC_TRY(function_deliver(program, spec->function->name, call.outs, results));
  LAC_TRY(lac_program_finish(program));
  *out = program, program = NULL;
done:
  lac_program_destroy(&program);
  lac_free(in);
  return status;
}
