// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_QP_H
#define EXRNIC_LIBVERBS_QP_H

#include <atomic>
#include <cstdint>
#include <optional>

#include "exrnic/verbs.h"
#include "queue_shape.h"
#include "work_queue.h"

struct vl_qp {
  // recv: ignored if the attributes name a shared receive queue.
  vl_qp(vl_pd* domain, const vl_qp_init_attr& attr, const exrnic::QueueShape& send,
        const exrnic::QueueShape& recv)
      : pd(domain),
        send_cq(attr.send_cq),
        recv_cq(attr.recv_cq),
        srq(attr.srq),
        send_shape(send),
        recv_shape(recv),
        max_reads_out(attr.max_reads_out),
        max_reads_in(attr.max_reads_in),
        service(attr.service),
        sq(send.slots, EXRNIC_DOORBELL_SQ) {
    if (srq == nullptr) rq.emplace(recv.slots, EXRNIC_DOORBELL_RQ);
  }

  vl_pd* const pd;
  vl_cq* const send_cq;
  vl_cq* const recv_cq;
  vl_srq* const srq;  // or null
  const exrnic::QueueShape send_shape;
  const exrnic::QueueShape recv_shape;
  const uint32_t max_reads_out;  // these two: that it was created with
  const uint32_t max_reads_in;
  std::atomic<uint32_t> reads_out{max_reads_out};  // that it may have now
  const vl_service service;
  exrnic::WorkQueue sq;
  std::optional<exrnic::WorkQueue> rq;  // unless there is a shared one
  uint32_t number = 0;
  uint64_t cookie = 0;  // in the RNIC's events
  // Of the last vl_modify_qp: the device may have gone to ERROR since, which posting need not know.
  std::atomic<vl_qp_state> state{VL_QPS_RESET};
  std::atomic<uint32_t> windows{0};  // of which its send queue is
};

#endif  // EXRNIC_LIBVERBS_QP_H
