// SPDX-License-Identifier: BSD-2-Clause
// Messages on links, and how links end.
#include <algorithm>
#include <cstring>

#include "adapter.h"
#include "limits.h"
#include "objects.h"

namespace exrnic::sisci {

namespace {

// High byte of wr_id; meeting.cc has 1.
constexpr unsigned kTagShift = 56;
constexpr uint64_t kDatagramTag = 1;
constexpr uint64_t kReceiveTag = 2;
constexpr uint64_t kSendTag = 3;  // below: 1 + its place, if it is not inline
constexpr uint64_t kProbeTag = 4;

uint64_t Tagged(uint64_t tag, uint64_t number) { return tag << kTagShift | number; }
uint64_t NumberOf(uint64_t wr_id) { return wr_id & ((uint64_t{1} << kTagShift) - 1); }

size_t BytesOf(const Message& message, const std::vector<uint8_t>& data) {
  return message.kind == Kind::kInterrupt ? kInterruptHead + data.size() : sizeof(Message);
}

}  // namespace

void Adapter::PostReceive(uint64_t index) {
  const vl_sge sge = {vl::AddressOf(&received_[index * kMessageBytes]), kMessageBytes,
                      vl_mr_stag(received_mr_.get())};
  const vl_recv_wr wr = {Tagged(kReceiveTag, index), nullptr, &sge, 1};
  vl_post_srq_recv(srq_.get(), &wr, nullptr);
}

void Adapter::PollMessages() {
  vl_wc wcs[16];
  // Not without end, under the lock: whoever floods this process gets his turn, and others theirs.
  for (int count = 16, batch = 0; count == 16 && batch < kBatches; ++batch) {
    count = vl_poll_cq(messages_cq_.get(), 16, wcs);
    for (int i = 0; i < count; ++i) {
      const vl_wc& wc = wcs[i];
      switch (wc.wr_id >> kTagShift) {
        case kDatagramTag:
          TakeDatagram(wc);
          break;
        case kReceiveTag:
          TakeMessage(wc, NumberOf(wc.wr_id));
          break;
        default:
          TakeSent(wc);
      }
    }
  }
}

// ---- Sent

bool Adapter::CanPost(const Link& link, size_t bytes) const {
  return link.sends < kLinkSends && sends_under_way_ < kSends &&
         (bytes <= VL_MAX_INLINE ||
          (!free_sent_.empty() && link.long_sends.size() < kLinkLongSends));
}

void Adapter::Post(Link* link, const Message& message, const std::vector<uint8_t>& data) {
  const size_t bytes = BytesOf(message, data);
  uint8_t small[VL_MAX_INLINE];
  uint8_t* place = small;
  uint64_t number = 0;
  if (bytes > VL_MAX_INLINE) {
    const uint32_t index = free_sent_.back();
    free_sent_.pop_back();
    place = &sent_[index * kMessageBytes];
    number = 1 + index;
  }
  memcpy(place, &message, std::min(bytes, sizeof(message)));
  if (message.kind == Kind::kInterrupt && !data.empty()) {
    memcpy(place + kInterruptHead, data.data(), data.size());
  }
  const vl_sge sge = {vl::AddressOf(place), static_cast<uint32_t>(bytes),
                      vl_mr_stag(sent_mr_.get())};
  vl_send_wr wr = {};
  wr.wr_id = Tagged(kSendTag, number);
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = VL_OP_SEND;
  wr.flags = VL_SEND_SIGNALED | (place == small ? VL_SEND_INLINE : 0);
  if (vl_post_sq(link->messages.get(), &wr, nullptr) == 0) {
    ++link->sends;
    ++sends_under_way_;
    if (number != 0) link->long_sends.push_back(static_cast<uint32_t>(number - 1));
  } else if (number != 0) {
    free_sent_.push_back(static_cast<uint32_t>(number - 1));  // the RNIC is gone
  }
}

bool Adapter::Send(const std::shared_ptr<Link>& link, Message message,
                   const std::vector<uint8_t>& data) {
  if (link->state != Link::State::kReady) return false;
  message.version = kWireVersion;
  message.bytes = static_cast<uint16_t>(data.size());
  if (link->backlog.empty() && CanPost(*link, BytesOf(message, data))) {
    Post(link.get(), message, data);
    return true;
  }
  // Interrupts leave room for what must be said.
  const size_t room = message.kind == Kind::kInterrupt ? kBacklog / 2 : kBacklog;
  if (link->backlog.size() >= room) return false;
  link->backlog.emplace_back(message, data);
  return true;
}

void Adapter::PostBacklog(Link* link) {
  while (!link->backlog.empty()) {
    const auto& next = link->backlog.front();
    if (!CanPost(*link, BytesOf(next.first, next.second))) return;
    Post(link, next.first, next.second);
    link->backlog.pop_front();
  }
}

void Adapter::TakeSent(const vl_wc& wc) {
  const uint64_t number = NumberOf(wc.wr_id);
  const bool probe = wc.wr_id >> kTagShift == kProbeTag;
  const auto found = by_qpn_.find(wc.qpn);
  if (found == by_qpn_.end()) return;  // its queue pair is gone, and it is not counted any more
  const std::shared_ptr<Link> link = found->second;
  --sends_under_way_;
  --link->sends;
  if (!probe && number != 0) {
    const auto place = static_cast<uint32_t>(number - 1);
    auto& places = link->long_sends;
    places.erase(std::find(places.begin(), places.end(), place));
    free_sent_.push_back(place);
  }
  if (link->state == Link::State::kLost) return;
  if (wc.status != VL_WC_SUCCESS) return Lose(link);
  PostBacklog(link.get());
}

// A write of no bytes finds out whether the other end's queue pair is there: it is gone with its
// process. How busy that is does not matter.
void Adapter::ProbeLinks() {
  const auto now = Clock::now();
  const auto made = made_;
  for (const auto& entry : made) {  // who does not say which queue pair it has for bytes
    const std::shared_ptr<Link>& link = entry.second;
    if (link->data_state == Link::Data::kAsked && now >= link->asked_until) Lose(link);
  }
  std::vector<Link*> links;
  for (const auto& entry : made_) links.push_back(entry.second.get());
  for (const auto& entry : served_) links.push_back(entry.second.get());
  for (Link* const link : links) {
    if (link->state != Link::State::kReady || link->sends != 0 || link->quiet_until > now ||
        sends_under_way_ >= kSends) {
      continue;
    }
    vl_send_wr wr = {};
    wr.wr_id = Tagged(kProbeTag, 0);
    wr.opcode = VL_OP_PUSH;
    wr.flags = VL_SEND_SIGNALED;
    if (vl_post_sq(link->messages.get(), &wr, nullptr) != 0) continue;
    ++link->sends;
    ++sends_under_way_;
  }
}

// ---- Received

void Adapter::TakeMessage(const vl_wc& wc, uint64_t index) {
  uint8_t* const place = &received_[index * kMessageBytes];
  Message message = {};
  std::vector<uint8_t> data;
  const auto found = by_qpn_.find(wc.qpn);
  bool valid = false;
  if (wc.status == VL_WC_SUCCESS && wc.byte_len >= kInterruptHead) {
    memcpy(&message, place, std::min<size_t>(wc.byte_len, sizeof(message)));
    if (message.kind == Kind::kInterrupt) {
      valid = wc.byte_len == kInterruptHead + message.bytes;
      if (valid) data.assign(place + kInterruptHead, place + wc.byte_len);
    } else {
      valid = wc.byte_len == sizeof(message);
    }
    valid = valid && message.version == kWireVersion;
  }
  PostReceive(index);
  if (found == by_qpn_.end()) return;
  const std::shared_ptr<Link> link = found->second;
  if (link->state == Link::State::kLost) return;
  if (!valid) return Lose(link);
  link->quiet_until = {};
  if (!link->made_here) return Serve(link, message, data.data());
  if (message.kind == Kind::kAnswer) return TakeAnswer(link, message);
  if (message.kind == Kind::kNotice) return TakeNotice(*link, message);
  Lose(link);
}

void Adapter::TakeAnswer(const std::shared_ptr<Link>& link, const Message& message) {
  const auto found = questions_.find(message.id);
  if (found == questions_.end() || found->second->link != link) {
    // Nobody waits for it any more.
    if (message.status == SCI_ERR_OK && message.number != 0) {
      Message disconnect = {};
      disconnect.kind = Kind::kDisconnect;
      disconnect.number = message.number;
      Send(link, disconnect);
    }
    return;
  }
  const std::shared_ptr<Question> question = found->second;
  question->done = true;
  question->answer = message;
  questions_.erase(found);
  if (question->then) question->then(message);
  TheLibrary().answered.notify_all();
}

Message Adapter::Ask(Lock* lock, const std::shared_ptr<Link>& link, Message message,
                     Clock::time_point deadline, const bool* given_up) {
  auto question = std::make_shared<Question>();
  question->link = link;
  message.id = next_question_++;
  questions_[message.id] = question;
  const bool sent = Send(link, message);
  const bool answered =
      sent && WaitFor(lock, &TheLibrary().answered, deadline, [&] {
        return question->done || link->state == Link::State::kLost || IsGivenUp(given_up);
      });
  questions_.erase(message.id);
  if (question->done) return question->answer;
  throw Failure{answered || !sent ? SCI_ERR_NODE_NOT_RESPONDING : SCI_ERR_TIMEOUT};
}

void Adapter::TakeNotice(const Link& link, const Message& message) {
  const auto reason = static_cast<sci_segment_cb_reason_t>(message.what);
  for (const auto& weak : link.segments) {
    const auto segment = weak.lock();
    if (segment == nullptr || segment->removed || segment->connection != message.number) continue;
    if (reason == SCI_CB_LOST) segment->lost = true;
    if (reason == SCI_CB_LOST || reason == SCI_CB_DISCONNECT) {
      segment->Tell(segment, reason, SCI_ERR_OK);
    }
  }
}

// ---- The end

// What it has under way comes to nothing, and leaves no completion.
void Adapter::Forget(vl::Owned<vl_qp> qp) {
  if (qp != nullptr) by_qpn_.erase(vl_qp_number(qp.get()));
}

// A queue pair that is destroyed takes receives of the shared queue with it, whose completions
// nobody has seen. So it goes to ERROR first, where all that it holds completes, and is destroyed
// when the RNIC says that it holds nothing.
void Adapter::LetDie(const std::shared_ptr<Link>& link) {
  if (link->messages == nullptr) return;
  vl_qp_attr attr = {};
  attr.state = VL_QPS_ERROR;
  const bool dies = link->connected && vl_modify_qp(link->messages.get(), &attr) == 0;
  link->dies_by = Clock::now() + (dies ? Clock::duration(kDeath) : Clock::duration::zero());
  dying_.push_back(link);
}

// Those that hold nothing, and those that have had their time.
void Adapter::BuryDead() {
  for (size_t i = 0; i < dying_.size();) {
    Link* const link = dying_[i].get();
    if (!link->holds_nothing && Clock::now() < link->dies_by) {
      ++i;
      continue;
    }
    sends_under_way_ -= link->sends;
    link->sends = 0;
    Forget(std::move(link->messages));
    // Nobody reads them now.
    free_sent_.insert(free_sent_.end(), link->long_sends.begin(), link->long_sends.end());
    link->long_sends.clear();
    dying_[i] = dying_.back();
    dying_.pop_back();
  }
}

void Adapter::Lose(const std::shared_ptr<Link>& link) {
  if (link->state == Link::State::kLost) return;
  link->state = Link::State::kLost;
  if (link->made_here) {
    const auto found = made_.find({link->node, link->datagram_qpn});
    if (found != made_.end() && found->second == link) made_.erase(found);
  } else {
    served_.erase({link->node, link->datagram_qpn, link->life});
  }
  link->backlog.clear();
  LetDie(link);
  pieces_under_way_ -= static_cast<uint32_t>(link->flight.size());
  link->flight.clear();
  Forget(std::move(link->data));
  while (!link->transfers.empty()) {
    End(link.get(), std::shared_ptr<Transfer>(link->transfers.front()), SCI_ERR_TRANSFER_FAILED);
  }
  for (const auto& weak : link->segments) {
    const auto segment = weak.lock();
    if (segment == nullptr || segment->removed || segment->lost) continue;
    segment->lost = true;
    segment->Tell(segment, SCI_CB_LOST, SCI_ERR_NODE_NOT_RESPONDING);
  }
  while (!link->connections.empty()) {
    Drop(link.get(), link->connections.begin()->first, SCI_CB_LOST);
  }
  link->served.clear();
  TheLibrary().answered.notify_all();
}

}  // namespace exrnic::sisci
