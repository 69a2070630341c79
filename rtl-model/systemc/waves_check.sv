// SPDX-License-Identifier: BSD-2-Clause
// A core in miniature for waves_test: two tiles, one of which has a block with a part.
/* verilator lint_off DECLFILENAME */

module waves_counter (
    input  logic        clk_i,
    input  logic [31:0] step_i,
    output logic [31:0] count_o
);
  always_ff @(posedge clk_i) count_o <= count_o + step_i;
endmodule

module waves_block (
    input  logic        clk_i,
    input  logic [31:0] step_i,
    output logic [31:0] count_o
);
  waves_counter u_part (.*);
endmodule

module waves_tile (
    input  logic        clk_i,
    input  logic [31:0] step_i,
    output logic [31:0] count_o
);
  waves_block u_block (.*);
endmodule

module waves_core (
    input  logic        clk_i,
    input  logic [31:0] step_i,
    output logic [31:0] count_o
);
  logic [31:0] count_first;
  waves_counter u_first (
      .clk_i,
      .step_i,
      .count_o(count_first)
  );
  waves_tile u_second (
      .clk_i,
      .step_i(count_first),
      .count_o
  );
endmodule

module waves_check (
    input  logic        clk_i,
    input  logic [31:0] step_i,
    output logic [31:0] count_o
);
  waves_core u_core (.*);
endmodule
