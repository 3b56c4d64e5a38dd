// SPDX-License-Identifier: Apache-2.0
// Numbers T, in which a level is computed, as numbers H of the hierarchy, past the caches: they are not needed soon.

static void VN(keep)(int64_t n, const void *line, void *numbers) {
  const T *from = line;
  H held[SETUP_STRIP];
  for (int64_t i = 0; i < n; ++i) held[i] = (H)from[i];
  for (int64_t i = 0; i < n; i += 64 / (int64_t)sizeof *held) cpu_stream((H *)numbers + i, held + i);
}
