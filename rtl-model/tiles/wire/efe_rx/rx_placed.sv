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
  output logic [31:0] query_next_o,

  input  logic        init_i,
  input  node_t       init_node_i
);

  // Segments of an old session may still be placed when a new one has begun: they do not count.
  typedef struct packed {
    logic [15:0] session;
    logic [31:0] next;
  } placed_t;

  // Of session 0, which nobody has, nothing is placed.
  placed_t query_placed [1];
  lut_ram_nr1w #(
    .WIDTH($bits(placed_t)),
    .DEPTH(N_NODE)
  ) u_placed (
    .clk_i,
    .write_i        (init_i || placed_valid_i),
    .write_address_i(init_i ? init_node_i : placed_node_i),
    .write_data_i   (init_i ? '0 : {placed_session_i, placed_seq_i + 32'd1}),
    .read_address_i ('{query_node_i}),
    .read_data_o    (query_placed)
  );
  assign query_next_o = query_placed[0].session == query_session_i ? query_placed[0].next
                                                                   : 32'(INITIAL_SEQ);

endmodule
