// SPDX-License-Identifier: BSD-2-Clause
// Clock and reset of a verilated block in a unit test. Set inputs, settle(), look at outputs and
// handshakes, tick(): one cycle.
#pragma once

#include <verilated.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace exrnic::testing {

template <typename Model>
class Bench {
 public:
  // All that has no reset begins with any value, as in a device: with others in each bench of a
  // program, and the same ones each time that it runs. Inputs do, too: at_random is false where a
  // test leaves many of them alone.
  explicit Bench(bool at_random = true) {
    Verilated::randReset(at_random ? 2 : 0);
    Verilated::randSeed(kSeedOfBegin + benches_++);
    model_ = std::make_unique<Model>();
  }
  virtual ~Bench() { model_->final(); }

  Model& dut() { return *model_; }

  void reset() {
    dut().rst_ni = 1;
    settle();
    dut().rst_ni = 0;  // the edge that an asynchronous reset needs
    for (int i = 0; i < 3; ++i) cycle();
    dut().rst_ni = 1;
    settle();
  }

  void settle() {
    dut().clk_i = 0;
    dut().eval();
  }
  void tick() {
    dut().clk_i = 1;
    dut().eval();
    ++cycles_;
  }
  // A bench with models around the block overrides this, so that they take part in every wait.
  virtual void cycle() {
    settle();
    tick();
    settle();
  }

  // Runs until `done()`; throws with `what` after `limit` cycles.
  template <typename Done>
  void wait_for(const std::string& what, int limit, Done done) {
    settle();
    for (int i = 0; !done(); ++i) {
      if (i == limit) throw std::runtime_error("waited in vain for " + what);
      cycle();
    }
  }

  long cycles() const { return cycles_; }

 private:
  static constexpr int kSeedOfBegin = 4711;
  static inline int benches_ = 0;
  std::unique_ptr<Model> model_;
  long cycles_ = 0;
};

}  // namespace exrnic::testing
