// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/frame_bench.h"

#include <algorithm>
#include <exception>

#include "sim/trace/frame_view.h"
#include "tests/support/work.h"

namespace exrnic::fuzz {
namespace {

using testing::BareCore;

constexpr uint32_t kPeer = 1;
constexpr uint32_t kQpn = 5;
constexpr uint32_t kUcQpn = 6;  // of service UC, with the same peer
constexpr uint32_t kUdQpns[] = {7, 8};
constexpr uint32_t kGroup = 0x1234;
constexpr uint32_t kQkey = 0x11223344;
constexpr uint16_t kPkey = EXRNIC_PKEY_DEFAULT;
constexpr uint32_t kPeerQpn = 9;
constexpr uint32_t kPage = 1u << EXRNIC_PAGE_SHIFT;
constexpr uint32_t kUserPage = 2;
constexpr uint16_t kReceives = 4;
constexpr uint16_t kSession = 0x4321;
constexpr uint64_t kMac = uint64_t{EXRNIC_MAC_PREFIX} << 16;

// Memory by pages: 0 PBLs; 1 CQ; 2 SQ; 3, 5, 7, 9 RQ; 4, 6 the sink's, 8 the secret's.
constexpr uint64_t page(uint64_t number) { return BareCore::kMemory + number * kPage; }
constexpr size_t kPages = 10;

void put_right_header(uint8_t* efe) {
  exrnic_efe_set_klass(efe, EXRNIC_EFE_CLASS_RELIABLE);
  const uint64_t imm = exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_IMM;
  exrnic_efe_set_flags(efe, EXRNIC_EFE_FLAGS_SEQ | EXRNIC_EFE_FLAGS_SYN | imm);
  exrnic_efe_set_session(efe, kSession);
  if (imm == 0) exrnic_efe_set_sack_imm(efe, 0);
}

// Its number, and whether it asks for a pause, is the input's choice.
void put_right_refusal(uint8_t* efe) {
  exrnic_efe_set_klass(efe, EXRNIC_EFE_CLASS_RELIABLE);
  const uint64_t rnr = exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_RNR;
  exrnic_efe_set_flags(efe, EXRNIC_EFE_FLAGS_ACK | EXRNIC_EFE_FLAGS_SYN | rnr);
  exrnic_efe_set_session(efe, kSession);
  exrnic_efe_set_sack_imm(efe, rnr != 0 ? exrnic_efe_sack_imm(efe) & EXRNIC_RNR_TIMER_MAX : 0);
}

// Whether it begins a message is the input's choice.
void put_right_once(uint8_t* efe) {
  exrnic_efe_set_klass(efe, EXRNIC_EFE_CLASS_UNRELIABLE);
  exrnic_efe_set_refusal(efe, 0);
  constexpr uint64_t kFree = EXRNIC_EFE_FLAGS_SYN | EXRNIC_EFE_FLAGS_IMM | EXRNIC_EFE_FLAGS_CE;
  exrnic_efe_set_flags(efe, EXRNIC_EFE_FLAGS_SEQ | (exrnic_efe_flags(efe) & kFree));
  exrnic_efe_set_session(efe, 0);
  if (!(exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_IMM)) exrnic_efe_set_sack_imm(efe, 0);
}

void put_right_datagram(uint8_t* efe) {
  exrnic_efe_set_klass(efe, EXRNIC_EFE_CLASS_DATAGRAM);
  exrnic_efe_set_flags(efe, exrnic_efe_flags(efe) & ~uint64_t{EXRNIC_EFE_FLAGS_SYN});
  exrnic_efe_set_ack(efe, kQkey);
  exrnic_efe_set_peer_session(efe, kPkey);
}

}  // namespace

FrameBench::FrameBench(const testing::MakeCore& make_core)
    : allowed_(kPages * kPage), core_(make_core, kPages * kPage, *this, 1) {
  core_.write_register(EXRNIC_REG_RTO_CYCLES, EXRNIC_RTO_CYCLES_MIN);
  core_.write_register(EXRNIC_REG_RETRY_LIMIT, 2);
  grant();
  open();
}

void FrameBench::run(const uint8_t* data, size_t size) {
  try {
    for (Reader in(data, size); !in.empty();) send(in);
    core_.run_to_rest();
  } catch (const std::exception& error) {
    found(error.what());
  }
}

void FrameBench::grant() {
  allow(page(0), kPage, kRead);
  allow(page(1), 8 * sizeof(exrnic_cqe), kWrite);
  for (const uint64_t ring : {page(2), page(3), page(5), page(7), page(9)})
    allow(ring, 8 * sizeof(exrnic_wqe), kRead);
  const uint64_t first = kPage - kSinkBase % kPage;
  allow(page(4) + kSinkBase % kPage, first, kRead | kWrite);
  allow(page(6), kSinkBytes - first, kRead | kWrite);
}

void FrameBench::allow(uint64_t address, uint64_t length, unsigned access) {
  for (uint64_t i = 0; i < length; ++i)
    allowed_[address + i - BareCore::kMemory] = static_cast<uint8_t>(access);
}

uint64_t FrameBench::pbl(unsigned slot, const std::vector<uint64_t>& pages) {
  const uint64_t at = page(0) + slot * EXRNIC_PBL_LINE_SIZE;
  std::memcpy(core_.at(at), pages.data(), pages.size() * sizeof pages[0]);
  return at;
}

void FrameBench::open() {
  exrnic_mbox_create_cq cq{};
  cq.eqn = EXRNIC_NO_EQ;
  cq.page = kUserPage;
  cq.pbl_address = pbl(0, {page(1)});
  cq.log_entries = 3;
  core_.must(EXRNIC_MBOX_OP_CREATE_CQ, cq);
  register_region(kSink, 1, kSinkBytes, pbl(3, {page(4), page(6)}));
  register_region(kSecret, 2, 100, pbl(4, {page(8)}));
  pbl(1, {page(2)});
  create_queue_pair(kQpn, EXRNIC_SERVICE_RC, 2, page(3));
  create_queue_pair(kUcQpn, EXRNIC_SERVICE_UC, 5, page(5));
  create_queue_pair(kUdQpns[0], EXRNIC_SERVICE_UD, 6, page(7));
  create_queue_pair(kUdQpns[1], EXRNIC_SERVICE_UD, 7, page(9));
  for (const uint32_t qpn : kUdQpns)
    core_.must(EXRNIC_MBOX_OP_ATTACH_GROUP, exrnic_mbox_group{qpn, kGroup});
}

// `slot`: of the PBL of its receives.
void FrameBench::create_queue_pair(uint32_t qpn, exrnic_service service, unsigned slot,
                                   uint64_t ring) {
  exrnic_mbox_create_qp qp{};
  qp.qpn = qpn;
  qp.page = kUserPage;
  qp.pd = 1;
  qp.sq_log_slots = qp.rq_log_slots = 3;
  qp.service = service;
  qp.sq_pbl_address = page(0) + EXRNIC_PBL_LINE_SIZE;
  qp.rq_pbl_address = pbl(slot, {ring});
  qp.srqn = EXRNIC_NO_SRQ;
  qp.max_reads_out = qp.max_reads_in = EXRNIC_MAX_READS;
  core_.must(EXRNIC_MBOX_OP_CREATE_QP, qp);
  exrnic_mbox_modify_qp change{};
  change.qpn = qpn;
  change.dest_node = kPeer;
  change.dest_qpn = kPeerQpn;
  change.qkey = kQkey;
  const bool datagrams = service == EXRNIC_SERVICE_UD;
  for (const auto state : {EXRNIC_QP_STATE_INIT, EXRNIC_QP_STATE_RTR, EXRNIC_QP_STATE_RTS}) {
    change.state = state;
    change.attributes = 0;
    if (datagrams && state == EXRNIC_QP_STATE_INIT)
      change.attributes = EXRNIC_QP_ATTRIBUTES_QKEY | EXRNIC_QP_ATTRIBUTES_PKEY_INDEX;
    if (!datagrams && state == EXRNIC_QP_STATE_RTR) change.attributes = EXRNIC_QP_ATTRIBUTES_DEST;
    core_.must(EXRNIC_MBOX_OP_MODIFY_QP, change);
  }
  for (uint16_t i = 0; i < kReceives; ++i) {
    const testing::Work work = testing::receive_into({{kSinkBase + 100 * i, 1500, kSink}});
    const Bytes slot = testing::slots_of(work);
    std::copy(slot.begin(), slot.end(), core_.at(ring + i * sizeof(exrnic_wqe)));
  }
  core_.store_doorbell(kUserPage, EXRNIC_DOORBELL_RQ, qpn, kReceives);
  core_.run_to_rest();
}

void FrameBench::register_region(uint32_t stag, uint32_t domain, uint64_t length,
                                 uint64_t entries) {
  exrnic_mbox_register_mr region{};
  region.stag = stag;
  region.pd = domain;
  region.base = kSinkBase;
  region.length = length;
  region.pbl_address = entries;
  region.access =
      EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ;
  region.page_shift = EXRNIC_PAGE_SHIFT;
  core_.must(EXRNIC_MBOX_OP_REGISTER_MR, region);
}

void FrameBench::send(Reader& in) {
  const auto rights = in.take<uint8_t>();
  Bytes frame = in.bytes(in.take<uint16_t>() % 5000);
  if (rights & kLength) frame.resize(std::max<size_t>(frame.size(), EXRNIC_ETH_FRAME_MIN));
  if (frame.size() >= kFrameHeaders) put_right(frame, rights);
  trace::view_of({frame, false});  // a trace looks at all
  core_.receive(std::move(frame), rights & kDropFcs);
  if (rights & kShortPause) {
    for (int i = 0; i < 20; ++i) core_.step();
  } else {
    core_.run_to_rest();
  }
}

void FrameBench::put_right(Bytes& frame, uint8_t rights) {
  uint8_t* efe = frame.data() + EXRNIC_ETH_BYTES;
  if (rights & kAddresses) {
    exrnic_eth_set_dst(frame.data(), kMac | BareCore::kNode);
    exrnic_eth_set_src(frame.data(), kMac | kPeer);
    exrnic_eth_set_ethertype(frame.data(), EXRNIC_ETHERTYPE);
  }
  const bool once = rights & kUnreliable;
  const bool datagram = once && (exrnic_efe_klass(efe) & kDatagram);
  const bool group = datagram && (exrnic_efe_dst_qpn(efe) & 1);
  if ((rights & kAddresses) && group)
    exrnic_eth_set_dst(frame.data(), uint64_t{EXRNIC_GROUP_MAC_PREFIX} << 16 | kGroup);
  if (rights & kHeader) {
    exrnic_efe_set_version(efe, EXRNIC_EFE_VERSION);
    exrnic_efe_set_src_node(efe, kPeer);
    for (const size_t zero : {6, 7, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27, 28}) efe[zero] = 0;
    const bool refusal = exrnic_efe_refusal(efe) != 0;
    once ? put_right_once(efe) : refusal ? put_right_refusal(efe) : put_right_header(efe);
    if (datagram) put_right_datagram(efe);
  }
  if (rights & kSequence) exrnic_efe_set_seq(efe, once ? once_++ : expected_);
  if (rights & kQueuePairs) {
    const uint32_t qpn = datagram ? kUdQpns[0] : once ? kUcQpn : kQpn;
    exrnic_efe_set_dst_qpn(efe, group ? EXRNIC_GROUP_QPN + kGroup : qpn);
    exrnic_efe_set_src_qpn(efe, kPeerQpn);
  }
  if (rights & kLength) exrnic_efe_set_length(efe, frame.size() - kFrameHeaders);
}

void FrameBench::check(const char* what, uint64_t address, size_t length, Access wanted) {
  for (size_t i = 0; i < length; ++i)
    if (!core_.inside(address + i, 1) || (allowed_[address + i - BareCore::kMemory] & wanted) == 0)
      found(std::string(what) + " that nobody granted, at " + std::to_string(address + i));
}

void FrameBench::wrote(uint64_t address, size_t length) {
  check("a write", address, length, kWrite);
}

void FrameBench::reads(uint64_t address, size_t length) { check("a read", address, length, kRead); }

void FrameBench::sent(const Frame& frame) {
  const uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
  if (frame.data.size() < kFrameHeaders ||
      exrnic_eth_src(frame.data.data()) != (kMac | BareCore::kNode) ||
      exrnic_efe_src_node(efe) != BareCore::kNode)
    found("a frame leaves that is none of this node's");
  if (exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_ACK)
    expected_ = static_cast<uint32_t>(exrnic_efe_ack(efe));
}

}  // namespace exrnic::fuzz
