// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/trace_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "sim/node/node.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kNever = ~uint64_t{0};

// Sequence numbers as numbers that do not wrap: those of a session start at 0.
int64_t since_start(uint64_t seq) {
  return static_cast<int32_t>(static_cast<uint32_t>(seq) - uint32_t{EXRNIC_INITIAL_SEQ});
}

struct Header {
  explicit Header(const CapturedFrame& frame)
      : efe(frame.headers.data() + EXRNIC_ETH_BYTES),
        to(static_cast<unsigned>(exrnic_eth_dst(frame.headers.data()) & 0xffff)),
        from(static_cast<unsigned>(exrnic_efe_src_node(efe))) {}
  bool has(uint64_t flag) const { return (exrnic_efe_flags(efe) & flag) != 0; }

  const uint8_t* efe;
  unsigned to;
  unsigned from;
};

// The most that a congestion window can be, in frames.
class WindowBound {
 public:
  void acknowledged(uint64_t now_ns, int64_t segments, bool echo) {
    past_.push_back({now_ns, frames_});
    const auto n = static_cast<double>(segments);
    if (echo) {
      frames_ -= std::min(n / 2, frames_ / 2);
      slow_start_ = false;
    } else {
      const double growth = slow_start_ ? n : std::min(n, 2 * n / frames_);
      frames_ = std::min(frames_ + growth, double{EXRNIC_WINDOW_MAX});
    }
  }
  // What it may still be for a sender that reacts so late.
  double most(uint64_t now_ns, uint64_t reaction_ns) {
    while (!past_.empty() && past_.front().until_ns + reaction_ns < now_ns) past_.pop_front();
    double most = frames_;
    for (const Past& past : past_) most = std::max(most, past.frames);
    return most + kRounding;
  }

 private:
  static constexpr double kRounding = 1;
  struct Past {
    uint64_t until_ns;
    double frames;
  };
  double frames_ = EXRNIC_WINDOW_INITIAL;
  bool slow_start_ = true;
  std::deque<Past> past_;
};

// What one node has sent to another in the present session, as both ends saw it.
struct Flow {
  struct Segment {
    uint64_t last_sent_ns;
    uint32_t content;
  };

  uint64_t session = 0;
  std::map<int64_t, Segment> sent;
  std::set<int64_t> arrived;
  int64_t arrived_before = 0;     // all numbers below have
  int64_t acknowledged = 0;       // as the sender knows
  uint64_t acknowledged_ns = 0;   // since when
  int64_t ack_sent = 0;           // by the receiver, most
  uint64_t progress_ns = kNever;  // the clock of the time-out runs since then
  WindowBound window;
  // The refusal that is in force, as the receiver sends it.
  struct Refusal {
    uint64_t number;
    int64_t seq;
    uint32_t content;
  };
  std::optional<Refusal> refusal;
  uint64_t refusal_sent = 0;            // number of the last one, in force or not,
  std::set<uint64_t> refusals_arrived;  // and those that came to the sender
  struct Mark {
    uint64_t time_ns;
    bool may_be_echoed;  // an acknowledgement left so soon that nobody can tell
  };
  std::deque<Mark> marks;               // that came and are not echoed
  uint64_t newest_acknowledged_ns = 0;  // when that frame left that left last of those acknowledged
  uint64_t loss_known_ns = kNever;  // when the sender heard or concluded that something is missing
};

class Checker {
 public:
  Checker(unsigned nodes, const TraceRules& rules) : rules_(rules) { verdict_.nodes.resize(nodes); }

  void frame(const CapturedFrame& frame) {
    now_ns_ = frame.time_ns;
    NodeTrace& node = verdict_.nodes.at(frame.node);
    ++(frame.sent ? node.frames_tx : node.frames_rx);
    if (!frame.good_fcs) {
      ++node.rx_fcs_error;
      return;
    }
    if (frame.headers.size() < EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES) return;
    const Header header(frame);
    if (header.from >= verdict_.nodes.size()) return;
    if (exrnic_efe_klass(header.efe) != EXRNIC_EFE_CLASS_RELIABLE) {
      if (!frame.sent) receive_once(header, frame.node, node);
      return;
    }
    if (header.to >= verdict_.nodes.size()) return;
    const bool has_segment = header.has(EXRNIC_EFE_FLAGS_SEQ);
    if (frame.sent) {
      if (has_segment) send(header, frame, node);
      if (!has_segment) ++node.acks_tx;
      if (exrnic_efe_refusal(header.efe) != 0) send_refusal(header, frame);
      if (header.has(EXRNIC_EFE_FLAGS_ACK)) send_ack(header);
    } else {
      if (has_segment) receive(header, frame, node);
      if (!has_segment) ++node.acks_rx;
      if (header.has(EXRNIC_EFE_FLAGS_ACK)) receive_ack(header);
    }
  }

  TraceVerdict take() { return std::move(verdict_); }

 private:
  void fault(const Flow&, const Header& header, int64_t seq, const std::string& what) {
    verdict_.faults.push_back(fmt::format("at {} ns, node {} to node {}, segment {}: {}", now_ns_,
                                          header.from, header.to, seq, what));
  }

  // A new session starts anew.
  Flow& flow_of(const Header& header) {
    Flow& flow = flows_[{header.from, header.to}];
    const uint64_t session = exrnic_efe_session(header.efe);
    if (flow.session != session) {
      flow = Flow{};
      flow.session = session;
    }
    return flow;
  }

  void send(const Header& header, const CapturedFrame& frame, NodeTrace& node) {
    const uint32_t content = frame.segment;
    Flow& flow = flow_of(header);
    const int64_t seq = since_start(exrnic_efe_seq(header.efe));
    const auto known = flow.sent.find(seq);
    if (known == flow.sent.end()) {
      if (seq != static_cast<int64_t>(flow.sent.size())) {
        fault(flow, header, seq, fmt::format("{} is the next number", flow.sent.size()));
      }
      if (flow.acknowledged == static_cast<int64_t>(flow.sent.size())) flow.progress_ns = now_ns_;
      const int64_t under_way = seq + 1 - flow.acknowledged;
      const double most = flow.window.most(now_ns_, rules_.reaction_ns);
      if (under_way > 1 && static_cast<double>(under_way) > most) {
        fault(flow, header, seq,
              fmt::format("{} are under way, the window allows {:.1f}", under_way, most));
      }
      flow.sent[seq] = {now_ns_, content};
      return;
    }
    ++node.retransmits;
    if (flow.arrived.count(seq) != 0) ++node.needless;
    judge_resend(flow, header, seq, known->second, content);
    known->second.last_sent_ns = now_ns_;
  }

  void judge_resend(Flow& flow, const Header& header, int64_t seq, const Flow::Segment& segment,
                    uint32_t content) {
    if (content != segment.content) fault(flow, header, seq, "sent again with other bytes");
    if (seq < flow.acknowledged && now_ns_ > flow.acknowledged_ns + rules_.reaction_ns) {
      fault(flow, header, seq, "sent again although it is acknowledged");
    }
    const bool told = flow.loss_known_ns != kNever &&
                      segment.last_sent_ns < flow.loss_known_ns + rules_.reaction_ns;
    // Also by the acknowledgement of a copy that left later than this one.
    if (told || segment.last_sent_ns < flow.newest_acknowledged_ns) return;
    if (now_ns_ + rules_.seen_ns < flow.progress_ns + rules_.least_rto_ns) {
      fault(flow, header, seq,
            fmt::format("sent again without a cause, {} ns after the last progress",
                        now_ns_ - flow.progress_ns));
    }
    flow.loss_known_ns = flow.progress_ns = now_ns_;
  }

  void receive(const Header& header, const CapturedFrame& frame, NodeTrace& node) {
    // An introduction is neither placed nor dropped; a second copy is dropped.
    Flow& flow = flows_[{header.from, header.to}];
    if (!frame.introduction || flow.session != exrnic_efe_session(header.efe) ||
        flow.arrived.count(since_start(exrnic_efe_seq(header.efe))) != 0)
      ++node.segments_rx;
    const bool marked = header.has(EXRNIC_EFE_FLAGS_CE);
    node.rx_marked += marked;
    if (flow.session != exrnic_efe_session(header.efe)) return;  // late, of one that has ended
    if (marked) flow.marks.push_back({now_ns_, false});
    flow.arrived.insert(since_start(exrnic_efe_seq(header.efe)));
    while (flow.arrived.count(flow.arrived_before) != 0) ++flow.arrived_before;
  }

  // What is sent once, perhaps to a group. Whether its mark is echoed depends on whether anything
  // is acknowledged.
  void receive_once(const Header& header, unsigned receiver, NodeTrace& node) {
    ++node.segments_rx;
    if (!header.has(EXRNIC_EFE_FLAGS_CE)) return;
    ++node.rx_marked;
    flows_[{header.from, receiver}].marks.push_back({now_ns_, true});
  }

  // The flow that an acknowledgement from `header.from` speaks of; nullptr: an older session's.
  Flow* acknowledged_flow(const Header& header) {
    Flow& flow = flows_[{header.to, header.from}];
    return flow.session == exrnic_efe_peer_session(header.efe) ? &flow : nullptr;
  }

  void send_ack(const Header& header) {
    Flow* flow = acknowledged_flow(header);
    if (flow == nullptr) return;
    const int64_t ack = since_start(exrnic_efe_ack(header.efe));
    if (ack > flow->arrived_before) fault(*flow, header, ack, "acknowledged before it arrived");
    if (ack < flow->ack_sent) fault(*flow, header, ack, "an acknowledgement is taken back");
    if (flow->refusal && ack > flow->refusal->seq)
      fault(*flow, header, ack, "acknowledged beyond a refused segment that nobody has heard of");
    flow->ack_sent = std::max(flow->ack_sent, ack);
    judge_echo(*flow, header, ack);
    judge_heard(header);
  }

  // That of our session that the receiver speaks of.
  void judge_heard(const Header& header) {
    const uint64_t heard = exrnic_efe_heard(header.efe);
    Flow& flow = flows_[{header.from, header.to}];
    if (heard != 0 && flow.session == exrnic_efe_session(header.efe) &&
        flow.refusals_arrived.count(heard) == 0)
      fault(flow, header, flow.acknowledged,
            fmt::format("refusal {} is heard that did not come", heard));
  }

  // Of numbers of refusals.
  static bool follows(uint64_t last, uint64_t next) { return next == last % UINT8_MAX + 1; }

  void send_refusal(const Header& header, const CapturedFrame& frame) {
    Flow* flow = acknowledged_flow(header);
    if (flow == nullptr) return;
    const uint64_t number = exrnic_efe_refusal(header.efe);
    const int64_t seq = since_start(exrnic_efe_seq(header.efe));
    if (header.has(EXRNIC_EFE_FLAGS_SEQ | EXRNIC_EFE_FLAGS_SACK) || !frame.terminate)
      fault(*flow, header, seq, "a refusal is no terminate message alone");
    if (since_start(exrnic_efe_ack(header.efe)) != seq)
      fault(*flow, header, seq, "refused in a frame that does not acknowledge all before it");
    if (number == flow->refusal_sent) {
      const auto& known = flow->refusal;
      if (known && (known->seq != seq || known->content != frame.segment))
        fault(*flow, header, seq, fmt::format("refusal {} has changed", number));
      return;
    }
    if (flow->refusal)
      fault(*flow, header, seq,
            fmt::format("refused while refusal {} is in force", flow->refusal->number));
    if (flow->refusal_sent != 0 && !follows(flow->refusal_sent, number))
      fault(*flow, header, seq,
            fmt::format("refusal {} comes behind {}", number, flow->refusal_sent));
    if (seq >= flow->arrived_before) fault(*flow, header, seq, "refused before it arrived");
    flow->refusal = {number, seq, frame.segment};
    flow->refusal_sent = number;
  }

  void judge_echo(Flow& flow, const Header& header, int64_t ack) {
    const auto old = [this](const Flow::Mark& mark) {
      return mark.time_ns + rules_.reaction_ns < now_ns_;
    };
    std::deque<Flow::Mark>& marks = flow.marks;
    if (header.has(EXRNIC_EFE_FLAGS_ECE)) {
      if (marks.empty()) fault(flow, header, ack, "a mark is echoed that never came");
      while (!marks.empty() && old(marks.front())) marks.pop_front();
      for (Flow::Mark& mark : marks) mark.may_be_echoed = true;
      return;
    }
    while (!marks.empty() && old(marks.front())) {
      if (!marks.front().may_be_echoed) fault(flow, header, ack, "a mark is not echoed");
      marks.pop_front();
    }
  }

  void receive_ack(const Header& header) {
    Flow* flow = acknowledged_flow(header);
    if (flow == nullptr) return;
    const int64_t ack = since_start(exrnic_efe_ack(header.efe));
    if (ack > flow->acknowledged) {
      flow->window.acknowledged(now_ns_, ack - flow->acknowledged,
                                header.has(EXRNIC_EFE_FLAGS_ECE));
      for (int64_t seq = flow->acknowledged; seq < ack; ++seq) {
        const auto sent = flow->sent.find(seq);
        if (sent != flow->sent.end())
          flow->newest_acknowledged_ns =
              std::max(flow->newest_acknowledged_ns, sent->second.last_sent_ns);
      }
      flow->acknowledged = ack;
      flow->acknowledged_ns = flow->progress_ns = now_ns_;
    }
    if (header.has(EXRNIC_EFE_FLAGS_SACK)) {
      flow->loss_known_ns = now_ns_;
    }
    if (const uint64_t refusal = exrnic_efe_refusal(header.efe))
      flow->refusals_arrived.insert(refusal);
    // What the peer has heard of ours.
    Flow& theirs = flows_[{header.from, header.to}];
    if (theirs.refusal && theirs.session == exrnic_efe_session(header.efe) &&
        theirs.refusal->number == exrnic_efe_heard(header.efe))
      theirs.refusal.reset();
  }

  const TraceRules rules_;
  uint64_t now_ns_ = 0;
  std::map<std::pair<unsigned, unsigned>, Flow> flows_;  // by sender and receiver
  TraceVerdict verdict_;
};

}  // namespace

TraceVerdict check_trace(const std::vector<CapturedFrame>& frames, unsigned nodes,
                         const TraceRules& rules) {
  Checker checker(nodes, rules);
  for (const CapturedFrame& frame : frames) checker.frame(frame);
  return checker.take();
}

std::vector<std::string> compare_counters(const NodeTrace& trace,
                                          const std::vector<uint64_t>& counters) {
  const uint64_t dealt_with =
      counters[EXRNIC_COUNTER_SEGMENTS_PLACED] + counters[EXRNIC_COUNTER_RX_DUPLICATE] +
      counters[EXRNIC_COUNTER_RX_OVERFLOW] + counters[EXRNIC_COUNTER_RX_SESSION] +
      counters[EXRNIC_COUNTER_RX_DISCARDED] + counters[EXRNIC_COUNTER_UNRELIABLE_DROPPED] -
      counters[EXRNIC_COUNTER_GROUP_COPIES];
  const struct {
    const char* name;
    uint64_t counted;
    uint64_t seen;
  } rows[] = {
      {"FRAMES_TX", counters[EXRNIC_COUNTER_FRAMES_TX], trace.frames_tx},
      {"FRAMES_RX", counters[EXRNIC_COUNTER_FRAMES_RX], trace.frames_rx},
      {"ACKS_TX", counters[EXRNIC_COUNTER_ACKS_TX], trace.acks_tx},
      {"ACKS_RX", counters[EXRNIC_COUNTER_ACKS_RX], trace.acks_rx},
      {"RETRANSMITS", counters[EXRNIC_COUNTER_RETRANSMITS], trace.retransmits},
      {"RX_MARKED", counters[EXRNIC_COUNTER_RX_MARKED], trace.rx_marked},
      {"RX_FCS_ERROR", counters[EXRNIC_COUNTER_RX_FCS_ERROR], trace.rx_fcs_error},
      {"segments placed or dropped", dealt_with, trace.segments_rx},
  };
  std::vector<std::string> differences;
  for (const auto& row : rows) {
    if (row.counted == row.seen) continue;
    differences.push_back(
        fmt::format("{}: {} counted, {} in the capture", row.name, row.counted, row.seen));
  }
  return differences;
}

}  // namespace exrnic::testing
