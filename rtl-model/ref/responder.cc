// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/responder.h"

#include <utility>

#include "rtl-model/ref/ddp_check.h"

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

// Remote protection and tagged buffer errors are access errors to the user of verbs.
exrnic_cqe_status status_of(uint16_t code) {
  const uint16_t layer_and_type = code & 0xff00;
  const bool access = layer_and_type == (EXRNIC_TERM_CODE_ACCESS & 0xff00) ||
                      layer_and_type == (EXRNIC_TERM_CODE_TAGGED_STAG & 0xff00);
  return access ? EXRNIC_CQE_STATUS_REM_ACCESS_ERR : EXRNIC_CQE_STATUS_REM_OP_ERR;
}

bool knows_its_peer(exrnic_qp_state state) {
  return state == EXRNIC_QP_STATE_RTR || state == EXRNIC_QP_STATE_RTS ||
         state == EXRNIC_QP_STATE_ERROR;
}

}  // namespace

void Responder::run() {
  while (!state_.quiesce) {
    if (phase_ == Phase::kIdle && !efe_rx_.segments().empty()) {
      segment_ = std::move(efe_rx_.segments().front());
      efe_rx_.segments().pop_front();
      judge();
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
  const bool mine = qp.valid && qp.dest_node == segment_.node && qp.dest_qpn == segment_.src_qpn &&
                    knows_its_peer(qp.status.state);
  return mine ? &qp : nullptr;
}

void Responder::judge() {
  const QueuePair* qp = addressee();
  was_addressed_ = qp != nullptr;
  if (is_terminate(segment_.ddp)) return take_terminate();
  if (qp == nullptr) return refuse(EXRNIC_TERM_CODE_STREAM);
  if (qp->in_error()) {
    state_.count(EXRNIC_COUNTER_RX_DISCARDED);
    // Its segments will be acknowledged: a peer that has not been told takes them for placed.
    return qp->status.told ? done() : refuse(EXRNIC_TERM_CODE_STREAM);
  }
  if (const auto error = header_error(segment_.ddp)) return refuse(*error);
  place(EXRNIC_DDP_TAGGED_BYTES);
}

// ---- Placement, page by page, from a place in the segment on

void Responder::place(size_t offset) {
  const size_t left = segment_.ddp.size() - offset;
  if (left == 0) {
    dma_write_.then([this] { state_.count(EXRNIC_COUNTER_SEGMENTS_PLACED); });
    return done();
  }
  phase_ = Phase::kPlacing;
  const uint8_t* header = segment_.ddp.data();
  const Access access{static_cast<uint32_t>(exrnic_ddp_tagged_stag(header)), addressee()->pd,
                      EXRNIC_ACCESS_REMOTE_WRITE,
                      exrnic_ddp_tagged_to(header) + (offset - EXRNIC_DDP_TAGGED_BYTES), left};
  xlate_.region(access, [this, offset](const Place& place_of_bytes) {
    if (place_of_bytes.verdict != Verdict::kOk) return refuse(refusal(place_of_bytes.verdict));
    const auto first = segment_.ddp.begin() + offset;
    dma_write_.write(place_of_bytes.address, Bytes(first, first + place_of_bytes.length));
    place(offset + place_of_bytes.length);
  });
}

// It is acknowledged when its bytes, and those of all before it, are with PCIe.
void Responder::done() {
  phase_ = Phase::kIdle;
  dma_write_.then([this, segment = std::move(segment_)] { efe_rx_.placed(segment); });
}

// ---- The peer refused something of ours

void Responder::take_terminate() {
  QueuePair* qp = addressee();
  if (qp != nullptr && !qp->in_error()) {
    state_.count(EXRNIC_COUNTER_TERMINATES_RX);
    const bool has_code = segment_.ddp.size() >= EXRNIC_DDP_UNTAGGED_BYTES + sizeof(uint16_t);
    const uint8_t* body = segment_.ddp.data() + EXRNIC_DDP_UNTAGGED_BYTES;
    qp->status = {};
    qp->status.state = EXRNIC_QP_STATE_ERROR;
    qp->status.fault = true;
    qp->status.fault_detail =
        has_code ? static_cast<uint16_t>(exrnic_terminate_code(body)) : uint16_t{0};
    qp->status.fault_status = status_of(qp->status.fault_detail);
    qp->status.exact = true;
    qp->status.fault_seq = segment_.ack + segment_.refused;
    state_.causes |= EXRNIC_INT_CAUSE_QP_ERROR;
    state_.wake(segment_.dst_qpn);
  }
  done();
}

// ---- We refuse something of the peer's

void Responder::refuse(exrnic_term_code code) {
  code_ = code;
  phase_ = Phase::kRefusing;
}

Segment Responder::terminate_message() const {
  const size_t quoted =
      is_tagged(segment_.ddp) ? EXRNIC_DDP_TAGGED_BYTES : EXRNIC_DDP_UNTAGGED_BYTES;
  Bytes control(EXRNIC_TERMINATE_BYTES - EXRNIC_DDP_TAGGED_BYTES);  // all before the quotation
  exrnic_terminate_set_code(control.data(), code_);
  exrnic_terminate_set_m(control.data(), 1);
  exrnic_terminate_set_d(control.data(), 1);
  exrnic_terminate_set_segment_length(control.data(), segment_.ddp.size());

  Segment message;
  message.node = segment_.node;
  message.dst_qpn = segment_.src_qpn;
  message.src_qpn = segment_.dst_qpn;
  message.refused = efe_rx_.behind_hold(segment_.node, segment_.seq);
  message.tag.kind = Tag::Kind::kTerminate;
  Bytes& ddp = message.ddp;
  ddp.resize(EXRNIC_DDP_UNTAGGED_BYTES);
  exrnic_ddp_untagged_set_last(ddp.data(), 1);
  exrnic_ddp_untagged_set_dv(ddp.data(), EXRNIC_DDP_VERSION);
  exrnic_ddp_untagged_set_rv(ddp.data(), EXRNIC_RDMAP_VERSION);
  exrnic_ddp_untagged_set_opcode(ddp.data(), EXRNIC_RDMAP_OPCODE_TERMINATE);
  exrnic_ddp_untagged_set_qn(ddp.data(), EXRNIC_TERMINATE_QN);
  exrnic_ddp_untagged_set_msn(ddp.data(), 1);
  ddp.insert(ddp.end(), control.begin(), control.end());
  ddp.insert(ddp.end(), segment_.ddp.begin(), segment_.ddp.begin() + quoted);
  return message;
}

void Responder::answer() {
  efe_tx_.submit(terminate_message());
  efe_rx_.hold(segment_.node, segment_.seq);
  // One that became the addressee only after the refusal is not to blame for it.
  QueuePair* qp = was_addressed_ ? addressee() : nullptr;
  if (qp != nullptr && !qp->in_error()) {
    qp->status = {};
    qp->status.state = EXRNIC_QP_STATE_ERROR;
    state_.causes |= EXRNIC_INT_CAUSE_QP_ERROR;
    state_.wake(segment_.dst_qpn);
  }
  if (qp != nullptr) qp->status.told = true;
  done();
}

}  // namespace exrnic::ref
