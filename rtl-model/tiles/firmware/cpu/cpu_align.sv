// SPDX-License-Identifier: BSD-2-Clause
// Bytes of loads and stores within their word. Little-endian.

module cpu_align
  import cpu_pkg::*;
(
    input mem_size_e  size_i,
    input logic [1:0] offset_i,    // low bits of the address
    input word_t      register_i,  // what is stored; what a partial load leaves in place

    output logic       misaligned_o,
    output word_t      store_o,
    output logic [3:0] strobe_o,

    input  word_t memory_i,
    output word_t load_o
);

  logic [4:0] right;  // bits below the byte at the address
  logic [4:0] left;   // bits above it
  assign right = {offset_i, 3'b000};
  assign left  = {~offset_i, 3'b000};

  assign misaligned_o = (size_i == MEM_WORD && offset_i != '0) ||
                        (size_i inside {MEM_HALF, MEM_HALF_UNSIGNED} && offset_i[0]);

  always_comb begin
    store_o = register_i << right;
    unique case (size_i)
      MEM_BYTE, MEM_BYTE_UNSIGNED: strobe_o = 4'b0001 << offset_i;
      MEM_HALF, MEM_HALF_UNSIGNED: strobe_o = 4'b0011 << offset_i;
      MEM_LEFT: begin
        store_o  = register_i >> left;
        strobe_o = 4'b1111 >> ~offset_i;
      end
      MEM_RIGHT: strobe_o = 4'b1111 << offset_i;
      default: strobe_o = 4'b1111;
    endcase
  end

  word_t shifted;
  assign shifted = memory_i >> right;
  always_comb begin
    unique case (size_i)
      MEM_BYTE: load_o = {{24{shifted[7]}}, shifted[7:0]};
      MEM_BYTE_UNSIGNED: load_o = {24'h0, shifted[7:0]};
      MEM_HALF: load_o = {{16{shifted[15]}}, shifted[15:0]};
      MEM_HALF_UNSIGNED: load_o = {16'h0, shifted[15:0]};
      MEM_LEFT: load_o = (memory_i << left) | (register_i & ~(32'hffff_ffff << left));
      MEM_RIGHT: load_o = shifted | (register_i & ~(32'hffff_ffff >> right));
      default: load_o = memory_i;
    endcase
  end

endmodule
