// SPDX-License-Identifier: Apache-2.0
/// @file array.c
/// Arrays over counted storage.

#include "core/array_impl.h"

#include "core/kernels.h"
#include "core/object.h"

size_t lac_dtype_size(lac_dtype dtype) {
  static const size_t sizes[] = {4, 8, 8, 16};
  return sizes[dtype];
}

const char *lac_dtype_name(lac_dtype dtype) {
  static const char *const names[] = {"f32", "f64", "c64", "c128"};
  return (unsigned)dtype < 4 ? names[dtype] : "unknown dtype";
}

// -- storage ---------------------------------------------------------------------------------------------------------

static void storage_release(lac_storage *s) {
  if (!s || atomic_fetch_sub_explicit(&s->holders, 1, memory_order_acq_rel) > 1) return;
  if (s->origin == STORAGE_OWNED) s->space->release(s->space, s->data, s->bytes, s->stream);
  if (s->origin == STORAGE_ADOPTED && s->data) s->space->adopted(s->space, s->data);
  lac_free(s);
}

/// Storage over `data`, or over fresh memory when it is owned.
static lac_status storage_create(lac_context *ctx, size_t bytes, void *data, int origin, lac_storage **out) {
  lac_status status = LAC_OK;
  lac_storage *s = NULL;

  LAC_ALLOC(s, 1);
  atomic_init(&s->holders, 1);
  s->space = ctx->space;
  s->stream = ctx->stream;
  s->origin = origin;
  s->bytes = bytes ? bytes : 1;  // an empty array has an address too
  s->data = data;
  if (origin == STORAGE_OWNED) {
    s->data = s->space->allocate(s->space, s->bytes, s->stream);
    LAC_CHECK(s->data, LAC_ERR_MEMORY, "out of memory: an array of %zu bytes on %s", bytes, s->space->backend);
  }
  *out = s, s = NULL;
done:
  lac_free(s);
  return status;
}

// -- metas -----------------------------------------------------------------------------------------------------------

/// Refuse shapes that cannot be: too many dimensions, negative ones, more bytes than there are addresses.
static lac_status array_check(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape) {
  lac_status status = LAC_OK;
  char text[LAC_SHAPE_TEXT];
  int64_t bytes = 0;

  LAC_CHECK((unsigned)dtype <= LAC_C128, LAC_ERR_DTYPE, "array: dtype %d is none of f32, f64, c64, c128", (int)dtype);
  LAC_CHECK(ndim >= 0 && ndim <= LAC_MAX_DIMS, LAC_ERR_SHAPE, "array: %d dimensions; at most %d are possible", ndim,
            LAC_MAX_DIMS);
  LAC_CHECK(shape || ndim == 0, LAC_ERR_ARG, "array: shape is NULL");
  bytes = (int64_t)lac_dtype_size(dtype);
  for (int d = 0; d < ndim; ++d) {
    LAC_CHECK(shape[d] >= 0, LAC_ERR_SHAPE, "array: dimension %d of shape %s is negative", d,
              lac_shape_text(ndim, shape, text));
    int64_t factor = shape[d] ? shape[d] : 1;
    LAC_CHECK(!__builtin_mul_overflow(bytes, factor, &bytes), LAC_ERR_OVERFLOW,
              "array: shape %s of %s has more bytes than fit 64 bits", lac_shape_text(ndim, shape, text),
              lac_dtype_name(dtype));
  }
done:
  return status;
}

static lac_meta array_meta(lac_dtype dtype, int ndim, const int64_t *shape) {
  lac_meta meta = {.dtype = dtype, .ndim = ndim};
  for (int d = 0; d < ndim; ++d) meta.shape[d] = shape[d];
  return meta;
}

/// An array over storage, which it takes over.
static lac_status array_over(lac_context *ctx, const lac_meta *meta, lac_storage *storage, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *a = lac_alloc(sizeof *a);

  LAC_CHECK(a, LAC_ERR_MEMORY, "out of memory: an array's head of %zu bytes", sizeof *a);
  atomic_init(&a->holders, 1);
  a->meta = *meta;
  a->count = lac_meta_count(meta);
  a->storage = storage;
  (void)lac_object_retain(meta->partition);
  *out = a;
done:
  if (status != LAC_OK) storage_release(storage);
  return status;
}

static lac_status array_make(lac_context *ctx, const lac_meta *meta, void *data, int origin, lac_array **out) {
  lac_status status = LAC_OK;
  lac_storage *storage = NULL;
  size_t bytes = (size_t)lac_meta_count(meta) * lac_dtype_size(meta->dtype);

  LAC_TRY(storage_create(ctx, bytes, data, origin, &storage));
  LAC_TRY(array_over(ctx, meta, storage, out));
done:
  return status;
}

lac_status lac_array_make(lac_context *ctx, const lac_meta *meta, lac_array **out) {
  return array_make(ctx, meta, NULL, STORAGE_OWNED, out);
}

lac_status lac_array_wrap(lac_context *ctx, const lac_meta *meta, void *data, lac_array **out) {
  return array_make(ctx, meta, data, STORAGE_BORROWED, out);
}

// -- public ----------------------------------------------------------------------------------------------------------

lac_status lac_array_create(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape, lac_array **out) {
  lac_status status = LAC_OK;
  lac_meta meta;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_array_create: out is NULL");
  LAC_TRY(array_check(ctx, dtype, ndim, shape));
  meta = array_meta(dtype, ndim, shape);
  LAC_TRY(lac_array_make(ctx, &meta, out));
done:
  return status;
}

lac_status lac_array_from(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape, void *data,
                          lac_ownership ownership, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *a = NULL;
  lac_meta meta;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_array_from: out is NULL");
  LAC_TRY(array_check(ctx, dtype, ndim, shape));
  meta = array_meta(dtype, ndim, shape);
  LAC_CHECK(data || lac_meta_count(&meta) == 0, LAC_ERR_ARG, "lac_array_from: data is NULL");
  if (ownership == LAC_COPY) {
    LAC_TRY(lac_array_make(ctx, &meta, &a));
    if (a->count) LAC_TRY(ctx->kernels->upload(ctx, a->storage->data, data, a->storage->bytes));
  } else {
    LAC_TRY(array_make(ctx, &meta, data, ownership == LAC_ADOPT ? STORAGE_ADOPTED : STORAGE_BORROWED, &a));
  }
  *out = a, a = NULL;
done:
  lac_array_destroy(&a);
  return status;
}

lac_array *lac_array_retain(lac_array *array) {
  if (array) (void)atomic_fetch_add_explicit(&array->holders, 1, memory_order_relaxed);
  return array;
}

void lac_array_destroy(lac_array **array) {
  if (!array || !*array) return;
  lac_array *a = *array;
  *array = NULL;
  if (atomic_fetch_sub_explicit(&a->holders, 1, memory_order_acq_rel) > 1) return;
  lac_object_release(a->meta.partition);
  storage_release(a->storage);
  lac_free(a);
}

bool lac_array_is_sole(const lac_array *array) {
  const lac_storage *s = array->storage;
  return s->origin != STORAGE_BORROWED && atomic_load_explicit(&array->holders, memory_order_acquire) == 1 &&
         atomic_load_explicit(&s->holders, memory_order_acquire) == 1;
}

/// Refuse arrays whose memory the context's kernels cannot reach.
static lac_status array_here(lac_context *ctx, const char *function, const lac_array *array) {
  lac_status status = LAC_OK;
  const lac_space *space = NULL;

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

  LAC_CHECK(out, LAC_ERR_ARG, "lac_array_clone: out is NULL");
  LAC_TRY(array_here(ctx, "lac_array_clone", array));
  LAC_TRY(lac_array_make(ctx, &array->meta, &copy));
  if (array->count) LAC_TRY(ctx->kernels->copy(ctx, array, copy));
  *out = copy, copy = NULL;
done:
  lac_array_destroy(&copy);
  return status;
}

/// Numbers behind axis `axis`.
static int64_t meta_inner(const lac_meta *meta, int axis) {
  int64_t count = 1;
  for (int d = axis + 1; d < meta->ndim; ++d) count *= meta->shape[d];
  return count;
}

/// A reshaped array stays partitioned when the partitioned axis survives: as long, and as many numbers behind it.
static bool meta_keep_partition(const lac_meta *old, lac_meta *meta) {
  if (!old->partition) return true;
  for (int d = 0; d < meta->ndim; ++d) {
    if (meta->shape[d] != old->shape[old->partition_axis]) continue;
    if (meta_inner(meta, d) != meta_inner(old, old->partition_axis)) continue;
    meta->partition = old->partition;
    meta->partition_axis = d;
    return true;
  }
  return false;
}

lac_status lac_array_reshape(lac_context *ctx, lac_array *array, int ndim, const int64_t *shape, lac_array **out) {
  lac_status status = LAC_OK;
  lac_meta meta;
  char from[LAC_SHAPE_TEXT], to[LAC_SHAPE_TEXT];

  LAC_CHECK(array && out, LAC_ERR_ARG, "lac_array_reshape: %s is NULL", array ? "out" : "array");
  LAC_TRY(array_check(ctx, array->meta.dtype, ndim, shape));
  meta = array_meta(array->meta.dtype, ndim, shape);
  LAC_CHECK(lac_meta_count(&meta) == array->count, LAC_ERR_SHAPE,
            "lac_array_reshape: shape %s holds %lld numbers, the array %s holds %lld", lac_shape_text(ndim, shape, to),
            (long long)lac_meta_count(&meta), lac_shape_text(array->meta.ndim, array->meta.shape, from),
            (long long)array->count);
  LAC_CHECK(meta_keep_partition(&array->meta, &meta), LAC_ERR_SHAPE,
            "lac_array_reshape: from %s to %s would break the partitioned axis %d",
            lac_shape_text(array->meta.ndim, array->meta.shape, from), lac_shape_text(ndim, shape, to),
            array->meta.partition_axis);
  (void)atomic_fetch_add_explicit(&array->storage->holders, 1, memory_order_relaxed);
  LAC_TRY(array_over(ctx, &meta, array->storage, out));
done:
  return status;
}

const lac_meta *lac_array_meta(const lac_array *array) { return &array->meta; }
int64_t lac_array_count(const lac_array *array) { return array->count; }
const void *lac_array_data(const lac_array *array) { return array->storage->data; }

void *lac_array_edit(lac_array *array) {
  (void)atomic_fetch_add_explicit(&array->storage->version, 1, memory_order_relaxed);
  return array->storage->data;
}

int64_t lac_array_version(const lac_array *array) {
  return atomic_load_explicit(&array->storage->version, memory_order_relaxed);
}

static size_t array_bytes(const lac_array *array) { return (size_t)array->count * lac_dtype_size(array->meta.dtype); }

lac_status lac_array_read(lac_context *ctx, const lac_array *array, void *host) {
  lac_status status = LAC_OK;
  LAC_TRY(array_here(ctx, "lac_array_read", array));
  LAC_CHECK(host || array->count == 0, LAC_ERR_ARG, "lac_array_read: host is NULL");
  if (array->count) LAC_TRY(ctx->kernels->download(ctx, host, array->storage->data, array_bytes(array)));
done:
  return status;
}

lac_status lac_array_write(lac_context *ctx, lac_array *array, const void *host) {
  lac_status status = LAC_OK;
  LAC_TRY(array_here(ctx, "lac_array_write", array));
  LAC_CHECK(host || array->count == 0, LAC_ERR_ARG, "lac_array_write: host is NULL");
  if (array->count) LAC_TRY(ctx->kernels->upload(ctx, lac_array_edit(array), host, array_bytes(array)));
done:
  return status;
}

lac_status lac_array_fill(lac_context *ctx, lac_array *array, double real, double imag) {
  lac_status status = LAC_OK;
  LAC_TRY(array_here(ctx, "lac_array_fill", array));
  (void)lac_array_edit(array);
  if (array->count) LAC_TRY(ctx->kernels->fill(ctx, array, real, imag));
done:
  return status;
}
