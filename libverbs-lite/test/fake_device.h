// SPDX-License-Identifier: BSD-2-Clause
// A software device for the library's tests: it reads rings and doorbells as the hardware would,
// and writes completions likewise. It shares no structure with the library: every offset is written
// out by hand, so that a wrong field in the library cannot hide behind the same wrong field here.
#ifndef EXRNIC_LIBVERBS_FAKE_DEVICE_H
#define EXRNIC_LIBVERBS_FAKE_DEVICE_H

#include <cstdint>
#include <functional>
#include <map>

namespace exrnic {

// What the tests ask about a run.
struct FakeCounters {
  uint64_t doorbells = 0;
  uint64_t doorbells_refused = 0;
  uint64_t wqes = 0;
  uint64_t cqes = 0;
  uint64_t cq_overruns = 0;
};

struct FakeCq {
  uint32_t page;  // user page that owns it
  uint8_t* ring;
  uint32_t entries;
  uint32_t produced = 0;
  uint32_t consumed = 0;
};

struct FakeRing {
  uint8_t* slots;
  uint32_t count;
  uint16_t producer = 0;
  uint16_t consumer = 0;
};

struct FakeQp {
  uint32_t page;
  uint32_t pd;
  uint32_t send_cqn;
  uint32_t recv_cqn;
  FakeRing sq;
  FakeRing rq;
  uint32_t state = 0;  // RESET 0, INIT 1, RTR 2, RTS 3, ERROR 4
  uint32_t dest_node = 0;
  uint32_t dest_qpn = 0;
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
};

class FakeDevice {
 public:
  // What the wire does: places a message at another device. 0, or the terminate code.
  struct Message {
    uint32_t node;
    uint32_t qpn;
    uint32_t stag;
    uint64_t to;
    const uint8_t* bytes;
    uint32_t length;
  };
  using Deliver = std::function<uint32_t(const Message&)>;

  FakeDevice(uint32_t node, Deliver deliver) : node_(node), deliver_(std::move(deliver)) {}

  // A doorbell from a user page at 0 (SQ), 8 (RQ) or 16 (CQ).
  void Doorbell(uint32_t page, uint32_t offset, uint64_t value);
  // Executes all work that doorbells have announced.
  void Run();
  // The responder's side of Deliver.
  uint32_t Place(const Message& message);

  uint32_t node() const { return node_; }
  FakeCounters& counters() { return counters_; }

  // The objects, which the transport makes and destroys.
  std::map<uint32_t, FakeCq> cqs;
  std::map<uint32_t, FakeQp> qps;
  std::map<uint32_t, FakeMr> mrs;
  std::map<uint32_t, FakePd> pds;
  uint64_t time_ns = 0;

 private:
  struct Outcome {
    uint8_t status;
    uint32_t detail;
    uint32_t length;
  };

  void RunSendQueue(uint32_t qpn, FakeQp* qp);
  void FlushRing(uint32_t qpn, uint32_t cqn, FakeRing* ring);
  Outcome Execute(const FakeQp& qp, const uint8_t* wqe);
  const FakeMr* LocalRegion(const FakeQp& qp, const uint8_t* sge) const;
  void Complete(uint32_t cqn, uint32_t qpn, uint16_t index, uint8_t opcode, const Outcome& outcome);

  const uint32_t node_;
  const Deliver deliver_;
  FakeCounters counters_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_FAKE_DEVICE_H
