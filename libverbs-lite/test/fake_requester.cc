// SPDX-License-Identifier: BSD-2-Clause
// How the software device executes the work of a send queue.
#include <algorithm>

#include "fake_bytes.h"
#include "fake_device.h"

namespace exrnic {

namespace {

constexpr uint32_t kMostElements = 16, kMostInline = 64;

uint32_t SlotsFor(uint32_t payload_bytes) {
  return payload_bytes <= 32 ? 1 : 1 + (payload_bytes - 32 + 63) / 64;
}

bool FlagsFit(uint8_t opcode, uint8_t flags) {
  if ((flags & ~kAllFlags) != 0) return false;
  if ((flags & kSolicited) && (opcode < kOpPushImm || opcode > kOpSendInvalidate)) return false;
  return !(flags & kInline) || opcode <= kOpSendInvalidate;
}

bool HasImm(uint8_t opcode) {
  return opcode == kOpPushImm || opcode == kOpSendImm || opcode == kOpSendInvalidate ||
         opcode == kOpLocalInvalidate;
}

}  // namespace

// A status that is not kSuccess: the work request is not executed.
uint8_t FakeDevice::Check(const FakeQp& qp, const Work& work) {
  const uint8_t* wqe = work.bytes.data();
  const uint8_t opcode = wqe[0], flags = wqe[1], num_sge = wqe[2], num_slots = wqe[3];
  const uint32_t length = Load<uint32_t>(wqe + 20);
  if (work.malformed || opcode < kOpPush || opcode > kOpLocalInvalidate ||
      !FlagsFit(opcode, flags) || num_sge > kMostElements ||
      (!HasImm(opcode) && Load<uint32_t>(wqe + 4) != 0)) {
    return kLocOp;
  }
  if (flags & kInline) {
    return num_sge == 0 && length <= kMostInline && num_slots == SlotsFor(length) ? kSuccess
                                                                                  : kLocOp;
  }
  if (num_slots != SlotsFor(16 * num_sge)) return kLocOp;
  if (opcode == kOpLocalInvalidate) return num_sge == 0 && length == 0 ? kSuccess : kLocOp;
  uint64_t sum = 0;
  uint32_t filled = 0;
  for (uint32_t i = 0; i < num_sge; ++i) {
    sum += ElementOf(work, i).length;
    filled += ElementOf(work, i).length != 0;
  }
  if (opcode == kOpPull && std::max(filled, 1u) > qp.max_reads_out) return kLocOp;
  return sum == length && length <= kMessageMax ? kSuccess : kLocLen;
}

FakeDevice::Outcome FakeDevice::Execute(const FakeQp& qp, const Work& work) {
  const uint8_t status = Check(qp, work);
  if (status != kSuccess) return {status};
  switch (work.bytes[0]) {
    case kOpPull:
      return Pull(qp, work);
    case kOpLocalInvalidate:
      return InvalidateOwn(qp, Load<uint32_t>(&work.bytes[4]));
    default:
      return Send(qp, work);
  }
}

bool FakeDevice::Gather(const FakeQp& qp, const Work& work, std::vector<uint8_t>* bytes) const {
  if (work.bytes[1] & kInline) {
    const uint8_t* from = work.bytes.data() + kPayloadAt;
    bytes->assign(from, from + Load<uint32_t>(&work.bytes[20]));
    return true;
  }
  for (uint32_t i = 0; i < work.bytes[2]; ++i) {
    const Element element = ElementOf(work, i);
    if (element.length == 0) continue;
    if (LocalRegion(qp, element, 0) == nullptr) return false;
    const uint8_t* from = reinterpret_cast<const uint8_t*>(element.address);
    bytes->insert(bytes->end(), from, from + element.length);
  }
  return true;
}

FakeDevice::Outcome FakeDevice::Answer(uint32_t code, uint32_t length) {
  if (code == kPlaced) return {kSuccess, 0, length};
  if (code == kNoReceive) return {kRnrRetry, 0x1202};
  const bool access = (code >> 8) == 0x01 || (code >= 0x1100 && code <= 0x1103);
  return {access ? kRemAccess : kRemOp, code};
}

FakeDevice::Outcome FakeDevice::Send(const FakeQp& qp, const Work& work) {
  const uint8_t* wqe = work.bytes.data();
  const uint8_t opcode = wqe[0];
  std::vector<uint8_t> bytes;
  if (!Gather(qp, work, &bytes)) return {kLocProt};
  const bool push = opcode == kOpPush || opcode == kOpPushImm;
  Message message = {push ? Kind::kWrite : Kind::kSend, qp.dest_node, qp.dest_qpn};
  message.stag = Load<uint32_t>(wqe + 16);
  message.to = Load<uint64_t>(wqe + 8);
  message.bytes = bytes.data();
  message.length = static_cast<uint32_t>(bytes.size());
  message.imm = Load<uint32_t>(wqe + 4);
  message.with_imm = opcode == kOpSendImm;
  message.with_invalidate = opcode == kOpSendInvalidate;
  message.solicited = wqe[1] & kSolicited;
  uint32_t code = deliver_(message);
  if (code == kPlaced && opcode == kOpPushImm) {
    message.kind = Kind::kImmediate;
    message.with_imm = true;
    code = deliver_(message);
  }
  return Answer(code, message.length);
}

FakeDevice::Outcome FakeDevice::Pull(const FakeQp& qp, const Work& work) {
  const uint8_t* wqe = work.bytes.data();
  Message message = {Kind::kRead, qp.dest_node, qp.dest_qpn};
  message.stag = Load<uint32_t>(wqe + 16);
  message.to = Load<uint64_t>(wqe + 8);
  std::vector<Element> filled;
  for (uint32_t i = 0; i < wqe[2]; ++i) {
    const Element element = ElementOf(work, i);
    if (element.length == 0) continue;
    if (LocalRegion(qp, element, kLocalWrite) == nullptr) return {kLocProt};
    filled.push_back(element);
  }
  if (filled.empty()) filled.push_back({});
  for (const Element& element : filled) {
    message.length = element.length;
    message.answer = reinterpret_cast<uint8_t*>(element.address);
    const uint32_t code = deliver_(message);
    if (code != kPlaced) return Answer(code, 0);
    message.to += element.length;
  }
  return {kSuccess, 0, Load<uint32_t>(wqe + 20)};
}

FakeDevice::Outcome FakeDevice::InvalidateOwn(const FakeQp& qp, uint32_t stag) {
  auto mr = mrs.find(stag);
  if (mr == mrs.end() || mr->second.invalidated || mr->second.pd != qp.pd) return {kLocProt};
  mr->second.invalidated = true;
  return {kSuccess};
}

}  // namespace exrnic
