// SPDX-License-Identifier: BSD-2-Clause
// The on-chip processor with its memory, its devices, and the driver's face. See README.md.

module processor
  import exrnic_pkg::*;
  import cpu_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,  // nothing happens until the driver does something
    input  logic [63:0] time_i,

    // Accesses of the driver to FW_*: taken at once, a read is answered in the next cycle.
    input  logic        valid_i,
    input  logic        write_i,
    input  logic        word_i,     // 32 bits, aligned
    input  logic [15:0] address_i,
    input  logic [31:0] data_i,
    output logic        rsp_valid_o,
    output logic [31:0] rsp_data_o,
    output logic        irq_o,      // pulse: a command has ended, or firmware wakes a process
    output logic        failed_o,   // pulse: firmware has failed

    // Registers of firmware_port: a pulse; what is read is there in the same cycle.
    output logic        ready_o,  // firmware is READY
    output logic        port_valid_o,
    output logic        port_write_o,
    output logic [11:0] port_address_o,
    output logic [31:0] port_data_o,
    input  logic        port_known_i,  // it has that register
    input  logic [31:0] port_data_i,
    input  logic        port_line_i,
    input  logic        port_bell_line_i,

    output retire_t retire_o  // for traces
);

  localparam int unsigned PlaceBits = $clog2(FW_MEMORY_BYTES);
  localparam int unsigned DeviceBits = 12;

  logic run, cpu_rst_n;
  assign cpu_rst_n = rst_ni && run;

  // ---- The processor
  logic inst_read, inst_error_q, data_valid, data_write, data_done, data_error;
  word_t inst_address, inst_data, data_address, data_wdata, data_rdata;
  logic [3:0] data_strobe;
  logic [5:0] lines;
  debug_t debug;
  logic halted, inject_done, inject_failed, debug_wakes, debug_busy;
  word_t halted_pc, inject_value;
  cpu u_cpu (
      .clk_i,
      .rst_ni(cpu_rst_n),
      .interrupt_i(lines),
      .inst_read_o(inst_read),
      .inst_address_o(inst_address),
      .inst_data_i(inst_data),
      .inst_error_i(inst_error_q),
      .data_valid_o(data_valid),
      .data_write_o(data_write),
      .data_address_o(data_address),
      .data_wdata_o(data_wdata),
      .data_strobe_o(data_strobe),
      .data_done_i(data_done),
      .data_rdata_i(data_rdata),
      .data_error_i(data_error),
      .debug_i(debug),
      .halted_o(halted),
      .halted_pc_o(halted_pc),
      .inject_done_o(inject_done),
      .inject_failed_o(inject_failed),
      .inject_value_o(inject_value),
      .retire_o
  );

  word_t pc_q;
  always_ff @(posedge clk_i) if (retire_o.valid) pc_q <= retire_o.pc;

  // ---- Who is addressed
  logic to_memory, to_devices, memory_done_q, nobody_q;
  assign to_memory = data_valid && data_address < FW_MEMORY_BYTES;
  assign to_devices = data_valid &&
      data_address[31:DeviceBits] == FW_DEVICES[31:DeviceBits];
  always_ff @(posedge clk_i or negedge cpu_rst_n) begin
    if (!cpu_rst_n) begin
      memory_done_q <= 1'b0;
      nobody_q      <= 1'b0;
      inst_error_q  <= 1'b0;
    end else begin
      memory_done_q <= to_memory;
      nobody_q      <= data_valid && !to_memory && !to_devices;
      if (inst_read) inst_error_q <= inst_address >= FW_MEMORY_BYTES;
    end
  end

  // ---- Memory: one port for instructions, one for data; the driver fills it while the processor is held
  logic load;
  word_t load_address, load_data, memory_rdata;
  logic data_access;
  logic [PlaceBits-1:2] data_place;
  word_t memory_read[2];
  assign data_access  = load || (to_memory && run);
  assign data_place   = load ? load_address[PlaceBits-1:2] : data_address[PlaceBits-1:2];
  assign inst_data    = memory_read[0];
  assign memory_rdata = memory_read[1];

  ram_nr1w #(
      .WIDTH(32),
      .DEPTH(FW_MEMORY_BYTES / 4),
      .READERS(2),
      .LANES(4)
  ) u_memory (
      .clk_i,
      .write_i        (!data_access ? '0 : load ? '1 : data_write ? data_strobe : '0),
      .write_address_i(data_place),
      .write_data_i   (load ? load_data : data_wdata),
      .read_i         ({data_access, inst_read && run}),
      .read_address_i ('{inst_address[PlaceBits-1:2], data_place}),
      .read_data_o    (memory_read)
  );

  // ---- Devices
  logic dev_write, command_taken, command_line, bite, dozing, timing, device_done, device_error;
  logic [DeviceBits-1:0] dev_address;
  word_t dev_data, device_rdata;
  logic [7:0] command;
  word_t command_word;
  processor_devices u_devices (
      .clk_i,
      .rst_ni(cpu_rst_n),
      .time_i,
      .valid_i(to_devices),
      .write_i(data_write),
      .address_i(data_address[DeviceBits-1:0]),
      .strobe_i(data_strobe),
      .data_i(data_wdata),
      .done_o(device_done),
      .error_o(device_error),
      .data_o(device_rdata),
      .dev_write_o(dev_write),
      .dev_address_o(dev_address),
      .dev_data_o(dev_data),
      .command_taken_o(command_taken),
      .command_line_i(command_line),
      .command_i(command),
      .word_i(command_word),
      .wake_i(debug_wakes),
      .halted_i(halted),
      .port_valid_o,
      .port_known_i,
      .port_data_i,
      .port_line_i,
      .port_bell_line_i,
      .lines_o(lines),
      .bite_o(bite),
      .dozing_o(dozing),
      .timing_o(timing)
  );
  assign port_write_o = data_write;
  assign port_address_o = data_address[DeviceBits-1:0];
  assign port_data_o = data_wdata;
  assign data_done  = memory_done_q || nobody_q || device_done;
  assign data_error = nobody_q || (device_done && device_error);
  assign data_rdata = memory_done_q ? memory_rdata : device_rdata;

  // ---- The debugger's face
  logic debug_known;
  word_t debug_value;
  processor_debug u_debug (
      .clk_i,
      .rst_ni,
      .write_i(valid_i && write_i && word_i),
      .address_i,
      .data_i,
      .known_o(debug_known),
      .value_o(debug_value),
      .debug_o(debug),
      .wakes_o(debug_wakes),
      .busy_o(debug_busy),
      .halted_i(halted),
      .halted_pc_i(halted_pc),
      .done_i(inject_done),
      .failed_i(inject_failed),
      .value_i(inject_value)
  );

  // ---- The driver's face
  processor_host u_host (
      .clk_i,
      .rst_ni,
      .valid_i,
      .write_i,
      .word_i,
      .address_i,
      .data_i,
      .rsp_valid_o,
      .rsp_data_o,
      .other_known_i(debug_known),
      .other_value_i(debug_value),
      .irq_o,
      .failed_o,
      .run_o(run),
      .ready_o,
      .load_o(load),
      .load_address_o(load_address),
      .load_data_o(load_data),
      .dev_write_i(dev_write),
      .dev_address_i(dev_address),
      .dev_data_i(dev_data),
      .bite_i(bite),
      .pc_i(pc_q),
      .command_taken_i(command_taken),
      .command_line_o(command_line),
      .command_o(command),
      .word_o(command_word)
  );

  logic rests;
  assign rests = halted ? !debug_busy : dozing && lines == '0 && !timing && !bite;
  assign idle_o = (!run || (rests && !debug_wakes)) && !irq_o && !failed_o && !rsp_valid_o;

  logic unused;
  assign unused = ^{load_address[31:PlaceBits], load_address[1:0]};

endmodule
