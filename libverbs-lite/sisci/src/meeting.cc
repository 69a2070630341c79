// SPDX-License-Identifier: BSD-2-Clause
// How processes find each other, by datagrams, which may be lost: questions come again until they
// are answered, and an answer that comes twice changes nothing.
#include <algorithm>
#include <cstring>

#include "adapter.h"
#include "limits.h"
#include "objects.h"

namespace exrnic::sisci {

namespace {

// High byte of wr_id on the datagram queue pair; messages.cc has others.
constexpr uint64_t kDatagramTag = uint64_t{1} << 56;

Message Make(Kind kind, uint32_t id) {
  Message message = {};
  message.version = kWireVersion;
  message.kind = kind;
  message.id = id;
  return message;
}

bool IsKnown(uint32_t what) { return what <= static_cast<uint32_t>(What::kDataInterrupt); }

}  // namespace

void Adapter::PostDatagramReceive(uint64_t index) {
  const vl_sge sge = {vl::AddressOf(&datagrams_[index]), sizeof(Message),
                      vl_mr_stag(datagrams_mr_.get())};
  const vl_recv_wr wr = {kDatagramTag | index, nullptr, &sge, 1};
  vl_post_rq(datagram_qp_.get(), &wr, nullptr);
}

void Adapter::SendDatagram(const Message& message, const vl_destination& to) {
  if (datagrams_under_way_ == kDatagramSends) return;  // as if it were lost
  const vl_sge sge = {vl::AddressOf(&message), sizeof(message), 0};
  vl_send_wr wr = {};
  wr.wr_id = kDatagramTag;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = VL_OP_SEND;
  wr.flags = VL_SEND_SIGNALED | VL_SEND_INLINE;
  wr.ud = to;
  if (vl_post_sq(datagram_qp_.get(), &wr, nullptr) == 0) ++datagrams_under_way_;
}

void Adapter::TakeDatagram(const vl_wc& wc) {
  if (wc.opcode != VL_WC_RECV) {
    --datagrams_under_way_;
    return;
  }
  const uint64_t index = wc.wr_id & 0xffff;
  const Message message = datagrams_[index];
  PostDatagramReceive(index);
  if (wc.status != VL_WC_SUCCESS || (wc.flags & VL_WC_WITH_SOURCE) == 0 ||
      wc.byte_len != sizeof(Message) || message.version != kWireVersion) {
    return;
  }
  if (message.kind == Kind::kWho) return TakeWho(message, wc);
  if (message.kind == Kind::kLink) return TakeLink(message, wc);
  const auto found = questions_.find(message.id);
  if (found == questions_.end()) return;
  Question* question = found->second.get();
  const bool of_link = message.kind == Kind::kLinked || message.kind == Kind::kRefused;
  const bool of_who = message.kind == Kind::kHere || message.kind == Kind::kNobody;
  if (question->link != nullptr || question->done || wc.src_node != question->node) return;
  if (question->qpn == 0 ? !of_who : !of_link || wc.src_qpn != question->qpn) return;
  question->done = true;
  question->answer = message;
  question->answer_qpn = wc.src_qpn;
  TheLibrary().answered.notify_all();
}

// Of this process.
bool Adapter::Owns(What what, uint32_t number) const {
  switch (what) {
    case What::kNode:
      return true;
    case What::kSegment: {
      const auto& segments = TheLibrary().segments;
      const auto found = segments.find(number);
      if (found == segments.end()) return false;
      const Exposure* exposure = found->second->On(number_);
      return exposure != nullptr && exposure->available;
    }
    case What::kInterrupt:
    case What::kDataInterrupt:
      return HasInterrupt(what == What::kDataInterrupt, number);
  }
  return false;
}

// The owner answers. That nobody has it, any process of the node can see.
void Adapter::TakeWho(const Message& message, const vl_wc& wc) {
  if (message.node != node() || !IsKnown(message.what)) return;
  const auto what = static_cast<What>(message.what);
  Kind kind = Kind::kHere;
  if (!Owns(what, message.number)) {
    // A segment of this process that is not available is none; one of another process is that
    // one's affair.
    const bool hidden = what == What::kSegment && TheLibrary().segments.count(message.number) != 0;
    if (!hidden && is_shared_ && HostName::IsTaken(HostNameOf(what, message.number))) return;
    kind = Kind::kNobody;
  }
  Message answer = Make(kind, message.id);
  answer.address = life_;
  SendDatagram(answer, vl::ToQp(wc.src_node, wc.src_qpn, kQkey));
}

// Another process makes a link. Its queue pair is of this life of it, and if it asks again it gets
// the same answer.
void Adapter::TakeLink(const Message& message, const vl_wc& wc) {
  const auto name = std::make_tuple(wc.src_node, wc.src_qpn, message.address);
  const vl_destination to = vl::ToQp(wc.src_node, wc.src_qpn, kQkey);
  const auto found = served_.find(name);
  std::shared_ptr<Link> link = found == served_.end() ? nullptr : found->second;
  if (link != nullptr && link->peer_qpn != message.qpn) {  // it has given up the one before
    Lose(link);
    link = nullptr;
  }
  size_t of_node = 0;
  for (const auto& served : served_) of_node += served.second->node == wc.src_node ? 1 : 0;
  Message answer = Make(Kind::kLinked, message.id);
  if (link == nullptr && served_.size() < kLinks && of_node < kNodeLinks) {
    try {
      link = std::make_shared<Link>();
      link->node = wc.src_node;
      link->datagram_qpn = wc.src_qpn;
      link->life = message.address;
      link->peer_qpn = message.qpn;
      link->messages = MakeQp(messages_cq_.get(), srq_.get(), kLinkSends, 0, 0);
      Connect(link->messages.get(), link->node, link->peer_qpn);
      link->connected = true;
      link->state = Link::State::kReady;
      link->quiet_until = Clock::now() + kAnswerTime;  // it may not be there yet
      served_[name] = link;
      by_qpn_[vl_qp_number(link->messages.get())] = link;
    } catch (const vl::VerbsError&) {
      link = nullptr;
    }
  }
  if (link == nullptr) {
    answer.kind = Kind::kRefused;
  } else {
    answer.qpn = vl_qp_number(link->messages.get());
    answer.address = life_;
  }
  SendDatagram(answer, to);
}

// Asks until it is answered. Throws when the time is over.
std::shared_ptr<Adapter::Question> Adapter::AskByDatagram(Lock* lock, Message message,
                                                          const vl_destination& to, uint32_t node,
                                                          uint32_t qpn, Clock::time_point deadline,
                                                          const bool* given_up) {
  auto question = std::make_shared<Question>();
  question->node = node;
  question->qpn = qpn;
  message.id = next_question_++;
  questions_[message.id] = question;
  for (Clock::duration pause = kFirstRetry; !question->done && !IsGivenUp(given_up);
       pause = std::min<Clock::duration>(2 * pause, kLastRetry)) {
    SendDatagram(message, to);
    const auto now = Clock::now();
    const auto until = deadline - now < pause ? deadline : now + pause;
    if (WaitFor(lock, &TheLibrary().answered, until,
                [&] { return question->done || IsGivenUp(given_up); })) {
      break;
    }
    if (Clock::now() >= deadline) break;
  }
  questions_.erase(message.id);
  if (!question->done) throw Failure{LinkIsUp() ? SCI_ERR_TIMEOUT : SCI_ERR_NO_LINK_ACCESS};
  return question;
}

bool Adapter::Probe(Lock* lock, uint32_t node, Clock::time_point deadline) {
  Message who = Make(Kind::kWho, 0);
  who.node = node;
  who.what = static_cast<uint32_t>(What::kNode);
  try {
    AskByDatagram(lock, who, vl::ToGroup(kGroup, kQkey), node, 0, deadline, nullptr);
    return true;
  } catch (const Failure& failure) {
    if (failure.error != SCI_ERR_TIMEOUT) throw;
    return false;
  }
}

std::shared_ptr<Link> Adapter::FindOwner(Lock* lock, uint32_t node, What what, uint32_t number,
                                         Clock::time_point deadline, const bool* given_up) {
  Message who = Make(Kind::kWho, 0);
  who.node = node;
  who.what = static_cast<uint32_t>(what);
  who.number = number;
  const auto found =
      AskByDatagram(lock, who, vl::ToGroup(kGroup, kQkey), node, 0, deadline, given_up);
  Require(found->answer.kind == Kind::kHere, SCI_ERR_NO_SUCH_SEGMENT);
  return LinkTo(lock, node, found->answer_qpn, found->answer.address, deadline, given_up);
}

std::shared_ptr<Link> Adapter::LinkTo(Lock* lock, uint32_t node, uint32_t qpn, uint64_t life,
                                      Clock::time_point deadline, const bool* given_up) {
  const Name name = {node, qpn};
  if (const auto found = made_.find(name); found != made_.end()) {
    const std::shared_ptr<Link> link = found->second;
    if (link->life != life) {
      Lose(link);  // that was another process
    } else {
      // Perhaps another thread is making it.
      Require(
          WaitFor(lock, &TheLibrary().answered, deadline,
                  [&] { return link->state != Link::State::kConnecting || IsGivenUp(given_up); }),
          SCI_ERR_TIMEOUT);
      Require(link->state == Link::State::kReady, SCI_ERR_NODE_NOT_RESPONDING);
      return link;
    }
  }
  const auto link = std::make_shared<Link>();
  link->made_here = true;
  link->node = node;
  link->datagram_qpn = qpn;
  link->life = life;
  link->messages = MakeQp(messages_cq_.get(), srq_.get(), kLinkSends, 0, 0);
  made_[name] = link;
  try {
    Message message = Make(Kind::kLink, 0);
    message.qpn = vl_qp_number(link->messages.get());
    message.address = life_;
    const auto linked =
        AskByDatagram(lock, message, vl::ToQp(node, qpn, kQkey), node, qpn, deadline, given_up);
    Require(linked->answer.kind == Kind::kLinked, SCI_ERR_CONNECTION_REFUSED);
    Require(linked->answer.address == life && link->state == Link::State::kConnecting,
            SCI_ERR_NODE_NOT_RESPONDING);
    link->peer_qpn = linked->answer.qpn;
    Connect(link->messages.get(), node, link->peer_qpn);
  } catch (...) {
    Lose(link);
    throw;
  }
  link->connected = true;
  link->state = Link::State::kReady;
  by_qpn_[vl_qp_number(link->messages.get())] = link;
  TheLibrary().answered.notify_all();
  return link;
}

bool Adapter::IsOwn(const Link& link) const {
  return link.node == node() && link.datagram_qpn == vl_qp_number(datagram_qp_.get()) &&
         link.life == life_;
}

}  // namespace exrnic::sisci
