// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/completer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace exrnic::ref {
namespace {

using Arm = CompletionQueue::Arm;

// In ERROR, or with rnr, an acknowledged frame was placed only if it left before the refused one.
bool was_placed(const QueuePair& qp, const Ended& ended) {
  if (ended.status != EXRNIC_CQE_STATUS_SUCCESS) return false;
  if (!qp.in_error() && !qp.status.rnr) return true;
  // It sends nothing: it was done before it took its place among the segments.
  if (exrnic_of_wqe_opcode(ended.tag.opcode).stays) return true;
  return qp.status.exact && static_cast<int32_t>(ended.seq - qp.status.fault_seq) < 0;
}

bool is_solicited(const exrnic_cqe& cqe) {
  return (cqe.flags & EXRNIC_CQE_FLAGS_SOLICITED) || cqe.status != EXRNIC_CQE_STATUS_SUCCESS;
}

}  // namespace

// Ends that the responder saw go before those of segments: a work request behind a PULL begins when
// that has ended.
void Completer::run() {
  while (!state_.quiesce && !busy_) {
    if (!receives_ended_.empty()) {
      const ReceiveEnded ended = receives_ended_.front();
      receives_ended_.pop_front();
      complete(ended);
    } else if (!ended_.empty()) {
      const Ended ended = ended_.front();
      ended_.pop_front();
      complete(ended);
    } else {
      end_silent();
      return fire_late();
    }
  }
}

// Nothing was heard of their work for too long. What is handed to the session may still be sent and
// acknowledged; that means nothing any more.
void Completer::end_silent() {
  for (const uint32_t qpn : std::set<uint32_t>(state_.watched)) {
    QueuePair& qp = state_.qps[qpn];
    if (!qp.at.timed_out) continue;
    state_.watched.erase(qpn);
    if (!qp.sends()) continue;
    state_.count(EXRNIC_COUNTER_QP_TIMEOUTS);
    if (!qp.all_ended()) qp.at.sq_consumer = qp.at.ended_to;
    qp.at.ended = qp.at.issued;
    qp.at.submitted = 0;
    qp.at.withdrawn = true;
    qp.broken.add(qp.generation);
    qp.status.rnr = false;
    QueuePair::Status failed;
    failed.fault = true;
    failed.fault_status = EXRNIC_CQE_STATUS_RETRY_EXC_ERR;
    state_.go_to_error(qpn, EXRNIC_QP_CAUSE_NO_ANSWER, failed);
  }
}

// At once, whatever else is under way; but while the core comes to rest nothing is written.
void Completer::ring(const CqDoorbell& bell) {
  if (bell.cqn >= state_.cqs.size()) return state_.count(EXRNIC_COUNTER_DOORBELLS_REFUSED);
  CompletionQueue& cq = state_.cqs[bell.cqn];
  const uint32_t told = cq.producer - bell.consumer;
  if (!cq.valid || cq.page != bell.page || told > 1u << cq.log_entries)
    return state_.count(EXRNIC_COUNTER_DOORBELLS_REFUSED);
  state_.count(EXRNIC_COUNTER_DOORBELLS);
  // An index that lies behind the one before it takes back nothing.
  const uint32_t pending = std::min(told, cq.producer - cq.consumer);
  cq.consumer = cq.producer - pending;
  if (bell.arm == Arm::kNone) return;
  if (cq.arm != Arm::kAny) cq.arm = bell.arm;  // somebody may wait for any completion
  cq.counted = 0;
  if (pending == 0) return;
  if (!state_.quiesce) return fire(bell.cqn);
  cq.counted = 1;
  cq.deadline = state_.time_ns;
  timed_.insert(bell.cqn);
}

bool Completer::known(uint32_t qpn, uint16_t generation) const {
  return state_.qps[qpn].valid && state_.qps[qpn].generation == generation;
}

// ---- Segments

void Completer::complete(const Ended& ended) {
  if (ended.tag.kind == Tag::Kind::kIntroduction || !known(ended.tag.qpn, ended.tag.generation))
    return;
  if (ended.tag.kind == Tag::Kind::kResponse) return lose_response(ended);
  QueuePair& qp = state_.qps[ended.tag.qpn];
  if (ended.tag.kind == Tag::Kind::kTerminate) {
    // Its peer has not been told, if it is there after all.
    if (ended.status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR) qp.status.told = false;
    return;
  }
  const bool flush = ended.tag.kind == Tag::Kind::kFlush;
  if (qp.at.withdrawn && !flush) return;
  const bool placed = was_placed(qp, ended);
  const bool last = flush || ended.tag.kind == Tag::Kind::kLast;
  // UC has a peer that is given up for its introduction only: it goes on alone.
  if (ended.status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR && !last && qp.service == EXRNIC_SERVICE_UC &&
      qp.serves_peer()) {
    qp.status.alone = true;
    return state_.wake(ended.tag.qpn);
  }
  if (last || ended.tag.kind == Tag::Kind::kProbe) count_end(ended.tag.qpn);
  // That a request was acknowledged, or a question, says nothing of who is to answer it.
  const bool pull = exrnic_of_wqe_opcode(ended.tag.opcode).pull;
  if (ended.status == EXRNIC_CQE_STATUS_SUCCESS && !pull) state_.work_heard(ended.tag.qpn);
  if (qp.status.rnr && !placed) {  // it comes again, unless the peer is gone
    if (ended.status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR && !qp.in_error()) go_to_error(ended);
    return;
  }
  if (last) qp.at.ended_to = static_cast<uint16_t>(ended.tag.wqe_index + 1);
  if (last && placed) qp.at.ended_msn += exrnic_of_wqe_opcode(ended.tag.opcode).receive;
  exrnic_cqe cqe{};
  cqe.wqe_index = ended.tag.wqe_index;
  cqe.byte_length = ended.tag.byte_length;
  cqe.qpn = ended.tag.qpn;
  cqe.opcode = static_cast<uint8_t>(ended.tag.opcode);
  if (placed) {
    cqe.status = EXRNIC_CQE_STATUS_SUCCESS;
  } else if (!qp.in_error()) {
    cqe.status = static_cast<uint8_t>(ended.status);
    go_to_error(ended);
  } else {
    cqe.status = EXRNIC_CQE_STATUS_WR_FLUSH_ERR;
    if (last) take_fault(qp, cqe);
  }
  if (last && (!placed || ended.tag.signaled)) write_cqe(qp.send_cqn, cqe);
}

// Work that waits until all before it has ended can go on, and a send queue may be drained.
void Completer::count_end(uint32_t qpn) {
  QueuePair& qp = state_.qps[qpn];
  ++qp.at.ended;
  if (qp.all_ended() && (qp.sq_posted() || qp.status.rnr || qp.is_draining())) state_.wake(qpn);
}

// Of one whose payload could not be read the peer has to hear; of one that was given up it will,
// when it asks.
void Completer::lose_response(const Ended& ended) {
  QueuePair& qp = state_.qps[ended.tag.qpn];
  if (ended.status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR && qp.serves_peer())
    return state_.go_to_error(ended.tag.qpn, EXRNIC_QP_CAUSE_NO_ANSWER, {});
  if (ended.status != EXRNIC_CQE_STATUS_LOC_PROT_ERR) return;
  if (qp.in_error() && !qp.status.told) {
    qp.status.answer_lost = true;
    return state_.wake(ended.tag.qpn);
  }
  if (!qp.serves_peer()) return;
  QueuePair::Status lost;
  lost.answer_lost = true;
  state_.go_to_error(ended.tag.qpn, EXRNIC_QP_CAUSE_MEMORY, lost);
}

// A segment that is not the last leaves its status for the work request that it is part of; one
// behind a refused message for that message.
void Completer::go_to_error(const Ended& ended) {
  QueuePair::Status failed;
  failed.fault = ended.tag.kind != Tag::Kind::kLast || state_.qps[ended.tag.qpn].status.rnr;
  failed.fault_status = ended.status;
  state_.go_to_error(ended.tag.qpn,
                     ended.status == EXRNIC_CQE_STATUS_RETRY_EXC_ERR ? EXRNIC_QP_CAUSE_NO_ANSWER
                                                                     : EXRNIC_QP_CAUSE_WORK_REQUEST,
                     failed);
}

void Completer::take_fault(QueuePair& qp, exrnic_cqe& cqe) {
  if (!std::exchange(qp.status.fault, false)) return;
  cqe.status = static_cast<uint8_t>(qp.status.fault_status);
  cqe.detail = qp.status.fault_detail;
}

// ---- Receives and PULLs

void Completer::complete(const ReceiveEnded& ended) {
  if (!known(ended.qpn, ended.generation)) return;
  QueuePair& qp = state_.qps[ended.qpn];
  --qp.at.reports;
  if (ended.emptied) return state_.happens({EXRNIC_EQE_TYPE_LAST_WQE, ended.qpn});
  if (ended.drained) return tell_drained(ended.qpn);
  const bool pull = ended.opcode != EXRNIC_WQE_OPCODE_RECV;
  if (pull) qp.at.ended_to = static_cast<uint16_t>(ended.wqe_index + 1);
  exrnic_cqe cqe{};
  cqe.wqe_index = ended.wqe_index;
  cqe.byte_length = ended.byte_length;
  cqe.imm_data = ended.imm_data;
  cqe.qpn = ended.qpn;
  cqe.opcode = ended.opcode;
  cqe.status = static_cast<uint8_t>(ended.status);
  cqe.flags = ended.flags;
  cqe.detail = ended.sender;
  cqe.group = ended.group;
  if (pull && ended.status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR && qp.in_error()) take_fault(qp, cqe);
  if (ended.status == EXRNIC_CQE_STATUS_SUCCESS && !ended.signaled) return;
  write_cqe(pull ? qp.send_cqn : qp.recv_cqn, cqe);
}

// All completions of its send queue are written.
void Completer::tell_drained(uint32_t qpn) {
  QueuePair& qp = state_.qps[qpn];
  if (qp.is_draining() && qp.is_drained()) {
    qp.at.drained = qp.status.drains;
    state_.happens({EXRNIC_EQE_TYPE_SQ_DRAINED, qpn});
  }
  state_.wake(qpn);
}

// ---- Completion queues

void Completer::lose_completion(uint32_t cqn, uint32_t qpn) {
  state_.count(EXRNIC_COUNTER_CQ_OVERRUNS);
  state_.happens({EXRNIC_EQE_TYPE_CQ_ERROR, cqn});
  if (!state_.qps[qpn].in_error()) state_.go_to_error(qpn, EXRNIC_QP_CAUSE_COMPLETION, {});
}

void Completer::write_cqe(uint32_t cqn, const exrnic_cqe& wanted) {
  CompletionQueue& cq = state_.cqs[cqn];
  const uint32_t entries = 1u << cq.log_entries;
  if (!cq.valid || cq.producer - cq.consumer == entries) return lose_completion(cqn, wanted.qpn);
  busy_ = true;
  const uint64_t slot = cq.producer % entries;
  xlate_.ring(cq.pbl_address, slot * sizeof wanted, sizeof wanted,
              [this, cqn, &cq, wanted](const Place& place) {
                busy_ = false;
                if (place.verdict != Verdict::kOk) return lose_completion(cqn, wanted.qpn);
                exrnic_cqe cqe = wanted;
                cqe.timestamp = state_.time_ns;
                // 1 in the first round, then 0, then 1
                cqe.phase = !(cq.producer >> cq.log_entries & 1);
                dma_write_.write(place.address, reinterpret_cast<const uint8_t*>(&cqe), sizeof cqe);
                state_.trace(EXRNIC_TRACE_COMPLETION, cqe.qpn, cqe.wqe_index, 0,
                             cqe.opcode == EXRNIC_WQE_OPCODE_RECV ? EXRNIC_TRACE_FLAGS_RECEIVE : 0);
                ++cq.producer;
                state_.count(EXRNIC_COUNTER_CQES);
                moderate(cqn, cqe);
              });
}

// An armed queue fires behind so many completions, or so long after the first of them.
void Completer::moderate(uint32_t cqn, const exrnic_cqe& cqe) {
  CompletionQueue& cq = state_.cqs[cqn];
  const bool counts = cq.arm == Arm::kAny || (cq.arm == Arm::kSolicited && is_solicited(cqe));
  if (!counts) return;
  ++cq.counted;
  if (cq.moderation_ns == 0 || cq.counted >= cq.moderation_count) return fire(cqn);
  if (cq.counted > 1) return;
  cq.deadline = state_.time_ns + cq.moderation_ns;
  timed_.insert(cqn);
}

void Completer::fire(uint32_t cqn) {
  CompletionQueue& cq = state_.cqs[cqn];
  cq.arm = Arm::kNone;
  cq.counted = 0;
  if (cq.eqn == EXRNIC_NO_EQ) return dma_write_.fire(cq.msix_vector);
  state_.happens({EXRNIC_EQE_TYPE_COMPLETION, cqn, 0, cq.eqn});
}

void Completer::fire_late() {
  for (auto timed = timed_.begin(); timed != timed_.end();) {
    const CompletionQueue& cq = state_.cqs[*timed];
    const bool waits = cq.valid && cq.counted != 0;
    const bool over = waits && state_.time_ns >= cq.deadline;
    if (over) fire(*timed);
    timed = waits && !over ? std::next(timed) : timed_.erase(timed);
  }
}

}  // namespace exrnic::ref
