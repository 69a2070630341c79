// SPDX-License-Identifier: BSD-2-Clause
// The on-chip processor, and firmware's way to the data path.

module firmware_tile
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_QP = MAX_QP
) (
    input logic clk_i,
    input logic rst_ni,
    run_if.tile run,
    settings_if.user settings,
    command_if.firmware command,

    access_if.device access,
    output logic     irq_o,
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
    output logic       fence_o,
    input logic        fence_done_i,

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
      .irq_o,
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

  assign queues.answer_qpn = qp.index;

  firmware_port #(
      .N_QP(N_QP)
  ) u_firmware_port (
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
      .node_i(settings.node),
      .mtu_i(settings.mtu),
      .bell_i(pages.valid),
      .bell_page_i(pages.page),
      .bell_value_i(pages.bell),
      .bell_whole_i(pages.whole),
      .bell_block_i(pages.block),
      .block_drop_o(pages.drop),
      .block_drop_page_o(pages.drop_page),
      .active_o(path.active),
      .grant_index_i(path.grant_index),
      .grant_o(path.grant),
      .placing_i(path.placing),
      .punt_valid_i(path.punt_valid),
      .punt_ready_o(path.punt_ready),
      .punt_i(path.punt),
      .look_i(queues.look),
      .look_qpn_i(queues.look_qpn),
      .open_o(queues.open),
      .lost_o(path.lost),
      .clear_i(command.qp_we && command.qp_clear),
      .clear_qpn_i(command.qpn),
      .qp_read_o(qp.read),
      .qp_read_qpn_o(qp.index),
      .qp_i(qp.row),
      .answer_valid_o(queues.answer_valid),
      .answer_ready_i(queues.answer_ready),
      .answer_o(queues.answer),
      .wake_valid_o(wake.valid),
      .wake_ready_i(wake.ready),
      .wake_qpn_o(wake.data),
      .xlate_valid_o(xlate.valid),
      .xlate_ready_i(xlate.ready),
      .xlate_o(xlate.req),
      .xlate_rsp_valid_i(xlate.rsp_valid),
      .xlate_rsp_i(xlate.rsp),
      .xlate_hold_o(xlate.hold),
      .read_valid_o(read.valid),
      .read_ready_i(read.ready),
      .read_o(read.req),
      .beat_valid_i(read.beat_valid),
      .beat_i(read.beat),
      .write_valid_o(write.valid),
      .write_ready_i(write.ready),
      .write_o(write.data),
      .fence_o,
      .fence_done_i,
      .send_valid_o(send.valid),
      .send_o(send.send),
      .sent_i(send.sent),
      .no_room_i(send.no_room),
      .event_o
  );
  assign pages.active = path.active;

endmodule
