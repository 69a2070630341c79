// SPDX-License-Identifier: BSD-2-Clause
// Shared receive queues: two queue pairs of the responder take receives from one queue.
#include <cstring>
#include <string>

#include "pattern.h"
#include "stream.h"
#include "work.h"

namespace exrnic {

namespace {

constexpr uint32_t kLength = 3000;
constexpr uint32_t kPlaces = 24;  // receives; more than are in flight
// A round: both queue pairs have their messages in flight; before the next one starts, the
// receives that it took are posted again.
constexpr uint64_t kInFlight = 12;
constexpr uint64_t kMessages = 16 * kInFlight;
constexpr size_t kPlaceBytes = 4096;
enum OobMessage : uint32_t { kQpns = 900 };
// The sender of a stream outruns who posts receives: it waits 0.64 ms for the next one.
constexpr RnrTerms kPatient = {12, VL_RNR_RETRY_ENDLESS};

struct Qpns {
  uint32_t node;
  uint32_t qpn[2];
};

// The responder's: two queue pairs with one completion queue, which share receives.
struct Receiver {
  explicit Receiver(Side* side, size_t bytes = kPlaceBytes)
      : place_bytes(bytes),
        memory(kPlaces * bytes),
        cq(Own(vl_create_cq(side->rnic.get(), 4 * kPlaces, nullptr), "vl_create_cq")),
        mr(Own(vl_allocate_mr(side->pd.get(), memory.data(), memory.size(), VL_ACCESS_LOCAL_WRITE),
               "vl_allocate_mr")),
        srq(CreateSrq(side->pd.get(), kPlaces, 3)) {
    for (Owned<vl_qp>& qp : qps) {
      vl_qp_init_attr init = EveryOperation(cq.get(), 1, 0);
      init.srq = srq.get();
      qp = CreateQp(side->pd.get(), init);
    }
  }
  void Meet(Bench* bench, uint32_t node, const RnrTerms& rnr = {}) {
    const Qpns mine = {node, {vl_qp_number(qps[0].get()), vl_qp_number(qps[1].get())}};
    const Qpns theirs = bench->oob()->Exchange(kQpns, mine);
    for (int i : {0, 1}) ConnectQp(qps[i].get(), theirs.node, theirs.qpn[i], rnr);
    bench->Meet();
  }
  // In three elements: two slots. False: the ring is full.
  bool TryPostReceive(uint64_t place) {
    const uint64_t at = AddressOf(memory.data() + place * place_bytes);
    const uint32_t stag = vl_mr_stag(mr.get());
    const uint32_t rest = static_cast<uint32_t>(place_bytes) - 1100;
    const vl_sge list[] = {{at, 100, stag}, {at + 100, 1000, stag}, {at + 1100, rest, stag}};
    const vl_recv_wr wr = {place, nullptr, list, 3};
    return vl_post_srq_recv(srq.get(), &wr, nullptr) == 0;
  }
  void PostReceive(uint64_t place) {
    if (!TryPostReceive(place)) ThrowErrno("vl_post_srq_recv");
  }

  const size_t place_bytes;
  Pages memory;
  Owned<vl_cq> cq;
  Owned<vl_mr> mr;
  Owned<vl_srq> srq;
  Owned<vl_qp> qps[2];
};

// The requester's: one queue pair for each of them, each in a context of its own.
struct Sender {
  explicit Sender(const Bench& bench)
      : sides{Side(bench), Side(bench)},
        connections{Connection(&sides[0]), Connection(&sides[1])} {}
  void Meet(Bench* bench, const RnrTerms& rnr = {}) {
    const Qpns mine = {sides[0].node,
                       {vl_qp_number(connections[0].qp()), vl_qp_number(connections[1].qp())}};
    const Qpns theirs = bench->oob()->Exchange(kQpns, mine);
    for (int i : {0, 1}) connections[i].Join({0, 0, theirs.node, theirs.qpn[i], 0, 0}, rnr);
    bench->Meet();
  }
  // From a place of its own in the source of its connection.
  void Send(uint64_t wr_id, int connection, uint32_t length) {
    const Connection& on = connections[connection];
    Work work(VL_OP_SEND_IMM, wr_id, {on.Source(wr_id % kInFlight * kPlaceBytes, length)});
    work.wr.imm_data = static_cast<uint32_t>(wr_id);
    Post(on, work);
  }

  Side sides[2];
  Connection connections[2];
};

// ---- Traffic

void SendOnBoth(Bench* bench) {
  Sender sender(*bench);
  sender.Meet(bench);
  const uint64_t seed = bench->NextSeed();
  for (uint64_t first = 0; first < kMessages; first += kInFlight) {
    for (uint64_t i = first; i < first + kInFlight; ++i) {
      uint8_t* source = sender.connections[i % 2].source() + i % kInFlight * kPlaceBytes;
      FillPattern(PatternStream(seed, i), source, kLength);
      sender.Send(i, static_cast<int>(i % 2), kLength);
    }
    for (uint64_t i = first; i < first + kInFlight; ++i) {
      ExpectCompletion(bench, sender.connections[i % 2].cq(), i, VL_WC_SUCCESS);
    }
    bench->Meet();
  }
}

void ReceiveOnBoth(Bench* bench) {
  Side side(*bench);
  Receiver shared(&side);
  for (uint64_t i = 0; i < kPlaces; ++i) shared.PostReceive(i);
  shared.Meet(bench, side.node);
  const uint64_t seed = bench->NextSeed();
  uint32_t of_each[2] = {0, 0};
  for (uint64_t i = 0; i < kMessages; ++i) {
    const vl_wc wc = AwaitCompletion(
        shared.cq.get(), "message " + std::to_string(i) + " of " + std::to_string(kMessages));
    bench->Expect(wc.status == VL_WC_SUCCESS && wc.flags == VL_WC_WITH_IMM,
                  std::string("a receive ended with \"") + vl_status_string(wc.status) + "\"");
    if (wc.status != VL_WC_SUCCESS) return;
    bench->Expect(!ComparePattern(PatternStream(seed, wc.imm_data),
                                  shared.memory.data() + wc.wr_id * kPlaceBytes, kLength),
                  "bytes of message " + std::to_string(wc.imm_data) + " are wrong");
    const int qp = static_cast<int>(wc.imm_data % 2);
    bench->ExpectEqual(wc.qpn, vl_qp_number(shared.qps[qp].get()), "queue pair of the message");
    bench->ExpectEqual(wc.imm_data / 2, of_each[qp]++, "message of its queue pair");
    shared.PostReceive(wc.wr_id);
    if ((i + 1) % kInFlight == 0) bench->Meet();
  }
}

// ---- One of the queue pairs goes in the middle of a message

constexpr uint64_t kAfter = 5 * kInFlight;  // more than once around the ring

void SendIntoLoss(Bench* bench) {
  Sender sender(*bench);
  memset(sender.connections[1].source(), Connection::kPoison, sender.connections[1].bytes());
  sender.Meet(bench, kPatient);
  const vl_wc end = SendUntilError(sender.connections[1]);
  bench->Expect(end.status == VL_WC_REM_OP_ERR,
                std::string("the stream ended with \"") + vl_status_string(end.status) + "\"");
  bench->Meet();
  for (uint64_t i = 0; i < kAfter; ++i) {
    if (i % kInFlight == 0) bench->Meet();
    sender.Send(i, 0, 8);
    ExpectCompletion(bench, sender.connections[0].cq(), i, VL_WC_SUCCESS);
  }
}

// The places of receives whose completions nobody gets to see come back: else posting would come to
// a halt at the first of them.
void LoseOne(Bench* bench) {
  Side side(*bench);
  Receiver shared(&side, 64 * 1024);
  for (uint64_t i = 0; i < kPlaces; ++i) shared.PostReceive(i);
  shared.Meet(bench, side.node, kPatient);
  bench->Expect(AwaitStreamInto(shared.memory.data(), 0), "no message arrived within 30 s");
  shared.qps[1].reset();
  bench->Meet();
  ExpectNoCompletion(bench, shared.cq.get(), "the queue pair was destroyed");
  while (shared.TryPostReceive(0)) {
  }
  for (uint64_t i = 0; i < kAfter; ++i) {
    if (i % kInFlight == 0) bench->Meet();
    const vl_wc wc = AwaitCompletion(shared.cq.get(), "message " + std::to_string(i));
    bench->Expect(wc.status == VL_WC_SUCCESS,
                  std::string("a receive ended with \"") + vl_status_string(wc.status) + "\"");
    shared.PostReceive(0);
  }
}

// ---- Limit, and nothing left

void SendUntilEmpty(Bench* bench) {
  Sender sender(*bench);
  sender.Meet(bench);
  for (uint64_t i = 0; i < 3; ++i) {
    sender.Send(i, 0, 8);
    ExpectCompletion(bench, sender.connections[0].cq(), i, VL_WC_SUCCESS);
    bench->Meet();
    bench->Meet();
  }
  sender.Send(3, 1, 8);
  ExpectCompletion(bench, sender.connections[1].cq(), 3, VL_WC_RNR_RETRY_EXC_ERR,
                   EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER);
  bench->Meet();
  bench->Meet();  // a receive is posted again
  sender.Send(4, 0, 8);
  ExpectCompletion(bench, sender.connections[0].cq(), 4, VL_WC_SUCCESS);
}

uint32_t LimitOf(vl_srq* srq) {
  vl_srq_attr attr = {};
  Check(vl_query_srq(srq, &attr), "vl_query_srq");
  return attr.limit;
}

void ReceiveUntilEmpty(Bench* bench) {
  Side side(*bench);
  Receiver shared(&side);
  for (uint64_t i = 0; i < 3; ++i) shared.PostReceive(i);
  Check(vl_modify_srq(shared.srq.get(), 3), "vl_modify_srq");
  shared.Meet(bench, side.node);
  // Receives of two slots: 4, 2, 0 slots are left behind each message.
  const uint32_t limits[] = {3, 0, 0};
  for (uint64_t i = 0; i < 3; ++i) {
    bench->Meet();
    ExpectReceived(bench, shared.cq.get(), i, 8, VL_WC_WITH_IMM, static_cast<uint32_t>(i));
    bench->ExpectEqual(LimitOf(shared.srq.get()), limits[i],
                       "limit behind message " + std::to_string(i));
    bench->Meet();
  }
  bench->Meet();  // the fourth was refused
  ExpectState(bench, shared.qps[1].get(), VL_QPS_RTS);
  shared.PostReceive(7);
  bench->Meet();
  // By the queue pair whose sender lives: the other one has left it alone.
  ExpectReceived(bench, shared.cq.get(), 7, 8, VL_WC_WITH_IMM, 4);
}

}  // namespace

std::vector<GuestCheck> SrqChecks() {
  return {
      {"two queue pairs take 192 messages from one shared receive queue, each in its own order",
       SendOnBoth, ReceiveOnBoth, false, true},
      {"a queue pair destroyed in the middle of a message leaves the shared receive queue whole",
       SendIntoLoss, LoseOne, false, true},
      {"a shared receive queue has its limit event, and refuses what it has no receive for",
       SendUntilEmpty, ReceiveUntilEmpty, false, true},
  };
}

}  // namespace exrnic
