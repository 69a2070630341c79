// SPDX-License-Identifier: BSD-2-Clause
// vl_poll_cq: from CQEs to work completions.
#include <cerrno>
#include <mutex>

#include "barrier.h"
#include "cq.h"
#include "doorbell.h"
#include "qp.h"
#include "rnic.h"

namespace exrnic {

namespace {

vl_wc_status Status(uint8_t status) {
  switch (status) {
    case EXRNIC_CQE_STATUS_SUCCESS:
      return VL_WC_SUCCESS;
    case EXRNIC_CQE_STATUS_LOC_LEN_ERR:
      return VL_WC_LOC_LEN_ERR;
    case EXRNIC_CQE_STATUS_LOC_QP_OP_ERR:
      return VL_WC_LOC_QP_OP_ERR;
    case EXRNIC_CQE_STATUS_LOC_PROT_ERR:
      return VL_WC_LOC_PROT_ERR;
    case EXRNIC_CQE_STATUS_WR_FLUSH_ERR:
      return VL_WC_WR_FLUSH_ERR;
    case EXRNIC_CQE_STATUS_REM_ACCESS_ERR:
      return VL_WC_REM_ACCESS_ERR;
    case EXRNIC_CQE_STATUS_REM_OP_ERR:
      return VL_WC_REM_OP_ERR;
    case EXRNIC_CQE_STATUS_RETRY_EXC_ERR:
      return VL_WC_RETRY_EXC_ERR;
    default:
      return VL_WC_GENERAL_ERR;
  }
}

vl_wc_opcode Opcode(uint8_t opcode) {
  switch (opcode) {
    case EXRNIC_WQE_OPCODE_PUSH:
      return VL_WC_PUSH;
    case EXRNIC_WQE_OPCODE_RECV:
      return VL_WC_RECV;
    default:
      return VL_WC_UNKNOWN;
  }
}

// The work queue that a CQE of this completion queue speaks of; null if there is none.
WorkQueue* QueueOf(const vl_cq* cq, const exrnic_cqe& cqe) {
  if (cqe.qpn >= cq->rnic->qps.size()) return nullptr;
  vl_qp* qp = cq->rnic->qps[cqe.qpn].load(std::memory_order_acquire);
  if (qp == nullptr) return nullptr;
  const bool receive = cqe.opcode == EXRNIC_WQE_OPCODE_RECV;
  if ((receive ? qp->recv_cq : qp->send_cq) != cq) return nullptr;
  return receive ? &qp->rq : &qp->sq;
}

// False: the CQE is of no work that is outstanding; the caller must not see it.
bool Translate(const vl_cq* cq, const exrnic_cqe& cqe, vl_wc* wc) {
  WorkQueue* queue = QueueOf(cq, cqe);
  if (queue == nullptr || !queue->Complete(cqe.wqe_index, &wc->wr_id)) return false;
  wc->status = Status(cqe.status);
  wc->opcode = Opcode(cqe.opcode);
  wc->byte_len = cqe.byte_length;
  wc->qpn = cqe.qpn;
  wc->detail = cqe.detail;
  wc->timestamp_ns = cqe.timestamp;
  return true;
}

void ReportTaken(vl_cq* cq) {
  if (cq->consumer - cq->reported < CqReportStep(cq->entries)) return;
  vl_mb_cqe_read_before_doorbell();
  WriteDoorbell(cq->rnic->user_page, EXRNIC_DOORBELL_CQ, cq->cqn, cq->consumer);
  cq->reported = cq->consumer;
}

}  // namespace

}  // namespace exrnic

int vl_poll_cq(vl_cq* cq, int num_entries, vl_wc* wc) {
  if (cq == nullptr || num_entries < 0 || (num_entries > 0 && wc == nullptr)) {
    return exrnic::Fail(EINVAL);
  }
  std::lock_guard<exrnic::SpinLock> guard(cq->lock);
  int taken = 0;
  while (taken < num_entries) {
    const exrnic_cqe* cqe = cq->At(cq->consumer);
    if (cqe == nullptr) break;
    if (exrnic::Translate(cq, *cqe, &wc[taken])) ++taken;
    ++cq->consumer;
  }
  exrnic::ReportTaken(cq);
  return taken;
}
