// SPDX-License-Identifier: BSD-2-Clause
// Executes work requests: takes a queue pair whose turn it is, fetches a batch of its WQEs, cuts
// each message into segments of the MTU, asks for the payload by DMA straight into a slot of the
// retransmission buffer, and submits the slot. It never waits for payload.
//
// A work request that fails takes a slot too, marked as failed, so that its completion comes in
// order behind those before it; the queue pair halts until then.

module requester
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input  chunk_t mtu_i,
    input  logic   quiesce_i,    // begin nothing that touches a table or host memory
    output logic   quiescent_o,
    output logic   idle_o,

    input  logic turn_valid_i,
    output logic turn_ready_o,
    input  qpn_t turn_qpn_i,
    output logic wake_valid_o,  // the same queue pair again, behind the others
    input  logic wake_ready_i,
    output qpn_t wake_qpn_o,

    output logic qp_read_o,
    output qpn_t qp_read_qpn_o,
    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record
    input  qp_t  qp_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic       consumer_we_o,
    output logic       consumer_rq_o,
    output qpn_t       consumer_qpn_o,
    output wqe_index_t consumer_o,
    output logic       halt_we_o,

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

  localparam int unsigned Batch = 8;

  typedef enum logic [3:0] {
    StIdle, StTurnRead, StTurn, StFetch, StPick, StWqe, StAlloc, StQpRead, StSegment,
    StSge, StXlate, StXlateWait, StPayload, StSubmit, StWake
  } state_e;
  state_e state_q, state_d;

  // The turn: a queue pair, and the batch of its work requests.
  qpn_t qpn_q;
  logic [7:0] generation_q;
  node_t node_q;
  logic [23:0] dest_qpn_q;
  pd_t pd_q;
  logic flush_rq_q;  // the work request in hand is a receive
  wqe_index_t index_q;
  logic [$clog2(Batch)-1:0] batch_at_q;

  // The work request in hand.
  /* verilator lint_off UNUSEDSIGNAL */  // some fields have done their work in wqe_check
  wqe_t wqe_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [31:0] remaining_q;
  logic [63:0] to_q;
  cqe_status_e failed_q;

  // The segment in hand, and where the gathering stands.
  slot_t slot_q;
  chunk_t segment_q, filled_q, chunk_q;
  logic [63:0] sge_address_q;
  logic [31:0] sge_left_q, sge_stag_q;
  logic second_q;
  logic [63:0] bus_address_q;

  // ---- Fetching
  logic fetch_done, fetch_failed, picked, fetch_xlate_valid;
  logic [$clog2(Batch):0] fetch_count;
  xlate_req_t fetch_xlate;
  wqe_t picked_wqe;
  cqe_status_e check_status;
  logic in_fetch;
  assign in_fetch = state_q == StFetch;

  wqe_fetch #(
      .BATCH(Batch)
  ) u_fetch (
      .clk_i,
      .rst_ni,
      .start_i(state_q == StTurn && state_d == StFetch),
      .ring_pbl_i(qp_i.cfg.sq_pbl),
      .ring_log_i(qp_i.cfg.sq_log),
      .consumer_i(qp_i.sq_consumer),
      .producer_i(qp_i.sq_producer),
      .done_o(fetch_done),
      .failed_o(fetch_failed),
      .count_o(fetch_count),
      .pick_i(state_q == StPick),
      .pick_index_i(batch_at_q),
      .picked_o(picked),
      .wqe_o(picked_wqe),
      .xlate_valid_o(fetch_xlate_valid),
      .xlate_ready_i,
      .xlate_o(fetch_xlate),
      .xlate_rsp_valid_i(xlate_rsp_valid_i && in_fetch),
      .xlate_rsp_i,
      .read_valid_o(wqe_read_valid_o),
      .read_ready_i(wqe_read_ready_i),
      .read_o(wqe_read_o),
      .beat_valid_i(wqe_beat_valid_i),
      .beat_i
  );

  wqe_check u_check (
      .wqe_i(picked_wqe),
      .status_o(check_status)
  );

  // ---- Decisions
  logic sq_posted, rq_posted, stale, last_segment, wqe_done;
  assign sq_posted = qp_i.sq_consumer != qp_i.sq_producer;
  assign rq_posted = qp_i.rq_consumer != qp_i.rq_producer;
  assign stale = !qp_i.cfg.valid || qp_i.cfg.generation != generation_q ||
      !(qp_i.status.state inside {QP_STATE_RTS, QP_STATE_ERROR});
  assign last_segment = failed_q != CQE_STATUS_SUCCESS || remaining_q == 32'(segment_q);
  assign wqe_done = state_q == StSubmit && submit_ready_i && last_segment;

  chunk_t next_segment, usable;
  always_comb begin
    next_segment = remaining_q > 32'(mtu_i) ? mtu_i : chunk_t'(remaining_q);
    usable = segment_q - filled_q;
    if (xlate_rsp_i.length < 32'(usable)) usable = chunk_t'(xlate_rsp_i.length);
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (turn_valid_i && !quiesce_i) state_d = StTurnRead;
      StTurnRead: state_d = StTurn;
      StTurn:
      if (!qp_i.cfg.valid) state_d = StIdle;
      else if (qp_i.status.state == QP_STATE_ERROR)
        state_d = sq_posted || rq_posted ? StAlloc : StIdle;
      else if (qp_i.status.state == QP_STATE_RTS && sq_posted && !qp_i.halted) state_d = StFetch;
      else state_d = StIdle;
      StFetch: if (fetch_done) state_d = fetch_failed ? StAlloc : StPick;
      StPick: state_d = StWqe;
      StWqe: if (picked) state_d = StAlloc;
      StAlloc: if (alloc_valid_i && !quiesce_i) state_d = StQpRead;
      StQpRead: state_d = StSegment;
      StSegment:
      if (stale || qp_i.status.state == QP_STATE_ERROR || failed_q != CQE_STATUS_SUCCESS)
        state_d = StSubmit;
      else state_d = next_segment == '0 ? StSubmit : StSge;
      StSge: if (sge_left_q != '0) state_d = StXlate;
      StXlate: if (xlate_ready_i) state_d = StXlateWait;
      StXlateWait:
      if (xlate_rsp_valid_i) state_d = xlate_rsp_i.status == XLATE_OK ? StPayload : StSubmit;
      StPayload: if (payload_read_ready_i) state_d = filled_q + chunk_q == segment_q ? StSubmit : StSge;
      StSubmit:
      if (submit_ready_i) begin
        if (!last_segment) state_d = StAlloc;
        else if (failed_q != CQE_STATUS_SUCCESS || 32'(batch_at_q) + 1 == 32'(fetch_count))
          state_d = StWake;
        else state_d = StPick;
      end
      StWake: if (wake_ready_i) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  // A queue pair that was destroyed or reset meanwhile is another one now: leave it alone.
  logic stale_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= StIdle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StIdle: qpn_q <= turn_qpn_i;
      StTurn: begin
        generation_q <= qp_i.cfg.generation;
        node_q       <= qp_i.cfg.dest_node;
        dest_qpn_q   <= qp_i.cfg.dest_qpn;
        pd_q         <= qp_i.cfg.pd;
        flush_rq_q   <= qp_i.status.state == QP_STATE_ERROR && !sq_posted;
        index_q      <= sq_posted ? qp_i.sq_consumer : qp_i.rq_consumer;
        batch_at_q   <= '0;
        wqe_q        <= '0;
        failed_q     <= qp_i.status.state == QP_STATE_ERROR ? CQE_STATUS_WR_FLUSH_ERR
                                                             : CQE_STATUS_SUCCESS;
      end
      StFetch: if (fetch_done && fetch_failed) failed_q <= CQE_STATUS_LOC_QP_OP_ERR;
      StWqe: begin
        wqe_q         <= picked_wqe;
        failed_q      <= check_status;
        remaining_q   <= picked_wqe.length;
        to_q          <= picked_wqe.remote_to;
        sge_address_q <= picked_wqe.sge0_address;
        sge_left_q    <= picked_wqe.sge0_length;
        sge_stag_q    <= picked_wqe.sge0_stag;
        second_q      <= 1'b0;
      end
      StAlloc: slot_q <= alloc_slot_i;
      StSegment: begin
        stale_q   <= stale;
        filled_q  <= '0;
        segment_q <= next_segment;
        if (failed_q == CQE_STATUS_SUCCESS && (stale || qp_i.status.state == QP_STATE_ERROR))
          failed_q <= CQE_STATUS_WR_FLUSH_ERR;
      end
      StSge:
      if (sge_left_q == '0 && !second_q) begin
        second_q      <= 1'b1;
        sge_address_q <= wqe_q.sge1_address;
        sge_left_q    <= wqe_q.sge1_length;
        sge_stag_q    <= wqe_q.sge1_stag;
      end
      StXlateWait:
      if (xlate_rsp_valid_i) begin
        bus_address_q <= xlate_rsp_i.address;
        chunk_q       <= usable;
        if (xlate_rsp_i.status != XLATE_OK) failed_q <= CQE_STATUS_LOC_PROT_ERR;
      end
      StPayload:
      if (payload_read_ready_i) begin
        filled_q      <= filled_q + chunk_q;
        sge_address_q <= sge_address_q + 64'(chunk_q);
        sge_left_q    <= sge_left_q - 32'(chunk_q);
      end
      StSubmit:
      if (submit_ready_i) begin
        remaining_q <= remaining_q - 32'(segment_q);
        to_q        <= to_q + 64'(segment_q);
        if (last_segment) begin
          index_q    <= index_q + 1'b1;
          batch_at_q <= batch_at_q + 1'b1;
        end
      end
      default: ;
    endcase
  end

  // ---- Outputs
  assign quiescent_o = state_q == StIdle || state_q == StAlloc;
  assign idle_o = state_q == StIdle;
  assign turn_ready_o = state_q == StIdle && !quiesce_i;
  assign wake_valid_o = state_q == StWake;
  assign wake_qpn_o = qpn_q;
  assign qp_read_o = state_q == StTurnRead || state_q == StQpRead;
  assign qp_read_qpn_o = qpn_q;
  assign consumer_we_o = wqe_done && !stale_q;
  assign consumer_rq_o = flush_rq_q;
  assign consumer_qpn_o = qpn_q;
  assign consumer_o = index_q + 1'b1;
  assign halt_we_o = consumer_we_o && failed_q != CQE_STATUS_SUCCESS;

  assign xlate_valid_o = in_fetch ? fetch_xlate_valid : state_q == StXlate;
  assign xlate_o = in_fetch ? fetch_xlate : '{
          ring: 1'b0,
          pbl_address: '0,
          stag: sge_stag_q,
          pd: pd_q,
          access: '0,  // local read is always granted
          to: sge_address_q,
          length: sge_left_q
      };

  assign payload_read_valid_o = state_q == StPayload;
  assign payload_read_o = '{
          address: bus_address_q,
          length: chunk_q,
          dst: {slot_q, filled_q[$clog2(MTU_MAX)-1:0]}
      };
  assign alloc_ready_o = state_q == StAlloc && !quiesce_i;

  ddp_tagged_t ddp;
  assign ddp = '{
          t: 1'b1,
          last: last_segment,
          rsvd: '0,
          dv: 2'(DDP_VERSION),
          rv: 2'(RDMAP_VERSION),
          rdmap_rsvd: '0,
          opcode: RDMAP_OPCODE_WRITE,
          stag: wqe_q.remote_stag,
          to: to_q
      };
  assign submit_valid_o = state_q == StSubmit;
  assign submit_o = '{
          slot: slot_q,
          node: node_q,
          dst_qpn: dest_qpn_q,
          src_qpn: 24'(qpn_q),
          refused: '0,
          untagged: 1'b0,
          ddp: {ddp, 32'd0},
          length: filled_q,
          failed: failed_q,
          inlined: 1'b0,
          inline_data: '0,
          tag: '{
              kind: last_segment ? TX_KIND_LAST : TX_KIND_SEGMENT,
              qpn: qpn_q,
              generation: generation_q,
              wqe_index: index_q,
              byte_length: wqe_q.length,
              signaled: wqe_q.flags[WQE_FLAGS_SIGNALED],
              opcode: flush_rq_q ? WQE_OPCODE_RECV : WQE_OPCODE_PUSH
          }
      };

  always_comb begin
    event_o = '0;
    event_o[COUNTER_WQES] = consumer_we_o;
    event_o[COUNTER_WQE_ERRORS] = halt_we_o && failed_q != CQE_STATUS_WR_FLUSH_ERR;
  end

endmodule
