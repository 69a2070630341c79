// SPDX-License-Identifier: BSD-2-Clause
#include "stream.h"

#include <unistd.h>

#include <chrono>
#include <stdexcept>

#include "work.h"

namespace exrnic {

namespace {

constexpr uint32_t kInFlight = 8;
constexpr uint32_t kBytes = 2048;
constexpr auto kTimeLimit = std::chrono::seconds(30);
constexpr useconds_t kLookAgainUs = 1000;

// post(i, at): the next work request, and its place.
template <typename PostOne>
vl_wc RunUntilError(const Connection& connection, PostOne post) {
  const size_t places = connection.bytes() / kBytes;
  const auto until = std::chrono::steady_clock::now() + kTimeLimit;
  for (uint64_t i = 0; i < kInFlight; ++i) post(i, i % places * kBytes);
  for (uint64_t i = 0; std::chrono::steady_clock::now() < until; ++i) {
    const vl_wc wc =
        AwaitCompletion(connection.cq(), "work request " + std::to_string(i) + " of a stream");
    if (wc.status != VL_WC_SUCCESS) return wc;
    post(i + kInFlight, (i + kInFlight) % places * kBytes);
  }
  throw std::runtime_error("a stream that should have failed went on for 30 s");
}

}  // namespace

vl_wc StreamUntilError(const Connection& connection) {
  return RunUntilError(connection, [&](uint64_t i, size_t at) {
    Post(connection, {MakePush(connection, i, at, at, kBytes)});
  });
}

vl_wc PullUntilError(const Connection& connection) {
  return RunUntilError(connection, [&](uint64_t i, size_t at) {
    Post(connection, RemoteWork(VL_OP_PULL, i, connection, at, {connection.Target(at, kBytes)}));
  });
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
