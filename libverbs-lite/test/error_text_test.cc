// SPDX-License-Identifier: BSD-2-Clause
// vl_error_text(): each refusal names argument, value and limit, and a success leaves no text.
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "exrnic/connect.h"
#include "exrnic/fabric.h"
#include "exrnic/messages.h"
#include "exrnic/ntb.h"
#include "rig.h"

namespace exrnic {
namespace {

// A call that fails: with this errno, and a text that has all of these words.
struct Refusal {
  std::function<bool()> fails;
  int error;
  std::vector<std::string> words;
};

void Expect(const Refusal& refusal) {
  errno = 0;
  const bool failed = refusal.fails();
  const int error = errno;
  const std::string text = vl_error_text();
  INFO("vl_error_text() is \"" << text << "\"");
  CHECK(failed);
  CHECK(error == refusal.error);
  for (const std::string& word : refusal.words) {
    INFO("it should have \"" << word << "\"");
    CHECK(text.find(word) != std::string::npos);
  }
}

void ExpectAll(const std::vector<Refusal>& refusals) {
  for (size_t i = 0; i < refusals.size(); ++i) {
    INFO("refusal " << i);
    Expect(refusals[i]);
  }
}

// What the driver's errno does not say.
TEST_CASE("who may not have management frames hears why") {
  FakeFabric fabric(1);
  Endpoint end(&fabric, 0);
  uint8_t frame[VL_MANAGEMENT_BYTES] = {};
  const auto send = [&] { return vl_send_management(end.rnic, frame) < 0; };
  const auto receive = [&] { return vl_receive_management(end.rnic, frame) < 0; };
  for (const std::function<bool()>& call : {std::function<bool()>(send), {receive}}) {
    fabric.FailNextCall(EBUSY);
    ExpectAll({{call, EBUSY, {"another process", "end it first"}}});
    fabric.FailNextCall(EPERM);
    ExpectAll({{call, EPERM, {"CAP_NET_ADMIN"}}});
  }
}

// A success, behind a failure that has left its text.
void ExpectSilent(const char* what, const std::function<bool()>& succeeds) {
  INFO(what);
  REQUIRE(vl_close_rnic(nullptr) == -1);
  REQUIRE(std::string(vl_error_text()) == "rnic is NULL");
  CHECK(succeeds());
  CHECK(std::string(vl_error_text()).empty());
}

TEST_CASE("a null pointer is named") {
  FakeFabric fabric(1);
  Endpoint end(&fabric, 0);
  vl_qp_attr attr = {};
  vl_message message = {};
  uint32_t value = 0;
  ExpectAll({
      {[] { return vl_close_rnic(nullptr) < 0; }, EINVAL, {"rnic is NULL"}},
      {[&] { return vl_query_rnic(end.rnic, nullptr) < 0; }, EINVAL, {"attr is NULL"}},
      {[] { return vl_allocate_pd(nullptr) == nullptr; }, EINVAL, {"rnic is NULL"}},
      {[] { return vl_deallocate_pd(nullptr) < 0; }, EINVAL, {"pd is NULL"}},
      {[] { return vl_deallocate_mr(nullptr) < 0; }, EINVAL, {"mr is NULL"}},
      {[] { return vl_mr_stag(nullptr) == 0; }, EINVAL, {"mr is NULL"}},
      {[] { return vl_allocate_mw(nullptr) == nullptr; }, EINVAL, {"pd is NULL"}},
      {[] { return vl_deallocate_mw(nullptr) < 0; }, EINVAL, {"mw is NULL"}},
      {[] { return vl_mw_stag(nullptr) == 0; }, EINVAL, {"mw is NULL"}},
      {[] { return vl_create_comp_channel(nullptr) == nullptr; }, EINVAL, {"rnic is NULL"}},
      {[] { return vl_comp_channel_fd(nullptr) < 0; }, EINVAL, {"channel is NULL"}},
      {[] { return vl_destroy_cq(nullptr) < 0; }, EINVAL, {"cq is NULL"}},
      {[] { return vl_poll_cq(nullptr, 1, nullptr) < 0; }, EINVAL, {"cq is NULL"}},
      {[] { return vl_req_notify_cq(nullptr, 0) < 0; }, EINVAL, {"cq is NULL"}},
      {[&] { return vl_create_srq(end.pd, nullptr) == nullptr; }, EINVAL, {"attr is NULL"}},
      {[] { return vl_destroy_srq(nullptr) < 0; }, EINVAL, {"srq is NULL"}},
      {[&] { return vl_create_qp(end.pd, nullptr) == nullptr; }, EINVAL, {"attr is NULL"}},
      {[&] { return vl_modify_qp(nullptr, &attr) < 0; }, EINVAL, {"qp is NULL"}},
      {[&] { return vl_query_qp(end.qp, nullptr) < 0; }, EINVAL, {"attr is NULL"}},
      {[] { return vl_destroy_qp(nullptr) < 0; }, EINVAL, {"qp is NULL"}},
      {[&] { return vl_post_sq(end.qp, nullptr, nullptr) < 0; }, EINVAL, {"wr is NULL"}},
      {[] { return vl_ack_async_event(nullptr) < 0; }, EINVAL, {"event is NULL"}},
      {[&] { return vl_poll_message(nullptr, &message) < 0; }, EINVAL, {"channel is NULL"}},
      {[] { return vl_unmap_window(nullptr) < 0; }, EINVAL, {"window is NULL"}},
      {[&] { return vl_get_scratchpad(nullptr, 0, &value) < 0; }, EINVAL, {"port is NULL"}},
      {[&] { return vl_get_peer_scratchpad(nullptr, 0, &value) < 0; }, EINVAL, {"port is NULL"}},
      {[&] { return vl_set_own_scratchpad(nullptr, 0, 0) < 0; }, EINVAL, {"port is NULL"}},
      {[] { return vl_conn_listen(nullptr) < 0; }, EINVAL, {"address is NULL"}},
      {[&] { return vl_connect_qp(end.qp, 0, nullptr, nullptr, 0) < 0; }, EINVAL, {"mine is NULL"}},
  });
}

TEST_CASE("a region, a queue or a queue pair that is refused names attribute, value and limit") {
  FakeFabric fabric(2);
  Endpoint end(&fabric, 0);
  Endpoint other(&fabric, 1);
  uint8_t byte = 0;
  const auto region = [&](void* address, size_t length, int access) {
    return [=, &end] { return vl_allocate_mr(end.pd, address, length, access) == nullptr; };
  };
  const auto reallocate = [&](int what, vl_pd* pd, void* address, size_t length, int access) {
    return [=, &end] { return vl_reallocate_mr(end.mr, what, pd, address, length, access) < 0; };
  };
  const auto cq = [&](std::function<void(vl_cq_init_attr*)> change) {
    return [=, &end] {
      vl_cq_init_attr attr = {};
      attr.entries = 4;
      change(&attr);
      return vl_create_cq_ex(end.rnic, &attr) == nullptr;
    };
  };
  const auto qp = [&](std::function<void(vl_qp_init_attr*)> change) {
    return [=, &end] {
      vl_qp_init_attr attr = QpInit(end.cq, end.cq, 4, 4);
      change(&attr);
      return vl_create_qp(end.pd, &attr) == nullptr;
    };
  };
  const auto srq = [&](vl_srq_attr attr) {
    return [=, &end]() mutable { return vl_create_srq(end.pd, &attr) == nullptr; };
  };
  uint32_t pages = 2, shift = 0;
  ExpectAll({
      {region(nullptr, 1, 0), EINVAL, {"address is NULL"}},
      {region(&byte, 0, 0), EINVAL, {"length is 0", "1 byte"}},
      {region(&byte, SIZE_MAX, 0), EINVAL, {"wrap", std::to_string(SIZE_MAX)}},
      {region(&byte, 1, 0x22), EINVAL, {"access is 0x22", "0x1f"}},
      {reallocate(0, nullptr, nullptr, 0, 0), EINVAL, {"what is 0x0", "0x7"}},
      {reallocate(VL_REALLOCATE_PD, nullptr, nullptr, 0, 0), EINVAL, {"pd is NULL"}},
      {reallocate(VL_REALLOCATE_PD, other.pd, nullptr, 0, 0), EINVAL, {"pd is of another RNIC"}},
      {reallocate(VL_REALLOCATE_ACCESS, nullptr, &byte, 1, 0),
       EINVAL,
       {"address", "without VL_REALLOCATE_MEMORY"}},
      {reallocate(VL_REALLOCATE_MEMORY, nullptr, &byte, 1, 1),
       EINVAL,
       {"access", "without VL_REALLOCATE_ACCESS"}},
      {[&] { return vl_get_pbl(end.mr, nullptr, &pages, &shift) < 0; },
       EINVAL,
       {"entries is NULL", "*pages 2"}},
      {cq([](auto* attr) { attr->entries = 0; }), EINVAL, {"entries is 0, not 1 to 49153"}},
      {cq([](auto* attr) { attr->entries = 65536; }), EINVAL, {"entries is 65536"}},
      {cq([](auto* attr) { attr->moderation.count = 65536; }),
       EINVAL,
       {"moderation.count is 65536, not 0 to 65535"}},
      {cq([](auto* attr) { attr->moderation.ns = 1 << 24; }),
       EINVAL,
       {"moderation.ns is 16777216, not 0 to 16777215"}},
      {cq([](auto* attr) { attr->comp_vector = 32; }), EINVAL, {"comp_vector is 32, not 0 to 31"}},
      {srq({0, 1, 0}), EINVAL, {"max_wr is 0, not 1 to 4096"}},
      {srq({1, 17, 0}), EINVAL, {"max_sge is 17, not 0 to 16"}},
      {srq({4096, 3, 0}), EINVAL, {"max_wr is 4096, not 1 to 2048", "takes 2"}},
      {srq({1, 1, 65536}), EINVAL, {"limit is 65536, not 0 to 65535"}},
      {qp([](auto* attr) { attr->send_cq = nullptr; }), EINVAL, {"send_cq is NULL"}},
      {qp([&](auto* attr) { attr->recv_cq = other.cq; }), EINVAL, {"recv_cq is of another RNIC"}},
      {qp([](auto* attr) { attr->max_send_wr = 0; }), EINVAL, {"max_send_wr is 0, not 1 to"}},
      {qp([](auto* attr) { attr->max_recv_wr = 4097; }),
       EINVAL,
       {"max_recv_wr is 4097, not 1 to 4096"}},
      {qp([](auto* attr) { attr->max_send_sge = 17; }),
       EINVAL,
       {"max_send_sge is 17, not 0 to 16"}},
      {qp([](auto* attr) { attr->max_recv_sge = 99; }),
       EINVAL,
       {"max_recv_sge is 99, not 0 to 16"}},
      {qp([](auto* attr) { attr->max_inline = 65; }), EINVAL, {"max_inline is 65, not 0 to 64"}},
      {qp([](auto* attr) { attr->max_reads_out = VL_MAX_READS + 1; }),
       EINVAL,
       {"max_reads_out is 65, not 0 to 64"}},
      {qp([](auto* attr) { attr->max_reads_in = VL_MAX_READS + 1; }),
       EINVAL,
       {"max_reads_in is 65, not 0 to 64"}},
      {qp([](auto* attr) { attr->service = static_cast<vl_service>(7); }),
       EINVAL,
       {"service is 7"}},
  });
}

TEST_CASE("a queue pair that finds no room is told what it has asked for, and how much there is") {
  FakeFabric fabric(1);
  Endpoint end(&fabric, 0);
  vl_qp_init_attr attr = {};
  attr.send_cq = attr.recv_cq = end.cq;
  attr.max_send_wr = attr.max_recv_wr = 1;
  attr.max_reads_out = 9;
  attr.max_reads_in = 2;
  fabric.FailNextCall(ENOSPC);
  Expect({[&] { return vl_create_qp(end.pd, &attr) == nullptr; },
          ENOSPC,
          {"max_reads_out is 9 and max_reads_in 2", "4096 places for PULLs (read_pool)",
           "all 1022 queue pairs (max_qp)"}});
}

TEST_CASE("keys that a queue pair does not get are named, with what to do") {
  FakeFabric fabric(1);
  Endpoint end(&fabric, 0);
  vl_qp_init_attr init = {};
  init.send_cq = init.recv_cq = end.cq;
  init.max_send_wr = init.max_recv_wr = 1;
  init.flags = VL_QP_GRH;
  Expect({[&] { return vl_create_qp(end.pd, &init) == nullptr; },
          EINVAL,
          {"flags is 0x1", "bits of 0x0"}});
  init.service = VL_SERVICE_UD;
  vl_qp* datagrams = vl_create_qp(end.pd, &init);
  REQUIRE(datagrams != nullptr);
  const auto keys = [&](uint32_t qkey, uint32_t pkey_index, int error) {
    return [=, &fabric] {
      vl_qp_attr attr = {};
      attr.state = VL_QPS_INIT;
      attr.qkey = qkey;
      attr.pkey_index = pkey_index;
      if (error != 0) fabric.FailNextCall(error);
      return vl_modify_qp(datagrams, &attr) < 0;
    };
  };
  ExpectAll({
      {keys(0x80000007, 0, EPERM),
       EPERM,
       {"qkey is 0x80000007", "CAP_NET_RAW", "below 0x80000000"}},
      {keys(7, 0, EPERM), EPERM, {"does not go to INIT"}},
      {keys(7, 5, EINVAL), EINVAL, {"pkey_index is 5", "no partition", "pkeys/5"}},
      {keys(7, 16, 0), EINVAL, {"pkey_index is 16, not 0 to 15"}},
  });
  CHECK(vl_destroy_qp(datagrams) == 0);
}

TEST_CASE("a state that a queue pair does not go to, and what it would need, is named") {
  FakeFabric fabric(2);
  Endpoint end(&fabric, 0);
  const auto modify = [&](std::function<void(vl_qp_attr*)> change) {
    return [=, &end] {
      vl_qp_attr attr = {};
      change(&attr);
      return vl_modify_qp(end.qp, &attr) < 0;
    };
  };
  ExpectAll({
      {modify([](auto* attr) { attr->state = static_cast<vl_qp_state>(9); }),
       EINVAL,
       {"state is 9"}},
      {modify([](auto* attr) { attr->state = VL_QPS_RTS; }), EPERM, {"RESET", "to RTS"}},
      {modify([](auto* attr) {
         attr->state = VL_QPS_RTR;
         attr->mask = VL_QP_MIN_RNR_TIMER;
         attr->min_rnr_timer = 32;
       }),
       EINVAL,
       {"min_rnr_timer is 32, not 0 to 31"}},
      {modify([](auto* attr) {
         attr->state = VL_QPS_RTS;
         attr->mask = VL_QP_RNR_RETRY;
         attr->rnr_retry = 8;
       }),
       EINVAL,
       {"rnr_retry is 8, not 0 to 7"}},
      {[&] { return vl_attach_mcast(end.qp, 1) < 0; }, EINVAL, {"VL_SERVICE_UD"}},
      {[&] { return vl_detach_mcast(end.qp, 65536) < 0; },
       EINVAL,
       {"group is 65536, not 0 to 65535"}},
  });
}

TEST_CASE("what a memory window cannot be bound to is named") {
  Pair pair;
  const auto bind = [&](std::function<void(vl_send_wr*)> change) {
    return [=, &pair] {
      vl_send_wr wr = {};
      wr.opcode = VL_OP_BIND_MW;
      wr.bind = {1, 2, 0x1000, 8, VL_ACCESS_REMOTE_READ};
      change(&wr);
      return vl_post_sq(pair.a.qp, &wr, nullptr) < 0;
    };
  };
  const vl_sge element = {0, 8, 0};
  ExpectAll({
      {bind([](auto* wr) { wr->bind.access = VL_ACCESS_LOCAL_WRITE; }),
       EINVAL,
       {"bind.access is 0x1", "bits of 0xe"}},
      {bind([](auto* wr) { wr->bind.access = VL_ACCESS_MW_BIND; }),
       EINVAL,
       {"bind.access is 0x10", "bits of 0xe"}},
      {bind([](auto* wr) { wr->bind.length = 0; }),
       EINVAL,
       {"bind.length is 0", "1 byte or more", "VL_OP_LOCAL_INVALIDATE"}},
      {bind([](auto* wr) { wr->bind.length = ~uint64_t{0}; }),
       EINVAL,
       {"bind.length is 18446744073709551615", "wraps from bind.address 0x1000"}},
      {bind([&](auto* wr) {
         wr->num_sge = 1;
         wr->sg_list = &element;
       }),
       EINVAL,
       {"num_sge is 1, not 0 to 0"}},
      {bind([](auto* wr) { wr->flags = VL_SEND_INLINE; }), EINVAL, {"flags is 0x8", "opcode 11"}},
  });
  CHECK_FALSE(bind([](auto*) {})());
}

TEST_CASE("work that is refused says why") {
  Pair pair;
  Endpoint fresh(&pair.fabric, 0);
  const auto post = [&](std::function<void(vl_send_wr*)> change) {
    return [=, &pair] {
      vl_send_wr wr = pair.Push(1, 8);
      change(&wr);
      return vl_post_sq(pair.a.qp, &wr, nullptr) < 0;
    };
  };
  const vl_sge three[3] = {};
  const vl_sge huge[2] = {{0, 0xffffffff, 0}, {0, 1, 0}};
  const vl_sge large = {0, 100, 0};
  vl_recv_wr receive = {};
  vl_wc wc;
  ExpectAll({
      {post([](auto* wr) { wr->opcode = static_cast<vl_wr_opcode>(77); }),
       EINVAL,
       {"opcode is 77"}},
      {post([](auto* wr) { wr->opcode = static_cast<vl_wr_opcode>(10); }),  // FAST_REGISTER
       EINVAL,
       {"opcode is 10"}},
      {post([](auto* wr) { wr->flags = VL_SEND_SOLICITED; }), EINVAL, {"flags is 0x4", "0xb"}},
      {post([](auto* wr) { wr->num_sge = -1; }), EINVAL, {"num_sge is -1, not 0 to 2"}},
      {post([&](auto* wr) {
         wr->num_sge = 3;
         wr->sg_list = three;
       }),
       EINVAL,
       {"num_sge is 3, not 0 to 2"}},
      {post([](auto* wr) { wr->sg_list = nullptr; }), EINVAL, {"sg_list is NULL", "num_sge 1"}},
      {post([&](auto* wr) {
         wr->num_sge = 2;
         wr->sg_list = huge;
       }),
       EINVAL,
       {"4294967296 bytes", "2147483648"}},
      {post([&](auto* wr) {
         wr->sg_list = &large;
         wr->flags = VL_SEND_INLINE;
       }),
       EINVAL,
       {"100 bytes inline", "max_inline", "32"}},
      {post([](auto* wr) {
         wr->opcode = VL_OP_FETCH_ADD;
         wr->num_sge = 0;
       }),
       EINVAL,
       {"one element of 8 bytes"}},
      {[&] {
         const vl_send_wr wr = pair.Push(1, 8);
         return vl_post_sq(fresh.qp, &wr, nullptr) < 0;
       },
       EINVAL,
       {"RESET", "RTS"}},
      {[&] { return vl_post_rq(fresh.qp, &receive, nullptr) < 0; }, EINVAL, {"RESET", "INIT"}},
      {[&] { return vl_poll_cq(pair.a.cq, -1, &wc) < 0; }, EINVAL, {"num_entries is -1"}},
      {[&] { return vl_poll_cq(pair.a.cq, 3, nullptr) < 0; }, EINVAL, {"wc is NULL"}},
      {[&] {
         for (int i = 0; i < 100; ++i)
           if (pair.Post(1) < 0) return true;
         return false;
       },
       ENOMEM,
       {"full", "polled"}},
  });
}

TEST_CASE("an object in use says by what, and what to do") {
  FakeFabric fabric(1);
  Endpoint end(&fabric, 0);
  vl_comp_channel* channel = vl_create_comp_channel(end.rnic);
  vl_cq_init_attr attr = {};
  attr.entries = 4;
  attr.channel = channel;
  vl_cq* cq = vl_create_cq_ex(end.rnic, &attr);
  vl_srq_attr srq_attr = {4, 1, 0};
  vl_srq* srq = vl_create_srq(end.pd, &srq_attr);
  vl_qp_init_attr init = QpInit(cq, cq, 1, 1);
  init.srq = srq;
  vl_qp* qp = vl_create_qp(end.pd, &init);
  REQUIRE(qp != nullptr);
  const vl_async_event never = {static_cast<vl_event_type>(99), qp, nullptr, nullptr};
  ExpectAll({
      {[&] { return vl_close_rnic(end.rnic) < 0; }, EBUSY, {"completion queues", "destroy"}},
      {[&] { return vl_deallocate_pd(end.pd) < 0; }, EBUSY, {"4 queue pairs", "destroy"}},
      {[&] { return vl_destroy_cq(cq) < 0; }, EBUSY, {"queue pairs", "destroy"}},
      {[&] { return vl_destroy_srq(srq) < 0; }, EBUSY, {"1 queue pairs", "destroy"}},
      {[&] { return vl_destroy_comp_channel(channel) < 0; },
       EBUSY,
       {"1 completion queues", "destroy"}},
      {[&] { return vl_ack_cq_events(cq, 2) < 0; }, EINVAL, {"2 events"}},
      {[&] { return vl_ack_async_event(&never) < 0; }, EINVAL, {"99"}},
      {[&] {
         const vl_recv_wr wr = {};
         return vl_post_rq(qp, &wr, nullptr) < 0;
       },
       EINVAL,
       {"shared receive queue"}},
  });
  CHECK(vl_destroy_qp(qp) == 0);
  CHECK(vl_destroy_srq(srq) == 0);
  CHECK(vl_destroy_cq(cq) == 0);
  CHECK(vl_destroy_comp_channel(channel) == 0);
}

TEST_CASE("an event that holds its object back is told of, with the call that lets go") {
  FakeFabric fabric(2);
  Endpoint a(&fabric, 0);
  a.Connect(1, 1);
  vl_send_wr wr = {};
  wr.opcode = VL_OP_SEND;
  REQUIRE(vl_post_sq(a.qp, &wr, nullptr) == 0);  // to nobody
  fabric.Step();
  vl_async_event event = {};
  REQUIRE(vl_get_async_event(a.rnic, &event) == 0);
  Expect({[&] { return vl_destroy_qp(a.qp) < 0; }, EBUSY, {"event", "vl_ack_async_event"}});
  CHECK(vl_ack_async_event(&event) == 0);
}

TEST_CASE("messages, windows and ports name what is out of range") {
  FakeFabric fabric(1);
  Endpoint end(&fabric, 0);
  const vl_message_channel_attr attr = {0, 100, 4, 1};
  vl_message_channel* channel = vl_create_message_channel(end.rnic, &attr);
  REQUIRE(channel != nullptr);
  const uint8_t nodes[VL_MESSAGE_NODES / 8] = {3};
  const auto channel_with = [&](vl_message_channel_attr wrong) {
    return [=, &end] { return vl_create_message_channel(end.rnic, &wrong) == nullptr; };
  };
  const auto reduce = [&](unsigned group, int operation) {
    return [=, &nodes] {
      return vl_reduce(channel, group, nodes, 0, static_cast<vl_reduction>(operation), 0, 0) < 0;
    };
  };
  const auto window = [&](uint64_t length, int access, uint64_t address = 0) {
    return [=, &end] { return vl_map_window(end.qp, 1, address, length, access) == nullptr; };
  };
  const auto port = [&](unsigned number, unsigned node, unsigned peer) {
    return [=, &end] { return vl_open_port(end.rnic, number, node, peer) == nullptr; };
  };
  ExpectAll({
      {channel_with({4, 8, 1, 1}), EINVAL, {"number is 4, not 0 to 3"}},
      {channel_with({0, 8, 0, 1}), EINVAL, {"sends is 0, not 1 to 256"}},
      {[&] { return vl_send_message(channel, 256, 1, 0, nullptr) < 0; },
       EINVAL,
       {"node is 256, not 0 to 255"}},
      {[&] { return vl_send_message(channel, 1, 101, 0, nullptr) < 0; },
       EINVAL,
       {"length is 101", "100 bytes"}},
      {reduce(65536, VL_REDUCE_SUM), EINVAL, {"group is 65536, not 0 to 65535"}},
      {reduce(1, 7), EINVAL, {"operation is 7"}},
      {[&] { return vl_release_messages(channel, 1) < 0; }, EINVAL, {"count is 1", "0 messages"}},
      {window(8, 0), EINVAL, {"access is 0x0"}},
      {window(0, VL_WINDOW_LOAD), EINVAL, {"length is 0, not 1 to 67108864"}},
      {window(8, VL_WINDOW_LOAD, UINT64_MAX - 6),
       EINVAL,
       {"8 bytes from remote_address 0xfffffffffffffff9 wrap"}},
      {window(8, VL_WINDOW_LOAD, UINT64_MAX - 7),
       EINVAL,
       {"RTS", "RESET"}},  // that is its only fault
      {window(8, VL_WINDOW_LOAD), EINVAL, {"RTS", "RESET"}},
      {port(16, 1, 0), EINVAL, {"port is 16, not 0 to 15"}},
      {port(0, 1, 16), EINVAL, {"peer_port is 16, not 0 to 15"}},
      {port(0, 0, 0), EINVAL, {"peer_node is 0, this node"}},
      {port(0, 256, 0), EINVAL, {"peer_node is 256, not 0 to 255"}},
  });
  CHECK(vl_destroy_message_channel(channel) == 0);
}

TEST_CASE("messages and reductions name a node that this RNIC, or firmware, does not have") {
  FakeFabric fabric(1);
  fabric.LimitNodes(16);
  Endpoint end(&fabric, 0);
  const vl_message_channel_attr attr = {0, 100, 4, 1};
  vl_message_channel* channel = vl_create_message_channel(end.rnic, &attr);
  REQUIRE(channel != nullptr);
  const uint8_t nodes[VL_MESSAGE_NODES / 8] = {1, 0, 2};
  ExpectAll({
      {[&] { return vl_send_message(channel, 16, 1, 0, nullptr) < 0; },
       EINVAL,
       {"node is 16, not 0 to 15"}},
      {[&] { return vl_reduce(channel, 1, nodes, 0, VL_REDUCE_SUM, 0, 0) < 0; },
       EINVAL,
       {"nodes has node 17", "below 16"}},
  });
  CHECK(vl_send_message(channel, 15, 1, 0, nullptr) == 0);
  CHECK(vl_destroy_message_channel(channel) == 0);
}

TEST_CASE("a connection that is refused says what is wrong with it") {
  FakeFabric fabric(1);
  Endpoint end(&fabric, 0);
  vl_conn_info mine = {}, theirs = {};
  vl_conn_info loud = {};
  loud.private_len = 65;
  ExpectAll({
      {[] { return vl_conn_connect("nothing", 1) < 0; }, EINVAL, {"\"nothing\"", "HOST:PORT"}},
      {[] { return vl_conn_connect("/no/line", 1) < 0; }, ENOENT, {"/no/line"}},
      {[] { return vl_conn_connect("/dev/null", 1) < 0; }, ENOTTY, {"/dev/null", "raw mode"}},
      {[] { return vl_conn_listen("192.0.2.1:1") < 0; }, EADDRNOTAVAIL, {"192.0.2.1:1"}},
      {[] { return vl_conn_accept(0, -5) < 0; }, EINVAL, {"timeout_ms is -5"}},
      {[] { return vl_conn_accept(-1, 5) < 0; }, EBADF, {"listener is -1"}},
      {[&] { return vl_connect_qp(end.qp, -1, &mine, &theirs, 1) < 0; }, EBADF, {"fd is -1"}},
      {[&] { return vl_connect_qp(end.qp, 0, &loud, &theirs, 1) < 0; },
       EINVAL,
       {"mine->private_len is 65, not 0 to 64"}},
      {[] { return vl_conn_meet(-1, 1) < 0; }, EBADF, {"fd is -1"}},
  });
}

TEST_CASE("behind a success there is no text of a failure before it") {
  Pair pair;
  vl_rnic* rnic = pair.a.rnic;
  vl_pd* pd = nullptr;
  vl_cq* cq = nullptr;
  vl_comp_channel* channel = nullptr;
  vl_mr* mr = nullptr;
  vl_srq* srq = nullptr;
  vl_qp* qp = nullptr;
  vl_rnic_attr attr = {};
  vl_srq_attr srq_attr = {4, 1, 0};
  vl_qp_attr qp_attr = {};
  vl_wc wc = {};
  int up = 0;
  uint8_t bytes[8] = {};
  const vl_recv_wr receive = {};
  ExpectSilent("query", [&] { return vl_query_rnic(rnic, &attr) == 0; });
  ExpectSilent("link", [&] { return vl_query_link(rnic, &up) == 0; });
  ExpectSilent("domain", [&] { return (pd = vl_allocate_pd(rnic)) != nullptr; });
  ExpectSilent("channel", [&] { return (channel = vl_create_comp_channel(rnic)) != nullptr; });
  ExpectSilent("its fd", [&] { return vl_comp_channel_fd(channel) >= 0; });
  ExpectSilent("queue", [&] { return (cq = vl_create_cq(rnic, 4, nullptr)) != nullptr; });
  ExpectSilent("region", [&] { return (mr = vl_allocate_mr(pd, bytes, 8, 0)) != nullptr; });
  ExpectSilent("its STag", [&] { return vl_mr_stag(mr) != 0; });
  vl_mw* mw = nullptr;
  ExpectSilent("window", [&] { return (mw = vl_allocate_mw(pd)) != nullptr; });
  ExpectSilent("its STag", [&] { return vl_mw_stag(mw) != 0; });
  ExpectSilent("its end", [&] { return vl_deallocate_mw(mw) == 0; });
  ExpectSilent("shared queue", [&] { return (srq = vl_create_srq(pd, &srq_attr)) != nullptr; });
  ExpectSilent("its limit", [&] { return vl_modify_srq(srq, 1) == 0; });
  ExpectSilent("its state", [&] { return vl_query_srq(srq, &srq_attr) == 0; });
  ExpectSilent("its receive", [&] { return vl_post_srq_recv(srq, &receive, nullptr) == 0; });
  ExpectSilent("queue pair", [&] {
    vl_qp_init_attr init = QpInit(cq, cq, 4, 4);
    return (qp = vl_create_qp(pd, &init)) != nullptr;
  });
  ExpectSilent("its number", [&] { return vl_qp_number(qp) != 0; });
  qp_attr.state = VL_QPS_INIT;
  ExpectSilent("its state", [&] { return vl_modify_qp(qp, &qp_attr) == 0; });
  ExpectSilent("its query", [&] { return vl_query_qp(qp, &qp_attr) == 0; });
  ExpectSilent("its receive", [&] { return vl_post_rq(qp, &receive, nullptr) == 0; });
  ExpectSilent("an empty poll", [&] { return vl_poll_cq(cq, 1, &wc) == 0; });
  ExpectSilent("arming", [&] { return vl_req_notify_cq(cq, 0) == 0; });
  ExpectSilent("work", [&] { return pair.Post(1) == 0; });
  pair.fabric.Step();
  ExpectSilent("a completion", [&] { return vl_poll_cq(pair.a.cq, 1, &wc) == 1; });
  ExpectSilent("events", [&] { return vl_ack_cq_events(cq, 0) == 0; });
  ExpectSilent("the end of a queue pair", [&] { return vl_destroy_qp(qp) == 0; });
  ExpectSilent("of a shared queue", [&] { return vl_destroy_srq(srq) == 0; });
  ExpectSilent("of a region", [&] { return vl_deallocate_mr(mr) == 0; });
  ExpectSilent("of a queue", [&] { return vl_destroy_cq(cq) == 0; });
  ExpectSilent("of a channel", [&] { return vl_destroy_comp_channel(channel) == 0; });
  ExpectSilent("of a domain", [&] { return vl_deallocate_pd(pd) == 0; });
}

}  // namespace
}  // namespace exrnic
