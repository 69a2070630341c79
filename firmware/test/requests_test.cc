// SPDX-License-Identifier: BSD-2-Clause
// The handlers of peers' requests on the host; mock.h is the hardware.
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "test/mock.h"

extern "C" {
#include "app/requests.h"
}

namespace exrnic::testing {
namespace {

constexpr uint32_t kPd = 77;
constexpr uint32_t kStag = 0xabcd'ef01;
constexpr uint64_t kTo = 0x1122'3344'5566'7788;
constexpr uint32_t kPayload = EXRNIC_FW_ANSWER_WORD_PAYLOAD;

uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }
uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }

std::vector<uint32_t> read_request(uint32_t length) {
  return {0x51, 0x52, 0x53, length, kStag, high(kTo), low(kTo)};
}

struct Operands {
  uint32_t operation = EXRNIC_ATOMIC_OPERATION_FETCH_ADD;
  uint64_t to = kTo;
  uint64_t data = 0;
  uint64_t mask = 0;
  uint64_t compare = 0;
  uint64_t compare_mask = ~uint64_t{0};
};

std::vector<uint32_t> atomic_request(const Operands& o) {
  return {o.operation,        0x1d,           kStag,
          high(o.to),         low(o.to),      high(o.data),
          low(o.data),        high(o.mask),   low(o.mask),
          high(o.compare),    low(o.compare), high(o.compare_mask),
          low(o.compare_mask)};
}

// What a peer gets for an atomic on `memory`: the old value, if it was served.
struct Outcome {
  uint64_t memory;
  Direct answer;
};
Outcome atomic(uint64_t memory, const Operands& operands) {
  Hardware hardware;
  hardware.memory = memory;
  hardware.punt(EXRNIC_FW_PUNT_KIND_ATOMIC, 9, kPd, atomic_request(operands));
  requests_serve();
  REQUIRE(!hardware.commands.empty());
  return {hardware.memory, hardware.commands.back()};
}

constexpr exrnic_fw_direct_status kFailures[] = {
    EXRNIC_FW_DIRECT_STATUS_STAG, EXRNIC_FW_DIRECT_STATUS_STREAM, EXRNIC_FW_DIRECT_STATUS_ACCESS,
    EXRNIC_FW_DIRECT_STATUS_WRAP, EXRNIC_FW_DIRECT_STATUS_BOUNDS, EXRNIC_FW_DIRECT_STATUS_MEMORY};
constexpr uint32_t kCodes[] = {0x0100, 0x0103, 0x0102, 0x0104, 0x0101, 0x0207};

// ---- The queue

TEST_CASE("requests are served one at a time, in their order") {
  Hardware hardware;
  for (uint16_t qpn : {3, 4}) hardware.punt(EXRNIC_FW_PUNT_KIND_READ, qpn, kPd, read_request(1));
  requests_serve();
  CHECK(hardware.punts.size() == 1);
  CHECK(hardware.commands.back()[EXRNIC_FW_ANSWER_WORD_REQUEST] ==
        (EXRNIC_FW_PUNT_KIND_READ | 3u << EXRNIC_FW_REQUEST_NUMBER_SHIFT |
         0x5555u << EXRNIC_FW_REQUEST_GENERATION_SHIFT));
  requests_serve();
  CHECK(hardware.punts.empty());
  CHECK(hardware.commands.back()[EXRNIC_FW_ANSWER_WORD_REQUEST] ==
        (EXRNIC_FW_PUNT_KIND_READ | 4u << EXRNIC_FW_REQUEST_NUMBER_SHIFT |
         0x5555u << EXRNIC_FW_REQUEST_GENERATION_SHIFT));
}

// ---- PULL

TEST_CASE("a read is looked up as a whole, then sent") {
  Hardware hardware;
  hardware.punt(EXRNIC_FW_PUNT_KIND_READ, 0x3ff, kPd, read_request(0x8000'0000));
  requests_serve();
  REQUIRE(hardware.commands.size() == 2);
  const Direct& look_up = hardware.commands[0];
  CHECK(look_up.op == EXRNIC_FW_DIRECT_LOOK_UP);
  CHECK(look_up[EXRNIC_FW_MEMORY_WORD_REQUEST] == 0x5555'3ff0);
  CHECK(look_up[EXRNIC_FW_MEMORY_WORD_STAG] == kStag);
  CHECK(look_up[EXRNIC_FW_MEMORY_WORD_PD] == kPd);
  CHECK(look_up[EXRNIC_FW_MEMORY_WORD_ACCESS] == EXRNIC_ACCESS_REMOTE_READ);
  CHECK(look_up[EXRNIC_FW_MEMORY_WORD_LENGTH] == 0x8000'0000);
  CHECK(look_up.wide(EXRNIC_FW_MEMORY_WORD_TO_HIGH) == kTo);
  const Direct& answer = hardware.commands[1];
  CHECK(answer.op == EXRNIC_FW_DIRECT_SEND_READ);
  CHECK(answer[EXRNIC_FW_ANSWER_WORD_REQUEST] == 0x5555'3ff0);
  CHECK(answer[EXRNIC_FW_ANSWER_WORD_MSN] == 1);
  const std::vector<uint32_t> request = read_request(0x8000'0000);
  for (uint32_t i = 0; i < request.size(); ++i) CHECK(answer[kPayload + i] == request[i]);
}

TEST_CASE("a read without bytes is sent without a look-up") {
  Hardware hardware;
  hardware.punt(EXRNIC_FW_PUNT_KIND_READ, 1, kPd, read_request(0));
  requests_serve();
  REQUIRE(hardware.commands.size() == 1);
  CHECK(hardware.commands[0].op == EXRNIC_FW_DIRECT_SEND_READ);
}

TEST_CASE("a read that is not granted is refused with the code that says why") {
  for (size_t i = 0; i < std::size(kFailures); ++i) {
    Hardware hardware;
    hardware.judge = [i](const Direct& command) {
      return command.op == EXRNIC_FW_DIRECT_LOOK_UP ? kFailures[i] : EXRNIC_FW_DIRECT_STATUS_OK;
    };
    hardware.punt(EXRNIC_FW_PUNT_KIND_READ, 1, kPd, read_request(64));
    requests_serve();
    REQUIRE(hardware.commands.size() == 2);
    CHECK(hardware.commands[1].op == EXRNIC_FW_DIRECT_REFUSE);
    CHECK(hardware.commands[1][EXRNIC_FW_ANSWER_WORD_CODE] == kCodes[i]);
    CHECK(hardware.commands[1][kPayload + 4] == kStag);
  }
}

// ---- Atomics

TEST_CASE("an atomic is looked up with its own right, at its own place") {
  Hardware hardware;
  hardware.punt(EXRNIC_FW_PUNT_KIND_ATOMIC, 9, kPd, atomic_request({}));
  requests_serve();
  const Direct& read = hardware.commands.at(0);
  CHECK(read.op == EXRNIC_FW_DIRECT_READ);
  CHECK(read[EXRNIC_FW_MEMORY_WORD_REQUEST] == 0x5555'0091);
  CHECK(read[EXRNIC_FW_MEMORY_WORD_STAG] == kStag);
  CHECK(read[EXRNIC_FW_MEMORY_WORD_PD] == kPd);
  CHECK(read[EXRNIC_FW_MEMORY_WORD_ACCESS] == EXRNIC_ACCESS_REMOTE_ATOMIC);
  CHECK(read[EXRNIC_FW_MEMORY_WORD_LENGTH] == 8);
  CHECK(read.wide(EXRNIC_FW_MEMORY_WORD_TO_HIGH) == kTo);
}

TEST_CASE("fetch-and-add answers what was there") {
  const Outcome outcome = atomic(0xffff'ffff'ffff'ffff, {0, kTo, 3});
  CHECK(outcome.memory == 2);
  CHECK(outcome.answer.op == EXRNIC_FW_DIRECT_SEND_ATOMIC);
  CHECK(outcome.answer[kPayload] == 0x1d);
  CHECK(outcome.answer.wide(kPayload + 1) == 0xffff'ffff'ffff'ffff);
}

// RFC 7306, 5.1.1, bit by bit.
uint64_t masked_sum(uint64_t a, uint64_t b, uint64_t mask) {
  uint64_t sum = 0;
  unsigned carry = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const unsigned total = (a >> bit & 1) + (b >> bit & 1) + carry;
    sum |= uint64_t{total & 1} << bit;
    carry = (mask >> bit & 1) != 0 ? 0 : total >> 1;
  }
  return sum;
}

TEST_CASE("fetch-and-add keeps carries within the fields of its mask") {
  constexpr uint32_t kSeed = 7306;
  INFO("seed " << kSeed);
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t old = random(), data = random(), mask = random() & random();
    CHECK(atomic(old, {0, kTo, data, mask}).memory == masked_sum(old, data, mask));
  }
}

TEST_CASE("compare-and-swap swaps the bits of its mask, if those of the other are equal") {
  Operands operands{EXRNIC_ATOMIC_OPERATION_COMPARE_SWAP,
                    kTo,
                    0xaaaa'aaaa'aaaa'aaaa,
                    0x0000'ffff'0000'ffff,
                    0x1111'0000'0000'2222,
                    0xffff'0000'0000'ffff};
  CHECK(atomic(0x1111'3333'4444'2222, operands).memory == 0x1111'aaaa'4444'aaaa);
  CHECK(atomic(0x1111'3333'4444'2223, operands).memory == 0x1111'3333'4444'2223);
  const Outcome outcome = atomic(0x1111'3333'4444'2223, operands);
  CHECK(outcome.answer.op == EXRNIC_FW_DIRECT_SEND_ATOMIC);
  CHECK(outcome.answer.wide(kPayload + 1) == 0x1111'3333'4444'2223);
}

TEST_CASE("an unknown atomic and one at an odd place are refused, and touch no memory") {
  for (uint32_t operation = 0; operation < 16; ++operation) {
    if (operation == EXRNIC_ATOMIC_OPERATION_FETCH_ADD ||
        operation == EXRNIC_ATOMIC_OPERATION_COMPARE_SWAP)
      continue;
    const Outcome outcome = atomic(5, {operation, kTo, 1});
    CHECK(outcome.answer.op == EXRNIC_FW_DIRECT_REFUSE);
    CHECK(outcome.answer[EXRNIC_FW_ANSWER_WORD_CODE] == EXRNIC_TERM_CODE_OPCODE);
    CHECK(outcome.memory == 5);
  }
  for (uint64_t odd = 1; odd < 8; ++odd) {
    const Outcome outcome = atomic(5, {0, kTo + odd, 1});
    CHECK(outcome.answer.op == EXRNIC_FW_DIRECT_REFUSE);
    CHECK(outcome.answer[EXRNIC_FW_ANSWER_WORD_CODE] == EXRNIC_TERM_CODE_STREAM);
    CHECK(outcome.memory == 5);
  }
}

TEST_CASE("reserved bits of an atomic are ignored") {
  CHECK(atomic(5, {0xffff'fff0, kTo, 1}).memory == 6);
}

TEST_CASE("an atomic whose memory fails at the read or at the write is refused") {
  for (const uint32_t failing : {EXRNIC_FW_DIRECT_READ, EXRNIC_FW_DIRECT_WRITE})
    for (size_t i = 0; i < std::size(kFailures); ++i) {
      Hardware hardware;
      hardware.judge = [=](const Direct& command) {
        return command.op == failing ? kFailures[i] : EXRNIC_FW_DIRECT_STATUS_OK;
      };
      hardware.punt(EXRNIC_FW_PUNT_KIND_ATOMIC, 9, kPd, atomic_request({0, kTo, 1}));
      requests_serve();
      CHECK(hardware.memory == 0);
      CHECK(hardware.commands.back().op == EXRNIC_FW_DIRECT_REFUSE);
      CHECK(hardware.commands.back()[EXRNIC_FW_ANSWER_WORD_CODE] == kCodes[i]);
    }
}

TEST_CASE("an answer that comes too late for its queue pair is no fault of firmware") {
  Hardware hardware;
  hardware.judge = [](const Direct& command) {
    return command.op == EXRNIC_FW_DIRECT_LOOK_UP ? EXRNIC_FW_DIRECT_STATUS_OK
                                                  : EXRNIC_FW_DIRECT_STATUS_REFUSED;
  };
  hardware.punt(EXRNIC_FW_PUNT_KIND_READ, 1, kPd, read_request(64));
  CHECK_NOTHROW(requests_serve());
  CHECK(hardware.punts.empty());
}

}  // namespace
}  // namespace exrnic::testing
