// SPDX-License-Identifier: BSD-2-Clause
// The verilated core behind the Core interface: turns transactions and frames into beats of the
// data path and back, one beat of each kind a cycle.
#include <algorithm>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>

#include "Vexrnic_core.h"
#include "Vexrnic_core_256.h"
#include "Vexrnic_core_256___024root.h"
#include "Vexrnic_core___024root.h"
#include "core.h"
#include "exrnic_records.h"
#include "inbound.h"
#include "line_coverage.h"
#include "transmit_clocks.h"
#if EXRNIC_WAVES
#include "waves.h"
#else
#include "no_waves.h"
#endif

namespace exrnic {
namespace {

constexpr uint64_t kPsPerMs = 1'000'000'000;
// Cycles of waiting, after which no register changes: behind what waits_o looks at there is one
// more stage at most.
constexpr uint32_t kSettled = 2;
constexpr uint32_t kFewCycles = 4;  // are not worth leaving out

// Model: the verilated core with one of its widths.
template <typename Model>
class RtlCore final : public Core {
  static constexpr size_t kBeat = sizeof(Model::rx_data_i);  // bytes of the data path

 public:
  RtlCore(const CoreConfig& config, CoreSink& sink)
      : sink_(sink),
        half_period_ps_(kPsPerMs / config.clock_khz / 2),
        waves_(top_, config.waves),
        watched_(config.waves != nullptr) {
    if (config.node_id >= records::kNNode && config.node_id != EXRNIC_NODE_NONE) {
      throw std::invalid_argument("node id " + std::to_string(config.node_id) +
                                  ": this build has those below " +
                                  std::to_string(records::kNNode));
    }
    context_.get()->fatalOnError(false);  // it ends in order, see check()
    top_.cfg_node_i = config.node_id;
    top_.cfg_guid_i = config.guid;
    top_.cfg_clock_khz_i = config.clock_khz;
    top_.cfg_max_payload_i = config.max_payload;
    top_.cfg_max_read_i = config.max_read;
    top_.cfg_read_timeout_i = config.read_timeout_shift;
    top_.cfg_window_shift_i = config.window_shift;
    link_up_ = config.link_up;
    top_.trace_i = tracing_ = sink.tracing();
    top_.power_ni = 1;
    top_.rst_ni = 1;
    clock();
    top_.power_ni = 0;
    reset();
  }
  ~RtlCore() override { top_.final(); }

  void reset() override {
    inbound_.clear();
    load_refused_ = false;
    frames_.clear();
    writing_ = {};
    sending_ = looped_ = {};
    clear_inputs();
    top_.link_up_i = link_up_;
    top_.rst_ni = 1;
    clock();
    top_.rst_ni = 0;
    for (int i = 0; i < 4; ++i) clock();
    top_.rst_ni = top_.power_ni = 1;
    idle_ = false;
    waits_ = 0;
  }

  void mmio_write(const MmioAccess& access) override {
    inbound_.store(access);
    if (access.bar == EXRNIC_BAR_USER) waves_.stored();
  }
  void mmio_read(const MmioAccess& access) override { inbound_.load(access); }
  void read_completion(ReadCompletion&& completion) override {
    inbound_.completion({std::move(completion), 0});
  }
  void receive(Frame&& frame) override {
    if (!frame.data.empty()) frames_.push_back({std::move(frame), 0});
  }

  bool idle() const override { return idle_ && inbound_.empty() && frames_.empty(); }

  // Then PULLs are looked after, time-outs of queue pairs, and reads of host memory.
  uint64_t wakes_at_ns() const override {
    const uint64_t pulls =
        top_.watches_o ? next_interval_ns(top_.time_i, EXRNIC_PULL_ASK_SHIFT) : kNever;
    const uint64_t reads =
        top_.reads_o ? next_interval_ns(top_.time_i, top_.cfg_read_timeout_i) : kNever;
    const uint64_t ticks =
        top_.ticks_o ? next_interval_ns(top_.time_i, EXRNIC_QP_TICK_SHIFT) : kNever;
    return std::min({pulls, reads, ticks});
  }

  // A traced core tells of an event in the cycle behind it, so that must not be left out.
  uint32_t spare_cycles() override {
    const bool input = !inbound_.empty() || !frames_.empty();
    if (waits_ < kSettled || input || watched_ || tracing_) return 0;
    const uint32_t cycles = TransmitClocks(*top_.rootp).quiet_cycles();
    return cycles < kFewCycles ? 0 : cycles;
  }

  // The last of them is evaluated, so that all that depends on the clocks is settled again.
  void skip(uint64_t cycles) override {
    if (cycles == 0) return;
    TransmitClocks(*top_.rootp).advance(static_cast<uint32_t>(cycles - 1));
    top_.mmio_valid_i = top_.cpl_valid_i = top_.rx_valid_i = 0;
    clock();
  }

  void step(uint64_t time_ns) override {
    top_.time_i = time_ns;
    top_.link_up_i = link_up_;
    drive_inbound();
    drive_frame();
    top_.rd_ready_i = sink_.can_read();
    top_.wr_ready_i = writing_open_ || sink_.can_write();
    top_.tx_ready_i = sending_open_ || sink_.can_transmit();
    top_.clk_i = 0;
    top_.eval();  // settles what depends on the inputs: handshakes count now
    waves_.record(time_ns, half_period_ps_);
    take_access();
    if (top_.cpl_valid_i && completion_ends_) inbound_.take_completion();
    if (top_.rx_valid_i && top_.rx_ready_o) take_beat();
    if (top_.looped_o) take_looped();
    take_read();
    take_write();
    take_frame();
    top_.clk_i = 1;
    top_.eval();
    waves_.record(time_ns, 0);
    check();
    idle_ = top_.idle_o;
    waits_ = top_.waits_o ? waits_ + 1 : 0;
    if (tracing_) take_events();
    if (retire_observer_ && top_.retired_o)
      retire_observer_({top_.retired_pc_o, top_.retired_instruction_o,
                        static_cast<bool>(top_.retired_exception_o)});
  }

  void observe_retirement(RetireObserver observer) override {
    retire_observer_ = std::move(observer);
    top_.retires_i = static_cast<bool>(retire_observer_);
  }

  void set_link(bool up) override {
    if (link_up_ == up) return;
    link_up_ = up;
    idle_ = false;
    waits_ = 0;
  }

  uint64_t peek_counter(unsigned index) const override {
    return top_.rootp
        ->sampled_core__DOT__u_core__DOT__u_host__DOT__u_registers__DOT__u_counters__DOT__counter_q
            [index];
  }
  bool processor_runs() const override {
    const auto& root = *top_.rootp;
    const auto state =
        root.sampled_core__DOT__u_core__DOT__u_firmware__DOT__u_processor__DOT__u_host__DOT__state_q;
    return (state == EXRNIC_FW_STATE_STARTING || state == EXRNIC_FW_STATE_READY) &&
           !root.sampled_core__DOT__u_core__DOT__u_firmware__DOT__u_processor__DOT__u_cpu__DOT__halted_q;
  }

 private:
  struct Completion {
    ReadCompletion completion;
    size_t at;
  };
  struct Reception {
    Frame frame;
    size_t at;
  };

  void clock() {
    top_.clk_i = 0;
    top_.eval();
    top_.clk_i = 1;
    top_.eval();
  }

  // Of what is asserted, if it is checked; Verilator has told what does not hold, and where.
  void check() {
    if (!EXRNIC_CHECKED || !context_.get()->gotError()) return;
    context_.get()->gotError(false);
    throw std::runtime_error(
        "the RTL does not keep what it asserts: see the line \"Assertion failed\" on stdout");
  }

  void clear_inputs() {
    top_.mmio_valid_i = top_.cpl_valid_i = top_.rx_valid_i = 0;
    top_.rd_ready_i = top_.wr_ready_i = top_.tx_ready_i = 0;
    writing_open_ = sending_open_ = false;
  }

  // An access and a completion a cycle; a load and a store take turns while the load is not taken.
  void drive_inbound() {
    const MmioAccess* const load = inbound_.next_load();
    const MmioAccess* const store = inbound_.next_store();
    top_.mmio_valid_i = load != nullptr || store != nullptr;
    if (load != nullptr && (store == nullptr || !load_refused_)) {
      drive_access(*load, false);
    } else if (store != nullptr) {
      drive_access(*store, true);
    }
    Completion* const completion = inbound_.next_completion();
    top_.cpl_valid_i = completion != nullptr;
    if (completion != nullptr) drive_completion(*completion);
  }

  void drive_access(const MmioAccess& access, bool write) {
    top_.mmio_write_i = write;
    top_.mmio_bar_i = access.bar;
    top_.mmio_address_i = access.offset;
    top_.mmio_size_i = access.size;
    top_.mmio_data_i = access.data;
  }

  void take_access() {
    if (top_.mmio_rsp_valid_o) sink_.mmio_read_done(top_.mmio_rsp_data_o);
    const bool taken = top_.mmio_valid_i && top_.mmio_ready_o;
    load_refused_ = top_.mmio_valid_i && !top_.mmio_write_i && !taken;
    if (taken) top_.mmio_write_i ? inbound_.take_store() : inbound_.take_load();
  }

  void drive_completion(Completion& in_hand) {
    auto& [completion, at] = in_hand;
    const size_t bytes = std::min(kBeat, completion.data.size() - at);
    top_.cpl_tag_i = completion.tag;
    top_.cpl_error_i = completion.error;
    top_.cpl_bytes_i = bytes;
    std::memset(&top_.cpl_data_i, 0, kBeat);
    std::memcpy(&top_.cpl_data_i, completion.data.data() + at, bytes);
    at += bytes;
    const bool end = at == completion.data.size();
    top_.cpl_last_i = end && (completion.last || completion.error);
    completion_ends_ = end;
  }

  void drive_frame() {
    top_.rx_valid_i = !frames_.empty();
    if (frames_.empty()) return;
    const auto& [frame, at] = frames_.front();
    const size_t bytes = std::min(kBeat, frame.data.size() - at);
    top_.rx_sop_i = at == 0;
    std::memset(&top_.rx_data_i, 0, kBeat);
    std::memcpy(&top_.rx_data_i, frame.data.data() + at, bytes);
    top_.rx_eop_i = at + bytes == frame.data.size();
    top_.rx_bytes_i = bytes;
    top_.rx_error_i = top_.rx_eop_i && frame.fcs_error;
  }

  void take_beat() {
    frames_.front().at += kBeat;
    if (top_.rx_eop_i) frames_.pop_front();
  }

  void take_looped() {
    append(looped_.data, &top_.looped_data_o, top_.looped_bytes_o);
    if (!top_.looped_eop_o) return;
    looped_.looped = true;
    sink_.looped(looped_);
    looped_.data.clear();
  }

  void take_read() {
    if (!top_.rd_valid_o || !top_.rd_ready_i) return;
    sink_.read({top_.rd_tag_o, top_.rd_address_o, top_.rd_length_o});
  }

  void take_write() {
    if (!top_.wr_valid_o || !top_.wr_ready_i) return;
    if (top_.wr_sop_o) {
      writing_.kind = top_.wr_msix_o ? PostedWrite::Kind::kMsix : PostedWrite::Kind::kMemory;
      writing_.address = top_.wr_address_o;
      writing_.data.clear();
      writing_left_ = top_.wr_msix_o ? 0 : top_.wr_length_o;
    }
    append(writing_.data, &top_.wr_data_o, std::min(kBeat, writing_left_));
    writing_left_ -= std::min(kBeat, writing_left_);
    writing_open_ = !top_.wr_eop_o;
    if (top_.wr_eop_o) sink_.write(std::move(writing_));
  }

  void take_frame() {
    if (!top_.tx_valid_o || !top_.tx_ready_i) return;
    if (top_.tx_sop_o) sending_.data.clear();
    append(sending_.data, &top_.tx_data_o, top_.tx_eop_o ? top_.tx_bytes_o : kBeat);
    sending_open_ = !top_.tx_eop_o;
    if (top_.tx_eop_o) sink_.transmit(std::move(sending_));
  }

  void take_events() {
    for (unsigned what = 0; what <= EXRNIC_TRACE_PROCESSOR_WAITS; ++what) {
      if (!(top_.trace_valid_o >> what & 1)) continue;
      TraceEvent event;
      event.what = static_cast<exrnic_trace>(what);
      if (what <= EXRNIC_TRACE_COMPLETION)
        std::memcpy(&event.args, &top_.trace_o[what], sizeof event.args);
      sink_.trace(event);
    }
  }

  static void append(Bytes& to, const void* from, size_t bytes) {
    const auto* first = static_cast<const uint8_t*>(from);
    to.insert(to.end(), first, first + bytes);
  }

  CoreSink& sink_;
  ModelContext context_;
  Model top_{context_.get()};
  LineCounts<Model> counts_{top_};
  Inbound<Completion> inbound_;
  bool load_refused_ = false;     // in the last cycle
  bool completion_ends_ = false;  // the one that is driven, with this beat
  std::deque<Reception> frames_;
  PostedWrite writing_;  // the TLP that is leaving
  size_t writing_left_ = 0;
  bool writing_open_ = false;
  Frame sending_;  // the frame that is leaving
  Frame looped_;   // the one that goes round
  bool sending_open_ = false;
  bool idle_ = false;
  uint32_t waits_ = 0;  // so many cycles the core has said that it waits
  bool link_up_ = false;
  bool tracing_ = false;
  RetireObserver retire_observer_;
  const uint64_t half_period_ps_;
  Waves waves_;         // goes before the model does
  const bool watched_;  // each cycle is to be seen
};

}  // namespace

uint32_t rtl_core_nodes() { return records::kNNode; }
bool rtl_core_has_waves() { return EXRNIC_WAVES; }
bool rtl_core_is_checked() { return EXRNIC_CHECKED; }

std::unique_ptr<Core> make_rtl_core(const CoreConfig& config, CoreSink& sink) {
  switch (config.data_bits) {
    case 128:
      return std::make_unique<RtlCore<Vexrnic_core>>(config, sink);
    case 256:
      return std::make_unique<RtlCore<Vexrnic_core_256>>(config, sink);
    default:
      throw std::invalid_argument("no core is built with a data path of " +
                                  std::to_string(config.data_bits) + " bits: 128 or 256");
  }
}

}  // namespace exrnic
