// SPDX-License-Identifier: BSD-2-Clause
// Types inside the processor. Encodings: MIPS R3000 user's manual (Kane and Heinrich, "MIPS RISC
// Architecture"), appendix A; they are the instruction set's, not ours.

package cpu_pkg;

  typedef logic [31:0] word_t;
  typedef logic [4:0] reg_t;  // register 0: none, or zero

  // Exception codes, as Cause.ExcCode shows them.
  typedef enum logic [4:0] {
    EXC_INT  = 5'd0,   // interrupt
    EXC_ADEL = 5'd4,   // address error: load or fetch
    EXC_ADES = 5'd5,   // address error: store
    EXC_IBE  = 5'd6,   // bus error: fetch
    EXC_DBE  = 5'd7,   // bus error: load or store
    EXC_SYS  = 5'd8,   // SYSCALL
    EXC_BP   = 5'd9,   // BREAK
    EXC_RI   = 5'd10,  // reserved instruction
    EXC_CPU  = 5'd11,  // coprocessor that is not there
    EXC_OV   = 5'd12   // arithmetic overflow
  } exc_code_e;

  typedef struct packed {
    logic       valid;
    exc_code_e  code;
    logic [1:0] coprocessor;  // with EXC_CPU
    word_t      address;      // with EXC_ADEL, EXC_ADES
  } exception_t;

  typedef enum logic [3:0] {
    ALU_ADD, ALU_SUB, ALU_AND, ALU_OR, ALU_XOR, ALU_NOR, ALU_SLT, ALU_SLTU, ALU_SLL, ALU_SRL, ALU_SRA
  } alu_op_e;

  typedef enum logic [3:0] {
    BRANCH_NONE, BRANCH_EQ, BRANCH_NE, BRANCH_LEZ, BRANCH_GTZ, BRANCH_LTZ, BRANCH_GEZ,
    BRANCH_JUMP,     // to the 26 bits of the instruction
    BRANCH_REGISTER  // to rs
  } branch_e;

  typedef enum logic [2:0] {
    MEM_BYTE, MEM_HALF, MEM_LEFT, MEM_WORD, MEM_BYTE_UNSIGNED, MEM_HALF_UNSIGNED, MEM_RIGHT
  } mem_size_e;  // the low bits of the opcode

  typedef enum logic [2:0] {
    MD_NONE, MD_MULT, MD_MULTU, MD_DIV, MD_DIVU, MD_TO_HI, MD_TO_LO
  } muldiv_op_e;

  // Where the result comes from.
  typedef enum logic [2:0] {
    FROM_ALU, FROM_LINK, FROM_HI, FROM_LO, FROM_CP0, FROM_MEMORY
  } result_e;

  typedef enum logic [1:0] {CP0_NONE, CP0_WRITE, CP0_RFE} cp0_op_e;

  // What an instruction asks for.
  typedef struct packed {
    reg_t       rs;        // registers it reads; 0: none
    reg_t       rt;
    reg_t       rd;        // register it writes; 0: none
    logic       use_imm;   // second operand: imm instead of rt
    logic       use_shamt; // first operand: imm (the shift amount) instead of rs
    word_t      imm;
    alu_op_e    alu;
    logic       trap_overflow;
    branch_e    branch;
    logic       load;
    logic       store;
    mem_size_e  size;
    muldiv_op_e muldiv;
    cp0_op_e    cp0;
    reg_t       cp0_register;
    result_e    result;
    exception_t exception;
  } decoded_t;

  // One instruction has ended, with its result or by an exception that was taken.
  typedef struct packed {
    logic       valid;
    word_t      pc;
    word_t      instruction;
    reg_t       rd;  // 0: wrote no register
    word_t      value;
    logic       exception;
    exc_code_e  code;
    logic       delay_slot;
  } retire_t;

  // What a debugger asks for.
  typedef struct packed {
    logic  halt;           // level: no further instruction, but the one that a resume lets through
    logic  stop_at_break;  // level: BREAK halts, and is not executed
    logic  resume;         // pulse, while halted: goes on at pc
    word_t pc;
    logic  inject;         // pulse, while halted and no other is under way: executes instruction
    word_t instruction;    // stays until it has ended
  } debug_t;

  // System coprocessor's registers.
  localparam reg_t CP0_BADVADDR = 5'd8;
  localparam reg_t CP0_STATUS = 5'd12;
  localparam reg_t CP0_CAUSE = 5'd13;
  localparam reg_t CP0_EPC = 5'd14;
  localparam reg_t CP0_PRID = 5'd15;
  localparam word_t PRID = 32'h0000_0230;  // implementation 2 (R3000), revision 3.0

  // No MMU: the three top bits of an address choose a segment, and do nothing.
  localparam word_t PHYSICAL_MASK = 32'h1fff_ffff;
  localparam word_t RESET_PC = 32'h8000_0000;    // on-chip memory, where the driver has put firmware
  localparam word_t EXCEPTION_PC = 32'h8000_0080;

endpackage
