// SPDX-License-Identifier: BSD-2-Clause
// The slots of the retransmission buffer: which are free, how much payload has come for each, and
// whether all of it could be read.

`include "exrnic_assert.svh"

module tx_slots
  import exrnic_core_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  output logic                alloc_valid_o,         // a slot for what is prompt,
  output logic                alloc_payload_valid_o,  // and for anything: the last ones are not
  output slot_t               alloc_slot_o,
  input  logic                alloc_ready_i,
  output logic [$clog2(TX_SLOTS):0] free_o,

  input  logic                beat_valid_i,
  input  slot_t               beat_slot_i,
  input  chunk_t              beat_bytes_i,
  input  logic                beat_error_i,

  input  logic                free_valid_i,
  input  slot_t               free_slot_i,

  input  slot_t               query_slot_i,
  output chunk_t              query_arrived_o,  // bytes since the slot was last freed
  output logic [TX_SLOTS-1:0] poisoned_o,

  output logic                init_done_o,
  output logic                all_free_o
);

  // Bytes are counted without end; what a slot had when it was freed is taken off. So each memory
  // has one writer.
  chunk_t total, put_total, query_total, query_base;
  logic [TX_SLOTS-1:0] poisoned_q;

  // After reset every slot is freed once.
  logic [$clog2(TX_SLOTS):0] init_q;
  logic initial_free, put, take;
  slot_t put_slot;

  assign init_done_o  = init_q[$clog2(TX_SLOTS)];
  assign initial_free = !init_done_o;
  assign put          = initial_free || free_valid_i;
  assign put_slot     = initial_free ? init_q[$clog2(TX_SLOTS)-1:0] : free_slot_i;
  assign take         = alloc_valid_o && alloc_ready_i;

  assign alloc_valid_o   = init_done_o && free_o != 0;
  assign alloc_payload_valid_o = init_done_o && 32'(free_o) > TX_SLOTS_PROMPT;
  assign query_arrived_o = query_total - query_base;
  assign poisoned_o      = poisoned_q;
  assign all_free_o      = free_o[$clog2(TX_SLOTS)];

  lut_ram_nr1w #(
    .WIDTH($bits(chunk_t)),
    .DEPTH(TX_SLOTS),
    .READERS(3)
  ) u_total (
    .clk_i,
    .write_i        (beat_valid_i),
    .write_address_i(beat_slot_i),
    .write_data_i   (total + beat_bytes_i),
    .read_address_i ('{beat_slot_i, put_slot, query_slot_i}),
    .read_data_o    ('{total, put_total, query_total})
  );

  lut_ram_nr1w #(
    .WIDTH($bits(chunk_t)),
    .DEPTH(TX_SLOTS)
  ) u_base (
    .clk_i,
    .write_i        (put),
    .write_address_i(put_slot),
    .write_data_i   (put_total),
    .read_address_i ('{query_slot_i}),
    .read_data_o    ('{query_base})
  );

  ram_fifo #(
    .WIDTH($bits(slot_t)),
    .DEPTH(TX_SLOTS)
  ) u_free (
    .clk_i,
    .rst_ni,
    .push_i     (put),
    .push_data_i(put_slot),
    .pop_i      (take),
    .head_o     (alloc_slot_o),
    .count_o    (free_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      init_q     <= '0;
      poisoned_q <= '0;
    end else begin
      if (initial_free) init_q <= init_q + 1;
      if (put) poisoned_q[put_slot] <= 1'b0;
      if (beat_valid_i && beat_error_i) poisoned_q[beat_slot_i] <= 1'b1;
    end
  end

  // ---- What is promised
  // A slot is free, or has been given out and not come back: once.
`ifdef EXRNIC_ASSERT
  logic [TX_SLOTS-1:0] used_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      used_q <= '0;
    end else begin
      if (free_valid_i) used_q[free_slot_i] <= 1'b0;
      if (take) used_q[alloc_slot_o] <= 1'b1;
    end
  end
  `EXRNIC_ALWAYS(none_is_lost, !init_done_o || $countones(used_q) + 32'(free_o) == TX_SLOTS)
  `EXRNIC_ALWAYS(given_out_once, !alloc_valid_o || !used_q[alloc_slot_o])
  `EXRNIC_ALWAYS(given_back_once, !free_valid_i || used_q[free_slot_i])
  `EXRNIC_ALWAYS(payload_of_one_in_use, !beat_valid_i || used_q[beat_slot_i] ||
                 (take && alloc_slot_o == beat_slot_i))
`endif

endmodule
