// SPDX-License-Identifier: BSD-2-Clause
// What the ports say to their peers, one segment at a time: introductions, limits, and the TLPs of the
// buses. An answer of a bus is cut into completions.
`include "exrnic_assert.svh"

module peb_transmit
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import peb_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input node_t cfg_node_i,
    input logic [15:0] cfg_max_payload_i,  // a power of two
    input peer_t peer_i[N_PEB_PORT],
    input flows_t flow_i[N_PEB_PORT],
    input logic [N_PEB_PORT-1:0] begins_i,
    input logic [N_PEB_PORT-1:0] heard_i,  // the bus has heard how its link is
    input logic [N_PEB_PORT-1:0] owes_introduction_i,
    input logic [N_PEB_PORT-1:0] asks_i,
    input logic [N_PEB_PORT-1:0] owes_limits_i,
    input logic [31:0] next_message_i[N_PEB_PORT],

    // From the buses, one TLP at a time. Of a flow none begins without room.
    output rooms_t rooms_o,
    peb_bus_if.sink bus,

    // Its requests get a tag; its completions are those of what it serves.
    input  logic [N_PEB_PORT-1:0] tag_free_i,
    output peb_port_t     take_port_o,
    input  tag_t      take_tag_i,
    output logic      take_o,  // pulse
    output tlp_item_t take_tlp_o,
    output name_t     take_name_o,
    output peb_port_t     served_port_o,
    output tag_t      served_name_o,
    input  logic      served_known_i,
    input  tlp_item_t served_tlp_i,
    output logic      served_done_o,  // pulse

    // To EFE.
    output node_t          quota_node_o,
    output reads_t         quota_slots_o,
    input  logic           quota_start_i,
    input  logic           quota_room_i,
    input  logic           alloc_valid_i,
    output logic           alloc_ready_o,
    input  slot_t          alloc_slot_i,
    output logic           beat_valid_o,
    output dma_read_beat_t beat_o,
    output logic           submit_valid_o,
    input  logic           submit_ready_i,
    output tx_desc_t       submit_o,

    output peb_port_t      sent_port_o,
    output logic       sent_introduction_o,  // pulses
    output logic       submitted_introduction_o,
    output logic       sent_message_o,
    output peb_t       sent_limits_o,
    output logic [1:0] sent_flow_o,
    output logic       idle_o
);

  typedef enum logic [2:0] { StRest, StSlot, StHead, StData, StTail, StSubmit, StDrop } state_e;
  typedef enum logic [1:0] { JobIntroduction, JobLimits, JobTlp } job_e;
  typedef struct packed {
    job_e      job;
    peb_port_t     port;
    logic      asks;
    tlp_item_t tlp;         // as its header says it
    logic      begins;      // no beat of its data has been taken
    logic [63:0] body_at;   // address of the next byte of its data,
    chunk_t    body_left;   // and how many there are
    chunk_t    part_left;   // of them, in this segment
  } work_t;
  state_e state_q, state_d;
  work_t work_q, work_d, next;
  slot_t slot_q;
  logic [4:0] head_q;  // bytes of the head that are out
  logic void_q;        // the life that the work is of is over

  // ---- Room for what a bus begins: what has begun waits for no node. So none without its share of slots
  // begins, of an answer as many as its parts take. One port is looked at in a cycle; what is in hand may
  // take one slot more.
  peb_port_t scan_q;
  logic [N_PEB_PORT-1:0] share_q, start_q;
  logic [N_PEB_PORT-1:0] write_may, request_may;
  localparam int unsigned MostSlots = 2 ** $bits(reads_t) - 1;
  logic is_others, is_last;
  assign quota_node_o = peer_i[scan_q].node;
  assign is_others = state_q == StRest || peer_i[scan_q].node != peer_i[work_q.port].node;
  assign is_last = state_q == StRest || work_q.body_left == work_q.part_left;
  always_comb begin
    quota_slots_o = reads_t'(1);
    for (int unsigned shift = 0; shift < 16; shift++)
      if (cfg_max_payload_i[shift])
        quota_slots_o = (PEB_REQUEST_MAX >> shift) < MostSlots ? reads_t'(PEB_REQUEST_MAX >> shift) : reads_t'(MostSlots);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      scan_q <= '0;
      share_q <= '0;
      start_q <= '0;
    end else begin
      scan_q <= state_q == StSubmit && state_d == StRest ? work_q.port : scan_q + 1'b1;
      if (is_others) begin
        share_q[scan_q] <= quota_room_i;
        start_q[scan_q] <= quota_start_i && is_last;
      end
      if (state_q == StRest && state_d != StRest) begin
        share_q[work_d.port] <= 1'b0;
        start_q <= '0;
      end
    end
  end
  always_comb
    for (int unsigned port = 0; port < N_PEB_PORT; port++) begin
      automatic logic up;
      up = peer_i[port].met && heard_i[port];
      write_may[port] = up && is_ahead(flow_i[port][0].limit, flow_i[port][0].sent);
      request_may[port] = up && is_ahead(flow_i[port][1].limit, flow_i[port][1].sent) && tag_free_i[port];
      rooms_o.writes[port] = write_may[port] && share_q[port];
      rooms_o.requests[port] = request_may[port] && share_q[port];
      rooms_o.completions[port] = start_q[port] || !up;
    end

  // What the bus says before it has heard that a life is over is of that life.
  logic stale_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) stale_q <= 1'b0;
    else
      stale_q <= bus.valid && !(bus.ready && bus.eop) &&
          (stale_q || begins_i[bus.port] || !heard_i[bus.port]);
  end

  // ---- What comes next: introductions go first, and limits of ports whose TLPs do not tell them
  logic introduces, tells, brings, usable;
  peb_port_t introduction_port, limits_port;
  always_comb begin
    introduces = ((owes_introduction_i | asks_i) & share_q) != '0;
    tells = 1'b0;
    introduction_port = '0;
    limits_port = '0;
    for (int unsigned port = 0; port < N_PEB_PORT; port++) begin
      if ((owes_introduction_i[port] || asks_i[port]) && share_q[port]) introduction_port = peb_port_t'(port);
      if (owes_limits_i[port] && share_q[port] && !(bus.valid && bus.port == peb_port_t'(port))) begin
        tells = 1'b1;
        limits_port = peb_port_t'(port);
      end
    end
    brings = bus.valid && !tells;
    usable = peer_i[bus.port].met && heard_i[bus.port] && !stale_q;
    if (bus.kind == PEB_BUS_COMPLETION) usable &= served_known_i;
    else if (bus.kind == PEB_BUS_WRITE) usable &= write_may[bus.port];
    else usable &= request_may[bus.port];
  end

  // ---- A completion, and the next of several
  logic is_completion, completes_read, has_body;
  assign is_completion = bus.kind == PEB_BUS_COMPLETION;
  assign completes_read = served_tlp_i.kind != PEB_BUS_CONFIG_WRITE && bus.status == COMPLETION_STATUS_SUCCESSFUL;
  assign has_body = is_completion ? completes_read : bus.kind inside {PEB_BUS_WRITE, PEB_BUS_CONFIG_WRITE};
  function automatic chunk_t part_of(logic [63:0] at, chunk_t left, logic [15:0] most);
    logic [15:0] to_end;
    to_end = most - (16'(at[11:0]) & (most - 16'd1));
    return 16'(left) < to_end ? left : chunk_t'(to_end);
  endfunction

  always_comb begin
    next = '0;
    next.begins = 1'b1;
    if (introduces) begin
      next.job = JobIntroduction;
      next.port = introduction_port;
      next.asks = !owes_introduction_i[introduction_port];
    end else if (brings) begin
      next.job = JobTlp;
      next.port = bus.port;
      next.tlp.kind = bus.kind;
      next.tlp.address = bus.address;
      next.tlp.length = bus.length;
      next.tlp.data = has_body;
      if (bus.kind inside {PEB_BUS_READ, PEB_BUS_CONFIG_READ, PEB_BUS_CONFIG_WRITE}) next.tlp.tag = 8'(take_tag_i);
      next.body_at = bus.address;
      next.body_left = has_body ? bus.length : '0;
      next.part_left = next.body_left;
      if (is_completion) begin
        next.tlp.tag = served_tlp_i.tag;
        next.tlp.status = bus.status;
        next.tlp.left = 13'd4;
        next.tlp.address = '0;
        next.tlp.length = has_body ? 13'd4 : '0;
        next.body_at = served_tlp_i.address;
        next.body_left = has_body ? served_tlp_i.length : '0;
        next.part_left = next.body_left;
        if (has_body && served_tlp_i.kind == PEB_BUS_READ) begin
          next.part_left = part_of(served_tlp_i.address, served_tlp_i.length, cfg_max_payload_i);
          next.tlp.left = served_tlp_i.length;
          next.tlp.address = served_tlp_i.address & 64'h7f;
          next.tlp.length = next.part_left;
        end
      end
    end else begin
      next.job = JobLimits;
      next.port = limits_port;
    end
  end

  assign take_port_o = bus.port;
  assign take_tlp_o = next.tlp;
  assign take_name_o = bus.name;
  assign served_port_o = bus.port;
  assign served_name_o = tag_t'(bus.name);

  // ---- The head: limits, and the header of the TLP, with the bytes of its first DW that mean nothing
  logic [8*(TLP_BYTES+TLP_ADDRESS_64_BYTES)-1:0] header;
  tlp_header u_header (
      .tlp_i(work_q.tlp),
      .from_i(16'(cfg_node_i)),
      .to_i(16'(peer_i[work_q.port].node)),
      .header_o(header)
  );
  // 3 more bytes than HeadMax, zero.
  localparam int unsigned HeadSpace = (HeadMax + 3 + DATA_BYTES - 1) / DATA_BYTES * DATA_BYTES;
  peb_t limits;
  assign limits = '{
          posted_limit: flow_i[work_q.port][0].handed + 16'(PEB_POSTED_ROOM),
          request_limit: flow_i[work_q.port][1].handed + 16'(PEB_REQUEST_ROOM)
      };
  peb_t limits_q;
  logic [8*HeadSpace-1:0] head_image;  // first byte in bits 7:0
  always_comb begin
    automatic head_t head;
    head = {limits_q, header};
    head_image = '0;
    for (int unsigned i = 0; i < HeadMax; i++)
      if (i < 32'(head_length)) head_image[8*i+:8] = head[$bits(head_t)-1-8*i-:8];
  end
  logic [4:0] head_length, head_space, head_left;
  logic [1:0] pad_q;  // bytes before the data, in its first DW
  assign head_length = work_q.job == JobTlp ? head_bytes(work_q.tlp) : 5'(PEB_BYTES);
  assign head_space = head_length + 5'(pad_q);
  assign head_left = head_space - head_q;

  // ---- Where it goes
  chunk_t placed_q;  // bytes of the segment that are out
  logic [1:0] tail;  // bytes that fill the last DW
  assign tail = 2'd0 - placed_q[1:0];
  lane_t lane;
  chunk_t beat_space, beat_bytes;
  assign lane = work_q.begins ? lane_of(work_q.body_at) : '0;
  assign beat_space = chunk_t'(DATA_BYTES) - chunk_t'(lane);
  assign beat_bytes = work_q.part_left < beat_space ? work_q.part_left : beat_space;

  always_comb begin
    beat_valid_o = 1'b0;
    beat_o = '0;
    beat_o.dst = tx_address_t'({slot_q, 12'(placed_q)});
    unique case (state_q)
      StHead: begin
        beat_valid_o = 1'b1;
        beat_o.data = data_t'(head_image >> (8 * head_q));
        beat_o.bytes = chunk_t'(32'(head_left) < DATA_BYTES ? 32'(head_left) : DATA_BYTES);
      end
      StData: begin
        beat_valid_o = bus.valid;
        beat_o.data = bus.data >> (8 * lane);
        beat_o.bytes = beat_bytes;
      end
      StTail: begin
        beat_valid_o = 1'b1;
        beat_o.bytes = chunk_t'(tail);
      end
      default: ;
    endcase
  end

  // ---- What is submitted
  ddp_untagged_t send;
  ddp_tagged_t introduction;
  peer_t peer_q;  // as it was when the work began
  logic [31:0] message_q;
  always_comb begin
    send = '0;
    send.last = 1'b1;
    send.dv = 2'(DDP_VERSION);
    send.rv = 2'(RDMAP_VERSION);
    send.opcode = RDMAP_OPCODE_SEND;
    send.qn = SEND_QN;
    send.msn = message_q;
    introduction = '0;
    introduction.t = 1'b1;
    introduction.last = 1'b1;
    introduction.dv = 2'(DDP_VERSION);
    introduction.rv = 2'(RDMAP_VERSION);
    introduction.opcode = RDMAP_OPCODE_WRITE;
    introduction.stag = 32'(INTRODUCTION_STAG);
    introduction.to = work_q.asks ? 64'(INTRODUCTION_ASKS) : 64'(INTRODUCTION_PLAIN);
  end
  always_comb begin
    submit_o = '0;
    submit_o.slot = slot_q;
    submit_o.node = peer_q.node;
    submit_o.dst_qpn = 24'(PEB_QPN) + 24'(peer_q.group);
    submit_o.src_qpn = submit_o.dst_qpn;
    submit_o.src_generation = peer_q.life;
    submit_o.dst_generation = peer_q.peer_life;
    submit_o.length = placed_q;
    submit_o.tag.qpn = qpn_t'(work_q.port);
    submit_o.tag.generation = peer_q.life;
    submit_o.tag.kind = TX_KIND_SEGMENT;
    if (work_q.job == JobIntroduction) begin
      submit_o.ddp[$bits(ddp_untagged_t)-1-:$bits(ddp_tagged_t)] = introduction;
      submit_o.tag.kind = TX_KIND_INTRODUCTION;
    end else begin
      submit_o.untagged = 1'b1;
      submit_o.ddp = send;
      submit_o.stream = 1'b1;
    end
  end
  assign submit_valid_o = state_q == StSubmit;
  assign sent_port_o = work_q.port;
  assign submitted_introduction_o = submit_valid_o && submit_ready_i && work_q.job == JobIntroduction;
  assign sent_introduction_o = submitted_introduction_o && !void_q;
  assign sent_message_o = submit_valid_o && submit_ready_i && work_q.job != JobIntroduction && !void_q;
  assign sent_limits_o = limits_q;
  assign sent_flow_o = work_q.job != JobTlp || work_q.tlp.kind == PEB_BUS_COMPLETION ? '0 :
      work_q.tlp.kind == PEB_BUS_WRITE ? 2'b01 : 2'b10;

  // ---- Step by step
  logic grants, part_ends, tlp_ends;
  assign grants = state_q == StSlot && alloc_valid_i && !void_q;
  assign alloc_ready_o = grants;
  assign part_ends = work_q.part_left == beat_bytes;
  assign tlp_ends = work_q.body_left == '0;
  logic is_whole;  // there is data on the bus
  assign is_whole = work_q.job == JobTlp && work_q.tlp.data;
  assign bus.ready = state_q == StData || state_q == StDrop ||
      (state_q == StSubmit && submit_ready_i && work_q.job == JobTlp && !work_q.tlp.data);
  assign take_o = state_q == StRest && !introduces && brings && usable &&
      bus.kind inside {PEB_BUS_READ, PEB_BUS_CONFIG_READ, PEB_BUS_CONFIG_WRITE};
  assign served_done_o = state_q == StRest && !introduces && brings && usable && is_completion;

  always_comb begin
    state_d = state_q;
    work_d = work_q;
    unique case (state_q)
      StRest: begin
        work_d = next;
        if (introduces) state_d = StSlot;
        else if (brings) state_d = usable ? StSlot : StDrop;
        else if (tells) state_d = StSlot;
      end
      StSlot:
      if (grants) state_d = work_q.job == JobIntroduction ? StSubmit : StHead;
      else if (void_q) state_d = work_q.job == JobTlp ? StDrop : StRest;
      StHead: if (32'(head_left) <= DATA_BYTES) state_d = is_whole ? StData : StSubmit;
      StData:
      if (bus.valid) begin
        work_d.begins = 1'b0;
        work_d.body_at = work_q.body_at + 64'(beat_bytes);
        work_d.body_left = work_q.body_left - beat_bytes;
        work_d.part_left = work_q.part_left - beat_bytes;
        if (part_ends) state_d = 2'(placed_q[1:0] + beat_bytes[1:0]) == '0 ? StSubmit : StTail;
      end
      StTail: state_d = StSubmit;
      StSubmit:
      if (submit_ready_i) begin
        state_d = StRest;
        if (is_whole && !tlp_ends) begin
          state_d = StSlot;
          work_d.part_left = part_of(work_q.body_at, work_q.body_left, cfg_max_payload_i);
          work_d.tlp.left = work_q.body_left;
          work_d.tlp.address = work_q.body_at & 64'h7f;
          work_d.tlp.length = work_d.part_left;
        end
      end
      default: if (bus.valid && bus.eop) state_d = StRest;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StRest;
      work_q <= '0;
      slot_q <= '0;
      head_q <= '0;
      pad_q <= '0;
      placed_q <= '0;
      void_q <= 1'b0;
      peer_q <= '0;
      message_q <= '0;
      limits_q <= '0;
    end else begin
      state_q <= state_d;
      work_q <= work_d;
      void_q <= state_d != StRest && (state_q == StRest ? begins_i[next.port] : void_q || begins_i[work_q.port]);
      if (grants) begin
        slot_q <= alloc_slot_i;
        head_q <= '0;
        placed_q <= '0;
        pad_q <= work_q.job == JobTlp && work_q.tlp.data ? dw_offset(work_q.body_at) : '0;
        peer_q <= peer_i[work_q.port];
        message_q <= next_message_i[work_q.port];
        limits_q <= limits;
      end
      if (state_q == StHead) head_q <= head_q + 5'(beat_o.bytes);
      if (beat_valid_o) placed_q <= placed_q + beat_o.bytes;
    end
  end

  assign idle_o = state_q == StRest && !bus.valid;

endmodule
