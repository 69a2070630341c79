// SPDX-License-Identifier: BSD-2-Clause
// Work requests of several slots: what the device finds in the ring, and how slots are counted.
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <cstring>

#include "qp.h"
#include "rig.h"
#include "srq.h"

namespace exrnic {
namespace {

EndpointSize OneLargest() {
  EndpointSize size;
  size.send_wr = 1;  // of five slots: a ring of eight
  size.recv_wr = 1;
  size.sge = VL_MAX_SGE;
  return size;
}

template <typename Queue>
const uint8_t* Slot(const SlotRing<Queue>& ring, uint32_t index) {
  return static_cast<const uint8_t*>(ring.ring()) + 64 * index;
}

// Elements with numbers of their own; none is executed.
std::vector<vl_sge> Elements(int count) {
  std::vector<vl_sge> list;
  for (int i = 0; i < count; ++i) {
    list.push_back({0x1000u * (i + 1), 0x10u + i, 0xab00u + i});
  }
  return list;
}

vl_send_wr Request(const std::vector<vl_sge>& list) {
  vl_send_wr wr = {};
  wr.sg_list = list.data();
  wr.num_sge = static_cast<int>(list.size());
  wr.opcode = VL_OP_SEND;
  return wr;
}

void CheckElement(const uint8_t* at, const vl_sge& expected) {
  uint64_t address;
  uint32_t length, stag;
  memcpy(&address, at, 8);
  memcpy(&length, at + 8, 4);
  memcpy(&stag, at + 12, 4);
  CHECK(address == expected.address);
  CHECK(length == expected.length);
  CHECK(stag == expected.stag);
}

TEST_CASE("elements stand two in the first slot and four in each further one, around the ring") {
  Pair pair(OneLargest());
  // Slots 0 to 4 are used and given back; the next request starts at 5 of 8.
  for (uint64_t i = 0; i < 5; ++i) REQUIRE(pair.Post(i) == 0);
  pair.fabric.Step();
  vl_wc wc[5];
  REQUIRE(vl_poll_cq(pair.a.cq, 5, wc) == 5);
  const std::vector<vl_sge> list = Elements(16);
  const vl_send_wr wr = Request(list);
  REQUIRE(vl_post_sq(pair.a.qp, &wr, nullptr) == 0);
  const WorkQueue& sq = pair.a.qp->sq;
  CHECK(Slot(sq, 5)[0] == 3);
  CHECK(Slot(sq, 5)[2] == 16);
  CHECK(Slot(sq, 5)[3] == 5);
  uint32_t length;
  memcpy(&length, Slot(sq, 5) + 20, 4);
  CHECK(length == 16 * 0x10 + 120);
  for (uint32_t i = 0; i < 16; ++i) {
    INFO("element " << i);
    const uint32_t slot = i < 2 ? 5 : 6 + (i - 2) / 4;
    const uint32_t at = i < 2 ? 32 + 16 * i : 16 * ((i - 2) % 4);
    CheckElement(Slot(sq, slot % 8) + at, list[i]);
  }
  for (uint32_t i = 32; i < 64; ++i) REQUIRE(Slot(sq, 1)[i] == 0);
}

TEST_CASE("a work request takes as many slots as its elements need") {
  EndpointSize size;
  size.sge = VL_MAX_SGE;
  Pair pair(size);
  const int slots[] = {1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5};
  uint32_t at = 0;
  for (int count = 0; count <= VL_MAX_SGE; ++count) {
    const std::vector<vl_sge> list = Elements(count);
    const vl_send_wr send = Request(list);
    const vl_recv_wr recv = {0, nullptr, list.data(), count};
    INFO(count << " elements");
    REQUIRE(vl_post_sq(pair.a.qp, &send, nullptr) == 0);
    REQUIRE(vl_post_rq(pair.a.qp, &recv, nullptr) == 0);
    CHECK(Slot(pair.a.qp->sq, at)[3] == slots[count]);
    CHECK(Slot(*pair.a.qp->rq, at)[3] == slots[count]);
    CHECK(Slot(*pair.a.qp->rq, at)[0] == 0x80);
    at += static_cast<uint32_t>(slots[count]);
  }
}

TEST_CASE("inline bytes stand where elements would, and may be reused at the return") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  vl_qp_init_attr init = QpInit(self.cq, self.cq, 4, 4);
  init.max_inline = 33;
  vl_qp* qp = vl_create_qp(self.pd, &init);
  REQUIRE(qp != nullptr);
  CHECK(init.max_inline == VL_MAX_INLINE);
  for (vl_qp_state state : {VL_QPS_INIT, VL_QPS_RTR, VL_QPS_RTS}) {
    const vl_qp_attr attr = AttrOf(state);
    REQUIRE(vl_modify_qp(qp, &attr) == 0);
  }
  uint8_t bytes[65];
  for (uint8_t i = 0; i < 65; ++i) bytes[i] = static_cast<uint8_t>(i + 1);
  uint32_t at = 0;
  for (uint32_t length : {0u, 1u, 32u, 33u, 64u}) {
    INFO(length << " bytes");
    const uint32_t half = length / 2;
    const vl_sge list[] = {{reinterpret_cast<uintptr_t>(bytes), half, 1},
                           {0, 0, 2},
                           {reinterpret_cast<uintptr_t>(bytes) + half, length - half, 3}};
    vl_send_wr wr = {};
    wr.sg_list = list;
    wr.num_sge = 3;
    wr.opcode = VL_OP_SEND;
    wr.flags = VL_SEND_INLINE;
    REQUIRE(vl_post_sq(qp, &wr, nullptr) == 0);
    const uint8_t* slot = Slot(qp->sq, at);
    CHECK(slot[1] == 8);
    CHECK(slot[2] == 0);
    CHECK(slot[3] == (length <= 32 ? 1 : 2));
    CHECK(slot[20] == length);
    CHECK(memcmp(slot + 32, bytes, length) == 0);
    at += slot[3];
  }
  const vl_sge one_more = {reinterpret_cast<uintptr_t>(bytes), 65, 1};
  vl_send_wr wr = {};
  wr.sg_list = &one_more;
  wr.num_sge = 1;
  wr.opcode = VL_OP_SEND;
  wr.flags = VL_SEND_INLINE;
  errno = 0;
  CHECK(vl_post_sq(qp, &wr, nullptr) == -1);
  CHECK(errno == EINVAL);
  CHECK(vl_destroy_qp(qp) == 0);
}

TEST_CASE("a queue is granted all that its slots have room for") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  const struct {
    uint32_t wr, sge, bytes, granted_wr, granted_sge, granted_bytes;
  } kRows[] = {{1, 0, 0, 8, 2, 32},      {9, 2, 32, 16, 2, 32}, {4, 3, 0, 4, 6, 64},
               {4, 2, 33, 4, 6, 64},     {3, 7, 64, 5, 10, 64}, {1, 15, 0, 1, 16, 64},
               {819, 16, 0, 819, 16, 64}};
  for (const auto& row : kRows) {
    INFO(row.wr << " of " << row.sge << " elements, " << row.bytes << " bytes");
    vl_qp_init_attr init = QpInit(self.cq, self.cq, row.wr, row.wr);
    init.max_send_sge = init.max_recv_sge = row.sge;
    init.max_inline = row.bytes;
    vl_qp* qp = vl_create_qp(self.pd, &init);
    REQUIRE(qp != nullptr);
    CHECK(init.max_send_wr == row.granted_wr);
    CHECK(init.max_send_sge == row.granted_sge);
    CHECK(init.max_inline == row.granted_bytes);
    CHECK(vl_destroy_qp(qp) == 0);
  }
  vl_qp_init_attr too_many = QpInit(self.cq, self.cq, 820, 1);
  too_many.max_send_sge = 16;  // 4100 slots
  errno = 0;
  CHECK(vl_create_qp(self.pd, &too_many) == nullptr);
  CHECK(errno == EINVAL);
}

TEST_CASE("a queue is full when the slots of the next request are not free") {
  Pair pair(OneLargest());
  const std::vector<vl_sge> list(16, pair.Push(0, 8).sg_list[0]);
  vl_send_wr large = pair.Push(1, 8);
  large.sg_list = list.data();
  large.num_sge = 16;
  vl_send_wr small = pair.Push(2, 8);
  REQUIRE(vl_post_sq(pair.a.qp, &large, nullptr) == 0);
  errno = 0;
  CHECK(vl_post_sq(pair.a.qp, &large, nullptr) == -1);
  CHECK(errno == ENOMEM);
  for (int i = 0; i < 3; ++i) REQUIRE(vl_post_sq(pair.a.qp, &small, nullptr) == 0);
  CHECK(vl_post_sq(pair.a.qp, &small, nullptr) == -1);
  pair.fabric.Step();
  vl_wc wc[4];
  REQUIRE(vl_poll_cq(pair.a.cq, 1, wc) == 1);
  CHECK(wc[0].wr_id == 1);
  CHECK(wc[0].byte_len == 16 * 8);
  REQUIRE(vl_post_sq(pair.a.qp, &large, nullptr) == 0);
  pair.fabric.Step();
  REQUIRE(vl_poll_cq(pair.a.cq, 4, wc) == 4);
  CHECK(wc[2].wr_id == 2);
  CHECK(wc[3].wr_id == 1);
  CHECK(wc[3].status == VL_WC_SUCCESS);
}

TEST_CASE("requests of all sizes complete in order over many rounds of the ring") {
  EndpointSize size;
  size.send_wr = 3;
  size.sge = VL_MAX_SGE;
  Pair pair(size);
  uint64_t posted = 0, polled = 0;
  while (polled < 20000) {
    vl_send_wr wr = pair.Push(posted, 1, posted % 3 == 0 ? 0 : VL_SEND_SIGNALED);
    const std::vector<vl_sge> list(posted * 7 % 17, pair.sge);
    wr.sg_list = list.data();
    wr.num_sge = static_cast<int>(list.size());
    REQUIRE(vl_post_sq(pair.a.qp, &wr, nullptr) == 0);
    ++posted;
    if (posted % 3 != 0) continue;
    pair.fabric.Step();
    vl_wc wc[3];
    REQUIRE(vl_poll_cq(pair.a.cq, 3, wc) == 2);
    for (uint64_t i = 0; i < 2; ++i) {
      REQUIRE(wc[i].wr_id == posted - 2 + i);
      REQUIRE(wc[i].byte_len == wc[i].wr_id * 7 % 17);
      REQUIRE(wc[i].status == VL_WC_SUCCESS);
    }
    polled += 3;
  }
  CHECK(pair.fabric.device(0).counters().doorbells_refused == 0);
}

TEST_CASE("a shared receive ends as a whole; one that could not be read frees its first slot") {
  SharedQueue queue(8);
  REQUIRE(queue.allocated());
  const exrnic_work wqe = {};
  uint64_t wr_id = 0;
  for (uint32_t first = 0; first < 70'000; first += 6) {  // around the ring and the index
    INFO("first slot " << first);
    REQUIRE(queue.HasRoom(8));
    queue.Put(wqe, 5, first);
    REQUIRE_FALSE(queue.HasRoom(4));
    REQUIRE_FALSE(queue.Complete(static_cast<uint16_t>(first + 5), &wr_id));
    REQUIRE_FALSE(queue.Complete(static_cast<uint16_t>(first + 4) + 0x10000u, &wr_id));
    const bool read = first % 4 != 0;
    REQUIRE(queue.Complete(static_cast<uint16_t>(read ? first + 4 : first), &wr_id));
    REQUIRE(wr_id == first);
    REQUIRE(queue.HasRoom(read ? 8 : 4));
    REQUIRE(queue.HasRoom(5) == read);
    for (uint32_t i = 0; i < 5; ++i) {
      REQUIRE_FALSE(queue.Complete(static_cast<uint16_t>(first + i), &wr_id));
    }
    queue.Put(wqe, 1, first + 5);  // its end says that all before was read too
    REQUIRE(queue.Complete(static_cast<uint16_t>(first + 5), &wr_id));
    REQUIRE(wr_id == first + 5);
  }
}

}  // namespace
}  // namespace exrnic
