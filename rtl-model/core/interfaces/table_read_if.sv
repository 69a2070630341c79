// SPDX-License-Identifier: BSD-2-Clause
// Reading of a table: in the cycle after `read` the row is there, until the next one.

interface table_read_if #(
    parameter type INDEX = logic,
    parameter type ROW   = logic
) ();
  logic  read;
  INDEX  index;
  ROW    row;

  modport client(output read, index, input row);
  modport server(input read, index, output row);
  modport watcher(input read, index, row);

endinterface
