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

  input  node_t       cfg_node_i,

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
  efe_t efe_q;
  tx_desc_t desc_q;

  logic refuses;
  /* verilator lint_off UNUSEDSIGNAL */  // what the framer needs of it is in desc_q
  tx_desc_t segment;
  /* verilator lint_on UNUSEDSIGNAL */
  assign refuses = !send_i.data && !send_i.credit && rx_state_i.valid && rx_state_i.refusal != '0;
  assign segment = send_i.data ? desc_i : refusal_i.desc;

  assign frame.valid = valid_q;
  assign frame.data  = '{efe: efe_q, desc: desc_q};

  always_ff @(posedge clk_i) begin
    if (send_i.valid) begin
      efe_q                      <= '0;
      efe_q.version              <= 4'(EFE_VERSION);
      efe_q.klass                <= EFE_CLASS_RELIABLE;
      efe_q.flags[EFE_FLAGS_SEQ] <= send_i.data;
      efe_q.flags[EFE_FLAGS_SYN] <= send_i.syn;
      efe_q.src_node             <= 16'(cfg_node_i);
      efe_q.session              <= send_i.session;
      efe_q.seq                  <= send_i.seq;
      if (rx_state_i.valid) begin
        efe_q.flags[EFE_FLAGS_ACK] <= 1'b1;
        efe_q.flags[EFE_FLAGS_ECE] <= rx_state_i.ece;
        efe_q.peer_session         <= rx_state_i.session;
        efe_q.ack                  <= rx_state_i.ack;
        efe_q.heard                <= rx_state_i.heard_session == send_i.session ? rx_state_i.heard : '0;
      end
      if (send_i.data && desc_i.unreliable) begin
        efe_q                      <= '0;
        efe_q.version              <= 4'(EFE_VERSION);
        efe_q.klass                <= EFE_CLASS_UNRELIABLE;
        efe_q.flags[EFE_FLAGS_SEQ] <= 1'b1;
        efe_q.flags[EFE_FLAGS_SYN] <= desc_i.first;
        efe_q.src_node             <= 16'(cfg_node_i);
        efe_q.seq                  <= desc_i.number;
        if (desc_i.datagram) begin
          efe_q.klass                <= EFE_CLASS_DATAGRAM;
          efe_q.flags[EFE_FLAGS_SYN] <= 1'b0;
          efe_q.ack                  <= desc_i.qkey;
          efe_q.peer_session         <= desc_i.pkey;
        end
      end
      if (send_i.data || refuses) begin
        efe_q.length  <= 16'(segment.length) +
                         16'(segment.untagged ? DDP_UNTAGGED_BYTES : DDP_TAGGED_BYTES);
        efe_q.dst_qpn <= segment.dst_qpn;
        efe_q.src_qpn <= segment.src_qpn;
        efe_q.src_generation <= segment.src_generation;
        efe_q.dst_generation <= segment.dst_generation;
        desc_q        <= segment;
      end
      if (send_i.data) begin
        if (desc_i.ask) efe_q.credit <= 16'(CREDIT_ASK);
        if (desc_i.imm_valid) begin
          efe_q.flags[EFE_FLAGS_IMM] <= 1'b1;
          efe_q.sack_imm             <= desc_i.imm;
        end
      end else if (refuses) begin
        efe_q.refusal              <= rx_state_i.refusal;
        efe_q.seq                  <= rx_state_i.refused;
        efe_q.flags[EFE_FLAGS_RNR] <= refusal_i.rnr;
        efe_q.sack_imm             <= refusal_i.rnr ? 32'(refusal_i.pause) : '0;
      end else begin
        desc_q.node   <= node_i;
        if (send_i.credit) begin
          efe_q.credit  <= 16'(CREDIT_VALID) | 16'(credit_i.limit);
          efe_q.dst_qpn <= credit_i.dst_qpn;
          efe_q.src_qpn <= credit_i.src_qpn;
          efe_q.src_generation <= credit_i.src_generation;
          efe_q.dst_generation <= credit_i.dst_generation;
        end
        if (sack_i && rx_state_i.sack) begin
          efe_q.flags[EFE_FLAGS_SACK] <= 1'b1;
          efe_q.seq                   <= rx_state_i.missing;
          efe_q.sack_imm              <= rx_state_i.arrived;
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
