// SPDX-License-Identifier: BSD-2-Clause
// The agent of fabric management (FABRIC.md), between the MAC and all else. Management frames are its own;
// others pass as they are once the node has a number.

`include "exrnic_assert.svh"

module management
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import management_pkg::*;
#(
    parameter bit HAS_HOST = 1'b1  // else what would go to a host is dropped
) (
    input  logic clk_i,
    input  logic rst_ni,    // by the driver,
    input  logic power_ni,  // and by the power, with which rst_ni comes, too
    output logic idle_o,

    // The board; and what the rest of the node sees.
    input  node_id_t    cfg_node_i,  // NODE_NONE: a manager says the number
    input  logic [63:0] cfg_guid_i,
    input  logic        link_up_i,
    input  management_kind_e kind_i,
    output node_id_t    node_o,
    output logic        link_up_o,

    // The attribute assignment, which is served elsewhere. Requests wait while it is held.
    output assignment_request_t    assignment_o,
    output logic                   assignment_takes_o,   // pulse: it is to be so
    input  logic                   assignment_hold_i,
    input  management_status_e     assignment_status_i,  // NO_ATTRIBUTE: there is none
    input  management_assignment_t assigned_i,

    // MANAGEMENT_*: an access is taken at once, a read answered in the next cycle.
    input  logic        host_valid_i,
    input  logic        host_write_i,
    input  logic        host_word_i,     // 32 bits, aligned
    input  logic [15:0] host_address_i,
    input  logic [31:0] host_data_i,
    output logic        host_rsp_valid_o,
    output logic [31:0] host_rsp_data_o,

    // Frames of the node, and those of the MAC.
    input  logic        node_tx_valid_i,
    output logic        node_tx_ready_o,
    input  logic        node_tx_sop_i,
    input  logic        node_tx_eop_i,
    input  data_t       node_tx_data_i,
    input  beat_bytes_t node_tx_bytes_i,
    output logic        tx_valid_o,
    input  logic        tx_ready_i,
    output logic        tx_sop_o,
    output logic        tx_eop_o,
    output data_t       tx_data_o,
    output beat_bytes_t tx_bytes_o,

    // Frames to the node have the same beats.
    input  logic        rx_valid_i,
    output logic        rx_ready_o,
    input  logic        rx_sop_i,
    input  logic        rx_eop_i,
    input  data_t       rx_data_i,
    input  beat_bytes_t rx_bytes_i,
    input  logic        rx_error_i,
    output logic        node_rx_valid_o,
    input  logic        node_rx_ready_i,

    output event_t event_o
);

  logic numbered;
  assign numbered = node_o != node_id_t'(NODE_NONE);

  // ---- From the line: whose a frame is, or that nobody gets it, is known with its first beat.
  typedef struct packed {
    logic agent;
    logic node;
  } way_t;
  way_t way, way_q, begins;
  logic known_q, is_management, agent_valid;
  assign is_management = rx_data_i[8*12+:16] == {8'(MANAGEMENT_ETHERTYPE), 8'(MANAGEMENT_ETHERTYPE >> 8)} &&
      !(rx_eop_i && rx_bytes_i < beat_bytes_t'(ETH_BYTES));
  assign begins = '{agent: is_management, node: !is_management && numbered};
  assign way = known_q ? way_q : begins;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) known_q <= 1'b0;
    else if (rx_valid_i) known_q <= !(rx_ready_o && rx_eop_i);
  end
  always_ff @(posedge clk_i) if (rx_valid_i && !known_q) way_q <= begins;
  assign rx_ready_o = node_rx_ready_i || !way.node;
  assign node_rx_valid_o = rx_valid_i && way.node;
  assign agent_valid = rx_valid_i && way.agent;

  logic line_write, for_host, for_agent, for_nobody;
  beat_t line_beat;
  data_t line_data, line_host_data;
  node_id_t number;
  management_receive u_receive (
      .clk_i,
      .rst_ni,
      .number_i(number),
      .valid_i(agent_valid),
      .sop_i(rx_sop_i),
      .eop_i(rx_eop_i),
      .data_i(rx_data_i),
      .bytes_i(rx_bytes_i),
      .error_i(rx_error_i),
      .write_o(line_write),
      .beat_o(line_beat),
      .data_o(line_data),
      .host_data_o(line_host_data),
      .for_host_o(for_host),
      .for_agent_o(for_agent),
      .for_nobody_o(for_nobody)
  );

  // ---- A frame in hand: a request of the line
  logic hand_full_q, hand_open_q, hand_opens;
  logic [1:0] asks, done, read;
  beat_t read_beat;
  data_t read_data[2];
  assign hand_opens = rx_sop_i ? !hand_full_q : hand_open_q;
  ram_1r1w #(
      .WIDTH(DATA_W),
      .DEPTH(BEATS)
  ) u_hand (
      .clk_i,
      .write_i(line_write && hand_opens),
      .write_address_i(line_beat),
      .write_data_i(line_data),
      .read_i(read[0]),
      .read_address_i(read_beat),
      .read_data_o(read_data[0])
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {hand_full_q, hand_open_q} <= '0;
    else begin
      if (agent_valid) hand_open_q <= hand_opens && !rx_eop_i;
      if (for_agent && hand_opens) hand_full_q <= 1'b1;
      else if (done[0]) hand_full_q <= 1'b0;
    end
  end
  assign asks[0] = hand_full_q;

  // ---- The host
  logic [1:0] out_valid, out_ready;
  beat_t out_beat;
  logic out_last, lost;
  data_t out_data;
  if (!HAS_HOST) begin : g_none
    assign asks[1] = 1'b0;
    assign read_data[1] = '0;
    assign host_rsp_valid_o = 1'b0;
    assign host_rsp_data_o = '0;
    assign out_ready[1] = 1'b1;
    assign lost = for_host;
  end else begin : g_host
    logic waiting, taken, in_read;
    beat_t in_beat;
    data_t in_data;
    management_host u_host (
        .clk_i,
        .rst_ni,
        .valid_i(host_valid_i),
        .write_i(host_write_i),
        .word_i(host_word_i),
        .address_i(host_address_i),
        .data_i(host_data_i),
        .rsp_valid_o(host_rsp_valid_o),
        .rsp_data_o(host_rsp_data_o),
        .sending_o(asks[1]),
        .sent_i(done[1]),
        .read_i(read[1]),
        .read_beat_i(read_beat),
        .read_data_o(read_data[1]),
        .waiting_i(waiting),
        .taken_o(taken),
        .in_read_o(in_read),
        .in_beat_o(in_beat),
        .in_data_i(in_data)
    );
    management_waiting u_waiting (
        .clk_i,
        .rst_ni,
        .line_valid_i(agent_valid),
        .line_write_i(line_write),
        .line_beat_i(line_beat),
        .line_data_i(line_host_data),
        .line_keep_i(for_host),
        .own_valid_i(out_valid[1]),
        .own_ready_o(out_ready[1]),
        .own_beat_i(out_beat),
        .own_data_i(out_data),
        .own_keep_i(out_last),
        .lost_o(lost),
        .waiting_o(waiting),
        .taken_i(taken),
        .read_i(in_read),
        .read_beat_i(in_beat),
        .read_data_o(in_data)
    );
  end

  // ---- What serves requests, and what they are about
  logic judge, served, has_key, known, dropped, agent_idle, device_idle;
  management_header_t request;
  management_device_t wanted, device, answer;
  management_status_e status;
  management_agent u_agent (
      .clk_i,
      .rst_ni,
      .idle_o(agent_idle),
      .link_up_i,
      .asks_i(asks),
      .done_o(done),
      .read_o(read),
      .read_beat_o(read_beat),
      .read_data_i(read_data),
      .judge_o(judge),
      .request_o(request),
      .wanted_o(wanted),
      .served_i(has_key),
      .status_i(status),
      .known_i(known),
      .device_i(answer),
      .number_i(number),
      .valid_o(out_valid),
      .ready_i(out_ready),
      .beat_o(out_beat),
      .last_o(out_last),
      .data_o(out_data),
      .hold_i((agent_valid && rx_eop_i) || assignment_hold_i),
      .served_o(served),
      .dropped_o(dropped)
  );

  management_device u_device (
      .clk_i,
      .power_ni,
      .cfg_node_i,
      .cfg_guid_i,
      .link_up_i,
      .kind_i,
      .judge_i(judge),
      .request_i(request),
      .wanted_i(wanted),
      .served_o(has_key),
      .status_o(status),
      .known_o(known),
      .assignment_takes_o,
      .assignment_status_i,
      .device_o(device),
      .number_o(number),
      .node_o,
      .link_up_o,
      .idle_o(device_idle)
  );
  assign idle_o = agent_idle && device_idle;
  assign assignment_o.port = request.modifier;
  assign assignment_o.wanted = management_assignment_t'(wanted.guid);  // where that is in the data
  assign assignment_o.sets = request.method == MANAGEMENT_METHOD_SET;
  assign answer = request.attribute == MANAGEMENT_ATTRIBUTE_ASSIGNMENT ?
      management_device_t'({assigned_i, (8 * (MANAGEMENT_DEVICE_BYTES - MANAGEMENT_ASSIGNMENT_BYTES))'(0)}) : device;

  // ---- To the line. A frame of the node whose source is not its address is one that it began with another
  // number, or with none: it is taken, and goes nowhere.
  logic goes, goes_q, goes_known_q, node_open_q, agent_open_q, agent_has;
  logic [47:0] source;
  always_comb begin
    for (int unsigned b = 0; b < 6; b++) source[8*(5-b)+:8] = node_tx_data_i[8*(6+b)+:8];
  end
  assign goes = goes_known_q ? goes_q : numbered && source == mac_of(node_o);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) goes_known_q <= 1'b0;
    else if (node_tx_valid_i) goes_known_q <= !(node_tx_ready_o && node_tx_eop_i);
  end
  always_ff @(posedge clk_i) if (node_tx_valid_i && !goes_known_q) goes_q <= goes;

  // Frames take turns; who has the line keeps it until its frame ends.
  assign agent_has = agent_open_q || (out_valid[0] && !node_open_q);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {node_open_q, agent_open_q} <= '0;
    else begin
      agent_open_q <= agent_has && !(tx_ready_i && out_last);
      if (!agent_has && node_tx_valid_i && goes) node_open_q <= !(tx_ready_i && node_tx_eop_i);
    end
  end
  assign out_ready[0] = agent_has && tx_ready_i;
  assign node_tx_ready_o = !goes || (tx_ready_i && !agent_has);
  always_comb begin
    tx_valid_o = node_tx_valid_i && goes;
    tx_sop_o   = node_tx_sop_i;
    tx_eop_o   = node_tx_eop_i;
    tx_data_o  = node_tx_data_i;
    tx_bytes_o = node_tx_bytes_i;
    if (agent_has) begin
      tx_valid_o = 1'b1;
      tx_sop_o   = out_beat == '0;
      tx_eop_o   = out_last;
      tx_data_o  = out_data;
      tx_bytes_o = beat_bytes_t'(DATA_BYTES);
    end
  end

  always_comb begin
    event_o = '0;
    event_o[COUNTER_MANAGEMENT_SERVED] = served;
    event_o[COUNTER_MANAGEMENT_DROPPED] = dropped || lost || for_nobody || (for_agent && !hand_opens);
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(one_drops, $onehot0({dropped, lost, for_nobody, for_agent && !hand_opens}))
  `EXRNIC_ALWAYS(node_begins_with_sop, !(node_tx_valid_i && !goes_known_q) || node_tx_sop_i)
  `EXRNIC_ALWAYS(agent_stays, !agent_open_q || out_valid[0])

endmodule
