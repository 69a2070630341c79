// SPDX-License-Identifier: BSD-2-Clause
// Messages that the receiver cannot take: the sender learns why, both queue pairs end, and other
// queue pairs go on.
#include <string>

#include "pattern.h"
#include "work.h"

namespace exrnic {

namespace {

constexpr uint32_t kLength = 64;
constexpr size_t kFar = 4096;
enum OobMessage : uint32_t { kStags = 700 };

// Regions of the responder that nobody may use as the check does.
struct Stags {
  uint32_t foreign;     // of another domain
  uint32_t local_only;  // without rights for peers
  uint32_t gone;
};

struct Mishap {
  const char* sentence;
  vl_wc_status status;  // of the sender's work request
  uint32_t code;
  vl_wr_opcode opcode;
  // The receive that it meets; without it there is none.
  bool receive;
  vl_wc_status receive_status;
  // The room that the receive has, and its STag instead of the right one.
  uint32_t room;
  uint32_t Stags::* receive_stag;
  uint32_t Stags::* invalidate;
};

const Mishap kMishaps[] = {
    {"a SEND that meets no receive fails, without retries at once", VL_WC_RNR_RETRY_EXC_ERR,
     EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER, VL_OP_SEND, false, VL_WC_SUCCESS, 0, nullptr, nullptr},
    {"a PUSH with immediate that meets no receive fails, without retries at once",
     VL_WC_RNR_RETRY_EXC_ERR, EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER, VL_OP_PUSH_IMM, false,
     VL_WC_SUCCESS, 0, nullptr, nullptr},
    {"a SEND that is longer than its receive is refused: message too long", VL_WC_REM_OP_ERR,
     EXRNIC_TERM_CODE_UNTAGGED_TOO_LONG, VL_OP_SEND, true, VL_WC_LOC_LEN_ERR, kLength - 1, nullptr,
     nullptr},
    {"a SEND that meets a receive without elements is refused: message too long", VL_WC_REM_OP_ERR,
     EXRNIC_TERM_CODE_UNTAGGED_TOO_LONG, VL_OP_SEND, true, VL_WC_LOC_LEN_ERR, 0, nullptr, nullptr},
    {"a receive in another domain's memory ends with a protection error, the SEND as refused",
     VL_WC_REM_OP_ERR, EXRNIC_TERM_CODE_LOCAL_CATASTROPHIC, VL_OP_SEND, true, VL_WC_LOC_PROT_ERR,
     kLength, &Stags::foreign, nullptr},
    {"a receive in deallocated memory ends with a protection error, the SEND as refused",
     VL_WC_REM_OP_ERR, EXRNIC_TERM_CODE_LOCAL_CATASTROPHIC, VL_OP_SEND, true, VL_WC_LOC_PROT_ERR,
     kLength, &Stags::gone, nullptr},
    {"a SEND cannot invalidate an STag that is none", VL_WC_REM_ACCESS_ERR,
     EXRNIC_TERM_CODE_RDMAP_STAG, VL_OP_SEND_INVALIDATE, true, VL_WC_WR_FLUSH_ERR, kLength, nullptr,
     &Stags::gone},
    {"a SEND cannot invalidate another domain's STag", VL_WC_REM_ACCESS_ERR,
     EXRNIC_TERM_CODE_RDMAP_STREAM, VL_OP_SEND_INVALIDATE, true, VL_WC_WR_FLUSH_ERR, kLength,
     nullptr, &Stags::foreign},
    {"a SEND cannot invalidate an STag without rights for peers", VL_WC_REM_ACCESS_ERR,
     EXRNIC_TERM_CODE_NOT_INVALIDATED, VL_OP_SEND_INVALIDATE, true, VL_WC_WR_FLUSH_ERR, kLength,
     nullptr, &Stags::local_only},
};

// A SEND that goes well, the mishap, and one more.
void Request(Bench* bench, const Mishap& mishap) {
  Side side(*bench);
  Connection other(&side);
  Connection connection(&side);
  other.Meet(bench);
  connection.Meet(bench);
  const Stags stags = bench->oob()->ReceiveStruct<Stags>(kStags);
  FillPattern(bench->NextSeed(), connection.source(), connection.bytes());
  const std::vector<vl_sge> bytes = {connection.Source(0, kLength)};
  Post(connection, Work(VL_OP_SEND, 1, bytes));
  Work bad = RemoteWork(mishap.opcode, 2, connection, 2 * kFar, bytes);
  if (mishap.invalidate != nullptr) bad.wr.invalidate_stag = stags.*mishap.invalidate;
  Post(connection, bad);
  Post(connection, Work(VL_OP_SEND, 3, bytes));
  ExpectCompletion(bench, connection.cq(), 1, VL_WC_SUCCESS);
  ExpectCompletion(bench, connection.cq(), 2, mishap.status, mishap.code);
  ExpectCompletion(bench, connection.cq(), 3, VL_WC_WR_FLUSH_ERR);
  ExpectState(bench, connection.qp(), VL_QPS_ERROR);
  SendChecked(bench, other);
  bench->Meet();
}

void Respond(Bench* bench, const Mishap& mishap) {
  Side side(*bench);
  Connection other(&side);
  Connection connection(&side);
  other.Meet(bench);
  connection.Meet(bench);
  const Owned<vl_pd> other_pd = Own(vl_allocate_pd(side.rnic.get()), "vl_allocate_pd");
  auto allocate = [&](vl_pd* pd, int access) {
    return Own(vl_allocate_mr(pd, connection.target(), connection.bytes(), access),
               "vl_allocate_mr");
  };
  constexpr int kWritable = VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE;
  const Owned<vl_mr> foreign = allocate(other_pd.get(), kWritable);
  const Owned<vl_mr> local_only = allocate(side.pd.get(), VL_ACCESS_LOCAL_WRITE);
  Owned<vl_mr> gone = allocate(side.pd.get(), kWritable);
  const Stags stags = {vl_mr_stag(foreign.get()), vl_mr_stag(local_only.get()),
                       vl_mr_stag(gone.get())};
  gone.reset();

  PostReceive(connection.qp(), 1, {connection.Target(0, kLength)});
  if (mishap.receive) {
    vl_sge room = connection.Target(kFar, mishap.room);
    if (mishap.receive_stag != nullptr) room.stag = stags.*mishap.receive_stag;
    PostReceive(connection.qp(), 2,
                mishap.room > 0 ? std::vector<vl_sge>{room} : std::vector<vl_sge>{});
    PostReceive(connection.qp(), 3, {connection.Target(3 * kFar, kLength)});
  }
  bench->oob()->SendStruct(kStags, stags);
  const uint64_t seed = bench->NextSeed();
  ExpectReceived(bench, connection.cq(), 1, kLength);
  if (mishap.receive) {
    ExpectCompletion(bench, connection.cq(), 2, mishap.receive_status);
    ExpectCompletion(bench, connection.cq(), 3, VL_WC_WR_FLUSH_ERR);
  }
  ReceiveChecked(bench, other);
  bench->Meet();
  // Who only has no receive has done nothing wrong.
  ExpectState(bench, connection.qp(), mishap.receive ? VL_QPS_ERROR : VL_QPS_RTS);
  bench->Expect(!ComparePattern(seed, connection.target(), kLength),
                "the SEND before it is damaged");
  bench->Expect(!CompareByte(Connection::kPoison, connection.target() + 3 * kFar, kLength),
                "the SEND behind it arrived");
}

}  // namespace

std::vector<GuestCheck> MessageErrorChecks() {
  std::vector<GuestCheck> checks;
  for (const Mishap& mishap : kMishaps) {
    checks.push_back({mishap.sentence, [&mishap](Bench* bench) { Request(bench, mishap); },
                      [&mishap](Bench* bench) { Respond(bench, mishap); }});
  }
  return checks;
}

}  // namespace exrnic
