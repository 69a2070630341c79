// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/pulse.h"

namespace exrnic::fabric {

void Pulse::begin(Map& map) {
  ++begun_;
  for (auto& [guid, device] : map.devices) {
    if (!device.is_switch() && silent_.count(guid) == 0) ask(guid, device, guid == map.own);
  }
}

void Pulse::ask(uint64_t guid, Device& device, bool own) {
  DeviceChange change;
  change.beat = ++device.data.beat;
  ++asked_;
  requests_.ask_first(
      set_device(along(device.path), change), [this, guid, own](const Answer* answer) {
        --asked_;
        const auto data = answer == nullptr ? std::nullopt : parse_device(answer->data);
        if (!data || data->guid != guid) {
          silent_.insert(guid);
        } else if (own) {
          own_is_(*data);
        }
      });
}

}  // namespace exrnic::fabric
