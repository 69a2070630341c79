// SPDX-License-Identifier: BSD-2-Clause
// The responder on what is sent once: the unreliable class, and datagrams.
#include "rtl-model/ref/ddp_check.h"
#include "rtl-model/ref/responder.h"

namespace exrnic::ref {
namespace {

// See PKEY_FULL.
bool pkeys_match(uint16_t a, uint16_t b) {
  const auto partition = [](uint16_t pkey) { return pkey & ~EXRNIC_PKEY_FULL; };
  return partition(a) != 0 && partition(a) == partition(b) && ((a | b) & EXRNIC_PKEY_FULL);
}

}  // namespace

// Of the unreliable class. Nobody is told of what is not served.
void Responder::judge_unreliable() {
  QueuePair* qp = addressee();
  if (qp != nullptr && segment_.datagram && !has_keys(*qp)) qp = nullptr;
  was_addressed_ = qp != nullptr;
  if (qp == nullptr || qp->in_error()) return drop();
  if (segment_.datagram) return judge_datagram(*qp);
  Inbound& inbound = qp->at.inbound;
  const uint32_t behind = inbound.next - segment_.seq;
  if (behind != 0 && behind <= EXRNIC_UC_STALE) return drop();
  if (behind != 0) state_.count(EXRNIC_COUNTER_UC_LOST);
  if (behind != 0 || segment_.first) inbound.abandon(!segment_.first);
  inbound.next = segment_.seq + 1;
  if (!goes_on(inbound)) return drop_message();
  phase_ = Phase::kReading;
  serve(*qp);
}

bool Responder::has_keys(const QueuePair& qp) {
  if (!pkeys_match(state_.pkeys[qp.has.pkey_index], segment_.datagram->pkey)) {
    state_.count(EXRNIC_COUNTER_BAD_PKEY);
    return false;
  }
  if (qp.has.qkey == segment_.datagram->qkey) return true;
  state_.count(EXRNIC_COUNTER_BAD_QKEY);
  return false;
}

// A message of itself; or none.
void Responder::judge_datagram(QueuePair& qp) {
  qp.at.inbound.abandon(/*skip=*/false);
  const uint8_t* header = segment_.ddp.data();
  if (!exrnic_ddp_untagged_last(header) || !goes_on(qp.at.inbound)) return drop();
  phase_ = Phase::kReading;
  serve(qp);
}

// It begins a message, or goes on with the one under way.
bool Responder::goes_on(const Inbound& inbound) const {
  if (inbound.skips || header_error(segment_.ddp)) return false;
  const uint8_t* header = segment_.ddp.data();
  const auto op = exrnic_of_rdmap_opcode(exrnic_ddp_tagged_opcode(header));
  if (!(segment_.datagram ? op.ud : op.uc)) return false;
  switch (op.message) {
    case EXRNIC_MESSAGE_WRITE:
      return segment_.first || !inbound.write_ended;
    case EXRNIC_MESSAGE_SEND:
      if (segment_.first) return exrnic_ddp_untagged_mo(header) == 0;
      return inbound.write_ended && inbound.open &&
             exrnic_ddp_untagged_mo(header) == inbound.received;
    case EXRNIC_MESSAGE_IMMEDIATE:
      return !segment_.first && inbound.write_ended && (!inbound.open || inbound.received == 0);
    default:
      return false;
  }
}

// Of the unreliable class: there is no receive, or it is to blame.
void Responder::end_message(exrnic_term_code code) {
  if (code == EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER) {
    state_.count(EXRNIC_COUNTER_UNRELIABLE_NO_RECEIVE);
  } else if (!segment_.datagram || code != EXRNIC_TERM_CODE_UNTAGGED_TOO_LONG) {
    state_.go_to_error(segment_.dst_qpn, EXRNIC_QP_CAUSE_REQUEST, {});
  }
  drop_message();
}

void Responder::drop_message() {
  state_.qps[segment_.dst_qpn].at.inbound.abandon(/*skip=*/true);
  drop();
}

void Responder::drop() {
  state_.count(EXRNIC_COUNTER_UNRELIABLE_DROPPED);
  done();
}

}  // namespace exrnic::ref
