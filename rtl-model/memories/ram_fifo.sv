// SPDX-License-Identifier: BSD-2-Clause
// A queue in a 1R1W memory whose head is there without asking: from the cycle behind its push, if it is alone,
// or behind the pop of the one before it. A push and a pop in each cycle.
`include "exrnic_assert.svh"

module ram_fifo #(
    parameter int unsigned WIDTH = 8,
    parameter int unsigned DEPTH = 256  // a power of two
) (
    input logic clk_i,
    input logic rst_ni,

    input logic             push_i,  // not on a full queue, but with a pop
    input logic [WIDTH-1:0] push_data_i,
    input logic             pop_i,   // not on an empty queue

    output logic [WIDTH-1:0]       head_o,  // of a queue that is not empty
    output logic [$clog2(DEPTH):0] count_o
);

  localparam int unsigned PlaceBits = $clog2(DEPTH);
  typedef logic [PlaceBits-1:0] place_t;
  if (DEPTH < 2 || 2 ** PlaceBits != DEPTH) begin : gen_refuse_depth
    $error("DEPTH is %0d, a power of two is needed", DEPTH);
  end

  place_t read_q, read, write_q;
  assign read = read_q + place_t'(pop_i);

  // What is pushed and is the head at once comes past the memory, whose answer it would be too early for.
  logic becomes_head, passed_q;
  logic [WIDTH-1:0] passed_data_q, stored;
  assign becomes_head = push_i && count_o == (PlaceBits + 1)'(pop_i);
  assign head_o = passed_q ? passed_data_q : stored;

  ram_1r1w #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) u_words (
      .clk_i,
      .write_i        (push_i),
      .write_address_i(write_q),
      .write_data_i   (push_data_i),
      .read_i         (pop_i && !becomes_head),
      .read_address_i (read),
      .read_data_o    (stored)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {read_q, write_q, count_o} <= '0;
      passed_q <= 1'b0;
    end else begin
      read_q  <= read;
      write_q <= write_q + place_t'(push_i);
      count_o <= count_o + (PlaceBits + 1)'(push_i) - (PlaceBits + 1)'(pop_i);
      if (becomes_head || pop_i) passed_q <= becomes_head;
    end
  end
  always_ff @(posedge clk_i) if (becomes_head) passed_data_q <= push_data_i;

  // ---- What is promised
  `EXRNIC_ALWAYS(has_room, !push_i || pop_i || 32'(count_o) < DEPTH)
  `EXRNIC_ALWAYS(has_a_head, !pop_i || count_o != '0)

endmodule
