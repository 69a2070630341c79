// SPDX-License-Identifier: BSD-2-Clause
#include "sim/trace/work_tracker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace exrnic::trace {
namespace {

// Modulo 2^16, as ring indices go.
bool before(uint16_t a, uint16_t b) { return static_cast<int16_t>(a - b) < 0; }

bool has(const exrnic_trace_args& args, unsigned flags) { return args.flags & flags; }

// A segment that is of no work request at its node.
bool of_no_work(const exrnic_trace_args& args) {
  return has(args,
             EXRNIC_TRACE_FLAGS_TERMINATE | EXRNIC_TRACE_FLAGS_RESPONSE | EXRNIC_TRACE_FLAGS_PORT);
}

}  // namespace

// ---- From the store to the segments

// A producer that goes back is one of a new queue of that number.
void WorkTracker::posted(uint32_t qpn, uint16_t producer, const Point& at) {
  std::deque<Bell>& bells = nodes_[at.node].queues[qpn].bells;
  if (!bells.empty() && before(producer, bells.back().producer)) bells.clear();
  bells.push_back({producer, at, std::nullopt});
}

void WorkTracker::core_event(const TraceEvent& event, const Point& at) {
  const exrnic_trace_args& args = event.args;
  Node& node = nodes_[at.node];
  Queue& queue = node.queues[args.qpn];
  switch (event.what) {
    case EXRNIC_TRACE_DOORBELL:
      for (Bell& bell : queue.bells)
        if (bell.producer == args.index && !bell.taken) return void(bell.taken = at);
      return;
    case EXRNIC_TRACE_TURN:
      queue.turn = at;
      queue.first_of_turn = true;
      queue.fetch = queue.payload = std::nullopt;
      return;
    case EXRNIC_TRACE_WORK_FETCH:
      if (!queue.fetch && queue.first_of_turn) queue.fetch = at;
      return;
    case EXRNIC_TRACE_PAYLOAD_FETCH:
      if (!queue.payload) queue.payload = at;
      return;
    case EXRNIC_TRACE_SUBMIT:
      return submitted(queue, event, at);
    case EXRNIC_TRACE_ENDED:
      return ended(queue, args, at);
    case EXRNIC_TRACE_SEGMENT:
      return segment(at.node, queue, args, at);
    case EXRNIC_TRACE_PLACED:
      return step(pop(node.placing[args.node]), at);
    case EXRNIC_TRACE_MESSAGE_END:
      return message_end(queue, args, at);
    case EXRNIC_TRACE_COMPLETION:
      return completion(node, queue, args, at);
    case EXRNIC_TRACE_PROCESSOR_RUNS:
    case EXRNIC_TRACE_PROCESSOR_WAITS:
      return processor(node, event.what == EXRNIC_TRACE_PROCESSOR_RUNS, at);
    default:
      return;
  }
}

WorkTracker::WorkPtr WorkTracker::begin(Queue& queue, const exrnic_trace_args& args,
                                        const Point& at) {
  auto work = std::make_shared<Work>();
  work->node = at.node;
  work->qpn = args.qpn;
  work->index = args.index;
  while (!queue.bells.empty() && !before(args.index, queue.bells.front().producer))
    queue.bells.pop_front();
  if (!queue.bells.empty()) {
    step(work, queue.bells.front().store);
    if (queue.bells.front().taken) step(work, *queue.bells.front().taken);
  }
  if (queue.turn) step(work, *queue.turn);
  if (queue.fetch) step(work, *queue.fetch);
  queue.open[args.index] = work;
  return work;
}

void WorkTracker::submitted(Queue& queue, const TraceEvent& event, const Point& at) {
  const exrnic_trace_args& args = event.args;
  const auto payload = std::exchange(queue.payload, std::nullopt);
  if (of_no_work(args)) return;
  WorkPtr work = find(queue, args.index);
  const bool first = !work;
  const bool last = has(args, EXRNIC_TRACE_FLAGS_LAST);
  if (first) work = begin(queue, args, at);
  if (first || last) {
    if (payload) step(work, *payload);
    step(work, at);
  }
  if (!has(args, EXRNIC_TRACE_FLAGS_UNSENT)) queue.submitted.push_back({work, last});
  queue.fetch = std::nullopt;
  queue.first_of_turn = false;
}

// ---- Frames

// Frames of a queue pair leave for the first time in the order in which they were submitted.
WorkTracker::Owner WorkTracker::owner_of(const FrameView& frame) {
  Queue& queue = nodes_[frame.from].queues[frame.src_qpn];
  if (frame.terminates()) return {};
  if (frame.answers()) {
    if (queue.reads.empty()) return {};
    return {frame.last ? pop(queue.reads) : queue.reads.front(), true};
  }
  if (queue.submitted.empty()) return {};
  const Submitted next = queue.submitted.front();
  queue.submitted.pop_front();
  if (!next.work->framed) next.work->name = opcode_name(frame.opcode);
  const bool follow = !next.work->framed || next.last;
  next.work->framed = true;
  return {next.work, follow};
}

std::optional<WorkTracker::Sender> WorkTracker::sender_of(uint32_t from, uint32_t to,
                                                          uint16_t seq) const {
  const auto found = sent_.find({from, to, seq});
  if (found == sent_.end()) return std::nullopt;
  return Sender{found->second.view, found->second.owner};
}

void WorkTracker::frame_out(const FrameView& frame, const Point& at) {
  if (!frame.sequenced) return;
  Sent& entry = sent(frame.from, frame.to, frame.seq);
  // Of the unreliable class, which has no sessions, nothing is sent again, and each queue pair
  // counts for itself.
  const bool again = frame.session != 0 && entry.view.sequenced && entry.view.seq == frame.seq &&
                     entry.view.session == frame.session;
  if (!again) {
    entry.view = frame;
    const Owner owner = owner_of(frame);
    entry.work = owner.followed ? owner.work : nullptr;
    entry.owner.reset();
    if (owner.work)
      entry.owner =
          WorkName{owner.work->node, owner.work->qpn, owner.work->index, owner.work->name};
    step(entry.work, at);
  }
  entry.out = at;
}

std::optional<Point> WorkTracker::frame_in(const FrameView& frame, const Point& at) {
  if (!frame.sequenced) return std::nullopt;
  const Sent& entry = sent(frame.from, frame.to, frame.seq);
  if (entry.view.seq != frame.seq || entry.view.session != frame.session) return std::nullopt;
  step(entry.work, at);
  return entry.out;
}

// ---- At the peer, and back

void WorkTracker::segment(unsigned node, Queue& queue, const exrnic_trace_args& args,
                          const Point& at) {
  Sent& entry = sent(args.node, node, args.index);
  step(entry.work, at);
  nodes_[node].placing[args.node].push_back(entry.work);
  if (entry.view.asks()) {
    queue.reads.push_back(entry.work);
    asked(nodes_[node], entry.view, entry.work, at);
  }
  if (entry.view.takes_receive() && entry.view.last) queue.receives.push_back(entry.work);
  entry.work.reset();
}

// A request that firmware is to answer wakes its processor, or is one of those that keep it awake.
void WorkTracker::asked(Node& node, const FrameView& request, const WorkPtr& work,
                        const Point& at) {
  if (request.opcode == EXRNIC_RDMAP_OPCODE_READ_REQUEST && !node.pull_by_firmware) return;
  node.for_firmware.push_back(work);
  if (node.processor_runs) processor(node, true, {at.node, EXRNIC_TRACE_TRACK_PROCESSOR, at.ps});
}

void WorkTracker::processor(Node& node, bool runs, const Point& at) {
  node.processor_runs = runs;
  if (!runs) return;
  for (const WorkPtr& work : node.for_firmware) step(work, at);
  node.for_firmware.clear();
}

void WorkTracker::ended(Queue& queue, const exrnic_trace_args& args, const Point& at) {
  if (of_no_work(args) || !has(args, EXRNIC_TRACE_FLAGS_LAST)) return;
  const WorkPtr work = find(queue, args.index);
  step(work, at);
  if (work && !has(args, EXRNIC_TRACE_FLAGS_SIGNALED)) draw(work, at);
}

// Of a receive, or of work of this node that waited for an answer: a PULL or an atomic.
void WorkTracker::message_end(Queue& queue, const exrnic_trace_args& args, const Point& at) {
  if (has(args, EXRNIC_TRACE_FLAGS_RECEIVE)) {
    queue.receives_ended.push_back(pop(queue.receives));
    step(queue.receives_ended.back(), at);
    return;
  }
  const WorkPtr work = find(queue, args.index);
  step(work, at);
  if (work && !has(args, EXRNIC_TRACE_FLAGS_SIGNALED)) draw(work, at);
}

void WorkTracker::completion(Node& node, Queue& queue, const exrnic_trace_args& args,
                             const Point& at) {
  const bool receive = has(args, EXRNIC_TRACE_FLAGS_RECEIVE);
  const WorkPtr work = receive ? pop(queue.receives_ended) : find(queue, args.index);
  step(work, at);
  node.completions.push_back({args.qpn, args.index, receive, work});
}

bool WorkTracker::is_cqe(unsigned node, const uint8_t* data, size_t length) {
  const std::deque<Pending>& pending = nodes_[node].completions;
  exrnic_cqe cqe;
  if (length != sizeof cqe || pending.empty()) return false;
  std::memcpy(&cqe, data, sizeof cqe);
  const Pending& next = pending.front();
  return cqe.qpn == next.qpn && cqe.wqe_index == next.index &&
         (cqe.opcode == EXRNIC_WQE_OPCODE_RECV) == next.receive;
}

void WorkTracker::cqe_written(const Point& at) {
  std::deque<Pending>& pending = nodes_[at.node].completions;
  const Pending next = pending.front();
  pending.pop_front();
  step(next.work, at);
  if (next.work && !next.receive) draw(next.work, at);
}

// ---- Drawing

void WorkTracker::draw(const WorkPtr& work, const Point& end) {
  work->drawn = true;
  nodes_[work->node].queues[work->qpn].open.erase(work->index);
  std::vector<Point>& steps = work->steps;
  // What happens elsewhere in the moment of the end is no step to it, and may be told before or
  // after it.
  steps.erase(
      std::remove_if(steps.begin(), steps.end(),
                     [&](const Point& at) { return at.ps == end.ps && at.node != end.node; }),
      steps.end());
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Point& a, const Point& b) { return a.ps < b.ps; });
  const uint64_t id = ++drawn_;
  file_.span("work", id, {work->node, EXRNIC_TRACE_TRACK_APPLICATION, steps.front().ps}, end.ps,
             work->name, fmt::format(R"("qpn":{},"slot":{})", work->qpn, work->index));
  if (steps.size() < 2) return;
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool last = i + 1 == steps.size();
    file_.flow(i == 0 ? TraceFile::Flow::kBegin
               : last ? TraceFile::Flow::kEnd
                      : TraceFile::Flow::kStep,
               id, steps[i]);
  }
}

WorkTracker::WorkPtr WorkTracker::find(const Queue& queue, uint16_t index) {
  const auto found = queue.open.find(index);
  return found == queue.open.end() ? nullptr : found->second;
}

void WorkTracker::step(const WorkPtr& work, const Point& at) {
  if (work && !work->drawn) work->steps.push_back(at);
}

WorkTracker::WorkPtr WorkTracker::pop(std::deque<WorkPtr>& works) {
  if (works.empty()) return nullptr;
  WorkPtr first = works.front();
  works.pop_front();
  return first;
}

}  // namespace exrnic::trace
