// SPDX-License-Identifier: BSD-2-Clause
// exrnic-push with both ends in one process, on software devices.
#include "push_program.h"

#include <sys/socket.h>

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <thread>

#include "fake_fabric.h"
#include "transfer.h"

namespace exrnic {
namespace {

struct Outcome {
  std::string output;
  std::string error;
};

std::string ReadAll(FILE* file) {
  rewind(file);
  std::string text;
  char buffer[4096];
  while (size_t count = fread(buffer, 1, sizeof(buffer), file)) text.append(buffer, count);
  return text;
}

Outcome RunEnd(FakeFabric* fabric, PushOptions options, int fd, uint32_t device_node) {
  std::unique_ptr<FILE, int (*)(FILE*)> out(tmpfile(), fclose);
  Outcome outcome;
  try {
    OobLimits limits;
    limits.message = std::chrono::seconds(30);
    Oob oob(fd, "exrnic-push", limits);
    RunPush(options, [&] { return fabric->Open(device_node); }, &oob, out.get());
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  outcome.output = ReadAll(out.get());
  return outcome;
}

struct Both {
  Outcome end[2];
};

Both RunBoth(FakeFabric* fabric, const PushOptions& zero, const PushOptions& one,
             uint32_t second_device = 1) {
  int fd[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
  Both both;
  std::thread peer([&] { both.end[1] = RunEnd(fabric, one, fd[1], second_device); });
  both.end[0] = RunEnd(fabric, zero, fd[0], 0);
  peer.join();
  return both;
}

PushOptions Options(uint32_t node, std::vector<uint32_t> sizes, uint32_t ops = 0) {
  return {node, std::move(sizes), ops, 1234};
}

TEST_CASE("exrnic-push moves and verifies every size both ways and prints each once") {
  FakeFabric fabric(2);
  fabric.Start();
  const std::vector<uint32_t> sizes = DefaultSizes();
  const Both both = RunBoth(&fabric, Options(0, sizes), Options(1, sizes));
  for (unsigned node : {0u, 1u}) {
    CHECK(both.end[node].error.empty());
    const char* at = both.end[node].output.c_str();
    for (uint32_t size : sizes) {
      unsigned from, to, printed, ops, verified;
      double latency, bandwidth, wall;
      int length = 0;
      INFO(at);
      REQUIRE(sscanf(at,
                     "@exrnic {\"from\":%u,\"to\":%u,\"size\":%u,\"ops\":%u,\"verified\":%u,"
                     "\"latency_us\":%lf,\"bandwidth_mbps\":%lf,\"wall_s\":%lf}\n%n",
                     &from, &to, &printed, &ops, &verified, &latency, &bandwidth, &wall,
                     &length) == 8);
      CHECK(from == node);
      CHECK(to == 1 - node);
      CHECK(printed == size);
      CHECK(ops == DefaultOps(size));
      CHECK(verified == ops);
      // The software device takes 1 us and 1 ns for each 4 bytes.
      const double expected_us = 1.0 + size / 4 / 1e3;
      CHECK(std::abs(latency - expected_us) < 0.002);
      CHECK(std::abs(bandwidth - size / expected_us) < 0.01 * bandwidth + 0.1);
      at += length;
    }
    CHECK(*at == '\0');
  }
}

TEST_CASE("exrnic-push takes more operations than a region holds, and a single one") {
  FakeFabric fabric(2);
  fabric.Start();
  for (uint32_t ops : {1u, 2u, 11u}) {
    const std::vector<uint32_t> sizes = {1u << 20, 3};
    const Both both = RunBoth(&fabric, Options(0, sizes, ops), Options(1, sizes, ops));
    CHECK(both.end[0].error.empty());
    CHECK(both.end[1].error.empty());
    const std::string verified = "\"verified\":" + std::to_string(ops) + ",";
    CHECK(both.end[0].output.find(verified) != std::string::npos);
  }
}

TEST_CASE("a single wrong byte fails both ends and is named") {
  FakeFabric fabric(2);
  int placed = 0;
  int wrong_byte = 0;
  SECTION("in the data") { wrong_byte = 99; }
  SECTION("behind the data") { wrong_byte = 100; }
  SECTION("before the data") { wrong_byte = -1; }
  fabric.Tamper([&](uint8_t* bytes, uint32_t length) {
    if (length == 100 && ++placed == 7) bytes[wrong_byte] ^= 1;
  });
  fabric.Start();
  const Both both = RunBoth(&fabric, Options(0, {100}, 20), Options(1, {100}, 20));
  INFO(both.end[0].error << "; " << both.end[1].error);
  const bool guard = wrong_byte != 99;
  for (const Outcome& end : both.end) {
    CHECK(end.error.find("of 100 bytes: byte ") != std::string::npos);
    CHECK((end.error.find("guard") != std::string::npos) == guard);
  }
}

TEST_CASE("ends that do not fit each other say so") {
  FakeFabric fabric(2);
  fabric.Start();
  SECTION("other sizes") {
    const Both both = RunBoth(&fabric, Options(0, {8}), Options(1, {64}));
    for (const Outcome& end : both.end) {
      // By itself, or from the other, which was faster.
      CHECK(end.error.find("was started with other --sizes or --ops") != std::string::npos);
    }
  }
  SECTION("another device than the node says") {
    const Both both = RunBoth(&fabric, Options(0, {8}), Options(1, {8}), 0);
    CHECK(both.end[1].error == "the RNIC is node 0, not 1 as --node says");
    CHECK(both.end[0].error == "the peer gave up: " + both.end[1].error);
  }
}

TEST_CASE("areas of a round do not touch, and all fit") {
  for (uint32_t size : {1u, 8u, 63u, 64u, 65u, 4096u}) {
    const uint32_t count = AreaLayout::Fit(size, 100000);
    const AreaLayout layout(size, count);
    for (uint32_t area = 0; area < layout.areas(); ++area) {
      REQUIRE(layout.Offset(area) % 64 == 0);
      REQUIRE(layout.Offset(area) + layout.Length(area) + 64 <= layout.Offset(area + 1));
    }
    CHECK(layout.Extent() <= 100000);
    CHECK(AreaLayout(size, count + 1).Extent() > 100000);
  }
}

}  // namespace
}  // namespace exrnic
