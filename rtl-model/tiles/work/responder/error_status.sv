// SPDX-License-Identifier: BSD-2-Clause
// The status of a queue pair behind a terminate message, received or sent, or behind the end of its
// peer. Combinational.

module error_status
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input  qp_status_t status_i,
    /* verilator lint_off UNUSEDSIGNAL */  // the code, and where the peer stands
    input  rx_desc_t   desc_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  logic       refused_i,  // we refused the segment, else it is a terminate message
    input  logic       told_i,     // and its sender hears of it
    input  logic       parts_i,    // it is the introduction of a peer of whom requests are under way
    input  logic       unreliable_i,  // the queue pair is of UC: its introduction was refused
    input  reads_t     pull_count_i,
    output logic       rnr_o,      // it asks for a pause, else the queue pair goes to ERROR
    output qp_status_t status_o
);

  // Of a question the peer would say that it was for an earlier life.
  logic [15:0] code;
  always_comb begin
    code = desc_i.length >= 16'(DDP_UNTAGGED_BYTES + 2) ? desc_i.ddp[PayloadTop-:16] : '0;
    if (parts_i) code = TERM_CODE_STREAM;
  end

  // Errors of the remote protection and tagged buffer kinds are access errors to the verbs user.
  logic access_error;
  assign access_error = code[15:8] == TERM_CODE_RDMAP_STAG[15:8] ||
      code inside {TERM_CODE_TAGGED_STAG, TERM_CODE_TAGGED_BOUNDS, TERM_CODE_TAGGED_STREAM,
                   TERM_CODE_TAGGED_WRAP};

  // With PULLs under way no message can have been.
  assign rnr_o = !refused_i && !unreliable_i && desc_i.rnr && code == TERM_CODE_UNTAGGED_NO_BUFFER &&
      qp_sends(status_i.state) && pull_count_i == '0;

  // In ERROR a discarded segment will be acknowledged: a peer that has not been told takes it for
  // placed. One that has been told knows that nothing from the refused segment on was.
  always_comb begin
    status_o = status_i;
    if (unreliable_i) begin
      status_o.alone = 1'b1;
    end else if (rnr_o) begin
      status_o.rnr = 1'b1;
      status_o.exact = 1'b1;
      status_o.fault_seq = desc_i.ack;
    end else if (status_i.state != QP_STATE_ERROR) begin
      status_o = '0;
      status_o.state = QP_STATE_ERROR;
      status_o.rnr = status_i.rnr;
      status_o.exact = status_i.rnr;
      status_o.fault_seq = status_i.fault_seq;
      if (!refused_i) begin  // names the error of our oldest work request
        status_o.fault        = 1'b1;
        status_o.fault_status =
            access_error ? CQE_STATUS_REM_ACCESS_ERR : CQE_STATUS_REM_OP_ERR;
        status_o.fault_detail = code;
        if (!parts_i) status_o.exact = 1'b1;
        if (!parts_i && !status_i.rnr) status_o.fault_seq = desc_i.ack;
      end
    end
    if (told_i) status_o.told = 1'b1;
  end

endmodule
