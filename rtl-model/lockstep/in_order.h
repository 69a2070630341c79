// SPDX-License-Identifier: BSD-2-Clause
// Two streams that have to be the same, record by record. Whichever is ahead waits for the other.
#pragma once

#include <deque>
#include <optional>
#include <utility>

namespace exrnic::lockstep {

// Same: bool(const Record& expected, const Record& came).
template <typename Record, typename Same>
class InOrder {
 public:
  struct Difference {
    Record expected;
    Record came;
  };

  // Of the reference. The records that differ are gone, on either call.
  std::optional<Difference> predict(Record record) {
    if (came_.empty()) {
      expected_.push_back(std::move(record));
      return std::nullopt;
    }
    Difference pair{std::move(record), std::move(came_.front())};
    came_.pop_front();
    return judge(std::move(pair));
  }

  // Of the subject.
  std::optional<Difference> done(Record record) {
    if (expected_.empty()) {
      came_.push_back(std::move(record));
      return std::nullopt;
    }
    Difference pair{std::move(expected_.front()), std::move(record)};
    expected_.pop_front();
    return judge(std::move(pair));
  }

  const std::deque<Record>& expected() const { return expected_; }  // and did not come
  const std::deque<Record>& came() const { return came_; }          // and was not expected
  bool empty() const { return expected_.empty() && came_.empty(); }

 private:
  static std::optional<Difference> judge(Difference pair) {
    if (Same()(pair.expected, pair.came)) return std::nullopt;
    return pair;
  }

  std::deque<Record> expected_;
  std::deque<Record> came_;
};

}  // namespace exrnic::lockstep
