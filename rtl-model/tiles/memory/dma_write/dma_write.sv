// SPDX-License-Identifier: BSD-2-Clause
// Memory writes and interrupts, in the order in which they were asked for. See README.md.

`include "exrnic_assert.svh"

module dma_write
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
  localparam int unsigned CLIENTS = 2
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  output logic               idle_o,
  input  logic [15:0]        cfg_max_payload_i,

  // When are all writes out that were accepted before this cycle? One question at a time.
  input  logic               fence_i,
  output logic               fence_done_o,

  // How many were accepted and are not out; pulse: one more is.
  output write_count_t       waiting_o,
  output logic               ends_o,

  // Clients
  input  logic [CLIENTS-1:0] cmd_valid_i,
  output logic [CLIENTS-1:0] cmd_ready_o,
  input  dma_write_cmd_t     cmd_i[CLIENTS],

  // Receive buffer: data comes one cycle after its address
  output rx_address_t        rx_read_address_o,
  input  data_t              rx_read_data_i,

  // PCIe
  output logic               wr_valid_o,
  input  logic               wr_ready_i,
  output logic               wr_msix_o,
  output logic               wr_sop_o,
  output logic               wr_eop_o,
  output logic [63:0]        wr_address_o,
  output logic [15:0]        wr_length_o,
  output data_t              wr_data_o,

  // The last write of a received segment is out.
  output logic               frame_done_o,
  output node_t              frame_done_node_o,

  output event_t             event_o
);
  // ---- Command queue, clients in turn

  localparam int unsigned DEPTH = 4;
  localparam int unsigned DEPTH_W = $clog2(DEPTH);

  dma_write_cmd_t   queue_q[DEPTH];
  logic [DEPTH_W:0] head_q;
  logic [DEPTH_W:0] tail_q;
  logic             last_client_q;
  logic             client;
  logic             full;
  logic             empty;
  logic             push;
  logic             pop;

  assign full = tail_q == {~head_q[DEPTH_W], head_q[DEPTH_W-1:0]};
  assign empty = tail_q == head_q;
  assign client = cmd_valid_i[!last_client_q] ? !last_client_q : last_client_q;
  assign push = !full && cmd_valid_i != '0;
  assign cmd_ready_o = push ? CLIENTS'(1) << client : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      tail_q <= '0;
      last_client_q <= 1'b0;
    end else begin
      if (pop) head_q <= head_q + 1'b1;
      if (push) tail_q <= tail_q + 1'b1;
      if (push) last_client_q <= client;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) queue_q[tail_q[DEPTH_W-1:0]] <= cmd_i[client];
  end

  // ---- Cutting the oldest command into TLPs, and those into beats

  localparam int unsigned BOUNDARY = 4096;  // PCIe base specification, 2.2.7

  dma_write_cmd_t cmd;
  logic           has_data;
  chunk_t         done_q;      // bytes of the command already cut off
  chunk_t         tlp_rest_q;  // of the TLP begun; zero: a new one begins
  logic [63:0]    address;
  chunk_t         left;
  chunk_t         to_boundary;
  chunk_t         tlp_new;
  chunk_t         tlp_rest;
  chunk_t         bytes;       // of this beat
  logic           last_of_tlp;
  logic           last_of_cmd;
  logic           cut;
  logic           advance;     // the output stage takes a beat

  assign cut = !empty && advance;
  always_comb begin
    {cmd, has_data, address, left, to_boundary, tlp_new, tlp_rest, bytes, last_of_tlp, last_of_cmd} = '0;
    if (cut) begin
      cmd = queue_q[head_q[DEPTH_W-1:0]];
      has_data = cmd.kind == DMA_WRITE_FRAME || cmd.kind == DMA_WRITE_INLINE;
      address = cmd.address + 64'(done_q);
      left = cmd.length - done_q;
      to_boundary = chunk_t'(BOUNDARY) - chunk_t'(address[$clog2(BOUNDARY)-1:0]);
      tlp_new = left < to_boundary ? left : to_boundary;
      if (16'(tlp_new) > cfg_max_payload_i) tlp_new = chunk_t'(cfg_max_payload_i);
      tlp_rest = tlp_rest_q == '0 ? tlp_new : tlp_rest_q;
      bytes = tlp_rest < chunk_t'(DATA_BYTES) ? tlp_rest : chunk_t'(DATA_BYTES);
      last_of_tlp = !has_data || bytes == tlp_rest;
      last_of_cmd = !has_data || bytes == left;
    end
  end
  assign pop = cut && last_of_cmd;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      done_q <= '0;
      tlp_rest_q <= '0;
    end else if (cut) begin
      done_q <= last_of_cmd ? '0 : done_q + bytes;
      tlp_rest_q <= last_of_tlp ? '0 : tlp_rest - bytes;
    end
  end

  // ---- Output stage: a beat that waits for its data from the receive buffer, or for PCIe. While it
  // waits, the receive buffer is asked for the same bytes again.

  logic            valid_q;
  dma_write_kind_e kind_q;
  logic            sop_q;
  logic            eop_q;
  logic [63:0]     address_q;
  chunk_t          length_q;
  rx_address_t     src_q;
  rx_address_t     src;
  data_t           inline_q;
  logic            frame_done_q;
  node_t           node_q;
  logic            last_q;       // of its command
  logic            leave;

  // Nothing to write still takes its turn here, so that it does not overtake.
  assign leave = valid_q && (wr_ready_i || kind_q == DMA_WRITE_NONE);
  assign advance = !valid_q || leave;

  assign src = cmd.src + rx_address_t'(done_q);
  assign rx_read_address_o = advance ? src : src_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (advance) valid_q <= !empty;
  end

  always_ff @(posedge clk_i) begin
    if (cut) begin
      kind_q <= cmd.kind;
      sop_q <= tlp_rest_q == '0;
      eop_q <= last_of_tlp;
      address_q <= address;
      length_q <= has_data ? tlp_rest : '0;
      src_q <= src;
      frame_done_q <= cmd.frame_done && last_of_cmd;
      last_q <= last_of_cmd;
      node_q <= cmd.node;
      if (cmd.kind == DMA_WRITE_INLINE) inline_q <= data_t'(cmd.data >> {done_q, 3'b0});
    end
  end

  assign wr_valid_o = valid_q && kind_q != DMA_WRITE_NONE;
  assign wr_msix_o = kind_q == DMA_WRITE_MSIX;
  assign wr_sop_o = sop_q;
  assign wr_eop_o = eop_q;
  assign wr_address_o = address_q;
  assign wr_length_o = 16'(length_q);
  always_comb begin
    wr_data_o = '0;
    if (wr_valid_o) wr_data_o = kind_q == DMA_WRITE_INLINE ? inline_q : rx_read_data_i;
  end

  // ---- What is done

  logic msix_sent_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      frame_done_o <= 1'b0;
      msix_sent_q <= 1'b0;
    end else begin
      frame_done_o <= leave && frame_done_q;
      msix_sent_q <= leave && kind_q == DMA_WRITE_MSIX;
    end
  end

  always_ff @(posedge clk_i) begin
    if (leave) frame_done_node_o <= node_q;
  end

  always_comb begin
    event_o = '0;
    event_o[COUNTER_MSIX] = msix_sent_q;
  end

  // ---- The fence: commands ahead of it

  logic               fence_q;
  write_count_t       ahead_q;
  logic               ends;  // the command in the output stage

  assign ends = leave && last_q;
  assign ends_o = ends;
  assign waiting_o = write_count_t'(tail_q - head_q) + write_count_t'(valid_q && last_q && !leave);
  assign fence_done_o = fence_q && ahead_q == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fence_q <= 1'b0;
      ahead_q <= '0;
    end else if (fence_i) begin
      fence_q <= 1'b1;
      ahead_q <= waiting_o;
    end else begin
      fence_q <= fence_q && !fence_done_o;
      if (ends && ahead_q != '0) ahead_q <= ahead_q - 1'b1;
    end
  end

  assign idle_o = empty && !valid_q && !frame_done_o && !msix_sent_q;
  // ---- What is promised
  `EXRNIC_ALWAYS(one_is_taken, $onehot0(cmd_ready_o) && (cmd_ready_o & ~cmd_valid_i) == '0)
  `EXRNIC_ALWAYS(has_room, tail_q - head_q <= (DEPTH_W + 1)'(DEPTH))
  `EXRNIC_ALWAYS(one_question_at_a_time, !fence_i || !fence_q || fence_done_o)
`ifdef EXRNIC_ASSERT
  data_t held;  // lanes after the last byte mean nothing: the next frame may be stored there
  chunk_t bytes_q;
  always_ff @(posedge clk_i) begin
    if (cut) bytes_q <= has_data ? bytes : '0;
  end
  assign held = wr_data_o & ~(~data_t'(0) << {bytes_q, 3'b000});
`endif
  `EXRNIC_HELD(wr_is_held, wr_valid_o, wr_ready_i, {wr_msix_o, wr_sop_o, wr_eop_o, wr_address_o, wr_length_o, held})

endmodule
