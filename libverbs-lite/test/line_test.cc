// SPDX-License-Identifier: BSD-2-Clause
// exrnic/connect.h over serial lines: two terminals, joined by a thread that is the cable.
#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "conn_message.h"
#include "exrnic/connect.h"
#include "rig.h"

namespace exrnic {
namespace {

constexpr int kPatience = 20'000;

// One end of a line, as a guest has it; the cable is at the other side of it.
struct Terminal {
  Terminal() : cable(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    REQUIRE(cable >= 0);
    REQUIRE(grantpt(cable) == 0);
    REQUIRE(unlockpt(cable) == 0);
    path = ptsname(cable);
    // As a machine that is off or boots: the line is there, and nobody has set it to raw mode.
    keeper = open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(keeper >= 0);
    termios mode;
    REQUIRE(tcgetattr(keeper, &mode) == 0);
    mode.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    REQUIRE(tcsetattr(keeper, TCSANOW, &mode) == 0);
  }
  ~Terminal() {
    if (keeper >= 0) close(keeper);
    close(cable);
  }
  int Open() const {
    const int fd = open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    return fd;
  }

  int cable;
  int keeper;
  std::string path;
};

// spoil(): what becomes of a byte; called for each one, in order.
class Cable {
 public:
  explicit Cable(std::function<void(std::string*)> spoil = [](std::string*) {})
      : spoil_(std::move(spoil)), thread_([this] { Run(); }) {}
  ~Cable() {
    stop_ = true;
    thread_.join();
  }
  Terminal a, b;

 private:
  void Run() {
    while (!stop_) {
      pollfd ready[2] = {{a.cable, POLLIN, 0}, {b.cable, POLLIN, 0}};
      poll(ready, 2, 5);
      if (ready[0].revents & POLLIN) Carry(a.cable, b.cable);
      if (ready[1].revents & POLLIN) Carry(b.cable, a.cable);
    }
  }
  void Carry(int from, int to) {
    char bytes[64];
    const ssize_t count = read(from, bytes, sizeof(bytes));
    if (count <= 0) return;
    std::string carried(bytes, static_cast<size_t>(count));
    spoil_(&carried);
    for (size_t done = 0; done < carried.size();) {
      const ssize_t some = write(to, carried.data() + done, carried.size() - done);
      if (some <= 0) return;
      done += static_cast<size_t>(some);
    }
  }

  const std::function<void(std::string*)> spoil_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

struct Ends {
  Ends() { fabric.Start(); }
  FakeFabric fabric{2};
  Endpoint a{&fabric, 0};
  Endpoint b{&fabric, 1};
};

// What an end of vl_connect_qp has got.
struct Got {
  int result = -2;
  int error = 0;
  std::string text;
  vl_conn_info theirs = {};
};

Got Connect(vl_qp* qp, int fd, uint64_t address, int timeout_ms = kPatience) {
  Got got;
  vl_conn_info mine = {};
  mine.address = address;
  got.result = vl_connect_qp(qp, fd, &mine, &got.theirs, timeout_ms);
  got.error = got.result == 0 ? 0 : errno;
  got.text = vl_error_text();
  return got;
}

// Connects both and lets the program use the line behind it.
void ExpectConnection(const Cable& cable, bool line_is_clean) {
  Ends ends;
  const int fd_a = cable.a.Open();
  const int fd_b = cable.b.Open();
  Got got_b;
  std::thread peer([&] {
    got_b = Connect(ends.b.qp, fd_b, 0xb0b);
    if (line_is_clean) (void)!write(fd_b, "from b", 6);
  });
  const Got got_a = Connect(ends.a.qp, fd_a, 0xa1);
  INFO(got_a.text);
  CHECK(got_a.result == 0);
  peer.join();
  INFO(got_b.text);
  CHECK(got_b.result == 0);
  CHECK(got_a.theirs.address == 0xb0b);
  CHECK(got_a.theirs.node_id == 1);
  CHECK(got_a.theirs.qpn == vl_qp_number(ends.b.qp));
  CHECK(got_b.theirs.address == 0xa1);
  vl_qp_attr attr = {};
  REQUIRE(vl_query_qp(ends.a.qp, &attr) == 0);
  CHECK(attr.state == VL_QPS_RTS);
  if (line_is_clean) {
    char bytes[7] = {};
    for (size_t have = 0; have < 6;) {
      const ssize_t count = read(fd_a, bytes + have, 6 - have);
      REQUIRE(count > 0);
      have += static_cast<size_t>(count);
    }
    CHECK(std::string(bytes) == "from b");
  }
  close(fd_a);
  close(fd_b);
}

TEST_CASE(
    "two programs connect their queue pairs over a serial line, and then have it for themselves") {
  ExpectConnection(Cable(), true);
}

TEST_CASE("what a program before has left on the line does not matter") {
  Cable cable;
  // Half a word of another call, a whole one, and what a shell says.
  LineWord old;
  old.session = 77;
  old.heard = 78;
  old.stage = LineStage::kMet;
  const LineBytes word = EncodeLineWord(old);
  REQUIRE(write(cable.a.cable, word.data(), 50) == 50);
  REQUIRE(write(cable.a.cable, word.data(), word.size()) == static_cast<ssize_t>(word.size()));
  REQUIRE(write(cable.a.cable, "\r\nlogin: ", 9) == 9);
  ExpectConnection(cable, true);
}

TEST_CASE("a line that damages, loses and doubles bytes is only slow") {
  unsigned seed = 1;
  ExpectConnection(Cable([&seed](std::string* bytes) {
                     const auto draw = [&seed] {
                       return (seed = seed * 1664525 + 1013904223) >> 16;
                     };
                     const unsigned fate = draw() % 16;
                     if (fate == 0) bytes->at(draw() % bytes->size()) ^= 1;
                     if (fate == 1) bytes->erase(draw() % bytes->size(), 1);
                     if (fate == 2) bytes->insert(draw() % bytes->size(), "VLCN");
                   }),
                   false);
}

TEST_CASE("several queue pairs are connected over one line, in turn") {
  Cable cable;
  for (int i = 0; i < 3; ++i) ExpectConnection(cable, true);
}

TEST_CASE("the calls that meet over TCP meet over a line, by its path") {
  Cable cable;
  Ends ends;
  int met = -1;
  std::thread peer([&] {
    const int listener = vl_conn_listen(cable.b.path.c_str());
    const int fd = vl_conn_accept(listener, kPatience);
    if (Connect(ends.b.qp, fd, 2).result == 0) met = vl_conn_meet(fd, kPatience);
    close(fd);
    close(listener);
  });
  const int fd = vl_conn_connect(cable.a.path.c_str(), kPatience);
  REQUIRE(fd >= 0);
  CHECK(Connect(ends.a.qp, fd, 1).result == 0);
  CHECK(vl_conn_meet(fd, kPatience) == 0);
  peer.join();
  CHECK(met == 0);
  close(fd);
}

TEST_CASE("who finds nobody on the line gives up in time, and says so") {
  Cable cable;
  Ends ends;
  const int fd = cable.a.Open();
  const int flags = fcntl(fd, F_GETFL);
  const Got got = Connect(ends.a.qp, fd, 0, 50);
  CHECK(got.result == -1);
  CHECK(got.error == ETIMEDOUT);
  CHECK(got.text.find("nobody") != std::string::npos);
  CHECK(fcntl(fd, F_GETFL) == flags);
  close(fd);
}

TEST_CASE("noise without a pause does not outlast the time of a call") {
  using Clock = std::chrono::steady_clock;
  Ends ends;
  const int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);  // always has a byte more
  REQUIRE(fd >= 0);
  const auto begin = Clock::now();
  const Got got = Connect(ends.a.qp, fd, 0, 50);
  CHECK(got.error == ETIMEDOUT);
  CHECK(vl_conn_meet(fd, 50) == -1);
  CHECK(errno == ETIMEDOUT);
  CHECK(Clock::now() - begin < std::chrono::seconds(5));
  close(fd);
}

TEST_CASE("a peer that fails tells the other one, which does not wait for its time limit") {
  Cable cable;
  Ends ends;
  const int fd_a = cable.a.Open();
  const int fd_b = cable.b.Open();
  vl_qp_attr attr = {};
  attr.state = VL_QPS_ERROR;
  REQUIRE(vl_modify_qp(ends.b.qp, &attr) == 0);  // from where it does not go to RTR
  Got got_b;
  std::thread peer([&] { got_b = Connect(ends.b.qp, fd_b, 0); });
  const Got got_a = Connect(ends.a.qp, fd_a, 0);
  peer.join();
  CHECK(got_b.error == EPERM);
  CHECK(got_a.error == ECONNRESET);
  CHECK(got_a.text.find("gave up") != std::string::npos);
  close(fd_a);
  close(fd_b);
}

TEST_CASE("ends of different services, or in different calls, are told so") {
  Cable cable;
  Ends ends;
  vl_qp_init_attr init = QpInit(ends.b.cq, ends.b.cq, 1, 1);
  init.service = VL_SERVICE_UC;
  vl_qp* uc = vl_create_qp(ends.b.pd, &init);
  REQUIRE(uc != nullptr);
  const int fd_a = cable.a.Open();
  const int fd_b = cable.b.Open();
  Got got_b;
  std::thread other_service([&] { got_b = Connect(uc, fd_b, 0); });
  const Got got_a = Connect(ends.a.qp, fd_a, 0);
  other_service.join();
  CHECK((got_a.error == EPROTO || got_b.error == EPROTO));
  CHECK((got_a.result == -1 && got_b.result == -1));

  int met = 0;
  std::thread other_call([&] { met = vl_conn_meet(fd_b, kPatience); });
  CHECK(Connect(ends.a.qp, fd_a, 0).result == -1);
  other_call.join();
  CHECK(met == -1);
  CHECK(vl_destroy_qp(uc) == 0);
  close(fd_a);
  close(fd_b);
}

TEST_CASE("a line whose other end is gone is no line") {
  Ends ends;
  Terminal terminal;
  const int fd = terminal.Open();
  std::thread puller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    close(terminal.cable);
  });
  const Got got = Connect(ends.a.qp, fd, 0);
  puller.join();
  CHECK(got.error == ECONNRESET);
  terminal.cable = open("/dev/null", O_RDONLY | O_CLOEXEC);  // for its end
  close(fd);
}

}  // namespace
}  // namespace exrnic
