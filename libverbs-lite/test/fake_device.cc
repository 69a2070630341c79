// SPDX-License-Identifier: BSD-2-Clause
// Doorbells, rings and completions of the software device.
#include "fake_device.h"

#include <cstring>

#include "fake_bytes.h"

namespace exrnic {

namespace {

constexpr uint32_t kBellSq = 0, kBellRq = 8, kBellCq = 16, kBellArm = 24, kBellArmSolicited = 32,
                   kBellSrq = 40;
constexpr uint32_t kMostSlots = 5;
constexpr uint32_t kBlockDoorbell = 0x18;  // where a PIO block has number and index

const uint8_t* Slot(const FakeRing& ring, uint16_t index) {
  return ring.slots + (index & (ring.count - 1)) * kWqeBytes;
}

uint16_t Waiting(const FakeRing& ring) {
  return static_cast<uint16_t>(ring.producer - ring.consumer);
}

}  // namespace

bool FakeDevice::RingCq(uint32_t page, uint32_t offset, uint32_t number, uint32_t index) {
  auto it = cqs.find(number);
  if (it == cqs.end() || it->second.page != page) return false;
  FakeCq& cq = it->second;
  cq.consumed = index;
  if (offset == kBellCq) return true;
  if (cq.armed != 1) cq.armed = offset == kBellArm ? 1 : 2;
  if (cq.produced == cq.consumed) return true;
  ++cq.fired;
  cq.armed = 0;
  return true;
}

FakeRing* FakeDevice::RingOf(uint32_t page, uint32_t offset, uint32_t number) {
  if (offset == kBellSrq) {
    auto srq = srqs.find(number);
    return srq != srqs.end() && srq->second.page == page ? &srq->second.ring : nullptr;
  }
  auto qp = qps.find(number);
  if (qp == qps.end() || qp->second.page != page || qp->second.state == kReset) return nullptr;
  if (offset == kBellSq) return &qp->second.sq;
  return offset == kBellRq && qp->second.srqn == ~0u ? &qp->second.rq : nullptr;
}

void FakeDevice::Doorbell(uint32_t page, uint32_t offset, uint64_t value) {
  const uint32_t number = static_cast<uint32_t>(value);
  const uint32_t index = static_cast<uint32_t>(value >> 32);
  bool accepted = false;
  if (offset == kBellCq || offset == kBellArm || offset == kBellArmSolicited) {
    accepted = RingCq(page, offset, number, index);
  } else if (FakeRing* ring = RingOf(page, offset, number)) {
    const uint16_t ahead = static_cast<uint16_t>(index - ring->consumer);
    accepted = index <= 0xffff && ahead <= ring->count;
    if (accepted) ring->producer = static_cast<uint16_t>(index);
  }
  ++(accepted ? counters_.doorbells : counters_.doorbells_refused);
}

// The ring must say the same: the device may take the one or the other.
bool FakeDevice::Block(uint32_t page, const uint8_t* block) {
  FakeRing* ring = RingOf(page, kBellSq, Load<uint32_t>(block + kBlockDoorbell));
  const uint32_t index = Load<uint32_t>(block + kBlockDoorbell + 4);
  if (ring == nullptr || index > 0xffff) {
    ++counters_.blocks_refused;
    return true;
  }
  const uint16_t new_slots = static_cast<uint16_t>(index - ring->producer);
  if (new_slots > 1 && new_slots < 0x8000) return false;
  if (new_slots != 1) return true;  // a later doorbell has posted it
  const uint8_t* slot = Slot(*ring, static_cast<uint16_t>(index - 1));
  const bool same = memcmp(slot, block, kBlockDoorbell) == 0 &&
                    memcmp(slot + kPayloadAt, block + kPayloadAt, kWqeBytes - kPayloadAt) == 0;
  const bool good = same && block[3] == 1 && Waiting(*ring) < ring->count;
  if (good) ring->producer = static_cast<uint16_t>(index);
  ++(good ? counters_.blocks : counters_.blocks_refused);
  return true;
}

FakeDevice::Work FakeDevice::Take(FakeRing* ring) {
  const uint32_t claimed = Slot(*ring, ring->consumer)[3];
  Work work = {};
  work.malformed = claimed == 0 || claimed > kMostSlots || claimed > Waiting(*ring);
  const uint32_t slots = work.malformed ? 1 : claimed;
  for (uint32_t i = 0; i < slots; ++i) {
    const uint8_t* from = Slot(*ring, static_cast<uint16_t>(ring->consumer + i));
    work.bytes.insert(work.bytes.end(), from, from + kWqeBytes);
  }
  ring->consumer = static_cast<uint16_t>(ring->consumer + slots);
  work.last = static_cast<uint16_t>(ring->consumer - 1);
  return work;
}

FakeDevice::Element FakeDevice::ElementOf(const Work& work, uint32_t i) {
  const uint8_t* at = work.bytes.data() + kPayloadAt + 16 * i;
  return {Load<uint64_t>(at), Load<uint32_t>(at + 8), Load<uint32_t>(at + 12)};
}

void FakeDevice::Run() {
  for (auto& [qpn, qp] : qps) {
    RunSendQueue(qpn, &qp);
    if (qp.state == kError) FlushRing(qpn, qp.recv_cqn, &qp.rq);
  }
}

void FakeDevice::RunSendQueue(uint32_t qpn, FakeQp* qp) {
  while (qp->state == kRts && Waiting(qp->sq) > 0) {
    const uint16_t first = qp->sq.consumer;
    const Work work = Take(&qp->sq);
    const Outcome outcome = Execute(*qp, work);
    if (outcome.status == kRnrRetry && qp->has.rnr_retry == kRnrRetryEndless) {
      qp->sq.consumer = first;  // again when all devices have run
      return;
    }
    ++counters_.wqes;
    time_ns += 1000 + outcome.length / 4;
    if (outcome.status != kSuccess) qp->state = kError;
    if ((work.bytes[1] & kSignaled) || outcome.status != kSuccess) {
      Complete(qp->send_cqn, qpn, work.last, work.bytes[0], outcome);
    }
  }
  if (qp->state == kError) FlushRing(qpn, qp->send_cqn, &qp->sq);
}

void FakeDevice::FlushRing(uint32_t qpn, uint32_t cqn, FakeRing* ring) {
  while (Waiting(*ring) > 0) {
    const Work work = Take(ring);
    Complete(cqn, qpn, work.last, work.bytes[0], {kFlushed});
  }
}

const FakeMr* FakeDevice::LocalRegion(const FakeQp& qp, const Element& element,
                                      uint32_t access) const {
  auto mr = mrs.find(element.stag);
  if (mr == mrs.end() || mr->second.invalidated || mr->second.pd != qp.pd) return nullptr;
  const FakeMr& region = mr->second;
  const bool inside = element.address >= region.base &&
                      element.address - region.base <= region.length &&
                      element.length <= region.length - (element.address - region.base);
  return inside && (region.access & access) == access ? &region : nullptr;
}

void FakeDevice::Complete(uint32_t cqn, uint32_t qpn, uint16_t index, uint8_t opcode,
                          const Outcome& outcome) {
  FakeCq& cq = cqs.at(cqn);
  if (cq.produced - cq.consumed >= cq.entries) {
    ++counters_.cq_overruns;
    return;
  }
  uint8_t* cqe = cq.ring + (cq.produced % cq.entries) * kCqeBytes;
  Store<uint64_t>(cqe, time_ns);
  Store<uint32_t>(cqe + 8, index);
  Store<uint32_t>(cqe + 12, outcome.length);
  Store<uint32_t>(cqe + 16, outcome.imm);
  Store<uint32_t>(cqe + 20, qpn);
  Store<uint32_t>(cqe + 24, outcome.detail);
  cqe[28] = opcode;
  cqe[29] = outcome.status;
  cqe[30] = outcome.flags;
  const uint32_t round = 1 + cq.produced / cq.entries;
  __atomic_store_n(cqe + 31, static_cast<uint8_t>(round & 1), __ATOMIC_RELEASE);
  ++cq.produced;
  ++counters_.cqes;
  const bool notable = (outcome.flags & kCqeSolicited) || outcome.status != kSuccess;
  if (cq.armed == 1 || (cq.armed == 2 && notable)) {
    ++cq.fired;
    cq.armed = 0;
  }
}

}  // namespace exrnic
