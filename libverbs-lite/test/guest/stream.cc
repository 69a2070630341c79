// SPDX-License-Identifier: BSD-2-Clause
#include "stream.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "work.h"

namespace exrnic {

namespace {

constexpr auto kTimeLimit = std::chrono::seconds(30);
constexpr useconds_t kLookAgainUs = 200;

vl_wc RunUntilError(const Connection& connection, Stream::PostOne post) {
  const auto until = std::chrono::steady_clock::now() + kTimeLimit;
  Stream stream(connection, std::move(post), Stream::kMostInFlight);
  while (std::chrono::steady_clock::now() < until) {
    if (const auto failed = stream.Step()) return *failed;
  }
  throw std::runtime_error("a stream that should have failed did not within 30 s");
}

}  // namespace

Stream::Stream(const Connection& connection, PostOne post, uint32_t in_flight)
    : connection_(connection), post_(std::move(post)) {
  for (uint32_t i = 0; i < in_flight; ++i) PostNext();
}

std::optional<vl_wc> Stream::Step() {
  std::array<vl_wc, kMostInFlight> wcs;
  const int count = vl_poll_cq(connection_.cq(), kMostInFlight, wcs.data());
  Check(count, "vl_poll_cq");
  if (count == 0) usleep(kLookAgainUs);
  for (int i = 0; i < count; ++i) {
    if (wcs[i].status != VL_WC_SUCCESS) return wcs[i];
    PostNext();
  }
  return std::nullopt;
}

void Stream::PostNext() {
  post_(posted_, posted_ % (connection_.bytes() / kBytes) * kBytes);
  ++posted_;
}

Stream::PostOne Pushes(const Connection& connection) {
  return [&connection](uint64_t i, size_t at) {
    Post(connection, {MakePush(connection, i, at, at, Stream::kBytes)});
  };
}

Stream::PostOne Pulls(const Connection& connection, vl_sge into) {
  return [&connection, into](uint64_t i, size_t at) {
    const vl_sge place = {into.address + at, Stream::kBytes, into.stag};
    Post(connection, RemoteWork(VL_OP_PULL, i, connection, at, {place}));
  };
}

vl_wc StreamUntilError(const Connection& connection) {
  return RunUntilError(connection, Pushes(connection));
}

vl_wc PullUntilError(const Connection& connection) {
  return RunUntilError(connection, Pulls(connection, connection.Target(0, 0)));
}

vl_wc SendUntilError(const Connection& connection) {
  const uint32_t length = static_cast<uint32_t>(connection.bytes());
  return RunUntilError(connection, [&](uint64_t i, size_t) {
    Post(connection, Work(VL_OP_SEND, i, {connection.Source(0, length)}));
  });
}

bool AwaitStreamInto(const uint8_t* target, uint8_t before) {
  const auto until = std::chrono::steady_clock::now() + kTimeLimit;
  while (__atomic_load_n(target, __ATOMIC_ACQUIRE) == before) {
    if (std::chrono::steady_clock::now() >= until) return false;
    usleep(kLookAgainUs);
  }
  return true;
}

}  // namespace exrnic
