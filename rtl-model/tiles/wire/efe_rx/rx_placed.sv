// SPDX-License-Identifier: BSD-2-Clause
// How far the segments of each peer are placed.

module rx_placed
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic        clk_i,

  input  logic        placed_valid_i,
  input  node_t       placed_node_i,
  input  logic [15:0] placed_session_i,
  input  logic [31:0] placed_seq_i,

  input  node_t       query_node_i,
  input  logic [15:0] query_session_i,  // current one of that peer
  output logic [31:0] query_next_o
);

  // Segments of an old session may still be placed when a new one has begun: they do not count.
  typedef struct packed {
    logic [15:0] session;
    logic [31:0] next;
  } placed_t;

  placed_t placed [MAX_NODE];

  placed_t query_placed;
  assign query_placed = placed[query_node_i];
  assign query_next_o = query_placed.session == query_session_i ? query_placed.next
                                                                : 32'(INITIAL_SEQ);

  always_ff @(posedge clk_i) begin
    if (placed_valid_i) begin
      placed[placed_node_i] <= '{session: placed_session_i, next: placed_seq_i + 1};
    end
  end

endmodule
