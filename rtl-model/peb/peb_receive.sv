// SPDX-License-Identifier: BSD-2-Clause
// Segments of the peers, one at a time: introductions, refusals, and messages with their TLPs. Whatever
// else comes is refused.
`include "exrnic_assert.svh"

module peb_receive
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import peb_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input node_t cfg_node_i,
    input logic cfg_host_i,  // of the host's side, which nobody configures
    input peer_t peer_i[N_PEB_PORT],
    input flows_t flow_i[N_PEB_PORT],
    input logic [31:0] last_message_i[N_PEB_PORT],
    input logic [N_PEB_PORT-1:0] begins_i,

    stream_if.sink segment,
    rx_buffer_if.reader buffer,
    refusal_if.responder refusal,

    // What it says, to the port.
    output peb_port_t       port_o,
    output logic        introduced_o,  // pulses
    output generation_t introduced_src_o,
    output generation_t introduced_dst_o,
    output logic        introduced_asks_o,
    output logic        message_o,
    output peb_t        message_limits_o,
    output logic [1:0]  message_flow_o,
    output logic        broken_o,

    // TLPs, to the bus.
    output logic       beat_o,
    output logic       beat_read_o,
    output logic [8:0] beat_place_o,
    output data_t      beat_data_o,
    output logic       put_o,
    output tlp_item_t  tlp_o,
    output logic [31:0] put_data_o,

    // Completions, to what waits for them.
    output tag_t      tag_o,
    input  logic      waits_i,
    input  logic      late_i,
    input  tlp_item_t asked_i,
    input  chunk_t    completed_i,
    output logic      progress_o,
    output chunk_t    progress_completed_o,
    output logic      end_o,
    output logic      answer_o,  // pulse: and the bus is to hear
    output logic      answer_data_o,

    output logic foreign_o,    // pulses: it is not of a port's peer, or of another life;
    output logic malformed_o,  // it breaks a rule
    output event_t event_o,
    output logic idle_o
);

  typedef enum logic [2:0] { StRest, StJudge, StCopy, StCommit, StRefuse, StDone } state_e;
  state_e state_q, state_d;
  rx_desc_t desc_q;
  logic life_over_q;  // of the segment in hand

  assign segment.ready = state_q == StRest;
  assign idle_o = state_q == StRest && !segment.valid;

  // ---- Whose it is
  logic known;
  always_comb begin
    known = 1'b0;
    port_o = '0;
    for (int unsigned port = 0; port < N_PEB_PORT; port++)
      if (peer_i[port].assigned && peer_i[port].node == desc_q.node && desc_q.src_qpn == desc_q.dst_qpn &&
          desc_q.src_qpn == 24'(PEB_QPN) + 24'(peer_i[port].group)) begin
        known = 1'b1;
        port_o = peb_port_t'(port);
      end
  end
  peer_t peer;
  assign peer = peer_i[port_o];

  // ---- What it is
  ddp_tagged_t direct;
  ddp_untagged_t untagged;
  assign direct = desc_q.ddp[$bits(ddp_head_t)-1-:$bits(ddp_tagged_t)];
  assign untagged = desc_q.ddp[$bits(ddp_head_t)-1-:$bits(ddp_untagged_t)];
  logic introduces, terminates, of_life;
  assign introduces = desc_q.length == 16'(DDP_TAGGED_BYTES) && direct.t && direct.dv == 2'(DDP_VERSION) &&
      direct.rv == 2'(RDMAP_VERSION) && direct.opcode == RDMAP_OPCODE_WRITE && direct.stag == 32'(INTRODUCTION_STAG);
  assign terminates = !untagged.t && untagged.opcode == RDMAP_OPCODE_TERMINATE;
  assign of_life = peer.met && desc_q.dst_generation == peer.life && desc_q.src_generation == peer.peer_life;

  peb_t limits;
  logic empty, parsed;
  tlp_item_t tlp;
  tlp_parse u_parse (
      .desc_i(desc_q),
      .node_i(16'(cfg_node_i)),
      .limits_o(limits),
      .empty_o(empty),
      .good_o(parsed),
      .tlp_o(tlp)
  );
  logic heads_message;
  assign heads_message = !untagged.t && untagged.dv == 2'(DDP_VERSION) && untagged.rv == 2'(RDMAP_VERSION) &&
      untagged.opcode == RDMAP_OPCODE_SEND && untagged.qn == SEND_QN && untagged.last && untagged.mo == '0 &&
      untagged.msn == last_message_i[port_o] + 1 && !desc_q.imm_valid && !desc_q.ask &&
      desc_q.length >= 16'(DDP_UNTAGGED_BYTES + PEB_BYTES);

  // ---- A completion: of what is asked for, and the next of it
  assign tag_o = tag_t'(tlp.tag);
  logic completes, succeeds, ends, fits;
  logic [63:0] at;
  chunk_t left;
  assign completes = tlp.kind == PEB_BUS_COMPLETION;
  assign at = asked_i.address + 64'(completed_i);
  assign left = asked_i.length - completed_i;
  assign succeeds = tlp.status == COMPLETION_STATUS_SUCCESSFUL;
  always_comb begin
    fits = 1'b0;
    ends = 1'b1;
    if (!succeeds) begin
      fits = tlp.status inside {COMPLETION_STATUS_UNSUPPORTED, COMPLETION_STATUS_ABORT} && !tlp.data &&
          tlp.left == 13'd4 && tlp.address[6:0] == '0;
    end else if (asked_i.kind != PEB_BUS_READ) begin
      fits = tlp.data == (asked_i.kind == PEB_BUS_CONFIG_READ) && (!tlp.data || tlp.length == 13'd4) &&
          tlp.left == 13'd4 && tlp.address[6:0] == '0;
    end else begin
      fits = tlp.data && tlp.length <= left && tlp.left == left && tlp.address[6:0] == at[6:0] &&
          (tlp.length == left || 6'(at[5:0] + tlp.length[5:0]) == '0);
      ends = tlp.length == left;
    end
    if (tlp.tag >= 8'(PEB_TAGS) || !(waits_i || late_i)) fits = 1'b0;
  end

  // ---- Whether it is taken
  logic room, takes;
  always_comb begin
    room = 1'b1;
    if (tlp.kind == PEB_BUS_WRITE) room = is_ahead(flow_i[port_o][0].told, flow_i[port_o][0].received);
    else if (!completes)
      room = is_ahead(flow_i[port_o][1].told, flow_i[port_o][1].received) &&
          !(cfg_host_i && tlp.kind != PEB_BUS_READ);
    takes = heads_message && (empty || (parsed && (completes ? fits : room)));
  end

  // ---- Its data, in the lanes of their addresses
  logic [63:0] to;        // address of the first byte, as the bus sees it
  chunk_t copied_bytes;
  logic [8:0] beats, beat_q, first_beat;
  logic copies, copying_q;
  rx_address_t source;
  lane_t lane;
  always_comb begin
    to = tlp.address;
    copied_bytes = tlp.length;
    first_beat = '0;
    if (completes) begin
      to = asked_i.kind == PEB_BUS_CONFIG_READ ? asked_i.address : at;
      if (asked_i.kind == PEB_BUS_CONFIG_READ) copied_bytes = asked_i.length;
      // Of the first one the beats begin with that of its address.
      first_beat = 9'((14'(lane_of(asked_i.address)) + 14'(completed_i)) >> LaneBits);
    end
    copies = !empty && tlp.data && succeeds_or_write && !(completes && late_i);
    beats = beats_of(to, copied_bytes);
    lane = lane_of(to);
    source = desc_q.start + rx_address_t'(DDP_UNTAGGED_BYTES) + rx_address_t'(head_bytes(tlp)) +
        rx_address_t'(dw_offset(to)) - rx_address_t'(lane);
  end
  logic succeeds_or_write;
  assign succeeds_or_write = !completes || succeeds;
  assign buffer.address = source + (rx_address_t'(beat_q) << LaneBits);
  assign buffer.node = desc_q.node;
  assign buffer.done = state_q == StDone;

  logic [8:0] landed_q;  // the beat that was asked for before
  assign beat_o = copying_q && !life_over_q;
  assign beat_read_o = completes;
  assign beat_place_o = first_beat + landed_q;
  assign beat_data_o = buffer.data;
  logic [31:0] config_q;
  always_ff @(posedge clk_i) if (copying_q) config_q <= buffer.data[32*lane[LaneBits-1:2]+:32];
  assign put_data_o = config_q;

  // ---- What becomes of it
  logic counts, commits, refuses;
  always_comb begin
    state_d = state_q;
    introduced_o = 1'b0;
    foreign_o = 1'b0;
    malformed_o = 1'b0;
    broken_o = 1'b0;
    commits = 1'b0;
    refuses = 1'b0;
    unique case (state_q)
      StRest: if (segment.valid) state_d = StJudge;
      StJudge: begin
        state_d = StDone;
        if (desc_q.unreliable) begin
          foreign_o = 1'b1;
        end else if (desc_q.stale) begin
        end else if (!known) begin
          foreign_o = 1'b1;
          refuses = !terminates && !(introduces && direct.to == 64'(INTRODUCTION_PLAIN));
        end else if (introduces) begin
          introduced_o = desc_q.src_generation != '0;
          refuses = !introduced_o;
        end else if (terminates) begin
          broken_o = peer.met && desc_q.dst_generation == peer.life;
        end else if (!of_life) begin
          foreign_o = 1'b1;
          refuses = 1'b1;
        end else if (!takes) begin
          malformed_o = 1'b1;
          broken_o = 1'b1;
          refuses = 1'b1;
        end else begin
          state_d = copies ? StCopy : StCommit;
        end
        if (refuses) state_d = StRefuse;
      end
      StCopy: if (copying_q && landed_q + 9'd1 >= beats) state_d = StCommit;
      StCommit: begin
        commits = !life_over_q;
        state_d = StDone;
      end
      StRefuse: if (refusal.ready) state_d = StDone;
      default: state_d = StRest;
    endcase
  end
  assign counts = commits && !empty;

  assign introduced_src_o = desc_q.src_generation;
  assign introduced_dst_o = desc_q.dst_generation;
  assign introduced_asks_o = direct.to == 64'(INTRODUCTION_ASKS);
  assign message_o = commits;
  assign message_limits_o = limits;
  assign message_flow_o = {counts && !completes && tlp.kind != PEB_BUS_WRITE, counts && tlp.kind == PEB_BUS_WRITE};
  assign put_o = counts && !completes;
  assign tlp_o = tlp;
  assign progress_o = counts && completes && tlp.data;
  assign progress_completed_o = completed_i + tlp.length;
  assign end_o = counts && completes && ends;
  assign answer_o = end_o && waits_i;
  assign answer_data_o = tlp.data && succeeds;

  assign refusal.valid = state_q == StRefuse;
  always_comb begin
    refusal.what = '0;
    if (refusal.valid)
      refusal.what = '{
          node: desc_q.node,
          seq: desc_q.seq,
          dst_qpn: desc_q.src_qpn,
          src_qpn: desc_q.dst_qpn,
          src_generation: desc_q.dst_generation,
          dst_generation: desc_q.src_generation,
          code: TERM_CODE_STREAM,
          rnr: 1'b0,
          pause: '0,
          length: desc_q.length,
          quote: desc_q.ddp[$bits(ddp_head_t)-1-:$bits(quote_t)]
      };
  end
  always_comb begin
    event_o = '0;
    event_o[COUNTER_REFUSALS_PUT_OFF] = refusal.valid && refusal.ready && refusal.put_off;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StRest;
      desc_q <= '0;
      life_over_q <= 1'b0;
      copying_q <= 1'b0;
      beat_q <= '0;
      landed_q <= '0;
    end else begin
      state_q <= state_d;
      if (segment.valid && segment.ready) desc_q <= segment.data;
      life_over_q <= state_q inside {StCopy, StJudge} && (life_over_q || begins_i[port_o]);
      copying_q <= state_q == StCopy && state_d == StCopy;
      beat_q <= state_q == StCopy ? beat_q + 9'd1 : '0;
      landed_q <= beat_q;
    end
  end

endmodule
