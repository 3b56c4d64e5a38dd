// SPDX-License-Identifier: Apache-2.0
/// @file beside.h
/// Files that lie in the folder of this library: plug-ins, and what a wheel brings.

#ifndef LACUNA_CORE_BESIDE_H
#define LACUNA_CORE_BESIDE_H

#include <stddef.h>

enum { LAC_PATH_SIZE = 4096 };

/// The path of a file in the folder of the library that has this code; the bare name, which is looked for where the
/// system looks, where the folder is unknown.
void lac_path_beside(const char *name, char path[LAC_PATH_SIZE]);

#endif
