// SPDX-License-Identifier: BSD-2-Clause
// What each port knows of its peer: whether the two have met, in which lives, and how far both are.
`include "exrnic_assert.svh"

module peb_ports
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import peb_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input node_t cfg_node_i,
    input logic [63:0] time_i,

    // Who a port is joined to from now on.
    input logic        assign_valid_i,  // pulse
    input peb_port_t       assign_port_i,
    input logic        assign_peer_i,   // somebody:
    input node_t       assign_node_i,
    input logic [15:0] assign_group_i,

    output peer_t peer_o[N_PEB_PORT],
    output flows_t flow_o[N_PEB_PORT],  // posted, and non-posted ones

    // A segment of its peer: an introduction, a refusal, a message, or one that breaks a rule.
    input peb_port_t       came_port_i,
    input logic        introduced_i,  // pulses
    input generation_t introduced_src_i,
    input generation_t introduced_dst_i,
    input logic        introduced_asks_i,
    input logic        message_i,
    input peb_t        message_limits_i,
    input logic [1:0]  message_flow_i,  // it brings one
    input logic        broken_i,        // its life ends

    // To it.
    output logic [N_PEB_PORT-1:0] owes_introduction_o,
    output logic [N_PEB_PORT-1:0] asks_o,  // that it answers
    output logic [N_PEB_PORT-1:0] owes_limits_o,
    output logic [31:0]      next_message_o[N_PEB_PORT],
    output logic [31:0]      last_message_o[N_PEB_PORT],  // of the peer
    input  peb_port_t            sent_port_i,
    input  logic             sent_introduction_i,  // pulses
    input  logic             submitted_introduction_i,  // that one, or one of a life that is over
    input  logic             sent_message_i,
    input  peb_t             sent_limits_i,
    input  logic [1:0]       sent_flow_i,
    input  logic             ended_valid_i,  // pulse: a segment has ended
    input  tx_done_t         ended_i,

    input peb_port_t      handed_port_i,
    input logic [1:0] handed_i,  // pulses: to the bus

    input  logic [N_PEB_PORT-1:0] stuck_i,  // its requests end no more
    output logic [N_PEB_PORT-1:0] begins_o,  // pulses: a life begins, and what was before is void
    output logic [N_PEB_PORT-1:0] met_o,     // pulses: the link is up
    output logic             life_begins_o,  // pulse: for EFE
    output peb_port_t            life_port_o,
    output generation_t      life_o,

    output logic idle_o,
    output logic waits_o  // somebody introduces itself at the next interval
);

  localparam logic [15:0] Room[2] = '{16'(PEB_POSTED_ROOM), 16'(PEB_REQUEST_ROOM)};
  localparam int unsigned Introducing = 2;  // under way

  peer_t peer_q[N_PEB_PORT], peer_d[N_PEB_PORT];
  flows_t flow_q[N_PEB_PORT], flow_d[N_PEB_PORT];
  logic [N_PEB_PORT-1:0] lost_q, lost_d, owes_q, owes_d, asked_q, asked_d;
  logic [1:0] under_way_q[N_PEB_PORT], under_way_d[N_PEB_PORT];  // introductions
  logic [31:0] sent_q[N_PEB_PORT], sent_d[N_PEB_PORT], taken_q[N_PEB_PORT], taken_d[N_PEB_PORT];
  logic [63-PEB_ASK_SHIFT:0] interval_q;
  logic next_interval;
  assign next_interval = interval_q != time_i[63:PEB_ASK_SHIFT];

  assign peer_o = peer_q;
  assign flow_o = flow_q;
  always_comb begin
    for (int unsigned port = 0; port < N_PEB_PORT; port++) begin
      next_message_o[port] = sent_q[port] + 1;
      last_message_o[port] = taken_q[port];
      owes_introduction_o[port] = owes_q[port] && under_way_q[port] < 2'(Introducing);
      asks_o[port] = peer_q[port].assigned && !peer_q[port].met && under_way_q[port] == '0 &&
          !asked_q[port] && !owes_q[port];
      owes_limits_o[port] = 1'b0;
      for (int unsigned flow = 0; flow < 2; flow++)
        if (peer_q[port].met &&
            flow_q[port][flow].handed + Room[flow] - flow_q[port][flow].told >= Room[flow] / 2)
          owes_limits_o[port] = 1'b1;
    end
  end

  // ---- One event of each kind at a time; a life that begins is the last word
  function automatic generation_t drawn(logic [63:0] time_ns, node_t node, int unsigned port);
    logic [15:0] low;
    low = time_ns[15:0] ^ time_ns[31:16] ^ 16'(node) ^ 16'(port << 8);
    return low == '0 ? generation_t'(1) : low;
  endfunction

  always_comb begin
    peer_d = peer_q;
    flow_d = flow_q;
    lost_d = lost_q;
    owes_d = owes_q;
    asked_d = next_interval ? '0 : asked_q;
    under_way_d = under_way_q;
    sent_d = sent_q;
    taken_d = taken_q;
    begins_o = '0;
    met_o = '0;
    for (int unsigned port = 0; port < N_PEB_PORT; port++) begin
      automatic logic sends, comes, ends, dies;
      automatic peer_t peer;
      peer = peer_q[port];
      sends = sent_port_i == peb_port_t'(port);
      comes = came_port_i == peb_port_t'(port);
      ends = ended_valid_i && ended_i.tag.qpn == qpn_t'(port);

      if (sends && sent_introduction_i) begin
        owes_d[port] = 1'b0;
        asked_d[port] = 1'b1;
      end
      under_way_d[port] = under_way_q[port] + 2'(sends && submitted_introduction_i) -
          2'(ends && ended_i.tag.kind == TX_KIND_INTRODUCTION);
      if (ends && ended_i.status != CQE_STATUS_SUCCESS && ended_i.tag.generation == peer.life)
        lost_d[port] = 1'b1;
      if (sends && sent_message_i) begin
        sent_d[port] = sent_q[port] + 1;
        flow_d[port][0].told = sent_limits_i.posted_limit;
        flow_d[port][1].told = sent_limits_i.request_limit;
        for (int unsigned flow = 0; flow < 2; flow++)
          if (sent_flow_i[flow]) flow_d[port][flow].sent = flow_q[port][flow].sent + 1;
      end
      for (int unsigned flow = 0; flow < 2; flow++)
        if (handed_i[flow] && handed_port_i == peb_port_t'(port))
          flow_d[port][flow].handed = flow_q[port][flow].handed + 1;
      if (comes && message_i) begin
        taken_d[port] = taken_q[port] + 1;
        if (is_ahead(message_limits_i.posted_limit, flow_q[port][0].limit))
          flow_d[port][0].limit = message_limits_i.posted_limit;
        if (is_ahead(message_limits_i.request_limit, flow_q[port][1].limit))
          flow_d[port][1].limit = message_limits_i.request_limit;
        for (int unsigned flow = 0; flow < 2; flow++)
          if (message_flow_i[flow]) flow_d[port][flow].received = flow_q[port][flow].received + 1;
      end

      // An introduction that is lost is no reason to begin anew, for who has not met anybody.
      dies = lost_q[port] && peer.met || stuck_i[port] && peer.met || comes && broken_i;
      if (!peer.met) lost_d[port] = 1'b0;
      if (comes && introduced_i && peer.met &&
          (introduced_src_i != peer.peer_life || introduced_dst_i != peer.life))
        dies = 1'b1;
      if (assign_valid_i && assign_port_i == peb_port_t'(port)) begin
        dies = peer.assigned;
        if (peer.life == '0) peer_d[port].life = drawn(time_i, cfg_node_i, port);
        peer_d[port].assigned = assign_peer_i;
        peer_d[port].node = assign_node_i;
        peer_d[port].group = assign_group_i;
      end
      if (dies) begin
        begins_o[port] = 1'b1;
        peer_d[port].life = next_life(peer.life);
        peer_d[port].peer_life = '0;
        peer_d[port].met = 1'b0;
        lost_d[port] = 1'b0;
        owes_d[port] = 1'b0;
        sent_d[port] = '0;
        taken_d[port] = '0;
        flow_d[port] = '0;
      end
      if (assign_valid_i && assign_port_i == peb_port_t'(port)) begin
        owes_d[port] = assign_peer_i;
      end else if (comes && introduced_i) begin
        if (introduced_dst_i == peer_d[port].life && !peer_d[port].met) begin
          peer_d[port].met = 1'b1;
          met_o[port] = 1'b1;
        end
        peer_d[port].peer_life = introduced_src_i;
        if (introduced_src_i != peer.peer_life || introduced_dst_i != peer_d[port].life ||
            introduced_asks_i)
          owes_d[port] = 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      peer_q <= '{default: '0};
      flow_q <= '{default: '0};
      lost_q <= '0;
      owes_q <= '0;
      asked_q <= '0;
      under_way_q <= '{default: '0};
      sent_q <= '{default: '0};
      taken_q <= '{default: '0};
      interval_q <= '0;
    end else begin
      peer_q <= peer_d;
      flow_q <= flow_d;
      lost_q <= lost_d;
      owes_q <= owes_d;
      asked_q <= asked_d;
      under_way_q <= under_way_d;
      sent_q <= sent_d;
      taken_q <= taken_d;
      interval_q <= time_i[63:PEB_ASK_SHIFT];
    end
  end

  // ---- EFE hears of one life at a time
  logic [N_PEB_PORT-1:0] new_q;
  always_comb begin
    life_begins_o = new_q != '0;
    life_port_o = '0;
    for (int unsigned port = 0; port < N_PEB_PORT; port++)
      if (new_q[port]) life_port_o = peb_port_t'(port);
    life_o = peer_q[life_port_o].life;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      new_q <= '0;
    end else begin
      new_q <= (new_q & ~(N_PEB_PORT'(life_begins_o) << life_port_o)) | begins_o;
    end
  end

  logic [N_PEB_PORT-1:0] waits, ends;
  always_comb
    for (int unsigned port = 0; port < N_PEB_PORT; port++) begin
      waits[port] = peer_q[port].assigned && !peer_q[port].met;
      ends[port] = stuck_i[port] && peer_q[port].met;
    end
  assign waits_o = waits != '0;
  assign idle_o = owes_q == '0 && asks_o == '0 && owes_limits_o == '0 && lost_q == '0 && new_q == '0 && ends == '0;

  logic [N_PEB_PORT-1:0] too_many;
  always_comb
    for (int unsigned port = 0; port < N_PEB_PORT; port++) too_many[port] = under_way_q[port] > 2'(Introducing);
  `EXRNIC_ALWAYS(introductions_under_way, too_many == '0)

endmodule
