// SPDX-License-Identifier: BSD-2-Clause
// Objects destroyed while work is in flight on them: nothing of it shows afterwards, and the other
// queue pairs do not notice.
#include <cstring>
#include <stdexcept>

#include "connection.h"
#include "pattern.h"
#include "stream.h"

namespace exrnic {

namespace {

constexpr uint32_t kBurst = 32;
constexpr uint32_t kBurstBytes = 1024;
constexpr int kRepeats = 6;

std::vector<Push> Burst(const Connection& connection) {
  std::vector<Push> pushes;
  for (uint32_t i = 0; i < kBurst; ++i) {
    pushes.push_back(MakePush(connection, i, i * kBurstBytes, i * kBurstBytes, kBurstBytes));
  }
  return pushes;
}

// ---- The sender's queue pair goes

void DestroySender(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  other.Meet(bench);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    Connection victim(&side);
    victim.Meet(bench);
    FillPattern(bench->NextSeed(), other.source(), other.bytes());
    Post(victim, Burst(victim));
    Post(other, Burst(other));
    victim.DestroyQp();
    ExpectNoCompletion(bench, victim.cq(), "its queue pair was destroyed");
    for (uint32_t i = 0; i < kBurst; ++i) {
      ExpectCompletion(bench, other.cq(), i, VL_WC_SUCCESS);
    }
    ExpectNoCompletion(bench, victim.cq(), "its queue pair was destroyed long ago");
    bench->Meet();
    bench->Meet();
  }
}

void OutliveSender(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  other.Meet(bench);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    Connection victim(&side);
    victim.Meet(bench);
    const uint64_t seed = bench->NextSeed();
    bench->Meet();
    bench->Expect(!ComparePattern(seed, other.target(), kBurst * kBurstBytes),
                  "bytes of the other queue pair are wrong");
    bench->Meet();
  }
}

// ---- The receiver's region or queue pair goes

void StreamIntoLoss(Bench* bench, vl_wc_status status, uint32_t code) {
  Side side(*bench);
  Connection other(&side);
  Connection victim(&side);
  other.Meet(bench);
  victim.Meet(bench);
  const vl_wc end = StreamUntilError(victim);
  bench->Expect(end.status == status,
                std::string("the stream ended with \"") + vl_status_string(end.status) + "\"");
  bench->ExpectEqual(end.detail, code, "terminate code");
  SendChecked(bench, other);
  bench->Meet();
}

void AwaitStream(const Connection& victim) {
  if (!AwaitStreamInto(victim.target())) throw std::runtime_error("no PUSH arrived within 30 s");
}

void LoseRegion(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  Connection victim(&side);
  other.Meet(bench);
  victim.Meet(bench);
  AwaitStream(victim);
  victim.DeallocateTarget();
  memset(victim.target(), Connection::kPoison, victim.bytes());
  ReceiveChecked(bench, other);
  bench->Meet();
  bench->Expect(!CompareByte(Connection::kPoison, victim.target(), victim.bytes()),
                "memory was written after its region was deallocated");
}

// The queue pair goes by `end`.
void LoseQueuePair(Bench* bench, void (*end)(Connection*)) {
  Side side(*bench);
  Connection other(&side);
  Connection victim(&side);
  other.Meet(bench);
  victim.Meet(bench);
  AwaitStream(victim);
  end(&victim);
  memset(victim.target(), Connection::kPoison, victim.bytes());
  ReceiveChecked(bench, other);
  bench->Meet();
  bench->Expect(!CompareByte(Connection::kPoison, victim.target(), victim.bytes()),
                "memory was written after the queue pair had ended");
}

// ---- Receives that no message takes

void FlushReceives(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  const vl_sge element = connection.Source(0, 64);
  const vl_recv_wr second = {12, nullptr, &element, 1};
  const vl_recv_wr first = {11, &second, &element, 1};
  Check(vl_post_rq(connection.qp(), &first, nullptr), "vl_post_rq");
  SendChecked(bench, connection);
  ExpectNoCompletion(bench, connection.cq(), "no PUSH takes a receive");
  ModifyQp(connection.qp(), VL_QPS_ERROR);
  for (uint64_t wr_id : {11u, 12u}) {
    ExpectCompletion(bench, connection.cq(), wr_id, VL_WC_WR_FLUSH_ERR);
  }
}

void FlushReceivesPeer(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  ReceiveChecked(bench, connection);
}

// ---- Reset and use again
// Frames between two nodes stay in order: what the other queue pair brings proves that all of the
// first life of the reset one has arrived before its second begins.

void ResetAndReconnect(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  Connection connection(&side);
  other.Meet(bench);
  connection.Meet(bench);
  Post(connection, Burst(connection));
  ModifyQp(connection.qp(), VL_QPS_RESET);
  ExpectNoCompletion(bench, connection.cq(), "the queue pair was reset");
  SendChecked(bench, other);
  connection.Meet(bench);
  SendChecked(bench, connection);
}

void ResetPeer(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  Connection connection(&side);
  other.Meet(bench);
  connection.Meet(bench);
  ModifyQp(connection.qp(), VL_QPS_RESET);
  ReceiveChecked(bench, other);
  connection.Meet(bench);
  ReceiveChecked(bench, connection);
}

}  // namespace

std::vector<GuestCheck> DestroyChecks() {
  auto stream_until = [](vl_wc_status status, uint32_t code) {
    return [=](Bench* bench) { StreamIntoLoss(bench, status, code); };
  };
  auto lose_by = [](void (*end)(Connection*)) {
    return [=](Bench* bench) { LoseQueuePair(bench, end); };
  };
  return {
      {"a queue pair destroyed under traffic leaves no completion, and others go on", DestroySender,
       OutliveSender},
      {"a region deallocated under traffic ends it with an invalid STag, and stays as it is",
       stream_until(VL_WC_REM_ACCESS_ERR, EXRNIC_TERM_CODE_TAGGED_STAG), LoseRegion},
      {"the peer's queue pair destroyed under traffic ends it, and memory stays as it is",
       stream_until(VL_WC_REM_OP_ERR, EXRNIC_TERM_CODE_STREAM),
       lose_by([](Connection* victim) { victim->DestroyQp(); })},
      {"the peer's queue pair put in the error state under traffic ends it, and memory stays as it "
       "is",
       stream_until(VL_WC_REM_OP_ERR, EXRNIC_TERM_CODE_STREAM),
       lose_by([](Connection* victim) { ModifyQp(victim->qp(), VL_QPS_ERROR); })},
      {"PUSHes take no receive, and the error state gives them all back", FlushReceives,
       FlushReceivesPeer},
      {"a queue pair that is reset under traffic can be connected again", ResetAndReconnect,
       ResetPeer},
  };
}

}  // namespace exrnic
