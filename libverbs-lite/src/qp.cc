// SPDX-License-Identifier: BSD-2-Clause
#include "qp.h"

#include <cerrno>
#include <new>

#include "cq.h"
#include "pd.h"
#include "rnic.h"

using exrnic::Fail;
using exrnic::FailNull;

namespace exrnic {

namespace {

constexpr uint32_t kSlotsMin = 1u << EXRNIC_RING_LOG_MIN;

bool InitAttrIsValid(const vl_pd* pd, const vl_qp_init_attr* attr) {
  if (pd == nullptr || attr == nullptr || attr->send_cq == nullptr || attr->recv_cq == nullptr) {
    return false;
  }
  const vl_rnic* rnic = pd->rnic;
  const uint32_t most = rnic->info.max_sq_slots;
  return attr->send_cq->rnic == rnic && attr->recv_cq->rnic == rnic && attr->max_send_wr >= 1 &&
         attr->max_send_wr <= most && attr->max_recv_wr >= 1 && attr->max_recv_wr <= most &&
         attr->service == VL_SERVICE_RC;
}

bool DeviceState(vl_qp_state state, exrnic_qp_state* device) {
  switch (state) {
    case VL_QPS_RESET:
      *device = EXRNIC_QP_STATE_RESET;
      return true;
    case VL_QPS_INIT:
      *device = EXRNIC_QP_STATE_INIT;
      return true;
    case VL_QPS_RTR:
      *device = EXRNIC_QP_STATE_RTR;
      return true;
    case VL_QPS_RTS:
      *device = EXRNIC_QP_STATE_RTS;
      return true;
    case VL_QPS_ERROR:
      *device = EXRNIC_QP_STATE_ERROR;
      return true;
  }
  return false;
}

vl_qp_state LibraryState(exrnic_qp_state state) {
  switch (state) {
    case EXRNIC_QP_STATE_RESET:
      return VL_QPS_RESET;
    case EXRNIC_QP_STATE_INIT:
      return VL_QPS_INIT;
    case EXRNIC_QP_STATE_RTR:
      return VL_QPS_RTR;
    case EXRNIC_QP_STATE_RTS:
      return VL_QPS_RTS;
    case EXRNIC_QP_STATE_ERROR:
      break;
  }
  return VL_QPS_ERROR;
}

// Runs `change` while nobody polls completions of the queue pair, after those still queued are
// gone.
template <typename Change>
void WithCqesDropped(vl_qp* qp, Change change) {
  std::lock_guard<SpinLock> send_guard(qp->send_cq->lock);
  std::unique_lock<SpinLock> recv_guard(qp->recv_cq->lock, std::defer_lock);
  if (qp->recv_cq != qp->send_cq) recv_guard.lock();
  DropCqes(qp->send_cq, qp->number);
  if (qp->recv_cq != qp->send_cq) DropCqes(qp->recv_cq, qp->number);
  change();
}

void SetQp(vl_qp* qp, vl_qp* entry) {
  qp->pd->rnic->qps[qp->number].store(entry, std::memory_order_release);
}

void ResetQueues(vl_qp* qp) {
  WithCqesDropped(qp, [qp] {
    std::lock_guard<SpinLock> sq_guard(qp->sq.lock());
    std::lock_guard<SpinLock> rq_guard(qp->rq.lock());
    qp->sq.Reset();
    qp->rq.Reset();
  });
}

void CountUsers(vl_qp* qp, int change) {
  qp->pd->users += change;
  qp->send_cq->users += change;
  qp->recv_cq->users += change;
}

}  // namespace

}  // namespace exrnic

vl_qp* vl_create_qp(vl_pd* pd, vl_qp_init_attr* attr) {
  if (!exrnic::InitAttrIsValid(pd, attr)) return FailNull(EINVAL);
  vl_rnic* rnic = pd->rnic;
  std::unique_ptr<vl_qp> qp(
      new (std::nothrow) vl_qp(pd, *attr, exrnic::RingSize(attr->max_send_wr, exrnic::kSlotsMin),
                               exrnic::RingSize(attr->max_recv_wr, exrnic::kSlotsMin)));
  if (qp == nullptr || !qp->sq.allocated() || !qp->rq.allocated()) return FailNull(ENOMEM);

  const exrnic::QpRequest request = {qp->sq.ring(),    qp->rq.ring(),    qp->sq.slots(),
                                     qp->rq.slots(),   pd->number,       qp->send_cq->cqn,
                                     qp->recv_cq->cqn, EXRNIC_SERVICE_RC};
  std::lock_guard<std::mutex> guard(rnic->control);
  if (rnic->transport->CreateQp(request, &qp->number) != 0) return nullptr;
  if (qp->number >= rnic->qps.size()) {
    rnic->transport->DestroyQp(qp->number);
    return FailNull(EIO);
  }
  exrnic::SetQp(qp.get(), qp.get());
  exrnic::CountUsers(qp.get(), 1);
  attr->max_send_wr = qp->sq.slots();
  attr->max_recv_wr = qp->rq.slots();
  return qp.release();
}

int vl_modify_qp(vl_qp* qp, const vl_qp_attr* attr) {
  exrnic::QpChange change = {};
  if (qp == nullptr || attr == nullptr || !exrnic::DeviceState(attr->state, &change.state)) {
    return Fail(EINVAL);
  }
  if (attr->state == VL_QPS_RTR) {
    change.dest_node = attr->dest_node;
    change.dest_qpn = attr->dest_qpn;
  }
  vl_rnic* rnic = qp->pd->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (rnic->transport->ModifyQp(qp->number, change) != 0) return -1;
  if (attr->state == VL_QPS_RESET) exrnic::ResetQueues(qp);
  qp->state.store(attr->state, std::memory_order_release);
  return 0;
}

int vl_query_qp(vl_qp* qp, vl_qp_attr* attr) {
  if (qp == nullptr || attr == nullptr) return Fail(EINVAL);
  vl_rnic* rnic = qp->pd->rnic;
  exrnic::QpInfo info = {};
  std::lock_guard<std::mutex> guard(rnic->control);
  if (rnic->transport->QueryQp(qp->number, &info) != 0) return -1;
  *attr = {exrnic::LibraryState(info.state), info.dest_node, info.dest_qpn, info.sq_producer,
           info.sq_consumer};
  return 0;
}

int vl_destroy_qp(vl_qp* qp) {
  if (qp == nullptr) return Fail(EINVAL);
  vl_rnic* rnic = qp->pd->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (!exrnic::IsGone(rnic->transport->DestroyQp(qp->number))) return -1;
  exrnic::WithCqesDropped(qp, [qp] { exrnic::SetQp(qp, nullptr); });
  exrnic::CountUsers(qp, -1);
  delete qp;
  return 0;
}

uint32_t vl_qp_number(const vl_qp* qp) { return qp->number; }
