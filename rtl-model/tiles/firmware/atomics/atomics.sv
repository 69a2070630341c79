// SPDX-License-Identifier: BSD-2-Clause
// Executes Atomic Requests of peers (RFC 7306, 5): several read host memory at a time, and in the order in
// which they came each one's value is worked on, written and answered. See README.md.

`include "exrnic_assert.svh"

module atomics
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    parameter int unsigned PLACES = 8,  // a power of two
    localparam int unsigned READERS = 3
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic quiesce_i,    // begin nothing
    output logic quiescent_o,
    output logic idle_o,

    input  logic  push_valid_i,
    output logic  push_ready_o,
    input  punt_t push_i,  // no message; an RDMA Read Request only behind an Atomic Request of its queue pair

    input logic clear_i,  // the requests of that queue pair are forgotten. Only when quiescent
    input qpn_t clear_qpn_i,
    input logic ended_i,  // pulse: the stream of that queue pair has ended, by a refusal of another request
    input qpn_t ended_qpn_i,

    // How many of a queue pair there are: in the next cycle, until the reader's next look.
    input  logic [READERS-1:0] look_i,
    input  qpn_t               look_qpn_i[READERS],
    output reads_t             count_o   [READERS],

    // What becomes of the oldest one. It counts no more then.
    output logic  answer_valid_o,
    input  logic  answer_ready_i,
    output qpn_t  answer_qpn_o,
    output read_t answer_o,
    stream_if.source wake,

    xlate_if.client    xlate,
    dma_read_if.client read,
    stream_if.source   write,
    writes_if.reader   writes
);

  localparam int unsigned PlaceBits = $clog2(PLACES);
  localparam int unsigned ByteBits = $clog2(ATOMIC_BYTES);
  typedef logic [PlaceBits-1:0] place_t;
  typedef logic [PLACES-1:0] places_t;
  if (2 ** PlaceBits != PLACES) begin : gen_refuse_places
    $error("PLACES is %0d, a power of two is needed", PLACES);
  end

  typedef enum logic [2:0] {
    StIdle, StXlate, StXlateWait, StWrites, StRead, StWrite, StAnswer, StWake
  } state_e;
  state_e state_q;
  logic ends_q;  // the oldest one is in hand, to be answered; else the one at issue_q, to be read

  // ---- The requests, in order: from get_q to put_q; those before issue_q have been looked at.
  typedef logic [PlaceBits:0] count_t;
  count_t put_q, get_q, issue_q, count;
  punt_t   queue_q[PLACES];
  logic [63:0] address_q[PLACES];
  logic [63:0] old_q[PLACES];
  term_code_e  code_q[PLACES];
  places_t placed_q;   // address_q is its place
  places_t reading_q;  // its value is on its way
  places_t has_q;      // it can be answered: old_q is there, or is not needed
  places_t refused_q;  // with code_q
  places_t gone_q;     // nobody waits for it any more
  places_t late_q;     // it came after the look-up of who names the same bytes: it looks again
  count_t  upto_q[PLACES];  // those before that one had come when its value was looked up
  logic    again_q;    // a place has moved: all look again
  place_t oldest, issued, at;
  /* verilator lint_off UNUSEDSIGNAL */  // it is no message; what is reserved is ignored
  punt_t request;
  atomic_request_t atomic;
  /* verilator lint_on UNUSEDSIGNAL */
  assign count = put_q - get_q;
  assign push_ready_o = !count[PlaceBits];
  assign oldest = place_t'(get_q);
  assign issued = place_t'(issue_q);

  // How many stand before that one.
  function automatic count_t ahead_of(place_t place);
    return count_t'(place_t'(place - oldest));
  endfunction

  logic push, some, ready, stranded, moved, skips, malformed, answered, begins_end, begins_read;
  assign push = push_valid_i && push_ready_o;
  assign some = count != '0;
  assign ready = some && (has_q[oldest] || (gone_q[oldest] && !reading_q[oldest]));
  // Who was before it has left no value: it looks again, and so do those behind it.
  assign stranded = some && !ready && !reading_q[oldest] && issue_q != get_q;
  assign begins_end = state_q == StIdle && !quiesce_i && !again_q && ready;
  assign begins_read = state_q == StIdle && !quiesce_i && !again_q && !ready && !stranded && issue_q != put_q;
  assign at = begins_end || (state_q != StIdle && ends_q) ? oldest : issued;
  always_comb begin
    {request, atomic} = '0;
    if (begins_end || begins_read || state_q != StIdle) begin
      request = queue_q[at];
      atomic = request.payload;
    end
  end
  assign skips = has_q[issued] || reading_q[issued] || gone_q[issued];
  assign malformed = !(atomic.operation inside {4'(ATOMIC_OPERATION_FETCH_ADD),
                                                4'(ATOMIC_OPERATION_COMPARE_SWAP)}) ||
      atomic.to[ByteBits-1:0] != '0;

  // Who names the same bytes as one before it waits for what that one makes of them. But what was written
  // before it came it is to see: if that one's value had been looked up by then, it waits until that one has
  // left, and looks again.
  logic follows, late;
  count_t upto;
  always_comb begin
    {follows, late, upto} = '0;
    if (state_q == StXlateWait)
      for (int unsigned i = 0; i < PLACES; i++)
        if (ahead_of(place_t'(i)) < ahead_of(issued) && placed_q[i] && !gone_q[i] && !refused_q[i] &&
            address_q[i] == xlate.rsp.address) begin
          follows = 1'b1;
          upto = upto_q[i];  // those that are not late have the same
          if (late_q[i] || ahead_of(issued) >= count_t'(upto_q[i] - get_q)) late = 1'b1;
        end
  end

  // ---- What it makes of the value (RFC 7306, 5.1)
  logic [63:0] old, result;
  logic is_atomic, refuses, changes;
  assign is_atomic = request.atomic;
  assign refuses = refused_q[at];
  assign old = old_q[at];
  always_comb begin
    result = old;
    if (begins_end || (state_q != StIdle && ends_q)) begin
      if (atomic.operation == 4'(ATOMIC_OPERATION_FETCH_ADD))
        result = ((old & ~atomic.mask) + (atomic.data & ~atomic.mask)) ^ ((old ^ atomic.data) & atomic.mask);
      else if (((old ^ atomic.compare) & atomic.compare_mask) == '0)
        result = (old & ~atomic.mask) | (atomic.data & atomic.mask);
    end
  end
  assign changes = is_atomic && !refuses && result != old;

  // ---- The steps
  logic translated, granted, writes_out, forgets;
  write_count_t before_q;  // writes that are to be out first
  assign translated = state_q == StXlateWait && xlate.rsp_valid;
  assign granted = xlate.rsp.status == XLATE_OK;
  // Its region is another one now: what it, and those behind it, know of the bytes means nothing.
  assign moved = translated && granted && placed_q[at] && address_q[at] != xlate.rsp.address;
  assign writes_out = before_q == '0;
  assign forgets = state_q == StWrites && !ends_q && (quiesce_i || xlate.let_go);
  assign answered = state_q == StAnswer && answer_ready_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle:
        if (begins_end && !gone_q[oldest]) begin
          if (!is_atomic && !refuses) state_q <= StWrites;
          else state_q <= changes ? StXlate : StAnswer;
        end else if (begins_read && !skips && is_atomic && !malformed) state_q <= StXlate;
        StXlate: if (xlate.ready) state_q <= StXlateWait;
        StXlateWait:
        if (xlate.rsp_valid) begin
          if (moved) state_q <= StIdle;
          else if (ends_q) state_q <= granted ? StWrite : StAnswer;
          else state_q <= granted && !follows ? StWrites : StIdle;
        end
        StWrites:
        if (forgets) state_q <= StIdle;
        else if (writes_out) state_q <= ends_q ? StAnswer : StRead;
        StRead: if (read.ready) state_q <= StIdle;
        StWrite: if (write.ready) state_q <= StAnswer;
        StAnswer: if (answer_ready_i) state_q <= StWake;
        default: if (wake.ready) state_q <= StIdle;
      endcase
    end
  end
  always_ff @(posedge clk_i) if (state_q == StIdle) ends_q <= ready;

  // All that was accepted when it began: a read sees it.
  always_ff @(posedge clk_i) begin
    if (state_q inside {StIdle, StXlateWait}) before_q <= writes.waiting;
    else if (writes.ends && !writes_out) before_q <= before_q - 1'b1;
  end

  // ---- Where each is. At rest what was read is forgotten: it may be another's memory afterwards.
  place_t beat_place;
  logic leaves, restarts;
  assign beat_place = read.beat.dst[ByteBits+:PlaceBits];
  assign leaves = (begins_end && gone_q[oldest]) || answered;
  assign restarts = state_q == StIdle && (quiesce_i || again_q) && reading_q == '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {put_q, get_q, issue_q} <= '0;
      {placed_q, reading_q, has_q, refused_q, gone_q, late_q, again_q} <= '0;
    end else begin
      if (push) begin
        put_q <= put_q + 1'b1;
        placed_q[place_t'(put_q)] <= 1'b0;
        gone_q[place_t'(put_q)]   <= over_q[push_i.qpn] || (answered && refuses && push_i.qpn == request.qpn);
      end
      if (begins_read) begin
        if (skips || !is_atomic || malformed) issue_q <= issue_q + 1'b1;
        if (!skips && (!is_atomic || malformed)) has_q[issued] <= 1'b1;
        if (!skips && is_atomic && malformed) refused_q[issued] <= 1'b1;
      end
      if (translated) begin
        if (!granted) begin
          has_q[at]     <= 1'b1;
          refused_q[at] <= 1'b1;
        end else if (!ends_q) begin
          placed_q[at] <= 1'b1;
          late_q[at]   <= late;
        end
        if (moved) again_q <= 1'b1;
        else if (!ends_q && (!granted || follows)) issue_q <= issue_q + 1'b1;
      end
      if (state_q == StRead && read.ready) begin
        reading_q[issued] <= 1'b1;
        issue_q <= issue_q + 1'b1;
      end
      if (read.beat_valid) begin
        reading_q[beat_place] <= 1'b0;
        has_q[beat_place]     <= 1'b1;
        if (read.beat.error) refused_q[beat_place] <= 1'b1;
      end
      for (int unsigned i = 0; i < PLACES; i++) begin
        if (answered && is_atomic && !refuses && waits_for[i]) has_q[i] <= 1'b1;
        // The stream ends with what is refused.
        if (answered && refuses && ahead_of(place_t'(i)) < count && queue_q[i].qpn == request.qpn)
          gone_q[i] <= 1'b1;
        if (clear_i && ahead_of(place_t'(i)) < count && queue_q[i].qpn == clear_qpn_i) gone_q[i] <= 1'b1;
      end
      if (leaves) begin
        get_q <= get_q + 1'b1;
        {has_q[oldest], refused_q[oldest]} <= '0;
        if (issue_q == get_q) issue_q <= get_q + 1'b1;
      end
      if (state_q == StIdle && !again_q && stranded) issue_q <= get_q;
      if (restarts) begin
        issue_q  <= get_q;
        again_q  <= 1'b0;
        placed_q <= '0;
        has_q    <= refused_q;
      end
    end
  end

  // Those behind the oldest one that wait for its value.
  places_t waits_for;
  always_comb begin
    waits_for = '0;
    if (answered)
      for (int unsigned i = 0; i < PLACES; i++)
        waits_for[i] = ahead_of(place_t'(i)) != '0 && ahead_of(place_t'(i)) < count_t'(issue_q - get_q) &&
            placed_q[i] && !reading_q[i] && !refused_q[i] && !late_q[i] && address_q[i] == address_q[oldest];
  end
  always_ff @(posedge clk_i) begin
    if (push) queue_q[place_t'(put_q)] <= push_i;
    if (begins_read && is_atomic && !skips)
      code_q[issued] <= atomic.to[ByteBits-1:0] != '0 &&
          atomic.operation inside {4'(ATOMIC_OPERATION_FETCH_ADD), 4'(ATOMIC_OPERATION_COMPARE_SWAP)} ?
          TERM_CODE_STREAM : TERM_CODE_OPCODE;
    if (translated) begin
      address_q[at] <= xlate.rsp.address;
      if (!granted) code_q[at] <= request_refusal(xlate.rsp.status);
      if (!ends_q) upto_q[at] <= follows ? upto : put_q;
    end
    if (read.beat_valid) begin
      old_q[beat_place] <= read.beat.data[63:0];
      if (read.beat.error) code_q[beat_place] <= TERM_CODE_STREAM;
    end
    if (answered) for (int unsigned i = 0; i < PLACES; i++) if (waits_for[i]) old_q[i] <= result;
  end

  // ---- Streams that have ended, until their queue pairs start anew: what still comes is not done.
  logic [N_QP-1:0] over_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      over_q <= '0;
    end else begin
      if (answered && refuses) over_q[request.qpn] <= 1'b1;
      if (ended_i) over_q[ended_qpn_i] <= 1'b1;
      if (clear_i) over_q[clear_qpn_i] <= 1'b0;
    end
  end

  assign quiescent_o = state_q == StIdle && reading_q == '0;
  assign idle_o = state_q == StIdle && !some;

  // ---- How many
  for (genvar i = 0; i < READERS; i++) begin : gen_count
    places_t theirs;
    always_comb begin
      theirs = '0;
      if (look_i[i] && some)
        for (int unsigned j = 0; j < PLACES; j++)
          theirs[j] = ahead_of(place_t'(j)) < count && !gone_q[j] && queue_q[j].qpn == look_qpn_i[i];
    end
    always_ff @(posedge clk_i) if (look_i[i]) count_o[i] <= reads_t'($countones(theirs));
  end

  // ---- Memory
  assign xlate.valid = state_q == StXlate;
  assign xlate.hold = (state_q inside {StWrites, StRead} && !ends_q) || state_q == StWrite;
  always_comb begin
    xlate.req = '0;
    if (xlate.valid) begin
      xlate.req.stag = atomic.stag;
      xlate.req.pd = request.pd;
      xlate.req.qpn = request.qpn;
      xlate.req.generation = request.generation;
      xlate.req.access = 8'd1 << ACCESS_REMOTE_ATOMIC;
      xlate.req.to = atomic.to;
      xlate.req.length = 32'(ATOMIC_BYTES);
    end
  end
  assign read.valid = state_q == StRead;
  assign read.req = '{
          address: address_q[issued],
          length: chunk_t'(ATOMIC_BYTES),
          dst: tx_address_t'({issued, ByteBits'(0)})
      };
  assign write.valid = state_q == StWrite;
  always_comb begin
    write.data = '0;
    if (write.valid) begin
      write.data.kind = DMA_WRITE_INLINE;
      write.data.address = address_q[oldest];
      write.data.length = chunk_t'(ATOMIC_BYTES);
      write.data.data = ($bits(write.data.data))'(result);
    end
  end

  // ---- The answer
  atomic_response_t response;
  qpn_t woken_q;
  assign answer_valid_o = state_q == StAnswer;
  assign answer_qpn_o = request.qpn;
  assign response = '{request_id: atomic.request_id, value: old};
  always_comb begin
    answer_o = '0;
    if (answer_valid_o) begin
      answer_o.request = request.payload[$bits(request.payload)-1-:$bits(read_request_t)];
      answer_o.msn = request.msn;
      answer_o.atomic = request.atomic;
      if (refuses) begin
        answer_o.answer = ANSWER_REFUSED;
        answer_o.code = code_q[at];
      end else if (is_atomic) begin
        answer_o.answer = ANSWER_ATOMIC;
        answer_o.request = {response, ($bits(read_request_t) - $bits(response))'(0)};
      end else answer_o.answer = ANSWER_READ;
    end
  end
  always_ff @(posedge clk_i) if (answered) woken_q <= request.qpn;
  assign wake.valid = state_q == StWake;
  assign wake.data = woken_q;

  // ---- What is promised
  `EXRNIC_HELD(answer_is_held, answer_valid_o, answer_ready_i, {answer_qpn_o, answer_o})
  `EXRNIC_HELD(wake_is_held, wake.valid, wake.ready, wake.data)
  `EXRNIC_HELD(xlate_is_held, xlate.valid, xlate.ready, xlate.req)
  `EXRNIC_HELD(read_is_held, read.valid, read.ready, read.req)
  `EXRNIC_HELD(write_is_held, write.valid, write.ready, write.data)
  `EXRNIC_ALWAYS(cleared_at_rest, !clear_i || quiescent_o)
  `EXRNIC_ALWAYS(a_request, !push || !push_i.message)
  `EXRNIC_ALWAYS(none_comes_at_rest, !(push && quiesce_i))
  `EXRNIC_ALWAYS(comes_whole, !read.beat_valid || read.beat.bytes == chunk_t'(ATOMIC_BYTES))
  `EXRNIC_ALWAYS(comes_to_who_waits, !read.beat_valid || reading_q[beat_place])

endmodule
