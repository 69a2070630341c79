// SPDX-License-Identifier: BSD-2-Clause
#include "fake_device.h"

#include <cstring>
#include <vector>

namespace exrnic {

namespace {

constexpr uint32_t kWqeBytes = 64;
constexpr uint32_t kCqeBytes = 32;
constexpr uint8_t kOpPush = 1;
constexpr uint32_t kReset = 0, kRtr = 2, kRts = 3, kError = 4;
constexpr uint8_t kSuccess = 0, kLocLen = 1, kLocOp = 2, kLocProt = 3, kFlushed = 4, kRemAccess = 5,
                  kRemOp = 6;
constexpr uint32_t kTermAccess = 0x0102, kTermNoStream = 0x0207, kTermStag = 0x1100,
                   kTermBounds = 0x1101, kTermStream = 0x1102, kTermWrap = 0x1103;
constexpr uint32_t kRemoteWrite = 2;

template <typename T>
T Load(const uint8_t* at) {
  T value;
  memcpy(&value, at, sizeof(value));
  return value;
}

template <typename T>
void Store(uint8_t* at, T value) {
  memcpy(at, &value, sizeof(value));
}

uint8_t* Slot(const FakeRing& ring, uint16_t index) {
  return ring.slots + (index & (ring.count - 1)) * kWqeBytes;
}

uint16_t Waiting(const FakeRing& ring) {
  return static_cast<uint16_t>(ring.producer - ring.consumer);
}

}  // namespace

void FakeDevice::Doorbell(uint32_t page, uint32_t offset, uint64_t value) {
  const uint32_t number = static_cast<uint32_t>(value);
  const uint32_t index = static_cast<uint32_t>(value >> 32);
  if (offset == 16) {
    auto cq = cqs.find(number);
    if (cq != cqs.end() && cq->second.page == page) {
      ++counters_.doorbells;
      cq->second.consumed = index;
      return;
    }
  } else {
    auto qp = qps.find(number);
    if (qp != qps.end() && qp->second.page == page && qp->second.state != kReset) {
      FakeRing& ring = offset == 0 ? qp->second.sq : qp->second.rq;
      const uint16_t ahead = static_cast<uint16_t>(index - ring.consumer);
      if (index <= 0xffff && ahead <= ring.count) {
        ++counters_.doorbells;
        ring.producer = static_cast<uint16_t>(index);
        return;
      }
    }
  }
  ++counters_.doorbells_refused;
}

void FakeDevice::Run() {
  for (auto& [qpn, qp] : qps) {
    RunSendQueue(qpn, &qp);
    if (qp.state == kError) FlushRing(qpn, qp.recv_cqn, &qp.rq);
  }
}

void FakeDevice::RunSendQueue(uint32_t qpn, FakeQp* qp) {
  while (qp->state == kRts && Waiting(qp->sq) > 0) {
    const uint16_t index = qp->sq.consumer;
    const uint8_t* wqe = Slot(qp->sq, index);
    ++counters_.wqes;
    const Outcome outcome = Execute(*qp, wqe);
    time_ns += 1000 + outcome.length / 4;
    ++qp->sq.consumer;
    const bool signaled = wqe[1] & 1;
    const uint8_t opcode = wqe[0];
    if (outcome.status != kSuccess) qp->state = kError;
    if (signaled || outcome.status != kSuccess) {
      Complete(qp->send_cqn, qpn, index, opcode, outcome);
    }
  }
  if (qp->state == kError) FlushRing(qpn, qp->send_cqn, &qp->sq);
}

void FakeDevice::FlushRing(uint32_t qpn, uint32_t cqn, FakeRing* ring) {
  while (Waiting(*ring) > 0) {
    const uint8_t* wqe = Slot(*ring, ring->consumer);
    const uint8_t opcode = wqe[0];
    Complete(cqn, qpn, ring->consumer++, opcode, {kFlushed, 0, 0});
  }
}

const FakeMr* FakeDevice::LocalRegion(const FakeQp& qp, const uint8_t* sge) const {
  const uint64_t address = Load<uint64_t>(sge);
  const uint32_t length = Load<uint32_t>(sge + 8);
  auto mr = mrs.find(Load<uint32_t>(sge + 12));
  if (mr == mrs.end() || mr->second.pd != qp.pd) return nullptr;
  const FakeMr& region = mr->second;
  const bool inside = address >= region.base && address - region.base <= region.length &&
                      length <= region.length - (address - region.base);
  return inside ? &region : nullptr;
}

FakeDevice::Outcome FakeDevice::Execute(const FakeQp& qp, const uint8_t* wqe) {
  const uint8_t num_sge = wqe[2];
  const uint32_t length = Load<uint32_t>(wqe + 20);
  if (wqe[0] != kOpPush || (wqe[1] & ~1) != 0 || num_sge > 2 || wqe[3] != 1 ||
      Load<uint32_t>(wqe + 4) != 0) {
    return {kLocOp, 0, 0};
  }
  uint64_t sum = 0;
  for (int i = 0; i < num_sge; ++i) sum += Load<uint32_t>(wqe + 32 + 16 * i + 8);
  if (sum != length || length > 0x80000000u) return {kLocLen, 0, 0};
  std::vector<uint8_t> bytes;
  for (int i = 0; i < num_sge; ++i) {
    const uint8_t* sge = wqe + 32 + 16 * i;
    const uint32_t part = Load<uint32_t>(sge + 8);
    if (part == 0) continue;
    if (LocalRegion(qp, sge) == nullptr) return {kLocProt, 0, 0};
    const uint8_t* from = reinterpret_cast<const uint8_t*>(Load<uint64_t>(sge));
    bytes.insert(bytes.end(), from, from + part);
  }
  const Message message = {
      qp.dest_node, qp.dest_qpn, Load<uint32_t>(wqe + 16), Load<uint64_t>(wqe + 8),
      bytes.data(), length};
  const uint32_t code = deliver_(message);
  if (code == kTermNoStream) return {kRemOp, code, 0};
  if (code != 0) return {kRemAccess, code, 0};
  return {kSuccess, 0, length};
}

uint32_t FakeDevice::Place(const Message& message) {
  auto qp = qps.find(message.qpn);
  if (qp == qps.end() || (qp->second.state != kRtr && qp->second.state != kRts)) {
    return kTermNoStream;
  }
  if (message.length == 0) return 0;
  auto refuse = [&](uint32_t code) {
    qp->second.state = kError;
    return code;
  };
  auto mr = mrs.find(message.stag);
  if (mr == mrs.end()) return refuse(kTermStag);
  const FakeMr& region = mr->second;
  if (region.pd != qp->second.pd) return refuse(kTermStream);
  if (!(region.access & kRemoteWrite)) return refuse(kTermAccess);
  if (message.to + message.length < message.to) return refuse(kTermWrap);
  if (message.to < region.base || message.to + message.length > region.base + region.length) {
    return refuse(kTermBounds);
  }
  memcpy(reinterpret_cast<void*>(message.to), message.bytes, message.length);
  return 0;
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
  Store<uint32_t>(cqe + 16, 0);
  Store<uint32_t>(cqe + 20, qpn);
  Store<uint32_t>(cqe + 24, outcome.detail);
  cqe[28] = opcode;
  cqe[29] = outcome.status;
  cqe[30] = 0;
  const uint32_t round = 1 + cq.produced / cq.entries;
  __atomic_store_n(cqe + 31, static_cast<uint8_t>(round & 1), __ATOMIC_RELEASE);
  ++cq.produced;
  ++counters_.cqes;
}

}  // namespace exrnic
