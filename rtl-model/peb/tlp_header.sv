// SPDX-License-Identifier: BSD-2-Clause
// The header of a TLP, bit for bit as PCIe has it (2.2), from what it says. Combinational. Who sends one
// takes it; who gets one makes it anew, and compares.

module tlp_header
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import peb_pkg::*;
(
    input  tlp_item_t   tlp_i,
    input  logic [15:0] from_i,  // node identifiers
    input  logic [15:0] to_i,
    output logic [8*(TLP_BYTES+TLP_ADDRESS_64_BYTES)-1:0] header_o  // first byte in the top bits
);

  logic [10:0] dws;
  logic [ 1:0] offset;
  logic [3:0] first, last;
  assign dws = dws_of(tlp_i.address, tlp_i.length);
  assign offset = dw_offset(tlp_i.address);
  assign first = 4'hf << offset;
  assign last = 4'hf >> (2'd0 - 2'(tlp_i.length) - offset);

  tlp_t request;
  always_comb begin
    request = '0;
    request.length = dws[9:0];
    request.requester = from_i;
    request.tag = tlp_i.tag;
    request.first_be = dws == 11'd1 ? first & last : first;
    request.last_be = dws == 11'd1 ? '0 : last;
    unique case (tlp_i.kind)
      PEB_BUS_WRITE: request.kind = tlp_i.address[63:32] == '0 ? TLP_TYPE_WRITE : TLP_TYPE_WRITE_64;
      PEB_BUS_READ: request.kind = tlp_i.address[63:32] == '0 ? TLP_TYPE_READ : TLP_TYPE_READ_64;
      PEB_BUS_CONFIG_READ: request.kind = TLP_TYPE_CONFIG_READ;
      default: request.kind = TLP_TYPE_CONFIG_WRITE;
    endcase
  end

  tlp_completion_t completion;
  always_comb begin
    completion = '0;
    completion.kind = tlp_i.data ? TLP_TYPE_COMPLETION_DATA : TLP_TYPE_COMPLETION;
    completion.length = tlp_i.data ? dws[9:0] : '0;
    completion.completer = from_i;
    completion.status = tlp_i.status;
    completion.byte_count = tlp_i.left[11:0];
    completion.requester = to_i;
    completion.tag = tlp_i.tag;
    completion.lower_address = tlp_i.address[6:0];
  end

  tlp_register_t place;
  assign place = '{rsvd_0: '0, place: {tlp_i.address[11:2], 2'b00}};
  logic [63:0] aligned;
  assign aligned = {tlp_i.address[63:2], 2'b00};
  localparam int unsigned Bits = $bits(header_o);

  always_comb begin
    header_o = '0;
    unique case (tlp_i.kind)
      PEB_BUS_WRITE, PEB_BUS_READ: begin
        header_o[Bits-1-:8*TLP_BYTES] = request;
        if (tlp_i.address[63:32] == '0) header_o[Bits-1-8*TLP_BYTES-:32] = aligned[31:0];
        else header_o[Bits-1-8*TLP_BYTES-:64] = aligned;
      end
      PEB_BUS_COMPLETION: header_o[Bits-1-:8*TLP_COMPLETION_BYTES] = completion;
      default: begin
        header_o[Bits-1-:8*TLP_BYTES] = request;
        header_o[Bits-1-8*TLP_BYTES-:32] = place;
      end
    endcase
  end

endmodule
