// SPDX-License-Identifier: BSD-2-Clause
// vl_req_notify_cq and the moderation of a completion queue.
#include <catch2/catch_test_macros.hpp>
#include <cerrno>

#include "cq.h"
#include "rig.h"

namespace exrnic {
namespace {

// A message from a to b, whose completion queue is armed.
struct Armed : Pair {
  Armed() {
    for (uint64_t i = 0; i < 8; ++i) {
      const vl_recv_wr wr = {i, nullptr, nullptr, 0};
      REQUIRE(vl_post_rq(b.qp, &wr, nullptr) == 0);
    }
    fabric.Step();
  }
  void Arm(int solicited_only) {
    REQUIRE(vl_req_notify_cq(b.cq, solicited_only) == 0);
    fabric.Step();
  }
  void Send(int flags) {
    const vl_send_wr wr = [&] {
      vl_send_wr send = {};
      send.opcode = VL_OP_SEND;
      send.flags = flags;
      return send;
    }();
    REQUIRE(vl_post_sq(a.qp, &wr, nullptr) == 0);
    fabric.Step();
  }
  uint32_t fired() { return fabric.device(1).cqs.at(b.cq->ring.number).fired; }
};

TEST_CASE("an armed queue fires once, at the next completion") {
  Armed armed;
  armed.Send(0);
  CHECK(armed.fired() == 0);
  vl_wc wc;
  REQUIRE(vl_poll_cq(armed.b.cq, 1, &wc) == 1);
  armed.Arm(0);
  CHECK(armed.fired() == 0);
  armed.Send(0);
  CHECK(armed.fired() == 1);
  armed.Send(0);
  CHECK(armed.fired() == 1);
}

TEST_CASE("a queue armed for solicited completions waits for one") {
  Armed armed;
  armed.Arm(1);
  armed.Send(0);
  CHECK(armed.fired() == 0);
  armed.Send(VL_SEND_SOLICITED);
  CHECK(armed.fired() == 1);
}

TEST_CASE("a queue armed for solicited completions fires at a failure") {
  Armed armed;
  armed.Arm(1);
  const vl_qp_attr attr = AttrOf(VL_QPS_ERROR);
  REQUIRE(vl_modify_qp(armed.b.qp, &attr) == 0);
  armed.fabric.Step();
  CHECK(armed.fired() == 1);
}

TEST_CASE("a queue that is armed while completions wait fires at once") {
  Armed armed;
  armed.Send(0);
  armed.Send(0);
  vl_wc wc;
  REQUIRE(vl_poll_cq(armed.b.cq, 1, &wc) == 1);
  armed.Arm(0);
  CHECK(armed.fired() == 1);
}

TEST_CASE("arming tells the device of all that was taken") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  self.Connect(0, vl_qp_number(self.qp));
  vl_send_wr wr = {};
  wr.opcode = VL_OP_PUSH;
  wr.flags = VL_SEND_SIGNALED;
  vl_wc wc;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(vl_post_sq(self.qp, &wr, nullptr) == 0);
    fabric.Step();
    REQUIRE(vl_poll_cq(self.cq, 1, &wc) == 1);
  }
  REQUIRE(vl_req_notify_cq(self.cq, 0) == 0);
  CHECK(fabric.DoorbellAt(24) == (uint64_t{3} << 32 | self.cq->ring.number));
  REQUIRE(vl_req_notify_cq(self.cq, 1) == 0);
  CHECK(fabric.DoorbellAt(32) == (uint64_t{3} << 32 | self.cq->ring.number));
  CHECK(fabric.DoorbellAt(16) == FakeFabric::kIdle);
  errno = 0;
  CHECK(vl_req_notify_cq(nullptr, 0) == -1);
  CHECK(errno == EINVAL);
}

TEST_CASE("moderation reaches the device, and what it does not know is refused") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  vl_cq_moderation moderation = {EXRNIC_MODERATION_COUNT_MAX, EXRNIC_MODERATION_NS_MAX};
  vl_cq* cq = vl_create_cq(self.rnic, 8, &moderation);
  REQUIRE(cq != nullptr);
  CHECK(fabric.device(0).cqs.at(cq->ring.number).moderation_count == EXRNIC_MODERATION_COUNT_MAX);
  CHECK(fabric.device(0).cqs.at(cq->ring.number).moderation_ns == (1u << 24) - 1);
  CHECK(fabric.device(0).cqs.at(self.cq->ring.number).moderation_count == 0);
  CHECK(vl_destroy_cq(cq) == 0);
  ++moderation.ns;
  errno = 0;
  CHECK(vl_create_cq(self.rnic, 8, &moderation) == nullptr);
  CHECK(errno == EINVAL);
  moderation = {65536, 0};
  CHECK(vl_create_cq(self.rnic, 8, &moderation) == nullptr);
}

}  // namespace
}  // namespace exrnic
