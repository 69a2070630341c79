// SPDX-License-Identifier: BSD-2-Clause
// The RNIC core as the simulator sees it: PCIe transactions on one side, Ethernet frames on the
// other, one clock. Whatever stands behind it (verilated RTL today) is stepped by RnicModule.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
// Byte order: payloads are byte arrays in address (PCIe) or wire (Ethernet) order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "exrnic_hw.h"

namespace exrnic {

struct WaveWindow;

using Bytes = std::vector<uint8_t>;

// An Ethernet frame from destination MAC to payload, without preamble and FCS.
// `fcs_error` is the MAC's verdict on a received frame; it is false on a transmitted one.
struct Frame {
  Bytes data;
  bool fcs_error = false;
  bool looped = false;  // of a node to itself: it has been on no line
};

// Posted write of the core towards the host: memory, or a request to fire an MSI-X vector. Both
// share one queue, so an interrupt never overtakes the data that it speaks of (PCIe 2.4).
struct PostedWrite {
  enum class Kind : uint8_t { kMemory, kMsix };
  Kind kind = Kind::kMemory;
  uint64_t address = 0;  // bus address; with kMsix: the vector
  Bytes data;            // 1..MPS bytes that do not cross a 4 KiB boundary; empty with kMsix
  // The next one begins where this one ends, in the same 4 KiB, and nobody waits for this one
  // alone: the host may get both when the next one arrives.
  bool more = false;
};

// Memory read of the core: 1..MRRS bytes that do not cross a 4 KiB boundary.
struct ReadRequest {
  uint8_t tag = 0;  // unique among the reads in flight
  uint64_t address = 0;
  uint16_t length = 0;
  bool whole = false;  // the core has no use for parts: it may get them together with the last
};

// Completion of a whole or a part of a ReadRequest. The parts of one tag come in address order;
// tags complete in any order. An error (unsupported request, no such memory) ends the tag.
struct ReadCompletion {
  uint8_t tag = 0;
  bool last = true;
  bool error = false;
  Bytes data;  // empty with error
};

// A CPU access to a BAR: 1, 2, 4 or 8 bytes, naturally aligned.
struct MmioAccess {
  uint8_t bar = 0;
  uint32_t offset = 0;
  uint8_t size = 4;
  uint64_t data = 0;  // little-endian value of a write
};

// Something that happened inside the core in the cycle that is being stepped;
// rtl-model/spec/trace.yaml declares what there is.
struct TraceEvent {
  exrnic_trace what = EXRNIC_TRACE_DOORBELL;
  exrnic_trace_args args = {};
};

// An instruction of the on-chip processor that has ended in the cycle that is being stepped.
struct RetiredInstruction {
  uint32_t pc = 0;
  uint32_t instruction = 0;
  bool exception = false;  // it ended by one
};
using RetireObserver = std::function<void(const RetiredInstruction&)>;

// Where a core's frames go. `can_transmit` and the other `can_*` calls are the ready signals of the
// Ethernet and PCIe blocks: the core hands over nothing while they say no.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual bool can_transmit() = 0;
  virtual void transmit(Frame&& frame) = 0;
  // A frame to the own node, or a copy for it of a datagram to a group, has gone round in the core.
  // For comparisons: nobody else sees such a frame.
  virtual void looped(const Frame& /*frame*/) {}
  // Of the reference core: such frames have not gone round; it gets them by receive(), or not.
  virtual bool keeps_looped() const { return false; }

  // In how many of the next cycles a ready signal surely stays low, if nothing is handed over
  // meanwhile; fewer if that is not known.
  enum class Ready : uint8_t { kWrite, kRead, kTransmit };
  virtual uint64_t busy_cycles(Ready /*which*/) { return 0; }
};

// What the core drives. RnicModule implements it.
class CoreSink : public FrameSink {
 public:
  virtual bool can_write() = 0;
  virtual void write(PostedWrite&& write) = 0;
  virtual bool can_read() = 0;
  virtual void read(const ReadRequest& request) = 0;
  virtual void mmio_read_done(uint64_t data) = 0;  // answers the oldest mmio_read()

  // What a read of host memory would give now, without a transaction, time or trace; false: the
  // host would refuse it. For comparisons (lockstep), not for a core's work.
  virtual bool peek(uint64_t address, uint8_t* out, size_t length) = 0;

  // Whether the core is to tell trace events; asked once, when it is made.
  virtual bool tracing() { return false; }
  virtual void trace(const TraceEvent& /*event*/) {}
};

// Straps and link parameters that a board, not the driver, decides.
struct CoreConfig {
  // Below the core's MAX_NODE; the MAC address follows from it (spec: MAC_PREFIX). NODE_NONE: a
  // fabric's manager gives it one (FABRIC.md).
  uint16_t node_id = 0;
  uint64_t guid = 0;                                       // names the board for ever
  uint16_t max_payload = 256;                              // PCIe MPS, bytes
  uint16_t max_read = 512;                                 // PCIe MRRS, bytes
  uint8_t read_timeout_shift = EXRNIC_READ_TIMEOUT_SHIFT;  // PCIe completion time-out: see there
  // No queue pair's own time-out strikes: of a reference core whose frames wait for those of
  // others.
  bool patient = false;
  uint8_t window_shift = EXRNIC_WINDOW_SHIFT_MIN;  // log2 of WINDOW_SIZE
  uint16_t data_bits = 128;                        // width of the core's data path: 128 or 256
  uint32_t clock_khz = 250000;                     // what the driver reads in CLOCK_KHZ
  bool link_up = true;  // an Ethernet link is attached; set_link() changes that

  // Waves of this core (wave_window.h); must outlive it. Only where rtl_core_has_waves().
  const WaveWindow* waves = nullptr;
};

class Core {
 public:
  virtual ~Core() = default;

  // Back to power-on; everything queued is gone. Generations of queue pairs go on (EFE.md).
  virtual void reset() = 0;

  // Inputs: queued without limit, consumed at the core's own pace. Those of the PCIe link in its
  // order (inbound.h), frames in theirs.
  virtual void mmio_write(const MmioAccess& access) = 0;
  virtual void mmio_read(const MmioAccess& access) = 0;
  virtual void read_completion(ReadCompletion&& completion) = 0;
  virtual void receive(Frame&& frame) = 0;

  // One clock cycle. `time_ns` is the simulated time at its rising edge.
  virtual void step(uint64_t time_ns) = 0;

  // True when nothing happens in a cycle until an input comes, or until wakes_at_ns(): such a core
  // need not be stepped.
  virtual bool idle() const = 0;

  // The first cycle at this time or later must not be left out, be the core idle or spare cycles.
  // It lies behind the time of the last step.
  static constexpr uint64_t kNever = ~uint64_t{0};
  virtual uint64_t wakes_at_ns() const { return kNever; }
  // When the next interval of 2^shift ns begins.
  static constexpr uint64_t next_interval_ns(uint64_t time_ns, unsigned shift) {
    return ((time_ns >> shift) + 1) << shift;
  }

  // Of a core that is not idle: how many of the next cycles it can do without, unless an input
  // comes. They are not stepped; before the next step() it is told how many it did not see.
  virtual uint32_t spare_cycles() { return 0; }
  virtual void skip(uint64_t /*cycles*/) {}

  // Plugs the Ethernet link in or out: what the driver reads in STATUS.
  virtual void set_link(bool up) = 0;

  // A counter of the spec as it stands now, without a transaction, time or trace; `index` is an
  // enum exrnic_counter. For whoever watches the simulation.
  virtual uint64_t peek_counter(unsigned index) const = 0;

  // Whether the processor executes instructions: it was started, has not failed, and no debugger
  // has halted it. As peek_counter(), for whoever watches. False of a core without a processor.
  virtual bool processor_runs() const { return false; }

  // From now on `observer` hears of each instruction of the processor; an empty one ends that. A
  // core without a processor has nothing to tell.
  virtual void observe_retirement(RetireObserver /*observer*/) {}
};

using CoreFactory = std::function<std::unique_ptr<Core>(const CoreConfig&, CoreSink&)>;

// The verilated RTL. `sink` must outlive the core.
std::unique_ptr<Core> make_rtl_core(const CoreConfig& config, CoreSink& sink);

// Nodes that it can talk to: MAX_NODE of each core.
uint32_t rtl_core_nodes();

// Whether this program's RTL was verilated with its signals (exrnic-sim-waves).
bool rtl_core_has_waves();

// Whether it asserts what its blocks promise each other (exrnic-sim-checked): a step in which that
// does not hold throws, behind a line on stdout that names it.
bool rtl_core_is_checked();

}  // namespace exrnic
