// SPDX-License-Identifier: BSD-2-Clause
// exrnic-tickets: what each of its ends has, and does.
#ifndef EXRNIC_EXAMPLES_TICKET_NODE_H
#define EXRNIC_EXAMPLES_TICKET_NODE_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "verbs_objects.h"

namespace exrnic {

constexpr uint32_t kTicketNodesMax = 64;
constexpr uint32_t kTicketQkey = 0x7ec7;
constexpr auto kTicketPatience = std::chrono::seconds(60);

// Every message, of either end.
struct TicketNote {
  uint64_t value;  // of a ticket; or the address of the counter
  uint32_t stag;   // of the counter
  uint32_t qpn;    // connected queue pair of the sender
};

// A queue pair for datagrams, and any number of connected ones; all take their receives from one
// queue, and all complete in another.
class TicketNode {
 public:
  using Clock = std::chrono::steady_clock;

  explicit TicketNode(vl_rnic* rnic);

  vl_pd* pd() const { return pd_.get(); }
  vl_qp* datagrams() const { return datagrams_.get(); }
  Owned<vl_qp> MakeConnected() const;

  // Signaled.
  void Post(vl_qp* qp, vl_send_wr wr);
  // to: where a datagram goes.
  void Send(vl_qp* qp, const TicketNote& note, const vl_destination& to = {});
  // Work requests whose completions were not polled.
  uint32_t under_way() const { return under_way_; }

  // The next completion, if there is one by then.
  std::optional<vl_wc> Poll(Clock::time_point until);
  // The next completion of this kind, if there is one by then. Those before it are successes, as it
  // is, or std::runtime_error.
  std::optional<vl_wc> Await(vl_wc_opcode opcode, Clock::time_point until);
  // Throws std::runtime_error after kTicketPatience.
  vl_wc Await(vl_wc_opcode opcode, const char* what);

  // What came with a receive, which is posted again.
  TicketNote Take(const vl_wc& receive);

 private:
  Owned<vl_qp> MakeQp(vl_service service, uint32_t sends) const;
  void PostReceive(uint64_t place);

  const Owned<vl_pd> pd_;
  const Owned<vl_cq> cq_;
  const Owned<vl_srq> srq_;
  std::vector<TicketNote> notes_;  // the places of receives
  const Owned<vl_mr> notes_mr_;
  const Owned<vl_qp> datagrams_;
  uint32_t under_way_ = 0;
};

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_TICKET_NODE_H
