// SPDX-License-Identifier: BSD-2-Clause
// Direct commands of firmware, one at a time: look-up, read and write of host memory, answers to the
// requests of peers. Firmware names memory by STag and offset only; what the region does not grant,
// and answers that nobody has asked for, are refused here.

module direct_commands
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    input  logic quiesce_i,    // begin nothing that touches a table or host memory
    output logic quiescent_o,
    output logic idle_o,
    settings_if.user settings,

    input  logic              start_i,
    input  logic [7:0]        op_i,
    output fw_direct_status_e status_o,

    // Its words: operands, which are written between commands, and what comes of them.
    input  logic                               word_write_i,
    input  logic [$clog2(FW_DIRECT_WORDS)-1:0] word_index_i,
    input  logic [31:0]                        word_i,
    output logic [31:0]                        word_o,

    // The queue pair of an answer, and with its row its requests in firmware's hands.
    table_read_if.client qp,
    input  reads_t open_i,
    input  logic   lost_i,
    output logic   answer_valid_o,
    input  logic   answer_ready_i,
    output read_t  answer_o,
    stream_if.source wake,

    xlate_if.client    xlate,
    dma_read_if.client dma_read,
    stream_if.source   dma_write,
    fence_if.asker     fence,

    firmware_send_if.firmware send,

    // What other nodes may write: a change, while no such bytes are being placed.
    output logic      grant_we_o,
    output fw_grant_t grant_o,
    input  logic      placing_i,

    output logic refused_o  // pulse
);

  typedef enum logic [3:0] {
    StIdle, StBegin, StXlate, StXlateWait, StFence, StFenceWait, StRead, StData, StWrite,
    StJudge, StAnswer, StWake, StSend, StGrant
  } state_e;
  state_e state_q, state_d;

  // ---- Words
  logic [31:0] word_q[FW_DIRECT_WORDS];
  logic all_read, gone;
  chunk_t segment;
  assign word_o = word_q[word_index_i];
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) begin
      if (word_write_i) word_q[word_index_i] <= word_i;
    end else begin
      if (all_read)
        for (int unsigned i = 0; i < FW_DIRECT_BYTES / 4; i++)
          word_q[32'(FW_MEMORY_WORD_DATA)+i] <= data_d[32*i+:32];
      if (gone) word_q[FW_MEMORY_WORD_LENGTH] <= length - 32'(segment);
    end
  end

  logic [7:0] op_q;
  logic is_memory, is_answer, is_send, is_grant;
  assign is_grant = op_q == FW_DIRECT_GRANT;
  assign is_memory =
      op_q inside {FW_DIRECT_LOOK_UP, FW_DIRECT_READ, FW_DIRECT_WRITE, FW_DIRECT_SEND_DATA};
  assign is_send = op_q inside {FW_DIRECT_SEND_MESSAGE, FW_DIRECT_SEND_DATA};
  assign is_answer = op_q inside {FW_DIRECT_SEND_READ, FW_DIRECT_REFUSE};

  // ---- Memory: are the operands sane?
  localparam int unsigned BlockBits = $clog2(FW_DIRECT_BYTES);
  localparam logic [7:0] WriteRights =
      8'd1 << ACCESS_LOCAL_WRITE | 8'd1 << ACCESS_REMOTE_WRITE | 8'd1 << ACCESS_REMOTE_ATOMIC;
  logic [31:0] length;
  logic fits, memory_sane;
  assign length = word_q[FW_MEMORY_WORD_LENGTH];
  assign fits = length <= 32'(FW_DIRECT_BYTES) &&
      32'(word_q[FW_MEMORY_WORD_TO_LOW][BlockBits-1:0]) + length <= 32'(FW_DIRECT_BYTES);
  assign memory_sane = length != '0 &&
      (op_q == FW_DIRECT_LOOK_UP || (op_q == FW_DIRECT_SEND_DATA ? length <= (32'd1 << PAGE_SHIFT) : fits)) &&
      (op_q != FW_DIRECT_WRITE || (word_q[FW_MEMORY_WORD_ACCESS][7:0] & WriteRights) != '0);

  logic grant_sane;
  assign grant_sane = is_grant && length != '0 && length <= CHANNEL_SLOT_MAX;

  // ---- On whose behalf: an open request of that queue pair? So nothing of a queue pair that is gone
  // is touched, and nobody gets an answer who did not ask.
  logic open, granted_to;
  /* verilator lint_off UNUSEDSIGNAL */  // its kind says nothing here; a reader needs a part of the record
  logic [31:0] request;
  qp_t row;
  /* verilator lint_on UNUSEDSIGNAL */
  assign request = is_memory ? word_q[FW_MEMORY_WORD_REQUEST] : word_q[FW_ANSWER_WORD_REQUEST];
  logic [FW_REQUEST_NUMBER_BITS-1:0] number;
  assign number = request[FW_REQUEST_NUMBER_SHIFT+:FW_REQUEST_NUMBER_BITS];
  assign qp.index = qpn_t'(number);
  assign row = qp.row;
  assign open = 32'(number) < N_QP && row.cfg.valid &&
      row.cfg.generation == request[FW_REQUEST_GENERATION_SHIFT+:$bits(generation_t)] && open_i != '0 && !lost_i;
  logic [31:0] node, pd;
  assign node = word_q[FW_SEND_WORD_NODE];
  assign pd   = word_q[FW_MEMORY_WORD_PD];
  always_comb begin
    granted_to = 1'b0;
    if (state_q == StJudge) begin
      granted_to = open;
      if (is_memory && word_q[FW_MEMORY_WORD_PD] != 32'(row.cfg.pd)) granted_to = 1'b0;
      if (is_memory) granted_to |= pd == 32'(FW_PD);
      if (is_send || is_grant)
        granted_to = node < 32'(N_NODE) && (op_q == FW_DIRECT_SEND_MESSAGE || pd == 32'(FW_PD));
      if (op_q == FW_DIRECT_SEND_READ && word_q[FW_ANSWER_WORD_PAYLOAD+3] > 32'(MESSAGE_MAX))
        granted_to = 1'b0;
    end
  end

  logic translated, granted, in_page;
  chunk_t left_q;
  logic failed_q;
  logic last_write, all_sent;
  assign translated = state_q == StXlateWait && xlate.rsp_valid;
  assign granted = xlate.rsp.status == XLATE_OK;
  assign in_page = xlate.rsp.length >= length;
  assign all_read = state_q == StData && dma_read.beat_valid && dma_read.beat.bytes == left_q;

  always_comb begin
    state_d = state_q;
    if (state_q == StIdle) begin
      if (start_i) state_d = StBegin;
    end else unique case (state_q)
      StBegin:
      if (!quiesce_i) begin
        if (op_q == FW_DIRECT_REVOKE) state_d = StGrant;
        else if (is_answer || (is_memory && memory_sane) || grant_sane ||
                 op_q == FW_DIRECT_SEND_MESSAGE) state_d = StJudge;
        else state_d = StIdle;
      end
      StXlate: if (xlate.ready) state_d = StXlateWait;
      StXlateWait:
      if (xlate.rsp_valid) begin
        if (!granted || op_q == FW_DIRECT_LOOK_UP) state_d = StIdle;
        else if (is_send) state_d = in_page ? StSend : StIdle;
        else state_d = op_q == FW_DIRECT_WRITE ? StWrite : StFence;
      end
      // A read sees what was written before it; a write has ended when it is out.
      StFence: state_d = StFenceWait;
      StFenceWait: if (fence.done) state_d = op_q == FW_DIRECT_WRITE ? StIdle : StRead;
      StRead: if (dma_read.ready) state_d = StData;
      StData: if (all_read) state_d = StIdle;
      StWrite: if (dma_write.ready && last_write) state_d = StFence;
      StJudge:
      if (!granted_to) state_d = StIdle;
      else if (is_memory) state_d = StXlate;
      else if (is_grant) state_d = StGrant;
      else state_d = is_send ? StSend : StAnswer;
      // Of what was let in under the one before no byte comes later.
      StGrant: if (!placing_i) state_d = StIdle;
      StSend: if ((send.sent && all_sent) || send.no_room) state_d = StIdle;
      StAnswer: if (answer_ready_i) state_d = StWake;
      default: if (wake.ready) state_d = StIdle;
    endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= StIdle;
    else state_q <= state_d;
  end
  always_ff @(posedge clk_i) if (state_q == StIdle && start_i) op_q <= op_i;

  assign idle_o = state_q == StIdle;
  assign quiescent_o = state_q inside {StIdle, StBegin, StGrant};

  // ---- How it ends
  fw_direct_status_e status_q, status_d;
  always_comb begin
    status_d = status_q;
    if (state_q == StIdle) begin
      if (start_i) status_d = FW_DIRECT_STATUS_OK;
    end else unique case (state_q)
      StBegin: if (state_d == StIdle) status_d = FW_DIRECT_STATUS_REFUSED;
      StJudge: if (!granted_to) status_d = FW_DIRECT_STATUS_REFUSED;
      StSend: if (send.no_room) status_d = FW_DIRECT_STATUS_NO_ROOM;
      StXlateWait:
      if (xlate.rsp_valid) begin
        unique case (xlate.rsp.status)
          XLATE_OK: if (is_send && !in_page) status_d = FW_DIRECT_STATUS_REFUSED;
          XLATE_STAG: status_d = FW_DIRECT_STATUS_STAG;
          XLATE_STREAM: status_d = FW_DIRECT_STATUS_STREAM;
          XLATE_ACCESS: status_d = FW_DIRECT_STATUS_ACCESS;
          XLATE_WRAP: status_d = FW_DIRECT_STATUS_WRAP;
          XLATE_BOUNDS: status_d = FW_DIRECT_STATUS_BOUNDS;
          default: status_d = FW_DIRECT_STATUS_MEMORY;
        endcase
      end
      StData: if (all_read && (failed_q || dma_read.beat.error)) status_d = FW_DIRECT_STATUS_MEMORY;
      default: ;
    endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) status_q <= FW_DIRECT_STATUS_OK;
    else status_q <= status_d;
  end
  assign status_o = state_q == StIdle ? status_q : FW_DIRECT_STATUS_BUSY;
  // A look-up is a question: its answer is no refusal of anything.
  assign refused_o = state_q != StIdle && state_d == StIdle && op_q != FW_DIRECT_LOOK_UP &&
      !(status_d inside {FW_DIRECT_STATUS_OK, FW_DIRECT_STATUS_MEMORY, FW_DIRECT_STATUS_NO_ROOM});

  // ---- Memory
  logic [63:0] address_q;  // of what is next
  assign xlate.valid = state_q == StXlate;
  always_comb begin
    xlate.req = '0;
    if (xlate.valid) begin
      xlate.req.stag = word_q[FW_MEMORY_WORD_STAG];
      xlate.req.pd = pd_t'(word_q[FW_MEMORY_WORD_PD]);
      if (pd != 32'(FW_PD)) begin  // on behalf of the peer of that queue pair
        xlate.req.qpn = qp.index;
        xlate.req.generation = request[FW_REQUEST_GENERATION_SHIFT+:$bits(generation_t)];
      end
      xlate.req.access = word_q[FW_MEMORY_WORD_ACCESS][7:0];
      xlate.req.to = {word_q[FW_MEMORY_WORD_TO_HIGH], word_q[FW_MEMORY_WORD_TO_LOW]};
      xlate.req.length = length;
    end
  end
  assign xlate.hold = state_q inside {StFence, StFenceWait, StRead, StWrite, StSend};
  assign fence.ask = state_q == StFence;
  assign dma_read.valid = state_q == StRead;
  assign dma_read.req = '{address: address_q, length: chunk_t'(length), dst: '0};

  logic [8*FW_DIRECT_BYTES-1:0] data_q, data_d, beat_data;
  always_comb begin
    {beat_data, data_d} = '0;
    if (state_q == StData && dma_read.beat_valid) begin
      for (int unsigned i = 0; i < DATA_BYTES; i++)
        if (chunk_t'(i) < dma_read.beat.bytes && !dma_read.beat.error)
          beat_data[8*i+:8] = dma_read.beat.data[8*i+:8];
      data_d = data_q | beat_data << {dma_read.beat.dst[BlockBits-1:0], 3'b0};
    end
  end
  always_ff @(posedge clk_i) begin
    if (translated) address_q <= xlate.rsp.address;
    else if (dma_write.valid && dma_write.ready) address_q <= address_q + 64'(command.length);
    else if (gone) address_q <= address_q + 64'(segment);
    if (state_q == StRead) begin
      left_q   <= chunk_t'(length);
      failed_q <= 1'b0;
      data_q   <= '0;
    end
    if (state_q == StData && dma_read.beat_valid) begin
      left_q   <= left_q - dma_read.beat.bytes;
      failed_q <= failed_q || dma_read.beat.error;
      data_q   <= data_d;
    end
  end

  // As many bytes at a time as dma_write takes.
  dma_write_cmd_t command;
  localparam int unsigned WriteBytes = $bits(command.data) / 8;
  logic second_q;
  logic [8*FW_DIRECT_BYTES-1:0] data;
  assign dma_write.valid = state_q == StWrite;
  assign dma_write.data = command;
  assign last_write = second_q || length <= WriteBytes;
  always_comb begin
    {data, command} = '0;
    if (dma_write.valid) begin
      for (int unsigned i = 0; i < FW_DIRECT_BYTES / 4; i++)
        data[32*i+:32] = word_q[32'(FW_MEMORY_WORD_DATA) + i];
      command.kind = DMA_WRITE_INLINE;
      command.address = address_q;
      command.length = chunk_t'(WriteBytes);
      if (last_write) command.length = chunk_t'(second_q ? length - WriteBytes : length);
      command.data = second_q ? data[8*WriteBytes+:8*WriteBytes] : data[8*WriteBytes-1:0];
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q != StWrite) second_q <= 1'b0;
    else if (dma_write.ready) second_q <= 1'b1;
  end

  // ---- To other nodes
  logic [12:0] sent_q;  // bytes before this segment
  assign segment = length > 32'(settings.mtu) ? settings.mtu : chunk_t'(length);
  assign all_sent = op_q == FW_DIRECT_SEND_MESSAGE || length <= 32'(settings.mtu);
  assign gone = state_q == StSend && send.sent && op_q == FW_DIRECT_SEND_DATA;
  always_ff @(posedge clk_i) begin
    if (state_q == StBegin) sent_q <= '0;
    else if (gone) sent_q <= sent_q + 13'(segment);
  end
  assign send.valid = state_q == StSend;
  always_comb begin
    send.send = '0;
    if (send.valid) begin
      send.send.data = op_q == FW_DIRECT_SEND_DATA;
      send.send.node = node_t'(node);
      send.send.address = address_q;
      send.send.length = segment;
      send.send.stag = word_q[FW_SEND_WORD_STAG];
      send.send.to = {word_q[FW_SEND_WORD_TO_HIGH], word_q[FW_SEND_WORD_TO_LOW]} + 64'(sent_q);
      for (int unsigned i = 0; i < FW_MESSAGE_BYTES / 4; i++)
        send.send.message[$bits(send.send.message)-1-32*i-:32] = word_q[32'(FW_SEND_WORD_MESSAGE) + i];
    end
  end

  // ---- What other nodes may write
  assign grant_we_o = state_q == StGrant && !placing_i;
  always_comb begin
    grant_o = '0;
    if (grant_we_o) begin
      grant_o.valid = is_grant;
      grant_o.name = word_q[FW_SEND_WORD_STAG];
      grant_o.node = node_t'(node);
      grant_o.stag = word_q[FW_MEMORY_WORD_STAG];
      grant_o.to = {word_q[FW_MEMORY_WORD_TO_HIGH], word_q[FW_MEMORY_WORD_TO_LOW]};
      grant_o.length = ($bits(grant_o.length))'(length);
    end
  end

  // ---- Answers
  assign qp.read = state_q == StBegin;
  assign answer_valid_o = state_q == StAnswer;
  assign wake.valid = state_q == StWake;
  assign wake.data = qp.index;
  always_comb begin
    answer_o = '0;
    if (answer_valid_o) begin
      for (int unsigned i = 0; i < READ_REQUEST_BYTES / 4; i++)
        answer_o.request[$bits(read_request_t)-1-32*i-:32] = word_q[32'(FW_ANSWER_WORD_PAYLOAD) + i];
      answer_o.msn = word_q[FW_ANSWER_WORD_MSN];
      answer_o.firmware = 1'b1;
      answer_o.code = term_code_e'(word_q[FW_ANSWER_WORD_CODE][15:0]);
      answer_o.answer = op_q == FW_DIRECT_SEND_READ ? ANSWER_READ : ANSWER_REFUSED;
    end
  end

endmodule
