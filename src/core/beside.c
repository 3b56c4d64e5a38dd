// SPDX-License-Identifier: Apache-2.0
/// @file beside.c
/// The folder of this library.

#include "core/beside.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void lac_path_beside(const char *name, char path[LAC_PATH_SIZE]) {
  static const char here = 0;  // an address of this library
  Dl_info info = {0};
  int length = 0;

  if (dladdr(&here, &info) && info.dli_fname && strrchr(info.dli_fname, '/')) {
    length = (int)(strrchr(info.dli_fname, '/') - info.dli_fname) + 1;
  }
  snprintf(path, LAC_PATH_SIZE, "%.*s%s", length, length ? info.dli_fname : "", name);
}
