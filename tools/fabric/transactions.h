// SPDX-License-Identifier: BSD-2-Clause
// Numbers that name requests. Who does not see a request cannot guess its number, and so cannot
// forge an answer.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

namespace exrnic::fabric {

class Transactions {
 public:
  // With a seed the numbers are the same each time, and can be guessed: for tests.
  explicit Transactions(std::optional<uint64_t> seed) : seeded_(seed.has_value()) {
    if (seed) engine_.seed(*seed);
  }

  uint64_t next() {
    if (seeded_) return engine_();
    constexpr unsigned kBits = 32;
    return uint64_t{device_()} << kBits | device_();
  }

 private:
  bool seeded_;
  std::mt19937_64 engine_;
  std::random_device device_;
};

}  // namespace exrnic::fabric
