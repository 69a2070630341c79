// SPDX-License-Identifier: BSD-2-Clause
// Management frames from the line: for the host, to be served, or to be dropped. What a frame is for is
// known with its last beat, so it is written for both.

module management_receive
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import management_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input node_id_t number_i,  // of this node

    input logic        valid_i,  // a beat of a management frame; it is always taken
    input logic        sop_i,
    input logic        eop_i,
    input data_t       data_i,
    input beat_bytes_t bytes_i,
    input logic        error_i,

    output logic  write_o,
    output beat_t beat_o,
    output data_t data_o,        // as the agent has it,
    output data_t host_data_o,   // and as the host gets it
    output logic  for_host_o,    // pulses, with the last beat
    output logic  for_agent_o,
    output logic  for_nobody_o
);

  logic [$clog2(BEATS):0] beat, beat_q;  // BEATS: it is too long
  assign beat = sop_i ? '0 : beat_q;
  assign write_o = valid_i && beat < ($clog2(BEATS) + 1)'(BEATS);
  assign beat_o = beat_t'(beat);
  assign data_o = data_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) beat_q <= '0;
    else if (write_o) beat_q <= beat + 1'b1;
  end

  /* verilator lint_off UNUSEDSIGNAL */  // some fields count
  fields_t fields;
  /* verilator lint_on UNUSEDSIGNAL */
  management_fields u_fields (
      .clk_i,
      .valid_i(write_o),
      .beat_i(beat_o),
      .data_i,
      .fields_o(fields)
  );

  logic directed, routed, whole, answers, goes_back;
  /* verilator lint_off UNUSEDSIGNAL */  // likewise
  management_header_t head;
  /* verilator lint_on UNUSEDSIGNAL */
  assign head = fields.header.management;
  assign directed = fields.header.eth.dst == mac_of(node_id_t'(NODE_NONE));
  assign routed = !directed && fields.header.eth.dst == mac_of(number_i) && head.hop == '0 && head.hops == '0;
  assign whole = beat == ($clog2(BEATS) + 1)'(BEATS - 1) && bytes_i == beat_bytes_t'(DATA_BYTES) && !error_i;
  assign answers = head.method == MANAGEMENT_METHOD_ANSWER;
  assign goes_back = directed && answers && head.hop != '0 && head.hop <= head.hops;

  always_comb begin
    {for_host_o, for_agent_o, for_nobody_o} = '0;
    if (valid_i && eop_i) begin
      if (whole && head.version == 4'(MANAGEMENT_VERSION) && head.hops < 8'(MANAGEMENT_HOPS)) begin
        for_agent_o = is_request(fields.header) && (routed || (directed && head.hop == head.hops));
        for_host_o = (goes_back && fields.port == 16'(PORT_NONE)) ||
            (routed && (answers || head.method == MANAGEMENT_METHOD_TRAP));
      end
      for_nobody_o = !for_agent_o && !for_host_o;
    end
  end

  // The host gets a directed answer with one hop less.
  localparam int unsigned HopAt = ETH_BYTES + 4;
  always_comb begin
    host_data_o = data_i;
    if (beat_o == beat_t'(HopAt / DATA_BYTES) && goes_back)
      host_data_o[8*(HopAt%DATA_BYTES)+:8] = head.hop - 8'd1;
  end

endmodule
