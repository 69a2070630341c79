// SPDX-License-Identifier: BSD-2-Clause
// What is known of each slot under way: when it left last, whether it left before, whether it has
// arrived without being acknowledged yet, whether it counts as lost and waits to be sent again.

module tx_flight
  import exrnic_core_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [31:0] now_i,

  // All of this is about slot_i.
  input  slot_t       slot_i,
  input  logic        sent_i,
  input  logic        again_i,     // with sent_i: not for the first time
  input  logic        arrived_i,
  input  logic        lost_i,
  input  logic        forget_i,    // that it has arrived: the peer may have forgotten, too
  output logic [31:0] sent_at_o,
  output logic [31:0] age_o,       // cycles since
  output logic        again_o,
  output logic        arrived_o,
  output logic        lost_o
);

  logic [TX_SLOTS-1:0] again_q, arrived_q, lost_q;

  assign age_o     = now_i - sent_at_o;
  assign again_o   = again_q[slot_i];
  assign arrived_o = arrived_q[slot_i];
  assign lost_o    = lost_q[slot_i];

  lut_ram_nr1w #(
    .WIDTH(32),
    .DEPTH(TX_SLOTS)
  ) u_sent_at (
    .clk_i,
    .write_i        (sent_i),
    .write_address_i(slot_i),
    .write_data_i   (now_i),
    .read_address_i ('{slot_i}),
    .read_data_o    ('{sent_at_o})
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      again_q   <= '0;
      arrived_q <= '0;
      lost_q    <= '0;
    end else if (sent_i) begin
      again_q[slot_i]   <= again_i;
      arrived_q[slot_i] <= 1'b0;
      lost_q[slot_i]    <= 1'b0;
    end else begin
      if (arrived_i) arrived_q[slot_i] <= 1'b1;
      if (forget_i) arrived_q[slot_i] <= 1'b0;
      if (lost_i) lost_q[slot_i] <= 1'b1;
    end
  end

endmodule
