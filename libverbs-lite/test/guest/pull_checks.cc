// SPDX-License-Identifier: BSD-2-Clause
// PULL: bytes from the peer's target into the own one; its order with other work; what is refused.
#include <string>

#include "pattern.h"
#include "scatter.h"
#include "stream.h"
#include "work.h"

namespace exrnic {

namespace {

constexpr size_t kBytes = 1u << 20;
enum OobMessage : uint32_t { kStags = 800 };

// The responder of a PULL has nothing to do but to be there, with a pattern in its target.
void OfferPattern(Bench* bench) {
  Side side(*bench);
  Connection connection(&side, kBytes);
  const uint64_t seed = bench->NextSeed();
  FillPattern(seed, connection.target(), connection.bytes());
  connection.Meet(bench);
  bench->NextSeed();
  bench->Meet();
  bench->Expect(!ComparePattern(seed, connection.target(), connection.bytes()),
                "a PULL has changed what it read");
}

// ---- Scattered

void PullScattered(Bench* bench) {
  constexpr uint32_t kLengths[] = {0, 1, 3, 64, 1023, 1024, 1025, 8192, 50000};
  constexpr uint64_t kPulls = 32;
  Side side(*bench);
  Connection connection(&side, kBytes);
  std::vector<uint8_t> remote(kBytes);
  FillPattern(bench->NextSeed(), remote.data(), remote.size());
  connection.Meet(bench);
  std::mt19937_64 random(bench->NextSeed());
  std::vector<uint8_t> expected(kBytes, Connection::kPoison);
  size_t cursor = 0;
  std::vector<uint32_t> lengths;
  for (uint64_t i = 0; i < kPulls; ++i) {
    const uint32_t length = kLengths[random() % std::size(kLengths)];
    const uint32_t count = (length > 0 ? 1 : 0) + random() % VL_MAX_SGE;
    const Parts parts = Scatter(&random, length, count, &cursor);
    const Part from = {random() % (kBytes - length), length};
    Put(Take({from}, remote), parts, &expected);
    Post(connection, RemoteWork(VL_OP_PULL, i, connection, from.at,
                                ElementsOf(parts, connection.target(), connection.target_stag())));
    lengths.push_back(length);
  }
  for (uint64_t i = 0; i < kPulls; ++i) {
    const vl_wc wc = AwaitCompletion(connection.cq(), "PULL " + std::to_string(i));
    bench->ExpectEqual(wc.wr_id, i, "completed work request");
    bench->Expect(wc.status == VL_WC_SUCCESS && wc.opcode == VL_WC_PULL,
                  "a PULL ended with \"" + std::string(vl_status_string(wc.status)) + "\"");
    bench->ExpectEqual(wc.byte_len, lengths[i], "bytes of PULL " + std::to_string(i));
  }
  const std::string wrong = FirstWrong(expected, connection.target());
  bench->Expect(wrong.empty(), "in the target: " + wrong);
  bench->Meet();
}

// ---- Order
// A PUSH changes what a PULL behind it reads; a fenced PUSH sends on what a PULL before it has
// brought.

constexpr uint32_t kWord = 2000;
constexpr int kTurns = 20;

void PushAndPull(Bench* bench) {
  Side side(*bench);
  Connection connection(&side, kBytes);
  connection.Meet(bench);
  const uint64_t seed = bench->NextSeed();
  for (uint64_t turn = 0; turn < kTurns; ++turn) {
    const size_t at = turn * 3 * kWord;
    FillPattern(PatternStream(seed, turn), connection.source() + at, kWord);
    Post(connection,
         RemoteWork(VL_OP_PUSH, 3 * turn, connection, at, {connection.Source(at, kWord)}));
    Post(connection,
         RemoteWork(VL_OP_PULL, 3 * turn + 1, connection, at, {connection.Target(at, kWord)}));
    Work back = RemoteWork(VL_OP_PUSH, 3 * turn + 2, connection, at + kWord,
                           {connection.Target(at, kWord)});
    back.wr.flags |= VL_SEND_FENCE;
    Post(connection, back);
  }
  for (uint64_t i = 0; i < 3 * kTurns; ++i) {
    ExpectCompletion(bench, connection.cq(), i, VL_WC_SUCCESS);
  }
  bench->Meet();
}

void ExpectBack(Bench* bench) {
  Side side(*bench);
  Connection connection(&side, kBytes);
  connection.Meet(bench);
  const uint64_t seed = bench->NextSeed();
  bench->Meet();
  for (uint64_t turn = 0; turn < kTurns; ++turn) {
    const uint8_t* at = connection.target() + turn * 3 * kWord;
    bench->Expect(!ComparePattern(PatternStream(seed, turn), at, kWord),
                  "the PUSH of turn " + std::to_string(turn) + " is wrong");
    bench->Expect(!ComparePattern(PatternStream(seed, turn), at + kWord, kWord),
                  "what was PULLed and PUSHed back in turn " + std::to_string(turn) + " is wrong");
  }
}

// ---- Local invalidate

void InvalidateOwn(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  Owned<vl_mr> mr = Own(vl_allocate_mr(side.pd.get(), connection.source(), connection.bytes(), 0),
                        "vl_allocate_mr");
  vl_sge element = connection.Source(0, 64);
  element.stag = vl_mr_stag(mr.get());
  Work invalidate(VL_OP_LOCAL_INVALIDATE, 2);
  invalidate.wr.invalidate_stag = element.stag;
  const Work before = RemoteWork(VL_OP_PUSH, 1, connection, 0, {element});
  const Work behind = RemoteWork(VL_OP_PUSH, 3, connection, 0, {element});
  for (const Work* work : {&before, static_cast<const Work*>(&invalidate), &behind}) {
    Post(connection, *work);
  }
  ExpectCompletion(bench, connection.cq(), 1, VL_WC_SUCCESS);
  ExpectCompletion(bench, connection.cq(), 2, VL_WC_SUCCESS);
  ExpectCompletion(bench, connection.cq(), 3, VL_WC_LOC_PROT_ERR);
  bench->Expect(vl_deallocate_mr(mr.release()) == 0, "the region could not be deallocated");
  bench->Meet();
}

void BeThere(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  bench->Meet();
}

// ---- Refusals

constexpr uint32_t kLength = 3000;
constexpr size_t kSliceAt = 5000;
constexpr size_t kSliceBytes = 4000;

struct Stags {
  uint64_t slice_address;
  uint32_t slice;
  uint32_t write_only;
  uint32_t other_domain;
  uint32_t gone;
};

struct Violation {
  const char* sentence;
  uint32_t code;
  void (*apply)(const Stags& stags, vl_send_wr* wr);
};

const Violation kViolations[] = {
    {"a PULL with the wrong key of an STag is refused as an invalid STag",
     EXRNIC_TERM_CODE_RDMAP_STAG, [](const Stags&, vl_send_wr* wr) { wr->remote_stag ^= 1; }},
    {"a PULL with the STag of a deallocated region is refused as an invalid STag",
     EXRNIC_TERM_CODE_RDMAP_STAG,
     [](const Stags& stags, vl_send_wr* wr) { wr->remote_stag = stags.gone; }},
    {"a PULL that starts one byte before its region is refused for bounds",
     EXRNIC_TERM_CODE_RDMAP_BOUNDS,
     [](const Stags& stags, vl_send_wr* wr) {
       wr->remote_stag = stags.slice;
       wr->remote_address = stags.slice_address - 1;
     }},
    {"a PULL that ends one byte behind its region is refused for bounds",
     EXRNIC_TERM_CODE_RDMAP_BOUNDS,
     [](const Stags& stags, vl_send_wr* wr) {
       wr->remote_stag = stags.slice;
       wr->remote_address = stags.slice_address + kSliceBytes - kLength + 1;
     }},
    {"a PULL that runs over the end of the address space is refused as a wrap",
     EXRNIC_TERM_CODE_RDMAP_WRAP,
     [](const Stags&, vl_send_wr* wr) { wr->remote_address = UINT64_MAX - kLength / 2; }},
    {"a PULL from a region without the right to remote reads is refused for access",
     EXRNIC_TERM_CODE_ACCESS,
     [](const Stags& stags, vl_send_wr* wr) { wr->remote_stag = stags.write_only; }},
    {"a PULL from a region of another protection domain is refused as not of this stream",
     EXRNIC_TERM_CODE_RDMAP_STREAM,
     [](const Stags& stags, vl_send_wr* wr) { wr->remote_stag = stags.other_domain; }},
};

void RequestViolation(Bench* bench, const Violation& violation) {
  Side side(*bench);
  Connection other(&side);
  Connection connection(&side);
  other.Meet(bench);
  connection.Meet(bench);
  const Stags stags = bench->oob()->ReceiveStruct<Stags>(kStags);
  const uint64_t seed = bench->NextSeed();
  auto pull = [&](uint64_t wr_id, size_t to) {
    return RemoteWork(VL_OP_PULL, wr_id, connection, 0, {connection.Target(to, kLength)});
  };
  Work bad = pull(2, 8192);
  violation.apply(stags, &bad.wr);
  Post(connection, pull(1, 0));
  Post(connection, bad);
  Post(connection, pull(3, 16384));
  ExpectCompletion(bench, connection.cq(), 1, VL_WC_SUCCESS);
  ExpectCompletion(bench, connection.cq(), 2, VL_WC_REM_ACCESS_ERR, violation.code);
  ExpectCompletion(bench, connection.cq(), 3, VL_WC_WR_FLUSH_ERR);
  ExpectState(bench, connection.qp(), VL_QPS_ERROR);
  bench->Expect(!ComparePattern(seed, connection.target(), kLength),
                "the PULL before it is damaged");
  bench->Expect(!CompareByte(Connection::kPoison, connection.target() + kLength,
                             connection.bytes() - kLength),
                "bytes came that should not");
  SendChecked(bench, other);
  bench->Meet();
}

void RespondViolation(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  Connection connection(&side);
  other.Meet(bench);
  connection.Meet(bench);
  const Owned<vl_pd> other_pd = Own(vl_allocate_pd(side.rnic.get()), "vl_allocate_pd");
  uint8_t* target = connection.target();
  auto allocate = [](vl_pd* pd, uint8_t* at, size_t bytes, int access) {
    return Own(vl_allocate_mr(pd, at, bytes, access), "vl_allocate_mr");
  };
  const size_t all = connection.bytes();
  const Owned<vl_mr> slice =
      allocate(side.pd.get(), target + kSliceAt, kSliceBytes, VL_ACCESS_REMOTE_READ);
  const Owned<vl_mr> write_only =
      allocate(side.pd.get(), target, all, VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE);
  const Owned<vl_mr> other_domain = allocate(other_pd.get(), target, all, VL_ACCESS_REMOTE_READ);
  Owned<vl_mr> gone = allocate(side.pd.get(), target, all, VL_ACCESS_REMOTE_READ);
  const Stags stags = {AddressOf(target + kSliceAt), vl_mr_stag(slice.get()),
                       vl_mr_stag(write_only.get()), vl_mr_stag(other_domain.get()),
                       vl_mr_stag(gone.get())};
  gone.reset();
  FillPattern(bench->NextSeed(), target, all);
  bench->oob()->SendStruct(kStags, stags);
  ReceiveChecked(bench, other);
  bench->Meet();
  ExpectState(bench, connection.qp(), VL_QPS_ERROR);
}

// ---- More PULLs than the peer holds

void PullTooMany(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  Post(connection, RemoteWork(VL_OP_PULL, 1, connection, 0, {connection.Target(0, 64)}));
  ExpectCompletion(bench, connection.cq(), 1, VL_WC_REM_OP_ERR,
                   EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER);
  ExpectState(bench, connection.qp(), VL_QPS_ERROR);
  bench->Meet();
}

void HoldNone(Bench* bench) {
  Side side(*bench);
  Connection connection(&side, 64 * 1024, 64, 0);
  connection.Meet(bench);
  bench->Meet();
  ExpectState(bench, connection.qp(), VL_QPS_ERROR);
}

// ---- The peer's queue pair goes while PULLs are under way

void PullUntilLoss(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  Connection connection(&side);
  other.Meet(bench);
  connection.Meet(bench);
  Post(connection, RemoteWork(VL_OP_PUSH, 0, connection, 0, {connection.Source(0, 64)}));
  ExpectCompletion(bench, connection.cq(), 0, VL_WC_SUCCESS);
  const vl_wc end = PullUntilError(connection);
  bench->Expect(end.status == VL_WC_REM_OP_ERR,
                std::string("the stream ended with \"") + vl_status_string(end.status) + "\"");
  bench->ExpectEqual(end.detail, EXRNIC_TERM_CODE_STREAM, "terminate code");
  SendChecked(bench, other);
}

void LoseWhilePulled(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  Connection connection(&side);
  other.Meet(bench);
  connection.Meet(bench);
  bench->Expect(AwaitStreamInto(connection.target()), "no PUSH arrived within 30 s");
  connection.DestroyQp();
  ReceiveChecked(bench, other);
}

}  // namespace

std::vector<GuestCheck> PullChecks() {
  std::vector<GuestCheck> checks = {
      {"PULLs of 0 to 50000 bytes fill up to 16 elements in order, and no byte beside them",
       PullScattered, OfferPattern},
      {"PULLs and PUSHes of a queue pair see each other's bytes in the order of posting",
       PushAndPull, ExpectBack},
      {"an STag that was invalidated locally serves the work before it, and none behind",
       InvalidateOwn, BeThere},
      {"a PULL from a queue pair that holds none is refused: no buffer", PullTooMany, HoldNone},
      {"the peer's queue pair destroyed under PULLs ends them, and others go on", PullUntilLoss,
       LoseWhilePulled},
  };
  for (const Violation& violation : kViolations) {
    checks.push_back({std::string(violation.sentence) + ", without a byte brought",
                      [&violation](Bench* bench) { RequestViolation(bench, violation); },
                      RespondViolation});
  }
  return checks;
}

}  // namespace exrnic
