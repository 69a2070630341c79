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
  output node_t        follow_node_o,  // who has one in the next cycle, if anybody
  input  logic [31:0]  follow_next_i,  // number expected of it then
  output logic         follow_o,       // the one that was said in the last cycle
  output rx_slot_t     follow_slot_o,
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

  window_t old_bits, bits, bits_new, follow_bits, rewind_bits;
  logic near, drop_busy;
  window_t drop, drop_q;  // of that node from that index on; first in the next cycle
  node_t drop_node, drop_node_q;
  index_t drop_index, drop_index_q;
  node_t follow_head;

  // ---- What is held of each peer. Bit 0: the number expected. One event in a cycle changes it.

  window_t held [4];  // of node_i, rewind_node_i, follow_head, query_node_i
  node_t held_node;
  window_t held_new;
  always_comb begin
    {held_node, held_new} = {follow_head, follow_bits >> 1};
    if (rewind_i) {held_node, held_new} = {rewind_node_i, window_t'(0)};
    if (frame_i) {held_node, held_new} = {node_i, bits_new};
    if (init_i) {held_node, held_new} = {init_node_i, window_t'(0)};
  end
  lut_ram_nr1w #(
    .WIDTH(RxWindow),
    .DEPTH(N_NODE),
    .READERS(4)
  ) u_held (
    .clk_i,
    .write_i        (init_i || frame_i || rewind_i || follow_o),
    .write_address_i(held_node),
    .write_data_i   (held_new),
    .read_address_i ('{node_i, rewind_node_i, follow_head, query_node_i}),
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

  logic follow_set, follow_valid, follow_step, follow_empty;
  assign follow_set    = accept_i && bits_new[0];
  assign follow_step   = follow_valid && !frame_i && !rewind_i;
  assign follow_o      = follow_step && follow_bits[0];

  rx_node_queue u_follow (
    .clk_i,
    .rst_ni,
    .set_valid_i (follow_set),
    .set_node_i  (node_i),
    .done_i      (follow_step && !follow_bits[0]),
    .head_valid_o(follow_valid),
    .head_node_o (follow_head),
    .next_node_o (follow_node_o),
    .empty_o     (follow_empty)
  );

  // ---- What is dropped

  logic drop_old, drop_rewound, drop_step;
  assign drop_busy    = drop_q != '0;
  assign drop_o       = drop_q[0];
  assign drop_old     = adopt_i && old_bits != '0;
  assign drop_rewound = rewind_i && rewind_bits != '0;
  assign drop_step    = drop_busy && (!drop_o || drop_ready_i);
  assign idle_o       = !drop_busy && follow_empty;

  always_comb begin
    drop       = drop_q >> drop_step;
    drop_node  = drop_node_q;
    drop_index = drop_index_q + index_t'(drop_step);
    if (drop_old) begin
      drop       = old_bits;
      drop_node  = node_i;
      drop_index = index_t'(old_next_i);
    end else if (drop_rewound) begin
      drop       = rewind_bits;
      drop_node  = rewind_node_i;
      drop_index = index_t'(rewind_next_i);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) drop_q <= '0;
    else drop_q <= drop;
  end
  always_ff @(posedge clk_i) begin
    if (drop != '0) {drop_node_q, drop_index_q} <= {drop_node, drop_index};
  end

  // ---- Slots of what is held, read for the next cycle. What is written now is not what is read: the
  // number expected does not become held, nor does anything of a node that is dropped.

  rx_slot_t slots [2];
  assign follow_slot_o = slots[0];
  assign drop_slot_o   = slots[1];
  ram_nr1w #(
    .WIDTH($bits(rx_slot_t)),
    .DEPTH(N_NODE * RxWindow)
  ) u_slots (
    .clk_i,
    .write_i        (hold_i),
    .write_address_i({node_i, index_t'(next_i + ahead_i)}),
    .write_data_i   (slot_i),
    .read_i         ({drop[0], follow_set || !follow_empty}),
    .read_address_i ('{{follow_node_o, index_t'(follow_next_i)}, {drop_node, drop_index}}),
    .read_data_o    (slots)
  );

  // ---- What is promised
  `EXRNIC_ALWAYS(one_at_a_time, $onehot0({init_i, frame_i, rewind_i, follow_o}))
  `EXRNIC_ALWAYS(drops_one_node, !drop_busy || !(drop_old || drop_rewound))
  `EXRNIC_ALWAYS(dropped_is_not_held, !hold_i || !(drop != '0 && drop_node == node_i))

endmodule
