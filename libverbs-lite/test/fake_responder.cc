// SPDX-License-Identifier: BSD-2-Clause
// What the software device does with messages of its peers.
#include <algorithm>

#include "fake_bytes.h"
#include "fake_device.h"

namespace exrnic {

namespace {

// RFC 5040, 4.8; RFC 5041, 8.
constexpr uint32_t kTermLocal = 0x0000, kTermStag = 0x0100, kTermBounds = 0x0101,
                   kTermAccess = 0x0102, kTermStream = 0x0103, kTermWrap = 0x0104,
                   kTermNotInvalidated = 0x0109, kTermNoStream = 0x0207, kTermTaggedStag = 0x1100,
                   kTermTaggedBounds = 0x1101, kTermTaggedStream = 0x1102, kTermTaggedWrap = 0x1103,
                   kTermNoBuffer = 0x1202, kTermTooLong = 0x1205;

bool Inside(const FakeMr& region, uint64_t to, uint32_t length) {
  return to >= region.base && to + length <= region.base + region.length;
}

}  // namespace

uint32_t FakeDevice::Place(const Message& message) {
  auto it = qps.find(message.qpn);
  if (it == qps.end() || (it->second.state != kRtr && it->second.state != kRts)) {
    return kTermNoStream;
  }
  FakeQp& qp = it->second;
  uint32_t code = kPlaced;
  switch (message.kind) {
    case Kind::kWrite:
      code = PlaceWrite(qp, message);
      break;
    case Kind::kRead:
      code = ServeRead(qp, message);
      break;
    case Kind::kSend:
    case Kind::kImmediate:
      code = PlaceMessage(message.qpn, &qp, message);
      break;
  }
  if (code != kPlaced && code != kNoReceive) qp.state = kError;
  return code;
}

uint32_t FakeDevice::PlaceWrite(const FakeQp& qp, const Message& message) {
  if (message.length == 0) return kPlaced;
  auto mr = mrs.find(message.stag);
  if (mr == mrs.end() || mr->second.invalidated) return kTermTaggedStag;
  const FakeMr& region = mr->second;
  if (region.pd != qp.pd) return kTermTaggedStream;
  if (!(region.access & kRemoteWrite)) return kTermAccess;
  if (message.to + message.length < message.to) return kTermTaggedWrap;
  if (!Inside(region, message.to, message.length)) return kTermTaggedBounds;
  memcpy(reinterpret_cast<void*>(message.to), message.bytes, message.length);
  return kPlaced;
}

uint32_t FakeDevice::ServeRead(const FakeQp& qp, const Message& message) {
  if (qp.max_reads_in == 0) return kTermNoBuffer;
  if (message.length == 0) return kPlaced;
  auto mr = mrs.find(message.stag);
  if (mr == mrs.end() || mr->second.invalidated) return kTermStag;
  const FakeMr& region = mr->second;
  if (region.pd != qp.pd) return kTermStream;
  if (!(region.access & kRemoteRead)) return kTermAccess;
  if (message.to + message.length < message.to) return kTermWrap;
  if (!Inside(region, message.to, message.length)) return kTermBounds;
  memcpy(message.answer, reinterpret_cast<const void*>(message.to), message.length);
  return kPlaced;
}

// A status that is not kSuccess: the receive ends with it.
uint8_t FakeDevice::Scatter(const FakeQp& qp, const Work& receive, const Message& message) const {
  uint32_t done = 0;
  for (uint32_t i = 0; i < receive.bytes[2] && done < message.length; ++i) {
    const Element element = ElementOf(receive, i);
    if (element.length == 0) continue;
    if (LocalRegion(qp, element, kLocalWrite) == nullptr) return kLocProt;
    const uint32_t part = std::min(element.length, message.length - done);
    memcpy(reinterpret_cast<void*>(element.address), message.bytes + done, part);
    done += part;
  }
  return kSuccess;
}

void FakeDevice::CountDown(FakeSrq* srq) {
  const uint16_t left = static_cast<uint16_t>(srq->ring.producer - srq->ring.consumer);
  if (srq->limit == 0 || left >= srq->limit) return;
  srq->limit = 0;
  ++srq->limit_events;
}

uint32_t FakeDevice::InvalidateForPeer(const FakeQp& qp, uint32_t stag) {
  auto mr = mrs.find(stag);
  if (mr == mrs.end() || mr->second.invalidated) return kTermStag;
  if (mr->second.pd != qp.pd) return kTermStream;
  if (!(mr->second.access & (kRemoteWrite | kRemoteRead))) return kTermNotInvalidated;
  mr->second.invalidated = true;
  return kPlaced;
}

uint32_t FakeDevice::PlaceMessage(uint32_t qpn, FakeQp* qp, const Message& message) {
  FakeSrq* srq = qp->srqn != ~0u ? &srqs.at(qp->srqn) : nullptr;
  FakeRing* ring = srq != nullptr ? &srq->ring : &qp->rq;
  if (ring->producer == ring->consumer) return kNoReceive;
  const Work receive = Take(ring);
  if (srq != nullptr) CountDown(srq);
  auto refuse = [&](uint8_t status, uint32_t code) {
    Complete(qp->recv_cqn, qpn, receive.last, kOpRecv, {status});
    return code;
  };
  if (receive.malformed || receive.bytes[0] != kOpRecv) return refuse(kLocOp, kTermLocal);
  const bool immediate = message.kind == Kind::kImmediate;
  if (!immediate) {
    if (message.length > Load<uint32_t>(&receive.bytes[20])) return refuse(kLocLen, kTermTooLong);
    const uint8_t status = Scatter(*qp, receive, message);
    if (status != kSuccess) return refuse(status, kTermLocal);
  }
  Outcome outcome = {kSuccess, 0, message.length};
  if (message.solicited) outcome.flags |= kCqeSolicited;
  if (message.with_imm) outcome.flags |= kCqeImm;
  if (immediate) outcome.flags |= kCqeWritten;
  if (message.with_invalidate) {
    const uint32_t code = InvalidateForPeer(*qp, message.imm);
    if (code != kPlaced) return refuse(kFlushed, code);
    outcome.flags |= kCqeInvalidated;
  }
  if (message.with_imm || message.with_invalidate) outcome.imm = message.imm;
  Complete(qp->recv_cqn, qpn, receive.last, kOpRecv, outcome);
  return kPlaced;
}

}  // namespace exrnic
