// SPDX-License-Identifier: BSD-2-Clause
// The data path makes no system call. exrnic-guest-test shows the same on the real device.
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "rig.h"

namespace exrnic {
namespace {

constexpr int kPushes = 10000;
constexpr uint64_t kReceives = 8;

// 0: all went well.
int PostAndPoll(Pair* pair) {
  for (uint64_t i = 0; i < kReceives; ++i) {
    const vl_recv_wr recv = {i, nullptr, nullptr, 0};
    if (vl_post_rq(pair->a.qp, &recv, nullptr) != 0) return 1;
  }
  vl_wc wc;
  for (uint64_t i = 0; i < kPushes; ++i) {
    if (vl_poll_cq(pair->a.cq, 1, &wc) != 0 || pair->Post(i) != 0) return 2;
    pair->fabric.Step();
    if (vl_poll_cq(pair->a.cq, 1, &wc) != 1 || wc.wr_id != i) return 3;
  }
  return 0;
}

TEST_CASE("posting and polling survive seccomp strict mode, which kills for a system call") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Pair pair;
    // Once before, so that the software device has the memory that it allocates.
    if (pair.Post(0) != 0) _exit(10);
    pair.fabric.Step();
    vl_wc wc;
    if (vl_poll_cq(pair.a.cq, 1, &wc) != 1) _exit(11);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(12);
    syscall(SYS_exit, PostAndPoll(&pair));
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(!WIFSIGNALED(status));
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace exrnic
