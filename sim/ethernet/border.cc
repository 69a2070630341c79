// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/border.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace exrnic {
namespace {

enum class MessageKind : uint32_t { kFrame, kCredit };

struct MessageHead {
  uint64_t time;
  uint32_t line;
  MessageKind kind;
  uint64_t bytes;  // of the frame, which follows; or of the credit
};
static_assert(std::is_trivially_copyable_v<MessageHead>);

void append(Bytes& box, const MessageHead& head, const uint8_t* data, size_t length) {
  const size_t at = box.size();
  box.resize(at + sizeof head + length);
  std::memcpy(box.data() + at, &head, sizeof head);
  if (length != 0) std::memcpy(box.data() + at + sizeof head, data, length);
}

}  // namespace

class Border::Outbox final : public FrameArrivals, public CreditReceiver {
 public:
  Outbox(uint32_t line, unsigned rank) : line_(line), rank_(rank) {}

  void arrive_at(SimTime time, Bytes&& wire) override {
    first_ = std::min(first_, time);
    append(box_, {time, line_, MessageKind::kFrame, wire.size()}, wire.data(), wire.size());
  }
  void credit_at(SimTime time, uint64_t bytes) override {
    first_ = std::min(first_, time);
    append(box_, {time, line_, MessageKind::kCredit, bytes}, nullptr, 0);
  }

  unsigned rank() const { return rank_; }
  SimTime first() const { return first_; }
  void move_to(Bytes& messages) {
    messages.insert(messages.end(), box_.begin(), box_.end());
    box_.clear();
    first_ = kNothing;
  }

 private:
  const uint32_t line_;
  const unsigned rank_;
  Bytes box_;
  SimTime first_ = kNothing;
};

Border::Border() = default;
Border::~Border() = default;

Border::Outbox& Border::outbox(uint32_t line, unsigned rank) {
  std::unique_ptr<Outbox>& box = outboxes_[line];
  if (box == nullptr) box = std::make_unique<Outbox>(line, rank);
  return *box;
}

FrameArrivals& Border::far_half(uint32_t line, unsigned rank) { return outbox(line, rank); }
CreditReceiver& Border::near_half(uint32_t line, unsigned rank) { return outbox(line, rank); }

SimTime Border::first() const {
  SimTime first = kNothing;
  for (const auto& [line, box] : outboxes_) first = std::min(first, box->first());
  return first;
}

Bytes Border::take(unsigned rank) {
  Bytes messages;
  for (const auto& [line, box] : outboxes_)
    if (box->rank() == rank) box->move_to(messages);
  return messages;
}

void Border::give(const Bytes& messages) {
  for (size_t at = 0; at < messages.size();) {
    MessageHead head{};
    if (messages.size() - at < sizeof head)
      throw std::runtime_error("ranks: a message of " + std::to_string(messages.size() - at) +
                               " bytes, and its head has " + std::to_string(sizeof head));
    std::memcpy(&head, messages.data() + at, sizeof head);
    at += sizeof head;
    if (head.kind == MessageKind::kCredit) {
      CreditReceiver* const near = credits_[head.line];
      if (near == nullptr)
        throw std::runtime_error("ranks: a credit for line " + std::to_string(head.line) +
                                 ", which does not begin here");
      near->credit_at(head.time, head.bytes);
      continue;
    }
    FrameArrivals* const far = arrivals_[head.line];
    if (far == nullptr || head.bytes > messages.size() - at)
      throw std::runtime_error("ranks: a frame of " + std::to_string(head.bytes) +
                               " bytes for line " + std::to_string(head.line) +
                               ", which does not end here, or is not all there");
    const auto first = messages.begin() + static_cast<ptrdiff_t>(at);
    far->arrive_at(head.time, Bytes(first, first + static_cast<ptrdiff_t>(head.bytes)));
    at += head.bytes;
  }
}

std::vector<unsigned> Border::neighbours() const {
  std::vector<unsigned> ranks;
  for (const auto& [line, box] : outboxes_) ranks.push_back(box->rank());
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace exrnic
