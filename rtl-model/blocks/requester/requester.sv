// SPDX-License-Identifier: BSD-2-Clause
// Gives queue pairs their turns: executes work requests, answers the peer's RDMA Read Requests, and
// in ERROR ends what is left. It cuts messages into segments, asks for their payload by DMA
// straight into a slot of the retransmission buffer, and submits the slot; it never waits for
// payload. A work request that is not sent takes a slot too, so that completions come in order.

module requester
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input  chunk_t mtu_i,
    input  logic   more_turns_i,  // another queue pair waits for its turn
    input  logic   quiesce_i,     // begin nothing that touches a table or host memory
    output logic   quiescent_o,
    output logic   idle_o,

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
    output logic       status_valid_o,
    input  logic       status_ready_i,
    output qp_status_t status_o,
    output logic       qp_error_o,
    output logic       flush_valid_o,
    input  logic       flush_ready_i,
    input  reads_t     pull_count_i,
    output logic       pull_push_o,
    output pull_t      pull_o,
    input  reads_t     read_count_i,
    input  read_t      read_i,
    output logic       read_pop_o,
    output logic       read_set_o,
    output read_t      read_o,

    output logic       xlate_valid_o,
    input  logic       xlate_ready_i,
    output xlate_req_t xlate_o,
    input  logic       xlate_rsp_valid_i,
    input  xlate_rsp_t xlate_rsp_i,

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

    output logic     submit_valid_o,
    input  logic     submit_ready_i,
    output tx_desc_t submit_o,

    output event_t event_o
);

  typedef enum logic [3:0] {
    StIdle, StTurn, StWork, StBegin, StLook, StInvalidate, StInvalidated, StAlloc, StJudge,
    StGather, StSubmit, StStatusRead, StStatus, StWake, StHandOver
  } state_e;
  state_e state_q, state_d;

  // The turn.
  turn_e turn_q;
  qpn_t qpn_q;
  logic [7:0] generation_q;
  node_t node_q;
  logic [23:0] dest_qpn_q;
  pd_t pd_q;
  logic [$clog2(TURN_SEGMENTS)-1:0] segments_q;
  logic over_q;  // it is, if others wait
  read_t read_q;
  term_code_e code_q;
  logic quote_q;

  // The message, and its segment in hand.
  cqe_status_e status_q;  // other than SUCCESS: the work request is not sent
  logic [31:0] offset_q, remaining_q;
  reads_t pulls_left_q;
  logic immediate_q;  // what is left is the Immediate Data message
  slot_t slot_q;
  chunk_t segment_q;
  logic gathered_q;  // payload was asked for
  logic returned_q;  // the slot only goes back
  logic again_q;     // and another one is needed
  logic submitted;
  assign submitted = state_q == StSubmit && submit_ready_i;

  turn_e turn;
  logic quote, own_work, reads_wait;
  turn_pick u_pick (
      .clk_i,
      .qp_i,
      .qpn_i(qpn_q),
      .pull_count_i,
      .read_count_i,
      .take_i(state_q == StTurn),
      .turn_o(turn),
      .quote_o(quote),
      .work_o(own_work),
      .reads_o(reads_wait)
  );

  // ---- The work request in hand
  logic work_done, work_torn, work_last, work_next, work_xlate_valid;
  cqe_status_e work_status;
  slots_t slots;
  wqe_t wqe;
  inline_t inline_data;
  reads_t reads_needed;
  word_index_t second_sge, word_index;
  sge_t word;
  xlate_req_t work_xlate;

  work_batch u_work (
      .clk_i,
      .rst_ni,
      .start_i(state_q == StTurn && state_d == StWork),
      .next_i(work_next),
      .slots_only_i(turn_q == TURN_FLUSH),
      .ring_pbl_i(qp_i.cfg.sq_pbl),
      .ring_log_i(qp_i.cfg.sq_log),
      .consumer_i(qp_i.sq.consumer),
      .producer_i(qp_i.sq_producer),
      .max_reads_i(qp_i.cfg.max_reads_out),
      .done_o(work_done),
      .torn_o(work_torn),
      .last_o(work_last),
      .status_o(work_status),
      .slots_o(slots),
      .wqe_o(wqe),
      .inline_o(inline_data),
      .reads_o(reads_needed),
      .second_sge_o(second_sge),
      .word_index_i(word_index),
      .word_o(word),
      .xlate_valid_o(work_xlate_valid),
      .xlate_ready_i,
      .xlate_o(work_xlate),
      .xlate_rsp_valid_i,
      .xlate_rsp_i,
      .read_valid_o(wqe_read_valid_o),
      .read_ready_i(wqe_read_ready_i),
      .read_o(wqe_read_o),
      .beat_valid_i(wqe_beat_valid_i),
      .beat_i
  );

  logic is_pull, is_local_invalidate, is_inline;
  assign is_pull = wqe.opcode == WQE_OPCODE_PULL;
  assign is_local_invalidate = wqe.opcode == WQE_OPCODE_LOCAL_INVALIDATE;
  assign is_inline = wqe.flags[WQE_FLAGS_INLINE];
  assign work_next = state_q == StSubmit && state_d == StWork;

  // ---- Its payload, or that of a response
  logic sge_valid, sge_end, gather_start, gather_stop, gather_idle, gather_quiet;
  logic gather_xlate_valid;
  xlate_status_e gather_status;
  chunk_t gather_filled;
  sge_t source, sge;
  logic [31:0] skip;
  logic [7:0] access;
  xlate_req_t gather_xlate;

  always_comb begin
    // What earlier turns have submitted; the ring may say another length by now.
    skip = qp_i.sq.progress < wqe.length ? qp_i.sq.progress : wqe.length;
    source = '{stag: wqe.sge0_stag, length: wqe.sge0_length, address: wqe.sge0_address};
    access = '0;  // local read is always granted
    if (is_pull) begin
      skip = '0;
      access = 8'd1 << ACCESS_LOCAL_WRITE;
    end
    if (turn_q == TURN_READ) begin
      skip = read_q.done;
      source.stag = read_q.request.source_stag;
      source.length = read_q.request.length;
      source.address = read_q.request.source_to;
      access = 8'd1 << ACCESS_REMOTE_READ;
    end
  end

  payload_gather u_gather (
      .clk_i,
      .rst_ni,
      .quiesce_i,
      .load_i(state_q == StBegin || (state_q == StLook && gather_idle)),
      .first_i(source),
      .count_i(turn_q == TURN_READ ? sges_t'(1) : sges_t'(wqe.num_sge)),
      .next_word_i(second_sge),
      .skip_i(skip),
      .word_index_o(word_index),
      .word_i(word),
      .valid_o(sge_valid),
      .end_o(sge_end),
      .sge_o(sge),
      .take_i(pull_push_o && sge_valid),
      .start_i(gather_start),
      .look_i(turn_q == TURN_WORK && is_pull),
      .stop_i(gather_stop),
      .idle_o(gather_idle),
      .quiet_o(gather_quiet),
      .status_o(gather_status),
      .filled_o(gather_filled),
      .slot_valid_i(state_q == StGather),
      .slot_i(slot_q),
      .segment_i(segment_q),
      .pd_i(pd_q),
      .access_i(access),
      .xlate_valid_o(gather_xlate_valid),
      .xlate_ready_i,
      .xlate_o(gather_xlate),
      .xlate_rsp_valid_i,
      .xlate_rsp_i,
      .read_valid_o(payload_read_valid_o),
      .read_ready_i(payload_read_ready_i),
      .read_o(payload_read_o)
  );

  // ---- The segment in hand
  logic by_dma_q, payload_last, ends, completes, over, fit, connected;
  logic [31:0] remaining_d, next_offset;
  assign payload_last = remaining_q == 32'(segment_q);
  assign next_offset  = offset_q + (is_pull ? pull_o.left : 32'(segment_q));
  always_comb begin
    if (status_q != CQE_STATUS_SUCCESS || is_local_invalidate) ends = 1'b1;
    else if (is_pull) ends = pulls_left_q == reads_t'(1);
    else ends = payload_last && (immediate_q || wqe.opcode != WQE_OPCODE_PUSH_IMM);
  end
  // Others go first now; of the queue pair itself its work, or the peer's reads.
  assign over = (over_q || &segments_q) &&
      (more_turns_i || (turn_q == TURN_READ ? own_work : reads_wait));

  always_comb begin
    remaining_d = remaining_q;
    if (state_q == StBegin)
      remaining_d = (turn_q == TURN_READ ? read_q.request.length : wqe.length) - skip;
    else if (submitted && !returned_q) remaining_d = remaining_q - 32'(segment_q);
  end

  // The queue pair as it is when a slot is there.
  always_comb begin
    unique case (turn_q)
      TURN_WORK: fit = qp_i.status.state == QP_STATE_RTS;
      TURN_READ: fit = qp_i.status.state inside {QP_STATE_RTR, QP_STATE_RTS};
      TURN_FLUSH: fit = qp_i.status.state == QP_STATE_ERROR;
      default: fit = connected && !qp_i.status.told;
    endcase
    if (!qp_i.cfg.valid || qp_i.cfg.generation != generation_q) fit = 1'b0;
  end
  assign connected = qp_i.status.state inside {QP_STATE_RTR, QP_STATE_RTS, QP_STATE_ERROR};

  // ---- May the work request begin? PULLs and other work are never under way together.
  logic blocked, all_ended;
  assign all_ended = qp_i.sq.issued == qp_i.ended;
  always_comb begin
    if (work_status == CQE_STATUS_SUCCESS && is_pull)
      blocked = !all_ended ||
          qp_i.cfg.max_reads_out - pull_count_i < reads_needed;
    else
      blocked = pull_count_i != '0 ||
          (work_status == CQE_STATUS_SUCCESS && is_local_invalidate && !all_ended);
  end

  // What blocks wakes when it ends; reads of the peer do not wait for that.
  state_e after_block;
  assign after_block = reads_wait ? StWake : StIdle;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (turn_valid_i && !quiesce_i) state_d = StTurn;
      StTurn:
      unique case (turn)
        TURN_WORK, TURN_FLUSH: state_d = StWork;
        TURN_READ: state_d = StBegin;
        TURN_TERMINATE: state_d = StAlloc;
        TURN_POP: state_d = StWake;
        TURN_HAND_OVER: state_d = StHandOver;
        default: state_d = StIdle;
      endcase
      StWork:
      if (work_done) begin
        if (work_torn) state_d = StWake;
        else state_d = turn_q == TURN_FLUSH ? StAlloc : StBegin;
      end
      StBegin:
      if (turn_q == TURN_READ) state_d = StAlloc;
      else if (blocked) state_d = after_block;
      else if (work_status != CQE_STATUS_SUCCESS) state_d = StAlloc;
      else if (is_pull) state_d = StLook;
      else state_d = is_local_invalidate ? StInvalidate : StAlloc;
      StLook:
      if (gather_idle)
        state_d = gather_status != XLATE_OK && pull_count_i != '0 ? after_block : StAlloc;
      StInvalidate: if (xlate_ready_i) state_d = StInvalidated;
      StInvalidated: if (xlate_rsp_valid_i) state_d = StAlloc;
      StAlloc: if (alloc_valid_i && !quiesce_i) state_d = StJudge;
      StJudge:
      if (!fit) state_d = gather_idle ? StSubmit : StJudge;
      else if (by_dma_q) state_d = StGather;
      else if (turn_q != TURN_WORK || !is_pull || sge_valid || sge_end) state_d = StSubmit;
      StGather:
      if (gather_idle) begin
        if (turn_q == TURN_READ && gather_status != XLATE_OK && gather_filled == '0)
          state_d = StJudge;
        else state_d = StSubmit;
      end
      StSubmit:
      if (submit_ready_i) begin
        if (returned_q) state_d = again_q ? StAlloc : StWake;
        else if (turn_q == TURN_TERMINATE) state_d = StStatusRead;
        else if (turn_q == TURN_READ) state_d = payload_last || over ? StWake : StAlloc;
        else if (!ends) state_d = over && !is_pull && !payload_last ? StWake : StAlloc;
        else if (work_last || over || status_q inside {
            CQE_STATUS_LOC_LEN_ERR, CQE_STATUS_LOC_QP_OP_ERR, CQE_STATUS_LOC_PROT_ERR})
          state_d = StWake;
        else state_d = StWork;
      end
      // No other writer of the status in either cycle: nothing of theirs is lost.
      StStatusRead: if (status_ready_i) state_d = StStatus;
      StStatus: state_d = status_ready_i ? StWake : StStatusRead;
      StWake: if (wake_ready_i) state_d = StIdle;
      StHandOver: if (flush_ready_i) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  always_comb begin
    gather_start = 1'b0;
    if (state_q == StBegin && turn_q == TURN_WORK)
      gather_start = state_d == StLook || (state_d == StAlloc && !is_inline &&
          work_status == CQE_STATUS_SUCCESS && remaining_d != '0);
    else if (state_q == StBegin) gather_start = remaining_d != '0;
    else if (submitted)
      gather_start = state_d == StAlloc && by_dma_q && !returned_q && remaining_d != '0;
  end
  assign gather_stop = state_q == StJudge && !fit;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= StIdle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    remaining_q <= remaining_d;
    unique case (state_q)
      StIdle: qpn_q <= turn_qpn_i;
      StTurn: begin
        turn_q       <= turn;
        generation_q <= qp_i.cfg.generation;
        node_q       <= qp_i.cfg.dest_node;
        dest_qpn_q   <= qp_i.cfg.dest_qpn;
        pd_q         <= qp_i.cfg.pd;
        segments_q   <= '0;
        over_q       <= 1'b0;
        read_q       <= read_i;
        code_q       <= TERM_CODE_STREAM;
        quote_q      <= quote;
        again_q      <= 1'b0;
        by_dma_q     <= 1'b0;
        status_q     <= turn == TURN_FLUSH ? CQE_STATUS_WR_FLUSH_ERR : CQE_STATUS_SUCCESS;
      end
      StBegin: begin
        if (turn_q == TURN_WORK) status_q <= work_status;
        offset_q     <= skip;
        immediate_q  <= 1'b0;
        pulls_left_q <= reads_needed;
        by_dma_q     <= gather_start;
      end
      StLook: begin
        by_dma_q <= 1'b0;
        if (gather_idle && gather_status != XLATE_OK) status_q <= CQE_STATUS_LOC_PROT_ERR;
      end
      StInvalidated:
      if (xlate_rsp_valid_i && xlate_rsp_i.status != XLATE_OK)
        status_q <= CQE_STATUS_LOC_PROT_ERR;
      StAlloc: begin
        slot_q     <= alloc_slot_i;
        segment_q  <= remaining_q > 32'(mtu_i) ? mtu_i : chunk_t'(remaining_q);
        gathered_q <= 1'b0;
      end
      StJudge: returned_q <= !fit;
      StGather: begin
        gathered_q <= 1'b1;
        if (gather_idle && gather_status != XLATE_OK) begin
          if (turn_q == TURN_WORK) begin
            status_q <= CQE_STATUS_LOC_PROT_ERR;
          end else begin
            // A slot that awaits payload cannot take the terminate message.
            turn_q     <= TURN_TERMINATE;
            code_q     <= refusal(gather_status);
            quote_q    <= 1'b1;
            by_dma_q   <= 1'b0;
            returned_q <= gather_filled != '0;
            again_q    <= gather_filled != '0;
          end
        end
      end
      StSubmit:
      if (submit_ready_i) begin
        segments_q  <= segments_q + 1'b1;
        over_q      <= over_q || &segments_q;
        again_q     <= 1'b0;
        offset_q    <= next_offset;
        if (!returned_q) read_q.done <= read_q.done + 32'(segment_q);
        by_dma_q    <= gather_start;
        if (is_pull) pulls_left_q <= pulls_left_q - 1'b1;
        immediate_q <= payload_last && wqe.opcode == WQE_OPCODE_PUSH_IMM;
      end
      default: ;
    endcase
  end

  function automatic term_code_e refusal(xlate_status_e status);
    unique case (status)
      XLATE_STAG: return TERM_CODE_RDMAP_STAG;
      XLATE_STREAM: return TERM_CODE_RDMAP_STREAM;
      XLATE_ACCESS: return TERM_CODE_ACCESS;
      XLATE_WRAP: return TERM_CODE_RDMAP_WRAP;
      XLATE_BOUNDS: return TERM_CODE_RDMAP_BOUNDS;
      default: return TERM_CODE_STREAM;
    endcase
  endfunction

  // ---- Outputs
  assign idle_o = state_q == StIdle;
  assign quiescent_o = state_q inside {StIdle, StHandOver} || (state_q == StAlloc && gather_quiet);
  assign turn_ready_o = state_q == StIdle && !quiesce_i;
  assign wake_valid_o = state_q == StWake;
  assign wake_qpn_o = qpn_q;
  assign flush_valid_o = state_q == StHandOver;
  assign alloc_ready_o = state_q == StAlloc && !quiesce_i;

  // Read again for each work request, and when a slot is there: much may have changed meanwhile.
  assign qp_read_qpn_o = state_q == StIdle ? turn_qpn_i : qpn_q;
  assign qp_read_o = state_q inside {StIdle, StWork, StAlloc, StStatusRead};

  assign xlate_valid_o = work_xlate_valid || gather_xlate_valid || state_q == StInvalidate;
  always_comb begin
    xlate_o = work_xlate_valid ? work_xlate : gather_xlate;
    if (state_q == StInvalidate) begin
      xlate_o = '0;
      xlate_o.invalidate = 1'b1;
      xlate_o.stag = wqe.imm_data;
      xlate_o.pd = pd_q;
    end
  end

  logic own, sent;
  wqe_index_t last_slot;
  logic [31:0] msn;
  assign own  = turn_q inside {TURN_WORK, TURN_FLUSH};
  assign sent = status_q == CQE_STATUS_SUCCESS;

  work_progress u_progress (
      .sq_i(qp_i.sq),
      .opcode_i(wqe.opcode),
      .slots_i(slots),
      .status_i(status_q),
      .immediate_i(immediate_q),
      .ends_i(ends),
      .offset_i(offset_q),
      .next_i(next_offset),
      .msn_o(msn),
      .completes_o(completes),
      .sq_o
  );
  assign sq_we_o = submitted && own && !returned_q;

  assign pull_push_o = sq_we_o && is_pull && sent;
  assign pull_o = '{
          stag: sge_valid ? sge.stag : '0,
          to: sge_valid ? sge.address : '0,
          left: sge_valid ? sge.length : '0,
          last: ends,
          signaled: wqe.flags[WQE_FLAGS_SIGNALED],
          wqe_index: last_slot,
          byte_length: wqe.length
      };
  assign last_slot = qp_i.sq.consumer + wqe_index_t'(slots) - 1'b1;

  assign read_pop_o = (state_q == StTurn && turn == TURN_POP) ||
      (submitted && !returned_q && (turn_q == TURN_TERMINATE ? quote_q :
                                    turn_q == TURN_READ && payload_last));
  assign read_set_o = submitted && !returned_q && turn_q == TURN_READ && !payload_last;
  always_comb begin
    read_o = read_q;
    read_o.done = read_q.done + 32'(segment_q);
  end

  always_comb begin
    status_o = qp_i.status;
    status_o.state = QP_STATE_ERROR;
    status_o.told = 1'b1;
    status_o.answer_lost = 1'b0;
  end
  assign status_valid_o = state_q == StStatus;
  assign qp_error_o = status_valid_o && status_ready_i && qp_i.status.state != QP_STATE_ERROR;

  logic unsent, inlined, untagged, imm_valid;
  logic [143:0] ddp;
  logic [31:0] imm;
  inline_t segment_inline;
  chunk_t inlined_length;
  assign unsent = returned_q || !sent || (turn_q == TURN_WORK && is_local_invalidate);
  assign submit_valid_o = state_q == StSubmit;

  segment_build u_segment (
      .turn_i(turn_q),
      .last_i(payload_last || immediate_q || is_pull),
      .wqe_i(wqe),
      .inline_i(inline_data),
      .immediate_i(immediate_q),
      .offset_i(offset_q),
      .msn_i(msn),
      .sge_i('{stag: pull_o.stag, length: pull_o.left, address: pull_o.to}),
      .read_i(read_q),
      .code_i(code_q),
      .quote_i(quote_q),
      .untagged_o(untagged),
      .ddp_o(ddp),
      .imm_valid_o(imm_valid),
      .imm_o(imm),
      .inlined_o(inlined),
      .inline_o(segment_inline),
      .length_o(inlined_length)
  );
  always_comb begin
    submit_o.slot = slot_q;
    submit_o.node = node_q;
    submit_o.dst_qpn = dest_qpn_q;
    submit_o.src_qpn = 24'(qpn_q);
    submit_o.refused = '0;
    submit_o.untagged = untagged;
    submit_o.ddp = ddp;
    submit_o.unsent = unsent;
    submit_o.status = returned_q ? CQE_STATUS_SUCCESS : status_q;
    submit_o.imm_valid = imm_valid;
    submit_o.imm = imm;
    submit_o.inlined = inlined && !unsent;
    submit_o.inline_data = segment_inline;
    if (inlined && !unsent) submit_o.length = inlined_length;
    else submit_o.length = gathered_q ? gather_filled : '0;
    submit_o.tag.qpn = qpn_q;
    submit_o.tag.generation = generation_q;
    submit_o.tag.wqe_index = last_slot;
    submit_o.tag.byte_length = wqe.length;
    submit_o.tag.signaled = wqe.flags[WQE_FLAGS_SIGNALED];
    submit_o.tag.opcode = wqe.opcode;
    if (returned_q || turn_q == TURN_READ) submit_o.tag.kind = TX_KIND_RESPONSE;
    else if (turn_q == TURN_TERMINATE) submit_o.tag.kind = TX_KIND_TERMINATE;
    else submit_o.tag.kind = completes ? TX_KIND_LAST : TX_KIND_SEGMENT;
  end

  always_comb begin
    event_o = '0;
    event_o[COUNTER_WQES] = sq_we_o && ends;
    event_o[COUNTER_WQE_ERRORS] = sq_we_o && !sent && turn_q == TURN_WORK;
    event_o[COUNTER_READS_SERVED] = read_pop_o && turn_q == TURN_READ;
  end

endmodule
