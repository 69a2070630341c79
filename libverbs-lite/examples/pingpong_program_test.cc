// SPDX-License-Identifier: BSD-2-Clause
// exrnic-pingpong with both ends in one process, on software devices.
#include "pingpong_program.h"

#include <sys/socket.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <memory>
#include <string>
#include <thread>

#include "fake_fabric.h"

namespace exrnic {
namespace {

struct End {
  std::string output;
  std::string error;
};

End RunEnd(FakeFabric* fabric, const PingpongOptions& options, int fd, uint32_t device_node) {
  std::unique_ptr<FILE, int (*)(FILE*)> out(tmpfile(), fclose);
  End end;
  try {
    Oob oob(fd, "exrnic-pingpong");
    RunPingpong(options, [&] { return fabric->Open(device_node); }, &oob, out.get());
  } catch (const std::exception& error) {
    end.error = error.what();
  }
  rewind(out.get());
  char buffer[4096];
  while (size_t count = fread(buffer, 1, sizeof(buffer), out.get())) {
    end.output.append(buffer, count);
  }
  return end;
}

struct Both {
  End end[2];
};

Both RunBoth(FakeFabric* fabric, const PingpongOptions& zero, const PingpongOptions& one,
             uint32_t second_device = 1) {
  int fd[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
  Both both;
  std::thread peer([&] { both.end[1] = RunEnd(fabric, one, fd[1], second_device); });
  both.end[0] = RunEnd(fabric, zero, fd[0], 0);
  peer.join();
  return both;
}

TEST_CASE("exrnic-pingpong answers every message of every size, and node 0 prints each size once") {
  FakeFabric fabric(2);
  fabric.Start();
  const std::vector<uint32_t> sizes = {1, 64, 65, 4096, 1u << 20};
  const Both both = RunBoth(&fabric, {0, sizes, 5, 7}, {1, sizes, 5, 8});
  CHECK(both.end[0].error.empty());
  CHECK(both.end[1].error.empty());
  CHECK(both.end[1].output.empty());
  const char* at = both.end[0].output.c_str();
  for (uint32_t size : sizes) {
    unsigned printed, rounds, verified;
    double rtt;
    int length = 0;
    INFO(at);
    REQUIRE(sscanf(at, "@exrnic {\"size\":%u,\"rounds\":%u,\"verified\":%u,\"rtt_us\":%lf}\n%n",
                   &printed, &rounds, &verified, &rtt, &length) == 4);
    CHECK(printed == size);
    CHECK(rounds == 5);
    CHECK(verified == 5);
    at += length;
  }
  CHECK(*at == '\0');
  // Each round is a message and an answer, and there is one round more than is counted.
  CHECK(fabric.device(0).counters().wqes == sizes.size() * 6);
  CHECK(fabric.device(1).counters().wqes == sizes.size() * 6);
}

TEST_CASE("exrnic-pingpong answers likewise when one end, or both, sleep until completions come") {
  FakeFabric fabric(2);
  fabric.Start();
  const bool second = GENERATE(false, true);
  const Both both = RunBoth(&fabric, {0, {8, 4096}, 50, 7, true}, {1, {8, 4096}, 50, 8, second});
  CHECK(both.end[0].error.empty());
  CHECK(both.end[1].error.empty());
  const std::string& rows = both.end[0].output;
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 2);
  CHECK(rows.find("\"events\":true") != std::string::npos);
}

TEST_CASE("ends of exrnic-pingpong that do not fit each other say so") {
  FakeFabric fabric(2);
  fabric.Start();
  SECTION("other rounds") {
    const Both both = RunBoth(&fabric, {0, {8}, 5, 7}, {1, {8}, 6, 7});
    for (const End& end : both.end) {
      CHECK(end.error.find("was started with other --sizes or --rounds") != std::string::npos);
    }
  }
  SECTION("another device than the node says") {
    const Both both = RunBoth(&fabric, {0, {8}, 5, 7}, {1, {8}, 5, 7}, 0);
    CHECK(both.end[1].error == "the RNIC is node 0, not 1 as --node says");
    CHECK(both.end[0].error == "the peer gave up: " + both.end[1].error);
  }
}

}  // namespace
}  // namespace exrnic
