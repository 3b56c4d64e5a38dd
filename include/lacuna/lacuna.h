// SPDX-License-Identifier: Apache-2.0
/// @file lacuna.h
/// Lacuna: differentiable sparse linear algebra. This is the umbrella; extend.h, program.h and distributed.h stand
/// apart.
///
/// NULL, everywhere: a function that returns a lac_status refuses a NULL object with LAC_ERR_ARG and a sentence, unless
/// its comment says what NULL stands for; a function of a tape lets the tape fail. Getters return 0, NULL or "".
/// Destroying and retaining NULL does nothing.
///
/// Options and reports are structs that may get new fields at their end. Their first field is their size:
///
///     lac_solver_options options = {.size = sizeof options, .method = "cg"};
///     lac_report report = {.size = sizeof report};
///
/// A size of 0, as in `= {0}`, stands for the fields of the struct's first version, which are all that there are today;
/// a smaller size than that of the first version, such as the size of a pointer, is LAC_ERR_ARG. Options that a program
/// does not know, because it was compiled with an earlier header, have their defaults. Options that the library does
/// not know, because it is an earlier one, are LAC_ERR_ARG unless they are zero; fields of a report that it does not
/// know are zero. In options zero is the default of every field, and NULL for the struct stands for all defaults; where
/// zero would be a choice too, a negative number makes it, and its field says so. The `_defaults` functions return a
/// struct as the library knows it: they are for programs that run with the library they were compiled for.

#ifndef LACUNA_LACUNA_H
#define LACUNA_LACUNA_H

#include "lacuna/array.h"
#include "lacuna/context.h"
#include "lacuna/format.h"
#include "lacuna/gradcheck.h"
#include "lacuna/io.h"
#include "lacuna/iterative.h"
#include "lacuna/map.h"
#include "lacuna/matrix.h"
#include "lacuna/memory.h"
#include "lacuna/ops.h"
#include "lacuna/optimise.h"
#include "lacuna/pattern.h"
#include "lacuna/plain.h"
#include "lacuna/solver.h"
#include "lacuna/status.h"
#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/// "0.1.0"
LAC_API const char *lac_version(void);

/// The BLAS that does dense products: "OpenBLAS 0.3.21". "": no fast BLAS was found; the library's own loops take its
/// place, with which direct solvers take several times as long. The first fast one that the system has is loaded when
/// it is first needed; a suggested one goes before it, and LACUNA_BLAS in the environment names another, or "none".
/// Where the named one cannot be loaded or used, no BLAS is loaded, and the result is "none: " and the reason; the
/// reports of direct factors say so too. The reference BLAS and those with integers of 64 bits are never taken.
LAC_API const char *lac_blas_name(void);

/// Suggest a BLAS, by name or path: it is loaded before those that the system has, unless LACUNA_BLAS names one, and
/// left alone where it cannot be used. NULL: no suggestion. A BLAS is loaded once: later suggestions have no effect.
/// Errors: LAC_ERR_ARG for a path that is too long; lac_context_error(NULL) has the sentence.
LAC_API lac_status lac_blas_suggest(const char *library);

#ifdef __cplusplus
}
#endif
#endif
