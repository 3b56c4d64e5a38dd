// SPDX-License-Identifier: Apache-2.0
/// @file sanitized.h
/// For tests with little address space.

#ifndef LACUNA_TESTS_SANITIZED_H
#define LACUNA_TESTS_SANITIZED_H

#include "support/check.h"

#if defined(__has_feature)
#define SANITIZED_HAS(feature) __has_feature(feature)
#else
#define SANITIZED_HAS(feature) 0
#endif

/// A sanitizer takes address space of its own and ends the process where there is none: skips the test then.
static inline bool check_is_sanitized(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || SANITIZED_HAS(address_sanitizer) || \
    SANITIZED_HAS(thread_sanitizer)
  check_skip("a sanitizer takes address space of its own");
  return true;
#else
  return false;
#endif
}

#endif
