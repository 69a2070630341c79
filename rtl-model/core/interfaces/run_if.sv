// SPDX-License-Identifier: BSD-2-Clause
// Start, rest, idleness and quiescence of a tile.

interface run_if;
  // What the core says to all.
  logic ready;    // all tables are clear
  logic enable;   // the driver lets the RNIC work
  logic quiesce;  // begin nothing that touches a table or host memory
  logic stop;     // and take no store: host memory is not touched any more

  // What a tile says of itself.
  logic init_done;    // its tables are clear
  logic idle;         // nothing happens in it until an input comes
  logic waits;        // likewise until a read completes or a clock of efe_tx strikes
  logic reads_over;   // with `quiesce`: it asks for nothing of host memory, and has nothing that it asked for
  logic writes_over;  // it has nothing to write to host memory
  logic quiescent;    // with `stop`: it touches nothing

  modport tile(input ready, enable, quiesce, stop,
               output init_done, idle, waits, reads_over, writes_over, quiescent);
  modport core(output ready, enable, quiesce, stop,
               input init_done, idle, waits, reads_over, writes_over, quiescent);

endinterface
