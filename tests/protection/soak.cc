// SPDX-License-Identifier: BSD-2-Clause
// exrnic-protection-soak CORE ACCESSES SEED: random accesses to the memory regions of a core (rtl
// or ref), in programs of a seed each that can be repeated alone. The last line is the verdict;
// exit code 1 means that the core and the oracle disagree.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "rtl-model/ref/ref_core.h"
#include "tests/protection/random_accesses.h"

namespace {

using namespace exrnic;
using namespace exrnic::testing;

constexpr uint64_t kProgram = 20'000;  // accesses

bool parse(const char* text, uint64_t& number) {
  char* end;
  number = std::strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0';
}

int usage() {
  std::fputs("usage: exrnic-protection-soak rtl|ref ACCESSES SEED; ACCESSES is at least 1\n",
             stderr);
  return 2;
}

using Count = unsigned long long;

void print(const AccessTally& tally) {
  for (size_t i = 0; i < kKinds; ++i)
    std::printf("%-12s %12llu granted %12llu refused\n", name_of(static_cast<Kind>(i)),
                static_cast<Count>(tally.granted[i]), static_cast<Count>(tally.refused[i]));
  std::printf(
      "%llu deregistrations, %llu of them under traffic: %llu accesses still granted, %llu "
      "refused\n",
      static_cast<Count>(tally.deregistrations), static_cast<Count>(tally.races),
      static_cast<Count>(tally.races_granted), static_cast<Count>(tally.races_refused));
  std::printf("memory windows: %llu binds, %llu refused; %llu accesses by them granted\n",
              static_cast<Count>(tally.binds), static_cast<Count>(tally.binds_refused),
              static_cast<Count>(tally.by_window));
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t accesses, seed;
  if (argc != 4 || !parse(argv[2], accesses) || !parse(argv[3], seed) || accesses == 0)
    return usage();
  const std::string core = argv[1];
  if (core != "rtl" && core != "ref") return usage();
  AccessTally tally;
  uint64_t findings = 0, programs = 0, done = 0;
  for (; done < accesses; ++programs) {
    const uint64_t now = std::min(kProgram, accesses - done);
    const std::string finding = try_random_accesses(core == "rtl" ? make_rtl_core : make_ref_core,
                                                    seed + programs, now, tally);
    done += now;
    if (finding.empty()) continue;
    ++findings;
    std::fputs(finding.c_str(), stdout);
    std::fflush(stdout);
  }
  print(tally);
  std::printf("protection on %s: %s: %llu accesses, seeds %llu to %llu, %llu findings\n",
              core.c_str(), findings ? "FAIL" : "PASS", static_cast<Count>(done),
              static_cast<Count>(seed), static_cast<Count>(seed + programs - 1),
              static_cast<Count>(findings));
  return findings != 0 || std::fflush(stdout) != 0;  // a verdict that nobody can read is none
}
