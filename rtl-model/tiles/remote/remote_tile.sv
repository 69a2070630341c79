// SPDX-License-Identifier: BSD-2-Clause
// Memory of other nodes behind the host's stores and loads: remote windows, and ports. Their segments,
// and what firmware sends, go between those of the requester.

module remote_tile
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    run_if.tile run,
    settings_if.user settings,
    input logic link_up_i,

    access_if.device        to_window,
    access_if.device        to_ports,
    window_access_if.remote access,
    command_if.remote       command,
    stream_if.source        ports_irq,

    table_read_if.client  qp,
    table_read_if.watcher qp_of_requester,
    output logic          has_windows_o,  // it has some; one cycle later than its row
    failed_if.sink        failed,

    firmware_send_if.remote firmware,
    dma_read_if.asker       payload_read,  // what firmware sends
    transmit_if.window      transmit,
    input logic             ended_i,  // pulse: what was sent at once is acknowledged, or failed
    /* verilator lint_off UNUSEDSIGNAL */  // whose it was is in the tag
    input tx_done_t         ended_what_i,
    /* verilator lint_on UNUSEDSIGNAL */
    stream_if.source        lost,  // tells the completer of stores to windows that failed

    port_arrival_if.ports arrival,
    input logic           load_answer_valid_i,
    input window_answer_t load_answer_i,
    input logic           restart_i,  // pulse: a peer has begun anew
    input node_t          restart_node_i,

    output event_t event_window_o,
    output event_t event_ports_o
);

  logic window_idle, send_idle, ports_idle, window_empty;
  assign run.init_done = 1'b1;
  assign run.waits = window_idle && send_idle && ports_idle && !payload_read.valid;
  assign run.idle = run.waits;
  assign run.reads_over = !payload_read.valid;
  assign run.writes_over = 1'b1;

  // A command waits until the stores to windows that came before it are sent.
  logic item_valid, item_ready, item_refused, item_loads;
  window_item_t item;
  logic begun_q, drained_q;
  assign access.sent = window_empty && send_idle;
  assign access.drained = drained_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
      drained_q <= 1'b0;
    end else begin
      begun_q <= access.drain &&
          (begun_q || window_empty || (item_valid && item_ready && !item.load));
      drained_q <= access.drain && (drained_q || (begun_q && send_idle));
    end
  end

  // The queue pair that the requester has read.
  logic looks_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) looks_q <= 1'b0;
    else looks_q <= qp_of_requester.read;
  end

  // What has failed of what was sent at once. It does not queue with the ends of other work.
  logic gives_up_valid, fails;
  tx_tag_t gives_up, failed_tag;
  assign fails = ended_i ? ended_what_i.status != CQE_STATUS_SUCCESS : gives_up_valid && transmit.drop_ready;
  assign failed_tag = ended_i ? ended_what_i.tag : gives_up;
  assign transmit.drop_valid = gives_up_valid && !ended_i;
  assign transmit.drop = gives_up;

  window u_window (
      .clk_i,
      .rst_ni,
      .idle_o(window_idle),
      .enable_i(run.enable && run.ready),
      .quiesce_i(run.stop),
      .combine_cycles_i(settings.combine_cycles),
      .load_cycles_i(settings.load_cycles),
      .window_shift_i(settings.window_shift),
      .valid_i(to_window.valid),
      .ready_o(to_window.ready),
      .write_i(to_window.write),
      .address_i(to_window.address),
      .size_i(to_window.size),
      .data_i(to_window.data),
      .rsp_valid_o(to_window.rsp_valid),
      .rsp_data_o(to_window.rsp_data),
      .loading_o(access.loading),
      .flush_i(access.flush),
      .empty_o(window_empty),
      .entry_we_i(command.window_we),
      .entry_index_i(command.window_index),
      .entry_i(command.window),
      .look_i(looks_q),
      .look_qpn_i(qp_of_requester.index),
      .look_generation_i(qp_of_requester.row.cfg.generation),
      .has_windows_o,
      .item_valid_o(item_valid),
      .item_ready_i(item_ready),
      .item_o(item),
      .item_refused_i(item_refused),
      .item_loads_i(item_loads),
      .answer_valid_i(load_answer_valid_i),
      .answer_i(load_answer_i),
      .failed_valid_i(failed.valid[1:0]),
      .failed_qpn_i(failed.qpn[0:1]),
      .event_o(event_window_o)
  );

  logic message_valid, message_ready;
  port_message_t message;
  port_link_t message_link;

  window_send u_window_send (
      .clk_i,
      .rst_ni,
      .idle_o(send_idle),
      .quiesce_i(run.stop),
      .quiescent_o(run.quiescent),
      .item_valid_i(item_valid),
      .item_ready_o(item_ready),
      .item_i(item),
      .refused_o(item_refused),
      .loads_o(item_loads),
      .drop_i(command.window_we),
      .drop_index_i(command.window_index),
      .message_valid_i(message_valid),
      .message_ready_o(message_ready),
      .message_i(message),
      .message_link_i(message_link),
      .firmware_valid_i(firmware.valid),
      .firmware_sent_o(firmware.sent),
      .firmware_no_room_o(firmware.no_room),
      .firmware_i(firmware.send),
      .read_valid_o(payload_read.valid),
      .read_ready_i(payload_read.ready),
      .read_o(payload_read.req),
      .gives_up_valid_o(gives_up_valid),
      .gives_up_ready_i(!ended_i && transmit.drop_ready),
      .gives_up_o(gives_up),
      .qp_read_o(qp.read),
      .qp_index_o(qp.index),
      .qp_row_i(qp.row),
      .clear_i(command.qp_we && command.qp_clear),
      .clear_qpn_i(command.qpn),
      .alloc_valid_i(transmit.alloc_valid),
      .alloc_payload_valid_i(transmit.alloc_payload_valid),
      .alloc_ready_o(transmit.alloc_ready),
      .alloc_slot_i(transmit.alloc_slot),
      .quota_node_o(transmit.node),
      .quota_prompt_o(transmit.prompt),
      .quota_room_i(transmit.room),
      .submit_valid_o(transmit.valid),
      .submit_ready_i(transmit.ready),
      .submit_o(transmit.desc)
  );

  window_failures u_window_failures (
      .clk_i,
      .rst_ni,
      .failed_valid_i(fails && failed_tag.kind == TX_KIND_SEGMENT),
      .failed_i(failed_tag),
      .done_valid_o(lost.valid),
      .done_ready_i(lost.ready),
      .done_o(lost.data)
  );

  assign to_ports.rsp_data[63:32] = '0;

  ports u_ports (
      .clk_i,
      .rst_ni,
      .idle_o(ports_idle),
      .cfg_node_i(settings.node),
      .enable_i(run.enable && run.ready),
      .link_up_i,
      .valid_i(to_ports.valid),
      .ready_o(to_ports.ready),
      .write_i(to_ports.write),
      .word_i(to_ports.size == 4'd4 && to_ports.address[1:0] == '0),
      .address_i(to_ports.address[15:0]),
      .data_i(to_ports.data[31:0]),
      .rsp_valid_o(to_ports.rsp_valid),
      .rsp_data_o(to_ports.rsp_data[31:0]),
      .arrival_valid_i(arrival.valid),
      .arrival_ready_o(arrival.ready),
      .arrival_good_i(arrival.good),
      .arrival_i(arrival.message),
      .failed_valid_i(fails && failed_tag.kind == TX_KIND_PORT),
      .failed_port_i(port_t'(failed_tag.qpn)),
      .failed_link_i(port_link_t'(failed_tag.wqe_index)),
      .restart_valid_i(restart_i),
      .restart_node_i,
      .message_valid_o(message_valid),
      .message_ready_i(message_ready),
      .message_o(message),
      .message_link_o(message_link),
      .irq_valid_o(ports_irq.valid),
      .irq_ready_i(ports_irq.ready),
      .irq_vector_o(ports_irq.data),
      .event_o(event_ports_o)
  );

endmodule
