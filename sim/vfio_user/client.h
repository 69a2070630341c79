// SPDX-License-Identifier: BSD-2-Clause
// The other end of a vfio-user socket: what a driver in user space needs to reach its device, and
// what the tests talk to the server with. One request at a time.
//
// Errors: 0, or a negative errno: what the server answered, -ETIMEDOUT, -ECONNRESET (it closed the
// connection) or -EPROTO (its reply makes no sense). After the last three, and any failure to
// send, the connection is of no use any more; last_error() says what happened.
// Threads: none; every call comes from one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/vfio_user/protocol.h"
#include "sim/vfio_user/transport.h"

namespace exrnic::vfio_user {

class VfioUserClient {
 public:
  struct Options {
    int timeout_ms = 5000;  // for each reply
    // Called again and again while a reply is awaited, instead of sleeping; for a server that
    // lives in the same thread. Empty: sleep until the socket is readable.
    std::function<void()> idle;
  };
  struct RegionInfo {
    uint32_t flags = 0;  // VFIO_REGION_INFO_FLAG_*
    uint64_t size = 0;   // bytes; 0: not there
  };
  struct IrqInfo {
    uint32_t flags = 0;  // VFIO_IRQ_INFO_*
    uint32_t count = 0;
  };
  struct DeviceInfo {
    uint32_t flags = 0;  // VFIO_DEVICE_FLAGS_*
    uint32_t regions = 0;
    uint32_t irqs = 0;
  };

  VfioUserClient(UniqueFd socket, Options options);

  // First of all: agrees on version and capabilities.
  int negotiate();
  const Capabilities& server_capabilities() const { return server_; }

  // `fd` stays the caller's; -1: a region without a file.
  int dma_map(const DmaMapRequest& request, int fd);
  int dma_unmap(const DmaUnmapRequest& request);

  int get_device_info(DeviceInfo* info);
  int get_region_info(uint32_t region, RegionInfo* info);
  int get_irq_info(uint32_t index, IrqInfo* info);
  // `eventfds` stay the caller's.
  int set_irqs(const SetIrqsRequest& request, const std::vector<int>& eventfds = {});

  // Regions are those of <linux/vfio.h>: VFIO_PCI_BAR0_REGION_INDEX, ...
  int read(uint32_t region, uint64_t offset, void* out, size_t length);
  int write(uint32_t region, uint64_t offset, const void* data, size_t length);
  // Posted: nobody answers, so an error of the device is not seen.
  int post(uint32_t region, uint64_t offset, const void* data, size_t length);
  int post_many(const std::vector<RegionWrite>& writes);

  int reset_device();

  // Any request, for what has no function above; `reply` may be null.
  int request(uint16_t command, const Bytes& payload, const std::vector<int>& fds, Bytes* reply);

  const std::string& last_error() const { return last_error_; }
  Connection& connection() { return connection_; }

 private:
  int send(uint16_t command, uint32_t flags, const Bytes& payload, const std::vector<int>& fds);
  int await(const Header& request, Message* reply);
  int fail(int error, std::string what);

  Connection connection_;
  Options options_;
  Capabilities server_;
  uint16_t next_id_ = 0;
  std::string last_error_;
};

}  // namespace exrnic::vfio_user
