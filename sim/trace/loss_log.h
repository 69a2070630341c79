// SPDX-License-Identifier: BSD-2-Clause
// A file that has a line of JSON for each frame that did not arrive, or was refused: when, where,
// why, and the work request that it belonged to. exrnicctl why reads it.
//
//   {"time_ns":70836.5,"at":"node1","cause":"line: down","from":0,"to":1,"opcode":"PUSH",
//    "seq":128,"src_qpn":1,"dst_qpn":1,"work":{"node":0,"qpn":1,"slot":0,"opcode":"PUSH"}}
//
// `at`: the node, or the port of a switch; of a line, where it ends. What is not known is left out:
// of a frame without a segment all from "seq" on, of one that is none of ours all from "from" on.
//
// Threads: none.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "sim/trace/frame_view.h"

namespace exrnic {

// Of a work request, for people. `slot`: its last.
struct WorkName {
  unsigned node = 0;
  uint32_t qpn = 0;
  uint16_t slot = 0;
  const char* opcode = "";
};

class LossLog {
 public:
  using Log = std::function<void(const std::string& line)>;

  // A file that cannot be written, or takes no more, costs one line in `log`, and no more is
  // written.
  LossLog(const std::string& path, Log log);
  ~LossLog();
  LossLog(const LossLog&) = delete;
  LossLog& operator=(const LossLog&) = delete;

  // Neither `at` nor `cause` needs escapes.
  void add(uint64_t now_ps, const std::string& at, const std::string& cause,
           const std::optional<trace::FrameView>& frame, const std::optional<WorkName>& work);
  // All that was added is in the file.
  void flush();

  uint64_t losses() const { return losses_; }

 private:
  void give_up();

  std::string path_;
  Log log_;
  std::FILE* file_ = nullptr;
  uint64_t losses_ = 0;
};

}  // namespace exrnic
