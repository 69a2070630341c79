// SPDX-License-Identifier: BSD-2-Clause
// A peer that speaks by hand what processes with SISCI say to each other, and does not mean it.
#include <cstring>
#include <memory>

#include "exrnic/verbs.hpp"
#include "two_nodes.h"
#include "wire.h"

namespace exrnic {
namespace {

using sisci::Kind;
using sisci::Message;

// Node 1, without the library.
class HandPeer {
 public:
  explicit HandPeer(const std::string& device)
      : rnic_(vl::OpenRnic(device)),
        pd_(vl::AllocatePd(rnic_.get())),
        cq_(vl::CreateCq(rnic_.get(), 512)),
        mr_(vl::AllocateMr(pd_.get(), places_, sizeof(places_), VL_ACCESS_LOCAL_WRITE)) {
    vl_qp_init_attr init = vl::QpAttributes(cq_.get(), 16, kPlaces);
    init.service = VL_SERVICE_UD;
    init.max_inline = sizeof(Message);
    init.max_send_sge = init.max_recv_sge = 1;
    datagrams_ = vl::CreateQp(pd_.get(), init);
    vl::ReadyDatagrams(datagrams_.get(), sisci::kQkey);
    for (uint64_t i = 0; i < kPlaces; ++i) PostReceive(datagrams_.get(), i);
  }

  // The other process, as it answers.
  void Find(unsigned node) {
    Message who = Make(Kind::kWho);
    who.node = node;
    SendDatagram(who, vl::ToGroup(sisci::kGroup, sisci::kQkey));
    Await(Kind::kHere);
  }
  // A link to it: a queue pair that is connected, with this life of the process.
  vl::Owned<vl_qp> Link(uint64_t life) {
    vl_qp_init_attr init = vl::QpAttributes(cq_.get(), 64, 4);
    init.max_inline = VL_MAX_INLINE;
    init.max_send_sge = init.max_recv_sge = 1;
    vl::Owned<vl_qp> qp = vl::CreateQp(pd_.get(), init);
    Message link = Make(Kind::kLink);
    link.qpn = vl_qp_number(qp.get());
    link.address = life;
    SendDatagram(link, vl::ToQp(0, peer_qpn_, sisci::kQkey));
    const Message answer = Await(Kind::kLinked);
    vl::ConnectQp(qp.get(), 0, answer.qpn, {12, VL_RNR_RETRY_ENDLESS});
    return qp;
  }
  void Send(vl_qp* qp, const void* bytes, uint32_t length) {
    const vl_sge sge = {vl::AddressOf(bytes), length, 0};
    vl_send_wr wr = {};
    wr.wr_id = kPlaces;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = VL_OP_SEND;
    wr.flags = VL_SEND_SIGNALED | VL_SEND_INLINE;
    vl::Check(vl_post_sq(qp, &wr, nullptr), "vl_post_sq");
  }
  // Its completions, whatever they are.
  void Await(unsigned completions) {
    for (unsigned i = 0; i < completions; ++i) vl::AwaitCompletion(cq_.get(), "a SEND");
  }
  static Message Make(Kind kind) {
    Message message = {};
    message.version = sisci::kWireVersion;
    message.kind = kind;
    return message;
  }

 private:
  static constexpr uint64_t kPlaces = 64;

  void PostReceive(vl_qp* qp, uint64_t place) {
    const vl_sge sge = {vl::AddressOf(&places_[place]), sizeof(Message), vl_mr_stag(mr_.get())};
    const vl_recv_wr wr = {place, nullptr, &sge, 1};
    vl::Check(vl_post_rq(qp, &wr, nullptr), "vl_post_rq");
  }
  void SendDatagram(const Message& message, const vl_destination& to) {
    const vl_sge sge = {vl::AddressOf(&message), sizeof(message), 0};
    vl_send_wr wr = {};
    wr.wr_id = kPlaces;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = VL_OP_SEND;
    wr.flags = VL_SEND_SIGNALED | VL_SEND_INLINE;
    wr.ud = to;
    vl::Check(vl_post_sq(datagrams_.get(), &wr, nullptr), "vl_post_sq");
  }
  Message Await(Kind kind) {
    for (;;) {
      const vl_wc wc = vl::AwaitCompletion(cq_.get(), "an answer");
      if (wc.opcode != VL_WC_RECV) continue;
      const Message message = places_[wc.wr_id];
      PostReceive(datagrams_.get(), wc.wr_id);
      if (message.kind != kind) continue;
      peer_qpn_ = wc.src_qpn;
      return message;
    }
  }

  const vl::Owned<vl_rnic> rnic_;
  const vl::Owned<vl_pd> pd_;
  const vl::Owned<vl_cq> cq_;
  Message places_[kPlaces] = {};
  const vl::Owned<vl_mr> mr_;
  vl::Owned<vl_qp> datagrams_;
  uint32_t peer_qpn_ = 0;
};

// Interrupts between the two nodes, both of this process.
void ExpectInterrupts(sci_desc_t sd) {
  sci_local_interrupt_t local;
  sci_remote_interrupt_t remote;
  unsigned number = 0;
  SCI(SCI_ERR_OK, SCICreateInterrupt, sd, &local, 0, &number, nullptr, nullptr, 0);
  SCI(SCI_ERR_OK, SCIConnectInterrupt, sd, &remote, 0, 1, number, kSeconds, 0);
  for (int i = 0; i < 300; ++i) {
    SCI(SCI_ERR_OK, SCITriggerInterrupt, remote, 0);
    SCI(SCI_ERR_OK, SCIWaitForInterrupt, local, kSeconds, 0);
  }
  SCI(SCI_ERR_OK, SCIDisconnectInterrupt, remote, 0);
  SCI(SCI_ERR_OK, SCIRemoveInterrupt, local, 0);
}

TEST_CASE("peers that say what is no message lose their links, and nothing else is lost") {
  constexpr unsigned kLinks = 300, kMessages = 8;  // more links than there are receives
  TwoNodes nodes;
  {
    HandPeer peer(nodes.Name(1));
    peer.Find(0);
    for (unsigned i = 0; i < kLinks; ++i) {
      const vl::Owned<vl_qp> qp = peer.Link(1000 + i);
      for (unsigned sent = 0; sent < kMessages; ++sent) peer.Send(qp.get(), "???", 3);
      peer.Await(kMessages);
    }
  }
  ExpectInterrupts(nodes.sd);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE(
    "a peer connects to what is not there, sends to nobody, and asks for too many queue pairs") {
  constexpr unsigned kQuestions = 200;
  TwoNodes nodes;
  OwnedSegment owned(nodes.sd, 4096, kSegment, 0);
  {
    HandPeer peer(nodes.Name(1));
    peer.Find(0);
    const vl::Owned<vl_qp> qp = peer.Link(7);
    for (unsigned i = 0; i < kQuestions; ++i) {
      Message message = HandPeer::Make(i % 4 == 0   ? Kind::kConnect
                                       : i % 4 == 1 ? Kind::kDisconnect
                                       : i % 4 == 2 ? Kind::kOpenQp
                                                    : Kind::kCloseQp);
      message.id = message.number = message.qpn = i;
      message.what = i;
      peer.Send(qp.get(), &message, sizeof(message));
      const uint8_t interrupt[8] = {sisci::kWireVersion, static_cast<uint8_t>(Kind::kInterrupt)};
      peer.Send(qp.get(), interrupt, sizeof(interrupt));
      peer.Await(2);
    }
  }
  sci_error_t error;
  SCIWaitForLocalSegmentEvent(owned.segment, nullptr, nullptr, 0, 0, &error);
  CHECK(error == SCI_ERR_TIMEOUT);  // nobody has connected
  ExpectInterrupts(nodes.sd);
  owned.Remove();
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

}  // namespace
}  // namespace exrnic
