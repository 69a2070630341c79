// SPDX-License-Identifier: BSD-2-Clause
#include "rig.h"

#include <catch2/catch_test_macros.hpp>

namespace exrnic {

vl_qp_attr AttrOf(vl_qp_state state, uint32_t dest_node, uint32_t dest_qpn) {
  vl_qp_attr attr = {};
  attr.state = state;
  attr.dest_node = dest_node;
  attr.dest_qpn = dest_qpn;
  return attr;
}

vl_qp_init_attr QpInit(vl_cq* send_cq, vl_cq* recv_cq, uint32_t send_wr, uint32_t recv_wr) {
  vl_qp_init_attr attr = {};
  attr.send_cq = send_cq;
  attr.recv_cq = recv_cq;
  attr.max_send_wr = send_wr;
  attr.max_recv_wr = recv_wr;
  attr.service = VL_SERVICE_RC;
  return attr;
}

Endpoint::Endpoint(FakeFabric* fabric, uint32_t node, const EndpointSize& size)
    : buffer(size.bytes) {
  rnic = fabric->Open(node);
  REQUIRE(rnic != nullptr);
  pd = vl_allocate_pd(rnic);
  REQUIRE(pd != nullptr);
  cq = vl_create_cq(rnic, size.cq_entries, nullptr);
  REQUIRE(cq != nullptr);
  vl_qp_init_attr attr = QpInit(cq, cq, size.send_wr, size.recv_wr);
  attr.max_send_sge = attr.max_recv_sge = size.sge;
  attr.max_reads_out = attr.max_reads_in = VL_MAX_READS;
  qp = vl_create_qp(pd, &attr);
  REQUIRE(qp != nullptr);
  mr = vl_allocate_mr(pd, buffer.data(), buffer.size(),
                      VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_READ);
  REQUIRE(mr != nullptr);
}

Endpoint::~Endpoint() {
  if (mr != nullptr) CHECK(vl_deallocate_mr(mr) == 0);
  if (qp != nullptr) CHECK(vl_destroy_qp(qp) == 0);
  if (cq != nullptr) CHECK(vl_destroy_cq(cq) == 0);
  if (pd != nullptr) CHECK(vl_deallocate_pd(pd) == 0);
  if (rnic != nullptr) CHECK(vl_close_rnic(rnic) == 0);
}

void Endpoint::Connect(uint32_t peer_node, uint32_t peer_qpn) {
  vl_qp_attr attr = {};
  attr.state = VL_QPS_INIT;
  REQUIRE(vl_modify_qp(qp, &attr) == 0);
  attr.state = VL_QPS_RTR;
  attr.dest_node = peer_node;
  attr.dest_qpn = peer_qpn;
  REQUIRE(vl_modify_qp(qp, &attr) == 0);
  attr.state = VL_QPS_RTS;
  REQUIRE(vl_modify_qp(qp, &attr) == 0);
}

Pair::Pair(const EndpointSize& size) : fabric(2), a(&fabric, 0, size), b(&fabric, 1, size) {
  a.Connect(1, vl_qp_number(b.qp));
  b.Connect(0, vl_qp_number(a.qp));
}

vl_send_wr Pair::Push(uint64_t wr_id, uint32_t length, int flags) {
  sge = {reinterpret_cast<uintptr_t>(a.buffer.data()), length, vl_mr_stag(a.mr)};
  vl_send_wr wr = {};
  wr.wr_id = wr_id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = VL_OP_PUSH;
  wr.flags = flags;
  wr.remote_stag = vl_mr_stag(b.mr);
  wr.remote_address = reinterpret_cast<uintptr_t>(b.buffer.data());
  return wr;
}

int Pair::Post(uint64_t wr_id, uint32_t length, int flags) {
  const vl_send_wr wr = Push(wr_id, length, flags);
  return vl_post_sq(a.qp, &wr, nullptr);
}

}  // namespace exrnic
