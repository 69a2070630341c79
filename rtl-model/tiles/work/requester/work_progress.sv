// SPDX-License-Identifier: BSD-2-Clause
// Where a queue pair's own work stands when the slot in hand is submitted. Combinational.

module work_progress
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input qp_sq_t      sq_i,
    /* verilator lint_off UNUSEDSIGNAL */  // some properties count
    input wqe_opcode_properties_t op_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input slots_t      slots_i,
    input logic        sent_i,       // it is a segment, or ends a LOCAL_INVALIDATE; else it failed
    input logic        immediate_i,  // it is the Immediate Data message of a PUSH_IMM
    input logic        ends_i,       // it is the last one of the work request
    input logic [31:0] offset_i,     // bytes before it,
    input logic [31:0] next_i,       // and with it
    input logic        beyond_i,     // its message is one more than the peer has told of receives

    output logic [31:0] msn_o,        // of its message
    output logic        completes_o,  // its end is that of the work request
    output logic        probe_o,      // it asks for a receive, and what is behind it waits
    output logic        begs_o,       // and wants to know how many there are
    output qp_sq_t      sq_o
);

  logic new_send;
  assign new_send = immediate_i || (op_i.send && offset_i == '0);

  always_comb begin
    if (op_i.pull) msn_o = sq_i.read_msn + 1'b1;
    else msn_o = sq_i.send_msn + 32'(new_send);
  end

  logic asks;  // for a receive, behind a pause
  assign begs_o = sq_i.credit_wait && beyond_i && new_send && sent_i;
  assign asks = (sq_i.probe_due && new_send && sent_i) || begs_o;
  assign probe_o = asks && !ends_i;

  logic has_frame;
  assign has_frame = sent_i && !op_i.stays;

  // A PULL ends with its response.
  assign completes_o = ends_i && !(op_i.pull && sent_i);

  always_comb begin
    sq_o = sq_i;
    sq_o.pulled = op_i.pull;
    if (op_i.pull) sq_o.pull_reads = !op_i.atomic;
    if (has_frame) sq_o.frames = sq_i.frames + 1'b1;
    if (sent_i && op_i.pull) sq_o.read_msn = msn_o;
    else if (sent_i) sq_o.send_msn = msn_o;
    if (ends_i) begin
      sq_o.consumer = sq_i.consumer + wqe_index_t'(slots_i);
      sq_o.progress = '0;
      sq_o.halted   = !sent_i;
      sq_o.needs_peer = 1'b0;
    end else if (!op_i.pull) begin
      sq_o.progress = next_i;
    end
    if (completes_o || probe_o) sq_o.issued = sq_i.issued + 1'b1;
    sq_o.probe_out = asks;
    if (asks) sq_o.probe_due = 1'b0;
    if (new_send && sent_i) sq_o.credit_wait = 1'b0;
  end

endmodule
