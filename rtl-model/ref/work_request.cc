// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/work_request.h"

#include <algorithm>
#include <cstddef>

#include "rtl-model/ref/segment.h"

namespace exrnic::ref {
namespace {

constexpr uint32_t kFirstSlotBytes = EXRNIC_WQE_SGES * sizeof(exrnic_sge);
constexpr uint8_t kFlags = EXRNIC_WQE_FLAGS_SIGNALED | EXRNIC_WQE_FLAGS_FENCE |
                           EXRNIC_WQE_FLAGS_SOLICITED | EXRNIC_WQE_FLAGS_INLINE;

uint32_t slots_needed(const WorkRequest& work) {
  const exrnic_wqe& head = work.head;
  if (work.is_inline()) return head.length <= kFirstSlotBytes ? 1 : 2;
  if (head.num_sge <= EXRNIC_WQE_SGES) return 1;
  const uint32_t further = head.num_sge - EXRNIC_WQE_SGES;
  return 1 + (further + EXRNIC_WQE_SLOT_SGES - 1) / EXRNIC_WQE_SLOT_SGES;
}

bool flags_good(const WorkRequest& work) {
  if (work.head.flags & ~kFlags) return false;
  if (work.has(EXRNIC_WQE_FLAGS_SOLICITED) && !work.op().receive) return false;
  return !work.is_inline() || work.op().inlines;
}

bool imm_data_good(const WorkRequest& work) {
  const auto op = work.op();
  return work.head.imm_data == 0 || op.imm || op.invalidates || op.registers;
}

// What a region or a memory window is to become.
bool region_good(const WorkRequest& work) {
  constexpr uint32_t kOfPeers =
      EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_ATOMIC;
  constexpr uint32_t kRights = kOfPeers | EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_MW_BIND;
  const exrnic_wqe& head = work.head;
  const uint64_t length = head.sge0_address;
  const uint32_t page_shift = head.sge0_length;
  if (length == 0 || head.remote_to + (length - 1) < head.remote_to || head.sge1_length != 0 ||
      head.sge1_stag != 0)
    return false;
  if (work.op().binds)
    return page_shift == 0 && head.sge1_address == 0 && (head.remote_stag & ~kOfPeers) == 0;
  return (page_shift == EXRNIC_PAGE_SHIFT || page_shift == EXRNIC_HUGE_PAGE_SHIFT) &&
         (head.remote_stag & ~kRights) == 0 && head.sge1_address % EXRNIC_PBL_LINE_SIZE == 0 &&
         head.sge0_stag == 0;
}

// A queue pair, or a group.
bool destination_good(const WorkRequest& work, const State& state) {
  const uint32_t node = destination_node(work);
  const uint32_t qpn = destination_qpn(work);
  if (qpn >> 24 != 0) return false;
  return is_group(qpn) ? node == 0 : state.has_node(node);
}

bool service_good(const WorkRequest& work, uint32_t service, const State& state) {
  if (service == EXRNIC_SERVICE_RC) return true;
  if (service == EXRNIC_SERVICE_UC) return work.op().uc;
  return work.op().ud && (work.op().stays || destination_good(work, state));
}

// Its send queue is theirs.
bool has_windows(const QueuePair& qp, const State& state) {
  return std::any_of(state.windows.begin(), state.windows.end(), [&](const Window& window) {
    return window.access != 0 && &state.qps[window.qpn] == &qp &&
           window.generation == qp.generation;
  });
}

bool shape_good(const WorkRequest& work) {
  const exrnic_wqe& head = work.head;
  if (!work.readable || head.num_sge > EXRNIC_MAX_SGE || head.num_slots != slots_needed(work))
    return false;
  if (work.is_inline()) return head.num_sge == 0 && head.length <= EXRNIC_INLINE_MAX;
  if (work.op().stays) return head.num_sge == 0 && head.length == 0;
  return !work.op().atomic || head.num_sge == 1;
}

bool length_good(const WorkRequest& work) {
  uint64_t sum = 0;
  for (const exrnic_sge& element : work.elements) sum += element.length;
  if (work.op().atomic && work.head.length != EXRNIC_ATOMIC_BYTES) return false;
  return work.head.length == sum && work.head.length <= EXRNIC_MESSAGE_MAX;
}

}  // namespace

uint32_t destination_node(const WorkRequest& work) {
  return static_cast<uint32_t>(work.head.remote_to >> EXRNIC_DATAGRAM_NODE_SHIFT);
}

uint32_t destination_qpn(const WorkRequest& work) {
  return static_cast<uint32_t>(work.head.remote_to);
}

size_t WorkRequest::nonempty_elements() const {
  return static_cast<size_t>(std::count_if(elements.begin(), elements.end(),
                                           [](const auto& element) { return element.length; }));
}

size_t WorkRequest::read_requests() const { return std::max<size_t>(1, nonempty_elements()); }

exrnic_cqe_status check_send_work(const WorkRequest& work, const QueuePair& qp,
                                  const State& state) {
  if (!work.op().posted || !flags_good(work) || !shape_good(work) || !imm_data_good(work) ||
      (work.op().pull && work.read_requests() > qp.has.reads_out) ||
      !service_good(work, qp.service, state) || has_windows(qp, state) ||
      (work.op().registers && !region_good(work)))
    return EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
  if (qp.is_datagram() && work.head.length > state.settings.mtu)
    return EXRNIC_CQE_STATUS_LOC_LEN_ERR;
  if (work.is_inline() || length_good(work)) return EXRNIC_CQE_STATUS_SUCCESS;
  return EXRNIC_CQE_STATUS_LOC_LEN_ERR;
}

exrnic_cqe_status check_receive(const WorkRequest& receive) {
  if (receive.head.opcode != EXRNIC_WQE_OPCODE_RECV || receive.head.flags != 0 ||
      receive.head.imm_data != 0 || !shape_good(receive))
    return EXRNIC_CQE_STATUS_LOC_QP_OP_ERR;
  return length_good(receive) ? EXRNIC_CQE_STATUS_SUCCESS : EXRNIC_CQE_STATUS_LOC_LEN_ERR;
}

}  // namespace exrnic::ref
