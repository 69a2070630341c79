// SPDX-License-Identifier: BSD-2-Clause
// The on-chip processor, firmware's way to the data path, and atomics, which need no firmware.

module firmware_tile
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    run_if.tile run,
    settings_if.user settings,
    command_if.firmware command,

    access_if.device access,
    host_event_if.firmware host_event,
    output cpu_pkg::retire_t retire_o,  // for who looks at the core from outside
    output logic             asleep_o,  // likewise: the processor waits

    firmware_page_if.firmware   pages,
    firmware_path_if.firmware   path,
    firmware_queues_if.firmware queues,
    firmware_send_if.firmware   send,
    table_read_if.client        qp,
    stream_if.source            wake,

    xlate_if.client    xlate,
    dma_read_if.client read,
    stream_if.source   write,
    fence_if.asker     fence,
    xlate_if.client    xlate_of_atomics,
    dma_read_if.client atomics_read,
    stream_if.source   atomics_write,
    writes_if.reader   writes,

    output event_t event_o
);

  logic port_idle;
  assign run.waits = asleep_o && port_idle;
  assign run.idle = run.waits;
  assign run.writes_over = 1'b1;
  assign run.quiescent = 1'b1;

  // What firmware sees of the core: words, at addresses of the processor.
  logic firmware_ready, word_valid, word_write, word_known, line, bell_line;
  logic [11:0] word_address;
  logic [31:0] word_written, word_read;

  assign access.ready = 1'b1;
  assign access.rsp_data[63:32] = '0;

  processor u_processor (
      .clk_i,
      .rst_ni,
      .idle_o(asleep_o),
      .time_i(settings.now),
      .valid_i(access.valid),
      .write_i(access.write),
      .word_i(access.size == 4'd4 && access.address[31:16] == '0 && access.address[1:0] == '0),
      .address_i(access.address[15:0]),
      .data_i(access.data[31:0]),
      .rsp_valid_o(access.rsp_valid),
      .rsp_data_o(access.rsp_data[31:0]),
      .irq_o(host_event.firmware_irq),
      .failed_o(host_event.firmware_failed),
      .ready_o(firmware_ready),
      .port_valid_o(word_valid),
      .port_write_o(word_write),
      .port_address_o(word_address),
      .port_data_o(word_written),
      .port_known_i(word_known),
      .port_data_i(word_read),
      .port_line_i(line),
      .port_bell_line_i(bell_line),
      .retire_o
  );

  firmware_port u_firmware_port (
      .clk_i,
      .rst_ni,
      .init_done_o(run.init_done),
      .idle_o(port_idle),
      .quiesce_i(run.quiesce),
      .quiescent_o(run.reads_over),
      .ready_i(firmware_ready),
      .valid_i(word_valid),
      .write_i(word_write),
      .address_i(word_address),
      .data_i(word_written),
      .known_o(word_known),
      .data_o(word_read),
      .line_o(line),
      .bell_line_o(bell_line),
      .settings,
      .pages,
      .path,
      .queues,
      .command,
      .qp,
      .wake,
      .xlate,
      .dma_read(read),
      .dma_write(write),
      .fence,
      .xlate_of_atomics,
      .atomics_read,
      .atomics_write,
      .writes,
      .send,
      .event_o
  );

endmodule
