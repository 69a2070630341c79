// SPDX-License-Identifier: BSD-2-Clause
// A segment is refused: efe_rx puts that in force, and efe_tx tells its sender. If another refusal of
// that node is in force the segment is put off, and comes again. So nobody waits here for what only a
// peer can give.

module refusal
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    input  logic quiesce_i,  // nothing is refused

    // The segment; it and the code are constant until done_o.
    input  logic       start_i,
    /* verilator lint_off UNUSEDSIGNAL */  // what to quote and whom to tell
    input  rx_desc_t   desc_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  term_code_e code_i,
    input  logic       rnr_i,       // it may come again,
    input  logic [4:0] rnr_code_i,  // behind that pause
    output logic       waiting_o,   // for writes, or until the core goes on
    output logic       done_o,      // pulse: it is refused,
    output logic       put_off_o,   // or, with done_o, put off

    input  logic     write_idle_i,
    output logic     refuse_valid_o,
    input  logic     refuse_ready_i,
    input  logic     refuse_put_off_i,
    output refusal_t refusal_o
);

  typedef enum logic [1:0] { StIdle, StWrites, StRefuse } state_e;
  state_e state_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (start_i) state_q <= StWrites;
        // All before it must be placed: what is forgotten begins with this segment.
        StWrites: if (write_idle_i) state_q <= StRefuse;
        default: if (done_o) state_q <= StIdle;
      endcase
    end
  end

  assign waiting_o      = state_q != StIdle;
  assign refuse_valid_o = state_q == StRefuse && !quiesce_i;
  assign done_o         = refuse_valid_o && refuse_ready_i;
  assign put_off_o      = done_o && refuse_put_off_i;

  always_comb begin
    refusal_o = '0;
    if (refuse_valid_o) begin
      refusal_o = '{
          node: desc_i.node,
          seq: desc_i.seq,
          dst_qpn: desc_i.src_qpn,
          src_qpn: desc_i.dst_qpn,
          src_generation: desc_i.dst_generation,
          dst_generation: desc_i.src_generation,
          code: code_i,
          rnr: rnr_i,
          pause: rnr_code_i,
          length: desc_i.length,
          quote: desc_i.ddp[$bits(ddp_head_t)-1-:$bits(quote_t)]
      };
    end
  end

endmodule
