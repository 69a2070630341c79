// SPDX-License-Identifier: BSD-2-Clause
// What the peer must refuse: the sender learns the RFC's code, its queue pair goes to the error
// state, not one byte is written, and everybody else goes on.
#include <cstring>
#include <string>

#include "connection.h"
#include "pattern.h"

namespace exrnic {

namespace {

enum Message : uint32_t { kTargets = 400 };

constexpr uint32_t kLength = 64;
constexpr size_t kGoodAt = 512;    // in the whole target: where the PUSH before the bad one goes
constexpr size_t kAfterAt = 1024;  // where those after it would go
constexpr size_t kSliceAt = 5000;  // a region within the target memory: for bounds
constexpr size_t kSliceBytes = 999;

// What the responder offers besides the target of the connection; all in the same memory.
struct Targets {
  uint64_t slice_address;
  uint32_t slice;
  uint32_t read_only;
  uint32_t other_domain;
  uint32_t gone;
};

struct Violation {
  const char* sentence;
  uint32_t code;
  void (*apply)(const Connection& connection, const Targets& targets, Push* push);
};

const Violation kViolations[] = {
    {"a PUSH with the wrong key of an STag is refused as an invalid STag",
     EXRNIC_TERM_CODE_TAGGED_STAG,
     [](const Connection&, const Targets&, Push* push) { push->remote_stag ^= 0x01; }},
    {"a PUSH with an STag beyond the table is refused as an invalid STag",
     EXRNIC_TERM_CODE_TAGGED_STAG,
     [](const Connection&, const Targets&, Push* push) { push->remote_stag = 0xffffff00; }},
    {"a PUSH with the STag of a deallocated region is refused as an invalid STag",
     EXRNIC_TERM_CODE_TAGGED_STAG,
     [](const Connection&, const Targets& targets, Push* push) {
       push->remote_stag = targets.gone;
     }},
    {"a PUSH that starts one byte before its region is refused for bounds",
     EXRNIC_TERM_CODE_TAGGED_BOUNDS,
     [](const Connection&, const Targets& targets, Push* push) {
       push->remote_stag = targets.slice;
       push->remote_address = targets.slice_address - 1;
     }},
    {"a PUSH that ends one byte behind its region is refused for bounds",
     EXRNIC_TERM_CODE_TAGGED_BOUNDS,
     [](const Connection&, const Targets& targets, Push* push) {
       push->remote_stag = targets.slice;
       push->remote_address = targets.slice_address + kSliceBytes - kLength + 1;
     }},
    {"a PUSH that runs over the end of the address space is refused as a wrap",
     EXRNIC_TERM_CODE_TAGGED_WRAP,
     [](const Connection&, const Targets&, Push* push) {
       push->remote_address = UINT64_MAX - kLength / 2;
     }},
    {"a PUSH into a region without the right to remote writes is refused for access",
     EXRNIC_TERM_CODE_ACCESS,
     [](const Connection&, const Targets& targets, Push* push) {
       push->remote_stag = targets.read_only;
     }},
    {"a PUSH into a region of another protection domain is refused as not of this stream",
     EXRNIC_TERM_CODE_TAGGED_STREAM,
     [](const Connection&, const Targets& targets, Push* push) {
       push->remote_stag = targets.other_domain;
     }},
};

Owned<vl_mr> Register(vl_pd* pd, uint8_t* at, size_t bytes, int access) {
  return Own(vl_allocate_mr(pd, at, bytes, access), "vl_allocate_mr");
}

void Request(Bench* bench, const Violation& violation) {
  Side side(*bench);
  Connection other(&side);
  Connection connection(&side);
  other.Meet(bench);
  connection.Meet(bench);
  const Targets targets = bench->oob()->ReceiveStruct<Targets>(kTargets);
  FillPattern(bench->NextSeed(), connection.source(), connection.bytes());

  Push bad = MakePush(connection, 2, 0, kAfterAt, kLength);
  violation.apply(connection, targets, &bad);
  Post(connection, {MakePush(connection, 1, 0, kGoodAt, kLength), bad,
                    MakePush(connection, 3, 0, kAfterAt, kLength),
                    MakePush(connection, 4, 0, kAfterAt, kLength)});
  ExpectCompletion(bench, connection.cq(), 1, VL_WC_SUCCESS);
  ExpectCompletion(bench, connection.cq(), 2, VL_WC_REM_ACCESS_ERR, violation.code);
  ExpectCompletion(bench, connection.cq(), 3, VL_WC_WR_FLUSH_ERR);
  ExpectCompletion(bench, connection.cq(), 4, VL_WC_WR_FLUSH_ERR);
  bench->ExpectEqual(QueryQp(connection.qp()).state, VL_QPS_ERROR, "state of the queue pair");
  Post(connection, {MakePush(connection, 5, 0, kAfterAt, kLength)});
  ExpectCompletion(bench, connection.cq(), 5, VL_WC_WR_FLUSH_ERR);
  SendChecked(bench, other);
  bench->Meet();
}

void ExpectUntouched(Bench* bench, const Connection& connection, size_t from, size_t to) {
  if (auto difference = CompareByte(Connection::kPoison, connection.target() + from, to - from)) {
    bench->Expect(
        false, "byte " + std::to_string(from + difference->offset) + " of the target was written");
  }
}

void Respond(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  Connection connection(&side);
  other.Meet(bench);
  connection.Meet(bench);
  const Owned<vl_pd> other_pd = Own(vl_allocate_pd(side.rnic.get()), "vl_allocate_pd");
  constexpr int kWritable = VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE;
  vl_pd* pd = side.pd.get();
  uint8_t* at = connection.target();
  const size_t bytes = connection.bytes();
  const Owned<vl_mr> slice = Register(pd, at + kSliceAt, kSliceBytes, kWritable);
  const Owned<vl_mr> read_only = Register(pd, at, bytes, VL_ACCESS_REMOTE_READ);
  const Owned<vl_mr> other_domain = Register(other_pd.get(), at, bytes, kWritable);
  Owned<vl_mr> gone = Register(pd, at, bytes, kWritable);
  const Targets targets = {AddressOf(at + kSliceAt), vl_mr_stag(slice.get()),
                           vl_mr_stag(read_only.get()), vl_mr_stag(other_domain.get()),
                           vl_mr_stag(gone.get())};
  gone.reset();
  const uint64_t seed = bench->NextSeed();
  bench->oob()->SendStruct(kTargets, targets);

  ReceiveChecked(bench, other);
  bench->Meet();
  bench->Expect(!ComparePattern(seed, at + kGoodAt, kLength), "the PUSH before it is damaged");
  ExpectUntouched(bench, connection, 0, kGoodAt);
  ExpectUntouched(bench, connection, kGoodAt + kLength, bytes);
}

}  // namespace

std::vector<GuestCheck> RemoteErrorChecks() {
  std::vector<GuestCheck> checks;
  for (const Violation& violation : kViolations) {
    checks.push_back({std::string(violation.sentence) + ", without a byte written",
                      [&violation](Bench* bench) { Request(bench, violation); }, Respond});
  }
  return checks;
}

}  // namespace exrnic
