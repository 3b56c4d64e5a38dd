// SPDX-License-Identifier: Apache-2.0
/// @file survey.c
/// Finite? Hermitian? A positive diagonal? Like an M-matrix? Diagonally dominant?
///
/// Rows are looked at in blocks that do not depend on the number of threads, and the first offender counts: the answer
/// is the same on any number of them. Needs a number for each row where columns or moduli must be summed, and else no
/// memory for rows.

#include <math.h>

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"
#include "core/finite.h"
#include "core/numbers/search.h"

enum { SURVEY_BLOCK = 4096 };  // rows that are looked at together
enum { SURVEY_SHORT = 16 };    // entries that are searched one by one
enum { SURVEY_AHEAD = 256 };   // entries that are prefetched
enum { SURVEY_RUN = 32 };      // rows of a stencil that are looked at together

typedef struct survey_rows {
  int64_t rows, nnz;
  const int32_t *offsets32, *columns32;  // one of each pair is NULL
  const int64_t *offsets64, *columns64;
} survey_rows;

typedef struct survey_part {
  int64_t nonfinite, asymmetric, not_positive, without;
  int64_t above, below;     // entries
  double positive, beside;  // sums of real parts above zero, and of sizes, off the diagonal
  double dominance;         // the largest share of a row
  double largest;           // size
  double least, most;       // sizes on the diagonal
  bool is_unpaired;
} survey_part;

static const survey_part survey_nothing = {
    .nonfinite = -1, .asymmetric = -1, .not_positive = -1, .without = -1, .least = INFINITY};

// `narrow` is known where these are compiled: all indices have 32 bits.
static inline int64_t survey_offset(const survey_rows *s, bool narrow, int64_t i) {
  return narrow || s->offsets32 ? s->offsets32[i] : s->offsets64[i];
}

static inline int64_t survey_column(const survey_rows *s, bool narrow, int64_t p) {
  return narrow || s->columns32 ? s->columns32[p] : s->columns64[p];
}

// What is found of rows of a stencil, by their place in a run: sums and maxima of several runs, or of one.
typedef struct survey_run {
  double positive[SURVEY_RUN], beside[SURVEY_RUN], largest[SURVEY_RUN];
  double dominance[SURVEY_RUN], least[SURVEY_RUN], most[SURVEY_RUN];
  double apart[SURVEY_RUN];  // what entries differ from their mirrors
} survey_run;

// Whether rows [i, i + SURVEY_RUN) have the entries of row i, each row one column further. Indices have 32 bits.
static bool survey_repeats(const survey_rows *s, int64_t i) {
  const int32_t *offsets = s->offsets32 + i, *columns = s->columns32 + offsets[0], count = offsets[1] - offsets[0];
  int32_t differs = 0;
  if (count == 0 || count > SURVEY_SHORT || offsets[SURVEY_RUN] - offsets[0] != count * SURVEY_RUN) return false;
  if (columns[count] != columns[0] + 1 || columns[2 * count - 1] != columns[count - 1] + 1) return false;
  for (int r = 0; r < SURVEY_RUN; r++) differs |= offsets[r + 1] - offsets[r] - count;
  for (int32_t p = 0; p < count * (SURVEY_RUN - 1); p++) differs |= columns[p + count] - columns[p] - 1;
  return differs == 0;
}

// The slot of the mirror of entry `place` of row i, where those of the run behind it follow, one in each row; or -1.
static int64_t survey_run_mirror(const survey_rows *s, int64_t i, int32_t count, int32_t place) {
  const int64_t j = s->columns32[s->offsets32[i] + place];
  if (j + SURVEY_RUN > s->rows) return -1;
  const int32_t *offsets = s->offsets32 + j, slot = offsets[0] + count - 1 - place, *columns = s->columns32 + slot;
  int32_t differs = offsets[SURVEY_RUN] - offsets[0] - count * SURVEY_RUN;
  if (differs) return -1;
  for (int r = 0; r < SURVEY_RUN; r++) differs |= offsets[r + 1] - offsets[r] - count;
  if (differs) return -1;
  for (int r = 0; r < SURVEY_RUN; r++) differs |= columns[count * r] - (int32_t)i - r;
  return differs ? -1 : slot;
}

static void survey_run_begin(survey_run *run) {
  memset(run, 0, sizeof *run);
  for (int r = 0; r < SURVEY_RUN; r++) run->least[r] = INFINITY;
}

// Whether diagonals are positive, mirrors equal, and all numbers finite.
static bool survey_run_is_well(const survey_run *run) {
  int is_odd = 0;
  for (int r = 0; r < SURVEY_RUN; r++) {
    is_odd |= !(run->most[r] > 0) | (run->apart[r] != 0) | !(run->beside[r] + run->most[r] < (double)INFINITY);
  }
  return !is_odd;
}

static void survey_run_add(const survey_run *one, survey_run *all) {
  VECTOR_LOOP for (int r = 0; r < SURVEY_RUN; r++) {
    const double own = one->most[r], share = one->beside[r] / own,
                 largest = one->largest[r] > own ? one->largest[r] : own;
    all->positive[r] += one->positive[r], all->beside[r] += one->beside[r];
    all->largest[r] = largest > all->largest[r] ? largest : all->largest[r];
    all->dominance[r] = share > all->dominance[r] ? share : all->dominance[r];
    all->least[r] = own < all->least[r] ? own : all->least[r];
    all->most[r] = own > all->most[r] ? own : all->most[r];
  }
}

static void survey_run_end(const survey_run *run, survey_part *part) {
  for (int r = 0; r < SURVEY_RUN; r++) {
    part->positive += run->positive[r], part->beside += run->beside[r];
    part->largest = fmax(part->largest, run->largest[r]);
    part->dominance = fmax(part->dominance, run->dominance[r]);
    part->least = fmin(part->least, run->least[r]), part->most = fmax(part->most, run->most[r]);
  }
}

// The sum off a diagonal entry, as a share of the entry; a zero entry does not dominate.
static inline double survey_part_of(double beside, double diagonal) {
  if (!(diagonal > 0)) return INFINITY;
  return isfinite(beside) ? beside / diagonal : INFINITY;
}

static inline int64_t survey_first(int64_t a, int64_t b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

// The slot of (i, j), or -1. Columns ascend.
static inline int64_t survey_find(const survey_rows *s, bool narrow, int64_t i, int64_t j) {
  int64_t low = survey_offset(s, narrow, i), high = survey_offset(s, narrow, i + 1);
  if (high - low <= SURVEY_SHORT) {
    while (low < high && survey_column(s, narrow, low) < j) low++;
    high = low;
  }
  LAC_SEARCH(low, high, slot, survey_column(s, narrow, slot) < j)
  return low < survey_offset(s, narrow, i + 1) && survey_column(s, narrow, low) == j ? low : -1;
}

// The slot of (j, i), the mirror of slot p of (i, j), or -1. Rows of a stencil mirror each other: there it is as far
// from the end as p is from the beginning of its row, and nothing is searched.
static inline int64_t survey_mirror(const survey_rows *s, bool narrow, int64_t i, int64_t j, int64_t from_begin) {
  int64_t guess = survey_offset(s, narrow, j + 1) - 1 - from_begin;
  if (guess >= survey_offset(s, narrow, j) && survey_column(s, narrow, guess) == i) return guess;
  return survey_find(s, narrow, j, i);
}

#define KERNEL_FILE "backends/cpu/values/survey_kernel.h"
#include "backends/cpu/base/instantiate.h"

typedef void survey_rows_kernel(const survey_rows *, const void *, int64_t, int64_t, survey_part *);
typedef double survey_largest_kernel(int64_t, const void *);
typedef double survey_shares_kernel(const survey_rows *, const void *, bool, double *);
static survey_largest_kernel *const survey_largest_kernels[] = TABLE(survey_largest);
static survey_rows_kernel *const survey_rows_kernels[] = TABLE(survey_rows);
static survey_shares_kernel *const survey_shares_kernels[] = TABLE(survey_shares);

static survey_rows survey_open(const lac_pattern *p) {
  survey_rows s = {.rows = p->rows, .nnz = p->nnz};
  if (p->offsets->type == LAC_I32) s.offsets32 = p->offsets->host;
  if (p->offsets->type != LAC_I32) s.offsets64 = p->offsets->host;
  if (p->columns->type == LAC_I32) s.columns32 = p->columns->host;
  if (p->columns->type != LAC_I32) s.columns64 = p->columns->host;
  return s;
}

// An entry below the diagonal without its mirror, where all above have theirs.
static int64_t survey_unpaired(const survey_rows *s) {
  for (int64_t i = 0; i < s->rows; i++) {
    for (int64_t p = survey_offset(s, false, i); p < survey_offset(s, false, i + 1); p++) {
      if (survey_column(s, false, p) != i && survey_find(s, false, survey_column(s, false, p), i) < 0) return p;
    }
  }
  return -1;
}

static void survey_join(survey_part *all, const survey_part *one) {
  if (one->asymmetric >= 0 && (all->asymmetric < 0 || one->asymmetric < all->asymmetric)) {
    all->is_unpaired = one->is_unpaired;
  }
  all->asymmetric = survey_first(all->asymmetric, one->asymmetric);
  all->nonfinite = survey_first(all->nonfinite, one->nonfinite);
  all->not_positive = survey_first(all->not_positive, one->not_positive);
  all->without = survey_first(all->without, one->without);
  all->above += one->above, all->below += one->below;
  all->positive += one->positive, all->beside += one->beside;
  all->dominance = fmax(all->dominance, one->dominance);
  all->largest = fmax(all->largest, one->largest);
  all->least = fmin(all->least, one->least), all->most = fmax(all->most, one->most);
}

static bool survey_is_m_like(const survey_part *part) {
  return part->not_positive < 0 && part->positive <= LAC_SURVEY_SHARE * part->beside;
}

// Whether complex rows dominate by moduli, which take longer than sizes, and whether columns do, is asked where nothing
// else is in favour of iterating. Columns of a Hermitian matrix are its rows.
static lac_status survey_closer(lac_context *ctx, const survey_rows *s, lac_dtype dtype, const void *values,
                                survey_part *part) {
  lac_status status = LAC_OK;
  bool is_hermitian = part->asymmetric < 0, is_definite = is_hermitian && part->not_positive < 0;
  double *sums = NULL;

  if (part->dominance < 1 || is_definite || part->without >= 0 || survey_is_m_like(part)) goto done;
  LAC_ALLOC(sums, s->rows);
  if (lac_dtype_is_complex(dtype)) {
    part->dominance = fmin(part->dominance, survey_shares_kernels[dtype](s, values, false, sums));
    memset(sums, 0, (size_t)s->rows * sizeof *sums);
  }
  if (part->dominance < 1 || is_hermitian) goto done;
  part->dominance = fmin(part->dominance, survey_shares_kernels[dtype](s, values, true, sums));
done:
  lac_free(sums);
  return status;
}

// Sums are joined in the order of the blocks.
static lac_status survey_matrix(lac_context *ctx, const survey_rows *s, lac_dtype dtype, const void *values,
                                survey_part *out) {
  lac_status status = LAC_OK;
  int64_t blocks = (s->rows + SURVEY_BLOCK - 1) / SURVEY_BLOCK;
  int threads = 1;
  survey_part *parts = NULL;

  LAC_ALLOC(parts, blocks);
  threads = lac_threads_worth(ctx->threads, blocks, (double)s->nnz);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && blocks > 2)
  for (int64_t b = 0; b < blocks; b++) {
    int64_t begin = b * SURVEY_BLOCK, end = begin + SURVEY_BLOCK < s->rows ? begin + SURVEY_BLOCK : s->rows;
    parts[b] = survey_nothing;
    survey_rows_kernels[dtype](s, values, begin, end, &parts[b]);
  }
  *out = survey_nothing;
  for (int64_t b = 0; b < blocks; b++) survey_join(out, &parts[b]);
  if (out->asymmetric < 0 && out->above != out->below) out->asymmetric = survey_unpaired(s), out->is_unpaired = true;
done:
  lac_free(parts);
  return status;
}

static void survey_note(int64_t found, int64_t item, int64_t *first, int64_t *first_item) {
  if (*first < 0 && found >= 0) *first = found, *first_item = item;
}

static lac_status survey_items(lac_context *ctx, const lac_pattern *p, const lac_array *values, bool is_closer,
                               double *largest, lac_survey *out) {
  lac_status status = LAC_OK;
  survey_rows s = survey_open(p);
  const char *data = cpu_data(values);
  size_t bytes = (size_t)p->nnz * lac_dtype_size(values->meta.dtype);
  survey_part part;

  for (int64_t item = 0; item < values->meta.shape[0]; item++) {
    bool was_symmetric = out->asymmetric < 0;
    LAC_TRY(survey_matrix(ctx, &s, values->meta.dtype, data + (size_t)item * bytes, &part));
    survey_note(part.nonfinite, item, &out->nonfinite, &out->nonfinite_item);
    survey_note(part.asymmetric, item, &out->asymmetric, &out->asymmetric_item);
    survey_note(part.not_positive, item, &out->not_positive, &out->not_positive_item);
    survey_note(part.without, item, &out->without, &out->without_item);
    if (was_symmetric) out->is_unpaired = part.is_unpaired;
    out->is_m_like = out->is_m_like && survey_is_m_like(&part);
    if (is_closer) LAC_TRY(survey_closer(ctx, &s, values->meta.dtype, data + (size_t)item * bytes, &part));
    out->dominance = fmax(out->dominance, part.dominance);
    out->spread = fmax(out->spread, part.most / part.least);
    if (largest) largest[item] = part.largest;
  }
done:
  return status;
}

lac_status cpu_survey(lac_context *ctx, const lac_pattern *p, const lac_array *values, bool is_closer, double *largest,
                      lac_survey *out) {
  lac_status status = LAC_OK;
  const void *data = cpu_data(values);
  const int64_t items = p->nnz > 0 ? values->count / p->nnz : 0;

  LAC_TRY(lac_pattern_host(ctx, p));
  *out = lac_survey_begin();
  if (p->rows == p->cols) return survey_items(ctx, p, values, is_closer, largest, out);
  out->nonfinite = lac_nonfinite_first(ctx, values->meta.dtype, data, items, p->nnz, &out->nonfinite_item);
  out->asymmetric = out->not_positive = out->without = 0, out->is_m_like = false, out->dominance = INFINITY;
  for (int64_t item = 0; largest && item < items; item++) {
    const char *own = (const char *)data + (size_t)(item * p->nnz) * lac_dtype_size(values->meta.dtype);
    largest[item] = survey_largest_kernels[values->meta.dtype](p->nnz, own);
  }
done:
  return status;
}
