// SPDX-License-Identifier: Apache-2.0
/// @file memory_available.c
/// How much host memory there still is: what the kernel can give, inside the limit of the control group that we are in
/// (containers), and what our own pool keeps.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory_impl.h"

enum { AVAILABLE_LINE = 256 };

// The number behind a name at the begin of a line; without a name, the first one of the file. -1: none.
static int64_t available_read(const char *path, const char *name) {
  FILE *file = fopen(path, "r");
  char line[AVAILABLE_LINE];
  size_t length = strlen(name);
  int64_t found = -1;

  if (!file) return -1;
  while (found < 0 && fgets(line, sizeof line, file)) {
    char *from = line + length, *end = from;
    if (strncmp(line, name, length) != 0) continue;
    long long number = strtoll(from, &end, 10);
    if (end != from && number >= 0) found = number;
  }
  fclose(file);
  return found;
}

static int64_t available_of_machine(void) {
  int64_t kilobytes = available_read("/proc/meminfo", "MemAvailable:");
  return kilobytes < 0 ? INT64_MAX : 1024 * kilobytes;
}

// Pages of files that are merely kept count as used there, and go when they are needed.
static int64_t available_of_group(void) {
  int64_t limit = available_read("/sys/fs/cgroup/memory.max", "");
  int64_t used = available_read("/sys/fs/cgroup/memory.current", "");
  int64_t files = available_read("/sys/fs/cgroup/memory.stat", "inactive_file ");
  if (limit < 0 || used < 0) return INT64_MAX;
  if (files > 0) used -= files;
  return limit > used ? limit - used : 0;
}

int64_t lac_memory_available(void) {
  int64_t machine = available_of_machine(), group = available_of_group();
  int64_t least = machine < group ? machine : group;
  return least == INT64_MAX ? least : least + lac_memory_cached();
}
