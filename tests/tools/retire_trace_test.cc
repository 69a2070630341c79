// SPDX-License-Identifier: BSD-2-Clause
// The trace of the instructions that a node's processor retires.
#include "sim/debug/retire_trace.h"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/support/firmware.h"
#include "tests/support/pair.h"

namespace exrnic::testing {
namespace {

using debug::FirmwareSymbols;
using debug::RetireTrace;

FirmwareSymbols symbols_in(const std::string& text) {
  std::istringstream lines(text);
  return FirmwareSymbols(lines);
}

TEST_CASE("an address is named after the function that holds it") {
  const FirmwareSymbols symbols = symbols_in(
      "00001000 A STACK_BYTES\n"
      "ffffffff80000000 T _start\n"
      "80000100 t helper\n"
      "80000180 B buffer\n");
  CHECK(symbols.name(0x8000'0000) == "_start+0x0");
  CHECK(symbols.name(0x8000'00fc) == "_start+0xfc");
  CHECK(symbols.name(0x8000'0104) == "helper+0x4");
  CHECK(symbols.name(0x7fff'fffc) == "0x7ffffffc");
  CHECK(FirmwareSymbols().name(0x10) == "0x00000010");
}

TEST_CASE("what is no list of symbols is refused with its line") {
  const auto what = [](const std::string& text) {
    try {
      symbols_in(text);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(what("80000000 T _start\nhello\n") ==
        "line 2 is no 'ADDRESS TYPE NAME', as nm writes them");
  CHECK(what("") == "it names no function");
  CHECK(what("80000180 B buffer\n") == "it names no function");
}

TEST_CASE(
    "every instruction of firmware is in the trace, with its place, and what functions took") {
  const std::string path = "retire_trace_test." + std::to_string(::getpid());
  {
    Pair pair;
    RetireTrace trace(path, FirmwareSymbols::of_file(EXRNIC_FIRMWARE_SYMBOLS), pair.testbed, 0,
                      [](const std::string& line) { FAIL(line); });
    start_firmware(pair.left.rnic, EXRNIC_FIRMWARE);
    pair.left.rnic.write_register(EXRNIC_REG_FW_COMMAND, EXRNIC_FW_OP_QUERY);
    wait_while_register(pair.left.rnic, EXRNIC_REG_FW_COMMAND_STATUS, EXRNIC_FW_STATUS_BUSY);
  }
  std::ifstream file(path);
  uint64_t lines = 0, instructions = 0, last_ns = 0;
  bool serves = false, counts = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first, pc, instruction, place;
    words >> first >> pc >> instruction >> place;
    if (first == "#") {
      if (instructions == 0) instructions = std::stoull(pc);
      counts |= instruction == "commands_serve";
      continue;
    }
    ++lines;
    REQUIRE(std::stoull(first) >= last_ns);
    last_ns = std::stoull(first);
    REQUIRE(place.find('+') != std::string::npos);
    serves |= place.find("commands_serve+") == 0;
    REQUIRE(words.rdbuf()->in_avail() <= 0);  // no exception
  }
  CHECK(serves);
  CHECK(counts);
  CHECK(instructions > 100);
  CHECK(lines >= instructions);
  CHECK(lines < instructions + 20);  // those that ended a rest
  std::remove(path.c_str());
}

}  // namespace
}  // namespace exrnic::testing
