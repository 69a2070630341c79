// SPDX-License-Identifier: BSD-2-Clause
// Tracing of a whole testbed into one file: the life of each work request across hosts, cores and
// wires. It stands between the parts of each node (core, link, host), which do not know of it; a
// testbed without one has nothing of it.
//
// A stage of the core is drawn as a slice of one clock period that begins where the simulator saw
// it happen; what happens at its host, which has no clock here, as one of a nanosecond.
//
// Threads: none.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "rtl-model/systemc/rnic_module.h"
#include "rtl-model/systemc/scheduler.h"
#include "sim/ethernet/loss.h"
#include "sim/pcie/host_port.h"
#include "sim/trace/loss_log.h"
#include "sim/trace/observer.h"
#include "sim/trace/trace_file.h"
#include "sim/trace/work_tracker.h"

namespace exrnic {

class Tracer final : public trace::Observer {
 public:
  // See TraceFile about `path` and `log`; `losses`: nullptr, or where to tell of frames that do not
  // arrive. The tracer must outlive the testbed, and `losses` the tracer.
  Tracer(const std::string& path, trace::TraceFile::Log log, LossLog* losses = nullptr);
  ~Tracer() override;

  // ---- For Testbed and Node: each makes its parts through these.
  void start(const Scheduler& scheduler, uint64_t period_ps, unsigned nodes);
  CoreFactory wrap(const CoreFactory& make_core);
  DevicePort& device(unsigned node, DevicePort& device);
  HostPort* host(unsigned node, HostPort* host);
  // Tells of what a line, or a port of a switch, loses; empty: nobody wants to know. `at`: its
  // name.
  LossObserver losses_of(const std::string& at);

  // ---- trace::Observer
  void core_event(unsigned node, const TraceEvent& event) override;
  void frame(unsigned node, const Frame& frame, bool out) override;
  void store(unsigned node, unsigned bar, uint64_t offset, unsigned size, uint64_t value) override;
  void block(unsigned node, unsigned bar, uint64_t offset, const uint8_t* data) override;
  void loaded(unsigned node, unsigned bar, uint64_t offset, uint64_t value,
              uint64_t since_ps) override;
  void memory(unsigned node, bool write, uint64_t address, const uint8_t* data,
              size_t length) override;
  void interrupt(unsigned node, unsigned vector) override;
  void reset(unsigned node) override { works_.pull_by_firmware(node, false); }
  bool watches_losses() const override { return losses_ != nullptr; }
  void dropped(unsigned node, const Frame& frame, unsigned counter) override;
  void unserved(unsigned node, const exrnic_trace_args& segment, unsigned counter) override;
  void refused(unsigned node, unsigned peer, uint16_t seq, unsigned code,
               bool comes_again) override;
  uint64_t now() const override { return scheduler_ == nullptr ? 0 : scheduler_->now(); }

  uint64_t works() const { return works_.drawn(); }  // work requests drawn so far

 private:
  struct Block;  // a PIO block that is being stored
  struct NodeState {
    std::map<uint64_t, Block> blocks;  // by place
    uint64_t command_ps = 0;           // 0: none runs
    uint32_t command = 0;
    uint64_t running_since_ps = 0;  // the processor; 0: it waits
  };

  trace::Point at(unsigned node, exrnic_trace what) const;
  void slice(unsigned node, exrnic_trace what, const std::string& args);
  void pio_store(unsigned node, uint64_t offset, unsigned size, uint64_t value);
  void processor(unsigned node, bool runs);
  void lost(uint64_t now_ps, const std::string& at, const std::string& cause, const Frame& frame);
  void lost(unsigned node, const std::optional<trace::WorkTracker::Sender>& sender,
            const std::string& cause);

  trace::TraceFile file_;
  LossLog* losses_;
  trace::WorkTracker works_{file_};
  const Scheduler* scheduler_ = nullptr;
  uint64_t period_ps_ = 0;
  uint64_t frames_ = 0;
  std::map<unsigned, NodeState> nodes_;
  std::deque<std::unique_ptr<DevicePort>> devices_;
  std::map<unsigned, std::unique_ptr<HostPort>> hosts_;
};

}  // namespace exrnic
