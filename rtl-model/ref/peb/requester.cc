// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/peb/requester.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "rtl-model/ref/cut.h"

namespace exrnic::peb {
namespace {

constexpr uint32_t kDw = 4;
constexpr unsigned kLowBits = 0x7f;  // in lower_address

}  // namespace

std::deque<Request> Requester::cut(BusRequest&& request) {
  assert(request.length >= 1 && request.length <= EXRNIC_PEB_REQUEST_MAX);
  auto whole = std::make_shared<Whole>();
  whole->answer.id = request.id;
  whole->address = request.address;
  if (request.kind != Request::Kind::kConfigWrite) whole->answer.data.resize(request.length);
  const size_t before = unnamed_.size();
  if (request.kind != Request::Kind::kRead) {
    assert(request.address % kDw + request.length <= kDw);
    unnamed_.push_back(
        {whole, {request.kind, 0, request.address, request.length, std::move(request.data)}});
  } else {
    ref::for_each_cut(request.address, request.length, max_read_, [&](size_t offset, size_t bytes) {
      unnamed_.push_back(
          {whole, {request.kind, 0, request.address + offset, static_cast<uint32_t>(bytes), {}}});
    });
  }
  whole->pieces = unnamed_.size() - before;
  std::deque<Request> requests;
  for (size_t i = before; i < unnamed_.size(); ++i) requests.push_back(unnamed_[i].request);
  return requests;
}

bool Requester::has_tag() const {
  return std::any_of(tags_.begin(), tags_.end(), [](const auto& tag) { return !tag; });
}

void Requester::name(Request& oldest) {
  const auto free = std::find_if(tags_.begin(), tags_.end(), [](const auto& tag) { return !tag; });
  oldest.tag = static_cast<uint8_t>(free - tags_.begin());
  *free = UnderWay{std::move(unnamed_.front()), 0, false};
  (*free)->piece.age = 0;
  unnamed_.pop_front();
}

// A successful one says how much is left, with it, and where it begins; a failed one ends all.
bool Requester::is_good(const UnderWay& under_way, const Completion& completion) const {
  const Request& request = under_way.piece.request;
  const size_t bytes = completion.data.size();
  if (completion.status != EXRNIC_COMPLETION_STATUS_SUCCESSFUL) {
    const bool known = completion.status == EXRNIC_COMPLETION_STATUS_UNSUPPORTED ||
                       completion.status == EXRNIC_COMPLETION_STATUS_ABORT;
    return known && bytes == 0 && completion.left == kDw && completion.lower_address == 0;
  }
  if (request.kind != Request::Kind::kRead) {
    const size_t expected = request.kind == Request::Kind::kConfigRead ? kDw : 0;
    return bytes == expected && completion.left == kDw && completion.lower_address == 0;
  }
  const uint64_t at = request.address + under_way.completed;
  const uint32_t left = request.length - under_way.completed;
  const bool ends = bytes == left || (at + bytes) % EXRNIC_PEB_BOUNDARY == 0;
  return bytes != 0 && bytes <= left && ends && completion.left == left &&
         completion.lower_address == (at & kLowBits);
}

Requester::Taken Requester::complete(const Completion& completion, Answer& end) {
  if (completion.tag >= tags_.size() || !tags_[completion.tag]) return Taken::kBad;
  UnderWay& under_way = *tags_[completion.tag];
  if (!is_good(under_way, completion)) return Taken::kBad;
  const Request& request = under_way.piece.request;
  if (!completion.data.empty() && !under_way.late) {
    Whole& whole = *under_way.piece.whole;
    const bool config = request.kind == Request::Kind::kConfigRead;
    const auto from =
        completion.data.begin() + static_cast<ptrdiff_t>(config ? request.address % kDw : 0);
    const size_t bytes = config ? request.length : completion.data.size();
    const uint64_t at = request.address + under_way.completed - whole.address;
    std::copy(from, from + static_cast<ptrdiff_t>(bytes),
              whole.answer.data.begin() + static_cast<ptrdiff_t>(at));
  }
  under_way.completed += static_cast<uint32_t>(completion.data.size());
  const bool goes_on = completion.status == EXRNIC_COMPLETION_STATUS_SUCCESSFUL &&
                       request.kind == Request::Kind::kRead && under_way.completed < request.length;
  if (goes_on) return Taken::kNothing;
  UnderWay ended = std::move(under_way);
  tags_[completion.tag].reset();
  return !ended.late && end_piece(ended.piece, completion.status, end) ? Taken::kEnd
                                                                       : Taken::kNothing;
}

// True if it was the last of its whole.
bool Requester::end_piece(Piece& piece, exrnic_completion_status status, Answer& end) {
  Whole& whole = *piece.whole;
  if (status != EXRNIC_COMPLETION_STATUS_SUCCESSFUL) whole.answer.status = status;
  if (--whole.pieces != 0) return false;
  if (whole.answer.status != EXRNIC_COMPLETION_STATUS_SUCCESSFUL) whole.answer.data.clear();
  end = std::move(whole.answer);
  return true;
}

std::deque<Answer> Requester::time_out(uint64_t time_ns) {
  std::deque<Answer> ends;
  const uint64_t now = interval(time_ns);
  if (std::exchange(interval_, now) == now) return ends;
  for (Piece& piece : unnamed_) ++piece.age;
  for (auto& tag : tags_) {
    if (!tag || tag->late) continue;
    ++tag->piece.age;
    if (!is_overdue(tag->piece)) continue;
    tag->late = true;
    ++timeouts_;
    Answer end;
    if (end_piece(tag->piece, EXRNIC_COMPLETION_STATUS_ABORT, end)) ends.push_back(std::move(end));
  }
  return ends;
}

bool Requester::is_stuck() const {
  if (!unnamed_.empty() && is_overdue(unnamed_.front())) return true;
  return std::all_of(tags_.begin(), tags_.end(), [](const auto& tag) { return tag && tag->late; });
}

bool Requester::idle() const {
  return unnamed_.empty() &&
         std::all_of(tags_.begin(), tags_.end(), [](const auto& tag) { return !tag || tag->late; });
}

std::deque<Answer> Requester::fail() {
  std::deque<Answer> ends;
  const auto end_one = [&](Piece& piece) {
    Answer end;
    if (end_piece(piece, EXRNIC_COMPLETION_STATUS_UNSUPPORTED, end)) ends.push_back(std::move(end));
  };
  for (auto& tag : tags_) {
    if (tag && !tag->late) end_one(tag->piece);
    tag.reset();
  }
  for (Piece& piece : unnamed_) end_one(piece);
  unnamed_.clear();
  return ends;
}

}  // namespace exrnic::peb
