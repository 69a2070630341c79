// SPDX-License-Identifier: BSD-2-Clause
// What EFE shares with the core whose frames it carries: the registers, counters and clock, and
// what each tells the other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "exrnic_registers.h"
#include "rtl-model/systemc/core.h"

namespace exrnic::ref {

constexpr uint64_t kNever = ~uint64_t{0};  // of cycles

// So many messages queue pair dst_qpn may send to src_qpn of that node, or the reverse; modulo
// 2^15.
struct CreditUpdate {
  uint32_t node = 0;
  uint32_t dst_qpn = 0;
  uint32_t src_qpn = 0;
  uint16_t src_generation = 0;
  uint16_t dst_generation = 0;
  uint32_t limit = 0;
};

// A life of a queue pair of which a segment is lost for good: nothing that is behind it leaves, or
// the peer would place it behind a gap. Nor does what waits of lives before, also when that one is
// over.
class BrokenLives {
 public:
  void add(uint16_t life) {
    if (life != 0 && (!up_to_ || behind(life) > 0)) up_to_ = life;
  }
  bool has(uint16_t life) const { return life != 0 && up_to_ && behind(life) <= 0; }
  // It sends again what is lost.
  void goes_back(uint16_t life) {
    if (up_to_ == life) up_to_ = static_cast<uint16_t>(life - 1);
  }
  // Another one is forgotten before the count of lives comes round. Nothing waits for so long.
  void begins(uint16_t life) {
    if (up_to_ && static_cast<uint16_t>(life - *up_to_) >= 1 << 14) up_to_.reset();
  }

 private:
  int16_t behind(uint16_t life) const { return static_cast<int16_t>(life - *up_to_); }

  std::optional<uint16_t> up_to_;
};

// A queue pair gets what comes for a group.
struct Attachment {
  uint32_t group = 0;
  uint32_t qpn = 0;
};

// The core has the rest.
struct EfeState {
  EfeState(const CoreConfig& config, uint32_t nodes, CoreSink* trace_sink)
      : config(config), nodes(nodes), trace_sink(trace_sink) {}
  virtual ~EfeState() = default;
  EfeState(const EfeState&) = delete;
  EfeState& operator=(const EfeState&) = delete;

  // Of the queue pair, or of what else has this number in the tags of its segments.
  virtual BrokenLives& broken(uint32_t qpn) = 0;
  virtual void peer_is_dead(uint32_t node) = 0;

  // `flags`: trace_flags.
  void trace(exrnic_trace what, uint32_t qpn, uint16_t index = 0, uint32_t node = 0,
             unsigned flags = 0) {
    if (trace_sink == nullptr) return;
    trace_sink->trace(
        {what, {qpn, index, static_cast<uint16_t>(node), static_cast<uint8_t>(flags), {}}});
  }

  void count(exrnic_counter which) { ++counters.at(which); }

  bool enabled() const { return settings.control & EXRNIC_DEVICE_CONTROL_ENABLE; }

  bool has_node(uint32_t node) const { return node < nodes; }

  CoreConfig config;  // the link comes and goes
  const uint32_t nodes;
  CoreSink* const trace_sink;          // nullptr: nobody traces
  registers::PlainRegisters settings;  // pull_mode, errata and combine_cycles change nothing here
  uint64_t time_ns = 0;
  uint64_t cycle = 0;
  std::array<uint64_t, EXRNIC_COUNTERS> counters{};
  std::array<std::optional<Attachment>, EXRNIC_MAX_ATTACHED> attachments;
  // What was heard since the core looked.
  std::vector<CreditUpdate> credits_heard;
  std::vector<uint32_t> restarted;  // nodes that began anew
};

}  // namespace exrnic::ref
