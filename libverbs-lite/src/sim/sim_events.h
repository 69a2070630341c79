// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SIM_EVENTS_H
#define EXRNIC_LIBVERBS_SIM_EVENTS_H

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "sim/posix/unique_fd.h"
#include "sim_event_queue.h"
#include "sim_firmware.h"
#include "sim_link.h"
#include "sim_ports.h"
#include "sim_wake_pipe.h"
#include "transport/transport.h"

namespace exrnic {

// From the interrupts of the device to events in file descriptors, as the kernel module does it. A
// thread waits for them; it also sees when the simulator ends, and then says so to everybody. What
// concerns ports and firmware it hands on to them.
//
// An object has at most one unread event of a type, and as many as there are find room. The device
// tells what has happened in event queues: one for completion queues of each vector, and one for
// all else. The thread takes these, and raises events of programs.
//
// Any thread may call. Throws SimError.
class SimEvents {
 public:
  SimEvents(SimLink* link, SimMailbox* mailbox, SimArena* arena, SimFirmware* firmware,
            SimPorts* ports);
  ~SimEvents();
  SimEvents(const SimEvents&) = delete;
  SimEvents& operator=(const SimEvents&) = delete;

  // Vectors for completion queues.
  uint32_t cq_vectors() const;

  // Ends to read from, for as long as they are not closed.
  int async_fd() const { return async_.pipe.fd(); }
  int OpenChannel();
  void CloseChannel(int fd);
  // The next event of any of them; false with errno, EOF being ENODEV.
  bool Read(int fd, Event* event);

  // The vector of a new completion queue: that of number `wanted`, or, for kAnyVector, one that has
  // few; and the event queue that hears when one of that vector fires.
  uint32_t TakeVector(uint32_t wanted);
  void GiveVector(uint32_t vector);
  static uint32_t EventQueueOf(uint32_t vector) { return EXRNIC_EQN_ASYNC + 1 + vector; }

  // Objects that may have events, from their creation to their destruction. Events of one that is
  // removed are no longer raised, and those that nobody has read are gone.
  void AddCq(uint32_t cqn, int channel, uint64_t cookie);
  void AddQp(uint32_t qpn, uint64_t cookie);
  void AddSrq(uint32_t srqn, uint64_t cookie);
  // Owner of a message channel: events of firmware's for it come to that channel (or kNoChannel).
  void AddMessageChannel(uint32_t number, int channel);
  void RemoveMessageChannel(uint32_t number);
  void RemoveCq(uint32_t cqn);
  void RemoveQp(uint32_t qpn);
  void RemoveSrq(uint32_t srqn);

 private:
  struct Stream {
    SimWakePipe pipe;
    std::deque<Event> events;
  };
  struct Cq {
    int channel;
    uint64_t cookie;
  };
  // Queues of a kind: their cookies, by number.
  using Queues = std::map<uint32_t, uint64_t>;

  void ConnectVectors();
  uint32_t FirstVector() const;  // MSI-X vector of the first one for completion queues
  void Run();
  void HandleControl();
  void HandleVector(uint32_t vector);
  void HandleRaised();
  void TakeEvents(SimEventQueue* queue);
  void HandleEvent(const exrnic_eqe& event);
  void HandleFired(uint32_t cqn);
  void HandleQueue(const Queues& queues, EventType type, uint32_t number);
  void AddQueue(Queues* queues, uint32_t number, uint64_t cookie);
  void RemoveQueue(Queues* queues, uint32_t number);
  void End();
  void Raise(Stream* stream, EventType type, uint32_t handle, uint64_t cookie);
  Stream* FindStream(int fd);
  bool TakeEvent(int fd, Event* event);
  void Forget(Stream* stream, uint64_t cookie);

  SimLink* const link_;
  SimFirmware* const firmware_;
  SimPorts* const ports_;
  UniqueFd stop_;
  std::vector<UniqueFd> eventfds_;  // by vector

  // Held from a question to the device, or an event that it tells, until that has been judged.
  // Taken before `mutex_`.
  std::mutex look_;
  std::vector<SimEventQueue> fired_;  // by vector for completion queues
  SimEventQueue happened_;            // all else
  bool firmware_failed_ = false;      // that was told, by it

  std::mutex mutex_;  // guards what follows
  Stream async_;
  std::map<int, Stream> channels_;  // by the end to read from
  std::vector<uint32_t> users_;     // of each vector
  std::map<uint32_t, Cq> cqs_;
  Queues qps_, lossy_cqs_, srqs_;
  std::map<uint32_t, int> message_channels_;  // to these channels
  std::set<std::pair<uint64_t, EventType>> unread_;
  bool ended_ = false;

  std::thread thread_;
};

// That a message channel has events, as long as that lives.
class SimMessageEvents {
 public:
  SimMessageEvents(SimEvents* events, uint32_t number, int channel)
      : events_(events), number_(number) {
    events_->AddMessageChannel(number_, channel);
  }
  ~SimMessageEvents() { events_->RemoveMessageChannel(number_); }
  SimMessageEvents(const SimMessageEvents&) = delete;
  SimMessageEvents& operator=(const SimMessageEvents&) = delete;

 private:
  SimEvents* const events_;
  const uint32_t number_;
};

// The MSI-X vector of a completion queue, as long as that lives.
class SimVector {
 public:
  SimVector(SimEvents* events, uint32_t wanted)
      : events_(events), number_(events->TakeVector(wanted)) {}
  SimVector(SimVector&& other) noexcept
      : events_(std::exchange(other.events_, nullptr)), number_(other.number_) {}
  ~SimVector() {
    if (events_ != nullptr) events_->GiveVector(number_);
  }
  uint32_t number() const { return number_; }

 private:
  SimEvents* events_;
  const uint32_t number_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_EVENTS_H
