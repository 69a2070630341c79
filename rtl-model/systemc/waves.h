// SPDX-License-Identifier: BSD-2-Clause
// Writes the signals of one verilated model as FST, within a window of simulated time, and a
// GTKWave save file that groups the ports of the core by block. What goes wrong is one line for the
// log of the window; the simulation goes on, without waves.
//
// Threads: none.
#pragma once

#include <verilated_fst_c.h>

#include <memory>

#include "wave_window.h"

namespace exrnic {

// Lists the ports that `fst` holds into `fst`.gtkw, a group for each block of the core. False if
// `fst` cannot be read or the list not be written.
bool write_gtkwave_save(const std::string& fst);

class Waves {
 public:
  // Before `model`, verilated with --trace-fst, is evaluated for the first time. `window` may be
  // nullptr: no waves. Both must outlive this object.
  template <typename Model>
  Waves(Model& model, const WaveWindow* window) : window_(window) {
    if (window == nullptr) return;
    model.contextp()->traceEverOn(true);
    file_ = std::make_unique<VerilatedFstC>();
    model.trace(file_.get(), kAllLevels);
    from_ns_ = window->from_ns;
  }
  ~Waves() { close(); }
  Waves(const Waves&) = delete;
  Waves& operator=(const Waves&) = delete;

  // A store into a user page: without a beginning of its own, the window begins now.
  void stored() { stored_ = true; }

  // The model as it stands after an evaluation, `before_ps` before `time_ns`. Times never go back.
  void record(uint64_t time_ns, uint64_t before_ps) {
    if (file_ != nullptr) record_open(time_ns, before_ps);
  }

 private:
  static constexpr int kAllLevels = 99;

  void record_open(uint64_t time_ns, uint64_t before_ps);
  bool open();
  void close();
  void give_up(const std::string& why);

  const WaveWindow* window_;
  std::unique_ptr<VerilatedFstC> file_;  // nullptr: nothing (more) to write
  std::optional<uint64_t> from_ns_;
  bool stored_ = false;
};

}  // namespace exrnic
