// SPDX-License-Identifier: BSD-2-Clause
// Several threads on the same objects, with the device in a thread of its own.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

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

// A thread that posts all the time, but while it shall pause.
class Poster {
 public:
  explicit Poster(std::function<void()> post)
      : thread_([this, post = std::move(post)] {
          while (!stop_) {
            pauses_ = shall_pause_.load();
            if (!pauses_) post();
          }
        }) {}
  ~Poster() {
    stop_ = true;
    thread_.join();
  }
  void Go() { shall_pause_ = false; }
  // Returns when its last call has.
  void Pause() {
    shall_pause_ = true;
    while (!pauses_) std::this_thread::yield();
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<bool> shall_pause_{true};
  std::atomic<bool> pauses_{false};
  std::thread thread_;
};

void Reset(vl_qp* qp) {
  vl_qp_attr attr = {};
  attr.state = VL_QPS_RESET;
  REQUIRE(vl_modify_qp(qp, &attr) == 0);
}

vl_wc NextCompletion(vl_cq* cq, const Deadline& deadline) {
  vl_wc wc = {};
  while (vl_poll_cq(cq, 1, &wc) == 0 && !deadline.Passed()) std::this_thread::yield();
  return wc;
}

TEST_CASE("what is posted while another thread resets the queue pair is not of its next life") {
  constexpr uint64_t kStale = 7777;
  Pair pair;
  const vl_send_wr stale_send =
      pair.Push(kStale, 8, VL_SEND_SIGNALED | (GENERATE(false, true) ? VL_SEND_INLINE : 0));
  const vl_sge stale_sge = pair.sge;
  const vl_recv_wr stale_receive = {kStale, nullptr, nullptr, 0};
  const bool receives = GENERATE(false, true);
  // The receiver's context is the one opened last, as for SharedRig.
  Endpoint& own = receives ? pair.b : pair.a;
  Endpoint& peer = receives ? pair.a : pair.b;
  pair.fabric.Start();
  const Deadline deadline;
  Poster poster([&] {
    vl_send_wr send = stale_send;
    vl_sge sge = stale_sge;
    send.sg_list = &sge;
    // Both may be refused: the queue may be full, the queue pair reset.
    if (receives) (void)vl_post_rq(own.qp, &stale_receive, nullptr);
    if (!receives) (void)vl_post_sq(own.qp, &send, nullptr);
  });
  for (uint64_t life = 0; life < 200 && !deadline.Passed(); ++life) {
    INFO("life " << life);
    poster.Go();
    for (uint64_t i = 0; i < life % 50; ++i) std::this_thread::yield();
    Reset(own.qp);
    poster.Pause();
    Reset(peer.qp);
    pair.a.Connect(1, vl_qp_number(pair.b.qp));
    pair.b.Connect(0, vl_qp_number(pair.a.qp));
    if (receives) {
      const vl_recv_wr receive = {life, nullptr, nullptr, 0};
      REQUIRE(vl_post_rq(own.qp, &receive, nullptr) == 0);
      vl_send_wr send = {};
      send.opcode = VL_OP_SEND;
      REQUIRE(vl_post_sq(peer.qp, &send, nullptr) == 0);
    } else {
      REQUIRE(pair.Post(life) == 0);
    }
    const vl_wc wc = NextCompletion(own.cq, deadline);
    REQUIRE(wc.wr_id == life);
    REQUIRE(wc.status == VL_WC_SUCCESS);
  }
  poster.Pause();
  CHECK(!deadline.Passed());
}

// The senders' contexts are opened first: the software device looks at doorbells in this order, so
// it never knows of a message but not of the receive that was posted before it.
struct SharedRig {
  SharedRig() : fabric(2), senders{{&fabric, 0}, {&fabric, 0}}, receiver(&fabric, 1) {
    vl_srq_attr attr = {kPlaces, 2, 0};
    srq = vl_create_srq(receiver.pd, &attr);
    REQUIRE(srq != nullptr);
    for (int i : {0, 1}) {
      // Room for all: of two queues of a context, the software device may not hear one's doorbell.
      cqs[i] = vl_create_cq(receiver.rnic, 2 * kEach, nullptr);
      vl_qp_init_attr init = QpInit(cqs[i], cqs[i], 1, 0);
      init.srq = srq;
      qps[i] = vl_create_qp(receiver.pd, &init);
      REQUIRE(qps[i] != nullptr);
      vl_qp_attr attr_of_qp = AttrOf(VL_QPS_INIT, 0, vl_qp_number(senders[i].qp));
      for (vl_qp_state state : {VL_QPS_INIT, VL_QPS_RTR, VL_QPS_RTS}) {
        attr_of_qp.state = state;
        REQUIRE(vl_modify_qp(qps[i], &attr_of_qp) == 0);
      }
      senders[i].Connect(1, vl_qp_number(qps[i]));
    }
  }
  ~SharedRig() {
    for (int i : {0, 1}) {
      CHECK(vl_destroy_qp(qps[i]) == 0);
      CHECK(vl_destroy_cq(cqs[i]) == 0);
    }
    CHECK(vl_destroy_srq(srq) == 0);
  }

  static constexpr uint32_t kPlaces = 16;
  FakeFabric fabric;
  Endpoint senders[2];
  Endpoint receiver;
  vl_srq* srq;
  vl_cq* cqs[2];
  vl_qp* qps[2];
};

TEST_CASE("threads that poll two queues and post to one shared queue lose and double nothing") {
  SharedRig rig;
  const Deadline deadline;
  std::atomic<int> errors{0};
  std::atomic<int> credits{0};
  std::atomic<int> done{0};
  // Each thread, and the start, gives its receives numbers of its own.
  constexpr uint64_t kNumbers = 2 * kEach + SharedRig::kPlaces;
  std::vector<std::atomic<int>> seen(3 * kNumbers);
  // False: the place that is next belongs to a receive that the other thread has not yet polled.
  auto post_receive = [&](uint64_t wr_id) {
    const vl_recv_wr wr = {wr_id, nullptr, nullptr, 0};
    const bool posted = vl_post_srq_recv(rig.srq, &wr, nullptr) == 0;
    if (!posted && errno != ENOMEM) ++errors;
    credits += posted;
    return posted;
  };
  for (uint32_t i = 0; i < SharedRig::kPlaces; ++i) post_receive(i);
  rig.fabric.Start();

  auto send = [&](int i) {
    for (int sent = 0; sent < kEach && !deadline.Passed();) {
      if (credits.fetch_sub(1) <= 0) {
        ++credits;
        std::this_thread::yield();
        continue;
      }
      vl_send_wr wr = {};
      wr.opcode = VL_OP_SEND;
      wr.flags = VL_SEND_SIGNALED;
      if (vl_post_sq(rig.senders[i].qp, &wr, nullptr) != 0) ++errors;
      vl_wc wc = {};
      while (vl_poll_cq(rig.senders[i].cq, 1, &wc) == 0 && !deadline.Passed()) {
        std::this_thread::yield();
      }
      if (wc.status != VL_WC_SUCCESS) ++errors;
      ++sent;
    }
  };
  auto receive = [&](int i) {
    uint64_t number = static_cast<uint64_t>(i + 1) * kNumbers;
    int owed = 0;
    while (done < 2 * kEach && !deadline.Passed()) {
      for (; owed > 0 && post_receive(number); --owed) ++number;
      vl_wc wc;
      if (vl_poll_cq(rig.cqs[i], 1, &wc) != 1) {
        std::this_thread::yield();
        continue;
      }
      if (wc.status != VL_WC_SUCCESS || wc.qpn != vl_qp_number(rig.qps[i])) ++errors;
      ++seen[wc.wr_id];
      ++done;
      ++owed;
    }
  };
  std::vector<std::thread> threads;
  for (int i : {0, 1}) {
    threads.emplace_back(send, i);
    threads.emplace_back(receive, i);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(!deadline.Passed());
  CHECK(errors == 0);
  CHECK(done == 2 * kEach);
  int wrong = 0;
  for (const std::atomic<int>& count : seen) wrong += count > 1;
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace exrnic
