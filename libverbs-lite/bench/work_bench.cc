// SPDX-License-Identifier: BSD-2-Clause
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "local_bench.h"
#include "stopwatch.h"
#include "verbs_objects.h"

namespace exrnic {

namespace {

constexpr uint32_t kBatch = 64;

// A queue pair in the error state, and what it needs; members in the order in which they are made.
class FailedQueue {
 public:
  explicit FailedQueue(const std::string& device)
      : rnic_(Own(OpenDevice(device), "cannot open the RNIC")),
        pd_(Own(vl_allocate_pd(rnic_.get()), "vl_allocate_pd")),
        cq_(Own(vl_create_cq(rnic_.get(), kBatch, nullptr), "vl_create_cq")),
        qp_(CreateQp(pd_.get(), QpAttributes(cq_.get(), kBatch))) {
    ModifyQp(qp_.get(), VL_QPS_ERROR);
  }

  void Post() {
    vl_send_wr wr = {};
    wr.opcode = VL_OP_PUSH;
    wr.flags = VL_SEND_SIGNALED;
    Check(vl_post_sq(qp_.get(), &wr, nullptr), "vl_post_sq");
  }
  // True if there was a completion.
  bool Poll() {
    vl_wc wc;
    const int count = vl_poll_cq(cq_.get(), 1, &wc);
    Check(count, "vl_poll_cq");
    if (count == 1 && wc.status != VL_WC_WR_FLUSH_ERR) {
      throw std::runtime_error(std::string("a flushed work request ended with: ") +
                               vl_status_string(wc.status));
    }
    return count == 1;
  }
  void AwaitOne() { AwaitCompletion(cq_.get(), "a flushed work request"); }

 private:
  Owned<vl_rnic> rnic_;
  Owned<vl_pd> pd_;
  Owned<vl_cq> cq_;
  Owned<vl_qp> qp_;
};

struct BatchTimes {
  double post_ns;
  double poll_ns;
};

// Completions are polled when all of them are there, so that no empty poll is in the figure; a
// batch of which some came late counts only as posted.
BatchTimes MeasureBatch(FailedQueue* queue) {
  const Stopwatch posting;
  for (uint32_t i = 0; i < kBatch; ++i) queue->Post();
  const double post_ns = posting.Ns() / kBatch;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const Stopwatch polling;
  uint32_t taken = 0;
  while (taken < kBatch && queue->Poll()) ++taken;
  const double poll_ns = polling.Ns() / kBatch;
  const bool all = taken == kBatch;
  for (; taken < kBatch; ++taken) queue->AwaitOne();
  return {post_ns, all ? poll_ns : 0};
}

// ---- In the child that is watched. No system call but what the counters are calibrated with.

constexpr int kKnownCalls = 5;
constexpr int kMeasuredPosts = 1000;

inline void Stop() { __asm__ volatile("int3"); }

[[noreturn]] void BeWatched(const std::string& device) {
  try {
    FailedQueue queue(device);
    queue.Post();
    queue.AwaitOne();
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ThrowErrno("PTRACE_TRACEME");
    Stop();
    for (int i = 0; i < kKnownCalls; ++i) (void)getppid();
    Stop();
    for (int done = 0; done < kMeasuredPosts; ++done) {
      queue.Post();
      while (!queue.Poll()) {
      }
    }
    Stop();
    _exit(0);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-bench: %s\n", error.what());
    _exit(1);
  }
}

// The next stop of the child. Throws when it ended.
int NextStop(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) ThrowErrno("waitpid");
  }
  if (!WIFSTOPPED(status)) throw std::runtime_error("the watched child ended early");
  return WSTOPSIG(status);
}

// System calls that the child makes until its next Stop().
int CallsUntilStop(pid_t child) {
  constexpr int kSystemCallStop = SIGTRAP | 0x80;
  int stops = 0;
  for (;;) {
    if (ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) ThrowErrno("PTRACE_SYSCALL");
    const int signal = NextStop(child);
    if (signal == SIGTRAP) return stops / 2;  // each call stops at entry and at exit
    if (signal != kSystemCallStop) {
      throw std::runtime_error(std::string("the watched child got ") + strsignal(signal));
    }
    ++stops;
  }
}

int CountInChild(pid_t child) {
  if (NextStop(child) != SIGTRAP) throw std::runtime_error("the watched child did not start");
  if (ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0)
    ThrowErrno("PTRACE_SETOPTIONS");
  const int known = CallsUntilStop(child);
  if (known != kKnownCalls) {
    throw std::runtime_error("ptrace counted " + std::to_string(known) + " system calls of " +
                             std::to_string(kKnownCalls));
  }
  return CallsUntilStop(child);
}

}  // namespace

void MeasureWork(const LocalOptions& options, Report* report) {
  FailedQueue queue(options.device);
  std::vector<double> post;
  std::vector<double> poll;
  const Stopwatch watch;
  do {
    const BatchTimes times = MeasureBatch(&queue);
    post.push_back(times.post_ns);
    if (times.poll_ns > 0) poll.push_back(times.poll_ns);
  } while (watch.Ns() < options.seconds * 1e9 && post.size() * kBatch < options.count);
  report->Add("post_sq.ns", Median(post), "ns", {{"count", post.size() * kBatch}});
  if (poll.empty()) {
    report->Skip("poll_cq.ns", Report::Keys::object(), "no batch was complete in time");
  } else {
    report->Add("poll_cq.ns", Median(poll), "ns", {{"count", poll.size() * kBatch}});
  }
  const Mean empty = MeasureMean(options.count, options.seconds, [&] { queue.Poll(); });
  report->Add("poll_cq.empty_ns", empty.ns, "ns", {{"count", empty.count}});
}

void CountSystemCalls(const LocalOptions& options, Report* report) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) ThrowErrno("fork");
  if (child == 0) BeWatched(options.device);
  int calls = 0;
  try {
    calls = CountInChild(child);
  } catch (const std::exception&) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    throw;
  }
  ptrace(PTRACE_CONT, child, nullptr, nullptr);
  waitpid(child, nullptr, 0);
  report->Add("data_path.syscalls", calls, "calls", {{"posts", kMeasuredPosts}}, "none");
}

}  // namespace exrnic
