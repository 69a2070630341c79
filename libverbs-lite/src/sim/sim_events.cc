// SPDX-License-Identifier: BSD-2-Clause
#include "sim_events.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <system_error>

#include "sim_error.h"

namespace exrnic {

namespace {

// Not the mailbox: its status is read.
constexpr uint32_t kCauses = EXRNIC_INT_CAUSE_FIRMWARE;

// What finds no room waits in the device.
constexpr uint32_t kEntries = 256;

// Of every message channel: an RNIC has one.
constexpr uint64_t kMessageCookie = 0;

[[noreturn]] void ThrowErrno(const char* what) {
  throw SimError(errno, std::string(what) + ": " + strerror(errno));
}

UniqueFd NewEventfd() {
  UniqueFd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) ThrowErrno("eventfd");
  return fd;
}

void Drain(int eventfd) {
  uint64_t count;
  [[maybe_unused]] const ssize_t bytes = read(eventfd, &count, sizeof(count));
}

}  // namespace

SimEvents::SimEvents(SimLink* link, SimMailbox* mailbox, SimArena* arena, SimFirmware* firmware,
                     SimPorts* ports)
    : link_(link),
      firmware_(firmware),
      ports_(ports),
      stop_(NewEventfd()),
      happened_(link, mailbox, arena, EXRNIC_EQN_ASYNC, kEntries, EXRNIC_MSIX_VECTOR_CONTROL) {
  ConnectVectors();
  for (uint32_t i = 0; i < cq_vectors(); ++i) {
    fired_.emplace_back(link, mailbox, arena, EventQueueOf(i), kEntries, FirstVector() + i);
    fired_.back().Arm();
  }
  happened_.Arm();
  link_->Write({{EXRNIC_REG_INT_CAUSE, kCauses}, {EXRNIC_REG_INT_ENABLE, kCauses}});
  // The program's signals are for its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw SimError(error.code().value(), error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

SimEvents::~SimEvents() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

void SimEvents::ConnectVectors() {
  std::vector<int> fds;
  for (uint32_t i = 0; i < link_->vectors(); ++i) {
    eventfds_.push_back(NewEventfd());
    fds.push_back(eventfds_.back().get());
  }
  link_->ConnectVectors(fds);
  users_.resize(cq_vectors());
}

// A device with a single vector has it for everything.
uint32_t SimEvents::cq_vectors() const {
  return std::max<uint32_t>(1, static_cast<uint32_t>(eventfds_.size()) - 1);
}

uint32_t SimEvents::FirstVector() const {
  return eventfds_.size() == 1 ? 0 : EXRNIC_MSIX_VECTOR_CONTROL + 1;
}

uint32_t SimEvents::TakeVector(uint32_t wanted) {
  std::lock_guard<std::mutex> guard(mutex_);
  const auto least = std::min_element(users_.begin(), users_.end());
  const uint32_t vector =
      wanted == kAnyVector ? static_cast<uint32_t>(least - users_.begin()) : wanted;
  ++users_.at(vector);
  return vector;
}

void SimEvents::GiveVector(uint32_t vector) {
  std::lock_guard<std::mutex> guard(mutex_);
  --users_.at(vector);
}

int SimEvents::OpenChannel() {
  Stream stream;
  std::lock_guard<std::mutex> guard(mutex_);
  if (ended_) throw SimError(ENODEV, "the simulator is gone");
  const int fd = stream.pipe.fd();
  channels_.emplace(fd, std::move(stream));
  return fd;
}

void SimEvents::CloseChannel(int fd) {
  std::lock_guard<std::mutex> guard(mutex_);
  channels_.erase(fd);
}

// Under the lock.
SimEvents::Stream* SimEvents::FindStream(int fd) {
  if (fd == async_.pipe.fd()) return &async_;
  const auto channel = channels_.find(fd);
  return channel == channels_.end() ? nullptr : &channel->second;
}

// The oldest event, if there is one; the byte in the pipe was taken.
bool SimEvents::TakeEvent(int fd, Event* event) {
  std::lock_guard<std::mutex> guard(mutex_);
  Stream* stream = FindStream(fd);
  if (stream == nullptr) return false;
  stream->pipe.Rest();
  if (stream->events.empty()) return false;
  *event = stream->events.front();
  stream->events.pop_front();
  unread_.erase({event->cookie, event->type});
  if (!stream->events.empty()) stream->pipe.Wake();
  return true;
}

bool SimEvents::Read(int fd, Event* event) {
  for (;;) {
    const int bytes = SimWakePipe::Await(fd);
    if (bytes < 0) return false;
    if (TakeEvent(fd, event)) return true;
    if (bytes > 0) continue;  // its event went away with its object
    errno = ENODEV;
    return false;
  }
}

void SimEvents::AddCq(uint32_t cqn, int channel, uint64_t cookie) {
  AddQueue(&lossy_cqs_, cqn, cookie);
  std::lock_guard<std::mutex> guard(mutex_);
  cqs_[cqn] = {channel, cookie};
}
void SimEvents::AddQp(uint32_t qpn, uint64_t cookie) { AddQueue(&qps_, qpn, cookie); }
void SimEvents::AddSrq(uint32_t srqn, uint64_t cookie) { AddQueue(&srqs_, srqn, cookie); }
// What happened to the queue that had the number before is not for this one: that was told before
// this one came to be, and is taken here.
void SimEvents::AddQueue(Queues* queues, uint32_t number, uint64_t cookie) {
  std::lock_guard<std::mutex> look(look_);
  TakeEvents(&happened_);
  for (SimEventQueue& queue : fired_) TakeEvents(&queue);
  std::lock_guard<std::mutex> guard(mutex_);
  (*queues)[number] = cookie;
}
// What was raised for the owner before is not for this one.
void SimEvents::AddMessageChannel(uint32_t number, int channel) {
  std::lock_guard<std::mutex> look(look_);
  link_->Write({{EXRNIC_REG_FW_RAISED, 1u << number}});
  std::lock_guard<std::mutex> guard(mutex_);
  message_channels_[number] = channel;
}
// Under the lock.
void SimEvents::Forget(Stream* stream, uint64_t cookie) {
  auto& events = stream->events;
  const auto gone = std::remove_if(events.begin(), events.end(),
                                   [=](const Event& event) { return event.cookie == cookie; });
  for (auto event = gone; event != events.end(); ++event) unread_.erase({cookie, event->type});
  events.erase(gone, events.end());
  if (events.empty()) stream->pipe.Sleep();
}
void SimEvents::RemoveQueue(Queues* queues, uint32_t number) {
  std::lock_guard<std::mutex> guard(mutex_);
  const auto queue = queues->find(number);
  if (queue == queues->end()) return;
  Forget(&async_, queue->second);
  queues->erase(queue);
}
void SimEvents::RemoveCq(uint32_t cqn) {
  RemoveQueue(&lossy_cqs_, cqn);
  std::lock_guard<std::mutex> guard(mutex_);
  const auto cq = cqs_.find(cqn);
  if (cq == cqs_.end()) return;
  if (Stream* channel = FindStream(cq->second.channel)) Forget(channel, cq->second.cookie);
  cqs_.erase(cq);
}
void SimEvents::RemoveMessageChannel(uint32_t number) {
  std::lock_guard<std::mutex> guard(mutex_);
  const auto found = message_channels_.find(number);
  if (found == message_channels_.end()) return;
  if (Stream* channel = FindStream(found->second)) Forget(channel, kMessageCookie);
  message_channels_.erase(found);
}
void SimEvents::RemoveQp(uint32_t qpn) { RemoveQueue(&qps_, qpn); }
void SimEvents::RemoveSrq(uint32_t srqn) { RemoveQueue(&srqs_, srqn); }

// Under the lock.
void SimEvents::Raise(Stream* stream, EventType type, uint32_t handle, uint64_t cookie) {
  if (ended_ || !unread_.insert({cookie, type}).second) return;
  stream->events.push_back({cookie, type, handle});
  stream->pipe.Wake();
}

// With look_ held.
void SimEvents::TakeEvents(SimEventQueue* queue) {
  exrnic_eqe event;
  while (queue->Take(&event)) HandleEvent(event);
}

void SimEvents::HandleEvent(const exrnic_eqe& event) {
  std::lock_guard<std::mutex> guard(mutex_);
  switch (event.event_type) {
    case EXRNIC_EQE_TYPE_COMPLETION:
      return HandleFired(event.number);
    case EXRNIC_EQE_TYPE_QP_ERROR:
      return HandleQueue(qps_, EventType::kQpError, event.number);
    case EXRNIC_EQE_TYPE_LAST_WQE:
      return HandleQueue(qps_, EventType::kLastWqe, event.number);
    case EXRNIC_EQE_TYPE_SQ_DRAINED:
      return HandleQueue(qps_, EventType::kSqDrained, event.number);
    case EXRNIC_EQE_TYPE_CQ_ERROR:
      return HandleQueue(lossy_cqs_, EventType::kCqError, event.number);
    case EXRNIC_EQE_TYPE_SRQ_LIMIT:
      return HandleQueue(srqs_, EventType::kSrqLimit, event.number);
    case EXRNIC_EQE_TYPE_LINK:
      return Raise(&async_, EventType::kLink, 0, 0);
    case EXRNIC_EQE_TYPE_PEER_DEAD:
      return Raise(&async_, EventType::kPeerDead, 0, 0);
    case EXRNIC_EQE_TYPE_FIRMWARE:
      firmware_failed_ = true;
      return;
    default:
      return;
  }
}

// Under the lock, like the next one.
void SimEvents::HandleFired(uint32_t cqn) {
  const auto cq = cqs_.find(cqn);
  if (cq == cqs_.end()) return;
  const auto channel = channels_.find(cq->second.channel);
  if (channel != channels_.end())
    Raise(&channel->second, EventType::kCompletion, cqn, cq->second.cookie);
}

void SimEvents::HandleQueue(const Queues& queues, EventType type, uint32_t number) {
  const auto queue = queues.find(number);
  if (queue != queues.end()) Raise(&async_, type, number, queue->second);
}

void SimEvents::HandleVector(uint32_t vector) {
  std::lock_guard<std::mutex> look(look_);
  SimEventQueue& queue = fired_[vector - FirstVector()];
  TakeEvents(&queue);
  queue.Arm();
}

// With look_ held. Cleared first: what is raised later interrupts again.
void SimEvents::HandleRaised() {
  const uint32_t raised = link_->Read(EXRNIC_REG_FW_RAISED);
  link_->Write({{EXRNIC_REG_FW_RAISED, raised}});
  std::lock_guard<std::mutex> guard(mutex_);
  for (const auto& [number, fd] : message_channels_) {
    const auto channel = channels_.find(fd);
    if ((raised >> number & 1) == 0 || channel == channels_.end()) continue;
    Raise(&channel->second, EventType::kMessage, number, kMessageCookie);
  }
}

void SimEvents::HandleControl() {
  ports_->Look();
  std::lock_guard<std::mutex> look(look_);
  TakeEvents(&happened_);
  happened_.Arm();
  // What comes up behind the look interrupts again.
  if (std::exchange(firmware_failed_, false)) firmware_->Recover();
  const uint32_t causes = link_->Read(EXRNIC_REG_INT_CAUSE) & kCauses;
  if (causes == 0) return;
  link_->Write({{EXRNIC_REG_INT_CAUSE, causes}});
  HandleRaised();
}

// A last event, and then the end of every stream: nobody waits for what cannot come.
void SimEvents::End() {
  link_->Cut("the simulator is gone");
  ports_->End();
  std::lock_guard<std::mutex> guard(mutex_);
  Raise(&async_, EventType::kDeviceFatal, 0, 0);
  ended_ = true;
  async_.pipe.End();
  for (auto& [fd, channel] : channels_) channel.pipe.End();
}

void SimEvents::Run() {
  std::vector<pollfd> fds = {{stop_.get(), POLLIN, 0}, {link_->fd(), POLLRDHUP, 0}};
  const size_t first = fds.size();
  for (const auto& eventfd : eventfds_) fds.push_back({eventfd.get(), POLLIN, 0});
  for (;;) {
    poll(fds.data(), fds.size(), -1);
    if (fds[0].revents != 0) return;
    if (fds[1].revents != 0) return End();
    try {
      for (size_t i = first; i < fds.size(); ++i) {
        if (fds[i].revents == 0) continue;
        const auto vector = static_cast<uint32_t>(i - first);
        Drain(eventfds_[vector].get());  // what comes from here on is looked at again
        if (vector == EXRNIC_MSIX_VECTOR_CONTROL) HandleControl();
        if (vector != EXRNIC_MSIX_VECTOR_CONTROL || eventfds_.size() == 1) HandleVector(vector);
      }
    } catch (const SimError&) {
      return End();
    }
  }
}

}  // namespace exrnic
