// SPDX-License-Identifier: BSD-2-Clause
// Draws all that it is told of a testbed into one file: the life of each work request across hosts,
// cores and wires.
//
// A stage of the core is drawn as a slice of one clock period that begins where the simulator saw
// it happen; what happens at its host, which has no clock here, as one of a nanosecond.
//
// Threads: none.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "rtl-model/systemc/scheduler.h"
#include "sim/trace/loss_log.h"
#include "sim/trace/observer.h"
#include "sim/trace/trace_file.h"
#include "sim/trace/work_tracker.h"

namespace exrnic {

class Tracer final : public trace::Observer {
 public:
  // See TraceFile about `path` and `log`; `losses`: nullptr, or where to tell of frames that do not
  // arrive; it must outlive the tracer.
  Tracer(const std::string& path, trace::TraceFile::Log log, LossLog* losses = nullptr);
  ~Tracer() override;

  void start(uint64_t period_ps, unsigned nodes) override;
  void core_event(const trace::At& at, const TraceEvent& event) override;
  void frame(const trace::At& at, const Frame& frame, bool out) override;
  void store(const trace::At& at, unsigned bar, uint64_t offset, unsigned size,
             uint64_t value) override;
  void block(const trace::At& at, unsigned bar, uint64_t offset, const uint8_t* data) override;
  void loaded(const trace::At& at, unsigned bar, uint64_t offset, uint64_t value,
              SimTime since) override;
  void memory(const trace::At& at, bool write, uint64_t address, const uint8_t* data,
              size_t length) override;
  void interrupt(const trace::At& at, unsigned vector) override;
  void reset(const trace::At& at) override { works_.pull_by_firmware(at.node, false); }
  bool watches_losses() const override { return losses_ != nullptr; }
  void lost(SimTime ps, const std::string& where, Loss loss, const Frame& frame) override;
  void dropped(const trace::At& at, const Frame& frame, unsigned counter) override;
  void unserved(const trace::At& at, const exrnic_trace_args& segment, unsigned counter) override;
  void refused(const trace::At& at, unsigned peer, uint16_t seq, unsigned code,
               bool comes_again) override;

  uint64_t works() const { return works_.drawn(); }  // work requests drawn so far

 private:
  struct Block;  // a PIO block that is being stored
  struct NodeState {
    std::map<uint64_t, Block> blocks;  // by place
    SimTime command_ps = 0;            // 0: none runs
    uint32_t command = 0;
    SimTime running_since_ps = 0;  // the processor; 0: it waits
  };

  void slice(const trace::At& at, exrnic_trace what, const std::string& args);
  void pio_store(const trace::At& at, uint64_t offset, unsigned size, uint64_t value);
  void processor(const trace::At& at, bool runs);
  void lost(SimTime ps, const std::string& where, const std::string& cause, const Frame& frame);
  void lost(const trace::At& at, const std::optional<trace::WorkTracker::Sender>& sender,
            const std::string& cause);

  trace::TraceFile file_;
  LossLog* losses_;
  trace::WorkTracker works_{file_};
  uint64_t period_ps_ = 0;
  uint64_t frames_ = 0;
  SimTime last_ps_ = 0;  // of the core events
  std::map<unsigned, NodeState> nodes_;
};

}  // namespace exrnic
