// SPDX-License-Identifier: Apache-2.0
/// @file program_key.c
/// Requests for programs as lists of words.

#include "autodiff/program_key.h"

#include <string.h>

#include "core/numbers/random.h"

static void key_add(lac_request_key *k, uint64_t word) { k->words[k->count++] = word; }

static void key_add_object(lac_request_key *k, const void *object) {
  const lac_object *o = object;

  key_add(k, o ? (uint64_t)o->id : 0);
  if (o && (!k->youngest || o->id > k->youngest->id)) k->youngest = o;
}

/// A meta, and a few bits that go with it. The first word says how many follow.
static void key_add_meta(lac_request_key *k, const lac_meta *meta, unsigned bits) {
  uint64_t spread = meta->partition ? 1 + (uint64_t)meta->partition_axis : 0;

  key_add(k, (uint64_t)meta->dtype | (uint64_t)meta->ndim << 8 | spread << 16 | (uint64_t)bits << 32);
  for (int d = 0; d < meta->ndim && d < LAC_MAX_DIMS; d++) key_add(k, (uint64_t)meta->shape[d]);
  if (spread) key_add_object(k, meta->partition);
}

enum { ATTRS = LAC_ATTR_INTS + LAC_ATTR_REALS };  // integers, then numbers

/// Most attributes are zero, and stand there as bits alone.
static void key_add_spec(lac_request_key *k, const lac_spec *spec, lac_role result) {
  uint64_t numbers[ATTRS], filled = 0;

  memcpy(numbers, spec->attrs.i, sizeof spec->attrs.i);
  memcpy(numbers + LAC_ATTR_INTS, spec->attrs.f, sizeof spec->attrs.f);
  key_add(k, (uint64_t)(uintptr_t)spec->op);
  for (int i = 0; i < LAC_MAX_PATTERNS; i++) key_add_object(k, spec->patterns[i]);
  key_add_object(k, spec->object);
  for (int i = 0; i < ATTRS; i++) filled |= (uint64_t)(numbers[i] != 0) << i;
  key_add(k, filled);
  for (int i = 0; i < ATTRS; i++) {
    if (numbers[i]) key_add(k, numbers[i]);
  }
  key_add_meta(k, &spec->attrs.like, (unsigned)spec->attrs.fit << 8 | (unsigned)result);
}

/// Counts stand first, so that no list runs into the next. Numbers stand there by their bits.
static void key_add_function(lac_request_key *k, const lac_function_spec *spec) {
  key_add(k, (uint64_t)(uintptr_t)spec->function);
  key_add(k, (uint64_t)spec->objects | (uint64_t)spec->ints << 20 | (uint64_t)spec->reals << 40);
  for (int i = 0; i < spec->objects; i++) key_add_object(k, spec->object[i]);
  for (int i = 0; i < spec->ints; i++) key_add(k, (uint64_t)spec->i[i]);
  for (int i = 0; i < spec->reals; i++) {
    uint64_t bits;
    memcpy(&bits, &spec->f[i], sizeof bits);
    key_add(k, bits);
  }
}

/// No more words than this are needed for what a request names besides its inputs.
static size_t key_room(const lac_request *q) {
  if (q->function) return 2 + (size_t)q->function->objects + (size_t)q->function->ints + (size_t)q->function->reals;
  return 4 + LAC_MAX_PATTERNS + ATTRS + 2 + LAC_MAX_DIMS + (size_t)q->outs;
}

/// Two lanes, so that the products of one do not wait for those of the other.
static uint64_t key_hash(const lac_request_key *k) {
  uint64_t a = UINT64_C(0x9e3779b97f4a7c15), b = k->count;

  for (size_t i = 0; i + 1 < k->count; i += 2) {
    a = (a ^ k->words[i]) * UINT64_C(0xbf58476d1ce4e5b9);
    b = (b ^ k->words[i + 1]) * UINT64_C(0x94d049bb133111eb);
  }
  if (k->count % 2) a ^= k->words[k->count - 1];
  return lac_random_mix(a ^ (b << 32 | b >> 32));
}

static bool request_has(const int *list, int i) { return !list || list[i]; }

lac_status lac_request_key_open(lac_context *ctx, const lac_request *q, lac_request_key *k) {
  lac_status status = LAC_OK;
  const size_t meta_words = 2 + LAC_MAX_DIMS;
  size_t most = key_room(q) + (size_t)q->ins * meta_words;
  bool is_vjp = q->result == LAC_ROLE_IN_BAR, is_jvp = q->result == LAC_ROLE_OUT_DOT;

  k->op = q->function ? NULL : q->spec->op, k->function = q->function ? q->function->function : NULL;
  k->youngest = NULL, k->count = 0, k->heap = NULL, k->words = k->few;
  if (most > REQUEST_KEY_WORDS) {
    LAC_ALLOC(k->words, most);
    k->heap = k->words;
  }
  if (q->function) {
    key_add_function(k, q->function);
  } else {
    key_add_spec(k, q->spec, q->result);
  }
  for (int i = 0; i < q->ins; i++) {
    unsigned wants = is_vjp && request_has(q->wants, i), given = is_jvp && request_has(q->given, i);
    key_add_meta(k, &q->in[i], wants << 1 | given);
  }
  for (int i = 0; i < q->outs && is_vjp; i++) key_add(k, request_has(q->given, i));
  k->hash = key_hash(k);
done:
  return status;
}
