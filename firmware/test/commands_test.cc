// SPDX-License-Identifier: BSD-2-Clause
// The firmware's handlers on the host; mock.h is the hardware.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "test/mock.h"

extern "C" {
#include "app/commands.h"
}

namespace exrnic::testing {
namespace {

class Commands {
 public:
  Commands() { commands_start(); }

  uint32_t serve(uint32_t op) {
    mock_.registers[EXRNIC_REG_DEV_COMMAND] = op;
    mock_.registers[EXRNIC_REG_DEV_COMMAND_STATUS] = EXRNIC_FW_STATUS_BUSY;
    commands_serve();
    return mock_.registers[EXRNIC_REG_DEV_COMMAND_STATUS];
  }
  exrnic_fw_info info() {
    exrnic_fw_info info;
    for (unsigned i = 0; i < sizeof info / 4; ++i) {
      const uint32_t word = mock_.registers[EXRNIC_REG_DEV_WORDS + 4 * i];
      std::memcpy(reinterpret_cast<char*>(&info) + 4 * i, &word, 4);
    }
    return info;
  }
  Hardware mock_;
};

TEST_CASE("query tells version, memory, and the time since start") {
  Commands commands;
  commands.mock_.time_ns = 0x5'0000'0000 + 1000;
  REQUIRE(commands.serve(EXRNIC_FW_OP_QUERY) == EXRNIC_FW_STATUS_OK);
  const exrnic_fw_info info = commands.info();
  CHECK(info.version == FW_VERSION);
  CHECK(info.uptime_ns == 0x5'0000'0000);
  CHECK(info.memory_used == 0x1234);
  CHECK(info.stack_used == 0x56);
}

TEST_CASE("query counts the commands that were served before it, bad ones too") {
  Commands commands;
  commands.serve(EXRNIC_FW_OP_QUERY);
  CHECK(commands.info().commands == 0);
  commands.serve(0xff);
  commands.serve(EXRNIC_FW_OP_QUERY);
  CHECK(commands.info().commands == 2);
}

TEST_CASE("a command that nobody knows is refused, and writes nothing") {
  for (uint32_t op = 0; op < 256; ++op) {
    if (op >= EXRNIC_FW_OP_QUERY && op <= EXRNIC_FW_OP_CHANNEL_CLOSE) continue;
    Commands commands;
    CHECK(commands.serve(op) == EXRNIC_FW_STATUS_BAD_OPCODE);
    CHECK(commands.mock_.registers.count(EXRNIC_REG_DEV_WORDS) == 0);
  }
}

}  // namespace
}  // namespace exrnic::testing
