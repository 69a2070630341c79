// SPDX-License-Identifier: BSD-2-Clause
#include "work.h"

#include <string>
#include <utility>

namespace exrnic {

Work::Work(vl_wr_opcode opcode, uint64_t wr_id, std::vector<vl_sge> elements)
    : list(std::move(elements)) {
  wr.wr_id = wr_id;
  wr.opcode = opcode;
  wr.flags = VL_SEND_SIGNALED;
}

Work RemoteWork(vl_wr_opcode opcode, uint64_t wr_id, const Connection& connection, size_t at,
                std::vector<vl_sge> elements) {
  Work work(opcode, wr_id, std::move(elements));
  work.wr.remote_stag = connection.peer().stag;
  work.wr.remote_address = connection.peer().address + at;
  return work;
}

void Post(const Connection& connection, const Work& work) {
  vl_send_wr wr = work.wr;
  wr.sg_list = work.list.data();
  wr.num_sge = static_cast<int>(work.list.size());
  Check(vl_post_sq(connection.qp(), &wr, nullptr), "vl_post_sq");
}

void PostReceive(vl_qp* qp, uint64_t wr_id, const std::vector<vl_sge>& list) {
  const vl_recv_wr wr = {wr_id, nullptr, list.data(), static_cast<int>(list.size())};
  Check(vl_post_rq(qp, &wr, nullptr), "vl_post_rq");
}

void ExpectReceived(Bench* bench, vl_cq* cq, uint64_t wr_id, uint32_t bytes, int flags,
                    uint32_t data) {
  const std::string what = "receive " + std::to_string(wr_id);
  const vl_wc wc = AwaitCompletion(cq, what);
  bench->ExpectEqual(wc.wr_id, wr_id, "completed receive");
  bench->Expect(wc.status == VL_WC_SUCCESS,
                what + " ended with \"" + vl_status_string(wc.status) + "\"");
  bench->ExpectEqual(wc.opcode, VL_WC_RECV, "opcode of " + what);
  bench->ExpectEqual(wc.byte_len, bytes, "bytes of " + what);
  bench->ExpectEqual(static_cast<uint64_t>(wc.flags), static_cast<uint64_t>(flags),
                     "flags of " + what);
  bench->ExpectEqual(wc.imm_data, (flags & VL_WC_WITH_IMM) ? data : 0, "immediate of " + what);
  bench->ExpectEqual(wc.invalidated_stag, (flags & VL_WC_WITH_INVALIDATE) ? data : 0,
                     "invalidated STag of " + what);
}

void ExpectState(Bench* bench, vl_qp* qp, vl_qp_state state) {
  bench->ExpectEqual(QueryQp(qp).state, state, "state of the queue pair");
}

}  // namespace exrnic
