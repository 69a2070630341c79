// SPDX-License-Identifier: BSD-2-Clause
// Segments that came before one that is missing: for each peer a window of bits from the first
// missing number on, and their slots. When the missing one has come, those behind it follow it, one
// a cycle, in cycles without a frame. A new session drops what the old one had here, and so does a
// peer whose segments are forgotten.
`include "exrnic_assert.svh"

module rx_held
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_rx_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,

  // A frame of node_i, in this cycle; next_i is the number expected of it.
  input  node_t        node_i,
  /* verilator lint_off UNUSEDSIGNAL */  // places go by the low bits of a number
  input  logic [31:0]  next_i,
  input  logic [31:0]  old_next_i,     // the same before a new session
  input  logic [31:0]  ahead_i,        // how far its own number is ahead of next_i
  output logic         known_o,        // it is here already
  output logic         fits_o,         // it may be held
  output logic         can_drop_o,     // a new session may begin
  input  logic         hold_i,         // into this slot
  input  rx_slot_t     slot_i,
  input  logic         accept_i,       // it is the next one
  input  logic         adopt_i,        // its session is new

  // What is held of that node is dropped, in a cycle without a frame.
  input  logic         rewind_i,
  input  node_t        rewind_node_i,
  input  logic [31:0]  rewind_next_i,  // number expected of it so far
  output logic         can_rewind_o,

  // Those that have become next ones.
  input  logic         frame_i,        // a frame is handled: not now
  output node_t        follow_node_o,
  output logic         follow_o,
  output rx_slot_t     follow_slot_o,
  input  logic [31:0]  follow_next_i,  // number expected of that node
  /* verilator lint_on UNUSEDSIGNAL */

  output logic         drop_o,         // this slot is free
  output rx_slot_t     drop_slot_o,
  input  logic         drop_ready_i,

  input  node_t        query_node_i,
  output logic         query_held_o,   // some are held, and the first number is missing
  output logic [31:0]  query_bits_o,   // those behind it

  input  logic         init_i,
  input  node_t        init_node_i,
  output logic         idle_o
);

  typedef logic [$clog2(RxWindow)-1:0] index_t;
  typedef logic [RxWindow-1:0] window_t;

  rx_slot_t slots [MAX_NODE*RxWindow];

  window_t old_bits, bits, bits_new, follow_bits, rewind_bits;
  logic near, drop_busy;
  window_t drop_q;
  node_t drop_node_q;
  index_t drop_index_q;

  // ---- What is held of each peer. Bit 0: the number expected. One event in a cycle changes it.

  window_t held [4];  // of node_i, rewind_node_i, follow_node_o, query_node_i
  node_t held_node;
  window_t held_new;
  always_comb begin
    {held_node, held_new} = {follow_node_o, follow_bits >> 1};
    if (rewind_i) {held_node, held_new} = {rewind_node_i, window_t'(0)};
    if (frame_i) {held_node, held_new} = {node_i, bits_new};
    if (init_i) {held_node, held_new} = {init_node_i, window_t'(0)};
  end
  lut_ram_nr1w #(
    .WIDTH(RxWindow),
    .DEPTH(MAX_NODE),
    .READERS(4)
  ) u_held (
    .clk_i,
    .write_i        (init_i || frame_i || rewind_i || follow_o),
    .write_address_i(held_node),
    .write_data_i   (held_new),
    .read_address_i ('{node_i, rewind_node_i, follow_node_o, query_node_i}),
    .read_data_o    (held)
  );
  assign old_bits     = held[0];
  assign rewind_bits  = held[1];
  assign follow_bits  = held[2];
  assign query_held_o = held[3] != '0 && !held[3][0];
  assign query_bits_o = 32'(held[3] >> 1);

  // ---- A frame

  assign bits       = adopt_i ? '0 : old_bits;
  assign near       = ahead_i < 32'(RxWindow);
  assign known_o    = near && bits[index_t'(ahead_i)];
  // The places of what is being dropped are not free yet.
  assign fits_o     = near && !(drop_busy && drop_node_q == node_i) && !(adopt_i && old_bits != '0);
  assign can_drop_o = old_bits == '0 || !drop_busy;
  assign can_rewind_o = rewind_bits == '0 || !drop_busy;

  always_comb begin
    bits_new = bits;
    if (hold_i) bits_new[index_t'(ahead_i)] = 1'b1;
    if (accept_i) bits_new = bits >> 1;
  end

  // ---- What follows

  logic follow_valid, follow_step;
  /* verilator lint_off UNUSEDSIGNAL */
  logic follow_alone;
  logic [MAX_NODE-1:0] follow_pending;
  /* verilator lint_on UNUSEDSIGNAL */
  logic follow_empty;

  assign follow_step   = follow_valid && !frame_i && !rewind_i;
  assign follow_o      = follow_step && follow_bits[0];
  assign follow_slot_o = slots[{follow_node_o, index_t'(follow_next_i)}];

  node_queue u_follow (
    .clk_i,
    .rst_ni,
    .set_valid_i  (accept_i && bits_new[0]),
    .set_node_i   (node_i),
    .clear_valid_i(follow_step && !follow_bits[0]),
    .clear_node_i (follow_node_o),
    .rotate_i     (1'b0),
    .head_valid_o (follow_valid),
    .head_node_o  (follow_node_o),
    .alone_o      (follow_alone),
    .empty_o      (follow_empty),
    .pending_o    (follow_pending)
  );

  always_ff @(posedge clk_i) begin
    if (hold_i) slots[{node_i, index_t'(next_i + ahead_i)}] <= slot_i;
  end

  // ---- What is dropped

  assign drop_busy   = drop_q != '0;
  assign drop_o      = drop_q[0];
  assign drop_slot_o = slots[{drop_node_q, drop_index_q}];
  assign idle_o      = !drop_busy && follow_empty;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      drop_q <= '0;
    end else if (adopt_i && old_bits != '0) begin
      drop_q       <= old_bits;
      drop_node_q  <= node_i;
      drop_index_q <= index_t'(old_next_i);
    end else if (rewind_i && rewind_bits != '0) begin
      drop_q       <= rewind_bits;
      drop_node_q  <= rewind_node_i;
      drop_index_q <= index_t'(rewind_next_i);
    end else if (drop_busy && (!drop_o || drop_ready_i)) begin
      drop_q       <= drop_q >> 1;
      drop_index_q <= drop_index_q + 1;
    end
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(one_at_a_time, $onehot0({init_i, frame_i, rewind_i, follow_o}))

endmodule
