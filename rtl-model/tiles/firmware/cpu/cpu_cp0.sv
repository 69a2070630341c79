// SPDX-License-Identifier: BSD-2-Clause
// System control coprocessor: Status, Cause, EPC, BadVAddr, PRId. No MMU, and no protection between
// kernel and user mode: the bits of Status that say KU are kept, and do nothing.

module cpu_cp0
  import cpu_pkg::*;
(
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic [5:0] interrupt_i,  // levels: Cause.IP[7:2]

    input  reg_t  read_register_i,
    output word_t read_value_o,

    // At the end of an instruction, in program order; at most one of these.
    input cp0_op_e    op_i,
    input reg_t       write_register_i,
    input word_t      write_value_i,
    input logic       take_i,  // an exception
    input exception_t exception_i,
    input word_t      pc_i,
    input logic       delay_slot_i,

    output logic interrupt_o  // enabled and asked for
);

  logic [7:0] mask_q;
  logic [5:0] mode_q;  // KUo IEo KUp IEp KUc IEc
  logic [1:0] software_q;
  logic [5:0] interrupt_q;
  exc_code_e code_q;
  logic [1:0] coprocessor_q;
  logic delay_slot_q;
  word_t epc_q, bad_address_q;

  logic [7:0] pending;
  assign pending     = {interrupt_q, software_q};
  assign interrupt_o = mode_q[0] && |(pending & mask_q);

  always_comb begin
    unique case (read_register_i)
      CP0_BADVADDR: read_value_o = bad_address_q;
      CP0_STATUS: read_value_o = {16'h0, mask_q, 2'b00, mode_q};
      CP0_CAUSE:
      read_value_o = {delay_slot_q, 1'b0, coprocessor_q, 12'h0, pending, 1'b0, code_q, 2'b00};
      CP0_EPC: read_value_o = epc_q;
      CP0_PRID: read_value_o = PRID;
      default: read_value_o = '0;
    endcase
  end

  always_ff @(posedge clk_i) interrupt_q <= interrupt_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mask_q     <= '0;
      mode_q     <= '0;
      software_q <= '0;
    end else if (take_i) begin
      mode_q <= {mode_q[3:0], 2'b00};
    end else if (op_i == CP0_RFE) begin
      mode_q <= {mode_q[5:4], mode_q[5:2]};
    end else if (op_i == CP0_WRITE) begin
      unique case (write_register_i)
        CP0_STATUS: {mask_q, mode_q} <= {write_value_i[15:8], write_value_i[5:0]};
        CP0_CAUSE: software_q <= write_value_i[9:8];
        default: ;
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      code_q        <= EXC_INT;
      coprocessor_q <= '0;
      delay_slot_q  <= 1'b0;
      epc_q         <= '0;
      bad_address_q <= '0;
    end else if (take_i) begin
      code_q        <= exception_i.code;
      coprocessor_q <= exception_i.coprocessor;
      delay_slot_q  <= delay_slot_i;
      epc_q         <= delay_slot_i ? pc_i - 32'd4 : pc_i;  // the branch is done again
      if (exception_i.code inside {EXC_ADEL, EXC_ADES}) bad_address_q <= exception_i.address;
    end
  end

  logic unused;
  assign unused = ^{write_value_i[31:16], write_value_i[7:6], exception_i.valid};

endmodule
