// SPDX-License-Identifier: BSD-2-Clause
// Executes the driver's commands. It brings the core to rest where a command takes something away
// or changes it (no table and no host memory is in use then), checks it, changes the tables, and
// reports. After a destroy or an invalidate the core touches none of that memory any more.

`include "exrnic_assert.svh"

module mailbox
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic  clk_i,
    input logic  rst_ni,
    input node_id_t cfg_node_i,
    input window_shift_t cfg_window_shift_i,
    input pkeys_t pkeys_i,

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

    table_read_if.client qp,
    table_read_if.client srq,
    stream_if.source     wake,    // the queue pair qp.index has something to do
    command_if.source    command, // what is under way comes with the row of qp

    output logic              eq_we_o,  // pulse: event queue `eqn_o` begins or ends
    output eqn_t              eqn_o,
    output eq_config_t        eq_o,
    input  logic [MAX_EQ-1:0] eqs_i  // those that exist
);

  assign command.qpn = qp.index;
  assign command.qp_look = qp.read;
  assign command.srqn = srq.index;
  assign wake.data = qp.index;

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
  mbox_resize_cq_t new_ring;
  mbox_create_qp_t new_qp;
  mbox_modify_qp_t change;
  mbox_register_mr_t new_mr;
  mbox_create_srq_t new_srq;
  mbox_modify_srq_t new_limit;
  mbox_set_window_t new_window;
  mbox_group_t new_group;
  mbox_create_eq_t new_eq;
  /* verilator lint_on UNUSEDSIGNAL */
  assign object = data_q[$bits(mbox_object_t)-1:0];
  assign new_cq = data_q[$bits(mbox_create_cq_t)-1:0];
  assign new_ring = data_q[$bits(mbox_resize_cq_t)-1:0];
  assign new_qp = data_q[$bits(mbox_create_qp_t)-1:0];
  assign change = data_q[$bits(mbox_modify_qp_t)-1:0];
  assign new_mr = data_q[$bits(mbox_register_mr_t)-1:0];
  assign new_srq = data_q[$bits(mbox_create_srq_t)-1:0];
  assign new_window = data_q[$bits(mbox_set_window_t)-1:0];
  assign new_group = data_q[$bits(mbox_group_t)-1:0];
  assign new_limit = data_q[$bits(mbox_modify_srq_t)-1:0];
  assign new_eq = data_q[$bits(mbox_create_eq_t)-1:0];

  mbox_status_e verdict;
  mailbox_check u_check (
      .valid_i(state_q == StCheck),
      .cfg_node_i,
      .cfg_window_shift_i,
      .eqs_i,
      .op_known_i(op_known_q),
      .op_i(op_q),
      .data_i(data_q),
      .qp_i(qp.row),
      .pull_count_i(command.pull_count),
      .pulls_free_i(command.pulls_free),
      .reads_free_i(command.reads_free),
      .cq_i(command.cq_now),
      .cq_unread_i(command.cq_unread),
      .send_cq_i(send_cq_q),
      .recv_cq_i(recv_cq_q),
      .srq_i(srq.row),
      .mr_i(command.mr_now),
      .change_known_i(change_known),
      .change_allowed_i(change_allowed),
      .change_good_i(change_good),
      .verdict_o(verdict)
  );

  logic change_known, change_allowed, change_good, change_clears;
  qp_config_t changed_cfg;
  qp_status_t changed_status;
  qp_change u_change (
      .valid_i(op_q == MBOX_OP_MODIFY_QP && state_q inside {StCheck, StApply}),
      .cfg_node_i(node_t'(cfg_node_i)),
      .pkeys_i,
      .change_i(change),
      .qp_i(qp.row),
      .known_o(change_known),
      .allowed_o(change_allowed),
      .good_o(change_good),
      .cfg_o(changed_cfg),
      .status_o(changed_status),
      .clears_o(change_clears)
  );
  qp_state_e to;
  assign to = qp_state_e'(change.state[2:0]);

  // What takes memory away, or must not meet work half done.
  logic rests, wakes, groups;
  assign rests = op_q inside {MBOX_OP_CREATE_QP, MBOX_OP_MODIFY_QP, MBOX_OP_DESTROY_QP,
                              MBOX_OP_CREATE_CQ, MBOX_OP_DESTROY_CQ, MBOX_OP_REGISTER_MR,
                              MBOX_OP_INVALIDATE_MR, MBOX_OP_CREATE_SRQ, MBOX_OP_DESTROY_SRQ,
                              MBOX_OP_MODIFY_SRQ, MBOX_OP_SET_WINDOW, MBOX_OP_ATTACH_GROUP,
                              MBOX_OP_DETACH_GROUP, MBOX_OP_CREATE_EQ, MBOX_OP_DESTROY_EQ,
                              MBOX_OP_RESIZE_CQ};
  assign groups = op_q inside {MBOX_OP_ATTACH_GROUP, MBOX_OP_DETACH_GROUP, MBOX_OP_DESTROY_QP};
  // With RTR it introduces itself to its peer, and with SQD its send queue may be drained already.
  assign wakes = op_q == MBOX_OP_MODIFY_QP && (qp_connected(to) || to == QP_STATE_ERROR);

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
        if (command.flush_done) state_q <= groups ? StGroup : wakes ? StWake : StDone;
        StGroup: if (command.group_done) state_q <= StDone;
        StWake: if (wake.ready) state_q <= StDone;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle && start_i) begin
      data_q     <= data_i;
      op_q       <= mbox_op_e'(op_i[7:0]);
      op_known_q <= op_i <= 32'(MBOX_OP_RESIZE_CQ);
    end
    if (state_q == StCqSend) send_cq_q <= command.cq_now;
    if (state_q == StCqRecv) recv_cq_q <= command.cq_now;
    if (state_q == StCheck) result_q <= verdict;
    if (state_q == StGroup) result_q <= group_result;
  end

  // ---- Changes
  logic apply;
  assign apply = state_q == StApply;
  assign drain_o = state_q == StDrain;
  assign quiesce_o = rests && !(state_q inside {StIdle, StDrain, StWake, StDone});

  assign qp.read = state_q == StRead;
  assign qp.index = object.index[$bits(qpn_t)-1:0];  // every command names it first
  assign command.qp_we = apply && op_q inside {MBOX_OP_CREATE_QP, MBOX_OP_MODIFY_QP, MBOX_OP_DESTROY_QP};
  assign command.reads_take = apply && op_q == MBOX_OP_CREATE_QP;
  assign command.reads_give = apply && op_q == MBOX_OP_DESTROY_QP;
  always_comb begin
    {command.qp_config, command.qp_status, command.qp_clear} = '0;
    if (apply) begin
      command.qp_config = qp.row.cfg;
      command.qp_status = qp.row.status;
      unique case (op_q)
        MBOX_OP_CREATE_QP: begin
          command.qp_config = '{
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
              places_out: reads_t'(new_qp.max_reads_out),
              places_in: reads_t'(new_qp.max_reads_in),
              generation: next_generation(qp.row.cfg.generation),
              service: service_e'(new_qp.service[1:0]),
              grh: new_qp.flags[QP_FLAGS_GRH],
              default: '0
          };
          command.qp_config = new_attributes(command.qp_config);
          command.qp_status = '0;
          command.qp_clear = 1'b1;
        end
        // Whoever remembers something of it forgets that now, not when its number is used anew.
        MBOX_OP_DESTROY_QP: begin
          command.qp_config.valid = 1'b0;
          command.qp_clear = 1'b1;
        end
        default: begin
          command.qp_config = changed_cfg;
          command.qp_status = changed_status;
          command.qp_clear = change_clears;
        end
      endcase
    end
  end

  assign command.cq_we = apply && op_q inside {MBOX_OP_CREATE_CQ, MBOX_OP_DESTROY_CQ, MBOX_OP_RESIZE_CQ};
  assign command.cq_clear = op_q != MBOX_OP_RESIZE_CQ;
  // Those of a queue pair one after the other, then the one that the command names.
  assign command.cq_look = state_q inside {StRead, StCqSend, StCqRecv};
  always_comb begin
    unique case (state_q)
      StRead: command.cqn = cqn_t'(new_qp.send_cqn);
      StCqSend: command.cqn = cqn_t'(new_qp.recv_cqn);
      default: command.cqn = cqn_t'(object.index);
    endcase
  end
  always_comb begin
    command.cq_config = '0;
    if (command.cq_we && !command.cq_clear) begin
      command.cq_config = command.cq_now;
      command.cq_config.log_entries = 5'(new_ring.log_entries);
      command.cq_config.pbl = new_ring.pbl_address;
    end else if (command.cq_we) begin
      command.cq_config = '{
          valid: op_q == MBOX_OP_CREATE_CQ,
          page: page_t'(new_cq.page),
          log_entries: 5'(new_cq.log_entries),
          msix_vector: vector_t'(new_cq.msix_vector),
          moderation_count: new_cq.moderation_count[15:0],
          moderation_ns: new_cq.moderation_ns[23:0],
          pbl: new_cq.pbl_address,
          has_eq: new_cq.eqn != NO_EQ,
          eqn: eqn_t'(new_cq.eqn)
      };
    end
  end

  assign eq_we_o = apply && op_q inside {MBOX_OP_CREATE_EQ, MBOX_OP_DESTROY_EQ};
  assign eqn_o = eqn_t'(object.index);
  always_comb begin
    eq_o = '0;
    if (eq_we_o) begin
      eq_o = '{
          valid: op_q == MBOX_OP_CREATE_EQ,
          log_entries: 4'(new_eq.log_entries),
          address: new_eq.address,
          msix_vector: vector_t'(new_eq.msix_vector)
      };
    end
  end

  assign srq.read = state_q == StRead;
  assign srq.index = srqn_t'(op_q == MBOX_OP_CREATE_QP ? new_qp.srqn : object.index);
  assign command.srq_we = apply &&
      op_q inside {MBOX_OP_CREATE_SRQ, MBOX_OP_DESTROY_SRQ, MBOX_OP_MODIFY_SRQ};
  assign command.srq_clear = op_q == MBOX_OP_CREATE_SRQ;
  always_comb begin
    {command.srq_config, command.srq_limit} = '0;
    if (command.srq_we) begin
      command.srq_config = srq.row.cfg;
      unique case (op_q)
        MBOX_OP_CREATE_SRQ: begin
          command.srq_config = '{
              valid: 1'b1,
              page: page_t'(new_srq.page),
              pd: pd_t'(new_srq.pd),
              log_slots: 4'(new_srq.log_slots),
              pbl: new_srq.pbl_address
          };
          command.srq_limit = new_srq.limit[15:0];
        end
        MBOX_OP_MODIFY_SRQ: command.srq_limit = new_limit.limit[15:0];
        default: command.srq_config.valid = 1'b0;
      endcase
    end
  end

  assign command.window_we = apply && op_q == MBOX_OP_SET_WINDOW;
  assign command.window_index = window_index_t'(new_window.window);
  always_comb begin
    command.window = '0;
    if (command.window_we) begin
      command.window = '{
          access: new_window.access[1:0],
          qpn: qpn_t'(new_window.qpn),
          generation: qp.row.cfg.generation,
          stag: new_window.stag,
          base: new_window.base,
          length: new_window.length[WINDOW_SHIFT_MAX:0]
      };
    end
  end

  assign command.group_valid = state_q == StGroup;
  assign command.group = new_group.group[$bits(group_t)-1:0];
  assign command.group_qpn = qp.index;
  mbox_status_e group_result;
  always_comb begin
    command.group_op = GROUP_FORGET;
    group_result = MBOX_STATUS_OK;
    if (op_q == MBOX_OP_ATTACH_GROUP) begin
      command.group_op = GROUP_ATTACH;
      if (command.group_found) group_result = MBOX_STATUS_BAD_STATE;
      else if (command.group_full) group_result = MBOX_STATUS_BAD_INDEX;
    end else if (op_q == MBOX_OP_DETACH_GROUP) begin
      command.group_op = GROUP_DETACH;
      if (!command.group_found) group_result = MBOX_STATUS_BAD_STATE;
    end
  end

  assign command.mr_we = apply && op_q inside {MBOX_OP_REGISTER_MR, MBOX_OP_INVALIDATE_MR};
  assign command.mr_index = object.index[STAG_INDEX_SHIFT+:$bits(stag_index_t)];
  always_comb begin
    command.mr = '0;
    if (command.mr_we) begin
      command.mr = '{
          valid: op_q == MBOX_OP_REGISTER_MR,
          kind: region_kind_e'(new_mr.kind[1:0]),
          invalidated: 32'(new_mr.kind) != 32'(REGION_KIND_MEMORY),  // until a work request registers it
          life: command.mr_now.life + 1'b1,
          key: new_mr.stag[7:0],
          pd: pd_t'(new_mr.pd),
          access: new_mr.access[7:0],
          huge_pages: 32'(new_mr.page_shift) == HUGE_PAGE_SHIFT,
          base: new_mr.base,
          length: new_mr.length,
          pbl_address: new_mr.pbl_address
      };
    end
  end
  assign command.flush = apply;

  assign wake.valid = state_q == StWake;
  assign idle_o = state_q == StIdle;
  assign done_o = state_q == StDone;
  assign status_o = result_q;
  assign answer_o = op_q inside {MBOX_OP_QUERY_QP, MBOX_OP_QUERY_SRQ, MBOX_OP_RESIZE_CQ} &&
      result_q == MBOX_STATUS_OK;

  logic under_way;
  assign under_way = command.pull_count != '0 || command.read_count != '0 || command.message_open ||
      ((qp.row.status.answer_lost || (qp.row.refused.valid && !qp.row.status.tried)) &&
       !qp.row.status.told);

  mbox_query_qp_t qp_answer;
  mbox_query_srq_t srq_answer;
  mbox_resized_cq_t cq_answer;
  // Behind a shorter answer the payload stays.
  always_comb begin
    {qp_answer, srq_answer, cq_answer, answer_data_o} = '0;
    if (done_o) begin
      qp_answer = '{
          state: 32'(qp.row.status.state),
          dest_node: 32'(qp.row.cfg.dest_node),
          dest_qpn: 32'(qp.row.cfg.dest_qpn),
          sq_producer: 32'(qp.row.sq_producer),
          sq_consumer: 32'(qp.row.sq.consumer),
          under_way: 32'(under_way),
          pkey_index: 32'(qp.row.cfg.pkey_index),
          qkey: qp.row.cfg.qkey,
          access: 32'(qp.row.cfg.access),
          path_mtu: 32'(qp.row.cfg.path_mtu),
          max_reads_in: 8'(qp.row.cfg.max_reads_in),
          max_reads_out: 8'(qp.row.cfg.max_reads_out),
          min_rnr_timer: 8'(qp.row.cfg.rnr_timer),
          rnr_retry: 8'(qp.row.cfg.rnr_retry),
          sq_draining: 32'(is_draining(qp.row)),
          timeout: 8'(qp.row.cfg.timeout),
          retry_count: 8'(qp.row.cfg.retry_count),
          default: '0
      };
      srq_answer = '{
          limit: 32'(srq.row.limit),
          producer: 32'(srq.row.producer),
          consumer: 32'(srq.row.consumer)
      };
      cq_answer = '{producer: command.cq_producer};
      answer_data_o = data_q[$bits(mbox_answer_t)-1:0];
      unique case (op_q)
        MBOX_OP_QUERY_QP: answer_data_o[$bits(qp_answer)-1:0] = qp_answer;
        MBOX_OP_QUERY_SRQ: answer_data_o[$bits(srq_answer)-1:0] = srq_answer;
        default: answer_data_o[$bits(cq_answer)-1:0] = cq_answer;
      endcase
    end
  end

  // ---- What is promised
  `EXRNIC_HELD(wake_is_held, wake.valid, wake.ready, 1'b0)
  `EXRNIC_ALWAYS(changes_at_rest, !apply || (quiesce_o && quiescent_i))

endmodule
