// SPDX-License-Identifier: BSD-2-Clause
// Memory of the processor: one port for instructions, one for data. Answers in the next cycle.

module processor_memory #(
    parameter int unsigned BYTES = 65536
) (
    input logic clk_i,

    input  logic                         inst_read_i,
    input  logic [$clog2(BYTES)-1:2]     inst_word_i,
    output logic [31:0]                  inst_data_o,  // stays until the next read

    input  logic                         data_valid_i,
    input  logic [3:0]                   data_strobe_i,  // bytes to write; 0: read
    input  logic [$clog2(BYTES)-1:2]     data_word_i,
    input  logic [31:0]                  data_i,
    output logic [31:0]                  data_o
);

  logic [31:0] memory_q[BYTES/4];

  always_ff @(posedge clk_i) begin
    if (inst_read_i) inst_data_o <= memory_q[inst_word_i];
  end
  always_ff @(posedge clk_i) begin
    if (data_valid_i) begin
      data_o <= memory_q[data_word_i];
      for (int unsigned i = 0; i < 4; i++)
        if (data_strobe_i[i]) memory_q[data_word_i][8*i+:8] <= data_i[8*i+:8];
    end
  end

endmodule
