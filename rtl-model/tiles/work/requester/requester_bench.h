// SPDX-License-Identifier: BSD-2-Clause
// The requester with its neighbours: queue pairs with their reads, translation, host memory with a
// ring, slots, and the places where payload reads, submitted slots and wake-ups go.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "Vrequester.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/neighbours.h"

namespace exrnic::testing {

constexpr unsigned kMtus = (EXRNIC_MTU_MAX - EXRNIC_MTU_MIN) / EXRNIC_MTU_STEP + 1;
constexpr int kLimit = 20000;  // cycles for anything here
constexpr uint8_t kOwnNode = 0x2a;
constexpr uint64_t kRingFrames = 0x7000000000;

struct SlotsXlatePorts {
  static auto& ready(Vrequester& dut) { return dut.slots_xlate_ready_i; }
  static auto& valid(Vrequester& dut) { return dut.slots_xlate_valid_o; }
  static auto& req(Vrequester& dut) { return dut.slots_xlate_req_o; }
  static auto& rsp_valid(Vrequester& dut) { return dut.slots_xlate_rsp_valid_i; }
  static auto& rsp(Vrequester& dut) { return dut.slots_xlate_rsp_i; }
};

class Requester : public Bench<Vrequester> {
 public:
  explicit Requester(uint32_t seed = 1)
      : events(dut()),
        xlate(dut(), seed),
        slots_xlate(dut(), seed + 1),
        qp_reader_(dut(), qps),
        random_(seed) {
    xlate.answer = [this](const XlateReq& request) { return region(request); };
    slots_xlate.answer = translate_ring;
    dut().queues_wish_valid_i = dut().queues_clear_ring_i = 0;
    dut().writes_waiting_i = dut().writes_ends_i = 0;
    dut().settings_mtu_i = EXRNIC_MTU_DEFAULT;
    dut().settings_node_i = kOwnNode;
    dut().settings_pkeys_i = {};
    dut().quiesce_i = dut().turns_valid_i = dut().wqe_read_beat_valid_i =
        dut().queues_others_wait_i = 0;
    dut().queues_block_held_i = 0;
    dut().queues_punt_count_i = 0;
    dut().xlate_let_go_i = dut().slots_xlate_let_go_i = 0;
    dut().settings_pull_by_firmware_i = dut().settings_erratum_i = 0;
    dut().queues_paused_i = dut().queues_credit_known_i = dut().lost_i = 0;
    reset();
  }

  void set_pkey(unsigned index, uint16_t pkey) {
    set_element(dut().settings_pkeys_i, index, 16, pkey);
  }

  std::map<unsigned, Qp> qps;
  std::map<uint64_t, exrnic_wqe> ring;  // by byte offset in the ring
  std::set<uint64_t> bad_slots;         // likewise: the host refuses to read them
  std::map<unsigned, std::deque<Pull>> pulls;
  std::map<unsigned, std::deque<Read>> reads;
  struct Held {
    uint16_t index = 0;
    exrnic_wqe wqe{};
  };
  std::map<unsigned, Held> held;  // copies that came through the user page
  bool slots_left = true;
  bool quota_start = true;    // the peer will get slots,
  unsigned quota_slots = 16;  // so many
  bool quota_room = true;
  bool host_answers = true;  // slots of the ring that are asked for come

  std::vector<DmaReadReq> wqe_reads;
  std::vector<DmaReadReq> payload_reads;
  std::vector<TxDesc> submitted;
  std::vector<unsigned> wakes;
  std::vector<unsigned> flushes;                      // queue pairs handed to the responder
  std::vector<QpStatus> statuses;                     // as written
  std::function<void()> others_status_write = [] {};  // done while status_ready_i is low
  int qp_errors = 0;
  unsigned stalls = 0;       // of which the end is awaited outside
  bool has_windows = false;  // the queue pair in hand
  bool asks = false;         // nothing was heard of the PULLs of the queue pair in hand
  unsigned asked = 0;
  unsigned sends = 0;
  bool withdraw_ready = true;
  unsigned withdrawn = 0;
  Events<Vrequester> events;
  XlateModel<Vrequester> xlate;
  XlateModel<Vrequester, SlotsXlatePorts> slots_xlate;
  bool forgets = true;  // before each turn what is on chip of its ring
  std::function<XlateRsp(const XlateReq&)> region = translate_in_place;

  void cycle() override {
    qp_reader_.drive();
    if (other_writes_) others_status_write();  // a read in the same cycle has missed it
    drive_reads();
    xlate.drive();
    slots_xlate.drive();
    drive_beat();
    dut().wqe_read_ready_i = random_() % 2;
    dut().payload_read_ready_i = random_() % 2;
    dut().transmit_ready_i = random_() % 2;
    dut().wake_ready_i = random_() % 2;
    dut().flush_ready_i = random_() % 2;
    dut().queues_status_ready_i = random_() % 2;
    other_writes_ = !dut().queues_status_ready_i;
    dut().transmit_alloc_valid_i = slots_left && random_() % 2;
    dut().transmit_alloc_slot_i = next_slot_;
    dut().transmit_start_i = quota_start && dut().transmit_slots_o <= quota_slots;
    dut().transmit_room_i = quota_room;
    dut().queues_asks_i = asks;
    dut().transmit_withdraw_ready_i = withdraw_ready && random_() % 2;
    dut().has_windows_i = has_windows;
    settle();
    sample();
    tick();
    settle();
  }

  void forget(unsigned qpn) {
    dut().queues_clear_ring_i = 1;
    dut().queues_clear_qpn_i = qpn;
    cycle();
    dut().queues_clear_ring_i = 0;
  }
  // Another queue pair's turn comes soon.
  void wish(const SlotRing& ring) {
    pack(dut().queues_wish_i, ring);
    dut().queues_wish_valid_i = 1;
    wait_for("queues_wish_ready_o", kLimit, [&] { return dut().queues_wish_ready_o != 0; });
    cycle();
    dut().queues_wish_valid_i = 0;
  }
  void begin_turn(unsigned qpn) {
    if (forgets && dut().quiescent_o) forget(qpn);
    dut().turns_data_i = qpn;
    dut().turns_valid_i = 1;
    wait_for("turns_ready_o", kLimit, [&] { return dut().turns_ready_o != 0; });
    cycle();
    dut().turns_valid_i = 0;
  }
  void rest() {
    wait_for("idle_o", kLimit, [&] { return dut().idle_o != 0; });
  }
  void turn(unsigned qpn) {
    begin_turn(qpn);
    rest();
  }
  bool reads_ring() const { return !beats_.empty(); }  // slots of it are still to come

 private:
  static XlateRsp translate_ring(const XlateReq& request) {
    XlateRsp response = translate_in_place(request);
    response.address += kRingFrames - kPageFrames;
    return response;
  }

  void drive_reads() {
    if (!asked_) return;
    dut().queues_pull_count_i = pulls[asked_qpn_].size();
    dut().queues_read_count_i = reads[asked_qpn_].size();
    pack(dut().queues_read_head_i, reads[asked_qpn_].empty() ? Read{} : reads[asked_qpn_].front());
    const auto copy = held.find(asked_qpn_);
    dut().queues_block_held_i = copy != held.end();
    if (copy != held.end()) {
      dut().queues_block_index_i = copy->second.index;
      static_assert(sizeof dut().queues_block_i == sizeof copy->second.wqe);
      std::memcpy(&dut().queues_block_i, &copy->second.wqe, sizeof copy->second.wqe);
    }
    asked_ = false;
  }

  void drive_beat() {
    dut().wqe_read_beat_valid_i = 0;
    if (!host_answers || beats_.empty() || random_() % 2) return;
    DmaReadBeat beat;
    const auto [offset, dst] = beats_.front();
    const uint64_t slot = offset / sizeof(exrnic_wqe) * sizeof(exrnic_wqe);
    const auto& wqe = ring[slot];
    std::memcpy(beat.data.data(),
                reinterpret_cast<const uint8_t*>(&wqe) + offset % sizeof(exrnic_wqe), kDataBytes);
    beat.dst = static_cast<uint32_t>(dst);
    beat.bytes = kDataBytes;
    beat.error = bad_slots.count(slot) != 0;
    pack(dut().wqe_read_beat_i, beat);
    dut().wqe_read_beat_valid_i = 1;
    beats_.pop_front();
  }

  void answer_read(const DmaReadReq& read) {
    for (uint32_t at = 0; at < read.length; at += kDataBytes)
      beats_.push_back({read.address - kRingFrames + at, read.dst + at});
    std::shuffle(beats_.begin(), beats_.end(), random_);  // reads complete in any order
  }

  void sample() {
    qp_reader_.sample();
    xlate.sample();
    slots_xlate.sample();
    events.sample();
    if (dut().wqe_read_valid_o && dut().wqe_read_ready_i) {
      wqe_reads.push_back(unpack<DmaReadReq>(dut().wqe_read_req_o));
      answer_read(wqe_reads.back());
    }
    if (dut().payload_read_valid_o && dut().payload_read_ready_i)
      payload_reads.push_back(unpack<DmaReadReq>(dut().payload_read_req_o));
    if (dut().transmit_alloc_valid_i && dut().transmit_alloc_ready_o)
      next_slot_ = (next_slot_ + 1) % kTxSlots;
    if (dut().transmit_valid_o && dut().transmit_ready_i)
      submitted.push_back(unpack<TxDesc>(dut().transmit_desc_o));
    if (dut().wake_valid_o && dut().wake_ready_i) wakes.push_back(dut().wake_data_o);
    if (dut().flush_valid_o && dut().flush_ready_i) flushes.push_back(dut().qp_index_o);
    sample_table();
    if (dut().queues_block_take_o) held.erase(dut().qp_index_o);
    if (!dut().qp_read_o) return;
    asked_ = true;
    asked_qpn_ = dut().qp_index_o;
  }

  void sample_table() {
    const unsigned qpn = dut().qp_index_o;
    if (dut().queues_sq_we_o) qps[qpn].sq = unpack<QpSq>(dut().queues_sq_o);
    if (dut().queues_status_valid_o && dut().queues_status_ready_i) {
      statuses.push_back(unpack<QpStatus>(dut().queues_status_o));
      qps[qpn].status = statuses.back();
    }
    qp_errors += dut().qp_error_o;
    stalls += dut().queues_stall_o;
    sends += dut().queues_sends_o;
    withdrawn += dut().transmit_withdraw_valid_o && dut().transmit_withdraw_ready_i;
    asked += dut().queues_asked_o;
    asks = asks && !dut().queues_asked_o && !dut().queues_waits_for_peer_o;
    if (dut().queues_pull_push_o) pulls[qpn].push_back(unpack<Pull>(dut().queues_pull_new_o));
    if (dut().queues_read_set_o) reads.at(qpn).front() = unpack<Read>(dut().queues_read_rest_o);
    if (dut().queues_read_pop_o) {
      REQUIRE_FALSE(reads[qpn].empty());
      reads[qpn].pop_front();
    }
  }

  struct Beat {
    uint64_t offset;
    uint32_t dst;
  };
  QpReader<Vrequester> qp_reader_;
  std::mt19937 random_;
  std::deque<Beat> beats_;
  uint8_t next_slot_ = 0;
  bool asked_ = false;
  bool other_writes_ = false;
  unsigned asked_qpn_ = 0;
};

// ---- A queue pair and its work

constexpr unsigned kQpn = 0x2a5;
constexpr uint16_t kPeerGeneration = 0x3c3d;
constexpr uint8_t kLog = 8;  // four pages of the ring
constexpr uint32_t kStag0 = 0x11111100;
constexpr uint32_t kStag1 = 0x22222200;
constexpr uint16_t kPd = 0xabc;
constexpr uint32_t kMtu = EXRNIC_MTU_DEFAULT;

inline Qp sending_qp(uint16_t consumer, uint16_t posted) {
  Qp qp;
  qp.cfg.valid = true;
  qp.cfg.pd = kPd;
  qp.cfg.sq_log = kLog;
  qp.cfg.rq_log = kLog;
  qp.cfg.sq_pbl = 0x4000;
  qp.cfg.generation = 0x5c;
  qp.cfg.dest_node = 0x17;
  qp.cfg.dest_qpn = 0x345678;
  qp.peer = {kPeerGeneration, true, 0};
  qp.sq.introduced = true;
  qp.status.state = EXRNIC_QP_STATE_RTS;
  qp.cfg.max_reads_out = EXRNIC_MAX_READS;
  qp.cfg.path_mtu = EXRNIC_MTU_MAX;
  qp.sq.consumer = consumer;
  qp.sq_producer = static_cast<uint16_t>(consumer + posted);
  return qp;
}

inline exrnic_wqe push(uint32_t length) {
  exrnic_wqe wqe{};
  wqe.opcode = EXRNIC_WQE_OPCODE_PUSH;
  wqe.flags = EXRNIC_WQE_FLAGS_SIGNALED;
  wqe.num_sge = 1;
  wqe.num_slots = 1;
  wqe.remote_to = 0x0102030405060708;
  wqe.remote_stag = 0xa1b2c3d4;
  wqe.length = length;
  wqe.sge0_address = 0x10000;
  wqe.sge0_length = length;
  wqe.sge0_stag = kStag0;
  return wqe;
}
inline exrnic_wqe work(uint8_t opcode, uint32_t length = 0) {
  exrnic_wqe wqe = push(length);
  wqe.opcode = opcode;
  return wqe;
}
inline exrnic_wqe gather(uint32_t first, uint32_t second) {
  exrnic_wqe wqe = push(first + second);
  wqe.num_sge = 2;
  wqe.sge0_length = first;
  wqe.sge1_address = 0x20000;
  wqe.sge1_length = second;
  wqe.sge1_stag = kStag1;
  return wqe;
}

// One work request, in the first slot of the ring, from turn to rest.
inline void execute(Requester& requester, const exrnic_wqe& wqe) {
  requester.qps[kQpn] = sending_qp(0, 1);
  requester.ring[0] = wqe;
  requester.turn(kQpn);
}

// Every slot of the ring holds a push that names it.
inline void fill_ring(Requester& requester) {
  for (uint32_t slot = 0; slot < 1u << kLog; ++slot) {
    requester.ring[slot * sizeof(exrnic_wqe)] = push(16);
    requester.ring[slot * sizeof(exrnic_wqe)].remote_stag = slot;
  }
}

// A work request with its elements, in as many slots as they need, from a slot of the ring on.
inline unsigned put(Requester& requester, uint32_t slot, exrnic_wqe wqe,
                    const std::vector<exrnic_sge>& elements) {
  wqe.num_sge = static_cast<uint8_t>(elements.size());
  wqe.num_slots = elements.size() <= 2 ? 1 : static_cast<uint8_t>(1 + (elements.size() + 1) / 4);
  wqe.length = 0;
  for (const exrnic_sge& element : elements) wqe.length += element.length;
  std::vector<exrnic_wqe> slots(wqe.num_slots);
  slots[0] = wqe;
  auto* bytes = reinterpret_cast<uint8_t*>(slots.data());
  std::memcpy(bytes + 32, elements.data(), elements.size() * sizeof(exrnic_sge));
  for (unsigned i = 0; i < slots.size(); ++i)
    requester.ring[(slot + i) % (1u << kLog) * sizeof(exrnic_wqe)] = slots[i];
  return wqe.num_slots;
}
// Inline data: bytes 1, 2, 3...
inline unsigned put_inline(Requester& requester, uint32_t slot, exrnic_wqe wqe, uint32_t length) {
  wqe.flags |= EXRNIC_WQE_FLAGS_INLINE;
  wqe.num_sge = 0;
  wqe.length = length;
  wqe.num_slots = length <= 32 ? 1 : 2;
  exrnic_wqe slots[2] = {wqe, {}};
  auto* bytes = reinterpret_cast<uint8_t*>(slots) + 32;
  for (uint32_t i = 0; i < length; ++i) bytes[i] = static_cast<uint8_t>(i + 1);
  for (unsigned i = 0; i < wqe.num_slots; ++i)
    requester.ring[(slot + i) % (1u << kLog) * sizeof(exrnic_wqe)] = slots[i];
  return wqe.num_slots;
}

inline uint32_t remote_stag(const TxDesc& desc) { return desc.ddp[4] << 8 | desc.ddp[5]; }

// Where each byte of the message comes from, as the reads put it into slots.
inline std::vector<uint64_t> gathered(const Requester& requester) {
  std::vector<uint64_t> sources;
  std::size_t read = 0;
  for (const TxDesc& desc : requester.submitted) {
    for (uint32_t filled = 0; filled < desc.length;) {
      const DmaReadReq& chunk = requester.payload_reads.at(read++);
      REQUIRE(chunk.length > 0);
      REQUIRE(chunk.dst == desc.slot * EXRNIC_MTU_MAX + filled);
      for (unsigned i = 0; i < chunk.length; ++i) sources.push_back(chunk.address + i);
      filled += chunk.length;
      REQUIRE(filled <= desc.length);
    }
  }
  REQUIRE(read == requester.payload_reads.size());
  return sources;
}
inline std::vector<uint64_t> sources_of(const std::vector<exrnic_sge>& elements) {
  std::vector<uint64_t> sources;
  for (const exrnic_sge& element : elements)
    for (uint32_t i = 0; i < element.length; ++i)
      sources.push_back(kPageFrames + element.address + i);
  return sources;
}
inline std::vector<uint64_t> expected_sources(const exrnic_wqe& wqe) {
  std::vector<uint64_t> sources;
  for (uint32_t i = 0; i < wqe.sge0_length && i < wqe.length; ++i)
    sources.push_back(kPageFrames + wqe.sge0_address + i);
  for (uint32_t i = 0; sources.size() < wqe.length; ++i)
    sources.push_back(kPageFrames + wqe.sge1_address + i);
  return sources;
}

}  // namespace exrnic::testing
