// SPDX-License-Identifier: BSD-2-Clause
// Joins the reasons to acknowledge into one pulse. A placed segment has it at once; the
// others wait for a free cycle. Were more to wait than fit, the sender's time-out would ask again.
`include "exrnic_assert.svh"

module rx_ack_request
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic  clk_i,
  input  logic  rst_ni,

  input  logic  placed_valid_i,
  input  node_t placed_node_i,
  input  logic  again_valid_i,
  input  node_t again_node_i,
  input  logic  again_sack_i,
  input  logic  refusal_valid_i,  // a refusal has begun, or ended
  input  node_t refusal_node_i,

  output logic  request_valid_o,
  output node_t request_node_o,
  output logic  request_sack_o,
  output logic  empty_o
);

  localparam int unsigned Depth = 8;
  typedef logic [$clog2(Depth):0] index_t;

  typedef struct packed {
    node_t node;
    logic  sack;
  } entry_t;

  entry_t entries [Depth];
  index_t put_q, get_q;
  logic refusal, refusal_empty;
  node_t refusal_node;
  logic full, put, get;
  entry_t put_entry, head;

  assign empty_o = put_q == get_q && refusal_empty;
  assign full    = put_q - get_q == index_t'(Depth);
  assign head    = entries[get_q[$clog2(Depth)-1:0]];
  assign get     = put_q != get_q && !placed_valid_i;
  assign put     = !full && (again_valid_i || refusal);
  assign put_entry = again_valid_i ? '{node: again_node_i, sack: again_sack_i}
                                     : '{node: refusal_node, sack: 1'b1};

  assign request_valid_o = placed_valid_i || get;
  assign request_node_o  = placed_valid_i ? placed_node_i : head.node;
  assign request_sack_o   = !placed_valid_i && head.sack;

  always_ff @(posedge clk_i) begin
    if (put) entries[put_q[$clog2(Depth)-1:0]] <= put_entry;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      put_q <= '0;
      get_q <= '0;
    end else begin
      if (put) put_q <= put_q + 1;
      if (get) get_q <= get_q + 1;
    end
  end

  // Several may begin and end before there is room for the first.
  /* verilator lint_off UNUSEDSIGNAL */  // nothing else is kept of a node
  node_t refusal_next;
  /* verilator lint_on UNUSEDSIGNAL */

  rx_node_queue u_refusal (
    .clk_i,
    .rst_ni,
    .set_valid_i (refusal_valid_i),
    .set_node_i  (refusal_node_i),
    .done_i      (put && !again_valid_i),
    .head_valid_o(refusal),
    .head_node_o (refusal_node),
    .next_node_o (refusal_next),
    .empty_o     (refusal_empty)
  );

  // ---- What is promised
  `EXRNIC_ALWAYS(has_room, put_q - get_q <= index_t'(Depth))

endmodule
