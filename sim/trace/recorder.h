// SPDX-License-Identifier: BSD-2-Clause
// Keeps what an observer is told, as bytes, in order of time; play() tells it again, in another
// process, too: one of the same program on a machine of the same kind.
//
// Of a frame, and of what is written to memory, it keeps the first kKept bytes; told again, the
// others are 0.
//
// What waits to be taken is in a temporary file (open_temporary()), but for the last of it. If that
// cannot be written, `log` gets one line, and what is told from then on is not kept.
//
// Threads: none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "sim/files/output_file.h"
#include "sim/trace/observer.h"

namespace exrnic::trace {

class Recorder final : public Observer {
 public:
  static constexpr size_t kKept = 128;
  static constexpr size_t kLongest = 512;  // record

  using Log = std::function<void(const std::string& line)>;

  // `late`: what it is told is older than the newest that it was told by less than that.
  Recorder(SimTime late, bool watches_losses, Log log);

  // All that was told is older than whatever comes.
  void settle();

  // The oldest records that are there and whole, at most so many bytes, kLongest or more. They are
  // gone here. Empty: none is there.
  Bytes take(size_t most);
  // Whether there is more of them.
  bool has_more() const { return read_to_ != written_to_ || !settled_.empty(); }

  // ---- Observer. What play() is told to play to has its own start.
  void start(uint64_t /*period_ps*/, unsigned /*nodes*/) override {}
  void core_event(const At& at, const TraceEvent& event) override;
  void frame(const At& at, const Frame& frame, bool out) override;
  void store(const At& at, unsigned bar, uint64_t offset, unsigned size, uint64_t value) override;
  void block(const At& at, unsigned bar, uint64_t offset, const uint8_t* data) override;
  void loaded(const At& at, unsigned bar, uint64_t offset, uint64_t value, SimTime since) override;
  void memory(const At& at, bool write, uint64_t address, const uint8_t* data,
              size_t length) override;
  void interrupt(const At& at, unsigned vector) override;
  void reset(const At& at) override;
  bool watches_losses() const override { return watches_losses_; }
  void lost(SimTime ps, const std::string& where, Loss loss, const Frame& frame) override;
  void dropped(const At& at, const Frame& frame, unsigned counter) override;
  void unserved(const At& at, const exrnic_trace_args& segment, unsigned counter) override;
  void refused(const At& at, unsigned peer, uint16_t seq, unsigned code, bool comes_again) override;

 private:
  void add(SimTime ps, Bytes record);
  void keep(const Bytes& record);
  void spill();
  Bytes from_file(size_t most);
  void give_up();

  const SimTime late_;
  const bool watches_losses_;
  const Log log_;
  std::multimap<SimTime, Bytes> unsettled_;
  SimTime newest_ = 0;
  OutputFile file_;   // of what is older than settled_
  long read_to_ = 0;  // in it
  long written_to_ = 0;
  Bytes settled_;
  bool full_ = false;
};

// When the first of some records was told. `records`: as take() gives them; not empty.
SimTime time_of_first(const Bytes& records, size_t begin);
// Tells of the record that begins there, and returns where it ends.
size_t play(const Bytes& records, size_t begin, Observer& observer);

}  // namespace exrnic::trace
