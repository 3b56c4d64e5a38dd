// SPDX-License-Identifier: Apache-2.0
/// @file petsc.c
/// A peer: PETSc's CG on a system in a file, preconditioned as its options say (hypre BoomerAMG, GAMG), on as many
/// ranks as it is started on.
///
///     mpirun -n 2 petsc FILE RTOL SECONDS [-pc_type hypre ...]
///
/// Prints a line for each repetition until the time is over: set-up seconds, solve seconds, iterations, |b - A x| /
/// |b|. The matrix is assembled once; each repetition makes a new KSP, so that set-up is what new values on a new
/// pattern cost. The norm is the unpreconditioned one: PETSc's default stops too early. Near-null vectors in the file
/// are the matrix's.

#include <petscksp.h>
#include <stdint.h>
#include <stdio.h>

typedef struct problem {
  Mat a;
  Vec b, x, r;
} problem;

/// `count` items of `size` bytes at a place of a file.
static PetscErrorCode read_at(FILE *file, int64_t place, void *to, size_t size, size_t count) {
  PetscFunctionBeginUser;
  PetscCheck(fseek(file, (long)place, SEEK_SET) == 0 && fread(to, size, count, file) == count, PETSC_COMM_SELF,
             PETSC_ERR_FILE_READ, "the file is too short");
  PetscFunctionReturn(0);
}

/// {m, block: int64} at a place of a file; {0, 1} where it ends before.
static void read_near(FILE *file, int64_t place, int64_t near[2]) {
  if (fseek(file, (long)place, SEEK_SET) != 0 || fread(near, sizeof *near, 2, file) != 2) near[0] = 0, near[1] = 1;
}

/// The matrix gets the vectors (n, m) that lie by rows at a place of a file, made orthonormal.
static PetscErrorCode near_null_read(FILE *file, int64_t place, PetscInt first, const int64_t near[2], Mat a) {
  PetscInt rows, m = (PetscInt)near[0];
  PetscScalar *values;
  MatNullSpace space;
  Vec *vectors;

  PetscFunctionBeginUser;
  PetscCall(MatSetBlockSize(a, (PetscInt)near[1]));
  PetscCall(MatGetLocalSize(a, &rows, NULL));
  PetscCall(PetscMalloc2(rows * m, &values, m, &vectors));
  PetscCall(read_at(file, place + 8 * (int64_t)first * m, values, 8, (size_t)(rows * m)));
  for (PetscInt j = 0; j < m; j++) {
    PetscCall(MatCreateVecs(a, NULL, &vectors[j]));
    for (PetscInt i = 0; i < rows; i++) PetscCall(VecSetValue(vectors[j], first + i, values[i * m + j], INSERT_VALUES));
    PetscCall(VecAssemblyBegin(vectors[j]));
    PetscCall(VecAssemblyEnd(vectors[j]));
    for (PetscInt k = 0; k < j; k++) {
      PetscScalar along;
      PetscCall(VecDot(vectors[j], vectors[k], &along));
      PetscCall(VecAXPY(vectors[j], -along, vectors[k]));
    }
    PetscCall(VecNormalize(vectors[j], NULL));
  }
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, m, vectors, &space));
  PetscCall(MatSetNearNullSpace(a, space));
  PetscCall(MatNullSpaceDestroy(&space));
  for (PetscInt j = 0; j < m; j++) PetscCall(VecDestroy(&vectors[j]));
  PetscCall(PetscFree2(values, vectors));
  PetscFunctionReturn(0);
}

/// The rows of this rank of {n, nnz: int64; offsets, columns: int32; values, b: double}, and of {m, block: int64;
/// vectors: double} where they are there.
static PetscErrorCode problem_read(const char *path, problem *p) {
  FILE *file = fopen(path, "rb");
  int64_t head[2], near[2], at_columns, at_values, at_b, at_near;
  PetscInt rows = PETSC_DECIDE, n, first, count, *offsets, *columns;
  PetscScalar *values, *b;

  PetscFunctionBeginUser;
  PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "cannot read %s", path);
  PetscCall(read_at(file, 0, head, sizeof *head, 2));
  n = (PetscInt)head[0];
  at_near = (int64_t)sizeof head + 4 * (head[0] + 1) + 12 * head[1] + 8 * head[0];
  read_near(file, at_near, near);
  PetscCall(PetscSplitOwnershipBlock(PETSC_COMM_WORLD, (PetscInt)near[1], &rows, &n));
  PetscCallMPI(MPI_Scan(&rows, &first, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  first -= rows;
  at_columns = (int64_t)sizeof head + 4 * (head[0] + 1);
  at_values = at_columns + 4 * head[1];
  at_b = at_values + 8 * head[1];
  PetscCall(PetscMalloc2(rows + 1, &offsets, rows, &b));
  PetscCall(read_at(file, (int64_t)sizeof head + 4 * (int64_t)first, offsets, 4, (size_t)rows + 1));
  count = offsets[rows] - offsets[0];
  PetscCall(PetscMalloc2(count, &columns, count, &values));
  PetscCall(read_at(file, at_columns + 4 * (int64_t)offsets[0], columns, 4, (size_t)count));
  PetscCall(read_at(file, at_values + 8 * (int64_t)offsets[0], values, 8, (size_t)count));
  PetscCall(read_at(file, at_b + 8 * (int64_t)first, b, 8, (size_t)rows));
  for (PetscInt i = rows; i >= 0; i--) offsets[i] -= offsets[0];
  PetscCall(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, rows, rows, n, n, offsets, columns, values, &p->a));
  if (near[0] > 0) PetscCall(near_null_read(file, at_near + (int64_t)sizeof near, first, near, p->a));
  fclose(file);
  PetscCall(MatCreateVecs(p->a, &p->x, &p->b));
  PetscCall(VecDuplicate(p->b, &p->r));
  for (PetscInt i = 0; i < rows; i++) PetscCall(VecSetValue(p->b, first + i, b[i], INSERT_VALUES));
  PetscCall(VecAssemblyBegin(p->b));
  PetscCall(VecAssemblyEnd(p->b));
  PetscCall(PetscFree2(columns, values));
  PetscCall(PetscFree2(offsets, b));
  PetscFunctionReturn(0);
}

static PetscErrorCode residual(const problem *p, PetscReal *out) {
  PetscReal norm, whole;

  PetscFunctionBeginUser;
  PetscCall(MatMult(p->a, p->x, p->r));
  PetscCall(VecAYPX(p->r, -1, p->b));
  PetscCall(VecNorm(p->r, NORM_2, &norm));
  PetscCall(VecNorm(p->b, NORM_2, &whole));
  *out = norm / whole;
  PetscFunctionReturn(0);
}

/// One repetition from a new KSP; `seconds` gets what it took in all.
static PetscErrorCode repeat(const problem *p, PetscReal rtol, double *seconds) {
  KSP ksp;
  PetscInt iterations;
  PetscReal left;
  double begin, ready, end;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  begin = MPI_Wtime();
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, p->a, p->a));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, rtol, 0, PETSC_DEFAULT, 1000));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  ready = MPI_Wtime();
  PetscCall(KSPSolve(ksp, p->b, p->x));
  end = MPI_Wtime();
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(residual(p, &left));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.6f %.6f %d %.3e\n", ready - begin, end - ready, (int)iterations, left));
  PetscCall(KSPDestroy(&ksp));
  *seconds = end - begin;
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  problem p = {0};
  double left, seconds = 0;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCheck(argc > 3, PETSC_COMM_SELF, PETSC_ERR_USER, "usage: petsc FILE RTOL SECONDS [options]");
  PetscCall(problem_read(argv[1], &p));
  left = strtod(argv[3], NULL);
  for (int i = 0; i < 1 || left > 0; i++, left -= seconds) {
    PetscCall(repeat(&p, strtod(argv[2], NULL), &seconds));
    PetscCallMPI(MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, PETSC_COMM_WORLD));
  }
  PetscCall(MatDestroy(&p.a));
  PetscCall(VecDestroy(&p.b));
  PetscCall(VecDestroy(&p.x));
  PetscCall(VecDestroy(&p.r));
  return PetscFinalize();
}
