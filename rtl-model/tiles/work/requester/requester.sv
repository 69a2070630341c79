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

    input  node_t  cfg_node_i,
    input  chunk_t mtu_i,
    input  logic   more_turns_i,  // another queue pair waits for its turn
    input  logic   quiesce_i,     // begin nothing that touches a table or host memory
    output logic   quiescent_o,
    output logic   idle_o,
    output logic   waits_o,  // for work requests that have been asked for

    input  logic turn_valid_i,
    output logic turn_ready_o,
    input  qpn_t turn_qpn_i,
    output logic wake_valid_o,  // the same queue pair again, behind the others
    input  logic wake_ready_i,
    output qpn_t wake_qpn_o,

    // All of these are of queue pair qp_read_qpn_o. What it is at comes one cycle after qp_read_o.
    output logic       qp_read_o,
    output qpn_t       qp_read_qpn_o,
    input  qp_t        qp_i,
    output logic       sq_we_o,
    output qp_sq_t     sq_o,
    output logic       status_valid_o,  // withdrawn to look again when another one was written
    input  logic       status_ready_i,
    output qp_status_t status_o,
    output logic       qp_error_o,
    output logic       goes_back_o,     // pulse: what it sends next follows nothing that it has sent
    output logic       flush_valid_o,
    input  logic       flush_ready_i,
    input  reads_t     pull_count_i,
    output logic       pull_push_o,
    output pull_t      pull_o,
    input  reads_t     read_count_i,
    input  reads_t     punt_count_i,  // and firmware has to answer so many
    input  read_t      read_i,
    input  logic       paused_i,  // a message of it found no receive a short time ago
    input  logic       asks_i,  // nothing was heard of its PULLs for long: it is to ask its peer
    output logic       waits_no_more_o,  // pulse: for its answer, nor for that to a PULL
    output logic       waits_for_peer_o,  // pulse: it has introduced itself, and waits for an answer
    output logic       asked_o, // pulse: it has
    input  logic has_windows_i,  // it has remote windows; one cycle later than qp_i
    input  logic       lost_i,  // firmware has lost requests of it
    input  logic       credit_known_i,  // its peer has told
    input  credit_t    credit_limit_i,  // how many messages it may send
    output logic       stall_o,         // pulse: it waits for more
    input  logic       erratum_i,  // flags ERRATA, pull_beside_push
    output logic       read_pop_o,
    output logic       read_set_o,
    output read_t      read_o,

    // A copy of its first slot that came through the user page, likewise with qp_i.
    input  logic       pio_held_i,
    input  wqe_index_t pio_index_i,
    input  wqe_slot_t  pio_slot_i,
    output logic       pio_take_o,  // pulse: it is used, or not needed

    output logic       xlate_valid_o,  // may be withdrawn, with the end of a turn
    input  logic       xlate_ready_i,
    output xlate_req_t xlate_o,
    input  logic       xlate_rsp_valid_i,
    input  xlate_rsp_t xlate_rsp_i,
    output logic       xlate_hold_o,  // it knows where payload lies that it has not asked for,
    input  logic       xlate_let_go_i,  // which is to be looked up again, or asked for

    output logic           wqe_read_valid_o,
    input  logic           wqe_read_ready_i,
    output dma_read_req_t  wqe_read_o,
    input  logic           wqe_beat_valid_i,
    input  dma_read_beat_t beat_i,

    output logic          payload_read_valid_o,
    input  logic          payload_read_ready_i,
    output dma_read_req_t payload_read_o,

    input  logic  alloc_valid_i,
    output logic  alloc_ready_o,
    input  slot_t alloc_slot_i,
    output node_t quota_node_o,
    output reads_t quota_slots_o,
    input  logic  quota_start_i,  // this peer will get so many slots for a turn,
    input  logic  quota_room_i,   // and for more of it

    output logic     submit_valid_o,
    input  logic     submit_ready_i,
    output tx_desc_t submit_o,

    output event_t event_o
);

  step_e step;
  segment_t segment;
  logic last, ends, submitted;
  assign submitted = submit_valid_o && submit_ready_i;

  turn_e turn;
  term_code_e term_code;
  logic quote, own_work, reads_wait, wants_answer;
  turn_pick u_pick (
      .clk_i,
      .qp_i,
      .qpn_i(segment.qpn),
      .pull_count_i,
      .read_count_i,
      .read_i,
      .punt_count_i,
      .lost_i,
      .paused_i,
      .asks_i,
      .take_i(step == STEP_TURN),
      .wants_answer_o(wants_answer),
      .turn_o(turn),
      .quote_o(quote),
      .code_o(term_code),
      .work_o(own_work),
      .reads_o(reads_wait)
  );

  // ---- The work request in hand
  logic work_start, work_next, work_more, work_idle, work_waits, work_done, work_torn, work_last;
  logic work_xlate_valid, work_xlate_ready, work_xlate_rsp_valid;
  wqe_index_t work_index;
  cqe_status_e work_status;
  slots_t slots;
  wqe_t wqe;
  inline_t inline_data;
  reads_t reads_needed;
  word_index_t second_sge, word_index;
  sge_t word;
  xlate_req_t work_xlate;

  // Every turn empties the place of the copy, but one before the work begins: what was not used then
  // would be out of date.
  logic work_held;
  logic first_work_q, used_q;
  always_ff @(posedge clk_i) begin
    if (step == STEP_TURN) begin
      first_work_q <= turn == TURN_WORK;
      used_q       <= work_held;
    end else if (step == STEP_BEGIN) begin
      first_work_q <= 1'b0;
    end
  end
  assign pio_take_o = pio_held_i && ((step == STEP_BEGIN && first_work_q && !no_peer) ||
      (step == STEP_TURN && !(turn inside {TURN_WORK, TURN_INTRODUCE}) && !wants_answer));
  assign work_held = pio_held_i && turn == TURN_WORK && pio_index_i == qp_i.sq.consumer;

  work_batch u_work (
      .clk_i,
      .rst_ni,
      .start_i(work_start),
      .held_i(work_held),
      .held_slot_i(pio_slot_i),
      .next_i(work_next),
      .more_i(work_more),
      .idle_o(work_idle),
      .waits_o(work_waits),
      .slots_only_i(segment.turn == TURN_FLUSH),
      .ring_pbl_i(qp_i.cfg.sq_pbl),
      .ring_log_i(qp_i.cfg.sq_log),
      .consumer_i(qp_i.sq.consumer),
      .producer_i(qp_i.sq_producer),
      .max_reads_i(qp_i.cfg.max_reads_out),
      .service_i(qp_i.cfg.service),
      .has_windows_i,
      .own_node_i(cfg_node_i),
      .mtu_i,
      .done_o(work_done),
      .torn_o(work_torn),
      .last_o(work_last),
      .status_o(work_status),
      .index_o(work_index),
      .slots_o(slots),
      .wqe_o(wqe),
      .inline_o(inline_data),
      .reads_o(reads_needed),
      .second_sge_o(second_sge),
      .word_index_i(word_index),
      .word_o(word),
      .xlate_valid_o(work_xlate_valid),
      .xlate_ready_i(work_xlate_ready),
      .xlate_o(work_xlate),
      .xlate_rsp_valid_i(work_xlate_rsp_valid),
      .xlate_rsp_i,
      .read_valid_o(wqe_read_valid_o),
      .read_ready_i(wqe_read_ready_i),
      .read_o(wqe_read_o),
      .beat_valid_i(wqe_beat_valid_i),
      .beat_i
  );

  wqe_opcode_properties_t op;
  assign op = of_wqe_opcode(wqe.opcode);

  // ---- Its payload, or that of a response
  logic sge_valid, sge_end, gather_load, gather_start, gather_stop, gather_idle;
  logic gather_done, gather_quiet, gather_xlate_valid, turn_xlate_ready, turn_xlate_rsp_valid;
  xlate_status_e gather_status;
  chunk_t gather_filled;
  sge_t source, sge;
  logic [31:0] skip;
  logic [7:0] access;
  xlate_req_t gather_xlate;

  // What goes before an Immediate Data message that found no receive is placed.
  logic resumes, probe, begs;
  assign resumes = qp_i.sq.probe_due && op.immediate;

  // Its next message is one more than the peer has told of receives: it may leave by itself, when
  // nothing else is under way and it has waited.
  logic beyond, stalls;
  assign beyond = credit_known_i &&
      credit_beyond(credit_t'(qp_i.sq.send_msn) + 1'b1, credit_limit_i);
  assign stalls = beyond && op.receive && !qp_i.sq.probe_due && qp_i.sq.progress == '0 &&
      !(qp_i.sq.credit_wait && qp_i.sq.issued == qp_i.ended.count);

  always_comb begin
    // What earlier turns have submitted; the ring may say another length by now.
    skip = qp_i.sq.progress < wqe.length ? qp_i.sq.progress : wqe.length;
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
      gave_way_q <= turn == TURN_WORK || (gave_way_q && turn != TURN_READ);
      astray_q   <= erratum_i && turn == TURN_READ && gave_way_q && !read_i.firmware;
    end
  end

  payload_gather u_gather (
      .clk_i,
      .rst_ni,
      .quiesce_i,
      .let_go_i(xlate_let_go_i),
      .load_i(gather_load),
      .first_i(source),
      .count_i(segment.turn == TURN_READ ? sges_t'(1) : sges_t'(wqe.num_sge)),
      .next_word_i(second_sge),
      .skip_i(astray_q ? '0 : skip),
      .word_index_o(word_index),
      .word_i(word),
      .valid_o(sge_valid),
      .end_o(sge_end),
      .sge_o(sge),
      .take_i(pull_push_o && sge_valid),
      .start_i(gather_start),
      .look_i(segment.turn == TURN_WORK && op.pull),
      .stop_i(gather_stop),
      .idle_o(gather_idle),
      .done_o(gather_done),
      .quiet_o(gather_quiet),
      .hold_o(xlate_hold_o),
      .status_o(gather_status),
      .filled_o(gather_filled),
      .slot_valid_i(step == STEP_GATHER),
      .slot_i(segment.slot),
      .segment_i(segment.payload),
      .pd_i(segment.pd),
      .access_i(access),
      .xlate_valid_o(gather_xlate_valid),
      .xlate_ready_i(turn_xlate_ready),
      .xlate_o(gather_xlate),
      .xlate_rsp_valid_i(turn_xlate_rsp_valid),
      .xlate_rsp_i,
      .read_valid_o(payload_read_valid_o),
      .read_ready_i(payload_read_ready_i),
      .read_o(payload_read_o)
  );

  // ---- The turn
  logic pull_last;
  logic [31:0] next_offset;
  turn_control u_control (
      .clk_i,
      .rst_ni,
      .mtu_i,
      .more_turns_i,
      .quiesce_i,
      .qp_i,
      .pull_count_i,
      .read_i,
      .turn_i(turn),
      .quote_i(quote),
      .code_i(term_code),
      .wants_answer_i(wants_answer),
      .own_work_i(own_work),
      .reads_wait_i(reads_wait),
      .work_start_o(work_start),
      .work_next_o(work_next),
      .work_more_o(work_more),
      .work_idle_i(work_idle),
      .work_done_i(work_done),
      .work_torn_i(work_torn),
      .work_last_i(work_last),
      .work_status_i(work_status),
      .work_slots_i(slots),
      .work_index_i(work_index),
      .wqe_i(wqe),
      .op_i(op),
      .reads_needed_i(reads_needed),
      .skip_i(skip),
      .resumes_i(resumes),
      .probe_i(probe),
      .stalls_i(stalls),
      .stall_o,
      .no_peer_o(no_peer),
      .gather_load_o(gather_load),
      .gather_start_o(gather_start),
      .gather_stop_o(gather_stop),
      .gather_idle_i(gather_idle),
      .gather_done_i(gather_done),
      .gather_status_i(gather_status),
      .gather_none_i(gather_filled == '0),
      .sge_known_i(sge_valid || sge_end),
      .sge_length_i(sink.length),
      .turn_valid_i,
      .turn_qpn_i,
      .wake_ready_i,
      .flush_ready_i,
      .status_ready_i,
      .xlate_ready_i(turn_xlate_ready),
      .xlate_rsp_valid_i(turn_xlate_rsp_valid),
      .xlate_rsp_i,
      .alloc_valid_i,
      .alloc_slot_i,
      .quota_slots_o,
      .quota_start_i,
      .quota_room_i,
      .submit_ready_i,
      .step_o(step),
      .segment_o(segment),
      .last_o(last),
      .ends_o(ends),
      .pull_last_o(pull_last),
      .next_offset_o(next_offset)
  );

  assign idle_o = step == STEP_IDLE && work_idle;
  assign waits_o = step inside {STEP_IDLE, STEP_WORK} && work_waits && gather_idle;
  assign quiescent_o = work_idle && (step inside {STEP_IDLE, STEP_HAND_OVER} ||
      (step == STEP_ALLOC && gather_quiet));
  assign turn_ready_o = idle_o && !quiesce_i;
  assign alloc_ready_o = step == STEP_ALLOC && !quiesce_i;
  assign quota_node_o = qp_i.cfg.dest_node;
  assign submit_valid_o = step == STEP_SUBMIT;
  assign flush_valid_o = step == STEP_HAND_OVER;
  assign wake_valid_o = step == STEP_WAKE;
  assign wake_qpn_o = segment.qpn;

  // Read again for each work request, and when a slot is there.
  assign qp_read_qpn_o = step == STEP_IDLE ? turn_qpn_i : segment.qpn;
  assign qp_read_o = step inside {STEP_IDLE, STEP_WORK, STEP_ALLOC, STEP_STATUS_READ};

  // ---- Translation: one request at a time, those for slots of the ring first
  logic xlate_busy_q, xlate_work_q;
  assign xlate_valid_o = !xlate_busy_q &&
      (work_xlate_valid || gather_xlate_valid || step == STEP_INVALIDATE);
  assign work_xlate_ready = xlate_ready_i && !xlate_busy_q;
  assign turn_xlate_ready = xlate_ready_i && !xlate_busy_q && !work_xlate_valid;
  assign work_xlate_rsp_valid = xlate_rsp_valid_i && xlate_work_q;
  assign turn_xlate_rsp_valid = xlate_rsp_valid_i && !xlate_work_q;
  always_comb begin
    xlate_o = gather_xlate;
    if (step == STEP_INVALIDATE) begin
      xlate_o = '0;
      xlate_o.invalidate = 1'b1;
      xlate_o.stag = wqe.imm_data;
      xlate_o.pd = segment.pd;
    end
    if (work_xlate_valid) xlate_o = work_xlate;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) xlate_busy_q <= 1'b0;
    else xlate_busy_q <= (xlate_valid_o && xlate_ready_i) || (xlate_busy_q && !xlate_rsp_valid_i);
  end
  always_ff @(posedge clk_i) begin
    if (xlate_valid_o && xlate_ready_i) xlate_work_q <= work_xlate_valid;
  end

  // ---- Where its own work stands
  logic sent, completes;
  logic [31:0] msn;
  wqe_index_t last_slot;
  assign sent = segment.status == CQE_STATUS_SUCCESS;
  // With a question: of the last PULL that has begun; nothing else can be under way. With an introduction: of
  // none.
  assign last_slot =
      qp_i.sq.consumer + (segment.turn inside {TURN_ASK, TURN_INTRODUCE} ? '0 : wqe_index_t'(slots)) - 1'b1;
  assign sq_we_o = goes_back || stall_o || no_peer || (submitted && !segment.returned &&
      (segment.turn inside {TURN_WORK, TURN_FLUSH} || answers_atomic || introduces));
  work_progress u_progress (
      .sq_i(qp_i.sq),
      .op_i(op),
      .slots_i(slots),
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
    sq_o = work_sq;
    if (answers_atomic) begin
      sq_o = qp_i.sq;
      sq_o.atomic_msn = qp_i.sq.atomic_msn + 1'b1;
    end
    if (introduces) begin
      sq_o = qp_i.sq;
      sq_o.introduced = 1'b1;
      sq_o.answered = qp_i.peer.changes;
      sq_o.asked = segment.wants;
    end
    if (goes_back) sq_o = back_sq;
    if (no_peer) begin
      sq_o = qp_i.sq;
      sq_o.needs_peer = 1'b1;
    end
    if (stall_o) begin
      sq_o = qp_i.sq;
      sq_o.credit_wait = 1'b1;
    end
  end

  // Read as it is now, and nobody else writes a status.
  logic goes_back;
  qp_sq_t back_sq;
  qp_status_t back_status;
  assign goes_back = segment.turn == TURN_GO_BACK && status_valid_o && status_ready_i;
  assign goes_back_o = goes_back;
  go_back u_back (
      .qp_i,
      .sq_o(back_sq),
      .status_o(back_status)
  );

  // The element that an RDMA Read Request is for; none in a PULL without bytes.
  sge_t sink;
  assign sink = sge_valid ? sge : '0;
  assign pull_push_o = submitted && sq_we_o && !answers_atomic && !introduces && op.pull && sent;
  assign pull_o = '{
          stag: sink.stag,
          to: sink.address,
          left: sink.length,
          last: pull_last,
          signaled: wqe.flags[WQE_FLAGS_SIGNALED],
          wqe_index: last_slot,
          byte_length: wqe.length,
          opcode: wqe.opcode
      };

  assign asked_o = submitted && !segment.returned && segment.turn == TURN_ASK;
  // Whatever it waits for wakes it: so it has a turn behind that.
  assign waits_no_more_o = step == STEP_TURN && !wants_answer && pull_count_i == '0;
  assign waits_for_peer_o = submitted && !segment.returned && introduces && segment.wants;

  // ---- The peer's reads, and what becomes of the queue pair
  logic read_served;
  assign read_served = submitted && !segment.returned && segment.turn == TURN_READ && last;
  assign read_pop_o = (step == STEP_TURN && turn == TURN_POP) || read_served ||
      (submitted && !segment.returned && segment.turn == TURN_TERMINATE && segment.quote &&
       reads_wait);
  assign read_set_o = submitted && !segment.returned && segment.turn == TURN_READ &&
      !last;
  always_comb begin
    read_o = segment.read;
    read_o.done = segment.read.done + 32'(segment.payload);
  end

  always_comb begin
    status_o = qp_i.status;
    status_o.state = QP_STATE_ERROR;
    status_o.told = 1'b1;
    status_o.answer_lost = 1'b0;
    if (segment.turn == TURN_GO_BACK) status_o = back_status;
  end
  assign status_valid_o = step == STEP_STATUS;
  assign qp_error_o = status_valid_o && status_ready_i &&
      qp_i.status.state != QP_STATE_ERROR && status_o.state == QP_STATE_ERROR;

  segment_build u_segment (
      .valid_i(submit_valid_o),
      .segment_i(segment),
      .wqe_i(wqe),
      .op_i(op),
      .inline_i(inline_data),
      .last_slot_i(last_slot),
      .completes_i(completes),
      .probe_i(probe),
      .begs_i(begs),
      .msn_i(answers_atomic ? sq_o.atomic_msn : msn),
      .peer_i(qp_i.peer.generation),
      .service_i(qp_i.cfg.service),
      .pkey_i(qp_i.cfg.pkey),
      .number_i(qp_i.sq.frames),
      .sge_i(sink),
      .last_i(last),
      .gathered_i(gather_filled),
      .submit_o
  );

  always_comb begin
    event_o = '0;
    event_o[COUNTER_CREDIT_STALLS] = stall_o && !qp_i.sq.credit_wait;
    if (submitted) begin
      event_o[COUNTER_WQES] = sq_we_o && !answers_atomic && !introduces && ends;
      event_o[COUNTER_WQE_ERRORS] = sq_we_o && !sent && segment.turn == TURN_WORK;
      event_o[COUNTER_READS_SERVED] = read_served && !answers_atomic;
      event_o[COUNTER_ATOMICS_SERVED] = read_served && answers_atomic;
    end
    event_o[COUNTER_PIO_SENDS] = step == STEP_BEGIN && first_work_q && used_q && !no_peer;
  end

  // ---- What is promised
  `EXRNIC_HELD(wake_is_held, wake_valid_o, wake_ready_i, wake_qpn_o)
  `EXRNIC_HELD(flush_is_held, flush_valid_o, flush_ready_i, 1'b0)
  `EXRNIC_HELD(wqe_read_is_held, wqe_read_valid_o, wqe_read_ready_i, wqe_read_o)
  `EXRNIC_HELD(payload_read_is_held, payload_read_valid_o, payload_read_ready_i, payload_read_o)
  // What is not inlined has no inline data.
  `EXRNIC_HELD(submit_is_held, submit_valid_o, submit_ready_i, {submit_o.slot, submit_o.node,
      submit_o.ddp, submit_o.length, submit_o.unsent, submit_o.status, submit_o.tag,
      submit_o.inlined ? submit_o.inline_data : '0})

endmodule
