// SPDX-License-Identifier: BSD-2-Clause
// The data path makes no system call. exrnic-guest-test shows the same on the real device.
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <iterator>

#include "rig.h"

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

}  // namespace
}  // namespace exrnic
