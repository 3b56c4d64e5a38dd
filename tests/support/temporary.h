// SPDX-License-Identifier: Apache-2.0
/// @file temporary.h
/// Files of tests, in a folder of the process's own that goes with it.

#ifndef LACUNA_TESTS_TEMPORARY_H
#define LACUNA_TESTS_TEMPORARY_H

#include <stddef.h>

/// The path of a file in the folder. Kept in scratch memory.
const char *temporary_path(const char *name);

/// Write a file there; gives its path. Text ends at its NUL.
const char *temporary_bytes(const char *name, const void *data, size_t size);
const char *temporary_text(const char *name, const char *text);

/// The whole of a file, in scratch memory with a NUL behind it.
char *temporary_read(const char *path, size_t *size);

/// How many files the folder has.
int temporary_count(void);

#endif
