// SPDX-License-Identifier: BSD-2-Clause
// A software device for the library's tests: it reads rings and doorbells as the hardware would,
// and writes completions likewise. It shares no structure with the library: every offset is written
// out by hand, so that a wrong field in the library cannot hide behind the same wrong field here.
#ifndef EXRNIC_LIBVERBS_FAKE_DEVICE_H
#define EXRNIC_LIBVERBS_FAKE_DEVICE_H

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "transport/transport.h"

namespace exrnic {

// What the tests ask about a run.
struct FakeCounters {
  uint64_t doorbells = 0;
  uint64_t doorbells_refused = 0;
  uint64_t blocks = 0;  // by PIO
  uint64_t blocks_refused = 0;
  uint64_t wqes = 0;
  uint64_t cqes = 0;
  uint64_t cq_overruns = 0;
};

struct FakeCq {
  uint32_t page;  // user page that owns it
  uint8_t* ring;
  uint32_t entries;
  uint32_t moderation_count;
  uint32_t moderation_ns;
  uint32_t produced = 0;
  uint32_t consumed = 0;
  uint32_t armed = 0;  // not 0, for any completion 1, for solicited ones 2
  uint64_t cookie = 0;
  int channel = -1;
  uint32_t fired_told = 0;  // of fired: interrupts that have become events
  uint32_t fired = 0;  // interrupts; at the first completion that fits, whatever the moderation
};

struct FakeRing {
  uint8_t* slots;
  uint32_t count;
  uint16_t producer = 0;
  uint16_t consumer = 0;
};

struct FakeSrq {
  uint32_t page;
  uint32_t pd;
  FakeRing ring;
  uint32_t limit;
  uint32_t limit_events = 0;
  uint64_t cookie = 0;
  uint32_t events_told = 0;
};

struct FakeQp {
  uint32_t page;
  uint32_t pd;
  uint32_t send_cqn;
  uint32_t recv_cqn;
  FakeRing sq;
  FakeRing rq;
  uint32_t srqn;  // or ~0
  uint32_t max_reads_out;
  uint32_t max_reads_in;
  uint32_t state = 0;  // RESET 0, INIT 1, RTR 2, RTS 3, ERROR 4, SQD 5
  uint32_t dest_node = 0;
  uint32_t dest_qpn = 0;
  QpInfo has = {};  // attributes; an rnr_retry of any but 7 is none
  uint64_t cookie = 0;
  bool error_told = false;
};

struct FakePd {
  uint32_t page;
};

struct FakeMr {
  uint32_t page;
  uint32_t pd;
  uint64_t base;
  uint64_t length;
  uint32_t access;  // local write 1, remote write 2, remote read 4
  bool invalidated = false;
};

class FakeDevice {
 public:
  enum class Kind { kWrite, kSend, kRead, kImmediate };
  // What the wire does: brings a message to another device. kPlaced, or the terminate code.
  struct Message {
    Kind kind;
    uint32_t node;
    uint32_t qpn;
    uint32_t stag = 0;  // kWrite, kRead
    uint64_t to = 0;
    const uint8_t* bytes = nullptr;  // kWrite, kSend
    uint32_t length = 0;             // kImmediate: of the write before it
    bool with_imm = false;
    bool with_invalidate = false;
    uint32_t imm = 0;  // or the STag to invalidate
    bool solicited = false;
    uint8_t* answer = nullptr;  // kRead: takes the bytes
  };
  static constexpr uint32_t kPlaced = ~uint32_t{0};
  static constexpr uint32_t kNoReceive = ~uint32_t{1};  // nothing is terminated
  using Deliver = std::function<uint32_t(const Message&)>;

  FakeDevice(uint32_t node, Deliver deliver) : node_(node), deliver_(std::move(deliver)) {}

  // A doorbell from a user page at 0 (SQ), 8 (RQ), 16 (CQ), 24 or 32 (CQ, armed) or 40 (SRQ).
  void Doorbell(uint32_t page, uint32_t offset, uint64_t value);
  // A whole PIO block from a user page. False: its turn has not come, a slot before it is not
  // posted.
  bool Block(uint32_t page, const uint8_t* block);
  // Executes all work that doorbells have announced.
  void Run();
  // The responder's side of Deliver.
  uint32_t Place(const Message& message);

  uint32_t node() const { return node_; }
  FakeCounters& counters() { return counters_; }

  // The objects, which the transport makes and destroys.
  std::map<uint32_t, FakeCq> cqs;
  std::map<uint32_t, FakeSrq> srqs;
  std::map<uint32_t, FakeQp> qps;
  std::map<uint32_t, FakeMr> mrs;
  std::map<uint32_t, FakePd> pds;
  uint64_t time_ns = 0;

 private:
  struct Outcome {
    uint8_t status;
    uint32_t detail = 0;
    uint32_t length = 0;
    uint8_t flags = 0;  // of the CQE
    uint32_t imm = 0;
  };
  // A work request, read from its ring: all of its slots.
  struct Work {
    std::vector<uint8_t> bytes;
    uint16_t last;  // index of its last slot
    bool malformed;
  };
  struct Element {
    uint64_t address;
    uint32_t length;
    uint32_t stag;
  };

  // fake_device.cc
  bool RingCq(uint32_t page, uint32_t offset, uint32_t number, uint32_t index);
  FakeRing* RingOf(uint32_t page, uint32_t offset, uint32_t number);
  static Work Take(FakeRing* ring);
  static Element ElementOf(const Work& work, uint32_t i);
  void RunSendQueue(uint32_t qpn, FakeQp* qp);
  void FlushRing(uint32_t qpn, uint32_t cqn, FakeRing* ring);
  void Complete(uint32_t cqn, uint32_t qpn, uint16_t index, uint8_t opcode, const Outcome& outcome);
  // The region that covers an element with these rights, or null.
  const FakeMr* LocalRegion(const FakeQp& qp, const Element& element, uint32_t access) const;

  // fake_requester.cc
  Outcome Execute(const FakeQp& qp, const Work& work);
  static uint8_t Check(const FakeQp& qp, const Work& work);
  bool Gather(const FakeQp& qp, const Work& work, std::vector<uint8_t>* bytes) const;
  Outcome Send(const FakeQp& qp, const Work& work);
  Outcome Pull(const FakeQp& qp, const Work& work);
  Outcome InvalidateOwn(const FakeQp& qp, uint32_t stag);
  static Outcome Answer(uint32_t code, uint32_t length);

  // fake_responder.cc: kPlaced, or the terminate code.
  uint32_t PlaceWrite(const FakeQp& qp, const Message& message);
  uint32_t ServeRead(const FakeQp& qp, const Message& message);
  uint32_t PlaceMessage(uint32_t qpn, FakeQp* qp, const Message& message);
  uint8_t Scatter(const FakeQp& qp, const Work& receive, const Message& message) const;
  uint32_t InvalidateForPeer(const FakeQp& qp, uint32_t stag);
  void CountDown(FakeSrq* srq);

  const uint32_t node_;
  const Deliver deliver_;
  FakeCounters counters_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_FAKE_DEVICE_H
