// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SIM_PORTS_H
#define EXRNIC_LIBVERBS_SIM_PORTS_H

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include "exrnic_hw.h"
#include "sim_link.h"
#include "sim_wake_pipe.h"
#include "transport/transport.h"

namespace exrnic {

// Ports: doorbell bits, scratchpads and the link to one port of a peer, each behind a file
// descriptor that is readable while it has an event. As the kernel module has them.
//
// Throws SimError: ENODEV the simulator is gone, EBADF no such descriptor. Any thread.
class SimPorts {
 public:
  explicit SimPorts(SimLink* link) : link_(link) {}

  // Its file descriptor. EBUSY: it is open. EINVAL: there is no such port or node, or it is this
  // one.
  int Open(uint32_t port, uint32_t peer_node, uint32_t peer_port);
  void Close(int fd);

  // The next event; waits for one. False with errno: EAGAIN if fd has O_NONBLOCK, ENODEV, EINTR.
  bool Read(int fd, PortEvent* event);
  // ENOTCONN: the peer's port is closed.
  void Ring(int fd, uint32_t bits);
  void SetSpad(int fd, SpadOwner owner, uint32_t index, uint32_t value);
  uint32_t GetSpad(int fd, SpadOwner owner, uint32_t index);
  // What was rung while it was masked is told when it is unmasked.
  void Mask(int fd, uint32_t bits);

  // The control vector has fired.
  void Look();
  // The simulator is gone: nobody waits for what cannot come.
  void End();

 private:
  struct Port {
    SimWakePipe pipe;
    uint32_t bells = 0;  // not told yet, as the next; masked ones may be among them
    uint32_t events = 0;
    uint32_t mask = 0;
  };

  uint32_t Find(int fd) const;
  uint32_t FindAlive(int fd) const;
  uint32_t Read(uint32_t port, uint32_t reg);
  void Write(uint32_t port, uint32_t reg, uint32_t value);
  void Look(uint32_t port);
  bool IsLinked(uint32_t port);
  void Say(int fd, uint32_t reg, uint32_t value);
  bool TakeEvent(int fd, PortEvent* event);

  SimLink* const link_;
  std::mutex mutex_;  // guards what follows, and over looks at the device
  std::array<std::unique_ptr<Port>, EXRNIC_PORTS> ports_;
  bool ended_ = false;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_PORTS_H
