// SPDX-License-Identifier: BSD-2-Clause
#include "stream.h"

#include <unistd.h>

#include <chrono>
#include <stdexcept>

namespace exrnic {

namespace {

constexpr uint32_t kInFlight = 8;
constexpr uint32_t kBytes = 2048;
constexpr auto kTimeLimit = std::chrono::seconds(30);
constexpr useconds_t kLookAgainUs = 1000;

}  // namespace

vl_wc StreamUntilError(const Connection& connection) {
  const size_t places = connection.bytes() / kBytes;
  const auto until = std::chrono::steady_clock::now() + kTimeLimit;
  auto post = [&](uint64_t i) {
    const size_t at = i % places * kBytes;
    Post(connection, {MakePush(connection, i, at, at, kBytes)});
  };
  for (uint64_t i = 0; i < kInFlight; ++i) post(i);
  for (uint64_t i = 0; std::chrono::steady_clock::now() < until; ++i) {
    const vl_wc wc = AwaitCompletion(connection.cq(), "PUSH " + std::to_string(i) + " of a stream");
    if (wc.status != VL_WC_SUCCESS) return wc;
    post(i + kInFlight);
  }
  throw std::runtime_error("a stream of PUSHes that should have failed went on for 30 s");
}

bool AwaitStreamInto(const uint8_t* target) {
  const auto until = std::chrono::steady_clock::now() + kTimeLimit;
  while (__atomic_load_n(target, __ATOMIC_ACQUIRE) == Connection::kPoison) {
    if (std::chrono::steady_clock::now() >= until) return false;
    usleep(kLookAgainUs);
  }
  return true;
}

}  // namespace exrnic
