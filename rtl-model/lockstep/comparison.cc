// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/lockstep/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "exrnic_hw.h"
#include "rtl-model/lockstep/mismatch.h"
#include "rtl-model/lockstep/registers.h"

namespace exrnic::lockstep {
namespace {

std::string text_of(const Bytes& bytes) {
  std::string text = fmt::format("{} bytes", bytes.size());
  constexpr size_t kShown = EXRNIC_DDP_UNTAGGED_BYTES;
  for (size_t i = 0; i < std::min(kShown, bytes.size()); ++i)
    text += fmt::format("{}{:02x}", i % 4 ? "" : " ", bytes[i]);
  return text;
}

// Where they differ: headers are shown, payload would be too long.
std::string text_of(const Segment& expected, const Segment& came) {
  const auto [e, c] =
      std::mismatch(expected.ddp.begin(), expected.ddp.end(), came.ddp.begin(), came.ddp.end());
  return fmt::format("expected {}; came {}; they differ from byte {} on", text_of(expected.ddp),
                     text_of(came.ddp), e - expected.ddp.begin());
}

}  // namespace

// Matters of time: of which of its segments a queue pair in ERROR tells the peer first; and what a
// load of a window sees, as a store before it may be on its way to memory.
bool Comparison::SameSegment::operator()(const Segment& expected, const Segment& came) const {
  if (expected.to != came.to || expected.immediate != came.immediate ||
      expected.number != came.number || expected.keys != came.keys)
    return false;
  if (expected.answers_load() && came.answers_load())
    return std::equal(expected.ddp.begin(), expected.ddp.begin() + EXRNIC_DDP_TAGGED_BYTES,
                      came.ddp.begin()) &&
           expected.ddp.size() == came.ddp.size();
  const bool stream_error = expected.terminate_code() == EXRNIC_TERM_CODE_STREAM &&
                            came.terminate_code() == EXRNIC_TERM_CODE_STREAM;
  return stream_error || expected.ddp == came.ddp;
}

Comparison::Comparison(CoreFactory make_reference)
    : excuses_([this](const Endpoint& qp) { return peer_of(qp); }),
      fabric_(std::move(make_reference), *this) {}

void Comparison::add(const CoreConfig& config, Subject& subject) {
  nodes_.try_emplace(config.node_id, config.node_id, excuses_, messages_, subject);
  fabric_.add(config);
}

// Says where and when.
template <typename Act>
void Comparison::at_node(uint32_t node, Act act) const {
  try {
    act();
  } catch (const Mismatch& mismatch) {
    throw Mismatch(fmt::format("lockstep: node {} at {} ns: {}", node, time_ns_, mismatch.what()));
  }
}

Endpoint Comparison::peer_of(const Endpoint& qp) const {
  const auto node = nodes_.find(qp.node);
  if (node == nodes_.end()) return qp;
  const auto& all = node->second.ledger.driver().queue_pairs();
  const auto found = all.find(qp.qpn);
  if (found == all.end() || !found->second.peer) return qp;
  return {found->second.peer->node, found->second.peer->qpn};
}

// ---- Inputs of the subject. Those of the host: comparison_host.cc.

void Comparison::received(uint32_t id, const Frame& frame) {
  quiet_ = false;
  if (frame.fcs_error) return;
  auto segment = segment_of(frame);
  if (!segment) return;
  if (segment->number) came_once(id, frame, *segment);
  nodes_.at(id).ledger.received(std::move(*segment));
}

void Comparison::step(uint64_t time_ns) {
  time_ns_ = time_ns;
  const bool moves = !fabric_.idle() || fabric_.wakes_at_ns() <= time_ns;
  if (moves && fabric_.run(time_ns)) look_for_overruns();
  if (quiet_ || !fabric_.idle()) return;
  if (all_rest()) rest();
}

bool Comparison::all_rest() const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [](const auto& entry) { return entry.second.subject->at_rest(); });
}

// ---- Outputs of the subject

void Comparison::loaded(uint32_t id, const Expectation& expectation, uint64_t value) {
  const MmioAccess& access = expectation.access;
  if (access.bar == EXRNIC_BAR_REGISTERS && access.offset == EXRNIC_REG_MBOX_STATUS &&
      value != EXRNIC_MBOX_STATUS_BUSY)
    nodes_.at(id).ledger.driver().subject_ended(value == EXRNIC_MBOX_STATUS_OK);
  at_node(id, [&] {
    if (value == expectation.value || !must_equal(nodes_.at(id), expectation, value)) return;
    throw Mismatch(fmt::format("load of BAR {} offset {:#x}: expected {:#x}, came {:#x}",
                               expectation.access.bar, expectation.access.offset, expectation.value,
                               value));
  });
}

bool Comparison::must_equal(const Node& node, const Expectation& expectation,
                            uint64_t value) const {
  if (expectation.access.bar == EXRNIC_BAR_WINDOW) return false;  // of the peer's memory, sooner
  if (expectation.access.bar != EXRNIC_BAR_REGISTERS) return true;
  switch (kind_of(expectation.access.offset)) {
    case RegisterKind::kConstant:
      return true;
    case RegisterKind::kReadiness:  // the subject has tables to clear
      return value & EXRNIC_DEVICE_STATUS_READY;
    case RegisterKind::kOutcome:
      return value != EXRNIC_MBOX_STATUS_BUSY && !excuses_.lost_at(node.id);
    case RegisterKind::kAnswer:
      return node.command_quiet && expectation.quiet && !excuses_.lost_at(node.id);
    case RegisterKind::kCause:
      return expectation.quiet && !node.counters_differ;
    case RegisterKind::kCounter:
      return expectation.quiet && !node.counters_differ;
    default:
      return false;
  }
}

void Comparison::done(uint32_t id, const PostedWrite& write) {
  quiet_ = false;
  at_node(id, [&] { nodes_.at(id).ledger.done(write); });
}

void Comparison::sent(uint32_t id, const Frame& frame) {
  quiet_ = false;
  at_node(id, [&] { segment(id, Side::kSubject, frame); });
}

// How many requests wait at a peer that refuses one, how often a message finds no receive, and
// whose does among those that share them, is a matter of time.
void Comparison::terminated(const Node& node, const Segment& segment) {
  excuses_.failed(segment.from);
  excuses_.failed(segment.to);
  if (segment.terminate_code() != EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER) return;
  const DriverView& driver = node.ledger.driver();
  if (segment.quotes_read_request() || segment.asks_for_pause) excuses_.lost(segment.from);
  if (driver.shares_receives(segment.from.qpn))
    lose_shared(node.id, driver.queue_pairs().at(segment.from.qpn).srqn);
}

void Comparison::segment(uint32_t id, Side side, const Frame& frame) {
  auto segment = segment_of(frame);
  Node& node = nodes_.at(id);
  if (!segment || !node.copies[size_t(side)].first(frame)) return;
  if (segment->asks_for_pulls()) {
    placed_differ_ = true;
    return;
  }
  const Endpoint from = segment->from;
  // How many introductions it takes until two have met is a matter of time.
  if (segment->stream == Stream::kIntroduction && !segment->asks_for_peer()) return;
  if (side == Side::kSubject) ++node.sent[{from.qpn, segment->stream}];
  if (segment->stream == Stream::kIntroduction) return;
  if (segment->stream == Stream::kTerminate) terminated(node, *segment);
  // Whether a greeting found the port enabled is a matter of time, and so what is answered.
  if (segment->is_of_port() && segment->says_port_state()) return;
  // So is in which order a scratchpad is written from both sides, and how often what it holds is
  // told.
  if (segment->is_of_port() && segment->tells_scratchpad()) return;
  if (segment->is_write() && node.ledger.driver().has_window(from.qpn)) {
    for (Segment& byte : segment->bytes()) compare(node, side, std::move(byte));
  } else {
    compare(node, side, std::move(*segment));
  }
}

void Comparison::compare(Node& node, Side side, Segment&& segment) {
  const Endpoint from = segment.from;
  Segments& stream = node.segments[{from.qpn, segment.stream}];
  const auto difference = [&] {
    if (side == Side::kReference) return stream.predict(std::move(segment));
    return stream.done(std::move(segment));
  }();
  if (!difference) return;
  if (excuses_.any_outcome(from)) return excuses_.lost(from);
  throw Mismatch(fmt::format("queue pair {}: segment: {}", from.qpn,
                             text_of(difference->expected, difference->came)));
}

// ---- What the shadows say and ask

bool Comparison::read_memory(uint32_t id, uint64_t address, uint8_t* out, size_t length) {
  Node& node = nodes_.at(id);
  if (!node.subject->peek(address, out, length)) return false;
  node.ledger.overlay(address, out, length);
  return true;
}

void Comparison::predict(uint32_t id, const PostedWrite& write, const Owner& owner) {
  at_node(id, [&] { nodes_.at(id).ledger.predict(write, owner); });
}

void Comparison::predict(uint32_t id, const Frame& frame) {
  at_node(id, [&] { segment(id, Side::kReference, frame); });
}

// What a shadow would refuse only because it is ahead (of the receive for it, or of the driver who
// connects the queue pair) waits until the subject has sent it too.
bool Comparison::may_deliver(const Frame& frame) {
  const auto segment = segment_of(frame);
  if (segment->asks_for_pulls()) return true;
  const auto& [from, to] = std::pair{segment->from, segment->to};
  Node& sender = nodes_.at(from.node);
  uint64_t& delivered = sender.delivered[{from.qpn, segment->stream}];
  const auto receiver = nodes_.find(to.node);
  const bool needs_peer = segment->stream == Stream::kWork || segment->asks_for_peer();
  const bool ready = receiver == nodes_.end() || !needs_peer || segment->is_of_port() ||
                     receiver->second.ledger.driver().is_ready(to.qpn, segment->takes_receive());
  if (!ready && delivered >= sender.sent[{from.qpn, segment->stream}] && !all_rest() &&
      !excuses_.any_outcome(from))
    return false;
  if (sender.deliveries.first(frame) && (needs_peer || segment->stream != Stream::kIntroduction))
    ++delivered;
  return true;
}

// ---- What is sent once: a shadow gets the frames that its subject gets, as they come to it

// Whether a message finds its receive, or its queue pair connected, is a matter of time if it came
// before.
void Comparison::came_once(uint32_t id, const Frame& frame, const Segment& segment) {
  const DriverView& driver = nodes_.at(id).ledger.driver();
  for (const uint32_t qpn : driver.addressees(segment.to.qpn, segment.group()))
    if (driver.queue_pairs().count(qpn) != 0 && !driver.is_ready(qpn, segment.takes_receive()))
      excuses_.lost({id, qpn});
  at_node(id, [&] { fabric_.deliver(id, frame); });
}

// ---- Rest

void Comparison::rest() {
  for (auto& [id, node] : nodes_)
    for (const auto& entry : node.ledger.driver().queue_pairs())
      if (excuses_.any_outcome({id, entry.first})) node.ledger.driver().skew_receives(entry.first);
  for (auto& [id, node] : nodes_)
    at_node(id, [&, id = id, &node = node] {
      node.ledger.rest(excuses_.any_at(id));
      rest_segments(node);
      node.segments.clear();
      node.sent.clear();
      node.delivered.clear();
      rest_counters(id, node);
    });
  rest_messages();
  excuses_.rest();
  quiet_ = true;
}

void Comparison::rest_messages() {
  for (auto& [id, node] : nodes_) {
    const uint32_t overruns = node.subject->read_register(overrun_counter());
    if (overruns != std::exchange(node.subject_overruns, overruns)) messages_.overrun(id);
  }
  messages_.rest();
}

void Comparison::rest_segments(const Node& node) {
  for (const auto& [key, stream] : node.segments) {
    const Endpoint from{node.id, key.first};
    if (stream.empty()) continue;
    if (excuses_.cut_short(from)) {
      excuses_.lost(from);
      continue;
    }
    const bool missing = !stream.expected().empty();
    const Segment& left = missing ? stream.expected().front() : stream.came().front();
    throw Mismatch(fmt::format(
        "queue pair {}: segment {}: {}", from.qpn,
        missing ? "expected and not sent until rest" : "sent and not expected", text_of(left.ddp)));
  }
}

// Where time decided something, counters are compared by their difference from then on.
void Comparison::rest_counters(uint32_t id, Node& node) {
  const bool excused = excuses_.any_at(id);
  for (const uint32_t offset : compared_counters()) {
    if (placed_differ_ && offset == placed_counter()) continue;
    const uint32_t came = node.subject->read_register(offset);
    const uint32_t expected = shadow_register(id, offset);
    uint32_t& ahead = node.ahead[offset];
    if (excused && came - expected != ahead) {
      ahead = came - expected;
      node.counters_differ = true;
    }
    if (came - expected != ahead)
      throw Mismatch(fmt::format("counter {}: expected {}, came {}", counter_name(offset),
                                 expected + ahead, came));
  }
}

}  // namespace exrnic::lockstep
