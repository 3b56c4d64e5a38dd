// SPDX-License-Identifier: Apache-2.0
/// @file acting.c
/// Which option acts on which methods.
///
/// A row of the table has an option, and the flag of the kinds that read it (solver_impl.h). An option is given where
/// it differs from its default. Budgets of memory and what is known of the values (keep_bytes, max_bytes,
/// assume_hermitian) hold for every method and have no row.

#include <stdio.h>
#include <string.h>

#include "solvers/options.h"

enum { ACTING_TEXT = 160 };

typedef struct acting_option {
  const char *name;
  size_t offset, size;
  unsigned readers;  // the flag of kinds that read it
  bool is_of_preconditioner;
} acting_option;

#define OPTION(name, field, readers, is_of_preconditioner) \
  { name, offsetof(lac_solver_options, field), sizeof(((lac_solver_options *)0)->field), readers, is_of_preconditioner }
#define ITERATION(field) OPTION(#field, iteration.field, LAC_READS_ITERATION, false)
#define MULTIGRID(field) OPTION(#field, preconditioner.field, LAC_READS_MULTIGRID, true)

static const acting_option acting_options[] = {
    OPTION("ordering", ordering, LAC_READS_ORDERING, false),
    OPTION("pivot_tolerance", pivot_tolerance, LAC_READS_PIVOTING, false),
    OPTION("accept_singular", accept_singular, LAC_READS_SINGULAR, false),
    ITERATION(rtol),
    ITERATION(atol),
    ITERATION(adjoint_rtol),
    ITERATION(max_iterations),
    ITERATION(look_every),
    ITERATION(accept_unconverged),
    ITERATION(progress),
    ITERATION(null_space),
    ITERATION(left_null_space),
    OPTION("restart", iteration.restart, LAC_READS_RESTART, false),
    OPTION("low_memory", low_memory, LAC_READS_ITERATION | LAC_READS_MULTIGRID, false),
    OPTION("preconditioner", preconditioner.method, LAC_READS_ITERATION, false),
    OPTION("preconditioner", preconditioner.factor, LAC_READS_ITERATION, false),
    OPTION("preconditioner", preconditioner.apply, LAC_READS_ITERATION, false),
    OPTION("omega", preconditioner.omega, LAC_READS_OMEGA, true),
    OPTION("block", preconditioner.block, LAC_READS_BLOCK, true),
    OPTION("degree", preconditioner.degree, LAC_READS_DEGREE, true),
    OPTION("multigrid (preconditioner.kind)", preconditioner.kind, LAC_READS_MULTIGRID, true),
    MULTIGRID(strength),
    MULTIGRID(near_null),
    MULTIGRID(coordinates),
    MULTIGRID(full_precision),
    MULTIGRID(coarse_rows),
    MULTIGRID(max_levels),
};

static bool acting_is_given(const acting_option *option, const lac_solver_options *given) {
  lac_solver_options usual = lac_solver_options_defaults();
  return memcmp((const char *)given + option->offset, (const char *)&usual + option->offset, option->size) != 0;
}

/// What a method reads together with its preconditioner. The choice of one, where it is left open, may be multigrid.
static unsigned acting_readers(const lac_solver_table *method, const lac_solver_table *preconditioner,
                               const lac_precondition *p) {
  const unsigned open = LAC_READS_DEGREE | LAC_READS_MULTIGRID;

  if (!(method->flags & LAC_READS_ITERATION) || p->factor || p->apply) return method->flags;
  return method->flags | (preconditioner ? preconditioner->flags : open);
}

/// method = "cg" with preconditioner = "jacobi", the latter where an option is one of preconditioners.
static const char *acting_who(const acting_option *option, const lac_solver_table *method,
                              const lac_solver_table *preconditioner, char text[ACTING_TEXT]) {
  int length = snprintf(text, ACTING_TEXT, "method = \"%s\"", method->name);
  char *end = text + length;
  size_t room = ACTING_TEXT - (size_t)length;

  if (!option->is_of_preconditioner || !(method->flags & LAC_READS_ITERATION)) return text;
  if (preconditioner) {
    (void)snprintf(end, room, " with preconditioner = \"%s\"", preconditioner->name);
  } else {
    (void)snprintf(end, room, " without a preconditioner by name");
  }
  return text;
}

static lac_status acting_refuse(lac_context *ctx, const char *function, const acting_option *option,
                                const lac_solver_table *method, const lac_solver_table *preconditioner) {
  lac_status status = LAC_OK;
  char who[ACTING_TEXT], readers[LAC_KIND_NAMES];

  LAC_FAIL(LAC_ERR_ARG, "%s: %s does not act on %s; leave it out, or use a %s on which it acts: %s", function,
           option->name, acting_who(option, method, preconditioner, who),
           option->is_of_preconditioner ? "preconditioner" : "method", lac_kind_names(option->readers, readers));
done:
  return status;
}

lac_status lac_options_check_acting(lac_context *ctx, const char *function, const lac_solver_options *options) {
  lac_status status = LAC_OK;
  const lac_solver_table *method = NULL, *preconditioner = NULL;
  lac_solver_options given = *options;
  unsigned readers;

  given.preconditioner.method = lac_options_preconditioner(&options->preconditioner);
  LAC_TRY(lac_kind_find(ctx, function, given.method, &method));
  LAC_TRY(lac_kind_of_preconditioner(ctx, function, given.preconditioner.method, &preconditioner));
  readers = acting_readers(method, preconditioner, &given.preconditioner);
  for (size_t i = 0; i < sizeof acting_options / sizeof *acting_options; i++) {
    const acting_option *option = &acting_options[i];
    if (option->readers & readers || !acting_is_given(option, &given)) continue;
    LAC_TRY(acting_refuse(ctx, function, option, method, preconditioner));
  }
done:
  return status;
}
