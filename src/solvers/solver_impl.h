// SPDX-License-Identifier: Apache-2.0
/// @file solver_impl.h
/// The inside of solvers and factors, and the table that each method fills.
///
/// Who holds whom: a solver holds its core and the factors it keeps; a factor holds the core and the analysis it was
/// made by; a core holds the pattern, and solvers of larger patterns made of it; the pattern keeps structure and
/// analyses, which hold no more than structure. So there are no cycles. An iterative solver has a core without structure, and
/// factors without numerics (iterative.h).

#ifndef LACUNA_SOLVERS_SOLVER_IMPL_H
#define LACUNA_SOLVERS_SOLVER_IMPL_H

#include <pthread.h>

#include "core/array_impl.h"
#include "lacuna/solver.h"
#include "solvers/direct/order/structure.h"

/// What went wrong with one matrix of a batch. Matrices are worked on by many threads, so there is no context to tell.
typedef struct lac_fault {
  char text[400];
  bool lacks_room;  // more memory is foreseen to be needed than there is, and nothing was begun
} lac_fault;

/// What a method says of one factored matrix, or foresees.
typedef struct lac_finding {
  const char *ordering;  // that was taken; NULL: the one that was asked for
  bool is_guess;         // the values may come to other figures
  int64_t nnz, bytes;    // of the factor
  int64_t work_bytes;    // that factoring takes besides, at its peak, in one thread
  double flops;
  double smallest;  // pivot, beside the largest number of its row or column as it came,
  int64_t where;    // that row or column,
  int64_t item;     // and of a batch the matrix it is in
  int64_t
      perturbed;  // pivots that were too small and made larger: solves must refine, logdet and inverse cannot be had
  double growth;  // the largest number of the factor beside the largest of the (scaled) matrix; 0: not measured
} lac_finding;

enum { LAC_BLOCK_WIDTH = 16 };

/// One matrix to factor. Its values are finite, and Hermitian where the method needs it; they outlive the numeric, which
/// may point to them.
typedef struct lac_factor_job {
  const lac_structure *structure;
  const void *part;  // of the method's analysis
  const lac_solver_options *options;
  lac_dtype dtype;
  const void *values;
  const void *like;  // a numeric of the same method and pattern whose matching, scaling and pivots are taken over, and
                     // probed: LAC_ERR_CONVERGENCE where they do not suit; or NULL
  const void *near;  // the first numeric of the same batch, whose choices may be taken where they suit; or NULL
  int threads;       // that the method may use
} lac_factor_job;

/// det = sign exp(logabs), for complex matrices sign is the phase: sign_re + i sign_im.
typedef struct lac_polar {
  double logabs, sign_re, sign_im;
} lac_polar;

/// A method. Its analysis depends on structure and ordering alone and is shared; a numeric belongs to one matrix.
typedef struct lac_solver_table {
  const char *name;
  bool needs_hermitian;                                  // it takes Hermitian matrices alone
  bool (*is_stable)(const lac_solver_options *options);  // nothing grows in its factors, whatever the matrix
  lac_status (*analyse)(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, void **part,
                        int64_t *bytes);
  void (*forget)(void *part);  // accepts NULL

  /// What a factor of one matrix will be, as far as it follows from the analysis: ordering, nnz, bytes, work_bytes,
  /// flops. Where the values decide: NULL, or an nnz of -1.
  void (*predict)(const void *part, lac_dtype dtype, lac_finding *finding);

  /// Factor one matrix. On failure the fault has a text.
  lac_status (*factor)(const lac_factor_job *job, void **numeric, lac_fault *fault);

  /// x = A^-1 b (LAC_N) or A^-T b (LAC_T) for a block of n rows and `width` columns, 1 <= width <= LAC_BLOCK_WIDTH.
  /// `work` is another such block; none may overlap. What needs no more memory than that cannot fail; on failure the
  /// fault has a text.
  lac_status (*solve)(const void *part, const void *numeric, lac_side side, int width, int threads, const void *b,
                      void *x, void *work, lac_fault *fault);

  /// The determinant, both permutations and all scalings counted (determinant.h). Never asked of a perturbed factor.
  /// Fails with LAC_ERR_MEMORY alone. Optional.
  lac_status (*logdet)(const void *part, const void *numeric, lac_polar *out);

  /// A^-T on the pattern of A: values[slot of (i, j)] = (A^-1)(j, i). Never asked of a perturbed factor. Optional.
  lac_status (*selected_inverse)(const lac_structure *structure, const void *part, const void *numeric, int threads,
                                 void *values, lac_fault *fault);

  void (*report)(const void *part, const void *numeric, lac_finding *finding);
  void (*destroy)(void *numeric);  // accepts NULL
} lac_solver_table;

#define LAC_SOLVER(method) extern const lac_solver_table lac_solver_##method;
#include "solvers/solvers.def"
#undef LAC_SOLVER

/// What a method's `analyse` made for an ordering.
typedef struct lac_analysis {
  lac_object object;
  const lac_solver_table *table;
  lac_ordering ordering;
  void *part;
  double seconds;
} lac_analysis;

/// The analysis for a pattern, which keeps it. Methods with the same `analyse` share it. Retained for the caller.
lac_status lac_analysis_get(lac_context *ctx, const lac_pattern *pattern, const lac_structure *structure,
                            const lac_solver_table *table, lac_ordering ordering, lac_analysis **out);

typedef struct lac_extension lac_extension;
typedef struct lac_iterative lac_iterative;

enum { LAC_REASON_SIZE = 400, LAC_WARNING_SIZE = 600 };

/// What a solver and its factors share.
typedef struct lac_solver_core {
  lac_object object;
  lac_pattern *pattern;
  lac_structure *structure;    // NULL: the solver is iterative
  lac_solver_options options;  // whose arrays and factor are held
  double seconds;              // spent on reading the structure, or on foreseeing what a direct solver would need
  char why[LAC_REASON_SIZE];   // it is iterative
  bool may_iterate;            // where a direct factor has no room
  atomic_bool has_failed;      // iterating, and an automatic choice fell back: its next factors are direct at once
  _Atomic int64_t factorisations, reuses;
  _Atomic int64_t setups, refreshes;  // of preconditioners
  pthread_mutex_t lock;               // of what follows
  lac_extension *extensions;          // solvers of larger patterns (extension.h), each held
  struct lac_solver_core *direct;     // of an automatic choice whose values were not for iterating; held
  struct lac_solver_core *iterative;  // of an automatic choice whose factors had no room; held
} lac_solver_core;

/// Let go of all extensions.
void lac_extensions_drop(lac_solver_core *core);

/// A core without structure; and one that has it, for direct methods.
lac_status lac_solver_core_begin(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                                 lac_solver_core **out);
lac_status lac_solver_core_create(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                                  lac_solver_core **out);

enum { LAC_KEPT_FACTORS = 8 };  // at most
struct lac_solver {
  lac_object object;
  lac_solver_core *core;
  const lac_solver_table
      *likely;             // the method that values will probably need; NULL: they can only be refused, or iterated on
  const char *reason;      // why
  lac_analysis *analysis;  // of that method
  lac_finding foreseen;    // of one f64 matrix; nnz is -1 where the values decide
  char warning[LAC_WARNING_SIZE];  // of what is foreseen
  pthread_mutex_t lock;            // of what follows
  lac_factor *kept;                // chained by `next`, most recently used first; each is held
  int kept_count;
  int64_t kept_bytes;
};

struct lac_factor {
  lac_object object;
  lac_solver_core *core;
  lac_analysis *analysis;
  const lac_solver_table *table;  // NULL: it is iterative
  lac_iterative *iterative;       // NULL: it is direct
  lac_meta meta;                  // of the values
  void *values;                   // a copy; NULL: it is iterative, and has an array
  uint64_t hash;                  // of the values, as the solver that keeps the factor computes it
  int64_t items;                  // how many matrices
  bool lacks_room;                // it was refused, not to begin what there is no memory for
  const char *function;           // that was called for it, as errors name it
  void **numerics;                // of each
  lac_finding finding;
  double seconds;
  char reason[LAC_REASON_SIZE];
  char warning[LAC_WARNING_SIZE];
  lac_factor *next;  // in the chain of the solver that keeps it
  pthread_mutex_t lock;
  // of the same values by another method, made under the lock where this one cannot serve
  _Atomic(lac_factor *) partner;
};

static inline int64_t lac_factor_rows(const lac_factor *factor) { return factor->core->pattern->rows; }

/// The kinds, by which an operator tells its objects apart.
extern const lac_kind lac_solver_kind, lac_factor_kind;

/// Factor values: checks them, chooses the method, copies them. Keeps nothing. *lacks_room (may be NULL): it was refused, for it is
/// foreseen to need more memory than there is.
lac_status lac_factor_make(lac_context *ctx, lac_solver_core *core, const lac_array *values, bool *lacks_room,
                           lac_factor **out);

/// How the factorisation of a batch ended: where it failed, the first matrix to do so and why.
typedef struct lac_trial {
  lac_status status;
  int64_t item;
  lac_fault fault;
} lac_trial;

/// Numeric factors of all matrices by one method, in place of those that are there. What the method cannot take is a
/// failed trial; lac_factor_explain makes an error of it.
lac_status lac_factor_try(lac_context *ctx, lac_factor *factor, const lac_solver_table *table, lac_trial *trial);
lac_status lac_factor_explain(lac_context *ctx, const lac_factor *factor, const lac_trial *trial);

/// The same by the method and the choices of an earlier factor of the same shape and dtype.
lac_trial lac_factor_try_like(const lac_context *ctx, lac_factor *factor, const lac_factor *like);

/// The parts of lac_factor_make: a factor without numerics, and what is said of it when it has them.
/// `function` is the one that was called, for sentences.
lac_status lac_factor_begin(lac_context *ctx, const char *function, lac_solver_core *core, const lac_array *values,
                            lac_factor **out);
void lac_factor_finish(lac_factor *factor, double begin);

/// All values as an array, over the memory of the factor.
lac_status lac_factor_values(lac_context *ctx, const lac_factor *factor, lac_array **out);

/// The values of one matrix; and " (matrix 3 of the batch)", or nothing for a single one.
const void *lac_factor_item(const lac_factor *factor, int64_t item);
const char *lac_factor_item_text(const lac_factor *factor, int64_t item, char text[64]);

/// Whether all pivots of one matrix are more than rounding.
bool lac_factor_is_regular(const lac_factor *factor, int64_t item);

/// The method that values of this structure will probably need, and why; NULL where they can only be refused. Refuses a
/// method that the pattern does not have the nature for.
lac_status lac_choose_likely(lac_context *ctx, const lac_solver_core *core, const lac_solver_table **table,
                             const char **reason);

/// Factor by the method that is asked for, or by the cheapest that fits; the factor's reason says why. Where a method
/// gives up with LAC_ERR_CONVERGENCE, the next safer one follows.
lac_status lac_choose(lac_context *ctx, lac_factor *factor);

/// Whether a factor's values are what a method needs; those that are not finite are refused.
lac_status lac_choose_fits(lac_context *ctx, const lac_factor *factor, const lac_solver_table *table, bool *fits);

/// Add to the reason of a factor.
void lac_choose_say(lac_factor *factor, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// What a method foresees for one matrix from an analysis, which it may share with others; nnz is -1 where the values
/// decide. `analysis` may be NULL.
lac_finding lac_foresee(const lac_solver_table *table, const lac_analysis *analysis, lac_dtype dtype);

/// Refuse, before it begins, a factorisation of `items` matrices, so many of them at once, that is foreseen to take more
/// memory than there is: LAC_ERR_MEMORY, and the fault has a text. What is unknown or a guess passes.
lac_status lac_foresee_check(const lac_solver_table *table, const lac_solver_options *options, lac_dtype dtype,
                             int64_t items, int64_t at_once, const lac_finding *one, lac_fault *fault);

/// Add a sentence to a warning where a factor of one matrix has very many entries.
void lac_foresee_warn(const lac_structure *structure, const lac_solver_table *table, lac_dtype dtype,
                      const lac_finding *finding, char *warning, size_t size);

/// A factor of the same values by a method that can do more, or that is safer: made once, kept by the factor, and living
/// as long. NULL where there is none: at the end of the chain stands LU with strict partial pivoting.
lac_status lac_factor_partner(lac_context *ctx, const lac_factor *factor, const lac_factor **out);
int64_t lac_factor_partner_bytes(const lac_factor *factor);  // of all down the chain, as far as they are made

/// Refuse b and x that do not fit a factor, for `function`; the joint batch is of values, b and x.
lac_status lac_factor_solve_check(lac_context *ctx, const char *function, const lac_factor *factor, lac_side side,
                                  const lac_array *b, const lac_array *x, lac_batch *batch);

/// lac_factor_solve, to the tolerance of derivatives where it is for one.
lac_status lac_factor_solve_for(lac_context *ctx, const lac_factor *factor, lac_side side, bool is_derivative,
                                const lac_array *b, lac_array *x);

/// Refuse an array that does not hold one number of `dtype` for each matrix of a factor, for `function`.
lac_status lac_factor_check_batch(lac_context *ctx, const char *function, const lac_factor *factor,
                                  const lac_array *array, lac_dtype dtype, const char *name);

/// Bytes that a factor holds by itself; and what one of `items` matrices would, whose numerics have so many bytes.
int64_t lac_factor_bytes(const lac_factor *factor);
int64_t lac_factor_bytes_of(const lac_solver_core *core, lac_dtype dtype, int64_t items, int64_t numeric_bytes);

/// Equal shapes but for leading dimensions of size 1 before the last `core` ones: those broadcast alike.
bool lac_factor_same_shape(const lac_meta *a, const lac_meta *b, int core);

/// 1 when the factor was made of values with exactly these bits in the same batch, else 0; for `function`.
lac_status lac_factor_matches(lac_context *ctx, const char *function, const lac_factor *factor, const lac_array *values,
                              int *matches);

/// Refuse an array that does not lie where the context's arrays lie, or that is spread over ranks.
lac_status lac_solver_require_here(lac_context *ctx, const char *function, const lac_array *array);
/// The same, and a context whose backend has the kernels of iterative solvers.
lac_status lac_solver_require_iterative(lac_context *ctx, const char *function, const lac_array *array);

/// Refuse a context that is not on the CPU, and an array that does not lie where the context's arrays lie.
lac_status lac_solver_require_cpu(lac_context *ctx, const char *function, const lac_array *array);

/// The name of the ordering that was taken.
const char *lac_finding_ordering(const lac_finding *finding, const lac_solver_core *core);

double lac_solver_seconds(void);  // of a clock that only goes forward

#endif
