// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/peb_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <utility>

#include "rtl-model/ref/peb/peb.h"

namespace exrnic::bench {
namespace {

class Figures {
 public:
  explicit Figures(const char* profile) {
    Results results;
    measure_peb(profile, "ref", peb::make_ref_peb, results);
    for (const auto& row : results.rows())
      values_[{row["name"], row["operation"]}] = row["value"].get<double>();
  }
  double of(const char* name, const char* operation) const { return values_.at({name, operation}); }

 private:
  std::map<std::pair<std::string, std::string>, double> values_;
};

TEST_CASE("a round trip over PEBs at 25 Gb/s adds less than two latencies of the line and 1 us") {
  const Figures figures("dc-25g");
  constexpr double kLimitNs = 2 * 500 + 1000;
  CHECK(figures.of("peb.added_ns", "load") < kLimitNs);
  // A doorbell there and a completion back; the command; of a write, its data.
  CHECK(figures.of("peb.added_ns", "read") < 2 * kLimitNs);
  CHECK(figures.of("peb.added_ns", "write") < 3 * kLimitNs);
}

TEST_CASE("a disk over PEBs gets nine tenths of the line's payload rate") {
  for (const char* profile : {"dc-25g", "expether-gbe"}) {
    const Figures figures(profile);
    CHECK(figures.of("peb.goodput_ratio", "read") > 0.9);
    CHECK(figures.of("peb.goodput_ratio", "write") > 0.9);
  }
}

}  // namespace
}  // namespace exrnic::bench
