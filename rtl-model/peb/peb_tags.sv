// SPDX-License-Identifier: BSD-2-Clause
// Requests of the buses that are under way: by port and tag. One that is not completed in time ends; its
// tag stays taken until the rest has come.
`include "exrnic_assert.svh"

module peb_tags
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import peb_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input logic tick_i,  // pulse: an interval of the time-out begins
    input logic [N_PEB_PORT-1:0] begins_i,  // a life: all tags of the port are free

    output logic [N_PEB_PORT-1:0] free_o,  // there is a free one
    input  peb_port_t            take_port_i,
    output tag_t             take_tag_o,
    input  logic             take_i,  // pulse
    input  tlp_item_t        take_tlp_i,
    input  name_t            take_name_i,

    // A completion of the peer's.
    input  peb_port_t     port_i,
    input  tag_t      tag_i,
    output logic      waits_o,      // somebody waits for it,
    output logic      late_o,       // or did,
    output tlp_item_t asked_o,      // for this;
    output name_t     name_o,
    output chunk_t    completed_o,  // so much has come
    input  logic      progress_i,   // pulse: now so much:
    input  chunk_t    progress_completed_i,
    input  logic      end_i,        // pulse: and that was all

    // One that is ended by its time-out.
    output logic  overdue_o,
    input  logic  overdue_ready_i,
    output peb_port_t overdue_port_o,
    output tag_t  overdue_tag_o,
    output name_t overdue_name_o,

    input logic  told_i,  // pulse: the bus has its answer
    input peb_port_t told_port_i,
    input tag_t  told_tag_i,

    // The range of a read, for who hands out its data.
    input  peb_port_t       look_port_i,
    input  tag_t        look_tag_i,
    output logic [63:0] look_address_o,
    output chunk_t      look_length_o,

    input  logic [N_PEB_PORT-1:0] bus_waits_i,  // it has a request for which there is no room
    output logic [N_PEB_PORT-1:0] stuck_o,      // no tag will come back, or the bus has waited for too long
    output logic             idle_o        // nothing has a time-out
);

  typedef logic [PEB_TAGS-1:0] tags_t;
  tags_t open_q[N_PEB_PORT], late_q[N_PEB_PORT], done_q[N_PEB_PORT], aged_q[N_PEB_PORT], overdue_q[N_PEB_PORT], started_q[N_PEB_PORT];

  // ---- What is asked for. Of an address its low bits count.
  typedef struct packed {
    peb_bus_e    kind;
    logic [11:0] address;
    chunk_t      length;
    name_t       name;
  } entry_t;
  typedef logic [$bits(peb_port_t)+$bits(tag_t)-1:0] address_t;
  localparam int unsigned Depth = N_PEB_PORT * PEB_TAGS;
  typedef logic [$clog2(Depth)-1:0] index_t;
  function automatic index_t index_of(peb_port_t port, tag_t tag);
    return index_t'({port, tag});
  endfunction

  entry_t entry[3];  // of the completion, what is overdue, what is handed out
  peb_port_t scan_port;
  tag_t scan_tag;
  index_t own_index, scan_index, look_index;
  assign own_index = index_of(port_i, tag_i);
  assign scan_index = index_of(scan_port, scan_tag);
  assign look_index = index_of(look_port_i, look_tag_i);
  lut_ram_nr1w #(
      .WIDTH($bits(entry_t)),
      .DEPTH(Depth),
      .READERS(3)
  ) u_entries (
      .clk_i,
      .write_i(take_i),
      .write_address_i(index_of(take_port_i, take_tag_o)),
      .write_data_i({take_tlp_i.kind, take_tlp_i.address[11:0], take_tlp_i.length, take_name_i}),
      .read_address_i('{own_index, scan_index, look_index}),
      .read_data_o(entry)
  );
  chunk_t completed[1];
  lut_ram_nr1w #(
      .WIDTH($bits(chunk_t)),
      .DEPTH(Depth)
  ) u_completed (
      .clk_i,
      .write_i(progress_i),
      .write_address_i(own_index),
      .write_data_i(progress_completed_i),
      .read_address_i('{own_index}),
      .read_data_o(completed)
  );

  always_comb begin
    asked_o = '0;
    asked_o.kind = entry[0].kind;
    asked_o.address = 64'(entry[0].address);
    asked_o.length = entry[0].length;
  end
  assign name_o = entry[0].name;
  assign completed_o = started_q[port_i][tag_i] ? completed[0] : '0;
  assign waits_o = open_q[port_i][tag_i];
  assign late_o = late_q[port_i][tag_i];
  assign look_address_o = 64'(entry[2].address);
  assign look_length_o = entry[2].length;

  // ---- The first that is free, and the first that is overdue
  tags_t taken[N_PEB_PORT];
  always_comb begin
    for (int unsigned port = 0; port < N_PEB_PORT; port++) begin
      taken[port] = open_q[port] | late_q[port] | done_q[port];
      free_o[port] = taken[port] != '1;
    end
    take_tag_o = '0;
    for (int unsigned tag = PEB_TAGS; tag > 0; tag--)
      if (!taken[take_port_i][tag-1]) take_tag_o = tag_t'(tag - 1);
    scan_port = '0;
    overdue_o = 1'b0;
    for (int unsigned port = 0; port < N_PEB_PORT; port++)
      if (overdue_q[port] != '0) begin
        scan_port = peb_port_t'(port);
        overdue_o = 1'b1;
      end
    scan_tag = '0;
    for (int unsigned tag = PEB_TAGS; tag > 0; tag--)
      if (overdue_q[scan_port][tag-1]) scan_tag = tag_t'(tag - 1);
  end
  assign overdue_port_o = scan_port;
  assign overdue_tag_o = scan_tag;
  assign overdue_name_o = entry[1].name;

  // ---- Behind one or two intervals
  logic [1:0] waited_q[N_PEB_PORT];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q <= '{default: '0};
      late_q <= '{default: '0};
      done_q <= '{default: '0};
      aged_q <= '{default: '0};
      overdue_q <= '{default: '0};
      started_q <= '{default: '0};
      waited_q <= '{default: '0};
    end else begin
      for (int unsigned port = 0; port < N_PEB_PORT; port++) begin
        if (tick_i) begin
          aged_q[port] <= aged_q[port] | open_q[port];
          overdue_q[port] <= overdue_q[port] | (open_q[port] & aged_q[port]);
          if (waited_q[port] < 2'd2) waited_q[port] <= waited_q[port] + 1'b1;
        end
        if (!bus_waits_i[port]) waited_q[port] <= '0;
      end
      if (overdue_o && overdue_ready_i) begin
        overdue_q[scan_port][scan_tag] <= 1'b0;
        open_q[scan_port][scan_tag] <= 1'b0;
        late_q[scan_port][scan_tag] <= 1'b1;
        done_q[scan_port][scan_tag] <= 1'b1;
      end
      if (progress_i) started_q[port_i][tag_i] <= 1'b1;
      if (end_i) begin
        open_q[port_i][tag_i] <= 1'b0;
        late_q[port_i][tag_i] <= 1'b0;
        overdue_q[port_i][tag_i] <= 1'b0;
        if (open_q[port_i][tag_i]) done_q[port_i][tag_i] <= 1'b1;
      end
      if (told_i) done_q[told_port_i][told_tag_i] <= 1'b0;
      if (take_i) begin
        open_q[take_port_i][take_tag_o] <= 1'b1;
        aged_q[take_port_i][take_tag_o] <= 1'b0;
        started_q[take_port_i][take_tag_o] <= 1'b0;
        waited_q[take_port_i] <= '0;
      end
      for (int unsigned port = 0; port < N_PEB_PORT; port++)
        if (begins_i[port]) begin
          open_q[port] <= '0;
          late_q[port] <= '0;
          done_q[port] <= '0;
          overdue_q[port] <= '0;
          waited_q[port] <= '0;
        end
    end
  end

  always_comb begin
    idle_o = 1'b1;
    for (int unsigned port = 0; port < N_PEB_PORT; port++) begin
      stuck_o[port] = late_q[port] == '1 || waited_q[port] == 2'd2;
      if (open_q[port] != '0 || bus_waits_i[port]) idle_o = 1'b0;
    end
  end

  logic has_free;
  assign has_free = free_o[take_port_i];
  `EXRNIC_ALWAYS(takes_a_free_one, !take_i || has_free)
  `EXRNIC_ALWAYS(ends_what_is_open, !end_i || waits_o || late_o)

endmodule
