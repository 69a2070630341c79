// SPDX-License-Identifier: BSD-2-Clause
// What an event comes to, by the state of its node: whether an acknowledgement counts, whether a
// peer that starts anew has forgotten us, whether there is another try when the time has come.
// Combinational.

module tx_verdict
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic [7:0] cfg_retry_limit_i,
  input  op_e        op_i,
  /* verilator lint_off UNUSEDSIGNAL */  // what of both is needed here
  input  peer_t      peer_i,
  input  rx_ack_t    ack_i,       // also of OP_RESTART: peer_session, which it acknowledges
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic       greeting_i,  // it has been greeted, and has not answered
  input  logic       known_i,     // something has come from it
  output verdict_t   verdict_o
);

  logic session_known, forgotten, tries_left, ack_good, greets, time_out, peer_dead;

  assign session_known = ack_i.peer_session != '0 && ack_i.peer_session == peer_i.session;
  assign ack_good      = op_i == OP_ACK && session_known &&
                         ack_i.ack - peer_i.una <= peer_i.next - peer_i.una;
  // A peer that starts a session but knows ours has given up on us, not forgotten us. One that
  // knows an older one of ours will take the current one from its first frame, while that has SYN.
  assign forgotten     = ack_i.peer_session == '0 || (!session_known && peer_i.established);
  assign tries_left    = peer_i.retries < cfg_retry_limit_i;
  assign greets        = op_i == OP_TIMEOUT && greeting_i;
  assign time_out      = op_i == OP_TIMEOUT && !greeting_i && !peer_i.suspects;
  // One that is heard from is not dead, however slow.
  assign peer_dead     = time_out && !tries_left && !peer_i.heard;

  assign verdict_o = '{
    ack_good:     ack_good,
    ack_progress: ack_good && ack_i.ack != peer_i.una,
    time_out:     time_out,
    retry:        time_out && !peer_dead,
    peer_dead:    peer_dead,
    give_up:      peer_dead || (op_i == OP_RESTART && forgotten),
    greets:       greets,
    // A greeting goes out again until something comes from the node.
    greet_again:  greets && !known_i && tries_left
  };

endmodule
