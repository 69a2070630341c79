// SPDX-License-Identifier: BSD-2-Clause
// Requests of the peers that the buses serve: each has a name for its bus.

module peb_served
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import peb_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input logic [N_PEB_PORT-1:0] begins_i,  // a life: all names of the port are free

    output logic [N_PEB_PORT-1:0] free_o,  // there is a name
    input  peb_port_t            port_i,
    output tag_t             name_o,  // a free one
    input  logic             serve_i,  // pulse: it is given
    input  tlp_item_t        tlp_i,

    input  peb_port_t     done_port_i,
    input  tag_t      done_name_i,
    output logic      done_known_o,
    output tlp_item_t done_tlp_o,
    input  logic      done_i  // pulse: the name is free again
);

  typedef logic [PEB_TAGS-1:0] names_t;
  names_t taken_q[N_PEB_PORT];
  typedef struct packed {
    peb_bus_e    kind;
    logic [11:0] address;
    chunk_t      length;
    logic [7:0]  tag;
  } entry_t;
  localparam int unsigned Depth = N_PEB_PORT * PEB_TAGS;
  typedef logic [$clog2(Depth)-1:0] index_t;

  entry_t entry[1];
  lut_ram_nr1w #(
      .WIDTH($bits(entry_t)),
      .DEPTH(Depth)
  ) u_entries (
      .clk_i,
      .write_i(serve_i),
      .write_address_i(index_t'({port_i, name_o})),
      .write_data_i({tlp_i.kind, tlp_i.address[11:0], tlp_i.length, tlp_i.tag}),
      .read_address_i('{index_t'({done_port_i, done_name_i})}),
      .read_data_o(entry)
  );
  always_comb begin
    done_tlp_o = '0;
    done_tlp_o.kind = entry[0].kind;
    done_tlp_o.address = 64'(entry[0].address);
    done_tlp_o.length = entry[0].length;
    done_tlp_o.tag = entry[0].tag;
  end
  assign done_known_o = taken_q[done_port_i][done_name_i];

  always_comb begin
    for (int unsigned port = 0; port < N_PEB_PORT; port++) free_o[port] = taken_q[port] != '1;
    name_o = '0;
    for (int unsigned name = PEB_TAGS; name > 0; name--)
      if (!taken_q[port_i][name-1]) name_o = tag_t'(name - 1);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      taken_q <= '{default: '0};
    end else begin
      if (serve_i) taken_q[port_i][name_o] <= 1'b1;
      if (done_i) taken_q[done_port_i][done_name_i] <= 1'b0;
      for (int unsigned port = 0; port < N_PEB_PORT; port++) if (begins_i[port]) taken_q[port] <= '0;
    end
  end

endmodule
