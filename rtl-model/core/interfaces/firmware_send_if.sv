// SPDX-License-Identifier: BSD-2-Clause
// What firmware sends: a segment of its own.

interface firmware_send_if
  import exrnic_core_pkg::*;
();
  logic     valid;
  logic     sent;     // pulse
  logic     no_room;  // pulse: it is dropped, as there was no room for too long
  fw_send_t send;

  modport firmware(output valid, send, input sent, no_room);
  modport remote(input valid, send, output sent, no_room);

endinterface
