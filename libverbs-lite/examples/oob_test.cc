// SPDX-License-Identifier: BSD-2-Clause
#include "oob.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>
#include <thread>

namespace exrnic {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

OobFrame Sample() {
  OobFrame frame;
  frame.kind = OobKind::kData;
  frame.session = 0x11223344;
  frame.peer_session = 0x55667788;
  frame.sequence = 0x01020304;
  frame.type = 0x0a0b0c0d;
  frame.payload = {'a', 'b'};
  return frame;
}

// Patient, for machines under load; but what is lost is soon sent again.
OobLimits Limits() {
  OobLimits limits;
  limits.repeat = std::chrono::milliseconds(20);
  return limits;
}

// The other end, in a thread of its own. What it throws fails the test that joins it.
class Peer {
 public:
  template <typename Run>
  explicit Peer(Run run)
      : thread_([this, run] {
          try {
            run();
          } catch (const std::exception& error) {
            error_ = error.what();
          }
        }) {}
  ~Peer() {
    if (thread_.joinable()) thread_.join();
  }
  void Join() {
    thread_.join();
    CHECK(error_ == "");
  }

 private:
  std::string error_;
  std::thread thread_;
};

struct Ends {
  Ends() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0); }
  int fd[2];
};

// Passes bytes both ways between two sockets until one closes, damaging some.
void NoisyRelay(int left, int right, uint32_t seed, std::atomic<bool>* stop) {
  std::mt19937 random(seed);
  auto pass = [&](int from, int to) {
    uint8_t bytes[256];
    const ssize_t count = recv(from, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (count <= 0) return;
    if (random() % 4 == 0) bytes[random() % static_cast<size_t>(count)] ^= 1 << (random() % 8);
    const ssize_t drop = random() % 6 == 0 ? 1 : 0;
    (void)!send(to, bytes, static_cast<size_t>(count - drop), MSG_NOSIGNAL);
  };
  while (!*stop) {
    pass(left, right);
    pass(right, left);
    usleep(200);
  }
}

TEST_CASE("a frame has every field at its byte") {
  const std::vector<uint8_t> bytes = EncodeOobFrame(Sample());
  const std::vector<uint8_t> head = {'X',  'O',  'O',  'B',  0x01, 0x03, 0x02, 0x00, 0x44,
                                     0x33, 0x22, 0x11, 0x88, 0x77, 0x66, 0x55, 0x04, 0x03,
                                     0x02, 0x01, 0x0d, 0x0c, 0x0b, 0x0a, 'a',  'b'};
  REQUIRE(bytes.size() == head.size() + 4);
  CHECK(std::vector<uint8_t>(bytes.begin(), bytes.end() - 4) == head);
}

TEST_CASE("frames are found byte by byte, between noise, and behind damaged ones") {
  const std::vector<uint8_t> good = EncodeOobFrame(Sample());
  std::vector<uint8_t> damaged = good;
  damaged[20] ^= 1;
  std::vector<uint8_t> too_long = good;
  too_long[6] = 0xff;
  too_long[7] = 0xff;
  std::vector<uint8_t> stream;
  for (const std::vector<uint8_t>& part :
       {std::vector<uint8_t>{'b', 'o', 'o', 't', 'X', 'O', 'O', '\n', 0}, good, damaged, good,
        too_long, good, std::vector<uint8_t>{'X', 'X', 'O', 'O'}, good}) {
    stream.insert(stream.end(), part.begin(), part.end());
  }
  OobParser parser;
  int found = 0;
  for (uint8_t byte : stream) {
    parser.Add(&byte, 1);
    while (auto frame = parser.Next()) {
      CHECK(frame->payload == Sample().payload);
      CHECK(frame->sequence == Sample().sequence);
      ++found;
    }
  }
  CHECK(found == 4);
}

TEST_CASE("two ends meet and exchange messages over a line that damages and drops bytes") {
  const uint32_t seed = std::random_device()();
  INFO("seed " << seed);
  Ends left;
  Ends right;
  std::atomic<bool> stop{false};
  std::thread relay(NoisyRelay, left.fd[1], right.fd[0], seed, &stop);
  std::atomic<int> failures{0};
  std::atomic<int> finished{0};
  auto talk = [&](int fd, int delay_ms) {
    try {
      usleep(static_cast<useconds_t>(delay_ms) * 1000);
      Oob oob(fd, "test", Limits());
      oob.Connect();
      for (uint64_t i = 0; i < 50; ++i) failures += oob.Exchange<uint64_t>(7, i * 3) != i * 3;
      ++finished;
      // Still here for the last acknowledgement, which may be lost, until the line ends.
      try {
        oob.Receive(99);
      } catch (const std::exception&) {
      }
    } catch (const std::exception& error) {
      ++failures;
      ++finished;
    }
  };
  std::thread one(talk, left.fd[0], 0);
  std::thread two(talk, right.fd[1], 100);
  while (finished < 2) usleep(1000);  // each within its limits
  stop = true;
  relay.join();
  close(left.fd[1]);
  close(right.fd[0]);
  one.join();
  two.join();
  CHECK(failures == 0);
}

TEST_CASE("what an earlier program left on the line is ignored") {
  Ends ends;
  OobFrame stale = Sample();
  const std::vector<uint8_t> data = EncodeOobFrame(stale);
  stale.kind = OobKind::kAbort;
  const std::vector<uint8_t> abort = EncodeOobFrame(stale);
  REQUIRE(write(ends.fd[1], data.data(), data.size()) > 0);
  REQUIRE(write(ends.fd[1], abort.data(), abort.size()) > 0);
  Peer peer([&] {
    Oob oob(ends.fd[1], "test", Limits());
    oob.Connect();
    oob.Send(1, {5});
  });
  Oob oob(ends.fd[0], "test", Limits());
  oob.Connect();
  CHECK(oob.Receive(1) == std::vector<uint8_t>{5});
  peer.Join();
}

TEST_CASE("a peer that is not there, or is another program or version, is told in one line") {
  OobLimits limits = Limits();
  limits.connect = std::chrono::milliseconds(1000);
  Ends ends;
  Oob oob(ends.fd[0], "test", limits);
  SECTION("not there") {
    CHECK_THROWS_MATCHES(
        oob.Connect(), std::runtime_error,
        MessageMatches(ContainsSubstring("no peer on the out-of-band line within 1 s")));
  }
  SECTION("another program") {
    OobFrame frame = Sample();
    frame.kind = OobKind::kSyn;
    frame.payload = {'x'};
    const std::vector<uint8_t> bytes = EncodeOobFrame(frame);
    REQUIRE(write(ends.fd[1], bytes.data(), bytes.size()) > 0);
    CHECK_THROWS_MATCHES(oob.Connect(), std::runtime_error,
                         MessageMatches(ContainsSubstring("the peer runs \"x\"")));
  }
  SECTION("closed") {
    close(ends.fd[1]);
    ends.fd[1] = -1;
    CHECK_THROWS(oob.Connect());
  }
  if (ends.fd[1] >= 0) close(ends.fd[1]);
}

TEST_CASE("an end that gives up takes the other with it, and says why") {
  Ends ends;
  Peer peer([&] {
    Oob oob(ends.fd[1], "test", Limits());
    oob.Connect();
    oob.Abort("no RNIC here");
    usleep(100000);
  });
  Oob oob(ends.fd[0], "test", Limits());
  // It may learn so while it still connects.
  auto meet = [&] {
    oob.Connect();
    oob.Receive(1);
  };
  CHECK_THROWS_MATCHES(meet(), std::runtime_error,
                       MessageMatches(ContainsSubstring("the peer gave up: no RNIC here")));
  peer.Join();
}

TEST_CASE("a peer that died without a word and was started anew is noticed at once") {
  Ends ends;
  const int line = dup(ends.fd[1]);
  Peer peer([&] {
    Oob(ends.fd[1], "test", Limits()).Connect();
    OobFrame syn = Sample();
    syn.kind = OobKind::kSyn;
    syn.payload = {'t', 'e', 's', 't'};
    const std::vector<uint8_t> bytes = EncodeOobFrame(syn);
    (void)!write(line, bytes.data(), bytes.size());
  });
  Oob oob(ends.fd[0], "test", Limits());
  // It may learn so while it still connects.
  auto meet = [&] {
    oob.Connect();
    oob.Receive(1);
  };
  CHECK_THROWS_MATCHES(meet(), std::runtime_error,
                       MessageMatches(ContainsSubstring("the peer was started anew")));
  peer.Join();
  close(line);
}

TEST_CASE("a message of another type or length than due is refused") {
  Ends ends;
  Peer peer([&] {
    Oob oob(ends.fd[1], "test", Limits());
    oob.Connect();
    oob.Send(1, {1, 2, 3});
    oob.Send(2, {});
  });
  Oob oob(ends.fd[0], "test", Limits());
  oob.Connect();
  CHECK_THROWS(oob.ReceiveStruct<uint64_t>(1));
  CHECK_THROWS(oob.Receive(3));
  peer.Join();
}

TEST_CASE("who writes to a peer that gave up and left lives, and says what the peer said") {
  const bool says_why = GENERATE(true, false);
  Ends ends;
  std::atomic<bool> connected{false};
  Peer leaver([&] {
    Oob oob(ends.fd[1], "a program", Limits());
    oob.Connect();
    if (says_why) oob.Abort("out of paper");
    connected = true;
  });
  Oob oob(ends.fd[0], "a program", Limits());
  // It may learn so while it still connects.
  const auto meet = [&] {
    oob.Connect();
    while (!connected) std::this_thread::yield();
    oob.Send(1, {1, 2, 3});
  };
  CHECK_THROWS_MATCHES(meet(), std::runtime_error,
                       MessageMatches(ContainsSubstring(says_why ? "out of paper" : "closed")));
  leaver.Join();
}

}  // namespace
}  // namespace exrnic
