// SPDX-License-Identifier: BSD-2-Clause
#include "cq.h"

#include <cerrno>
#include <new>

#include "barrier.h"
#include "qp.h"
#include "rnic.h"
#include "srq.h"

using exrnic::Fail;
using exrnic::FailNull;

namespace exrnic {

namespace {

constexpr uint32_t kRingMin = 1u << EXRNIC_RING_LOG_MIN;
constexpr uint32_t kModerationCountMax = 65535;
constexpr uint32_t kModerationNsMax = (1u << 24) - 1;
constexpr uint32_t kNoQp = 0xffffffff;
static_assert(kNoQp >= EXRNIC_MAX_QP, "no queue pair has this number");

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
  uint32_t index = cq->consumer;
  for (exrnic_cqe* cqe = cq->At(index); cqe != nullptr; cqe = cq->At(++index)) {
    if (cqe->qpn != qp.number) continue;
    cqe->qpn = kNoQp;
    uint64_t wr_id;
    if (qp.srq != nullptr && cqe->opcode == EXRNIC_WQE_OPCODE_RECV) {
      qp.srq->queue.Complete(cqe->wqe_index, &wr_id);
    }
  }
}

}  // namespace exrnic

exrnic_cqe* vl_cq::At(uint32_t index) const {
  // A full ring ends here: the entry after the last one is the first again, whose phase is old.
  exrnic_cqe* cqe = static_cast<exrnic_cqe*>(memory.data()) + (index & (entries - 1));
  const uint32_t round = index / entries + 1;
  const uint8_t phase = vl_load_phase_before_cqe(&cqe->phase);
  return (phase & 1) == (round & 1) ? cqe : nullptr;
}

vl_cq* vl_create_cq(vl_rnic* rnic, uint32_t entries, const vl_cq_moderation* moderation) {
  const vl_cq_moderation when = moderation != nullptr ? *moderation : vl_cq_moderation{0, 0};
  if (rnic == nullptr || entries == 0 || entries > exrnic::MostCqEntries(rnic->info) ||
      when.count > exrnic::kModerationCountMax || when.ns > exrnic::kModerationNsMax) {
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
