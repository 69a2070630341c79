// SPDX-License-Identifier: BSD-2-Clause
#include "sim/trace/recorder.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sim/pcie/host_port.h"

namespace exrnic::trace {
namespace {

constexpr size_t kInMemory = size_t{1} << 20;

enum class Kind : uint32_t {
  kCoreEvent,
  kFrame,
  kStore,
  kBlock,
  kLoaded,
  kMemory,
  kInterrupt,
  kReset,
  kLost,
  kDropped,
  kUnserved,
  kRefused,
};

// Its body follows: the arguments as they are in memory, one after the other.
struct Head {
  SimTime ps;
  Kind kind;
  uint32_t bytes;  // of head and body
  uint32_t node;   // 0 of what lines lose
  uint32_t zero;
};

template <typename Value>
void put(Bytes& record, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  record.insert(record.end(), bytes, bytes + sizeof value);
}

template <typename... Values>
Bytes record_of(const At& at, Kind kind, const Values&... values) {
  Bytes record(sizeof(Head));
  (put(record, values), ...);
  const Head head{at.ps, kind, static_cast<uint32_t>(record.size()), at.node, 0};
  std::memcpy(record.data(), &head, sizeof head);
  return record;
}

// Bytes with their length.
void append(Bytes& record, const uint8_t* data, size_t length) {
  record.insert(record.end(), data, data + length);
  Head head;
  std::memcpy(&head, record.data(), sizeof head);
  head.bytes = static_cast<uint32_t>(record.size());
  std::memcpy(record.data(), &head, sizeof head);
}

struct FrameHead {
  uint32_t length;
  uint32_t fcs_error;
};

FrameHead head_of(const Frame& frame) {
  return {static_cast<uint32_t>(frame.data.size()), frame.fcs_error ? 1u : 0};
}

void append(Bytes& record, const Frame& frame) {
  append(record, frame.data.data(), std::min(frame.data.size(), Recorder::kKept));
}

// Reads a body as record_of() and append() have written it.
class Body {
 public:
  Body(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}

  template <typename Value>
  Value get() {
    Value value;
    assert(static_cast<size_t>(end_ - at_) >= sizeof value);
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  template <typename... Values>
  std::tuple<Values...> all() {
    return std::tuple<Values...>{get<Values>()...};
  }
  std::string text(size_t length) {
    const uint8_t* const from = std::exchange(at_, at_ + length);
    return {from, at_};
  }
  // What is left, made up to `length` bytes.
  Bytes rest(size_t length) {
    Bytes bytes(std::exchange(at_, end_), end_);
    bytes.resize(length);
    return bytes;
  }
  Frame frame(const FrameHead& head) { return {rest(head.length), head.fcs_error != 0}; }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

Head head_at(const Bytes& records, size_t begin) {
  Head head;
  assert(records.size() - begin >= sizeof head);
  std::memcpy(&head, records.data() + begin, sizeof head);
  return head;
}

// How many bytes of them are whole records that fit in `most`.
size_t whole_records(const Bytes& records, size_t most) {
  const size_t there = std::min(records.size(), most);
  size_t end = 0;
  while (there - end >= sizeof(Head) && there - end >= head_at(records, end).bytes)
    end += head_at(records, end).bytes;
  return end;
}

}  // namespace

Recorder::Recorder(SimTime late, bool watches_losses, Log log)
    : late_(late), watches_losses_(watches_losses), log_(std::move(log)) {}

// ---- What is kept

void Recorder::add(SimTime ps, Bytes record) {
  newest_ = std::max(newest_, ps);
  unsettled_.emplace(ps, std::move(record));
  while (!unsettled_.empty() && unsettled_.begin()->first + late_ <= newest_) {
    keep(unsettled_.begin()->second);
    unsettled_.erase(unsettled_.begin());
  }
}

void Recorder::settle() {
  for (const auto& [ps, record] : unsettled_) keep(record);
  unsettled_.clear();
}

void Recorder::keep(const Bytes& record) {
  if (full_) return;
  settled_.insert(settled_.end(), record.begin(), record.end());
  if (settled_.size() >= kInMemory) spill();
}

void Recorder::spill() {
  if (!file_) file_ = open_temporary();
  const bool written = file_ && std::fseek(file_.get(), written_to_, SEEK_SET) == 0 &&
                       std::fwrite(settled_.data(), settled_.size(), 1, file_.get()) == 1 &&
                       std::fflush(file_.get()) == 0;
  if (!written) return give_up();
  written_to_ += static_cast<long>(settled_.size());
  settled_.clear();
}

void Recorder::give_up() {
  if (full_) return;
  log_("trace: a temporary file in " + temporary_folder() + ": " + std::strerror(errno) +
       "; the rest of what happens here is left out. Set TMPDIR to a folder with more room");
  full_ = true;
}

Bytes Recorder::take(size_t most) {
  assert(most >= kLongest);
  Bytes found = from_file(most);
  if (!found.empty()) return found;
  const size_t end = whole_records(settled_, most);
  found.assign(settled_.begin(), settled_.begin() + static_cast<Bytes::difference_type>(end));
  settled_.erase(settled_.begin(), settled_.begin() + static_cast<Bytes::difference_type>(end));
  return found;
}

// Empty: all that was there is read.
Bytes Recorder::from_file(size_t most) {
  if (read_to_ == written_to_) return {};
  Bytes found(std::min(static_cast<size_t>(written_to_ - read_to_), most));
  if (std::fseek(file_.get(), read_to_, SEEK_SET) != 0 ||
      std::fread(found.data(), found.size(), 1, file_.get()) != 1) {
    give_up();
    read_to_ = written_to_;
    return {};
  }
  found.resize(whole_records(found, most));
  read_to_ += static_cast<long>(found.size());
  if (read_to_ == written_to_) read_to_ = written_to_ = 0;
  return found;
}

// ---- What it is told

void Recorder::core_event(const At& at, const TraceEvent& event) {
  add(at.ps, record_of(at, Kind::kCoreEvent, event));
}

void Recorder::frame(const At& at, const Frame& frame, bool out) {
  Bytes record = record_of(at, Kind::kFrame, out, head_of(frame));
  append(record, frame);
  add(at.ps, std::move(record));
}

void Recorder::store(const At& at, unsigned bar, uint64_t offset, unsigned size, uint64_t value) {
  add(at.ps, record_of(at, Kind::kStore, bar, offset, size, value));
}

void Recorder::block(const At& at, unsigned bar, uint64_t offset, const uint8_t* data) {
  Bytes record = record_of(at, Kind::kBlock, bar, offset);
  append(record, data, DevicePort::kBlockBytes);
  add(at.ps, std::move(record));
}

void Recorder::loaded(const At& at, unsigned bar, uint64_t offset, uint64_t value, SimTime since) {
  add(at.ps, record_of(at, Kind::kLoaded, bar, offset, value, since));
}

void Recorder::memory(const At& at, bool write, uint64_t address, const uint8_t* data,
                      size_t length) {
  Bytes record = record_of(at, Kind::kMemory, write, address, length);
  if (write) append(record, data, std::min(length, kKept));
  add(at.ps, std::move(record));
}

void Recorder::interrupt(const At& at, unsigned vector) {
  add(at.ps, record_of(at, Kind::kInterrupt, vector));
}

void Recorder::reset(const At& at) { add(at.ps, record_of(at, Kind::kReset)); }

void Recorder::lost(SimTime ps, const std::string& where, Loss loss, const Frame& frame) {
  const std::string name = where.substr(0, kKept);
  Bytes record = record_of({0, ps}, Kind::kLost, loss, head_of(frame), name.size());
  append(record, reinterpret_cast<const uint8_t*>(name.data()), name.size());
  append(record, frame);
  add(ps, std::move(record));
}

void Recorder::dropped(const At& at, const Frame& frame, unsigned counter) {
  Bytes record = record_of(at, Kind::kDropped, counter, head_of(frame));
  append(record, frame);
  add(at.ps, std::move(record));
}

void Recorder::unserved(const At& at, const exrnic_trace_args& segment, unsigned counter) {
  add(at.ps, record_of(at, Kind::kUnserved, segment, counter));
}

void Recorder::refused(const At& at, unsigned peer, uint16_t seq, unsigned code, bool comes_again) {
  add(at.ps, record_of(at, Kind::kRefused, peer, seq, code, comes_again));
}

// ---- What is told again

SimTime time_of_first(const Bytes& records, size_t begin) { return head_at(records, begin).ps; }

size_t play(const Bytes& records, size_t begin, Observer& observer) {
  const Head head = head_at(records, begin);
  const At at{head.node, head.ps};
  assert(records.size() - begin >= head.bytes);
  Body body(records.data() + begin + sizeof head, records.data() + begin + head.bytes);
  switch (head.kind) {
    case Kind::kCoreEvent: {
      observer.core_event(at, body.get<TraceEvent>());
      break;
    }
    case Kind::kFrame: {
      const auto [out, frame] = body.all<bool, FrameHead>();
      observer.frame(at, body.frame(frame), out);
      break;
    }
    case Kind::kStore: {
      const auto [bar, offset, size, value] = body.all<unsigned, uint64_t, unsigned, uint64_t>();
      observer.store(at, bar, offset, size, value);
      break;
    }
    case Kind::kBlock: {
      const auto [bar, offset] = body.all<unsigned, uint64_t>();
      observer.block(at, bar, offset, body.rest(DevicePort::kBlockBytes).data());
      break;
    }
    case Kind::kLoaded: {
      const auto [bar, offset, value, since] = body.all<unsigned, uint64_t, uint64_t, SimTime>();
      observer.loaded(at, bar, offset, value, since);
      break;
    }
    case Kind::kMemory: {
      const auto [write, address, length] = body.all<bool, uint64_t, size_t>();
      observer.memory(at, write, address, write ? body.rest(length).data() : nullptr, length);
      break;
    }
    case Kind::kInterrupt: {
      observer.interrupt(at, body.get<unsigned>());
      break;
    }
    case Kind::kReset: {
      observer.reset(at);
      break;
    }
    case Kind::kLost: {
      const auto [loss, frame, length] = body.all<Loss, FrameHead, size_t>();
      const std::string where = body.text(length);
      observer.lost(head.ps, where, loss, body.frame(frame));
      break;
    }
    case Kind::kDropped: {
      const auto [counter, frame] = body.all<unsigned, FrameHead>();
      observer.dropped(at, body.frame(frame), counter);
      break;
    }
    case Kind::kUnserved: {
      const auto [segment, counter] = body.all<exrnic_trace_args, unsigned>();
      observer.unserved(at, segment, counter);
      break;
    }
    case Kind::kRefused: {
      const auto [peer, seq, code, comes_again] = body.all<unsigned, uint16_t, unsigned, bool>();
      observer.refused(at, peer, seq, code, comes_again);
      break;
    }
  }
  return begin + head.bytes;
}

}  // namespace exrnic::trace
