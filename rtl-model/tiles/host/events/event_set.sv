// SPDX-License-Identifier: BSD-2-Clause
// Objects about which something is to be told: a bit for each, in turn. What happens to one again
// before it is told is told once.

module event_set #(
    parameter int unsigned N = 1024,
    localparam int unsigned Words = (N + 31) / 32,
    localparam int unsigned NumberBits = $clog2(N),
    localparam int unsigned WordBits = Words == 1 ? 1 : $clog2(Words)
) (
    input logic clk_i,
    input logic rst_ni,

    input logic                  set_i,  // pulse; before take_i
    input logic [NumberBits-1:0] set_number_i,
    input logic                  forget_i,  // pulse: nothing is to be told about this one; not beside set_i and take_i
    input logic [NumberBits-1:0] forget_number_i,

    output logic                  any_o,
    input  logic                  look_i,    // number_o is of no interest without it
    output logic [NumberBits-1:0] number_o,  // with any_o: whose turn it is, until it is taken
    input  logic                  take_i,    // pulse: this one is told,
    input  logic [NumberBits-1:0] take_number_i,
    input  logic                  park_i,    // with take_i: it cannot be, and waits; not beside unpark_i,
    input  logic                  unpark_i   // pulse: now all of those can
);

  logic [Words-1:0][31:0] bits_q, parked_q;
  typedef logic [NumberBits:0] count_t;
  count_t count_q, parked_count_q, parked_left;
  logic [NumberBits-1:0] last_q;

  function automatic logic [WordBits-1:0] word_of(logic [NumberBits-1:0] number);
    return WordBits'(32'(number) >> 5);
  endfunction
  /* verilator lint_off UNUSEDSIGNAL */  // the rest says which word
  function automatic logic [4:0] bit_of(logic [NumberBits-1:0] number);
    return 5'(number);
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */
  function automatic logic [4:0] lowest(logic [31:0] bits);
    lowest = '0;
    for (int i = 31; i >= 0; i--) if (bits[i]) lowest = 5'(i);
  endfunction

  logic [WordBits-1:0] set_word, forget_word, take_word;
  logic [4:0] set_bit, forget_bit, take_bit;
  assign {set_word, set_bit} = {word_of(set_number_i), bit_of(set_number_i)};
  assign {forget_word, forget_bit} = {word_of(forget_number_i), bit_of(forget_number_i)};
  assign {take_word, take_bit} = {word_of(take_number_i), bit_of(take_number_i)};

  logic set_new, forget_told, forget_parked, again;
  always_comb begin
    {set_new, forget_told, forget_parked, again} = '0;
    if (set_i) begin
      again = take_i && set_number_i == take_number_i;
      set_new = again || !(bits_q[set_word][set_bit] ||
                           parked_q[set_word][set_bit]);
    end
    if (forget_i) begin
      forget_told = bits_q[forget_word][forget_bit];
      forget_parked = parked_q[forget_word][forget_bit];
    end
  end

  logic parks;
  assign parks = take_i && park_i && !again;
  assign parked_left = parked_count_q - count_t'(forget_parked);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {bits_q, parked_q, count_q, parked_count_q, last_q} <= '0;
    end else if (set_i || forget_i || take_i || unpark_i) begin
      count_q <= count_q + count_t'(set_new) - count_t'(take_i) - count_t'(forget_told) +
          (unpark_i ? parked_left : '0);
      parked_count_q <= (unpark_i ? '0 : parked_left) + count_t'(parks);
      if (unpark_i) begin
        bits_q   <= bits_q | parked_q;
        parked_q <= '0;
      end
      if (take_i) begin
        bits_q[take_word][take_bit] <= 1'b0;
        last_q <= take_number_i;
      end
      if (parks) parked_q[take_word][take_bit] <= 1'b1;
      if (forget_i) begin
        bits_q[forget_word][forget_bit]   <= 1'b0;
        parked_q[forget_word][forget_bit] <= 1'b0;
      end
      if (set_new) bits_q[set_word][set_bit] <= 1'b1;
    end
  end
  assign any_o = count_q != '0;

  // The next one behind the last, in a circle.
  logic [Words-1:0] words, later;
  logic [31:0] here;
  logic [WordBits-1:0] word;
  always_comb begin
    {words, later, here, word, number_o} = '0;
    if (look_i && any_o) begin
      here = bits_q[word_of(last_q)] & ~((32'd2 << bit_of(last_q)) - 32'd1);
      for (int unsigned i = 0; i < Words; i++) begin
        words[i] = bits_q[i] != '0;
        later[i] = words[i] && i > 32'(word_of(last_q));
      end
      if (here != '0) begin
        word = word_of(last_q);
      end else begin
        if (later != '0) words = later;
        for (int i = int'(Words) - 1; i >= 0; i--) if (words[i]) word = WordBits'(i);
        here = bits_q[word];
      end
      number_o = NumberBits'({word, lowest(here)});
    end
  end

endmodule
