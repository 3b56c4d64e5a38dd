// SPDX-License-Identifier: Apache-2.0
/// @file multigrid.c
/// Multigrid: on a grid, by pairwise or by smoothed aggregation, as asked for or as the matrix wants it.
///
/// By default some rows are examined. Entries of similar size and one sign are left to grids, where the matrix is on
/// one and Hermitian, and to pairs; entries that differ by orders of magnitude, or have the sign of the diagonal, call
/// for smoothed aggregation, and so do near-null vectors. In doubt, or where some rows have neighbours that are much
/// stiffer, or where the matrix is uneven and not Hermitian (pairs follow convection), and on any other grid, a few
/// iterations are measured: above 0.6 per iteration, on a grid above 0.55, another kind is set up instead. The start is
/// a constant vector, which converges slowly on stiff islands in soft material.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/grid.h"
#include "kernels/pairwise.h"
#include "solvers/krylov/krylov.h"
#include "solvers/precondition/multigrid/grid/grid.h"
#include "solvers/precondition/multigrid/smoothed/smoothed.h"

extern const lac_preconditioner_table lac_preconditioner_pairwise;  // pairwise.c

enum { CHOICE_SAMPLES = 2048, CHOICE_PROBE = 6 };
enum { CHOICE_LONG = 1024 };  // entries of a row that one thread of a device may walk
enum { CHOICE_NARROW = 32 };  // points along both sides of a grid: shorter ones are not worth its rows
#define CHOICE_EVEN 4         // the largest off-diagonal entry over the smallest
#define CHOICE_UNEVEN 12
#define CHOICE_SIGN 0.05  // entries of the diagonal's sign over the largest
#define CHOICE_SIGNS 0.5
static const double CHOICE_FEW = 0.05, CHOICE_MANY = 0.3;        // shares of the rows looked at
static const double CHOICE_STIFF = 100;                          // stiffness of a neighbour relative to a row
static const double CHOICE_SHARE = 0.01;                         // of a row's diagonal makes a neighbour
static const double CHOICE_SLOW = 0.6, CHOICE_SLOW_GRID = 0.55;  // factors of the residual per iteration
static const double CHOICE_ENOUGH = 1e-5;  // of the residual: below, f32 measures its own rounding

/// Shares of the rows looked at.
typedef struct multigrid_look {
  double doubtful;  // entries that are not even, or of the diagonal's sign
  double uneven;    // entries that are far from even, or many of the diagonal's sign
} multigrid_look;

typedef struct multigrid_part {
  const lac_preconditioner_table *table;
  void *inner;
  multigrid_look look;  // by which it was chosen
  char reason[160];
} multigrid_part;

/// What every kind needs.
static bool multigrid_has_base(const lac_context *ctx) {
  const lac_kernels *k = ctx->kernels;
  return k->magnitudes && k->matmul && k->cast;
}

static bool multigrid_has_grids(const lac_context *ctx) { return ctx->kernels->grid && multigrid_has_base(ctx); }

static bool multigrid_has_pairs(const lac_context *ctx) { return ctx->kernels->pairwise && multigrid_has_base(ctx); }

/// On a device one thread walks a row, and all others wait for the longest.
bool lac_multigrid_takes(lac_context *ctx, const lac_pattern *pattern) {
  lac_longest longest = {0, 0, false};

  if (!multigrid_has_pairs(ctx)) return false;
  if (lac_context_is_host(ctx)) return true;
  return lac_buffer_longest(ctx, pattern->offsets, &longest) == LAC_OK && longest.count <= CHOICE_LONG;
}

/// Whether there are all kinds; the set-up of smoothed aggregation reads host memory besides.
static bool multigrid_has_all(const lac_context *ctx) {
  return lac_context_is_host(ctx) && multigrid_has_pairs(ctx) && ctx->kernels->smoothed;
}

/// Elsewhere than on the host there may be grids and pairs alone.
static bool multigrid_is_here(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options) {
  const lac_precondition *wish = &options->preconditioner;
  bool is_grid = false;

  if (multigrid_has_all(ctx)) return true;
  if (wish->kind == LAC_MULTIGRID_SMOOTHED || smoothed_modes_given(options)) return false;
  if (wish->kind != LAC_MULTIGRID_GRID && lac_multigrid_takes(ctx, pattern)) return true;
  if (wish->kind == LAC_MULTIGRID_PAIRWISE) return false;
  return lac_multigrid_is_grid(ctx, pattern, &is_grid) == LAC_OK && is_grid;
}

// -- a look at the entries -------------------------------------------------------------------------------------------

/// A look at some rows, of the first matrix.
static lac_status choice_look(lac_context *ctx, const lac_setup *setup, multigrid_look *look) {
  static const double ratio[2] = {CHOICE_EVEN, CHOICE_UNEVEN}, sign[2] = {CHOICE_SIGN, CHOICE_SIGNS};
  lac_status status = LAC_OK;
  lac_array *shares = NULL;
  double found[2];

  LAC_TRY(lac_array_create(ctx, LAC_F64, 1, (const int64_t[]){2}, &shares));
  LAC_TRY(ctx->kernels->pairwise->evenness(ctx, setup->pattern, setup->values, CHOICE_SAMPLES, ratio, sign, shares));
  LAC_TRY(lac_array_fetch(ctx, shares, found));
  *look = (multigrid_look){found[0], found[1]};
done:
  lac_array_destroy(&shares);
  return status;
}

/// How much stiffer than a row its neighbours are. Where no row is much stiffer than any other, no look is needed.
static lac_status choice_contrast(lac_context *ctx, lac_setup *setup) {
  lac_status status = LAC_OK;
  lac_rows rows = smoothed_walk(setup->pattern);
  lac_array *found = NULL;

  setup->contrast = setup->spread;
  if (setup->spread > 0 && setup->spread <= CHOICE_STIFF) goto done;
  LAC_TRY(lac_array_create(ctx, LAC_F64, 1, (const int64_t[]){1}, &found));
  LAC_TRY(ctx->kernels->smoothed->contrast(ctx, &rows, lac_setup_items(setup), setup->values, CHOICE_SHARE, found));
  LAC_TRY(lac_array_fetch(ctx, found, &setup->contrast));
done:
  lac_array_destroy(&found);
  return status;
}

lac_status lac_multigrid_grid(lac_context *ctx, const lac_pattern *pattern, lac_grid *out) {
  lac_status status = LAC_OK;
  lac_grid grid = {0};
  int64_t stray = 0;

  if (multigrid_has_grids(ctx)) LAC_TRY(grid_of_pattern(ctx, pattern, &grid, &stray));
  *out = grid.width >= CHOICE_NARROW && grid.height >= CHOICE_NARROW ? grid : (lac_grid){0};
done:
  return status;
}

lac_status lac_multigrid_is_grid(lac_context *ctx, const lac_pattern *pattern, bool *is_grid) {
  lac_grid grid = {0};
  lac_status status = lac_multigrid_grid(ctx, pattern, &grid);
  *is_grid = grid.width > 0;
  return status;
}

lac_status lac_multigrid_look(lac_context *ctx, const lac_setup *setup, bool *is_uneven, bool *jumps) {
  lac_status status = LAC_OK;
  lac_setup own = *setup;
  multigrid_look look = {0, 0};

  *is_uneven = false;
  if (jumps) *jumps = false;
  if (!multigrid_has_all(ctx)) goto done;
  LAC_TRY(choice_look(ctx, setup, &look));
  if (jumps && look.doubtful <= CHOICE_FEW) LAC_TRY(choice_contrast(ctx, &own));
  *is_uneven = look.uneven > CHOICE_MANY;
  if (jumps) *jumps = look.doubtful > CHOICE_FEW || own.contrast > CHOICE_STIFF;
done:
  return status;
}

// -- a few iterations ------------------------------------------------------------------------------------------------

static lac_status multigrid_apply(lac_context *ctx, const void *self, lac_form form, const lac_array *x, lac_array *y) {
  const multigrid_part *part = self;
  return part->table->apply(ctx, part->inner, form, x, y);
}

/// The factor of the residual per iteration, from constants.
static lac_status choice_probe(lac_context *ctx, const lac_setup *setup, const lac_preconditioner_table *table,
                               const void *inner, double *factor) {
  lac_status status = LAC_OK;
  lac_matrix_linear matrix = {setup->pattern, setup->values};
  lac_iteration iteration = {0};
  multigrid_part part = {.table = table, .inner = (void *)inner};
  lac_krylov_job job = {.iteration = &iteration, .rows = setup->pattern->rows, .items = lac_setup_items(setup)};
  lac_krylov_pace pace = {0};

  iteration.rtol = CHOICE_ENOUGH;
  iteration.max_iterations = iteration.look_every = CHOICE_PROBE;
  job.dtype = setup->values->meta.dtype;
  job.a = (lac_linear){.apply = lac_matrix_linear_apply, .self = &matrix};
  job.m = (lac_linear){.apply = multigrid_apply, .self = &part};
  LAC_TRY(lac_krylov_probe(ctx, &job, setup->is_hermitian, false, &pace));
  *factor = pace.factor;
done:
  return status;
}

// -- the choice ------------------------------------------------------------------------------------------------------

static lac_status choice_make(lac_context *ctx, const lac_setup *setup, multigrid_part *part,
                              const lac_preconditioner_table *table, const char *reason) {
  part->table = table;
  (void)snprintf(part->reason, sizeof part->reason, "%s", reason);
  return table->create(ctx, setup, &part->inner);
}

/// A kind whose factor is at most `slow`, or none; what was measured is the reason.
static lac_status choice_try(lac_context *ctx, const lac_setup *setup, const lac_preconditioner_table *table,
                             const char *name, double slow, multigrid_part *part) {
  lac_status status = LAC_OK;
  double factor = 0;

  part->table = table;
  LAC_TRY(table->create(ctx, setup, &part->inner));
  LAC_TRY(choice_probe(ctx, setup, table, part->inner, &factor));
  (void)snprintf(part->reason, sizeof part->reason, "%s took the residual down by %s%.2f an iteration", name,
                 factor <= slow ? "" : "no more than ", factor);
  if (factor <= slow) goto done;
  table->destroy(part->inner);
  part->inner = NULL;
done:
  return status;
}

/// Pairs, unless they turn out to be slow.
static lac_status choice_by_probe(lac_context *ctx, const lac_setup *setup, multigrid_part *part) {
  lac_status status = LAC_OK;

  LAC_TRY(choice_try(ctx, setup, &lac_preconditioner_pairwise, "pairs", CHOICE_SLOW, part));
  if (part->inner) goto done;
  part->table = &lac_preconditioner_smoothed;
  LAC_TRY(part->table->create(ctx, setup, &part->inner));
done:
  return status;
}

/// A grid, unless it turns out to be slow; even entries of a Hermitian matrix need no trial.
static lac_status choice_grid(lac_context *ctx, const lac_setup *setup, bool is_even, multigrid_part *part) {
  lac_status status = LAC_OK;
  bool is_grid = false;

  LAC_TRY(lac_multigrid_is_grid(ctx, setup->pattern, &is_grid));
  if (!is_grid) goto done;
  if (is_even && setup->is_hermitian)
    return choice_make(ctx, setup, part, &lac_preconditioner_grid, "entries are even and of one sign, on a grid");
  LAC_TRY(choice_try(ctx, setup, &lac_preconditioner_grid, "on the grid, cycles", CHOICE_SLOW_GRID, part));
done:
  return status;
}

/// Of two kinds: a grid where there is one.
static lac_status choice_without_smoothed(lac_context *ctx, const lac_setup *setup, multigrid_part *part) {
  lac_status status = LAC_OK;
  bool is_grid = false, has_pairs = multigrid_has_pairs(ctx);

  LAC_TRY(lac_multigrid_is_grid(ctx, setup->pattern, &is_grid));
  if (is_grid || !has_pairs)
    return choice_make(
        ctx, setup, part, &lac_preconditioner_grid,
        has_pairs ? "on a grid, where the backend has no smoothed aggregation" : "the backend has no other kind");
  return choice_make(ctx, setup, part, &lac_preconditioner_pairwise,
                     "not on a grid, where the backend has no smoothed aggregation");
done:
  return status;
}

static lac_status choice_create(lac_context *ctx, const lac_setup *setup, multigrid_part *part) {
  const lac_precondition *options = &setup->options->preconditioner;
  const lac_preconditioner_table *pairwise = &lac_preconditioner_pairwise, *smoothed = &lac_preconditioner_smoothed;
  lac_status status = LAC_OK;
  bool is_even = false;

  if (options->kind == LAC_MULTIGRID_PAIRWISE) return choice_make(ctx, setup, part, pairwise, "asked for");
  if (options->kind == LAC_MULTIGRID_GRID) return choice_make(ctx, setup, part, &lac_preconditioner_grid, "asked for");
  if (options->kind == LAC_MULTIGRID_SMOOTHED) return choice_make(ctx, setup, part, smoothed, "asked for");
  if (!multigrid_has_all(ctx)) return choice_without_smoothed(ctx, setup, part);
  if (smoothed_modes_given(setup->options))
    return choice_make(ctx, setup, part, smoothed, "near-null vectors are given, or coordinates");
  if (lac_nodes_unknowns(setup->nodes) > 1)
    return choice_make(ctx, setup, part, smoothed, "rows come in nodes of several unknowns");
  LAC_TRY(choice_look(ctx, setup, &part->look));
  is_even = part->look.doubtful <= CHOICE_FEW && setup->contrast <= CHOICE_STIFF;
  LAC_TRY(choice_grid(ctx, setup, is_even, part));
  if (part->inner) goto done;
  if (part->look.uneven > CHOICE_MANY && setup->is_hermitian)
    return choice_make(ctx, setup, part, smoothed,
                       "entries differ by orders of magnitude, or have the diagonal's sign");
  if (!is_even) return choice_by_probe(ctx, setup, part);
  return choice_make(ctx, setup, part, pairwise, "entries are even and of one sign");
done:
  return status;
}

// -- the table -------------------------------------------------------------------------------------------------------

static void multigrid_destroy(void *self) {
  multigrid_part *part = self;
  if (!part) return;
  if (part->table) part->table->destroy(part->inner);
  lac_free(part);
}

static lac_status multigrid_create(lac_context *ctx, const lac_setup *setup, void **out) {
  lac_status status = LAC_OK;
  lac_setup own = *setup;
  lac_nodes *nodes = NULL;
  multigrid_part *part = NULL;

  if (multigrid_has_all(ctx)) LAC_TRY(lac_pattern_host(ctx, setup->pattern));
  if (multigrid_has_all(ctx) && setup->options->preconditioner.kind != LAC_MULTIGRID_PAIRWISE) {
    LAC_TRY(choice_contrast(ctx, &own));
    if (!own.nodes) LAC_TRY(lac_nodes_find(ctx, setup, &nodes));
    if (nodes) own.nodes = nodes;
  }
  LAC_ALLOC(part, 1);
  LAC_TRY(choice_create(ctx, &own, part));
  *out = part, part = NULL;
done:
  lac_nodes_destroy(&nodes);
  multigrid_destroy(part);
  return status;
}

/// Whether a share passes a limit that it did not pass before.
static bool look_passes(double now, double before, double limit) { return now > limit && before <= limit; }

/// A grid, or pairs, was chosen for other values; those for which a look would not choose it are set up from nothing.
static lac_status refresh_chosen(lac_context *ctx, const lac_setup *setup, const multigrid_part *old) {
  lac_status status = LAC_OK;
  multigrid_look look = {0, 0};

  LAC_TRY(choice_look(ctx, setup, &look));
  LAC_CHECK(!look_passes(look.uneven, old->look.uneven, CHOICE_MANY) &&
                !look_passes(look.doubtful, old->look.doubtful, CHOICE_FEW),
            LAC_ERR_UNSUPPORTED,
            "multigrid: what suited earlier values may not suit these, whose entries differ more; set it up afresh");
done:
  return status;
}

static lac_status multigrid_refresh(lac_context *ctx, const lac_setup *setup, const void *like, void **out) {
  lac_status status = LAC_OK;
  const multigrid_part *old = like;
  bool is_chosen = setup->options->preconditioner.kind == LAC_MULTIGRID_AUTO && multigrid_has_all(ctx);
  lac_setup own = *setup;
  multigrid_part *part = NULL;

  if (old->table == &lac_preconditioner_smoothed) LAC_TRY(choice_contrast(ctx, &own));
  if (old->table != &lac_preconditioner_smoothed && is_chosen) LAC_TRY(refresh_chosen(ctx, setup, old));
  LAC_ALLOC(part, 1);
  part->table = old->table;
  part->look = old->look;
  memcpy(part->reason, old->reason, sizeof part->reason);
  LAC_TRY(part->table->refresh(ctx, &own, old->inner, &part->inner));
  *out = part, part = NULL;
done:
  multigrid_destroy(part);
  return status;
}

static void multigrid_report(const void *self, lac_setup_figures *finding) {
  const multigrid_part *part = self;
  part->table->report(part->inner, finding);
}

static lac_status multigrid_describe(lac_context *ctx, const void *self, char **text) {
  lac_status status = LAC_OK;
  const multigrid_part *part = self;
  char *inner = NULL, *whole = NULL;
  size_t room = 0;

  LAC_TRY(part->table->describe(ctx, part->inner, &inner));
  room = strlen(inner) + sizeof part->reason + 64;
  LAC_ALLOC(whole, room);
  (void)snprintf(whole, room, "%s multigrid: %s\n%s", part->table->name, part->reason, inner);
  *text = whole;
done:
  lac_free(inner);
  return status;
}

const lac_preconditioner_table lac_preconditioner_multigrid = {
    .name = "multigrid",
    .is_here = multigrid_is_here,
    .create = multigrid_create,
    .refresh = multigrid_refresh,
    .apply = multigrid_apply,
    .report = multigrid_report,
    .describe = multigrid_describe,
    .destroy = multigrid_destroy,
};
