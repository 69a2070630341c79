// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/capture_counters.h"

#include <set>
#include <utility>

#include "sim/ethernet/mac.h"
#include "sim/node/node.h"

namespace exrnic::testing {
namespace {

struct Segment {
  explicit Segment(const Bytes& wire)
      : ddp(wire.data() + EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES),
        opcode(exrnic_ddp_untagged_opcode(ddp)),
        last(exrnic_ddp_untagged_last(ddp) != 0),
        tagged(exrnic_ddp_untagged_t(ddp) != 0) {}

  bool ends_receive() const {
    return !tagged && last && exrnic_ddp_untagged_qn(ddp) == EXRNIC_SEND_QN;
  }
  bool ends_read() const { return last && opcode == EXRNIC_RDMAP_OPCODE_READ_RESPONSE; }
  bool ends_atomic() const { return last && opcode == EXRNIC_RDMAP_OPCODE_ATOMIC_RESPONSE; }
  bool loads_window() const {
    return opcode == EXRNIC_RDMAP_OPCODE_READ_REQUEST &&
           exrnic_read_request_sink_stag(ddp + EXRNIC_DDP_UNTAGGED_BYTES) == EXRNIC_WINDOW_STAG;
  }
  bool is_port_message() const { return tagged && exrnic_ddp_tagged_stag(ddp) == EXRNIC_PORT_STAG; }
  // Into host memory: not into the core, nor to a processor that waits for its load.
  bool is_placed() const {
    return !is_terminate() && opcode != EXRNIC_RDMAP_OPCODE_READ_REQUEST &&
           opcode != EXRNIC_RDMAP_OPCODE_ATOMIC_REQUEST && !is_port_message() &&
           !(tagged && exrnic_ddp_tagged_stag(ddp) == EXRNIC_WINDOW_STAG);
  }
  bool is_terminate() const { return opcode == EXRNIC_RDMAP_OPCODE_TERMINATE; }

  const uint8_t* ddp;
  uint64_t opcode;
  bool last;
  bool tagged;
};

class Counter {
 public:
  explicit Counter(unsigned node) : node_(node) {
    for (const exrnic_counter shown :
         {EXRNIC_COUNTER_FRAMES_TX, EXRNIC_COUNTER_FRAMES_RX, EXRNIC_COUNTER_ACKS_TX,
          EXRNIC_COUNTER_ACKS_RX, EXRNIC_COUNTER_RETRANSMITS, EXRNIC_COUNTER_RX_FCS_ERROR,
          EXRNIC_COUNTER_RX_DUPLICATE, EXRNIC_COUNTER_RX_OUT_OF_ORDER, EXRNIC_COUNTER_TERMINATES_TX,
          EXRNIC_COUNTER_TERMINATES_RX, EXRNIC_COUNTER_RECVS, EXRNIC_COUNTER_READS_SERVED,
          EXRNIC_COUNTER_SEGMENTS_PLACED, EXRNIC_COUNTER_RX_MARKED, EXRNIC_COUNTER_ATOMICS_SERVED,
          EXRNIC_COUNTER_WINDOW_LOADS, EXRNIC_COUNTER_PORT_MESSAGES,
          EXRNIC_COUNTER_CREDIT_UPDATES_TX, EXRNIC_COUNTER_CREDIT_UPDATES_RX}) {
      counts_[shown] = 0;
    }
  }

  // A capture may begin within a session, at rest: then the least number of each sender is the
  // next.
  void begin(const Bytes& wire) {
    const uint8_t* efe = wire.data() + EXRNIC_ETH_BYTES;
    const bool has_segment = (exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_SEQ) != 0;
    if (!has_good_fcs(wire) || is_sent_once(efe) || !has_segment) return;
    const auto seq = static_cast<uint32_t>(exrnic_efe_seq(efe));
    const auto [flow, first] = received_.try_emplace(exrnic_eth_src(wire.data()));
    if (first || static_cast<int32_t>(seq - flow->second.next) < 0) flow->second.next = seq;
  }

  void frame(const Bytes& wire) {
    const uint8_t* efe = wire.data() + EXRNIC_ETH_BYTES;
    const bool has_segment = (exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_SEQ) != 0;
    const bool tells_limit = exrnic_efe_credit(efe) != 0;
    if (exrnic_eth_src(wire.data()) == mac_address(node_) && has_good_fcs(wire)) {
      ++counts_[EXRNIC_COUNTER_FRAMES_TX];
      if (!has_segment) ++counts_[EXRNIC_COUNTER_ACKS_TX];
      if (!has_segment && tells_limit) ++counts_[EXRNIC_COUNTER_CREDIT_UPDATES_TX];
      if (has_segment) sent(wire, efe);
      if (is_new_refusal(efe, refusals_sent_[exrnic_eth_dst(wire.data())]))
        ++counts_[EXRNIC_COUNTER_TERMINATES_TX];
      return;
    }
    ++counts_[EXRNIC_COUNTER_FRAMES_RX];
    if (!has_good_fcs(wire)) {
      ++counts_[EXRNIC_COUNTER_RX_FCS_ERROR];
    } else if (!has_segment) {
      ++counts_[EXRNIC_COUNTER_ACKS_RX];
      if (tells_limit) ++counts_[EXRNIC_COUNTER_CREDIT_UPDATES_RX];
      if (is_new_refusal(efe, refusals_received_[exrnic_eth_src(wire.data())]))
        ++counts_[EXRNIC_COUNTER_TERMINATES_RX];
    } else {
      received(wire, efe);
    }
  }

  std::map<exrnic_counter, uint64_t> take() { return std::move(counts_); }

 private:
  struct Flow {
    std::set<uint32_t> seen;
    uint32_t next = 0;  // all before it are seen
  };

  // Whether what is sent once is placed depends on receives and keys.
  static bool is_sent_once(const uint8_t* efe) {
    return exrnic_efe_klass(efe) != EXRNIC_EFE_CLASS_RELIABLE;
  }

  // It is repeated until it has been heard.
  static bool is_new_refusal(const uint8_t* efe, uint64_t& last) {
    const uint64_t number = exrnic_efe_refusal(efe);
    return number != 0 && std::exchange(last, number) != number;
  }

  void sent(const Bytes& wire, const uint8_t* efe) {
    if (is_sent_once(efe)) return;
    const auto seq = static_cast<uint32_t>(exrnic_efe_seq(efe));
    if (!sent_[exrnic_eth_dst(wire.data())].seen.insert(seq).second) {
      ++counts_[EXRNIC_COUNTER_RETRANSMITS];
      return;
    }
    const Segment segment(wire);
    if (segment.is_terminate()) ++counts_[EXRNIC_COUNTER_TERMINATES_TX];
    if (segment.ends_read()) ++counts_[EXRNIC_COUNTER_READS_SERVED];
    if (segment.ends_atomic()) ++counts_[EXRNIC_COUNTER_ATOMICS_SERVED];
    if (segment.loads_window()) ++counts_[EXRNIC_COUNTER_WINDOW_LOADS];
  }

  void received(const Bytes& wire, const uint8_t* efe) {
    if ((exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_CE) != 0) ++counts_[EXRNIC_COUNTER_RX_MARKED];
    if (is_sent_once(efe)) return;
    const auto seq = static_cast<uint32_t>(exrnic_efe_seq(efe));
    Flow& flow = received_[exrnic_eth_src(wire.data())];
    if (!flow.seen.insert(seq).second) {
      ++counts_[EXRNIC_COUNTER_RX_DUPLICATE];
      return;
    }
    if (seq != flow.next) ++counts_[EXRNIC_COUNTER_RX_OUT_OF_ORDER];
    while (flow.seen.count(flow.next) != 0) ++flow.next;
    const Segment segment(wire);
    if (segment.is_terminate()) ++counts_[EXRNIC_COUNTER_TERMINATES_RX];
    if (segment.ends_receive()) ++counts_[EXRNIC_COUNTER_RECVS];
    if (segment.is_placed()) ++counts_[EXRNIC_COUNTER_SEGMENTS_PLACED];
    if (segment.is_port_message()) ++counts_[EXRNIC_COUNTER_PORT_MESSAGES];
  }

  unsigned node_;
  std::map<uint64_t, uint64_t> refusals_sent_;      // number of the last one, by MAC address
  std::map<uint64_t, uint64_t> refusals_received_;  // likewise
  std::map<uint64_t, Flow> sent_;                   // by the receiver's MAC address
  std::map<uint64_t, Flow> received_;               // by the sender's
  std::map<exrnic_counter, uint64_t> counts_;
};

}  // namespace

std::map<exrnic_counter, uint64_t> capture_counters(const std::vector<Packet>& packets,
                                                    unsigned node) {
  Counter counter(node);
  for (const Packet& packet : packets) counter.begin(packet.wire);
  for (const Packet& packet : packets) counter.frame(packet.wire);
  return counter.take();
}

}  // namespace exrnic::testing
