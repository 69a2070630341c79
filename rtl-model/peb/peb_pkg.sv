// SPDX-License-Identifier: BSD-2-Clause
// Types inside a PEB (PEB.md).

package peb_pkg;
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;

  localparam int unsigned LaneBits = $clog2(DATA_BYTES);
  typedef logic [$clog2(N_PEB_PORT)-1:0] peb_port_t;
  typedef logic [$clog2(PEB_TAGS)-1:0] tag_t;
  typedef logic [15:0] name_t;  // of a request, by the bus
  typedef logic [LaneBits-1:0] lane_t;

  // The longest TLP's data, and what a read asks for, in beats: the first byte stands in the lane of its
  // address.
  localparam int unsigned WriteBeats = PEB_PAYLOAD_MAX / DATA_BYTES + 1;
  localparam int unsigned ReadBeats = PEB_REQUEST_MAX / DATA_BYTES;

  // In front of the data on the wire: limits and the header of a TLP.
  localparam int unsigned HeadMax = PEB_BYTES + TLP_BYTES + TLP_ADDRESS_64_BYTES;
  typedef logic [8*HeadMax-1:0] head_t;  // first byte on the wire in the top bits

  // A TLP, or what a bus says; `length` bytes from `address` on.
  typedef struct packed {
    peb_bus_e           kind;
    logic [63:0]        address;  // of a completion: its low bits count
    chunk_t             length;
    logic [7:0]         tag;
    completion_status_e status;
    chunk_t             left;     // of a completion: bytes of the request that were not completed before
    logic               data;     // bytes come with it
  } tlp_item_t;

  // Of which ports a TLP may begin, by its flow.
  typedef struct packed {
    logic [N_PEB_PORT-1:0] writes;
    logic [N_PEB_PORT-1:0] requests;
    logic [N_PEB_PORT-1:0] completions;
  } rooms_t;

  // Who is at the other end of a port, and how far both are.
  typedef struct packed {
    logic        assigned;
    node_t       node;
    logic [15:0] group;
    generation_t life;       // ours; 0: there was none
    generation_t peer_life;  // 0: not known
    logic        met;
  } peer_t;

  typedef struct packed {
    logic [15:0] limit;     // of the peer's room, as it has told
    logic [15:0] sent;      // to it
    logic [15:0] told;      // of our room
    logic [15:0] received;  // from it
    logic [15:0] handed;    // of these, to the bus
  } flow_t;
  typedef flow_t [1:0] flows_t;  // posted, and non-posted ones

  // How far `limit` lies ahead.
  function automatic logic is_ahead(logic [15:0] limit, logic [15:0] of);
    logic [15:0] distance;
    distance = limit - of;
    return distance != '0 && !distance[15];
  endfunction

  function automatic generation_t next_life(generation_t life);
    return life == '1 ? generation_t'(1) : life + 1'b1;
  endfunction

  // Bytes between `address` and the begin of its DW, or of its beat.
  function automatic logic [1:0] dw_offset(logic [63:0] address);
    return address[1:0];
  endfunction
  function automatic lane_t lane_of(logic [63:0] address);
    return address[LaneBits-1:0];
  endfunction

  // DWs, and beats, that so many bytes from an address on take.
  function automatic logic [10:0] dws_of(logic [63:0] address, chunk_t length);
    return 11'((14'(length) + 14'(dw_offset(address)) + 14'd3) >> 2);
  endfunction
  function automatic logic [8:0] beats_of(logic [63:0] address, chunk_t length);
    return 9'((14'(length) + 14'(lane_of(address)) + 14'(DATA_BYTES - 1)) >> LaneBits);
  endfunction

  // Bytes of what stands in front of the data.
  function automatic logic [4:0] head_bytes(tlp_item_t tlp);
    unique case (tlp.kind)
      PEB_BUS_WRITE, PEB_BUS_READ:
      return 5'(PEB_BYTES + TLP_BYTES + (tlp.address[63:32] == '0 ? TLP_ADDRESS_BYTES : TLP_ADDRESS_64_BYTES));
      PEB_BUS_COMPLETION: return 5'(PEB_BYTES + TLP_COMPLETION_BYTES);
      default: return 5'(PEB_BYTES + TLP_BYTES + TLP_REGISTER_BYTES);
    endcase
  endfunction

endpackage
