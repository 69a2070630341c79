// SPDX-License-Identifier: BSD-2-Clause
#include "output.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <memory>

namespace exrnic {
namespace {

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

TEST_CASE("results that were written end a program well") {
  const File out(tmpfile(), fclose);
  fputs("a row\n", out.get());
  CHECK_NOTHROW(FinishOutput(out.get()));
}

TEST_CASE(
    "a row that a full disk did not take ends a program with an error, whenever it was lost") {
  const File out(fopen("/dev/full", "w"), fclose);
  REQUIRE(out != nullptr);
  fputs("a row\n", out.get());
  const bool flushed = GENERATE(false, true);
  if (flushed) fflush(out.get());
  CHECK_THROWS_WITH(FinishOutput(out.get()),
                    "the results could not all be written; is the disk full?");
}

}  // namespace
}  // namespace exrnic
