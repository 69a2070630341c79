// SPDX-License-Identifier: BSD-2-Clause
// Frames that wait for the host. The line and the agent write theirs each into a slot of its own, which is
// kept when the frame is whole. The line is never held back.

`include "exrnic_assert.svh"

module management_waiting
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import management_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input logic  line_valid_i,  // has the writing port
    input logic  line_write_i,
    input beat_t line_beat_i,
    input data_t line_data_i,
    input logic  line_keep_i,   // pulse, with the last beat

    input  logic  own_valid_i,
    output logic  own_ready_o,
    input  beat_t own_beat_i,
    input  data_t own_data_i,
    input  logic  own_keep_i,   // with the last beat

    output logic lost_o,  // pulse: a frame that was to be kept has no room

    output logic        waiting_o,
    input  logic        taken_i,
    input  logic        read_i,
    input  beat_t       read_beat_i,
    output data_t       read_data_o  // in the next cycle
);

  localparam int unsigned Slots = MANAGEMENT_WAITING + 2;
  typedef logic [$clog2(Slots)-1:0] slot_t;
  typedef logic [$clog2(MANAGEMENT_WAITING)-1:0] index_t;
  typedef logic [$clog2(MANAGEMENT_WAITING):0] count_t;

  slot_t line_slot_q, own_slot_q, slot, next;
  slot_t order_q[MANAGEMENT_WAITING];
  logic [Slots-1:0] free_q;
  index_t first_q, last_q;  // last_q: behind it
  count_t count_q;
  logic asks, keeps, takes;

  assign own_ready_o = !line_valid_i;
  assign asks = line_valid_i ? line_keep_i : own_valid_i && own_keep_i;
  assign keeps = asks && count_q != count_t'(MANAGEMENT_WAITING);
  assign lost_o = asks && !keeps;
  assign slot = line_valid_i ? line_slot_q : own_slot_q;
  assign waiting_o = count_q != '0;
  assign takes = taken_i && waiting_o;

  always_comb begin
    next = '0;
    for (int unsigned s = 0; s < Slots; s++) if (free_q[s]) next = slot_t'(s);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      line_slot_q <= '0;
      own_slot_q <= slot_t'(1);
      free_q <= {{MANAGEMENT_WAITING{1'b1}}, 2'b00};
      {first_q, last_q, count_q} <= '0;
    end else begin
      if (keeps) begin
        last_q <= last_q + 1'b1;
        free_q[next] <= 1'b0;
        if (line_valid_i) line_slot_q <= next;
        else own_slot_q <= next;
      end
      if (takes) begin
        first_q <= first_q + 1'b1;
        free_q[order_q[first_q]] <= 1'b1;
      end
      count_q <= count_q + count_t'(keeps) - count_t'(takes);
    end
  end
  always_ff @(posedge clk_i) if (keeps) order_q[last_q] <= slot;

  ram_1r1w #(
      .WIDTH(DATA_W),
      .DEPTH(Slots * BEATS)
  ) u_frames (
      .clk_i,
      .write_i(line_valid_i ? line_write_i : own_valid_i),
      .write_address_i({slot, line_valid_i ? line_beat_i : own_beat_i}),
      .write_data_i(line_valid_i ? line_data_i : own_data_i),
      .read_i,
      .read_address_i({order_q[first_q], read_beat_i}),
      .read_data_o
  );

  // ---- What is promised
  `EXRNIC_ALWAYS(has_a_slot, !keeps || free_q != '0)

endmodule
