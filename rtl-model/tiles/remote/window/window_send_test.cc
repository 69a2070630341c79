// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <vector>

#include "Vwindow_send.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/neighbours.h"

namespace exrnic::testing {
namespace {

constexpr int kLimit = 50;  // cycles for anything here
constexpr uint16_t kQpn = 0x123;
constexpr uint8_t kNode = 0x4d;
constexpr uint16_t kPeerGeneration = 0x0405;
constexpr uint32_t kPeerQpn = 0x77;

WindowItem stores() {
  WindowItem item;
  item.window = 5;
  item.qpn = kQpn;
  item.generation = 3;
  item.stag = 0xabcd'ef01;
  item.to = 0x7000'0000'1003;
  item.length = 3;
  item.data = {1, 2, 3};
  return item;
}

WindowItem load() {
  WindowItem item = stores();
  item.load = true;
  item.length = 8;
  item.token = 0x9'0000'0005;
  return item;
}

constexpr uint8_t kLink = 0xa5;
constexpr PortMessage kMessage = {2, kNode, 9, EXRNIC_PORT_TO_BELLS, 0x8000'0001, 0x5a};

// The block with the queue pairs, slots, and efe_tx behind it.
class Sender : public Bench<Vwindow_send> {
 public:
  Sender() : qp_reader_(dut(), qps) {
    dut().quiesce_i = dut().item_valid_i = dut().drop_i = dut().message_valid_i = 0;
    dut().firmware_valid_i = dut().clear_i = 0;
    pack(dut().firmware_i, FwSend{});
    dut().gives_up_ready_i = 1;
    dut().read_ready_i = 0;
    Qp qp;
    qp.cfg.valid = true;
    qp.cfg.generation = 3;
    qp.peer = {kPeerGeneration, true, 0};
    qp.cfg.dest_node = kNode;
    qp.cfg.dest_qpn = kPeerQpn;
    qp.status.state = EXRNIC_QP_STATE_RTS;
    qps[kQpn] = qp;
    reset();
  }

  void cycle() override {
    dut().alloc_valid_i = slots || prompt_slots;
    dut().alloc_payload_valid_i = slots;
    dut().quota_room_i = room;
    dut().submit_ready_i = submits;
    qp_reader_.drive();
    settle();
    qp_reader_.sample();
    if (dut().alloc_valid_i && dut().alloc_ready_o) dut().alloc_slot_i = ++taken;
    settle();
    if (dut().submit_valid_o && submits) sent.push_back(unpack<TxDesc>(dut().submit_o));
    if (dut().refused_o) refused.push_back(dut().loads_o);
    if (dut().gives_up_valid_o) given_up.push_back(unpack<TxTag>(dut().gives_up_o));
    tick();
    settle();
  }
  void offer(const WindowItem& item) {
    pack(dut().item_i, item);
    dut().item_valid_i = 1;
    wait_for("item_ready_o", kLimit, [&] { return dut().item_ready_o != 0; });
    cycle();
    dut().item_valid_i = 0;
    settle();
  }
  void offer(const PortMessage& message) {
    pack(dut().message_i, message);
    dut().message_link_i = kLink;
    dut().message_valid_i = 1;
    wait_for("message_ready_o", kLimit, [&] { return dut().message_ready_o != 0; });
    cycle();
    dut().message_valid_i = 0;
    settle();
  }
  // Firmware sends a message; how that ends.
  bool firmware_sends() {
    dut().firmware_valid_i = 1;
    settle();
    wait_for("firmware_sent_o or firmware_no_room_o", kLimit,
             [&] { return dut().firmware_sent_o || dut().firmware_no_room_o; });
    const bool sends = dut().firmware_sent_o != 0;
    cycle();
    dut().firmware_valid_i = 0;
    settle();
    return sends;
  }
  void rest() {
    wait_for("idle_o", kLimit, [&] { return dut().idle_o != 0; });
  }
  void cycles(unsigned count) {
    for (unsigned i = 0; i < count; ++i) cycle();
  }
  template <typename What>
  void send(const What& what) {
    offer(what);
    rest();
  }
  void clear(uint16_t qpn) {
    dut().clear_i = 1;
    dut().clear_qpn_i = qpn;
    cycle();
    dut().clear_i = 0;
  }

  bool slots = true, room = true, submits = true;
  bool prompt_slots = false;  // the last ones are left
  unsigned taken = 0;         // slots
  std::map<unsigned, Qp> qps;
  std::vector<TxDesc> sent;
  std::vector<bool> refused;  // whether it was a load
  std::vector<TxTag> given_up;

 private:
  QpReader<Vwindow_send> qp_reader_;
};

uint32_t msn_of(const TxDesc& request) {
  return static_cast<uint32_t>(exrnic_ddp_untagged_msn(request.ddp.data()));
}

TEST_CASE("Stores become one RDMA Write of one segment that completes nothing") {
  Sender sender;
  sender.send(stores());
  REQUIRE(sender.sent.size() == 1);
  const TxDesc& write = sender.sent[0];
  const uint8_t* header = write.ddp.data();
  CHECK(write.slot == sender.taken);
  CHECK(write.node == kNode);
  CHECK(write.dst_qpn == kPeerQpn);
  CHECK(write.src_qpn == kQpn);
  CHECK_FALSE(write.untagged);
  CHECK(exrnic_ddp_tagged_opcode(header) == EXRNIC_RDMAP_OPCODE_WRITE);
  CHECK(exrnic_ddp_tagged_last(header) == 1);
  CHECK(exrnic_ddp_tagged_stag(header) == stores().stag);
  CHECK(exrnic_ddp_tagged_to(header) == stores().to);
  CHECK(write.inlined);
  CHECK(write.length == 3);
  CHECK(write.inline_data == stores().data);
  CHECK(write.prompt);
  CHECK(write.tag.kind == kTxKindSegment);
  CHECK(write.tag.qpn == kQpn);
  CHECK(write.tag.generation == 3);
  CHECK(write.stream);
}

TEST_CASE("A load becomes an RDMA Read Request whose answer names it") {
  Sender sender;
  sender.send(load());
  REQUIRE(sender.sent.size() == 1);
  const TxDesc& request = sender.sent[0];
  const uint8_t* header = request.ddp.data();
  const uint8_t* body = request.inline_data.data();
  CHECK(request.untagged);
  CHECK(exrnic_ddp_untagged_opcode(header) == EXRNIC_RDMAP_OPCODE_READ_REQUEST);
  CHECK(exrnic_ddp_untagged_qn(header) == EXRNIC_READ_QN);
  CHECK(exrnic_ddp_untagged_mo(header) == 0);
  CHECK(request.length == EXRNIC_READ_REQUEST_BYTES);
  CHECK(exrnic_read_request_sink_stag(body) == EXRNIC_WINDOW_STAG);
  CHECK(exrnic_read_request_sink_to(body) == load().token);
  CHECK(exrnic_read_request_length(body) == 8);
  CHECK(exrnic_read_request_source_stag(body) == load().stag);
  CHECK(exrnic_read_request_source_to(body) == load().to);
}

TEST_CASE("Loads are numbered for each queue pair, and anew when that starts anew") {
  Sender sender;
  const uint16_t other = kQpn + 1;
  sender.qps[other] = sender.qps[kQpn];
  WindowItem elsewhere = load();
  elsewhere.qpn = other;
  for (const uint16_t qpn : {kQpn, other}) sender.clear(qpn);
  sender.send(load());
  sender.send(load());
  sender.send(stores());
  sender.send(elsewhere);
  sender.send(load());
  sender.clear(kQpn);
  sender.send(load());
  sender.send(elsewhere);
  std::vector<uint32_t> numbers;
  for (const TxDesc& desc : sender.sent)
    if (desc.untagged) numbers.push_back(msn_of(desc));
  CHECK(numbers == std::vector<uint32_t>{1, 2, 1, 3, 1, 2});
}

TEST_CASE("A port's message becomes an RDMA Write between ports, without a queue pair") {
  Sender sender;
  sender.qps.clear();
  sender.send(kMessage);
  REQUIRE(sender.sent.size() == 1);
  const TxDesc& write = sender.sent[0];
  const uint8_t* header = write.ddp.data();
  CHECK(write.node == kNode);
  CHECK(write.dst_qpn == (EXRNIC_PORT_QPN | 9));
  CHECK(write.src_qpn == (EXRNIC_PORT_QPN | 2));
  CHECK(exrnic_ddp_tagged_opcode(header) == EXRNIC_RDMAP_OPCODE_WRITE);
  CHECK(exrnic_ddp_tagged_stag(header) == EXRNIC_PORT_STAG);
  CHECK(exrnic_ddp_tagged_to(header) == (0x5a << EXRNIC_PORT_LIFE_SHIFT | EXRNIC_PORT_TO_BELLS));
  CHECK(write.length == EXRNIC_PORT_MESSAGE_BYTES);
  CHECK(write.inline_data[0] == 0x01);
  CHECK(write.inline_data[3] == 0x80);
  CHECK(write.tag.kind == kTxKindPort);
  CHECK(write.tag.qpn == 2);
  CHECK(write.tag.wqe_index == kLink);
  CHECK(write.tag.generation == 0);  // it is in no stream
}

TEST_CASE("Stores leave before a message that comes with them") {
  Sender sender;
  pack(sender.dut().message_i, kMessage);
  sender.dut().message_valid_i = 1;
  sender.offer(stores());
  sender.wait_for("message_ready_o", kLimit, [&] { return sender.dut().message_ready_o != 0; });
  sender.cycle();
  sender.dut().message_valid_i = 0;
  sender.rest();
  REQUIRE(sender.sent.size() == 2);
  CHECK(sender.sent[0].tag.kind == kTxKindSegment);
  CHECK(sender.sent[1].tag.kind == kTxKindPort);
}

TEST_CASE("What its queue pair cannot send is refused, and takes no slot") {
  Sender sender;
  Qp& qp = sender.qps[kQpn];
  SECTION("in ERROR") { qp.status.state = EXRNIC_QP_STATE_ERROR; }
  SECTION("not connected yet") { qp.status.state = EXRNIC_QP_STATE_RTR; }
  SECTION("reset") { qp.status.state = EXRNIC_QP_STATE_RESET; }
  SECTION("made anew") { qp.cfg.generation = 4; }
  SECTION("destroyed") { qp.cfg.valid = false; }
  sender.send(stores());
  sender.send(load());
  CHECK(sender.sent.empty());
  CHECK(sender.taken == 0);
  CHECK(sender.refused == std::vector<bool>{false, true});
}

TEST_CASE("Without a slot, a share of slots, or efe_tx it waits, and keeps what it has") {
  Sender sender;
  bool* const missing[] = {&sender.slots, &sender.room, &sender.submits};
  for (bool* one : missing) {
    *one = false;
    sender.offer(stores());
    sender.cycles(20);
    CHECK(sender.sent.empty());
    CHECK_FALSE(sender.dut().item_ready_o);
    *one = true;
    sender.rest();
    REQUIRE(sender.sent.size() == 1);
    CHECK(sender.sent[0].inline_data == stores().data);
    sender.sent.clear();
  }
}

TEST_CASE("Firmware sends when there is room, and is told at once when there is none") {
  Sender sender;
  CHECK(sender.firmware_sends());
  REQUIRE(sender.sent.size() == 1);
  CHECK(sender.sent[0].tag.kind == kTxKindFirmware);
  CHECK(sender.sent[0].dst_qpn == EXRNIC_FW_QPN);
  CHECK(exrnic_ddp_tagged_stag(sender.sent[0].ddp.data()) == EXRNIC_FW_STAG);
  CHECK(sender.sent[0].length == EXRNIC_FW_MESSAGE_BYTES);
  bool* const missing[] = {&sender.slots, &sender.room};
  for (bool* one : missing) {
    *one = false;
    CHECK_FALSE(sender.firmware_sends());
    *one = true;
  }
  sender.dut().quiesce_i = 1;
  CHECK_FALSE(sender.firmware_sends());
  CHECK(sender.sent.size() == 1);
}

TEST_CASE("The last slots are for windows and ports, not for firmware") {
  Sender sender;
  sender.slots = false;
  sender.prompt_slots = true;
  sender.send(stores());
  sender.send(kMessage);
  CHECK(sender.sent.size() == 2);
  CHECK_FALSE(sender.firmware_sends());
  CHECK(sender.taken == 2);
  sender.slots = true;
  CHECK(sender.firmware_sends());
  CHECK_FALSE(sender.sent.back().prompt);
}

TEST_CASE("Stores wait for no read of firmware's, and only firmware's next bytes do") {
  Sender sender;
  FwSend bytes;
  bytes.data = true;
  bytes.node = kNode;
  bytes.length = 100;
  pack(sender.dut().firmware_i, bytes);
  CHECK(sender.firmware_sends());
  REQUIRE(sender.sent.size() == 1);
  CHECK_FALSE(sender.sent[0].inlined);
  sender.send(stores());
  CHECK_FALSE(sender.firmware_sends());
  CHECK(sender.taken == 2);
  CHECK(sender.dut().read_valid_o);
  sender.dut().read_ready_i = 1;
  sender.cycle();
  CHECK_FALSE(sender.dut().read_valid_o);
  CHECK(sender.firmware_sends());
  CHECK(sender.sent.size() == 3);
}

constexpr int kRoomLimit = EXRNIC_ROOM_CYCLES + 100;

TEST_CASE(
    "What finds no room for too long is given up, and what follows at once, until one is sent") {
  Sender sender;
  sender.room = false;
  sender.offer(stores());
  sender.cycles(EXRNIC_ROOM_CYCLES - 100);
  CHECK(sender.given_up.empty());
  sender.wait_for("idle_o", kRoomLimit, [&] { return sender.dut().idle_o != 0; });
  sender.send(load());
  sender.send(kMessage);
  CHECK(sender.taken == 0);
  CHECK(sender.sent.empty());
  CHECK(sender.refused == std::vector<bool>{false, true});
  REQUIRE(sender.given_up.size() == 3);
  for (int i = 0; i < 2; ++i) {
    CHECK(sender.given_up[i].kind == kTxKindSegment);
    CHECK(sender.given_up[i].qpn == kQpn);
    CHECK(sender.given_up[i].generation == 3);
  }
  CHECK(sender.given_up[2].kind == kTxKindPort);
  CHECK(sender.given_up[2].qpn == kMessage.port);
  CHECK(sender.given_up[2].wqe_index == kLink);
  sender.room = true;
  sender.send(stores());
  CHECK(sender.sent.size() == 1);
  sender.room = false;
  sender.offer(stores());
  sender.cycles(1000);
  CHECK(sender.given_up.size() == 3);
}

TEST_CASE("Firmware does not wait behind stores that wait for room") {
  Sender sender;
  sender.room = false;
  sender.offer(stores());
  CHECK_FALSE(sender.firmware_sends());
  sender.dut().quiesce_i = 1;
  CHECK_FALSE(sender.firmware_sends());
  sender.dut().quiesce_i = 0;
  sender.room = true;
  sender.rest();
  CHECK(sender.firmware_sends());
  REQUIRE(sender.sent.size() == 2);
  CHECK(sender.sent[0].tag.kind == kTxKindSegment);
}

TEST_CASE("A message of firmware's without bytes of the host changes no read that waits") {
  Sender sender;
  FwSend bytes;
  bytes.data = true;
  bytes.address = 0x1234000;
  bytes.length = 96;
  pack(sender.dut().firmware_i, bytes);
  CHECK(sender.firmware_sends());
  REQUIRE(sender.dut().read_valid_o);
  const auto asked = unpack<DmaReadReq>(sender.dut().read_o);
  FwSend message;
  message.address = 0x777000;
  message.length = 8;
  pack(sender.dut().firmware_i, message);
  CHECK(sender.firmware_sends());
  REQUIRE(sender.dut().read_valid_o);
  CHECK(unpack<DmaReadReq>(sender.dut().read_o) == asked);
}

TEST_CASE("Stores without end do not keep firmware from its turn") {
  Sender sender;
  pack(sender.dut().item_i, stores());
  sender.dut().item_valid_i = 1;
  sender.cycles(20);
  CHECK(sender.firmware_sends());
  sender.cycles(20);
  CHECK(sender.sent.back().tag.kind == kTxKindSegment);
}

TEST_CASE("What waits while the core rests goes by what is there afterwards") {
  Sender sender;
  sender.slots = false;
  sender.offer(stores());
  sender.cycles(4);
  sender.dut().quiesce_i = 1;
  sender.cycles(2);
  CHECK(sender.dut().quiescent_o);
  sender.slots = true;
  sender.cycles(5);
  CHECK(sender.taken == 0);
  bool goes = false;
  SECTION("nothing has changed") { goes = true; }
  SECTION("the queue pair was reset") { sender.qps[kQpn].status.state = EXRNIC_QP_STATE_RESET; }
  SECTION("another entry changed") {
    goes = true;
    sender.dut().drop_index_i = stores().window + 1;
    sender.dut().drop_i = 1;
  }
  SECTION("its entry changed") {
    sender.dut().drop_index_i = stores().window;
    sender.dut().drop_i = 1;
  }
  sender.cycle();
  sender.dut().drop_i = 0;
  sender.dut().quiesce_i = 0;
  sender.rest();
  CHECK(sender.sent.size() == (goes ? 1 : 0));
  CHECK(sender.refused.size() == (goes ? 0 : 1));
}

TEST_CASE("While the core is brought to rest nothing is begun") {
  Sender sender;
  sender.dut().quiesce_i = 1;
  pack(sender.dut().item_i, stores());
  sender.dut().item_valid_i = 1;
  sender.cycles(5);
  CHECK_FALSE(sender.dut().item_ready_o);
  CHECK(sender.dut().quiescent_o);
  CHECK(sender.sent.empty());
}

}  // namespace
}  // namespace exrnic::testing
