// SPDX-License-Identifier: BSD-2-Clause
// Bytes to and from the other end of a link. A queue pair carries those of all segments of the
// other process. When one of them is refused it fails for all, so it is made anew, and the others
// go on: what is written, or read, twice is the same.
#include <algorithm>
#include <utility>

#include "adapter.h"
#include "limits.h"
#include "objects.h"

namespace exrnic::sisci {

void Adapter::Start(const std::shared_ptr<Link>& link, const std::shared_ptr<Transfer>& transfer) {
  if (transfer->wants_thread) ++wanting_;
  if (link->state != Link::State::kReady) {
    return End(link.get(), transfer, SCI_ERR_TRANSFER_FAILED);
  }
  link->transfers.push_back(transfer);
  Pump(link);
  if (wanting_ == 0) return;
  ArmData();
  PollData();
}

void Adapter::OpenData(const std::shared_ptr<Link>& link) {
  try {
    link->data = MakeQp(data_cq_.get(), nullptr, kLinkPieces, kReads, 0);
  } catch (const vl::VerbsError&) {
    while (!link->transfers.empty()) {
      End(link.get(), std::shared_ptr<Transfer>(link->transfers.front()), SCI_ERR_HW_NOSPC);
    }
    return;
  }
  link->data_state = Link::Data::kAsked;
  link->asked_until = Clock::now() + kAnswerTime;
  auto question = std::make_shared<Question>();
  question->link = link;
  const uint32_t asked_for = vl_qp_number(link->data.get());
  const std::weak_ptr<Link> weak = link;
  question->then = [this, weak, asked_for](const Message& answer) {
    const auto self = weak.lock();
    if (self == nullptr || self->data_state != Link::Data::kAsked || self->data == nullptr ||
        vl_qp_number(self->data.get()) != asked_for) {
      return;
    }
    bool ready = answer.status == SCI_ERR_OK;
    try {
      if (ready) Connect(self->data.get(), self->node, answer.qpn);
    } catch (const vl::VerbsError&) {
      ready = false;
    }
    self->data_state = ready ? Link::Data::kReady : Link::Data::kBroken;
    if (ready) {
      by_qpn_[asked_for] = self;
      return Pump(self);
    }
    while (!self->transfers.empty()) {
      End(self.get(), std::shared_ptr<Transfer>(self->transfers.front()), SCI_ERR_HW_NOSPC);
    }
    MendData(self);
  };
  Message message = {};
  message.kind = Kind::kOpenQp;
  message.id = next_question_++;
  message.qpn = asked_for;
  questions_[message.id] = question;
  if (!Send(link, message)) Lose(link);
}

// The queue pair has failed, and nothing is under way on it.
void Adapter::MendData(const std::shared_ptr<Link>& link) {
  if (link->data_state != Link::Data::kBroken || !link->flight.empty()) return;
  CloseQp(link, std::move(link->data));
  link->data_state = Link::Data::kNone;
  const auto transfers = link->transfers;
  const unsigned blame = std::exchange(link->ended_one, false) ? 0 : 1;  // else it was another one
  for (const auto& transfer : transfers) {
    transfer->posted = transfer->completed;
    transfer->attempts += blame;
    if (transfer->aborted || transfer->attempts > kAttempts) {
      End(link.get(), transfer, transfer->aborted ? SCI_ERR_CANCELLED : SCI_ERR_TRANSFER_FAILED);
    }
  }
  Pump(link);
}

bool Adapter::PostPiece(Link* link, const std::shared_ptr<Transfer>& transfer) {
  const Piece& piece = transfer->pieces[transfer->posted];
  const vl_sge sge = {piece.local, static_cast<uint32_t>(piece.length), piece.local_stag};
  vl_send_wr wr = {};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = transfer->read ? VL_OP_PULL : VL_OP_PUSH;
  wr.flags = VL_SEND_SIGNALED;
  wr.remote_stag = piece.remote_stag;
  wr.remote_address = piece.remote;
  if (vl_post_sq(link->data.get(), &wr, nullptr) != 0) return false;
  ++transfer->posted;
  link->flight.push_back(transfer);
  ++pieces_under_way_;
  return true;
}

void Adapter::Pump(const std::shared_ptr<Link>& link) {
  if (link->state != Link::State::kReady || link->transfers.empty()) return;
  if (link->data_state == Link::Data::kNone) return OpenData(link);
  if (link->data_state != Link::Data::kReady) return;
  for (const auto& transfer : link->transfers) {
    while (transfer->posted < transfer->pieces.size() && !transfer->aborted) {
      if (link->flight.size() >= kLinkPieces || pieces_under_way_ >= kPieces) return;
      if (PostPiece(link.get(), transfer)) continue;
      link->data_state = Link::Data::kBroken;
      return MendData(link);
    }
  }
}

void Adapter::PollData() {
  vl_wc wcs[16];
  const bool were_full = pieces_under_way_ >= kPieces;
  for (int count = 16, batch = 0; count == 16 && batch < kBatches; ++batch) {
    count = vl_poll_cq(data_cq_.get(), 16, wcs);
    for (int i = 0; i < count; ++i) {
      const auto found = by_qpn_.find(wcs[i].qpn);
      if (found == by_qpn_.end() || found->second->flight.empty()) continue;
      const std::shared_ptr<Link> link = found->second;
      const std::shared_ptr<Transfer> transfer = link->flight.front();
      link->flight.pop_front();
      --pieces_under_way_;
      if (wcs[i].status == VL_WC_SUCCESS) {
        ++transfer->completed;
        const bool all = transfer->completed == transfer->pieces.size();
        if (all || (transfer->aborted && transfer->completed == transfer->posted)) {
          End(link.get(), transfer, all ? SCI_ERR_OK : SCI_ERR_CANCELLED);
        }
      } else {
        link->data_state = Link::Data::kBroken;
        if (wcs[i].status != VL_WC_WR_FLUSH_ERR) {
          link->ended_one = true;
          End(link.get(), transfer, SCI_ERR_TRANSFER_FAILED);
        }
      }
      if (link->data_state == Link::Data::kBroken) {
        MendData(link);
      } else {
        Pump(link);
      }
    }
  }
  if (!were_full || pieces_under_way_ >= kPieces) return;
  const auto made = made_;
  for (const auto& entry : made) Pump(entry.second);  // there is room for others again
}

void Adapter::End(Link* link, const std::shared_ptr<Transfer>& transfer, sci_error_t status) {
  const auto place = std::find(link->transfers.begin(), link->transfers.end(), transfer);
  if (place != link->transfers.end()) link->transfers.erase(place);
  if (transfer->ended) return;
  transfer->ended = true;
  transfer->status = status;
  if (transfer->wants_thread) --wanting_;
  const std::function<void(sci_error_t)> on_end = std::move(transfer->on_end);
  if (on_end) on_end(status);
  TheLibrary().answered.notify_all();
}

void Adapter::Abort(const std::shared_ptr<Link>& link, const std::shared_ptr<Transfer>& transfer) {
  transfer->aborted = true;
  if (transfer->posted == transfer->completed) End(link.get(), transfer, SCI_ERR_CANCELLED);
}

// Looks for its end and little else, for as long as it may take; then sleeps.
bool Adapter::Await(Lock* lock, const Transfer& transfer, Clock::time_point deadline) {
  constexpr unsigned kLooks = 16;
  size_t bytes = 0;
  for (const Piece& piece : transfer.pieces) bytes += piece.length;
  const Clock::duration worth =
      std::min<Clock::duration>(kTransferSpin + std::chrono::nanoseconds(bytes), kTransferSpinMax);
  Clock::time_point until;  // known behind the first looks: the clock takes its time, too
  for (unsigned look = 1; !transfer.ended; ++look) {
    PollData();
    if (transfer.ended || look % kLooks != 0) continue;
    const Clock::time_point now = Clock::now();
    if (look == kLooks) until = now + std::min<Clock::duration>(worth, deadline - now);
    if (now >= until) break;
    PollMessages();
    lock->unlock();
    lock->lock();
  }
  if (transfer.ended) return true;
  ++sleepers_;
  ArmData();
  Progress();
  const bool in_time =
      WaitFor(lock, &TheLibrary().answered, deadline, [&] { return transfer.ended; });
  --sleepers_;
  return in_time;
}

vl::Owned<vl_qp> Adapter::OpenQp(Lock* lock, const std::shared_ptr<Link>& link) {
  vl::Owned<vl_qp> qp = MakeQp(data_cq_.get(), nullptr, 1, kReads, 0);
  Message message = {};
  message.kind = Kind::kOpenQp;
  message.qpn = vl_qp_number(qp.get());
  try {
    const Message answer = Ask(lock, link, message, Clock::now() + kAnswerTime);
    Require(answer.status == SCI_ERR_OK, SCI_ERR_HW_NOSPC);
    Connect(qp.get(), link->node, answer.qpn);
  } catch (...) {
    CloseQp(link, std::move(qp));
    throw;
  }
  return qp;
}

void Adapter::CloseQp(const std::shared_ptr<Link>& link, vl::Owned<vl_qp> qp) {
  if (qp == nullptr) return;
  Message message = {};
  message.kind = Kind::kCloseQp;
  message.qpn = vl_qp_number(qp.get());
  Forget(std::move(qp));
  Send(link, message);
}

}  // namespace exrnic::sisci
