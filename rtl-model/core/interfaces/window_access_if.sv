// SPDX-License-Identifier: BSD-2-Clause
// What the order of the host's accesses has to do with remote windows.

interface window_access_if;
  logic at_once;  // what the host stored elsewhere has had its effect
  logic flush;    // do not wait for more bytes to combine
  logic drain;    // a command waits for what was stored before it,
  logic drained;  // which is sent
  logic loading;  // a load is under way
  logic sent;     // all that was stored has been sent

  modport host(output at_once, flush, drain, input drained, loading, sent);
  modport remote(input at_once, flush, drain, output drained, loading, sent);

endinterface
