// SPDX-License-Identifier: BSD-2-Clause
// DDP segments in the frames of a sender, numbered and refusals, each once: those that are sent
// again are left out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "rtl-model/lockstep/endpoint.h"
#include "rtl-model/systemc/core.h"

namespace exrnic::lockstep {

// What a queue pair sends comes in streams, each with an order of its own: its work, its answers to
// the peer's RDMA Reads, its terminate messages, and its introductions.
enum class Stream : uint8_t { kWork, kResponse, kTerminate, kIntroduction };

struct Segment {
  Endpoint from;
  Endpoint to;
  Stream stream = Stream::kWork;
  std::optional<uint32_t> immediate;  // in the EFE header
  std::optional<uint32_t> number;     // of a frame that is sent once, for its queue pair
  struct Keys {
    uint32_t qkey = 0;
    uint16_t pkey = 0;
    bool operator!=(const Keys& other) const { return qkey != other.qkey || pkey != other.pkey; }
  };
  std::optional<Keys> keys;     // of a datagram; one to a group has that in to.qpn
  bool asks_for_pause = false;  // a terminate message that terminates nothing
  Bytes ddp;                    // header and payload

  Owner owner() const { return {to, !is_tagged()}; }  // of what is written because of it
  bool is_tagged() const;
  std::optional<uint32_t> group() const;  // that it is for
  bool takes_receive() const;             // it begins a message of the receiver's queue
  std::optional<uint16_t> terminate_code() const;
  bool quotes_read_request() const;  // of a terminate message
  bool is_write() const;             // RDMA Write
  bool asks_for_pulls() const;       // an empty RDMA Write to nowhere: whether the peer is there
  bool asks_for_peer() const;        // an introduction that is refused if nobody is there
  bool answers_load() const;         // of a window: an RDMA Read Response
  bool is_of_port() const;
  bool says_port_state() const;   // with is_of_port()
  bool tells_scratchpad() const;  // likewise: what one holds
  // One for each byte of the payload: what a window's stores leave as, however they are cut.
  std::vector<Segment> bytes() const;
};

uint32_t node_of(uint64_t mac);

// The segment of a frame, if it has one and its headers fit.
std::optional<Segment> segment_of(const Frame& frame);

class FirstCopies {
 public:
  // True if this frame's number, or that of its refusal, is sent for the first time.
  bool first(const Frame& frame);

 private:
  struct Session {
    uint64_t number = 0;
    uint32_t next = 0;     // sequence number
    uint64_t refusal = 0;  // number of the last one
  };
  std::map<uint64_t, Session> sessions_;  // by destination MAC
};

}  // namespace exrnic::lockstep
