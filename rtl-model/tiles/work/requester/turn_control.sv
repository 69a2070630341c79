// SPDX-License-Identifier: BSD-2-Clause
// The steps of a turn: from a queue pair to segments, one after the other.

module turn_control
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input logic   clk_i,
    input logic   rst_ni,
    input chunk_t mtu_i,
    input logic   more_turns_i,
    input logic   quiesce_i,

    // The queue pair, as it was last read, and what its turn would be for.
    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record
    input qp_t    qp_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input reads_t pull_count_i,
    input read_t  read_i,
    input pick_t  pick_i,

    // Its work request in hand, and its payload.
    work_batch_if.turn work,
    /* verilator lint_off UNUSEDSIGNAL */
    input wqe_opcode_properties_t op_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic [31:0] skip_i,  // bytes that earlier turns have submitted
    input logic        resumes_i,  // at the Immediate Data message of a PUSH_IMM
    input logic        probe_i,    // it goes alone
    input logic        stalls_i,   // its message has no credit
    output logic       stall_o,    // pulse: it waits for that
    output logic       no_peer_o,  // pulse: it waits until the peer is met
    payload_gather_if.turn gather,
    xlate_if.client        change,  // of a region

    // Whether a step ends.
    input logic       turn_valid_i,
    input qpn_t       turn_qpn_i,
    input logic       wake_ready_i,
    input logic       flush_ready_i,
    input logic       status_ready_i,
    input logic       alloc_valid_i,
    input slot_t      alloc_slot_i,
    input node_t      node_i,         // the own one
    output reads_t    quota_slots_o,  // that this turn takes before it asks again
    input logic       quota_start_i,
    input logic       quota_room_i,
    input logic       submit_ready_i,

    output step_e       step_o,
    output segment_t    segment_o,
    output logic        last_o,       // it has the last bytes of its message
    output logic        ends_o,       // it is the last one of its work request
    output logic        pull_last_o,  // of its PULL
    output logic [31:0] next_offset_o
);

  step_e step_q, step_d;
  segment_t seg_q;
  logic [$clog2(TURN_SEGMENTS)-1:0] segments_q;  // that this turn has submitted,
  logic [$clog2(TURN_SLOTS+WQE_SLOTS_MAX)-1:0] slots_q, slots_d;  // and slots done with,
  logic over_q;                                  // as many as a turn may while others wait
  logic [31:0] left_q, left_d;  // bytes of the message from this segment on
  reads_t pulls_left_q;
  logic by_dma_q;  // the payload of this segment is gathered
  logic again_q;   // when this slot has gone back, another one is needed
  logic changed_q;  // the local invalidation, registration or bind in hand is done

  /* verilator lint_off UNUSEDSIGNAL */
  wqe_t wqe;
  /* verilator lint_on UNUSEDSIGNAL */
  logic is_inline, sound;
  assign wqe = work.request.wqe;
  assign is_inline = wqe.flags[WQE_FLAGS_INLINE];
  assign sound = work.request.status == CQE_STATUS_SUCCESS;

  // ---- The queue pair

  // May the work request begin? PULLs and other work are never under way together; nor is an atomic with
  // PULLs before it that are none.
  logic blocked, all_ended;
  assign all_ended = qp_i.sq.issued == qp_i.ended.count;
  always_comb begin
    if (sound && op_i.pull)
      blocked = !all_ended || (op_i.atomic && qp_i.sq.pull_reads && pull_count_i != '0) ||
          {1'b0, pull_count_i} + {1'b0, work.request.reads} > {1'b0, qp_i.cfg.max_reads_out};
    else
      blocked = pull_count_i != '0 || (sound && op_i.stays && !all_ended);
    if (qp_i.sq.probe_out && !all_ended) blocked = 1'b1;
  end
  // What is done here, or is wrong, needs nobody.
  assign no_peer_o = step_q == STEP_BEGIN && seg_q.turn == TURN_WORK && fit && sound &&
      !op_i.stays && qp_i.cfg.service != SERVICE_UD && !qp_i.peer.met && !qp_i.status.alone;

  // What blocks wakes when it ends; reads of the peer do not wait for that.
  step_e when_blocked;
  assign when_blocked = pick_i.reads ? STEP_WAKE : STEP_IDLE;

  logic takes_slots;
  assign takes_slots = pick_i.turn inside {TURN_WORK, TURN_READ, TURN_FLUSH, TURN_TERMINATE, TURN_ASK,
                                     TURN_INTRODUCE};

  // Much may have happened to it since it was picked.
  logic fit, begun;  // also the Immediate Data message of a PUSH_IMM without bytes goes on
  assign begun = has_begun(qp_i.sq) || (step_q != STEP_BEGIN && seg_q.immediate);
  always_comb begin
    unique case (seg_q.turn)
      // What is done ends as such, whatever happens meanwhile.
      TURN_WORK:
      if (changed_q) fit = qp_sends(qp_i.status.state) || qp_i.status.state == QP_STATE_ERROR;
      else
        fit = (qp_i.status.state == QP_STATE_RTS || (qp_i.status.state == QP_STATE_SQD && begun)) &&
            !qp_i.status.rnr;
      TURN_READ: fit = qp_connected(qp_i.status.state);
      TURN_FLUSH: fit = qp_i.status.state == QP_STATE_ERROR;
      TURN_ASK: fit = qp_sends(qp_i.status.state);
      TURN_INTRODUCE: fit = qp_connected(qp_i.status.state);
      default:
      fit = (qp_connected(qp_i.status.state) || qp_i.status.state == QP_STATE_ERROR) &&
          !qp_i.status.told;
    endcase
    if (!qp_i.cfg.valid || qp_i.cfg.generation != seg_q.generation) fit = 1'b0;
    if (seg_q.turn == TURN_WORK && qp_i.sq.consumer != work.request.index) fit = 1'b0;
  end

  // ---- The segment
  logic submitted, refused, nothing_asked, full, over;
  assign submitted = step_q == STEP_SUBMIT && submit_ready_i;
  assign refused = gather.status != XLATE_OK;
  assign nothing_asked = gather.filled == '0;
  always_comb begin
    last_o = left_q == 32'(seg_q.payload);
    if (seg_q.status != CQE_STATUS_SUCCESS || op_i.stays) ends_o = 1'b1;
    else if (op_i.pull) ends_o = pull_last_o;
    else ends_o = last_o && (seg_q.immediate || !op_i.immediate);
  end
  assign segment_o = seg_q;
  assign pull_last_o = pulls_left_q == reads_t'(1);
  assign next_offset_o = seg_q.offset + (op_i.pull ? gather.sge.length : 32'(seg_q.payload));

  // Others go first now; or the other kind of work of the same queue pair.
  assign slots_d = slots_q + ($bits(slots_q))'(work.request.slots);
  assign full = over_q || &segments_q ||
      (seg_q.turn == TURN_WORK && ends_o && slots_d >= ($bits(slots_q))'(TURN_SLOTS));
  // So they do if the peer holds its share of the slots: a turn does not wait for one, lest a peer
  // that is slow or gone keeps all others from theirs.
  assign over = !quota_room_i ||
      (full && (more_turns_i || (seg_q.turn == TURN_READ ? pick_i.work : pick_i.reads)));

  always_comb begin
    left_d = left_q;
    if (step_q == STEP_TURN) left_d = '0;
    else if (step_q == STEP_BEGIN)
      left_d = (seg_q.turn == TURN_READ ? seg_q.read.request.length : wqe.length) - skip_i;
    else if (submitted && !seg_q.returned) left_d = left_q - 32'(seg_q.payload);
  end

  assign change.valid = step_q == STEP_REGION_CHANGE;
  assign change.hold = 1'b0;
  always_comb begin
    change.req = '0;
    if (change.valid) begin
      change.req.invalidate = op_i.invalidates;
      change.req.registers = op_i.registers && !op_i.binds;
      change.req.binds = op_i.binds;
      change.req.stag = wqe.imm_data;
      change.req.pd = seg_q.pd;
      if (op_i.binds) begin
        change.req.region = wqe.sge0_stag;
        change.req.qpn = seg_q.qpn;
        change.req.generation = seg_q.generation;
      end
      if (op_i.registers) begin
        change.req.pbl_address = wqe.sge1_address;
        change.req.access = wqe.remote_stag[7:0];
        change.req.to = wqe.remote_to;
        change.req.size = wqe.sge0_address;
        change.req.huge_pages = wqe.sge0_length == HUGE_PAGE_SHIFT;
      end
    end
  end

  // A PULL does not stop between its requests: it begins where there are slots for all of them.
  assign quota_slots_o = step_q == STEP_BEGIN && sound && op_i.pull ? work.request.reads : reads_t'(1);

  // ---- Steps
  step_e after_submit;
  always_comb begin
    if (seg_q.returned) after_submit = again_q ? STEP_ALLOC : STEP_WAKE;
    else if (seg_q.turn == TURN_TERMINATE) after_submit = STEP_STATUS_READ;
    else if (seg_q.turn inside {TURN_ASK, TURN_INTRODUCE}) after_submit = STEP_WAKE;
    else if (seg_q.turn == TURN_READ)
      after_submit = last_o || over ? STEP_WAKE : STEP_ALLOC;
    else if (!ends_o)
      after_submit = (over || probe_i) && !op_i.pull && !last_o ? STEP_WAKE : STEP_ALLOC;
    else if (work.last || over || (seg_q.turn == TURN_WORK && seg_q.status != CQE_STATUS_SUCCESS))
      after_submit = STEP_WAKE;
    else after_submit = STEP_WORK;
  end

  always_comb begin
    step_d = step_q;
    unique case (step_q)
      STEP_IDLE: if (turn_valid_i && !quiesce_i) step_d = STEP_TURN;
      STEP_TURN:
      if (takes_slots && !quota_start_i) step_d = STEP_WAKE;
      else unique case (pick_i.turn)
        TURN_WORK, TURN_FLUSH: step_d = STEP_WORK;
        TURN_READ: step_d = STEP_BEGIN;
        TURN_TERMINATE, TURN_ASK, TURN_INTRODUCE: step_d = STEP_ALLOC;
        TURN_POP: step_d = STEP_WAKE;
        TURN_HAND_OVER: step_d = STEP_HAND_OVER;
        TURN_GO_BACK: step_d = STEP_STATUS_READ;
        default: step_d = STEP_IDLE;
      endcase
      STEP_WORK:
      if (work.done && work.torn) step_d = STEP_WAKE;
      else if (work.done) step_d = seg_q.turn == TURN_FLUSH ? STEP_ALLOC : STEP_BEGIN;
      STEP_BEGIN:
      if (seg_q.turn == TURN_READ) step_d = STEP_ALLOC;
      else if (!fit || no_peer_o) step_d = STEP_WAKE;
      else if (blocked || stall_o) step_d = when_blocked;
      else if (sound && op_i.pull) step_d = quota_start_i ? STEP_LOOK : STEP_WAKE;
      else step_d = sound && op_i.stays ? STEP_REGION_CHANGE : STEP_ALLOC;
      STEP_LOOK:
      if (gather.idle) step_d = refused && pull_count_i != '0 ? when_blocked : STEP_ALLOC;
      STEP_REGION_CHANGE: if (change.ready) step_d = STEP_REGION_CHANGED;
      STEP_REGION_CHANGED: if (change.rsp_valid) step_d = STEP_ALLOC;
      STEP_ALLOC: if (alloc_valid_i && !quiesce_i) step_d = STEP_JUDGE;
      STEP_JUDGE:
      if (!fit) step_d = gather.idle ? STEP_SUBMIT : STEP_JUDGE;
      else if (by_dma_q) step_d = STEP_GATHER;
      else if (seg_q.turn != TURN_WORK || !op_i.pull || gather.known) step_d = STEP_SUBMIT;
      STEP_GATHER:
      if (gather.done) step_d = STEP_SUBMIT;
      else if (gather.idle)
        step_d = seg_q.turn == TURN_READ && refused && nothing_asked ? STEP_JUDGE : STEP_SUBMIT;
      STEP_SUBMIT: if (submit_ready_i) step_d = after_submit;
      // No other writer of the status in either cycle: nothing of theirs is lost.
      STEP_STATUS_READ: if (status_ready_i) step_d = STEP_STATUS;
      STEP_STATUS: step_d = status_ready_i ? STEP_WAKE : STEP_STATUS_READ;
      STEP_WAKE: if (wake_ready_i) step_d = STEP_IDLE;
      STEP_HAND_OVER: if (flush_ready_i) step_d = STEP_IDLE;
      default: step_d = STEP_IDLE;
    endcase
  end
  assign step_o = step_q;
  assign stall_o = step_q == STEP_BEGIN && seg_q.turn == TURN_WORK && fit && !blocked && sound &&
      !no_peer_o && stalls_i;
  assign work.start = step_q == STEP_TURN && step_d == STEP_WORK;
  assign work.next = step_q == STEP_SUBMIT && step_d == STEP_WORK;
  assign work.taken = submitted && !seg_q.returned && seg_q.turn inside {TURN_WORK, TURN_FLUSH} && ends_o;
  assign work.over = step_q == STEP_IDLE;

  // PULL: through all elements for the look-up, then once more.
  assign gather.load = step_q == STEP_BEGIN || (step_q == STEP_LOOK && gather.idle);
  assign gather.stop = step_q == STEP_JUDGE && !fit;
  always_comb begin
    gather.start = 1'b0;
    if (step_d == STEP_LOOK) gather.start = step_q == STEP_BEGIN;
    else if (step_d == STEP_ALLOC && left_d != '0) begin
      if (step_q == STEP_BEGIN) gather.start = seg_q.turn == TURN_READ || (sound && !is_inline);
      else gather.start = step_q == STEP_SUBMIT && by_dma_q;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= STEP_IDLE;
    else step_q <= step_d;
  end

  always_ff @(posedge clk_i) begin
    left_q <= left_d;
    unique case (step_q)
      STEP_IDLE: seg_q.qpn <= turn_qpn_i;
      STEP_TURN: begin
        seg_q.turn       <= pick_i.turn;
        seg_q.generation <= qp_i.cfg.generation;
        seg_q.node       <= pick_i.turn == TURN_FLUSH && qp_i.sq.withdrawn ? node_i : qp_i.cfg.dest_node;
        seg_q.dest_qpn   <= qp_i.cfg.dest_qpn;
        seg_q.pd         <= qp_i.cfg.pd;
        seg_q.status     <= pick_i.turn == TURN_FLUSH ? CQE_STATUS_WR_FLUSH_ERR : CQE_STATUS_SUCCESS;
        seg_q.immediate  <= 1'b0;
        seg_q.read       <= read_i;
        seg_q.read_mo    <= '0;
        if (!pick_i.reads) begin
          seg_q.read.request <= qp_i.refused.request;
          seg_q.read.msn     <= qp_i.refused.msn;
          seg_q.read.atomic  <= qp_i.refused.atomic;
          seg_q.read_mo      <= qp_i.refused.mo;
        end
        seg_q.code       <= pick_i.code;
        seg_q.quote      <= pick_i.quote;
        seg_q.wants      <= pick_i.wants_answer;
        segments_q       <= '0;
        slots_q          <= '0;
        over_q           <= 1'b0;
        by_dma_q         <= 1'b0;
        again_q          <= 1'b0;
      end
      STEP_WORK: changed_q <= 1'b0;
      STEP_BEGIN: begin
        if (seg_q.turn == TURN_WORK) seg_q.status <= work.request.status;
        seg_q.offset    <= skip_i;
        seg_q.immediate <= resumes_i && seg_q.turn == TURN_WORK && sound;
        pulls_left_q    <= work.request.reads;
        by_dma_q        <= gather.start && step_d == STEP_ALLOC;
      end
      STEP_LOOK: if (gather.idle && refused) seg_q.status <= CQE_STATUS_LOC_PROT_ERR;
      STEP_REGION_CHANGED:
      if (change.rsp_valid) begin
        if (change.rsp.status != XLATE_OK)
          seg_q.status <= op_i.binds ? CQE_STATUS_MW_BIND_ERR : CQE_STATUS_LOC_PROT_ERR;
        changed_q <= change.rsp.status == XLATE_OK;
      end
      STEP_ALLOC: begin
        seg_q.slot     <= alloc_slot_i;
        seg_q.payload  <= left_q > 32'(mtu_i) ? mtu_i : chunk_t'(left_q);
        seg_q.gathered <= 1'b0;
      end
      STEP_JUDGE: seg_q.returned <= !fit;
      STEP_GATHER: begin
        seg_q.gathered <= 1'b1;
        if (gather.idle && refused && seg_q.turn == TURN_WORK) begin
          seg_q.status <= CQE_STATUS_LOC_PROT_ERR;
        end else if (gather.idle && refused) begin
          // A slot that awaits payload cannot take the terminate message.
          seg_q.turn     <= TURN_TERMINATE;
          seg_q.code     <= request_refusal(gather.status);
          seg_q.quote    <= 1'b1;
          seg_q.returned <= !nothing_asked;
          again_q        <= !nothing_asked;
          by_dma_q       <= 1'b0;
        end
      end
      STEP_SUBMIT:
      if (submit_ready_i) begin
        seg_q.offset    <= next_offset_o;
        seg_q.immediate <= last_o && op_i.immediate;
        seg_q.read.done <= seg_q.read.done + 32'(seg_q.payload);
        segments_q      <= segments_q + 1'b1;
        if (ends_o) slots_q <= slots_d;
        over_q       <= full;
        pulls_left_q <= pulls_left_q - 1'b1;
        by_dma_q     <= gather.start;
        again_q      <= 1'b0;
      end
      default: ;
    endcase
  end

endmodule
