// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/receiver.h"

#include <algorithm>
#include <utility>

namespace exrnic::ref {
namespace {

exrnic_rdmap_opcode_properties op_of(const Received& segment) {
  return exrnic_of_rdmap_opcode(exrnic_ddp_untagged_opcode(segment.ddp.data()));
}

bool is_immediate(const Received& segment) {
  return op_of(segment).message == EXRNIC_MESSAGE_IMMEDIATE;
}

bool is_last(const Received& segment) { return exrnic_ddp_untagged_last(segment.ddp.data()); }

// What goes into the receive: of an Immediate Data message nothing.
Bytes payload_of(const Received& segment) {
  if (is_immediate(segment)) return {};
  return Bytes(segment.ddp.begin() + EXRNIC_DDP_UNTAGGED_BYTES, segment.ddp.end());
}

}  // namespace

void Receiver::take(uint32_t qpn, const Received& segment, Done done) {
  qpn_ = qpn;
  segment_ = &segment;
  done_ = std::move(done);
  // The responder has seen to the order of one of the unreliable class.
  if (!segment.unreliable)
    if (const Refusal refusal = out_of_order()) return done_(refusal);
  if (inbound().open) return place();
  const std::optional<Ring> from = ring();
  if (!from) return done_(EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER);
  take_receive(*from);
}

Receiver::Refusal Receiver::out_of_order() {
  const uint8_t* header = segment_->ddp.data();
  const uint32_t received = inbound().open ? inbound().received : 0;
  if (exrnic_ddp_untagged_msn(header) != inbound().messages + 1)
    return EXRNIC_TERM_CODE_UNTAGGED_MSN;
  if (exrnic_ddp_untagged_mo(header) != received) return EXRNIC_TERM_CODE_UNTAGGED_MO;
  if (inbound().open && is_immediate(*segment_)) return EXRNIC_TERM_CODE_OPCODE;
  return std::nullopt;
}

// ---- Receives

// Where the next receive stands; nothing if there is none.
std::optional<Ring> Receiver::ring() {
  const auto& at = qp().at;
  Ring ring{qp().rq_pbl_address, qp().rq_log_slots, at.rq_consumer, at.rq_producer};
  if (qp().has_srq()) {
    const SharedReceiveQueue& srq = state_.srqs[qp().srqn];
    if (!srq.valid) return std::nullopt;
    ring = {srq.pbl_address, srq.log_slots, srq.consumer, srq.producer};
  }
  if (ring.consumer == ring.producer) return std::nullopt;
  return ring;
}

void Receiver::consume(uint16_t slots) {
  if (!qp().has_srq()) {
    qp().at.rq_consumer = static_cast<uint16_t>(qp().at.rq_consumer + slots);
    return;
  }
  SharedReceiveQueue& srq = state_.srqs[qp().srqn];
  srq.consumer = static_cast<uint16_t>(srq.consumer + slots);
  const auto left = static_cast<uint16_t>(srq.producer - srq.consumer);
  if (left >= srq.limit) return;
  srq.limit = 0;
  state_.happens({EXRNIC_EQE_TYPE_SRQ_LIMIT, qp().srqn});
}

void Receiver::take_receive(const Ring& ring) {
  fetch_.fetch(ring, [this, ring](const WorkRequest& receive) {
    consume(receive.slots);
    const auto wqe_index = static_cast<uint16_t>(ring.consumer + receive.slots - 1);
    const exrnic_cqe_status status = check_receive(receive);
    if (status != EXRNIC_CQE_STATUS_SUCCESS) {
      end_receive(wqe_index, status);
      return done_(EXRNIC_TERM_CODE_LOCAL_CATASTROPHIC);
    }
    inbound().open = true;
    inbound().refused = false;
    inbound().wqe_index = wqe_index;
    inbound().elements = receive.elements;
    inbound().room = receive.head.length;
    inbound().received = 0;
    if (!segment_->unreliable) state_.takes_message(qpn_, segment_->ask);
    place();
  });
}

// ---- Placement

void Receiver::place() {
  const Bytes payload = payload_of(*segment_);
  const uint64_t begin = uint64_t{qp().left_to_software()} + inbound().received;
  const bool too_long = begin + payload.size() > inbound().room;
  // Anyone may have sent a datagram: the receive is for the next one.
  if (too_long && segment_->datagram) return done_(EXRNIC_TERM_CODE_UNTAGGED_TOO_LONG);
  if (too_long) return fail(EXRNIC_CQE_STATUS_LOC_LEN_ERR, EXRNIC_TERM_CODE_UNTAGGED_TOO_LONG);
  const ElementList sinks{inbound().elements, asker(qp(), qpn_), EXRNIC_ACCESS_LOCAL_WRITE};
  scatter_.scatter(sinks, begin, payload, [this](Verdict verdict) {
    if (verdict != Verdict::kOk)
      return fail(EXRNIC_CQE_STATUS_LOC_PROT_ERR, EXRNIC_TERM_CODE_LOCAL_CATASTROPHIC);
    placed();
  });
}

// What an invalidation refuses leaves the receive open; it is flushed later.
void Receiver::placed() {
  const bool last = is_last(*segment_);
  const bool invalidating = last && op_of(*segment_).invalidates;
  if (invalidating)
    if (const Refusal refusal = invalidate()) return done_(refusal);
  inbound().received += static_cast<uint32_t>(payload_of(*segment_).size());
  if (!last) return done_(std::nullopt);
  if (!invalidating) return take_last();
  // It ends behind the reads that were let in before.
  dma_read_.then([this] { take_last(); });
}

void Receiver::take_last() {
  complete();
  done_(std::nullopt);
}

Receiver::Refusal Receiver::invalidate() {
  Access access;
  access.stag = static_cast<uint32_t>(exrnic_ddp_untagged_invalidate_stag(segment_->ddp.data()));
  access.asker = asker(qp(), qpn_);
  access.rights = EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_WRITE;
  switch (ref::invalidate(state_, access)) {
    case Verdict::kOk:
      return std::nullopt;
    case Verdict::kStag:
      return EXRNIC_TERM_CODE_RDMAP_STAG;
    case Verdict::kStream:
      return EXRNIC_TERM_CODE_RDMAP_STREAM;
    default:
      return EXRNIC_TERM_CODE_NOT_INVALIDATED;
  }
}

// ---- Ends

void Receiver::complete() {
  const uint8_t* header = segment_->ddp.data();
  ReceiveEnded ended = end_of(inbound().wqe_index);
  ended.byte_length = qp().left_to_software() + inbound().received;
  if (op_of(*segment_).solicited) ended.flags |= EXRNIC_CQE_FLAGS_SOLICITED;
  if (is_immediate(*segment_)) {
    ended.byte_length = inbound().written;
    ended.flags |= EXRNIC_CQE_FLAGS_IMM | EXRNIC_CQE_FLAGS_WRITTEN;
    ended.imm_data =
        static_cast<uint32_t>(exrnic_immediate_data(header + EXRNIC_DDP_UNTAGGED_BYTES));
  } else if (op_of(*segment_).invalidates) {
    ended.flags |= EXRNIC_CQE_FLAGS_INVALIDATED;
    ended.imm_data = static_cast<uint32_t>(exrnic_ddp_untagged_invalidate_stag(header));
  } else if (segment_->imm) {
    ended.flags |= EXRNIC_CQE_FLAGS_IMM;
    ended.imm_data = *segment_->imm;
  }
  if (segment_->datagram) {
    ended.flags |= EXRNIC_CQE_FLAGS_SENDER;
    ended.sender = segment_->node << EXRNIC_SENDER_NODE_SHIFT |
                   (segment_->src_qpn & ((1u << EXRNIC_SENDER_NODE_SHIFT) - 1));
    if (segment_->group) ended.flags |= EXRNIC_CQE_FLAGS_GROUP;
    ended.group = segment_->group.value_or(0);
  }
  inbound().open = false;
  ++inbound().messages;
  state_.count(EXRNIC_COUNTER_RECVS);
  completer_.ended(ended);
}

// The completion goes before the refusal, which flushes those behind it.
void Receiver::fail(exrnic_cqe_status status, exrnic_term_code code) {
  inbound().open = false;
  end_receive(inbound().wqe_index, status);
  done_(code);
}

void Receiver::end_receive(uint16_t wqe_index, exrnic_cqe_status status) {
  ReceiveEnded ended = end_of(wqe_index);
  ended.status = status;
  completer_.ended(ended);
}

ReceiveEnded Receiver::end_of(uint16_t wqe_index) {
  ReceiveEnded ended;
  ended.qpn = static_cast<uint16_t>(qpn_);
  ended.generation = qp().generation;
  ended.wqe_index = wqe_index;
  ended.signaled = true;
  ended.opcode = EXRNIC_WQE_OPCODE_RECV;
  return ended;
}

// Once: nothing of the shared queue is left to it.
void Receiver::tell_empty() {
  if (std::exchange(inbound().emptied, true)) return;
  ReceiveEnded ended = end_of(0);
  ended.emptied = true;
  completer_.ended(ended);
}

// Behind the ends of its PULLs.
void Receiver::tell_drained(uint32_t qpn) {
  qpn_ = qpn;
  ReceiveEnded ended = end_of(0);
  ended.drained = true;
  completer_.ended(ended);
}

void Receiver::flush(uint32_t qpn, std::function<void(bool ended)> done) {
  qpn_ = qpn;
  if (inbound().open) {
    inbound().open = false;
    end_receive(inbound().wqe_index, EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    return done(true);
  }
  const std::optional<Ring> from = qp().has_srq() ? std::nullopt : ring();
  if (!from) {
    if (qp().has_srq()) tell_empty();
    return done(false);
  }
  fetch_.fetch(*from, [this, from = *from, done](const WorkRequest& receive) {
    consume(receive.slots);
    end_receive(static_cast<uint16_t>(from.consumer + receive.slots - 1),
                EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    done(true);
  });
}

}  // namespace exrnic::ref
