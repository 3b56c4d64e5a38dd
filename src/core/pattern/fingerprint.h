// SPDX-License-Identifier: Apache-2.0
/// @file fingerprint.h
/// What the fingerprint of a pattern is summed of. Plain C that a device compiler takes as well.

#ifndef LACUNA_CORE_PATTERN_FINGERPRINT_H
#define LACUNA_CORE_PATTERN_FINGERPRINT_H

#include <stdint.h>

#ifndef LAC_DEVICE  // device code says what else its functions need
#define LAC_DEVICE
#endif

/// A well mixed image of 64 bits (a multiply and two folds), and of a value and its place: what fingerprints are summed
/// of.
static inline LAC_DEVICE uint64_t lac_fingerprint_mix(uint64_t x) {
  x = (x ^ (x >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
  return x ^ (x >> 32);
}
static inline LAC_DEVICE uint64_t lac_fingerprint_image(uint64_t value, uint64_t seed, uint64_t place) {
  return lac_fingerprint_mix(value + seed * (2 * place + 1));
}

#endif
