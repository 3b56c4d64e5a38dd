// SPDX-License-Identifier: Apache-2.0
/// @file random.h
/// Random numbers by place: the i-th of a seed is a function of both, whatever was drawn before. The same on every
/// machine.

#ifndef LACUNA_CORE_RANDOM_H
#define LACUNA_CORE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#ifndef LAC_DEVICE  // device code says what else its functions need
#define LAC_DEVICE
#endif

/// 64 bits that look independent for each (seed, i): the finisher of splitmix64, twice.
static inline LAC_DEVICE uint64_t lac_random_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}
static inline LAC_DEVICE uint64_t lac_random_bits(uint64_t seed, uint64_t i) {
  return lac_random_mix(lac_random_mix(seed + UINT64_C(0x9e3779b97f4a7c15)) + i * UINT64_C(0x9e3779b97f4a7c15));
}

/// 1 or -1 with equal chances.
static inline double lac_random_sign(uint64_t seed, uint64_t i) { return lac_random_bits(seed, i) >> 63 ? 1 : -1; }

/// Uniform in (-1, 1).
static inline double lac_random_unit(uint64_t seed, uint64_t i) {
  return (double)((int64_t)(lac_random_bits(seed, i) >> 11) - (INT64_C(1) << 52)) * 0x1p-52;
}

/// `count` such numbers as doubles or floats.
static inline void lac_random_fill(uint64_t seed, bool is_double, int64_t count, void *x) {
  for (int64_t i = 0; i < count; i++) {
    double number = lac_random_unit(seed, (uint64_t)i);
    if (is_double) {
      ((double *)x)[i] = number;
    } else {
      ((float *)x)[i] = (float)number;
    }
  }
}

#endif
