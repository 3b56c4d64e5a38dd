// SPDX-License-Identifier: Apache-2.0
/// @file ops.h
/// Operators and functions composed of operators, one prototype each, on a tape:
///
///     pointwise.h      arrays, number by number
///     shapes.h         shapes, parts, concatenation
///     reductions.h     sums, extremes, norms over axes, over groups of a map, over rows and columns of a matrix
///     structure.h      values along maps; sums, unions, Kronecker products, scalings and norms of sparse matrices
///     products.h       dense products, sparse products, products of grouped rows
///     solves.h         triangular solves, solves by solvers and factors, least squares, factors as arrays
///     determinants.h   determinants, entries of the inverse, estimates from probes
///     structured.h     banded, diagonal, circulant, Toeplitz and Kronecker matrices
///
/// The equations and rules of an operator are at the head of its source, src/ops/*/<name>.c, and on the pages of
/// docs/operators. The same functions without a tape are in plain.h.
///
/// Arguments: each pattern, map, solver or factor comes first, followed by its values; then the other vars; then
/// numbers, axes, forms (`op`) and options, in the order of the Python functions. Several results come in a list at the
/// end.
/// Shapes: (n, k) are the last axes of an array. Axes before them are batch and broadcast: aligned at the right, each
/// of equal size or 1. Dense operands have columns: a vector is (n, 1). All operands have one dtype unless their
/// function says otherwise.
/// Ownership: vars belong to the tape. The tape holds the patterns, maps, solvers and factors of the calls that it
/// records; the caller destroys its own handles whenever it likes.
/// Derivatives: of any order, in every var, by reverse and forward mode, unless the function says otherwise.
/// Errors: they stick to the tape (tape.h), and the result is the absent var. LAC_ERR_ARG for a pointer that is NULL
/// and may not be; LAC_ERR_ABSENT for an absent var; LAC_ERR_SHAPE, LAC_ERR_DTYPE, LAC_ERR_MEMORY; LAC_ERR_UNSUPPORTED
/// where the backend lacks the kernel, or the operator does not take distributed arrays. Further errors are named with
/// each function. On a NULL tape a function does nothing and returns the absent var.

#ifndef LACUNA_OPS_H
#define LACUNA_OPS_H

#include "lacuna/pointwise.h"
#include "lacuna/shapes.h"
#include "lacuna/reductions.h"
#include "lacuna/structure.h"
#include "lacuna/products.h"
#include "lacuna/solves.h"
#include "lacuna/determinants.h"
#include "lacuna/structured.h"

#endif
