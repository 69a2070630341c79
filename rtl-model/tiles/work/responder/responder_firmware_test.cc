// SPDX-License-Identifier: BSD-2-Clause
// The responder on bytes that another node's firmware sends: they go where ours has granted, and
// nowhere else.
#include "rtl-model/tiles/work/responder/responder_bench.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kName = 0x1234'56'00 | 21;
constexpr uint32_t kStag = 0x00c8'5a00;
constexpr uint64_t kTo = 0x5000;

// A segment of `payload` bytes at `to` of what is granted under that name.
RxDesc bytes(uint16_t payload, uint64_t to, uint32_t name = kName) {
  RxDesc desc = write_segment(payload);
  desc.dst_qpn = desc.src_qpn = EXRNIC_FW_QPN;
  exrnic_ddp_tagged_set_stag(desc.ddp.data(), name);
  exrnic_ddp_tagged_set_to(desc.ddp.data(), to);
  return desc;
}

struct Granting : Responder {
  Granting() {
    dut().firmware_active_i = 1;
    grants[21] = {true, kName, kPeer, kStag, kTo, 1000};
  }
  // It is dropped: nothing is looked up, written or answered, and it is counted.
  void expect_dropped(const RxDesc& desc) {
    const auto dropped = events[EXRNIC_COUNTER_FW_DROPPED];
    order.clear();
    receive(desc);
    CHECK(order == "d");
    CHECK(xlate.requests.empty());
    CHECK(events[EXRNIC_COUNTER_FW_DROPPED] == dropped + 1);
  }
};

TEST_CASE("Bytes of another node's firmware go where ours has granted") {
  Granting responder;
  responder.receive(bytes(600, 400));
  CHECK(responder.order == "wd");
  CHECK(responder.placed_granted);
  REQUIRE(responder.xlate.requests.size() == 1);
  const XlateReq& request = responder.xlate.requests[0];
  CHECK(request.stag == kStag);
  CHECK(request.to == kTo + 400);
  CHECK(request.pd == EXRNIC_FW_PD);
  CHECK(request.access == EXRNIC_ACCESS_REMOTE_WRITE);
  CHECK(responder.events[EXRNIC_COUNTER_FW_DROPPED] == 0);
}

TEST_CASE(
    "Bytes that firmware has not granted that node, under that name, are dropped and counted") {
  Granting responder;
  responder.expect_dropped(bytes(601, 400));
  responder.expect_dropped(bytes(1, 1000));
  responder.expect_dropped(bytes(1, uint64_t{1} << 17));
  responder.expect_dropped(bytes(1, UINT64_MAX));
  responder.expect_dropped(bytes(1, 0, kName + EXRNIC_FW_GRANTS));  // another in the same place
  responder.expect_dropped(bytes(1, 0, kName + 1));
  responder.expect_dropped(bytes(1, kTo, kStag));  // the region has a name, but not this one
  RxDesc stranger = bytes(1, 0);
  stranger.node = kPeer + 1;
  responder.expect_dropped(stranger);
  responder.grants[21].valid = false;
  responder.expect_dropped(bytes(1, 0));
  CHECK_FALSE(responder.placed_granted);
}

TEST_CASE(
    "Bytes whose placement has begun end where they were granted, though firmware goes away") {
  Granting responder;
  responder.begin(bytes(600, 400));
  responder.wait_for("their placement", kLimit, [&] { return responder.placed_granted; });
  responder.cycle();
  responder.dut().firmware_active_i = 0;
  responder.grants[21].valid = false;
  responder.rest();
  REQUIRE(responder.xlate.requests.size() == 1);
  CHECK(responder.xlate.requests[0].stag == kStag);
  CHECK(responder.xlate.requests[0].pd == EXRNIC_FW_PD);
  CHECK(responder.order == "wd");
}

TEST_CASE("A message waits for room, but not if its node has half of the places") {
  Granting responder;
  const RxDesc message = bytes(EXRNIC_FW_MESSAGE_BYTES, 0, EXRNIC_FW_STAG);
  responder.dut().firmware_punt_ready_i = 0;
  responder.begin(message);
  responder.run(50);
  CHECK(responder.dut().firmware_node_o == kPeer);
  CHECK(responder.order.empty());
  responder.dut().firmware_punt_ready_i = 1;
  responder.rest();
  CHECK(responder.order == "d");
  REQUIRE(responder.punts.size() == 1);
  CHECK(responder.punts[0].message);
  CHECK(responder.punts[0].generation == kPeer);
  responder.dut().firmware_punt_ready_i = 0;
  responder.dut().firmware_crowded_i = 1;
  responder.expect_dropped(message);
  responder.receive(bytes(600, 400));  // bytes need no place
  CHECK(responder.order == "dwd");
  responder.dut().firmware_crowded_i = 0;
  responder.begin(message);
  responder.run(50);
  responder.dut().firmware_crowded_i = 1;  // while it waits
  responder.rest();
  CHECK(responder.order == "dwdd");
  CHECK(responder.punts.size() == 1);
}

}  // namespace
}  // namespace exrnic::testing
