// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/compare_cores.h"

#include <sstream>
#include <stdexcept>

#include "rtl-model/ref/ref_core.h"

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

std::string facts_or_failure(const RandomProgram& program, uint64_t seed, unsigned operations,
                             const CoreFactory& make_core) {
  try {
    return program(seed, operations, make_core);
  } catch (const std::runtime_error& error) {
    return std::string(kFailed) + error.what();
  }
}

}  // namespace

std::string compare_cores(const RandomProgram& program, uint64_t seed, unsigned operations) {
  const std::string rtl = facts_or_failure(program, seed, operations, make_rtl_core);
  const std::string ref = facts_or_failure(program, seed, operations, make_ref_core);
  std::string difference = first_difference(rtl, ref);
  if (difference.empty() && rtl.rfind(kFailed, 0) == 0) difference = "both " + rtl;
  if (difference.empty()) return "";
  return "seed " + std::to_string(seed) + ", " + std::to_string(operations) +
         " operations: " + difference;
}

}  // namespace exrnic::testing
