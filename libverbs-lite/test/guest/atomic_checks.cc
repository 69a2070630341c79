// SPDX-License-Identifier: BSD-2-Clause
// Atomics: on 8 bytes of the peer's target; what was there comes into the own one.
#include <cstring>
#include <string>

#include "bench.h"
#include "work.h"

namespace exrnic {

namespace {

constexpr uint64_t kPoisoned = 0x5a5a'5a5a'5a5a'5a5a;
constexpr size_t kPlace = 8;     // in the peer's target
constexpr size_t kAnswers = 64;  // in the own one
constexpr uint64_t kAdds = 40;
constexpr uint64_t kStep = 0x1'0000'0003;
constexpr uint64_t kLeft = 7;

uint64_t Number(const uint8_t* bytes) {
  uint64_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

Work Atomic(vl_wr_opcode opcode, uint64_t wr_id, const Connection& connection, size_t at,
            uint64_t data, uint64_t compare = 0) {
  Work work =
      RemoteWork(opcode, wr_id, connection, at, {connection.Target(kAnswers + 8 * wr_id, 8)});
  work.wr.atomic_data = data;
  work.wr.atomic_compare = compare;
  return work;
}

void ExpectAnswer(Bench* bench, const Connection& connection, uint64_t wr_id, uint64_t value) {
  ExpectCompletion(bench, connection.cq(), wr_id, VL_WC_SUCCESS);
  bench->ExpectEqual(Number(connection.target() + kAnswers + 8 * wr_id), value,
                     "what atomic " + std::to_string(wr_id) + " found");
}

void AddAndSwap(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.AllowAtomics();
  connection.Meet(bench);
  for (uint64_t i = 0; i < kAdds; ++i)
    Post(connection, Atomic(VL_OP_FETCH_ADD, i, connection, kPlace, kStep));
  for (uint64_t i = 0; i < kAdds; ++i) ExpectAnswer(bench, connection, i, kPoisoned + kStep * i);
  const uint64_t sum = kPoisoned + kStep * kAdds;
  Post(connection, Atomic(VL_OP_COMPARE_SWAP, kAdds, connection, kPlace, 1, sum + 1));
  Post(connection, Atomic(VL_OP_COMPARE_SWAP, kAdds + 1, connection, kPlace, kLeft, sum));
  for (uint64_t i : {kAdds, kAdds + 1}) ExpectAnswer(bench, connection, i, sum);
  Post(connection, Atomic(VL_OP_FETCH_ADD, 0, connection, kPlace + 4, 1));
  ExpectCompletion(bench, connection.cq(), 0, VL_WC_REM_OP_ERR, EXRNIC_TERM_CODE_STREAM);
  bench->Meet();
}

void HoldNumber(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.AllowAtomics();
  connection.Meet(bench);
  bench->Meet();
  bench->ExpectEqual(Number(connection.target() + kPlace), kLeft, "the number that is left");
  bench->ExpectEqual(Number(connection.target() + kPlace + 8), kPoisoned, "the number behind it");
}

}  // namespace

std::vector<GuestCheck> AtomicChecks() {
  GuestCheck check = {
      "atomics add and swap, bring what was there, and are refused beside a multiple of 8",
      AddAndSwap, HoldNumber};
  check.needs_rnic = true;
  return {check};
}

}  // namespace exrnic
