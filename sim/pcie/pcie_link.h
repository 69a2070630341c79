// SPDX-License-Identifier: BSD-2-Clause
// The PCIe link between a host and its RNIC, at the level of transaction-layer packets (TLPs).
//
// Each direction is one queue that serializes at the link's payload rate and delivers after the
// propagation latency. That one queue is also what keeps the order of PCIe 2.4.1: upstream, reads
// and read replies stay behind earlier writes, and an interrupt behind the data it speaks of;
// downstream, a load pushes earlier stores, and completions stay behind them.
//
// Host memory is accessed when a TLP has arrived at the host, not before. Parts of a write (see
// PostedWrite::more) wait there for the last one, because to place a part alone may take two system
// calls. What arrives behind a part finds it in place all the same. A read that the host refuses
// completes with an error; a refused write is counted and dropped. A host may be slow to look at
// its memory (HostPort::read_wait_ns): then other reads, and writes, go before.
//
// What a host outside of the simulation notices (writes, interrupts, answers of loads) may have to
// wait for other threads, so that it comes in order of time among all nodes. The device does not
// see that: a read finds what was written before it.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "rtl-model/systemc/rnic_ports.h"
#include "rtl-model/systemc/scheduler.h"
#include "sim/pcie/host_port.h"
#include "sim/pcie/pcie_config.h"
#include "sim/time/lane.h"

namespace exrnic {

// Bytes of a TLP beside its payload: framing 2, sequence 2, LCRC 4, and the header: 16 with a
// 64-bit address, 12 for a completion (PCIe Base 2.2).
constexpr unsigned kTlpWriteOverhead = 24;
constexpr unsigned kTlpReadRequest = 24;
constexpr unsigned kTlpCompletionOverhead = 20;

// Completions are cut at addresses that are multiples of this (PCIe 2.3.1.1, root complex).
constexpr unsigned kReadCompletionBoundary = 64;

// TLPs of a kind, writes or reads, that wait in the link before the core feels back-pressure: few,
// so that the time of acceptance is close to the time on the wire; enough to never starve it.
constexpr unsigned kPcieQueueTlps = 4;

struct PcieCounters {
  uint64_t writes = 0;  // memory writes that reached the host
  uint64_t write_bytes = 0;
  uint64_t writes_refused = 0;  // of memory that is not granted
  uint64_t reads = 0;
  uint64_t read_bytes = 0;
  uint64_t reads_refused = 0;
  uint64_t interrupts = 0;
  uint64_t stores = 0;  // by a CPU to the device; a block is one
  uint64_t loads = 0;
  uint64_t resets = 0;
};

class PcieLink final : public DevicePort, public PciePort {
 public:
  PcieLink(Scheduler& scheduler, const PcieConfig& config, PcieEndpoint& endpoint);

  // Plugs the host in; until then every DMA is refused. nullptr unplugs it. `outside`: the way of
  // all that the host notices; nullptr: it notices at once.
  void connect_host(HostPort* host, std::unique_ptr<Scheduler::Entrance> outside = nullptr) {
    host_ = host;
    outside_ = std::move(outside);
  }

  // The host's side.
  void mmio_write(unsigned bar, uint64_t offset, unsigned size, uint64_t value) override;
  void mmio_write_block(unsigned bar, uint64_t offset, const uint8_t* data) override;
  void mmio_read(unsigned bar, uint64_t offset, unsigned size, ReadDone done) override;
  void reset() override;

  // TLPs that wait to leave the host, or for the endpoint.
  size_t backlog() override { return down_.queued_units(scheduler_.now()) + endpoint_.backlog(); }

  // The device's side.
  bool can_write() override;
  void write(PostedWrite&& write) override;
  bool can_read() override;
  void read(const ReadRequest& request) override;
  void mmio_read_done(uint64_t data) override;
  bool peek(uint64_t address, uint8_t* out, size_t length) override;

  uint64_t writes_busy_until() override { return busy_until(writes_leave_); }
  uint64_t reads_busy_until() override { return busy_until(reads_leave_); }

  // When this link touches its host next: reads or writes its memory, interrupts it, or answers a
  // load; kNoTouch if nothing of that is under way. What is not under way yet takes the latency.
  static constexpr SimTime kNoTouch = ~SimTime{0};
  SimTime next_touch() const { return touches_.empty() ? kNoTouch : touches_.front(); }

  const PcieCounters& counters() const { return counters_; }

 private:
  struct Load {
    unsigned size;
    ReadDone done;
    uint64_t data;  // of the reply
  };
  struct InFlight {
    PostedWrite write;
    SimTime arrives;
  };
  struct Unplaced {
    uint64_t address;
    Bytes data;
    size_t parts;
  };
  struct Answer {
    ReadRequest request;
    bool refused;
    Bytes data;
  };

  static SimTime busy_until(const std::deque<SimTime>& leave) {
    return leave.size() < kPcieQueueTlps ? 0 : leave[leave.size() - kPcieQueueTlps];
  }
  SimTime arrival(Lane& lane, uint64_t bytes);
  template <typename Action>
  void schedule(SimTime time, Action action);
  template <void (PcieLink::*kArrive)()>
  void schedule(SimTime time);
  template <void (PcieLink::*kArrive)()>
  void schedule_touch(SimTime time);
  template <void (PcieLink::*kArrive)()>
  void touch();
  void arrive_write();
  void join_part();
  void place_parts();
  void place_arrived_parts();
  void place(uint64_t address, const Bytes& data, size_t parts);
  void place_unplaced(uint64_t until);
  void place_for_read(uint64_t address, size_t length);
  template <typename Action>
  void tell_host(Action action);
  void arrive_read();
  void read_memory(const ReadRequest& request);
  void read_later(const ReadRequest& request);
  void answer(const ReadRequest& request, bool good, Bytes&& data);
  void complete();
  void deliver(ReadCompletion&& completion, SimTime arrived);
  void arrive_completion();
  void finish_load();

  Scheduler& scheduler_;
  PcieConfig config_;
  PcieEndpoint& endpoint_;
  HostPort* host_ = nullptr;
  std::unique_ptr<Scheduler::Entrance> outside_;
  PcieCounters counters_;

  Lane up_;
  Lane down_;
  std::deque<SimTime> writes_leave_;  // when each accepted write, or read, has left
  std::deque<SimTime> reads_leave_;
  // On their way: each kind arrives in the order in which it left.
  std::deque<InFlight> writes_;
  std::deque<ReadRequest> reads_;
  Bytes joined_;  // parts of a write, at this address
  uint64_t joined_address_ = 0;
  size_t parts_ = 0;
  std::deque<Unplaced> unplaced_;  // writes on their way to the outside
  uint64_t placed_ = 0;            // of those, how many are in place
  std::deque<Answer> answers_;     // in the host's memory
  std::deque<ReadCompletion> completions_;
  std::deque<Load> loads_;        // not answered yet, oldest first
  size_t replies_ = 0;            // of loads_: replies that the device has given
  std::vector<SimTime> touches_;  // ascending
  uint64_t epoch_ = 0;            // counts resets: what was scheduled before one is void
};

}  // namespace exrnic
