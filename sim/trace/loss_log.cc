// SPDX-License-Identifier: BSD-2-Clause
#include "sim/trace/loss_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "rtl-model/systemc/scheduler.h"
#include "sim/files/output_file.h"

namespace exrnic {
namespace {

std::string text_of(const trace::FrameView& frame) {
  std::string text = fmt::format(R"(,"from":{},"to":{})", frame.from, frame.to);
  if (!frame.sequenced) return text + R"(,"opcode":"acknowledgement")";
  return text + fmt::format(R"(,"opcode":"{}","seq":{},"src_qpn":{},"dst_qpn":{})",
                            trace::opcode_name(frame.opcode), frame.seq, frame.src_qpn,
                            frame.dst_qpn);
}

std::string text_of(const WorkName& work) {
  return fmt::format(R"(,"work":{{"node":{},"qpn":{},"slot":{},"opcode":"{}"}})", work.node,
                     work.qpn, work.slot, work.opcode);
}

}  // namespace

LossLog::LossLog(const std::string& path, Log log) : path_(path), log_(std::move(log)) {
  file_ = open_output(path).release();
  if (file_ == nullptr) give_up();
}

LossLog::~LossLog() {
  if (file_ != nullptr && std::fclose(std::exchange(file_, nullptr)) != 0) give_up();
}

void LossLog::give_up() {
  log_(fmt::format("losses {}: {}; none is written from here on", path_, std::strerror(errno)));
  if (file_ != nullptr) std::fclose(std::exchange(file_, nullptr));
}

void LossLog::add(uint64_t now_ps, const std::string& at, const std::string& cause,
                  const std::optional<trace::FrameView>& frame,
                  const std::optional<WorkName>& work) {
  ++losses_;
  if (file_ == nullptr) return;
  const std::string line = fmt::format(R"({{"time_ns":{}.{:03},"at":"{}","cause":"{}"{}{}}})"
                                       "\n",
                                       now_ps / kPsPerNs, now_ps % kPsPerNs, at, cause,
                                       frame ? text_of(*frame) : "", work ? text_of(*work) : "");
  if (std::fputs(line.c_str(), file_) < 0) give_up();
}

void LossLog::flush() {
  if (file_ != nullptr && std::fflush(file_) != 0) give_up();
}

}  // namespace exrnic
