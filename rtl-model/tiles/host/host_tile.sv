// SPDX-License-Identifier: BSD-2-Clause
// The host's CPUs: whose access it is, the registers, the driver's commands, doorbells of processes.

module host_tile
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned SOURCES  = 8
) (
    input logic clk_i,
    input logic rst_ni,
    run_if.tile run,

    identity_if.user   identity,
    input logic [31:0] cfg_clock_khz_i,
    input logic [15:0] cfg_max_payload_i,
    input logic [15:0] cfg_max_read_i,
    input logic [5:0]  cfg_read_timeout_i,
    input logic [63:0] time_i,

    input  logic        mmio_valid_i,
    output logic        mmio_ready_o,
    input  logic        mmio_write_i,
    input  logic [2:0]  mmio_bar_i,
    input  logic [31:0] mmio_address_i,
    input  logic [3:0]  mmio_size_i,
    input  logic [63:0] mmio_data_i,
    output logic        mmio_rsp_valid_o,
    output logic [63:0] mmio_rsp_data_o,

    access_if.host        to_processor,
    access_if.host        to_ports,
    access_if.host        to_management,
    access_if.host        to_window,
    window_access_if.host windows,

    settings_if.source     settings,
    command_if.source     command,
    post_if.page           post,
    firmware_page_if.pages firmware_page,
    stream_if.source       cq_bell,
    input logic            cq_bell_busy_i,  // one that was taken has not had its effect yet
    table_read_if.client   qp_of_page,
    table_read_if.client   qp_of_mailbox,
    table_read_if.client   srq_of_page,
    table_read_if.client   srq_of_mailbox,
    stream_if.source       wake_of_page,
    stream_if.source       wake_of_mailbox,

    host_event_if.host      host_event,
    stream_if.source        event_write,
    stream_if.source        irq,
    output logic            enable_o,     // the driver lets the RNIC work
    output logic            quiesce_o,    // a command needs the core at rest,
    input logic             quiescent_i,  // which it is
    input event_t           event_i[SOURCES],
    output event_t          event_page_o,
    output event_t          event_events_o
);

  logic page_idle, mailbox_idle, events_idle, events_quiescent;
  assign run.init_done = 1'b1;
  assign run.waits = page_idle && mailbox_idle && events_idle && !irq.valid && !mmio_valid_i &&
      !mmio_rsp_valid_o;
  assign run.idle = run.waits;
  assign run.reads_over = 1'b1;
  assign run.writes_over = events_quiescent;
  assign run.quiescent = page_idle && events_quiescent;

  // ---- Whose access it is
  logic is_page, is_processor, is_ports, is_management, is_window, is_register, page_ready, in_order;
  assign is_page = mmio_write_i && mmio_bar_i == 3'(BAR_USER);
  assign is_window = mmio_bar_i == 3'(BAR_WINDOW);
  assign is_ports = mmio_bar_i == 3'(BAR_REGISTERS) && mmio_address_i >= 32'(PORT_BASE) &&
      mmio_address_i <= 32'(REG_PORTS_PENDING);
  assign is_management = mmio_bar_i == 3'(BAR_REGISTERS) && mmio_address_i >= 32'(REG_MANAGEMENT_OUT) &&
      mmio_address_i <= 32'(REG_MANAGEMENT_TAKEN);
  assign is_processor = mmio_bar_i == 3'(BAR_REGISTERS) &&
      mmio_address_i >= 32'(REG_FW_MEMORY) && !is_ports && !is_management;
  assign is_register = !is_page && !is_window && !is_ports && !is_management && !is_processor;
  // In order: what a store has caused is there when the next load looks; loads are answered one
  // after the other. A store does not wait for the answer to a window's load, and if it sends nothing
  // itself not for room to send either: see README.md, "What PCIe forbids".
  assign windows.at_once = page_idle && !cq_bell_busy_i;
  assign windows.flush = windows.drain || (mmio_valid_i && !is_window && !is_page);
  assign in_order = windows.at_once && ((mmio_write_i && !is_ports) ||
      (windows.sent && (mmio_write_i || !windows.loading)));

  assign to_window.valid = mmio_valid_i && is_window && (mmio_write_i || windows.at_once);
  assign to_window.write = mmio_write_i;
  assign to_window.address = mmio_address_i;
  assign to_window.size = mmio_size_i;
  assign to_window.data = mmio_data_i;
  assign to_ports.valid = mmio_valid_i && is_ports && in_order;
  assign to_ports.write = mmio_write_i;
  assign to_ports.address = mmio_address_i;
  assign to_ports.size = mmio_size_i;
  assign to_ports.data = mmio_data_i;
  assign to_management.valid = mmio_valid_i && is_management && in_order;
  assign to_management.write = mmio_write_i;
  assign to_management.address = mmio_address_i;
  assign to_management.size = mmio_size_i;
  assign to_management.data = mmio_data_i;
  assign to_processor.valid = mmio_valid_i && is_processor && in_order;
  assign to_processor.write = mmio_write_i;
  assign to_processor.address = mmio_address_i;
  assign to_processor.size = mmio_size_i;
  assign to_processor.data = mmio_data_i;
  always_comb begin
    if (is_page) mmio_ready_o = page_ready;
    else if (is_window) mmio_ready_o = to_window.ready && (mmio_write_i || windows.at_once);
    else if (is_ports) mmio_ready_o = in_order && to_ports.ready;
    else if (is_management) mmio_ready_o = in_order && to_management.ready;
    else mmio_ready_o = in_order && (to_processor.ready || !is_processor);
  end

  logic register_rsp_valid;
  logic [31:0] register_rsp_data, rsp_data;
  assign mmio_rsp_valid_o = register_rsp_valid || to_processor.rsp_valid || to_ports.rsp_valid ||
      to_management.rsp_valid || to_window.rsp_valid;
  assign rsp_data = to_processor.rsp_valid ? to_processor.rsp_data[31:0] :
      to_ports.rsp_valid ? to_ports.rsp_data[31:0] :
      to_management.rsp_valid ? to_management.rsp_data[31:0] : register_rsp_data;
  assign mmio_rsp_data_o = to_window.rsp_valid ? to_window.rsp_data :
      {rsp_data == '1 ? 32'hffff_ffff : 32'd0, rsp_data};

  // ---- Registers
  logic command_start, command_done, command_answer;
  logic [31:0] command_op;
  logic [511:0] command_data;
  mbox_status_e command_status;
  mbox_answer_t command_answer_data;
  logic bell, bell_arm, eq_we;
  eqn_t bell_eqn, eqn;
  logic [31:0] bell_consumer;
  eq_config_t eq;
  logic [MAX_EQ-1:0] eqs;
  assign settings.node = identity.node;
  assign settings.now = time_i;
  assign settings.max_payload = cfg_max_payload_i;
  assign settings.max_read = cfg_max_read_i;
  assign settings.read_timeout = cfg_read_timeout_i;
  assign irq.data = vector_t'(MSIX_VECTOR_CONTROL);

  registers #(
      .SOURCES(SOURCES)
  ) u_registers (
      .clk_i,
      .rst_ni,
      .cfg_node_i(settings.node),
      .cfg_clock_khz_i,
      .cfg_window_shift_i(settings.window_shift),
      .link_up_i(identity.link_up),
      .ready_i(run.ready),
      .time_i,
      .valid_i(mmio_valid_i && is_register && in_order),
      .write_i(mmio_write_i),
      .here_i(mmio_bar_i == 3'(BAR_REGISTERS)),
      .address_i(mmio_address_i),
      .size_i(mmio_size_i),
      .data_i(mmio_data_i[31:0]),
      .rsp_valid_o(register_rsp_valid),
      .rsp_data_o(register_rsp_data),
      .enable_o,
      .mtu_o(settings.mtu),
      .rto_cycles_o(settings.rto_cycles),
      .retry_limit_o(settings.retry_limit),
      .combine_cycles_o(settings.combine_cycles),
      .load_cycles_o(settings.load_cycles),
      .pull_by_firmware_o(settings.pull_by_firmware),
      .erratum_o(settings.erratum),
      .pkeys_o(settings.pkeys),
      .mbox_start_o(command_start),
      .mbox_op_o(command_op),
      .mbox_data_o(command_data),
      .mbox_done_i(command_done),
      .mbox_status_i(command_status),
      .mbox_answer_i(command_answer),
      .mbox_answer_data_i(command_answer_data),
      .eq_bell_o(bell),
      .eq_bell_eqn_o(bell_eqn),
      .eq_bell_consumer_o(bell_consumer),
      .eq_bell_arm_o(bell_arm),
      .firmware_i(host_event.firmware_irq),
      .irq_valid_o(irq.valid),
      .irq_ready_i(irq.ready),
      .event_i
  );

  // ---- What has happened

  events u_events (
      .clk_i,
      .rst_ni,
      .quiesce_i(run.quiesce),
      .quiescent_o(events_quiescent),
      .idle_o(events_idle),
      .happened(host_event),
      .link_up_i(identity.link_up),
      .eq_we_i(eq_we),
      .eqn_i(eqn),
      .eq_i(eq),
      .eqs_o(eqs),
      .forget_qp_i(command.reads_take || command.reads_give),  // created, or destroyed
      .renew_qp_i(command.qp_we && command.qp_clear),
      .forget_qpn_i(command.qpn),
      .forget_cq_i(command.cq_we && command.cq_clear),
      .forget_cqn_i(command.cqn),
      .forget_srq_i(command.srq_we && (command.srq_clear || !command.srq_config.valid)),
      .forget_srqn_i(command.srqn),
      .bell_i(bell),
      .bell_eqn_i(bell_eqn),
      .bell_consumer_i(bell_consumer),
      .bell_arm_i(bell_arm),
      .write(event_write),
      .event_o(event_events_o)
  );

  // ---- The driver's commands

  mailbox u_mailbox (
      .clk_i,
      .rst_ni,
      .cfg_node_i(settings.node),
      .cfg_window_shift_i(settings.window_shift),
      .pkeys_i(settings.pkeys),
      .start_i(command_start),
      .op_i(command_op),
      .data_i(command_data),
      .idle_o(mailbox_idle),
      .done_o(command_done),
      .status_o(command_status),
      .answer_o(command_answer),
      .answer_data_o(command_answer_data),
      .quiesce_o,
      .quiescent_i,
      .drain_o(windows.drain),
      .drained_i(windows.drained),
      .qp(qp_of_mailbox),
      .command,
      .eq_we_o(eq_we),
      .eqn_o(eqn),
      .eq_o(eq),
      .eqs_i(eqs),
      .wake(wake_of_mailbox),
      .srq(srq_of_mailbox)
  );

  // ---- Doorbells and PIO blocks of processes
  user_page u_user_page (
      .clk_i,
      .rst_ni,
      .store_valid_i(mmio_valid_i && is_page),
      .store_ready_o(page_ready),
      .store_address_i(mmio_address_i),
      .store_size_i(mmio_size_i),
      .store_data_i(mmio_data_i),
      .enable_i(run.enable && run.ready),
      .quiesce_i(run.stop),
      .idle_o(page_idle),
      .qp_read_o(qp_of_page.read),
      .qp_index_o(qp_of_page.index),
      .qp_row_i(qp_of_page.row),
      .producer_we_o(post.valid),
      .producer_rq_o(post.rq),
      .producer_qpn_o(post.qpn),
      .producer_o(post.producer),
      .srq_read_o(srq_of_page.read),
      .srq_read_srqn_o(srq_of_page.index),
      .srq_i(srq_of_page.row),
      .srq_producer_we_o(post.srq_valid),
      .srq_producer_o(post.srq_producer),
      .pio_valid_o(post.block_valid),
      .pio_slot_o(post.block),
      .pio_drop_i(command.qp_we && command.qp_clear),
      .pio_drop_page_i(command.qp_config.page),
      .wake_valid_o(wake_of_page.valid),
      .wake_ready_i(wake_of_page.ready),
      .wake_qpn_o(wake_of_page.data),
      .cq_valid_o(cq_bell.valid),
      .cq_ready_i(cq_bell.ready),
      .cq_o(cq_bell.data),
      .firmware_i(firmware_page.active),
      .firmware_valid_o(firmware_page.valid),
      .firmware_drop_i(firmware_page.drop),
      .firmware_drop_page_i(firmware_page.drop_page),
      .firmware_page_o(firmware_page.page),
      .firmware_whole_o(firmware_page.whole),
      .firmware_block_o(firmware_page.block),
      .firmware_o(firmware_page.bell),
      .event_o(event_page_o)
  );

endmodule
