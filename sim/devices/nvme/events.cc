// SPDX-License-Identifier: BSD-2-Clause
#include "sim/devices/nvme/events.h"

#include <algorithm>

namespace exrnic::nvme {

Status Events::request(uint16_t id) {
  if (requests_.size() == kMaxEventRequests) return Status::kEventRequestLimit;
  if (std::find(requests_.begin(), requests_.end(), id) != requests_.end())
    return Status::kCommandIdConflict;
  requests_.push_back(id);
  return Status::kSuccess;
}

bool Events::abort(uint16_t id) {
  const auto found = std::find(requests_.begin(), requests_.end(), id);
  if (found == requests_.end()) return false;
  requests_.erase(found);
  aborted_.push_back(id);
  return true;
}

void Events::raise(uint8_t information) {
  if (masked_) return;
  pending_ =
      kEventError | uint32_t{information} << 8 | static_cast<uint32_t>(LogPage::kError) << 16;
}

std::pair<uint16_t, Result> Events::take() {
  std::deque<uint16_t>& from = aborted_.empty() ? requests_ : aborted_;
  const uint16_t id = from.front();
  from.pop_front();
  if (&from == &aborted_) return {id, {Status::kAbortRequested}};
  masked_ = true;
  return {id, {Status::kSuccess, *std::exchange(pending_, std::nullopt)}};
}

}  // namespace exrnic::nvme
