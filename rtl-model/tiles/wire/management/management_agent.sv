// SPDX-License-Identifier: BSD-2-Clause
// Serves requests, of the line and of the host, and sends the host's on. One after the other: it reads a
// frame until it knows what to do, then reads it again, and changes what goes out of it.

`include "exrnic_assert.svh"

module management_agent
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import management_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,

    input logic link_up_i,  // there is a carrier

    // Frames with a request: of the line (0), of the host (1).
    input  logic  [1:0] asks_i,
    output logic  [1:0] done_o,       // pulse: the frame may go
    output logic  [1:0] read_o,
    output beat_t       read_beat_o,
    input  data_t       read_data_i[2],  // in the next cycle, until the next read

    // What the node is, and the judgement of a request.
    output logic               judge_o,
    output management_header_t        request_o,
    output management_device_t wanted_o,
    input  logic               served_i,
    input  management_status_e status_i,
    input  logic               known_i,
    input  management_device_t device_i,
    input  node_id_t           number_i,

    // Frames out: to the line (0), to the host (1).
    output logic  [1:0] valid_o,
    input  logic  [1:0] ready_i,
    output beat_t       beat_o,
    output logic        last_o,
    output data_t       data_o,

    input  logic hold_i,     // a frame of the line ends: nothing else is counted in this cycle
    output logic served_o,   // pulses
    output logic dropped_o
);

  localparam beat_t LastBeat = beat_t'(BEATS - 1);
  // The last one that it needs to know what to do.
  localparam beat_t LastRead = beat_t'((MANAGEMENT_DATA_AT + MANAGEMENT_DEVICE_BYTES) / DATA_BYTES - 1);

  typedef enum logic [1:0] {
    REST,
    READ,
    JUDGE,
    WRITE
  } state_e;
  state_e state_q;
  logic from_host_q;
  assign idle_o = state_q == REST && asks_i == '0;

  // ---- Reading
  logic fields_valid_q;
  beat_t count_q, beat_q;  // what is read next; what has been read
  fields_t fields;
  data_t data;
  assign data = read_data_i[from_host_q];
  management_fields u_fields (
      .clk_i,
      .valid_i(fields_valid_q),
      .beat_i(beat_q),
      .data_i(data),
      .fields_o(fields)
  );

  // ---- What to do
  header_t asked;
  management_header_t head;
  logic directed, routed, has_place, own, ends, goes_on, answers, drops, judges;
  assign asked = fields.header;
  assign head = asked.management;
  assign request_o = head;
  assign wanted_o = fields.device;
  always_comb begin
    directed = asked.eth.dst == mac_of(node_id_t'(NODE_NONE));
    routed = !directed && asked.eth.dst[47:16] == 32'(MAC_PREFIX) && head.hop == '0 && head.hops == '0;
    own = routed && asked.eth.dst[15:0] == number_i;
    has_place = head.hops < 8'(MANAGEMENT_HOPS);
    ends = own || (directed && has_place && head.hop == head.hops);
    goes_on = from_host_q && link_up_i && ((routed && !own && number_i != node_id_t'(NODE_NONE)) ||
        (directed && has_place && head.hop < head.hops && fields.port == '0));
    if (!is_request(asked) || asked.eth.ethertype != 16'(MANAGEMENT_ETHERTYPE)) {ends, goes_on} = '0;
  end
  assign judges = state_q == JUDGE && !fields_valid_q && !hold_i;
  assign answers = ends && served_i;
  assign drops = !answers && !goes_on;
  assign judge_o = judges && ends;
  assign served_o = judges && answers;
  assign dropped_o = judges && drops;

  // ---- What goes out
  logic to_host_q, answers_q, known_q, changes_q;
  header_t header_q;
  place_t place_q;
  logic [15:0] port_q;
  management_device_t device_q;
  always_ff @(posedge clk_i) begin
    if (judges) begin
      to_host_q <= answers && from_host_q;
      answers_q <= answers;
      known_q <= known_i;
      changes_q <= answers || directed;
      place_q <= place_of(answers ? head.hops : head.hop);
      port_q <= from_host_q ? 16'(PORT_NONE) : '0;
      header_q <= asked;
      if (!answers) begin
        if (directed) header_q.management.hop <= head.hop + 8'd1;
      end else begin
        header_q.eth.dst <= directed ? mac_of(node_id_t'(NODE_NONE)) :
            from_host_q ? mac_of(number_i) : asked.eth.src;
        header_q.management <= '0;
        header_q.management.version <= 4'(MANAGEMENT_VERSION);
        header_q.management.method <= MANAGEMENT_METHOD_ANSWER;
        header_q.management.status <= status_i;
        header_q.management.attribute <= head.attribute;
        header_q.management.hop <= from_host_q ? '0 : head.hop;
        header_q.management.hops <= head.hops;
        header_q.management.modifier <= head.modifier;
        header_q.management.transaction <= head.transaction;
      end
    end
    // As it is behind a change; and the same for all its beats.
    if (state_q == WRITE && beat_q == '0) device_q <= known_q ? device_i : '0;
  end

  header_t header;
  logic [16*PLACES-1:0] places;
  always_comb begin
    header = header_q;
    header.eth.src = mac_of(number_i);
    places = data;
    if (changes_q && place_q[8:PLACE_BITS] == (9 - PLACE_BITS)'(beat_q))
      places[16*place_q[PLACE_BITS-1:0]+:16] = {port_q[7:0], port_q[15:8]};
    data_o = places;
    for (int unsigned b = 0; b < HEADER_BYTES; b++)
      if (32'(beat_q) == b / DATA_BYTES)
        data_o[8*(b%DATA_BYTES)+:8] = header[8*(HEADER_BYTES-1-b)+:8];
    if (answers_q && 32'(beat_q) >= MANAGEMENT_DATA_AT / DATA_BYTES) begin
      data_o = '0;
      for (int unsigned b = 0; b < MANAGEMENT_DEVICE_BYTES; b++)
        if (32'(beat_q) == (MANAGEMENT_DATA_AT + b) / DATA_BYTES)
          data_o[8*((MANAGEMENT_DATA_AT+b)%DATA_BYTES)+:8] =
              device_q[8*(MANAGEMENT_DEVICE_BYTES-1-b)+:8];
    end
  end

  logic taken;
  assign valid_o = state_q == WRITE ? 2'b01 << to_host_q : '0;
  assign taken = |(valid_o & ready_i);
  assign beat_o = beat_q;
  assign last_o = beat_q == LastBeat;

  // ---- One after the other
  logic starts, reads, ended;
  assign starts = judges && !drops;
  assign reads = state_q == READ || starts || taken;
  assign read_o = reads ? 2'b01 << from_host_q : '0;
  assign read_beat_o = count_q;
  assign ended = (judges && drops) || (taken && last_o);
  assign done_o = ended ? 2'b01 << from_host_q : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= REST;
      from_host_q  <= 1'b0;
      fields_valid_q <= 1'b0;
      count_q <= '0;
    end else begin
      fields_valid_q <= state_q == READ;
      if (reads) count_q <= count_q + 1'b1;
      unique case (state_q)
        REST:
        if (asks_i != '0) begin
          // Who was not the last one is the next.
          from_host_q  <= asks_i[!from_host_q] ? !from_host_q : from_host_q;
          state_q <= READ;
          count_q <= '0;
        end
        READ:
        if (count_q == LastRead) begin
          state_q <= JUDGE;
          count_q <= '0;
        end
        JUDGE: if (judges) state_q <= drops ? REST : WRITE;
        WRITE: if (taken && last_o) state_q <= REST;
      endcase
    end
  end
  always_ff @(posedge clk_i) if (reads) beat_q <= count_q;

  // ---- What is promised
  `EXRNIC_HELD(line_is_held, valid_o[0], ready_i[0], data_o)

endmodule
