// SPDX-License-Identifier: Apache-2.0
/// @file picture.h
/// A picture in memory: fields on a grid, curves, short titles; written as PNG. For the examples.

#ifndef LACUNA_EXAMPLES_PICTURE_H
#define LACUNA_EXAMPLES_PICTURE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct picture {
  int width, height;
  uint8_t *rgb;  // rows from the top
} picture;

/// White all over; rgb is NULL where there is no memory.
static picture picture_new(int width, int height) {
  picture p = {width, height, malloc((size_t)width * (size_t)height * 3)};
  for (size_t i = 0; p.rgb && i < (size_t)width * (size_t)height * 3; i++) p.rgb[i] = 255;
  return p;
}

static void picture_dot(picture *p, int x, int y, const uint8_t rgb[3]) {
  if (x < 0 || y < 0 || x >= p->width || y >= p->height) return;
  for (int c = 0; c < 3; c++) p->rgb[((size_t)y * (size_t)p->width + (size_t)x) * 3 + (size_t)c] = rgb[c];
}

/// From dark blue through green to yellow, for t in [0, 1].
static void picture_colour(double t, uint8_t rgb[3]) {
  static const double stops[5][3] = {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
  double at = 4 * fmin(fmax(t, 0), 1);
  int k = at >= 4 ? 3 : (int)at;
  for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)lround(stops[k][c] + (at - k) * (stops[k + 1][c] - stops[k][c]));
}

/// An n x n field in a square of `form` dots, colours over [low, high].
static void picture_field(picture *p, int x0, int y0, int form, int n, const double *field, double low, double high) {
  uint8_t rgb[3];
  for (int y = 0; y < form; y++) {
    for (int x = 0; x < form; x++) {
      double value = field[(int64_t)y * n / form * n + (int64_t)x * n / form];
      picture_colour((value - low) / (high - low), rgb);
      picture_dot(p, x0 + x, y0 + y, rgb);
    }
  }
}

/// Capitals, digits and a few signs, three dots wide and five high: a row is three bits, the top row first.
static int picture_glyph(char letter) {
  static const char known[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-,%+:";
  static const int16_t glyphs[] = {
      025755, 065656, 034443, 065556, 074647, 074644, 034553, 055755, 072227, 011152, 055655, 044447, 057755, 065555,
      025552, 065644, 025563, 065655, 034216, 072222, 055557, 055552, 055775, 055255, 055222, 071247, 025552, 026227,
      061247, 061216, 055711, 074616, 034652, 071224, 025252, 025316, 000002, 000700, 000024, 051245, 002720, 002020};
  for (int i = 0; known[i]; i++) {
    if (known[i] == letter) return glyphs[i];
  }
  return 0;  // a space
}

/// A line of text in capitals; each dot of a letter is `scale` wide.
static void picture_text(picture *p, int x0, int y0, int scale, const char *text) {
  static const uint8_t ink[3] = {40, 40, 40};
  for (; *text; text++, x0 += 4 * scale) {
    int glyph = picture_glyph((char)(*text >= 'a' && *text <= 'z' ? *text - 32 : *text));
    for (int i = 0; i < 15 * scale * scale; i++) {
      int x = i % (3 * scale), y = i / (3 * scale);
      if (glyph >> (14 - (y / scale * 3 + x / scale)) & 1) picture_dot(p, x0 + x, y0 + y, ink);
    }
  }
}

/// The logarithm of a falling series over its index, in a square with a frame.
static void picture_curve(picture *p, int x0, int y0, int form, int count, const double *series) {
  static const uint8_t frame[3] = {170, 170, 170}, line[3] = {33, 100, 160};
  double low = INFINITY, high = -INFINITY;

  for (int i = 0; i < count; i++) low = fmin(low, log10(series[i])), high = fmax(high, log10(series[i]));
  for (int i = 0; i < form; i++) {
    picture_dot(p, x0 + i, y0, frame), picture_dot(p, x0 + i, y0 + form - 1, frame);
    picture_dot(p, x0, y0 + i, frame), picture_dot(p, x0 + form - 1, y0 + i, frame);
  }
  if (!(high > low)) return;
  for (int i = 0; i < 8 * form; i++) {  // finer than the dots, so that steep pieces have no holes
    double at = (double)i / (8 * form) * (count - 1), value;
    int k = (int)at;
    value = log10(series[k]) + (at - k) * (log10(series[k + 1]) - log10(series[k]));
    int x = x0 + 8 + (int)((double)i / (8 * form) * (form - 16));
    int y = y0 + 8 + (int)((high - value) / (high - low) * (form - 16));
    for (int d = 0; d < 9; d++) picture_dot(p, x + d % 3, y + d / 3, line);
  }
}

// -- PNG: stored, not compressed -------------------------------------------------------------------------------------

static uint32_t png_crc(uint32_t crc, const uint8_t *data, size_t count) {
  for (size_t i = 0; i < count; i++) {
    crc ^= data[i];
    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
  }
  return crc;
}

static void png_put(uint8_t *to, uint32_t word) {
  for (int i = 0; i < 4; i++) to[i] = (uint8_t)(word >> (24 - 8 * i));
}

/// A chunk: length, name, data, check sum.
static void png_chunk(FILE *file, const char *name, const uint8_t *data, size_t count) {
  uint8_t head[8], tail[4];
  png_put(head, (uint32_t)count);
  for (int i = 0; i < 4; i++) head[4 + i] = (uint8_t)name[i];
  png_put(tail, ~png_crc(png_crc(~0u, head + 4, 4), data, count));
  fwrite(head, 1, 8, file), fwrite(data, 1, count, file), fwrite(tail, 1, 4, file);
}

/// The rows, each after a filter byte of 0, as a zlib stream of one stored block a row; returns its length.
static size_t png_pack(const picture *p, uint8_t *to) {
  size_t row = (size_t)p->width * 3, at = 2;
  uint32_t a = 1, b = 0;

  to[0] = 0x78, to[1] = 0x01;
  for (int y = 0; y < p->height; y++) {
    uint8_t *block = to + at;
    block[0] = y == p->height - 1, block[1] = (uint8_t)((row + 1) & 255), block[2] = (uint8_t)((row + 1) >> 8);
    block[3] = (uint8_t)~block[1], block[4] = (uint8_t)~block[2], block[5] = 0;
    for (size_t i = 0; i < row; i++) block[6 + i] = p->rgb[(size_t)y * row + i];
    for (size_t i = 0; i <= row; i++) a = (a + block[5 + i]) % 65521, b = (b + a) % 65521;
    at += row + 6;
  }
  png_put(to + at, b << 16 | a);
  return at + 4;
}

/// Write and free; 0 where the file is whole.
static int picture_write(picture *p, const char *path) {
  static const uint8_t signature[8] = {137, 'P', 'N', 'G', 13, 10, 26, 10};
  uint8_t head[13] = {0}, *packed = malloc(((size_t)p->width * 3 + 6) * (size_t)p->height + 6);
  FILE *file = packed && p->rgb ? fopen(path, "wb") : NULL;
  int failed = !file;

  if (file) {
    png_put(head, (uint32_t)p->width), png_put(head + 4, (uint32_t)p->height);
    head[8] = 8, head[9] = 2;  // eight bits a colour, three colours
    fwrite(signature, 1, 8, file);
    png_chunk(file, "IHDR", head, sizeof head);
    png_chunk(file, "IDAT", packed, png_pack(p, packed));
    png_chunk(file, "IEND", head, 0);
    failed = ferror(file) != 0;
    failed |= fclose(file) != 0;
  }
  free(packed), free(p->rgb);
  p->rgb = NULL;
  return failed;
}

#endif
