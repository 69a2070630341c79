// SPDX-License-Identifier: BSD-2-Clause
#include "sim/node/node.h"

#include <fmt/format.h>

#include "exrnic_hw.h"

namespace exrnic {
namespace {

constexpr unsigned kNodeIdBits = 16;

CoreConfig core_config(unsigned id, uint64_t guid, bool link_up, const Profile& profile) {
  CoreConfig config;
  config.node_id = static_cast<uint16_t>(id);
  config.guid = guid;
  config.max_payload = static_cast<uint16_t>(profile.pcie.max_payload);
  config.max_read = static_cast<uint16_t>(profile.pcie.max_read);
  config.data_bits = profile.data_bits;
  config.clock_khz = profile.clock_khz;
  config.window_shift = profile.window_shift;
  config.link_up = link_up;
  return config;
}

}  // namespace

uint64_t mac_address(unsigned node_id) {
  return uint64_t{EXRNIC_MAC_PREFIX} << kNodeIdBits | node_id;
}

Node::Node(Scheduler& scheduler, unsigned index, unsigned id, uint64_t guid, bool link_up,
           const Profile& profile, const CoreFactory& make_core, Tracer* tracer)
    : index_(index),
      id_(id),
      scheduler_(scheduler),
      rnic_(fmt::format("rnic{}", index).c_str(), scheduler,
            core_config(id, guid, link_up, profile),
            tracer == nullptr ? make_core : tracer->wrap(make_core)),
      pcie_(scheduler, profile.pcie, rnic_),
      mac_(rnic_),
      tracer_(tracer),
      device_(tracer == nullptr ? static_cast<DevicePort&>(pcie_) : tracer->device(index, pcie_)),
      combiner_(device_) {
  rnic_.connect(pcie_, mac_);
}

}  // namespace exrnic
