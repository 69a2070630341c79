// SPDX-License-Identifier: BSD-2-Clause
#include "qp.h"

#include <cerrno>
#include <new>

#include "cq.h"
#include "exrnic_driver.h"
#include "pd.h"
#include "rnic.h"
#include "srq.h"

using exrnic::BeginCall;
using exrnic::Fail;

namespace exrnic {

namespace {

static_assert(VL_MAX_READS == EXRNIC_MAX_READS && VL_MAX_GROUP == EXRNIC_GROUP_MAX &&
                  VL_PKEYS == EXRNIC_PKEYS && VL_QKEY_CONTROLLED == EXRNIC_QKEY_CONTROLLED &&
                  VL_QP_GRH == EXRNIC_QP_FLAGS_GRH && VL_GRH_BYTES == EXRNIC_GRH_BYTES,
              "the device takes what the library promises");

// These are false with an error.

bool IsOfRnic(const char* name, const vl_cq* cq, const vl_rnic* rnic) {
  if (cq != nullptr && cq->rnic == rnic) return true;
  Fail(EINVAL, "%s is %s", name, cq == nullptr ? "NULL" : "of another RNIC than the domain");
  return false;
}

bool InitAttrIsValid(const vl_pd* pd, const vl_qp_init_attr& attr) {
  if (!IsOfRnic("send_cq", attr.send_cq, pd->rnic) ||
      !IsOfRnic("recv_cq", attr.recv_cq, pd->rnic) ||
      !IsWithin("max_reads_out", attr.max_reads_out, 0, VL_MAX_READS) ||
      !IsWithin("max_reads_in", attr.max_reads_in, 0, VL_MAX_READS)) {
    return false;
  }
  if (attr.srq != nullptr && attr.srq->pd != pd) {
    Fail(EINVAL, "srq is of another domain");
    return false;
  }
  if (attr.service < VL_SERVICE_RC || attr.service > VL_SERVICE_UD) {
    Fail(EINVAL, "service is %d: no VL_SERVICE_*", static_cast<int>(attr.service));
    return false;
  }
  const int flags = attr.service == VL_SERVICE_UD ? VL_QP_GRH : 0;
  if ((attr.flags & ~flags) == 0) return true;
  Fail(EINVAL, "flags is 0x%x: of this service only the bits of 0x%x (VL_QP_*)",
       static_cast<unsigned>(attr.flags), static_cast<unsigned>(flags));
  return false;
}

bool SendShape(const vl_pd* pd, const vl_qp_init_attr& attr, QueueShape* shape) {
  *shape = {attr.max_send_wr, attr.max_send_sge, attr.max_inline, 0};
  return GrantShape(shape, pd->rnic->info.max_sq_slots,
                    {"max_send_wr", "max_send_sge", "max_inline"});
}

bool RecvShape(const vl_pd* pd, const vl_qp_init_attr& attr, QueueShape* shape) {
  *shape = {attr.max_recv_wr, attr.max_recv_sge, 0, 0};
  return attr.srq != nullptr ||
         GrantShape(shape, pd->rnic->info.max_sq_slots, {"max_recv_wr", "max_recv_sge", ""});
}

exrnic_service DeviceService(vl_service service) {
  switch (service) {
    case VL_SERVICE_UC:
      return EXRNIC_SERVICE_UC;
    case VL_SERVICE_UD:
      return EXRNIC_SERVICE_UD;
    default:
      return EXRNIC_SERVICE_RC;
  }
}

QpRequest RequestOf(const vl_qp& qp, const vl_qp_init_attr& attr) {
  QpRequest request = {};
  request.sq = qp.sq.ring();
  request.sq_slots = qp.sq.slots();
  request.rq = qp.rq ? qp.rq->ring() : nullptr;
  request.rq_slots = qp.rq ? qp.rq->slots() : 0;
  request.pd = qp.pd->number;
  request.send_cqn = qp.send_cq->ring.number;
  request.recv_cqn = qp.recv_cq->ring.number;
  request.service = DeviceService(attr.service);
  request.srqn = qp.srq != nullptr ? qp.srq->number : EXRNIC_NO_SRQ;
  request.max_reads_out = attr.max_reads_out;
  request.max_reads_in = attr.max_reads_in;
  request.flags = static_cast<uint32_t>(attr.flags);
  request.cookie = qp.cookie;
  return request;
}

void TellGranted(const vl_qp& qp, vl_qp_init_attr* attr) {
  attr->max_send_wr = qp.send_shape.wrs;
  attr->max_send_sge = qp.send_shape.elements;
  attr->max_inline = qp.send_shape.inline_bytes;
  if (qp.srq != nullptr) return;
  attr->max_recv_wr = qp.recv_shape.wrs;
  attr->max_recv_sge = qp.recv_shape.elements;
}

bool DeviceState(vl_qp_state state, exrnic_qp_state* device) {
  switch (state) {
#define EXRNIC_CASE(name, meaning)    \
  case VL_QPS_##name:                 \
    *device = EXRNIC_QP_STATE_##name; \
    return true;
    EXRNIC_QP_STATE_EACH(EXRNIC_CASE)
#undef EXRNIC_CASE
  }
  return false;
}

vl_qp_state LibraryState(exrnic_qp_state state) {
  switch (state) {
#define EXRNIC_CASE(name, meaning) \
  case EXRNIC_QP_STATE_##name:     \
    return VL_QPS_##name;
    EXRNIC_QP_STATE_EACH(EXRNIC_CASE)
#undef EXRNIC_CASE
  }
  return VL_QPS_ERROR;
}

// Under cq->lock, once the device writes no more CQEs of this queue pair.
void DropCqes(vl_cq* cq, const vl_qp& qp) {
  exrnic_cq_drop(&cq->ring, qp.number, qp.srq != nullptr ? qp.srq->queue.get() : nullptr);
  cq->ReportIfDue();
}

// Runs `change` while nobody polls completions of the queue pair, after those still queued are
// gone.
template <typename Change>
void WithCqesDropped(vl_qp* qp, Change change) {
  std::lock_guard<SpinLock> send_guard(qp->send_cq->lock);
  std::unique_lock<SpinLock> recv_guard(qp->recv_cq->lock, std::defer_lock);
  if (qp->recv_cq != qp->send_cq) recv_guard.lock();
  DropCqes(qp->send_cq, *qp);
  if (qp->recv_cq != qp->send_cq) DropCqes(qp->recv_cq, *qp);
  change();
}

void SetQp(vl_qp* qp, vl_qp* entry) {
  qp->pd->rnic->qps[qp->number].store(entry, std::memory_order_release);
}

// Posting reads the state under the queue's lock: of what was posted before this returns the device
// has been told, what comes later is refused.
void StopPosting(vl_qp* qp) {
  qp->state.store(VL_QPS_RESET, std::memory_order_relaxed);
  {
    std::lock_guard<SpinLock> under_way(qp->sq.lock());
  }
  if (qp->rq) std::lock_guard<SpinLock> under_way(qp->rq->lock());
}

void ResetQueues(vl_qp* qp) {
  WithCqesDropped(qp, [qp] {
    {
      std::lock_guard<SpinLock> guard(qp->sq.lock());
      qp->sq.Reset();
    }
    if (!qp->rq) return;
    std::lock_guard<SpinLock> guard(qp->rq->lock());
    qp->rq->Reset();
  });
}

// These keep PIO blocks away while the device may forget what there is of one.
int CreateQp(vl_rnic* rnic, const QpRequest& request, uint32_t* number) {
  std::lock_guard<SpinLock> guard(rnic->pio.lock());
  return rnic->transport->CreateQp(request, number);
}

int ModifyQp(vl_rnic* rnic, uint32_t number, const QpChange& change) {
  std::unique_lock<SpinLock> guard(rnic->pio.lock(), std::defer_lock);
  if (change.state == EXRNIC_QP_STATE_RESET) guard.lock();
  return rnic->transport->ModifyQp(number, change);
}

int DestroyQp(vl_rnic* rnic, uint32_t number) {
  std::lock_guard<SpinLock> guard(rnic->pio.lock());
  return rnic->transport->DestroyQp(number);
}

// Of a device that has no room for a queue pair like this.
void ExplainNoRoom(const DeviceInfo& info, const vl_qp_init_attr& attr) {
  Explain(
      ENOSPC,
      "max_reads_out is %u and max_reads_in %u: of the device's %u places for PULLs (read_pool) "
      "fewer are free in a direction; or all %u queue pairs (max_qp) are taken",
      attr.max_reads_out, attr.max_reads_in, info.read_pool, info.max_qp - EXRNIC_QPN_MIN);
}

static_assert(VL_QP_DEST == EXRNIC_QP_ATTRIBUTES_DEST && VL_QP_QKEY == EXRNIC_QP_ATTRIBUTES_QKEY &&
              VL_QP_PKEY_INDEX == EXRNIC_QP_ATTRIBUTES_PKEY_INDEX &&
              VL_QP_ACCESS == EXRNIC_QP_ATTRIBUTES_ACCESS &&
              VL_QP_PATH_MTU == EXRNIC_QP_ATTRIBUTES_PATH_MTU &&
              VL_QP_MAX_READS_IN == EXRNIC_QP_ATTRIBUTES_MAX_READS_IN &&
              VL_QP_MAX_READS_OUT == EXRNIC_QP_ATTRIBUTES_MAX_READS_OUT &&
              VL_QP_MIN_RNR_TIMER == EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER &&
              VL_QP_RNR_RETRY == EXRNIC_QP_ATTRIBUTES_RNR_RETRY &&
              VL_QP_TIMEOUT == EXRNIC_QP_ATTRIBUTES_TIMEOUT &&
              VL_QP_RETRY_COUNT == EXRNIC_QP_ATTRIBUTES_RETRY_COUNT);
constexpr uint32_t kQpAttributes = 2 * VL_QP_RETRY_COUNT - 1;

// Those without which the device refuses this change of state.
uint32_t NeededAttributes(vl_service service, vl_qp_state from, vl_qp_state to) {
  const bool datagrams = service == VL_SERVICE_UD;
  if (from == VL_QPS_RESET && to == VL_QPS_INIT && datagrams) return VL_QP_QKEY | VL_QP_PKEY_INDEX;
  if (from == VL_QPS_INIT && to == VL_QPS_RTR && !datagrams) return VL_QP_DEST;
  return 0;
}

// Of who names none on the way from RESET to RTS: those that are needed, and how messages without a
// receive are dealt with.
uint32_t UsualAttributes(vl_service service, vl_qp_state from, vl_qp_state to) {
  uint32_t also = 0;
  if (from == VL_QPS_INIT && to == VL_QPS_RTR) also = VL_QP_MIN_RNR_TIMER;
  if (from == VL_QPS_RTR && to == VL_QPS_RTS) also = VL_QP_RNR_RETRY;
  return NeededAttributes(service, from, to) | (service == VL_SERVICE_RC ? also : 0);
}

// Those of `mask`. False with an error.
bool AreInRange(uint32_t mask, const vl_qp& qp, const vl_qp_attr& attr) {
  const auto is_good = [mask](uint32_t which, const char* name, uint32_t value, uint32_t most) {
    return (mask & which) == 0 || IsWithin(name, value, 0, most);
  };
  constexpr int kRights = VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_READ |
                          VL_ACCESS_REMOTE_ATOMIC;
  if ((mask & VL_QP_ACCESS) != 0 && (attr.access & ~kRights) != 0) {
    Fail(EINVAL, "access is 0x%x: of VL_ACCESS_* there are 0x%x", unsigned(attr.access),
         unsigned{kRights});
    return false;
  }
  if ((mask & VL_QP_PATH_MTU) != 0 &&
      (attr.path_mtu < EXRNIC_MTU_MIN || attr.path_mtu > EXRNIC_MTU_MAX ||
       attr.path_mtu % EXRNIC_MTU_STEP != 0)) {
    Fail(EINVAL, "path_mtu is %u: %u to %u bytes, a multiple of %u", attr.path_mtu,
         unsigned{EXRNIC_MTU_MIN}, unsigned{EXRNIC_MTU_MAX}, unsigned{EXRNIC_MTU_STEP});
    return false;
  }
  return is_good(VL_QP_PKEY_INDEX, "pkey_index", attr.pkey_index, VL_PKEYS - 1) &&
         is_good(VL_QP_MAX_READS_IN, "max_reads_in", attr.max_reads_in, qp.max_reads_in) &&
         is_good(VL_QP_MAX_READS_OUT, "max_reads_out", attr.max_reads_out, qp.max_reads_out) &&
         is_good(VL_QP_MIN_RNR_TIMER, "min_rnr_timer", attr.min_rnr_timer, VL_MAX_RNR_TIMER) &&
         is_good(VL_QP_RNR_RETRY, "rnr_retry", attr.rnr_retry, VL_RNR_RETRY_ENDLESS) &&
         is_good(VL_QP_TIMEOUT, "timeout", attr.timeout, EXRNIC_QP_TIMEOUT_MAX) &&
         is_good(VL_QP_RETRY_COUNT, "retry_count", attr.retry_count, EXRNIC_QP_RETRY_COUNT_MAX);
}

// A change of state with its attributes, of which those that are not given are zero. False with an
// error. Under rnic->control.
bool ChangeOf(const vl_qp& qp, const vl_qp_attr& attr, QpChange* change) {
  if (!DeviceState(attr.state, &change->state)) {
    Fail(EINVAL, "state is %d: no VL_QPS_*", static_cast<int>(attr.state));
    return false;
  }
  if ((attr.mask & ~kQpAttributes) != 0) {
    Fail(EINVAL, "mask is 0x%x: of VL_QP_* there are 0x%x", attr.mask, kQpAttributes);
    return false;
  }
  const uint32_t mask =
      attr.mask != 0 ? attr.mask : UsualAttributes(qp.service, qp.state, attr.state);
  if (!AreInRange(mask, qp, attr)) return false;
  const auto take = [mask](uint32_t which, auto* to, auto value) {
    if (mask & which) *to = static_cast<std::remove_pointer_t<decltype(to)>>(value);
  };
  change->attributes = mask;
  take(VL_QP_DEST, &change->dest_node, attr.dest_node);
  take(VL_QP_DEST, &change->dest_qpn, attr.dest_qpn);
  take(VL_QP_QKEY, &change->qkey, attr.qkey);
  take(VL_QP_PKEY_INDEX, &change->pkey_index, attr.pkey_index);
  take(VL_QP_ACCESS, &change->access, attr.access & ~VL_ACCESS_LOCAL_WRITE);
  take(VL_QP_PATH_MTU, &change->path_mtu, attr.path_mtu);
  take(VL_QP_MAX_READS_IN, &change->max_reads_in, attr.max_reads_in);
  take(VL_QP_MAX_READS_OUT, &change->max_reads_out, attr.max_reads_out);
  take(VL_QP_MIN_RNR_TIMER, &change->min_rnr_timer, attr.min_rnr_timer);
  take(VL_QP_RNR_RETRY, &change->rnr_retry, attr.rnr_retry);
  take(VL_QP_TIMEOUT, &change->timeout, attr.timeout);
  take(VL_QP_RETRY_COUNT, &change->retry_count, attr.retry_count);
  return true;
}

// Why a transport has refused a change of state whose values are in range.
void ExplainRefusal(const vl_qp& qp, vl_qp_state before, const QpChange& change) {
  const vl_qp_state to = LibraryState(change.state);
  const char *from_text = vl_qp_state_string(before), *to_text = vl_qp_state_string(to);
  const auto has = [&change](uint32_t which) { return (change.attributes & which) != 0; };
  if (errno != EPERM && errno != EINVAL) return;
  ClearErrorText();  // the following say more
  if (has(VL_QP_QKEY) && (change.qkey & VL_QKEY_CONTROLLED) != 0) {
    Explain(EPERM,
            "qkey is 0x%x: one with bit 31 (VL_QKEY_CONTROLLED) needs CAP_NET_RAW; take one below "
            "0x80000000, or give the program that capability. Or a queue pair in %s, or in ERROR "
            "since it failed, does not go to %s with what is in mask (0x%x)",
            change.qkey, from_text, to_text, change.attributes);
  }
  Explain(EPERM,
          "a queue pair in %s, or in ERROR since it failed, does not go to %s, or has no attribute "
          "then that is in mask (0x%x)",
          from_text, to_text, change.attributes);
  if (const uint32_t needed = NeededAttributes(qp.service, before, to);
      (change.attributes & needed) != needed) {
    Explain(EINVAL, "going from %s to %s needs the attributes 0x%x, and mask is 0x%x", from_text,
            to_text, needed, change.attributes);
  }
  if (has(VL_QP_DEST)) {
    Explain(EINVAL,
            "no peer: queue pair %u (dest_qpn) of node %u (dest_node). Queue pairs are below %u, "
            "nodes below %u",
            change.dest_qpn, change.dest_node, unsigned{EXRNIC_MAX_QP}, qp.pd->rnic->info.max_node);
  }
  Explain(EINVAL,
          "pkey_index is %u: that entry of the RNIC's P_Keys names no partition; take another one, "
          "or have the administrator write one to pkeys/%u of the RNIC in sysfs",
          change.pkey_index, change.pkey_index);
}

int ChangeGroup(vl_qp* qp, uint32_t group, int (Transport::*change)(uint32_t, uint32_t)) {
  if (!BeginCall({{"qp", qp}}) || !IsWithin("group", group, 0, VL_MAX_GROUP)) return -1;
  if (qp->service != VL_SERVICE_UD) {
    return Fail(EINVAL, "groups are for queue pairs of VL_SERVICE_UD, which this one is not");
  }
  vl_rnic* rnic = qp->pd->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  const int result = (rnic->transport.get()->*change)(qp->number, group);
  if (result == 0) return 0;
  if (errno == EEXIST || errno == ENOENT) ClearErrorText();
  Explain(EEXIST, "the queue pair is attached to group %u already", group);
  Explain(ENOENT, "the queue pair is not attached to group %u", group);
  return result;
}

void CountUsers(vl_qp* qp, int change) {
  qp->pd->users += change;
  qp->send_cq->users += change;
  qp->recv_cq->users += change;
  if (qp->srq != nullptr) qp->srq->users += change;
}

void NoteReads(vl_qp* qp, const QpChange& change) {
  if (change.state == EXRNIC_QP_STATE_RESET) qp->reads_out = qp->max_reads_out;
  if (change.attributes & VL_QP_MAX_READS_OUT) qp->reads_out = change.max_reads_out;
}

}  // namespace

}  // namespace exrnic

vl_qp* vl_create_qp(vl_pd* pd, vl_qp_init_attr* attr) {
  exrnic::QueueShape send, recv;
  if (!BeginCall({{"pd", pd}, {"attr", attr}}) || !exrnic::InitAttrIsValid(pd, *attr) ||
      !exrnic::SendShape(pd, *attr, &send) || !exrnic::RecvShape(pd, *attr, &recv)) {
    return nullptr;
  }
  vl_rnic* rnic = pd->rnic;
  std::unique_ptr<vl_qp> qp(new (std::nothrow) vl_qp(pd, *attr, send, recv));
  if (qp == nullptr || !qp->sq.allocated() || (qp->rq && !qp->rq->allocated())) {
    return Fail(ENOMEM);
  }

  qp->cookie = rnic->events.Add();
  if (qp->cookie == 0) return Fail(ENOMEM);

  std::lock_guard<std::mutex> guard(rnic->control);
  if (exrnic::CreateQp(rnic, exrnic::RequestOf(*qp, *attr), &qp->number) != 0) {
    rnic->events.Forget(qp->cookie);
    exrnic::ExplainNoRoom(rnic->info, *attr);
    return nullptr;
  }
  if (qp->number >= rnic->qps.size()) {
    rnic->transport->DestroyQp(qp->number);
    rnic->events.Forget(qp->cookie);
    return Fail(EIO, "the device gave the queue pair number %u, not one below %zu", qp->number,
                rnic->qps.size());
  }
  rnic->events.Set(qp->cookie, qp.get());
  exrnic::SetQp(qp.get(), qp.get());
  exrnic::CountUsers(qp.get(), 1);
  exrnic::TellGranted(*qp, attr);
  return qp.release();
}

int vl_modify_qp(vl_qp* qp, const vl_qp_attr* attr) {
  if (!BeginCall({{"qp", qp}, {"attr", attr}})) return -1;
  vl_rnic* rnic = qp->pd->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  exrnic::QpChange change = {};
  if (!exrnic::ChangeOf(*qp, *attr, &change)) return -1;
  const vl_qp_state before = qp->state;
  if (attr->state == VL_QPS_RESET) exrnic::StopPosting(qp);
  if (exrnic::ModifyQp(rnic, qp->number, change) != 0) {
    qp->state.store(before, std::memory_order_release);
    exrnic::ExplainRefusal(*qp, before, change);
    return -1;
  }
  if (attr->state == VL_QPS_RESET) exrnic::ResetQueues(qp);
  exrnic::NoteReads(qp, change);
  qp->state.store(attr->state, std::memory_order_release);
  return 0;
}

int vl_query_qp(vl_qp* qp, vl_qp_attr* attr) {
  if (!BeginCall({{"qp", qp}, {"attr", attr}})) return -1;
  vl_rnic* rnic = qp->pd->rnic;
  exrnic::QpInfo info = {};
  std::lock_guard<std::mutex> guard(rnic->control);
  if (rnic->transport->QueryQp(qp->number, &info) != 0) return -1;
  *attr = {};
  attr->state = exrnic::LibraryState(info.state);
  attr->dest_node = info.dest_node;
  attr->dest_qpn = info.dest_qpn;
  attr->sq_producer = info.sq_producer;
  attr->sq_consumer = info.sq_consumer;
  attr->min_rnr_timer = info.min_rnr_timer;
  attr->rnr_retry = info.rnr_retry;
  attr->qkey = info.qkey;
  attr->pkey_index = info.pkey_index;
  attr->access = static_cast<int>(info.access);
  attr->path_mtu = info.path_mtu;
  attr->max_reads_in = info.max_reads_in;
  attr->max_reads_out = info.max_reads_out;
  attr->timeout = info.timeout;
  attr->retry_count = info.retry_count;
  attr->sq_draining = static_cast<int>(info.sq_draining);
  return 0;
}

int vl_attach_mcast(vl_qp* qp, uint32_t group) {
  return exrnic::ChangeGroup(qp, group, &exrnic::Transport::AttachGroup);
}

int vl_detach_mcast(vl_qp* qp, uint32_t group) {
  return exrnic::ChangeGroup(qp, group, &exrnic::Transport::DetachGroup);
}

int vl_destroy_qp(vl_qp* qp) {
  if (!BeginCall({{"qp", qp}})) return -1;
  vl_rnic* rnic = qp->pd->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (!rnic->events.Retire(qp->cookie)) {
    return exrnic::FailUnacknowledged("queue pair", "vl_ack_async_event");
  }
  if (!exrnic::IsGone(exrnic::DestroyQp(rnic, qp->number))) {
    rnic->events.Set(qp->cookie, qp);
    exrnic::Explain(EBUSY, "the queue pair has %u remote windows: unmap them first",
                    qp->windows.load());
    return -1;
  }
  rnic->events.Forget(qp->cookie);
  exrnic::WithCqesDropped(qp, [qp] { exrnic::SetQp(qp, nullptr); });
  exrnic::CountUsers(qp, -1);
  delete qp;
  return 0;
}

uint32_t vl_qp_number(const vl_qp* qp) { return BeginCall({{"qp", qp}}) ? qp->number : 0; }
