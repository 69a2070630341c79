// SPDX-License-Identifier: BSD-2-Clause
// Firmware's way to the data path: the punt queue, where the responder leaves requests of peers, and
// direct commands to look-up, DMA and transmit. See README.md.

`include "exrnic_assert.svh"

module firmware_port
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_QP = MAX_QP
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,
    output logic idle_o,
    input  logic quiesce_i,
    output logic quiescent_o,

    // Of the processor: its accesses to the registers here, and its interrupt line.
    input  logic        ready_i,  // firmware is READY
    input  logic        valid_i,  // pulse, of a register that is here
    input  logic        write_i,
    input  logic [11:0] address_i,
    input  logic [31:0] data_i,
    output logic        known_o,  // whether the register is here, and may be read or written
    output logic [31:0] data_o,
    output logic        line_o,       // of the punt queue
    output logic        bell_line_o,

    input node_t  node_i,
    input chunk_t mtu_i,

    // A user page rings.
    input logic      bell_i,
    input page_t     bell_page_i,
    input doorbell_t bell_value_i,
    input logic      bell_whole_i,
    input wqe_slot_t bell_block_i,
    output logic     block_drop_o,  // pulse: forget what a page has of a PIO block
    output page_t    block_drop_page_o,

    // Of the responder.
    output logic  active_o,  // firmware takes requests
    input  logic  punt_valid_i,
    output logic  punt_ready_o,
    input  punt_t punt_i,

    // What other nodes may write: combinational; and whether something is being placed by it.
    input  fw_grant_index_t grant_index_i,
    output fw_grant_t       grant_o,
    input  logic            placing_i,

    // Requests in firmware's hands: requester (0), responder (1), mailbox (2) look at them together
    // with the queue pair.
    input  logic [2:0] look_i,
    input  qpn_t       look_qpn_i[3],
    output reads_t     open_o[3],
    output logic       lost_o,  // requester: firmware has lost some
    input  logic       clear_i,
    input  qpn_t       clear_qpn_i,

    output logic       qp_read_o,
    output qpn_t       qp_read_qpn_o,
    input  qp_t        qp_i,
    output logic       answer_valid_o,
    input  logic       answer_ready_i,
    output read_t      answer_o,  // of qp_read_qpn_o
    output logic       wake_valid_o,
    input  logic       wake_ready_i,
    output qpn_t       wake_qpn_o,

    output logic           xlate_valid_o,
    input  logic           xlate_ready_i,
    output xlate_req_t     xlate_o,
    input  logic           xlate_rsp_valid_i,
    input  xlate_rsp_t     xlate_rsp_i,
    output logic           xlate_hold_o,  // see xlate
    output logic           read_valid_o,
    input  logic           read_ready_i,
    output dma_read_req_t  read_o,
    input  logic           beat_valid_i,
    input  dma_read_beat_t beat_i,
    output logic           write_valid_o,
    input  logic           write_ready_i,
    output dma_write_cmd_t write_o,
    output logic           fence_o,
    input  logic           fence_done_i,

    output logic     send_valid_o,
    output fw_send_t send_o,
    input  logic     sent_i,
    input  logic     no_room_i,

    output event_t event_o
);

  localparam int unsigned WordBits = $clog2(FW_DIRECT_WORDS);

  function automatic logic in_words(logic [11:0] address, logic [15:0] first, int unsigned words);
    return 16'(address) >= first && 32'(address) < 32'(first) + 4 * words;
  endfunction

  // ---- Registers
  logic in_punt, in_direct, in_block, write;
  logic [WordBits-1:0] word;
  assign in_punt = in_words(address_i, REG_DEV_PUNT_WORDS, FW_PUNT_WORDS);
  assign in_direct = in_words(address_i, REG_DEV_DIRECT_WORDS, FW_DIRECT_WORDS);
  assign in_block = in_words(address_i, REG_DEV_BLOCK_WORDS, FW_BLOCK_WORDS);
  assign word = address_i[2+:WordBits];
  assign write = valid_i && write_i;
  always_comb begin
    unique case (address_i)
      12'(REG_DEV_PUNTS), 12'(REG_DEV_DIRECT_STATUS), 12'(REG_DEV_NODE), 12'(REG_DEV_BELL),
      12'(REG_DEV_BELL_NUMBER), 12'(REG_DEV_BELL_INDEX), 12'(REG_DEV_BLOCK):
        known_o = !write_i;
      12'(REG_DEV_PUNT_POP), 12'(REG_DEV_DIRECT), 12'(REG_DEV_BLOCK_POP), 12'(REG_DEV_BLOCK_DROP):
        known_o = write_i;
      default: known_o = in_direct || ((in_punt || in_block) && !write_i);
    endcase
  end

  logic commands_idle, starts;
  assign starts = write && address_i == 12'(REG_DEV_DIRECT) && commands_idle && active_o;

  logic [31:0] punt_word, direct_word;
  logic [4:0] punts;
  fw_direct_status_e status;
  always_comb begin
    if (!valid_i) data_o = '0;
    else if (in_direct) data_o = direct_word;
    else if (in_punt) data_o = punt_word;
    else if (in_block) data_o = block_word;
    else begin
      unique case (address_i)
        12'(REG_DEV_PUNTS): data_o = 32'(punts);
        12'(REG_DEV_NODE): data_o = {16'(node_i), 16'(mtu_i)};
        12'(REG_DEV_BELL): data_o = bell_any ? 32'(bell_page) : '1;
        12'(REG_DEV_BLOCK): data_o = block_any ? 32'(block_page) : '1;
        12'(REG_DEV_BELL_NUMBER): data_o = bell_value.number;
        12'(REG_DEV_BELL_INDEX): data_o = bell_value.index;
        default: data_o = 32'(status);
      endcase
    end
  end

  // ---- Bells of user pages
  logic bell_any;
  page_t bell_page;
  doorbell_t bell_value;
  firmware_bells u_bells (
      .clk_i,
      .rst_ni,
      .empty_i(!active_o),
      .ring_i(bell_i),
      .page_i(bell_page_i),
      .value_i(bell_value_i),
      .any_o(bell_any),
      .page_o(bell_page),
      .take_i(valid_i && !write_i && address_i == 12'(REG_DEV_BELL)),
      .taken_o(bell_value)
  );
  assign bell_line_o = bell_any;

  // ---- Their PIO blocks
  logic block_any;
  page_t block_page;
  logic [31:0] block_word;
  firmware_blocks u_blocks (
      .clk_i,
      .rst_ni,
      .empty_i(!active_o),
      .put_i(bell_i && bell_whole_i),
      .page_i(bell_page_i),
      .block_i(bell_block_i),
      .any_o(block_any),
      .page_o(block_page),
      .word_index_i(word[$clog2(FW_BLOCK_WORDS)-1:0]),
      .word_o(block_word),
      .pop_i(write && address_i == 12'(REG_DEV_BLOCK_POP))
  );
  assign block_drop_o = write && address_i == 12'(REG_DEV_BLOCK_DROP);
  assign block_drop_page_o = page_t'(data_i);

  assign line_o = punts != '0;

  // ---- Requests
  logic pushed, answered, requests_idle, init_done;
  assign pushed = punt_valid_i && punt_ready_o;
  assign answered = answer_valid_o && answer_ready_i;
  punt_queue u_queue (
      .clk_i,
      .rst_ni,
      .empty_i(!active_o),
      .push_valid_i(punt_valid_i),
      .push_ready_o(punt_ready_o),
      .push_i(punt_i),
      .count_o(punts),
      .pop_i(write && address_i == 12'(REG_DEV_PUNT_POP)),
      .read_i(valid_i && in_punt),
      .word_index_i(word[$clog2(FW_PUNT_WORDS)-1:0]),
      .word_o(punt_word)
  );

  logic lost_wake_valid, lost_wake_ready, command_wake_valid, command_wake_ready;
  qpn_t lost_wake_qpn;
  logic [3:0] lost;
  reads_t open[4];
  requests_open #(
      .N_QP(N_QP)
  ) u_open (
      .clk_i,
      .rst_ni,
      .init_done_o(init_done),
      .ready_i,
      .active_o,
      .idle_o(requests_idle),
      .look_i({qp_read_o, look_i}),
      .look_qpn_i('{look_qpn_i[0], look_qpn_i[1], look_qpn_i[2], qp_read_qpn_o}),
      .count_o(open),
      .lost_o(lost),
      .open_i(pushed && !punt_i.message),
      .open_qpn_i(punt_i.qpn),
      .close_i(answered),
      .close_qpn_i(qp_read_qpn_o),
      .clear_i,
      .clear_qpn_i,
      .wake_valid_o(lost_wake_valid),
      .wake_ready_i(lost_wake_ready),
      .wake_qpn_o(lost_wake_qpn)
  );
  assign open_o = '{open[0], open[1], open[2]};
  assign lost_o = lost[0];
  assign init_done_o = init_done;

  // ---- Commands
  logic refused, grant_we;
  fw_grant_t grant;
  direct_commands #(
      .N_QP(N_QP)
  ) u_commands (
      .clk_i,
      .rst_ni,
      .quiesce_i,
      .quiescent_o,
      .idle_o(commands_idle),
      .start_i(starts),
      .op_i(data_i[7:0]),
      .status_o(status),
      .word_write_i(write && in_direct),
      .word_index_i(word),
      .word_i(data_i),
      .word_o(direct_word),
      .look_o(qp_read_o),
      .qpn_o(qp_read_qpn_o),
      .qp_i,
      .open_i(open[3]),
      .lost_i(lost[3]),
      .answer_valid_o,
      .answer_ready_i,
      .answer_o,
      .wake_valid_o(command_wake_valid),
      .wake_ready_i(command_wake_ready),
      .xlate_valid_o,
      .xlate_ready_i,
      .xlate_o,
      .xlate_rsp_valid_i,
      .xlate_rsp_i,
      .xlate_hold_o,
      .read_valid_o,
      .read_ready_i,
      .read_o,
      .beat_valid_i,
      .beat_i,
      .write_valid_o,
      .write_ready_i,
      .write_o,
      .fence_o,
      .fence_done_i,
      .node_i,
      .mtu_i,
      .send_valid_o,
      .send_o,
      .sent_i,
      .no_room_i,
      .grant_we_o(grant_we),
      .grant_o(grant),
      .placing_i,
      .refused_o(refused)
  );

  fw_grants u_grants (
      .clk_i,
      .rst_ni,
      .empty_i(!active_o),
      .we_i(grant_we),
      .grant_i(grant),
      .index_i(grant_index_i),
      .grant_o
  );

  assign wake_valid_o = lost_wake_valid || command_wake_valid;
  assign wake_qpn_o = lost_wake_valid ? lost_wake_qpn : qp_read_qpn_o;
  assign lost_wake_ready = wake_ready_i;
  assign command_wake_ready = wake_ready_i && !lost_wake_valid;

  assign idle_o = init_done && commands_idle && requests_idle && punts == '0 && !bell_any;

  always_comb begin
    event_o = '0;
    if (pushed || refused) begin
      event_o[COUNTER_PUNTS] = pushed && !punt_i.message;
      event_o[COUNTER_FW_MESSAGES] = pushed && punt_i.message;
      event_o[COUNTER_FW_REFUSED] = refused;
    end
  end

  logic unused;
  assign unused = ^lost[2:1];

  // ---- What is promised
  `EXRNIC_HELD(answer_is_held, answer_valid_o, answer_ready_i, answer_o)
  `EXRNIC_HELD(wake_is_held, wake_valid_o, wake_ready_i, wake_qpn_o)
  `EXRNIC_HELD(xlate_is_held, xlate_valid_o, xlate_ready_i, {xlate_o, xlate_hold_o})
  `EXRNIC_HELD(read_is_held, read_valid_o, read_ready_i, read_o)
  `EXRNIC_HELD(write_is_held, write_valid_o, write_ready_i, write_o)

endmodule
