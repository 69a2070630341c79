// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_QP_H
#define EXRNIC_LIBVERBS_QP_H

#include <atomic>
#include <cstdint>

#include "exrnic/verbs.h"
#include "work_queue.h"

struct vl_qp {
  vl_qp(vl_pd* domain, const vl_qp_init_attr& attr, uint32_t sq_slots, uint32_t rq_slots)
      : pd(domain),
        send_cq(attr.send_cq),
        recv_cq(attr.recv_cq),
        sq(sq_slots, EXRNIC_DOORBELL_SQ),
        rq(rq_slots, EXRNIC_DOORBELL_RQ) {}

  vl_pd* const pd;
  vl_cq* const send_cq;
  vl_cq* const recv_cq;
  exrnic::WorkQueue sq;
  exrnic::WorkQueue rq;
  uint32_t number = 0;
  // Of the last vl_modify_qp: the device may have gone to ERROR since, which posting need not know.
  std::atomic<vl_qp_state> state{VL_QPS_RESET};
};

#endif  // EXRNIC_LIBVERBS_QP_H
