// SPDX-License-Identifier: BSD-2-Clause
// Arithmetic, logic and shifts: one cycle, no state.

module cpu_alu
  import cpu_pkg::*;
(
    input  alu_op_e op_i,
    input  word_t   a_i,  // shifts: the amount
    input  word_t   b_i,
    output word_t   result_o,
    output logic    overflow_o  // of a signed addition or subtraction
);

  word_t operand;
  word_t sum;
  logic subtract;
  assign subtract = op_i == ALU_SUB;
  assign operand  = subtract ? ~b_i : b_i;
  assign sum      = a_i + operand + 32'(subtract);
  assign overflow_o = op_i inside {ALU_ADD, ALU_SUB} && a_i[31] == operand[31] && sum[31] != a_i[31];

  always_comb begin
    unique case (op_i)
      ALU_ADD, ALU_SUB: result_o = sum;
      ALU_AND: result_o = a_i & b_i;
      ALU_OR: result_o = a_i | b_i;
      ALU_XOR: result_o = a_i ^ b_i;
      ALU_NOR: result_o = ~(a_i | b_i);
      ALU_SLT: result_o = 32'($signed(a_i) < $signed(b_i));
      ALU_SLTU: result_o = 32'(a_i < b_i);
      ALU_SLL: result_o = b_i << a_i[4:0];
      ALU_SRL: result_o = b_i >> a_i[4:0];
      ALU_SRA: result_o = word_t'($signed(b_i) >>> a_i[4:0]);
      default: result_o = sum;
    endcase
  end

endmodule
