// SPDX-License-Identifier: BSD-2-Clause
#include "tickets_program.h"

#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "exrnic/connect.h"
#include "ticket_node.h"

namespace exrnic {

namespace {

using Clock = TicketNode::Clock;

constexpr uint32_t kDesk = 0;  // its node
constexpr uint32_t kGroup = 7;
constexpr auto kAskAgain = std::chrono::milliseconds(500);
// The guests are more than the receives of the desk: a ticket that finds none comes again.
constexpr RnrTerms kComeAgain = {VL_CONN_RNR_TIMER, VL_RNR_RETRY_ENDLESS};

class Desk {
 public:
  explicit Desk(TicketNode* node)
      : node_(node),
        counter_mr_(AllocateMr(node->pd(), &counter_, sizeof(counter_), VL_ACCESS_REMOTE_ATOMIC)),
        in_group_(node->datagrams(), kGroup) {}

  // Until every ticket has been drawn.
  void Serve(uint64_t tickets) {
    std::vector<bool> drawn(tickets);
    for (uint64_t told = 0; told < tickets;) {
      const vl_wc wc = node_->Await(VL_WC_RECV, "a ticket");
      const TicketNote note = node_->Take(wc);
      if (wc.flags & VL_WC_WITH_SOURCE) {
        Admit(note, wc.src_node, wc.src_qpn);
        continue;
      }
      if (note.value >= tickets || drawn[note.value])
        throw std::runtime_error("ticket " + std::to_string(note.value) +
                                 " was drawn twice, or is none");
      drawn[note.value] = true;
      ++told;
    }
  }

  // A guest goes when it has the word, perhaps before its RNIC acknowledges it: each of these SENDs
  // has to end before this end goes, but may fail.
  void Dismiss() {
    for (const auto& guest : guests_) node_->Send(guest.second.get(), {});
    const auto until = Clock::now() + kTicketPatience;
    while (node_->under_way() > 0 && node_->Poll(until)) continue;
  }

 private:
  // Who asks again has missed the answer.
  void Admit(const TicketNote& hello, uint32_t node, uint32_t datagram_qpn) {
    Owned<vl_qp>& guest = guests_[node];
    if (guest == nullptr) {
      guest = node_->MakeConnected();
      ConnectQp(guest.get(), node, hello.qpn, kComeAgain);
    }
    node_->Send(node_->datagrams(),
                {AddressOf(&counter_), vl_mr_stag(counter_mr_.get()), vl_qp_number(guest.get())},
                ToQp(node, datagram_qpn, kTicketQkey));
  }

  TicketNode* const node_;
  uint64_t counter_ = 0;
  const Owned<vl_mr> counter_mr_;
  const GroupMember in_group_;
  std::map<uint32_t, Owned<vl_qp>> guests_;  // by their nodes
};

class Guest {
 public:
  explicit Guest(TicketNode* node)
      : node_(node),
        drawn_mr_(AllocateMr(node->pd(), &drawn_, sizeof(drawn_), VL_ACCESS_LOCAL_WRITE)),
        qp_(node->MakeConnected()) {}

  // A datagram may get lost, and the desk come late: asks until there is an answer.
  void FindDesk() {
    const auto end = Clock::now() + kTicketPatience;
    while (Clock::now() < end) {
      node_->Send(node_->datagrams(), {0, 0, vl_qp_number(qp_.get())},
                  ToGroup(kGroup, kTicketQkey));
      if (const auto answer = node_->Await(VL_WC_RECV, Clock::now() + kAskAgain)) {
        desk_ = node_->Take(*answer);
        ConnectQp(qp_.get(), answer->src_node, desk_.qpn, kComeAgain);
        return;
      }
    }
    throw std::runtime_error("nobody answers in the group: is there a process at node " +
                             std::to_string(kDesk) + "?");
  }

  uint64_t Draw() {
    const vl_sge here = {AddressOf(&drawn_), sizeof(drawn_), vl_mr_stag(drawn_mr_.get())};
    vl_send_wr wr = {};
    wr.sg_list = &here;
    wr.num_sge = 1;
    wr.opcode = VL_OP_FETCH_ADD;
    wr.remote_stag = desk_.stag;
    wr.remote_address = desk_.value;
    wr.atomic_data = 1;
    node_->Post(qp_.get(), wr);
    node_->Await(VL_WC_FETCH_ADD, "an atomic");
    node_->Send(qp_.get(), {drawn_, 0, 0});
    return drawn_;
  }

  // Answers of the desk that came twice are none.
  void AwaitDismissal() {
    while (node_->Await(VL_WC_RECV, "the desk's word").flags & VL_WC_WITH_SOURCE) continue;
  }

 private:
  TicketNode* const node_;
  uint64_t drawn_ = 0;
  const Owned<vl_mr> drawn_mr_;
  const Owned<vl_qp> qp_;
  TicketNote desk_ = {};
};

void RunGuest(const TicketOptions& options, TicketNode* node, uint32_t number, FILE* out) {
  Guest guest(node);
  guest.FindDesk();
  std::string drawn;
  for (uint32_t i = 0; i < options.tickets; ++i)
    drawn += (i == 0 ? "" : ",") + std::to_string(guest.Draw());
  guest.AwaitDismissal();
  fprintf(out, "@exrnic {\"node\":%u,\"drawn\":[%s]}\n", number, drawn.c_str());
}

}  // namespace

void RunTickets(const TicketOptions& options, const OpenRnicCall& open, FILE* out) {
  const Owned<vl_rnic> rnic = Own(open(), "cannot open the RNIC");
  const uint32_t number = QueryRnic(rnic.get()).node_id;
  TicketNode node(rnic.get());
  if (number != kDesk) return RunGuest(options, &node, number, out);
  const uint64_t tickets = uint64_t{options.nodes - 1} * options.tickets;
  Desk desk(&node);
  desk.Serve(tickets);
  desk.Dismiss();
  fprintf(out, "@exrnic {\"nodes\":%u,\"tickets\":%llu}\n", options.nodes,
          static_cast<unsigned long long>(tickets));
}

}  // namespace exrnic
