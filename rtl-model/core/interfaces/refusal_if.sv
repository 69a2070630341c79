// SPDX-License-Identifier: BSD-2-Clause
// The segment in hand is refused: its sender hears of it before anything behind it is acknowledged.

interface refusal_if
  import exrnic_core_pkg::*;
();
  logic     valid;
  logic     ready;
  logic     put_off;  // with ready: it was not, and comes again
  refusal_t what;

  modport responder(output valid, what, input ready, put_off);
  modport efe(input valid, what, output ready, put_off);

endinterface
