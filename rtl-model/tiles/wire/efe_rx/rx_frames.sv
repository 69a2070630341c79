// SPDX-License-Identifier: BSD-2-Clause
// Descriptors of the kept segments, and their orders: of those in sequence, and of those that are
// sent once, which have a queue and a share of the buffer of their own. Behind them those being
// placed, in the order in which they were handed out.
`include "exrnic_assert.svh"

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
  input  logic        put_once_i,      // or one that is sent once, and stored now
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

  logic taken, once_taken, once_done;
  rx_slot_t head_slot_q, once_slot;
  assign taken      = desc_valid_o && desc_ready_i;
  assign once_taken = once_valid_o && once_ready_i;

  // ---- Those in sequence: the order of their slots, and descriptors by slot. That of the head in
  // the next cycle is read in this one; what is stored and is the head at once comes past the memory.
  rx_slot_t order [RX_SLOTS];
  rx_slots_t put_q, get_q, get;
  rx_slot_t next_slot;
  rx_desc_t desc_read, passed_desc_q;
  logic becomes_head, moves, pass, passed_q;
  assign desc_valid_o = put_q != get_q;
  assign get          = get_q + rx_slots_t'(taken);
  assign becomes_head = put_i && put_q == get;
  assign next_slot    = becomes_head ? put_slot_i : order[get[IndexBits-1:0]];
  assign moves        = becomes_head || (taken && put_q != get);
  assign pass         = becomes_head && store_i;
  assign desc_o       = passed_q ? passed_desc_q : desc_read;

  ram_1r1w #(
    .WIDTH($bits(rx_desc_t)),
    .DEPTH(RX_SLOTS)
  ) u_descs (
    .clk_i,
    .write_i        (store_i && !put_once_i),
    .write_address_i(store_slot_i),
    .write_data_i   (store_desc_i),
    .read_i         (moves && !pass),
    .read_address_i (next_slot),
    .read_data_o    (desc_read)
  );

  always_ff @(posedge clk_i) begin
    if (put_i) order[put_q[IndexBits-1:0]] <= put_slot_i;
    if (moves) {head_slot_q, passed_q} <= {next_slot, pass};
    if (pass) passed_desc_q <= store_desc_i;
    if (taken) taken_placing_o <= desc_placing_o;
  end

  // ---- Those that are sent once
  rx_desc_t once_head;
  once_slots_t once_count, once_kept_q;  // not handed out, and those being placed, too
  assign once_valid_o = once_count != '0;
  assign once_o       = once_valid_o ? once_head : '0;
  assign once_slot    = once_o.start[$bits(rx_address_t)-1-:IndexBits];
  assign once_room_o  = once_kept_q != once_slots_t'(RxSlotsOnce);
  assign once_done    = done_i && done_o.session == '0;

  ram_fifo #(
    .WIDTH($bits(rx_desc_t)),
    .DEPTH(RxSlotsOnce)
  ) u_once (
    .clk_i,
    .rst_ni,
    .push_i     (put_once_i),
    .push_data_i(store_desc_i),
    .pop_i      (once_taken),
    .head_o     (once_head),
    .count_o    (once_count)
  );

  // ---- Those being placed, and what is kept of all until then
  rx_slot_t placing [RX_SLOTS];
  rx_slots_t placing_q, done_q;
  placing_t placings [2];  // of the oldest one; of the head
  assign done_slot_o    = placing[done_q[IndexBits-1:0]];
  assign done_o         = placings[0];
  assign desc_placing_o = placings[1];
  assign empty_o        = !desc_valid_o && !once_valid_o && placing_q == done_q;

  lut_ram_nr1w #(
    .WIDTH($bits(placing_t)),
    .DEPTH(RX_SLOTS),
    .READERS(2)
  ) u_placings (
    .clk_i,
    .write_i        (store_i),
    .write_address_i(store_slot_i),
    .write_data_i   (store_placing_i),
    .read_address_i ('{done_slot_o, head_slot_q}),
    .read_data_o    (placings)
  );

  always_ff @(posedge clk_i) begin
    if (taken || once_taken) placing[placing_q[IndexBits-1:0]] <= taken ? head_slot_q : once_slot;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {put_q, get_q, placing_q, done_q} <= '0;
      once_kept_q <= '0;
    end else begin
      if (put_i) put_q <= put_q + 1;
      get_q <= get;
      if (taken || once_taken) placing_q <= placing_q + 1;
      if (done_i) done_q <= done_q + 1;
      once_kept_q <= once_kept_q + once_slots_t'(put_once_i) - once_slots_t'(once_done);
    end
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(one_is_put, $onehot0({put_i, put_once_i}))
  `EXRNIC_ALWAYS(put_as_stored, !(put_i && store_i) || put_slot_i == store_slot_i)
  `EXRNIC_ALWAYS(one_is_taken, $onehot0({taken, once_taken}))
  `EXRNIC_ALWAYS(orders_have_room, 32'(rx_slots_t'(put_q - get_q)) <= RX_SLOTS &&
                                   32'(rx_slots_t'(placing_q - done_q)) <= RX_SLOTS)
  `EXRNIC_ALWAYS(once_has_room, !put_once_i || once_room_o)
  `EXRNIC_ALWAYS(done_was_taken, !done_i || placing_q != done_q)
  `EXRNIC_ALWAYS(once_was_kept, !once_done || once_kept_q != '0)

endmodule
