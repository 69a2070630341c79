// SPDX-License-Identifier: BSD-2-Clause
// The RNIC core: joins its tiles. PCIe transactions on one side, Ethernet frames on the other.
// The picture is in README.md; what joins two tiles is in core/interfaces.

module exrnic_core
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    input  logic power_ni,  // low only while rst_ni is: number, manager and key of the node go, too
    output logic idle_o,  // nothing happens until an input comes,
    output logic waits_o,  // or until a read completes or a clock of efe_tx strikes;
    output logic watches_o,  // whatever they say: or until time_i passes a multiple of 2^PULL_ASK_SHIFT;
    output logic ticks_o,    // likewise one of 2^QP_TICK_SHIFT,
    output logic reads_o,    // and one of 2^cfg_read_timeout_i

    // Straps, PCIe configuration, device time in ns.
    input logic [15:0] cfg_node_i,  // its number; NODE_NONE: a fabric's manager says it (FABRIC.md)
    input logic [63:0] cfg_guid_i,
    input logic [31:0] cfg_clock_khz_i,
    input logic [15:0] cfg_max_payload_i,
    input logic [15:0] cfg_max_read_i,
    input logic [5:0]  cfg_read_timeout_i,  // see READ_TIMEOUT_SHIFT
    input window_shift_t cfg_window_shift_i,  // of BAR 4, see WINDOW_SIZE
    input logic        link_up_i,
    input logic [63:0] time_i,

    // PCIe, target: one access at a time; reads are answered in order.
    input  logic        mmio_valid_i,
    output logic        mmio_ready_o,
    input  logic        mmio_write_i,
    input  logic [2:0]  mmio_bar_i,
    input  logic [31:0] mmio_address_i,
    input  logic [3:0]  mmio_size_i,
    input  logic [63:0] mmio_data_i,
    output logic        mmio_rsp_valid_o,
    output logic [63:0] mmio_rsp_data_o,

    // PCIe, initiator: reads, by tag.
    output logic        rd_valid_o,
    input  logic        rd_ready_i,
    output logic [63:0] rd_address_o,
    output logic [15:0] rd_length_o,
    output logic [7:0]  rd_tag_o,
    input  logic        cpl_valid_i,
    input  logic [7:0]  cpl_tag_i,
    input  data_t       cpl_data_i,
    input  beat_bytes_t cpl_bytes_i,
    input  logic        cpl_last_i,
    input  logic        cpl_error_i,

    // PCIe, initiator: posted writes and MSI-X, in order.
    output logic        wr_valid_o,
    input  logic        wr_ready_i,
    output logic        wr_msix_o,
    output logic        wr_sop_o,
    output logic        wr_eop_o,
    output logic [63:0] wr_address_o,
    output logic [15:0] wr_length_o,
    output data_t       wr_data_o,

    // MAC.
    output logic        tx_valid_o,
    input  logic        tx_ready_i,
    output logic        tx_sop_o,
    output logic        tx_eop_o,
    output data_t       tx_data_o,
    output beat_bytes_t tx_bytes_o,
    input  logic        rx_valid_i,
    output logic        rx_ready_o,
    input  logic        rx_sop_i,
    input  logic        rx_eop_i,
    input  data_t       rx_data_i,
    input  beat_bytes_t rx_bytes_i,
    input  logic        rx_error_i
);

  // ---- Sizes that a build may say
  if (N_NODE < 16 || N_NODE > 1024 || 2 ** $clog2(N_NODE) != N_NODE) begin : gen_refuse_n_node
    $error("N_NODE is %0d, a power of two from 16 to 1024 is needed", N_NODE);
  end
  if (N_SRQ > N_QP) begin : gen_refuse_n_srq
    $error("N_SRQ is %0d and N_QP %0d, fewer", N_SRQ, N_QP);
  end

  // ---- Events: one source each
  event_t event_src[EVENT_SOURCES];

  // ---- Start, rest, idleness
  run_if run[TILES] ();
  logic [TILES-1:0] init_done, idle, waits, reads_over, writes_over, quiescent;
  logic ready, enable, quiesce, stop, stop_q;
  for (genvar i = 0; i < TILES; i++) begin : g_run
    assign init_done[i] = run[i].init_done;
    assign idle[i] = run[i].idle;
    assign waits[i] = run[i].waits;
    assign reads_over[i] = run[i].reads_over;
    assign writes_over[i] = run[i].writes_over;
    assign quiescent[i] = run[i].quiescent;
    assign run[i].ready = ready;
    assign run[i].enable = enable;
    assign run[i].quiesce = quiesce;
    assign run[i].stop = stop;
  end
  assign ready = &init_done;
  // For completions of reads, and for acknowledgements.
  assign waits_o = ready && &waits;
  assign idle_o = waits_o && &idle;
  // Stores go on while the core comes to rest: on the bus, completions of reads that it waits for may
  // stand behind them. They stop when it neither reads nor writes host memory any more, for some cycles:
  // all that is then in hand ends by itself.
  assign stop = quiesce && ((&reads_over && &writes_over) || stop_q);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) stop_q <= 1'b0;
    else stop_q <= stop;
  end

  // ---- What joins the tiles
  identity_if identity ();
  assign identity.power_n = power_ni;
  assign identity.strap = cfg_node_i;
  assign identity.guid = cfg_guid_i;
  assign identity.carrier = link_up_i;
  settings_if settings ();
  assign settings.window_shift = cfg_window_shift_i;
  command_if command ();
  post_if post ();
  failed_if failed ();
  host_event_if host_event ();
  assign host_event.host_silent = event_src[EVENT_OF_DMA_READ][COUNTER_DMA_READ_TIMEOUTS];
  requester_queues_if requester_queues ();
  responder_queues_if responder_queues ();
  completer_queues_if completer_queues ();
  table_read_if #(.INDEX(qpn_t), .ROW(qp_t)) qp[QP_CLIENTS] ();
  table_read_if #(.INDEX(srqn_t), .ROW(srq_t)) srq[SRQ_CLIENTS] ();
  stream_if #(.T(qpn_t)) turn ();
  stream_if #(.T(qpn_t)) wake[WAKE_SOURCES-2] ();

  xlate_if xlate[XLATE_CLIENTS] ();
  dma_read_if wqe_read ();
  dma_read_if payload_read ();
  dma_read_if receive_read ();
  dma_read_if firmware_reads[2] ();
  dma_read_if firmware_payload_read ();
  stream_if #(.T(dma_write_cmd_t)) placed ();
  stream_if #(.T(dma_write_cmd_t)) completion ();
  stream_if #(.T(dma_write_cmd_t)) firmware_write ();
  stream_if #(.T(dma_write_cmd_t)) atomics_write ();
  stream_if #(.T(dma_write_cmd_t)) event_write ();
  stream_if #(.T(vector_t)) irq ();
  stream_if #(.T(vector_t)) ports_irq ();
  rx_buffer_if rx_buffer ();
  fence_if fence ();
  writes_if writes ();

  access_if to_processor ();
  access_if to_ports ();
  access_if to_management ();
  access_if to_window ();
  window_access_if window_access ();
  firmware_page_if firmware_page ();
  firmware_path_if firmware_path ();
  firmware_queues_if firmware_queues ();
  firmware_send_if firmware_send ();
  port_arrival_if arrival ();
  logic has_windows, load_answer_valid;
  window_answer_t load_answer;

  transmit_if requester_transmit ();
  transmit_if window_transmit ();
  refusal_if refusal ();
  stream_if #(.T(cq_doorbell_t)) cq_bell ();
  stream_if #(.T(tx_done_t)) sent ();
  stream_if #(.T(tx_done_t)) lost ();
  stream_if #(.T(rx_desc_t)) segment ();
  stream_if #(.T(credit_update_t)) credit ();
  logic cq_bell_busy, prompt_ended, credit_heard, restart;
  /* verilator lint_off UNUSEDSIGNAL */  // for who looks at the core from outside
  tx_done_t prompt_ended_what;
  cpu_pkg::retire_t retire;
  logic asleep;
  /* verilator lint_on UNUSEDSIGNAL */
  credit_update_t credit_heard_what;
  node_t restart_node;

  host_tile #(
      .SOURCES(EVENT_SOURCES)
  ) u_host (
      .clk_i,
      .rst_ni,
      .run(run[TILE_HOST]),
      .identity,
      .cfg_clock_khz_i,
      .cfg_max_payload_i,
      .cfg_max_read_i,
      .cfg_read_timeout_i,
      .time_i,
      .mmio_valid_i,
      .mmio_ready_o,
      .mmio_write_i,
      .mmio_bar_i,
      .mmio_address_i,
      .mmio_size_i,
      .mmio_data_i,
      .mmio_rsp_valid_o,
      .mmio_rsp_data_o,
      .to_processor,
      .to_ports,
      .to_management,
      .to_window,
      .windows(window_access),
      .settings,
      .command,
      .post,
      .firmware_page,
      .cq_bell,
      .cq_bell_busy_i(cq_bell_busy),
      .qp_of_page(qp[QP_USER_PAGE]),
      .qp_of_mailbox(qp[QP_MAILBOX]),
      .srq_of_page(srq[SRQ_USER_PAGE]),
      .srq_of_mailbox(srq[SRQ_MAILBOX]),
      .wake_of_page(wake[WAKE_OF_USER_PAGE]),
      .wake_of_mailbox(wake[WAKE_OF_MAILBOX]),
      .host_event,
      .event_write,
      .irq,
      .enable_o(enable),
      .quiesce_o(quiesce),
      .quiescent_i(stop && &reads_over && &quiescent),
      .event_i(event_src),
      .event_page_o(event_src[EVENT_OF_USER_PAGE]),
      .event_events_o(event_src[EVENT_OF_EVENTS])
  );

  memory_tile u_memory (
      .clk_i,
      .rst_ni,
      .run(run[TILE_MEMORY]),
      .settings,
      .reads_o,
      .xlate,
      .wqe_read,
      .payload_read,
      .receive_read,
      .firmware_reads,
      .firmware_payload_read,
      .placed,
      .completion,
      .firmware_write,
      .atomics_write,
      .event_write,
      .ports_irq,
      .irq,
      .fence,
      .writes,
      .rx_buffer,
      .command,
      .rd_valid_o,
      .rd_ready_i,
      .rd_address_o,
      .rd_length_o,
      .rd_tag_o,
      .cpl_valid_i,
      .cpl_tag_i,
      .cpl_data_i,
      .cpl_bytes_i,
      .cpl_last_i,
      .cpl_error_i,
      .wr_valid_o,
      .wr_ready_i,
      .wr_msix_o,
      .wr_sop_o,
      .wr_eop_o,
      .wr_address_o,
      .wr_length_o,
      .wr_data_o,
      .event_xlate_o(event_src[EVENT_OF_XLATE]),
      .event_read_o(event_src[EVENT_OF_DMA_READ]),
      .event_write_o(event_src[EVENT_OF_DMA_WRITE])
  );

  queues_tile u_queues (
      .clk_i,
      .rst_ni,
      .run(run[TILE_QUEUES]),
      .time_i,
      .watches_o,
      .ticks_o,
      .qp,
      .srq,
      .command,
      .post,
      .requester(requester_queues),
      .responder(responder_queues),
      .completer(completer_queues),
      .firmware(firmware_queues),
      .failed,
      .wake,
      .turn,
      .credit,
      .heard_i(credit_heard),
      .heard_what_i(credit_heard_what),
      .event_credits_o(event_src[EVENT_OF_CREDITS])
  );

  work_tile u_work (
      .clk_i,
      .rst_ni,
      .run(run[TILE_WORK]),
      .settings,
      .command,
      .turn,
      .wake_of_requester(wake[WAKE_OF_REQUESTER]),
      .wake_of_responder(wake[WAKE_OF_RESPONDER]),
      .wake_of_completer(wake[WAKE_OF_COMPLETER]),
      .qp_of_requester(qp[QP_REQUESTER]),
      .qp_of_responder(qp[QP_RESPONDER]),
      .qp_of_completer(qp[QP_COMPLETER]),
      .srq_of_responder(srq[SRQ_RESPONDER]),
      .requester(requester_queues),
      .responder(responder_queues),
      .completer(completer_queues),
      .has_windows_i(has_windows),
      .xlate_of_requester(xlate[XLATE_OF_REQUESTER]),
      .xlate_of_slots(xlate[XLATE_OF_SLOTS]),
      .xlate_of_responder(xlate[XLATE_OF_RESPONDER]),
      .xlate_of_completer(xlate[XLATE_OF_COMPLETER]),
      .xlate_of_receives(xlate[XLATE_OF_RECEIVES]),
      .wqe_read,
      .payload_read,
      .receive_read,
      .placed,
      .completion,
      .written_i(writes_over[TILE_MEMORY]),
      .writes,
      .transmit(requester_transmit),
      .sent,
      .lost,
      .segment,
      .refusal,
      .firmware(firmware_path),
      .port(arrival),
      .load_answer_valid_o(load_answer_valid),
      .load_answer_o(load_answer),
      .cq_bell,
      .cq_bell_busy_o(cq_bell_busy),
      .host_event,
      .event_requester_o(event_src[EVENT_OF_REQUESTER]),
      .event_responder_o(event_src[EVENT_OF_RESPONDER]),
      .event_completer_o(event_src[EVENT_OF_COMPLETER])
  );

  remote_tile u_remote (
      .clk_i,
      .rst_ni,
      .run(run[TILE_REMOTE]),
      .settings,
      .link_up_i(identity.link_up),
      .to_window,
      .to_ports,
      .access(window_access),
      .command,
      .ports_irq,
      .qp(qp[QP_WINDOW]),
      .qp_of_requester(qp[QP_REQUESTER]),
      .has_windows_o(has_windows),
      .failed,
      .firmware(firmware_send),
      .payload_read(firmware_payload_read),
      .transmit(window_transmit),
      .ended_i(prompt_ended),
      .ended_what_i(prompt_ended_what),
      .lost,
      .arrival,
      .load_answer_valid_i(load_answer_valid),
      .load_answer_i(load_answer),
      .restart_i(restart),
      .restart_node_i(restart_node),
      .event_window_o(event_src[EVENT_OF_WINDOW]),
      .event_ports_o(event_src[EVENT_OF_PORTS])
  );

  firmware_tile u_firmware (
      .clk_i,
      .rst_ni,
      .run(run[TILE_FIRMWARE]),
      .settings,
      .command,
      .access(to_processor),
      .host_event,
      .retire_o(retire),
      .asleep_o(asleep),
      .pages(firmware_page),
      .path(firmware_path),
      .queues(firmware_queues),
      .send(firmware_send),
      .qp(qp[QP_FIRMWARE]),
      .wake(wake[WAKE_OF_FIRMWARE]),
      .xlate(xlate[XLATE_OF_FIRMWARE]),
      .read(firmware_reads[0]),
      .write(firmware_write),
      .fence,
      .xlate_of_atomics(xlate[XLATE_OF_ATOMICS]),
      .atomics_read(firmware_reads[1]),
      .atomics_write,
      .writes,
      .event_o(event_src[EVENT_OF_FIRMWARE])
  );

  wire_tile u_wire (
      .clk_i,
      .rst_ni,
      .run(run[TILE_WIRE]),
      .identity,
      .settings,
      .command,
      .requester(requester_transmit),
      .window(window_transmit),
      .payload(payload_read),
      .sent,
      .prompt_ended_o(prompt_ended),
      .prompt_ended_what_o(prompt_ended_what),
      .credit,
      .segment,
      .rx_buffer,
      .refusal,
      .credit_heard_o(credit_heard),
      .credit_heard_what_o(credit_heard_what),
      .restart_o(restart),
      .restart_node_o(restart_node),
      .host_event,
      .to_management,
      .tx_valid_o,
      .tx_ready_i,
      .tx_sop_o,
      .tx_eop_o,
      .tx_data_o,
      .tx_bytes_o,
      .rx_valid_i,
      .rx_ready_o,
      .rx_sop_i,
      .rx_eop_i,
      .rx_data_i,
      .rx_bytes_i,
      .rx_error_i,
      .event_tx_o(event_src[EVENT_OF_EFE_TX]),
      .event_rx_o(event_src[EVENT_OF_EFE_RX]),
      .event_loopback_o(event_src[EVENT_OF_LOOPBACK]),
      .event_groups_o(event_src[EVENT_OF_GROUPS]),
      .event_management_o(event_src[EVENT_OF_MANAGEMENT])
  );

endmodule
