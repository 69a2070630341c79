// SPDX-License-Identifier: BSD-2-Clause
// What the blocks promise each other, checked in tests. Without EXRNIC_ASSERT, as in the simulator and
// in synthesis, it is nothing. `clk_i` and `rst_ni` are those of the module that includes it.
`ifndef EXRNIC_ASSERT_SVH
`define EXRNIC_ASSERT_SVH

`ifdef EXRNIC_ASSERT

// An item that is offered and not taken is offered again, and stays what it is.
`define EXRNIC_HELD(NAME, VALID, READY, ITEM) \
  NAME : assert property (@(posedge clk_i) disable iff (!rst_ni) \
      (VALID) && !(READY) |=> (VALID) && $stable(ITEM)) \
  else $error("%m: what was offered and not taken is withdrawn, or changes");

// Something is offered until it is taken, but another one may come in its place.
`define EXRNIC_OFFERED(NAME, VALID, READY) \
  NAME : assert property (@(posedge clk_i) disable iff (!rst_ni) \
      (VALID) && !(READY) |=> (VALID)) \
  else $error("%m: what was offered and not taken is withdrawn");

// It is true in every cycle.
`define EXRNIC_ALWAYS(NAME, CONDITION) \
  NAME : assert property (@(posedge clk_i) disable iff (!rst_ni) (CONDITION)) \
  else $error("%m: does not hold");

`else

`define EXRNIC_HELD(NAME, VALID, READY, ITEM)
`define EXRNIC_OFFERED(NAME, VALID, READY)
`define EXRNIC_ALWAYS(NAME, CONDITION)

`endif

`endif
