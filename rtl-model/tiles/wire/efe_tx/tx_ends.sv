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

  input  logic     ended_valid_i,
  output logic     ended_ready_o,  // in this cycle or the next
  input  slot_t    ended_slot_i,
  input  tx_done_t ended_i,
  input  logic     ended_prompt_i,

  output logic     done_valid_o,
  input  logic     done_ready_i,
  output tx_done_t done_o,
  output logic     prompt_done_valid_o,  // pulse: ended_i is one

  output logic     freed_o,
  output slot_t    freed_slot_o,
  output lane_t    freed_lane_o
);

  typedef struct packed {
    slot_t    slot;
    tx_done_t done;
  } end_t;

  end_t head, next, oldest;
  logic [$clog2(TX_SLOTS):0] waiting;
  logic empty, ends, push, pop;

  assign next  = '{slot: ended_slot_i, done: ended_i};
  assign empty = waiting == '0;
  assign head  = empty ? next : oldest;
  assign ends  = ended_valid_i && !ended_prompt_i;

  assign done_valid_o        = !empty || ends;
  assign done_o              = head.done;
  assign pop                 = done_valid_o && done_ready_i;
  assign push                = ends && !(empty && done_ready_i);
  assign ended_ready_o       = !ended_prompt_i || !pop;
  assign prompt_done_valid_o = ended_valid_i && ended_prompt_i && !pop;

  assign freed_o      = pop || prompt_done_valid_o;
  assign freed_slot_o = pop ? head.slot : ended_slot_i;
  assign freed_lane_o = pop ? '{prompt: 1'b0, node: head.done.node}
                            : '{prompt: 1'b1, node: ended_i.node};

  ram_fifo #(
    .WIDTH($bits(end_t)),
    .DEPTH(TX_SLOTS)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .push_i     (push),
    .push_data_i(next),
    .pop_i      (pop && !empty),
    .head_o     (oldest),
    .count_o    (waiting)
  );

endmodule
