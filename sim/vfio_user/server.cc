// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/server.h"

#include <cassert>
#include <limits>
#include <new>
#include <utility>

#include "sim/vfio_user/session.h"

namespace exrnic::vfio_user {
namespace {

// Messages of one service(): a client that never stops talking must not stop simulated time.
constexpr size_t kMessagesAtOnce = 64;

// CPU accesses that may wait in front of a device before its socket is read no further.
constexpr size_t kMostBacklog = 1024;

}  // namespace

VfioUserServer::VfioUserServer(const std::string& socket_path, const PciDescription& description,
                               Log log, const MemoryBudget& budget)
    : log_([name = socket_path, log = std::move(log)](const std::string& line) {
        if (log) log("vfio-user " + name + ": " + line);
      }),
      budget_(budget),
      description_(description),
      config_(description_),
      listener_(socket_path, log_) {}

VfioUserServer::~VfioUserServer() = default;

// A client that only stores would else fill our memory: real flow control would stall its CPU.
short VfioUserServer::session_events() const {
  const short events = session_->poll_events();
  return device_->backlog() < kMostBacklog ? events : static_cast<short>(events & ~POLLIN);
}

void VfioUserServer::append_poll_fds(std::vector<pollfd>& fds) {
  fds.push_back(listener_.poll_fd());
  if (session_) fds.push_back({session_->fd(), session_events(), 0});
}

bool VfioUserServer::service() {
  assert(device_ != nullptr && "attach() goes first");
  pollfd fds[2] = {{listener_.fd(), POLLIN, 0}, {-1, 0, 0}};
  if (session_) fds[1] = {session_->fd(), session_events(), 0};
  if (::poll(fds, 2, 0) <= 0) return false;
  // The old client first: it may be gone, and make room for the one that waits.
  bool worked = fds[1].revents != 0 && serve_session(fds[1].revents);
  if (fds[0].revents != 0) worked |= accept_client();
  return worked;
}

bool VfioUserServer::accept_client() {
  UniqueFd socket = listener_.accept();
  if (!socket) return false;
  if (session_) {
    ++counters_.clients_refused;
    log_("refused a second client: one is connected");
    return true;
  }
  ++counters_.clients;
  log_("a client connects");
  session_ = std::make_shared<Session>(
      std::move(socket),
      Session::Context{description_, config_, *device_, counters_, log_, budget_});
  return true;
}

bool VfioUserServer::serve_session(short events) {
  // What a client sent before it left is still carried out; no more than its socket held.
  const bool hung_up = (events & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  Session::State state = Session::State::kIdle;
  try {
    state = session_->service(hung_up ? std::numeric_limits<size_t>::max() : kMessagesAtOnce);
  } catch (const std::bad_alloc&) {
    end_session("closed the connection: there is no memory for what the client asks");
    return true;
  }
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
