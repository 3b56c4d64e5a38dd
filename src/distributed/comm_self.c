// SPDX-License-Identifier: Apache-2.0
/// @file comm_self.c
/// The communicator of one rank: every sum is its own, every exchange is a copy.

#include <string.h>

#include "lacuna/distributed.h"

static int self_sum(void *self, double *values, int64_t count) {
  (void)self, (void)values, (void)count;
  return 0;
}

static int self_max(void *self, int64_t *values, int64_t count) {
  (void)self, (void)values, (void)count;
  return 0;
}

static int self_gather(void *self, const int64_t *mine, int64_t count, int64_t *all) {
  (void)self;
  if (count) memcpy(all, mine, (size_t)count * sizeof *all);
  return 0;
}

static int self_exchange(void *self, const void *send, const int64_t *send_offsets, void *receive,
                         const int64_t *receive_offsets) {
  const size_t bytes = (size_t)(send_offsets[1] - send_offsets[0]);

  (void)self;
  if (bytes) memcpy((char *)receive + receive_offsets[0], (const char *)send + send_offsets[0], bytes);
  return 0;
}

static int self_broadcast(void *self, void *data, int64_t bytes, int root) {
  (void)self, (void)data, (void)bytes, (void)root;
  return 0;
}

lac_comm lac_comm_self(void) {
  return (lac_comm){.self = NULL,
                    .rank = 0,
                    .size = 1,
                    .sum = self_sum,
                    .max = self_max,
                    .gather = self_gather,
                    .exchange = self_exchange,
                    .broadcast = self_broadcast};
}
