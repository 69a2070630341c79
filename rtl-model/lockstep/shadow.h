// SPDX-License-Identifier: BSD-2-Clause
// The reference cores of a simulation, and the fabric that joins them: no time, no loss, no order
// but that of sending. Host memory answers at once, and what they write is told, not written.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "rtl-model/lockstep/endpoint.h"
#include "rtl-model/systemc/core.h"

namespace exrnic::lockstep {

// What the shadows need, and what they say.
class ShadowObserver {
 public:
  virtual ~ShadowObserver() = default;
  virtual bool read_memory(uint32_t node, uint64_t address, uint8_t* out, size_t length) = 0;
  // For `owner`: as the last segment that came says.
  virtual void predict(uint32_t node, const PostedWrite& write, const Owner& owner) = 0;
  virtual void predict(uint32_t node, const Frame& frame) = 0;
  // A frame has arrived; false: it waits, and those behind it on its way.
  virtual bool may_deliver(const Frame& frame) = 0;
};

class Shadow final : private CoreSink {
 public:
  using Transmit = std::function<void(Frame&&)>;

  Shadow(const CoreConfig& config, const CoreFactory& make_core, ShadowObserver& observer,
         Transmit transmit);

  void reset();
  void store(const MmioAccess& access) { core_->mmio_write(access); }
  void load(const MmioAccess& access) { core_->mmio_read(access); }
  void set_link(bool up) { core_->set_link(up); }
  std::optional<uint64_t> take_answer();  // of the oldest load
  void receive(Frame&& frame);

  bool step(uint64_t time_ns);  // false: nothing has passed its boundary
  bool idle() const { return core_->idle(); }
  uint64_t wakes_at_ns() const { return core_->wakes_at_ns(); }

 private:
  bool can_write() override { return true; }
  void write(PostedWrite&& write) override;
  bool can_read() override { return true; }
  void read(const ReadRequest& request) override;
  void mmio_read_done(uint64_t data) override;
  bool can_transmit() override { return true; }
  void transmit(Frame&& frame) override;
  void looped(const Frame& frame) override;
  bool keeps_looped() const override { return true; }
  bool peek(uint64_t address, uint8_t* out, size_t length) override;

  const uint32_t node_;
  ShadowObserver& observer_;
  const Transmit transmit_;
  Owner owner_;
  bool active_ = false;
  std::deque<uint64_t> answers_;
  std::unique_ptr<Core> core_;
};

// Frames take less time here than any real one does, so that the shadows stay ahead; but they take
// some, so that what two hosts do at one moment (a receive here, a message for it there) comes in
// its order.
constexpr uint64_t kFabricNs = 200;

class ShadowFabric {
 public:
  ShadowFabric(CoreFactory make_core, ShadowObserver& observer)
      : make_core_(std::move(make_core)), observer_(observer) {}

  void add(const CoreConfig& config);
  void reset(uint32_t node) { shadows_.at(node)->reset(); }
  void set_link(uint32_t node, bool up) { shadows_.at(node)->set_link(up); }

  // What follows in the shadows is over when these return, but for frames.
  void store(uint32_t node, const MmioAccess& access);
  uint64_t load(uint32_t node, const MmioAccess& access);

  // What the shadows send once, the fabric drops: to a shadow comes what its subject has received.
  void deliver(uint32_t node, const Frame& frame);

  // Time has come to this point. False: nothing has happened.
  bool run(uint64_t time_ns);

  bool idle() const;
  uint64_t wakes_at_ns() const;  // of the first of them

 private:
  struct InFlight {
    Frame frame;
    std::optional<uint64_t> arrives_ns;  // none: it leaves when time next passes
  };

  void hurry();
  bool settle();
  bool step_all();
  std::deque<InFlight>::iterator next_to_deliver();
  const CoreFactory make_core_;
  ShadowObserver& observer_;
  std::map<uint32_t, std::unique_ptr<Shadow>> shadows_;  // by node
  std::deque<InFlight> frames_;
  bool held_ = false;  // a frame is due and waits
  uint64_t time_ns_ = 0;
};

}  // namespace exrnic::lockstep
