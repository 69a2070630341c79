// SPDX-License-Identifier: BSD-2-Clause
// Which event the sequencer handles next: round robin over the kinds, so that none starves. Those that
// send a frame have an order of their own besides: else events that come between two frames, as
// acknowledgements do, would always begin the round anew.

`include "exrnic_assert.svh"

module tx_arbiter
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                ask_i,       // the sequencer is at rest: it takes what is picked
  input  logic                can_send_i,

  input  logic                peer_restart_valid_i,
  input  node_t               peer_restart_node_i,
  input  logic                ack_valid_i,
  input  node_t               ack_node_i,
  input  logic                expired_i,
  input  logic                expired_greets_i,  // what is to be done takes a frame
  input  node_t               expired_node_i,
  input  logic                resend_valid_i,
  input  node_t               resend_node_i,
  input  logic [N_NODE-1:0] resending_i,
  input  logic                head_ready_i,
  input  logic                head_dead_i,  // needs no frame
  input  logic                head_open_i,  // its window has room, and it is due
  input  node_t               head_node_i,
  input  logic                ack_owed_valid_i,
  input  node_t               ack_owed_node_i,
  input  logic                ack_owed_sack_i,
  input  logic                credit_valid_i,
  input  node_t               credit_node_i,

  output pick_t               pick_o
);

  typedef logic [$clog2(Ops)-1:0] index_t;

  localparam logic [Ops-1:0] Sends = Ops'((1 << OP_RESEND) | (1 << OP_NEW) | (1 << OP_ACK_ONLY) | (1 << OP_CREDIT));

  logic [Ops-1:0] request;
  index_t turn, pick, last_q, last_sent_q;

  localparam int unsigned NewFirst = 3;  // since the last acknowledgement was handled
  typedef logic [$clog2(NewFirst+1)-1:0] new_t;
  new_t new_q;

  always_comb begin
    request = '0;
    if (ask_i) begin
      request[OP_RESTART] = peer_restart_valid_i;
      request[OP_TIMEOUT] = expired_i && (can_send_i || !expired_greets_i);
      request[OP_RESEND]  = can_send_i && resend_valid_i;
      // New frames wait for the resending of older ones, or they would only be dropped.
      request[OP_NEW]     = head_ready_i &&
                            (head_dead_i ||
                             (can_send_i && head_open_i && !resending_i[head_node_i]));
      request[OP_CREDIT]  = can_send_i && credit_valid_i;
      // A later one says more: some new frames go first, which are short if they follow each other so soon.
      request[OP_ACK]     = ack_valid_i && !(request[OP_NEW] && new_q < new_t'(NewFirst));
      // A frame with data that is at hand acknowledges as well, but cannot tell what is held.
      request[OP_ACK_ONLY] = can_send_i && ack_owed_valid_i && (ack_owed_sack_i ||
          !((request[OP_NEW] && !head_dead_i && head_node_i == ack_owed_node_i) ||
            (request[OP_RESEND] && resend_node_i == ack_owed_node_i)));
    end
  end

  // Lowest one above the last pick, else lowest of all.
  function automatic index_t next(logic [Ops-1:0] asks, index_t last);
    next = '0;
    for (int unsigned i = Ops; i > 0; i--) if (asks[i-1]) next = index_t'(i - 1);
    for (int unsigned i = Ops; i > 0; i--)
      if (asks[i-1] && index_t'(i - 1) > last) next = index_t'(i - 1);
  endfunction

  assign turn = next(request, last_q);
  assign pick = Sends[turn] ? next(request & Sends, last_sent_q) : turn;

  node_t node;
  always_comb begin
    unique case (op_e'(pick))
      OP_RESTART: node = peer_restart_node_i;
      OP_ACK:     node = ack_node_i;
      OP_TIMEOUT: node = expired_node_i;
      OP_RESEND:  node = resend_node_i;
      OP_NEW:     node = head_node_i;
      OP_CREDIT:  node = credit_node_i;
      default:    node = ack_owed_node_i;
    endcase
  end
  assign pick_o = '{valid: |request, op: op_e'(pick), node: node};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {last_q, last_sent_q, new_q} <= '0;
    end else if (request != '0) begin
      last_q <= turn;
      if (Sends[turn]) last_sent_q <= pick;
      if (pick == index_t'(OP_ACK)) new_q <= '0;
      else if (pick == index_t'(OP_NEW) && new_q != new_t'(NewFirst)) new_q <= new_q + 1'b1;
    end
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(somebody_asks, !pick_o.valid || request[pick])

endmodule
