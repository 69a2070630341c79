// SPDX-License-Identifier: BSD-2-Clause
// Submits what comes from windows, ports and firmware: stores as an RDMA Write that is one segment, a
// load as an RDMA Read Request, a port's message as an RDMA Write to the peer's ports, firmware's
// likewise. One at a time, in the order in which they came. All wait for room but firmware, which
// has to serve its peers meanwhile: it is told that there is none, also when another waits for some.
// None waits for a read of host memory, which on the bus may stand behind the store: see
// rtl-model/README.md, "What PCIe forbids".

`include "exrnic_assert.svh"

module window_send
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,
    input  logic quiesce_i,    // look at no table and submit nothing
    output logic quiescent_o,

    input  logic         item_valid_i,
    output logic         item_ready_o,
    input  window_item_t item_i,
    output logic         refused_o,  // pulse: its queue pair cannot send, its entry has gone, or there was no room
    output logic         loads_o,    // with it: it is a load
    input  logic          drop_i,    // the entry of that window changes
    input  window_index_t drop_index_i,

    input  logic          message_valid_i,
    output logic          message_ready_o,
    input  port_message_t message_i,
    input  port_link_t    message_link_i,  // whose end it is to be, if it fails

    input  logic          firmware_valid_i,  // until one of:
    output logic          firmware_sent_o,   // pulse
    output logic          firmware_no_room_o,
    input  fw_send_t      firmware_i,
    output logic          read_valid_o,      // of its bytes
    input  logic          read_ready_i,
    output dma_read_req_t read_o,

    output logic    gives_up_valid_o,  // there was no room for this item or message for too long:
    input  logic    gives_up_ready_i,
    output tx_tag_t gives_up_o,        // as of a frame that has failed

    output logic qp_read_o,
    output qpn_t qp_index_o,
    /* verilator lint_off UNUSEDSIGNAL */  // a reader needs a part of the record
    input  qp_t  qp_row_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  logic clear_i,  // this queue pair starts anew
    input  qpn_t clear_qpn_i,

    input  logic     alloc_valid_i,          // a slot for what is prompt,
    input  logic     alloc_payload_valid_i,  // and for what firmware sends
    output logic     alloc_ready_o,          // only if it is there
    input  slot_t    alloc_slot_i,
    output node_t    quota_node_o,
    output logic     quota_prompt_o,
    input  logic     quota_room_i,
    output logic     submit_valid_o,
    input  logic     submit_ready_i,
    output tx_desc_t submit_o
);

  typedef enum logic [2:0] {
    StIdle, StRead, StJudge, StMeet, StSlot, StHold, StSubmit
  } state_e;
  localparam int unsigned MeetBits = $clog2(MEET_CYCLES);
  localparam int unsigned RoomBits = $clog2(ROOM_CYCLES);
  state_e state_q;
  /* verilator lint_off UNUSEDSIGNAL */  // of which window it is counts until it is submitted
  window_item_t item_q;
  /* verilator lint_on UNUSEDSIGNAL */
  port_message_t message_q;
  port_link_t message_link_q;
  logic is_port_q, is_firmware_q, dropped_q;
  slot_t slot_q;

  // Whoever stores without end does not keep firmware from its turn.
  logic firmware_first;
  assign firmware_first = firmware_valid_i && !is_firmware_q;

  // ---- A slot
  logic has_slot, takes;
  assign has_slot = state_q == StSlot && !quiesce_i && quota_room_i &&
      (is_firmware_q ? alloc_payload_valid_i : alloc_valid_i);
  assign takes = has_slot && !(is_firmware_q && firmware_i.data && reads_q);

  // ---- The read of bytes that firmware sends: nobody waits for it here.
  logic reads_q;
  dma_read_req_t read_q;
  assign read_valid_o = reads_q;
  assign read_o = read_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) reads_q <= 1'b0;
    else if (takes && is_firmware_q && firmware_i.data) reads_q <= 1'b1;
    else if (read_ready_i) reads_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (takes && is_firmware_q && firmware_i.data)
      read_q <= '{
          address: firmware_i.address,
          length: firmware_i.length,
          dst: {alloc_slot_i, ($clog2(MTU_MAX))'(0)}
      };
  end

  // ---- No room for long. Each that is sent gives some of the time back, so a slow peer is waited for, and
  // one that takes nothing is not waited for again.
  localparam logic [RoomBits-1:0] GivenBack = RoomBits'(ROOM_CYCLES_BACK);
  logic [RoomBits-1:0] crowded_q;
  logic gives_up;
  assign gives_up_valid_o = state_q == StSlot && !is_firmware_q && !has_slot && !quiesce_i && &crowded_q;
  assign gives_up = gives_up_valid_o && gives_up_ready_i;
  assign gives_up_o = tag;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) crowded_q <= '0;
    else if (takes && !is_firmware_q)
      crowded_q <= crowded_q > GivenBack ? crowded_q - GivenBack : '0;
    else if (state_q == StSlot && !is_firmware_q && !&crowded_q) crowded_q <= crowded_q + 1'b1;
  end

  // ---- May it be sent?
  logic fit;
  assign fit = qp_row_i.cfg.valid && qp_row_i.cfg.generation == item_q.generation &&
      qp_row_i.status.state == QP_STATE_RTS && !dropped_q;

  // A queue pair that has not met its peer yet will do so in a round trip or two. If it does not, what
  // is sent all the same fails, and the queue pair with it: nobody waits for that one again.
  logic [MeetBits-1:0] patience_q;
  qpn_t missed_qpn_q;
  generation_t missed_q;  // its generation
  logic waits_for_peer;
  assign waits_for_peer = !qp_row_i.peer.met && !&patience_q &&
      !(missed_qpn_q == item_q.qpn && missed_q == item_q.generation);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {missed_qpn_q, missed_q} <= '0;
    end else if (state_q == StJudge && fit && !qp_row_i.peer.met && &patience_q) begin
      missed_qpn_q <= item_q.qpn;
      missed_q     <= item_q.generation;
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) patience_q <= '0;
    else if (!&patience_q) patience_q <= patience_q + 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle:
        if (item_valid_i && item_ready_o) state_q <= StRead;
        else if (message_valid_i && message_ready_o) state_q <= StSlot;
        else if (firmware_valid_i && !quiesce_i) state_q <= StSlot;
        StRead: state_q <= StJudge;
        StJudge: state_q <= !fit ? StIdle : waits_for_peer ? StMeet : StSlot;
        StMeet: state_q <= quiesce_i ? StHold : StRead;
        StSlot:
        if (takes) state_q <= StSubmit;
        else if (gives_up || is_firmware_q) state_q <= StIdle;
        else if (quiesce_i) state_q <= StHold;
        // Much may have changed meanwhile.
        StHold: if (!quiesce_i) state_q <= is_port_q ? StSlot : StRead;
        StSubmit: if (submit_ready_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (item_valid_i && item_ready_o) item_q <= item_i;
    if (message_valid_i && message_ready_o) {message_q, message_link_q} <= {message_i, message_link_i};
    if (state_q == StIdle) begin
      is_port_q <= !firmware_first && !item_valid_i && message_valid_i;
      is_firmware_q <= firmware_first || (!item_valid_i && !message_valid_i);
      dropped_q <= 1'b0;
    end else if (drop_i && drop_index_i == item_q.window) begin
      dropped_q <= 1'b1;
    end
    if (state_q == StSlot) slot_q <= alloc_slot_i;
  end

  assign item_ready_o = state_q == StIdle && !quiesce_i && !firmware_first;
  assign message_ready_o = item_ready_o && !item_valid_i;
  assign refused_o = (state_q == StJudge && !fit) || (gives_up && !is_port_q);
  assign loads_o = item_q.load;
  assign qp_read_o = state_q == StRead;
  assign qp_index_o = item_q.qpn;
  assign alloc_ready_o = takes;
  assign quota_prompt_o = !is_firmware_q;
  always_comb begin
    quota_node_o = qp_row_i.cfg.dest_node;
    if (is_port_q) quota_node_o = message_q.node;
    if (is_firmware_q) quota_node_o = firmware_i.node;
  end
  assign firmware_no_room_o = firmware_valid_i && (state_q inside {StHold, StMeet} ||
      (state_q == StIdle && quiesce_i) || (state_q == StSlot && !takes));
  assign firmware_sent_o = state_q == StSubmit && submit_ready_i && is_firmware_q;
  assign submit_valid_o = state_q == StSubmit;
  assign idle_o = state_q == StIdle;
  assign quiescent_o = state_q inside {StIdle, StHold};

  // ---- Requests are numbered for each queue pair. How many there were is read with its row, and changes
  // no more until one is submitted.
  logic loads;
  assign loads = submit_valid_o && !is_port_q && !is_firmware_q && item_q.load;
  typedef logic [$clog2(N_QP)-1:0] place_t;
  logic [31:0] requests, msn;
  logic numbers;
  assign msn = loads ? requests + 1'b1 : '0;
  assign numbers = state_q == StSubmit && submit_ready_i && loads;
  ram_1r1w #(
      .WIDTH(32),
      .DEPTH(N_QP)
  ) u_requests (
      .clk_i,
      .write_i        (clear_i || numbers),
      .write_address_i(place_t'(clear_i ? clear_qpn_i : item_q.qpn)),
      .write_data_i   (clear_i ? '0 : msn),
      .read_i         (qp_read_o),
      .read_address_i (place_t'(item_q.qpn)),
      .read_data_o    (requests)
  );

  // ---- What is submitted
  tx_tag_t tag;
  always_comb begin
    tag = '0;
    if (submit_valid_o || gives_up_valid_o) begin
      tag.opcode = WQE_OPCODE_PUSH;
      if (is_port_q) begin
        tag.kind = TX_KIND_PORT;
        tag.qpn = qpn_t'(message_q.port);
        tag.wqe_index = wqe_index_t'(message_link_q);
      end else if (is_firmware_q) begin
        tag.kind = TX_KIND_FIRMWARE;
      end else begin
        tag.kind = TX_KIND_SEGMENT;
        tag.qpn = item_q.qpn;
        tag.generation = item_q.generation;
      end
    end
  end

  ddp_tagged_t write_header;
  ddp_untagged_t request_header;
  read_request_t request;
  always_comb begin
    {write_header, request_header, request, submit_o} = '0;
    if (submit_valid_o) begin
      write_header.t = 1'b1;
      write_header.last = 1'b1;
      write_header.dv = 2'(DDP_VERSION);
      write_header.rv = 2'(RDMAP_VERSION);
      write_header.opcode = RDMAP_OPCODE_WRITE;
      write_header.stag = is_port_q ? PORT_STAG : item_q.stag;
      write_header.to = item_q.to;
      if (is_port_q)
        write_header.to = 64'(message_q.life) << PORT_LIFE_SHIFT | 64'(message_q.to);
      if (is_firmware_q) begin
        write_header.stag = firmware_i.data ? firmware_i.stag : FW_STAG;
        write_header.to = firmware_i.data ? firmware_i.to : '0;
      end
      request_header.last = 1'b1;
      request_header.dv = 2'(DDP_VERSION);
      request_header.rv = 2'(RDMAP_VERSION);
      request_header.opcode = RDMAP_OPCODE_READ_REQUEST;
      request_header.qn = READ_QN;
      request_header.msn = msn;
      request = '{
          sink_stag: WINDOW_STAG,
          sink_to: item_q.token,
          length: 32'(item_q.length),
          source_stag: item_q.stag,
          source_to: item_q.to
      };

      submit_o.slot = slot_q;
      submit_o.inlined = 1'b1;
      submit_o.status = CQE_STATUS_SUCCESS;
      submit_o.untagged = loads;
      submit_o.ddp = loads ? request_header : {write_header, 32'd0};
      submit_o.prompt = !is_firmware_q;
      submit_o.tag = tag;
      if (is_port_q) begin
        submit_o.node = message_q.node;
        submit_o.dst_qpn = 24'(PORT_QPN) | 24'(message_q.peer);
        submit_o.src_qpn = 24'(PORT_QPN) | 24'(message_q.port);
        submit_o.length = chunk_t'(PORT_MESSAGE_BYTES);
        submit_o.inline_data = inline_t'(message_q.data);
      end else if (is_firmware_q) begin
        submit_o.node = firmware_i.node;
        submit_o.dst_qpn = 24'(FW_QPN);
        submit_o.src_qpn = 24'(FW_QPN);
        submit_o.inlined = !firmware_i.data;
        submit_o.length = firmware_i.data ? firmware_i.length : chunk_t'(FW_MESSAGE_BYTES);
        for (int unsigned i = 0; i < FW_MESSAGE_BYTES; i++)
          submit_o.inline_data[8*i+:8] = firmware_i.message[$bits(firmware_i.message)-1-8*i-:8];
      end else begin
        submit_o.node = qp_row_i.cfg.dest_node;
        submit_o.stream = 1'b1;
        submit_o.dst_qpn = qp_row_i.cfg.dest_qpn;
        submit_o.src_qpn = 24'(item_q.qpn);
        submit_o.src_generation = item_q.generation;
        submit_o.dst_generation = qp_row_i.peer.generation;
        submit_o.length = chunk_t'(item_q.length);
        submit_o.inline_data = item_q.data;
        if (loads) begin
          submit_o.length = chunk_t'(READ_REQUEST_BYTES);
          submit_o.inline_data = '0;
          for (int unsigned i = 0; i < READ_REQUEST_BYTES; i++)
            submit_o.inline_data[8*i+:8] = request[$bits(request)-1-8*i-:8];
        end
      end
    end
  end

  // ---- What is promised
  `EXRNIC_HELD(read_is_held, read_valid_o, read_ready_i, read_o)
  `EXRNIC_HELD(submit_is_held, submit_valid_o, submit_ready_i, submit_o)
  `EXRNIC_ALWAYS(cleared_at_rest, !clear_i || quiescent_o)

endmodule
