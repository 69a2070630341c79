// SPDX-License-Identifier: BSD-2-Clause
// What the turn of a queue pair is for. Combinational but for one bit of each queue pair: of reads
// and own work the one goes first that did not have the last turn.

module turn_pick
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input logic clk_i,

    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record
    input qp_t    qp_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input qpn_t   qpn_i,
    input reads_t pull_count_i,
    input reads_t read_count_i,
    /* verilator lint_off UNUSEDSIGNAL */
    input read_t  read_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input reads_t punt_count_i,  // of those that firmware or atomics have still to answer
    input logic   lost_i,  // firmware has lost requests of it
    input logic   paused_i,  // it is to send nothing of its own now
    input logic   asks_i,    // it is to ask its peer
    input logic   take_i,  // the turn begins
    output pick_t pick_o
);

  turn_e turn;
  term_code_e code;
  logic connected, wants_answer, work, reads;

  // Its last turn was for a read.
  qpn_t work_first_qpn[1];
  logic work_first[1];
  assign work_first_qpn = '{qpn_i};
  lut_ram_nr1w #(
      .WIDTH(1),
      .DEPTH(N_QP)
  ) u_work_first (
      .clk_i,
      .write_i        (take_i),
      .write_address_i(qpn_i),
      .write_data_i   (turn == TURN_READ),
      .read_address_i (work_first_qpn),
      .read_data_o    (work_first)
  );

  assign connected = qp_i.cfg.valid && qp_connected(qp_i.status.state);
  assign reads = read_count_i != '0;
  // In SQD the work request in hand goes on, also when its message comes again; no other one begins.
  logic posted, begun;
  assign begun = has_begun(qp_i.sq);
  assign posted = (qp_i.status.state == QP_STATE_RTS || (qp_i.status.state == QP_STATE_SQD && begun)) &&
      qp_i.sq.consumer != qp_i.sq_producer &&
      !qp_i.sq.halted && !qp_i.status.rnr && !paused_i;

  logic goes_back;
  always_comb begin
    goes_back = qp_i.status.rnr && qp_i.sq.issued == qp_i.ended.count &&
        (qp_sends(qp_i.status.state) || qp_i.status.state == QP_STATE_ERROR);
    // What it has sent counts no more: it waits for no end. The responder may have written what it read before.
    if (qp_i.ended.withdrawn && qp_i.status.state == QP_STATE_ERROR)
      goes_back = !qp_i.sq.withdrawn || qp_i.status.rnr;
    if (!qp_i.cfg.valid) goes_back = 1'b0;
  end

  logic drained;
  assign drained = is_draining(qp_i) && !begun &&
      !qp_i.status.rnr && qp_i.sq.issued == qp_i.ended.count && pull_count_i == '0;

  // Its work waits until it and its peer have met, or nobody is there. Each change at the peer is
  // answered once; who has work asks once in between, and again when nothing is heard for long.
  logic has_peer, introduces;
  assign has_peer = qp_i.cfg.service != SERVICE_UD;
  assign wants_answer = posted && has_peer && !qp_i.peer.met && !qp_i.status.alone &&
      qp_i.sq.needs_peer;
  assign work = posted && !wants_answer;
  assign introduces = connected && has_peer && (!qp_i.sq.introduced || qp_i.sq.answered != qp_i.peer.changes ||
      (wants_answer && (!qp_i.sq.asked || asks_i)));

  // Its peer hears of a refused request behind all answers.
  logic refuses;
  assign refuses = qp_i.refused.valid && !reads && punt_count_i == '0;

  // Requests that nobody answers are told of once: of a peer that is gone nothing more is heard.
  logic unanswered;
  assign unanswered = (lost_i || qp_i.refused.valid) && !qp_i.status.tried;
  turn_e in_error;
  always_comb begin
    if (reads) in_error = qp_i.status.told ? TURN_POP : TURN_TERMINATE;
    else if ((qp_i.status.answer_lost || unanswered) && !qp_i.status.told) in_error = TURN_TERMINATE;
    else if (pull_count_i != '0) in_error = TURN_HAND_OVER;
    else if (qp_i.sq.consumer != qp_i.sq_producer && !qp_i.status.rnr) in_error = TURN_FLUSH;
    else in_error = TURN_HAND_OVER;
  end

  always_comb begin
    turn = TURN_NOTHING;
    code = TERM_CODE_STREAM;
    if (goes_back) turn = TURN_GO_BACK;
    else if (qp_i.cfg.valid && qp_i.status.state == QP_STATE_ERROR) turn = in_error;
    else if (connected && lost_i) turn = TURN_TERMINATE;
    else if (connected && drained) turn = TURN_HAND_OVER;
    else if (introduces) turn = TURN_INTRODUCE;
    else if (connected && asks_i) turn = TURN_ASK;
    else if (connected && reads && read_i.answer == ANSWER_REFUSED) begin
      turn = TURN_TERMINATE;
      code = read_i.code;
    end else if (connected && refuses) begin
      turn = TURN_TERMINATE;
      code = qp_i.refused.code;
    end else if (connected && reads && !(work && work_first[0])) turn = TURN_READ;
    else if (connected && work) turn = TURN_WORK;
  end
  assign pick_o = '{
          turn: turn,
          quote: (reads || qp_i.refused.valid) && !(connected && lost_i),
          code: code,
          wants_answer: wants_answer,
          work: work,
          reads: reads
      };

endmodule
