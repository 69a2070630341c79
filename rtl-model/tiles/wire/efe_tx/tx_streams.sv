// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs of which a segment is lost for good: given up, dropped, or without its payload. Nothing
// that is behind it leaves, or the peer would place it behind a gap. For who fails for it the completer
// is to say so, and until it does work goes on coming.

module tx_streams
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
  parameter int unsigned N_QP = MAX_QP
) (
  input  logic    clk_i,
  input  logic    rst_ni,

  input  logic    clear_i,       // this queue pair starts anew
  input  qpn_t    clear_qpn_i,

  /* verilator lint_off UNUSEDSIGNAL */  // whose it is counts
  input  logic    lost_valid_i,  // a segment of this queue pair is lost,
  input  tx_tag_t lost_i,
  input  logic    drop_valid_i,  // or was never submitted
  output logic    drop_ready_o,
  input  tx_tag_t drop_i,

  input  tx_tag_t look_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic    broken_o       // one before it is
);

  typedef logic [$clog2(N_QP)-1:0] place_t;

  logic [N_QP-1:0] broken_q;
  generation_t lives [N_QP];  // of those
  logic breaks;
  place_t place, clear_place, look_place;
  generation_t life;

  assign drop_ready_o = !lost_valid_i;
  assign place        = place_t'(lost_valid_i ? lost_i.qpn : drop_i.qpn);
  assign life         = lost_valid_i ? lost_i.generation : drop_i.generation;
  assign clear_place  = place_t'(clear_qpn_i);
  assign look_place   = place_t'(look_i.qpn);
  // What is left of an earlier life says nothing of a later one. Who has no life has no stream: ports.
  assign breaks       = (lost_valid_i || drop_valid_i) && life != '0 &&
                        (!broken_q[place] || $signed(life - lives[place]) > 0);
  assign broken_o     = broken_q[look_place] && lives[look_place] == look_i.generation;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      broken_q <= '0;
    end else begin
      if (clear_i) broken_q[clear_place] <= 1'b0;
      if (breaks) broken_q[place] <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (breaks) lives[place] <= life;
  end

endmodule
