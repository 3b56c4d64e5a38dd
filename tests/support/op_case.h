// SPDX-License-Identifier: Apache-2.0
/// @file op_case.h
/// One case of an operator, and the battery that it passes (docs/design.md, "What is checked").
///
/// A case says which patterns and shapes go in, how the operator is applied and what a dense textbook would give.
/// check_op then proves, for every dtype, every index width and every subset of inputs:
///
///     operator    `apply` calls the operator that the case names; one with LAC_OP_POINTWISE is linear
///     values      the forward equals the dense formula
///     adjoint     <y_bar, J x_dot> = <J^H y_bar, x_dot>, scaled by the sum of |terms|
///     tangent     J x_dot equals a central difference of the forward, and of the dense formula
///     gradient    J^H y_bar equals the derivative of the dense formula, number by number
///     second      adjoint and tangent of the gradient itself; Hessian-vector products three ways
///     memory      every failing allocation gives LAC_ERR_MEMORY, leaks nothing and leaves everything usable
///     scale       inputs, cotangents and directions in other units, powers of two far from 1, give the same values,
///                 first and second derivatives in the units that follow
///     input       wrong shapes, dtypes, patterns and absent vars are refused with a sentence
///     claims      on a backend that does not claim the operator, it is refused with LAC_ERR_UNSUPPORTED and the case
///                 left out
///     threads     the same bits on 1 and 2 threads; other backends agree with the CPU and with themselves, to the bit
///
/// On a device all inputs are differentiated together, and memory and input are checked at one dtype and width: what is
/// left out there is the same on the CPU.
///
/// A forward or first derivative that ends with an error is said once for each dtype, and ends the case there.

#ifndef LACUNA_TESTS_OP_CASE_H
#define LACUNA_TESTS_OP_CASE_H

#include <stdio.h>

#include "lacuna/extend.h"
#include "support/check.h"
#include "support/dense.h"

typedef enum op_section {
  OP_VALUES = 1,
  OP_ADJOINT = 2,
  OP_TANGENT = 4,
  OP_GRADIENT = 8,
  OP_SECOND = 16,
  OP_MEMORY = 32,
  OP_SCALE = 64,
  OP_INPUT = 128,
  OP_THREADS = 256,
  OP_OPERATOR = 512,
  OP_CLAIMS = 1024
} op_section;

typedef struct op_case op_case;

enum { OP_MAX_IN = 6, OP_MAX_OUT = 4 };  ///< of a case, and so of the operators in the library's table

/// What is frozen while a case runs at one dtype and width.
typedef struct op_setup {
  const op_case *c;
  lac_context *ctx;
  lac_dtype dtype;
  lac_width width;
  lac_pattern *patterns[LAC_MAX_PATTERNS];
  const void *object;
} op_setup;

struct op_case {
  const char *op;         ///< as in ops.def
  const char *needs;      ///< optional: solvers that it uses, "gmres ilu0": on the host where the backend has none
  const lac_op *user_op;  ///< optional: a user's operator of that name, which ops.def does not have
  const sketch *patterns[LAC_MAX_PATTERNS];
  int64_t blocks[LAC_MAX_PATTERNS][2];  ///< their block sizes; {0} is a pattern of single entries
  const char *shapes[OP_MAX_IN];        ///< of the inputs: "2,nnz", "5,3"; nnz, nnz1, nnz2 are those of the patterns
  const char *result[OP_MAX_OUT];       ///< shapes of the outputs
  int64_t i[8];                         ///< forms and the like, for `apply` and `dense`
  double f[2];
  const void *data;

  void (*apply)(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out);
  void (*dense)(const op_case *c, const ref *in, ref *out);
  /// Optional: the object that `apply` uses, made of patterns and of the inputs' values. It is a counted lac_object.
  lac_status (*object)(const op_setup *setup, lac_array *const *in, const void **out);
  /// Optional: change random numbers into what an input must look like.
  void (*fill)(const op_case *c, int input, ref *x);
  /// Optional: the dtype of an output for inputs of `dtype`, where that is another (op_real_dtype: as of abs).
  lac_dtype (*result_dtype)(const op_case *c, int output, lac_dtype dtype);

  int degree[OP_MAX_IN];      ///< f(s x_i) = s^degree f(x_i), any integer; 0 is not tried
  uint32_t fixed[OP_MAX_IN];  ///< axes (bit d: the d-th from the end) of which one length alone is right
  int takes_absent;           ///< an absent input is a zero to it, not a mistake
  double slack;     ///< how much larger than a plain sum's rounding errors are, say a condition number; 0 is 1
  uint32_t skip;    ///< sections that do not apply
  uint32_t dtypes;  ///< those that the operator takes (bit LAC_F32 ...), the others must be refused; 0 is all four
};

/// Run the battery and fail the test when a check fails. Prints `count: operator=... cases=...` for each dtype and
/// width.
void check_op(lac_context *ctx, const op_case *c);

/// Run only what large cases are for: threads, agreement of backends, and the operator's name. Needs no dense formula.
void check_op_large(lac_context *ctx, const op_case *c);

/// Run the battery and return the sections that failed: for those who test the battery. What it says goes to `out`;
/// NULL is silence.
uint32_t check_op_sections(lac_context *ctx, const op_case *c, FILE *out);

/// The operator's own statement of its memory: bytes of arrays beyond its inputs, `forward` at the peak of the forward
/// with its result, `gradient` at the peak of a forward and a vjp for all inputs. Heads of structs may add a few KiB.
void check_op_peak(lac_context *ctx, const op_case *c, lac_dtype dtype, int64_t forward, int64_t gradient);

/// Text in scratch memory, for shapes that are computed.
const char *op_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

enum { OP_REAL = 1u << LAC_F32 | 1u << LAC_F64 };  ///< op_case.dtypes of operators that need an order

/// The reals inside a dtype: f32 for c64.
lac_dtype op_real_dtype(const op_case *c, int output, lac_dtype dtype);

/// A meta from "2,nnz,3".
lac_meta op_shape(const op_case *c, lac_dtype dtype, const char *text);

#endif
