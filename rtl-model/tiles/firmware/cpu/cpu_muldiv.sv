// SPDX-License-Identifier: BSD-2-Clause
// HI and LO with multiplication (two cycles) and division (33), beside the pipeline: an instruction
// that wants HI or LO waits while busy_o.
//
// Division by zero: LO is 1 for a negative signed dividend, else -1; HI is the dividend. The most
// negative number by -1: LO is the dividend, HI zero. (The R3000 leaves both undefined.)

module cpu_muldiv
  import cpu_pkg::*;
(
    input  logic       clk_i,
    input  logic       rst_ni,
    input  muldiv_op_e op_i,    // MD_NONE: nothing; only while not busy
    input  word_t      a_i,
    input  word_t      b_i,
    output logic       busy_o,
    output word_t      hi_o,
    output word_t      lo_o
);

  typedef enum logic [1:0] {IDLE, MULTIPLY, DIVIDE} state_e;
  state_e state_q;
  word_t hi_q, lo_q;
  logic signed [32:0] factor_a_q, factor_b_q;
  word_t divisor_q;
  logic negate_quotient_q, negate_remainder_q;
  logic [5:0] steps_q;

  assign busy_o = state_q != IDLE;
  assign hi_o   = hi_q;
  assign lo_o   = lo_q;

  // Multiplication of 33 bits serves signed and unsigned numbers.
  logic signed_op;
  logic signed [65:0] product;
  assign signed_op = op_i inside {MD_MULT, MD_DIV};
  always_comb begin
    product = '0;
    if (state_q == MULTIPLY) product = factor_a_q * factor_b_q;
  end

  // Restoring division, a bit a cycle: HI is the remainder so far, LO what is left of the dividend
  // with the quotient moving in from the right.
  logic [32:0] shifted, difference;
  assign shifted    = {hi_q, lo_q[31]};
  assign difference = shifted - {1'b0, divisor_q};

  function automatic word_t magnitude(word_t value, logic negative);
    return negative ? -value : value;
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= IDLE;
      hi_q    <= '0;
      lo_q    <= '0;
    end else begin
      unique case (state_q)
        IDLE: begin
          unique case (op_i)
            MD_TO_HI: hi_q <= a_i;
            MD_TO_LO: lo_q <= a_i;
            MD_MULT, MD_MULTU: begin
              factor_a_q <= {signed_op && a_i[31], a_i};
              factor_b_q <= {signed_op && b_i[31], b_i};
              state_q    <= MULTIPLY;
            end
            MD_DIV, MD_DIVU: begin
              hi_q               <= '0;
              lo_q               <= magnitude(a_i, signed_op && a_i[31]);
              divisor_q          <= magnitude(b_i, signed_op && b_i[31]);
              negate_quotient_q  <= signed_op && a_i[31] != b_i[31];
              negate_remainder_q <= signed_op && a_i[31];
              steps_q            <= 6'd32;
              state_q            <= DIVIDE;
            end
            default: ;
          endcase
        end
        MULTIPLY: begin
          {hi_q, lo_q} <= product[63:0];
          state_q      <= IDLE;
        end
        DIVIDE: begin
          if (steps_q != '0) begin
            hi_q    <= difference[32] ? shifted[31:0] : difference[31:0];
            lo_q    <= {lo_q[30:0], !difference[32]};
            steps_q <= steps_q - 1'b1;
          end else begin
            hi_q    <= magnitude(hi_q, negate_remainder_q);
            lo_q    <= magnitude(lo_q, negate_quotient_q);
            state_q <= IDLE;
          end
        end
        default: state_q <= IDLE;
      endcase
    end
  end

  logic unused;
  assign unused = ^product[65:64];

endmodule
