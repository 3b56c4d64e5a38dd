// SPDX-License-Identifier: Apache-2.0
/// @file amgcl.cpp
/// A peer: AMGCL's CG or GMRES with smoothed aggregation and SPAI-0 on a system in a file, on the threads of OpenMP;
/// its hierarchy in f64 or, with -DSINGLE, in f32.
///
///     amgcl FILE RTOL SECONDS [STRENGTH [cg|gmres]]
///
/// Prints a line for each repetition: set-up seconds, solve seconds, iterations, |b - A x| / |b|.

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <amgcl/adapter/zero_copy.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/backend/builtin.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/cg.hpp>
#include <amgcl/solver/gmres.hpp>

#ifdef SINGLE
#define HIERARCHY float
#define MATRIX *a  // converted
#else
#define HIERARCHY double
#define MATRIX a  // shared
#endif

typedef amgcl::backend::builtin<double> Outer;
typedef amgcl::backend::builtin<HIERARCHY> Inner;
typedef amgcl::amg<Inner, amgcl::coarsening::smoothed_aggregation, amgcl::relaxation::spai0> Multigrid;
typedef amgcl::solver::cg<Outer> CG;
typedef amgcl::solver::gmres<Outer> GMRES;

struct Problem {
  int64_t n, nnz;
  std::vector<ptrdiff_t> offsets, columns;  // as AMGCL wants them, so that it need not copy
  std::vector<double> values, b, near_null;  // the last (n, m) by rows, where m is not 0
  int64_t m, block;                          // vectors, and unknowns of a node
};

template <class T, class U>
static bool read(FILE *file, std::vector<U> &to, int64_t count) {
  std::vector<T> from((size_t)count);
  bool good = fread(from.data(), sizeof(T), from.size(), file) == from.size();
  to.assign(from.begin(), from.end());
  return good;
}

/// {n, nnz: int64; offsets, columns: int32; values, b: double}, and perhaps {m, block: int64; vectors: double}
static bool read(const char *path, Problem &p) {
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  bool good = fread(&p.n, 8, 1, file) == 1 && fread(&p.nnz, 8, 1, file) == 1 &&
              read<int32_t>(file, p.offsets, p.n + 1) && read<int32_t>(file, p.columns, p.nnz) &&
              read<double>(file, p.values, p.nnz) && read<double>(file, p.b, p.n);
  if (good && fread(&p.m, 8, 1, file) == 1) {
    good = fread(&p.block, 8, 1, file) == 1 && read<double>(file, p.near_null, p.n * p.m);
  } else {
    p.m = 0, p.block = 1;
  }
  fclose(file);
  return good;
}

static double residual(const Problem &p, const std::vector<double> &x) {
  double r2 = 0, b2 = 0;
  for (int64_t i = 0; i < p.n; i++) {
    double r = p.b[i];
    for (ptrdiff_t k = p.offsets[i]; k < p.offsets[i + 1]; k++) r -= p.values[k] * x[p.columns[k]];
    r2 += r * r, b2 += p.b[i] * p.b[i];
  }
  return std::sqrt(r2 / b2);
}

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Krylov>
static typename Krylov::params settings() {
  return {};
}
template <>
GMRES::params settings<GMRES>() {
  GMRES::params out;
  out.M = 60;
  return out;
}

/// One repetition from nothing; returns what it took in all.
template <class Krylov>
static double repeat(const Problem &p, double rtol, double strength) {
  Multigrid::params multigrid;
  multigrid.coarsening.aggr.eps_strong = (float)strength;
  multigrid.coarsening.aggr.block_size = (unsigned)p.block;
  multigrid.coarsening.nullspace.cols = (int)p.m;
  multigrid.coarsening.nullspace.B.assign(p.near_null.begin(), p.near_null.end());
  typename Krylov::params iteration = settings<Krylov>();
  iteration.tol = rtol;
  iteration.maxiter = 1000;
  std::vector<double> x(p.b.size(), 0.0);
  auto a = amgcl::adapter::zero_copy((size_t)p.n, p.offsets.data(), p.columns.data(), p.values.data());
  double begin = now();
  Multigrid m(MATRIX, multigrid);
  Krylov krylov((size_t)p.n, iteration);
  double ready = now();
  auto ended = krylov(*a, m, p.b, x);
  double end = now();
  printf("%.6f %.6f %d %.3e\n", ready - begin, end - ready, (int)boost::get<0>(ended), residual(p, x));
  return end - begin;
}

int main(int argc, char **argv) {
  Problem p;
  if (argc < 4 || !read(argv[1], p)) return fprintf(stderr, "usage: amgcl FILE RTOL SECONDS [STRENGTH [cg|gmres]]\n"), 1;
  auto once = argc > 5 && std::string(argv[5]) == "gmres" ? repeat<GMRES> : repeat<CG>;
  double left = strtod(argv[3], nullptr);
  for (int i = 0; i < 1 || left > 0; i++)
    left -= once(p, strtod(argv[2], nullptr), argc > 4 ? strtod(argv[4], nullptr) : 0.08);
}
