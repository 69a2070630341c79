// SPDX-License-Identifier: BSD-2-Clause
// Judges a command of the driver by its payload and by what the tables say. Combinational. For each
// command first the numbers, then whether it exists, then the values: see README.md.

module mailbox_check
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic         valid_i,  // a command is to be judged
    input node_id_t     cfg_node_i,
    input window_shift_t cfg_window_shift_i,
    input logic [MAX_EQ-1:0] eqs_i,  // event queues that exist
    input logic         op_known_i,
    input mbox_op_e     op_i,
    /* verilator lint_off UNUSEDSIGNAL */  // no command fills or asks all of it
    input logic [511:0] data_i,
    input qp_t          qp_i,       // those that the payload names
    input reads_t       pull_count_i,  // of it, under way
    input read_pool_t   pulls_free_i,  // places that no queue pair has
    input read_pool_t   reads_free_i,
    input cq_config_t   cq_i,
    input logic [31:0]  cq_unread_i,
    input cq_config_t   send_cq_i,
    input cq_config_t   recv_cq_i,
    input srq_t         srq_i,
    input mr_t          mr_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic         change_known_i,  // of MODIFY_QP: see qp_change
    input logic         change_allowed_i,
    input logic         change_good_i,

    output mbox_status_e verdict_o
);

  // One payload, seen as each command sees it.
  mbox_object_t object;
  /* verilator lint_off UNUSEDSIGNAL */  // reserved fields, and what is right as it comes
  mbox_create_eq_t new_eq;
  mbox_create_cq_t new_cq;
  mbox_create_qp_t new_qp;
  mbox_create_srq_t new_srq;
  /* verilator lint_on UNUSEDSIGNAL */
  mbox_resize_cq_t new_ring;
  mbox_register_mr_t new_mr;
  mbox_modify_srq_t new_limit;
  /* verilator lint_off UNUSEDSIGNAL */  // likewise, and the STag means something to the peer alone
  mbox_set_window_t new_window;
  /* verilator lint_on UNUSEDSIGNAL */
  mbox_group_t new_group;
  assign object = data_i[$bits(mbox_object_t)-1:0];
  assign new_cq = data_i[$bits(mbox_create_cq_t)-1:0];
  assign new_ring = data_i[$bits(mbox_resize_cq_t)-1:0];
  assign new_qp = data_i[$bits(mbox_create_qp_t)-1:0];
  assign new_mr = data_i[$bits(mbox_register_mr_t)-1:0];
  assign new_srq = data_i[$bits(mbox_create_srq_t)-1:0];
  assign new_window = data_i[$bits(mbox_set_window_t)-1:0];
  assign new_group = data_i[$bits(mbox_group_t)-1:0];
  assign new_limit = data_i[$bits(mbox_modify_srq_t)-1:0];
  assign new_eq = data_i[$bits(mbox_create_eq_t)-1:0];

  function automatic logic pbl_aligned(logic [63:0] address);
    return address % 64'(PBL_LINE_SIZE) == '0;
  endfunction
  function automatic logic ring_ok(logic [31:0] log_slots, int unsigned most);
    return log_slots >= RING_LOG_MIN && log_slots <= most;
  endfunction

  // ---- Event queues
  function automatic logic eq_exists(logic [31:0] eqn);
    return eqn < MAX_EQ && eqs_i[eqn_t'(eqn)];
  endfunction

  // ---- Completion queues
  logic moderation_ok, hearer_ok, unread_ok;
  always_comb begin
    {moderation_ok, hearer_ok, unread_ok} = '0;
    if (valid_i) unread_ok = cq_unread_i <= 32'd1 << new_ring.log_entries[4:0];
    if (valid_i) hearer_ok = new_cq.eqn == NO_EQ ? new_cq.msix_vector < MSIX_VECTORS : eq_exists(new_cq.eqn);
    if (valid_i)
      moderation_ok = new_cq.moderation_count >> $bits(cq_i.moderation_count) == '0 &&
          new_cq.moderation_ns >> $bits(cq_i.moderation_ns) == '0;
  end

  // ---- Queue pairs
  localparam logic [31:0] DatagramFlags = 32'd1 << QP_FLAGS_GRH;
  logic qp_numbers_ok, cqs_ok, has_srq, srq_ok, flags_ok, qp_values_ok, reads_fit;
  always_comb begin
    {qp_numbers_ok, cqs_ok, has_srq, srq_ok, flags_ok, qp_values_ok, reads_fit} = '0;
    if (valid_i) begin
      qp_numbers_ok = new_qp.qpn < N_QP && new_qp.page < USER_PAGES && new_qp.pd < FW_PD;
      cqs_ok = new_qp.send_cqn < N_CQ && new_qp.recv_cqn < N_CQ &&
          send_cq_i.valid && recv_cq_i.valid &&
          32'(send_cq_i.page) == new_qp.page && 32'(recv_cq_i.page) == new_qp.page;
      has_srq = new_qp.srqn != NO_SRQ;
      srq_ok = !has_srq || (new_qp.srqn < N_SRQ && srq_i.cfg.valid &&
                            32'(srq_i.cfg.page) == new_qp.page);
      flags_ok = (new_qp.flags & ~(new_qp.service == 32'(SERVICE_UD) ? DatagramFlags : '0)) == '0;
      qp_values_ok = flags_ok && ring_ok(new_qp.sq_log_slots, SQ_LOG_MAX) &&
          ring_ok(new_qp.rq_log_slots, SQ_LOG_MAX) && new_qp.service <= 32'(SERVICE_UD) &&
          pbl_aligned(new_qp.sq_pbl_address) && pbl_aligned(new_qp.rq_pbl_address) &&
          (!has_srq || 32'(srq_i.cfg.pd) == new_qp.pd) &&
          new_qp.max_reads_out <= MAX_READS && new_qp.max_reads_in <= MAX_READS;
      reads_fit = read_places(new_qp.max_reads_out) <= 32'(pulls_free_i) &&
          read_places(new_qp.max_reads_in) <= 32'(reads_free_i);
    end
  end

  logic datagrams;
  assign datagrams = qp_i.cfg.service == SERVICE_UD;

  // ---- Shared receive queues
  function automatic logic limit_ok(logic [31:0] limit);
    return limit >> $bits(srq_i.limit) == '0;
  endfunction

  // ---- Regions
  localparam logic [31:0] AccessFlags = (32'd1 << ACCESS_BITS) - 1;
  logic mr_fits, mr_values_ok;
  logic [64:0] mr_end;
  always_comb begin
    {mr_end, mr_fits, mr_values_ok} = '0;
    if (valid_i) begin
      mr_end = {1'b0, new_mr.base} + {1'b0, new_mr.length};
      mr_fits = new_mr.length != '0 && mr_end <= {1'b1, 64'd0};
      mr_values_ok = mr_fits && pbl_aligned(new_mr.pbl_address) &&
          (new_mr.access & ~AccessFlags) == '0 &&
          32'(new_mr.page_shift) inside {PAGE_SHIFT, HUGE_PAGE_SHIFT};
      if (32'(new_mr.kind) inside {32'(REGION_KIND_FAST), 32'(REGION_KIND_MEMORY_WINDOW), 32'(REGION_KIND_DOMAIN_WINDOW)})
        mr_values_ok = 1'b1;
      else if (32'(new_mr.kind) != 32'(REGION_KIND_MEMORY)) mr_values_ok = 1'b0;
    end
  end

  // ---- Windows
  localparam logic [31:0] WindowFlags = 32'd1 << WINDOW_ACCESS_STORE | 32'd1 << WINDOW_ACCESS_LOAD;
  logic window_values_ok, posted;
  logic [64:0] window_end;
  always_comb begin
    {window_end, window_values_ok, posted} = '0;
    if (valid_i) begin
      // What was posted may have to be sent again, and stores that leave before that would be lost. Loads
      // have numbers of their own, which the peer knows already where there were PULLs.
      posted = qp_i.sq_producer != qp_i.sq.consumer || qp_i.sq.issued != qp_i.ended.count ||
          pull_count_i != '0 || qp_i.sq.read_msn != '0;
      window_end = {1'b0, new_window.base} + 65'(new_window.length);
      window_values_ok = (new_window.access & ~WindowFlags) == '0 && new_window.length != '0 &&
          new_window.length <= 32'd1 << cfg_window_shift_i && window_end <= {1'b1, 64'd0} &&
          node_id_t'(qp_i.cfg.dest_node) != cfg_node_i;
    end
  end

  always_comb begin
    verdict_o = MBOX_STATUS_OK;
    if (valid_i) begin
      unique case (op_i)
        MBOX_OP_NOP: ;
        MBOX_OP_CREATE_CQ:
        if (new_cq.cqn >= N_CQ || new_cq.page >= USER_PAGES || !hearer_ok)
          verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (cq_i.valid) verdict_o = MBOX_STATUS_BAD_STATE;
        else if (!ring_ok(new_cq.log_entries, CQ_LOG_MAX) || !pbl_aligned(new_cq.pbl_address) ||
                 !moderation_ok)
          verdict_o = MBOX_STATUS_BAD_PARAMETER;
        // Whether what is unread fits can be said of a size that there is, so that comes last.
        MBOX_OP_RESIZE_CQ:
        if (new_ring.cqn >= N_CQ) verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (!cq_i.valid) verdict_o = MBOX_STATUS_BAD_STATE;
        else if (!ring_ok(new_ring.log_entries, CQ_LOG_MAX) || !pbl_aligned(new_ring.pbl_address))
          verdict_o = MBOX_STATUS_BAD_PARAMETER;
        else if (!unread_ok) verdict_o = MBOX_STATUS_BAD_STATE;
        MBOX_OP_DESTROY_CQ:
        if (object.index >= N_CQ) verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (!cq_i.valid) verdict_o = MBOX_STATUS_BAD_STATE;
        MBOX_OP_CREATE_QP:
        if (!qp_numbers_ok || !cqs_ok || !srq_ok) verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (qp_i.cfg.valid) verdict_o = MBOX_STATUS_BAD_STATE;
        else if (!qp_values_ok) verdict_o = MBOX_STATUS_BAD_PARAMETER;
        else if (!reads_fit) verdict_o = MBOX_STATUS_NO_ROOM;
        MBOX_OP_MODIFY_QP:
        if (object.index >= N_QP) verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (!change_known_i) verdict_o = MBOX_STATUS_BAD_PARAMETER;
        else if (!qp_i.cfg.valid || !change_allowed_i) verdict_o = MBOX_STATUS_BAD_STATE;
        else if (!change_good_i) verdict_o = MBOX_STATUS_BAD_PARAMETER;
        MBOX_OP_QUERY_QP, MBOX_OP_DESTROY_QP:
        if (object.index >= N_QP) verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (!qp_i.cfg.valid) verdict_o = MBOX_STATUS_BAD_STATE;
        MBOX_OP_REGISTER_MR:
        if (new_mr.stag[31:STAG_INDEX_SHIFT] >= 24'(N_STAG) || new_mr.pd >= MAX_PD)
          verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (mr_i.valid) verdict_o = MBOX_STATUS_BAD_STATE;
        else if (!mr_values_ok) verdict_o = MBOX_STATUS_BAD_PARAMETER;
        MBOX_OP_INVALIDATE_MR:
        if (object.index[31:STAG_INDEX_SHIFT] >= 24'(N_STAG)) verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (!mr_i.valid || (mr_i.key != object.index[7:0] && mr_i.kind == REGION_KIND_MEMORY))
          verdict_o = MBOX_STATUS_BAD_STATE;
        MBOX_OP_CREATE_SRQ:
        if (new_srq.srqn >= N_SRQ || new_srq.page >= USER_PAGES || new_srq.pd >= MAX_PD)
          verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (srq_i.cfg.valid) verdict_o = MBOX_STATUS_BAD_STATE;
        else if (!ring_ok(new_srq.log_slots, SQ_LOG_MAX) || !pbl_aligned(new_srq.pbl_address) ||
                 !limit_ok(new_srq.limit))
          verdict_o = MBOX_STATUS_BAD_PARAMETER;
        MBOX_OP_DESTROY_SRQ, MBOX_OP_QUERY_SRQ:
        if (object.index >= N_SRQ) verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (!srq_i.cfg.valid) verdict_o = MBOX_STATUS_BAD_STATE;
        MBOX_OP_MODIFY_SRQ:
        if (new_limit.srqn >= N_SRQ) verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (!srq_i.cfg.valid) verdict_o = MBOX_STATUS_BAD_STATE;
        else if (!limit_ok(new_limit.limit)) verdict_o = MBOX_STATUS_BAD_PARAMETER;
        MBOX_OP_SET_WINDOW:
        if (new_window.window >= N_WINDOW) verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (new_window.access == '0) verdict_o = MBOX_STATUS_OK;
        else if (new_window.qpn >= N_QP) verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (!qp_i.cfg.valid || qp_i.status.state != QP_STATE_RTS || qp_i.cfg.service != SERVICE_RC || posted)
          verdict_o = MBOX_STATUS_BAD_STATE;
        else if (!window_values_ok) verdict_o = MBOX_STATUS_BAD_PARAMETER;
        MBOX_OP_ATTACH_GROUP, MBOX_OP_DETACH_GROUP:
        if (new_group.qpn >= N_QP) verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (!qp_i.cfg.valid || !datagrams) verdict_o = MBOX_STATUS_BAD_STATE;
        else if (new_group.group > GROUP_MAX) verdict_o = MBOX_STATUS_BAD_PARAMETER;
        MBOX_OP_CREATE_EQ:
        if (new_eq.eqn >= MAX_EQ || new_eq.msix_vector >= MSIX_VECTORS) verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (eq_exists(new_eq.eqn)) verdict_o = MBOX_STATUS_BAD_STATE;
        else if (!ring_ok(new_eq.log_entries, EQ_LOG_MAX) || !pbl_aligned(new_eq.address))
          verdict_o = MBOX_STATUS_BAD_PARAMETER;
        MBOX_OP_DESTROY_EQ:
        if (object.index >= MAX_EQ) verdict_o = MBOX_STATUS_BAD_INDEX;
        else if (!eq_exists(object.index)) verdict_o = MBOX_STATUS_BAD_STATE;
        default: verdict_o = MBOX_STATUS_BAD_OPCODE;
      endcase
      if (!op_known_i) verdict_o = MBOX_STATUS_BAD_OPCODE;
    end
  end

endmodule
