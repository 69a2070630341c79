// SPDX-License-Identifier: BSD-2-Clause
// A stream: `valid` and `ready` in the same cycle move one item. `valid` does not wait for `ready`.

interface stream_if #(
    parameter type T = logic
) ();
  logic valid;
  logic ready;
  T     data;

  modport source(output valid, data, input ready);
  modport sink(input valid, data, output ready);

endinterface
