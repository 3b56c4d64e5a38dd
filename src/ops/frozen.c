// SPDX-License-Identifier: Apache-2.0
/// @file frozen.c
/// The objects that operators take: the words for them in lac_op.binds, their sizes, and what is said of others.

#include "autodiff/frozen.h"

#include "core/pattern/format_impl.h"
#include "solvers/solver_impl.h"

static bool map_fits(const lac_object *object) { return object->kind == &lac_map_kind; }

static const char *map_measure(const lac_object *object, lac_measures *out) {
  const lac_map *map = (const lac_map *)object;

  out->of[0] = (lac_measure){map->inputs, map->input_partition};
  out->of[1] = (lac_measure){map->outputs, map->output_partition};
  out->blocks = NULL;
  return NULL;
}

static bool factor_fits(const lac_object *object) {
  return object->kind == &lac_factor_kind || object->kind == &lac_solver_kind;
}

static const char *factor_measure(const lac_object *object, lac_measures *out) {
  const lac_solver_core *core = lac_core_of(object);

  if (core->table->flags & LAC_APPROXIMATES)
    return "the object is a preconditioner, which is not the inverse of its matrix; use it with a Krylov method "
           "(lac_solver_options.preconditioner)";
  lac_pattern_measure(lac_core_given(core), out);
  out->blocks = core->blocks;
  return NULL;
}

static bool format_fits(const lac_object *object) { return object->kind == &lac_format_object_kind; }

static const char *format_measure(const lac_object *object, lac_measures *out) {
  const lac_format *f = (const lac_format *)object;

  lac_pattern_measure(f->pattern, out);
  out->of[0].size = f->size;
  return NULL;
}

const lac_frozen lac_frozen_objects[] = {
    {"map", "a map (lac_map_create, lac_pattern_row_map)", "", map_fits, map_measure},
    {"factor", "a solver or a factor; see lac_solver_create", "; lac_lstsq differentiates least squares", factor_fits,
     factor_measure},
    {"format", "a format of sliced ELL; lac_format_sell makes one", "", format_fits, format_measure},
    {0},
};
