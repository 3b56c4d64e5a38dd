// SPDX-License-Identifier: Apache-2.0
/// @file passes.c
/// Rows and items of a batch, cut among threads.
///
/// Items are cut where every item has an output of its own and there are enough of them; otherwise rows are, and each
/// thread takes its rows chunk by chunk through all items, so that the structure of a chunk is read once. Either way an
/// output sees the items in their order.

#include "backends/cpu/base/passes.h"

#include <stdatomic.h>
#include <unistd.h>

enum { PASS_CHUNK = 16384 };  // entries of a chunk of rows

// Operands up to this size stay in a second-level cache. Of larger ones so many rows of the matrix are looked at, and
// so many bytes are prefetched at a time.
enum { PASS_CACHED_BYTES = 1 << 19, PASS_SAMPLES = 32, PASS_ASKED_BYTES = 1024, PASS_MOST_AHEAD = 64 };

void cpu_passes_init(cpu_passes *passes, const lac_rows *rows, const lac_array *const in[2], lac_array *out,
                     const int core[3]) {
  cpu_pass *pass = &passes->pass;
  const lac_meta *metas[] = {&in[0]->meta, &in[1]->meta, &out->meta};
  lac_batch_init(&passes->batch, 3, metas, core);
  for (int o = 0; o < 3; ++o) {
    passes->bytes[o] = (size_t)cpu_core_count(metas[o], core[o]) * lac_dtype_size(metas[o]->dtype);
  }
  passes->offsets = rows->offsets;
  pass->offsets = rows->offsets->host;
  pass->wide_offsets = rows->offsets->type == LAC_I64;
  pass->wide_columns = rows->columns->type == LAC_I64;
  pass->columns = rows->columns->host;
  pass->slots = rows->slots ? rows->slots->host : NULL;
  pass->rows = rows->rows;
  pass->cols = rows->cols;
  pass->in[0] = cpu_data(in[0]);
  pass->in[1] = cpu_data(in[1]);
  pass->out = cpu_edit(out);
}

cpu_pass cpu_pass_of(const cpu_passes *passes, int64_t item) {
  const lac_batch *batch = &passes->batch;
  cpu_pass pass = passes->pass;
  for (int o = 0; o < 2; ++o) {
    pass.in[o] = (const char *)pass.in[o] + (size_t)lac_batch_item(batch, o, item) * passes->bytes[o];
  }
  pass.out = (char *)pass.out + (size_t)lac_batch_item(batch, 2, item) * passes->bytes[2];
  pass.adds = !cpu_batch_is_first(batch, 2, item);
  return pass;
}

/// Whether there is one item, whose walk is the one that is shared: most calls, and the small ones among them are
/// short.
static bool passes_are_one(const cpu_passes *passes) { return passes->batch.count == 1; }

static void passes_items(const void *job, int64_t begin, int64_t end) {
  const cpu_passes *passes = job;
  if (passes_are_one(passes)) {
    passes->kernel(&passes->pass, 0, passes->pass.rows);
    return;
  }
  for (int64_t i = begin; i < end; ++i) {
    cpu_pass pass = cpu_pass_of(passes, i);
    passes->kernel(&pass, 0, pass.rows);
  }
}

static void passes_rows(const void *job, int64_t begin, int64_t end) {
  const cpu_passes *passes = job;
  if (passes_are_one(passes)) {
    passes->kernel(&passes->pass, begin, end);
    return;
  }
  int64_t entries = lac_buffer_get(passes->offsets, end) - lac_buffer_get(passes->offsets, begin);
  int64_t chunks = entries / PASS_CHUNK + 1;
  for (int64_t c = 0; c < chunks; ++c) {
    int64_t first = begin + (end - begin) * c / chunks, last = begin + (end - begin) * (c + 1) / chunks;
    for (int64_t i = 0; i < passes->batch.count; ++i) {
      cpu_pass pass = cpu_pass_of(passes, i);
      passes->kernel(&pass, first, last);
    }
  }
}

/// Whether a row ends within a few columns of where the next one does.
static bool row_is_near_next(const lac_rows *rows, int64_t i) {
  int64_t end = lac_buffer_get(rows->offsets, i + 1), next = lac_buffer_get(rows->offsets, i + 2);
  if (end == 0 || next == end) return true;
  int64_t step = lac_buffer_get(rows->columns, next - 1) - lac_buffer_get(rows->columns, end - 1);
  return step > -PASS_SAMPLES && step < PASS_SAMPLES;
}

int64_t cpu_rows_ahead(const lac_rows *rows, size_t bytes) {
  int64_t near = 0, ahead = PASS_ASKED_BYTES / (int64_t)bytes;
  if (rows->cols * (int64_t)bytes <= PASS_CACHED_BYTES || rows->rows < 2 * PASS_SAMPLES) return 0;
  for (int64_t s = 0; s < PASS_SAMPLES; ++s) near += row_is_near_next(rows, (rows->rows - 2) * s / PASS_SAMPLES);
  if (near > PASS_SAMPLES / 2) return 0;
  return ahead < 2 ? 2 : ahead > PASS_MOST_AHEAD ? PASS_MOST_AHEAD : ahead;
}

// -- tiles -----------------------------------------------------------------------------------------------------------

// What is read again and again has half of the last cache, and each of its lines is asked for so often that bringing
// them there pays, and so is each row of the other operand for each part.
enum { TILE_SHARE = 2, TILE_LINE = 64, TILE_LEAST = 12, TILE_LEAST_OF_PART = 2 };

static _Atomic int64_t last_cache = -1;

int64_t cpu_last_cache(void) {
  int64_t bytes = atomic_load(&last_cache);
#ifdef _SC_LEVEL3_CACHE_SIZE
  if (bytes < 0) bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  if (bytes < 0) bytes = 0;
  atomic_store(&last_cache, bytes);
  return bytes;
}

void cpu_last_cache_set(int64_t bytes) { atomic_store(&last_cache, bytes); }

/// The bytes that an operand, whose rows have so many, gets of the last cache; 0: its rows are not read so often, from
/// anywhere, that this matters.
static int64_t tile_share(const lac_rows *rows, size_t bytes) {
  int64_t nnz = lac_buffer_get(rows->offsets, rows->rows), share = cpu_last_cache() / TILE_SHARE;
  bool is_beyond = rows->cols > 0 && rows->cols * (int64_t)bytes > TILE_SHARE * share;
  return is_beyond && nnz / TILE_LEAST >= rows->cols && cpu_rows_ahead(rows, bytes) > 0 ? share : 0;
}

int64_t cpu_tile_columns(const lac_rows *rows, int64_t k, size_t number) {
  int64_t share = tile_share(rows, (size_t)k * number);
  if (share == 0) return k;
  int64_t lines = share / rows->cols / TILE_LINE, columns = lines * TILE_LINE / (int64_t)number;
  return columns > 0 && columns < k ? columns : k;
}

int64_t cpu_tile_parts(const lac_rows *rows, int64_t k, size_t number) {
  int64_t bytes = k * (int64_t)number, share = tile_share(rows, (size_t)bytes);
  if (share == 0) return 1;
  int64_t parts = rows->cols * bytes / share + 1, nnz = lac_buffer_get(rows->offsets, rows->rows);
  return nnz / TILE_LEAST_OF_PART / parts >= rows->rows ? parts : 1;
}

// -- runs ------------------------------------------------------------------------------------------------------------

int cpu_passes_threads(const lac_context *ctx, const cpu_passes *passes) {
  int64_t entries = lac_buffer_get(passes->offsets, passes->pass.rows);
  int64_t block = passes->pass.br ? passes->pass.br * passes->pass.bc : 1;
  return cpu_threads(ctx, (entries + passes->pass.rows) * block * passes->pass.k * passes->batch.count);
}

static void pass_rows(const void *job, int64_t begin, int64_t end) {
  const cpu_passes *walk = job;
  walk->kernel(&walk->pass, begin, end);
}

void cpu_pass_run(int threads, const cpu_passes *walk) {
  cpu_split_rows(threads, walk->offsets, walk->pass.rows, pass_rows, walk);
}

void cpu_passes_run(lac_context *ctx, const cpu_passes *passes, bool whole) {
  const lac_batch *batch = &passes->batch;
  int threads = cpu_passes_threads(ctx, passes);
  if (whole || (batch->count >= 4 * threads && cpu_batch_is_apart(batch))) {
    cpu_split(whole ? 1 : threads, batch->count, 1, passes_items, passes);
  } else {
    cpu_split_rows(threads, passes->offsets, passes->pass.rows, passes_rows, passes);
  }
}
