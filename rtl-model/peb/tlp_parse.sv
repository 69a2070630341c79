// SPDX-License-Identifier: BSD-2-Clause
// What a peer's message says, if it is one that a PEB would send. Combinational.

module tlp_parse
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import peb_pkg::*;
(
    input  rx_desc_t    desc_i,
    input  logic [15:0] node_i,  // ours
    output peb_t        limits_o,
    output logic        empty_o,  // it has no TLP
    output logic        good_o,   // it has a good one
    output tlp_item_t   tlp_o
);

  localparam int unsigned Begin = DDP_UNTAGGED_BYTES + PEB_BYTES;
  localparam int unsigned HeaderBits = 8 * (TLP_BYTES + TLP_ADDRESS_64_BYTES);
  localparam int unsigned DdpBits = $bits(ddp_head_t);

  logic [HeaderBits-1:0] bytes;
  assign bytes = desc_i.ddp[DdpBits-1-8*Begin-:HeaderBits];
  assign limits_o = desc_i.ddp[DdpBits-1-8*DDP_UNTAGGED_BYTES-:8*PEB_BYTES];
  assign empty_o = desc_i.length == 16'(Begin);

  tlp_t request;
  tlp_completion_t completion;
  tlp_register_t place;
  assign request = bytes[HeaderBits-1-:8*TLP_BYTES];
  assign completion = bytes[HeaderBits-1-:8*TLP_COMPLETION_BYTES];
  assign place = bytes[HeaderBits-1-8*TLP_BYTES-:32];

  // ---- The range of a request, by its byte enables
  function automatic logic [1:0] first_bit(logic [3:0] mask);
    for (int unsigned bit_number = 0; bit_number < 3; bit_number++)
      if (mask[bit_number]) return 2'(bit_number);
    return 2'd3;
  endfunction
  function automatic logic [1:0] last_bit(logic [3:0] mask);
    for (int unsigned bit_number = 3; bit_number > 0; bit_number--)
      if (mask[bit_number]) return 2'(bit_number);
    return 2'd0;
  endfunction
  logic [10:0] dws;
  logic [1:0] first, last;
  chunk_t range;
  assign dws = request.length == '0 ? 11'd1024 : 11'(request.length);
  assign first = first_bit(request.first_be);
  assign last = last_bit(dws == 11'd1 ? request.first_be : request.last_be);
  assign range = chunk_t'({dws - 11'd1, 2'b00}) + 13'(last) + 13'd1 - 13'(first);

  logic known, wide;
  logic [63:0] address;
  always_comb begin
    wide = request.kind inside {TLP_TYPE_READ_64, TLP_TYPE_WRITE_64};
    address = wide ? bytes[HeaderBits-1-8*TLP_BYTES-:64] : 64'(bytes[HeaderBits-1-8*TLP_BYTES-:32]);
    if (request.kind inside {TLP_TYPE_CONFIG_READ, TLP_TYPE_CONFIG_WRITE}) address = 64'(place.place);
  end

  // ---- What it is
  logic [15:0] behind;  // bytes behind the header of a completion
  assign behind = desc_i.length - 16'(Begin + TLP_COMPLETION_BYTES);
  chunk_t left;
  logic [15:0] completed;
  assign left = completion.byte_count == '0 ? chunk_t'(PEB_REQUEST_MAX) : chunk_t'(completion.byte_count);
  assign completed = behind - 16'(completion.lower_address[1:0]);

  always_comb begin
    tlp_o = '0;
    known = 1'b1;
    tlp_o.address = address | 64'(first);
    tlp_o.length = range;
    tlp_o.tag = request.tag;
    unique case (request.kind)
      TLP_TYPE_WRITE, TLP_TYPE_WRITE_64: begin
        tlp_o.kind = PEB_BUS_WRITE;
        tlp_o.tag = '0;
        tlp_o.data = 1'b1;
      end
      TLP_TYPE_READ, TLP_TYPE_READ_64: tlp_o.kind = PEB_BUS_READ;
      TLP_TYPE_CONFIG_READ: tlp_o.kind = PEB_BUS_CONFIG_READ;
      TLP_TYPE_CONFIG_WRITE: begin
        tlp_o.kind = PEB_BUS_CONFIG_WRITE;
        tlp_o.data = 1'b1;
      end
      TLP_TYPE_COMPLETION, TLP_TYPE_COMPLETION_DATA: begin
        tlp_o.kind = PEB_BUS_COMPLETION;
        tlp_o.address = 64'(completion.lower_address);
        tlp_o.data = request.kind == TLP_TYPE_COMPLETION_DATA;
        tlp_o.length = completed < 16'(left) ? chunk_t'(completed) : left;
        if (!tlp_o.data) tlp_o.length = '0;
        tlp_o.tag = completion.tag;
        tlp_o.status = completion_status_e'(completion.status);
        tlp_o.left = left;
      end
      default: known = 1'b0;
    endcase
  end

  // ---- The same bits, and no more bytes, than what says so has
  logic [HeaderBits-1:0] anew, mask;
  tlp_header u_header (
      .tlp_i(tlp_o),
      .from_i(16'(desc_i.node)),
      .to_i(node_i),
      .header_o(anew)
  );
  logic [4:0] header;
  logic [15:0] data, size;
  logic whole, fits;
  assign header = head_bytes(tlp_o) - 5'(PEB_BYTES);
  assign mask = ~({HeaderBits{1'b1}} >> (8 * header));
  assign data = tlp_o.data ? 16'(dws_of(tlp_o.address, tlp_o.length)) << 2 : '0;
  assign size = desc_i.length - 16'(Begin);
  // A read, or a write, crosses no boundary of PEB_REQUEST_MAX.
  assign fits = 14'(tlp_o.address[11:0]) + 14'(tlp_o.length) <= 14'(PEB_REQUEST_MAX);
  assign whole = desc_i.length >= 16'(Begin + TLP_BYTES + TLP_ADDRESS_BYTES) && size == 16'(header) + data;
  assign good_o = known && whole && fits && data <= 16'(PEB_PAYLOAD_MAX) + 16'd4 &&
      !(tlp_o.data && tlp_o.length == '0) &&
      !(tlp_o.kind inside {PEB_BUS_CONFIG_READ, PEB_BUS_CONFIG_WRITE} && request.length != 10'd1) && ((bytes ^ anew) & mask) == '0 &&
      !(tlp_o.kind == PEB_BUS_COMPLETION && tlp_o.data && completed[15]);

endmodule
