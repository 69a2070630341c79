// SPDX-License-Identifier: BSD-2-Clause
// What the parts of the requester share.

package requester_pkg;
  import exrnic_pkg::*;

  /* verilator lint_off UNUSEDPARAM */
  localparam int unsigned BATCH = 8;           // slots of a ring that a turn fetches
  localparam int unsigned TURN_SEGMENTS = 16;  // and segments behind which it lets others go first
  /* verilator lint_on UNUSEDPARAM */

  typedef logic [$clog2(BATCH):0] batch_count_t;
  typedef logic [$clog2(BATCH*WQE_BYTES/SGE_BYTES)-1:0] word_index_t;  // see wqe_fetch
  typedef logic [$clog2(WQE_SLOTS_MAX+1)-1:0] slots_t;                 // of a work request
  typedef logic [$clog2(MAX_SGE+1)-1:0] sges_t;

  // What a turn of a queue pair is for.
  typedef enum logic [2:0] {
    TURN_NOTHING,
    TURN_WORK,       // its work requests
    TURN_READ,       // the oldest RDMA Read Request of the peer
    TURN_FLUSH,      // in ERROR: work requests, unseen
    TURN_TERMINATE,  // a message to the peer; also where a TURN_READ leads that is refused
    TURN_POP,        // in ERROR: a read of a peer that has been told
    TURN_HAND_OVER   // in ERROR: what the responder has of it
  } turn_e;

endpackage
