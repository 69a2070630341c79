// SPDX-License-Identifier: BSD-2-Clause
// Memory with byte enables: one write port, one read port whose output stays until the next read.

module tx_bank
  import exrnic_core_pkg::*;
#(
  parameter int unsigned Words = 1024
) (
  input  logic                     clk_i,

  input  logic                     write_i,
  input  logic [$clog2(Words)-1:0] write_word_i,
  input  logic [DATA_BYTES-1:0]    write_bytes_i,
  input  data_t                    write_data_i,

  input  logic                     read_i,
  input  logic [$clog2(Words)-1:0] read_word_i,
  output data_t                    read_data_o
);

  data_t memory [Words];

  // A read sees what was there before the write of the same cycle. Nobody else looks at the memory,
  // so it is written in place: Verilator keeps a delayed copy of every byte otherwise.
  always_ff @(posedge clk_i) begin
    if (read_i) read_data_o <= memory[read_word_i];
    if (write_i) begin
      for (int unsigned b = 0; b < DATA_BYTES; b++) begin
        /* verilator lint_off BLKSEQ */
        if (write_bytes_i[b]) memory[write_word_i][8*b+:8] = write_data_i[8*b+:8];
        /* verilator lint_on BLKSEQ */
      end
    end
  end

endmodule
