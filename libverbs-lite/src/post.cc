// SPDX-License-Identifier: BSD-2-Clause
// vl_post_sq and vl_post_rq: from work requests to WQEs.
#include <cerrno>
#include <mutex>

#include "pd.h"
#include "qp.h"
#include "rnic.h"

namespace exrnic {

namespace {

static_assert(VL_MAX_SEND_SGE == EXRNIC_WQE_SGES, "a WQE takes what the library promises");

constexpr int kAllSendFlags = VL_SEND_SIGNALED;

// Writes the elements of a list into a WQE. False: too many elements, or too many bytes in all.
bool Gather(const vl_sge* list, int count, int most, exrnic_wqe* wqe) {
  if (count < 0 || count > most || (count > 0 && list == nullptr)) return false;
  uint64_t length = 0;
  for (int i = 0; i < count; ++i) length += list[i].length;
  if (length > EXRNIC_MESSAGE_MAX) return false;
  if (count > 0) {
    wqe->sge0_address = list[0].address;
    wqe->sge0_length = list[0].length;
    wqe->sge0_stag = list[0].stag;
  }
  if (count > 1) {
    wqe->sge1_address = list[1].address;
    wqe->sge1_length = list[1].length;
    wqe->sge1_stag = list[1].stag;
  }
  wqe->num_sge = static_cast<uint8_t>(count);
  wqe->length = static_cast<uint32_t>(length);
  return true;
}

// 0, or what is wrong with the request.
int BuildWqe(const vl_send_wr& wr, exrnic_wqe* wqe) {
  if (wr.opcode != VL_OP_PUSH || (wr.flags & ~kAllSendFlags) != 0) return EINVAL;
  wqe->opcode = EXRNIC_WQE_OPCODE_PUSH;
  wqe->flags = (wr.flags & VL_SEND_SIGNALED) ? EXRNIC_WQE_FLAGS_SIGNALED : 0;
  wqe->num_slots = 1;
  wqe->remote_to = wr.remote_address;
  wqe->remote_stag = wr.remote_stag;
  return Gather(wr.sg_list, wr.num_sge, VL_MAX_SEND_SGE, wqe) ? 0 : EINVAL;
}

int BuildWqe(const vl_recv_wr& wr, exrnic_wqe* wqe) {
  wqe->opcode = EXRNIC_WQE_OPCODE_RECV;
  wqe->num_slots = 1;
  return Gather(wr.sg_list, wr.num_sge, VL_MAX_RECV_SGE, wqe) ? 0 : EINVAL;
}

bool MaySend(vl_qp_state state) { return state == VL_QPS_RTS || state == VL_QPS_ERROR; }
bool MayReceive(vl_qp_state state) { return state != VL_QPS_RESET; }

template <typename Wr>
int PutWr(WorkQueue* queue, const Wr& wr) {
  if (queue->Full()) return ENOMEM;
  exrnic_wqe wqe = {};
  const int error = BuildWqe(wr, &wqe);
  if (error == 0) queue->Put(wqe, wr.wr_id);
  return error;
}

// Puts the list up to its first bad request, and rings once for all of them.
template <typename Wr>
int PostList(vl_qp* qp, WorkQueue* queue, const Wr* wr, const Wr** bad_wr) {
  int error = 0;
  bool put = false;
  std::lock_guard<SpinLock> guard(queue->lock());
  for (; wr != nullptr; wr = wr->next) {
    error = PutWr(queue, *wr);
    if (error != 0) break;
    put = true;
  }
  if (put) queue->RingDoorbell(qp->pd->rnic->user_page, qp->number);
  if (error == 0) return 0;
  if (bad_wr != nullptr) *bad_wr = wr;
  return Fail(error);
}

template <typename Wr>
int Refuse(const Wr* wr, const Wr** bad_wr) {
  if (bad_wr != nullptr) *bad_wr = wr;
  return Fail(EINVAL);
}

}  // namespace

}  // namespace exrnic

int vl_post_sq(vl_qp* qp, const vl_send_wr* wr, const vl_send_wr** bad_wr) {
  if (qp == nullptr || wr == nullptr || !exrnic::MaySend(qp->state)) {
    return exrnic::Refuse(wr, bad_wr);
  }
  return exrnic::PostList(qp, &qp->sq, wr, bad_wr);
}

int vl_post_rq(vl_qp* qp, const vl_recv_wr* wr, const vl_recv_wr** bad_wr) {
  if (qp == nullptr || wr == nullptr || !exrnic::MayReceive(qp->state)) {
    return exrnic::Refuse(wr, bad_wr);
  }
  return exrnic::PostList(qp, &qp->rq, wr, bad_wr);
}
