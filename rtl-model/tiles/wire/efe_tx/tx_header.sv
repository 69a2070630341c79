// SPDX-License-Identifier: BSD-2-Clause
// Holds the next frame for the framer: its descriptor and its EFE header.

`include "exrnic_assert.svh"

module tx_header
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  node_id_t    cfg_node_i,

  input  send_t       send_i,       // only while no frame is held
  input  node_t       node_i,
  input  logic        sack_i,       // tell what is held
  input  rx_state_t   rx_state_i,
  input  tx_desc_t    desc_i,
  /* verilator lint_off UNUSEDSIGNAL */  // whose node is node_i
  input  credit_update_t credit_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  telling_t    refusal_i,    // while one is in force, and there is nothing else to tell

  stream_if.source    frame
);

  logic valid_q;
  frame_t frame_q;

  logic refuses;
  /* verilator lint_off UNUSEDSIGNAL */  // what the framer needs of it is in frame_q.desc
  tx_desc_t segment;
  /* verilator lint_on UNUSEDSIGNAL */
  assign refuses = !send_i.data && !send_i.credit && rx_state_i.valid && rx_state_i.refusal != '0;
  assign segment = send_i.data ? desc_i : refusal_i.desc;

  assign frame.valid = valid_q;
  assign frame.data  = frame_q;

  always_ff @(posedge clk_i) begin
    if (send_i.valid) begin
      frame_q.efe                      <= '0;
      frame_q.efe.version              <= 4'(EFE_VERSION);
      frame_q.efe.klass                <= EFE_CLASS_RELIABLE;
      frame_q.efe.flags[EFE_FLAGS_SEQ] <= send_i.data;
      frame_q.efe.flags[EFE_FLAGS_SYN] <= send_i.syn;
      frame_q.efe.src_node             <= cfg_node_i;
      frame_q.efe.session              <= send_i.session;
      frame_q.efe.seq                  <= send_i.seq;
      if (rx_state_i.valid) begin
        frame_q.efe.flags[EFE_FLAGS_ACK] <= 1'b1;
        frame_q.efe.flags[EFE_FLAGS_ECE] <= rx_state_i.ece;
        frame_q.efe.peer_session         <= rx_state_i.session;
        frame_q.efe.ack                  <= rx_state_i.ack;
        frame_q.efe.heard                <= rx_state_i.heard_session == send_i.session ?
                                            rx_state_i.heard : '0;
      end
      if (send_i.data && desc_i.unreliable) begin
        frame_q.efe                      <= '0;
        frame_q.efe.version              <= 4'(EFE_VERSION);
        frame_q.efe.klass                <= EFE_CLASS_UNRELIABLE;
        frame_q.efe.flags[EFE_FLAGS_SEQ] <= 1'b1;
        frame_q.efe.flags[EFE_FLAGS_SYN] <= desc_i.first;
        frame_q.efe.src_node             <= cfg_node_i;
        frame_q.efe.seq                  <= desc_i.number;
        if (desc_i.datagram) begin
          frame_q.efe.klass                <= EFE_CLASS_DATAGRAM;
          frame_q.efe.flags[EFE_FLAGS_SYN] <= 1'b0;
          frame_q.efe.ack                  <= desc_i.qkey;
          frame_q.efe.peer_session         <= desc_i.pkey;
        end
      end
      if (send_i.data || refuses) begin
        frame_q.efe.length  <= 16'(segment.length) +
                         16'(segment.untagged ? DDP_UNTAGGED_BYTES : DDP_TAGGED_BYTES);
        frame_q.efe.dst_qpn <= segment.dst_qpn;
        frame_q.efe.src_qpn <= segment.src_qpn;
        frame_q.efe.src_generation <= segment.src_generation;
        frame_q.efe.dst_generation <= segment.dst_generation;
        frame_q.desc        <= segment;
      end
      if (send_i.data) begin
        if (desc_i.ask) frame_q.efe.credit <= 16'(CREDIT_ASK);
        if (desc_i.imm_valid) begin
          frame_q.efe.flags[EFE_FLAGS_IMM] <= 1'b1;
          frame_q.efe.sack_imm             <= desc_i.imm;
        end
      end else if (refuses) begin
        frame_q.efe.refusal              <= rx_state_i.refusal;
        frame_q.efe.seq                  <= rx_state_i.refused;
        frame_q.efe.flags[EFE_FLAGS_RNR] <= refusal_i.rnr;
        frame_q.efe.sack_imm             <= refusal_i.rnr ? 32'(refusal_i.pause) : '0;
      end else begin
        frame_q.desc.node   <= node_i;
        if (send_i.credit) begin
          frame_q.efe.credit  <= 16'(CREDIT_VALID) | 16'(credit_i.limit);
          frame_q.efe.dst_qpn <= credit_i.dst_qpn;
          frame_q.efe.src_qpn <= credit_i.src_qpn;
          frame_q.efe.src_generation <= credit_i.src_generation;
          frame_q.efe.dst_generation <= credit_i.dst_generation;
        end
        if (sack_i && rx_state_i.sack) begin
          frame_q.efe.flags[EFE_FLAGS_SACK] <= 1'b1;
          frame_q.efe.seq                   <= rx_state_i.missing;
          frame_q.efe.sack_imm              <= rx_state_i.arrived;
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
    end else if (send_i.valid) begin
      valid_q <= 1'b1;
    end else if (frame.ready) begin
      valid_q <= 1'b0;
    end
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(holds_one, !send_i.valid || !valid_q)

endmodule
