// SPDX-License-Identifier: BSD-2-Clause
// A host that does its part of a workload, in no time: it sets its RNIC up, posts what is due, and
// looks at completions as they come. It acts within the callbacks of its node alone, so hosts run
// side by side where their nodes do.
//
// Its memory is what it has to be: rings, and of the rest only what an address says. Payload reads
// as zero and forgets what is written; the slots of all receive queues are one; a list of pages
// names page n in its nth entry.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtl-model/systemc/core.h"
#include "rtl-model/systemc/scheduler.h"
#include "sim/node/node.h"
#include "sim/pcie/host_port.h"
#include "sim/workload/plan.h"
#include "sim/workload/workload.h"

namespace exrnic::workload {

// How a message went; in ps.
struct Sent {
  static constexpr SimTime kNotYet = ~SimTime{0};
  SimTime start = kNotYet;  // when it was posted; of an open loop: when it was due
  SimTime end = kNotYet;
  bool failed = false;
};

class Host final : public HostPort {
 public:
  // Plugs itself into the node, and begins to set it up. All of these outlive it. Throws
  // DataFileError when one completion queue is too small for all that it does.
  Host(Node& node, const Workload& workload, const Plan& plan, const std::string& where);
  ~Host() override;

  // Whether its RNIC is set up; throws std::runtime_error that says why it is not.
  void require_ready() const;

  // While nothing is in flight: the workload begins then.
  void start(SimTime begin);

  // Of each endpoint of the plan: its messages, and how many have come.
  const std::vector<Sent>& sent(size_t endpoint) const { return flows_.at(endpoint).sent; }
  uint64_t received(size_t endpoint) const { return flows_.at(endpoint).received; }

  bool dma_read(uint64_t address, uint8_t* out, size_t length) override;
  bool dma_write(uint64_t address, const uint8_t* data, size_t length) override;
  void fire_msix(unsigned /*vector*/) override {}

 private:
  struct QueuePair {
    uint32_t qpn;
    unsigned endpoint;
    unsigned peer;  // its index in the endpoint
    unsigned ring;  // of its send queue
    uint32_t log_slots;
    uint32_t log_receives;         // slots of the receive queue
    uint16_t sends = 0;            // posted
    uint16_t receives = 0;         // likewise
    std::vector<uint32_t> posted;  // messages, by slot
  };
  struct Flow {
    std::vector<Sent> sent;
    std::vector<QueuePair*> to;  // by peer of the endpoint
    uint32_t next = 0;
    unsigned under_way = 0;
    uint64_t received = 0;
    std::unique_ptr<Scheduler::Alarm> due;
  };
  struct Command {
    exrnic_mbox_op op;
    std::vector<uint32_t> payload;
  };

  void add_queue_pairs(const Endpoint& endpoint, unsigned index);
  void await_ready();
  bool has_patience();
  void set_up(size_t step);
  void await_command(size_t step);
  Command command(size_t step) const;
  Command create_qp(const QueuePair& qp) const;
  Command modify_qp(const QueuePair& qp, exrnic_qp_state state) const;
  bool takes_receives(const QueuePair& qp) const;
  uint32_t places_for_pulls(const QueuePair& qp) const;

  void advance(unsigned endpoint);
  void post(unsigned endpoint, const Message& message);
  void take_completions();
  void take(const exrnic_cqe& cqe);
  void post_receives(QueuePair& qp, uint32_t count);
  void ring_doorbell(uint32_t offset, uint32_t number, uint32_t index);
  unsigned add_ring(uint64_t bytes);

  const Traffic& traffic_of(const QueuePair& qp) const {
    return workload_.traffic[endpoints_[qp.endpoint].traffic];
  }

  Node& node_;
  const Workload& workload_;
  const Plan& plan_;
  const std::vector<Endpoint>& endpoints_;
  std::vector<Flow> flows_;             // by endpoint
  std::vector<QueuePair> queue_pairs_;  // by number
  std::vector<Bytes> rings_;            // the first one is that of the completions
  uint32_t log_completions_ = 0;
  uint32_t completions_ = 0;  // taken
  bool looks_ = false;        // at completions, in a moment
  uint32_t largest_ = 0;      // message
  bool ready_ = false;
  std::optional<SimTime> waits_since_;  // for what setting up does now
  std::string trouble_;
  SimTime begin_ = 0;
};

}  // namespace exrnic::workload
