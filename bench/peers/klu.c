// SPDX-License-Identifier: Apache-2.0
/// @file klu.c
/// KLU of SuiteSparse with its defaults, in C calls alone: what a benchmark loads and times beside us. A matrix is
/// given by columns; x is b before and the solution after. What fails gives a zero.

#include <klu.h>
#include <stdlib.h>

typedef struct klu_peer {
  klu_common common;
  klu_symbolic *symbolic;
  klu_numeric *numeric;
  int n;
} klu_peer;

void klu_peer_destroy(klu_peer *peer) {
  if (!peer) return;
  klu_free_numeric(&peer->numeric, &peer->common);
  klu_free_symbolic(&peer->symbolic, &peer->common);
  free(peer);
}

/// Analysed and factored.
klu_peer *klu_peer_create(int n, int *offsets, int *rows, double *values) {
  klu_peer *peer = calloc(1, sizeof *peer);
  if (!peer) return NULL;
  peer->n = n;
  klu_defaults(&peer->common);
  peer->symbolic = klu_analyze(n, offsets, rows, &peer->common);
  if (peer->symbolic) peer->numeric = klu_factor(offsets, rows, values, peer->symbolic, &peer->common);
  if (peer->numeric) return peer;
  klu_peer_destroy(peer);
  return NULL;
}

int klu_peer_solve(klu_peer *peer, double *x) {
  return klu_solve(peer->symbolic, peer->numeric, peer->n, 1, x, &peer->common);
}

/// From scratch; the entries of the factors, off the blocks too, or 0.
int klu_peer_all(int n, int *offsets, int *rows, double *values, double *x) {
  klu_peer *peer = klu_peer_create(n, offsets, rows, values);
  int fill = peer && klu_peer_solve(peer, x) ? peer->numeric->lnz + peer->numeric->unz + peer->numeric->nzoff : 0;
  klu_peer_destroy(peer);
  return fill;
}

/// Other values by the analysis at hand, with pivots of their own.
int klu_peer_other(klu_peer *peer, int *offsets, int *rows, double *values, double *x) {
  klu_free_numeric(&peer->numeric, &peer->common);
  peer->numeric = klu_factor(offsets, rows, values, peer->symbolic, &peer->common);
  return peer->numeric && klu_peer_solve(peer, x);
}

/// Other values by the pivots at hand.
int klu_peer_again(klu_peer *peer, int *offsets, int *rows, double *values, double *x) {
  return klu_refactor(offsets, rows, values, peer->symbolic, peer->numeric, &peer->common) && klu_peer_solve(peer, x);
}
