// SPDX-License-Identifier: BSD-2-Clause
// Several threads on the same objects, with the device in a thread of its own.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "rig.h"

namespace exrnic {
namespace {

constexpr int kThreads = 3;
constexpr int kEach = 4000;
constexpr auto kTimeLimit = std::chrono::seconds(60);

class Deadline {
 public:
  bool Passed() const { return std::chrono::steady_clock::now() > end_; }

 private:
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + kTimeLimit;
};

TEST_CASE("threads that post and poll on one queue pair lose and double nothing") {
  EndpointSize size;
  size.send_wr = 64;
  Pair pair(size);
  pair.fabric.Start();
  const Deadline deadline;
  const vl_send_wr model = pair.Push(0, 8);
  std::vector<std::atomic<int>> seen(kThreads * kEach);
  std::atomic<int> polled{0};
  std::atomic<int> errors{0};

  auto post = [&](int thread) {
    for (int i = 0; i < kEach && !deadline.Passed(); ++i) {
      vl_send_wr wr = model;
      wr.wr_id = static_cast<uint64_t>(thread * kEach + i);
      while (vl_post_sq(pair.a.qp, &wr, nullptr) != 0) {
        if (errno != ENOMEM) ++errors;
        if (errno != ENOMEM || deadline.Passed()) return;
        std::this_thread::yield();
      }
    }
  };
  auto poll = [&] {
    while (polled < kThreads * kEach && !deadline.Passed()) {
      vl_wc wc[5];
      const int count = vl_poll_cq(pair.a.cq, 5, wc);
      for (int i = 0; i < count; ++i) {
        if (wc[i].status != VL_WC_SUCCESS) ++errors;
        ++seen[wc[i].wr_id];
      }
      polled += count;
      if (count == 0) std::this_thread::yield();
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(post, t);
  for (int t = 0; t < 2; ++t) threads.emplace_back(poll);
  for (std::thread& thread : threads) thread.join();

  CHECK(errors == 0);
  CHECK(polled == kThreads * kEach);
  int wrong = 0;
  for (const std::atomic<int>& count : seen) wrong += count != 1;
  CHECK(wrong == 0);
}

TEST_CASE("objects come and go in other threads while work goes on") {
  Pair pair;
  pair.fabric.Start();
  const Deadline deadline;
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0};

  auto churn = [&] {
    while (!stop) {
      vl_cq* cq = vl_create_cq(pair.a.rnic, 8, nullptr);
      vl_qp_init_attr init = QpInit(cq, pair.a.cq, 4, 4);
      vl_qp* qp = cq == nullptr ? nullptr : vl_create_qp(pair.a.pd, &init);
      if (qp == nullptr || vl_destroy_qp(qp) != 0 || vl_destroy_cq(cq) != 0) ++failures;
    }
  };
  std::thread first(churn);
  std::thread second(churn);
  for (uint64_t i = 0; i < 300 && !deadline.Passed(); ++i) {
    if (pair.Post(i) != 0) ++failures;
    vl_wc wc = {};
    while (vl_poll_cq(pair.a.cq, 1, &wc) == 0 && !deadline.Passed()) std::this_thread::yield();
    if (wc.wr_id != i || wc.status != VL_WC_SUCCESS) ++failures;
  }
  stop = true;
  first.join();
  second.join();
  CHECK(!deadline.Passed());
  CHECK(failures == 0);
}

}  // namespace
}  // namespace exrnic
