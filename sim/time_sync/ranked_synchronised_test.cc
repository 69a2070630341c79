// SPDX-License-Identifier: BSD-2-Clause
// exrnic-sim-mpi --time sync from outside, with played guests at two ranks.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "exrnic_hw.h"
#include "sim/testing/simulator_process.h"
#include "sim/time_sync/played_guest.h"

namespace exrnic {
namespace {

// Node 0 is at rank 0, node 1 at rank 1, each in a folder of its own.
struct TwoRanks {
  TwoRanks() {
    simulator.wait_until_ready();
    simulator.wait_until_ready();
  }
  ~TwoRanks() { simulator.signal(SIGTERM); }

  std::vector<std::string> arguments() {
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 1);
    std::vector<std::string> all = {"--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"};
    for (const char* rank : {"r0", "r1"}) {
      std::filesystem::create_directory(dir / rank);
      if (rank[1] == '1') all.emplace_back(":");
      for (const std::string& argument :
           {std::string("-n"), std::string("1"), std::string("-wdir"), dir / rank,
            std::string(EXRNIC_SIM_MPI_PROGRAM), std::string("--core"), std::string("ref"),
            std::string("--topology"), std::string("star:2"), std::string("--node"),
            std::string("vfio-user:0.sock"), std::string("--node"), std::string("vfio-user:1.sock"),
            std::string("--time"), std::string("sync:clock")})
        all.push_back(argument);
    }
    return all;
  }
  std::unique_ptr<PlayedGuest> guest(unsigned node) {
    const std::string folder = dir / ("r" + std::to_string(node));
    return std::make_unique<PlayedGuest>(folder + "/clock",
                                         folder + "/" + std::to_string(node) + ".sock", 0);
  }
  void await_absence(unsigned node) {
    const Clock clock(dir / ("r" + std::to_string(node) + "/clock"));
    wait_for("the guest to be gone", [&] {
      return exrnic_state_of(exrnic_time_load(&clock->guest[0].where)) == EXRNIC_GUEST_ABSENT;
    });
  }

  TempDir dir;
  Simulator simulator{arguments(), "mpirun"};
};

// The other one's load has no bound: nothing but its own joining keeps the simulation from going
// on.
TEST_CASE("a guest that joins late at another rank loses no time with its first load") {
  TwoRanks run;
  auto first = run.guest(0);
  auto late = run.guest(1);
  first->await_start();
  late->await_start();
  std::atomic<bool> over{false};
  std::thread loading([&] {
    uint32_t value = 0;
    while (!over) first->load(EXRNIC_REG_NODE_ID, &value);
  });
  uint32_t value = 0;
  std::vector<uint64_t> took;
  for (int i = 0; i < 100; ++i) {
    late.reset();
    run.await_absence(1);
    late = run.guest(1);
    late->await_start();
    took.push_back(late->load(EXRNIC_REG_NODE_ID, &value));
  }
  over = true;
  late.reset();
  loading.join();
  CHECK(value == 1);
  CHECK(took == std::vector<uint64_t>(took.size(), took.front()));
}

}  // namespace
}  // namespace exrnic
