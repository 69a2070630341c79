// SPDX-License-Identifier: BSD-2-Clause
// The on-chip processor: MIPS I, little-endian, four stages with every result forwarded. See
// README.md.
//
//   fetch    the address goes to instruction memory
//   decode   registers, branches
//   execute  arithmetic; the address of a load or store goes out
//   memory   the answer; exceptions are taken, results written: here instructions end, in order

module cpu
  import cpu_pkg::*;
(
    input logic       clk_i,
    input logic       rst_ni,
    input logic [5:0] interrupt_i,  // levels

    // Instructions: the answer is there in the next cycle and stays until the next read.
    output logic  inst_read_o,
    output word_t inst_address_o,  // physical, aligned
    input  word_t inst_data_i,
    input  logic  inst_error_i,    // nothing is there

    // Data: a pulse, answered by a pulse in one of the next cycles; one at a time.
    output logic       data_valid_o,
    output logic       data_write_o,
    output word_t      data_address_o,  // physical, aligned
    output word_t      data_wdata_o,
    output logic [3:0] data_strobe_o,   // bytes to write
    input  logic       data_done_i,
    input  word_t      data_rdata_i,
    input  logic       data_error_i,

    // Debugging: see README.md. While it is halted, instructions can be given to it one at a time.
    input  debug_t debug_i,
    output logic   halted_o,
    output word_t  halted_pc_o,    // of the next instruction
    output logic   inject_done_o,  // pulse: the given instruction has ended
    output logic   inject_failed_o,  // ...with an exception, which nobody takes
    output word_t  inject_value_o,   // ...with this result

    output retire_t retire_o
);

  logic flush;  // the instruction in the memory stage ends by an exception
  logic decode_advance, execute_advance, memory_advance;
  logic halted_q /*verilator public_flat_rd*/;
  logic stop, halts;  // the instruction in the decode stage waits for the debugger

  // ---- Fetch

  word_t fetch_pc_q, fetch_pc;
  logic branch_taken;
  word_t branch_target;
  assign fetch_pc       = flush ? EXCEPTION_PC : fetch_pc_q;
  assign inst_read_o    = (flush || decode_advance) && !halted_q;
  assign inst_address_o = fetch_pc & PHYSICAL_MASK & ~32'h3;

  // The instruction behind a branch is on its way when the branch is decoded: the delay slot.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fetch_pc_q <= RESET_PC;
    else if (debug_i.resume && halted_q) fetch_pc_q <= debug_i.pc;
    else if (inst_read_o) fetch_pc_q <= branch_taken && !flush ? branch_target : fetch_pc + 32'd4;
  end

  // ---- Decode

  typedef struct packed {
    logic  valid;
    word_t pc;
    logic  delay_slot;
  } decode_t;
  decode_t decode_q;
  decoded_t decoded, op;
  logic interrupt;
  word_t instruction;
  assign instruction = halted_q ? debug_i.instruction : inst_data_i;

  // It is looked at only when the instruction can go on.
  cpu_decode u_decode (
      .valid_i(decode_q.valid && execute_advance),
      .instruction_i(instruction),
      .decoded_o(decoded)
  );

  // What stands before the instruction's own exceptions.
  always_comb begin
    op = decoded;
    if (!halted_q && (interrupt || decode_q.pc[1:0] != '0 || inst_error_i)) begin
      op = '0;
      op.exception.valid = 1'b1;
      op.exception.address = decode_q.pc;
      op.exception.code = interrupt ? EXC_INT : decode_q.pc[1:0] != '0 ? EXC_ADEL : EXC_IBE;
    end
  end

  word_t registers_q[32];
  word_t rs_value, rt_value;
  reg_t memory_rd;  // written in this cycle; 0: none
  word_t memory_value;
  reg_t execute_rd;  // of the instruction in the execute stage
  word_t execute_value;

  function automatic word_t operand(reg_t number);
    if (number == '0) return '0;
    if (number == execute_rd) return execute_value;
    if (number == memory_rd) return memory_value;
    return registers_q[number];
  endfunction
  assign rs_value = operand(op.rs);
  assign rt_value = operand(op.rt);

  always_ff @(posedge clk_i) begin
    if (memory_rd != '0) registers_q[memory_rd] <= memory_value;
  end

  logic condition;
  always_comb begin
    unique case (op.branch)
      BRANCH_EQ: condition = rs_value == rt_value;
      BRANCH_NE: condition = rs_value != rt_value;
      BRANCH_LEZ: condition = $signed(rs_value) <= 0;
      BRANCH_GTZ: condition = $signed(rs_value) > 0;
      BRANCH_LTZ: condition = rs_value[31];
      BRANCH_GEZ: condition = !rs_value[31];
      BRANCH_JUMP, BRANCH_REGISTER: condition = 1'b1;
      default: condition = 1'b0;
    endcase
  end
  assign branch_taken = decode_q.valid && condition;
  word_t next_pc;
  assign next_pc = decode_q.pc + 32'd4;
  always_comb begin
    unique case (op.branch)
      BRANCH_JUMP: branch_target = {next_pc[31:28], instruction[25:0], 2'b00};
      BRANCH_REGISTER: branch_target = rs_value;
      default: branch_target = next_pc + {{14{instruction[15]}}, instruction[15:0], 2'b00};
    endcase
  end

  // A loaded value is there at the end of the memory stage; and what comes behind a write of a
  // system register sees it.
  logic wait_load, wait_cp0;
  assign decode_advance = execute_advance && !(decode_q.valid && (wait_load || wait_cp0 || stop));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      decode_q <= '0;
    end else if (inst_read_o) begin
      decode_q.valid      <= 1'b1;
      decode_q.pc         <= fetch_pc;
      decode_q.delay_slot <= !flush && decode_q.valid && op.branch != BRANCH_NONE;
    end else if (halts || halted_q) begin
      decode_q.valid <= halted_q && debug_i.inject;
    end
  end

  // ---- Execute

  typedef struct packed {
    logic     valid;
    word_t    pc;
    logic     delay_slot;
    word_t    instruction;
    decoded_t op;
    word_t    a;
    word_t    b;
    word_t    rt;
  } execute_t;
  execute_t execute_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      execute_q <= '0;
    end else if (flush) begin
      execute_q.valid <= 1'b0;
    end else if (execute_advance) begin
      execute_q.valid <= decode_q.valid && decode_advance;
      if (decode_q.valid && decode_advance) begin
        execute_q.pc          <= decode_q.pc;
        execute_q.delay_slot  <= decode_q.delay_slot;
        execute_q.instruction <= instruction;
        execute_q.op          <= op;
        execute_q.a           <= op.use_shamt ? op.imm : rs_value;
        execute_q.b           <= op.use_imm ? op.imm : rt_value;
        execute_q.rt          <= rt_value;
      end
    end
  end

  word_t sum, alu_result, hi, lo, cp0_value;
  logic overflow, muldiv_busy, misaligned, starts;
  assign sum = execute_q.a + execute_q.b;  // the address, apart from the slower result

  cpu_alu u_alu (
      .op_i(execute_q.op.alu),
      .a_i(execute_q.a),
      .b_i(execute_q.b),
      .result_o(alu_result),
      .overflow_o(overflow)
  );

  cpu_muldiv u_muldiv (
      .clk_i,
      .rst_ni,
      .op_i(starts ? execute_q.op.muldiv : MD_NONE),
      .a_i(execute_q.a),
      .b_i(execute_q.b),
      .busy_o(muldiv_busy),
      .hi_o(hi),
      .lo_o(lo)
  );

  always_comb begin
    unique case (execute_q.op.result)
      FROM_LINK: execute_value = execute_q.pc + 32'd8;
      FROM_HI: execute_value = hi;
      FROM_LO: execute_value = lo;
      FROM_CP0: execute_value = cp0_value;
      default: execute_value = alu_result;
    endcase
  end
  assign execute_rd = execute_q.valid ? execute_q.op.rd : '0;

  exception_t execute_exception;
  logic access;
  assign access = execute_q.op.load || execute_q.op.store;
  always_comb begin
    execute_exception = '0;
    if (execute_q.valid) begin
      execute_exception = execute_q.op.exception;
      if (execute_q.op.trap_overflow && overflow) begin
        execute_exception.valid = 1'b1;
        execute_exception.code  = EXC_OV;
      end
      if (access && misaligned) begin
        execute_exception.valid   = 1'b1;
        execute_exception.code    = execute_q.op.store ? EXC_ADES : EXC_ADEL;
        execute_exception.address = sum;
      end
    end
  end

  logic wants_muldiv;
  assign wants_muldiv = execute_q.op.muldiv != MD_NONE || execute_q.op.result inside {FROM_HI, FROM_LO};
  assign execute_advance = memory_advance && !(execute_q.valid && wants_muldiv && muldiv_busy);

  // From here on it happens, whatever comes behind: nothing before it can fail any more.
  assign starts = execute_q.valid && execute_advance && !flush && !execute_exception.valid;
  assign data_valid_o   = starts && access;
  assign data_write_o   = execute_q.op.store;
  assign data_address_o = sum & PHYSICAL_MASK & ~32'h3;

  assign wait_load = execute_rd != '0 && execute_q.op.load &&
                     (execute_rd == op.rs || execute_rd == op.rt);

  // ---- Memory

  typedef struct packed {
    logic       valid;
    word_t      pc;
    logic       delay_slot;
    word_t      instruction;
    reg_t       rd;
    word_t      value;
    logic       load;
    logic       store;
    mem_size_e  size;
    logic [1:0] offset;
    word_t      rt;
    cp0_op_e    cp0;
    reg_t       cp0_register;
    exception_t exception;
  } memory_t;
  memory_t memory_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      memory_q <= '0;
    end else if (flush) begin
      memory_q.valid <= 1'b0;
    end else if (memory_advance) begin
      memory_q.valid <= execute_q.valid && execute_advance;
      if (execute_q.valid && execute_advance) begin
        memory_q.pc           <= execute_q.pc;
        memory_q.delay_slot   <= execute_q.delay_slot;
        memory_q.instruction  <= execute_q.instruction;
        memory_q.rd           <= execute_q.op.rd;
        memory_q.value        <= execute_value;
        memory_q.load         <= execute_q.op.load;
        memory_q.store        <= execute_q.op.store;
        memory_q.size         <= execute_q.op.size;
        memory_q.offset       <= sum[1:0];
        memory_q.rt           <= execute_q.rt;
        memory_q.cp0          <= execute_q.op.cp0;
        memory_q.cp0_register <= execute_q.op.cp0_register;
        memory_q.exception    <= execute_exception;
      end
    end
  end

  // Stores are aligned on their way out, loads on their way in.
  word_t load_value, unused_store, unused_load;
  logic [3:0] unused_strobe;
  logic unused_misaligned;
  cpu_align u_align_out (
      .size_i(execute_q.op.size),
      .offset_i(sum[1:0]),
      .register_i(execute_q.rt),
      .misaligned_o(misaligned),
      .store_o(data_wdata_o),
      .strobe_o(data_strobe_o),
      .memory_i('0),
      .load_o(unused_load)
  );
  cpu_align u_align_in (
      .size_i(memory_q.size),
      .offset_i(memory_q.offset),
      .register_i(memory_q.rt),
      .misaligned_o(unused_misaligned),
      .store_o(unused_store),
      .strobe_o(unused_strobe),
      .memory_i(data_rdata_i),
      .load_o(load_value)
  );

  logic memory_access, done;
  exception_t exception;
  assign memory_access  = (memory_q.load || memory_q.store) && !memory_q.exception.valid;
  assign memory_advance = !memory_q.valid || !memory_access || data_done_i;
  assign done           = memory_q.valid && memory_advance;
  always_comb begin
    exception = memory_q.exception;
    if (memory_access && data_error_i) begin
      exception.valid = 1'b1;
      exception.code  = EXC_DBE;
    end
  end
  assign flush        = done && exception.valid;
  assign memory_rd    = done && !exception.valid ? memory_q.rd : '0;
  assign memory_value = memory_q.load ? load_value : memory_q.value;

  assign wait_cp0 = (execute_q.valid && execute_q.op.cp0 != CP0_NONE) ||
                    (memory_q.valid && memory_q.cp0 != CP0_NONE);

  cpu_cp0 u_cp0 (
      .clk_i,
      .rst_ni,
      .interrupt_i,
      .read_register_i(execute_q.op.cp0_register),
      .read_value_o(cp0_value),
      .op_i(done && !exception.valid ? memory_q.cp0 : CP0_NONE),
      .write_register_i(memory_q.cp0_register),
      .write_value_i(memory_q.rt),
      .take_i(flush && !halted_q),
      .exception_i(exception),
      .pc_i(memory_q.pc),
      .delay_slot_i(memory_q.delay_slot),
      .interrupt_o(interrupt)
  );

  // ---- Debugging
  // It halts between instructions, when all before have ended, but never in front of a delay slot.
  logic stepping_q, is_break;
  assign is_break = op.exception.valid && op.exception.code == EXC_BP;
  assign stop = decode_q.valid && !halted_q && !decode_q.delay_slot &&
                ((debug_i.halt && !stepping_q) || (debug_i.stop_at_break && is_break));
  assign halts = stop && !flush && !execute_q.valid && !memory_q.valid;
  assign halted_o = halted_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      halted_q    <= 1'b0;
      stepping_q  <= 1'b0;
      halted_pc_o <= RESET_PC;
    end else if (halts) begin
      halted_q    <= 1'b1;
      halted_pc_o <= decode_q.pc;
    end else if (halted_q && debug_i.resume) begin
      halted_q   <= 1'b0;
      stepping_q <= 1'b1;
    end else if (decode_q.valid && decode_advance && !halted_q) begin
      stepping_q <= 1'b0;
    end
  end

  assign inject_done_o   = halted_q && done;
  assign inject_failed_o = exception.valid;
  assign inject_value_o  = memory_value;

  always_comb begin
    retire_o = '0;
    if (done) begin
      retire_o.valid       = !halted_q;
      retire_o.pc          = memory_q.pc;
      retire_o.instruction = memory_q.instruction;
      retire_o.rd          = memory_rd;
      retire_o.value       = memory_value;
      retire_o.exception   = flush;
      retire_o.code        = exception.code;
      retire_o.delay_slot  = memory_q.delay_slot;
    end
  end

  logic unused;
  assign unused = ^{unused_store, unused_load, unused_strobe, unused_misaligned};

endmodule
