// SPDX-License-Identifier: BSD-2-Clause
// User pages that have rung for firmware, in the order in which they did. A page that rings again
// before it is taken has one place, with its last value: so there is always room.

`include "exrnic_assert.svh"

module firmware_bells
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    input logic empty_i,  // nobody takes them: what is there goes away

    input logic      ring_i,
    input page_t     page_i,
    input doorbell_t value_i,

    output logic      any_o,
    output page_t     page_o,  // the first one
    input  logic      take_i,
    output doorbell_t taken_o  // value of the one taken last
);

  logic [USER_PAGES-1:0] waits_q;
  page_t front[1];
  logic [$clog2(USER_PAGES):0] put_q, get_q;

  logic enters, takes;
  assign any_o  = put_q != get_q;
  assign page_o = front[0];
  assign takes  = take_i && any_o;
  assign enters = ring_i && !empty_i && (!waits_q[page_i] || (takes && page_o == page_i));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      put_q   <= '0;
      get_q   <= '0;
      waits_q <= '0;
    end else if (empty_i) begin
      get_q   <= put_q;
      waits_q <= '0;
    end else begin
      if (takes) begin
        get_q           <= get_q + 1'b1;
        waits_q[page_o] <= 1'b0;
      end
      if (enters) begin
        put_q           <= put_q + 1'b1;
        waits_q[page_i] <= 1'b1;
      end
    end
  end

  lut_ram_nr1w #(
      .WIDTH($bits(page_t)),
      .DEPTH(USER_PAGES)
  ) u_queue (
      .clk_i,
      .write_i        (enters),
      .write_address_i(page_t'(put_q)),
      .write_data_i   (page_i),
      .read_address_i ('{page_t'(get_q)}),
      .read_data_o    (front)
  );
  ram_1r1w #(
      .WIDTH($bits(doorbell_t)),
      .DEPTH(USER_PAGES)
  ) u_values (
      .clk_i,
      .write_i        (ring_i),
      .write_address_i(page_i),
      .write_data_i   (value_i),
      .read_i         (takes),
      .read_address_i (page_o),
      .read_data_o    (taken_o)
  );

  // ---- What is promised
  `EXRNIC_ALWAYS(each_once, put_q - get_q == ($clog2(USER_PAGES) + 1)'($countones(waits_q)))

endmodule
