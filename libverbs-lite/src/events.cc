// SPDX-License-Identifier: BSD-2-Clause
// Completion channels, and asynchronous events.
#include <cerrno>
#include <new>

#include "channel.h"
#include "cq.h"
#include "pd.h"
#include "qp.h"
#include "rnic.h"
#include "srq.h"

using exrnic::BeginCall;
using exrnic::Event;
using exrnic::EventType;
using exrnic::Fail;

namespace {

// False: an event that this library does not know; the caller takes the next one.
bool Translate(vl_rnic* rnic, const Event& from, vl_async_event* to) {
  *to = {};
  switch (from.type) {
    case EventType::kPeerDead:
      to->type = VL_EVENT_PEER_DEAD;
      return true;
    case EventType::kLink:
      to->type = VL_EVENT_LINK;
      return true;
    case EventType::kDeviceFatal:
      to->type = VL_EVENT_DEVICE_FATAL;
      return true;
    case EventType::kQpError:
      to->type = VL_EVENT_QP_ERROR;
      to->qp = static_cast<vl_qp*>(rnic->events.Take(from.cookie));
      return to->qp != nullptr;
    case EventType::kLastWqe:
      to->type = VL_EVENT_QP_LAST_WQE;
      to->qp = static_cast<vl_qp*>(rnic->events.Take(from.cookie));
      return to->qp != nullptr;
    case EventType::kSqDrained:
      to->type = VL_EVENT_QP_SQ_DRAINED;
      to->qp = static_cast<vl_qp*>(rnic->events.Take(from.cookie));
      return to->qp != nullptr;
    case EventType::kCqError:
      to->type = VL_EVENT_CQ_ERROR;
      to->cq = static_cast<vl_cq*>(rnic->events.Take(from.cookie));
      return to->cq != nullptr;
    case EventType::kSrqLimit:
      to->type = VL_EVENT_SRQ_LIMIT;
      to->srq = static_cast<vl_srq*>(rnic->events.Take(from.cookie));
      return to->srq != nullptr;
    case EventType::kCompletion:
    case EventType::kMessage:
      break;
  }
  return false;
}

int Acknowledge(vl_rnic* rnic, uint64_t cookie, unsigned events) {
  if (rnic->events.Acknowledge(cookie, events)) return 0;
  return Fail(EINVAL, "%u events are acknowledged: more than were taken and not acknowledged yet",
              events);
}

}  // namespace

vl_comp_channel* vl_create_comp_channel(vl_rnic* rnic) {
  if (!BeginCall({{"rnic", rnic}})) return nullptr;
  std::unique_ptr<vl_comp_channel> channel(new (std::nothrow) vl_comp_channel{rnic, -1});
  if (channel == nullptr) return Fail(ENOMEM);
  std::lock_guard<std::mutex> guard(rnic->control);
  if (rnic->transport->CreateChannel(&channel->fd) != 0) return nullptr;
  ++rnic->users;
  return channel.release();
}

int vl_destroy_comp_channel(vl_comp_channel* channel) {
  if (!BeginCall({{"channel", channel}})) return -1;
  vl_rnic* rnic = channel->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (channel->users > 0) {
    return Fail(EBUSY, "%d completion queues use the channel: destroy them first", channel->users);
  }
  rnic->transport->CloseChannel(channel->fd);
  --rnic->users;
  delete channel;
  return 0;
}

int vl_comp_channel_fd(const vl_comp_channel* channel) {
  return BeginCall({{"channel", channel}}) ? channel->fd : -1;
}

int vl_get_cq_event(vl_comp_channel* channel, vl_cq** cq, void** context) {
  if (!BeginCall({{"channel", channel}, {"cq", cq}})) return -1;
  vl_rnic* rnic = channel->rnic;
  vl_cq* fired = nullptr;
  while (fired == nullptr) {
    Event event;
    if (rnic->transport->ReadEvent(channel->fd, &event) != 0) {
      return errno == ENODEV ? exrnic::FailGone() : Fail(errno);
    }
    fired = static_cast<vl_cq*>(rnic->events.Take(event.cookie));
  }
  *cq = fired;
  if (context != nullptr) *context = fired->context;
  return 0;
}

int vl_ack_cq_events(vl_cq* cq, unsigned events) {
  if (!BeginCall({{"cq", cq}})) return -1;
  return Acknowledge(cq->rnic, cq->cookie, events);
}

int vl_async_fd(const vl_rnic* rnic) {
  return BeginCall({{"rnic", rnic}}) ? rnic->transport->event_fd() : -1;
}

int vl_get_async_event(vl_rnic* rnic, vl_async_event* event) {
  if (!BeginCall({{"rnic", rnic}, {"event", event}})) return -1;
  Event from;
  do {
    if (rnic->transport->ReadEvent(rnic->transport->event_fd(), &from) != 0) {
      return errno == ENODEV ? exrnic::FailGone() : Fail(errno);
    }
  } while (!Translate(rnic, from, event));
  return 0;
}

int vl_ack_async_event(const vl_async_event* event) {
  if (!BeginCall({{"event", event}})) return -1;
  if (event->qp == nullptr && event->cq == nullptr && event->srq == nullptr) return 0;
  switch (event->type) {
    case VL_EVENT_QP_ERROR:
    case VL_EVENT_QP_LAST_WQE:
    case VL_EVENT_QP_SQ_DRAINED:
      return Acknowledge(event->qp->pd->rnic, event->qp->cookie, 1);
    case VL_EVENT_CQ_ERROR:
      return Acknowledge(event->cq->rnic, event->cq->cookie, 1);
    case VL_EVENT_SRQ_LIMIT:
      return Acknowledge(event->srq->pd->rnic, event->srq->cookie, 1);
    case VL_EVENT_PEER_DEAD:
    case VL_EVENT_DEVICE_FATAL:
    case VL_EVENT_LINK:
      return 0;
  }
  return Fail(EINVAL, "event->type is %d: no type of event", static_cast<int>(event->type));
}
