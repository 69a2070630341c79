// SPDX-License-Identifier: BSD-2-Clause
// What MODIFY_QP makes of a queue pair, and whether it may. Combinational.

module qp_change
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic   valid_i,
    input node_t  cfg_node_i,
    input pkeys_t pkeys_i,
    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record; a value has spare bits
    input mbox_modify_qp_t change_i,
    input qp_t             qp_i,
    /* verilator lint_on UNUSEDSIGNAL */

    output logic known_o,    // a state and attributes that there are;
    output logic allowed_o,  // the queue pair takes them now,
    output logic good_o,     // and has all that it needs, with values in range

    output qp_config_t cfg_o,
    output qp_status_t status_o,
    output logic       clears_o  // its rings are empty then
);

  typedef logic [QP_ATTRIBUTES_BITS-1:0] attributes_t;
  function automatic attributes_t one(int unsigned attribute);
    return attributes_t'(1) << attribute;
  endfunction

  attributes_t given;
  qp_state_e from, to;
  service_e service;
  assign given = change_i.attributes[QP_ATTRIBUTES_BITS-1:0];
  assign from = qp_i.status.state;
  assign to = qp_state_e'(change_i.state[2:0]);
  assign service = qp_i.cfg.service;

  // ---- Which ones each change and each service has, and cannot do without
  localparam attributes_t OfUc =
      one(QP_ATTRIBUTES_DEST) | one(QP_ATTRIBUTES_ACCESS) | one(QP_ATTRIBUTES_PATH_MTU);
  localparam attributes_t OfUd = one(QP_ATTRIBUTES_QKEY) | one(QP_ATTRIBUTES_PKEY_INDEX);
  localparam attributes_t WithInit = OfUd | one(QP_ATTRIBUTES_ACCESS);
  localparam attributes_t WithRtr = OfUc | OfUd | one(QP_ATTRIBUTES_MAX_READS_IN) |
      one(QP_ATTRIBUTES_MIN_RNR_TIMER);
  localparam attributes_t WithRts = one(QP_ATTRIBUTES_QKEY) | one(QP_ATTRIBUTES_ACCESS) |
      one(QP_ATTRIBUTES_MIN_RNR_TIMER) | one(QP_ATTRIBUTES_RNR_RETRY) |
      one(QP_ATTRIBUTES_TIMEOUT) | one(QP_ATTRIBUTES_RETRY_COUNT);
  localparam attributes_t WithSqd = WithRts | one(QP_ATTRIBUTES_PKEY_INDEX) |
      one(QP_ATTRIBUTES_MAX_READS_IN) | one(QP_ATTRIBUTES_MAX_READS_OUT);
  attributes_t of_service, of_change, needed;
  logic arrow;
  always_comb begin
    {of_service, of_change, needed, arrow} = '0;
    if (valid_i) begin
      unique case (service)
        SERVICE_UD: of_service = OfUd;
        SERVICE_UC: of_service = OfUc;
        default: of_service = ~OfUd;
      endcase
      unique case (to)
        QP_STATE_INIT: begin
          arrow = from inside {QP_STATE_RESET, QP_STATE_INIT};
          of_change = WithInit;
          if (service == SERVICE_UD && from == QP_STATE_RESET) needed = OfUd;
        end
        QP_STATE_RTR: begin
          arrow = from == QP_STATE_INIT;
          of_change = WithRtr;
          if (service != SERVICE_UD) needed = one(QP_ATTRIBUTES_DEST);
        end
        QP_STATE_RTS: begin
          arrow = qp_connected(from);
          of_change = WithRts;
          if (from == QP_STATE_RTR) of_change |= one(QP_ATTRIBUTES_MAX_READS_OUT);
        end
        QP_STATE_SQD: begin
          arrow = qp_sends(from);
          if (from == QP_STATE_SQD) of_change = WithSqd;
        end
        default: arrow = 1'b1;
      endcase
    end
  end
  assign known_o = change_i.state <= 32'(QP_STATE_SQD) &&
      change_i.attributes >> QP_ATTRIBUTES_BITS == '0;
  assign allowed_o = arrow && (given & ~(of_service & of_change)) == '0;

  // ---- Values. Those of all fields are looked at, and of those that are given they count.
  attributes_t good;
  always_comb begin
    good = '1;
    if (valid_i) begin
      good[QP_ATTRIBUTES_DEST] = change_i.dest_node < N_NODE && change_i.dest_qpn < RESERVED_QPN;
      good[QP_ATTRIBUTES_PKEY_INDEX] = change_i.pkey_index < PKEYS &&
          pkey_valid(pkey_of(pkeys_i, pkey_index_t'(change_i.pkey_index)));
      good[QP_ATTRIBUTES_ACCESS] = (change_i.access & ~32'(REMOTE_RIGHTS)) == '0;
      good[QP_ATTRIBUTES_PATH_MTU] = change_i.path_mtu >= MTU_MIN && change_i.path_mtu <= MTU_MAX &&
          change_i.path_mtu % MTU_STEP == '0;
      good[QP_ATTRIBUTES_MAX_READS_IN] = change_i.max_reads_in <= 8'(qp_i.cfg.places_in);
      good[QP_ATTRIBUTES_MAX_READS_OUT] = change_i.max_reads_out <= 8'(qp_i.cfg.places_out);
      good[QP_ATTRIBUTES_MIN_RNR_TIMER] = change_i.min_rnr_timer <= 8'(RNR_TIMER_MAX);
      good[QP_ATTRIBUTES_RNR_RETRY] = change_i.rnr_retry <= 8'(RNR_RETRY_ENDLESS);
      good[QP_ATTRIBUTES_TIMEOUT] = change_i.timeout <= 8'(QP_TIMEOUT_MAX);
      good[QP_ATTRIBUTES_RETRY_COUNT] = change_i.retry_count <= 8'(QP_RETRY_COUNT_MAX);
    end
  end
  assign good_o = (needed & ~given) == '0 && (given & ~good) == '0;

  // ---- What it becomes
  always_comb begin
    cfg_o = qp_i.cfg;
    status_o = qp_i.status;
    clears_o = 1'b0;
    if (valid_i) begin
      status_o.state = to;
      if (given[QP_ATTRIBUTES_DEST]) begin
        cfg_o.dest_node = node_t'(change_i.dest_node);
        cfg_o.dest_qpn  = change_i.dest_qpn[23:0];
      end
      // Datagrams have no peer: those of all queue pairs queue together, in their order.
      if (service == SERVICE_UD && to == QP_STATE_RTR) cfg_o.dest_node = cfg_node_i;
      if (given[QP_ATTRIBUTES_QKEY]) cfg_o.qkey = change_i.qkey;
      if (given[QP_ATTRIBUTES_PKEY_INDEX]) cfg_o.pkey_index = pkey_index_t'(change_i.pkey_index);
      if (given[QP_ATTRIBUTES_ACCESS]) cfg_o.access = change_i.access[7:0];
      if (given[QP_ATTRIBUTES_PATH_MTU]) cfg_o.path_mtu = chunk_t'(change_i.path_mtu);
      if (given[QP_ATTRIBUTES_MAX_READS_IN]) cfg_o.max_reads_in = reads_t'(change_i.max_reads_in);
      if (given[QP_ATTRIBUTES_MAX_READS_OUT]) cfg_o.max_reads_out = reads_t'(change_i.max_reads_out);
      if (given[QP_ATTRIBUTES_MIN_RNR_TIMER]) cfg_o.rnr_timer = change_i.min_rnr_timer[4:0];
      if (given[QP_ATTRIBUTES_RNR_RETRY]) cfg_o.rnr_retry = change_i.rnr_retry[2:0];
      if (given[QP_ATTRIBUTES_TIMEOUT]) cfg_o.timeout = change_i.timeout[4:0];
      if (given[QP_ATTRIBUTES_RETRY_COUNT]) cfg_o.retry_count = change_i.retry_count[2:0];
      if (to == QP_STATE_SQD && from == QP_STATE_RTS) status_o.drains = !qp_i.ended.drained;
      if (to == QP_STATE_RESET) begin
        cfg_o = new_attributes(qp_i.cfg);
        cfg_o.generation = next_generation(qp_i.cfg.generation);
        status_o = '0;
        clears_o = 1'b1;
      end
      // What is under way is flushed; none of it has a cause of its own.
      if (to == QP_STATE_ERROR && from != QP_STATE_ERROR) begin
        status_o.fault = 1'b0;
        status_o.exact = qp_i.status.rnr;
      end
    end
  end

endmodule
