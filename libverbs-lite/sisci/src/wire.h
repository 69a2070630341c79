// SPDX-License-Identifier: BSD-2-Clause
// What processes with SISCI tell each other: datagrams until they have met, then messages on a
// connected pair of queue pairs, the link. Little-endian, as hosts are.
#ifndef EXRNIC_SISCI_WIRE_H
#define EXRNIC_SISCI_WIRE_H

#include <cstdint>

namespace exrnic::sisci {

constexpr uint8_t kWireVersion = 1;
constexpr uint32_t kGroup = 0x5c1;  // the multicast group that all are in
constexpr uint32_t kQkey = 0x5c15c1;

enum class Kind : uint8_t {
  // Datagrams. A question comes again until it is answered, and any answer may come twice.
  kWho = 1,  // to the group: who has `number` of `what` on `node`?
  kHere,     // I have; address: my life
  kNobody,   // nobody on this node has
  kLink,     // let us be connected; qpn: of mine, address: my life
  kLinked,   // qpn: of mine, address: my life
  kRefused,  // of kLink: I have too many

  // On a link, from the end that made it. Exactly once, in order.
  kConnect = 16,  // to `number` of `what`
  kDisconnect,    // number: the connection
  kInterrupt,     // id: the connection; `bytes` of data behind the first 8 bytes
  kOpenQp,        // a queue pair of mine for one of yours; qpn: of mine
  kCloseQp,       // qpn: of mine
  // From the other end.
  kAnswer = 32,  // id: of the question
  kNotice        // number: the connection; what: a sci_segment_cb_reason_t
};

enum class What : uint32_t { kNode, kSegment, kInterrupt, kDataInterrupt };

// Of kInterrupt only what stands before `what` is sent.
struct Message {
  uint8_t version;
  Kind kind;
  uint16_t bytes;
  uint32_t id;  // a question's, which its answer repeats
  uint32_t what;
  uint32_t number;
  uint32_t node;
  uint32_t qpn;
  uint32_t status;   // kAnswer: a sci_error_t
  uint32_t stag;     // kAnswer to kConnect: of the segment, or of the credit...
  uint64_t address;  // ...and where it is
  uint64_t size;
};
static_assert(sizeof(Message) == 48, "no padding");
constexpr uint32_t kInterruptHead = 8;

}  // namespace exrnic::sisci

#endif  // EXRNIC_SISCI_WIRE_H
