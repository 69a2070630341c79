// SPDX-License-Identifier: BSD-2-Clause
#include "cq.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "channel.h"
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

// The device counts as unread what it was not told to be taken: so it is told in time for a ring of
// this size, from now on.
void ReportFor(vl_cq* cq, uint32_t ring_entries) {
  std::lock_guard<SpinLock> guard(cq->lock);
  cq->smallest_ring = std::min(cq->ring.num_entries, ring_entries);
  cq->ReportIfDue();
}

}  // namespace

}  // namespace exrnic

void vl_cq::ReportIfDue() { exrnic_cq_report_if_due(&ring, rnic->user_page.get(), smallest_ring); }

vl_cq* vl_create_cq_ex(vl_rnic* rnic, const vl_cq_init_attr* attr) {
  if (!BeginCall({{"rnic", rnic}, {"attr", attr}}) || !exrnic::AttrIsValid(*rnic, *attr)) {
    return nullptr;
  }
  std::unique_ptr<vl_cq> cq(new (std::nothrow)
                                vl_cq(rnic, *attr, exrnic_cq_ring_for(attr->entries)));
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

// Who polls meanwhile finds what is in the old ring, and nothing behind it until the queue has the
// new one: the lock is not held over the call of the transport.
int vl_resize_cq(vl_cq* cq, uint32_t entries) {
  if (!BeginCall({{"cq", cq}})) return -1;
  vl_rnic* rnic = cq->rnic;
  if (!exrnic::IsWithin("entries", entries, 1, exrnic_cq_capacity(rnic->info.max_cq_entries))) {
    return -1;
  }
  const uint32_t size = exrnic_cq_ring_for(entries);
  exrnic::RingMemory memory(size * sizeof(exrnic_cqe));
  if (memory.data() == nullptr) return Fail(ENOMEM);
  auto* next = static_cast<exrnic_cqe*>(memory.data());
  exrnic_cq_clear(next, size);

  std::lock_guard<std::mutex> guard(rnic->control);
  exrnic::ReportFor(cq, size);
  uint32_t producer = 0;
  if (rnic->transport->ResizeCq(cq->ring.number, next, size, &producer) != 0) {
    exrnic::ReportFor(cq, cq->ring.num_entries);
    if (errno != ENOSPC) return -1;
    return Fail(ENOSPC, "entries is %u, and more completions have not been polled", entries);
  }
  std::lock_guard<exrnic::SpinLock> queue_guard(cq->lock);
  exrnic_cq_change_ring(&cq->ring, next, size, producer);
  cq->smallest_ring = size;
  cq->ReportIfDue();
  memory.Swap(&cq->memory);
  return 0;
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
