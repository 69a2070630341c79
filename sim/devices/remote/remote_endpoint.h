// SPDX-License-Identifier: BSD-2-Clause
// A device in another process, behind a vfio-user server, at the far end of a simulated PCIe link.
//
// It has no time of its own: its owner stops simulated time while holds_time(), so what it does
// takes what its link takes, and nothing else. Its DMA goes onto the link in the order in which it
// asks for it, reads in flight as many as there are tags; a load's value behind what it wrote
// before. A server that is given up is a device that has failed: loads are all ones from then on.
//
// A process may have several devices, and may answer for none while it waits for the host of one.
// So none of them holds time meanwhile.
//
// Threads: service() in the thread that serves sockets, while time stands; all else with its node.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/pcie/pcie_config.h"
#include "sim/pcie/pcie_device.h"
#include "sim/posix/side_socket.h"
#include "sim/vfio_user/remote_device.h"
#include "sim/vfio_user/report.h"

namespace exrnic {

class RemoteEndpoint final : public PcieDevice, public SideSocket, private vfio_user::RemoteHost {
 public:
  using Limits = vfio_user::RemoteDevice::Limits;

  // Waits until the server has said what its device is. Throws std::runtime_error with one line if
  // there is no usable device at `path`.
  RemoteEndpoint(Scheduler& scheduler, const std::string& path, const PcieConfig& config,
                 vfio_user::Log log, const Limits& limits);

  bool alive() const { return device_->alive(); }

  // Before time runs: another endpoint, which lives as long. If its device is of the same process,
  // that is minded here, and there.
  void meet(RemoteEndpoint& other);

  // PcieDevice
  const PciDescription& description() const override { return description_; }
  void connect(PciePort& pcie) override { pcie_ = &pcie; }
  void mmio_write(const MmioAccess& access) override;
  void mmio_read(const MmioAccess& access) override;
  void read_completion(ReadCompletion&& completion) override;
  void reset() override;

  // SideSocket
  void append_poll_fds(std::vector<pollfd>& fds) override { device_->append_poll_fds(fds); }
  int poll_timeout_ms() const override { return device_->poll_timeout_ms(); }
  void service() override;
  bool may_hold_time() const override { return true; }
  bool holds_time() const override;

 private:
  static constexpr size_t kTags = 256;
  // How often a link that takes nothing, nobody knows how long, is asked again.
  static constexpr SimTime kRetry = 50 * kPsPerNs;

  struct Load {
    bool done = false;  // and what was written before it was is on the link
    uint64_t value = ~uint64_t{0};
  };
  // A read of the device.
  struct Gather {
    Bytes data;
    size_t pieces = 0;  // that have not come
    bool failed = false;
    ReadDone done;
  };
  struct Piece {
    std::shared_ptr<Gather> gather;
    size_t offset = 0;
    size_t got = 0;
  };
  struct Read {
    uint64_t address = 0;
    size_t length = 0;
    Piece piece;
  };
  struct Written {
    WriteDone done;
  };
  struct Loaded {
    std::shared_ptr<Load> load;
  };
  using Upward = std::variant<PostedWrite, Read, Written, Loaded>;

  void dma_read(uint64_t address, size_t length, ReadDone done) override;
  void dma_write(uint64_t address, Bytes data, WriteDone done) override;
  void interrupt(unsigned vector) override;

  void loaded(std::shared_ptr<Load> load);
  void answer_loads();
  void pump();
  bool give(Upward& upward);
  SimTime next_try() const;
  static void end_piece(Gather& gather);

  Scheduler& scheduler_;
  const PcieConfig config_;
  const vfio_user::Log log_;
  const std::string path_;
  std::vector<const RemoteEndpoint*> siblings_;  // devices of that process
  std::unique_ptr<vfio_user::RemoteDevice> device_;
  PciDescription description_;
  PciePort* pcie_ = nullptr;
  std::unique_ptr<Scheduler::Alarm> retry_;
  bool told_end_ = false;

  std::deque<std::shared_ptr<Load>> loads_;  // of the host, oldest first
  std::deque<Upward> up_;
  std::array<std::optional<Piece>, kTags> tags_;
  unsigned next_tag_ = 0;
};

}  // namespace exrnic
