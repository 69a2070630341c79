// SPDX-License-Identifier: BSD-2-Clause
// Completion channels and asynchronous events, on the software device.
#include <fcntl.h>

#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <set>
#include <string>

#include "event_table.h"
#include "rig.h"

namespace exrnic {
namespace {

vl_cq_init_attr OnChannel(vl_comp_channel* channel) {
  vl_cq_init_attr attr = {};
  attr.entries = 8;
  attr.channel = channel;
  return attr;
}

TEST_CASE("a completion queue takes a channel of its own RNIC only, and a vector that there is") {
  FakeFabric fabric(1);
  vl_rnic* rnic = fabric.Open(0);
  vl_rnic* other = fabric.Open(0);
  vl_comp_channel* channel = vl_create_comp_channel(other);
  vl_cq_init_attr attr = OnChannel(channel);
  CHECK(vl_create_cq_ex(rnic, &attr) == nullptr);
  CHECK(errno == EINVAL);
  CHECK(vl_create_cq_ex(rnic, nullptr) == nullptr);
  CHECK(errno == EINVAL);
  attr.channel = nullptr;
  vl_rnic_attr limits;
  REQUIRE(vl_query_rnic(rnic, &limits) == 0);
  attr.comp_vector = limits.comp_vectors + 1;
  CHECK(vl_create_cq_ex(rnic, &attr) == nullptr);
  CHECK(errno == EINVAL);
  attr.comp_vector = limits.comp_vectors;
  vl_cq* cq = vl_create_cq_ex(rnic, &attr);
  CHECK(cq != nullptr);
  CHECK(vl_destroy_cq(cq) == 0);
  CHECK(vl_close_rnic(other) == -1);
  CHECK(errno == EBUSY);
  CHECK(vl_destroy_comp_channel(channel) == 0);
  CHECK(vl_close_rnic(other) == 0);
  CHECK(vl_close_rnic(rnic) == 0);
}

TEST_CASE("calls without an object, or a place for what they find, are refused") {
  FakeFabric fabric(1);
  vl_rnic* rnic = fabric.Open(0);
  vl_comp_channel* channel = vl_create_comp_channel(rnic);
  vl_cq* cq = nullptr;
  CHECK(vl_create_comp_channel(nullptr) == nullptr);
  for (int result : {vl_destroy_comp_channel(nullptr), vl_get_cq_event(nullptr, &cq, nullptr),
                     vl_get_cq_event(channel, nullptr, nullptr), vl_ack_cq_events(nullptr, 1),
                     vl_get_async_event(rnic, nullptr), vl_ack_async_event(nullptr)}) {
    CHECK(result == -1);
    CHECK(errno == EINVAL);
  }
  CHECK(vl_destroy_comp_channel(channel) == 0);
  CHECK(vl_close_rnic(rnic) == 0);
}

TEST_CASE("an event that was raised before its queue was destroyed finds nobody") {
  FakeFabric fabric(1);
  vl_rnic* rnic = fabric.Open(0);
  vl_comp_channel* channel = vl_create_comp_channel(rnic);
  const vl_cq_init_attr attr = OnChannel(channel);
  vl_cq* cq = vl_create_cq_ex(rnic, &attr);
  fabric.device(0).cqs.begin()->second.fired = 1;
  fabric.Step();
  CHECK(vl_destroy_cq(cq) == 0);
  vl_cq* successor = vl_create_cq_ex(rnic, &attr);  // most likely at the same address
  fcntl(vl_comp_channel_fd(channel), F_SETFL, O_NONBLOCK);
  vl_cq* fired = nullptr;
  CHECK(vl_get_cq_event(channel, &fired, nullptr) == -1);
  CHECK(errno == EAGAIN);
  CHECK(vl_destroy_cq(successor) == 0);
  CHECK(vl_destroy_comp_channel(channel) == 0);
  CHECK(vl_close_rnic(rnic) == 0);
}

TEST_CASE("an object is retired when its events are acknowledged, and no event is taken then") {
  EventTable table;
  int object = 0;
  const uint64_t cookie = table.Add();
  REQUIRE(cookie != 0);
  CHECK(table.Take(cookie) == nullptr);  // not there yet
  table.Set(cookie, &object);
  CHECK(table.Take(cookie) == &object);
  CHECK(table.Take(cookie) == &object);
  CHECK(!table.Retire(cookie));
  CHECK(!table.Acknowledge(cookie, 3));
  CHECK(table.Acknowledge(cookie, 2));
  CHECK(table.Retire(cookie));
  CHECK(table.Take(cookie) == nullptr);
  table.Forget(cookie);
  CHECK(!table.Acknowledge(cookie, 1));
  CHECK(table.Add() != cookie);
}

TEST_CASE("every value has a text of its own, and so has one that is none") {
  std::set<std::string> texts;
  size_t values = 0;
  const auto add = [&](const char* text) {
    REQUIRE(text != nullptr);
    texts.insert(text);
    ++values;
  };
  for (int i = 0; i <= VL_WC_MW_BIND_ERR + 1; ++i) add(vl_status_string(vl_wc_status(i)));
  for (int i = 0; i <= VL_WC_BIND_MW + 1; ++i) add(vl_wc_opcode_string(vl_wc_opcode(i)));
  for (int i = 0; i <= VL_QPS_ERROR + 1; ++i) add(vl_qp_state_string(vl_qp_state(i)));
  for (int i = 0; i <= VL_EVENT_QP_SQ_DRAINED; ++i) add(vl_event_type_string(vl_event_type(i)));
  for (uint32_t code : {0x0000u, 0x0100u, 0x0101u, 0x0102u, 0x0103u, 0x0104u, 0x0109u, 0x0205u,
                        0x0206u, 0x0207u, 0x1100u, 0x1101u, 0x1102u, 0x1103u, 0x1104u, 0x1201u,
                        0x1202u, 0x1203u, 0x1204u, 0x1205u, 0x1206u, 0xffffu}) {
    add(vl_terminate_string(code));
  }
  CHECK(texts.size() == values);
}

}  // namespace
}  // namespace exrnic
