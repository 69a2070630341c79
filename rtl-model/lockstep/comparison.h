// SPDX-License-Identifier: BSD-2-Clause
// One simulation's subjects and shadows, compared. Every method that compares throws Mismatch.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "rtl-model/lockstep/node_ledger.h"
#include "rtl-model/lockstep/shadow.h"

namespace exrnic::lockstep {

// A subject, as the comparison needs it.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual bool at_rest() const = 0;
  virtual bool peek(uint64_t address, uint8_t* out, size_t length) = 0;
  virtual uint32_t read_register(uint32_t offset) = 0;  // at rest; takes no time
};

// What a load of the host has to give.
struct Expectation {
  MmioAccess access;
  uint64_t value = 0;
  bool quiet = false;  // nothing was under way
};

class Comparison final : private ShadowObserver {
 public:
  explicit Comparison(CoreFactory make_reference);

  void add(const CoreConfig& config, Subject& subject);
  void remove(uint32_t node) { nodes_.erase(node); }
  void reset(uint32_t node);
  void set_link(uint32_t node, bool up) { fabric_.set_link(node, up); }

  // Inputs of the subject.
  void store(uint32_t node, const MmioAccess& access);
  Expectation load(uint32_t node, const MmioAccess& access);
  void received(uint32_t node, const Frame& frame);
  void step(uint64_t time_ns);  // after a cycle of any subject

  // Its outputs.
  void loaded(uint32_t node, const Expectation& expectation, uint64_t value);
  void done(uint32_t node, const PostedWrite& write);
  void sent(uint32_t node, const Frame& frame);

  bool shadows_idle() const { return fabric_.idle(); }
  uint64_t shadows_wake_at_ns() const { return fabric_.wakes_at_ns(); }

 private:
  struct SameSegment {
    bool operator()(const Segment& expected, const Segment& came) const;
  };
  using Segments = InOrder<Segment, SameSegment>;

  struct Node {
    Node(uint32_t id, Excuses& excuses, Messages& messages, Subject& subject)
        : id(id), subject(&subject), ledger(id, excuses, messages) {}
    uint32_t id;
    Subject* subject;
    NodeLedger ledger;
    FirstCopies copies[kSides];
    FirstCopies deliveries;
    std::map<std::pair<uint32_t, Stream>, uint64_t> sent,
        delivered;                                             // segments; by subject, to shadows
    std::map<std::pair<uint32_t, Stream>, Segments> segments;  // by source queue pair
    bool command_quiet = true;           // nothing was under way when the last command was given
    uint32_t overruns = 0;               // of its shadow,
    uint32_t subject_overruns = 0;       // and of the subject
    std::map<uint32_t, uint32_t> ahead;  // by offset of a counter: subject's minus reference's
    bool counters_differ = false;        // since time decided something
  };

  bool read_memory(uint32_t node, uint64_t address, uint8_t* out, size_t length) override;
  void predict(uint32_t node, const PostedWrite& write, const Owner& owner) override;
  void predict(uint32_t node, const Frame& frame) override;
  bool may_deliver(const Frame& frame) override;
  void segment(uint32_t node, Side side, const Frame& frame);
  void compare(Node& node, Side side, Segment&& segment);
  void terminated(const Node& node, const Segment& segment);
  void came_once(uint32_t node, const Frame& frame, const Segment& segment);
  void doorbell(uint32_t node, const MmioAccess& access);
  void store_block(uint32_t node, const MmioAccess& access);
  MmioAccess event_bell(uint32_t node, MmioAccess access);
  MmioAccess to_reference(uint32_t node, MmioAccess access) const;
  void lose_all(uint32_t node);
  void lose_shared(uint32_t node, uint32_t srqn);
  void look_for_overruns();
  void read_payload(uint32_t node);
  void command(uint32_t node, uint32_t op);
  void take_away(uint32_t node, uint32_t op, uint32_t index);
  void follow_connection(uint32_t node, uint32_t op);
  void rest_messages();
  bool must_equal(const Node& node, const Expectation& expectation, uint64_t value) const;
  uint32_t shadow_register(uint32_t node, uint32_t offset);
  bool all_rest() const;
  void rest();
  void rest_segments(const Node& node);
  void rest_counters(uint32_t id, Node& node);
  Endpoint peer_of(const Endpoint& qp) const;
  template <typename Act>
  void at_node(uint32_t node, Act act) const;

  std::map<uint32_t, Node> nodes_;
  Excuses excuses_;
  Messages messages_;
  ShadowFabric fabric_;
  uint64_t time_ns_ = 0;
  // There was a window: how its stores are combined is a matter of time. Or a question about PULLs:
  // so is whether it comes to that.
  bool placed_differ_ = false;
  bool quiet_ = true;  // since the last rest only registers were accessed
};

}  // namespace exrnic::lockstep
