// SPDX-License-Identifier: BSD-2-Clause
// How many messages each queue pair may send, as far as its peer has told. A limit only rises, so
// it does not matter in which order updates come, or how often; one of which nothing came is none.

module credit_limits
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,

    input logic           update_i,  // pulse; not in each of two cycles
    input credit_update_t update_what_i,

    // Whether it is of that queue pair's peer. The answer comes in the next cycle.
    output logic qp_read_o,
    output qpn_t qp_read_qpn_o,
    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record
    input  qp_t  qp_i,
    /* verilator lint_on UNUSEDSIGNAL */

    input logic reset_i,  // the queue pair begins anew
    input qpn_t reset_qpn_i,

    output logic raised_o,  // pulse: more may be sent
    output qpn_t raised_qpn_o,

    input  qpn_t    look_qpn_i,  // combinational
    output logic    known_o,
    output credit_t limit_o,

    output logic refused_o  // pulse: the update is ignored
);

  logic [N_QP-1:0] known_q;

  credit_update_t update_q;
  logic judge_q, raised_q, good, raises;
  qpn_t qpn, raised_qpn_q;
  assign qpn = update_q.dst_qpn[$bits(qpn_t)-1:0];
  assign qp_read_o = update_i;
  assign qp_read_qpn_o = update_what_i.dst_qpn[$bits(qpn_t)-1:0];
  assign good = update_q.dst_qpn < 24'(N_QP) && qp_i.cfg.valid && qp_i.cfg.service == SERVICE_RC &&
      qp_connected(qp_i.status.state) &&
      qp_i.cfg.dest_node == update_q.node && qp_i.cfg.dest_qpn == update_q.src_qpn &&
      qp_i.cfg.generation == update_q.dst_generation &&
      qp_i.peer.generation == update_q.src_generation;
  assign raises = judge_q && good && (!known_q[qpn] || credit_beyond(update_q.limit, limit[0]));
  assign refused_o = judge_q && !good;

  always_ff @(posedge clk_i) begin
    if (update_i) update_q <= update_what_i;
    raised_qpn_q <= qpn;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {judge_q, raised_q} <= '0;
      known_q <= '0;
    end else begin
      judge_q  <= update_i;
      raised_q <= raises;  // a cycle later: who began to wait meanwhile hears of it too
      if (raises) known_q[qpn] <= 1'b1;
      if (reset_i) known_q[reset_qpn_i] <= 1'b0;
    end
  end
  assign raised_o     = raised_q;
  assign raised_qpn_o = raised_qpn_q;
  assign idle_o       = !judge_q && !raised_q;

  credit_t limit[2];
  qpn_t limit_qpn[2];
  assign limit_qpn = '{qpn, look_qpn_i};
  lut_ram_nr1w #(
      .WIDTH($bits(credit_t)),
      .DEPTH(N_QP),
      .READERS(2)
  ) u_limits (
      .clk_i,
      .write_i        (raises),
      .write_address_i(qpn),
      .write_data_i   (update_q.limit),
      .read_address_i (limit_qpn),
      .read_data_o    (limit)
  );

  assign known_o = known_q[look_qpn_i];
  assign limit_o = limit[1];

endmodule
