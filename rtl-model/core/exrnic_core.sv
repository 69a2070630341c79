// SPDX-License-Identifier: BSD-2-Clause
// The RNIC core: wires the blocks. PCIe transactions on one side, Ethernet frames on the other.
//
//   stores, loads --> registers, mailbox, user_page --> scheduler --> requester --> efe_tx --> MAC
//   host memory  <--> dma_read (WQEs, PBLs, payload), dma_write <-- responder <--- efe_rx <-- MAC
//                                                        completer <-- efe_tx

module exrnic_core
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_QP   = MAX_QP,    // powers of two
    parameter int unsigned N_CQ   = MAX_CQ,
    parameter int unsigned N_SRQ  = MAX_SRQ,
    parameter int unsigned N_STAG = MAX_STAG,
    parameter int unsigned N_WINDOW = MAX_WINDOWS
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,  // nothing happens until an input comes,
    output logic waits_o,  // or until a read completes or a clock of efe_tx strikes;
    output logic watches_o,  // whatever they say: or until time_i passes a multiple of 2^PULL_ASK_SHIFT;
    output logic reads_o,    // likewise one of 2^cfg_read_timeout_i

    // Straps, PCIe configuration, device time in ns.
    input node_t       cfg_node_i,
    input logic [31:0] cfg_clock_khz_i,
    input logic [15:0] cfg_max_payload_i,
    input logic [15:0] cfg_max_read_i,
    input logic [5:0]  cfg_read_timeout_i,  // see READ_TIMEOUT_SHIFT
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

  // ---- Events: one source each
  localparam int unsigned EvUserPage = 0;
  localparam int unsigned EvRequester = 1;
  localparam int unsigned EvResponder = 2;
  localparam int unsigned EvCompleter = 3;
  localparam int unsigned EvXlate = 4;
  localparam int unsigned EvDmaRead = 5;
  localparam int unsigned EvDmaWrite = 6;
  localparam int unsigned EvEfeTx = 7;
  localparam int unsigned EvEfeRx = 8;
  localparam int unsigned EvWindow = 9;
  localparam int unsigned EvPorts = 10;
  localparam int unsigned EvFirmware = 11;
  localparam int unsigned EvGroups = 12;
  localparam int unsigned EvCredits = 13;
  localparam int unsigned EvSources = 14;
  event_t event_src[EvSources];

  // ---- Start, rest, idleness
  logic qp_init_done, sched_init_done, cq_init_done, xlate_init_done, tx_init_done, rx_init_done;
  logic srq_init_done, pulls_init_done, reads_init_done, resp_init_done, port_init_done;
  logic port_idle, port_quiescent, credits_init_done, credits_idle;
  logic ready, enable, quiesce, quiescent;
  logic page_idle, req_idle, resp_idle, xlate_idle, read_idle, write_idle, tx_idle, rx_idle;
  logic req_waits, resp_waits, read_waits, tx_waits, rx_waits;
  logic req_quiescent, resp_quiescent, comp_quiescent, comp_idle, comp_settled;
  logic turn_valid, mbox_idle, irq_valid, done_valid, desc_valid, pause_idle, groups_idle;
  logic watch_idle;
  assign ready = qp_init_done && sched_init_done && cq_init_done && xlate_init_done &&
      tx_init_done && rx_init_done && srq_init_done && pulls_init_done && reads_init_done &&
      resp_init_done && port_init_done && credits_init_done;
  logic window_idle, window_empty, send_idle, send_quiescent, ports_idle, link_steady;
  // Stores go on while the core comes to rest: on the bus, completions of reads that it waits for may
  // stand behind them. They stop when it neither reads nor writes host memory any more, for some cycles:
  // all that is then in hand ends by itself.
  logic reads_over, stop, stop_q, fw_read_valid;
  assign reads_over = req_quiescent && resp_quiescent && comp_settled && port_quiescent &&
      xlate_idle && read_idle && !fw_read_valid;
  assign stop = quiesce && ((reads_over && write_idle) || stop_q);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) stop_q <= 1'b0;
    else stop_q <= stop;
  end
  assign quiescent = stop && reads_over && comp_quiescent && page_idle && send_quiescent;
  // For completions of reads, and for acknowledgements.
  assign waits_o = ready && page_idle && (req_idle ? !turn_valid : req_waits) &&
      (resp_idle || resp_waits) && comp_idle && xlate_idle && read_waits && write_idle && tx_waits &&
      rx_waits && fw_idle && port_idle && window_idle && send_idle && ports_idle && link_steady &&
      pause_idle && watch_idle && mbox_idle && !irq_valid && !done_valid && !desc_valid && groups_idle &&
      credits_idle && !fw_read_valid && !mmio_valid_i && !mmio_rsp_valid_o && !rx_valid_i && !cpl_valid_i;
  assign idle_o = waits_o && req_idle && resp_idle && read_idle && rx_idle && tx_idle;

  // ---- Accesses of the host's CPUs
  logic to_user_page, to_processor, to_ports, to_window, page_ready, bell_busy;
  logic reg_rsp_valid, fw_rsp_valid, ports_rsp_valid, window_rsp_valid;
  logic fw_idle, fw_irq, at_once, in_order, ports_ready, window_ready, window_loading;
  logic [31:0] reg_rsp_data, fw_rsp_data, ports_rsp_data, rsp_data;
  logic [63:0] window_rsp_data;
  assign to_user_page = mmio_write_i && mmio_bar_i == 3'(BAR_USER);
  assign to_window = mmio_bar_i == 3'(BAR_WINDOW);
  assign to_ports = mmio_bar_i == 3'(BAR_REGISTERS) && mmio_address_i >= 32'(PORT_BASE) &&
      mmio_address_i <= 32'(REG_PORTS_PENDING);
  assign to_processor = mmio_bar_i == 3'(BAR_REGISTERS) &&
      mmio_address_i >= 32'(REG_FW_MEMORY) && !to_ports;
  // In order: what a store has caused is there when the next load looks; loads are answered one
  // after the other. A store does not wait for the answer to a window's load, and if it sends nothing
  // itself not for room to send either: see README.md, "What PCIe forbids".
  assign at_once = page_idle && !bell_busy;
  assign in_order = at_once && ((mmio_write_i && !to_ports) ||
      (window_empty && send_idle && (mmio_write_i || !window_loading)));

  // A command waits until the stores to windows that came before it are sent.
  logic drain, sent_q, drained_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sent_q <= 1'b0;
      drained_q <= 1'b0;
    end else begin
      sent_q <= drain && (sent_q || window_empty || (item_valid && item_ready && !item.load));
      drained_q <= drain && (drained_q || (sent_q && send_idle));
    end
  end
  always_comb begin
    if (to_user_page) mmio_ready_o = page_ready;
    else if (to_window) mmio_ready_o = window_ready && (mmio_write_i || at_once);
    else mmio_ready_o = in_order && (ports_ready || !to_ports);
  end
  assign mmio_rsp_valid_o = reg_rsp_valid || fw_rsp_valid || ports_rsp_valid || window_rsp_valid;
  assign rsp_data = fw_rsp_valid ? fw_rsp_data : ports_rsp_valid ? ports_rsp_data : reg_rsp_data;
  assign mmio_rsp_data_o = window_rsp_valid ? window_rsp_data :
      {rsp_data == '1 ? 32'hffff_ffff : 32'd0, rsp_data};

  chunk_t mtu;
  logic [31:0] rto_cycles, mbox_op;
  logic [7:0] retry_limit;
  logic [15:0] combine_cycles;
  logic [23:0] load_cycles;
  logic pull_by_firmware, erratum;
  logic mbox_start, mbox_done, mbox_answer, irq_ready;
  logic [511:0] mbox_data;
  mbox_status_e mbox_status;
  mbox_answer_t mbox_answer_data;
  logic req_qp_error, resp_qp_error, comp_qp_error, cq_error, srq_limit_event;
  cqn_t cq_error_cqn;

  registers #(
      .N_QP(N_QP),
      .N_CQ(N_CQ),
      .N_SRQ(N_SRQ),
      .N_STAG(N_STAG),
      .N_WINDOW(N_WINDOW),
      .SOURCES(EvSources)
  ) u_registers (
      .clk_i,
      .rst_ni,
      .cfg_node_i,
      .cfg_clock_khz_i,
      .link_up_i,
      .link_steady_o(link_steady),
      .ready_i(ready),
      .time_i,
      .valid_i(mmio_valid_i && mmio_ready_o && !to_user_page && !to_processor &&
               !to_window && !to_ports),
      .write_i(mmio_write_i),
      .here_i(mmio_bar_i == 3'(BAR_REGISTERS)),
      .address_i(mmio_address_i),
      .size_i(mmio_size_i),
      .data_i(mmio_data_i[31:0]),
      .rsp_valid_o(reg_rsp_valid),
      .rsp_data_o(reg_rsp_data),
      .enable_o(enable),
      .mtu_o(mtu),
      .rto_cycles_o(rto_cycles),
      .retry_limit_o(retry_limit),
      .combine_cycles_o(combine_cycles),
      .load_cycles_o(load_cycles),
      .pull_by_firmware_o(pull_by_firmware),
      .erratum_o(erratum),
      .mbox_start_o(mbox_start),
      .mbox_op_o(mbox_op),
      .mbox_data_o(mbox_data),
      .mbox_done_i(mbox_done),
      .mbox_status_i(mbox_status),
      .mbox_answer_i(mbox_answer),
      .mbox_answer_data_i(mbox_answer_data),
      .qp_error_i(req_qp_error || resp_qp_error || comp_qp_error),  // one at a time
      .qp_error_qpn_i(resp_qp_error ? status_qpn[0] : comp_qp_error ? status_qpn[1] : status_qpn[2]),
      .cq_error_i(cq_error),
      .cq_error_cqn_i(cq_error_cqn),
      .srq_limit_i(srq_limit_event),
      .srq_limit_srqn_i(srq_read_srqn[SRQ_RESPONDER]),
      .firmware_i(fw_irq),
      .host_silent_i(event_src[EvDmaRead][COUNTER_DMA_READ_TIMEOUTS]),
      .irq_valid_o(irq_valid),
      .irq_ready_i(irq_ready),
      .event_i(event_src)
  );

  // ---- The on-chip processor
  /* verilator lint_off UNUSEDSIGNAL */
  cpu_pkg::retire_t retire;  // for who looks at the core from outside
  /* verilator lint_on UNUSEDSIGNAL */
  processor u_processor (
      .clk_i,
      .rst_ni,
      .idle_o(fw_idle),
      .time_i,
      .valid_i(mmio_valid_i && mmio_ready_o && to_processor),
      .write_i(mmio_write_i),
      .word_i(mmio_size_i == 4'd4 && mmio_address_i[31:16] == '0 && mmio_address_i[1:0] == '0),
      .address_i(mmio_address_i[15:0]),
      .data_i(mmio_data_i[31:0]),
      .rsp_valid_o(fw_rsp_valid),
      .rsp_data_o(fw_rsp_data),
      .irq_o(fw_irq),
      .ready_o(fw_ready),
      .port_valid_o(port_valid),
      .port_write_o(port_write),
      .port_address_o(port_address),
      .port_data_o(port_wdata),
      .port_known_i(port_known),
      .port_data_i(port_rdata),
      .port_line_i(port_line),
      .port_bell_line_i(port_bell_line),
      .retire_o(retire)
  );

  // ---- Its way to the data path
  logic fw_ready, port_valid, port_write, port_known, port_line;
  logic [11:0] port_address;
  logic [31:0] port_wdata, port_rdata;
  fw_grant_index_t fw_grant_index;
  fw_grant_t fw_grant;
  logic fw_placing;
  logic fw_active, fw_lost, punt_valid, punt_ready, fw_answer_valid;
  logic port_write_valid, port_write_ready;
  logic fence, fence_done;
  punt_t punt;
  read_t fw_answer;
  reads_t punt_count[3];
  dma_write_cmd_t port_cmd;
  logic port_bell_line, fw_bell_valid, fw_send_valid, fw_sent, fw_no_room;
  page_t fw_bell_page;
  doorbell_t fw_bell;
  logic fw_bell_whole, fw_block_drop;
  wqe_slot_t fw_bell_block;
  page_t fw_block_drop_page;
  fw_send_t fw_send;

  firmware_port #(
      .N_QP(N_QP)
  ) u_firmware_port (
      .clk_i,
      .rst_ni,
      .init_done_o(port_init_done),
      .idle_o(port_idle),
      .quiesce_i(quiesce),
      .quiescent_o(port_quiescent),
      .ready_i(fw_ready),
      .valid_i(port_valid),
      .write_i(port_write),
      .address_i(port_address),
      .data_i(port_wdata),
      .known_o(port_known),
      .data_o(port_rdata),
      .line_o(port_line),
      .bell_line_o(port_bell_line),
      .node_i(cfg_node_i),
      .mtu_i(mtu),
      .bell_i(fw_bell_valid),
      .bell_page_i(fw_bell_page),
      .bell_value_i(fw_bell),
      .bell_whole_i(fw_bell_whole),
      .bell_block_i(fw_bell_block),
      .block_drop_o(fw_block_drop),
      .block_drop_page_o(fw_block_drop_page),
      .active_o(fw_active),
      .grant_index_i(fw_grant_index),
      .grant_o(fw_grant),
      .placing_i(fw_placing),
      .punt_valid_i(punt_valid),
      .punt_ready_o(punt_ready),
      .punt_i(punt),
      .look_i(reads_look),
      .look_qpn_i(reads_qpn),
      .open_o(punt_count),
      .lost_o(fw_lost),
      .clear_i(qp_we && qp_clear),
      .clear_qpn_i(qp_read_qpn[QP_MAILBOX]),
      .qp_read_o(qp_read[QP_FIRMWARE]),
      .qp_read_qpn_o(qp_read_qpn[QP_FIRMWARE]),
      .qp_i(qp[QP_FIRMWARE]),
      .answer_valid_o(fw_answer_valid),
      .answer_ready_i(!read_push),
      .answer_o(fw_answer),
      .wake_valid_o(wake_valid[5]),
      .wake_ready_i(wake_ready[5]),
      .wake_qpn_o(wake_qpn[5]),
      .xlate_valid_o(xlate_valid[4]),
      .xlate_ready_i(xlate_ready[4]),
      .xlate_o(xlate_req[4]),
      .xlate_rsp_valid_i(xlate_rsp_valid[4]),
      .xlate_rsp_i(xlate_rsp),
      .xlate_hold_o(xlate_hold[4]),
      .read_valid_o(read_valid[4]),
      .read_ready_i(read_ready[4]),
      .read_o(read_req[4]),
      .beat_valid_i(beat_valid[4]),
      .beat_i(beat),
      .write_valid_o(port_write_valid),
      .write_ready_i(port_write_ready),
      .write_o(port_cmd),
      .fence_o(fence),
      .fence_done_i(fence_done),
      .send_valid_o(fw_send_valid),
      .send_o(fw_send),
      .sent_i(fw_sent),
      .no_room_i(fw_no_room),
      .event_o(event_src[EvFirmware])
  );

  // ---- Queue pairs
  logic [QP_CLIENTS-1:0] qp_read;
  qpn_t qp_read_qpn[QP_CLIENTS];
  qp_t qp[QP_CLIENTS];
  logic peer_we, qp_we, qp_clear, sq_we, ended_we, producer_we, producer_rq, rq_consumer_we;
  qp_config_t qp_config;
  qp_status_t qp_status;
  logic [2:0] status_valid, status_ready;
  qpn_t status_qpn[3], producer_qpn;
  qp_status_t status[3];
  qp_peer_t peer;
  logic refused_we;
  refused_request_t refused;
  qp_sq_t sq;
  qp_ended_t ended;
  wqe_index_t producer, rq_consumer;
  assign status_qpn[2] = qp_read_qpn[QP_REQUESTER];

  qp_table #(
      .N_QP(N_QP)
  ) u_qp_table (
      .clk_i,
      .rst_ni,
      .init_done_o(qp_init_done),
      .read_i(qp_read),
      .read_qpn_i(qp_read_qpn),
      .read_o(qp),
      .config_we_i(qp_we),
      .config_qpn_i(qp_read_qpn[QP_MAILBOX]),
      .config_i(qp_config),
      .config_status_i(qp_status),
      .config_clear_i(qp_clear),
      .status_valid_i(status_valid),
      .status_ready_o(status_ready),
      .status_qpn_i(status_qpn),
      .status_i(status),
      .peer_we_i(peer_we),
      .peer_qpn_i(qp_read_qpn[QP_RESPONDER]),
      .peer_i(peer),
      .refused_we_i(refused_we),
      .refused_qpn_i(qp_read_qpn[QP_RESPONDER]),
      .refused_i(refused),
      .sq_we_i(sq_we),
      .sq_qpn_i(qp_read_qpn[QP_REQUESTER]),
      .sq_i(sq),
      .ended_we_i(ended_we),
      .ended_qpn_i(qp_read_qpn[QP_COMPLETER]),
      .ended_i(ended),
      .producer_we_i(producer_we),
      .producer_rq_i(producer_rq),
      .producer_qpn_i(producer_qpn),
      .producer_i(producer),
      .rq_consumer_we_i(rq_consumer_we),
      .rq_consumer_qpn_i(qp_read_qpn[QP_RESPONDER]),
      .rq_consumer_i(rq_consumer)
  );

  // RDMA Read Requests under way: ours, and the peer's. Requester, responder and mailbox look at
  // them together with the queue pair.
  logic [2:0] reads_look;
  qpn_t reads_qpn[3];
  reads_t pull_count[3], read_count[3];
  /* verilator lint_off UNUSEDSIGNAL */  // the mailbox looks at the counts, nobody at the last read
  logic read_last;
  logic [$bits(pull_t)-1:0] pull_head[3];
  logic [$bits(read_t)-1:0] read_head[3];
  /* verilator lint_on UNUSEDSIGNAL */
  logic pull_push, pull_pop, pull_last, pull_set, read_push, read_pop, read_set;
  pull_t pull_new, pull_rest;
  read_t read_new, read_rest;
  assign reads_look = {qp_read[QP_MAILBOX], qp_read[QP_RESPONDER], qp_read[QP_REQUESTER]};
  assign reads_qpn[0] = qp_read_qpn[QP_REQUESTER];
  assign reads_qpn[1] = qp_read_qpn[QP_RESPONDER];
  assign reads_qpn[2] = qp_read_qpn[QP_MAILBOX];

  qp_fifo #(
      .N_QP(N_QP),
      .WIDTH($bits(pull_t))
  ) u_pulls (
      .clk_i,
      .rst_ni,
      .init_done_o(pulls_init_done),
      .look_i(reads_look),
      .look_qpn_i(reads_qpn),
      .count_o(pull_count),
      .head_o(pull_head),
      .push_i(pull_push),
      .push_qpn_i(qp_read_qpn[QP_REQUESTER]),
      .push_data_i(pull_new),
      .pop_i(pull_pop),
      .set_i(pull_set),
      .pop_qpn_i(qp_read_qpn[QP_RESPONDER]),
      .last_o(pull_last),
      .set_data_i(pull_rest),
      .clear_i(qp_we && qp_clear),
      .clear_qpn_i(qp_read_qpn[QP_MAILBOX])
  );

  qp_fifo #(
      .N_QP(N_QP),
      .WIDTH($bits(read_t))
  ) u_reads (
      .clk_i,
      .rst_ni,
      .init_done_o(reads_init_done),
      .look_i(reads_look),
      .look_qpn_i(reads_qpn),
      .count_o(read_count),
      .head_o(read_head),
      .push_i(read_push || fw_answer_valid),
      .push_qpn_i(read_push ? qp_read_qpn[QP_RESPONDER] : qp_read_qpn[QP_FIRMWARE]),
      .push_data_i(read_push ? read_new : fw_answer),
      .pop_i(read_pop),
      .set_i(read_set),
      .pop_qpn_i(qp_read_qpn[QP_REQUESTER]),
      .last_o(read_last),
      .set_data_i(read_rest),
      .clear_i(qp_we && qp_clear),
      .clear_qpn_i(qp_read_qpn[QP_MAILBOX])
  );

  // ---- Shared receive queues
  logic [SRQ_CLIENTS-1:0] srq_read;
  srqn_t srq_read_srqn[SRQ_CLIENTS];
  srq_t srq[SRQ_CLIENTS];
  logic srq_we, srq_clear, srq_producer_we, srq_consumer_we;
  srq_config_t srq_config;
  logic [15:0] srq_config_limit, srq_limit;
  wqe_index_t srq_producer, srq_consumer;

  srq_table #(
      .N_SRQ(N_SRQ)
  ) u_srq_table (
      .clk_i,
      .rst_ni,
      .init_done_o(srq_init_done),
      .read_i(srq_read),
      .read_srqn_i(srq_read_srqn),
      .read_o(srq),
      .config_we_i(srq_we),
      .config_srqn_i(srq_read_srqn[SRQ_MAILBOX]),
      .config_i(srq_config),
      .config_limit_i(srq_config_limit),
      .config_clear_i(srq_clear),
      .producer_we_i(srq_producer_we),
      .producer_srqn_i(srq_read_srqn[SRQ_USER_PAGE]),
      .producer_i(srq_producer),
      .consumer_we_i(srq_consumer_we),
      .consumer_srqn_i(srq_read_srqn[SRQ_RESPONDER]),
      .consumer_i(srq_consumer),
      .limit_i(srq_limit)
  );

  // Wake-ups: completer, responder, mailbox, user page, requester, firmware, the end of a pause, PULLs
  // of which nothing was heard.
  logic [7:0] wake_valid, wake_ready;
  qpn_t wake_qpn[8];
  logic turn_ready, others_wait;
  qpn_t turn_qpn;
  assign wake_qpn[2] = qp_read_qpn[QP_MAILBOX];

  scheduler #(
      .N_QP(N_QP),
      .SOURCES(8)
  ) u_scheduler (
      .clk_i,
      .rst_ni,
      .init_done_o(sched_init_done),
      .push_valid_i(wake_valid),
      .push_ready_o(wake_ready),
      .push_qpn_i(wake_qpn),
      .pop_valid_o(turn_valid),
      .pop_ready_i(turn_ready),
      .pop_qpn_o(turn_qpn),
      .serving_qpn_i(qp_read_qpn[QP_REQUESTER]),
      .others_wait_o(others_wait)
  );

  // ---- Receives of the peers: what we tell, what we are told
  logic credit_taken, credit_valid, credit_ready, credit_came, credit_raised, credit_known, stall;
  credit_taken_t credit_what;
  credit_update_t credit, credit_news;
  credit_t credit_limit;
  qpn_t credit_raised_qpn;

  credits #(
      .N_QP(N_QP)
  ) u_credits (
      .clk_i,
      .rst_ni,
      .init_done_o(credits_init_done),
      .idle_o(credits_idle),
      .reset_i(qp_we && qp_clear),
      .reset_qpn_i(qp_read_qpn[QP_MAILBOX]),
      .failed_i(failed),
      .failed_qpn_i(status_qpn),
      .posted_i(producer_we && producer_rq),
      .posted_qpn_i(producer_qpn),
      .posted_producer_i(credit_t'(producer)),
      .taken_i(credit_taken),
      .taken_what_i(credit_what),
      .update_valid_o(credit_valid),
      .update_ready_i(credit_ready),
      .update_o(credit),
      .heard_i(credit_came),
      .heard_what_i(credit_news),
      .qp_read_o(qp_read[QP_CREDITS]),
      .qp_read_qpn_o(qp_read_qpn[QP_CREDITS]),
      .qp_i(qp[QP_CREDITS]),
      .raised_o(credit_raised),
      .raised_qpn_o(credit_raised_qpn),
      .look_qpn_i(qp_read_qpn[QP_REQUESTER]),
      .known_o(credit_known),
      .limit_o(credit_limit),
      .event_o(event_src[EvCredits])
  );

  // Queue pairs that go to ERROR.
  logic [2:0] failed;
  always_comb begin
    for (int unsigned i = 0; i < 3; i++)
      failed[i] = status_valid[i] && status[i].state == QP_STATE_ERROR;
  end

  logic pause_start, paused;
  logic [4:0] pause_code;
  qpn_t pause_clear_qpn[4];
  assign pause_clear_qpn[0:2] = status_qpn;
  assign pause_clear_qpn[3] = qp_read_qpn[QP_MAILBOX];

  pause #(
      .N_QP(N_QP)
  ) u_pause (
      .clk_i,
      .rst_ni,
      .idle_o(pause_idle),
      .time_i,
      .start_i(pause_start),
      .start_qpn_i(status_qpn[0]),
      .start_code_i(pause_code),
      .wait_i(stall),
      .wait_qpn_i(qp_read_qpn[QP_REQUESTER]),
      .raised_i(credit_raised),
      .raised_qpn_i(credit_raised_qpn),
      .clear_i({qp_we, failed}),
      .clear_qpn_i(pause_clear_qpn),
      .look_qpn_i(qp_read_qpn[QP_REQUESTER]),
      .pauses_o(paused),
      .wake_valid_o(wake_valid[6]),
      .wake_ready_i(wake_ready[6]),
      .wake_qpn_o(wake_qpn[6])
  );

  // Who waits for the answer to its introduction is one of them.
  logic asks, asked, waits_for_peer, waits_no_more;
  pull_watch #(
      .N_QP(N_QP)
  ) u_pull_watch (
      .clk_i,
      .rst_ni,
      .idle_o(watch_idle),
      .watches_o,
      .time_i,
      .begin_i(pull_push || waits_for_peer),
      .asked_i(asked),
      .over_i(waits_no_more),
      .own_qpn_i(qp_read_qpn[QP_REQUESTER]),
      .heard_i(pull_pop || pull_set),
      .none_i(pull_pop && pull_last),
      .heard_qpn_i(qp_read_qpn[QP_RESPONDER]),
      .clear_i(qp_we && qp_clear),
      .clear_qpn_i(qp_read_qpn[QP_MAILBOX]),
      .look_qpn_i(qp_read_qpn[QP_REQUESTER]),
      .asks_o(asks),
      .wake_valid_o(wake_valid[7]),
      .wake_ready_i(wake_ready[7]),
      .wake_qpn_o(wake_qpn[7])
  );

  logic bell_valid, bell_ready, pio_valid, pio_held, pio_take;
  cq_doorbell_t bell;
  wqe_slot_t pio_new, pio_slot;
  wqe_index_t pio_index;

  user_page #(
      .N_QP(N_QP),
      .N_SRQ(N_SRQ)
  ) u_user_page (
      .clk_i,
      .rst_ni,
      .store_valid_i(mmio_valid_i && to_user_page),
      .store_ready_o(page_ready),
      .store_address_i(mmio_address_i),
      .store_size_i(mmio_size_i),
      .store_data_i(mmio_data_i),
      .enable_i(enable && ready),
      .quiesce_i(stop),
      .idle_o(page_idle),
      .qp_read_o(qp_read[QP_USER_PAGE]),
      .qp_read_qpn_o(qp_read_qpn[QP_USER_PAGE]),
      .qp_i(qp[QP_USER_PAGE]),
      .producer_we_o(producer_we),
      .producer_rq_o(producer_rq),
      .producer_qpn_o(producer_qpn),
      .producer_o(producer),
      .srq_read_o(srq_read[SRQ_USER_PAGE]),
      .srq_read_srqn_o(srq_read_srqn[SRQ_USER_PAGE]),
      .srq_i(srq[SRQ_USER_PAGE]),
      .srq_producer_we_o(srq_producer_we),
      .srq_producer_o(srq_producer),
      .pio_valid_o(pio_valid),
      .pio_slot_o(pio_new),
      .pio_drop_i(qp_we && qp_clear),
      .pio_drop_page_i(qp_config.page),
      .wake_valid_o(wake_valid[3]),
      .wake_ready_i(wake_ready[3]),
      .wake_qpn_o(wake_qpn[3]),
      .cq_valid_o(bell_valid),
      .cq_ready_i(bell_ready),
      .cq_o(bell),
      .firmware_i(fw_active),
      .firmware_valid_o(fw_bell_valid),
      .firmware_drop_i(fw_block_drop),
      .firmware_drop_page_i(fw_block_drop_page),
      .firmware_page_o(fw_bell_page),
      .firmware_whole_o(fw_bell_whole),
      .firmware_block_o(fw_bell_block),
      .firmware_o(fw_bell),
      .event_o(event_src[EvUserPage])
  );

  pio_hold u_pio_hold (
      .clk_i,
      .rst_ni,
      .put_i(pio_valid),
      .put_qpn_i(producer_qpn),
      .put_index_i(producer - 1'b1),
      .put_slot_i(pio_new),
      .look_i(qp_read[QP_REQUESTER]),
      .look_qpn_i(qp_read_qpn[QP_REQUESTER]),
      .held_o(pio_held),
      .index_o(pio_index),
      .slot_o(pio_slot),
      .take_i(pio_take),
      .drop_i(qp_we),
      .drop_qpn_i(qp_read_qpn[QP_MAILBOX])
  );

  // ---- The driver's commands
  logic entry_we;
  window_index_t entry_index;
  window_entry_t entry;
  logic cq_we, mr_we, flush, flush_done, message_open;
  cqn_t cq_cqn;
  cq_config_t cq_config_new, cq_config_now;
  stag_index_t mr_index;
  mr_t mr_new, mr_now;

  logic group_valid, group_done, group_found, group_full;
  group_op_e group_op;
  group_t group;
  qpn_t group_qpn;

  mailbox #(
      .N_QP(N_QP),
      .N_CQ(N_CQ),
      .N_SRQ(N_SRQ),
      .N_STAG(N_STAG),
      .N_WINDOW(N_WINDOW)
  ) u_mailbox (
      .clk_i,
      .rst_ni,
      .cfg_node_i,
      .start_i(mbox_start),
      .op_i(mbox_op),
      .data_i(mbox_data),
      .idle_o(mbox_idle),
      .done_o(mbox_done),
      .status_o(mbox_status),
      .answer_o(mbox_answer),
      .answer_data_o(mbox_answer_data),
      .quiesce_o(quiesce),
      .quiescent_i(quiescent),
      .drain_o(drain),
      .drained_i(drained_q),
      .qp_read_o(qp_read[QP_MAILBOX]),
      .qp_read_qpn_o(qp_read_qpn[QP_MAILBOX]),
      .qp_i(qp[QP_MAILBOX]),
      .pull_count_i(pull_count[2]),
      .read_count_i(read_count[2] + punt_count[2]),
      .message_open_i(message_open),
      .qp_we_o(qp_we),
      .qp_config_o(qp_config),
      .qp_status_o(qp_status),
      .qp_clear_o(qp_clear),
      .wake_valid_o(wake_valid[2]),
      .wake_ready_i(wake_ready[2]),
      .srq_read_o(srq_read[SRQ_MAILBOX]),
      .srq_read_srqn_o(srq_read_srqn[SRQ_MAILBOX]),
      .srq_i(srq[SRQ_MAILBOX]),
      .srq_we_o(srq_we),
      .srq_config_o(srq_config),
      .srq_limit_o(srq_config_limit),
      .srq_clear_o(srq_clear),
      .cq_we_o(cq_we),
      .cq_cqn_o(cq_cqn),
      .cq_config_o(cq_config_new),
      .cq_config_i(cq_config_now),
      .window_we_o(entry_we),
      .window_index_o(entry_index),
      .window_o(entry),
      .group_valid_o(group_valid),
      .group_op_o(group_op),
      .group_o(group),
      .group_qpn_o(group_qpn),
      .group_done_i(group_done),
      .group_found_i(group_found),
      .group_full_i(group_full),
      .mr_we_o(mr_we),
      .mr_index_o(mr_index),
      .mr_o(mr_new),
      .mr_i(mr_now),
      .flush_o(flush),
      .flush_done_i(flush_done)
  );

  // ---- Memory: translation and DMA. Clients of xlate: requester, responder, completer, receives,
  // firmware.
  localparam int unsigned XlateClients = 5;
  logic [XlateClients-1:0] xlate_valid, xlate_ready, xlate_rsp_valid;
  xlate_req_t xlate_req[XlateClients];
  xlate_rsp_t xlate_rsp;
  // Who has an address of a region, and has not asked for a transfer with it.
  logic [XlateClients-1:0] xlate_hold;
  logic xlate_let_go, read_fence, read_fence_done;
  assign xlate_hold[3:2] = '0;  // rings only

  // Clients of dma_read: PBL cache, WQE fetch, payload, receives, firmware.
  logic [4:0] read_valid, read_ready, beat_valid;
  dma_read_req_t read_req[5];
  dma_read_beat_t beat;

  xlate #(
      .N_STAG(N_STAG),
      .CLIENTS(XlateClients)
  ) u_xlate (
      .clk_i,
      .rst_ni,
      .init_done_o(xlate_init_done),
      .idle_o(xlate_idle),
      .req_valid_i(xlate_valid),
      .req_ready_o(xlate_ready),
      .req_i(xlate_req),
      .rsp_valid_o(xlate_rsp_valid),
      .rsp_o(xlate_rsp),
      .hold_i(xlate_hold),
      .let_go_o(xlate_let_go),
      .fence_o(read_fence),
      .fence_done_i(read_fence_done),
      .mr_we_i(mr_we),
      .mr_index_i(mr_index),
      .mr_i(mr_new),
      .mr_o(mr_now),
      .flush_i(flush),
      .flush_done_o(flush_done),
      .rd_valid_o(read_valid[0]),
      .rd_ready_i(read_ready[0]),
      .rd_req_o(read_req[0]),
      .beat_valid_i(beat_valid[0]),
      .beat_i(beat),
      .event_o(event_src[EvXlate])
  );

  dma_read u_dma_read (
      .clk_i,
      .rst_ni,
      .idle_o(read_idle),
      .waits_o(read_waits),
      .watches_o(reads_o),
      .cfg_max_read_i,
      .cfg_timeout_i(cfg_read_timeout_i),
      .time_i,
      .fence_i(read_fence),
      .fence_done_o(read_fence_done),
      .req_valid_i(read_valid),
      .req_ready_o(read_ready),
      .req_i(read_req),
      .beat_valid_o(beat_valid),
      .beat_o(beat),
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
      .event_o(event_src[EvDmaRead])
  );

  // Writes: the responder's, and the completer's with firmware's and the other interrupts between
  // them.
  logic [1:0] write_valid, write_ready;
  dma_write_cmd_t write_cmd[2], completer_write;
  logic completer_write_valid, frame_done, ports_irq, ports_irq_ready;
  vector_t ports_vector;
  node_t frame_done_node;
  rx_address_t rx_read_address;
  data_t rx_read_data;
  always_comb begin
    write_valid[1] = completer_write_valid || port_write_valid || irq_valid || ports_irq;
    port_write_ready = write_ready[1] && !completer_write_valid;
    write_cmd[1] = '0;
    if (completer_write_valid) begin
      write_cmd[1] = completer_write;
    end else if (port_write_valid) begin
      write_cmd[1] = port_cmd;
    end else if (irq_valid || ports_irq) begin
      write_cmd[1].kind = DMA_WRITE_MSIX;
      write_cmd[1].address = irq_valid ? 64'(MSIX_VECTOR_CONTROL) : 64'(ports_vector);
    end
    irq_ready = write_ready[1] && !completer_write_valid && !port_write_valid;
    ports_irq_ready = irq_ready && !irq_valid;
  end

  dma_write u_dma_write (
      .clk_i,
      .rst_ni,
      .idle_o(write_idle),
      .cfg_max_payload_i,
      .fence_i(fence),
      .fence_done_o(fence_done),
      .cmd_valid_i(write_valid),
      .cmd_ready_o(write_ready),
      .cmd_i(write_cmd),
      .rx_read_address_o(rx_read_address),
      .rx_read_data_i(rx_read_data),
      .wr_valid_o,
      .wr_ready_i,
      .wr_msix_o,
      .wr_sop_o,
      .wr_eop_o,
      .wr_address_o,
      .wr_length_o,
      .wr_data_o,
      .frame_done_o(frame_done),
      .frame_done_node_o(frame_done_node),
      .event_o(event_src[EvDmaWrite])
  );

  // ---- Slots of the retransmission buffer: the window goes first.
  logic alloc_valid, alloc_payload_valid, alloc_ready, submit_valid, submit_ready;
  slot_t alloc_slot;
  node_t quota_node;
  reads_t quota_slots;
  logic quota_start, quota_room;
  tx_desc_t submit, req_submit, send_submit;
  logic send_alloc_ready, send_submit_valid, window_prompt, window_room;
  node_t window_node;
  logic req_alloc_ready, req_submit_valid;
  assign alloc_ready = (req_alloc_ready && alloc_payload_valid) || send_alloc_ready;
  assign submit_valid = req_submit_valid || send_submit_valid;
  assign submit = send_submit_valid ? send_submit : req_submit;

  logic flush_valid, flush_ready;
  logic done_ready, tx_done_valid, tx_done_ready, lost_valid, prompt_done_valid, gives_up_valid;
  tx_done_t done, tx_done, lost;
  /* verilator lint_off UNUSEDSIGNAL */  // for who looks at the core from outside
  tx_done_t prompt_done;
  /* verilator lint_on UNUSEDSIGNAL */
  tx_tag_t gives_up;
  logic peer_restart, peer_restart_ready;
  node_t peer_restart_node;

  requester u_requester (
      .clk_i,
      .rst_ni,
      .cfg_node_i,
      .mtu_i(mtu),
      .more_turns_i(others_wait),
      .quiesce_i(quiesce),
      .quiescent_o(req_quiescent),
      .idle_o(req_idle),
      .waits_o(req_waits),
      .turn_valid_i(turn_valid),
      .turn_ready_o(turn_ready),
      .turn_qpn_i(turn_qpn),
      .wake_valid_o(wake_valid[4]),
      .wake_ready_i(wake_ready[4]),
      .wake_qpn_o(wake_qpn[4]),
      .qp_read_o(qp_read[QP_REQUESTER]),
      .qp_read_qpn_o(qp_read_qpn[QP_REQUESTER]),
      .qp_i(qp[QP_REQUESTER]),
      .sq_we_o(sq_we),
      .sq_o(sq),
      .status_valid_o(status_valid[2]),
      .status_ready_i(status_ready[2]),
      .status_o(status[2]),
      .qp_error_o(req_qp_error),
      .flush_valid_o(flush_valid),
      .flush_ready_i(flush_ready),
      .pull_count_i(pull_count[0]),
      .pull_push_o(pull_push),
      .pull_o(pull_new),
      .read_count_i(read_count[0]),
      .punt_count_i(punt_count[0]),
      .read_i(read_head[0]),
      .paused_i(paused),
      .asks_i(asks),
      .waits_for_peer_o(waits_for_peer),
      .waits_no_more_o(waits_no_more),
      .asked_o(asked),
      .has_windows_i(has_windows),
      .lost_i(fw_lost),
      .credit_known_i(credit_known),
      .credit_limit_i(credit_limit),
      .stall_o(stall),
      .erratum_i(erratum),
      .read_pop_o(read_pop),
      .read_set_o(read_set),
      .read_o(read_rest),
      .pio_held_i(pio_held),
      .pio_index_i(pio_index),
      .pio_slot_i(pio_slot),
      .pio_take_o(pio_take),
      .xlate_valid_o(xlate_valid[0]),
      .xlate_ready_i(xlate_ready[0]),
      .xlate_o(xlate_req[0]),
      .xlate_rsp_valid_i(xlate_rsp_valid[0]),
      .xlate_rsp_i(xlate_rsp),
      .xlate_hold_o(xlate_hold[0]),
      .xlate_let_go_i(xlate_let_go),
      .wqe_read_valid_o(read_valid[1]),
      .wqe_read_ready_i(read_ready[1]),
      .wqe_read_o(read_req[1]),
      .wqe_beat_valid_i(beat_valid[1]),
      .beat_i(beat),
      .payload_read_valid_o(payload_read_valid),
      .payload_read_ready_i(read_ready[2]),
      .payload_read_o(payload_read),
      .alloc_valid_i(alloc_payload_valid && !send_alloc_ready),
      .alloc_ready_o(req_alloc_ready),
      .alloc_slot_i(alloc_slot),
      .quota_node_o(quota_node),
      .quota_slots_o(quota_slots),
      .quota_start_i(quota_start),
      .quota_room_i(quota_room),
      .submit_valid_o(req_submit_valid),
      .submit_ready_i(submit_ready && !send_submit_valid),
      .submit_o(req_submit),
      .event_o(event_src[EvRequester])
  );

  // Payload of segments: the requester's, and firmware's between them.
  logic payload_read_valid;
  dma_read_req_t payload_read, fw_read;
  assign read_valid[2] = payload_read_valid || fw_read_valid;
  assign read_req[2] = payload_read_valid ? payload_read : fw_read;

  // ---- Windows, ports and firmware. Their segments go between those of the requester.
  logic item_valid, item_ready, item_refused, item_loads, message_valid, message_ready;
  window_item_t item;
  port_message_t message, arrival;
  logic answer_valid, arrival_valid, arrival_ready, arrival_good;
  window_answer_t answer;

  // The queue pair that the requester has read.
  logic requester_looks_q, has_windows;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) requester_looks_q <= 1'b0;
    else requester_looks_q <= qp_read[QP_REQUESTER];
  end

  window #(
      .N_WINDOW(N_WINDOW)
  ) u_window (
      .clk_i,
      .rst_ni,
      .idle_o(window_idle),
      .enable_i(enable && ready),
      .quiesce_i(stop),
      .combine_cycles_i(combine_cycles),
      .load_cycles_i(load_cycles),
      .valid_i(mmio_valid_i && to_window && (mmio_write_i || at_once)),
      .ready_o(window_ready),
      .write_i(mmio_write_i),
      .address_i(mmio_address_i),
      .size_i(mmio_size_i),
      .data_i(mmio_data_i),
      .rsp_valid_o(window_rsp_valid),
      .rsp_data_o(window_rsp_data),
      .loading_o(window_loading),
      .flush_i(drain || (mmio_valid_i && !to_window && !to_user_page)),
      .empty_o(window_empty),
      .entry_we_i(entry_we),
      .entry_index_i(entry_index),
      .entry_i(entry),
      .look_i(requester_looks_q),
      .look_qpn_i(qp_read_qpn[QP_REQUESTER]),
      .look_generation_i(qp[QP_REQUESTER].cfg.generation),
      .has_windows_o(has_windows),
      .item_valid_o(item_valid),
      .item_ready_i(item_ready),
      .item_o(item),
      .item_refused_i(item_refused),
      .item_loads_i(item_loads),
      .answer_valid_i(answer_valid),
      .answer_i(answer),
      .failed_valid_i({status_valid[1] && status[1].state == QP_STATE_ERROR,
                       status_valid[0] && status[0].state == QP_STATE_ERROR}),
      .failed_qpn_i(status_qpn[0:1]),
      .event_o(event_src[EvWindow])
  );

  window_send #(
      .N_QP(N_QP)
  ) u_window_send (
      .clk_i,
      .rst_ni,
      .idle_o(send_idle),
      .quiesce_i(stop),
      .quiescent_o(send_quiescent),
      .item_valid_i(item_valid),
      .item_ready_o(item_ready),
      .item_i(item),
      .refused_o(item_refused),
      .loads_o(item_loads),
      .drop_i(entry_we),
      .drop_index_i(entry_index),
      .message_valid_i(message_valid),
      .message_ready_o(message_ready),
      .message_i(message),
      .firmware_valid_i(fw_send_valid),
      .firmware_sent_o(fw_sent),
      .firmware_no_room_o(fw_no_room),
      .firmware_i(fw_send),
      .read_valid_o(fw_read_valid),
      .read_ready_i(read_ready[2] && !payload_read_valid),
      .read_o(fw_read),
      .gives_up_valid_o(gives_up_valid),
      .gives_up_ready_i(!prompt_done_valid),
      .gives_up_o(gives_up),
      .qp_read_o(qp_read[QP_WINDOW]),
      .qp_read_qpn_o(qp_read_qpn[QP_WINDOW]),
      .qp_i(qp[QP_WINDOW]),
      .clear_i(qp_we && qp_clear),
      .clear_qpn_i(qp_read_qpn[QP_MAILBOX]),
      .alloc_valid_i(alloc_valid),
      .alloc_payload_valid_i(alloc_payload_valid),
      .alloc_ready_o(send_alloc_ready),
      .alloc_slot_i(alloc_slot),
      .quota_node_o(window_node),
      .quota_prompt_o(window_prompt),
      .quota_room_i(window_room),
      .submit_valid_o(send_submit_valid),
      .submit_ready_i(submit_ready),
      .submit_o(send_submit)
  );

  // What of these has failed. It does not queue with the ends of other work.
  logic prompt_fails;
  tx_tag_t prompt_failed;
  assign prompt_fails = prompt_done_valid ? prompt_done.status != CQE_STATUS_SUCCESS : gives_up_valid;
  assign prompt_failed = prompt_done_valid ? prompt_done.tag : gives_up;
  window_failures #(
      .N_WINDOW(N_WINDOW)
  ) u_window_failures (
      .clk_i,
      .rst_ni,
      .failed_valid_i(prompt_fails && prompt_failed.kind == TX_KIND_SEGMENT),
      .failed_i(prompt_failed),
      .done_valid_o(lost_valid),
      .done_ready_i(done_ready),
      .done_o(lost)
  );
  assign done_valid = lost_valid || tx_done_valid;
  assign done = lost_valid ? lost : tx_done;
  assign tx_done_ready = done_ready && !lost_valid;

  ports u_ports (
      .clk_i,
      .rst_ni,
      .idle_o(ports_idle),
      .cfg_node_i,
      .enable_i(enable && ready),
      .link_up_i,
      .valid_i(mmio_valid_i && to_ports && in_order),
      .ready_o(ports_ready),
      .write_i(mmio_write_i),
      .word_i(mmio_size_i == 4'd4 && mmio_address_i[1:0] == '0),
      .address_i(mmio_address_i[15:0]),
      .data_i(mmio_data_i[31:0]),
      .rsp_valid_o(ports_rsp_valid),
      .rsp_data_o(ports_rsp_data),
      .arrival_valid_i(arrival_valid),
      .arrival_ready_o(arrival_ready),
      .arrival_good_i(arrival_good),
      .arrival_i(arrival),
      .failed_valid_i(prompt_fails && prompt_failed.kind == TX_KIND_PORT),
      .failed_port_i(port_t'(prompt_failed.qpn)),
      .restart_valid_i(peer_restart && peer_restart_ready),
      .restart_node_i(peer_restart_node),
      .message_valid_o(message_valid),
      .message_ready_i(message_ready),
      .message_o(message),
      .irq_valid_o(ports_irq),
      .irq_ready_i(ports_irq_ready),
      .irq_vector_o(ports_vector),
      .event_o(event_src[EvPorts])
  );

  rx_desc_t desc;
  logic desc_ready, refuse_valid, refuse_ready, refuse_set, refuse_put_off, heard_valid;
  refusal_t refusal;
  node_t heard_node;
  logic [7:0] heard;
  logic rx_done_valid, rx_done_ready;
  rx_done_t rx_done;

  // Receives that were posted are fetched before their messages come, as the user page sees them.
  receive_ring_id_t cleared_ring;
  receive_ring_t posted_ring;
  assign cleared_ring = srq_we ?
      '{shared: 1'b1, number: ($bits(cleared_ring.number))'(srq_read_srqn[SRQ_MAILBOX])} :
      '{shared: 1'b0, number: ($bits(cleared_ring.number))'(qp_read_qpn[QP_MAILBOX])};
  always_comb begin
    if (srq_producer_we) begin
      posted_ring = '{
          id: '{shared: 1'b1, number: ($bits(cleared_ring.number))'(srq_read_srqn[SRQ_USER_PAGE])},
          pbl: srq[SRQ_USER_PAGE].cfg.pbl,
          log_slots: srq[SRQ_USER_PAGE].cfg.log_slots,
          consumer: srq[SRQ_USER_PAGE].consumer,
          producer: srq_producer
      };
    end else begin
      posted_ring = '{
          id: '{shared: 1'b0, number: ($bits(cleared_ring.number))'(producer_qpn)},
          pbl: qp[QP_USER_PAGE].cfg.rq_pbl,
          log_slots: qp[QP_USER_PAGE].cfg.rq_log,
          consumer: qp[QP_USER_PAGE].rq_consumer,
          producer: producer
      };
    end
  end

  // What comes; and of what is sent once, copies of what comes for a group.
  logic came_valid, came_ready, once_valid, once_ready, copy_valid, copy_ready, group_look, group_known;
  rx_desc_t came, once, copy;
  group_t group_looked;
  groups u_groups (
      .clk_i,
      .rst_ni,
      .idle_o(groups_idle),
      .valid_i(group_valid),
      .op_i(group_op),
      .group_i(group),
      .qpn_i(group_qpn),
      .done_o(group_done),
      .found_o(group_found),
      .full_o(group_full),
      .look_i(group_look),
      .look_group_i(group_looked),
      .known_o(group_known),
      .desc_valid_i(once_valid),
      .desc_ready_o(once_ready),
      .desc_i(once),
      .desc_valid_o(copy_valid),
      .desc_ready_i(copy_ready),
      .desc_o(copy),
      .event_o(event_src[EvGroups])
  );
  class_turns u_class_turns (
      .clk_i,
      .rst_ni,
      .reliable_valid_i(came_valid),
      .reliable_ready_o(came_ready),
      .reliable_i(came),
      .once_valid_i(copy_valid),
      .once_ready_o(copy_ready),
      .once_i(copy),
      .desc_valid_o(desc_valid),
      .desc_ready_i(desc_ready),
      .desc_o(desc)
  );

  responder #(
      .N_QP(N_QP)
  ) u_responder (
      .clk_i,
      .rst_ni,
      .init_done_o(resp_init_done),
      .clear_i(qp_we && qp_clear),
      .clear_qpn_i(qp_read_qpn[QP_MAILBOX]),
      .clear_ring_i((qp_we && qp_clear) || (srq_we && srq_clear)),
      .clear_ring_id_i(cleared_ring),
      .posted_valid_i((producer_we && producer_rq) || srq_producer_we),
      .posted_i(posted_ring),
      .look_i(qp_read[QP_MAILBOX]),
      .look_qpn_i(qp_read_qpn[QP_MAILBOX]),
      .message_open_o(message_open),
      .quiesce_i(quiesce),
      .quiescent_o(resp_quiescent),
      .idle_o(resp_idle),
      .waits_o(resp_waits),
      .desc_valid_i(desc_valid),
      .desc_ready_o(desc_ready),
      .desc_i(desc),
      .refuse_valid_o(refuse_valid),
      .refuse_ready_i(refuse_ready),
      .refuse_put_off_i(refuse_put_off),
      .refusal_o(refusal),
      .qp_read_o(qp_read[QP_RESPONDER]),
      .qp_read_qpn_o(qp_read_qpn[QP_RESPONDER]),
      .qp_i(qp[QP_RESPONDER]),
      .peer_we_o(peer_we),
      .peer_o(peer),
      .refused_we_o(refused_we),
      .refused_o(refused),
      .rq_we_o(rq_consumer_we),
      .rq_consumer_o(rq_consumer),
      .srq_read_o(srq_read[SRQ_RESPONDER]),
      .srq_read_srqn_o(srq_read_srqn[SRQ_RESPONDER]),
      .srq_i(srq[SRQ_RESPONDER]),
      .srq_we_o(srq_consumer_we),
      .srq_consumer_o(srq_consumer),
      .srq_limit_o(srq_limit),
      .srq_limit_event_o(srq_limit_event),
      .pull_count_i(pull_count[1]),
      .pull_i(pull_head[1]),
      .pull_pop_o(pull_pop),
      .pull_set_o(pull_set),
      .pull_o(pull_rest),
      .read_count_i(read_count[1] + punt_count[1]),
      .punt_count_i(punt_count[1]),
      .read_push_o(read_push),
      .read_o(read_new),
      .firmware_i(fw_active),
      .fw_grant_index_o(fw_grant_index),
      .fw_grant_i(fw_grant),
      .fw_placing_o(fw_placing),
      .punt_reads_i(pull_by_firmware),
      .punt_valid_o(punt_valid),
      .punt_ready_i(punt_ready),
      .punt_o(punt),
      .flush_valid_i(flush_valid),
      .flush_ready_o(flush_ready),
      .flush_qpn_i(qp_read_qpn[QP_REQUESTER]),
      .rx_done_valid_o(rx_done_valid),
      .rx_done_ready_i(rx_done_ready),
      .rx_done_o(rx_done),
      .fetch_xlate_valid_o(xlate_valid[3]),
      .fetch_xlate_ready_i(xlate_ready[3]),
      .fetch_xlate_o(xlate_req[3]),
      .fetch_xlate_rsp_valid_i(xlate_rsp_valid[3]),
      .fetch_xlate_rsp_i(xlate_rsp),
      .fetch_read_valid_o(read_valid[3]),
      .fetch_read_ready_i(read_ready[3]),
      .fetch_read_o(read_req[3]),
      .fetch_beat_valid_i(beat_valid[3]),
      .beat_i(beat),
      .status_valid_o(status_valid[0]),
      .status_ready_i(status_ready[0]),
      .status_qpn_o(status_qpn[0]),
      .status_o(status[0]),
      .pause_valid_o(pause_start),
      .pause_code_o(pause_code),
      .credit_valid_o(credit_taken),
      .credit_o(credit_what),
      .wake_valid_o(wake_valid[1]),
      .wake_ready_i(wake_ready[1]),
      .wake_qpn_o(wake_qpn[1]),
      .qp_error_o(resp_qp_error),
      .xlate_valid_o(xlate_valid[1]),
      .xlate_ready_i(xlate_ready[1]),
      .xlate_o(xlate_req[1]),
      .xlate_rsp_valid_i(xlate_rsp_valid[1]),
      .xlate_rsp_i(xlate_rsp),
      .xlate_hold_o(xlate_hold[1]),
      .write_valid_o(write_valid[0]),
      .write_ready_i(write_ready[0]),
      .write_o(write_cmd[0]),
      .write_idle_i(write_idle),
      .port_valid_o(arrival_valid),
      .port_ready_i(arrival_ready),
      .port_good_o(arrival_good),
      .port_o(arrival),
      .answer_valid_o(answer_valid),
      .answer_o(answer),
      .event_o(event_src[EvResponder])
  );


  completer #(
      .N_CQ(N_CQ)
  ) u_completer (
      .clk_i,
      .rst_ni,
      .init_done_o(cq_init_done),
      .quiesce_i(quiesce),
      .quiescent_o(comp_quiescent),
      .settled_o(comp_settled),
      .idle_o(comp_idle),
      .time_i,
      .done_valid_i(done_valid),
      .done_ready_o(done_ready),
      .done_i(done),
      .rx_done_valid_i(rx_done_valid),
      .rx_done_ready_o(rx_done_ready),
      .rx_done_i(rx_done),
      .ended_we_o(ended_we),
      .ended_o(ended),
      .bell_valid_i(bell_valid),
      .bell_ready_o(bell_ready),
      .bell_busy_o(bell_busy),
      .bell_i(bell),
      .qp_read_o(qp_read[QP_COMPLETER]),
      .qp_read_qpn_o(qp_read_qpn[QP_COMPLETER]),
      .qp_i(qp[QP_COMPLETER]),
      .status_valid_o(status_valid[1]),
      .status_ready_i(status_ready[1]),
      .status_qpn_o(status_qpn[1]),
      .status_o(status[1]),
      .wake_valid_o(wake_valid[0]),
      .wake_ready_i(wake_ready[0]),
      .wake_qpn_o(wake_qpn[0]),
      .qp_error_o(comp_qp_error),
      .cq_error_o(cq_error),
      .cq_error_cqn_o(cq_error_cqn),
      .config_we_i(cq_we),
      .config_cqn_i(cq_cqn),
      .config_i(cq_config_new),
      .config_o(cq_config_now),
      .xlate_valid_o(xlate_valid[2]),
      .xlate_ready_i(xlate_ready[2]),
      .xlate_o(xlate_req[2]),
      .xlate_rsp_valid_i(xlate_rsp_valid[2]),
      .xlate_rsp_i(xlate_rsp),
      .write_valid_o(completer_write_valid),
      .write_ready_i(write_ready[1]),
      .write_o(completer_write),
      .event_o(event_src[EvCompleter])
  );

  // ---- EFE
  logic ack_valid, ack_ready, ack_request, ack_request_sack;
  logic [15:0] peer_restart_known;
  rx_ack_t ack;
  node_t ack_request_node, rx_query_node;
  rx_state_t rx_state;
  logic ack_sent;

  efe_tx u_efe_tx (
      .clk_i,
      .rst_ni,
      .init_done_o(tx_init_done),
      .idle_o(tx_idle),
      .waits_o(tx_waits),
      .cfg_node_i,
      .cfg_rto_cycles_i(rto_cycles),
      .cfg_retry_limit_i(retry_limit),
      .enable_i(enable),
      .time_i,
      .alloc_valid_o(alloc_valid),
      .alloc_payload_valid_o(alloc_payload_valid),
      .alloc_ready_i(alloc_ready),
      .quota_node_i(quota_node),
      .quota_slots_i(quota_slots),
      .quota_start_o(quota_start),
      .quota_room_o(quota_room),
      .window_node_i(window_node),
      .window_prompt_i(window_prompt),
      .window_room_o(window_room),
      .alloc_slot_o(alloc_slot),
      .beat_valid_i(beat_valid[2]),
      .beat_i(beat),
      .submit_valid_i(submit_valid),
      .submit_ready_o(submit_ready),
      .submit_i(submit),
      .done_valid_o(tx_done_valid),
      .done_ready_i(tx_done_ready),
      .done_o(tx_done),
      .prompt_done_valid_o(prompt_done_valid),
      .prompt_done_o(prompt_done),
      .ack_valid_i(ack_valid),
      .ack_ready_o(ack_ready),
      .ack_i(ack),
      .refusal_set_i(refuse_set),
      .refusal_i(refusal),
      .heard_valid_o(heard_valid),
      .heard_node_o(heard_node),
      .heard_o(heard),
      .ack_request_valid_i(ack_request),
      .ack_request_node_i(ack_request_node),
      .ack_request_sack_i(ack_request_sack),
      .credit_valid_i(credit_valid),
      .credit_ready_o(credit_ready),
      .credit_i(credit),
      .peer_restart_valid_i(peer_restart),
      .peer_restart_ready_o(peer_restart_ready),
      .peer_restart_known_i(peer_restart_known),
      .peer_restart_node_i(peer_restart_node),
      .rx_query_node_o(rx_query_node),
      .rx_state_i(rx_state),
      .ack_sent_o(ack_sent),
      .tx_valid_o,
      .tx_ready_i,
      .tx_sop_o,
      .tx_eop_o,
      .tx_data_o,
      .tx_bytes_o,
      .event_o(event_src[EvEfeTx])
  );

  efe_rx u_efe_rx (
      .clk_i,
      .rst_ni,
      .init_done_o(rx_init_done),
      .idle_o(rx_idle),
      .waits_o(rx_waits),
      .cfg_node_i,
      .enable_i(enable),
      .rx_valid_i,
      .rx_ready_o,
      .rx_sop_i,
      .rx_eop_i,
      .rx_data_i,
      .rx_bytes_i,
      .rx_error_i,
      .desc_valid_o(came_valid),
      .desc_ready_i(came_ready),
      .desc_o(came),
      .once_valid_o(once_valid),
      .once_ready_i(once_ready),
      .once_o(once),
      .group_look_o(group_look),
      .group_o(group_looked),
      .group_known_i(group_known),
      .read_address_i(rx_read_address),
      .read_data_o(rx_read_data),
      .frame_done_valid_i(frame_done),
      .frame_done_node_i(frame_done_node),
      .refuse_valid_i(refuse_valid),
      .refuse_ready_o(refuse_ready),
      .refuse_node_i(refusal.node),
      .refuse_seq_i(refusal.seq),
      .refuse_set_o(refuse_set),
      .refuse_put_off_o(refuse_put_off),
      .heard_valid_i(heard_valid),
      .heard_node_i(heard_node),
      .heard_i(heard),
      .ack_valid_o(ack_valid),
      .ack_ready_i(ack_ready),
      .ack_o(ack),
      .ack_request_valid_o(ack_request),
      .ack_request_node_o(ack_request_node),
      .ack_request_sack_o(ack_request_sack),
      .credit_valid_o(credit_came),
      .credit_o(credit_news),
      .peer_restart_valid_o(peer_restart),
      .peer_restart_ready_i(peer_restart_ready),
      .peer_restart_known_o(peer_restart_known),
      .peer_restart_node_o(peer_restart_node),
      .rx_query_node_i(rx_query_node),
      .rx_state_o(rx_state),
      .ack_sent_i(ack_sent),
      .event_o(event_src[EvEfeRx])
  );

endmodule
