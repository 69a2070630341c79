// SPDX-License-Identifier: BSD-2-Clause
// Descriptors of the kept segments, and their orders: of those in sequence, and of those that are
// sent once, which have a queue and a share of the buffer of their own. Behind them those being
// placed, in the order in which they were handed out.

module rx_frames
  import exrnic_core_pkg::*;
  import efe_rx_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        store_i,         // kept, whether in sequence or not
  input  rx_slot_t    store_slot_i,
  input  rx_desc_t    store_desc_i,
  input  placing_t    store_placing_i,

  input  logic        put_i,           // the next one of its sender,
  input  logic        put_once_i,      // or one that is sent once
  input  rx_slot_t    put_slot_i,
  output logic        once_room_o,     // for another one of these

  output logic        desc_valid_o,
  input  logic        desc_ready_i,
  output rx_desc_t    desc_o,
  output placing_t    desc_placing_o,
  output placing_t    taken_placing_o,  // of the one that was handed out last
  output logic        once_valid_o,
  input  logic        once_ready_i,    // not in a cycle of desc_ready_i
  output rx_desc_t    once_o,

  input  logic        done_i,          // the oldest one is placed
  output rx_slot_t    done_slot_o,
  output placing_t    done_o,

  output logic        empty_o
);

  localparam int unsigned IndexBits = $clog2(RX_SLOTS);
  localparam int unsigned OnceBits = $clog2(RxSlotsOnce);

  typedef logic [OnceBits:0] once_slots_t;  // a number of them

  rx_desc_t descs [RX_SLOTS];
  placing_t placings [RX_SLOTS];
  rx_slot_t order [RX_SLOTS];
  rx_slot_t once [RxSlotsOnce];
  rx_slot_t placing [RX_SLOTS];
  rx_slots_t put_q, get_q, placing_q, done_q;
  once_slots_t once_put_q, once_get_q, once_done_q;

  rx_slot_t next, once_next;
  assign next         = order[get_q[IndexBits-1:0]];
  assign once_next    = once[once_get_q[OnceBits-1:0]];
  assign desc_valid_o = put_q != get_q;
  assign desc_o       = descs[next];
  assign once_valid_o = once_put_q != once_get_q;
  assign once_o       = once_valid_o ? descs[once_next] : '0;
  assign once_room_o  = once_put_q - once_done_q != once_slots_t'(RxSlotsOnce);
  assign empty_o      = !desc_valid_o && !once_valid_o && placing_q == done_q;
  assign done_slot_o  = placing[done_q[IndexBits-1:0]];

  assign done_o         = placings[done_slot_o];
  assign desc_placing_o = placings[next];

  logic taken, once_taken;
  assign taken      = desc_valid_o && desc_ready_i;
  assign once_taken = once_valid_o && once_ready_i;

  always_ff @(posedge clk_i) begin
    if (store_i) begin
      descs[store_slot_i]    <= store_desc_i;
      placings[store_slot_i] <= store_placing_i;
    end
    if (taken) taken_placing_o <= desc_placing_o;
    if (put_i) order[put_q[IndexBits-1:0]] <= put_slot_i;
    if (put_once_i) once[once_put_q[OnceBits-1:0]] <= put_slot_i;
    if (taken || once_taken) placing[placing_q[IndexBits-1:0]] <= taken ? next : once_next;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {put_q, get_q, placing_q, done_q} <= '0;
      {once_put_q, once_get_q, once_done_q} <= '0;
    end else begin
      if (put_i) put_q <= put_q + 1;
      if (put_once_i) once_put_q <= once_put_q + 1;
      if (taken) get_q <= get_q + 1;
      if (once_taken) once_get_q <= once_get_q + 1;
      if (taken || once_taken) placing_q <= placing_q + 1;
      if (done_i) done_q <= done_q + 1;
      if (done_i && done_o.session == '0) once_done_q <= once_done_q + 1;
    end
  end

endmodule
