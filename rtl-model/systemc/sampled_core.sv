// SPDX-License-Identifier: BSD-2-Clause
// The core as the simulator clocks it: inputs are taken at the falling edge, so that they are
// there before the rising one. To the core that makes no difference. To Verilator it does: it
// computes what depends on a top's inputs in every evaluation, on registers only after their edge.
//
// It also holds the probes of tracing which read the core's own handshakes.

module sampled_core
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    // What happened in the core in the cycle before; means something with trace_i only.
    input  logic        trace_i,
    output logic [TRACE_PROCESSOR_WAITS:0] trace_valid_o,
    output trace_args_t trace_o[TRACE_COMPLETION+1],

    // The instruction of the on-chip processor that ended in the cycle before; likewise with retires_i.
    input  logic        retires_i,
    output logic        retired_o,
    output logic        retired_exception_o,  // by one
    output logic [31:0] retired_pc_o,
    output logic [31:0] retired_instruction_o,

    // A frame that goes round (wire/loopback), beat by beat.
    output logic        looped_o,
    output logic        looped_eop_o,
    output data_t       looped_data_o,
    output beat_bytes_t looped_bytes_o,

    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        power_ni,
    output logic        idle_o,
    output logic        waits_o,
    output logic        watches_o,
    output logic        ticks_o,
    output logic        reads_o,
    input  logic [15:0] cfg_node_i,
    input  logic [63:0] cfg_guid_i,
    input  logic [31:0] cfg_clock_khz_i,
    input  logic [15:0] cfg_max_payload_i,
    input  logic [15:0] cfg_max_read_i,
    input  logic [5:0]  cfg_read_timeout_i,
    input  window_shift_t cfg_window_shift_i,
    input  logic        link_up_i,
    input  logic [63:0] time_i,
    input  logic        mmio_valid_i,
    output logic        mmio_ready_o,
    input  logic        mmio_write_i,
    input  logic [2:0]  mmio_bar_i,
    input  logic [31:0] mmio_address_i,
    input  logic [3:0]  mmio_size_i,
    input  logic [63:0] mmio_data_i,
    output logic        mmio_rsp_valid_o,
    output logic [63:0] mmio_rsp_data_o,
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
    output logic        wr_valid_o,
    input  logic        wr_ready_i,
    output logic        wr_msix_o,
    output logic        wr_sop_o,
    output logic        wr_eop_o,
    output logic [63:0] wr_address_o,
    output logic [15:0] wr_length_o,
    output data_t       wr_data_o,
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

  logic [15:0] cfg_node_q;
  logic [63:0] cfg_guid_q;
  logic [31:0] cfg_clock_khz_q;
  logic [15:0] cfg_max_payload_q;
  logic [15:0] cfg_max_read_q;
  logic [5:0]  cfg_read_timeout_q;
  window_shift_t cfg_window_shift_q;
  logic        link_up_q;
  logic [63:0] time_q;
  logic        mmio_valid_q;
  logic        mmio_write_q;
  logic [2:0]  mmio_bar_q;
  logic [31:0] mmio_address_q;
  logic [3:0]  mmio_size_q;
  logic [63:0] mmio_data_q;
  logic        rd_ready_q;
  logic        cpl_valid_q;
  logic [7:0]  cpl_tag_q;
  data_t       cpl_data_q;
  beat_bytes_t cpl_bytes_q;
  logic        cpl_last_q;
  logic        cpl_error_q;
  logic        wr_ready_q;
  logic        tx_ready_q;
  logic        rx_valid_q;
  logic        rx_sop_q;
  logic        rx_eop_q;
  data_t       rx_data_q;
  beat_bytes_t rx_bytes_q;
  logic        rx_error_q;

  always_ff @(negedge clk_i) begin
    cfg_node_q        <= cfg_node_i;
    cfg_guid_q        <= cfg_guid_i;
    cfg_clock_khz_q   <= cfg_clock_khz_i;
    cfg_max_payload_q <= cfg_max_payload_i;
    cfg_max_read_q    <= cfg_max_read_i;
    cfg_read_timeout_q <= cfg_read_timeout_i;
    cfg_window_shift_q <= cfg_window_shift_i;
    link_up_q         <= link_up_i;
    time_q            <= time_i;
    mmio_valid_q      <= mmio_valid_i;
    mmio_write_q      <= mmio_write_i;
    mmio_bar_q        <= mmio_bar_i;
    mmio_address_q    <= mmio_address_i;
    mmio_size_q       <= mmio_size_i;
    mmio_data_q       <= mmio_data_i;
    rd_ready_q        <= rd_ready_i;
    cpl_valid_q       <= cpl_valid_i;
    cpl_tag_q         <= cpl_tag_i;
    cpl_data_q        <= cpl_data_i;
    cpl_bytes_q       <= cpl_bytes_i;
    cpl_last_q        <= cpl_last_i;
    cpl_error_q       <= cpl_error_i;
    wr_ready_q        <= wr_ready_i;
    tx_ready_q        <= tx_ready_i;
    rx_valid_q        <= rx_valid_i;
    rx_sop_q          <= rx_sop_i;
    rx_eop_q          <= rx_eop_i;
    rx_data_q         <= rx_data_i;
    rx_bytes_q        <= rx_bytes_i;
    rx_error_q        <= rx_error_i;
  end

  // ---- Probes. In the cycle in which a handshake is done, what it says is kept for the simulator.
  /* verilator lint_off UNUSEDSIGNAL */  // a probe takes what it needs
  tx_tag_t submit_tag;
  cqe_t probe_cqe;
  assign submit_tag = u_core.u_wire.submit.tag;
  tx_done_t ended;
  assign ended = u_core.prompt_ended ? u_core.prompt_ended_what : u_core.sent.data;
  assign probe_cqe = u_core.completion.data.data;

  function automatic logic [7:0] flags_of(tx_tag_t tag, logic unsent);
    flags_of = '0;
    flags_of[TRACE_FLAGS_LAST] = tag.kind inside {TX_KIND_LAST, TX_KIND_FLUSH};
    flags_of[TRACE_FLAGS_RESPONSE] = tag.kind == TX_KIND_RESPONSE;
    flags_of[TRACE_FLAGS_TERMINATE] = tag.kind == TX_KIND_TERMINATE;
    flags_of[TRACE_FLAGS_SIGNALED] = tag.signaled;
    flags_of[TRACE_FLAGS_UNSENT] = unsent;
    flags_of[TRACE_FLAGS_PORT] = tag.kind inside {TX_KIND_PORT, TX_KIND_FIRMWARE};
    flags_of[TRACE_FLAGS_PULL] = tag.opcode == WQE_OPCODE_PULL && tag.kind == TX_KIND_SEGMENT;
  endfunction

  function automatic logic [7:0] end_flags(rx_done_t done);
    end_flags = '0;
    end_flags[TRACE_FLAGS_PULL] = done.opcode == 8'(WQE_OPCODE_PULL);
    end_flags[TRACE_FLAGS_RECEIVE] = done.opcode == 8'(WQE_OPCODE_RECV);
    end_flags[TRACE_FLAGS_SIGNALED] = done.signaled;
  endfunction

  function automatic trace_args_t args(logic [31:0] qpn, wqe_index_t index, node_t node,
                                       logic [7:0] flags);
    args = '{qpn: qpn, index: 16'(index), node: 16'(node), flags: flags, default: '0};
  endfunction

  logic trace_q, processor_idle_q;
  always_ff @(negedge clk_i) trace_q <= trace_i;
  // Nobody in here reads what is written: without copies for later, it costs nothing when it is off.
  /* verilator lint_off BLKSEQ */
  always_ff @(posedge clk_i) begin
    if (trace_q) begin
      processor_idle_q <= u_core.asleep;
      trace_valid_o = '0;
      trace_valid_o[TRACE_DOORBELL] = u_core.post.valid && !u_core.post.rq;
      trace_valid_o[TRACE_TURN] = u_core.turn.valid && u_core.turn.ready;
      trace_valid_o[TRACE_WORK_FETCH] = u_core.wqe_read.valid && u_core.wqe_read.ready;
      trace_valid_o[TRACE_PAYLOAD_FETCH] = (u_core.payload_read.valid || u_core.firmware_payload_read.valid) &&
          u_core.payload_read.ready;
      trace_valid_o[TRACE_SUBMIT] = u_core.u_wire.submit_valid && u_core.u_wire.submit_ready;
      trace_valid_o[TRACE_ENDED] = u_core.prompt_ended ||
          (u_core.sent.valid && u_core.sent.ready);
      trace_valid_o[TRACE_SEGMENT] = u_core.segment.valid && u_core.segment.ready;
      trace_valid_o[TRACE_PLACED] = u_core.rx_buffer.done;
      trace_valid_o[TRACE_MESSAGE_END] = u_core.u_work.rx_done_valid && u_core.u_work.rx_done_ready &&
          !(u_core.u_work.rx_done.emptied || u_core.u_work.rx_done.drained);
      trace_valid_o[TRACE_COMPLETION] = u_core.completion.valid && u_core.completion.ready &&
          u_core.completion.data.kind == DMA_WRITE_INLINE;
      trace_valid_o[TRACE_PROCESSOR_RUNS] = processor_idle_q && !u_core.asleep;
      trace_valid_o[TRACE_PROCESSOR_WAITS] = !processor_idle_q && u_core.asleep;
      trace_o[TRACE_DOORBELL] = args(32'(u_core.post.qpn), u_core.post.producer, '0, '0);
      trace_o[TRACE_TURN] = args(32'(u_core.turn.data), '0, '0, '0);
      trace_o[TRACE_WORK_FETCH] = args(32'(u_core.qp[QP_REQUESTER].index), '0, '0, '0);
      trace_o[TRACE_PAYLOAD_FETCH] = args(32'(u_core.qp[QP_REQUESTER].index), '0, '0, '0);
      trace_o[TRACE_SUBMIT] = args(32'(submit_tag.qpn), submit_tag.wqe_index, u_core.u_wire.submit.node,
                                    flags_of(submit_tag, u_core.u_wire.submit.unsent));
      trace_o[TRACE_ENDED] = args(32'(ended.tag.qpn), ended.tag.wqe_index, ended.node,
                                   flags_of(ended.tag, 1'b0));
      trace_o[TRACE_SEGMENT] = args(32'(u_core.segment.data.dst_qpn), u_core.segment.data.seq[15:0],
                                     u_core.segment.data.node, '0);
      trace_o[TRACE_PLACED] = args('0, '0, u_core.rx_buffer.node, '0);
      trace_o[TRACE_MESSAGE_END] = args(32'(u_core.u_work.rx_done.qpn), u_core.u_work.rx_done.wqe_index, '0,
                                         end_flags(u_core.u_work.rx_done));
      trace_o[TRACE_COMPLETION] = args(probe_cqe.qpn, probe_cqe.wqe_index[15:0], '0,
          8'(probe_cqe.opcode == 8'(WQE_OPCODE_RECV)) << TRACE_FLAGS_RECEIVE);
    end
  end
  logic retires_q;
  always_ff @(negedge clk_i) retires_q <= retires_i;
  always_ff @(posedge clk_i) begin
    if (retires_q) begin
      retired_o = u_core.retire.valid;
      retired_exception_o = u_core.retire.exception;
      retired_pc_o = u_core.retire.pc;
      retired_instruction_o = u_core.retire.instruction;
    end
  end
  /* verilator lint_on BLKSEQ */
  assign looped_o = u_core.u_wire.in_looped;
  assign looped_eop_o = u_core.u_wire.in_eop;
  assign looped_data_o = u_core.u_wire.in_data;
  assign looped_bytes_o = u_core.u_wire.in_bytes;
  /* verilator lint_on UNUSEDSIGNAL */

  exrnic_core u_core (
      .clk_i,
      .rst_ni,
      .power_ni,
      .idle_o,
      .waits_o,
      .watches_o,
      .ticks_o,
      .reads_o,
      .cfg_node_i(cfg_node_q),
      .cfg_guid_i(cfg_guid_q),
      .cfg_clock_khz_i(cfg_clock_khz_q),
      .cfg_max_payload_i(cfg_max_payload_q),
      .cfg_max_read_i(cfg_max_read_q),
      .cfg_read_timeout_i(cfg_read_timeout_q),
      .cfg_window_shift_i(cfg_window_shift_q),
      .link_up_i(link_up_q),
      .time_i(time_q),
      .mmio_valid_i(mmio_valid_q),
      .mmio_ready_o,
      .mmio_write_i(mmio_write_q),
      .mmio_bar_i(mmio_bar_q),
      .mmio_address_i(mmio_address_q),
      .mmio_size_i(mmio_size_q),
      .mmio_data_i(mmio_data_q),
      .mmio_rsp_valid_o,
      .mmio_rsp_data_o,
      .rd_valid_o,
      .rd_ready_i(rd_ready_q),
      .rd_address_o,
      .rd_length_o,
      .rd_tag_o,
      .cpl_valid_i(cpl_valid_q),
      .cpl_tag_i(cpl_tag_q),
      .cpl_data_i(cpl_data_q),
      .cpl_bytes_i(cpl_bytes_q),
      .cpl_last_i(cpl_last_q),
      .cpl_error_i(cpl_error_q),
      .wr_valid_o,
      .wr_ready_i(wr_ready_q),
      .wr_msix_o,
      .wr_sop_o,
      .wr_eop_o,
      .wr_address_o,
      .wr_length_o,
      .wr_data_o,
      .tx_valid_o,
      .tx_ready_i(tx_ready_q),
      .tx_sop_o,
      .tx_eop_o,
      .tx_data_o,
      .tx_bytes_o,
      .rx_valid_i(rx_valid_q),
      .rx_ready_o,
      .rx_sop_i(rx_sop_q),
      .rx_eop_i(rx_eop_q),
      .rx_data_i(rx_data_q),
      .rx_bytes_i(rx_bytes_q),
      .rx_error_i(rx_error_q)
  );

endmodule
