// SPDX-License-Identifier: BSD-2-Clause
// vl_post_sq, vl_post_rq, vl_post_srq_recv: from work requests to WQEs.
#include <cerrno>
#include <cstring>
#include <mutex>

#include "error_text.h"
#include "pd.h"
#include "qp.h"
#include "rnic.h"
#include "srq.h"

namespace exrnic {

namespace {

// An element is handed to the device as it is.
static_assert(sizeof(vl_sge) == sizeof(exrnic_sge) &&
                  offsetof(vl_sge, address) == offsetof(exrnic_sge, address) &&
                  offsetof(vl_sge, length) == offsetof(exrnic_sge, length) &&
                  offsetof(vl_sge, stag) == offsetof(exrnic_sge, stag),
              "the same bytes");
static_assert(VL_SEND_SIGNALED == EXRNIC_WQE_FLAGS_SIGNALED &&
                  VL_SEND_FENCE == EXRNIC_WQE_FLAGS_FENCE &&
                  VL_SEND_SOLICITED == EXRNIC_WQE_FLAGS_SOLICITED &&
                  VL_SEND_INLINE == EXRNIC_WQE_FLAGS_INLINE,
              "the same bits");

// What a work request of an opcode may have.
struct OpcodeRules {
  exrnic_wqe_opcode device;
  int flags;
  bool remote;       // an address at the peer
  bool imm;          // immediate data
  bool invalidate;   // an STag to invalidate
  bool may_be_lost;  // UC carries it
  bool datagram;     // and UD
};

constexpr int kAnyFlags = VL_SEND_SIGNALED | VL_SEND_FENCE;
constexpr int kPushFlags = kAnyFlags | VL_SEND_INLINE;
constexpr int kMessageFlags = kPushFlags | VL_SEND_SOLICITED;

// In the order of vl_wr_opcode.
constexpr OpcodeRules kRules[] = {
    {EXRNIC_WQE_OPCODE_PUSH, kPushFlags, true, false, false, true, false},
    {EXRNIC_WQE_OPCODE_PUSH_IMM, kMessageFlags, true, true, false, true, false},
    {EXRNIC_WQE_OPCODE_SEND, kMessageFlags, false, false, false, true, true},
    {EXRNIC_WQE_OPCODE_SEND_IMM, kMessageFlags, false, true, false, true, true},
    {EXRNIC_WQE_OPCODE_SEND_INVALIDATE, kMessageFlags, false, false, true, false, false},
    {EXRNIC_WQE_OPCODE_PULL, kAnyFlags, true, false, false, false, false},
    {EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE, kAnyFlags, false, false, true, true, true},
    {EXRNIC_WQE_OPCODE_FETCH_ADD, kAnyFlags, true, false, false, false, false},
    {EXRNIC_WQE_OPCODE_COMPARE_SWAP, kAnyFlags, true, false, false, false, false},
};
static_assert(sizeof(kRules) / sizeof(kRules[0]) == VL_OP_COMPARE_SWAP - VL_OP_PUSH + 1,
              "one each");

const OpcodeRules* RulesOf(vl_wr_opcode opcode) {
  if (opcode < VL_OP_PUSH || opcode > VL_OP_COMPARE_SWAP) return nullptr;
  return &kRules[opcode - VL_OP_PUSH];
}

bool ListIsValid(const vl_sge* list, int count, uint32_t most) {
  return count >= 0 && static_cast<uint32_t>(count) <= most && (count == 0 || list != nullptr);
}

uint64_t Sum(const vl_sge* list, int count) {
  uint64_t length = 0;
  for (int i = 0; i < count; ++i) length += list[i].length;
  return length;
}

// Slots of a work request with so many bytes of elements or inline data; those behind the first are
// cleared for them.
uint32_t TakeSlots(Wqe* wqe, uint32_t payload_bytes) {
  const uint32_t slots = SlotsForBytes(payload_bytes);
  wqe->head.num_slots = static_cast<uint8_t>(slots);
  memset(wqe->more, 0, (slots - 1) * sizeof(exrnic_wqe));
  return slots;
}

// The following return the slots of the work request, or 0: it is malformed.

uint32_t PutElements(const vl_sge* list, int count, uint32_t most, Wqe* wqe) {
  if (!ListIsValid(list, count, most)) return 0;
  const uint64_t length = Sum(list, count);
  if (length > EXRNIC_MESSAGE_MAX) return 0;
  const uint32_t bytes = static_cast<uint32_t>(count) * static_cast<uint32_t>(sizeof(vl_sge));
  const uint32_t slots = TakeSlots(wqe, bytes);
  if (count > 0) memcpy(wqe->payload(), list, bytes);
  wqe->head.num_sge = static_cast<uint8_t>(count);
  wqe->head.length = static_cast<uint32_t>(length);
  return slots;
}

uint32_t PutInline(const vl_sge* list, int count, uint32_t most, Wqe* wqe) {
  if (!ListIsValid(list, count, VL_MAX_SGE)) return 0;
  const uint64_t length = Sum(list, count);
  if (length > most) return 0;
  const uint32_t slots = TakeSlots(wqe, static_cast<uint32_t>(length));
  uint8_t* to = wqe->payload();
  for (int i = 0; i < count; ++i) {
    if (list[i].length == 0) continue;
    memcpy(to, reinterpret_cast<const void*>(list[i].address), list[i].length);
    to += list[i].length;
  }
  wqe->head.length = static_cast<uint32_t>(length);
  return slots;
}

// Read requests that a PULL takes: one for each element with bytes, or a single one.
uint32_t ReadsOf(const vl_send_wr& wr) {
  uint32_t reads = 0;
  for (int i = 0; i < wr.num_sge; ++i) reads += wr.sg_list[i].length != 0;
  return reads > 0 ? reads : 1;
}

bool IsAtomic(vl_wr_opcode opcode) {
  return opcode == VL_OP_FETCH_ADD || opcode == VL_OP_COMPARE_SWAP;
}

// An atomic has its operands where a second element would stand.
uint32_t PutAtomic(const vl_qp& qp, const vl_send_wr& wr, Wqe* wqe) {
  if (qp.max_reads_out == 0) return 0;
  const uint32_t slots = PutElements(wr.sg_list, wr.num_sge, 1, wqe);
  if (slots == 0 || wqe->head.length != EXRNIC_ATOMIC_BYTES) return 0;
  wqe->head.sge1_address = wr.atomic_data;
  wqe->head.sge1_length = static_cast<uint32_t>(wr.atomic_compare);
  wqe->head.sge1_stag = static_cast<uint32_t>(wr.atomic_compare >> 32);
  return slots;
}

uint32_t PutPayload(const vl_qp& qp, const vl_send_wr& wr, Wqe* wqe) {
  if (wr.flags & VL_SEND_INLINE) {
    return PutInline(wr.sg_list, wr.num_sge, qp.send_shape.inline_bytes, wqe);
  }
  if (IsAtomic(wr.opcode)) return PutAtomic(qp, wr, wqe);
  const uint32_t most = wr.opcode == VL_OP_LOCAL_INVALIDATE ? 0 : qp.send_shape.elements;
  const uint32_t slots = PutElements(wr.sg_list, wr.num_sge, most, wqe);
  if (slots != 0 && wr.opcode == VL_OP_PULL && ReadsOf(wr) > qp.max_reads_out) return 0;
  return slots;
}

bool Carries(vl_service service, const OpcodeRules& rules) {
  if (service == VL_SERVICE_UD) return rules.datagram;
  return service == VL_SERVICE_RC || rules.may_be_lost;
}

// False: there is no such destination.
bool PutDestination(const vl_qp& qp, const vl_destination& to, Wqe* wqe) {
  const bool group = to.node == VL_NODE_GROUP;
  if (to.qpn > (group ? EXRNIC_GROUP_MAX : EXRNIC_MAX_QP - 1)) return false;
  if (!group && (to.node >= EXRNIC_MAX_NODE || to.node == qp.pd->rnic->info.node_id)) return false;
  wqe->head.remote_to = group ? uint64_t{EXRNIC_GROUP_QPN} + to.qpn
                              : uint64_t{to.node} << EXRNIC_DATAGRAM_NODE_SHIFT | to.qpn;
  wqe->head.remote_stag = to.qkey;
  return true;
}

uint32_t BuildWqe(const vl_qp& qp, const vl_send_wr& wr, Wqe* wqe) {
  const OpcodeRules* rules = RulesOf(wr.opcode);
  if (rules == nullptr || (wr.flags & ~rules->flags) != 0) return 0;
  if (!Carries(qp.service, *rules)) return 0;
  wqe->head = {};
  wqe->head.opcode = static_cast<uint8_t>(rules->device);
  wqe->head.flags = static_cast<uint8_t>(wr.flags);
  if (rules->imm) wqe->head.imm_data = wr.imm_data;
  if (rules->invalidate) wqe->head.imm_data = wr.invalidate_stag;
  if (rules->remote) {
    wqe->head.remote_to = wr.remote_address;
    wqe->head.remote_stag = wr.remote_stag;
  }
  const bool to_anyone = qp.service == VL_SERVICE_UD && wr.opcode != VL_OP_LOCAL_INVALIDATE;
  if (to_anyone && !PutDestination(qp, wr.ud, wqe)) return 0;
  const uint32_t slots = PutPayload(qp, wr, wqe);
  return to_anyone && wqe->head.length > qp.pd->rnic->info.mtu ? 0 : slots;
}

// shape: of the receive queue that is meant.
uint32_t BuildWqe(const QueueShape& shape, const vl_recv_wr& wr, Wqe* wqe) {
  wqe->head = {};
  wqe->head.opcode = EXRNIC_WQE_OPCODE_RECV;
  return PutElements(wr.sg_list, wr.num_sge, shape.elements, wqe);
}

int SendRefusal(const vl_qp& qp) {
  const vl_qp_state state = qp.state;
  if (state != VL_QPS_RTS && state != VL_QPS_ERROR) return EINVAL;
  return qp.windows != 0 ? EBUSY : 0;
}
int ReceiveRefusal(const vl_qp& qp) { return qp.state == VL_QPS_RESET ? EINVAL : 0; }

// `limits`: what a work request of this queue must keep. 0, or what is wrong. *wqe: as it was put.
template <typename Queue, typename Limits, typename Wr>
int PutWr(Queue* queue, const Limits& limits, const Wr& wr, Wqe* wqe) {
  const uint32_t slots = BuildWqe(limits, wr, wqe);
  if (slots == 0) return EINVAL;
  if (!queue->HasRoom(slots)) return ENOMEM;
  queue->Put(*wqe, slots, wr.wr_id);
  return 0;
}

// Where a queue is rung.
struct Bell {
  const UserPage& user_page;
  uint32_t number;
  PioBlocks* pio;  // of a send queue, else null
};

// Tells the device of work requests that were put; `last`: of them. One alone may go whole.
void Announce(const SlotRing& queue, const Bell& bell, int count, const Wqe& last) {
  const bool by_pio = count == 1 && bell.pio != nullptr && bell.pio->Suits(last.head) &&
                      bell.pio->TrySend(bell.user_page, last.head, bell.number, queue.posted());
  if (!by_pio) queue.RingDoorbell(bell.user_page, bell.number);
}

// Puts the list up to its first bad request, and tells the device once for all of them. refusal():
// why nothing may be posted now, or 0; asked under the lock, so that it holds until all is told.
template <typename Queue, typename Limits, typename Wr, typename Refusal>
int PostList(Queue* queue, const Limits& limits, const Bell& bell, Refusal refusal, const Wr* wr,
             const Wr** bad_wr) {
  int count = 0;
  Wqe wqe;  // the last one
  std::lock_guard<SpinLock> guard(queue->lock());
  int error = refusal();
  if (error == 0 && !bell.user_page.usable()) error = ENODEV;
  for (; error == 0 && wr != nullptr; wr = wr->next) {
    error = PutWr(queue, limits, *wr, &wqe);
    if (error != 0) break;
    ++count;
  }
  // What was built of a bad request took the place of the one before it.
  if (error != 0 && count > 0) queue->RingDoorbell(bell.user_page, bell.number);
  if (error == 0 && count > 0) Announce(*queue, bell, count, wqe);
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
  if (qp == nullptr || wr == nullptr) return exrnic::Refuse(wr, bad_wr);
  vl_rnic* rnic = qp->pd->rnic;
  const exrnic::Bell bell = {rnic->user_page, qp->number, &rnic->pio};
  const auto refusal = [qp] { return exrnic::SendRefusal(*qp); };
  if (exrnic::PostList(&qp->sq, *qp, bell, refusal, wr, bad_wr) == 0) return 0;
  if (errno == EBUSY) {
    exrnic::SetErrorText(
        "the queue pair has remote windows, whose loads are numbered apart from posted work: post "
        "to another one, or unmap them and reset it");
  }
  return -1;
}

int vl_post_rq(vl_qp* qp, const vl_recv_wr* wr, const vl_recv_wr** bad_wr) {
  if (qp == nullptr || wr == nullptr || !qp->rq) return exrnic::Refuse(wr, bad_wr);
  const exrnic::Bell bell = {qp->pd->rnic->user_page, qp->number, nullptr};
  const auto refusal = [qp] { return exrnic::ReceiveRefusal(*qp); };
  return exrnic::PostList(&*qp->rq, qp->recv_shape, bell, refusal, wr, bad_wr);
}

int vl_post_srq_recv(vl_srq* srq, const vl_recv_wr* wr, const vl_recv_wr** bad_wr) {
  if (srq == nullptr || wr == nullptr) return exrnic::Refuse(wr, bad_wr);
  const exrnic::Bell bell = {srq->pd->rnic->user_page, srq->number, nullptr};
  return exrnic::PostList(&srq->queue, srq->shape, bell, [] { return 0; }, wr, bad_wr);
}
