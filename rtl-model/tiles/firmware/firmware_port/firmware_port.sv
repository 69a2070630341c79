// SPDX-License-Identifier: BSD-2-Clause
// Firmware's way to the data path: the punt queue, where the responder leaves requests of peers, and
// direct commands to look-up, DMA and transmit. See README.md.

`include "exrnic_assert.svh"

module firmware_port
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,
    output logic idle_o,
    input  logic quiesce_i,
    output logic quiescent_o,
    settings_if.user    settings,
    command_if.firmware command,

    // Of the processor: its accesses to the registers here, and its interrupt line.
    input  logic        ready_i,      // firmware is READY
    input  logic        valid_i,      // pulse, of a register that is here
    input  logic        write_i,
    input  logic [11:0] address_i,
    input  logic [31:0] data_i,
    output logic        known_o,      // whether the register is here, and may be read or written
    output logic [31:0] data_o,
    output logic        line_o,       // of the punt queue
    output logic        bell_line_o,

    // Of user pages, of the responder, and of the tables: requester (0), responder (1), mailbox (2) look at
    // requests in firmware's hands together with the queue pair.
    firmware_page_if.firmware   pages,
    firmware_path_if.firmware   path,
    firmware_queues_if.firmware queues,

    table_read_if.client qp,
    stream_if.source     wake,

    xlate_if.client    xlate,
    dma_read_if.client dma_read,
    stream_if.source   dma_write,
    fence_if.asker     fence,

    // For atomics
    xlate_if.client    xlate_of_atomics,
    dma_read_if.client atomics_read,
    stream_if.source   atomics_write,
    writes_if.reader   writes,

    firmware_send_if.firmware send,

    output event_t event_o
);

  logic clear;
  assign clear = command.qp_we && command.qp_clear;
  assign pages.active = path.active;

  localparam int unsigned WordBits = $clog2(FW_DIRECT_WORDS);

  // ---- Registers
  logic in_punt, in_direct, in_block, write;
  logic [WordBits-1:0] word;
  assign in_punt = in_dev_punt_words(16'(address_i));
  assign in_direct = in_dev_direct_words(16'(address_i));
  assign in_block = in_dev_block_words(16'(address_i));
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
  assign starts = write && address_i == 12'(REG_DEV_DIRECT) && commands_idle && path.active;

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
        12'(REG_DEV_NODE): data_o = {settings.node, 16'(settings.mtu)};
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
      .empty_i(!path.active),
      .ring_i(pages.valid),
      .page_i(pages.page),
      .value_i(pages.bell),
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
      .empty_i(!path.active),
      .put_i(pages.valid && pages.whole),
      .page_i(pages.page),
      .block_i(pages.block),
      .any_o(block_any),
      .page_o(block_page),
      .word_index_i(word[$clog2(FW_BLOCK_WORDS)-1:0]),
      .word_o(block_word),
      .pop_i(write && address_i == 12'(REG_DEV_BLOCK_POP))
  );
  assign pages.drop = write && address_i == 12'(REG_DEV_BLOCK_DROP);
  assign pages.drop_page = page_t'(data_i);

  assign line_o = punts != '0;

  // ---- Requests. Atomics are not firmware's, nor is what stands behind one of them. They wait until firmware
  // has answered what stands before.
  logic pushed, answered, requests_idle, init_done;
  logic for_atomics, queue_ready, atomics_ready, atomics_idle, atomics_quiescent, commands_quiescent;
  assign path.held = open[1] != '0;
  assign path.atomics = in_atomics[1] != '0;
  assign for_atomics = !path.punt.message && (path.punt.atomic || path.atomics);
  assign path.punt_ready = for_atomics ? atomics_ready && !path.held : queue_ready;
  assign pushed = path.punt_valid && path.punt_ready && !for_atomics;
  assign quiescent_o = commands_quiescent && atomics_quiescent;
  punt_queue u_queue (
      .clk_i,
      .rst_ni,
      .empty_i(!path.active),
      .push_valid_i(path.punt_valid && !for_atomics),
      .push_ready_o(queue_ready),
      .push_i(path.punt),
      .node_i(path.node),
      .crowded_o(path.crowded),
      .count_o(punts),
      .pop_i(write && address_i == 12'(REG_DEV_PUNT_POP)),
      .read_i(valid_i && in_punt),
      .word_index_i(word[$clog2(FW_PUNT_WORDS)-1:0]),
      .word_o(punt_word)
  );

  stream_if #(.T(qpn_t)) lost_wake ();
  stream_if #(.T(qpn_t)) command_wake ();
  stream_if #(.T(qpn_t)) atomics_wake ();
  logic [3:0] lost;
  reads_t open[4], answerable;
  assign answerable = open[3];
  requests_open u_open (
      .clk_i,
      .rst_ni,
      .init_done_o(init_done),
      .ready_i,
      .active_o(path.active),
      .idle_o(requests_idle),
      .look_i({qp.read, queues.look}),
      .look_qpn_i('{queues.look_qpn[0], queues.look_qpn[1], queues.look_qpn[2], qp.index}),
      .count_o(open),
      .lost_o(lost),
      .open_i(pushed && !path.punt.message),
      .open_qpn_i(path.punt.qpn),
      .close_i(answered),
      .close_qpn_i(qp.index),
      .clear_i(clear),
      .clear_qpn_i(command.qpn),
      .wake_valid_o(lost_wake.valid),
      .wake_ready_i(lost_wake.ready),
      .wake_qpn_o(lost_wake.data)
  );
  reads_t in_atomics[3];
  for (genvar i = 0; i < 3; i++) begin : gen_open
    assign queues.open[i] = open[i] + in_atomics[i];
  end
  assign queues.lost = lost[2];
  assign path.lost = lost[0];
  assign init_done_o = init_done;

  // ---- Commands
  logic refused, grant_we;
  fw_grant_t grant;
  direct_commands u_commands (
      .clk_i,
      .rst_ni,
      .quiesce_i,
      .quiescent_o(commands_quiescent),
      .idle_o(commands_idle),
      .settings,
      .start_i(starts),
      .op_i(data_i[7:0]),
      .status_o(status),
      .word_write_i(write && in_direct),
      .word_index_i(word),
      .word_i(data_i),
      .word_o(direct_word),
      .qp,
      .open_i(answerable),
      .lost_i(lost[3]),
      .answer_valid_o(answer_valid[0]),
      .answer_ready_i(queues.answer_ready && !answers_atomics),
      .answer_o(answer[0]),
      .wake(command_wake),
      .xlate,
      .dma_read,
      .dma_write,
      .fence,
      .send,
      .grant_we_o(grant_we),
      .grant_o(grant),
      .placing_i(path.placing),
      .refused_o(refused)
  );

  fw_grants u_grants (
      .clk_i,
      .rst_ni,
      .empty_i(!path.active),
      .we_i(grant_we),
      .grant_i(grant),
      .index_i(path.grant_index),
      .grant_o(path.grant)
  );

  atomics u_atomics (
      .clk_i,
      .rst_ni,
      .quiesce_i,
      .quiescent_o(atomics_quiescent),
      .idle_o(atomics_idle),
      .push_valid_i(path.punt_valid && for_atomics && !path.held),
      .push_ready_o(atomics_ready),
      .push_i(path.punt),
      .clear_i(clear),
      .clear_qpn_i(command.qpn),
      .ended_i(answered && answer[0].answer == ANSWER_REFUSED),
      .ended_qpn_i(qp.index),
      .look_i(queues.look),
      .look_qpn_i(queues.look_qpn),
      .count_o(in_atomics),
      .answer_valid_o(answer_valid[1]),
      .answer_ready_i(queues.answer_ready && answers_atomics),
      .answer_qpn_o(atomics_qpn),
      .answer_o(answer[1]),
      .wake(atomics_wake),
      .xlate(xlate_of_atomics),
      .read(atomics_read),
      .write(atomics_write),
      .writes
  );

  // ---- Of two who answer one is first, and who was offered stays.
  logic [1:0] answer_valid;
  read_t answer[2];
  qpn_t atomics_qpn;
  logic answers_atomics, answer_waits_q, answer_kept_q;
  assign answers_atomics = answer_waits_q ? answer_kept_q : !answer_valid[0];
  assign answered = answer_valid[0] && queues.answer_ready && !answers_atomics;
  assign queues.answer_valid = answer_valid != '0;
  assign queues.answer = answers_atomics ? answer[1] : answer[0];
  assign queues.answer_qpn = answers_atomics ? atomics_qpn : qp.index;

  // Likewise of three who wake.
  typedef enum logic [1:0] {WAKE_LOST, WAKE_COMMAND, WAKE_ATOMICS} wakes_e;
  wakes_e wakes, wakes_kept_q;
  logic wake_waits_q;
  always_comb begin
    if (wake_waits_q) wakes = wakes_kept_q;
    else wakes = lost_wake.valid ? WAKE_LOST : command_wake.valid ? WAKE_COMMAND : WAKE_ATOMICS;
  end
  assign wake.valid = lost_wake.valid || command_wake.valid || atomics_wake.valid;
  assign wake.data = wakes == WAKE_LOST ? lost_wake.data :
      wakes == WAKE_COMMAND ? command_wake.data : atomics_wake.data;
  assign lost_wake.ready = wake.ready && wakes == WAKE_LOST;
  assign command_wake.ready = wake.ready && wakes == WAKE_COMMAND;
  assign atomics_wake.ready = wake.ready && wakes == WAKE_ATOMICS;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {answer_waits_q, wake_waits_q} <= '0;
    end else begin
      answer_waits_q <= queues.answer_valid && !queues.answer_ready;
      wake_waits_q   <= wake.valid && !wake.ready;
    end
  end
  always_ff @(posedge clk_i) begin
    answer_kept_q <= answers_atomics;
    wakes_kept_q  <= wakes;
  end

  assign idle_o = init_done && commands_idle && requests_idle && punts == '0 && !bell_any && atomics_idle;

  always_comb begin
    event_o = '0;
    if (pushed || refused) begin
      event_o[COUNTER_PUNTS] = pushed && !path.punt.message;
      event_o[COUNTER_FW_MESSAGES] = pushed && path.punt.message;
      event_o[COUNTER_FW_REFUSED] = refused;
    end
  end

  logic unused;
  assign unused = lost[1];

  // ---- What is promised
  `EXRNIC_ALWAYS(answers_what_is_open, !answered || answerable != '0)
  `EXRNIC_HELD(answer_is_held, queues.answer_valid, queues.answer_ready, queues.answer)
  `EXRNIC_HELD(wake_is_held, wake.valid, wake.ready, wake.data)
  `EXRNIC_HELD(xlate_is_held, xlate.valid, xlate.ready, {xlate.req, xlate.hold})
  `EXRNIC_HELD(read_is_held, dma_read.valid, dma_read.ready, dma_read.req)
  `EXRNIC_HELD(write_is_held, dma_write.valid, dma_write.ready, dma_write.data)

endmodule
