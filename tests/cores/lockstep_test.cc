// SPDX-License-Identifier: BSD-2-Clause
// Random work with every core in lockstep with the reference model; and that a core that does
// anything wrong does not get away with it. EXRNIC_SEED=n replays one program.
#include "rtl-model/lockstep/lockstep.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>

#include "rtl-model/ref/ref_core.h"
#include "tests/support/exchange.h"
#include "tests/support/faulty_core.h"
#include "tests/support/random_driver.h"
#include "tests/support/random_work.h"

namespace exrnic::testing {
namespace {

using Catch::Matchers::ContainsSubstring;

CoreFactory rtl_in_lockstep() { return lockstep::make_lockstep(make_rtl_core, make_ref_core); }

// The RTL, but for one fault on one node.
CoreFactory faulty_in_lockstep(unsigned node, const Fault& fault) {
  return lockstep::make_lockstep(
      [=](const CoreConfig& config, CoreSink& sink) -> std::unique_ptr<Core> {
        if (config.node_id != node) return make_rtl_core(config, sink);
        return std::make_unique<FaultyCore>(config, sink, make_rtl_core, fault);
      },
      make_ref_core);
}

template <typename Program>
void run_programs(Program program, unsigned operations, uint64_t programs) {
  constexpr uint64_t kFirst = 1001;  // random_work_test has those from 1 on
  const char* replay = std::getenv("EXRNIC_SEED");
  const uint64_t first = replay ? std::strtoull(replay, nullptr, 0) : kFirst;
  const uint64_t last = replay ? first : kFirst + programs - 1;
  for (uint64_t seed = first; seed <= last; ++seed) {
    INFO("EXRNIC_SEED=" << seed);
    CHECK_NOTHROW(program(seed, operations, rtl_in_lockstep()));
  }
}

TEST_CASE("random work passes in lockstep, on good and on bad links") {
  run_programs(
      [](uint64_t seed, unsigned operations, const CoreFactory& make_core) {
        return run_plan(random_plan(seed, operations), make_core);
      },
      250, 15);
}

TEST_CASE("a random driver passes in lockstep") { run_programs(run_random_driver, 400, 10); }

// Two PUSHes of three frames each, then rest.
void push_twice(const CoreFactory& make_core) {
  Pair pair(options_for("dc-25g"), make_core);
  const Region source = source_of(pair.left, 10'000);
  sink_of(pair.right, 10'000);
  std::mt19937_64 random(1);
  pair.left.rnic.write(source, 0, random_bytes(random, 10'000));
  for (int i = 0; i < 2; ++i) {
    pair.left.rnic.post(pair.left.qp, {&source, 0, 3000, kSinkStag, kSinkBase, true});
    pair.left.wait();
  }
  pair.testbed.run_while_busy(10'000'000);
}

// Node 0 pushes to node 1: its own completions, the frames it sends, the memory of node 1.
bool is_completion(const PostedWrite& write) { return write.data.size() == sizeof(exrnic_cqe); }

TEST_CASE("a core without a fault passes") { CHECK_NOTHROW(push_twice(rtl_in_lockstep())); }

TEST_CASE("one wrong byte of a write is found, with its place and time") {
  Fault fault;
  fault.write = [count = 0](PostedWrite& write) mutable {
    if (!is_completion(write) && ++count == 5) write.data.back() ^= 1;
    return true;
  };
  CHECK_THROWS_WITH(push_twice(faulty_in_lockstep(1, fault)),
                    ContainsSubstring("lockstep: node 1 at ") &&
                        ContainsSubstring("queue pair 22: memory at 0x40"));
}

TEST_CASE("a write at another address is found") {
  Fault fault;
  fault.write = [](PostedWrite& write) {
    if (!is_completion(write)) write.address ^= 1 << 20;
    return true;
  };
  CHECK_THROWS_WITH(
      push_twice(faulty_in_lockstep(1, fault)),
      ContainsSubstring("memory at 0x40") && ContainsSubstring("expected nothing, came"));
}

TEST_CASE("a write that does not come is found at the next rest") {
  Fault fault;
  fault.write = [count = 0](PostedWrite& write) mutable {
    return is_completion(write) || ++count != 5;
  };
  CHECK_THROWS_WITH(
      push_twice(faulty_in_lockstep(1, fault)),
      ContainsSubstring("queue pair 22: memory at 0x40") && ContainsSubstring("came nothing"));
}

TEST_CASE("a completion with another status is found") {
  Fault fault;
  fault.write = [count = 0](PostedWrite& write) mutable {
    if (is_completion(write) && ++count == 2)
      write.data[offsetof(exrnic_cqe, status)] = EXRNIC_CQE_STATUS_LOC_PROT_ERR;
    return true;
  };
  CHECK_THROWS_WITH(push_twice(faulty_in_lockstep(0, fault)),
                    ContainsSubstring("queue pair 11: completion: expected opcode 1 index 1 "
                                      "status 0"));
}

TEST_CASE("a completion with the old phase is found") {
  Fault fault;
  fault.write = [](PostedWrite& write) {
    if (is_completion(write)) write.data[offsetof(exrnic_cqe, phase)] ^= 1;
    return true;
  };
  CHECK_THROWS_WITH(push_twice(faulty_in_lockstep(0, fault)),
                    ContainsSubstring("phase of entry 0"));
}

TEST_CASE("one wrong byte of a frame is found, header or payload") {
  for (const size_t at : {3u, 20u, 1000u}) {
    INFO("byte " << at << " of the segment");
    Fault fault;
    fault.transmit = [at](Frame& frame) {
      const size_t byte = EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES + at;
      const uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
      const bool introduces = exrnic_efe_length(efe) == EXRNIC_DDP_TAGGED_BYTES;
      if (byte < frame.data.size() && !introduces) frame.data[byte] ^= 0x40;
      return true;
    };
    CHECK_THROWS_WITH(push_twice(faulty_in_lockstep(0, fault)),
                      ContainsSubstring("queue pair 11: segment: expected") &&
                          ContainsSubstring("they differ from byte " + std::to_string(at) + " on"));
  }
}

TEST_CASE("an interrupt that does not come is found") {
  Fault fault;
  fault.write = [](PostedWrite& write) { return write.kind != PostedWrite::Kind::kMsix; };
  const auto armed = [](const CoreFactory& make_core) {
    Pair pair(options_for("dc-25g"), make_core);
    const Region source = source_of(pair.left, 100);
    sink_of(pair.right, 100);
    pair.left.rnic.store_doorbell(Side::kPage, EXRNIC_DOORBELL_CQ_ARM, Side::kCqn, 0);
    pair.left.rnic.post(pair.left.qp, {&source, 0, 100, kSinkStag, kSinkBase, true});
    pair.left.wait();
    pair.testbed.run_while_busy(10'000'000);
  };
  CHECK_NOTHROW(armed(rtl_in_lockstep()));
  CHECK_THROWS_WITH(armed(faulty_in_lockstep(0, fault)), ContainsSubstring("vector 1: expected 1"));
}

// A SEND with immediate data and a PULL, of three frames each.
void send_and_pull(const CoreFactory& make_core) {
  Exchange e(20'000, {}, options_for("dc-25g"), make_core);
  const Elements near = {element(e.left.near, 0, 3000)};
  e.right.receive({element(e.right.near, 0, 3000)});
  e.left.post(with_imm(send_of(near), EXRNIC_WQE_OPCODE_SEND_IMM, 0x1234));
  e.left.wait();
  e.right.wait_receive();
  e.left.post(pull_of(near, 0));
  e.left.wait();
  e.testbed.run_while_busy(10'000'000);
}

TEST_CASE("messages and PULLs pass, and a fault in any part of them is found") {
  CHECK_NOTHROW(send_and_pull(rtl_in_lockstep()));
  Fault fault;
  fault.write = [](PostedWrite& write) {
    if (!is_completion(write) && !write.data.empty()) write.data[0] ^= 1;
    return true;
  };
  CHECK_THROWS_WITH(send_and_pull(faulty_in_lockstep(1, fault)),
                    ContainsSubstring("node 1") && ContainsSubstring("queue pair 22: memory at"));
  CHECK_THROWS_WITH(send_and_pull(faulty_in_lockstep(0, fault)),
                    ContainsSubstring("node 0") && ContainsSubstring("queue pair 11: memory at"));
}

TEST_CASE("immediate data that change are found, in the frame and in the completion") {
  Fault fault;
  fault.transmit = [](Frame& frame) {
    uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
    if (exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_IMM) exrnic_efe_set_sack_imm(efe, 0x1235);
    return true;
  };
  CHECK_THROWS_WITH(send_and_pull(faulty_in_lockstep(0, fault)),
                    ContainsSubstring("queue pair 11: segment"));
  fault = {};
  fault.write = [](PostedWrite& write) {
    if (is_completion(write)) write.data[offsetof(exrnic_cqe, imm_data)] ^= 1;
    return true;
  };
  CHECK_THROWS_WITH(send_and_pull(faulty_in_lockstep(1, fault)),
                    ContainsSubstring("queue pair 22: completion: expected opcode 128"));
}

TEST_CASE("a wrong byte of a response is found at its sender") {
  Fault fault;
  fault.transmit = [](Frame& frame) {
    if (frame.data.size() > 500) frame.data[400] ^= 1;
    return true;
  };
  CHECK_THROWS_WITH(send_and_pull(faulty_in_lockstep(1, fault)),
                    ContainsSubstring("node 1") && ContainsSubstring("queue pair 22: segment"));
}

// A message that finds its receive only later.
void send_too_early(const CoreFactory& make_core) {
  Exchange e(20'000, {}, options_for("dc-25g"), make_core);
  e.left.post(send_of({element(e.left.near, 0, 100)}));
  e.testbed.run_until([] { return false; }, 100'000);
  e.right.receive({element(e.right.near, 0, 3000)});
  e.left.wait();
  e.testbed.run_while_busy(10'000'000);
}

TEST_CASE("a message that ends well without a receive is found: an RNR is no excuse for that") {
  CHECK_NOTHROW(send_too_early(rtl_in_lockstep()));
  Fault fault;
  fault.transmit = [](Frame& frame) {
    uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
    if (exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_RNR)
      exrnic_efe_set_seq(efe, (exrnic_efe_seq(efe) + 1) & UINT32_MAX);
    return true;
  };
  CHECK_THROWS_WITH(send_too_early(faulty_in_lockstep(1, fault)),
                    ContainsSubstring("queue pair 11: message 0 of 100 bytes has ended with "
                                      "SUCCESS, and queue pair 22 of node 1"));
}

TEST_CASE("a register that answers another value is found") {
  Fault fault;
  fault.answer = [](uint64_t value) { return value == EXRNIC_MTU_DEFAULT ? value + 16 : value; };
  const auto read = [](const CoreFactory& make_core) {
    Pair pair(options_for("dc-25g"), make_core);
    return pair.left.rnic.read_register(EXRNIC_REG_MTU);
  };
  CHECK_THROWS_WITH(read(faulty_in_lockstep(0, fault)),
                    ContainsSubstring("load of BAR 0 offset 0x34"));
}

}  // namespace
}  // namespace exrnic::testing
