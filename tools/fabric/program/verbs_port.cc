// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/program/verbs_port.h"

#include <cerrno>
#include <cstring>

namespace exrnic::fabric {
namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  const std::string text = vl_error_text();
  throw PortError(what + ": " + (text.empty() ? std::strerror(error) : text));
}

}  // namespace

VerbsPort::VerbsPort(const std::string& name)
    : rnic_(vl_open_rnic(name.empty() ? nullptr : name.c_str())) {
  if (rnic_ == nullptr) fail(name.empty() ? "the RNIC" : name, errno);
}

VerbsPort::~VerbsPort() { vl_close_rnic(rnic_); }

bool VerbsPort::send(const Frame& frame) {
  static_assert(sizeof(Frame) == VL_MANAGEMENT_BYTES, "a management frame");
  if (vl_send_management(rnic_, frame.data()) == 0) return true;
  if (errno != EAGAIN) fail("a management frame cannot be sent", errno);
  return false;
}

std::optional<Frame> VerbsPort::receive() {
  Frame frame;
  if (vl_receive_management(rnic_, frame.data()) == 0) return frame;
  if (errno != EAGAIN) fail("management frames cannot be received", errno);
  return std::nullopt;
}

}  // namespace exrnic::fabric
