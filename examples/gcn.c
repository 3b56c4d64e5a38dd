// SPDX-License-Identifier: Apache-2.0
/// @file gcn.c
/// A graph convolutional network on CiteSeer.
///
///     Z    = S relu(S X W0 + b0) W1 + b1      S = D^-1/2 (A + I) D^-1/2, X: bags of words, rows of sum 1
///     loss = cross entropy on 120 labelled papers; L2 on W0; dropout on X and on the hidden layer; Adam, 200 epochs
///
/// Both the graph and the features are sparse matrices on frozen patterns. Prints the test accuracy of each seed and
/// their mean, which must reach 69 %. Usage: gcn [SEEDS [FOLDER]]; the data lies in data/citeseer.

#include <lacuna/lacuna.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HIDDEN = 16, CLASSES = 6, EPOCHS = 200, WEIGHTS = 4 };
enum { W0, B0, W1, B1 };
static const double RATE = 0.01, DECAY = 5e-4, KEPT = 0.5, GOAL = 0.69;

/// A sparse matrix with f32 values.
typedef struct matrix {
  lac_pattern *pattern;
  lac_array *values;
} matrix;

typedef struct problem {
  lac_context *ctx;
  lac_tape *tape;
  matrix graph, features;  // S, X
  lac_array *target;       // (papers, classes): 1 / 120 at the label of each labelled paper
  int64_t papers, words;
  int *label;
  char *is_test;
} problem;

// -- data ------------------------------------------------------------------------------------------------------------

/// values = left_i values_ij right_j for d^power the scaling of rows and, where asked, of columns; d = row sums, at
/// least 1.
static lac_status normalise(problem *p, matrix *m, double power, int both) {
  lac_tape *tape = p->tape;

  lac_tape_clear(tape);
  lac_var a = lac_tape_constant(tape, m->values);
  lac_var d = lac_power(tape, lac_clamp(tape, lac_row_sum(tape, m->pattern, a), 1, INFINITY), power);
  a = lac_scale_rows(tape, m->pattern, a, d);
  if (both) a = lac_scale_cols(tape, m->pattern, a, d);
  lac_status status = lac_tape_status(tape);
  if (status != LAC_OK) return status;
  lac_array *scaled = lac_array_retain(lac_tape_value(tape, a));
  lac_array_destroy(&m->values);
  m->values = scaled;
  return LAC_OK;
}

/// A + I for the graph's A, values all one.
static lac_status add_loops(problem *p, matrix *m) {
  int64_t n = lac_pattern_rows(m->pattern);
  lac_pattern *eye = NULL, *both = NULL;
  lac_status status = lac_pattern_eye(p->ctx, n, n, 0, LAC_WIDTH_AUTO, &eye);

  if (status == LAC_OK) status = lac_pattern_union(p->ctx, m->pattern, eye, &both, NULL, NULL);
  lac_pattern_destroy(&eye);
  if (status != LAC_OK) return status;
  lac_pattern_destroy(&m->pattern);
  lac_array_destroy(&m->values);
  m->pattern = both;
  status = lac_array_create(p->ctx, LAC_F32, 1, (int64_t[]){lac_pattern_nnz(both)}, &m->values);
  return status == LAC_OK ? lac_array_fill(p->ctx, m->values, 1, 0) : status;
}

static lac_status read_matrix(problem *p, const char *folder, const char *name, matrix *m) {
  lac_mm_read_options options = lac_mm_read_options_defaults();
  char path[4096];

  options.dtype = "f32";
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  return lac_read_matrix_market(p->ctx, path, &options, &m->pattern, &m->values, NULL);
}

/// Labels and split, one line a paper; the target is made of those to train on.
static lac_status read_labels(problem *p, const char *folder) {
  char path[4096], word[16];
  int64_t n = p->papers, trained = 0;
  float *target = calloc((size_t)(n * CLASSES), sizeof *target);

  p->label = calloc((size_t)n, sizeof *p->label);
  p->is_test = calloc((size_t)n, 1);
  (void)snprintf(path, sizeof path, "%s/labels.txt", folder);
  FILE *labels = fopen(path, "r");
  (void)snprintf(path, sizeof path, "%s/split.txt", folder);
  FILE *split = fopen(path, "r");
  int is_read = labels && split && target && p->label && p->is_test;
  for (int64_t i = 0; is_read && i < n; i++) {
    is_read = fgets(word, sizeof word, labels) != NULL;
    p->label[i] = is_read ? (int)strtol(word, NULL, 10) : -1;
    is_read = is_read && p->label[i] < CLASSES && fgets(word, sizeof word, split) != NULL;
    p->is_test[i] = is_read && strncmp(word, "test", 4) == 0;
    if (is_read && strncmp(word, "train", 5) == 0) target[i * CLASSES + p->label[i]] = 1, trained++;
  }
  for (int64_t i = 0; i < n * CLASSES && is_read; i++) target[i] /= (float)trained;
  lac_status status = LAC_ERR_ARG;
  if (is_read)
    status = lac_array_from(p->ctx, LAC_F32, 2, (int64_t[]){n, CLASSES}, target, LAC_OWNERSHIP_COPY, &p->target);
  free(target);
  if (labels) (void)fclose(labels);
  if (split) (void)fclose(split);
  return status;
}

static lac_status open_problem(problem *p, const char *folder) {
  lac_status status = lac_context_create("cpu", 0, &p->ctx);

  if (status == LAC_OK) status = lac_tape_create(p->ctx, LAC_TAPE_RECORD, &p->tape);
  if (status == LAC_OK) status = read_matrix(p, folder, "edges.mtx", &p->graph);
  if (status == LAC_OK) status = read_matrix(p, folder, "features.mtx", &p->features);
  if (status == LAC_OK) status = add_loops(p, &p->graph);
  if (status == LAC_OK) status = normalise(p, &p->graph, -0.5, 1);
  if (status == LAC_OK) status = normalise(p, &p->features, -1, 0);
  if (status != LAC_OK) return status;
  p->papers = lac_pattern_rows(p->features.pattern), p->words = lac_pattern_cols(p->features.pattern);
  return read_labels(p, folder);
}

static void close_problem(problem *p) {
  matrix *matrices[] = {&p->graph, &p->features};
  for (int i = 0; i < 2; i++) lac_pattern_destroy(&matrices[i]->pattern), lac_array_destroy(&matrices[i]->values);
  lac_array_destroy(&p->target);
  lac_tape_destroy(&p->tape);
  lac_context_destroy(&p->ctx);
  free(p->label), free(p->is_test);
}

// -- chance ----------------------------------------------------------------------------------------------------------

/// Uniform in [0, 1): splitmix64.
static double uniform(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/// Glorot's uniform start for matrices, zeros for biases.
static lac_status weight(problem *p, int64_t rows, int64_t cols, uint64_t *state, lac_array **out) {
  double bound = rows > 1 ? sqrt(6. / (double)(rows + cols)) : 0;
  lac_status status = lac_array_create(p->ctx, LAC_F32, 2, (int64_t[]){rows, cols}, out);
  float *w = status == LAC_OK ? lac_array_edit(*out) : NULL;
  for (int64_t i = 0; w && i < rows * cols; i++) w[i] = (float)(bound * (2 * uniform(state) - 1));
  return status;
}

/// 0, or 1 / KEPT so that the mean stays.
static void drop(lac_array *mask, uint64_t *state) {
  float *m = lac_array_edit(mask);
  for (int64_t i = 0, n = lac_array_count(mask); i < n; i++) m[i] = uniform(state) < KEPT ? (float)(1 / KEPT) : 0;
}

// -- the network -----------------------------------------------------------------------------------------------------

/// The scores Z; without masks nothing is dropped.
static lac_var scores(const problem *p, const lac_var *w, lac_array *const mask[2]) {
  lac_tape *tape = p->tape;
  lac_var s = lac_tape_constant(tape, p->graph.values), x = lac_tape_constant(tape, p->features.values);
  if (mask) x = lac_mul(tape, x, lac_tape_constant(tape, mask[0]));
  lac_var xw = lac_spmm(tape, p->features.pattern, x, w[W0], LAC_PLAIN);
  lac_var h = lac_relu(tape, lac_add(tape, lac_spmm(tape, p->graph.pattern, s, xw, LAC_PLAIN), w[B0]));
  if (mask) h = lac_mul(tape, h, lac_tape_constant(tape, mask[1]));
  lac_var hw = lac_matmul(tape, h, w[W1], LAC_PLAIN, LAC_PLAIN);
  return lac_add(tape, lac_spmm(tape, p->graph.pattern, s, hw, LAC_PLAIN), w[B1]);
}

/// One epoch: the gradient of the loss by all weights.
static lac_status gradient(const problem *p, lac_array *const w[WEIGHTS], lac_array *const mask[2],
                           lac_array *g[WEIGHTS]) {
  lac_tape *tape = p->tape;
  lac_var leaf[WEIGHTS];
  double loss = 0;

  lac_tape_clear(tape);
  for (int i = 0; i < WEIGHTS; i++) leaf[i] = lac_tape_leaf(tape, w[i]);
  lac_var likely = lac_log_softmax(tape, scores(p, leaf, mask), LAC_AXES(-1));
  lac_var gain = lac_dot(tape, lac_tape_constant(tape, p->target), likely);
  return lac_tape_gradient(tape, lac_neg(tape, gain), WEIGHTS, leaf, &loss, g);
}

/// The share of test papers whose highest score is at their label.
static lac_status accuracy(const problem *p, lac_array *const w[WEIGHTS], double *share) {
  lac_var leaf[WEIGHTS];
  int64_t right = 0, tested = 0;

  lac_tape_clear(p->tape);
  for (int i = 0; i < WEIGHTS; i++) leaf[i] = lac_tape_constant(p->tape, w[i]);
  lac_var z = scores(p, leaf, NULL);
  if (lac_tape_status(p->tape) != LAC_OK) return lac_tape_status(p->tape);
  const float *score = lac_array_data(lac_tape_value(p->tape, z));
  for (int64_t i = 0; i < p->papers; i++, score += CLASSES) {
    int best = 0;
    for (int c = 1; c < CLASSES; c++) best = score[c] > score[best] ? c : best;
    tested += p->is_test[i];
    right += p->is_test[i] && best == p->label[i];
  }
  *share = (double)right / (double)tested;
  return LAC_OK;
}

static lac_status epochs(const problem *p, lac_array *const w[WEIGHTS], lac_array *const mask[2],
                         lac_optimiser *const adam[2], uint64_t *state) {
  lac_status status = LAC_OK;

  for (int epoch = 0; epoch < EPOCHS && status == LAC_OK; epoch++) {
    lac_array *g[WEIGHTS] = {NULL};
    drop(mask[0], state), drop(mask[1], state);
    status = gradient(p, w, mask, g);
    if (status == LAC_OK) status = lac_optimiser_step(adam[0], (const lac_array *const *)g);
    if (status == LAC_OK) status = lac_optimiser_step(adam[1], (const lac_array *const *)g + 1);
    for (int i = 0; i < WEIGHTS; i++) lac_array_destroy(&g[i]);
  }
  return status;
}

/// Train from one seed. Only W0 decays, so it has an optimiser of its own.
static lac_status train(problem *p, uint64_t seed, double *share) {
  lac_optimise_options options = lac_optimise_options_defaults();
  lac_array *w[WEIGHTS] = {NULL}, *mask[2] = {NULL};
  lac_optimiser *adam[2] = {NULL};
  lac_status status = weight(p, p->words, HIDDEN, &seed, &w[W0]);

  if (status == LAC_OK) status = weight(p, 1, HIDDEN, &seed, &w[B0]);
  if (status == LAC_OK) status = weight(p, HIDDEN, CLASSES, &seed, &w[W1]);
  if (status == LAC_OK) status = weight(p, 1, CLASSES, &seed, &w[B1]);
  if (status == LAC_OK) status = lac_array_clone(p->ctx, p->features.values, &mask[0]);
  if (status == LAC_OK) status = lac_array_create(p->ctx, LAC_F32, 2, (int64_t[]){p->papers, HIDDEN}, &mask[1]);
  options.method = LAC_OPTIMISE_ADAM, options.rate = RATE, options.decay = DECAY;
  if (status == LAC_OK) status = lac_optimiser_create(p->ctx, &options, 1, w, &adam[0]);
  options.decay = 0;
  if (status == LAC_OK) status = lac_optimiser_create(p->ctx, &options, WEIGHTS - 1, w + 1, &adam[1]);
  if (status == LAC_OK) status = epochs(p, w, mask, adam, &seed);
  if (status == LAC_OK) status = accuracy(p, w, share);
  for (int i = 0; i < WEIGHTS; i++) lac_array_destroy(&w[i]);
  for (int i = 0; i < 2; i++) lac_array_destroy(&mask[i]), lac_optimiser_destroy(&adam[i]);
  return status;
}

static double seconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  long seeds = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
  problem p = {.ctx = NULL};
  double sum = 0;

  lac_status status = open_problem(&p, argc > 2 ? argv[2] : "data/citeseer");
  for (long seed = 0; seed < seeds && status == LAC_OK; seed++) {
    double begin = seconds(), share = 0;
    status = train(&p, (uint64_t)seed + 1, &share);
    sum += share;
    if (status == LAC_OK) printf("seed %ld: test accuracy %.1f %% in %.1f s\n", seed, 100 * share, seconds() - begin);
  }
  if (status == LAC_OK) printf("mean of %ld seeds: %.2f %%\n", seeds, 100 * sum / (double)seeds);
  if (status != LAC_OK) (void)fprintf(stderr, "%s\n", lac_context_error(p.ctx));
  close_problem(&p);
  return status != LAC_OK || sum / (double)seeds < GOAL;
}
