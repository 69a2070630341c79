// SPDX-License-Identifier: BSD-2-Clause
#include "report.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <functional>

#include "stopwatch.h"

namespace exrnic {
namespace {

std::string Printed(const std::function<void(FILE*)>& print) {
  char* text = nullptr;
  size_t length = 0;
  FILE* file = open_memstream(&text, &length);
  print(file);
  fclose(file);
  std::string result(text, length);
  free(text);
  return result;
}

TEST_CASE("sizes have the largest unit that divides them") {
  CHECK(SizeText(8) == "8 B");
  CHECK(SizeText(4096) == "4 KiB");
  CHECK(SizeText(1536 << 10) == "1536 KiB");
  CHECK(SizeText(uint64_t{4} << 30) == "4 GiB");
}

TEST_CASE("a figure is a line of JSON with its keys, one that was skipped has its reason") {
  Report report;
  report.Add("pbl.us", 2.5, "us", {{"size", 4096}}, "8.35 us");
  report.Skip("pbl.us", {{"size", 8192}}, "no \"room\"");
  CHECK(Printed([&](FILE* out) { report.PrintJson(out); }) ==
        R"({"name":"pbl.us","value":2.5,"unit":"us","clock":"wall","size":4096})"
        "\n"
        R"({"name":"pbl.us","skipped":"no \"room\"","size":8192})"
        "\n");
}

TEST_CASE("the table has the paper's figure, or why there is none of ours") {
  Report report;
  report.Add("pbl.us", 2.5, "us", {{"size", 4096}}, "8.35 us");
  report.Skip("pbl.us", {{"size", 8192}}, "no room");
  const std::string table = Printed([&](FILE* out) { report.PrintTable(out); });
  CHECK(table.find("size 4 KiB") != std::string::npos);
  CHECK(table.find("8.35 us") != std::string::npos);
  CHECK(table.find("no room") != std::string::npos);
}

TEST_CASE("a mean is over the calls that were made: all, or as many as the time allows") {
  uint64_t calls = 0;
  CHECK(MeasureMean(250, 3600, [&] { ++calls; }).count == 250);
  CHECK(calls == 250);
  calls = 0;
  const Mean cut = MeasureMean(1'000'000'000, 0, [&] { ++calls; });
  CHECK(cut.count == calls);
  CHECK(calls < 1'000'000'000);
}

TEST_CASE("two means together weigh by their counts") {
  const Mean mean = Together({10, 1}, {20, 3});
  CHECK(mean.ns == 17.5);
  CHECK(mean.count == 4);
}

TEST_CASE("half of the values lie on each side of a median") {
  CHECK(Median({3}) == 3);
  CHECK(Median({9, 1, 5}) == 5);
}

}  // namespace
}  // namespace exrnic
