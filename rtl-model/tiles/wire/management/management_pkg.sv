// SPDX-License-Identifier: BSD-2-Clause
// What the parts of the agent share: a management frame as beats, and what counts of it.

package management_pkg;
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;

  localparam int unsigned BEATS = MANAGEMENT_FRAME_BYTES / DATA_BYTES;
  typedef logic [$clog2(BEATS)-1:0] beat_t;

  localparam int unsigned HEADER_BYTES = MANAGEMENT_PATH_AT;
  typedef struct packed {
    eth_t eth;
    management_header_t management;
  } header_t;

  // Of a frame: its port is that of the path by which it goes on. See management_fields.
  typedef struct packed {
    header_t header;
    logic [15:0] port;
    management_device_t device;
  } fields_t;

  // A request for the attribute assignment, which who has the ports judges.
  typedef struct packed {
    logic [31:0] port;
    management_assignment_t wanted;
    logic sets;  // else it only asks
  } assignment_request_t;

  // A place of the path, in units of two bytes from the beginning of the frame.
  typedef logic [8:0] place_t;
  function automatic place_t place_of(logic [7:0] hop);
    return place_t'(MANAGEMENT_PATH_AT / 2) + place_t'(hop);
  endfunction
  localparam int unsigned PLACES = DATA_BYTES / 2;  // of a beat
  localparam int unsigned PLACE_BITS = $clog2(PLACES);

  function automatic logic [47:0] mac_of(node_id_t node);
    return {32'(MAC_PREFIX), node};
  endfunction

  // Is it one that asks, of this protocol?
  /* verilator lint_off UNUSEDSIGNAL */  // some fields count
  function automatic logic is_request(header_t header);
    return header.management.version == 4'(MANAGEMENT_VERSION) &&
        header.management.method inside {MANAGEMENT_METHOD_GET, MANAGEMENT_METHOD_SET};
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

endpackage
