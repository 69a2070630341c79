// SPDX-License-Identifier: BSD-2-Clause
// Channels on the host: every message between firmwares, every bell, and what goes wrong. mock.h is
// the hardware. tests/firmware/firmware_channels_test.cc has whole nodes.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>

#include "test/mock.h"

extern "C" {
#include "app/channel.h"
#include "app/channels.h"
#include "app/requests.h"
}

namespace exrnic::testing {
namespace {

constexpr uint32_t kNode = 1, kPeer = 2, kPage = 9, kChannel = 3;
constexpr uint32_t kStag = 0x1234, kIncarnation = 77, kPeerIncarnation = 88;
constexpr uint64_t kBase = 0x7'0000'0000;
constexpr uint32_t kWork = 0x1000, kEvents = 0x2000, kSlots = 0x4000, kSlotBytes = 4096;
constexpr uint32_t kNoSlot = EXRNIC_CHANNEL_NO_SLOT;

std::vector<uint32_t> open_words() {
  return {kChannel, kPage,   kStag, kIncarnation, 0,          7, 0, kWork,
          4,        kEvents, 4,     kSlots,       kSlotBytes, 3, 0, 0};
}

struct Node : Hardware {
  Node() {
    registers[EXRNIC_REG_DEV_NODE] = kNode << 16 | 1024;
    channels_start();
    REQUIRE(channel_open(open_words().data()) == EXRNIC_FW_STATUS_OK);
    commands.clear();
  }
  void work(uint32_t id, std::vector<uint32_t> words) {
    words.at(1) = id;
    words.resize(16);
    for (uint32_t i = 0; i < 16; ++i) region[kBase + kWork + 64 * id + 4 * i] = words.at(i);
  }
  static std::vector<uint32_t> send_words(uint32_t node, uint32_t offset, uint32_t length,
                                          uint32_t timeout_us = 0) {
    return {EXRNIC_CHANNEL_OPCODE_SEND | node << 16,
            0,
            offset,
            length,
            0,
            0,
            0,
            timeout_us,
            0x11223344};
  }
  void send(uint32_t id, uint32_t node, uint32_t offset, uint32_t length, uint32_t timeout_us = 0) {
    work(id, send_words(node, offset, length, timeout_us));
  }
  // By a PIO block: the ring has what send() has put there, or nothing.
  void store_block(uint32_t id, std::vector<uint32_t> words, uint32_t posted) {
    words.resize(16);
    words[1] = id;
    words[14] = 0;
    words[15] = posted;
    blocks.push_back({kPage, words});
    bells.push_back({kPage, 0, posted});
  }
  void serve() {
    channels_bells();
    channels_work();
  }
  void ring(uint32_t taken, uint32_t posted) {
    bells.push_back({kPage, taken & 0xffff, posted});
    serve();
  }
  // Its process waits until so many events are there.
  void arm(uint32_t taken, uint32_t awaited, uint32_t posted = 0) {
    bells.push_back({kPage, armed(taken, awaited), posted});
    serve();
  }
  static uint32_t armed(uint32_t taken, uint32_t awaited) {
    return EXRNIC_CHANNEL_ARMED | (awaited & 0x7fff) << EXRNIC_CHANNEL_TAKEN_BITS |
           (taken & 0xffff);
  }
  // A message of a peer's firmware comes.
  void hear(enum exrnic_fw_message_kind kind, std::vector<uint32_t> words, uint32_t attempt = 0,
            uint32_t node = kPeer) {
    words.insert(words.begin(), message_head(kind, kChannel, attempt));
    words.resize(MESSAGE_WORDS);
    punt(EXRNIC_FW_PUNT_KIND_MESSAGE, static_cast<uint16_t>(node), 0, words);
    requests_serve();
    channels_work();
  }
  void hear_send(uint32_t id, uint32_t argument, uint32_t previous, uint32_t node = kPeer) {
    hear(EXRNIC_FW_MESSAGE_KIND_SEND, {id, kPeerIncarnation, argument, previous, 0, 0xaa, 0xbb}, 5,
         node);
  }
  void pass(uint64_t ns) {
    time_ns += ns;
    channels_timer();
    channels_work();
  }
  // What has left since the last question: messages of that kind, or data.
  std::vector<Direct> left(uint32_t kind) {
    std::vector<Direct> found;
    for (const Direct& command : commands)
      if (command.op == EXRNIC_FW_DIRECT_SEND_MESSAGE && command[0] >> 24 == kind)
        found.push_back(command);
    return found;
  }
  std::vector<Direct> data() {
    std::vector<Direct> found;
    for (const Direct& command : commands)
      if (command.op == EXRNIC_FW_DIRECT_SEND_DATA) found.push_back(command);
    return found;
  }
  uint32_t event(uint32_t index, uint32_t word) {
    return region[kBase + kEvents + 64 * index + 4 * word];
  }
  uint32_t events() {
    uint32_t count = 0;
    while (event(count, 15) == count + 1) ++count;
    return count;
  }
  uint32_t status(uint32_t word) { return region[kBase + 4 * word]; }
  uint32_t attempt() { return left(EXRNIC_FW_MESSAGE_KIND_SEND).back()[0] & 0xffff; }
};

// ---- Sending

TEST_CASE("a short message goes in one SEND, and its work ends with the ACK") {
  Node node;
  node.send(0, kPeer, 0, 24);
  node.ring(0, 1);
  const auto sends = node.left(EXRNIC_FW_MESSAGE_KIND_SEND);
  REQUIRE(sends.size() == 1);
  CHECK(sends[0][EXRNIC_FW_SEND_WORD_NODE] == kPeer);
  CHECK(sends[0][MESSAGE_ID] == 0);
  CHECK(sends[0][MESSAGE_INCARNATION] == kIncarnation);
  CHECK(sends[0][MESSAGE_ARGUMENT] == (24 | MESSAGE_OLDEST));
  CHECK(sends[0][MESSAGE_DATA] == 0x11223344);
  CHECK(node.status(0) == 0);
  node.hear(EXRNIC_FW_MESSAGE_KIND_ACK, {0, kIncarnation, 0});
  CHECK(node.status(0) == 1);
  CHECK(node.registers[EXRNIC_REG_DEV_TIMER] == 0);
}

TEST_CASE("a long message asks, goes where it is told in pieces of a page, and says so") {
  Node node;
  node.send(0, kPeer, 0x3f00, 3000);
  node.ring(0, 1);
  node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {0, kIncarnation, 0xabcd, 5, 0x100}, node.attempt());
  const uint32_t pieces[] = {256, 2744};
  REQUIRE(node.data().size() == 2);
  uint32_t moved = 0;
  for (uint32_t i = 0; i < 2; ++i) {
    const Direct piece = node.data()[i];
    CHECK(piece[EXRNIC_FW_MEMORY_WORD_LENGTH] == pieces[i]);
    CHECK(piece.wide(EXRNIC_FW_MEMORY_WORD_TO_HIGH) == kBase + 0x3f00 + moved);
    CHECK(piece[EXRNIC_FW_SEND_WORD_STAG] == 0xabcd);
    CHECK(piece.wide(EXRNIC_FW_SEND_WORD_TO_HIGH) == uint64_t{0x500000100} + moved);
    moved += pieces[i];
  }
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_DONE).size() == 1);
}

TEST_CASE("work that came by a PIO block is not read from the ring") {
  Node node;
  const auto reads = [&] {
    return std::count_if(node.commands.begin(), node.commands.end(),
                         [](const Direct& command) { return command.op == EXRNIC_FW_DIRECT_READ; });
  };
  node.store_block(0, Node::send_words(kPeer, 0, 4), 1);
  node.serve();
  CHECK(reads() == 0);
  REQUIRE(node.left(EXRNIC_FW_MESSAGE_KIND_SEND).size() == 1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_SEND)[0][MESSAGE_DATA] == 0x11223344);
  node.send(1, kPeer, 0, 8);
  node.send(2, kPeer, 0, 12);
  node.store_block(2, Node::send_words(kPeer, 0, 12), 3);
  node.store_block(3, Node::send_words(kPeer, 0, 16), 4);
  node.store_block(3 + EXRNIC_CHANNEL_WINDOW, Node::send_words(kPeer, 0, 20), 4);  // cannot be yet
  node.serve();
  CHECK(reads() == 1);  // the first of them came without one
  const auto sends = node.left(EXRNIC_FW_MESSAGE_KIND_SEND);
  REQUIRE(sends.size() == 4);
  for (uint32_t i = 0; i < 4; ++i)
    CHECK((sends[i][MESSAGE_ARGUMENT] & ~MESSAGE_OLDEST) == 4 + 4 * i);
  CHECK(node.blocks.empty());
}

// The straight way of a block: its SEND leaves before its bell is looked at.
TEST_CASE("a short message by the oldest block leaves at once, and its bell changes nothing") {
  Node node;
  for (uint32_t id = 0; id < 20; ++id) {
    node.store_block(id, Node::send_words(kPeer, 0, 4 + id % 20), id + 1);
    node.bells.clear();
    node.serve();
    const auto sends = node.left(EXRNIC_FW_MESSAGE_KIND_SEND);
    REQUIRE(sends.size() == id + 1);
    CHECK(sends[id][MESSAGE_ID] == id);
    CHECK(sends[id][MESSAGE_ARGUMENT] == ((4 + id % 20) | MESSAGE_OLDEST));
    CHECK(sends[id][MESSAGE_DATA] == 0x11223344);
    CHECK(sends[id][EXRNIC_FW_SEND_WORD_NODE] == kPeer);
    node.ring(0, id + 1);
    node.hear(EXRNIC_FW_MESSAGE_KIND_ACK, {id, kIncarnation, 0});
    CHECK(node.status(0) == id + 1);
  }
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_SEND).size() == 20);
  CHECK(node.status(4) == 0);
}

TEST_CASE("a short message by a block that finds no room, or no answer, is sent again as it was") {
  Node node;
  node.judge = [](const Direct& command) {
    return command.op == EXRNIC_FW_DIRECT_SEND_MESSAGE ? EXRNIC_FW_DIRECT_STATUS_NO_ROOM
                                                       : EXRNIC_FW_DIRECT_STATUS_OK;
  };
  node.store_block(0, Node::send_words(kPeer, 0, 24), 1);
  node.serve();
  CHECK(node.registers[EXRNIC_REG_DEV_TIMER] != 0);
  node.judge = {};
  for (uint32_t times = 1; times < 4; ++times) {
    node.pass(8 * RETRY_NS);
    const Direct again = node.left(EXRNIC_FW_MESSAGE_KIND_SEND).back();
    CHECK(again[MESSAGE_ID] == 0);
    CHECK(again[MESSAGE_ARGUMENT] == (24 | MESSAGE_OLDEST));
    CHECK(again[MESSAGE_DATA] == 0x11223344);
  }
  node.hear(EXRNIC_FW_MESSAGE_KIND_ACK, {0, kIncarnation, 0});
  CHECK(node.status(0) == 1);
}

TEST_CASE(
    "a block that does not speak for itself alone, or of what cannot be, goes no straight way") {
  Node node;
  const auto nothing_leaves = [&](uint32_t id, std::vector<uint32_t> words, uint32_t posted) {
    node.store_block(id, std::move(words), posted);
    node.bells.clear();
    node.serve();
    return node.left(EXRNIC_FW_MESSAGE_KIND_SEND).empty();
  };
  CHECK(nothing_leaves(0, Node::send_words(kPeer, 0, 4), 2));                 // rings for more
  CHECK(nothing_leaves(0, Node::send_words(kPeer, 0, 4), 0));                 // for less
  CHECK(nothing_leaves(1, Node::send_words(kPeer, 0, 4), 2));                 // not the next
  CHECK(nothing_leaves(0xffffffff, Node::send_words(kPeer, 0, 4), 0));        // behind
  CHECK(nothing_leaves(0, Node::send_words(EXRNIC_CHANNEL_NODES, 0, 4), 1));  // no such node
  CHECK(nothing_leaves(0, Node::send_words(0xffff, 0, 4), 1));
  CHECK(nothing_leaves(0, Node::send_words(kPeer, 0, 25), 1));  // not in the block
  CHECK(nothing_leaves(0, Node::send_words(kPeer, 0, 0xffffffff), 1));
  std::vector<uint32_t> other = Node::send_words(kPeer, 0, 4);
  other[0] = 99 | kPeer << 16;
  CHECK(nothing_leaves(0, other, 1));
  CHECK(node.events() == 0);
  node.ring(0, 1);  // the last of them is what counts, as it always did
  CHECK(node.events() == 1);
  CHECK((node.event(0, 8) >> 8 & 0xff) == EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED);
}

TEST_CASE("short messages that follow each other find the end of the room, and go on behind it") {
  Node node;
  for (uint32_t id = 0; id < 17; ++id) node.hear_send(id, 8, id - 1);
  CHECK(node.events() == 0);  // the first of them was not the oldest, nor known
  for (uint32_t id = 0; id < 17; ++id) node.hear_send(id, id == 0 ? 8 | MESSAGE_OLDEST : 8, id - 1);
  CHECK(node.events() == 16);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_ACK).size() == 16);
  for (uint32_t id = 0; id < 16; ++id) {
    CHECK(node.event(id, 14) == id);
    CHECK(node.event(id, 0) == 0xaa);
    CHECK(node.event(id, 10) == kNoSlot);
  }
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_WAKE).empty());
  node.hear_send(3, 8, 2);  // again: told, and not delivered twice
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_ACK).size() == 17);
  node.ring(1, 0);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_WAKE).size() == 1);
  node.hear_send(16, 8, 15);
  CHECK(node.event(0, 15) == 17);
  CHECK(node.event(0, 14) == 16);
}

TEST_CASE("a node beyond those that channels reach opens none, and is not heard") {
  Node node;
  for (const uint32_t beyond :
       {uint32_t{EXRNIC_CHANNEL_NODES}, EXRNIC_CHANNEL_NODES + kPeer, 0xffffu})
    node.hear_send(0, 8 | MESSAGE_OLDEST, 0, beyond);
  CHECK(node.events() == 0);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_ACK).empty());
  node.hear_send(0, 8 | MESSAGE_OLDEST, 0, EXRNIC_CHANNEL_NODES - 1);
  CHECK(node.events() == 1);
  REQUIRE(channel_close(kChannel) == EXRNIC_FW_STATUS_OK);
  node.registers[EXRNIC_REG_DEV_NODE] = EXRNIC_CHANNEL_NODES << 16 | 1024;
  CHECK(channel_open(open_words().data()) == EXRNIC_FW_STATUS_BAD_PARAMETER);
}

TEST_CASE("what a page has rung before its channel was opened is not that channel's") {
  Node node;
  REQUIRE(channel_close(kChannel) == EXRNIC_FW_STATUS_OK);
  for (uint32_t page = 0; page < EXRNIC_USER_PAGES; ++page)  // each waits once
    if (page != kPage) node.bells.push_back({page, 0, 1});
  node.store_block(0, Node::send_words(kPeer, 0, 4), 1);
  REQUIRE(channel_open(open_words().data()) == EXRNIC_FW_STATUS_OK);
  CHECK(node.registers[EXRNIC_REG_DEV_BLOCK_DROP] == kPage);
  for (int i = 0; i < 20; ++i) node.serve();
  CHECK(node.bells.empty());
  CHECK(node.events() == 0);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_SEND).empty());
  CHECK(node.status(4) == 0);
}

TEST_CASE(
    "however many bells and blocks wait, only some are served before others have their turn") {
  Node node;
  for (int i = 0; i < 200; ++i) node.bells.push_back({kPage + 1, 0, 0});
  for (int i = 0; i < 200; ++i) node.blocks.push_back({kPage + 1, std::vector<uint32_t>(16)});
  channels_bells();
  CHECK((node.bells.size() > 100 && node.bells.size() < 200));
  CHECK((node.blocks.size() > 100 && node.blocks.size() < 200));
}

TEST_CASE("bytes for which there was no room leave later, from where the others have ended") {
  Node node;
  node.send(0, kPeer, 0x3000, 4000);
  node.ring(0, 1);
  node.room_bytes = 3072;
  node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {0, kIncarnation, 0xabcd, 0, 0x100}, node.attempt());
  REQUIRE(node.data().size() == 1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_DONE).empty());
  node.room_bytes = 4096;
  node.pass(1000);
  REQUIRE(node.data().size() == 2);
  CHECK(node.data()[1][EXRNIC_FW_MEMORY_WORD_LENGTH] == 928);
  CHECK(node.data()[1].wide(EXRNIC_FW_MEMORY_WORD_TO_HIGH) == kBase + 0x3000 + 3072);
  CHECK(node.data()[1].wide(EXRNIC_FW_SEND_WORD_TO_HIGH) == 0x100 + 3072);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_DONE).size() == 1);
}

TEST_CASE("a GRANT of another attempt, node, or incarnation moves nothing") {
  Node node;
  node.send(0, kPeer, 0x3000, 100);
  node.ring(0, 1);
  const uint32_t attempt = node.attempt();
  node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {0, kIncarnation, 1, 0, 0}, attempt + 1);
  node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {0, kIncarnation + 1, 1, 0, 0}, attempt);
  node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {1, kIncarnation, 1, 0, 0}, attempt);
  node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {0, kIncarnation, 1, 0, 0}, attempt, kPeer + 1);
  CHECK(node.data().empty());
  node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {0, kIncarnation, 1, 0, 0}, attempt);
  CHECK(node.data().size() == 1);
}

TEST_CASE("where GRANTs take longer than the first repetition, that is later, up to a limit") {
  Node node;
  constexpr uint32_t kTakes = 5 * RETRY_NS;
  uint32_t id = 0;
  // Asks for the next message, whose GRANT for the last question comes so late; how often it asked.
  const auto exchange = [&](uint32_t takes) {
    node.commands.clear();
    node.send(id, kPeer, 0x3000, 100);
    node.ring(0, id + 1);
    size_t asked;
    do {
      asked = node.left(EXRNIC_FW_MESSAGE_KIND_SEND).size();
      for (uint32_t ns = 0; ns < takes; ns += RETRY_NS / 4) node.pass(RETRY_NS / 4);
    } while (node.left(EXRNIC_FW_MESSAGE_KIND_SEND).size() != asked);
    node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {id, kIncarnation, 1, 0, 0}, node.attempt());
    node.hear(EXRNIC_FW_MESSAGE_KIND_ACK, {id, kIncarnation, 0});
    ++id;
    return asked;
  };
  CHECK(exchange(kTakes) > 1);
  CHECK(exchange(kTakes) == 1);
  CHECK(exchange(kTakes) == 1);
  CHECK(exchange(40 * RETRY_NS) > 1);
  CHECK(exchange(40 * RETRY_NS) > 1);
  for (int i = 0; i < 4; ++i) CHECK(exchange(0) == 1);
  CHECK(exchange(14 * RETRY_NS) > 1);  // what took long once is forgotten
}

TEST_CASE("an interval between repetitions is never longer than the longest") {
  Node node;
  node.send(0, kPeer, 0x3000, 100);
  node.ring(0, 1);
  for (int i = 0; i < 6; ++i)
    node.pass(RETRY_NS / 4);  // asked a second time 0.1 ms after the first
  REQUIRE(node.left(EXRNIC_FW_MESSAGE_KIND_SEND).size() == 2);
  node.pass(RETRY_NS / 4);
  node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {0, kIncarnation, 1, 0, 0}, node.attempt());
  node.hear(EXRNIC_FW_MESSAGE_KIND_ACK, {0, kIncarnation, 0});
  node.commands.clear();
  node.send(1, kPeer, 0x3000, 100);
  node.ring(0, 2);
  uint32_t since = 0, longest = 0;
  for (size_t asked = 1; asked < 10; since += RETRY_NS / 4) {
    node.pass(RETRY_NS / 4);
    if (node.left(EXRNIC_FW_MESSAGE_KIND_SEND).size() == asked) continue;
    ++asked;
    longest = std::max(longest, since);
    since = 0;
  }
  CHECK(longest >= RETRY_MAX_NS - RETRY_NS);
  CHECK(longest <= RETRY_MAX_NS);
}

TEST_CASE("without room it tries again soon; without an answer later, with a new attempt") {
  Node node;
  node.judge = [](const Direct& command) {
    return command.op == EXRNIC_FW_DIRECT_SEND_MESSAGE ? EXRNIC_FW_DIRECT_STATUS_NO_ROOM
                                                       : EXRNIC_FW_DIRECT_STATUS_OK;
  };
  node.send(0, kPeer, 0x3000, 100);
  node.ring(0, 1);
  const uint32_t soon = node.registers[EXRNIC_REG_DEV_TIMER];
  node.judge = nullptr;
  node.pass(100);
  const uint32_t attempt = node.attempt();
  CHECK(soon < node.registers[EXRNIC_REG_DEV_TIMER]);
  node.commands.clear();
  node.pass(RETRY_NS - 1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_SEND).empty());
  node.pass(1);
  CHECK(node.attempt() == attempt + 1);
  node.commands.clear();
  node.hear(EXRNIC_FW_MESSAGE_KIND_WAKE, {});
  CHECK(node.attempt() == attempt + 2);
}

TEST_CASE(
    "messages to one node name the one before; a short one waits for the bytes of a long one") {
  Node node;
  node.send(0, kPeer, 0x3000, 100);
  node.send(1, kPeer, 0x3000, 100);
  node.send(2, kPeer, 0x3000, 8);
  node.ring(0, 3);
  auto sends = node.left(EXRNIC_FW_MESSAGE_KIND_SEND);
  REQUIRE(sends.size() == 2);
  CHECK(sends[1][MESSAGE_ARGUMENT] == 100);
  CHECK(sends[1][MESSAGE_HIGH] == 0);
  for (uint32_t id : {0u, 1u})
    node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {id, kIncarnation, 1, 0, 0}, sends[id][0] & 0xffff);
  sends = node.left(EXRNIC_FW_MESSAGE_KIND_SEND);
  REQUIRE(sends.size() == 3);
  CHECK(sends[2][MESSAGE_HIGH] == 1);
}

TEST_CASE("the end of a message is not told before that of the one before it") {
  Node node;
  for (const uint32_t id : {0u, 1u}) node.send(id, kPeer, 0x3000, 100);
  node.send(2, kPeer, 0x3000, 8);
  node.ring(0, 3);
  const auto sends = node.left(EXRNIC_FW_MESSAGE_KIND_SEND);
  REQUIRE(sends.size() == 2);
  node.judge = [](const Direct& command) {  // nothing of the first one leaves
    return command.op == EXRNIC_FW_DIRECT_SEND_DATA && command[EXRNIC_FW_SEND_WORD_STAG] == 0
               ? EXRNIC_FW_DIRECT_STATUS_NO_ROOM
               : EXRNIC_FW_DIRECT_STATUS_OK;
  };
  for (const uint32_t id : {0u, 1u})
    node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {id, kIncarnation, id, 0, 0}, sends[id][0] & 0xffff);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_DONE).empty());
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_SEND).size() == 2);
  node.judge = nullptr;
  node.pass(1000);
  const auto dones = node.left(EXRNIC_FW_MESSAGE_KIND_DONE);
  REQUIRE(dones.size() == 2);
  CHECK(dones[0][MESSAGE_ID] == 0);
  CHECK(dones[1][MESSAGE_ID] == 1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_SEND).size() == 3);
}

TEST_CASE("work that cannot be done ends with a failure, and the next one begins") {
  Node node;
  node.send(0, 0xffff, 0x3000, 1);
  node.send(1, EXRNIC_CHANNEL_NODES, 0x3000, 1);
  node.send(2, kPeer, 0x3000, EXRNIC_CHANNEL_SLOT_MAX + 1);
  node.work(3, {0x63, 0, 0, 0, 0, 0, 0, 0});
  node.send(4, kPeer, 0x3000, 8, 200);
  node.ring(0, 5);
  REQUIRE(node.events() == 4);
  for (uint32_t i = 0; i < 4; ++i) {
    CHECK((node.event(i, 8) & 0xffff) ==
          (EXRNIC_CHANNEL_EVENT_KIND_FAILURE | EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED << 8));
    CHECK(node.event(i, 14) == i);
  }
  node.pass(200'000);
  REQUIRE(node.events() == 5);
  CHECK((node.event(4, 8) >> 8 & 0xff) == EXRNIC_CHANNEL_EVENT_STATUS_TIMEOUT);
  CHECK(node.status(0) == 5);
}

TEST_CASE("a region that goes away under the bytes fails the work") {
  Node node;
  node.send(0, kPeer, 0x3000, 100);
  node.ring(0, 1);
  node.judge = [](const Direct& command) {
    return command.op == EXRNIC_FW_DIRECT_SEND_DATA ? EXRNIC_FW_DIRECT_STATUS_STAG
                                                    : EXRNIC_FW_DIRECT_STATUS_OK;
  };
  node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {0, kIncarnation, 1, 0, 0}, node.attempt());
  CHECK(node.events() == 1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_DONE).empty());
}

// ---- Receiving

TEST_CASE("a short message is delivered with its bytes and acknowledged; a second one only that") {
  Node node;
  node.hear_send(4, 8 | MESSAGE_OLDEST, 0);
  REQUIRE(node.events() == 1);
  CHECK(node.event(0, 0) == 0xaa);
  CHECK(node.event(0, 8) == (EXRNIC_CHANNEL_EVENT_KIND_MESSAGE | kPeer << 16));
  CHECK(node.event(0, 9) == 8);
  CHECK(node.event(0, 10) == kNoSlot);
  CHECK(node.event(0, 11) == kPeerIncarnation);
  CHECK(node.event(0, 14) == 4);
  node.hear_send(4, 8 | MESSAGE_OLDEST, 0);
  CHECK(node.events() == 1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_ACK).size() == 2);
}

TEST_CASE("a message whose predecessor was not accepted is not either, unless it is the oldest") {
  Node node;
  node.hear_send(4, 8, 3);
  CHECK(node.events() == 0);
  node.hear_send(4, 8 | MESSAGE_OLDEST, 3);
  node.hear_send(6, 8, 5);
  CHECK(node.events() == 1);
  node.hear_send(6, 8, 4);
  CHECK(node.events() == 2);
}

TEST_CASE(
    "a long message gets a slot, the same one when it asks again, and is delivered when done") {
  Node node;
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0);
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0);
  const auto grants = node.left(EXRNIC_FW_MESSAGE_KIND_GRANT);
  REQUIRE(grants.size() == 2);
  CHECK((grants[0][0] & 0xffff) == 5);
  const uint32_t name = grants[0][MESSAGE_ARGUMENT];
  CHECK(grants[0].wide(MESSAGE_HIGH) == 0);
  CHECK(grants[1][MESSAGE_ARGUMENT] == name);
  REQUIRE(node.grants.size() == 1);
  CHECK(node.grants.at(name) == Hardware::Grant{kPeer, kBase + kSlots, 1000});
  CHECK(node.events() == 0);
  node.hear(EXRNIC_FW_MESSAGE_KIND_DONE, {0, kPeerIncarnation}, 5, kPeer + 1);
  CHECK(node.events() == 0);
  node.hear(EXRNIC_FW_MESSAGE_KIND_DONE, {0, kPeerIncarnation}, 5);
  REQUIRE(node.events() == 1);
  CHECK(node.event(0, 10) == 0);
  CHECK(node.grants.empty());
  node.hear(EXRNIC_FW_MESSAGE_KIND_DONE, {0, kPeerIncarnation}, 5);
  CHECK(node.events() == 1);
}

TEST_CASE("what may be written is revoked before its event is there, and when the channel closes") {
  Node node;
  bool granted = false, told = false;
  node.judge = [&](const Direct& command) {
    if (command.op == EXRNIC_FW_DIRECT_WRITE &&
        command.wide(EXRNIC_FW_MEMORY_WORD_TO_HIGH) >= kBase + kEvents) {
      told = true;
      granted |= !node.grants.empty();
    }
    return EXRNIC_FW_DIRECT_STATUS_OK;
  };
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0);
  CHECK(node.grants.size() == 1);
  node.hear(EXRNIC_FW_MESSAGE_KIND_DONE, {0, kPeerIncarnation}, 5);
  CHECK(told);
  CHECK_FALSE(granted);
  node.hear_send(1, 1000, 0);
  REQUIRE(node.grants.size() == 1);
  CHECK(channel_close(kChannel) == EXRNIC_FW_STATUS_OK);
  CHECK(node.grants.empty());
}

TEST_CASE("who finds no slot is woken when one is taken back; too long a message is refused") {
  Node node;
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0);
  node.hear_send(1, 1000, 0);
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0, kPeer + 2);
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0, kPeer + 1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_GRANT).size() == 3);
  node.hear(EXRNIC_FW_MESSAGE_KIND_DONE, {1, kPeerIncarnation}, 5);
  CHECK(node.events() == 0);  // not before the one before it
  node.hear(EXRNIC_FW_MESSAGE_KIND_DONE, {0, kPeerIncarnation}, 5);
  CHECK(node.events() == 1);
  node.ring(1, 0);
  const auto wakes = node.left(EXRNIC_FW_MESSAGE_KIND_WAKE);
  REQUIRE(wakes.size() == 1);
  CHECK(wakes[0][EXRNIC_FW_SEND_WORD_NODE] == kPeer + 1);
  node.hear_send(0, (kSlotBytes + 1) | MESSAGE_OLDEST, 0, kPeer + 1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_ACK).back()[MESSAGE_ARGUMENT] ==
        EXRNIC_CHANNEL_EVENT_STATUS_TOO_LONG);
}

TEST_CASE("a short message is not delivered before a long one that was sent before it") {
  Node node;
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0);
  node.hear_send(1, 8, 0);
  CHECK(node.events() == 0);
  node.hear(EXRNIC_FW_MESSAGE_KIND_DONE, {0, kPeerIncarnation}, 5);
  node.hear_send(1, 8, 0);
  REQUIRE(node.events() == 2);
  CHECK(node.event(0, 14) == 0);
  CHECK(node.event(1, 14) == 1);
}

TEST_CASE("a message that was given up does not hold up one behind it that has its slot already") {
  Node node;
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0);
  node.hear_send(1, 1000, 0);
  node.hear(EXRNIC_FW_MESSAGE_KIND_DONE, {1, kPeerIncarnation}, 5);
  CHECK(node.events() == 0);
  node.hear_send(1, 1000 | MESSAGE_OLDEST, 0);
  node.hear(EXRNIC_FW_MESSAGE_KIND_DONE, {1, kPeerIncarnation}, 5);
  REQUIRE(node.events() == 1);
  CHECK(node.event(0, 14) == 1);
}

TEST_CASE("slots of messages that were given up come back: by a later one, or in time") {
  Node node;
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0);
  node.hear_send(1, 1000, 0);
  node.hear_send(2, 1000 | MESSAGE_OLDEST, 1);
  node.hear_send(3, 1000, 2);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_GRANT).size() == 4);
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0, kPeer + 2);
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0, kPeer + 1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_GRANT).size() == 5);
  CHECK(node.grants.size() == 3);  // of those that were not given up
  for (int i = 0; i < 41; ++i) node.pass(100'000'000);
  CHECK(node.grants.empty());
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0, kPeer + 1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_GRANT).size() == 6);
}

TEST_CASE("with a full ring of events nothing is accepted") {
  Node node;
  for (uint32_t id = 0; id < 20; ++id) node.hear_send(id, 8, id - 1);
  node.hear_send(0, 8 | MESSAGE_OLDEST, 0);
  for (uint32_t id = 1; id < 20; ++id) node.hear_send(id, 8, id - 1);
  CHECK(node.events() == 16);
  CHECK(node.event(0, 15) == 1);
}

// ---- A node that is no friend

constexpr uint32_t kHostile = 77;

TEST_CASE("a node that never fills what it was granted leaves a slot to the others") {
  Node node;
  for (uint32_t id = 0; id < 10; ++id)
    node.hear_send(id, id == 0 ? 1000 | MESSAGE_OLDEST : 1000, id - 1, kHostile);
  for (uint32_t id = 0; id < 5; ++id) {
    node.hear_send(id, 1000 | MESSAGE_OLDEST, 0);
    node.hear(EXRNIC_FW_MESSAGE_KIND_DONE, {id, kPeerIncarnation}, 5);
    REQUIRE(node.events() == id + 1);
    CHECK(node.event(id, 8) >> 16 == kPeer);
    node.ring(id + 1, 0);
    node.hear_send(2, 1000, 1, kHostile);  // it is there before the others are
  }
}

TEST_CASE("a node that never fills what it was granted leaves events to the others") {
  auto words = open_words();
  words[13] = EXRNIC_CHANNEL_SLOTS_MAX;
  Node node;
  REQUIRE(channel_close(kChannel) == EXRNIC_FW_STATUS_OK);
  REQUIRE(channel_open(words.data()) == EXRNIC_FW_STATUS_OK);
  node.pass(QUIET_NS);
  for (uint32_t id = 0; id < 20; ++id)
    node.hear_send(id, id == 0 ? 1000 | MESSAGE_OLDEST : 1000, id - 1, kHostile);
  CHECK(node.grants.size() == 4);
  for (uint32_t id = 0; id < 12; ++id) node.hear_send(id, 8 | MESSAGE_OLDEST, 0);
  CHECK(node.events() == 12);
}

// Its process takes one at a time, and each time the hostile node is there first.
void expect_turns(uint32_t length, const std::function<void(Node&, uint32_t, uint32_t)>& fill) {
  Node node;
  uint32_t hostile = 0, id = 0, taken = 0;
  const auto flood = [&] {
    for (int i = 0; i < 3; ++i, ++hostile) {
      node.hear_send(hostile, length | MESSAGE_OLDEST, 0, kHostile);
      fill(node, hostile, kHostile);
    }
  };
  const auto accepted = [&] {
    const auto acks = node.left(EXRNIC_FW_MESSAGE_KIND_ACK);
    return std::any_of(acks.begin(), acks.end(),
                       [&](const Direct& ack) { return ack[EXRNIC_FW_SEND_WORD_NODE] == kPeer; });
  };
  for (int i = 0; i < 8; ++i) flood();
  for (int round = 0; round < 64; ++round) {
    node.commands.clear();
    node.hear_send(id, length | MESSAGE_OLDEST, 0);
    fill(node, id, kPeer);
    if (accepted()) ++id;
    node.ring(++taken, 0);
    flood();
  }
  CHECK(id >= 30);
}

TEST_CASE("a node that sends without end gets one place of two, and the others the other") {
  SECTION("of events") {
    expect_turns(8, [](Node&, uint32_t, uint32_t) {});
  }
  SECTION("of slots") {
    expect_turns(1000, [](Node& node, uint32_t id, uint32_t from) {
      node.hear(EXRNIC_FW_MESSAGE_KIND_DONE, {id, kPeerIncarnation}, 5, from);
    });
  }
}

TEST_CASE("who is called and does not come has its turn for 0.2 ms, no longer") {
  Node node;
  for (uint32_t id = 0; id < 16; ++id) node.hear_send(id, 8 | MESSAGE_OLDEST, 0);
  CHECK(node.events() == 16);
  node.hear_send(0, 8 | MESSAGE_OLDEST, 0, kHostile);
  node.ring(1, 0);
  node.hear_send(16, 8 | MESSAGE_OLDEST, 0);
  CHECK(node.event(0, 15) == 1);
  node.pass(2 * RETRY_NS - 1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_WAKE).size() == 1);
  CHECK(node.registers[EXRNIC_REG_DEV_TIMER] != 0);
  node.pass(1);
  const auto wakes = node.left(EXRNIC_FW_MESSAGE_KIND_WAKE);
  REQUIRE(wakes.size() == 2);
  CHECK(wakes[1][EXRNIC_FW_SEND_WORD_NODE] == kPeer);
  node.hear_send(16, 8 | MESSAGE_OLDEST, 0);
  CHECK(node.event(0, 15) == 17);
  node.pass(1);
  CHECK(node.registers[EXRNIC_REG_DEV_TIMER] == 0);
}

// ---- Bells and opening

TEST_CASE("a bell that names more than there can be is counted, and does nothing") {
  Node node;
  node.send(0, kPeer, 0x3000, 8);
  node.ring(0, 17);
  node.ring(1, 1);
  node.ring(0, 2);  // begins the first, and finds that the second is not there
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_SEND).size() == 1);
  CHECK(node.status(4) == 3);
  node.bells.push_back({kPage + 1, 0, 5});
  channels_bells();
  CHECK(node.status(4) == 3);
}

TEST_CASE("a process that waits is woken by the next event, once, behind its bytes") {
  Node node;
  node.hear_send(0, 8 | MESSAGE_OLDEST, 0);  // short, by the straight way
  CHECK(node.raises.empty());
  node.arm(0, 2);
  CHECK(node.raises.empty());
  node.hear_send(1, 8, 0);
  CHECK(node.raises == std::vector<uint32_t>{1u << kChannel});
  node.hear_send(2, 8, 1);
  CHECK(node.raises.size() == 1);
  SECTION("a message by the way for all") {
    node.arm(3, 4);
    node.hear_send(7, 1000 | MESSAGE_OLDEST, 0);
    CHECK(node.raises.size() == 1);  // a slot is granted: there is no event yet
    node.hear(EXRNIC_FW_MESSAGE_KIND_DONE, {7, kPeerIncarnation});
    CHECK(node.raises.size() == 2);
  }
  SECTION("a failure, and a reduction") {
    node.arm(3, 4);
    node.send(0, EXRNIC_CHANNEL_NODES, 0, 8);
    node.arm(3, 4, 1);
    CHECK(node.raises.size() == 2);
    node.send(1, EXRNIC_CHANNEL_NODES, 0, 8);
    node.ring(4, 2);
    CHECK(node.raises.size() == 2);
  }
}

TEST_CASE("a process that waits for what is there already is woken at once, and once for it") {
  Node node;
  node.hear_send(0, 8 | MESSAGE_OLDEST, 0);
  node.arm(0, 1);
  CHECK(node.raises.size() == 1);
  node.arm(0, 1);
  node.arm(1, 1, 0);
  CHECK(node.raises.size() == 1);
  node.arm(1, 2);  // what it waits for next
  CHECK(node.raises.size() == 1);
  node.hear_send(1, 8, 0);
  CHECK(node.raises.size() == 2);
}

TEST_CASE("a bell behind that which armed takes nothing away, nor does it wake again") {
  Node node;
  node.bells.push_back({kPage, Node::armed(0, 1), 0});
  channels_bells();
  node.ring(0, 0);
  node.hear_send(0, 8 | MESSAGE_OLDEST, 0);
  CHECK(node.raises.size() == 1);
  for (uint32_t id = 0; id < 4; ++id) node.arm(0, 1);
  CHECK(node.raises.size() == 1);
}

TEST_CASE("numbers of bells wrap, of events taken as of those that are awaited") {
  Node node;
  uint32_t events = 0xfffffff0;
  node.region[kBase + 4] = node.region[kBase + 8] = events;
  for (uint32_t i = 0; i < 16; ++i) node.region[kBase + kEvents + 64 * i + 60] = events - 15 + i;
  channels_start();
  REQUIRE(channel_open(open_words().data()) == EXRNIC_FW_STATUS_OK);
  node.raises.clear();
  for (uint32_t id = 0; id < 0x10100; ++id) {
    node.arm(events, events + 1);
    const bool early = node.raises.size() != id;
    node.hear_send(id, id == 0 ? 8 | MESSAGE_OLDEST : 8, id - 1);
    ++events;
    if (early || node.raises.size() != id + 1) FAIL("message " << id << (early ? " early" : ""));
    node.commands.clear();
  }
  CHECK(node.status(4) == 0);
}

TEST_CASE("a bell that waits for more than there is room for is counted, and does nothing") {
  Node node;
  node.arm(0, 17);
  CHECK(node.status(4) == 1);
  node.arm(0, 0x3fff);
  CHECK(node.status(4) == 2);
  node.arm(0, 3);
  node.arm(0, 1);  // it has thought better
  CHECK(node.status(4) == 2);
  node.hear_send(0, 8 | MESSAGE_OLDEST, 0);
  CHECK(node.raises.size() == 1);
}

TEST_CASE(
    "firmware that comes anew wakes a process, which waits anew; a new channel wakes nobody") {
  Node node;
  CHECK(node.raises.empty());
  node.arm(0, 1);
  channels_start();
  REQUIRE(channel_open(open_words().data()) == EXRNIC_FW_STATUS_OK);
  CHECK(node.raises == std::vector<uint32_t>{1u << kChannel});
  node.arm(0, 1);
  CHECK(node.raises.size() == 1);
  node.hear_send(0, 8 | MESSAGE_OLDEST, 0);
  CHECK(node.raises.size() == 2);
  node.arm(1, 2);
  REQUIRE(channel_close(kChannel) == EXRNIC_FW_STATUS_OK);
  node.hear_send(1, 8, 0);
  CHECK(node.raises.size() == 2);
}

TEST_CASE("firmware that comes anew goes on where the old one was, and knows what was delivered") {
  Node node;
  node.send(0, kPeer, 0x3000, 8);
  node.ring(0, 1);
  node.hear(EXRNIC_FW_MESSAGE_KIND_ACK, {0, kIncarnation, 0});
  node.hear_send(7, 8 | MESSAGE_OLDEST, 0);
  node.send(1, kPeer, 0x3000, 8);
  channels_start();
  REQUIRE(channel_open(open_words().data()) == EXRNIC_FW_STATUS_OK);
  CHECK(node.status(3) == 2);
  node.commands.clear();
  node.ring(0, 2);
  REQUIRE(node.left(EXRNIC_FW_MESSAGE_KIND_SEND).size() == 1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_SEND)[0][MESSAGE_ID] == 1);
  node.hear_send(7, 8 | MESSAGE_OLDEST, 0);
  CHECK(node.events() == 1);
  node.hear_send(8, 8, 7);
  CHECK(node.events() == 2);
}

TEST_CASE("firmware that comes anew goes on behind the last event, however many there were") {
  Node node;
  for (uint32_t id = 0; id < 40; ++id) {  // and no work of its own, which would write the status
    node.hear_send(id, id == 0 ? 8 | MESSAGE_OLDEST : 8, id - 1);
    node.ring(id + 1, 0);
  }
  node.hear_send(40, 8, 39);
  REQUIRE(node.event(8, 15) == 41);
  channels_start();
  REQUIRE(channel_open(open_words().data()) == EXRNIC_FW_STATUS_OK);
  CHECK(node.status(1) == 41);
  node.ring(40, 0);
  CHECK(node.status(4) == 0);
  node.hear_send(40, 8, 39);  // again: it was delivered
  CHECK(node.event(9, 15) != 42);
  node.hear_send(41, 8, 40);
  CHECK(node.event(9, 15) == 42);
  for (uint32_t i = 0; i < 16; ++i) node.region[kBase + kEvents + 64 * i + 60] = 0x90000001 + i;
  channels_start();
  REQUIRE(channel_open(open_words().data()) == EXRNIC_FW_STATUS_OK);
  CHECK(node.status(1) == 0x90000010);
}

TEST_CASE("a slot is given once, whatever the process has written into events before a restart") {
  Node node;
  for (uint32_t index = 0; index < 16; ++index) {
    const uint64_t head = kBase + kEvents + 64 * index + 32;
    node.region[head] = EXRNIC_CHANNEL_EVENT_KIND_MESSAGE | 200u << 16;
    node.region[head + 8] = index % 4 == 3 ? 0x100 : 0;  // all the same slot, or none
    node.region[head + 28] = index + 1;
  }
  node.region[kBase + 4] = 16;
  channels_start();
  REQUIRE(channel_open(open_words().data()) == EXRNIC_FW_STATUS_OK);
  node.pass(QUIET_NS);
  for (uint32_t i = 0; i < 16; ++i) {
    node.ring(i + 1, 0);
    node.hear_send(0, 1000 | MESSAGE_OLDEST, 0, i);
  }
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_GRANT).size() == 3);  // as many as there are
}

TEST_CASE("firmware that comes anew grants no slot while bytes for the old one may be under way") {
  Node node;
  channels_start();
  REQUIRE(channel_open(open_words().data()) == EXRNIC_FW_STATUS_OK);
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0);
  node.pass(QUIET_NS - 1);
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_GRANT).empty());
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_WAKE).empty());
  node.pass(1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_WAKE).size() == 1);
  node.hear_send(0, 1000 | MESSAGE_OLDEST, 0);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_GRANT).size() == 1);
}

TEST_CASE("bytes do not leave for a slot that was asked for long ago: it is asked for again") {
  Node node;
  node.send(0, kPeer, 0x3000, 100);
  node.ring(0, 1);
  const uint32_t attempt = node.attempt();
  node.time_ns += EXRNIC_CHANNEL_MOVE_NS + 1;
  node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {0, kIncarnation, 1, 0, 0}, attempt);
  CHECK(node.data().empty());
  node.pass(1);
  CHECK(node.attempt() == attempt + 1);
  node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {0, kIncarnation, 1, 0, 0}, attempt + 1);
  CHECK(node.data().size() == 1);
}

TEST_CASE("messages for a channel that is not open, and kinds that nobody knows, do nothing") {
  Node node;
  node.hear(static_cast<enum exrnic_fw_message_kind>(99), {});
  REQUIRE(channel_close(kChannel) == EXRNIC_FW_STATUS_OK);
  node.hear_send(0, 8 | MESSAGE_OLDEST, 0);
  CHECK(node.commands.empty());
  CHECK(channel_close(kChannel) == EXRNIC_FW_STATUS_BAD_STATE);
  CHECK(channel_close(EXRNIC_FW_CHANNELS) == EXRNIC_FW_STATUS_BAD_STATE);
}

TEST_CASE("a channel is opened once, of sizes in range, in memory that is granted") {
  Node node;
  CHECK(channel_open(open_words().data()) == EXRNIC_FW_STATUS_BAD_STATE);
  auto words = open_words();
  words[0] = 0;  // another channel, the same page
  CHECK(channel_open(words.data()) == EXRNIC_FW_STATUS_BAD_STATE);
  const std::pair<uint32_t, uint32_t> bad[] = {{0, EXRNIC_FW_CHANNELS},
                                               {1, EXRNIC_USER_PAGES},
                                               {3, 0},
                                               {4, 8},
                                               {6, 4},
                                               {7, 32},
                                               {8, EXRNIC_CHANNEL_RING_LOG_MIN - 1},
                                               {9, 32},
                                               {10, EXRNIC_CHANNEL_RING_LOG_MAX + 1},
                                               {12, EXRNIC_CHANNEL_SLOT_MIN - 1},
                                               {13, 0},
                                               {13, EXRNIC_CHANNEL_SLOTS_MAX + 1}};
  for (const auto& [word, value] : bad) {
    INFO("word " << word << " is " << value);
    words = open_words();
    words[0] = 0;
    words[1] = kPage + 1;
    words[word] = value;
    CHECK(channel_open(words.data()) == EXRNIC_FW_STATUS_BAD_PARAMETER);
  }
  words = open_words();
  words[0] = 0;
  words[1] = kPage + 1;
  node.judge = [](const Direct&) { return EXRNIC_FW_DIRECT_STATUS_ACCESS; };
  CHECK(channel_open(words.data()) == EXRNIC_FW_STATUS_BAD_PARAMETER);
}

TEST_CASE("a message to a node that the core does not know ends as malformed, at once") {
  const bool by_block = GENERATE(false, true);
  Node node;
  node.judge = [](const Direct& command) {
    const bool refused =
        command.op == EXRNIC_FW_DIRECT_SEND_MESSAGE && command[EXRNIC_FW_SEND_WORD_NODE] == kPeer;
    return refused ? EXRNIC_FW_DIRECT_STATUS_REFUSED : EXRNIC_FW_DIRECT_STATUS_OK;
  };
  if (by_block) {
    node.store_block(0, Node::send_words(kPeer, 0, 4), 1);
    node.serve();
  } else {
    node.send(0, kPeer, 0x3000, 500);
    node.ring(0, 1);
  }
  REQUIRE(node.events() == 1);
  CHECK((node.event(0, 8) & 0xffff) ==
        (EXRNIC_CHANNEL_EVENT_KIND_FAILURE | EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED << 8));
  CHECK(node.event(0, 14) == 0);
  node.send(1, kPeer + 1, 0x3000, 8);
  node.ring(0, 2);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_SEND).back()[EXRNIC_FW_SEND_WORD_NODE] == kPeer + 1);
  CHECK(node.events() == 1);
}

// ---- Reductions

constexpr uint32_t kGroup = 6, kSet = 0x3000;

void reduce(Node& node, uint32_t id, uint32_t set, uint32_t round, uint32_t value,
            uint32_t operation = EXRNIC_CHANNEL_OPERATION_SUM) {
  node.region[kBase + kSet] = set;
  node.work(id, {EXRNIC_CHANNEL_OPCODE_REDUCE | operation << 8 | kGroup << 16, 0, kSet, 0, value, 0,
                 round, 0});
  node.ring(0, id + 1);
}
// Of that life of its sender's channel, which knows that of ours.
void hear_part(Node& node, uint32_t round, uint32_t step, uint32_t value, uint32_t from,
               enum exrnic_fw_message_kind kind = EXRNIC_FW_MESSAGE_KIND_PART,
               uint32_t life = kPeerIncarnation, uint32_t known = kIncarnation) {
  node.hear(kind, {round, life, step << 8, 0, value, known}, kGroup, from);
}
// Parts and questions that have left for the peer since the last time.
std::vector<Direct> left_to_peer(Node& node, uint32_t kind) {
  const std::vector<Direct> found = node.left(kind);
  for (const Direct& message : found) CHECK(message[EXRNIC_FW_SEND_WORD_NODE] == kPeer);
  node.commands.clear();
  return found;
}

TEST_CASE("a node whose GRANTs come late delays repetitions to itself alone") {
  Node node;
  // Steps of a quarter of RETRY_NS until it asks again.
  const auto steps = [&](enum exrnic_fw_message_kind kind) {
    const size_t asked = node.left(kind).size();
    int passed = 0;
    for (; node.left(kind).size() == asked && passed < 100; ++passed) node.pass(RETRY_NS / 4);
    return passed;
  };
  node.send(0, kPeer, 0x3000, 100);
  node.ring(0, 1);
  for (int i = 0; i < 4; ++i) steps(EXRNIC_FW_MESSAGE_KIND_SEND);
  for (int i = 0; i < 20; ++i) node.pass(RETRY_NS / 4);
  node.hear(EXRNIC_FW_MESSAGE_KIND_GRANT, {0, kIncarnation, 1, 0, 0}, node.attempt());
  node.hear(EXRNIC_FW_MESSAGE_KIND_ACK, {0, kIncarnation, 0});
  node.send(1, kPeer, 0x3000, 100);
  node.ring(0, 2);
  CHECK(steps(EXRNIC_FW_MESSAGE_KIND_SEND) >= 4 * 10);
  const uint32_t length = GENERATE(100, 8);
  node.send(2, kPeer + 1, 0x3000, length);
  node.ring(0, 3);
  CHECK(steps(EXRNIC_FW_MESSAGE_KIND_SEND) <= 5);
  reduce(node, 3, 0b110, 0, 10);
  CHECK(steps(EXRNIC_FW_MESSAGE_KIND_ASK) <= 5);
}

TEST_CASE("two nodes exchange their values, and each has the sum") {
  Node node;
  reduce(node, 0, 0b110, 5, 10);
  const auto parts = node.left(EXRNIC_FW_MESSAGE_KIND_PART);
  REQUIRE(parts.size() == 1);
  CHECK(parts[0][EXRNIC_FW_SEND_WORD_NODE] == 2);
  CHECK(parts[0].wide(MESSAGE_HIGH) == 10);
  hear_part(node, 5, 1, 7, 3);  // not of the set
  hear_part(node, 6, 1, 9, 2);  // of the next round
  CHECK(node.events() == 0);
  hear_part(node, 5, 1, 7, 2);
  REQUIRE(node.events() == 1);
  CHECK(node.event(0, 12) == 17);
  CHECK(node.event(0, 14) == 5);
  reduce(node, 1, 0b110, 6, 1);
  CHECK(node.event(1, 12) == 10);
}

TEST_CASE("a reduction with a node that the core does not know ends as malformed, at once") {
  Node node;
  node.judge = [](const Direct& command) {
    return command.op == EXRNIC_FW_DIRECT_SEND_MESSAGE ? EXRNIC_FW_DIRECT_STATUS_REFUSED
                                                       : EXRNIC_FW_DIRECT_STATUS_OK;
  };
  reduce(node, 0, 0b110, 5, 10);
  REQUIRE(node.events() == 1);
  CHECK((node.event(0, 8) & 0xffff) ==
        (EXRNIC_CHANNEL_EVENT_KIND_FAILURE | EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED << 8));
}

TEST_CASE(
    "a part that comes before the work waits for it, but only of the node that it is due from") {
  Node node;
  hear_part(node, 0, 1, 7, 3);
  reduce(node, 0, 0b110, 0, 10);
  CHECK(node.events() == 0);
  hear_part(node, 0, 1, 7, 2);  // and the other does not keep it out
  CHECK(node.events() == 1);
  Node other;
  hear_part(other, 0, 1, 7, 2);
  reduce(other, 0, 0b110, 0, 10);
  CHECK(other.events() == 1);
}

TEST_CASE("of a reduction of any round the peer is asked for its part of that round") {
  for (const uint32_t round : {0u, 7u}) {
    CAPTURE(round);
    Node node;
    reduce(node, 0, 0b110, round, 10);
    node.commands.clear();
    node.pass(4 * RETRY_NS);
    const auto asks = left_to_peer(node, EXRNIC_FW_MESSAGE_KIND_ASK);
    REQUIRE_FALSE(asks.empty());
    CHECK(asks[0][MESSAGE_ID] == round);
    hear_part(node, round, 1, 7, kPeer);
    REQUIRE(node.events() == 1);
    CHECK(node.event(0, 12) == 17);
  }
}

TEST_CASE("each operation does what it says") {
  const uint32_t a = 0x8000'000c, b = 0x7000'000a;
  const std::pair<uint32_t, uint64_t> cases[] = {
      {EXRNIC_CHANNEL_OPERATION_NOTHING, 0},  {EXRNIC_CHANNEL_OPERATION_SUM, uint64_t{a} + b},
      {EXRNIC_CHANNEL_OPERATION_LEAST, b},    {EXRNIC_CHANNEL_OPERATION_MOST, a},
      {EXRNIC_CHANNEL_OPERATION_BOTH, a & b}, {EXRNIC_CHANNEL_OPERATION_ANY, a | b},
      {EXRNIC_CHANNEL_OPERATION_ODD, a ^ b}};
  Node node;
  uint32_t round = 0;
  for (const auto& [operation, expected] : cases) {
    INFO("operation " << operation);
    reduce(node, round, 0b110, round, a, operation);
    hear_part(node, round, 1, b, 2);
    CHECK(node.event(round, 12) == static_cast<uint32_t>(expected));
    CHECK(node.event(round, 13) == expected >> 32);
    ++round;
  }
}

TEST_CASE("a round that nobody can be at does not keep our own work out") {
  Node node;
  hear_part(node, 1000, 1, 7, 2);
  reduce(node, 0, 0b110, 0, 10);
  CHECK(node.events() == 0);
  hear_part(node, 0, 1, 7, 2);
  REQUIRE(node.events() == 1);
  CHECK(node.event(0, 12) == 17);
}

TEST_CASE("of three nodes the third gives its value first, and gets the result last") {
  Node node;  // is the second of 0, 1, 2: exchanges with the first alone
  reduce(node, 0, 0b111, 0, 10);
  hear_part(node, 0, 1, 5, 0);
  CHECK(node.event(0, 12) == 15);
  Node third;
  third.registers[EXRNIC_REG_DEV_NODE] = 2 << 16 | 1024;
  reduce(third, 0, 0b111, 0, 10);
  REQUIRE(third.left(EXRNIC_FW_MESSAGE_KIND_PART).size() == 1);
  CHECK(third.left(EXRNIC_FW_MESSAGE_KIND_PART)[0][EXRNIC_FW_SEND_WORD_NODE] == 0);
  hear_part(third, 0, 2, 99, 0);
  CHECK(third.event(0, 12) == 99);
}

TEST_CASE(
    "who waits for a part asks for it; who has sent it sends it again, also when all is over") {
  Node node;
  reduce(node, 0, 0b110, 0, 10);
  node.pass(RETRY_NS);
  const auto asks = node.left(EXRNIC_FW_MESSAGE_KIND_ASK);
  REQUIRE(asks.size() == 1);
  CHECK(asks[0][MESSAGE_ARGUMENT] >> 8 == 1);
  hear_part(node, 0, 1, 7, 2);
  node.commands.clear();
  hear_part(node, 0, 1, 0, 2, EXRNIC_FW_MESSAGE_KIND_ASK);
  REQUIRE(node.left(EXRNIC_FW_MESSAGE_KIND_PART).size() == 1);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_PART)[0].wide(MESSAGE_HIGH) == 10);
  node.commands.clear();
  hear_part(node, 0, 1, 0, 3, EXRNIC_FW_MESSAGE_KIND_ASK);
  hear_part(node, 0, EXRNIC_CHANNEL_STEPS, 0, 2, EXRNIC_FW_MESSAGE_KIND_ASK);
  hear_part(node, 0, EXRNIC_CHANNEL_STEPS, 0, 2);
  hear_part(node, 4, 1, 0, 2, EXRNIC_FW_MESSAGE_KIND_ASK);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_PART).empty());
}

TEST_CASE(
    "a reduction that is none, or of others, fails; more groups than there is room for rest") {
  Node node;
  reduce(node, 0, 0b100, 0, 1);
  reduce(node, 1, 0b110, 0, 1, EXRNIC_CHANNEL_OPERATION_ODD + 1);
  CHECK(node.events() == 2);
  CHECK((node.event(1, 8) & 0xff) == EXRNIC_CHANNEL_EVENT_KIND_FAILURE);
  for (uint32_t group = 20; group < 40; ++group)
    node.hear(EXRNIC_FW_MESSAGE_KIND_PART, {0, 0, 1 << 8, 0, 1, kIncarnation}, group);
  reduce(node, 2, 0b010, 0, 8);  // over itself alone
  REQUIRE(node.events() == 3);
  CHECK(node.event(2, 12) == 8);
}

TEST_CASE("groups that only others have named displace none of our own, nor its kept parts") {
  Node node;
  reduce(node, 0, 0b110, 0, 10);
  hear_part(node, 0, 1, 7, 2);
  REQUIRE(node.events() == 1);
  for (uint32_t group = 20; group < 40; ++group)
    node.hear(EXRNIC_FW_MESSAGE_KIND_PART, {0, 0, 1 << 8, 0, 1, kIncarnation}, group, kHostile);
  for (uint32_t id = 1; id < 4; ++id)  // groups of our own find a place all the same
    node.work(id, {EXRNIC_CHANNEL_OPCODE_REDUCE | (kGroup + id) << 16, 0, kSet, 0, 1, 0, 0, 0});
  node.region[kBase + kSet] = 0b010;
  node.ring(1, 4);
  CHECK(node.events() == 4);
  node.commands.clear();
  hear_part(node, 0, 1, 0, 2, EXRNIC_FW_MESSAGE_KIND_ASK);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_PART).size() == 1);
}

TEST_CASE("groups of one channel, however many are at work, leave those of another their places") {
  Node node;
  auto words = open_words();
  words[0] = kChannel - 1;
  words[1] = kPage + 1;
  words[5] = 8;  // elsewhere in memory
  REQUIRE(channel_open(words.data()) == EXRNIC_FW_STATUS_OK);
  const uint64_t other = uint64_t{8} << 32;
  node.region[other + kSet] = 0b110;
  for (uint32_t id = 0; id < 8; ++id) {
    node.region[other + kWork + 64 * id] = EXRNIC_CHANNEL_OPCODE_REDUCE | (20 + id) << 16;
    node.region[other + kWork + 64 * id + 4] = id;
    node.region[other + kWork + 64 * id + 8] = kSet;
  }
  node.bells.push_back({kPage + 1, 0, 8});
  node.serve();  // eight that wait for their peer
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_PART).size() == 8);
  node.commands.clear();
  reduce(node, 0, 0b110, 0, 10);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_PART).size() == 1);
  hear_part(node, 0, 1, 7, 2);
  CHECK(node.events() == 1);
}

TEST_CASE("a node that was of a group before, in the same place, says nothing in the next one") {
  Node node;
  reduce(node, 0, 0xff, 0, 10);  // of eight: the last exchange is with node 5
  for (const auto& [step, peer] : {std::pair{1u, 0u}, {2u, 3u}, {3u, 5u}})
    hear_part(node, 0, step, 1, peer);
  REQUIRE(node.events() == 1);
  node.region[kBase + kSet] = 0b110;
  for (uint32_t id = 1; id <= 16; ++id) {  // in all places
    node.region[kBase + kSet] = id < 9 ? 0b010 : 0b110;
    node.work(id % 16, {EXRNIC_CHANNEL_OPCODE_REDUCE | (40 + id) << 16, 0, kSet, 0, 1, 0, 0, 0});
    node.region[kBase + kWork + 64 * (id % 16) + 4] = id;
    node.ring(id, id + 1);
    if (id < 9) continue;
    node.hear(EXRNIC_FW_MESSAGE_KIND_PART, {0, 0, 1 << 8, 0, 1, kIncarnation}, 40 + id, 2);
    node.hear(EXRNIC_FW_MESSAGE_KIND_PART, {2, 0, 3 << 8, 0, 1, kIncarnation}, 40 + id, 5);
    node.commands.clear();
    node.hear(EXRNIC_FW_MESSAGE_KIND_ASK, {0, 0, 1 << 8, 0, 0}, 40 + id, 2);
    CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_PART).size() == 1);
  }
}

TEST_CASE("a part of who does not know our life counts for nothing, and its sender is asked") {
  for (const uint32_t known : {0u, kIncarnation - 1}) {
    Node node;
    const auto hear_from_before = [&] {
      hear_part(node, 0, 1, 7, kPeer, EXRNIC_FW_MESSAGE_KIND_PART, kPeerIncarnation, known);
      const auto asks = left_to_peer(node, EXRNIC_FW_MESSAGE_KIND_ASK);
      REQUIRE(asks.size() == 1);
      CHECK(asks[0][MESSAGE_INCARNATION] == kIncarnation);
      CHECK(asks[0][MESSAGE_ID] == 0);
      CHECK(asks[0][MESSAGE_ARGUMENT] == 1 << 8);
      CHECK(node.events() == 0);
    };
    hear_from_before();  // before our work
    reduce(node, 0, 0b110, 0, 10);
    const auto parts = left_to_peer(node, EXRNIC_FW_MESSAGE_KIND_PART);
    REQUIRE(parts.size() == 1);
    CHECK(parts[0][MESSAGE_INCARNATION] == kIncarnation);
    CHECK(parts[0][MESSAGE_DATA] == 0);
    hear_from_before();  // and behind it
    hear_part(node, 0, 1, 0, kPeer, EXRNIC_FW_MESSAGE_KIND_ASK);
    const auto again = left_to_peer(node, EXRNIC_FW_MESSAGE_KIND_PART);
    REQUIRE(again.size() == 1);
    CHECK(again[0][MESSAGE_DATA] == kPeerIncarnation);
    hear_part(node, 0, 1, 7, kPeer);
    REQUIRE(node.events() == 1);
    CHECK(node.event(0, 12) == 17);
  }
}

TEST_CASE("a part of a node's earlier life counts no more when the later one is heard of") {
  constexpr uint32_t kLater = kPeerIncarnation + 1;
  for (const bool by_ask : {false, true}) {
    Node node;
    reduce(node, 0, 0b110, 0, 10);
    hear_part(node, 1, 1, 7, kPeer);  // of the round behind
    hear_part(node, 0, 1, 7, kPeer);
    REQUIRE(node.events() == 1);
    node.commands.clear();
    if (by_ask)
      hear_part(node, 1, 1, 0, kPeer, EXRNIC_FW_MESSAGE_KIND_ASK, kLater);
    else
      hear_part(node, 1, 1, 9, kPeer, EXRNIC_FW_MESSAGE_KIND_PART, kLater, 0);
    CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_ASK).size() == !by_ask);
    reduce(node, 1, 0b110, 1, 20);
    CHECK(node.events() == 1);
    CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_PART).back()[MESSAGE_DATA] == kLater);
    hear_part(node, 1, 1, 9, kPeer, EXRNIC_FW_MESSAGE_KIND_PART, kLater);
    REQUIRE(node.events() == 2);
    CHECK(node.event(1, 12) == 29);
  }
}

TEST_CASE("who took a part of a node's earlier life gives the later one none of that round") {
  constexpr uint32_t kLater = kPeerIncarnation + 1;
  Node node;  // is the second of 0, 1, 2, 3: exchanges with 0, then with 3
  reduce(node, 0, 0b1111, 0, 10);
  hear_part(node, 0, 1, 7, 0);
  node.commands.clear();
  const auto parts_for_later = [&] {
    node.commands.clear();
    hear_part(node, 0, 1, 0, 0, EXRNIC_FW_MESSAGE_KIND_ASK, kLater);
    return node.left(EXRNIC_FW_MESSAGE_KIND_PART).size();
  };
  hear_part(node, 0, 1, 0, 0, EXRNIC_FW_MESSAGE_KIND_ASK);
  CHECK(node.left(EXRNIC_FW_MESSAGE_KIND_PART).size() == 1);
  CHECK(parts_for_later() == 0);
  hear_part(node, 0, 2, 100, 3);
  REQUIRE(node.events() == 1);
  CHECK(node.event(0, 12) == 117);
  CHECK(parts_for_later() == 0);
  Node first;  // of 0, 1, 2 the first, which gives the third the result
  first.registers[EXRNIC_REG_DEV_NODE] = 0 << 16 | 1024;
  reduce(first, 0, 0b111, 0, 10);
  hear_part(first, 0, 0, 5, 2);
  hear_part(first, 0, 0, 0, 2, EXRNIC_FW_MESSAGE_KIND_PART, kLater, 0);
  first.commands.clear();
  hear_part(first, 0, 1, 7, 1);
  REQUIRE(first.events() == 1);
  CHECK(first.event(0, 12) == 22);
  CHECK(first.left(EXRNIC_FW_MESSAGE_KIND_PART).empty());
}

}  // namespace
}  // namespace exrnic::testing
