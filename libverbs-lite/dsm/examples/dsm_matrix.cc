// SPDX-License-Identifier: BSD-2-Clause
// Matrices. Multiplication: each node has a band of rows, and reads all of the second matrix. LU: a
// row of each is a node's in turn; all read the row of each step, which its node has just finished.
#include <vector>

#include "dsm_program.h"

namespace exrnic {

namespace {

size_t MatrixBytes(unsigned n) { return (size_t{n} * n * sizeof(double) + 4095) / 4096 * 4096; }

// ---- Multiplication

size_t MultiplyArea(const DsmSizes& sizes) { return 3 * MatrixBytes(sizes.size); }

void FillMatrix(double* matrix, unsigned n, DsmPart rows, uint64_t seed) {
  for (unsigned row = rows.begin; row < rows.end; ++row) {
    DsmNumbers numbers(seed + row);
    for (unsigned column = 0; column < n; ++column)
      matrix[size_t{row} * n + column] = numbers.NextFraction();
  }
}

void MultiplyRows(const double* a, const double* b, double* c, unsigned n, DsmPart rows) {
  for (unsigned row = rows.begin; row < rows.end; ++row) {
    double* const out = c + size_t{row} * n;
    for (unsigned k = 0; k < n; ++k) {
      const double factor = a[size_t{row} * n + k];
      const double* const in = b + size_t{k} * n;
      for (unsigned column = 0; column < n; ++column) out[column] += factor * in[column];
    }
  }
}

uint64_t RunMultiply(const DsmSizes& sizes, DsmTimer* timer) {
  const unsigned n = sizes.size;
  const size_t row = size_t{n} * sizeof(double);
  const auto allocate = [&] {
    return reinterpret_cast<double*>(jia_alloc2(n * row, RowsOfNode(n) * row));
  };
  double* const a = allocate();
  double* const b = allocate();
  double* const c = allocate();
  const DsmPart own = OwnPart(n);
  FillMatrix(a, n, own, 1000);
  FillMatrix(b, n, own, 900000);
  timer->Begin();
  for (unsigned i = 0; i < sizes.iterations; ++i) {
    MultiplyRows(a, b, c, n, own);
    jia_barrier();
  }
  timer->End();
  const size_t count = size_t{n} * n;
  if (sizes.checked && jiapid == 0) {
    std::vector<double> x(count), y(count), z(count);
    FillMatrix(x.data(), n, {0, n}, 1000);
    FillMatrix(y.data(), n, {0, n}, 900000);
    for (unsigned i = 0; i < sizes.iterations; ++i)
      MultiplyRows(x.data(), y.data(), z.data(), n, {0, n});
    CompareDsm(c, z.data(), count, "matrix");
  }
  return DsmDigest(c, n, own);
}

// ---- LU, without pivots; a row begins with a page, so that it is one node's

size_t LuStride(unsigned n) { return (n * sizeof(double) + 4095) / 4096 * (4096 / sizeof(double)); }
size_t LuArea(const DsmSizes& sizes) { return sizes.size * LuStride(sizes.size) * sizeof(double); }

void FillLu(double* matrix, size_t stride, unsigned n, unsigned row) {
  DsmNumbers numbers(77 + row);
  for (unsigned column = 0; column < n; ++column)
    matrix[row * stride + column] = numbers.NextFraction() + (row == column ? n : 0);
}

void LuRow(double* matrix, size_t stride, unsigned n, unsigned row, unsigned step) {
  const double* const pivot = matrix + step * stride;
  double* const at = matrix + row * stride;
  const double factor = at[step] /= pivot[step];
  for (unsigned column = step + 1; column < n; ++column) at[column] -= factor * pivot[column];
}

uint64_t RunLu(const DsmSizes& sizes, DsmTimer* timer) {
  const unsigned n = sizes.size;
  const size_t stride = LuStride(n);
  auto* const matrix =
      reinterpret_cast<double*>(jia_alloc2(n * stride * sizeof(double), stride * sizeof(double)));
  const auto hosts = static_cast<unsigned>(jiahosts), self = static_cast<unsigned>(jiapid);
  for (unsigned row = self; row < n; row += hosts) FillLu(matrix, stride, n, row);
  timer->Begin();
  for (unsigned step = 0; step + 1 < n; ++step) {
    unsigned row = (step / hosts) * hosts + self;
    if (row <= step) row += hosts;
    for (; row < n; row += hosts) LuRow(matrix, stride, n, row, step);
    jia_barrier();
  }
  timer->End();
  if (sizes.checked && jiapid == 0) {
    std::vector<double> one(n * stride);
    for (unsigned row = 0; row < n; ++row) FillLu(one.data(), stride, n, row);
    for (unsigned step = 0; step + 1 < n; ++step)
      for (unsigned row = step + 1; row < n; ++row) LuRow(one.data(), stride, n, row, step);
    CompareDsm(matrix, one.data(), n * stride, "lu");
  }
  uint64_t digest = 0;
  for (unsigned row = self; row < n; row += hosts) digest += DsmDigest(matrix, stride, row);
  return digest;
}

}  // namespace

const DsmProgram kMatrixProgram = {
    "matrix", "a product of two matrices", {512, 1, true}, MultiplyArea, RunMultiply};
const DsmProgram kLuProgram = {
    "lu", "a matrix into a lower and an upper one", {512, 1, true}, LuArea, RunLu};

}  // namespace exrnic
