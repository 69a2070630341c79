// SPDX-License-Identifier: BSD-2-Clause
// Work requests that came whole through a user page and wait for the turn of their queue pair. A
// copy: what has no place here, or loses it, is fetched from its ring.

module pio_hold
  import exrnic_core_pkg::*;
#(
    parameter int unsigned PLACES = 4
) (
    input logic clk_i,
    input logic rst_ni,

    // Pulse: one comes. It is not kept when no place is free.
    input logic       put_i,
    input qpn_t       put_qpn_i,
    input wqe_index_t put_index_i,  // of its slot in the ring
    input wqe_slot_t  put_slot_i,

    // The requester looks, with the queue pair table; the answer is for the next cycle on.
    input  logic       look_i,
    input  qpn_t       look_qpn_i,
    output logic       held_o,
    output wqe_index_t index_o,
    output wqe_slot_t  slot_o,   // till another one is found
    input  logic       take_i,   // pulse: what was found is done with

    input logic drop_i,  // the driver changes this queue pair
    input qpn_t drop_qpn_i
);

  typedef logic [PLACES-1:0] places_t;
  places_t used_q, free_first, found, found_q;
  logic [$clog2(PLACES)-1:0] put_at, found_at;
  qpn_t qpn_q[PLACES];
  wqe_index_t index_q[PLACES];
  wqe_slot_t slot_q[PLACES];

  assign free_first = ~used_q & (used_q + 1'b1);  // one hot, or none
  always_comb begin
    found = '0;
    {put_at, found_at} = '0;
    if (put_i)
      for (int unsigned i = 0; i < PLACES; i++)
        if (free_first[i]) put_at = ($clog2(PLACES))'(i);
    if (look_i)
      for (int unsigned i = 0; i < PLACES; i++)
        if (used_q[i] && qpn_q[i] == look_qpn_i) begin
          found[i] = 1'b1;
          found_at = ($clog2(PLACES))'(i);
        end
  end

  places_t leaving;
  always_comb begin
    leaving = take_i ? found_q : '0;
    if (drop_i)
      for (int unsigned i = 0; i < PLACES; i++) if (qpn_q[i] == drop_qpn_i) leaving[i] = 1'b1;
  end

  assign held_o = found_q != '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      used_q  <= '0;
      found_q <= '0;
    end else if (put_i || look_i || take_i || drop_i) begin
      used_q <= (used_q & ~leaving) | (put_i ? free_first : '0);
      if (look_i) found_q <= found & ~leaving;
      else found_q <= found_q & ~leaving;
    end
  end

  always_ff @(posedge clk_i) begin
    if (put_i && free_first != '0) begin
      qpn_q[put_at]   <= put_qpn_i;
      index_q[put_at] <= put_index_i;
      slot_q[put_at]  <= put_slot_i;
    end
    if (found != '0) begin
      index_o <= index_q[found_at];
      slot_o  <= slot_q[found_at];
    end
  end

endmodule
