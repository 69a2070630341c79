// SPDX-License-Identifier: BSD-2-Clause
#include "tests/protection/scripted_peer.h"

#include <algorithm>
#include <utility>

#include "rtl-model/ref/ddp_check.h"

namespace exrnic::testing {
namespace {

constexpr uint16_t kSession = 0x4321;
constexpr size_t kHeaders = EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES;

constexpr uint16_t kGeneration = 0x0707;

uint64_t mac_of(uint16_t node) { return uint64_t{EXRNIC_MAC_PREFIX} << 16 | node; }

}  // namespace

void ScriptedPeer::send(uint32_t qpn, const Bytes& ddp) {
  sent_.push_back({next_seq_++, qpn, core_generations_[qpn], ddp});
  transmit(EXRNIC_EFE_FLAGS_SEQ, sent_.back());
}

// Our queue pairs never begin anew.
void ScriptedPeer::introduce(uint32_t qpn) {
  Bytes ddp(EXRNIC_DDP_TAGGED_BYTES);
  exrnic_ddp_tagged_set_t(ddp.data(), 1);
  exrnic_ddp_tagged_set_last(ddp.data(), 1);
  exrnic_ddp_tagged_set_dv(ddp.data(), EXRNIC_DDP_VERSION);
  exrnic_ddp_tagged_set_rv(ddp.data(), EXRNIC_RDMAP_VERSION);
  exrnic_ddp_tagged_set_opcode(ddp.data(), EXRNIC_RDMAP_OPCODE_WRITE);
  exrnic_ddp_tagged_set_stag(ddp.data(), EXRNIC_INTRODUCTION_STAG);
  send(qpn, ddp);
}

void ScriptedPeer::resend() {
  for (const Sent& segment : sent_) transmit(EXRNIC_EFE_FLAGS_SEQ, segment);
}

// Every frame says SYN: then it does not matter which of the first is lost.
void ScriptedPeer::transmit(uint8_t flags, const Sent& segment) {
  Bytes frame(std::max<size_t>(EXRNIC_ETH_FRAME_MIN, kHeaders + segment.ddp.size()));
  uint8_t* p = frame.data();
  exrnic_eth_set_dst(p, mac_of(BareCore::kNode));
  exrnic_eth_set_src(p, mac_of(kNode));
  exrnic_eth_set_ethertype(p, EXRNIC_ETHERTYPE);
  uint8_t* efe = p + EXRNIC_ETH_BYTES;
  exrnic_efe_set_version(efe, EXRNIC_EFE_VERSION);
  exrnic_efe_set_klass(efe, EXRNIC_EFE_CLASS_RELIABLE);
  exrnic_efe_set_length(efe, segment.ddp.size());
  exrnic_efe_set_src_node(efe, kNode);
  exrnic_efe_set_session(efe, kSession);
  flags |= EXRNIC_EFE_FLAGS_SYN;
  if (core_session_ != 0) {
    flags |= EXRNIC_EFE_FLAGS_ACK;
    exrnic_efe_set_peer_session(efe, core_session_);
    exrnic_efe_set_ack(efe, core_next_);
    exrnic_efe_set_heard(efe, heard_);
  }
  exrnic_efe_set_flags(efe, flags);
  if (flags & EXRNIC_EFE_FLAGS_SEQ) {
    exrnic_efe_set_seq(efe, segment.seq);
    exrnic_efe_set_dst_qpn(efe, segment.qpn);
    exrnic_efe_set_src_qpn(efe, segment.qpn);
    exrnic_efe_set_src_generation(efe, kGeneration);
    exrnic_efe_set_dst_generation(efe, segment.generation);
  }
  std::copy(segment.ddp.begin(), segment.ddp.end(), p + kHeaders);
  core_.receive(std::move(frame));
}

void ScriptedPeer::receive(const Bytes& frame) {
  const uint8_t* efe = frame.data() + EXRNIC_ETH_BYTES;
  const uint64_t flags = exrnic_efe_flags(efe);
  core_session_ = static_cast<uint16_t>(exrnic_efe_session(efe));
  if (flags & EXRNIC_EFE_FLAGS_ACK) acknowledged(static_cast<uint32_t>(exrnic_efe_ack(efe)));
  if (exrnic_efe_refusal(efe) != 0) {
    if (std::exchange(heard_, static_cast<uint8_t>(exrnic_efe_refusal(efe))) !=
        exrnic_efe_refusal(efe))
      take_(static_cast<uint32_t>(exrnic_efe_dst_qpn(efe)), efe + EXRNIC_EFE_BYTES,
            exrnic_efe_length(efe));
    return transmit(0, {});
  }
  if (!(flags & EXRNIC_EFE_FLAGS_SEQ)) return;
  if (exrnic_efe_seq(efe) == core_next_) {
    ++core_next_;
    const auto qpn = static_cast<uint32_t>(exrnic_efe_dst_qpn(efe));
    if (ref::is_introduction(efe + EXRNIC_EFE_BYTES, exrnic_efe_length(efe))) {
      core_generations_[qpn] = static_cast<uint16_t>(exrnic_efe_src_generation(efe));
      if (exrnic_efe_dst_generation(efe) != kGeneration) introduce(qpn);
    } else {
      take_(qpn, efe + EXRNIC_EFE_BYTES, exrnic_efe_length(efe));
    }
  }
  transmit(0, {});
}

void ScriptedPeer::acknowledged(uint32_t up_to) {
  while (!sent_.empty() && static_cast<int32_t>(sent_.front().seq - up_to) < 0) sent_.pop_front();
}

}  // namespace exrnic::testing
