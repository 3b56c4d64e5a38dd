// SPDX-License-Identifier: Apache-2.0
// MUMPS with one kind of numbers, made of PARTS times REAL; mumps.c says what is done. Included once for each, and
// without a guard. The lock is held in all of it. MUMPS counts its parameters from 1: icntl[6] is ICNTL(7) of its
// manual.

static STRUC *FN(mumps_open)(int symmetry) {
  STRUC *id = lac_calloc(1, sizeof *id);
  if (!id) return NULL;
  id->job = -1;
  id->par = 1;
  id->sym = symmetry;
  id->comm_fortran = MUMPS_ONE_PROCESS;
  CALL(id);
  id->icntl[0] = id->icntl[1] = id->icntl[2] = -1;  // no output
  id->icntl[3] = 0;
  return id;
}

static void FN(mumps_close)(void *instance) {
  STRUC *id = instance;
  id->job = -2;
  CALL(id);
  lac_free(id);
}

// Which of MUMPS' kinds the values are of.
static int FN(mumps_kind)(const lac_structure *s, const REAL *a) {
  bool is_positive = PARTS == 1;
  if (!s->is_symmetric) return MUMPS_UNSYMMETRIC;
  for (int32_t i = 0; i < s->n; i++) {
    bool has_diagonal = false;
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      for (int part = 0; part < PARTS; part++) {
        if (a[PARTS * p + part] != a[PARTS * s->t_slots[p] + part]) return MUMPS_UNSYMMETRIC;
      }
      has_diagonal |= s->columns[p] == i && a[PARTS * p] > 0;
    }
    is_positive = is_positive && has_diagonal;
  }
  return is_positive ? MUMPS_POSITIVE : MUMPS_SYMMETRIC;
}

// Counts that are too large come as millions, negative.
static int64_t FN(mumps_count)(MUMPS_INT count) { return count < 0 ? -(int64_t)1000000 * count : count; }

static void FN(mumps_take)(const mumps_part *a, const STRUC *id, mumps_numeric *f) {
  double re = id->rinfog[11], im = PARTS == 2 ? id->rinfog[12] : 0;
  lac_determinant det = lac_determinant_one();
  lac_determinant_times(&det, re, im);
  det.exponent += id->infog[33];
  f->det = lac_determinant_log(&det);
  f->finding.ordering = a->ordering ? a->ordering : mumps_ordering(id->infog[6]);
  f->finding.nnz = FN(mumps_count)(id->infog[28]);
  f->finding.bytes = FN(mumps_count)(id->infog[8]) * (int64_t)(PARTS * sizeof(REAL)) +
                     FN(mumps_count)(id->infog[9]) * (int64_t)sizeof(MUMPS_INT);
  f->finding.work_bytes = (int64_t)id->infog[21] * 1000000 - f->finding.bytes;
  if (f->finding.work_bytes < 0) f->finding.work_bytes = 0;
  f->finding.flops = id->rinfog[2];
}

// The numeric factorisation, with more memory as long as MUMPS finds that it guessed too little.
static void FN(mumps_run)(STRUC *id, int job) {
  id->job = job;
  CALL(id);
  for (int i = 0; i < MUMPS_GROWTHS && (id->infog[0] == -8 || id->infog[0] == -9); i++) {
    id->icntl[13] *= 2;
    id->job = 2;
    CALL(id);
  }
}

// Where the factorisation stopped at a zero pivot: once more, with such pivots set aside, for the name of the first.
static int64_t FN(mumps_null_row)(STRUC *id) {
  id->icntl[23] = 1;
  id->icntl[32] = 0;
  FN(mumps_run)(id, 2);
  return id->infog[0] >= 0 && id->infog[27] > 0 && id->pivnul_list ? (int64_t)id->pivnul_list[0] - 1 : -1;
}

static lac_status FN(mumps_try)(const lac_direct_job *job, int kind, const mumps_entries *e, void *values,
                                mumps_numeric *f, lac_fault *fault) {
  double tolerance = job->options->pivot_tolerance * job->options->pivot_tolerance;  // MUMPS' own at our default
  STRUC *id = FN(mumps_open)(kind);
  if (!id) return mumps_problem(-13, 0, fault);
  f->instance = id;
  if (id->infog[0] < 0) return mumps_problem(id->infog[0], id->infog[1], fault);
  id->n = job->structure->n;
  id->nnz = e->count;
  id->irn = e->rows;
  id->jcn = e->columns;
  id->a = values;
  id->perm_in = ((const mumps_part *)job->part)->place;
  id->icntl[6] = id->perm_in ? 1 : 7;
  id->icntl[13] = 30;
  id->icntl[32] = 1;  // the determinant
  if (kind != MUMPS_POSITIVE) id->cntl[0] = (REAL)(kind == MUMPS_SYMMETRIC && tolerance > 0.5 ? 0.5 : tolerance);
  FN(mumps_run)(id, 4);
  int64_t code = id->infog[0], detail = id->infog[1];
  if (code == -10 && kind != MUMPS_POSITIVE) detail = FN(mumps_null_row)(id);
  id->irn = id->jcn = id->perm_in = NULL;
  id->a = NULL;
  return code < 0 ? mumps_problem(code, detail, fault) : LAC_OK;
}

static lac_status FN(mumps_factor)(const lac_direct_job *job, mumps_numeric *f, lac_fault *fault) {
  int kind = FN(mumps_kind)(job->structure, job->values);
  mumps_entries e;
  bool is_whole = mumps_entries_open(job->structure, kind != MUMPS_UNSYMMETRIC, &e);
  void *values = (void *)job->values, *own = NULL;  // MUMPS reads them only
  lac_status status = LAC_OK;

  if (is_whole && e.slots) {
    own = values = lac_alloc((size_t)e.count * PARTS * sizeof(REAL));
    if (values) plugin_gather(e.count, PARTS * sizeof(REAL), e.slots, job->values, values);
  }
  if (is_whole && values) {
    status = FN(mumps_try)(job, kind, &e, values, f, fault);
    bool is_definite = status == LAC_OK && ((const STRUC *)f->instance)->infog[11] == 0;
    if (kind == MUMPS_POSITIVE && !is_definite && status != LAC_ERR_MEMORY) {
      if (f->instance) FN(mumps_close)(f->instance);
      f->instance = NULL;
      status = FN(mumps_try)(job, MUMPS_SYMMETRIC, &e, values, f, fault);
    }
  } else {
    status = mumps_problem(-13, 0, fault);
  }
  if (status == LAC_OK) FN(mumps_take)(job->part, f->instance, f);
  mumps_entries_close(&e);
  lac_free(own);
  return status;
}

// In place, by columns. The instance changes while it solves, under the lock, and is as before when it has.
static lac_status FN(mumps_solve)(const mumps_numeric *f, lac_form form, int width, void *x, lac_fault *fault) {
  STRUC *id = f->instance;
  id->rhs = x;
  id->nrhs = width;
  id->lrhs = id->n;
  id->icntl[8] = form == LAC_PLAIN;
  id->job = 3;
  CALL(id);
  id->rhs = NULL;
  return id->infog[0] < 0 ? mumps_problem(id->infog[0], id->infog[1], fault) : LAC_OK;
}

#undef STRUC
#undef CALL
#undef REAL
#undef PARTS
#undef FN
