// SPDX-License-Identifier: BSD-2-Clause
// Retransmission time-outs: one clock for each node, of which one a cycle is looked at.

module tx_timer
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic [31:0]         cfg_rto_cycles_i,
  input  logic                restart_valid_i,
  input  node_t               restart_node_i,

  input  logic [MAX_NODE-1:0] outstanding_i,  // nodes whose clock runs,
  input  logic [MAX_NODE-1:0] resending_i,    // unless they are being resent to
  output logic                expired_o,      // holds until that clock is restarted or stopped
  output node_t               expired_node_o
);

  logic [31:0] since [MAX_NODE];
  logic [31:0] now_q;
  node_t scan_q;

  assign expired_node_o = scan_q;
  assign expired_o = outstanding_i[scan_q] && !resending_i[scan_q] &&
                     now_q - since[scan_q] >= cfg_rto_cycles_i;

  always_ff @(posedge clk_i) begin
    if (restart_valid_i) since[restart_node_i] <= now_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      now_q  <= '0;
      scan_q <= '0;
    end else begin
      now_q <= now_q + 1;
      if (!expired_o) scan_q <= scan_q + 1;
    end
  end

endmodule
