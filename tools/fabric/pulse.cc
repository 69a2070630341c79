// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/pulse.h"

namespace exrnic::fabric {

void Pulse::begin() {
  ++begun_;
  for (auto& [guid, device] : map_.devices) {
    const bool has_host = !device.is_switch() && device.data.number != kNoNumber;
    if (has_host && silent_.count(guid) == 0) ask(guid, device);
  }
}

void Pulse::ask(uint64_t guid, Device& device) {
  DeviceChange change;
  change.beat = ++device.data.beat;
  ++asked_;
  requests_.ask_first(set_device(along(device.path), change), [this, guid](const Answer* answer) {
    --asked_;
    const auto data = answer == nullptr ? std::nullopt : parse_device(answer->data);
    if (!data || data->guid != guid) {
      silent_.insert(guid);
    } else if (guid == map_.own) {
      own_is_(*data);
    }
  });
}

}  // namespace exrnic::fabric
