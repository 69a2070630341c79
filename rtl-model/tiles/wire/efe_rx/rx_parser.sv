// SPDX-License-Identifier: BSD-2-Clause
// Collects the headers and the size of a frame, and judges them in the cycle after its last beat.

module rx_parser
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_rx_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,

  input  node_t        cfg_node_i,
  input  logic         enable_i,

  input  logic         rx_valid_i,
  input  logic         rx_sop_i,
  input  logic         rx_eop_i,
  input  data_t        rx_data_i,
  input  beat_bytes_t  rx_bytes_i,
  input  logic         rx_error_i,
  input  logic         rx_looped_i,  // it is this node's own, and comes from no line

  output logic         store_o,        // this beat has bytes of the segment
  output logic         store_first_o,

  output logic         ends_o,         // its last beat: it is judged in the next cycle
  output logic         check_o,
  output verdict_e     verdict_o,
  output efe_t         efe_o,          // src_node of a good frame with ends_o already
  output ddp_head_t    ddp_o,          // first bytes of the segment
  output logic         busy_o
);

  // They fill whole beats, whatever the width of the data path.
  typedef struct packed {
    eth_t      eth;
    efe_t      efe;
    ddp_head_t ddp;
  } head_t;

  localparam int unsigned HeaderBytes = ETH_BYTES + EFE_BYTES;
  localparam int unsigned HeadBeats = $bits(head_t) / DATA_W;
  localparam int unsigned SkipBeats = HeaderBytes / DATA_BYTES;
  localparam int unsigned SegmentMax = MTU_MAX + DDP_UNTAGGED_BYTES;
  localparam int unsigned SizeLimit = HeaderBytes + SegmentMax + DATA_BYTES;

  typedef logic [$clog2(HeadBeats+1)-1:0] beat_t;
  typedef logic [$clog2(SizeLimit+1)-1:0] size_t;

  function automatic data_t swap(data_t data);
    data_t swapped;
    for (int unsigned b = 0; b < DATA_BYTES; b++) begin
      swapped[8*b+:8] = data[8*(DATA_BYTES-1-b)+:8];
    end
    return swapped;
  endfunction

  data_t [HeadBeats-1:0] head_q;  // first beat on top
  beat_t beat, beat_q;            // stops at HeadBeats
  size_t size, size_q;            // stops above every good size
  logic take, in_frame_q, check_q, error_q, looped_q, enabled_q;

  assign take = rx_valid_i && (rx_sop_i || in_frame_q);
  assign beat = rx_sop_i ? '0 : beat_q;
  assign size = rx_sop_i ? '0 : size_q;

  assign store_o       = take && beat >= beat_t'(SkipBeats);
  assign store_first_o = take && rx_sop_i;
  assign ends_o        = take && rx_eop_i;

  always_ff @(posedge clk_i) begin
    if (take) begin
      for (int unsigned b = 0; b < HeadBeats; b++) begin
        if (beat == beat_t'(b)) head_q[HeadBeats-1-b] <= swap(rx_data_i);
      end
      if (beat != beat_t'(HeadBeats)) beat_q <= beat + 1;
      else beat_q <= beat;
      if (size <= size_t'(HeaderBytes + SegmentMax)) begin
        size_q <= size + (rx_eop_i ? size_t'(rx_bytes_i) : size_t'(DATA_BYTES));
      end else begin
        size_q <= size;
      end
      error_q   <= rx_error_i;
      looped_q  <= rx_looped_i;
      enabled_q <= enable_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_frame_q <= 1'b0;
      check_q    <= 1'b0;
    end else begin
      check_q <= ends_o;
      if (take) in_frame_q <= !rx_eop_i;
    end
  end

  // ---- Verdict

  head_t head;
  eth_t eth;
  efe_t efe;
  logic sequenced, flags_good, class_good, fields_good, length_good, size_good, addressed;
  logic sender_good, once_good, to_group, credit_good, generations_good;
  logic refuses, terminates;
  size_t size_wanted;
  /* verilator lint_off UNUSEDSIGNAL */  // T and the opcode tell what it is
  ddp_untagged_t untagged;
  /* verilator lint_on UNUSEDSIGNAL */

  assign head = head_q;
  assign eth  = head.eth;
  assign efe  = head.efe;
  assign untagged = head.ddp[$bits(ddp_head_t)-1-:$bits(ddp_untagged_t)];
  assign terminates = !untagged.t && untagged.opcode == RDMAP_OPCODE_TERMINATE;

  always_comb begin
    {sequenced, flags_good, class_good, fields_good} = '0;
    {length_good, size_good, addressed, sender_good, once_good, to_group, credit_good} = '0;
    {generations_good, refuses} = '0;
    size_wanted = '0;
    if (check_q) begin
      sequenced = efe.flags[EFE_FLAGS_SEQ];
      refuses = efe.refusal != '0;
      flags_good = (!efe.flags[EFE_FLAGS_IMM] || sequenced) &&
                   (!efe.flags[EFE_FLAGS_RNR] || refuses) &&
                   (!efe.flags[EFE_FLAGS_ECE] || efe.flags[EFE_FLAGS_ACK]) &&
                   (!efe.flags[EFE_FLAGS_SACK] || (efe.flags[EFE_FLAGS_ACK] && !sequenced));
      once_good = sequenced && !efe.flags[EFE_FLAGS_ACK] && !efe.flags[EFE_FLAGS_RNR] &&
                  efe.session == '0 && !refuses;
      case (efe.klass)
        EFE_CLASS_RELIABLE: class_good = efe.session != '0;
        EFE_CLASS_UNRELIABLE: class_good = once_good && efe.peer_session == '0 && efe.ack == '0;
        EFE_CLASS_DATAGRAM: class_good = once_good && !efe.flags[EFE_FLAGS_SYN];
        default: class_good = 1'b0;
      endcase
      if (efe.klass == EFE_CLASS_RELIABLE && efe.credit != '0)
        credit_good = sequenced ? efe.credit == 16'(CREDIT_ASK) :
            efe.flags[EFE_FLAGS_ACK] && (efe.credit & 16'(CREDIT_VALID)) != '0;
      else credit_good = efe.credit == '0;
      generations_good = (efe.src_generation == '0 && efe.dst_generation == '0) ||
          (efe.klass != EFE_CLASS_DATAGRAM && (sequenced || refuses || efe.credit != '0));
      to_group = efe.klass == EFE_CLASS_DATAGRAM && is_group(efe.dst_qpn);
      fields_good = eth.ethertype == 16'(ETHERTYPE) && efe.version == 4'(EFE_VERSION) &&
                    class_good && flags_good && credit_good && generations_good && (efe.flags[EFE_FLAGS_ACK] || efe.heard == '0) &&
                    (efe.flags[EFE_FLAGS_IMM] || efe.flags[EFE_FLAGS_SACK] ||
                     efe.sack_imm <= (efe.flags[EFE_FLAGS_RNR] ? 32'(RNR_TIMER_MAX) : '0)) &&
                    (!refuses || (efe.flags[EFE_FLAGS_ACK] && !sequenced && terminates &&
                                  !efe.flags[EFE_FLAGS_SACK] && efe.credit == '0));
      if (!sequenced && !refuses) begin
        length_good = efe.length == '0;
      end else begin
        // The T bit tells which DDP header it is.
        length_good = efe.length <= 16'(SegmentMax) &&
                      efe.length >= 16'(head.ddp[$bits(ddp_head_t)-1] ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES);
      end
      size_wanted = size_t'(HeaderBytes) + size_t'(efe.length);
      if (size_wanted < size_t'(ETH_FRAME_MIN)) size_wanted = size_t'(ETH_FRAME_MIN);
      size_good = size_q == size_wanted;
      addressed = eth.dst == (to_group ? {32'(GROUP_MAC_PREFIX), efe.dst_qpn[15:0]} :
                                         {32'(MAC_PREFIX), 16'(cfg_node_i)});
      sender_good = eth.src == {32'(MAC_PREFIX), efe.src_node} &&
                    efe.src_node < 16'(N_NODE) && looped_q == (efe.src_node == 16'(cfg_node_i));
    end
  end

  always_comb begin
    verdict_o = VERDICT_GOOD;
    if (!enabled_q) begin
      verdict_o = VERDICT_DISABLED;
    end else if (error_q) begin
      verdict_o = VERDICT_FCS;
    end else if (!fields_good || !length_good || !size_good) begin
      verdict_o = VERDICT_MALFORMED;
    end else if (!addressed || !sender_good) begin
      verdict_o = VERDICT_MISDIRECTED;
    end
  end

  assign check_o = check_q;
  assign efe_o   = efe;
  assign ddp_o   = head.ddp;
  assign busy_o  = in_frame_q || check_q;

endmodule
