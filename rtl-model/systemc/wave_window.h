// SPDX-License-Identifier: BSD-2-Clause
// Which part of a run is written as waves.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace exrnic {

// Times are simulated nanoseconds.
struct WaveWindow {
  std::string path;                 // of the FST file; beside it goes PATH.gtkw
  unsigned node = 0;                // whose core
  std::optional<uint64_t> from_ns;  // without it: the first store into a user page of that node
  std::optional<uint64_t> to_ns;    // without it: length_ns after the beginning
  uint64_t length_ns = 100'000;
  std::function<void(const std::string& line)> log;  // told what went wrong; the run goes on
};

}  // namespace exrnic
