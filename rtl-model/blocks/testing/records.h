// SPDX-License-Identifier: BSD-2-Clause
// Records of exrnic_core_pkg that more than one test needs, as plain structs. Each lists its fields
// once, in the order of the SystemVerilog declaration; pack() and unpack() take them to a port and
// back.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "rtl-model/blocks/testing/packed.h"

namespace exrnic::testing {

constexpr unsigned kQpnBits = log2_of(EXRNIC_MAX_QP);
constexpr unsigned kCqnBits = log2_of(EXRNIC_MAX_CQ);
constexpr unsigned kSrqnBits = log2_of(EXRNIC_MAX_SRQ);
constexpr unsigned kReadsBits = log2_of(EXRNIC_MAX_READS) + 1;
constexpr unsigned kDdpHeadBytes = 128 - EXRNIC_ETH_BYTES - EXRNIC_EFE_BYTES;
constexpr unsigned kPageBits = log2_of(EXRNIC_USER_PAGES);
constexpr unsigned kVectorBits = log2_of(EXRNIC_MSIX_VECTORS);
constexpr unsigned kSlotBits = log2_of(kTxSlots);
constexpr unsigned kWireQpnBits = 24;

// tx_kind_e
enum TxKind : uint8_t {
  kTxSegment,
  kTxLast,
  kTxTerminate,
  kTxResponse,
  kTxPort,
  kTxProbe,
  kTxFirmware,
  kTxIntroduction
};
// dma_write_kind_e
enum DmaWriteKind : uint8_t { kWriteNone, kWriteFrame, kWriteInline, kWriteMsix };
// qp_client_e
enum QpClient : uint8_t {
  kUserPage,
  kRequester,
  kResponder,
  kCompleter,
  kMailbox,
  kWindow,
  kQpClients
};
// srq_client_e
enum SrqClient : uint8_t { kSrqUserPage, kSrqResponder, kSrqMailbox, kSrqClients };

struct TxTag {
  uint8_t kind = kTxLast;
  uint16_t qpn = 0;
  uint16_t generation = 0;
  uint16_t wqe_index = 0;
  uint32_t byte_length = 0;
  bool is_signaled = false;
  uint8_t opcode = EXRNIC_WQE_OPCODE_PUSH;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(kind, 3), visit(qpn, kQpnBits), visit(generation, 16);
    visit(wqe_index, EXRNIC_WQE_INDEX_BITS), visit(byte_length, 32), visit(is_signaled, 1);
    visit(opcode, 8);
  }
};

struct TxDesc {
  uint8_t slot = 0;
  uint8_t node = 0;
  uint32_t dst_qpn = 0;
  uint32_t src_qpn = 0;
  uint16_t src_generation = 0;
  uint16_t dst_generation = 0;
  bool untagged = false;
  std::array<uint8_t, EXRNIC_DDP_UNTAGGED_BYTES> ddp{};  // as on the wire
  uint16_t length = 0;
  bool unsent = false;
  uint8_t status = EXRNIC_CQE_STATUS_SUCCESS;
  bool imm_valid = false;
  uint32_t imm = 0;
  bool ask = false;
  bool unreliable = false;
  bool first = false;
  uint32_t number = 0;
  bool datagram = false;
  unsigned dest = 0;
  uint32_t qkey = 0;
  uint16_t pkey = 0;
  bool inlined = false;
  std::array<uint8_t, EXRNIC_INLINE_MAX> inline_data{};
  TxTag tag;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(slot, kSlotBits), visit(node, kNodeBits), visit(dst_qpn, kWireQpnBits);
    visit(src_qpn, kWireQpnBits), visit(src_generation, 16), visit(dst_generation, 16);
    visit(untagged, 1), visit.wire(ddp);
    visit(length, kChunkBits);
    visit(unsent, 1), visit(status, 8), visit(imm_valid, 1), visit(imm, 32);
    visit(ask, 1), visit(unreliable, 1), visit(first, 1), visit(number, 32);
    visit(datagram, 1), visit(dest, kNodeBits), visit(qkey, 32), visit(pkey, 16);
    visit(inlined, 1), visit.memory(inline_data), tag.fields(visit);
  }
};

struct CreditUpdate {
  uint8_t node = 0;
  uint32_t dst_qpn = 0;
  uint32_t src_qpn = 0;
  uint16_t src_generation = 0;
  uint16_t dst_generation = 0;
  uint16_t limit = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(node, kNodeBits), visit(dst_qpn, kWireQpnBits), visit(src_qpn, kWireQpnBits);
    visit(src_generation, 16), visit(dst_generation, 16), visit(limit, 15);
  }
};

struct CreditTaken {
  uint16_t qpn = 0;
  uint8_t node = 0;
  uint32_t peer = 0;
  uint16_t src_generation = 0;
  uint16_t dst_generation = 0;
  uint16_t messages = 0;
  uint16_t consumer = 0;
  bool lapsed = false;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(qpn, kQpnBits), visit(node, kNodeBits), visit(peer, kWireQpnBits);
    visit(src_generation, 16), visit(dst_generation, 16), visit(messages, 15), visit(consumer, 15),
        visit(lapsed, 1);
  }
};

struct TxDone {
  TxTag tag;
  uint8_t node = 0;
  uint32_t seq = 0;
  uint8_t status = EXRNIC_CQE_STATUS_SUCCESS;

  template <typename Visit>
  void fields(Visit&& visit) {
    tag.fields(visit), visit(node, kNodeBits), visit(seq, 32), visit(status, 8);
  }
};

struct RxDesc {
  uint8_t node = 0;
  uint32_t seq = 0;
  uint32_t ack = 0;
  uint16_t session = 0;
  uint32_t dst_qpn = 0;
  uint32_t src_qpn = 0;
  uint16_t src_generation = 0;
  uint16_t dst_generation = 0;
  uint16_t length = 0;
  bool imm_valid = false;
  uint32_t imm = 0;
  bool rnr = false;
  bool ask = false;
  bool unreliable = false;
  bool first = false;
  bool datagram = false;
  uint16_t pkey = 0;
  bool more = false;
  bool stale = false;
  std::array<uint8_t, kDdpHeadBytes> ddp{};  // as on the wire
  uint32_t start = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(node, kNodeBits), visit(seq, 32), visit(ack, 32), visit(session, 16);
    visit(dst_qpn, kWireQpnBits);
    visit(src_qpn, kWireQpnBits), visit(src_generation, 16), visit(dst_generation, 16);
    visit(length, 16), visit(imm_valid, 1), visit(imm, 32);
    visit(rnr, 1), visit(ask, 1), visit(unreliable, 1), visit(first, 1);
    visit(datagram, 1), visit(pkey, 16), visit(more, 1), visit(stale, 1), visit.wire(ddp);
    visit(start, kRxAddressBits);
  }
};

struct Refusal {
  uint8_t node = 0;
  uint32_t seq = 0;
  uint32_t dst_qpn = 0;
  uint32_t src_qpn = 0;
  uint16_t src_generation = 0;
  uint16_t dst_generation = 0;
  uint16_t code = 0;
  bool rnr = false;
  uint8_t pause = 0;
  uint16_t length = 0;
  std::array<uint8_t, EXRNIC_DDP_UNTAGGED_BYTES + EXRNIC_READ_REQUEST_BYTES>
      quote{};  // as on the wire

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(node, kNodeBits), visit(seq, 32), visit(dst_qpn, kWireQpnBits);
    visit(src_qpn, kWireQpnBits), visit(src_generation, 16), visit(dst_generation, 16);
    visit(code, 16), visit(rnr, 1), visit(pause, 5), visit(length, 16), visit.wire(quote);
  }
};

struct QpConfig {
  bool valid = false;
  uint8_t page = 0;
  uint16_t pd = 0;
  uint16_t send_cqn = 0;
  uint16_t recv_cqn = 0;
  uint8_t sq_log = 0;
  uint8_t rq_log = 0;
  uint64_t sq_pbl = 0;
  uint64_t rq_pbl = 0;
  bool has_srq = false;
  uint16_t srqn = 0;
  uint8_t max_reads_out = 0;
  uint8_t max_reads_in = 0;
  uint16_t generation = 0;
  uint8_t dest_node = 0;
  uint32_t dest_qpn = 0;
  uint8_t rnr_timer = 0;
  uint8_t rnr_retry = 0;
  uint8_t service = EXRNIC_SERVICE_RC;
  uint32_t qkey = 0;
  uint16_t pkey = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(valid, 1), visit(page, kPageBits), visit(pd, kPdBits), visit(send_cqn, kCqnBits);
    visit(recv_cqn, kCqnBits), visit(sq_log, 4), visit(rq_log, 4), visit(sq_pbl, 64);
    visit(rq_pbl, 64), visit(has_srq, 1), visit(srqn, kSrqnBits);
    visit(max_reads_out, kReadsBits), visit(max_reads_in, kReadsBits);
    visit(generation, 16), visit(dest_node, kNodeBits);
    visit(dest_qpn, kWireQpnBits), visit(rnr_timer, 5), visit(rnr_retry, 3);
    visit(service, 2), visit(qkey, 32), visit(pkey, 16);
  }
};

struct QpStatus {
  uint8_t state = EXRNIC_QP_STATE_RESET;
  bool fault = false;
  uint8_t fault_status = 0;
  uint16_t fault_detail = 0;
  bool exact = false;
  uint32_t fault_seq = 0;
  bool rnr = false;
  bool told = false;
  bool answer_lost = false;
  bool alone = false;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(state, 3), visit(fault, 1), visit(fault_status, 8), visit(fault_detail, 16);
    visit(exact, 1), visit(fault_seq, 32), visit(rnr, 1), visit(told, 1);
    visit(answer_lost, 1), visit(alone, 1);
  }
};

struct QpPeer {
  uint16_t generation = 0;
  bool met = false;
  uint8_t changes = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(generation, 16), visit(met, 1), visit(changes, 4);
  }
};

struct QpSq {
  bool halted = false;
  uint16_t consumer = 0;
  uint32_t progress = 0;
  uint32_t send_msn = 0;
  uint32_t read_msn = 0;
  uint32_t atomic_msn = 0;
  uint16_t issued = 0;
  bool probe_due = false;
  bool probe_out = false;
  uint32_t rnr_msn = 0;
  uint8_t rnr_count = 0;
  uint32_t frames = 0;
  bool credit_wait = false;
  bool introduced = false;
  uint8_t answered = 0;
  bool asked = false;
  bool needs_peer = false;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(halted, 1), visit(consumer, EXRNIC_WQE_INDEX_BITS), visit(progress, 32);
    visit(send_msn, 32), visit(read_msn, 32), visit(atomic_msn, 32);
    visit(issued, 16), visit(probe_due, 1), visit(probe_out, 1), visit(rnr_msn, 32);
    visit(rnr_count, 3), visit(frames, 32), visit(credit_wait, 1);
    visit(introduced, 1), visit(answered, 4), visit(asked, 1), visit(needs_peer, 1);
  }
};

struct QpEnded {
  uint16_t count = 0;
  uint16_t slots = 0;
  uint32_t msn = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(count, 16), visit(slots, EXRNIC_WQE_INDEX_BITS), visit(msn, 32);
  }
};

struct Qp {
  QpConfig cfg;
  QpStatus status;
  QpPeer peer;
  QpSq sq;
  uint16_t sq_producer = 0;
  uint16_t rq_producer = 0;
  uint16_t rq_consumer = 0;
  QpEnded ended;

  template <typename Visit>
  void fields(Visit&& visit) {
    cfg.fields(visit), status.fields(visit), peer.fields(visit), sq.fields(visit);
    visit(sq_producer, EXRNIC_WQE_INDEX_BITS), visit(rq_producer, EXRNIC_WQE_INDEX_BITS);
    visit(rq_consumer, EXRNIC_WQE_INDEX_BITS), ended.fields(visit);
  }
};

struct Pull {
  uint32_t stag = 0;
  uint64_t to = 0;
  uint32_t left = 0;
  bool last = false;
  bool is_signaled = false;
  uint16_t wqe_index = 0;
  uint32_t byte_length = 0;
  uint8_t opcode = EXRNIC_WQE_OPCODE_PULL;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(stag, 32), visit(to, 64), visit(left, 32), visit(last, 1), visit(is_signaled, 1);
    visit(wqe_index, EXRNIC_WQE_INDEX_BITS), visit(byte_length, 32), visit(opcode, 8);
  }
};

enum Answer : uint8_t { kAnswerRead, kAnswerAtomic, kAnswerRefused };

struct Read {
  std::array<uint8_t, EXRNIC_READ_REQUEST_BYTES> request{};  // as on the wire
  uint32_t msn = 0;
  uint32_t done = 0;
  uint8_t answer = kAnswerRead;
  bool atomic = false;
  bool firmware = false;
  uint16_t code = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit.wire(request), visit(msn, 32), visit(done, 32), visit(answer, 2), visit(atomic, 1);
    visit(firmware, 1), visit(code, 16);
  }
};

struct RxDone {
  uint16_t qpn = 0;
  uint16_t generation = 0;
  uint16_t wqe_index = 0;
  uint32_t byte_length = 0;
  bool is_signaled = false;
  uint8_t opcode = 0;
  uint8_t status = EXRNIC_CQE_STATUS_SUCCESS;
  uint8_t flags = 0;
  uint32_t imm_data = 0;
  uint32_t sender = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(qpn, kQpnBits), visit(generation, 16), visit(wqe_index, EXRNIC_WQE_INDEX_BITS);
    visit(byte_length, 32), visit(is_signaled, 1), visit(opcode, 8), visit(status, 8);
    visit(flags, 8), visit(imm_data, 32), visit(sender, 32);
  }
};

struct SrqConfig {
  bool valid = false;
  uint8_t page = 0;
  uint16_t pd = 0;
  uint8_t log_slots = 0;
  uint64_t pbl = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(valid, 1), visit(page, kPageBits), visit(pd, kPdBits), visit(log_slots, 4);
    visit(pbl, 64);
  }
};

struct Srq {
  SrqConfig cfg;
  uint16_t limit = 0;
  uint16_t producer = 0;
  uint16_t consumer = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    cfg.fields(visit), visit(limit, 16), visit(producer, EXRNIC_WQE_INDEX_BITS);
    visit(consumer, EXRNIC_WQE_INDEX_BITS);
  }
};

struct ReceiveRing {
  bool shared = false;
  uint16_t number = 0;
  uint64_t pbl = 0;
  uint8_t log_slots = 0;
  uint16_t consumer = 0;
  uint16_t producer = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(shared, 1), visit(number, kQpnBits), visit(pbl, 64), visit(log_slots, 4);
    visit(consumer, EXRNIC_WQE_INDEX_BITS), visit(producer, EXRNIC_WQE_INDEX_BITS);
  }
};

struct CqConfig {
  bool valid = false;
  uint8_t page = 0;
  uint8_t log_entries = 0;
  uint8_t msix_vector = 0;
  uint16_t moderation_count = 0;
  uint32_t moderation_ns = 0;
  uint64_t pbl = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(valid, 1), visit(page, kPageBits), visit(log_entries, 5);
    visit(msix_vector, kVectorBits), visit(moderation_count, 16), visit(moderation_ns, 24);
    visit(pbl, 64);
  }
};

struct CqDoorbell {
  uint32_t cqn = 0;
  uint32_t consumer = 0;
  bool arm = false;
  bool solicited = false;
  uint8_t page = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(cqn, 32), visit(consumer, 32), visit(arm, 1), visit(solicited, 1);
    visit(page, kPageBits);
  }
};

struct XlateRequest {
  bool invalidate = false;
  bool ring = false;
  uint64_t pbl_address = 0;
  uint32_t stag = 0;
  uint16_t pd = 0;
  uint8_t access = 0;
  uint64_t to = 0;
  uint32_t length = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(invalidate, 1), visit(ring, 1), visit(pbl_address, 64), visit(stag, 32);
    visit(pd, kPdBits);
    visit(access, 8), visit(to, 64), visit(length, 32);
  }
};

struct XlateResponse {
  uint8_t status = kXlateOk;
  uint64_t address = 0;
  uint32_t length = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(status, 3), visit(address, 64), visit(length, 32);
  }
};

struct DmaRead {
  uint64_t address = 0;
  uint16_t length = 0;
  uint32_t dst = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(address, 64), visit(length, kChunkBits), visit(dst, kTxAddressBits);
  }
};

struct DmaWrite {
  uint8_t kind = kWriteNone;
  uint64_t address = 0;
  uint16_t length = 0;
  uint32_t src = 0;
  std::array<uint8_t, 32> data{};
  bool frame_done = false;
  uint8_t node = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(kind, 2), visit(address, 64), visit(length, kChunkBits), visit(src, kRxAddressBits);
    visit.memory(data), visit(frame_done, 1), visit(node, kNodeBits);
  }
};

struct WindowItem {
  bool load = false;
  uint8_t window = 0;
  uint16_t qpn = 0;
  uint16_t generation = 0;
  uint32_t stag = 0;
  uint64_t to = 0;
  uint8_t length = 0;
  std::array<uint8_t, EXRNIC_INLINE_MAX> data{};
  uint64_t token = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(load, 1), visit(window, log2_of(EXRNIC_MAX_WINDOWS)), visit(qpn, kQpnBits);
    visit(generation, 16), visit(stag, 32), visit(to, 64);
    visit(length, log2_of(EXRNIC_COMBINE_MAX) + 1), visit.memory(data), visit(token, 64);
  }
};

struct PortMessage {
  uint8_t port = 0;
  uint8_t node = 0;
  uint8_t peer = 0;
  uint8_t to = 0;
  uint32_t data = 0;

  bool operator==(const PortMessage& other) const {
    return port == other.port && node == other.node && peer == other.peer && to == other.to &&
           data == other.data;
  }
  template <typename Visit>
  void fields(Visit&& visit) {
    visit(port, log2_of(EXRNIC_PORTS)), visit(node, kNodeBits);
    visit(peer, log2_of(EXRNIC_PORTS)), visit(to, 8), visit(data, 32);
  }
};

// ---- Between records and ports

struct WidthCounter {
  unsigned bits = 0;
  template <typename Field>
  void operator()(Field&, unsigned width) {
    bits += width;
  }
  template <std::size_t N>
  void wire(std::array<uint8_t, N>&) {
    bits += 8 * N;
  }
  template <std::size_t N>
  void memory(std::array<uint8_t, N>&) {
    bits += 8 * N;
  }
};

template <typename Record>
unsigned width_of() {
  Record record;
  WidthCounter counter;
  record.fields(counter);
  return counter.bits;
}

template <typename Port>
struct PackVisitor {
  Packer<Port>& packer;
  template <typename Field>
  void operator()(Field& value, unsigned width) {
    packer.field(value, width);
  }
  template <std::size_t N>
  void wire(std::array<uint8_t, N>& bytes) {
    for (const uint8_t byte : bytes) packer.field(byte, 8);
  }
  template <std::size_t N>
  void memory(std::array<uint8_t, N>& bytes) {
    packer.bytes({bytes.begin(), bytes.end()}, 8 * N);
  }
};

template <typename Port>
struct UnpackVisitor {
  Unpacker<Port>& unpacker;
  template <typename Field>
  void operator()(Field& value, unsigned width) {
    value = static_cast<Field>(unpacker.field(width));
  }
  template <std::size_t N>
  void wire(std::array<uint8_t, N>& bytes) {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(unpacker.field(8));
  }
  template <std::size_t N>
  void memory(std::array<uint8_t, N>& bytes) {
    const std::vector<uint8_t> value = unpacker.bytes(8 * N);
    std::copy(value.begin(), value.end(), bytes.begin());
  }
};

template <typename Port, typename Record>
void pack(Port& port, Record record) {
  Packer<Port> packer(port, width_of<Record>());
  PackVisitor<Port> visitor{packer};
  record.fields(visitor);
}

template <typename Record, typename Port>
Record unpack(const Port& port) {
  Record record;
  Unpacker<Port> unpacker(port, width_of<Record>());
  UnpackVisitor<Port> visitor{unpacker};
  record.fields(visitor);
  return record;
}

}  // namespace exrnic::testing
