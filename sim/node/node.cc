// SPDX-License-Identifier: BSD-2-Clause
#include "sim/node/node.h"

#include <fmt/format.h>

#include <utility>

#include "exrnic_hw.h"
#include "sim/trace/traced_core.h"

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

CoreFactory traced(const CoreFactory& make_core, trace::Observer& observer, unsigned node,
                   const Scheduler& scheduler) {
  return [=, &observer, &scheduler](const CoreConfig& config, CoreSink& sink) {
    return std::make_unique<trace::TracedCore>(observer, node, scheduler, config, sink, make_core);
  };
}

}  // namespace

uint64_t mac_address(unsigned node_id) {
  return uint64_t{EXRNIC_MAC_PREFIX} << kNodeIdBits | node_id;
}

Node::Node(Scheduler& scheduler, unsigned index, unsigned id, uint64_t guid, bool link_up,
           const Profile& profile, const CoreFactory& make_core, trace::Observer* observer)
    : index_(index),
      id_(id),
      scheduler_(scheduler),
      rnic_(fmt::format("rnic{}", index).c_str(), scheduler,
            core_config(id, guid, link_up, profile),
            observer == nullptr ? make_core : traced(make_core, *observer, index, scheduler)),
      pcie_(scheduler, profile.pcie, rnic_),
      mac_(rnic_),
      observer_(observer),
      clocks_{&scheduler, &scheduler},
      traced_device_(observer == nullptr
                         ? nullptr
                         : std::make_unique<trace::TracedDevice>(*observer, index, clocks_, pcie_)),
      device_(observer == nullptr ? static_cast<DevicePort&>(pcie_) : *traced_device_),
      combiner_(device_) {
  rnic_.connect(pcie_, mac_);
}

void Node::connect_host(HostPort* host, Scheduler* outside) {
  clocks_.host = outside == nullptr ? &scheduler_ : outside;
  std::unique_ptr<trace::TracedHost> traced;
  if (observer_ != nullptr && host != nullptr)
    traced = std::make_unique<trace::TracedHost>(*observer_, index_, clocks_, *host);
  pcie_.connect_host(traced ? traced.get() : host,
                     outside == nullptr ? nullptr : outside->entrance());
  traced_host_ = std::move(traced);
}

}  // namespace exrnic
