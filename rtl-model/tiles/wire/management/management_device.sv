// SPDX-License-Identifier: BSD-2-Clause
// What the agent knows of its node, and how a request changes it: number, manager, key, beat. It stays when
// the driver resets the node.

module management_device
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import management_pkg::*;
(
    input logic clk_i,
    input logic power_ni,

    // The board.
    input node_id_t    cfg_node_i,  // NODE_NONE: a manager says the number
    input logic [63:0] cfg_guid_i,
    input logic        link_up_i,
    input management_kind_e kind_i,

    // A request that is judged.
    input  logic               judge_i,  // pulse
    /* verilator lint_off UNUSEDSIGNAL */  // some fields count
    input  management_header_t        request_i,
    input  management_device_t wanted_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic               served_o,  // it has the key
    output management_status_e status_o,
    output logic               known_o,   // there is what it asks for
    output logic               assignment_takes_o,  // pulse
    input  management_status_e assignment_status_i,

    output management_device_t device_o,
    output node_id_t           number_o,

    // What the rest of the node sees of it.
    output node_id_t node_o,
    output logic     link_up_o,
    output logic     idle_o
);

  // So many cycles the link is down before there is another number.
  localparam int unsigned DownCycles = 8;

  node_id_t number_q, manager_q;
  logic [63:0] key_q;
  logic [7:0] beat_q;
  logic fixed;
  assign fixed = cfg_node_i != node_id_t'(NODE_NONE);
  assign number_o = fixed ? cfg_node_i : number_q;

  // ---- Judgement
  logic sets, other_bits, sets_number, takes_number;
  assign sets = request_i.method == MANAGEMENT_METHOD_SET;
  assign sets_number = wanted_i.sets[MANAGEMENT_SETS_NUMBER];
  assign other_bits = wanted_i.sets[7:MANAGEMENT_SETS_BITS] != '0;
  assign takes_number = wanted_i.number == node_id_t'(NODE_NONE) || 32'(wanted_i.number) < N_NODE;
  assign served_o = key_q == '0 || request_i.key == key_q;
  assign known_o = !(status_o inside {MANAGEMENT_STATUS_NO_ATTRIBUTE, MANAGEMENT_STATUS_NO_BLOCK});
  always_comb begin
    status_o = MANAGEMENT_STATUS_OK;
    if (request_i.attribute == MANAGEMENT_ATTRIBUTE_ASSIGNMENT) status_o = assignment_status_i;
    else if (request_i.attribute != MANAGEMENT_ATTRIBUTE_DEVICE) status_o = MANAGEMENT_STATUS_NO_ATTRIBUTE;
    else if (request_i.modifier != '0) status_o = MANAGEMENT_STATUS_NO_BLOCK;
    else if (sets && (other_bits || (sets_number && !takes_number))) status_o = MANAGEMENT_STATUS_BAD_VALUE;
    else if (sets && sets_number && fixed && wanted_i.number != cfg_node_i)
      status_o = MANAGEMENT_STATUS_FIXED;
  end

  logic takes, change, renumber;
  assign takes = judge_i && served_o && sets && status_o == MANAGEMENT_STATUS_OK;
  assign change = takes && request_i.attribute == MANAGEMENT_ATTRIBUTE_DEVICE;
  assign assignment_takes_o = takes && request_i.attribute == MANAGEMENT_ATTRIBUTE_ASSIGNMENT;
  assign renumber = change && sets_number && wanted_i.number != number_o;
  always_ff @(posedge clk_i or negedge power_ni) begin
    if (!power_ni) begin
      number_q  <= node_id_t'(NODE_NONE);
      manager_q <= node_id_t'(NODE_NONE);
      key_q     <= '0;
      beat_q    <= '0;
    end else if (change) begin
      if (sets_number) number_q <= wanted_i.number;
      if (wanted_i.sets[MANAGEMENT_SETS_MANAGER]) manager_q <= wanted_i.manager;
      if (wanted_i.sets[MANAGEMENT_SETS_KEY]) key_q <= wanted_i.new_key;
      if (wanted_i.sets[MANAGEMENT_SETS_BEAT]) beat_q <= wanted_i.beat;
    end
  end

  // ---- Who gets another number has its link down in between.
  logic [$clog2(DownCycles+1)-1:0] down_q;
  always_ff @(posedge clk_i or negedge power_ni) begin
    if (!power_ni) down_q <= '0;
    else if (renumber) down_q <= ($clog2(DownCycles + 1))'(DownCycles);
    else if (down_q != '0) down_q <= down_q - 1'b1;
  end
  assign node_o = down_q == '0 ? number_o : node_id_t'(NODE_NONE);
  assign link_up_o = link_up_i && node_o != node_id_t'(NODE_NONE);

  // ---- The carrier: what it is when power comes is no change.
  logic looked_q, carrier_q;
  logic [15:0] changes_q;
  always_ff @(posedge clk_i or negedge power_ni) begin
    if (!power_ni) begin
      {looked_q, carrier_q} <= '0;
      changes_q <= '0;
    end else begin
      looked_q  <= 1'b1;
      carrier_q <= link_up_i;
      if (looked_q && carrier_q != link_up_i) changes_q <= changes_q + 1'b1;
    end
  end
  assign idle_o = down_q == '0 && looked_q && carrier_q == link_up_i;

  always_comb begin
    device_o = '0;
    device_o.guid = cfg_guid_i;
    device_o.kind = kind_i;
    device_o.flags[MANAGEMENT_DEVICE_FLAGS_FIXED] = fixed;
    device_o.flags[MANAGEMENT_DEVICE_FLAGS_KEYED] = key_q != '0;
    device_o.number = number_o;
    device_o.ports = 16'd1;
    device_o.manager = manager_q;
    device_o.nodes = 32'(N_NODE);
    device_o.changes = changes_q;
    device_o.beat = beat_q;
  end

endmodule
