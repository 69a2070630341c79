// SPDX-License-Identifier: BSD-2-Clause
// What most tests start from: two nodes, and on each an RNIC with one of everything.
#ifndef EXRNIC_LIBVERBS_RIG_H
#define EXRNIC_LIBVERBS_RIG_H

#include <cstdint>
#include <vector>

#include "exrnic/verbs.h"
#include "fake_fabric.h"

namespace exrnic {

struct EndpointSize {
  uint32_t cq_entries = 64;
  uint32_t send_wr = 16;
  uint32_t recv_wr = 16;
  uint32_t sge = 2;
  size_t bytes = 64 * 1024;
};

// Attributes of a queue pair of the smallest work requests, without reads.
vl_qp_attr AttrOf(vl_qp_state state, uint32_t dest_node = 0, uint32_t dest_qpn = 0);
vl_qp_init_attr QpInit(vl_cq* send_cq, vl_cq* recv_cq, uint32_t send_wr, uint32_t recv_wr);

// Owns its objects; destroys those that are left.
struct Endpoint {
  Endpoint(FakeFabric* fabric, uint32_t node, const EndpointSize& size = {});
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // INIT, RTR to the peer, RTS.
  void Connect(uint32_t peer_node, uint32_t peer_qpn);

  vl_rnic* rnic;
  vl_pd* pd;
  vl_cq* cq;
  vl_qp* qp;
  std::vector<uint8_t> buffer;
  vl_mr* mr;
};

// Two endpoints, connected.
struct Pair {
  explicit Pair(const EndpointSize& size = {});

  // A PUSH of the first `length` bytes of a's buffer to the start of b's.
  vl_send_wr Push(uint64_t wr_id, uint32_t length, int flags = VL_SEND_SIGNALED);
  int Post(uint64_t wr_id, uint32_t length = 8, int flags = VL_SEND_SIGNALED);

  FakeFabric fabric;
  Endpoint a;
  Endpoint b;
  vl_sge sge = {};  // of the last Push
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_RIG_H
