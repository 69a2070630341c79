// SPDX-License-Identifier: BSD-2-Clause
// What one instruction asks for: the whole MIPS I instruction set, and nothing else.

module cpu_decode
  import cpu_pkg::*;
(
    input  logic     valid_i,  // else it asks for nothing
    input  word_t    instruction_i,
    output decoded_t decoded_o
);

  logic [5:0] opcode, funct;
  reg_t rs, rt, rd;
  word_t sign_imm, zero_imm;
  assign opcode   = instruction_i[31:26];
  assign rs       = instruction_i[25:21];
  assign rt       = instruction_i[20:16];
  assign rd       = instruction_i[15:11];
  assign funct    = instruction_i[5:0];
  assign sign_imm = {{16{instruction_i[15]}}, instruction_i[15:0]};
  assign zero_imm = {16'h0, instruction_i[15:0]};

  function automatic decoded_t fails(exc_code_e code, logic [1:0] coprocessor);
    decoded_t d = '0;
    d.exception.valid = 1'b1;
    d.exception.code = code;
    d.exception.coprocessor = coprocessor;
    return d;
  endfunction

  function automatic decoded_t register_op(alu_op_e alu, logic trap);
    decoded_t d = '0;
    d.rs = rs;
    d.rt = rt;
    d.rd = rd;
    d.alu = alu;
    d.trap_overflow = trap;
    return d;
  endfunction

  // Shifts by a constant take it as the first operand.
  function automatic decoded_t shift_op(alu_op_e alu);
    decoded_t d = register_op(alu, 1'b0);
    d.rs = '0;
    d.use_shamt = 1'b1;
    d.imm = {27'h0, instruction_i[10:6]};
    return d;
  endfunction

  function automatic decoded_t immediate_op(alu_op_e alu, logic trap, word_t imm);
    decoded_t d = '0;
    d.rs = rs;
    d.rd = rt;
    d.use_imm = 1'b1;
    d.imm = imm;
    d.alu = alu;
    d.trap_overflow = trap;
    return d;
  endfunction

  function automatic decoded_t branch_op(branch_e branch, logic link, reg_t link_register);
    decoded_t d = '0;
    d.rs = branch == BRANCH_JUMP ? '0 : rs;
    d.rt = branch inside {BRANCH_EQ, BRANCH_NE} ? rt : '0;
    d.rd = link ? link_register : '0;
    d.branch = branch;
    d.result = FROM_LINK;
    return d;
  endfunction

  function automatic decoded_t muldiv_op(muldiv_op_e op);
    decoded_t d = '0;
    d.rs = rs;
    d.rt = op inside {MD_TO_HI, MD_TO_LO} ? '0 : rt;
    d.muldiv = op;
    return d;
  endfunction

  function automatic decoded_t move_from(result_e from);
    decoded_t d = '0;
    d.rd = rd;
    d.result = from;
    return d;
  endfunction

  function automatic decoded_t memory_op(logic store);
    decoded_t d = immediate_op(ALU_ADD, 1'b0, sign_imm);
    d.rd = store ? '0 : rt;
    d.size = mem_size_e'(opcode[2:0]);
    // A partial load keeps the other bytes of its register.
    d.rt = store || d.size inside {MEM_LEFT, MEM_RIGHT} ? rt : '0;
    d.load = !store;
    d.store = store;
    d.result = FROM_MEMORY;
    return d;
  endfunction

  function automatic decoded_t special();
    case (funct)
      6'd0: return shift_op(ALU_SLL);
      6'd2: return shift_op(ALU_SRL);
      6'd3: return shift_op(ALU_SRA);
      6'd4: return register_op(ALU_SLL, 1'b0);
      6'd6: return register_op(ALU_SRL, 1'b0);
      6'd7: return register_op(ALU_SRA, 1'b0);
      6'd8: return branch_op(BRANCH_REGISTER, 1'b0, '0);
      6'd9: return branch_op(BRANCH_REGISTER, 1'b1, rd);
      6'd12: return fails(EXC_SYS, '0);
      6'd13: return fails(EXC_BP, '0);
      6'd16: return move_from(FROM_HI);
      6'd17: return muldiv_op(MD_TO_HI);
      6'd18: return move_from(FROM_LO);
      6'd19: return muldiv_op(MD_TO_LO);
      6'd24: return muldiv_op(MD_MULT);
      6'd25: return muldiv_op(MD_MULTU);
      6'd26: return muldiv_op(MD_DIV);
      6'd27: return muldiv_op(MD_DIVU);
      6'd32: return register_op(ALU_ADD, 1'b1);
      6'd33: return register_op(ALU_ADD, 1'b0);
      6'd34: return register_op(ALU_SUB, 1'b1);
      6'd35: return register_op(ALU_SUB, 1'b0);
      6'd36: return register_op(ALU_AND, 1'b0);
      6'd37: return register_op(ALU_OR, 1'b0);
      6'd38: return register_op(ALU_XOR, 1'b0);
      6'd39: return register_op(ALU_NOR, 1'b0);
      6'd42: return register_op(ALU_SLT, 1'b0);
      6'd43: return register_op(ALU_SLTU, 1'b0);
      default: return fails(EXC_RI, '0);
    endcase
  endfunction

  function automatic decoded_t regimm();
    case (rt)
      5'd0: return branch_op(BRANCH_LTZ, 1'b0, '0);
      5'd1: return branch_op(BRANCH_GEZ, 1'b0, '0);
      5'd16: return branch_op(BRANCH_LTZ, 1'b1, 5'd31);
      5'd17: return branch_op(BRANCH_GEZ, 1'b1, 5'd31);
      default: return fails(EXC_RI, '0);
    endcase
  endfunction

  function automatic decoded_t system_coprocessor();
    decoded_t d = '0;
    d.cp0_register = rd;
    if (rs == 5'd0) begin  // MFC0
      d.rd = rt;
      d.result = FROM_CP0;
    end else if (rs == 5'd4) begin  // MTC0
      d.rt = rt;
      d.cp0 = CP0_WRITE;
    end else if (rs == 5'd16 && funct == 6'd16) begin
      d.cp0 = CP0_RFE;
    end else begin
      d = fails(EXC_RI, '0);
    end
    return d;
  endfunction

  always_comb begin
    decoded_o = '0;
    if (valid_i) begin
      unique case (opcode)
        6'd0: decoded_o = special();
        6'd1: decoded_o = regimm();
        6'd2: decoded_o = branch_op(BRANCH_JUMP, 1'b0, '0);
        6'd3: decoded_o = branch_op(BRANCH_JUMP, 1'b1, 5'd31);
        6'd4: decoded_o = branch_op(BRANCH_EQ, 1'b0, '0);
        6'd5: decoded_o = branch_op(BRANCH_NE, 1'b0, '0);
        6'd6: decoded_o = branch_op(BRANCH_LEZ, 1'b0, '0);
        6'd7: decoded_o = branch_op(BRANCH_GTZ, 1'b0, '0);
        6'd8: decoded_o = immediate_op(ALU_ADD, 1'b1, sign_imm);
        6'd9: decoded_o = immediate_op(ALU_ADD, 1'b0, sign_imm);
        6'd10: decoded_o = immediate_op(ALU_SLT, 1'b0, sign_imm);
        6'd11: decoded_o = immediate_op(ALU_SLTU, 1'b0, sign_imm);
        6'd12: decoded_o = immediate_op(ALU_AND, 1'b0, zero_imm);
        6'd13: decoded_o = immediate_op(ALU_OR, 1'b0, zero_imm);
        6'd14: decoded_o = immediate_op(ALU_XOR, 1'b0, zero_imm);
        6'd15: begin  // LUI: 0 | imm << 16
          decoded_o = immediate_op(ALU_OR, 1'b0, {instruction_i[15:0], 16'h0});
          decoded_o.rs = '0;
        end
        6'd16: decoded_o = system_coprocessor();
        6'd32, 6'd33, 6'd34, 6'd35, 6'd36, 6'd37, 6'd38: decoded_o = memory_op(1'b0);
        6'd40, 6'd41, 6'd42, 6'd43, 6'd46: decoded_o = memory_op(1'b1);
        6'd17, 6'd18, 6'd19,  // operations, loads and stores of coprocessors 1 to 3
        6'd49, 6'd50, 6'd51, 6'd57, 6'd58, 6'd59:
          decoded_o = fails(EXC_CPU, opcode[1:0]);
        default: decoded_o = fails(EXC_RI, '0);
      endcase
    end
  end

endmodule
