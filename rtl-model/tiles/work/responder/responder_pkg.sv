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

  // What the judge says of the segment in hand.
  typedef struct packed {
    logic       mine;          // the queue pair is the addressee,
    logic       receiving;     // and not in ERROR
    logic       told;          // in ERROR, and its peer has heard of that
    logic       introduction;  // the segment is one,
    logic       wants_answer;  // whose sender waits,
    logic       meets;         // and it is for this queue pair, which receives:
    logic       renews;        // the peer has begun another life,
    logic       parts;         // while requests of the earlier one are under way: nobody answers them
    logic       good;          // may be served by a queue pair that receives
    term_code_e code;          // else: why not
    logic       too_long;      // for the open receive
    logic       behind;        // it was sent behind a message that found no receive, or a refused request
    logic       late;          // of the unreliable class: it was overtaken, or came twice
    logic       gap;           // frames before it are missing
    logic       bad_pkey;      // a datagram has not the keys of the queue pair
    logic       bad_qkey;
  } verdict_t;

  // What a flush job has to end, if anything.
  typedef struct packed {
    logic pull;
    logic message;  // the open receive
    logic receive;  // the next one
    logic emptied;  // nothing of a shared receive queue is left to it, which nobody knows yet
    logic drained;  // nothing: in SQD the completer is to hear that all has ended
  } flush_t;

  // Whether a segment is for the core itself, or for its firmware.
  typedef struct packed {
    logic device;    // nothing is checked or placed: a port takes it, or a load, or nobody;
    logic ready;     // and now
    logic firmware;  // it was sent to firmware:
    logic message;   // a message that it takes,
    logic data;      // or bytes that it has asked for: nobody is told
    logic punts;     // it is a request that goes to firmware,
    logic punted;    // and that has taken it
  } for_core_t;

  // What happens to the stream of a queue pair: pulses.
  typedef struct packed {
    logic accepted;  // the segment is served: nothing can go wrong with it any more
    logic taken;     // a receive is
    logic closed;    // the open receive has ended without its message
    logic paused;    // its next message found none
    logic told;      // its sender hears of a refusal
    logic owes;      // it failed, and its sender could not be told
    logic came;      // a segment of the unreliable class, in time,
    logic dropped;   // which is not served; nor is what follows of its message
    logic emptied;   // nothing of a shared receive queue is left to it
  } stream_change_t;

  // How the segment in hand is refused.
  typedef struct packed {
    logic       refused;  // it is,
    logic       told;     // and its sender hears of it
    logic       rnr;      // but it may come again
    term_code_e code;     // with that
  } refused_t;

  // A receive that is taken, in the cycle of `done`.
  typedef struct packed {
    logic        done;
    cqe_status_e status;     // SUCCESS, or what it completes with
    wqe_index_t  wqe_index;  // its last slot
    logic [31:0] length;     // bytes that it takes
  } fetched_t;

  // What becomes of the ring that it came from.
  typedef struct packed {
    logic        own;       // pulse: that of the queue pair
    logic        shared;    // pulse: a shared one
    wqe_index_t  consumer;
    logic [15:0] limit;        // of the shared one,
    logic        limit_event;  // which it has reached
  } ring_change_t;

  // How the payload of a segment is placed: pulses.
  typedef struct packed {
    logic done;     // the last write is accepted, or:
    logic refused;  // by the look-up that is answered now
  } placed_t;

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
    logic        emptied;    // in ERROR: nothing of a shared receive queue is left to it, and that is told
  } stream_t;

  // Bytes that a datagram leaves to software at the begin of its receive.
  function automatic logic [31:0] left_to_software(logic grh);
    return grh ? 32'(GRH_BYTES) : '0;
  endfunction

  localparam int unsigned PayloadTop = $bits(ddp_head_t) - 8 * DDP_UNTAGGED_BYTES - 1;

endpackage
