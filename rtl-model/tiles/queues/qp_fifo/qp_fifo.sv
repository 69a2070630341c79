// SPDX-License-Identifier: BSD-2-Clause
// A short queue for each queue pair, in places of one pool: RDMA Read Requests under way, of ours or
// of the peer. Readers look at the length, one of them also at the head; see README.md.

`include "exrnic_assert.svh"

module qp_fifo
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned PLACES = N_READS,
    parameter int unsigned WIDTH  = $bits(read_t),
    parameter int unsigned TAKER  = 0,  // the reader that sees the head, and takes it
    localparam int unsigned READERS = 3
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,

    // Reads: the answer is there in the next cycle and stays until the reader's next look.
    input  logic [READERS-1:0] look_i,
    input  qpn_t               look_qpn_i[READERS],
    output reads_t             count_o   [READERS],
    output logic [WIDTH-1:0]   head_o,

    input logic             push_i,  // not beyond the queue's limit
    input qpn_t             push_qpn_i,
    input logic [WIDTH-1:0] push_data_i,
    input logic             pop_i,   // not on an empty one, not with set_i
    input logic             set_i,   // the head becomes set_data_i
    input qpn_t             pop_qpn_i,
    output logic            last_o,  // with pop_i: nothing is left in the queue
    input logic [WIDTH-1:0] set_data_i,

    // The queue is emptied. With take_i it gets its places, with give_i it gives them back.
    input  logic       clear_i,
    input  logic       take_i,
    input  logic       give_i,
    input  qpn_t       clear_qpn_i,
    input  reads_t     limit_i,  // most entries that it holds
    output read_pool_t free_o,   // places that no queue has
    output logic       moves_o   // it changes, and none may be taken or given
);

  // Entries are counted with one bit more than an index has: equal is empty.
  localparam int unsigned IndexBits = $clog2(MAX_READS);

  // After reset one queue a cycle becomes empty.
  logic [$clog2(N_QP):0] init_q;
  logic pool_init_done, clear;
  qpn_t clear_qpn;
  assign init_done_o = init_q[$clog2(N_QP)] && pool_init_done;
  assign clear = clear_i || !init_done_o;
  assign clear_qpn = init_done_o ? clear_qpn_i : qpn_t'(init_q);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) init_q <= '0;
    else if (!init_q[$clog2(N_QP)]) init_q <= init_q + 1'b1;
  end

  // ---- How many entries have come and gone. Who takes and who pushes comes behind the readers.
  localparam int unsigned AtPop = READERS;
  localparam int unsigned AtPush = READERS + 1;
  qpn_t at[READERS+2];
  reads_t put[READERS+2], got[READERS+1];
  for (genvar i = 0; i < READERS; i++) begin : gen_at
    assign at[i] = look_qpn_i[i];
  end
  assign at[AtPop] = pop_qpn_i;
  assign at[AtPush] = push_qpn_i;
  lut_ram_nr1w #(
      .WIDTH($bits(reads_t)),
      .DEPTH(N_QP),
      .READERS(READERS + 2)
  ) u_put (
      .clk_i,
      .write_i        (clear || push_i),
      .write_address_i(clear ? clear_qpn : push_qpn_i),
      .write_data_i   (clear ? '0 : put[AtPush] + 1'b1),
      .read_address_i (at),
      .read_data_o    (put)
  );
  lut_ram_nr1w #(
      .WIDTH($bits(reads_t)),
      .DEPTH(N_QP),
      .READERS(READERS + 1)
  ) u_got (
      .clk_i,
      .write_i        (clear || pop_i),
      .write_address_i(clear ? clear_qpn : pop_qpn_i),
      .write_data_i   (clear ? '0 : got[AtPop] + 1'b1),
      .read_address_i (at[0:READERS]),
      .read_data_o    (got)
  );
  assign last_o = put[AtPop] == got[AtPop] + 1'b1 && !(push_i && push_qpn_i == pop_qpn_i);
  for (genvar i = 0; i < READERS; i++) begin : gen_count
    always_ff @(posedge clk_i) if (look_i[i]) count_o[i] <= put[i] - got[i];
  end

  // ---- The entries
  qpn_t place_qpn[2];
  logic [IndexBits-1:0] place_index[2];
  logic [$clog2(PLACES)-1:0] place[2];
  assign place_qpn = '{push_qpn_i, look_qpn_i[TAKER]};
  assign place_index = '{IndexBits'(put[AtPush]), IndexBits'(got[TAKER])};
  slice_pool #(
      .PLACES(PLACES)
  ) u_pool (
      .clk_i,
      .rst_ni,
      .init_done_o(pool_init_done),
      .take_i,
      .give_i,
      .qpn_i(clear_qpn_i),
      .limit_i,
      .free_o,
      .moves_o,
      .at_qpn_i(place_qpn),
      .at_index_i(place_index),
      .at_o(place)
  );

  // A head that was replaced stands beside the queues: each memory has one writer.
  logic [WIDTH-1:0] data_read, replacement_read;
  logic replaced_read;
  ram_1r1w #(
      .WIDTH(WIDTH),
      .DEPTH(PLACES)
  ) u_data (
      .clk_i,
      .write_i        (push_i),
      .write_address_i(place[0]),
      .write_data_i   (push_data_i),
      .read_i         (look_i[TAKER]),
      .read_address_i (place[1]),
      .read_data_o    (data_read)
  );
  ram_1r1w #(
      .WIDTH(1),
      .DEPTH(N_QP)
  ) u_replaced (
      .clk_i,
      .write_i        (clear || pop_i || set_i),
      .write_address_i(clear ? clear_qpn : pop_qpn_i),
      .write_data_i   (!clear && set_i),
      .read_i         (look_i[TAKER]),
      .read_address_i (look_qpn_i[TAKER]),
      .read_data_o    (replaced_read)
  );
  ram_1r1w #(
      .WIDTH(WIDTH),
      .DEPTH(N_QP)
  ) u_replacement (
      .clk_i,
      .write_i        (set_i),
      .write_address_i(pop_qpn_i),
      .write_data_i   (set_data_i),
      .read_i         (look_i[TAKER]),
      .read_address_i (look_qpn_i[TAKER]),
      .read_data_o    (replacement_read)
  );
  assign head_o = replaced_read ? replacement_read : data_read;

  // ---- What is promised
`ifdef EXRNIC_ASSERT
  reads_t limits_q[N_QP], held_q[N_QP];
  reads_t limit, limit_of_push, held_of_push, held_of_pop;
  logic stays;
  assign limit = limits_q[clear_qpn];
  assign limit_of_push = limits_q[push_qpn_i];
  assign held_of_push = held_q[push_qpn_i];
  assign held_of_pop = held_q[pop_qpn_i];
  assign stays = push_i && pop_i && push_qpn_i == pop_qpn_i;
  always_ff @(posedge clk_i) begin
    if (clear) begin
      held_q[clear_qpn] <= '0;
      if (take_i) limits_q[clear_qpn] <= limit_i;
      else if (give_i || !init_done_o) limits_q[clear_qpn] <= '0;
    end else if (!stays) begin
      if (push_i) held_q[push_qpn_i] <= held_of_push + 1'b1;
      if (pop_i) held_q[pop_qpn_i] <= held_of_pop - 1'b1;
    end
  end
  `EXRNIC_ALWAYS(has_room, !push_i || clear || held_of_push < limit_of_push)
  `EXRNIC_ALWAYS(has_a_head, !(pop_i || set_i) || held_of_pop != '0)
  `EXRNIC_ALWAYS(gives_what_it_has, !give_i || limit_i == limit)
`endif
  `EXRNIC_ALWAYS(one_at_a_time, !(pop_i && set_i))
  `EXRNIC_ALWAYS(empty_when_places_change, !(take_i || give_i) || clear_i)

endmodule
