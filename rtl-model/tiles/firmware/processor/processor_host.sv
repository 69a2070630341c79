// SPDX-License-Identifier: BSD-2-Clause
// The driver's registers of the processor (FW_*): state, loading, commands, faults, processes to wake.

module processor_host
  import exrnic_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    // Of the driver: taken at once, a read is answered in the next cycle.
    input  logic        valid_i,
    input  logic        write_i,
    input  logic        word_i,     // 32 bits, aligned
    input  logic [15:0] address_i,
    input  logic [31:0] data_i,
    output logic        rsp_valid_o,
    output logic [31:0] rsp_data_o,
    input  logic        other_known_i,  // address_i is read elsewhere...
    input  logic [31:0] other_value_i,  // ...and gives this
    output logic        irq_o,      // pulse: a command has ended, or firmware wakes a process
    output logic        failed_o,   // pulse: firmware has failed

    output logic        run_o,      // else the processor is held in reset
    output logic        ready_o,    // firmware says that it is
    output logic        load_o,
    output logic [31:0] load_address_o,
    output logic [31:0] load_data_o,

    // Of the processor.
    input  logic        dev_write_i,
    input  logic [11:0] dev_address_i,
    input  logic [31:0] dev_data_i,
    input  logic        bite_i,
    input  logic [31:0] pc_i,            // of the last instruction that ended
    input  logic        command_taken_i,
    output logic        command_line_o,
    output logic [7:0]  command_o,
    output logic [31:0] word_o           // of the command, at dev_address_i
);

  localparam int unsigned WordBits = $clog2(FW_COMMAND_WORDS);

  fw_state_e state_q /*verilator public_flat_rd*/;
  fw_status_e status_q;
  logic [31:0] address_q, version_q, fault_q, fault_pc_q, fault_file_q;
  logic [31:0] word_q[FW_COMMAND_WORDS];
  assign word_o = word_q[dev_address_i[2+:WordBits]];
  assign run_o  = state_q inside {FW_STATE_STARTING, FW_STATE_READY};
  assign ready_o = state_q == FW_STATE_READY;

  logic write, in_words, busy, hold, start, fails;
  assign busy = status_q == FW_STATUS_BUSY;
  always_comb begin
    {write, in_words, hold, start} = '0;
    if (valid_i) begin
      write = write_i && word_i;
      in_words = in_fw_words(address_i);
      hold = write && address_i == REG_FW_CONTROL && !data_i[FW_CONTROL_RUN];
      start = write && address_i == REG_FW_CONTROL && data_i[FW_CONTROL_RUN] &&
          state_q == FW_STATE_HELD;
    end
  end
  assign fails = run_o && (bite_i ||
      (dev_write_i && dev_address_i == 12'(REG_DEV_STATE) && dev_data_i == 32'(FW_STATE_FAILED)));

  // ---- State
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= FW_STATE_HELD;
    else if (hold) state_q <= FW_STATE_HELD;
    else if (start) state_q <= FW_STATE_STARTING;
    else if (fails) state_q <= FW_STATE_FAILED;
    else if (run_o && dev_write_i && dev_address_i == 12'(REG_DEV_STATE) &&
             dev_data_i == 32'(FW_STATE_READY))
      state_q <= FW_STATE_READY;
  end

  // ---- What firmware says
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      version_q    <= '0;
      fault_q      <= '0;
      fault_pc_q   <= '0;
      fault_file_q <= '0;
    end else if (start) begin
      version_q    <= '0;
      fault_q      <= '0;
      fault_pc_q   <= '0;
      fault_file_q <= '0;
    end else if (!run_o) begin
      // Nobody says anything.
    end else if (bite_i) begin
      fault_q    <= {8'h0, 8'(FW_FAULT_WATCHDOG), 16'h0};
      fault_pc_q <= pc_i;
    end else if (dev_write_i) begin
      unique case (dev_address_i)
        12'(REG_DEV_VERSION): version_q <= dev_data_i;
        12'(REG_DEV_FAULT): fault_q <= dev_data_i;
        12'(REG_DEV_FAULT_PC): fault_pc_q <= dev_data_i;
        12'(REG_DEV_FAULT_FILE): fault_file_q <= dev_data_i;
        default: ;
      endcase
    end
  end

  // ---- Loading
  assign load_o = write && address_i == REG_FW_DATA && state_q == FW_STATE_HELD;
  assign load_address_o = address_q;
  assign load_data_o = data_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) address_q <= '0;
    else if (write && address_i == REG_FW_ADDRESS && takes_fw_address(data_i)) address_q <= data_i;
    else if (load_o) address_q <= (address_q + 32'd4) & (FW_MEMORY_BYTES - 1);
  end

  // ---- Commands
  logic starts_command, ends_command;
  assign starts_command = write && address_i == REG_FW_COMMAND && !busy && state_q == FW_STATE_READY && !fails;
  assign ends_command = busy && dev_write_i && dev_address_i == 12'(REG_DEV_COMMAND_STATUS);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      status_q       <= FW_STATUS_OK;
      command_line_o <= 1'b0;
      command_o      <= '0;
    end else if (busy && (fails || hold)) begin
      status_q       <= FW_STATUS_FAILED;
      command_line_o <= 1'b0;
    end else if (starts_command) begin
      status_q       <= FW_STATUS_BUSY;
      command_line_o <= 1'b1;
      command_o      <= data_i[7:0];
    end else if (busy) begin
      if (ends_command) status_q <= fw_status_e'(dev_data_i[7:0]);
      if (command_taken_i || ends_command) command_line_o <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (write && in_words && !busy) word_q[address_i[2+:WordBits]] <= data_i;
    else if (dev_write_i && busy && dev_address_i >= 12'(REG_DEV_WORDS))
      word_q[dev_address_i[2+:WordBits]] <= dev_data_i;
  end

  // ---- Processes to wake: what is raised while the driver clears stays, and fires again
  logic [FW_CHANNELS-1:0] raised_q, raises;
  assign raises = run_o && dev_write_i && dev_address_i == 12'(REG_DEV_RAISE) ?
      dev_data_i[FW_CHANNELS-1:0] : '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) raised_q <= '0;
    else
      raised_q <= (raised_q & ~(write && address_i == REG_FW_RAISED ? data_i[FW_CHANNELS-1:0] : '0)) |
          raises;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      irq_o    <= 1'b0;
      failed_o <= 1'b0;
    end else begin
      irq_o    <= ends_command || (busy && (fails || hold)) || raises != '0;
      failed_o <= fails;
    end
  end

  // ---- Reads
  logic [31:0] value;
  always_comb begin
    if (!valid_i) value = '0;
    else unique case (address_i)
      REG_FW_MEMORY: value = FW_MEMORY_BYTES;
      REG_FW_CONTROL: value = 32'(state_q != FW_STATE_HELD) << FW_CONTROL_RUN;
      REG_FW_STATE: value = 32'(state_q);
      REG_FW_ADDRESS: value = address_q;
      REG_FW_VERSION: value = version_q;
      REG_FW_FAULT: value = fault_q;
      REG_FW_FAULT_PC: value = fault_pc_q;
      REG_FW_FAULT_FILE: value = fault_file_q;
      REG_FW_COMMAND_STATUS: value = 32'(status_q);
      REG_FW_RAISED: value = 32'(raised_q);
      default:
        value = in_words ? word_q[address_i[2+:WordBits]] : other_known_i ? other_value_i : '1;
    endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rsp_valid_o <= 1'b0;
    else rsp_valid_o <= valid_i && !write_i;
  end
  always_ff @(posedge clk_i) begin
    if (valid_i && !write_i) rsp_data_o <= word_i ? value : '1;
  end

endmodule
