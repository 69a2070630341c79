// SPDX-License-Identifier: BSD-2-Clause
#include "cq.h"

#include <cerrno>
#include <new>

#include "barrier.h"
#include "doorbell.h"
#include "qp.h"
#include "rnic.h"
#include "srq.h"

using exrnic::Fail;
using exrnic::FailNull;

namespace exrnic {

namespace {

constexpr uint32_t kRingMin = 1u << EXRNIC_RING_LOG_MIN;

constexpr uint32_t Granted(uint32_t ring_entries) {
  return ring_entries - (CqReportStep(ring_entries) - 1);
}

uint32_t RingEntries(uint32_t wanted) {
  uint32_t ring = RingSize(wanted, kRingMin);
  if (Granted(ring) < wanted) ring *= 2;
  return ring;
}

}  // namespace

uint32_t MostCqEntries(const DeviceInfo& info) { return Granted(info.max_cq_entries); }

void DropCqes(vl_cq* cq, const vl_qp& qp) {
  uint32_t end = cq->consumer;
  while (cq->At(end) != nullptr) ++end;
  // From the newest on, to where the device writes next: so the places come free at the old end.
  uint32_t to = end;
  for (uint32_t from = end; from != cq->consumer;) {
    const exrnic_cqe& cqe = *cq->At(--from);
    if (cqe.qpn != qp.number) {
      cq->Move(from, --to);
      continue;
    }
    uint64_t wr_id;
    if (qp.srq != nullptr && cqe.opcode == EXRNIC_WQE_OPCODE_RECV) {
      qp.srq->queue.Complete(cqe.wqe_index, &wr_id);
    }
  }
  cq->consumer = to;
}

void ReportTaken(vl_cq* cq, uint32_t doorbell) {
  vl_mb_cqe_read_before_doorbell();
  WriteDoorbell(cq->rnic->user_page, doorbell, cq->cqn, cq->consumer);
  cq->reported = cq->consumer;
}

}  // namespace exrnic

const exrnic_cqe* vl_cq::At(uint32_t index) const {
  // A full ring ends here: the entry after the last one is the first again, whose phase is old.
  const exrnic_cqe* cqe = Entry(index);
  const uint8_t phase = vl_load_phase_before_cqe(&cqe->phase);
  return (phase & 1) == Phase(index) ? cqe : nullptr;
}

void vl_cq::Move(uint32_t from, uint32_t to) {
  if (from == to) return;
  *Entry(to) = *Entry(from);
  Entry(to)->phase = Phase(to);
}

vl_cq* vl_create_cq(vl_rnic* rnic, uint32_t entries, const vl_cq_moderation* moderation) {
  const vl_cq_moderation when = moderation != nullptr ? *moderation : vl_cq_moderation{0, 0};
  if (rnic == nullptr || entries == 0 || entries > exrnic::MostCqEntries(rnic->info) ||
      when.count > EXRNIC_MODERATION_COUNT_MAX || when.ns > EXRNIC_MODERATION_NS_MAX) {
    return FailNull(EINVAL);
  }
  std::unique_ptr<vl_cq> cq(new (std::nothrow) vl_cq(rnic, exrnic::RingEntries(entries)));
  if (cq == nullptr || cq->memory.data() == nullptr) return FailNull(ENOMEM);
  const exrnic::CqRequest request = {cq->memory.data(), cq->entries, when.count, when.ns};
  std::lock_guard<std::mutex> guard(rnic->control);
  if (rnic->transport->CreateCq(request, &cq->cqn) != 0) return nullptr;
  ++rnic->users;
  return cq.release();
}

int vl_destroy_cq(vl_cq* cq) {
  if (cq == nullptr) return Fail(EINVAL);
  vl_rnic* rnic = cq->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (cq->users > 0) return Fail(EBUSY);
  if (!exrnic::IsGone(rnic->transport->DestroyCq(cq->cqn))) return -1;
  --rnic->users;
  delete cq;
  return 0;
}
