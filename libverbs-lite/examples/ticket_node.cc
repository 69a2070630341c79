// SPDX-License-Identifier: BSD-2-Clause
#include "ticket_node.h"

#include <stdexcept>
#include <string>

namespace exrnic {

namespace {

constexpr uint32_t kReceives = 32;
constexpr uint32_t kSends = 4;

}  // namespace

TicketNode::TicketNode(vl_rnic* rnic)
    : pd_(AllocatePd(rnic)),
      cq_(CreateCq(rnic, kReceives + (1 + kSends) * kTicketNodesMax)),
      srq_(CreateSrq(pd_.get(), kReceives, 1)),
      notes_(kReceives),
      notes_mr_(AllocateMr(pd_.get(), notes_.data(), notes_.size() * sizeof(TicketNote),
                           VL_ACCESS_LOCAL_WRITE)),
      datagrams_(MakeQp(VL_SERVICE_UD, kTicketNodesMax)) {
  for (uint64_t place = 0; place < kReceives; ++place) PostReceive(place);
  ReadyDatagrams(datagrams_.get(), kTicketQkey);
}

Owned<vl_qp> TicketNode::MakeConnected() const { return MakeQp(VL_SERVICE_RC, kSends); }

Owned<vl_qp> TicketNode::MakeQp(vl_service service, uint32_t sends) const {
  vl_qp_init_attr init = QpAttributes(cq_.get(), sends);
  init.service = service;
  init.srq = srq_.get();
  init.max_inline = sizeof(TicketNote);
  if (service == VL_SERVICE_RC) init.max_reads_out = init.max_reads_in = 1;  // atomics
  return CreateQp(pd_.get(), init);
}

void TicketNode::PostReceive(uint64_t place) {
  const vl_sge sge = {AddressOf(&notes_[place]), sizeof(TicketNote), vl_mr_stag(notes_mr_.get())};
  const vl_recv_wr wr = {place, nullptr, &sge, 1};
  Check(vl_post_srq_recv(srq_.get(), &wr, nullptr), "vl_post_srq_recv");
}

void TicketNode::Post(vl_qp* qp, vl_send_wr wr) {
  wr.flags |= VL_SEND_SIGNALED;
  Check(vl_post_sq(qp, &wr, nullptr), "vl_post_sq");
  ++under_way_;
}

void TicketNode::Send(vl_qp* qp, const TicketNote& note, const vl_destination& to) {
  const vl_sge sge = {AddressOf(&note), sizeof(note), 0};
  vl_send_wr wr = {};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = VL_OP_SEND;
  wr.flags = VL_SEND_INLINE;
  wr.ud = to;
  Post(qp, wr);
}

std::optional<vl_wc> TicketNode::Poll(Clock::time_point until) {
  vl_wc wc;
  do {
    const int count = vl_poll_cq(cq_.get(), 1, &wc);
    Check(count, "vl_poll_cq");
    if (count == 0) continue;
    if (wc.opcode != VL_WC_RECV) --under_way_;
    return wc;
  } while (Clock::now() < until);
  return std::nullopt;
}

std::optional<vl_wc> TicketNode::Await(vl_wc_opcode opcode, Clock::time_point until) {
  while (const std::optional<vl_wc> wc = Poll(until)) {
    if (wc->status != VL_WC_SUCCESS)
      throw std::runtime_error(std::string(vl_wc_opcode_string(wc->opcode)) +
                               " failed: " + vl_status_string(wc->status));
    if (wc->opcode == opcode) return wc;
  }
  return std::nullopt;
}

vl_wc TicketNode::Await(vl_wc_opcode opcode, const char* what) {
  if (const std::optional<vl_wc> wc = Await(opcode, Clock::now() + kTicketPatience)) return *wc;
  throw std::runtime_error(std::string("waited in vain for ") + what);
}

TicketNote TicketNode::Take(const vl_wc& receive) {
  const TicketNote note = notes_.at(receive.wr_id);
  PostReceive(receive.wr_id);
  return note;
}

}  // namespace exrnic
