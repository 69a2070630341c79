// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/lockstep/first_copies.h"

#include <utility>

#include "exrnic_hw.h"
#include "rtl-model/ref/ddp_check.h"

namespace exrnic::lockstep {
namespace {

// Of a port's message, whatever life it is for.
uint64_t port_place(const Bytes& ddp) {
  return exrnic_ddp_tagged_to(ddp.data()) & ((uint64_t{1} << EXRNIC_PORT_LIFE_SHIFT) - 1);
}

constexpr size_t kHeaders = EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES;

Stream stream_of(const uint8_t* ddp, uint64_t length) {
  if (ref::is_introduction(ddp, length)) return Stream::kIntroduction;
  if (exrnic_ddp_tagged_t(ddp))
    return exrnic_ddp_tagged_opcode(ddp) == EXRNIC_RDMAP_OPCODE_READ_RESPONSE ? Stream::kResponse
                                                                              : Stream::kWork;
  return exrnic_ddp_untagged_opcode(ddp) == EXRNIC_RDMAP_OPCODE_TERMINATE ? Stream::kTerminate
                                                                          : Stream::kWork;
}

}  // namespace

uint32_t node_of(uint64_t mac) { return mac & 0xffff; }
std::optional<Segment> segment_of(const Frame& frame) {
  if (frame.data.size() < kHeaders + EXRNIC_DDP_TAGGED_BYTES) return std::nullopt;
  const uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
  const uint64_t length = exrnic_efe_length(efe);
  const uint64_t flags = exrnic_efe_flags(efe);
  if (length == 0 || kHeaders + length > frame.data.size()) return std::nullopt;
  const uint8_t* ddp = efe + EXRNIC_EFE_BYTES;
  Segment segment;
  segment.from = {node_of(exrnic_eth_src(frame.data.data())),
                  static_cast<uint32_t>(exrnic_efe_src_qpn(efe))};
  segment.to = {node_of(exrnic_eth_dst(frame.data.data())),
                static_cast<uint32_t>(exrnic_efe_dst_qpn(efe))};
  segment.stream = stream_of(ddp, length);
  if (flags & EXRNIC_EFE_FLAGS_IMM)
    segment.immediate = static_cast<uint32_t>(exrnic_efe_sack_imm(efe));
  if (exrnic_efe_klass(efe) != EXRNIC_EFE_CLASS_RELIABLE)
    segment.number = static_cast<uint32_t>(exrnic_efe_seq(efe));
  if (exrnic_efe_klass(efe) == EXRNIC_EFE_CLASS_DATAGRAM)
    segment.keys = {static_cast<uint32_t>(exrnic_efe_ack(efe)),
                    static_cast<uint16_t>(exrnic_efe_peer_session(efe))};
  segment.asks_for_pause = flags & EXRNIC_EFE_FLAGS_RNR;
  segment.ddp.assign(ddp, ddp + length);
  return segment;
}

bool Segment::is_tagged() const { return exrnic_ddp_tagged_t(ddp.data()); }

std::optional<uint32_t> Segment::group() const {
  const uint32_t group = to.qpn - EXRNIC_GROUP_QPN;
  return keys && group <= EXRNIC_GROUP_MAX ? std::optional(group) : std::nullopt;
}

bool Segment::takes_receive() const {
  return !is_tagged() && ddp.size() >= EXRNIC_DDP_UNTAGGED_BYTES &&
         exrnic_ddp_untagged_qn(ddp.data()) == EXRNIC_SEND_QN &&
         exrnic_ddp_untagged_mo(ddp.data()) == 0;
}

std::optional<uint16_t> Segment::terminate_code() const {
  if (stream != Stream::kTerminate || ddp.size() < EXRNIC_DDP_UNTAGGED_BYTES + sizeof(uint16_t))
    return std::nullopt;
  return static_cast<uint16_t>(exrnic_terminate_code(ddp.data() + EXRNIC_DDP_UNTAGGED_BYTES));
}

bool Segment::quotes_read_request() const {
  constexpr size_t kQuotation =
      EXRNIC_DDP_UNTAGGED_BYTES + EXRNIC_TERMINATE_BYTES - EXRNIC_DDP_TAGGED_BYTES;
  if (ddp.size() < kQuotation + EXRNIC_DDP_UNTAGGED_BYTES) return false;
  const uint8_t* quoted = ddp.data() + kQuotation;
  return !exrnic_ddp_tagged_t(quoted) && exrnic_ddp_untagged_qn(quoted) == EXRNIC_READ_QN;
}

bool Segment::is_write() const {
  return is_tagged() && exrnic_ddp_tagged_opcode(ddp.data()) == EXRNIC_RDMAP_OPCODE_WRITE;
}

bool Segment::asks_for_pulls() const {
  return is_write() && ddp.size() == EXRNIC_DDP_TAGGED_BYTES && !number &&
         exrnic_ddp_tagged_stag(ddp.data()) == 0 && exrnic_ddp_tagged_to(ddp.data()) == 0;
}

bool Segment::asks_for_peer() const {
  return stream == Stream::kIntroduction &&
         exrnic_ddp_tagged_to(ddp.data()) == EXRNIC_INTRODUCTION_ASKS;
}

bool Segment::answers_load() const {
  return stream == Stream::kResponse && is_tagged() &&
         exrnic_ddp_tagged_stag(ddp.data()) == EXRNIC_WINDOW_STAG;
}

bool Segment::is_of_port() const {
  return from.qpn >= EXRNIC_PORT_QPN && from.qpn - EXRNIC_PORT_QPN < EXRNIC_PORTS;
}

bool Segment::says_port_state() const {
  return is_tagged() && port_place(ddp) == EXRNIC_PORT_TO_STATE;
}

bool Segment::tells_scratchpad() const {
  return is_tagged() && port_place(ddp) >= EXRNIC_PORT_TO_PEER_SPADS;
}

std::vector<Segment> Segment::bytes() const {
  std::vector<Segment> all;
  const uint64_t to = exrnic_ddp_tagged_to(ddp.data());
  for (size_t i = EXRNIC_DDP_TAGGED_BYTES; i < ddp.size(); ++i) {
    Segment one = *this;
    one.ddp.resize(EXRNIC_DDP_TAGGED_BYTES);
    exrnic_ddp_tagged_set_to(one.ddp.data(), to + i - EXRNIC_DDP_TAGGED_BYTES);
    one.ddp.push_back(ddp[i]);
    all.push_back(std::move(one));
  }
  return all;
}

bool FirstCopies::first(const Frame& frame) {
  const uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
  if (exrnic_efe_klass(efe) != EXRNIC_EFE_CLASS_RELIABLE) return true;  // there are no others
  Session& session = sessions_[exrnic_eth_dst(frame.data.data())];
  const auto seq = static_cast<uint32_t>(exrnic_efe_seq(efe));
  // It is repeated until its receiver has heard it, in sessions to come too.
  if (const uint64_t refusal = exrnic_efe_refusal(efe))
    return std::exchange(session.refusal, refusal) != refusal;
  if (session.number != exrnic_efe_session(efe))
    session = {exrnic_efe_session(efe), seq, session.refusal};
  if (static_cast<int32_t>(seq - session.next) < 0) return false;
  session.next = seq + 1;
  return true;
}

}  // namespace exrnic::lockstep
