// SPDX-License-Identifier: BSD-2-Clause
// Gives queue pairs their turns: executes work requests, answers the peer's RDMA Read Requests, and
// in ERROR ends what is left. It cuts messages into segments, asks for their payload by DMA
// straight into a slot of the retransmission buffer, and submits the slot; it never waits for
// payload. A work request that is not sent takes a slot too, so that completions come in order.

`include "exrnic_assert.svh"

module requester
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    settings_if.user settings,
    input logic      quiesce_i,  // begin nothing that touches a table or host memory
    output logic     quiescent_o,
    output logic     idle_o,
    output logic     waits_o,    // for work requests that have been asked for

    stream_if.sink   turns, // a queue pair,
    stream_if.source wake,  // which comes again, behind the others

    // All of these are of queue pair qp.index. What it is at comes with its row.
    table_read_if.client          qp,
    requester_queues_if.requester queues,
    input logic                   has_windows_i,  // one cycle later than its row
    input logic                   lost_i,         // firmware has lost requests of it
    output logic                  qp_error_o,     // pulse: a queue pair went to ERROR,
    output qp_cause_e             qp_cause_o,     // for this reason
    output logic                  flush_valid_o,  // in ERROR the responder has something to end; or in SQD it has drained
    input  logic                  flush_ready_i,

    xlate_if.client        xlate,  // what it asks for may be withdrawn, with the end of a turn
    xlate_if.client        slots_xlate,
    dma_read_if.client     wqe_read,
    dma_read_if.asker      payload_read,
    writes_if.reader       writes,
    transmit_if.requester  transmit,

    output event_t event_o
);

  assign transmit.goes_back_qpn = qp.index;

  step_e step;
  segment_t segment;
  logic last, ends, submitted;
  assign submitted = transmit.valid && transmit.ready;

  pick_t pick;
  turn_pick u_pick (
      .clk_i,
      .qp_i(qp.row),
      .qpn_i(segment.qpn),
      .pull_count_i(queues.pull_count),
      .read_count_i(queues.read_count),
      .read_i(queues.read_head),
      .punt_count_i(queues.punt_count),
      .lost_i,
      .paused_i(queues.paused),
      .asks_i(queues.asks),
      .take_i(step == STEP_TURN),
      .pick_o(pick)
  );

  // ---- The work request in hand
  work_batch_if work ();
  word_index_t word_index;
  sge_t word;
  logic work_held, work_waits, work_quiescent, work_idle;

  // Every turn empties the place of the copy, but one before the work begins: what was not used then
  // would be out of date.
  logic first_work_q, used_q;
  always_ff @(posedge clk_i) begin
    if (step == STEP_TURN) begin
      first_work_q <= pick.turn == TURN_WORK;
      used_q       <= work_held;
    end else if (step == STEP_BEGIN) begin
      first_work_q <= 1'b0;
    end
  end
  assign queues.block_take = queues.block_held && ((step == STEP_BEGIN && first_work_q && !no_peer) ||
      (step == STEP_TURN && !(pick.turn inside {TURN_WORK, TURN_INTRODUCE}) && !pick.wants_answer));
  assign work_held = queues.block_held && pick.turn == TURN_WORK && queues.block_index == qp.row.sq.consumer;

  work_batch u_work (
      .clk_i,
      .rst_ni,
      .quiesce_i,
      .turn(work),
      .held_i(work_held),
      .held_slot_i(queues.block),
      .waits_o(work_waits),
      .quiescent_o(work_quiescent),
      .idle_o(work_idle),
      .wish_valid_i(queues.wish_valid),
      .wish_ready_o(queues.wish_ready),
      .wish_i(queues.wish),
      .clear_i(queues.clear_ring),
      .clear_qpn_i(queues.clear_qpn),
      .qp_i(qp.row),
      .qpn_i(segment.qpn),
      .others_wait_i(queues.others_wait),
      .slots_only_i(segment.turn == TURN_FLUSH),
      .has_windows_i,
      .settings,
      .word_index_i(word_index),
      .word_o(word),
      .xlate(slots_xlate),
      .read(wqe_read)
  );

  wqe_t wqe;
  assign wqe = work.request.wqe;
  wqe_opcode_properties_t op;
  assign op = of_wqe_opcode(wqe.opcode);

  // ---- Its payload, or that of a response
  payload_gather_if gather ();
  xlate_if xlate_payload ();
  sge_t source;
  logic [31:0] skip;
  logic [7:0] access;

  // What goes before an Immediate Data message that found no receive is placed.
  logic resumes, probe, begs;
  assign resumes = qp.row.sq.probe_due && op.immediate;

  // Its next message is one more than the peer has told of receives: it may leave by itself, when
  // nothing else is under way and it has waited.
  logic beyond, stalls;
  assign beyond = queues.credit_known &&
      credit_beyond(credit_t'(qp.row.sq.send_msn) + 1'b1, queues.credit_limit);
  assign stalls = beyond && op.receive && !qp.row.sq.probe_due && qp.row.sq.progress == '0 &&
      !(qp.row.sq.credit_wait && qp.row.sq.issued == qp.row.ended.count);

  always_comb begin
    // What earlier turns have submitted; the ring may say another length by now.
    skip = qp.row.sq.progress < wqe.length ? qp.row.sq.progress : wqe.length;
    source = '{stag: wqe.sge0_stag, length: wqe.sge0_length, address: wqe.sge0_address};
    if (resumes) skip = wqe.length;
    access = '0;  // local read is always granted
    if (op.pull) begin
      skip = '0;
      access = 8'd1 << ACCESS_LOCAL_WRITE;
    end
    if (segment.turn == TURN_READ) begin
      skip = segment.read.done;
      source.stag = segment.read.request.source_stag;
      source.length = segment.read.request.length;
      source.address = segment.read.request.source_to;
      access = 8'd1 << ACCESS_REMOTE_READ;
    end
  end

  // The erratum of the second prototype: a response of hardware's that gave way to own work forgets
  // where it was.
  logic gave_way_q, astray_q;
  always_ff @(posedge clk_i) begin
    if (step == STEP_TURN) begin
      gave_way_q <= pick.turn == TURN_WORK || (gave_way_q && pick.turn != TURN_READ);
      astray_q   <= settings.erratum && pick.turn == TURN_READ && gave_way_q && !queues.read_head.firmware;
    end
  end

  // What follows a PULL may read what that has brought: first this is to be written.
  write_count_t writes_q;
  logic follows;
  assign follows = step == STEP_BEGIN && segment.turn == TURN_WORK && qp.row.sq.pulled && !op.pull;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) writes_q <= '0;
    else if (follows) writes_q <= writes.waiting;
    else if (writes.ends && writes_q != '0) writes_q <= writes_q - 1'b1;
  end

  payload_gather u_gather (
      .clk_i,
      .rst_ni,
      .quiesce_i,
      .turn(gather),
      .first_i(source),
      .count_i(segment.turn == TURN_READ ? sges_t'(1) : sges_t'(wqe.num_sge)),
      .next_word_i(work.request.second_sge),
      .skip_i(astray_q ? '0 : skip),
      .word_index_o(word_index),
      .word_i(word),
      .take_i(queues.pull_push),
      .ahead_i(work.ahead && segment.turn == TURN_WORK && !op.stays),
      .ahead_sge_i(work.ahead_sge),
      .ahead_pulls_i(work.ahead_pulls),
      .over_i(step == STEP_IDLE),
      .look_i(segment.turn == TURN_WORK && op.pull),
      .slot_valid_i(step == STEP_GATHER),
      .read_i(writes_q == '0),
      .slot_i(segment.slot),
      .segment_i(segment.payload),
      .pd_i(segment.pd),
      .qpn_i(segment.qpn),
      .generation_i(segment.generation),
      .access_i(access),
      .xlate(xlate_payload),
      .read(payload_read)
  );

  // ---- The turn
  xlate_if xlate_change ();
  logic pull_last;
  logic [31:0] next_offset;
  chunk_t mtu;  // most bytes of a segment
  assign mtu = qp.row.cfg.path_mtu < settings.mtu ? qp.row.cfg.path_mtu : settings.mtu;
  turn_control u_control (
      .clk_i,
      .rst_ni,
      .mtu_i(mtu),
      .more_turns_i(queues.others_wait),
      .quiesce_i,
      .qp_i(qp.row),
      .pull_count_i(queues.pull_count),
      .read_i(queues.read_head),
      .pick_i(pick),
      .work,
      .op_i(op),
      .skip_i(skip),
      .resumes_i(resumes),
      .probe_i(probe),
      .stalls_i(stalls),
      .stall_o(queues.stall),
      .no_peer_o(no_peer),
      .gather,
      .change(xlate_change),
      .turn_valid_i(turns.valid),
      .turn_qpn_i(turns.data),
      .wake_ready_i(wake.ready),
      .flush_ready_i,
      .status_ready_i(status_ready),
      .alloc_valid_i(transmit.alloc_valid),
      .alloc_slot_i(transmit.alloc_slot),
      .node_i(node_t'(settings.node)),
      .quota_slots_o(transmit.slots),
      .quota_start_i(transmit.start),
      .quota_room_i(transmit.room),
      .submit_ready_i(transmit.ready),
      .step_o(step),
      .segment_o(segment),
      .last_o(last),
      .ends_o(ends),
      .pull_last_o(pull_last),
      .next_offset_o(next_offset)
  );

  assign idle_o = step == STEP_IDLE && work_idle && gather.quiet;
  assign waits_o = step inside {STEP_IDLE, STEP_WORK} && work_waits && gather.idle;
  assign quiescent_o = work_quiescent && gather.quiet && step inside {STEP_IDLE, STEP_HAND_OVER, STEP_ALLOC};
  assign turns.ready = step == STEP_IDLE && !quiesce_i;
  assign transmit.alloc_ready = step == STEP_ALLOC && !quiesce_i;
  // What is flushed behind a withdrawal waits for nothing that was sent to the peer.
  logic flushes_alone;
  assign flushes_alone = qp.row.sq.withdrawn &&
      (step == STEP_TURN ? pick.turn : segment.turn) == TURN_FLUSH;
  assign transmit.node = flushes_alone ? node_t'(settings.node) : qp.row.cfg.dest_node;
  assign transmit.valid = step == STEP_SUBMIT;
  assign flush_valid_o = step == STEP_HAND_OVER;
  assign wake.valid = step == STEP_WAKE;
  assign wake.data = segment.qpn;

  // Read again for each work request, and when a slot is there.
  assign qp.index = step == STEP_IDLE ? turns.data : segment.qpn;
  assign qp.read = step inside {STEP_IDLE, STEP_WORK, STEP_ALLOC, STEP_STATUS_READ};

  xlate_turns u_xlate (
      .payload(xlate_payload),
      .change(xlate_change),
      .xlate
  );

  // ---- Where its own work stands
  logic sent, completes;
  logic [31:0] msn;
  wqe_index_t last_slot;
  assign sent = segment.status == CQE_STATUS_SUCCESS;
  // With a question: of the last PULL that has begun; nothing else can be under way. With an introduction: of
  // none.
  assign last_slot =
      qp.row.sq.consumer + (segment.turn inside {TURN_ASK, TURN_INTRODUCE} ? '0 : wqe_index_t'(work.request.slots)) - 1'b1;
  assign queues.sq_we = goes_back || queues.stall || no_peer || (submitted && !segment.returned &&
      (segment.turn inside {TURN_WORK, TURN_FLUSH} || answers_atomic || introduces));
  work_progress u_progress (
      .sq_i(qp.row.sq),
      .op_i(op),
      .slots_i(work.request.slots),
      .sent_i(sent),
      .immediate_i(segment.immediate),
      .ends_i(ends),
      .offset_i(segment.offset),
      .next_i(next_offset),
      .beyond_i(beyond),
      .msn_o(msn),
      .completes_o(completes),
      .probe_o(probe),
      .begs_o(begs),
      .sq_o(work_sq)
  );
  logic answers_atomic, introduces, no_peer;
  qp_sq_t work_sq;
  assign introduces = segment.turn == TURN_INTRODUCE;
  assign answers_atomic = segment.turn == TURN_READ && segment.read.answer == ANSWER_ATOMIC;
  always_comb begin
    queues.sq = work_sq;
    if (answers_atomic) begin
      queues.sq = qp.row.sq;
      queues.sq.atomic_msn = qp.row.sq.atomic_msn + 1'b1;
    end
    if (introduces) begin
      queues.sq = qp.row.sq;
      queues.sq.introduced = 1'b1;
      queues.sq.answered = qp.row.peer.changes;
      queues.sq.asked = segment.wants;
    end
    if (goes_back) queues.sq = back_sq;
    if (no_peer) begin
      queues.sq = qp.row.sq;
      queues.sq.needs_peer = 1'b1;
    end
    if (queues.stall) begin
      queues.sq = qp.row.sq;
      queues.sq.credit_wait = 1'b1;
    end
  end

  // Read as it is now, and nobody else writes a status.
  logic goes_back;
  qp_sq_t back_sq;
  qp_status_t back_status;
  logic withdraws, status_ready;
  assign goes_back = segment.turn == TURN_GO_BACK && queues.status_valid && queues.status_ready;
  assign withdraws = segment.turn == TURN_GO_BACK && qp.row.ended.withdrawn;
  assign transmit.goes_back = goes_back && !withdraws;
  assign transmit.withdraw_valid = step == STEP_STATUS && withdraws;  // to say it twice does no harm
  assign transmit.goes_back_generation = qp.row.cfg.generation;
  assign status_ready = queues.status_ready && (!transmit.withdraw_valid || transmit.withdraw_ready);
  go_back u_back (
      .qp_i(qp.row),
      .sq_o(back_sq),
      .status_o(back_status)
  );

  // The element that an RDMA Read Request is for; none in a PULL without bytes.
  sge_t sink;
  assign sink = gather.sge;
  assign queues.pull_push = submitted && queues.sq_we && !answers_atomic && !introduces && op.pull && sent;
  assign queues.pull_new = '{
          stag: sink.stag,
          to: sink.address,
          left: sink.length,
          last: pull_last,
          signaled: wqe.flags[WQE_FLAGS_SIGNALED],
          wqe_index: last_slot,
          byte_length: wqe.length,
          opcode: wqe.opcode
      };

  assign queues.asked = submitted && !segment.returned && segment.turn == TURN_ASK;
  // Whatever it waits for wakes it: so it has a turn behind that.
  assign queues.waits_no_more = step == STEP_TURN && !pick.wants_answer && queues.pull_count == '0;
  // Its peer is to say something of it.
  assign queues.sends = submitted && !segment.returned && segment.turn == TURN_WORK && sent && !op.stays &&
      qp.row.cfg.service == SERVICE_RC && qp.row.cfg.timeout != '0;
  assign queues.waits_for_peer = submitted && !segment.returned && introduces && segment.wants;

  // ---- The peer's reads, and what becomes of the queue pair
  logic read_served;
  assign read_served = submitted && !segment.returned && segment.turn == TURN_READ && last;
  assign queues.read_pop = (step == STEP_TURN && pick.turn == TURN_POP) || read_served ||
      (submitted && !segment.returned && segment.turn == TURN_TERMINATE && segment.quote &&
       pick.reads);
  assign queues.read_set = submitted && !segment.returned && segment.turn == TURN_READ &&
      !last;
  always_comb begin
    queues.read_rest = segment.read;
    queues.read_rest.done = segment.read.done + 32'(segment.payload);
  end

  always_comb begin
    queues.status = qp.row.status;
    queues.status.state = QP_STATE_ERROR;
    queues.status.told = 1'b1;
    queues.status.tried = 1'b1;
    queues.status.answer_lost = 1'b0;
    if (segment.turn == TURN_GO_BACK) queues.status = back_status;
  end
  assign queues.status_valid = step == STEP_STATUS && (!withdraws || transmit.withdraw_ready);
  assign qp_error_o = queues.status_valid && queues.status_ready &&
      qp.row.status.state != QP_STATE_ERROR && queues.status.state == QP_STATE_ERROR;

  assign qp_cause_o = segment.turn == TURN_GO_BACK ? QP_CAUSE_NO_RECEIVE : QP_CAUSE_REQUEST;

  segment_build u_segment (
      .valid_i(transmit.valid),
      .segment_i(segment),
      .wqe_i(wqe),
      .op_i(op),
      .inline_i(work.request.inline_data),
      .last_slot_i(last_slot),
      .completes_i(completes),
      .probe_i(probe),
      .begs_i(begs),
      .alone_i(flushes_alone),
      .msn_i(answers_atomic ? queues.sq.atomic_msn : msn),
      .peer_i(qp.row.peer.generation),
      .service_i(qp.row.cfg.service),
      .qkey_i(qp.row.cfg.qkey),
      .pkey_i(pkey_of(settings.pkeys, qp.row.cfg.pkey_index)),
      .number_i(qp.row.sq.frames),
      .sge_i(sink),
      .last_i(last),
      .gathered_i(gather.filled),
      .submit_o(transmit.desc)
  );

  always_comb begin
    event_o = '0;
    event_o[COUNTER_CREDIT_STALLS] = queues.stall && !qp.row.sq.credit_wait;
    if (submitted) begin
      event_o[COUNTER_WQES] = queues.sq_we && !answers_atomic && !introduces && ends;
      event_o[COUNTER_WQE_ERRORS] = queues.sq_we && !sent && segment.turn == TURN_WORK;
      event_o[COUNTER_READS_SERVED] = read_served && !answers_atomic;
      event_o[COUNTER_ATOMICS_SERVED] = read_served && answers_atomic;
    end
    event_o[COUNTER_PIO_SENDS] = step == STEP_BEGIN && first_work_q && used_q && !no_peer;
  end

  // ---- What is promised
  `EXRNIC_HELD(wake_is_held, wake.valid, wake.ready, wake.data)
  `EXRNIC_HELD(flush_is_held, flush_valid_o, flush_ready_i, 1'b0)
  `EXRNIC_HELD(wqe_read_is_held, wqe_read.valid, wqe_read.ready, wqe_read.req)
  `EXRNIC_HELD(payload_read_is_held, payload_read.valid, payload_read.ready, payload_read.req)
  // What is not inlined has no inline data.
  `EXRNIC_HELD(submit_is_held, transmit.valid, transmit.ready, {transmit.desc.slot, transmit.desc.node,
      transmit.desc.ddp, transmit.desc.length, transmit.desc.unsent, transmit.desc.status, transmit.desc.tag,
      transmit.desc.inlined ? transmit.desc.inline_data : '0})
  // A turn does one thing after the other.
  `EXRNIC_ALWAYS(one_look_up, !(xlate_payload.valid && xlate_change.valid))
  `EXRNIC_ALWAYS(one_at_a_time,
      $onehot0({transmit.alloc_ready, transmit.valid, queues.status_valid, flush_valid_o, wake.valid}))
  `EXRNIC_ALWAYS(one_change, $onehot0({submitted, goes_back, queues.stall, no_peer}))
  `EXRNIC_ALWAYS(segment_fits, !transmit.valid || transmit.desc.length <= chunk_t'(MTU_MAX))
  `EXRNIC_ALWAYS(has_room_for_a_pull, !queues.pull_push || queues.pull_count < qp.row.cfg.max_reads_out)
  `EXRNIC_ALWAYS(one_fate_of_a_read, !(queues.read_pop && queues.read_set))
  `EXRNIC_ALWAYS(has_a_read, !(queues.read_pop || queues.read_set) || queues.read_count != '0)

endmodule
