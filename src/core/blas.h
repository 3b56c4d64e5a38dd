// SPDX-License-Identifier: Apache-2.0
/// @file blas.h
/// What the library does before it calls a BLAS, which is somebody else's: its memory is had first, and its threads are
/// kept out of ours.

#ifndef LACUNA_CORE_BLAS_H
#define LACUNA_CORE_BLAS_H

#include <stdbool.h>

/// What OpenBLAS takes for each thread that is in it, at most: 32 << 22 on x86-64, where it is largest. It keeps such
/// buffers and uses them again. Where there is no memory for one it tries for ever, in the middle of a product.
enum { LAC_BLAS_BUFFER = 32 << 22 };

/// `threads` threads will be in BLAS at once, until lac_blas_drop with the same number. False: there is no memory for
/// its buffers, and it must not be called. Costs a lock where the buffers are there. Other libraries need none.
bool lac_blas_hold(int threads);
void lac_blas_drop(int threads);

/// The same, and BLAS runs in the thread that calls it until lac_blas_leave. OpenBLAS would spread large products over
/// threads of its own, which compete with ours, and its bits depend on how many. Its only setting is one of the
/// process: the first to enter sets it to one thread, the last to leave sets it back. Other libraries are sequential
/// when called by several threads, and are left alone.
bool lac_blas_enter(int threads);
void lac_blas_leave(int threads);

/// The sentence of a failure.
#define LAC_BLAS_LACKS "out of memory: BLAS needs a buffer of 128 MB of address space for each thread that calls it"

#endif
