// SPDX-License-Identifier: Apache-2.0
/// @file binds.c
/// The bindings of an operator, "pattern 0: z, op(m,n)": which letters of its signature are sizes of what is frozen.
///
/// Grammar: clause ("; " clause)*; clause: source ": " letters, or form
///   source    "pattern " digit, "bands " digit, or the word of an object (frozen.h: "map", "factor", "format")
///   letters   letter [" -> " letter], or letter ", " [form] "(" letter "," letter ")"
///   form      "op" [digit]
///
/// The text is read in each call, as the signature is. That takes some nanoseconds, and neither memory nor a lock: all
/// that stands in the way of a pattern is inlined, so that the reader stays in registers.

#include <string.h>

#include "autodiff/frozen.h"
#include "autodiff/rule.h"

/// A reader of the text of a call's operator.
typedef struct binds_reader {
  lac_call *call;
  const char *at;
} binds_reader;

/// Step over `text` where it is what comes next.
static inline bool binds_take(binds_reader *r, const char *text) {
  size_t length = strlen(text);  // a constant, so that the loop is unrolled

  for (size_t i = 0; i < length; i++) {
    if (r->at[i] != text[i]) return false;
  }
  r->at += length;
  return true;
}

static lac_status binds_refuse(binds_reader r) {
  return lac_context_fail(r.call->ctx, LAC_ERR_ARG, __func__,
                          "%s: cannot read the bindings \"%s\" from \"%s\" on; write them like \"pattern 0: z, "
                          "op(m,n); map: p -> q\"",
                          r.call->op->name, r.call->op->binds, r.at);
}

/// A digit below `end`; `absent` where there is none, or -1 for one that is too large.
static inline int binds_digit(binds_reader *r, int end, int absent) {
  if (*r->at < '0' || *r->at > '9') return absent;
  int digit = *r->at++ - '0';
  return digit < end ? digit : -1;
}

static inline lac_status binds_letter(binds_reader *r, const lac_measure *measure) {
  if (*r->at < 'a' || *r->at > 'z') return binds_refuse(*r);
  return lac_call_bind(r->call, *r->at++, measure->size, measure->partition);
}

/// "op", the form in attrs.i[0], or "op1", that in attrs.i[1]: refuse what is none.
static inline lac_status binds_form(binds_reader *r, lac_form *out) {
  int place = binds_take(r, "op") ? binds_digit(r, LAC_ATTR_INTS, 0) : -1;

  if (place < 0) return binds_refuse(*r);
  *out = (lac_form)r->call->attrs->i[place];
  return lac_call_check_form(r->call, r->call->attrs->i[place]);
}

/// "(m,n)", or "op(m,n)", rows and columns of op(A). One letter for both: the matrix is square.
static inline lac_status binds_shape(binds_reader *r, const lac_measures *sizes, const char *hint) {
  lac_context *ctx = r->call->ctx;
  lac_status status = LAC_OK;
  lac_form form = LAC_PLAIN;
  bool turns;

  if (*r->at == 'o') LAC_TRY(binds_form(r, &form));
  if (!binds_take(r, "(") || !r->at[0] || r->at[1] != ',') LAC_TRY(binds_refuse(*r));
  turns = lac_form_transposes(form);
  LAC_CHECK(r->at[0] != r->at[2] || sizes->of[1].size == sizes->of[2].size, LAC_ERR_SHAPE,
            "%s: the matrix is %lld x %lld; it must be square%s", r->call->op->name, (long long)sizes->of[1].size,
            (long long)sizes->of[2].size, hint);
  LAC_TRY(binds_letter(r, &sizes->of[turns ? 2 : 1]));
  r->at++;  // the comma
  LAC_TRY(binds_letter(r, &sizes->of[turns ? 1 : 2]));
  if (!binds_take(r, ")")) LAC_TRY(binds_refuse(*r));
done:
  return status;
}

/// What stands behind the colon: "z, op(m,n)" of a matrix, "p -> q" of a map, or one letter.
static inline lac_status binds_letters(binds_reader *r, const lac_measures *sizes, const char *hint) {
  lac_context *ctx = r->call->ctx;
  lac_status status = LAC_OK;

  if (!binds_take(r, ": ")) LAC_TRY(binds_refuse(*r));
  LAC_TRY(binds_letter(r, &sizes->of[0]));
  if (binds_take(r, ", ")) {
    LAC_TRY(binds_shape(r, sizes, hint));
  } else if (binds_take(r, " -> ")) {
    LAC_TRY(binds_letter(r, &sizes->of[1]));
  }
done:
  return status;
}

static inline lac_status binds_pattern(binds_reader *r, lac_measures *out) {
  int i = binds_digit(r, LAC_MAX_PATTERNS, -1);

  if (i < 0) return binds_refuse(*r);
  if (!r->call->patterns[i]) return lac_call_needs_pattern(r->call, i);
  lac_pattern_measure(r->call->patterns[i], out);
  return LAC_OK;
}

/// How far a band reaches below and above the diagonal, from attrs.i[k] on: the letter is the number of its diagonals.
static lac_status binds_bands(lac_call *call, int k, lac_measures *out) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  const int64_t *band = &call->attrs->i[k];

  LAC_CHECK(band[0] >= 0 && band[1] >= 0 && band[0] < LAC_MAX_COUNT && band[1] < LAC_MAX_COUNT, LAC_ERR_ARG,
            "%s: lower = %lld, upper = %lld; each must be 0 or more, and a band below %lld", call->op->name,
            (long long)band[0], (long long)band[1], (long long)LAC_MAX_COUNT);
  *out = (lac_measures){.of = {{.size = band[0] + band[1] + 1}}};
done:
  return status;
}

static lac_status binds_object(lac_call *call, const lac_frozen *wanted, lac_measures *out) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  const lac_object *object = call->object;
  const char *refusal = NULL;

  LAC_CHECK(object && wanted->fits(object), LAC_ERR_ARG, "%s: the object must be %s", call->op->name,
            wanted->asked_for);
  refusal = wanted->measure(object, out);
  LAC_CHECK(!refusal, LAC_ERR_ARG, "%s: %s", call->op->name, refusal);
  LAC_CHECK(!out->blocks || out->blocks == call->patterns[0], LAC_ERR_UNSUPPORTED,
            "%s: the %s's pattern has blocks, and one with single entries is needed; lac_pattern_scalar gives it, and "
            "the map that takes values there",
            call->op->name, object->kind->name);
done:
  return status;
}

/// The object whose word comes next, or NULL.
static const lac_frozen *binds_find_object(binds_reader *r) {
  for (const lac_frozen *one = lac_frozen_objects; one->word; one++) {
    if (binds_take(r, one->word)) return one;
  }
  return NULL;
}

/// The sizes of a source that is no pattern.
static inline lac_status binds_other(binds_reader *r, lac_measures *out, const char **hint) {
  bool is_band = binds_take(r, "bands ");
  int k = is_band ? binds_digit(r, LAC_ATTR_INTS - 1, -1) : -1;
  const lac_frozen *wanted = is_band ? NULL : binds_find_object(r);

  if (k < 0 && !wanted) return binds_refuse(*r);
  if (is_band) return binds_bands(r->call, k, out);
  *hint = wanted->hint;
  return binds_object(r->call, wanted, out);
}

static inline lac_status binds_clause(binds_reader *r) {
  lac_context *ctx = r->call->ctx;
  lac_status status = LAC_OK;
  const char *hint = "";
  lac_form form;
  lac_measures sizes = {.blocks = NULL};

  if (*r->at == 'o') return binds_form(r, &form);
  LAC_TRY(binds_take(r, "pattern ") ? binds_pattern(r, &sizes) : binds_other(r, &sizes, &hint));
  LAC_TRY(binds_letters(r, &sizes, hint));
done:
  return status;
}

lac_status lac_call_bind_frozen(lac_call *call) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  binds_reader r = {call, call->op->binds};

  do {
    LAC_TRY(binds_clause(&r));
  } while (binds_take(&r, "; "));
  if (*r.at) LAC_TRY(binds_refuse(r));
done:
  return status;
}
