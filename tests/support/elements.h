// SPDX-License-Identifier: Apache-2.0
/// @file elements.h Matrices as finite-element codes assemble them: summed over Gauss points and elements in the
/// arithmetic of the dtype, so that they are Hermitian in theory and to rounding only. Couplings that cancel between
/// elements are rounding, and not the same on both sides.

#ifndef LACUNA_TESTS_ELEMENTS_H
#define LACUNA_TESTS_ELEMENTS_H

#include "support/direct_case.h"

typedef enum elements_kind {
  ELEMENTS_PLANAR,   ///< bilinear squares in plane stress
  ELEMENTS_SOLID,    ///< trilinear hexahedra
  ELEMENTS_SHELL,    ///< flat facets that lie askew: membrane, plate with shear, drilling stiffness
  ELEMENTS_PLASTIC,  ///< planar, of a material that yields: D less a matrix of rank one at each Gauss point
  ELEMENTS_KINDS
} elements_kind;

/// One edge or face is clamped, so that the matrix is positive definite: 100 to 200 rows. Real dtypes.
direct_case elements_make(elements_kind kind, lac_dtype dtype);

#endif
