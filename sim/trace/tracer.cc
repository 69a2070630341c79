// SPDX-License-Identifier: BSD-2-Clause
#include "sim/trace/tracer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/pcie/host_port.h"

namespace exrnic {
namespace {

using trace::At;
using trace::FrameView;
using trace::Point;

struct Declared {
  const char* name;
  exrnic_trace_track track;
};
constexpr Declared kDeclared[] = EXRNIC_TRACE_TABLE;
static_assert(std::size(kDeclared) == EXRNIC_TRACES);

constexpr const char* kTracks[] = {"application", "driver",   "host memory", "user_page",
                                   "requester",   "efe_tx",   "efe_rx",      "responder",
                                   "completer",   "processor"};
static_assert(std::size(kTracks) == EXRNIC_TRACE_TRACK_PROCESSOR + 1);

constexpr const char* kCounters[] = EXRNIC_COUNTER_NAMES;

constexpr const char* kCauses[] = {
    "line: dropped by a fault", "line: corrupted by a fault", "line: down",
    "line: partition",          "switch: queue full",         "switch: no route"};
static_assert(std::size(kCauses) == static_cast<size_t>(Loss::kNoRoute) + 1);

const char* name_of_code(unsigned code) {
  switch (code) {
#define EXRNIC_CASE(name, doc)  \
  case EXRNIC_TERM_CODE_##name: \
    return doc;
    EXRNIC_TERM_CODE_EACH(EXRNIC_CASE)
#undef EXRNIC_CASE
    default:
      return "unknown";
  }
}

Point point(const At& at, exrnic_trace what) { return {at.node, kDeclared[what].track, at.ps}; }

std::string name_of(const At& at) { return fmt::format("node{}", at.node); }

std::string about(const exrnic_trace_args& args) {
  return fmt::format(R"("qpn":{},"index":{},"node":{},"flags":{})", args.qpn, args.index, args.node,
                     args.flags);
}

std::string about(const FrameView& view) {
  if (!view.sequenced) return fmt::format(R"("from":{},"to":{})", view.from, view.to);
  return fmt::format(R"("from":{},"to":{},"seq":{},"opcode":"{}","qpn":{})", view.from, view.to,
                     view.seq, trace::opcode_name(view.opcode), view.dst_qpn);
}

// Of a slice with others in it, which end when it ends: so that it ends in the nanosecond in which
// `until` lies when beginning and length are cut off to whole ones (see TraceFile).
uint64_t length_around(uint64_t since, uint64_t until) {
  return std::max(until - since, (until / kPsPerNs - since / kPsPerNs) * kPsPerNs);
}

}  // namespace

// Stores into a PIO block come in pieces; when all bytes are there it is a doorbell.
struct Tracer::Block {
  exrnic_wqe bytes = {};
  uint64_t there = 0;  // one bit a byte
};

Tracer::Tracer(const std::string& path, trace::TraceFile::Log log, LossLog* losses)
    : file_(path, std::move(log)), losses_(losses) {}

// A processor that still runs does so until the end.
Tracer::~Tracer() {
  for (const auto& [node, state] : nodes_)
    if (state.running_since_ps != 0) processor({node, last_ps_}, false);
}

void Tracer::start(uint64_t period_ps, unsigned nodes) {
  period_ps_ = period_ps;
  for (unsigned node = 0; node < nodes; ++node) {
    file_.name_node(node);
    for (unsigned track = 0; track < std::size(kTracks); ++track)
      file_.name_track(node, track, kTracks[track]);
  }
}

void Tracer::slice(const At& at, exrnic_trace what, const std::string& args) {
  const uint64_t ps = kDeclared[what].track < EXRNIC_TRACE_TRACK_USER_PAGE ? kPsPerNs : period_ps_;
  file_.slice(point(at, what), ps, kDeclared[what].name, args);
}

// ---- The core

void Tracer::core_event(const At& at, const TraceEvent& event) {
  last_ps_ = std::max(last_ps_, at.ps);
  if (event.what == EXRNIC_TRACE_PROCESSOR_RUNS || event.what == EXRNIC_TRACE_PROCESSOR_WAITS)
    processor(at, event.what == EXRNIC_TRACE_PROCESSOR_RUNS);
  else
    slice(at, event.what, about(event.args));
  works_.core_event(event, point(at, event.what));
}

void Tracer::processor(const At& at, bool runs) {
  const SimTime since = std::exchange(nodes_[at.node].running_since_ps, runs ? at.ps : 0);
  if (runs || since == 0) return;
  file_.slice({at.node, EXRNIC_TRACE_TRACK_PROCESSOR, since}, at.ps - since, "runs", "");
}

void Tracer::frame(const At& at, const Frame& frame, bool out) {
  const auto view = trace::view_of(frame);
  const exrnic_trace what = out ? EXRNIC_TRACE_FRAME_OUT : EXRNIC_TRACE_FRAME_IN;
  const std::string args = fmt::format(R"("bytes":{}{}{})", frame.data.size(), view ? "," : "",
                                       view ? about(*view) : "");
  slice(at, what, args);
  if (!view) return;
  if (out) return works_.frame_out(*view, point(at, what));
  const auto left = works_.frame_in(*view, point(at, what));
  if (left) file_.span("wire", ++frames_, *left, at.ps, "frame", args);
}

// ---- What does not arrive

void Tracer::lost(SimTime ps, const std::string& where, const std::string& cause,
                  const Frame& frame) {
  const auto view = trace::view_of(frame);
  std::optional<WorkName> work;
  if (view && view->sequenced) {
    const auto sender = works_.sender_of(view->from, view->to, static_cast<uint16_t>(view->seq));
    if (sender && sender->view.seq == view->seq && sender->view.session == view->session &&
        sender->view.src_qpn == view->src_qpn)
      work = sender->work;
  }
  losses_->add(ps, where, cause, view, work);
}

void Tracer::lost(const At& at, const std::optional<trace::WorkTracker::Sender>& sender,
                  const std::string& cause) {
  losses_->add(at.ps, name_of(at), cause, sender ? std::optional(sender->view) : std::nullopt,
               sender ? sender->work : std::nullopt);
}

void Tracer::lost(SimTime ps, const std::string& where, Loss loss, const Frame& frame) {
  lost(ps, where, kCauses[static_cast<size_t>(loss)], frame);
}

void Tracer::dropped(const At& at, const Frame& frame, unsigned counter) {
  lost(at.ps, name_of(at), fmt::format("receiver: {}", kCounters[counter]), frame);
}

// In the unreliable class each queue pair counts for itself: then it may be another one's.
void Tracer::unserved(const At& at, const exrnic_trace_args& segment, unsigned counter) {
  auto sender = works_.sender_of(segment.node, at.node, segment.index);
  if (sender && sender->view.dst_qpn != segment.qpn) sender.reset();
  lost(at, sender, fmt::format("receiver: {}", kCounters[counter]));
}

void Tracer::refused(const At& at, unsigned peer, uint16_t seq, unsigned code, bool comes_again) {
  lost(at, works_.sender_of(peer, at.node, seq),
       comes_again ? "no receive: comes again after a pause"
                   : fmt::format("refused: 0x{:04x}, {}", code, name_of_code(code)));
}

// ---- The host

void Tracer::store(const At& at, unsigned bar, uint64_t offset, unsigned size, uint64_t value) {
  const std::string args = fmt::format(R"("offset":"0x{:x}","value":"0x{:x}")", offset, value);
  if (bar == EXRNIC_BAR_USER) {
    slice(at, EXRNIC_TRACE_STORE, args);
    const uint64_t place = offset % EXRNIC_USER_PAGE_SIZE;
    if (place >= EXRNIC_PIO_AREA) return pio_store(at, offset, size, value);
    exrnic_doorbell bell;
    if (place != EXRNIC_DOORBELL_SQ || size != sizeof bell) return;
    std::memcpy(&bell, &value, sizeof bell);
    works_.posted(bell.number, static_cast<uint16_t>(bell.index), point(at, EXRNIC_TRACE_STORE));
  } else if (bar == EXRNIC_BAR_REGISTERS) {
    slice(at, EXRNIC_TRACE_REGISTER_WRITE, args);
    if (offset == EXRNIC_REG_PULL_MODE)
      works_.pull_by_firmware(at.node, value == EXRNIC_PULL_MODE_FIRMWARE);
    if (offset != EXRNIC_REG_MBOX_COMMAND) return;
    nodes_[at.node].command_ps = at.ps;
    nodes_[at.node].command = static_cast<uint32_t>(value);
  }
}

void Tracer::block(const At& at, unsigned bar, uint64_t offset, const uint8_t* data) {
  for (unsigned i = 0; i < DevicePort::kBlockBytes; i += sizeof(uint64_t)) {
    uint64_t value;
    std::memcpy(&value, data + i, sizeof value);
    store(at, bar, offset + i, sizeof value, value);
  }
}

void Tracer::pio_store(const At& at, uint64_t offset, unsigned size, uint64_t value) {
  const uint64_t first = offset % sizeof(exrnic_wqe);
  if (size > sizeof value || first + size > sizeof(exrnic_wqe)) return;
  auto& blocks = nodes_[at.node].blocks;
  Block& block = blocks[offset - first];
  std::memcpy(reinterpret_cast<uint8_t*>(&block.bytes) + first, &value, size);
  block.there |= ((uint64_t{1} << size) - 1) << first;
  if (~block.there != 0) return;
  works_.posted(block.bytes.number, static_cast<uint16_t>(block.bytes.index),
                point(at, EXRNIC_TRACE_STORE));
  blocks.erase(offset - first);
}

void Tracer::loaded(const At& at, unsigned bar, uint64_t offset, uint64_t value, SimTime since) {
  if (bar != EXRNIC_BAR_REGISTERS && bar != EXRNIC_BAR_USER) return;
  const auto begun = [&](exrnic_trace what, uint64_t ps) {
    return Point{at.node, kDeclared[what].track, ps};
  };
  file_.slice(begun(EXRNIC_TRACE_REGISTER_READ, since), at.ps - since, "register_read",
              fmt::format(R"("bar":{},"offset":"0x{:x}","value":"0x{:x}")", bar, offset, value));
  NodeState& state = nodes_[at.node];
  if (bar != EXRNIC_BAR_REGISTERS) return;
  if (offset != EXRNIC_REG_MBOX_STATUS || state.command_ps == 0 || value == EXRNIC_MBOX_STATUS_BUSY)
    return;
  const SimTime begin = std::exchange(state.command_ps, 0);
  file_.slice(begun(EXRNIC_TRACE_COMMAND, begin), length_around(begin, at.ps), "command",
              fmt::format(R"("op":{},"status":{})", state.command, value));
}

void Tracer::memory(const At& at, bool write, uint64_t address, const uint8_t* data,
                    size_t length) {
  slice(at, write ? EXRNIC_TRACE_MEMORY_WRITE : EXRNIC_TRACE_MEMORY_READ,
        fmt::format(R"("address":"0x{:x}","bytes":{})", address, length));
  if (!write || !works_.is_cqe(at.node, data, length)) return;
  exrnic_cqe cqe;
  std::memcpy(&cqe, data, sizeof cqe);
  slice(at, EXRNIC_TRACE_CQE,
        fmt::format(R"("qpn":{},"index":{},"opcode":{},"status":{})", cqe.qpn, cqe.wqe_index,
                    cqe.opcode, cqe.status));
  works_.cqe_written(point(at, EXRNIC_TRACE_CQE));
}

void Tracer::interrupt(const At& at, unsigned vector) {
  slice(at, EXRNIC_TRACE_INTERRUPT, fmt::format(R"("vector":{})", vector));
}

}  // namespace exrnic
