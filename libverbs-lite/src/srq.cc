// SPDX-License-Identifier: BSD-2-Clause
#include "srq.h"

#include <cerrno>
#include <new>

#include "pd.h"
#include "rnic.h"

using exrnic::BeginCall;
using exrnic::Fail;

// False with an error.
static bool LimitIsValid(uint32_t limit) {
  return exrnic::IsWithin("limit", limit, 0, EXRNIC_SRQ_LIMIT_MAX);
}

vl_srq* vl_create_srq(vl_pd* pd, vl_srq_attr* attr) {
  if (!BeginCall({{"pd", pd}, {"attr", attr}}) || !LimitIsValid(attr->limit)) return nullptr;
  vl_rnic* rnic = pd->rnic;
  exrnic::QueueShape shape = {attr->max_wr, attr->max_sge, 0, 0};
  if (!exrnic::GrantShape(&shape, rnic->info.max_sq_slots, {"max_wr", "max_sge", ""})) {
    return nullptr;
  }
  std::unique_ptr<vl_srq> srq(new (std::nothrow) vl_srq(pd, shape));
  if (srq == nullptr || !srq->queue.allocated()) return Fail(ENOMEM);

  srq->cookie = rnic->events.Add();
  if (srq->cookie == 0) return Fail(ENOMEM);
  const exrnic::SrqRequest request = {srq->queue.ring(), shape.slots, pd->number, attr->limit,
                                      srq->cookie};
  std::lock_guard<std::mutex> guard(rnic->control);
  if (rnic->transport->CreateSrq(request, &srq->number) != 0) {
    rnic->events.Forget(srq->cookie);
    return nullptr;
  }
  rnic->events.Set(srq->cookie, srq.get());
  ++pd->users;
  attr->max_wr = shape.wrs;
  attr->max_sge = shape.elements;
  return srq.release();
}

int vl_modify_srq(vl_srq* srq, uint32_t limit) {
  if (!BeginCall({{"srq", srq}}) || !LimitIsValid(limit)) return -1;
  vl_rnic* rnic = srq->pd->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  return rnic->transport->ModifySrq(srq->number, limit);
}

int vl_query_srq(vl_srq* srq, vl_srq_attr* attr) {
  if (!BeginCall({{"srq", srq}, {"attr", attr}})) return -1;
  vl_rnic* rnic = srq->pd->rnic;
  uint32_t limit = 0;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (rnic->transport->QuerySrq(srq->number, &limit) != 0) return -1;
  *attr = {srq->shape.wrs, srq->shape.elements, limit};
  return 0;
}

int vl_destroy_srq(vl_srq* srq) {
  if (!BeginCall({{"srq", srq}})) return -1;
  vl_rnic* rnic = srq->pd->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (srq->users > 0) {
    return Fail(EBUSY, "%d queue pairs use the shared receive queue: destroy them first",
                srq->users);
  }
  if (!rnic->events.Retire(srq->cookie)) {
    return exrnic::FailUnacknowledged("shared receive queue", "vl_ack_async_event");
  }
  if (!exrnic::IsGone(rnic->transport->DestroySrq(srq->number))) {
    rnic->events.Set(srq->cookie, srq);
    return -1;
  }
  rnic->events.Forget(srq->cookie);
  --srq->pd->users;
  delete srq;
  return 0;
}
