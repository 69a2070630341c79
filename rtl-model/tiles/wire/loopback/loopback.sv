// SPDX-License-Identifier: BSD-2-Clause
// Between efe_tx, efe_rx and the MAC: frames to the own node go round and are on no line. Of a
// datagram to a group to which a queue pair of this node is attached, a copy does.

`include "exrnic_assert.svh"

module loopback
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input node_id_t cfg_node_i,  // NODE_NONE: nothing goes round

    // Frames of efe_tx. Those of the MAC have the same beats.
    input  logic        tx_valid_i,
    output logic        tx_ready_o,
    input  logic        tx_sop_i,
    input  logic        tx_eop_i,
    input  data_t       tx_data_i,
    input  beat_bytes_t tx_bytes_i,
    output logic        line_tx_valid_o,
    input  logic        line_tx_ready_i,

    // Frames of the MAC wait while one goes round: whole frames, as many beats of each kind.
    input  logic        line_rx_valid_i,
    output logic        line_rx_ready_o,
    input  logic        line_rx_sop_i,
    input  logic        line_rx_eop_i,
    input  data_t       line_rx_data_i,
    input  beat_bytes_t line_rx_bytes_i,
    input  logic        line_rx_error_i,

    // To efe_rx, which is always ready.
    output logic        rx_valid_o,
    output logic        rx_sop_o,
    output logic        rx_eop_o,
    output data_t       rx_data_o,
    output beat_bytes_t rx_bytes_o,
    output logic        rx_error_o,
    output logic        rx_looped_o,  // it has gone round

    output logic   group_look_o,  // is a queue pair attached to that group?
    output group_t group_o,
    input  logic   group_known_i,  // in the same cycle

    output event_t event_o
);

  // The beat that has the last byte of the shortest frame. Headers alone reach into it.
  localparam int unsigned PadBeat = (ETH_FRAME_MIN - 1) / DATA_BYTES;
  localparam int unsigned PadBytes = ETH_FRAME_MIN - PadBeat * DATA_BYTES;
  typedef logic [$clog2(PadBeat+2)-1:0] beat_t;

  // ---- Where a frame goes: known with its first beat, and kept for the others. What is attached may
  // change while that beat waits.
  typedef struct packed {
    logic line;
    logic round;
  } way_t;
  way_t way, way_q, begins;
  logic own, numbered, known_q;
  logic [47:0] to;
  always_comb begin
    for (int unsigned b = 0; b < 6; b++) to[8*(5-b)+:8] = tx_data_i[8*b+:8];
  end
  assign group_look_o = tx_valid_i && tx_sop_i && !known_q && to[47:16] == 32'(GROUP_MAC_PREFIX);
  assign group_o      = group_t'(to[15:0]);
  assign numbered     = cfg_node_i != node_id_t'(NODE_NONE);
  assign own          = numbered && to == {32'(MAC_PREFIX), cfg_node_i};
  assign begins       = '{line: !own, round: own || (numbered && group_look_o && group_known_i)};
  assign way          = known_q ? way_q : begins;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) known_q <= 1'b0;
    else if (tx_valid_i) known_q <= !(tx_ready_o && tx_eop_i);
  end
  always_ff @(posedge clk_i) if (tx_valid_i && !known_q) way_q <= begins;

  // ---- Who has efe_rx: until the end of its frame. A frame that is for the line, too, begins when the
  // MAC takes it, so that nobody waits for the line. Turns are counted in beats: a long frame that goes
  // round costs the line as many short ones.
  localparam int unsigned MostBeats = (MTU_MAX + HEADER_UNTAGGED_BYTES - 1) / DATA_BYTES + 1;
  typedef logic signed [$clog2(MostBeats+1):0] ahead_t;
  ahead_t ahead_q;  // beats that went round while the line waited, less those of the line likewise
  logic line_has_q, round_has_q;
  logic asks, line_goes, round_goes;
  assign asks = tx_valid_i && way.round && (!way.line || line_tx_ready_i);
  assign round_goes = asks && !line_has_q && (round_has_q || !line_rx_valid_i || ahead_q <= 0);
  assign line_goes  = line_rx_valid_i && !round_has_q && !round_goes;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {line_has_q, round_has_q} <= '0;
      ahead_q <= '0;
    end else begin
      if (line_goes) line_has_q <= !line_rx_eop_i;
      if (round_goes) round_has_q <= !tx_eop_i;
      if (round_goes && line_rx_valid_i) begin
        if (ahead_q != ahead_t'(MostBeats)) ahead_q <= ahead_q + ahead_t'(1);
      end else if (line_goes && asks) begin
        if (ahead_q != -ahead_t'(MostBeats)) ahead_q <= ahead_q - ahead_t'(1);
      end
    end
  end

  assign tx_ready_o      = way.round ? round_goes : line_tx_ready_i;
  assign line_tx_valid_o = tx_valid_i && way.line && (!way.round || round_goes);
  assign line_rx_ready_o = !round_has_q && !round_goes;

  // ---- To efe_rx. What goes round has no MAC that would pad it.
  beat_t beat_q;
  logic pads;
  assign pads = tx_eop_i && beat_q == beat_t'(PadBeat) && tx_bytes_i < beat_bytes_t'(PadBytes);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) beat_q <= '0;
    else if (round_goes) begin
      if (tx_eop_i) beat_q <= '0;
      else if (beat_q != beat_t'(PadBeat + 1)) beat_q <= beat_q + 1'b1;
    end
  end
  always_comb begin
    rx_valid_o  = line_goes || round_goes;
    rx_looped_o = round_goes;
    rx_sop_o    = round_goes ? tx_sop_i : line_rx_sop_i;
    rx_eop_o    = round_goes ? tx_eop_i : line_rx_eop_i;
    rx_data_o   = round_goes ? tx_data_i : line_rx_data_i;
    rx_error_o  = !round_goes && line_rx_error_i;
    if (!round_goes) rx_bytes_o = line_rx_bytes_i;
    else rx_bytes_o = pads ? beat_bytes_t'(PadBytes) : tx_bytes_i;
  end

  always_comb begin
    event_o = '0;
    event_o[COUNTER_FRAMES_LOOPED] = round_goes && tx_eop_i;
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(one_goes, $onehot0({line_goes, round_goes}))
  `EXRNIC_ALWAYS(round_begins_with_sop, !round_goes || round_has_q != tx_sop_i)
  `EXRNIC_ALWAYS(round_is_no_runt, !(round_goes && tx_eop_i) || beat_q >= beat_t'(PadBeat))
  `EXRNIC_OFFERED(line_tx_is_offered, line_tx_valid_o && !way.round, line_tx_ready_i)

endmodule
