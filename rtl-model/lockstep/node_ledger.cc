// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/lockstep/node_ledger.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "rtl-model/lockstep/mismatch.h"

namespace exrnic::lockstep {
namespace {

std::string text_of(const exrnic_cqe& cqe) {
  exrnic_cqe rest = cqe;
  rest.timestamp = 0;
  std::string bytes;
  const auto* first = reinterpret_cast<const uint8_t*>(&rest);
  for (size_t i = offsetof(exrnic_cqe, wqe_index); i < sizeof rest; ++i)
    bytes += fmt::format("{:02x}", first[i]);
  return fmt::format("opcode {} index {} status {} bytes {} detail {:#x} (all but time: {})",
                     cqe.opcode, cqe.wqe_index, cqe.status, cqe.byte_length, cqe.detail, bytes);
}

std::string text_of(int byte) {
  return byte < 0 ? std::string("nothing") : fmt::format("{:#04x}", byte);
}

}  // namespace

bool SameCompletion::operator()(const exrnic_cqe& expected, const exrnic_cqe& came) const {
  exrnic_cqe a = expected, b = came;
  for (exrnic_cqe* cqe : {&a, &b}) {
    cqe->timestamp = 0;
    cqe->phase = 0;
    // How much of a work request had been read when it failed is a matter of time.
    if (cqe->status != EXRNIC_CQE_STATUS_SUCCESS) cqe->byte_length = cqe->opcode = 0;
  }
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// Which of the receives that they share a message takes, is a matter of time.
NodeLedger::NodeLedger(uint32_t node, Excuses& excuses, Messages& messages)
    : node_(node), excuses_(excuses), messages_(messages), excused_([this](const Owner& owner) {
        return excuses_.cut_short(owner.qp) ||
               (owner.receive && driver_.shares_receives(owner.qp.qpn));
      }) {}

void NodeLedger::predict(const PostedWrite& write, const Owner& owner) {
  if (write.kind == PostedWrite::Kind::kMsix) {
    ++fired_[size_t(Side::kReference)].at(write.address);
    return;
  }
  if (take_completion(Side::kReference, write) || take_event(Side::kReference, write)) return;
  if (const auto difference = memory_.predict(write.address, write.data, owner, excused_))
    report(*difference);
}

void NodeLedger::done(const PostedWrite& write) {
  if (write.kind == PostedWrite::Kind::kMsix) {
    ++fired_[size_t(Side::kSubject)].at(write.address);
    return;
  }
  if (take_completion(Side::kSubject, write) || take_event(Side::kSubject, write)) return;
  const auto explained_by = [&] { return explanations(write.data); };
  if (const auto difference = memory_.done(write.address, write.data, excused_, explained_by))
    report(*difference);
}

// ---- Completions. One that is not in its place, the next of a ring, is a write like any other:
// and one that nobody expects.

bool NodeLedger::take_completion(Side side, const PostedWrite& write) {
  exrnic_cqe cqe;
  if (write.data.size() != sizeof cqe) return false;
  std::memcpy(&cqe, write.data.data(), sizeof cqe);
  CompletionRing* ring = driver_.ring_of(cqe);
  if (ring == nullptr) return false;
  uint32_t& next = ring->next[size_t(side)];
  const CompletionRing::Place* place = ring->place_of(side, write.address);
  if (place == nullptr) return false;
  const uint8_t phase = place->phase_of(next);
  if (cqe.phase != phase)
    throw Mismatch(
        fmt::format("queue pair {}: phase of entry {} of completion queue {}: expected "
                    "{}, came {}",
                    cqe.qpn, next, ring->cqn, phase, cqe.phase));
  ++next;
  driver_.ended(side, cqe);
  judge(cqe);
  if (side == Side::kSubject) messages_.completed({node_, cqe.qpn}, cqe);
  compare(side, cqe);
  return true;
}

void NodeLedger::judge(const exrnic_cqe& cqe) {
  const Endpoint qp{node_, cqe.qpn};
  if (cqe.status != EXRNIC_CQE_STATUS_SUCCESS) excuses_.failed(qp);
  if (cqe.status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR) excuses_.lost(qp);
}

void NodeLedger::compare(Side side, exrnic_cqe cqe) {
  const bool receive = cqe.opcode == EXRNIC_WQE_OPCODE_RECV;
  if (receive && driver_.shares_receives(cqe.qpn)) cqe.wqe_index = 0;
  Completions& stream = completions_[{cqe.qpn, receive}];
  const auto difference = side == Side::kReference ? stream.predict(cqe) : stream.done(cqe);
  if (!difference) return;
  if (excuses_.any_outcome({node_, cqe.qpn})) return excuses_.lost({node_, cqe.qpn});
  throw Mismatch(fmt::format("queue pair {}: completion: expected {}; came {}", cqe.qpn,
                             text_of(difference->expected), text_of(difference->came)));
}

// ---- Events

bool NodeLedger::take_event(Side side, const PostedWrite& write) {
  exrnic_eqe eqe;
  if (write.data.size() != sizeof eqe) return false;
  EventRing* ring = driver_.event_ring_at(side, write.address);
  if (ring == nullptr) return false;
  std::memcpy(&eqe, write.data.data(), sizeof eqe);
  uint32_t& next = ring->next[size_t(side)];
  const uint8_t phase = !(next >> ring->log_entries & 1);
  const auto type = static_cast<exrnic_eqe_type>(eqe.event_type);
  if (eqe.phase != phase || eqe.object != exrnic_of_eqe_type(type).object)
    throw Mismatch(fmt::format("event {} of type {} about {}: phase {}, object {}", next,
                               eqe.event_type, eqe.number, eqe.phase, eqe.object));
  ++next;
  ring->differs |= ring->is_full(side);
  EventRing::Told& told = ring->told[{eqe.event_type, eqe.number}];
  ++told.times[size_t(side)];
  told.detail[size_t(side)] = eqe.detail;
  return true;
}

// ---- Memory

void NodeLedger::received(Segment&& segment) {
  received_.push_back(std::move(segment));
  if (received_.size() > kReceived) received_.pop_front();
}

std::vector<Owner> NodeLedger::explanations(const Bytes& data) const {
  std::vector<Owner> by;
  for (const Segment& segment : received_) {
    const auto at = std::search(segment.ddp.begin(), segment.ddp.end(), data.begin(), data.end());
    if (at != segment.ddp.end()) by.push_back(segment.owner());
  }
  return by;
}

void NodeLedger::report(const MemoryLedger::Difference& difference) const {
  const std::string who =
      difference.expected < 0 ? "" : fmt::format("queue pair {}: ", difference.owner.qp.qpn);
  throw Mismatch(fmt::format("{}memory at {:#x}: expected {}, came {}", who, difference.address,
                             text_of(difference.expected), text_of(difference.came)));
}

// ---- Rest

void NodeLedger::rest(bool excused) {
  rest_completions();
  if (const auto left = memory_.unmatched(excused_)) report(*left);
  for (const Endpoint& qp : memory_.unwritten_for())
    if (excuses_.cut_short(qp)) excuses_.lost(qp);
  if (!excused) rest_events();
  if (!excused) rest_interrupts();
  completions_.clear();
  memory_.clear();
  received_.clear();
  driver_.rest(excused);
  fired_ = {};
}

void NodeLedger::rest_completions() {
  for (const auto& [queue, stream] : completions_) {
    if (stream.empty()) continue;
    if (excuses_.any_outcome({node_, queue.qpn})) {
      excuses_.lost({node_, queue.qpn});
      continue;
    }
    const bool missing = !stream.expected().empty();
    throw Mismatch(fmt::format("queue pair {}: completion: expected {}; came {}", queue.qpn,
                               missing ? text_of(stream.expected().front()) : "nothing, at rest",
                               missing ? "nothing until rest" : text_of(stream.came().front())));
  }
}

// Both have told of the same. How often is a matter of time where it has happened again meanwhile.
void NodeLedger::rest_events() const {
  for (const auto& [eqn, ring] : driver_.event_rings()) {
    if (ring.differs) continue;
    for (const auto& [what, told] : ring.told) {
      const unsigned expected = told.times[size_t(Side::kReference)];
      const unsigned came = told.times[size_t(Side::kSubject)];
      const bool fired = what.first == EXRNIC_EQE_TYPE_COMPLETION;
      if (fired && driver_.completions_differ(what.second)) continue;
      const bool same = expected != 1 || came != 1 || told.detail[0] == told.detail[1];
      if ((expected == 0) == (came == 0) && same) continue;
      throw Mismatch(
          fmt::format("event queue {}: type {} about {}: expected {}, came {}; details {}", eqn,
                      what.first, what.second, expected, came, fmt::join(told.detail, ", ")));
    }
  }
}

// A reference that is ahead fires for an armed queue at once where the subject waits for the
// completion: never less often, and not for nothing.
void NodeLedger::rest_interrupts() const {
  for (size_t vector = 0; vector < EXRNIC_MSIX_VECTORS; ++vector) {
    const unsigned expected = fired_[size_t(Side::kReference)][vector];
    const unsigned came = fired_[size_t(Side::kSubject)][vector];
    const bool control = vector == EXRNIC_MSIX_VECTOR_CONTROL || driver_.is_of_events(vector);
    const bool few_enough = control ? expected > 0 || came == 0 : came <= expected;
    const bool enough = came > 0 || expected == 0;
    if ((few_enough && enough) || driver_.arms_differ(vector)) continue;
    throw Mismatch(
        fmt::format("vector {}: expected {} interrupts since the last rest, or fewer for as many "
                    "events; came {}",
                    vector, expected, came));
  }
}

}  // namespace exrnic::lockstep
