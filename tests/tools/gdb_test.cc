// SPDX-License-Identifier: BSD-2-Clause
// Debuggers at the on-chip processor of a whole node: GDB itself, and what is none.
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <stdexcept>

#include "firmware/image/firmware_image.h"
#include "sim/debug/gdb_server.h"
#include "tests/support/pair.h"

// Blocks of memory of this size and more are not to be had.
static size_t no_memory_from = SIZE_MAX;

void* operator new(size_t bytes) {
  void* const memory = bytes < no_memory_from ? std::malloc(bytes) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return bytes < no_memory_from ? std::malloc(bytes) : nullptr;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace exrnic::testing {
namespace {

using debug::GdbServer;
using debug::packet;

constexpr std::chrono::seconds kLimit(60);
constexpr uint64_t kClockNs = 4;

// A node with firmware that has come to rest, and a socket for a debugger.
class DebuggedNode {
 public:
  DebuggedNode()
      : path_("gdb_test." + std::to_string(::getpid())),
        server(path_, pair_.testbed, 0, [this](const std::string& line) { log += line + '\n'; }) {}

  void load_firmware() {
    rnic().write_register(EXRNIC_REG_FW_ADDRESS, 0);
    for (const uint32_t word : read_firmware_image(EXRNIC_FIRMWARE).payload)
      rnic().write_register(EXRNIC_REG_FW_DATA, word);
    rnic().write_register(EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN);
    turn_until("firmware to be ready",
               [&] { return rnic().read_register(EXRNIC_REG_FW_STATE) == EXRNIC_FW_STATE_READY; });
  }

  void turn() {
    server.service();
    pair_.testbed.run_while_busy(slice_ns_);
    server.after_slice();
  }
  void set_slice(uint64_t ns) { slice_ns_ = ns; }
  template <typename Done>
  void turn_until(const char* what, Done done) {
    const auto end = std::chrono::steady_clock::now() + kLimit;
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) {
        throw std::runtime_error(std::string("waited in vain for ") + what + "; log: " + log);
      }
      turn();
    }
  }
  bool has_logged(const char* text) const { return log.find(text) != std::string::npos; }

  RnicDriver& rnic() { return pair_.left.rnic; }
  const std::string& path() const { return path_; }

 private:
  Pair pair_;
  std::string path_;
  uint64_t slice_ns_ = 10'000;

 public:
  std::string log;
  GdbServer server;
};

// GDB as a process; its output in a file.
class Gdb {
 public:
  Gdb(const std::string& path, const std::vector<std::string>& commands) : output_(path + ".out") {
    std::vector<std::string> arguments = {"gdb-multiarch", "-nx", "-batch", EXRNIC_FIRMWARE_ELF};
    for (const std::string& command : commands) {
      arguments.push_back("-ex");
      arguments.push_back(command);
    }
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    if (std::freopen(output_.c_str(), "w", stdout) == nullptr) ::_exit(126);
    ::dup2(STDOUT_FILENO, STDERR_FILENO);
    ::execvp(pointers[0], pointers.data());
    ::_exit(127);
  }
  ~Gdb() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    std::filesystem::remove(output_);
  }

  bool has_ended() {
    if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = 0;
    return pid_ == 0;
  }
  int status() const { return status_; }
  std::string output() const {
    std::string text;
    if (std::FILE* file = std::fopen(output_.c_str(), "r")) {
      for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
      std::fclose(file);
    }
    return text;
  }

 private:
  std::string output_;
  pid_t pid_ = 0;
  int status_ = 0;
};

void expect(const std::string& output, const char* text) {
  INFO(output);
  CHECK(output.find(text) != std::string::npos);
}

TEST_CASE("GDB stops the firmware in a handler, shows its variables, steps, and lets it go on") {
  DebuggedNode node;
  node.load_firmware();
  Gdb gdb(node.path(),
          {"target remote " + node.path(), "break commands_serve", "continue", "backtrace",
           "print served", "finish", "print served", "info line", "set var $before = $pc", "stepi",
           "print/x $pc", "set var served = 41", "print served + 1", "print/x $ra != 0", "x/2i $pc",
           "print $pc != $before", "detach"});
  // The command waits: GDB has halted the processor.
  node.turn_until("GDB", [&] { return node.has_logged("connected") || gdb.has_ended(); });
  node.rnic().write_register(EXRNIC_REG_FW_COMMAND, EXRNIC_FW_OP_QUERY);
  node.turn_until("GDB to end", [&] { return gdb.has_ended(); });
  const std::string output = gdb.output();
  INFO(output);
  CHECK(gdb.status() == 0);
  expect(output, "Breakpoint 1, commands_serve ()");
  expect(output, "in fw_main ()");  // of the backtrace
  expect(output, "$1 = 0");
  expect(output, "$2 = 1");
  expect(output, "$3 = 0x8000");  // in the image, wherever that function lies now
  expect(output, "$4 = 42");
  expect(output, "$6 = 1");  // the step was one
  expect(output, "detached");
  node.turn_until("the command to end", [&] {
    return node.rnic().read_register(EXRNIC_REG_FW_COMMAND_STATUS) == EXRNIC_FW_STATUS_OK;
  });
  CHECK(node.rnic().read_register(EXRNIC_REG_FW_STATE) == EXRNIC_FW_STATE_READY);
}

// What connects to the socket and sends bytes.
class Client {
 public:
  explicit Client(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    REQUIRE(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  ~Client() { ::close(fd_); }

  void send(const std::string& bytes) {
    REQUIRE(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  // What has been answered up to the next packet's end, or up to the end of the connection.
  std::string answer(DebuggedNode& node) {
    std::string bytes;
    bool closed = false;
    node.turn_until("an answer", [&] {
      char byte;
      ssize_t got;
      while ((got = ::recv(fd_, &byte, 1, MSG_DONTWAIT)) == 1) {
        bytes += byte;
        if (bytes == "-" || (bytes.size() > 3 && bytes[bytes.size() - 3] == '#')) return true;
      }
      closed = got == 0;
      return closed;
    });
    return closed ? "closed" : bytes;
  }
  std::string ask(DebuggedNode& node, const std::string& request) {
    send(packet(request));
    return answer(node);
  }

 private:
  int fd_;
};

TEST_CASE("a debugger that asks for what is not there is told so, and nothing happens") {
  DebuggedNode node;
  node.load_firmware();
  Client client(node.path());
  CHECK(client.ask(node, "?") == "+" + packet("S05"));
  for (const char* request : {"p", "pg", "P25", "P26=00000000", "P1=12", "P1=xx345678", "m", "m0",
                              "m0,", "m0,ffffffff", "m0,4;", "M0,4:0011", "M0,1", "G00", "M0,0,"}) {
    INFO(request);
    CHECK(client.ask(node, request) == "+" + packet("E01"));
  }
  CHECK(client.ask(node, "m90000000,4") == "+" + packet("E0e"));
  CHECK(client.ask(node, "M90000000,4:00112233") == "+" + packet("E0e"));
  CHECK(client.ask(node, "vMustReplyEmpty") == "+" + packet(""));
  CHECK(client.ask(node, "") == "+" + packet(""));
  CHECK(client.ask(node, "p40") == "+" + packet("xxxxxxxx"));
  client.send("$g#00");
  CHECK(client.answer(node) == "-");
  client.send("$" + std::string(5000, 'x'));
  CHECK(client.answer(node) == "-");
  client.send("+++++");
  CHECK(client.ask(node, "D") == "+" + packet("OK"));
  CHECK(client.answer(node) == "closed");
}

TEST_CASE("Ctrl-C halts firmware that dozes; a debugger that goes away lets it go on") {
  DebuggedNode node;
  node.load_firmware();
  {
    Client client(node.path());
    CHECK(client.ask(node, "?") == "+" + packet("S05"));
    client.send(packet("c"));
    for (int i = 0; i < 50; ++i) node.turn();
    client.send("\x03");
    CHECK(client.answer(node) == "+" + packet("S02"));
  }
  node.rnic().write_register(EXRNIC_REG_FW_COMMAND, EXRNIC_FW_OP_QUERY);
  node.turn_until("the connection to end", [&] {
    return node.rnic().read_register(EXRNIC_REG_FW_COMMAND_STATUS) == EXRNIC_FW_STATUS_OK;
  });
}

TEST_CASE("each halt is told, in whatever cycle of the simulator's own looks and slices it comes") {
  DebuggedNode node;
  node.load_firmware();
  Client client(node.path());
  CHECK(client.ask(node, "?") == "+" + packet("S05"));
  node.rnic().write_register(EXRNIC_REG_FW_COMMAND, EXRNIC_FW_OP_QUERY);
  for (unsigned step = 0; step < 500; ++step) {
    INFO("step " << step);
    node.set_slice(step % 100 * kClockNs);
    REQUIRE(client.ask(node, "s") == "+" + packet("S05"));
  }
}

TEST_CASE(
    "a debugger is let go where no firmware runs, while another one is there, and at its end") {
  DebuggedNode node;
  {
    Client early(node.path());
    CHECK(early.answer(node) == "closed");
    CHECK(node.has_logged("load firmware"));
  }
  node.load_firmware();
  Client first(node.path());
  CHECK(first.ask(node, "?") == "+" + packet("S05"));
  Client second(node.path());
  CHECK(second.answer(node) == "closed");
  node.rnic().write_register(EXRNIC_REG_FW_CONTROL, 0);
  CHECK(first.ask(node, "g") == "+" + packet("W00"));
  CHECK(first.answer(node) == "closed");
}

TEST_CASE("a debugger for whose request there is no memory is let go, and the processor goes on") {
  DebuggedNode node;
  node.load_firmware();
  Client client(node.path());
  CHECK(client.ask(node, "?") == "+" + packet("S05"));
  client.send("$" + std::string(3000, 'x'));
  no_memory_from = 3000;
  node.server.service();
  no_memory_from = SIZE_MAX;
  CHECK(client.answer(node) == "closed");
  CHECK(node.has_logged("there is no memory for what the debugger asks"));
  node.rnic().write_register(EXRNIC_REG_FW_COMMAND, EXRNIC_FW_OP_QUERY);
  node.turn_until("the command to end", [&] {
    return node.rnic().read_register(EXRNIC_REG_FW_COMMAND_STATUS) == EXRNIC_FW_STATUS_OK;
  });
  CHECK(Client(node.path()).ask(node, "?") == "+" + packet("S05"));
}

}  // namespace
}  // namespace exrnic::testing
