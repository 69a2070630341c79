// SPDX-License-Identifier: BSD-2-Clause
// exrnic-tcp: TCP between two guests, in both directions at once, with bytes that are checked. Each
// end says how many it sends, and prints a row of what it has received and how fast.
//
//   exrnic-tcp --listen --send 0            one end
//   exrnic-tcp --to ADDRESS --send 8000000  the other one
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace exrnic::tcp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint16_t kPort = 5001;
constexpr size_t kPiece = size_t{64} * 1024;
// No multiple of any piece or segment: bytes that are lost, doubled or elsewhere are others.
constexpr size_t kPeriod = 1000003;
constexpr auto kPatience = std::chrono::seconds(30);
constexpr int kEndSeconds = 10;

struct Arguments {
  bool listen = false;
  std::string to;
  uint64_t send = 0;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {
    if (fd < 0) fail("no socket");
  }
  ~Socket() { ::close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Of either family; an IPv4 one is of the IPv6 socket, too.
sockaddr_in6 address_of(const std::string& text) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(kPort);
  const std::string mapped = text.find(':') == std::string::npos ? "::ffff:" + text : text;
  if (::inet_pton(AF_INET6, mapped.c_str(), &address.sin6_addr) != 1) {
    throw std::runtime_error(fmt::format("--to {}: write an IPv4 or IPv6 address", text));
  }
  return address;
}

int accept_one() {
  const Socket listener(::socket(AF_INET6, SOCK_STREAM, 0));
  const sockaddr_in6 any = address_of("::");
  const int yes = 1;
  ::setsockopt(listener.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (::bind(listener.fd(), reinterpret_cast<const sockaddr*>(&any), sizeof(any)) != 0 ||
      ::listen(listener.fd(), 1) != 0) {
    fail(fmt::format("port {}", kPort));
  }
  return ::accept(listener.fd(), nullptr, nullptr);
}

// The other end may not listen yet.
int connect_to(const std::string& to) {
  const sockaddr_in6 address = address_of(to);
  const auto deadline = Clock::now() + kPatience;
  for (;;) {
    const int fd = ::socket(AF_INET6, SOCK_STREAM, 0);
    if (fd < 0) fail("no socket");
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
    ::close(fd);
    if (Clock::now() > deadline) fail("--to " + to);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Bytes of a period, and behind them the begin of the next one.
std::vector<uint8_t> make_pattern() {
  std::vector<uint8_t> pattern(kPeriod + kPiece);
  std::mt19937 random(kPort);  // NOLINT(cert-msc*): both ends have the same
  for (size_t i = 0; i < kPeriod; i++) pattern[i] = static_cast<uint8_t>(random());
  std::copy_n(pattern.begin(), kPiece, pattern.begin() + kPeriod);
  return pattern;
}

void send_all(int fd, const void* from, size_t bytes) {
  const auto* at = static_cast<const uint8_t*>(from);
  while (bytes != 0) {
    const ssize_t sent = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent < 0) fail("send");
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
}

size_t receive(int fd, void* to, size_t bytes) {
  const ssize_t received = ::recv(fd, to, bytes, 0);
  if (received < 0) fail("receive");
  if (received == 0) throw std::runtime_error("the other end has gone before its bytes");
  return static_cast<size_t>(received);
}

void send_pattern(int fd, const std::vector<uint8_t>& pattern, uint64_t count) {
  send_all(fd, &count, sizeof(count));
  for (uint64_t done = 0; done < count;) {
    const size_t piece = std::min<uint64_t>(kPiece, count - done);
    send_all(fd, &pattern[done % kPeriod], piece);
    done += piece;
  }
}

uint64_t receive_count(int fd) {
  uint64_t count = 0;
  auto* at = reinterpret_cast<uint8_t*>(&count);
  for (size_t done = 0; done < sizeof(count);) done += receive(fd, at + done, sizeof(count) - done);
  return count;
}

void report(uint64_t bytes, Clock::duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  fmt::print("@exrnic {{\"received\": {}, \"seconds\": {:.6f}, \"gbit_per_s\": {:.4f}}}\n", bytes,
             seconds, seconds > 0 ? static_cast<double>(bytes) * 8e-9 / seconds : 0);
}

void receive_pattern(int fd, const std::vector<uint8_t>& pattern) {
  std::array<uint8_t, kPiece> piece{};
  const uint64_t count = receive_count(fd);
  const auto begin = Clock::now();
  for (uint64_t done = 0; done < count;) {
    const size_t bytes = receive(fd, piece.data(), std::min<uint64_t>(kPiece, count - done));
    if (std::memcmp(piece.data(), &pattern[done % kPeriod], bytes) != 0) {
      throw std::runtime_error(fmt::format("wrong bytes among those from {} on", done));
    }
    done += bytes;
  }
  if (count != 0) report(count, Clock::now() - begin);
}

void exchange(int fd, uint64_t count) {
  const std::vector<uint8_t> pattern = make_pattern();
  std::exception_ptr failure;
  std::thread sender([&] {
    try {
      send_pattern(fd, pattern, count);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  try {
    receive_pattern(fd, pattern);
    sender.join();
  } catch (...) {
    ::shutdown(fd, SHUT_RDWR);
    sender.join();
    throw;
  }
  if (failure) std::rethrow_exception(failure);
  // Until the other end has all, too: its guest may go as soon as this ends, and so may this one.
  // close() waits until the other end has heard of the end, over a line that loses that, too.
  const linger patience{.l_onoff = 1, .l_linger = kEndSeconds};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &patience, sizeof(patience));
  ::shutdown(fd, SHUT_WR);
  std::array<uint8_t, 1> none{};
  if (::recv(fd, none.data(), none.size(), 0) < 0) fail("the other end");
}

void run(const Arguments& arguments) {
  const Socket connection(arguments.listen ? accept_one() : connect_to(arguments.to));
  exchange(connection.fd(), arguments.send);
}

}  // namespace
}  // namespace exrnic::tcp

int main(int argc, char** argv) {
  exrnic::tcp::Arguments arguments;
  CLI::App app("TCP between two guests, with bytes that are checked");
  auto* listen = app.add_flag("--listen", arguments.listen, "wait for the other end");
  auto* to = app.add_option("--to", arguments.to, "address of the end that listens");
  listen->excludes(to);
  app.add_option("--send", arguments.send, "bytes that this end sends");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!arguments.listen && arguments.to.empty()) {
      throw std::runtime_error("give --listen, or --to with an address");
    }
    exrnic::tcp::run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exrnic-tcp: {}\n", error.what());
    return 1;
  }
  return 0;
}
