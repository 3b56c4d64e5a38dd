// SPDX-License-Identifier: Apache-2.0
/// @file fft.h
/// The discrete Fourier transform of any length, in double precision: X_k = sum_j x_j exp(-2 pi i j k / n).

#ifndef LACUNA_BACKENDS_CPU_SOLVES_FFT_H
#define LACUNA_BACKENDS_CPU_SOLVES_FFT_H

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"

/// What transforms of one length share: roots of unity and, for lengths with a large prime factor, the chirp of
/// Bluestein's method.
typedef struct cpu_dft {
  int64_t n, size;  // size: n, or one that holds a linear convolution of two sequences of n
  c128 *roots;      // size: exp(-2 pi i k / size)
  c128 *chirp;      // n: exp(-pi i j^2 / n); NULL where n has small factors alone
  c128 *kernel;     // size: the transform of the conjugate chirp, over size
} cpu_dft;

lac_status cpu_dft_open(lac_context *ctx, int64_t n, cpu_dft *dft);
void cpu_dft_close(cpu_dft *dft);

/// How many complex numbers of room a transform needs besides x.
int64_t cpu_dft_room(const cpu_dft *dft);

/// x (n numbers) becomes its transform, or n times its inverse transform.
void cpu_dft_forward(const cpu_dft *dft, c128 *x, c128 *room);
void cpu_dft_backward(const cpu_dft *dft, c128 *x, c128 *room);

#endif
