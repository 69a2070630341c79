// SPDX-License-Identifier: BSD-2-Clause
// What is refused, and nodes that die: the text names argument, value, limit and node.
#include <sys/wait.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>

#include "pm_rig.h"

namespace exrnic {
namespace {

using Catch::Matchers::ContainsSubstring;

void ExpectPm(int got, int error, const std::string& text) {
  if (got == error && std::string(pmErrorText()).find(text) != std::string::npos) return;
  throw std::runtime_error("got " + std::to_string(got) + " \"" + pmErrorText() + "\", expected " +
                           std::to_string(error) + " \"" + text + "\"");
}

TEST_CASE("wrong arguments are named with value and limit") {
  PmRig rig(2);
  CHECK(rig.Run([](pm_context* context, int self) {
    const int other = 1 - self;
    void* buffer;
    size_t length;
    ExpectPm(pmGetSendBuffer(context, other, &buffer, 8193), EINVAL,
             "length is 8193: at most 8192");
    ExpectPm(pmGetSendBuffer(context, 2, &buffer, 1), EINVAL, "node is 2: 0 to 1, and not");
    ExpectPm(pmGetSendBuffer(context, self, &buffer, 1), EINVAL, "which is this one");
    ExpectPm(pmGetSendBuffer(context, other, nullptr, 1), EINVAL, "null");
    const int twice[] = {other, other};
    ExpectPm(pmGetMulticastBuffer(context, twice, 2, &buffer, 1), EINVAL, "count is 2: 1 to 1");
    ExpectPm(pmSend(context), EINVAL, "this thread has no send buffer");
    ExpectPm(pmReceive(nullptr, &buffer, &length), EINVAL, "context is null");
    ExpectPm(pmReleaseReceiveBuffer(context), EINVAL, "no receive buffer");
    pm_handle handle;
    ExpectPm(pmMLock(context, 5, &handle, 8, &handle), EINVAL, "node is 5");
    ExpectPm(pmMLock(context, other, nullptr, 8, &handle), EINVAL, "address is null");
    ExpectPm(pmMUnlock(context, 0x123456), EINVAL, "no handle that pmMLock gave");
    // Both are here still.
    PmSendBytes(context, other, PmBytesOf(1));
    PmReceiveValue<int>(context);
  }) == std::vector<std::string>(2));
}

TEST_CASE("what is wrong with a context is said when it is opened") {
  const char* const addresses[] = {"127.0.1.1:9", "127.0.1.1:9"};
  pm_attr attr = {};
  attr.nodes = 1;
  attr.addresses = addresses;
  pm_context* context;
  CHECK(pmOpenContext(&attr, &context) == EINVAL);
  CHECK(std::string(pmErrorText()) == "attr->nodes is 1: 2 to 256");
  attr.nodes = 2;
  attr.self = -1;
  CHECK(pmOpenContext(&attr, &context) == EINVAL);
  CHECK(std::string(pmErrorText()) == "attr->self is -1: 0 to 1");
  attr.self = 0;
  CHECK(pmOpenContext(&attr, &context) == EINVAL);
  CHECK_THAT(pmErrorText(), ContainsSubstring("have the same one"));
  const auto others = LoopbackAddresses(2);
  const char* const list[] = {others[0].c_str(), others[1].c_str()};
  attr.addresses = list;
  attr.timeout_ms = 100;
  CHECK(pmOpenContext(&attr, &context) == ETIMEDOUT);
  CHECK(std::string(pmErrorText()) == "in time came nothing of node 1 (" + others[1] + ")");
}

TEST_CASE("handles that were unlocked, are for others, or do not reach so far are refused") {
  PmRig rig(3);
  CHECK(rig.Run([](pm_context* context, int self) {
    std::vector<uint8_t> area(1000), mine(1000);
    pm_handle local, handle, other;
    PmRequire(pmMLock(context, PM_NODE_ANY, mine.data(), 1000, &local) == 0, "lock");
    if (self == 2) {
      PmRequire(PmReceiveValue<int>(context) == 1, "the end");
      return;
    }
    if (self == 1) {
      PmRequire(pmMLock(context, PM_NODE_ANY, area.data(), 1000, &handle) == 0, "lock");
      PmRequire(pmMLock(context, 2, area.data(), 1000, &other) == 0, "lock");
      PmSendBytes(context, 0, PmBytesOf(handle));
      PmSendBytes(context, 0, PmBytesOf(other));
      PmRequire(PmReceiveValue<int>(context) == 1, "it has written");
      PmRequire(area[999] == 7, "a byte");
      ExpectPm(pmMUnlock(context, handle + 1), EINVAL, "not the first byte, but 1 further on");
      PmRequire(pmMUnlock(context, handle) == 0, "unlock");
      ExpectPm(pmMUnlock(context, handle), EINVAL, "its memory was unlocked");
      // The index is used again, for other memory.
      std::vector<uint8_t> next(1000);
      pm_handle again;
      PmRequire(pmMLock(context, PM_NODE_ANY, next.data(), 1000, &again) == 0, "lock");
      PmSendBytes(context, 0, PmBytesOf(again));
      PmRequire(PmReceiveValue<int>(context) == 2, "it has tried");
      PmRequire(next[0] == 7 && area[0] == 0, "into the new area alone");
      PmSendBytes(context, 2, PmBytesOf(1));
      return;
    }
    mine.assign(1000, 7);
    handle = PmReceiveValue<pm_handle>(context);
    other = PmReceiveValue<pm_handle>(context);
    ExpectPm(pmWrite(context, 1, other, local, 1), EACCES, "locked for node 2, not for node 0");
    ExpectPm(pmWrite(context, 1, handle + 999, local, 2), ERANGE, "2 bytes from 999: it has 1000");
    ExpectPm(pmRead(context, 1, handle, local + 1, 1000), ERANGE, "local is");
    ExpectPm(pmWrite(context, 1, 0, local, 1), EINVAL, "remote is 0, of node 1");
    ExpectPm(pmWrite(context, 1, handle, 0, 1), EINVAL, "local is 0, here");
    ExpectPm(pmWrite(context, 1, handle, local, 0), EINVAL, "length is 0: 1 to 2147483647");
    PmRequire(pmWrite(context, 1, handle + 999, local, 1) == 0, "write");
    PmRequire(pmWaitDone(context) == 0, "wait");
    PmSendBytes(context, 1, PmBytesOf(1));
    const auto again = PmReceiveValue<pm_handle>(context);
    ExpectPm(pmWrite(context, 1, handle, local, 1), EINVAL, "its memory was unlocked");
    PmRequire(pmWrite(context, 1, again, local, 1) == 0, "write");
    PmRequire(pmWaitDone(context) == 0, "wait");
    PmSendBytes(context, 1, PmBytesOf(2));
  }) == std::vector<std::string>(3));
}

// Node 2 of three is a process, which does `before` and is killed when the others are past it, too:
// a process that ends loses what it sent and its peers have not received yet.
void KillNodeTwo(const std::function<void(pm_context*, int)>& before,
                 const std::function<void(pm_context*, int)>& after) {
  PmRig rig(3);
  int others[2];
  REQUIRE(pipe(others) == 0);
  const pid_t child = fork();
  if (child == 0) {
    close(others[1]);
    try {
      pm_context* const context = rig.Open(2);
      before(context, 2);
      char bytes[2];
      for (ssize_t left = 2, got = 1; left > 0 && got > 0; left -= got)
        got = read(others[0], bytes, static_cast<size_t>(left));
    } catch (const std::exception& error) {
      fprintf(stderr, "the process to be killed: %s\n", error.what());
    }
    kill(getpid(), SIGKILL);
  }
  const auto errors = rig.Run(
      [&](pm_context* context, int self) {
        before(context, self);
        PmRequire(write(others[1], "x", 1) == 1, "tell");
        after(context, self);
      },
      2);
  close(others[1]);
  close(others[0]);
  waitpid(child, nullptr, 0);
  CHECK(errors == std::vector<std::string>(2));
}

TEST_CASE("a node that is killed is told once to each, and the others go on") {
  std::atomic<int> told{0};
  KillNodeTwo([](pm_context*, int) {},
              [&told](pm_context* context, int self) {
                void* buffer;
                size_t length;
                int node = -1;
                ExpectPm(Again([&] { return pmReceiveFrom(context, &buffer, &length, &node); }),
                         ECONNRESET, "node 2 (");
                PmRequire(node == 2, "another node");
                ExpectPm(pmReceive(context, &buffer, &length), ENOBUFS, "");
                for (++told; told < 2;) sched_yield();  // no message may come before
                ExpectPm(pmGetSendBuffer(context, 2, &buffer, 8), ECONNRESET, "node 2 (");
                const int both[] = {1 - self, 2};
                ExpectPm(pmGetMulticastBuffer(context, both, 2, &buffer, 8), ECONNRESET,
                         "node 2 (");
                for (int i = 0; i < 100; ++i) {
                  PmSendBytes(context, 1 - self, PmBytesOf(i));
                  PmRequire(PmReceiveValue<int>(context) == i, "order");
                }
              });
}

TEST_CASE("messages of a node that was killed are received before its end is told") {
  KillNodeTwo(
      [](pm_context* context, int self) {
        if (self != 2) return;
        for (int i = 0; i < 20; ++i)
          for (int node = 0; node < 2; ++node) PmSendBytes(context, node, PmBytesOf(i));
        PmReceiveValue<int>(context);  // of both, behind all
        PmReceiveValue<int>(context);
      },
      [](pm_context* context, int) {
        for (int i = 0; i < 20; ++i) PmRequire(PmReceiveValue<int>(context) == i, "order");
        PmSendBytes(context, 2, PmBytesOf(1));
        void* buffer;
        size_t length;
        ExpectPm(Again([&] { return pmReceive(context, &buffer, &length); }), ECONNRESET, "node 2");
      });
}

TEST_CASE("transfers to a node that is killed fail with its name, and nothing hangs") {
  KillNodeTwo(
      [](pm_context* context, int self) {
        static std::vector<uint8_t> area(1 << 20);
        if (self != 2) return;
        pm_handle handle;
        PmRequire(pmMLock(context, PM_NODE_ANY, area.data(), area.size(), &handle) == 0, "lock");
        for (int node = 0; node < 2; ++node) PmSendBytes(context, node, PmBytesOf(handle));
        PmReceiveValue<int>(context);
      },
      [](pm_context* context, int) {
        std::vector<uint8_t> mine(1 << 20);
        pm_handle local;
        const auto remote = PmReceiveValue<pm_handle>(context);
        PmRequire(pmMLock(context, PM_NODE_ANY, mine.data(), mine.size(), &local) == 0, "lock");
        PmSendBytes(context, 2, PmBytesOf(1));
        int error;
        do {
          error = pmWrite(context, 2, remote, local, mine.size());
          if (error == 0 || error == ENOBUFS) error = pmIsWriteDone(context);
        } while (error == 0 || error == EBUSY);
        ExpectPm(error, ECONNRESET, "node 2 (");
        PmRequire(pmMUnlock(context, local) == 0, "unlock");
      });
}

TEST_CASE("a node that leaves is no error for who receives") {
  PmRig rig(2);
  CHECK(rig.Run([](pm_context* context, int self) {
    if (self == 0) return PmSendBytes(context, 1, PmBytesOf(3));
    PmRequire(PmReceiveValue<int>(context) == 3, "its message");
    void* buffer;
    size_t length;
    ExpectPm(Again([&] {
               const int error = pmGetSendBuffer(context, 0, &buffer, 1);
               return error == 0 ? pmSend(context), EBUSY : error;
             }),
             ECONNRESET, "node 0 (");
    ExpectPm(pmReceive(context, &buffer, &length), ENOBUFS, "");
  }) == std::vector<std::string>(2));
}

TEST_CASE("a simulator that ends fails calls, and nothing hangs") {
  PmRig rig(2);
  int ends[2] = {};  // Catch2 checks nothing in threads
  const auto errors = rig.Run([&](pm_context* context, int self) {
    if (self == 0) {
      PmSendBytes(context, 1, PmBytesOf(1));
      rig.fixture.simulator.signal(SIGKILL);
    }
    if (self == 1) PmReceiveValue<int>(context);
    void* buffer;
    size_t length;
    ends[self] = Again([&] { return pmReceive(context, &buffer, &length); });
  });
  for (const int self : {0, 1}) {  // a call before that may have failed
    INFO("node " << self << ": " << errors[static_cast<size_t>(self)]);
    CHECK((ends[self] == ECONNRESET || !errors[static_cast<size_t>(self)].empty()));
  }
}

}  // namespace
}  // namespace exrnic
