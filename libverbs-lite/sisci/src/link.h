// SPDX-License-Identifier: BSD-2-Clause
// A link: this process and another one, by two queue pairs. One carries messages. The other one,
// made when it is first needed, and anew when it has failed, carries bytes.
#ifndef EXRNIC_SISCI_LINK_H
#define EXRNIC_SISCI_LINK_H

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "library.h"
#include "wire.h"

namespace exrnic::sisci {

struct RemoteSegment;
struct RemoteInterrupt;
struct LocalInterrupt;

// A PUSH or PULL of a transfer.
struct Piece {
  uint64_t local;
  uint32_t local_stag;
  uint32_t remote_stag;
  uint64_t remote;
  size_t length;
};
constexpr size_t kPieceMax = size_t{1} << 30;

struct Transfer {
  std::vector<Piece> pieces;
  bool read = false;
  // Needs the adapter's thread when it ends. Called under the lock, once.
  std::function<void(sci_error_t)> on_end;
  bool wants_thread = false;

  size_t posted = 0;
  size_t completed = 0;
  unsigned attempts = 0;
  bool aborted = false;
  bool ended = false;
  sci_error_t status = SCI_ERR_OK;
};

// Of the end that did not make the link: what the other one is connected to.
struct Connection {
  std::weak_ptr<LocalSegment> segment;
  std::weak_ptr<LocalInterrupt> interrupt;
  // Of an interrupt with data: the place of its credit, and how many wait.
  int credit = -1;
  uint64_t queued = 0;
};

struct Link {
  enum class State { kConnecting, kReady, kLost };

  bool made_here = false;
  uint32_t node = 0;
  uint32_t datagram_qpn = 0;  // of the other process, whose name it is, with its life
  uint64_t life = 0;
  State state = State::kConnecting;

  vl::Owned<vl_qp> messages;
  uint32_t peer_qpn = 0;             // of `messages`
  Clock::time_point quiet_until;     // not probed before: the other end may not be there yet
  uint32_t sends = 0;                // under way
  bool connected = false;            // `messages` is in RTS, or was
  bool holds_nothing = false;        // of the shared queue, in ERROR: the RNIC has said so
  Clock::time_point dies_by;         // when it is destroyed in any case
  std::vector<uint32_t> long_sends;  // places of those that are not inline
  std::deque<std::pair<Message, std::vector<uint8_t>>> backlog;

  // Of the end that made it.
  enum class Data { kNone, kAsked, kReady, kBroken };
  Data data_state = Data::kNone;
  vl::Owned<vl_qp> data;
  Clock::time_point asked_until;  // of kAsked
  bool ended_one = false;         // of kBroken: the transfer that was refused has ended
  unsigned bounces = 0;           // in use by copies
  std::deque<std::shared_ptr<Transfer>> transfers;  // not ended, in order
  std::deque<std::shared_ptr<Transfer>> flight;     // of each piece posted to `data`
  std::vector<std::weak_ptr<RemoteSegment>> segments;
  std::vector<std::weak_ptr<RemoteInterrupt>> interrupts;

  // Of the other end.
  std::map<uint32_t, Connection> connections;
  std::map<uint32_t, vl::Owned<vl_qp>> served;  // by the number of the other end's
};

}  // namespace exrnic::sisci

#endif  // EXRNIC_SISCI_LINK_H
