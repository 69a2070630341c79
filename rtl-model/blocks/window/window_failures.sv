// SPDX-License-Identifier: BSD-2-Clause
// Stores and loads that were not acknowledged, or never sent: their queue pairs fail. It is for the
// completer to say so, which may wait for host memory; so each window has a place to wait in.

module window_failures
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_WINDOW = MAX_WINDOWS
) (
    input logic clk_i,
    input logic rst_ni,

    input logic    failed_valid_i,
    /* verilator lint_off UNUSEDSIGNAL */  // whose it was
    input tx_tag_t failed_i,  // its wqe_index is that of the window
    /* verilator lint_on UNUSEDSIGNAL */

    output logic     done_valid_o,  // until it is taken
    input  logic     done_ready_i,
    output tx_done_t done_o
);

  typedef logic [$clog2(N_WINDOW)-1:0] place_t;
  typedef struct packed {
    qpn_t        qpn;
    generation_t generation;
  } whose_t;

  logic [N_WINDOW-1:0] waiting_q;
  whose_t whose_q[N_WINDOW];
  place_t place, next;
  assign place = place_t'(failed_i.wqe_index);

  always_comb begin
    next = '0;
    if (waiting_q != '0)
      for (int unsigned i = 0; i < N_WINDOW; i++) if (waiting_q[i]) next = place_t'(i);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waiting_q <= '0;
    end else begin
      if (done_valid_o && done_ready_i) waiting_q[next] <= 1'b0;
      if (failed_valid_i) waiting_q[place] <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (failed_valid_i) whose_q[place] <= '{qpn: failed_i.qpn, generation: failed_i.generation};
  end

  assign done_valid_o = waiting_q != '0;
  always_comb begin
    done_o = '0;
    if (done_valid_o) begin
      done_o.tag.kind = TX_KIND_SEGMENT;
      done_o.tag.qpn = whose_q[next].qpn;
      done_o.tag.generation = whose_q[next].generation;
      done_o.tag.opcode = WQE_OPCODE_PUSH;
      done_o.status = CQE_STATUS_RETRY_EXC_ERR;
    end
  end

endmodule
