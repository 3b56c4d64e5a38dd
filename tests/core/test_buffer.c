// SPDX-License-Identifier: Apache-2.0
/// Buffers that are born elsewhere: they come to the host when asked, once, or fail cleanly. The devices here are
/// pretended: memory that the library may not read but through their space.

#include <stdlib.h>
#include <string.h>

#include "core/pattern/structure.h"
#include "support/check.h"
#include "support/random.h"

// -- a pretended device ----------------------------------------------------------------------------------------------

static int fetched, uploaded;
static bool is_broken;

static void *far_allocate(lac_space *space, size_t bytes, void *stream) {
  (void)space, (void)stream;
  return lac_alloc(bytes);
}
static void far_release(lac_space *space, void *data, size_t bytes, void *stream) {
  (void)space, (void)bytes, (void)stream;
  lac_free(data);
}
static bool far_fetch(lac_space *space, void *to_host, const void *from, size_t bytes) {
  (void)space;
  ++fetched;
  if (!is_broken) memcpy(to_host, from, bytes);
  return !is_broken;
}
static lac_status far_upload(lac_context *ctx, void *to, const void *from_host, size_t bytes) {
  (void)ctx;
  ++uploaded;
  memcpy(to, from_host, bytes);
  return LAC_OK;
}

static lac_memory_stats far_stats;
static lac_space far_spaces[] = {{.backend = "far",
                                  .device = 0,
                                  .stats = &far_stats,
                                  .allocate = far_allocate,
                                  .release = far_release,
                                  .fetch = far_fetch},
                                 {.backend = "far",
                                  .device = 1,
                                  .stats = &far_stats,
                                  .allocate = far_allocate,
                                  .release = far_release,
                                  .fetch = far_fetch}};

/// A context like this one on a pretended device.
static lac_context far_context(const lac_context *ctx, int device, lac_backend *backend) {
  lac_context far = *ctx;
  *backend = *ctx->backend;
  backend->upload = far_upload;
  far.backend = backend;
  far.space = &far_spaces[device];
  fetched = uploaded = 0, is_broken = false;
  return far;
}

/// 0, 7, 14, ... on the device.
static lac_buffer *far_buffer(lac_context *far, lac_index_type type, int64_t count) {
  lac_context *ctx = far;
  lac_buffer *b = NULL;
  void *data = NULL;
  CHECK_OK(lac_buffer_create_on(ctx, type, count, &b, &data));
  for (int64_t i = 0; i < count; ++i) {
    if (type == LAC_I32) ((int32_t *)data)[i] = (int32_t)(7 * i);
    if (type == LAC_I64) ((int64_t *)data)[i] = 7 * i;
  }
  return b;
}

// -- buffers ---------------------------------------------------------------------------------------------------------

static void the_host_copy_is_made_when_asked_and_once(lac_context *ctx) {
  lac_backend backend;
  lac_context far = far_context(ctx, 0, &backend);
  for (int type = LAC_I32; type <= LAC_I64; ++type) {
    lac_buffer *b = far_buffer(&far, (lac_index_type)type, 100);
    const void *here = NULL, *there = NULL;
    fetched = 0;
    CHECK(!lac_buffer_is_host(b));
    CHECK_OK(lac_buffer_on(&far, b, &there));
    CHECK(fetched == 0 && !lac_buffer_is_host(b));
    CHECK_OK(lac_buffer_host(ctx, b));
    CHECK_OK(lac_buffer_host(NULL, b));
    CHECK_OK(lac_buffer_on(ctx, b, &here));
    CHECK(fetched == 1 && here == b->host && here != there);
    for (int64_t i = 0; i < 100; ++i) CHECK_EQ(lac_buffer_get(b, i), 7 * i);
    lac_object_release(b);
  }
}

static void buffers_go_from_one_device_to_another_by_way_of_the_host(lac_context *ctx) {
  lac_backend backend, other;
  lac_context far = far_context(ctx, 0, &backend), farther = far_context(ctx, 1, &other);
  lac_buffer *b = far_buffer(&far, LAC_I64, 10);
  const void *there = NULL, *again = NULL;
  CHECK_OK(lac_buffer_on(&farther, b, &there));
  CHECK_OK(lac_buffer_on(&farther, b, &again));
  CHECK(fetched == 1 && uploaded == 1 && there == again);
  for (int64_t i = 0; i < 10; ++i) CHECK_EQ(((const int64_t *)there)[i], 7 * i);
  lac_object_release(b);
}

static void a_device_that_fails_is_named(lac_context *ctx) {
  lac_backend backend;
  lac_context far = far_context(ctx, 1, &backend);
  lac_buffer *b = far_buffer(&far, LAC_I32, 10);
  is_broken = true;
  CHECK_FAILS(lac_buffer_host(ctx, b), LAC_ERR_BACKEND, "far:1");
  CHECK(!lac_buffer_is_host(b));
  is_broken = false;
  CHECK_OK(lac_buffer_host(ctx, b));
  CHECK_EQ(lac_buffer_get(b, 9), 63);
  lac_object_release(b);
}

static void memory_that_runs_out_is_said(lac_context *ctx) {
  lac_backend backend;
  lac_context far = far_context(ctx, 0, &backend);
  lac_buffer *b = far_buffer(&far, LAC_I32, 10), *none = NULL;
  void *data = NULL;
  lac_memory_fail_at(1);
  CHECK_FAILS(lac_buffer_host(ctx, b), LAC_ERR_MEMORY, "out of memory");
  for (int64_t n = 1; n <= 3; ++n) {
    lac_memory_fail_at(n);
    CHECK_EQ(lac_buffer_create_on(&far, LAC_I32, 10, &none, &data), LAC_ERR_MEMORY);
    CHECK(!none);
  }
  lac_memory_fail_at(0);
  lac_object_release(b);
}

static void empty_buffers_need_no_device(lac_context *ctx) {
  lac_backend backend;
  lac_context far = far_context(ctx, 0, &backend);
  lac_buffer *b = far_buffer(&far, LAC_I32, 0);
  CHECK_OK(lac_buffer_host(ctx, b));
  CHECK(fetched == 0 && lac_buffer_is_host(b));
  CHECK_OK(lac_buffer_host(ctx, NULL));
  lac_object_release(b);
}

// -- patterns --------------------------------------------------------------------------------------------------------

/// A pattern whose indices are on the device alone.
static lac_pattern *far_pattern(lac_context *far, const lac_pattern *like) {
  lac_context *ctx = far;
  lac_buffer *moved[2] = {NULL, NULL};
  const lac_buffer *from[] = {like->offsets, like->columns};
  lac_pattern *made = NULL;
  for (int i = 0; i < 2; ++i) {
    void *data = NULL;
    CHECK_OK(lac_buffer_create_on(ctx, from[i]->type, from[i]->count, &moved[i], &data));
    memcpy(data, from[i]->host, (size_t)from[i]->count * lac_index_size(from[i]->type));
  }
  CHECK_OK(lac_pattern_adopt(ctx, like->rows, like->cols, like->width, &moved[0], &moved[1], &made));
  for (int i = 0; i < 2; ++i) lac_free(((lac_buffer *)(i ? made->columns : made->offsets))->host);
  made->offsets->host = made->columns->host = NULL;  // what its fingerprint asked for is not there yet
  return made;
}

typedef lac_status made_of(lac_context *ctx, const lac_pattern *p, lac_pattern **out);

static lac_status itself(lac_context *ctx, const lac_pattern *p, lac_pattern **out) {
  (void)ctx;
  return *out = lac_pattern_retain(p), LAC_OK;
}
static lac_status transposed(lac_context *ctx, const lac_pattern *p, lac_pattern **out) {
  return lac_pattern_transpose(ctx, p, out, NULL);
}
static lac_status lower(lac_context *ctx, const lac_pattern *p, lac_pattern **out) {
  return lac_pattern_triangle(ctx, p, LAC_TRIANGLE_LOWER, 0, out, NULL);
}
static lac_status squared(lac_context *ctx, const lac_pattern *p, lac_pattern **out) {
  return lac_pattern_product(ctx, p, p, out);
}
static lac_status doubled(lac_context *ctx, const lac_pattern *p, lac_pattern **out) {
  const lac_pattern *both[] = {p, p};
  return lac_pattern_hstack(ctx, 2, both, out, NULL);
}
static lac_status joined(lac_context *ctx, const lac_pattern *p, lac_pattern **out) {
  lac_status status = LAC_OK;
  lac_pattern *eye = NULL;
  LAC_TRY(lac_pattern_eye(ctx, p->rows, p->cols, 1, LAC_WIDTH_AUTO, &eye));
  LAC_TRY(lac_pattern_union(ctx, eye, p, out, NULL, NULL));
done:
  lac_pattern_destroy(&eye);
  return status;
}
static lac_status augmented(lac_context *ctx, const lac_pattern *p, lac_pattern **out) {
  return lac_pattern_augmented(ctx, p, out, NULL);
}

/// Whatever is made of a pattern on the host is made of one that was born elsewhere too.
static void patterns_born_elsewhere_serve_the_host(lac_context *ctx) {
  static made_of *const makers[] = {itself, transposed, lower, squared, doubled, joined, augmented};
  lac_backend backend;
  lac_context far = far_context(ctx, 0, &backend);
  for (size_t m = 0; m < sizeof makers / sizeof *makers; ++m) {
    lac_pattern *near = NULL, *away = NULL, *expected = NULL, *got = NULL;
    CHECK_OK(sketch_pattern(ctx, sketch_square(20, 0.2, 1), LAC_WIDTH_AUTO, &near));
    away = far_pattern(&far, near);
    CHECK_EQ(away->fingerprint, near->fingerprint);
    CHECK_OK(makers[m](ctx, near, &expected));
    CHECK_OK(makers[m](ctx, away, &got));
    CHECK(lac_pattern_same(expected, got));
    lac_pattern_destroy(&near);
    lac_pattern_destroy(&away);
    lac_pattern_destroy(&expected);
    lac_pattern_destroy(&got);
  }
}

CHECK_MAIN(the_host_copy_is_made_when_asked_and_once, buffers_go_from_one_device_to_another_by_way_of_the_host,
           a_device_that_fails_is_named, memory_that_runs_out_is_said, empty_buffers_need_no_device,
           patterns_born_elsewhere_serve_the_host)
