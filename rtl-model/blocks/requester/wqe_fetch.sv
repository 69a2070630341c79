// SPDX-License-Identifier: BSD-2-Clause
// Reads up to BATCH work requests of one send queue with a single DMA read, and hands them out one
// by one. A batch ends at the end of the ring and of its page.

module wqe_fetch
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned BATCH = 8
) (
    input logic clk_i,
    input logic rst_ni,

    // Start of a batch: the ring of a queue pair with at least one slot posted.
    input  logic        start_i,
    input  logic [63:0] ring_pbl_i,
    input  logic [3:0]  ring_log_i,
    input  wqe_index_t  consumer_i,
    input  wqe_index_t  producer_i,
    output logic        done_o,    // pulse: the batch is there, or has failed
    output logic        failed_o,  // with done_o: the ring cannot be read
    output logic [$clog2(BATCH):0] count_o,

    // Work request `pick_i` of the batch; `picked_o` pulses when wqe_o holds it.
    input  logic pick_i,
    input  logic [$clog2(BATCH)-1:0] pick_index_i,
    output logic picked_o,
    output wqe_t wqe_o,

    output logic       xlate_valid_o,
    input  logic       xlate_ready_i,
    output xlate_req_t xlate_o,
    input  logic       xlate_rsp_valid_i,
    input  xlate_rsp_t xlate_rsp_i,

    output logic           read_valid_o,
    input  logic           read_ready_i,
    output dma_read_req_t  read_o,
    input  logic           beat_valid_i,
    /* verilator lint_off UNUSEDSIGNAL */  // only the low part of the place counts here
    input  dma_read_beat_t beat_i
    /* verilator lint_on UNUSEDSIGNAL */
);

  localparam int unsigned Beats = WQE_BYTES / DATA_BYTES;
  localparam int unsigned Words = BATCH * Beats;
  localparam int unsigned ByteShift = $clog2(DATA_BYTES);

  typedef enum logic [2:0] { StIdle, StXlate, StXlateWait, StRead, StData } state_e;
  state_e state_q;

  data_t buffer_q[Words];
  chunk_t pending_q;
  logic failed_q;
  logic [63:0] address_q;
  logic [63:0] offset_q;
  logic [$clog2(BATCH):0] count_q;

  // Slots up to the end of the ring, and up to the producer.
  wqe_index_t mask, slot, posted, to_end, wanted;
  always_comb begin
    mask   = (wqe_index_t'(1) << ring_log_i) - 1'b1;
    slot   = consumer_i & mask;
    posted = producer_i - consumer_i;
    to_end = mask - slot + 1'b1;
    wanted = posted < to_end ? posted : to_end;
    if (wanted > wqe_index_t'(BATCH)) wanted = wqe_index_t'(BATCH);
  end

  assign xlate_valid_o = state_q == StXlate;
  assign xlate_o = '{
          ring: 1'b1,
          pbl_address: ring_pbl_i,
          stag: '0,
          pd: '0,
          access: '0,
          to: offset_q,
          length: 32'(count_q) << $clog2(WQE_BYTES)
      };
  assign read_valid_o = state_q == StRead;
  assign read_o = '{address: address_q, length: pending_q, dst: '0};
  assign count_o = count_q;
  assign failed_o = failed_q;

  logic last_beat;
  assign last_beat = state_q == StData && pending_q == '0;
  assign done_o = last_beat;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (start_i) state_q <= StXlate;
        StXlate: if (xlate_ready_i) state_q <= StXlateWait;
        StXlateWait:
        if (xlate_rsp_valid_i) state_q <= xlate_rsp_i.status == XLATE_OK ? StRead : StData;
        StRead: if (read_ready_i) state_q <= StData;
        StData: if (last_beat) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle && start_i) begin
      failed_q <= 1'b0;
      offset_q <= 64'(slot) << $clog2(WQE_BYTES);
      count_q  <= ($clog2(BATCH) + 1)'(wanted);
    end
    if (state_q == StXlateWait && xlate_rsp_valid_i) begin
      failed_q  <= xlate_rsp_i.status != XLATE_OK;
      address_q <= xlate_rsp_i.address;
      pending_q <= xlate_rsp_i.status == XLATE_OK ? chunk_t'(xlate_rsp_i.length) : '0;
      count_q   <= ($clog2(BATCH) + 1)'(xlate_rsp_i.length >> $clog2(WQE_BYTES));
    end
    if (state_q == StData && beat_valid_i) begin
      pending_q <= pending_q - beat_i.bytes;
      failed_q  <= failed_q || beat_i.error;
    end
    if (beat_valid_i && !beat_i.error)
      buffer_q[beat_i.dst[ByteShift+:$clog2(Words)]] <= beat_i.data;
  end

  // Hand-out: one word a cycle.
  logic picking_q;
  logic [$clog2(Beats)-1:0] word_q;
  logic [$clog2(BATCH)-1:0] index_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      picking_q <= 1'b0;
      picked_o  <= 1'b0;
      word_q    <= '0;
    end else begin
      picked_o <= picking_q && word_q == ($clog2(Beats))'(Beats - 1);
      if (pick_i) begin
        picking_q <= 1'b1;
        word_q    <= '0;
      end else if (picking_q) begin
        word_q <= word_q + 1'b1;
        if (word_q == ($clog2(Beats))'(Beats - 1)) picking_q <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (pick_i) index_q <= pick_index_i;
    if (picking_q) wqe_o <= {buffer_q[{index_q, word_q}], wqe_o[WQE_BYTES*8-1:DATA_W]};
  end

endmodule
