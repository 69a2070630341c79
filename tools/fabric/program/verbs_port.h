// SPDX-License-Identifier: BSD-2-Clause
// Management frames by an RNIC of libverbs-lite: the char device, or a node of exrnic-sim.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "exrnic/fabric.h"
#include "tools/fabric/port.h"

namespace exrnic::fabric {

// The RNIC is gone, somebody else has its management frames, or there is no right to them.
class PortError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws PortError with what vl_error_text() says.
class VerbsPort final : public ManagementPort {
 public:
  // `name`: as vl_open_rnic() has it; empty: VL_DEVICE, or exrnic0.
  explicit VerbsPort(const std::string& name);
  ~VerbsPort() override;
  VerbsPort(const VerbsPort&) = delete;
  VerbsPort& operator=(const VerbsPort&) = delete;

  bool send(const Frame& frame) override;
  std::optional<Frame> receive() override;

 private:
  vl_rnic* rnic_;
};

}  // namespace exrnic::fabric
