// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/lockstep/lockstep.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <stdexcept>
#include <utility>

#include "rtl-model/lockstep/comparison.h"

namespace exrnic::lockstep {
namespace {

// A register of an idle core is read within a few cycles.
constexpr unsigned kProbeCycles = 1000;

class LockstepCore final : public Core, private CoreSink, private Subject {
 public:
  LockstepCore(const CoreConfig& config, CoreSink& sink, const CoreFactory& make_subject,
               std::shared_ptr<Comparison> comparison)
      : node_(config.node_id), sink_(sink), comparison_(std::move(comparison)) {
    comparison_->add(config, *this);
    subject_ = make_subject(config, *this);
  }
  ~LockstepCore() override { comparison_->remove(node_); }

  void reset() override {
    expectations_.clear();
    subject_->reset();
    comparison_->reset(node_);
  }
  void mmio_write(const MmioAccess& access) override {
    subject_->mmio_write(access);
    comparison_->store(node_, access);
  }
  void mmio_read(const MmioAccess& access) override {
    expectations_.push_back(comparison_->load(node_, access));
    subject_->mmio_read(access);
  }
  void read_completion(ReadCompletion&& completion) override {
    subject_->read_completion(std::move(completion));
  }
  void receive(Frame&& frame) override {
    comparison_->received(node_, frame);
    subject_->receive(std::move(frame));
  }
  void step(uint64_t time_ns) override {
    time_ns_ = time_ns;
    subject_->step(time_ns);
    comparison_->step(time_ns);
  }

  void set_link(bool up) override {
    link_due_ = up;
    plug_link();
  }
  uint64_t peek_counter(unsigned index) const override { return subject_->peek_counter(index); }
  bool processor_runs() const override { return subject_->processor_runs(); }
  void observe_retirement(RetireObserver observer) override {
    subject_->observe_retirement(std::move(observer));
  }

  // The shadows may wait for time to pass: whoever has a clock gives it to all of them.
  bool idle() const override { return subject_->idle() && comparison_->shadows_idle(); }
  uint64_t wakes_at_ns() const override {
    // A shadow that is held back may be late.
    return std::min(subject_->wakes_at_ns(),
                    std::max(comparison_->shadows_wake_at_ns(), time_ns_ + 1));
  }

 private:
  // Of the subject.
  bool can_write() override { return sink_.can_write(); }
  void write(PostedWrite&& write) override {
    comparison_->done(node_, write);
    sink_.write(std::move(write));
  }
  bool can_read() override { return sink_.can_read(); }
  void read(const ReadRequest& request) override { sink_.read(request); }
  void mmio_read_done(uint64_t data) override {
    if (probing_) {
      probed_ = data;
      probing_ = false;
      return;
    }
    const Expectation expectation = expectations_.front();
    expectations_.pop_front();
    comparison_->loaded(node_, expectation, data);
    plug_link();
    sink_.mmio_read_done(data);
  }
  bool can_transmit() override { return sink_.can_transmit(); }
  void transmit(Frame&& frame) override {
    comparison_->sent(node_, frame);
    sink_.transmit(std::move(frame));
  }
  // For the comparison it is sent and received like others.
  void looped(const Frame& frame) override {
    comparison_->sent(node_, frame);
    comparison_->received(node_, frame);
  }

  // For both at a time at which no load is under way, so that all see the same.
  void plug_link() {
    if (!link_due_ || !expectations_.empty()) return;
    subject_->set_link(*link_due_);
    comparison_->set_link(node_, *link_due_);
    link_due_.reset();
  }

  // For the comparison.
  bool at_rest() const override { return subject_->idle(); }
  bool peek(uint64_t address, uint8_t* out, size_t length) override {
    return sink_.peek(address, out, length);
  }
  // Cycles that the simulation does not see: the core is at rest, so nothing else happens in them.
  uint32_t read_register(uint32_t offset) override {
    probing_ = true;
    subject_->mmio_read({EXRNIC_BAR_REGISTERS, offset, sizeof(uint32_t), 0});
    for (unsigned i = 0; probing_ || !subject_->idle(); ++i) {
      if (i == kProbeCycles) throw std::runtime_error("lockstep: the core does not answer a load");
      subject_->step(time_ns_);
    }
    return static_cast<uint32_t>(probed_);
  }

  const uint32_t node_;
  CoreSink& sink_;
  const std::shared_ptr<Comparison> comparison_;
  std::deque<Expectation> expectations_;  // of loads that the subject has not answered
  std::optional<bool> link_due_;
  uint64_t time_ns_ = 0;
  bool probing_ = false;
  uint64_t probed_ = 0;
  std::unique_ptr<Core> subject_;
};

}  // namespace

CoreFactory make_lockstep(CoreFactory make_subject, CoreFactory make_reference) {
  auto comparison = std::make_shared<Comparison>(std::move(make_reference));
  return [=](const CoreConfig& config, CoreSink& sink) {
    return std::make_unique<LockstepCore>(config, sink, make_subject, comparison);
  };
}

}  // namespace exrnic::lockstep
