// SPDX-License-Identifier: BSD-2-Clause
// What the peers of queue pairs are told of receives: how many messages each may send. It is told
// when the peer may be about to run out, and new receives are at least as many as it knows of.

`include "exrnic_assert.svh"

module credit_updates
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,
    output logic idle_o,

    input logic    posted_i,  // pulse: receives were posted,
    input qpn_t    posted_qpn_i,
    input credit_t posted_producer_i,  // so many slots since the reset of the queue pair

    input logic          taken_i,       // pulse; not in each of two cycles
    input credit_taken_t taken_what_i,

    input logic       reset_i,  // the queue pair begins anew,
    input qpn_t       reset_qpn_i,
    input logic [2:0] failed_i,  // or takes no messages any more
    input qpn_t       failed_qpn_i[3],

    output logic           update_valid_o,  // may be withdrawn
    input  logic           update_ready_i,
    output credit_update_t update_o
);

  // ---- What is known of each. The slots of a ring stand for its receives: there are no more.
  typedef struct packed {
    node_t       node;
    logic [23:0] peer;
    generation_t src_generation;
    generation_t dst_generation;
    credit_t     messages;  // that have taken a receive
    credit_t     base;      // those less the slots that they took
  } receiver_t;

  receiver_t taken;
  logic [N_QP-1:0] known_q;   // messages come from there
  logic [N_QP-1:0] told_any_q;
  logic [N_QP-1:0] lapsed_q;  // what the peer was told has not come, or does not hold

  assign taken = '{
          node: taken_what_i.node,
          peer: taken_what_i.peer,
          src_generation: taken_what_i.src_generation,
          dst_generation: taken_what_i.dst_generation,
          messages: taken_what_i.messages,
          base: taken_what_i.messages - taken_what_i.consumer
      };

  // ---- Those of which something has changed
  logic held_q, pop_valid;
  qpn_t held_qpn_q, pop_qpn, qpn_q;
  /* verilator lint_off UNUSEDSIGNAL */  // a pulse is taken, and nobody else waits, or looks ahead
  logic [1:0] push_ready;
  logic others_wait, next_valid;
  qpn_t next_qpn;
  /* verilator lint_on UNUSEDSIGNAL */
  qpn_t push_qpn[2];
  assign push_qpn[0] = posted_qpn_i;
  assign push_qpn[1] = held_qpn_q;
  scheduler #(
      .SOURCES(2)
  ) u_changed (
      .clk_i,
      .rst_ni,
      .init_done_o,
      .push_valid_i({held_q, posted_i && known_q[posted_qpn_i]}),
      .push_ready_o(push_ready),
      .push_qpn_i(push_qpn),
      .pop_valid_o(pop_valid),
      .pop_ready_i(state_q == StIdle),
      .pop_qpn_o(pop_qpn),
      .next_valid_o(next_valid),
      .next_ready_i(1'b0),
      .next_qpn_o(next_qpn),
      .serving_qpn_i(qpn_q),
      .others_wait_o(others_wait)
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) held_q <= 1'b0;
    else held_q <= taken_i || (held_q && !push_ready[1]);
  end
  always_ff @(posedge clk_i) begin
    if (taken_i) held_qpn_q <= taken_what_i.qpn;
  end

  // ---- One after the other
  typedef enum logic [1:0] {StIdle, StRead, StJudge, StTell} state_e;
  state_e state_q;
  receiver_t now_q;
  credit_t limit, told, news, left, limit_q, posted_now_q, told_now_q;
  logic due;
  assign limit = posted_now_q + now_q.base;
  assign told  = lapsed_q[qpn_q] ? now_q.messages : told_now_q;
  assign news  = limit - told;
  assign left  = told - now_q.messages;
  assign due   = known_q[qpn_q] && (!told_any_q[qpn_q] ||
      (credit_beyond(limit, told) && signed'(left) < signed'(news)));

  logic tell;
  assign update_valid_o = state_q == StTell && known_q[qpn_q];
  assign tell = update_valid_o && update_ready_i;
  assign update_o = '{
          node: now_q.node,
          dst_qpn: now_q.peer,
          src_qpn: 24'(qpn_q),
          src_generation: now_q.src_generation,
          dst_generation: now_q.dst_generation,
          limit: limit_q
      };

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle:  if (pop_valid) state_q <= StRead;
        StRead:  state_q <= StJudge;
        StJudge: state_q <= due ? StTell : StIdle;
        default: if (tell || !known_q[qpn_q]) state_q <= StIdle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) qpn_q <= pop_qpn;
    if (state_q == StJudge) limit_q <= limit;
  end

  ram_1r1w #(
      .WIDTH($bits(receiver_t)),
      .DEPTH(N_QP)
  ) u_receivers (
      .clk_i,
      .write_i        (taken_i),
      .write_address_i(taken_what_i.qpn),
      .write_data_i   (taken),
      .read_i         (state_q == StRead),
      .read_address_i (qpn_q),
      .read_data_o    (now_q)
  );
  ram_1r1w #(
      .WIDTH($bits(credit_t)),
      .DEPTH(N_QP)
  ) u_posted (
      .clk_i,
      .write_i        (reset_i || posted_i),
      .write_address_i(reset_i ? reset_qpn_i : posted_qpn_i),
      .write_data_i   (reset_i ? '0 : posted_producer_i),
      .read_i         (state_q == StRead),
      .read_address_i (qpn_q),
      .read_data_o    (posted_now_q)
  );
  ram_1r1w #(
      .WIDTH($bits(credit_t)),
      .DEPTH(N_QP)
  ) u_told (
      .clk_i,
      .write_i        (tell),
      .write_address_i(qpn_q),
      .write_data_i   (limit_q),
      .read_i         (state_q == StRead),
      .read_address_i (qpn_q),
      .read_data_o    (told_now_q)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      known_q    <= '0;
      told_any_q <= '0;
      lapsed_q   <= '0;
    end else begin
      if (tell) told_any_q[qpn_q] <= 1'b1;
      if (tell) lapsed_q[qpn_q] <= 1'b0;
      if (taken_i) known_q[taken_what_i.qpn] <= 1'b1;
      if (taken_i && !known_q[taken_what_i.qpn]) told_any_q[taken_what_i.qpn] <= 1'b0;
      if (taken_i && taken_what_i.lapsed) lapsed_q[taken_what_i.qpn] <= 1'b1;
      for (int unsigned i = 0; i < 3; i++) if (failed_i[i]) known_q[failed_qpn_i[i]] <= 1'b0;
      if (reset_i) known_q[reset_qpn_i] <= 1'b0;
    end
  end

  assign idle_o = state_q == StIdle && !pop_valid && !held_q;

  // ---- What is promised
  `EXRNIC_ALWAYS(no_change_is_lost, !taken_i || !held_q || push_ready[1])

endmodule
