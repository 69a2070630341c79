// SPDX-License-Identifier: BSD-2-Clause
// BAR 0: identification, configuration, the mailbox's registers, interrupt causes, counters.
// Every access is taken at once; a read is answered in the next cycle.

`include "exrnic_assert.svh"

module registers
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned SOURCES  = 8
) (
    input logic clk_i,
    input logic rst_ni,

    // Straps and state.
    input node_id_t    cfg_node_i,
    input logic [31:0] cfg_clock_khz_i,
    input window_shift_t cfg_window_shift_i,
    input logic        link_up_i,
    input logic        ready_i,
    input logic [63:0] time_i,

    input  logic        valid_i,
    input  logic        write_i,
    input  logic        here_i,     // the access is to BAR 0; reads of another are all ones
    input  logic [31:0] address_i,
    input  logic [3:0]  size_i,
    input  logic [31:0] data_i,
    output logic        rsp_valid_o,
    output logic [31:0] rsp_data_o,

    output logic        enable_o,
    output chunk_t      mtu_o,
    output logic [31:0] rto_cycles_o,
    output logic [7:0]  retry_limit_o,
    output logic [15:0] combine_cycles_o,
    output logic [23:0] load_cycles_o,
    output logic        pull_by_firmware_o,
    output logic        erratum_o,  // flags ERRATA, pull_beside_push
    output pkeys_t      pkeys_o,

    output logic         mbox_start_o,
    output logic [31:0]  mbox_op_o,
    output logic [511:0] mbox_data_o,
    input  logic         mbox_done_i,
    input  mbox_status_e mbox_status_i,
    input  logic         mbox_answer_i,
    input  mbox_answer_t mbox_answer_data_i,

    output logic        eq_bell_o,  // pulse: an event queue's doorbell
    output eqn_t        eq_bell_eqn_o,
    output logic [31:0] eq_bell_consumer_o,
    output logic        eq_bell_arm_o,

    input  logic firmware_i,
    output logic irq_valid_o,  // fire MSIX_VECTOR_CONTROL
    input  logic irq_ready_i,

    input event_t event_i[SOURCES]
);

  localparam int unsigned MboxWords = MBOX_DATA_BYTES / 4;
  localparam int unsigned AnswerWords = $bits(mbox_answer_t) / 32;
  localparam int unsigned Causes = INT_CAUSE_BITS;

  logic [15:0] address;
  logic word, write, read;
  assign address = address_i[15:0];
  assign word = here_i && size_i == 4'd4 && address_i[31:16] == '0 && address[1:0] == '0;
  assign write = valid_i && write_i && word;
  assign read = valid_i && !write_i;

  // ---- Registers of which the specification says all; the others are here
  logic [0:0] control, errata;
  pull_mode_e pull_mode;
  logic [Causes-1:0] enable_q;
  logic is_plain;
  logic [31:0] plain_value;
  assign enable_o = control[DEVICE_CONTROL_ENABLE];
  assign pull_by_firmware_o = pull_mode == PULL_MODE_FIRMWARE;
  assign erratum_o = errata[ERRATA_PULL_BESIDE_PUSH];
  plain_registers u_plain (
      .clk_i,
      .rst_ni,
      .address_i(address),
      .write_i(write),
      .data_i,
      .control_o(control),
      .mtu_o,
      .rto_cycles_o,
      .retry_limit_o,
      .int_enable_o(enable_q),
      .combine_cycles_o,
      .load_cycles_o,
      .pull_mode_o(pull_mode),
      .errata_o(errata),
      .look_i(read && word),
      .known_o(is_plain),
      .value_o(plain_value)
  );

  // ---- The node's P_Keys
  logic [$clog2(PKEYS)-1:0] pkey_index;
  assign pkey_index = address[2+:$clog2(PKEYS)];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pkeys_o <= pkeys_t'(PKEY_DEFAULT);
    else if (write && in_pkeys(address)) pkeys_o[16*pkey_index+:16] <= data_i[15:0];
  end

  // ---- Mailbox
  logic [MboxWords-1:0][31:0] mbox_q;
  mbox_status_e mbox_status_q;
  logic mbox_idle;
  assign mbox_idle = mbox_status_q != MBOX_STATUS_BUSY;
  assign mbox_start_o = write && address == REG_MBOX_COMMAND && mbox_idle && ready_i;
  assign mbox_op_o = data_i;
  assign mbox_data_o = mbox_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) mbox_status_q <= MBOX_STATUS_OK;
    else if (mbox_start_o) mbox_status_q <= MBOX_STATUS_BUSY;
    else if (mbox_done_i) mbox_status_q <= mbox_status_i;
  end

  always_ff @(posedge clk_i) begin
    if (write && mbox_idle && in_mbox_data(address)) mbox_q[address[5:2]] <= data_i;
    if (mbox_done_i && mbox_answer_i) mbox_q[0+:AnswerWords] <= mbox_answer_data_i;
  end

  // ---- Interrupt causes: a cause that comes while another is pending fires again, so that the
  // driver, which clears before it looks, misses none.
  logic [Causes-1:0] enable, cause_q, set;
  always_comb begin
    set = '0;
    set[INT_CAUSE_MBOX] = mbox_done_i;
    set[INT_CAUSE_FIRMWARE] = firmware_i;
  end
  logic enabling;
  assign enabling = write && address == REG_INT_ENABLE;
  assign enable = enabling ? data_i[Causes-1:0] : enable_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cause_q     <= '0;
      irq_valid_o <= 1'b0;
    end else begin
      cause_q <= (cause_q & ~(write && address == REG_INT_CAUSE ? data_i[Causes-1:0] : '0)) | set;
      if (|(set & enable) || (enabling && |(cause_q & enable))) irq_valid_o <= 1'b1;
      else if (irq_ready_i) irq_valid_o <= 1'b0;
    end
  end

  // ---- Doorbells of event queues
  assign eq_bell_arm_o = in_eq_arm(address);
  assign eq_bell_o = write && (in_eq_consumer(address) || eq_bell_arm_o);
  assign eq_bell_eqn_o = address[2+:$bits(eqn_t)];
  assign eq_bell_consumer_o = data_i;

  // ---- Reads
  logic [63:0] counter;
  counters #(
      .SOURCES(SOURCES)
  ) u_counters (
      .clk_i,
      .rst_ni,
      .event_i,
      .index_i(address[3+:$clog2(COUNTERS)]),
      .value_o(counter)
  );

  logic [31:0] time_high_q, counter_high_q;
  always_ff @(posedge clk_i) begin
    if (read && word && address == REG_TIME_LO) time_high_q <= time_i[63:32];
    if (read && word && in_counters(address) && !address[2]) counter_high_q <= counter[63:32];
  end

  logic [47:0] mac;
  assign mac = {MAC_PREFIX, cfg_node_i};
  logic [31:0] value;
  always_comb begin
    value = '1;
    if (read && word) begin
      unique case (address)
        REG_CLOCK_KHZ: value = cfg_clock_khz_i;
        REG_WINDOW_SIZE: value = 32'd1 << cfg_window_shift_i;
        REG_STATUS:
        value = 32'(ready_i) << DEVICE_STATUS_READY | 32'(link_up_i) << DEVICE_STATUS_LINK_UP;
        REG_NODE_ID: value = 32'(cfg_node_i);
        REG_MAC_LO: value = mac[31:0];
        REG_MAC_HI: value = 32'(mac[47:32]);
        REG_INT_CAUSE: value = 32'(cause_q);
        REG_TIME_LO: value = time_i[31:0];
        REG_TIME_HI: value = time_high_q;
        REG_MBOX_STATUS: value = 32'(mbox_status_q);
        default:
        if (is_plain) value = plain_value;
        else if (in_mbox_data(address)) value = mbox_q[address[5:2]];
        else if (in_pkeys(address)) value = 32'(pkey_of(pkeys_o, pkey_index));
        else if (in_counters(address)) value = address[2] ? counter_high_q : counter[31:0];
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rsp_valid_o <= 1'b0;
    else rsp_valid_o <= read;
  end
  always_ff @(posedge clk_i) begin
    if (read) rsp_data_o <= value;
  end

  // ---- What is promised
  `EXRNIC_HELD(irq_is_held, irq_valid_o, irq_ready_i, 1'b0)

endmodule
