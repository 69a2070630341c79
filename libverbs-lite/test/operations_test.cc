// SPDX-License-Identifier: BSD-2-Clause
// Each operation on the software device: bytes, completions at both ends, refusals.
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <cstring>

#include "rig.h"

namespace exrnic {
namespace {

struct Messages : Pair {
  Messages() : Pair(Size()) {
    for (size_t i = 0; i < 4096; ++i) a.buffer[i] = static_cast<uint8_t>(i * 7 + 1);
  }

  static EndpointSize Size() {
    EndpointSize size;
    size.sge = VL_MAX_SGE;
    return size;
  }

  vl_sge At(Endpoint* end, size_t offset, uint32_t length) {
    return {reinterpret_cast<uintptr_t>(end->buffer.data()) + offset, length, vl_mr_stag(end->mr)};
  }

  int Receive(uint64_t wr_id, const std::vector<vl_sge>& list) {
    const vl_recv_wr wr = {wr_id, nullptr, list.data(), static_cast<int>(list.size())};
    return vl_post_rq(b.qp, &wr, nullptr);
  }

  vl_send_wr Make(vl_wr_opcode opcode, uint32_t length) {
    vl_send_wr wr = Push(1, length);
    wr.opcode = opcode;
    return wr;
  }

  // Posts, executes, and returns the completion of each end that has one.
  void Run(const vl_send_wr& wr) {
    REQUIRE(vl_post_sq(a.qp, &wr, nullptr) == 0);
    fabric.Step();
    REQUIRE(vl_poll_cq(a.cq, 1, &sent) == 1);
    received.resize(8);
    received.resize(static_cast<size_t>(vl_poll_cq(b.cq, 8, received.data())));
  }

  vl_wc sent = {};
  std::vector<vl_wc> received;
};

TEST_CASE("a SEND fills the elements of a receive in order and tells its length") {
  Messages m;
  REQUIRE(m.Receive(9, {m.At(&m.b, 10, 3), m.At(&m.b, 100, 0), m.At(&m.b, 200, 5),
                        m.At(&m.b, 300, 50)}) == 0);
  m.Run(m.Make(VL_OP_SEND, 20));
  CHECK(m.sent.status == VL_WC_SUCCESS);
  CHECK(m.sent.opcode == VL_WC_SEND);
  CHECK(m.sent.byte_len == 20);
  CHECK(m.sent.flags == 0);
  REQUIRE(m.received.size() == 1);
  CHECK(m.received[0].wr_id == 9);
  CHECK(m.received[0].opcode == VL_WC_RECV);
  CHECK(m.received[0].status == VL_WC_SUCCESS);
  CHECK(m.received[0].byte_len == 20);
  CHECK(m.received[0].flags == 0);
  CHECK(m.received[0].imm_data == 0);
  const uint8_t* from = m.a.buffer.data();
  const uint8_t* to = m.b.buffer.data();
  CHECK(memcmp(to + 10, from, 3) == 0);
  CHECK(memcmp(to + 200, from + 3, 5) == 0);
  CHECK(memcmp(to + 300, from + 8, 12) == 0);
  CHECK(to[13] == 0);
  CHECK(to[312] == 0);
}

TEST_CASE("immediate data, solicitation and invalidation show in the completion of the receive") {
  Messages m;
  REQUIRE(m.Receive(9, {m.At(&m.b, 0, 64)}) == 0);
  vl_send_wr wr = m.Make(VL_OP_SEND_IMM, 8);
  wr.imm_data = 0x89abcdef;
  wr.invalidate_stag = 7;  // not of this operation
  SECTION("SEND_IMM") {
    m.Run(wr);
    CHECK(m.received.at(0).flags == VL_WC_WITH_IMM);
    CHECK(m.received.at(0).imm_data == 0x89abcdef);
    CHECK(m.received.at(0).invalidated_stag == 0);
  }
  SECTION("SEND_IMM, solicited") {
    wr.flags |= VL_SEND_SOLICITED;
    m.Run(wr);
    CHECK(m.received.at(0).flags == (VL_WC_WITH_IMM | VL_WC_SOLICITED));
  }
  SECTION("PUSH_IMM") {
    wr.opcode = VL_OP_PUSH_IMM;
    wr.remote_address += 1000;
    m.Run(wr);
    CHECK(m.sent.opcode == VL_WC_PUSH);
    CHECK(m.received.at(0).flags == (VL_WC_WITH_IMM | VL_WC_WRITTEN));
    CHECK(m.received.at(0).imm_data == 0x89abcdef);
    CHECK(m.received.at(0).byte_len == 8);
    CHECK(memcmp(m.b.buffer.data() + 1000, m.a.buffer.data(), 8) == 0);
    CHECK(m.b.buffer[0] == 0);
  }
  SECTION("SEND_INVALIDATE") {
    vl_mr* gone = vl_allocate_mr(m.b.pd, m.b.buffer.data(), 8, VL_ACCESS_REMOTE_READ);
    wr.opcode = VL_OP_SEND_INVALIDATE;
    wr.invalidate_stag = vl_mr_stag(gone);
    m.Run(wr);
    CHECK(m.received.at(0).flags == VL_WC_WITH_INVALIDATE);
    CHECK(m.received.at(0).invalidated_stag == vl_mr_stag(gone));
    CHECK(m.received.at(0).imm_data == 0);
    CHECK(m.fabric.device(1).mrs.at(vl_mr_stag(gone)).invalidated);
    CHECK(vl_deallocate_mr(gone) == 0);
  }
  CHECK(m.sent.status == VL_WC_SUCCESS);
}

TEST_CASE("inline data arrives as it was at the call") {
  Messages m;
  REQUIRE(m.Receive(9, {m.At(&m.b, 0, 64)}) == 0);
  uint8_t bytes[20] = "inline bytes, here!";
  const vl_sge sge = {reinterpret_cast<uintptr_t>(bytes), 20, 0};  // in no region
  vl_send_wr wr = m.Make(VL_OP_SEND, 0);
  wr.sg_list = &sge;
  wr.flags |= VL_SEND_INLINE;
  REQUIRE(vl_post_sq(m.a.qp, &wr, nullptr) == 0);
  memset(bytes, 0, sizeof(bytes));
  m.fabric.Step();
  vl_wc wc;
  REQUIRE(vl_poll_cq(m.b.cq, 1, &wc) == 1);
  CHECK(wc.byte_len == 20);
  CHECK(memcmp(m.b.buffer.data(), "inline bytes, here!", 20) == 0);
}

TEST_CASE("a PULL scatters remote bytes into its elements") {
  Messages m;
  for (size_t i = 0; i < 100; ++i) m.b.buffer[1000 + i] = static_cast<uint8_t>(i ^ 0x35);
  memset(m.a.buffer.data(), 0, 4096);
  const vl_sge list[] = {m.At(&m.a, 5, 30), m.At(&m.a, 500, 0), m.At(&m.a, 50, 70)};
  vl_send_wr wr = m.Make(VL_OP_PULL, 0);
  wr.sg_list = list;
  wr.num_sge = 3;
  wr.flags |= VL_SEND_FENCE;
  wr.remote_address += 1000;
  m.Run(wr);
  CHECK(m.sent.status == VL_WC_SUCCESS);
  CHECK(m.sent.opcode == VL_WC_PULL);
  CHECK(m.sent.byte_len == 100);
  CHECK(m.received.empty());
  CHECK(memcmp(m.a.buffer.data() + 5, m.b.buffer.data() + 1000, 30) == 0);
  CHECK(memcmp(m.a.buffer.data() + 50, m.b.buffer.data() + 1030, 70) == 0);
  CHECK(m.a.buffer[35] == 0);
}

TEST_CASE("a region that was invalidated here serves nobody, and can be deallocated") {
  Messages m;
  vl_send_wr wr = {};
  wr.opcode = VL_OP_LOCAL_INVALIDATE;
  wr.flags = VL_SEND_SIGNALED;
  wr.invalidate_stag = vl_mr_stag(m.a.mr);
  m.Run(wr);
  CHECK(m.sent.status == VL_WC_SUCCESS);
  CHECK(m.sent.opcode == VL_WC_LOCAL_INVALIDATE);
  m.Run(m.Make(VL_OP_PUSH, 8));
  CHECK(m.sent.status == VL_WC_LOC_PROT_ERR);
}

TEST_CASE("a message that meets no receive says so, and the peer is none the worse") {
  Messages m;
  m.Run(m.Make(VL_OP_SEND, 8));
  CHECK(m.sent.status == VL_WC_RNR_RETRY_EXC_ERR);
  CHECK(m.sent.detail == 0x1202);
  CHECK(m.received.empty());
  vl_qp_attr attr = {};
  REQUIRE(vl_query_qp(m.a.qp, &attr) == 0);
  CHECK(attr.state == VL_QPS_ERROR);
  REQUIRE(vl_query_qp(m.b.qp, &attr) == 0);
  CHECK(attr.state == VL_QPS_RTS);
}

TEST_CASE("a message that meets a short receive ends as a remote operation error") {
  Messages m;
  REQUIRE(m.Receive(9, {m.At(&m.b, 0, 7)}) == 0);
  m.Run(m.Make(VL_OP_SEND, 8));
  CHECK(m.sent.detail == 0x1205);
  REQUIRE(m.received.size() == 1);
  CHECK(m.received[0].status == VL_WC_LOC_LEN_ERR);
  CHECK(m.b.buffer[0] == 0);
  CHECK(m.sent.status == VL_WC_REM_OP_ERR);
  vl_qp_attr attr = {};
  for (vl_qp* qp : {m.a.qp, m.b.qp}) {
    REQUIRE(vl_query_qp(qp, &attr) == 0);
    CHECK(attr.state == VL_QPS_ERROR);
  }
}

TEST_CASE("requests that do not fit their opcode are refused with EINVAL") {
  Messages m;
  vl_send_wr wr = m.Make(VL_OP_PUSH, 8);
  std::vector<vl_sge> list(17, m.At(&m.a, 0, 1));
  SECTION("a solicited PUSH") { wr.flags = VL_SEND_SOLICITED; }
  SECTION("a solicited PULL") {
    wr.opcode = VL_OP_PULL;
    wr.flags = VL_SEND_SOLICITED;
  }
  SECTION("an inline PULL") {
    wr.opcode = VL_OP_PULL;
    wr.flags = VL_SEND_INLINE;
  }
  SECTION("an inline invalidate") {
    wr.opcode = VL_OP_LOCAL_INVALIDATE;
    wr.flags = VL_SEND_INLINE;
  }
  SECTION("an invalidate with elements") { wr.opcode = VL_OP_LOCAL_INVALIDATE; }
  SECTION("17 elements") {
    wr.sg_list = list.data();
    wr.num_sge = 17;
  }
  SECTION("17 inline elements") {
    wr.sg_list = list.data();
    wr.num_sge = 17;
    wr.flags = VL_SEND_INLINE;
  }
  errno = 0;
  CHECK(vl_post_sq(m.a.qp, &wr, nullptr) == -1);
  CHECK(errno == EINVAL);
}

TEST_CASE("a PULL of more pieces than the queue pair may read at a time is refused with EINVAL") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  vl_qp_init_attr init = QpInit(self.cq, self.cq, 4, 4);
  init.max_send_sge = 4;
  init.max_reads_out = 2;
  vl_qp* qp = vl_create_qp(self.pd, &init);
  REQUIRE(qp != nullptr);
  for (vl_qp_state state : {VL_QPS_INIT, VL_QPS_RTR, VL_QPS_RTS}) {
    const vl_qp_attr attr = AttrOf(state);
    REQUIRE(vl_modify_qp(qp, &attr) == 0);
  }
  vl_sge list[4] = {{0, 1, 0}, {0, 0, 0}, {0, 1, 0}, {0, 1, 0}};
  vl_send_wr wr = {};
  wr.opcode = VL_OP_PULL;
  wr.sg_list = list;
  wr.num_sge = 3;
  CHECK(vl_post_sq(qp, &wr, nullptr) == 0);
  wr.num_sge = 4;
  errno = 0;
  CHECK(vl_post_sq(qp, &wr, nullptr) == -1);
  CHECK(errno == EINVAL);
  CHECK(vl_destroy_qp(qp) == 0);

  init.max_reads_out = 0;
  qp = vl_create_qp(self.pd, &init);
  wr.num_sge = 0;
  CHECK(vl_post_sq(qp, &wr, nullptr) == -1);
  CHECK(vl_destroy_qp(qp) == 0);
  init.max_reads_in = VL_MAX_READS + 1;
  CHECK(vl_create_qp(self.pd, &init) == nullptr);
}

}  // namespace
}  // namespace exrnic
