// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/standby.h"

namespace exrnic::fabric {

void Standby::begin(uint64_t now_ns, uint64_t patience_ns) {
  patience_ns_ = patience_ns;
  next_look_ns_ = still_since_ns_ = now_ns;
  asked_ = moved_ = false;
  answers_ = true;
  seen_.reset();
}

bool Standby::advance(uint64_t now_ns) {
  if (moved_) still_since_ns_ = now_ns;
  moved_ = false;
  if (!asked_ && now_ns >= next_look_ns_) {
    if (answers_ && seen_ && now_ns - still_since_ns_ >= patience_ns_) return true;
    next_look_ns_ = now_ns + look_ns_;
    look();
  }
  return false;
}

void Standby::look() {
  asked_ = true;
  requests_.ask(get(along({}), EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE), [this](const Answer* answer) {
    asked_ = false;
    const auto data = answer == nullptr ? std::nullopt : parse_device(answer->data);
    answers_ = data.has_value();
    if (!data) {
      moved_ = true;
      return;
    }
    moved_ = !seen_ || seen_->manager != data->manager || seen_->beat != data->beat;
    seen_ = Seen{data->manager, data->beat};
  });
}

}  // namespace exrnic::fabric
