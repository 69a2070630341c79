// SPDX-License-Identifier: BSD-2-Clause
// What the two directions of EFE tell each other of their peers.

interface efe_peer_if
  import exrnic_core_pkg::*;
();
  // What came tells of what we have sent.
  logic    ack_valid;
  logic    ack_ready;
  rx_ack_t ack;

  // A peer is to hear how far we are; with a SACK: by a frame without a segment, with what is held, or refused.
  logic      ack_request;
  node_t     ack_request_node;
  logic      ack_request_sack;
  node_t     query_node;  // how far are we with this one?
  rx_state_t state;       // in the same cycle
  logic      ack_sent;    // a frame to that node tells it

  logic       refusal_set;  // from now on the peer of the segment that is refused has to be told
  logic       heard_valid;  // pulse: that peer has dealt with our refusal of this number
  node_t      heard_node;
  logic [7:0] heard;

  logic        restart_valid;  // a peer has begun anew,
  logic        restart_ready;
  node_t       restart_node;
  logic [15:0] restart_known;  // and acknowledges this session of ours; 0: none

  modport rx(
      output ack_valid, ack, ack_request, ack_request_node, ack_request_sack, state, refusal_set,
      output restart_valid, restart_node, restart_known,
      input ack_ready, query_node, ack_sent, heard_valid, heard_node, heard, restart_ready
  );
  modport tx(
      input ack_valid, ack, ack_request, ack_request_node, ack_request_sack, state, refusal_set,
      input restart_valid, restart_node, restart_known,
      output ack_ready, query_node, ack_sent, heard_valid, heard_node, heard, restart_ready
  );

endinterface
