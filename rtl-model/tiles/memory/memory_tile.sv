// SPDX-License-Identifier: BSD-2-Clause
// Host memory: translation, reads, and one queue of posted writes.

module memory_tile
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    run_if.tile run,
    settings_if.user settings,
    output logic reads_o,  // see exrnic_core

    xlate_if.server    xlate[XLATE_CLIENTS],
    dma_read_if.server wqe_read,
    dma_read_if.server payload_read,
    dma_read_if.server receive_read,
    dma_read_if.server firmware_reads[2],  // firmware's, atomics'
    dma_read_if.asked firmware_payload_read,
    // Data, completions, firmware's, atomics', events, interrupts of ports, interrupts of the control vector.
    stream_if.sink     placed,
    stream_if.sink     completion,
    stream_if.sink     firmware_write,
    stream_if.sink     atomics_write,
    stream_if.sink     event_write,
    stream_if.sink     ports_irq,
    stream_if.sink     irq,
    fence_if.writer    fence,
    writes_if.writer   writes,
    rx_buffer_if.reader rx_buffer,
    command_if.memory  command,

    output logic        rd_valid_o,
    input  logic        rd_ready_i,
    output logic [63:0] rd_address_o,
    output logic [15:0] rd_length_o,
    output logic [7:0]  rd_tag_o,
    input  logic        cpl_valid_i,
    input  logic [7:0]  cpl_tag_i,
    input  data_t       cpl_data_i,
    input  beat_bytes_t cpl_bytes_i,
    input  logic        cpl_last_i,
    input  logic        cpl_error_i,

    output logic        wr_valid_o,
    input  logic        wr_ready_i,
    output logic        wr_msix_o,
    output logic        wr_sop_o,
    output logic        wr_eop_o,
    output logic [63:0] wr_address_o,
    output logic [15:0] wr_length_o,
    output data_t       wr_data_o,

    output event_t event_xlate_o,
    output event_t event_read_o,
    output event_t event_write_o
);

  logic xlate_idle, read_idle, read_waits, write_idle;
  assign run.waits = xlate_idle && read_waits && write_idle && !cpl_valid_i;
  assign run.idle = run.waits && read_idle;
  assign run.reads_over = xlate_idle && read_idle;
  assign run.writes_over = write_idle;
  assign run.quiescent = 1'b1;

  // ---- Translation
  logic [XLATE_CLIENTS-1:0] xlate_valid, xlate_ready, xlate_rsp_valid, xlate_hold;
  xlate_req_t xlate_req[XLATE_CLIENTS];
  xlate_rsp_t xlate_rsp;
  logic let_go, read_fence, read_fence_done;
  for (genvar i = 0; i < XLATE_CLIENTS; i++) begin : g_xlate
    assign xlate_valid[i] = xlate[i].valid;
    assign xlate_req[i] = xlate[i].req;
    assign xlate_hold[i] = xlate[i].hold;
    assign xlate[i].ready = xlate_ready[i];
    assign xlate[i].rsp_valid = xlate_rsp_valid[i];
    assign xlate[i].rsp = xlate_rsp;
    assign xlate[i].let_go = let_go;
  end

  logic [READ_CLIENTS-1:0] read_valid, read_ready, beat_valid;
  dma_read_req_t read_req[READ_CLIENTS];
  dma_read_beat_t beat;
  assign read_valid[READ_OF_WQE] = wqe_read.valid;
  assign read_valid[READ_OF_PAYLOAD] = payload_read.valid || firmware_payload_read.valid;
  assign read_valid[READ_OF_RECEIVES] = receive_read.valid;
  assign read_valid[READ_OF_FIRMWARE] = firmware_reads[0].valid;
  assign read_valid[READ_OF_ATOMICS] = firmware_reads[1].valid;
  assign read_req[READ_OF_WQE] = wqe_read.req;
  assign read_req[READ_OF_PAYLOAD] =
      payload_read.valid ? payload_read.req : firmware_payload_read.req;
  assign read_req[READ_OF_RECEIVES] = receive_read.req;
  assign read_req[READ_OF_FIRMWARE] = firmware_reads[0].req;
  assign read_req[READ_OF_ATOMICS] = firmware_reads[1].req;
  assign wqe_read.ready = read_ready[READ_OF_WQE];
  assign payload_read.ready = read_ready[READ_OF_PAYLOAD];
  assign firmware_payload_read.ready = payload_read.ready && !payload_read.valid;
  assign receive_read.ready = read_ready[READ_OF_RECEIVES];
  assign firmware_reads[0].ready = read_ready[READ_OF_FIRMWARE];
  assign firmware_reads[1].ready = read_ready[READ_OF_ATOMICS];
  assign wqe_read.beat_valid = beat_valid[READ_OF_WQE];
  assign payload_read.beat_valid = beat_valid[READ_OF_PAYLOAD];
  assign receive_read.beat_valid = beat_valid[READ_OF_RECEIVES];
  assign firmware_reads[0].beat_valid = beat_valid[READ_OF_FIRMWARE];
  assign firmware_reads[1].beat_valid = beat_valid[READ_OF_ATOMICS];
  assign wqe_read.beat = beat;
  assign payload_read.beat = beat;
  assign receive_read.beat = beat;
  assign firmware_reads[0].beat = beat;
  assign firmware_reads[1].beat = beat;

  xlate #(
      .CLIENTS(XLATE_CLIENTS)
  ) u_xlate (
      .clk_i,
      .rst_ni,
      .init_done_o(run.init_done),
      .idle_o(xlate_idle),
      .req_valid_i(xlate_valid),
      .req_ready_o(xlate_ready),
      .req_i(xlate_req),
      .rsp_valid_o(xlate_rsp_valid),
      .rsp_o(xlate_rsp),
      .hold_i(xlate_hold),
      .let_go_o(let_go),
      .fence_o(read_fence),
      .fence_done_i(read_fence_done),
      .mr_we_i(command.mr_we),
      .mr_index_i(command.mr_index),
      .mr_i(command.mr),
      .mr_o(command.mr_now),
      .flush_i(command.flush),
      .flush_done_o(command.flush_done),
      .rd_valid_o(read_valid[READ_OF_PBL]),
      .rd_ready_i(read_ready[READ_OF_PBL]),
      .rd_req_o(read_req[READ_OF_PBL]),
      .beat_valid_i(beat_valid[READ_OF_PBL]),
      .beat_i(beat),
      .event_o(event_xlate_o)
  );

  // ---- Reads
  dma_read u_dma_read (
      .clk_i,
      .rst_ni,
      .idle_o(read_idle),
      .waits_o(read_waits),
      .watches_o(reads_o),
      .cfg_max_read_i(settings.max_read),
      .cfg_timeout_i(settings.read_timeout),
      .time_i(settings.now),
      .fence_i(read_fence),
      .fence_done_o(read_fence_done),
      .req_valid_i(read_valid),
      .req_ready_o(read_ready),
      .req_i(read_req),
      .beat_valid_o(beat_valid),
      .beat_o(beat),
      .rd_valid_o,
      .rd_ready_i,
      .rd_address_o,
      .rd_length_o,
      .rd_tag_o,
      .cpl_valid_i,
      .cpl_tag_i,
      .cpl_data_i,
      .cpl_bytes_i,
      .cpl_last_i,
      .cpl_error_i,
      .event_o(event_read_o)
  );

  // ---- Writes: the responder's, and the completer's with all others between them.
  logic [1:0] write_valid, write_ready;
  dma_write_cmd_t write_cmd[2];
  assign write_valid = {completion.valid || firmware_write.valid || atomics_write.valid || event_write.valid || irq.valid ||
                        ports_irq.valid, placed.valid};
  assign write_cmd[0] = placed.data;
  always_comb begin
    write_cmd[1] = '0;
    if (completion.valid) begin
      write_cmd[1] = completion.data;
    end else if (firmware_write.valid) begin
      write_cmd[1] = firmware_write.data;
    end else if (atomics_write.valid) begin
      write_cmd[1] = atomics_write.data;
    end else if (event_write.valid) begin
      write_cmd[1] = event_write.data;
    end else if (irq.valid || ports_irq.valid) begin
      write_cmd[1].kind = DMA_WRITE_MSIX;
      write_cmd[1].address = irq.valid ? 64'(irq.data) : 64'(ports_irq.data);
    end
  end
  assign placed.ready = write_ready[0];
  assign completion.ready = write_ready[1];
  assign firmware_write.ready = write_ready[1] && !completion.valid;
  assign atomics_write.ready = firmware_write.ready && !firmware_write.valid;
  assign event_write.ready = atomics_write.ready && !atomics_write.valid;
  assign irq.ready = event_write.ready && !event_write.valid;
  assign ports_irq.ready = irq.ready && !irq.valid;

  dma_write u_dma_write (
      .clk_i,
      .rst_ni,
      .idle_o(write_idle),
      .cfg_max_payload_i(settings.max_payload),
      .fence_i(fence.ask),
      .fence_done_o(fence.done),
      .waiting_o(writes.waiting),
      .ends_o(writes.ends),
      .cmd_valid_i(write_valid),
      .cmd_ready_o(write_ready),
      .cmd_i(write_cmd),
      .rx_read_address_o(rx_buffer.address),
      .rx_read_data_i(rx_buffer.data),
      .wr_valid_o,
      .wr_ready_i,
      .wr_msix_o,
      .wr_sop_o,
      .wr_eop_o,
      .wr_address_o,
      .wr_length_o,
      .wr_data_o,
      .frame_done_o(rx_buffer.done),
      .frame_done_node_o(rx_buffer.node),
      .event_o(event_write_o)
  );

endmodule
