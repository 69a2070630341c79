// SPDX-License-Identifier: BSD-2-Clause
// Requests and messages of peers that wait for firmware, in the order in which they came. The oldest one is read
// word by word.

module punt_queue
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned DEPTH = 16,  // a power of two
    localparam int unsigned WordBits = $clog2(FW_PUNT_WORDS)
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic empty_i,  // nobody takes them: what is there goes away

    input  logic  push_valid_i,
    output logic  push_ready_o,
    input  punt_t push_i,
    input  node_t node_i,
    output logic  crowded_o,  // full, and half of it or more are messages of that node

    output logic [$clog2(DEPTH):0] count_o,
    input  logic                   pop_i,
    input  logic                   read_i,
    input  logic [WordBits-1:0]    word_index_i,
    output logic [31:0]            word_o  // with read_i: of the oldest one
);

  localparam int unsigned PlaceBits = $clog2(DEPTH);
  localparam int unsigned PayloadWords = ATOMIC_REQUEST_BYTES / 4;
  logic [PlaceBits:0] put_q, get_q;
  punt_t queue_q[DEPTH];

  logic push;
  assign count_o = put_q - get_q;
  assign push_ready_o = !count_o[PlaceBits] && !empty_i;
  assign push = push_valid_i && push_ready_o;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      put_q <= '0;
      get_q <= '0;
    end else if (empty_i) begin
      get_q <= put_q;
    end else begin
      if (push) put_q <= put_q + 1'b1;
      if (pop_i && count_o != '0) get_q <= get_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (push) queue_q[put_q[PlaceBits-1:0]] <= push_i;
  end

  logic [DEPTH-1:0] of_node;
  always_comb begin
    for (int unsigned i = 0; i < DEPTH; i++)
      of_node[i] = queue_q[i].message && queue_q[i].generation == 16'(node_i);
  end
  assign crowded_o = count_o[PlaceBits] && $countones(of_node) >= DEPTH / 2;

  /* verilator lint_off UNUSEDSIGNAL */  // it is no atomic
  punt_t oldest;
  /* verilator lint_on UNUSEDSIGNAL */
  fw_punt_kind_e kind;
  always_comb begin
    {oldest, word_o} = '0;
    kind = FW_PUNT_KIND_READ;
    if (read_i) begin
      oldest = queue_q[get_q[PlaceBits-1:0]];
      if (oldest.message) kind = FW_PUNT_KIND_MESSAGE;
      for (int unsigned i = 0; i < PayloadWords; i++)
        if (word_index_i == WordBits'(32'(FW_PUNT_WORD_PAYLOAD) + i))
          word_o = oldest.payload[32*(PayloadWords-1-i)+:32];
      if (word_index_i == FW_PUNT_WORD_REQUEST)
        word_o = 32'(kind) | 32'(oldest.qpn) << FW_REQUEST_NUMBER_SHIFT |
                 32'(oldest.generation) << FW_REQUEST_GENERATION_SHIFT;
      if (word_index_i == FW_PUNT_WORD_MSN) word_o = oldest.msn;
      if (word_index_i == FW_PUNT_WORD_PD) word_o = 32'(oldest.pd);
    end
  end

endmodule
