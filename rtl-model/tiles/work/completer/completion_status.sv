// SPDX-License-Identifier: BSD-2-Clause
// What an ended slot, message or PULL means for its queue pair: the status of its work request, if
// it ends one, and the queue pair's new state. Combinational.

module completion_status
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic        received_i,  // from the responder: a message or a PULL; else a slot
    input logic        note_i,      // or nothing that has ended
    input tx_kind_e    kind_i,      // of a slot
    input generation_t generation_i,
    input logic        signaled_i,
    input logic [7:0]  opcode_i,
    input cqe_status_e status_i,
    input logic [31:0] seq_i,       // of a slot, if it succeeded
    input logic        lost_i,      // instead of all that: its completion could not be written
    input logic        silent_i,    // or nothing was heard of what is under way, for too long
    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record
    input qp_t         qp_i,
    /* verilator lint_on UNUSEDSIGNAL */

    output logic        ends_o,     // something that counts in sq.issued
    output logic        well_o,     // a work request of the send queue has ended, and well;
    output logic        past_o,     // or ill, but it does not come again
    output logic        heard_o,    // the peer has acknowledged a segment of its work
    output logic        withdraws_o,  // how what is under way ends counts no more
    output logic        wants_cqe_o,
    output logic        known_o,  // its queue pair is the one that is meant
    output cqe_status_e status_o,
    output logic [15:0] detail_o,
    output logic        changes_o,  // the queue pair's status becomes qp_status_o
    output logic        fails_o,    // and so goes to ERROR,
    output qp_cause_e   cause_o,    // for this reason
    output qp_status_t  qp_status_o
);

  // What is withdrawn ends without a trace.
  logic known, withdrawn, in_error, connected;
  assign withdrawn = qp_i.ended.withdrawn && !received_i && !lost_i &&
      kind_i inside {TX_KIND_LAST, TX_KIND_SEGMENT, TX_KIND_PROBE};
  assign known = qp_i.cfg.valid && (silent_i || qp_i.cfg.generation == generation_i) && !withdrawn;
  assign in_error = qp_i.status.state == QP_STATE_ERROR;
  assign connected = qp_connected(qp_i.status.state);

  // In ERROR, or with rnr, an acknowledged frame was placed only if it left before the one that
  // was refused. A local invalidation sends nothing: it was done before its slot was submitted.
  logic before_fault, local_done, succeeded;
  /* verilator lint_off UNUSEDSIGNAL */  // one property counts
  wqe_opcode_properties_t op;
  /* verilator lint_on UNUSEDSIGNAL */
  assign before_fault = $signed(seq_i - qp_i.status.fault_seq) < 0;
  assign op = of_wqe_opcode(opcode_i);
  assign local_done = op.stays;
  assign succeeded = status_i == CQE_STATUS_SUCCESS &&
      (received_i || local_done || !(in_error || qp_i.status.rnr) ||
       (qp_i.status.exact && before_fault));

  logic is_last, is_probe, is_segment, is_response, takes_fault, comes_again;
  assign is_last = !received_i && kind_i inside {TX_KIND_LAST, TX_KIND_FLUSH};
  assign is_probe = !received_i && kind_i == TX_KIND_PROBE;
  assign is_segment = is_probe || (!received_i && kind_i == TX_KIND_SEGMENT);
  assign is_response = !received_i && kind_i == TX_KIND_RESPONSE;

  // Of a message that found no receive, or of what was sent behind it.
  assign comes_again = qp_i.status.rnr && (is_last || is_segment) && !succeeded && !lost_i;

  // UC has a peer that is given up for its introduction only: it goes on alone.
  logic goes_alone;
  assign goes_alone = is_segment && status_i == CQE_STATUS_RETRY_EXC_ERR && !lost_i && connected &&
      qp_i.cfg.service == SERVICE_UC;

  // The peer waits for a response that will not come, and has not been told that nothing will.
  logic loses_answer;
  assign loses_answer = is_response && status_i == CQE_STATUS_LOC_PROT_ERR && !lost_i &&
      (connected || (in_error && !qp_i.status.told));

  // One that was given up has not come either: the peer hears of that when it asks.
  logic answer_given_up;
  assign answer_given_up = is_response && status_i == CQE_STATUS_RETRY_EXC_ERR && !lost_i && connected;

  // A terminate message that was given up has told nobody, if the peer is there after all.
  logic not_told;
  assign not_told = !received_i && kind_i == TX_KIND_TERMINATE &&
      status_i == CQE_STATUS_RETRY_EXC_ERR && !lost_i && qp_i.status.told;

  // The cause of an error goes to the first work request that it ends, be that a PULL or another.
  assign takes_fault = in_error && qp_i.status.fault && !succeeded && !comes_again && (is_last ||
      (received_i && opcode_i != WQE_OPCODE_RECV && status_i == CQE_STATUS_WR_FLUSH_ERR));

  // That a request was acknowledged, or a question, says nothing of who is to answer it.
  assign heard_o = known && !lost_i && (is_last || is_segment) && status_i == CQE_STATUS_SUCCESS && !op.pull;
  assign past_o = known && !lost_i && !note_i && !comes_again &&
      (is_last || (received_i && opcode_i != WQE_OPCODE_RECV));
  assign withdraws_o = silent_i && known && qp_sends(qp_i.status.state);

  assign ends_o = known && (is_last || is_probe) && !lost_i;
  assign well_o = known && !lost_i && succeeded &&
      (is_last || (received_i && opcode_i != WQE_OPCODE_RECV));
  assign wants_cqe_o = known && (is_last || received_i) && !note_i && !lost_i && !comes_again &&
      (signaled_i || !succeeded);
  assign known_o = known;
  always_comb begin
    if (succeeded) status_o = CQE_STATUS_SUCCESS;
    else if (takes_fault) status_o = qp_i.status.fault_status;
    else if (in_error && is_last) status_o = CQE_STATUS_WR_FLUSH_ERR;
    else status_o = status_i;
  end
  assign detail_o = takes_fault ? qp_i.status.fault_detail : '0;

  always_comb begin
    if (silent_i) fails_o = withdraws_o;
    else if (lost_i) fails_o = 1'b1;
    else if (goes_alone) fails_o = 1'b0;
    else if (is_response) fails_o = loses_answer || answer_given_up;
    else fails_o = (is_last || is_segment) && !succeeded &&
        (!comes_again || status_i == CQE_STATUS_RETRY_EXC_ERR);
    fails_o = fails_o && known && !in_error;
  end
  assign changes_o = fails_o || (known && !lost_i && (takes_fault || loses_answer || goes_alone || not_told));

  always_comb begin
    if (lost_i) cause_o = QP_CAUSE_COMPLETION;
    else if (loses_answer) cause_o = QP_CAUSE_MEMORY;
    else if (silent_i || status_i == CQE_STATUS_RETRY_EXC_ERR) cause_o = QP_CAUSE_NO_ANSWER;
    else cause_o = QP_CAUSE_WORK_REQUEST;
  end

  // A segment that failed leaves its status for the work request that it is part of. Of a response
  // that failed the peer has to hear.
  always_comb begin
    qp_status_o = qp_i.status;
    if (goes_alone) qp_status_o.alone = 1'b1;
    else qp_status_o.state = QP_STATE_ERROR;
    if (not_told) qp_status_o.told = 1'b0;
    if (takes_fault) qp_status_o.fault = 1'b0;
    if (loses_answer) qp_status_o.answer_lost = 1'b1;
    if (!in_error && !goes_alone) begin
      qp_status_o.fault = (is_segment || comes_again) && !lost_i;
      qp_status_o.fault_status = status_i;
      qp_status_o.fault_detail = '0;
      qp_status_o.exact = qp_i.status.rnr;
      qp_status_o.answer_lost = loses_answer;
    end
    if (silent_i) begin
      qp_status_o.fault = 1'b1;
      qp_status_o.fault_status = CQE_STATUS_RETRY_EXC_ERR;
      qp_status_o.exact = 1'b0;
    end
  end

endmodule
