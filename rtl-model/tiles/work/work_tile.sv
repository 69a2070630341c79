// SPDX-License-Identifier: BSD-2-Clause
// Work: the requester sends what is asked for, the responder places what comes, the completer tells of
// the end.

module work_tile
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_QP = MAX_QP,
    parameter int unsigned N_CQ = MAX_CQ
) (
    input logic clk_i,
    input logic rst_ni,
    run_if.tile run,
    settings_if.user settings,
    command_if.engines command,

    // Queues.
    stream_if.sink                turn,
    stream_if.source              wake_of_requester,
    stream_if.source              wake_of_responder,
    stream_if.source              wake_of_completer,
    table_read_if.client          qp_of_requester,
    table_read_if.client          qp_of_responder,
    table_read_if.client          qp_of_completer,
    table_read_if.client          srq_of_responder,
    requester_queues_if.requester requester,
    responder_queues_if.responder responder,
    completer_queues_if.completer completer,
    input logic has_windows_i,  // the requester's queue pair; one cycle later than its row

    // Host memory.
    xlate_if.client     xlate_of_requester,
    xlate_if.client     xlate_of_responder,
    xlate_if.client     xlate_of_completer,
    xlate_if.client     xlate_of_receives,
    dma_read_if.client  wqe_read,
    dma_read_if.asker   payload_read,
    dma_read_if.client  receive_read,
    stream_if.source    placed,
    stream_if.source    completion,
    input logic         written_i,  // nothing accepted is still to be written

    // The wire, and what comes for others.
    transmit_if.requester     transmit,
    stream_if.sink            sent,  // has ended: acknowledged, or failed
    stream_if.sink            lost,  // likewise stores to windows that failed
    stream_if.sink            segment,
    refusal_if.responder      refusal,
    firmware_path_if.engines  firmware,
    port_arrival_if.responder port,
    output logic              load_answer_valid_o,
    output window_answer_t    load_answer_o,

    // The host's CPUs.
    stream_if.sink       cq_bell,
    output logic         cq_bell_busy_o,
    host_event_if.source host_event,

    output event_t event_requester_o,
    output event_t event_responder_o,
    output event_t event_completer_o
);

  logic requester_idle, requester_waits, requester_quiescent;
  logic responder_init_done, responder_idle, responder_waits, responder_quiescent;
  logic completer_init_done, completer_idle, completer_settled;
  logic done_valid, done_ready;
  assign run.init_done = responder_init_done && completer_init_done;
  assign run.waits = (requester_idle ? !turn.valid : requester_waits) &&
      (responder_idle || responder_waits) && completer_idle && !done_valid;
  assign run.idle = run.waits && requester_idle && responder_idle;
  assign run.reads_over = requester_quiescent && responder_quiescent && completer_settled;
  assign run.writes_over = 1'b1;

  logic requester_error, responder_error, completer_error;  // one at a time
  assign host_event.qp_error = requester_error || responder_error || completer_error;
  always_comb begin
    if (responder_error) host_event.qpn = responder.status_qpn;
    else if (completer_error) host_event.qpn = completer.status_qpn;
    else host_event.qpn = qp_of_requester.index;
  end
  assign host_event.srqn = srq_of_responder.index;

  // ---- Requester
  assign transmit.goes_back_qpn = qp_of_requester.index;
  logic flush_valid, flush_ready;

  requester u_requester (
      .clk_i,
      .rst_ni,
      .cfg_node_i(settings.node),
      .mtu_i(settings.mtu),
      .more_turns_i(requester.others_wait),
      .quiesce_i(run.quiesce),
      .quiescent_o(requester_quiescent),
      .idle_o(requester_idle),
      .waits_o(requester_waits),
      .turn_valid_i(turn.valid),
      .turn_ready_o(turn.ready),
      .turn_qpn_i(turn.data),
      .wake_valid_o(wake_of_requester.valid),
      .wake_ready_i(wake_of_requester.ready),
      .wake_qpn_o(wake_of_requester.data),
      .qp_read_o(qp_of_requester.read),
      .qp_read_qpn_o(qp_of_requester.index),
      .qp_i(qp_of_requester.row),
      .sq_we_o(requester.sq_we),
      .sq_o(requester.sq),
      .status_valid_o(requester.status_valid),
      .status_ready_i(requester.status_ready),
      .status_o(requester.status),
      .qp_error_o(requester_error),
      .goes_back_o(transmit.goes_back),
      .flush_valid_o(flush_valid),
      .flush_ready_i(flush_ready),
      .pull_count_i(requester.pull_count),
      .pull_push_o(requester.pull_push),
      .pull_o(requester.pull_new),
      .read_count_i(requester.read_count),
      .punt_count_i(requester.punt_count),
      .read_i(requester.read_head),
      .paused_i(requester.paused),
      .asks_i(requester.asks),
      .waits_for_peer_o(requester.waits_for_peer),
      .waits_no_more_o(requester.waits_no_more),
      .asked_o(requester.asked),
      .has_windows_i,
      .lost_i(firmware.lost),
      .credit_known_i(requester.credit_known),
      .credit_limit_i(requester.credit_limit),
      .stall_o(requester.stall),
      .erratum_i(settings.erratum),
      .read_pop_o(requester.read_pop),
      .read_set_o(requester.read_set),
      .read_o(requester.read_rest),
      .pio_held_i(requester.block_held),
      .pio_index_i(requester.block_index),
      .pio_slot_i(requester.block),
      .pio_take_o(requester.block_take),
      .xlate_valid_o(xlate_of_requester.valid),
      .xlate_ready_i(xlate_of_requester.ready),
      .xlate_o(xlate_of_requester.req),
      .xlate_rsp_valid_i(xlate_of_requester.rsp_valid),
      .xlate_rsp_i(xlate_of_requester.rsp),
      .xlate_hold_o(xlate_of_requester.hold),
      .xlate_let_go_i(xlate_of_requester.let_go),
      .wqe_read_valid_o(wqe_read.valid),
      .wqe_read_ready_i(wqe_read.ready),
      .wqe_read_o(wqe_read.req),
      .wqe_beat_valid_i(wqe_read.beat_valid),
      .beat_i(wqe_read.beat),
      .payload_read_valid_o(payload_read.valid),
      .payload_read_ready_i(payload_read.ready),
      .payload_read_o(payload_read.req),
      .alloc_valid_i(transmit.alloc_valid),
      .alloc_ready_o(transmit.alloc_ready),
      .alloc_slot_i(transmit.alloc_slot),
      .quota_node_o(transmit.node),
      .quota_slots_o(transmit.slots),
      .quota_start_i(transmit.start),
      .quota_room_i(transmit.room),
      .submit_valid_o(transmit.valid),
      .submit_ready_i(transmit.ready),
      .submit_o(transmit.desc),
      .event_o(event_requester_o)
  );

  // ---- Responder
  logic rx_done_valid, rx_done_ready;
  rx_done_t rx_done;

  responder #(
      .N_QP(N_QP)
  ) u_responder (
      .clk_i,
      .rst_ni,
      .init_done_o(responder_init_done),
      .clear_i(command.qp_we && command.qp_clear),
      .clear_qpn_i(command.qpn),
      .clear_ring_i(responder.clear_ring),
      .clear_ring_id_i(responder.clear_ring_id),
      .posted_valid_i(responder.posted_valid),
      .posted_i(responder.posted),
      .look_i(command.qp_look),
      .look_qpn_i(command.qpn),
      .message_open_o(command.message_open),
      .quiesce_i(run.quiesce),
      .quiescent_o(responder_quiescent),
      .idle_o(responder_idle),
      .waits_o(responder_waits),
      .desc_valid_i(segment.valid),
      .desc_ready_o(segment.ready),
      .desc_i(segment.data),
      .refuse_valid_o(refusal.valid),
      .refuse_ready_i(refusal.ready),
      .refuse_put_off_i(refusal.put_off),
      .refusal_o(refusal.what),
      .qp_read_o(qp_of_responder.read),
      .qp_read_qpn_o(qp_of_responder.index),
      .qp_i(qp_of_responder.row),
      .peer_we_o(responder.peer_we),
      .peer_o(responder.peer),
      .refused_we_o(responder.refused_we),
      .refused_o(responder.refused),
      .rq_we_o(responder.rq_we),
      .rq_consumer_o(responder.rq_consumer),
      .srq_read_o(srq_of_responder.read),
      .srq_read_srqn_o(srq_of_responder.index),
      .srq_i(srq_of_responder.row),
      .srq_we_o(responder.srq_we),
      .srq_consumer_o(responder.srq_consumer),
      .srq_limit_o(responder.srq_limit),
      .srq_limit_event_o(host_event.srq_limit),
      .pull_count_i(responder.pull_count),
      .pull_i(responder.pull_head),
      .pull_pop_o(responder.pull_pop),
      .pull_set_o(responder.pull_set),
      .pull_o(responder.pull_rest),
      .read_count_i(responder.read_count),
      .punt_count_i(responder.punt_count),
      .read_push_o(responder.read_push),
      .read_o(responder.read_new),
      .firmware_i(firmware.active),
      .fw_grant_index_o(firmware.grant_index),
      .fw_grant_i(firmware.grant),
      .fw_placing_o(firmware.placing),
      .punt_reads_i(settings.pull_by_firmware),
      .punt_valid_o(firmware.punt_valid),
      .punt_ready_i(firmware.punt_ready),
      .punt_o(firmware.punt),
      .flush_valid_i(flush_valid),
      .flush_ready_o(flush_ready),
      .flush_qpn_i(qp_of_requester.index),
      .rx_done_valid_o(rx_done_valid),
      .rx_done_ready_i(rx_done_ready),
      .rx_done_o(rx_done),
      .fetch_xlate_valid_o(xlate_of_receives.valid),
      .fetch_xlate_ready_i(xlate_of_receives.ready),
      .fetch_xlate_o(xlate_of_receives.req),
      .fetch_xlate_rsp_valid_i(xlate_of_receives.rsp_valid),
      .fetch_xlate_rsp_i(xlate_of_receives.rsp),
      .fetch_read_valid_o(receive_read.valid),
      .fetch_read_ready_i(receive_read.ready),
      .fetch_read_o(receive_read.req),
      .fetch_beat_valid_i(receive_read.beat_valid),
      .beat_i(receive_read.beat),
      .status_valid_o(responder.status_valid),
      .status_ready_i(responder.status_ready),
      .status_qpn_o(responder.status_qpn),
      .status_o(responder.status),
      .pause_valid_o(responder.pause),
      .pause_code_o(responder.pause_code),
      .credit_valid_o(responder.taken),
      .credit_o(responder.taken_what),
      .wake_valid_o(wake_of_responder.valid),
      .wake_ready_i(wake_of_responder.ready),
      .wake_qpn_o(wake_of_responder.data),
      .qp_error_o(responder_error),
      .xlate_valid_o(xlate_of_responder.valid),
      .xlate_ready_i(xlate_of_responder.ready),
      .xlate_o(xlate_of_responder.req),
      .xlate_rsp_valid_i(xlate_of_responder.rsp_valid),
      .xlate_rsp_i(xlate_of_responder.rsp),
      .xlate_hold_o(xlate_of_responder.hold),
      .write_valid_o(placed.valid),
      .write_ready_i(placed.ready),
      .write_o(placed.data),
      .write_idle_i(written_i),
      .port_valid_o(port.valid),
      .port_ready_i(port.ready),
      .port_good_o(port.good),
      .port_o(port.message),
      .answer_valid_o(load_answer_valid_o),
      .answer_o(load_answer_o),
      .event_o(event_responder_o)
  );

  // ---- Completer
  tx_done_t done;
  assign done_valid = lost.valid || sent.valid;
  assign done = lost.valid ? lost.data : sent.data;
  assign lost.ready = done_ready;
  assign sent.ready = done_ready && !lost.valid;
  // It translates rings only.
  assign xlate_of_completer.hold = 1'b0;
  assign xlate_of_receives.hold = 1'b0;

  completer #(
      .N_CQ(N_CQ)
  ) u_completer (
      .clk_i,
      .rst_ni,
      .init_done_o(completer_init_done),
      .quiesce_i(run.quiesce),
      .quiescent_o(run.quiescent),
      .settled_o(completer_settled),
      .idle_o(completer_idle),
      .time_i(settings.now),
      .done_valid_i(done_valid),
      .done_ready_o(done_ready),
      .done_i(done),
      .rx_done_valid_i(rx_done_valid),
      .rx_done_ready_o(rx_done_ready),
      .rx_done_i(rx_done),
      .ended_we_o(completer.ended_we),
      .ended_o(completer.ended),
      .bell_valid_i(cq_bell.valid),
      .bell_ready_o(cq_bell.ready),
      .bell_busy_o(cq_bell_busy_o),
      .bell_i(cq_bell.data),
      .qp_read_o(qp_of_completer.read),
      .qp_read_qpn_o(qp_of_completer.index),
      .qp_i(qp_of_completer.row),
      .status_valid_o(completer.status_valid),
      .status_ready_i(completer.status_ready),
      .status_qpn_o(completer.status_qpn),
      .status_o(completer.status),
      .wake_valid_o(wake_of_completer.valid),
      .wake_ready_i(wake_of_completer.ready),
      .wake_qpn_o(wake_of_completer.data),
      .qp_error_o(completer_error),
      .cq_error_o(host_event.cq_error),
      .cq_error_cqn_o(host_event.cqn),
      .config_we_i(command.cq_we),
      .config_cqn_i(command.cqn),
      .config_i(command.cq_config),
      .config_o(command.cq_now),
      .xlate_valid_o(xlate_of_completer.valid),
      .xlate_ready_i(xlate_of_completer.ready),
      .xlate_o(xlate_of_completer.req),
      .xlate_rsp_valid_i(xlate_of_completer.rsp_valid),
      .xlate_rsp_i(xlate_of_completer.rsp),
      .write_valid_o(completion.valid),
      .write_ready_i(completion.ready),
      .write_o(completion.data),
      .event_o(event_completer_o)
  );

endmodule
