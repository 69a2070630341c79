// SPDX-License-Identifier: BSD-2-Clause
// The processor's own registers (DEV_*): time, timer, watch-dog, rest, interrupt lines. What firmware
// says of itself goes on to processor_host.

module processor_devices
  import exrnic_pkg::*;
(
    input logic        clk_i,
    input logic        rst_ni,  // also while the processor is held
    input logic [63:0] time_i,

    // Of the processor: a pulse, answered by a pulse in a later cycle.
    input  logic        valid_i,
    input  logic        write_i,
    input  logic [11:0] address_i,  // of a word
    input  logic [3:0]  strobe_i,
    input  logic [31:0] data_i,
    output logic        done_o,
    output logic        error_o,    // no such register, or not all of its bytes written
    output logic [31:0] data_o,

    // To and from processor_host.
    output logic        dev_write_o,  // of a register that is kept there
    output logic [11:0] dev_address_o,
    output logic [31:0] dev_data_o,
    output logic        command_taken_o,
    input  logic        command_line_i,
    input  logic [7:0]  command_i,
    input  logic [31:0] word_i,           // of the command, at dev_address_o

    input  logic       wake_i,    // ends DOZE as a line does
    input  logic       halted_i,  // by a debugger

    // Registers of firmware_port.
    output logic        port_valid_o,
    input  logic        port_known_i,
    input  logic [31:0] port_data_i,
    input  logic        port_line_i,
    input  logic        port_bell_line_i,

    output logic [5:0] lines_o,
    output logic       bite_o,   // pulse: the watch-dog
    output logic       dozing_o,
    output logic       timing_o  // the timer runs
);

  // ---- Time
  logic [31:0] cycles_q, time_high_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) cycles_q <= '0;
    else cycles_q <= cycles_q + 1'b1;
  end

  // ---- Interrupt lines
  logic timer_line_q;
  always_comb begin
    lines_o = '0;
    lines_o[FW_LINE_COMMAND] = command_line_i;
    lines_o[FW_LINE_TIMER] = timer_line_q;
    lines_o[FW_LINE_PUNT] = port_line_i;
    lines_o[FW_LINE_BELL] = port_bell_line_i;
  end

  // ---- Accesses: what a write does, and whether the register is there
  logic write, known, whole, to_port;
  assign to_port = address_i >= 12'(REG_DEV_PUNTS);
  assign port_valid_o = valid_i && to_port && known && (whole || !write_i);
  logic is_timer, is_watchdog, is_doze;
  assign write = valid_i && write_i && whole && known;
  assign whole = &strobe_i;
  assign is_timer = write && address_i == 12'(REG_DEV_TIMER);
  assign is_watchdog = write && address_i == 12'(REG_DEV_WATCHDOG);
  assign is_doze = write && address_i == 12'(REG_DEV_DOZE);
  assign dev_write_o = write && !to_port;
  assign dev_address_o = address_i;
  assign dev_data_o = data_i;
  assign command_taken_o = valid_i && !write_i && address_i == 12'(REG_DEV_COMMAND);

  always_comb begin
    unique case (address_i)
      12'(REG_DEV_STATE), 12'(REG_DEV_VERSION), 12'(REG_DEV_FAULT), 12'(REG_DEV_FAULT_PC),
      12'(REG_DEV_FAULT_FILE), 12'(REG_DEV_TIMER), 12'(REG_DEV_WATCHDOG), 12'(REG_DEV_DOZE),
      12'(REG_DEV_COMMAND_STATUS), 12'(REG_DEV_RAISE):
        known = write_i;
      12'(REG_DEV_CYCLES), 12'(REG_DEV_TIME_LO), 12'(REG_DEV_TIME_HI), 12'(REG_DEV_LINES),
      12'(REG_DEV_COMMAND):
        known = !write_i;
      default: known = to_port ? port_known_i : in_dev_words(16'(address_i));
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && !write_i) begin
      unique case (address_i)
        12'(REG_DEV_CYCLES): data_o <= cycles_q;
        12'(REG_DEV_TIME_LO): {time_high_q, data_o} <= time_i;
        12'(REG_DEV_TIME_HI): data_o <= time_high_q;
        12'(REG_DEV_LINES): data_o <= 32'(lines_o);
        12'(REG_DEV_COMMAND): data_o <= 32'(command_i);
        default: data_o <= to_port ? port_data_i : word_i;
      endcase
    end
  end

  // A store to DOZE is answered when a line is up.
  logic wakes;
  assign wakes = |lines_o || wake_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      done_o   <= 1'b0;
      error_o  <= 1'b0;
      dozing_o <= 1'b0;
    end else begin
      done_o  <= (valid_i && !is_doze) || (dozing_o && wakes);
      error_o <= valid_i && !(known && (whole || !write_i));
      if (is_doze) dozing_o <= 1'b1;
      else if (wakes) dozing_o <= 1'b0;
    end
  end

  // ---- Timer and watch-dog
  logic [31:0] timer_q, watchdog_q;
  assign timing_o = timer_q != '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      timer_q      <= '0;
      timer_line_q <= 1'b0;
    end else if (is_timer) begin
      timer_q      <= data_i;
      timer_line_q <= 1'b0;
    end else if (timing_o) begin
      timer_q <= timer_q - 1'b1;
      if (timer_q == 32'd1) timer_line_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      watchdog_q <= '0;
      bite_o     <= 1'b0;
    end else begin
      bite_o <= 1'b0;
      if (is_watchdog) begin
        watchdog_q <= data_i;
      end else if (watchdog_q != '0 && !dozing_o && !halted_i) begin
        watchdog_q <= watchdog_q - 1'b1;
        bite_o     <= watchdog_q == 32'd1;
      end
    end
  end

endmodule
