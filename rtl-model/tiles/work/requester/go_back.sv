// SPDX-License-Identifier: BSD-2-Clause
// A message of a queue pair found no receive, and all that was under way has ended: its send queue
// goes back to the work request of that message, which is sent again or fails. Or it has withdrawn what
// was under way: its send queue goes back to the first of that, to flush it. Combinational.

module go_back
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record
    input  qp_t        qp_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output qp_sq_t     sq_o,
    output qp_status_t status_o
);

  logic endless, exhausted;
  logic [2:0] count;  // how often this message has been sent again
  assign endless = qp_i.cfg.rnr_retry == 3'(RNR_RETRY_ENDLESS);
  assign count = qp_i.sq.rnr_msn == qp_i.ended.msn ? qp_i.sq.rnr_count : '0;
  assign exhausted = !endless && count >= qp_i.cfg.rnr_retry;

  always_comb begin
    sq_o = qp_i.sq;
    sq_o.withdrawn = qp_i.ended.withdrawn;
    sq_o.issued    = qp_i.ended.count;
    // PULLs are flushed by themselves, and nothing is under way beside them.
    if (qp_i.sq.issued != qp_i.ended.count || !qp_i.ended.withdrawn) sq_o.consumer = qp_i.ended.slots;
    sq_o.send_msn  = qp_i.ended.msn;
    sq_o.progress  = '0;
    sq_o.halted    = 1'b0;
    sq_o.probe_due = 1'b1;
    sq_o.probe_out = 1'b0;
    sq_o.credit_wait = 1'b0;
    sq_o.rnr_msn   = qp_i.ended.msn;
    sq_o.rnr_count = endless || exhausted ? count : count + 3'd1;
  end

  always_comb begin
    status_o = qp_i.status;
    status_o.rnr   = 1'b0;
    status_o.exact = 1'b0;
    if (qp_i.status.state != QP_STATE_ERROR && exhausted) begin
      status_o.state        = QP_STATE_ERROR;
      status_o.fault        = 1'b1;
      status_o.fault_status = CQE_STATUS_RNR_RETRY_EXC_ERR;
      status_o.fault_detail = TERM_CODE_UNTAGGED_NO_BUFFER;
      status_o.told         = 1'b0;
      status_o.answer_lost  = 1'b0;
    end
  end

endmodule
