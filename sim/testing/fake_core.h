// SPDX-License-Identifier: BSD-2-Clause
// A core for tests of what surrounds it: BAR 0 is plain memory of registers, and a read is answered
// in the cycle after the one that takes it, as by the real one; what the test puts into its output
// queues leaves, one item of each kind per cycle, once any input has woken it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "rtl-model/systemc/rnic_module.h"

namespace exrnic {

class FakeCore final : public Core {
 public:
  FakeCore(const CoreConfig& config, CoreSink& sink) : config(config), sink_(sink) {}

  void reset() override {
    ++resets;
    inputs_.clear();
    answer_.reset();
    registers.clear();
    writes_out.clear();
    reads_out.clear();
    frames_out.clear();
  }
  void mmio_write(const MmioAccess& access) override { inputs_.push_back({access, true}); }
  void mmio_read(const MmioAccess& access) override { inputs_.push_back({access, false}); }
  void read_completion(ReadCompletion&& completion) override {
    completions.push_back(std::move(completion));
  }
  void receive(Frame&& frame) override { frames_in.push_back(std::move(frame)); }

  void step(uint64_t time_ns) override {
    step_times_ns.push_back(time_ns);
    if (answer_) sink_.mmio_read_done(*answer_);
    answer_.reset();
    step_input();
    if (!writes_out.empty() && sink_.can_write()) sink_.write(pop(writes_out));
    if (!reads_out.empty() && sink_.can_read()) sink_.read(pop(reads_out));
    if (!frames_out.empty() && sink_.can_transmit()) sink_.transmit(pop(frames_out));
  }

  bool idle() const override {
    return inputs_.empty() && !answer_ && writes_out.empty() && reads_out.empty() &&
           frames_out.empty();
  }

  uint64_t wakes_at_ns() const override {
    const bool due = !step_times_ns.empty() && step_times_ns.back() >= wakes_at;
    return due ? kNever : wakes_at;
  }
  uint32_t spare_cycles() override { return spare; }
  void skip(uint64_t cycles) override { skipped += cycles; }

  void set_link(bool up) override { link_up = up; }
  uint64_t peek_counter(unsigned index) const override {
    const auto counter = counters.find(index);
    return counter == counters.end() ? 0 : counter->second;
  }

  const CoreConfig config;
  uint32_t spare = 0;
  uint64_t wakes_at = kNever;
  uint64_t skipped = 0;
  bool link_up = true;
  std::map<unsigned, uint64_t> counters;
  std::map<uint32_t, uint64_t> registers;
  std::deque<PostedWrite> writes_out;
  std::deque<ReadRequest> reads_out;
  std::deque<Frame> frames_out;
  std::vector<ReadCompletion> completions;
  std::vector<Frame> frames_in;
  std::vector<uint64_t> step_times_ns;
  unsigned resets = 0;

 private:
  struct Input {
    MmioAccess access;
    bool is_write;
  };

  template <typename T>
  static T pop(std::deque<T>& queue) {
    T item = std::move(queue.front());
    queue.pop_front();
    return item;
  }

  void step_input() {
    if (inputs_.empty()) return;
    const Input input = pop(inputs_);
    if (input.is_write) {
      registers[input.access.offset] = input.access.data;
    } else {
      answer_ = registers[input.access.offset];
    }
  }

  CoreSink& sink_;
  std::deque<Input> inputs_;
  std::optional<uint64_t> answer_;
};

// Makes fake cores and remembers them in the order of nodes.
struct FakeCores {
  CoreFactory factory() {
    return [this](const CoreConfig& config, CoreSink& sink) {
      auto core = std::make_unique<FakeCore>(config, sink);
      cores.push_back(core.get());
      return core;
    };
  }
  FakeCore& operator[](size_t node) { return *cores.at(node); }
  std::vector<FakeCore*> cores;
};

}  // namespace exrnic
