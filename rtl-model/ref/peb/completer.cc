// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/peb/completer.h"

#include <algorithm>
#include <cassert>

namespace exrnic::peb {
namespace {

constexpr uint32_t kDw = 4;
constexpr unsigned kLowBits = 0x7f;  // in lower_address

}  // namespace

std::deque<Completion> Completer::complete(uint64_t name, exrnic_completion_status status,
                                           const Bytes& data) {
  const auto found = served_.find(name);
  if (found == served_.end()) return {};
  const Request request = found->second;
  served_.erase(found);
  Completion completion;
  completion.tag = request.tag;
  completion.status = status;
  const bool reads = request.kind != Request::Kind::kConfigWrite;
  if (status != EXRNIC_COMPLETION_STATUS_SUCCESSFUL || !reads) return {completion};
  assert(data.size() == request.length);
  if (request.kind == Request::Kind::kConfigRead) {
    completion.data.resize(kDw);
    std::copy(data.begin(), data.end(),
              completion.data.begin() + static_cast<std::ptrdiff_t>(request.address % kDw));
    return {completion};
  }
  // They end where a multiple of the largest payload does, which is one of PEB_BOUNDARY.
  std::deque<Completion> completions;
  for (uint32_t done = 0; done < request.length;) {
    const uint64_t at = request.address + done;
    const uint64_t bytes =
        std::min<uint64_t>(request.length - done, max_payload_ - at % max_payload_);
    const auto first = data.begin() + done;
    completion.left = request.length - done;
    completion.lower_address = static_cast<uint8_t>(at & kLowBits);
    completion.data.assign(first, first + static_cast<std::ptrdiff_t>(bytes));
    completions.push_back(completion);
    done += static_cast<uint32_t>(bytes);
  }
  return completions;
}

}  // namespace exrnic::peb
