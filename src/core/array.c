// SPDX-License-Identifier: Apache-2.0
/// @file array.c
/// Arrays over counted storage.

#include "core/array_impl.h"

#include "core/backend.h"
#include "core/object.h"

size_t lac_dtype_size(lac_dtype dtype) {
  static const size_t sizes[] = {4, 8, 8, 16};
  return (unsigned)dtype < 4 ? sizes[dtype] : 0;
}

const char *lac_dtype_name(lac_dtype dtype) {
  static const char *const names[] = {"f32", "f64", "c64", "c128"};
  return (unsigned)dtype < 4 ? names[dtype] : "unknown dtype";
}

// -- storage ---------------------------------------------------------------------------------------------------------

/// A storage comes with room for the head of the array that it is made for, since most arrays are the only ones over
/// theirs; and few numbers on the host lie behind that head, in the same block.
typedef struct storage_block {
  lac_storage storage;
  lac_array first;
} storage_block;

enum { STORAGE_HEAD = (sizeof(storage_block) + 63) / 64 * 64, STORAGE_SMALL = 4096 };

static lac_array *storage_first(lac_storage *s) { return &((storage_block *)(void *)s)->first; }
static void *storage_inside(lac_storage *s) { return (char *)s + STORAGE_HEAD; }

/// One holder less; true for the last. Who is alone needs no exchange with others.
static bool holders_drop(_Atomic int64_t *holders) {
  return atomic_load_explicit(holders, memory_order_acquire) == 1 ||
         atomic_fetch_sub_explicit(holders, 1, memory_order_acq_rel) == 1;
}

static void storage_release(lac_storage *s) {
  if (!s || !holders_drop(&s->holders)) return;
  bool is_apart = s->origin == STORAGE_OWNED && s->data != storage_inside(s);
  if (is_apart) s->space->release(s->space, s->data, s->bytes, s->stream);
  if (s->origin == STORAGE_ADOPTED && s->data) s->space->adopted(s->space, s->data);
  lac_free(s);
}

/// Numbers of storage that the library owns: by these and a version, values are known again (lac_storage.id).
static int64_t storage_next_id(void) {
  static _Atomic int64_t last;
  return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

/// Storage over `data`, or over fresh memory when it is owned.
static lac_status storage_create(lac_context *ctx, size_t bytes, void *data, int origin, lac_storage **out) {
  lac_status status = LAC_OK;
  bool is_owned = origin == STORAGE_OWNED;
  bool is_inside = is_owned && ctx->space == &lac_host_space && bytes <= STORAGE_SMALL;
  lac_storage *s = lac_alloc(is_inside ? STORAGE_HEAD + bytes : sizeof(storage_block));

  LAC_CHECK(s, LAC_ERR_MEMORY, "out of memory: an array's head, and %zu bytes behind it", is_inside ? bytes : 0);
  atomic_init(&s->holders, 1);
  atomic_init(&s->version, 0);
  s->space = ctx->space;
  s->stream = ctx->stream;
  s->origin = origin;
  s->bytes = bytes ? bytes : 1;  // an empty array has an address too
  s->id = is_owned ? storage_next_id() : 0;
  s->data = is_inside ? storage_inside(s) : data;
  if (is_owned && !is_inside) {
    s->data = s->space->allocate(s->space, s->bytes, s->stream);
    LAC_CHECK(s->data, LAC_ERR_MEMORY, "out of memory: an array of %zu bytes on %s", bytes, s->space->backend);
  }
  *out = s, s = NULL;
done:
  lac_free(s);
  return status;
}

/// From here on the memory is the library's.
static void storage_adopt(lac_storage *s) {
  s->origin = STORAGE_ADOPTED;
  s->id = storage_next_id();
}

// -- metas -----------------------------------------------------------------------------------------------------------

/// The meta of a plain array, checked. `who` begins the sentence.
static lac_status array_describe(lac_context *ctx, const char *who, lac_dtype dtype, int ndim, const int64_t *shape,
                                 lac_meta *out) {
  lac_status status = LAC_OK;
  lac_meta meta = {.dtype = dtype, .ndim = ndim};

  LAC_CHECK(shape || ndim <= 0 || ndim > LAC_MAX_DIMS, LAC_ERR_ARG, "%s: shape is NULL; give %d sizes", who, ndim);
  for (int d = 0; d < ndim && d < LAC_MAX_DIMS && shape; ++d) meta.shape[d] = shape[d];
  LAC_TRY(lac_meta_check(ctx, who, &meta));
  *out = meta;
done:
  return status;
}

/// Fill the head of an array over storage, whose hold it takes over.
static void array_init(lac_array *a, const lac_meta *meta, lac_storage *storage) {
  atomic_init(&a->holders, 1);
  a->meta = *meta;
  a->count = lac_meta_count(meta);
  a->storage = storage;
  (void)lac_object_retain(meta->partition);
}

/// An array of a checked meta.
static lac_status array_make(lac_context *ctx, const lac_meta *meta, void *data, int origin, lac_array **out) {
  lac_status status = LAC_OK;
  lac_storage *storage = NULL;
  size_t bytes = (size_t)lac_meta_count(meta) * lac_dtype_size(meta->dtype);

  LAC_TRY(storage_create(ctx, bytes, data, origin, &storage));
  *out = storage_first(storage);
  array_init(*out, meta, storage);
done:
  return status;
}

lac_status lac_array_make(lac_context *ctx, const lac_meta *meta, lac_array **out) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_meta_check(ctx, "array", meta));
  LAC_TRY(array_make(ctx, meta, NULL, STORAGE_OWNED, out));
done:
  return status;
}

lac_status lac_array_wrap(lac_context *ctx, const lac_meta *meta, void *data, lac_array **out) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_meta_check(ctx, "array", meta));
  LAC_TRY(array_make(ctx, meta, data, STORAGE_BORROWED, out));
done:
  return status;
}

// -- public ----------------------------------------------------------------------------------------------------------

lac_status lac_array_create(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape, lac_array **out) {
  lac_status status = LAC_OK;
  lac_meta meta;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(out, LAC_ERR_ARG, "lac_array_create: out is NULL");
  LAC_TRY(array_describe(ctx, "lac_array_create", dtype, ndim, shape, &meta));
  LAC_TRY(array_make(ctx, &meta, NULL, STORAGE_OWNED, out));
done:
  return status;
}

static size_t array_bytes(const lac_array *array) { return (size_t)array->count * lac_dtype_size(array->meta.dtype); }

static lac_status array_upload(lac_context *ctx, lac_array *array, const void *host) {
  lac_memory_count_values(ctx->space, LAC_TO_DEVICE, array_bytes(array));
  return ctx->backend->upload(ctx, array->storage->data, host, array_bytes(array));
}

static lac_status array_download(lac_context *ctx, const lac_array *array, void *host) {
  lac_memory_count_values(ctx->space, LAC_TO_HOST, array_bytes(array));
  return ctx->backend->download(ctx, host, array->storage->data, array_bytes(array));
}

/// Refuse memory that kernels cannot read as it is: they load whole numbers, vectors of them on a GPU.
static lac_status array_usable(lac_context *ctx, const void *data, lac_dtype dtype) {
  lac_status status = LAC_OK;
  size_t size = lac_dtype_size(dtype);

  LAC_CHECK(
      size && (uintptr_t)data % size == 0, LAC_ERR_ARG,
      "lac_array_from: data at %p is not aligned to the %zu bytes of a number of %s; align it, or hand it in with "
      "LAC_OWNERSHIP_COPY",
      data, size, lac_dtype_name(dtype));
done:
  return status;
}

lac_status lac_array_from(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape, void *data,
                          lac_ownership ownership, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *a = NULL;
  lac_meta meta;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(out, LAC_ERR_ARG, "lac_array_from: out is NULL");
  LAC_CHECK((unsigned)ownership <= LAC_OWNERSHIP_ADOPT, LAC_ERR_ARG,
            "lac_array_from: ownership %d is none of LAC_OWNERSHIP_COPY, LAC_OWNERSHIP_BORROW, LAC_OWNERSHIP_ADOPT",
            (int)ownership);
  LAC_TRY(array_describe(ctx, "lac_array_from", dtype, ndim, shape, &meta));
  LAC_CHECK(data || lac_meta_count(&meta) == 0, LAC_ERR_ARG, "lac_array_from: data is NULL");
  if (ownership == LAC_OWNERSHIP_COPY) {
    LAC_TRY(array_make(ctx, &meta, NULL, STORAGE_OWNED, &a));
    if (a->count) LAC_TRY(array_upload(ctx, a, data));
  } else {
    LAC_TRY(array_usable(ctx, data, dtype));
    LAC_TRY(array_make(ctx, &meta, data, STORAGE_BORROWED, &a));
    if (ownership == LAC_OWNERSHIP_ADOPT) storage_adopt(a->storage);  // only now that nothing can fail any more
  }
  *out = a, a = NULL;
done:
  lac_array_destroy(&a);
  return status;
}

lac_array *lac_array_retain(const lac_array *array) {
  lac_array *a = (lac_array *)array;
  if (a) (void)atomic_fetch_add_explicit(&a->holders, 1, memory_order_relaxed);
  return a;
}

void lac_array_destroy(lac_array **array) {
  if (!array || !*array) return;
  lac_array *a = *array;
  *array = NULL;
  if (!holders_drop(&a->holders)) return;
  lac_object_release(a->meta.partition);
  lac_storage *storage = a->storage;
  if (a != storage_first(storage)) lac_free(a);
  storage_release(storage);
}

bool lac_array_is_sole(const lac_array *array) {
  const lac_storage *s = array->storage;
  return s->origin != STORAGE_BORROWED && atomic_load_explicit(&array->holders, memory_order_acquire) == 1 &&
         atomic_load_explicit(&s->holders, memory_order_acquire) == 1;
}

/// Refuse a missing context, and arrays whose memory its kernels cannot reach.
static lac_status array_here(lac_context *ctx, const char *function, const lac_array *array) {
  lac_status status = LAC_OK;
  const lac_space *space = NULL;

  LAC_CHECK_CONTEXT_OF(function);
  LAC_CHECK(array, LAC_ERR_ARG, "%s: the array is NULL", function);
  space = array->storage->space;
  LAC_CHECK(space == ctx->space, LAC_ERR_DEVICE, "%s: the array lies on %s:%d, the context is on %s:%d", function,
            space->backend, space->device, ctx->space->backend, ctx->space->device);
done:
  return status;
}

lac_status lac_array_clone(lac_context *ctx, const lac_array *array, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *copy = NULL;

  LAC_TRY(array_here(ctx, "lac_array_clone", array));
  LAC_CHECK(out, LAC_ERR_ARG, "lac_array_clone: out is NULL");
  LAC_TRY(array_make(ctx, &array->meta, NULL, STORAGE_OWNED, &copy));
  if (array->count) LAC_TRY(ctx->backend->copy(ctx, array, copy));
  *out = copy, copy = NULL;
done:
  lac_array_destroy(&copy);
  return status;
}

lac_status lac_array_reshape(lac_context *ctx, lac_array *array, int ndim, const int64_t *shape, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *a = NULL;
  lac_meta meta;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(array && out, LAC_ERR_ARG, "lac_array_reshape: %s is NULL", array ? "out" : "array");
  LAC_TRY(lac_meta_reshape(ctx, "lac_array_reshape", &array->meta, ndim, shape, &meta));
  LAC_ALLOC(a, 1);
  array_init(a, &meta, array->storage);
  (void)atomic_fetch_add_explicit(&array->storage->holders, 1, memory_order_relaxed);  // the new array's
  *out = a;
done:
  return status;
}

const lac_meta *lac_array_meta(const lac_array *array) { return array ? &array->meta : NULL; }
int64_t lac_array_count(const lac_array *array) { return array ? array->count : 0; }
const void *lac_array_data(const lac_array *array) { return array ? array->storage->data : NULL; }

void *lac_array_edit(lac_array *array) {
  if (!array) return NULL;
  (void)atomic_fetch_add_explicit(&array->storage->version, 1, memory_order_relaxed);
  return array->storage->data;
}

int64_t lac_array_version(const lac_array *array) {
  return array ? atomic_load_explicit(&array->storage->version, memory_order_relaxed) : 0;
}

lac_status lac_array_fetch(lac_context *ctx, const lac_array *array, void *host) {
  lac_status status = LAC_OK;
  LAC_TRY(array_here(ctx, "lac_array_read", array));
  LAC_CHECK(host || array->count == 0, LAC_ERR_ARG, "lac_array_read: host is NULL");
  if (array->count) LAC_TRY(array_download(ctx, array, host));
done:
  return status;
}

lac_status lac_array_read(lac_context *ctx, const lac_array *array, void *host) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_array_fetch(ctx, array, host));
  LAC_TRY(lac_context_faults(ctx));  // what filled the array is over: its errors are known
done:
  return status;
}

lac_status lac_array_write(lac_context *ctx, lac_array *array, const void *host) {
  lac_status status = LAC_OK;
  LAC_TRY(array_here(ctx, "lac_array_write", array));
  LAC_CHECK(host || array->count == 0, LAC_ERR_ARG, "lac_array_write: host is NULL");
  if (array->count == 0) goto done;
  (void)lac_array_edit(array);
  LAC_TRY(array_upload(ctx, array, host));
done:
  return status;
}

lac_status lac_array_fill(lac_context *ctx, lac_array *array, double real, double imag) {
  lac_status status = LAC_OK;
  LAC_TRY(array_here(ctx, "lac_array_fill", array));
  (void)lac_array_edit(array);
  if (array->count) LAC_TRY(ctx->backend->fill(ctx, array, real, imag));
done:
  return status;
}
