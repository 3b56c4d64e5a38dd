// SPDX-License-Identifier: Apache-2.0
/// @file partition.c
/// Partitions: which consecutive rows of a global axis each rank owns; arrays that carry one.

#include "core/numbers/search.h"
#include "distributed/distributed_impl.h"

static void partition_destroy(lac_object *object) { lac_free(object); }

static const lac_kind partition_kind = {"partition", partition_destroy};

/// Room for the offsets, or the reason why not. Local.
static lac_status partition_prepare(lac_context *ctx, int64_t rows, lac_partition **out, lac_partition **made) {
  const size_t ranks = (size_t)ctx->comm->size;
  lac_status status = LAC_OK;
  lac_partition *partition = NULL;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_partition_create: out is NULL");
  LAC_CHECK(rows >= 0, LAC_ERR_ARG, "lac_partition_create: rows must not be negative, got %lld", (long long)rows);
  partition = lac_calloc(1, sizeof *partition + (ranks + 1) * sizeof partition->offsets[0]);
  LAC_CHECK(partition, LAC_ERR_MEMORY, "lac_partition_create: out of memory for the offsets of %zu ranks", ranks);
  lac_object_init(&partition->object, &partition_kind);
  partition->ranks = ctx->comm->size;
  partition->rank = ctx->comm->rank;
  *made = partition;
done:
  return status;
}

/// Counts for each rank, at offsets[1...], become offsets.
static lac_status partition_accumulate(lac_context *ctx, lac_partition *partition) {
  lac_status status = LAC_OK;

  for (int r = 0; r < partition->ranks; ++r) {
    LAC_CHECK(!__builtin_add_overflow(partition->offsets[r], partition->offsets[r + 1], &partition->offsets[r + 1]),
              LAC_ERR_OVERFLOW, "lac_partition_create: the rows of all ranks together do not fit 64 bits");
  }
done:
  return status;
}

lac_status lac_partition_create(lac_context *ctx, int64_t rows, lac_partition **out) {
  lac_status status = LAC_OK;
  lac_partition *partition = NULL;

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_comm_required(ctx, "lac_partition_create"));
  LAC_TRY(lac_agree(ctx, partition_prepare(ctx, rows, out, &partition)));
  LAC_TRY(lac_comm_check(ctx, ctx->comm->gather(ctx->comm->self, &rows, 1, partition->offsets + 1)));
  LAC_TRY(partition_accumulate(ctx, partition));
  *out = partition, partition = NULL;
done:
  lac_object_release(partition);
  return status;
}

lac_partition *lac_partition_retain(const lac_partition *partition) { return lac_object_retain(partition); }

void lac_partition_destroy(lac_partition **partition) {
  if (!partition) return;
  lac_object_release(*partition);
  *partition = NULL;
}

int64_t lac_partition_begin(const lac_partition *partition) { return partition->offsets[partition->rank]; }

int64_t lac_partition_rows(const lac_partition *partition) {
  return partition->offsets[partition->rank + 1] - partition->offsets[partition->rank];
}

int64_t lac_partition_total(const lac_partition *partition) { return partition->offsets[partition->ranks]; }

int lac_partition_owner(const lac_partition *partition, int64_t row) {
  return (int)lac_search_row(partition->offsets, partition->ranks, row);
}

/// Refuse what is not this rank's part of the partition. Local.
static lac_status partition_check(lac_context *ctx, int ndim, const int64_t *shape, const lac_partition *partition,
                                  int axis) {
  lac_status status = LAC_OK;
  char text[LAC_SHAPE_TEXT];

  LAC_CHECK(partition, LAC_ERR_ARG,
            "lac_array_partitioned: partition is NULL; replicated arrays come from lac_array_from");
  LAC_CHECK(partition->ranks == ctx->comm->size, LAC_ERR_ARG,
            "lac_array_partitioned: the partition is over %d ranks, the communicator has %d", partition->ranks,
            ctx->comm->size);
  LAC_CHECK(ndim > 0 && ndim <= LAC_MAX_DIMS && axis >= 0 && axis < ndim, LAC_ERR_ARG,
            "lac_array_partitioned: axis %d of %d dimensions does not exist", axis, ndim);
  LAC_CHECK(shape, LAC_ERR_ARG, "lac_array_partitioned: shape is NULL");
  LAC_CHECK(shape[axis] == lac_partition_rows(partition), LAC_ERR_SHAPE,
            "lac_array_partitioned: axis %d of %s must have the %lld rows that rank %d owns", axis,
            lac_shape_text(ndim, shape, text), (long long)lac_partition_rows(partition), partition->rank);
done:
  return status;
}

/// The array of this rank, or the reason why not. Local.
static lac_status partition_array(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape,
                                  const lac_partition *partition, int axis, void *data, lac_ownership ownership,
                                  lac_array **out, lac_array **made) {
  lac_status status = LAC_OK;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_array_partitioned: out is NULL");
  LAC_TRY(partition_check(ctx, ndim, shape, partition, axis));
  if (data) {
    LAC_TRY(lac_array_from(ctx, dtype, ndim, shape, data, ownership, made));
  } else {
    LAC_TRY(lac_array_create(ctx, dtype, ndim, shape, made));
  }
  (*made)->meta.partition = lac_partition_retain(partition);
  (*made)->meta.partition_axis = axis;
done:
  return status;
}

lac_status lac_array_partitioned(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape,
                                 const lac_partition *partition, int axis, void *data, lac_ownership ownership,
                                 lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *array = NULL;

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_comm_required(ctx, "lac_array_partitioned"));
  LAC_TRY(lac_agree(ctx, partition_array(ctx, dtype, ndim, shape, partition, axis, data, ownership, out, &array)));
  *out = array, array = NULL;
done:
  if (array && array->storage->origin == STORAGE_ADOPTED)
    array->storage->origin = STORAGE_BORROWED, array->storage->id = 0;  // stays the caller's
  lac_array_destroy(&array);
  return status;
}
