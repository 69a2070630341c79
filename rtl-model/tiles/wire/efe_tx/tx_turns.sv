// SPDX-License-Identifier: BSD-2-Clause
// Which lane sends its next new frame: lanes that have something to send take turns. A turn is
// worth as many bytes as the greatest frame; what a lane sends above that is taken off its next
// one (deficit round robin). A lane that could send nothing now is passed over.

`include "exrnic_assert.svh"

module tx_turns
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,

  input  logic   submit_valid_i,
  input  lane_t  submit_lane_i,

  output logic   valid_o,    // this lane has something to send
  output lane_t  lane_o,
  input  logic   able_i,     // and nothing that may last keeps it from sending it
  output logic   its_turn_o,
  output logic   alone_o,    // no other lane has

  input  logic   busy_i,     // a frame of lane_o is being handled: it stays
  input  logic   sent_i,     // a slot of lane_o has left the queue,
  input  logic   sent_last_i,   // the last one of this lane
  input  chunk_t sent_bytes_i,  // with so many bytes

  output logic   init_done_o
);

  localparam int unsigned Turn = MTU_MAX + HEADER_UNTAGGED_BYTES;
  typedef logic [$clog2(2*Turn)-1:0] bytes_t;

  bytes_t debt;  // what the last turn of lane_o has taken too much
  bytes_t used, used_new, used_q, debt_new;
  logic begun_q;
  logic rotate;
  logic [$clog2(Lanes):0] init_q;
  /* verilator lint_off UNUSEDSIGNAL */  // the order matters here, not the set
  logic [Lanes-1:0] pending;
  logic empty;
  /* verilator lint_on UNUSEDSIGNAL */

  assign init_done_o = init_q[$clog2(Lanes)];
  assign used        = begun_q ? used_q : debt;
  assign its_turn_o  = valid_o && used < bytes_t'(Turn);
  assign used_new    = used + bytes_t'(sent_bytes_i);
  assign debt_new    = used_new > bytes_t'(Turn) ? used_new - bytes_t'(Turn) : '0;

  // One that is alone need not be passed over: its next turn begins where it stands.
  assign rotate = valid_o && !busy_i && !submit_valid_i && !alone_o && (!able_i || !its_turn_o);

  lut_ram_nr1w #(
    .WIDTH($bits(bytes_t)),
    .DEPTH(Lanes)
  ) u_debts (
    .clk_i,
    .write_i        (!init_done_o || sent_i),
    .write_address_i(init_done_o ? lane_o : init_q[$clog2(Lanes)-1:0]),
    .write_data_i   (init_done_o ? debt_new : '0),
    .read_address_i ('{lane_o}),
    .read_data_o    ('{debt})
  );

  always_ff @(posedge clk_i) begin
    if (sent_i) used_q <= used_new;
    else if (!begun_q) used_q <= used;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
      init_q  <= '0;
    end else begin
      if (!init_done_o) init_q <= init_q + 1;
      // A turn ends with the queue of its lane, too.
      begun_q <= its_turn_o && !rotate && !(sent_i && sent_last_i);
    end
  end

  node_queue #(
    .N(Lanes)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .set_valid_i  (submit_valid_i),
    .set_node_i   (submit_lane_i),
    .clear_valid_i(sent_i && sent_last_i),
    .clear_node_i (lane_o),
    .rotate_i     (rotate),
    .head_valid_o (valid_o),
    .head_node_o  (lane_o),
    .alone_o,
    .empty_o      (empty),
    .pending_o    (pending)
  );

  // ---- What is promised
  `EXRNIC_ALWAYS(in_its_turn, !sent_i || its_turn_o)
  `EXRNIC_ALWAYS(next_turn_pays, !valid_o || !init_done_o || 32'(used) < 2 * Turn)

endmodule
