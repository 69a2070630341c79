// SPDX-License-Identifier: BSD-2-Clause
// Executes the driver's commands. It brings the core to rest where a command takes something away
// or changes it (no table and no host memory is in use then), checks it, changes the tables, and
// reports. After a destroy or an invalidate the core touches none of that memory any more.

`include "exrnic_assert.svh"

module mailbox
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_QP   = MAX_QP,
    parameter int unsigned N_CQ   = MAX_CQ,
    parameter int unsigned N_SRQ  = MAX_SRQ,
    parameter int unsigned N_STAG = MAX_STAG,
    parameter int unsigned N_WINDOW = MAX_WINDOWS
) (
    input logic  clk_i,
    input logic  rst_ni,
    input node_t cfg_node_i,

    // Command: payload as in MBOX_DATA, byte 0 in bits 7:0.
    input  logic           start_i,
    input  logic [31:0]    op_i,
    input  logic [511:0]   data_i,
    output logic           idle_o,
    output logic           done_o,    // pulse
    output mbox_status_e   status_o,  // with done_o
    output logic           answer_o,  // with done_o: answer_data_o replaces the payload's start
    output mbox_answer_t   answer_data_o,

    output logic drain_o,    // what stores of windows have begun is to be sent first
    input  logic drained_i,
    output logic quiesce_o,
    input  logic quiescent_i,

    output logic       qp_read_o,
    output qpn_t       qp_index_o,
    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record
    input  qp_t        qp_row_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  reads_t     pull_count_i,     // with qp_row_i: of it under way are so many reads of ours
    input  reads_t     read_count_i,     // and of the peer,
    input  logic       message_open_i,   // and a message
    output logic       qp_we_o,
    output qp_config_t qp_config_o,
    output qp_status_t qp_status_o,
    output logic       qp_clear_o,
    output logic       wake_valid_o,
    input  logic       wake_ready_i,

    output logic       cq_we_o,
    output cqn_t       cq_cqn_o,
    output cq_config_t cq_config_o,
    input  cq_config_t cq_config_i,  // of cq_cqn_o

    output logic        srq_read_o,
    output srqn_t       srq_read_srqn_o,
    input  srq_t        srq_i,
    output logic        srq_we_o,
    output srq_config_t srq_config_o,
    output logic [15:0] srq_limit_o,
    output logic        srq_clear_o,     // with srq_we_o: its ring is empty

    output logic          window_we_o,
    output window_index_t window_index_o,
    output window_entry_t window_o,

    // Attachments to groups: the command stays until it is done.
    output logic      group_valid_o,
    output group_op_e group_op_o,
    output group_t    group_o,
    output qpn_t      group_qpn_o,
    input  logic      group_done_i,
    input  logic      group_found_i,  // with group_done_i: it was attached before
    input  logic      group_full_i,   // and there is no place for another

    output logic        mr_we_o,
    output stag_index_t mr_index_o,
    output mr_t         mr_o,
    input  mr_t         mr_i,        // of mr_index_o, in the next cycle
    output logic        flush_o,
    input  logic        flush_done_i
);

  typedef enum logic [3:0] {
    StIdle, StDrain, StQuiesce, StRead, StCqSend, StCqRecv, StCheck, StApply, StFlush, StGroup, StWake, StDone
  } state_e;
  state_e state_q;

  mbox_op_e op_q;
  logic op_known_q;
  mbox_status_e result_q;
  cq_config_t send_cq_q, recv_cq_q;

  // One payload, seen as each command sees it.
  /* verilator lint_off UNUSEDSIGNAL */  // no command fills all of it, and some is only checked
  logic [511:0] data_q;
  mbox_object_t object;
  mbox_create_cq_t new_cq;
  mbox_create_qp_t new_qp;
  mbox_modify_qp_t change;
  mbox_register_mr_t new_mr;
  mbox_create_srq_t new_srq;
  mbox_modify_srq_t new_limit;
  mbox_set_window_t new_window;
  mbox_group_t new_group;
  /* verilator lint_on UNUSEDSIGNAL */
  assign object = data_q[$bits(mbox_object_t)-1:0];
  assign new_cq = data_q[$bits(mbox_create_cq_t)-1:0];
  assign new_qp = data_q[$bits(mbox_create_qp_t)-1:0];
  assign change = data_q[$bits(mbox_modify_qp_t)-1:0];
  assign new_mr = data_q[$bits(mbox_register_mr_t)-1:0];
  assign new_srq = data_q[$bits(mbox_create_srq_t)-1:0];
  assign new_window = data_q[$bits(mbox_set_window_t)-1:0];
  assign new_group = data_q[$bits(mbox_group_t)-1:0];
  assign new_limit = data_q[$bits(mbox_modify_srq_t)-1:0];

  mbox_status_e verdict;
  mailbox_check #(
      .N_QP(N_QP),
      .N_CQ(N_CQ),
      .N_SRQ(N_SRQ),
      .N_STAG(N_STAG),
      .N_WINDOW(N_WINDOW)
  ) u_check (
      .valid_i(state_q == StCheck),
      .cfg_node_i,
      .op_known_i(op_known_q),
      .op_i(op_q),
      .data_i(data_q),
      .qp_i(qp_row_i),
      .pull_count_i,
      .cq_i(cq_config_i),
      .send_cq_i(send_cq_q),
      .recv_cq_i(recv_cq_q),
      .srq_i,
      .mr_i,
      .verdict_o(verdict)
  );

  qp_state_e from, to;
  logic datagrams;
  assign from = qp_row_i.status.state;
  assign to = qp_state_e'(change.state[2:0]);
  assign datagrams = qp_row_i.cfg.service == SERVICE_UD;

  // What takes memory away, or must not meet work half done.
  logic rests, wakes, groups;
  assign rests = op_q inside {MBOX_OP_CREATE_QP, MBOX_OP_MODIFY_QP, MBOX_OP_DESTROY_QP,
                              MBOX_OP_CREATE_CQ, MBOX_OP_DESTROY_CQ, MBOX_OP_REGISTER_MR,
                              MBOX_OP_INVALIDATE_MR, MBOX_OP_CREATE_SRQ, MBOX_OP_DESTROY_SRQ,
                              MBOX_OP_MODIFY_SRQ, MBOX_OP_SET_WINDOW, MBOX_OP_ATTACH_GROUP,
                              MBOX_OP_DETACH_GROUP};
  assign groups = op_q inside {MBOX_OP_ATTACH_GROUP, MBOX_OP_DETACH_GROUP, MBOX_OP_DESTROY_QP};
  // With RTR it introduces itself to its peer.
  assign wakes = op_q == MBOX_OP_MODIFY_QP && to inside {QP_STATE_RTR, QP_STATE_RTS, QP_STATE_ERROR};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (start_i) state_q <= StDrain;
        // Before it stops the core: others may need that to make room for us.
        StDrain: if (drained_i || !rests) state_q <= StQuiesce;
        // First to rest, then the checks: until then the core may change what they look at.
        StQuiesce: if (quiescent_i || !rests) state_q <= StRead;
        StRead: state_q <= StCqSend;
        StCqSend: state_q <= StCqRecv;
        StCqRecv: state_q <= StCheck;
        StCheck:
        if (verdict != MBOX_STATUS_OK) state_q <= StDone;
        else state_q <= rests ? StApply : StDone;
        StApply: state_q <= StFlush;
        StFlush:
        if (flush_done_i) state_q <= groups ? StGroup : wakes ? StWake : StDone;
        StGroup: if (group_done_i) state_q <= StDone;
        StWake: if (wake_ready_i) state_q <= StDone;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle && start_i) begin
      data_q     <= data_i;
      op_q       <= mbox_op_e'(op_i[7:0]);
      op_known_q <= op_i <= 32'(MBOX_OP_DETACH_GROUP);
    end
    if (state_q == StCqSend) send_cq_q <= cq_config_i;
    if (state_q == StCqRecv) recv_cq_q <= cq_config_i;
    if (state_q == StCheck) result_q <= verdict;
    if (state_q == StGroup) result_q <= group_result;
  end

  // ---- Changes
  logic apply;
  assign apply = state_q == StApply;
  assign drain_o = state_q == StDrain;
  assign quiesce_o = rests && !(state_q inside {StIdle, StDrain, StWake, StDone});

  assign qp_read_o = state_q == StRead;
  assign qp_index_o = object.index[$bits(qpn_t)-1:0];  // every command names it first
  assign qp_we_o = apply && op_q inside {MBOX_OP_CREATE_QP, MBOX_OP_MODIFY_QP, MBOX_OP_DESTROY_QP};
  always_comb begin
    {qp_config_o, qp_status_o, qp_clear_o} = '0;
    if (apply) begin
      qp_config_o = qp_row_i.cfg;
      qp_status_o = qp_row_i.status;
      unique case (op_q)
        MBOX_OP_CREATE_QP: begin
          qp_config_o = '{
              valid: 1'b1,
              page: page_t'(new_qp.page),
              pd: pd_t'(new_qp.pd),
              send_cqn: cqn_t'(new_qp.send_cqn),
              recv_cqn: cqn_t'(new_qp.recv_cqn),
              sq_log: 4'(new_qp.sq_log_slots),
              rq_log: 4'(new_qp.rq_log_slots),
              sq_pbl: new_qp.sq_pbl_address,
              rq_pbl: new_qp.rq_pbl_address,
              has_srq: new_qp.srqn != NO_SRQ,
              srqn: srqn_t'(new_qp.srqn),
              max_reads_out: reads_t'(new_qp.max_reads_out),
              max_reads_in: reads_t'(new_qp.max_reads_in),
              generation: next_generation(qp_row_i.cfg.generation),
              dest_node: '0,
              dest_qpn: '0,
              rnr_timer: '0,
              rnr_retry: '0,
              service: service_e'(new_qp.service[1:0]),
              qkey: '0,
              pkey: '0
          };
          qp_status_o = '0;
          qp_clear_o = 1'b1;
        end
        // Whoever remembers something of it forgets that now, not when its number is used anew.
        MBOX_OP_DESTROY_QP: begin
          qp_config_o.valid = 1'b0;
          qp_clear_o = 1'b1;
        end
        default: begin
          qp_status_o.state = to;
          if (to == QP_STATE_INIT && datagrams) begin
            qp_config_o.qkey = change.qkey;
            qp_config_o.pkey = change.pkey[15:0];
          end
          if (to == QP_STATE_RTR) begin
            // Datagrams have no peer: those of all queue pairs queue together, in their order.
            qp_config_o.dest_node = datagrams ? cfg_node_i : node_t'(change.dest_node);
            qp_config_o.dest_qpn  = datagrams ? '0 : change.dest_qpn[23:0];
            qp_config_o.rnr_timer = change.rnr[4:0];
          end
          if (to == QP_STATE_RTS) qp_config_o.rnr_retry = change.rnr[2:0];
          if (to == QP_STATE_RESET) begin
            qp_config_o.generation = next_generation(qp_row_i.cfg.generation);
            qp_status_o = '0;
            qp_clear_o = 1'b1;
          end
          // What is under way is flushed; none of it has a cause of its own.
          if (to == QP_STATE_ERROR && from != QP_STATE_ERROR) begin
            qp_status_o.fault = 1'b0;
            qp_status_o.exact = qp_row_i.status.rnr;
          end
        end
      endcase
    end
  end

  assign cq_we_o = apply && op_q inside {MBOX_OP_CREATE_CQ, MBOX_OP_DESTROY_CQ};
  always_comb begin
    unique case (state_q)
      StCqSend: cq_cqn_o = cqn_t'(new_qp.send_cqn);
      StCqRecv: cq_cqn_o = cqn_t'(new_qp.recv_cqn);
      default: cq_cqn_o = cqn_t'(object.index);
    endcase
  end
  always_comb begin
    cq_config_o = '0;
    if (cq_we_o) begin
      cq_config_o = '{
          valid: op_q == MBOX_OP_CREATE_CQ,
          page: page_t'(new_cq.page),
          log_entries: 5'(new_cq.log_entries),
          msix_vector: vector_t'(new_cq.msix_vector),
          moderation_count: new_cq.moderation_count[15:0],
          moderation_ns: new_cq.moderation_ns[23:0],
          pbl: new_cq.pbl_address
      };
    end
  end

  assign srq_read_o = state_q == StRead;
  assign srq_read_srqn_o = srqn_t'(op_q == MBOX_OP_CREATE_QP ? new_qp.srqn : object.index);
  assign srq_we_o = apply &&
      op_q inside {MBOX_OP_CREATE_SRQ, MBOX_OP_DESTROY_SRQ, MBOX_OP_MODIFY_SRQ};
  assign srq_clear_o = op_q == MBOX_OP_CREATE_SRQ;
  always_comb begin
    {srq_config_o, srq_limit_o} = '0;
    if (srq_we_o) begin
      srq_config_o = srq_i.cfg;
      unique case (op_q)
        MBOX_OP_CREATE_SRQ: begin
          srq_config_o = '{
              valid: 1'b1,
              page: page_t'(new_srq.page),
              pd: pd_t'(new_srq.pd),
              log_slots: 4'(new_srq.log_slots),
              pbl: new_srq.pbl_address
          };
          srq_limit_o = new_srq.limit[15:0];
        end
        MBOX_OP_MODIFY_SRQ: srq_limit_o = new_limit.limit[15:0];
        default: srq_config_o.valid = 1'b0;
      endcase
    end
  end

  assign window_we_o = apply && op_q == MBOX_OP_SET_WINDOW;
  assign window_index_o = window_index_t'(new_window.window);
  always_comb begin
    window_o = '0;
    if (window_we_o) begin
      window_o = '{
          access: new_window.access[1:0],
          qpn: qpn_t'(new_window.qpn),
          generation: qp_row_i.cfg.generation,
          stag: new_window.stag,
          base: new_window.base,
          length: new_window.length[$clog2(WINDOW_SIZE):0]
      };
    end
  end

  assign group_valid_o = state_q == StGroup;
  assign group_o = new_group.group[$bits(group_t)-1:0];
  assign group_qpn_o = qp_index_o;
  mbox_status_e group_result;
  always_comb begin
    group_op_o = GROUP_FORGET;
    group_result = MBOX_STATUS_OK;
    if (op_q == MBOX_OP_ATTACH_GROUP) begin
      group_op_o = GROUP_ATTACH;
      if (group_found_i) group_result = MBOX_STATUS_BAD_STATE;
      else if (group_full_i) group_result = MBOX_STATUS_BAD_INDEX;
    end else if (op_q == MBOX_OP_DETACH_GROUP) begin
      group_op_o = GROUP_DETACH;
      if (!group_found_i) group_result = MBOX_STATUS_BAD_STATE;
    end
  end

  assign mr_we_o = apply && op_q inside {MBOX_OP_REGISTER_MR, MBOX_OP_INVALIDATE_MR};
  assign mr_index_o = object.index[STAG_INDEX_SHIFT+:$bits(stag_index_t)];
  always_comb begin
    mr_o = '0;
    if (mr_we_o) begin
      mr_o = '{
          valid: op_q == MBOX_OP_REGISTER_MR,
          invalidated: 1'b0,
          key: new_mr.stag[7:0],
          pd: pd_t'(new_mr.pd),
          access: new_mr.access[7:0],
          huge_pages: new_mr.page_shift == HUGE_PAGE_SHIFT,
          base: new_mr.base,
          length: new_mr.length,
          pbl_address: new_mr.pbl_address
      };
    end
  end
  assign flush_o = apply;

  assign wake_valid_o = state_q == StWake;
  assign idle_o = state_q == StIdle;
  assign done_o = state_q == StDone;
  assign status_o = result_q;
  assign answer_o = op_q inside {MBOX_OP_QUERY_QP, MBOX_OP_QUERY_SRQ} &&
      result_q == MBOX_STATUS_OK;

  logic under_way;
  assign under_way = pull_count_i != '0 || read_count_i != '0 || message_open_i ||
      ((qp_row_i.status.answer_lost || qp_row_i.refused.valid) && !qp_row_i.status.told);

  mbox_query_qp_t qp_answer;
  mbox_query_srq_t srq_answer;
  // Behind a shorter answer the payload stays.
  always_comb begin
    {qp_answer, srq_answer, answer_data_o} = '0;
    if (done_o) begin
      qp_answer = '{
          state: 32'(qp_row_i.status.state),
          dest_node: 32'(qp_row_i.cfg.dest_node),
          dest_qpn: 32'(qp_row_i.cfg.dest_qpn),
          sq_producer: 32'(qp_row_i.sq_producer),
          sq_consumer: 32'(qp_row_i.sq.consumer),
          under_way: 32'(under_way)
      };
      srq_answer = '{
          limit: 32'(srq_i.limit),
          producer: 32'(srq_i.producer),
          consumer: 32'(srq_i.consumer)
      };
      answer_data_o = data_q[$bits(mbox_answer_t)-1:0];
      if (op_q == MBOX_OP_QUERY_QP) answer_data_o[$bits(qp_answer)-1:0] = qp_answer;
      else answer_data_o[$bits(srq_answer)-1:0] = srq_answer;
    end
  end

  // ---- What is promised
  `EXRNIC_HELD(wake_is_held, wake_valid_o, wake_ready_i, 1'b0)

endmodule
