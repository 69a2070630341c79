// SPDX-License-Identifier: BSD-2-Clause
#include "sim/service/slot_service.h"

#include <fmt/format.h>

#include <utility>

namespace exrnic {

SlotService::SlotService(std::unique_ptr<vfio_user::VfioUserServer> server,
                         const peb::HostSlot& slot, std::string name, vfio_user::Log log)
    : server_(std::move(server)), slot_(slot), name_(std::move(name)), log_(std::move(log)) {}

void SlotService::after_slice() {
  if (changes_ == slot_.changes()) return;
  changes_ = slot_.changes();
  const auto& description = slot_.description();
  server_->describe(description);
  if (full_ == description.has_value()) return;
  full_ = description.has_value();
  log_(full_ ? fmt::format("slot {}: device {:04x}:{:04x} of node {} is there", name_,
                           description->vendor_id, description->device_id, slot_.peer()->node)
             : fmt::format("slot {}: the device is gone", name_));
}

}  // namespace exrnic
