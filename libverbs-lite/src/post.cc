// SPDX-License-Identifier: BSD-2-Clause
// vl_post_sq, vl_post_rq, vl_post_srq_recv: from work requests to WQEs.
#include <cerrno>
#include <cstring>
#include <mutex>

#include "exrnic_post.h"
#include "mr.h"
#include "pd.h"
#include "qp.h"
#include "rnic.h"
#include "srq.h"
#include "transport/error_text.h"

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

// An operation has its name and its number in verbs.h. A receive needs none: it is not posted here;
// nor does the registration of pages by their bus addresses, which are the kernel's.
constexpr int VL_OP_RECV = EXRNIC_WQE_OPCODE_RECV;
constexpr int VL_OP_FAST_REGISTER = EXRNIC_WQE_OPCODE_FAST_REGISTER;
#define EXRNIC_SAME_NUMBER(name, meaning) \
  static_assert(int{VL_OP_##name} == EXRNIC_WQE_OPCODE_##name, "the same numbers");
EXRNIC_WQE_OPCODE_EACH(EXRNIC_SAME_NUMBER)
#undef EXRNIC_SAME_NUMBER

// What a work request may have.
using Op = exrnic_wqe_opcode_properties;

int FlagsOf(const Op& op) {
  return VL_SEND_SIGNALED | VL_SEND_FENCE | (op.inlines ? VL_SEND_INLINE : 0) |
         (op.receive ? VL_SEND_SOLICITED : 0);
}

bool ListIsValid(const vl_sge* list, int count, uint32_t most) {
  if (count < 0 || static_cast<uint32_t>(count) > most) {
    Fail(EINVAL, "num_sge is %d, not 0 to %u", count, most);
    return false;
  }
  if (count == 0 || list != nullptr) return true;
  Fail(EINVAL, "sg_list is NULL, and num_sge %d", count);
  return false;
}

unsigned long long Bytes(const vl_sge* list, int count) {
  return exrnic_elements_bytes(list, static_cast<uint32_t>(count));
}

// The following return the slots of the work request, or 0 with EINVAL: it is malformed.

uint32_t PutElements(const vl_sge* list, int count, uint32_t most, exrnic_work* wqe) {
  if (!ListIsValid(list, count, most)) return 0;
  const uint32_t slots = exrnic_work_put_elements(wqe, list, static_cast<uint32_t>(count));
  if (slots != 0) return slots;
  Fail(EINVAL, "the elements have %llu bytes, at most %llu", Bytes(list, count),
       static_cast<unsigned long long>(EXRNIC_MESSAGE_MAX));
  return 0;
}

uint32_t PutInline(const vl_sge* list, int count, uint32_t most, exrnic_work* wqe) {
  if (!ListIsValid(list, count, VL_MAX_SGE)) return 0;
  const uint32_t slots = exrnic_work_put_inline(wqe, list, static_cast<uint32_t>(count), most);
  if (slots != 0) return slots;
  Fail(EINVAL, "%llu bytes inline: max_inline of the queue pair is %u", Bytes(list, count), most);
  return 0;
}

uint32_t PutAtomic(const vl_qp& qp, const vl_send_wr& wr, exrnic_work* wqe) {
  if (qp.reads_out == 0) {
    Fail(EINVAL, "an atomic needs a queue pair with max_reads_out of 1 or more");
    return 0;
  }
  const uint32_t slots = PutElements(wr.sg_list, wr.num_sge, 1, wqe);
  if (slots == 0) return 0;
  if (wqe->head.length != EXRNIC_ATOMIC_BYTES) {
    Fail(EINVAL, "an atomic has one element of %u bytes, not %d with %u",
         unsigned{EXRNIC_ATOMIC_BYTES}, wr.num_sge, wqe->head.length);
    return 0;
  }
  exrnic_work_put_operands(wqe, wr.atomic_data, wr.atomic_compare);
  return slots;
}

uint32_t PutPayload(const vl_qp& qp, const vl_send_wr& wr, const Op& op, exrnic_work* wqe) {
  if (wr.flags & VL_SEND_INLINE) {
    return PutInline(wr.sg_list, wr.num_sge, qp.send_shape.inline_bytes, wqe);
  }
  if (op.atomic) return PutAtomic(qp, wr, wqe);
  const uint32_t most = op.stays ? 0 : qp.send_shape.elements;
  const uint32_t slots = PutElements(wr.sg_list, wr.num_sge, most, wqe);
  if (slots == 0 || !op.pull) return slots;
  const uint32_t reads = exrnic_elements_reads(wr.sg_list, static_cast<uint32_t>(wr.num_sge));
  if (reads <= qp.reads_out) return slots;
  Fail(EINVAL, "the PULL needs %u read requests: max_reads_out of the queue pair is %u", reads,
       qp.reads_out.load());
  return 0;
}

bool Carries(vl_service service, const Op& op) {
  if (service == VL_SERVICE_UD) return op.ud;
  return service == VL_SERVICE_RC || op.uc;
}

// False with an error: there is no such destination.
bool PutDestination(const vl_qp& qp, const vl_destination& to, exrnic_work* wqe) {
  const bool group = to.node == VL_NODE_GROUP;
  const uint32_t most = group ? EXRNIC_GROUP_MAX : EXRNIC_MAX_QP - 1;
  if (!IsWithin("ud.qpn", to.qpn, 0, most)) return false;
  const uint32_t nodes = qp.pd->rnic->info.max_node;
  if (!group && to.node >= nodes) {
    Fail(EINVAL, "ud.node is %u: below %u, or VL_NODE_GROUP", to.node, nodes);
    return false;
  }
  wqe->head.remote_to = group ? uint64_t{EXRNIC_GROUP_QPN} + to.qpn
                              : uint64_t{to.node} << EXRNIC_DATAGRAM_NODE_SHIFT | to.qpn;
  wqe->head.remote_stag = to.qkey;
  return true;
}

// False with an error.
bool MayHave(const vl_qp& qp, const vl_send_wr& wr, const Op& op) {
  const int opcode = static_cast<int>(wr.opcode);
  if (!op.posted || (op.registers && !op.binds)) {
    Fail(EINVAL, "opcode is %d: no VL_OP_*", opcode);
  } else if ((wr.flags & ~FlagsOf(op)) != 0) {
    Fail(EINVAL, "flags is 0x%x: with opcode %d only the bits of 0x%x (VL_SEND_*)",
         static_cast<unsigned>(wr.flags), opcode, static_cast<unsigned>(FlagsOf(op)));
  } else if (!Carries(qp.service, op)) {
    Fail(EINVAL, "opcode is %d, which %s does not carry", opcode,
         qp.service == VL_SERVICE_UD ? "VL_SERVICE_UD" : "VL_SERVICE_UC");
  } else {
    return true;
  }
  return false;
}

// False with an error: no memory window can be that.
bool PutBind(const vl_mw_bind& bind, exrnic_work* wqe) {
  constexpr int kOfPeers = VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_READ | VL_ACCESS_REMOTE_ATOMIC;
  const uint64_t last = bind.address + (bind.length - 1);
  if ((bind.access & ~kOfPeers) != 0) {
    Fail(EINVAL, "bind.access is 0x%x: of VL_ACCESS_* only the bits of 0x%x, which peers may have",
         static_cast<unsigned>(bind.access), static_cast<unsigned>(kOfPeers));
  } else if (bind.length == 0) {
    Fail(EINVAL, "bind.length is 0: 1 byte or more; VL_OP_LOCAL_INVALIDATE ends a memory window");
  } else if (last < bind.address) {
    Fail(EINVAL, "bind.length is %llu: it wraps from bind.address 0x%llx",
         static_cast<unsigned long long>(bind.length),
         static_cast<unsigned long long>(bind.address));
  } else {
    wqe->head.imm_data = bind.stag;
    wqe->head.remote_to = bind.address;
    wqe->head.remote_stag = DeviceAccess(bind.access);
    wqe->head.sge0_address = bind.length;
    wqe->head.sge0_stag = bind.region_stag;
    return true;
  }
  return false;
}

uint32_t BuildWqe(const vl_qp& qp, const vl_send_wr& wr, exrnic_work* wqe) {
  const Op op = exrnic_of_wqe_opcode(static_cast<unsigned>(wr.opcode));
  if (!MayHave(qp, wr, op)) return 0;
  wqe->head = {};
  wqe->head.opcode = static_cast<uint8_t>(wr.opcode);
  wqe->head.flags = static_cast<uint8_t>(wr.flags);
  if (op.imm) wqe->head.imm_data = wr.imm_data;
  if (op.invalidates) wqe->head.imm_data = wr.invalidate_stag;
  if (op.remote) {
    wqe->head.remote_to = wr.remote_address;
    wqe->head.remote_stag = wr.remote_stag;
  }
  const bool to_anyone = qp.service == VL_SERVICE_UD && !op.stays;
  if (to_anyone && !PutDestination(qp, wr.ud, wqe)) return 0;
  if (op.binds && !PutBind(wr.bind, wqe)) return 0;
  const uint32_t slots = PutPayload(qp, wr, op, wqe);
  const uint32_t mtu = qp.pd->rnic->info.mtu;
  if (slots == 0 || !to_anyone || wqe->head.length <= mtu) return slots;
  Fail(EINVAL, "a datagram of %u bytes: at most the mtu, %u", wqe->head.length, mtu);
  return 0;
}

// shape: of the receive queue that is meant.
uint32_t BuildWqe(const QueueShape& shape, const vl_recv_wr& wr, exrnic_work* wqe) {
  wqe->head = {};
  wqe->head.opcode = EXRNIC_WQE_OPCODE_RECV;
  return PutElements(wr.sg_list, wr.num_sge, shape.elements, wqe);
}

// These are false with an error: nothing may be posted now.
bool MaySend(const vl_qp& qp) {
  const vl_qp_state state = qp.state;
  if (state != VL_QPS_RTS && state != VL_QPS_SQD && state != VL_QPS_ERROR) {
    Fail(EINVAL, "the queue pair is in %s: it sends from RTS on", vl_qp_state_string(state));
    return false;
  }
  if (qp.windows == 0) return true;
  Fail(EBUSY,
       "the queue pair has remote windows, whose loads are numbered apart from posted work: post "
       "to another one, or unmap them and reset it");
  return false;
}
bool MayReceive(const vl_qp& qp) {
  if (qp.state != VL_QPS_RESET) return true;
  Fail(EINVAL, "the queue pair is in RESET: receives may be posted from INIT on");
  return false;
}

// False with an error. `limits`: what a work request of this queue must keep. *wqe: as it was put.
template <typename Queue, typename Limits, typename Wr>
bool PutWr(Queue* queue, const Limits& limits, const Wr& wr, exrnic_work* wqe) {
  const uint32_t slots = BuildWqe(limits, wr, wqe);
  if (slots == 0) return false;
  if (!queue->HasRoom(slots)) {
    SetErrorText("the queue is full: a completion that is polled gives places back");
    Fail(ENOMEM);
    return false;
  }
  queue->Put(*wqe, slots, wr.wr_id);
  return true;
}

// Where a queue is rung.
struct Bell {
  const UserPage& user_page;
  uint32_t number;
  PioBlocks* pio;  // of a send queue, else null
};

// Tells the device of work requests that were put; `last`: of them. One alone may go whole.
template <typename Queue>
void Announce(const Queue& queue, const Bell& bell, int count, const exrnic_work& last) {
  const bool by_pio = count == 1 && bell.pio != nullptr && bell.pio->Suits(last.head) &&
                      bell.pio->TrySend(bell.user_page, last.head, bell.number, queue.posted());
  if (!by_pio) queue.RingDoorbell(bell.user_page, bell.number);
}

// False with an error.
bool IsUsable(const UserPage& user_page) {
  if (user_page.usable()) return true;
  FailGone();
  return false;
}

// Puts the list up to its first bad request, and tells the device once for all of them. may_post():
// false with an error if nothing may be posted now; asked under the lock, so that it holds until
// all is told.
template <typename Queue, typename Limits, typename Wr, typename MayPost>
int PostList(Queue* queue, const Limits& limits, const Bell& bell, MayPost may_post, const Wr* wr,
             const Wr** bad_wr) {
  int count = 0;
  exrnic_work wqe;  // the last one
  std::lock_guard<SpinLock> guard(queue->lock());
  bool good = may_post() && IsUsable(bell.user_page);
  while (good && wr != nullptr) {
    good = PutWr(queue, limits, *wr, &wqe);
    count += good;
    if (good) wr = wr->next;
  }
  const int error = errno;
  // What was built of a bad request took the place of the one before it.
  if (!good && count > 0) queue->RingDoorbell(bell.user_page, bell.number);
  if (good && count > 0) Announce(*queue, bell, count, wqe);
  if (good) return 0;
  if (bad_wr != nullptr) *bad_wr = wr;
  return Fail(error);
}

// At most 32 bytes, with no call.
void CopyFew(uint8_t* to, const uint8_t* from, size_t bytes) {
  const auto piece = [&](size_t at, auto word) {
    memcpy(&word, from + at, sizeof(word));
    memcpy(to + at, &word, sizeof(word));
  };
  struct Words {
    uint64_t word[2];
  };
  // From both ends: they meet, or overlap.
  if (bytes >= 16) {
    piece(0, Words());
    piece(bytes - 16, Words());
  } else if (bytes >= 8) {
    piece(0, uint64_t());
    piece(bytes - 8, uint64_t());
  } else if (bytes >= 4) {
    piece(0, uint32_t());
    piece(bytes - 4, uint32_t());
  } else {
    for (size_t at = 0; at < bytes; ++at) piece(at, uint8_t());
  }
}

// What a list has, and more, does not: one work request alone, whose bytes are few, inline and in
// one piece, and that goes as a PIO block. It is the shortest way of a message, so it is made and
// stored here without a detour. False, and nothing was done: PostList is to do it, or to say what
// is wrong.
bool PostShort(vl_qp* qp, const vl_send_wr& wr) {
  constexpr uint32_t kRoom = EXRNIC_WORK_ROOM(1);
  const bool push = wr.opcode == VL_OP_PUSH;
  const int flags = VL_SEND_INLINE | VL_SEND_SIGNALED | (push ? 0 : VL_SEND_SOLICITED);
  if (wr.next != nullptr || wr.num_sge != 1 || wr.sg_list == nullptr ||
      (!push && wr.opcode != VL_OP_SEND) || (wr.flags & ~flags) != 0 ||
      (wr.flags & VL_SEND_INLINE) == 0)
    return false;
  const vl_sge& bytes = *wr.sg_list;
  if (bytes.length > kRoom || bytes.length > qp->send_shape.inline_bytes ||
      qp->service != VL_SERVICE_RC)
    return false;
  vl_rnic* const rnic = qp->pd->rnic;
  exrnic_wqe wqe = {};
  wqe.opcode = static_cast<uint8_t>(wr.opcode);
  wqe.flags = static_cast<uint8_t>(wr.flags);
  wqe.num_slots = 1;
  wqe.length = bytes.length;
  if (push) {
    wqe.remote_to = wr.remote_address;
    wqe.remote_stag = wr.remote_stag;
  }
  CopyFew(reinterpret_cast<uint8_t*>(&wqe) + offsetof(exrnic_wqe, sge0_address),
          reinterpret_cast<const uint8_t*>(bytes.address), bytes.length);
  std::lock_guard<SpinLock> guard(qp->sq.lock());
  if (qp->state != VL_QPS_RTS || qp->windows != 0 || !rnic->user_page.usable() ||
      !qp->sq.HasRoom(1))
    return false;
  if (!rnic->pio.TryShort(rnic->user_page, &wqe, qp->number, &qp->sq, wr.wr_id)) return false;
  ClearErrorText();
  return true;
}

template <typename Wr>
int Refuse(const Wr* wr, const Wr** bad_wr) {
  if (bad_wr != nullptr) *bad_wr = wr;
  return -1;
}

__attribute__((noinline)) int PostSends(vl_qp* qp, const vl_send_wr* wr,
                                        const vl_send_wr** bad_wr) {
  if (!BeginCall({{"qp", qp}, {"wr", wr}})) return Refuse(wr, bad_wr);
  vl_rnic* rnic = qp->pd->rnic;
  const Bell bell = {rnic->user_page, qp->number, &rnic->pio};
  const auto may_post = [qp] { return MaySend(*qp); };
  return PostList(&qp->sq, *qp, bell, may_post, wr, bad_wr);
}

}  // namespace

}  // namespace exrnic

int vl_post_sq(vl_qp* qp, const vl_send_wr* wr, const vl_send_wr** bad_wr) {
  if (qp != nullptr && wr != nullptr && exrnic::PostShort(qp, *wr)) return 0;
  return exrnic::PostSends(qp, wr, bad_wr);
}

int vl_post_rq(vl_qp* qp, const vl_recv_wr* wr, const vl_recv_wr** bad_wr) {
  if (!exrnic::BeginCall({{"qp", qp}, {"wr", wr}})) return exrnic::Refuse(wr, bad_wr);
  if (!qp->rq) {
    exrnic::Fail(EINVAL, "the queue pair has a shared receive queue: post there");
    return exrnic::Refuse(wr, bad_wr);
  }
  const exrnic::Bell bell = {qp->pd->rnic->user_page, qp->number, nullptr};
  const auto may_post = [qp] { return exrnic::MayReceive(*qp); };
  return exrnic::PostList(&*qp->rq, qp->recv_shape, bell, may_post, wr, bad_wr);
}

int vl_post_srq_recv(vl_srq* srq, const vl_recv_wr* wr, const vl_recv_wr** bad_wr) {
  if (!exrnic::BeginCall({{"srq", srq}, {"wr", wr}})) return exrnic::Refuse(wr, bad_wr);
  const exrnic::Bell bell = {srq->pd->rnic->user_page, srq->number, nullptr};
  return exrnic::PostList(&srq->queue, srq->shape, bell, [] { return true; }, wr, bad_wr);
}
