// SPDX-License-Identifier: BSD-2-Clause
#include "sim/trace/traced_host.h"

#include <catch2/catch_test_macros.hpp>

#include "sim/time/event_queue.h"

namespace exrnic::trace {
namespace {

class LastSeen final : public Observer {
 public:
  At last;
  void start(uint64_t /*period_ps*/, unsigned /*nodes*/) override {}
  void core_event(const At& at, const TraceEvent& /*event*/) override { last = at; }
  void frame(const At& at, const Frame& /*frame*/, bool /*out*/) override { last = at; }
  void store(const At& at, unsigned /*bar*/, uint64_t /*offset*/, unsigned /*size*/,
             uint64_t /*value*/) override {
    last = at;
  }
  void block(const At& at, unsigned /*bar*/, uint64_t /*offset*/,
             const uint8_t* /*data*/) override {
    last = at;
  }
  void loaded(const At& at, unsigned /*bar*/, uint64_t /*offset*/, uint64_t /*value*/,
              SimTime /*since*/) override {
    last = at;
  }
  void memory(const At& at, bool /*write*/, uint64_t /*address*/, const uint8_t* /*data*/,
              size_t /*length*/) override {
    last = at;
  }
  void interrupt(const At& at, unsigned /*vector*/) override { last = at; }
  void reset(const At& at) override { last = at; }
};

class Outsider final : public HostPort {
 public:
  bool dma_read(uint64_t /*address*/, uint8_t* /*out*/, size_t /*length*/) override { return true; }
  bool dma_write(uint64_t /*address*/, const uint8_t* /*data*/, size_t /*length*/) override {
    return true;
  }
  void fire_msix(unsigned /*vector*/) override {}
};

// An island of time, which stands where its last action ran.
struct OfTime {
  SimTime now = 0;
  EventQueue::Gate gate;
  EventQueue queue{now, gate, [] {}};

  void act(SimTime time, const std::function<void()>& action) {
    queue.at(time, action);
    queue.run_to(time);
  }
};

TEST_CASE("what an outside host notices in its turn it notices then, else when its node has it") {
  OfTime node;
  OfTime outside;
  const HostClocks clocks{&node.queue, &outside.queue};
  Outsider host;
  LastSeen listener;
  TracedHost traced(listener, 3, clocks, host);
  const uint8_t byte = 0;
  outside.act(500, [&] { traced.dma_write(0, &byte, 1); });
  CHECK(listener.last.node == 3);
  CHECK(listener.last.ps == 500);
  // A write that its device reads again: the outside's turn has not come.
  node.act(2000, [&] { traced.dma_write(0, &byte, 1); });
  CHECK(listener.last.ps == 2000);
  node.act(3000, [&] { traced.fire_msix(1); });
  CHECK(listener.last.ps == 3000);
  outside.act(2500, [&] { traced.fire_msix(1); });
  CHECK(listener.last.ps == 2500);
}

}  // namespace
}  // namespace exrnic::trace
