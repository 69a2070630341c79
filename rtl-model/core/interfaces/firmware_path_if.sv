// SPDX-License-Identifier: BSD-2-Clause
// What comes for firmware, and what firmware lets come.

interface firmware_path_if
  import exrnic_core_pkg::*;
();
  logic            active;  // it takes requests
  logic            lost;    // it has lost requests of the requester's queue pair
  logic            held;    // it has requests of the responder's queue pair
  logic            atomics; // which has atomics under way
  fw_grant_index_t grant_index;  // what has it granted? Combinational
  fw_grant_t       grant;
  logic            placing;  // granted bytes are in hand
  node_t           node;        // of the segment in hand
  logic            crowded;     // all places are taken, and by messages of that node half of them or more
  logic            punt_valid;  // may be withdrawn
  logic            punt_ready;
  punt_t           punt;

  modport firmware(
      output active, lost, held, atomics, grant, crowded, punt_ready,
      input grant_index, placing, node, punt_valid, punt
  );
  modport engines(
      input active, lost, held, atomics, grant, crowded, punt_ready,
      output grant_index, placing, node, punt_valid, punt
  );

endinterface
