// SPDX-License-Identifier: BSD-2-Clause
// How far the segments of each peer are placed, and how much of that may be acknowledged.

module rx_placed
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        placed_valid_i,
  input  node_t       placed_node_i,
  input  logic [15:0] placed_session_i,
  input  logic [31:0] placed_seq_i,

  // A held node is not acknowledged beyond the first sequence number that was refused, until
  // all its terminate messages are dealt with.
  input  logic        hold_set_valid_i,
  input  node_t       hold_set_node_i,
  input  logic [31:0] hold_set_seq_i,
  input  logic        hold_clear_valid_i,
  input  node_t       hold_clear_node_i,
  input  logic        adopt_valid_i,  // a new session has no hold
  input  node_t       adopt_node_i,

  input  node_t       query_node_i,
  input  logic [15:0] query_session_i,  // current one of that peer
  output logic [31:0] query_ack_o,
  output logic [7:0]  query_beyond_o
);

  // Segments of an old session may still be placed when a new one has begun: they do not count.
  typedef struct packed {
    logic [15:0] session;
    logic [31:0] next;
  } placed_t;

  placed_t placed [MAX_NODE];
  logic [31:0] hold_seq [MAX_NODE];
  logic [MAX_NODE-1:0] held_q;

  placed_t query_placed;
  logic [31:0] next;
  logic beyond;  // placed beyond the hold

  // A hold that is set while the one before it is cleared starts anew.
  logic first;
  assign first = hold_set_valid_i && (!held_q[hold_set_node_i] ||
                                      (hold_clear_valid_i && hold_clear_node_i == hold_set_node_i));

  assign query_placed = placed[query_node_i];
  assign next   = query_placed.session == query_session_i ? query_placed.next : 32'(INITIAL_SEQ);
  assign beyond = signed'(hold_seq[query_node_i] - next) < 0;
  assign query_ack_o = held_q[query_node_i] && beyond ? hold_seq[query_node_i] : next;
  assign query_beyond_o = 8'(next - query_ack_o);  // no more than the peer has slots

  always_ff @(posedge clk_i) begin
    if (placed_valid_i) begin
      placed[placed_node_i] <= '{session: placed_session_i, next: placed_seq_i + 1};
    end
    if (first) hold_seq[hold_set_node_i] <= hold_set_seq_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held_q <= '0;
    end else begin
      if (hold_clear_valid_i) held_q[hold_clear_node_i] <= 1'b0;
      if (hold_set_valid_i) held_q[hold_set_node_i] <= 1'b1;
      if (adopt_valid_i) held_q[adopt_node_i] <= 1'b0;
    end
  end

endmodule
