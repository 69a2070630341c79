// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/compare_cores.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <sstream>
#include <stdexcept>

#include "rtl-model/ref/ref_core.h"
#include "tests/support/random_driver.h"
#include "tests/support/random_work.h"
#include "tests/support/shrink.h"

namespace exrnic::testing {
namespace {

constexpr char kFailed[] = "failed: ";

std::string first_difference(const std::string& rtl, const std::string& ref) {
  std::istringstream rtl_lines(rtl), ref_lines(ref);
  std::string rtl_line, ref_line;
  for (unsigned number = 1;; ++number) {
    const bool rtl_more = bool(std::getline(rtl_lines, rtl_line));
    const bool ref_more = bool(std::getline(ref_lines, ref_line));
    if (!rtl_more && !ref_more) return "";
    if (!rtl_more) rtl_line = "nothing";
    if (!ref_more) ref_line = "nothing";
    if (rtl_line != ref_line)
      return "fact " + std::to_string(number) + ": rtl: " + rtl_line + "; ref: " + ref_line;
  }
}

std::string facts_or_failure(const Program& program, const CoreFactory& make_core) {
  try {
    return program(make_core);
  } catch (const std::runtime_error& error) {
    return std::string(kFailed) + error.what();
  }
}

constexpr unsigned kShrinkRuns = 150;

std::string compare_plan(const Plan& plan) {
  return compare_cores([&plan](const CoreFactory& make_core) { return run_plan(plan, make_core); });
}

std::string describe(const Plan& plan, unsigned operations, const std::vector<unsigned>& needed) {
  std::string text;
  const Plan part = keep_only(plan, needed);
  for (size_t round = 0; round < part.rounds.size(); ++round)
    for (const Batch& batch : part.rounds[round].batches)
      for (const Operation& operation : batch.operations)
        text += fmt::format("  round {} node {} pair {}{}: {}\n", round, batch.node, batch.pair,
                            batch.hostile ? " hostile" : "", to_string(operation));
  return text +
         fmt::format("  replay: EXRNIC_SEED={} EXRNIC_OPS={} EXRNIC_KEEP={} random_work_test\n",
                     plan.seed, operations, fmt::join(needed, ","));
}

}  // namespace

std::string compare_cores(const Program& program) {
  const std::string rtl = facts_or_failure(program, make_rtl_core);
  const std::string ref = facts_or_failure(program, make_ref_core);
  const std::string difference = first_difference(rtl, ref);
  if (difference.empty() && rtl.rfind(kFailed, 0) == 0) return "both " + rtl;
  return difference;
}

std::string compare_random_work(uint64_t seed, unsigned operations,
                                const std::vector<unsigned>& keep) {
  const Plan plan = random_plan(seed, operations);
  const std::vector<unsigned> all = keep.empty() ? numbers_of(plan) : keep;
  const auto fails = [&plan](const std::vector<unsigned>& numbers) {
    return !compare_plan(keep_only(plan, numbers)).empty();
  };
  const std::string difference = compare_plan(keep_only(plan, all));
  if (difference.empty()) return "";
  const std::vector<unsigned> needed = shrink(all, fails, kShrinkRuns);
  return fmt::format("seed {}: {}\n  cut down to {} of {} operations: {}\n", seed, difference,
                     needed.size(), all.size(), compare_plan(keep_only(plan, needed))) +
         describe(plan, operations, needed);
}

std::string compare_random_driver(uint64_t seed, unsigned steps) {
  const std::string difference = compare_cores([seed, steps](const CoreFactory& make_core) {
    return run_random_driver(seed, steps, make_core);
  });
  if (difference.empty()) return "";
  return fmt::format("seed {}, random driver of {} steps: {}\n", seed, steps, difference);
}

}  // namespace exrnic::testing
