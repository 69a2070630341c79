// SPDX-License-Identifier: BSD-2-Clause
// PULL by firmware: the peer cannot tell it from that of hardware, but for its faults.
#include <catch2/catch_test_macros.hpp>

#include "firmware/test/faulty.h"
#include "tests/support/exchange.h"
#include "tests/support/faulty_core.h"
#include "tests/support/firmware.h"
#include "tests/support/window_owner.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kSeed = 0x20261121;

// The right node answers PULLs of the left one.
struct Pulls : Exchange {
  explicit Pulls(bool by_firmware = true, uint64_t bytes = 100'000,
                 const QueuePairOptions& options = {})
      : Exchange(bytes, options) {
    start_firmware(right.rnic, EXRNIC_FIRMWARE);
    right.rnic.write_register(EXRNIC_REG_PULL_MODE,
                              by_firmware ? EXRNIC_PULL_MODE_FIRMWARE : EXRNIC_PULL_MODE_HARDWARE);
    data = random_bytes(random, bytes);
    right.rnic.write(right.far, 0, data);
  }

  // Firmware that takes nothing from the punt queue.
  void hoard() {
    start_firmware(right.rnic, EXRNIC_FAULTY_FIRMWARE);
    right.rnic.write_register(EXRNIC_REG_FW_COMMAND, FAULTY_HOARD);
    wait_while_register(right.rnic, EXRNIC_REG_FW_COMMAND_STATUS, EXRNIC_FW_STATUS_BUSY);
  }
  uint64_t punts() { return right.rnic.counter(EXRNIC_COUNTER_PUNTS); }
  void expect_pulled(uint64_t offset, uint32_t length) {
    const Bytes got = left.rnic.read(left.near, offset, length);
    const auto first = data.begin() + static_cast<ptrdiff_t>(offset);
    CHECK(difference(got, Bytes(first, first + length)) == "");
  }

  std::mt19937_64 random{kSeed};
  Bytes data;
};

TEST_CASE("PULLs of all sizes go through firmware, and bring their bytes") {
  Pulls pair;
  uint64_t count = 0;
  for (const uint32_t length : {0u, 1u, 8u, 1024u, 1025u, 4096u, 65'536u}) {
    INFO(length << " bytes");
    pair.left.post(pull_of({element(pair.left.near, 7, length)}, 7));
    CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    if (length != 0) pair.expect_pulled(7, length);
    CHECK(pair.punts() == ++count);
  }
  CHECK(pair.right.rnic.counter(EXRNIC_COUNTER_READS_SERVED) == count);
  CHECK(pair.right.rnic.counter(EXRNIC_COUNTER_FW_REFUSED) == 0);
  pair.expect_nothing_refused();
  pair.rest();
}

TEST_CASE("more PULLs than the punt queue holds come back in their order") {
  Pulls pair;
  constexpr uint32_t kPulls = 60;
  for (uint32_t i = 0; i < kPulls; ++i)
    pair.left.rnic.put(pair.left.qp, pull_of({element(pair.left.near, 64 * i, 64)}, 64 * i));
  pair.left.rnic.ring(pair.left.qp);
  for (uint32_t i = 0; i < kPulls; ++i) {
    const exrnic_cqe cqe = pair.left.wait();
    REQUIRE(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
    REQUIRE(cqe.wqe_index == i);
  }
  pair.expect_pulled(0, 64 * kPulls);
  CHECK(pair.punts() == kPulls);
}

TEST_CASE("a request that is refused is told behind what firmware answers, or with its loss") {
  constexpr uint32_t kTaken = 2, kEach = 20'000;
  QueuePairOptions options;
  options.max_reads_in = kTaken;
  for (const bool lost : {false, true}) {
    INFO("lost " << lost);
    Pulls pair(true, 100'000, options);
    if (lost) pair.hoard();
    for (uint32_t i = 0; i < 4; ++i)
      pair.left.rnic.put(pair.left.qp,
                         pull_of({element(pair.left.near, kEach * i, kEach)}, kEach * i));
    pair.left.rnic.ring(pair.left.qp);
    if (lost) {
      pair.testbed.run_for(20'000);
      CHECK(pair.punts() == kTaken);
      pair.right.rnic.write_register(EXRNIC_REG_FW_CONTROL, 0);
    }
    const uint32_t good = lost ? 0 : kTaken;
    for (uint32_t i = 0; i < good; ++i) CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    pair.expect_pulled(0, good * kEach);
    const exrnic_cqe cqe = pair.left.wait();
    CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_OP_ERR);
    CHECK(cqe.detail == (lost ? EXRNIC_TERM_CODE_STREAM : EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER));
    for (uint32_t i = good; i < 3; ++i)
      CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    pair.rest();
    CHECK(pair.punts() == kTaken);
    CHECK(pair.right.state() == EXRNIC_QP_STATE_ERROR);
    CHECK(pair.right.rnic.counter(EXRNIC_COUNTER_TERMINATES_TX) == 1);
    pair.right.rnic.stop(Exchange::kRightQpn);
  }
}

TEST_CASE("what firmware refuses has the terminate code that hardware would give") {
  struct Case {
    const char* name;
    uint32_t stag;
    uint64_t to;
    uint16_t code;
  };
  const Case cases[] = {
      {"another key", kFarStag ^ 1, kFarBase, EXRNIC_TERM_CODE_RDMAP_STAG},
      {"before the region", kFarStag, kFarBase - 1, EXRNIC_TERM_CODE_RDMAP_BOUNDS},
      {"behind it", kFarStag, kFarBase + 99'990, EXRNIC_TERM_CODE_RDMAP_BOUNDS},
      {"around the end of all", kFarStag, ~uint64_t{0}, EXRNIC_TERM_CODE_RDMAP_WRAP},
      {"without a right", kNearStag, kNearBase, EXRNIC_TERM_CODE_ACCESS}};
  for (const Case& one : cases)
    for (const bool by_firmware : {false, true}) {
      INFO(one.name << (by_firmware ? ", firmware" : ", hardware"));
      Pulls pair(by_firmware);
      Work work = pull_of({element(pair.left.near, 0, 100)}, 0);
      work.remote_stag = one.stag;
      work.remote_to = one.to;
      pair.left.post(work);
      const exrnic_cqe cqe = pair.left.wait();
      CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_ACCESS_ERR);
      CHECK(cqe.detail == one.code);
      CHECK(pair.right.state() == EXRNIC_QP_STATE_ERROR);
      CHECK(pair.punts() == (by_firmware ? 1 : 0));
      pair.rest();
    }
}

TEST_CASE("PULLs by a memory window go through firmware like others") {
  for (const bool by_firmware : {false, true}) {
    INFO((by_firmware ? "firmware" : "hardware"));
    Pulls pair(by_firmware);
    WindowOwner owner(pair.right);
    owner.must_bind(owner.bind(EXRNIC_ACCESS_REMOTE_READ));
    const Bytes data = random_bytes(pair.random, WindowOwner::kLength);
    pair.right.rnic.write(owner.region, WindowOwner::kFirst - WindowOwner::kBase, data);
    pair.left.post(owner.by_window(pull_of({element(pair.left.near, 0, WindowOwner::kLength)}, 0)));
    CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(difference(pair.left.rnic.read(pair.left.near, 0, WindowOwner::kLength), data) == "");
    CHECK(pair.punts() == (by_firmware ? 1 : 0));
    pair.left.post(
        owner.by_window(pull_of({element(pair.left.near, 0, WindowOwner::kLength)}, 0), 1));
    CHECK(pair.left.wait().detail == EXRNIC_TERM_CODE_RDMAP_BOUNDS);
  }
}

// Long responses that give way to PUSHes of their own queue pair. Returns what came wrong.
std::string pull_beside_push(bool by_firmware, uint32_t errata) {
  Pulls pair(by_firmware);
  pair.right.rnic.write_register(EXRNIC_REG_ERRATA, errata);
  const Bytes pushed = random_bytes(pair.random, 20'000);
  pair.right.rnic.write(pair.right.near, 0, pushed);
  pair.left.post(pull_of({element(pair.left.near, 0, 90'000)}, 0));
  for (uint32_t i = 0; i < 20; ++i)
    pair.right.rnic.put(pair.right.qp,
                        push_of({element(pair.right.near, 1000 * i, 1000)}, 1000 * i));
  pair.right.rnic.ring(pair.right.qp);
  CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  for (uint32_t i = 0; i < 20; ++i) CHECK(pair.right.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(difference(pair.left.rnic.read(pair.left.far, 0, 20'000), pushed) == "");
  return difference(pair.left.rnic.read(pair.left.near, 0, 90'000),
                    Bytes(pair.data.begin(), pair.data.begin() + 90'000));
}

TEST_CASE("with the erratum of the second prototype hardware's PULL beside PUSH goes wrong") {
  CHECK(pull_beside_push(false, 0) == "");
  CHECK(pull_beside_push(false, EXRNIC_ERRATA_PULL_BESIDE_PUSH) != "");
}

TEST_CASE("with the erratum of the second prototype firmware's PULL beside PUSH is right") {
  CHECK(pull_beside_push(true, EXRNIC_ERRATA_PULL_BESIDE_PUSH) == "");
}

TEST_CASE("without firmware that is READY hardware answers, whatever the mode says") {
  Pulls pair;
  pair.right.rnic.write_register(EXRNIC_REG_FW_CONTROL, 0);
  pair.left.post(pull_of({element(pair.left.near, 0, 5000)}, 0));
  CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  pair.expect_pulled(0, 5000);
  CHECK(pair.punts() == 0);
}

TEST_CASE("a peer whose request dies with firmware hears of it, and others go on") {
  Pulls pair;
  pair.hoard();
  QueuePairOptions options;
  options.recv_cq = &pair.left.recv_cq;
  QueuePair other = pair.left.rnic.create_qp(30, End::kPage, End::kPd, pair.left.cq, options);
  options.recv_cq = &pair.right.recv_cq;
  QueuePair peer = pair.right.rnic.create_qp(31, End::kPage, End::kPd, pair.right.cq, options);
  pair.left.rnic.connect(other, 1, 31);
  pair.right.rnic.connect(peer, 0, 30);
  pair.left.post(pull_of({element(pair.left.near, 0, 5000)}, 0));
  pair.testbed.run_until([&] { return false; }, 20'000);
  CHECK(pair.punts() == 1);
  CHECK(pair.right.rnic.query(pair.right.qp.qpn).under_way == 1);
  pair.right.rnic.write_register(EXRNIC_REG_FW_COMMAND, FAULTY_ASSERT);
  const exrnic_cqe cqe = pair.left.wait();
  CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(cqe.detail == EXRNIC_TERM_CODE_STREAM);
  CHECK(pair.right.state() == EXRNIC_QP_STATE_ERROR);
  pair.left.rnic.post(other, pull_of({element(pair.left.near, 0, 5000)}, 0));
  CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  pair.expect_pulled(0, 5000);
  start_firmware(pair.right.rnic, EXRNIC_FIRMWARE);
  pair.left.rnic.post(other, pull_of({element(pair.left.near, 5000, 5000)}, 5000));
  CHECK(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  pair.expect_pulled(0, 10'000);
  CHECK(pair.punts() == 2);
  pair.rest();
}

TEST_CASE("a queue pair whose requests died with firmware comes to rest when it is stopped") {
  for (const bool serves_again : {false, true}) {
    INFO("firmware " << (serves_again ? "serves again" : "stays away"));
    Pulls pair;
    pair.hoard();
    for (uint32_t i = 0; i < 3; ++i) pair.left.post(pull_of({element(pair.left.near, 0, 5000)}, 0));
    pair.testbed.run_until([&] { return false; }, 20'000);
    CHECK(pair.punts() == 3);
    pair.right.rnic.write_register(EXRNIC_REG_FW_CONTROL, 0);
    for (uint32_t i = 0; i < 3; ++i) CHECK(pair.left.wait().status != EXRNIC_CQE_STATUS_SUCCESS);
    if (serves_again) start_firmware(pair.right.rnic, EXRNIC_FIRMWARE);
    CHECK_NOTHROW(pair.right.rnic.stop(Exchange::kRightQpn));
    pair.right.rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{Exchange::kRightQpn});
    pair.rest();
  }
}

TEST_CASE("a queue pair whose peer is gone comes to rest when its requests die with firmware") {
  bool dead = false;
  Fault fault;
  fault.transmit = [&](Frame&) { return !dead; };
  Exchange pair(100'000, {}, options_for("dc-25g"), [&](const CoreConfig& config, CoreSink& sink) {
    return std::make_unique<FaultyCore>(config, sink, test_cores(), fault);
  });
  start_firmware(pair.right.rnic, EXRNIC_FAULTY_FIRMWARE);
  pair.right.rnic.write_register(EXRNIC_REG_PULL_MODE, EXRNIC_PULL_MODE_FIRMWARE);
  pair.right.rnic.write_register(EXRNIC_REG_FW_COMMAND, FAULTY_HOARD);
  wait_while_register(pair.right.rnic, EXRNIC_REG_FW_COMMAND_STATUS, EXRNIC_FW_STATUS_BUSY);
  pair.left.post(pull_of({element(pair.left.near, 0, 5000)}, 0));
  pair.testbed.run_for(20'000);
  REQUIRE(pair.right.rnic.counter(EXRNIC_COUNTER_PUNTS) == 1);
  dead = true;
  pair.right.rnic.write_register(EXRNIC_REG_FW_CONTROL, 0);
  pair.rest(500'000'000);
  pair.right.rnic.stop(Exchange::kRightQpn);
  CHECK(pair.right.rnic.counter(EXRNIC_COUNTER_TERMINATES_TX) == 1);
}

TEST_CASE("PULLs by firmware and atomics of one queue pair are answered in their order") {
  Pulls pair;
  constexpr uint64_t kAt = 0xb;  // in the far region, whose base makes it a multiple of 8
  constexpr uint32_t kRounds = 12;
  const Bytes zeros(8);
  pair.right.rnic.write(pair.right.far, kAt, zeros);
  for (uint32_t i = 0; i < kRounds; ++i) {
    pair.left.rnic.put(pair.left.qp, pull_of({element(pair.left.near, 32 * i, 8)}, kAt));
    pair.left.rnic.put(pair.left.qp, fetch_add_of(element(pair.left.near, 32 * i + 16, 8), kAt, 1));
  }
  pair.left.rnic.ring(pair.left.qp);
  for (uint32_t i = 0; i < 2 * kRounds; ++i)
    REQUIRE(pair.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  for (uint32_t i = 0; i < kRounds; ++i) {
    CHECK(pair.left.rnic.read(pair.left.near, 32 * i, 8)[0] == i);
    CHECK(pair.left.rnic.read(pair.left.near, 32 * i + 16, 8)[0] == i);
  }
  CHECK(pair.punts() >= 1);
  CHECK(pair.right.rnic.counter(EXRNIC_COUNTER_ATOMICS_SERVED) == kRounds);
  pair.expect_nothing_refused();
  pair.rest();
}

TEST_CASE("a full punt queue holds requests back; none is lost, and commands are served") {
  Pulls pair;
  pair.hoard();
  // Two queue pairs ask for more than the queue holds.
  QueuePairOptions options;
  options.recv_cq = &pair.left.recv_cq;
  QueuePair other = pair.left.rnic.create_qp(30, End::kPage, End::kPd, pair.left.cq, options);
  options.recv_cq = &pair.right.recv_cq;
  QueuePair peer = pair.right.rnic.create_qp(31, End::kPage, End::kPd, pair.right.cq, options);
  pair.left.rnic.connect(other, 1, 31);
  pair.right.rnic.connect(peer, 0, 30);
  constexpr uint32_t kEach = 12;
  for (uint32_t i = 0; i < kEach; ++i) {
    pair.left.rnic.put(pair.left.qp, pull_of({element(pair.left.near, 100 * i, 100)}, 100 * i));
    const uint64_t at = 50'000 + 100 * i;
    pair.left.rnic.put(other, pull_of({element(pair.left.near, at, 100)}, at));
  }
  pair.left.rnic.ring(pair.left.qp);
  pair.left.rnic.ring(other);
  pair.testbed.run_until([&] { return false; }, 20'000);
  CHECK(pair.punts() == 16);
  // The core comes to rest for commands meanwhile.
  const Region region = pair.right.rnic.create_region(0x000455'01, End::kPd, 0x1000, 4096, 0);
  pair.right.rnic.must(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{region.stag});
  CHECK(pair.punts() == 16);
  // The requests die with this firmware: both peers hear of it.
  pair.right.rnic.write_register(EXRNIC_REG_FW_CONTROL, 0);
  for (uint32_t i = 0; i < 2 * kEach; ++i)
    CHECK(pair.left.wait().status != EXRNIC_CQE_STATUS_SUCCESS);
  pair.rest();
}

TEST_CASE("direct commands with wild operands are refused by hardware, and counted") {
  Pulls pair;
  pair.hoard();
  pair.left.post(pull_of({element(pair.left.near, 0, 100)}, 0));
  pair.testbed.run_until([&] { return false; }, 20'000);
  REQUIRE(pair.punts() == 1);
  const Region region =
      pair.right.rnic.create_region(0x000455'01, End::kPd, 0x1000, 4096, EXRNIC_ACCESS_LOCAL_WRITE);
  const uint32_t where[] = {region.stag, End::kPd, 0, 0x1040};
  for (uint32_t i = 0; i < 4; ++i)
    pair.right.rnic.write_register(EXRNIC_REG_FW_WORDS + 4 * i, where[i]);
  pair.right.rnic.host().clear_records();
  pair.right.rnic.write_register(EXRNIC_REG_FW_COMMAND, FAULTY_WILD);
  wait_while_register(pair.right.rnic, EXRNIC_REG_FW_COMMAND_STATUS, EXRNIC_FW_STATUS_BUSY);
  const exrnic_fw_direct_status expected[WILDS] = {
      EXRNIC_FW_DIRECT_STATUS_STAG,    EXRNIC_FW_DIRECT_STATUS_STAG,
      EXRNIC_FW_DIRECT_STATUS_ACCESS,  EXRNIC_FW_DIRECT_STATUS_REFUSED,
      EXRNIC_FW_DIRECT_STATUS_REFUSED, EXRNIC_FW_DIRECT_STATUS_REFUSED,
      EXRNIC_FW_DIRECT_STATUS_REFUSED, EXRNIC_FW_DIRECT_STATUS_BOUNDS,
      EXRNIC_FW_DIRECT_STATUS_REFUSED, EXRNIC_FW_DIRECT_STATUS_REFUSED,
      EXRNIC_FW_DIRECT_STATUS_REFUSED,
  };
  for (uint32_t i = 0; i < WILDS; ++i) {
    INFO("enum faulty_wild " << i);
    CHECK(pair.right.rnic.read_register(EXRNIC_REG_FW_WORDS + 4 * i) == expected[i]);
  }
  CHECK(pair.right.rnic.counter(EXRNIC_COUNTER_FW_REFUSED) == WILDS);
  CHECK(pair.right.rnic.host().writes().empty());
  pair.expect_nothing_refused();
}

}  // namespace
}  // namespace exrnic::testing
