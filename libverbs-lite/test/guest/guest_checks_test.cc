// SPDX-License-Identifier: BSD-2-Clause
// The checks of exrnic-guest-test themselves, with both ends in one process on software devices:
// they pass on a device that is right, and fail on one that is not. Checks that need a kernel
// module are left to the guests.
#include <sys/socket.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <memory>
#include <thread>

#include "bench.h"
#include "fake_fabric.h"

namespace exrnic {
namespace {

struct Outcome {
  int failed = 0;
  std::string output;
  std::string error;
};

Outcome RunEnd(FakeFabric* fabric, uint32_t node, int fd, const std::vector<GuestCheck>& checks) {
  std::unique_ptr<FILE, int (*)(FILE*)> out(tmpfile(), fclose);
  Outcome outcome;
  try {
    Oob oob(fd, "test");
    oob.Connect();
    Bench bench(node, [=] { return fabric->Open(node); }, &oob, 99);
    outcome.failed = RunChecks(checks, &bench, out.get());
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  rewind(out.get());
  char buffer[4096];
  while (size_t count = fread(buffer, 1, sizeof(buffer), out.get())) {
    outcome.output.append(buffer, count);
  }
  return outcome;
}

Outcome RunBoth(FakeFabric* fabric, const std::vector<GuestCheck>& checks) {
  signal(SIGPIPE, SIG_IGN);
  int fd[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
  Outcome responder;
  std::thread peer([&] { responder = RunEnd(fabric, 1, fd[1], checks); });
  const Outcome requester = RunEnd(fabric, 0, fd[0], checks);
  peer.join();
  INFO(responder.output << responder.error);
  CHECK(responder.failed == requester.failed);
  return requester;
}

std::vector<GuestCheck> WithoutKernel() {
  std::vector<GuestCheck> checks;
  for (GuestCheck& check : AllChecks()) {
    if (!check.needs_kernel) checks.push_back(std::move(check));
  }
  return checks;
}

TEST_CASE("the guest checks pass on a device that is right") {
  FakeFabric fabric(2);
  fabric.Start();
  const std::vector<GuestCheck> checks = WithoutKernel();
  const Outcome outcome = RunBoth(&fabric, checks);
  INFO(outcome.output);
  CHECK(outcome.error.empty());
  CHECK(outcome.failed == 0);
  size_t passed = 0;
  for (size_t at = 0; (at = outcome.output.find("ok - ", at)) != std::string::npos; ++at) ++passed;
  CHECK(passed == checks.size());
}

TEST_CASE("the gather checks fail on a device that writes one byte too many") {
  FakeFabric fabric(2);
  fabric.Tamper([](uint8_t* placed, uint32_t length) {
    if (length == 4096 + 16) placed[length] ^= 1;
  });
  fabric.Start();
  const Outcome outcome = RunBoth(&fabric, GatherChecks());
  INFO(outcome.output);
  CHECK(outcome.failed == 1);
  CHECK(outcome.output.find("not ok - two gathered") != std::string::npos);
}

}  // namespace
}  // namespace exrnic
