// SPDX-License-Identifier: BSD-2-Clause
// A pool of places that queues share. A queue gets slices of it, as many as its limit needs, before
// it is used, and keeps them until it is gone: so no queue waits for another one. Tables say
// which slices a queue has; those of nobody wait in a FIFO.
//
// Entries of a queue are counted modulo MAX_READS. One with fewer slices has the same ones again and again
// in its tables, so their number is a power of two.

`include "exrnic_assert.svh"

module slice_pool
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned PLACES = N_READS,  // a power of two
    localparam int unsigned AddressBits = $clog2(PLACES),
    localparam int unsigned IndexBits = $clog2(MAX_READS)
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,

    // A queue begins or ends, when nobody uses it, and when no place moves.
    input  logic       take_i,   // it gets places for limit_i entries, which are free
    input  logic       give_i,   // it gives them back
    input  qpn_t       qpn_i,
    input  reads_t     limit_i,
    output read_pool_t free_o,
    output logic       moves_o,

    // Where entry `index` of a queue is, combinational.
    input  qpn_t                   at_qpn_i  [2],
    input  logic [IndexBits-1:0]   at_index_i[2],
    output logic [AddressBits-1:0] at_o      [2]
);

  localparam int unsigned Slices = PLACES / READ_SLICE;
  localparam int unsigned Tables = MAX_READS / READ_SLICE;
  localparam int unsigned SliceBits = $clog2(Slices);
  localparam int unsigned OffsetBits = $clog2(READ_SLICE);
  typedef logic [SliceBits-1:0] slice_t;
  typedef logic [$clog2(Tables):0] tables_t;
  if (2 ** AddressBits != PLACES) begin : gen_refuse_places
    $error("PLACES is %0d, a power of two is needed", PLACES);
  end

  // ---- After reset nobody has any.
  logic [SliceBits:0] init_q;
  assign init_done_o = init_q[SliceBits];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) init_q <= '0;
    else if (!init_done_o) init_q <= init_q + 1'b1;
  end

  // ---- A slice a cycle comes or goes, the first one last.
  tables_t slices, slices_q, left_q, now_at;
  logic giving_q, moves;
  qpn_t qpn_q;
  slice_t given_q[Tables];
  slice_t slices_at[2][Tables];
  assign slices = tables_t'(read_places(32'(limit_i)) >> OffsetBits);
  assign moves = left_q != '0;
  assign moves_o = moves;
  assign now_at = left_q - 1'b1;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) left_q <= '0;
    else if (take_i || give_i) left_q <= slices;
    else if (moves) left_q <= now_at;
  end
  always_ff @(posedge clk_i) begin
    if (take_i || give_i) begin
      qpn_q    <= qpn_i;
      giving_q <= give_i;
      slices_q <= slices;
      given_q  <= slices_at[0];
    end
  end

  slice_t free_slice;
  logic [SliceBits:0] free_count;
  ram_fifo #(
      .WIDTH(SliceBits),
      .DEPTH(Slices)
  ) u_free (
      .clk_i,
      .rst_ni,
      .push_i(!init_done_o || (moves && giving_q)),
      .push_data_i(init_done_o ? given_q[now_at[$clog2(Tables)-1:0]] : slice_t'(init_q)),
      .pop_i(moves && !giving_q),
      .head_o(free_slice),
      .count_o(free_count)
  );
  assign free_o = read_pool_t'({free_count, OffsetBits'(0)});

  // ---- Which slices each queue has
  qpn_t at_qpn[2];
  assign at_qpn[0] = give_i ? qpn_i : at_qpn_i[0];
  assign at_qpn[1] = at_qpn_i[1];
  for (genvar i = 0; i < Tables; i++) begin : gen_table
    slice_t slice[2];
    lut_ram_nr1w #(
        .WIDTH(SliceBits),
        .DEPTH(N_QP),
        .READERS(2)
    ) u_slice (
        .clk_i,
        .write_i(moves && !giving_q && (tables_t'(i) & (slices_q - 1'b1)) == now_at),
        .write_address_i(qpn_q),
        .write_data_i(free_slice),
        .read_address_i(at_qpn),
        .read_data_o(slice)
    );
    assign slices_at[0][i] = slice[0];
    assign slices_at[1][i] = slice[1];
  end
  for (genvar i = 0; i < 2; i++) begin : gen_at
    assign at_o[i] = {
      slices_at[i][at_index_i[i][IndexBits-1:OffsetBits]], at_index_i[i][OffsetBits-1:0]
    };
  end

  // ---- What is promised
`ifdef EXRNIC_ASSERT
  logic [SliceBits:0] held_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) held_q <= '0;
    else if (moves) held_q <= giving_q ? held_q - 1'b1 : held_q + 1'b1;
  end
  `EXRNIC_ALWAYS(none_is_lost, !init_done_o || 32'(free_count) + 32'(held_q) == Slices)
`endif
  `EXRNIC_ALWAYS(one_at_a_time, !(take_i || give_i) || (take_i != give_i && !moves && init_done_o))
  `EXRNIC_ALWAYS(has_room, !take_i || read_places(32'(limit_i)) <= 32'(free_o))

endmodule
