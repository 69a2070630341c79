// SPDX-License-Identifier: BSD-2-Clause
// exrnic-sim with two nodes, which this process has as adapters 0 and 1: so it is its own peer.
#ifndef EXRNIC_SISCI_TEST_TWO_NODES_H
#define EXRNIC_SISCI_TEST_TWO_NODES_H

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "sim/testing/simulator_process.h"
#include "sisci_api.h"

namespace exrnic {

constexpr unsigned kSeconds = 20'000;  // that a test waits for what comes

// Requires that a call gives this: SCI(SCI_ERR_OK, SCIOpen, &sd, 0).
#define SCI(expected, call, ...)                                               \
  do {                                                                         \
    sci_error_t sci_error = SCI_ERR_SYSTEM;                                    \
    call(__VA_ARGS__, &sci_error);                                             \
    INFO(#call ": " << SCIGetErrorString(sci_error) << std::hex << sci_error); \
    REQUIRE(sci_error == (expected));                                          \
  } while (0)

struct SimNodes {
  SimNodes()
      : simulator({"--core", "ref", "--node", "vfio-user:" + folder / "0", "--node",
                   "vfio-user:" + folder / "1"}) {
    simulator.wait_until_ready();
    setenv("VL_DEVICE", Name(0).c_str(), 1);
    setenv("VL_DEVICE_1", Name(1).c_str(), 1);
  }
  std::string Name(unsigned node) const { return "sim:" + folder / std::to_string(node); }

  TempDir folder;
  Simulator simulator;
};

struct TwoNodes : SimNodes {
  TwoNodes() {
    SCI(SCI_ERR_OK, SCIInitialize, 0);
    SCI(SCI_ERR_OK, SCIOpen, &sd, 0);
  }
  ~TwoNodes() { SCITerminate(); }

  sci_desc_t sd = nullptr;
};

constexpr unsigned kSegment = 4711;

// A segment of node 1, available and mapped.
struct OwnedSegment {
  OwnedSegment(sci_desc_t sd, size_t size, unsigned id = kSegment, unsigned adapter = 1) {
    SCI(SCI_ERR_OK, SCICreateSegment, sd, &segment, id, size, nullptr, nullptr, 0);
    SCI(SCI_ERR_OK, SCIPrepareSegment, segment, adapter, 0);
    SCI(SCI_ERR_OK, SCISetSegmentAvailable, segment, adapter, 0);
    sci_error_t error;
    memory = static_cast<uint8_t*>(SCIMapLocalSegment(segment, &map, 0, size, nullptr, 0, &error));
    REQUIRE(error == SCI_ERR_OK);
  }
  void Remove(unsigned flags = 0) {
    SCI(SCI_ERR_OK, SCIUnmapSegment, map, 0);
    SCI(SCI_ERR_OK, SCIRemoveSegment, segment, flags);
  }

  sci_local_segment_t segment = nullptr;
  sci_map_t map = nullptr;
  uint8_t* memory = nullptr;
};

inline sci_remote_segment_t ConnectTo(sci_desc_t sd, unsigned id = kSegment, unsigned node = 1) {
  sci_remote_segment_t remote = nullptr;
  SCI(SCI_ERR_OK, SCIConnectSegment, sd, &remote, node, id, 0, nullptr, nullptr, kSeconds, 0);
  return remote;
}

inline void FillBytes(uint8_t* memory, size_t size, unsigned seed) {
  for (size_t i = 0; i < size; ++i) memory[i] = static_cast<uint8_t>(i * 7 + i / 256 + seed);
}

// True: all done within the time.
template <typename Done>
bool Eventually(Done done, unsigned ms = kSeconds) {
  for (unsigned i = 0; i < ms; ++i) {
    if (done()) return true;
    usleep(1000);
  }
  return false;
}

}  // namespace exrnic

#endif  // EXRNIC_SISCI_TEST_TWO_NODES_H
