// SPDX-License-Identifier: BSD-2-Clause
// Types inside efe_tx.

package efe_tx_pkg;
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;

  // What is prompt goes to its node in an order of its own.
  typedef struct packed {
    logic  prompt;
    node_t node;
  } lane_t;
  localparam int unsigned Lanes = 2 * N_NODE;

  typedef logic [$clog2(TX_SLOTS):0] slot_count_t;

  // Events that the sequencer handles, one at a time.
  typedef enum logic [2:0] {
    OP_RESTART,  // a peer has started a new session
    OP_ACK,
    OP_TIMEOUT,  // the time of a node has come
    OP_RESEND,   // the next lost frame
    OP_NEW,      // the oldest slot of a lane that has not left yet
    OP_ACK_ONLY,
    OP_CREDIT    // what a peer is told of receives
  } op_e;
  localparam int unsigned Ops = 7;

  // The event that comes next, and whose it is.
  typedef struct packed {
    logic  valid;
    op_e   op;
    node_t node;
  } pick_t;

  // Steps in which the sequencer handles it: README.md.
  typedef enum logic [3:0] {
    ST_INIT, ST_REST, ST_LOAD, ST_SEEK, ST_JUDGE, ST_WALK, ST_DONE, ST_ARRIVED, ST_LOST,
    ST_FINISH, ST_SEND
  } step_e;

  // What it comes to, by the state of its node.
  typedef struct packed {
    logic ack_good;      // an acknowledgement counts,
    logic ack_progress;  // and tells of something new
    logic time_out;      // a frame has no answer:
    logic retry;         // another try,
    logic peer_dead;     // or none
    logic give_up;       // what is on its way is given up
    logic greets;        // a greeting has no answer,
    logic greet_again;   // and goes out again
  } verdict_t;

  // A frame that leaves for the node in work.
  typedef struct packed {
    logic        valid;
    logic        data;     // with a segment
    logic        credit;   // with what the event says of receives
    logic [15:0] session;
    logic        syn;
    logic [31:0] seq;
  } send_t;

  // The same for the framer.
  typedef struct packed {
    efe_t     efe;  // without length, the frame ends here
    tx_desc_t desc;
  } frame_t;

  // How a peer is told of a refusal: by a frame without a number.
  typedef struct packed {
    logic       rnr;
    logic [4:0] pause;
    tx_desc_t   desc;
  } telling_t;

  // A slot, and how it has ended.
  typedef struct packed {
    slot_t    slot;
    tx_done_t done;
  } end_t;

  // The node in work, in the queue of those that are resent to.
  typedef struct packed {
    logic enter;
    logic leave;
    logic rotate;  // others come first
  } resend_t;

  // Round trip time of a node, cycles; mean 0: not measured yet.
  typedef logic [19:0] cycles_t;
  typedef struct packed {
    cycles_t mean;
    cycles_t deviation;
    cycles_t least;
  } rtt_t;

  // Congestion window of a node, in sixteenths of a frame.
  localparam int unsigned WindowMax = 16 * WINDOW_MAX;
  typedef logic [$clog2(WindowMax+1)-1:0] window_size_t;
  typedef struct packed {
    logic         slow;   // no congestion so far: slow start
    window_size_t size;
    logic         odd;    // a frame was acknowledged that is not worth a sixteenth by itself
  } window_t;

  // How fast frames may leave to the node whose event begins.
  typedef struct packed {
    logic         valid;
    cycles_t      mean;  // round trip time
    window_size_t window;
  } pace_t;

  // What is known of one slot under way, and follows from that.
  typedef struct packed {
    logic [31:0] sent_at;  // when it left last
    logic [31:0] age;      // cycles since
    logic        again;    // not for the first time
    logic        arrived;  // without being acknowledged yet
    logic        lost;     // it counts as lost, and waits to be sent again
    logic        older;    // it left before the newest of those known to have arrived
    logic        newest;   // it is the newest of those, if it has arrived, too
  } flight_t;

  // Towards one node. The slots from head to tail are not acknowledged; una is the sequence number
  // of the first of them that has one (dead slots have none), next that of the next new frame.
  typedef struct packed {
    logic [15:0] session;      // 0: none drawn yet
    logic        established;  // the session has been acknowledged
    logic [7:0]  retries;      // time-outs without progress
    logic        heard;        // it has answered since the last one
    window_t     window;
    rtt_t        rtt;
    logic [31:0] newest;       // when the frame left that left last of those known to have arrived
    logic        suspects;     // frames that left before that may be lost:
    logic [31:0] suspects_at;  // when the first of them has to be taken for that
    logic [31:0] una;
    logic [31:0] next;
    slot_t       head;
    slot_t       tail;
    slot_t       cursor;       // next to resend, and its number
    logic [31:0] cursor_seq;
  } peer_t;

  function automatic peer_t fresh_peer(logic [15:0] session);
    peer_t peer;
    peer = '0;
    peer.session = session;
    peer.una = 32'(INITIAL_SEQ);
    peer.next = 32'(INITIAL_SEQ);
    peer.window.slow = 1'b1;
    peer.window.size = window_size_t'(16 * WINDOW_INITIAL);
    return peer;
  endfunction

  function automatic logic [15:0] nonzero(logic [15:0] session);
    return session == '0 ? 16'd1 : session;
  endfunction

  // None stays none: the first one is drawn when it is needed.
  function automatic logic [15:0] next_session(logic [15:0] session);
    return session == '0 ? 16'd0 : nonzero(session + 1);
  endfunction

endpackage
