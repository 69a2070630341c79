// SPDX-License-Identifier: BSD-2-Clause
// PIO blocks: how they are put together, and which of them ring.
#include <algorithm>
#include <array>
#include <random>

#include "rtl-model/tiles/host/user_page/user_page_bench.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kBlockBytes = sizeof(exrnic_wqe);

// A part of a block: `size` bytes from `at` on, naturally aligned.
struct Piece {
  unsigned at;
  unsigned size;
};

std::vector<Piece> pieces_of(unsigned size) {
  std::vector<Piece> pieces;
  for (unsigned at = 0; at < kBlockBytes; at += size) pieces.push_back({at, size});
  return pieces;
}

exrnic_wqe block_of(uint32_t index, uint8_t fill = 0x5a) {
  exrnic_wqe wqe;
  std::memset(&wqe, fill, sizeof wqe);
  wqe.num_slots = 1;
  wqe.number = kQpn;
  wqe.index = index;
  return wqe;
}

class Pio : public UserPage {
 public:
  void store(const exrnic_wqe& wqe, const Piece& piece, unsigned number = 0,
             uint32_t page = kPage) {
    uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const uint8_t*>(&wqe) + piece.at, piece.size);
    store_bytes(page * EXRNIC_USER_PAGE_SIZE + EXRNIC_PIO_AREA + number * kBlockBytes + piece.at,
                piece.size, value);
  }
  void send(const exrnic_wqe& wqe, unsigned number = 0, uint32_t page = kPage) {
    send(wqe, pieces_of(8), number, page);
  }
  void send(const exrnic_wqe& wqe, const std::vector<Piece>& pieces, unsigned number = 0,
            uint32_t page = kPage) {
    for (const Piece& piece : pieces) store(wqe, piece, number, page);
    wait_for("idle_o", kLimit, [&] { return dut().idle_o != 0; });
  }
  int pio_refused() const { return events[EXRNIC_COUNTER_PIO_REFUSED]; }
  uint16_t producer() { return qps[kQpn].sq_producer; }
};

bool same(const exrnic_wqe& a, const exrnic_wqe& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST_CASE("A whole block moves the producer by one, wakes the queue pair, and is handed on") {
  Pio page;
  const exrnic_wqe wqe = block_of(1);
  page.send(wqe);
  CHECK(page.producer() == 1);
  CHECK(page.wakes == std::vector<unsigned>{kQpn});
  CHECK(page.accepted() == 1);
  CHECK(page.pio_refused() == 0);
  REQUIRE(page.copies.size() == 1);
  CHECK(same(page.copies[0], wqe));
}

TEST_CASE("The stores of a block may have any size and come in any order") {
  std::mt19937 random(20);
  Pio page;
  for (uint16_t index = 1; index < 200; ++index) {
    std::vector<Piece> pieces;
    for (unsigned at = 0; at < kBlockBytes;) {
      unsigned size = 1u << random() % 4;
      while (at % size != 0) size /= 2;
      pieces.push_back({at, size});
      at += size;
    }
    std::shuffle(pieces.begin(), pieces.end(), random);
    page.qps[kQpn].sq.consumer = page.producer();
    const exrnic_wqe wqe = block_of(index, static_cast<uint8_t>(random()));
    page.send(wqe, pieces, random() % EXRNIC_PIO_BLOCKS);
    REQUIRE(page.producer() == index);
    REQUIRE(page.copies.size() == index);
    REQUIRE(same(page.copies.back(), wqe));
  }
  CHECK(page.pio_refused() == 0);
}

TEST_CASE("Until the last byte is there a block does nothing") {
  Pio page;
  const exrnic_wqe wqe = block_of(1);
  auto pieces = pieces_of(1);
  std::shuffle(pieces.begin(), pieces.end(), std::mt19937(20));
  const Piece last = pieces.back();
  pieces.pop_back();
  page.send(wqe, pieces);
  CHECK(page.writes == 0);
  page.store(wqe, last);
  page.wait_for("idle_o", kLimit, [&] { return page.dut().idle_o != 0; });
  CHECK(page.writes == 1);
}

TEST_CASE("Another block, or the same bytes again, gives up what the page had of a block") {
  const bool same_block = GENERATE(false, true);
  Pio page;
  page.store(block_of(1, 0x11), {0, 8}, 3);
  page.store(block_of(1, 0x11), {32, 8}, 3);
  CHECK(page.pio_refused() == 0);
  const exrnic_wqe wqe = block_of(1, 0x22);
  page.send(wqe, same_block ? 3 : 4);
  CHECK(page.pio_refused() == 1);
  REQUIRE(page.copies.size() == 1);
  CHECK(same(page.copies[0], wqe));
}

TEST_CASE("Blocks of two pages do not tear each other") {
  Pio page;
  const exrnic_wqe wqe = block_of(1);
  for (const Piece& piece : pieces_of(8)) {
    page.store(block_of(9, 0x77), piece, 0, kPage + 1);
    page.store(wqe, piece);
    page.wait_for("idle_o", kLimit, [&] { return page.dut().idle_o != 0; });
  }
  CHECK(page.pio_refused() == 1);  // the other page does not own the queue pair
  REQUIRE(page.copies.size() == 1);
  CHECK(same(page.copies[0], wqe));
}

TEST_CASE("What the driver drops is no part of the next block") {
  Pio page;
  page.store(block_of(1, 0x11), {8, 8});
  page.dut().pio_drop_page_i = GENERATE(kPage, kPage + 1);
  page.dut().pio_drop_i = 1;
  page.cycle();
  page.dut().pio_drop_i = 0;
  const bool dropped = page.dut().pio_drop_page_i == kPage;
  auto rest = pieces_of(8);
  rest.erase(rest.begin() + 1);
  page.send(block_of(1, 0x22), rest);
  CHECK(page.copies.size() == (dropped ? 0 : 1));
  CHECK(page.pio_refused() == 0);
}

TEST_CASE("What is wrong with a whole block makes it do nothing but count") {
  Pio page;
  exrnic_wqe wqe = block_of(1);
  uint32_t from = kPage;
  SECTION("another page") { from = kPage + 1; }
  SECTION("no such queue pair") { page.qps[kQpn].cfg.valid = false; }
  SECTION("reset state") { page.qps[kQpn].status.state = EXRNIC_QP_STATE_RESET; }
  SECTION("beyond the table") { wqe.number = EXRNIC_MAX_QP + kQpn; }
  SECTION("the slot posted already") { wqe.index = 0; }
  SECTION("one slot too far") { wqe.index = 2; }
  SECTION("high bits in the index") { wqe.index = 0x10001; }
  SECTION("no slot") { wqe.num_slots = 0; }
  SECTION("two slots") { wqe.num_slots = 2; }
  SECTION("a full ring") {
    page.qps[kQpn].sq_producer = 16;
    wqe.index = 17;
  }
  page.send(wqe, 0, from);
  CHECK(page.writes == 0);
  CHECK(page.wakes.empty());
  CHECK(page.copies.empty());
  CHECK(page.pio_refused() == 1);
  CHECK(page.accepted() + page.refused() == 0);
}

TEST_CASE("A core that is not enabled takes no part of a block") {
  Pio page;
  page.dut().enable_i = 0;
  page.store(block_of(1), {0, 8});
  CHECK(page.pio_refused() == 1);
  page.dut().enable_i = 1;
  auto rest = pieces_of(8);
  rest.erase(rest.begin());
  page.send(block_of(1), rest);
  CHECK(page.writes == 0);
}

TEST_CASE("A block of a queue pair that has work before it, or does not send, is only a doorbell") {
  Pio page;
  Qp& qp = page.qps[kQpn];
  SECTION("work before it") { qp.sq_producer = 1, qp.sq.consumer = 0; }
  SECTION("ready to receive") { qp.status.state = EXRNIC_QP_STATE_RTR; }
  SECTION("in error") { qp.status.state = EXRNIC_QP_STATE_ERROR; }
  SECTION("halted") { qp.sq.halted = true; }
  const uint16_t index = qp.sq_producer + 1;
  page.send(block_of(index));
  CHECK(page.producer() == index);
  CHECK(page.wakes == std::vector<unsigned>{kQpn});
  CHECK(page.copies.empty());
  CHECK(page.pio_refused() == 0);
}

TEST_CASE("The index of blocks goes around") {
  Pio page;
  page.qps[kQpn].sq.consumer = page.qps[kQpn].sq_producer = 0xffff;
  page.send(block_of(0));
  CHECK(page.producer() == 0);
  CHECK(page.copies.size() == 1);
}

TEST_CASE("Doorbells between the stores of a block do not touch it") {
  Pio page;
  const exrnic_wqe wqe = block_of(1);
  Store receive = exrnic::testing::send(1);
  receive.offset = EXRNIC_DOORBELL_RQ;
  for (const Piece& piece : pieces_of(8)) {
    page.store(wqe, piece);
    page.ring(receive);
  }
  CHECK(page.producer() == 1);
  CHECK(page.pio_refused() == 0);
  REQUIRE(page.copies.size() == 1);
  CHECK(same(page.copies[0], wqe));
}

// ---- Of firmware

exrnic_channel_work firmware_block(uint32_t index, uint8_t fill = 0x5a) {
  exrnic_channel_work work;
  std::memset(&work, fill, sizeof work);
  work.number = 7;
  work.index = index;
  return work;
}

class FirmwarePio : public Pio {
 public:
  FirmwarePio() { dut().firmware_i = 1; }
  void store_firmware(const exrnic_channel_work& work, const Piece& piece, uint32_t page = kPage) {
    uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const uint8_t*>(&work) + piece.at, piece.size);
    store_bytes(page * EXRNIC_USER_PAGE_SIZE + EXRNIC_PIO_FIRMWARE + piece.at, piece.size, value);
  }
  void send_firmware(const exrnic_channel_work& work, std::vector<Piece> pieces = pieces_of(8),
                     uint32_t page = kPage) {
    for (const Piece& piece : pieces) store_firmware(work, piece, page);
    wait_for("idle_o", kLimit, [&] { return dut().idle_o != 0; });
  }
};

TEST_CASE("A whole block for firmware rings for it, with its number and index, and is handed on") {
  FirmwarePio page;
  auto pieces = pieces_of(4);
  std::shuffle(pieces.begin(), pieces.end(), std::mt19937(20));
  const exrnic_channel_work work = firmware_block(3);
  page.send_firmware(work, pieces);
  REQUIRE(page.firmware_bells.size() == 1);
  CHECK(page.firmware_bells[0].page == kPage);
  CHECK(page.firmware_bells[0].number == 7);
  CHECK(page.firmware_bells[0].index == 3);
  REQUIRE(page.firmware_bells[0].whole);
  CHECK(std::memcmp(&page.firmware_bells[0].block, &work, sizeof work) == 0);
  CHECK(page.accepted() == 1);
  CHECK(page.writes == 0);
  CHECK(page.reads == 0);
  CHECK(page.wakes.empty());
}

TEST_CASE("Blocks for firmware and for a queue pair of one page give each other up, not wrong") {
  FirmwarePio page;
  page.store_firmware(firmware_block(1), {0, 8});
  page.send(block_of(1));
  CHECK(page.copies.size() == 1);
  CHECK(page.pio_refused() == 1);
  page.store(block_of(2), {8, 8});
  page.send_firmware(firmware_block(2));
  CHECK(page.firmware_bells.size() == 1);
  CHECK(page.pio_refused() == 2);
  CHECK(page.writes == 1);
}

TEST_CASE("A bell without a block forgets what there is of firmware's block, of no other one") {
  FirmwarePio page;
  page.store_firmware(firmware_block(1, 0x11), {32, 8});
  page.ring({kPage, EXRNIC_DOORBELL_FIRMWARE, 0, 1});
  REQUIRE(page.firmware_bells.size() == 1);
  CHECK(!page.firmware_bells[0].whole);
  page.send_firmware(firmware_block(2, 0x22));
  REQUIRE(page.firmware_bells.size() == 2);
  CHECK(page.firmware_bells[1].block.data == firmware_block(2, 0x22).data);
  CHECK(page.pio_refused() == 0);
  page.store(block_of(1), {0, 8});
  page.ring({kPage, EXRNIC_DOORBELL_FIRMWARE, 0, 2});
  for (const Piece& piece : pieces_of(8))
    if (piece.at != 0) page.store(block_of(1), piece);
  page.wait_for("idle_o", kLimit, [&] { return page.dut().idle_o != 0; });
  CHECK(page.copies.size() == 1);
}

TEST_CASE("Firmware may have a block of its page forgotten") {
  FirmwarePio page;
  page.store_firmware(firmware_block(1, 0x11), {32, 8});
  page.dut().firmware_drop_i = 1;
  page.dut().firmware_drop_page_i = kPage;
  page.cycle();
  page.dut().firmware_drop_i = 0;
  page.send_firmware(firmware_block(2));
  CHECK(page.firmware_bells.size() == 1);
}

TEST_CASE("While firmware is not ready its block is no place of the page") {
  FirmwarePio page;
  page.dut().firmware_i = 0;
  page.send_firmware(firmware_block(1));
  CHECK(page.firmware_bells.empty());
  CHECK(page.refused() == 8);
  CHECK(page.pio_refused() == 0);
  page.dut().firmware_i = 1;
  page.send_firmware(firmware_block(2));
  CHECK(page.firmware_bells.size() == 1);
}

}  // namespace
}  // namespace exrnic::testing
