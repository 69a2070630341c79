// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/server.h"

#include <sys/timerfd.h>

#include <cassert>
#include <chrono>
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

constexpr char kSecondClient[] = "refused a second client: one is connected";

}  // namespace

VfioUserServer::VfioUserServer(const std::string& socket_path, const PciDescription& description,
                               Log log, const MemoryBudget& budget)
    : VfioUserServer(socket_path, std::move(log), budget) {
  description_ = description;
  config_.emplace(description);
}

VfioUserServer::VfioUserServer(const std::string& socket_path, Log log, const MemoryBudget& budget)
    : log_([name = socket_path, log = std::move(log)](const std::string& line) {
        if (log) log("vfio-user " + name + ": " + line);
      }),
      budget_(budget),
      listener_(socket_path, log_) {}

VfioUserServer::~VfioUserServer() = default;

void VfioUserServer::describe(std::optional<PciDescription> description) {
  assert(!config_ && "what is kept here does not change");
  description_ = std::move(description);
  if (session_ && description_) session_->function().describe(*description_);
}

// A client that only stores would else fill our memory: real flow control would stall its CPU.
short VfioUserServer::session_events() const {
  const short events = session_->poll_events();
  return device_->backlog() < kMostBacklog ? events : static_cast<short>(events & ~POLLIN);
}

void VfioUserServer::append_poll_fds(std::vector<pollfd>& fds) {
  fds.push_back(listener_.poll_fd());
  if (session_) fds.push_back({session_->fd(), session_events(), 0});
  if (waiting_) fds.push_back({grace_.get(), POLLIN, 0});
}

bool VfioUserServer::service() {
  assert(device_ != nullptr && "attach() goes first");
  pollfd fds[3] = {{listener_.fd(), POLLIN, 0}, {-1, 0, 0}, {-1, 0, 0}};
  if (session_) fds[1] = {session_->fd(), session_events(), 0};
  if (waiting_) fds[2] = {grace_.get(), POLLIN, 0};
  if (::poll(fds, 3, 0) <= 0 && !has_postponed()) return false;
  // The old client first: it may be gone, and make room for the one that waits.
  bool worked = (fds[1].revents != 0 || has_postponed()) && serve_session(fds[1].revents);
  if (waiting_ && fds[2].revents != 0) {
    stop_waiting();
    refuse(kSecondClient);
    worked = true;
  }
  if (fds[0].revents != 0) worked |= accept_client();
  return worked;
}

bool VfioUserServer::has_postponed() const { return session_ && session_->has_postponed(); }

bool VfioUserServer::accept_client() {
  UniqueFd socket = listener_.accept();
  if (!socket) return false;
  if (!session_) {
    begin_session(std::move(socket));
  } else if (!waiting_) {
    wait(std::move(socket));
  } else {
    refuse(kSecondClient);
  }
  return true;
}

void VfioUserServer::begin_session(UniqueFd socket) {
  if (!description_) return refuse("refused a client: there is no device");
  try {
    session_ = std::make_shared<Session>(
        std::move(socket), Session::Context{*description_, config_ ? &*config_ : nullptr, *device_,
                                            counters_, log_, budget_, answer_limit_});
  } catch (const std::bad_alloc&) {
    return log_("refused a client: there is no memory for it");
  }
  ++counters_.clients;
  log_("a client connects");
}

// Until the one that is connected leaves, or the timer says that it will not.
void VfioUserServer::wait(UniqueFd socket) {
  using std::chrono::nanoseconds;
  constexpr auto kSeconds = std::chrono::duration_cast<std::chrono::seconds>(kGrace);
  const itimerspec grace{{0, 0}, {kSeconds.count(), nanoseconds(kGrace - kSeconds).count()}};
  grace_ = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!grace_ || ::timerfd_settime(grace_.get(), 0, &grace, nullptr) != 0) {
    return refuse(kSecondClient);
  }
  waiting_ = std::move(socket);
}

void VfioUserServer::stop_waiting() {
  waiting_ = UniqueFd();
  grace_ = UniqueFd();
}

void VfioUserServer::refuse(const std::string& why) {
  ++counters_.clients_refused;
  log_(why);
}

bool VfioUserServer::serve_session(short events) {
  // What a client sent before it left is still carried out; no more than its socket held.
  const bool hung_up = (events & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  const size_t most = hung_up ? std::numeric_limits<size_t>::max() : kMessagesAtOnce;
  // What messages make a device do that waits for its client it may do before the next answer.
  const bool answered_alone = !hung_up && answer_limit_.count() > 0;
  Session::State state = Session::State::kIdle;
  try {
    state = session_->service(most, answered_alone);
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
  if (config_) config_->reset();
  device_->reset();
  if (!waiting_) return;
  begin_session(std::move(waiting_));
  stop_waiting();
}

bool VfioUserServer::dma_allowed() {
  if (session_ && session_->function().may_reach_host()) return true;
  ++counters_.dma_refused_bus_master;
  return false;
}

bool VfioUserServer::dma_read_all(const std::vector<DmaPlace>& places, uint8_t* out) {
  if (!dma_allowed()) return false;
  if (session_->dma_read(places, out)) return true;
  ++counters_.dma_refused_address;
  return false;
}

bool VfioUserServer::dma_write(uint64_t address, const uint8_t* data, size_t length) {
  if (!dma_allowed()) return false;
  if (session_->dma_write(address, data, length)) return true;
  ++counters_.dma_refused_address;
  return false;
}

bool VfioUserServer::interrupts_taken() { return !session_ || session_->msix().taken(); }

// An MSI-X message is a memory write of the device: it needs bus mastering too.
void VfioUserServer::fire_msix(unsigned vector) {
  const bool fired =
      session_ && session_->function().may_reach_host() && session_->msix().fire(vector);
  if (!fired) ++counters_.interrupts_dropped;
}

}  // namespace exrnic::vfio_user
