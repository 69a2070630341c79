// SPDX-License-Identifier: BSD-2-Clause
// Stores and loads that were not acknowledged, or never sent: their queue pairs fail. It is for the
// completer to say so, which may wait for host memory; so each queue pair has a place to wait in.

module window_failures
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input logic    failed_valid_i,
    /* verilator lint_off UNUSEDSIGNAL */  // whose it was
    input tx_tag_t failed_i,
    /* verilator lint_on UNUSEDSIGNAL */

    output logic     done_valid_o,  // until it is taken; a later life of the queue pair may come in its place
    input  logic     done_ready_i,
    output tx_done_t done_o
);

  typedef logic [$clog2(N_QP)-1:0] place_t;

  generation_t life[2];  // of who fails, and of the next one to tell of
  place_t life_place[2];
  place_t place, next;
  logic taken, later;
  /* verilator lint_off UNUSEDSIGNAL */  // the order matters here, and who waits
  logic alone, empty;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [N_QP-1:0] waiting;
  assign place = place_t'(failed_i.qpn);
  assign taken = done_valid_o && done_ready_i;
  // What is left of an earlier life says nothing of a later one.
  assign later = !waiting[place] || $signed(failed_i.generation - life[0]) > 0;

  node_queue #(
      .N(N_QP)
  ) u_queue (
      .clk_i,
      .rst_ni,
      .set_valid_i(failed_valid_i),
      .set_node_i(place),
      .clear_valid_i(taken),
      .clear_node_i(next),
      .rotate_i(1'b0),
      .head_valid_o(done_valid_o),
      .head_node_o(next),
      .alone_o(alone),
      .empty_o(empty),
      .pending_o(waiting)
  );
  assign life_place = '{place, next};
  lut_ram_nr1w #(
      .WIDTH($bits(generation_t)),
      .DEPTH(N_QP),
      .READERS(2)
  ) u_lives (
      .clk_i,
      .write_i        (failed_valid_i && later),
      .write_address_i(place),
      .write_data_i   (failed_i.generation),
      .read_address_i (life_place),
      .read_data_o    (life)
  );

  always_comb begin
    done_o = '0;
    if (done_valid_o) begin
      done_o.tag.kind = TX_KIND_SEGMENT;
      done_o.tag.qpn = qpn_t'(next);
      done_o.tag.generation = life[1];
      done_o.tag.opcode = WQE_OPCODE_PUSH;
      done_o.status = CQE_STATUS_RETRY_EXC_ERR;
    end
  end

endmodule
