// SPDX-License-Identifier: BSD-2-Clause
// What is known of each slot under way, and whether it counts as lost: when a frame that left later
// has arrived, and it is old enough that reordering cannot be the reason. Time-outs are for the
// rest.

`include "exrnic_assert.svh"

module tx_flight
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [31:0] now_i,
  input  logic        begin_i,     // an event may begin

  // All of this is about slot_i, a slot of peer_i.
  input  slot_t       slot_i,
  input  logic        dead_i,
  input  logic        sent_i,
  input  logic        again_i,     // with sent_i: not for the first time
  output flight_t     flight_o,

  // What ack_i tells of the frame of this number.
  /* verilator lint_off UNUSEDSIGNAL */  // what of both is needed here
  input  rx_ack_t     ack_i,
  input  peer_t       peer_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic        told_i,
  input  logic [31:0] seq_i,
  output logic        arrived_o,   // that it has arrived,
  output logic        beyond_o,    // or nothing, and nothing of those behind it

  // Whether it counts as lost from now on.
  input  logic        judge_i,
  input  logic        retry_i,     // in a time-out
  input  logic [31:0] patience_i,
  output logic        strikes_o,   // it is the one that the time-out is for
  output logic        suspect_o,   // others overtook it
  output logic        lost_o       // it does
);

  logic [TX_SLOTS-1:0] again_q, arrived_q, lost_q;
  logic [31:0] sent_at, age, behind;
  logic again, arrived, lost, older, trusted, struck_q, forget;

  assign age      = now_i - sent_at;
  assign again    = again_q[slot_i];
  assign arrived  = arrived_q[slot_i];
  assign lost     = lost_q[slot_i];
  assign older    = signed'(sent_at - peer_i.newest) < 0;
  // A copy that has an answer too soon is not what is answered.
  assign trusted  = !again || age >= {13'd0, peer_i.rtt.mean[19:1]};
  assign flight_o = '{
    sent_at: sent_at, age: age, again: again, arrived: arrived, lost: lost, older: older,
    newest: trusted && signed'(peer_i.newest - sent_at) < 0
  };

  assign behind    = seq_i - ack_i.missing;
  assign arrived_o = told_i && !dead_i &&
                     (behind[31] || (behind - 1 < 32'd32 && ack_i.arrived[5'(behind - 1)]));
  assign beyond_o  = !behind[31] && behind > 32'd32;

  assign suspect_o = judge_i && !retry_i && !dead_i && !arrived && !lost && older;
  // A time-out is for the first frame that is not acknowledged. If the peer told that it has
  // arrived it may have forgotten that, and all else that it told.
  assign strikes_o = judge_i && retry_i && !dead_i && !struck_q;
  assign forget    = judge_i && retry_i && arrived && (strikes_o || struck_q);
  assign lost_o    = strikes_o || (suspect_o && age >= patience_i);

  lut_ram_nr1w #(
    .WIDTH(32),
    .DEPTH(TX_SLOTS)
  ) u_sent_at (
    .clk_i,
    .write_i        (sent_i),
    .write_address_i(slot_i),
    .write_data_i   (now_i),
    .read_address_i ('{slot_i}),
    .read_data_o    ('{sent_at})
  );

  always_ff @(posedge clk_i) begin
    if (begin_i) struck_q <= 1'b0;
    else if (strikes_o) struck_q <= 1'b1;
  end

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
      if (arrived_o) arrived_q[slot_i] <= 1'b1;
      if (forget) arrived_q[slot_i] <= 1'b0;
      if (lost_o) lost_q[slot_i] <= 1'b1;
    end
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(one_thing_at_a_time, $onehot0({sent_i, told_i, judge_i}))

endmodule
