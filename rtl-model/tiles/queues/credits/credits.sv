// SPDX-License-Identifier: BSD-2-Clause
// End-to-end credits: what peers are told of receives, and what they have told.

`include "exrnic_assert.svh"

module credits
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,
    output logic idle_o,

    input logic       reset_i,  // pulse: the queue pair begins anew,
    input qpn_t       reset_qpn_i,
    input logic [2:0] failed_i,  // or takes no messages any more
    input qpn_t       failed_qpn_i[3],

    // To peers.
    input  logic           posted_i,  // pulse: receives were posted,
    input  qpn_t           posted_qpn_i,
    input  credit_t        posted_producer_i,  // so many slots since the reset of the queue pair
    input  logic           taken_i,  // pulse; not in each of two cycles
    input  credit_taken_t  taken_what_i,
    output logic           update_valid_o,  // may be withdrawn
    input  logic           update_ready_i,
    output credit_update_t update_o,

    // From peers.
    input  logic           heard_i,  // pulse; not in each of two cycles
    input  credit_update_t heard_what_i,
    output logic           qp_read_o,  // its answer comes in the next cycle
    output qpn_t           qp_read_qpn_o,
    input  qp_t            qp_i,
    output logic           raised_o,  // pulse: more may be sent
    output qpn_t           raised_qpn_o,
    input  qpn_t           look_qpn_i,  // combinational
    output logic           known_o,
    output credit_t        limit_o,

    output event_t event_o
);

  logic updates_idle, limits_idle, refused;
  assign idle_o = updates_idle && limits_idle;

  credit_updates u_updates (
      .clk_i,
      .rst_ni,
      .init_done_o,
      .idle_o(updates_idle),
      .posted_i,
      .posted_qpn_i,
      .posted_producer_i,
      .taken_i,
      .taken_what_i,
      .reset_i,
      .reset_qpn_i,
      .failed_i,
      .failed_qpn_i,
      .update_valid_o,
      .update_ready_i,
      .update_o
  );

  credit_limits u_limits (
      .clk_i,
      .rst_ni,
      .idle_o(limits_idle),
      .update_i(heard_i),
      .update_what_i(heard_what_i),
      .qp_read_o,
      .qp_read_qpn_o,
      .qp_i,
      .reset_i,
      .reset_qpn_i,
      .raised_o,
      .raised_qpn_o,
      .look_qpn_i,
      .known_o,
      .limit_o,
      .refused_o(refused)
  );

  always_comb begin
    event_o = '0;
    event_o[COUNTER_CREDIT_REFUSED] = refused;
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(heard_by_and_by, heard_i |=> !heard_i)
  `EXRNIC_ALWAYS(taken_by_and_by, taken_i |=> !taken_i)
  `EXRNIC_ALWAYS(begins_alone, !(reset_i && posted_i))
  `EXRNIC_ALWAYS(limit_only_rises, known_o |=> !known_o || look_qpn_i != $past(look_qpn_i) ||
      !credit_beyond($past(limit_o), limit_o))

endmodule
