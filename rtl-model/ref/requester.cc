// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/requester.h"

#include <utility>

#include "rtl-model/ref/ddp_header.h"
#include "rtl-model/ref/terminate_message.h"

namespace exrnic::ref {

void Requester::run() {
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

// Whose peer holds more than its share of what may be kept waits, and keeps nobody waiting.
bool Requester::may_take_turn(uint32_t qpn) {
  const QueuePair& qp = state_.qps[qpn];
  return !qp.valid || efe_tx_.may_begin(qp.dest_node);
}

// Work of its own and responses to the peer take turns.
void Requester::take_turn(uint32_t qpn) {
  turn_.begin(qpn);
  state_.trace(EXRNIC_TRACE_TURN, qpn);
  QueuePair& qp = turn_.qp();
  if (!qp.valid) return;
  const auto held = std::exchange(qp.at.held, std::nullopt);  // good for one turn
  if (qp.in_error()) return take_error_turn();
  const bool reads = qp.answers_peer();
  const bool work = qp.status.state == EXRNIC_QP_STATE_RTS && qp.sq_posted() && !qp.at.halted;
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
  } else if (qp.at.pulls.empty() && qp.sq_posted()) {
    serves_read_ = false;
    sender_.begin(/*flush=*/true, std::nullopt);
  } else {
    responder_.flush(turn_.qpn());
  }
}

void Requester::tell(const std::optional<Bytes>& refused) {
  QueuePair& qp = turn_.qp();
  Segment message;
  message.node = qp.dest_node;
  message.dst_qpn = qp.dest_qpn;
  message.src_qpn = turn_.qpn();
  message.ddp = terminate_message(EXRNIC_TERM_CODE_STREAM, refused);
  message.tag.kind = Tag::Kind::kTerminate;
  efe_tx_.submit(std::move(message));
  qp.status.told = true;
  qp.status.answer_lost = false;
}

}  // namespace exrnic::ref
