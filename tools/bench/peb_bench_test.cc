// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/peb_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <utility>

namespace exrnic::bench {
namespace {

class Figures {
 public:
  explicit Figures(const char* profile) {
    Results results;
    measure_peb(profile, results);
    for (const auto& row : results.rows())
      values_[{row["name"], row["operation"]}] = row["value"].get<double>();
  }
  double of(const char* name, const char* operation) const { return values_.at({name, operation}); }

 private:
  std::map<std::pair<std::string, std::string>, double> values_;
};

TEST_CASE("a round trip over PEBs at 25 Gb/s adds less than two latencies of the line and 1 us") {
  const Figures figures("dc-25g");
  CHECK(figures.of("peb.added_ns", "load") < 2 * 500 + 1000);
  CHECK(figures.of("peb.added_ns", "read") < 2 * (2 * 500 + 1000));   // command; data
  CHECK(figures.of("peb.added_ns", "write") < 3 * (2 * 500 + 1000));  // command; data; completion
  CHECK(figures.of("peb.goodput_ratio", "read") > 0.9);
}

TEST_CASE("a disk over PEBs fills Gigabit Ethernet") {
  const Figures figures("expether-gbe");
  CHECK(figures.of("peb.goodput_ratio", "read") > 0.9);
  CHECK(figures.of("peb.goodput_ratio", "write") > 0.9);
}

}  // namespace
}  // namespace exrnic::bench
