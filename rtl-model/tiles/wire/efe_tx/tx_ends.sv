// SPDX-License-Identifier: BSD-2-Clause
// How slots have ended, for the completer, which may wait for host memory. A slot stays taken until
// its end has gone: so there is always a place, and the sequencer waits for nobody. What is prompt
// has no end that waits: its slot is free at once.

module tx_ends
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_ni,

  stream_if.sink   ended,          // ready in this cycle or the next
  input  logic     ended_prompt_i,

  output logic     done_valid_o,
  input  logic     done_ready_i,
  output tx_done_t done_o,
  output logic     prompt_done_valid_o,  // pulse: ended is one

  output logic     freed_o,
  output slot_t    freed_slot_o,
  output lane_t    freed_lane_o
);

  end_t head, oldest;
  logic [$clog2(TX_SLOTS):0] waiting;
  logic empty, ends, push, pop;

  assign empty = waiting == '0;
  assign head  = empty ? ended.data : oldest;
  assign ends  = ended.valid && !ended_prompt_i;

  assign done_valid_o        = !empty || ends;
  assign done_o              = head.done;
  assign pop                 = done_valid_o && done_ready_i;
  assign push                = ends && !(empty && done_ready_i);
  assign ended.ready         = !ended_prompt_i || !pop;
  assign prompt_done_valid_o = ended.valid && ended_prompt_i && !pop;

  assign freed_o      = pop || prompt_done_valid_o;
  assign freed_slot_o = pop ? head.slot : ended.data.slot;
  assign freed_lane_o = pop ? '{prompt: 1'b0, node: head.done.node}
                            : '{prompt: 1'b1, node: ended.data.done.node};

  ram_fifo #(
    .WIDTH($bits(end_t)),
    .DEPTH(TX_SLOTS)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .push_i     (push),
    .push_data_i(ended.data),
    .pop_i      (pop && !empty),
    .head_o     (oldest),
    .count_o    (waiting)
  );

endmodule
