// SPDX-License-Identifier: BSD-2-Clause
// What a port of another node sends: arrives behind all that came before it.

interface port_arrival_if
  import exrnic_core_pkg::*;
();
  logic          valid;
  logic          ready;
  logic          good;  // well formed
  port_message_t message;

  modport responder(output valid, good, message, input ready);
  modport ports(input valid, good, message, output ready);

endinterface
