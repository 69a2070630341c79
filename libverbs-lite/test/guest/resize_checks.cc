// SPDX-License-Identifier: BSD-2-Clause
// Completion queues that change their size while they are in use.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <thread>

#include "work.h"

namespace exrnic {

namespace {

constexpr uint64_t kPushes = 600;
constexpr uint32_t kInFlight = 16;
constexpr uint32_t kBytes = 256;
constexpr int kMessages = 24;

// PUSHes in flight all the time, whose completions come in order.
void PushOver(Bench* bench, const Connection& connection) {
  uint64_t posted = 0;
  for (uint64_t polled = 0; polled < kPushes; ++polled) {
    for (; posted < std::min(kPushes, polled + kInFlight); ++posted) {
      const size_t at = posted % kInFlight * kBytes;
      Post(connection, {MakePush(connection, posted, at, at, kBytes)});
    }
    ExpectCompletion(bench, connection.cq(), polled, VL_WC_SUCCESS);
  }
}

// Larger and smaller at random, never below what is in flight.
class Resizer {
 public:
  Resizer(vl_cq* cq, uint64_t seed)
      : thread_([this, cq, seed] {
          std::mt19937_64 random(seed);
          while (!stop_) {
            const uint32_t entries = kInFlight << random() % 8;
            if (vl_resize_cq(cq, entries) != 0) ++failed_;
            ++times_;
          }
        }) {}
  ~Resizer() { Stop(); }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  uint64_t times() const { return times_; }
  uint64_t failed() const { return failed_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> times_{0};
  std::atomic<uint64_t> failed_{0};
  std::thread thread_;
};

void PushAndResize(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  {
    Resizer resizer(connection.cq(), bench->NextSeed());
    // On a busy machine the other thread may not have run before all is pushed.
    do {
      PushOver(bench, connection);
    } while (resizer.times() == 0);
    resizer.Stop();
    bench->ExpectEqual(resizer.failed(), 0, "resizes that failed");
  }
  ExpectNoCompletion(bench, connection.cq(), "all have been polled");
  SendChecked(bench, connection);
}

void TakePushes(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  bench->NextSeed();
  ReceiveChecked(bench, connection);
}

// ---- Between completion and poll; and what is too small

void SendTo(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  bench->Meet();
  for (int i = 0; i < kMessages; ++i) {
    Post(connection, Work(VL_OP_SEND, 0));
    ExpectCompletion(bench, connection.cq(), 0, VL_WC_SUCCESS);
  }
  bench->Meet();
  bench->Meet();
}

void ResizeUnread(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  for (int i = 0; i < kMessages; ++i) PostReceive(connection.qp(), i, {});
  bench->Meet();
  bench->Meet();
  bench->Expect(vl_resize_cq(connection.cq(), 4) == -1 && errno == ENOSPC,
                "a queue with unread completions became too small for them");
  Check(vl_resize_cq(connection.cq(), 1000), "vl_resize_cq to more");
  for (int i = 0; i < kMessages / 2; ++i) ExpectReceived(bench, connection.cq(), i, 0);
  Check(vl_resize_cq(connection.cq(), kMessages / 2), "vl_resize_cq to fewer");
  for (int i = kMessages / 2; i < kMessages; ++i) ExpectReceived(bench, connection.cq(), i, 0);
  ExpectNoCompletion(bench, connection.cq(), "all have been polled");
  bench->Meet();
}

}  // namespace

std::vector<GuestCheck> ResizeChecks() {
  return {
      {"a completion queue that is resized under traffic loses and doubles nothing", PushAndResize,
       TakePushes},
      {"completions that are not polled yet come along when their queue is resized, or it is not",
       SendTo, ResizeUnread},
  };
}

}  // namespace exrnic
