// SPDX-License-Identifier: BSD-2-Clause
// A device behind any vfio-user server, for whoever stands between it and its host: its regions and
// interrupts as they are found, accesses to it, and what it does of itself. It is given no memory:
// its DMA comes as messages, and is answered when the host has answered.
//
// The server is not trusted. What it says is checked against limits; one that breaks the protocol,
// or does not answer in time, is given up: alive() is false, end_reason() says why, all that waits
// for it fails, and it touches nothing any more.
//
// Time: the server is asked for a sign of life behind everything that it is sent. waiting() says
// that it owes one; who stops simulated time meanwhile has a device that is infinitely fast.
//
// Order: the server gets accesses in the order in which they are made here; the host hears of an
// interrupt behind the DMA that the server has sent before it.
// Threads: none; no call but the constructor waits.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/posix/unique_fd.h"
#include "sim/vfio_user/client.h"

namespace exrnic::vfio_user {

// What a device does of itself. `done` is called once, now or later, and may be dropped.
class RemoteHost {
 public:
  virtual ~RemoteHost() = default;

  using ReadDone = std::function<void(const Bytes* data)>;  // nullptr: refused
  virtual void dma_read(uint64_t address, size_t length, ReadDone done) = 0;
  using WriteDone = std::function<void(bool written)>;
  virtual void dma_write(uint64_t address, Bytes data, WriteDone done) = 0;
  virtual void interrupt(unsigned vector) = 0;
};

class RemoteDevice {
 public:
  struct Limits {
    // Of the server to each request. The time in which it waits for the host does not count.
    std::chrono::milliseconds answer{5000};
    size_t dmas = 256;  // of the device that are not answered yet
    uint64_t bar_bytes = uint64_t{1} << 40;
  };
  struct Bar {
    unsigned index;  // a 64-bit one takes the next index, too
    uint64_t size;
    bool is_64bit;
    bool prefetchable;
  };
  struct MsixTable {
    unsigned capability;  // its offset in the configuration space
    unsigned bar;
    uint32_t table_offset;
    uint32_t pba_offset;
    unsigned vectors;
    unsigned pba_bar;  // of some devices another one
  };
  static constexpr size_t kHeaderBytes = 64;

  // Finds out what the device is, and is given its interrupts. Throws std::runtime_error with one
  // line if there is no usable device.
  RemoteDevice(UniqueFd socket, RemoteHost& host, const Limits& limits);
  RemoteDevice(const RemoteDevice&) = delete;
  RemoteDevice& operator=(const RemoteDevice&) = delete;

  // The header of the configuration space, as it was found.
  const std::array<uint8_t, kHeaderBytes>& header() const { return header_; }
  size_t config_bytes() const { return config_bytes_; }
  const std::vector<Bar>& bars() const { return bars_; }
  // As its configuration space says, if that makes sense: table and pending bits are in its BARs.
  const std::optional<MsixTable>& msix() const { return msix_; }
  // That can fire: no more than the table has, nor than the server says.
  unsigned vectors() const { return static_cast<unsigned>(interrupts_.size()); }

  // Accesses to a region of <linux/vfio.h>, of 1 to kMaxDataTransfer bytes within it.
  using ReadDone = std::function<void(const Bytes* data)>;  // nullptr: refused, or given up
  void read(uint32_t region, uint64_t offset, uint32_t length, ReadDone done);
  // Posted: whether it was possible is not told.
  void write(uint32_t region, uint64_t offset, const Bytes& data);
  // `done` as of a read, with no bytes.
  void reset(ReadDone done);

  // Handles what is there. True if something was done.
  bool service();
  // What to poll for before the next service() has something to do, and how long at most: -1 for
  // ever.
  void append_poll_fds(std::vector<pollfd>& fds);
  int poll_timeout_ms() const;

  // The process that listens; 0 if it is of another namespace.
  pid_t server_process() const { return server_process_; }

  bool alive() const { return end_reason_.empty(); }
  const std::string& end_reason() const { return end_reason_; }
  size_t requests_in_flight() const { return requests_.size(); }

  // The server has not yet answered all that it was sent, and does not wait for the host itself.
  bool waiting() const { return alive() && !waits_for_host() && !settled(); }
  bool waits_for_host() const { return dmas_ > 0; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Request {
    uint16_t command;
    size_t reply_head;           // bytes in front of the data
    size_t reply_length;         // of the data
    Clock::time_point deadline;  // of server_time()
    ReadDone done;
  };

  void discover();
  void find_regions(unsigned regions);
  void find_bar(unsigned index, uint64_t size);
  void find_interrupts(unsigned irqs);
  void find_msix(const Bytes& config);
  bool within_bar(unsigned bar, uint64_t offset, uint64_t length) const;
  void take_interrupts(unsigned count);
  void require(int error);

  void send(const Header& header, const Bytes& payload);
  void ask(Command command, const Bytes& payload, size_t reply_head, size_t reply_length,
           ReadDone done);
  void ping();
  bool settled() const { return requests_.empty() && noted_.empty(); }
  Clock::time_point server_time() const;
  void take(Message& message);
  void take_reply(const Message& message);
  void take_dma_read(const Message& message);
  void take_dma_write(const Message& message);
  void answer(const Header& request, int error, const Bytes& payload);
  bool note_interrupts();
  bool tell_interrupts();
  void give_up(const std::string& reason);

  RemoteHost& host_;
  const Limits limits_;
  const pid_t server_process_;
  VfioUserClient client_;
  std::array<uint8_t, kHeaderBytes> header_{};
  size_t config_bytes_ = 0;
  std::vector<Bar> bars_;
  std::optional<MsixTable> msix_;
  std::vector<UniqueFd> interrupts_;  // eventfds, by vector
  std::set<unsigned> noted_;          // vectors that the host has not heard of yet

  std::map<uint16_t, Request> requests_;  // by identifier
  std::vector<uint16_t> order_;           // of requests, oldest first
  uint16_t last_id_ = 0;
  bool ping_under_way_ = false;
  bool ping_again_ = false;  // something was sent behind it
  size_t dmas_ = 0;          // that the host has not answered
  Clock::time_point dmas_since_{};
  Clock::duration waited_for_host_{};
  std::string end_reason_;
  // What the host answers later finds out by it whether this is still here.
  std::shared_ptr<RemoteDevice*> self_ = std::make_shared<RemoteDevice*>(this);
};

}  // namespace exrnic::vfio_user
