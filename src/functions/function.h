// SPDX-License-Identifier: Apache-2.0
/// @file function.h
/// What the rooms of composed functions need: an entry of the table, and what a call was given.

#ifndef LACUNA_FUNCTIONS_FUNCTION_H
#define LACUNA_FUNCTIONS_FUNCTION_H

#include "autodiff/axis.h"
#include "autodiff/rule.h"

/// An entry of the table: its parameters and its sentence (extend.h), and then, in braces, how the call `c` is written.
#define LAC_WRITES(function, its_parameters, its_sentence)                                                \
  static void function##_write(lac_function_call *c);                                                     \
  const lac_function lac_function_##function = {                                                          \
      .name = #function, .parameters = its_parameters, .about = its_sentence, .write = function##_write}; \
  static void function##_write(lac_function_call *c)

/// The n-th object, integer, number and input of a call: NULL, 0 or absent where it was not given, or is another kind
/// of object. The typed function says what it misses.
const void *lac_function_object(const lac_function_call *c, int n, const char *kind);
int64_t lac_function_int(const lac_function_call *c, int n);
double lac_function_real(const lac_function_call *c, int n);
lac_var lac_function_in(const lac_function_call *c, int n);

#define PATTERN(c, n) ((const lac_pattern *)lac_function_object(c, n, "pattern"))
#define MAP(c, n) ((const lac_map *)lac_function_object(c, n, "map"))
#define SOLVER(c, n) ((const lac_solver *)lac_function_object(c, n, "solver"))
#define INT(c, n) lac_function_int(c, n)
#define REAL(c, n) lac_function_real(c, n)
#define IN(c, n) lac_function_in(c, n)

/// A solver or a factor.
const void *lac_function_factored(const lac_function_call *c, int n);
#define FACTORED(c, n) lac_function_factored(c, n)

#endif
