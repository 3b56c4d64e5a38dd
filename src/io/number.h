// SPDX-License-Identifier: Apache-2.0
/// @file number.h
/// Numbers as text, exactly and in no locale's manner.

#ifndef LACUNA_IO_NUMBER_H
#define LACUNA_IO_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

enum { IO_NUMBER_TEXT = 40, IO_LONGEST_NUMBER = 4095 };

/// Scan the number that begins at `p`: the nearest f64, ties to even. Words nan, inf and infinity count, also signed;
/// exponents may be written with d. NULL when there is none, or one that is longer than IO_LONGEST_NUMBER.
const char *io_scan_number(const char *p, const char *end, double *out);

/// Scan an integer with an optional sign; what does not fit saturates. NULL when there is none.
const char *io_scan_integer(const char *p, const char *end, int64_t *out);

/// Write a number that is read back to the same bits; returns its length, at most IO_NUMBER_TEXT. No NUL is written.
/// `is_single`: it is a f32, and read back as one.
int io_print_number(double x, bool is_single, char *text);
int io_print_integer(int64_t x, char *text);

#endif
