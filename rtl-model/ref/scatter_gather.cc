// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/scatter_gather.h"

#include <algorithm>
#include <utility>

namespace exrnic::ref {

Access piece_at(const ElementList& list, uint64_t offset) {
  auto element = list.elements.begin();
  while (offset >= element->length) offset -= (element++)->length;
  return {element->stag, list.asker, list.rights, element->address + offset,
          element->length - offset};
}

void Gather::gather(ElementList list, uint64_t offset, size_t length, Done done) {
  list_ = std::move(list);
  offset_ = offset;
  length_ = length;
  done_ = std::move(done);
  result_ = {};
  next();
}

void Gather::next() {
  const size_t missing = length_ - result_.data.size();
  if (missing == 0) return done_(result_);
  xlate_.region(
      piece_at(list_, offset_ + result_.data.size()), [this, missing](const Place& place) {
        result_.verdict = place.verdict;
        if (place.verdict != Verdict::kOk) return done_(result_);
        dma_read_.read(place.address, std::min<uint64_t>(missing, place.length),
                       [this](bool good, Bytes&& data) {
                         result_.readable = good;
                         if (!good) return done_(result_);
                         if (result_.data.empty())
                           result_.data = std::move(data);
                         else
                           result_.data.insert(result_.data.end(), data.begin(), data.end());
                         next();
                       });
      });
}

void Scatter::scatter(ElementList list, uint64_t offset, Bytes data, Done done) {
  list_ = std::move(list);
  offset_ = offset;
  data_ = std::move(data);
  done_ = std::move(done);
  next(0);
}

void Scatter::next(size_t written) {
  if (written == data_.size()) return done_(Verdict::kOk);
  xlate_.region(piece_at(list_, offset_ + written), [this, written](const Place& place) {
    if (place.verdict != Verdict::kOk) return done_(place.verdict);
    const size_t bytes = std::min<uint64_t>(data_.size() - written, place.length);
    dma_write_.write(place.address, data_.data() + written, bytes);
    next(written + bytes);
  });
}

}  // namespace exrnic::ref
