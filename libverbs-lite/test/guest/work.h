// SPDX-License-Identifier: BSD-2-Clause
// Work of any kind, as the checks write it down.
#ifndef EXRNIC_GUEST_WORK_H
#define EXRNIC_GUEST_WORK_H

#include <cstdint>
#include <vector>

#include "connection.h"

namespace exrnic {

// One work request, signaled, with its elements. The caller may set more fields of wr.
struct Work {
  Work(vl_wr_opcode opcode, uint64_t wr_id, std::vector<vl_sge> elements = {});
  vl_send_wr wr = {};
  std::vector<vl_sge> list;
};
// The same with its place at the peer: `at` bytes into the peer's target.
Work RemoteWork(vl_wr_opcode opcode, uint64_t wr_id, const Connection& connection, size_t at,
                std::vector<vl_sge> elements);

// Posts one; throws if it is refused.
void Post(const Connection& connection, const Work& work);
void PostReceive(vl_qp* qp, uint64_t wr_id, const std::vector<vl_sge>& list);

// The next completion is of this receive, which succeeded, with these flags and immediate data or
// invalidated STag.
void ExpectReceived(Bench* bench, vl_cq* cq, uint64_t wr_id, uint32_t bytes, int flags = 0,
                    uint32_t data = 0);

void ExpectState(Bench* bench, vl_qp* qp, vl_qp_state state);

}  // namespace exrnic

#endif  // EXRNIC_GUEST_WORK_H
