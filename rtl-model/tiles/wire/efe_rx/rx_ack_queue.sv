// SPDX-License-Identifier: BSD-2-Clause
// What the transmit side is to learn: peers that have restarted, and acknowledgements. One entry
// for each node, in which a later acknowledgement replaces an earlier one: so none is lost.

module rx_ack_queue
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        put_ack_i,
  input  logic        put_restart_i,  // the frame of the restart also brings put_i, if it has ACK
  input  rx_ack_t     put_i,

  output logic        restart_valid_o,
  input  logic        restart_ready_i,
  output node_t       restart_node_o,
  output logic [15:0] restart_known_o,

  output logic        ack_valid_o,    // after the restart of the same node
  input  logic        ack_ready_i,
  output rx_ack_t     ack_o,

  output logic        empty_o
);

  typedef struct packed {
    logic [15:0] peer_session;
    logic [31:0] ack;
    logic [7:0]  heard;
    logic        ece;
    logic        sack;
    logic [31:0] missing;
    logic [31:0] arrived;
  } entry_t;

  entry_t entries [MAX_NODE];
  logic [MAX_NODE-1:0] ack_q, restart_q;

  node_t node, head;
  logic head_valid, restart_taken, ack_taken, last_taken;
  entry_t old, now;
  logic overtaken;

  assign node = put_i.node;
  assign old  = entries[node];
  assign overtaken = signed'(put_i.ack - old.ack) < 0;  // on its way

  always_comb begin
    now = '{peer_session: put_i.peer_session, ack: put_i.ack, heard: put_i.heard, ece: put_i.ece,
            sack: put_i.sack, missing: put_i.missing, arrived: put_i.arrived};
    if (ack_q[node] && old.peer_session == put_i.peer_session) begin
      if (!put_i.sack) begin
        now.sack    = old.sack;
        now.missing = old.missing;
        now.arrived = old.arrived;
      end
      if (overtaken) now = old;
      now.ece = old.ece || put_i.ece;
    end
  end

  assign restart_valid_o = head_valid && restart_q[head];
  assign ack_valid_o     = head_valid && ack_q[head] && !restart_q[head];
  assign restart_node_o  = head;
  assign ack_o = '{node: head, peer_session: entries[head].peer_session,
                   ack: entries[head].ack, heard: entries[head].heard, ece: entries[head].ece,
                   sack: entries[head].sack, missing: entries[head].missing,
                   arrived: entries[head].arrived};

  assign restart_taken = restart_valid_o && restart_ready_i;
  assign ack_taken     = ack_valid_o && ack_ready_i;
  assign last_taken    = ack_taken || (restart_taken && !ack_q[head]);

  always_ff @(posedge clk_i) begin
    if (put_ack_i) entries[node] <= now;
  end

  // Two restarts at once: the peer cannot have known our session all the time.
  logic [15:0] known [1];
  assign restart_known_o = known[0];
  lut_ram_nr1w #(
    .WIDTH(16),
    .DEPTH(MAX_NODE)
  ) u_known (
    .clk_i,
    .write_i        (put_restart_i),
    .write_address_i(node),
    .write_data_i   (put_ack_i && !restart_q[node] ? put_i.peer_session : '0),
    .read_address_i ('{head}),
    .read_data_o    (known)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ack_q     <= '0;
      restart_q <= '0;
    end else begin
      if (ack_taken) ack_q[head] <= 1'b0;
      if (restart_taken) restart_q[head] <= 1'b0;
      if (put_ack_i) ack_q[node] <= 1'b1;
      if (put_restart_i) restart_q[node] <= 1'b1;
    end
  end

  /* verilator lint_off UNUSEDSIGNAL */  // the order matters here, not the set
  logic [MAX_NODE-1:0] pending;
  logic alone;
  /* verilator lint_on UNUSEDSIGNAL */

  node_queue u_queue (
    .clk_i,
    .rst_ni,
    .set_valid_i  (put_ack_i || put_restart_i),
    .set_node_i   (node),
    .clear_valid_i(last_taken),
    .clear_node_i (head),
    .rotate_i     (1'b0),
    .head_valid_o (head_valid),
    .head_node_o  (head),
    .alone_o      (alone),
    .empty_o,
    .pending_o    (pending)
  );

endmodule
