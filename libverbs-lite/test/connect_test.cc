// SPDX-License-Identifier: BSD-2-Clause
// exrnic/connect.h: two ends on the software device, and peers that are none.
#include "exrnic/connect.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "conn_message.h"
#include "own_peer.h"
#include "rig.h"

namespace exrnic {
namespace {

constexpr int kPatience = 20'000;

struct Ends {
  Ends() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0); }
  ~Ends() {
    for (int end : fd) close(end);
  }
  int fd[2];
};

std::string Listening(int listener) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

TEST_CASE("a connection that meets itself is told from one with a peer") {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  REQUIRE(connect(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);  // to its own port
  CHECK(IsOwnPeer(fd));
  close(fd);

  const int listener = vl_conn_listen("127.0.0.1:0");
  const int other = vl_conn_connect(Listening(listener).c_str(), kPatience);
  REQUIRE(other >= 0);
  CHECK_FALSE(IsOwnPeer(other));
  close(other);
  close(listener);
}

TEST_CASE("two programs that meet over TCP are connected, and may send at once") {
  FakeFabric fabric(2);
  fabric.Start();
  Endpoint a(&fabric, 0);
  Endpoint b(&fabric, 1);
  const int listener = vl_conn_listen("127.0.0.1:0");
  REQUIRE(listener >= 0);
  vl_conn_info of_b = {};
  of_b.address = reinterpret_cast<uintptr_t>(b.buffer.data());
  of_b.length = b.buffer.size();
  of_b.stag = vl_mr_stag(b.mr);
  of_b.private_len = 5;
  memcpy(of_b.private_data, "hello", 5);
  vl_conn_info of_a = {};
  int connected = -1;
  std::thread peer([&] {
    const int fd = vl_conn_accept(listener, kPatience);
    vl_conn_info theirs;
    connected = vl_connect_qp(b.qp, fd, &of_b, &theirs, kPatience);
    close(fd);
  });
  const int fd = vl_conn_connect(Listening(listener).c_str(), kPatience);
  REQUIRE(fd >= 0);
  vl_conn_info theirs;
  CHECK(vl_connect_qp(a.qp, fd, &of_a, &theirs, kPatience) == 0);
  peer.join();
  CHECK(connected == 0);
  CHECK(theirs.node_id == 1);
  CHECK(theirs.qpn == vl_qp_number(b.qp));
  CHECK(theirs.address == of_b.address);
  CHECK(theirs.length == of_b.length);
  CHECK(theirs.stag == of_b.stag);
  CHECK(std::string(reinterpret_cast<char*>(theirs.private_data), theirs.private_len) == "hello");
  vl_qp_attr attr;
  REQUIRE(vl_query_qp(b.qp, &attr) == 0);
  CHECK(attr.state == VL_QPS_RTS);
  CHECK(attr.dest_qpn == vl_qp_number(a.qp));
  close(fd);
  close(listener);
}

// What vl_connect_qp gives when the peer sends these bytes, and then nothing or its end. text: what
// it has to say of it.
int ErrorOf(const std::string& bytes, bool ends, std::string* text = nullptr) {
  FakeFabric fabric(1);
  Endpoint end(&fabric, 0);
  Ends ends_of;
  REQUIRE(send(ends_of.fd[1], bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  if (ends) shutdown(ends_of.fd[1], SHUT_WR);
  const vl_conn_info mine = {};
  vl_conn_info theirs;
  memset(&theirs, 0x5a, sizeof(theirs));
  const vl_conn_info before = theirs;
  const int result = vl_connect_qp(end.qp, ends_of.fd[0], &mine, &theirs, 50);
  const int error = result == 0 ? 0 : errno;
  if (text != nullptr) *text = vl_error_text();
  CHECK((result == 0 || memcmp(&theirs, &before, sizeof(theirs)) == 0));
  return error;
}

template <size_t N>
std::string Text(const std::array<uint8_t, N>& bytes) {
  return std::string(bytes.begin(), bytes.end());
}

TEST_CASE("a peer that is none is refused, whatever it sends") {
  const std::string head = Text(EncodeConnHead(ConnKind::kInfo, kConnInfoBytes));
  const std::string body = Text(EncodeConnInfo({}, VL_SERVICE_RC));
  std::string newer = head;
  newer[5] = kConnVersion + 1;
  vl_conn_info wraps = {};
  wraps.address = ~uint64_t{0} - 5;
  wraps.length = 7;
  vl_conn_info ends = wraps;
  ends.length = 6;
  std::string loud = body;
  loud[28] = 1;  // private_len: 2^24

  std::string text;
  CHECK(ErrorOf(head + Text(EncodeConnInfo({}, VL_SERVICE_UC)), false, &text) == EPROTO);
  CHECK(text.find("of service 1, this one of 0") != std::string::npos);
  CHECK(ErrorOf("HTTP/1.1 200 OK\r\n\r\n", false) == EPROTO);
  CHECK(ErrorOf(newer + body, false, &text) == EPROTONOSUPPORT);
  CHECK(text.find("version 3") != std::string::npos);
  CHECK(ErrorOf(Text(EncodeConnHead(ConnKind::kReady, 0)), false) == EPROTO);
  CHECK(ErrorOf(Text(EncodeConnHead(ConnKind::kInfo, kConnInfoBytes + 1)) + body, false) == EPROTO);
  CHECK(ErrorOf(Text(EncodeConnHead(ConnKind::kInfo, 0xffffffff)), false) == EPROTO);
  CHECK(ErrorOf(head + Text(EncodeConnInfo(wraps, VL_SERVICE_RC)), false) == EPROTO);
  CHECK(ErrorOf(head + Text(EncodeConnInfo(ends, VL_SERVICE_RC)), false) == ETIMEDOUT);
  CHECK(ErrorOf(head + loud, false) == EPROTO);
  CHECK(ErrorOf("", true) == ECONNRESET);
  CHECK(ErrorOf(head + body.substr(1), true) == ECONNRESET);
  CHECK(ErrorOf("", false) == ETIMEDOUT);
  CHECK(ErrorOf(head + body, false) == ETIMEDOUT);  // it never says that it is ready
  CHECK(ErrorOf(head + body + head, false) == EPROTO);
}

TEST_CASE("addresses that are none, and times that are none, are refused") {
  for (const char* address : {"", "nothing", "host:", "127.0.0.1:http", "127.0.0.1:99999", ":1"}) {
    INFO(address);
    CHECK(vl_conn_connect(address, 10) == -1);
    CHECK(errno == EINVAL);
  }
  CHECK(vl_conn_listen(nullptr) == -1);
  CHECK(errno == EINVAL);
  CHECK(vl_conn_connect("127.0.0.1:1", -1) == -1);
  CHECK(errno == EINVAL);
  CHECK(vl_conn_accept(0, -1) == -1);
  CHECK(errno == EINVAL);
  CHECK(vl_conn_accept(-1, kPatience) == -1);  // at once
  CHECK(errno == EBADF);
  CHECK(vl_connect_qp(nullptr, 0, nullptr, nullptr, 1) == -1);
  CHECK(errno == EINVAL);
}

TEST_CASE("who waits for nobody gives up, and says for whom") {
  const int listener = vl_conn_listen("127.0.0.1:0");
  REQUIRE(listener >= 0);
  CHECK(vl_conn_accept(listener, 10) == -1);
  CHECK(errno == ETIMEDOUT);
  const std::string address = Listening(listener);
  close(listener);
  CHECK(vl_conn_connect(address.c_str(), 30) == -1);
  CHECK(errno == ETIMEDOUT);
  CHECK(std::string(vl_error_text()).find(address) != std::string::npos);
}

}  // namespace
}  // namespace exrnic
