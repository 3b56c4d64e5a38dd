// SPDX-License-Identifier: Apache-2.0
/// @file axis.h
/// Axes as users count them, and as attributes have them. Attributes count from the end, so that a batch before the
/// axes changes nothing.

#ifndef LACUNA_AUTODIFF_AXIS_H
#define LACUNA_AUTODIFF_AXIS_H

#include "autodiff/rule.h"

/// An axis as attributes have it, counted from the end: 0 is the last. `axis` counts as NumPy does in an array of
/// `ndim` axes. An axis that does not exist fails the tape, and the result is -1. Where ndim is -1, since the var is
/// absent, the result is 0: the call refuses the var, or emits nothing.
int lac_axis_from_end(lac_tape *tape, const char *name, int ndim, int axis);

/// The mask of axes that are given as NumPy counts them; NULL and 0 for all. 0 where no array has ndim axes, and
/// where the tape failed.
uint32_t lac_axes_mask(lac_tape *tape, const char *name, int ndim, int count, const int *axes);

/// How many axes a var has; -1 for an absent one.
int lac_axes_of(const lac_tape *tape, lac_var x);

/// The axes of a mask, for rules and functions that have one, as two arguments of a public function.
const int *lac_mask_axes(uint32_t mask, int axes[32]);
#define OVER(mask) __builtin_popcount(mask), lac_mask_axes(mask, (int[32]){0})

#endif
