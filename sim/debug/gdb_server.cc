// SPDX-License-Identifier: BSD-2-Clause
#include "sim/debug/gdb_server.h"

#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <utility>

#include "rtl-model/gen/exrnic_hw.h"

namespace exrnic::debug {
namespace {

constexpr uint64_t kReadLimitNs = 1'000'000;

// The registers of a node's processor, beside its PCIe link. A read simulates until the answer is
// there.
class NodeRegisters final : public FwRegisters {
 public:
  NodeRegisters(Testbed& testbed, unsigned node)
      : testbed_(testbed), rnic_(testbed.node(node).rnic()) {}

  uint32_t read(uint32_t offset) override {
    // Shared: an answer may come when nobody waits for it any more.
    const auto value = std::make_shared<std::optional<uint32_t>>();
    rnic_.side_read(access(offset, 0),
                    [value](uint64_t data) { *value = static_cast<uint32_t>(data); });
    simulate_until([&] { return value->has_value(); });
    if (!*value) throw DebugError("the RNIC does not answer a read of a register");
    return **value;
  }
  void write(uint32_t offset, uint32_t value) override { rnic_.side_write(access(offset, value)); }

 private:
  static MmioAccess access(uint32_t offset, uint32_t data) {
    return {EXRNIC_BAR_REGISTERS, offset, 4, data};
  }

  // Where there is no memory to go on, that is no matter of the debugger's alone.
  void simulate_until(const std::function<bool()>& done) {
    try {
      testbed_.run_until(done, kReadLimitNs);
    } catch (const std::bad_alloc&) {
      throw std::runtime_error("there is no memory to simulate");
    }
  }

  Testbed& testbed_;
  RnicModule& rnic_;
};

}  // namespace

class GdbServer::Connection {
 public:
  Connection(UniqueFd socket, Testbed& testbed, unsigned node)
      : socket_(std::move(socket)),
        rnic_(testbed.node(node).rnic()),
        registers_(testbed, node),
        processor_(registers_) {}

  // False: there is nothing to debug.
  bool begin() {
    if (!processor_.runs()) return false;
    session_ = std::make_unique<GdbSession>(processor_);
    return true;
  }

  // False: it is over.
  bool service() {
    char bytes[kMostPacket];
    const ssize_t got = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    // Looked at now, too: to answer takes cycles, and there may be no slice behind them.
    return send(session_->receive({bytes, static_cast<size_t>(got)})) && look();
  }
  // Again where a look found it running: it has halted in the cycles that the look took.
  bool look() {
    while (session_->running() && !rnic_.processor_runs()) {
      if (!send(session_->look())) return false;
    }
    return true;
  }

  // What GDB had halted goes on.
  void leave() {
    try {
      processor_.detach();
    } catch (const DebugError&) {
    }
  }

  int fd() const { return socket_.get(); }
  bool ended() const { return session_->ended(); }  // it has only to be closed

 private:
  // Answers are short, and GDB waits for each: what does not fit is not read by a debugger.
  bool send(const std::string& bytes) {
    if (!bytes.empty() && ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
                              static_cast<ssize_t>(bytes.size())) {
      return false;
    }
    // GDB acknowledges the last answer yet, and closes then: a closed socket would be an error to
    // it.
    if (session_->ended()) ::shutdown(socket_.get(), SHUT_WR);
    return true;
  }

  UniqueFd socket_;
  const RnicModule& rnic_;
  NodeRegisters registers_;
  ProcessorDebugger processor_;
  std::unique_ptr<GdbSession> session_;
};

GdbServer::GdbServer(const std::string& socket_path, Testbed& testbed, unsigned node,
                     const Log& log)
    : testbed_(testbed),
      node_(node),
      log_([name = "gdb at node " + std::to_string(node) + ": ", log](const std::string& line) {
        log(name + line);
      }),
      listener_(socket_path, log_) {}

GdbServer::~GdbServer() = default;

void GdbServer::append_poll_fds(std::vector<pollfd>& fds) {
  fds.push_back(listener_.poll_fd());
  if (connection_) fds.push_back({connection_->fd(), POLLIN, 0});
}

void GdbServer::accept_one() {
  UniqueFd socket = listener_.accept();
  if (!socket) return;
  if (connection_ && !connection_->ended()) {
    return log_("refused, another debugger is connected");
  }
  try {
    auto connection = std::make_unique<Connection>(std::move(socket), testbed_, node_);
    if (!connection->begin()) {
      return log_("refused, the processor does not run; load firmware (the driver does) first");
    }
    connection_ = std::move(connection);
  } catch (const DebugError& error) {
    return log_(error.what());
  } catch (const std::bad_alloc&) {
    return log_("refused, there is no memory for it");
  }
  log_("connected");
}

template <typename Serve>
void GdbServer::serve(Serve serve) {
  if (!connection_) return;
  try {
    if (serve(*connection_)) return;
  } catch (const std::bad_alloc&) {
    log_("closed the connection: there is no memory for what the debugger asks");
  }
  connection_->leave();
  connection_.reset();
}

void GdbServer::service() {
  accept_one();
  serve([](Connection& connection) { return connection.service(); });
}

void GdbServer::after_slice() {
  serve([](Connection& connection) { return connection.look(); });
}

}  // namespace exrnic::debug
