// SPDX-License-Identifier: BSD-2-Clause
// Stores to BAR 4 and loads from it: looks up the window, checks the access, combines neighbouring
// stores, and lets a load wait for its answer. What leaves is for window_send to submit.

`include "exrnic_assert.svh"

module window
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,

    input logic        enable_i,   // without it every access is refused
    input logic        quiesce_i,  // none is taken
    input logic [15:0] combine_cycles_i,
    input logic [23:0] load_cycles_i,
    input window_shift_t window_shift_i,

    // An access.
    input  logic        valid_i,
    output logic        ready_o,
    input  logic        write_i,
    input  logic [31:0] address_i,
    input  logic [3:0]  size_i,
    input  logic [63:0] data_i,
    output logic        rsp_valid_o,
    output logic [63:0] rsp_data_o,
    output logic        loading_o,  // a load waits: no other may be answered

    input  logic flush_i,   // stores wait for neighbours no longer
    output logic empty_o,   // no store waits

    // The driver's access to the entries.
    input logic          entry_we_i,
    input window_index_t entry_index_i,
    input window_entry_t entry_i,

    // Has this queue pair an open window? One cycle later, until the next look.
    input  logic       look_i,
    input  qpn_t       look_qpn_i,
    input  generation_t look_generation_i,
    output logic       has_windows_o,

    output logic         item_valid_o,
    input  logic         item_ready_i,
    output window_item_t item_o,
    input  logic         item_refused_i,  // pulse: the last one taken cannot be sent
    input  logic         item_loads_i,    // with it: it is the load that waits

    input logic           answer_valid_i,
    input window_answer_t answer_i,
    input logic [1:0]     failed_valid_i,  // these queue pairs have failed
    input qpn_t           failed_qpn_i[2],

    output event_t event_o
);

  localparam int unsigned LaneShift = 3;
  typedef logic [$clog2(COMBINE_MAX):0] count_t;

  // ---- The entry of an access
  typedef logic [$clog2(N_WINDOW)-1:0] place_t;
  typedef struct packed {
    qpn_t        qpn;
    generation_t generation;
  } owner_t;
  owner_t [N_WINDOW-1:0] owners_q;  // beside the memory, as all are looked at at once
  logic [N_WINDOW-1:0] open_q;  // of which the others count
  logic [N_WINDOW-1:0] owed_q;  // a load was given up; its answer may still come
  window_index_t index;
  logic [31:0] which;  // of those of BAR 4
  logic [WINDOW_SHIFT_MAX-1:0] offset;
  window_entry_t entry, entries[1];
  assign which  = address_i >> window_shift_i;
  assign index  = window_index_t'(which);
  assign offset = ($bits(offset))'(address_i) & ~(($bits(offset))'('1) << window_shift_i);

  lut_ram_nr1w #(
      .WIDTH($bits(window_entry_t)),
      .DEPTH(N_WINDOW)
  ) u_entries (
      .clk_i,
      .write_i        (entry_we_i),
      .write_address_i(place_t'(entry_index_i)),
      .write_data_i   (entry_i),
      .read_address_i ('{place_t'(index)}),
      .read_data_o    (entries)
  );
  always_ff @(posedge clk_i) begin
    if (entry_we_i) owners_q[place_t'(entry_index_i)] <= '{entry_i.qpn, entry_i.generation};
  end

  // A look is rare.
  logic has_windows;
  always_comb begin
    has_windows = 1'b0;
    if (look_i)
      for (int unsigned i = 0; i < N_WINDOW; i++)
        has_windows |= open_q[i] && owners_q[i] == {look_qpn_i, look_generation_i};
  end
  always_ff @(posedge clk_i) if (look_i) has_windows_o <= has_windows;

  logic shaped, bounded, granted, right, owed;
  logic [63:0] to;
  always_comb begin
    {entry, to, shaped, bounded, right, granted, owed} = '0;
    if (valid_i) begin
      entry = entries[0];
      to = entry.base + 64'(offset);
      shaped = size_i inside {4'd1, 4'd2, 4'd4, 4'd8} &&
          (address_i[3:0] & (size_i - 4'd1)) == '0 && which < N_WINDOW;
      bounded = {1'b0, offset} + ($bits(entry.length))'(size_i) <= entry.length;
      right = write_i ? entry.access[WINDOW_ACCESS_STORE] : entry.access[WINDOW_ACCESS_LOAD];
      granted = enable_i && shaped && open_q[place_t'(index)] && bounded && right;
      owed = owed_q[place_t'(index)];
    end
  end

  // ---- Stores that wait for neighbours
  window_item_t stores_q;
  count_t count_q;         // bytes
  logic [15:0] left_q;     // cycles
  logic any, neighbour, push, append;
  assign any = count_q != '0;
  always_comb begin
    {neighbour, push} = '0;
    if (any) begin
      neighbour = stores_q.window == index && to == stores_q.to + 64'(count_q) &&
          32'(count_q) + 32'(size_i) <= COMBINE_MAX;
      push = left_q == '0 || flush_i || count_q == count_t'(COMBINE_MAX) ||
          (granted && !(write_i && neighbour));
    end
  end
  assign empty_o = !any;

  logic take, store, load, pending_q;
  assign load = !write_i && granted && !owed && !pending_q && !any && !quiesce_i;
  always_comb begin
    if (quiesce_i) ready_o = 1'b0;
    else if (write_i) ready_o = !granted || !any || (neighbour && !push);
    else if (granted && !owed) ready_o = load && item_ready_i;
    else ready_o = !pending_q;
  end
  assign take   = valid_i && ready_o;
  assign store  = take && write_i && granted;
  assign append = store && any;

  assign item_valid_o = (push && !quiesce_i) || load;
  always_comb begin
    item_o = '0;
    if (push) begin
      item_o = stores_q;
      item_o.length = count_q;
    end else if (load) begin
      item_o.load = 1'b1;
      item_o.window = index;
      item_o.qpn = entry.qpn;
      item_o.generation = entry.generation;
      item_o.stag = entry.stag;
      item_o.to = to;
      item_o.length = count_t'(size_i);
      item_o.token = token;
    end
  end

  // What waits for an entry that is changed is dropped.
  logic dropped;
  assign dropped = entry_we_i && any && stores_q.window == entry_index_i;

  logic [63:0] lanes;
  always_comb begin
    lanes = '0;
    if (store)
      for (int unsigned i = 0; i < 8; i++) lanes[8*i+:8] = i < 32'(size_i) ? data_i[8*i+:8] : '0;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
    end else begin
      if ((push && item_valid_o && item_ready_i) || dropped) count_q <= '0;
      if (store) count_q <= (append ? count_q : '0) + count_t'(size_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (store) begin
      stores_q.data <= append ? stores_q.data | inline_t'(lanes) << {count_q, LaneShift'(0)}
                              : inline_t'(lanes);
      left_q        <= combine_cycles_i;
    end else if (left_q != '0) begin
      left_q <= left_q - 1'b1;
    end
    if (store && !append) begin
      stores_q.load       <= 1'b0;
      stores_q.window     <= index;
      stores_q.qpn        <= entry.qpn;
      stores_q.generation <= entry.generation;
      stores_q.stag       <= entry.stag;
      stores_q.to         <= to;
      stores_q.token      <= '0;
      stores_q.length     <= '0;
    end
  end

  // ---- The load that waits. Each has a number, so that a late answer is none to another load.
  logic [31:0] number_q;
  logic [63:0] token, token_q;
  window_index_t loading_q;
  qpn_t load_qpn_q;
  logic [3:0] load_size_q;
  logic [23:0] wait_q;
  logic answered, failed, late;
  assign token = {number_q, 32'(index)};
  always_comb begin
    {answered, late, failed} = '0;
    if (pending_q) begin
      answered = answer_valid_i && answer_i.token == token_q &&
          answer_i.qpn == load_qpn_q && answer_i.length == chunk_t'(load_size_q);
      late = wait_q == '0;
      failed = (item_refused_i && item_loads_i) ||
          (failed_valid_i[0] && failed_qpn_i[0] == load_qpn_q) ||
          (failed_valid_i[1] && failed_qpn_i[1] == load_qpn_q) ||
          (entry_we_i && entry_index_i == loading_q);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pending_q <= 1'b0;
      number_q  <= '0;
    end else if (take && !write_i && granted && !owed) begin
      pending_q <= 1'b1;
      number_q  <= number_q + 1'b1;
    end else if (answered || failed || late) begin
      pending_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (load) begin
      token_q     <= token;
      loading_q   <= index;
      load_qpn_q  <= entry.qpn;
      load_size_q <= size_i;
      wait_q      <= load_cycles_i;
    end else if (pending_q) begin
      wait_q <= wait_q - 1'b1;
    end
  end

  // An answer that comes late clears the debt.
  window_index_t answered_index;
  logic settles;
  assign answered_index = window_index_t'(answer_i.token[31:0]);
  always_comb begin
    settles = 1'b0;
    if (answer_valid_i)
      settles = answer_i.token[31:0] < N_WINDOW &&
          owners_q[place_t'(answered_index)].qpn == answer_i.qpn;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q <= '0;
      owed_q <= '0;
    end else begin
      if (late && !answered && !failed) owed_q[place_t'(loading_q)] <= 1'b1;
      if (settles) owed_q[place_t'(answered_index)] <= 1'b0;
      if (entry_we_i) begin
        open_q[place_t'(entry_index_i)] <= entry_i.access != '0;
        owed_q[place_t'(entry_index_i)] <= 1'b0;
      end
    end
  end

  logic turned_down;  // a load that is not asked for
  assign turned_down = take && !write_i && !(granted && !owed);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rsp_valid_o <= 1'b0;
    else rsp_valid_o <= turned_down || answered || failed || late;
  end
  always_ff @(posedge clk_i) begin
    if (valid_i || pending_q) rsp_data_o <= answered ? answer_i.data : '1;
  end

  assign loading_o = pending_q;
  assign idle_o = !any && !pending_q && !rsp_valid_o;

  always_comb begin
    event_o = '0;
    if (take || pending_q || item_refused_i || dropped) begin
      event_o[COUNTER_WINDOW_STORES] = store;
      event_o[COUNTER_WINDOW_LOADS] = take && !write_i && granted && !owed;
      event_o[COUNTER_WINDOW_REFUSED] = (take && !granted) || item_refused_i || dropped;
      event_o[COUNTER_WINDOW_LOAD_ERRORS] = (take && !write_i && granted && owed) ||
          ((failed || late) && !answered);
    end
  end

  // ---- What is promised
  `EXRNIC_HELD(item_is_held, item_valid_o, item_ready_i, item_o)

endmodule
