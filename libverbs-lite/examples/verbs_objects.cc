// SPDX-License-Identifier: BSD-2-Clause
#include "verbs_objects.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace exrnic {

void ThrowErrno(const std::string& what) {
  throw std::runtime_error(what + ": " + strerror(errno));
}

vl_rnic* OpenDevice(const std::string& name) {
  vl_rnic* rnic = vl_open_rnic(name.empty() ? nullptr : name.c_str());
  if (rnic != nullptr) return rnic;
  const std::string text = vl_error_text();
  if (text.empty()) ThrowErrno("vl_open_rnic");
  throw std::runtime_error("vl_open_rnic: " + text);
}

void Check(int result, const char* call) {
  if (result < 0) ThrowErrno(call);
}

vl_rnic_attr QueryRnic(vl_rnic* rnic) {
  vl_rnic_attr attr = {};
  Check(vl_query_rnic(rnic, &attr), "vl_query_rnic");
  return attr;
}

vl_qp_attr QueryQp(vl_qp* qp) {
  vl_qp_attr attr = {};
  Check(vl_query_qp(qp, &attr), "vl_query_qp");
  return attr;
}

vl_qp_init_attr QpAttributes(vl_cq* cq, uint32_t send_wr, uint32_t recv_wr) {
  vl_qp_init_attr init = {};
  init.send_cq = cq;
  init.recv_cq = cq;
  init.max_send_wr = send_wr;
  init.max_recv_wr = recv_wr;
  init.service = VL_SERVICE_RC;
  return init;
}

Owned<vl_qp> CreateQp(vl_pd* pd, vl_qp_init_attr init) {
  return Own(vl_create_qp(pd, &init), "vl_create_qp");
}

Owned<vl_srq> CreateSrq(vl_pd* pd, uint32_t receives, uint32_t elements) {
  vl_srq_attr attr = {receives, elements, 0};
  return Own(vl_create_srq(pd, &attr), "vl_create_srq");
}

void ModifyQp(vl_qp* qp, vl_qp_state state) {
  vl_qp_attr attr = {};
  attr.state = state;
  Check(vl_modify_qp(qp, &attr), "vl_modify_qp");
}

void ConnectQp(vl_qp* qp, uint32_t peer_node, uint32_t peer_qpn) {
  ModifyQp(qp, VL_QPS_INIT);
  vl_qp_attr attr = {};
  attr.state = VL_QPS_RTR;
  attr.dest_node = peer_node;
  attr.dest_qpn = peer_qpn;
  Check(vl_modify_qp(qp, &attr), "vl_modify_qp to RTR");
  ModifyQp(qp, VL_QPS_RTS);
}

Pages::Pages(size_t bytes) : bytes_((bytes + 4095) / 4096 * 4096) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) ThrowErrno("no memory for a buffer");
  data_ = static_cast<uint8_t*>(memory);
}

Pages::~Pages() { munmap(data_, bytes_); }

vl_wc AwaitCompletion(vl_cq* cq, const std::string& what, std::chrono::seconds limit) {
  constexpr int kPollsPerLookAtTheClock = 4096;
  const auto until = std::chrono::steady_clock::now() + limit;
  vl_wc wc;
  do {
    for (int i = 0; i < kPollsPerLookAtTheClock; ++i) {
      const int count = vl_poll_cq(cq, 1, &wc);
      Check(count, "vl_poll_cq");
      if (count == 1) return wc;
    }
    sched_yield();
  } while (std::chrono::steady_clock::now() < until);
  throw std::runtime_error("no completion within " + std::to_string(limit.count()) + " s of " +
                           what);
}

void RaiseMemlockLimit() {
  const rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
  // Without the right to, registration tells whether the present limit is enough.
  (void)setrlimit(RLIMIT_MEMLOCK, &unlimited);
}

}  // namespace exrnic
