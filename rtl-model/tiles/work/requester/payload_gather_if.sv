// SPDX-License-Identifier: BSD-2-Clause
// The payload of a message: what a turn wants of its elements, and how far that is.

interface payload_gather_if
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
();
  logic load;   // its elements, from the first one on: see sge_cursor
  logic start;  // pulse: go through them, for a segment or for a look-up
  logic stop;   // the segment will not be sent; until idle
  logic idle;   // done, refused or stopped
  logic done;   // pulse: all is asked for, idle follows
  logic quiet;  // idle, or waiting for the core to go on; and knows nothing of the message that follows

  xlate_status_e status;  // when idle: XLATE_OK, or why an element was refused
  chunk_t        filled;  // bytes of payload that were asked for
  logic          known;   // the element in hand is,
  sge_t          sge;     // this one; zero if there is none

  modport turn(output load, start, stop, input idle, done, quiet, status, filled, known, sge);
  modport gather(input load, start, stop, output idle, done, quiet, status, filled, known, sge);

endinterface
