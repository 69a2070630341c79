// SPDX-License-Identifier: BSD-2-Clause
// Walks over a work request, word by word: its header, its elements or inline data.
// Says whether the core can execute it.

module wqe_check
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import requester_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,

    input  logic         start_i,       // also in the middle of another one, which is dropped
    input  logic         slots_only_i,  // no more than slots_o and incomplete_o are wanted
    input  word_index_t  first_word_i,  // with start_i
    // These two from the second cycle on, until done_o.
    input  wqe_slots_t  there_i,       // slots that can be read from its first one on
    input  wqe_index_t   posted_i,      // and slots posted
    input  reads_t       max_reads_i,   // of a PULL
    input  service_e     service_i,     // of its queue pair: not all of them carry everything
    input  logic         has_windows_i,  // its send queue is theirs: nothing may be posted
    input  chunk_t       mtu_i,         // most that one of UD sends
    output word_index_t  word_index_o,
    input  sge_t         word_i,        // one cycle later

    output logic        done_o,        // pulse; what follows stays until the next start
    output cqe_status_e status_o,
    output logic        incomplete_o,  // it goes on behind those,
    output wqe_slots_t needed_o,      // as it needs so many
    output slots_t      slots_o,       // that it takes, at least 1
    /* verilator lint_off UNUSEDSIGNAL */
    output wqe_t        wqe_o,
    /* verilator lint_on UNUSEDSIGNAL */
    output inline_t     inline_o,
    output reads_t      reads_o        // RDMA Read Requests for it, at least 1
);

  localparam int unsigned WordBits = $bits(sge_t);
  localparam int unsigned FirstSlotInline = WQE_SGES * SGE_BYTES;

  typedef enum logic [2:0] { StIdle, StHead, StTail, StElements, StDone } state_e;
  state_e state_q;

  word_index_t at_q;
  wqe_t wqe_q;
  logic [2*WordBits-1:0] more_q;  // inline data behind the first slot
  sges_t element_q;
  logic [35:0] sum_q;  // MAX_SGE elements of 32 bits
  sges_t nonempty_q;

  // ---- Judged by the header
  /* verilator lint_off UNUSEDSIGNAL */  // some properties count
  wqe_opcode_properties_t op;
  /* verilator lint_on UNUSEDSIGNAL */
  logic is_inline;
  assign op = of_wqe_opcode(wqe_q.opcode);
  assign is_inline = wqe_q.flags[WQE_FLAGS_INLINE];

  localparam logic [7:0] Flags = 8'd1 << WQE_FLAGS_SIGNALED | 8'd1 << WQE_FLAGS_FENCE |
      8'd1 << WQE_FLAGS_SOLICITED | 8'd1 << WQE_FLAGS_INLINE;
  localparam logic [31:0] AccessFlags = (32'd1 << ACCESS_BITS) - 1;
  logic flags_right, elements_right, well_formed;
  assign flags_right = (wqe_q.flags & ~Flags) == '0 &&
      (!wqe_q.flags[WQE_FLAGS_SOLICITED] || op.receive) && (!is_inline || op.inlines);
  assign elements_right = is_inline ? wqe_q.num_sge == '0 && wqe_q.length <= 32'(INLINE_MAX) :
      op.stays ? wqe_q.num_sge == '0 && wqe_q.length == '0 :
      op.atomic ? wqe_q.num_sge == 8'd1 :
      wqe_q.num_sge <= 8'(MAX_SGE);

  logic [7:0] slots_needed;
  always_comb begin
    if (is_inline) slots_needed = wqe_q.length <= 32'(FirstSlotInline) ? 8'd1 : 8'd2;
    else if (wqe_q.num_sge <= 8'(WQE_SGES)) slots_needed = 8'd1;
    else
      slots_needed = 8'd1 +
          (wqe_q.num_sge - 8'(WQE_SGES) + 8'(WQE_SLOT_SGES - 1)) / 8'(WQE_SLOT_SGES);
  end

  logic slots_sane;
  assign slots_sane = wqe_q.num_slots != '0 && wqe_q.num_slots <= 8'(WQE_SLOTS_MAX) &&
      wqe_index_t'(wqe_q.num_slots) <= posted_i;
  assign slots_o = slots_sane && !incomplete_o ? slots_t'(wqe_q.num_slots) : slots_t'(1);
  assign incomplete_o = slots_sane && wqe_q.num_slots > 8'(there_i);
  assign needed_o = wqe_slots_t'(wqe_q.num_slots);

  assign well_formed = op.posted && flags_right && elements_right && slots_sane &&
      wqe_q.num_slots == slots_needed && !incomplete_o &&
      (op.imm || op.invalidates || op.registers || wqe_q.imm_data == '0);

  // What a region or a memory window is to become.
  logic [64:0] region_end;
  logic list_right, region_right;
  assign region_end = {1'b0, wqe_q.remote_to} + {1'b0, wqe_q.sge0_address};
  always_comb begin
    if (op.binds)
      list_right = wqe_q.sge0_length == '0 && wqe_q.sge1_address == '0 &&
          (wqe_q.remote_stag & ~32'(REMOTE_RIGHTS)) == '0;
    else
      list_right = wqe_q.sge0_length inside {PAGE_SHIFT, HUGE_PAGE_SHIFT} && wqe_q.sge0_stag == '0 &&
          wqe_q.sge1_address[$clog2(PBL_LINE_SIZE)-1:0] == '0 &&
          (wqe_q.remote_stag & ~AccessFlags) == '0;
  end
  assign region_right = wqe_q.sge0_address != '0 && region_end <= {1'b1, 64'd0} && list_right &&
      wqe_q.sge1_length == '0 && wqe_q.sge1_stag == '0;

  // A datagram's: a queue pair, or a group.
  logic [31:0] to_node, to_qpn;
  logic destination_right;
  assign to_node = 32'(wqe_q.remote_to >> DATAGRAM_NODE_SHIFT);
  assign to_qpn  = wqe_q.remote_to[31:0];
  assign destination_right = to_qpn[31:24] == '0 && (is_group(to_qpn[23:0]) ? to_node == '0 :
      to_node < N_NODE);

  // ---- Judged by the elements
  logic reads_right;
  assign reads_o = nonempty_q == '0 ? reads_t'(1) : reads_t'(nonempty_q);
  assign reads_right = !op.pull || reads_o <= max_reads_i;
  logic service_right, too_long;
  always_comb begin
    unique case (service_i)
      SERVICE_UD: service_right = op.ud && (op.stays || destination_right);
      SERVICE_UC: service_right = op.uc;
      default: service_right = 1'b1;
    endcase
  end
  assign too_long = wqe_q.length > (service_i == SERVICE_UD ? 32'(mtu_i) : 32'(MESSAGE_MAX));
  always_comb begin
    if (!well_formed || !reads_right || !service_right || has_windows_i || (op.registers && !region_right))
      status_o = CQE_STATUS_LOC_QP_OP_ERR;
    else if (too_long || (!is_inline && (sum_q != 36'(wqe_q.length) ||
                            (op.atomic && wqe_q.length != 32'(ATOMIC_BYTES)))))
      status_o = CQE_STATUS_LOC_LEN_ERR;
    else status_o = CQE_STATUS_SUCCESS;
  end

  // ---- The walk
  sges_t words;
  logic last_word;
  // The operands of an atomic stand where a second element would, and what a region becomes in both.
  assign words = is_inline ? sges_t'((wqe_q.length + 32'(SGE_BYTES - 1)) / SGE_BYTES) :
      op.atomic || op.registers ? sges_t'(WQE_SGES) : sges_t'(wqe_q.num_sge);
  assign last_word = !well_formed || element_q + 1'b1 >= words;
  assign word_index_o = start_i ? first_word_i : at_q;
  assign done_o = state_q == StDone;
  assign wqe_o = wqe_q;
  assign inline_o = {more_q, wqe_q[$bits(wqe_t)-1-:2*WordBits]};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else if (start_i) begin
      state_q <= StHead;
    end else begin
      unique case (state_q)
        StHead: state_q <= StTail;
        StTail: state_q <= slots_only_i ? StDone : StElements;
        StElements: if (last_word) state_q <= StDone;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    at_q <= word_index_o + 1'b1;
    unique case (state_q)
      StHead: begin
        wqe_q[0+:WordBits] <= there_i == '0 ? '0 : word_i;
        element_q  <= '0;
        sum_q      <= '0;
        nonempty_q <= '0;
      end
      StTail: wqe_q[WordBits+:WordBits] <= there_i == '0 ? '0 : word_i;
      StElements:
      if (words != '0) begin
        element_q <= element_q + 1'b1;
        if (element_q < sges_t'(WQE_SGES))
          wqe_q[WordBits*(2+32'(element_q[0]))+:WordBits] <= word_i;
        else if (element_q < sges_t'(2 * WQE_SGES))
          more_q[WordBits*32'(element_q[0])+:WordBits] <= word_i;
        if (!is_inline && !op.registers && (!op.atomic || element_q == '0)) begin
          sum_q <= sum_q + 36'(word_i.length);
          if (word_i.length != '0) nonempty_q <= nonempty_q + 1'b1;
        end
      end
      default: ;
    endcase
  end

endmodule
