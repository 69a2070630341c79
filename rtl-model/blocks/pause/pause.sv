// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs whose message found no receive: until when each sends nothing of its own, and the
// wake-up behind that.

module pause
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_QP = MAX_QP
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,  // nobody pauses

    /* verilator lint_off UNUSEDSIGNAL */
    input logic [63:0] time_i,  // ns; no pause is so long that the low bits do not tell
    /* verilator lint_on UNUSEDSIGNAL */

    input logic       start_i,
    input qpn_t       start_qpn_i,
    input logic [4:0] start_code_i,  // see RNR_TIMER_MAX

    // Not any more: configured anew, or in ERROR.
    input logic [3:0] clear_i,
    input qpn_t       clear_qpn_i[4],

    input  qpn_t look_qpn_i,
    output logic pauses_o,  // combinational

    output logic wake_valid_o,
    input  logic wake_ready_i,
    output qpn_t wake_qpn_o
);

  // More than twice the longest pause, in ns.
  localparam int unsigned TimeBits = 32;
  typedef logic [TimeBits-1:0] ns_t;

  logic [N_QP-1:0] pauses_q;
  ns_t until_q[N_QP];

  // ---- How long
  logic [4:0] shift;
  ns_t units;
  assign shift = start_code_i == '0 ? 5'd16 : {1'b0, start_code_i[4:1]};
  always_comb begin
    if (start_code_i > 5'd1 && start_code_i[0]) units = ns_t'(3) << (shift - 5'd1);
    else units = ns_t'(1) << shift;
  end

  // ---- One is looked at in a cycle
  qpn_t scan_q;
  ns_t over_by;
  assign over_by = time_i[TimeBits-1:0] - until_q[scan_q];
  assign wake_valid_o = pauses_q[scan_q] && !over_by[TimeBits-1];
  assign wake_qpn_o = scan_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pauses_q <= '0;
      scan_q   <= '0;
    end else begin
      if (!wake_valid_o || wake_ready_i) scan_q <= idle_o ? '0 : scan_q + 1'b1;
      if (wake_valid_o && wake_ready_i) pauses_q[scan_q] <= 1'b0;
      for (int unsigned i = 0; i < 4; i++) if (clear_i[i]) pauses_q[clear_qpn_i[i]] <= 1'b0;
      if (start_i) pauses_q[start_qpn_i] <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) until_q[start_qpn_i] <= time_i[TimeBits-1:0] + units * ns_t'(RNR_UNIT_NS);
  end

  assign idle_o   = pauses_q == '0;
  assign pauses_o = pauses_q[look_qpn_i];

endmodule
