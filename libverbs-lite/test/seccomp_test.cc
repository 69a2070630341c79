// SPDX-License-Identifier: BSD-2-Clause
// The data path makes no system call. exrnic-guest-test shows the same on the real device.
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <functional>
#include <iterator>
#include <thread>
#include <utility>

#include "cq.h"
#include "qp.h"
#include "rig.h"
#include "srq.h"

namespace exrnic {
namespace {

constexpr int kRounds = 10000;

// Work of every kind; those that take a receive are marked.
struct Kind {
  vl_wr_opcode opcode;
  int flags;
  bool takes_receive;
};
constexpr Kind kKinds[] = {
    {VL_OP_PUSH, 0, false},
    {VL_OP_PUSH, VL_SEND_INLINE, false},
    {VL_OP_PUSH_IMM, 0, true},
    {VL_OP_SEND, VL_SEND_SOLICITED, true},
    {VL_OP_SEND_IMM, VL_SEND_INLINE, true},
    {VL_OP_PULL, VL_SEND_FENCE, false},
};

bool PostOne(Pair* pair, uint64_t wr_id, const Kind& kind) {
  vl_send_wr wr = pair->Push(wr_id, 8, VL_SEND_SIGNALED | kind.flags);
  wr.opcode = kind.opcode;
  return vl_post_sq(pair->a.qp, &wr, nullptr) == 0;
}

bool PostReceive(Pair* pair, uint64_t wr_id) {
  const vl_sge sge = {reinterpret_cast<uintptr_t>(pair->b.buffer.data()), 64,
                      vl_mr_stag(pair->b.mr)};
  const vl_recv_wr wr = {wr_id, nullptr, &sge, 1};
  return vl_post_rq(pair->b.qp, &wr, nullptr) == 0;
}

// 0: all went well.
int PostAndPoll(Pair* pair, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const uint64_t wr_id = static_cast<uint64_t>(i);
    const Kind& kind = kKinds[i % std::size(kKinds)];
    vl_wc wc;
    if (vl_poll_cq(pair->a.cq, 1, &wc) != 0) return 1;
    if (kind.takes_receive && !PostReceive(pair, wr_id)) return 2;
    if (vl_req_notify_cq(pair->b.cq, i % 2) != 0) return 3;
    pair->fabric.Step();
    if (!PostOne(pair, wr_id, kind)) return 4;
    pair->fabric.Step();
    if (vl_poll_cq(pair->a.cq, 1, &wc) != 1 || wc.wr_id != wr_id || wc.status != 0) return 5;
    if (vl_poll_cq(pair->b.cq, 1, &wc) != (kind.takes_receive ? 1 : 0)) return 6;
  }
  return 0;
}

TEST_CASE("posting and polling survive seccomp strict mode, which kills for a system call") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP("the sanitizer makes system calls of its own");
#endif
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Pair pair;
    // Before, so that the software device has the memory that it allocates.
    if (PostAndPoll(&pair, 100) != 0) _exit(10);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(12);
    syscall(SYS_exit, PostAndPoll(&pair, kRounds));
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(!WIFSIGNALED(status));
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

// A thread that enters strict mode and then calls. The kernel kills it alone.
class ConfinedThread {
 public:
  explicit ConfinedThread(std::function<void()> call)
      : thread_([this, call = std::move(call)] {
          if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return;
          is_confined_ = true;
          call();
          survived_ = true;
          syscall(SYS_exit, 0);  // all else that ends a thread is forbidden
        }) {}
  ~ConfinedThread() {
    if (thread_.joinable()) thread_.join();
  }
  void AwaitConfinement() const {
    while (!is_confined_) std::this_thread::yield();
  }
  // Behind its end.
  bool Survived() {
    thread_.join();
    return survived_;
  }

 private:
  std::atomic<bool> is_confined_{false};
  std::atomic<bool> survived_{false};
  std::thread thread_;
};

// Whether a thread in strict mode comes through a call whose lock another one holds for long.
bool ComesThrough(SpinLock* held, std::function<void()> call) {
  held->lock();
  ConfinedThread thread(std::move(call));
  thread.AwaitConfinement();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  held->unlock();
  return thread.Survived();
}

TEST_CASE("who waits for another thread on the data path makes no system call") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP("the sanitizer makes system calls of its own");
#endif
  Pair pair;
  vl_srq_attr attr = {4, 1, 0};
  vl_srq* srq = vl_create_srq(pair.a.pd, &attr);
  REQUIRE(srq != nullptr);
  const vl_send_wr push = pair.Push(1, 8);
  const vl_recv_wr receive = {};
  vl_wc wc;
  vl_qp* qp = pair.a.qp;
  vl_cq* cq = pair.a.cq;
  CHECK(ComesThrough(&qp->sq.lock(), [&] { (void)vl_post_sq(qp, &push, nullptr); }));
  CHECK(ComesThrough(&qp->rq->lock(), [&] { (void)vl_post_rq(qp, &receive, nullptr); }));
  CHECK(ComesThrough(&srq->queue.lock(), [&] { (void)vl_post_srq_recv(srq, &receive, nullptr); }));
  CHECK(ComesThrough(&cq->lock, [&] { (void)vl_poll_cq(cq, 1, &wc); }));
  CHECK(ComesThrough(&cq->lock, [&] { (void)vl_req_notify_cq(cq, 0); }));
  CHECK(vl_destroy_srq(srq) == 0);
}

TEST_CASE("two threads in seccomp strict mode post and poll on one queue pair") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP("the sanitizer makes system calls of its own");
#endif
  constexpr int kAll = 10000;
  Pair pair;
  const vl_send_wr push = pair.Push(1, 8);
  std::atomic<int> to_post{kAll}, completed{0}, failed{0};
  std::atomic<bool> stop{false};
  const auto work = [&] {
    bool owes = false;  // one that found the queue full
    while (completed < kAll && !stop) {
      owes = owes || to_post.fetch_sub(1) > 0;
      if (owes && vl_post_sq(pair.a.qp, &push, nullptr) == 0) owes = false;
      vl_wc wc[4];
      const int count = vl_poll_cq(pair.a.cq, 4, wc);
      for (int i = 0; i < count; ++i) failed += wc[i].status != VL_WC_SUCCESS;
      completed += count;
    }
  };
  ConfinedThread one(work);
  ConfinedThread other(work);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (completed < kAll && std::chrono::steady_clock::now() < until) pair.fabric.Step();
  stop = true;
  CHECK(one.Survived());
  CHECK(other.Survived());
  CHECK(completed == kAll);
  CHECK(failed == 0);
}

}  // namespace
}  // namespace exrnic
