// SPDX-License-Identifier: BSD-2-Clause
// What the device does to the memory of a client: to files directly, and by messages to what has
// none, if the owner of the server has said that it may wait for its client.
#include <poll.h>

#include <algorithm>

#include "sim/vfio_user/session.h"
#include "sim/vfio_user/wire.h"

namespace exrnic::vfio_user {
namespace {

// Of messages that come while an answer is awaited.
constexpr size_t kMostPostponed = 1024;

// Of the client's answers, at one time.
constexpr size_t kMostAsked = 64;

}  // namespace

bool Session::reaches_by_messages(uint64_t address, size_t length, bool for_write) {
  return context_.answer_limit.count() > 0 && end_reason_.empty() &&
         dma_.granted_without_file(address, length, for_write);
}

bool Session::dma_read(const std::vector<HostPort::DmaPlace>& places, uint8_t* out) {
  std::deque<MemoryPiece> pieces;
  for (const auto& [address, length] : places) {
    if (!reaches_by_messages(address, length, false)) {
      if (!dma_.read(address, out, length)) return false;
    } else {
      for (size_t done = 0; done < length; done += kMaxDataTransfer)
        pieces.push_back({address + done, std::min(length - done, kMaxDataTransfer), out + done});
    }
    out += length;
  }
  return pieces.empty() || read_by_messages(std::move(pieces));
}

// The client answers in any order. What is asked for is waited for, though another one has failed.
bool Session::read_by_messages(std::deque<MemoryPiece> pieces) {
  Asked asked;
  bool good = true;
  do {
    for (; good && !pieces.empty() && asked.size() < kMostAsked; pieces.pop_front()) {
      const MemoryPiece& next = pieces.front();
      const Bytes access = encode_dma_access({next.address, next.length}, nullptr, 0);
      asked.emplace(ask(Command::kDmaRead, access), next);
    }
    const auto answer = next_answer(Command::kDmaRead, asked);
    if (!answer) return false;
    good &= take_piece(*answer, asked.extract(answer->header.id).mapped());
  } while (!asked.empty() || (good && !pieces.empty()));
  return good;
}

bool Session::take_piece(const Message& answer, const MemoryPiece& piece) {
  if ((answer.header.flags & Header::kError) != 0) return false;
  if (answer.payload.size() != sizeof(DmaAccessWire) + piece.length) {
    end("closed the connection: an answer to DMA_READ of " + std::to_string(piece.length) +
        " bytes has a payload of " + std::to_string(answer.payload.size()));
    return false;
  }
  std::copy(answer.payload.begin() + sizeof(DmaAccessWire), answer.payload.end(), piece.out);
  return true;
}

bool Session::dma_write(uint64_t address, const uint8_t* data, size_t length) {
  if (!reaches_by_messages(address, length, true)) return dma_.write(address, data, length);
  for (size_t done = 0; done < length;) {
    const size_t piece = std::min(length - done, kMaxDataTransfer);
    const Bytes access = encode_dma_access({address + done, piece}, data + done, piece);
    const Asked asked{{ask(Command::kDmaWrite, access), {address + done, piece, nullptr}}};
    const auto answer = next_answer(Command::kDmaWrite, asked);
    if (!answer || (answer->header.flags & Header::kError) != 0) return false;
    done += piece;
  }
  return true;
}

void Session::end(std::string reason) {
  end_reason_ = std::move(reason);
  connection_.shut_down();
}

// Its identifier.
uint16_t Session::ask(Command command, const Bytes& payload) {
  connection_.send({++last_id_, static_cast<uint16_t>(command), 0, Header::kTypeCommand, 0},
                   payload);
  return last_id_;
}

// To one of these; nothing: the client is let go. What else it says meanwhile is kept for
// service(), in order: the device is in the middle of something.
std::optional<Message> Session::next_answer(Command command, const Asked& asked) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + context_.answer_limit;
  while (end_reason_.empty()) {
    connection_.flush();
    Message message;
    switch (connection_.receive(&message)) {
      case Connection::Status::kMessage:
        if (is_answer(command, asked, message)) return message;
        continue;
      case Connection::Status::kClosed:
        end("the client left");
        continue;
      case Connection::Status::kMalformed:
        ++context_.counters.connections_malformed;
        end("closed the connection: " + connection_.failure());
        continue;
      case Connection::Status::kNothing:
        break;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      end("closed the connection: no answer to command " +
          std::to_string(static_cast<unsigned>(command)) + " within " +
          std::to_string(context_.answer_limit.count()) + " ms");
      continue;
    }
    const int output = connection_.queued_bytes() > 0 ? POLLOUT : 0;
    pollfd fd{connection_.fd(), static_cast<short>(POLLIN | output), 0};
    ::poll(&fd, 1, static_cast<int>(left));
  }
  return std::nullopt;
}

// False: it was something else, which is kept, or ends the session.
bool Session::is_answer(Command command, const Asked& asked, Message& message) {
  if (message.header.is_reply()) {
    if (asked.count(message.header.id) != 0 &&
        message.header.command == static_cast<uint16_t>(command))
      return true;
    ++context_.counters.connections_malformed;
    end("closed the connection: a reply to what nobody has asked");
  } else if (postponed_.size() == kMostPostponed) {
    end("closed the connection: " + std::to_string(kMostPostponed) +
        " messages instead of an answer");
  } else {
    postponed_.push_back(std::move(message));
  }
  return false;
}

}  // namespace exrnic::vfio_user
