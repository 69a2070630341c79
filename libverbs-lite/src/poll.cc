// SPDX-License-Identifier: BSD-2-Clause
// vl_poll_cq: from CQEs to work completions. vl_req_notify_cq.
#include <cerrno>
#include <mutex>

#include "cq.h"
#include "qp.h"
#include "rnic.h"
#include "srq.h"

namespace exrnic {

namespace {

static_assert(EXRNIC_MAX_QP <= 1u << EXRNIC_SENDER_NODE_SHIFT &&
                  uint64_t{EXRNIC_MAX_NODE} << EXRNIC_SENDER_NODE_SHIFT <= uint64_t{1} << 32,
              "cqe.detail holds a node and its queue pair");

// What the device calls a status, and what the specification makes of an opcode, has the same name
// in verbs.h.
vl_wc_status Status(uint8_t status) {
  switch (status) {
#define EXRNIC_CASE(name, meaning) \
  case EXRNIC_CQE_STATUS_##name:   \
    return VL_WC_##name;
    EXRNIC_CQE_STATUS_EACH(EXRNIC_CASE)
#undef EXRNIC_CASE
  }
  return VL_WC_GENERAL_ERR;
}

vl_wc_opcode Opcode(uint8_t opcode) {
  switch (exrnic_of_wqe_opcode(opcode).completes) {
#define EXRNIC_CASE(name, meaning) \
  case EXRNIC_COMPLETION_##name:   \
    return VL_WC_##name;
    EXRNIC_COMPLETION_EACH(EXRNIC_CASE)
#undef EXRNIC_CASE
  }
  return VL_WC_UNKNOWN;
}

int Flags(uint8_t flags) {
  int result = 0;
  if (flags & EXRNIC_CQE_FLAGS_IMM) result |= VL_WC_WITH_IMM;
  if (flags & EXRNIC_CQE_FLAGS_INVALIDATED) result |= VL_WC_WITH_INVALIDATE;
  if (flags & EXRNIC_CQE_FLAGS_SOLICITED) result |= VL_WC_SOLICITED;
  if (flags & EXRNIC_CQE_FLAGS_SENDER) result |= VL_WC_WITH_SOURCE;
  if (flags & EXRNIC_CQE_FLAGS_GROUP) result |= VL_WC_WITH_GROUP;
  if (flags & EXRNIC_CQE_FLAGS_WRITTEN) result |= VL_WC_WRITTEN;
  return result;
}

vl_qp* QpOf(const vl_cq* cq, const exrnic_cqe& cqe) {
  if (cqe.qpn >= cq->rnic->qps.size()) return nullptr;
  return cq->rnic->qps[cqe.qpn].load(std::memory_order_acquire);
}

// Ends the work that a CQE of this completion queue speaks of. False: there is none.
bool Complete(const vl_cq* cq, const exrnic_cqe& cqe, uint64_t* wr_id) {
  vl_qp* qp = QpOf(cq, cqe);
  if (qp == nullptr) return false;
  if (cqe.opcode != EXRNIC_WQE_OPCODE_RECV) {
    return qp->send_cq == cq && qp->sq.Complete(cqe.wqe_index, wr_id);
  }
  if (qp->recv_cq != cq) return false;
  return qp->srq != nullptr ? qp->srq->queue.Complete(cqe.wqe_index, wr_id)
                            : qp->rq->Complete(cqe.wqe_index, wr_id);
}

// False: the CQE is of no work that is outstanding; the caller must not see it.
bool Translate(const vl_cq* cq, const exrnic_cqe& cqe, vl_wc* wc) {
  if (!Complete(cq, cqe, &wc->wr_id)) return false;
  wc->status = Status(cqe.status);
  wc->opcode = Opcode(cqe.opcode);
  wc->byte_len = cqe.byte_length;
  wc->qpn = cqe.qpn;
  wc->timestamp_ns = cqe.timestamp;
  wc->flags = Flags(cqe.flags);
  const bool sender = (wc->flags & VL_WC_WITH_SOURCE) != 0;
  wc->detail = sender ? 0 : cqe.detail;
  wc->src_node = sender ? cqe.detail >> EXRNIC_SENDER_NODE_SHIFT : 0;
  wc->src_qpn = sender ? cqe.detail & ((1u << EXRNIC_SENDER_NODE_SHIFT) - 1) : 0;
  wc->group = cqe.group;
  wc->imm_data = (wc->flags & VL_WC_WITH_IMM) ? cqe.imm_data : 0;
  wc->invalidated_stag = (wc->flags & VL_WC_WITH_INVALIDATE) ? cqe.imm_data : 0;
  return true;
}

// Takes completions into wc[]; returns how many.
int TakeCompletions(vl_cq* cq, int most, vl_wc* wc) {
  std::lock_guard<SpinLock> guard(cq->lock);
  int taken = 0;
  while (taken < most) {
    const exrnic_cqe* cqe = exrnic_cq_at(&cq->ring, cq->ring.consumer);
    if (cqe == nullptr) break;
    if (Translate(cq, *cqe, &wc[taken])) ++taken;
    ++cq->ring.consumer;
  }
  cq->ReportIfDue();
  return taken;
}

}  // namespace

}  // namespace exrnic

int vl_poll_cq(vl_cq* cq, int num_entries, vl_wc* wc) {
  if (!exrnic::BeginCall({{"cq", cq}})) return -1;
  if (num_entries < 0) return exrnic::Fail(EINVAL, "num_entries is %d", num_entries);
  if (num_entries > 0 && wc == nullptr) {
    return exrnic::Fail(EINVAL, "wc is NULL, and num_entries %d", num_entries);
  }
  const int taken = exrnic::TakeCompletions(cq, num_entries, wc);
  if (taken == 0 && num_entries > 0 && !cq->rnic->user_page.WhileEmpty()) {
    return exrnic::FailGone();
  }
  return taken;
}

int vl_req_notify_cq(vl_cq* cq, int solicited_only) {
  if (!exrnic::BeginCall({{"cq", cq}})) return -1;
  if (!cq->rnic->user_page.usable()) return exrnic::FailGone();
  std::lock_guard<exrnic::SpinLock> guard(cq->lock);
  exrnic_cq_report(&cq->ring, cq->rnic->user_page.get(),
                   solicited_only ? EXRNIC_DOORBELL_CQ_ARM_SOLICITED : EXRNIC_DOORBELL_CQ_ARM);
  return 0;
}
