// SPDX-License-Identifier: BSD-2-Clause
// The responder with its neighbours: queue pairs, translation, slots, the hold of a node, and the
// places where writes, terminate messages, status changes and wake-ups go.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <string>
#include <vector>

#include "Vresponder.h"
#include "rtl-model/blocks/testing/bench.h"
#include "rtl-model/blocks/testing/neighbours.h"

namespace exrnic::testing {

constexpr int kLimit = 500;  // cycles for anything here

class Responder : public Bench<Vresponder> {
 public:
  explicit Responder(uint32_t seed = 1)
      : events(dut()), xlate(dut(), seed), qp_reader_(dut(), qps), random_(seed) {
    dut().quiesce_i = dut().desc_valid_i = dut().hold_active_i = 0;
    dut().hold_first_i = 0;
    dut().write_idle_i = 1;
    reset();
  }

  std::map<unsigned, Qp> qps;
  bool slots_left = true;
  std::vector<DmaWrite> writes;
  std::vector<TxDesc> terminates;
  std::vector<unsigned> wakes;
  std::string order;  // of what left: w(rite), h(old), t(erminate), s(tatus), d(one with the frame)
  uint8_t hold_node = 0;
  uint32_t hold_seq = 0;
  int qp_errors = 0;
  Events<Vresponder> events;
  XlateModel<Vresponder> xlate;

  void cycle() override {
    qp_reader_.drive();
    xlate.drive();
    dut().status_ready_i = random_() % 2;
    dut().wake_ready_i = random_() % 2;
    dut().write_ready_i = random_() % 2;
    dut().submit_ready_i = random_() % 2;
    dut().alloc_valid_i = slots_left && random_() % 2;
    dut().alloc_slot_i = kSlot;
    settle();
    sample();
    tick();
    settle();
  }

  void begin(const RxDesc& desc) {
    pack(dut().desc_i, desc);
    dut().desc_valid_i = 1;
    wait_for("desc_ready_o", kLimit, [&] { return dut().desc_ready_o != 0; });
    cycle();
    dut().desc_valid_i = 0;
  }
  void rest() {
    wait_for("idle_o", kLimit, [&] { return dut().idle_o != 0; });
  }
  void receive(const RxDesc& desc) {
    begin(desc);
    rest();
  }
  void run(int cycles) {
    for (int i = 0; i < cycles; ++i) cycle();
  }

  static constexpr uint8_t kSlot = 0x2d;

 private:
  void sample() {
    qp_reader_.sample();
    xlate.sample();
    events.sample();
    if (dut().hold_set_o) {
      order += 'h';
      hold_node = dut().hold_node_o;
      hold_seq = dut().hold_seq_o;
    }
    if (dut().submit_valid_o && dut().submit_ready_i) {
      order += 't';
      terminates.push_back(unpack<TxDesc>(dut().submit_o));
    }
    if (dut().status_valid_o && dut().status_ready_i) {
      order += 's';
      qps[dut().status_qpn_o].status = unpack<QpStatus>(dut().status_o);
    }
    if (dut().wake_valid_o && dut().wake_ready_i) wakes.push_back(dut().wake_qpn_o);
    if (dut().write_valid_o && dut().write_ready_i) {
      const auto write = unpack<DmaWrite>(dut().write_o);
      if (write.kind != kWriteNone) order += 'w';
      if (write.frame_done) order += 'd';
      writes.push_back(write);
    }
    qp_errors += dut().qp_error_o;
  }

  QpReader<Vresponder> qp_reader_;
  std::mt19937 random_;
};

// ---- A queue pair and what its peer sends

constexpr unsigned kQpn = 0x155;
constexpr uint32_t kPeerQpn = 0xabcdef;
constexpr uint8_t kPeer = 0x33;
constexpr uint16_t kPd = 0x0dad;
constexpr uint32_t kSeq = 0xfffffffe;
constexpr uint32_t kAck = 0x00000042;

inline Qp receiving_qp() {
  Qp qp;
  qp.cfg.valid = true;
  qp.cfg.pd = kPd;
  qp.cfg.dest_node = kPeer;
  qp.cfg.dest_qpn = kPeerQpn;
  qp.status.state = EXRNIC_QP_STATE_RTS;
  return qp;
}

// RFC 5041, 4.2: T, L, DV 1; RV 1, RDMA Write; STag 0xa1b2c3d4; TO 0x10000.
inline RxDesc write_segment(uint16_t payload) {
  RxDesc desc;
  desc.node = kPeer;
  desc.seq = kSeq;
  desc.ack = kAck;
  desc.dst_qpn = kQpn;
  desc.src_qpn = kPeerQpn;
  desc.length = static_cast<uint16_t>(14 + payload);
  desc.ddp = {0xc1, 0x40, 0xa1, 0xb2, 0xc3, 0xd4, 0, 0, 0, 0, 0, 1, 0, 0, 0xee, 0xee};
  desc.start = 0x1230;
  return desc;
}
// RFC 5041, 4.3: L, DV 1; RV 1, Terminate; 0; QN 2; MSN 1; MO 0; first bytes of the control.
inline RxDesc terminate_segment(uint16_t code) {
  RxDesc desc = write_segment(0);
  desc.length = 18 + 20;
  desc.ddp = {0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0};
  desc.ddp[18] = static_cast<uint8_t>(code >> 8);
  desc.ddp[19] = static_cast<uint8_t>(code);
  return desc;
}

inline XlateResponse refuse(XlateStatus status) {
  return {static_cast<uint8_t>(status), 0xdead, 0xbeef};
}

}  // namespace exrnic::testing
