// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/transport.h"

#include <poll.h>
#include <sys/socket.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "sim/posix/unix_socket.h"
#include "sim/vfio_user/test_support.h"

namespace exrnic::vfio_user {
namespace {

using Status = Connection::Status;

struct Pair {
  Pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    raw.reset(ends[0]);
    connection = std::make_unique<Connection>(UniqueFd(ends[1]), Connection::Peer::kClient);
  }

  // What a client puts into the stream, whatever it is.
  void put(const Bytes& bytes, const std::vector<int>& fds = {}) {
    std::vector<char> control(CMSG_SPACE(sizeof(int) * fds.size()));
    iovec data{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
      std::memcpy(CMSG_DATA(c), fds.data(), sizeof(int) * fds.size());
    }
    REQUIRE(::sendmsg(raw.get(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }

  UniqueFd raw;
  std::unique_ptr<Connection> connection;
  Message message;
};

Bytes message_bytes(uint16_t id, const Bytes& payload, uint32_t flags = 0) {
  const Header header{id, 9, static_cast<uint32_t>(sizeof(Header) + payload.size()), flags, 0};
  Bytes bytes(sizeof(header));
  std::memcpy(bytes.data(), &header, sizeof(header));
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

TEST_CASE_METHOD(Pair, "an empty socket gives nothing, at once") {
  CHECK(connection->receive(&message) == Status::kNothing);
}

TEST_CASE_METHOD(Pair, "a message that comes byte by byte arrives whole") {
  const Bytes bytes = message_bytes(5, {1, 2, 3});
  for (size_t i = 0; i < bytes.size(); ++i) {
    CHECK(connection->receive(&message) == Status::kNothing);
    put({bytes[i]});
  }
  REQUIRE(connection->receive(&message) == Status::kMessage);
  CHECK(message.header.id == 5);
  CHECK(message.payload == Bytes{1, 2, 3});
}

TEST_CASE_METHOD(Pair, "messages that come at once arrive one by one, each with its own fds") {
  const Eventfd event;
  Bytes two = message_bytes(1, {1});
  const Bytes second = message_bytes(2, {2});
  two.insert(two.end(), second.begin(), second.end());
  put(two);
  put(message_bytes(3, {3}), {event.fd(), event.fd()});
  put(message_bytes(4, {4}), {event.fd()});
  const size_t fds[] = {0, 0, 2, 1};
  for (uint16_t id = 1; id <= 4; ++id) {
    REQUIRE(connection->receive(&message) == Status::kMessage);
    CHECK(message.header.id == id);
    CHECK(message.fds.size() == fds[id - 1]);
  }
  CHECK(connection->receive(&message) == Status::kNothing);
}

TEST_CASE_METHOD(Pair, "the end of the stream between messages is a farewell") {
  put(message_bytes(1, {}));
  raw.reset();
  CHECK(connection->receive(&message) == Status::kMessage);
  CHECK(connection->receive(&message) == Status::kClosed);
  CHECK(connection->receive(&message) == Status::kClosed);
}

TEST_CASE_METHOD(Pair, "the end of the stream inside a message is a fault") {
  const Bytes bytes = message_bytes(1, {1, 2, 3});
  const size_t cut = GENERATE_COPY(size_t{1}, sizeof(Header), bytes.size() - 1);
  put(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(cut)));
  raw.reset();
  CHECK(connection->receive(&message) == Status::kMalformed);
  CHECK_FALSE(connection->failure().empty());
}

TEST_CASE_METHOD(Pair, "a bad header is a fault that stays, with its value in the reason") {
  Bytes bytes = message_bytes(1, {});
  const uint32_t size = 99999999;
  std::memcpy(bytes.data() + 4, &size, sizeof(size));
  put(bytes);
  put(message_bytes(2, {}));
  CHECK(connection->receive(&message) == Status::kMalformed);
  CHECK(connection->failure().find("99999999") != std::string::npos);
  CHECK(connection->receive(&message) == Status::kMalformed);
}

TEST_CASE_METHOD(Pair, "more descriptors than allowed are a fault, and all are closed") {
  const Eventfd event;
  const size_t before = open_fds();
  const size_t extra = GENERATE(1u, 2u, 3u, 40u);
  put(message_bytes(1, {}), std::vector<int>(kMaxMessageFds + extra, event.fd()));
  CHECK(connection->receive(&message) == Status::kMalformed);
  CHECK(open_fds() == before);
}

TEST_CASE_METHOD(Pair, "descriptors that come with a later part of a message count too") {
  const Eventfd event;
  const size_t before = open_fds();
  const Bytes bytes = message_bytes(1, {1, 2, 3, 4});
  put(Bytes(bytes.begin(), bytes.begin() + 16), std::vector<int>(5, event.fd()));
  put(Bytes(bytes.begin() + 16, bytes.begin() + 18), std::vector<int>(3, event.fd()));
  put(Bytes(bytes.begin() + 18, bytes.end()), {event.fd()});
  CHECK(connection->receive(&message) == Status::kMalformed);
  CHECK(open_fds() == before);
}

TEST_CASE_METHOD(Pair, "descriptors of a message that never ends are closed with the connection") {
  const Eventfd event;
  const size_t before = open_fds();
  put(Bytes(8), {event.fd(), event.fd()});
  CHECK(connection->receive(&message) == Status::kNothing);
  CHECK(open_fds() == before + 2);
  connection.reset();
  CHECK(open_fds() == before - 1);
}

TEST_CASE_METHOD(Pair, "what the peer does not read is queued, and sent in order when it does") {
  const Bytes payload(4000, 0x5a);
  uint16_t sent = 0;
  while (connection->queued_bytes() == 0) {
    REQUIRE(connection->send({sent++, 9, 0, Header::kTypeReply, 0}, payload));
    REQUIRE(sent < 10000);
  }
  for (int more = 0; more < 3; ++more) {
    connection->send({sent++, 9, 0, Header::kTypeReply, 0}, payload);
  }
  Connection reader(std::move(raw), Connection::Peer::kServer);
  for (uint16_t id = 0; id < sent;) {
    connection->flush();
    const Status status = reader.receive(&message);
    if (status == Status::kNothing) continue;
    REQUIRE(status == Status::kMessage);
    REQUIRE(message.header.id == id++);
    REQUIRE(message.payload == payload);
  }
  CHECK(connection->queued_bytes() == 0);
}

TEST_CASE_METHOD(Pair, "descriptors go out with their message") {
  Eventfd event;
  REQUIRE(connection->send({1, 9, 0, Header::kTypeReply, 0}, {7}, {event.fd()}));
  Connection reader(std::move(raw), Connection::Peer::kServer);
  REQUIRE(reader.receive(&message) == Status::kMessage);
  REQUIRE(message.fds.size() == 1);
  const uint64_t one = 1;
  CHECK(::write(message.fds[0].get(), &one, sizeof(one)) == sizeof(one));
  CHECK(event.take() == 1);
}

TEST_CASE_METHOD(Pair, "a send to a peer that is gone fails and raises no signal") {
  raw.reset();
  CHECK_FALSE(connection->send({1, 9, 0, Header::kTypeReply, 0}, {}));
  CHECK_FALSE(connection->send({2, 9, 0, Header::kTypeReply, 0}, {}));
}

// QEMU 11.1 ends itself when it reads ECONNRESET, which is what a socket tells that is closed with
// unread bytes.
TEST_CASE_METHOD(Pair,
                 "behind what was sent the peer reads the end of the stream, whatever is unread") {
  UniqueFd sent(::open("/dev/null", O_RDONLY));
  REQUIRE(connection->send({1, 9, 0, Header::kTypeReply, 0}, {}));
  put(message_bytes(5, Bytes(100000)), {sent.get()});
  put({1, 2, 3});
  connection.reset();
  Bytes reply(sizeof(Header));
  CHECK(::recv(raw.get(), reply.data(), reply.size(), 0) == static_cast<ssize_t>(reply.size()));
  CHECK(::recv(raw.get(), reply.data(), reply.size(), 0) == 0);
}

struct Folder {
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "exrnic-vfio-user-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path = name + "/socket";
  }
  ~Folder() {
    ::unlink(path.c_str());
    ::rmdir(path.substr(0, path.rfind('/')).c_str());
  }
  std::string path;
};

std::string complaint_of(const std::string& path) {
  try {
    listen_unix(path);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE_METHOD(Folder, "a socket file that nobody serves is replaced") {
  listen_unix(path).reset();
  UniqueFd listener = listen_unix(path);
  CHECK(connect_unix(path));
}

TEST_CASE_METHOD(Folder, "a socket that somebody serves is left alone") {
  const UniqueFd listener = listen_unix(path);
  CHECK(complaint_of(path).find("another process serves it") != std::string::npos);
  CHECK(connect_unix(path));
}

TEST_CASE_METHOD(Folder, "a file that is no socket is left alone") {
  const UniqueFd file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  CHECK(complaint_of(path).find("no socket") != std::string::npos);
  CHECK(::access(path.c_str(), F_OK) == 0);
}

TEST_CASE("a path that cannot be served is one line that names it") {
  CHECK(complaint_of("/nowhere/at/all").find("/nowhere/at/all: No such file") != std::string::npos);
  CHECK(complaint_of(std::string(200, 'x')).find("this one has 200") != std::string::npos);
  CHECK_THROWS_AS(connect_unix("/nowhere/at/all"), std::runtime_error);
}

}  // namespace
}  // namespace exrnic::vfio_user
