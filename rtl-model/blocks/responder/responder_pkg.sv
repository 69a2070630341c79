// SPDX-License-Identifier: BSD-2-Clause
// Types inside the responder.

package responder_pkg;
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;

  // What a segment belongs to, by its DDP/RDMAP header.
  typedef enum logic [2:0] {
    MESSAGE_BAD,  // none that can be served
    MESSAGE_WRITE,
    MESSAGE_RESPONSE,
    MESSAGE_SEND,  // with or without solicited event and invalidation
    MESSAGE_IMMEDIATE,
    MESSAGE_READ_REQUEST,
    MESSAGE_TERMINATE
  } message_e;

  // Steps of a segment or a flush job.
  typedef enum logic [3:0] {
    StIdle,
    StRead,   // of the tables
    StJudge,
    StTake,   // a receive: is one posted?
    StFetch,
    StRoom,   // has it room for the segment?
    StPlace,
    StInvalidate,
    StInvalidateWait,
    StDone,    // an empty write that ends the segment
    StReport,  // to the completer
    StRefuse,
    StStatusRead,
    StStatus,  // the queue pair goes to ERROR, or its peer is told
    StWake
  } step_e;

  // What a queue pair remembers from one segment to the next.
  typedef struct packed {
    logic [31:0] messages;  // of QN 0 that have ended
    logic [31:0] reads;     // RDMA Read Requests that were queued
    logic        writing;   // an RDMA Write message is under way
    logic [31:0] written;   // bytes of that one, or of the one that has just ended
    logic        open;      // a receive is taken and its message has not ended; then:
    wqe_index_t  wqe_index;
    logic [31:0] length;    // bytes that it takes
    logic [31:0] received;
    logic [$clog2(MAX_SGE)-1:0] element;  // where the next byte goes
    logic [31:0] offset;                  // in that element
  } stream_t;

  localparam int unsigned PayloadTop = $bits(ddp_head_t) - 8 * DDP_UNTAGGED_BYTES - 1;

endpackage
