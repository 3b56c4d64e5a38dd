// SPDX-License-Identifier: Apache-2.0
/// @file cycle.c
/// One cycle: smooth, restrict the residual, solve on the next level, interpolate, smooth.
///
/// A large next level is solved by two steps of flexible conjugate gradients (generalised conjugate residuals where the
/// matrix is not Hermitian) that have the cycle of that level as preconditioner: the K-cycle (Notay and Vassilevski,
/// 2008). It makes up for the plain interpolation, which alone would need more and more iterations on ever larger
/// problems. Small levels get one cycle. Sweeps before and after are the same, so that a cycle of op(A) is op of the
/// cycle.

#include "solvers/precondition/multigrid/coarse/rooms.h"
#include "solvers/precondition/multigrid/pairwise/hierarchy.h"

// Levels from this size on take two steps: below, waking threads and starting loops would cost more than iterations do;
// on a device, starting kernels. Small problems can afford them down to a 64th of their rows.
enum { K_CYCLE_ROWS = 3000, K_CYCLE_ROWS_AWAY = 50000, K_CYCLE_FEWEST = 300 };

/// What a level works in: [items, n, k] each, and the sums and coefficients of its two steps.
typedef struct room {
  lac_array *b, *x, *c, *d, *v, *sums, *steps;
} room;

typedef struct cycle {
  const lac_hierarchy *h;
  const lac_pairwise_kernels *kernels;
  lac_form form;      // with A^H written as A where they are the same
  int64_t two_steps;  // rows of a level that takes them
  lac_array *scale;
  lac_level_view views[LAC_LEVELS];
  lac_rooms all;
  room rooms[LAC_LEVELS];
} cycle;

static int last_of(const cycle *s) { return s->h->levels->count - 1; }

static int64_t rows_of_two_steps(const lac_context *ctx, const lac_hierarchy *h) {
  int64_t least = h->levels->patterns[0]->rows / 64, most = lac_context_is_host(ctx) ? K_CYCLE_ROWS : K_CYCLE_ROWS_AWAY;
  if (least > most) return most;
  return least < K_CYCLE_FEWEST ? K_CYCLE_FEWEST : least;
}

/// Not where rows became hardly fewer: the work of all levels stays in proportion to that of the first.
static bool takes_two_steps(const cycle *s, int level) {
  lac_pattern *const *patterns = s->h->levels->patterns;
  bool is_fewer = level > 0 && 2 * patterns[level]->rows < patterns[level - 1]->rows;
  return level != last_of(s) && is_fewer && patterns[level]->rows >= s->two_steps;
}

static lac_status open_view(lac_context *ctx, cycle *s, int level) {
  lac_status status = LAC_OK;
  const lac_hierarchy *h = s->h;
  lac_level_view *view = &s->views[level];

  *view = (lac_level_view){.values = h->values[level],
                           .weights = h->weights[level],
                           .conjugates = lac_form_conjugates(s->form),
                           .is_ragged = h->levels->is_ragged[level],
                           .slices = h->is_sliced[level] ? h->levels->slices[level] : NULL,
                           .unit = level == 0 ? h->unit : NULL,
                           .scale = level == 0 ? s->scale : NULL};
  LAC_TRY(lac_pattern_walk(ctx, h->levels->patterns[level], lac_form_transposes(s->form), &view->rows));
done:
  return status;
}

static lac_status open_level(lac_context *ctx, cycle *s, int level, int64_t k) {
  lac_status status = LAC_OK;
  const lac_hierarchy *h = s->h;
  int64_t shape[] = {h->items, h->levels->patterns[level]->rows, k};
  lac_dtype full = lac_dtype_is_complex(h->dtype) ? LAC_C128 : LAC_F64;
  room *r = &s->rooms[level];

  LAC_TRY(lac_rooms_take(ctx, &s->all, h->narrow, shape, &r->x));
  if (level == 0 && last_of(s) > 0) goto done;
  LAC_TRY(lac_rooms_take(ctx, &s->all, h->narrow, shape, &r->c));
  if (level == 0) goto done;
  LAC_TRY(lac_rooms_take(ctx, &s->all, h->narrow, shape, &r->b));
  if (!takes_two_steps(s, level)) goto done;
  LAC_TRY(lac_rooms_take(ctx, &s->all, h->narrow, shape, &r->d));
  LAC_TRY(lac_rooms_take(ctx, &s->all, h->narrow, shape, &r->v));
  LAC_TRY(lac_rooms_take(ctx, &s->all, full, (const int64_t[]){h->items, LAC_CYCLE_SUMS, k}, &r->sums));
  LAC_TRY(lac_rooms_take(ctx, &s->all, full, (const int64_t[]){h->items, LAC_CYCLE_STEPS, k}, &r->steps));
done:
  return status;
}

static lac_status open_all(lac_context *ctx, cycle *s, int64_t k) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_rooms_take(ctx, &s->all, LAC_F64, (const int64_t[]){s->h->items, 2, k}, &s->scale));
  for (int level = 0; level < s->h->levels->count; ++level) LAC_TRY(open_level(ctx, s, level, k));
done:
  return status;
}

static void close_level(room *r) {
  lac_array_destroy(&r->b);
  lac_array_destroy(&r->x);
  lac_array_destroy(&r->c);
  lac_array_destroy(&r->d);
  lac_array_destroy(&r->v);
  lac_array_destroy(&r->sums);
  lac_array_destroy(&r->steps);
}

static lac_status descend(lac_context *ctx, cycle *s, int level, const lac_array *b, lac_array *z);

/// The next level's problem, from its b and first sweep: into its c and, in two steps, d.
static lac_status solve_level(lac_context *ctx, cycle *s, int level) {
  lac_status status = LAC_OK;
  room *r = &s->rooms[level];
  lac_level_view *view = &s->views[level];
  bool of_image = !s->h->is_hermitian;

  LAC_TRY(descend(ctx, s, level, r->b, r->c));
  if (!takes_two_steps(s, level)) goto done;
  LAC_TRY(s->kernels->product(ctx, view, of_image, r->c, r->b, NULL, r->v, r->sums));
  LAC_TRY(s->kernels->steps(ctx, false, r->sums, r->steps));
  LAC_TRY(s->kernels->advanced(ctx, view, r->steps, r->v, r->b, r->x));
  LAC_TRY(descend(ctx, s, level, r->b, r->d));
  LAC_TRY(s->kernels->product(ctx, view, of_image, r->d, r->b, r->v, NULL, r->sums));
  LAC_TRY(s->kernels->steps(ctx, true, r->sums, r->steps));
done:
  return status;
}

/// z = the cycle of a level applied to b, whose first sweep is in the level's x.
static lac_status descend(lac_context *ctx, cycle *s, int level, const lac_array *b, lac_array *z) {
  lac_status status = LAC_OK;
  room *here = &s->rooms[level], *next = &s->rooms[level + 1];
  const lac_aggregation *aggregation = &s->h->levels->aggregates[level];

  if (level == last_of(s) && s->h->inverse) return ctx->kernels->matmul(ctx, s->form, s->h->inverse, LAC_PLAIN, b, z);
  if (level < last_of(s)) {
    const lac_array *weights = s->h->weights[level + 1];
    LAC_TRY(s->kernels->restricted(ctx, &s->views[level], aggregation, weights, b, here->x, z, next->b,
                                   weights ? next->x : NULL));
    LAC_TRY(solve_level(ctx, s, level + 1));
    LAC_TRY(s->kernels->prolonged(ctx, aggregation, next->steps, next->c, next->d, here->x));
  }
  LAC_TRY(s->kernels->relaxed(ctx, &s->views[level], b, here->x, z));
done:
  return status;
}

/// The finest level: numbers are scaled on the way in and out.
static lac_status run(lac_context *ctx, cycle *s, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  room *here = &s->rooms[0];
  const lac_array *weights = s->h->weights[0];
  bool conjugates = lac_form_conjugates(s->form);

  LAC_TRY(ctx->kernels->magnitudes(ctx, b, s->h->unit, s->scale));
  LAC_TRY(s->kernels->scaled(ctx, weights, conjugates, s->scale, 0, b, here->x));
  if (weights) return descend(ctx, s, 0, b, x);
  LAC_TRY(descend(ctx, s, 0, here->x, here->c));
  LAC_TRY(s->kernels->scaled(ctx, NULL, false, s->scale, 1, here->c, x));
done:
  return status;
}

lac_status lac_hierarchy_cycle(lac_context *ctx, const lac_hierarchy *h, lac_form form, const lac_array *b,
                               lac_array *x) {
  lac_status status = LAC_OK;
  int64_t k = b->meta.shape[b->meta.ndim - 1];
  cycle s = {.h = h, .kernels = ctx->kernels->pairwise, .two_steps = rows_of_two_steps(ctx, h)};

  s.form = lac_coarse_form(form, h->dtype, h->is_hermitian);

  if (x->count == 0) return LAC_OK;
  LAC_TRY(open_all(ctx, &s, k));
  LAC_TRY(lac_rooms_open(ctx, &s.all));
  LAC_TRY(open_all(ctx, &s, k));
  for (int level = 0; level < h->levels->count; ++level) LAC_TRY(open_view(ctx, &s, level));
  LAC_TRY(run(ctx, &s, b, x));
done:
  for (int level = 0; level < h->levels->count; ++level) close_level(&s.rooms[level]);
  lac_array_destroy(&s.scale);
  lac_rooms_close(&s.all);
  return status;
}
