// SPDX-License-Identifier: Apache-2.0
/// @file tables.h
/// The engines of SuiteSparse. Each kernel text is included for 32-bit and 64-bit indices (and UMFPACK's and KLU's for
/// real and complex numbers): the narrow ones are faster, the wide ones serve where counts do not fit.

#ifndef LACUNA_SOLVERS_ENGINES_SUITESPARSE_TABLES_H
#define LACUNA_SOLVERS_ENGINES_SUITESPARSE_TABLES_H

#include "solvers/engines/plugin/plugin.h"

extern const lac_direct_table engine_cholmod, engine_umfpack, engine_klu;

#endif
