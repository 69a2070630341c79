// SPDX-License-Identifier: BSD-2-Clause
// Example programs, each end in a thread, on exrnic-sim.
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "sim_fixture.h"
#include "tickets_program.h"

namespace exrnic {
namespace {

struct End {
  std::string output;
  std::string error;
};

End RunEnd(const TicketOptions& options, const std::string& device) {
  char* text = nullptr;
  size_t size = 0;
  FILE* out = open_memstream(&text, &size);
  End end;
  try {
    RunTickets(options, [&] { return OpenDevice(device); }, out);
  } catch (const std::exception& error) {
    end.error = error.what();
  }
  fclose(out);
  end.output = text;
  free(text);
  return end;
}

// "[1,2,3]" of a guest's line.
std::vector<unsigned long> Drawn(const std::string& line) {
  std::vector<unsigned long> numbers;
  const char* at = strchr(line.c_str(), '[');
  while (at != nullptr && *at != ']') {
    char* end = nullptr;
    numbers.push_back(strtoul(at + 1, &end, 10));
    at = *end == ',' || *end == ']' ? end : nullptr;
  }
  return numbers;
}

void DrawAll(const std::string& core) {
  constexpr TicketOptions kOptions = {4, 20};
  Fixture fixture(core, kOptions.nodes);
  End ends[kOptions.nodes];
  std::vector<std::thread> threads;
  for (uint32_t node = 0; node < kOptions.nodes; ++node)
    threads.emplace_back([&, node] { ends[node] = RunEnd(kOptions, fixture.Name(node)); });
  for (std::thread& thread : threads) thread.join();

  std::vector<bool> drawn((kOptions.nodes - 1) * kOptions.tickets);
  for (uint32_t node = 1; node < kOptions.nodes; ++node) {
    INFO(ends[node].output);
    CHECK(ends[node].error.empty());
    const auto numbers = Drawn(ends[node].output);
    CHECK(numbers.size() == kOptions.tickets);
    for (const unsigned long number : numbers) {
      REQUIRE(number < drawn.size());
      CHECK(!drawn[number]);
      drawn[number] = true;
    }
  }
  CHECK(ends[0].error.empty());
  CHECK(ends[0].output == "@exrnic {\"nodes\":4,\"tickets\":60}\n");
}

TEST_CASE("each ticket of exrnic-tickets is drawn once on the reference model") { DrawAll("ref"); }

TEST_CASE("each ticket of exrnic-tickets is drawn once on the RTL", "[rtl]") { DrawAll("rtl"); }

}  // namespace
}  // namespace exrnic
