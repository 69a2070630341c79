// SPDX-License-Identifier: BSD-2-Clause
// What the completer is told of a receive or a PULL that has ended. Combinational.

module message_end
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input qpn_t        qpn_i,
    input generation_t generation_i,
    input cqe_status_e status_i,

    // A PULL, or else a receive, by its last slot; or nothing at all.
    input logic       emptied_i,
    input logic       drained_i,
    input logic       is_pull_i,
    /* verilator lint_off UNUSEDSIGNAL */  // parts of the records say how it ends
    input pull_t      pull_i,
    input stream_t    stream_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input wqe_index_t wqe_index_i,
    input logic [31:0] left_free_i,  // bytes of it before the message

    // Its last segment, with SUCCESS.
    /* verilator lint_off UNUSEDSIGNAL */
    input segment_t    segment_i,
    input rx_desc_t    desc_i,
    /* verilator lint_on UNUSEDSIGNAL */

    output rx_done_t done_o
);

  /* verilator lint_off UNUSEDSIGNAL */
  ddp_untagged_t untagged;
  immediate_t immediate;
  /* verilator lint_on UNUSEDSIGNAL */
  assign untagged  = desc_i.ddp[$bits(ddp_head_t)-1-:$bits(ddp_untagged_t)];
  assign immediate = desc_i.ddp[PayloadTop-:$bits(immediate_t)];

  always_comb begin
    done_o = '0;
    done_o.qpn = qpn_i;
    done_o.generation = generation_i;
    done_o.status = status_i;
    done_o.emptied = emptied_i;
    done_o.drained = drained_i;
    if (is_pull_i) begin
      done_o.opcode      = pull_i.opcode;
      done_o.wqe_index   = pull_i.wqe_index;
      done_o.byte_length = pull_i.byte_length;
      done_o.signaled    = pull_i.signaled;
    end else begin
      done_o.opcode    = WQE_OPCODE_RECV;
      done_o.wqe_index = wqe_index_i;
      done_o.signaled  = 1'b1;
    end
    if (!is_pull_i && status_i == CQE_STATUS_SUCCESS) begin
      done_o.byte_length = left_free_i + stream_i.received + 32'(segment_i.payload);
      done_o.flags[CQE_FLAGS_SOLICITED] = segment_i.solicited;
      if (segment_i.message == MESSAGE_IMMEDIATE) begin
        done_o.byte_length = stream_i.written;
        done_o.imm_data = immediate.data;
        done_o.flags[CQE_FLAGS_IMM] = 1'b1;
        done_o.flags[CQE_FLAGS_WRITTEN] = 1'b1;
      end else if (segment_i.invalidates) begin
        done_o.imm_data = untagged.invalidate_stag;
        done_o.flags[CQE_FLAGS_INVALIDATED] = 1'b1;
      end else if (desc_i.imm_valid) begin
        done_o.imm_data = desc_i.imm;
        done_o.flags[CQE_FLAGS_IMM] = 1'b1;
      end
      if (desc_i.datagram) begin
        done_o.sender = 32'(desc_i.node) << SENDER_NODE_SHIFT | 32'(desc_i.src_qpn[SENDER_NODE_SHIFT-1:0]);
        done_o.flags[CQE_FLAGS_SENDER] = 1'b1;
        done_o.group = desc_i.group;
        done_o.flags[CQE_FLAGS_GROUP] = desc_i.to_group;
      end
    end
  end

endmodule
