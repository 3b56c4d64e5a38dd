// SPDX-License-Identifier: Apache-2.0
/// @file heatmap.h
/// Fields on a grid as an SVG picture, for the examples.

#ifndef LACUNA_EXAMPLES_HEATMAP_H
#define LACUNA_EXAMPLES_HEATMAP_H

#include <math.h>
#include <stdio.h>

enum { HEATMAP_CELL = 4, HEATMAP_GAP = 40 };

/// From dark blue through green to yellow, for t in [0, 1].
static void heatmap_colour(double t, int rgb[3]) {
  static const double stops[5][3] = {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
  double at = 4 * fmin(fmax(t, 0), 1);
  int k = at >= 4 ? 3 : (int)at;

  for (int c = 0; c < 3; c++) rgb[c] = (int)lround(stops[k][c] + (at - k) * (stops[k + 1][c] - stops[k][c]));
}

/// One panel: an n x n field with its title, range [low, high], at column and row of the picture.
static void heatmap_panel(FILE *file, int n, const double *field, double low, double high, const char *title,
                          int column, int row) {
  int x0 = HEATMAP_GAP + column * (n * HEATMAP_CELL + HEATMAP_GAP),
      y0 = HEATMAP_GAP + row * (n * HEATMAP_CELL + HEATMAP_GAP);
  int rgb[3];

  fprintf(file, "<text x=\"%d\" y=\"%d\" font-family=\"sans-serif\" font-size=\"13\">%s  [%.3g, %.3g]</text>\n", x0,
          y0 - 8, title, low, high);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      heatmap_colour((field[i * n + j] - low) / (high - low), rgb);
      fprintf(file, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#%02x%02x%02x\"/>\n",
              x0 + j * HEATMAP_CELL, y0 + i * HEATMAP_CELL, HEATMAP_CELL, HEATMAP_CELL, rgb[0], rgb[1], rgb[2]);
    }
  }
}

/// Begin a picture of columns x rows panels.
static FILE *heatmap_open(const char *path, int n, int columns, int rows) {
  int width = HEATMAP_GAP + columns * (n * HEATMAP_CELL + HEATMAP_GAP),
      height = HEATMAP_GAP + rows * (n * HEATMAP_CELL + HEATMAP_GAP);
  FILE *file = fopen(path, "w");

  if (file) {
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" shape-rendering=\"crispEdges\">\n",
            width, height);
    fprintf(file, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width, height);
  }
  return file;
}

static int heatmap_close(FILE *file) { return fputs("</svg>\n", file) < 0 || fclose(file) != 0; }

#endif
