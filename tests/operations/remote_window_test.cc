// SPDX-License-Identifier: BSD-2-Clause
// Remote windows: a store into BAR 4 is a write of the peer's memory, a load a read of it; what the
// entry does not allow reaches nobody, and nothing hangs the processor that waits.
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/cluster.h"
#include "tests/support/exchange.h"
#include "tests/support/ntb.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kBytes = 6000;  // of the window, and of the region behind it
constexpr uint32_t kIndex = 5;

// A window of the left node on all of the right one's memory.
struct Windowed : Exchange {
  explicit Windowed(const TestbedOptions& options = options_for("dc-25g"))
      : Exchange(kBytes, {}, options) {}

  exrnic_mbox_status open(uint32_t access = kStore | kLoad) {
    return window.set(kLeftQpn, kFarStag, kFarBase, kBytes, access);
  }
  void connect_anew(const Rnr& rnr) {
    for (End* end : {&left, &right}) end->rnic.modify(end->qp.qpn, EXRNIC_QP_STATE_RESET);
    left.rnic.connect(left.qp, 1, kRightQpn, rnr);
    right.rnic.connect(right.qp, 0, kLeftQpn, rnr);
  }
  Bytes memory() { return right.rnic.read(right.far, 0, kBytes); }
  uint64_t count(exrnic_counter which) { return left.rnic.counter(which); }

  RemoteWindow window{left.rnic, kIndex};
};

void put(Bytes& bytes, uint64_t offset, unsigned size, uint64_t value) {
  for (unsigned i = 0; i < size; ++i) bytes[offset + i] = static_cast<uint8_t>(value >> (8 * i));
}

TEST_CASE("stores of every size and place reach the peer's memory, and no other byte changes") {
  std::mt19937_64 random(31);
  Windowed pair;
  REQUIRE(pair.open() == EXRNIC_MBOX_STATUS_OK);
  Bytes expected = random_bytes(random, kBytes);
  pair.right.rnic.write(pair.right.far, 0, expected);
  uint64_t next = 0;
  for (unsigned i = 0; i < 400; ++i) {
    const unsigned size = 1u << random() % 4;
    // Every other one goes where the one before has ended, if it can.
    const bool goes_on = i % 2 && next % size == 0 && next + size <= kBytes;
    const uint64_t offset = goes_on ? next : random() % (kBytes / size) * size;
    const uint64_t value = random();
    pair.window.store(offset, size, value);
    put(expected, offset, size, value);
    next = offset + size;
  }
  pair.rest();
  REQUIRE(difference(pair.memory(), expected) == "");
  CHECK(pair.count(EXRNIC_COUNTER_WINDOW_STORES) == 400);
  CHECK(pair.count(EXRNIC_COUNTER_WINDOW_REFUSED) == 0);
  pair.expect_nothing_refused();
}

TEST_CASE("a load of every size sees the peer's memory, behind the stores before it") {
  std::mt19937_64 random(32);
  Windowed pair;
  REQUIRE(pair.open() == EXRNIC_MBOX_STATUS_OK);
  Bytes expected = random_bytes(random, kBytes);
  pair.right.rnic.write(pair.right.far, 0, expected);
  for (unsigned i = 0; i < 48; ++i) {
    const unsigned size = 1u << i % 4;
    const uint64_t offset = random() % (kBytes / size) * size;
    if (i % 3 == 0) {
      const uint64_t value = random();
      pair.window.store(offset, size, value);
      put(expected, offset, size, value);
    }
    const uint64_t got = pair.window.load(offset, size);
    Bytes bytes(size);
    put(bytes, 0, size, got);
    const auto first = expected.begin() + static_cast<ptrdiff_t>(offset);
    REQUIRE(difference(bytes, Bytes(first, first + size)) == "");
  }
  CHECK(pair.count(EXRNIC_COUNTER_WINDOW_LOADS) == 48);
  CHECK(pair.count(EXRNIC_COUNTER_WINDOW_LOAD_ERRORS) == 0);
}

// In lockstep, too: there the reference model is ahead, and its load must not be held against the
// moment in which the subject's store is on its way to memory.
TEST_CASE("a load sees the store before it, at whatever moment behind it") {
  constexpr uint64_t kStep = 40, kSteps = 60;  // ns: from before it leaves to after it is there
  Windowed pair;
  REQUIRE(pair.open() == EXRNIC_MBOX_STATUS_OK);
  for (uint64_t i = 1; i <= kSteps; ++i) {
    pair.window.store(64, 8, i);
    pair.testbed.run_for(i * kStep);
    CHECK(pair.window.load(64, 8) == i);
    pair.rest();
  }
}

TEST_CASE("a load sees the stores before it, however slowly the peer's memory takes them") {
  constexpr uint64_t kAcross = 200;  // its 8 bytes are in two pages: two writes for each store
  TestbedOptions options = options_for("dc-25g");
  options.profile.pcie.bytes_per_us = 100;
  Windowed pair(options);
  REQUIRE(pair.open() == EXRNIC_MBOX_STATUS_OK);
  for (uint64_t i = 1; i <= 60; ++i) {
    pair.window.store(kAcross, 8, i);
    if (i % 20 == 0) CHECK(pair.window.load(kAcross, 8) == i);
  }
}

TEST_CASE("what a window does not allow changes nothing and reads as all ones") {
  Windowed pair;
  const uint32_t access = GENERATE(0u, kStore, kLoad, kStore | kLoad);
  REQUIRE(pair.open(access) == EXRNIC_MBOX_STATUS_OK);
  const Bytes before = pair.memory();
  uint64_t refused = 0;
  const auto try_store = [&](uint64_t offset, unsigned size) {
    pair.window.store(offset, size, 0x5555'5555'5555'5555);
    ++refused;
  };
  const auto try_load = [&](uint64_t offset, unsigned size) {
    CHECK(pair.window.load(offset, size) == all_ones(size));
    ++refused;
  };
  try_store(kBytes, 1);
  try_store(kBytes - 4, 8);  // not aligned either
  try_load(kBytes, 8);
  try_store(kWindowSize - 8, 8);
  try_store(kWindowSize, 8);  // the next window, which is closed
  try_load(kWindowSize, 4);
  for (const unsigned size : {1, 2, 4, 8}) {
    if (!(access & kStore)) try_store(64, size);
    if (!(access & kLoad)) try_load(64, size);
  }
  pair.rest();
  CHECK(difference(pair.memory(), before) == "");
  CHECK(pair.count(EXRNIC_COUNTER_WINDOW_REFUSED) == refused);
  CHECK(pair.left.state() == EXRNIC_QP_STATE_RTS);
}

TEST_CASE("windows share BAR 4, whatever size the board gives it; each is as long as its part") {
  const unsigned shift = GENERATE(21u, 24u, 26u);
  const uint64_t size = uint64_t{1} << shift;
  TestbedOptions options = options_for("dc-25g");
  options.profile.window_shift = static_cast<uint8_t>(shift);
  Windowed pair(options);
  CHECK(pair.left.rnic.read_register(EXRNIC_REG_WINDOW_SIZE) == size);
  const uint32_t windows = pair.left.rnic.read_register(EXRNIC_REG_MAX_WINDOW);
  for (const uint32_t index : {0u, windows - 1}) {
    RemoteWindow window(pair.left.rnic, index, static_cast<uint32_t>(size));
    // What it shows ends with the peer's region.
    const uint64_t base = kFarBase + kBytes - size;
    const auto open = [&](uint64_t length) {
      return window.set(Exchange::kLeftQpn, kFarStag, base, static_cast<uint32_t>(length),
                        kStore | kLoad);
    };
    CHECK(open(size + 1) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
    REQUIRE(open(size) == EXRNIC_MBOX_STATUS_OK);
    for (uint64_t i = 0; i < 20; ++i) window.store(size - 160 + 8 * i, 8, index + i + 1);
    for (uint64_t i = 0; i < 20; ++i) CHECK(window.load(size - 160 + 8 * i, 8) == index + i + 1);
    const uint64_t refused = pair.count(EXRNIC_COUNTER_WINDOW_REFUSED);
    // The window beside it, which is closed.
    const uint64_t beside = index == 0 ? size : uint64_t{0} - 8;
    window.store(beside, 8, kAllOnes);
    CHECK(window.load(beside, 8) == kAllOnes);
    CHECK(pair.count(EXRNIC_COUNTER_WINDOW_REFUSED) == refused + 2);
    REQUIRE(open(size - 1) == EXRNIC_MBOX_STATUS_OK);
    CHECK(window.load(size - 8, 8) == kAllOnes);
    pair.rest();
    CHECK(pair.right.rnic.read(pair.right.far, kBytes - 8, 8)[0] == index + 20);
  }
  CHECK(pair.left.state() == EXRNIC_QP_STATE_RTS);
}

TEST_CASE("an entry that makes no sense is refused, with the reason") {
  Windowed pair;
  RemoteWindow& window = pair.window;
  const uint32_t qpn = Exchange::kLeftQpn;
  CHECK(RemoteWindow(pair.left.rnic, EXRNIC_MAX_WINDOWS).set(qpn, 0, 0, 8, kStore) ==
        EXRNIC_MBOX_STATUS_BAD_INDEX);
  CHECK(window.set(EXRNIC_MAX_QP, 0, 0, 8, kStore) == EXRNIC_MBOX_STATUS_BAD_INDEX);
  CHECK(window.set(qpn + 1, 0, 0, 8, kStore) == EXRNIC_MBOX_STATUS_BAD_STATE);
  CHECK(window.set(qpn, 0, 0, 0, kStore) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(window.set(qpn, 0, 0, kWindowSize + 1, kStore) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(window.set(qpn, 0, 0, 8, 4) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(window.set(qpn, 0, UINT64_MAX - 6, 8, kStore) == EXRNIC_MBOX_STATUS_BAD_PARAMETER);
  CHECK(window.set(qpn, 0, UINT64_MAX - 7, 8, kStore) == EXRNIC_MBOX_STATUS_OK);
  CHECK(window.close() == EXRNIC_MBOX_STATUS_OK);
  CHECK(window.close() == EXRNIC_MBOX_STATUS_OK);
  pair.left.rnic.modify(qpn, EXRNIC_QP_STATE_ERROR);
  CHECK(window.set(qpn, 0, 0, 8, kStore) == EXRNIC_MBOX_STATUS_BAD_STATE);
}

TEST_CASE("what the peer refuses fails the queue pair, not the processor") {
  Windowed pair;
  const bool store = GENERATE(true, false);
  REQUIRE(pair.window.set(Exchange::kLeftQpn, kFarStag + 1, kFarBase, kBytes, kStore | kLoad) ==
          EXRNIC_MBOX_STATUS_OK);
  const Bytes before = pair.memory();
  if (store) {
    pair.window.store(8, 8, 1);
  } else {
    CHECK(pair.window.load(8, 8) == kAllOnes);
    CHECK(pair.count(EXRNIC_COUNTER_WINDOW_LOAD_ERRORS) == 1);
  }
  pair.rest();
  CHECK(pair.left.state() == EXRNIC_QP_STATE_ERROR);
  pair.window.store(16, 8, 1);
  CHECK(pair.window.load(16, 4) == all_ones(4));
  pair.rest();
  CHECK(difference(pair.memory(), before) == "");
}

TEST_CASE(
    "work that is posted to a queue pair with a window ends it with an error, and is not done") {
  const uint8_t opcode =
      GENERATE(EXRNIC_WQE_OPCODE_SEND, EXRNIC_WQE_OPCODE_PUSH, EXRNIC_WQE_OPCODE_PULL);
  Windowed pair;
  pair.connect_anew({0, EXRNIC_RNR_RETRY_ENDLESS});
  REQUIRE(pair.open() == EXRNIC_MBOX_STATUS_OK);
  CHECK(pair.window.load(8, 8) != kAllOnes);
  Work work = pull_of({element(pair.left.near, 0, 64)}, 0);
  work.opcode = opcode;
  pair.left.post(work);  // a SEND would find no receive, and take the stores behind it along
  pair.window.store(64, 8, 1);
  CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
  CHECK(pair.left.state() == EXRNIC_QP_STATE_ERROR);
  const Bytes before = pair.memory();
  const uint64_t refused = pair.count(EXRNIC_COUNTER_WINDOW_REFUSED);
  pair.window.store(128, 8, 1);
  CHECK(pair.window.load(8, 8) == kAllOnes);
  pair.rest();
  CHECK(difference(pair.memory(), before) == "");
  CHECK(pair.count(EXRNIC_COUNTER_WINDOW_REFUSED) == refused + 2);
  pair.expect_nothing_refused();
}

TEST_CASE("a queue pair gets a window when what was posted has ended, and work again without it") {
  Windowed pair;
  pair.connect_anew({1, EXRNIC_RNR_RETRY_ENDLESS});
  const auto send = [&] { pair.left.post(send_of({element(pair.left.near, 0, 64)})); };
  send();
  pair.testbed.run_for(5'000);
  CHECK(pair.right.rnic.counter(EXRNIC_COUNTER_RNR_NAK_TX) != 0);
  CHECK(pair.open() == EXRNIC_MBOX_STATUS_BAD_STATE);  // stores would be behind the refused message
  pair.right.receive({element(pair.right.near, 0, 64)});
  CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  REQUIRE(pair.open() == EXRNIC_MBOX_STATUS_OK);
  for (uint64_t i = 1; i <= 20; ++i) pair.window.store(16 * i, 8, i);
  for (uint64_t i = 1; i <= 20; ++i) CHECK(pair.window.load(16 * i, 8) == i);
  REQUIRE(pair.window.close() == EXRNIC_MBOX_STATUS_OK);
  pair.right.receive({element(pair.right.near, 0, 64)});
  send();
  CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  pair.rest();
}

TEST_CASE("a queue pair that has pulled gets a window only after its RESET") {
  Windowed pair;
  pair.left.post(pull_of({element(pair.left.near, 0, 64)}, 0));
  CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(pair.open() == EXRNIC_MBOX_STATUS_BAD_STATE);  // the peer knows the numbers of its loads
  pair.connect_anew({1, EXRNIC_RNR_RETRY_ENDLESS});
  REQUIRE(pair.open() == EXRNIC_MBOX_STATUS_OK);
  CHECK(pair.window.load(8, 8) != kAllOnes);
  pair.rest();
}

TEST_CASE("a load from a peer that is gone ends with all ones, and the node goes on") {
  TestbedOptions options = options_for("dc-25g");
  options.faults_towards[1].rates.drop = 1;
  Testbed testbed(options, test_cores());
  End left(testbed, 0, Exchange::kLeftQpn, kBytes);
  left.rnic.connect(left.qp, 1, Exchange::kRightQpn);
  RemoteWindow window(left.rnic, kIndex);
  left.rnic.write_register(EXRNIC_REG_LOAD_CYCLES, 2000);
  CHECK(left.rnic.read_register(EXRNIC_REG_LOAD_CYCLES) == 2000);
  REQUIRE(window.set(Exchange::kLeftQpn, kFarStag, kFarBase, kBytes, kStore | kLoad) ==
          EXRNIC_MBOX_STATUS_OK);
  const uint64_t start = testbed.now_ns();
  CHECK(window.load(0, 8) == kAllOnes);
  CHECK(testbed.now_ns() - start < 10'000);  // 8 us of waiting, and the way
  CHECK(window.load(0, 8) == kAllOnes);      // not asked while the first is owed
  CHECK(left.rnic.counter(EXRNIC_COUNTER_WINDOW_LOADS) == 1);
  CHECK(left.rnic.counter(EXRNIC_COUNTER_WINDOW_LOAD_ERRORS) == 2);
  for (unsigned i = 0; i < 20; ++i) window.store(16 * i, 8, i);
  testbed.run_while_busy(50'000'000);
  CHECK(left.state() == EXRNIC_QP_STATE_ERROR);
  window.store(0, 8, 1);
  CHECK(window.load(0, 8) == kAllOnes);
  CHECK(window.close() == EXRNIC_MBOX_STATUS_OK);
}

TEST_CASE("a store goes by the entry that was there when it was done") {
  std::mt19937_64 random(33);
  Windowed pair;
  Bytes expected = pair.memory();
  uint64_t base = 0;
  bool open = false;
  for (unsigned i = 0; i < 60; ++i) {
    if (i % 4 == 0) {
      open = random() % 4 != 0;
      base = random() % 1000;
      const auto status = open ? pair.window.set(Exchange::kLeftQpn, kFarStag, kFarBase + base,
                                                 kBytes - 1000, kStore)
                               : pair.window.close();
      REQUIRE(status == EXRNIC_MBOX_STATUS_OK);
    }
    const uint64_t offset = random() % 500 * 8;
    const uint64_t value = random();
    pair.window.store(offset, 8, value);
    if (open) put(expected, base + offset, 8, value);
  }
  pair.rest();
  REQUIRE(difference(pair.memory(), expected) == "");
}

TEST_CASE("a window does not outlive its queue pair") {
  Windowed pair;
  REQUIRE(pair.open() == EXRNIC_MBOX_STATUS_OK);
  const Bytes before = pair.memory();
  const bool destroy = GENERATE(true, false);
  pair.left.rnic.modify(Exchange::kLeftQpn, EXRNIC_QP_STATE_RESET);
  if (destroy) {
    pair.left.rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{Exchange::kLeftQpn});
    pair.left.qp = pair.left.rnic.create_qp(Exchange::kLeftQpn, End::kPage, End::kPd, pair.left.cq);
  }
  pair.right.rnic.modify(Exchange::kRightQpn, EXRNIC_QP_STATE_RESET);
  pair.connect();
  pair.window.store(0, 8, kAllOnes);
  CHECK(pair.window.load(0, 8) == kAllOnes);
  pair.rest();
  CHECK(difference(pair.memory(), before) == "");
  REQUIRE(pair.open() == EXRNIC_MBOX_STATUS_OK);
  pair.window.store(0, 8, 77);
  CHECK(pair.window.load(0, 8) == 77);
}

TEST_CASE(
    "windows on two peers and on one region keep apart; a block of 64 bytes is eight stores") {
  std::mt19937_64 random(34);
  TestbedOptions options = options_for("dc-25g", 3);
  Cluster cluster(options, test_cores(), 4096);
  cluster.connect_all();
  Member& first = cluster[0];
  std::vector<RemoteWindow> windows;
  for (uint32_t peer = 1; peer < 3; ++peer) {
    windows.emplace_back(first.rnic, peer);
    REQUIRE(windows.back().set(first.qps.at(peer).qpn, kSinkStag, kSinkBase, 4096, kStore) ==
            EXRNIC_MBOX_STATUS_OK);
  }
  std::vector<Bytes> expected(3, Bytes(4096));
  for (unsigned i = 0; i < 24; ++i) {
    const unsigned peer = 1 + i % 2;
    const uint64_t offset = random() % 64 * 64;
    const Bytes data = random_bytes(random, 64);
    windows[peer - 1].store_block(offset, data);
    std::copy(data.begin(), data.end(), expected[peer].begin() + static_cast<ptrdiff_t>(offset));
  }
  cluster.rest();
  for (unsigned peer = 1; peer < 3; ++peer)
    CHECK(difference(cluster[peer].rnic.read(cluster[peer].sink, 0, 4096), expected[peer]) == "");
}

TEST_CASE("random accesses through random entries do what an oracle says, and no byte strays") {
  const uint64_t seed = 35;
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  Windowed pair;
  struct Entry {
    uint64_t base = 0;
    uint32_t length = 0;
    uint32_t access = 0;
  };
  std::vector<Entry> entries(pair.left.rnic.read_register(EXRNIC_REG_MAX_WINDOW));
  Bytes expected = pair.memory();
  for (unsigned i = 0; i < 600; ++i) {
    const auto index =
        static_cast<uint32_t>(random() % 4 == 0 ? random() % entries.size() : random() % 4);
    RemoteWindow window(pair.left.rnic, index);
    Entry& entry = entries[index];
    if (i % 12 == 0) {
      entry = {random() % 3000, static_cast<uint32_t>(1 + random() % 3000),
               static_cast<uint32_t>(random() % 4)};
      REQUIRE(window.set(Exchange::kLeftQpn, kFarStag, kFarBase + entry.base, entry.length,
                         entry.access) == EXRNIC_MBOX_STATUS_OK);
    }
    const unsigned size = 1u << random() % 4;
    const uint64_t offset = random() % 3200;
    const bool inside = offset % size == 0 && offset + size <= entry.length;
    if (random() % 8 != 0) {
      const uint64_t value = random();
      window.store(offset, size, value);
      if (inside && (entry.access & kStore)) put(expected, entry.base + offset, size, value);
    } else {
      uint64_t value = all_ones(size);
      if (inside && (entry.access & kLoad)) {
        value = 0;
        for (unsigned b = 0; b < size; ++b)
          value |= uint64_t{expected[entry.base + offset + b]} << (8 * b);
      }
      REQUIRE(window.load(offset, size) == value);
    }
  }
  pair.rest();
  REQUIRE(difference(pair.memory(), expected) == "");
  pair.expect_nothing_refused();
}

}  // namespace
}  // namespace exrnic::testing
