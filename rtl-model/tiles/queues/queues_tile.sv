// SPDX-License-Identifier: BSD-2-Clause
// What the RNIC knows of its queues: queue pairs, shared receive queues, RDMA Read Requests under way,
// credits, pauses; and whose turn it is.

module queues_tile
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    run_if.tile run,
    input logic [63:0] time_i,
    output logic watches_o,  // see exrnic_core, and the next
    output logic ticks_o,

    table_read_if.server         qp[QP_CLIENTS],  // but credits and turns_ahead, which are in here
    table_read_if.server         srq[SRQ_CLIENTS],
    command_if.queues            command,
    post_if.queues               post,
    requester_queues_if.queues   requester,
    responder_queues_if.queues   responder,
    completer_queues_if.queues   completer,
    firmware_queues_if.queues    firmware,
    failed_if.source             failed,

    stream_if.sink        wake[WAKE_SOURCES-2],  // but pause and pull_watch, which are in here
    stream_if.source      turn,
    stream_if.source      credit,
    input logic           heard_i,  // pulse: what a peer tells of its receives
    input credit_update_t heard_what_i,

    output event_t event_credits_o
);

  logic qp_init_done, srq_init_done, pulls_init_done, reads_init_done, scheduler_init_done;
  logic pulls_move, reads_move;
  logic credits_init_done, credits_idle, pause_idle, watch_idle, retry_idle;
  assign run.init_done = qp_init_done && srq_init_done && pulls_init_done && reads_init_done &&
      scheduler_init_done && credits_init_done;
  assign run.waits = credits_idle && pause_idle && watch_idle && retry_idle && ahead_idle;
  assign run.idle = run.waits;
  assign run.reads_over = 1'b1;
  assign run.writes_over = 1'b1;
  assign run.quiescent = !pulls_move && !reads_move;

  logic cleared;  // a new life of queue pair command.qpn begins
  assign cleared = command.qp_we && command.qp_clear;

  // ---- Queue pairs
  logic [QP_CLIENTS-1:0] qp_read;
  qpn_t qp_index[QP_CLIENTS];
  qp_t qp_row[QP_CLIENTS];
  for (genvar i = 0; i < QP_CLIENTS - 2; i++) begin : g_qp
    assign qp_read[i] = qp[i].read;
    assign qp_index[i] = qp[i].index;
    assign qp[i].row = qp_row[i];
  end

  qpn_t requester_qpn, responder_qpn;
  assign requester_qpn = qp[QP_REQUESTER].index;
  assign responder_qpn = qp[QP_RESPONDER].index;

  logic [2:0] status_valid, status_ready;
  qpn_t status_qpn[3];
  qp_status_t status[3];
  assign status_valid = {requester.status_valid, completer.status_valid, responder.status_valid};
  assign status_qpn[0] = responder.status_qpn;
  assign status_qpn[1] = completer.status_qpn;
  assign status_qpn[2] = requester_qpn;
  assign status[0] = responder.status;
  assign status[1] = completer.status;
  assign status[2] = requester.status;
  assign responder.status_ready = status_ready[0];
  assign completer.status_ready = status_ready[1];
  assign requester.status_ready = status_ready[2];
  for (genvar i = 0; i < 3; i++) begin : g_failed
    assign failed.valid[i] = status_valid[i] && status[i].state == QP_STATE_ERROR;
    assign failed.qpn[i] = status_qpn[i];
  end

  qp_table u_qp_table (
      .clk_i,
      .rst_ni,
      .init_done_o(qp_init_done),
      .read_i(qp_read),
      .read_qpn_i(qp_index),
      .read_o(qp_row),
      .config_we_i(command.qp_we),
      .config_qpn_i(command.qpn),
      .config_i(command.qp_config),
      .config_status_i(command.qp_status),
      .config_clear_i(command.qp_clear),
      .status_valid_i(status_valid),
      .status_ready_o(status_ready),
      .status_qpn_i(status_qpn),
      .status_i(status),
      .peer_we_i(responder.peer_we),
      .peer_qpn_i(responder_qpn),
      .peer_i(responder.peer),
      .refused_we_i(responder.refused_we),
      .refused_qpn_i(responder_qpn),
      .refused_i(responder.refused),
      .sq_we_i(requester.sq_we),
      .sq_qpn_i(requester_qpn),
      .sq_i(requester.sq),
      .ended_we_i(completer.ended_we),
      .ended_qpn_i(completer.status_qpn),
      .ended_i(completer.ended),
      .producer_we_i(post.valid),
      .producer_rq_i(post.rq),
      .producer_qpn_i(post.qpn),
      .producer_i(post.producer),
      .rq_consumer_we_i(responder.rq_we),
      .rq_consumer_qpn_i(responder_qpn),
      .rq_consumer_i(responder.rq_consumer)
  );

  // ---- RDMA Read Requests under way: ours, and the peer's. Requester, responder and mailbox look at
  // how many there are together with the queue pair.
  localparam int unsigned RequesterLooks = 0;
  localparam int unsigned ResponderLooks = 1;
  logic [2:0] look;
  qpn_t look_qpn[3];
  reads_t pull_count[3], read_count[3];
  /* verilator lint_off UNUSEDSIGNAL */  // nobody asks for that
  logic read_last;
  /* verilator lint_on UNUSEDSIGNAL */
  logic pull_last, answered;
  assign look = {qp[QP_MAILBOX].read, qp[QP_RESPONDER].read, qp[QP_REQUESTER].read};
  assign look_qpn[0] = requester_qpn;
  assign look_qpn[1] = responder_qpn;
  assign look_qpn[2] = qp[QP_MAILBOX].index;
  assign firmware.look = look;
  for (genvar i = 0; i < 3; i++) begin : g_look
    assign firmware.look_qpn[i] = look_qpn[i];
  end
  assign requester.pull_count = pull_count[0];
  assign requester.read_count = read_count[0];
  assign requester.punt_count = firmware.open[0];
  assign responder.pull_count = pull_count[1];
  assign responder.read_count = read_count[1] + firmware.open[1];
  assign command.pull_count = pull_count[2];
  // Those that are lost with firmware are over when the peer has been told, or is gone.
  logic tells;
  assign tells = qp_row[QP_MAILBOX].status.told || qp_row[QP_MAILBOX].status.tried;
  assign command.read_count = read_count[2] + (firmware.lost && tells ? '0 : firmware.open[2]);
  assign firmware.answer_ready = !responder.read_push;
  assign answered = firmware.answer_valid && firmware.answer_ready;

  qp_fifo #(
      .PLACES(N_READS),
      .WIDTH($bits(pull_t)),
      .TAKER(ResponderLooks)
  ) u_pulls (
      .clk_i,
      .rst_ni,
      .init_done_o(pulls_init_done),
      .look_i(look),
      .look_qpn_i(look_qpn),
      .count_o(pull_count),
      .head_o(responder.pull_head),
      .push_i(requester.pull_push),
      .push_qpn_i(requester_qpn),
      .push_data_i(requester.pull_new),
      .pop_i(responder.pull_pop),
      .set_i(responder.pull_set),
      .pop_qpn_i(responder_qpn),
      .last_o(pull_last),
      .set_data_i(responder.pull_rest),
      .clear_i(cleared),
      .take_i(command.reads_take),
      .give_i(command.reads_give),
      .clear_qpn_i(command.qpn),
      .limit_i(command.qp_config.places_out),
      .free_o(command.pulls_free),
      .moves_o(pulls_move)
  );

  qp_fifo #(
      .PLACES(N_READS),
      .WIDTH($bits(read_t)),
      .TAKER(RequesterLooks)
  ) u_reads (
      .clk_i,
      .rst_ni,
      .init_done_o(reads_init_done),
      .look_i(look),
      .look_qpn_i(look_qpn),
      .count_o(read_count),
      .head_o(requester.read_head),
      .push_i(responder.read_push || answered),
      .push_qpn_i(answered ? firmware.answer_qpn : responder_qpn),
      .push_data_i(answered ? firmware.answer : responder.read_new),
      .pop_i(requester.read_pop),
      .set_i(requester.read_set),
      .pop_qpn_i(requester_qpn),
      .last_o(read_last),
      .set_data_i(requester.read_rest),
      .clear_i(cleared),
      .take_i(command.reads_take),
      .give_i(command.reads_give),
      .clear_qpn_i(command.qpn),
      .limit_i(command.qp_config.places_in),
      .free_o(command.reads_free),
      .moves_o(reads_move)
  );

  // ---- Shared receive queues
  logic [SRQ_CLIENTS-1:0] srq_read;
  srqn_t srq_index[SRQ_CLIENTS];
  srq_t srq_row[SRQ_CLIENTS];
  for (genvar i = 0; i < SRQ_CLIENTS; i++) begin : g_srq
    assign srq_read[i] = srq[i].read;
    assign srq_index[i] = srq[i].index;
    assign srq[i].row = srq_row[i];
  end

  srq_table u_srq_table (
      .clk_i,
      .rst_ni,
      .init_done_o(srq_init_done),
      .read_i(srq_read),
      .read_srqn_i(srq_index),
      .read_o(srq_row),
      .config_we_i(command.srq_we),
      .config_srqn_i(command.srqn),
      .config_i(command.srq_config),
      .config_limit_i(command.srq_limit),
      .config_clear_i(command.srq_clear),
      .producer_we_i(post.srq_valid),
      .producer_srqn_i(srq_index[SRQ_USER_PAGE]),
      .producer_i(post.srq_producer),
      .consumer_we_i(responder.srq_we),
      .consumer_srqn_i(srq_index[SRQ_RESPONDER]),
      .consumer_i(responder.srq_consumer),
      .limit_i(responder.srq_limit)
  );

  assign requester.clear_ring = cleared;
  assign requester.clear_qpn = qpn_t'(command.qpn);

  // Receives that were posted are fetched before their messages come, as the user page sees them.
  assign responder.posted_valid = (post.valid && post.rq) || post.srq_valid;
  assign responder.clear_ring = cleared || (command.srq_we && command.srq_clear);
  always_comb begin
    if (command.srq_we) responder.clear_ring_id = '{shared: 1'b1, number: qpn_t'(command.srqn)};
    else responder.clear_ring_id = '{shared: 1'b0, number: qpn_t'(command.qpn)};
    if (post.srq_valid) begin
      responder.posted = '{
          id: '{shared: 1'b1, number: qpn_t'(srq_index[SRQ_USER_PAGE])},
          pbl: srq_row[SRQ_USER_PAGE].cfg.pbl,
          log_slots: srq_row[SRQ_USER_PAGE].cfg.log_slots,
          consumer: srq_row[SRQ_USER_PAGE].consumer,
          producer: post.srq_producer
      };
    end else begin
      responder.posted = '{
          id: '{shared: 1'b0, number: qpn_t'(post.qpn)},
          pbl: qp_row[QP_USER_PAGE].cfg.rq_pbl,
          log_slots: qp_row[QP_USER_PAGE].cfg.rq_log,
          consumer: qp_row[QP_USER_PAGE].rq_consumer,
          producer: post.producer
      };
    end
  end

  // ---- Whose turn it is
  logic [WAKE_SOURCES-1:0] wake_valid, wake_ready;
  qpn_t wake_qpn[WAKE_SOURCES];
  for (genvar i = 0; i < WAKE_SOURCES - 2; i++) begin : g_wake
    assign wake_valid[i] = wake[i].valid;
    assign wake_qpn[i] = wake[i].data;
    assign wake[i].ready = wake_ready[i];
  end

  logic next_valid, next_ready, ahead_idle;
  qpn_t next_qpn;
  scheduler #(
      .SOURCES(WAKE_SOURCES)
  ) u_scheduler (
      .clk_i,
      .rst_ni,
      .init_done_o(scheduler_init_done),
      .push_valid_i(wake_valid),
      .push_ready_o(wake_ready),
      .push_qpn_i(wake_qpn),
      .pop_valid_o(turn.valid),
      .pop_ready_i(turn.ready),
      .pop_qpn_o(turn.data),
      .next_valid_o(next_valid),
      .next_ready_i(next_ready),
      .next_qpn_o(next_qpn),
      .serving_qpn_i(requester_qpn),
      .others_wait_o(requester.others_wait)
  );

  turns_ahead u_turns_ahead (
      .clk_i,
      .rst_ni,
      .quiesce_i(run.quiesce),
      .idle_o(ahead_idle),
      .next_valid_i(next_valid),
      .next_ready_o(next_ready),
      .next_qpn_i(next_qpn),
      .qp_read_o(qp_read[QP_AHEAD]),
      .qp_index_o(qp_index[QP_AHEAD]),
      .qp_i(qp_row[QP_AHEAD]),
      .wish_valid_o(requester.wish_valid),
      .wish_ready_i(requester.wish_ready),
      .wish_o(requester.wish)
  );

  // ---- Receives of the peers: what we tell, what we are told
  logic raised;
  qpn_t raised_qpn;
  credits u_credits (
      .clk_i,
      .rst_ni,
      .init_done_o(credits_init_done),
      .idle_o(credits_idle),
      .reset_i(cleared),
      .reset_qpn_i(command.qpn),
      .failed_i(failed.valid),
      .failed_qpn_i(status_qpn),
      .posted_i(post.valid && post.rq),
      .posted_qpn_i(post.qpn),
      .posted_producer_i(credit_t'(post.producer)),
      .taken_i(responder.taken),
      .taken_what_i(responder.taken_what),
      .update_valid_o(credit.valid),
      .update_ready_i(credit.ready),
      .update_o(credit.data),
      .heard_i,
      .heard_what_i,
      .qp_read_o(qp_read[QP_CREDITS]),
      .qp_read_qpn_o(qp_index[QP_CREDITS]),
      .qp_i(qp_row[QP_CREDITS]),
      .raised_o(raised),
      .raised_qpn_o(raised_qpn),
      .look_qpn_i(requester_qpn),
      .known_o(requester.credit_known),
      .limit_o(requester.credit_limit),
      .event_o(event_credits_o)
  );

  // ---- Who waits: for a receive of its peer, for credits; for the answer to a PULL or an introduction
  qpn_t pause_clear_qpn[4];
  assign pause_clear_qpn[0:2] = status_qpn;
  assign pause_clear_qpn[3] = command.qpn;
  logic silenced;  // by a command: other changes leave its pause as it is
  assign silenced = command.qp_we && !qp_sends(command.qp_status.state);
  pause u_pause (
      .clk_i,
      .rst_ni,
      .idle_o(pause_idle),
      .time_i,
      .start_i(responder.pause),
      .start_qpn_i(status_qpn[0]),
      .start_code_i(responder.pause_code),
      .wait_i(requester.stall),
      .wait_qpn_i(requester_qpn),
      .raised_i(raised),
      .raised_qpn_i(raised_qpn),
      .clear_i({silenced, failed.valid}),
      .clear_qpn_i(pause_clear_qpn),
      .look_qpn_i(requester_qpn),
      .pauses_o(requester.paused),
      .wake_valid_o(wake_valid[WAKE_OF_PAUSE]),
      .wake_ready_i(wake_ready[WAKE_OF_PAUSE]),
      .wake_qpn_o(wake_qpn[WAKE_OF_PAUSE])
  );

  pull_watch u_pull_watch (
      .clk_i,
      .rst_ni,
      .idle_o(watch_idle),
      .watches_o,
      .time_i,
      .begin_i(requester.pull_push || requester.waits_for_peer),
      .asked_i(requester.asked),
      .over_i(requester.waits_no_more),
      .own_qpn_i(requester_qpn),
      .heard_i(responder.pull_pop || responder.pull_set),
      .none_i(responder.pull_pop && pull_last),
      .heard_qpn_i(responder_qpn),
      .clear_i(cleared),
      .clear_qpn_i(command.qpn),
      .look_qpn_i(requester_qpn),
      .asks_o(requester.asks),
      .wake_valid_o(wake_valid[WAKE_OF_PULL_WATCH]),
      .wake_ready_i(wake_ready[WAKE_OF_PULL_WATCH]),
      .wake_qpn_o(wake_qpn[WAKE_OF_PULL_WATCH])
  );

  // ---- Of whose work nothing is heard: a change by the driver counts as a word
  /* verilator lint_off UNUSEDSIGNAL */  // some fields count
  qp_t changed;
  /* verilator lint_on UNUSEDSIGNAL */
  logic work_out;
  assign changed = qp_row[QP_MAILBOX];
  assign work_out = qp_sends(command.qp_status.state) && !command.qp_clear &&
      (changed.sq.issued != changed.ended.count || pull_count[2] != '0 ||
       (changed.sq.progress != '0 && !changed.status.rnr));
  retry_watch u_retry_watch (
      .clk_i,
      .rst_ni,
      .idle_o(retry_idle),
      .ticks_o,
      .time_i,
      .config_we_i(command.qp_we),
      .config_qpn_i(command.qpn),
      .timeout_i(command.qp_config.timeout),
      .retries_i(command.qp_config.retry_count),
      .config_out_i(work_out),
      .config_pulls_i(work_out && pull_count[2] != '0),
      .begin_i(requester.sends),
      .begin_pull_i(requester.pull_push),
      .own_qpn_i(requester_qpn),
      .acked_i(completer.heard),
      .acked_none_i(completer.heard_none),
      .acked_error_i(completer.heard_error),
      .acked_qpn_i(completer.status_qpn),
      .answered_i(responder.pull_pop || responder.pull_set),
      .answered_none_i(responder.pull_pop && pull_last),
      .answered_qpn_i(responder_qpn),
      .failed_i(failed.valid),
      .failed_qpn_i(status_qpn),
      .silent_valid_o(completer.silent_valid),
      .silent_ready_i(completer.silent_ready),
      .silent_qpn_o(completer.silent_qpn)
  );

  // ---- Work requests that came whole through a user page
  pio_hold u_pio_hold (
      .clk_i,
      .rst_ni,
      .put_i(post.block_valid),
      .put_qpn_i(post.qpn),
      .put_index_i(post.producer - 1'b1),
      .put_slot_i(post.block),
      .look_i(qp[QP_REQUESTER].read),
      .look_qpn_i(requester_qpn),
      .held_o(requester.block_held),
      .index_o(requester.block_index),
      .slot_o(requester.block),
      .take_i(requester.block_take),
      .drop_i(command.qp_we),
      .drop_qpn_i(command.qpn)
  );

endmodule
