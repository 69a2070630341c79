// SPDX-License-Identifier: BSD-2-Clause
// Places received segments: checks the queue pair, the DDP/RDMAP headers and the STag, and sends
// the payload to its pages. What it refuses is answered by a terminate message with the RFC's
// code; the acknowledgement of a refused segment is held back until that message is acknowledged,
// so that a sender never takes it for placed.

module responder
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_QP = MAX_QP
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic quiesce_i,    // begin nothing that touches a table or host memory
    output logic quiescent_o,
    output logic idle_o,

    input  logic     desc_valid_i,
    output logic     desc_ready_o,
    input  rx_desc_t desc_i,

    output logic  hold_set_o,
    output node_t hold_node_o,
    output logic [31:0] hold_seq_o,
    input  logic  hold_active_i,  // of hold_node_o: a refusal is under way
    input  logic [31:0] hold_first_i,

    output logic qp_read_o,
    output qpn_t qp_read_qpn_o,
    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record
    input  qp_t  qp_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic       status_valid_o,
    input  logic       status_ready_i,
    output qpn_t       status_qpn_o,
    output qp_status_t status_o,
    output logic       wake_valid_o,
    input  logic       wake_ready_i,
    output qpn_t       wake_qpn_o,
    output logic       qp_error_o,  // pulse: a queue pair went to ERROR

    output logic       xlate_valid_o,
    input  logic       xlate_ready_i,
    output xlate_req_t xlate_o,
    input  logic       xlate_rsp_valid_i,
    input  xlate_rsp_t xlate_rsp_i,

    output logic           write_valid_o,
    input  logic           write_ready_i,
    output dma_write_cmd_t write_o,
    input  logic           write_idle_i,  // nothing accepted is still to be written

    input  logic     alloc_valid_i,
    output logic     alloc_ready_o,
    input  slot_t    alloc_slot_i,
    output logic     submit_valid_o,
    input  logic     submit_ready_i,
    output tx_desc_t submit_o,

    output event_t event_o
);

  localparam int unsigned TaggedBytes = DDP_TAGGED_BYTES;
  localparam int unsigned UntaggedBytes = DDP_UNTAGGED_BYTES;
  // Terminate control and segment length, before the quoted header.
  localparam int unsigned QuoteOffset = TERMINATE_BYTES - DDP_TAGGED_BYTES;

  typedef enum logic [3:0] {
    StIdle, StQpRead, StCheck, StXlate, StXlateWait, StWrite, StDone, StHold, StAlloc, StTerminate,
    StStatusRead, StStatus, StWake
  } state_e;
  state_e state_q, state_d;

  rx_desc_t desc_q;
  slot_t slot_q;
  term_code_e code_q;
  logic refused_q;
  logic was_mine_q;  // the queue pair, when the segment was judged
  cqe_status_e fault_q;       // what the queue pair's oldest work request failed with, if it did
  logic [15:0] fault_detail_q;
  logic [63:0] to_q, bus_address_q;
  chunk_t left_q, chunk_q;
  rx_address_t src_q;

  // ---- What came
  logic is_write, is_terminate;
  term_code_e header_code;
  ddp_tagged_t header;
  logic [15:0] received_code;  // of a terminate message
  chunk_t payload;
  assign header    = desc_q.ddp[159-:$bits(ddp_tagged_t)];
  assign received_code = desc_q.length >= 16'(UntaggedBytes + 2) ? desc_q.ddp[15:0] : '0;
  assign payload   = chunk_t'(desc_q.length - 16'(TaggedBytes));

  ddp_check u_check (
      .ddp_i(desc_q.ddp[159:16]),
      .write_o(is_write),
      .terminate_o(is_terminate),
      .code_o(header_code)
  );

  // ---- For whom
  logic qpn_in_table, mine, receiving;
  assign qpn_in_table = desc_q.dst_qpn < 24'(N_QP);
  assign mine = qpn_in_table && qp_i.cfg.valid && qp_i.cfg.dest_node == desc_q.node &&
      qp_i.cfg.dest_qpn == desc_q.src_qpn &&
      qp_i.status.state inside {QP_STATE_RTR, QP_STATE_RTS, QP_STATE_ERROR};
  assign receiving = mine && qp_i.status.state != QP_STATE_ERROR;
  // A queue pair that became the addressee only after the refusal is not to blame for it.
  logic affected;
  assign affected = mine && was_mine_q;

  function automatic term_code_e refusal(xlate_status_e status);
    unique case (status)
      XLATE_STAG: return TERM_CODE_TAGGED_STAG;
      XLATE_STREAM: return TERM_CODE_TAGGED_STREAM;
      XLATE_ACCESS: return TERM_CODE_ACCESS;
      XLATE_WRAP: return TERM_CODE_TAGGED_WRAP;
      XLATE_BOUNDS: return TERM_CODE_TAGGED_BOUNDS;
      default: return TERM_CODE_STREAM;
    endcase
  endfunction

  // Errors of the remote protection and tagged buffer kinds are access errors to the verbs user.
  logic access_error;
  assign access_error = received_code[15:8] inside {8'h01, 8'h11};

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (desc_valid_i && !quiesce_i) state_d = StQpRead;
      StQpRead: state_d = StCheck;
      StCheck:
      if (is_terminate) state_d = receiving ? StStatus : StDone;
      else if (mine && !receiving && qp_i.status.told) state_d = StDone;
      else if (!receiving || !is_write) state_d = StHold;
      else state_d = payload == '0 ? StDone : StXlate;
      StXlate: if (xlate_ready_i) state_d = StXlateWait;
      StXlateWait:
      if (xlate_rsp_valid_i) state_d = xlate_rsp_i.status == XLATE_OK ? StWrite : StHold;
      StWrite: if (write_ready_i) state_d = chunk_q == left_q ? StIdle : StXlate;
      StDone: if (write_ready_i) state_d = StIdle;
      // All before the refused segment must be placed: then the ack beside its terminate message,
      // together with `refused`, names it.
      StHold: if (write_idle_i) state_d = StAlloc;
      StAlloc: if (alloc_valid_i && !quiesce_i) state_d = StTerminate;
      StTerminate: if (submit_ready_i) state_d = StStatusRead;
      StStatusRead: state_d = StStatus;
      StStatus: if (!affected || status_ready_i) state_d = affected && receiving ? StWake : StDone;
      StWake: if (wake_ready_i) state_d = StDone;
      default: state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= StIdle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StIdle: begin
        desc_q    <= desc_i;
        refused_q <= 1'b0;
      end
      StHold: refused_q <= 1'b1;
      StCheck: begin
        to_q   <= header.to;
        left_q <= payload;
        src_q  <= desc_q.start + rx_address_t'(TaggedBytes);
        code_q <= receiving ? header_code : TERM_CODE_STREAM;
        was_mine_q <= mine;
        // A terminate message names the error of our oldest work request.
        fault_q <= !is_terminate ? CQE_STATUS_SUCCESS :
            access_error ? CQE_STATUS_REM_ACCESS_ERR : CQE_STATUS_REM_OP_ERR;
        fault_detail_q <= received_code;
      end
      StXlateWait:
      if (xlate_rsp_valid_i) begin
        bus_address_q <= xlate_rsp_i.address;
        chunk_q       <= chunk_t'(xlate_rsp_i.length);
        code_q        <= refusal(xlate_rsp_i.status);
      end
      StWrite:
      if (write_ready_i) begin
        to_q   <= to_q + 64'(chunk_q);
        left_q <= left_q - chunk_q;
        src_q  <= src_q + rx_address_t'(chunk_q);
      end
      StAlloc: slot_q <= alloc_slot_i;
      default: ;
    endcase
  end

  // ---- Outputs
  assign idle_o = state_q == StIdle;
  assign quiescent_o = state_q == StIdle || state_q == StAlloc || state_q == StHold;
  assign desc_ready_o = state_q == StIdle && !quiesce_i;
  assign hold_set_o = submit_valid_o && submit_ready_i;
  assign hold_node_o = desc_q.node;
  assign hold_seq_o = desc_q.seq;

  assign qp_read_o = state_q == StQpRead || state_q == StStatusRead;
  assign qp_read_qpn_o = desc_q.dst_qpn[$bits(qpn_t)-1:0];
  assign status_valid_o = state_q == StStatus && affected;
  assign status_qpn_o = qp_read_qpn_o;
  // In ERROR a discarded segment will be acknowledged: a peer that has not been told takes it for
  // placed. One that has been told knows that nothing from the refused segment on was.
  always_comb begin
    status_o = qp_i.status;
    if (receiving) begin
      status_o = '{
          state: QP_STATE_ERROR,
          fault: fault_q != CQE_STATUS_SUCCESS,
          fault_status: fault_q,
          fault_detail: fault_detail_q,
          exact: fault_q != CQE_STATUS_SUCCESS,
          fault_seq: desc_q.ack + 32'(desc_q.refused),
          told: 1'b0
      };
    end
    if (refused_q) status_o.told = 1'b1;
  end
  assign qp_error_o = status_valid_o && status_ready_i && receiving;
  assign wake_valid_o = state_q == StWake;
  assign wake_qpn_o = qp_read_qpn_o;

  assign xlate_valid_o = state_q == StXlate;
  assign xlate_o = '{
          ring: 1'b0,
          pbl_address: '0,
          stag: header.stag,
          pd: qp_i.cfg.pd,
          access: 8'd1 << ACCESS_REMOTE_WRITE,
          to: to_q,
          length: 32'(left_q)
      };

  assign write_valid_o = state_q == StWrite || state_q == StDone;
  assign write_o = '{
          kind: state_q == StWrite ? DMA_WRITE_FRAME : DMA_WRITE_NONE,
          address: bus_address_q,
          length: chunk_q,
          src: src_q,
          data: '0,
          frame_done: state_q == StDone || chunk_q == left_q,
          node: desc_q.node
      };

  // The terminate message quotes the header of the segment that it refuses.
  logic quote_tagged;
  logic [255:0] quoted;
  terminate_t control;
  assign quote_tagged = desc_q.ddp[159];
  always_comb begin
    control = '0;
    control.code = code_q;
    control.m = 1'b1;
    control.d = 1'b1;
    control.segment_length = desc_q.length;
    quoted = {control, 96'd0} | {48'd0, quote_tagged ? {header, 32'd0} : desc_q.ddp[159:16], 64'd0};
  end
  ddp_untagged_t ddp;
  assign ddp = '{
          t: 1'b0,
          last: 1'b1,
          rsvd: '0,
          dv: 2'(DDP_VERSION),
          rv: 2'(RDMAP_VERSION),
          rdmap_rsvd: '0,
          opcode: RDMAP_OPCODE_TERMINATE,
          invalidate_stag: '0,
          qn: TERMINATE_QN,
          msn: 32'd1,
          mo: '0
      };
  assign alloc_ready_o = state_q == StAlloc && !quiesce_i;
  assign submit_valid_o = state_q == StTerminate;
  always_comb begin
    submit_o = '0;
    submit_o.slot = slot_q;
    submit_o.node = desc_q.node;
    submit_o.dst_qpn = desc_q.src_qpn;
    submit_o.src_qpn = desc_q.dst_qpn;
    // As long as the hold lasts, all that we send acknowledges up to its number.
    submit_o.refused = hold_active_i ? 8'(desc_q.seq - hold_first_i) : '0;
    submit_o.untagged = 1'b1;
    submit_o.ddp = ddp;
    submit_o.length = chunk_t'(QuoteOffset + (quote_tagged ? TaggedBytes : UntaggedBytes));
    submit_o.failed = CQE_STATUS_SUCCESS;
    submit_o.inlined = 1'b1;
    for (int unsigned i = 0; i < 32; i++) submit_o.inline_data[8*i+:8] = quoted[255-8*i-:8];
    submit_o.tag.kind = TX_KIND_TERMINATE;
  end

  always_comb begin
    event_o = '0;
    event_o[COUNTER_RX_DISCARDED] = state_q == StCheck && mine && !receiving && !is_terminate;
    event_o[COUNTER_TERMINATES_RX] = state_q == StCheck && is_terminate && receiving;
    event_o[COUNTER_SEGMENTS_PLACED] = write_valid_o && write_ready_i && write_o.frame_done &&
        is_write && receiving && !refused_q;
  end

endmodule
