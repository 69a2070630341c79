// SPDX-License-Identifier: BSD-2-Clause
// What the parts of the requester share.

package requester_pkg;
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;

  /* verilator lint_off UNUSEDPARAM */
  localparam int unsigned TURN_SEGMENTS = 16;  // behind so many, too, a turn lets others go
  localparam int unsigned SLOT_WORDS = WQE_BYTES / SGE_BYTES;
  /* verilator lint_on UNUSEDPARAM */

  typedef logic [$bits(wqe_index_t)+$clog2(SLOT_WORDS)-1:0] word_index_t;  // of a ring: slot, and word of it
  typedef logic [$clog2(WQE_SLOTS_MAX+1)-1:0] slots_t;                 // of a work request
  typedef logic [$clog2(MAX_SGE+1)-1:0] sges_t;

  // What a turn of a queue pair is for.
  typedef enum logic [3:0] {
    TURN_NOTHING,
    TURN_WORK,       // its work requests
    TURN_READ,       // the oldest RDMA Read Request of the peer
    TURN_FLUSH,      // in ERROR: work requests, unseen
    TURN_TERMINATE,  // a message to the peer; also where a TURN_READ leads that is refused
    TURN_POP,        // in ERROR: a read of a peer that has been told
    TURN_HAND_OVER,  // in ERROR: what the responder has of it; in SQD: that nothing of its own is under way
    TURN_GO_BACK,    // a message found no receive
    TURN_ASK,        // an empty segment to the peer, of whose responses nothing was heard
    TURN_INTRODUCE   // another one, that tells it who we are
  } turn_e;

  typedef struct packed {
    turn_e      turn;
    logic       quote;         // TURN_TERMINATE: about the oldest read, or else the request that was refused,
    term_code_e code;          // and with that
    logic       wants_answer;  // TURN_INTRODUCE: work waits for one
    logic       work;          // there is own work
    logic       reads;         // there are reads
  } pick_t;

  // A work request that is handed out.
  typedef struct packed {
    cqe_status_e status;  // why it cannot be executed; SUCCESS: it can
    wqe_index_t  index;   // of its first slot
    slots_t      slots;
    wqe_t        wqe;
    inline_t     inline_data;
    reads_t      reads;       // PULL: requests that it needs
    word_index_t second_sge;  // place of its second element
  } work_request_t;

  // Has the work request at its consumer begun? Its message may have, and have found no receive.
  /* verilator lint_off UNUSEDSIGNAL */  // parts of the record count
  function automatic logic has_begun(qp_sq_t sq);
    return sq.progress != '0 || sq.probe_due;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  // Steps of a turn: the diagram is in README.md.
  typedef enum logic [3:0] {
    STEP_IDLE, STEP_TURN, STEP_WORK, STEP_BEGIN, STEP_LOOK, STEP_REGION_CHANGE, STEP_REGION_CHANGED,
    STEP_ALLOC, STEP_JUDGE, STEP_GATHER, STEP_SUBMIT, STEP_STATUS_READ, STEP_STATUS, STEP_WAKE,
    STEP_HAND_OVER
  } step_e;

  // The slot in hand, and what it is for.
  typedef struct packed {
    turn_e       turn;
    qpn_t        qpn;
    generation_t generation;
    node_t       node;
    logic [23:0] dest_qpn;
    pd_t         pd;
    slot_t       slot;
    chunk_t      payload;    // bytes of the message in it
    logic        gathered;   // they were asked for, or some of them
    logic        returned;   // not needed any more: it only goes back
    cqe_status_e status;     // other than SUCCESS: the work request is not sent
    logic [31:0] offset;     // bytes of the message before it
    logic        immediate;  // it is the Immediate Data message of a PUSH_IMM
    read_t       read;       // TURN_READ, TURN_TERMINATE: the peer's request,
    logic [31:0] read_mo;    // with the offset that it came with
    term_code_e  code;       // TURN_TERMINATE: why,
    logic        quote;      // and whether the request is quoted
    logic        wants;      // TURN_INTRODUCE: work waits for an answer
  } segment_t;

endpackage
