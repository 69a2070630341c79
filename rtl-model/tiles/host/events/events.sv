// SPDX-License-Identifier: BSD-2-Clause
// What has happened to the driver's objects goes into event queues, rings in host memory, and fires
// their vectors. See README.md.

`include "exrnic_assert.svh"

module events
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    input  logic quiesce_i,    // write no event
    output logic quiescent_o,  // nothing is under way
    output logic idle_o,       // and nothing will be until an input comes

    // What happens.
    host_event_if.host happened,
    input logic          link_up_i,

    // What the driver changes: an event queue, while the core rests; objects that are created or destroyed.
    input logic       eq_we_i,
    input eqn_t       eqn_i,
    input eq_config_t eq_i,
    output logic [MAX_EQ-1:0] eqs_o,  // those that exist
    input logic       forget_qp_i,
    input logic       renew_qp_i,  // or reset: what its last life did by command is over
    input qpn_t       forget_qpn_i,
    input logic       forget_cq_i,
    input cqn_t       forget_cqn_i,
    input logic       forget_srq_i,
    input srqn_t      forget_srqn_i,

    // A doorbell of an event queue; pulse.
    input logic        bell_i,
    input eqn_t        bell_eqn_i,
    input logic [31:0] bell_consumer_i,
    input logic        bell_arm_i,

    stream_if.source write,  // events and interrupts
    output event_t   event_o
);

  typedef enum logic [1:0] {StIdle, StLook, StWrite, StFire} state_e;
  state_e state_q;

  localparam int unsigned Types = 32'd1 << $bits(eqe_type_e);
  /* verilator lint_off UNUSEDSIGNAL */  // there are fewer types than bits
  logic [Types-1:0] any, set, take;
  /* verilator lint_on UNUSEDSIGNAL */
  logic blocked_q;  // the queue of all but completions is full
  logic pick, unparks, parks, tells;
  eqe_type_e type_q, type_next;
  logic [31:0] number, number_q;
  eqn_t eqn, eqn_q;  // of what is looked at; and of the event in hand, or of what is due

  // ---- Event queues
  eq_config_t config_q[MAX_EQ];
  logic [31:0] producer_q[MAX_EQ];
  logic [31:0] consumer_q[MAX_EQ];
  logic [MAX_EQ-1:0] armed_q, due_q, late_q;  // due: it fires as soon as it can
  for (genvar i = 0; i < MAX_EQ; i++) begin : g_eqs
    assign eqs_o[i] = config_q[i].valid;
  end

  logic written, fired, room;
  /* verilator lint_off UNUSEDSIGNAL */  // for what is promised
  logic [31:0] unread, entries;
  /* verilator lint_on UNUSEDSIGNAL */
  assign unread = producer_q[eqn_q] - consumer_q[eqn_q];
  assign entries = 32'd1 << config_q[eqn_q].log_entries;
  assign room = config_q[eqn].valid &&
      producer_q[eqn] - consumer_q[eqn] != 32'd1 << config_q[eqn].log_entries;
  assign written = state_q == StWrite && write.ready;
  assign fired = state_q == StFire && write.ready;

  // A doorbell says what has been taken of what was there, and no more.
  logic [31:0] told;
  logic bell_good, arms, arms_now;
  always_comb begin
    {told, bell_good, arms, arms_now} = '0;
    if (bell_i) begin
      told = producer_q[bell_eqn_i] - bell_consumer_i;
      bell_good = config_q[bell_eqn_i].valid &&
          told <= producer_q[bell_eqn_i] - consumer_q[bell_eqn_i];
      arms = bell_good && bell_arm_i && told == '0;
      arms_now = bell_good && bell_arm_i && told != '0;
    end
  end

  logic fires;  // the event in hand
  assign fires = armed_q[eqn_q] || (arms && bell_eqn_i == eqn_q);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < MAX_EQ; i++) config_q[i].valid <= 1'b0;
      {armed_q, due_q, late_q} <= '0;
    end else begin
      if (arms) armed_q[bell_eqn_i] <= 1'b1;
      if (arms_now) begin
        armed_q[bell_eqn_i] <= 1'b0;
        due_q[bell_eqn_i]   <= 1'b1;
      end
      if (written) begin
        late_q[eqn_q] <= 1'b0;
        if (fires) armed_q[eqn_q] <= 1'b0;
      end
      if (fired && !(arms_now && bell_eqn_i == eqn_q)) due_q[eqn_q] <= 1'b0;
      if (parks) late_q[eqn] <= 1'b1;
      if (eq_we_i) begin
        config_q[eqn_i] <= eq_i;
        armed_q[eqn_i]  <= 1'b0;
        due_q[eqn_i]    <= 1'b0;
        late_q[eqn_i]   <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (written) producer_q[eqn_q] <= producer_q[eqn_q] + 32'd1;
    if (bell_good) consumer_q[bell_eqn_i] <= bell_consumer_i;
    if (eq_we_i) begin
      producer_q[eqn_i] <= '0;
      consumer_q[eqn_i] <= '0;
    end
  end

  // ---- What is to be told, each type in its turn
  assign unparks = bell_good || eq_we_i;

  qpn_t qpn, last_wqe_qpn, sq_drained_qpn;
  cqn_t fired_cqn, lossy_cqn;
  srqn_t srqn;
  node_t node;
  logic link_q;
  always_ff @(posedge clk_i) link_q <= link_up_i;
  assign set[EQE_TYPE_COMPLETION] = happened.completion;
  assign set[EQE_TYPE_QP_ERROR] = happened.qp_error;
  assign set[EQE_TYPE_CQ_ERROR] = happened.cq_error;
  assign set[EQE_TYPE_SRQ_LIMIT] = happened.srq_limit;
  assign set[EQE_TYPE_PEER_DEAD] = happened.peer_dead;
  assign set[EQE_TYPE_LINK] = link_q != link_up_i;
  assign set[EQE_TYPE_HOST_SILENT] = happened.host_silent;
  assign set[EQE_TYPE_FIRMWARE] = happened.firmware_failed;
  assign set[EQE_TYPE_LAST_WQE] = happened.last_wqe;
  assign set[EQE_TYPE_SQ_DRAINED] = happened.sq_drained;
  assign set[Types-1:32'(EQE_TYPE_SQ_DRAINED)+1] = '0;
  assign any[Types-1:32'(EQE_TYPE_SQ_DRAINED)+1] = '0;

  event_set #(
      .N(N_CQ)
  ) u_completions (
      .clk_i,
      .rst_ni,
      .set_i(set[EQE_TYPE_COMPLETION]),
      .set_number_i(happened.completion_cqn),
      .forget_i(forget_cq_i),
      .forget_number_i(forget_cqn_i),
      .any_o(any[EQE_TYPE_COMPLETION]),
      .look_i(pick),
      .number_o(fired_cqn),
      .take_i(take[EQE_TYPE_COMPLETION]),
      .take_number_i(cqn_t'(number_q)),
      .park_i(parks),
      .unpark_i(unparks)
  );
  event_set #(
      .N(N_QP)
  ) u_qp_errors (
      .clk_i,
      .rst_ni,
      .set_i(set[EQE_TYPE_QP_ERROR]),
      .set_number_i(happened.qpn),
      .forget_i(forget_qp_i),
      .forget_number_i(forget_qpn_i),
      .any_o(any[EQE_TYPE_QP_ERROR]),
      .look_i(pick),
      .number_o(qpn),
      .take_i(take[EQE_TYPE_QP_ERROR]),
      .take_number_i(qpn_t'(number_q)),
      .park_i(1'b0),
      .unpark_i(1'b0)
  );
  event_set #(
      .N(N_CQ)
  ) u_cq_errors (
      .clk_i,
      .rst_ni,
      .set_i(set[EQE_TYPE_CQ_ERROR]),
      .set_number_i(happened.cqn),
      .forget_i(forget_cq_i),
      .forget_number_i(forget_cqn_i),
      .any_o(any[EQE_TYPE_CQ_ERROR]),
      .look_i(pick),
      .number_o(lossy_cqn),
      .take_i(take[EQE_TYPE_CQ_ERROR]),
      .take_number_i(cqn_t'(number_q)),
      .park_i(1'b0),
      .unpark_i(1'b0)
  );
  event_set #(
      .N(N_SRQ)
  ) u_srq_limits (
      .clk_i,
      .rst_ni,
      .set_i(set[EQE_TYPE_SRQ_LIMIT]),
      .set_number_i(happened.srqn),
      .forget_i(forget_srq_i),
      .forget_number_i(forget_srqn_i),
      .any_o(any[EQE_TYPE_SRQ_LIMIT]),
      .look_i(pick),
      .number_o(srqn),
      .take_i(take[EQE_TYPE_SRQ_LIMIT]),
      .take_number_i(srqn_t'(number_q)),
      .park_i(1'b0),
      .unpark_i(1'b0)
  );
  event_set #(
      .N(N_QP)
  ) u_last_wqes (
      .clk_i,
      .rst_ni,
      .set_i(set[EQE_TYPE_LAST_WQE]),
      .set_number_i(happened.last_wqe_qpn),
      .forget_i(renew_qp_i),
      .forget_number_i(forget_qpn_i),
      .any_o(any[EQE_TYPE_LAST_WQE]),
      .look_i(pick),
      .number_o(last_wqe_qpn),
      .take_i(take[EQE_TYPE_LAST_WQE]),
      .take_number_i(qpn_t'(number_q)),
      .park_i(1'b0),
      .unpark_i(1'b0)
  );
  event_set #(
      .N(N_QP)
  ) u_sq_drained (
      .clk_i,
      .rst_ni,
      .set_i(set[EQE_TYPE_SQ_DRAINED]),
      .set_number_i(happened.sq_drained_qpn),
      .forget_i(renew_qp_i),
      .forget_number_i(forget_qpn_i),
      .any_o(any[EQE_TYPE_SQ_DRAINED]),
      .look_i(pick),
      .number_o(sq_drained_qpn),
      .take_i(take[EQE_TYPE_SQ_DRAINED]),
      .take_number_i(qpn_t'(number_q)),
      .park_i(1'b0),
      .unpark_i(1'b0)
  );
  event_set #(
      .N(N_NODE)
  ) u_peers_dead (
      .clk_i,
      .rst_ni,
      .set_i(set[EQE_TYPE_PEER_DEAD]),
      .set_number_i(happened.dead_node),
      .forget_i(1'b0),
      .forget_number_i('0),
      .any_o(any[EQE_TYPE_PEER_DEAD]),
      .look_i(pick),
      .number_o(node),
      .take_i(take[EQE_TYPE_PEER_DEAD]),
      .take_number_i(number_q[$bits(node_t)-1:0]),
      .park_i(1'b0),
      .unpark_i(1'b0)
  );
  // Of the device.
  logic link_changed_q, host_silent_q, firmware_failed_q;
  assign any[EQE_TYPE_LINK] = link_changed_q;
  assign any[EQE_TYPE_HOST_SILENT] = host_silent_q;
  assign any[EQE_TYPE_FIRMWARE] = firmware_failed_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {link_changed_q, host_silent_q, firmware_failed_q} <= '0;
    end else begin
      link_changed_q <= set[EQE_TYPE_LINK] || (link_changed_q && !take[EQE_TYPE_LINK]);
      host_silent_q <= set[EQE_TYPE_HOST_SILENT] ||
          (host_silent_q && !take[EQE_TYPE_HOST_SILENT]);
      firmware_failed_q <= set[EQE_TYPE_FIRMWARE] ||
          (firmware_failed_q && !take[EQE_TYPE_FIRMWARE]);
    end
  end
  // Which queue a completion queue has, and why a queue pair has failed.
  eqn_t eqn_of_cq;
  ram_1r1w #(
      .WIDTH($bits(eqn_t)),
      .DEPTH(N_CQ)
  ) u_eqns (
      .clk_i,
      .write_i(happened.completion),
      .write_address_i(happened.completion_cqn),
      .write_data_i(happened.completion_eqn),
      .read_i(pick && type_next == EQE_TYPE_COMPLETION),
      .read_address_i(fired_cqn),
      .read_data_o(eqn_of_cq)
  );
  qp_cause_e cause;
  ram_1r1w #(
      .WIDTH($bits(qp_cause_e)),
      .DEPTH(N_QP)
  ) u_causes (
      .clk_i,
      .write_i(happened.qp_error),
      .write_address_i(happened.qpn),
      .write_data_i(happened.cause),
      .read_i(pick && type_next == EQE_TYPE_QP_ERROR),
      .read_address_i(qpn),
      .read_data_o({cause})
  );
  assign eqn = type_q == EQE_TYPE_COMPLETION ? eqn_of_cq : eqn_t'(EQN_ASYNC);

  // ---- Steps
  logic [Types-1:0] ready_types, later_types;
  logic begins;
  assign ready_types = any & ({Types{!blocked_q}} | Types'(1) << EQE_TYPE_COMPLETION);
  assign begins = state_q == StIdle && !quiesce_i;
  assign pick = begins && due_q == '0 && ready_types != '0;
  always_comb begin
    {later_types, number} = '0;
    type_next = EQE_TYPE_COMPLETION;
    if (pick) begin
      for (int unsigned i = 0; i < Types; i++)
        later_types[i] = ready_types[i] && i > 32'(type_q);
      if (later_types == '0) later_types = ready_types;
      for (int i = int'(Types) - 1; i >= 0; i--)
        if (later_types[i]) type_next = eqe_type_e'(i);
      unique case (type_next)
        EQE_TYPE_COMPLETION: number = 32'(fired_cqn);
        EQE_TYPE_QP_ERROR: number = 32'(qpn);
        EQE_TYPE_CQ_ERROR: number = 32'(lossy_cqn);
        EQE_TYPE_SRQ_LIMIT: number = 32'(srqn);
        EQE_TYPE_PEER_DEAD: number = 32'(node);
        EQE_TYPE_LAST_WQE: number = 32'(last_wqe_qpn);
        EQE_TYPE_SQ_DRAINED: number = 32'(sq_drained_qpn);
        default: number = '0;
      endcase
    end
  end

  // An event that finds no room waits on its place; room that comes in this very cycle counts.
  assign tells = state_q == StLook && room;
  assign parks = state_q == StLook && !room && !unparks;
  always_comb begin
    take = '0;
    take[type_q] = tells || (parks && type_q == EQE_TYPE_COMPLETION);
  end

  eqn_t due;
  always_comb begin
    due = '0;
    if (begins) for (int i = int'(MAX_EQ) - 1; i >= 0; i--) if (due_q[i]) due = eqn_t'(i);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q   <= StIdle;
      blocked_q <= 1'b0;
    end else begin
      unique case (state_q)
        StIdle:
        if (begins && due_q != '0) state_q <= StFire;
        else if (pick) state_q <= StLook;
        StLook: state_q <= room ? StWrite : StIdle;
        StWrite: if (write.ready) state_q <= fires ? StFire : StIdle;
        default: if (write.ready) state_q <= StIdle;
      endcase
      if (unparks) blocked_q <= 1'b0;
      else if (parks && type_q != EQE_TYPE_COMPLETION) blocked_q <= 1'b1;
    end
  end

  logic [31:0] detail_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) type_q <= EQE_TYPE_COMPLETION;
    else if (pick) type_q <= type_next;
  end
  always_ff @(posedge clk_i) begin
    if (pick) number_q <= number;
    if (begins && due_q != '0) eqn_q <= due;
    if (state_q == StLook) begin
      eqn_q <= eqn;
      unique case (type_q)
        EQE_TYPE_QP_ERROR: detail_q <= 32'(cause);
        EQE_TYPE_LINK: detail_q <= 32'(link_up_i);
        default: detail_q <= '0;
      endcase
    end
  end

  // ---- Outputs
  assign quiescent_o = state_q == StIdle;
  assign idle_o = quiescent_o && ready_types == '0 && due_q == '0 && !set[EQE_TYPE_LINK];
  assign write.valid = state_q == StWrite || state_q == StFire;
  eqe_t eqe;
  logic [31:0] slot;
  eqe_type_properties_t properties;
  assign properties = of_eqe_type(type_q);
  always_comb begin
    {eqe, slot} = '0;
    write.data = '0;
    if (state_q == StWrite) begin
      slot = producer_q[eqn_q] & (entries - 32'd1);
      eqe.number = number_q;
      eqe.detail = detail_q;
      eqe.event_type = 8'(type_q);
      eqe.object = 8'(properties.object);
      eqe.flags = 8'(late_q[eqn_q]) << EQE_FLAGS_LATE;
      eqe.phase = 8'(!producer_q[eqn_q][5'(config_q[eqn_q].log_entries)]);  // 1 in the first round, 0 in the next
      write.data.kind = DMA_WRITE_INLINE;
      write.data.address = config_q[eqn_q].address + 64'(slot) * 64'(EQE_BYTES);
      write.data.length = chunk_t'(EQE_BYTES);
      write.data.data = 256'(eqe);
    end else if (state_q == StFire) begin
      write.data.kind = DMA_WRITE_MSIX;
      write.data.address = 64'(config_q[eqn_q].msix_vector);
    end
  end

  always_comb begin
    event_o = '0;
    event_o[COUNTER_EVENTS] = written;
    event_o[COUNTER_EVENTS_LATE] = parks;
    event_o[COUNTER_DOORBELLS_REFUSED] = bell_i && !bell_good;
  end

  // ---- What is promised
  `EXRNIC_HELD(write_is_held, write.valid, write.ready, write.data)
  `EXRNIC_ALWAYS(has_room, state_q != StWrite || unread < entries)

endmodule
