// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/responder.h"

#include <utility>

#include "rtl-model/ref/ddp_check.h"
#include "rtl-model/ref/pause.h"
#include "rtl-model/ref/terminate_message.h"

namespace exrnic::ref {
namespace {

exrnic_term_code refusal(Verdict verdict) {
  switch (verdict) {
    case Verdict::kStag:
      return EXRNIC_TERM_CODE_TAGGED_STAG;
    case Verdict::kStream:
      return EXRNIC_TERM_CODE_TAGGED_STREAM;
    case Verdict::kAccess:
      return EXRNIC_TERM_CODE_ACCESS;
    case Verdict::kWrap:
      return EXRNIC_TERM_CODE_TAGGED_WRAP;
    case Verdict::kBounds:
      return EXRNIC_TERM_CODE_TAGGED_BOUNDS;
    default:
      return EXRNIC_TERM_CODE_STREAM;
  }
}

bool asks_for_memory(const Received& segment) {
  if (is_tagged(segment.ddp)) return false;
  const auto opcode = exrnic_ddp_untagged_opcode(segment.ddp.data());
  return exrnic_of_rdmap_opcode(opcode).message == EXRNIC_MESSAGE_REQUEST;
}

bool is_response(const Received& segment) {
  if (header_error(segment.ddp)) return false;
  // Both headers have the opcode at the same place.
  const auto opcode = exrnic_ddp_tagged_opcode(segment.ddp.data());
  return exrnic_of_rdmap_opcode(opcode).message == EXRNIC_MESSAGE_RESPONSE;
}

bool is_connected(const QueuePair& qp) { return qp.serves_peer() || qp.in_error(); }

}  // namespace

void Responder::run() {
  while (!state_.quiesce) {
    if (phase_ == Phase::kIdle && efe_rx_.has_segment()) {
      // PCIe lets no read pass a write: what it reads must have been written before.
      if (asks_for_memory(efe_rx_.next_segment()) && !dma_write_.idle()) return;
      segment_ = efe_rx_.take_segment();
      state_.trace(EXRNIC_TRACE_SEGMENT, segment_.dst_qpn, static_cast<uint16_t>(segment_.seq),
                   segment_.node);
      efe_rx_.is_stale(segment_) ? done() : judge();
    } else if (phase_ == Phase::kIdle && !flushes_.empty()) {
      const uint32_t qpn = flushes_.front();
      flushes_.pop_front();
      flush_now(qpn);
    } else if (phase_ == Phase::kRefusing && dma_write_.idle()) {
      answer();
    } else {
      return;
    }
  }
}

QueuePair* Responder::addressee() const {
  if (segment_.dst_qpn >= state_.qps.size()) return nullptr;
  QueuePair& qp = state_.qps[segment_.dst_qpn];
  if (!qp.valid || !is_connected(qp)) return nullptr;
  // The peer of a queue pair of UC refuses its introduction, nothing else.
  const bool fits =
      qp.service == segment_.service() ||
      (qp.service == EXRNIC_SERVICE_UC && !segment_.unreliable && is_told_of_refusal());
  if (!fits) return nullptr;
  if (segment_.datagram) return &qp;
  return is_peer(qp) && is_current(qp) ? &qp : nullptr;
}

bool Responder::is_peer(const QueuePair& qp) const {
  return qp.dest_node == segment_.node && qp.dest_qpn == segment_.src_qpn;
}

// It was sent by the present life of the peer, to the present one of this queue pair. Of a
// terminate message the latter is enough: it answers what was sent in that life.
bool Responder::is_current(const QueuePair& qp) const {
  return segment_.dst_generation == qp.generation &&
         (is_told_of_refusal() || segment_.src_generation == qp.at.peer.generation);
}

// By a terminate message, numbered or not.
bool Responder::is_told_of_refusal() const {
  return segment_.refusal != 0 || is_terminate(segment_.ddp);
}

// The peer tells its generation. What it does not know yet, or we did not, wants an introduction of
// ours; so does who waits for one.
void Responder::take_introduction() {
  const bool asks = exrnic_ddp_tagged_to(segment_.ddp.data()) == EXRNIC_INTRODUCTION_ASKS;
  QueuePair* qp = segment_.dst_qpn < state_.qps.size() ? &state_.qps[segment_.dst_qpn] : nullptr;
  if (qp == nullptr || !qp->valid || !qp->has_peer() || !qp->serves_peer() || !is_peer(*qp) ||
      segment_.src_generation == 0)
    return asks ? refuse(EXRNIC_TERM_CODE_STREAM) : done();
  auto& peer = qp->at.peer;
  const bool knows_us = segment_.dst_generation == qp->generation;
  // Who knew us, and does so no more, has begun anew with the number that it had: its node was
  // reset.
  const bool renews = peer.generation != 0 &&
                      (segment_.src_generation != peer.generation || (peer.met && !knows_us));
  if (renews && (!qp->at.pulls.empty() || !qp->at.reads.empty())) return part(*qp);
  if (renews) qp->at.inbound.renew();
  peer.changes += asks || !knows_us || segment_.src_generation != peer.generation;
  peer.generation = segment_.src_generation;
  peer.met = knows_us;
  if (knows_us && qp->at.pulls.empty()) state_.pulling.erase(segment_.dst_qpn);
  if (knows_us) qp->at.heard_of_pulls();
  state_.wake(segment_.dst_qpn);
  done();
}

// Requests for an earlier life of the peer, or by one, are under way: nobody will answer them, nor
// want the answers. Of a question the peer would say that it was for another life.
void Responder::part(QueuePair& qp) {
  QueuePair::Status fault;
  fault.fault = true;
  fault.fault_detail = EXRNIC_TERM_CODE_STREAM;
  fault.fault_status = status_of_terminate(fault.fault_detail);
  state_.go_to_error(segment_.dst_qpn, EXRNIC_QP_CAUSE_PEER, fault);
  qp.at.peer = {};
  done();
}

void Responder::judge() {
  if (segment_.unreliable) return judge_unreliable();
  if (Ports::addressed(segment_)) {
    dma_write_.then([this, message = segment_] { ports_.arrived(message); });
    return done();
  }
  if (segment_.dst_qpn == EXRNIC_FW_QPN) {  // there is no firmware that would take it
    state_.count(EXRNIC_COUNTER_FW_DROPPED);
    return done();
  }
  QueuePair* qp = addressee();
  was_addressed_ = qp != nullptr;
  if (is_introduction(segment_.ddp.data(), segment_.ddp.size()) && !header_error(segment_.ddp))
    return take_introduction();
  if (is_told_of_refusal()) return take_terminate();
  if (qp == nullptr) return refuse(EXRNIC_TERM_CODE_STREAM);
  if (qp->in_error()) {
    state_.count(EXRNIC_COUNTER_RX_DISCARDED);
    // Its segments will be acknowledged: a peer that has not been told takes them for placed.
    if (qp->status.told && qp->at.inbound.told_in.value_or(segment_.session) == segment_.session)
      return done();
    return refuse(qp->at.inbound.owed.value_or(EXRNIC_TERM_CODE_STREAM));
  }
  if (is_behind(*qp)) {
    state_.count(EXRNIC_COUNTER_RX_DISCARDED);
    return done();
  }
  if (const auto error = header_error(segment_.ddp)) return refuse(*error);
  phase_ = Phase::kReading;
  serve(*qp);
}

// It was sent behind a message that found no receive, or behind a request that is refused.
bool Responder::is_behind(const QueuePair& qp) const {
  if (qp.has_refused_request()) return !is_response(segment_);
  return !header_error(segment_.ddp) && waits_for_another(qp);
}

bool Responder::waits_for_another(const QueuePair& qp) const {
  if (!qp.at.inbound.refused) return false;
  const uint8_t* header = segment_.ddp.data();
  if (is_tagged(segment_.ddp)) return exrnic_ddp_tagged_opcode(header) == EXRNIC_RDMAP_OPCODE_WRITE;
  if (exrnic_ddp_untagged_qn(header) == EXRNIC_READ_QN) return true;
  return exrnic_ddp_untagged_qn(header) == EXRNIC_SEND_QN &&
         (exrnic_ddp_untagged_msn(header) != uint64_t{qp.at.inbound.messages + 1} ||
          exrnic_ddp_untagged_mo(header) != 0);
}

void Responder::serve(QueuePair& qp) {
  // Both headers have the opcode at the same place.
  const auto op = exrnic_of_rdmap_opcode(exrnic_ddp_tagged_opcode(segment_.ddp.data()));
  if (op.message == EXRNIC_MESSAGE_WRITE) return take_write(qp);
  if (op.message == EXRNIC_MESSAGE_RESPONSE)
    return op.atomic ? take_atomic_response(qp) : take_read_response(qp);
  if (op.message == EXRNIC_MESSAGE_REQUEST)
    return op.atomic ? take_atomic_request(qp) : take_read_request(qp);
  receiver_.take(segment_.dst_qpn, segment_, [this](auto refusal) {
    if (!refusal) return placed();
    if (segment_.unreliable) return end_message(*refusal);
    if (refusal == EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER) return ask_for_pause();
    refuse(*refusal);
    cost_receive_ = refusal == EXRNIC_TERM_CODE_UNTAGGED_TOO_LONG ||
                    refusal == EXRNIC_TERM_CODE_LOCAL_CATASTROPHIC;
  });
}

// ---- Tagged segments

// Without a payload neither STag nor offset is looked at.
void Responder::place(const Access& where, std::function<void()> placed) {
  place(where, Bytes(segment_.ddp.begin() + EXRNIC_DDP_TAGGED_BYTES, segment_.ddp.end()),
        std::move(placed));
}

void Responder::place(const Access& where, Bytes&& payload, std::function<void()> placed) {
  const auto length = static_cast<uint32_t>(payload.size());
  ElementList sink{{{where.to, length, where.stag}}, where.asker, where.rights};
  scatter_.scatter(std::move(sink), 0, std::move(payload),
                   [this, placed = std::move(placed)](Verdict verdict) {
                     verdict == Verdict::kOk ? placed() : refuse(refusal(verdict));
                   });
}

void Responder::take_write(QueuePair& qp) {
  // Without bytes no right is needed, as no region is.
  const bool empty = segment_.ddp.size() == EXRNIC_DDP_TAGGED_BYTES;
  if (!empty && !(qp.has.access & EXRNIC_ACCESS_REMOTE_WRITE))
    return refuse(EXRNIC_TERM_CODE_ACCESS);
  const uint8_t* header = segment_.ddp.data();
  const auto stag = static_cast<uint32_t>(exrnic_ddp_tagged_stag(header));
  place({stag, asker(qp, segment_.dst_qpn), EXRNIC_ACCESS_REMOTE_WRITE,
         exrnic_ddp_tagged_to(header), 0},
        [this, &qp] {
          Inbound& inbound = qp.at.inbound;
          if (inbound.write_ended) inbound.written = 0;
          inbound.written += static_cast<uint32_t>(segment_.ddp.size() - EXRNIC_DDP_TAGGED_BYTES);
          inbound.write_ended = exrnic_ddp_tagged_last(segment_.ddp.data());
          this->placed();
        });
}

void Responder::take_read_response(QueuePair& qp) {
  const uint8_t* header = segment_.ddp.data();
  const auto stag = static_cast<uint32_t>(exrnic_ddp_tagged_stag(header));
  const uint64_t to = exrnic_ddp_tagged_to(header);
  const size_t length = segment_.ddp.size() - EXRNIC_DDP_TAGGED_BYTES;
  if (stag == EXRNIC_WINDOW_STAG) return take_load_answer();
  if (qp.at.pulls.empty() || is_atomic(qp.at.pulls.front()) || qp.at.pulls.front().stag != stag)
    return refuse(EXRNIC_TERM_CODE_TAGGED_STAG);
  Pull& pull = qp.at.pulls.front();
  if (pull.to != to || length > pull.left) return refuse(EXRNIC_TERM_CODE_TAGGED_BOUNDS);
  if (exrnic_ddp_tagged_last(header) != (length == pull.left))
    return refuse(EXRNIC_TERM_CODE_OPCODE);
  place({stag, asker(qp, segment_.dst_qpn), EXRNIC_ACCESS_LOCAL_WRITE, to, 0},
        [this, &pull, length] {
          state_.qps[segment_.dst_qpn].at.heard_of_pulls();
          state_.work_heard(segment_.dst_qpn);
          pull.to += length;
          pull.left -= static_cast<uint32_t>(length);
          if (exrnic_ddp_tagged_last(segment_.ddp.data()))
            end_pull(segment_.dst_qpn, EXRNIC_CQE_STATUS_SUCCESS);
          placed();
        });
}

// The processor that waits must see all that was written before.
void Responder::take_load_answer() {
  dma_write_.then([this, answer = segment_] {
    windows_.answered(answer.dst_qpn, exrnic_ddp_tagged_to(answer.ddp.data()),
                      answer.ddp.data() + EXRNIC_DDP_TAGGED_BYTES,
                      answer.ddp.size() - EXRNIC_DDP_TAGGED_BYTES);
  });
  done();
}

void Responder::end_pull(uint32_t qpn, exrnic_cqe_status status) {
  QueuePair& qp = state_.qps[qpn];
  const Pull pull = qp.at.pulls.front();
  qp.at.pulls.pop_front();
  qp.at.heard_of_pulls();
  state_.work_heard(qpn);
  if (qp.at.pulls.empty()) state_.pulling.erase(qpn);
  if (!pull.last) return;
  ReceiveEnded ended;
  ended.qpn = static_cast<uint16_t>(qpn);
  ended.generation = qp.generation;
  ended.wqe_index = pull.wqe_index;
  ended.byte_length = pull.byte_length;
  ended.signaled = pull.signaled;
  ended.opcode = pull.opcode;
  ended.status = status;
  completer_.ended(ended);
  state_.wake(qpn);
}

// ---- RDMA Read Requests

void Responder::take_read_request(QueuePair& qp) {
  const uint8_t* header = segment_.ddp.data();
  const uint8_t* body = header + EXRNIC_DDP_UNTAGGED_BYTES;
  Read read;
  read.sink_stag = static_cast<uint32_t>(exrnic_read_request_sink_stag(body));
  read.sink_to = exrnic_read_request_sink_to(body);
  read.length = static_cast<uint32_t>(exrnic_read_request_length(body));
  read.source_stag = static_cast<uint32_t>(exrnic_read_request_source_stag(body));
  read.source_to = exrnic_read_request_source_to(body);
  read.msn = static_cast<uint32_t>(exrnic_ddp_untagged_msn(header));
  queue(qp, read);
}

void Responder::take_atomic_request(QueuePair& qp) {
  const uint8_t* header = segment_.ddp.data();
  const uint8_t* body = header + EXRNIC_DDP_UNTAGGED_BYTES;
  Atomic atomic;
  atomic.operation = static_cast<uint8_t>(exrnic_atomic_request_operation(body));
  atomic.request_id = static_cast<uint32_t>(exrnic_atomic_request_request_id(body));
  atomic.stag = static_cast<uint32_t>(exrnic_atomic_request_stag(body));
  atomic.to = exrnic_atomic_request_to(body);
  atomic.data = exrnic_atomic_request_data(body);
  atomic.mask = exrnic_atomic_request_mask(body);
  atomic.compare = exrnic_atomic_request_compare(body);
  atomic.compare_mask = exrnic_atomic_request_compare_mask(body);
  Read read;
  read.msn = static_cast<uint32_t>(exrnic_ddp_untagged_msn(header));
  read.atomic = atomic;
  queue(qp, read);
}

std::optional<exrnic_term_code> Responder::request_error(const QueuePair& qp,
                                                         const Read& read) const {
  if (read.msn != qp.at.inbound.reads + 1) return EXRNIC_TERM_CODE_UNTAGGED_MSN;
  if (read.mo != 0) return EXRNIC_TERM_CODE_UNTAGGED_MO;
  if (read.length > EXRNIC_MESSAGE_MAX) return EXRNIC_TERM_CODE_RDMAP_BOUNDS;
  if (qp.at.reads.size() >= qp.has.reads_in) return EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER;
  const uint32_t right = read.atomic ? EXRNIC_ACCESS_REMOTE_ATOMIC : EXRNIC_ACCESS_REMOTE_READ;
  const bool needs_right = read.atomic || read.length != 0;
  if (needs_right && !(qp.has.access & right)) return EXRNIC_TERM_CODE_ACCESS;
  return std::nullopt;
}

// One that is refused ends as a read that cannot be served: the peer hears of it behind the answers
// to those before it.
void Responder::queue(QueuePair& qp, Read read) {
  read.mo = static_cast<uint32_t>(exrnic_ddp_untagged_mo(segment_.ddp.data()));
  read.refused = request_error(qp, read);
  ++qp.at.inbound.reads;
  qp.at.reads.push_back(read);
  state_.wake(segment_.dst_qpn);
  done();
}

// What was at the peer comes in network order, and is a number of this host's memory.
void Responder::take_atomic_response(QueuePair& qp) {
  const uint8_t* header = segment_.ddp.data();
  const uint8_t* body = header + EXRNIC_DDP_UNTAGGED_BYTES;
  if (exrnic_ddp_untagged_msn(header) != uint64_t{qp.at.inbound.atomics + 1})
    return refuse(EXRNIC_TERM_CODE_UNTAGGED_MSN);
  if (exrnic_ddp_untagged_mo(header) != 0) return refuse(EXRNIC_TERM_CODE_UNTAGGED_MO);
  if (qp.at.pulls.empty() || !is_atomic(qp.at.pulls.front()) ||
      qp.at.pulls.front().wqe_index != exrnic_atomic_response_request_id(body))
    return refuse(EXRNIC_TERM_CODE_OPCODE);
  const Pull& pull = qp.at.pulls.front();
  Bytes value(EXRNIC_ATOMIC_BYTES);
  for (size_t i = 0; i < value.size(); ++i)
    value[i] = static_cast<uint8_t>(exrnic_atomic_response_value(body) >> 8 * i);
  place({pull.stag, asker(qp, segment_.dst_qpn), EXRNIC_ACCESS_LOCAL_WRITE, pull.to, 0},
        std::move(value), [this, &qp] {
          ++qp.at.inbound.atomics;
          end_pull(segment_.dst_qpn, EXRNIC_CQE_STATUS_SUCCESS);
          placed();
        });
}

// ---- A queue pair in ERROR

void Responder::flush_now(uint32_t qpn) {
  QueuePair& qp = state_.qps[qpn];
  if (!qp.valid) return;
  if (qp.is_draining() && qp.is_drained()) return receiver_.tell_drained(qpn);
  if (!qp.in_error()) return;
  if (!qp.at.pulls.empty()) {
    end_pull(qpn, EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    return state_.wake(qpn);
  }
  phase_ = Phase::kReading;
  receiver_.flush(qpn, [this, qpn](bool ended) {
    phase_ = Phase::kIdle;
    if (ended) state_.wake(qpn);
  });
}

// ---- How segments end

void Responder::placed() {
  dma_write_.then([this] { state_.count(EXRNIC_COUNTER_SEGMENTS_PLACED); });
  done();
}

// It is acknowledged when its bytes, and those of all before it, are with PCIe.
void Responder::done() {
  phase_ = Phase::kIdle;
  dma_write_.then([this, segment = std::move(segment_)] {
    state_.trace(EXRNIC_TRACE_PLACED, 0, 0, segment.node);
    efe_rx_.placed(segment);
  });
}

// ---- The peer refused something of ours

void Responder::take_terminate() {
  QueuePair* qp = addressee();
  if (qp != nullptr && !qp->in_error()) {
    state_.count(EXRNIC_COUNTER_TERMINATES_RX);
    if (qp->service == EXRNIC_SERVICE_UC) {
      qp->status.alone = true;
      state_.wake(segment_.dst_qpn);
      return done();
    }
    const bool has_code = segment_.ddp.size() >= EXRNIC_DDP_UNTAGGED_BYTES + sizeof(uint16_t);
    const uint8_t* body = segment_.ddp.data() + EXRNIC_DDP_UNTAGGED_BYTES;
    QueuePair::Status fault;
    fault.fault = true;
    fault.fault_detail =
        has_code ? static_cast<uint16_t>(exrnic_terminate_code(body)) : uint16_t{0};
    if (segment_.pause && fault.fault_detail == EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER &&
        qp->sends() && qp->at.pulls.empty())
      return pause(*qp);
    fault.fault_status = status_of_terminate(fault.fault_detail);
    fault.exact = true;
    fault.fault_seq = segment_.ack;
    state_.go_to_error(segment_.dst_qpn, EXRNIC_QP_CAUSE_PEER, fault);
  }
  done();
}

// A message of ours found no receive. (With PULLs under way none can have been sent.)
void Responder::pause(QueuePair& qp) {
  state_.count(EXRNIC_COUNTER_RNR_NAK_RX);
  if (!qp.status.rnr) {
    qp.status.rnr = qp.status.exact = true;
    qp.status.fault_seq = segment_.ack;
    qp.at.pause_until = state_.time_ns + pause_ns(*segment_.pause);
    qp.at.pauses_for_credit = false;
    state_.pauses.insert(segment_.dst_qpn);
    state_.wake(segment_.dst_qpn);
  }
  done();
}

// ---- We refuse something of the peer's

void Responder::refuse(exrnic_term_code code) {
  if (segment_.unreliable) return drop_message();
  code_ = code;
  pause_code_.reset();
  cost_receive_ = false;
  phase_ = Phase::kRefusing;
}

// Nothing is wrong: the message may come again.
void Responder::ask_for_pause() {
  refuse(EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER);
  pause_code_ = state_.qps[segment_.dst_qpn].has.rnr_timer;
}

Segment Responder::terminate() const {
  Segment message;
  message.node = segment_.node;
  message.dst_qpn = segment_.src_qpn;
  message.src_qpn = segment_.dst_qpn;
  message.src_generation = segment_.dst_generation;
  message.dst_generation = segment_.src_generation;
  message.ddp = terminate_message(code_, segment_.ddp);
  return message;
}

void Responder::answer() {
  // One that became the addressee only after the refusal is not to blame for it.
  QueuePair* qp = was_addressed_ ? addressee() : nullptr;
  const EfeRx::Told told = efe_rx_.refuse(segment_, terminate(), pause_code_);
  if (told == EfeRx::Told::kPutOff) return put_off(qp);
  if (pause_code_) {
    state_.count(EXRNIC_COUNTER_RNR_NAK_TX);
    if (qp != nullptr && !qp->in_error()) {
      qp->at.inbound.refused = true;
      state_.takes_message(segment_.dst_qpn, /*lapsed=*/true);
    }
    return done();
  }
  if (qp != nullptr && !qp->in_error())
    state_.go_to_error(segment_.dst_qpn, EXRNIC_QP_CAUSE_REQUEST, {});
  if (qp != nullptr) {
    qp->status.told = true;
    qp->at.inbound.told_in = segment_.session;
  }
  done();
}

// It comes again: then it is as if it had not come before. But a receive that has failed is gone.
void Responder::put_off(QueuePair* qp) {
  if (cost_receive_ && qp != nullptr) {
    if (!qp->in_error()) state_.go_to_error(segment_.dst_qpn, EXRNIC_QP_CAUSE_REQUEST, {});
    qp->at.inbound.owed = code_;
  }
  segment_.stale = true;
  done();
}

}  // namespace exrnic::ref
