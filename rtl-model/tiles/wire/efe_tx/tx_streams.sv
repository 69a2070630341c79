// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs of which a segment is lost for good: given up, dropped, or without its payload. Nothing
// that is behind it leaves, or the peer would place it behind a gap. For who fails for it the completer
// is to say so, and until it does work goes on coming. It may be reset by then: what still waits of that
// life is stopped all the same, for the peer may not know of a later one.

module tx_streams
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic    clk_i,
  input  logic    rst_ni,

  life_change_if.user change,

  /* verilator lint_off UNUSEDSIGNAL */  // whose it is counts
  input  tx_tag_t look_i,
  output logic    broken_o,      // a segment before this one is lost
  input  logic    lost_i,        // this one is
  input  logic    drop_valid_i,  // or one that was never submitted
  output logic    drop_ready_o,
  input  tx_tag_t drop_i
  /* verilator lint_on UNUSEDSIGNAL */
);

  typedef logic [$clog2(N_QP)-1:0] place_t;

  // Of the life in the memory nothing leaves any more, nor of those before; or of those before alone.
  logic [N_QP-1:0] broken_q, before_q;
  logic breaks, forgets;
  place_t place, change_place, look_place, drop_place;
  generation_t life, broken_life, look_life, drop_life, change_life, ahead, look_ahead;

  assign drop_ready_o = !lost_i;
  assign change_place = place_t'(change.qpn);
  assign look_place   = place_t'(look_i.qpn);
  assign drop_place   = place_t'(drop_i.qpn);
  assign place        = lost_i ? look_place : drop_place;
  assign life         = lost_i ? look_i.generation : drop_i.generation;
  assign broken_life  = lost_i ? look_life : drop_life;
  // What is left of an earlier life says nothing of a later one. Who has no life has no stream: ports.
  assign breaks       = (lost_i || drop_valid_i) && life != '0 &&
                        (!broken_q[place] || $signed(life - broken_life) > 0 ||
                         (life == broken_life && before_q[place]));
  assign look_ahead   = look_i.generation - look_life;
  assign broken_o     = broken_q[look_place] && look_i.generation != '0 &&
                        ($signed(look_ahead) < 0 || (look_ahead == '0 && !before_q[look_place]));
  // Before the count of lives comes round. Nothing waits for so long.
  assign ahead        = change.generation - change_life;
  assign forgets      = change.begins && ahead >> ($bits(generation_t) - 2) != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      broken_q <= '0;
      before_q <= '0;
    end else begin
      if (forgets) broken_q[change_place] <= 1'b0;
      if (change.goes_back && ahead == '0) before_q[change_place] <= 1'b1;
      if (breaks) {broken_q[place], before_q[place]} <= 2'b10;
    end
  end

  lut_ram_nr1w #(
    .WIDTH($bits(generation_t)),
    .DEPTH(N_QP),
    .READERS(2)
  ) u_lives (  // of the broken ones
    .clk_i,
    .write_i        (breaks),
    .write_address_i(place),
    .write_data_i   (life),
    .read_address_i ('{look_place, drop_place}),
    .read_data_o    ('{look_life, drop_life})
  );
  lut_ram_nr1w #(
    .WIDTH($bits(generation_t)),
    .DEPTH(N_QP)
  ) u_changed_lives (  // a copy: whose changes depends on what is lost
    .clk_i,
    .write_i        (breaks),
    .write_address_i(place),
    .write_data_i   (life),
    .read_address_i ('{change_place}),
    .read_data_o    ('{change_life})
  );

endmodule
