// SPDX-License-Identifier: Apache-2.0
/// cuDSS as it was before version 1, without solves of transposed systems: the tests of test_cudss.c, with a stand-in
/// that has the functions of 0.7.

#define STAND_IN CUDSS_STAND_INS "0.so"
#include "solvers/test_cudss.c"
