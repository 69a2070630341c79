// SPDX-License-Identifier: BSD-2-Clause
// Frames byte by byte, as FABRIC.md has them; and requests on their way.
#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <vector>

#include "tools/fabric/frames.h"
#include "tools/fabric/requests.h"

namespace exrnic::fabric {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes part(const Frame& frame, size_t at, size_t bytes) {
  return {frame.begin() + static_cast<long>(at), frame.begin() + static_cast<long>(at + bytes)};
}

// An answer that comes back on the path of `request`, from a device entered by port 7.
Frame answer_to(const Request& request, uint64_t transaction) {
  Frame frame = build(request, transaction, 0);
  frame[14] = 0x12;
  frame[48] = frame[49] = 0xff;
  for (size_t i = 0; i < request.way.path.in.size(); ++i) {
    frame[50 + 2 * i] = static_cast<uint8_t>(request.way.path.in[i] >> 8);
    frame[51 + 2 * i] = static_cast<uint8_t>(request.way.path.in[i]);
  }
  const size_t end = 48 + 2 * request.way.path.out.size();
  frame[end] = 0;
  frame[end + 1] = 7;
  return frame;
}

TEST_CASE("a directed request has its path, its key, and the address of whoever is there") {
  const Frame frame = build(get(along({{0, 5, 0x102}, {3, 4}}), 1, 0x01020304), 0x1122334455667788,
                            0x99aabbccddeeff00);
  CHECK(part(frame, 0, 14) == Bytes{2, 0x45, 0x58, 0x52, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0x88, 0xb6});
  CHECK(part(frame, 14, 10) == Bytes{0x10, 0, 0, 1, 0, 3, 1, 2, 3, 4});
  CHECK(part(frame, 24, 8) == Bytes{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88});
  CHECK(part(frame, 32, 8) == Bytes{0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0});
  CHECK(part(frame, 48, 8) == Bytes{0, 0, 0, 5, 1, 2, 0, 0});
}

TEST_CASE("a routed request has the address of its device, and no path") {
  DeviceChange change;
  change.number = 0x0123;
  change.beat = 9;
  const Frame frame = build(set_device(to_number(0x8001), change), 1, 0);
  CHECK(part(frame, 0, 6) == Bytes{2, 0x45, 0x58, 0x52, 0x80, 1});
  CHECK(part(frame, 14, 6) == Bytes{0x11, 0, 0, 0, 0, 0});
  CHECK(part(frame, 128 + 10, 2) == Bytes{1, 0x23});
  CHECK(part(frame, 128 + 30, 2) == Bytes{0x09, 9});
}

TEST_CASE("routes and floods are where a switch looks for them") {
  RoutesBlock ports;
  ports.fill(kNoPort);
  ports[2] = 0x0304;
  const Frame routes = build(set_routes(along({}), 5, ports), 1, 0);
  CHECK(part(routes, 128, 8) == Bytes{0xff, 0xff, 0xff, 0xff, 3, 4, 0xff, 0xff});
  Data bits{};
  set_flood_bit(bits, 0);
  set_flood_bit(bits, 10);
  CHECK(part(build(set_floods(along({}), 0, bits), 1, 0), 128, 3) == Bytes{0x80, 0x20, 0});
  CHECK(flood_bit(bits, 10));
  CHECK(!flood_bit(bits, 11));
}

TEST_CASE("an answer fits its request on the way that was known, and no other one") {
  const Request request = get(along({{0, 5, 2}, {3, 4}}), EXRNIC_MANAGEMENT_ATTRIBUTE_PORTS, 6);
  const Frame good = answer_to(request, 1);
  const std::optional<Answer> answer = parse_answer(good, request);
  REQUIRE(answer);
  CHECK(answer->came_by == 7);
  // Version and method, status, attribute, hop, hops, modifier, each place of the path.
  for (const size_t at : {12u, 14u, 15u, 16u, 17u, 18u, 19u, 20u, 23u, 48u, 51u, 53u, 56u, 127u}) {
    INFO("byte " << at);
    Frame other = good;
    other[at] ^= 0x20;
    CHECK(!parse_answer(other, request));
  }
  Frame elsewhere = good;  // the device may be entered by any port
  elsewhere[55] = 9;
  CHECK(parse_answer(elsewhere, request)->came_by == 9);
}

class Wire final : public ManagementPort {
 public:
  bool send(const Frame& frame) override {
    if (busy) return false;
    sent.push_back(frame);
    return true;
  }
  std::optional<Frame> receive() override {
    if (come.empty()) return std::nullopt;
    const Frame frame = come.front();
    come.pop_front();
    return frame;
  }

  bool busy = false;
  std::vector<Frame> sent;
  std::deque<Frame> come;
};

TEST_CASE("no more requests are out than the host has room for answers") {
  Wire wire;
  Requests requests(wire, {0, 1000, 3, 1}, [](const Trap&) {});
  unsigned answered = 0, silent = 0;
  const Request request = get(along({{0}, {}}), EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE);
  for (unsigned i = 0; i < 20; ++i) {
    requests.ask(request, [&](const Answer* answer) { ++(answer != nullptr ? answered : silent); });
  }
  CHECK(requests.poll(0) == 1000);
  CHECK(wire.sent.size() == EXRNIC_MANAGEMENT_WAITING);
  const auto answer = [&](const Frame& sent) {
    wire.come.push_back(answer_to(request, exrnic_management_header_transaction(&sent[14])));
  };
  answer(wire.sent[0]);
  answer(wire.sent[0]);  // twice: the second one is for nobody
  answer(wire.sent[3]);
  requests.poll(10);
  CHECK(answered == 2);
  CHECK(requests.counts().strange == 1);
  CHECK(wire.sent.size() == EXRNIC_MANAGEMENT_WAITING + 2);
}

TEST_CASE("a request is tried again after longer and longer times, and then given up") {
  Wire wire;
  Requests requests(wire, {0, 1000, 3, 1}, [](const Trap&) {});
  bool given_up = false;
  requests.ask(get(along({}), 0), [&](const Answer* answer) { given_up = answer == nullptr; });
  CHECK(requests.poll(0) == 1000);
  CHECK(requests.poll(999) == 1000);
  CHECK(wire.sent.size() == 1);
  CHECK(requests.poll(1000) == 3000);
  CHECK(requests.poll(3000) == 6000);
  CHECK(wire.sent.size() == 3);
  CHECK(wire.sent[0] == wire.sent[2]);
  CHECK(!given_up);
  CHECK(requests.poll(6000) == kNever);
  CHECK(given_up);
  CHECK(requests.idle());
}

TEST_CASE("what a busy port does not take is sent later") {
  Wire wire;
  wire.busy = true;
  Requests requests(wire, {0, 1000, 1, 1}, [](const Trap&) {});
  requests.ask(get(along({}), 0), [](const Answer*) {});
  CHECK(requests.poll(0) < 1000'000);
  CHECK(wire.sent.empty());
  wire.busy = false;
  requests.poll(500'000);
  CHECK(wire.sent.size() == 1);
}

TEST_CASE("without a seed no two managers name their requests alike") {
  Transactions a(std::nullopt), b(std::nullopt), c(5), d(5);
  CHECK(a.next() != b.next());
  CHECK(c.next() == d.next());
}

}  // namespace
}  // namespace exrnic::fabric
