// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "sim/vfio_user/session.h"
#include "sim/vfio_user/unix_socket.h"

namespace exrnic::vfio_user {
namespace {

// Messages of one service(): a client that never stops talking must not stop simulated time.
constexpr size_t kMessagesAtOnce = 64;

}  // namespace

VfioUserServer::VfioUserServer(std::string socket_path, const PciDescription& description, Log log)
    : path_(std::move(socket_path)),
      log_([name = path_, log = std::move(log)](const std::string& line) {
        if (log) log("vfio-user " + name + ": " + line);
      }),
      description_(description),
      config_(description_),
      listener_(listen_unix(path_)) {}

VfioUserServer::~VfioUserServer() { ::unlink(path_.c_str()); }

void VfioUserServer::append_poll_fds(std::vector<pollfd>& fds) const {
  fds.push_back({listener_.get(), POLLIN, 0});
  if (session_) fds.push_back({session_->fd(), session_->poll_events(), 0});
}

bool VfioUserServer::service() {
  assert(device_ != nullptr && "attach() goes first");
  pollfd fds[2] = {{listener_.get(), POLLIN, 0}, {-1, 0, 0}};
  if (session_) fds[1] = {session_->fd(), session_->poll_events(), 0};
  if (::poll(fds, 2, 0) <= 0) return false;
  // The old client first: it may be gone, and make room for the one that waits.
  bool worked = fds[1].revents != 0 && serve_session(fds[1].revents);
  if (fds[0].revents != 0) {
    accept_client();
    worked = true;
  }
  return worked;
}

void VfioUserServer::accept_client() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    // Out of descriptors, most likely; it lasts, and is tried again at every service().
    if (errno != EAGAIN && errno != ECONNABORTED && !std::exchange(accept_fails_, true)) {
      log_(std::string("cannot accept a client: ") + strerror(errno));
    }
    return;
  }
  accept_fails_ = false;
  if (session_) {
    ++counters_.clients_refused;
    log_("refused a second client: one is connected");
    return;
  }
  ++counters_.clients;
  log_("a client connects");
  session_ = std::make_shared<Session>(
      std::move(socket), Session::Context{description_, config_, *device_, counters_, log_});
}

bool VfioUserServer::serve_session(short events) {
  // What a client sent before it left is still carried out; no more than its socket held.
  const bool hung_up = (events & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  const Session::State state =
      session_->service(hung_up ? std::numeric_limits<size_t>::max() : kMessagesAtOnce);
  if (state == Session::State::kEnded) {
    end_session(session_->end_reason());
  } else if (hung_up) {
    end_session("the client left before its requests were done");
  }
  return state != Session::State::kIdle || hung_up;
}

void VfioUserServer::end_session(const std::string& why) {
  log_(why);
  // Memory and interrupts go first, so that nothing that the reset sets off can reach them.
  session_.reset();
  config_.reset();
  device_->reset();
}

bool VfioUserServer::dma_allowed() {
  if (session_ && config_.bus_master_enabled()) return true;
  ++counters_.dma_refused_bus_master;
  return false;
}

bool VfioUserServer::dma_read(uint64_t address, uint8_t* out, size_t length) {
  if (!dma_allowed()) return false;
  if (session_->dma().read(address, out, length)) return true;
  ++counters_.dma_refused_address;
  return false;
}

bool VfioUserServer::dma_write(uint64_t address, const uint8_t* data, size_t length) {
  if (!dma_allowed()) return false;
  if (session_->dma().write(address, data, length)) return true;
  ++counters_.dma_refused_address;
  return false;
}

bool VfioUserServer::interrupts_taken() { return !session_ || session_->msix().taken(); }

// An MSI-X message is a memory write of the device: it needs bus mastering too.
void VfioUserServer::fire_msix(unsigned vector) {
  const bool fired = session_ && config_.bus_master_enabled() && session_->msix().fire(vector);
  if (!fired) ++counters_.interrupts_dropped;
}

}  // namespace exrnic::vfio_user
