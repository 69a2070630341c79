// SPDX-License-Identifier: BSD-2-Clause
// Which management frames a node serves, and where answers go (FABRIC.md). This and the other tests
// here run on both widths of the data path.
#include "rtl-model/tiles/wire/management/management_bench.h"

namespace exrnic::testing {
namespace {

TEMPLATE_TEST_CASE("A directed request at its end is served, and its answer goes back the way", "",
                   EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  for (const unsigned hops : {0u, 1u, 3u, 39u}) {
    CAPTURE(hops);
    Management request;
    request.hop = request.hops = hops;
    Bytes frame = request.frame();
    put(frame, 15, 1, 0x99);                // what an answer does not have from its request:
    put(frame, 40, 8, 0x1111111111111111);  // status, and what is reserved
    CHECK(agent.answers(frame) == Frames{answer_to(frame, {}, 0)});
  }
  CHECK(agent.served() == 4);
  CHECK(agent.dropped() == 0);
  CHECK_FALSE(agent.waits());
  CHECK(agent.node_gets.frames.empty());
}

TEMPLATE_TEST_CASE("What is not for this node, or not at its end, is dropped", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(5);
  Management request;
  SECTION("a request on its way") {
    request.hop = 1;
    request.hops = 2;
  }
  SECTION("one that is beyond its end") {
    request.hop = 2;
    request.hops = 1;
  }
  SECTION("one whose path is too long") { request.hop = request.hops = EXRNIC_MANAGEMENT_HOPS; }
  SECTION("a routed one to another node") { request.dst = mac_of(6); }
  SECTION("one to another address with this number") { request.dst = kAlien << 16 | 5; }
  SECTION("a routed one that says hops") {
    request.dst = mac_of(5);
    request.hop = request.hops = 1;
  }
  SECTION("a directed trap") { request.method = kTrap; }
  SECTION("an answer without hops to go back") { request.method = kAnswer; }
  SECTION("an answer that claims more hops than there are") {
    request.method = kAnswer;
    request.hop = 3;
    request.hops = 2;
    request.path = {kHost, kHost, kHost};
  }
  SECTION("an answer whose path is too long") {
    request.method = kAnswer;
    request.hop = 1;
    request.hops = EXRNIC_MANAGEMENT_HOPS;
    request.path = {kHost};
  }
  SECTION("an answer whose next place is not the host") {
    request.method = kAnswer;
    request.hop = 2;
    request.hops = 3;
    request.path = {kHost, 0, kHost};
  }
  SECTION("an unknown method") { request.method = 7; }
  SECTION("a routed unknown method") {
    request.dst = mac_of(5);
    request.method = 7;
  }
  agent.is_dropped(request.frame());
}

TEMPLATE_TEST_CASE("What is malformed is dropped and reaches nobody", "", EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(5);
  Bytes frame = Management{}.frame();
  SECTION("short") { frame.resize(kSize - 1); }
  SECTION("a beat") { frame.resize(16); }
  SECTION("shorter by beats") { frame.resize(kSize - 64); }
  SECTION("long") { frame.resize(kSize + 1); }
  SECTION("longer by beats") { frame.resize(2 * kSize); }
  SECTION("another version") { frame[14] = 0x20; }
  SECTION("wrong FCS") { agent.fcs_error = true; }
  agent.is_dropped(frame);
  CHECK(agent.node_gets.frames.empty());
  agent.fcs_error = false;
  const Bytes good = Management{}.frame();
  CHECK(agent.answers(good).size() == 1);
}

TEMPLATE_TEST_CASE("A routed request to the node is served; its answer goes to the source", "",
                   EXRNIC_WIDTHS) {
  Agent<TestType> agent;
  agent.number(0x1d);
  Management request;
  request.dst = mac_of(0x1d);
  request.src = mac_of(0x99);
  Device device;
  device.number = 0x1d;
  CHECK(agent.answers(request.frame()) == Frames{answer_to(request.frame(), device, 0)});
}

}  // namespace
}  // namespace exrnic::testing
