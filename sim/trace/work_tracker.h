// SPDX-License-Identifier: BSD-2-Clause
// Follows each work request through the trace events of all nodes: from the store that posts it to
// its completion in host memory, or to its last acknowledgement if it has none. When it has ended,
// it is drawn: a span over all of its life, and an arrow through its stages, in order of time.
//
// Of a message of many frames, stages of the first and the last one are followed. What is not known
// for certain is left out: of several work requests fetched together, only the first has a fetch.
//
// Threads: none.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rtl-model/systemc/core.h"
#include "sim/trace/frame_view.h"
#include "sim/trace/loss_log.h"
#include "sim/trace/trace_file.h"

namespace exrnic::trace {

class WorkTracker {
 public:
  explicit WorkTracker(TraceFile& file) : file_(file) {}

  // A store that posts slots up to `producer` leaves the host's processor.
  void posted(uint32_t qpn, uint16_t producer, const Point& at);
  void core_event(const TraceEvent& event, const Point& at);
  // From now on what peers PULL is answered by firmware of `node`, or by hardware again. Atomics
  // are firmware's anyway.
  void pull_by_firmware(unsigned node, bool on) { nodes_[node].pull_by_firmware = on; }
  // Returns when the same frame left the last time, if it is known.
  void frame_out(const FrameView& frame, const Point& at);
  std::optional<Point> frame_in(const FrameView& frame, const Point& at);
  // What was sent last under that number (its low bits), and the work request that it belongs to.
  struct Sender {
    FrameView view;
    std::optional<WorkName> work;
  };
  std::optional<Sender> sender_of(uint32_t from, uint32_t to, uint16_t seq) const;
  // Whether what is written to host memory is the next CQE that the core of `node` has made; and
  // that it is there.
  bool is_cqe(unsigned node, const uint8_t* data, size_t length);
  void cqe_written(const Point& at);

  uint64_t drawn() const { return drawn_; }  // work requests

 private:
  struct Work {
    unsigned node = 0;
    uint32_t qpn = 0;
    uint16_t index = 0;
    const char* name = "work request";
    std::vector<Point> steps;
    bool framed = false;  // its first frame has left
    bool drawn = false;
  };
  using WorkPtr = std::shared_ptr<Work>;

  struct Bell {
    uint16_t producer = 0;
    Point store;
    std::optional<Point> taken;
  };
  struct Submitted {
    WorkPtr work;
    bool last = false;
  };
  // A queue pair of a node: what of it is under way.
  struct Queue {
    std::deque<Bell> bells;
    std::optional<Point> turn, fetch, payload;
    bool first_of_turn = false;        // nothing was submitted in this turn
    std::deque<Submitted> submitted;   // segments whose frame has not left
    std::map<uint16_t, WorkPtr> open;  // by last slot
    std::deque<WorkPtr> reads;         // the peer's PULLs
    std::deque<WorkPtr> receives;      // messages of the peer that take a receive
    std::deque<WorkPtr> receives_ended;
  };
  // The last frame of a number between two nodes.
  struct Sent {
    FrameView view;
    Point out;
    WorkPtr work;  // unless none is to be followed
    std::optional<WorkName> owner;
  };
  // Whose frame it is, and whether it is to be followed.
  struct Owner {
    WorkPtr work;
    bool followed = false;
  };
  struct Pending {
    uint32_t qpn = 0;
    uint16_t index = 0;
    bool receive = false;
    WorkPtr work;
  };
  struct Node {
    std::map<uint32_t, Queue> queues;
    std::map<uint32_t, std::deque<WorkPtr>> placing;  // by peer: segments that were taken
    std::deque<Pending> completions;                  // CQEs under way to host memory
    bool pull_by_firmware = false;
    bool processor_runs = false;
    std::vector<WorkPtr> for_firmware;  // requests of peers that its processor has not begun with
  };

  void submitted(Queue& queue, const TraceEvent& event, const Point& at);
  void ended(Queue& queue, const exrnic_trace_args& args, const Point& at);
  void segment(unsigned node, Queue& queue, const exrnic_trace_args& args, const Point& at);
  void asked(Node& node, const FrameView& request, const WorkPtr& work, const Point& at);
  void processor(Node& node, bool runs, const Point& at);
  void message_end(Queue& queue, const exrnic_trace_args& args, const Point& at);
  void completion(Node& node, Queue& queue, const exrnic_trace_args& args, const Point& at);
  WorkPtr begin(Queue& queue, const exrnic_trace_args& args, const Point& at);
  Owner owner_of(const FrameView& frame);
  void draw(const WorkPtr& work, const Point& end);
  static WorkPtr find(const Queue& queue, uint16_t index);
  static void step(const WorkPtr& work, const Point& at);
  static WorkPtr pop(std::deque<WorkPtr>& works);
  Sent& sent(uint32_t from, uint32_t to, uint32_t seq) {
    const auto low = static_cast<uint16_t>(seq);
    return sent_[{from, to, low}];
  }

  TraceFile& file_;
  std::map<unsigned, Node> nodes_;
  std::map<std::tuple<uint32_t, uint32_t, uint16_t>, Sent> sent_;
  uint64_t drawn_ = 0;
};

}  // namespace exrnic::trace
