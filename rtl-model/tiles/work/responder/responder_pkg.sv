// SPDX-License-Identifier: BSD-2-Clause
// Types inside the responder.

package responder_pkg;
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;

  // What is known of a segment by its header.
  typedef struct packed {
    message_e message;  // that it belongs to
    logic     atomic;   // Atomic Request or Response
    chunk_t   payload;  // bytes; of an Atomic Response: those that it brings
    logic     last;     // of its message
    logic     solicited;
    logic     invalidates;
    logic     uc;       // these services carry it
    logic     ud;
  } segment_t;

  // A place in the elements of a receive.
  typedef struct packed {
    logic [$clog2(MAX_SGE)-1:0] element;
    logic [31:0]                offset;
  } position_t;

  // Steps of a segment or a flush job.
  typedef enum logic [3:0] {
    STEP_IDLE,
    STEP_READ,    // of the tables
    STEP_JUDGE,
    STEP_PUNT,    // a request goes to firmware
    STEP_TAKE,    // a receive: is one posted?
    STEP_FETCH,
    STEP_ROOM,    // has it room for the segment?
    STEP_PLACE,
    STEP_INVALIDATE,
    STEP_INVALIDATE_WAIT,
    STEP_DONE,    // an empty write that ends the segment
    STEP_REPORT,  // to the completer
    STEP_REFUSE,
    STEP_STATUS_READ,
    STEP_STATUS,  // the queue pair goes to ERROR, or its peer is told
    STEP_WAKE
  } step_e;

  // What a queue pair remembers from one segment to the next.
  typedef struct packed {
    logic [31:0] messages;  // of QN 0 that have ended
    logic        refused;   // the next one found no receive: until it comes again, all else is discarded
    logic [31:0] reads;     // RDMA Read Requests and Atomic Requests that were queued
    logic [31:0] atomics;   // Atomic Responses that came
    logic        writing;   // an RDMA Write message is under way
    logic [31:0] written;   // bytes of that one, or of the one that has just ended
    logic        open;      // a receive is taken and its message has not ended; then:
    wqe_index_t  wqe_index;
    logic [31:0] length;    // bytes that it takes
    logic [31:0] received;
    position_t   position;  // where the next byte goes
    logic [31:0] next;      // UC: number of the frame that comes next
    logic        skips;     // UC: a message is abandoned; until the next one begins all is dropped
    logic        told;      // in ERROR: a refusal has told the peer,
    logic [15:0] told_in;   // in that session of its node; in another one it may not have heard
    logic        owes;      // in ERROR: what failed its receive was put off. It is refused with
    term_code_e  owed;      // this code when it comes again
  } stream_t;

  typedef logic [$clog2(WQE_SLOTS_MAX):0] slot_count_t;  // of a receive

  localparam int unsigned PayloadTop = $bits(ddp_head_t) - 8 * DDP_UNTAGGED_BYTES - 1;

endpackage
