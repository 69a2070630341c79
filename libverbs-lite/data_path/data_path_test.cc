// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "data_path_checks.h"

extern "C" const char* run_data_path_checks_in_c(const char** what);

namespace exrnic {
namespace {

void Expect(const char* (*run)(const char**)) {
  const char* what = nullptr;
  const char* wrong = run(&what);
  INFO(what);
  CHECK(std::string(wrong == nullptr ? "" : wrong).empty());
  CHECK(what != nullptr);
}

TEST_CASE("the data path holds what it says, compiled as C++") { Expect(run_checks); }
TEST_CASE("the data path holds what it says, compiled as C without a library") {
  Expect(run_data_path_checks_in_c);
}

}  // namespace
}  // namespace exrnic
