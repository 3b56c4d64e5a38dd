// SPDX-License-Identifier: Apache-2.0
/// @file solver_impl.h
/// The inside of solvers and factors, and the one table that everything fills which solves.
///
/// A *kind* of solver is a lac_solver_table, found by its name (registry.c): direct methods, engines, Krylov methods,
/// preconditioners and the automatic choice alike. The rooms adapt what they have in common to it, once for each
/// family:
///
///     direct/        methods on one matrix in host memory       direct.c
///     krylov/        iterations on linear maps                  krylov_solver.c
///     precondition/  approximate inverses                       precondition.c
///     auto/          the choice among them                      auto.c
///     travel.c       any of them that works in host memory, for arrays that lie elsewhere
///
/// Who holds whom: a solver holds its core and the factors it keeps; a factor holds the core it was made by; a core
/// holds the pattern, the cores of other kinds that it works with, and solvers of larger patterns made of it. So there
/// are no cycles.

#ifndef LACUNA_SOLVERS_SOLVER_IMPL_H
#define LACUNA_SOLVERS_SOLVER_IMPL_H

#include <pthread.h>

#include "core/array_impl.h"
#include "core/sized.h"
#include "lacuna/solver.h"
#include "solvers/linear.h"

enum { LAC_REASON_SIZE = 400, LAC_WARNING_SIZE = 600, LAC_KIND_NAMES = 640 };

typedef struct lac_solver_core lac_solver_core;
typedef struct lac_extension lac_extension;

// -- kinds -----------------------------------------------------------------------------------------------------------

/// What a kind takes, what its factors are like, and which options it reads (acting.c).
enum {
  LAC_TAKES_RECTANGLES = 1 << 0,  // matrices that are not square
  LAC_TAKES_PRODUCTS = 1 << 1,    // linear maps that are known by their products alone
  LAC_ITERATES = 1 << 2,          // solves go on until a tolerance is met
  LAC_APPROXIMATES = 1 << 3,      // a solve applies an approximate inverse once
  LAC_VARIES = 1 << 4,  // solves are another map each time: flexible methods alone may be preconditioned by it
  LAC_KEEPS_HERMITIAN =
      1 << 5,              // Hermitian positive definite where the matrix is: CG and MINRES may be preconditioned by it
  LAC_COPIES = 1 << 6,     // a factor keeps a copy of its values; others share the array where the library owns it
  LAC_IS_SEED = 1 << 7,    // the last factor stays with its solver whatever its size: others are refreshed from it
  LAC_DELEGATES = 1 << 8,  // a factor of another kind does the work, and holds the values
  LAC_READS_ORDERING = 1 << 9,
  LAC_READS_PIVOTING = 1 << 10,   // pivot_tolerance
  LAC_READS_SINGULAR = 1 << 11,   // accept_singular
  LAC_READS_ITERATION = 1 << 12,  // lac_iteration, and which preconditioner
  LAC_READS_RESTART = 1 << 13,
  LAC_READS_OMEGA = 1 << 14,
  LAC_READS_BLOCK = 1 << 15,
  LAC_READS_DEGREE = 1 << 16,
  LAC_READS_MULTIGRID = 1 << 17,  // the numbers and the hints of multigrid
  LAC_READS_ANYWHERE = 1 << 18,  // reads indices where they are, and asks by itself for those that it reads on the host
  LAC_DIRECT_FLAGS = LAC_COPIES | LAC_KEEPS_HERMITIAN | LAC_READS_SINGULAR  // of every direct method and engine
};

/// One solve: op(A) x = b, b and x [*batch, n, k]. Shapes have been checked.
typedef struct lac_solve_job {
  lac_form form;
  bool is_derivative;      // held to the tolerance of derivatives
  bool only_reports;       // a tolerance that is not met is reported, and no error
  bool wants_residual;     // what the kind does not measure is measured
  const lac_batch *batch;  // of values, b and x
  const lac_array *b;
  const lac_array *x0;  // where to start, or x itself; NULL: zero
  lac_array *x;
  int64_t judged_from;                  // rows of x from here on must have digits that are certain; LAC_UNJUDGED: none
  const struct lac_onlooker *onlooker;  // of an iteration (krylov.h); or NULL
  int64_t spent;                        // iterations before this job that count with it (krylov.h)
} lac_solve_job;

enum { LAC_UNJUDGED = -1 };  // of lac_solve_job.judged_from: the caller judges by itself, or any solution will do

/// Not measured: whoever wants to know computes the residual (lac_factor_iterate).
static const double LAC_UNMEASURED = -1;

/// A kind. A core has what depends on the pattern and options alone, a factor what depends on values; `part` of each
/// belongs to the kind. Factors are immutable once made, and may be used by several threads, each with a context of its
/// own.
typedef struct lac_solver_table {
  const char *name;
  unsigned flags;
  const void *method;  // the table of the family that it is made of: lac_direct_table, lac_krylov_table, ...

  /// Refuse options and patterns that do not fit, and make core->part.
  lac_status (*analyse)(lac_context *ctx, lac_solver_core *core);
  void (*forget)(lac_solver_core *core);  // core->part may be NULL
  /// What is known before there are values; the report has the counts, the times and core->why.
  void (*foresee)(const lac_solver_core *core, lac_report *report);
  /// Whether the kind `table` can work for a core where the context's arrays lie; else they travel to the host. NULL:
  /// everywhere.
  bool (*is_here)(const lac_context *ctx, const struct lac_solver_table *table, const lac_solver_core *core);

  /// Make f->part for the map `a`, say why, and warn. `like` is an earlier factor of this kind, of values of the same
  /// shape, whose structure may be used again; or NULL. Sets f->shortage where it fails for want of memory for its
  /// structure or its numbers.
  lac_status (*factor)(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f);
  /// The same by all choices of `like`, as far as they suit. NULL: `factor`.
  lac_status (*refresh)(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f);
  lac_status (*solve)(lac_context *ctx, const lac_factor *f, const lac_solve_job *job, lac_solve_report *report);

  // Optional. Where one of the first three is NULL, the partner serves.
  lac_status (*logdet)(lac_context *ctx, const lac_factor *f, lac_array *logabs, lac_array *sign);
  lac_status (*selected_inverse)(lac_context *ctx, const lac_factor *f, lac_array *values);
  lac_status (*rcond)(lac_context *ctx, const lac_factor *f, lac_array *rcond);
  /// The kind and the options of a factor of the same values that can do more or is safer; NULL: no such kind.
  const struct lac_solver_table *(*partner)(const lac_factor *f, lac_solver_options *options);
  const lac_factor *(*inner)(const lac_factor *f);  // the factor of another kind that does its work. Optional.
  lac_status (*describe)(lac_context *ctx, const lac_factor *f, char **text);  // by lac_alloc. Optional.

  /// The method, figures and bytes (f's partner not counted); the report has counts, times, reason and warning.
  void (*report)(const lac_factor *f, lac_report *report);
  void (*destroy)(lac_factor *f);  // f->part may be NULL
} lac_solver_table;

/// The kind of a name (NULL: "auto"), built in or an engine's, which is loaded where it is not yet; LAC_ERR_ARG with a
/// list of names for an unknown one, LAC_ERR_UNSUPPORTED for an engine that is not here. For `function`.
lac_status lac_kind_find(lac_context *ctx, const char *function, const char *name, const lac_solver_table **out);

/// The same for a preconditioner; NULL where it is left open (NULL or "auto").
lac_status lac_kind_of_preconditioner(lac_context *ctx, const char *function, const char *name,
                                      const lac_solver_table **out);

/// The names of all kinds that have one of these flags, those of engines too, as a list.
const char *lac_kind_names(unsigned flags, char text[LAC_KIND_NAMES]);

/// The kind of a name that is built in; NULL: none has it.
const lac_solver_table *lac_kind_built_in(const char *name);

/// The kind of a name that an engine brings, which is loaded where it is not yet; NULL where no engine has that name,
/// LAC_ERR_UNSUPPORTED where the engine cannot be loaded. For `function`.
lac_status lac_engine_kind(lac_context *ctx, const char *function, const char *name, const lac_solver_table **out);

/// The names of kinds that engines may bring, i from 0; NULL: there are no more.
const char *lac_engine_name(int i);
unsigned lac_engine_flags(int i);  // of that kind

/// The kind of direct factors that an engine makes where arrays of a space lie; NULL: none does, or it is the host.
const lac_solver_table *lac_engine_on_device(const lac_space *space);

// -- cores -----------------------------------------------------------------------------------------------------------

typedef struct lac_counts {
  _Atomic int64_t factorisations, reuses;
  _Atomic int64_t setups, refreshes;  // of preconditioners
} lac_counts;

/// What a solver and its factors share.
struct lac_solver_core {
  lac_object object;
  const lac_solver_table *table;
  int64_t rows, cols;
  lac_pattern *pattern;        // of single entries. NULL: the map is known by its products alone
  lac_pattern *blocks;         // what a solver was made of, where that has blocks; NULL: `pattern`
  lac_map *entries;            // from the numbers of its values to the slots of `pattern`
  lac_solver_options options;  // whose arrays and factor are held
  void *part;                  // the kind's own
  double seconds;              // that `analyse` took, those of cores that it made for itself included
  bool is_counted;             // it was made in the analysis of the core that it works for, which has its seconds too
  char why[LAC_REASON_SIZE];   // this kind
  lac_counts *counts;          // own_counts, or those of the core that this one works for, which outlives it
  lac_counts own_counts;
  pthread_mutex_t lock;       // of what follows
  lac_extension *extensions;  // solvers of larger patterns (extension.h), each held
  lac_solver_core *inner;     // cores of other kinds for the same pattern, chained by `next`; held
  lac_solver_core *next;
  lac_solve_report last;  // of the last solve by one of its factors
  lac_solver_core *host;  // the same kind with options in host memory, where arrays travel (travel.c); held
};

/// The core of a kind for a pattern. `why` is said in reports.
lac_status lac_core_create(lac_context *ctx, const lac_solver_table *table, const lac_pattern *pattern,
                           const lac_solver_options *options, const char *why, lac_solver_core **out);

/// Values as they come through a door: [*batch, nnz], and of a pattern with blocks, whose values are [*batch, nnz, br,
/// bc], their numbers in the same order, [*batch, nnz br bc]. For `function`; to be destroyed by the caller.
lac_status lac_core_flatten(lac_context *ctx, const char *function, const lac_solver_core *core,
                            const lac_array *values, lac_array **out);

/// Such numbers in the slots of core->pattern.
lac_status lac_core_sort(lac_context *ctx, const lac_solver_core *core, const lac_array *flat, lac_array **out);

/// The pattern that a solver was made of.
static inline const lac_pattern *lac_core_given(const lac_solver_core *core) {
  return core->blocks ? core->blocks : core->pattern;
}

/// The core of another kind that `core` works with: same pattern and options, made when first asked for; borrowed. It
/// counts for `core`.
lac_status lac_core_inner(lac_context *ctx, lac_solver_core *core, const lac_solver_table *table, const char *why,
                          lac_solver_core **out);

/// The core of a kind for a map that is known by its products alone.
lac_status lac_core_of_products(lac_context *ctx, const lac_solver_table *table, const lac_linear *a,
                                const lac_solver_options *options, lac_solver_core **out);

/// Hold what options point to, and let it go.
void lac_options_hold(const lac_solver_options *options);
void lac_options_let_go(const lac_solver_options *options);

/// Let go of all extensions.
void lac_extensions_drop(lac_solver_core *core);

// -- solvers and factors ---------------------------------------------------------------------------------------------

enum { LAC_KEPT_FACTORS = 8 };  // at most
struct lac_solver {
  lac_object object;
  lac_solver_core *core;
  pthread_mutex_t lock;  // of what follows
  lac_factor *kept;      // chained by `next`, most recently used first; each is held
  int kept_count;
  int64_t kept_bytes;  // of them and of the partners they had when last counted
};

/// Which values these are: memory that the library owns is known by its storage and version, and all by their bits.
typedef struct lac_identity {
  int64_t storage, version;  // storage 0: memory that the library does not own
  bool has_glance, has_hash;
  uint64_t glance;  // of some of the bits
  uint64_t hash[2];
} lac_identity;

/// For want of what memory a factor failed: not what it works with besides, but its own structure and numbers.
typedef enum lac_shortage {
  LAC_SHORT_OF_NOTHING,
  LAC_SHORT_FORESEEN,  // it was refused, not to begin what there is no memory for
  LAC_SHORT_MET        // there was none on the way
} lac_shortage;

struct lac_factor {
  lac_object object;
  lac_solver_core *core;
  const lac_solver_table *table;  // the core's, or the one that travels for it
  lac_meta meta;                  // of the values
  int64_t items;                  // how many matrices
  lac_array *values;       // [*batch, nnz], shared or a copy; NULL: they are elsewhere, or there are products alone
  bool shares_values;      // they are stale once the memory is written to
  int64_t version;         // of that memory when it was looked at
  lac_identity identity;   // does not change once the factor is handed out
  lac_identity late;       // with a hash that was asked for later; under the lock
  const lac_space *space;  // where the arrays lie that it takes
  void *part;              // the kind's own
  lac_shortage shortage;   // by which it failed
  const char *function;    // that was called for it, as errors name it
  double seconds;
  char reason[LAC_REASON_SIZE];
  char warning[LAC_WARNING_SIZE];
  lac_factor *next;  // in the chain of the solver that keeps it
  pthread_mutex_t lock;
  _Atomic(lac_factor *) partner;  // made under the lock where this factor cannot serve; held
  char *text;                     // of lac_factor_describe, made under the lock when first asked for
  _Atomic int64_t judged_from;    // the first unknown that least squares judge (ops/solves/rank.c); 0: not yet known
};

/// The kinds of objects, by which an operator distinguishes its objects.
extern const lac_kind lac_solver_kind, lac_factor_kind;

static inline int64_t lac_factor_rows(const lac_factor *factor) { return factor->core->rows; }

/// The core of an object that is a solver or a factor.
static inline lac_solver_core *lac_core_of(const void *object) {
  bool is_factor = ((const lac_object *)object)->kind == &lac_factor_kind;
  return is_factor ? ((const lac_factor *)object)->core : ((const lac_solver *)object)->core;
}

/// A factor by a core's kind, of a linear map; keeps nothing. `like` may be NULL; `by_choices`: all choices of `like`
/// are taken over where they suit. *shortage (may be NULL): of memory, where it failed.
lac_status lac_factor_make(lac_context *ctx, const char *function, lac_solver_core *core, const lac_linear *a,
                           const lac_factor *like, bool by_choices, lac_shortage *shortage, lac_factor **out);

/// The same in the context's own memory, whatever `is_here` says: a kind that cannot work there fails by itself.
lac_status lac_factor_make_here(lac_context *ctx, const char *function, lac_solver_core *core, const lac_linear *a,
                                const lac_factor *like, bool by_choices, lac_shortage *shortage, lac_factor **out);

/// A factor of a map that is known by its products alone, by the kind that options ask for, settled by
/// lac_products_take_options.
lac_status lac_factor_of_products(lac_context *ctx, const char *function, const lac_solver_options *options,
                                  const lac_linear *a, lac_dtype dtype, lac_factor **out);

/// Share the values of the factor that does the work.
void lac_factor_share(lac_factor *factor, const lac_factor *taken);

/// Add to the reason of a factor.
void lac_factor_say(lac_factor *factor, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// " (matrix 3 of the batch)", or nothing for a single one.
const char *lac_factor_item_text(const lac_factor *factor, int64_t item, char text[64]);

/// The factor that does the work in the end: itself, or what an automatic choice took, what travelled.
const lac_factor *lac_factor_innermost(const lac_factor *factor);

/// Whether others are refreshed from it (LAC_IS_SEED).
bool lac_factor_is_seed(const lac_factor *factor);

/// Whether solves by a factor are another linear map each time, or none: inner iterations, K-cycles.
bool lac_factor_varies(const lac_factor *factor);

/// lac_factor_solve with more to say; the batch of the job is found here.
lac_status lac_factor_solve_job(lac_context *ctx, const lac_factor *factor, lac_solve_job job);

/// The report of a solve, which the context keeps for later questions.
static inline void lac_solve_tell(lac_context *ctx, const lac_solve_report *report) {
  ctx->solves++;
  ctx->last_solve = *report;
}

/// Name in a report what solved.
void lac_solve_name(const lac_factor *factor, lac_solve_report *report);

/// Measure what a kind left unmeasured, by a factor that holds its values.
lac_status lac_factor_measure(lac_context *ctx, const lac_factor *factor, const lac_solve_job *job,
                              lac_solve_report *report);

/// lac_solver_factor for the library's own calls: errors of values that earlier calls left are not raised here.
lac_status lac_solver_take_factor(lac_context *ctx, const lac_solver *solver, const lac_array *values,
                                  lac_factor **out);

/// A solver by options that lac_options_take has settled (options.h).
lac_status lac_solver_make(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                           lac_solver **out);

// -- what fits a factor (fit.c) --------------------------------------------------------------------------------------

/// Refuse an array, the parameter `name` of `function`, that does not lie where the context's arrays lie, or that is
/// spread over ranks.
lac_status lac_solver_require_here(lac_context *ctx, const char *function, const char *name, const lac_array *array);

/// Refuse a factor that takes arrays of other memory than the context's, for `function`.
lac_status lac_factor_require_here(lac_context *ctx, const char *function, const lac_factor *factor);

/// Equal shapes but for leading dimensions of size 1 before the last `core` ones: those broadcast alike.
bool lac_factor_same_shape(const lac_meta *a, const lac_meta *b, int core);

/// The batch of values, b and x of a factor; refuse what does not fit, for `function`.
lac_status lac_factor_fit(lac_context *ctx, const char *function, const lac_factor *factor, lac_form form,
                          const lac_array *b, const lac_array *x, lac_batch *batch);

/// Refuse an array that does not hold one number of `dtype` for each matrix of a factor, for `function`.
lac_status lac_factor_fit_batch(lac_context *ctx, const char *function, const lac_factor *factor,
                                const lac_array *array, lac_dtype dtype, const char *name);

// -- partners (partner.c) --------------------------------------------------------------------------------------------

/// A factor of the same values by a kind that can do more, or that is safer: made once, kept by the factor, and living
/// as long. NULL where there is none. *shortage (may be NULL) as of lac_factor_make.
lac_status lac_factor_partner(lac_context *ctx, const lac_factor *factor, lac_shortage *shortage,
                              const lac_factor **out);

/// The partner of all but direct kinds: the choice among direct ones.
const lac_solver_table *lac_partner_direct(const lac_factor *factor, lac_solver_options *options);

// -- reports (report.c) ----------------------------------------------------------------------------------------------

/// The report of a factor; of NULL, one whose texts are "".
lac_report lac_factor_reported(const lac_factor *factor);
lac_report lac_report_empty(void);

/// The structs of reports, by which lac_sized_check refuses and lac_sized_give fills those of a caller.
#define LAC_REPORT LAC_SIZED(lac_report, iterations)
#define LAC_SOLVE_REPORT LAC_SIZED(lac_solve_report, warning)

/// Refuse a start x0 (may be NULL) that does not fit x, for `function`.
lac_status lac_solve_check_start(lac_context *ctx, const char *function, const lac_array *x0, const lac_array *x);

/// Bytes that a factor holds by itself, and those of its partners, as far as they are made; and what one of `items`
/// matrices holds whose parts have so many bytes.
int64_t lac_factor_bytes(const lac_factor *factor);
int64_t lac_factor_partner_bytes(const lac_factor *factor);
int64_t lac_factor_bytes_of(const lac_solver_core *core, lac_dtype dtype, int64_t items, int64_t part_bytes);

// -- what the values are like (surveyed.c) ---------------------------------------------------------------------------

/// A look at the values of a matrix.
typedef struct lac_surveyed {
  lac_survey survey;
  lac_array *largest;  // [items, 1, 1], f64: the largest size in each matrix
} lac_surveyed;

/// By what is known of `a`, or by a look now; refuse values that are not finite. End with lac_surveyed_drop, whatever
/// comes of it.
lac_status lac_surveyed_make(lac_context *ctx, const lac_factor *f, const lac_linear *a, lac_surveyed *out);
void lac_surveyed_drop(lac_surveyed *seen);

/// Take the user's word for it that the values are Hermitian.
void lac_surveyed_assume(const lac_factor *f, lac_survey *survey);

/// A Hermitian matrix is its own adjoint: then A^H and A^T are A and conj(A), whose rows lie ready.
static inline lac_form lac_form_of(lac_form form, bool is_hermitian) {
  if (!is_hermitian || !lac_form_transposes(form)) return form;
  return lac_form_conjugates(form) ? LAC_PLAIN : LAC_CONJUGATED;
}

// -- which values (identity.c) ---------------------------------------------------------------------------------------

/// What is known at no cost; and the bits besides, in one pass where the values lie. First some of the bits where that
/// costs much less, which tell most values apart, or all of them at once.
lac_identity lac_identity_quick(const lac_array *values);
lac_status lac_identity_glance(lac_context *ctx, const lac_array *values, lac_identity *identity);
lac_status lac_identity_hash(lac_context *ctx, const lac_array *values, lac_identity *identity);

/// Whether both are of the same values: false where that takes hashes and one of them has no hash.
bool lac_identity_same(const lac_identity *a, const lac_identity *b);

/// The bits of the values of a factor, which are read when first asked for.
lac_status lac_factor_bits(lac_context *ctx, lac_factor *factor, lac_identity *out);

/// Note which values a factor was made of: what is known of them (NULL: nothing), and their hash where the factor does
/// not hold them.
lac_status lac_factor_identify(lac_context *ctx, lac_factor *factor, const lac_array *values,
                               const lac_identity *known);

/// Whether the values are those that were factored; refuse a factor whose values have changed since, for `function`.
bool lac_factor_is_fresh(const lac_factor *factor);
lac_status lac_factor_require_fresh(lac_context *ctx, const char *function, const lac_factor *factor);

/// The values, if they are fresh; retained for the caller.
lac_status lac_factor_values(lac_context *ctx, const lac_factor *factor, lac_array **out);

/// 1 when the factor was made of values with exactly these bits in the same batch, else 0; for `function`.
lac_status lac_factor_matches(lac_context *ctx, const char *function, const lac_factor *factor, const lac_array *values,
                              int *matches);

// -- kinds that work in host memory, for arrays that lie elsewhere (travel.c) ----------------------------------------

extern const lac_solver_table lac_travel_table;
static inline bool lac_context_is_host(const lac_context *ctx) { return ctx->space->is_host; }

#endif
