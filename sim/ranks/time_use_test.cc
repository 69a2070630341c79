// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ranks/time_use.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>

namespace exrnic {
namespace {

using std::chrono::milliseconds;

const TimeUse::Clock::time_point kBegin{};

TEST_CASE("what is not spent on others is work") {
  TimeUse use(kBegin);
  use.spend(TimeUse::kExchange, kBegin + milliseconds(10), kBegin + milliseconds(15));
  use.spend(TimeUse::kAgreement, kBegin + milliseconds(15), kBegin + milliseconds(16));
  use.spend(TimeUse::kRest, kBegin + milliseconds(20), kBegin + milliseconds(120));
  const auto sum = use.total_s(kBegin + milliseconds(130));
  CHECK(sum[TimeUse::kWork] == Catch::Approx(0.024));
  CHECK(sum[TimeUse::kExchange] == Catch::Approx(0.005));
  CHECK(sum[TimeUse::kAgreement] == Catch::Approx(0.001));
  CHECK(sum[TimeUse::kRest] == Catch::Approx(0.1));
}

TEST_CASE("bins hold the same, however long it takes, and each is full but the last one") {
  TimeUse use(kBegin);
  auto now = kBegin;
  for (int i = 0; i < 5000; ++i) {
    use.spend(TimeUse::kExchange, now + milliseconds(1), now + milliseconds(3));
    now += milliseconds(3);
  }
  const auto json = use.to_json(now + milliseconds(7));
  CHECK(json["bin_s"].get<double>() == Catch::Approx(0.032));
  const size_t bins = json["bins"]["work"].size();
  CHECK(bins <= TimeUse::kMostBins);
  double work = 0;
  for (size_t i = 0; i < bins; ++i) {
    double all = 0;
    for (const char* name : TimeUse::kNames) all += json["bins"][name][i].get<double>();
    if (i + 1 < bins) CHECK(all == Catch::Approx(0.032));
    work += json["bins"]["work"][i].get<double>();
  }
  CHECK(work == Catch::Approx(5.007));
  CHECK(json["total_s"]["work"].get<double>() == Catch::Approx(5.007));
  CHECK(json["total_s"]["exchange"].get<double>() == Catch::Approx(10.0));
  CHECK(json["times"]["exchange"] == 5000);
}

}  // namespace
}  // namespace exrnic
