// SPDX-License-Identifier: BSD-2-Clause
// Tells the sender of a segment that it is refused: a terminate message, and the hold that keeps
// the segment from being acknowledged until that message is.

module refusal
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    input  logic quiesce_i,  // no slot is taken

    // The segment; it and the code are constant until done_o.
    input  logic       start_i,
    /* verilator lint_off UNUSEDSIGNAL */  // what to quote and whom to tell
    input  rx_desc_t   desc_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  term_code_e code_i,
    input  logic       rnr_i,       // it may come again,
    input  logic [4:0] rnr_code_i,  // behind that pause
    output logic       waiting_o,  // for writes or a slot
    output logic       done_o,     // pulse: the message is on its way

    output logic hold_set_o,

    input  logic     write_idle_i,
    input  logic     alloc_valid_i,
    output logic     alloc_ready_o,
    input  slot_t    alloc_slot_i,
    output logic     submit_valid_o,
    input  logic     submit_ready_i,
    output tx_desc_t submit_o
);

  typedef enum logic [1:0] { StIdle, StHold, StAlloc, StTerminate } state_e;
  state_e state_q;
  slot_t slot_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (start_i) state_q <= StHold;
        // All before the refused segment must be placed: then the ack beside its terminate message
        // is not so far behind it that `refused` could mean another one.
        StHold: if (write_idle_i) state_q <= StAlloc;
        StAlloc: if (alloc_valid_i && !quiesce_i) state_q <= StTerminate;
        default: if (submit_ready_i) state_q <= StIdle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == StAlloc) slot_q <= alloc_slot_i;
  end

  assign waiting_o = state_q == StHold || state_q == StAlloc;
  assign done_o = submit_valid_o && submit_ready_i;
  assign hold_set_o = done_o;
  assign alloc_ready_o = state_q == StAlloc && !quiesce_i;
  assign submit_valid_o = state_q == StTerminate;

  logic [143:0] ddp;
  chunk_t length;
  inline_t inline_data;
  terminate_message u_message (
      .valid_i(submit_valid_o),
      .code_i,
      .quote_i(1'b1),
      .quoted_i(desc_i.ddp),
      .segment_length_i(desc_i.length),
      .ddp_o(ddp),
      .length_o(length),
      .inline_data_o(inline_data)
  );
  always_comb begin
    submit_o = '0;
    if (submit_valid_o) begin
      submit_o.slot = slot_q;
      submit_o.node = desc_i.node;
      submit_o.dst_qpn = desc_i.src_qpn;
      submit_o.src_qpn = desc_i.dst_qpn;
      submit_o.dst_generation = desc_i.src_generation;
      submit_o.src_generation = desc_i.dst_generation;
      submit_o.refuses = 1'b1;
      submit_o.refused = 8'(desc_i.seq);
      submit_o.untagged = 1'b1;
      submit_o.ddp = ddp;
      submit_o.length = length;
      submit_o.status = CQE_STATUS_SUCCESS;
      submit_o.rnr = rnr_i;
      submit_o.imm = rnr_i ? 32'(rnr_code_i) : '0;
      submit_o.inlined = 1'b1;
      submit_o.inline_data = inline_data;
      submit_o.tag.kind = TX_KIND_TERMINATE;
    end
  end

endmodule
