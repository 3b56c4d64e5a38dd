// SPDX-License-Identifier: Apache-2.0
/// @file pattern_impl.h
/// The inside of patterns and maps: shared index buffers, and what is derived from them lazily.

#ifndef LACUNA_CORE_PATTERN_PATTERN_IMPL_H
#define LACUNA_CORE_PATTERN_PATTERN_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/context_impl.h"
#include "core/object.h"
#include "lacuna/map.h"
#include "lacuna/pattern.h"

/// The most rows, columns or entries that anything here counts: sums and sizes in bytes stay within 64 bits.
#define LAC_MAX_COUNT (INT64_MAX / 64)

/// The first of the lines between offsets that has the most entries, and how many it has.
typedef struct lac_longest {
  int64_t line, count;
  bool is_known;
} lac_longest;

/// A counted, immutable block of integers. It is born on the host or on a device, or known to be 0, 1, 2, ..., and is
/// brought to where it is asked for, once.
typedef struct lac_buffer {
  lac_object object;
  lac_index_type type;
  int64_t count;
  void *host;   // NULL until lac_buffer_host is asked for what was born on a device, or counts
  bool counts;  // 0, 1, 2, ...: made where it is first read, which is seldom
  lac_longest longest;
  pthread_mutex_t lock;
  struct lac_device_copy *copies;  // a short list, one for each device that asked
} lac_buffer;

/// A buffer with undefined host contents (to be filled before it is shared).
lac_status lac_buffer_create(lac_context *ctx, lac_index_type type, int64_t count, lac_buffer **out);

/// The same where the context's kernels write it: *data. It must be complete, for every stream, before it is shared.
lac_status lac_buffer_create_on(lac_context *ctx, lac_index_type type, int64_t count, lac_buffer **out, void **data);

/// 0, 1, 2, ... of which nothing is in memory until somebody reads it.
lac_status lac_buffer_create_counting(lac_context *ctx, lac_index_type type, int64_t count, lac_buffer **out);

/// The integers where the context's kernels can read them. Copies to a device once, synchronously.
lac_status lac_buffer_on(lac_context *ctx, const lac_buffer *buffer, const void **out);

/// The integers on the host, for algorithms that run there: from then on buffer->host, lac_buffer_get and
/// lac_buffer_set can be used. Costs nothing where they are there already. NULL (for `buffer`) is let through; ctx may
/// be NULL.
lac_status lac_buffer_host(lac_context *ctx, const lac_buffer *buffer);

/// The longest line of offsets, which a buffer that delimits lines keeps; looked for when first asked, where the
/// integers are. Without lines: line 0 with no entries.
lac_status lac_buffer_longest(lac_context *ctx, const lac_buffer *offsets, lac_longest *out);

/// Whether that has been looked for, or would cost no more than a look at the host's memory.
bool lac_buffer_knows_longest(const lac_buffer *offsets);

/// The device that has the integers while the host does not; -1: the host has them.
int lac_buffer_device(const lac_buffer *buffer);

/// Whether they are there.
static inline bool lac_buffer_is_host(const lac_buffer *b) {
  return __atomic_load_n(&b->host, __ATOMIC_ACQUIRE) != NULL;
}

/// Integer i of a buffer that is on the host.
static inline int64_t lac_buffer_get(const lac_buffer *b, int64_t i) {
  return b->type == LAC_I32 ? ((const int32_t *)b->host)[i] : ((const int64_t *)b->host)[i];
}
static inline void lac_buffer_set(lac_buffer *b, int64_t i, int64_t value) {
  if (b->type == LAC_I32) {
    ((int32_t *)b->host)[i] = (int32_t)value;
  } else {
    ((int64_t *)b->host)[i] = value;
  }
}

static inline size_t lac_index_size(lac_index_type type) { return type == LAC_I32 ? sizeof(int32_t) : sizeof(int64_t); }

/// A matrix as a kernel walks it, row by row: entry p of row i stands in column columns[p] and has slot slots[p]
/// (slots == NULL: p itself). The same struct serves A and A^T.
typedef struct lac_rows {
  int64_t rows, cols;
  const lac_buffer *offsets, *columns, *slots;
} lac_rows;

/// The same on the host, for algorithms that run there.
lac_status lac_rows_host(lac_context *ctx, const lac_rows *rows);

/// The distributed side of a pattern (distributed/); NULL for a pattern of one process.
typedef struct lac_halo lac_halo;

/// Whether op(A) is a transpose, and whether it has the conjugates of A's values.
static inline bool lac_form_transposes(lac_form form) { return form & LAC_TRANSPOSED; }
static inline bool lac_form_conjugates(lac_form form) { return form & LAC_CONJUGATED; }

typedef struct lac_part lac_part;
enum { LAC_PARTS_KEPT = 9 };  // the transpose, the diagonal, both lines, the scalar pattern, four triangles

struct lac_pattern {
  lac_object object;
  int64_t rows, cols, nnz;  // in blocks: the structure is that of the blocks
  int64_t br, bc;           // rows and columns of a block; 1 x 1 is a scalar pattern
  lac_width width;          // never LAC_WIDTH_AUTO
  lac_buffer *offsets, *columns;
  uint64_t fingerprint;  // of rows, cols, block size and structure, independent of width: unequal means different

  // Derived from structure, filled when first needed, under the lock. They hold buffers, never the pattern: no cycles.
  pthread_mutex_t lock;
  lac_buffer *rows_of;                       // the row of each slot (columns' type)
  lac_buffer *t_offsets, *t_rows, *t_slots;  // the transpose by rows
  lac_map *identity;                         // from slots to themselves
  struct lac_band *band;                     // where its entries stand about the diagonal (pattern_band.c)
  lac_part *parts[LAC_PARTS_KEPT];           // other patterns and maps (pattern_part.c)
  int depth;                                 // 1 for a part, 2 for a part of a part, ...
  struct lac_cached *cached;                 // what others keep here: symbolic analyses (solvers/), ...
  atomic_bool has_plans;                     // a pair plan was kept under this pattern's id

  // A distributed pattern (distributed/): `local` walks owned rows over owned + ghost columns; rows and cols above
  // count what this rank owns, and these are the partitions of rows, columns and slots. All NULL in one process.
  lac_object *halo;
  const lac_partition *row_partition, *col_partition, *entry_partition;
};

/// Take over offsets and columns (canonical, checked) as a new pattern; counts them, hands over on success only.
lac_status lac_pattern_adopt(lac_context *ctx, int64_t rows, int64_t cols, lac_width width, lac_buffer **offsets,
                             lac_buffer **columns, lac_pattern **out);

/// The same for a pattern of blocks: rows and cols count blocks.
lac_status lac_pattern_adopt_blocks(lac_context *ctx, int64_t rows, int64_t cols, int64_t br, int64_t bc,
                                    lac_width width, lac_buffer **offsets, lac_buffer **columns, lac_pattern **out);

/// Whether a slot holds a block and not one number.
static inline bool lac_pattern_has_blocks(const lac_pattern *p) { return p->br != 1 || p->bc != 1; }

/// Compressed rows as `function` takes them: lac_pattern_from_csr under another name in its sentences.
lac_status lac_pattern_compress(lac_context *ctx, const char *function, int64_t rows, int64_t cols, lac_index_type type,
                                const void *offsets, const void *columns, lac_width width, lac_pattern **out,
                                lac_map **entries);

/// The rows of A (transposed = false) or of A^T, computing and keeping the transpose when first asked. Rows of
/// blocks, where the pattern has blocks. Buffers of this and of what follows are where the context's kernels read them,
/// by lac_buffer_on; through a context on the host they are there.
lac_status lac_pattern_walk(lac_context *ctx, const lac_pattern *pattern, bool transposed, lac_rows *out);

/// The first slot of row i whose column is at least `col`, on the host.
int64_t lac_pattern_reaches(const lac_pattern *pattern, int64_t i, int64_t col);

/// The row of each slot, computed when first asked; a borrowed buffer.
lac_status lac_pattern_rows_of(lac_context *ctx, const lac_pattern *pattern, const lac_buffer **out);

/// The identity map on the slots, made when first asked. Retained for the caller.
lac_status lac_pattern_identity(lac_context *ctx, const lac_pattern *pattern, lac_map **out);

/// Where the entries stand about the diagonal. All in one look at the first and last entry of each row.
typedef struct lac_band {
  int64_t low, high;                    // the least and the largest col - row; low > high when there are no entries
  int64_t first_without, last_without;  // the first row whose first (last) entry is not on the diagonal, or -1
} lac_band;

/// The band of a pattern, found when first asked; borrowed.
lac_status lac_pattern_band(lac_context *ctx, const lac_pattern *pattern, const lac_band **out);

/// Refuse NULL, and distributed patterns, which only `function`'s local parts could serve.
lac_status lac_pattern_require_here(lac_context *ctx, const lac_pattern *pattern, const char *function);

/// Refuse patterns of blocks too.
lac_status lac_pattern_require_scalar(lac_context *ctx, const lac_pattern *pattern, const char *function);

/// The same for a function that reads the structure on the host: it is there afterwards.
lac_status lac_pattern_require_host(lac_context *ctx, const lac_pattern *pattern, const char *function);

/// Offsets and columns on the host, for algorithms that run there; the targets of a map.
lac_status lac_pattern_host(lac_context *ctx, const lac_pattern *pattern);
lac_status lac_map_host(lac_context *ctx, const lac_map *map);

// Objects that others derive from the structure and keep with the pattern: they must not hold the pattern (no cycles).

/// The first kept object of a kind for which `match(object, key)` is true (match NULL: any), retained for the caller;
/// or NULL.
lac_object *lac_pattern_find_cached(const lac_pattern *pattern, const lac_kind *kind,
                                    int (*match)(const lac_object *object, const void *key), const void *key);

/// Keep an object: the pattern becomes one more holder. `bytes` is what lac_pattern_bytes shall count for it.
lac_status lac_pattern_add_cached(lac_context *ctx, const lac_pattern *pattern, lac_object *object, int64_t bytes);

/// A width that holds these counts: `width` itself if it is wide enough (LAC_WIDTH_AUTO: the narrowest), else
/// LAC_ERR_OVERFLOW.
lac_status lac_width_choose(lac_context *ctx, const char *function, lac_width width, int64_t rows, int64_t cols,
                            int64_t nnz, lac_width *out);

lac_index_type lac_width_offsets(lac_width width);  // LAC_I32 or LAC_I64
lac_index_type lac_width_columns(lac_width width);

struct lac_map {
  lac_object object;
  int64_t inputs, outputs;
  lac_buffer *target;  // of each input; -1: dropped
  bool is_identity;
  bool is_injective;  // no two inputs share a target: scattering needs no order
  bool is_sorted;     // targets never descend and none is dropped: the sources of an output are a run of inputs

  pthread_mutex_t lock;
  lac_buffer *g_offsets, *g_sources;  // inputs grouped by target, ascending; made when asked for

  // The entry map of a distributed pattern (distributed/): how its inputs and outputs are spread. NULL in one process.
  const lac_partition *input_partition, *output_partition;
};

/// The kind of maps, by which an operator tells its object.
extern const lac_kind lac_map_kind;

/// Take over the targets as a new map (finds identity and injectivity).
lac_status lac_map_adopt(lac_context *ctx, int64_t outputs, lac_buffer **target, lac_map **out);

/// The same where it is known that no two inputs share a target.
lac_status lac_map_adopt_injective(lac_context *ctx, int64_t outputs, lac_buffer **target, lac_map **out);

/// The same where it is known that some two do.
lac_status lac_map_adopt_shared(lac_context *ctx, int64_t outputs, lac_buffer **target, lac_map **out);

/// The map of `inputs` entries that follows `count` maps, one after the other, each of which may be NULL: the identity.
lac_status lac_map_follow(lac_context *ctx, int64_t inputs, int count, const lac_map *const *steps, lac_map **out);

/// The integers in which a map between so many entries keeps its targets.
lac_index_type lac_map_type(int64_t inputs, int64_t outputs);

/// Inputs grouped by target, computed when first asked; borrowed buffers.
lac_status lac_map_groups(lac_context *ctx, const lac_map *map, const lac_buffer **offsets, const lac_buffer **sources);

/// The same for kernels that know runs: of a sorted map the sources of output j are offsets[j], offsets[j] + 1, ...
/// themselves, and *sources is NULL.
lac_status lac_map_runs(lac_context *ctx, const lac_map *map, const lac_buffer **offsets, const lac_buffer **sources);

/// The first output with the most sources, and how many these are; looked for when first asked.
lac_status lac_map_longest(lac_context *ctx, const lac_map *map, int64_t *output, int64_t *count);

/// A pattern derived from another, kept with it, and the map that takes values there.
typedef enum lac_part_name {
  LAC_PART_TRANSPOSE,
  LAC_PART_LOWER,
  LAC_PART_UPPER,
  LAC_PART_DIAGONAL,
  LAC_PART_ROWS,
  LAC_PART_COLS,
  LAC_PART_SCALAR
} lac_part_name;

struct lac_part {
  lac_object object;
  lac_part_name name;
  int64_t k;             // of a triangle
  lac_pattern *pattern;  // NULL: the pattern that keeps the part
  lac_map *map;
};

/// A part of a pattern, made by `make` when it is not there: it sets part->pattern (may be `pattern` itself) and
/// part->map. Both are retained for the caller; `out` and `map` may be NULL.
lac_status lac_pattern_part(lac_context *ctx, const lac_pattern *pattern, lac_part_name name, int64_t k,
                            lac_status (*make)(lac_context *, const lac_pattern *, lac_part *), lac_pattern **out,
                            lac_map **map);

/// The map of a part that is a map alone, for the public `function` that gives it.
lac_status lac_pattern_part_map(lac_context *ctx, const char *function, const lac_pattern *pattern, lac_part_name name,
                                lac_status (*make)(lac_context *, const lac_pattern *, lac_part *), lac_map **map);

/// A pattern whose entries are the dual numbers [[c, m], [0, c]] (pattern_double.c): 2 rows x 2 cols, 3 nnz. The maps
/// run from its slots to those of the pattern: `twice` from the places of c, `once` from that of m, `pair` from both to
/// (c, m) one behind the other.
typedef struct lac_doubled {
  lac_object object;
  lac_pattern *pattern;
  lac_map *pair, *twice, *once;
} lac_doubled;

/// Made when first asked and kept with the pattern; retained for the caller (lac_object_release).
lac_status lac_pattern_doubled(lac_context *ctx, const lac_pattern *pattern, lac_doubled **out);

// Plans for pairs of patterns: a cache with a byte budget, least recently used first. `purpose` names the plan and is a
// literal. Plans are kept under the ids of a and b and hold neither; they go when a or b goes, or when the budget is
// short.
typedef struct lac_pair_plan {
  lac_object object;
  lac_pattern *pattern;      // NULL where it would be a (then from_a is the identity) or b
  lac_map *from_a, *from_b;  // where values go: of a union and an intersection both, of a Kronecker product from_a
} lac_pair_plan;

/// The plan for (purpose, a, b), made by `make` when it is not there. Retained for the caller (lac_object_release).
lac_status lac_pair_plan_get(lac_context *ctx, const char *purpose, const lac_pattern *a, const lac_pattern *b,
                             lac_status (*make)(lac_context *, const lac_pattern *, const lac_pattern *,
                                                lac_pair_plan *),
                             lac_pair_plan **out);

/// Refuse a NULL `out`, and patterns that `function` cannot take.
lac_status lac_pair_check(lac_context *ctx, const char *function, const lac_pattern *a, const lac_pattern *b,
                          lac_pattern **out);

/// The structure of both on the host, for algorithms that run there.
lac_status lac_pair_host(lac_context *ctx, const lac_pattern *a, const lac_pattern *b);

/// The width of what is made of a and b: the narrowest that fits, and no narrower than theirs. Before the entries are
/// counted: what to ask lac_structure_kernels.build for.
lac_width lac_pair_width_asked(const lac_pattern *a, const lac_pattern *b);
lac_status lac_pair_width(lac_context *ctx, const char *function, const lac_pattern *a, const lac_pattern *b,
                          int64_t rows, int64_t cols, int64_t nnz, lac_width *out);

/// Drop the plans kept under the id of a pattern that goes.
void lac_pair_plans_forget(int64_t id);

int64_t lac_pair_plans_budget(void);

/// Where the products of A B go, kept with the pattern C that lac_pattern_product made of A and B: product n of row i,
/// counted over the entries of A's row and, for each, over those of B's row under it, belongs to entry place[start[i] +
/// n] of C's row i.
typedef struct lac_places {
  lac_object object;
  int64_t a, b;    // ids
  int64_t *start;  // for each row; rows that have the same places share them
  uint16_t *place;
  bool repeats;  // most rows share: the matrices are grids or bands
} lac_places;

/// The places of A B = C, retained for the caller (lac_object_release), or NULL: C is none of theirs, a row of it is
/// too long, or they would take more than a quarter of the budget of plans.
lac_places *lac_pattern_places(const lac_pattern *a, const lac_pattern *b, const lac_pattern *c);

/// How many threads the structure functions use: ctx->threads, or one without a context or while the cores are taken.
/// Ask once for a loop: the next answer may be another.
static inline int lac_structure_threads(const lac_context *ctx) {
  return ctx && ctx->threads > 1 ? lac_crowd_threads(ctx->threads) : 1;
}

#endif
