// SPDX-License-Identifier: BSD-2-Clause
// A short queue for each queue pair, all in one memory: RDMA Read Requests under way, of ours or
// of the peer. Readers look at the head and the length; see README.md.

`include "exrnic_assert.svh"

module qp_fifo
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned N_QP  = MAX_QP,
    parameter int unsigned DEPTH = MAX_READS,  // a power of two
    parameter int unsigned WIDTH = $bits(read_t),
    localparam int unsigned READERS = 3
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,

    // Reads: the answer is there in the next cycle and stays until the reader's next look.
    input  logic [READERS-1:0]     look_i,
    input  qpn_t                   look_qpn_i[READERS],
    output logic [$clog2(DEPTH):0] count_o   [READERS],
    output logic [WIDTH-1:0]       head_o    [READERS],

    input logic             push_i,  // not on a full queue
    input qpn_t             push_qpn_i,
    input logic [WIDTH-1:0] push_data_i,
    input logic             pop_i,   // not on an empty one, not with set_i
    input logic             set_i,   // the head becomes set_data_i
    input qpn_t             pop_qpn_i,
    output logic            last_o,  // with pop_i: nothing is left in the queue
    input logic [WIDTH-1:0] set_data_i,
    input logic             clear_i,
    input qpn_t             clear_qpn_i
);

  localparam int unsigned PlaceBits = $clog2(DEPTH);
  typedef logic [PlaceBits:0] index_t;  // one bit more than a place: equal is empty
  typedef logic [PlaceBits-1:0] place_t;

  index_t put_q[N_QP];
  index_t get_q[N_QP];

  // After reset one queue a cycle becomes empty.
  logic [$clog2(N_QP):0] init_q;
  logic clear;
  qpn_t clear_qpn;
  assign init_done_o = init_q[$clog2(N_QP)];
  assign clear = clear_i || !init_done_o;
  assign clear_qpn = init_done_o ? clear_qpn_i : qpn_t'(init_q);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) init_q <= '0;
    else if (!init_done_o) init_q <= init_q + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (clear) put_q[clear_qpn] <= '0;
    else if (push_i) put_q[push_qpn_i] <= put_q[push_qpn_i] + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (clear) get_q[clear_qpn] <= '0;
    else if (pop_i) get_q[pop_qpn_i] <= get_q[pop_qpn_i] + 1'b1;
  end

  assign last_o = put_q[pop_qpn_i] == get_q[pop_qpn_i] + 1'b1 &&
      !(push_i && push_qpn_i == pop_qpn_i);

  // A head that was replaced stands beside the queues: each memory has one writer.
  logic [$clog2(N_QP*DEPTH)-1:0] head[READERS];
  logic [WIDTH-1:0] data_read[READERS], replacement_read[READERS];
  logic replaced_read[READERS];
  ram_nr1w #(
      .WIDTH(WIDTH),
      .DEPTH(N_QP*DEPTH),
      .READERS(READERS)
  ) u_data (
      .clk_i,
      .write_i        (push_i),
      .write_address_i({push_qpn_i, place_t'(put_q[push_qpn_i])}),
      .write_data_i   (push_data_i),
      .read_i         (look_i),
      .read_address_i (head),
      .read_data_o    (data_read)
  );
  ram_nr1w #(
      .WIDTH(1),
      .DEPTH(N_QP),
      .READERS(READERS)
  ) u_replaced (
      .clk_i,
      .write_i        (clear || pop_i || set_i),
      .write_address_i(clear ? clear_qpn : pop_qpn_i),
      .write_data_i   (!clear && set_i),
      .read_i         (look_i),
      .read_address_i (look_qpn_i),
      .read_data_o    (replaced_read)
  );
  ram_nr1w #(
      .WIDTH(WIDTH),
      .DEPTH(N_QP),
      .READERS(READERS)
  ) u_replacement (
      .clk_i,
      .write_i        (set_i),
      .write_address_i(pop_qpn_i),
      .write_data_i   (set_data_i),
      .read_i         (look_i),
      .read_address_i (look_qpn_i),
      .read_data_o    (replacement_read)
  );

  for (genvar i = 0; i < READERS; i++) begin : gen_look
    always_ff @(posedge clk_i) begin
      if (look_i[i]) count_o[i] <= put_q[look_qpn_i[i]] - get_q[look_qpn_i[i]];
    end
    assign head[i]   = {look_qpn_i[i], place_t'(get_q[look_qpn_i[i]])};
    assign head_o[i] = replaced_read[i] ? replacement_read[i] : data_read[i];
  end

  // ---- What is promised
`ifdef EXRNIC_ASSERT
  index_t pushed_to, popped_from;
  assign pushed_to   = put_q[push_qpn_i] - get_q[push_qpn_i];
  assign popped_from = put_q[pop_qpn_i] - get_q[pop_qpn_i];
  `EXRNIC_ALWAYS(has_room, !push_i || clear || 32'(pushed_to) < DEPTH)
  `EXRNIC_ALWAYS(has_a_head, !(pop_i || set_i) || popped_from != '0)
`endif
  `EXRNIC_ALWAYS(one_at_a_time, !(pop_i && set_i))

endmodule
