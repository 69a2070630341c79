// SPDX-License-Identifier: BSD-2-Clause
// Work requests and receives as they stand in a ring, and whether they can be executed as far as
// they alone tell.
#pragma once

#include "rtl-model/ref/state.h"

namespace exrnic::ref {

struct WorkRequest {
  bool readable = false;  // all slots that it says it has could be read
  uint16_t slots = 1;     // that it takes: one, if its first is unreadable or says nonsense
  exrnic_wqe head{};
  std::vector<exrnic_sge> elements;  // as far as its slots reach
  Bytes inline_data;                 // likewise, with WQE_FLAGS_INLINE

  bool has(uint8_t flag) const { return head.flags & flag; }
  bool is_inline() const { return has(EXRNIC_WQE_FLAGS_INLINE); }
  exrnic_wqe_opcode_properties op() const { return exrnic_of_wqe_opcode(head.opcode); }
  size_t nonempty_elements() const;
  size_t read_requests() const;  // of a PULL
};

// Where a datagram goes.
uint32_t destination_node(const WorkRequest& work);
uint32_t destination_qpn(const WorkRequest& work);

// SUCCESS, LOC_QP_OP_ERR or LOC_LEN_ERR.
exrnic_cqe_status check_send_work(const WorkRequest& work, const QueuePair& qp, const State& state);
exrnic_cqe_status check_receive(const WorkRequest& receive);

}  // namespace exrnic::ref
