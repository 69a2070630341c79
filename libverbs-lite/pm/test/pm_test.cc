// SPDX-License-Identifier: BSD-2-Clause
// Messages, multicast, remote write and read, between nodes of exrnic-sim.
#include <atomic>
#include <catch2/catch_test_macros.hpp>

#include "pm_rig.h"

namespace exrnic {
namespace {

std::vector<std::string> NoErrors(int nodes) {
  return std::vector<std::string>(static_cast<size_t>(nodes));
}

// From node `from` to node `to`, number n.
std::vector<uint8_t> PmPattern(int from, int to, unsigned n, size_t bytes) {
  std::vector<uint8_t> pattern(bytes);
  for (size_t i = 0; i < bytes; ++i)
    pattern[i] =
        static_cast<uint8_t>(i * 7 + (i >> 8) + n * 13 + static_cast<size_t>(from * 5 + to));
  return pattern;
}

// Each node sends each other one `count` messages of growing lengths, and takes theirs meanwhile.
void ExchangeAll(pm_context* context, int self, unsigned count) {
  int nodes = 0;
  PmRequire(pmGetNodes(context, &nodes) == 0, "nodes");
  const auto length = [](unsigned n) { return n * 397 % (PM_MESSAGE_MAX + 1); };
  std::vector<unsigned> sent(static_cast<size_t>(nodes)), received(sent);
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  for (bool done = false; !done;) {
    PmRequire(std::chrono::steady_clock::now() < end, "too slow");
    done = true;
    for (int node = 0; node < nodes; ++node) {
      unsigned* const n = &sent[static_cast<size_t>(node)];
      if (node == self || *n == count) continue;
      done = false;
      void* buffer;
      const int error = pmGetSendBuffer(context, node, &buffer, length(*n));
      if (error == ENOBUFS) continue;
      PmRequire(error == 0, "get");
      const auto bytes = PmPattern(self, node, *n, length(*n));
      if (!bytes.empty()) memcpy(buffer, bytes.data(), bytes.size());
      PmRequire(pmSend(context) == 0, "send");
      ++*n;
    }
    void* buffer;
    size_t bytes;
    int from;
    int error;
    while ((error = pmReceiveFrom(context, &buffer, &bytes, &from)) == 0) {
      const unsigned n = received[static_cast<size_t>(from)]++;
      const auto expected = PmPattern(from, self, n, length(n));
      PmRequire(bytes == expected.size() &&
                    std::equal(expected.begin(), expected.end(), static_cast<uint8_t*>(buffer)),
                "message " + std::to_string(n) + " of " + std::to_string(from));
      PmRequire(pmReleaseReceiveBuffer(context) == 0, "release");
    }
    PmRequire(error == ENOBUFS, "receive");
    // Many threads poll here on few processors, one of which the simulator needs.
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    for (int node = 0; node < nodes; ++node)
      done = done && (node == self || received[static_cast<size_t>(node)] == count);
  }
}

TEST_CASE("messages of 0 to 8192 bytes among four nodes arrive once, whole and in order") {
  PmRig rig(4);
  CHECK(rig.Run([](pm_context* context, int self) { ExchangeAll(context, self, 150); }) ==
        NoErrors(4));
}

TEST_CASE("messages arrive on the RTL") {
  PmRig rig(2, "rtl");
  CHECK(rig.Run([](pm_context* context, int self) { ExchangeAll(context, self, 40); }) ==
        NoErrors(2));
}

TEST_CASE("many nodes share the places that a few have, and messages arrive as well") {
  PmRig rig(12);
  CHECK(rig.Run([](pm_context* context, int self) { ExchangeAll(context, self, 30); }) ==
        NoErrors(12));
}

TEST_CASE("without a place there is ENOBUFS, until the receiver releases one") {
  PmRig rig(2);
  CHECK(rig.Run([](pm_context* context, int self) {
    if (self == 1) {
      PmRequire(PmReceiveValue<int>(context) == -1, "the first");
      PmSendBytes(context, 0, PmBytesOf(-1));  // all were sent: now they are taken
      for (int i = 0; i < PM_SLOTS_OF_NODE + 5; ++i)
        PmRequire(PmReceiveValue<int>(context) == i, "order");
      return;
    }
    PmSendBytes(context, 1, PmBytesOf(-1));
    PmRequire(PmReceiveValue<int>(context) == -1, "the answer");
    void* buffer;
    int sent = 0;
    // It takes none before it has got some.
    while (pmGetSendBuffer(context, 1, &buffer, sizeof(int)) == 0) {
      memcpy(buffer, &sent, sizeof(sent));
      PmRequire(pmSend(context) == 0, "send");
      if (++sent == PM_SLOTS_OF_NODE + 5) break;
    }
    for (; sent < PM_SLOTS_OF_NODE + 5; ++sent) PmSendBytes(context, 1, PmBytesOf(sent));
  }) == NoErrors(2));
}

TEST_CASE(
    "a receiver that takes nothing gives its sender no more than its places, and ENOBUFS then") {
  PmRig rig(2);
  std::atomic<bool> full{false};
  CHECK(rig.Run([&](pm_context* context, int self) {
    void* buffer;
    size_t length;
    PmRequire(self == 1 || pmReceive(context, &buffer, &length) == ENOBUFS, "nothing came");
    if (self == 1) {
      while (!full) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      for (int i = 0; i < PM_SLOTS_OF_NODE; ++i)
        PmRequire(PmReceiveValue<int>(context) == i, "order");
      return;
    }
    for (int i = 0; i < PM_SLOTS_OF_NODE; ++i) PmSendBytes(context, 1, PmBytesOf(i));
    for (int i = 0; i < 1000; ++i)
      PmRequire(pmGetSendBuffer(context, 1, &buffer, 4) == ENOBUFS, "a place too many");
    full = true;
    PmRequire(Again([&] { return pmGetSendBuffer(context, 1, &buffer, 4); }) == 0, "a place");
  }) == NoErrors(2));
}

TEST_CASE("one multicast buffer reaches all nodes that it names, and no other") {
  PmRig rig(4);
  CHECK(rig.Run([](pm_context* context, int self) {
    for (const size_t bytes : {size_t{3}, size_t{8192}}) {
      if (self == 0) {
        const int to[] = {1, 3};
        void* buffer;
        PmRequire(Again([&] { return pmGetMulticastBuffer(context, to, 2, &buffer, bytes); }) == 0,
                  "get");
        const auto pattern = PmPattern(0, 0, 1, bytes);
        memcpy(buffer, pattern.data(), bytes);
        PmRequire(pmSend(context) == 0, "send");
        PmSendBytes(context, 2, PmBytesOf(5));
      } else if (self == 2) {
        PmRequire(PmReceiveValue<int>(context) == 5, "its own");
      } else {
        PmRequire(PmReceiveBytes(context) == PmPattern(0, 0, 1, bytes), "bytes");
      }
    }
  }) == NoErrors(4));
}

TEST_CASE("a context is locked from get to send: other threads get ENOBUFS meanwhile") {
  PmRig rig(2);
  CHECK(rig.Run([](pm_context* context, int self) {
    if (self == 1) {
      for (int i = 0; i < 2; ++i) PmReceiveValue<int>(context);
      return;
    }
    void* buffer;
    PmRequire(pmGetSendBuffer(context, 1, &buffer, 4) == 0, "get");
    PmRequire(pmGetSendBuffer(context, 1, &buffer, 4) == EBUSY, "a second one");
    int of_other = 0, send_of_other = 0;
    std::thread([&] {
      void* another;
      of_other = pmGetSendBuffer(context, 1, &another, 4);
      send_of_other = pmSend(context);
    }).join();
    PmRequire(of_other == ENOBUFS && send_of_other == EINVAL, "another thread's");
    PmRequire(pmSend(context) == 0, "send");
    std::thread([&] { PmSendBytes(context, 1, PmBytesOf(1)); }).join();
  }) == NoErrors(2));
}

TEST_CASE("several contexts of one RNIC are nodes as others are") {
  PmRig rig(2);
  // Nodes 0, 1 on one RNIC, 2 on another: as processes of two machines.
  rig.addresses = LoopbackAddresses(3);
  const Owned<vl_rnic> rnic = rig.fixture.Open(0);
  std::vector<std::string> errors(3);
  std::vector<std::thread> threads;
  for (int node = 0; node < 3; ++node) {
    threads.emplace_back([&, node] {
      try {
        pm_context* const context =
            node == 2 ? rig.Open(node, nullptr, 1) : rig.Open(node, rnic.get());
        ExchangeAll(context, node, 30);
        pmCloseContext(context);
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(node)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(errors == NoErrors(3));
}

TEST_CASE("remote write and read move bytes between places of areas, of any length") {
  PmRig rig(2);
  CHECK(rig.Run([](pm_context* context, int self) {
    constexpr size_t kArea = 300000;
    std::vector<uint8_t> area(kArea), mine(kArea);
    for (size_t i = 0; i < kArea; ++i) mine[i] = static_cast<uint8_t>(i * 31 + (i >> 9));
    pm_handle handle, local;
    PmRequire(pmMLock(context, 1 - self, area.data(), kArea, &handle) == 0, "lock");
    PmRequire(pmMLock(context, PM_NODE_ANY, mine.data(), kArea, &local) == 0, "lock");
    PmSendBytes(context, 1 - self, PmBytesOf(handle));
    const auto remote = PmReceiveValue<pm_handle>(context);
    if (self == 0) {
      for (const size_t bytes : {size_t{1}, size_t{100}, size_t{4096}, size_t{200001}}) {
        PmRequire(pmWrite(context, 1, remote + 17, local + 5, bytes) == 0, "write");
        PmRequire(Again([&] { return pmIsWriteDone(context); }) == 0, "write");
        std::fill(area.begin(), area.end(), 0);
        // Back into the own area, elsewhere.
        PmRequire(pmRead(context, 1, remote + 17, handle + 3, bytes) == 0, "read");
        PmRequire(Again([&] { return pmIsReadDone(context); }) == 0, "read");
        PmRequire(std::equal(&area[3], &area[3] + bytes, &mine[5]), "bytes");
        PmRequire(area[2] == 0 && area[3 + bytes] == 0, "beyond");
      }
      for (int i = 0; i < 40; ++i)
        PmRequire(Again([&] { return pmWrite(context, 1, remote, local, 64); }) == 0, "many");
      PmRequire(pmWaitDone(context) == 0, "wait");
      PmSendBytes(context, 1, PmBytesOf(1));
    } else {
      PmReceiveValue<int>(context);
      PmRequire(std::equal(&area[64], &area[64] + 100000, &mine[52]), "bytes at the target");
    }
  }) == NoErrors(2));
}

}  // namespace
}  // namespace exrnic
