// SPDX-License-Identifier: BSD-2-Clause
// Reads the posted slots of a ring, up to BATCH, into a buffer, and hands them out word by word. It
// reads on across the end of a page and of the ring, with one DMA read for each piece.

`include "exrnic_assert.svh"

module wqe_fetch
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned BATCH = 8,      // slots
    parameter int unsigned SLOTS = BATCH,  // of the buffer; a power of two, if more than BATCH
    localparam int unsigned WORDS = SLOTS * WQE_BYTES / SGE_BYTES
) (
    input logic clk_i,
    input logic rst_ni,

    // A ring with at least one slot posted, and where in the buffer the first one goes.
    input  logic        start_i,
    input  logic [$clog2(SLOTS)-1:0] place_i,
    input  logic [63:0] ring_pbl_i,
    input  logic [3:0]  ring_log_i,
    input  wqe_index_t  consumer_i,
    input  wqe_index_t  producer_i,
    output logic        idle_o,
    output logic        waits_o,  // for what has been asked for
    output logic        done_o,    // pulse: failed_o and count_o say what is there
    output logic        failed_o,  // the slot behind those that are there cannot be read
    output logic [$clog2(BATCH):0] count_o,

    input  logic [$clog2(WORDS)-1:0]  word_index_i,
    output logic [8*SGE_BYTES-1:0]    word_o,  // one cycle later

    xlate_if.client    xlate,
    dma_read_if.client read
);

  localparam int unsigned SlotShift = $clog2(WQE_BYTES);
  localparam int unsigned Lines = SLOTS * WQE_BYTES / DATA_BYTES;
  localparam int unsigned LineShift = $clog2(DATA_BYTES);
  localparam int unsigned LineWords = DATA_BYTES / SGE_BYTES;
  typedef logic [$clog2(BATCH):0] count_t;

  typedef enum logic [2:0] { StIdle, StXlate, StXlateWait, StRead, StData, StDone } state_e;
  state_e state_q;

  // The piece in hand starts at `slot_q` of the ring, behind `asked_q` slots of the batch.
  logic [63:0] ring_pbl_q;
  wqe_index_t mask_q, slot_q;
  logic [$clog2(SLOTS)-1:0] place_q;
  count_t asked_q, left_q, piece_q;
  logic [63:0] address_q;
  chunk_t pending_q;  // bytes
  logic failed_q;
  count_t bad_q;  // first slot of the batch that could not be read

  wqe_index_t mask, posted, to_end;
  count_t wanted;
  assign mask   = (wqe_index_t'(1) << ring_log_i) - 1'b1;
  assign posted = producer_i - consumer_i;
  assign to_end = mask_q - slot_q + 1'b1;
  assign wanted = to_end < wqe_index_t'(left_q) ? count_t'(to_end) : left_q;

  logic translated, piece_done, bad_beat;
  count_t beat_slot;
  assign translated = state_q == StXlateWait && xlate.rsp_valid;
  assign bad_beat   = state_q == StData && read.beat_valid && read.beat.error;
  assign piece_done = state_q == StData && read.beat_valid && pending_q == read.beat.bytes;
  assign beat_slot  = count_t'((read.beat.dst >> SlotShift) - tx_address_t'(place_q));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (start_i) state_q <= StXlate;
        StXlate: if (xlate.ready) state_q <= StXlateWait;
        StXlateWait:
        if (xlate.rsp_valid) state_q <= xlate.rsp.status == XLATE_OK ? StRead : StDone;
        StRead: if (read.ready) state_q <= StData;
        StData:
        if (piece_done)
          state_q <= failed_q || bad_beat || piece_q == left_q ? StDone : StXlate;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle && start_i) begin
      ring_pbl_q <= ring_pbl_i;
      mask_q   <= mask;
      place_q  <= place_i;
      slot_q   <= consumer_i & mask;
      left_q   <= posted < wqe_index_t'(BATCH) ? count_t'(posted) : count_t'(BATCH);
      asked_q  <= '0;
      failed_q <= 1'b0;
      bad_q    <= count_t'(BATCH);
    end
    if (translated) begin
      address_q <= xlate.rsp.address;
      pending_q <= chunk_t'(xlate.rsp.length);
      piece_q   <= count_t'(xlate.rsp.length >> SlotShift);
      failed_q  <= xlate.rsp.status != XLATE_OK;
    end
    if (state_q == StData && read.beat_valid) pending_q <= pending_q - read.beat.bytes;
    if (bad_beat) begin
      failed_q <= 1'b1;
      if (beat_slot < bad_q) bad_q <= beat_slot;
    end
    if (piece_done) begin
      slot_q  <= (slot_q + wqe_index_t'(piece_q)) & mask_q;
      asked_q <= asked_q + piece_q;
      left_q  <= left_q - piece_q;
    end
  end

  assign idle_o = state_q == StIdle;
  assign waits_o = state_q == StData && !read.beat_valid;
  assign done_o = state_q == StDone;
  assign failed_o = failed_q;
  assign count_o = bad_q < asked_q ? bad_q : asked_q;
  assign xlate.hold = 1'b0;  // it translates rings only
  assign xlate.valid = state_q == StXlate;
  assign xlate.req = '{
          invalidate: 1'b0,
          registers: 1'b0,
          binds: 1'b0,
          ring: 1'b1,
          pbl_address: ring_pbl_q,
          stag: '0,
          region: '0,
          qpn: '0,
          generation: '0,
          pd: '0,
          access: '0,
          to: 64'(slot_q) << SlotShift,
          length: 32'(wanted) << SlotShift,
          size: '0,
          huge_pages: 1'b0
      };
  assign read.valid = state_q == StRead;
  assign read.req = '{
          address: address_q,
          length: pending_q,
          dst: (tx_address_t'(place_q) + tx_address_t'(asked_q)) << SlotShift
      };

  // ---- The buffer
  data_t line_read;
  logic [$clog2(LineWords+1)-1:0] part_q;  // of the line: which element
  ram_1r1w #(
      .WIDTH(DATA_W),
      .DEPTH(Lines)
  ) u_buffer (
      .clk_i,
      .write_i        (read.beat_valid && !read.beat.error),
      .write_address_i(read.beat.dst[LineShift+:$clog2(Lines)]),
      .write_data_i   (read.beat.data),
      .read_i         (1'b1),
      .read_address_i (($clog2(Lines))'(32'(word_index_i) / LineWords)),
      .read_data_o    (line_read)
  );
  always_ff @(posedge clk_i) part_q <= ($clog2(LineWords + 1))'(32'(word_index_i) % LineWords);
  assign word_o = line_read[8*SGE_BYTES*part_q+:8*SGE_BYTES];

  // ---- What is promised
  `EXRNIC_ALWAYS(starts_at_rest, !start_i || idle_o)
  `EXRNIC_ALWAYS(no_more_than_a_batch, idle_o || 32'(asked_q) + 32'(left_q) <= BATCH)

endmodule
