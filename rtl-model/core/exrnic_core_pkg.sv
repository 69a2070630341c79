// SPDX-License-Identifier: BSD-2-Clause
// Types between the blocks of the core. Numbers that software shares are in exrnic_pkg.
//
// Handshakes: `valid` and `ready` in the same cycle move one item; `valid` does not wait for
// `ready`. A pulse (no ready) is always taken.

package exrnic_core_pkg;
  import exrnic_pkg::*;

  /* verilator lint_off UNUSEDPARAM */

`ifdef EXRNIC_DATA_W
  localparam int unsigned DATA_W = `EXRNIC_DATA_W;
`else
  localparam int unsigned DATA_W = 128;
`endif
  localparam int unsigned DATA_BYTES = DATA_W / 8;

  typedef logic [DATA_W-1:0] data_t;  // byte 0 (first in memory or on the wire) in bits 7:0
  typedef logic [$clog2(DATA_BYTES):0] beat_bytes_t;  // 1..DATA_BYTES

  typedef logic [$clog2(MAX_NODE)-1:0] node_t;
  typedef logic [$clog2(MAX_QP)-1:0] qpn_t;
  typedef logic [15:0] generation_t;  // of a queue pair: another one after each RESET, never 0
  typedef logic [$clog2(MAX_CQ)-1:0] cqn_t;
  typedef logic [$clog2(MAX_SRQ)-1:0] srqn_t;
  typedef logic [$clog2(MAX_STAG)-1:0] stag_index_t;
  typedef logic [$clog2(USER_PAGES)-1:0] page_t;
  typedef logic [$clog2(MAX_PD)-1:0] pd_t;
  typedef logic [$clog2(MSIX_VECTORS)-1:0] vector_t;
  typedef logic [WQE_INDEX_BITS-1:0] wqe_index_t;
  typedef logic [8*WQE_BYTES-1:0] wqe_slot_t;  // a slot of a ring, byte 0 in bits 7:0
  typedef logic [12:0] chunk_t;  // 0..4096 bytes
  typedef logic [$clog2(MAX_READS):0] reads_t;  // 0..MAX_READS
  typedef logic [8*MBOX_QUERY_QP_BYTES-1:0] mbox_answer_t;  // the longest one
  typedef logic [COUNTERS-1:0] event_t;  // one pulse for each counter

  // Retransmission buffer: slots of MTU_MAX bytes; a byte address is {slot, offset}.
  localparam int unsigned TX_SLOTS = 128;
  typedef logic [$clog2(TX_SLOTS)-1:0] slot_t;
  typedef logic [$clog2(TX_SLOTS*MTU_MAX)-1:0] tx_address_t;

  // Receive buffer: slots; a byte address is {slot, offset}, with gaps behind the greatest segment.
  localparam int unsigned RX_SLOTS = 128;
  localparam int unsigned RX_SLOT_SPACE = 2 * MTU_MAX;
  typedef logic [$clog2(RX_SLOTS*RX_SLOT_SPACE)-1:0] rx_address_t;

  // ---- Address translation

  typedef enum logic [2:0] {
    XLATE_OK,
    XLATE_STAG,    // no such STag, or another key
    XLATE_STREAM,  // of another protection domain
    XLATE_ACCESS,  // a right is missing
    XLATE_WRAP,    // offset + length wraps
    XLATE_BOUNDS,  // outside the region
    XLATE_MEMORY   // the host refused to read the PBL
  } xlate_status_e;

  typedef struct packed {
    logic        invalidate;   // the region is not to be used any more; `to` and `length` do not count, and it
                               // must have one of the rights in `access`, if any are given
    logic        ring;         // `to` is a byte offset in the ring behind pbl_address: no checks
    logic [63:0] pbl_address;  // with ring
    logic [31:0] stag;         // else: the region, with what it is needed for
    pd_t         pd;
    logic [7:0]  access;       // flags ACCESS_* that it must have
    logic [63:0] to;
    logic [31:0] length;       // bytes, at least 1; the whole range is checked
  } xlate_req_t;

  typedef struct packed {
    xlate_status_e status;
    logic [63:0]   address;  // bus address of the byte at `to`
    logic [31:0]   length;   // how many of the bytes asked for lie in its page
  } xlate_rsp_t;

  // A region, as the STag table keeps it.
  typedef struct packed {
    logic        valid;
    logic        invalidated;  // by a work request or a peer: no access, but still the driver's
    logic [7:0]  key;
    pd_t         pd;
    logic [7:0]  access;
    logic        huge_pages;  // pages of HUGE_PAGE_SHIFT, else PAGE_SHIFT
    logic [63:0] base;
    logic [63:0] length;
    logic [63:0] pbl_address;
  } mr_t;

  // ---- DMA

  // Reserve before you ask: completions cannot be held back.
  typedef struct packed {
    logic [63:0] address;
    chunk_t      length;  // 1..4096; may cross 4 KiB boundaries
    tx_address_t dst;     // comes back with the data, advanced
  } dma_read_req_t;

  typedef struct packed {
    tx_address_t dst;    // place of the first byte
    data_t       data;
    chunk_t      bytes;  // 1..DATA_BYTES; with error: all that will not come
    logic        error;
  } dma_read_beat_t;

  typedef enum logic [1:0] {
    DMA_WRITE_NONE,    // nothing to write; carries frame_done
    DMA_WRITE_FRAME,   // from the receive buffer
    DMA_WRITE_INLINE,  // from `data`
    DMA_WRITE_MSIX     // a vector, in the low bits of address
  } dma_write_kind_e;

  typedef struct packed {
    dma_write_kind_e kind;
    logic [63:0]     address;
    chunk_t          length;  // 1..4096, 1..32 with INLINE; may cross 4 KiB boundaries with FRAME
    rx_address_t     src;     // FRAME: first byte
    logic [255:0]    data;    // INLINE
    logic            frame_done;  // last command of the oldest received segment
    node_t           node;        // of that segment
  } dma_write_cmd_t;

  // ---- End-to-end credits: numbers of messages, modulo 2^15; no ring has half as many receives

  typedef logic [14:0] credit_t;

  function automatic logic credit_beyond(credit_t a, credit_t b);  // is a above b?
    return signed'(credit_t'(b - a)) < 0;
  endfunction

  // So many messages a queue pair may send to its peer.
  typedef struct packed {
    node_t       node;  // of the peer of the one that is told, or that tells
    logic [23:0] dst_qpn;  // these two as in the EFE header
    logic [23:0] src_qpn;
    generation_t src_generation;
    generation_t dst_generation;
    credit_t     limit;
  } credit_update_t;

  // A message has taken a receive, or found none.
  typedef struct packed {
    qpn_t        qpn;
    node_t       node;  // of its sender,
    logic [23:0] peer;  // and its queue pair there
    generation_t src_generation;  // of the two, as they go into an update
    generation_t dst_generation;
    credit_t     messages;  // that have taken one,
    credit_t     consumer;  // and slots that they have taken
    logic        lapsed;  // the sender does not know of any more
  } credit_taken_t;

  // ---- EFE, transmit side

  typedef enum logic [2:0] {
    TX_KIND_SEGMENT,   // a segment of a message that goes on, or of a window
    TX_KIND_LAST,      // the last segment of a work request
    TX_KIND_TERMINATE,
    TX_KIND_RESPONSE,  // a segment of an RDMA Read Response
    TX_KIND_PORT,      // a message of a port; its number stands for the queue pair's
    TX_KIND_PROBE,     // the first segment of a message that is sent again, and not the last
    TX_KIND_FIRMWARE,  // what firmware sends: nobody is told of its end
    TX_KIND_INTRODUCTION  // of a queue pair that waits for no answer: likewise
  } tx_kind_e;

  // First bytes of a DDP segment, first on the wire in the top bits: all of an Atomic Request, and so
  // many that they and the headers before them fill whole beats.
  localparam int unsigned DDP_HEAD_BYTES = 128 - ETH_BYTES - EFE_BYTES;
  typedef logic [8*DDP_HEAD_BYTES-1:0] ddp_head_t;
  typedef logic [8*INLINE_MAX-1:0] inline_t;  // byte 0 in bits 7:0

  // What is to be told when a frame is acknowledged, or given up.
  typedef struct packed {
    tx_kind_e        kind;
    qpn_t            qpn;
    generation_t     generation;  // of the queue pair: tells a new one from a destroyed one
    wqe_index_t      wqe_index;
    logic [31:0]     byte_length;
    logic            signaled;
    logic [7:0]      opcode;  // wqe_opcode_e
  } tx_tag_t;

  typedef struct packed {
    slot_t          slot;
    node_t          node;
    logic [23:0]    dst_qpn;
    logic [23:0]    src_qpn;
    generation_t    src_generation;  // these two for the EFE header
    generation_t    dst_generation;
    logic           untagged;
    logic [143:0]   ddp;      // DDP/RDMAP header, first byte on the wire in the top bits; tagged: 14 bytes
    chunk_t         length;   // payload bytes
    logic           unsent;   // never sent; once `length` bytes of payload are in, its done comes in
    cqe_status_e    status;   // order, with this status
    logic           imm_valid;  // for the EFE header: sack_imm with IMM
    logic [31:0]    imm;
    logic           ask;      // for the EFE header: credit
    logic           unreliable;  // sent once, in the unreliable class; it ends when it has left
    logic           first;    // with unreliable: of its message,
    logic [31:0]    number;   // and its number, see there
    logic           datagram;  // with unreliable: of class datagram. These three are for its headers,
    node_t          dest;      // and `node`, the own one, is where it queues
    logic [31:0]    qkey;
    logic [15:0]    pkey;
    logic           inlined;  // payload is inline_data, else it comes by DMA
    inline_t        inline_data;
    tx_tag_t        tag;
  } tx_desc_t;

  typedef struct packed {
    tx_tag_t      tag;
    node_t        node;
    logic [31:0]  seq;     // with SUCCESS: its sequence number
    cqe_status_e  status;  // SUCCESS: acknowledged; LOC_PROT_ERR: payload unreadable; RETRY_EXC_ERR;
                           // or the status that it was submitted with as unsent
  } tx_done_t;

  typedef logic [8*(DDP_UNTAGGED_BYTES+READ_REQUEST_BYTES)-1:0] quote_t;

  // A segment that is refused, and how its sender is told: by a terminate message.
  typedef struct packed {
    node_t       node;
    logic [31:0] seq;
    logic [23:0] dst_qpn;  // these four as in the frame that tells it
    logic [23:0] src_qpn;
    generation_t src_generation;
    generation_t dst_generation;
    term_code_e  code;
    logic        rnr;      // it may come again behind that pause
    logic [4:0]  pause;
    logic [15:0] length;   // of the segment, and its first bytes: to be quoted
    quote_t      quote;
  } refusal_t;

  // ---- EFE, receive side

  // A frame of the reliable class, in sequence, or one of the other; checked up to its EFE header.
  typedef struct packed {
    node_t        node;
    logic [31:0]  seq;
    logic [31:0]  ack;      // these two as in its EFE header; of a refusal both are `seq`
    logic [15:0]  session;  // of the sender
    logic [23:0]  dst_qpn;
    logic [23:0]  src_qpn;
    generation_t  src_generation;  // these two as in its EFE header
    generation_t  dst_generation;
    logic [15:0]  length;  // DDP segment: header and payload
    logic         imm_valid;  // as in its EFE header
    logic [31:0]  imm;
    logic         rnr;
    logic         ask;     // its credit is CREDIT_ASK
    logic         unreliable;  // of that class, and so in no sequence; seq counts for the queue pair
    logic         first;   // with unreliable: of its message
    logic         datagram;  // with unreliable: it is a message; its Q_Key is `ack`
    logic [15:0]  pkey;      // of a datagram
    logic         more;      // a copy of a datagram, and not the last one
    logic         stale;     // forgotten, or of an old session: only its end counts
    ddp_head_t    ddp;     // as many of its bytes as fit, the rest means nothing
    rx_address_t  start;   // place of its first byte in the receive buffer
  } rx_desc_t;

  typedef struct packed {
    node_t       node;
    logic [15:0] peer_session;
    logic [31:0] ack;
    logic [7:0]  heard;    // the last refusal of ours that it has dealt with
    logic        ece;      // a frame of ours came there with CE
    logic        sack;     // all before `missing` has arrived, and
    logic [31:0] missing;
    logic [31:0] arrived;  // bit i: missing + 1 + i as well
  } rx_ack_t;

  // What a frame to a node says about what came from it.
  typedef struct packed {
    logic        valid;    // something has come: a session is known
    logic [15:0] session;
    logic [31:0] ack;
    logic [7:0]  heard;    // the last refusal of the peer's that has been dealt with
    logic [7:0]  refusal;  // in force: its number, 0 without one,
    logic [31:0] refused;  // and what is refused
    logic        ece;      // a segment came with CE since a frame with ACK was sent
    logic        sack;     // segments are held behind a missing one; these as in rx_ack_t
    logic [31:0] missing;
    logic [31:0] arrived;
  } rx_state_t;

  // ---- Queues

  // Who reads and who changes the queue pair table.
  typedef enum logic [2:0] {
    QP_USER_PAGE, QP_REQUESTER, QP_RESPONDER, QP_COMPLETER, QP_MAILBOX, QP_WINDOW, QP_FIRMWARE, QP_CREDITS
  } qp_client_e;
  localparam int unsigned QP_CLIENTS = 8;

  // The same of the shared receive queues.
  typedef enum logic [1:0] {SRQ_USER_PAGE, SRQ_RESPONDER, SRQ_MAILBOX} srq_client_e;
  localparam int unsigned SRQ_CLIENTS = 3;

  // Set by the driver, constant while the queue pair exists.
  typedef struct packed {
    logic        valid;
    page_t       page;
    pd_t         pd;
    cqn_t        send_cqn;
    cqn_t        recv_cqn;
    logic [3:0]  sq_log;
    logic [3:0]  rq_log;
    logic [63:0] sq_pbl;
    logic [63:0] rq_pbl;
    logic        has_srq;  // it takes receives from `srqn`, not from its own queue
    srqn_t       srqn;
    reads_t      max_reads_out;
    reads_t      max_reads_in;
    generation_t generation;
    node_t       dest_node;
    logic [23:0] dest_qpn;
    logic [4:0]  rnr_timer;  // code of the pause that a message without a receive is answered by
    logic [2:0]  rnr_retry;  // how often one of ours is sent again
    service_e    service;
    logic [31:0] qkey;  // these two of UD
    logic [15:0] pkey;
  } qp_config_t;

  function automatic generation_t next_generation(generation_t now);
    return now == '1 ? generation_t'(1) : now + 1'b1;
  endfunction

  // Does a P_Key of a frame or a queue pair name a partition; and do two match (PKEY_FULL)?
  function automatic logic pkey_valid(logic [15:0] pkey);
    return (pkey & ~16'(PKEY_FULL)) != '0;
  endfunction
  function automatic logic pkeys_match(logic [15:0] a, logic [15:0] b);
    return pkey_valid(a) && ((a ^ b) & ~16'(PKEY_FULL)) == '0 &&
        ((a | b) & 16'(PKEY_FULL)) != '0;
  endfunction

  // Is a queue pair number of a frame or a work request that of a group?
  function automatic logic is_group(logic [23:0] qpn);
    return (qpn & ~24'(GROUP_MAX)) == 24'(GROUP_QPN);
  endfunction
  typedef logic [$clog2(GROUP_MAX+1)-1:0] group_t;

  // What the driver changes about groups.
  typedef enum logic [1:0] {
    GROUP_ATTACH, GROUP_DETACH,
    GROUP_FORGET  // the queue pair is destroyed
  } group_op_e;

  // Changed by the driver and by errors.
  typedef struct packed {
    qp_state_e   state;
    logic        fault;   // in ERROR: the next completion carries fault_status and fault_detail
    cqe_status_e fault_status;
    logic [15:0] fault_detail;
    logic        exact;      // in ERROR: frames before fault_seq were placed, those from it on were not
    logic [31:0] fault_seq;
    logic        rnr;        // fault_seq found no receive (with exact): when all that is under way has ended
                             // the send queue goes back to its work request, in ERROR to flush it
    logic        told;       // in ERROR: the peer has been sent a terminate message
    logic        answer_lost;  // in ERROR: a response to the peer could not be read; it must hear of that
    logic        alone;      // UC: nobody has answered its introduction: what it sends is lost
  } qp_status_t;

  // What it knows of its peer. It sends work of its own only when they have met.
  typedef logic [3:0] changes_t;
  typedef struct packed {
    generation_t generation;  // 0: not known
    logic        met;      // the peer has shown that it knows ours
    changes_t    changes;  // introductions of the peer that want one of ours, modulo 2^4
  } qp_peer_t;

  // Where the requester stands.
  typedef struct packed {
    logic        halted;    // a work request failed; no other is taken until its completion is written
    wqe_index_t  consumer;  // slots taken
    logic [31:0] progress;  // bytes of the work request at `consumer` that earlier turns have submitted
    logic [31:0] send_msn;  // messages sent, of each untagged queue
    logic [31:0] read_msn;
    logic [31:0] atomic_msn;  // Atomic Responses sent
    logic [15:0] issued;    // work requests other than PULL whose last slot is submitted, and probes, modulo 2^16
    logic        probe_due;  // behind a pause the first segment of the message leaves alone;
    logic        probe_out;  // it has left
    logic [31:0] rnr_msn;    // the message that found no receive, and
    logic [2:0]  rnr_count;  // how often it was sent again
    logic [31:0] frames;     // UC, UD: number of the next one
    logic        credit_wait;  // the next message has waited for credits
    logic        introduced;  // it has introduced itself to its peer,
    changes_t    answered;    // when peer.changes was that,
    logic        asked;       // and asked for an answer
    logic        needs_peer;  // its next work request is for the peer
  } qp_sq_t;

  // What the completer has seen the end of.
  typedef struct packed {
    logic [15:0] count;  // of sq.issued
    wqe_index_t  slots;  // sq.consumer and sq.send_msn behind the last work request that ended well
    logic [31:0] msn;
  } qp_ended_t;

  typedef struct packed {
    qp_config_t  cfg;
    qp_status_t  status;
    qp_peer_t    peer;
    qp_sq_t      sq;
    wqe_index_t  sq_producer;
    wqe_index_t  rq_producer;
    wqe_index_t  rq_consumer;
    qp_ended_t   ended;
  } qp_t;

  // An RDMA Read Request or Atomic Request of ours under way: what is still to come.
  typedef struct packed {
    logic [31:0] stag;
    logic [63:0] to;
    logic [31:0] left;
    logic        last;  // of its PULL; then these say what to complete:
    logic        signaled;
    wqe_index_t  wqe_index;  // of an Atomic Request always: its request_id
    logic [31:0] byte_length;
    logic [7:0]  opcode;  // wqe_opcode_e
  } pull_t;

  // What a request of the peer gets: bytes, an Atomic Response, or a terminate message.
  typedef enum logic [1:0] {ANSWER_READ, ANSWER_ATOMIC, ANSWER_REFUSED} answer_e;

  // An RDMA Read Request of the peer, or what firmware made of a request.
  typedef struct packed {
    read_request_t request;  // ANSWER_ATOMIC: an atomic_response_t on top
    logic [31:0]   msn;
    logic [31:0]   done;  // bytes that were submitted
    answer_e       answer;
    logic          atomic;    // ANSWER_REFUSED: it was an Atomic Request
    logic          firmware;  // it went through firmware
    term_code_e    code;      // ANSWER_REFUSED: why
  } read_t;

  // A request of the peer that goes to firmware; or a message of its firmware, whose node then
  // stands for the queue pair.
  typedef struct packed {
    logic        message;
    logic        atomic;
    qpn_t        qpn;
    generation_t generation;
    pd_t         pd;
    logic [31:0] msn;
    logic [8*ATOMIC_REQUEST_BYTES-1:0] payload;  // first byte on the wire in the top bits
  } punt_t;

  // A message or a PULL has ended at the responder.
  typedef struct packed {
    qpn_t        qpn;
    generation_t generation;
    wqe_index_t  wqe_index;
    logic [31:0] byte_length;
    logic        signaled;
    logic [7:0]  opcode;  // wqe_opcode_e: RECV or PULL
    cqe_status_e status;  // WR_FLUSH_ERR: a PULL may get the queue pair's fault instead
    logic [7:0]  flags;   // cqe_flags
    logic [31:0] imm_data;
    logic [31:0] sender;  // with flag sender: cqe.detail
  } rx_done_t;

  typedef struct packed {
    logic        valid;
    page_t       page;
    pd_t         pd;
    logic [3:0]  log_slots;
    logic [63:0] pbl;
  } srq_config_t;

  typedef struct packed {
    srq_config_t cfg;
    logic [$clog2(SRQ_LIMIT_MAX+1)-1:0] limit;  // armed limit, 0: none
    wqe_index_t  producer;
    wqe_index_t  consumer;
  } srq_t;

  // A ring of receives, of a queue pair or shared, and what is posted in it.
  typedef struct packed {
    logic shared;
    logic [$clog2(MAX_QP > MAX_SRQ ? MAX_QP : MAX_SRQ)-1:0] number;
  } receive_ring_id_t;
  typedef struct packed {
    receive_ring_id_t id;
    logic [63:0] pbl;
    logic [3:0]  log_slots;
    wqe_index_t  consumer;
    wqe_index_t  producer;
  } receive_ring_t;

  typedef struct packed {
    logic        valid;
    page_t       page;
    logic [4:0]  log_entries;
    vector_t     msix_vector;
    logic [$clog2(MODERATION_COUNT_MAX+1)-1:0] moderation_count;
    logic [$clog2(MODERATION_NS_MAX+1)-1:0] moderation_ns;
    logic [63:0] pbl;
  } cq_config_t;

  // A store to a completion queue's doorbell.
  typedef struct packed {
    logic [31:0] cqn;
    logic [31:0] consumer;
    logic        arm;
    logic        solicited;  // with arm: only for a solicited or a failed completion
    page_t       page;
  } cq_doorbell_t;

  // ---- Windows and ports

  typedef logic [$clog2(MAX_WINDOWS)-1:0] window_index_t;
  typedef logic [$clog2(PORTS)-1:0] port_t;

  // Translation entry.
  typedef struct packed {
    logic [1:0]  access;  // flags window_access; none: closed
    qpn_t        qpn;
    generation_t generation;  // of the queue pair: a later one of that number is not meant
    logic [31:0] stag;
    logic [63:0] base;
    logic [$clog2(WINDOW_SIZE):0] length;
  } window_entry_t;

  // Stores that leave as one RDMA Write, or a load.
  typedef struct packed {
    logic          load;
    window_index_t window;
    qpn_t          qpn;
    generation_t   generation;
    logic [31:0]   stag;
    logic [63:0]   to;
    logic [$clog2(COMBINE_MAX):0] length;  // bytes
    inline_t       data;   // of stores
    logic [63:0]   token;  // of a load: comes back with the answer
  } window_item_t;

  // The answer to a load.
  typedef struct packed {
    qpn_t        qpn;
    logic [63:0] token;
    chunk_t      length;
    logic [63:0] data;  // byte 0 in bits 7:0
  } window_answer_t;

  // What firmware sends to another node: a message to its firmware, or bytes of host memory.
  typedef struct packed {
    logic        data;
    node_t       node;
    logic [8*FW_MESSAGE_BYTES-1:0] message;  // first byte on the wire in the top bits
    logic [63:0] address;  // of the bytes: bus address here, length, region and offset there
    chunk_t      length;
    logic [31:0] stag;
    logic [63:0] to;
  } fw_send_t;

  // What firmware lets another node write of a region of FW_PD, for as long as it is valid.
  typedef struct packed {
    logic        valid;
    logic [31:0] name;  // the STag of its segments, whose offsets begin at 0
    node_t       node;
    logic [31:0] stag;
    logic [63:0] to;
    logic [$clog2(CHANNEL_SLOT_MAX):0] length;
  } fw_grant_t;

  typedef logic [$clog2(FW_GRANTS)-1:0] fw_grant_index_t;  // low bits of its name

  // What ports say to each other.
  typedef struct packed {
    port_t       port;  // of ours
    node_t       node;
    port_t       peer;  // its port
    logic [7:0]  to;    // PORT_TO_*
    logic [31:0] data;
  } port_message_t;

  /* verilator lint_on UNUSEDPARAM */
endpackage
