// SPDX-License-Identifier: BSD-2-Clause
// The data path makes no system call: it works where the kernel kills for one.
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "child_connection.h"
#include "pattern.h"

namespace exrnic {

namespace {

constexpr uint32_t kPushes = 10000;
constexpr uint32_t kBytes = 8;
constexpr uint32_t kDepth = 32;
constexpr size_t kTargetBytes = 128 * 1024;
static_assert(kPushes * kBytes <= kTargetBytes, "a place for each");

struct Result {
  uint32_t posted;
  uint32_t completed;
  uint32_t failed;
};

bool PostOne(const Connection& connection, uint32_t i) {
  const size_t at = size_t{i} * kBytes;
  const vl_sge sge = connection.Source(at, kBytes);
  vl_send_wr wr = {};
  wr.wr_id = i;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = VL_OP_PUSH;
  wr.flags = VL_SEND_SIGNALED;
  wr.remote_stag = connection.peer().stag;
  wr.remote_address = connection.peer().address + at;
  return vl_post_sq(connection.qp(), &wr, nullptr) == 0;
}

// Neither allocates nor asks for the time: those may be system calls. Its parent has the time
// limit.
Result PostAndPoll(const Connection& connection) {
  Result result = {};
  while (result.completed < kPushes && result.failed == 0) {
    while (result.posted < kPushes && result.posted - result.completed < kDepth) {
      if (!PostOne(connection, result.posted)) ++result.failed;
      ++result.posted;
    }
    vl_wc wc[8];
    const int count = vl_poll_cq(connection.cq(), 8, wc);
    if (count < 0) ++result.failed;
    for (int i = 0; i < count; ++i) {
      if (wc[i].status != VL_WC_SUCCESS || wc[i].wr_id != result.completed) ++result.failed;
      ++result.completed;
    }
  }
  return result;
}

// What the threads of a child do together: each posts the next PUSH and takes what has completed.
struct Shared {
  std::atomic<uint32_t> next{0};
  std::atomic<uint32_t> completed{0};
  std::atomic<uint32_t> failed{0};
};

// As many are under way as the completion queue has room for, whatever the send queue has.
void PostAndPollShared(const Connection& connection, Shared* shared) {
  while (shared->completed < kPushes && shared->failed == 0) {
    if (shared->next - shared->completed < kDepth) {
      const uint32_t mine = shared->next++;
      if (mine < kPushes && !PostOne(connection, mine)) ++shared->failed;
    }
    vl_wc wc[8];
    const int count = vl_poll_cq(connection.cq(), 8, wc);
    if (count < 0) ++shared->failed;
    for (int i = 0; i < count; ++i) {
      if (wc[i].status != VL_WC_SUCCESS) ++shared->failed;
      ++shared->completed;
    }
  }
}

void Confine() {
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) ThrowErrno("cannot enter seccomp");
}

// A thread that makes a system call is killed alone: the other one would go on without it.
void RunTwoConfined(Bench* bench, uint64_t seed, int in, int out) {
  Side side(*bench);
  Connection connection(&side, kTargetBytes, kDepth);
  FillPattern(seed, connection.source(), connection.bytes());
  MeetThroughParent(&connection, in, out);
  Shared shared;
  std::atomic<uint32_t> ended{0};
  const auto work = [&] {
    Confine();
    PostAndPollShared(connection, &shared);
    ++ended;
    syscall(SYS_exit, 0);
  };
  std::thread one(work);
  std::thread other(work);
  one.join();
  other.join();
  const Result result = {ended, shared.completed, shared.failed};
  Child::WriteAll(out, &result, sizeof(result));
}

void RequestOfTwo(Bench* bench) {
  const uint64_t seed = bench->NextSeed();
  Child child([=](int in, int out) { RunTwoConfined(bench, seed, in, out); });
  MeetForChild(bench, &child);
  const Result result = child.Receive<Result>("its result");
  bench->ExpectEqual(result.posted, 2, "threads that came to their end");
  bench->ExpectEqual(result.completed, kPushes, "completed PUSHes");
  bench->ExpectEqual(result.failed, 0, "failed calls");
  bench->Meet();
}

void RunConfined(Bench* bench, uint64_t seed, int in, int out) {
  Side side(*bench);
  Connection connection(&side, kTargetBytes, kDepth);
  FillPattern(seed, connection.source(), connection.bytes());
  MeetThroughParent(&connection, in, out);
  Confine();
  // From here on only read, write and exit.
  const uint8_t confined = 1;
  (void)!write(out, &confined, sizeof(confined));
  uint8_t go;
  (void)!read(in, &go, sizeof(go));
  const Result result = PostAndPoll(connection);
  (void)!write(out, &result, sizeof(result));
  syscall(SYS_exit, 0);  // _exit would be exit_group, which is forbidden
}

// The mode as the kernel tells it: "1" is strict.
std::string SeccompMode(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  while (status >> word) {
    if (word == "Seccomp:" && status >> word) return word;
  }
  return "unknown";
}

void Request(Bench* bench) {
  const uint64_t seed = bench->NextSeed();
  Child child([=](int in, int out) { RunConfined(bench, seed, in, out); });
  MeetForChild(bench, &child);
  child.Receive<uint8_t>("that it is confined");
  const std::string mode = SeccompMode(child.pid());
  bench->Expect(mode == "1", "the seccomp mode of the child is " + mode);
  child.Send(uint8_t{1});
  const Result result = child.Receive<Result>("its result");
  bench->ExpectEqual(result.completed, kPushes, "completed PUSHes");
  bench->ExpectEqual(result.failed, 0, "failed PUSHes");
  bench->Meet();
}

void Respond(Bench* bench) {
  const uint64_t seed = bench->NextSeed();
  Side side(*bench);
  Connection connection(&side, kTargetBytes, kDepth);
  connection.Meet(bench);
  bench->Meet();
  constexpr size_t kEnd = size_t{kPushes} * kBytes;
  bench->Expect(!ComparePattern(seed, connection.target(), kEnd), "bytes arrived wrong");
  bench->Expect(!CompareByte(Connection::kPoison, connection.target() + kEnd, kTargetBytes - kEnd),
                "bytes behind the last PUSH were written");
}

}  // namespace

std::vector<GuestCheck> SeccompChecks() {
  return {{"10000 PUSHes are posted and completed in seccomp strict mode: without a system call",
           Request, Respond, true},
          {"two threads in seccomp strict mode post and poll on one queue pair", RequestOfTwo,
           Respond, true}};
}

}  // namespace exrnic
