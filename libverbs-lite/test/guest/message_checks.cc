// SPDX-License-Identifier: BSD-2-Clause
// SEND in all its kinds, PUSH with immediate, inline data.
#include <cstring>
#include <iterator>
#include <string>

#include "pattern.h"
#include "scatter.h"
#include "work.h"

namespace exrnic {

namespace {

constexpr size_t kBytes = 1u << 20;

// ---- Gathered at one end, scattered at the other

struct Message {
  Parts from;
  Parts to;  // with room for the message, or for more
  uint32_t length;
};

std::vector<Message> MakePlan(uint64_t seed) {
  constexpr uint32_t kLengths[] = {0, 1, 17, 255, 1023, 1024, 1025, 4097, 30000};
  constexpr uint32_t kSpare[] = {0, 0, 1, 200};
  std::mt19937_64 random(seed);
  std::vector<Message> plan;
  size_t from = 0, to = 0;
  for (uint32_t i = 0; i < Connection::kReceives; ++i) {
    const uint32_t length = kLengths[random() % std::size(kLengths)];
    const uint32_t room = length + kSpare[random() % std::size(kSpare)];
    const uint32_t least = room > 0 ? 1 : 0;
    const uint32_t sources = (length > 0 ? 1 : 0) + random() % VL_MAX_SGE;
    const uint32_t targets = least + random() % VL_MAX_SGE;
    Message message = {Scatter(&random, length, sources, &from),
                       Scatter(&random, room, targets, &to), length};
    plan.push_back(std::move(message));
  }
  return plan;
}

void SendScattered(Bench* bench) {
  Side side(*bench);
  Connection connection(&side, kBytes);
  connection.Meet(bench);
  FillPattern(bench->NextSeed(), connection.source(), connection.bytes());
  const std::vector<Message> plan = MakePlan(bench->NextSeed());
  bench->Meet();  // the receives are posted
  for (size_t i = 0; i < plan.size(); ++i) {
    Post(connection, Work(VL_OP_SEND, i,
                          ElementsOf(plan[i].from, connection.source(), connection.source_stag())));
  }
  for (size_t i = 0; i < plan.size(); ++i) {
    ExpectCompletion(bench, connection.cq(), i, VL_WC_SUCCESS);
  }
}

void ReceiveScattered(Bench* bench) {
  Side side(*bench);
  Connection connection(&side, kBytes);
  connection.Meet(bench);
  std::vector<uint8_t> source(kBytes);
  FillPattern(bench->NextSeed(), source.data(), source.size());
  const std::vector<Message> plan = MakePlan(bench->NextSeed());
  for (size_t i = 0; i < plan.size(); ++i) {
    PostReceive(connection.qp(), i,
                ElementsOf(plan[i].to, connection.target(), connection.target_stag()));
  }
  bench->Meet();
  std::vector<uint8_t> expected(kBytes, Connection::kPoison);
  for (size_t i = 0; i < plan.size(); ++i) {
    ExpectReceived(bench, connection.cq(), i, plan[i].length);
    Put(Take(plan[i].from, source), plan[i].to, &expected);
  }
  const std::string wrong = FirstWrong(expected, connection.target());
  bench->Expect(wrong.empty(), "in the target: " + wrong);
}

// ---- UC

constexpr uint32_t kOnce = 5000;  // bytes: more than a frame
constexpr size_t kOncePushAt = 20000;

struct OnceConnection : Connection {
  explicit OnceConnection(Side* side) : Connection(side, 64 * 1024, 64, 0, VL_SERVICE_UC) {}
};

void SendOnce(Bench* bench) {
  Side side(*bench);
  OnceConnection connection(&side);
  connection.Meet(bench);
  FillPattern(bench->NextSeed(), connection.source(), connection.bytes());
  bench->Meet();  // the receives are posted
  const std::vector<vl_sge> bytes = {connection.Source(0, kOnce)};
  Work works[] = {Work(VL_OP_SEND, 0, bytes), Work(VL_OP_SEND_IMM, 1, bytes),
                  RemoteWork(VL_OP_PUSH_IMM, 2, connection, kOncePushAt, bytes)};
  for (Work& work : works) {
    if (work.wr.wr_id != 0) work.wr.imm_data = 40 + static_cast<uint32_t>(work.wr.wr_id);
    Post(connection, work);
  }
  for (const Work& work : works) {
    ExpectCompletion(bench, connection.cq(), work.wr.wr_id, VL_WC_SUCCESS);
  }
  for (const vl_wr_opcode opcode :
       {VL_OP_PULL, VL_OP_FETCH_ADD, VL_OP_COMPARE_SWAP, VL_OP_SEND_INVALIDATE}) {
    Work refused = RemoteWork(opcode, 9, connection, 0, {connection.Target(0, 8)});
    refused.wr.sg_list = refused.list.data();
    const vl_send_wr* bad = nullptr;
    bench->Expect(vl_post_sq(connection.qp(), &refused.wr, &bad) == -1 && errno == EINVAL,
                  "posted: opcode " + std::to_string(opcode));
  }
  ExpectState(bench, connection.qp(), VL_QPS_RTS);
}

void ReceiveOnce(Bench* bench) {
  Side side(*bench);
  OnceConnection connection(&side);
  connection.Meet(bench);
  std::vector<uint8_t> source(kOnce);
  FillPattern(bench->NextSeed(), source.data(), source.size());
  for (uint32_t i = 0; i < 3; ++i) {
    PostReceive(connection.qp(), i, {connection.Target(i * kOnce, kOnce)});
  }
  bench->Meet();
  ExpectReceived(bench, connection.cq(), 0, kOnce);
  ExpectReceived(bench, connection.cq(), 1, kOnce, VL_WC_WITH_IMM, 41);
  ExpectReceived(bench, connection.cq(), 2, kOnce, VL_WC_WITH_IMM | VL_WC_WRITTEN, 42);
  for (const size_t at : {size_t{0}, size_t{kOnce}, kOncePushAt}) {
    bench->Expect(memcmp(connection.target() + at, source.data(), kOnce) == 0,
                  "other bytes at " + std::to_string(at));
  }
}

// ---- Kinds

constexpr uint32_t kLength = 48;
constexpr uint32_t kImm = 0xfeedc0de;
constexpr size_t kPushAt = 8192;
enum OobMessage : uint32_t { kStag = 600 };

// The kinds in the order in which they are sent; the STag is one that the responder offers.
std::vector<Work> Kinds(const Connection& connection, uint32_t stag) {
  const std::vector<vl_sge> bytes = {connection.Source(0, kLength)};
  std::vector<Work> kinds = {Work(VL_OP_SEND, 0, bytes),
                             Work(VL_OP_SEND, 1, bytes),
                             Work(VL_OP_SEND_IMM, 2, bytes),
                             Work(VL_OP_SEND_IMM, 3),
                             RemoteWork(VL_OP_PUSH_IMM, 4, connection, kPushAt, bytes),
                             RemoteWork(VL_OP_PUSH_IMM, 5, connection, kPushAt, {}),
                             Work(VL_OP_SEND_INVALIDATE, 6, bytes)};
  for (Work& work : kinds) {
    work.wr.imm_data = kImm + static_cast<uint32_t>(work.wr.wr_id);
    if (work.wr.wr_id % 2 == 1) work.wr.flags |= VL_SEND_SOLICITED;
  }
  kinds.back().wr.invalidate_stag = stag;
  return kinds;
}

void SendKinds(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  FillPattern(bench->NextSeed(), connection.source(), connection.bytes());
  const uint32_t stag = bench->oob()->ReceiveStruct<uint32_t>(kStag);
  for (const Work& work : Kinds(connection, stag)) Post(connection, work);
  for (uint64_t i = 0; i <= 6; ++i) ExpectCompletion(bench, connection.cq(), i, VL_WC_SUCCESS);

  // The STag is dead now, the queue pair is not.
  Work push = RemoteWork(VL_OP_PUSH, 7, connection, 0, {connection.Source(0, kLength)});
  Post(connection, push);
  ExpectCompletion(bench, connection.cq(), 7, VL_WC_SUCCESS);
  push.wr.remote_stag = stag;
  push.wr.wr_id = 8;
  Post(connection, push);
  ExpectCompletion(bench, connection.cq(), 8, VL_WC_REM_ACCESS_ERR, EXRNIC_TERM_CODE_TAGGED_STAG);
  bench->Meet();
}

void ReceiveKinds(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  const uint64_t seed = bench->NextSeed();
  const Owned<vl_mr> offered =
      Own(vl_allocate_mr(side.pd.get(), connection.target(), connection.bytes(),
                         VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE),
          "vl_allocate_mr");
  for (uint32_t i = 0; i <= 6; ++i) {
    PostReceive(connection.qp(), i, {connection.Target(1024 * i, 64)});
  }
  const uint32_t stag = vl_mr_stag(offered.get());
  bench->oob()->SendStruct(kStag, stag);

  vl_cq* cq = connection.cq();
  ExpectReceived(bench, cq, 0, kLength);
  ExpectReceived(bench, cq, 1, kLength, VL_WC_SOLICITED);
  ExpectReceived(bench, cq, 2, kLength, VL_WC_WITH_IMM, kImm + 2);
  ExpectReceived(bench, cq, 3, 0, VL_WC_WITH_IMM | VL_WC_SOLICITED, kImm + 3);
  ExpectReceived(bench, cq, 4, kLength, VL_WC_WITH_IMM | VL_WC_WRITTEN, kImm + 4);
  ExpectReceived(bench, cq, 5, 0, VL_WC_WITH_IMM | VL_WC_WRITTEN | VL_WC_SOLICITED, kImm + 5);
  ExpectReceived(bench, cq, 6, kLength, VL_WC_WITH_INVALIDATE, stag);
  for (uint32_t i : {1u, 2u, 6u}) {
    bench->Expect(!ComparePattern(seed, connection.target() + 1024 * i, kLength),
                  "bytes of receive " + std::to_string(i) + " are wrong");
  }
  for (uint32_t i : {3u, 4u, 5u}) {
    bench->Expect(!CompareByte(Connection::kPoison, connection.target() + 1024 * i, 64),
                  "elements of receive " + std::to_string(i) + " were written");
  }
  bench->Expect(!ComparePattern(seed, connection.target() + kPushAt, kLength),
                "bytes of the PUSH are wrong");
  bench->Meet();
}

// ---- Inline

// Each length twice: as a PUSH, and as a SEND. The source is overwritten behind the posts.
constexpr uint32_t kStride = 128;

void SendInline(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  const uint64_t seed = bench->NextSeed();
  bench->Meet();
  uint8_t bytes[VL_MAX_INLINE];
  for (uint32_t length = 0; length <= VL_MAX_INLINE; length += 4) {
    FillPattern(PatternStream(seed, length), bytes, sizeof(bytes));
    // The STag names nothing: the device does not look at this memory.
    const std::vector<vl_sge> list = {{AddressOf(bytes), length, 0}};
    Work send(VL_OP_SEND, length, list);
    Work push = RemoteWork(VL_OP_PUSH, length, connection, (64 + length) * kStride, list);
    for (Work* work : {&push, &send}) {
      work->wr.flags |= VL_SEND_INLINE;
      Post(connection, *work);
    }
    memset(bytes, 0, sizeof(bytes));
    ExpectCompletion(bench, connection.cq(), length, VL_WC_SUCCESS);
    ExpectCompletion(bench, connection.cq(), length, VL_WC_SUCCESS);
  }
}

void ReceiveInline(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  const uint64_t seed = bench->NextSeed();
  for (uint32_t length = 0; length <= VL_MAX_INLINE; length += 4) {
    PostReceive(connection.qp(), length, {connection.Target(length * kStride / 2, 64)});
  }
  bench->Meet();
  std::vector<uint8_t> expected(connection.bytes(), Connection::kPoison);
  for (uint32_t length = 0; length <= VL_MAX_INLINE; length += 4) {
    ExpectReceived(bench, connection.cq(), length, length);
    FillPattern(PatternStream(seed, length), &expected[length * kStride / 2], length);
    FillPattern(PatternStream(seed, length), &expected[(64 + length) * kStride], length);
  }
  const std::string wrong = FirstWrong(expected, connection.target());
  bench->Expect(wrong.empty(), "in the target: " + wrong);
}

}  // namespace

std::vector<GuestCheck> MessageChecks() {
  return {
      {"messages gathered from up to 16 elements fill the elements of receives in order, and no "
       "byte beside them",
       SendScattered, ReceiveScattered},
      {"SEND and PUSH with immediate data, solicited, and with invalidate tell the receiver so",
       SendKinds, ReceiveKinds},
      {"UC carries SEND, and both kinds with immediate data; what needs an answer is not posted",
       SendOnce, ReceiveOnce},
      {"inline data of 0 to 64 bytes is sent as it was when it was posted", SendInline,
       ReceiveInline},
  };
}

}  // namespace exrnic
