// SPDX-License-Identifier: BSD-2-Clause
// LAPLACE and SOR: a square of numbers with fixed edges, in which each becomes what its neighbours
// are. Each node has the rows of a band, whose home it is. At a barrier it gives up the two rows
// beside the band, and fetches them again.
#include <vector>

#include "dsm_program.h"

namespace exrnic {

namespace {

size_t GridBytes(const DsmSizes& sizes) {
  return (size_t{sizes.size} * sizes.size * sizeof(double) + 4095) / 4096 * 4096;
}

void SetEdges(double* grid, unsigned n, DsmPart rows) {
  for (unsigned row = rows.begin; row < rows.end; ++row) {
    for (unsigned column = 0; column < n; ++column) {
      double* const at = grid + size_t{row} * n + column;
      *at = row == 0 ? 100.0 : row == n - 1 ? -20.0 : column == 0 ? row * 0.5 : 0.0;
    }
  }
}

// The rows within the edges.
DsmPart Within(DsmPart rows, unsigned n) {
  return {rows.begin == 0 ? 1 : rows.begin, rows.end == n ? n - 1 : rows.end};
}

void LaplaceStep(const double* from, double* to, unsigned n, DsmPart rows) {
  for (unsigned row = rows.begin; row < rows.end; ++row) {
    const double* const at = from + size_t{row} * n;
    double* const out = to + size_t{row} * n;
    for (unsigned column = 1; column + 1 < n; ++column) {
      out[column] =
          (at[column - 1] + at[column + 1] + at[column - size_t{n}] + at[column + size_t{n}]) / 4;
    }
  }
}

void SorStep(double* grid, unsigned n, DsmPart rows, unsigned colour) {
  constexpr double kOver = 1.5;
  for (unsigned row = rows.begin; row < rows.end; ++row) {
    double* const at = grid + size_t{row} * n;
    for (unsigned column = 1 + (row + colour) % 2; column + 1 < n; column += 2) {
      const double around =
          at[column - 1] + at[column + 1] + at[column - size_t{n}] + at[column + size_t{n}];
      at[column] += kOver * (around / 4 - at[column]);
    }
  }
}

double* AllocateGrid(unsigned n) {
  const size_t row = size_t{n} * sizeof(double);
  return reinterpret_cast<double*>(jia_alloc2(n * row, RowsOfNode(n) * row));
}

size_t LaplaceArea(const DsmSizes& sizes) { return 2 * GridBytes(sizes); }

uint64_t RunLaplace(const DsmSizes& sizes, DsmTimer* timer) {
  const unsigned n = sizes.size;
  double* from = AllocateGrid(n);
  double* to = AllocateGrid(n);
  const DsmPart own = OwnPart(n);
  SetEdges(from, n, own);
  SetEdges(to, n, own);
  timer->Begin();
  for (unsigned i = 0; i < sizes.iterations; ++i) {
    LaplaceStep(from, to, n, Within(own, n));
    jia_barrier();
    std::swap(from, to);
  }
  timer->End();
  const size_t count = size_t{n} * n;
  if (sizes.checked && jiapid == 0) {
    std::vector<double> one(count), other(count);
    SetEdges(one.data(), n, {0, n});
    other = one;
    for (unsigned i = 0; i < sizes.iterations; ++i) {
      LaplaceStep(one.data(), other.data(), n, {1, n - 1});
      one.swap(other);
    }
    CompareDsm(from, one.data(), count, "laplace");
  }
  return DsmDigest(from, n, own);
}

uint64_t RunSor(const DsmSizes& sizes, DsmTimer* timer) {
  const unsigned n = sizes.size;
  double* const grid = AllocateGrid(n);
  const DsmPart own = OwnPart(n);
  SetEdges(grid, n, own);
  timer->Begin();
  for (unsigned i = 0; i < sizes.iterations; ++i) {
    for (unsigned colour = 0; colour < 2; ++colour) {
      SorStep(grid, n, Within(own, n), colour);
      jia_barrier();
    }
  }
  timer->End();
  const size_t count = size_t{n} * n;
  if (sizes.checked && jiapid == 0) {
    std::vector<double> one(count);
    SetEdges(one.data(), n, {0, n});
    for (unsigned i = 0; i < sizes.iterations; ++i)
      for (unsigned colour = 0; colour < 2; ++colour) SorStep(one.data(), n, {1, n - 1}, colour);
    CompareDsm(grid, one.data(), count, "sor");
  }
  return DsmDigest(grid, n, own);
}

}  // namespace

const DsmProgram kLaplaceProgram = {"laplace",
                                    "numbers in a square become the mean of their neighbours",
                                    {2048, 50, true},
                                    LaplaceArea,
                                    RunLaplace};
const DsmProgram kSorProgram = {"sor",
                                "likewise by successive over-relaxation, red and black in turn",
                                {1024, 20, true},
                                GridBytes,
                                RunSor};

}  // namespace exrnic
