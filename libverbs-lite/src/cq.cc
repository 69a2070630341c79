// SPDX-License-Identifier: BSD-2-Clause
#include "cq.h"

#include <cerrno>
#include <new>

#include "channel.h"
#include "queue_shape.h"
#include "rnic.h"

using exrnic::BeginCall;
using exrnic::Fail;

namespace exrnic {

namespace {

// False with an error.
bool AttrIsValid(const vl_rnic& rnic, const vl_cq_init_attr& attr) {
  if (!IsWithin("entries", attr.entries, 1, exrnic_cq_capacity(rnic.info.max_cq_entries)) ||
      !IsWithin("moderation.count", attr.moderation.count, 0, EXRNIC_MODERATION_COUNT_MAX) ||
      !IsWithin("moderation.ns", attr.moderation.ns, 0, EXRNIC_MODERATION_NS_MAX) ||
      !IsWithin("comp_vector", attr.comp_vector, 0, rnic.info.comp_vectors)) {
    return false;
  }
  if (attr.channel == nullptr || attr.channel->rnic == &rnic) return true;
  Fail(EINVAL, "channel is of another RNIC");
  return false;
}

CqRequest RequestOf(const vl_cq& cq, const vl_cq_init_attr& attr) {
  CqRequest request = {};
  request.ring = cq.memory.data();
  request.entries = cq.ring.num_entries;
  request.moderation_count = attr.moderation.count;
  request.moderation_ns = attr.moderation.ns;
  request.comp_vector = attr.comp_vector == 0 ? kAnyVector : attr.comp_vector - 1;
  request.channel_fd = cq.channel != nullptr ? cq.channel->fd : kNoChannel;
  request.cookie = cq.cookie;
  return request;
}

}  // namespace

}  // namespace exrnic

vl_cq* vl_create_cq_ex(vl_rnic* rnic, const vl_cq_init_attr* attr) {
  if (!BeginCall({{"rnic", rnic}, {"attr", attr}}) || !exrnic::AttrIsValid(*rnic, *attr)) {
    return nullptr;
  }
  std::unique_ptr<vl_cq> cq(new (std::nothrow)
                                vl_cq(rnic, *attr, exrnic::CqRingFor(attr->entries)));
  if (cq == nullptr || cq->memory.data() == nullptr) return Fail(ENOMEM);
  cq->cookie = rnic->events.Add();
  if (cq->cookie == 0) return Fail(ENOMEM);
  std::lock_guard<std::mutex> guard(rnic->control);
  if (rnic->transport->CreateCq(exrnic::RequestOf(*cq, *attr), &cq->ring.number) != 0) {
    rnic->events.Forget(cq->cookie);
    return nullptr;
  }
  rnic->events.Set(cq->cookie, cq.get());
  ++rnic->users;
  if (cq->channel != nullptr) ++cq->channel->users;
  return cq.release();
}

vl_cq* vl_create_cq(vl_rnic* rnic, uint32_t entries, const vl_cq_moderation* moderation) {
  vl_cq_init_attr attr = {};
  attr.entries = entries;
  if (moderation != nullptr) attr.moderation = *moderation;
  return vl_create_cq_ex(rnic, &attr);
}

int vl_destroy_cq(vl_cq* cq) {
  if (!BeginCall({{"cq", cq}})) return -1;
  vl_rnic* rnic = cq->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (cq->users > 0) {
    return Fail(EBUSY, "queue pairs use the completion queue: destroy them first");
  }
  if (!rnic->events.Retire(cq->cookie)) {
    return exrnic::FailUnacknowledged("completion queue",
                                      "vl_ack_cq_events, or vl_ack_async_event");
  }
  if (!exrnic::IsGone(rnic->transport->DestroyCq(cq->ring.number))) {
    rnic->events.Set(cq->cookie, cq);
    return -1;
  }
  rnic->events.Forget(cq->cookie);
  --rnic->users;
  if (cq->channel != nullptr) --cq->channel->users;
  delete cq;
  return 0;
}
