// SPDX-License-Identifier: BSD-2-Clause
// The handlers of peers' requests on the host; mock.h is the hardware.
#include <catch2/catch_test_macros.hpp>

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
