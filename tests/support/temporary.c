// SPDX-License-Identifier: Apache-2.0
/// @file temporary.c
/// A folder that is made when first asked for and removed at the end.

#include "support/temporary.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/scratch.h"

enum { LONGEST = 4096 };

static char folder[LONGEST];

/// Calls `visit` with the path of each file, if there is one; gives their number.
static int folder_walk(int (*visit)(const char *path)) {
  int count = 0;
  DIR *d = *folder ? opendir(folder) : NULL;
  char path[LONGEST + 300];
  if (!d) return 0;
  for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
    if (e->d_name[0] == '.') continue;
    (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (visit) (void)visit(path);
    ++count;
  }
  (void)closedir(d);
  return count;
}

static void folder_remove(void) {
  (void)folder_walk(remove);
  (void)rmdir(folder);
}

const char *temporary_path(const char *name) {
  if (!*folder) {
    const char *base = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/lacuna-test-XXXXXX", base ? base : "/tmp");
    CHECK(mkdtemp(folder));
    (void)atexit(folder_remove);
  }
  size_t size = strlen(folder) + strlen(name) + 2;
  char *path = scratch(size);
  (void)snprintf(path, size, "%s/%s", folder, name);
  return path;
}

const char *temporary_bytes(const char *name, const void *data, size_t size) {
  const char *path = temporary_path(name);
  FILE *file = fopen(path, "wb");
  CHECK(file && fwrite(data, 1, size, file) == size);
  CHECK(fclose(file) == 0);
  return path;
}

const char *temporary_text(const char *name, const char *text) { return temporary_bytes(name, text, strlen(text)); }

char *temporary_read(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  CHECK(file && fseek(file, 0, SEEK_END) == 0);
  long end = ftell(file);
  CHECK(end >= 0 && fseek(file, 0, SEEK_SET) == 0);
  char *data = scratch((size_t)end + 1);
  CHECK(fread(data, 1, (size_t)end, file) == (size_t)end);
  (void)fclose(file);
  if (size) *size = (size_t)end;
  return data;
}

int temporary_count(void) { return folder_walk(NULL); }
