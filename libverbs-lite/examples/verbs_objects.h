// SPDX-License-Identifier: BSD-2-Clause
// What the programs need beside the verbs of exrnic/verbs.hpp.
#ifndef EXRNIC_EXAMPLES_VERBS_OBJECTS_H
#define EXRNIC_EXAMPLES_VERBS_OBJECTS_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "exrnic/verbs.hpp"

namespace exrnic {

using namespace vl;  // NOLINT: programs are written in it

// How a program gets its RNIC; tests give it one of software.
using OpenRnicCall = std::function<vl_rnic*()>;

// OpenRnic for such a call.
inline vl_rnic* OpenDevice(const std::string& name) { return vl::OpenRnic(name).release(); }
constexpr char kDeviceHelp[] =
    "RNIC: exrnic0, ..., or sim:PATH, a node of exrnic-sim (default: VL_DEVICE, or exrnic0)";

// Whether that is a node of exrnic-sim, opened by a process without a guest.
bool IsSimulatorNode(const std::string& name);

// Page-aligned memory of whole pages, zeroed.
class Pages {
 public:
  explicit Pages(size_t bytes);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  uint8_t* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  size_t bytes_;
  uint8_t* data_;
};

// Lets this process pin as much as it wants, as far as it may.
void RaiseMemlockLimit();

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_VERBS_OBJECTS_H
