// SPDX-License-Identifier: BSD-2-Clause
// The responder on segments that are for the core itself: messages for ports, answers to loads of
// windows, messages for firmware; and on requests that firmware serves.
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/work/responder/responder_bench.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kPort = 5, kPeerPort = 11, kPortLife = 0xe7;
constexpr int kTagged = 14, kUntagged = 18;  // bytes of header

// Its payload is 1, 2, 3 and so on.
RxDesc with_payload(RxDesc desc, int header, int bytes) {
  for (int i = 0; i < bytes; ++i) desc.ddp.at(header + i) = static_cast<uint8_t>(i + 1);
  return desc;
}
RxDesc port_segment() {
  RxDesc desc = with_payload(write_segment(EXRNIC_PORT_MESSAGE_BYTES), kTagged, 4);
  desc.dst_qpn = EXRNIC_PORT_QPN + kPort;
  desc.src_qpn = EXRNIC_PORT_QPN + kPeerPort;
  exrnic_ddp_tagged_set_stag(desc.ddp.data(), EXRNIC_PORT_STAG);
  exrnic_ddp_tagged_set_to(desc.ddp.data(), kPortLife << EXRNIC_PORT_LIFE_SHIFT | 8);
  return desc;
}
RxDesc firmware_message() {
  RxDesc desc = with_payload(write_segment(EXRNIC_FW_MESSAGE_BYTES), kTagged, 48);
  desc.dst_qpn = desc.src_qpn = EXRNIC_FW_QPN;
  exrnic_ddp_tagged_set_stag(desc.ddp.data(), EXRNIC_FW_STAG);
  return desc;
}
bool counts_up(const uint8_t* bytes, int count) {
  for (int i = 0; i < count; ++i)
    if (bytes[i] != i + 1) return false;
  return true;
}

TEST_CASE("A message for a port arrives there, is not answered, and looks at no queue pair") {
  Responder responder;
  responder.receive(port_segment());
  REQUIRE(responder.port_messages.size() == 1);
  const PortMessage& message = responder.port_messages[0];
  CHECK(message.port == kPort);
  CHECK(message.node == kPeer);
  CHECK(message.peer == kPeerPort);
  CHECK(message.to == 8);
  CHECK(message.data == 0x04030201);
  CHECK(message.life == kPortLife);
  CHECK(responder.well_formed[0]);
  CHECK(responder.order == "d");
  CHECK(responder.xlate.requests.empty());
}

TEST_CASE("A message for a port waits for the writes before it, and for the port") {
  Responder responder;
  responder.dut().write_idle_i = 0;
  responder.begin(port_segment());
  responder.run(20);
  CHECK_FALSE(responder.dut().port_valid_o);
  responder.dut().port_ready_i = 0;
  responder.dut().write_idle_i = 1;
  responder.run(20);
  CHECK(responder.dut().port_valid_o);
  CHECK(responder.order.empty());
  responder.dut().port_ready_i = 1;
  responder.rest();
  CHECK(responder.port_messages.size() == 1);
  CHECK(responder.order == "d");
}

TEST_CASE("What a port does not expect arrives as such") {
  Responder responder;
  RxDesc desc = port_segment();
  SECTION("from a queue pair") { desc.src_qpn = kPeerQpn; }
  SECTION("another region") { exrnic_ddp_tagged_set_stag(desc.ddp.data(), 0xa1b2c3d4); }
  SECTION("another length") { desc.length += 1; }
  SECTION("not the last") { exrnic_ddp_tagged_set_last(desc.ddp.data(), false); }
  SECTION("an offset beyond all registers") { exrnic_ddp_tagged_set_to(desc.ddp.data(), 0x1'0008); }
  SECTION("a Send") {
    desc = send_segment(1, 0, EXRNIC_PORT_MESSAGE_BYTES);
    desc.dst_qpn = EXRNIC_PORT_QPN + kPort;
    desc.src_qpn = EXRNIC_PORT_QPN + kPeerPort;
  }
  responder.receive(desc);
  CHECK(responder.well_formed == std::vector<bool>{false});
  CHECK(responder.order == "d");
}

TEST_CASE("A response to a load is the answer, behind the writes before it, and is not placed") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.dut().write_idle_i = 0;
  constexpr uint64_t kToken = 0x1122334455667788;
  responder.begin(with_payload(response_segment(EXRNIC_WINDOW_STAG, kToken, 8, true), kTagged, 8));
  responder.run(20);
  CHECK(responder.answers.empty());
  responder.dut().write_idle_i = 1;
  responder.rest();
  REQUIRE(responder.answers.size() == 1);
  CHECK(responder.answers[0] == WindowAnswer{kQpn, kToken, 8, 0x0807060504030201});
  CHECK(responder.order == "d");
  CHECK(responder.xlate.requests.empty());
}

TEST_CASE("A message for firmware goes there; without firmware it is dropped and counted") {
  Responder responder;
  const bool active = GENERATE(true, false);
  responder.dut().firmware_active_i = active;
  responder.receive(firmware_message());
  CHECK(responder.order == "d");
  CHECK(responder.events[EXRNIC_COUNTER_FW_DROPPED] == (active ? 0 : 1));
  REQUIRE(responder.punts.size() == (active ? 1 : 0));
  if (active) {
    CHECK(responder.punts[0].message);
    CHECK(responder.punts[0].generation == kPeer);  // the node
    CHECK(counts_up(responder.punts[0].payload.data(), EXRNIC_FW_MESSAGE_BYTES));
  }
}

TEST_CASE(
    "Atomic Requests are handed on, Read Requests too behind one, or if firmware wants or has "
    "them") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.dut().firmware_active_i = 0;
  responder.receive(
      with_payload(atomic_request_segment(1), kUntagged, EXRNIC_ATOMIC_REQUEST_BYTES));
  REQUIRE(responder.punts.size() == 1);
  const Punt& punt = responder.punts[0];
  CHECK_FALSE(punt.message);
  CHECK(punt.atomic);
  CHECK(punt.qpn == kQpn);
  CHECK(punt.generation == kGeneration);
  CHECK(punt.pd == kPd);
  CHECK(punt.msn == 1);
  CHECK(counts_up(punt.payload.data(), EXRNIC_ATOMIC_REQUEST_BYTES));
  CHECK(responder.order == "d");
  CHECK(responder.reads[kQpn].empty());
  SECTION("firmware wants them") {
    responder.dut().firmware_active_i = responder.dut().punt_reads_i = 1;
  }
  SECTION("firmware has one") {
    responder.dut().firmware_active_i = responder.dut().firmware_held_i = 1;
  }
  SECTION("an atomic is under way") { responder.dut().firmware_atomics_i = 1; }
  responder.receive(read_request_segment(2, 64));
  REQUIRE(responder.punts.size() == 2);
  CHECK_FALSE(responder.punts[1].atomic);
  CHECK(responder.punts[1].msn == 2);
  CHECK(responder.reads[kQpn].empty());
}

TEST_CASE("A Read Request after requests that firmware has lost is refused") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.dut().firmware_active_i = 0;
  responder.dut().firmware_held_i = 1;
  responder.receive(read_request_segment(1, 64));
  CHECK(responder.punts.empty());
  CHECK(responder.qps[kQpn].refused.valid);
  CHECK(responder.qps[kQpn].refused.code == EXRNIC_TERM_CODE_STREAM);
}

TEST_CASE("A request for firmware waits for room, and lets the core rest meanwhile") {
  Responder responder;
  responder.qps[kQpn] = receiving_qp();
  responder.dut().firmware_active_i = 1;
  responder.dut().firmware_punt_ready_i = 0;
  responder.begin(atomic_request_segment(1));
  responder.run(20);
  responder.dut().quiesce_i = 1;
  responder.dut().firmware_punt_ready_i = 1;
  responder.wait_for("quiescent_o", kLimit, [&] { return responder.dut().quiescent_o != 0; });
  responder.run(20);
  CHECK(responder.punts.empty());
  CHECK(responder.order.empty());
  responder.dut().quiesce_i = 0;
  responder.rest();
  CHECK(responder.punts.size() == 1);
  CHECK(responder.order == "d");
}

}  // namespace
}  // namespace exrnic::testing
