// SPDX-License-Identifier: BSD-2-Clause
// Message channels. Where the RNIC has no processor, they say so.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "collective_program.h"
#include "connection.h"
#include "exrnic/messages.h"

namespace exrnic {

namespace {

constexpr char kFirmwareState[] = "/sys/class/exrnic/exrnic0/firmware/state";
constexpr char kFirmwareLoad[] = "/sys/class/exrnic/exrnic0/firmware/load";
constexpr std::chrono::seconds kWait(60);
constexpr uint32_t kLongest = 5000;
constexpr uint32_t kShortTimeout = 500;  // us of simulated time, which passes slowly
constexpr unsigned kGroup = 300;
constexpr uint8_t kBoth[VL_MESSAGE_NODES / 8] = {0x3};

bool HasProcessor() {
  std::string state;
  std::ifstream(kFirmwareState) >> state;
  return state != "none";
}

vl_message_channel_attr Attr(uint32_t number = 2) { return {number, kLongest, 32, 8}; }

// One end of a check: a channel, and what the two agree on.
class End {
 public:
  explicit End(Bench* on)
      : side(*on),
        channel(CreateMessageChannel(side.rnic.get(), Attr())),
        bench(on),
        peer(on->requester()) {}

  // Of this work; both ends know them.
  static std::vector<uint8_t> Bytes(uint64_t seed, unsigned node, uint32_t id, uint32_t longest) {
    std::mt19937_64 random(seed + 1000003 * id + node);
    const uint64_t kind = random() % 4;
    const uint32_t most = kind == 0 ? VL_MESSAGE_SHORT : kind == 1 ? 100 : longest;
    std::vector<uint8_t> bytes(random() % (std::min(most, longest) + 1));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    return bytes;
  }

  bool TrySend(const std::vector<uint8_t>& bytes, uint32_t timeout_us = 0) {
    void* buffer = vl_message_buffer(channel.get());
    if (buffer == nullptr) return false;
    if (!bytes.empty()) memcpy(buffer, bytes.data(), bytes.size());
    const int result = vl_send_message(channel.get(), peer, static_cast<uint32_t>(bytes.size()),
                                       timeout_us, nullptr);
    bench->ExpectEqual(result, 0, "vl_send_message");
    return true;
  }
  vl_message Await(const char* what) { return AwaitMessage(channel.get(), what, kWait); }
  void AwaitEnded(uint32_t works) {
    const auto end = std::chrono::steady_clock::now() + kWait;
    while (vl_messages_ended(channel.get()) != works) {
      bench->Expect(!PollMessage(channel.get()), "an event that nobody expects");
      if (std::chrono::steady_clock::now() > end)
        throw std::runtime_error("waited in vain for messages to end");
    }
  }
  void Release(uint32_t count) {
    bench->ExpectEqual(vl_release_messages(channel.get(), count), 0, "vl_release_messages");
  }
  void Compare(const vl_message& message, const std::vector<uint8_t>& bytes, uint32_t id) {
    bench->ExpectEqual(message.kind, VL_MESSAGE_RECEIVED, "kind of a message");
    bench->ExpectEqual(message.source, peer, "source of a message");
    bench->ExpectEqual(message.id, id, "id of a message");
    bench->ExpectEqual(message.length, bytes.size(), "bytes of a message");
    bench->Expect(
        message.length == bytes.size() && message.data != nullptr &&
            std::equal(bytes.begin(), bytes.end(), static_cast<const uint8_t*>(message.data)),
        "message " + std::to_string(id) + " has other bytes");
  }

  Side side;
  Owned<vl_message_channel> channel;
  Bench* const bench;
  const unsigned peer;
};

// `between(i)`: before message i is sent.
template <typename Between>
void SendAndReceive(Bench* bench, uint32_t messages, uint32_t longest, uint32_t keep,
                    Between between) {
  End end(bench);
  const uint64_t seed = bench->NextSeed();
  const unsigned self = bench->requester() ? 0 : 1;
  bench->Meet();
  uint32_t sent = 0, received = 0, held = 0;
  auto limit = std::chrono::steady_clock::now() + kWait;
  while (received < messages || sent < messages) {
    if (sent < messages && end.TrySend(End::Bytes(seed, self, sent, longest))) between(++sent);
    if (const auto message = PollMessage(end.channel.get())) {
      end.Compare(*message, End::Bytes(seed, end.peer, received++, longest), message->id);
      bench->ExpectEqual(message->id, received - 1, "id of a message");
      if (++held > keep) end.Release(1), --held;
      limit = std::chrono::steady_clock::now() + kWait;
    }
    if (std::chrono::steady_clock::now() > limit)
      throw std::runtime_error("no message came; " + std::to_string(received) + " had");
  }
  end.Release(held);
  end.AwaitEnded(messages);
  bench->Meet();
}

void EveryLength(Bench* bench) {
  SendAndReceive(bench, 40, kLongest, 5, [](uint32_t) {});
}

// In the middle. Short ones: firmware that is new gives no places for 4 ms, which take long here;
// tests/firmware/firmware_channels_test.cc has those.
void Restart(Bench* bench) {
  constexpr uint32_t kMessages = 40;
  SendAndReceive(bench, kMessages, VL_MESSAGE_SHORT, 2, [bench](uint32_t sent) {
    if (sent != (bench->requester() ? kMessages / 2 : kMessages / 4)) return;
    std::ofstream load(kFirmwareLoad);
    load << "exrnic/firmware.bin" << std::flush;
    bench->Expect(load.good(), "firmware cannot be loaded");
  });
}

// More than its peer has room for, while that one takes none.
void FillPeer(Bench* bench) {
  End end(bench);
  const uint32_t room = Attr().receives;
  const std::vector<uint8_t> bytes(100, 7);
  bench->Meet();
  for (uint32_t i = 0; i < room; ++i) end.TrySend(bytes);
  end.AwaitEnded(room);
  end.TrySend(bytes, kShortTimeout);
  const vl_message failure = end.Await("the failure of a message that nobody takes");
  bench->ExpectEqual(failure.kind, VL_MESSAGE_FAILED, "kind of a failure");
  bench->ExpectEqual(failure.status, VL_MESSAGE_TIMEOUT, "status of a failure");
  bench->ExpectEqual(failure.id, room, "id of a failure");
  bench->ExpectEqual(failure.source, end.peer, "node of a failure");
  end.Release(1);
  bench->Meet();  // it takes them now
  end.TrySend(std::vector<uint8_t>(kLongest, 9));
  end.AwaitEnded(room + 2);
  bench->Meet();
}

void TakeLate(Bench* bench) {
  End end(bench);
  const uint32_t room = Attr().receives;
  bench->Meet();
  bench->Meet();
  for (uint32_t i = 0; i < room; ++i)
    end.Compare(end.Await("a message"), std::vector<uint8_t>(100, 7), i);
  end.Release(room);
  // The one that failed may have come nevertheless.
  vl_message last = end.Await("the last message");
  if (last.id == room) last = end.Await("the last message");
  end.Compare(last, std::vector<uint8_t>(kLongest, 9), room + 1);
  bench->Meet();
}

void SendTooLong(Bench* bench) {
  End end(bench);
  bench->Meet();
  bench->Expect(end.TrySend(std::vector<uint8_t>(kLongest)), "no buffer");
  const vl_message failure = end.Await("the failure of a message that is too long");
  bench->ExpectEqual(failure.status, VL_MESSAGE_TOO_LONG, "status of a failure");
  bench->Expect(end.TrySend(std::vector<uint8_t>(64, 3)), "no buffer");
  end.AwaitEnded(2);
  bench->Meet();
}

void HaveLittleRoom(Bench* bench) {
  Side side(*bench);
  const auto channel = CreateMessageChannel(side.rnic.get(), {Attr().number, 64, 1, 1});
  bench->Meet();
  bench->Meet();
  vl_message message;
  bench->ExpectEqual(vl_poll_message(channel.get(), &message), 1, "messages");
  bench->ExpectEqual(message.length, 64u, "bytes of a message");
}

// Each sleeps until it is the other's turn no more.
void SleepInTurn(Bench* bench) {
  constexpr uint32_t kTurns = 30;
  End end(bench);
  bench->Meet();
  for (uint32_t turn = 0; turn < kTurns; ++turn) {
    const std::vector<uint8_t> bytes(turn % 2 == 0 ? 8 : kLongest, static_cast<uint8_t>(turn));
    if (turn % 2 == end.peer) {
      bench->Expect(end.TrySend(bytes), "no buffer");
      continue;
    }
    bench->ExpectEqual(vl_await_message(end.channel.get(), 60000), 1, "events slept for");
    const auto message = PollMessage(end.channel.get());
    bench->Expect(message.has_value(), "who was woken finds no event");
    if (message) end.Compare(*message, bytes, turn / 2);
    end.Release(1);
  }
  bench->ExpectEqual(vl_await_message(end.channel.get(), 20), 0, "events that nobody sent");
  bench->Meet();
}

void Reduce(Bench* bench) {
  constexpr uint32_t kRounds = 21;
  End end(bench);
  std::mt19937_64 random(bench->NextSeed());
  bench->Meet();
  for (uint32_t round = 0; round < kRounds; ++round) {
    const auto operation = static_cast<vl_reduction>(round % (VL_REDUCE_XOR + 1));
    const uint64_t values[] = {random(), random()};
    bench->ExpectEqual(
        vl_reduce(end.channel.get(), kGroup, kBoth, round, operation, values[1 - end.peer], 0), 0,
        "vl_reduce");
    const vl_message result = end.Await("a reduction");
    bench->ExpectEqual(result.kind, VL_MESSAGE_REDUCED, "kind of a reduction");
    bench->ExpectEqual(result.source, kGroup, "group of a reduction");
    bench->ExpectEqual(result.id, round, "round of a reduction");
    bench->ExpectEqual(result.value, Combine(operation, values[0], values[1]), "a reduction");
    end.Release(1);
  }
  bench->Meet();
}

void ExpectCreateFails(Bench* bench, const Side& side, const vl_message_channel_attr& attr,
                       int error, const char* what) {
  errno = 0;
  bench->Expect(vl_create_message_channel(side.rnic.get(), &attr) == nullptr && errno == error,
                std::string(what) + ": " + strerror(errno));
}

void CallBadly(Bench* bench) {
  End end(bench);
  const vl_message_channel_attr good = Attr();
  vl_message_channel* channel = end.channel.get();
  ExpectCreateFails(bench, end.side, Attr(1), EBUSY, "a second channel");
  for (const vl_message_channel_attr& bad :
       {vl_message_channel_attr{VL_MESSAGE_CHANNELS, good.message_bytes, 1, 1},
        {1, VL_MESSAGE_BYTES_MAX + 1, 1, 1},
        {1, 1, 0, 1},
        {1, 1, VL_MESSAGE_SENDS_MAX + 1, 1},
        {1, 1, 1, 0},
        {1, 1, 1, VL_MESSAGE_RECEIVES_MAX + 1}}) {
    ExpectCreateFails(bench, end.side, bad, EINVAL, "an attribute out of range");
    bench->Expect(strstr(vl_error_text(), " is ") != nullptr, "the error does not say which");
  }
  const auto fails = [bench](int result, const char* what) {
    bench->Expect(result == -1 && errno == EINVAL, what);
  };
  fails(vl_send_message(channel, 0, kLongest + 1, 0, nullptr), "a message that is too long");
  fails(vl_send_message(channel, VL_MESSAGE_NODES, 0, 0, nullptr), "a message to node 256");
  fails(vl_reduce(channel, 65536, kBoth, 0, VL_REDUCE_SUM, 0, 0), "group 65536");
  fails(vl_reduce(channel, 1, kBoth, 0, static_cast<vl_reduction>(7), 0, 0), "operation 7");
  fails(vl_reduce(channel, 1, nullptr, 0, VL_REDUCE_SUM, 0, 0), "no nodes");
  fails(vl_release_messages(channel, 1), "a message that was not taken");
  bench->Expect(vl_close_rnic(end.side.rnic.get()) == -1 && errno == EBUSY,
                "an RNIC with a channel could be closed");
  // To itself: that is none of them, and the channel goes on.
  for (uint32_t i = 0; i < 2 * good.sends; ++i) {
    uint32_t id = 0;
    bench->ExpectEqual(vl_send_message(channel, 1 - end.peer, 0, 0, &id), 0, "vl_send_message");
    const vl_message own = end.Await("a message to itself");
    bench->ExpectEqual(own.kind, VL_MESSAGE_RECEIVED, "kind of a message to itself");
    bench->ExpectEqual(own.source, 1 - end.peer, "source of a message to itself");
    bench->ExpectEqual(own.id, id, "id of a message to itself");
    end.Release(1);
  }
  bench->Meet();
}

void TakeOther(Bench* bench) {
  End end(bench);
  Side other(*bench);
  ExpectCreateFails(bench, other, Attr(), EBUSY, "a channel of another process");
  bench->Meet();
}

void FindNone(Bench* bench) {
  Side side(*bench);
  ExpectCreateFails(bench, side, Attr(), EOPNOTSUPP, "a channel without a processor");
  bench->Meet();
}

GuestCheck Check(const char* sentence, void (*requester)(Bench*), void (*responder)(Bench*)) {
  GuestCheck check = {sentence, requester, responder};
  check.needs_rnic = true;
  check.needs_processor = true;
  return check;
}

}  // namespace

std::vector<GuestCheck> MessageChannelChecks() {
  if (!HasProcessor())
    return {Check("without a processor there is no message channel", FindNone, FindNone)};
  GuestCheck restart =
      Check("they do so when firmware is started again at both ends", Restart, Restart);
  restart.needs_kernel = true;  // which is told to
  GuestCheck other = Check("a message channel is one process's at a time", TakeOther, TakeOther);
  other.two_contexts = true;
  return {
      Check("messages of a channel arrive once each, in order, both ways at a time", EveryLength,
            EveryLength),
      restart,
      Check("a message that nobody takes fails when its time is over, and the next ones come",
            FillPeer, TakeLate),
      Check("a message that is too long for its receiver fails, and the next one comes",
            SendTooLong, HaveLittleRoom),
      Check("who sleeps for a message is woken when it is there", SleepInTurn, SleepInTurn),
      Check("reductions give both the same, round after round", Reduce, Reduce),
      Check("wrong uses of a message channel are refused, and harm nothing", CallBadly, CallBadly),
      other};
}

}  // namespace exrnic
