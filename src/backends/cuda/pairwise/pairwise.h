// SPDX-License-Identifier: Apache-2.0
/// @file pairwise.h
/// The launchers of pairwise aggregation (kernels/pairwise.h), as C sees them.

#ifndef LACUNA_BACKENDS_CUDA_PAIRWISE_PAIRWISE_H
#define LACUNA_BACKENDS_CUDA_PAIRWISE_PAIRWISE_H

#include "backends/cuda/launch.h"
#include "kernels/cycle.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- matching (pairwise_match.cu) ------------------------------------------------------------------------------------

/// Vertices that are matched: the rows of a matrix, or pairs of them.
typedef struct cuda_match {
  const cuda_rows *rows;  // on the host
  lac_dtype dtype;
  const void *values;                   // of one matrix
  int64_t count;                        // of vertices
  const int *pairs, *starts, *members;  // of rows, where pairs are matched; NULL: rows are
  int *state;                           // of each vertex: free, out, or the vertex that leads its match
  int *ahead;                           // [count], and
  unsigned *chain;                      // [count]: where each leads to, while a round lasts
} cuda_match;

/// Every vertex is free; rows whose diagonal outweighs all else are out.
cudaError_t cuda_launch_match_begin(cudaStream_t stream, const cuda_match *m);

/// A round: free vertices are matched that hold each other most strongly; or one that holds to another behind it, or
/// ahead.
typedef enum cuda_match_way { CUDA_MATCH_BOTH, CUDA_MATCH_BACK, CUDA_MATCH_FORTH } cuda_match_way;
cudaError_t cuda_launch_match_round(cudaStream_t stream, const cuda_match *m, cuda_match_way way);

/// Free rows join a neighbour that is matched. In the `last` of these rounds those without one lead a match of their
/// own, or are out.
cudaError_t cuda_launch_match_join(cudaStream_t stream, const cuda_match *m, int last);

/// flags[1 + v]: whether vertex v leads, of a free one too; flags[0] = 0.
cudaError_t cuda_launch_match_leaders(cudaStream_t stream, int64_t count, int *state, int *flags);

/// Of rows: state[i] = the number of its leader, numbers[state[i]], or -1. Of pairs: aggregates[i] = that of its pair's
/// leader.
cudaError_t cuda_launch_match_number(cudaStream_t stream, int64_t count, const int *numbers, int *state);
cudaError_t cuda_launch_match_merge(cudaStream_t stream, int64_t rows, const int *numbers, const int *state,
                                    int *aggregates);

/// Rows by their targets: ends[t] = how many rows have it (from zeros on, which are then added up); then `ends` become
/// the places where groups begin, and rows go there, ascending. Rows with a negative target are left out.
cudaError_t cuda_launch_group_count(cudaStream_t stream, int64_t rows, const int *targets, int *ends);
cudaError_t cuda_launch_group_fill(cudaStream_t stream, int64_t rows, int64_t groups, const int *targets, int *ends,
                                   int *members);

/// *near = how many groups have a last member that is near that of the next group.
cudaError_t cuda_launch_group_near(cudaStream_t stream, int64_t groups, const int *starts, const int *members,
                                   unsigned long long *near);

// -- the next level (pairwise_coarse.cu) -----------------------------------------------------------------------------

typedef struct cuda_merge {
  const cuda_rows *rows;  // on the host
  int64_t coarse;
  const int *aggregates, *starts, *members;
} cuda_merge;

/// offsets[1 + I] = how many columns coarse row I has, offsets[0] = 0. *is_long is set where a row has more than this
/// kernel takes.
cudaError_t cuda_launch_merge_count(cudaStream_t stream, const cuda_merge *m, cuda_integers offsets, int *is_long);
cudaError_t cuda_launch_merge_fill(cudaStream_t stream, const cuda_merge *m, cuda_index offsets, int *columns);

/// values [items, coarse entries] in f64 or c128.
cudaError_t cuda_launch_merge_values(cudaStream_t stream, lac_dtype dtype, const cuda_merge *m, int64_t items,
                                     const void *values, const double *unit, const cuda_rows *coarse, void *out);

/// A matrix as kernels walk it (lac_level_view), for vectors of k columns.
typedef struct cuda_level {
  cuda_rows rows;
  int64_t items, k;
  int conj;
  const void *values, *weights;
  const double *unit;   // [items, 2], or NULL
  const double *scale;  // [items, 2, k], or NULL
} cuda_level;

cudaError_t cuda_launch_level_weights(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_level *level,
                                      double omega, void *weights);

cudaError_t cuda_launch_evenness(cudaStream_t stream, lac_dtype dtype, const cuda_rows *rows, const void *values,
                                 int64_t samples, const double ratio[2], const double sign[2], double *shares);

// -- the cycle (pairwise_cycle.cu, pairwise_vectors.cu) --------------------------------------------------------------

/// The aggregates of a level, and the weights of the next one: NULL where its first sweep is not wanted.
typedef struct cuda_gather {
  int64_t coarse;
  const int *starts, *members;
  const void *weights;
} cuda_gather;

/// rc = P^T (b - A x) and xc = weights rc
cudaError_t cuda_launch_level_restrict(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_level *level,
                                       const cuda_gather *to, const void *b, const void *x, void *rc, void *xc);
/// r = b - A x; rc = P^T r and xc = weights rc
cudaError_t cuda_launch_level_remain(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_level *level,
                                     const void *b, const void *x, void *r);
cudaError_t cuda_launch_level_collect(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_level *level,
                                      const cuda_gather *to, const void *r, void *rc, void *xc);
/// z = x + weights (b - A x)
cudaError_t cuda_launch_level_relax(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_level *level,
                                    const void *b, const void *x, void *z);

/// Bytes of the sums of blocks, and v = A c with its sums; `r`, `before` and `v` as in kernels/pairwise.def.
size_t cuda_level_product_scratch(int64_t items, int64_t n, int64_t k);
typedef struct cuda_product {
  int of_image;
  const void *c, *r, *before;
  void *v, *sums, *scratch;
} cuda_product;
cudaError_t cuda_launch_level_product(cudaStream_t stream, lac_dtype narrow, const cuda_level *level,
                                      const cuda_product *p);

/// Vectors [items, n, k].
typedef struct cuda_vectors {
  int64_t items, n, k;
  int conj;             // weights
  const void *weights;  // [items, n], or NULL
} cuda_vectors;

/// y = weights x scale[item, column], whose items are two lines apart; weights and scale may be NULL.
cudaError_t cuda_launch_vector_scale(cudaStream_t stream, lac_dtype from, lac_dtype to, const cuda_vectors *v,
                                     const double *scale, const void *x, void *y);
/// x += P (step c + step' d), or x += P c
cudaError_t cuda_launch_vector_prolong(cudaStream_t stream, lac_dtype narrow, const cuda_vectors *v, int64_t coarse,
                                       const int *aggregates, const void *steps, const void *c, const void *d, void *x);
/// r -= first v, x = weights r
cudaError_t cuda_launch_vector_advance(cudaStream_t stream, lac_dtype narrow, const cuda_vectors *v, const void *steps,
                                       const void *along, void *r, void *x);
/// Of items x k columns, in f64 or c128.
cudaError_t cuda_launch_steps(cudaStream_t stream, lac_dtype full, int64_t items, int64_t k, int second,
                              const void *sums, void *steps);

#ifdef __cplusplus
}
#endif
#endif
