// SPDX-License-Identifier: Apache-2.0
/// Contexts: opening, settings, and the sentences of errors.

#include <string.h>

#include "core/context_impl.h"
#include "core/object.h"
#include "support/check.h"

static void a_context_knows_its_backend(lac_context *ctx) {
  CHECK_TEXT(lac_context_backend(ctx), check_backend());
  CHECK_EQ(lac_context_device(ctx), 0);
  CHECK(strstr(lac_backends(), "cpu"));
  CHECK_TEXT(lac_version(), "0.1.0");
  CHECK_OK(lac_context_synchronize(ctx));
  CHECK_OK(lac_context_set_stream(ctx, NULL));
}

static void unknown_backends_are_named(lac_context *ctx) {
  lac_context *none = NULL;
  CHECK_EQ(lac_context_create("abacus", 0, &none), LAC_ERR_UNSUPPORTED);
  CHECK(!none);
  CHECK(strstr(lac_context_error(NULL), "abacus"));
  CHECK(strstr(lac_context_error(NULL), lac_backends()));
  CHECK_EQ(lac_context_status(NULL), LAC_ERR_UNSUPPORTED);
  CHECK_EQ(lac_context_create(NULL, 0, &none), LAC_ERR_ARG);
  CHECK_EQ(lac_context_create(check_backend(), 0, NULL), LAC_ERR_ARG);
  CHECK(lac_context_create(check_backend(), 1000, &none) != LAC_OK);
  CHECK(!none);
  CHECK_EQ(lac_context_status(ctx), LAC_OK);
  lac_context_clear_error(NULL);
  CHECK_TEXT(lac_context_error(NULL), "");
}

static void a_backend_whose_library_is_missing_is_named_with_what_brings_it(lac_context *ctx) {
  lac_context *none = NULL;
  lac_plugin_hide(true);
  CHECK_TEXT(lac_backends(), "cpu");
  CHECK_EQ(lac_context_create("cuda", 0, &none), LAC_ERR_UNSUPPORTED);
  lac_plugin_hide(false);
  CHECK(!none);
  CHECK(strstr(lac_context_error(NULL), "/liblacuna_cuda.so"));
  CHECK(strstr(lac_context_error(NULL), "nvcc"));
  CHECK(strstr(lac_context_error(NULL), "LACUNA_PLUGINS"));
  CHECK_EQ(lac_context_status(ctx), LAC_OK);
  lac_context_clear_error(NULL);
}

static void creating_a_context_fails_without_memory(lac_context *ctx) {
  lac_context *none = NULL;
  for (int64_t n = 1;; ++n) {
    lac_memory_fail_at(n);
    lac_status status = lac_context_create(check_backend(), 0, &none);
    if (lac_memory_fail_at(0) < n) {
      CHECK_EQ(status, LAC_OK);
      break;
    }
    CHECK_EQ(status, LAC_ERR_MEMORY);
    CHECK(!none);
  }
  lac_context_destroy(&none);
  lac_context_destroy(&none);
  CHECK_EQ(lac_context_status(ctx), LAC_OK);
}

static lac_status inner(lac_context *ctx, int value) {
  lac_status status = LAC_OK;
  LAC_CHECK(value > 0, LAC_ERR_SHAPE, "inner: value is %d, expected more than 0", value);
done:
  return status;
}

static lac_status outer(lac_context *ctx, int value) {
  lac_status status = LAC_OK;
  LAC_TRY(inner(ctx, value));
done:
  return status;
}

static lac_status silent(lac_context *ctx) {
  lac_status status = LAC_OK;
  LAC_TRY(LAC_ERR_STALE);
done:
  return status;
}

static void errors_keep_sentence_and_trace(lac_context *ctx) {
  CHECK_OK(outer(ctx, 1));
  CHECK_EQ(outer(ctx, -3), LAC_ERR_SHAPE);
  CHECK_TEXT(lac_context_error(ctx), "inner: value is -3, expected more than 0");
  CHECK_TEXT(lac_context_trace(ctx), "inner < outer");
  CHECK_EQ(lac_context_status(ctx), LAC_ERR_SHAPE);
  CHECK_EQ(silent(ctx), LAC_ERR_STALE);
  CHECK(strstr(lac_context_error(ctx), "LAC_ERR_STALE"));
  lac_context_clear_error(ctx);
  CHECK_EQ(lac_context_status(ctx), LAC_OK);
  CHECK_TEXT(lac_context_error(ctx), "");
}

static void long_sentences_and_traces_are_cut(lac_context *ctx) {
  char longer[3000];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  CHECK_EQ(lac_context_fail(ctx, LAC_ERR_ARG, "f", "%s", longer), LAC_ERR_ARG);
  CHECK_EQ(strlen(lac_context_error(ctx)), LAC_SENTENCE_SIZE - 1);
  for (int i = 0; i < 100; ++i) CHECK_EQ(lac_context_pass(ctx, LAC_ERR_ARG, "some_function"), LAC_ERR_ARG);
  CHECK_EQ(strlen(lac_context_trace(ctx)), LAC_TRACE_SIZE - 1);
}

static void every_status_has_a_name(lac_context *ctx) {
  (void)ctx;
  for (int s = LAC_OK; s <= LAC_ERR_INTERRUPTED; ++s) CHECK(strncmp(lac_status_name((lac_status)s), "LAC_", 4) == 0);
  CHECK_TEXT(lac_status_name(LAC_ERR_ORDER), "LAC_ERR_ORDER");
  CHECK_TEXT(lac_status_name((lac_status)999), "unknown status");
}

static void threads_are_set_and_refused(lac_context *ctx) {
  CHECK(lac_context_threads(ctx) >= 1);
  CHECK_OK(lac_context_set_threads(ctx, 2));
  CHECK_EQ(lac_context_threads(ctx), 2);
  CHECK_FAILS(lac_context_set_threads(ctx, 0), LAC_ERR_ARG, "threads is 0");
  CHECK_FAILS(lac_context_set_threads(ctx, 20000), LAC_ERR_ARG, "threads is 20000; give 1 to 1024");
  CHECK_EQ(lac_context_threads(ctx), 2);
}

/// Called with NULL: the checks look for the thread's sentence.
static void refuse_missing_context(lac_context *ctx) {
  CHECK_FAILS(lac_context_set_threads(ctx, 2), LAC_ERR_ARG, "lac_context_set_threads: the context is NULL");
  CHECK_FAILS(lac_context_set_stream(ctx, NULL), LAC_ERR_ARG, "lac_context_set_stream: the context is NULL");
  CHECK_FAILS(lac_context_synchronize(ctx), LAC_ERR_ARG, "lac_context_synchronize: the context is NULL");
  CHECK_TEXT(lac_context_backend(ctx), "");
  CHECK_EQ(lac_context_device(ctx), -1);
  CHECK_EQ(lac_context_threads(ctx), 0);
}

static void missing_contexts_are_refused(lac_context *ctx) {
  refuse_missing_context(NULL);
  CHECK_EQ(lac_context_status(ctx), LAC_OK);
  lac_context_clear_error(NULL);
}

static int destroyed;
static void count_destroyed(lac_object *object) {
  (void)object;
  ++destroyed;
}

static void objects_go_with_their_last_holder(lac_context *ctx) {
  (void)ctx;
  static const lac_kind kind = {"thing", count_destroyed};
  lac_object a, b;
  lac_object_init(&a, &kind);
  lac_object_init(&b, &kind);
  CHECK(a.id != b.id);
  CHECK(lac_object_retain(&a) == &a);
  CHECK(!lac_object_retain(NULL));
  lac_object_release(&a);
  lac_object_release(NULL);
  CHECK_EQ(destroyed, 0);
  lac_object_release(&a);
  CHECK_EQ(destroyed, 1);
}

CHECK_MAIN(a_context_knows_its_backend, unknown_backends_are_named,
           a_backend_whose_library_is_missing_is_named_with_what_brings_it, creating_a_context_fails_without_memory,
           errors_keep_sentence_and_trace, long_sentences_and_traces_are_cut, every_status_has_a_name,
           threads_are_set_and_refused, missing_contexts_are_refused, objects_go_with_their_last_holder)
