// SPDX-License-Identifier: Apache-2.0
/// @file ladder.c
/// Which preconditioner, where none is asked for.
///
///     Hermitian, a positive diagonal     multigrid, else IC(0), on the host alone, Jacobi, none
///     diagonally dominant by a margin    ILU(0), else Jacobi, none
///     like an M-matrix                   multigrid, else ILU(0), Jacobi, none
///     any other                          ILU(0), else Jacobi, none
///     least squares                      none
///
/// From the best to the plainest of those that the backend has, until one can be set up. Before multigrid, plainer ones
/// are looked at where that is cheap (look.h), and the cheapest is taken.

#include <math.h>

#include "solvers/precondition/choice/look.h"

#define LAC_PRECONDITIONER(name, flags) extern const lac_solver_table lac_kind_##name;
#include "solvers/precondition/preconditioners.def"
#undef LAC_PRECONDITIONER

enum { LADDER_RUNGS = 5 };

// What stands off the diagonal, as a share of it, up to which ILU(0) needs a few iterations: multigrid is not worth its
// set-up.
static const double ladder_margin = 0.95;

/// What a look at a matrix found.
static const char *ladder_finding(const lac_survey *s) {
  if (s->asymmetric < 0 && s->not_positive < 0) return "the matrix is Hermitian with a positive diagonal";
  if (s->without >= 0) return "there are gaps or zeros on the diagonal";
  if (s->dominance <= ladder_margin || (s->dominance < 1 && !s->is_m_like)) return "the matrix is diagonally dominant";
  if (s->asymmetric < 0) return "the matrix is Hermitian without a positive diagonal";
  return s->is_m_like ? "the matrix is like an M-matrix" : "the matrix is not Hermitian";
}

/// On a device triangles are solved level by level, each of which costs as much as a product: IC(0) does not pay.
static int ladder_rungs(const lac_context *ctx, const lac_survey *s, const lac_precondition_wish *wish,
                        const lac_solver_table **list) {
  bool is_definite = s->asymmetric < 0 && s->not_positive < 0;
  int count = 0;

  if (!wish->is_rectangular && s->without < 0) {
    if (is_definite || (s->is_m_like && s->dominance > ladder_margin)) list[count++] = &lac_kind_multigrid;
    if (is_definite && lac_context_is_host(ctx)) list[count++] = &lac_kind_ic0;
    if (!is_definite && !wish->needs_hermitian) list[count++] = &lac_kind_ilu0;
    if (is_definite || !wish->needs_hermitian) list[count++] = &lac_kind_jacobi;
  }
  list[count++] = &lac_kind_identity;
  return count;
}

static bool ladder_fits(const lac_solver_table *kind, const lac_precondition_wish *wish) {
  return (wish->may_vary || !(kind->flags & LAC_VARIES)) &&
         (!wish->needs_hermitian || kind->flags & LAC_KEEPS_HERMITIAN);
}

/// Whether a set-up failed for what the matrix is, so that a plainer one may do; not for want of memory, nor a device's
/// fault.
static bool ladder_may_go_on(lac_status status) {
  return status == LAC_ERR_SINGULAR || status == LAC_ERR_DEFINITE || status == LAC_ERR_SYMMETRY ||
         status == LAC_ERR_NONFINITE || status == LAC_ERR_OVERFLOW || status == LAC_ERR_UNSUPPORTED;
}

static lac_status ladder_try(lac_context *ctx, lac_factor *f, const lac_linear *a, const lac_solver_table *kind,
                             const lac_factor *like, lac_factor **out) {
  lac_status status = LAC_OK, made;
  lac_solver_core *core = NULL;

  LAC_TRY(lac_core_inner(ctx, f->core, kind, "chosen", &core));
  if (!kind->is_here(ctx, kind, core)) {
    lac_factor_say(f, "; %s has no kernels on %s", kind->name, lac_context_backend(ctx));
    goto done;
  }
  made = lac_factor_make(ctx, f->function, core, a, like, false, NULL, out);
  if (made != LAC_OK && !ladder_may_go_on(made)) LAC_TRY(made);
  if (made != LAC_OK) lac_factor_say(f, "; %s gave up", kind->name);
done:
  return status;
}

/// The best that a look has found so far.
typedef struct ladder_found {
  lac_factor *m;  // held
  double seconds, iterations;
} ladder_found;

/// Look at one that is plainer than multigrid.
static lac_status ladder_look(lac_context *ctx, const lac_look *look, lac_factor *f, const lac_solver_table *kind,
                              const lac_factor *like, ladder_found *best) {
  lac_status status = LAC_OK;
  lac_factor *made = NULL;
  double seconds = INFINITY, iterations = INFINITY;

  LAC_TRY(ladder_try(ctx, f, look->a, kind, like, &made));
  if (made) LAC_TRY(lac_look_at(ctx, look, made, &seconds, &iterations));
  if (seconds < best->seconds) {
    lac_object_release(best->m);
    *best = (ladder_found){made, seconds, iterations};
    made = NULL;
  }
done:
  lac_object_release(made);
  return status;
}

/// Look at the plainer ones of a list that begins with multigrid. What had multigrid before has it again.
static lac_status ladder_look_at_all(lac_context *ctx, lac_look *look, lac_factor *f, const lac_precondition_wish *wish,
                                     const lac_solver_table **list, int count, const lac_factor *like,
                                     lac_factor **out) {
  lac_status status = LAC_OK;
  ladder_found best = {.seconds = INFINITY};
  bool is_due = false;

  if (list[0] != &lac_kind_multigrid || !ladder_fits(list[0], wish) || (like && like->table == list[0])) goto done;
  LAC_TRY(lac_look_begin(ctx, look, &is_due));
  for (int i = 1; is_due && i < count - 1; i++) {  // the last is the identity
    if (ladder_fits(list[i], wish) && lac_look_is_due(look, list[i]->name))
      LAC_TRY(ladder_look(ctx, look, f, list[i], like, &best));
  }
  if (best.m)
    lac_factor_say(f, "; a look promises %.0f iterations with %s, less work than multigrid", best.iterations,
                   best.m->table->name);
  *out = best.m, best.m = NULL;
done:
  lac_object_release(best.m);
  return status;
}

lac_status lac_precondition_open(lac_context *ctx, lac_factor *f, const lac_linear *a,
                                 const lac_precondition_wish *wish, const lac_factor *like, lac_factor **out) {
  lac_status status = LAC_OK;
  const lac_solver_table *list[LADDER_RUNGS];
  int count = ladder_rungs(ctx, a->survey, wish, list);
  lac_look look = {.f = f, .a = a};
  lac_linear own = *a;

  if (!wish->is_rectangular) lac_factor_say(f, "; %s", ladder_finding(a->survey));
  LAC_TRY(ladder_look_at_all(ctx, &look, f, wish, list, count, like, out));
  own.nodes = look.nodes;
  for (int i = 0; i < count && !*out; i++) {
    if (ladder_fits(list[i], wish)) LAC_TRY(ladder_try(ctx, f, &own, list[i], like, out));
  }
done:
  lac_nodes_destroy(&look.nodes);
  return status;
}
