// SPDX-License-Identifier: BSD-2-Clause
// Programs of shared memory, by the calls of JIAJIA. Each does its work on all nodes; node 0 then
// does it alone, in memory of its own, and compares every number.
#ifndef EXRNIC_DSM_PROGRAM_H
#define EXRNIC_DSM_PROGRAM_H

#include <cstddef>
#include <cstdint>
#include <string>

#include "exrnic/jia.h"

namespace exrnic {

struct DsmSizes {
  unsigned size;
  unsigned iterations;
  bool checked;
};

// Reads the clock, at barriers. Of a program: from Begin to End.
class DsmTimer {
 public:
  void Begin();
  void End();
  double seconds() const { return seconds_; }
  const jia_stat& statistics() const { return statistics_; }

 private:
  double begin_ = 0;
  double seconds_ = 0;
  jia_stat statistics_ = {};
};

// What is this node's of `count`: first and behind the last.
struct DsmPart {
  unsigned begin, end;
};
DsmPart OwnPart(unsigned count);
// Rows of each node but the last.
unsigned RowsOfNode(unsigned rows);

// The same numbers on each node, 0 to 1.
class DsmNumbers {
 public:
  explicit DsmNumbers(uint64_t seed) : state_(seed * 2 + 1) {}
  uint64_t Next();
  double NextFraction() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

// Of rows of so many numbers. The sum of those of all nodes does not depend on how many there are.
uint64_t DsmDigest(const double* rows, size_t stride, unsigned row);
uint64_t DsmDigest(const double* rows, size_t stride, DsmPart part);
// Throws unless they are the same, bit by bit.
void CompareDsm(const double* got, const double* expected, size_t count, const char* what);

struct DsmProgram {
  const char* name;
  const char* what;
  DsmSizes usual;
  size_t (*area)(const DsmSizes& sizes);  // bytes of shared memory
  // What tells its result; where that is of many numbers, this node's part of a sum. Throws on node
  // 0 where it is not that of one process.
  uint64_t (*run)(const DsmSizes& sizes, DsmTimer* timer);
};

extern const DsmProgram kLaplaceProgram, kSorProgram, kLuProgram, kMatrixProgram, kSortProgram,
    kTspProgram, kBarrierProgram;

}  // namespace exrnic

#endif  // EXRNIC_DSM_PROGRAM_H
