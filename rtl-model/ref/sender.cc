// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/sender.h"

#include <algorithm>
#include <utility>

#include "rtl-model/ref/ddp_header.h"
#include "rtl-model/ref/pause.h"
#include "rtl-model/ref/to_peer.h"

namespace exrnic::ref {
namespace {

using Probe = QueuePair::Progress::Probe;

exrnic_rdmap_opcode send_opcode(const WorkRequest& work) {
  const bool solicited = work.has(EXRNIC_WQE_FLAGS_SOLICITED);
  return static_cast<exrnic_rdmap_opcode>(solicited ? work.op().solicits : work.op().opcode);
}

// A completion must not pass for one of a receive, whatever the work request says.
exrnic_wqe_opcode opcode_to_complete(uint8_t opcode) {
  const bool posted = exrnic_of_wqe_opcode(opcode).posted;
  return posted ? static_cast<exrnic_wqe_opcode>(opcode) : EXRNIC_WQE_OPCODE_PUSH;
}

}  // namespace

void Sender::begin(bool flush, const std::optional<HeldWork>& held) {
  flush_ = flush;
  held_.reset();
  turn_.phase = Turn::Phase::kReading;
  const QueuePair& qp = turn_.qp();
  const Ring ring{qp.sq_pbl_address, qp.sq_log_slots, qp.at.sq_consumer, qp.at.sq_producer};
  const auto take = [this](const WorkRequest& work) {
    const QueuePair& qp = turn_.qp();
    work_ = work;
    if (flush_) forget_all_but_kind();
    status_ = check_send_work(work, qp, state_);
    submitted_ = std::min(qp.at.submitted, work.head.length);
    // What goes before an Immediate Data message that found no receive is placed.
    immediate_due_ = qp.at.probe == Probe::kDue && op().immediate;
    turn_.phase = Turn::Phase::kWindow;
  };
  if (flush || !held || held->index != ring.consumer) {
    state_.trace(EXRNIC_TRACE_WORK_FETCH, turn_.qpn());
    return fetch_.fetch(ring, take);
  }
  held_ = held;
  fetch_.take(ring, held->wqe, take);
}

// What is flushed is not looked at.
void Sender::forget_all_but_kind() {
  const uint8_t opcode = work_.head.opcode;
  work_.head = {};
  work_.head.opcode = opcode;
}

// The queue pair may have changed while there was no room: a turn in its new state decides.
void Sender::next_segment() {
  const bool goes_on = flush_ ? turn_.exists() && turn_.qp().in_error() : may_go_on();
  if (goes_on && !flush_ && waits_for_peer()) return wait_for_peer();
  if (std::exchange(held_, std::nullopt)) state_.count(EXRNIC_COUNTER_PIO_SENDS);
  if (!goes_on) return turn_.end(true);
  if (flush_) return end_unsent(EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
  // One that waits for another to end is woken by that end. Responses to the peer go on.
  if (!may_begin()) return turn_.end(turn_.qp().answers_peer());
  // The requests of a PULL leave together: it begins where there is room for all of them.
  const bool pull = status_ == EXRNIC_CQE_STATUS_SUCCESS && op().pull && !op().atomic;
  if (pull && !efe_tx_.may_begin(turn_.qp().dest_node, work_.read_requests()))
    return turn_.end(true);
  if (status_ != EXRNIC_CQE_STATUS_SUCCESS) return fail(status_);
  if (waits_for_credit()) return wait_for_credit();
  execute();
}

// Nor has a message found no receive meanwhile: the send queue is about to go back to it. In SQD
// only what has begun goes on.
bool Sender::may_go_on() {
  if (!turn_.exists()) return false;
  const QueuePair& qp = turn_.qp();
  const bool begun = submitted_ != 0 || immediate_due_ || qp.has_begun();
  const bool works = qp.status.state == EXRNIC_QP_STATE_RTS || (qp.sends() && begun);
  return works && !qp.status.rnr;
}

// What is done here, or is wrong, needs nobody.
bool Sender::waits_for_peer() {
  return status_ == EXRNIC_CQE_STATUS_SUCCESS && !op().stays && !turn_.qp().knows_its_peer();
}

// The next turn introduces the queue pair to its peer. What came through the user page stays.
void Sender::wait_for_peer() {
  auto& at = turn_.qp().at;
  at.needs_peer = true;
  if (held_ && held_->index == at.sq_consumer && !at.held) at.held = held_;
  turn_.end(true);
}

// PULLs and other work are never under way together: so completions come in order. Nor is an atomic
// with PULLs before it that are none: the peer may read for them later than it executes it.
bool Sender::may_begin() {
  const QueuePair& qp = turn_.qp();
  const size_t under_way = qp.at.pulls.size();
  if (qp.at.probe == Probe::kOut && !qp.all_ended()) return false;
  if (status_ != EXRNIC_CQE_STATUS_SUCCESS) return under_way == 0;
  if (op().pull) {
    const bool in_order =
        !op().atomic || std::all_of(qp.at.pulls.begin(), qp.at.pulls.end(), is_atomic);
    return in_order && qp.all_ended() && under_way + work_.read_requests() <= qp.has.reads_out;
  }
  return under_way == 0 && (!op().stays || qp.all_ended());
}

// A message that the peer may have no receive for. When it has waited, and nothing else is under
// way, it goes all the same.
bool Sender::waits_for_credit() const {
  const QueuePair& qp = turn_.qp();
  const bool begins = submitted_ == 0 && !immediate_due_ && qp.at.probe != Probe::kDue;
  return begins && op().receive && qp.beyond_limit() && !(qp.at.credit_wait && qp.all_ended());
}

void Sender::wait_for_credit() {
  QueuePair& qp = turn_.qp();
  if (!qp.at.credit_wait) state_.count(EXRNIC_COUNTER_CREDIT_STALLS);
  qp.at.credit_wait = qp.at.pauses_for_credit = true;
  qp.at.pause_until = state_.time_ns + pause_ns(EXRNIC_CREDIT_PROBE_CODE);
  state_.pauses.insert(turn_.qpn());
  turn_.end(qp.answers_peer());
}

void Sender::execute() {
  if (op().binds) return bind();
  if (op().registers) return register_fast();
  if (op().stays) return invalidate();
  if (op().pull) return pull();
  if (immediate_due_) return send_immediate();
  const size_t length =
      std::min(work_.head.length - submitted_, turn_.qp().mtu(state_.settings.mtu));
  if (work_.is_inline()) {
    const auto first = work_.inline_data.begin() + submitted_;
    return send_payload(Bytes(first, first + length));
  }
  turn_.phase = Turn::Phase::kReading;
  if (length != 0) state_.trace(EXRNIC_TRACE_PAYLOAD_FETCH, turn_.qpn());
  // Local read is always granted: no right is asked for.
  gather_.gather(elements(0), submitted_, length, [this](const Gather::Result& result) {
    if (!may_go_on()) return turn_.end(true);
    if (result.verdict != Verdict::kOk) return fail(EXRNIC_CQE_STATUS_LOC_PROT_ERR);
    if (!result.readable) return end_unsent(EXRNIC_CQE_STATUS_LOC_PROT_ERR);
    send_payload(result.data);
  });
}

void Sender::invalidate() {
  Access access;
  access.stag = work_.head.imm_data;
  access.asker = asker(turn_.qp(), turn_.qpn());
  if (ref::invalidate(state_, access) != Verdict::kOk) return fail(EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  end_revoked();
}

// It ends after the reads that were let in before, and as done, whatever happens meanwhile.
void Sender::end_revoked() {
  turn_.phase = Turn::Phase::kReading;
  dma_read_.then([this] { end_unsent(EXRNIC_CQE_STATUS_SUCCESS); });
}

void Sender::register_fast() {
  const exrnic_wqe& head = work_.head;
  exrnic_mbox_register_mr now{};
  now.stag = head.imm_data;
  now.pd = turn_.qp().pd;
  now.base = head.remote_to;
  now.length = head.sge0_address;
  now.pbl_address = head.sge1_address;
  now.access = head.remote_stag;
  now.page_shift = head.sge0_length;
  now.kind = EXRNIC_REGION_KIND_FAST;
  Access access;
  access.stag = now.stag;
  access.asker = asker(turn_.qp(), turn_.qpn());
  if (ref::register_fast(state_, access, now) != Verdict::kOk)
    return fail(EXRNIC_CQE_STATUS_LOC_PROT_ERR);
  end_unsent(EXRNIC_CQE_STATUS_SUCCESS);
}

void Sender::bind() {
  const exrnic_wqe& head = work_.head;
  const Access access{head.imm_data, asker(turn_.qp(), turn_.qpn()), head.remote_stag,
                      head.remote_to, head.sge0_address};
  const bool replaces = is_bound(state_, access.stag);
  if (ref::bind(state_, access, head.sge0_stag) != Verdict::kOk)
    return fail(EXRNIC_CQE_STATUS_MW_BIND_ERR);
  if (replaces) return end_revoked();
  end_unsent(EXRNIC_CQE_STATUS_SUCCESS);
}

// ---- PUSH and SEND

Bytes Sender::header(bool last) {
  if (op().push)
    return make_header(Tagged{EXRNIC_RDMAP_OPCODE_WRITE, last, work_.head.remote_stag,
                              work_.head.remote_to + submitted_});
  Untagged header;
  header.opcode = send_opcode(work_);
  header.last = last;
  header.msn = turn_.qp().at.send_msn + 1;
  header.mo = submitted_;
  if (op().invalidates) header.invalidate_stag = work_.head.imm_data;
  return make_header(header);
}

void Sender::send_payload(const Bytes& payload) {
  QueuePair& qp = turn_.qp();
  const bool last = submitted_ + payload.size() == work_.head.length;
  const bool ends = last && !op().immediate;
  const bool probe = takes_probe() && !ends;
  Segment next = segment(ends ? Tag::Kind::kLast : probe ? Tag::Kind::kProbe : Tag::Kind::kSegment);
  next.ask = begs_;
  const Bytes head = header(last);
  next.ddp.reserve(head.size() + payload.size());
  next.ddp = head;
  next.ddp.insert(next.ddp.end(), payload.begin(), payload.end());
  if (next.once) next.once = Segment::Once{submitted_ == 0, qp.at.frames++};
  if (last && op().imm && !op().immediate) next.imm = work_.head.imm_data;
  efe_tx_.submit(std::move(next));
  state_.work_begins(turn_.qpn());
  submitted_ += static_cast<uint32_t>(payload.size());
  turn_.phase = Turn::Phase::kWindow;
  immediate_due_ = last && !ends;
  if (ends) {
    if (op().send) ++qp.at.send_msn;
    end_work_request();
  } else if (!last && (probe || turn_.over() || !efe_tx_.has_share(qp.dest_node))) {
    qp.at.submitted = submitted_;
    turn_.end(true);
  }
}

// Whether the segment in hand asks for a receive that may not be there: the first one of a message
// that is sent again, or that has waited for credits and got none.
bool Sender::takes_probe() {
  QueuePair& qp = turn_.qp();
  Probe& probe = qp.at.probe;
  const bool takes_receive = immediate_due_ || (op().send && submitted_ == 0);
  begs_ = takes_receive && qp.at.credit_wait && qp.beyond_limit();
  const bool takes = begs_ || (takes_receive && probe == Probe::kDue);
  if (takes_receive) qp.at.credit_wait = false;
  if (probe == Probe::kOut) probe = Probe::kNone;
  if (takes) probe = Probe::kOut;
  return takes;
}

void Sender::send_immediate() {
  takes_probe();
  Segment last = segment(Tag::Kind::kLast);
  last.ask = begs_;
  last.ddp = make_immediate(++turn_.qp().at.send_msn, work_.head.imm_data,
                            work_.has(EXRNIC_WQE_FLAGS_SOLICITED));
  if (last.once) last.once->number = turn_.qp().at.frames++;
  efe_tx_.submit(std::move(last));
  state_.work_begins(turn_.qpn());
  end_work_request();
}

// ---- PULL: all elements are looked up before anything is sent

void Sender::pull() {
  turn_.phase = Turn::Phase::kReading;
  check_sinks(0);
}

void Sender::check_sinks(size_t from) {
  if (!may_go_on()) return turn_.end(true);
  if (from == work_.elements.size()) return send_read_requests();
  const exrnic_sge& sink = work_.elements[from];
  if (sink.length == 0) return check_sinks(from + 1);
  const Access access{sink.stag, asker(turn_.qp(), turn_.qpn()), EXRNIC_ACCESS_LOCAL_WRITE,
                      sink.address, sink.length};
  xlate_.region(access, [this, from](const Place& place) {
    if (place.verdict == Verdict::kOk) return check_sinks(from + 1);
    // PULLs before this one end first.
    if (turn_.qp().at.pulls.empty()) return fail(EXRNIC_CQE_STATUS_LOC_PROT_ERR);
    turn_.end(turn_.qp().answers_peer());
  });
}

void Sender::send_read_requests() {
  QueuePair& qp = turn_.qp();
  std::vector<exrnic_sge> sinks;
  for (const exrnic_sge& sink : work_.elements)
    if (sink.length != 0) sinks.push_back(sink);
  if (sinks.empty()) sinks.push_back({});
  state_.pulling.insert(turn_.qpn());
  qp.at.heard_of_pulls();
  state_.work_begins(turn_.qpn());
  uint64_t from = work_.head.remote_to;
  for (size_t i = 0; i < sinks.size(); ++i) {
    const exrnic_sge& sink = sinks[i];
    const bool last = i + 1 == sinks.size();
    const auto index = static_cast<uint16_t>(qp.at.sq_consumer + work_.slots - 1);
    qp.at.pulls.push_back({sink.stag, sink.address, sink.length, last,
                           work_.has(EXRNIC_WQE_FLAGS_SIGNALED), index, work_.head.length,
                           work_.head.opcode});
    Segment request = segment(Tag::Kind::kSegment);
    Read read{sink.stag, sink.address, sink.length, work_.head.remote_stag, from, ++qp.at.read_msn,
              0};
    if (op().atomic) read.atomic = atomic(index);
    request.ddp = make_read_request(read);
    efe_tx_.submit(std::move(request));
    from += sink.length;
  }
  end_work_request();
}

// An atomic has its operands where a second element would stand.
Atomic Sender::atomic(uint16_t index) const {
  const exrnic_wqe& head = work_.head;
  Atomic atomic;
  atomic.request_id = index;
  atomic.stag = head.remote_stag;
  atomic.to = head.remote_to;
  atomic.data = head.sge1_address;
  atomic.compare = uint64_t{head.sge1_stag} << 32 | head.sge1_length;
  atomic.compare_mask = UINT64_MAX;
  atomic.operation = op().operation;
  if (atomic.operation == EXRNIC_ATOMIC_OPERATION_COMPARE_SWAP) atomic.mask = UINT64_MAX;
  return atomic;
}

// ---- Ends

Segment Sender::segment(Tag::Kind kind) {
  QueuePair& qp = turn_.qp();
  Segment segment = segment_to_peer(qp, turn_.qpn());
  if (qp.service != EXRNIC_SERVICE_RC) segment.once = Segment::Once{};
  if (qp.is_datagram()) {
    const uint32_t qkey = work_.head.remote_stag;
    segment.datagram = {destination_node(work_), qkey & EXRNIC_QKEY_CONTROLLED ? qp.has.qkey : qkey,
                        state_.pkeys[qp.has.pkey_index]};
    segment.dst_qpn = destination_qpn(work_);
    segment.src_generation = segment.dst_generation = 0;
  }
  segment.tag.kind = kind;
  segment.tag.wqe_index = static_cast<uint16_t>(qp.at.sq_consumer + work_.slots - 1);
  segment.tag.byte_length = work_.head.length;
  segment.tag.signaled = work_.has(EXRNIC_WQE_FLAGS_SIGNALED);
  segment.tag.opcode = opcode_to_complete(work_.head.opcode);
  if (kind == Tag::Kind::kLast || kind == Tag::Kind::kProbe) ++qp.at.issued;
  return segment;
}

ElementList Sender::elements(uint32_t rights) {
  return {work_.elements, asker(turn_.qp(), turn_.qpn()), rights};
}

// The work request is to blame, not the host's memory.
void Sender::fail(exrnic_cqe_status status) {
  state_.count(EXRNIC_COUNTER_WQE_ERRORS);
  end_unsent(status);
}

void Sender::end_unsent(exrnic_cqe_status status) {
  Segment unsent = segment(Tag::Kind::kLast);
  if (turn_.qp().at.withdrawn) flush_alone(unsent);
  unsent.unsent = true;
  unsent.status = status;
  efe_tx_.submit(std::move(unsent));
  turn_.qp().at.halted = status != EXRNIC_CQE_STATUS_SUCCESS;
  end_work_request();
}

// Behind nothing that was sent to the peer: that may take for ever.
void Sender::flush_alone(Segment& segment) {
  segment.tag.kind = Tag::Kind::kFlush;
  segment.node = state_.config.node_id;
  segment.once = Segment::Once{};
  segment.stream = false;
}

void Sender::end_work_request() {
  QueuePair& qp = turn_.qp();
  qp.at.sq_consumer = static_cast<uint16_t>(qp.at.sq_consumer + work_.slots);
  qp.at.submitted = 0;
  qp.at.needs_peer = false;
  state_.count(EXRNIC_COUNTER_WQES);
  turn_.end(true);
}

}  // namespace exrnic::ref
