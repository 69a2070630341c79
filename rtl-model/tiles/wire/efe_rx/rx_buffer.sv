// SPDX-License-Identifier: BSD-2-Clause
// Slots for received segments. A frame is stored into the slot at hand as it comes, and has it for
// its own only if it is kept in the end. Even and odd words lie in two banks, so that DATA_BYTES
// bytes from any address are read in one cycle.
`include "exrnic_assert.svh"

module rx_buffer
  import exrnic_core_pkg::*;
  import efe_rx_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         store_first_i,  // a frame starts (its first words may not be stored)
  input  logic         store_i,
  input  data_t        store_data_i,
  output logic         missed_o,       // words of this frame had no place
  output rx_slot_t     slot_o,         // its slot, if they had
  output rx_slots_t    spare_o,        // free slots besides
  input  logic         keep_i,         // between two frames: the last one stays

  input  logic         free_i,
  input  rx_slot_t     free_slot_i,

  input  rx_address_t  read_address_i,
  output data_t        read_data_o,    // next cycle

  output logic         init_done_o
);

  localparam int unsigned OffsetBits = $clog2(DATA_BYTES);

  // ---- Free slots: the one at hand, and a stack, so that those in use stay few.

  rx_slot_t stack [RX_SLOTS];
  rx_slots_t count_q;
  rx_slot_t slot_q;
  logic slot_valid_q;
  rx_slots_t init_q;
  logic put, take, fill;
  rx_slot_t put_slot, top;

  assign init_done_o = init_q[$clog2(RX_SLOTS)];
  assign put         = free_i || !init_done_o;
  assign put_slot    = init_done_o ? free_slot_i : init_q[$clog2(RX_SLOTS)-1:0];
  assign take        = keep_i || !slot_valid_q;
  assign fill        = take && (put || count_q != '0);
  assign top         = count_q[$clog2(RX_SLOTS)-1:0] - 1'b1;
  assign slot_o      = slot_q;
  assign spare_o     = count_q;

  always_ff @(posedge clk_i) begin
    if (put && !take) stack[count_q[$clog2(RX_SLOTS)-1:0]] <= put_slot;
    if (fill) slot_q <= put ? put_slot : stack[top];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      init_q       <= '0;
      count_q      <= '0;
      slot_valid_q <= 1'b0;
    end else begin
      if (!init_done_o) init_q <= init_q + 1;
      if (put && !take) count_q <= count_q + 1;
      if (fill && !put) count_q <= count_q - 1;
      if (take) slot_valid_q <= fill;
    end
  end

  // ---- Store

  rx_slot_words_t stored_q;  // words of the frame that is coming
  logic missed_q, fits;
  rx_word_t place;

  assign fits     = slot_valid_q && stored_q < rx_slot_words_t'(RxSlotWords);
  assign place    = rx_word_t'(slot_q) * rx_word_t'(RxSlotWords) + rx_word_t'(stored_q);
  assign missed_o = missed_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      stored_q <= '0;
      missed_q <= 1'b0;
    end else if (store_first_i) begin
      stored_q <= '0;
      missed_q <= 1'b0;
    end else if (store_i) begin
      if (fits) stored_q <= stored_q + 1;
      else missed_q <= 1'b1;
    end
  end

  // ---- Read

  rx_slot_t read_slot;
  rx_word_t word;
  data_t even_read, odd_read;
  logic read, swap_q;
  logic [OffsetBits-1:0] offset_q;

  assign read_slot = read_address_i[$bits(rx_address_t)-1-:$bits(rx_slot_t)];
  assign word = rx_word_t'(read_slot) * rx_word_t'(RxSlotWords) +
                rx_word_t'(read_address_i[$clog2(RX_SLOT_SPACE)-1:OffsetBits]);

  assign read = spare_o != rx_slots_t'(RX_SLOTS - 1);

  // Two banks of words, so that one cycle gives a word at any byte.
  ram_1r1w #(
    .WIDTH(DATA_W),
    .DEPTH(RxWords / 2)
  ) u_even (
    .clk_i,
    .write_i        (store_i && fits && !place[0]),
    .write_address_i(place[$bits(rx_word_t)-1:1]),
    .write_data_i   (store_data_i),
    .read_i         (read),
    .read_address_i (word[$bits(rx_word_t)-1:1] + ($bits(rx_word_t) - 1)'(word[0])),
    .read_data_o    (even_read)
  );
  ram_1r1w #(
    .WIDTH(DATA_W),
    .DEPTH(RxWords / 2)
  ) u_odd (
    .clk_i,
    .write_i        (store_i && fits && place[0]),
    .write_address_i(place[$bits(rx_word_t)-1:1]),
    .write_data_i   (store_data_i),
    .read_i         (read),
    .read_address_i (word[$bits(rx_word_t)-1:1]),
    .read_data_o    (odd_read)
  );

  always_ff @(posedge clk_i) begin
    if (read) begin
      swap_q   <= word[0];
      offset_q <= read_address_i[OffsetBits-1:0];
    end
  end

  assign read_data_o =
      data_t'((swap_q ? {even_read, odd_read} : {odd_read, even_read}) >> {offset_q, 3'b000});

  // ---- What is promised
`ifdef EXRNIC_ASSERT
  logic [RX_SLOTS-1:0] kept_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      kept_q <= '0;
    end else begin
      if (free_i) kept_q[free_slot_i] <= 1'b0;
      if (keep_i) kept_q[slot_q] <= 1'b1;
    end
  end
  rx_slots_t all;
  assign all = rx_slots_t'($countones(kept_q)) + count_q + rx_slots_t'(slot_valid_q);
  `EXRNIC_ALWAYS(none_is_lost, !init_done_o || all == rx_slots_t'(RX_SLOTS))
  `EXRNIC_ALWAYS(freed_is_kept, !free_i || kept_q[free_slot_i])
  `EXRNIC_ALWAYS(kept_is_free, !keep_i || (slot_valid_q && !kept_q[slot_q]))
`endif
  `EXRNIC_ALWAYS(has_room, !(put && !take) || 32'(count_q) < RX_SLOTS)

endmodule
