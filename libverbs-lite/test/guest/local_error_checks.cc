// SPDX-License-Identifier: BSD-2-Clause
// What the own device must refuse: wrong local memory, and work requests that vl_post_sq would
// never write, put into the ring by hand.
#include <string>

#include "connection.h"
#include "pattern.h"

namespace exrnic {

namespace {

constexpr uint32_t kLength = 64;
constexpr size_t kFar = 32 * 1024;

struct Mistake {
  const char* sentence;
  vl_wc_status status;
  // `foreign`: the STag of a region over the source, in another protection domain.
  void (*apply)(const Connection& connection, uint32_t foreign, exrnic_wqe* wqe);
};

const Mistake kMistakes[] = {
    {"a wrong key of a local STag is a local protection error", VL_WC_LOC_PROT_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) { wqe->sge0_stag ^= 1; }},
    {"a local STag of another protection domain is a local protection error", VL_WC_LOC_PROT_ERR,
     [](const Connection&, uint32_t foreign, exrnic_wqe* wqe) { wqe->sge0_stag = foreign; }},
    {"local memory that ends one byte behind its region is a local protection error",
     VL_WC_LOC_PROT_ERR,
     [](const Connection& connection, uint32_t, exrnic_wqe* wqe) {
       wqe->sge0_address = AddressOf(connection.source() + connection.bytes() - kLength + 1);
     }},
    {"a wrong second element is a local protection error", VL_WC_LOC_PROT_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) {
       wqe->num_sge = 2;
       wqe->sge0_length = kLength / 2;
       wqe->sge1_address = wqe->sge0_address;
       wqe->sge1_length = kLength / 2;
       wqe->sge1_stag = wqe->sge0_stag ^ 1;
     }},
    {"an unknown opcode is a malformed work request", VL_WC_LOC_QP_OP_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) { wqe->opcode = 0x7f; }},
    {"an untouched slot is a malformed work request", VL_WC_LOC_QP_OP_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) { *wqe = {}; }},
    {"an unknown flag is a malformed work request", VL_WC_LOC_QP_OP_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) { wqe->flags |= 0x80; }},
    {"three elements in one slot are a malformed work request", VL_WC_LOC_QP_OP_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) { wqe->num_sge = 3; }},
    {"a work request of more slots than there can be is malformed", VL_WC_LOC_QP_OP_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) {
       wqe->num_slots = EXRNIC_WQE_SLOTS_MAX + 1;
     }},
    {"a solicited PUSH is a malformed work request", VL_WC_LOC_QP_OP_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) {
       wqe->flags |= EXRNIC_WQE_FLAGS_SOLICITED;
     }},
    {"immediate data of a PUSH is a malformed work request", VL_WC_LOC_QP_OP_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) { wqe->imm_data = 1; }},
    {"inline data with an element is a malformed work request", VL_WC_LOC_QP_OP_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) { wqe->flags |= EXRNIC_WQE_FLAGS_INLINE; }},
    {"more inline data than there can be is a malformed work request", VL_WC_LOC_QP_OP_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) {
       wqe->flags |= EXRNIC_WQE_FLAGS_INLINE;
       wqe->num_sge = 0;
       wqe->length = EXRNIC_INLINE_MAX + 1;
     }},
    {"a local invalidate with elements is a malformed work request", VL_WC_LOC_QP_OP_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) {
       wqe->opcode = EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE;
     }},
    {"a local invalidate of another domain's STag is a local protection error", VL_WC_LOC_PROT_ERR,
     [](const Connection&, uint32_t foreign, exrnic_wqe* wqe) {
       *wqe = {};
       wqe->opcode = EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE;
       wqe->num_slots = 1;
       wqe->imm_data = foreign;
     }},
    {"a PULL into memory without the right to local writes is a local protection error",
     VL_WC_LOC_PROT_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) { wqe->opcode = EXRNIC_WQE_OPCODE_PULL; }},
    {"a length that is not the sum of its elements is a local length error", VL_WC_LOC_LEN_ERR,
     [](const Connection&, uint32_t, exrnic_wqe* wqe) { wqe->length = kLength + 1; }},
};

void Request(Bench* bench, const Mistake& mistake) {
  Side side(*bench);
  Connection other(&side);
  Connection connection(&side);
  other.Meet(bench);
  connection.Meet(bench);
  const Owned<vl_pd> other_pd = Own(vl_allocate_pd(side.rnic.get()), "vl_allocate_pd");
  const Owned<vl_mr> foreign = Own(
      vl_allocate_mr(other_pd.get(), connection.source(), connection.bytes(), 0), "vl_allocate_mr");

  exrnic_wqe wqe = RawPush(connection, 0, kFar, kLength);
  mistake.apply(connection, vl_mr_stag(foreign.get()), &wqe);
  PutRaw(connection.qp(), RawPush(connection, 0, 0, kLength), 1);
  PutRaw(connection.qp(), wqe, 2);
  PostRaw(connection.qp(), RawPush(connection, 0, kFar, kLength), 3);
  ExpectCompletion(bench, connection.cq(), 1, VL_WC_SUCCESS);
  ExpectCompletion(bench, connection.cq(), 2, mistake.status);
  ExpectCompletion(bench, connection.cq(), 3, VL_WC_WR_FLUSH_ERR);
  bench->ExpectEqual(QueryQp(connection.qp()).state, VL_QPS_ERROR, "state of the queue pair");
  SendChecked(bench, other);
  bench->Meet();
}

void Respond(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  Connection connection(&side);
  other.Meet(bench);
  connection.Meet(bench);
  ReceiveChecked(bench, other);
  bench->Meet();
  const uint8_t* target = connection.target();
  bench->Expect(!CompareByte(0, target, kLength), "the PUSH before it did not arrive");
  bench->Expect(!CompareByte(Connection::kPoison, target + kLength, connection.bytes() - kLength),
                "bytes of the refused work request, or of those behind it, arrived");
}

}  // namespace

std::vector<GuestCheck> LocalErrorChecks() {
  std::vector<GuestCheck> checks;
  for (const Mistake& mistake : kMistakes) {
    checks.push_back({std::string(mistake.sentence) + ", and nothing is sent",
                      [&mistake](Bench* bench) { Request(bench, mistake); }, Respond});
  }
  return checks;
}

}  // namespace exrnic
