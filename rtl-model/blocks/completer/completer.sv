// SPDX-License-Identifier: BSD-2-Clause
// Writes completions. It learns from the EFE, in order per peer, how each submitted slot ended,
// gives the work request its status, writes the CQE with its phase bit, and fires the vector of an
// armed queue behind it. It owns the completion queues.

module completer
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_CQ = MAX_CQ
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,
    input  logic quiesce_i,    // begin nothing that touches a table or host memory
    output logic quiescent_o,
    input  logic [63:0] time_i,

    input  logic     done_valid_i,
    output logic     done_ready_o,
    input  tx_done_t done_i,

    input  logic         bell_valid_i,
    output logic         bell_ready_o,
    output logic         bell_busy_o,   // one that was taken has not had its effect yet
    input  cq_doorbell_t bell_i,

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
    output logic       cq_error_o,  // pulse: a completion was lost

    // The driver's access to the completion queues.
    input  logic       config_we_i,
    input  cqn_t       config_cqn_i,
    input  cq_config_t config_i,
    output cq_config_t config_o,      // of config_cqn_i, combinational

    output logic       xlate_valid_o,
    input  logic       xlate_ready_i,
    output xlate_req_t xlate_o,
    input  logic       xlate_rsp_valid_i,
    /* verilator lint_off UNUSEDSIGNAL */  // a CQE lies in one page
    input  xlate_rsp_t xlate_rsp_i,
    /* verilator lint_on UNUSEDSIGNAL */

    output logic           write_valid_o,
    input  logic           write_ready_i,
    output dma_write_cmd_t write_o,

    output event_t event_o
);

  typedef enum logic [3:0] {
    StIdle, StBell, StQpRead, StJudge, StStatus, StWake, StCqRead, StCq, StXlate, StXlateWait,
    StWrite, StFire
  } state_e;
  state_e state_q, state_d;

  // ---- Completion queues
  cq_config_t config_q[N_CQ];
  logic [31:0] producer_q[N_CQ];
  logic [31:0] consumer_q[N_CQ];
  logic armed_q[N_CQ];

  cqn_t cqn_q;
  cq_config_t cq_q;
  logic [31:0] cq_producer_q, cq_consumer_q;
  logic cq_armed_q;
  logic producer_we, consumer_we, armed_we, armed_value;

  cqn_t init_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      init_q      <= '0;
      init_done_o <= 1'b0;
    end else if (!init_done_o) begin
      init_q      <= init_q + 1'b1;
      init_done_o <= init_q == cqn_t'(N_CQ - 1);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!init_done_o) config_q[init_q] <= '0;
    else if (config_we_i) config_q[config_cqn_i] <= config_i;
  end
  always_ff @(posedge clk_i) begin
    if (config_we_i) producer_q[config_cqn_i] <= '0;
    else if (producer_we) producer_q[cqn_q] <= cq_producer_q + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (config_we_i) consumer_q[config_cqn_i] <= '0;
    else if (consumer_we) consumer_q[cqn_q] <= bell_q.consumer;
  end
  always_ff @(posedge clk_i) begin
    if (config_we_i) armed_q[config_cqn_i] <= 1'b0;
    else if (armed_we) armed_q[cqn_q] <= armed_value;
  end
  assign config_o = config_q[config_cqn_i];

  // ---- What is in hand: a doorbell, or a slot that has ended
  logic ringing_q;
  /* verilator lint_off UNUSEDSIGNAL */  // table index and node are used as they come in
  cq_doorbell_t bell_q;
  tx_done_t done_q;
  /* verilator lint_on UNUSEDSIGNAL */

  logic known, in_error, succeeded, failed, wants_cqe;
  cqe_status_e status, status_q;
  logic [15:0] detail_q;
  assign known = qp_i.cfg.valid && qp_i.cfg.generation == done_q.tag.generation;
  assign in_error = qp_i.status.state == QP_STATE_ERROR;
  // In ERROR an acknowledged frame was placed only if it left before the one that was refused.
  logic before_fault;
  assign before_fault = $signed(done_q.seq - qp_i.status.fault_seq) < 0;
  assign succeeded = done_q.status == CQE_STATUS_SUCCESS &&
      (!in_error || (qp_i.status.exact && before_fault));
  assign failed = known && !succeeded;
  always_comb begin
    if (succeeded) status = CQE_STATUS_SUCCESS;
    else if (!in_error) status = done_q.status;
    else status = qp_i.status.fault ? qp_i.status.fault_status : CQE_STATUS_WR_FLUSH_ERR;
  end
  // A segment that failed leaves its status for the work request that it is part of.
  logic is_last;
  assign is_last = done_q.tag.kind == TX_KIND_LAST;
  assign wants_cqe = known && is_last && (done_q.tag.signaled || !succeeded);
  logic status_changes;
  assign status_changes = failed && (!in_error || (is_last && qp_i.status.fault));

  logic bell_owned, cq_usable, full;
  logic [31:0] entries, pending;
  assign entries = 32'd1 << cq_q.log_entries;
  assign pending = cq_producer_q - (ringing_q ? bell_q.consumer : cq_consumer_q);
  assign bell_owned = cq_q.valid && cq_q.page == bell_q.page && pending <= entries;
  assign full = pending == entries;
  assign cq_usable = cq_q.valid && !full;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:
      if (quiesce_i || !init_done_o) state_d = StIdle;
      else if (bell_valid_i) state_d = bell_i.cqn < 32'(N_CQ) ? StCqRead : StIdle;
      else if (done_valid_i)
        state_d = done_i.tag.kind == TX_KIND_TERMINATE ? StIdle : StQpRead;
      StQpRead: state_d = StJudge;
      StJudge:
      if (status_changes) state_d = StStatus;
      else state_d = wants_cqe ? StCqRead : StIdle;
      StStatus: if (status_ready_i) state_d = StWake;
      StWake: if (wake_ready_i) state_d = wants_cqe ? StCqRead : StIdle;
      StCqRead: state_d = ringing_q ? StBell : StCq;
      StBell: state_d = bell_owned && bell_q.arm && pending != '0 ? StFire : StIdle;
      StCq: state_d = cq_usable ? StXlate : StIdle;
      StXlate: if (xlate_ready_i) state_d = StXlateWait;
      StXlateWait:
      if (xlate_rsp_valid_i) state_d = xlate_rsp_i.status == XLATE_OK ? StWrite : StIdle;
      StWrite: if (write_ready_i) state_d = cq_armed_q ? StFire : StIdle;
      StFire: if (write_ready_i) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= StIdle;
    else state_q <= state_d;
  end

  cqe_t cqe;
  logic [63:0] address_q;
  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StIdle: begin
        bell_q    <= bell_i;
        done_q    <= done_i;
        ringing_q <= bell_valid_i;
        if (bell_valid_i) cqn_q <= bell_i.cqn[$bits(cqn_t)-1:0];
      end
      StJudge: begin
        cqn_q    <= done_q.tag.opcode == WQE_OPCODE_RECV ? qp_i.cfg.recv_cqn : qp_i.cfg.send_cqn;
        status_q <= status;
        detail_q <= !succeeded && in_error && qp_i.status.fault ? qp_i.status.fault_detail : '0;
      end
      StCqRead: begin
        cq_q          <= config_q[cqn_q];
        cq_producer_q <= producer_q[cqn_q];
        cq_consumer_q <= consumer_q[cqn_q];
        cq_armed_q    <= armed_q[cqn_q];
      end
      StXlateWait: address_q <= xlate_rsp_i.address;
      default: ;
    endcase
  end

  // ---- Outputs
  assign quiescent_o = state_q == StIdle;
  assign bell_ready_o = state_q == StIdle && !quiesce_i && init_done_o;
  assign bell_busy_o = ringing_q && state_q != StIdle;
  assign done_ready_o = bell_ready_o && !bell_valid_i;

  assign qp_read_o = state_q == StQpRead;
  assign qp_read_qpn_o = done_q.tag.qpn;
  assign status_valid_o = state_q == StStatus;
  assign status_qpn_o = done_q.tag.qpn;
  always_comb begin
    status_o = qp_i.status;
    status_o.state = QP_STATE_ERROR;
    status_o.fault = !is_last && !in_error;
    if (!in_error) begin
      status_o.fault_status = done_q.status;
      status_o.fault_detail = '0;
      status_o.exact = 1'b0;
    end
  end
  assign qp_error_o = status_valid_o && status_ready_i && !in_error;
  assign wake_valid_o = state_q == StWake;
  assign wake_qpn_o = done_q.tag.qpn;

  assign producer_we = state_q == StWrite && write_ready_i;
  assign consumer_we = state_q == StBell && bell_owned;
  assign armed_we = (consumer_we && bell_q.arm) || state_q == StFire;
  assign armed_value = state_q == StBell;

  logic [31:0] slot;
  assign slot = cq_producer_q & (entries - 32'd1);
  assign xlate_valid_o = state_q == StXlate;
  assign xlate_o = '{
          ring: 1'b1,
          pbl_address: cq_q.pbl,
          stag: '0,
          pd: '0,
          access: '0,
          to: 64'(slot) << $clog2(CQE_BYTES),
          length: 32'(CQE_BYTES)
      };

  // The phase of the first round is 1, of the next 0.
  always_comb begin
    cqe = '0;
    cqe.timestamp = time_i;
    cqe.wqe_index = 32'(done_q.tag.wqe_index);
    cqe.byte_length = done_q.tag.byte_length;
    cqe.qpn = 32'(done_q.tag.qpn);
    cqe.detail = 32'(detail_q);
    cqe.opcode = done_q.tag.opcode;
    cqe.status = status_q;
    cqe.phase = 8'(!cq_producer_q[cq_q.log_entries]);
  end
  assign write_valid_o = state_q == StWrite || state_q == StFire;
  assign write_o = '{
          kind: state_q == StWrite ? DMA_WRITE_INLINE : DMA_WRITE_MSIX,
          address: state_q == StWrite ? address_q : 64'(cq_q.msix_vector),
          length: chunk_t'(CQE_BYTES),
          src: '0,
          data: cqe,
          frame_done: 1'b0,
          node: '0
      };
  assign cq_error_o = (state_q == StCq && !cq_usable) ||
      (state_q == StXlateWait && xlate_rsp_valid_i && xlate_rsp_i.status != XLATE_OK);

  always_comb begin
    event_o = '0;
    event_o[COUNTER_CQES] = producer_we;
    event_o[COUNTER_CQ_OVERRUNS] = cq_error_o;
    event_o[COUNTER_DOORBELLS] = consumer_we;
    event_o[COUNTER_DOORBELLS_REFUSED] = (state_q == StBell && !bell_owned) ||
        (bell_valid_i && bell_ready_o && bell_i.cqn >= 32'(N_CQ));
  end

endmodule
