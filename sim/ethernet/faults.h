// SPDX-License-Identifier: BSD-2-Clause
// What may go wrong with a frame on one direction of a link, chosen by a seeded generator or by a
// script. The choice is a pure function of seed, script and frame index, on every platform.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "rtl-model/systemc/core.h"

namespace exrnic {

enum class Fault : uint8_t {
  kNone,
  kDrop,       // the frame vanishes
  kDuplicate,  // it arrives twice
  kReorder,    // it arrives behind `reorder_frames` later ones, or `hold_ns` late if none come
  kCorrupt,    // up to three bits flip: few enough for CRC-32 to catch each one (IEEE 802.3)
  kDelay,      // it arrives `delay_ns` late; later frames may pass it
};

// Probabilities per frame. A frame suffers at most one fault, so their sum is at most 1.
struct FaultRates {
  double drop = 0;
  double duplicate = 0;
  double reorder = 0;
  double corrupt = 0;
  double delay = 0;

  double sum() const { return drop + duplicate + reorder + corrupt + delay; }
};

struct FaultConfig {
  FaultRates rates;
  std::map<uint64_t, Fault> script;  // frame index on this direction, from 0; overrides the rates
  unsigned reorder_frames = 2;
  uint32_t hold_ns = 20'000;
  uint32_t delay_ns = 5'000;
};

// Parses "drop=0.001,delay=0.01,delay_ns=2000": the rates and the three parameters above; "none" or
// nothing at all: no faults. Throws
// std::invalid_argument with one line that names the wrong item and what is expected.
FaultConfig parse_faults(const std::string& text);

// The same in a form that parse_faults() reads: what is not as by default. "none": nothing is.
std::string to_text(const FaultConfig& config);

class FaultInjector {
 public:
  FaultInjector(const FaultConfig& config, uint64_t seed);

  // The fate of the next frame.
  Fault next();

  // Flips one to three different bits of `wire`, which is not empty.
  void corrupt(Bytes& wire);

  const FaultConfig& config() const { return config_; }

 private:
  double draw();  // uniform in [0, 1); the standard's distributions differ between libraries

  FaultConfig config_;
  std::mt19937_64 random_;
  uint64_t next_index_ = 0;
};

}  // namespace exrnic
