// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/completer.h"

#include <cstring>
#include <utility>

namespace exrnic::ref {
namespace {

// In ERROR an acknowledged frame was placed only if it left before the one that was refused.
bool was_placed(const QueuePair& qp, const Ended& ended) {
  if (ended.status != EXRNIC_CQE_STATUS_SUCCESS) return false;
  if (!qp.in_error()) return true;
  return qp.status.exact && static_cast<int32_t>(ended.seq - qp.status.fault_seq) < 0;
}

}  // namespace

// Doorbells go first: they make room for completions.
void Completer::run() {
  while (!state_.quiesce && !busy_) {
    if (!bells_.empty()) {
      const CqDoorbell bell = bells_.front();
      bells_.pop_front();
      serve(bell);
    } else if (!ended_.empty()) {
      const Ended ended = ended_.front();
      ended_.pop_front();
      complete(ended);
    } else {
      return;
    }
  }
}

void Completer::serve(const CqDoorbell& bell) {
  if (bell.cqn >= state_.cqs.size()) return state_.count(EXRNIC_COUNTER_DOORBELLS_REFUSED);
  CompletionQueue& cq = state_.cqs[bell.cqn];
  const uint32_t pending = cq.producer - bell.consumer;
  if (!cq.valid || cq.page != bell.page || pending > 1u << cq.log_entries)
    return state_.count(EXRNIC_COUNTER_DOORBELLS_REFUSED);
  state_.count(EXRNIC_COUNTER_DOORBELLS);
  cq.consumer = bell.consumer;
  if (!bell.arm) return;
  cq.armed = pending == 0;
  if (pending != 0) dma_write_.fire(cq.vector);
}

void Completer::complete(const Ended& ended) {
  QueuePair& qp = state_.qps[ended.tag.qpn];
  if (ended.tag.kind == Tag::Kind::kTerminate || !qp.valid || qp.generation != ended.tag.generation)
    return;
  const bool placed = was_placed(qp, ended);
  const bool last = ended.tag.kind == Tag::Kind::kLast;
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
  } else if (!last || !qp.status.fault) {
    cqe.status = EXRNIC_CQE_STATUS_WR_FLUSH_ERR;
  } else {
    cqe.status = static_cast<uint8_t>(qp.status.fault_status);
    cqe.detail = qp.status.fault_detail;
    qp.status.fault = false;
  }
  if (!last || (placed && !ended.tag.signaled)) return;
  write_cqe(ended.tag.opcode == EXRNIC_WQE_OPCODE_RECV ? qp.recv_cqn : qp.send_cqn, cqe);
}

// A segment that is not the last leaves its status for the work request that it is part of.
void Completer::go_to_error(const Ended& ended) {
  QueuePair& qp = state_.qps[ended.tag.qpn];
  const bool told = qp.status.told;
  qp.status = {};
  qp.status.state = EXRNIC_QP_STATE_ERROR;
  qp.status.fault = ended.tag.kind != Tag::Kind::kLast;
  qp.status.fault_status = ended.status;
  qp.status.told = told;
  state_.causes |= EXRNIC_INT_CAUSE_QP_ERROR;
  state_.wake(ended.tag.qpn);
}

void Completer::lose_completion() {
  state_.count(EXRNIC_COUNTER_CQ_OVERRUNS);
  state_.causes |= EXRNIC_INT_CAUSE_CQ_ERROR;
}

void Completer::write_cqe(uint32_t cqn, const exrnic_cqe& wanted) {
  CompletionQueue& cq = state_.cqs[cqn];
  const uint32_t entries = 1u << cq.log_entries;
  if (!cq.valid || cq.producer - cq.consumer == entries) return lose_completion();
  busy_ = true;
  const uint64_t slot = cq.producer % entries;
  xlate_.ring(cq.pbl, slot * sizeof wanted, sizeof wanted, [this, &cq, wanted](const Place& place) {
    busy_ = false;
    if (place.verdict != Verdict::kOk) return lose_completion();
    exrnic_cqe cqe = wanted;
    cqe.timestamp = state_.time_ns;
    cqe.phase = !(cq.producer >> cq.log_entries & 1);  // 1 in the first round, then 0, then 1
    Bytes bytes(sizeof cqe);
    std::memcpy(bytes.data(), &cqe, sizeof cqe);
    dma_write_.write(place.address, bytes);
    ++cq.producer;
    state_.count(EXRNIC_COUNTER_CQES);
    if (std::exchange(cq.armed, false)) dma_write_.fire(cq.vector);
  });
}

}  // namespace exrnic::ref
