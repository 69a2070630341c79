// SPDX-License-Identifier: BSD-2-Clause
// TLPs between a PEB and the buses of its ports, beat by beat: the bytes of a beat stand in the lanes of their
// addresses. All but data, sop and eop stay the same in all beats of one.

interface peb_bus_if
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import peb_pkg::*;
();
  logic               valid;
  logic               ready;
  logic               sop;
  logic               eop;
  peb_bus_e           kind;
  peb_port_t          port;
  logic [63:0]        address;
  chunk_t             length;  // bytes
  name_t              name;    // of a request, and of its completion
  completion_status_e status;
  data_t              data;

  modport source(output valid, sop, eop, kind, port, address, length, name, status, data, input ready);
  modport sink(input valid, sop, eop, kind, port, address, length, name, status, data, output ready);

endinterface
