// SPDX-License-Identifier: BSD-2-Clause
// Bytes of scatter/gather lists, from memory and to it: element after element, page after page. An
// element is looked up from where it stands to its end.
#pragma once

#include <functional>

#include "rtl-model/ref/dma_read.h"
#include "rtl-model/ref/dma_write.h"
#include "rtl-model/ref/xlate.h"

namespace exrnic::ref {

// Elements, for whom they are, and the rights that they need.
struct ElementList {
  std::vector<exrnic_sge> elements;
  Asker asker;
  uint32_t rights = 0;
};

// What of a list begins `offset` bytes behind its start: the rest of one element. The list is
// longer.
Access piece_at(const ElementList& list, uint64_t offset);

// One at a time.
class Gather {
 public:
  struct Result {
    Verdict verdict = Verdict::kOk;
    bool readable = true;  // the host did not refuse to read the payload
    Bytes data;
  };
  using Done = std::function<void(const Result& result)>;

  Gather(Xlate& xlate, DmaRead& dma_read) : xlate_(xlate), dma_read_(dma_read) {}

  void gather(ElementList list, uint64_t offset, size_t length, Done done);

 private:
  void next();

  Xlate& xlate_;
  DmaRead& dma_read_;
  ElementList list_;
  uint64_t offset_ = 0;
  size_t length_ = 0;
  Done done_;
  Result result_;
};

// One at a time.
class Scatter {
 public:
  using Done = std::function<void(Verdict verdict)>;  // what a refusal leaves behind it is written

  Scatter(Xlate& xlate, DmaWrite& dma_write) : xlate_(xlate), dma_write_(dma_write) {}

  void scatter(ElementList list, uint64_t offset, Bytes data, Done done);

 private:
  void next(size_t written);

  Xlate& xlate_;
  DmaWrite& dma_write_;
  ElementList list_;
  uint64_t offset_ = 0;
  Bytes data_;
  Done done_;
};

}  // namespace exrnic::ref
