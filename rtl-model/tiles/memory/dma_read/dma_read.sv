// SPDX-License-Identifier: BSD-2-Clause
// Memory reads: cuts requests into PCIe reads, keeps many in flight, and returns the data to its
// client as it comes. What the host does not answer fails by a time-out. See README.md.

`include "exrnic_assert.svh"

module dma_read
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
  parameter int unsigned N_TAG = 32,  // a power of two, 2..128
  localparam int unsigned CLIENTS = READ_CLIENTS
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  output logic               idle_o,   // nothing is to be read,
  output logic               waits_o,  // or all that was taken has been asked for;
  output logic               watches_o,  // but some of it may fail when the next interval begins
  input  logic [15:0]        cfg_max_read_i,
  input  logic [5:0]         cfg_timeout_i,  // log2 of an interval, ns
  input  logic [63:0]        time_i,         // ns

  // When has all been read that was taken before?
  input  logic               fence_i,       // pulse; one question at a time
  output logic               fence_done_o,  // pulse: now

  // Clients
  input  logic [CLIENTS-1:0] req_valid_i,
  output logic [CLIENTS-1:0] req_ready_o,
  input  dma_read_req_t      req_i[CLIENTS],
  output logic [CLIENTS-1:0] beat_valid_o,
  output dma_read_beat_t     beat_o,

  // PCIe reads
  output logic               rd_valid_o,
  input  logic               rd_ready_i,
  output logic [63:0]        rd_address_o,
  output logic [15:0]        rd_length_o,
  output logic [7:0]         rd_tag_o,

  // PCIe completions
  input  logic               cpl_valid_i,
  input  logic [7:0]         cpl_tag_i,
  input  data_t              cpl_data_i,
  input  beat_bytes_t        cpl_bytes_i,
  input  logic               cpl_last_i,
  input  logic               cpl_error_i,

  output event_t             event_o
);
  localparam int unsigned TAG_W = $clog2(N_TAG);
  localparam int unsigned CLIENT_W = $clog2(CLIENTS);
  localparam int unsigned BUS_TAG_W = 8;  // an extended tag of PCIe
  typedef logic [TAG_W-1:0] tag_t;
  typedef logic [BUS_TAG_W-TAG_W-1:0] generation_t;
  typedef logic [CLIENT_W-1:0] client_t;

  // What a tag in flight is for.
  typedef struct packed {
    client_t     client;
    tx_address_t dst;
    chunk_t      length;
  } flight_t;

  // ---- Requests: clients in turn, the one served last comes last.

  logic          active_q;
  client_t       client_q;
  dma_read_req_t req_q;  // what is left of the request
  client_t       next_client;
  logic          next_valid;
  logic          take;

  function automatic client_t after(client_t client, int unsigned steps);
    int unsigned sum = 32'(client) + steps;
    return client_t'(sum < CLIENTS ? sum : sum - CLIENTS);
  endfunction

  always_comb begin
    next_client = client_q;
    if (next_valid)
      for (int unsigned i = CLIENTS - 1; i > 0; i--) begin
        if (req_valid_i[after(client_q, i)]) next_client = after(client_q, i);
      end
  end
  assign next_valid = req_valid_i != '0;

  // ---- Cut: up to a 4 KiB boundary, and no more than the host allows

  localparam int unsigned BOUNDARY = 4096;  // PCIe base specification, 2.2.7
  chunk_t to_boundary;
  chunk_t cut;
  logic   tag_free;
  logic   issue;
  logic   issue_last;

  always_comb begin
    {to_boundary, cut} = '0;
    if (active_q) begin
      to_boundary = chunk_t'(BOUNDARY) - chunk_t'(req_q.address[$clog2(BOUNDARY)-1:0]);
      cut = req_q.length < to_boundary ? req_q.length : to_boundary;
      if (16'(cut) > cfg_max_read_i) cut = chunk_t'(cfg_max_read_i);
    end
  end

  assign issue = rd_valid_o && rd_ready_i;
  assign issue_last = issue && cut == req_q.length;
  assign take = next_valid && (!active_q || issue_last);
  assign req_ready_o = take ? CLIENTS'(1) << next_client : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      client_q <= '0;
    end else begin
      active_q <= take || (active_q && !issue_last);
      if (take) client_q <= next_client;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      req_q <= req_i[next_client];
    end else if (issue) begin
      req_q.address <= req_q.address + 64'(cut);
      req_q.length <= req_q.length - cut;
      req_q.dst <= req_q.dst + tx_address_t'(cut);
    end
  end

  // ---- Tags: first each once, then in the order in which they became free. So a tag rests as long
  // as can be before it is used again. On the bus a tag has a generation, which counts its
  // time-outs: what comes too late is not taken for the answer to a later read.

  tag_t           free_q[N_TAG];
  logic [TAG_W:0] fresh_q;  // tags never used are from here on
  logic [TAG_W:0] free_head_q;
  logic [TAG_W:0] free_tail_q;
  tag_t           tag;
  logic           retire;
  tag_t           cpl_tag;

  assign tag = fresh_q[TAG_W] ? free_q[free_head_q[TAG_W-1:0]] : fresh_q[TAG_W-1:0];
  assign tag_free = !fresh_q[TAG_W] || free_head_q != free_tail_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fresh_q <= '0;
      free_head_q <= '0;
      free_tail_q <= '0;
    end else begin
      if (issue && !fresh_q[TAG_W]) fresh_q <= fresh_q + 1'b1;
      if (issue && fresh_q[TAG_W]) free_head_q <= free_head_q + 1'b1;
      if (retire) free_tail_q <= free_tail_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (retire) free_q[free_tail_q[TAG_W-1:0]] <= cpl_tag;
  end

  // Nothing is asked before what is late has ended.
  assign rd_valid_o = active_q && tag_free && late_q == '0;
  assign rd_address_o = req_q.address;
  assign rd_length_o = 16'(cut);
  assign rd_tag_o = {generation_q[tag], tag};

  // ---- Reads in flight. What a read is for is written at its issue, how much of it has come by
  // its completions: one writer for each memory.

  flight_t            reads_q[N_TAG];
  chunk_t           received_q[N_TAG];
  logic [N_TAG-1:0] busy_q;
  logic [N_TAG-1:0] started_q;  // received_q counts

  flight_t  read;
  chunk_t received;
  chunk_t missing;
  chunk_t bytes;
  logic   known;
  logic   fails;
  logic   times_out;  // nothing comes in this cycle, and one that is late ends

  assign times_out = late_q != '0 && !cpl_valid_i;
  assign cpl_tag = cpl_valid_i ? cpl_tag_i[TAG_W-1:0] : late_tag;
  assign known = times_out || (cpl_valid_i && busy_q[cpl_tag] &&
                               cpl_tag_i[BUS_TAG_W-1:TAG_W] == generation_q[cpl_tag]);

  // More than was asked for is cut off. An end that comes early fails all that is missing.
  always_comb begin
    {read, received, missing, bytes, fails} = '0;
    if (known) begin
      read = reads_q[cpl_tag];
      received = started_q[cpl_tag] ? received_q[cpl_tag] : '0;
      missing = read.length - received;
      bytes = chunk_t'(cpl_bytes_i);
      if (bytes > chunk_t'(DATA_BYTES)) bytes = chunk_t'(DATA_BYTES);
      if (bytes > missing) bytes = missing;
      fails = times_out || cpl_error_i || (cpl_last_i && bytes != missing);
      if (fails) bytes = missing;
    end
  end
  assign retire = known && (times_out || cpl_last_i || cpl_error_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= '0;
      started_q <= '0;
    end else begin
      if (known) started_q[cpl_tag] <= 1'b1;
      if (retire) busy_q[cpl_tag] <= 1'b0;
      if (issue) begin
        busy_q[tag] <= 1'b1;
        started_q[tag] <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (issue) reads_q[tag] <= '{client: client_q, dst: req_q.dst, length: cut};
    if (known) received_q[cpl_tag] <= received + bytes;
  end

  // ---- Time-outs: a read that was in flight already when the interval before began is late.

  logic             interval_q, begins;
  logic [N_TAG-1:0] old_q;   // in flight since before this interval
  logic [N_TAG-1:0] late_q;  // to be ended
  tag_t             late_tag;
  generation_t      generation_q[N_TAG];

  assign begins = time_i[cfg_timeout_i] != interval_q;
  always_comb begin
    late_tag = '0;
    if (late_q != '0)
      for (int unsigned i = 0; i < N_TAG; i++) begin
        if (late_q[i]) late_tag = tag_t'(i);
      end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      interval_q <= 1'b0;
      old_q <= '0;
      late_q <= '0;
      for (int unsigned i = 0; i < N_TAG; i++) generation_q[i] <= '0;
    end else begin
      if (begins) begin
        interval_q <= !interval_q;
        old_q <= busy_q;
        late_q <= late_q | (old_q & busy_q);
      end
      if (issue) old_q[tag] <= 1'b0;
      if (retire) {old_q[cpl_tag], late_q[cpl_tag]} <= '0;
      if (times_out) generation_q[late_tag] <= generation_q[late_tag] + 1'b1;
    end
  end

  // ---- Fence: first the request in hand is to be asked for, then what is in flight is to end.

  logic             fence_asked_q, fence_waits_q;
  logic [N_TAG-1:0] fenced_q;
  logic             fence_begins;

  assign fence_begins = (fence_i || fence_asked_q) && (!active_q || issue_last);
  assign fence_done_o = fence_waits_q && fenced_q == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fence_asked_q <= 1'b0;
      fence_waits_q <= 1'b0;
      fenced_q <= '0;
    end else begin
      fence_asked_q <= (fence_i || fence_asked_q) && !fence_begins;
      fence_waits_q <= fence_begins || (fence_waits_q && !fence_done_o);
      if (fence_begins) begin
        fenced_q <= busy_q;
        if (issue) fenced_q[tag] <= 1'b1;
      end
      if (retire) fenced_q[cpl_tag] <= 1'b0;
    end
  end

  // ---- Beats to the clients

  logic error_q, timeout_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_valid_o <= '0;
      error_q <= 1'b0;
      timeout_q <= 1'b0;
    end else begin
      timeout_q <= times_out;
      beat_valid_o <= known && bytes != '0 ? CLIENTS'(1) << read.client : '0;
      error_q <= known && fails;
    end
  end

  always_ff @(posedge clk_i) begin
    if (known) begin
      beat_o <= '{
        dst: read.dst + tx_address_t'(received),
        data: cpl_data_i,
        bytes: bytes,
        error: fails
      };
    end
  end

  always_comb begin
    event_o = '0;
    event_o[COUNTER_DMA_READ_ERRORS] = error_q;
    event_o[COUNTER_DMA_READ_TIMEOUTS] = timeout_q;
  end

  assign waits_o = !active_q && beat_valid_o == '0 && late_q == '0 && !fence_done_o;
  assign watches_o = busy_q != '0;
  assign idle_o = waits_o && busy_q == '0;
  // ---- What is promised
  `EXRNIC_HELD(rd_is_held, rd_valid_o, rd_ready_i, {rd_address_o, rd_length_o, rd_tag_o})
  `EXRNIC_ALWAYS(one_is_taken, $onehot0(req_ready_o))
  `EXRNIC_ALWAYS(one_gets_it, $onehot0(beat_valid_o))
  // A tag is free or in flight, and given back once.
  `EXRNIC_ALWAYS(no_tag_is_lost,
      fresh_q - (free_tail_q - free_head_q) == (TAG_W + 1)'($countones(busy_q)))
  `EXRNIC_ALWAYS(given_out_when_free, !issue || !busy_q[tag])
  `EXRNIC_ALWAYS(given_back_when_busy, !retire || busy_q[cpl_tag])
  `EXRNIC_ALWAYS(late_are_busy, ((old_q | late_q | fenced_q) & ~busy_q) == '0)
  `EXRNIC_ALWAYS(one_question_at_a_time,
      !fence_i || !(fence_asked_q || (fence_waits_q && !fence_done_o)))

endmodule
