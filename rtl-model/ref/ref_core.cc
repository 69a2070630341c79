// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/ref_core.h"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>

#include "rtl-model/ref/completer.h"
#include "rtl-model/ref/credits.h"
#include "rtl-model/ref/dma_read.h"
#include "rtl-model/ref/dma_write.h"
#include "rtl-model/ref/efe_rx.h"
#include "rtl-model/ref/efe_tx.h"
#include "rtl-model/ref/events.h"
#include "rtl-model/ref/loopback.h"
#include "rtl-model/ref/mailbox.h"
#include "rtl-model/ref/management/node_agent.h"
#include "rtl-model/ref/ports.h"
#include "rtl-model/ref/registers.h"
#include "rtl-model/ref/requester.h"
#include "rtl-model/ref/responder.h"
#include "rtl-model/ref/retry_watch.h"
#include "rtl-model/ref/user_page.h"
#include "rtl-model/ref/windows.h"
#include "rtl-model/systemc/inbound.h"

namespace exrnic {
namespace ref {
namespace {

// The blocks and how they are joined. A reset makes them anew.
struct Blocks {
  Blocks(const CoreConfig& config, const RefSizes& sizes, CoreSink* trace_sink)
      : state(config, sizes, trace_sink) {
    efe_rx.connect(efe_tx);
  }

  // Nothing of host memory is in use, and none will be until a block begins something. (All that
  // blocks wait for otherwise is a read, or room to send.)
  bool quiescent() const { return dma_read.idle() && dma_write.idle(); }

  bool idle() const {
    return dma_read.idle() && dma_write.idle() && efe_tx.idle() && loopback.idle() &&
           completer.idle() && requester.idle() && responder.idle() && mailbox.idle() &&
           windows.idle() && events.idle() && state.turns.empty() && state.pauses.empty() &&
           state.causes == 0;
  }

  // The first of the next cycles in which anything may happen if no input comes: 1 is the next one.
  // What one block does to another that has run before it in a cycle is seen here.
  uint64_t next_act(CoreSink& sink) {
    const bool rests = state.enabled() && !state.quiesce && state.causes == 0 &&
                       state.pauses.empty() && state.credits_heard.empty() &&
                       state.credits_changed.empty() && state.restarted.empty() && mailbox.idle() &&
                       events.idle() && windows.idle() && loopback.idle() && completer.rests() &&
                       responder.rests() && requester.rests();
    if (!rests) return 1;
    return std::min({efe_tx.next_act(sink), dma_read.next_act(sink), dma_write.next_act(sink)});
  }

  // In how many of the next cycles, at least, some block is refused what it asks of `sink`.
  uint64_t refused_cycles(CoreSink& sink) const {
    using Ready = CoreSink::Ready;
    return std::max({sink.busy_cycles(Ready::kTransmit),
                     dma_read.asks() ? sink.busy_cycles(Ready::kRead) : 0,
                     dma_write.asks() ? sink.busy_cycles(Ready::kWrite) : 0});
  }

  void run(CoreSink& sink) {
    loopback.run();
    ports.run();
    mailbox.run(quiescent());
    windows.run();
    credits.run();
    retry_watch.run();
    requester.run();
    responder.run();
    credits.run();
    efe_tx.run(sink);
    completer.run();
    events.run();
    registers.run();
    dma_read.run(sink);
    dma_write.run(sink);
  }

  State state;
  DmaRead dma_read{state};
  DmaWrite dma_write{state};
  PblCache pbl_cache{state, dma_read};
  Xlate xlate{state, pbl_cache};
  Events events{state, dma_write};
  Completer completer{state, xlate, dma_write};
  UserPage user_page{state, completer};
  EfeRx efe_rx{state};
  Loopback loopback{state, efe_rx};
  EfeTx efe_tx{state, efe_rx, loopback, [this](const Ended& ended) {
                 ended.tag.kind == Tag::Kind::kPort ? ports.ended(ended) : completer.ended(ended);
               }};
  Credits credits{state, efe_tx};
  Windows windows{state, efe_tx};
  Ports ports{state, efe_tx, dma_write};
  Responder responder{state, xlate, dma_read, dma_write, efe_rx, efe_tx, completer, windows, ports};
  Requester requester{state, xlate, dma_read, dma_write, efe_tx, responder};
  RetryWatch retry_watch{state};
  Mailbox mailbox{state, pbl_cache, windows};
  Registers registers{state, mailbox, events, dma_write};
};

// Notes whether anything leaves, or would if it could.
class WatchedSink final : public CoreSink {
 public:
  explicit WatchedSink(CoreSink& sink) : sink_(sink) {}

  // What leaves from now on is lost: nobody knows its sender.
  void swallow(bool all) { swallows_ = all; }

  bool used() const { return used_; }
  bool refused() const { return refused_; }
  void forget() { used_ = refused_ = false; }

  bool can_write() override { return asked(sink_.can_write()); }
  bool can_read() override { return asked(sink_.can_read()); }
  bool can_transmit() override { return swallows_ || asked(sink_.can_transmit()); }
  void write(PostedWrite&& write) override {
    used_ = true;
    sink_.write(std::move(write));
  }
  void read(const ReadRequest& request) override {
    used_ = true;
    sink_.read(request);
  }
  void mmio_read_done(uint64_t data) override {
    used_ = true;
    sink_.mmio_read_done(data);
  }
  void transmit(Frame&& frame) override {
    used_ = true;
    if (!swallows_) sink_.transmit(std::move(frame));
  }
  void looped(const Frame& frame) override {
    used_ = true;
    sink_.looped(frame);
  }
  bool keeps_looped() const override { return sink_.keeps_looped(); }
  uint64_t busy_cycles(Ready which) override { return sink_.busy_cycles(which); }
  bool peek(uint64_t address, uint8_t* out, size_t length) override {
    return sink_.peek(address, out, length);
  }

 private:
  bool asked(bool can) {
    refused_ |= !can;
    used_ |= !can;
    return can;
  }

  CoreSink& sink_;
  bool swallows_ = false;
  bool used_ = false;
  bool refused_ = false;
};

// Without input nothing but time makes a block act again that has not acted for so many cycles:
// a time-out, or the end of a moderation. Both may be late by kSpareCycles.
constexpr uint64_t kQuietCycles = 8;
constexpr uint64_t kSpareCycles = 31;
// The scheduler keeps an edge that an input has overtaken until its time: many would slow it down.
constexpr uint64_t kMostSpareCycles = 128;

management::Device device_of(const CoreConfig& config, const RefSizes& sizes) {
  management::Device device;
  device.guid = config.guid;
  device.fixed = config.node_id != EXRNIC_NODE_NONE;
  device.number = config.node_id;
  device.nodes = sizes.nodes;
  return device;
}

class RefCore final : public Core {
 public:
  RefCore(const CoreConfig& config, const RefSizes& sizes, CoreSink& sink)
      : config_(config),
        sizes_(sizes),
        trace_sink_(sink.tracing() ? &sink : nullptr),
        sink_(sink),
        agent_(device_of(config, sizes), config.link_up,
               [this](exrnic_counter which) { blocks_->state.count(which); }) {
    if (config.node_id >= sizes.nodes && config.node_id != EXRNIC_NODE_NONE) {
      throw std::invalid_argument("node id " + std::to_string(config.node_id) +
                                  ": this core has those below " + std::to_string(sizes.nodes));
    }
    reset();
  }

  void reset() override {
    inbound_.clear();
    frames_.clear();
    quiet_ = unquiet_ = 0;
    agent_.reset();
    config_.node_id = agent_.device().number;
    config_.link_up = agent_.link_up();
    const auto before =
        std::exchange(blocks_, std::make_unique<Blocks>(config_, sizes_, trace_sink_));
    if (before == nullptr) return;
    const Table<QueuePair>& old = before->state.qps;
    for (size_t qpn = 0; qpn < old.size(); ++qpn)
      if (old[qpn].generation != 0) blocks_->state.qps[qpn].generation = old[qpn].generation;
  }

  void mmio_write(const MmioAccess& access) override { inbound_.store(access); }
  void mmio_read(const MmioAccess& access) override { inbound_.load(access); }
  void read_completion(ReadCompletion&& completion) override {
    inbound_.completion(std::move(completion));
  }
  void receive(Frame&& frame) override { frames_.push_back(std::move(frame)); }

  bool idle() const override {
    return inbound_.empty() && frames_.empty() && agent_.idle() && blocks_->idle();
  }

  // Then PULLs are looked after, time-outs of queue pairs, and reads of host memory.
  uint64_t wakes_at_ns() const override {
    const State& state = blocks_->state;
    const uint64_t pulls =
        state.pulling.empty() ? kNever : next_interval_ns(state.time_ns, EXRNIC_PULL_ASK_SHIFT);
    const uint64_t reads = blocks_->dma_read.in_flight()
                               ? next_interval_ns(state.time_ns, config_.read_timeout_shift)
                               : kNever;
    const uint64_t ticks =
        state.watched.empty() ? kNever : next_interval_ns(state.time_ns, EXRNIC_QP_TICK_SHIFT);
    return std::min({pulls, reads, ticks});
  }

  // A core that rests is stepped in each cycle until it has been quiet for long, then in each one
  // behind kSpareCycles others. What of these steps comes before `act` does nothing, and is spared.
  uint32_t spare_cycles() override {
    const uint64_t act = inbound_.empty() && agent_.idle() ? blocks_->next_act(sink_) : 1;
    unquiet_ = act == 1 ? 0 : blocks_->refused_cycles(sink_);
    if (act == 1 || (unquiet_ == 0 && sink_.refused()))
      return quiet_ < kQuietCycles ? 0 : kSpareCycles;
    const bool turns = !blocks_->state.turns.empty();
    if (turns) unquiet_ = kMostSpareCycles;
    const uint64_t counted = unquiet_ > 0 ? 0 : std::min(quiet_, kQuietCycles);
    const uint64_t each = unquiet_ + kQuietCycles - counted;
    if (turns || act <= each || each > kMostSpareCycles)
      return static_cast<uint32_t>(std::min(act, kMostSpareCycles) - 1);
    const uint64_t behind = std::min(act - each, kMostSpareCycles);
    const uint64_t steps = (behind + kSpareCycles) / (kSpareCycles + 1);
    return static_cast<uint32_t>(each + steps * (kSpareCycles + 1) - 1);
  }
  void skip(uint64_t cycles) override {
    blocks_->state.cycle += cycles;
    if (unquiet_ > 0) quiet_ = 0;
    quiet_ += cycles - std::min(cycles, unquiet_);
  }

  void set_link(bool up) override {
    agent_.set_carrier(up);
    follow_agent();
  }
  uint64_t peek_counter(unsigned index) const override { return blocks_->state.counters.at(index); }

  void step(uint64_t time_ns) override {
    blocks_->state.time_ns = time_ns;
    ++blocks_->state.cycle;
    sink_.forget();
    const bool input = !inbound_.empty() || !frames_.empty();
    serve_inbound();
    for (; !frames_.empty(); frames_.pop_front()) receive_one(frames_.front());
    sink_.swallow(false);
    agent_.run(sink_);
    follow_agent();
    sink_.swallow(agent_.is_nobody());
    blocks_->run(sink_);
    answer_load();
    quiet_ = input || sink_.used() || !blocks_->state.turns.empty() ? 0 : quiet_ + 1;
  }

 private:
  void receive_one(const Frame& frame) {
    if (management::is_management(frame.data)) {
      agent_.receive(frame);
      follow_agent();
    } else if (!agent_.is_nobody()) {
      blocks_->efe_rx.receive(frame);
    }
  }

  // The others know the number and the link that the agent has.
  void follow_agent() {
    CoreConfig& seen = blocks_->state.config;
    config_.node_id = seen.node_id = agent_.device().number;
    if (seen.link_up == agent_.link_up()) return;
    config_.link_up = seen.link_up = agent_.link_up();
    blocks_->state.happens({EXRNIC_EQE_TYPE_LINK});
  }

  // Of a window: loads are answered one after the other.
  bool answer_load() {
    if (const auto value = blocks_->windows.take_answer()) sink_.mmio_read_done(*value);
    return !blocks_->windows.loading();
  }

  void serve_inbound() {
    for (;;) {
      const MmioAccess* const load = inbound_.next_load();
      const MmioAccess* const store = inbound_.next_store();
      if (load != nullptr && !blocks_->windows.stores_wait() && answer_load()) {
        serve_load(*load);
        inbound_.take_load();
      } else if (store != nullptr && may_store(*store)) {
        serve_store(*store);
        inbound_.take_store();
      } else if (ReadCompletion* const completion = inbound_.next_completion()) {
        blocks_->dma_read.complete(*completion);
        inbound_.take_completion();
      } else {
        return;
      }
    }
  }

  // What a store of a window has caused goes before what comes behind it to the same peers.
  bool may_store(const MmioAccess& access) const {
    const bool sends = access.bar == EXRNIC_BAR_WINDOW || Ports::has(access);
    return !sends || !blocks_->windows.stores_wait();
  }

  void serve_store(const MmioAccess& access) {
    if (access.bar == EXRNIC_BAR_USER) {
      blocks_->user_page.store(access);
    } else if (access.bar == EXRNIC_BAR_WINDOW) {
      blocks_->windows.store(access);
    } else if (Ports::has(access)) {
      blocks_->ports.write(access);
    } else if (management::NodeAgent::has(access)) {
      agent_.write(access);
      follow_agent();
    } else {
      blocks_->registers.write(access);
    }
  }

  void serve_load(const MmioAccess& access) {
    if (access.bar == EXRNIC_BAR_WINDOW) {
      blocks_->windows.load(access);
    } else if (management::NodeAgent::has(access)) {
      sink_.mmio_read_done(agent_.read(access));
    } else {
      sink_.mmio_read_done(Ports::has(access) ? blocks_->ports.read(access)
                                              : blocks_->registers.read(access));
    }
  }

  CoreConfig config_;
  const RefSizes sizes_;
  CoreSink* const trace_sink_;
  WatchedSink sink_;
  management::NodeAgent agent_;
  uint64_t quiet_ = 0;    // cycles without input or output
  uint64_t unquiet_ = 0;  // the first so many of those that are spared do not count as quiet
  exrnic::Inbound<ReadCompletion> inbound_;
  std::deque<Frame> frames_;
  std::unique_ptr<Blocks> blocks_;
};

}  // namespace
}  // namespace ref

std::unique_ptr<Core> make_ref_core(const CoreConfig& config, CoreSink& sink) {
  return std::make_unique<ref::RefCore>(config, RefSizes{}, sink);
}

CoreFactory ref_cores(const RefSizes& sizes) {
  return [sizes](const CoreConfig& config, CoreSink& sink) {
    return std::make_unique<ref::RefCore>(config, sizes, sink);
  };
}

}  // namespace exrnic
