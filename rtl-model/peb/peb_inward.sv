// SPDX-License-Identifier: BSD-2-Clause
// What has come for the buses, in PCIe's order (PEB.md): nothing passes a posted one but what came before
// it. There is room for all that a peer may send.
`include "exrnic_assert.svh"

module peb_inward
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import peb_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input logic [N_PEB_PORT-1:0] begins_i,  // a life: what was there is void, the link is down
    input logic [N_PEB_PORT-1:0] met_i,     // the link is up

    // From the peer: its data first, then it.
    input  peb_port_t     port_i,
    input  logic      beat_i,       // pulse
    input  logic      beat_read_i,  // of the answer of tag_i, else of a write
    input  tag_t      tag_i,
    input  logic [8:0] beat_place_i,
    input  data_t     beat_data_i,
    input  logic      put_i,  // pulse
    input  tlp_item_t tlp_i,
    input  logic [31:0] put_data_i,  // of a config_write: its DW
    input  logic      answer_i,    // pulse: an answer of ours
    input  peb_port_t     answer_port_i,
    input  tag_t      answer_tag_i,
    input  name_t     answer_name_i,
    input  completion_status_e answer_status_i,
    input  logic      answer_data_i,  // with data

    // To the bus.
    input  logic [N_PEB_PORT-1:0]   write_ready_i,    // it takes one
    input  logic [N_PEB_PORT-1:0]   request_ready_i,
    peb_bus_if.source bus,

    output peb_port_t      handed_port_o,
    output logic [1:0] handed_o,  // pulses
    // Requests of the peer get a name.
    output peb_port_t      serve_port_o,
    input  logic [N_PEB_PORT-1:0] serve_free_i,
    input  tag_t       serve_name_i,
    output logic       serve_o,  // pulse
    output tlp_item_t  serve_tlp_o,
    // The range of an answer, and that it is told.
    output peb_port_t       look_port_o,
    output tag_t        look_tag_o,
    input  logic [63:0] look_address_i,
    input  chunk_t      look_length_i,
    output peb_port_t       told_port_o,
    output tag_t        told_tag_o,
    output logic        told_o,  // pulse

    output logic [N_PEB_PORT-1:0] heard_o,  // the bus has heard how its link is
    output logic idle_o
);

  localparam int unsigned PlaceBits = $clog2(PEB_POSTED_ROOM);
  typedef logic [PlaceBits-1:0] place_t;  // posted, and non-posted
  typedef logic [7:0] count_t;            // of posted ones since the life began
  if (PEB_POSTED_ROOM != PEB_REQUEST_ROOM) begin : gen_refuse_rooms
    $error("one size of place for both");
  end

  // ---- Queues
  // What lies before *_free has no posted one before it any more.
  count_t write_in_q[N_PEB_PORT], write_out_q[N_PEB_PORT];
  logic [PlaceBits:0] request_in_q[N_PEB_PORT], request_free_q[N_PEB_PORT], request_out_q[N_PEB_PORT];
  logic [$bits(tag_t):0] answer_in_q[N_PEB_PORT], answer_free_q[N_PEB_PORT], answer_out_q[N_PEB_PORT];

  typedef struct packed {
    logic [63:0] address;
    chunk_t      length;
  } write_t;
  typedef struct packed {
    peb_bus_e    kind;
    logic [7:0]  tag;
    logic [63:0] address;
    chunk_t      length;
    logic [31:0] data;
    count_t      behind;
  } request_t;
  typedef struct packed {
    tag_t               tag;
    name_t              name;
    completion_status_e status;
    logic               data;
    count_t             behind;
  } answer_t;

  peb_port_t head_port;
  write_t write_head[1];
  request_t request_head[2];  // and the first that is not free
  answer_t answer_head[2];
  localparam int unsigned Places = N_PEB_PORT * PEB_POSTED_ROOM;
  typedef logic [$clog2(Places)-1:0] place_index_t;
  function automatic place_index_t place_of(peb_port_t port, place_t place);
    return place_index_t'({port, place});
  endfunction
  localparam int unsigned Answers = N_PEB_PORT * PEB_TAGS;
  typedef logic [$clog2(Answers)-1:0] answer_index_t;
  function automatic answer_index_t answer_of(peb_port_t port, tag_t tag);
    return answer_index_t'({port, tag});
  endfunction

  place_index_t write_head_index, request_head_index, request_free_index;
  assign write_head_index = place_of(head_port, place_t'(write_out_q[head_port]));
  assign request_head_index = place_of(head_port, place_t'(request_out_q[head_port]));
  assign request_free_index = place_of(head_port, place_t'(request_free_q[head_port]));
  answer_index_t answer_head_index, answer_free_index;
  assign answer_head_index = answer_of(head_port, tag_t'(answer_out_q[head_port]));
  assign answer_free_index = answer_of(head_port, tag_t'(answer_free_q[head_port]));

  logic puts_write, puts_request;
  assign puts_write = put_i && tlp_i.kind == PEB_BUS_WRITE;
  assign puts_request = put_i && tlp_i.kind != PEB_BUS_WRITE;
  lut_ram_nr1w #(
      .WIDTH($bits(write_t)),
      .DEPTH(Places)
  ) u_writes (
      .clk_i,
      .write_i(puts_write),
      .write_address_i(place_of(port_i, place_t'(write_in_q[port_i]))),
      .write_data_i({tlp_i.address, tlp_i.length}),
      .read_address_i('{write_head_index}),
      .read_data_o(write_head)
  );
  request_t request_new;
  assign request_new = '{
          kind: tlp_i.kind,
          tag: tlp_i.tag,
          address: tlp_i.address,
          length: tlp_i.length,
          data: put_data_i,
          behind: write_in_q[port_i]
      };
  lut_ram_nr1w #(
      .WIDTH($bits(request_t)),
      .DEPTH(Places),
      .READERS(2)
  ) u_requests (
      .clk_i,
      .write_i(puts_request),
      .write_address_i(place_of(port_i, place_t'(request_in_q[port_i]))),
      .write_data_i(request_new),
      .read_address_i('{request_head_index, request_free_index}),
      .read_data_o(request_head)
  );
  answer_t answer_new;
  assign answer_new = '{
          tag: answer_tag_i,
          name: answer_name_i,
          status: answer_status_i,
          data: answer_data_i,
          behind: write_in_q[answer_port_i]
      };
  lut_ram_nr1w #(
      .WIDTH($bits(answer_t)),
      .DEPTH(Answers),
      .READERS(2)
  ) u_answers (
      .clk_i,
      .write_i(answer_i),
      .write_address_i(answer_of(answer_port_i, tag_t'(answer_in_q[answer_port_i]))),
      .write_data_i(answer_new),
      .read_address_i('{answer_head_index, answer_free_index}),
      .read_data_o(answer_head)
  );
  place_t write_place;  // of the next write
  assign write_place = place_t'(write_in_q[port_i]);

  // ---- Data, in the lanes of their addresses
  localparam int unsigned WriteWords = Places * WriteBeats;
  localparam int unsigned ReadWords = Answers * ReadBeats;
  typedef logic [$clog2(WriteWords)-1:0] write_word_t;
  typedef logic [$clog2(ReadWords)-1:0] read_word_t;
  function automatic write_word_t write_word(peb_port_t port, place_t place, logic [8:0] beat);
    return write_word_t'(32'({port, place}) * WriteBeats + 32'(beat));
  endfunction
  function automatic read_word_t read_word(peb_port_t port, tag_t tag, logic [8:0] beat);
    return read_word_t'(32'({port, tag}) * ReadBeats + 32'(beat));
  endfunction
  logic fetch;
  logic [8:0] fetch_beat;
  peb_port_t out_port;
  place_t out_place;
  tag_t out_tag;
  data_t write_data, read_data;
  ram_1r1w #(
      .WIDTH(DATA_W),
      .DEPTH(WriteWords)
  ) u_write_data (
      .clk_i,
      .write_i(beat_i && !beat_read_i),
      .write_address_i(write_word(port_i, write_place, beat_place_i)),
      .write_data_i(beat_data_i),
      .read_i(fetch),
      .read_address_i(write_word(out_port, out_place, fetch_beat)),
      .read_data_o(write_data)
  );
  ram_1r1w #(
      .WIDTH(DATA_W),
      .DEPTH(ReadWords)
  ) u_read_data (
      .clk_i,
      .write_i(beat_i && beat_read_i),
      .write_address_i(read_word(port_i, tag_i, beat_place_i)),
      .write_data_i(beat_data_i),
      .read_i(fetch),
      .read_address_i(read_word(out_port, out_tag, fetch_beat)),
      .read_data_o(read_data)
  );

  // ---- What goes next: one port is looked at in a cycle
  typedef enum logic [1:0] { StRest, StFetch, StGive } state_e;
  state_e state_q;
  peb_port_t turn_q;
  logic [N_PEB_PORT-1:0] down_q, up_q;  // the link has gone down, or come up, and the bus has not heard
  assign head_port = turn_q;

  // At most PEB_POSTED_ROOM lie between.
  function automatic logic is_after(count_t behind, count_t out);
    count_t distance;
    distance = behind - out;
    return distance != '0 && distance <= count_t'(PEB_POSTED_ROOM);
  endfunction
  logic write_goes, request_goes, answer_goes, link_goes, request_is_free, answer_is_free;
  always_comb begin
    link_goes = down_q[turn_q] || up_q[turn_q];
    write_goes = write_in_q[turn_q] != write_out_q[turn_q] && write_ready_i[turn_q];
    answer_goes = answer_free_q[turn_q] != answer_out_q[turn_q];
    request_goes = request_free_q[turn_q] != request_out_q[turn_q] && request_ready_i[turn_q] &&
        serve_free_i[turn_q];
    request_is_free = request_in_q[turn_q] != request_free_q[turn_q] &&
        !is_after(request_head[1].behind, write_out_q[turn_q]);
    answer_is_free = answer_in_q[turn_q] != answer_free_q[turn_q] &&
        !is_after(answer_head[1].behind, write_out_q[turn_q]);
  end

  // ---- The item in hand
  typedef struct packed {
    peb_bus_e           kind;
    peb_port_t              port;
    logic [63:0]        address;
    chunk_t             length;
    name_t              name;
    completion_status_e status;
    logic [8:0]         beats;  // of data; a config_write brings its own
    logic               is_read;
    tag_t               tag;    // told when it is over
    logic               tells;
    place_t             place;
    logic [31:0]        data;
  } item_t;
  item_t item_q, item_d;
  logic [8:0] beat_q;
  logic void_q;  // its life is over
  logic takes;
  assign takes = state_q == StRest && (link_goes || write_goes || answer_goes || request_goes);

  always_comb begin
    item_d = '0;
    item_d.port = turn_q;
    if (link_goes) begin
      item_d.kind = down_q[turn_q] ? PEB_BUS_LINK_DOWN : PEB_BUS_LINK_UP;
    end else if (write_goes) begin
      item_d.kind = PEB_BUS_WRITE;
      item_d.address = write_head[0].address;
      item_d.length = write_head[0].length;
      item_d.beats = beats_of(write_head[0].address, write_head[0].length);
      item_d.place = place_t'(write_out_q[turn_q]);
    end else if (answer_goes) begin
      item_d.kind = PEB_BUS_COMPLETION;
      item_d.name = answer_head[0].name;
      item_d.status = answer_head[0].status;
      item_d.tag = answer_head[0].tag;
      item_d.tells = 1'b1;
      item_d.is_read = 1'b1;
      if (answer_head[0].data) begin
        item_d.address = look_address_i;
        item_d.length = look_length_i;
        item_d.beats = beats_of(look_address_i, look_length_i);
      end
    end else begin
      item_d.kind = request_head[0].kind;
      item_d.address = request_head[0].address;
      item_d.length = request_head[0].length;
      item_d.name = name_t'(serve_name_i);
      item_d.data = request_head[0].data;
    end
  end
  assign look_port_o = turn_q;
  assign look_tag_o = answer_head[0].tag;
  assign serve_port_o = turn_q;
  assign serve_o = takes && !link_goes && !write_goes && !answer_goes;
  always_comb begin
    serve_tlp_o = '0;
    serve_tlp_o.kind = request_head[0].kind;
    serve_tlp_o.address = request_head[0].address;
    serve_tlp_o.length = request_head[0].length;
    serve_tlp_o.tag = request_head[0].tag;
  end
  assign handed_port_o = turn_q;

  logic last;
  assign last = beat_q + 9'd1 >= item_q.beats;
  assign fetch = state_q == StFetch || (state_q == StGive && bus.ready && !last);
  assign fetch_beat = state_q == StFetch ? '0 : beat_q + 9'd1;
  assign out_port = item_q.port;
  assign out_place = item_q.place;
  assign out_tag = item_q.tag;
  assign bus.valid = state_q == StGive;
  assign bus.sop = beat_q == '0;
  assign bus.eop = last;
  assign bus.kind = item_q.kind;
  assign bus.port = item_q.port;
  assign bus.address = item_q.address;
  assign bus.length = item_q.length;
  assign bus.name = item_q.name;
  assign bus.status = item_q.status;
  logic [LaneBits-3:0] config_lane;  // DW of a config_write
  assign config_lane = item_q.address[LaneBits-1:2];
  assign bus.data = item_q.beats == '0 ? data_t'(item_q.data) << (32 * config_lane) : item_q.is_read ? read_data : write_data;
  assign told_port_o = item_q.port;
  assign told_tag_o = item_q.tag;
  logic given;
  assign given = bus.valid && bus.ready && last && !void_q;
  assign told_o = given && item_q.tells;
  // Its place in the memory of data is free when the last beat is out.
  assign handed_o = {serve_o, given && item_q.kind == PEB_BUS_WRITE};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StRest;
      turn_q <= '0;
      item_q <= '0;
      beat_q <= '0;
      void_q <= 1'b0;
    end else begin
      void_q <= state_q == StRest ? begins_i[turn_q] : void_q || begins_i[item_q.port];
      unique case (state_q)
        StRest: begin
          item_q <= item_d;
          beat_q <= '0;
          if (takes) state_q <= item_d.beats == '0 ? StGive : StFetch;
          else turn_q <= turn_q + 1'b1;
        end
        StFetch: state_q <= StGive;
        default:
        if (bus.ready) begin
          beat_q <= beat_q + 1'b1;
          if (last) begin
            state_q <= StRest;
            turn_q <= turn_q + 1'b1;
          end
        end
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_in_q <= '{default: '0};
      write_out_q <= '{default: '0};
      request_in_q <= '{default: '0};
      request_free_q <= '{default: '0};
      request_out_q <= '{default: '0};
      answer_in_q <= '{default: '0};
      answer_free_q <= '{default: '0};
      answer_out_q <= '{default: '0};
      down_q <= '0;
      up_q <= '0;
    end else begin
      if (puts_write) write_in_q[port_i] <= write_in_q[port_i] + 1'b1;
      if (puts_request) request_in_q[port_i] <= request_in_q[port_i] + 1'b1;
      if (answer_i) answer_in_q[answer_port_i] <= answer_in_q[answer_port_i] + 1'b1;
      if (request_is_free) request_free_q[turn_q] <= request_free_q[turn_q] + 1'b1;
      if (answer_is_free) answer_free_q[turn_q] <= answer_free_q[turn_q] + 1'b1;
      if (takes) begin
        if (link_goes) begin
          if (down_q[turn_q]) down_q[turn_q] <= 1'b0;
          else up_q[turn_q] <= 1'b0;
        end else if (write_goes) begin
          write_out_q[turn_q] <= write_out_q[turn_q] + 1'b1;
        end else if (answer_goes) begin
          answer_out_q[turn_q] <= answer_out_q[turn_q] + 1'b1;
        end else begin
          request_out_q[turn_q] <= request_out_q[turn_q] + 1'b1;
        end
      end
      for (int unsigned port = 0; port < N_PEB_PORT; port++) begin
        if (begins_i[port]) begin
          write_in_q[port] <= '0;
          write_out_q[port] <= '0;
          request_in_q[port] <= '0;
          request_free_q[port] <= '0;
          request_out_q[port] <= '0;
          answer_in_q[port] <= '0;
          answer_free_q[port] <= '0;
          answer_out_q[port] <= '0;
          down_q[port] <= 1'b1;
          up_q[port] <= 1'b0;
        end
        if (met_i[port]) up_q[port] <= 1'b1;
      end
    end
  end

  always_comb begin
    heard_o = ~(down_q | up_q);
    if (state_q != StRest && item_q.kind inside {PEB_BUS_LINK_DOWN, PEB_BUS_LINK_UP}) heard_o[item_q.port] = 1'b0;
  end

  always_comb begin
    idle_o = state_q == StRest && down_q == '0 && up_q == '0;
    for (int unsigned port = 0; port < N_PEB_PORT; port++)
      if (write_in_q[port] != write_out_q[port] || request_in_q[port] != request_out_q[port] ||
          answer_in_q[port] != answer_out_q[port])
        idle_o = 1'b0;
  end

  `EXRNIC_HELD(to_bus, bus.valid, bus.ready, {bus.sop, bus.eop, bus.kind, bus.port, bus.address, bus.length, bus.name, bus.status, bus.data})
  count_t writes;
  logic [PlaceBits:0] requests;
  assign writes = write_in_q[port_i] - write_out_q[port_i];
  assign requests = request_in_q[port_i] - request_out_q[port_i];
  `EXRNIC_ALWAYS(room_for_writes, !puts_write || writes < count_t'(PEB_POSTED_ROOM))
  `EXRNIC_ALWAYS(room_for_requests, !puts_request || 32'(requests) < PEB_REQUEST_ROOM)

endmodule
