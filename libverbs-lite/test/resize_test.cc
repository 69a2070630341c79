// SPDX-License-Identifier: BSD-2-Clause
// vl_resize_cq: each completion once and in order, whatever the sizes and whoever polls.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cq.h"
#include "rig.h"

namespace exrnic {
namespace {

constexpr uint32_t kMost = 65536 - 65536 / 4 + 1;  // entries

EndpointSize SizeOf(uint32_t cq_entries) {
  EndpointSize size;
  size.cq_entries = cq_entries;
  size.send_wr = 64;
  return size;
}

// PUSHes of one end with numbers that rise, and their completions in that order.
struct Numbered {
  explicit Numbered(uint32_t cq_entries) : pair(SizeOf(cq_entries)) {}

  void Post(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) REQUIRE(pair.Post(posted++) == 0);
    pair.fabric.Step();
  }
  void Poll(uint32_t count) {
    vl_wc wc;
    for (uint32_t i = 0; i < count; ++i) {
      REQUIRE(vl_poll_cq(pair.a.cq, 1, &wc) == 1);
      REQUIRE(wc.wr_id == polled++);
    }
  }
  void PollAll() {
    Poll(static_cast<uint32_t>(posted - polled));
    vl_wc wc;
    REQUIRE(vl_poll_cq(pair.a.cq, 1, &wc) == 0);
  }
  FakeDevice& device() { return pair.fabric.device(0); }

  Pair pair;
  uint64_t posted = 0;
  uint64_t polled = 0;
};

TEST_CASE("a completion queue changes its size again and again, and nothing is lost or doubled") {
  Numbered n(16);
  uint32_t step = 0;
  for (int round = 0; round < 40; ++round) {
    for (const uint32_t entries : {16u, 100u, 12u, 40u, 12u, 12u, 1000u}) {
      const uint32_t unread = step++ % 12;
      n.Post(12);
      n.Poll(12 - unread);
      REQUIRE(vl_resize_cq(n.pair.a.cq, entries) == 0);
      n.Post(12 - unread);
      n.PollAll();
    }
  }
  CHECK(n.device().counters().cq_overruns == 0);
  CHECK(n.device().counters().doorbells_refused == 0);
}

TEST_CASE("a queue holds as many completions as a resize asked for, at any place of its ring") {
  const uint32_t entries = GENERATE(1u, 5u, 13u, 64u);
  Numbered n(20);
  REQUIRE(vl_resize_cq(n.pair.a.cq, entries) == 0);
  for (int round = 0; round < 50; ++round) {
    n.Post(1);
    n.Poll(1);
    n.Post(entries);
    n.PollAll();
  }
  CHECK(n.device().counters().cq_overruns == 0);
}

TEST_CASE("what was polled does not count against a smaller size, told to the device or not") {
  Numbered n(64);
  n.Post(20);  // the ring is told of each 32
  n.Poll(18);
  CHECK(vl_resize_cq(n.pair.a.cq, 4) == 0);
  n.Post(2);
  n.PollAll();
  n.Post(4);
  n.PollAll();
  CHECK(n.device().counters().cq_overruns == 0);
}

TEST_CASE("a size that is too small for what is unread is refused, and the queue is as it was") {
  Numbered n(64);
  n.Post(30);
  void* const ring = n.pair.a.cq->memory.data();
  errno = 0;
  CHECK(vl_resize_cq(n.pair.a.cq, 4) == -1);
  CHECK(errno == ENOSPC);
  CHECK(std::string(vl_error_text()).find("entries is 4") != std::string::npos);
  CHECK(n.pair.a.cq->memory.data() == ring);
  n.Poll(25);
  CHECK(vl_resize_cq(n.pair.a.cq, 4) == 0);
  n.PollAll();
}

TEST_CASE("sizes that no queue can have, no queue, and a device that refuses change nothing") {
  Numbered n(16);
  n.Post(3);
  const auto refused = [&](vl_cq* cq, uint32_t entries) {
    errno = 0;
    CHECK(vl_resize_cq(cq, entries) == -1);
    return errno;
  };
  CHECK(refused(nullptr, 4) == EINVAL);
  CHECK(refused(n.pair.a.cq, 0) == EINVAL);
  CHECK(std::string(vl_error_text()).find(std::to_string(kMost)) != std::string::npos);
  CHECK(refused(n.pair.a.cq, kMost + 1) == EINVAL);
  CHECK(refused(n.pair.a.cq, ~0u) == EINVAL);
  n.pair.fabric.FailNextCall(EIO);
  CHECK(refused(n.pair.a.cq, 64) == EIO);
  n.Post(10);
  n.PollAll();
  CHECK(vl_resize_cq(n.pair.a.cq, kMost) == 0);
}

TEST_CASE("a queue that is armed stays so over a resize, and fires once") {
  Numbered n(16);
  const auto fired = [&] { return n.device().cqs.at(n.pair.a.cq->ring.number).fired; };
  n.Post(3);
  n.PollAll();
  REQUIRE(vl_req_notify_cq(n.pair.a.cq, 0) == 0);
  REQUIRE(vl_resize_cq(n.pair.a.cq, 100) == 0);
  CHECK(fired() == 0);
  n.Post(2);
  CHECK(fired() == 1);
  REQUIRE(vl_resize_cq(n.pair.a.cq, 20) == 0);
  n.Post(2);
  CHECK(fired() == 1);
  n.PollAll();
}

TEST_CASE("a queue pair that is destroyed leaves nothing in a ring that its completions came to") {
  Numbered n(16);
  n.Post(5);
  REQUIRE(vl_resize_cq(n.pair.a.cq, 100) == 0);
  n.Post(5);
  REQUIRE(vl_destroy_qp(n.pair.a.qp) == 0);
  n.pair.a.qp = nullptr;
  vl_wc wc;
  CHECK(vl_poll_cq(n.pair.a.cq, 1, &wc) == 0);
  CHECK(vl_resize_cq(n.pair.a.cq, 1) == 0);
}

TEST_CASE("threads that poll while another one resizes see each completion once, in order") {
  constexpr uint64_t kWork = 20000;
  Pair pair(SizeOf(64));
  pair.fabric.Start();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::atomic<uint64_t> polled{0};
  std::atomic<int> errors{0};
  std::vector<std::atomic<int>> seen(kWork);

  const auto goes_on = [&] {
    return polled < kWork && errors == 0 && std::chrono::steady_clock::now() < end;
  };
  std::thread resizer([&] {
    for (uint32_t i = 0; goes_on(); ++i) {
      static constexpr uint32_t kSizes[] = {64, 200, 80, 3000};
      if (vl_resize_cq(pair.a.cq, kSizes[i % 4]) != 0) ++errors;
    }
  });
  const auto poll = [&] {
    uint64_t last = 0;
    while (goes_on()) {
      vl_wc wc[3];
      const int count = vl_poll_cq(pair.a.cq, 3, wc);
      if (count < 0) ++errors;
      for (int i = 0; i < count; ++i) {
        if (wc[i].status != VL_WC_SUCCESS || wc[i].wr_id + 1 <= last) ++errors;
        last = wc[i].wr_id + 1;
        ++seen[wc[i].wr_id];
      }
      if (count > 0) polled += static_cast<uint64_t>(count);
      if (count == 0) std::this_thread::yield();
    }
  };
  std::thread first(poll), second(poll);
  for (uint64_t i = 0; i < kWork && errors == 0;) {
    if (pair.Post(i) == 0) {
      ++i;
    } else if (errno != ENOMEM || !goes_on()) {
      ++errors;
    } else {
      std::this_thread::yield();
    }
  }
  for (std::thread* thread : {&first, &second, &resizer}) thread->join();
  CHECK(errors == 0);
  CHECK(polled == kWork);
  std::set<int> times;
  for (const auto& count : seen) times.insert(count);
  CHECK(times == std::set<int>{1});
}

}  // namespace
}  // namespace exrnic
