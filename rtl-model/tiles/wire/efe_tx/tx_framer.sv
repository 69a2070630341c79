// SPDX-License-Identifier: BSD-2-Clause
// Streams one frame: Ethernet, EFE and DDP headers, then payload, one beat a cycle. The payload of
// a tagged segment starts on a beat; that of an untagged one is four bytes late.

module tx_framer
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
#(
  localparam int unsigned Words = TX_SLOTS * MTU_MAX / DATA_BYTES
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,

  stream_if.sink                   frame,

  output logic                     read_o,
  output logic [$clog2(Words)-1:0] read_word_o,
  input  data_t                    read_data_i,  // next cycle, and until the next read

  output logic                     busy_o,       // payload of this slot is being read
  output slot_t                    busy_slot_o,

  output logic                     tx_valid_o,
  input  logic                     tx_ready_i,
  output logic                     tx_sop_o,
  output logic                     tx_eop_o,
  output data_t                    tx_data_o,
  output beat_bytes_t              tx_bytes_o
);

  localparam int unsigned HeaderBeats = HEADER_TAGGED_BYTES / DATA_BYTES;
  localparam int unsigned OffsetBits = $clog2(DATA_BYTES);
  localparam int unsigned SlotWordBits = $clog2(MTU_MAX / DATA_BYTES);
  localparam int unsigned ShiftBits = 8 * (HEADER_UNTAGGED_BYTES - HEADER_TAGGED_BYTES);

  typedef logic [8*HEADER_UNTAGGED_BYTES-1:0] header_t;
  typedef logic [15:0] size_t;
  typedef logic [15-OffsetBits:0] beat_index_t;

  // First byte on the wire from the top to the bottom bits.
  function automatic header_t wire_order(header_t big_endian);
    header_t little;
    for (int unsigned b = 0; b < HEADER_UNTAGGED_BYTES; b++) begin
      little[8*b+:8] = big_endian[8*(HEADER_UNTAGGED_BYTES-1-b)+:8];
    end
    return little;
  endfunction

  function automatic logic [47:0] mac_of(node_id_t node);
    return {32'(MAC_PREFIX), node};
  endfunction

  logic [47:0] destination;
  always_comb begin
    destination = mac_of(node_id_t'(frame.data.desc.node));
    if (frame.data.efe.klass == EFE_CLASS_DATAGRAM) begin
      destination = is_group(frame.data.efe.dst_qpn) ?
          {32'(GROUP_MAC_PREFIX), frame.data.efe.dst_qpn[15:0]} : mac_of(node_id_t'(frame.data.desc.dest));
    end
  end

  logic active_q, sequenced_q, untagged_q, inlined_q;
  slot_t slot_q;
  header_t header_q;
  beat_index_t index_q, last_q;
  beat_bytes_t last_bytes_q;
  logic [SlotWordBits-1:0] word_q;
  inline_t inline_q;
  logic [ShiftBits-1:0] carry_q;

  logic load, take, in_payload;
  logic sequenced, has_segment;
  header_t header;
  size_t last_byte;
  data_t payload;

  assign take          = active_q && tx_ready_i;
  assign frame.ready = !active_q || (take && tx_eop_o);
  assign load          = frame.valid && frame.ready;
  assign sequenced     = frame.data.efe.flags[EFE_FLAGS_SEQ];
  assign has_segment   = frame.data.efe.length != '0;

  always_comb begin
    header = '0;
    last_byte = '0;
    if (load) begin
      header = wire_order({destination, mac_of(frame.data.efe.src_node), 16'(ETHERTYPE),
                           frame.data.efe, has_segment ? frame.data.desc.ddp : '0});
      last_byte = size_t'(ETH_BYTES + EFE_BYTES - 1) + frame.data.efe.length;
    end
  end

  assign in_payload  = index_q >= beat_index_t'(HeaderBeats);
  assign read_o      = load || (take && in_payload);
  assign read_word_o = load ? {frame.data.desc.slot, SlotWordBits'(0)} : {slot_q, word_q};
  assign payload     = inlined_q ? inline_q[DATA_W-1:0] : read_data_i;

  assign busy_o      = active_q && sequenced_q;
  assign busy_slot_o = slot_q;

  assign tx_valid_o = active_q;
  assign tx_sop_o   = index_q == '0;
  assign tx_eop_o   = index_q == last_q;
  assign tx_bytes_o = tx_eop_o ? last_bytes_q : beat_bytes_t'(DATA_BYTES);

  always_comb begin
    if (!in_payload) begin
      tx_data_o = header_q[index_q[$clog2(HeaderBeats)-1:0]*DATA_W+:DATA_W];
    end else if (untagged_q) begin
      tx_data_o = {payload[DATA_W-ShiftBits-1:0], carry_q};
    end else begin
      tx_data_o = payload;
    end
  end

  always_ff @(posedge clk_i) begin
    if (load) begin
      sequenced_q  <= sequenced;
      untagged_q   <= frame.data.desc.untagged;
      inlined_q    <= frame.data.desc.inlined;
      slot_q       <= frame.data.desc.slot;
      header_q     <= header;
      index_q      <= '0;
      last_q       <= last_byte[15:OffsetBits];
      last_bytes_q <= beat_bytes_t'(last_byte[OffsetBits-1:0]) + 1;
      word_q       <= SlotWordBits'(1);
      inline_q     <= frame.data.desc.inline_data;
      carry_q      <= header[8*HEADER_UNTAGGED_BYTES-1-:ShiftBits];
    end else if (take) begin
      index_q <= index_q + 1;
      if (in_payload) begin
        word_q   <= word_q + 1;
        inline_q <= inline_q >> DATA_W;
        carry_q  <= payload[DATA_W-1-:ShiftBits];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
    end else if (frame.ready) begin
      active_q <= frame.valid;
    end
  end

endmodule
