// SPDX-License-Identifier: BSD-2-Clause
// Writes trace events in Chrome's JSON format, which Perfetto and chrome://tracing open. Processes
// are nodes, threads are tracks. Times are simulated picoseconds, printed in microseconds.
//
// Perfetto counts nanoseconds, cuts off what is behind them, and drops a slice that begins within
// another of its track and ends behind it. An arrow it binds to the last slice of a track that has
// begun. So the slices of a track must be disjoint or lie within each other when they are cut off,
// too.
//
// The file ends as valid JSON when the object is destroyed; one that was cut short still opens.
// Once something cannot be written (a full disk), `log` gets one line and nothing more is written.
//
// Threads: none.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

namespace exrnic::trace {

// A place on the time axis.
struct Point {
  unsigned node = 0;
  unsigned track = 0;
  uint64_t ps = 0;
};

class TraceFile {
 public:
  using Log = std::function<void(const std::string& line)>;

  // An empty `path` or one that cannot be written gives an object that writes nothing; the latter
  // is logged.
  TraceFile(const std::string& path, Log log);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  bool open() const { return file_ != nullptr; }

  void name_node(unsigned node);
  void name_track(unsigned node, unsigned track, const std::string& name);

  // `args`: members of a JSON object, without braces; may be empty. Texts must need no escapes.
  void slice(const Point& from, uint64_t ps, const std::string& name, const std::string& args);
  // Something that may overlap others; drawn apart from the tracks of `from.node`.
  void span(const char* category, uint64_t id, const Point& from, uint64_t until_ps,
            const std::string& name, const std::string& args);

  // An arrow through slices that begin at its points: kBegin, any number of kStep, kEnd, in order
  // of time and with one id that no other arrow has.
  enum class Flow { kBegin, kStep, kEnd };
  void flow(Flow phase, uint64_t id, const Point& at);

 private:
  void put(const std::string& event);
  void give_up();

  std::string path_;
  Log log_;
  std::FILE* file_ = nullptr;
  bool first_ = true;
};

}  // namespace exrnic::trace
