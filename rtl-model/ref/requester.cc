// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/requester.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "rtl-model/ref/ddp_header.h"
#include "rtl-model/ref/terminate_message.h"
#include "rtl-model/ref/to_peer.h"

namespace exrnic::ref {

void Requester::run() {
  end_pauses();
  look_after_pulls();
  size_t passed_over = 0;
  while (!state_.quiesce) {
    if (idle() && passed_over < state_.turns.size()) {
      const uint32_t qpn = state_.next_turn();
      if (may_take_turn(qpn)) {
        passed_over = 0;
        take_turn(qpn);
      } else {
        ++passed_over;
        state_.wake(qpn);
      }
    } else if (turn_.phase == Turn::Phase::kWindow && efe_tx_.has_room()) {
      serves_read_ ? read_server_.next_segment() : sender_.next_segment();
    } else {
      return;
    }
  }
}

bool Requester::rests() {
  if (turn_.phase == Turn::Phase::kWindow) return !efe_tx_.has_room();
  return !idle() || std::none_of(state_.turns.begin(), state_.turns.end(),
                                 [this](uint32_t qpn) { return may_take_turn(qpn); });
}

// Whose peer holds more than its share of what may be kept waits, and keeps nobody waiting.
bool Requester::may_take_turn(uint32_t qpn) {
  const QueuePair& qp = state_.qps[qpn];
  return !qp.valid || qp.at.withdrawn || efe_tx_.may_begin(qp.dest_node);
}

void Requester::end_pauses() {
  for (auto pause = state_.pauses.begin(); pause != state_.pauses.end();) {
    QueuePair& qp = state_.qps[*pause];
    const bool lasts = qp.valid && qp.sends() && state_.time_ns < qp.at.pause_until;
    if (!lasts) {
      qp.at.pause_until = 0;
      state_.wake(*pause);
    }
    pause = lasts ? std::next(pause) : state_.pauses.erase(pause);
  }
}

// Behind an interval in which nothing was heard of its PULLs, or of its peer, a queue pair asks.
void Requester::look_after_pulls() {
  const uint64_t interval = state_.time_ns >> EXRNIC_PULL_ASK_SHIFT;
  if (std::exchange(interval_, interval) == interval) return;
  for (auto waits = state_.pulling.begin(); waits != state_.pulling.end();) {
    QueuePair& qp = state_.qps[*waits];
    const bool over = qp.at.pulls.empty() && !qp.wants_answer();
    if (!over) qp.at.asks |= std::exchange(qp.at.pulls_silent, true);
    if (!over && qp.at.asks) state_.wake(*waits);
    waits = over ? state_.pulling.erase(waits) : std::next(waits);
  }
}

// A message found no receive, and all that was under way has ended: the send queue goes back to
// its work request, to send it again behind the pause, or to fail.
void Requester::go_back() {
  QueuePair& qp = turn_.qp();
  auto& at = qp.at;
  at.sq_consumer = at.ended_to;
  at.send_msn = at.ended_msn;
  at.submitted = 0;
  at.halted = false;
  qp.broken.goes_back(qp.generation);
  at.probe = QueuePair::Progress::Probe::kDue;
  at.credit_wait = false;
  qp.status.rnr = qp.status.exact = false;
  if (qp.in_error()) return;
  if (at.rnr_msn != at.ended_msn) at.rnr_count = 0;
  at.rnr_msn = at.ended_msn;
  if (qp.has.rnr_retry == EXRNIC_RNR_RETRY_ENDLESS || at.rnr_count++ < qp.has.rnr_retry) return;
  QueuePair::Status failed;
  failed.fault = true;
  failed.fault_status = EXRNIC_CQE_STATUS_RNR_RETRY_EXC_ERR;
  failed.fault_detail = EXRNIC_TERM_CODE_UNTAGGED_NO_BUFFER;
  state_.go_to_error(turn_.qpn(), EXRNIC_QP_CAUSE_NO_RECEIVE, failed);
}

// Work of its own and responses to the peer take turns.
void Requester::take_turn(uint32_t qpn) {
  turn_.begin(qpn);
  state_.trace(EXRNIC_TRACE_TURN, qpn);
  QueuePair& qp = turn_.qp();
  if (!qp.valid) return;
  if (qp.status.rnr && qp.all_ended()) go_back();
  if (qp.is_draining() && qp.is_drained()) return responder_.flush(qpn);
  if (!qp.in_error() && qp.introduces()) return introduce();
  // Good for one turn in which its work may begin.
  const auto held = qp.wants_answer() ? std::nullopt : std::exchange(qp.at.held, std::nullopt);
  if (qp.in_error()) return take_error_turn();
  if (qp.at.asks && qp.sends()) return ask();
  const bool reads = qp.answers_peer();
  const bool work = qp.may_work();
  serves_read_ = reads && (!work || qp.at.turn_of_reads);
  qp.at.turn_of_reads = !serves_read_;
  if (serves_read_) {
    turn_.phase = Turn::Phase::kWindow;
  } else if (work) {
    sender_.begin(/*flush=*/false, held);
  }
}

// The peer hears first, then own work is ended in the order of its posting.
void Requester::take_error_turn() {
  QueuePair& qp = turn_.qp();
  if (!qp.at.reads.empty()) {
    if (!qp.status.told) tell(make_read_request(qp.at.reads.front()));
    qp.at.reads.pop_front();
    state_.wake(turn_.qpn());
  } else if (qp.status.answer_lost && !qp.status.told) {
    tell(std::nullopt);
    state_.wake(turn_.qpn());
  } else if (qp.at.pulls.empty() && qp.sq_posted() && !qp.status.rnr) {
    serves_read_ = false;
    sender_.begin(/*flush=*/true, std::nullopt);
  } else {
    responder_.flush(turn_.qpn());
  }
}

// By an RDMA Write of nothing, to nowhere. A queue pair that is there takes it, and nothing comes
// of that; for one that is not its node refuses it; and that of a node that is gone is given up.
void Requester::ask() {
  QueuePair& qp = turn_.qp();
  Segment question = segment_to_peer(qp, turn_.qpn());
  question.ddp = make_header(Tagged{EXRNIC_RDMAP_OPCODE_WRITE, true, 0, 0});
  // Of the last PULL that has begun: nothing else can be under way.
  question.tag.wqe_index = static_cast<uint16_t>(qp.at.sq_consumer - 1);
  question.tag.opcode = EXRNIC_WQE_OPCODE_PULL;
  efe_tx_.submit(std::move(question));
  qp.at.heard_of_pulls();
  state_.wake(turn_.qpn());
}

// By another one, that tells the peer our generation, and that we know its own.
void Requester::introduce() {
  QueuePair& qp = turn_.qp();
  const bool asks = qp.wants_answer();
  Segment introduction = segment_to_peer(qp, turn_.qpn());
  const uint64_t to = asks ? EXRNIC_INTRODUCTION_ASKS : EXRNIC_INTRODUCTION_PLAIN;
  introduction.ddp =
      make_header(Tagged{EXRNIC_RDMAP_OPCODE_WRITE, true, EXRNIC_INTRODUCTION_STAG, to});
  introduction.tag.wqe_index = static_cast<uint16_t>(qp.at.sq_consumer - 1);
  introduction.tag.opcode = EXRNIC_WQE_OPCODE_PULL;
  if (!asks) {
    introduction.tag.kind = Tag::Kind::kIntroduction;
    introduction.stream = false;
  }
  efe_tx_.submit(std::move(introduction));
  qp.at.introduced = true;
  qp.at.answered = qp.at.peer.changes;
  qp.at.asked = asks;
  if (asks) {
    state_.pulling.insert(turn_.qpn());
    qp.at.heard_of_pulls();
  }
  state_.wake(turn_.qpn());
}

void Requester::tell(const std::optional<Bytes>& refused) {
  QueuePair& qp = turn_.qp();
  Segment message = segment_to_peer(qp, turn_.qpn());
  message.ddp = terminate_message(EXRNIC_TERM_CODE_STREAM, refused);
  message.tag.kind = Tag::Kind::kTerminate;
  message.stream = false;
  efe_tx_.submit(std::move(message));
  qp.status.told = true;
  qp.status.answer_lost = false;
}

}  // namespace exrnic::ref
