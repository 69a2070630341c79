// SPDX-License-Identifier: BSD-2-Clause
// When something is to be done about a node whose frames are not acknowledged: one point in time
// for each node, of which one a cycle is looked at.

module tx_timer
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  output logic [31:0]         now_o,          // cycles
  input  logic                set_valid_i,
  input  node_t               set_node_i,
  input  logic [31:0]         set_deadline_i,

  input  logic [N_NODE-1:0] outstanding_i,  // nodes whose clock runs,
  input  logic [N_NODE-1:0] resending_i,    // unless they are being resent to
  output logic                expired_o,      // holds until that clock is set or stopped
  output node_t               expired_node_o
);

  logic [31:0] now_q;
  logic [31:0] deadline /* verilator public_flat_rw */;  // see systemc/transmit_clocks.h
  node_t scan_q;

  assign now_o          = now_q;
  assign expired_node_o = scan_q;
  assign expired_o      = outstanding_i[scan_q] && !resending_i[scan_q] &&
                          signed'(deadline - now_q) <= 0;

  lut_ram_nr1w #(
    .WIDTH(32),
    .DEPTH(N_NODE)
  ) u_deadlines (
    .clk_i,
    .write_i        (set_valid_i),
    .write_address_i(set_node_i),
    .write_data_i   (set_deadline_i),
    .read_address_i ('{scan_q}),
    .read_data_o    ('{deadline})
  );

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
