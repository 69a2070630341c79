// SPDX-License-Identifier: BSD-2-Clause
// Contexts of PM as threads, each with a node of exrnic-sim.
#ifndef EXRNIC_PM_RIG_H
#define EXRNIC_PM_RIG_H

#include <cerrno>
#include <cstring>

#include "cluster_rig.h"
#include "exrnic/pm.h"

namespace exrnic {

inline void PmRequire(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what + "; " + pmErrorText());
}

struct PmRig {
  explicit PmRig(int count, const std::string& core = "ref")
      : fixture(core, static_cast<uint32_t>(count)),
        addresses(LoopbackAddresses(static_cast<unsigned>(count))) {}

  // rnic: one that is open; or null, and that of device_node is opened, or the node's own.
  pm_context* Open(int node, vl_rnic* rnic = nullptr, int device_node = -1) const {
    std::vector<const char*> list;
    for (const std::string& address : addresses) list.push_back(address.c_str());
    const std::string device =
        fixture.Name(static_cast<uint32_t>(device_node < 0 ? node : device_node));
    pm_attr attr = {};
    attr.nodes = static_cast<int>(addresses.size());
    attr.self = node;
    attr.addresses = list.data();
    attr.rnic = rnic;
    attr.device = device.c_str();
    attr.timeout_ms = 60000;
    pm_context* context = nullptr;
    const int error = pmOpenContext(&attr, &context);
    if (error != 0) throw std::runtime_error(pmErrorText());
    return context;
  }

  // body at each node below `threads`. What each has thrown; "" of those that ended.
  std::vector<std::string> Run(const std::function<void(pm_context*, int)>& body,
                               int threads_of = 0) {
    const int count = threads_of == 0 ? static_cast<int>(addresses.size()) : threads_of;
    std::vector<std::string> errors(static_cast<size_t>(count));
    std::vector<std::thread> threads;
    for (int node = 0; node < count; ++node) {
      threads.emplace_back([&, node] {
        try {
          pm_context* const context = Open(node);
          try {
            body(context, node);
          } catch (...) {
            pmCloseContext(context);
            throw;
          }
          PmRequire(pmCloseContext(context) == 0, "pmCloseContext");
        } catch (const std::exception& error) {
          errors[static_cast<size_t>(node)] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return errors;
  }

  Fixture fixture;
  std::vector<std::string> addresses;
};

// Until a call gives something else than ENOBUFS or EBUSY, a minute at most.
template <typename Call>
int Again(Call&& call) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (;;) {
    const int error = call();
    if ((error != ENOBUFS && error != EBUSY) || std::chrono::steady_clock::now() > end)
      return error;
    sched_yield();
  }
}

inline void PmSendBytes(pm_context* context, int node, const std::vector<uint8_t>& bytes) {
  void* buffer;
  PmRequire(Again([&] { return pmGetSendBuffer(context, node, &buffer, bytes.size()); }) == 0,
            "get");
  memcpy(buffer, bytes.data(), bytes.size());
  PmRequire(pmSend(context) == 0, "send");
}

inline std::vector<uint8_t> PmReceiveBytes(pm_context* context, int* node = nullptr) {
  void* buffer;
  size_t length;
  PmRequire(Again([&] { return pmReceiveFrom(context, &buffer, &length, node); }) == 0, "receive");
  const auto* bytes = static_cast<const uint8_t*>(buffer);
  std::vector<uint8_t> message(bytes, bytes + length);
  PmRequire(pmReleaseReceiveBuffer(context) == 0, "release");
  return message;
}

template <typename T>
std::vector<uint8_t> PmBytesOf(const T& value) {
  std::vector<uint8_t> bytes(sizeof(value));
  memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}
template <typename T>
T PmReceiveValue(pm_context* context) {
  const auto bytes = PmReceiveBytes(context);
  T value;
  PmRequire(bytes.size() == sizeof(value), "length of a value");
  memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

}  // namespace exrnic

#endif  // EXRNIC_PM_RIG_H
