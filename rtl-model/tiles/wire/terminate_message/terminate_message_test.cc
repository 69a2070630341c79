// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "Vterminate_message.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr uint8_t kControlBytes = EXRNIC_TERMINATE_BYTES - EXRNIC_DDP_TAGGED_BYTES;

struct Message {
  std::array<uint8_t, EXRNIC_DDP_UNTAGGED_BYTES> ddp{};
  uint16_t length = 0;
  std::array<uint8_t, EXRNIC_INLINE_MAX> body{};
};

constexpr unsigned kRequestBytes = EXRNIC_DDP_UNTAGGED_BYTES + EXRNIC_READ_REQUEST_BYTES;

using Head = std::array<uint8_t, kDdpHeadBytes>;

// A segment that begins with these two bytes, all others tell their place.
Head head(uint8_t first, uint8_t second) {
  Head bytes{first, second};
  for (uint8_t i = 2; i < kDdpHeadBytes; ++i) bytes[i] = static_cast<uint8_t>(0x80 + i);
  return bytes;
}

Message message(uint16_t code, bool quote, Head quoted, uint16_t segment_length) {
  Vterminate_message dut;
  dut.valid_i = 1;
  dut.code_i = code;
  dut.quote_i = quote;
  dut.segment_length_i = segment_length;
  Packer packer(dut.quoted_i, 8 * kDdpHeadBytes);
  for (const uint8_t byte : quoted) packer.field(byte, 8);
  dut.eval();
  Message result;
  result.length = dut.length_o;
  Unpacker ddp(dut.ddp_o, 8 * EXRNIC_DDP_UNTAGGED_BYTES);
  for (uint8_t& byte : result.ddp) byte = static_cast<uint8_t>(ddp.field(8));
  Unpacker body(dut.inline_data_o, 8 * EXRNIC_INLINE_MAX);
  const std::vector<uint8_t> bytes = body.bytes(8 * EXRNIC_INLINE_MAX);
  std::copy(bytes.begin(), bytes.end(), result.body.begin());
  return result;
}

void check_quotes(const Message& message, const Head& quoted, unsigned bytes) {
  CHECK(message.length == kControlBytes + bytes);
  for (unsigned i = 0; i < bytes; ++i) CHECK(message.body[kControlBytes + i] == quoted[i]);
  for (unsigned i = kControlBytes + bytes; i < EXRNIC_INLINE_MAX; ++i) CHECK(message.body[i] == 0);
}

TEST_CASE("A terminate message is an untagged message of its own queue, number 1") {
  const Message m = message(EXRNIC_TERM_CODE_OPCODE, true, head(0xc1, 0x40), 100);
  // T, L, reserved bits, versions, the opcode.
  CHECK(m.ddp[0] == (0x40 | EXRNIC_DDP_VERSION));
  CHECK(m.ddp[1] == (EXRNIC_RDMAP_VERSION << 6 | EXRNIC_RDMAP_OPCODE_TERMINATE));
  CHECK(exrnic_ddp_untagged_t(m.ddp.data()) == 0);
  CHECK(exrnic_ddp_untagged_last(m.ddp.data()) == 1);
  CHECK(exrnic_ddp_untagged_dv(m.ddp.data()) == EXRNIC_DDP_VERSION);
  CHECK(exrnic_ddp_untagged_rv(m.ddp.data()) == EXRNIC_RDMAP_VERSION);
  CHECK(exrnic_ddp_untagged_opcode(m.ddp.data()) == EXRNIC_RDMAP_OPCODE_TERMINATE);
  CHECK(exrnic_ddp_untagged_invalidate_stag(m.ddp.data()) == 0);
  CHECK(exrnic_ddp_untagged_qn(m.ddp.data()) == EXRNIC_TERMINATE_QN);
  CHECK(exrnic_ddp_untagged_msn(m.ddp.data()) == 1);
  CHECK(exrnic_ddp_untagged_mo(m.ddp.data()) == 0);
}

TEST_CASE("Of a refused segment the DDP header is quoted, and its length") {
  const auto [first, bytes] = GENERATE(table<uint8_t, unsigned>(
      {{0xc1, EXRNIC_DDP_TAGGED_BYTES}, {0x41, EXRNIC_DDP_UNTAGGED_BYTES}}));
  const Head quoted = head(first, 0x40 | EXRNIC_RDMAP_OPCODE_SEND);
  const Message m = message(EXRNIC_TERM_CODE_UNTAGGED_MSN, true, quoted, 0x1234);
  CHECK(exrnic_terminate_code(m.body.data()) == EXRNIC_TERM_CODE_UNTAGGED_MSN);
  CHECK(exrnic_terminate_m(m.body.data()) == 1);
  CHECK(exrnic_terminate_d(m.body.data()) == 1);
  CHECK(exrnic_terminate_r(m.body.data()) == 0);
  CHECK(exrnic_terminate_segment_length(m.body.data()) == 0x1234);
  check_quotes(m, quoted, bytes);
}

TEST_CASE("An RDMAP error quotes all of an RDMA Read Request, if it is all there") {
  const auto [code, first, opcode, length, whole] =
      GENERATE(table<uint16_t, uint8_t, uint8_t, uint16_t, bool>(
          {{EXRNIC_TERM_CODE_ACCESS, 0x41, EXRNIC_RDMAP_OPCODE_READ_REQUEST, 46, true},
           {EXRNIC_TERM_CODE_OPCODE, 0x41, EXRNIC_RDMAP_OPCODE_READ_REQUEST, 50, true},
           {EXRNIC_TERM_CODE_OPCODE, 0x41, EXRNIC_RDMAP_OPCODE_READ_REQUEST, 45, false},
           {EXRNIC_TERM_CODE_UNTAGGED_MSN, 0x41, EXRNIC_RDMAP_OPCODE_READ_REQUEST, 46, false},
           {EXRNIC_TERM_CODE_OPCODE, 0x41, EXRNIC_RDMAP_OPCODE_SEND, 46, false},
           {EXRNIC_TERM_CODE_OPCODE, 0xc1, EXRNIC_RDMAP_OPCODE_READ_REQUEST, 46, false}}));
  CAPTURE(code, int{first}, int{opcode}, length);
  const Head quoted = head(first, 0x40 | opcode);
  const Message m = message(code, true, quoted, length);
  CHECK(exrnic_terminate_r(m.body.data()) == whole);
  const unsigned header = first & 0x80 ? EXRNIC_DDP_TAGGED_BYTES : EXRNIC_DDP_UNTAGGED_BYTES;
  check_quotes(m, quoted, whole ? kRequestBytes : header);
}

TEST_CASE("Without a quotation there is the code, and nothing else") {
  const Message m = message(EXRNIC_TERM_CODE_STREAM, false, head(0x41, 0x41), 46);
  CHECK(exrnic_terminate_code(m.body.data()) == EXRNIC_TERM_CODE_STREAM);
  for (unsigned i = 2; i < kControlBytes; ++i) CHECK(m.body[i] == 0);
  check_quotes(m, Head{}, 0);
}

}  // namespace
}  // namespace exrnic::testing
