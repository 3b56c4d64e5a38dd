// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_match.c
/// Aggregates by matching in pairs, twice (after Notay, 2010): rows with their strongest neighbours, then pairs with
/// theirs.
///
/// Entry (i, j) is strong as far as it holds x_j to x_i: -Re(a_ij conj(phase a_ii)). Rows are visited one after the
/// other and take the strongest neighbour that is free, of equals the one visited first. On a grid numbered line by
/// line the pairs then all lie in one direction and the pairs of pairs are boxes in line with each other, level after
/// level: that takes far fewer iterations than aggregates that lie anywhere. Matrices without such a numbering are
/// visited breadth first, which carries the direction from pair to pair.

#include "core/numbers/numbers.h"
#include "backends/cpu/pairwise/pairwise.h"

enum { FREE = -1, OUT = -2 };

static const double STRONG = 0.5;    // of the strongest entry in the row
static const double DOMINANT = 3.0;  // a diagonal so many times all others needs no coarse level

/// A matching in the making.
typedef struct match {
  int64_t rows;
  const void *offsets, *columns, *values;
  bool has_wide_offsets, has_wide_columns;
  const int32_t *order;  // of visits; NULL: as the rows come
  int32_t *place;        // of each row in it
  int32_t *pair;         // of each row
  int32_t pairs;
  int32_t *starts, *members;  // of pairs
  int32_t *merged;            // of each pair
  int32_t merges;
  double *strength;  // of each pair to the one that looks
  int32_t *seen;     // the pairs that one sees, in a list
} match;

static inline int64_t match_offset(const match *m, int64_t i) {
  return m->has_wide_offsets ? ((const int64_t *)m->offsets)[i] : ((const int32_t *)m->offsets)[i];
}
static inline int64_t match_column(const match *m, int64_t p) {
  return m->has_wide_columns ? ((const int64_t *)m->columns)[p] : ((const int32_t *)m->columns)[p];
}

/// Ask for what a visit some steps ahead will read: rows that are visited in another order than they are stored lie
/// anywhere.
static inline void match_ask(const match *m, const int32_t *order, int64_t at, int64_t count, size_t bytes) {
  enum { SOON = 8, LATER = 16 };
  if (at + LATER >= count) return;
  __builtin_prefetch((const char *)m->offsets + order[at + LATER] * (m->has_wide_offsets ? 8 : 4));
  int64_t p = match_offset(m, order[at + SOON]);
  __builtin_prefetch((const char *)m->columns + p * (m->has_wide_columns ? 8 : 4));
  if (bytes) __builtin_prefetch((const char *)m->values + (size_t)p * bytes);
}

#define KERNEL_FILE "backends/cpu/pairwise/pairwise_match_kernel.h"
#include "core/numbers/instantiate.h"

static void (*const match_rows[4])(match *) = TABLE(match_rows);
static void (*const match_pairs[4])(match *) = TABLE(match_pairs);

// -- the order of visits ---------------------------------------------------------------------------------------------

/// Whether neighbours stand at few distances: a grid line by line, a band. Looks at 512 rows.
static bool has_few_offsets(const match *m) {
  enum { LOOKS = 512, FEW = 64 };
  int64_t known[FEW];
  int count = 0;
  for (int64_t look = 0; look < LOOKS; ++look) {
    int64_t i = (int64_t)((double)m->rows / LOOKS * (double)look);
    for (int64_t p = match_offset(m, i); p < match_offset(m, i + 1); ++p) {
      int64_t offset = match_column(m, p) - i;
      int at = 0;
      while (at < count && known[at] != offset) ++at;
      if (at < count) continue;
      if (count == FEW) return false;
      known[count++] = offset;
    }
  }
  return true;
}

/// Breadth first, from the last row of a first walk so that the front is narrow.
static void visit_from(const match *m, int32_t first, int32_t *order, int32_t *place, int32_t *count) {
  int32_t head = *count;
  order[*count] = first;
  place[first] = (*count)++;
  for (; head < *count; ++head) {
    int32_t i = order[head];
    match_ask(m, order, head, *count, 0);
    for (int64_t p = match_offset(m, i); p < match_offset(m, i + 1); ++p) {
      int32_t j = (int32_t)match_column(m, p);
      if (place[j] >= 0) continue;
      order[*count] = j;
      place[j] = (*count)++;
    }
  }
}

static lac_status visit_breadth_first(lac_context *ctx, match *m, int32_t **order) {
  lac_status status = LAC_OK;
  int32_t count = 0;
  LAC_ALLOC(*order, m->rows);
  LAC_ALLOC(m->place, m->rows);
  for (int64_t i = 0; i < m->rows; ++i) m->place[i] = FREE;
  for (int64_t i = 0; i < m->rows; ++i) {
    if (m->place[i] < 0) visit_from(m, (int32_t)i, *order, m->place, &count);
  }
  m->order = *order;
done:
  return status;
}

// -- the aggregates --------------------------------------------------------------------------------------------------

/// Rows by the target that each is sent to: counts, sums of them, places.
static void group(int64_t rows, const int32_t *target, int32_t groups, int32_t *starts, int32_t *members) {
  memset(starts, 0, ((size_t)groups + 1) * sizeof *starts);
  for (int64_t i = 0; i < rows; ++i) {
    if (target[i] >= 0) ++starts[target[i] + 1];
  }
  for (int32_t g = 0; g < groups; ++g) starts[g + 1] += starts[g];
  for (int64_t i = 0; i < rows; ++i) {
    if (target[i] >= 0) members[starts[target[i]]++] = (int32_t)i;
  }
  for (int32_t g = groups; g > 0; --g) starts[g] = starts[g - 1];
  starts[0] = 0;
}

static lac_status match_twice(lac_context *ctx, lac_dtype dtype, match *m) {
  lac_status status = LAC_OK;
  match_rows[dtype](m);
  LAC_ALLOC(m->starts, m->pairs + 1);
  LAC_ALLOC(m->members, m->rows);
  group(m->rows, m->pair, m->pairs, m->starts, m->members);
  LAC_ALLOC(m->merged, m->pairs);
  LAC_ALLOC(m->strength, m->pairs);
  LAC_ALLOC(m->seen, m->pairs);
  for (int32_t i = 0; i < m->pairs; ++i) m->merged[i] = FREE;
  match_pairs[dtype](m);
  for (int64_t i = 0; i < m->rows; ++i) m->pair[i] = m->pair[i] >= 0 ? m->merged[m->pair[i]] : -1;
done:
  return status;
}

/// Whether at least seven of eight aggregates have the same size.
static bool have_one_size(int64_t count, const int32_t *starts) {
  enum { SIZES = 16 };
  int64_t of_size[SIZES] = {0}, most = 0;
  for (int64_t i = 0; i < count; ++i) {
    int32_t size = starts[i + 1] - starts[i];
    if (size < SIZES && ++of_size[size] > most) most = of_size[size];
  }
  return 8 * most >= 7 * count;
}

static void match_clear(match *m) {
  lac_free(m->place);
  lac_free(m->starts);
  lac_free(m->members);
  lac_free(m->merged);
  lac_free(m->strength);
  lac_free(m->seen);
}

lac_status cpu_pairwise_matched(lac_context *ctx, const lac_pattern *pattern, const lac_array *values, bool is_first,
                                lac_aggregation *out) {
  lac_status status = LAC_OK;
  lac_aggregation made = {.fine = pattern->rows};
  int32_t *order = NULL;
  int64_t taken = 0;
  match m = {.rows = pattern->rows,
             .offsets = pattern->offsets->host,
             .columns = pattern->columns->host,
             .values = cpu_data(values),
             .has_wide_offsets = pattern->offsets->type == LAC_I64,
             .has_wide_columns = pattern->columns->type == LAC_I64};
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, m.rows, &made.aggregates));
  m.pair = made.aggregates->host;
  if (is_first && !has_few_offsets(&m)) LAC_TRY(visit_breadth_first(ctx, &m, &order));
  LAC_TRY(match_twice(ctx, values->meta.dtype, &m));
  for (int64_t i = 0; i < m.rows; ++i) taken += m.pair[i] >= 0;
  made.coarse = m.merges;
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, made.coarse + 1, &made.starts));
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, taken, &made.members));
  group(m.rows, m.pair, m.merges, made.starts->host, made.members->host);
  made.is_regular = !order && have_one_size(made.coarse, made.starts->host);
  *out = made, made = (lac_aggregation){0};
done:
  lac_aggregation_clear(&made);
  match_clear(&m);
  lac_free(order);
  return status;
}
