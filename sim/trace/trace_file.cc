// SPDX-License-Identifier: BSD-2-Clause
#include "sim/trace/trace_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/files/output_file.h"

namespace exrnic::trace {
namespace {

constexpr uint64_t kPsPerUs = 1'000'000;

// A tenth of a picosecond late: as a double, which has no 0.46, a reader cuts it off at the
// nanosecond that is meant, not at the one before.
std::string microseconds(uint64_t ps) {
  return fmt::format("{}.{:06}1", ps / kPsPerUs, ps % kPsPerUs);
}

}  // namespace

TraceFile::TraceFile(const std::string& path, Log log) : path_(path), log_(std::move(log)) {
  if (path.empty()) return;
  file_ = open_output(path).release();
  if (file_ == nullptr || std::fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", file_) < 0)
    give_up();
}

TraceFile::~TraceFile() {
  if (file_ == nullptr) return;
  const bool written = std::fputs("\n]}\n", file_) >= 0;
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (!written || !closed) give_up();
}

void TraceFile::give_up() {
  log_(fmt::format("trace {}: {}; no trace is written from here on", path_, std::strerror(errno)));
  if (file_ != nullptr) std::fclose(std::exchange(file_, nullptr));
}

void TraceFile::put(const std::string& event) {
  if (file_ == nullptr) return;
  const bool good =
      (first_ || std::fputs(",\n", file_) >= 0) && std::fputs(event.c_str(), file_) >= 0;
  first_ = false;
  if (!good) give_up();
}

void TraceFile::name_node(unsigned node) {
  put(fmt::format(R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"node {0}"}}}})",
                  node));
}

void TraceFile::name_track(unsigned node, unsigned track, const std::string& name) {
  put(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
                  node, track, name));
  put(fmt::format(
      R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
      node, track, track));
}

void TraceFile::slice(const Point& from, uint64_t ps, const std::string& name,
                      const std::string& args) {
  put(fmt::format(R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
                  name, from.node, from.track, microseconds(from.ps), microseconds(ps), args));
}

void TraceFile::span(const char* category, uint64_t id, const Point& from, uint64_t until_ps,
                     const std::string& name, const std::string& args) {
  const auto half = [&](char phase, uint64_t ps, const std::string& about) {
    put(fmt::format(
        R"({{"ph":"{}","cat":"{}","id":{},"name":"{}","pid":{},"tid":{},"ts":{},"args":{{{}}}}})",
        phase, category, id, name, from.node, from.track, microseconds(ps), about));
  };
  half('b', from.ps, args);
  half('e', until_ps, "");
}

void TraceFile::flow(Flow phase, uint64_t id, const Point& at) {
  static constexpr const char* kPhases[] = {R"("s")", R"("t")", R"("f","bp":"e")"};
  put(fmt::format(R"({{"ph":{},"cat":"work","name":"work","id":{},"pid":{},"tid":{},"ts":{}}})",
                  kPhases[static_cast<int>(phase)], id, at.node, at.track, microseconds(at.ps)));
}

}  // namespace exrnic::trace
