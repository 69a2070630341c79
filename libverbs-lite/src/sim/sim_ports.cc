// SPDX-License-Identifier: BSD-2-Clause
#include "sim_ports.h"

#include <cerrno>
#include <string>
#include <utility>

#include "sim_error.h"

namespace exrnic {

namespace {

constexpr uint32_t kPortEvents = EXRNIC_PORT_EVENT_LINK_UP | EXRNIC_PORT_EVENT_LINK_DOWN;

uint32_t PortRegister(uint32_t port, uint32_t reg) {
  return EXRNIC_PORT_BASE + port * EXRNIC_PORT_STRIDE + reg;
}

uint32_t SpadRegister(SpadOwner owner, uint32_t index) {
  const uint32_t first =
      owner == SpadOwner::kPeer ? EXRNIC_REG_PORT_PEER_SPAD : EXRNIC_REG_PORT_SPAD;
  if (index < EXRNIC_PORT_SPADS) return first + index * static_cast<uint32_t>(sizeof(uint32_t));
  throw SimError(EINVAL, "a port has no scratchpad " + std::to_string(index));
}

}  // namespace

uint32_t SimPorts::Read(uint32_t port, uint32_t reg) {
  return link_->Read(PortRegister(port, reg));
}

void SimPorts::Write(uint32_t port, uint32_t reg, uint32_t value) {
  link_->Write({{PortRegister(port, reg), value}});
}

// Under the lock, as all that takes the number of a port.
uint32_t SimPorts::Find(int fd) const {
  for (uint32_t port = 0; port < EXRNIC_PORTS; ++port) {
    if (ports_[port] != nullptr && ports_[port]->pipe.fd() == fd) return port;
  }
  throw SimError(EBADF, "file descriptor " + std::to_string(fd) + " is that of no port");
}

uint32_t SimPorts::FindAlive(int fd) const {
  if (ended_) throw SimError(ENODEV, "the simulator is gone");
  return Find(fd);
}

// Enabling forgets the bells of the port's last owner, which no interrupt may find before.
int SimPorts::Open(uint32_t port, uint32_t peer_node, uint32_t peer_port) {
  if (port >= EXRNIC_PORTS || peer_port >= EXRNIC_PORTS) {
    throw SimError(EINVAL,
                   "there is no port " + std::to_string(port < EXRNIC_PORTS ? peer_port : port));
  }
  if (peer_node >= link_->Read(EXRNIC_REG_MAX_NODE)) {
    throw SimError(EINVAL, "there is no node " + std::to_string(peer_node));
  }
  if (peer_node == link_->Read(EXRNIC_REG_NODE_ID)) {
    throw SimError(EINVAL, "node " + std::to_string(peer_node) + " is this one");
  }
  std::lock_guard<std::mutex> guard(mutex_);
  if (ended_) throw SimError(ENODEV, "the simulator is gone");
  if (ports_[port] != nullptr) {
    throw SimError(EBUSY, "port " + std::to_string(port) + " is open");
  }
  auto opened = std::make_unique<Port>();
  Write(port, EXRNIC_REG_PORT_PEER, peer_node << 16 | peer_port);
  Write(port, EXRNIC_REG_PORT_VECTOR, EXRNIC_MSIX_VECTOR_CONTROL);
  Write(port, EXRNIC_REG_PORT_BELLS_MASK, 0);
  Write(port, EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE);
  ports_[port] = std::move(opened);
  return ports_[port]->pipe.fd();
}

void SimPorts::Close(int fd) {
  std::lock_guard<std::mutex> guard(mutex_);
  const uint32_t port = Find(fd);
  const auto closed = std::move(ports_[port]);
  Write(port, EXRNIC_REG_PORT_CONTROL, 0);
  // The device tells the peer. It is reset when this process leaves it: it has had the write then.
  if (!ended_) Read(port, EXRNIC_REG_PORT_STATUS);
}

// Clear, then note: a bell that rings in between fires again.
void SimPorts::Look(uint32_t number) {
  Port& port = *ports_[number];
  const uint32_t bells = Read(number, EXRNIC_REG_PORT_BELLS_RUNG) & ~port.mask;
  const uint32_t events = Read(number, EXRNIC_REG_PORT_EVENTS) & kPortEvents;
  if (bells == 0 && events == 0) return;
  Write(number, EXRNIC_REG_PORT_BELLS_RUNG, bells);
  Write(number, EXRNIC_REG_PORT_EVENTS, events);
  port.bells |= bells;
  port.events |= events;
  port.pipe.Wake();
}

void SimPorts::Look() {
  std::lock_guard<std::mutex> guard(mutex_);
  for (uint32_t port = 0; port < EXRNIC_PORTS; ++port) {
    if (ports_[port] != nullptr) Look(port);
  }
}

void SimPorts::End() {
  std::lock_guard<std::mutex> guard(mutex_);
  ended_ = true;
  for (auto& port : ports_) {
    if (port != nullptr) port->pipe.End();
  }
}

bool SimPorts::IsLinked(uint32_t port) {
  return (Read(port, EXRNIC_REG_PORT_STATUS) & EXRNIC_PORT_STATUS_LINK_UP) != 0;
}

// The byte in the pipe was taken. False: what it stood for went to another reader.
bool SimPorts::TakeEvent(int fd, PortEvent* event) {
  std::lock_guard<std::mutex> guard(mutex_);
  const uint32_t number = FindAlive(fd);
  Port& port = *ports_[number];
  port.pipe.Rest();
  const uint32_t bells = port.bells & ~port.mask;
  if (bells == 0 && port.events == 0) return false;
  *event = {bells, port.events, IsLinked(number)};
  port.bells &= port.mask;
  port.events = 0;
  return true;
}

bool SimPorts::Read(int fd, PortEvent* event) {
  for (;;) {
    const int bytes = SimWakePipe::Await(fd);
    if (bytes < 0) return false;
    if (bytes == 0) throw SimError(ENODEV, "the simulator is gone");
    if (TakeEvent(fd, event)) return true;
  }
}

void SimPorts::Say(int fd, uint32_t reg, uint32_t value) {
  std::lock_guard<std::mutex> guard(mutex_);
  const uint32_t port = FindAlive(fd);
  if (!IsLinked(port)) throw SimError(ENOTCONN, "the peer's port is closed");
  Write(port, reg, value);
}

void SimPorts::Ring(int fd, uint32_t bits) { Say(fd, EXRNIC_REG_PORT_RING, bits); }

void SimPorts::SetSpad(int fd, SpadOwner owner, uint32_t index, uint32_t value) {
  Say(fd, SpadRegister(owner, index), value);
}

uint32_t SimPorts::GetSpad(int fd, SpadOwner owner, uint32_t index) {
  const uint32_t reg = SpadRegister(owner, index);
  std::lock_guard<std::mutex> guard(mutex_);
  return Read(FindAlive(fd), reg);
}

void SimPorts::Mask(int fd, uint32_t bits) {
  std::lock_guard<std::mutex> guard(mutex_);
  const uint32_t port = FindAlive(fd);
  // From here on what is unmasked fires, and the look that follows waits for the lock.
  ports_[port]->mask = bits;
  Write(port, EXRNIC_REG_PORT_BELLS_MASK, bits);
  if ((ports_[port]->bells & ~bits) != 0 || ports_[port]->events != 0) {
    ports_[port]->pipe.Wake();
  } else {
    ports_[port]->pipe.Sleep();
  }
}

}  // namespace exrnic
