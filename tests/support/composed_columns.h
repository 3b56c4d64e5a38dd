// SPDX-License-Identifier: Apache-2.0
/// @file composed_columns.h
/// The kernels columns and column_step by other kernels: the oracle of a backend's own.

#ifndef LACUNA_TESTS_COMPOSED_COLUMNS_H
#define LACUNA_TESTS_COMPOSED_COLUMNS_H

#include "kernels/kernels.h"

lac_kernel_columns composed_columns;
lac_kernel_column_step composed_column_step;

#endif
