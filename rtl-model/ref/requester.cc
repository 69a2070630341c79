// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/requester.h"

#include <algorithm>
#include <cstring>

namespace exrnic::ref {
namespace {

// Whether a work request can be executed, as far as it alone tells.
exrnic_cqe_status check(const exrnic_wqe& wqe) {
  if (wqe.opcode != EXRNIC_WQE_OPCODE_PUSH || (wqe.flags & ~EXRNIC_WQE_FLAGS_SIGNALED) != 0 ||
      wqe.num_sge > EXRNIC_WQE_SGES || wqe.num_slots != 1 || wqe.imm_data != 0)
    return EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
  uint64_t sum = 0;
  if (wqe.num_sge > 0) sum += wqe.sge0_length;
  if (wqe.num_sge > 1) sum += wqe.sge1_length;
  if (sum != wqe.length || wqe.length > EXRNIC_MESSAGE_MAX) return EXRNIC_CQE_STATUS_LOC_LEN_ERR;
  return EXRNIC_CQE_STATUS_SUCCESS;
}

}  // namespace

void Requester::run() {
  while (!state_.quiesce) {
    if (phase_ == Phase::kIdle && !state_.turns.empty()) {
      take_turn(state_.next_turn());
    } else if (phase_ == Phase::kWindow && efe_tx_.has_room()) {
      next_segment();
    } else {
      return;
    }
  }
}

void Requester::take_turn(uint32_t qpn) {
  qpn_ = qpn;
  if (!qp().valid) return;
  generation_ = qp().generation;
  wqe_ = {};
  receive_ = qp().in_error() && !qp().sq_posted();
  index_ = receive_ ? qp().rq_consumer : qp().sq_consumer;
  if (qp().in_error()) {
    if (qp().sq_posted() || qp().rq_posted()) ready(EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  } else if (qp().status.state == EXRNIC_QP_STATE_RTS && qp().sq_posted() && !qp().halted) {
    fetch();
  }
}

void Requester::fetch() {
  phase_ = Phase::kReading;
  const uint64_t slot = index_ % (1u << qp().sq_log);
  xlate_.ring(qp().sq_pbl, slot * sizeof wqe_, sizeof wqe_, [this](const Place& place) {
    if (place.verdict != Verdict::kOk) return ready(EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
    dma_read_.read(place.address, sizeof wqe_, [this](bool good, const Bytes& slot) {
      if (!good) return ready(EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
      std::memcpy(&wqe_, slot.data(), sizeof wqe_);
      ready(check(wqe_));
    });
  });
}

void Requester::ready(exrnic_cqe_status status) {
  status_ = status;
  submitted_ = 0;
  phase_ = Phase::kWindow;
}

// The queue pair may have changed while there was no room.
void Requester::next_segment() {
  const auto state = qp().status.state;
  const bool usable = state == EXRNIC_QP_STATE_RTS || state == EXRNIC_QP_STATE_ERROR;
  if (!qp().valid || qp().generation != generation_ || !usable) {
    phase_ = Phase::kIdle;
    state_.wake(qpn_);
    return;
  }
  payload_.clear();
  if (status_ == EXRNIC_CQE_STATUS_SUCCESS && qp().in_error())
    status_ = EXRNIC_CQE_STATUS_WR_FLUSH_ERR;
  if (status_ == EXRNIC_CQE_STATUS_SUCCESS) {
    gather();
  } else {
    submit();
  }
}

size_t Requester::segment_length() const {
  return std::min(wqe_.length - submitted_, state_.settings.mtu);
}

exrnic_sge Requester::next_piece() const {
  const uint32_t done = submitted_ + static_cast<uint32_t>(payload_.size());
  if (done < wqe_.sge0_length)
    return {wqe_.sge0_address + done, wqe_.sge0_length - done, wqe_.sge0_stag};
  const uint32_t done_of_second = done - wqe_.sge0_length;
  return {wqe_.sge1_address + done_of_second, wqe_.sge1_length - done_of_second, wqe_.sge1_stag};
}

void Requester::gather() {
  const size_t missing = segment_length() - payload_.size();
  if (missing == 0) return submit();
  phase_ = Phase::kReading;
  read_piece(next_piece(), missing);
}

// Local read is always granted: no right is asked for.
void Requester::read_piece(const exrnic_sge& piece, size_t most) {
  const Access access{piece.stag, qp().pd, 0, piece.address, piece.length};
  xlate_.region(access, [this, most](const Place& place) {
    if (place.verdict != Verdict::kOk) return fail(EXRNIC_CQE_STATUS_LOC_PROT_ERR);
    dma_read_.read(place.address, std::min<uint64_t>(most, place.length),
                   [this](bool good, const Bytes& data) {
                     unreadable_ = !good;
                     if (!good) return fail(EXRNIC_CQE_STATUS_LOC_PROT_ERR);
                     payload_.insert(payload_.end(), data.begin(), data.end());
                     gather();
                   });
  });
}

void Requester::fail(exrnic_cqe_status status) {
  status_ = status;
  submit();
}

Bytes Requester::ddp_header(bool last) const {
  Bytes header(EXRNIC_DDP_TAGGED_BYTES);
  exrnic_ddp_tagged_set_t(header.data(), 1);
  exrnic_ddp_tagged_set_last(header.data(), last);
  exrnic_ddp_tagged_set_dv(header.data(), EXRNIC_DDP_VERSION);
  exrnic_ddp_tagged_set_rv(header.data(), EXRNIC_RDMAP_VERSION);
  exrnic_ddp_tagged_set_opcode(header.data(), EXRNIC_RDMAP_OPCODE_WRITE);
  exrnic_ddp_tagged_set_stag(header.data(), wqe_.remote_stag);
  exrnic_ddp_tagged_set_to(header.data(), wqe_.remote_to + submitted_);
  return header;
}

void Requester::submit() {
  const bool failed = status_ != EXRNIC_CQE_STATUS_SUCCESS;
  const bool last = failed || submitted_ + payload_.size() == wqe_.length;
  Segment segment;
  segment.node = qp().dest_node;
  segment.dst_qpn = qp().dest_qpn;
  segment.src_qpn = qpn_;
  segment.ddp = ddp_header(last);
  segment.ddp.insert(segment.ddp.end(), payload_.begin(), payload_.end());
  segment.failed = status_;
  segment.tag.kind = last ? Tag::Kind::kLast : Tag::Kind::kSegment;
  segment.tag.qpn = qpn_;
  segment.tag.generation = generation_;
  segment.tag.wqe_index = index_;
  segment.tag.byte_length = wqe_.length;
  segment.tag.signaled = wqe_.flags & EXRNIC_WQE_FLAGS_SIGNALED;
  segment.tag.opcode = receive_ ? EXRNIC_WQE_OPCODE_RECV : EXRNIC_WQE_OPCODE_PUSH;
  efe_tx_.submit(std::move(segment));
  submitted_ += static_cast<uint32_t>(payload_.size());
  phase_ = Phase::kWindow;
  if (last) end_work_request();
}

void Requester::end_work_request() {
  (receive_ ? qp().rq_consumer : qp().sq_consumer) = static_cast<uint16_t>(index_ + 1);
  state_.count(EXRNIC_COUNTER_WQES);
  if (status_ != EXRNIC_CQE_STATUS_SUCCESS) {
    qp().halted = true;
    const bool refused = status_ != EXRNIC_CQE_STATUS_WR_FLUSH_ERR && !unreadable_;
    if (refused) state_.count(EXRNIC_COUNTER_WQE_ERRORS);
  }
  unreadable_ = false;
  phase_ = Phase::kIdle;
  state_.wake(qpn_);
}

}  // namespace exrnic::ref
