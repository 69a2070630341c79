// SPDX-License-Identifier: BSD-2-Clause
#include "sim/trace/tracer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/trace/traced_core.h"
#include "sim/trace/traced_host.h"

namespace exrnic {
namespace {

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
    if (state.running_since_ps != 0) processor(node, false);
}

void Tracer::start(const Scheduler& scheduler, uint64_t period_ps, unsigned nodes) {
  scheduler_ = &scheduler;
  period_ps_ = period_ps;
  for (unsigned node = 0; node < nodes; ++node) {
    file_.name_node(node);
    for (unsigned track = 0; track < std::size(kTracks); ++track)
      file_.name_track(node, track, kTracks[track]);
  }
}

CoreFactory Tracer::wrap(const CoreFactory& make_core) {
  return [this, make_core](const CoreConfig& config, CoreSink& sink) {
    return std::make_unique<trace::TracedCore>(*this, config, sink, make_core);
  };
}

DevicePort& Tracer::device(unsigned node, DevicePort& device) {
  devices_.push_back(std::make_unique<trace::TracedDevice>(*this, node, device));
  return *devices_.back();
}

HostPort* Tracer::host(unsigned node, HostPort* host) {
  if (host == nullptr) return nullptr;
  auto& traced = hosts_[node];
  traced = std::make_unique<trace::TracedHost>(*this, node, *host);
  return traced.get();
}

Point Tracer::at(unsigned node, exrnic_trace what) const {
  return {node, kDeclared[what].track, now()};
}

void Tracer::slice(unsigned node, exrnic_trace what, const std::string& args) {
  const uint64_t ps = kDeclared[what].track < EXRNIC_TRACE_TRACK_USER_PAGE ? kPsPerNs : period_ps_;
  file_.slice(at(node, what), ps, kDeclared[what].name, args);
}

// ---- The core

void Tracer::core_event(unsigned node, const TraceEvent& event) {
  if (event.what == EXRNIC_TRACE_PROCESSOR_RUNS || event.what == EXRNIC_TRACE_PROCESSOR_WAITS)
    processor(node, event.what == EXRNIC_TRACE_PROCESSOR_RUNS);
  else
    slice(node, event.what, about(event.args));
  works_.core_event(event, at(node, event.what));
}

void Tracer::processor(unsigned node, bool runs) {
  const uint64_t since = std::exchange(nodes_[node].running_since_ps, runs ? now() : 0);
  if (runs || since == 0) return;
  file_.slice({node, EXRNIC_TRACE_TRACK_PROCESSOR, since}, now() - since, "runs", "");
}

void Tracer::frame(unsigned node, const Frame& frame, bool out) {
  const auto view = trace::view_of(frame);
  const exrnic_trace what = out ? EXRNIC_TRACE_FRAME_OUT : EXRNIC_TRACE_FRAME_IN;
  const std::string args = fmt::format(R"("bytes":{}{}{})", frame.data.size(), view ? "," : "",
                                       view ? about(*view) : "");
  slice(node, what, args);
  if (!view) return;
  if (out) return works_.frame_out(*view, at(node, what));
  const auto left = works_.frame_in(*view, at(node, what));
  if (left) file_.span("wire", ++frames_, *left, now(), "frame", args);
}

// ---- What does not arrive

void Tracer::lost(uint64_t now_ps, const std::string& at, const std::string& cause,
                  const Frame& frame) {
  const auto view = trace::view_of(frame);
  std::optional<WorkName> work;
  if (view && view->sequenced) {
    const auto sender = works_.sender_of(view->from, view->to, static_cast<uint16_t>(view->seq));
    if (sender && sender->view.seq == view->seq && sender->view.session == view->session &&
        sender->view.src_qpn == view->src_qpn)
      work = sender->work;
  }
  losses_->add(now_ps, at, cause, view, work);
}

void Tracer::lost(unsigned node, const std::optional<trace::WorkTracker::Sender>& sender,
                  const std::string& cause) {
  losses_->add(now(), fmt::format("node{}", node), cause,
               sender ? std::optional(sender->view) : std::nullopt,
               sender ? sender->work : std::nullopt);
}

LossObserver Tracer::losses_of(const std::string& at) {
  if (losses_ == nullptr) return {};
  return [this, at](Loss loss, SimTime now_ps, const Bytes& wire) {
    lost(now_ps, at, kCauses[static_cast<size_t>(loss)], Frame{wire});
  };
}

void Tracer::dropped(unsigned node, const Frame& frame, unsigned counter) {
  lost(now(), fmt::format("node{}", node), fmt::format("receiver: {}", kCounters[counter]), frame);
}

// In the unreliable class each queue pair counts for itself: then it may be another one's.
void Tracer::unserved(unsigned node, const exrnic_trace_args& segment, unsigned counter) {
  auto sender = works_.sender_of(segment.node, node, segment.index);
  if (sender && sender->view.dst_qpn != segment.qpn) sender.reset();
  lost(node, sender, fmt::format("receiver: {}", kCounters[counter]));
}

void Tracer::refused(unsigned node, unsigned peer, uint16_t seq, unsigned code, bool comes_again) {
  lost(node, works_.sender_of(peer, node, seq),
       comes_again ? "no receive: comes again after a pause"
                   : fmt::format("refused: 0x{:04x}, {}", code, name_of_code(code)));
}

// ---- The host

void Tracer::store(unsigned node, unsigned bar, uint64_t offset, unsigned size, uint64_t value) {
  const std::string args = fmt::format(R"("offset":"0x{:x}","value":"0x{:x}")", offset, value);
  if (bar == EXRNIC_BAR_USER) {
    slice(node, EXRNIC_TRACE_STORE, args);
    const uint64_t place = offset % EXRNIC_USER_PAGE_SIZE;
    if (place >= EXRNIC_PIO_AREA) return pio_store(node, offset, size, value);
    exrnic_doorbell bell;
    if (place != EXRNIC_DOORBELL_SQ || size != sizeof bell) return;
    std::memcpy(&bell, &value, sizeof bell);
    works_.posted(bell.number, static_cast<uint16_t>(bell.index), at(node, EXRNIC_TRACE_STORE));
  } else if (bar == EXRNIC_BAR_REGISTERS) {
    slice(node, EXRNIC_TRACE_REGISTER_WRITE, args);
    if (offset == EXRNIC_REG_PULL_MODE)
      works_.pull_by_firmware(node, value == EXRNIC_PULL_MODE_FIRMWARE);
    if (offset != EXRNIC_REG_MBOX_COMMAND) return;
    nodes_[node].command_ps = now();
    nodes_[node].command = static_cast<uint32_t>(value);
  }
}

void Tracer::block(unsigned node, unsigned bar, uint64_t offset, const uint8_t* data) {
  for (unsigned i = 0; i < DevicePort::kBlockBytes; i += sizeof(uint64_t)) {
    uint64_t value;
    std::memcpy(&value, data + i, sizeof value);
    store(node, bar, offset + i, sizeof value, value);
  }
}

void Tracer::pio_store(unsigned node, uint64_t offset, unsigned size, uint64_t value) {
  const uint64_t first = offset % sizeof(exrnic_wqe);
  if (size > sizeof value || first + size > sizeof(exrnic_wqe)) return;
  auto& blocks = nodes_[node].blocks;
  Block& block = blocks[offset - first];
  std::memcpy(reinterpret_cast<uint8_t*>(&block.bytes) + first, &value, size);
  block.there |= ((uint64_t{1} << size) - 1) << first;
  if (~block.there != 0) return;
  works_.posted(block.bytes.number, static_cast<uint16_t>(block.bytes.index),
                at(node, EXRNIC_TRACE_STORE));
  blocks.erase(offset - first);
}

void Tracer::loaded(unsigned node, unsigned bar, uint64_t offset, uint64_t value,
                    uint64_t since_ps) {
  if (bar != EXRNIC_BAR_REGISTERS && bar != EXRNIC_BAR_USER) return;
  const auto begun = [&](exrnic_trace what, uint64_t ps) {
    return Point{node, kDeclared[what].track, ps};
  };
  file_.slice(begun(EXRNIC_TRACE_REGISTER_READ, since_ps), now() - since_ps, "register_read",
              fmt::format(R"("bar":{},"offset":"0x{:x}","value":"0x{:x}")", bar, offset, value));
  NodeState& state = nodes_[node];
  if (bar != EXRNIC_BAR_REGISTERS) return;
  if (offset != EXRNIC_REG_MBOX_STATUS || state.command_ps == 0 || value == EXRNIC_MBOX_STATUS_BUSY)
    return;
  const uint64_t since = std::exchange(state.command_ps, 0);
  file_.slice(begun(EXRNIC_TRACE_COMMAND, since), length_around(since, now()), "command",
              fmt::format(R"("op":{},"status":{})", state.command, value));
}

void Tracer::memory(unsigned node, bool write, uint64_t address, const uint8_t* data,
                    size_t length) {
  slice(node, write ? EXRNIC_TRACE_MEMORY_WRITE : EXRNIC_TRACE_MEMORY_READ,
        fmt::format(R"("address":"0x{:x}","bytes":{})", address, length));
  if (!write || !works_.is_cqe(node, data, length)) return;
  exrnic_cqe cqe;
  std::memcpy(&cqe, data, sizeof cqe);
  slice(node, EXRNIC_TRACE_CQE,
        fmt::format(R"("qpn":{},"index":{},"opcode":{},"status":{})", cqe.qpn, cqe.wqe_index,
                    cqe.opcode, cqe.status));
  works_.cqe_written(at(node, EXRNIC_TRACE_CQE));
}

void Tracer::interrupt(unsigned node, unsigned vector) {
  slice(node, EXRNIC_TRACE_INTERRUPT, fmt::format(R"("vector":{})", vector));
}

}  // namespace exrnic
