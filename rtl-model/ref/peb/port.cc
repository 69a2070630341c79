// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/peb/port.h"

#include <algorithm>
#include <utility>

#include "rtl-model/ref/cut.h"
#include "rtl-model/ref/ddp_check.h"
#include "rtl-model/ref/ddp_header.h"

namespace exrnic::peb {
namespace {

uint16_t drawn(uint64_t number) {
  const auto low = static_cast<uint16_t>(number);
  return low == 0 ? 1 : low;
}

// How far `limit` lies ahead.
int16_t ahead(uint16_t limit, uint16_t of) { return static_cast<int16_t>(limit - of); }

}  // namespace

// ---- Lives

// The first one is drawn, so that one before a reset of the node is hardly meant.
void Port::assign(const std::optional<Peer>& peer) {
  if (peer_) begin_life();
  peer_ = peer;
  if (life_ == 0)
    life_ = drawn((state_.time_ns ^ state_.time_ns >> 16) ^ state_.config.node_id ^ number_ << 8);
  owes_introduction_ = peer_.has_value();
}

// What waits to be sent does not leave any more, and all that waits for something ends.
void Port::begin_life() {
  ++counters_.lives;
  broken.add(life_);
  life_ = ref::next_generation(life_);
  broken.begins(life_);
  peer_life_ = 0;
  lost_ = owes_introduction_ = false;
  messages_sent_ = messages_taken_ = 0;
  flowing_ = {};
  out_.clear();
  completer_.forget();
  if (std::exchange(met_, false)) sink_.link(number_, false);
  std::deque<Answer> answers = requester_.fail();
  for (Inward left; in_.take([](const Inward&) { return true; }, left);)
    if (const auto* answer = std::get_if<Answer>(&left))
      answers.push_back({answer->id, EXRNIC_COMPLETION_STATUS_UNSUPPORTED, {}});
  answer_all(std::move(answers));
}

ref::Segment Port::to_peer() const {
  ref::Segment segment;
  segment.node = peer_->node;
  segment.dst_qpn = segment.src_qpn = EXRNIC_PEB_QPN + peer_->group;
  segment.src_generation = life_;
  segment.dst_generation = peer_life_;
  segment.tag.qpn = number_;
  segment.tag.generation = life_;
  return segment;
}

void Port::introduce(uint64_t kind) {
  ref::Segment segment = to_peer();
  ref::Tagged header;
  header.last = true;
  header.stag = EXRNIC_INTRODUCTION_STAG;
  header.to = kind;
  segment.ddp = ref::make_header(header);
  segment.tag.kind = ref::Tag::Kind::kIntroduction;
  efe_tx_.submit(std::move(segment));
  ++introductions_;
  owes_introduction_ = false;
  interval_ = state_.time_ns >> EXRNIC_PEB_ASK_SHIFT;
}

// Who has met us and is another one now, or does not know us any more, has begun anew: so do we,
// and what is under way to us from before is of another life.
bool Port::take_introduction(const ref::Received& segment) {
  if (segment.src_generation == 0) return false;
  const bool asks = exrnic_ddp_tagged_to(segment.ddp.data()) == EXRNIC_INTRODUCTION_ASKS;
  const bool is_new = segment.src_generation != peer_life_;
  if (met_ && (is_new || segment.dst_generation != life_)) begin_life();
  const bool knows_us = segment.dst_generation == life_;
  peer_life_ = segment.src_generation;
  if (knows_us && !std::exchange(met_, true)) sink_.link(number_, true);
  owes_introduction_ |= is_new || !knows_us || asks;
  return true;
}

// What was lost when it was given up is found out in run(): it may not be asked for more here.
void Port::ended(const ref::Ended& ended) {
  if (ended.tag.kind == ref::Tag::Kind::kIntroduction) --introductions_;
  lost_ |= ended.status != EXRNIC_CQE_STATUS_SUCCESS && ended.tag.generation == life_;
}

// ---- The bus

void Port::write(uint64_t address, const Bytes& data) {
  if (!met_) {
    ++counters_.dropped;
    return;
  }
  ref::for_each_cut(
      address, data.size(), state_.config.max_payload, [&](size_t offset, size_t bytes) {
        const auto first = data.begin() + static_cast<std::ptrdiff_t>(offset);
        out_.push(Write{address + offset, {first, first + static_cast<std::ptrdiff_t>(bytes)}});
      });
}

void Port::request(BusRequest&& request) {
  if (!met_) return sink_.answered(number_, {request.id, EXRNIC_COMPLETION_STATUS_UNSUPPORTED, {}});
  for (Request& piece : requester_.cut(std::move(request))) out_.push(std::move(piece));
}

void Port::complete(uint64_t name, exrnic_completion_status status, const Bytes& data) {
  for (Completion& completion : completer_.complete(name, status, data))
    out_.push(std::move(completion));
}

void Port::answer_all(std::deque<Answer>&& answers) {
  for (Answer& answer : answers) sink_.answered(number_, std::move(answer));
}

// ---- From the peer

bool Port::take(const ref::Received& segment) {
  if (ref::is_introduction(segment.ddp.data(), segment.ddp.size()) &&
      !ref::header_error(segment.ddp))
    return take_introduction(segment);
  if (ref::is_terminate(segment.ddp)) {
    if (segment.dst_generation == life_ && met_) begin_life();
    return true;
  }
  if (!met_ || segment.dst_generation != life_ || segment.src_generation != peer_life_) {
    ++counters_.foreign;
    return false;
  }
  if (take_message(segment)) return true;
  ++counters_.malformed;
  begin_life();
  return false;
}

bool Port::take_message(const ref::Received& segment) {
  constexpr size_t kBegin = EXRNIC_DDP_UNTAGGED_BYTES;
  const uint8_t* ddp = segment.ddp.data();
  if (ref::header_error(segment.ddp) || ref::is_tagged(segment.ddp) ||
      exrnic_ddp_untagged_opcode(ddp) != EXRNIC_RDMAP_OPCODE_SEND ||
      !exrnic_ddp_untagged_last(ddp) || exrnic_ddp_untagged_mo(ddp) != 0 ||
      exrnic_ddp_untagged_msn(ddp) != messages_taken_ + 1 || segment.imm || segment.ask ||
      segment.ddp.size() < kBegin + EXRNIC_PEB_BYTES)
    return false;
  ++messages_taken_;
  const std::array<uint64_t, kCompletions> limits = {exrnic_peb_posted_limit(ddp + kBegin),
                                                     exrnic_peb_request_limit(ddp + kBegin)};
  for (unsigned flow = 0; flow < kCompletions; ++flow) {
    const auto limit = static_cast<uint16_t>(limits[flow]);
    if (ahead(limit, flowing_[flow].limit) > 0) flowing_[flow].limit = limit;
  }
  const size_t bytes = segment.ddp.size() - kBegin - EXRNIC_PEB_BYTES;
  if (bytes == 0) return true;
  auto tlp = decode(ddp + kBegin + EXRNIC_PEB_BYTES, bytes,
                    {static_cast<uint16_t>(segment.node), state_.config.node_id});
  return tlp && take_tlp(std::move(*tlp));
}

// Room there is for each: what was told, and what was reserved when it was asked for.
bool Port::take_tlp(Tlp&& tlp) {
  if (auto* completion = std::get_if<Completion>(&tlp)) {
    Answer end;
    const auto taken = requester_.complete(*completion, end);
    if (taken == Requester::Taken::kEnd) in_.push(std::move(end));
    return taken != Requester::Taken::kBad;
  }
  Flowing& flow = flowing_[flow_of(tlp)];
  if (ahead(flow.told, flow.received) <= 0) return false;
  ++flow.received;
  if (auto* request = std::get_if<Request>(&tlp)) {
    if (side_ == Side::kHost && request->kind != Request::Kind::kRead) return false;
    in_.push(std::move(*request));
  } else {
    in_.push(std::move(std::get<Write>(tlp)));
  }
  return true;
}

// ---- To the peer

uint16_t Port::room_limit(unsigned flow) const {
  return static_cast<uint16_t>(flowing_[flow].handed + kRoom[flow]);
}

bool Port::owes_limits() const {
  for (unsigned flow = 0; flow < kCompletions; ++flow)
    if (ahead(room_limit(flow), flowing_[flow].told) >= kRoom[flow] / 2) return true;
  return false;
}

bool Port::may_leave(const Tlp& tlp) const {
  const Flow flow = flow_of(tlp);
  if (flow == kCompletions) return true;
  if (ahead(flowing_[flow].limit, flowing_[flow].sent) <= 0) return false;
  return flow == kPosted || requester_.has_tag();
}

// Each message tells the limits; without a TLP that is all.
void Port::send(const Tlp* tlp) {
  ref::Segment segment = to_peer();
  ref::Untagged header;
  header.msn = ++messages_sent_;
  segment.ddp = ref::make_header(header);
  uint8_t limits[EXRNIC_PEB_BYTES] = {};
  for (unsigned flow = 0; flow < kCompletions; ++flow) flowing_[flow].told = room_limit(flow);
  exrnic_peb_set_posted_limit(limits, flowing_[kPosted].told);
  exrnic_peb_set_request_limit(limits, flowing_[kNonPosted].told);
  segment.ddp.insert(segment.ddp.end(), limits, limits + sizeof limits);
  if (tlp != nullptr) {
    const Bytes bytes = encode(*tlp, {state_.config.node_id, peer_->node});
    segment.ddp.insert(segment.ddp.end(), bytes.begin(), bytes.end());
  }
  segment.stream = true;
  efe_tx_.submit(std::move(segment));
}

void Port::send_all() {
  if (owes_introduction_) return;
  while (met_ && efe_tx_.has_share(peer_->node)) {
    Tlp tlp;
    if (!out_.take([this](const Tlp& each) { return may_leave(each); }, tlp)) break;
    if (flow_of(tlp) != kCompletions) ++flowing_[flow_of(tlp)].sent;
    if (auto* request = std::get_if<Request>(&tlp)) requester_.name(*request);
    send(&tlp);
  }
  if (met_ && owes_limits() && efe_tx_.has_share(peer_->node)) send(nullptr);
}

// A request whose completions the peer does not take is not followed by any number of others.
bool Port::may_be_handed(const Inward& inward) const {
  if (flow_of(inward) == kPosted) return sink_.can_write(number_);
  if (flow_of(inward) == kCompletions) return true;
  return completer_.serving() + out_.count(kCompletions) < kServing && sink_.can_request(number_);
}

// The bus may say something in between, and what it says may end the life.
void Port::hand_all() {
  const auto may = [this](const Inward& each) { return may_be_handed(each); };
  for (Inward taken; in_.take(may, taken);) {
    if (flow_of(taken) != kCompletions) ++flowing_[flow_of(taken)].handed;
    if (auto* write = std::get_if<Write>(&taken)) {
      sink_.write(number_, std::move(*write));
    } else if (auto* request = std::get_if<Request>(&taken)) {
      const uint64_t name = completer_.serve(*request);
      sink_.request(number_, name, std::move(*request));
    } else {
      sink_.answered(number_, std::move(std::get<Answer>(taken)));
    }
  }
}

// Nobody is known to be there, and nothing is under way that would find out.
bool Port::asks() const {
  return peer_ && !met_ && introductions_ == 0 &&
         interval_ != state_.time_ns >> EXRNIC_PEB_ASK_SHIFT;
}

// An introduction that is lost is no reason to begin anew, for who has not met anybody.
void Port::run() {
  if (!peer_) return;
  if (std::exchange(lost_, false) && met_) begin_life();
  const uint64_t timeouts = requester_.timeouts();
  auto late = requester_.time_out(state_.time_ns);
  counters_.timeouts += requester_.timeouts() - timeouts;
  answer_all(std::move(late));
  if (met_ && requester_.is_stuck()) begin_life();
  if (owes_introduction_ && introductions_ < kIntroducing) {
    introduce(EXRNIC_INTRODUCTION_PLAIN);
  } else if (asks()) {
    introduce(EXRNIC_INTRODUCTION_ASKS);
  }
  hand_all();
  send_all();
}

bool Port::idle() const {
  if (owes_introduction_ || asks()) return false;
  return !met_ || (out_.empty() && in_.empty() && !lost_ && !owes_limits());
}

uint64_t Port::wakes_at_ns() const {
  uint64_t wakes = Core::kNever;
  if (peer_ && !met_) wakes = Core::next_interval_ns(state_.time_ns, EXRNIC_PEB_ASK_SHIFT);
  if (!requester_.idle())
    wakes =
        std::min(wakes, Core::next_interval_ns(state_.time_ns, state_.config.read_timeout_shift));
  return wakes;
}

}  // namespace exrnic::peb
