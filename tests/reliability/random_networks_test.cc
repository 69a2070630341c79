// SPDX-License-Identifier: BSD-2-Clause
// See tests/support/random_network.h. EXRNIC_SEED=n repeats one network, EXRNIC_STEPS its length.
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "rtl-model/ref/ref_core.h"
#include "tests/support/faulty_core.h"
#include "tests/support/random_network.h"
#include "tests/support/seed.h"
#include "tests/support/test_cores.h"

namespace exrnic::testing {
namespace {

void live_in_networks(uint64_t networks, unsigned steps) {
  const bool replay = std::getenv("EXRNIC_SEED") != nullptr;
  const uint64_t first = number_of("EXRNIC_SEED", 1);
  steps = static_cast<unsigned>(number_of("EXRNIC_STEPS", steps));
  for (uint64_t seed = first; seed < first + (replay ? 1 : networks); ++seed) {
    INFO("EXRNIC_SEED=" << seed);
    CHECK(run_random_network(seed, steps, test_cores()) == "");
  }
}

bool is_slow() {
  const char* cores = std::getenv("EXRNIC_TEST_CORES");
  return cores == nullptr || std::string(cores) != "ref";
}

TEST_CASE("in random networks no byte strays, and all that is posted ends once and in order") {
  live_in_networks(is_slow() ? 4 : 100, 250);
}

TEST_CASE("in many random networks no byte strays, and all that is posted ends", "[.][soak]") {
  live_in_networks(is_slow() ? 6 : 1000, 1500);
}

// ---- It would notice: cores of which something that leaves is wrong now and then.

constexpr size_t kData = 64;  // a write of more than that is no completion

// `strike` changes what leaves, or says false, of every 50th that `counts`.
template <typename What>
std::function<bool(What&)> every_50th(std::function<bool(const What&)> counts,
                                      std::function<bool(What&)> strike) {
  return [counts = std::move(counts), strike = std::move(strike),
          count = std::make_shared<unsigned>(0)](What& what) {
    return !counts(what) || ++*count % 50 != 0 || strike(what);
  };
}
Fault of_writes(std::function<bool(const PostedWrite&)> counts,
                std::function<bool(PostedWrite&)> strike) {
  Fault fault;
  fault.write = every_50th<PostedWrite>(std::move(counts), std::move(strike));
  return fault;
}
bool is_data(const PostedWrite& write) { return write.data.size() > kData; }
bool is_completion(const PostedWrite& write) { return write.data.size() == sizeof(exrnic_cqe); }

unsigned noticed(const Fault& fault) {
  constexpr unsigned kNetworks = 10;
  unsigned networks = 0;
  for (uint64_t seed = 1; seed <= kNetworks; ++seed)
    networks += run_random_network(seed, 300, [&](const CoreConfig& config, CoreSink& sink) {
                  return std::make_unique<FaultyCore>(config, sink, make_ref_core, fault);
                }) != "";
  return networks;
}

TEST_CASE("a core that loses, changes or strays what it writes is noticed in a random network") {
  CHECK(noticed({}) == 0);
  const auto change = [](auto& what) {
    what.data.back() ^= 1;
    return true;
  };
  const auto lose = [](auto&) { return false; };
  CHECK(noticed(of_writes(is_data, change)) > 7);
  CHECK(noticed(of_writes(is_data, lose)) > 7);
  CHECK(noticed(of_writes(is_data, [](PostedWrite& write) {
          write.address ^= 0x200;
          return true;
        })) > 7);
  CHECK(noticed(of_writes(is_completion, lose)) > 7);
  CHECK(noticed(of_writes(is_completion, [](PostedWrite& write) {
          exrnic_cqe cqe;
          std::memcpy(&cqe, write.data.data(), sizeof cqe);
          ++cqe.wqe_index;
          std::memcpy(write.data.data(), &cqe, sizeof cqe);
          return true;
        })) > 7);
  Fault on_the_wire;
  on_the_wire.transmit =
      every_50th<Frame>([](const Frame& frame) { return frame.data.size() > 3 * kData; }, change);
  CHECK(noticed(on_the_wire) > 7);
}

}  // namespace
}  // namespace exrnic::testing
