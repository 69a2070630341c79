// SPDX-License-Identifier: BSD-2-Clause
// What other processes ask of this one, on the links that they have made. They are not trusted:
// what is no message ends the link, and what they ask for has limits.
#include <algorithm>
#include <utility>

#include "adapter.h"
#include "limits.h"
#include "objects.h"

namespace exrnic::sisci {

void Adapter::Serve(const std::shared_ptr<Link>& link, const Message& message,
                    const uint8_t* data) {
  switch (message.kind) {
    case Kind::kConnect:
      return ServeConnect(link, message);
    case Kind::kDisconnect:
      return Drop(link.get(), message.number, SCI_CB_DISCONNECT);
    case Kind::kInterrupt:
      return ServeInterrupt(link, message, data);
    case Kind::kOpenQp:
      return ServeOpenQp(link, message);
    case Kind::kCloseQp:
      link->served.erase(message.qpn);
      return;
    default:
      Lose(link);
  }
}

void Adapter::ServeConnect(const std::shared_ptr<Link>& link, const Message& message) {
  Message answer = {};
  answer.kind = Kind::kAnswer;
  answer.id = message.id;
  answer.status = SCI_ERR_NO_SUCH_SEGMENT;
  Connection connection;
  std::shared_ptr<LocalSegment> segment;
  const auto what = static_cast<What>(message.what);
  const bool known = what != What::kNode && Owns(what, message.number);
  size_t credits = 0;
  for (const auto& it : link->connections) credits += it.second.credit >= 0 ? 1 : 0;
  const bool full = connections_ >= kConnections || link->connections.size() >= kLinkConnections ||
                    credits >= kLinkCredits;
  if (known && full) {
    answer.status = SCI_ERR_CONNECTION_REFUSED;
  } else if (known && what == What::kSegment) {
    const LocalSegment* const owned = TheLibrary().segments.at(message.number);
    segment = std::static_pointer_cast<LocalSegment>(
        TheLibrary().handles.Get(owned->handle, Type::kLocalSegment));
    if (segment != nullptr) {
      answer.status = SCI_ERR_OK;
      answer.stag = vl_mr_stag(segment->On(number_)->mr.get());
      answer.address = vl::AddressOf(segment->memory);
      answer.size = segment->size;
      connection.segment = segment;
    }
  } else if (known) {
    const bool with_data = what == What::kDataInterrupt;
    const LocalInterrupt* const owned = interrupts_.at({with_data, message.number});
    const auto interrupt = std::static_pointer_cast<LocalInterrupt>(
        TheLibrary().handles.Get(owned->handle, owned->type));
    for (size_t i = 0; with_data && i < kCredits && connection.credit < 0; ++i) {
      if (!credit_used_[i]) connection.credit = static_cast<int>(i);
    }
    if (interrupt != nullptr && with_data && connection.credit < 0) {
      answer.status = SCI_ERR_CONNECTION_REFUSED;
    } else if (interrupt != nullptr) {
      answer.status = SCI_ERR_OK;
      connection.interrupt = interrupt;
    }
    if (answer.status == SCI_ERR_OK && with_data) {
      uint64_t* const credit = &credits_[static_cast<size_t>(connection.credit)];
      credit_used_[static_cast<size_t>(connection.credit)] = true;
      *credit = 0;
      answer.stag = vl_mr_stag(credits_mr_.get());
      answer.address = vl::AddressOf(credit);
    }
  }
  if (answer.status == SCI_ERR_OK) {
    do {
      answer.number = ++next_connection_;
    } while (answer.number == 0 || link->connections.count(answer.number) != 0);
    link->connections[answer.number] = connection;
    ++connections_;
  }
  if (segment != nullptr) {
    ++segment->connections;
    segment->Tell(segment, {SCI_CB_CONNECT, link->node, number_, SCI_ERR_OK});
  }
  if (!Send(link, answer)) Lose(link);  // it asks, and takes no answers
}

void Adapter::Drop(Link* link, uint32_t number, sci_segment_cb_reason_t reason) {
  const auto found = link->connections.find(number);
  if (found == link->connections.end()) return;
  const Connection connection = found->second;
  link->connections.erase(found);
  --connections_;
  if (connection.credit >= 0) credit_used_[static_cast<size_t>(connection.credit)] = false;
  const auto interrupt = connection.interrupt.lock();
  if (interrupt != nullptr && connection.queued > 0) {
    interrupt->Orphan(number, connection.queued);
  }
  const auto segment = connection.segment.lock();
  if (segment == nullptr || segment->removed) return;
  --segment->connections;
  segment->Tell(segment, {reason, link->node, number_,
                          reason == SCI_CB_LOST ? SCI_ERR_NODE_NOT_RESPONDING : SCI_ERR_OK});
}

// What a sender that has disconnected has left is delivered, up to a limit.
void LocalInterrupt::Orphan(uint32_t connection, uint64_t count) {
  if (orphans + count <= kOrphans) {
    orphans += count;
    return;
  }
  data.erase(std::remove_if(data.begin(), data.end(),
                            [&](const Data& it) { return it.connection == connection; }),
             data.end());
}

void Adapter::ServeInterrupt(const std::shared_ptr<Link>& link, const Message& message,
                             const uint8_t* data) {
  const auto found = link->connections.find(message.id);
  if (found == link->connections.end()) return;  // disconnected, or removed
  Connection* const connection = &found->second;
  const auto interrupt = connection->interrupt.lock();
  if (interrupt == nullptr || interrupt->removed) {
    if (connection->credit >= 0) AddCredit(*connection);  // nobody takes it, and nobody waits
    return;
  }
  if (interrupt->with_data()) {
    // Who has no credit, and sends, has lost it.
    if (message.bytes == 0 || connection->queued == kDataInterruptsMax) return;
    ++connection->queued;
    interrupt->data.push_back({{data, data + message.bytes}, link, message.id});
  } else if (interrupt->counting) {
    ++interrupt->pending;
  } else {
    interrupt->pending = 1;
  }
  interrupt->Come(interrupt);
}

bool Adapter::Credit(const std::weak_ptr<Link>& of, uint32_t number) {
  const auto link = of.lock();
  if (link == nullptr) return false;
  const auto found = link->connections.find(number);
  if (found == link->connections.end() || found->second.credit < 0) return false;
  --found->second.queued;
  AddCredit(found->second);
  return true;
}

void Adapter::AddCredit(const Connection& connection) {
  volatile uint64_t* const credit = &credits_[static_cast<size_t>(connection.credit)];
  *credit = *credit + 1;
}

LocalInterrupt::Data LocalInterrupt::Take() {
  Data taken = std::move(data.front());
  data.pop_front();
  if (!adapter->Credit(taken.link, taken.connection) && orphans > 0) --orphans;
  return taken;
}

void Adapter::ServeOpenQp(const std::shared_ptr<Link>& link, const Message& message) {
  Message answer = {};
  answer.kind = Kind::kAnswer;
  answer.id = message.id;
  answer.status = SCI_ERR_CONNECTION_REFUSED;
  link->served.erase(message.qpn);  // of a life before
  if (link->served.size() < kServedQps) {
    try {
      vl::Owned<vl_qp> qp = MakeQp(data_cq_.get(), nullptr, 1, 0, kReads);
      Connect(qp.get(), link->node, message.qpn);
      answer.status = SCI_ERR_OK;
      answer.qpn = vl_qp_number(qp.get());
      link->served[message.qpn] = std::move(qp);
    } catch (const vl::VerbsError&) {
      // refused
    }
  }
  if (!Send(link, answer)) Lose(link);
}

bool Adapter::Add(LocalInterrupt* interrupt) {
  return interrupts_.emplace(std::make_pair(interrupt->with_data(), interrupt->number), interrupt)
      .second;
}

void Adapter::Remove(LocalInterrupt* interrupt) {
  interrupts_.erase({interrupt->with_data(), interrupt->number});
}

void Adapter::TellConnections(const LocalSegment& segment, sci_segment_cb_reason_t reason,
                              bool end) {
  const auto links = served_;
  for (const auto& entry : links) {
    const std::shared_ptr<Link>& link = entry.second;
    std::vector<uint32_t> numbers;
    for (const auto& connection : link->connections) {
      if (connection.second.segment.lock().get() == &segment) numbers.push_back(connection.first);
    }
    for (const uint32_t number : numbers) {
      Message notice = {};
      notice.kind = Kind::kNotice;
      notice.number = number;
      notice.what = static_cast<uint32_t>(reason);
      Send(link, notice);
      if (end) Drop(link.get(), number, SCI_CB_DISCONNECT);
    }
  }
}

}  // namespace exrnic::sisci
