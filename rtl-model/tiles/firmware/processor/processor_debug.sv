// SPDX-License-Identifier: BSD-2-Clause
// The debugger's registers (FW_DEBUG*): halt, step, go on, and execute single instructions, by which
// everything else is read and written.

module processor_debug
  import exrnic_pkg::*;
  import cpu_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input  logic        write_i,  // of a whole word
    input  logic [15:0] address_i,
    input  logic [31:0] data_i,
    output logic        known_o,  // address_i is one of these
    output logic [31:0] value_o,  // what a read gives

    output debug_t debug_o,
    output logic   wakes_o,  // the processor has to halt
    output logic   busy_o,
    input  logic   halted_i,
    input  word_t  halted_pc_i,
    input  logic   done_i,
    input  logic   failed_i,
    input  word_t  value_i
);

  logic halt_q, break_q, was_halted_q, resume_q, inject_q, busy_q, failed_q;
  word_t pc_q, instruction_q, value_q;
  logic to_control, resumes, injects;
  assign to_control = write_i && address_i == REG_FW_DEBUG;
  assign resumes = to_control && data_i[FW_DEBUG_RESUME] && halted_i && !busy_q;
  assign injects = write_i && address_i == REG_FW_DEBUG_INSTRUCTION && halted_i && !busy_q &&
      !resume_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      halt_q       <= 1'b0;
      break_q      <= 1'b0;
      was_halted_q <= 1'b0;
      resume_q     <= 1'b0;
      inject_q     <= 1'b0;
      busy_q       <= 1'b0;
      failed_q     <= 1'b0;
    end else begin
      if (to_control) begin
        halt_q  <= data_i[FW_DEBUG_HALT];
        break_q <= data_i[FW_DEBUG_STOP_AT_BREAK];
      end
      was_halted_q <= halted_i;
      resume_q     <= resumes;
      inject_q     <= injects;
      if (injects) busy_q <= 1'b1;
      else if (done_i || !halted_i) busy_q <= 1'b0;
      if (done_i) failed_q <= failed_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (halted_i && !was_halted_q) pc_q <= halted_pc_i;
    else if (write_i && address_i == REG_FW_DEBUG_PC) pc_q <= data_i;
    if (injects) instruction_q <= data_i;
    if (done_i) value_q <= value_i;
  end

  always_comb begin
    debug_o               = '0;
    debug_o.halt          = halt_q;
    debug_o.stop_at_break = break_q;
    debug_o.resume        = resume_q;
    debug_o.pc            = pc_q;
    debug_o.inject        = inject_q;
    debug_o.instruction   = instruction_q;
  end
  assign wakes_o = (halt_q && !halted_i) || resume_q;
  assign busy_o  = busy_q;

  always_comb begin
    known_o = 1'b1;
    unique case (address_i)
      REG_FW_DEBUG: value_o = 32'({break_q, halt_q});
      REG_FW_DEBUG_STATUS:
        value_o = 32'(halted_i && !resume_q) << FW_DEBUG_STATUS_HALTED |
                  32'(busy_q) << FW_DEBUG_STATUS_BUSY | 32'(failed_q) << FW_DEBUG_STATUS_FAILED;
      REG_FW_DEBUG_PC: value_o = pc_q;
      REG_FW_DEBUG_VALUE: value_o = value_q;
      default: begin
        known_o = 1'b0;
        value_o = '1;
      end
    endcase
  end

endmodule
