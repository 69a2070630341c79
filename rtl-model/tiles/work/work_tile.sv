// SPDX-License-Identifier: BSD-2-Clause
// Work: the requester sends what is asked for, the responder places what comes, the completer tells of
// the end.

module work_tile
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
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
    xlate_if.client     xlate_of_slots,
    xlate_if.client     xlate_of_responder,
    xlate_if.client     xlate_of_completer,
    xlate_if.client     xlate_of_receives,
    dma_read_if.client  wqe_read,
    dma_read_if.asker   payload_read,
    dma_read_if.client  receive_read,
    stream_if.source    placed,
    stream_if.source    completion,
    input logic         written_i,  // nothing accepted is still to be written
    writes_if.reader    writes,

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
    host_event_if.work host_event,

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
  qp_cause_e requester_cause, responder_cause, completer_cause;
  assign host_event.qp_error = requester_error || responder_error || completer_error;
  always_comb begin
    if (responder_error) begin
      host_event.qpn = responder.status_qpn;
      host_event.cause = responder_cause;
    end else if (completer_error) begin
      host_event.qpn = completer.status_qpn;
      host_event.cause = completer_cause;
    end else begin
      host_event.qpn = qp_of_requester.index;
      host_event.cause = requester_cause;
    end
  end
  assign host_event.srqn = srq_of_responder.index;
  assign host_event.completion_cqn = host_event.cqn;
  assign host_event.last_wqe_qpn = completer.status_qpn;
  assign host_event.sq_drained_qpn = completer.status_qpn;

  // ---- Requester
  logic flush_valid, flush_ready;

  requester u_requester (
      .clk_i,
      .rst_ni,
      .settings,
      .queues(requester),
      .quiesce_i(run.quiesce),
      .quiescent_o(requester_quiescent),
      .idle_o(requester_idle),
      .waits_o(requester_waits),
      .turns(turn),
      .wake(wake_of_requester),
      .qp(qp_of_requester),
      .qp_error_o(requester_error),
      .qp_cause_o(requester_cause),
      .transmit,
      .flush_valid_o(flush_valid),
      .flush_ready_i(flush_ready),
      .has_windows_i,
      .lost_i(firmware.lost),
      .xlate(xlate_of_requester),
      .slots_xlate(xlate_of_slots),
      .wqe_read,
      .payload_read,
      .writes,
      .event_o(event_requester_o)
  );

  // ---- Responder
  logic rx_done_valid, rx_done_ready;
  rx_done_t rx_done;

  responder u_responder (
      .clk_i,
      .rst_ni,
      .init_done_o(responder_init_done),
      .clear_i(command.qp_we && command.qp_clear),
      .clear_qpn_i(command.qpn),
      .queues(responder),
      .look_i(command.qp_look),
      .look_qpn_i(command.qpn),
      .message_open_o(command.message_open),
      .quiesce_i(run.quiesce),
      .quiescent_o(responder_quiescent),
      .idle_o(responder_idle),
      .waits_o(responder_waits),
      .desc(segment),
      .refusal,
      .qp(qp_of_responder),
      .srq(srq_of_responder),
      .srq_limit_event_o(host_event.srq_limit),
      .firmware,
      .punt_reads_i(settings.pull_by_firmware),
      .pkeys_i(settings.pkeys),
      .flush_valid_i(flush_valid),
      .flush_ready_o(flush_ready),
      .flush_qpn_i(qp_of_requester.index),
      .rx_done_valid_o(rx_done_valid),
      .rx_done_ready_i(rx_done_ready),
      .rx_done_o(rx_done),
      .fetch_xlate(xlate_of_receives),
      .fetch_read(receive_read),
      .wake(wake_of_responder),
      .qp_error_o(responder_error),
      .qp_cause_o(responder_cause),
      .xlate(xlate_of_responder),
      .write(placed),
      .write_idle_i(written_i),
      .port,
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

  completer u_completer (
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
      .queues(completer),
      .bell(cq_bell),
      .bell_busy_o(cq_bell_busy_o),
      .qp(qp_of_completer),
      .wake(wake_of_completer),
      .qp_error_o(completer_error),
      .qp_cause_o(completer_cause),
      .cq_error_o(host_event.cq_error),
      .cq_error_cqn_o(host_event.cqn),
      .last_wqe_o(host_event.last_wqe),
      .sq_drained_o(host_event.sq_drained),
      .completion_o(host_event.completion),
      .completion_eqn_o(host_event.completion_eqn),
      .command,
      .xlate(xlate_of_completer),
      .write(completion),
      .event_o(event_completer_o)
  );

endmodule
