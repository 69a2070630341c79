// SPDX-License-Identifier: BSD-2-Clause
// Which stores into a remote window leave together. The reference model combines none.
#include "tests/support/exchange.h"
#include "tests/support/ntb.h"

namespace exrnic::testing {
namespace {

struct Combining : Exchange {
  Combining() {
    REQUIRE(window.set(kLeftQpn, kFarStag, kFarBase, 4096, kStore | kLoad) ==
            EXRNIC_MBOX_STATUS_OK);
    rest();
    sent = left.rnic.counter(EXRNIC_COUNTER_FRAMES_TX);
  }
  // Since the last call, when all is over.
  uint64_t frames() {
    rest();
    const uint64_t before = sent;
    sent = left.rnic.counter(EXRNIC_COUNTER_FRAMES_TX);
    return sent - before;
  }

  RemoteWindow window{left.rnic, 0};
  uint64_t sent = 0;
};

TEST_CASE("stores that follow each other leave as one frame, up to 64 bytes; others alone") {
  Combining pair;
  for (uint64_t i = 0; i < 8; ++i) pair.window.store(8 * i, 8, i);
  CHECK(pair.frames() == 1);
  for (uint64_t i = 0; i < 16; ++i) pair.window.store(8 * i, 8, i);
  CHECK(pair.frames() == 2);
  for (uint64_t i = 0; i < 8; ++i) pair.window.store(100 + i, 1, i);
  CHECK(pair.frames() == 1);
  for (uint64_t i = 0; i < 8; ++i) pair.window.store(16 * i, 8, i);
  CHECK(pair.frames() == 8);
  for (uint64_t i = 0; i < 4; ++i) pair.window.store(64, 8, i);
  CHECK(pair.frames() == 4);
  pair.window.store_block(128, Bytes(64, 7));
  CHECK(pair.frames() == 1);
}

TEST_CASE("stores wait for a neighbour as long as COMBINE_CYCLES says, and for a load not at all") {
  Combining pair;
  const auto store_with_a_pause = [&] {
    pair.window.store(0, 8, 1);
    pair.testbed.run_for(2000);  // 500 cycles, and the way
    pair.window.store(8, 8, 2);
    return pair.frames();
  };
  CHECK(store_with_a_pause() == 2);
  pair.left.rnic.write_register(EXRNIC_REG_COMBINE_CYCLES, 1000);
  CHECK(store_with_a_pause() == 1);
  pair.left.rnic.write_register(EXRNIC_REG_COMBINE_CYCLES, EXRNIC_COMBINE_CYCLES_MAX);
  const uint64_t start = pair.testbed.now_ns();
  pair.window.store(16, 8, 3);
  CHECK(pair.window.load(16, 8) == 3);
  CHECK(pair.testbed.now_ns() - start < 10'000);
}

}  // namespace
}  // namespace exrnic::testing
