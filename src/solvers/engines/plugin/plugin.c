// SPDX-License-Identifier: Apache-2.0
/// @file plugin.c
/// What all plug-ins of engines do alike.

#include "solvers/engines/plugin/plugin.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "core/plugin/guest/guest.h"

static const lac_engine_host *plugin_host;

bool plugin_start(const lac_host *host, const void *more) {
  static const size_t sizes[] = LAC_ENGINE_SIZES;
  plugin_host = more;
  return lac_guest_start(host) && memcmp(plugin_host->sizes, sizes, sizeof sizes) == 0;
}

lac_status plugin_order(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, int32_t *order) {
  return plugin_host->order(ctx, structure, ordering, order);
}

lac_status plugin_enter(int threads, lac_fault *fault) {
  bool fits = threads == 1 ? lac_blas_enter(1) : lac_blas_hold(1);
  return fits ? LAC_OK : plugin_fault(fault, LAC_ERR_MEMORY, LAC_BLAS_LACKS);
}

void plugin_leave(int threads) { (threads == 1 ? lac_blas_leave : lac_blas_drop)(1); }

enum { PLUGIN_SLACK = 32 << 20 };  // what else is taken while an engine works: heaps of its threads, our own stack

lac_status plugin_ask(const char *engine, double bytes, int threads, lac_fault *fault) {
  pthread_attr_t attributes;
  size_t stack = 0;
  void *room = MAP_FAILED;

  if (pthread_attr_init(&attributes) == 0) {
    (void)pthread_attr_getstacksize(&attributes, &stack);
    (void)pthread_attr_destroy(&attributes);
  }
  bytes += PLUGIN_SLACK + (double)threads * (double)stack;
  if (bytes < (double)PTRDIFF_MAX) {
    room = mmap(NULL, (size_t)bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (room != MAP_FAILED) munmap(room, (size_t)bytes + 1);
  if (room != MAP_FAILED) return LAC_OK;
  return plugin_fault(fault, LAC_ERR_MEMORY, "out of memory: %s will take about %.3g MB of address space", engine,
                      bytes / 1e6);
}

bool plugin_is_wide(const lac_structure *structure) { return structure->nnz > atomic_load(plugin_host->narrow); }

lac_status plugin_fault(lac_fault *fault, lac_status status, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(fault->text, sizeof fault->text, format, list);
  va_end(list);
  return status;
}

lac_status plugin_check_double(const char *engine, const char *instead, lac_dtype dtype, lac_fault *fault) {
  if (dtype == LAC_F64 || dtype == LAC_C128) return LAC_OK;
  return plugin_fault(fault, LAC_ERR_UNSUPPORTED,
                      "%s factors f64 and c128, the values are %s; cast them, or use %s which takes all dtypes", engine,
                      dtype == LAC_F32 ? "f32" : "c64", instead);
}

// -- blocks ----------------------------------------------------------------------------------------------------------

typedef struct plugin_pair {
  double re, im;
} plugin_pair;

#define PLUGIN_MOVES(T)                                                                            \
  static void gather_##T(int64_t count, const int64_t *slots, const T *values, T *out) {           \
    for (int64_t i = 0; i < count; i++) out[i] = values[slots[i]];                                 \
  }                                                                                                \
  static void move_##T(int64_t n, int width, bool to_columns, const T *from, T *to) {              \
    for (int64_t i = 0; i < n; i++) {                                                              \
      for (int c = 0; c < width; c++) {                                                            \
        to[to_columns ? c * n + i : i * width + c] = from[to_columns ? i * width + c : c * n + i]; \
      }                                                                                            \
    }                                                                                              \
  }
PLUGIN_MOVES(float)
PLUGIN_MOVES(double)
PLUGIN_MOVES(plugin_pair)

void plugin_gather(int64_t count, size_t size, const int64_t *slots, const void *values, void *out) {
  if (size == sizeof(float)) gather_float(count, slots, values, out);
  if (size == sizeof(double)) gather_double(count, slots, values, out);
  if (size == sizeof(plugin_pair)) gather_plugin_pair(count, slots, values, out);
}

static void plugin_move(int64_t n, int width, size_t size, bool to_columns, const void *from, void *to) {
  if (size == sizeof(float)) move_float(n, width, to_columns, from, to);
  if (size == sizeof(double)) move_double(n, width, to_columns, from, to);
  if (size == sizeof(plugin_pair)) move_plugin_pair(n, width, to_columns, from, to);
}

void plugin_to_columns(int64_t n, int width, size_t size, const void *rows, void *columns) {
  plugin_move(n, width, size, true, rows, columns);
}

void plugin_to_rows(int64_t n, int width, size_t size, const void *columns, void *rows) {
  plugin_move(n, width, size, false, columns, rows);
}

void plugin_smallest(lac_finding *finding, double pivot, int64_t where) {
  if (pivot < finding->smallest) finding->smallest = pivot, finding->where = where;
}
