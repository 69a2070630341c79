// SPDX-License-Identifier: BSD-2-Clause
// A PEB as the simulator sees it: PCIe transactions of its ports on one side, Ethernet frames on
// the other, stepped as a Core is. Behind it stands the reference model, or the RTL.
//
// Threads: none of its own; one calls at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "rtl-model/ref/peb/requester.h"
#include "rtl-model/systemc/core.h"

namespace exrnic::peb {

enum class Side : uint8_t {
  kHost,    // of who configures devices
  kDevice,  // of a device
};

// What a PEB drives: the buses of its ports, and its MAC. What is said to it in between, it hears.
class PebSink : public FrameSink {
 public:
  virtual bool can_write(unsigned port) = 0;
  virtual void write(unsigned port, Write&& write) = 0;
  virtual bool can_request(unsigned port) = 0;
  // To be completed by this name, in any order.
  virtual void request(unsigned port, uint64_t name, Request&& request) = 0;
  // A request of the bus has ended. Each does, once.
  virtual void answered(unsigned port, Answer&& answer) = 0;
  // The peer is there, or there no more: then nothing that was under way comes any more.
  virtual void link(unsigned port, bool up) = 0;
  // A fabric's manager has given the port another peer, or none.
  virtual void assigned(unsigned /*port*/) {}
};

struct Peer {
  uint16_t node = 0;
  uint16_t group = 0;
  bool operator==(const Peer& other) const { return node == other.node && group == other.group; }
};

struct Counters {
  uint64_t lives = 0;      // that have ended, of all ports
  uint64_t dropped = 0;    // posted writes of the bus, as the link was down
  uint64_t foreign = 0;    // segments that are not of a port's peer, or of another life
  uint64_t malformed = 0;  // of the peer, and no message, or one that breaks a rule
  uint64_t timeouts = 0;   // TLPs that nobody has completed in time
};

class PebCore {
 public:
  virtual ~PebCore() = default;

  // Who a port is joined to from now on, if anybody. No two ports have the same peer, and none has
  // one while the PEB has no number: throws std::invalid_argument. A manager does the same by
  // frames.
  virtual void assign(unsigned port, const std::optional<Peer>& peer) = 0;
  virtual std::optional<Peer> peer(unsigned port) const = 0;
  virtual bool is_up(unsigned port) const = 0;

  // From the bus of a port, which begins nothing that it has no room for; completions are taken at
  // any time. Writes of memory are posted: they are dropped while the link is down.
  virtual bool has_room(unsigned port, Flow flow) const = 0;
  virtual void write(unsigned port, uint64_t address, const Bytes& data) = 0;
  virtual void request(unsigned port, BusRequest&& request) = 0;
  // How a request of the sink has ended; `data`: of a successful read what it asked for.
  virtual void complete(unsigned port, uint64_t name, exrnic_completion_status status,
                        const Bytes& data) = 0;

  virtual void receive(Frame&& frame) = 0;
  virtual void set_link(bool up) = 0;
  // Its node identifier, or NODE_NONE.
  virtual uint16_t number() const = 0;

  // As those of a Core.
  virtual void step(uint64_t time_ns) = 0;
  virtual bool idle() const = 0;
  virtual uint64_t wakes_at_ns() const = 0;

  virtual const Counters& counters() const = 0;
  virtual uint64_t peek_counter(exrnic_counter which) const = 0;  // of EFE
};

// Of `config` node_id, guid, link_up, max_payload, max_read, read_timeout_shift, data_bits and
// clock_khz count. Throws std::invalid_argument with one line if there is no such PEB. `sink` must
// outlive it.
using PebFactory = std::function<std::unique_ptr<PebCore>(const CoreConfig& config, Side side,
                                                          unsigned ports, PebSink& sink)>;

// Throws std::invalid_argument unless this is the peer of no other port, nor the own node `node`,
// which has a number.
void check_peer(const Peer& peer, uint16_t node, bool taken);
// Likewise unless there can be such a PEB.
void check_config(const CoreConfig& config, unsigned ports);

}  // namespace exrnic::peb
